//! Records of a run as a [`RegisterHistory`], within a bound of memory.
//!
//! Properties of single records are local: a sample of whole records, with every operation on
//! them, shows no violation that the run did not have (Herlihy, Wing 1990). So where there are more
//! operations than may be kept, fewer records are judged, all of each.

use assay_model::seed::mix;
use assay_model::{Kind, Nanos, Outcome, Phase, Reason, Record, version};
use serde::{Deserialize, Serialize};

use crate::register::{Access, RegisterHistory, RegisterOperation, ToldVersions, WrittenValue};

/// A part of the records, by the hash of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordShare {
    /// Which part, from 0.
    pub number: u64,
    /// How many parts there are, at least 1.
    pub of: u64,
}

impl RecordShare {
    /// All records.
    pub const WHOLE: RecordShare = RecordShare { number: 0, of: 1 };

    fn holds(self, hash: u64) -> bool {
        self.of == 1 || hash % self.of == self.number
    }
}

/// What decides in which part and sample a record is. Not of the number itself: `mix` leaves 0 as
/// it is, which no threshold excludes, and record 0 is often the most popular one.
fn hash(key: u64) -> u64 {
    mix(key.wrapping_add(1))
}

/// What must be known of a run beside its records.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// Of which records the operations are kept; others are counted only.
    pub share: RecordShare,
    /// More operations than this are not kept; each takes 64 bytes.
    pub operations_max: usize,
    /// The records that were there when the run began, by their numbers.
    pub loaded: std::ops::Range<u64>,
    /// Whether the load was the last to write them. Else a record may begin with a value of an
    /// earlier run, whose version may be one of this run as well.
    pub is_fresh: bool,
    /// Whether writes replaced whole records.
    pub writes_whole_records: bool,
    /// Whether these have several fields, so that a read may see a part of a write.
    pub may_tear: bool,
}

/// Collects the operations of a run that can be judged.
#[derive(Debug)]
pub struct RecordCollector {
    options: RecordOptions,
    operations: Vec<RegisterOperation>,
    /// Records whose hash is at most this are kept.
    threshold: u64,
    /// Records that were removed, of which no read says which removal it saw.
    removed: Vec<u64>,
    /// When final reads began; never if there are none.
    final_reads_from: Nanos,
    /// What the store told of the records that operations read or wrote, by their numbers.
    told: Vec<(u64, u64)>,
    /// The reads that saw a part of a write, by their numbers.
    torn: Vec<u64>,
    seen: Seen,
}

/// The operations of a run, as far as they can be judged.
#[derive(Debug)]
pub struct Collected {
    /// The operations.
    pub history: RegisterHistory,
    /// The share of the records that were kept, by their hash.
    pub share: f64,
    /// What was seen on the way.
    pub seen: Seen,
}

/// How many operations there were of each sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Reads, inserts, updates of single records by key.
    pub of_records: u64,
    /// Reads that returned a version, or writes that wrote one.
    pub with_version: u64,
    /// Reads that found a record whose values carry no version.
    pub without_version: u64,
    /// Writes of values that are too short to carry a version.
    pub unversioned_writes: u64,
    /// Scans, queries and others that are about several records.
    pub others: u64,
    /// Records that are left out because they were removed.
    pub removed: u64,
    /// Records that are left out because they began with a value that cannot be told from one of
    /// this run.
    pub ambiguous: u64,
    /// Operations of single records that were refused.
    pub refused: u64,
    /// Those whose outcome nobody knows.
    pub unknown: u64,
}

impl Seen {
    /// Adds what was seen of another part of the operations.
    pub fn add(&mut self, other: &Seen) {
        self.merge(other);
        self.of_records += other.of_records;
        self.others += other.others;
        self.refused += other.refused;
        self.unknown += other.unknown;
    }

    /// Adds what was seen of another part of the records, of which only those that were left out
    /// and the versions are of that part alone.
    pub fn merge(&mut self, other: &Seen) {
        self.with_version += other.with_version;
        self.without_version += other.without_version;
        self.unversioned_writes += other.unversioned_writes;
        self.removed += other.removed;
        self.ambiguous += other.ambiguous;
    }
}

impl RecordCollector {
    /// A collector without operations.
    pub fn new(options: RecordOptions) -> RecordCollector {
        RecordCollector {
            options,
            operations: Vec::new(),
            threshold: u64::MAX,
            removed: Vec::new(),
            final_reads_from: Nanos::NEVER,
            told: Vec::new(),
            torn: Vec::new(),
            seen: Seen::default(),
        }
    }

    /// Adds records of `agent`, in any order.
    pub fn add(&mut self, agent: u16, records: &[Record]) {
        for record in records {
            if record.outcome == Outcome::Dropped {
                continue;
            }
            if record.statement > 0 || matches!(record.kind, Kind::Scan) {
                self.seen.others += 1;
                continue;
            }
            if !Kind::OF_RECORDS.contains(&record.kind) {
                continue;
            }
            if record.phase == Phase::Final {
                self.final_reads_from = self.final_reads_from.min(record.started);
            }
            self.seen.of_records += 1;
            self.seen.refused += u64::from(record.outcome == Outcome::Refused);
            self.seen.unknown += u64::from(record.outcome == Outcome::Unknown);
            let hash = hash(record.key);
            if hash > self.threshold || !self.options.share.holds(hash) {
                continue;
            }
            if record.kind == Kind::Delete {
                self.removed.push(record.key);
                continue;
            }
            let Some(access) = self.access(record) else { continue };
            if record.reason == Reason::Torn {
                self.torn.push(record.index);
            }
            self.operations.push(RegisterOperation {
                node: record.node,
                index: record.index,
                key: record.key,
                session: session(agent, record.session),
                agent,
                started: record.started,
                ended: record.ended,
                outcome: record.outcome,
                access,
            });
            if self.operations.len() > self.options.operations_max {
                self.halve();
            }
        }
    }

    /// Says when final reads began, where the first of them may be given to another collector.
    pub fn expect_final_reads(&mut self, from: Nanos) {
        self.final_reads_from = self.final_reads_from.min(from);
    }

    /// Adds the store's own version of the record that operation `index` read or wrote.
    pub fn tell(&mut self, index: u64, version: u64) {
        self.told.push((index, version));
    }

    /// What `record` did; nothing if it did nothing, or nobody can say what.
    fn access(&mut self, record: &Record) -> Option<Access> {
        if record.kind.writes() {
            let is_missed = record.outcome == Outcome::Done && !record.found;
            // A refused write has no version in its record, but its value had one.
            let written = match record.outcome {
                Outcome::Refused if record.bytes > 0 => version::written(record.index),
                _ => record.version_written,
            };
            if is_missed {
                return None;
            }
            if written == version::NONE {
                self.seen.unversioned_writes += 1;
                return None;
            }
            self.seen.with_version += 1;
            return Some(Access::Write(WrittenValue(written)));
        }
        if record.outcome != Outcome::Done {
            return None;
        }
        match (record.found, record.version_read) {
            (false, _) => Some(Access::Read(WrittenValue::ABSENT)),
            (true, version::NONE) => {
                self.seen.without_version += 1;
                Some(Access::Read(WrittenValue::GARBAGE))
            }
            (true, version) => {
                self.seen.with_version += 1;
                Some(Access::Read(WrittenValue(version)))
            }
        }
    }

    /// Keeps half of the records.
    fn halve(&mut self) {
        self.threshold /= 2;
        let threshold = self.threshold;
        self.operations.retain(|operation| hash(operation.key) <= threshold);
        self.removed.retain(|key| hash(*key) <= threshold);
    }

    /// The history of what was added.
    ///
    /// Records that were removed are left out, and those that began with a value of an earlier run
    /// which may be one of this run as well. Every loaded record gets a write before the run.
    pub fn finish(mut self) -> Collected {
        self.removed.sort_unstable();
        self.removed.dedup();
        let removed = std::mem::take(&mut self.removed);
        self.operations.retain(|operation| removed.binary_search(&operation.key).is_err());
        self.seen.removed = removed.len() as u64;
        self.operations.sort_unstable_by_key(|operation| (operation.key, operation.started));
        let (mut firsts, mut ambiguous) = (Vec::new(), Vec::new());
        for record in self.operations.chunk_by(|one, other| one.key == other.key) {
            match self.first_value(record) {
                Some(WrittenValue::ABSENT) => {}
                Some(first) => firsts.push(first_write(first, &record[0])),
                None => ambiguous.push(record[0].key),
            }
        }
        self.seen.ambiguous = ambiguous.len() as u64;
        if !ambiguous.is_empty() {
            self.operations.retain(|operation| ambiguous.binary_search(&operation.key).is_err());
        }
        let mut operations = self.operations;
        operations.reserve_exact(firsts.len());
        operations.append(&mut firsts);
        Collected {
            history: RegisterHistory {
                told: told(std::mem::take(&mut self.told), &operations),
                torn: self.options.may_tear.then(|| {
                    let mut torn = std::mem::take(&mut self.torn);
                    torn.sort_unstable();
                    torn
                }),
                operations,
                has_final_reads: self.final_reads_from != Nanos::NEVER,
                final_reads_from: self.final_reads_from,
                writes_whole_records: self.options.writes_whole_records,
            },
            share: (self.threshold as f64 + 1.0) / u64::MAX as f64,
            seen: self.seen,
        }
    }

    /// The value that a record had when the run began; `None` if nobody can say.
    fn first_value(&self, operations: &[RegisterOperation]) -> Option<WrittenValue> {
        let key = operations.first()?.key;
        let loaded = match self.options.loaded.contains(&key) {
            true => WrittenValue(version::loaded(key)),
            false => WrittenValue::ABSENT,
        };
        // What an earlier run inserted, a load leaves as it is.
        if self.options.is_fresh && loaded != WrittenValue::ABSENT {
            return Some(loaded);
        }
        let mut written: Vec<(WrittenValue, Nanos)> = operations
            .iter()
            .filter_map(|operation| match operation.access {
                Access::Write(value) => Some((value, operation.started)),
                _ => None,
            })
            .collect();
        written.sort_unstable();
        // From here on the first value has certainly been replaced.
        let is_done = |one: &&RegisterOperation| {
            one.outcome == Outcome::Done && matches!(one.access, Access::Write(_))
        };
        let replaced = operations.iter().filter(is_done).map(|one| one.ended).min();
        let replaced = replaced.unwrap_or(Nanos::NEVER);
        // Values that no write of this run explains are of an earlier one, if they were read before
        // any write of this run had certainly replaced them; else another run may be at work.
        let mut earlier = None;
        for operation in operations {
            let Access::Read(read) = operation.access else { continue };
            let may_be_first = operation.started <= replaced;
            // An earlier run left nothing that hides an acknowledged write: the record is lost.
            if read == WrittenValue::ABSENT && !may_be_first {
                continue;
            }
            match written.binary_search_by_key(&read, |(value, _)| *value) {
                Ok(place) if operation.ended < written[place].1 => return None,
                // The value of an earlier run may have the same version.
                Ok(_) if earlier.is_none() && may_be_first && !self.options.is_fresh => {
                    return None;
                }
                Ok(_) => {}
                Err(_) if earlier.is_some_and(|value| value != read) => return None,
                Err(_) if earlier.is_none() && !may_be_first && !self.options.is_fresh => {
                    return None;
                }
                Err(_) => earlier = Some(read),
            }
        }
        Some(earlier.unwrap_or(loaded))
    }
}

/// What the store told of the versions that operations read or wrote.
fn told(mut said: Vec<(u64, u64)>, operations: &[RegisterOperation]) -> ToldVersions {
    let mut told = ToldVersions::default();
    said.sort_unstable();
    for operation in operations.iter().filter(|operation| operation.outcome == Outcome::Done) {
        let (Access::Read(value) | Access::Write(value)) = operation.access else { continue };
        if let Ok(place) = said.binary_search_by_key(&operation.index, |(index, _)| *index) {
            told.add(operation.key, value, said[place].1);
        }
    }
    told
}

/// A number for the session of an agent, of whose sessions each must keep its own: those of an open
/// loop are as many as its processes, and two under one number would look like one that forgets.
fn session(agent: u16, session: u32) -> u32 {
    u32::from(agent) << 24 ^ session
}

/// The write of the value that a record had when the run began, of whose operations `some` is one.
fn first_write(first: WrittenValue, some: &RegisterOperation) -> RegisterOperation {
    RegisterOperation {
        node: 0,
        index: u64::MAX,
        session: u32::MAX,
        started: Nanos::ZERO,
        ended: Nanos::ZERO,
        outcome: Outcome::Done,
        access: Access::Write(first),
        ..*some
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: RecordOptions = RecordOptions {
        share: RecordShare::WHOLE,
        operations_max: 1000,
        loaded: 0..10,
        is_fresh: true,
        writes_whole_records: true,
        may_tear: true,
    };

    fn read(key: u64, version: u64, started: u64) -> Record {
        let (started, ended) = (Nanos(started), Nanos(started + 5));
        Record { key, version_read: version, started, ended, found: true, ..Record::BLANK }
    }

    fn update(key: u64, index: u64, started: u64) -> Record {
        let record = read(key, version::NONE, started);
        let version_written = version::written(index);
        Record { index, kind: Kind::Update, version_written, bytes: 100, ..record }
    }

    fn collected(options: RecordOptions, records: &[Record]) -> Collected {
        let mut collector = RecordCollector::new(options);
        collector.add(0, records);
        let mut collected = collector.finish();
        collected.history.operations.sort_by_key(|operation| (operation.key, operation.started));
        collected
    }

    #[test]
    fn a_loaded_record_begins_with_its_load() {
        let result = collected(FRESH, &[read(3, version::loaded(3), 7), update(12, 1, 8)]);
        let accesses: Vec<_> =
            result.history.operations.iter().map(|one| (one.key, one.access)).collect();
        let loaded = WrittenValue(version::loaded(3));
        let written = WrittenValue(version::written(1));
        assert_eq!(
            accesses,
            [(3, Access::Write(loaded)), (3, Access::Read(loaded)), (12, Access::Write(written))]
        );
    }

    #[test]
    fn the_value_of_a_refused_write_is_known() {
        let refused = Record {
            outcome: Outcome::Refused,
            version_written: version::NONE,
            found: false,
            ..update(12, 4, 1)
        };
        let result = collected(FRESH, &[refused]);
        let access = result.history.operations[0].access;
        assert_eq!(access, Access::Write(WrittenValue(version::written(4))));
    }

    #[test]
    fn an_update_that_met_no_record_wrote_nothing() {
        let missed = Record { found: false, ..update(12, 4, 1) };
        assert!(collected(FRESH, &[missed]).history.operations.is_empty());
    }

    #[test]
    fn a_record_that_was_removed_is_left_out_whole() {
        let removal = Record { kind: Kind::Delete, ..read(3, version::NONE, 9) };
        let result = collected(FRESH, &[read(3, 4, 7), removal, read(4, 5, 7)]);
        assert!(result.history.operations.iter().all(|operation| operation.key == 4));
        assert_eq!(result.seen.removed, 1);
    }

    #[test]
    fn a_value_of_an_earlier_run_is_where_its_record_begins() {
        let used = RecordOptions { is_fresh: false, ..FRESH };
        let earlier = version::written(900);
        let result = collected(used.clone(), &[read(3, earlier, 7), update(3, 1, 20)]);
        assert_eq!(result.history.operations[0].access, Access::Write(WrittenValue(earlier)));
        // The same version before this run's write of it: nobody can tell the two apart.
        let result = collected(used, &[read(3, version::written(1), 7), update(3, 1, 20)]);
        assert!(result.history.operations.is_empty());
        assert_eq!(result.seen.ambiguous, 1);
    }

    #[test]
    fn a_record_that_is_missing_after_a_write_is_judged_whatever_ran_before() {
        let used = RecordOptions { is_fresh: false, ..FRESH };
        let missed = Record { found: false, phase: Phase::Final, ..read(3, version::NONE, 40) };
        let result = collected(used.clone(), &[update(3, 1, 20), missed]);
        assert_eq!((result.seen.ambiguous, result.history.operations.len()), (0, 3));
        // Before any write it says how the record began: some run has removed it.
        let missed = Record { found: false, ..read(3, version::NONE, 7) };
        let result = collected(used, &[missed, update(3, 1, 20), read(3, version::written(1), 40)]);
        let written = |one: &&RegisterOperation| matches!(one.access, Access::Write(_));
        assert_eq!(result.history.operations.iter().filter(written).count(), 1);
    }

    #[test]
    fn a_value_that_another_run_wrote_meanwhile_makes_its_record_ambiguous() {
        let used = RecordOptions { is_fresh: false, ..FRESH };
        let foreign = version::written(900);
        // An acknowledged write had replaced whatever was there before.
        let result = collected(used.clone(), &[update(3, 1, 20), read(3, foreign, 40)]);
        assert!(result.history.operations.is_empty());
        // What a refused write of this run would have written, an earlier run has.
        let refused = Record {
            outcome: Outcome::Refused,
            version_written: version::NONE,
            found: false,
            ..update(3, 4, 20)
        };
        let result = collected(used, &[refused, read(3, version::written(4), 40)]);
        assert!(result.history.operations.is_empty());
        assert_eq!(result.seen.ambiguous, 1);
    }

    #[test]
    fn final_reads_are_judged_from_the_first_of_them_on() {
        let written = version::written(1);
        let last = Record { phase: Phase::Final, ..read(3, version::loaded(3), 90) };
        let records = [update(3, 1, 20), update(4, 2, 21), read(4, version::loaded(4), 40), last];
        let history = collected(FRESH, &records).history;
        assert_eq!((history.has_final_reads, history.final_reads_from), (true, Nanos(90)));
        let report = crate::register::judge(&history, &crate::ClockError::NONE);
        // Record 4 has the same anomaly, but was not read when the store was at rest.
        let lost: Vec<_> =
            report.lost_writes.operations.iter().map(|write| (write.key, write.access)).collect();
        assert_eq!(lost, [(3, Access::Write(WrittenValue(written)))]);
        assert!(!collected(FRESH, &records[..3]).history.has_final_reads);
    }

    #[test]
    fn an_open_loop_of_many_processes_has_as_many_sessions() {
        let of = |session| Record { session, ..read(3, version::loaded(3), 7) };
        let history = collected(FRESH, &[of(1), of(1 << 24 | 1)]).history;
        assert_ne!(history.operations[1].session, history.operations[2].session);
    }

    #[test]
    fn fewer_records_are_kept_whole_where_there_are_too_many_operations() {
        let records: Vec<Record> =
            (0..4000).map(|n| read(n % 100, version::loaded(n % 100), n)).collect();
        let options = RecordOptions { loaded: 0..100, ..FRESH };
        let result = collected(options, &records);
        let operations = &result.history.operations;
        assert!(operations.len() <= 1025 && operations.len() > 200, "{}", operations.len());
        for record in operations.chunk_by(|one, other| one.key == other.key) {
            assert_eq!(record.len(), 41, "40 reads behind the load");
        }
        assert!(result.share < 0.3 && result.share > 0.1, "{}", result.share);
        assert_eq!(result.seen.of_records, 4000);
    }

    #[test]
    fn a_record_with_too_many_operations_is_left_out_once() {
        let records: Vec<Record> = (0..5000).map(|n| read(0, version::loaded(0), n)).collect();
        let mut collector = RecordCollector::new(FRESH);
        collector.add(0, &records);
        assert!(collector.operations.len() <= 1000, "{}", collector.operations.len());
    }

    #[test]
    fn what_the_store_tells_is_about_the_value_that_was_read_or_written() {
        let mut collector = RecordCollector::new(FRESH);
        let reader = Record { index: 9, ..read(3, version::written(1), 20) };
        collector.add(0, &[update(3, 1, 8), reader, update(3, 2, 30)]);
        for (index, version) in [(1, 70), (9, 70), (2, 80)] {
            collector.tell(index, version);
        }
        let told = collector.finish().history.told;
        let number = |index| told.number(3, WrittenValue(version::written(index)));
        assert_eq!([1, 2, 3].map(number), [Some(70), Some(80), None]);
    }
}
