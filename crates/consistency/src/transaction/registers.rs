//! Registers: version orders from what the store told, or from what each write replaced.
//!
//! Versions that the store tells are trusted, if each committed write of the record has one. Else a
//! write replaces the version that its transaction had read before (*mini-transactions*: MTC, Tan
//! et al., *Mini-Transactions for Isolation Checking*, 2025). A single write that had read nothing
//! is the first version, as loaders write it. If there are several, the record has no version
//! order: edges from what is known are used (each version comes after none at all), and a silence
//! about levels that need it says nothing.
//! Choices made:
//!
//! * An order is never derived from real time or from sessions: that would assume what is judged.
//! * Two writes that replaced the same version are a lost update, which each level that forbids it
//!   forbids in either order; their order is left open.
//! * A transaction whose outcome is unknown counts as committed if its write was read; then the
//!   version that it replaced is used too, its other reads are not.
//!
//! Time: linear in the steps, plus sorting.

use assay_model::Outcome;

use crate::register::WrittenValue;
use crate::transaction::facts::{Facts, RegisterRead, RegisterWrite, group};
use crate::transaction::graph::sort;
use crate::transaction::log::Log;
use crate::transaction::order::{Dependencies, NOBODY, SourceRead};
use crate::verdict::{Anomaly, VersionOrder};

/// A reader of a version that was replaced several times gets an edge to the first few of the
/// replacements: these are lost updates, and readers times replacements must not explode.
const REPLACEMENTS: usize = 4;

/// One register: its writes by value, its reads.
pub(super) struct Register<'a> {
    key: u32,
    name: u64,
    writes: &'a [RegisterWrite],
    reads: &'a [RegisterRead],
}

/// The registers of a history.
pub(super) fn all<'a>(facts: &'a Facts) -> Vec<Register<'a>> {
    let (mut write, mut read) = (0, 0);
    let mut registers = Vec::new();
    for key in 0..facts.keys.len() as u32 {
        let writes = group(&facts.writes, &mut write, key, |write| write.key);
        let reads = group(&facts.reads, &mut read, key, |read| read.key);
        if !(writes.is_empty() && reads.is_empty()) {
            registers.push(Register { key, name: facts.keys[key as usize], writes, reads });
        }
    }
    registers
}

impl Register<'_> {
    fn write(&self, value: WrittenValue) -> Option<&RegisterWrite> {
        let place = self.writes.binary_search_by_key(&value, |write| write.value);
        place.ok().map(|place| &self.writes[place])
    }

    /// Judges reads by what was written, and marks those as committed whose writes were read.
    pub fn observe(&self, dependencies: &mut Dependencies, log: &mut Log) {
        let key = self.name;
        for read in self.reads.iter().filter(|read| read.value != WrittenValue::ABSENT) {
            let Some(write) = self.write(read.value) else {
                log.add(Anomaly::GarbageRead, key, &[read.transaction]);
                continue;
            };
            let both = [write.transaction, read.transaction];
            if write.transaction == read.transaction {
                if write.step > read.step {
                    log.add(Anomaly::FutureRead, key, &both[..1]);
                }
            } else if dependencies.outcome(write.transaction) == Outcome::Refused {
                log.add(Anomaly::AbortedRead, key, &both);
            } else {
                dependencies.is_committed[write.transaction as usize] = true;
                if !write.is_last {
                    log.add(Anomaly::IntermediateRead, key, &both);
                }
            }
        }
    }

    /// The committed versions: each transaction's last write.
    fn versions(&self, dependencies: &Dependencies) -> Vec<RegisterWrite> {
        let is_version = |write: &&RegisterWrite| {
            write.is_last && dependencies.is_committed[write.transaction as usize]
        };
        self.writes.iter().filter(is_version).copied().collect()
    }

    /// Committed transactions that read the same version, then replaced it.
    fn check_lost_updates(&self, dependencies: &Dependencies, log: &mut Log) {
        let mut replaced: Vec<(WrittenValue, u32)> = self
            .versions(dependencies)
            .iter()
            .filter_map(|write| Some((write.parent?, write.transaction)))
            .collect();
        replaced.sort_unstable();
        log.add_lost_updates(self.name, &replaced);
    }

    /// Adds the edges, once all that was seen is marked as committed.
    pub fn link(&self, dependencies: &mut Dependencies, log: &mut Log) {
        self.check_lost_updates(dependencies, log);
        let versions = self.versions(dependencies);
        for write in &versions {
            dependencies.writes.push((write.transaction, self.key));
        }
        let (mut steps, order) = order(versions);
        match order {
            Some(order) => dependencies.note_order(order),
            None => dependencies.unordered += 1,
        }
        steps.sort_unstable();
        for (before, after) in &steps {
            if let Some(write) = self.write(*before) {
                dependencies.link(write.transaction, *after, self.key, sort::WW);
            }
        }
        for read in self.reads {
            self.link_read(read, &steps, dependencies);
        }
    }

    fn link_read(
        &self,
        read: &RegisterRead,
        steps: &[(WrittenValue, u32)],
        dependencies: &mut Dependencies,
    ) {
        let version = read.value;
        let source = if version == WrittenValue::ABSENT {
            NOBODY
        } else {
            let Some(write) = self.write(version) else { return };
            if !dependencies.is_committed[write.transaction as usize] {
                return;
            }
            write.transaction
        };
        let (transaction, step, key) = (read.transaction, read.step, self.key);
        dependencies.read(SourceRead { transaction, step, key, source });
        let first = steps.partition_point(|(before, _)| *before < version);
        let replacements = steps[first..].iter().take_while(|(before, _)| *before == version);
        for (_, after) in replacements.take(REPLACEMENTS) {
            dependencies.link(transaction, *after, key, sort::RW);
        }
    }
}

/// Which version was replaced by which transaction's, and the source of this if it is the whole
/// order.
fn order(mut versions: Vec<RegisterWrite>) -> (Vec<(WrittenValue, u32)>, Option<VersionOrder>) {
    let is_told = versions.iter().all(|write| write.version.is_some());
    versions.sort_unstable_by_key(|write| write.version);
    if is_told && versions.windows(2).all(|two| two[0].version < two[1].version) {
        let before = [WrittenValue::ABSENT].into_iter().chain(versions.iter().map(|one| one.value));
        let steps = before.zip(versions.iter().map(|write| write.transaction)).collect();
        return (steps, Some(VersionOrder::ToldByStore));
    }
    let replaced = |write: &RegisterWrite| Some((write.parent?, write.transaction));
    let mut steps: Vec<(WrittenValue, u32)> = versions.iter().filter_map(replaced).collect();
    let has_first = steps.iter().any(|(before, _)| *before == WrittenValue::ABSENT);
    let blind = versions.iter().filter(|write| write.parent.is_none());
    let firsts = usize::from(has_first) + blind.clone().count();
    steps.extend(blind.map(|write| (WrittenValue::ABSENT, write.transaction)));
    steps.sort_unstable();
    let is_chain = steps.windows(2).all(|two| two[0].0 != two[1].0);
    (steps, (firsts <= 1 && is_chain).then_some(VersionOrder::ReadBeforeWrite))
}
