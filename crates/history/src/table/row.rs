//! Rows of the tables beside the history: schema, writer and reader follow from one declaration.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use assay_model::{EventKind, Kind, Nanos};
use parquet::basic::{Encoding, LogicalType, Repetition};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::{Row, RowAccessor};
use parquet::schema::types::{Type, TypePtr};

use crate::part::{VERSION, VERSION_KEY};
use crate::table;

/// Rows of a file that are written together.
pub(crate) type Group<'a> = SerializedRowGroupWriter<'a, File>;

/// A row of a table, as [`table_row!`] declares it.
pub(crate) trait TableRow: Sized {
    /// What the schema calls a row.
    const NAME: &'static str;

    /// The columns, in their order in the file.
    fn fields() -> Result<Vec<TypePtr>, ParquetError>;

    /// Writes all columns of `rows`.
    fn put(rows: &[Self], group: &mut Group<'_>) -> Result<(), ParquetError>;

    /// Reads a row whose columns are those of [`TableRow::fields`].
    fn get(row: &Row) -> Result<Self, ParquetError>;
}

/// Declares the columns of a table: `Row as "name" { field => "column", … }`, with the fields of
/// the row in the order of the file. The type of a field decides how its column is stored.
macro_rules! table_row {
    ($row:ident as $table:literal { $($field:ident => $name:literal,)* }) => {
        impl $crate::table::row::TableRow for $row {
            const NAME: &'static str = $table;

            fn fields() -> Result<Vec<parquet::schema::types::TypePtr>, ParquetError> {
                Ok(vec![$($crate::table::row::field_like($name, |row: &$row| &row.$field)?),*])
            }

            fn put(
                rows: &[$row],
                group: &mut $crate::table::row::Group<'_>,
            ) -> Result<(), ParquetError> {
                $($crate::table::row::put(group, rows, |row| &row.$field)?;)*
                Ok(())
            }

            fn get(row: &parquet::record::Row) -> Result<$row, ParquetError> {
                let mut next = 0;
                Ok($row { $($field: $crate::table::row::take(row, &mut next)?),* })
            }
        }
    };
}
pub(crate) use table_row;

/// A value of a row as its column keeps it.
pub(crate) trait Cell: Sized {
    /// What Parquet stores.
    type Stored: DataType;
    /// Whether every row has the value.
    const REPETITION: Repetition;

    /// What the stored bits mean, if they are not just signed numbers.
    fn logical() -> Option<LogicalType>;

    /// The value to store; `None` in a row without it.
    fn store(&self) -> Option<<Self::Stored as DataType>::T>;

    /// The value in column `at` of `row`.
    fn load(row: &Row, at: usize) -> Result<Self, ParquetError>;
}

/// Declares how values are kept: `type: what Parquet stores, its meaning, to it, from it`.
macro_rules! cells {
    ($repetition:ident: $($type:ty: $stored:ty, $logical:expr, $store:expr, $load:expr;)*) => {$(
        impl Cell for $type {
            type Stored = $stored;
            const REPETITION: Repetition = Repetition::$repetition;

            fn logical() -> Option<LogicalType> {
                $logical
            }

            fn store(&self) -> Option<<$stored as DataType>::T> {
                let store: fn(&$type) -> Option<<$stored as DataType>::T> = $store;
                store(self)
            }

            fn load(row: &Row, at: usize) -> Result<$type, ParquetError> {
                let load: fn(&Row, usize) -> Result<$type, ParquetError> = $load;
                load(row, at)
            }
        }
    )*};
}

cells! { REQUIRED:
    f64: DoubleType, None, |value| Some(*value), |row, at| row.get_double(at);
    i32: Int32Type, None, |value| Some(*value), |row, at| row.get_int(at);
    i64: Int64Type, None, |value| Some(*value), |row, at| row.get_long(at);
    u16: Int32Type, unsigned(16), |value| Some((*value).into()), |row, at| row.get_ushort(at);
    u32: Int32Type, unsigned(32), |value| Some(*value as i32), |row, at| row.get_uint(at);
    u64: Int64Type, unsigned(64), |value| Some(*value as i64), |row, at| row.get_ulong(at);
    Nanos: Int64Type, None, |value| Some(value.0 as i64), time;
    String: ByteArrayType, Some(LogicalType::String), |value| word(value), |row, at| {
        row.get_string(at).cloned()
    };
    Kind: ByteArrayType, Some(LogicalType::String), |value| word(value.name()), |row, at| {
        named(row.get_string(at)?, "operation", Kind::from_name)
    };
    EventKind: ByteArrayType, Some(LogicalType::String), |value| word(value.name()), |row, at| {
        named(row.get_string(at)?, "event", EventKind::from_name)
    };
}

// The accessor knows no absence: it complains about it as about another type.
cells! { OPTIONAL:
    Option<f64>: DoubleType, None, |value| *value, |row, at| Ok(row.get_double(at).ok());
    Option<i64>: Int64Type, None, |value| *value, |row, at| Ok(row.get_long(at).ok());
    Option<u64>: Int64Type, None, |value| value.map(|value| value as i64), |row, at| {
        Ok(row.get_long(at).ok().map(|value| value as u64))
    };
    Option<Nanos>: Int64Type, None, |value| value.map(|value| value.0 as i64), |row, at| {
        Ok(time(row, at).ok())
    };
}

fn unsigned(bits: i8) -> Option<LogicalType> {
    Some(LogicalType::integer(bits, false))
}

fn word(text: &str) -> Option<ByteArray> {
    Some(text.into())
}

fn time(row: &Row, at: usize) -> Result<Nanos, ParquetError> {
    row.get_long(at).map(|time| Nanos(time as u64))
}

fn named<T>(name: &str, of: &str, find: fn(&str) -> Option<T>) -> Result<T, ParquetError> {
    find(name).ok_or_else(|| {
        ParquetError::General(format!("`{name}` is no kind of {of} that this release knows"))
    })
}

/// A column of a schema for values of type `V`.
pub(crate) fn field<V: Cell>(name: &str) -> Result<TypePtr, ParquetError> {
    Type::primitive_type_builder(name, V::Stored::get_physical_type())
        .with_repetition(V::REPETITION)
        .with_logical_type(V::logical())
        .build()
        .map(Arc::new)
}

/// A column of a schema for the values that `_of` takes from rows.
pub(crate) fn field_like<R, V: Cell>(
    name: &str,
    _of: impl Fn(&R) -> &V,
) -> Result<TypePtr, ParquetError> {
    field::<V>(name)
}

/// The schema with these columns.
pub(crate) fn schema(name: &str, fields: Vec<TypePtr>) -> Result<Type, ParquetError> {
    Type::group_type_builder(name).with_fields(fields).build()
}

/// Writes the values that `of` takes from `rows` as the next column of a row group.
pub(crate) fn put<R, V: Cell>(
    group: &mut Group<'_>,
    rows: &[R],
    of: impl Fn(&R) -> &V,
) -> Result<(), ParquetError> {
    let values: Vec<_> = rows.iter().filter_map(|row| of(row).store()).collect();
    let levels: Option<Vec<i16>> = (V::REPETITION == Repetition::OPTIONAL)
        .then(|| rows.iter().map(|row| i16::from(of(row).store().is_some())).collect());
    let column = group.next_column()?;
    let mut column = column.ok_or_else(|| ParquetError::General("a column too many".to_owned()))?;
    column.typed::<V::Stored>().write_batch(&values, levels.as_deref(), None)?;
    column.close()
}

/// The value in the next column of `row`.
pub(crate) fn take<V: Cell>(row: &Row, next: &mut usize) -> Result<V, ParquetError> {
    let at = *next;
    *next += 1;
    V::load(row, at)
}

/// Differences for the numbers in `columns`, which hardly repeat, the crate's dictionaries for
/// everything else.
pub(crate) fn differences(columns: &[&str]) -> WriterPropertiesPtr {
    let properties = columns.iter().fold(WriterProperties::builder(), |properties, name| {
        properties
            .set_column_dictionary_enabled((*name).into(), false)
            .set_column_encoding((*name).into(), Encoding::DELTA_BINARY_PACKED)
    });
    Arc::new(properties.build())
}

/// Begins a table of rows `R` at `path`.
pub(crate) fn create<R: TableRow>(
    path: &Path,
    properties: WriterPropertiesPtr,
) -> Result<SerializedFileWriter<File>, ParquetError> {
    let schema = Arc::new(schema(R::NAME, R::fields()?)?);
    table::create(path, schema, properties, (VERSION_KEY, VERSION.to_string()))
}

/// Adds a row group.
pub(crate) fn write_group<R: TableRow>(
    file: &mut SerializedFileWriter<File>,
    rows: &[R],
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    R::put(rows, &mut group)?;
    group.close()?;
    Ok(())
}

/// Writes a whole table.
pub(crate) fn write<R: TableRow>(path: &Path, rows: &[R]) -> Result<(), ParquetError> {
    let mut file = create::<R>(path, differences(&[]))?;
    write_group(&mut file, rows)?;
    table::finish(file)
}

/// Gives every row of a table to `each`; `fields` are its columns.
pub(crate) fn each<R: TableRow>(
    path: &Path,
    fields: Vec<TypePtr>,
    mut each: impl FnMut(R),
) -> Result<(), ParquetError> {
    table::each_row(path, Some(schema(R::NAME, fields)?), |row| {
        each(R::get(row)?);
        Ok(())
    })
}

/// Reads a whole table.
pub(crate) fn read<R: TableRow>(path: &Path) -> Result<Vec<R>, ParquetError> {
    let mut rows = Vec::new();
    each(path, R::fields()?, |row| rows.push(row))?;
    Ok(rows)
}
