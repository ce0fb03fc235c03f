//! Steps whose summaries are made of histories.

use assay_model::{Kind, Record};

use super::*;
use crate::question::{LoadModel, Question, Window};
use crate::slo::{Comparison, Scope, Stretch, Term};
use crate::tests::{ask, done};

/// A step of `seconds` at 1000/s; what each read waits, and what it takes, in microseconds.
fn step(seconds: u64, times_us: impl Fn(u64) -> (u64, u64)) -> Summary {
    let read = |index: u64| {
        let (lag, service) = times_us(index);
        let intended = Nanos::from_millis(index);
        let started = intended + Nanos::from_micros(lag);
        done(index, Kind::Read, intended, started, started + Nanos::from_micros(service))
    };
    let records: Vec<Record> = (0..seconds * 1_000).map(read).collect();
    summary(seconds, &records)
}

fn summary(seconds: u64, records: &[Record]) -> Summary {
    let window = Window { from: Nanos::ZERO, until: Nanos::from_secs(seconds) };
    let load = LoadModel::Open { rate: Some(1_000.0), limit: None };
    ask(Question { window: Some(window), load, ..Question::default() }, records)
}

fn objective() -> Objective {
    let measure = Measure::Latency {
        stretch: Stretch::Response,
        quantile: 0.99,
        limit: Nanos::from_millis(100),
    };
    Objective { terms: vec![Term { scope: Scope::All, measure, comparison: Comparison::Below }] }
}

const AS_ASKED: Circumstances =
    Circumstances { target: 1_000.0, is_stopped: false, hallmark: None };

fn assessed(summary: &Summary, circumstances: Circumstances) -> Outcome {
    assess(summary, Some(&objective()), &circumstances)
}

#[test]
fn a_quick_step_holds() {
    let outcome = assessed(&step(12, |_| (0, 900)), AS_ASKED);
    assert_eq!((outcome.verdict, outcome.reasons.as_slice()), (Verdict::Held, &[][..]));
    assert_eq!(outcome.figures.seconds, 12.0);
    assert_eq!(outcome.figures.offered_per_s, 1_000.0);
    let near = |found: Nanos, us: f64| (found.0 as f64 / 1e3 / us - 1.0).abs() < 2e-3;
    assert!(near(outcome.figures.p99, 900.0) && near(outcome.figures.p50, 900.0));
    assert_eq!(outcome.figures.latency, Some(outcome.figures.p99));
}

#[test]
fn a_slow_step_says_which_term_it_breaks() {
    let outcome = assessed(&step(12, |n| (0, if n % 30 == 0 { 200_000 } else { 900 })), AS_ASKED);
    assert_eq!(outcome.reasons, [Reason::Objective(0)]);
}

#[test]
fn a_step_that_is_too_short_is_undecided() {
    let records: Vec<Record> = (0..200)
        .map(|n| Nanos::from_millis(n * 60))
        .map(|at| done(at.0, Kind::Read, at, at, at + Nanos::from_millis(1)))
        .collect();
    let sparse = Circumstances { target: 16.7, ..AS_ASKED };
    let outcome = assessed(&summary(12, &records), sparse);
    assert_eq!(
        (outcome.verdict, outcome.reasons.as_slice()),
        (Verdict::Unknown, &[Reason::Undecided(0)][..])
    );
}

#[test]
fn a_backlog_that_grows_is_not_sustained_although_the_objective_holds() {
    // What is asked is 0.8 % too much: after 12 s the wait is 96 ms, still within 100 ms.
    let outcome = assessed(&step(6, |n| (n * 8, 900)), AS_ASKED);
    assert_eq!(outcome.verdict, Verdict::Held, "six intervals are too few for a slope");
    let summary = step(12, |n| (n * 8, 900));
    let found = backlog(&summary.series.intervals, summary.series.width).expect("there are twelve");
    assert!((found.growth_per_s - 8.0).abs() < 0.5, "{found:?}");
    let outcome = assessed(&summary, AS_ASKED);
    assert_eq!(outcome.reasons[0], Reason::Backlog(found.growth_per_s), "{outcome:?}");
    assert_eq!((outcome.verdict, outcome.terms[0].over), (Verdict::Violated, 0));
}

#[test]
fn a_backlog_that_comes_and_goes_is_no_growth() {
    let outcome = assessed(&step(40, |n| (n / 1_000 % 4 * 9_000, 900)), AS_ASKED);
    assert_eq!(outcome.reasons, []);
}

#[test]
fn a_rate_that_was_not_asked_is_not_sustained() {
    let halved = Circumstances { target: 2_000.0, ..AS_ASKED };
    let outcome = assessed(&step(12, |_| (0, 900)), halved);
    assert_eq!(outcome.reasons, [Reason::Rate(0.5)]);
    // The last third of the requests leaves after the end of the step.
    let late = |n: u64| (if n < 8_000 { 0 } else { 20_000_000 }, 900);
    let reasons = assessed(&step(12, late), AS_ASKED).reasons;
    assert!(reasons.iter().any(|reason| matches!(reason, Reason::Rate(share) if *share < 0.7)));
}

#[test]
fn a_poisson_count_that_is_a_little_low_is_chance() {
    let little_less = Circumstances { target: 1_030.0, ..AS_ASKED };
    assert_eq!(assessed(&step(12, |_| (0, 900)), little_less).reasons, []);
}

#[test]
fn who_was_stopped_or_has_no_hallmark_is_not_sustained() {
    let summary = step(12, |_| (0, 900));
    let stopped = Circumstances { is_stopped: true, target: 2_000.0, ..AS_ASKED };
    assert_eq!(assessed(&summary, stopped).reasons, [Reason::Overload]);
    let slow = step(12, |_| (0, 900_000));
    assert_eq!(assessed(&slow, stopped).reasons, [Reason::Overload], "all else follows from it");
    let without = Circumstances { hallmark: Some(Verdict::Violated), ..AS_ASKED };
    assert_eq!(assessed(&summary, without).reasons, [Reason::Hallmark]);
    let unknown = Circumstances { hallmark: Some(Verdict::Unknown), ..AS_ASKED };
    assert_eq!(assessed(&summary, unknown).verdict, Verdict::Held);
}

#[test]
fn without_an_objective_only_the_rate_counts() {
    let outcome = assess(&step(12, |_| (0, 900_000)), None, &AS_ASKED);
    assert_eq!((outcome.verdict, outcome.terms.len()), (Verdict::Held, 0));
}
