//! A result as JUnit's XML, in which a build server shows what does not hold.

use std::fmt::Write as _;

use assay_analysis::Summary;
use assay_analysis::compare::{Finding as RowFinding, Judgement, Row};
use assay_analysis::hallmark::{Check, CheckVerdict};

use crate::compare::words::{change, change_between, figure_name, is_worse};
use crate::compare::{Contrast, Trial};
use crate::facts::Facts;
use crate::hallmark::words;
use crate::repeated::{self, Group};
use crate::units::Letters;
use crate::verdict::{self, Finding, Level};

/// Alarms that a run is always examined for, so that the list of tests is the same when all is
/// well.
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

enum Outcome {
    Passed,
    Failed,
    /// Neither: there is too little to tell.
    Skipped,
}

/// A run: a case for each thing it was examined for, failed where the report raises an alarm,
/// then one for each check of the hallmark.
pub fn run(facts: &Facts, summary: &Summary) -> String {
    let findings = verdict::findings(facts, summary, Letters::Unicode);
    let mut cases = of_findings(&findings);
    let checks = facts.hallmark.iter().flat_map(|hallmark| &hallmark.checks);
    cases.extend(checks.map(of_check));
    suite(&facts.title, summary.duration.as_secs_f64(), &cases)
}

/// Repeated runs: a case for each thing that any of them was examined for.
pub fn group(group: &Group) -> String {
    let findings = repeated::findings(group, Letters::Unicode);
    let run = group.side.typical();
    suite(&run.facts.title, run.summary.duration.as_secs_f64(), &of_findings(&findings))
}

/// A comparison: a case for each condition, or for each figure in question if there are none.
///
/// A condition that is surely met has failed; one that is unsure or cannot be judged is skipped.
pub fn compare(contrast: &Contrast) -> String {
    let cases: Vec<Case> = match contrast.trials.is_empty() {
        true => contrast.comparison.asked().map(of_row).collect(),
        false => contrast.trials.iter().map(of_trial).collect(),
    };
    let titles = [&contrast.old, &contrast.new].map(|side| side.typical().facts.title.clone());
    let seconds = contrast.new.typical().summary.duration.as_secs_f64();
    suite(&format!("{} / {}", titles[0], titles[1]), seconds, &cases)
}

fn of_findings(findings: &[Finding]) -> Vec<Case> {
    let alarms = || findings.iter().filter(|finding| finding.level == Level::Alarm);
    let passed = EXAMINED.iter().filter(|name| alarms().all(|found| found.name != **name));
    let passed = passed.map(|name| Case {
        name: format!("not {name}"),
        outcome: Outcome::Passed,
        text: String::new(),
    });
    let failed = alarms().map(|finding| Case {
        name: format!("not {}", finding.name),
        outcome: Outcome::Failed,
        text: finding.text.clone(),
    });
    let mut cases: Vec<Case> = failed.chain(passed).collect();
    // In the same order whatever failed.
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}

/// A remark passes; what cannot be told, or is not there, is skipped.
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

fn of_row(row: &Row) -> Case {
    let outcome = match row.finding {
        RowFinding::TooFew => Outcome::Skipped,
        _ if is_worse(row) => Outcome::Failed,
        _ => Outcome::Passed,
    };
    Case { name: format!("{} is not worse", figure_name(row.figure)), outcome, text: told(row) }
}

fn of_trial(trial: &Trial) -> Case {
    let outcome = match trial.judgement {
        Judgement::Met => Outcome::Failed,
        Judgement::NotMet => Outcome::Passed,
        Judgement::Unsure | Judgement::Unknown => Outcome::Skipped,
    };
    let text = trial.row.as_ref().map(told).unwrap_or_default();
    Case { name: format!("not {}", trial.text), outcome, text }
}

fn told(row: &Row) -> String {
    let interval = change_between(row).unwrap_or_else(|| "too few values".to_owned());
    let measure = row.figure.measure;
    format!("{} {} ({interval})", figure_name(row.figure), change(measure, row.effect))
}

fn suite(title: &str, seconds: f64, cases: &[Case]) -> String {
    let count = |wanted: fn(&Outcome) -> bool| cases.iter().filter(|c| wanted(&c.outcome)).count();
    let failures = count(|outcome| matches!(outcome, Outcome::Failed));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped));
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

/// Text for an element or a quoted attribute of XML 1.0.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn an_alarm_is_a_failed_test_beside_those_that_passed() {
        let text = run(&sample::facts(), &sample::summary());
        assert!(text.contains("name=\"not failing\"><failure message=\""), "{text}");
        assert!(text.contains("name=\"not unbalanced\"></testcase>"), "{text}");
        let tests = text.matches("<testcase ").count();
        assert!(text.contains(&format!("<testsuites tests=\"{tests}\" failures=\"1\"")), "{text}");
    }

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(escape("<p99>+10% & \"x\"\u{0}"), "&lt;p99&gt;+10% &amp; &quot;x&quot; ");
    }
}
