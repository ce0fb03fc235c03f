//! Transactions over several records, each value or list element written once.

mod facts;
mod graph;
mod lists;
mod registers;

mod cycles;
mod order;
mod weak;

mod levels;
mod log;
mod report;

pub mod dealt;

#[cfg(test)]
mod tests;

pub use levels::{implied, violated_by};
pub use log::AnomalyCount;
pub use report::{TransactionReport, judge};

use assay_model::{Nanos, Outcome};

use crate::register::WrittenValue;

/// One step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionStep {
    /// It read this value of a register.
    Read {
        /// The record.
        key: u64,
        /// The value, or nothing if the answer is not known.
        value: Option<WrittenValue>,
    },
    /// It wrote this value to a register.
    Write {
        /// The record.
        key: u64,
        /// The value.
        value: WrittenValue,
        /// The version that the store gave to the write, where it tells one: greater is newer.
        version: Option<u64>,
    },
    /// It appended this element to a list.
    Append {
        /// The record.
        key: u64,
        /// The element.
        element: WrittenValue,
    },
    /// It read a list.
    ReadList {
        /// The record.
        key: u64,
        /// The elements from the first to the last, or nothing if the answer is not known.
        elements: Option<Vec<WrittenValue>>,
    },
}

/// One transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedTransaction {
    /// Its number in the history, for witnesses.
    pub index: u64,
    /// The session that issued it, one transaction at a time.
    pub session: u32,
    /// The agent whose clock timed it.
    pub agent: u16,
    /// The node that answered all of its steps, by its place in the run's list of nodes plus one;
    /// 0 if nobody said, or several did.
    pub node: u8,
    /// When its first request left.
    pub started: Nanos,
    /// When the answer to its commit came. Of no meaning unless the outcome is [`Outcome::Done`].
    pub ended: Nanos,
    /// Done: committed. Refused: certainly aborted. Unknown: nobody knows.
    pub outcome: Outcome,
    /// Its steps in their order.
    pub steps: Vec<TransactionStep>,
}

/// The transactions of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransactionHistory {
    /// The transactions in any order.
    pub transactions: Vec<ObservedTransaction>,
}
