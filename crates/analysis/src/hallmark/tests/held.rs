//! Arrivals that waited because the store had not responded to those before them.

use assay_model::{Nanos, Outcome, Reason};

use super::simulated::{Run, SECONDS, held_up};
use super::{brief, healthy};
use crate::hallmark::{CheckId, CheckVerdict, Hallmark, Inapplicable, Statistic, Verdict};
use crate::{Held, Window};

/// The bound on operations in flight.
const BOUND: usize = 100;
/// The time of the stall.
const STOP: (Nanos, Nanos) = (Nanos::from_secs(15), Nanos::from_secs(20));
/// The service time of each waiting arrival afterwards.
const EACH: Nanos = Nanos::from_micros(50);

/// A run whose store stalls for five seconds: the first arrivals in them are sent and wait for
/// their responses, the others wait for a slot.
fn frozen() -> Run {
    let (mut stopped, mut full, mut free) = (0, STOP.1, STOP.1);
    let mut run = healthy().each(|record| {
        if record.started < STOP.0 || record.started >= free {
            return;
        }
        if stopped < BOUND && record.started < STOP.1 {
            stopped += 1;
        } else {
            full = full.min(record.intended);
            record.started = record.started.max(free);
        }
        free += EACH;
        record.ended = free + EACH;
    });
    hold(&mut run, full, free);
    run
}

fn hold(run: &mut Run, from: Nanos, until: Nanos) {
    run.options.held = Held(vec![vec![Window { from, until }]; 2]);
}

fn verdict_of(hallmark: &Hallmark, id: CheckId) -> CheckVerdict {
    hallmark.check(id).unwrap().verdict
}

#[test]
fn a_frozen_store_makes_no_run_invalid() {
    let hallmark = frozen().examine();
    assert_eq!(hallmark.verdict, Verdict::ValidWithRemarks, "{:?}", brief(&hallmark));
    assert!(hallmark.reasons.contains(&CheckId::Omission), "{:?}", hallmark.reasons);
    for id in [CheckId::Rate, CheckId::Lag, CheckId::ArrivalProcess, CheckId::OpenLoop] {
        assert_eq!(verdict_of(&hallmark, id), CheckVerdict::Pass, "{:?}", brief(&hallmark));
    }
    let held = hallmark.check(CheckId::Omission).unwrap().measures.iter();
    let held = held.filter(|one| one.statistic == Statistic::HeldBack).map(|one| one.value);
    // 4.8 of 40 s.
    assert!((0.11..0.13).contains(&held.sum::<f64>()), "{:?}", brief(&hallmark));
    let untold = CheckVerdict::NotApplicable(Inapplicable::HeldBack);
    assert_eq!(verdict_of(&hallmark, CheckId::WarmUp), untold);
}

#[test]
fn without_held_back_stretches_the_lateness_is_the_clients() {
    let mut run = frozen();
    run.options.held = Held::default();
    assert_eq!(run.examine().verdict, Verdict::Invalid);
}

#[test]
fn arrivals_dropped_during_a_stall_are_due_to_the_store() {
    let mut run = frozen();
    let held = run.options.held.0[0][0];
    for record in run.records.iter_mut().filter(|record| held.contains(record.intended)) {
        (record.started, record.ended) = (record.intended, record.intended);
        (record.outcome, record.reason) = (Outcome::Dropped, Reason::InFlightLimit);
        record.found = false;
    }
    let hallmark = run.examine();
    assert_eq!(hallmark.verdict, Verdict::ValidWithRemarks, "{:?}", brief(&hallmark));
    // The same drops at another time are the client's omission.
    hold(&mut run, Nanos::from_secs(30), Nanos::from_secs(31));
    assert!(run.examine().reasons.contains(&CheckId::Omission));
    assert_eq!(run.examine().verdict, Verdict::Invalid);
}

#[test]
fn a_worker_that_sleeps_during_a_stall_is_late() {
    let run = frozen().each(|record| {
        let is_stopped = record.started >= STOP.0 && record.started < Nanos::from_secs(22);
        if record.process % 2 == 0 && !is_stopped {
            held_up(record, 2.0, 0.2);
        }
    });
    let hallmark = run.examine();
    // The stall has made most percentiles too uncertain to compare the lag with.
    assert_eq!(hallmark.verdict, Verdict::Invalid);
    assert_eq!(hallmark.reasons, [CheckId::ArrivalProcess], "{:?}", brief(&hallmark));
}

#[test]
fn a_starved_worker_does_not_explain_the_effects_of_a_stalled_store() {
    let run = frozen().observing(|evidence| evidence.workers[0].waited = Some(0.2));
    let hallmark = assert_invalid_by(&run, CheckId::WorkerCpu);
    assert_eq!(hallmark.check(CheckId::Omission).unwrap().because_of, None);
    assert_eq!(verdict_of(&hallmark, CheckId::ArrivalProcess), CheckVerdict::Pass);
}

fn assert_invalid_by(run: &Run, id: CheckId) -> Hallmark {
    let hallmark = run.examine();
    assert_eq!((hallmark.verdict, &hallmark.reasons[..]), (Verdict::Invalid, &[id][..]));
    hallmark
}

#[test]
fn a_store_that_does_not_keep_up_makes_no_run_invalid() {
    // It takes 2.5 ms for each, one after another; what still waits when the run ends is dropped.
    let end = Nanos::from_secs(1 + SECONDS);
    let mut free = Nanos::ZERO;
    let mut run = healthy().each(|record| {
        let service = Nanos(2_500_000);
        record.started = record.started.max(free);
        record.ended = record.started + service;
        free = record.ended;
        if record.started >= end {
            (record.started, record.ended) = (end, end);
            (record.outcome, record.reason) = (Outcome::Dropped, Reason::RunEnded);
            record.found = false;
        }
    });
    hold(&mut run, Nanos::from_secs(1), end);
    let hallmark = run.examine();
    assert_eq!(hallmark.verdict, Verdict::ValidWithRemarks, "{:?}", brief(&hallmark));
    assert!(hallmark.reasons.contains(&CheckId::Backlog), "{:?}", hallmark.reasons);
    assert!(hallmark.reasons.contains(&CheckId::Omission), "{:?}", hallmark.reasons);
    // Workers that never rest are the reason all the same.
    let busy = run.observing(|evidence| {
        evidence.workers.iter_mut().for_each(|worker| worker.busy = 1.0);
    });
    assert_invalid_by(&busy, CheckId::WorkerCpu);
}

#[test]
fn a_stop_that_reaches_no_bound_makes_no_run_invalid() {
    // Five seconds, in which all requests are sent and wait; the first ones wait longest.
    let run = healthy().each(|record| {
        if record.started >= STOP.0 && record.started < STOP.1 {
            record.ended = STOP.1 + Nanos((record.started.0 - STOP.0.0) / 100);
        }
    });
    let hallmark = run.examine();
    assert!(hallmark.verdict.is_valid(), "{:?}", brief(&hallmark));
    let lossy = run.observing(|evidence| evidence.lost_records = Some(1));
    assert_invalid_by(&lossy, CheckId::LostRecords);
}
