//! A trace as comma-separated text, for people, spreadsheets or foreign generators.

use std::io::{self, BufRead, Write};
use std::path::Path;

use assay_model::{Fields, Kind, Nanos, Operation};

use crate::columns::{INTENDED, NAMES, Schedules};
use crate::header::Header;
use crate::reader::{ReadError, Trace};
use crate::writer::{TraceWriter, WriteError, Written};

/// A longer line is no operation: twelve numbers of twenty digits fit twice.
const LONGEST_LINE: u64 = 512;

/// A trace could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The trace could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The text could not be written.
    #[error("cannot write the exported trace: {0}")]
    Io(#[from] io::Error),
}

/// A text could not become a trace.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The text could not be read.
    #[error("line {line}: cannot read on: {source}")]
    Io {
        /// The line, from 1.
        line: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The first line does not name the columns.
    #[error(
        "line 1: the columns must be named {expected}, with or without intended at the end; \
         found {found:?}"
    )]
    Columns {
        /// The line that must be there.
        expected: String,
        /// The line that is there.
        found: String,
    },
    /// A line makes no sense.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// What is wrong, and what is right.
        reason: String,
    },
    /// A process makes no sense, or the trace could not be written.
    #[error("up to line {line}: {source}")]
    Write {
        /// The last line of the process, from 1.
        line: u64,
        /// What is wrong.
        source: WriteError,
    },
}

/// Writes all operations of `trace` as text: one line that names the columns of the format, then
/// one line per operation. All numbers are decimal, `ends_transaction` is 0 or 1, times are in
/// nanoseconds.
///
/// # Errors
/// If the trace cannot be read or the text cannot be written.
pub fn export_csv(trace: &Trace, into: impl Write) -> Result<u64, ExportError> {
    let mut into = io::BufWriter::new(into);
    let columns = match trace.schedules() {
        Schedules::Baked => &NAMES[..=INTENDED],
        Schedules::Absent => &NAMES[..INTENDED],
    };
    writeln!(into, "{}", columns.join(","))?;
    let mut reader = trace.reader()?;
    let mut operations = Vec::new();
    let mut lines = 0;
    while let Some(process) = reader.advance(&mut operations)? {
        let intended = match trace.schedules() {
            Schedules::Baked => format!(",{}", reader.intended().0),
            Schedules::Absent => String::new(),
        };
        for operation in &operations {
            write_line(&mut into, process, operation, &intended)?;
        }
        lines += operations.len() as u64;
    }
    into.flush()?;
    Ok(lines)
}

fn write_line(
    into: &mut impl Write,
    process: u64,
    operation: &Operation,
    intended: &str,
) -> io::Result<()> {
    let Operation { index, transaction, transaction_type, key, limit, bytes, .. } = operation;
    let ends = u8::from(operation.ends_transaction);
    let (kind, fields) = (operation.kind.name(), operation.fields.code());
    let think = operation.think.0;
    writeln!(
        into,
        "{index},{process},{transaction},{transaction_type},{ends},{kind},{fields},{key},{limit},\
         {bytes},{think}{intended}"
    )
}

/// Makes a trace at `path` of text in the form of [`export_csv`].
///
/// Nothing is guessed: a missing or additional value, a sign, a blank or an empty line is an error
/// that names its line, and then there is no trace.
///
/// # Errors
/// If the text makes no sense, breaks the rules of a trace, or the file system refuses.
pub fn import_csv(
    mut from: impl BufRead,
    path: impl AsRef<Path>,
    header: Header,
) -> Result<Written, ImportError> {
    let mut text = String::new();
    read_line(&mut from, 1, &mut text)?;
    let schedules = schedules(&text)?;
    let width = header.width;
    let writer = match schedules {
        Schedules::Absent => TraceWriter::create(path, header),
        Schedules::Baked => TraceWriter::create_scheduled(path, header),
    };
    let writer = writer.map_err(|source| ImportError::Write { line: 1, source })?;
    let mut gathered = Gathered { writer, width, process: None, operations: Vec::new() };
    let mut line = 1;
    while read_line(&mut from, line + 1, &mut text)? {
        line += 1;
        let parsed = parse_line(&text, schedules);
        let parsed = parsed.map_err(|reason| ImportError::Line { line, reason })?;
        gathered.add(line, &parsed)?;
    }
    gathered.push(line)?;
    gathered.writer.finish().map_err(|source| ImportError::Write { line, source })
}

/// The lines of one process, gathered until the next begins.
struct Gathered {
    writer: TraceWriter,
    width: u64,
    process: Option<(u64, Option<Nanos>)>,
    operations: Vec<Operation>,
}

impl Gathered {
    fn add(&mut self, line: u64, parsed: &Parsed) -> Result<(), ImportError> {
        let wrong = |reason| Err(ImportError::Line { line, reason });
        let process = parsed.process;
        match self.process {
            Some((current, intended)) if current == process => {
                if intended != parsed.intended {
                    return wrong(format!("process {process} has two intended offsets"));
                }
                if self.operations.len() as u64 >= self.width {
                    let width = self.width;
                    return wrong(format!("process {process} has more than {width} operations"));
                }
            }
            _ => self.push(line - 1)?,
        }
        self.process = Some((process, parsed.intended));
        self.operations.push(parsed.operation);
        Ok(())
    }

    /// Writes the gathered process, whose last line is `line`.
    fn push(&mut self, line: u64) -> Result<(), ImportError> {
        let Some((process, intended)) = self.process else { return Ok(()) };
        let pushed = self.writer.push(process, &self.operations, intended);
        self.operations.clear();
        pushed.map_err(|source| ImportError::Write { line, source })
    }
}

/// Reads line number `line` without its end; false if there is none.
fn read_line(from: &mut impl BufRead, line: u64, into: &mut String) -> Result<bool, ImportError> {
    into.clear();
    let mut limited = io::Read::take(&mut *from, LONGEST_LINE);
    let length = limited.read_line(into).map_err(|source| ImportError::Io { line, source })? as u64;
    if length == LONGEST_LINE {
        let reason = format!("it is longer than {LONGEST_LINE} bytes, so it is no operation");
        return Err(ImportError::Line { line, reason });
    }
    if into.ends_with('\n') {
        into.pop();
    }
    if into.ends_with('\r') {
        into.pop();
    }
    Ok(length > 0)
}

fn schedules(text: &str) -> Result<Schedules, ImportError> {
    if text == NAMES[..=INTENDED].join(",") {
        return Ok(Schedules::Baked);
    }
    let expected = NAMES[..INTENDED].join(",");
    if text == expected {
        return Ok(Schedules::Absent);
    }
    Err(ImportError::Columns { expected, found: text.to_owned() })
}

struct Parsed {
    process: u64,
    intended: Option<Nanos>,
    operation: Operation,
}

fn parse_line(text: &str, schedules: Schedules) -> Result<Parsed, String> {
    let wanted = match schedules {
        Schedules::Baked => INTENDED + 1,
        Schedules::Absent => INTENDED,
    };
    let values: Vec<&str> = text.split(',').collect();
    if values.len() != wanted {
        return Err(format!("it has {} values instead of {wanted}", values.len()));
    }
    let number = |column: usize, most: u64| number(NAMES[column], values[column], most);
    let narrow = |column: usize, most: u32| number(column, u64::from(most)).map(|n| n as u32);
    let kind = Kind::from_name(values[5]).ok_or_else(|| {
        let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        format!("kind {:?} is none of {}", values[5], known.join(", "))
    })?;
    let most_fields = Fields::One(u16::MAX).code();
    let fields = Fields::from_code(narrow(6, most_fields)?)
        .ok_or_else(|| format!("fields {} stands for nothing", values[6]))?;
    let intended = match schedules {
        Schedules::Baked => Some(Nanos(number(INTENDED, u64::MAX)?)),
        Schedules::Absent => None,
    };
    Ok(Parsed {
        process: number(1, u64::MAX)?,
        intended,
        operation: Operation {
            index: number(0, u64::MAX)?,
            key: number(7, u64::MAX)?,
            kind,
            fields,
            limit: narrow(8, u32::MAX)?,
            bytes: narrow(9, u32::MAX)?,
            statement: 0,
            transaction: number(2, u64::from(u16::MAX))? as u16,
            transaction_type: number(3, u64::from(u16::MAX))? as u16,
            ends_transaction: number(4, 1)? == 1,
            think: Nanos(number(10, u64::MAX)?),
        },
    })
}

/// A decimal number of at most `most`, without sign or blank.
fn number(column: &str, text: &str, most: u64) -> Result<u64, String> {
    let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = if is_decimal { text.parse().ok() } else { None };
    match parsed {
        Some(number) if number <= most => Ok(number),
        _ => Err(format!("{column} {text:?} is no whole number from 0 to {most}")),
    }
}
