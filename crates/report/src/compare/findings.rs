//! Findings that a reader must know of a comparison before any figure, worst first.

use assay_analysis::compare::{ConditionOutcome, Finding as RowFinding, IntervalBasis, Row};

use super::words::{describe, is_worse};
use super::{ComparedSetup, Contrast, Difference, Run, Trial, Weight};
use crate::document::{Finding, Level};
use crate::hallmark;
use crate::units::Letters;
use crate::verdict;

/// All findings: first whether the workloads are the same, then what became of the conditions, then
/// the verdict, then what limits it. The hallmarks of both sides follow the first of these.
pub fn findings(contrast: &Contrast, letters: Letters) -> Vec<Finding> {
    let mut trials: Vec<Finding> = contrast.trials.iter().map(trial).collect();
    trials.sort_by_key(|finding| finding.level);
    let another = another_question(&contrast.differences);
    let mut findings: Vec<Finding> = another.into_iter().chain(trials).collect();
    findings.push(verdict(contrast));
    let hallmarks = [("BASE", &contrast.old), ("NEW", &contrast.new)];
    let hallmarks = hallmarks.into_iter().filter_map(|(title, side)| hallmark_of(title, side));
    findings.splice(1..1, hallmarks);
    findings.extend(another_place(&contrast.differences));
    if contrast.comparison.basis == IntervalBasis::WithinRun {
        let text = "one side has a single run, so how much runs differ from each other is \
                    unknown: intervals are too narrow by as much (--repeat 5 tells)";
        findings.push(Finding::caution("within-run only", text));
    }
    findings.extend(of_side("BASE", &contrast.old, letters));
    findings.extend(of_side("NEW", &contrast.new, letters));
    findings
}

fn trial(trial: &Trial) -> Finding {
    let reported = trial.row.as_ref().map(|row| format!(": {}", describe(row))).unwrap_or_default();
    let said = |why: &str| format!("{} {why}{reported}", trial.text);
    match trial.judgement {
        ConditionOutcome::NotMet => Finding::fine("passed", said("is not met")),
        ConditionOutcome::Met => Finding::alarm("failed", said("is so")),
        ConditionOutcome::Unsure => {
            Finding::caution("unsure", said("may be met, but is not certain"))
        }
        ConditionOutcome::Unknown => {
            let why = "is undecided; use longer runs, or more of them";
            Finding::alarm("cannot tell", said(why))
        }
        ConditionOutcome::Withdrawn => {
            Finding::alarm("not compared", said("is about a figure that a hallmark withdraws"))
        }
    }
}

fn verdict(contrast: &Contrast) -> Finding {
    let requested: Vec<&Row> = contrast.comparison.requested().collect();
    let list = |rows: &[&Row]| rows.iter().map(|row| describe(row)).collect::<Vec<_>>().join(", ");
    let different: Vec<&Row> =
        requested.iter().copied().filter(|row| row.finding.is_different()).collect();
    let worse = different.iter().filter(|row| is_worse(row)).count();
    let (level, name) = match (different.len(), worse) {
        (0, _) => return undecided(&requested),
        _ if !contrast.is_analyzed() => {
            let text = format!(
                "{}: not like for like, so neither better nor worse (--force analyzers \
                 nevertheless)",
                list(&different)
            );
            return Finding::caution("no verdict", text);
        }
        (_, 0) => (Level::Fine, "better"),
        (all, worse) if all == worse => (Level::Alarm, "worse"),
        _ => (Level::Alarm, "better in part, worse in part"),
    };
    Finding { level, name, text: list(&different) }
}

fn undecided(requested: &[&Row]) -> Finding {
    let list = |expected: RowFinding| -> Vec<String> {
        requested.iter().filter(|row| row.finding == expected).map(|row| describe(row)).collect()
    };
    if requested.is_empty() {
        let text = "the two have none of the figures in question in common".to_owned();
        return Finding::caution("nothing to compare", text);
    }
    if requested.iter().all(|row| row.finding == RowFinding::Withdrawn) {
        let text = "the hallmarks withdraw every figure in question".to_owned();
        return Finding::caution("not compared", text);
    }
    let open = [RowFinding::Open, RowFinding::TooFew, RowFinding::Absent, RowFinding::Withdrawn];
    let open = open.map(list).concat();
    if open.is_empty() {
        return Finding::fine("no difference", list(RowFinding::Same).join(", "));
    }
    // A figure that one side has not is a difference of another sort.
    let missing = [RowFinding::Absent, RowFinding::Withdrawn];
    let level = match requested.iter().any(|row| missing.contains(&row.finding)) {
        true => Level::Caution,
        false => Level::Fine,
    };
    let text = format!("none is excluded either for {}", open.join(", "));
    Finding::new(level, "no difference shown", text)
}

fn another_question(differences: &[Difference]) -> Option<Finding> {
    let list = list(differences, Weight::Question)?;
    let text = format!("figures may differ because of the workload or the load: {list}");
    Some(Finding::alarm("not like for like", text))
}

fn another_place(differences: &[Difference]) -> Option<Finding> {
    let text = list(differences, Weight::Place)?;
    Some(Finding::caution("not the same set-up", text))
}

/// The differences of a weight in one line, if there are any.
fn list(differences: &[Difference], weight: Weight) -> Option<String> {
    let of = differences.iter().filter(|difference| difference.weight == weight);
    let text = |found: &Difference| {
        format!("{} ({} / {})", found.what, short(&found.old), short(&found.new))
    };
    let texts: Vec<String> = of.map(text).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// A text as it fits into a sentence.
fn short(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None if text.is_empty() => "none".to_owned(),
        None => text.to_owned(),
    }
}

/// The hallmark of a side, that of the worst of its runs; none if no run was validated.
pub fn hallmark_of(title: &str, side: &ComparedSetup) -> Option<Finding> {
    let lines = side.runs.iter().filter_map(|run| hallmark::line(&run.facts));
    let (worst, others): (Vec<Finding>, Vec<Finding>) = {
        let lines: Vec<Finding> = lines.collect();
        let level = lines.iter().map(|line| line.level).min()?;
        lines.into_iter().partition(|line| line.level == level)
    };
    let runs = worst.len() + others.len();
    let place = match others.len() {
        0 => title.to_owned(),
        _ => format!("{title} in {} of {runs} runs", worst.len()).trim_start().to_owned(),
    };
    let line = worst.into_iter().next()?;
    let parts = [place, line.text].into_iter().filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join(": ");
    Some(Finding { level: line.level, name: line.name, text })
}

/// What stands against a side's own figures, one finding for each kind of it.
pub fn of_side(title: &str, side: &ComparedSetup, letters: Letters) -> Vec<Finding> {
    let mut found: Vec<(Finding, usize)> = Vec::new();
    let of_run = |run: &Run| verdict::findings(&run.facts, &run.summary, letters);
    let all = side.runs.iter().flat_map(of_run);
    for finding in all.filter(|finding| finding.level == Level::Alarm) {
        match found.iter_mut().find(|(known, _)| known.name == finding.name) {
            Some((_, times)) => *times += 1,
            None => found.push((finding, 1)),
        }
    }
    let of = |times: usize| {
        let where_found = match side.runs.len() {
            1 => title.to_owned(),
            runs => format!("{title} in {times} of {runs} runs").trim_start().to_owned(),
        };
        if where_found.is_empty() { where_found } else { where_found + ": " }
    };
    let said = |(finding, times): (Finding, usize)| {
        let text = format!("{}{}", of(times), finding.text);
        Finding { text, ..finding }
    };
    found.into_iter().map(said).collect()
}
