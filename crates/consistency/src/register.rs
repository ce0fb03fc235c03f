//! Operations on single records, each a register of unique values.

use assay_model::{Nanos, Outcome};

/// A value, as the number of the write that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WrittenValue(pub u64);

impl WrittenValue {
    /// There was no record.
    pub const ABSENT: WrittenValue = WrittenValue(0);
    /// Something that no write of the run can have written.
    pub const GARBAGE: WrittenValue = WrittenValue(u64::MAX);
}

/// What an operation did to its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It returned this value.
    Read(WrittenValue),
    /// It wrote this value.
    Write(WrittenValue),
    /// It read one value, then wrote another, both between its start and its end.
    ReadThenWrite {
        /// The value it returned.
        read: WrittenValue,
        /// The value it wrote.
        written: WrittenValue,
    },
}

/// One operation on one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterOperation {
    /// Its number in the history, for witnesses.
    pub index: u64,
    /// The record.
    pub key: u64,
    /// The session that issued it, one operation at a time.
    pub session: u32,
    /// The agent whose clock timed it.
    pub agent: u16,
    /// When the request left.
    pub started: Nanos,
    /// When the answer came. Of no meaning unless the outcome is [`Outcome::Done`].
    pub ended: Nanos,
    /// Whether it happened. Dropped operations are never part of a history.
    pub outcome: Outcome,
    /// What it did.
    pub access: Access,
}

/// The operations of a run on single records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegisterHistory {
    /// The operations in any order.
    pub operations: Vec<RegisterOperation>,
    /// Whether the last read of each record came after everything else, when the store was at
    /// rest and healthy, so that what is missing then is lost.
    pub has_final_reads: bool,
    /// Whether writes replaced whole records. Else a read's value is the newest, by number, of the
    /// versions that its fields hold, and numbers grow with the intended time.
    pub writes_whole_records: bool,
}
