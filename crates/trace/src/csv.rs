//! A trace as comma-separated text, for people, spreadsheets or foreign generators.

mod preamble;
mod record;

use std::io::{self, BufRead, Write};
use std::path::Path;

use assay_model::{Arguments, Fields, Kind, Nanos, Operation};

use crate::columns::{ARGUMENTS, HINT, INTENDED, NAMES, ORIGIN, STATEMENT, Schedules, Shape};
use crate::header::Header;
use crate::literal::{read_arguments, show_arguments};
use crate::reader::{ReadError, Trace};
use crate::writer::{Entry, TraceWriter, WriteError, WrittenTrace};
use record::{LONGEST_LINE, LONGEST_RECORD, Records, fields, quote};

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
    /// A line is invalid.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// What is wrong, and what is right.
        reason: String,
    },
    /// A process is invalid, or the trace could not be written.
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
/// Before the columns of a trace of queries come lines that begin with `#` and give the texts;
/// arguments are SQL's literals within quotes, with semicolons between them.
///
/// # Errors
/// If the trace cannot be read or the text cannot be written.
pub fn export_csv(trace: &Trace, into: impl Write) -> Result<u64, ExportError> {
    let mut into = io::BufWriter::new(into);
    let header = trace.header();
    let shape = Shape::of(header, trace.schedules());
    if let Some(script) = &header.script {
        preamble::write(header, script, &mut into)?;
    }
    writeln!(into, "{}", columns(shape))?;
    let mut reader = trace.reader()?;
    let mut operations = Vec::new();
    let mut lines = 0;
    while let Some(process) = reader.advance(&mut operations)? {
        let entry = reader.entry(process, &operations);
        for place in 0..operations.len() {
            write_line(&mut into, shape, &entry, place)?;
        }
        lines += operations.len() as u64;
    }
    into.flush()?;
    Ok(lines)
}

/// The line that names the columns of a trace of this shape.
fn columns(shape: Shape) -> String {
    let names = NAMES.into_iter().enumerate().filter(|(column, _)| shape.has(*column));
    names.map(|(_, name)| name).collect::<Vec<_>>().join(",")
}

fn write_line(
    into: &mut impl Write,
    shape: Shape,
    entry: &Entry<'_>,
    place: usize,
) -> io::Result<()> {
    let operation = &entry.operations[place];
    let Operation { index, transaction, transaction_type, key, limit, bytes, .. } = operation;
    let ends = u8::from(operation.ends_transaction);
    let (kind, fields) = (operation.kind.name(), operation.fields.code());
    let (process, think) = (entry.process, operation.think.0);
    write!(
        into,
        "{index},{process},{transaction},{transaction_type},{ends},{kind},{fields},{key},{limit},\
         {bytes},{think}"
    )?;
    if let Some(intended) = entry.intended {
        write!(into, ",{}", intended.0)?;
    }
    if shape.has_statements {
        let arguments = show_arguments(entry.arguments, place);
        write!(into, ",{},{}", operation.statement, quote(&arguments))?;
    }
    if shape.has_origins {
        write!(into, ",{}", entry.origin)?;
    }
    if shape.has_hints {
        write!(into, ",{}", entry.hints.get(place).copied().unwrap_or(0))?;
    }
    writeln!(into)
}

/// Makes a trace at `path` of text in the form of [`export_csv`].
///
/// What the text says of itself in lines that begin with `#` takes the place of what `header` says.
/// Nothing is guessed: a missing or additional value, a sign, a blank or an empty line is an error
/// that names its line, and then there is no trace.
///
/// # Errors
/// If the text is invalid, breaks the rules of a trace, or the file system refuses.
pub fn import_csv(
    from: impl BufRead,
    path: impl AsRef<Path>,
    mut header: Header,
) -> Result<WrittenTrace, ImportError> {
    let mut records = Records::new(from);
    let names = preamble::read(&mut records, &mut header)?;
    let shape = shape(&names, &header)?;
    let (width, line) = (header.width, records.line);
    let writer = TraceWriter::begin(path.as_ref(), header, shape.schedules);
    let writer = writer.map_err(|source| ImportError::Write { line, source })?;
    let mut gathered = Gathered::new(writer, width);
    let longest = if shape.has_statements { LONGEST_RECORD } else { LONGEST_LINE };
    while let Some(record) = records.read(longest)? {
        let parsed = parse(record, shape);
        let line = records.line;
        let parsed = parsed.map_err(|reason| ImportError::Line { line, reason })?;
        gathered.add(line, &parsed)?;
    }
    let line = records.line;
    gathered.push(line)?;
    gathered.writer.finish().map_err(|source| ImportError::Write { line, source })
}

/// The lines of one process, gathered until the next begins.
struct Gathered {
    writer: TraceWriter,
    width: u64,
    process: Option<(u64, Option<Nanos>, i64)>,
    operations: Vec<Operation>,
    arguments: Arguments,
    hints: Vec<u32>,
    /// The last line of the last operation.
    line: u64,
}

impl Gathered {
    fn new(writer: TraceWriter, width: u64) -> Gathered {
        Gathered {
            writer,
            width,
            process: None,
            operations: Vec::new(),
            arguments: Arguments::default(),
            hints: Vec::new(),
            line: 0,
        }
    }

    fn add(&mut self, line: u64, parsed: &Parsed) -> Result<(), ImportError> {
        let wrong = |reason| Err(ImportError::Line { line, reason });
        let process = parsed.process;
        match self.process {
            Some((current, intended, _)) if current == process => {
                if intended != parsed.intended {
                    return wrong(format!("process {process} has two intended offsets"));
                }
                if self.operations.len() as u64 >= self.width {
                    let width = self.width;
                    return wrong(format!("process {process} has more than {width} operations"));
                }
            }
            _ => self.push(self.line)?,
        }
        self.process = Some((process, parsed.intended, parsed.origin));
        self.line = line;
        self.operations.push(parsed.operation);
        self.hints.push(parsed.hint);
        let read = read_arguments(&parsed.arguments, &mut self.arguments);
        read.map_err(|reason| ImportError::Line { line, reason })
    }

    /// Writes the gathered process, whose last line is `line`.
    fn push(&mut self, line: u64) -> Result<(), ImportError> {
        let Some((process, intended, origin)) = self.process else { return Ok(()) };
        let entry = Entry {
            intended,
            origin,
            hints: &self.hints,
            ..Entry::new(process, &self.operations, &self.arguments)
        };
        let pushed = self.writer.push_entry(&entry);
        self.operations.clear();
        self.arguments.clear();
        self.hints.clear();
        pushed.map_err(|source| ImportError::Write { line, source })
    }
}

/// The shape of a trace with this header whose columns have these names.
fn shape(names: &str, header: &Header) -> Result<Shape, ImportError> {
    let shapes = [Schedules::Recorded, Schedules::Absent].map(|known| Shape::of(header, known));
    let [_, plain] = shapes;
    let fits = |shape: &Shape| names == columns(*shape);
    shapes
        .into_iter()
        .find(fits)
        .ok_or_else(|| ImportError::Columns { expected: columns(plain), found: names.to_owned() })
}

struct Parsed {
    process: u64,
    intended: Option<Nanos>,
    operation: Operation,
    arguments: String,
    origin: i64,
    hint: u32,
}

/// The values of one line with the columns that they belong to.
struct Values {
    shape: Shape,
    texts: Vec<String>,
}

impl Values {
    fn text(&self, column: usize) -> &str {
        let place = (0..column).filter(|&before| self.shape.has(before)).count();
        &self.texts[place]
    }

    fn number(&self, column: usize, most: u64) -> Result<u64, String> {
        number(NAMES[column], self.text(column), most)
    }

    fn narrow(&self, column: usize, most: u32) -> Result<u32, String> {
        self.number(column, u64::from(most)).map(|number| number as u32)
    }

    /// The value of a column that need not be there.
    fn optional(&self, column: usize, most: u64) -> Result<Option<u64>, String> {
        self.shape.has(column).then(|| self.number(column, most)).transpose()
    }
}

fn parse(record: &str, shape: Shape) -> Result<Parsed, String> {
    let values = Values { shape, texts: fields(record)? };
    let target = (0..NAMES.len()).filter(|&column| shape.has(column)).count();
    if values.texts.len() != target {
        return Err(format!("it has {} values instead of {target}", values.texts.len()));
    }
    let origin = match shape.has_origins {
        true => values.text(ORIGIN).parse().map_err(|_| "origin is no whole number".to_owned())?,
        false => 0,
    };
    Ok(Parsed {
        process: values.number(1, u64::MAX)?,
        intended: values.optional(INTENDED, u64::MAX)?.map(Nanos),
        operation: operation(&values)?,
        arguments: match shape.has_statements {
            true => values.text(ARGUMENTS).to_owned(),
            false => String::new(),
        },
        origin,
        hint: values.optional(HINT, u64::from(u32::MAX))?.map_or(0, |hint| hint as u32),
    })
}

fn operation(values: &Values) -> Result<Operation, String> {
    let kind = Kind::from_name(values.text(5)).ok_or_else(|| {
        let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        format!("kind {:?} is none of {}", values.text(5), known.join(", "))
    })?;
    let fields = Fields::from_code(values.narrow(6, Fields::One(u16::MAX).code())?)
        .ok_or_else(|| format!("fields {} stands for nothing", values.text(6)))?;
    let most = u64::from(u16::MAX);
    Ok(Operation {
        index: values.number(0, u64::MAX)?,
        key: values.number(7, u64::MAX)?,
        kind,
        fields,
        limit: values.narrow(8, u32::MAX)?,
        bytes: values.narrow(9, u32::MAX)?,
        statement: values.optional(STATEMENT, most)?.map_or(0, |number| number as u16),
        transaction: values.number(2, most)? as u16,
        transaction_type: values.number(3, most)? as u16,
        ends_transaction: values.number(4, 1)? == 1,
        think: Nanos(values.number(10, u64::MAX)?),
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
