//! Source of processes, seen from the executor: numbers first, bytes when they are needed.

use crate::arguments::Arguments;
use crate::operation::Operation;

/// Gives the operations of a process by the process's number.
///
/// Processes are numbered from 0 in the order in which they are to be issued. One source belongs to
/// one worker, which asks for rising numbers and may leave some out; every source of the same plan
/// gives the same operations for the same number.
pub trait Source: Send {
    /// How many processes there are, or `None` if the stream does not end.
    fn len(&self) -> Option<u64>;

    /// Whether there is nothing to issue.
    fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// The most operations that one process has; operation index = process × width + place.
    fn width(&self) -> u64;

    /// Puts the operations of `process` into `into`, which is cleared first.
    ///
    /// # Errors
    /// When the plan is a file and it cannot be read any further.
    ///
    /// # Panics
    /// May panic if `process` is below an earlier one.
    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError>;

    /// Puts the arguments of the operations that the last [`Source::fill`] gave into `into`, which
    /// is cleared first. Plans of records by key have none.
    fn arguments(&mut self, into: &mut Arguments) {
        into.clear();
    }
}

/// What [`Source::fill`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// The process has at least one operation.
    Process,
    /// There is no process with this number or a higher one.
    End,
}

/// The plan could not be read any further.
#[derive(Debug, thiserror::Error)]
#[error("cannot go on with the plan at process {process}: {reason}")]
pub struct SourceError {
    /// The process that was requested.
    pub process: u64,
    /// What is wrong, and what to do.
    pub reason: String,
}

/// Turns the numbers of an operation into the bytes that a store sees, and verifies the values that
/// come back.
///
/// All methods are pure; the `into` buffers are appended to, never cleared.
pub trait OperationEncoder: Send + Sync {
    /// Appends the key of record number `key`.
    fn key(&self, key: u64, into: &mut Vec<u8>);

    /// Appends the value that `operation` writes into `field`.
    fn value(&self, operation: &Operation, field: u16, into: &mut Vec<u8>);

    /// The version that `value` carries, if it is one of this data set's values.
    fn version(&self, value: &[u8]) -> Option<u64>;

    /// The version that `operation` writes; see [`version`](crate::version).
    fn version_written(&self, operation: &Operation) -> u64;

    /// Whether records have several fields and every write writes all of them, so that a read that
    /// finds the versions of several writes saw a part of one.
    fn writes_all_fields(&self) -> bool {
        false
    }

    /// Whether values are a function of key and field, so that every read can be checked.
    fn verifies(&self) -> bool;

    /// Whether `value` is what `field` of record `key` must hold. Only if
    /// [`OperationEncoder::verifies`].
    fn is_expected(&self, key: u64, field: u16, value: &[u8]) -> bool;
}
