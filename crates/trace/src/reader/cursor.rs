//! Walks the rows of a trace in small batches, holding one row group at a time.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use assay_model::{Arguments, Fields, Kind, Nanos, Operation};
use bytes::{Buf, Bytes};
use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length, SerializedPageReader};

use super::{Body, ReadError};
use crate::columns::{ARGUMENTS, HINT, INTENDED, ORIGIN, STATEMENT};

/// Rows decoded at once: few enough that an executor hardly notices the pause.
const BATCH_ROWS: usize = 1024;

/// The bytes of one row group, addressed by their place in the file.
struct GroupBytes {
    start: u64,
    bytes: Bytes,
}

impl GroupBytes {
    fn from(&self, start: u64) -> parquet::errors::Result<Bytes> {
        let place = start.checked_sub(self.start).and_then(|place| usize::try_from(place).ok());
        match place {
            Some(place) if place <= self.bytes.len() => Ok(self.bytes.slice(place..)),
            _ => Err(ParquetError::EOF(format!("byte {start} is outside of the row group"))),
        }
    }
}

impl Length for GroupBytes {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for GroupBytes {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let rest = self.from(start)?;
        if length > rest.len() {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are not all there")));
        }
        Ok(rest.slice(..length))
    }
}

/// One column of the current row group with the decoded part of it.
struct Column<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
}

impl<T: DataType> Column<T> {
    /// Decodes the next `rows` rows.
    fn read(&mut self, rows: usize) -> Result<(), ParquetError> {
        self.values.clear();
        while self.values.len() < rows {
            let missing = rows - self.values.len();
            let (read, _, _) = self.reader.read_records(missing, None, None, &mut self.values)?;
            if read == 0 {
                let found = self.values.len();
                return Err(ParquetError::EOF(format!("{found} rows where {rows} must be")));
            }
        }
        Ok(())
    }
}

/// All columns of the current row group.
struct Group {
    index: Column<Int64Type>,
    process: Column<Int64Type>,
    transaction: Column<Int32Type>,
    transaction_type: Column<Int32Type>,
    ends_transaction: Column<BoolType>,
    kind: Column<ByteArrayType>,
    fields: Column<Int32Type>,
    key: Column<Int64Type>,
    limit: Column<Int32Type>,
    bytes: Column<Int32Type>,
    think: Column<Int64Type>,
    intended: Option<Column<Int64Type>>,
    statement: Option<Column<Int32Type>>,
    arguments: Option<Column<ByteArrayType>>,
    origin: Option<Column<Int64Type>>,
    hint: Option<Column<Int32Type>>,
    /// Rows that are not decoded yet.
    left: usize,
}

impl Group {
    fn open(body: &Body, number: usize) -> Result<Group, ReadError> {
        let damaged =
            |reason: String| ReadError::Damaged { path: body.path.clone(), group: number, reason };
        let metadata = body.metadata.row_group(number);
        let bytes = Arc::new(fetch(body, number, metadata)?);
        let open = Opener { body, metadata, bytes };
        open.group().map_err(|error| damaged(error.to_string()))
    }

    fn read(&mut self, rows: usize) -> Result<(), ParquetError> {
        self.index.read(rows)?;
        self.process.read(rows)?;
        self.transaction.read(rows)?;
        self.transaction_type.read(rows)?;
        self.ends_transaction.read(rows)?;
        self.kind.read(rows)?;
        self.fields.read(rows)?;
        self.key.read(rows)?;
        self.limit.read(rows)?;
        self.bytes.read(rows)?;
        self.think.read(rows)?;
        read_if_there(&mut self.intended, rows)?;
        read_if_there(&mut self.statement, rows)?;
        read_if_there(&mut self.arguments, rows)?;
        read_if_there(&mut self.origin, rows)?;
        read_if_there(&mut self.hint, rows)?;
        self.left -= rows;
        Ok(())
    }

    /// The operation in row `row` of the batch, or the column whose value stands for nothing.
    #[inline]
    fn operation(&self, row: usize) -> Result<Operation, &'static str> {
        let narrow = |value: i32, column| u16::try_from(value).map_err(|_| column);
        Ok(Operation {
            index: self.index.values[row] as u64,
            key: self.key.values[row] as u64,
            kind: kind(self.kind.values[row].data()).ok_or("kind")?,
            fields: Fields::from_code(self.fields.values[row] as u32).ok_or("fields")?,
            limit: self.limit.values[row] as u32,
            bytes: self.bytes.values[row] as u32,
            statement: match &self.statement {
                Some(statement) => narrow(statement.values[row], "statement")?,
                None => 0,
            },
            transaction: narrow(self.transaction.values[row], "transaction")?,
            transaction_type: narrow(self.transaction_type.values[row], "transaction_type")?,
            ends_transaction: self.ends_transaction.values[row],
            think: Nanos(self.think.values[row] as u64),
        })
    }

    /// Appends the arguments of the operation of row `row`.
    fn push_extra(&self, row: usize, extra: &mut Extra) -> Result<(), &'static str> {
        if let Some(arguments) = &self.arguments
            && !extra.arguments.push_encoded(arguments.values[row].data())
        {
            return Err("arguments");
        }
        if let Some(hint) = &self.hint {
            extra.hints.push(hint.values[row] as u32);
        }
        Ok(())
    }

    /// The value of `column` in row `row`, for an error message.
    fn show(&self, column: &str, row: usize) -> String {
        match column {
            "kind" => String::from_utf8_lossy(self.kind.values[row].data()).into_owned(),
            "fields" => (self.fields.values[row] as u32).to_string(),
            "transaction" => (self.transaction.values[row] as u32).to_string(),
            "transaction_type" => (self.transaction_type.values[row] as u32).to_string(),
            "index" => (self.index.values[row] as u64).to_string(),
            "statement" => self
                .statement
                .as_ref()
                .map_or_else(String::new, |column| (column.values[row] as u32).to_string()),
            "arguments" => self
                .arguments
                .as_ref()
                .map_or_else(String::new, |column| format!("{:02x?}", column.values[row].data())),
            _ => (self.process.values[row] as u64).to_string(),
        }
    }
}

fn read_if_there<T: DataType>(
    column: &mut Option<Column<T>>,
    rows: usize,
) -> Result<(), ParquetError> {
    column.as_mut().map_or(Ok(()), |column| column.read(rows))
}

/// The arguments of the operations of a process.
#[derive(Debug, Default)]
pub(super) struct Extra {
    pub arguments: Arguments,
    pub hints: Vec<u32>,
}

impl Extra {
    pub fn clear(&mut self) {
        self.arguments.clear();
        self.hints.clear();
    }
}

/// Fetches all bytes of a row group and compares them with their checksum.
fn fetch(body: &Body, number: usize, metadata: &RowGroupMetaData) -> Result<GroupBytes, ReadError> {
    let damaged = |reason: &str| ReadError::Damaged {
        path: body.path.clone(),
        group: number,
        reason: reason.to_owned(),
    };
    let is_sound = |chunk: &ColumnChunkMetaData| {
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        start >= 0 && chunk.data_page_offset() >= 0 && chunk.compressed_size() >= 0
    };
    if metadata.num_rows() < 0 || !metadata.columns().iter().all(is_sound) {
        return Err(damaged("a number in it is below 0"));
    }
    let ranges = || metadata.columns().iter().map(|chunk| chunk.byte_range());
    let start = ranges().map(|(start, _)| start).min().unwrap_or(0);
    let end = ranges().map(|(start, length)| start.saturating_add(length)).max().unwrap_or(0);
    if end > body.bytes {
        return Err(damaged("it reaches beyond the end of the file"));
    }
    let mut bytes = vec![0; (end - start) as usize];
    body.file
        .read_exact_at(&mut bytes, start)
        .map_err(|source| ReadError::Io { path: body.path.clone(), source })?;
    if crc32fast::hash(&bytes) != body.facts.guards[number].crc {
        return Err(damaged("its bytes do not match their checksum"));
    }
    Ok(GroupBytes { start, bytes: bytes.into() })
}

struct Opener<'a> {
    body: &'a Body,
    metadata: &'a RowGroupMetaData,
    bytes: Arc<GroupBytes>,
}

impl Opener<'_> {
    fn group(&self) -> Result<Group, ParquetError> {
        Ok(Group {
            index: self.column(0)?,
            process: self.column(1)?,
            transaction: self.column(2)?,
            transaction_type: self.column(3)?,
            ends_transaction: self.column(4)?,
            kind: self.column(5)?,
            fields: self.column(6)?,
            key: self.column(7)?,
            limit: self.column(8)?,
            bytes: self.column(9)?,
            think: self.column(10)?,
            intended: self.optional(INTENDED)?,
            statement: self.optional(STATEMENT)?,
            arguments: self.optional(ARGUMENTS)?,
            origin: self.optional(ORIGIN)?,
            hint: self.optional(HINT)?,
            left: usize::try_from(self.metadata.num_rows()).unwrap_or(0),
        })
    }

    /// A reader of column `number` of [`NAMES`](crate::columns::NAMES), which must be there.
    fn column<T: DataType>(&self, number: usize) -> Result<Column<T>, ParquetError> {
        let missing = || ParquetError::General(format!("there is no column {number}"));
        self.optional(number)?.ok_or_else(missing)
    }

    /// A reader of column `number` of [`NAMES`](crate::columns::NAMES), if it is there.
    fn optional<T: DataType>(&self, number: usize) -> Result<Option<Column<T>>, ParquetError> {
        let Some(place) = self.body.columns[number] else { return Ok(None) };
        let metadata = self.metadata.column(place);
        let rows = usize::try_from(self.metadata.num_rows()).unwrap_or(0);
        let pages = SerializedPageReader::new(self.bytes.clone(), metadata, rows, None)?;
        let reader = get_column_reader(metadata.column_descr_ptr(), Box::new(pages));
        let reader = get_typed_column_reader::<T>(reader);
        Ok(Some(Column { reader, values: Vec::with_capacity(BATCH_ROWS) }))
    }
}

#[inline]
fn kind(name: &[u8]) -> Option<Kind> {
    match name {
        b"read" => Some(Kind::Read),
        b"update" => Some(Kind::Update),
        b"insert" => Some(Kind::Insert),
        b"scan" => Some(Kind::Scan),
        b"delete" => Some(Kind::Delete),
        b"commit" => Some(Kind::Commit),
        b"rollback" => Some(Kind::Rollback),
        _ => None,
    }
}

/// The rows of a trace, from front to back.
///
/// Operations are built on demand: a worker that leaves most processes out pays for
/// little more than their numbers.
pub(super) struct Cursor {
    body: Arc<Body>,
    group: Option<Group>,
    /// The row group to open next.
    next_group: usize,
    /// Rows of the current batch, of which `place` are consumed.
    rows: usize,
    place: usize,
    /// The number of the batch's first row in the file.
    first_row: u64,
    rule: Rule,
}

/// What the row before says about the next one.
#[derive(Clone, Copy)]
struct Rule {
    least_process: u64,
    least_index: u64,
    width: u64,
    named_types: usize,
}

impl Rule {
    /// The column that breaks the order of a trace, with the reason, if one does.
    #[inline]
    fn broken_by(
        &mut self,
        process: u64,
        operation: &Operation,
    ) -> Option<(&'static str, &'static str)> {
        let index = operation.index;
        let first = process.saturating_mul(self.width);
        if process < self.least_process || process == u64::MAX {
            return Some(("process", "process numbers never fall"));
        }
        if index < first || index >= first.saturating_add(self.width) {
            return Some(("index", "it is not within process × width"));
        }
        if index < self.least_index {
            return Some(("index", "operation numbers always rise"));
        }
        if usize::from(operation.transaction_type) >= self.named_types {
            return Some(("transaction_type", "the header has no name for it"));
        }
        self.least_process = process;
        self.least_index = index + 1;
        None
    }
}

impl Cursor {
    pub fn open(body: Arc<Body>) -> Result<Cursor, ReadError> {
        let rule = Rule {
            least_process: 0,
            least_index: 0,
            width: body.facts.header.width,
            named_types: body.facts.header.transaction_types.len(),
        };
        let mut cursor =
            Cursor { body, group: None, next_group: 0, rows: 0, place: 0, first_row: 0, rule };
        cursor.decode()?;
        Ok(cursor)
    }

    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The processes of the rows that are decoded and not consumed, bit for bit; empty only at the
    /// end of the trace.
    #[inline]
    pub fn processes(&self) -> &[i64] {
        match &self.group {
            Some(group) => &group.process.values[self.place..self.rows],
            None => &[],
        }
    }

    /// The intended offset of the next row; zero without a schedule.
    #[inline]
    pub fn intended(&self) -> Nanos {
        let column = self.group.as_ref().and_then(|group| group.intended.as_ref());
        let offset = column.and_then(|column| column.values.get(self.place));
        offset.map_or(Nanos::ZERO, |&offset| Nanos(offset as u64))
    }

    /// The number that the process of the next row had elsewhere; 0 if that is not kept.
    pub fn origin(&self) -> i64 {
        let column = self.group.as_ref().and_then(|group| group.origin.as_ref());
        column.and_then(|column| column.values.get(self.place)).copied().unwrap_or(0)
    }

    /// Leaves out the next `count` of [`Cursor::processes`], and decodes more if none is left.
    #[inline]
    pub fn skip(&mut self, count: usize) -> Result<(), ReadError> {
        self.place += count;
        if self.place < self.rows { Ok(()) } else { self.decode() }
    }

    /// Appends the operations of the next `count` of [`Cursor::processes`] to `into`, what they are
    /// issued with to `extra`, and decodes more if none is left.
    #[inline]
    pub fn take(
        &mut self,
        count: usize,
        into: &mut Vec<Operation>,
        extra: &mut Extra,
    ) -> Result<(), ReadError> {
        if let Some(group) = &self.group {
            for row in self.place..self.place + count {
                let operation = match group.operation(row) {
                    Ok(operation) => operation,
                    Err(column) => {
                        return Err(self.wrong(group, row, column, "that stands for nothing"));
                    }
                };
                let process = group.process.values[row] as u64;
                if let Some((column, reason)) = self.rule.broken_by(process, &operation) {
                    return Err(self.wrong(group, row, column, reason));
                }
                into.push(operation);
                if group.statement.is_some()
                    && let Err(column) = group.push_extra(row, extra)
                {
                    return Err(self.wrong(group, row, column, "they are no arguments"));
                }
            }
        }
        self.skip(count)
    }

    /// Leaves out row groups that end before `process`, if the current batch does.
    pub fn skip_groups(&mut self, process: u64) -> Result<(), ReadError> {
        let begins_before = |group: usize| {
            self.body.facts.guards.get(group).is_some_and(|g| g.first_process < process)
        };
        let mut next = self.next_group;
        while begins_before(next) {
            next += 1;
        }
        // The group before `next` is the last that may hold the process's first operation.
        if next <= self.next_group {
            return Ok(());
        }
        let rows_of = |group: usize| self.body.metadata.row_group(group).num_rows() as u64;
        self.first_row = (0..next - 1).map(rows_of).sum();
        self.next_group = next - 1;
        self.group = None;
        self.rows = 0;
        self.decode()
    }

    /// Decodes the next batch; afterwards no row is left only if the trace has ended.
    fn decode(&mut self) -> Result<(), ReadError> {
        self.first_row += self.rows as u64;
        (self.rows, self.place) = (0, 0);
        let mut group = self.group.take().filter(|group| group.left > 0);
        // A group without rows is no end.
        while group.is_none() && self.next_group < self.body.facts.guards.len() {
            self.next_group += 1;
            let next = Group::open(&self.body, self.next_group - 1)?;
            group = Some(next).filter(|group| group.left > 0);
        }
        let Some(mut group) = group else { return Ok(()) };
        let rows = group.left.min(BATCH_ROWS);
        group.read(rows).map_err(|error| ReadError::Damaged {
            path: self.body.path.clone(),
            group: self.next_group - 1,
            reason: error.to_string(),
        })?;
        self.rows = rows;
        self.group = Some(group);
        Ok(())
    }

    #[cold]
    fn wrong(
        &self,
        group: &Group,
        row: usize,
        column: &'static str,
        reason: &'static str,
    ) -> ReadError {
        ReadError::Value {
            path: self.body.path.clone(),
            row: self.first_row + row as u64,
            column,
            value: group.show(column, row),
            reason,
        }
    }
}
