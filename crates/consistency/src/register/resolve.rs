//! The operations of one record, each read led to the write that it saw.
//!
//! Reads that cannot be led anywhere are violations by themselves: nobody wrote the value
//! (garbage), its write was refused (aborted read), or it began after the read had ended (future
//! read; an operation that reads what it writes itself is one too).

use crate::register::WrittenValue;
use crate::register::order;
use crate::register::partition::{KeyedOperation, Write};
use crate::register::prepared::{
    NONE, Prepared, PreparedHistory, RecordGroup, RecordVersion, reported,
};
use crate::register::radix;
use crate::verdict::{Anomaly, Edges};

/// Marks a write in the table whose value must never be read; the other bits are its operation.
const REFUSED: u32 = 1 << 31;

/// Operations of a batch: with their versions, about what fits into the processor's level-2 cache.
const AT_ONCE: usize = 4096;

/// Resolves one record after another, and keeps its tables for the next.
#[derive(Default)]
pub(super) struct Resolver {
    keys: Vec<(u64, u32)>,
    /// Of the record at hand, by their start.
    operations: Vec<KeyedOperation>,
    table: ValueTable,
    scratch: Vec<(u64, u32)>,
}

impl Resolver {
    /// Adds the groups of all records of a part. Calls `after` each time a batch is ready, which it
    /// may forget; what is left at the end is the caller's.
    pub(super) fn resolve<'h>(
        &mut self,
        part: &[KeyedOperation],
        to: &mut PreparedHistory<'h>,
        mut after: impl FnMut(&mut PreparedHistory<'h>),
    ) {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        keys.extend(part.iter().zip(0..).map(|(operation, place)| (operation.key, place)));
        radix::sort_by_key(&mut keys, |pair| pair.0);
        for group in keys.chunk_by(|one, other| one.0 == other.0) {
            self.operations.clear();
            self.operations.extend(group.iter().map(|pair| part[pair.1 as usize]));
            let started = |operation: &KeyedOperation| operation.started;
            if !self.operations.is_sorted_by_key(started) {
                self.operations.sort_by_key(started);
            }
            self.group(group[0].0, to);
            if to.operations.len() >= AT_ONCE {
                after(to);
            }
        }
        self.keys = keys;
    }

    fn group(&mut self, key: u64, to: &mut PreparedHistory) {
        let begin = to.operations.len();
        let versions = to.versions.len();
        to.operations.extend(self.operations.iter().map(unresolved));
        let is_unique = self.add_versions(begin, to);
        for (place, at) in (begin..to.operations.len()).enumerate() {
            let operation = &self.operations[place];
            to.unknown += u64::from(operation.write == Write::Unknown);
            if operation.has_read {
                self.lead(at, (key, operation.read), is_unique, to);
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
        to.weakest = to.weakest.max(Some(group.order));
        to.judged += group.operations.len() as u64;
        to.groups.push(group);
    }

    /// Adds a version for each write; whether all values are unique.
    fn add_versions(&mut self, begin: usize, to: &mut PreparedHistory) -> bool {
        let writes = self.operations.iter().filter(|one| one.write != Write::No).count();
        self.table.clear(writes + 1);
        let mut is_unique = true;
        if !self.absence_is_written(to) {
            self.table.insert(WrittenValue::ABSENT.0, to.versions.len() as u32);
        }
        to.versions.push(absence());
        let is_write = |(_, one): &(usize, &KeyedOperation)| one.write != Write::No;
        for (place, write) in self.operations.iter().enumerate().filter(is_write) {
            let (at, value) = ((begin + place) as u32, write.written);
            let number = match write.write {
                Write::Refused => REFUSED | at,
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
        let is_deletion =
            |one: &KeyedOperation| one.write != Write::No && one.written == WrittenValue::ABSENT.0;
        if !self.operations.iter().any(is_deletion) {
            return false;
        }
        let [first, second, ..] = &self.operations[..] else { return false };
        let is_load = first.write == Write::Done && !first.has_read;
        let distance = to.clocks.greatest.saturating_mul(2);
        let is_before = first.ended.saturating_add(distance) < second.started;
        is_load && is_before && !is_deletion(first)
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
            let successors = &to.successors;
            version.first_read_successor = successors.of(operation.session, operation.number);
        }
        if early > version.last_read {
            (version.last_read, version.last_reader) = (early, reader);
        }
        to.operations[at].read = number;
    }
}

fn unresolved(from: &KeyedOperation) -> Prepared {
    Prepared {
        started: from.started,
        ended: from.ended,
        place: from.place,
        session: from.session,
        read: NONE,
        written: NONE,
        number: from.number,
        agent: from.agent,
        is_done: from.is_done(),
        is_read: from.has_read,
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
    collector
        .add(reported(reader.started), margin, || to.witness((anomaly, edges), key, &operations));
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
        first_read_successor: NONE,
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
