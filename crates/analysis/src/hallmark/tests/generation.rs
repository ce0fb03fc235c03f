//! Loads that were not what was promised.

use assay_model::{Nanos, Outcome, Reason, Record, Seed};

use super::simulated::{RATE, Run, SECONDS, delay, held_up};
use super::{assert_invalid, assert_remark, assert_valid, healthy, verdict, withdraws};
use crate::LoadModel;
use crate::hallmark::{
    CheckId, CheckVerdict, ExpectedArrivals, Figure, Gaps, Inapplicable, Plan, Statistic, Time,
    TraceHashes, Verdict,
};

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
        evidence.workers.iter_mut().for_each(|worker| worker.busy = 1.0);
    });
    let hallmark = assert_invalid(&run, CheckId::Rate);
    let because = |id| hallmark.check(id).unwrap().because_of;
    assert_eq!(because(CheckId::Lag), Some(CheckId::Rate));
    assert_eq!(because(CheckId::Omission), Some(CheckId::Rate));
    assert_eq!(because(CheckId::WorkerCpu), Some(CheckId::Rate));
}

#[test]
fn a_descheduled_worker_is_late() {
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
            delay(record, Nanos::from_millis(4));
        }
    });
    let hallmark = assert_remark(&run, CheckId::Lag);
    assert_eq!(hallmark.check(CheckId::Lag).unwrap().verdict, CheckVerdict::Fail);
    assert!(withdraws(&hallmark, Figure::Percentile(Time::Response, 0.999)));
    assert!(!withdraws(&hallmark, Figure::Percentile(Time::Response, 0.99)));
}

#[test]
fn lag_beyond_p999_withdraws_that_percentile_and_is_no_remark_on_the_run() {
    let late = |every: u64, ms: u64| {
        let mut run = healthy();
        run.options = super::simulated::options(400);
        run.arrive(|draw| -(1.0 - draw).ln());
        run.each(|record| {
            if record.index % every == 0 {
                delay(record, Nanos::from_millis(ms));
            }
        })
    };
    let hallmark = late(3_000, 20).examine();
    assert_eq!(hallmark.verdict, Verdict::Valid, "{:?}", super::brief(&hallmark));
    assert_eq!(hallmark.check(CheckId::Lag).unwrap().verdict, CheckVerdict::Fail);
    assert!(withdraws(&hallmark, Figure::Percentile(Time::Response, 0.9999)));
    assert!(!withdraws(&hallmark, Figure::Percentile(Time::Response, 0.999)));
    assert_eq!(late(500, 20).examine().reasons, [CheckId::Lag]);
}

#[test]
fn lag_in_a_closed_loop_is_what_it_makes_of_a_percentile() {
    let closed = |lag: fn(&Record) -> u64| {
        let run = healthy().closed(4, None);
        run.each(|record| record.intended = Nanos(record.started.0 - lag(record)))
    };
    // A fiftieth of the requests is a millisecond late, none of which is among the slowest.
    let late = |record: &Record| {
        let is_late = record.index.is_multiple_of(50) && record.service() < Nanos(1_500_000);
        if is_late { 1_000_000 } else { 300 }
    };
    let open = healthy().each(|record| record.started = record.intended + Nanos(late(record)));
    assert_eq!(verdict(&open, CheckId::Lag), CheckVerdict::Remark);
    assert_valid(&closed(late));
    assert_remark(&closed(|record| record.service().0 / 7), CheckId::Lag);
    let hallmark = assert_invalid(&closed(|record| record.service().0 / 2), CheckId::Lag);
    assert!(withdraws(&hallmark, Figure::Percentile(Time::Response, 0.5)));
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
fn arrivals_of_another_process_than_planned_are_found() {
    let mut run = healthy();
    run.arrive(|_| 1.0);
    assert_invalid(&run, CheckId::ArrivalProcess);
    run.evidence.arrivals = Some(ExpectedArrivals::steady(Gaps::Constant));
    assert_valid(&run);
}

#[test]
fn requests_in_batches_are_not_the_planned_arrivals() {
    // Each leaves at the next whole 4 ms, which its response time does not notice.
    let run = healthy().slower(|_| 40.0).each(|record| {
        delay(record, Nanos(4_000_000 - record.started.0 % 4_000_000));
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
        run.evidence.arrivals = Some(ExpectedArrivals::steady(process));
        assert_valid(&run);
        let late = run.each(|record| held_up(record, 0.04, 0.02));
        let found = verdict(&late, CheckId::ArrivalProcess);
        assert_eq!(found, CheckVerdict::Fail, "{process:?}");
    }
}

#[test]
fn an_even_schedule_that_was_recorded_may_be_late_by_little() {
    let mut run = healthy();
    run.arrive(|_| 1.0);
    run.evidence.arrivals = Some(ExpectedArrivals::steady(Gaps::Dependent));
    run.thresholds.gap_tolerance = 0.0;
    let punctual = run.each(|record| delay(record, Nanos(record.index % 7 * 1_000)));
    assert_eq!(verdict(&punctual, CheckId::ArrivalProcess), CheckVerdict::Pass);
    let late = punctual.each(|record| held_up(record, 0.04, 0.02));
    assert_eq!(verdict(&late, CheckId::ArrivalProcess), CheckVerdict::Fail);
}

#[test]
fn an_unknown_process_is_not_assessable_and_no_obstacle() {
    let run = healthy().observing(|evidence| evidence.arrivals = None);
    let found = verdict(&run, CheckId::ArrivalProcess);
    assert_eq!(found, CheckVerdict::NotAssessable(Inapplicable::UnknownProcess));
    assert!(run.examine().verdict.is_valid());
}

#[test]
fn another_trace_than_planned_is_found() {
    let trace = Some(TraceHashes { planned: 7, executed: 8 });
    let run = healthy().observing(|evidence| evidence.trace = trace);
    assert_invalid(&run, CheckId::TraceIdentity);
}

#[test]
fn a_client_that_waits_for_responses_is_no_open_loop() {
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
    run.evidence.arrivals = Some(ExpectedArrivals::steady(Gaps::Independent));
    // It promises what it reaches.
    let rate = Some(run.records.len() as f64 / SECONDS as f64);
    run.options.load = LoadModel::Open { rate, limit: Some(1000) };
    assert_invalid(&run, CheckId::OpenLoop);
}

#[test]
fn answers_that_take_no_time_are_no_dependence() {
    // Bursts of three, of which two come at one nanosecond.
    let mut run = healthy();
    run.arrive(|draw| 0.5 + draw);
    let mut at = Nanos::from_secs(1);
    let run = run.each(|record| {
        let gap = [0, 1_000_000, 5_000_000][record.index as usize % 3];
        at += Nanos(gap);
        (record.intended, record.started, record.ended) = (at, at, at);
    });
    let run = run.observing(|evidence| {
        evidence.arrivals = Some(ExpectedArrivals::steady(Gaps::Independent));
    });
    assert_eq!(verdict(&run, CheckId::OpenLoop), CheckVerdict::Pass);
    let check = run.examine();
    let correlation = check.check(CheckId::OpenLoop).unwrap().measures[0];
    assert_eq!(correlation.value, 0.0);
}

#[test]
fn half_of_a_random_load_is_not_the_planned_process() {
    for (process, dispersion) in [(Gaps::Independent, None), (Gaps::Dependent, Some(9.0))] {
        let mut run = healthy();
        run.evidence.arrivals =
            Some(ExpectedArrivals { dispersion, ..ExpectedArrivals::steady(process) });
        assert_valid(&run);
        let mut half = run.clone();
        half.records.retain(|record| record.index % 2 == 0);
        assert_eq!(half.examine().reasons, [CheckId::Rate], "{process:?}");
        run.records.clear();
        assert_eq!(verdict(&run, CheckId::Rate), CheckVerdict::Fail, "{process:?}");
    }
}

/// A healthy Poisson run of which the rate is that of `integral`, by the change of time that makes
/// a Poisson process of any rate.
fn planned(integral: impl Fn(f64) -> f64) -> Run {
    let mut run = healthy();
    let last = SECONDS as f64;
    let mut place = 0.0;
    let records = std::mem::take(&mut run.records);
    let mut from = 0.0;
    for (index, record) in (0..).zip(records.iter().cycle()) {
        place -= (1.0 - Seed(5).draws(1, index).unit()).ln();
        if place >= integral(last) {
            break;
        }
        let mut until = last;
        for _ in 0..50 {
            let middle = f64::midpoint(from, until);
            if integral(middle) < place { from = middle } else { until = middle }
        }
        let intended = Nanos(1_000_000_000 + (until * 1e9) as u64);
        let started = intended + record.lag();
        let ended = started + record.service();
        run.records.push(Record { index, process: index, intended, started, ended, ..*record });
        from = until;
    }
    let length = Nanos::from_secs(SECONDS);
    let plan = Some(Plan::new(length, |at| integral(at.as_secs_f64())));
    run.evidence.arrivals =
        Some(ExpectedArrivals { plan, ..ExpectedArrivals::steady(Gaps::Poisson) });
    run
}

/// From `from` on so many more a second.
fn more(at: f64, from: f64, rate: f64) -> f64 {
    rate * (at - from).max(0.0)
}

#[test]
fn a_rate_that_changes_within_a_second_is_no_burst() {
    type Integral = fn(f64) -> f64;
    let sine: Integral = |at| 500.0 * at + 250.0 * (1.0 - (at * 1.6).cos());
    let shapes: [(&str, Integral); 4] = [
        ("a spike", |at| 250.0 * at + more(at, 10.505, 750.0) - more(at, 15.505, 750.0)),
        ("a high spike", |at| 100.0 * at + more(at, 10.5, 1900.0) - more(at, 15.5, 1900.0)),
        ("a sine", sine),
        ("a change for good", |at| 200.0 * at + more(at, 10.5, 600.0)),
    ];
    for (name, integral) in shapes {
        let run = planned(integral);
        assert_eq!(verdict(&run, CheckId::ArrivalProcess), CheckVerdict::Pass, "{name}");
        assert_valid(&run);
        // The same, but that nothing comes in the first half of each 100 ms.
        let burst = run.each(|record| {
            let late = Nanos((100_000_000 - record.intended.0 % 100_000_000) / 2);
            record.intended += late;
            delay(record, late);
        });
        assert_invalid(&burst, CheckId::ArrivalProcess);
    }
}

#[test]
fn a_stricter_test_of_seconds_expects_more_outliers() {
    let mut run = healthy();
    run.thresholds.rate_second_sigmas = 1.0;
    let hallmark = assert_valid(&run);
    let check = hallmark.check(CheckId::Rate).unwrap();
    let off = check.measures.iter().find(|one| one.statistic == Statistic::SecondsOff).unwrap();
    assert!((5.0..25.0).contains(&off.value), "{off:?}");
}

#[test]
fn gaps_that_nobody_would_notice_are_shown_and_not_held() {
    // The tolerance is a tenth of 14 ms or so, where a gap has 2 ms.
    let slow = healthy().slower(|_| 8.0).examine();
    let gaps = slow.check(CheckId::ArrivalProcess).unwrap().measures[0];
    assert_eq!((gaps.statistic, gaps.limits), (Statistic::GapDistance, None));
    let fast = healthy().examine();
    assert!(fast.check(CheckId::ArrivalProcess).unwrap().measures[0].limits.is_some());
}

#[test]
fn a_planned_ramp_is_no_fault() {
    // From 250/s to 750/s, by the change of time that gives a Poisson process any rate.
    let mut run = healthy();
    let (last, mut place) = (SECONDS as f64, 0.0);
    let slope = 500.0 / last;
    run.arrive(|draw| 0.5 + draw / 2.0);
    run.records.retain_mut(|record| {
        place -= (1.0 - Seed(5).draws(1, record.index).unit()).ln();
        // The integral 250 t + slope t² / 2 reaches the place.
        let t = (-250.0 + (62_500.0 + 2.0 * slope * place).sqrt()) / slope;
        let (lag, service) = (record.lag(), record.service());
        record.intended = Nanos(1_000_000_000 + (t * 1e9) as u64);
        record.started = record.intended + lag;
        record.ended = record.started + service;
        t < last
    });
    let ramp = |at: Nanos| at.as_secs_f64() * (250.0 + slope * at.as_secs_f64() / 2.0);
    let plan = Some(Plan::new(Nanos::from_secs(SECONDS), ramp));
    run.evidence.arrivals =
        Some(ExpectedArrivals { plan, ..ExpectedArrivals::steady(Gaps::Poisson) });
    assert_valid(&run);
    let steady = Some(ExpectedArrivals::steady(Gaps::Poisson));
    let unplanned = run.observing(|evidence| evidence.arrivals = steady);
    assert_eq!(verdict(&unplanned, CheckId::Rate), CheckVerdict::Remark);
    assert_eq!(verdict(&unplanned, CheckId::ArrivalProcess), CheckVerdict::Fail);
}
