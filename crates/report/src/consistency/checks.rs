//! The checks D1 to D7 of verdicts on consistency, in words.

use assay_consistency::validity::{
    CheckEvidence, OPPORTUNITIES_MIN, UNKNOWN_MAX, VerdictCheck, VerdictCheckOutcome,
};
use assay_model::Nanos;

use super::{ConsistencyResult, words};
use crate::table::Table;
use crate::units::{Letters, count, duration, percent, plural};

/// A row for each check.
pub(crate) fn checks(result: &ConsistencyResult, letters: Letters) -> Table {
    let outcome = |check: &VerdictCheck| match check.outcome {
        VerdictCheckOutcome::Failed => words::check_outcome(check.outcome).to_uppercase(),
        other => words::check_outcome(other).to_owned(),
    };
    Table::of(&result.checks)
        .left("check", |check| check.id.name())
        .left("of", |check| words::check_title(check.id))
        .left("outcome", |check| outcome(check))
        .left("what was found", |check| check_text(check, letters))
        .build()
}

/// What a check found, in a sentence.
pub fn check_text(check: &VerdictCheck, letters: Letters) -> String {
    match &check.evidence {
        CheckEvidence::Values { unreadable: 0, odd: 0 } => "all could be decoded".to_owned(),
        CheckEvidence::Values { unreadable, odd: 0 } => {
            format!("{} unreadable: counted as garbage reads", count(*unreadable))
        }
        CheckEvidence::Values { unreadable, odd } => format!(
            "{} unreadable; {} about the history",
            count(*unreadable),
            plural(*odd, "warning")
        ),
        CheckEvidence::Outcomes(counts) => format!(
            "{} done, {} refused, {} unknown: {} (at most {})",
            count(counts.done),
            count(counts.refused),
            count(counts.unknown),
            percent(counts.unknown_share()),
            percent(UNKNOWN_MAX),
        ),
        CheckEvidence::Power { silent: 0, .. } => "no quality without violations".to_owned(),
        CheckEvidence::Power { weak, .. } if weak.is_empty() => {
            format!("at least {} opportunities for each", count(OPPORTUNITIES_MIN))
        }
        CheckEvidence::Power { weak, .. } => {
            let weak = weak
                .iter()
                .map(|(quality, number)| format!("{} {}", quality.name(), count(*number)));
            let weak: Vec<String> = weak.collect();
            format!("under {} opportunities: {}", count(OPPORTUNITIES_MIN), weak.join(", "))
        }
        CheckEvidence::Clock { agents: 0, .. } => "no operation was judged".to_owned(),
        CheckEvidence::Clock { agents: 1, .. } => "one clock timed everything".to_owned(),
        CheckEvidence::Clock { agents, error, median } => clocks(*agents, *error, *median, letters),
        CheckEvidence::Orders(orders) if orders.is_empty() => "no verdict needs one".to_owned(),
        CheckEvidence::Orders(orders) => {
            let orders = orders
                .iter()
                .map(|(order, qualities)| format!("{} ({})", words::order(*order), qualities));
            orders.collect::<Vec<_>>().join(", ")
        }
        CheckEvidence::Golden(test) if test.failed.is_empty() => format!(
            "{} judged right, hash {:016x}",
            match test.histories {
                1 => "1 golden history".to_owned(),
                more => format!("{} golden histories", count(more)),
            },
            test.hash
        ),
        CheckEvidence::Golden(test) => {
            format!("judged otherwise than expected: {}", test.failed.join("; "))
        }
        CheckEvidence::Log { is_whole: true } => "complete".to_owned(),
        CheckEvidence::Log { is_whole: false } => {
            "operations are missing: a write that is not there makes a good read look bad"
                .to_owned()
        }
    }
}

fn clocks(agents: u64, error: Option<Nanos>, median: Nanos, letters: Letters) -> String {
    let clocks = plural(agents, "clock");
    match error {
        None => format!("{clocks}, of which nobody measured the error"),
        Some(error) => format!(
            "{clocks}, off by up to {}, {} of the median operation",
            duration(error, letters),
            percent(error.0 as f64 / median.0.max(1) as f64)
        ),
    }
}
