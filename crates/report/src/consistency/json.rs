//! Verdicts on consistency as one JSON object.
//!
//! Names are in alphabetical order.

use assay_consistency::register::{LostWriteWindow, RegisterStaleness, VisibilityBin};
use assay_consistency::transaction::AnomalyCount;
use assay_consistency::validity::{CheckEvidence, VerdictCheck};
use assay_consistency::{
    Access, Quality, QualityFinding, QualityVerdict, RegisterOperation, VerdictPower, Witness,
};
use assay_model::Outcome;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ConsistencyResult, LOST_KEPT, Witnessed, words};
use crate::object::pretty;
use crate::units::Letters;

/// The version of the object.
pub const SCHEMA: &str = "assay/consistency/v1";

/// The verdicts as one indented JSON object with a line end.
pub fn json(result: &ConsistencyResult) -> String {
    pretty(&ConsistencyObject::new(result))
}

/// Verdicts on consistency and isolation from what clients observed.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "Verdicts on consistency")]
pub struct ConsistencyObject {
    /// The anomalies of transactions.
    anomalies: Vec<AnomalyObject>,
    /// Whether the verdicts can be believed.
    checks: Vec<VerdictCheckObject>,
    /// Nanoseconds by which reads would have to start earlier until the history is linearizable.
    delta_ns: u64,
    /// The verdict on each quality.
    findings: Vec<QualityObject>,
    /// Nanoseconds by which intervals would have to grow in all until the history is linearizable.
    gamma_ns: u64,
    /// What the history holds beside the operations that were judged.
    left_out: LeftOutObject,
    /// The acknowledged writes that were gone at the end.
    lost_writes: LostWritesObject,
    /// The number of operations on single records that were judged.
    operations: u64,
    /// The share of the records that were judged; below 1 if there are too many operations.
    record_share: f64,
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The run directory or file.
    source: String,
    /// How stale reads of single records were.
    staleness: StalenessObject,
    /// What was judged, in a few words.
    title: String,
    /// The number of transactions that were judged.
    transactions: u64,
    /// What must be known before believing the verdicts, one sentence each.
    warnings: Vec<String>,
    /// The violated qualities of transactions that imply no other violated one.
    weakest_violated: Vec<&'static str>,
}

impl ConsistencyObject {
    /// The object, also for one that holds it among others.
    pub fn new(result: &ConsistencyResult) -> ConsistencyObject {
        let finding = |finding| QualityObject::new(result, finding);
        ConsistencyObject {
            anomalies: result.anomalies.iter().map(AnomalyObject::new).collect(),
            checks: result.checks.iter().map(VerdictCheckObject::new).collect(),
            delta_ns: result.delta.0,
            findings: result.findings.iter().map(finding).collect(),
            gamma_ns: result.gamma.0,
            left_out: LeftOutObject {
                ambiguous_records: result.seen.ambiguous,
                of_several_records: result.seen.others,
                removed_records: result.seen.removed,
            },
            lost_writes: LostWritesObject::new(result),
            operations: result.operations,
            record_share: 1.0 - result.share_left_out,
            schema: SCHEMA,
            source: result.source.clone(),
            staleness: StalenessObject::new(&result.staleness),
            title: result.title.clone(),
            transactions: result.transactions,
            warnings: result.warnings.clone(),
            weakest_violated: result
                .weakest_violated
                .iter()
                .map(|quality| quality.name())
                .collect(),
        }
    }
}

/// What the history holds beside the operations that were judged.
#[derive(JsonSchema, Serialize)]
struct LeftOutObject {
    /// The number of records whose first value cannot be told from one of this run.
    ambiguous_records: u64,
    /// The number of operations about several records.
    of_several_records: u64,
    /// The number of records that were removed.
    removed_records: u64,
}

/// One sort of anomaly of transactions.
#[derive(JsonSchema, Serialize)]
struct AnomalyObject {
    /// What was found.
    anomaly: String,
    /// How often; cycles count once per group of transactions that have some.
    count: u64,
    /// The order that it needs beside that of versions.
    #[schemars(extend("enum" = ["data", "session", "real-time"]))]
    edges: &'static str,
}

impl AnomalyObject {
    fn new(one: &AnomalyCount) -> AnomalyObject {
        AnomalyObject {
            anomaly: words::anomaly(one.anomaly).replace(' ', "-"),
            count: one.count,
            edges: words::edges(one.edges),
        }
    }
}

/// A check of the verdicts.
#[derive(JsonSchema, Serialize)]
struct VerdictCheckObject {
    /// Which one.
    #[schemars(extend("enum" = ["D1", "D2", "D3", "D4", "D5", "D6", "D7"]))]
    id: &'static str,
    /// How it ended.
    #[schemars(extend("enum" = ["passed", "remark", "failed", "unknown"]))]
    outcome: &'static str,
    /// The hash of the verdicts on the golden histories, in hexadecimal; only of D6.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    self_test_hash: Option<String>,
    /// What it found, in words.
    text: String,
    /// The qualities whose silence is no evidence.
    undermines: Vec<&'static str>,
}

impl VerdictCheckObject {
    fn new(check: &VerdictCheck) -> VerdictCheckObject {
        VerdictCheckObject {
            id: check.id.name(),
            outcome: words::check_outcome(check.outcome),
            self_test_hash: match &check.evidence {
                CheckEvidence::Golden(test) => Some(format!("{:016x}", test.hash)),
                _ => None,
            },
            text: super::check_text(check, Letters::Unicode),
            undermines: check.undermines.iter().map(|quality| quality.name()).collect(),
        }
    }
}

/// The verdict on one quality.
#[derive(JsonSchema, Serialize)]
struct QualityObject {
    /// What the verdict rests on; null if the quality is not assessable.
    power: Option<PowerObject>,
    /// What was judged.
    quality: &'static str,
    /// Why the quality is not assessable; only if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<&'static str>,
    /// The verdict.
    #[schemars(extend("enum" = ["violated", "none-found", "not-assessable"]))]
    verdict: &'static str,
    /// Where the order of a record's versions came from.
    version_order: &'static str,
    /// The number of violations; only if there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    violations: Option<u64>,
    /// Some of the violations, the clearest first; only if there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<WitnessObject>")]
    witnesses: Option<Vec<WitnessObject>>,
}

impl QualityObject {
    fn new(result: &ConsistencyResult, finding: &QualityFinding) -> QualityObject {
        let quality = finding.quality;
        let object = QualityObject {
            power: None,
            quality: quality.name(),
            reason: None,
            verdict: "none-found",
            version_order: words::order(finding.order),
            violations: None,
            witnesses: None,
        };
        match &finding.verdict {
            QualityVerdict::Violated(violations) => {
                let witness = |witness| WitnessObject::new(result, quality, witness);
                QualityObject {
                    power: Some(PowerObject::new(violations.power)),
                    verdict: "violated",
                    violations: Some(violations.count),
                    witnesses: Some(violations.witnesses.iter().map(witness).collect()),
                    ..object
                }
            }
            QualityVerdict::NoneFound(power) => {
                QualityObject { power: Some(PowerObject::new(*power)), ..object }
            }
            QualityVerdict::NotAssessable(limitation) => QualityObject {
                reason: Some(words::limitation_name(*limitation)),
                verdict: "not-assessable",
                ..object
            },
        }
    }
}

/// What a verdict rests on.
#[derive(JsonSchema, Serialize)]
struct PowerObject {
    /// The share of the opportunities that are violations at most (95 %) if none was found.
    bound: f64,
    /// The number of operations or transactions that were judged.
    judged: u64,
    /// How often a violation could have shown itself.
    opportunities: u64,
    /// The number of those whose outcome is unknown.
    unknown: u64,
}

impl PowerObject {
    fn new(power: VerdictPower) -> PowerObject {
        let VerdictPower { opportunities, judged, unknown } = power;
        PowerObject { bound: power.bound(), judged, opportunities, unknown }
    }
}

/// Operations that show a violation.
#[derive(JsonSchema, Serialize)]
struct WitnessObject {
    /// What they show.
    anomaly: String,
    /// The order that the anomaly needs beside that of versions.
    #[schemars(extend("enum" = ["data", "session", "real-time"]))]
    edges: &'static str,
    /// The record that it is about, the first one of several.
    key: String,
    /// The error of the clocks in nanoseconds that would explain it; 0 if time has no part.
    margin_ns: u64,
    /// The operations in the order in which a reader should look at them.
    operations: Vec<OperationObject>,
}

impl WitnessObject {
    fn new(result: &ConsistencyResult, quality: Quality, witness: &Witness) -> WitnessObject {
        let operations = result.operations_of(quality, witness).into_iter();
        WitnessObject {
            anomaly: words::anomaly(witness.anomaly).replace(' ', "-"),
            edges: words::edges(witness.edges),
            key: result.key_name(witness.key),
            margin_ns: witness.margin.0,
            operations: operations.map(|one| OperationObject::new(result, one)).collect(),
        }
    }
}

/// One operation or transaction.
#[derive(JsonSchema, Serialize)]
struct OperationObject {
    /// The agent that issued it.
    agent: u16,
    /// When it ended, in nanoseconds on the run's time axis; null if its outcome is not known.
    ended_ns: Option<u64>,
    /// Its number in the run; null if it belongs to the load before the run.
    index: Option<u64>,
    /// The record; only of operations on single records.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    key: Option<String>,
    /// The node that answered; null if that is not known.
    node: Option<String>,
    /// Its outcome.
    #[schemars(extend("enum" = Outcome::ALL.map(Outcome::name)))]
    outcome: &'static str,
    /// Its session; null if it belongs to the load before the run.
    session: Option<u32>,
    /// When it was sent, in nanoseconds on the run's time axis.
    started_ns: u64,
    /// What it did, in words.
    text: String,
    /// The version that it read; null if it read none.
    version_read: Option<u64>,
    /// The version that it wrote; null if it wrote none.
    version_written: Option<u64>,
}

impl OperationObject {
    fn new(result: &ConsistencyResult, witnessed: &Witnessed) -> OperationObject {
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
        OperationObject {
            agent,
            ended_ns: (outcome == Outcome::Done).then_some(ended.0),
            index: (!is_load).then_some(index),
            key,
            node: result.node_name(witnessed).map(str::to_owned),
            outcome: outcome.name(),
            session: (!is_load).then_some(session),
            started_ns: started.0,
            text: did,
            version_read: read,
            version_written: written,
        }
    }
}

/// Acknowledged writes that were gone at the end.
#[derive(JsonSchema, Serialize)]
struct LostWritesObject {
    /// Their number.
    count: usize,
    /// At most a thousand of them, by time.
    first: Vec<OperationObject>,
    /// When they were acknowledged.
    windows: Vec<LostWindowObject>,
}

/// A stretch of time in which lost writes were acknowledged.
#[derive(JsonSchema, Serialize)]
struct LostWindowObject {
    /// When the first of them had ended, in nanoseconds on the run's time axis.
    first_ns: u64,
    /// When the last of them had ended, in nanoseconds on the run's time axis.
    last_ns: u64,
    /// Their number.
    writes: u64,
}

impl LostWritesObject {
    fn new(result: &ConsistencyResult) -> LostWritesObject {
        let lost = &result.lost_writes;
        let first = lost.operations.iter().take(LOST_KEPT);
        let first = first.map(|one| OperationObject::new(result, &Witnessed::Operation(*one)));
        let window = |window: &LostWriteWindow| LostWindowObject {
            first_ns: window.first.0,
            last_ns: window.last.0,
            writes: window.writes,
        };
        LostWritesObject {
            count: lost.operations.len(),
            first: first.collect(),
            windows: lost.windows.iter().map(window).collect(),
        }
    }
}

/// How stale reads of single records were.
#[derive(JsonSchema, Serialize)]
struct StalenessObject {
    /// Whether all figures are exact, not only lower bounds.
    is_exact: bool,
    /// The longest time in nanoseconds for which reads missed an acknowledged write.
    longest_window_ns: u64,
    /// The most versions that a read was behind.
    most_behind: u64,
    /// The age of the stalest read in nanoseconds.
    oldest_ns: u64,
    /// The number of reads of a known version, of records that have writes.
    reads: u64,
    /// Seconds of the run, each with the number of stale reads that began in it.
    stale_per_second: Vec<[u64; 2]>,
    /// The number of reads that missed a write which had ended before they began.
    stale_reads: u64,
    /// Reads by the time since the newest write had ended, without empty bins.
    visibility: Vec<VisibilityObject>,
}

/// Reads that began a certain time after the newest write had ended.
#[derive(JsonSchema, Serialize)]
struct VisibilityObject {
    /// The least time since the end of the write in nanoseconds.
    from_ns: u64,
    /// The number of these reads.
    reads: u64,
    /// The time in nanoseconds below which it is.
    until_ns: u64,
    /// The number of those that saw the write, or a newer version.
    visible: u64,
}

impl StalenessObject {
    fn new(staleness: &RegisterStaleness) -> StalenessObject {
        let visibility = |bin: &VisibilityBin| VisibilityObject {
            from_ns: bin.from.0,
            reads: bin.reads,
            until_ns: bin.until.0,
            visible: bin.visible,
        };
        let stale = staleness.stale_per_second.iter();
        StalenessObject {
            is_exact: staleness.is_exact,
            longest_window_ns: staleness.longest_window.0,
            most_behind: staleness.most_behind,
            oldest_ns: staleness.oldest.0,
            reads: staleness.reads,
            stale_per_second: stale.map(|(second, reads)| [*second, *reads]).collect(),
            stale_reads: staleness.stale_reads,
            visibility: staleness.visibility.iter().map(visibility).collect(),
        }
    }
}
