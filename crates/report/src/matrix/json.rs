//! The study as JSON.

use assay_analysis::compare::Spread;
use assay_analysis::matrix::{ClientsFit, Metric};
use assay_analysis::usl::{Peak, Usl};
use serde_json::{Value, json};

use super::rows::{looks_at, refusal_text, refusals};
use super::sheet::{SheetValues, matrix_sheet};
use super::words::{findings, metric_name};
use super::{MatrixStudy, published::figure_warnings};
use crate::units::Letters;

/// The study as one JSON object: setups with every metric's runs, then the table of all runs.
pub fn matrix_json(study: &MatrixStudy) -> String {
    let letters = Letters::Unicode;
    let findings = findings(study, letters);
    let value = json!({
        "schema": "assay.study.1",
        "assay": study.version,
        "name": study.name,
        "title": study.title,
        "command": study.command,
        "seed": study.seed,
        "machine": study.machine,
        "planned": study.planned,
        "done": study.matrix.cells.len(),
        "is_interrupted": study.is_interrupted,
        "scale": study.scale,
        "took_ns": study.took.0,
        "findings": findings.iter().map(|finding| json!({
            "name": finding.name,
            "text": finding.text,
        })).collect::<Vec<_>>(),
        "not_ranked": refusals(study),
        "setups": setups(study),
        "scalability": scalability(study),
        "failed": study.failed.iter().map(|failed| json!({
            "cell": failed.id,
            "reason": failed.reason,
        })).collect::<Vec<_>>(),
        "order": study.order,
        "warnings": study.published.as_ref().map(|published| figure_warnings(published, letters)),
        "rows": sheet_rows(study),
    });
    format!("{value:#}\n")
}

fn setups(study: &MatrixStudy) -> Vec<Value> {
    let metrics = looks_at(study);
    let one = |setup| {
        let found = metrics.iter().filter_map(|metric: &Metric| {
            let spread = study.matrix.spread(setup, *metric)?;
            Some((metric_name(*metric), spread_object(&spread)))
        });
        json!({
            "store": study.stores[setup.store].name,
            "workload": study.workloads[setup.workload],
            "nodes": setup.nodes,
            "load": study.loads[setup.load].name,
            "durability_class": study.durability_of(setup).name(),
            "is_no_op": study.is_no_op(setup),
            "metrics": found.collect::<serde_json::Map<_, _>>(),
        })
    };
    study.matrix.setups().into_iter().map(one).collect()
}

fn spread_object(spread: &Spread) -> Value {
    json!({
        "runs": spread.values,
        "mean": spread.mean,
        "low": spread.interval.map(|(low, _)| low),
        "high": spread.interval.map(|(_, high)| high),
    })
}

/// The law of each store over the clients of closed loops, or why there is none.
fn scalability(study: &MatrixStudy) -> Vec<Value> {
    let one = |row: &ClientsFit| {
        let mut value = json!({
            "store": study.stores[row.store].name,
            "workload": study.workloads[row.workload],
            "nodes": row.nodes,
        });
        match &row.fit {
            Err(reason) => value["refused"] = json!(refusal_text(*reason)),
            Ok(fit) => {
                let Usl { gamma, alpha, beta } = fit.law;
                let law = [("gamma", gamma), ("alpha", alpha), ("beta", beta)];
                for (place, (name, parameter)) in law.into_iter().enumerate() {
                    let interval = fit.intervals.map(|all| all[place]);
                    value[name] = json!({ "value": parameter, "interval": interval });
                }
                value["explained"] = json!(fit.explained);
                value["measured_up_to"] = json!(fit.measured_up_to);
                value["peak"] = match fit.peak {
                    Peak::Measured(at) => json!({ "clients": at, "is_measured": true }),
                    Peak::Expected(at) => json!({ "clients": at, "is_measured": false }),
                    Peak::Unseen | Peak::Untold => Value::Null,
                };
            }
        }
        value
    };
    study.fits.iter().map(one).collect()
}

fn sheet_rows(study: &MatrixStudy) -> Vec<Value> {
    let columns = matrix_sheet(study);
    let rows = match columns.first().map(|column| &column.values) {
        Some(SheetValues::Text(texts)) => texts.len(),
        _ => 0,
    };
    let row = |row: usize| {
        let cells = columns.iter().map(|column| {
            let value = match &column.values {
                SheetValues::Text(texts) => json!(texts[row]),
                SheetValues::Count(counts) => json!(counts[row]),
                SheetValues::Number(numbers) => json!(numbers[row]),
            };
            (column.name.to_owned(), value)
        });
        Value::Object(cells.collect())
    };
    (0..rows).map(row).collect()
}
