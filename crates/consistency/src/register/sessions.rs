//! Monotonic reads and read your writes, in one pass over the operations of each record.
//!
//! Terry et al., Session Guarantees for Weakly Consistent Replicated Data (PDIS 1994). A session
//! that has read or written version *v* of a record must not read a version *u* afterwards that
//! certainly comes before *v* ([`crate::register::prepared`] says when it does). As that is a
//! comparison of two numbers, the greatest `high` of what a session has read (or written, if the
//! write was acknowledged) is all there is to keep: O(n), 72 bytes per session.
//!
//! An operation comes after another of its session if it began when that one had ended; two of one
//! moment have no order. Of operations of a session that overlap, which sessions should not have,
//! the knowledge counts from the end of the last of them.
//!
//! The pass also marks the reads that may have missed something that somebody knew, which are few:
//! only these can break the guarantees between sessions ([`crate::register::observers`]).

use crate::quality::Quality;
use crate::register::ViolationTimes;
use crate::register::guarantee::{Guarantee, edges};
use crate::register::observers::Observations;
use crate::register::prepared::{NEVER, NONE, Prepared, PreparedHistory, RecordGroup, reported};
use crate::verdict::{Anomaly, QualityFinding};

/// Verdicts on the four guarantees of sessions.
#[derive(Clone, Debug)]
pub struct SessionFindings {
    /// Monotonic reads, monotonic writes, read your writes, writes follow reads.
    pub findings: Vec<QualityFinding>,
    /// When their violations happened.
    pub times: Vec<ViolationTimes>,
}

/// Verdicts on the four guarantees of sessions.
pub fn judge_sessions(prepared: &PreparedHistory) -> SessionFindings {
    let mut pass = SessionPass::default();
    pass.add(prepared);
    pass.finish(prepared)
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
    /// What an operation that may not have ended yet adds, and the first that comes after it.
    pending_read: Newest,
    pending_written: Newest,
    pending_until: u32,
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

    fn begin(&mut self, number: u32) {
        if self.pending_until <= number {
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
        self.pending_until = self.pending_until.max(prepared.successor(operation));
    }
}

/// The four guarantees, judged over one part of the records after another.
#[derive(Default)]
pub(super) struct SessionPass {
    /// How many records were judged.
    groups: u32,
    states: Vec<SessionState>,
    monotonic_reads: Guarantee,
    read_your_writes: Guarantee,
    observations: Observations,
}

impl SessionPass {
    pub(super) fn add(&mut self, prepared: &PreparedHistory) {
        self.states.resize(prepared.reads_by_session.len(), SessionState::new(NONE));
        self.observations.expect(&prepared.reads_by_session);
        for group in &prepared.groups {
            self.group(prepared, group);
            self.groups += 1;
            self.observations.end_record(prepared, group);
        }
    }

    pub(super) fn finish(self, prepared: &PreparedHistory) -> SessionFindings {
        let observed = self.observations.judge(prepared);
        let guarantees = [
            (Quality::MonotonicReads, self.monotonic_reads),
            (Quality::MonotonicWrites, observed.monotonic_writes),
            (Quality::ReadYourWrites, self.read_your_writes),
            (Quality::WritesFollowReads, observed.writes_follow_reads),
        ];
        let (findings, times) = guarantees
            .map(|(quality, guarantee)| {
                let power = prepared.power(guarantee.opportunities);
                let order = prepared.order();
                guarantee.violations.finish(quality, order, power, prepared.limitation)
            })
            .into_iter()
            .unzip();
        SessionFindings { findings, times }
    }

    fn group(&mut self, prepared: &PreparedHistory, group: &RecordGroup) {
        let number = self.groups;
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
            // Mostly a session has not used the record before: then nothing is looked up.
            let knows = state.group == number;
            if knows {
                state.begin(operation.number);
            }
            if operation.read != NONE {
                let low = prepared.versions[operation.read as usize].low;
                self.observations.add(prepared, group, operation, low < newest);
                if knows {
                    let read = (at as u32, low);
                    let known = (state.read, Anomaly::NonMonotonicRead);
                    check(&mut self.monotonic_reads, prepared, group, read, known);
                    let known = (state.written, Anomaly::OwnWriteNotRead);
                    check(&mut self.read_your_writes, prepared, group, read, known);
                }
            }
            if operation.is_done {
                if !knows {
                    *state = SessionState::new(number);
                }
                state.end(at as u32, operation, prepared);
            }
        }
    }
}

/// Judges a read of a version with this `low` in a session that knows `newest`.
fn check(
    guarantee: &mut Guarantee,
    prepared: &PreparedHistory,
    group: &RecordGroup,
    (reader, low): (u32, u64),
    (newest, anomaly): (Newest, Anomaly),
) {
    if newest.operation == NONE {
        return;
    }
    guarantee.opportunities += 1;
    if low >= newest.high {
        return;
    }
    let margin = PreparedHistory::order_margin(group.order, low, newest.high);
    let known = &prepared.operations[newest.operation as usize];
    let version = if anomaly == Anomaly::OwnWriteNotRead { known.written } else { known.read };
    let read = &prepared.operations[reader as usize];
    let old = &prepared.versions[read.read as usize];
    let writer = prepared.versions[version as usize].writer;
    let operations = [old.writer, writer, newest.operation, reader];
    let kind = (anomaly, edges(group.order));
    guarantee
        .violations
        .add(reported(read.started), margin, || prepared.witness(kind, group.key, &operations));
}
