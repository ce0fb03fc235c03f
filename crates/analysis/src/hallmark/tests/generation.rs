//! Loads that were not what was promised.

use assay_model::{Nanos, Outcome, Reason, Record, Seed};

use super::simulated::{RATE, SECONDS, held_up};
use super::{assert_invalid, assert_remark, assert_valid, healthy, verdict, withdraws};
use crate::hallmark::{CheckId, CheckVerdict, Figure, Gaps, Promise, Time, Trace, Why};

fn drop(record: &mut Record, reason: Reason, at: Nanos) {
    (record.outcome, record.found, record.reason) = (Outcome::Dropped, false, reason);
    (record.started, record.ended) = (at, at);
}

#[test]
fn a_rate_that_cannot_be_reached_is_the_reason() {
    // One request leaves per 2.5 ms at most, where one per 2 ms was promised; what still waits
    // when the run ends is dropped.
    let end = Nanos::from_secs(1 + SECONDS);
    let mut free = Nanos::ZERO;
    let run = healthy().each(|record| {
        let service = record.service();
        record.started = record.started.max(free);
        record.ended = record.started + service;
        free = record.started + Nanos(2_500_000);
        if record.started >= end {
            drop(record, Reason::RunEnded, end);
        }
    });
    let run = run.observing(|evidence| {
        evidence.spins = true;
        evidence.lanes.iter_mut().for_each(|lane| lane.busy = 1.0);
    });
    let hallmark = assert_invalid(&run, CheckId::Rate);
    let because = |id| hallmark.check(id).unwrap().because_of;
    assert_eq!(because(CheckId::Lag), Some(CheckId::Rate));
    assert_eq!(because(CheckId::Omission), Some(CheckId::Rate));
    assert_eq!(because(CheckId::LaneCpu), Some(CheckId::Rate));
}

#[test]
fn a_lane_that_is_slept_is_late() {
    let run = healthy().each(|record| {
        if record.process % 2 == 0 {
            held_up(record, 2.0, 0.2);
        }
    });
    let hallmark = assert_invalid(&run, CheckId::Lag);
    assert!(withdraws(&hallmark, Figure::Percentile(Time::Response, 0.99)));
    let median = hallmark.withdrawn_by(Figure::Percentile(Time::Response, 0.5));
    assert_eq!(median, [CheckId::ArrivalProcess]);
    let arrivals = hallmark.check(CheckId::ArrivalProcess).unwrap();
    assert_eq!(arrivals.because_of, Some(CheckId::Lag));
}

#[test]
fn lag_in_the_far_tail_withdraws_that_alone() {
    let run = healthy().each(|record| {
        if record.index % 500 == 0 {
            record.started += Nanos::from_millis(4);
            record.ended += Nanos::from_millis(4);
        }
    });
    let hallmark = assert_remark(&run, CheckId::Lag);
    assert_eq!(hallmark.check(CheckId::Lag).unwrap().verdict, CheckVerdict::Fail);
    assert!(withdraws(&hallmark, Figure::Percentile(Time::Response, 0.999)));
    assert!(!withdraws(&hallmark, Figure::Percentile(Time::Response, 0.99)));
}

#[test]
fn dropped_arrivals_are_an_omission() {
    let run = healthy().each(|record| {
        if record.index % 50 < 4 {
            drop(record, Reason::InFlightLimit, record.intended);
        }
    });
    let hallmark = assert_invalid(&run, CheckId::Omission);
    assert_eq!(hallmark.check(CheckId::Rate).unwrap().because_of, Some(CheckId::Omission));
}

#[test]
fn queued_arrivals_are_a_remark() {
    assert_remark(&healthy().observing(|evidence| evidence.queued = Some(3)), CheckId::Omission);
}

#[test]
fn arrivals_of_another_process_than_promised_are_found() {
    let mut run = healthy();
    run.arrive(|_| 1.0);
    assert_invalid(&run, CheckId::ArrivalProcess);
    run.evidence.arrivals = Some(Promise { process: Gaps::Constant, per_second: None });
    assert_valid(&run);
}

#[test]
fn requests_in_batches_are_not_the_promised_arrivals() {
    // Each leaves at the next whole 4 ms, which its response time does not notice.
    let run = healthy().slower(|_| 40.0).each(|record| {
        let late = Nanos(4_000_000 - record.started.0 % 4_000_000);
        record.started += late;
        record.ended += late;
    });
    // The tolerance is a tenth of the median response time, which is as long as two batches.
    assert_valid(&run);
    let mut strict = run;
    strict.thresholds.gap_tolerance = 0.0;
    let hallmark = assert_invalid(&strict, CheckId::ArrivalProcess);
    assert!(!withdraws(&hallmark, Figure::Throughput));
    assert_eq!(hallmark.changed.len(), 1);
}

#[test]
fn gamma_and_jittered_gaps_are_compared_with_what_was_intended() {
    for process in [Gaps::Independent, Gaps::Jittered, Gaps::Dependent] {
        let mut run = healthy();
        run.arrive(|draw| 0.5 + draw);
        run.evidence.arrivals = Some(Promise { process, per_second: None });
        assert_valid(&run);
        let late = run.each(|record| held_up(record, 0.04, 0.02));
        let found = verdict(&late, CheckId::ArrivalProcess);
        assert_eq!(found, CheckVerdict::Fail, "{process:?}");
    }
}

#[test]
fn an_unknown_process_is_not_assessable_and_no_obstacle() {
    let run = healthy().observing(|evidence| evidence.arrivals = None);
    let found = verdict(&run, CheckId::ArrivalProcess);
    assert_eq!(found, CheckVerdict::NotAssessable(Why::UnknownProcess));
    assert!(run.examine().verdict.is_valid());
}

#[test]
fn another_trace_than_planned_is_found() {
    let trace = Some(Trace { planned: 7, executed: 8 });
    let run = healthy().observing(|evidence| evidence.trace = trace);
    assert_invalid(&run, CheckId::TraceIdentity);
}

#[test]
fn a_sender_that_waits_for_answers_is_not_open() {
    // The intended time is when it was sent, as if nothing had been late; but the more is in
    // flight the longer it waits.
    let mut run = healthy();
    let mut answers: Vec<Nanos> = Vec::new();
    let mut at = Nanos::from_secs(1);
    run.records.retain_mut(|record| {
        answers.retain(|ended| *ended > at);
        let share = 0.2 + 0.9 * answers.len() as f64;
        let gap = -(1.0 - Seed(9).draws(1, record.index).unit()).ln() * 1e9 / RATE;
        at += Nanos((gap * share) as u64);
        let service = record.service();
        (record.intended, record.started, record.ended) = (at, at, at + service);
        answers.push(record.ended);
        at < Nanos::from_secs(1 + SECONDS)
    });
    run.evidence.arrivals = Some(Promise { process: Gaps::Independent, per_second: None });
    assert_invalid(&run, CheckId::OpenLoop);
}

#[test]
fn a_planned_ramp_is_no_illness() {
    // From 250/s to 750/s, by the change of time that gives a Poisson process any rate.
    let places: Vec<f64> = {
        let mut at = 0.0;
        let gap = |index| -(1.0 - Seed(5).draws(1, index).unit()).ln();
        (0..30_000)
            .map(|index| {
                at += gap(index);
                at
            })
            .collect()
    };
    let mut run = healthy();
    let last = SECONDS as f64;
    let slope = 500.0 / last;
    run.arrive(|draw| 0.5 + draw / 2.0);
    run.records.retain_mut(|record| {
        let place = places[record.index as usize];
        // The integral 250 t + slope t² / 2 reaches the place.
        let t = (-250.0 + (62_500.0 + 2.0 * slope * place).sqrt()) / slope;
        let (lag, service) = (record.lag(), record.service());
        record.intended = Nanos(1_000_000_000 + (t * 1e9) as u64);
        record.started = record.intended + lag;
        record.ended = record.started + service;
        t < last
    });
    let per_second = (0..SECONDS).map(|s| 250.0 + slope * (s as f64 + 0.5)).collect();
    run.evidence.arrivals = Some(Promise { process: Gaps::Poisson, per_second: Some(per_second) });
    assert_valid(&run);
    let steady = Some(Promise { process: Gaps::Poisson, per_second: None });
    let unplanned = run.observing(|evidence| evidence.arrivals = steady);
    assert_eq!(verdict(&unplanned, CheckId::Rate), CheckVerdict::Remark);
    assert_eq!(verdict(&unplanned, CheckId::ArrivalProcess), CheckVerdict::Fail);
}
