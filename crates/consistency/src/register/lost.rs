//! Acknowledged writes that are gone when everything has come to rest.
//!
//! Of several reads at the end, one at each node for example, that of the oldest version counts:
//! what a node misses then it has lost.
//!
//! The last read of a record, begun after all its acknowledged writes had ended, returns version
//! *v*. An acknowledged write *w* is lost if it certainly comes after *v*: nothing that replaced it
//! can have been *v*. A write that is concurrent with *v*, or whose place nobody knows, may have
//! been replaced by it. Thus after `w x1`, `w x2`, `w x3`, one after another and acknowledged, a
//! last read of 1 shows two lost writes, not one: both had been promised to last until something
//! newer replaced them, and nothing newer is there. (Jepsen's `set-full` asks the same of sets,
//! where nothing replaces anything.)
//!
//! Records that were not read at the end, when the store was at rest, or whose last read nobody can
//! explain, are left out.

use assay_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::quality::Quality;
use crate::register::collector::ViolationCollector;
use crate::register::guarantee::{Guarantee, edges};
use crate::register::prepared::{NONE, Prepared, PreparedHistory, RecordGroup, reported};
use crate::register::{RegisterOperation, ViolationTimes};
use crate::verdict::{Anomaly, Limitation, QualityFinding};

/// Lost writes that ended further apart than this are in different windows: a fault that lasts
/// loses writes every second, if there are any.
const GAP: Nanos = Nanos::from_secs(1);

/// A time in which acknowledged writes were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostWriteWindow {
    /// When the first of them had ended.
    pub first: Nanos,
    /// When the last of them had ended.
    pub last: Nanos,
    /// How many they are.
    pub writes: u64,
}

/// The acknowledged writes that were lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LostWrites {
    /// All of them, by the time of their acknowledgement.
    pub operations: Vec<RegisterOperation>,
    /// When they were acknowledged.
    pub windows: Vec<LostWriteWindow>,
}

/// The verdict on lost writes, when they happened, and which they are.
pub fn judge_lost_writes(
    prepared: &PreparedHistory,
) -> (QualityFinding, ViolationTimes, LostWrites) {
    let mut pass = LostWritePass::default();
    pass.add(prepared);
    pass.finish(prepared)
}

/// Lost writes, looked for in one part of the records after another.
#[derive(Default)]
pub(super) struct LostWritePass {
    lost: Guarantee,
    /// Their places in the history.
    places: Vec<u32>,
}

impl LostWritePass {
    pub(super) fn add(&mut self, prepared: &PreparedHistory) {
        if prepared.history.has_final_reads {
            for group in &prepared.groups {
                let (lost, places) = (&mut self.lost.violations, &mut self.places);
                self.lost.opportunities += judge_group(prepared, group, lost, places);
            }
        }
    }

    pub(super) fn finish(
        self,
        prepared: &PreparedHistory,
    ) -> (QualityFinding, ViolationTimes, LostWrites) {
        let power = prepared.power(self.lost.opportunities);
        let no_reads = (!prepared.history.has_final_reads).then_some(Limitation::NoFinalReads);
        let silence = prepared.limitation.or(no_reads);
        let violations = self.lost.violations;
        let (finding, times) =
            violations.finish(Quality::NoLostWrites, prepared.order(), power, silence);
        let operation = |place: &u32| prepared.history.operations[*place as usize];
        let mut operations: Vec<RegisterOperation> = self.places.iter().map(operation).collect();
        operations.sort_unstable_by_key(|write| (write.ended, write.key, write.index));
        let windows = windows(&operations);
        (finding, times, LostWrites { operations, windows })
    }
}

/// The places of the reads of a record at the end: its last one, and all others that began when
/// the store was at rest, as there may be one at each of its nodes.
fn final_reads<'a>(
    prepared: &'a PreparedHistory,
    operations: &'a [Prepared],
) -> impl Iterator<Item = usize> + 'a {
    let from = prepared.history.final_reads_from;
    let last = operations.iter().rposition(|operation| operation.is_read);
    let is_final = move |place: &usize| {
        let operation = &operations[*place];
        let is_last = Some(*place) == last;
        let is_at_rest = reported(operation.started) >= from;
        operation.is_read && is_at_rest && (is_last || from > Nanos::ZERO)
    };
    (0..operations.len()).rev().filter(is_final)
}

/// The acknowledged writes of a record that could have been found lost.
fn judge_group(
    prepared: &PreparedHistory,
    group: &RecordGroup,
    violations: &mut ViolationCollector,
    places: &mut Vec<u32>,
) -> u64 {
    let operations = &prepared.operations[group.operations.clone()];
    let versions = &prepared.versions[group.versions.clone()];
    let acknowledged = || versions.iter().filter(|version| version.is_done);
    let is_judged = |place: &usize| {
        let read = operations[*place];
        let early = prepared.clocks.early(read.started, read.agent);
        read.read != NONE && !acknowledged().any(|write| write.late >= early)
    };
    let found_by = |place: &usize| &prepared.versions[operations[*place].read as usize];
    let finals = final_reads(prepared, operations).filter(is_judged);
    let Some(place) = finals.min_by_key(|place| found_by(place).low) else { return 0 };
    let last = operations[place];
    let found = &prepared.versions[last.read as usize];
    for write in acknowledged().filter(|write| found.low < write.high) {
        let margin = PreparedHistory::order_margin(group.order, found.low, write.high);
        let reader = (group.operations.start + place) as u32;
        let kind = (Anomaly::LostWrite, edges(group.order));
        let writer = &prepared.operations[write.writer as usize];
        let ended = reported(writer.ended);
        places.push(writer.place);
        violations.add(ended, margin, || {
            prepared.witness(kind, group.key, &[write.writer, found.writer, reader])
        });
    }
    acknowledged().count() as u64
}

pub(super) fn windows(writes: &[RegisterOperation]) -> Vec<LostWriteWindow> {
    let window = |writes: &[RegisterOperation]| LostWriteWindow {
        first: writes[0].ended,
        last: writes[writes.len() - 1].ended,
        writes: writes.len() as u64,
    };
    let are_near =
        |one: &RegisterOperation, other: &RegisterOperation| other.ended.since(one.ended) <= GAP;
    writes.chunk_by(are_near).map(window).collect()
}
