//! The study as text, Markdown.

use std::fmt::Write as _;

use super::rows::Detail;
use super::{
    MatrixStudy, checks, durability, failures, figure_warnings, figures, findings, foreign_table,
    latency_table, metric_name, ranking, refusals, usl_fits,
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
