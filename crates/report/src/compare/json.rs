//! A comparison for programs.

use assay_analysis::compare::{IntervalBasis, Spread};
use serde_json::{Value, json};

use super::{ComparedSetup, Contrast, figure_name};
use crate::units::Letters;
use crate::verdict::model_name;

/// The version of the object that [`json()`] prints.
pub const SCHEMA: &str = "assay/compare/v2";

/// The comparison as one indented JSON object with a line end.
///
/// Times are nanoseconds, rates operations per second, shares between 0 and 1. `effect` is a ratio
/// where `scale` is `ratio`, a difference where it is `difference`; `interval` is null where there
/// are too few values. A side is null unless all of its runs have the figure; `effect` is null
/// then, and where only the first is zero.
pub fn json(contrast: &Contrast) -> String {
    let comparison = &contrast.comparison;
    let findings: Vec<Value> = super::findings(contrast, Letters::Unicode)
        .into_iter()
        .map(|found| json!({ "level": found.level.name(), "name": found.name, "text": found.text }))
        .collect();
    let differences: Vec<Value> = contrast
        .differences
        .iter()
        .map(|found| {
            json!({
                "what": found.what, "base": found.old, "new": found.new,
                "weight": found.weight.name(),
            })
        })
        .collect();
    let conditions: Vec<Value> = contrast
        .trials
        .iter()
        .map(|trial| json!({ "text": trial.text, "judgement": trial.judgement.name() }))
        .collect();
    let rows: Vec<Value> = comparison
        .rows
        .iter()
        .map(|row| {
            json!({
                "figure": figure_name(row.figure),
                "requested": row.is_requested,
                "scale": if row.figure.measure.is_share() { "difference" } else { "ratio" },
                "base": row.old.as_ref().map(spread),
                "new": row.new.as_ref().map(spread),
                "effect": row.effect,
                "interval": row.interval.map(|(low, high)| json!({ "low": low, "high": high })),
                "finding": row.finding.name(),
            })
        })
        .collect();
    let demands = &comparison.demands;
    let object = json!({
        "schema": SCHEMA,
        "findings": findings,
        "base": side(&contrast.old),
        "new": side(&contrast.new),
        "differences": differences,
        "conditions": conditions,
        "basis": match comparison.basis {
            IntervalBasis::Runs => "runs",
            IntervalBasis::WithinRun => "within-run",
        },
        "is_judged": contrast.is_analyzed(),
        "confidence": demands.confidence,
        "level": demands.level(),
        "minimum": demands.minimum,
        "minimum_share": demands.minimum_share,
        "figures": rows,
    });
    let text = serde_json::to_string_pretty(&object)
        .expect("an object of numbers and texts with text keys is always JSON");
    text + "\n"
}

/// One side as it is printed.
pub fn side(side: &ComparedSetup) -> Value {
    let runs: Vec<Value> = side
        .runs
        .iter()
        .map(|run| {
            json!({
                "id": run.facts.run_id,
                "title": run.facts.title,
                "store": run.facts.store.url,
                "model": model_name(run.summary.load),
                "load": run.facts.load,
                "seed": run.facts.seed.to_string(),
                "state": run.facts.state.name(),
                "started": run.facts.started,
                "command": run.facts.command,
            })
        })
        .collect();
    json!({ "name": side.name, "runs": runs })
}

/// The runs of one side as they are printed.
pub fn spread(spread: &Spread) -> Value {
    json!({
        "values": spread.values,
        "median": spread.median,
        "mean": spread.mean,
        "min": spread.min,
        "max": spread.max,
        "interval": spread.interval.map(|(low, high)| json!({ "low": low, "high": high })),
        "variation": spread.variation,
    })
}
