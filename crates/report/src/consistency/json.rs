//! Verdicts on consistency as one JSON object.

use assay_consistency::validity::{CheckEvidence, VerdictCheck};
use assay_consistency::{
    Access, Quality, QualityFinding, QualityVerdict, RegisterOperation, VerdictPower, Witness,
};
use assay_model::Outcome;
use serde_json::{Value, json};

use super::{ConsistencyResult, LOST_KEPT, Witnessed, words};
use crate::units::Letters;

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
    let staleness = &result.staleness;
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
    let anomalies: Vec<Value> = result
        .anomalies
        .iter()
        .map(|one| {
            json!({
                "anomaly": words::anomaly(one.anomaly).replace(' ', "-"),
                "edges": words::edges(one.edges),
                "count": one.count,
            })
        })
        .collect();
    let weakest: Vec<&str> = result.weakest_violated.iter().map(|quality| quality.name()).collect();
    let findings: Vec<Value> =
        result.findings.iter().map(|finding| finding_object(result, finding)).collect();
    json!({
        "schema": SCHEMA,
        "source": result.source,
        "title": result.title,
        "operations": result.operations,
        "transactions": result.transactions,
        "record_share": 1.0 - result.share_left_out,
        "left_out": {
            "of_several_records": result.seen.others,
            "removed_records": result.seen.removed,
            "ambiguous_records": result.seen.ambiguous,
        },
        "warnings": result.warnings,
        "checks": result.checks.iter().map(check_object).collect::<Vec<_>>(),
        "findings": findings,
        "anomalies": anomalies,
        "weakest_violated": weakest,
        "lost_writes": lost_writes_object(result),
        "gamma_ns": result.gamma.0,
        "delta_ns": result.delta.0,
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

fn lost_writes_object(result: &ConsistencyResult) -> Value {
    let lost = &result.lost_writes;
    let windows = lost.windows.iter().map(|window| {
        json!({ "first_ns": window.first.0, "last_ns": window.last.0, "writes": window.writes })
    });
    let first = lost.operations.iter().take(LOST_KEPT).map(|write| {
        let mut object = operation_object(result, &Witnessed::Operation(*write));
        object["key"] = result.key_name(write.key).into();
        object
    });
    json!({
        "count": lost.operations.len(),
        "windows": windows.collect::<Vec<Value>>(),
        "first": first.collect::<Vec<Value>>(),
    })
}

fn check_object(check: &VerdictCheck) -> Value {
    let undermines: Vec<&str> = check.undermines.iter().map(|quality| quality.name()).collect();
    let mut object = json!({
        "id": check.id.name(),
        "outcome": words::check_outcome(check.outcome),
        "text": super::check_text(check, Letters::Unicode),
        "undermines": undermines,
    });
    if let CheckEvidence::Golden(test) = &check.evidence {
        object["self_test_hash"] = format!("{:016x}", test.hash).into();
    }
    object
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
                witnesses.map(|witness| witness_object(result, finding.quality, witness)).collect();
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

fn witness_object(result: &ConsistencyResult, quality: Quality, witness: &Witness) -> Value {
    let operations: Vec<Value> = result
        .operations_of(quality, witness)
        .into_iter()
        .map(|one| operation_object(result, one))
        .collect();
    json!({
        "anomaly": words::anomaly(witness.anomaly).replace(' ', "-"),
        "edges": words::edges(witness.edges),
        "key": result.key_name(witness.key),
        "margin_ns": witness.margin.0,
        "operations": operations,
    })
}

fn operation_object(result: &ConsistencyResult, witnessed: &Witnessed) -> Value {
    let (index, session, agent) = match witnessed {
        Witnessed::Operation(one) => (one.index, one.session, one.agent),
        Witnessed::Transaction(one) => (one.index, one.session, one.agent),
        Witnessed::Aggregate(one) => (one.index, one.session, 0),
        Witnessed::Prescription(one) => (one.index, one.session, 0),
    };
    let is_load = witnessed.is_load();
    let (started, ended, outcome) = witnessed.times();
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
    let [_, _, did, ..] = super::cells(result, witnessed, Letters::Unicode);
    json!({
        "index": (!is_load).then_some(index),
        "session": (!is_load).then_some(session),
        "agent": agent,
        "started_ns": started.0,
        "ended_ns": (outcome == Outcome::Done).then_some(ended.0),
        "outcome": outcome.name(),
        "version_read": read,
        "version_written": written,
        "node": result.node_name(witnessed),
        "text": did,
    })
}
