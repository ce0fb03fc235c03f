//! The study as a table for programs: one row for each sort of operation of a run.

use assay_analysis::matrix::{Cell, FilteredFigures, Setup, Times};
use assay_model::{SheetColumn, SheetValues};

use super::words::setting_of;
use super::{CellFacts, MatrixStudy};
use crate::table::{Table, TableBuilder};

/// One row: what is done in it, what came of it.
struct Row<'a> {
    study: &'a MatrixStudy,
    cell: Option<(&'a Cell, &'a CellFacts, &'a FilteredFigures)>,
    id: &'a str,
    setup: Setup,
    reason: &'a str,
}

/// The columns of the table, runs that failed last.
pub fn matrix_sheet(study: &MatrixStudy) -> Vec<SheetColumn> {
    let done = study.matrix.cells.iter().zip(&study.facts).flat_map(|(cell, facts)| {
        cell.figures.of.iter().map(move |of| Row {
            study,
            cell: Some((cell, facts, of)),
            id: &facts.id,
            setup: cell.setup,
            reason: "",
        })
    });
    let failed = study.failed.iter().map(|failed| Row {
        study,
        cell: None,
        id: &failed.id,
        setup: failed.setup,
        reason: &failed.reason,
    });
    let rows: Vec<Row> = done.chain(failed).collect();
    let mut columns = workload_columns(&rows);
    columns.extend(counts(&rows));
    columns.extend(times(&rows));
    columns.extend(checks(&rows));
    columns
}

fn text(name: &'static str, rows: &[Row], of: impl Fn(&Row) -> String) -> SheetColumn {
    SheetColumn { name, values: SheetValues::Text(rows.iter().map(of).collect()) }
}

fn count(name: &'static str, rows: &[Row], of: impl Fn(&Row) -> Option<u64>) -> SheetColumn {
    SheetColumn { name, values: SheetValues::Count(rows.iter().map(of).collect()) }
}

fn number(name: &'static str, rows: &[Row], of: impl Fn(&Row) -> Option<f64>) -> SheetColumn {
    let finite = |row: &Row| of(row).filter(|value| value.is_finite());
    SheetColumn { name, values: SheetValues::Number(rows.iter().map(finite).collect()) }
}

fn workload_columns(rows: &[Row]) -> Vec<SheetColumn> {
    let load = |row: &Row| row.study.loads[row.setup.load].clone();
    vec![
        text("study", rows, |row| row.study.name.clone()),
        text("cell", rows, |row| row.id.to_owned()),
        text("state", rows, |row| if row.cell.is_some() { "done" } else { "failed" }.to_owned()),
        text("reason", rows, |row| row.reason.to_owned()),
        text("store", rows, |row| row.study.stores[row.setup.store].name.clone()),
        text("label", rows, |row| row.study.stores[row.setup.store].label.clone()),
        text("workload", rows, |row| row.study.workloads[row.setup.workload].clone()),
        count("nodes", rows, |row| row.setup.nodes.map(|nodes| nodes as u64)),
        text("load", rows, |row| load(row).name),
        count("clients", rows, |row| load(row).clients.map(u64::from)),
        count("repetition", rows, |row| row.cell.map(|(cell, ..)| u64::from(cell.repetition))),
        text("kind", rows, |row| {
            row.cell.map_or(String::new(), |(.., of)| of.of.name().to_owned())
        }),
    ]
}

fn counts(rows: &[Row]) -> Vec<SheetColumn> {
    let column = |name, of: fn(&FilteredFigures) -> u64| {
        count(name, rows, move |row| row.cell.map(|(.., figures)| of(figures)))
    };
    vec![
        column("offered", |of| of.counts.offered),
        column("done", |of| of.counts.done),
        column("hits", |of| of.counts.hits),
        column("misses", |of| of.counts.misses),
        column("refused", |of| of.counts.refused),
        column("unknown", |of| of.counts.unknown),
        column("dropped", |of| of.counts.dropped),
        number("throughput_per_s", rows, |row| row.cell.map(|(.., of)| of.throughput_per_s)),
        number("run_time_ns", rows, |row| row.cell.map(|(cell, ..)| cell.figures.run_time_ns)),
    ]
}

fn times(rows: &[Row]) -> Vec<SheetColumn> {
    let column = |name, of: fn(&FilteredFigures) -> Option<Times>, at: fn(&Times) -> f64| {
        number(name, rows, move |row| row.cell.and_then(|(.., figures)| Some(at(&of(figures)?))))
    };
    vec![
        column("response_mean_ns", |of| of.response, |times| times.mean_ns),
        column("response_p50_ns", |of| of.response, |times| times.p50_ns),
        column("response_p99_ns", |of| of.response, |times| times.p99_ns),
        column("service_mean_ns", |of| of.service, |times| times.mean_ns),
        column("service_p50_ns", |of| of.service, |times| times.p50_ns),
        column("service_p99_ns", |of| of.service, |times| times.p99_ns),
    ]
}

fn checks(rows: &[Row]) -> Vec<SheetColumn> {
    let cell = |row: &Row| row.cell.map(|(cell, ..)| cell.clone());
    let setting = |name, which: &'static str| {
        text(name, rows, move |row| {
            row.cell.map_or(String::new(), |(_, facts, _)| setting_of(&facts.settings, which))
        })
    };
    vec![
        number("hit_ratio", rows, |row| row.cell.and_then(|(.., of)| of.hit_ratio())),
        number("failed_share", rows, |row| Some(cell(row)?.figures.failed)),
        number("little_l", rows, |row| Some(cell(row)?.figures.little.little_l)),
        number("little_limit", rows, |row| cell(row)?.figures.little.limit),
        text("little", rows, |row| {
            cell(row).map_or("", |cell| cell.figures.little.verdict.name()).to_owned()
        }),
        text("hallmark", rows, |row| {
            let verdict = cell(row).and_then(|cell| cell.figures.hallmark);
            verdict.map_or("", |verdict| verdict.name()).to_owned()
        }),
        text("no_op", rows, |row| {
            cell(row).map_or("", |cell| if cell.is_no_op { "true" } else { "false" }).to_owned()
        }),
        text("durability_class", rows, |row| {
            cell(row).map_or("", |cell| cell.durability.name()).to_owned()
        }),
        setting("server", "server"),
        setting("durability", "durability"),
        setting("replication", "replication"),
        setting("consistency", "consistency"),
        number("fill_ns", rows, |row| {
            row.cell.and_then(|(_, facts, _)| Some(facts.fill?.0 as f64))
        }),
        text("run_dir", rows, |row| row.cell.map_or(String::new(), |(_, f, _)| f.run_dir.clone())),
    ]
}

/// The table as CSV with RFC 4180 quoting, `\n` line ends; absent numbers are empty.
pub fn matrix_csv(study: &MatrixStudy) -> String {
    let columns = matrix_sheet(study);
    let rows = match &columns[0].values {
        SheetValues::Text(texts) => texts.len(),
        SheetValues::Count(counts) => counts.len(),
        SheetValues::Number(numbers) => numbers.len(),
    };
    let cell = |values: &SheetValues, row: usize| match values {
        SheetValues::Text(texts) => texts[row].clone(),
        SheetValues::Count(all) => all[row].map_or(String::new(), |count| count.to_string()),
        SheetValues::Number(all) => all[row].map_or(String::new(), |number| number.to_string()),
    };
    let with = |table: TableBuilder<usize>, column: &SheetColumn| {
        table.left(column.name, |row| cell(&column.values, *row))
    };
    columns.iter().fold(Table::of(0..rows), with).build().csv()
}
