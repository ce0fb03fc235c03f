//! The columns of a history file, one for each field of a record.

use std::ops::BitOr;
use std::sync::Arc;

use assay_model::{Ends, Kind, Nanos, Outcome, Phase, Reason, Record, Verified, named_enum};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};

named_enum! {
    /// One column; its name is the name of the record's field.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    #[allow(missing_docs, reason = "the fields of Record are documented there")]
    pub enum Column {
        Index => "index",
        Session => "session",
        Process => "process",
        Transaction => "transaction",
        TransactionType => "transaction_type",
        EndsTransaction => "ends_transaction",
        Kind => "kind",
        Phase => "phase",
        Key => "key",
        Intended => "intended",
        Started => "started",
        Ended => "ended",
        Outcome => "outcome",
        Found => "found",
        Reason => "reason",
        Bytes => "bytes",
        Rows => "rows",
        VersionWritten => "version_written",
        VersionRead => "version_read",
        Verified => "verified",
        VerifyNs => "verify_ns",
        Statement => "statement",
        Requests => "requests",
        EndsProcess => "ends_process",
        Node => "node",
    }
}

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
    /// The version of the format in which the column came; files of earlier ones are read without.
    pub(crate) const fn since(self) -> u32 {
        match self {
            Column::Statement | Column::Requests | Column::EndsProcess => 2,
            Column::Node => 3,
            _ => 1,
        }
    }

    pub(crate) const fn shape(self) -> Shape {
        match self {
            Column::Index | Column::Process | Column::Key => Shape::Unsigned(64),
            Column::Session | Column::Bytes | Column::Rows | Column::VerifyNs => {
                Shape::Unsigned(32)
            }
            Column::Transaction
            | Column::TransactionType
            | Column::Statement
            | Column::Requests
            | Column::Node => Shape::Unsigned(16),
            Column::Intended | Column::Started | Column::Ended => Shape::Time,
            Column::VersionWritten | Column::VersionRead => Shape::NonZero,
            Column::EndsTransaction | Column::EndsProcess | Column::Found => Shape::Flag,
            Column::Kind | Column::Phase | Column::Outcome | Column::Reason | Column::Verified => {
                Shape::Word
            }
        }
    }

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

    /// Appends the values of `records`, taken in `order`, to `into`; words become their codes.
    pub(crate) fn gather(self, records: &[Record], order: &[u32], into: &mut Vec<u64>) {
        match self {
            Column::Index => pull(records, order, into, |r| r.index),
            Column::Session => pull(records, order, into, |r| u64::from(r.session)),
            Column::Process => pull(records, order, into, |r| r.process),
            Column::Transaction => pull(records, order, into, |r| u64::from(r.transaction)),
            Column::TransactionType => {
                pull(records, order, into, |r| u64::from(r.transaction_type));
            }
            Column::EndsTransaction => {
                pull(records, order, into, |r| u64::from(r.ends_transaction()));
            }
            Column::Kind => pull(records, order, into, |r| r.kind as u64),
            Column::Phase => pull(records, order, into, |r| r.phase as u64),
            Column::Key => pull(records, order, into, |r| r.key),
            Column::Intended => pull(records, order, into, |r| r.intended.0),
            Column::Started => pull(records, order, into, |r| r.started.0),
            Column::Ended => pull(records, order, into, |r| r.ended.0),
            Column::Outcome => pull(records, order, into, |r| r.outcome as u64),
            Column::Found => pull(records, order, into, |r| u64::from(r.found)),
            Column::Reason => pull(records, order, into, |r| r.reason as u64),
            Column::Bytes => pull(records, order, into, |r| u64::from(r.bytes)),
            Column::Rows => pull(records, order, into, |r| u64::from(r.rows)),
            Column::VersionWritten => pull(records, order, into, |r| r.version_written),
            Column::VersionRead => pull(records, order, into, |r| r.version_read),
            Column::Verified => pull(records, order, into, |r| r.verified as u64),
            Column::VerifyNs => pull(records, order, into, |r| u64::from(r.verify_ns)),
            Column::Statement => pull(records, order, into, |r| u64::from(r.statement)),
            Column::Requests => pull(records, order, into, |r| u64::from(r.requests)),
            Column::EndsProcess => pull(records, order, into, |r| u64::from(r.ends_process())),
            Column::Node => pull(records, order, into, |r| u64::from(r.node)),
        }
    }

    /// Puts 64-bit `values` into the records' field.
    ///
    /// # Panics
    /// If the column is not one of 64-bit numbers.
    pub(crate) fn scatter_long(self, values: &[i64], records: &mut [Record]) {
        match self {
            Column::Index => set(records, values, |r, v| r.index = v as u64),
            Column::Process => set(records, values, |r, v| r.process = v as u64),
            Column::Key => set(records, values, |r, v| r.key = v as u64),
            Column::Intended => set(records, values, |r, v| r.intended = Nanos(v as u64)),
            Column::Started => set(records, values, |r, v| r.started = Nanos(v as u64)),
            Column::Ended => set(records, values, |r, v| r.ended = Nanos(v as u64)),
            Column::VersionWritten => set(records, values, |r, v| r.version_written = v as u64),
            Column::VersionRead => set(records, values, |r, v| r.version_read = v as u64),
            _ => unreachable!("{self:?} is no column of 64-bit numbers"),
        }
    }

    /// Puts narrower `values` into the records' field.
    ///
    /// # Panics
    /// If the column is not one of narrow numbers.
    pub(crate) fn scatter_int(self, values: &[i32], records: &mut [Record]) {
        match self {
            Column::Session => set(records, values, |r, v| r.session = v as u32),
            Column::Transaction => set(records, values, |r, v| r.transaction = v as u16),
            Column::TransactionType => set(records, values, |r, v| r.transaction_type = v as u16),
            Column::Bytes => set(records, values, |r, v| r.bytes = v as u32),
            Column::Rows => set(records, values, |r, v| r.rows = v as u32),
            Column::VerifyNs => set(records, values, |r, v| r.verify_ns = v as u32),
            Column::Statement => set(records, values, |r, v| r.statement = v as u16),
            Column::Requests => set(records, values, |r, v| r.requests = v as u16),
            Column::Node => set(records, values, |r, v| r.node = u8::try_from(v).unwrap_or(0)),
            _ => unreachable!("{self:?} is no column of narrow numbers"),
        }
    }

    /// Puts truth values into the records' field.
    ///
    /// # Panics
    /// If the column is not one of truth values.
    pub(crate) fn scatter_flag(self, values: &[bool], records: &mut [Record]) {
        match self {
            Column::EndsTransaction => set(records, values, |r, v| {
                r.ends = Ends::of(v, r.ends_process());
            }),
            Column::EndsProcess => set(records, values, |r, v| {
                r.ends = Ends::of(r.ends_transaction(), v);
            }),
            Column::Found => set(records, values, |r, v| r.found = v),
            _ => unreachable!("{self:?} is no column of truth values"),
        }
    }

    /// Puts the enumerations with `codes` into the records' field.
    ///
    /// # Panics
    /// If the column is not one of words, or a code is none of its codes.
    pub(crate) fn scatter_word(self, codes: &[u8], records: &mut [Record]) {
        const KNOWN: &str = "codes come from Column::code";
        match self {
            Column::Kind => {
                set(records, codes, |r, v| r.kind = Kind::from_code(v).expect(KNOWN));
            }
            Column::Phase => {
                set(records, codes, |r, v| r.phase = Phase::from_code(v).expect(KNOWN));
            }
            Column::Outcome => {
                set(records, codes, |r, v| r.outcome = Outcome::from_code(v).expect(KNOWN));
            }
            Column::Reason => {
                set(records, codes, |r, v| r.reason = Reason::from_code(v).expect(KNOWN));
            }
            Column::Verified => {
                set(records, codes, |r, v| r.verified = Verified::from_code(v).expect(KNOWN));
            }
            _ => unreachable!("{self:?} is no column of words"),
        }
    }
}

#[inline(always)]
fn pull(records: &[Record], order: &[u32], into: &mut Vec<u64>, of: impl Fn(&Record) -> u64) {
    into.extend(order.iter().map(|place| of(&records[*place as usize])));
}

#[inline(always)]
fn set<T: Copy>(records: &mut [Record], values: &[T], put: impl Fn(&mut Record, T)) {
    for (record, value) in records.iter_mut().zip(values) {
        put(record, *value);
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
    let unsigned = |bits| LogicalType::integer(bits, false);
    let (physical, logical, repetition) = match column.shape() {
        Shape::Unsigned(64) => (Physical::INT64, Some(unsigned(64)), Repetition::REQUIRED),
        Shape::Unsigned(bits) => (Physical::INT32, Some(unsigned(bits)), Repetition::REQUIRED),
        Shape::Time => (Physical::INT64, None, Repetition::REQUIRED),
        Shape::NonZero => (Physical::INT64, Some(unsigned(64)), Repetition::OPTIONAL),
        Shape::Flag => (Physical::BOOLEAN, None, Repetition::REQUIRED),
        Shape::Word => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
    };
    Type::primitive_type_builder(column.name(), physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
}
