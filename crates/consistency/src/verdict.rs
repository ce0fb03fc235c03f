//! Verdicts of three values, with the witnesses of a violation and the power of a silence.

use assay_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::quality::Quality;

/// A verdict on one quality.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QualityFinding {
    /// What was judged.
    pub quality: Quality,
    /// Where the order of a record's versions came from.
    pub order: VersionOrder,
    /// The verdict.
    pub verdict: QualityVerdict,
}

/// What a history says about a quality; never that a store has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum QualityVerdict {
    /// It shows violations.
    Violated(Violations),
    /// It shows none.
    NoneFound(VerdictPower),
    /// It can show none.
    NotAssessable(Limitation),
}

impl QualityVerdict {
    /// What so many violations say, or their absence, unless there is a `limitation`.
    pub(crate) fn of(violations: Violations, limitation: Option<Limitation>) -> QualityVerdict {
        let Violations { count, power, .. } = violations;
        match limitation {
            _ if count > 0 => QualityVerdict::Violated(violations),
            Some(limitation) => QualityVerdict::NotAssessable(limitation),
            None if power.opportunities == 0 => {
                QualityVerdict::NotAssessable(Limitation::NoOpportunity)
            }
            None => QualityVerdict::NoneFound(power),
        }
    }
}

/// The violations of one quality.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Violations {
    /// How many there are.
    pub count: u64,
    /// Some of them, the clearest first; at most [`Violations::WITNESSES`].
    pub witnesses: Vec<Witness>,
    /// Among how many opportunities they were found.
    pub power: VerdictPower,
}

impl Violations {
    /// More witnesses than anybody would read; the others are counted.
    pub const WITNESSES: usize = 16;

    /// Counts one more; the first ones are witnesses.
    pub(crate) fn add(&mut self, make: impl FnOnce() -> Witness) {
        self.count += 1;
        if self.witnesses.len() < Violations::WITNESSES {
            self.witnesses.push(make());
        }
    }

    /// Counts occasions at which operations could have violated it.
    pub(crate) fn add_opportunities(&mut self, count: u64) {
        self.power.opportunities += count;
        self.power.judged += count;
    }
}

/// How much a silence is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictPower {
    /// How often a violation could have shown itself, for example reads of a record that the same
    /// session had written before.
    pub opportunities: u64,
    /// Operations or transactions that were judged.
    pub judged: u64,
    /// Those whose outcome nobody knows.
    pub unknown: u64,
}

impl VerdictPower {
    /// Upper bound, at 95 %, of the share of opportunities that are violations if none was found:
    /// 3 / n, the rule of three. One for no opportunity.
    pub fn bound(&self) -> f64 {
        if self.opportunities == 0 { 1.0 } else { (3.0 / self.opportunities as f64).min(1.0) }
    }
}

/// Why a quality cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Limitation {
    /// The history has no operation, or none whose outcome is known.
    NothingKnown,
    /// No two operations could have been in each other's way.
    NoOpportunity,
    /// Values carry no version, so nobody knows which write a read saw.
    NoVersions,
    /// Writes change some fields of a record only.
    PartialWrites,
    /// Nothing tells in which order a record's versions replaced each other.
    NoVersionOrder,
    /// A value was written twice.
    DuplicateValues,
    /// The history has no transactions of several steps.
    NoTransactions,
    /// Records were not read at the end.
    NoFinalReads,
    /// The error of the clocks is more than a quarter of a typical operation.
    ClockError,
    /// There are more operations than the checkers can number.
    TooManyOperations,
    /// Operations are missing in the history, so a read may have seen a write that is not there.
    Incomplete,
    /// Times order sessions only.
    NoRealTime,
    /// More sessions than the check has memory for.
    TooManySessions,
    /// What ought to be one step took several requests, between which others may come: that is no
    /// fault of the store.
    SeveralRequests,
    /// The store was not loaded for this run, so it held values of an earlier one.
    UsedBefore,
}

/// Where the order of a record's versions came from, the strongest source first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum VersionOrder {
    /// One session writes each record.
    SingleWriter,
    /// Lists grow at their end, so each is a prefix of the next.
    Lists,
    /// The store told it, and is trusted in this.
    ToldByStore,
    /// Each write replaces the version that it read.
    ReadBeforeWrite,
    /// Writes that ended before others began.
    RealTime,
    /// The quality needs none.
    NotNeeded,
}

/// What a witness shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Anomaly {
    /// A value that nobody wrote, or that is unreadable.
    GarbageRead,
    /// A value whose write was refused.
    AbortedRead,
    /// A value that was written only after the read had ended.
    FutureRead,
    /// An acknowledged write that nobody can read and that nothing has replaced.
    LostWrite,
    /// A read of a version that had been replaced before the read began.
    StaleRead,
    /// Two reads that saw two writes in opposite orders.
    ConflictingOrder,
    /// An older version after a newer one in the same session.
    NonMonotonicRead,
    /// A session's second write without its first.
    NonMonotonicWrite,
    /// A session's own write was not read.
    OwnWriteNotRead,
    /// A write without what its session had read before.
    WriteWithoutItsReads,
    /// A read that misses something it depends on.
    CausalityViolation,
    /// A read inside a transaction that contradicts the transaction's own steps.
    Internal,
    /// A value that its own transaction replaced later (Adya's G1b).
    IntermediateRead,
    /// A value appended or written twice.
    DuplicateElement,
    /// Two lists of one record, neither of which is a prefix of the other.
    IncompatibleOrder,
    /// An aborted write that a committed one builds upon.
    DirtyUpdate,
    /// Some writes of a transaction without its others.
    FracturedRead,
    /// A transaction that reads from another, then something that the other had replaced
    /// (Adya's G-monotonic; what Biswas and Enea call a violation of read committed).
    NonMonotonicView,
    /// Two transactions that replaced the same version.
    LostUpdate,
    /// Write cycle (Adya's G0).
    G0,
    /// Cycle of writes and reads, one read at least (Adya's G1c).
    G1c,
    /// Cycle with exactly one anti-dependency (Adya's G-single).
    GSingle,
    /// Cycle with several anti-dependencies, no two of them adjacent (long fork among them).
    GNonadjacent,
    /// Cycle with adjacent anti-dependencies (Adya's G2-item, write skew).
    G2Item,
    /// A snapshot whose balances have another sum.
    WrongTotal,
    /// A value of a counter that no order of its additions explains.
    WrongCount,
}

/// Operations that together show a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// What they show.
    pub anomaly: Anomaly,
    /// Which edges the anomaly needs beside those between versions.
    pub edges: Edges,
    /// The record it is about, the first one of several.
    pub key: u64,
    /// The operations or transactions, by their numbers in the history, in the order in which a
    /// reader should look at them.
    pub operations: Vec<u64>,
    /// The record of each operation, where they are about several single records; else empty.
    #[serde(default)]
    pub records: Vec<u64>,
    /// How far it is from being none: the smallest error of the clocks that would explain it, the
    /// age of a stale read, the length of a window. Zero where time has no part.
    pub margin: Nanos,
}

impl Witness {
    /// About operations of one record, or of transactions.
    pub(crate) fn new(
        (anomaly, edges): (Anomaly, Edges),
        key: u64,
        operations: Vec<u64>,
        margin: Nanos,
    ) -> Witness {
        Witness { anomaly, edges, key, operations, records: Vec::new(), margin }
    }
}

/// Which edges a cycle has beside those between versions.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub enum Edges {
    /// None.
    #[default]
    Data,
    /// The order of a session.
    Session,
    /// What had ended before something else began.
    RealTime,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_worth_three_over_its_opportunities() {
        assert_eq!(VerdictPower::default().bound(), 1.0);
        assert_eq!(VerdictPower { opportunities: 300, ..VerdictPower::default() }.bound(), 0.01);
    }
}
