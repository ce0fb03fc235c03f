//! Consistency of a run, judged from its history.

use std::path::Path;

use anyhow::Result;
use assay_consistency::register::{RegisterReport, judge};
use assay_consistency::{
    ClockError, Collected, Limitation, Quality, QualityFinding, QualityVerdict, RecordCollector,
    RecordOptions,
};
use assay_history::{History, Manifest};
use assay_report::consistency::ConsistencyResult;
use assay_workload::Spec;
use assay_workload::spec::{ReadFields, WriteFields, no_files};

use crate::exit::as_usage;
use crate::run_dirs;

/// Operations that are judged beside the analysis of a run: about 100 MB.
pub const BESIDE_ANALYSIS: usize = 400_000;

/// What a run directory says of its workload, as far as verdicts need it.
pub struct Judge {
    source: String,
    title: String,
    collector: RecordCollector,
    is_fresh: bool,
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
        let fields = spec.as_ref().map_or(WrittenFields::All, written_fields);
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
            fields,
        }
    }

    /// Adds records of `agent`.
    pub fn add(&mut self, agent: u32, records: &[assay_model::Record]) {
        self.collector.add(u16::try_from(agent).unwrap_or(u16::MAX), records);
    }

    /// The verdicts on what was added.
    pub fn finish(self) -> ConsistencyResult {
        let Collected { mut history, share, seen } = self.collector.finish();
        let limitation = match self.fields {
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
        let result = ConsistencyResult::new(self.source, self.title, &history, report);
        ConsistencyResult { share, seen, ..result }
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
    history
        .each_batch(assay_history::Columns::ALL, |batch| judge.add(batch.agent, batch.records))?;
    Ok(judge.finish())
}

/// Whether `finding` says that the history can never show the quality, however long the run.
pub fn is_out_of_reach(finding: &QualityFinding) -> bool {
    use Limitation::{NoFinalReads, NoTransactions, NoVersionOrder, NoVersions, PartialWrites};
    let QualityVerdict::NotAssessable(limitation) = finding.verdict else { return false };
    matches!(
        limitation,
        NoFinalReads | NoTransactions | NoVersionOrder | NoVersions | PartialWrites
    )
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
        crate::exit::usage(format!(
            "--require: there is no quality {name:?}{hint}; there are {}",
            names.join(", ")
        ))
    })
}
