//! Staleness of reads in time and in versions, and the windows in which writes were not seen.
//!
//! *t-visibility* is the probability that a read that begins Δ after a write had ended returns that
//! write or a newer one (Bailis et al., Probabilistically Bounded Staleness, VLDB 2012). We ask
//! each read for the newest acknowledged write that had ended before it began, the one that is
//! hardest to see, so that a read is one trial and old writes, which every read has seen, do not
//! make the curve look better. *k-staleness* is the number of acknowledged writes that are newer
//! than the version read and had ended before the read began. The *age* of a stale read is the time
//! since the first newer write had ended. The *inconsistency window* of a write is the time from
//! its end to the start of the last read that missed it (Bermbach, Tai, MW4SOC 2011); where no
//! later read of the record followed, it may have lasted longer.
//!
//! All are exact where one session writes a record, or the store tells the order. Else a version
//! is newer only if it certainly is ([`crate::register::prepared`]), so staleness is a lower bound
//! and visibility an upper one.
//! With several clocks each distance is shortened by the errors of both.
//! O(n) for records whose writes end in their order, O(n log n) else; 40 bytes per operation of
//! the record at hand.

use std::collections::BTreeMap;

use assay_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::register::prepared::{NONE, PreparedHistory, RecordGroup, reported};
use crate::verdict::VersionOrder;

/// Reads that were this many versions behind or more are counted together.
pub const VERSIONS_BEHIND: usize = 64;

/// How stale reads were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RegisterStaleness {
    /// Reads of a version that somebody wrote, of records that have writes.
    pub reads: u64,
    /// Those that missed a write which had ended before they began.
    pub stale_reads: u64,
    /// Whether all figures are exact: one session wrote each record, or the store told the order of
    /// its versions; by one clock.
    pub is_exact: bool,
    /// Reads by the time since the newest write had ended, without empty bins.
    pub visibility: Vec<VisibilityBin>,
    /// Stale reads by their age.
    pub ages: Vec<DurationBin>,
    /// The age of the stalest read.
    pub oldest: Nanos,
    /// Reads by the number of versions that they were behind: the first are those behind by none,
    /// the last (of [`VERSIONS_BEHIND`] + 1) those behind by that many or more.
    pub versions_behind: Vec<u64>,
    /// The most versions that a read was behind.
    pub most_behind: u64,
    /// Acknowledged writes of which some read began after their end.
    pub writes: u64,
    /// Those of them that a later read missed, by the length of their inconsistency window.
    pub windows: Vec<DurationBin>,
    /// How many windows may have been longer, as no read of the record followed.
    pub open_windows: u64,
    /// The longest window.
    pub longest_window: Nanos,
    /// Stale reads by the second of the run in which they began.
    pub stale_per_second: Vec<(u64, u64)>,
}

/// A point of the curve of visibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisibilityBin {
    /// The least time since the end of the write.
    pub from: Nanos,
    /// The time below which it is.
    pub until: Nanos,
    /// Reads that began so long after the newest write had ended.
    pub reads: u64,
    /// Those that saw it, or a newer version.
    pub visible: u64,
}

/// A number of events by their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurationBin {
    /// The least length.
    pub from: Nanos,
    /// The length below which they are.
    pub until: Nanos,
    /// How many they are.
    pub count: u64,
}

/// Counters of durations in bins of half an octave.
#[derive(Clone, Debug)]
struct HalfOctaves([u64; 128]);

impl Default for HalfOctaves {
    fn default() -> HalfOctaves {
        HalfOctaves([0; 128])
    }
}

impl HalfOctaves {
    fn add(&mut self, duration: u64) {
        self.0[half_octave(duration)] += 1;
    }

    fn bins(&self) -> Vec<DurationBin> {
        let counts = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        counts
            .map(|(bin, &count)| DurationBin { from: lower(bin), until: lower(bin + 1), count })
            .collect()
    }
}

fn half_octave(duration: u64) -> usize {
    if duration < 2 {
        return duration as usize;
    }
    let octave = duration.ilog2();
    2 * octave as usize + (duration >> (octave - 1)) as usize % 2
}

fn lower(bin: usize) -> Nanos {
    match bin {
        0 | 1 => Nanos(bin as u64),
        128.. => Nanos::NEVER,
        _ => Nanos((2 + bin as u64 % 2) << (bin / 2 - 1)),
    }
}

/// An acknowledged write, and the newest of those that ended up to it.
#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    late: u64,
    high: u64,
    newest: NewestWrite,
}

/// A write that a read may have missed.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewestWrite {
    pub(super) late: u64,
    pub(super) high: u64,
    pub(super) version: u32,
}

/// One read beside the newest acknowledged write that had ended before it began.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadTrial {
    pub(super) reader: u32,
    pub(super) early: u64,
    newest: Option<NewestWrite>,
    /// How many acknowledged writes had ended before.
    ended: usize,
}

impl ReadTrial {
    /// The newest write, if the read missed it.
    pub(super) fn missed(&self, prepared: &PreparedHistory) -> Option<NewestWrite> {
        let read = prepared.operations[self.reader as usize].read as usize;
        self.newest.filter(|newest| prepared.versions[read].low < newest.high)
    }
}

/// The reads of one record in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct ReadTrials {
    /// By their ends.
    acknowledged: Vec<Acknowledged>,
    /// Whether writes ended in the order of their versions.
    is_in_order: bool,
    reads: Vec<(u64, u32)>,
}

impl ReadTrials {
    /// Gives each read of a version that somebody wrote.
    pub(super) fn each(
        &mut self,
        prepared: &PreparedHistory,
        group: &RecordGroup,
        mut visit: impl FnMut(ReadTrial),
    ) {
        self.load_writes(prepared, group);
        self.load_reads(prepared, group);
        let mut ended = 0;
        for &(early, reader) in &self.reads {
            while self.acknowledged.get(ended).is_some_and(|write| write.late < early) {
                ended += 1;
            }
            let newest = ended.checked_sub(1).map(|last| self.acknowledged[last].newest);
            visit(ReadTrial { reader, early, newest, ended });
        }
    }

    fn load_writes(&mut self, prepared: &PreparedHistory, group: &RecordGroup) {
        self.acknowledged.clear();
        let (begin, end) = (group.versions.start + 1, group.versions.end);
        for (version, number) in prepared.versions[begin..end].iter().zip(begin as u32..) {
            if version.is_done {
                let (late, high) = (version.late, version.high);
                let newest = NewestWrite { late, high, version: number };
                self.acknowledged.push(Acknowledged { late, high, newest });
            }
        }
        if !self.acknowledged.is_sorted_by_key(|write| write.late) {
            self.acknowledged.sort_by_key(|write| write.late);
        }
        self.is_in_order = self.acknowledged.is_sorted_by_key(|write| write.high);
        let mut newest: Option<NewestWrite> = None;
        for write in &mut self.acknowledged {
            if let Some(newer) = newest.filter(|newest| newest.high > write.high) {
                write.newest = newer;
            }
            newest = Some(write.newest);
        }
    }

    fn load_reads(&mut self, prepared: &PreparedHistory, group: &RecordGroup) {
        self.reads.clear();
        let begin = group.operations.start;
        let operations = &prepared.operations[group.operations.clone()];
        for (operation, number) in operations.iter().zip(begin as u32..) {
            if operation.read != NONE {
                let early = prepared.clocks.early(operation.started, operation.agent);
                self.reads.push((early, number));
            }
        }
        if !prepared.clocks.is_one {
            self.reads.sort_unstable();
        }
    }
}

/// A read that missed a write: what it knew, and how far it got.
#[derive(Clone, Copy, Debug)]
struct StaleRead {
    early: u64,
    low: u64,
    ended: usize,
}

/// Staleness of all records.
pub fn measure_staleness(prepared: &PreparedHistory) -> RegisterStaleness {
    let mut pass = StalenessPass::default();
    pass.add(prepared);
    pass.finish(prepared)
}

/// Staleness, measured over one part of the records after another.
#[derive(Default)]
pub(super) struct StalenessPass {
    read_trials: ReadTrials,
    stale: Vec<StaleRead>,
    /// Of each version, when it was known and when its last read began.
    last_reads: Vec<(u64, u64)>,
    trials: HalfOctaves,
    visible: HalfOctaves,
    ages: HalfOctaves,
    windows: HalfOctaves,
    behind: Vec<u64>,
    per_second: BTreeMap<u64, u64>,
    figures: RegisterStaleness,
}

impl StalenessPass {
    pub(super) fn add(&mut self, prepared: &PreparedHistory) {
        self.behind.resize(VERSIONS_BEHIND + 1, 0);
        for group in prepared.groups.iter().filter(|group| group.versions.len() > 1) {
            self.group(prepared, group);
        }
    }

    pub(super) fn finish(mut self, prepared: &PreparedHistory) -> RegisterStaleness {
        self.behind.resize(VERSIONS_BEHIND + 1, 0);
        let curve = self.trials.0.iter().zip(&self.visible.0).enumerate();
        let bin = |(bin, (&reads, &visible)): (usize, (&u64, &u64))| VisibilityBin {
            from: lower(bin),
            until: lower(bin + 1),
            reads,
            visible,
        };
        let is_exact = prepared.weakest.is_some_and(|weakest| weakest <= VersionOrder::ToldByStore);
        RegisterStaleness {
            is_exact: prepared.clocks.is_one && is_exact,
            visibility: curve.map(bin).filter(|bin| bin.reads > 0).collect(),
            ages: self.ages.bins(),
            windows: self.windows.bins(),
            versions_behind: self.behind,
            stale_per_second: self.per_second.into_iter().collect(),
            ..self.figures
        }
    }

    fn group(&mut self, prepared: &PreparedHistory, group: &RecordGroup) {
        self.stale.clear();
        let (stale, trials, visible) = (&mut self.stale, &mut self.trials, &mut self.visible);
        let mut reads = 0;
        let mut last_read = 0;
        self.read_trials.each(prepared, group, |trial| {
            reads += 1;
            last_read = last_read.max(trial.early);
            let Some(newest) = trial.newest else { return };
            let since = half_octave(trial.early - newest.late);
            trials.0[since] += 1;
            let reader = &prepared.operations[trial.reader as usize];
            let low = prepared.versions[reader.read as usize].low;
            if low < newest.high {
                stale.push(StaleRead { early: trial.early, low, ended: trial.ended });
                let second = reported(reader.started).0 / 1_000_000_000;
                *self.per_second.entry(second).or_default() += 1;
            } else {
                visible.0[since] += 1;
            }
        });
        self.figures.reads += reads;
        self.figures.stale_reads += self.stale.len() as u64;
        self.behind[0] += reads - self.stale.len() as u64;
        if !self.stale.is_empty() {
            self.count_missed();
        }
        self.windows(prepared, group, last_read);
    }

    /// How many writes each stale read missed, and since when.
    fn count_missed(&mut self) {
        if !self.read_trials.is_in_order {
            return self.count_missed_out_of_order();
        }
        let writes = std::mem::take(&mut self.read_trials.acknowledged);
        for at in 0..self.stale.len() {
            let stale = self.stale[at];
            let first = writes.partition_point(|write| write.high <= stale.low);
            let (behind, since) = (stale.ended - first, writes[first].late);
            self.stale_read(behind as u64, stale.early - since);
        }
        self.read_trials.acknowledged = writes;
    }

    fn count_missed_out_of_order(&mut self) {
        let writes = std::mem::take(&mut self.read_trials.acknowledged);
        let mut by_high: Vec<(u64, u64)> =
            writes.iter().map(|write| (write.high, write.late)).collect();
        by_high.sort_unstable();
        let mut first_end: Vec<u64> = by_high.iter().map(|write| write.1).collect();
        for place in (1..first_end.len()).rev() {
            first_end[place - 1] = first_end[place - 1].min(first_end[place]);
        }
        let rank = |high: u64| by_high.partition_point(|write| write.0 <= high);
        let mut counts = vec![0_u64; writes.len() + 1];
        let mut added = 0;
        for at in 0..self.stale.len() {
            let stale = self.stale[at];
            for write in &writes[added..stale.ended] {
                let mut node = rank(write.high);
                while node <= writes.len() {
                    counts[node] += 1;
                    node += node & node.wrapping_neg();
                }
            }
            added = stale.ended;
            let known = rank(stale.low);
            let (mut node, mut older) = (known, 0);
            while node > 0 {
                older += counts[node];
                node -= node & node.wrapping_neg();
            }
            self.stale_read(stale.ended as u64 - older, stale.early - first_end[known]);
        }
        self.read_trials.acknowledged = writes;
    }

    fn stale_read(&mut self, behind: u64, age: u64) {
        self.behind[(behind as usize).min(VERSIONS_BEHIND)] += 1;
        self.ages.add(age);
        self.figures.most_behind = self.figures.most_behind.max(behind);
        self.figures.oldest = self.figures.oldest.max(Nanos(age));
    }

    fn windows(&mut self, prepared: &PreparedHistory, group: &RecordGroup, last_read: u64) {
        let versions = &prepared.versions;
        self.last_reads.clear();
        let by_known = &prepared.by_known[group.versions.clone()];
        self.last_reads.extend(by_known.iter().map(|&number| {
            let version = &versions[number as usize];
            (version.low, version.last_read)
        }));
        if !self.last_reads.is_sorted_by_key(|version| version.0) {
            self.last_reads.sort_unstable_by_key(|version| version.0);
        }
        let mut latest = 0;
        for version in &mut self.last_reads {
            latest = version.1.max(latest);
            version.1 = latest;
        }
        let mut place = 0;
        for write in &self.read_trials.acknowledged {
            let reads = &self.last_reads;
            if self.read_trials.is_in_order {
                while reads.get(place).is_some_and(|version| version.0 < write.high) {
                    place += 1;
                }
            } else {
                place = reads.partition_point(|version| version.0 < write.high);
            }
            let missed = place.checked_sub(1).map_or(0, |place| reads[place].1);
            self.figures.writes += u64::from(last_read > write.late);
            if missed > write.late {
                let length = missed - write.late;
                self.windows.add(length);
                self.figures.open_windows += u64::from(missed == last_read);
                self.figures.longest_window = self.figures.longest_window.max(Nanos(length));
            }
        }
    }
}
