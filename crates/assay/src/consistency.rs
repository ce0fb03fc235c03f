//! Consistency of a run, judged from its history.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use assay_consistency::foreign::{ForeignTimes, read_foreign_history};
use assay_consistency::register::{RegisterReport, judge};
use assay_consistency::transaction::judge as judge_transactions;
use assay_consistency::{
    ClockError, Collected, Limitation, Quality, QualityFinding, QualityVerdict, RecordCollector,
    RecordOptions,
};
use assay_history::{Columns, History, Manifest, State};
use assay_report::consistency::ConsistencyResult;
use assay_workload::Spec;
use assay_workload::spec::{ReadFields, WriteFields, no_files};
use indicatif::ProgressBar;

use crate::exit::{as_usage, usage};
use crate::run_dirs;

/// Operations that are judged beside the analysis of a run: about 100 MB.
pub const BESIDE_ANALYSIS: usize = 400_000;

/// What a run directory says of its workload, as far as verdicts need it.
pub struct Judge {
    source: String,
    title: String,
    collector: RecordCollector,
    is_fresh: bool,
    /// Records that a whole history has at least; nothing if it cannot be whole.
    records_min: Option<u64>,
    fields: WrittenFields,
}

/// How much of a record its writes replace, and its reads return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WrittenFields {
    /// Writes replace whole records.
    All,
    /// Writes change one field, reads return all.
    OneReadWithAll,
    /// Reads return one field, so that they do not see what was written to others.
    One,
}

impl Judge {
    /// A judge of the run in `dir`, who keeps at most `operations_max` operations.
    pub fn new(dir: &Path, manifest: &Manifest, operations_max: usize) -> Judge {
        let spec = Spec::from_toml(&manifest.spec.text, "run.toml", &no_files).ok();
        let dataset = spec.as_ref().map(|spec| &spec.dataset);
        let loaded = dataset
            .map_or(0..0, |dataset| dataset.first..dataset.first.saturating_add(dataset.records));
        let is_fresh = run_dirs::load_of(dir).is_some();
        let fields = spec.as_ref().map_or(WrittenFields::One, written_fields);
        // A run that was killed has lost its last moments, writes that others read among them.
        let has_end = matches!(manifest.state, State::Finished | State::Interrupted)
            && !manifest.run.ended.is_empty();
        let is_whole = has_end && manifest.history.lost == 0;
        Judge {
            source: dir.display().to_string(),
            title: format!("{} on {}", manifest.spec.name, manifest.store.name),
            collector: RecordCollector::new(RecordOptions {
                operations_max,
                loaded,
                is_fresh,
                writes_whole_records: fields == WrittenFields::All,
            }),
            is_fresh,
            records_min: is_whole.then_some(manifest.history.records),
            fields,
        }
    }

    /// Adds records of `agent`.
    pub fn add(&mut self, agent: u32, records: &[assay_model::Record]) {
        self.collector.add(u16::try_from(agent).unwrap_or(u16::MAX), records);
    }

    /// The verdicts on what was added; the history holds `kept` records, and whether all that it
    /// holds could be read.
    pub fn finish(self, kept: u64, is_readable: bool) -> ConsistencyResult {
        let Collected { mut history, share, seen } = self.collector.finish();
        let is_whole = is_readable && self.records_min.is_some_and(|least| kept >= least);
        let limitation = match self.fields {
            _ if !is_whole => Some(Limitation::Incomplete),
            _ if seen.with_version == 0 || seen.unversioned_writes > 0 => {
                Some(Limitation::NoVersions)
            }
            WrittenFields::One => Some(Limitation::PartialWrites),
            // Which of the values of an earlier run a field holds, the newest number hides.
            WrittenFields::OneReadWithAll if !self.is_fresh => Some(Limitation::PartialWrites),
            _ => None,
        };
        if limitation.is_some() {
            history.operations.clear();
        }
        let mut report = judge(&history, &ClockError::NONE);
        if let Some(limitation) = limitation {
            not_assessable(&mut report, limitation);
        }
        let mut result = ConsistencyResult {
            source: self.source,
            title: self.title,
            share_left_out: 1.0 - share,
            seen,
            ..ConsistencyResult::default()
        };
        result.add_registers(&history, report);
        result.check(is_whole);
        result
    }
}

fn written_fields(spec: &Spec) -> WrittenFields {
    match (spec.operations.write_fields, spec.operations.read_fields) {
        _ if spec.dataset.fields == 1 => WrittenFields::All,
        (WriteFields::All, _) => WrittenFields::All,
        (WriteFields::One, ReadFields::All) => WrittenFields::OneReadWithAll,
        _ => WrittenFields::One,
    }
}

fn not_assessable(report: &mut RegisterReport, limitation: Limitation) {
    for finding in &mut report.findings {
        finding.verdict = QualityVerdict::NotAssessable(limitation);
    }
}

/// The verdicts on the run in `dir`, of which at most `operations_max` operations are kept.
///
/// # Errors
/// If it is no run directory, or its history cannot be read.
pub fn judge_run(dir: &Path, operations_max: usize) -> Result<ConsistencyResult> {
    let manifest = Manifest::read(dir).map_err(as_usage)?;
    let mut judge = Judge::new(dir, &manifest, operations_max);
    let mut history = History::open(dir).map_err(as_usage)?;
    let damage = history.each_batch(Columns::ALL, |batch| judge.add(batch.agent, batch.records))?;
    Ok(judge.finish(history.records(), damage.is_empty()))
}

/// The verdicts on a history that another tool recorded, in the file at `path`.
///
/// # Errors
/// If it cannot be read; says where and why.
pub fn judge_file(path: &Path, is_quiet: bool) -> Result<ConsistencyResult> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    let bar = match is_quiet {
        true => ProgressBar::hidden(),
        false => ProgressBar::new(file.metadata().map_or(0, |metadata| metadata.len())),
    };
    let history = read_foreign_history(file, None, &mut |bytes| bar.set_position(bytes))
        .map_err(|error| usage(format!("{name}: {error}")))?;
    bar.finish_and_clear();
    let mut warnings: Vec<String> = history.warnings.iter().map(ToString::to_string).collect();
    if !history.aggregates.is_empty() {
        let number = history.aggregates.len();
        warnings.push(format!("{number} operations on sets, counters or accounts are not judged"));
    }
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
///
/// # Errors
/// If there is none; says which there are.
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
