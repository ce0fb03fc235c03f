//! The study as JSON.

use assay_analysis::sawtooth::Figures;
use serde_json::{Value, json};

use super::{SlowClient, Study, StudyRun};
use crate::units::percentile_name;

/// The study as one JSON object.
pub fn study_json(study: &Study) -> String {
    let agreement = study.agreement();
    let value = json!({
        "schema": "assay.study-co.1",
        "assay": study.version,
        "command": study.command,
        "seed": study.seed,
        "holds": agreement.holds(),
        "compared": agreement.compared,
        "largest_deviation": finite(agreement.worst),
        "operations": study.operations(),
        "runs": study.runs.iter().map(run_object).collect::<Vec<_>>(),
        "slow_clients": study.slow.iter().map(slow_object).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

fn run_object(run: &StudyRun) -> Value {
    let sawtooth = &run.sawtooth;
    json!({
        "model": if run.sessions.is_some() { "closed" } else { "open" },
        "sessions": run.sessions,
        "clock": run.clock.name(),
        "rate_per_s": sawtooth.rate,
        "capacity_per_s": sawtooth.capacity,
        "operations": sawtooth.operations,
        "hiccup": {
            "at_ns": sawtooth.at.0,
            "length_ns": sawtooth.hiccup.0,
        },
        "measured": run.sights.iter().map(|method| json!({
            "measure": method.measure.name(),
            "found": figures_object(&method.found),
            "expected": method.expected.as_ref().map(figures_object),
            "deviation": method.deviation().map(finite),
        })).collect::<Vec<_>>(),
    })
}

fn figures_object(figures: &Figures) -> Value {
    let quantiles = figures.quantiles.iter();
    let quantiles = quantiles.map(|(quantile, time)| (percentile_name(*quantile), json!(time.0)));
    json!({
        "mean_ns": figures.mean_ns,
        "percentiles_ns": quantiles.collect::<serde_json::Map<_, _>>(),
        "max_ns": figures.max.0,
        "affected": figures.affected,
        "back_after_ns": figures.back_after.0,
    })
}

fn slow_object(client: &SlowClient) -> Value {
    json!({
        "sessions": client.sessions,
        "pause_ns": client.pause.0,
        "catching_up_per_s": client.catching_up_at,
        "expected_back_ns": client.expected_back.map(|time| time.0),
        "found_back_ns": client.found_back.map(|time| time.0),
        "deviation": finite(client.deviation()),
    })
}

/// JSON has no infinity: a deviation without bound is none.
fn finite(number: f64) -> Value {
    if number.is_finite() { json!(number) } else { Value::Null }
}
