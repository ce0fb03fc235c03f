//! Verdicts on linearizability and 2-atomicity, with the greatest Γ and Δ.

use assay_model::Nanos;

use crate::quality::Quality;
use crate::register::ViolationTimes;
use crate::register::agents::AgentZones;
use crate::register::collector::ViolationCollector;
use crate::register::prepared::{PreparedHistory, RecordGroup, reported};
use crate::register::staleness::ReadTrials;
use crate::register::two_atomic::{ReadStarts, chunks, is_two_atomic};
use crate::register::zones::{Conflict, Zones};
use crate::verdict::{Anomaly, Edges, Limitation, QualityFinding, VersionOrder, Witness};

/// What zones say about a history.
#[derive(Clone, Debug)]
pub struct AtomicityFindings {
    /// Verdicts on linearizability and 2-atomicity.
    pub findings: Vec<QualityFinding>,
    /// When their violations happened.
    pub times: Vec<ViolationTimes>,
    /// The greatest Γ (Golab et al. 2014): by how much intervals would have to grow in all, start
    /// and end together, until the history is linearizable. Zero if it is. Reads that nobody can
    /// explain are left out.
    pub gamma: Nanos,
    /// Δ (Golab et al. 2011): by how much reads would have to start earlier. With several clocks,
    /// the least that is certain.
    pub delta: Nanos,
}

/// Verdicts by zones, record by record.
///
/// Where writes change single fields, zones do not hold: linearizability is then violated by reads
/// that nobody can explain or that are certainly stale, and a silence is no verdict.
pub fn judge_zones(prepared: &PreparedHistory) -> AtomicityFindings {
    let mut pass = AtomicityPass::default();
    pass.add(prepared);
    pass.finish(prepared)
}

/// Atomicity, judged over one part of the records after another.
#[derive(Default)]
pub(super) struct AtomicityPass {
    zones: Zones,
    agents: AgentZones,
    trials: ReadTrials,
    conflicts: Vec<Conflict>,
    linearizable: ViolationCollector,
    two_atomic: ViolationCollector,
    /// Reads of records that have writes.
    reads: u64,
    gamma: u64,
    delta: u64,
}

impl AtomicityPass {
    pub(super) fn add(&mut self, prepared: &PreparedHistory) {
        for group in prepared.groups.iter().filter(|group| group.versions.len() > 1) {
            let operations = &prepared.operations[group.operations.clone()];
            self.reads += operations.iter().map(|one| u64::from(one.is_read)).sum::<u64>();
            match prepared.history.writes_whole_records {
                true => self.group(prepared, group),
                false => self.stale_fields(prepared, group),
            }
        }
    }

    fn group(&mut self, prepared: &PreparedHistory, group: &RecordGroup) {
        self.conflicts.clear();
        if !prepared.clocks.is_one {
            let conflicts = &mut self.conflicts;
            self.agents.conflicts(prepared, group, |conflict| conflicts.push(conflict));
            for conflict in std::mem::take(&mut self.conflicts) {
                self.gamma = self.gamma.max(conflict.gamma);
                add(&mut self.linearizable, prepared, group.key, &conflict);
            }
        }
        self.zones.load(prepared, group);
        let conflicts = &mut self.conflicts;
        self.zones.conflicts(|conflict| conflicts.push(conflict));
        if self.conflicts.is_empty() {
            return;
        }
        for conflict in &self.conflicts {
            self.delta = self.delta.max(conflict.delta);
            if prepared.clocks.is_one {
                self.gamma = self.gamma.max(conflict.gamma);
                add(&mut self.linearizable, prepared, group.key, conflict);
            }
        }
        self.chunks(prepared, group);
    }

    fn chunks(&mut self, prepared: &PreparedHistory, group: &RecordGroup) {
        let reads = ReadStarts::new(prepared, group);
        for chunk in chunks(&self.zones.zones) {
            if is_two_atomic(&chunk, &reads) {
                continue;
            }
            // Conflicts come in the order in which their second value was known.
            let known = |conflict: &Conflict| conflict.second.known;
            let from = chunk.zones[0].known;
            let begin = self.conflicts.partition_point(|conflict| known(conflict) < from);
            let inside = self.conflicts[begin..].iter();
            let inside = inside.take_while(|conflict| known(conflict) <= chunk.until);
            if let Some(worst) = inside.max_by_key(|conflict| conflict.gamma) {
                add(&mut self.two_atomic, prepared, group.key, worst);
            }
        }
    }

    /// Reads that miss a write although no write of an equal or older number can have hidden it.
    fn stale_fields(&mut self, prepared: &PreparedHistory, group: &RecordGroup) {
        let key = group.key;
        self.trials.each(prepared, group, |trial| {
            let Some(newest) = trial.missed(prepared) else { return };
            let reader = &prepared.operations[trial.reader as usize];
            let version = &prepared.versions[reader.read as usize];
            let missed = &prepared.versions[newest.version as usize];
            let by_order = PreparedHistory::order_margin(group.order, version.low, newest.high);
            let by_time = Nanos((trial.early - newest.late) / 2);
            let operations = [version.writer, missed.writer, trial.reader];
            let kind = (Anomaly::StaleRead, Edges::RealTime);
            self.linearizable.add(reported(reader.started), by_order.min(by_time), || {
                prepared.witness(kind, key, &operations)
            });
        });
    }

    pub(super) fn finish(mut self, prepared: &PreparedHistory) -> AtomicityFindings {
        self.linearizable.include(&prepared.unexplained);
        self.two_atomic.include(&prepared.unexplained);
        let power = prepared.power(self.reads);
        let partial = (!prepared.history.writes_whole_records).then_some(Limitation::PartialWrites);
        let coarse = prepared.clocks.is_coarse.then_some(Limitation::ClockError);
        let silence = prepared.limitation.or(partial).or(coarse);
        let linearizable = (Quality::Linearizable, self.linearizable);
        let two_atomic = (Quality::TwoAtomic, self.two_atomic);
        let (findings, times) = [linearizable, two_atomic]
            .map(|(quality, violations)| {
                violations.finish(quality, VersionOrder::RealTime, power, silence)
            })
            .into_iter()
            .unzip();
        AtomicityFindings { findings, times, gamma: Nanos(self.gamma), delta: Nanos(self.delta) }
    }
}

fn add(
    collector: &mut ViolationCollector,
    prepared: &PreparedHistory,
    key: u64,
    conflict: &Conflict,
) {
    let at = reported(conflict.first.start);
    collector.add(at, Nanos(conflict.gamma / 2), || witness(prepared, key, conflict));
}

/// The writes of both values, then what shows each to come before the other.
fn witness(prepared: &PreparedHistory, key: u64, conflict: &Conflict) -> Witness {
    let first = &prepared.versions[conflict.first.version as usize];
    let second = &prepared.versions[conflict.second.version as usize];
    let kind = if conflict.is_stale() { Anomaly::StaleRead } else { Anomaly::ConflictingOrder };
    let operations = [
        first.writer,
        first.knower,
        second.writer,
        second.knower,
        second.last_reader,
        first.last_reader,
    ];
    prepared.witness((kind, Edges::RealTime), key, &operations)
}
