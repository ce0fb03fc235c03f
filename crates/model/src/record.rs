//! Record of one operation: a line of the history.

use crate::named_enum;
use crate::nanos::Nanos;
use crate::operation::Kind;
use crate::outcome::{Outcome, Reason, Verified};

named_enum! {
    /// The part of a run that an operation was issued in, by its intended time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Phase {
        /// Filling the store.
        Load = 0 => "load",
        /// Issued and recorded, but left out of the figures.
        WarmUp = 1 => "warm-up",
        /// What the figures are about.
        Measure = 2 => "measure",
        /// Reads of all records after everything else; in no figure, but verdicts need them.
        Final = 3 => "final-read",
    }
}

impl Phase {
    /// The phase with this code.
    pub const fn from_code(code: u8) -> Option<Phase> {
        if (code as usize) < Phase::ALL.len() { Some(Phase::ALL[code as usize]) } else { None }
    }
}

/// What ends with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ends {
    /// Its transaction goes on, so does its process.
    Nothing = 0,
    /// Its transaction.
    Transaction = 1,
    /// Its process, in the middle of a transaction.
    Process = 2,
    /// Its transaction and its process.
    Both = 3,
}

impl Ends {
    /// What ends, by whether the transaction and the process do.
    #[inline(always)]
    pub const fn of(transaction: bool, process: bool) -> Ends {
        match (transaction, process) {
            (false, false) => Ends::Nothing,
            (true, false) => Ends::Transaction,
            (false, true) => Ends::Process,
            (true, true) => Ends::Both,
        }
    }

    /// Whether the transaction does.
    #[inline(always)]
    pub const fn transaction(self) -> bool {
        self as u8 & 1 == 1
    }

    /// Whether the process does.
    #[inline(always)]
    pub const fn process(self) -> bool {
        self as u8 & 2 == 2
    }
}

/// The most nodes that records can tell apart.
pub const NODES_MAX: usize = u8::MAX as usize;

/// One operation's whole life.
///
/// Latencies are never stored: response time is ended − intended, service time is
/// ended − started, lag is started − intended. For a dropped operation, which was never issued,
/// `started` and `ended` are the moment it was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The operation's number in the plan.
    pub index: u64,
    /// The process it belongs to.
    pub process: u64,
    /// The number of the record it is about.
    pub key: u64,
    /// The intended time.
    pub intended: Nanos,
    /// When the request left us.
    pub started: Nanos,
    /// When the answer came or the timeout expired.
    pub ended: Nanos,
    /// The version it wrote, or [`NONE`](crate::version::NONE).
    pub version_written: u64,
    /// The newest version among the fields it returned, or [`NONE`](crate::version::NONE).
    pub version_read: u64,
    /// The session it was issued in, unique within the agent.
    pub session: u32,
    /// Value bytes sent or received.
    pub bytes: u32,
    /// Records returned.
    pub rows: u32,
    /// How long checking the returned values took, in nanoseconds; 0 if not checked.
    pub verify_ns: u32,
    /// The query it executed: its place in the catalogue plus one; 0 means records by key.
    pub statement: u16,
    /// Requests that were sent for it: 1, or more where a mapping stands before the store.
    pub requests: u16,
    /// Place of its transaction in the process.
    pub transaction: u16,
    /// Type of its transaction, a number in the plan's list of names.
    pub transaction_type: u16,
    /// The node that answered it: its place in the run's list of nodes plus one; 0 if nobody said.
    pub node: u8,
    /// What ends with it.
    pub ends: Ends,
    /// Its kind.
    pub kind: Kind,
    /// The part of the run.
    pub phase: Phase,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether a read or scan returned anything, or a write met its record if the store tells.
    pub found: bool,
    /// Why it was refused, unknown or dropped.
    pub reason: Reason,
    /// What checking its values found.
    pub verified: Verified,
}

impl Record {
    /// A read of one request that nothing is known of: other numbers are zero, nothing was found.
    pub const BLANK: Record = Record {
        index: 0,
        process: 0,
        key: 0,
        intended: Nanos::ZERO,
        started: Nanos::ZERO,
        ended: Nanos::ZERO,
        version_written: 0,
        version_read: 0,
        session: 0,
        bytes: 0,
        rows: 0,
        verify_ns: 0,
        statement: 0,
        requests: 1,
        transaction: 0,
        transaction_type: 0,
        node: 0,
        ends: Ends::Nothing,
        kind: Kind::Read,
        phase: Phase::Load,
        outcome: Outcome::Done,
        found: false,
        reason: Reason::None,
        verified: Verified::No,
    };

    /// Whether its transaction ends with it.
    #[inline(always)]
    pub const fn ends_transaction(&self) -> bool {
        self.ends.transaction()
    }

    /// Whether its process ends with it.
    #[inline(always)]
    pub const fn ends_process(&self) -> bool {
        self.ends.process()
    }

    /// From intention to answer: what a user waits.
    pub fn response(&self) -> Nanos {
        self.ended.since(self.intended)
    }

    /// From request to answer: what the store needs.
    pub fn service(&self) -> Nanos {
        self.ended.since(self.started)
    }

    /// From intention to request: what we, or the bound on operations in flight, added.
    pub fn lag(&self) -> Nanos {
        self.started.since(self.intended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_twelve_words() {
        assert_eq!(size_of::<Record>(), 96);
    }

    #[test]
    fn what_ends_is_told_by_both_halves() {
        for (transaction, process) in [(false, false), (true, false), (false, true), (true, true)] {
            let ends = Ends::of(transaction, process);
            assert_eq!((ends.transaction(), ends.process()), (transaction, process));
        }
    }
}
