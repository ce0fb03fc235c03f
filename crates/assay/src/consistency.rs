//! Consistency of a history that another tool recorded; names of qualities.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use assay_consistency::foreign::{ForeignName, ForeignTimes, read_foreign_history};
use assay_consistency::register::judge;
use assay_consistency::transaction::judge as judge_transactions;
use assay_consistency::{
    AggregateRules, ClockError, Limitation, Quality, QualityFinding, QualityVerdict,
    judge_aggregates,
};
use assay_model::Nanos;
use assay_report::consistency::ConsistencyResult;
use indicatif::ProgressBar;

use crate::exit::usage;
use crate::memory_bound::{BoundedFile, MemoryLimit};

/// The verdicts on a history that another tool recorded, in the file at `path`. Fails if it needs
/// more memory than `limit`.
pub fn judge_file(
    path: &Path,
    limit: Option<MemoryLimit>,
    is_quiet: bool,
) -> Result<ConsistencyResult> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let bar = match is_quiet {
        true => ProgressBar::hidden(),
        false => ProgressBar::new(length),
    };
    let file = BoundedFile::new(file, length, limit);
    let refusal = file.refusal();
    let history = read_foreign_history(file, None, &mut |bytes| bar.set_position(bytes));
    if let Some(reason) = refusal.borrow_mut().take() {
        return Err(usage(format!("{name}: {reason}")));
    }
    let history = history.map_err(|error| usage(format!("{name}: {error}")))?;
    bar.finish_and_clear();
    let warnings: Vec<String> = history.warnings.iter().map(ToString::to_string).collect();
    let mut result = ConsistencyResult {
        title: name.clone(),
        source: name,
        warnings,
        ..ConsistencyResult::default()
    };
    if !history.registers.operations.is_empty() {
        let report = judge(&history.registers, &ClockError::NONE);
        result.add_registers(&history.registers, report);
    }
    if !history.transactions.transactions.is_empty() {
        let report = judge_transactions(&history.transactions, &ClockError::NONE);
        result.add_transactions(&history.transactions, report);
    }
    if !history.aggregates.is_empty() {
        let names = &history.names;
        let amount = |value| match names.value(value) {
            Some(ForeignName::Integer(amount)) => Some(*amount),
            _ => None,
        };
        let final_reads_from = Some(Nanos::ZERO);
        let rules = AggregateRules { total: None, final_reads_from, amount: &amount };
        let findings = judge_aggregates(&history.aggregates, &rules);
        result.add_aggregates(&history.aggregates, findings);
    }
    result.names = Some(history.names);
    match history.times {
        ForeignTimes::Nanoseconds => {}
        ForeignTimes::LineOrder => result.forget_distances(),
        ForeignTimes::SessionOrder => {
            result.forget_distances();
            result.forget_real_time();
        }
    }
    result.check(true);
    Ok(result)
}

/// Whether `finding` says that the history can never show the quality, however long the run.
pub fn is_out_of_reach(finding: &QualityFinding) -> bool {
    use Limitation::{ClockError, NoOpportunity, TooManyOperations, TooManySessions};
    let QualityVerdict::NotAssessable(limitation) = finding.verdict else { return false };
    !matches!(limitation, ClockError | NoOpportunity | TooManyOperations | TooManySessions)
}

/// The quality that `name` names.
pub fn quality(name: &str) -> Result<Quality> {
    Quality::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Quality::ALL.iter().map(|quality| quality.name()).collect();
        let hint = assay_model::closest(name, names.iter().copied())
            .map_or_else(String::new, |closest| format!(" (did you mean {closest:?}?)"));
        usage(format!(
            "--require: there is no quality {name:?}{hint}; there are {}",
            names.join(", ")
        ))
    })
}
