//! The study as JSON.

use assay_analysis::{BOX_QUANTILES, Boxplot};
use serde_json::{Map, Value, json};

use super::{PAPER, Precision, PrecisionRun, RunEnd, findings, paper};
use crate::units::{Letters, percentile_name};

/// The name of the JSON form.
pub const PRECISION_SCHEMA: &str = "assay.study-benchfoundry.1";

/// The study as one JSON object, times in nanoseconds.
pub fn precision_json(precision: &Precision) -> String {
    let value = json!({
        "schema": PRECISION_SCHEMA,
        "assay": precision.version,
        "command": precision.command,
        "title": precision.title,
        "store": precision.url,
        "no_op": precision.is_no_op,
        "starts": precision.starts,
        "loaded": precision.loaded,
        "unit_per_s": precision.unit_per_s,
        "duration_ns": precision.duration.0,
        "seed": precision.seed,
        "machine": precision.machine,
        "dir": precision.dir,
        "findings": findings(precision, Letters::Unicode).iter().map(|finding| json!({
            "level": finding.level.name(),
            "name": finding.name,
            "text": finding.text,
        })).collect::<Vec<_>>(),
        "runs": precision.runs.iter().map(run_object).collect::<Vec<_>>(),
        "paper": PAPER,
    });
    format!("{value:#}\n")
}

fn run_object(run: &PrecisionRun) -> Value {
    let figures = run.figures.as_ref();
    let (ending, reason) = match &run.ending {
        RunEnd::Whole => ("whole", None),
        RunEnd::Interrupted => ("interrupted", None),
        RunEnd::Failed(reason) => ("failed", Some(reason)),
    };
    json!({
        "factor": run.factor,
        "planned_per_s": run.planned_per_s,
        "run_dir": run.run_dir,
        "ending": ending,
        "reason": reason,
        "scheduling_latency_ns": figures.and_then(|figures| figures.starts).map(boxplot),
        "response_ns": figures.and_then(|figures| figures.response).map(boxplot),
        "done_per_s": figures.map(|figures| figures.done_per_s),
        "failed": figures.map(|figures| figures.failed),
        "hallmark": figures.map(|figures| &figures.hallmark),
        "hallmark_reasons": figures.map(|figures| &figures.reasons),
        "paper": paper(run.factor),
    })
}

fn boxplot(found: Boxplot) -> Value {
    let mut object = Map::from_iter([("count".to_owned(), json!(found.count))]);
    for (quantile, time) in BOX_QUANTILES.iter().zip(found.quantiles) {
        object.insert(percentile_name(*quantile), json!(time.0));
    }
    object.insert("max".to_owned(), json!(found.max.0));
    Value::Object(object)
}
