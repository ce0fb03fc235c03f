//! Causes among failed checks: one fault has many symptoms.
//!
//! A worker that gets no processor sends late, in bursts, with pauses. Each of these checks fails,
//! and each is right, but the reason is one. A failure or remark is called a consequence only of a
//! check that itself failed a headline figure (a change, of a remark about changes), and only along
//! this list, which follows the order of cause and effect: from the machine to the worker, from the
//! worker to the load, from the load to the store, and from there to the figures.

use super::check::{Check, CheckId, CheckVerdict, Inapplicable, Statistic};
use super::input::Input;
use super::steadiness::is_too_short;

/// Each check with those that explain it, the strongest first.
const CAUSES: [(CheckId, &[CheckId]); 13] = [
    (CheckId::Rate, &[CheckId::WorkerCpu, CheckId::Omission]),
    (CheckId::Omission, &[CheckId::WorkerCpu, CheckId::Rate]),
    (CheckId::Lag, &[CheckId::WorkerCpu, CheckId::Rate, CheckId::Omission]),
    (CheckId::ArrivalProcess, LOAD),
    (CheckId::OpenLoop, LOAD),
    (CheckId::Hiccups, &[CheckId::WorkerCpu]),
    (CheckId::WorkerCpu, &[CheckId::Rate]),
    (CheckId::WarmUp, COURSE),
    (CheckId::ChangePoints, STEADY),
    (CheckId::Trend, STEADY),
    (CheckId::Periodicity, STEADY),
    (CheckId::Backlog, STEADY),
    (CheckId::SampleSize, SAMPLE),
];

const LOAD: &[CheckId] = &[CheckId::WorkerCpu, CheckId::Rate, CheckId::Omission, CheckId::Lag];

const COURSE: &[CheckId] =
    &[CheckId::WorkerCpu, CheckId::Rate, CheckId::Omission, CheckId::Lag, CheckId::Backlog];

const STEADY: &[CheckId] = &[
    CheckId::WorkerCpu,
    CheckId::Rate,
    CheckId::Omission,
    CheckId::Lag,
    CheckId::Backlog,
    CheckId::WarmUp,
];

const SAMPLE: &[CheckId] = &[
    CheckId::WorkerCpu,
    CheckId::Rate,
    CheckId::Omission,
    CheckId::Lag,
    CheckId::Backlog,
    CheckId::WarmUp,
    CheckId::ChangePoints,
];

/// Fills in what each check is a consequence of.
pub fn explain(input: &Input, checks: &mut [Check]) {
    let is_kept_off = checks.iter().any(is_kept_off);
    let is_short = checks.iter().any(is_too_short);
    let explains = |cause: &Check, effect: &Check| match (cause.id, effect.id) {
        (one, other) if one == other => false,
        // That the store held arrivals back has no cause on the client's side.
        (_, CheckId::Omission) if is_the_stores(effect) => false,
        // Workers without any idle time are a symptom of too high a rate; workers that wait for a
        // processor are the cause of every other lateness.
        (CheckId::WorkerCpu, CheckId::Rate | CheckId::Omission) => is_kept_off,
        (CheckId::Rate, CheckId::WorkerCpu) => !is_kept_off,
        (CheckId::Omission, CheckId::Rate) => is_limit_first(input),
        (CheckId::Rate, CheckId::Omission) => !is_limit_first(input),
        // What gets slower has more in flight; only what piles up without end is a backlog.
        (CheckId::WarmUp, CheckId::Backlog) => effect.verdict == CheckVerdict::Remark,
        (CheckId::Backlog, CheckId::WarmUp) => cause.verdict == CheckVerdict::Fail,
        // Operations of the same level depend on each other.
        (CheckId::ChangePoints, CheckId::SampleSize) => effect.verdict == CheckVerdict::Remark,
        (_, CheckId::SampleSize) => !is_short,
        _ => true,
    };
    let is_cause = |cause: &Check| {
        cause.fails_a_headline()
            || cause.id == CheckId::ChangePoints && cause.verdict == CheckVerdict::Remark
    };
    let first = |effect: &Check| {
        let (_, causes) = CAUSES.iter().find(|(id, _)| *id == effect.id)?;
        let mut failed = causes.iter().filter_map(|id| checks.iter().find(|one| one.id == *id));
        failed.find(|cause| is_cause(cause) && explains(cause, effect)).map(|cause| cause.id)
    };
    let nearest: Vec<(CheckId, Option<CheckId>)> =
        checks.iter().map(|check| (check.id, first(check).filter(|_| is_symptom(check)))).collect();
    let up = |id: CheckId| nearest.iter().find(|(of, _)| *of == id).and_then(|(_, to)| *to);
    for check in checks {
        // The list has no circles for any one run; its length bounds the way to the root anyway.
        let ways = std::iter::successors(up(check.id), |id| up(*id)).take(CAUSES.len());
        check.because_of = ways.last();
    }
}

/// Whether the finding of a check is due to the store alone.
fn is_the_stores(check: &Check) -> bool {
    let mut remarkable = check.measures.iter().filter(|one| one.verdict() != CheckVerdict::Pass);
    remarkable.all(|measure| measure.statistic == Statistic::HeldBack)
}

/// Whether a check found something that another may explain.
fn is_symptom(check: &Check) -> bool {
    use CheckVerdict::{Fail, NotAssessable, Remark};
    matches!(check.verdict, Fail | Remark | NotAssessable(Inapplicable::NeverSettled))
}

/// Whether most of what was dropped was dropped because too much was in flight.
fn is_limit_first(input: &Input) -> bool {
    input.observed.dropped_at_limit > input.observed.dropped_at_end
}

/// Whether the check of the workers failed because they waited for a processor, rather than by
/// their own work.
fn is_kept_off(check: &Check) -> bool {
    check.id == CheckId::WorkerCpu
        && check.measures.iter().any(|measure| {
            measure.statistic != Statistic::WorkerBusy && measure.verdict() == CheckVerdict::Fail
        })
}
