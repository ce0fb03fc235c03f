//! A history grouped by record, sorted once, with each read led to the write that it saw.
//!
//! Values are unique per record, so a table from values to writes gives the reads-from relation
//! (Gibbons, Korach 1997, call a write and its reads a cluster). What all checkers share is worked
//! out here: the extremes of each cluster, and for each version two numbers `low` and `high` so
//! that version *u* certainly comes before version *v* if `low(u) < high(v)`:
//!
//! * one writer per record, or a chain of read-then-write operations: both are the version's place;
//! * else real time: `low` is when somebody first knew the version to be there, `high` is when its
//!   write began, both widened by the errors of the clocks;
//! * writes of single fields: a read's version is the newest among its fields, and the field of a
//!   write *v* can show a version not greater than *u* only if a write not greater than *u* came
//!   after *v*. So `low(u)` is when the last write with a number up to *u* had certainly ended,
//!   never if the outcome of one of them is unknown.
//!
//! Memory: 40 bytes per operation and 92 per write, 56 more per operation while sorting.

use assay_model::{Nanos, Outcome};

use crate::clock::ClockError;
use crate::register::collector::ViolationCollector;
use crate::register::partition::{KeyedOperation, SessionNumbers, Survey};
use crate::register::resolve::Resolver;
use crate::register::{RegisterHistory, RegisterOperation};
use crate::verdict::{Anomaly, Edges, Limitation, VersionOrder, Witness};

/// More operations than this are not judged: numbers of operations and versions have 32 bits.
pub const MAX_OPERATIONS: usize = 1 << 30;
/// No operation, or no version.
pub(super) const NONE: u32 = u32::MAX;
/// A time that never comes.
pub(super) const NEVER: u64 = u64::MAX;
/// Durations of this many operations, evenly spread, tell how long a typical one takes.
const DURATION_SAMPLE: usize = 4096;

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
    pub(super) agent: u16,
    pub(super) is_done: bool,
    /// Whether it returned a value, be it one that nobody can explain.
    pub(super) is_read: bool,
}

impl Prepared {
    pub(super) fn new(from: &KeyedOperation) -> Prepared {
        Prepared {
            started: from.started,
            ended: from.ended,
            place: from.place,
            session: from.session,
            read: NONE,
            written: NONE,
            agent: from.agent,
            is_done: from.is_done,
            is_read: from.has_read,
        }
    }
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
    /// When the read of it that began first ended, by its own clock, and the session of that read.
    pub(super) first_read_ended: u64,
    pub(super) first_read_session: u32,
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
    pub(super) operations: std::ops::Range<usize>,
    /// The absence first, then in the order in which their writes began.
    pub(super) versions: std::ops::Range<usize>,
    pub(super) order: VersionOrder,
}

/// A history made ready for the checkers: the passes that all of them need, done once.
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
    pub(super) sessions: usize,
    pub(super) unexplained: ViolationCollector,
    /// Reads whose value was looked up.
    pub(super) reads: u64,
    pub(super) unknown: u64,
    pub(super) limitation: Option<Limitation>,
}

impl<'h> PreparedHistory<'h> {
    /// Sorts and groups the operations and resolves their reads.
    pub fn new(history: &'h RegisterHistory, error: &ClockError) -> PreparedHistory<'h> {
        let survey = Survey::new(&history.operations);
        let mut prepared = PreparedHistory {
            history,
            clocks: Clocks::new(&history.operations, &survey, error),
            operations: Vec::new(),
            versions: Vec::new(),
            by_known: Vec::new(),
            groups: Vec::new(),
            duplicate_keys: Vec::new(),
            sessions: 0,
            unexplained: ViolationCollector::default(),
            reads: 0,
            unknown: 0,
            limitation: None,
        };
        if history.operations.len() > MAX_OPERATIONS {
            prepared.limitation = Some(Limitation::TooManyOperations);
            return prepared;
        }
        let mut sessions = SessionNumbers::new(&history.operations, &survey);
        let parts = survey.deal_out(&history.operations, &mut sessions);
        prepared.sessions = sessions.count;
        prepared.operations.reserve_exact(parts.iter().map(|part| part.len()).sum());
        prepared.versions.reserve(survey.writes);
        prepared.by_known.reserve(survey.writes);
        let mut resolver = Resolver::default();
        for part in parts {
            resolver.resolve(&part, &mut prepared);
        }
        prepared.duplicate_keys.sort_unstable();
        prepared.limitation = prepared.nothing_to_judge(survey.has_known);
        prepared
    }

    fn nothing_to_judge(&self, has_known: bool) -> Option<Limitation> {
        if !has_known {
            return Some(Limitation::NothingKnown);
        }
        let only_duplicates = self.groups.is_empty() && !self.duplicate_keys.is_empty();
        only_duplicates.then_some(Limitation::DuplicateValues)
    }

    /// The group that this operation belongs to.
    pub(super) fn group_of(&self, operation: u32) -> &RecordGroup {
        let is_before = |group: &RecordGroup| group.operations.start <= operation as usize;
        &self.groups[self.groups.partition_point(is_before) - 1]
    }

    /// The operation's number in the history.
    pub(super) fn number(&self, operation: u32) -> u64 {
        self.history.operations[self.operations[operation as usize].place as usize].index
    }

    /// A witness of these operations without those that are none, each once.
    pub(super) fn witness(
        &self,
        (anomaly, edges): (Anomaly, Edges),
        key: u64,
        operations: &[u32],
    ) -> Witness {
        let mut numbers = Vec::with_capacity(operations.len());
        for operation in operations.iter().filter(|&&operation| operation != NONE) {
            let number = self.number(*operation);
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        Witness { anomaly, edges, key, operations: numbers, margin: Nanos::ZERO }
    }

    /// The weakest source among the orders of all records.
    pub(super) fn order(&self) -> VersionOrder {
        let weakest = self.groups.iter().map(|group| group.order).max();
        weakest.unwrap_or(VersionOrder::RealTime)
    }

    /// The smallest error of the clocks that would take `low < high` back.
    pub(super) fn order_margin(order: VersionOrder, low: u64, high: u64) -> Nanos {
        match order {
            VersionOrder::RealTime => Nanos(high.saturating_sub(low) / 2),
            _ => Nanos::ZERO,
        }
    }
}

/// A time of the history as it was told.
pub(super) fn told(time: u64) -> Nanos {
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
    fn new(operations: &[RegisterOperation], survey: &Survey, error: &ClockError) -> Clocks {
        let greatest = error.greatest(survey.least_agent..=survey.greatest_agent).0;
        let is_one = survey.least_agent >= survey.greatest_agent || greatest == 0;
        let is_coarse = !is_one && greatest > typical_duration(operations) / 4;
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

fn typical_duration(operations: &[RegisterOperation]) -> u64 {
    let step = operations.len().div_ceil(DURATION_SAMPLE).max(1);
    let known = operations.iter().filter(|operation| operation.outcome == Outcome::Done);
    let mut durations: Vec<u64> =
        known.step_by(step).map(|operation| operation.ended.since(operation.started).0).collect();
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied().unwrap_or(0)
}
