//! Operations grouped by record, sorted once, each read led to the write that it saw.
//!
//! Values are unique per record, so a table from values to writes gives the reads-from relation
//! (Gibbons, Korach 1997, call a write and its reads a cluster). What all checkers share is worked
//! out here: the extremes of each cluster, and for each version two numbers `low` and `high` so
//! that version *u* certainly comes before version *v* if `low(u) < high(v)`:
//!
//! * one writer per record, an order that the store told, or a chain of read-then-write operations:
//!   both are the version's place;
//! * else real time: `low` is when somebody first knew the version to be there, `high` is when its
//!   write began, both widened by the errors of the clocks;
//! * writes of single fields: a read's version is the newest among its fields, and the field of a
//!   write *v* can show a version not greater than *u* only if a write not greater than *u* came
//!   after *v*. So `low(u)` is when the last write with a number up to *u* had certainly ended,
//!   never if the outcome of one of them is unknown.
//!
//! Memory: 40 bytes per operation and 92 per write of the records at hand.

use std::ops::{Range, RangeInclusive};

use assay_model::Nanos;

use crate::clock::ClockError;
use crate::register::RegisterHistory;
use crate::register::collector::ViolationCollector;
use crate::register::successors::Successors;
use crate::verdict::{Anomaly, Edges, Limitation, VerdictPower, VersionOrder, Witness};

/// No operation, or no version.
pub(super) const NONE: u32 = u32::MAX;
/// A time that never comes.
pub(super) const NEVER: u64 = u64::MAX;

/// One operation. Times are one more than the history's, so that 0 is before everything.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prepared {
    pub(super) started: u64,
    pub(super) ended: u64,
    /// Place in the history.
    pub(super) place: u32,
    /// Number of the session, from 0.
    pub(super) session: u32,
    /// The version that it read, or [`NONE`].
    pub(super) read: u32,
    /// The version that it wrote, or [`NONE`].
    pub(super) written: u32,
    /// Its number in its session ([`crate::register::successors`]).
    pub(super) number: u32,
    pub(super) agent: u16,
    pub(super) is_done: bool,
    /// Whether it returned a value, be it one that nobody can explain.
    pub(super) is_read: bool,
}

/// One version of a record: what a write wrote, or the absence before all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordVersion {
    pub(super) value: u64,
    /// When its write began at the earliest; 0 for the absence.
    pub(super) early: u64,
    /// When its write had certainly ended; never if nobody knows.
    pub(super) late: u64,
    /// When an operation that knew it had certainly ended: its write or a read.
    pub(super) known: u64,
    /// When the last read of it began at the earliest; 0 if there is none.
    pub(super) last_read: u64,
    pub(super) low: u64,
    pub(super) high: u64,
    /// The session of the read of it that began first, and what followed that read there.
    pub(super) first_read_session: u32,
    pub(super) first_read_successor: u32,
    /// Its write, the operation of `known`, the read of `last_read`.
    pub(super) writer: u32,
    pub(super) knower: u32,
    pub(super) last_reader: u32,
    /// The session that wrote it.
    pub(super) session: u32,
    pub(super) agent: u16,
    pub(super) is_done: bool,
}

impl RecordVersion {
    /// The latest start of an operation that wrote or read it.
    pub(super) fn last_start(&self) -> u64 {
        self.early.max(self.last_read)
    }
}

/// The operations of one record.
#[derive(Clone, Debug)]
pub(super) struct RecordGroup {
    pub(super) key: u64,
    pub(super) operations: Range<usize>,
    /// The absence first, then in the order in which their writes began.
    pub(super) versions: Range<usize>,
    pub(super) order: VersionOrder,
}

/// A history made ready for the checkers: the passes that all of them need, done once.
///
/// It holds all records, or those of the part at hand; what is counted is counted of all parts so
/// far.
#[derive(Debug)]
pub struct PreparedHistory<'h> {
    pub(super) history: &'h RegisterHistory,
    pub(super) clocks: Clocks,
    /// By record, then by start.
    pub(super) operations: Vec<Prepared>,
    /// By record.
    pub(super) versions: Vec<RecordVersion>,
    /// Numbers of each record's versions by the time at which they were known.
    pub(super) by_known: Vec<u32>,
    pub(super) groups: Vec<RecordGroup>,
    /// Records that were left out because a value was written twice.
    pub(super) duplicate_keys: Vec<u64>,
    /// How many reads each session has, by its number.
    pub(super) reads_by_session: Vec<u32>,
    pub(super) successors: Successors,
    pub(super) unexplained: ViolationCollector,
    /// Reads whose value was looked up.
    pub(super) reads: u64,
    pub(super) judged: u64,
    pub(super) unknown: u64,
    /// The weakest source among the orders of all records.
    pub(super) weakest: Option<VersionOrder>,
    pub(super) limitation: Option<Limitation>,
}

impl<'h> PreparedHistory<'h> {
    /// The number, within its session, of the first operation that comes after this one.
    pub(super) fn successor(&self, operation: &Prepared) -> u32 {
        self.successors.of(operation.session, operation.number)
    }

    pub(super) fn new(history: &'h RegisterHistory, clocks: Clocks) -> PreparedHistory<'h> {
        PreparedHistory {
            history,
            clocks,
            operations: Vec::new(),
            versions: Vec::new(),
            by_known: Vec::new(),
            groups: Vec::new(),
            duplicate_keys: Vec::new(),
            reads_by_session: Vec::new(),
            successors: Successors::default(),
            unexplained: ViolationCollector::default(),
            reads: 0,
            judged: 0,
            unknown: 0,
            weakest: None,
            limitation: None,
        }
    }

    /// Lets the records go, but not what was counted.
    pub(super) fn forget_records(&mut self) {
        self.operations.clear();
        self.versions.clear();
        self.by_known.clear();
        self.groups.clear();
    }

    /// The power of a silence with so many opportunities.
    pub(super) fn power(&self, opportunities: u64) -> VerdictPower {
        VerdictPower { opportunities, judged: self.judged, unknown: self.unknown }
    }

    /// A witness of these operations.
    pub(super) fn witness(&self, kind: (Anomaly, Edges), key: u64, operations: &[u32]) -> Witness {
        let place = |&operation: &u32| match operation {
            NONE => NONE,
            _ => self.operations[operation as usize].place,
        };
        let places: Vec<u32> = operations.iter().map(place).collect();
        self.witness_of_places(kind, key, &places)
    }

    /// A witness of the operations at these places of the history without those that are none,
    /// each once.
    pub(super) fn witness_of_places(
        &self,
        (anomaly, edges): (Anomaly, Edges),
        key: u64,
        places: &[u32],
    ) -> Witness {
        let mut named: Vec<(u64, u64)> = Vec::with_capacity(places.len());
        for place in places.iter().filter(|&&place| place != NONE) {
            let operation = &self.history.operations[*place as usize];
            let one = (operation.index, operation.key);
            if !named.contains(&one) {
                named.push(one);
            }
        }
        let is_of_several = named.iter().any(|one| one.1 != key);
        let records = named.iter().filter(|_| is_of_several).map(|one| one.1).collect();
        let operations = named.iter().map(|one| one.0).collect();
        Witness { anomaly, edges, key, operations, records, margin: Nanos::ZERO }
    }

    /// The weakest source among the orders of all records.
    pub(super) fn order(&self) -> VersionOrder {
        self.weakest.unwrap_or(VersionOrder::RealTime)
    }

    /// The smallest error of the clocks that would take `low < high` back.
    pub(super) fn order_margin(order: VersionOrder, low: u64, high: u64) -> Nanos {
        match order {
            VersionOrder::RealTime => Nanos(high.saturating_sub(low) / 2),
            _ => Nanos::ZERO,
        }
    }
}

/// A time of the history as it was reported.
pub(super) fn reported(time: u64) -> Nanos {
    Nanos(time.saturating_sub(1))
}

/// The error of each agent's clock among the agents that occur.
#[derive(Clone, Debug)]
pub(super) struct Clocks {
    /// Whether all times can be compared as they are.
    pub(super) is_one: bool,
    errors: ClockError,
    pub(super) greatest: u64,
    /// Whether the greatest error is more than a quarter of a typical operation.
    pub(super) is_coarse: bool,
}

impl Clocks {
    /// Of these agents, and operations of this length.
    pub(super) fn new(
        agents: RangeInclusive<u16>,
        error: &ClockError,
        typical_duration: impl FnOnce() -> u64,
    ) -> Clocks {
        let is_alone = agents.start() >= agents.end();
        let greatest = error.greatest(agents).0;
        let is_one = is_alone || greatest == 0;
        let is_coarse = !is_one && greatest > typical_duration() / 4;
        Clocks { is_one, errors: error.clone(), greatest, is_coarse }
    }

    pub(super) fn error(&self, agent: u16) -> u64 {
        self.errors.error(agent).0
    }

    /// When an event of this agent happened at the earliest.
    pub(super) fn early(&self, time: u64, agent: u16) -> u64 {
        if self.is_one { time } else { time.saturating_sub(self.error(agent)).max(1) }
    }

    /// When an event of this agent had certainly happened.
    pub(super) fn late(&self, time: u64, agent: u16) -> u64 {
        if self.is_one { time } else { time.saturating_add(self.error(agent)) }
    }
}
