//! A result as JUnit's XML, in which a build server shows what does not hold.

use std::fmt::Write as _;

use assay_analysis::Summary;
use assay_analysis::compare::{ConditionOutcome, Finding as RowFinding, Row};
use assay_analysis::hallmark::{Check, CheckVerdict};

use crate::compare::words::{describe, figure_name, is_worse};
use crate::compare::{Contrast, Trial};
use crate::document::{Finding, Level};
use crate::escape::escape;
use crate::facts::{Facts, RuleFinding};
use crate::hallmark::words;
use crate::repeated::{self, RepeatedRuns};
use crate::units::Letters;
use crate::verdict;

/// What a run is always examined for, so that the list of tests is the same when all is well. It
/// fails a test even where a report only cautions.
const EXAMINED: [&str; 11] = [
    "failed",
    "unfinished",
    "nothing measured",
    "overloaded",
    "rate not reached",
    "failing",
    "wrong values",
    "implausible",
    "unbalanced",
    "late",
    "clock",
];

/// One test.
struct Case {
    name: String,
    outcome: Outcome,
    text: String,
}

#[derive(PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    /// Neither: there is too little to tell.
    Skipped,
}

/// A run: a case for each thing it was examined for, failed where the report names it, then one
/// for each check of the hallmark.
pub fn run(facts: &Facts, summary: &Summary) -> String {
    let findings = verdict::findings(facts, summary, Letters::Unicode);
    let mut cases = of_findings(&findings);
    cases.extend(facts.findings.iter().map(of_rule));
    let checks = facts.hallmark.iter().flat_map(|hallmark| &hallmark.checks);
    cases.extend(checks.map(of_check));
    suite(&facts.title, summary.duration.as_secs_f64(), &cases)
}

/// Repeated runs: a case for each thing that any of them was examined for.
pub fn group(group: &RepeatedRuns) -> String {
    let mut findings = repeated::findings(group, Letters::Unicode);
    // A group's own findings leave out what its runs are only cautioned for.
    for (place, run) in group.side.runs.iter().enumerate() {
        for found in verdict::findings(&run.facts, &run.summary, Letters::Unicode) {
            if is_failure(&found) && findings.iter().all(|known| known.name != found.name) {
                let text = format!("run {}: {}", place + 1, found.text);
                findings.push(Finding { text, ..found });
            }
        }
    }
    let mut cases = of_findings(&findings);
    cases.extend(worst_rules(group).into_iter().map(of_rule));
    let run = group.side.typical();
    suite(&run.facts.title, run.summary.duration.as_secs_f64(), &cases)
}

/// A comparison: a case for each condition, or for each figure in question if there are none.
///
/// A condition that is certainly met has failed; one that is uncertain or undecided is skipped.
pub fn compare(contrast: &Contrast) -> String {
    let of_rows = || contrast.comparison.requested().map(|row| of_row(row, contrast.is_analyzed()));
    let cases: Vec<Case> = match contrast.trials.is_empty() {
        true => of_rows().collect(),
        false => contrast.trials.iter().map(of_trial).collect(),
    };
    let titles = [&contrast.old, &contrast.new].map(|side| side.typical().facts.title.clone());
    let seconds = contrast.new.typical().summary.duration.as_secs_f64();
    suite(&format!("{} / {}", titles[0], titles[1]), seconds, &cases)
}

/// Whether it fails a test: every alarm does, a caution if it is one of [`EXAMINED`].
fn is_failure(finding: &Finding) -> bool {
    match finding.level {
        Level::Alarm => true,
        Level::Caution => EXAMINED.contains(&finding.name),
        Level::Fine => false,
    }
}

fn of_findings(findings: &[Finding]) -> Vec<Case> {
    let failures = || findings.iter().filter(|finding| is_failure(finding));
    let passed = EXAMINED.iter().filter(|name| failures().all(|found| found.name != **name));
    let case = |name: &str, outcome, text: &str| Case {
        name: format!("not {name}"),
        outcome,
        text: text.to_owned(),
    };
    let passed = passed.map(|name| case(name, Outcome::Passed, ""));
    let failed = failures().map(|one| case(one.name, Outcome::Failed, &one.text));
    let mut cases: Vec<Case> = failed.chain(passed).collect();
    // In the same order whatever failed.
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}

/// Each rule of the workload once: of a run that breaks it, if there is one.
fn worst_rules(group: &RepeatedRuns) -> Vec<&RuleFinding> {
    let mut rules: Vec<&RuleFinding> = Vec::new();
    for rule in group.side.runs.iter().flat_map(|run| &run.facts.findings) {
        match rules.iter_mut().find(|known| known.name == rule.name) {
            None => rules.push(rule),
            Some(known) if known.is_held => *known = rule,
            Some(_) => {}
        }
    }
    rules
}

/// A rule of the workload's own.
fn of_rule(rule: &RuleFinding) -> Case {
    let outcome = if rule.is_held { Outcome::Passed } else { Outcome::Failed };
    Case { name: format!("{}, {}", rule.name, rule.rule), outcome, text: rule.text.clone() }
}

/// A remark passes; an unknown or missing check is skipped.
fn of_check(check: &Check) -> Case {
    let name = format!("{} {}: {}", check.id.code(), check.id.name(), words::what(check.id));
    let obstacle = || words::obstacle(check).unwrap_or_default().to_owned();
    let (outcome, text) = match check.verdict {
        CheckVerdict::Pass => (Outcome::Passed, String::new()),
        CheckVerdict::Remark => (Outcome::Passed, words::reason(check)),
        CheckVerdict::Fail => (Outcome::Failed, words::reason(check)),
        CheckVerdict::NotApplicable(_) | CheckVerdict::NotAssessable(_) => {
            (Outcome::Skipped, obstacle())
        }
    };
    Case { name, outcome, text }
}

fn of_row(row: &Row, is_analyzed: bool) -> Case {
    let outcome = match row.finding {
        _ if !is_analyzed => Outcome::Skipped,
        RowFinding::TooFew | RowFinding::Absent | RowFinding::Withdrawn => Outcome::Skipped,
        _ if is_worse(row) => Outcome::Failed,
        _ => Outcome::Passed,
    };
    Case { name: format!("{} is not worse", figure_name(row.figure)), outcome, text: describe(row) }
}

fn of_trial(trial: &Trial) -> Case {
    let outcome = match trial.judgement {
        ConditionOutcome::Met => Outcome::Failed,
        ConditionOutcome::NotMet => Outcome::Passed,
        ConditionOutcome::Unsure | ConditionOutcome::Unknown | ConditionOutcome::Withdrawn => {
            Outcome::Skipped
        }
    };
    let text = trial.row.as_ref().map(describe).unwrap_or_default();
    Case { name: format!("not {}", trial.text), outcome, text }
}

fn suite(title: &str, seconds: f64, cases: &[Case]) -> String {
    let count = |expected| cases.iter().filter(|case| case.outcome == expected).count();
    let (failures, skipped) = (count(Outcome::Failed), count(Outcome::Skipped));
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let title = escape(title);
    let _ = writeln!(
        out,
        "<testsuites tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\">\n\
         <testsuite name=\"assay: {title}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" \
         skipped=\"{skipped}\" time=\"{seconds:.3}\">",
        tests = cases.len(),
    );
    for case in cases {
        let (name, text) = (escape(&case.name), escape(&case.text));
        let inner = match case.outcome {
            Outcome::Failed => format!("<failure message=\"{text}\"/>"),
            Outcome::Skipped => format!("<skipped message=\"{text}\"/>"),
            Outcome::Passed if text.is_empty() => String::new(),
            Outcome::Passed => format!("<system-out>{text}</system-out>"),
        };
        let _ = writeln!(
            out,
            "<testcase classname=\"assay.{title}\" name=\"{name}\">{inner}</testcase>"
        );
    }
    out + "</testsuite>\n</testsuites>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{ComparedSetup, Run};
    use crate::facts::State;
    use crate::sample;
    use assay_analysis::{LoadModel, Verdict};

    /// A run of which nothing but `name` is wrong, or with it what follows from it.
    fn faulty(name: &str) -> (Facts, Summary) {
        let (mut facts, mut summary) = (sample::facts(), sample::summary());
        (facts.hallmark, facts.store.is_no_op) = (None, false);
        let counts = &mut summary.overall.counts;
        (counts.refused, counts.unknown, counts.dropped) = (0, 0, 0);
        summary.overall.rates.done_per_s = summary.overall.rates.offered_per_s;
        match name {
            "failed" => facts.state = State::Failed("no store".to_owned()),
            "unfinished" => facts.state = State::Unfinished,
            "nothing measured" => summary.overall.counts.offered = 0,
            "overloaded" => summary.overall.rates.done_per_s = 1.0,
            "rate not reached" => {
                summary.load = LoadModel::Closed { sessions: 1, target: Some(1e6) };
                summary.overall.rates.target_per_s = Some(1e6);
            }
            "failing" => summary.overall.counts.refused = summary.overall.counts.offered,
            "wrong values" => summary.values.wrong = 1,
            "implausible" => summary.in_flight.by_service.verdict = Verdict::Violated,
            "unbalanced" => summary.is_balanced = false,
            "late" => summary.lag = summary.overall.hits.response.clone(),
            "clock" => summary.backward_times = 1,
            other => assert_eq!(other, "nothing"),
        }
        (facts, summary)
    }

    #[test]
    fn a_rule_that_is_broken_fails_in_a_run_or_in_any_of_several() {
        let with = |is_held| {
            let (mut facts, summary) = faulty("nothing");
            let (name, rule) = ("TPC-C 3.3.2.1".to_owned(), "w_ytd = sum(d_ytd)".to_owned());
            facts.findings = vec![RuleFinding { name, rule, is_held, text: "reported".to_owned() }];
            Run { facts, summary }
        };
        let failed = "name=\"TPC-C 3.3.2.1, w_ytd = sum(d_ytd)\"><failure message=\"reported\"";
        let (held, broken) = (with(true), with(false));
        assert!(!run(&held.facts, &held.summary).contains(failed));
        assert!(run(&broken.facts, &broken.summary).contains(failed));
        let several = repeated(vec![held, broken, with(true)]);
        assert_eq!(group(&several).matches(failed).count(), 1);
    }

    fn repeated(runs: Vec<Run>) -> RepeatedRuns {
        RepeatedRuns {
            expected: runs.len(),
            side: ComparedSetup { name: "last".to_owned(), typical: 0, runs },
            meeting: String::new(),
            command: String::new(),
            figures: Vec::new(),
        }
    }

    #[test]
    fn every_check_can_fail() {
        let (facts, summary) = faulty("nothing");
        assert!(run(&facts, &summary).contains(" failures=\"0\""));
        for name in EXAMINED {
            let (facts, summary) = faulty(name);
            let failed = format!("name=\"not {name}\"><failure message=\"");
            let text = run(&facts, &summary);
            assert!(text.contains(&failed), "{name}: {text}");
            let well = faulty("nothing");
            let runs = [well, (facts, summary)].map(|(facts, summary)| Run { facts, summary });
            let text = group(&repeated(runs.into()));
            assert!(text.contains(&failed), "{name} in a group: {text}");
        }
    }

    #[test]
    fn a_finding_is_a_failed_test_in_junit() {
        let text = run(&sample::facts(), &sample::summary());
        assert!(text.contains("name=\"not failing\"><failure message=\""), "{text}");
        assert!(text.contains("name=\"not unbalanced\"></testcase>"), "{text}");
        let tests = text.matches("<testcase ").count();
        assert!(text.contains(&format!("<testsuites tests=\"{tests}\" failures=\"1\"")), "{text}");
    }

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(escape("<p99>+10% & \"x\"\u{0}"), "&lt;p99&gt;+10% &amp; &quot;x&quot;\u{fffd}");
    }
}
