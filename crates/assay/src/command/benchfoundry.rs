//! BenchFoundry's files: its input set read or written, its result log written.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_analysis::Phases;
use assay_history::{Columns, History, Manifest};
use assay_model::query::{Comparison, Filter, Statement, Term};
use assay_model::{Catalogue, Named, Nanos, Phase, Query};
use assay_report::result_log::ResultLog;
use assay_trace::benchfoundry::{
    Exported, Imported, Importing, InputSet, InputSetError, Meaning, Remarks, export, import,
};

use crate::atomic_file;
use crate::exit::{Exit, as_usage, usage};
use crate::show::finish;

/// What the formats of import, export, report are called.
pub const FORMAT: &str = "benchfoundry";

/// `assay trace import benchfoundry`: the set at `from` becomes traces, the main one at `to`.
pub fn import_set(from: &Path, to: &Path) -> Result<Exit> {
    let set = InputSet::open(from).map_err(as_usage)?;
    let generator = format!("assay {}, of BenchFoundry's files", env!("CARGO_PKG_VERSION"));
    let mut understand = meanings;
    let mut importing = Importing { generator: &generator, understand: &mut understand };
    let imported = import(&set, to, &mut importing).map_err(as_usage)?;
    finish(&import_text(&imported))
}

/// The queries, resolved against the schema.
fn meanings(ddl: &[Named], queries: &[Named]) -> Result<Vec<Meaning>, String> {
    let catalogue = assay_sql::catalogue(ddl, queries).map_err(|error| error.to_string())?;
    let meaning = |query: &Query| Meaning {
        kind: query.statement.kind(),
        parameters: Some(query.parameters.clone()),
        key: key(&catalogue, &query.statement),
    };
    Ok(catalogue.queries.iter().map(meaning).collect())
}

/// The places of the arguments that name the row which a statement is about, in the order of the
/// relation's key: only if all of its columns are given as arguments.
fn key(catalogue: &Catalogue, statement: &Statement) -> Vec<u16> {
    let (relation, given): (u16, Vec<(u16, &Term)>) = match statement {
        Statement::Insert(insert) => {
            (insert.relation, insert.columns.iter().copied().zip(&insert.terms).collect())
        }
        Statement::Select(select) => (select.from[0], equal(&select.filters)),
        Statement::Update(update) => (update.relation, equal(&update.filters)),
        Statement::Delete(delete) => (delete.relation, equal(&delete.filters)),
    };
    let place = |column: &u16| match given.iter().find(|(known, _)| known == column) {
        Some((_, Term::Parameter(place))) => Some(*place),
        _ => None,
    };
    let columns = &catalogue.schema.relation(relation).primary_key;
    columns.iter().map(place).collect::<Option<Vec<u16>>>().unwrap_or_default()
}

/// The columns of the first relation that must equal something.
fn equal(filters: &[Filter]) -> Vec<(u16, &Term)> {
    filters
        .iter()
        .filter(|filter| filter.comparison == Comparison::Equal && filter.column.relation == 0)
        .map(|filter| (filter.column.column, &filter.term))
        .collect()
}

fn import_text(imported: &Imported) -> String {
    let mut text = String::new();
    for phase in &imported.phases {
        let written = &phase.written;
        let _ = writeln!(
            text,
            "{}: {} of {} operations in {} processes\nhash {}",
            phase.path.display(),
            phase.phase.name(),
            written.operations,
            written.processes,
            written.hash
        );
        let notes = [
            (phase.notes.short, "processes of fewer than five lines, which BenchFoundry drops"),
            (phase.notes.idle, "processes without operations were left out"),
            (phase.notes.empty_transactions, "transactions without operations became delays"),
            (phase.notes.lone_operations, "operations outside of a transaction are one each"),
        ];
        for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
            let _ = writeln!(text, "  {count} {what}");
        }
    }
    if imported.unused_parameters > 0 {
        let unused = imported.unused_parameters;
        let _ = writeln!(text, "{unused} lists of parameters are unused: left out");
    }
    push_remarks(&mut text, &imported.remarks);
    text
}

fn push_remarks(text: &mut String, remarks: &Remarks) {
    for remark in remarks.iter() {
        let (path, line) = (remark.path.display(), remark.line);
        let lines = match remark.count {
            1 => String::new(),
            count => format!(" (the first of {count} lines)"),
        };
        let _ = writeln!(text, "{path}:{line}: {}{lines}", remark.trouble);
    }
}

/// `assay trace export benchfoundry`: the trace at `from`, with those beside it, becomes a set.
pub fn export_set(from: &Path, to: &Path) -> Result<Exit> {
    let exported = export(from, to).map_err(|error| match &error {
        InputSetError::Io { source, .. } if atomic_file::is_full(source) => {
            anyhow::Error::from(error)
        }
        _ => as_usage(error),
    })?;
    finish(&export_text(&exported))
}

fn export_text(exported: &Exported) -> String {
    let mut text = format!("{}\n", exported.properties.display());
    for phase in &exported.phases {
        let _ = writeln!(
            text,
            "{}: {} operations in {} processes, from {}",
            phase.phase.name(),
            phase.operations,
            phase.processes,
            phase.from.display()
        );
        let notes = [
            (phase.pauses, "pauses within a transaction were left out"),
            (phase.rounded, "times were rounded to milliseconds"),
            (u64::from(!phase.is_scheduled), "schedule is missing: every process starts at 0"),
        ];
        for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
            let _ = writeln!(text, "  {count} {what}");
        }
    }
    let _ = writeln!(text, "{} lists of parameters", exported.parameters);
    push_remarks(&mut text, &exported.remarks);
    text
}

/// `assay report --format benchfoundry`: the history of the run directory `dir` as a result log.
pub fn result_log(dir: &Path, phases: Option<Phases>, output: Option<PathBuf>) -> Result<Exit> {
    let manifest = Manifest::read(dir).map_err(as_usage)?;
    if manifest.history.queries.is_empty() {
        return Err(usage(format!(
            "--format: {} has records by key; a result log of BenchFoundry has queries",
            dir.display()
        )));
    }
    let begin = |phase: Phase| {
        let found = manifest.phases.iter().find(|section| section.name == phase.name());
        found.map(|section| Nanos(section.from_ns))
    };
    let measured = if begin(Phase::Measure).is_some() { Phases::Measure } else { Phases::All };
    let phases = phases.unwrap_or(measured);
    let begins = Phase::ALL.map(|phase| begin(phase).unwrap_or(Nanos::ZERO));
    let log = |into: &mut dyn Write| log_into(into, dir, &manifest.history.queries, phases, begins);
    match &output {
        Some(path) => atomic_file::write(path, |file| log(file))?,
        None => log(&mut std::io::stdout().lock())?,
    }
    Ok(Exit::Fine)
}

/// Writes the log of the run directory `dir`. A reader that closed the pipe is no error.
fn log_into(
    into: &mut dyn Write,
    dir: &Path,
    queries: &[String],
    phases: Phases,
    begins: [Nanos; Phase::ALL.len()],
) -> Result<()> {
    let mut into = BufWriter::new(into);
    let mut log = ResultLog::new(queries);
    let mut text = String::new();
    let mut failed = Ok(());
    let mut history = History::open(dir).map_err(as_usage)?;
    history.each_batch(Columns::ALL, |batch| {
        for record in batch.records.iter().filter(|record| phases.include(record.phase)) {
            log.push(record, begins[record.phase as usize], &mut text);
        }
        if failed.is_ok() {
            failed = into.write_all(text.as_bytes());
        }
        text.clear();
    })?;
    let written = failed.and_then(|()| into.flush());
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write the result log"),
    }
}
