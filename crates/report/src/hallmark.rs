//! The hallmark in words.

mod shape;
pub(crate) mod words;

use assay_analysis::LoadModel;
use assay_analysis::hallmark::{Check, CheckId, CheckVerdict, Figure, Hallmark, Time, Verdict};
use assay_analysis::slo::Stretch;

use crate::document::{CheckRow, CheckTone};
use crate::document::{Finding, Level};
use crate::facts::Facts;
use crate::units::{Letters, duration};

pub use shape::{HallmarkObject, SCHEMA, json};
pub use words::{figure_name, verdict_name, what};

/// The number of reasons in the one line; of more only the names.
const SHOWN: usize = 3;

/// Whether the hallmark does not stand behind a percentile.
pub fn withdraws(facts: &Facts, latency: Stretch, quantile: f64) -> bool {
    let time = match latency {
        Stretch::Response => Time::Response,
        Stretch::Service => Time::Service,
        Stretch::Lag => return false,
    };
    let figure = Figure::Percentile(time, quantile);
    facts.hallmark.as_ref().is_some_and(|hallmark| !hallmark.refuted_by(figure).is_empty())
}

/// Whether the hallmark names the check `id` as a reason for its verdict.
pub fn names(facts: &Facts, id: CheckId) -> bool {
    facts.hallmark.as_ref().is_some_and(|hallmark| hallmark.reasons.contains(&id))
}

/// Whether the check `id` failed or is remarkable, as a reason or as a consequence of one.
pub fn tells(facts: &Facts, id: CheckId) -> bool {
    let check = facts.hallmark.as_ref().and_then(|hallmark| hallmark.check(id));
    let verdict = check.map(|check| check.verdict);
    matches!(verdict, Some(CheckVerdict::Remark | CheckVerdict::Fail))
}

/// Whether nothing is known that speaks against the figures as a whole.
pub fn stands(facts: &Facts) -> bool {
    facts.hallmark.as_ref().is_none_or(|hallmark| hallmark.verdict.is_valid())
}

/// The one line at the top of every report; none if the run was not examined.
///
/// Its text is why; it may be empty.
pub fn line(facts: &Facts) -> Option<Finding> {
    facts.hallmark.as_ref().map(one_line)
}

fn one_line(hallmark: &Hallmark) -> Finding {
    let (level, name) = match hallmark.verdict {
        Verdict::Valid => (Level::Fine, "HALLMARK VALID"),
        Verdict::ValidWithRemarks => (Level::Caution, "HALLMARK VALID WITH REMARKS"),
        Verdict::Invalid => (Level::Alarm, "HALLMARK INVALID"),
        Verdict::NotAssessable => (Level::Caution, "HALLMARK NOT ASSESSABLE"),
    };
    Finding { level, name, text: reasons(hallmark) }
}

/// What to change, a line for each reason of an invalid hallmark that other options can avoid.
pub fn next_steps(facts: &Facts, load: &LoadModel) -> Vec<String> {
    let invalid = facts.hallmark.iter().filter(|hallmark| hallmark.verdict == Verdict::Invalid);
    let checks =
        invalid.flat_map(|hallmark| hallmark.reasons.iter().filter_map(|id| hallmark.check(*id)));
    let failed = checks.filter(|check| check.verdict == CheckVerdict::Fail);
    let step = |check: &Check| {
        let advice = words::advice(check.id, load)?;
        Some(format!("{}: {advice}", check.id.name()))
    };
    failed.filter_map(step).collect()
}

fn reasons(hallmark: &Hallmark) -> String {
    let checks: Vec<&Check> =
        hallmark.reasons.iter().filter_map(|id| hallmark.check(*id)).collect();
    if hallmark.verdict == Verdict::NotAssessable {
        return not_assessable(&checks);
    }
    let reported = checks.iter().take(SHOWN);
    let mut texts: Vec<String> =
        reported.map(|check| format!("{}: {}", check.id.name(), words::reason(check))).collect();
    let others: Vec<&str> = checks.iter().skip(SHOWN).map(|check| check.id.name()).collect();
    if !others.is_empty() {
        texts.push(format!("also {}", others.join(", ")));
    }
    texts.join("; ")
}

/// Checks with the same obstacle share its words: `worker-cpu, hiccups: it was not observed`.
fn not_assessable(checks: &[&Check]) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for check in checks {
        let why = words::obstacle(check).unwrap_or("the outcome is unknown");
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(check.id.name()),
            None => groups.push((why, vec![check.id.name()])),
        }
    }
    let texts: Vec<String> =
        groups.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect();
    texts.join("; ")
}

/// Which checks a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownChecks {
    /// Every check.
    All,
    /// Those that failed, or are remarkable.
    Notable,
}

/// The checks with what decided each; none if the run was not examined.
pub fn checks(facts: &Facts, rows: ShownChecks) -> Vec<CheckRow> {
    let all = facts.hallmark.iter().flat_map(|hallmark| &hallmark.checks);
    let is_notable =
        |check: &&Check| matches!(check.verdict, CheckVerdict::Remark | CheckVerdict::Fail);
    let shown = all.filter(|check| rows == ShownChecks::All || is_notable(check));
    let row = |check: &Check| CheckRow {
        code: check.id.code(),
        name: check.id.name(),
        claim: what(check.id),
        verdict: verdict_name(check.verdict),
        tone: match check.verdict {
            CheckVerdict::Pass => CheckTone::Fine,
            CheckVerdict::Remark | CheckVerdict::NotAssessable(_) => CheckTone::Caution,
            CheckVerdict::Fail => CheckTone::Alarm,
            CheckVerdict::NotApplicable(_) => CheckTone::Quiet,
        },
        found: words::found(check),
        threshold: words::threshold(check),
        withdraws: words::withdrawn(check),
    };
    shown.map(row).collect()
}

/// The checks with unknown outcomes, with the reasons; empty if there are none.
pub fn untold(facts: &Facts) -> String {
    let all = facts.hallmark.iter().flat_map(|hallmark| &hallmark.checks);
    let untold = all.filter(|check| matches!(check.verdict, CheckVerdict::NotAssessable(_)));
    not_assessable(&untold.collect::<Vec<_>>())
}

/// Thresholds that are not what they usually are, one sentence each.
pub fn changed(facts: &Facts) -> Vec<String> {
    let changed = facts.hallmark.iter().flat_map(|hallmark| &hallmark.changed);
    changed.map(|one| format!("{} = {}, usually {}", one.name, one.value, one.usual)).collect()
}

/// What the instrument itself needs, in one line; none if that was not measured.
pub fn floor(facts: &Facts, letters: Letters) -> Option<String> {
    if facts.floor.is_empty() {
        return None;
    }
    let values: Vec<String> = facts
        .floor
        .iter()
        .map(|(name, value)| format!("{name} {}", duration(*value, letters)))
        .collect();
    Some(format!("response {} against a store that does nothing", values.join(", ")))
}

#[cfg(test)]
pub(crate) mod tests;
