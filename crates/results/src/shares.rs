//! Verdicts on shares of a run's records, for engines that judge each where it lies.
//!
//! What is said of single records is local (Herlihy, Wing 1990): verdicts on disjoint sets of
//! records add up to that on all of them. So a run may be dealt out by key, each share judged by
//! [`ShareJudge`] in a process of its own, and the results summed. Guarantees of sessions that
//! connect several records (monotonic writes, writes follow reads) cannot be dealt out so.

use std::path::Path;

use assay_consistency::register::judge;
use assay_consistency::{
    ClockError, Limitation, Quality, QualityVerdict, RecordCollector, RecordOptions, RecordShare,
    VerdictPower,
};
use assay_history::{Manifest, reads_file};
use assay_model::{Nanos, Record};
use assay_report::consistency::ConsistencyResult;
use assay_workload::Spec;
use assay_workload::spec::no_files;
use serde::{Deserialize, Serialize};

use crate::consistency::{
    WrittenFields, limitation_of_records, not_assessable, queries, written_fields,
};
use crate::error::ResultsError;
use crate::run_dirs;

/// What the judge of a share must know of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareQuestion {
    /// The run directory.
    pub source: String,
    /// What it is, such as `ycsb-a on redis`.
    pub title: String,
    /// The records that were there when the run began: the first, and the one behind the last.
    pub loaded: (u64, u64),
    /// Whether the load was the last to write them.
    pub is_fresh: bool,
    /// How much of a record its writes replace, and its reads return.
    pub fields: WrittenFields,
    /// When the first final read began, if there are some.
    pub final_reads_from: Option<Nanos>,
    /// How many records the whole history has.
    pub records: u64,
    /// The names of the run's nodes.
    pub nodes: Vec<String>,
}

impl ShareQuestion {
    /// About the run in `dir`; when final reads began is not known yet.
    ///
    /// # Errors
    /// If it is no run directory, or one whose verdicts cannot be dealt out by key; says why.
    pub fn of(dir: &Path) -> Result<ShareQuestion, ResultsError> {
        let manifest = Manifest::read(dir)?;
        let refuse = |reason: &str| {
            let text = format!("{}: {reason}; `assay check` judges it whole", dir.display());
            Err(ResultsError::Invalid(text))
        };
        if queries(&manifest, 0).is_some() {
            return refuse("its queries are about several records at once");
        }
        if manifest.has_several_clocks() {
            return refuse("several clocks timed it");
        }
        if reads_file(dir).exists() {
            return refuse("its store told the order of versions, which is kept in a file beside");
        }
        let spec = Spec::from_toml(&manifest.spec.text, "run.toml", &no_files).ok();
        let fields = spec.as_ref().map_or(WrittenFields::One, written_fields);
        let is_fresh = run_dirs::load_of(dir).is_some();
        let dataset = spec.as_ref().map(|spec| &spec.dataset);
        let loaded = dataset.map_or((0, 0), |dataset| {
            (dataset.first, dataset.first.saturating_add(dataset.share()))
        });
        Ok(ShareQuestion {
            source: dir.display().to_string(),
            title: format!("{} on {}", manifest.spec.name, manifest.store.name),
            loaded,
            is_fresh,
            fields,
            final_reads_from: None,
            records: manifest.history.records,
            nodes: manifest.history.nodes,
        })
    }
}

/// Gathers the operations on a share of the records, and judges them.
pub struct ShareJudge {
    question: ShareQuestion,
    collector: RecordCollector,
    records: u64,
}

/// What a share says.
#[derive(Debug, Serialize, Deserialize)]
pub struct ShareVerdict {
    /// The verdicts, and what they saw.
    pub result: ConsistencyResult,
    /// What was judged, whatever the verdicts.
    pub power: VerdictPower,
    /// Records of the history that the share had.
    pub records: u64,
}

impl ShareJudge {
    /// A judge that answers `question` about the records it is given.
    pub fn new(question: ShareQuestion) -> ShareJudge {
        let options = RecordOptions {
            share: RecordShare::WHOLE,
            operations_max: usize::MAX,
            loaded: question.loaded.0..question.loaded.1,
            is_fresh: question.is_fresh,
            writes_whole_records: question.fields.is_all(),
            may_tear: question.fields == WrittenFields::All,
        };
        let mut collector = RecordCollector::new(options);
        if let Some(from) = question.final_reads_from {
            collector.expect_final_reads(from);
        }
        ShareJudge { question, collector, records: 0 }
    }

    /// Adds records of `agent`; all records of a key come to the same judge.
    pub fn add(&mut self, agent: u16, records: &[Record]) {
        self.records += records.len() as u64;
        self.collector.add(agent, records);
    }

    /// The verdicts.
    pub fn finish(self) -> ShareVerdict {
        let collected = self.collector.finish();
        let report = judge(&collected.history, &ClockError::NONE);
        let power = report.power;
        let mut result = ConsistencyResult {
            source: self.question.source,
            title: self.question.title,
            nodes: self.question.nodes,
            seen: collected.seen,
            ..ConsistencyResult::default()
        };
        result.add_registers(&collected.history, report);
        ShareVerdict { result, power, records: self.records }
    }
}

/// Guarantees that connect several records, which no share can judge.
const ACROSS_RECORDS: [Quality; 2] = [Quality::MonotonicWrites, Quality::WritesFollowReads];

/// The verdicts on a run from those on shares that have no record in common, and together all.
///
/// # Errors
/// If there is none, or they have more than the run.
pub fn merge(
    question: &ShareQuestion,
    shares: impl IntoIterator<Item = ShareVerdict>,
) -> Result<ConsistencyResult, ResultsError> {
    let mut merged: Option<ConsistencyResult> = None;
    let (mut records, mut judged, mut unknown) = (0, 0, 0);
    for share in shares {
        records += share.records;
        judged += share.power.judged;
        unknown += share.power.unknown;
        match &mut merged {
            None => merged = Some(share.result),
            Some(whole) => {
                let mut seen = whole.seen;
                seen.add(&share.result.seen);
                whole.merge(share.result);
                whole.seen = seen;
            }
        }
    }
    let Some(mut whole) = merged else {
        return Err(ResultsError::Invalid("there is no share to merge".to_owned()));
    };
    if records > question.records {
        return Err(ResultsError::Invalid(format!(
            "the shares have {records} records, the run has {}: a key was given to two judges, or \
             records were given twice",
            question.records
        )));
    }
    (whole.source, whole.title) = (question.source.clone(), question.title.clone());
    whole.findings.retain(|finding| !ACROSS_RECORDS.contains(&finding.quality));
    whole.times.retain(|times| !ACROSS_RECORDS.contains(&times.quality));
    // Shares in which nothing could have shown itself were judged as well.
    for finding in &mut whole.findings {
        match &mut finding.verdict {
            QualityVerdict::Violated(violations) => {
                (violations.power.judged, violations.power.unknown) = (judged, unknown);
            }
            QualityVerdict::NoneFound(power) => (power.judged, power.unknown) = (judged, unknown),
            QualityVerdict::NotAssessable(_) => {}
        }
    }
    let is_whole = records == question.records;
    let limitation = match is_whole {
        true => limitation_of_records(&whole.seen, question.fields, question.is_fresh),
        false => Some(Limitation::Incomplete),
    };
    if let Some(limitation) = limitation {
        not_assessable(&mut whole.findings, limitation);
    }
    whole.check(is_whole);
    Ok(whole)
}
