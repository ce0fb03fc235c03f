//! The closed model: a session issues again when its response has come.

use assay_model::{Nanos, Outcome, Phase, Reason};
use assay_run::executor::AbortReason;
use assay_run::{Extent, Think};

use crate::stand_ins::{Manner, closed, extent, simulate};

const MS: Nanos = Nanos::from_millis(1);

#[test]
fn no_more_than_its_sessions_are_in_flight() {
    let load = closed(4, Think::No, None);
    let (outcome, records) = simulate(Manner::Queue(MS), 1, load, extent(Some(1000), None));
    assert_eq!((outcome.in_flight_max, records.len()), (4, 1000));
    // Four sessions at one server: each answer takes four services, the first three less.
    assert!(records[3..].iter().all(|record| record.response() == Nanos(4 * MS.0)));
}

#[test]
fn a_number_of_processes_is_met_exactly_by_an_inline_store() {
    let load = closed(1, Think::No, None);
    let (outcome, records) = simulate(Manner::Inline, 1, load, extent(Some(100_000), None));
    assert_eq!((outcome.offered, records.len()), (100_000, 100_000));
    assert!(records.iter().enumerate().all(|(index, record)| record.index == index as u64));
}

#[test]
fn a_duration_ends_the_load() {
    let load = closed(2, Think::No, None);
    let (_, records) = simulate(Manner::Queue(MS), 1, load, extent(None, Some(1)));
    assert!((1000..=1002).contains(&records.len()), "{} records", records.len());
}

#[test]
fn sessions_with_think_time_issue_later() {
    let load = closed(1, Think::Constant(Nanos::from_millis(9)), None);
    let (_, records) = simulate(Manner::Queue(MS), 1, load, extent(None, Some(1)));
    assert_eq!(records.len(), 100);
    assert!(records.windows(2).all(|pair| pair[1].intended == pair[0].ended + Nanos(9 * MS.0)));
}

#[test]
fn exponential_think_times_have_their_mean() {
    let load = closed(1, Think::Exponential(Nanos::from_millis(9)), None);
    let (_, records) = simulate(Manner::Queue(MS), 1, load, extent(Some(20_000), None));
    let last = records.last().expect("records").ended.as_secs_f64();
    assert!((last / 200.0 - 1.0).abs() < 0.03, "took {last} s");
}

#[test]
fn pacing_keeps_the_target_and_the_intended_times() {
    // 4 sessions, 100 per second: every session issues every 40 ms, one after the other.
    let load = closed(4, Think::No, Some(100.0));
    let (_, records) = simulate(Manner::Queue(MS), 1, load, extent(None, Some(10)));
    assert_eq!(records.len(), 1000);
    for (place, record) in records.iter().enumerate() {
        assert_eq!(record.intended, Nanos(place as u64 * 10_000_000));
        assert_eq!(record.lag(), Nanos::ZERO);
    }
}

#[test]
fn a_paced_session_that_is_late_keeps_its_intended_time() {
    let load = closed(1, Think::No, Some(1000.0));
    let (_, records) = simulate(Manner::Queue(MS + MS), 1, load, extent(Some(500), None));
    for record in &records {
        assert_eq!(record.intended, Nanos(record.process * MS.0));
        assert_eq!(record.service(), MS + MS);
    }
}

#[test]
fn a_paced_session_that_is_late_is_measured_when_it_issues() {
    let load = closed(1, Think::No, Some(1000.0));
    let warm_up = Nanos::from_millis(100);
    let extent = Extent { warm_up, ..extent(Some(500), None) };
    let (outcome, records) = simulate(Manner::Queue(MS + MS), 1, load, extent);
    for record in &records {
        let is_warm_up = record.phase == Phase::WarmUp;
        assert_eq!(is_warm_up, record.started < warm_up, "{record:?}");
    }
    assert_eq!(records.iter().filter(|record| record.phase == Phase::Measure).count(), 450);
    let last = records.iter().map(|record| record.started).max();
    assert_eq!(Some(outcome.issued_until), last);
}

#[test]
fn a_session_whose_answer_is_unknown_is_never_used_again() {
    let load = closed(3, Think::No, None);
    let (_, records) = simulate(Manner::Silent, 1, load, extent(None, Some(25)));
    let mut sessions: Vec<u32> = records.iter().map(|record| record.session).collect();
    let issued = sessions.len();
    sessions.sort_unstable();
    sessions.dedup();
    assert_eq!((issued, sessions.len()), (9, 9));
    assert!(records.iter().all(|record| record.outcome == Outcome::Unknown));
}

#[test]
fn sessions_rest_while_the_store_is_away() {
    let load = closed(2, Think::No, None);
    let (_, records) =
        simulate(Manner::Refuse(Reason::Unreachable), 1, load, extent(None, Some(1)));
    assert_eq!(records.len(), 200);
}

#[test]
fn the_first_failure_is_remembered() {
    let load = closed(1, Think::No, None);
    let (outcome, _) = simulate(Manner::Refuse(Reason::Full), 1, load, extent(Some(10), None));
    let failure = outcome.first_failure.expect("something failed");
    assert_eq!((failure.index, failure.reason), (0, Reason::Full));
    assert_eq!(outcome.trouble, None::<AbortReason>);
}

#[test]
fn responses_that_came_while_the_worker_was_blocked_count() {
    let manner = Manner::Stall(MS, Nanos::from_secs(20));
    let (outcome, records) = simulate(manner, 1, closed(2, Think::No, None), extent(Some(2), None));
    assert_eq!((records.len(), outcome.late_answers), (2, 0));
    assert!(records.iter().all(|record| record.outcome == Outcome::Done), "{records:?}");
}
