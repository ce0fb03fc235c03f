//! Which failed check explains which: one illness has many symptoms.
//!
//! A lane that gets no processor sends late, in bursts, with pauses. Each of these checks fails,
//! and each is right, but the reason is one. A failure or remark is called a consequence only of a
//! check that itself failed a headline figure (a change, of a remark about changes), and only along
//! this list, which follows the way that trouble takes: from the machine to the lane, from the lane
//! to the load, from the load to the store, and from there to the figures.

use super::case::Case;
use super::check::{Check, CheckId, CheckVerdict, Statistic};
use super::steadiness::is_too_short;

/// Each check with those that explain it, the strongest first.
const CAUSES: [(CheckId, &[CheckId]); 13] = [
    (CheckId::Rate, &[CheckId::LaneCpu, CheckId::Omission]),
    (CheckId::Omission, &[CheckId::LaneCpu, CheckId::Rate]),
    (CheckId::Lag, &[CheckId::LaneCpu, CheckId::Rate, CheckId::Omission]),
    (CheckId::ArrivalProcess, LOAD),
    (CheckId::OpenLoop, LOAD),
    (CheckId::Hiccups, &[CheckId::LaneCpu]),
    (CheckId::LaneCpu, &[CheckId::Rate]),
    (CheckId::WarmUp, COURSE),
    (CheckId::ChangePoints, COURSE),
    (CheckId::Trend, COURSE),
    (CheckId::Periodicity, COURSE),
    (CheckId::Backlog, LOAD),
    (CheckId::SampleSize, SAMPLE),
];

const LOAD: &[CheckId] = &[CheckId::LaneCpu, CheckId::Rate, CheckId::Omission, CheckId::Lag];

const COURSE: &[CheckId] =
    &[CheckId::LaneCpu, CheckId::Rate, CheckId::Omission, CheckId::Lag, CheckId::Backlog];

const SAMPLE: &[CheckId] = &[
    CheckId::LaneCpu,
    CheckId::Rate,
    CheckId::Omission,
    CheckId::Lag,
    CheckId::Backlog,
    CheckId::WarmUp,
];

/// Fills in what each check is a consequence of.
pub fn explain(case: &Case, checks: &mut [Check]) {
    let failed: Vec<CheckId> =
        checks.iter().filter(|check| check.fails_a_headline()).map(|check| check.id).collect();
    let is_kept_off = checks.iter().any(is_kept_off);
    let is_short = checks.iter().any(is_too_short);
    let explains = |cause: CheckId, effect: CheckId| match (cause, effect) {
        // Lanes that never rest are how a rate beyond them looks; lanes that are not let go on are
        // the reason for whatever else is late.
        (CheckId::LaneCpu, CheckId::Rate | CheckId::Omission) => is_kept_off,
        (CheckId::Rate, CheckId::LaneCpu) => !is_kept_off,
        (CheckId::Omission, CheckId::Rate) => is_limit_first(case),
        (CheckId::Rate, CheckId::Omission) => !is_limit_first(case),
        (_, CheckId::SampleSize) => !is_short,
        _ => true,
    };
    for check in checks.iter_mut() {
        let is_symptom = matches!(check.verdict, CheckVerdict::Fail | CheckVerdict::Remark);
        let causes = CAUSES.iter().find(|(effect, _)| *effect == check.id);
        let mut causes = causes.map_or(&[][..], |(_, causes)| causes).iter();
        let is_cause = |cause: &&CheckId| failed.contains(cause) && explains(**cause, check.id);
        check.because_of = if is_symptom { causes.find(is_cause).copied() } else { None };
    }
}

/// Whether most of what was dropped was dropped because too much was in flight.
fn is_limit_first(case: &Case) -> bool {
    case.seen.dropped_at_limit > case.seen.dropped_at_end
}

/// Whether lanes failed because they were kept from going on, rather than by their own work.
fn is_kept_off(check: &Check) -> bool {
    check.id == CheckId::LaneCpu
        && check.measures.iter().any(|measure| {
            measure.statistic != Statistic::LaneBusy && measure.verdict() == CheckVerdict::Fail
        })
}
