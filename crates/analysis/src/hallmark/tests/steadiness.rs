//! Runs that were not steady, or not long enough.

use assay_model::{Nanos, Seed};

use super::simulated::{healthy_with, options};
use super::{assert_invalid, assert_remark, assert_valid, healthy, noticed, withdraws};
use crate::hallmark::{CheckId, CheckVerdict, Figure, Time, Verdict};
use crate::summary::Interval;

#[test]
fn too_short_a_run_is_too_short_and_nothing_else() {
    for seconds in [1, 2, 5, 9] {
        let mut run = healthy();
        run.options = options(seconds);
        run.arrive(|draw| -(1.0 - draw).ln());
        let hallmark = run.examine();
        assert_eq!(hallmark.verdict, Verdict::Invalid);
        assert_eq!(hallmark.reasons, [CheckId::SampleSize], "{:?}", super::brief(&hallmark));
        assert!(withdraws(&hallmark, Figure::Throughput));
        let failed = hallmark.checks.iter().filter(|check| check.verdict == CheckVerdict::Fail);
        assert_eq!(failed.count(), 1, "{:?}", super::brief(&hallmark));
    }
}

#[test]
fn half_a_minute_of_health_is_enough() {
    let mut run = healthy();
    run.options = options(30);
    run.arrive(|draw| -(1.0 - draw).ln());
    assert_valid(&run);
}

#[test]
fn a_run_without_warm_up_is_found() {
    // Four times as slow at first, settling within some seconds.
    let run = healthy().slower(|since| 1.0 + 3.0 * (-since / 3.0).exp());
    let hallmark = assert_invalid(&run, CheckId::WarmUp);
    assert!(withdraws(&hallmark, Figure::Percentile(Time::Response, 0.99)));
    let short = healthy().slower(|since| if since < 1.0 { 5.0 } else { 1.0 });
    assert_invalid(&short, CheckId::WarmUp);
}

#[test]
fn a_run_that_never_becomes_steady_is_found() {
    let run = healthy().slower(|since| 1.0 + since / 40.0);
    let hallmark = assert_invalid(&run, CheckId::WarmUp);
    let trend = hallmark.check(CheckId::Trend).unwrap();
    assert!(matches!(trend.verdict, CheckVerdict::NotAssessable(_)), "{trend:?}");
}

#[test]
fn a_change_and_back_is_a_remark_unless_it_was_on_purpose() {
    let slow = |since: f64| if (14.0..26.0).contains(&since) { 1.3 } else { 1.0 };
    let run = healthy().slower(slow);
    let hallmark = assert_remark(&run, CheckId::ChangePoints);
    let median = Figure::Percentile(Time::Response, 0.5);
    let at: Vec<u64> = hallmark
        .changes
        .iter()
        .filter(|change| change.figure == median)
        .map(|change| change.at.0 / 1_000_000_000)
        .collect();
    assert_eq!(at, [15, 27]);
    let events = vec![Nanos::from_secs(15), Nanos::from_secs(26)];
    let hallmark = assert_valid(&run.observing(|evidence| evidence.events = events));
    assert!(hallmark.changes.iter().all(|change| change.is_explained));
}

#[test]
fn a_fault_late_in_the_run_is_no_warm_up() {
    let run = healthy().slower(|since| if since < 25.0 { 1.0 } else { 2.0 });
    assert_eq!(run.examine().reasons, [CheckId::WarmUp]);
    let events = vec![Nanos::from_secs(26)];
    let hallmark = run.observing(|evidence| evidence.events = events).examine();
    assert!(hallmark.verdict.is_valid(), "{:?}", super::brief(&hallmark));
}

#[test]
fn a_slow_drift_is_a_remark() {
    // Less than three buckets of the series: chance decides whether it is distinguished from noise.
    let run = healthy_with(4).slower(|since| 1.0 + 0.1 * since / 40.0);
    let hallmark = run.examine();
    assert_eq!(hallmark.verdict, Verdict::ValidWithRemarks, "{:?}", hallmark.check(CheckId::Trend));
    assert!(hallmark.reasons.contains(&CheckId::Trend), "{:?}", hallmark.reasons);
}

#[test]
fn what_is_periodic_must_happen_five_times() {
    let spikes = |period: f64| {
        healthy().slower(move |since| if since % period >= period - 1.0 { 1.25 } else { 1.0 })
    };
    let hallmark = assert_remark(&spikes(10.0), CheckId::Periodicity);
    assert_eq!(hallmark.period, Some(Nanos::from_secs(10)));
    let hallmark = assert_valid(&spikes(5.0));
    assert_eq!(hallmark.period, Some(Nanos::from_secs(5)));
}

#[test]
fn an_overloaded_store_piles_up_a_backlog() {
    // One server that needs 2.04 ms for each of 500 a second.
    let mut free = Nanos::ZERO;
    let run = healthy().each(|record| {
        free = free.max(record.started) + Nanos(2_040_000);
        record.ended = free;
    });
    let hallmark = assert_invalid(&run, CheckId::Backlog);
    assert!(withdraws(&hallmark, Figure::Percentile(Time::Response, 0.5)));
    assert!(!withdraws(&hallmark, Figure::Throughput));
}

#[test]
fn a_percentile_with_too_few_values_says_how_many_seconds_are_missing() {
    // Ten a second: 400 values, of which four lie beyond p99.
    let mut run = healthy();
    run.records.retain(|record| record.index % 50 == 0);
    run.options.load = crate::LoadModel::Open { rate: Some(10.0), limit: None };
    run.evidence.arrivals = None;
    let hallmark = run.examine();
    assert_eq!(hallmark.reasons, [CheckId::SampleSize], "{:?}", super::brief(&hallmark));
    let p99 = hallmark.percentiles.iter().find(|one| one.quantile == 0.99).unwrap();
    assert_eq!(p99.withdrawn_by, [CheckId::SampleSize]);
    assert!((1.0..5.0).contains(&p99.beyond.unwrap()), "{p99:?}");
    let Interval::TooFew { further_seconds, .. } = p99.interval else { panic!("{p99:?}") };
    assert!((55.0..300.0).contains(&further_seconds), "{further_seconds}");
    assert!(!withdraws(&hallmark, Figure::Percentile(Time::Response, 0.5)));
}

#[test]
fn a_healthy_queue_raises_no_alarm() {
    // A queue with one server, half busy, so that operations depend on each other.
    for seed in 0..5 {
        let mut free = Nanos::ZERO;
        let run = healthy_with(100 + seed).each(|record| {
            let service = -1_000_000.0 * (1.0 - Seed(seed).draws(2, record.index).unit()).ln();
            free = free.max(record.started) + Nanos(service as u64);
            record.ended = free;
        });
        let hallmark = run.examine();
        assert!(hallmark.verdict.is_valid(), "{seed}: {:?}", super::brief(&hallmark));
        // 200 values beyond p99 tell as much as twenty independent ones.
        let others = noticed(&hallmark).into_iter().filter(|(id, _)| *id != CheckId::SampleSize);
        assert_eq!(others.count(), 0, "{seed}: {:?}", super::brief(&hallmark));
    }
}
