//! Consistency of a run, judged from its history.

use std::path::{Path, PathBuf};

use assay_consistency::register::judge;
use assay_consistency::transaction::judge as judge_transactions;
use assay_consistency::{
    AggregateRules, ClockError, Collected, CollectedQueries, Limitation, Quality, QualityFinding,
    QualityVerdict, QueryCollector, QueryModel, QueryOptions, RecordCollector, RecordOptions,
    RecordShare, RegisterHistory, Seen, TransactionHistory, VersionOrder, judge_aggregates,
    judge_prescriptions,
};
use assay_history::{Columns, History, Manifest, State, each_read};
use assay_model::Seed;
use assay_report::consistency::{ConsistencyResult, limitation as limitation_text};
use assay_workload::script::consistency::BALANCE;
use assay_workload::script::{ScriptName, ScriptPlan, ScriptSpec};
use assay_workload::spec::{ReadFields, WriteFields, no_files};
use assay_workload::{PlanPhase, Spec};
use serde::{Deserialize, Serialize};

use crate::agents::clock_error;
use crate::error::ResultsError;
use crate::memory::OperationBounds;
use crate::run_dirs;

/// What a run directory says of its workload, as far as verdicts need it.
pub struct Judge {
    dir: PathBuf,
    source: String,
    title: String,
    collector: Collector,
    is_fresh: bool,
    /// The names of the run's nodes.
    nodes: Vec<String>,
    /// How far the clocks of the agents may be off, with what is to be said of it.
    clocks: (ClockError, Vec<String>),
    /// Records that a whole history has at least; nothing if it cannot be whole.
    records_min: Option<u64>,
}

/// What gathers the operations of a run, by the kind of its workload.
pub(crate) enum Collector {
    /// Records by key.
    Records(RecordCollector, WrittenFields),
    /// Queries of a workload that is made to be judged.
    Queries(QueryCollector, QueryModel),
}

/// What a reader must know of a store that makes nothing one.
const WITHOUT_TRANSACTIONS: &str = "the store has no transactions here: each query is judged by \
                                    itself, and one that adds to a value is a read, then a write";

/// How much of a record its writes replace, and its reads return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WrittenFields {
    /// Writes replace all of several fields.
    All,
    /// Records have one field.
    Only,
    /// Writes change one field, reads return all.
    OneReadWithAll,
    /// Reads return one field, so that they do not see what was written to others.
    One,
}

impl WrittenFields {
    /// Whether writes replace whole records.
    pub(crate) fn is_all(self) -> bool {
        matches!(self, WrittenFields::All | WrittenFields::Only)
    }
}

impl Judge {
    /// A judge of the run in `dir`, who keeps at most so many operations.
    pub fn new(dir: &Path, manifest: &Manifest, bounds: OperationBounds) -> Judge {
        Judge::of_share(dir, manifest, bounds, RecordShare::WHOLE)
    }

    /// A judge of a part of the records in `dir`.
    fn of_share(
        dir: &Path,
        manifest: &Manifest,
        bounds: OperationBounds,
        share: RecordShare,
    ) -> Judge {
        let is_fresh = run_dirs::load_of(dir).is_some();
        // A run that was killed has lost its last moments, writes that others read among them.
        let has_end = matches!(manifest.state, State::Finished | State::Interrupted)
            && !manifest.run.ended.is_empty();
        let is_whole = has_end && manifest.history.lost == 0;
        Judge {
            dir: dir.to_owned(),
            source: dir.display().to_string(),
            title: format!("{} on {}", manifest.spec.name, manifest.store.name),
            collector: queries(manifest, bounds.of_queries)
                .unwrap_or_else(|| records(manifest, is_fresh, bounds.of_records, share)),
            is_fresh,
            nodes: manifest.history.nodes.clone(),
            clocks: clock_error(dir, manifest),
            records_min: is_whole.then_some(manifest.history.records),
        }
    }

    /// Adds records of `agent`.
    pub fn add(&mut self, agent: u32, records: &[assay_model::Record]) {
        let agent = u16::try_from(agent).unwrap_or(u16::MAX);
        match &mut self.collector {
            Collector::Records(collector, _) => collector.add(agent, records),
            Collector::Queries(collector, _) => collector.add(agent, records),
        }
    }

    /// What was added, with why it cannot be judged if so; the history holds `kept` records, and
    /// whether all that it holds could be read.
    fn collect(self, kept: u64, is_readable: bool) -> CollectedRun {
        let is_whole = is_readable && self.records_min.is_some_and(|least| kept >= least);
        let (clocks, mut warnings) = self.clocks;
        let (operations, limitation) = match self.collector {
            Collector::Records(mut collector, fields) => {
                warnings.extend(told(&self.dir, &mut collector));
                let collected = collector.finish();
                let limitation = limitation_of_records(&collected.seen, fields, self.is_fresh);
                (RunOperations::Records(collected), limitation)
            }
            Collector::Queries(collector, model) => {
                let (collected, limitation) =
                    collect_queries(&self.dir, collector, model, &mut warnings);
                let limitation =
                    limitation.or_else(|| (!self.is_fresh).then_some(Limitation::UsedBefore));
                (RunOperations::Queries(collected, model), limitation)
            }
        };
        let limitation = if is_whole { limitation } else { Some(Limitation::Incomplete) };
        let (source, title, nodes) = (self.source, self.title, self.nodes);
        CollectedRun { source, title, operations, limitation, warnings, nodes, clocks }
    }

    /// The verdicts on what was added; the history holds `kept` records, and whether all that it
    /// holds could be read.
    pub fn finish(self, kept: u64, is_readable: bool) -> ConsistencyResult {
        let run = self.collect(kept, is_readable);
        let mut result = ConsistencyResult {
            source: run.source,
            title: run.title,
            warnings: run.warnings,
            nodes: run.nodes,
            ..ConsistencyResult::default()
        };
        match run.operations {
            RunOperations::Records(collected) => {
                let is_judged = run.limitation.is_none();
                judge_records(collected, is_judged, &run.clocks, &mut result);
            }
            RunOperations::Queries(collected, model) => match run.limitation {
                None => judge_queries(&collected, model, &run.clocks, &mut result),
                Some(_) => {
                    let nothing = CollectedQueries::default();
                    judge_queries(&nothing, model, &run.clocks, &mut result);
                }
            },
        }
        if let Some(limitation) = run.limitation {
            not_assessable(&mut result.findings, limitation);
        }
        if run.clocks != ClockError::NONE {
            result.evidence.clock_error = Some(run.clocks.greatest(0..=u16::MAX));
        }
        result.check(run.limitation != Some(Limitation::Incomplete));
        result
    }
}

/// The operations of a run, as far as they can be judged.
struct CollectedRun {
    source: String,
    title: String,
    operations: RunOperations,
    /// Why they cannot be judged, if so.
    limitation: Option<Limitation>,
    warnings: Vec<String>,
    /// The names of the run's nodes.
    nodes: Vec<String>,
    /// How far the clocks of the agents may be off.
    clocks: ClockError,
}

/// The operations of a run by the kind of its workload.
enum RunOperations {
    /// Records by key.
    Records(Collected),
    /// Queries of a workload that is made to be judged.
    Queries(CollectedQueries, QueryModel),
}

fn records(
    manifest: &Manifest,
    is_fresh: bool,
    operations_max: usize,
    share: RecordShare,
) -> Collector {
    let spec = Spec::from_toml(&manifest.spec.text, "run.toml", &no_files).ok();
    let dataset = spec.as_ref().map(|spec| &spec.dataset);
    let loaded = dataset
        .map_or(0..0, |dataset| dataset.first..dataset.first.saturating_add(dataset.share()));
    let fields = spec.as_ref().map_or(WrittenFields::One, written_fields);
    let options = RecordOptions {
        share,
        operations_max,
        loaded,
        is_fresh,
        writes_whole_records: fields.is_all(),
        may_tear: fields == WrittenFields::All,
    };
    Collector::Records(RecordCollector::new(options), fields)
}

/// The collector of a workload of queries that is made to be judged.
pub(crate) fn queries(manifest: &Manifest, operations_max: usize) -> Option<Collector> {
    let text = &manifest.spec.text;
    let spec = ScriptSpec::is_script(text).then(|| ScriptSpec::from_toml(text, "run.toml"));
    let spec = spec?.ok()?;
    let model = match (&spec, spec.name()) {
        (ScriptSpec::Consistency(spec), ScriptName::Bank) => {
            QueryModel::Accounts(spec.dataset.keys)
        }
        (ScriptSpec::Consistency(_), ScriptName::Set) => QueryModel::Sets,
        (ScriptSpec::Consistency(_), ScriptName::Counter) => QueryModel::Counters,
        (ScriptSpec::Consistency(_), _) => QueryModel::Transactions,
        (ScriptSpec::Consbench(_), _) => QueryModel::SingleWrites,
        (ScriptSpec::Fmke(spec), _) if spec.is_checked() => {
            QueryModel::Prescriptions(spec.population().prescriptions)
        }
        _ => return None,
    };
    let roles = ScriptPlan::new(&spec, Seed(0), PlanPhase::Run).ok()?.roles;
    let isolation = manifest.store.capabilities.isolation.as_deref();
    let has_transactions = isolation.is_some_and(|isolation| isolation != "none");
    let options = QueryOptions { model, roles, has_transactions, operations_max };
    Some(Collector::Queries(QueryCollector::new(options), model))
}

/// Why the verdicts on records by key would be worth nothing, if so.
pub(crate) fn limitation_of_records(
    seen: &Seen,
    fields: WrittenFields,
    is_fresh: bool,
) -> Option<Limitation> {
    match fields {
        _ if seen.with_version == 0 || seen.unversioned_writes > 0 => Some(Limitation::NoVersions),
        WrittenFields::One => Some(Limitation::PartialWrites),
        // Which of the values of an earlier run a field holds, the newest number hides.
        WrittenFields::OneReadWithAll if !is_fresh => Some(Limitation::UsedBefore),
        _ => None,
    }
}

/// Reads what the store told of its versions of records, if it did; gives what is wrong with it.
fn told(dir: &Path, collector: &mut RecordCollector) -> Option<String> {
    let mut kept = 0;
    let read = each_read(dir, |value| {
        let version = value.value.and_then(|version| u64::try_from(version).ok());
        if let Some(version) = version.filter(|_| kept < VALUES_MAX) {
            kept += 1;
            collector.tell(value.index, version);
        }
    });
    read.err().map(|error| error.to_string())
}

fn judge_records(
    collected: Collected,
    is_judged: bool,
    clocks: &ClockError,
    result: &mut ConsistencyResult,
) {
    let Collected { mut history, share, seen } = collected;
    if !is_judged {
        history.operations.clear();
    }
    let report = judge(&history, clocks);
    result.share_left_out = 1.0 - share;
    result.seen = seen;
    result.add_registers(&history, report);
}

/// The most values that queries returned which are kept: 1.6 GB.
const VALUES_MAX: usize = 40_000_000;
/// The most values for each operation that may be kept: elements of lists.
const VALUES_OF_OPERATION: usize = 10;

/// The queries that `collector` holds, with the values beside the history in `dir`, and why they
/// cannot be judged, if so.
fn collect_queries(
    dir: &Path,
    collector: QueryCollector,
    model: QueryModel,
    warnings: &mut Vec<String>,
) -> (CollectedQueries, Option<Limitation>) {
    let has_transactions = collector.has_transactions();
    let most = collector.operations_max().saturating_mul(VALUES_OF_OPERATION).min(VALUES_MAX);
    let (mut values, mut is_too_long) = (Vec::new(), collector.is_too_long());
    let mut has_values = true;
    if !is_too_long {
        let read = each_read(dir, |value| match values.len() < most {
            true => values.push(value),
            false => is_too_long = true,
        });
        has_values = read.unwrap_or_else(|error| {
            warnings.push(error.to_string());
            false
        });
    }
    if is_too_long {
        return (CollectedQueries::default(), Some(Limitation::TooManyOperations));
    }
    let needs_no_transactions =
        matches!(model, QueryModel::SingleWrites | QueryModel::Sets | QueryModel::Prescriptions(_));
    if !has_transactions && !needs_no_transactions {
        warnings.push(WITHOUT_TRANSACTIONS.to_owned());
    }
    let collected = collector.finish(values);
    let limitation = if !has_values || collected.incomplete > 0 {
        Some(Limitation::Incomplete)
    } else if collected.torn > 0 {
        Some(Limitation::SeveralRequests)
    } else if matches!(model, QueryModel::Accounts(_)) && !has_transactions {
        Some(Limitation::NoTransactions)
    } else {
        None
    };
    (collected, limitation)
}

fn judge_queries(
    collected: &CollectedQueries,
    model: QueryModel,
    clocks: &ClockError,
    result: &mut ConsistencyResult,
) {
    match model {
        QueryModel::Transactions => {
            let report = judge_transactions(&collected.transactions, clocks);
            result.add_transactions(&collected.transactions, report);
        }
        QueryModel::SingleWrites => {
            let report = judge(&collected.registers, clocks);
            result.add_registers(&collected.registers, report);
        }
        QueryModel::Prescriptions(_) => {
            let findings =
                judge_prescriptions(&collected.prescriptions, collected.final_reads_from);
            result.add_prescriptions(&collected.prescriptions, findings);
        }
        QueryModel::Sets | QueryModel::Counters | QueryModel::Accounts(_) => {
            let (total, qualities): (_, &[Quality]) = match model {
                QueryModel::Accounts(accounts) => {
                    let total = i128::from(accounts) * i128::from(BALANCE);
                    (Some(total), &[Quality::ConstantTotal])
                }
                QueryModel::Counters => (None, &[Quality::Linearizable]),
                _ => {
                    (None, &[Quality::NoGarbageReads, Quality::NoLostWrites, Quality::Linearizable])
                }
            };
            let final_reads_from = collected.final_reads_from;
            let rules = AggregateRules { total, final_reads_from, amount: &|_| Some(1) };
            let mut findings = judge_aggregates(&collected.aggregates, &rules);
            let is_missing =
                |quality: &&Quality| !findings.iter().any(|one| one.quality == **quality);
            let missing: Vec<Quality> = qualities.iter().filter(is_missing).copied().collect();
            findings.extend(missing.into_iter().map(|quality| QualityFinding {
                quality,
                order: VersionOrder::NotNeeded,
                verdict: QualityVerdict::NotAssessable(Limitation::NoOpportunity),
            }));
            result.add_aggregates(&collected.aggregates, findings);
        }
    }
}

pub(crate) fn written_fields(spec: &Spec) -> WrittenFields {
    match (spec.operations.write_fields, spec.operations.read_fields) {
        _ if spec.dataset.fields == 1 => WrittenFields::Only,
        (WriteFields::All, _) => WrittenFields::All,
        (WriteFields::One, ReadFields::All) => WrittenFields::OneReadWithAll,
        _ => WrittenFields::One,
    }
}

pub(crate) fn not_assessable(findings: &mut [QualityFinding], limitation: Limitation) {
    for finding in findings {
        finding.verdict = QualityVerdict::NotAssessable(limitation);
    }
}

/// The verdicts on the run in `dir`, within so many bytes of `memory`; without a number within
/// four fifths of what is available. More operations on single records are judged in parts, one
/// after another, for each of which the history is read; where that would be more than 64, or a few
/// records have most of the operations, a sample of the records is judged.
///
/// # Errors
/// If it is no run directory, or its history cannot be read.
pub fn judge_run(dir: &Path, memory: Option<u64>) -> Result<ConsistencyResult, ResultsError> {
    let manifest = Manifest::read(dir)?;
    let bounds = OperationBounds::within(memory);
    let least = parts_needed(&manifest, bounds);
    if (2..=PARTS_MAX).contains(&least) {
        // Records are dealt out by their hash, so one part may have more operations than another.
        for of in [least, least * 2, least * 4] {
            if let Some(whole) = judge_in_parts(dir, &manifest, bounds, of)? {
                return Ok(whole);
            }
        }
    }
    judge_share(dir, &manifest, bounds, RecordShare::WHOLE)
}

/// More parts than this are not worth their time, as the history is read for each.
const PARTS_MAX: u64 = 64;

/// In how many parts of the records a run has to be judged.
fn parts_needed(manifest: &Manifest, bounds: OperationBounds) -> u64 {
    match queries(manifest, 0) {
        Some(_) => 1,
        None => manifest.history.records.div_ceil(bounds.of_records as u64).max(1),
    }
}

/// The verdicts on all records, in `of` parts; nothing if one of them has too many operations.
fn judge_in_parts(
    dir: &Path,
    manifest: &Manifest,
    bounds: OperationBounds,
    of: u64,
) -> Result<Option<ConsistencyResult>, ResultsError> {
    let mut whole: Option<ConsistencyResult> = None;
    for number in 0..of {
        let part = judge_share(dir, manifest, bounds, RecordShare { number, of })?;
        if part.is_sample() {
            return Ok(None);
        }
        match &mut whole {
            Some(whole) => whole.merge(part),
            None => whole = Some(part),
        }
    }
    if let Some(whole) = &mut whole {
        whole.warnings.push(format!(
            "judged in {of} parts of the records, as memory allows: monotonic-writes and \
             writes-follow-reads within each"
        ));
    }
    Ok(whole)
}

fn judge_share(
    dir: &Path,
    manifest: &Manifest,
    bounds: OperationBounds,
    share: RecordShare,
) -> Result<ConsistencyResult, ResultsError> {
    let mut judge = Judge::of_share(dir, manifest, bounds, share);
    let mut history = History::open(dir)?;
    let damage = history.each_batch(Columns::ALL, |batch| judge.add(batch.agent, batch.records))?;
    Ok(judge.finish(history.records(), damage.is_empty()))
}

/// The operations of a run, as far as others can judge them.
pub enum RunHistory {
    /// Transactions over lists or registers.
    Transactions(TransactionHistory),
    /// Operations on single records.
    Registers(RegisterHistory),
}

/// The operations of the run in `dir`, and the names of its nodes.
///
/// # Errors
/// If it is no run directory, its history cannot be read, or holds no such operations.
pub fn history_of(dir: &Path) -> Result<(RunHistory, Vec<String>), ResultsError> {
    let manifest = Manifest::read(dir)?;
    let mut judge = Judge::new(dir, &manifest, OperationBounds::same(EXPORTED));
    let mut history = History::open(dir)?;
    let damage = history.each_batch(Columns::ALL, |batch| judge.add(batch.agent, batch.records))?;
    let wrong = |reason: &str| ResultsError::Invalid(format!("{}: {reason}", dir.display()));
    let run = judge.collect(history.records(), damage.is_empty());
    if let Some(limitation) = run.limitation {
        let reason = limitation_text(limitation);
        return Err(wrong(&format!("nobody could judge its operations: {reason}")));
    }
    let operations = match run.operations {
        RunOperations::Records(collected) => RunHistory::Registers(collected.history),
        RunOperations::Queries(collected, model) => match model {
            QueryModel::Transactions => RunHistory::Transactions(collected.transactions),
            QueryModel::SingleWrites => RunHistory::Registers(collected.registers),
            QueryModel::Prescriptions(_) => {
                let reason = "Elle judges lists and registers, no prescriptions of FMKe";
                return Err(wrong(reason));
            }
            QueryModel::Sets | QueryModel::Counters | QueryModel::Accounts(_) => {
                let reason = "Elle judges lists and registers, no sets, counters or accounts";
                return Err(wrong(reason));
            }
        },
    };
    Ok((operations, run.nodes))
}

/// Operations of a run that are exported at most; of records, all operations of a sample.
const EXPORTED: usize = 8_000_000;
