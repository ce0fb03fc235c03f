//! Opens a trace, checks what it says about itself, gives its operations back.

mod cursor;
mod source;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_model::Source;
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader};

pub use source::{Schedule, TraceSource};

use crate::columns::{self, INTENDED, NAMES, Schedules, Shape};
use crate::footer::{CHECK, COLUMNS, FORMAT, GROUPS, Guard, check, column_names, parse_guards};
use crate::hash::{Digest, TraceHash, parse_hex};
use crate::header::{Header, HeaderFault, Pairs};
use crate::script::StatementFault;
use crate::writer::broken_transaction;

/// A trace could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file system refused.
    #[error("cannot open trace {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is something else.
    #[error(
        "{} is no Parquet file, so no trace; a trace is made by `assay trace gen`, and other \
         files become one by `assay trace import`", path.display()
    )]
    NotParquet {
        /// The file.
        path: PathBuf,
    },
    /// The end of the file is missing.
    #[error(
        "trace {} is cut off: its end is missing after {bytes} bytes; copy or generate it again",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How much there is.
        bytes: u64,
    },
    /// A Parquet file that holds something else.
    #[error(
        "{} is a Parquet file but no trace: it has no `assay.format`; a trace is made by \
         `assay trace gen`", path.display()
    )]
    NotTrace {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version.
    #[error(
        "trace {} has format {found}, this binary reads up to format {reads}: use the assay that \
         wrote it ({generator}), or generate the trace again with this one", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u32,
        /// The newest format that we know.
        reads: u32,
        /// Who wrote the file, as far as it says.
        generator: String,
    },
    /// The file's metadata does not match its own checksum, or cannot be read.
    #[error("trace {} is damaged: {reason}; copy or generate it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// A column is missing or of another type.
    #[error("trace {} has no usable column {column:?}: {reason}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A key of the metadata is missing or is invalid.
    #[error("trace {} has an unusable header: {key}: {reason}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is nothing to issue.
    #[error("trace {} has no operation: there is nothing to issue", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// An opened trace could not be read any further, or is not what it says.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system refused.
    #[error("cannot read trace {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A row group is not what was written.
    #[error(
        "row group {group} of trace {} is damaged: {reason}; copy or generate it again",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The row group, from 0.
        group: usize,
        /// What does not fit.
        reason: String,
    },
    /// A value stands for nothing.
    #[error("row {row} of trace {} has {column} {value}: {reason}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The row, from 0.
        row: u64,
        /// The column.
        column: &'static str,
        /// What is written there.
        value: String,
        /// Why that cannot be.
        reason: &'static str,
    },
    /// A transaction ends somewhere else than with its last operation.
    #[error(
        "operation {index} of trace {} breaks its transaction: exactly the last operation of each \
         ends it", path.display()
    )]
    Transaction {
        /// The file.
        path: PathBuf,
        /// The operation.
        index: u64,
    },
    /// A process is intended before the one that comes before it.
    #[error(
        "process {process} of trace {} is intended before the one that comes before it: \
         processes come in the order of their start", path.display()
    )]
    Early {
        /// The file.
        path: PathBuf,
        /// The process.
        process: u64,
    },
    /// An operation does not fit the queries of the trace.
    #[error("trace {} is invalid: {source}", path.display())]
    Statement {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        source: StatementFault,
    },
    /// The number of operations or processes is not the one in the header.
    #[error("trace {} promises {scheduled} {what}, but holds {found}", path.display())]
    Count {
        /// The file.
        path: PathBuf,
        /// What was counted.
        what: &'static str,
        /// The number in the header.
        scheduled: u64,
        /// The number of rows.
        found: u64,
    },
    /// The operations are not the ones whose hash is in the header.
    #[error(
        "trace {} does not hold what was written: its header says hash {scheduled}, its \
         operations have {found}; copy or generate it again", path.display()
    )]
    Hash {
        /// The file.
        path: PathBuf,
        /// The hash in the header.
        scheduled: Digest,
        /// The hash of the operations.
        found: Digest,
    },
}

/// An opened trace: its header, and any number of independent readers of its operations.
///
/// Cheap to clone; all clones read the same open file.
#[derive(Clone)]
pub struct Trace {
    body: Arc<Body>,
}

/// What all readers of one trace share.
pub(crate) struct Body {
    pub path: PathBuf,
    pub file: File,
    pub metadata: ParquetMetaData,
    /// The place in the file of each column of [`NAMES`] that is there.
    pub columns: [Option<usize>; NAMES.len()],
    pub schedules: Schedules,
    pub facts: Facts,
    pub bytes: u64,
}

/// What is known of a trace without reading its operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// What the trace says about itself.
    pub header: Header,
    /// The version of its format.
    pub format: u32,
    /// Operations in the file.
    pub operations: u64,
    /// Processes in the file.
    pub processes: u64,
    /// The sealed hash.
    pub hash: Digest,
    /// Whether a load model's schedule is recorded in.
    pub schedules: Schedules,
    /// The length of the file.
    pub bytes: u64,
    /// How many row groups it has.
    pub row_groups: usize,
    /// The bytes of each column, in file order.
    pub columns: Vec<(&'static str, u64)>,
}

impl Description {
    /// Bytes of the file per operation.
    pub fn bytes_per_operation(&self) -> f64 {
        self.bytes as f64 / self.operations as f64
    }
}

/// Describes the trace at `path` without reading its operations.
///
/// # Errors
/// If the file cannot be opened as a trace.
pub fn describe(path: impl AsRef<Path>) -> Result<Description, OpenError> {
    Ok(Trace::open(path)?.describe())
}

impl Trace {
    /// Opens the trace at `path` and checks everything but its operations.
    ///
    /// # Errors
    /// If the file is missing, cut off, damaged, newer than this crate, empty or something else.
    pub fn open(path: impl AsRef<Path>) -> Result<Trace, OpenError> {
        let path = path.as_ref();
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let bytes = file.metadata().map_err(io)?.len();
        check_ends(path, &file, bytes)?;
        let metadata = ParquetMetaDataReader::new()
            .parse_and_finish(&file)
            .map_err(|error| damaged(path, error.to_string()))?;
        let no_pairs = Vec::new();
        let pairs = metadata.file_metadata().key_value_metadata().unwrap_or(&no_pairs);
        let texts = Pairs::new(pairs.iter().map(|pair| {
            let value = pair.value.as_deref().unwrap_or_default();
            (pair.key.as_str(), value)
        }));
        check_format(path, &texts)?;
        check_footer(path, &texts, pairs, &metadata)?;
        check_names(path, &texts, &metadata)?;
        let facts = read_facts(&texts).map_err(|fault| OpenError::Header {
            path: path.to_owned(),
            key: fault.key,
            reason: fault.reason,
        })?;
        let (columns, schedules) = find_columns(path, &metadata, &facts.header)?;
        if facts.guards.len() != metadata.num_row_groups() {
            return Err(damaged(path, "its row groups are not the ones it lists".to_owned()));
        }
        if facts.operations == 0 || facts.guards.is_empty() {
            return Err(OpenError::Empty { path: path.to_owned() });
        }
        let path = path.to_owned();
        let body = Body { path, file, metadata, columns, schedules, facts, bytes };
        Ok(Trace { body: Arc::new(body) })
    }

    /// What the trace says about itself.
    pub fn header(&self) -> &Header {
        &self.body.facts.header
    }

    /// Operations in the file.
    pub fn operations(&self) -> u64 {
        self.body.facts.operations
    }

    /// Processes in the file. Fewer than [`Trace::end`] if the trace is a part.
    pub fn processes(&self) -> u64 {
        self.body.facts.processes
    }

    /// One more than the highest process number.
    pub fn end(&self) -> u64 {
        self.body.facts.end
    }

    /// The sum of the fingerprints, as the header has it.
    pub fn sum(&self) -> TraceHash {
        self.body.facts.sum
    }

    /// The sealed hash, as the header has it; [`Trace::verify`] proves it.
    pub fn hash(&self) -> Digest {
        self.body.facts.hash
    }

    /// Whether a load model's schedule is recorded in.
    pub fn schedules(&self) -> Schedules {
        self.body.schedules
    }

    /// A reader for one worker.
    ///
    /// It holds one row group at a time, whatever the length of the trace. Readers of the same
    /// trace do not disturb each other.
    ///
    /// # Errors
    /// If the first row group cannot be read.
    pub fn source(&self) -> Result<Box<dyn Source>, ReadError> {
        Ok(Box::new(self.reader()?))
    }

    /// A reader that also walks from process to process.
    ///
    /// # Errors
    /// If the first row group cannot be read.
    pub fn reader(&self) -> Result<TraceSource, ReadError> {
        TraceSource::open(self.body.clone())
    }

    /// The recorded schedule, or `None` if the load model decides when a run begins.
    ///
    /// # Errors
    /// If the first row group cannot be read.
    pub fn schedule(&self) -> Result<Option<Schedule>, ReadError> {
        match self.body.schedules {
            Schedules::Absent => Ok(None),
            Schedules::Recorded => Ok(Some(Schedule::open(self.reader()?))),
        }
    }

    /// Reads the whole trace and proves that it holds what its header says.
    ///
    /// # Errors
    /// If it cannot be read, breaks the rules of a trace, or counts or hash differ.
    pub fn verify(&self) -> Result<Digest, ReadError> {
        let mut reader = self.reader()?;
        let mut operations = Vec::new();
        let (mut sum, mut processes, mut rows) = (TraceHash::new(), 0, 0);
        let mut end = 0;
        while let Some(process) = reader.advance(&mut operations)? {
            let arguments = reader.issued_with();
            for (place, operation) in operations.iter().enumerate() {
                sum.add_with(operation, arguments, place);
            }
            if let Some(index) = broken_transaction(&operations) {
                return Err(ReadError::Transaction { path: self.body.path.clone(), index });
            }
            processes += 1;
            rows += operations.len() as u64;
            end = process.saturating_add(1);
        }
        let path = || self.body.path.clone();
        let counts = [
            ("operations", self.body.facts.operations, rows),
            ("processes", self.body.facts.processes, processes),
            ("process numbers", self.body.facts.end, end),
        ];
        for (what, scheduled, found) in counts {
            if scheduled != found {
                return Err(ReadError::Count { path: path(), what, scheduled, found });
            }
        }
        let (scheduled, found) = (self.body.facts.hash, sum.seal(&self.body.facts.header));
        if scheduled != found || sum != self.body.facts.sum {
            return Err(ReadError::Hash { path: path(), scheduled, found });
        }
        Ok(found)
    }

    /// What is known without reading the operations.
    pub fn describe(&self) -> Description {
        let column_bytes = |column: usize| {
            let groups = self.body.metadata.row_groups().iter();
            groups.map(|group| group.column(column).compressed_size() as u64).sum()
        };
        let sizes = NAMES.into_iter().zip(self.body.columns);
        let sizes = sizes.filter_map(|(name, place)| Some((name, column_bytes(place?))));
        Description {
            header: self.body.facts.header.clone(),
            format: self.body.facts.header.format(),
            operations: self.body.facts.operations,
            processes: self.body.facts.processes,
            hash: self.body.facts.hash,
            schedules: self.body.schedules,
            bytes: self.body.bytes,
            row_groups: self.body.facts.guards.len(),
            columns: sizes.collect(),
        }
    }
}

fn damaged(path: &Path, reason: String) -> OpenError {
    OpenError::Damaged { path: path.to_owned(), reason }
}

/// A Parquet file begins and ends with the same four letters.
fn check_ends(path: &Path, file: &File, bytes: u64) -> Result<(), OpenError> {
    let io = |source| OpenError::Io { path: path.to_owned(), source };
    let truncated = || OpenError::Truncated { path: path.to_owned(), bytes };
    let mut letters = [0; 4];
    if bytes < letters.len() as u64 {
        return Err(truncated());
    }
    file.read_exact_at(&mut letters, 0).map_err(io)?;
    if &letters != b"PAR1" {
        return Err(OpenError::NotParquet { path: path.to_owned() });
    }
    file.read_exact_at(&mut letters, bytes - 4).map_err(io)?;
    if bytes < 12 || &letters != b"PAR1" { Err(truncated()) } else { Ok(()) }
}

fn check_format(path: &Path, pairs: &Pairs<'_>) -> Result<(), OpenError> {
    let Some(text) = pairs.find(FORMAT) else {
        return Err(OpenError::NotTrace { path: path.to_owned() });
    };
    let found = match text.parse::<u32>() {
        Ok(found) if found > 0 => found,
        _ => return Err(damaged(path, format!("its format {text:?} is no version"))),
    };
    if found > crate::FORMAT {
        let generator = pairs.find("assay.generator").unwrap_or("it does not say which");
        return Err(OpenError::Newer {
            path: path.to_owned(),
            found,
            reads: crate::FORMAT,
            generator: generator.to_owned(),
        });
    }
    Ok(())
}

fn check_footer(
    path: &Path,
    texts: &Pairs<'_>,
    pairs: &[KeyValue],
    metadata: &ParquetMetaData,
) -> Result<(), OpenError> {
    let scheduled = texts.find(CHECK).and_then(|text| u32::from_str_radix(text, 16).ok());
    let found = check(pairs.iter(), metadata.row_groups().iter());
    if scheduled == Some(found) {
        return Ok(());
    }
    Err(damaged(path, "its metadata do not match their checksum".to_owned()))
}

/// The names of columns are outside of the footer's checksum; the one of a schedule would not be
/// missed.
fn check_names(
    path: &Path,
    texts: &Pairs<'_>,
    metadata: &ParquetMetaData,
) -> Result<(), OpenError> {
    let schema = metadata.file_metadata().schema_descr();
    let found = column_names(schema);
    let is_damaged = match texts.find(COLUMNS) {
        Some(written) => written != found,
        // Older traces do not list them: a name that is off by one letter was another one.
        None => found.split(' ').any(|name| is_nearly(name, NAMES[INTENDED])),
    };
    match is_damaged {
        true => {
            Err(damaged(path, format!("its columns are not those it was written with: {found}")))
        }
        false => Ok(()),
    }
}

/// Whether `name` and `other` differ in exactly one byte.
fn is_nearly(name: &str, other: &str) -> bool {
    let differing = name.bytes().zip(other.bytes()).filter(|(one, other)| one != other).count();
    name.len() == other.len() && differing == 1
}

/// Where the columns of a trace are in this file. Columns that we do not know are passed over.
fn find_columns(
    path: &Path,
    metadata: &ParquetMetaData,
    header: &Header,
) -> Result<([Option<usize>; NAMES.len()], Schedules), OpenError> {
    let schema = metadata.file_metadata().schema_descr();
    let find =
        |name: &str| schema.columns().iter().position(|column| column.path().string() == name);
    let schedules =
        if find(NAMES[INTENDED]).is_some() { Schedules::Recorded } else { Schedules::Absent };
    let shape = Shape::of(header, schedules);
    let mut places = [None; NAMES.len()];
    for (number, column) in NAMES.into_iter().enumerate().filter(|(number, _)| shape.has(*number)) {
        let fail = |reason: String| OpenError::Column { path: path.to_owned(), column, reason };
        let place = find(column).ok_or_else(|| fail("it is missing".to_owned()))?;
        let found = schema.column(place);
        let physical = columns::COLUMNS[number].1;
        let may_be_missing = found.max_def_level() + found.max_rep_level() > 0;
        if found.physical_type() != physical || may_be_missing {
            let missing = if may_be_missing { " that may be missing" } else { "" };
            let found = found.physical_type();
            return Err(fail(format!(
                "it must be a required {physical}, it is a {found}{missing}"
            )));
        }
        places[number] = Some(place);
    }
    let is_short = |group: &parquet::file::metadata::RowGroupMetaData| {
        group.num_columns() != schema.num_columns()
    };
    if metadata.row_groups().iter().any(is_short) {
        return Err(damaged(path, "a row group does not have all columns".to_owned()));
    }
    Ok((places, schedules))
}

/// What the footer says of a trace.
pub(crate) struct Facts {
    pub header: Header,
    pub guards: Vec<Guard>,
    pub operations: u64,
    pub processes: u64,
    pub end: u64,
    pub sum: TraceHash,
    pub hash: Digest,
}

fn read_facts(pairs: &Pairs<'_>) -> Result<Facts, HeaderFault> {
    let hexadecimal = |key: &str| {
        let text = pairs.get(key)?;
        parse_hex(text).ok_or_else(|| HeaderFault {
            key: key.to_owned(),
            reason: format!("{text:?} has not 32 hexadecimal digits"),
        })
    };
    let guards = parse_guards(pairs.get(GROUPS)?).ok_or_else(|| HeaderFault {
        key: GROUPS.to_owned(),
        reason: "it is not a list of checksums".to_owned(),
    })?;
    Ok(Facts {
        header: Header::from_pairs(pairs)?,
        guards,
        operations: pairs.number("assay.operations")?,
        processes: pairs.number("assay.processes")?,
        end: pairs.number("assay.end")?,
        sum: TraceHash::from_sum(hexadecimal("assay.sum")?),
        hash: Digest(hexadecimal("assay.hash")?),
    })
}

#[cfg(test)]
mod tests;
