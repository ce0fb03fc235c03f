//! Writes traces of ours as a set that BenchFoundry reads.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use assay_model::{Argument, Datum, Kind, Named, Operation, Phase};

use super::import::warm_up_path;
use super::process::ABSENT;
use super::properties::FILES;
use super::{InputSetError, Remarks, Trouble};
use crate::columns::Schedules;
use crate::hash::fingerprint_of_text;
use crate::imported::load_path;
use crate::literal::show;
use crate::reader::Trace;
use crate::script::{Origins, Script};
use crate::writer::Entry;

/// The name of the file of properties.
pub const PROPERTIES: &str = "benchmark.properties";

const NANOS_PER_MS: u64 = 1_000_000;

/// A set that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The file of its properties.
    pub properties: PathBuf,
    /// What became of each phase, in their order.
    pub phases: Vec<ExportedPhase>,
    /// Lists of parameters, each written once.
    pub parameters: u64,
    /// What BenchFoundry's own reader makes of it otherwise.
    pub remarks: Remarks,
}

/// What became of one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedPhase {
    /// Which one.
    pub phase: Phase,
    /// The trace that was read.
    pub from: PathBuf,
    /// Processes written.
    pub processes: u64,
    /// Operations written; ends of transactions are none.
    pub operations: u64,
    /// Pauses within a transaction, left out: such a trace has them before transactions only.
    pub pauses: u64,
    /// Times that were no whole milliseconds, rounded.
    pub rounded: u64,
    /// Whether the trace had a schedule; without one every process starts at 0.
    pub is_scheduled: bool,
}

/// Writes the trace at `from`, with those that lie beside it at [`load_path`] and
/// [`warm_up_path`], as a set into `directory`.
///
/// # Errors
/// If a trace cannot be read, does not fit the others, issues what such files cannot say, if the
/// directory is not empty, or the file system refuses. Nothing of the set is then left.
pub fn export(from: &Path, directory: &Path) -> Result<Exported, InputSetError> {
    let main = Trace::open(from)?;
    let script = script(&main, from)?.clone();
    let mut traces = Vec::new();
    let others = [(Phase::Load, load_path(from), 4), (Phase::WarmUp, warm_up_path(from), 5)];
    for (phase, path, file) in others {
        if path != from && path.is_file() {
            let trace = Trace::open(&path)?;
            require_same(&script, &trace, &path, from)?;
            traces.push((phase, path, trace, file));
        }
    }
    traces.push((Phase::Measure, from.to_owned(), main, 6));
    let io = |source| InputSetError::Io { path: directory.to_owned(), source };
    let was_there = directory.is_dir();
    std::fs::create_dir_all(directory).map_err(io)?;
    if std::fs::read_dir(directory).map_err(io)?.next().is_some() {
        let reason = "it is not empty, and its files would be written over: name a new directory";
        return Err(InputSetError::File { path: directory.to_owned(), reason: reason.to_owned() });
    }
    let written = write(directory, &script, &traces);
    if written.is_err() {
        remove(directory, was_there);
    }
    written
}

/// Removes what was written into a directory that was empty.
fn remove(directory: &Path, was_there: bool) {
    for name in FILES.iter().map(|(_, file)| *file).chain([PROPERTIES]) {
        // Most were not written; what cannot be removed cannot be helped.
        let _ = std::fs::remove_file(directory.join(name));
    }
    if !was_there {
        let _ = std::fs::remove_dir(directory);
    }
}

/// A phase, the path of its trace, the trace, the place of its file among [`FILES`].
type Source = (Phase, PathBuf, Trace, usize);

fn write(directory: &Path, script: &Script, traces: &[Source]) -> Result<Exported, InputSetError> {
    let properties = directory.join(PROPERTIES);
    let mut set = Writing::begin(directory, script)?;
    let mut phases = Vec::new();
    for (phase, path, trace, file) in traces {
        phases.push(set.phase(*phase, path, trace, &directory.join(FILES[*file].1))?);
    }
    set.parameters.flush()?;
    let is_there = |file: usize| match file {
        3 => !script.hints.is_empty(),
        4 | 5 => traces.iter().any(|(_, _, _, there)| *there == file),
        _ => true,
    };
    write_properties(&properties, script, is_there)?;
    let (parameters, remarks) = (set.known.len() as u64, set.remarks);
    Ok(Exported { properties, phases, parameters, remarks })
}

fn script<'a>(trace: &'a Trace, path: &Path) -> Result<&'a Script, InputSetError> {
    trace.header().script.as_ref().ok_or_else(|| InputSetError::File {
        path: path.to_owned(),
        reason: "it has records by key, BenchFoundry runs SQL: export a trace of queries"
            .to_owned(),
    })
}

fn require_same(
    script: &Script,
    other: &Trace,
    path: &Path,
    from: &Path,
) -> Result<(), InputSetError> {
    let theirs = self::script(other, path)?;
    let same = (&script.ddl, &script.queries, &script.hints);
    if (&theirs.ddl, &theirs.queries, &theirs.hints) == same {
        return Ok(());
    }
    let reason = format!(
        "its schema, queries or hints are not those of {}: traces of one set share them",
        from.display()
    );
    Err(InputSetError::File { path: path.to_owned(), reason })
}

fn write_properties(
    path: &Path,
    script: &Script,
    is_there: impl Fn(usize) -> bool,
) -> Result<(), InputSetError> {
    let mut text = String::new();
    let mut push = |name: &str, value: &str| {
        text.push_str(&format!("{name}:{value}\n"));
    };
    for (number, (property, file)) in FILES.into_iter().enumerate() {
        push(property, if is_there(number) { file } else { "none" });
    }
    for Named { name, text } in &script.properties {
        if FILES.iter().all(|(property, _)| property != name) {
            push(name, text);
        }
    }
    std::fs::write(path, text).map_err(|source| InputSetError::Io { path: path.to_owned(), source })
}

/// A file of lines that knows the number of the last one.
struct Sheet {
    path: PathBuf,
    into: BufWriter<File>,
    line: u64,
}

impl Sheet {
    fn create(path: &Path) -> Result<Sheet, InputSetError> {
        let file = File::create(path)
            .map_err(|source| InputSetError::Io { path: path.to_owned(), source })?;
        Ok(Sheet { path: path.to_owned(), into: BufWriter::new(file), line: 0 })
    }

    fn write(&mut self, line: &str) -> Result<(), InputSetError> {
        self.line += 1;
        writeln!(self.into, "{line}").map_err(|source| self.io(source))
    }

    fn flush(&mut self) -> Result<(), InputSetError> {
        self.into.flush().map_err(|source| self.io(source))
    }

    fn io(&self, source: io::Error) -> InputSetError {
        InputSetError::Io { path: self.path.clone(), source }
    }
}

/// A set that is being written.
struct Writing {
    remarks: Remarks,
    parameters: Sheet,
    /// The numbers of the lists of parameters by a hash of their text: a set may have more of
    /// them than fit into memory as text. Of 10^9 texts two share a hash with a chance of 10^-21.
    known: HashMap<u128, u64>,
    /// The number of each query in the list.
    ids: Vec<i64>,
    origins: Origins,
}

impl Writing {
    fn begin(directory: &Path, script: &Script) -> Result<Writing, InputSetError> {
        let mut remarks = Remarks::default();
        let place = |file: usize| directory.join(FILES[file].1);
        write_list(&place(0), &script.ddl, &mut remarks)?;
        let ids = write_list(&place(1), &script.queries, &mut remarks)?;
        if !script.hints.is_empty() {
            let number = |(number, text): (usize, &String)| Named {
                name: (number + 1).to_string(),
                text: text.clone(),
            };
            let hints: Vec<Named> = script.hints.iter().enumerate().map(number).collect();
            write_list(&place(3), &hints, &mut remarks)?;
        }
        Ok(Writing {
            remarks,
            parameters: Sheet::create(&place(2))?,
            known: HashMap::new(),
            ids,
            origins: script.origins,
        })
    }

    fn phase(
        &mut self,
        phase: Phase,
        from: &Path,
        trace: &Trace,
        to: &Path,
    ) -> Result<ExportedPhase, InputSetError> {
        let mut sheet = Sheet::create(to)?;
        let mut found = ExportedPhase {
            phase,
            from: from.to_owned(),
            processes: 0,
            operations: 0,
            pauses: 0,
            rounded: 0,
            is_scheduled: trace.schedules() == Schedules::Recorded,
        };
        let mut reader = trace.reader()?;
        let mut operations = Vec::new();
        while let Some(process) = reader.advance(&mut operations)? {
            self.process(&mut sheet, &reader.entry(process, &operations), &mut found)?;
            found.processes += 1;
        }
        sheet.flush()?;
        Ok(found)
    }

    fn process(
        &mut self,
        sheet: &mut Sheet,
        entry: &Entry<'_>,
        found: &mut ExportedPhase,
    ) -> Result<(), InputSetError> {
        let id = match self.origins {
            Origins::Kept => entry.origin,
            Origins::Own => entry.process as i64,
        };
        let start = milliseconds(entry.intended.map_or(0, |intended| intended.0), found);
        sheet.write(&format!("BOP;{start};{id}"))?;
        let mut transaction = None;
        for (place, operation) in entry.operations.iter().enumerate() {
            if transaction != Some(operation.transaction) {
                transaction = Some(operation.transaction);
                let delay = milliseconds(operation.think.0, found);
                sheet.write(&format!("BOT;{delay}"))?;
            } else if operation.think.0 > 0 {
                found.pauses += 1;
            }
            match operation.kind {
                Kind::Rollback => return Err(beyond(&found.from, operation, ROLLBACK)),
                Kind::Commit => {}
                _ => {
                    let line = self.operation(entry, place, &found.from)?;
                    sheet.write(&line)?;
                    found.operations += 1;
                }
            }
            if operation.ends_transaction {
                sheet.write("EOT")?;
            }
        }
        sheet.write("EOP")
    }

    /// The line of an operation, after its parameters have been written if they are new.
    fn operation(
        &mut self,
        entry: &Entry<'_>,
        place: usize,
        from: &Path,
    ) -> Result<String, InputSetError> {
        let operation = &entry.operations[place];
        let mut values = Vec::new();
        for argument in entry.arguments.of(place) {
            match argument {
                Argument::Taken(_) => return Err(beyond(from, operation, TAKEN)),
                Argument::Given(datum) => {
                    let text = writable(datum).map_err(|reason| beyond(from, operation, reason))?;
                    values.push(text);
                }
            }
        }
        let id = self.ids[usize::from(operation.statement) - 1];
        let hint = entry.hints.get(place).copied().unwrap_or(0);
        let parameters = if values.is_empty() { ABSENT } else { self.parameters(&values)? };
        Ok(match (parameters, hint) {
            (ABSENT, 0) => format!("{id}"),
            (parameters, 0) => format!("{id};{parameters}"),
            (parameters, hint) => format!("{id};{parameters};{hint}"),
        })
    }

    /// The number of the list of these values, which is written once.
    fn parameters(&mut self, values: &[String]) -> Result<i64, InputSetError> {
        let text = values.join(";");
        let next = self.known.len() as u64 + 1;
        let number = *self.known.entry(fingerprint_of_text(&text)).or_insert(next);
        if number == next {
            self.parameters.write(&format!("{number}:{text}"))?;
            let Sheet { path, line, .. } = &self.parameters;
            self.remarks.add_content(path, *line, &text);
            values.iter().for_each(|value| self.remarks.add_value(path, *line, value));
        }
        Ok(number as i64)
    }
}

const ROLLBACK: &str = "it rolls its transaction back, which BenchFoundry's traces cannot express";
const TAKEN: &str = "an argument follows from an earlier answer, which BenchFoundry's lists of \
                     parameters cannot say: they hold values";

fn beyond(path: &Path, operation: &Operation, reason: impl Into<String>) -> InputSetError {
    InputSetError::Beyond { path: path.to_owned(), index: operation.index, reason: reason.into() }
}

/// The value as a piece of a line.
fn writable(datum: Datum<'_>) -> Result<String, String> {
    if let Datum::Double(number) = datum
        && !number.is_finite()
    {
        return Err(format!("SQL has no way to write {number}"));
    }
    let text = show(datum);
    match text.contains(['\n', '\r']) {
        true => Err("a value has a line break, which a list of lines cannot hold".to_owned()),
        false => Ok(text),
    }
}

/// Whole milliseconds, half ones up.
fn milliseconds(nanos: u64, found: &mut ExportedPhase) -> u64 {
    found.rounded += u64::from(!nanos.is_multiple_of(NANOS_PER_MS));
    (nanos + NANOS_PER_MS / 2) / NANOS_PER_MS
}

/// Writes `texts` under their names if these are numbers, else under 1, 2, 3 …; gives back which.
fn write_list(
    path: &Path,
    texts: &[Named],
    remarks: &mut Remarks,
) -> Result<Vec<i64>, InputSetError> {
    let own: Option<Vec<i64>> = texts.iter().map(|named| named.name.parse().ok()).collect();
    let is_usable = |ids: &Vec<i64>| {
        let distinct: std::collections::BTreeSet<i64> = ids.iter().copied().collect();
        distinct.len() == ids.len() && !distinct.contains(&ABSENT)
    };
    let counted = || (1..=texts.len() as i64).collect();
    let ids: Vec<i64> = own.filter(is_usable).unwrap_or_else(counted);
    let mut sheet = Sheet::create(path)?;
    for (id, Named { name, text }) in ids.iter().zip(texts) {
        let line = one_line(text).map_err(|reason| InputSetError::File {
            path: path.to_owned(),
            reason: format!("{name}: {reason}"),
        })?;
        sheet.write(&format!("{id}:{line}"))?;
        if line.contains(':') {
            remarks.add(path, sheet.line, Trouble::Colon);
        }
    }
    sheet.flush()?;
    Ok(ids)
}

/// SQL in one line: comments go, line breaks outside of quotes become blanks.
fn one_line(text: &str) -> Result<String, String> {
    if !text.contains(['\n', '\r']) {
        return Ok(text.trim().to_owned());
    }
    let mut line = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (passed, kept) = match first {
            '\'' | '"' | '`' => {
                let end = rest[1..].find(first).map_or(rest.len(), |end| end + 2);
                if rest[..end].contains(['\n', '\r']) {
                    return Err("a line break within quotes fits into no list".to_owned());
                }
                (end, &rest[..end])
            }
            '-' if rest.starts_with("--") => (rest.find('\n').unwrap_or(rest.len()), ""),
            '\n' | '\r' => (1, " "),
            _ => (first.len_utf8(), &rest[..first.len_utf8()]),
        };
        line.push_str(kept);
        rest = &rest[passed..];
    }
    Ok(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_of_several_lines_fits_into_one() {
        let text = "CREATE TABLE t ( -- a 'table'\n  a INT,\n  b CHAR(1) DEFAULT '--'\n)\n";
        assert_eq!(
            one_line(text).unwrap(),
            "CREATE TABLE t (    a INT,   b CHAR(1) DEFAULT '--' )"
        );
        assert_eq!(one_line(" SELECT 1; ").unwrap(), "SELECT 1;");
        assert!(one_line("SELECT 'a\nb'").is_err());
    }
}
