//! Observations: what the answers to queries showed, for the judge of consistency.

/// What a query means to the judge. Only queries of workloads that are made to be judged have one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QueryRole {
    /// Its answers are not checked.
    #[default]
    Unchecked,
    /// Appends [`written`] to the list of the operation's key.
    Append,
    /// Writes [`written`] to the register of the operation's key.
    Write,
    /// Adds one to the counter of the operation's key.
    Add,
    /// Returns the list of the operation's key: its first column is a text of numbers.
    ReadList,
    /// Returns the number, or the numbers, of the operation's key: the first column of each row.
    Read,
}

impl QueryRole {
    /// Whether its rows are observed.
    pub const fn reads(self) -> bool {
        matches!(self, QueryRole::ReadList | QueryRole::Read)
    }

    /// Whether it writes a value that no other operation of the run writes.
    pub const fn writes_once(self) -> bool {
        matches!(self, QueryRole::Append | QueryRole::Write)
    }
}

/// One value that an operation returned; a list of values has one of these for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedValue {
    /// The operation.
    pub index: u64,
    /// Place among the values that the operation returned, from 0.
    pub item: u32,
    /// The record.
    pub key: u64,
    /// The value; `None` if it is no whole number, so that no operation can have written it.
    pub value: Option<i64>,
}

/// The number that operation `index` appends or writes: unique in a run, never 0.
pub const fn written(index: u64) -> i64 {
    (index & (i64::MAX as u64 >> 1)) as i64 + 1
}
