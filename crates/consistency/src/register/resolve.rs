//! The operations of one record, each read led to the write that it saw.
//!
//! Reads that cannot be led anywhere are violations by themselves: nobody wrote the value
//! (garbage), its write was refused (aborted read), or it began after the read had ended (future
//! read; an operation that reads what it writes itself is one too).

use assay_model::Outcome;

use crate::register::order;
use crate::register::prepared::{
    NEVER, NONE, Prepared, PreparedHistory, RecordGroup, RecordVersion, told,
};
use crate::register::{Access, RegisterOperation, WrittenValue};
use crate::verdict::{Anomaly, Edges};

/// Marks a write in the table whose value must never be read; the other bits are its operation.
const REFUSED: u32 = 1 << 31;

/// Reads and writes of one operation, before they are resolved.
#[derive(Clone, Copy)]
struct Unresolved {
    operation: Prepared,
    outcome: Outcome,
    read: Option<u64>,
    written: Option<u64>,
}

/// Resolves one record after another, and keeps its tables for the next.
#[derive(Default)]
pub(super) struct Resolver {
    fetched: Vec<(u32, RegisterOperation)>,
    operations: Vec<Unresolved>,
    table: ValueTable,
    scratch: Vec<(u64, u32)>,
}

impl Resolver {
    /// Adds several groups: packed places in the history, each of one record.
    pub(super) fn resolve(&mut self, groups: &[&[u64]], to: &mut PreparedHistory) {
        let history = &to.history.operations;
        self.fetched.clear();
        for group in groups {
            let fetch = |packed: &u64| (*packed as u32, history[*packed as u32 as usize]);
            self.fetched.extend(group.iter().map(fetch));
        }
        let mut begin = 0;
        for group in groups {
            self.gather(begin..begin + group.len(), to);
            self.group(self.fetched[begin].1.key, to);
            begin += group.len();
        }
    }

    fn group(&mut self, key: u64, to: &mut PreparedHistory) {
        let begin = to.operations.len();
        let versions = to.versions.len();
        to.operations.extend(self.operations.iter().map(|unresolved| unresolved.operation));
        let is_unique = self.add_versions(begin, to);
        for (place, at) in (begin..to.operations.len()).enumerate() {
            if let Some(value) = self.operations[place].read {
                self.lead(at, (key, value), is_unique, to);
            }
        }
        if !is_unique {
            to.duplicate_keys.push(key);
            to.versions.truncate(versions);
            to.operations.truncate(begin);
            return;
        }
        let mut group = RecordGroup {
            key,
            operations: begin..to.operations.len(),
            versions: versions..to.versions.len(),
            order: crate::VersionOrder::RealTime,
        };
        group.order = order::assign(&group, to, &mut self.scratch);
        to.groups.push(group);
    }

    fn gather(&mut self, part: std::ops::Range<usize>, to: &mut PreparedHistory) {
        self.operations.clear();
        for (place, from) in &self.fetched[part] {
            let is_done = from.outcome == Outcome::Done;
            let (read, written) = match from.access {
                Access::Read(read) => (Some(read.0), None),
                Access::Write(written) => (None, Some(written.0)),
                Access::ReadThenWrite { read, written } => {
                    (is_done.then_some(read.0), Some(written.0))
                }
            };
            // A deletion that did not happen leaves no value that nobody may read.
            let is_nothing =
                |value: &u64| from.outcome == Outcome::Refused && *value == WrittenValue::ABSENT.0;
            let written = written.filter(|value| !is_nothing(value));
            to.unknown += u64::from(from.outcome == Outcome::Unknown);
            // An answer before its request: both times are doubtful, so the interval is the widest.
            let started = if is_done { from.started.min(from.ended) } else { from.started };
            let ended = if is_done { from.started.max(from.ended).0 } else { NEVER };
            let operation = Prepared {
                started: started.0.saturating_add(1),
                ended: ended.saturating_add(1),
                place: *place,
                session: to.sessions.number(from.session),
                read: NONE,
                written: NONE,
                agent: from.agent,
                is_done,
                is_read: read.is_some(),
            };
            self.operations.push(Unresolved { operation, outcome: from.outcome, read, written });
        }
        let started = |unresolved: &Unresolved| unresolved.operation.started;
        if !self.operations.is_sorted_by_key(started) {
            self.operations.sort_by_key(started);
        }
    }

    /// Adds a version for each write; whether all values are unique.
    fn add_versions(&mut self, begin: usize, to: &mut PreparedHistory) -> bool {
        let writes = self.operations.iter().filter(|one| one.written.is_some()).count();
        self.table.clear(writes + 1);
        let mut is_unique = true;
        if !self.absence_is_written(to) {
            self.table.insert(WrittenValue::ABSENT.0, to.versions.len() as u32);
        }
        to.versions.push(absence());
        for (place, unresolved) in self.operations.iter().enumerate() {
            let Some(value) = unresolved.written else { continue };
            let at = (begin + place) as u32;
            let number = match unresolved.outcome {
                Outcome::Refused => REFUSED | at,
                _ => to.versions.len() as u32,
            };
            is_unique &= value != WrittenValue::GARBAGE.0 && self.table.insert(value, number);
            if number & REFUSED != 0 {
                continue;
            }
            let operation = &mut to.operations[at as usize];
            operation.written = number;
            let late = to.clocks.late(operation.ended, operation.agent);
            to.versions.push(RecordVersion {
                value,
                early: to.clocks.early(operation.started, operation.agent),
                late,
                known: late,
                writer: at,
                knower: at,
                session: operation.session,
                agent: operation.agent,
                is_done: operation.is_done,
                ..absence()
            });
        }
        is_unique
    }

    /// Whether a record that was loaded before everything else is deleted later, so that whoever
    /// misses it can only have seen the deletion.
    fn absence_is_written(&self, to: &PreparedHistory) -> bool {
        let absent = Some(WrittenValue::ABSENT.0);
        if !self.operations.iter().any(|one| one.written == absent) {
            return false;
        }
        let [first, second, ..] = &self.operations[..] else { return false };
        let is_load = first.outcome == Outcome::Done && first.written.is_some();
        let distance = to.clocks.greatest.saturating_mul(2);
        let is_before = first.operation.ended.saturating_add(distance) < second.operation.started;
        is_load && is_before && first.written != absent && first.read.is_none()
    }

    fn lead(&self, at: usize, (key, value): (u64, u64), is_unique: bool, to: &mut PreparedHistory) {
        to.reads += 1;
        let reader = at as u32;
        let found = self.table.find(value).filter(|_| value != WrittenValue::GARBAGE.0);
        let Some(number) = found else {
            return refuse(to, Anomaly::GarbageRead, key, [NONE, reader]);
        };
        if !is_unique {
            return;
        }
        if number & REFUSED != 0 {
            return refuse(to, Anomaly::AbortedRead, key, [number & !REFUSED, reader]);
        }
        let operation = to.operations[at];
        let version = &to.versions[number as usize];
        let late = to.clocks.late(operation.ended, operation.agent);
        if is_future(to, &operation, number) {
            return refuse(to, Anomaly::FutureRead, key, [reader, version.writer]);
        }
        let early = to.clocks.early(operation.started, operation.agent);
        let version = &mut to.versions[number as usize];
        if late < version.known {
            (version.known, version.knower) = (late, reader);
        }
        if version.first_read_session == NONE {
            version.first_read_session = operation.session;
            version.first_read_ended = operation.ended;
        }
        if early > version.last_read {
            (version.last_read, version.last_reader) = (early, reader);
        }
        to.operations[at].read = number;
    }
}

/// Whether the read certainly ended before the write of what it read began.
fn is_future(to: &PreparedHistory, operation: &Prepared, number: u32) -> bool {
    let version = &to.versions[number as usize];
    if version.writer == NONE {
        return false;
    }
    if operation.written == number {
        return true;
    }
    if operation.agent == version.agent {
        return operation.ended < to.operations[version.writer as usize].started;
    }
    to.clocks.late(operation.ended, operation.agent) < version.early
}

fn refuse(to: &mut PreparedHistory, anomaly: Anomaly, key: u64, operations: [u32; 2]) {
    let reader = if anomaly == Anomaly::FutureRead { operations[0] } else { operations[1] };
    let reader = to.operations[reader as usize];
    let margin = match anomaly {
        Anomaly::FutureRead => {
            let begin = to.operations[operations[1] as usize].started;
            assay_model::Nanos(begin.saturating_sub(reader.ended) / 2)
        }
        _ => assay_model::Nanos::ZERO,
    };
    let mut collector = std::mem::take(&mut to.unexplained);
    let edges = match anomaly {
        Anomaly::FutureRead => Edges::RealTime,
        _ => Edges::Data,
    };
    collector.add(told(reader.started), margin, || to.witness((anomaly, edges), key, &operations));
    to.unexplained = collector;
}

/// The version before all writes.
fn absence() -> RecordVersion {
    RecordVersion {
        value: WrittenValue::ABSENT.0,
        early: 0,
        late: 0,
        known: 0,
        last_read: 0,
        low: 0,
        high: 0,
        writer: NONE,
        knower: NONE,
        first_read_ended: NEVER,
        first_read_session: NONE,
        last_reader: NONE,
        session: NONE,
        agent: 0,
        is_done: false,
    }
}

/// A hash table from the values of one record to its writes, with open addressing.
#[derive(Default)]
struct ValueTable {
    slots: Vec<(u64, u32)>,
    /// The part in use, a power of two, less one.
    mask: usize,
}

impl ValueTable {
    /// Makes room for this many values, at most half full.
    fn clear(&mut self, values: usize) {
        let size = (2 * values).next_power_of_two().max(4);
        if self.slots.len() < size {
            self.slots.resize(size, (0, NONE));
        }
        self.slots[..size].fill((0, NONE));
        self.mask = size - 1;
    }

    fn slot(&self, value: u64) -> usize {
        // Fibonacci hashing (Knuth 3, §6.4), folded for values that differ in high bits only.
        let product = (value ^ (value >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut slot = (product >> 32) as usize & self.mask;
        while self.slots[slot].1 != NONE && self.slots[slot].0 != value {
            slot = (slot + 1) & self.mask;
        }
        slot
    }

    /// Whether the value was new.
    fn insert(&mut self, value: u64, number: u32) -> bool {
        let slot = self.slot(value);
        let is_new = self.slots[slot].1 == NONE;
        if is_new {
            self.slots[slot] = (value, number);
        }
        is_new
    }

    fn find(&self, value: u64) -> Option<u32> {
        let (_, number) = self.slots[self.slot(value)];
        (number != NONE).then_some(number)
    }
}
