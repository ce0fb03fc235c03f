//! Operations on single records, each a register of unique values, and all verdicts on them.

mod agents;
mod collector;
mod guarantee;
mod keyed;
mod linearizable;
mod lost;
mod merge;
mod observers;
mod order;
mod partition;
mod prepare;
mod prepared;
mod radix;
mod resolve;
mod sessions;
mod staleness;
mod successors;
mod two_atomic;
mod zones;

pub use linearizable::{AtomicityFindings, judge_zones};
pub use lost::{LostWriteWindow, LostWrites, judge_lost_writes};
pub use prepare::{MAX_OPERATIONS, prepare};
pub use prepared::PreparedHistory;
pub use sessions::{SessionFindings, judge_sessions};
pub use staleness::{
    DurationBin, RegisterStaleness, VERSIONS_BEHIND, VisibilityBin, measure_staleness,
};

use std::collections::{HashMap, HashSet};

use assay_model::{Nanos, Outcome};
use serde::{Deserialize, Serialize};

use crate::clock::ClockError;
use crate::quality::Quality;
use crate::register::linearizable::AtomicityPass;
use crate::register::lost::LostWritePass;
use crate::register::prepare::each_part;
use crate::register::sessions::SessionPass;
use crate::register::staleness::StalenessPass;
use crate::verdict::{Anomaly, Edges, QualityFinding, VerdictPower, VersionOrder, Witness};

/// A value, as the number of the write that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WrittenValue(pub u64);

impl WrittenValue {
    /// There was no record.
    pub const ABSENT: WrittenValue = WrittenValue(0);
    /// Something that no write of the run can have written.
    pub const GARBAGE: WrittenValue = WrittenValue(u64::MAX);
}

/// What an operation did to its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Access {
    /// It returned this value.
    Read(WrittenValue),
    /// It wrote this value.
    Write(WrittenValue),
    /// It read one value, then wrote another, both between its start and its end.
    ReadThenWrite {
        /// The value it returned.
        read: WrittenValue,
        /// The value it wrote.
        written: WrittenValue,
    },
}

impl Access {
    /// Whether it wrote.
    pub fn writes(&self) -> bool {
        !matches!(self, Access::Read(_))
    }
}

/// One operation on one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterOperation {
    /// Its number in the history, for witnesses.
    pub index: u64,
    /// The record.
    pub key: u64,
    /// The session that issued it, one operation at a time.
    pub session: u32,
    /// The agent whose clock timed it.
    pub agent: u16,
    /// The node that answered, by its place in the run's list of nodes plus one; 0 if nobody said.
    pub node: u8,
    /// When the request left.
    pub started: Nanos,
    /// When the answer came. Of no meaning unless the outcome is [`Outcome::Done`].
    pub ended: Nanos,
    /// Whether it happened. Dropped operations are never part of a history.
    pub outcome: Outcome,
    /// What it did.
    pub access: Access,
}

/// The operations of a run on single records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegisterHistory {
    /// The operations in any order.
    pub operations: Vec<RegisterOperation>,
    /// Whether the last read of each record came after everything else, when the store was at
    /// rest and healthy, so that what is missing then is lost.
    pub has_final_reads: bool,
    /// Reads that began before this are none of those: a record without one is not judged.
    pub final_reads_from: Nanos,
    /// Whether writes replaced whole records. Else a read's value is the newest, by number, of the
    /// versions that its fields hold, and numbers grow with the intended time.
    pub writes_whole_records: bool,
    /// Versions of records as the store itself counts them.
    pub told: ToldVersions,
    /// The reads that saw a part of a write, by their numbers in rising order; nothing where no
    /// read could, because records have one field or writes leave some as they are.
    pub torn: Option<Vec<u64>>,
}

/// The order of the versions of some records, told by the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToldVersions {
    /// By record and value the store's number of that version.
    numbers: HashMap<(u64, WrittenValue), u64>,
    /// Records of which the store has told two numbers of one version.
    contradicted: HashSet<u64>,
}

impl ToldVersions {
    /// Adds that the store has said this of `value` of record `key`.
    pub fn add(&mut self, key: u64, value: WrittenValue, number: u64) {
        let known = *self.numbers.entry((key, value)).or_insert(number);
        if known != number {
            self.contradicted.insert(key);
        }
    }

    /// The store's number of that version of the record; nothing where it contradicts itself.
    pub(crate) fn number(&self, key: u64, value: WrittenValue) -> Option<u64> {
        let number = self.numbers.get(&(key, value)).copied();
        number.filter(|_| !self.contradicted.contains(&key))
    }

    /// Whether it knows nothing.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

/// How many violations of a quality happened in each second of the run that has some.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViolationTimes {
    /// The quality.
    pub quality: Quality,
    /// Seconds since the run's epoch with their numbers of violations, by time.
    pub per_second: Vec<(u64, u64)>,
}

/// All that a history of single records says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegisterReport {
    /// A finding for each quality of single records and sessions but causality.
    pub findings: Vec<QualityFinding>,
    /// When their violations happened, in the same order.
    pub times: Vec<ViolationTimes>,
    /// How stale reads were.
    pub staleness: RegisterStaleness,
    /// By how much intervals would have to grow in all until the history is linearizable.
    pub gamma: Nanos,
    /// By how much reads would have to start earlier.
    pub delta: Nanos,
    /// The acknowledged writes that were lost.
    pub lost_writes: LostWrites,
    /// What was judged and of what outcome nobody knows, whatever the verdicts.
    pub power: VerdictPower,
    /// Records of which nothing is said as a value was written twice.
    pub duplicate_keys: Vec<u64>,
}

impl RegisterReport {
    /// The finding on this quality, if it is one of single records or sessions.
    pub fn finding(&self, quality: Quality) -> Option<&QualityFinding> {
        self.findings.iter().find(|finding| finding.quality == quality)
    }
}

/// Judges a history of single records: sorts it once, then lets each checker pass over one batch
/// of records after another, while it is in the cache.
///
/// Besides the history it takes 48 bytes per operation, 36 per read, about 200 per session, and
/// some hundred per operation of one batch: about 4,096 operations, or all of a more popular
/// record; 4 more per operation of sessions whose operations overlap or are not in order of time,
/// 24 while that is worked out. A record in which a value was written twice is left out of all
/// verdicts but that on garbage reads.
///
/// # Panics
///
/// If there is not that much memory.
pub fn judge(history: &RegisterHistory, error: &ClockError) -> RegisterReport {
    let mut atomicity = AtomicityPass::default();
    let mut sessions = SessionPass::default();
    let mut staleness = StalenessPass::default();
    let mut lost_writes = LostWritePass::default();
    let prepared = each_part(history, error, |part| {
        atomicity.add(part);
        sessions.add(part);
        staleness.add(part);
        lost_writes.add(part);
    });
    let garbage = judge_garbage_reads(&prepared);
    let torn = history.torn.as_ref().map(|torn| judge_torn_reads(&prepared, torn));
    let power = prepared.power(0);
    let (lost, lost_times, lost_writes) = lost_writes.finish(&prepared);
    let atomicity = atomicity.finish(&prepared);
    let sessions = sessions.finish(&prepared);
    let (torn, torn_times) = torn.unzip();
    let findings = [garbage.0, lost].into_iter().chain(torn);
    let findings = findings.chain(atomicity.findings).chain(sessions.findings).collect();
    let times = [garbage.1, lost_times].into_iter().chain(torn_times);
    let times = times.chain(atomicity.times).chain(sessions.times).collect();
    RegisterReport {
        findings,
        times,
        staleness: staleness.finish(&prepared),
        gamma: atomicity.gamma,
        delta: atomicity.delta,
        lost_writes,
        power,
        duplicate_keys: prepared.duplicate_keys,
    }
}

/// Linearizability and 2-atomicity alone, in less time and memory than all that [`judge`] says.
///
/// # Panics
///
/// If there is not that much memory.
pub fn judge_atomicity(history: &RegisterHistory, error: &ClockError) -> AtomicityFindings {
    let mut atomicity = AtomicityPass::default();
    let prepared = each_part(history, error, |part| atomicity.add(part));
    atomicity.finish(&prepared)
}

/// The verdict on reads that saw a part of a write: as if each write were a transaction of the
/// fields that it wrote.
fn judge_torn_reads(prepared: &PreparedHistory, torn: &[u64]) -> (QualityFinding, ViolationTimes) {
    let mut violations = collector::ViolationCollector::default();
    let is_torn = |read: &&RegisterOperation| {
        matches!(read.access, Access::Read(_)) && torn.binary_search(&read.index).is_ok()
    };
    for read in prepared.history.operations.iter().filter(is_torn) {
        violations.add(read.ended, Nanos::ZERO, || {
            let kind = (Anomaly::FracturedRead, Edges::Data);
            Witness::new(kind, read.key, vec![read.index], Nanos::ZERO)
        });
    }
    let power = prepared.power(prepared.reads);
    violations.finish(Quality::ReadAtomic, VersionOrder::NotNeeded, power, None)
}

/// The verdict on reads that nobody can explain: garbage, aborted and future reads.
pub fn judge_garbage_reads(prepared: &PreparedHistory) -> (QualityFinding, ViolationTimes) {
    let power = prepared.power(prepared.reads);
    let mut violations = collector::ViolationCollector::default();
    violations.include(&prepared.unexplained);
    let silence = prepared.limitation;
    violations.finish(Quality::NoGarbageReads, VersionOrder::NotNeeded, power, silence)
}
