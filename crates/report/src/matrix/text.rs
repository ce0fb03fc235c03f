//! The study as text, Markdown, JSON.

use std::fmt::Write as _;

use assay_analysis::compare::Spread;
use assay_analysis::matrix::{ClientsFit, Metric};
use assay_analysis::usl::{Peak, Usl};
use serde_json::{Value, json};

use super::rows::{Detail, refusal_text};
use super::sheet::{SheetValues, matrix_sheet};
use super::{
    MatrixStudy, checks, durability, failures, figure_warnings, figures, findings, foreign_table,
    latency_table, looks_at, metric_name, ranking, refusals, usl_fits,
};
use crate::markdown::escape;
use crate::table::Table;
use crate::units::Letters;

/// The study for a terminal.
pub fn matrix_text(study: &MatrixStudy, letters: Letters) -> String {
    let mut out = format!("{}\n", study.title);
    for finding in findings(study, letters) {
        let _ = writeln!(out, "{}", finding.shout());
    }
    for (title, table) in tables(study, letters, Detail::Brief) {
        let _ = write!(out, "\n{title}\n");
        for line in table.lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    for (title, lines) in lists(study, letters) {
        let _ = write!(out, "\n{title}\n");
        for line in lines {
            let _ = writeln!(out, "  {line}");
        }
    }
    let _ = write!(out, "\nreproduce with: {}\n", study.command);
    out
}

/// The study for a document; texts cannot become markup.
pub fn matrix_markdown(study: &MatrixStudy) -> String {
    let letters = Letters::Unicode;
    let mut out = format!("## {}\n\n", escape(&study.title));
    if !study.about.is_empty() {
        let _ = write!(out, "{}\n\n", escape(&study.about));
    }
    for finding in findings(study, letters) {
        let (name, text) = (finding.name.to_uppercase(), escape(&finding.text));
        let _ = write!(out, "**{}**: {text}\n\n", escape(&name));
    }
    for (title, table) in tables(study, letters, Detail::Full) {
        let _ = write!(out, "### {}\n\n{}\n", escape(&title), escaped(&table).markdown());
    }
    for (title, lines) in lists(study, letters) {
        let _ = write!(out, "### {}\n\n", escape(title));
        for line in lines {
            let _ = writeln!(out, "* {}", escape(&line));
        }
        out.push('\n');
    }
    let _ = writeln!(out, "Reproduce with: `{}`", study.command.replace('`', "'"));
    out
}

/// Cells that cannot become markup.
fn escaped(table: &Table) -> Table {
    let columns: Vec<_> =
        table.columns().iter().map(|(title, side)| (title.as_str(), *side)).collect();
    let mut safe = Table::new(&columns);
    for row in table.rows() {
        safe.row(row.iter().map(|cell| escape(cell)).collect());
    }
    safe
}

/// The tables with their titles; those that have no rows are left out.
fn tables(study: &MatrixStudy, letters: Letters, detail: Detail) -> Vec<(String, Table)> {
    let mut tables = vec![("What an answered write survives".to_owned(), durability(study))];
    for (place, load) in study.loads.iter().enumerate() {
        let title = format!("Ranking, {} ({})", load.text, metric_name(study.ranked_by(place)));
        tables.extend(ranking(study, place, letters).map(|table| (title, table)));
    }
    tables.push(("Figures, means over the runs".to_owned(), figures(study, letters, detail)));
    if detail == Detail::Full {
        tables.push(("Latency over throughput".to_owned(), latency_table(study, letters)));
    }
    if let Ok(table) = usl_fits(study) {
        tables.push(("Scalability by clients (USL)".to_owned(), table));
    }
    if detail == Detail::Full {
        tables.push(("Checks of each run".to_owned(), checks(study)));
    }
    if let Some(published) = &study.published {
        let title = format!("{}: run times compared with its own latencies", published.name);
        tables.push((title, foreign_table(published, letters)));
    }
    tables.push(("Failed".to_owned(), failures(study)));
    tables.retain(|(_, table)| !table.is_empty());
    tables
}

fn lists(study: &MatrixStudy, letters: Letters) -> Vec<(&'static str, Vec<String>)> {
    let mut lists = vec![("In no ranking", refusals(study))];
    if let Some(published) = &study.published {
        lists.push(("Problems of the published figures", figure_warnings(published, letters)));
    }
    if let Err(reason) = usl_fits(study) {
        lists.push(("Scalability by clients (USL)", vec![reason]));
    }
    lists.retain(|(_, lines)| !lines.is_empty());
    lists
}

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
