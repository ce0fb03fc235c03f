//! Runs of other kinds than the open one of forty seconds.

use assay_model::{Nanos, Phase};

use super::{assert_valid, healthy, verdict};
use crate::Phases;
use crate::hallmark::{CheckId, CheckVerdict, Evidence, Inapplicable, Verdict};

#[test]
fn a_healthy_run_is_valid_and_withdraws_nothing_but_the_far_tail() {
    let hallmark = assert_valid(&healthy());
    assert_eq!(hallmark.reasons, []);
    assert_eq!(hallmark.checks.iter().map(|check| check.id).collect::<Vec<_>>(), CheckId::ALL);
    let kept = hallmark.percentiles.iter().filter(|one| one.withdrawn_by.is_empty());
    assert!(kept.count() >= 12);
    assert!(
        hallmark.checks.iter().flat_map(|check| &check.measures).all(|one| one.value.is_finite())
    );
}

#[test]
fn unobserved_checks_are_named() {
    let mut run = healthy();
    run.evidence = Evidence { arrivals: run.evidence.arrivals.clone(), ..Evidence::default() };
    let hallmark = run.examine();
    assert_eq!(hallmark.verdict, Verdict::NotAssessable);
    let missing = [CheckId::WorkerCpu, CheckId::Hiccups, CheckId::LostRecords];
    assert_eq!(hallmark.reasons, missing);
    let unobserved = CheckVerdict::NotAssessable(Inapplicable::NotObserved);
    for id in missing.into_iter().chain([CheckId::TraceIdentity, CheckId::NoiseFloor]) {
        assert_eq!(hallmark.check(id).unwrap().verdict, unobserved, "{id:?}");
    }
}

#[test]
fn simulated_time_needs_no_machine() {
    let run = healthy().observing(|evidence| {
        *evidence = Evidence {
            is_simulated_time: true,
            arrivals: evidence.arrivals.clone(),
            lost_records: Some(0),
            ..Evidence::default()
        };
    });
    let hallmark = run.examine();
    assert_eq!(hallmark.verdict, Verdict::Valid, "{:?}", super::brief(&hallmark));
    let found = verdict(&run, CheckId::WorkerCpu);
    assert_eq!(found, CheckVerdict::NotApplicable(Inapplicable::SimulatedTime));
}

#[test]
fn a_closed_loop_is_valid_without_the_checks_of_arrivals() {
    let run = healthy().closed(4, None).each(|record| record.intended = record.started);
    assert_valid(&run);
    for id in [CheckId::Rate, CheckId::Omission, CheckId::OpenLoop] {
        let found = verdict(&run, id);
        assert_eq!(found, CheckVerdict::NotApplicable(Inapplicable::ClosedLoop), "{id:?}");
    }
}

#[test]
fn a_closed_loop_that_misses_its_pace_has_no_hallmark() {
    let hallmark = healthy().closed(4, Some(1500.0)).examine();
    assert_eq!(hallmark.reasons, [CheckId::Rate]);
}

#[test]
fn a_load_is_analyzed_by_what_it_kept() {
    let mut run = healthy().closed(4, None);
    run.options.phases = Phases::Load;
    let run = run.each(|record| record.phase = Phase::Load);
    assert_valid(&run);
    let lost = run.observing(|evidence| evidence.lost_records = Some(2));
    assert_eq!(lost.examine().reasons, [CheckId::LostRecords]);
}

#[test]
fn an_empty_output_is_no_result() {
    let mut run = healthy();
    run.records.clear();
    assert!(!run.examine().verdict.is_valid());
}

#[test]
fn a_declared_warm_up_is_not_validated() {
    let mut run = healthy();
    let from = Nanos::from_secs(6);
    run.options.window.as_mut().unwrap().from = from;
    let run = run.slower(|since| if since < 5.0 { 6.0 } else { 1.0 }).each(|record| {
        if record.intended < from {
            record.phase = Phase::WarmUp;
        }
    });
    assert_valid(&run);
}
