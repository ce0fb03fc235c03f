//! The open model: arrivals do not wait for answers.

use assay_model::{Kind, Nanos, Outcome, Phase, Reason, Record};
use assay_run::executor::AbortReason;
use assay_run::{Extent, Overflow};

use crate::stand_ins::{Manner, extent, open, simulate};

const MS: Nanos = Nanos::from_millis(1);

fn by_outcome(records: &[Record], outcome: Outcome) -> usize {
    records.iter().filter(|record| record.outcome == outcome).count()
}

#[test]
fn below_capacity_every_arrival_is_served_when_intended() {
    let load = open(500.0, 100, Overflow::Queue);
    let (outcome, records) = simulate(Manner::Queue(MS), 1, load, extent(None, Some(2)));
    assert_eq!((outcome.offered, records.len()), (1000, 1000));
    for record in &records {
        assert_eq!(record.intended, Nanos(record.process * 2_000_000));
        assert_eq!((record.lag(), record.response()), (Nanos::ZERO, MS));
    }
}

#[test]
fn above_capacity_response_time_grows_as_the_backlog_does() {
    // Arrivals every 1 ms, service of 2 ms: arrival i waits i ms.
    let load = open(1000.0, 10_000, Overflow::Queue);
    let (_, records) = simulate(Manner::Queue(MS + MS), 1, load, extent(None, Some(2)));
    assert_eq!(records.len(), 2000);
    for record in &records {
        assert_eq!(record.response(), Nanos(record.process * MS.0) + MS + MS);
    }
}

#[test]
fn a_wait_at_the_bound_is_lag_and_never_a_shorter_response() {
    let load = open(1000.0, 1, Overflow::Queue);
    let (outcome, records) = simulate(Manner::Queue(MS + MS), 1, load, extent(None, Some(2)));
    assert_eq!(outcome.in_flight_max, 1);
    assert!(outcome.queued >= 1990, "queued {}", outcome.queued);
    for record in &records {
        assert_eq!(record.service(), MS + MS);
        assert_eq!(record.response(), Nanos(record.process * MS.0) + MS + MS);
    }
}

#[test]
fn after_a_hiccup_the_response_is_a_saw_tooth() {
    // 1000/s against a capacity of 1250/s, nothing served from 2 s to 3 s: response peaks at the
    // hiccup's length and is back to normal after 1 s · 1250 / (1250 − 1000) = 5 s.
    let service = Nanos::from_micros(800);
    let (from, to) = (Nanos::from_secs(2), Nanos::from_secs(3));
    let load = open(1000.0, 100_000, Overflow::Queue);
    let (_, records) = simulate(Manner::Hiccup(service, from, to), 1, load, extent(None, Some(10)));
    let worst = records.iter().max_by_key(|record| record.response()).expect("records");
    assert_eq!((worst.intended, worst.response()), (from, Nanos::from_secs(1) + service));
    let slow = records.iter().filter(|record| record.response() > service).map(|r| r.intended);
    assert_eq!(slow.max(), Some(Nanos::from_millis(6999)));
}

#[test]
fn arrivals_beyond_the_bound_are_dropped_and_counted() {
    let load = open(1000.0, 3, Overflow::Drop);
    let (outcome, records) =
        simulate(Manner::Queue(Nanos::from_millis(10)), 1, load, extent(None, Some(1)));
    assert_eq!(records.len(), 1000);
    assert_eq!(outcome.offered, 1000);
    let (done, dropped) =
        (by_outcome(&records, Outcome::Done), by_outcome(&records, Outcome::Dropped));
    assert_eq!(done + dropped, 1000);
    assert!((100..=106).contains(&done), "done {done}");
    let reasons = records.iter().filter(|r| r.outcome == Outcome::Dropped).map(|r| r.reason);
    assert!(reasons.into_iter().all(|reason| reason == Reason::InFlightLimit));
}

#[test]
fn a_store_that_blocks_the_worker_has_the_same_in_flight_bound() {
    // 1000 arrivals in a second, 10 ms each, three in the system: about a hundred get through.
    let load = open(1000.0, 3, Overflow::Drop);
    let manner = Manner::Block(Nanos::from_millis(10));
    let (outcome, records) = simulate(manner, 1, load, extent(None, Some(1)));
    assert_eq!((outcome.offered, records.len()), (1000, 1000));
    let done = by_outcome(&records, Outcome::Done);
    assert!((95..=110).contains(&done), "done {done}");
    assert_eq!(by_outcome(&records, Outcome::Dropped), 1000 - done);
    let waits = records.iter().filter(|r| r.outcome == Outcome::Done).map(Record::response);
    assert!(waits.max() <= Some(Nanos::from_millis(40)));
}

#[test]
fn reaching_the_bound_can_end_the_run() {
    let load = open(1000.0, 3, Overflow::Abort);
    let (outcome, records) = simulate(Manner::Silent, 1, load, extent(None, Some(1)));
    assert_eq!(outcome.trouble, Some(AbortReason::InFlightLimit));
    assert_eq!(by_outcome(&records, Outcome::Unknown), 3);
    assert_eq!(records.len() as u64, outcome.offered);
}

#[test]
fn a_silent_store_makes_everything_unknown_when_the_timeout_expires() {
    let load = open(1000.0, 100_000, Overflow::Queue);
    let (_, records) = simulate(Manner::Silent, 1, load, extent(None, Some(1)));
    assert_eq!(records.len(), 1000);
    for record in &records {
        assert_eq!((record.outcome, record.reason), (Outcome::Unknown, Reason::Timeout));
        assert_eq!(record.service(), Nanos::from_secs(10));
    }
}

#[test]
fn a_backlog_that_outlives_its_timeout_is_dropped_but_recorded() {
    let load = open(1000.0, 1, Overflow::Queue);
    let (outcome, records) =
        simulate(Manner::Queue(Nanos::from_secs(1)), 1, load, extent(None, Some(2)));
    assert_eq!(outcome.offered, 2000);
    assert_eq!(records.len(), 2000);
    assert!((12..=14).contains(&by_outcome(&records, Outcome::Done)));
    let mut processes: Vec<u64> = records.iter().map(|record| record.process).collect();
    processes.sort_unstable();
    processes.dedup();
    assert_eq!(processes.len(), 2000);
}

#[test]
fn warm_up_is_recorded_and_marked() {
    let load = open(100.0, 10, Overflow::Queue);
    let extent = Extent { warm_up: Nanos::from_secs(1), ..extent(None, Some(2)) };
    let (_, records) = simulate(Manner::Queue(MS), 1, load, extent);
    let warm = records.iter().filter(|record| record.phase == Phase::WarmUp);
    assert_eq!((records.len(), warm.count()), (300, 100));
}

#[test]
fn the_second_operation_of_a_process_is_intended_when_the_first_has_ended() {
    let load = open(100.0, 10, Overflow::Queue);
    let (_, records) = simulate(Manner::Queue(MS), 2, load, extent(None, Some(1)));
    assert_eq!(records.len(), 200);
    for pair in records.chunks(2) {
        assert_eq!((pair[0].kind, pair[1].kind), (Kind::Read, Kind::Update));
        assert_eq!(pair[1].intended, pair[0].ended);
        assert!(pair[1].ends_transaction() && !pair[0].ends_transaction());
    }
}

#[test]
fn after_a_failed_first_operation_the_rest_of_its_transaction_is_not_issued() {
    let load = open(100.0, 10, Overflow::Queue);
    let (outcome, records) = simulate(Manner::Refuse(Reason::Busy), 2, load, extent(None, Some(1)));
    assert_eq!(outcome.outcomes, [0, 100, 0, 100]);
    let dropped = records.iter().filter(|record| record.outcome == Outcome::Dropped);
    assert!(dropped.into_iter().all(|record| record.reason == Reason::TransactionFailed));
}

#[test]
fn a_stalled_store_holds_arrivals_back() {
    let (service, from, to) = (Nanos::from_micros(100), Nanos::from_secs(4), Nanos::from_secs(5));
    for overflow in [Overflow::Queue, Overflow::Drop] {
        let still = Manner::Hiccup(service, from, to);
        let load = open(1000.0, 100, overflow);
        let (outcome, records) = simulate(still, 1, load, extent(None, Some(10)));
        let [(from, until)] = outcome.held_back[..] else { panic!("{:?}", outcome.held_back) };
        // A hundred are in flight then.
        assert_eq!(from, Nanos::from_millis(4_100), "{overflow:?}");
        assert!(until > to && until < to + Nanos::from_millis(150), "{overflow:?}: {until}");
        let is_prompt = |record: &Record| {
            record.outcome == Outcome::Done && record.lag() < Nanos::from_millis(1)
        };
        let late = records.iter().filter(|record| !is_prompt(record));
        assert!(late.clone().count() >= 900, "{overflow:?}");
        assert!(late.into_iter().all(|record| from <= record.intended && record.intended <= until));
    }
}

#[test]
fn a_store_that_keeps_up_holds_nothing_back() {
    let load = open(1000.0, 100, Overflow::Queue);
    let manner = Manner::Queue(Nanos::from_micros(100));
    let (outcome, _) = simulate(manner, 1, load, extent(None, Some(10)));
    assert_eq!(outcome.held_back, []);
}
