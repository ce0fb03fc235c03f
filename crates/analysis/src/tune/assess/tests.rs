//! Steps whose summaries are made of histories.

use assay_model::{Ends, Kind, Record};

use super::*;
use crate::hallmark::{self, Bound, Check, CheckVerdict, Statistic};
use crate::options::{AnalysisOptions, LoadModel, Window};
use crate::slo::{Comparison, ObjectiveTerm, Scope, Stretch};
use crate::tests::{done, send};
use crate::tune::waiting::Waiting;

/// What is known of a step that was made.
struct Made {
    summary: Summary,
    backlog: Option<Backlog>,
}

/// A step of `seconds` at 1000/s; what each read waits, and what it takes, in microseconds.
fn step(seconds: u64, times_us: impl Fn(u64) -> (u64, u64)) -> Made {
    let read = |index: u64| {
        let (lag, service) = times_us(index);
        let intended = Nanos::from_millis(index);
        let started = intended + Nanos::from_micros(lag);
        done(index, Kind::Read, intended, started, started + Nanos::from_micros(service))
    };
    let records: Vec<Record> = (0..seconds * 1_000).map(read).collect();
    made(Nanos::from_secs(seconds), &records)
}

fn made(length: Nanos, records: &[Record]) -> Made {
    let window = Some(Window { from: Nanos::ZERO, until: length });
    let load = LoadModel::Open { rate: Some(1_000.0), limit: None };
    let mut waiting = Waiting::new(window);
    waiting.push(records);
    let summary = send(AnalysisOptions { window, load, ..AnalysisOptions::default() }, records);
    Made { summary, backlog: waiting.backlog() }
}

fn objective() -> Objective {
    let measure = Measure::Latency {
        stretch: Stretch::Response,
        quantile: 0.99,
        limit: Nanos::from_millis(100),
    };
    Objective {
        terms: vec![ObjectiveTerm { scope: Scope::All, measure, comparison: Comparison::Below }],
    }
}

const AS_REQUESTED: StepContext<'static> = StepContext {
    target: 1_000.0,
    is_even: true,
    is_stopped: false,
    backlog: None,
    hallmark: None,
    requires_hallmark: false,
};

/// The hallmark of a run of which these checks failed, each with the check that explains it.
fn failed(checks: &[(CheckId, Option<CheckId>, &[hallmark::Measure])]) -> Hallmark {
    let check = |(id, because_of, measures): &(CheckId, Option<CheckId>, &[hallmark::Measure])| {
        let withdraws = if measures.is_empty() { vec![Figure::All] } else { Vec::new() };
        let (measures, because_of) = (measures.to_vec(), *because_of);
        Check { measures, withdraws, because_of, ..Check::bare(*id, CheckVerdict::Fail) }
    };
    let checks = checks.iter().map(check).collect();
    Hallmark { verdict: hallmark::Verdict::Invalid, checks, ..Hallmark::default() }
}

/// The outcome of a step with 3 % too slow operations, or none, whose run has that hallmark.
fn examined(is_slow: bool, hallmark: &Hallmark) -> (Verdict, Vec<StepReason>) {
    let made = step(12, |n| (0, if is_slow && n % 30 == 0 { 200_000 } else { 900 }));
    decided(&made, StepContext { hallmark: Some(hallmark), ..AS_REQUESTED })
}

fn decided(made: &Made, context: StepContext<'_>) -> (Verdict, Vec<StepReason>) {
    let outcome = assessed(made, context);
    (outcome.verdict, outcome.reasons)
}

/// Operations at these milliseconds, each of which takes one.
fn quick(moments_ms: impl Iterator<Item = u64>) -> Vec<Record> {
    let read = |at: Nanos| done(at.0, Kind::Read, at, at, at + Nanos::from_millis(1));
    moments_ms.map(Nanos::from_millis).map(read).collect()
}

fn assessed(made: &Made, context: StepContext<'_>) -> StepOutcome {
    let context = StepContext { backlog: made.backlog, ..context };
    assess(&made.summary, Some(&objective()), &context)
}

#[test]
fn a_fast_step_is_sustained() {
    let outcome = assessed(&step(12, |_| (0, 900)), AS_REQUESTED);
    assert_eq!((outcome.verdict, outcome.reasons.as_slice()), (Verdict::Held, &[][..]));
    assert_eq!(outcome.figures.seconds, 12.0);
    assert_eq!(outcome.figures.offered_per_s, 1_000.0);
    let near = |found: Nanos, us: f64| (found.0 as f64 / 1e3 / us - 1.0).abs() < 2e-3;
    assert!(near(outcome.figures.p99, 900.0) && near(outcome.figures.p50, 900.0));
    assert_eq!(outcome.figures.latency, Some(outcome.figures.p99));
}

#[test]
fn a_slow_step_says_which_term_it_breaks() {
    let outcome =
        assessed(&step(12, |n| (0, if n % 30 == 0 { 200_000 } else { 900 })), AS_REQUESTED);
    assert_eq!(outcome.reasons, [StepReason::Objective(0)]);
}

#[test]
fn a_step_that_is_too_short_is_undecided() {
    let records = quick((0..200).map(|n| n * 60));
    let sparse = StepContext { target: 16.7, ..AS_REQUESTED };
    let found = decided(&made(Nanos::from_secs(12), &records), sparse);
    assert_eq!(found, (Verdict::Unknown, vec![StepReason::Undecided(0)]));
}

#[test]
fn a_backlog_that_grows_is_not_sustained_although_the_objective_holds() {
    // The offered rate is 0.8 % too high: after 12 s the wait is 96 ms, still within 100 ms.
    for seconds in [1, 2, 6, 10, 12] {
        let step = step(seconds, |n| (n * 8, 900));
        let found = step.backlog.expect("it is long enough");
        assert!((found.growth_per_s - 8.0).abs() < 0.5, "{found:?} in {seconds} s");
        let outcome = assessed(&step, AS_REQUESTED);
        assert_eq!(outcome.reasons[0], StepReason::Backlog(found.growth_per_s), "{outcome:?}");
        assert_eq!((outcome.verdict, outcome.terms[0].over), (Verdict::Violated, 0));
    }
}

#[test]
fn a_step_too_short_to_see_the_backlog_grow_is_undecided() {
    let found = decided(&made(Nanos::from_millis(900), &quick(0..900)), AS_REQUESTED);
    assert_eq!(found, (Verdict::Unknown, vec![StepReason::Short]));
}

#[test]
fn what_waits_from_the_warm_up_on_is_no_growth() {
    let second = |number: u64| Nanos::from_secs(number);
    let all: Vec<Record> = (0..14_000)
        .map(Nanos::from_millis)
        .map(|at| done(at.0, Kind::Read, at, at, at + second(3)))
        .collect();
    let mut waiting = Waiting::new(Some(Window { from: second(4), until: second(14) }));
    waiting.push(&all);
    let found = waiting.backlog().expect("it is long enough");
    assert!(found.growth_per_s.abs() < 1.0, "{found:?}");
}

#[test]
fn bursts_are_held_to_what_arrived() {
    let outcome = |is_even| {
        let bursts = StepContext { is_even, target: 2_000.0, ..AS_REQUESTED };
        assessed(&step(12, |_| (0, 900)), bursts).reasons
    };
    assert_eq!((outcome(true), outcome(false)), (vec![StepReason::Rate(0.5)], vec![]));
    let late = |n: u64| (if n < 8_000 { 0 } else { 20_000_000 }, 900);
    let bursts = StepContext { is_even: false, ..AS_REQUESTED };
    let reasons = assessed(&step(12, late), bursts).reasons;
    assert!(reasons.iter().any(|reason| matches!(reason, StepReason::Rate(share) if *share < 0.7)));
}

#[test]
fn processes_of_two_operations_are_issued_when_both_are() {
    let twice = |seconds: u64, rate: u64| {
        let two = |process: u64| {
            let at = Nanos(process * 1_000_000_000 / rate);
            let one = done(2 * process, Kind::Read, at, at, at + Nanos::from_millis(1));
            let first = Record { process, ends: Ends::Process, ..one };
            [first, Record { index: 2 * process + 1, ends: Ends::Both, ..first }]
        };
        made(Nanos::from_secs(seconds), &(0..seconds * rate).flat_map(two).collect::<Vec<_>>())
    };
    assert_eq!(assessed(&twice(12, 1_000), AS_REQUESTED).reasons, []);
    // Half the processes have as many operations as there should be processes.
    assert_eq!(assessed(&twice(12, 500), AS_REQUESTED).reasons, [StepReason::Rate(0.5)]);
}

#[test]
fn a_backlog_that_comes_and_goes_is_no_growth() {
    let outcome = assessed(&step(40, |n| (n / 1_000 % 4 * 9_000, 900)), AS_REQUESTED);
    assert_eq!(outcome.reasons, []);
}

#[test]
fn a_rate_that_was_not_reached_is_not_sustained() {
    let halved = StepContext { target: 2_000.0, ..AS_REQUESTED };
    let outcome = assessed(&step(12, |_| (0, 900)), halved);
    assert_eq!(outcome.reasons, [StepReason::Rate(0.5)]);
    // The last third of the requests is sent after the end of the step.
    let late = |n: u64| (if n < 8_000 { 0 } else { 20_000_000 }, 900);
    let reasons = assessed(&step(12, late), AS_REQUESTED).reasons;
    assert!(reasons.iter().any(|reason| matches!(reason, StepReason::Rate(share) if *share < 0.7)));
}

#[test]
fn a_poisson_count_that_is_a_little_low_is_chance() {
    let little_less = StepContext { target: 1_030.0, ..AS_REQUESTED };
    assert_eq!(assessed(&step(12, |_| (0, 900)), little_less).reasons, []);
}

#[test]
fn a_step_that_was_stopped_or_has_no_hallmark_is_not_sustained() {
    let quick = step(12, |_| (0, 900));
    let stopped = StepContext { is_stopped: true, target: 2_000.0, ..AS_REQUESTED };
    assert_eq!(assessed(&quick, stopped).reasons, [StepReason::Overload]);
    let slow = step(12, |_| (0, 900_000));
    assert_eq!(
        assessed(&slow, stopped).reasons,
        [StepReason::Overload],
        "all else follows from it"
    );
    let without = StepContext { requires_hallmark: true, ..AS_REQUESTED };
    assert_eq!(decided(&quick, without), (Verdict::Unknown, vec![StepReason::Hallmark]));
}

#[test]
fn a_step_that_fails_because_of_a_late_client_is_unknown_rather_than_failed() {
    let late = failed(&[(CheckId::WorkerCpu, None, &[])]);
    let reasons = vec![StepReason::Objective(0), StepReason::Client(CheckId::WorkerCpu)];
    assert_eq!(examined(true, &late), (Verdict::Unknown, reasons));
    let symptom = failed(&[(CheckId::Lag, Some(CheckId::WorkerCpu), &[])]);
    assert_eq!(examined(true, &symptom).0, Verdict::Unknown);
    // A longer step would not reveal what a late client hides.
    let made = step(1, |n| (0, if n % 90 == 0 { 200_000 } else { 900 }));
    let undecided = assessed(&made, StepContext { hallmark: Some(&late), ..AS_REQUESTED });
    assert_eq!(
        undecided.reasons,
        [StepReason::Undecided(0), StepReason::Client(CheckId::WorkerCpu)]
    );
    assert!(undecided.is_of_client());
    // A late client cannot make a store look faster than it is, but records can be missing.
    assert_eq!(examined(false, &late), (Verdict::Held, Vec::new()));
    let lost = failed(&[(CheckId::LostRecords, None, &[])]);
    let reasons = vec![StepReason::Client(CheckId::LostRecords)];
    assert_eq!(examined(false, &lost), (Verdict::Unknown, reasons));
}

#[test]
fn a_step_that_fails_because_of_the_store_has_failed_whatever_its_hallmark() {
    let broken = (Verdict::Violated, vec![StepReason::Objective(0)]);
    let growing = failed(&[(CheckId::Backlog, None, &[])]);
    assert_eq!(examined(true, &growing), broken);
    let limits = Some(hallmark::Limits { bound: Bound::AtMost, pass: 0.0, fail: None });
    let measure =
        |statistic, value, limits| [hallmark::Measure { statistic, figure: None, value, limits }];
    let with = |queued, limits_of_worker| {
        let worker = measure(Statistic::WorkerBusy, 0.5, limits_of_worker);
        let queued = measure(Statistic::Queued, queued, limits);
        failed(&[
            (CheckId::Rate, None, &[]),
            (CheckId::Omission, None, &queued),
            (CheckId::WorkerCpu, None, &worker),
        ])
    };
    // Requests that were sent late although the in-flight bound was not reached, from a worker of
    // its own.
    assert_eq!(examined(true, &with(0.0, limits)).0, Verdict::Unknown);
    assert_eq!(examined(true, &with(0.3, limits)), broken);
    assert_eq!(examined(true, &with(0.0, None)), broken, "the store works within the worker");
}

#[test]
fn refusals_are_the_stores_whatever_the_client() {
    let refused = |index: u64| {
        let at = Nanos::from_millis(index);
        let one = done(index, Kind::Read, at, at, at + Nanos::from_millis(1));
        match index % 10 {
            0 => Record { outcome: assay_model::Outcome::Refused, found: false, ..one },
            _ => one,
        }
    };
    let made = made(Nanos::from_secs(12), &(0..12_000).map(refused).collect::<Vec<_>>());
    let measure = Measure::Errors { limit: 0.01 };
    let term = ObjectiveTerm { scope: Scope::All, measure, comparison: Comparison::Below };
    let late = failed(&[(CheckId::WorkerCpu, None, &[])]);
    let context = StepContext { backlog: made.backlog, hallmark: Some(&late), ..AS_REQUESTED };
    let outcome = assess(&made.summary, Some(&Objective { terms: vec![term] }), &context);
    assert_eq!(
        (outcome.verdict, outcome.reasons),
        (Verdict::Violated, vec![StepReason::Objective(0)])
    );
}

#[test]
fn without_an_objective_only_the_rate_counts() {
    let step = step(12, |_| (0, 900_000));
    let context = StepContext { backlog: step.backlog, ..AS_REQUESTED };
    let outcome = assess(&step.summary, None, &context);
    assert_eq!((outcome.verdict, outcome.terms.len()), (Verdict::Held, 0));
}

#[test]
fn what_a_failed_transaction_leaves_out_was_not_withheld_by_the_client() {
    let offered = |n: u64| {
        let at = Nanos(n * 1_000_000);
        let record = done(n, Kind::Read, at, at, at + Nanos::from_micros(900));
        let dropped = Record {
            outcome: assay_model::Outcome::Dropped,
            reason: assay_model::Reason::TransactionFailed,
            ..record
        };
        if n.is_multiple_of(10) { dropped } else { record }
    };
    let records: Vec<Record> = (0..12_000).map(offered).collect();
    let reasons = assessed(&made(Nanos::from_secs(12), &records), AS_REQUESTED).reasons;
    assert!(!reasons.iter().any(|reason| matches!(reason, StepReason::Rate(_))), "{reasons:?}");
}
