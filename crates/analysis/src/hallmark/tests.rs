//! Tests of the whole hallmark, on simulated runs made faulty in one known way each.
//!
//! Every test begins with the same healthy run, plants one fault, and asserts which checks
//! notice: all others must stay silent, or say that they are but a consequence.

mod client;
mod generation;
mod held;
mod simulated;
mod steadiness;
mod whole;

use simulated::{Run, healthy};

use super::{Check, CheckId, CheckVerdict, Figure, Hallmark, Measure, Statistic, Verdict};

/// The checks that say anything but "pass" or "does not apply" by themselves.
fn noticed(hallmark: &Hallmark) -> Vec<(CheckId, CheckVerdict)> {
    let is_quiet = |verdict| matches!(verdict, CheckVerdict::Pass | CheckVerdict::NotApplicable(_));
    let checks = hallmark.checks.iter();
    let noticed = checks.filter(|check| !is_quiet(check.verdict) && check.because_of.is_none());
    // With one agent this never appears.
    let others = noticed.filter(|check| check.id != CheckId::Saturation);
    others.map(|check| (check.id, check.verdict)).collect()
}

/// Asserts that `run` is invalid for exactly the reason `id`.
fn assert_invalid(run: &Run, id: CheckId) -> Hallmark {
    let hallmark = assert_noticed(run, Verdict::Invalid, &[(id, CheckVerdict::Fail)]);
    assert_eq!(hallmark.reasons, [id]);
    hallmark
}

/// Asserts that `run` is valid with exactly the remark `id`.
fn assert_remark(run: &Run, id: CheckId) -> Hallmark {
    let hallmark = run.examine();
    assert_eq!(hallmark.verdict, Verdict::ValidWithRemarks, "{:?}", brief(&hallmark));
    assert_eq!(hallmark.reasons, [id], "{:?}", brief(&hallmark));
    hallmark
}

/// Asserts that nothing at all is noticed about `run`.
fn assert_valid(run: &Run) -> Hallmark {
    assert_noticed(run, Verdict::Valid, &[])
}

fn assert_noticed(run: &Run, verdict: Verdict, by: &[(CheckId, CheckVerdict)]) -> Hallmark {
    let hallmark = run.examine();
    let found = (hallmark.verdict, &noticed(&hallmark)[..]);
    assert_eq!(found, (verdict, by), "{:?}", brief(&hallmark));
    hallmark
}

/// The verdict of one check of `run`.
fn verdict(run: &Run, id: CheckId) -> CheckVerdict {
    run.examine().check(id).unwrap().verdict
}

/// Whether `hallmark` withdraws `figure`.
fn withdraws(hallmark: &Hallmark, figure: Figure) -> bool {
    !hallmark.withdrawn_by(figure).is_empty()
}

/// What a failing test shows: checks that did not pass, each with its measures and limits.
fn brief(hallmark: &Hallmark) -> Vec<Brief> {
    let checks = hallmark.checks.iter().filter(|check| check.verdict != CheckVerdict::Pass);
    let of = |measure: &Measure| {
        let limits = measure.limits.map(|limits| (limits.pass, limits.fail));
        (measure.statistic, measure.value, limits)
    };
    let measures = |check: &Check| check.measures.iter().map(of).collect();
    checks.map(|check| (check.id, check.verdict, check.because_of, measures(check))).collect()
}

type Brief =
    (CheckId, CheckVerdict, Option<CheckId>, Vec<(Statistic, f64, Option<(f64, Option<f64>)>)>);
