//! Writes a trace, row group by row group, in bounded memory.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use assay_model::{Arguments, Filled, Nanos, Operation, Source, SourceError};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;

use crate::columns::{Rows, Schedules, Shape, schema};
use crate::encode::{ChunkEncoder, properties};
use crate::footer::{CHECK, COLUMNS, FORMAT, GROUPS, Guard, check, column_names, show_guards};
use crate::hash::{Digest, TraceHash};
use crate::header::Header;
use crate::script::{Checks, StatementFault};

/// The rows of a row group: about 8 MB in memory while it is gathered.
///
/// A reader fetches one group at a time, a few hundred kilobytes, so its pause is short; the
/// footer's cost of 1.3 kB per group vanishes beside it.
pub const GROUP_ROWS: usize = 1 << 17;

/// Arguments of queries beyond this close a row group before it is full: memory stays flat however
/// long the values are.
pub const GROUP_ARGUMENT_BYTES: usize = 1 << 24;

/// A trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file system refused.
    #[error("cannot write trace {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file could not be encoded.
    #[error("cannot write trace {}: {source}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// What the encoder said; a full disk shows itself here too.
        source: ParquetError,
    },
    /// The header is invalid.
    #[error("cannot write trace {}: {key}: {reason}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The plan could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Processes must come in rising order, each with at least one operation.
    #[error("process {process} cannot follow process {before}: numbers must rise")]
    Order {
        /// The process that came too late.
        process: u64,
        /// The one before it.
        before: u64,
    },
    /// The process has no operation.
    #[error("process {process} has no operation: leave it out")]
    Idle {
        /// The process.
        process: u64,
    },
    /// An operation's number does not follow from its process.
    #[error(
        "operation {index} cannot belong to process {process}: with width {width} its numbers \
         rise from process × width and stay below (process + 1) × width"
    )]
    Index {
        /// The operation.
        index: u64,
        /// The process.
        process: u64,
        /// The header's width.
        width: u64,
    },
    /// An operation's transaction type has no name in the header.
    #[error("operation {index} has transaction type {number}, but the header names {named} types")]
    TransactionType {
        /// The operation.
        index: u64,
        /// Its type.
        number: u16,
        /// How many types there are.
        named: usize,
    },
    /// A transaction ends somewhere else than with its last operation.
    #[error(
        "operation {index} breaks its transaction: numbers of transactions rise within a process, \
         and exactly the last operation of each ends it, which is a commit or rollback if there \
         are several queries"
    )]
    Transaction {
        /// The operation.
        index: u64,
    },
    /// Some processes have an intended offset, others have none.
    #[error("process {process} breaks the schedule: all processes have an offset, or none has one")]
    Schedule {
        /// The first process that differs.
        process: u64,
    },
    /// A process is intended before the one that comes before it.
    #[error(
        "process {process} is intended at {intended} ns, after one at {before} ns: order the \
         processes by their start"
    )]
    Early {
        /// The process.
        process: u64,
        /// Its offset.
        intended: u64,
        /// The offset of the one before.
        before: u64,
    },
    /// An operation does not fit the queries of the trace.
    #[error(transparent)]
    Statement(#[from] StatementFault),
    /// There is nothing to issue.
    #[error("cannot write trace {}: the plan has no operation", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// What became of a trace that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenTrace {
    /// Operations in the file.
    pub operations: u64,
    /// Processes in the file.
    pub processes: u64,
    /// The sum of the operations' fingerprints.
    pub sum: TraceHash,
    /// The sealed hash.
    pub hash: Digest,
    /// The length of the file in bytes.
    pub bytes: u64,
}

/// Writes a trace.
///
/// The file appears under its name when [`TraceWriter::finish`] is done; before, it is called
/// `<name>.partial`, and it is removed if the writer is dropped.
pub struct TraceWriter {
    path: PathBuf,
    partial: Partial,
    header: Header,
    shape: Shape,
    checks: Checks,
    file: SerializedFileWriter<File>,
    encoder: ChunkEncoder,
    rows: Rows,
    guards: Vec<Guard>,
    sum: TraceHash,
    operations: u64,
    processes: u64,
    /// One more than the last process.
    end: u64,
    /// When the last process is intended.
    intended: Nanos,
}

/// One process as a trace takes it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its number.
    pub process: u64,
    /// Its kind.
    pub operations: &'a [Operation],
    /// Its arguments; empty for records by key.
    pub arguments: &'a Arguments,
    /// When it is intended, if a schedule is recorded in.
    pub intended: Option<Nanos>,
    /// The number that it had elsewhere, if the header keeps those.
    pub origin: i64,
    /// The numbers of its operations' hints, 0 for none; may be empty if there are none at all.
    pub hints: &'a [u32],
}

impl<'a> Entry<'a> {
    /// A process without a schedule that comes from nowhere else.
    pub fn new(process: u64, operations: &'a [Operation], arguments: &'a Arguments) -> Entry<'a> {
        Entry { process, operations, arguments, intended: None, origin: 0, hints: &[] }
    }
}

/// A file that is removed unless it is kept.
struct Partial {
    path: PathBuf,
    is_kept: bool,
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_kept {
            // The trace has failed already; that its remains cannot be removed adds nothing.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl TraceWriter {
    /// Begins a trace without a schedule: the load model decides when a run begins.
    ///
    /// # Errors
    /// If the header is invalid or the file cannot be created.
    pub fn create(path: impl AsRef<Path>, header: Header) -> Result<TraceWriter, WriteError> {
        TraceWriter::begin(path.as_ref(), header, Schedules::Absent)
    }

    /// Begins a trace in which every process has an intended offset.
    ///
    /// # Errors
    /// If the header is invalid or the file cannot be created.
    pub fn create_scheduled(
        path: impl AsRef<Path>,
        header: Header,
    ) -> Result<TraceWriter, WriteError> {
        TraceWriter::begin(path.as_ref(), header, Schedules::Recorded)
    }

    /// Begins a trace with or without a schedule.
    pub(crate) fn begin(
        path: &Path,
        header: Header,
        schedules: Schedules,
    ) -> Result<TraceWriter, WriteError> {
        header.check().map_err(|fault| WriteError::Header {
            path: path.to_owned(),
            key: fault.key,
            reason: fault.reason,
        })?;
        let mut name = path.as_os_str().to_owned();
        name.push(".partial");
        let partial = PathBuf::from(name);
        let file = File::create(&partial)
            .map_err(|source| WriteError::Io { path: partial.clone(), source })?;
        let partial = Partial { path: partial, is_kept: false };
        let encoded = |source| WriteError::Encode { path: path.to_owned(), source };
        let shape = Shape::of(&header, schedules);
        let schema = schema(shape).map_err(encoded)?;
        let properties = properties();
        let file = SerializedFileWriter::new(file, schema, properties.clone()).map_err(encoded)?;
        let description = std::sync::Arc::new(file.schema_descr().clone());
        Ok(TraceWriter {
            path: path.to_owned(),
            partial,
            checks: Checks::new(header.script.as_ref()),
            header,
            shape,
            file,
            encoder: ChunkEncoder::new(description, properties),
            rows: Rows::with_capacity(GROUP_ROWS),
            guards: Vec::new(),
            sum: TraceHash::new(),
            operations: 0,
            processes: 0,
            end: 0,
            intended: Nanos::ZERO,
        })
    }

    /// Replaces spec and records of the header, for plans that are known only at their end.
    pub fn describe(&mut self, spec: String, records: u64) {
        self.header.spec = spec;
        self.header.layout.records = records;
    }

    /// Writes the processes of `source` with numbers in `processes`, or until it ends.
    ///
    /// # Errors
    /// If the source fails, breaks the order of a trace, or the file system refuses.
    pub fn write(
        &mut self,
        source: &mut dyn Source,
        processes: Range<u64>,
    ) -> Result<(), WriteError> {
        let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
        for process in processes {
            if source.fill(process, &mut operations)? == Filled::End {
                break;
            }
            if self.shape.has_statements {
                source.arguments(&mut arguments);
            }
            self.push_entry(&Entry::new(process, &operations, &arguments))?;
        }
        Ok(())
    }

    /// Appends one process of record operations; `intended` is its offset in a recorded schedule.
    ///
    /// # Errors
    /// If the process breaks the order of a trace, or the file system refuses.
    #[inline]
    pub fn push(
        &mut self,
        process: u64,
        operations: &[Operation],
        intended: Option<Nanos>,
    ) -> Result<(), WriteError> {
        let arguments = Arguments::default();
        self.push_entry(&Entry { intended, ..Entry::new(process, operations, &arguments) })
    }

    /// Appends one process.
    ///
    /// # Errors
    /// If the process breaks the order of a trace, does not fit its queries, or the file system
    /// refuses.
    #[inline]
    pub fn push_entry(&mut self, entry: &Entry<'_>) -> Result<(), WriteError> {
        let Entry { process, operations, arguments, intended, .. } = *entry;
        self.check(process, operations)?;
        self.check_schedule(process, intended)?;
        if self.shape.has_hints
            && let Some(fault) = self.checks.hints(process, operations, entry.hints)
        {
            return Err(fault.into());
        }
        for (place, operation) in operations.iter().enumerate() {
            if let Some(fault) = self.checks.operation(operation, arguments, place) {
                return Err(fault.into());
            }
        }
        for (place, operation) in operations.iter().enumerate() {
            self.rows.push(process, operation);
            if let Some(intended) = intended {
                self.rows.push_intended(intended);
            }
            if self.shape.has_statements {
                self.sum.add_with(operation, arguments, place);
                self.push_statement(entry, place);
            } else {
                self.sum.add(operation);
            }
            if self.is_group_full() {
                self.flush()?;
            }
        }
        self.operations += operations.len() as u64;
        self.processes += 1;
        self.end = process + 1;
        self.intended = intended.unwrap_or(Nanos::ZERO);
        Ok(())
    }

    fn push_statement(&mut self, entry: &Entry<'_>, place: usize) {
        let statement = entry.operations[place].statement;
        self.rows.push_statement(statement, entry.arguments.encoded(place));
        if self.shape.has_origins {
            self.rows.origin.push(entry.origin);
        }
        if self.shape.has_hints {
            let hint = entry.hints.get(place).copied().unwrap_or(0);
            self.rows.hint.push(hint as i32);
        }
    }

    #[inline]
    fn is_group_full(&self) -> bool {
        self.rows.len() == GROUP_ROWS || self.rows.arguments.len() >= GROUP_ARGUMENT_BYTES
    }

    /// All processes have an offset or none has one; no offset is before the last.
    #[inline]
    fn check_schedule(&self, process: u64, intended: Option<Nanos>) -> Result<(), WriteError> {
        if intended.is_some() != (self.shape.schedules == Schedules::Recorded) {
            return Err(WriteError::Schedule { process });
        }
        match intended {
            Some(intended) if intended < self.intended => {
                let (intended, before) = (intended.0, self.intended.0);
                Err(WriteError::Early { process, intended, before })
            }
            _ => Ok(()),
        }
    }

    /// What every process of a trace must obey, so that a reader can rely on it.
    #[inline]
    fn check(&self, process: u64, operations: &[Operation]) -> Result<(), WriteError> {
        if process < self.end || process == u64::MAX {
            return Err(WriteError::Order { process, before: self.end.saturating_sub(1) });
        }
        if operations.is_empty() {
            return Err(WriteError::Idle { process });
        }
        let width = self.header.width;
        let mut least = process.saturating_mul(width);
        let end = least.saturating_add(width);
        let named = self.header.transaction_types.len();
        for operation in operations {
            if operation.index < least || operation.index >= end {
                return Err(WriteError::Index { index: operation.index, process, width });
            }
            least = operation.index + 1;
            let number = operation.transaction_type;
            if usize::from(number) >= named {
                let index = operation.index;
                return Err(WriteError::TransactionType { index, number, named });
            }
        }
        match broken_transaction(operations) {
            Some(index) => Err(WriteError::Transaction { index }),
            None => Ok(()),
        }
    }

    /// Writes the gathered rows as one row group.
    fn flush(&mut self) -> Result<(), WriteError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let guard = self.write_group().map_err(|source| self.failed(source))?;
        self.guards.push(guard);
        self.rows.clear();
        Ok(())
    }

    fn write_group(&mut self) -> Result<Guard, ParquetError> {
        let columns = self.file.schema_descr().num_columns();
        let mut crc = crc32fast::Hasher::new();
        let mut group = self.file.next_row_group()?;
        for column in 0..columns {
            let chunk = self.encoder.encode(&self.rows, column)?;
            crc.update(&chunk.bytes);
            group.append_column(&chunk.bytes, chunk.close)?;
        }
        group.close()?;
        Ok(Guard { crc: crc.finalize(), first_process: self.rows.process[0] as u64 })
    }

    fn failed(&self, source: ParquetError) -> WriteError {
        WriteError::Encode { path: self.path.clone(), source }
    }

    fn io(&self, source: io::Error) -> WriteError {
        WriteError::Io { path: self.path.clone(), source }
    }

    /// Writes what is left and gives the file its name; only now there is a trace.
    ///
    /// # Errors
    /// If there was no operation, or the file system refuses.
    pub fn finish(mut self) -> Result<WrittenTrace, WriteError> {
        self.flush()?;
        if self.operations == 0 {
            return Err(WriteError::Empty { path: self.path.clone() });
        }
        let hash = self.sum.seal(&self.header);
        let mut pairs: Vec<KeyValue> = self
            .closing_pairs(hash)
            .into_iter()
            .chain(self.header.to_pairs())
            .map(|(key, value)| KeyValue::new(key, value))
            .collect();
        let crc = check(pairs.iter(), self.file.flushed_row_groups().iter());
        pairs.push(KeyValue::new(CHECK.to_owned(), format!("{crc:08x}")));
        for pair in pairs {
            self.file.append_key_value_metadata(pair);
        }
        self.file.finish().map_err(|source| self.failed(source))?;
        let bytes = self.seal_file().map_err(|source| self.io(source))?;
        self.partial.is_kept = true;
        Ok(WrittenTrace {
            operations: self.operations,
            processes: self.processes,
            sum: self.sum,
            hash,
            bytes,
        })
    }

    /// The pairs that are known only at the end, led by the format version.
    fn closing_pairs(&self, hash: Digest) -> Vec<(String, String)> {
        let mut pairs = vec![
            (FORMAT.to_owned(), self.header.format().to_string()),
            ("assay.hash".to_owned(), hash.to_string()),
            ("assay.sum".to_owned(), format!("{:032x}", self.sum.sum())),
            ("assay.operations".to_owned(), self.operations.to_string()),
            ("assay.processes".to_owned(), self.processes.to_string()),
            ("assay.end".to_owned(), self.end.to_string()),
            (GROUPS.to_owned(), show_guards(&self.guards)),
        ];
        // A trace without a schedule is written as it always was, byte for byte.
        if self.shape.schedules == Schedules::Recorded {
            pairs.push((COLUMNS.to_owned(), column_names(self.file.schema_descr())));
        }
        pairs
    }

    /// Makes the file durable before it gets its name, so that a named trace is a whole trace.
    fn seal_file(&mut self) -> io::Result<u64> {
        let file = self.file.inner();
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        std::fs::rename(&self.partial.path, &self.path)?;
        Ok(bytes)
    }
}

/// The first operation of a process that does not end its transaction as it should.
///
/// The flag `ends_transaction` therefore follows from the transactions' numbers, which the hash
/// covers, and needs no place in it. Several queries end with a commit or a rollback, which ends
/// nothing else: a store would keep their transaction open for ever.
#[inline]
pub(crate) fn broken_transaction(operations: &[Operation]) -> Option<u64> {
    let mut rest = operations.iter().peekable();
    let mut before = None;
    while let Some(operation) = rest.next() {
        let next = rest.peek().map(|next| next.transaction);
        let is_last = next != Some(operation.transaction);
        let falls = next.is_some_and(|next| next < operation.transaction);
        let is_alone = is_last && before != Some(operation.transaction);
        let closes = operation.kind.ends_transaction();
        let is_closed = operation.statement == 0 || !is_last || is_alone;
        let is_right = if closes { is_last && !is_alone } else { is_closed };
        if falls || operation.ends_transaction != is_last || !is_right {
            return Some(operation.index);
        }
        before = Some(operation.transaction);
    }
    None
}
