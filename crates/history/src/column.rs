//! The columns of a history file, one for each field of a record.

use std::ops::BitOr;
use std::sync::Arc;

use assay_model::{Ends, Kind, Nanos, Outcome, Phase, Reason, Record, Verified, named_enum};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};

/// Declares the columns, each with its name, the version of the format in which it came, how its
/// values look, and the field of a record that it holds, or what gets and sets that.
macro_rules! columns {
    ($($column:ident => $name:literal, $since:literal, $shape:expr, $field:tt;)*) => {
        named_enum! {
            /// One column; its name is the name of the record's field.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[repr(u8)]
            #[allow(missing_docs, reason = "the fields of Record are documented there")]
            pub enum Column { $($column => $name,)* }
        }

        impl Column {
            /// The version of the format in which the column came; files of earlier ones are read
            /// without.
            pub(crate) const fn since(self) -> u32 {
                match self { $(Column::$column => $since,)* }
            }

            pub(crate) const fn shape(self) -> Shape {
                match self { $(Column::$column => $shape,)* }
            }

            /// Appends the values of `records`, taken in `order`, to `into`; words become their
            /// codes.
            pub(crate) fn gather(self, records: &[Record], order: &[u32], into: &mut Vec<u64>) {
                let chosen = order.iter().map(|place| &records[*place as usize]);
                match self {
                    $(Column::$column => {
                        into.extend(chosen.map(|record| columns!(@get record $field).to_bits()));
                    })*
                }
            }

            /// Puts `values` into the records' field; codes become their words.
            ///
            /// # Panics
            /// If a code is none of [`Column::code`].
            pub(crate) fn scatter(
                self,
                values: impl Iterator<Item = u64>,
                records: &mut [Record],
            ) {
                let places = records.iter_mut().zip(values);
                match self {
                    $(Column::$column => places.for_each(|(record, value)| {
                        columns!(@set record $field = Field::of_bits(value));
                    }),)*
                }
            }
        }
    };
    (@get $record:ident ($get:ident, $set:ident)) => { $record.$get() };
    (@get $record:ident $field:ident) => { $record.$field };
    (@set $record:ident ($get:ident, $set:ident) = $value:expr) => { $set($record, $value) };
    (@set $record:ident $field:ident = $value:expr) => { $record.$field = $value };
}

columns! {
    Index => "index", 1, Shape::Unsigned(64), index;
    Session => "session", 1, Shape::Unsigned(32), session;
    Process => "process", 1, Shape::Unsigned(64), process;
    Transaction => "transaction", 1, Shape::Unsigned(16), transaction;
    TransactionType => "transaction_type", 1, Shape::Unsigned(16), transaction_type;
    EndsTransaction => "ends_transaction", 1, Shape::Flag, (ends_transaction, end_transaction);
    Kind => "kind", 1, Shape::Word, kind;
    Phase => "phase", 1, Shape::Word, phase;
    Key => "key", 1, Shape::Unsigned(64), key;
    Intended => "intended", 1, Shape::Time, intended;
    Started => "started", 1, Shape::Time, started;
    Ended => "ended", 1, Shape::Time, ended;
    Outcome => "outcome", 1, Shape::Word, outcome;
    Found => "found", 1, Shape::Flag, found;
    Reason => "reason", 1, Shape::Word, reason;
    Bytes => "bytes", 1, Shape::Unsigned(32), bytes;
    Rows => "rows", 1, Shape::Unsigned(32), rows;
    VersionWritten => "version_written", 1, Shape::NonZero, version_written;
    VersionRead => "version_read", 1, Shape::NonZero, version_read;
    Verified => "verified", 1, Shape::Word, verified;
    VerifyNs => "verify_ns", 1, Shape::Unsigned(32), verify_ns;
    Statement => "statement", 2, Shape::Unsigned(16), statement;
    Requests => "requests", 2, Shape::Unsigned(16), requests;
    EndsProcess => "ends_process", 2, Shape::Flag, (ends_process, end_process);
    Node => "node", 3, Shape::Unsigned(16), node;
}

fn end_transaction(record: &mut Record, ends: bool) {
    record.ends = Ends::of(ends, record.ends_process());
}

fn end_process(record: &mut Record, ends: bool) {
    record.ends = Ends::of(record.ends_transaction(), ends);
}

/// A field of a record as the number that its column holds.
trait Field {
    fn to_bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;
}

macro_rules! fields {
    ($($type:ty: |$value:ident| $to:expr, |$bits:ident| $of:expr;)*) => {$(
        impl Field for $type {
            #[inline(always)]
            fn to_bits(self) -> u64 {
                let $value = self;
                $to
            }

            #[inline(always)]
            fn of_bits($bits: u64) -> $type {
                $of
            }
        }
    )*};
}

fields! {
    u64: |value| value, |bits| bits;
    u32: |value| value.into(), |bits| bits as u32;
    u16: |value| value.into(), |bits| bits as u16;
    u8: |value| value.into(), |bits| bits.try_into().unwrap_or(0);
    bool: |value| value.into(), |bits| bits != 0;
    Nanos: |value| value.0, |bits| Nanos(bits);
    Kind: |value| value as u64, |bits| Kind::from_code(bits as u8).expect(KNOWN);
    Phase: |value| value as u64, |bits| Phase::from_code(bits as u8).expect(KNOWN);
    Outcome: |value| value as u64, |bits| Outcome::from_code(bits as u8).expect(KNOWN);
    Reason: |value| value as u64, |bits| Reason::from_code(bits as u8).expect(KNOWN);
    Verified: |value| value as u64, |bits| Verified::from_code(bits as u8).expect(KNOWN);
}

const KNOWN: &str = "codes come from Column::code";

/// How a column's values look in Parquet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An unsigned number of up to this many bits.
    Unsigned(i8),
    /// A 64-bit number of nanoseconds; `Nanos::NEVER` becomes −1.
    Time,
    /// An unsigned 64-bit number in which zero is written as null.
    NonZero,
    /// A truth value.
    Flag,
    /// A word.
    Word,
}

impl Column {
    /// The word for `code` in a column of words.
    pub(crate) fn word(self, code: u64) -> Option<&'static str> {
        let code = u8::try_from(code).ok()?;
        match self {
            Column::Kind => Kind::from_code(code).map(Kind::name),
            Column::Phase => Phase::from_code(code).map(Phase::name),
            Column::Outcome => Outcome::from_code(code).map(Outcome::name),
            Column::Reason => Reason::from_code(code).map(Reason::name),
            Column::Verified => Verified::from_code(code).map(Verified::name),
            _ => None,
        }
    }

    /// The code of `word` in a column of words.
    pub(crate) fn code(self, word: &[u8]) -> Option<u8> {
        (0..=u8::MAX)
            .take_while(|code| self.word(u64::from(*code)).is_some())
            .find(|code| self.word(u64::from(*code)).map(str::as_bytes) == Some(word))
    }

    /// How Parquet stores a value.
    pub(crate) fn stored(self) -> (Physical, Option<LogicalType>, Repetition) {
        let unsigned = |bits| Some(LogicalType::integer(bits, false));
        match self.shape() {
            Shape::Unsigned(64) => (Physical::INT64, unsigned(64), Repetition::REQUIRED),
            Shape::Unsigned(bits) => (Physical::INT32, unsigned(bits), Repetition::REQUIRED),
            Shape::Time => (Physical::INT64, None, Repetition::REQUIRED),
            Shape::NonZero => (Physical::INT64, unsigned(64), Repetition::OPTIONAL),
            Shape::Flag => (Physical::BOOLEAN, None, Repetition::REQUIRED),
            Shape::Word => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
        }
    }
}

/// A set of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns(u32);

impl Columns {
    /// Every column.
    pub const ALL: Columns = Columns((1 << Column::ALL.len()) - 1);
    /// What the analyzing of latency, throughput and availability needs.
    pub const LATENCY: Columns = Columns::of(&[
        Column::Kind,
        Column::Phase,
        Column::Intended,
        Column::Started,
        Column::Ended,
        Column::Outcome,
        Column::Found,
    ]);

    /// These columns.
    pub const fn of(columns: &[Column]) -> Columns {
        let mut bits = 0;
        let mut at = 0;
        while at < columns.len() {
            bits |= 1 << columns[at] as u32;
            at += 1;
        }
        Columns(bits)
    }

    /// Whether `column` is among them.
    pub const fn contains(self, column: Column) -> bool {
        self.0 >> column as u32 & 1 == 1
    }
}

impl BitOr for Columns {
    type Output = Columns;

    fn bitor(self, other: Columns) -> Columns {
        Columns(self.0 | other.0)
    }
}

/// The schema of a history file.
pub(crate) fn schema() -> Result<TypePtr, ParquetError> {
    let fields = Column::ALL
        .into_iter()
        .map(|column| field(column).map(Arc::new))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(Type::group_type_builder("record").with_fields(fields).build()?))
}

fn field(column: Column) -> Result<Type, ParquetError> {
    let (physical, logical, repetition) = column.stored();
    Type::primitive_type_builder(column.name(), physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
}
