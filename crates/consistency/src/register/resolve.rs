//! The operations of one record, each read led to the write that it saw.
//!
//! Reads that cannot be led anywhere are violations by themselves: nobody wrote the value
//! (garbage), its write was refused (aborted read), or it began after the read had ended (future
//! read; an operation that reads what it writes itself is one too).

use crate::register::WrittenValue;
use crate::register::keyed::{KeyedOperation, Write};
use crate::register::order;
use crate::register::prepared::{
    Clocks, NONE, Prepared, PreparedHistory, RecordGroup, RecordVersion, reported,
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
    /// The values that the operations of the record at hand read, where they have.
    values: Vec<u64>,
    table: ValueTable,
    scratch: Vec<(u64, u32)>,
}

/// The operations of one record, by their start.
#[derive(Clone, Copy)]
struct RecordOperations<'p> {
    part: &'p [KeyedOperation],
    /// Their key, and their places in the part.
    places: &'p [(u64, u32)],
}

impl<'p> RecordOperations<'p> {
    fn iter(self) -> impl ExactSizeIterator<Item = &'p KeyedOperation> {
        self.places.iter().map(|pair| &self.part[pair.1 as usize])
    }

    fn key(self) -> u64 {
        self.places[0].0
    }
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
        for places in keys.chunk_by_mut(|one, other| one.0 == other.0) {
            let started = |pair: &(u64, u32)| part[pair.1 as usize].started;
            if !places.is_sorted_by_key(started) {
                places.sort_by_key(started);
            }
            self.group(RecordOperations { part, places }, to);
            if to.operations.len() >= AT_ONCE {
                after(to);
            }
        }
        self.keys = keys;
    }

    fn group(&mut self, record: RecordOperations, to: &mut PreparedHistory) {
        let begin = to.operations.len();
        let versions = to.versions.len();
        let is_unique = self.add(record, to);
        for place in 0..self.values.len() {
            if to.operations[begin + place].is_read {
                let value = self.values[place];
                self.lead(begin + place, (record.key(), value), is_unique, to);
            }
        }
        if !is_unique {
            to.duplicate_keys.push(record.key());
            to.versions.truncate(versions);
            to.operations.truncate(begin);
            return;
        }
        let mut group = RecordGroup {
            key: record.key(),
            operations: begin..to.operations.len(),
            versions: versions..to.versions.len(),
            order: crate::VersionOrder::RealTime,
        };
        group.order = order::assign(&group, to, &mut self.scratch);
        to.weakest = to.weakest.max(Some(group.order));
        to.judged += group.operations.len() as u64;
        to.groups.push(group);
    }

    /// Adds the operations, and a version for each write; whether all values are unique.
    fn add(&mut self, record: RecordOperations, to: &mut PreparedHistory) -> bool {
        self.values.clear();
        self.table.writes.clear();
        if !absence_is_written(record, to) {
            self.table.writes.push((WrittenValue::ABSENT.0, to.versions.len() as u32));
        }
        to.versions.push(absence());
        for one in record.iter() {
            self.values.push(if one.has_read() { one.read(to.history) } else { 0 });
            let at = to.operations.len() as u32;
            let mut operation = unresolved(one);
            if one.write() != Write::No {
                let number = match one.write() {
                    Write::Refused => REFUSED | at,
                    _ => to.versions.len() as u32,
                };
                let value = one.written();
                self.table.writes.push((value, number));
                if number & REFUSED == 0 {
                    operation.written = number;
                    to.versions.push(version(value, at, &operation, &to.clocks));
                }
            }
            to.unknown += u64::from(one.write() == Write::Unknown);
            to.operations.push(operation);
        }
        let has_garbage = |write: &(u64, u32)| write.0 == WrittenValue::GARBAGE.0;
        self.table.sort() && !self.table.writes.last().is_some_and(has_garbage)
    }

    fn lead(
        &mut self,
        at: usize,
        (key, value): (u64, u64),
        is_unique: bool,
        to: &mut PreparedHistory,
    ) {
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

/// Whether a record that was loaded before everything else is deleted later, so that whoever
/// misses it can only have seen the deletion.
fn absence_is_written(record: RecordOperations, to: &PreparedHistory) -> bool {
    let is_deletion =
        |one: &KeyedOperation| one.write() != Write::No && one.written() == WrittenValue::ABSENT.0;
    if !record.iter().any(is_deletion) {
        return false;
    }
    let mut operations = record.iter();
    let (Some(first), Some(second)) = (operations.next(), operations.next()) else { return false };
    let is_load = first.write() == Write::Done && !first.has_read();
    let distance = to.clocks.greatest.saturating_mul(2);
    let is_before = first.ended.saturating_add(distance) < second.started;
    is_load && is_before && !is_deletion(first)
}

/// What the operation `at` wrote.
fn version(value: u64, at: u32, operation: &Prepared, clocks: &Clocks) -> RecordVersion {
    let late = clocks.late(operation.ended, operation.agent);
    RecordVersion {
        value,
        early: clocks.early(operation.started, operation.agent),
        late,
        known: late,
        writer: at,
        knower: at,
        session: operation.session,
        agent: operation.agent,
        is_done: operation.is_done,
        ..absence()
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
        is_read: from.has_read(),
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

/// The values of one record in rising order, each with its write.
///
/// Operations that begin one after another mostly write rising values, and read those written last:
/// so the values are nearly in order when they come, and each is found near the one before.
#[derive(Default)]
struct ValueTable {
    writes: Vec<(u64, u32)>,
    /// Where the last value was found.
    last: usize,
}

impl ValueTable {
    /// Puts the writes in order; whether their values are all different.
    fn sort(&mut self) -> bool {
        radix::sort_by_key(&mut self.writes, |write| write.0);
        self.last = 0;
        self.writes.is_sorted_by(|one, other| one.0 < other.0)
    }

    /// The write of this value, looked for from the last place in growing strides, then by halves.
    fn find(&mut self, value: u64) -> Option<u32> {
        let writes = &self.writes[..];
        let (mut low, mut high, mut stride) = (self.last, self.last, 1);
        while low > 0 && writes[low].0 > value {
            (high, low) = (low, low.saturating_sub(stride));
            stride *= 2;
        }
        while high < writes.len() && writes[high].0 < value {
            (low, high) = (high, (high + stride).min(writes.len()));
            stride *= 2;
        }
        let end = (high + 1).min(writes.len());
        let place = low + writes[low..end].partition_point(|write| write.0 < value);
        let found = writes.get(place).filter(|write| write.0 == value)?;
        self.last = place;
        Some(found.1)
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Seed;

    use super::*;

    #[test]
    fn each_value_is_found_from_wherever_the_last_one_was() {
        for (size, is_shuffled) in [(1, false), (2, true), (3, true), (100, false), (2_000, true)] {
            let mut draws = Seed(size).draws(1, 0);
            let mut writes: Vec<_> = (0..size).map(|write| (2 * write + 1, write as u32)).collect();
            for last in (1..writes.len()).rev().filter(|_| is_shuffled) {
                writes.swap(last, draws.below(last as u64 + 1) as usize);
            }
            let mut table = ValueTable { writes, last: 0 };
            assert!(table.sort());
            for _ in 0..1_000 {
                let value = draws.below(2 * size + 2);
                let write = (value % 2 == 1 && value < 2 * size).then_some((value / 2) as u32);
                assert_eq!(table.find(value), write, "{value} among {size}");
            }
            table.writes.push((1, 0));
            assert!(!table.sort(), "a value that is there twice");
        }
    }
}
