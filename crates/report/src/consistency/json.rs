//! Verdicts on consistency as one JSON object.

use assay_consistency::{
    Access, QualityFinding, QualityVerdict, RegisterOperation, VerdictPower, Witness,
};
use assay_model::Outcome;
use serde_json::{Value, json};

use super::{ConsistencyResult, words};

/// The version of the object.
pub const SCHEMA: &str = "assay/consistency/v1";

/// The verdicts as one indented JSON object with a line end.
pub fn json(result: &ConsistencyResult) -> String {
    let text = serde_json::to_string_pretty(&object(result))
        .expect("an object of numbers and texts with text keys is always JSON");
    text + "\n"
}

/// The verdicts as a value, for an object that holds them among others.
pub(crate) fn object(result: &ConsistencyResult) -> Value {
    let staleness = &result.report.staleness;
    let visibility: Vec<Value> = staleness
        .visibility
        .iter()
        .map(|bin| {
            json!({
                "from_ns": bin.from.0,
                "until_ns": bin.until.0,
                "reads": bin.reads,
                "visible": bin.visible,
            })
        })
        .collect();
    let findings: Vec<Value> =
        result.report.findings.iter().map(|finding| finding_object(result, finding)).collect();
    json!({
        "schema": SCHEMA,
        "source": result.source,
        "title": result.title,
        "operations": result.operations,
        "record_share": result.share,
        "left_out": {
            "of_several_records": result.seen.others,
            "removed_records": result.seen.removed,
            "ambiguous_records": result.seen.ambiguous,
        },
        "findings": findings,
        "gamma_ns": result.report.gamma.0,
        "delta_ns": result.report.delta.0,
        "staleness": {
            "reads": staleness.reads,
            "stale_reads": staleness.stale_reads,
            "is_exact": staleness.is_exact,
            "oldest_ns": staleness.oldest.0,
            "most_behind": staleness.most_behind,
            "longest_window_ns": staleness.longest_window.0,
            "visibility": visibility,
            "stale_per_second": staleness.stale_per_second,
        },
    })
}

fn finding_object(result: &ConsistencyResult, finding: &QualityFinding) -> Value {
    let (verdict, power) = match &finding.verdict {
        QualityVerdict::Violated(violations) => ("violated", Some(violations.power)),
        QualityVerdict::NoneFound(power) => ("none-found", Some(*power)),
        QualityVerdict::NotAssessable(_) => ("not-assessable", None),
    };
    let mut object = json!({
        "quality": finding.quality.name(),
        "verdict": verdict,
        "version_order": words::order(finding.order),
        "power": power.map(power_object),
    });
    match &finding.verdict {
        QualityVerdict::Violated(violations) => {
            object["violations"] = violations.count.into();
            let witnesses = violations.witnesses.iter();
            object["witnesses"] =
                witnesses.map(|witness| witness_object(result, witness)).collect();
        }
        QualityVerdict::NotAssessable(limitation) => {
            object["reason"] = words::limitation_name(*limitation).into();
        }
        QualityVerdict::NoneFound(_) => {}
    }
    object
}

fn power_object(power: VerdictPower) -> Value {
    json!({
        "opportunities": power.opportunities,
        "judged": power.judged,
        "unknown": power.unknown,
        "bound": power.bound(),
    })
}

fn witness_object(result: &ConsistencyResult, witness: &Witness) -> Value {
    let operations: Vec<Value> = witness
        .operations
        .iter()
        .filter_map(|index| result.operation(witness, *index))
        .map(operation_object)
        .collect();
    json!({
        "anomaly": words::anomaly(witness.anomaly).replace(' ', "-"),
        "edges": words::edges(witness.edges),
        "key": witness.key,
        "margin_ns": witness.margin.0,
        "operations": operations,
    })
}

fn operation_object(operation: &RegisterOperation) -> Value {
    let (read, written) = match operation.access {
        Access::Read(read) => (Some(read.0), None),
        Access::Write(written) => (None, Some(written.0)),
        Access::ReadThenWrite { read, written } => (Some(read.0), Some(written.0)),
    };
    let is_load = operation.index == u64::MAX;
    json!({
        "index": (!is_load).then_some(operation.index),
        "session": (!is_load).then_some(operation.session),
        "agent": operation.agent,
        "started_ns": operation.started.0,
        "ended_ns": (operation.outcome == Outcome::Done).then_some(operation.ended.0),
        "outcome": operation.outcome.name(),
        "version_read": read,
        "version_written": written,
    })
}
