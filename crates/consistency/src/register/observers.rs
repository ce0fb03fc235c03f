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
//! order of their successors ([`crate::register::successors`]) with the greatest `high` so far.
//! Real time plays no part but for the order of versions, so no clock of another agent is trusted.
//!
//! Only a read that missed a version which somebody knew can break either guarantee, so only these
//! are looked up: O(n) for all reads and O(s log n) for each of these, O(s) mostly, as what an
//! observer remembers only grows and each search goes on where the last one ended. Memory: 64
//! bytes per session and 36 per read; for one session at a time as much again and 4 per operation;
//! 24 per doubtful read, 24 to 48 per operation on records with one, 48 per session on each of
//! these, and 16 per read of a session at one moment. Of reads of a session that overlap, which
//! they should not, what they have read counts from the end of the last of them.

use std::ops::Range;

use crate::register::guarantee::{Guarantee, edges};
use crate::register::prepared::{NONE, Prepared, PreparedHistory, RecordGroup};
use crate::verdict::{Anomaly, VersionOrder};

/// The two guarantees between sessions.
pub(super) struct Observed {
    pub(super) monotonic_writes: Guarantee,
    pub(super) writes_follow_reads: Guarantee,
}

/// A read with what its observer may have to remember of the version.
///
/// It stands by itself: when a session is judged the records are no longer at hand.
#[derive(Clone, Copy, Debug)]
// Half a cache line, as sights are put in order one by one.
#[repr(align(32))]
struct Sight {
    /// The session that wrote, the number of the write in it, and that of what follows it;
    /// [`NONE`] if it was not acknowledged.
    writer: u32,
    write: u32,
    write_successor: u32,
    /// A session that read the version, and what follows that read in it.
    first_reader: u32,
    first_read_successor: u32,
    /// Places of the read and the write in the history.
    place: u32,
    write_place: u32,
    /// The number of the doubt, or [`NONE`].
    doubt: u32,
}

impl Sight {
    const NOTHING: Sight = Sight {
        writer: NONE,
        write: NONE,
        write_successor: NONE,
        first_reader: NONE,
        first_read_successor: NONE,
        place: NONE,
        write_place: NONE,
        doubt: NONE,
    };
}

/// Looking a session up among those that knew a record takes about as long as looking at so many.
const SEARCH_COST: usize = 16;

/// A read of a version although somebody knew a newer one.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    key: u64,
    low: u64,
    order: VersionOrder,
    /// The number of the record among those with doubts.
    record: u32,
}

/// The reads of a session in any order, and the number of each in it.
struct SessionSights {
    sights: Vec<Sight>,
    numbers: Vec<u32>,
}

impl SessionSights {
    /// With room for so many.
    fn new(reads: u32) -> SessionSights {
        let room = reads as usize;
        SessionSights { sights: Vec::with_capacity(room), numbers: Vec::with_capacity(room) }
    }
}

/// The reads of a session in the order of their numbers.
#[derive(Default)]
struct OrderedSights {
    numbers: Vec<u32>,
    sights: Vec<Sight>,
    /// Of each number, the place of its read.
    places: Vec<u32>,
}

impl OrderedSights {
    /// Takes those of a session: its sights are read one after another from memory, and put in
    /// order where, of one session among many, all of them fit into the cache.
    fn take(&mut self, session: SessionSights) {
        let last = session.numbers.iter().max();
        self.places.clear();
        self.places.resize(last.map_or(0, |last| *last as usize + 1), NONE);
        session.numbers.iter().for_each(|number| self.places[*number as usize] = 0);
        self.numbers.clear();
        for (place, number) in self.places.iter_mut().zip(0..).filter(|(place, _)| **place != NONE)
        {
            *place = self.numbers.len() as u32;
            self.numbers.push(number);
        }
        self.sights.resize(self.numbers.len(), Sight::NOTHING);
        for (number, sight) in session.numbers.iter().zip(&session.sights) {
            self.sights[self.places[*number as usize] as usize] = *sight;
        }
    }
}

/// All reads, by session, and what must be known to judge the doubtful ones.
#[derive(Default)]
pub(super) struct Observations {
    sights: Vec<SessionSights>,
    doubts: Vec<Doubt>,
    /// Of writes and of reads.
    knowledge: [Knowledge; 2],
}

impl Observations {
    /// Makes room for so many reads of each session.
    pub(super) fn expect(&mut self, reads: &[u32]) {
        if self.sights.is_empty() {
            self.sights = reads.iter().map(|reads| SessionSights::new(*reads)).collect();
        }
    }

    /// Adds a read of the record at hand.
    pub(super) fn add(
        &mut self,
        prepared: &PreparedHistory,
        group: &RecordGroup,
        read: &Prepared,
        is_doubtful: bool,
    ) {
        let version = &prepared.versions[read.read as usize];
        let doubt = if is_doubtful { self.doubts.len() as u32 } else { NONE };
        if is_doubtful {
            let record = self.knowledge[0].records.len() as u32;
            let (key, low, order) = (group.key, version.low, group.order);
            self.doubts.push(Doubt { key, low, order, record });
        }
        // The absence has no writer.
        let write = prepared.operations.get(version.writer as usize);
        let acknowledged = write.filter(|write| write.is_done);
        let session = &mut self.sights[read.session as usize];
        session.numbers.push(read.number);
        session.sights.push(Sight {
            writer: version.session,
            write: write.map_or(NONE, |write| write.number),
            write_successor: acknowledged.map_or(NONE, |write| prepared.successor(write)),
            first_reader: version.first_read_session,
            first_read_successor: version.first_read_successor,
            place: read.place,
            write_place: write.map_or(NONE, |write| write.place),
            doubt,
        });
    }

    /// Keeps what sessions knew of the record at hand if one of its reads is doubtful.
    pub(super) fn end_record(&mut self, prepared: &PreparedHistory, group: &RecordGroup) {
        let record = self.knowledge[0].records.len() as u32;
        if self.doubts.last().is_some_and(|doubt| doubt.record == record) {
            for side in [Side::Writes, Side::Reads] {
                self.knowledge[side as usize].add(prepared, group, side);
            }
        }
    }

    /// Judges the reads of each session in their order.
    pub(super) fn judge(mut self, prepared: &PreparedHistory) -> Observed {
        let sights = std::mem::take(&mut self.sights);
        let cursors = [self.knowledge[0].cursors(), self.knowledge[1].cursors()];
        let mut observer = Observer {
            prepared,
            cursors,
            observations: self,
            seen: vec![Seen::NOTHING; sights.len()],
            sessions_seen: Vec::new(),
            waiting: Vec::new(),
            waiting_until: 0,
            result: Observed {
                monotonic_writes: Guarantee::default(),
                writes_follow_reads: Guarantee::default(),
            },
        };
        let mut ordered = OrderedSights::default();
        for (one, session) in sights.into_iter().zip(0..) {
            ordered.take(one);
            observer.waiting.clear();
            observer.waiting_until = 0;
            observer.sessions_seen.clear();
            for (number, sight) in ordered.numbers.iter().zip(&ordered.sights) {
                observer.read((session, *number), sight);
            }
        }
        observer.result
    }
}

/// The latest write of a session that an observer has read.
#[derive(Clone, Copy, Debug)]
struct Seen {
    observer: u32,
    /// The number of the write in its session.
    until: u32,
    /// Places of the write and of the read of it.
    write_place: u32,
    place: u32,
}

impl Seen {
    const NOTHING: Seen = Seen { observer: NONE, until: 0, write_place: NONE, place: NONE };
}

/// A write that an observer has read, which counts once the read has ended.
struct Waiting {
    /// The session that wrote.
    writer: u32,
    write: u32,
    /// Places of the write and of the read of it.
    write_place: u32,
    place: u32,
}

struct Observer<'p> {
    prepared: &'p PreparedHistory<'p>,
    observations: Observations,
    /// Of each side, a cursor for each part of its sessions.
    cursors: [Vec<Cursor>; 2],
    /// By the session that wrote.
    seen: Vec<Seen>,
    /// The sessions of which this observer has seen something.
    sessions_seen: Vec<u32>,
    /// What was read last and is not known yet, and the first operation to which all of it is.
    /// Mostly it is one version: more where reads take no time and have one moment, or overlap,
    /// which those of a session should not.
    waiting: Vec<Waiting>,
    waiting_until: u32,
    result: Observed,
}

impl Observer<'_> {
    /// Judges the read with this number in its session.
    fn read(&mut self, (observer, number): (u32, u32), sight: &Sight) {
        self.see_waiting(observer, number);
        let has_seen = |session: u32, successor: u32| {
            session != observer
                && self
                    .seen
                    .get(session as usize)
                    .is_some_and(|seen| seen.observer == observer && seen.until >= successor)
        };
        let mut has_write = has_seen(sight.writer, sight.write_successor);
        let mut has_read = has_seen(sight.first_reader, sight.first_read_successor);
        if sight.doubt != NONE {
            has_write |= self.is_broken(Side::Writes, observer, sight);
            has_read |= self.is_broken(Side::Reads, observer, sight);
        }
        self.result.monotonic_writes.opportunities += u64::from(has_write);
        self.result.writes_follow_reads.opportunities += u64::from(has_read);
        // The absence has no writer.
        if (sight.writer as usize) < self.seen.len() {
            self.waiting.push(Waiting {
                writer: sight.writer,
                write: sight.write,
                write_place: sight.write_place,
                place: sight.place,
            });
        }
        self.waiting_until = self.waiting_until.max(self.prepared.successors.of(observer, number));
    }

    /// Takes note of the last reads if all of them had ended before the operation `number`.
    fn see_waiting(&mut self, observer: u32, number: u32) {
        if self.waiting_until > number {
            return;
        }
        for waiting in self.waiting.drain(..) {
            let seen = &mut self.seen[waiting.writer as usize];
            if seen.observer != observer {
                self.sessions_seen.push(waiting.writer);
            }
            if seen.observer != observer || seen.until < waiting.write {
                *seen = Seen {
                    observer,
                    until: waiting.write,
                    write_place: waiting.write_place,
                    place: waiting.place,
                };
            }
        }
        self.waiting_until = 0;
    }

    /// Whether this read misses what a session that the observer has read had done on the record
    /// before; adds the violation.
    fn is_broken(&mut self, side: Side, observer: u32, sight: &Sight) -> bool {
        let doubt = self.observations.doubts[sight.doubt as usize];
        // One session is enough: the read is the violation, however many can witness it.
        let knowledge = &self.observations.knowledge[side as usize];
        let parts = knowledge.records[doubt.record as usize].clone();
        let seen = &self.seen;
        let look = |cursor: &mut Cursor| {
            let seen = seen[cursor.session as usize];
            if cursor.session == observer || seen.observer != observer {
                return None;
            }
            cursor.advance(observer, seen.until, &knowledge.known);
            (cursor.high > doubt.low).then(|| (knowledge.known[cursor.next as usize - 1], seen))
        };
        let cursors = &mut self.cursors[side as usize][parts];
        // Sessions of an open loop are as many as its processes, and each sees a few others only.
        let found = if self.sessions_seen.len() * SEARCH_COST < cursors.len() {
            let found = self.sessions_seen.iter().filter_map(|session| {
                let place = cursors.binary_search_by_key(session, |one| one.session).ok()?;
                Some((*session, look(&mut cursors[place])?))
            });
            found.min_by_key(|(session, _)| *session).map(|(_, found)| found)
        } else {
            cursors.iter_mut().find_map(look)
        };
        let Some((known, seen)) = found else { return false };
        let (anomaly, guarantee) = match side {
            Side::Writes => (Anomaly::NonMonotonicWrite, &mut self.result.monotonic_writes),
            Side::Reads => (Anomaly::WriteWithoutItsReads, &mut self.result.writes_follow_reads),
        };
        let margin = PreparedHistory::order_margin(doubt.order, doubt.low, known.high);
        let kind = (anomaly, edges(doubt.order));
        let places = [sight.write_place, known.place, seen.write_place, seen.place, sight.place];
        let read = &self.prepared.history.operations[sight.place as usize];
        guarantee.violations.add(read.started.min(read.ended), margin, || {
            self.prepared.witness_of_places(kind, doubt.key, &places)
        });
        true
    }
}

/// What of a session is looked up.
#[derive(Clone, Copy)]
enum Side {
    Writes,
    Reads,
}

/// The newest version that a session knew of a record when an operation had ended.
#[derive(Clone, Copy, Debug)]
struct Known {
    session: u32,
    place: u32,
    /// The first operation of the session that comes after it.
    successor: u32,
    high: u64,
}

/// What sessions wrote or read of the records that have doubtful reads.
#[derive(Default)]
struct Knowledge {
    /// By record, session, successor.
    known: Vec<Known>,
    /// The part of each record and session.
    sessions: Vec<Range<usize>>,
    /// Of each of the records, its parts of `sessions`.
    records: Vec<Range<usize>>,
}

impl Knowledge {
    fn add(&mut self, prepared: &PreparedHistory, group: &RecordGroup, side: Side) {
        let mut begin = self.known.len();
        let operations = &prepared.operations[group.operations.clone()];
        for operation in operations {
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
                place: operation.place,
                successor: prepared.successor(operation),
                high: prepared.versions[version as usize].high,
            });
        }
        sort_by_session(&mut self.known[begin..]);
        let first = self.sessions.len();
        for part in self.known[begin..].chunk_by(|one, other| one.session == other.session) {
            self.sessions.push(begin..begin + part.len());
            begin += part.len();
        }
        self.records.push(first..self.sessions.len());
    }

    /// A cursor at the beginning of each part.
    fn cursors(&self) -> Vec<Cursor> {
        let cursor = |part: &Range<usize>| Cursor {
            session: self.known[part.start].session,
            observer: NONE,
            begin: part.start as u32,
            end: part.end as u32,
            next: part.start as u32,
            high: 0,
            next_successor: self.known[part.start].successor,
        };
        self.sessions.iter().map(cursor).collect()
    }
}

/// How much of what a session knew of a record an observer has to see.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    session: u32,
    observer: u32,
    /// Its part of what is known.
    begin: u32,
    end: u32,
    /// The first of them that it need not see yet, and what follows that one in its session.
    next: u32,
    next_successor: u32,
    /// The newest version before, 0 if there is none.
    high: u64,
}

impl Cursor {
    /// Goes behind all operations before the one with the number `until`, which only grows for an
    /// observer.
    fn advance(&mut self, observer: u32, until: u32, known: &[Known]) {
        if self.observer != observer {
            let next_successor = known[self.begin as usize].successor;
            *self = Cursor { observer, next: self.begin, high: 0, next_successor, ..*self };
        }
        let rest = &known[self.next as usize..self.end as usize];
        if self.next_successor > until || rest.is_empty() {
            return;
        }
        let has_ended = |one: &Known| one.successor <= until;
        let mut stride = 1;
        while rest.get(stride).is_some_and(has_ended) {
            stride *= 2;
        }
        let ended = rest[..rest.len().min(stride)].partition_point(has_ended);
        self.next += ended as u32;
        self.high = rest[ended - 1].high;
        self.next_successor = rest.get(ended).map_or(NONE, |one| one.successor);
    }
}

/// Sorts by session and successor, and gives each the newest version so far of its session.
fn sort_by_session(known: &mut [Known]) {
    known.sort_by_key(|known| (known.session, known.successor));
    for place in 1..known.len() {
        let (before, rest) = known.split_at_mut(place);
        let (one, other) = (before[place - 1], &mut rest[0]);
        if one.session == other.session && one.high > other.high {
            (other.high, other.place) = (one.high, one.place);
        }
    }
}
