//! Monotonic writes and writes follow reads: what one session must see of another.
//!
//! Terry et al. (PDIS 1994), for an observer *o* that has read a write of session *s*, and then
//! reads version *u* of some record:
//!
//! * monotonic writes: *s* had written *v* of that record before, and *u* comes before *v*;
//! * writes follow reads: *s* had read *v* of that record before, and *u* comes before *v*.
//!
//! "Before" is within *s*: the operation had ended when the write that *o* has read began. So what
//! *o* has to remember of *s* is one number, the latest start of a write of *s* that it has read.
//! The newest *v* is then found by binary search among the operations of *s* on the record, in the
//! order of their ends with the greatest `high` so far. Real time plays no part but for the order
//! of versions, so no clock of another agent is trusted.
//!
//! Only a read that missed a version which somebody knew can break either guarantee, so only these
//! are looked up: O(n) for all reads and O(s log n) for each of these. 64 bytes per read, 24
//! more per operation on records with doubtful ones.

use std::ops::Range;

use crate::register::prepared::{NEVER, NONE, PreparedHistory, RecordGroup, RecordVersion, told};
use crate::register::radix;
use crate::register::sessions::{Guarantee, edges};
use crate::verdict::Anomaly;

/// Reads that are fetched together, so that the latencies of the memory overlap.
const BLOCK: usize = 1024;

/// The two guarantees between sessions.
pub(super) struct Observed {
    pub(super) monotonic_writes: Guarantee,
    pub(super) writes_follow_reads: Guarantee,
}

/// Judges the reads of each session in their order.
pub(super) fn judge(prepared: &PreparedHistory, reads: Vec<Vec<Sight>>) -> Observed {
    let mut doubtful: Vec<u32> = Vec::new();
    for sights in &reads {
        let numbers = sights.iter().filter(|sight| sight.is_doubtful).map(|sight| sight.number);
        doubtful.extend(numbers);
    }
    doubtful.sort_unstable();
    let mut observer = Observer {
        prepared,
        knowledge: [Side::Writes, Side::Reads]
            .map(|side| Knowledge::new(prepared, &doubtful, side)),
        seen: vec![Seen::NOTHING; prepared.sessions],
        waiting: None,
        result: Observed {
            monotonic_writes: Guarantee::default(),
            writes_follow_reads: Guarantee::default(),
        },
    };
    let mut order = Vec::new();
    let mut block = Vec::new();
    for (sights, session) in reads.into_iter().zip(0..) {
        order.clear();
        order.extend(sights.iter().zip(0..).map(|(sight, place)| (sight.started, place)));
        radix::sort_by_key(&mut order, |pair: &(u64, u32)| pair.0);
        observer.waiting = None;
        for places in order.chunks(BLOCK) {
            block.clear();
            block.extend(places.iter().map(|pair| sights[pair.1 as usize]));
            block.iter().for_each(|sight| observer.read(session, sight));
        }
    }
    observer.result
}

/// A read with what its observer may have to remember of the version.
///
/// It stands by itself, as looking up operation and version in the order of a session would miss
/// the cache twice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    number: u32,
    started: u64,
    ended: u64,
    /// Begin and end of the write, by the clock of its session; never if not acknowledged.
    write_began: u64,
    write_ended: u64,
    writer: u32,
    first_read_ended: u64,
    first_reader: u32,
    /// Whether somebody knew a newer version when it began.
    is_doubtful: bool,
}

impl Sight {
    pub(super) fn new(prepared: &PreparedHistory, number: u32, is_doubtful: bool) -> Sight {
        let operation = &prepared.operations[number as usize];
        let version = &prepared.versions[operation.read as usize];
        let (write_began, write_ended) = own_times(prepared, version);
        Sight {
            number,
            started: operation.started,
            ended: operation.ended,
            write_began,
            write_ended: if version.is_done { write_ended } else { NEVER },
            writer: version.session,
            first_read_ended: version.first_read_ended,
            first_reader: version.first_read_session,
            is_doubtful,
        }
    }
}

/// The latest write of a session that an observer has read.
#[derive(Clone, Copy, Debug)]
struct Seen {
    observer: u32,
    /// When the write began.
    until: u64,
    /// The read of it.
    reader: u32,
}

impl Seen {
    const NOTHING: Seen = Seen { observer: NONE, until: 0, reader: NONE };
}

struct Observer<'p> {
    prepared: &'p PreparedHistory<'p>,
    /// Of writes and of reads.
    knowledge: [Knowledge; 2],
    /// By the session that wrote.
    seen: Vec<Seen>,
    /// The last read, which may not have ended yet.
    waiting: Option<Sight>,
    result: Observed,
}

impl Observer<'_> {
    fn read(&mut self, observer: u32, sight: &Sight) {
        self.see_waiting(observer, sight.started);
        let has_seen = |session: u32, ended: u64| {
            session != observer
                && self
                    .seen
                    .get(session as usize)
                    .is_some_and(|seen| seen.observer == observer && seen.until >= ended)
        };
        let mut has_write = has_seen(sight.writer, sight.write_ended);
        let mut has_read = has_seen(sight.first_reader, sight.first_read_ended);
        if sight.is_doubtful {
            has_write |= self.broken(Side::Writes, observer, sight.number);
            has_read |= self.broken(Side::Reads, observer, sight.number);
        }
        self.result.monotonic_writes.opportunities += u64::from(has_write);
        self.result.writes_follow_reads.opportunities += u64::from(has_read);
        self.waiting = Some(*sight);
    }

    /// Takes note of the last read if it had ended.
    fn see_waiting(&mut self, observer: u32, now: u64) {
        let Some(waiting) = self.waiting.filter(|waiting| waiting.ended <= now) else { return };
        self.waiting = None;
        // The absence has no writer.
        let Some(seen) = self.seen.get_mut(waiting.writer as usize) else { return };
        if seen.observer != observer || seen.until < waiting.write_began {
            *seen = Seen { observer, until: waiting.write_began, reader: waiting.number };
        }
    }

    /// Whether this read misses what a session that the observer has read had done on the record
    /// before; adds the violation.
    fn broken(&mut self, side: Side, observer: u32, number: u32) -> bool {
        let prepared = self.prepared;
        let read = &prepared.operations[number as usize];
        let low = prepared.versions[read.read as usize].low;
        let mut worst: Option<(Known, Seen)> = None;
        for known in self.knowledge[side as usize].by_session(number) {
            let session = known[0].session;
            let seen = self.seen[session as usize];
            if session == observer || seen.observer != observer {
                continue;
            }
            let before = known.partition_point(|known| known.ended <= seen.until);
            let Some(newest) = before.checked_sub(1).map(|last| known[last]) else { continue };
            if newest.high > low && worst.is_none_or(|(known, _)| known.high < newest.high) {
                worst = Some((newest, seen));
            }
        }
        let Some((known, seen)) = worst else { return false };
        let group = prepared.group_of(number);
        let writer_of = |reader: u32| {
            let version = prepared.operations[reader as usize].read;
            prepared.versions[version as usize].writer
        };
        let operations =
            [writer_of(number), known.operation, writer_of(seen.reader), seen.reader, number];
        let (anomaly, guarantee) = match side {
            Side::Writes => (Anomaly::NonMonotonicWrite, &mut self.result.monotonic_writes),
            Side::Reads => (Anomaly::WriteWithoutItsReads, &mut self.result.writes_follow_reads),
        };
        let margin = PreparedHistory::order_margin(group.order, low, known.high);
        let kind = (anomaly, edges(group.order));
        guarantee
            .add(told(read.started), margin, || prepared.witness(kind, group.key, &operations));
        true
    }
}

/// Start and end of a version's write by the clock of its session.
fn own_times(prepared: &PreparedHistory, version: &RecordVersion) -> (u64, u64) {
    if prepared.clocks.is_one || version.writer == NONE {
        return (version.early, version.late);
    }
    let writer = &prepared.operations[version.writer as usize];
    (writer.started, writer.ended)
}

/// What of a session is looked up.
#[derive(Clone, Copy)]
enum Side {
    Writes,
    Reads,
}

/// The newest version that a session knew of a record when this operation had ended.
#[derive(Clone, Copy, Debug)]
struct Known {
    session: u32,
    operation: u32,
    ended: u64,
    high: u64,
}

/// What sessions wrote or read of the records that have doubtful reads.
#[derive(Default)]
struct Knowledge {
    /// By record, session, end.
    known: Vec<Known>,
    /// The part of each record and session.
    sessions: Vec<Range<usize>>,
    /// The first operation of each of the records, and their parts of `sessions`.
    groups: Vec<(usize, Range<usize>)>,
}

impl Knowledge {
    /// What is known of the records of these operations.
    fn new(prepared: &PreparedHistory, doubtful: &[u32], side: Side) -> Knowledge {
        let mut knowledge = Knowledge::default();
        let mut rest = doubtful;
        while let Some(&operation) = rest.first() {
            let group = prepared.group_of(operation);
            knowledge.add(prepared, group, side);
            let is_here = |operation: &u32| (*operation as usize) < group.operations.end;
            rest = &rest[rest.partition_point(is_here)..];
        }
        knowledge
    }

    fn add(&mut self, prepared: &PreparedHistory, group: &RecordGroup, side: Side) {
        let mut begin = self.known.len();
        let operations = &prepared.operations[group.operations.clone()];
        for (operation, at) in operations.iter().zip(group.operations.start as u32..) {
            let version = match side {
                Side::Writes if operation.is_done => operation.written,
                Side::Writes => NONE,
                Side::Reads => operation.read,
            };
            if version == NONE {
                continue;
            }
            self.known.push(Known {
                session: operation.session,
                operation: at,
                // A write without length does not come before itself.
                ended: operation.ended.max(operation.started.saturating_add(1)),
                high: prepared.versions[version as usize].high,
            });
        }
        sort_by_session(&mut self.known[begin..]);
        let first = self.sessions.len();
        for part in self.known[begin..].chunk_by(|one, other| one.session == other.session) {
            self.sessions.push(begin..begin + part.len());
            begin += part.len();
        }
        self.groups.push((group.operations.start, first..self.sessions.len()));
    }

    /// What each session knew of the record of this operation.
    fn by_session(&self, operation: u32) -> impl Iterator<Item = &[Known]> {
        let place = self.groups.partition_point(|group| group.0 <= operation as usize);
        let sessions = self.groups[place - 1].1.clone();
        self.sessions[sessions].iter().map(|part| &self.known[part.clone()])
    }
}

/// Sorts by session and end, and gives each the newest version so far of its session.
fn sort_by_session(known: &mut [Known]) {
    known.sort_by_key(|known| (known.session, known.ended));
    for place in 1..known.len() {
        let (before, rest) = known.split_at_mut(place);
        let (one, other) = (before[place - 1], &mut rest[0]);
        if one.session == other.session && one.high > other.high {
            (other.high, other.operation) = (one.high, one.operation);
        }
    }
}
