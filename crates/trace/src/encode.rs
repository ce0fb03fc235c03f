//! Turns the rows of one row group into column chunks.

use std::sync::Arc;

use assay_model::Kind;
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnPath, SchemaDescPtr};

use crate::columns::{ARGUMENTS, NAMES, Rows};

/// A dictionary that grows beyond this gives way to deltas: 4,096 numbers of four bytes.
///
/// Up to here its indices have at most 12 bits; beyond, they are hardly smaller than deltas.
const DICTIONARY_BYTES: usize = 16 * 1024;

/// The same for the arguments of queries, which are longer: what is run again and again is kept
/// once per row group, what is new each time is not kept twice.
const ARGUMENTS_DICTIONARY_BYTES: usize = 1024 * 1024;

/// One encoded column of one row group.
#[derive(Clone)]
pub(crate) struct Chunk {
    pub bytes: Bytes,
    pub close: ColumnCloseResult,
}

/// Encodes columns, and remembers the chunks of those in which every row is the same.
///
/// In a plan of lone operations without think time half of the columns never change: such a chunk
/// is encoded once for all row groups.
pub(crate) struct ChunkEncoder {
    schema: SchemaDescPtr,
    properties: WriterPropertiesPtr,
    constants: Vec<Option<Constant>>,
    kinds: Vec<ByteArray>,
    names: Vec<ByteArray>,
}

struct Constant {
    value: u64,
    rows: usize,
    chunk: Chunk,
}

/// How a trace is written: deltas for numbers that rise or scatter, a dictionary for the others.
pub(crate) fn properties() -> WriterPropertiesPtr {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("assay-trace ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_data_page_row_count_limit(usize::MAX);
    for name in NAMES {
        let path = ColumnPath::from(name);
        properties = match name {
            "ends_transaction" => properties
                .set_column_encoding(path.clone(), Encoding::RLE)
                .set_column_dictionary_enabled(path, false),
            "kind" => properties,
            "arguments" => properties
                .set_column_encoding(path.clone(), Encoding::DELTA_LENGTH_BYTE_ARRAY)
                .set_column_dictionary_page_size_limit(path, ARGUMENTS_DICTIONARY_BYTES),
            "index" | "process" | "key" | "intended" | "origin" => properties
                .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
                .set_column_dictionary_enabled(path, false),
            _ => properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        };
    }
    let process = ColumnPath::from("process");
    Arc::new(properties.set_column_statistics_enabled(process, EnabledStatistics::Chunk).build())
}

impl ChunkEncoder {
    pub fn new(schema: SchemaDescPtr, properties: WriterPropertiesPtr) -> ChunkEncoder {
        let constants = (0..schema.num_columns()).map(|_| None).collect();
        let kinds = Kind::ALL.iter().map(|kind| ByteArray::from(kind.name())).collect();
        ChunkEncoder { schema, properties, constants, kinds, names: Vec::new() }
    }

    /// The chunk of the column at place `column` of the file.
    pub fn encode(&mut self, rows: &Rows, column: usize) -> Result<Chunk, ParquetError> {
        let name = self.schema.column(column).name().to_owned();
        match name.as_str() {
            "index" => self.longs(column, &rows.index),
            "process" => self.longs(column, &rows.process),
            "transaction" => self.ints(column, &rows.transaction),
            "transaction_type" => self.ints(column, &rows.transaction_type),
            "ends_transaction" => {
                let value = same(&rows.ends_transaction).map(u64::from);
                self.column::<BoolType>(column, value, &rows.ends_transaction)
            }
            "kind" => self.kinds(column, &rows.kind),
            "fields" => self.ints(column, &rows.fields),
            "key" => self.longs(column, &rows.key),
            "limit" => self.ints(column, &rows.limit),
            "bytes" => self.ints(column, &rows.bytes),
            "think" => self.longs(column, &rows.think),
            "intended" => self.longs(column, &rows.intended),
            "statement" => self.ints(column, &rows.statement),
            "origin" => self.longs(column, &rows.origin),
            "hint" => self.ints(column, &rows.hint),
            _ => self.arguments(column, rows),
        }
    }

    fn longs(&mut self, column: usize, values: &[i64]) -> Result<Chunk, ParquetError> {
        self.column::<Int64Type>(column, same(values).map(|value| value as u64), values)
    }

    fn ints(&mut self, column: usize, values: &[i32]) -> Result<Chunk, ParquetError> {
        self.column::<Int32Type>(column, same(values).map(|value| value as u64), values)
    }

    fn kinds(&mut self, column: usize, values: &[Kind]) -> Result<Chunk, ParquetError> {
        let mut names = std::mem::take(&mut self.names);
        names.clear();
        names.extend(values.iter().map(|&kind| self.kinds[kind as usize].clone()));
        let chunk =
            self.column::<ByteArrayType>(column, same(values).map(|kind| kind as u64), &names);
        self.names = names;
        chunk
    }

    fn arguments(&mut self, column: usize, rows: &Rows) -> Result<Chunk, ParquetError> {
        debug_assert_eq!(self.schema.column(column).name(), NAMES[ARGUMENTS]);
        let bytes = Bytes::copy_from_slice(&rows.arguments);
        let mut begin = 0;
        let values: Vec<ByteArray> = rows
            .argument_ends
            .iter()
            .map(|&end| ByteArray::from(bytes.slice(std::mem::replace(&mut begin, end)..end)))
            .collect();
        self.chunk::<ByteArrayType>(column, &values)
    }

    /// Encodes `values`; `constant` is their common value, if they have one.
    fn column<T: DataType>(
        &mut self,
        column: usize,
        constant: Option<u64>,
        values: &[T::T],
    ) -> Result<Chunk, ParquetError> {
        let Some(value) = constant else { return self.chunk::<T>(column, values) };
        if let Some(known) = &self.constants[column]
            && (known.value, known.rows) == (value, values.len())
        {
            return Ok(known.chunk.clone());
        }
        let chunk = self.chunk::<T>(column, values)?;
        let rows = values.len();
        self.constants[column] = Some(Constant { value, rows, chunk: chunk.clone() });
        Ok(chunk)
    }

    fn chunk<T: DataType>(&self, column: usize, values: &[T::T]) -> Result<Chunk, ParquetError> {
        let mut sink = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut sink));
        let description = self.schema.column(column);
        let writer = get_column_writer(description, self.properties.clone(), pages);
        let mut writer = get_typed_column_writer::<T>(writer);
        writer.write_batch(values, None, None)?;
        let close = writer.close()?;
        Ok(Chunk { bytes: sink.into_inner()?.into(), close })
    }
}

/// The value of all rows, if they are all the same.
fn same<T: Copy + PartialEq>(values: &[T]) -> Option<T> {
    let (&first, rest) = values.split_first()?;
    rest.iter().all(|&value| value == first).then_some(first)
}
