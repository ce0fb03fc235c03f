//! Monotonic reads and read your writes, in one pass over the operations of each record.
//!
//! Terry et al., Session Guarantees for Weakly Consistent Replicated Data (PDIS 1994). A session
//! that has read or written version *v* of a record must not read a version *u* afterwards that
//! certainly comes before *v* ([`crate::register::prepared`] says when it does). As that is a
//! comparison of two numbers, the greatest `high` of what a session has read (or written, if the
//! write was acknowledged) is all there is to keep: O(n), 72 bytes per session.
//!
//! An operation comes after another of its session if it began when that one had ended. Of
//! operations of a session that overlap, which sessions should not have, the knowledge counts from
//! the end of the last of them.
//!
//! The pass also marks the reads that may have missed something that somebody knew, which are few:
//! only these can break the guarantees between sessions ([`crate::register::observers`]).

use assay_model::Nanos;

use crate::quality::Quality;
use crate::register::ViolationTimes;
use crate::register::collector::ViolationCollector;
use crate::register::observers::{self, Sight};
use crate::register::prepared::{NEVER, NONE, Prepared, PreparedHistory, RecordGroup, told};
use crate::verdict::{Anomaly, Edges, QualityFinding, VerdictPower, VersionOrder};

/// Verdicts on the four guarantees of sessions.
#[derive(Clone, Debug)]
pub struct SessionFindings {
    /// Monotonic reads, monotonic writes, read your writes, writes follow reads.
    pub findings: Vec<QualityFinding>,
    /// When their violations happened.
    pub times: Vec<ViolationTimes>,
}

/// Violations of one guarantee among its opportunities.
#[derive(Debug, Default)]
pub(super) struct Guarantee {
    pub(super) violations: ViolationCollector,
    pub(super) opportunities: u64,
}

/// Verdicts on the four guarantees of sessions.
pub fn judge_sessions(prepared: &PreparedHistory) -> SessionFindings {
    let mut pass = SessionPass::new(prepared);
    for (group, number) in prepared.groups.iter().zip(0..) {
        pass.group(prepared, group, number);
    }
    let observed = observers::judge(prepared, pass.reads);
    let guarantees = [
        (Quality::MonotonicReads, pass.monotonic_reads),
        (Quality::MonotonicWrites, observed.monotonic_writes),
        (Quality::ReadYourWrites, pass.read_your_writes),
        (Quality::WritesFollowReads, observed.writes_follow_reads),
    ];
    let (findings, times) = guarantees
        .map(|(quality, guarantee)| {
            let power = VerdictPower {
                opportunities: guarantee.opportunities,
                judged: prepared.operations.len() as u64,
                unknown: prepared.unknown,
            };
            let order = prepared.order();
            guarantee.violations.finish(quality, order, power, prepared.limitation)
        })
        .into_iter()
        .unzip();
    SessionFindings { findings, times }
}

/// The newest version of a record that a session knows, and by which operation.
#[derive(Clone, Copy, Debug)]
struct Newest {
    high: u64,
    operation: u32,
}

impl Newest {
    const NOTHING: Newest = Newest { high: 0, operation: NONE };

    fn include(&mut self, other: Newest) {
        if self.operation == NONE || (other.operation != NONE && other.high > self.high) {
            *self = other;
        }
    }
}

/// What one session knows of the record at hand.
#[derive(Clone, Copy, Debug)]
struct SessionState {
    /// The record, as the number of its group.
    group: u32,
    read: Newest,
    written: Newest,
    /// What an operation that may not have ended yet adds, and when it has.
    pending_read: Newest,
    pending_written: Newest,
    pending_until: u64,
}

impl SessionState {
    fn new(group: u32) -> SessionState {
        SessionState {
            group,
            read: Newest::NOTHING,
            written: Newest::NOTHING,
            pending_read: Newest::NOTHING,
            pending_written: Newest::NOTHING,
            pending_until: 0,
        }
    }

    fn begin(&mut self, started: u64) {
        if self.pending_until <= started {
            self.read.include(std::mem::replace(&mut self.pending_read, Newest::NOTHING));
            self.written.include(std::mem::replace(&mut self.pending_written, Newest::NOTHING));
            self.pending_until = 0;
        }
    }

    fn end(&mut self, number: u32, operation: &Prepared, prepared: &PreparedHistory) {
        let newest = |version: u32| match version {
            NONE => Newest::NOTHING,
            _ => Newest { high: prepared.versions[version as usize].high, operation: number },
        };
        self.pending_read.include(newest(operation.read));
        self.pending_written.include(newest(operation.written));
        self.pending_until = self.pending_until.max(operation.ended);
    }
}

struct SessionPass {
    states: Vec<SessionState>,
    monotonic_reads: Guarantee,
    read_your_writes: Guarantee,
    /// The reads of each session, for the guarantees between sessions.
    reads: Vec<Vec<Sight>>,
}

impl SessionPass {
    fn new(prepared: &PreparedHistory) -> SessionPass {
        let mut counts = vec![0; prepared.sessions];
        for operation in &prepared.operations {
            counts[operation.session as usize] += usize::from(operation.read != NONE);
        }
        SessionPass {
            states: vec![SessionState::new(NONE); prepared.sessions],
            monotonic_reads: Guarantee::default(),
            read_your_writes: Guarantee::default(),
            reads: counts.into_iter().map(Vec::with_capacity).collect(),
        }
    }

    fn group(&mut self, prepared: &PreparedHistory, group: &RecordGroup, number: u32) {
        // Clocks say here only where nothing can be, so their errors are added, not taken off.
        let slack = if prepared.clocks.is_one { 0 } else { prepared.clocks.greatest };
        let slack = slack.saturating_mul(4);
        let mut by_known = prepared.by_known[group.versions.clone()].iter().peekable();
        let mut newest = 0;
        for at in group.operations.clone() {
            let operation = &prepared.operations[at];
            let now = operation.started.saturating_add(slack);
            while let Some(version) =
                by_known.peek().map(|&&next| &prepared.versions[next as usize])
                && version.known <= now
                && version.known < NEVER
            {
                newest = version.high.max(newest);
                by_known.next();
            }
            let state = &mut self.states[operation.session as usize];
            if state.group != number {
                *state = SessionState::new(number);
            }
            state.begin(operation.started);
            let state = *state;
            if operation.read != NONE {
                let low = prepared.versions[operation.read as usize].low;
                let sight = Sight::new(prepared, at as u32, low < newest);
                self.reads[operation.session as usize].push(sight);
                let read = (at as u32, low);
                let anomaly = Anomaly::NonMonotonicRead;
                self.monotonic_reads.check(prepared, group, read, (state.read, anomaly));
                let anomaly = Anomaly::OwnWriteNotRead;
                self.read_your_writes.check(prepared, group, read, (state.written, anomaly));
            }
            if operation.is_done {
                self.states[operation.session as usize].end(at as u32, operation, prepared);
            }
        }
    }
}

impl Guarantee {
    /// Judges a read of a version with this `low` in a session that knows `newest`.
    fn check(
        &mut self,
        prepared: &PreparedHistory,
        group: &RecordGroup,
        (reader, low): (u32, u64),
        (newest, anomaly): (Newest, Anomaly),
    ) {
        if newest.operation == NONE {
            return;
        }
        self.opportunities += 1;
        if low < newest.high {
            let margin = PreparedHistory::order_margin(group.order, low, newest.high);
            let known = &prepared.operations[newest.operation as usize];
            let version =
                if anomaly == Anomaly::OwnWriteNotRead { known.written } else { known.read };
            let read = &prepared.operations[reader as usize];
            let old = &prepared.versions[read.read as usize];
            let operations =
                [old.writer, prepared.versions[version as usize].writer, newest.operation, reader];
            let kind = (anomaly, edges(group.order));
            self.add(told(read.started), margin, || prepared.witness(kind, group.key, &operations));
        }
    }

    pub(super) fn add(
        &mut self,
        at: Nanos,
        margin: Nanos,
        make: impl FnOnce() -> crate::verdict::Witness,
    ) {
        self.violations.add(at, margin, make);
    }
}

/// Which edges a violation within sessions needs, by the source of the versions' order.
pub(super) fn edges(order: VersionOrder) -> Edges {
    match order {
        VersionOrder::RealTime => Edges::RealTime,
        _ => Edges::Session,
    }
}
