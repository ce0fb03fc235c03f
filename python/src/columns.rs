//! Columns of other programs' Arrow data as records: whatever integers and texts they hold.
//!
//! Engines change types on the way. Spark has no unsigned numbers, so that keys become decimals or
//! negative; DuckDB and Polars keep dictionaries or not. What is taken is every integer type, a
//! decimal without fraction (its low 64 bits), and words as texts, dictionaries of texts, or their
//! codes.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use assay_model::{Ends, Kind, Nanos, Outcome, Phase, Reason, Record};

/// The columns that a verdict on single records needs.
pub const OF_VERDICTS: [&str; 14] = [
    "index",
    "session",
    "kind",
    "phase",
    "key",
    "started",
    "ended",
    "outcome",
    "reason",
    "found",
    "bytes",
    "version_written",
    "version_read",
    "statement",
];

/// What is wrong with a batch: the text says which column.
pub type Wrong = String;

/// The records of `batch`, each with its agent; columns that are not there hold what
/// [`Record::BLANK`] holds, but all of `needed` must be there.
///
/// # Errors
/// If a column lacks, or has a type that it cannot have.
pub fn records(batch: &RecordBatch, needed: &[&str]) -> Result<(Vec<u16>, Vec<Record>), Wrong> {
    if let Some(missing) = needed.iter().find(|name| batch.column_by_name(name).is_none()) {
        let schema = batch.schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        return Err(format!("there is no column {missing:?}; there are {}", names.join(", ")));
    }
    let mut records = vec![Record::BLANK; batch.num_rows()];
    let mut agents = vec![0; batch.num_rows()];
    let mut reader = Reader { batch, values: Vec::with_capacity(batch.num_rows()) };
    reader.numbers("agent", |at, value| agents[at] = value as u16)?;
    let records_ref = &mut records;
    reader.numbers("index", |at, value| records_ref[at].index = value)?;
    reader.numbers("session", |at, value| records_ref[at].session = value as u32)?;
    reader.numbers("process", |at, value| records_ref[at].process = value)?;
    reader.numbers("key", |at, value| records_ref[at].key = value)?;
    // −1 is what never happened.
    reader.numbers("intended", |at, value| records_ref[at].intended = Nanos(value))?;
    reader.numbers("started", |at, value| records_ref[at].started = Nanos(value))?;
    reader.numbers("ended", |at, value| records_ref[at].ended = Nanos(value))?;
    reader.numbers("bytes", |at, value| records_ref[at].bytes = value as u32)?;
    reader.numbers("statement", |at, value| records_ref[at].statement = value as u16)?;
    reader.numbers("node", |at, value| records_ref[at].node = value as u8)?;
    reader.numbers("version_written", |at, value| records_ref[at].version_written = value)?;
    reader.numbers("version_read", |at, value| records_ref[at].version_read = value)?;
    reader.numbers("found", |at, value| records_ref[at].found = value != 0)?;
    reader.words("kind", Kind::from_name, Kind::from_code, |at, v| records_ref[at].kind = v)?;
    reader.words("phase", named(&Phase::ALL, Phase::name), Phase::from_code, |at, value| {
        records_ref[at].phase = value;
    })?;
    reader.words("outcome", named(&Outcome::ALL, Outcome::name), Outcome::from_code, |at, v| {
        records_ref[at].outcome = v;
    })?;
    reader.words("reason", named(&Reason::ALL, Reason::name), Reason::from_code, |at, value| {
        records_ref[at].reason = value;
    })?;
    let records_ref = &mut records;
    reader.numbers("transaction", |at, value| records_ref[at].transaction = value as u16)?;
    reader.numbers("rows", |at, value| records_ref[at].rows = value as u32)?;
    reader.numbers("requests", |at, value| records_ref[at].requests = value as u16)?;
    match batch.column_by_name("ends_transaction") {
        Some(_) => reader.numbers("ends_transaction", |at, value| {
            records_ref[at].ends = Ends::of(value != 0, false);
        })?,
        None => records.iter_mut().for_each(|record| record.ends = Ends::Both),
    }
    Ok((agents, records))
}

/// The whole numbers of a column that must be there; null is 0.
///
/// # Errors
/// If it is not there, or has another type.
pub fn numbers(batch: &RecordBatch, name: &str) -> Result<Vec<u64>, Wrong> {
    let column =
        batch.column_by_name(name).ok_or_else(|| format!("there is no column {name:?}"))?;
    let mut values = Vec::with_capacity(column.len());
    integers(name, column, &mut values)?;
    Ok(values)
}

/// As [`numbers`], with nothing for null.
///
/// # Errors
/// If it is not there, or has another type.
pub fn optional_numbers(batch: &RecordBatch, name: &str) -> Result<Vec<Option<u64>>, Wrong> {
    let values = numbers(batch, name)?;
    let column = batch.column_by_name(name);
    let is_null = |at: usize| column.is_some_and(|column| column.is_null(at));
    Ok(values.into_iter().enumerate().map(|(at, value)| (!is_null(at)).then_some(value)).collect())
}

/// The value among `all` that has a name.
fn named<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> impl Fn(&str) -> Option<T> {
    move |text| all.iter().copied().find(|one| name(*one) == text)
}

struct Reader<'a> {
    batch: &'a RecordBatch,
    values: Vec<u64>,
}

impl Reader<'_> {
    /// Gives the numbers of a column, if it is there; null is 0.
    fn numbers(&mut self, name: &str, put: impl FnMut(usize, u64)) -> Result<(), Wrong> {
        let Some(column) = self.batch.column_by_name(name) else { return Ok(()) };
        self.values.clear();
        integers(name, column, &mut self.values)?;
        let mut put = put;
        self.values.iter().enumerate().for_each(|(at, value)| put(at, *value));
        Ok(())
    }

    /// Gives the words of a column, if it is there.
    fn words<T: Copy>(
        &mut self,
        name: &str,
        of_name: impl Fn(&str) -> Option<T>,
        of_code: impl Fn(u8) -> Option<T>,
        mut put: impl FnMut(usize, T),
    ) -> Result<(), Wrong> {
        let Some(column) = self.batch.column_by_name(name) else { return Ok(()) };
        let unknown = |word: &str| format!("column {name:?} has {word:?}, which means nothing");
        if let DataType::Dictionary(_, _) = column.data_type() {
            let dictionary = column.as_any_dictionary();
            let words = texts(name, dictionary.values())?;
            let words: Vec<Option<T>> =
                words.iter().map(|word| word.as_deref().and_then(&of_name)).collect();
            self.values.clear();
            let keys = arrow_array::make_array(dictionary.keys().to_data());
            integers(name, &keys, &mut self.values)?;
            for (at, code) in self.values.iter().enumerate() {
                let found = words.get(*code as usize).copied().flatten();
                put(at, found.ok_or_else(|| unknown(&code.to_string()))?);
            }
            return Ok(());
        }
        if column.data_type().is_integer() {
            self.values.clear();
            integers(name, column, &mut self.values)?;
            for (at, code) in self.values.iter().enumerate() {
                let found = u8::try_from(*code).ok().and_then(&of_code);
                put(at, found.ok_or_else(|| unknown(&code.to_string()))?);
            }
            return Ok(());
        }
        for (at, word) in texts(name, column)?.iter().enumerate() {
            let word = word.as_deref().unwrap_or("null");
            put(at, of_name(word).ok_or_else(|| unknown(word))?);
        }
        Ok(())
    }
}

fn integers(name: &str, column: &ArrayRef, into: &mut Vec<u64>) -> Result<(), Wrong> {
    match column.data_type() {
        DataType::UInt64 => pull::<UInt64Type>(column, into, |value| value),
        DataType::Int64 => pull::<Int64Type>(column, into, |value| value as u64),
        DataType::UInt32 => pull::<UInt32Type>(column, into, u64::from),
        DataType::Int32 => pull::<Int32Type>(column, into, |value| i64::from(value) as u64),
        DataType::UInt16 => pull::<UInt16Type>(column, into, u64::from),
        DataType::Int16 => pull::<Int16Type>(column, into, |value| i64::from(value) as u64),
        DataType::UInt8 => pull::<UInt8Type>(column, into, u64::from),
        DataType::Int8 => pull::<Int8Type>(column, into, |value| i64::from(value) as u64),
        DataType::Decimal128(_, 0) => {
            pull::<Decimal128Type>(column, into, |value| value as u64);
        }
        DataType::Boolean => {
            into.extend(column.as_boolean().iter().map(|value| u64::from(value == Some(true))));
        }
        other => return Err(format!("column {name:?} is {other}; a whole number is needed")),
    }
    Ok(())
}

fn pull<T: ArrowPrimitiveType>(
    column: &ArrayRef,
    into: &mut Vec<u64>,
    number: impl Fn(T::Native) -> u64,
) {
    let column = column.as_primitive::<T>();
    match column.null_count() {
        0 => into.extend(column.values().iter().map(|value| number(*value))),
        _ => into.extend(column.iter().map(|value| value.map_or(0, &number))),
    }
}

fn texts(name: &str, column: &ArrayRef) -> Result<Vec<Option<String>>, Wrong> {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    match column.data_type() {
        DataType::Utf8 => Ok(column.as_string::<i32>().iter().map(owned).collect()),
        DataType::LargeUtf8 => Ok(column.as_string::<i64>().iter().map(owned).collect()),
        DataType::Utf8View => Ok(column.as_string_view().iter().map(owned).collect()),
        other => Err(format!("column {name:?} is {other}; a text or a code is needed")),
    }
}
