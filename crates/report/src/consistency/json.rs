//! Verdicts on consistency as one JSON object.
//!
//! Names are in alphabetical order.

use assay_consistency::register::{LostWriteWindow, RegisterStaleness, VisibilityBin};
use assay_consistency::transaction::AnomalyCount;
use assay_consistency::validity::{CheckEvidence, VerdictCheck};
use assay_consistency::{
    Access, Quality, QualityFinding, QualityVerdict, RegisterOperation, Seen, VerdictPower, Witness,
};
use assay_model::Outcome;

use super::{ConsistencyResult, LOST_KEPT, Witnessed, words};
use crate::object::{objects, pretty};
use crate::units::Letters;

/// The version of the object.
pub const SCHEMA: &str = "assay/consistency/v1";

/// The verdicts as one indented JSON object with a line end.
pub fn json(result: &ConsistencyResult) -> String {
    pretty(&ConsistencyObject::new(result))
}

objects! {
/// Verdicts on consistency and isolation from what clients observed.
#[schemars(title = "Verdicts on consistency")]
pub struct ConsistencyObject(result: &ConsistencyResult)
where
    let finding = |finding| QualityObject::new(result, finding);
{
    /// The anomalies of transactions.
    anomalies: Vec<AnomalyObject> = result.anomalies.iter().map(AnomalyObject::new).collect(),
    /// Whether the verdicts can be believed.
    checks: Vec<VerdictCheckObject> = result.checks.iter().map(VerdictCheckObject::new).collect(),
    /// Nanoseconds by which reads would have to start earlier until the history is linearizable.
    delta_ns: u64 = result.delta.0,
    /// The verdict on each quality.
    findings: Vec<QualityObject> = result.findings.iter().map(finding).collect(),
    /// Nanoseconds by which intervals would have to grow in all until the history is linearizable.
    gamma_ns: u64 = result.gamma.0,
    /// What the history holds beside the operations that were judged.
    left_out: LeftOutObject = LeftOutObject::new(&result.seen),
    /// The acknowledged writes that were gone at the end.
    lost_writes: LostWritesObject = LostWritesObject::new(result),
    /// The number of operations on single records that were judged.
    operations: u64,
    /// The share of the records that were judged; below 1 if there are too many operations.
    record_share: f64 = 1.0 - result.share_left_out,
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str = SCHEMA,
    /// The run directory or file.
    source: String,
    /// How stale reads of single records were.
    staleness: StalenessObject = StalenessObject::new(&result.staleness),
    /// What was judged, in a few words.
    title: String,
    /// The number of transactions that were judged.
    transactions: u64,
    /// What must be known before believing the verdicts, one sentence each.
    warnings: Vec<String>,
    /// The violated qualities of transactions that imply no other violated one.
    weakest_violated: Vec<&'static str> =
        result.weakest_violated.iter().map(|quality| quality.name()).collect(),
}

/// What the history holds beside the operations that were judged.
struct LeftOutObject(seen: &Seen) {
    /// The number of records whose first value cannot be told from one of this run.
    ambiguous_records: u64 = seen.ambiguous,
    /// The number of operations about several records.
    of_several_records: u64 = seen.others,
    /// The number of records that were removed.
    removed_records: u64 = seen.removed,
}

/// One sort of anomaly of transactions.
struct AnomalyObject(one: &AnomalyCount) {
    /// What was found.
    anomaly: String = words::anomaly(one.anomaly).replace(' ', "-"),
    /// How often; cycles count once per group of transactions that have some.
    count: u64,
    /// The order that it needs beside that of versions.
    #[schemars(extend("enum" = ["data", "session", "real-time"]))]
    edges: &'static str = words::edges(one.edges),
}

/// A check of the verdicts.
struct VerdictCheckObject(check: &VerdictCheck) {
    /// Which one.
    #[schemars(extend("enum" = ["D1", "D2", "D3", "D4", "D5", "D6", "D7"]))]
    id: &'static str = check.id.name(),
    /// How it ended.
    #[schemars(extend("enum" = ["passed", "remark", "failed", "unknown"]))]
    outcome: &'static str = words::check_outcome(check.outcome),
    /// The hash of the verdicts on the golden histories, in hexadecimal; only of D6.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    self_test_hash: Option<String> = match &check.evidence {
        CheckEvidence::Golden(test) => Some(format!("{:016x}", test.hash)),
        _ => None,
    },
    /// What it found, in words.
    text: String = super::check_text(check, Letters::Unicode),
    /// The qualities whose silence is no evidence.
    undermines: Vec<&'static str> = check.undermines.iter().map(|quality| quality.name()).collect(),
}

/// The verdict on one quality.
struct QualityObject(result: &ConsistencyResult, finding: &QualityFinding)
where
    let quality = finding.quality;
    let (verdict, power, violations, limitation) = match &finding.verdict {
        QualityVerdict::Violated(found) => ("violated", Some(found.power), Some(found), None),
        QualityVerdict::NoneFound(power) => ("none-found", Some(*power), None, None),
        QualityVerdict::NotAssessable(why) => ("not-assessable", None, None, Some(*why)),
    };
    let witness = |witness| WitnessObject::new(result, quality, witness);
{
    /// What the verdict rests on; null if the quality is not assessable.
    power: Option<PowerObject> = power.map(PowerObject::new),
    /// What was judged.
    quality: &'static str = quality.name(),
    /// Why the quality is not assessable; only if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<&'static str> = limitation.map(words::limitation_name),
    /// The verdict.
    #[schemars(extend("enum" = ["violated", "none-found", "not-assessable"]))]
    verdict: &'static str = verdict,
    /// Where the order of a record's versions came from.
    version_order: &'static str = words::order(finding.order),
    /// The number of violations; only if there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    violations: Option<u64> = violations.map(|found| found.count),
    /// Some of the violations, the clearest first; only if there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<WitnessObject>")]
    witnesses: Option<Vec<WitnessObject>> =
        violations.map(|found| found.witnesses.iter().map(witness).collect()),
}

/// What a verdict rests on.
struct PowerObject(power: VerdictPower) {
    /// The share of the opportunities that are violations at most (95 %) if none was found.
    bound: f64 = power.bound(),
    /// The number of operations or transactions that were judged.
    judged: u64,
    /// How often a violation could have shown itself.
    opportunities: u64,
    /// The number of those whose outcome is unknown.
    unknown: u64,
}

/// Operations that show a violation.
struct WitnessObject(result: &ConsistencyResult, quality: Quality, witness: &Witness)
where
    let operations = result.operations_of(quality, witness).into_iter();
{
    /// What they show.
    anomaly: String = words::anomaly(witness.anomaly).replace(' ', "-"),
    /// The order that the anomaly needs beside that of versions.
    #[schemars(extend("enum" = ["data", "session", "real-time"]))]
    edges: &'static str = words::edges(witness.edges),
    /// The record that it is about, the first one of several.
    key: String = result.key_name(witness.key),
    /// The error of the clocks in nanoseconds that would explain it; 0 if time has no part.
    margin_ns: u64 = witness.margin.0,
    /// The operations in the order in which a reader should look at them.
    operations: Vec<OperationObject> =
        operations.map(|one| OperationObject::new(result, one)).collect(),
}

/// One operation or transaction.
struct OperationObject(result: &ConsistencyResult, witnessed: &Witnessed)
where
    let (index, session, agent) = match witnessed {
        Witnessed::Operation(one) => (one.index, one.session, one.agent),
        Witnessed::Transaction(one) => (one.index, one.session, one.agent),
        Witnessed::Aggregate(one) => (one.index, one.session, 0),
        Witnessed::Prescription(one) => (one.index, one.session, 0),
    };
    let is_load = witnessed.is_load();
    let (started, ended, outcome) = witnessed.times();
    let key = match witnessed {
        Witnessed::Operation(one) => Some(result.key_name(one.key)),
        _ => None,
    };
    let (read, written) = match witnessed {
        Witnessed::Operation(RegisterOperation { access, .. }) => match access {
            Access::Read(read) => (Some(read.0), None),
            Access::Write(written) => (None, Some(written.0)),
            Access::ReadThenWrite { read, written } => (Some(read.0), Some(written.0)),
        },
        Witnessed::Transaction(_) | Witnessed::Aggregate(_) | Witnessed::Prescription(_) => {
            (None, None)
        }
    };
    let [_, _, did, ..] = super::cells(result, witnessed, false, Letters::Unicode);
{
    /// The agent that issued it.
    agent: u16 = agent,
    /// When it ended, in nanoseconds on the run's time axis; null if its outcome is not known.
    ended_ns: Option<u64> = (outcome == Outcome::Done).then_some(ended.0),
    /// Its number in the run; null if it belongs to the load before the run.
    index: Option<u64> = (!is_load).then_some(index),
    /// The record; only of operations on single records.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    key: Option<String> = key,
    /// The node that answered; null if that is not known.
    node: Option<String> = result.node_name(witnessed).map(str::to_owned),
    /// Its outcome.
    #[schemars(extend("enum" = Outcome::ALL.map(Outcome::name)))]
    outcome: &'static str = outcome.name(),
    /// Its session; null if it belongs to the load before the run.
    session: Option<u32> = (!is_load).then_some(session),
    /// When it was sent, in nanoseconds on the run's time axis.
    started_ns: u64 = started.0,
    /// What it did, in words.
    text: String = did,
    /// The version that it read; null if it read none.
    version_read: Option<u64> = read,
    /// The version that it wrote; null if it wrote none.
    version_written: Option<u64> = written,
}

/// Acknowledged writes that were gone at the end.
struct LostWritesObject(result: &ConsistencyResult)
where
    let lost = &result.lost_writes;
    let first = lost.operations.iter().take(LOST_KEPT);
    let first = first.map(|one| OperationObject::new(result, &Witnessed::Operation(*one)));
{
    /// Their number.
    count: usize = lost.operations.len(),
    /// At most a thousand of them, by time.
    first: Vec<OperationObject> = first.collect(),
    /// When they were acknowledged.
    windows: Vec<LostWindowObject> = lost.windows.iter().map(LostWindowObject::new).collect(),
}

/// A stretch of time in which lost writes were acknowledged.
struct LostWindowObject(window: &LostWriteWindow) {
    /// When the first of them had ended, in nanoseconds on the run's time axis.
    first_ns: u64 = window.first.0,
    /// When the last of them had ended, in nanoseconds on the run's time axis.
    last_ns: u64 = window.last.0,
    /// Their number.
    writes: u64,
}

/// How stale reads of single records were.
struct StalenessObject(staleness: &RegisterStaleness)
where
    let stale = staleness.stale_per_second.iter();
{
    /// Whether all figures are exact, not only lower bounds.
    is_exact: bool,
    /// The longest time in nanoseconds for which reads missed an acknowledged write.
    longest_window_ns: u64 = staleness.longest_window.0,
    /// The most versions that a read was behind.
    most_behind: u64,
    /// The age of the stalest read in nanoseconds.
    oldest_ns: u64 = staleness.oldest.0,
    /// The number of reads of a known version, of records that have writes.
    reads: u64,
    /// Seconds of the run, each with the number of stale reads that began in it.
    stale_per_second: Vec<[u64; 2]> = stale.map(|(second, reads)| [*second, *reads]).collect(),
    /// The number of reads that missed a write which had ended before they began.
    stale_reads: u64,
    /// Reads by the time since the newest write had ended, without empty bins.
    visibility: Vec<VisibilityObject> =
        staleness.visibility.iter().map(VisibilityObject::new).collect(),
}

/// Reads that began a certain time after the newest write had ended.
struct VisibilityObject(bin: &VisibilityBin) {
    /// The least time since the end of the write in nanoseconds.
    from_ns: u64 = bin.from.0,
    /// The number of these reads.
    reads: u64,
    /// The time in nanoseconds below which it is.
    until_ns: u64 = bin.until.0,
    /// The number of those that saw the write, or a newer version.
    visible: u64,
}
}
