//! FMKe's prescriptions: what an application loses where its store is not as careful as it hopes.
//!
//! A prescription is a record with an entry in three lists, of its patient, its pharmacy and the
//! staff who prescribed it. Entries are never removed, identifiers never used again, so each read
//! of a list is an observation of a set that grows. The rules are those that the authors of FMKe
//! left to future work (G. Tomás and others, PaPoC 2017, section 5: atomicity, causality,
//! staleness).

use std::collections::{BTreeMap, HashMap, HashSet};

use assay_model::{Nanos, Outcome};

use crate::quality::Quality;
use crate::verdict::{
    Anomaly, Edges, Limitation, QualityFinding, QualityVerdict, VersionOrder, Violations, Witness,
};

/// How many lists a prescription is in.
pub const LISTS: usize = 3;

/// A list: its kind, below [`LISTS`], and the number of its owner.
pub type ListKey = (u8, u64);

/// One operation of the application, or what it did in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrescriptionOperation {
    /// Its number in the history, for witnesses.
    pub index: u64,
    /// The session that issued it, one operation at a time.
    pub session: u32,
    /// The node that answered, by its place in the run's list of nodes plus one; 0 if nobody said,
    /// or several did.
    pub node: u8,
    /// When the request left.
    pub started: Nanos,
    /// When the answer came. Of no meaning unless the outcome is [`Outcome::Done`].
    pub ended: Nanos,
    /// Whether it happened.
    pub outcome: Outcome,
    /// What it did.
    pub access: PrescriptionAccess,
}

/// What was done to a prescription or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrescriptionAccess {
    /// It created the prescription with its entries in the lists of these owners.
    Create {
        /// Its number.
        prescription: u64,
        /// The numbers of the owners, by the kinds of their lists.
        owners: [u64; LISTS],
    },
    /// It marked the prescription as processed, if it met one that was not.
    Process {
        /// Its number.
        prescription: u64,
        /// Whether it met one.
        found: bool,
    },
    /// It added drugs to the prescription, if it met one that was not processed.
    AddDrugs {
        /// Its number.
        prescription: u64,
        /// Whether it met one.
        found: bool,
    },
    /// It read the prescription.
    Read {
        /// Its number.
        prescription: u64,
        /// Whether it was there.
        found: bool,
    },
    /// It read the numbers in a list, all or those which were processed.
    ReadList {
        /// The list.
        list: ListKey,
        /// What was in it.
        entries: Vec<u64>,
        /// Whether these are the processed ones only.
        processed: bool,
    },
}

/// Judges the history: one finding for each rule that it can show, in the order of
/// [`Quality::ALL`].
///
/// | rule | quality |
/// |---|---|
/// | F1 dangling | [`Quality::NoDanglingEntries`] |
/// | F2 half-created | [`Quality::WholeCreations`] |
/// | F3 half-processed | [`Quality::EqualCopies`] |
/// | F4 lost | [`Quality::NoLostWrites`], by reads from `final_reads_from` on |
/// | F5 processed twice | [`Quality::ProcessedOnce`] |
/// | F6 changed after processing | [`Quality::UnchangedOnceProcessed`] |
/// | F7 not seen by its cause | [`Quality::CausesSeen`] |
/// | F8 shrinking list | [`Quality::MonotonicReads`] |
///
/// A creation whose outcome is unknown counts where it was seen. Times are of one clock. Time:
/// the entries that were read, and for each read of a list those that its creations before it
/// ought to have left; memory: about 150 bytes for each operation beside what it holds.
pub fn judge_prescriptions(
    operations: &[PrescriptionOperation],
    final_reads_from: Option<Nanos>,
) -> Vec<QualityFinding> {
    let mut ordered: Vec<&PrescriptionOperation> =
        operations.iter().filter(|one| one.outcome != Outcome::Dropped).collect();
    ordered.sort_unstable_by_key(|one| (one.started, one.index));
    let known = Known::new(&ordered);
    let mut log = Log::default();
    log.attempts(&known);
    log.record_reads(&ordered, &known);
    log.list_reads(&ordered, &known);
    log.partial_creations(&ordered, &known);
    log.sessions(&ordered);
    if let Some(from) = final_reads_from {
        log.lost(&ordered, &known, from);
    }
    log.findings(final_reads_from.is_some())
}

/// A creation.
#[derive(Clone, Copy)]
struct Creation<'a> {
    operation: &'a PrescriptionOperation,
    owners: [u64; LISTS],
}

/// What writes and reads say of each prescription.
struct Known<'a> {
    creations: HashMap<u64, Creation<'a>>,
    /// Acknowledged creations in each list, by their ends.
    lists: HashMap<ListKey, Vec<(Nanos, u64)>>,
    /// Acknowledged changes that met their prescription: processed, got drugs; by their starts.
    processed: BTreeMap<u64, Vec<&'a PrescriptionOperation>>,
    changed: BTreeMap<u64, Vec<&'a PrescriptionOperation>>,
    /// Tries to process each prescription.
    tries: HashMap<u64, u64>,
    /// The read of a list that showed each prescription and was the first to end.
    seen: HashMap<u64, &'a PrescriptionOperation>,
}

impl<'a> Known<'a> {
    fn new(ordered: &[&'a PrescriptionOperation]) -> Known<'a> {
        let mut known = Known {
            creations: HashMap::new(),
            lists: HashMap::new(),
            processed: BTreeMap::new(),
            changed: BTreeMap::new(),
            tries: HashMap::new(),
            seen: HashMap::new(),
        };
        ordered.iter().for_each(|one| known.add(one));
        for creations in known.lists.values_mut() {
            creations.sort_unstable();
        }
        known
    }

    fn add(&mut self, one: &'a PrescriptionOperation) {
        let is_done = one.outcome == Outcome::Done;
        match &one.access {
            PrescriptionAccess::Create { prescription, owners } => {
                if one.outcome == Outcome::Refused {
                    return;
                }
                let creation = Creation { operation: one, owners: *owners };
                self.creations.entry(*prescription).or_insert(creation);
                for (kind, owner) in (0..).zip(owners).filter(|_| is_done) {
                    let list = self.lists.entry((kind, *owner)).or_default();
                    list.push((one.ended, *prescription));
                }
            }
            PrescriptionAccess::Process { prescription, found } => {
                *self.tries.entry(*prescription).or_default() += 1;
                if is_done && *found {
                    self.processed.entry(*prescription).or_default().push(one);
                }
            }
            PrescriptionAccess::AddDrugs { prescription, found } if is_done && *found => {
                self.changed.entry(*prescription).or_default().push(one);
            }
            PrescriptionAccess::ReadList { entries, .. } if is_done => {
                for entry in entries {
                    let first = self.seen.entry(*entry).or_insert(one);
                    if one.ended < first.ended {
                        *first = one;
                    }
                }
            }
            _ => {}
        }
    }

    /// The prescriptions whose creations in `list` had been acknowledged before `moment`.
    fn before(&self, list: ListKey, moment: Nanos) -> &[(Nanos, u64)] {
        let all = self.lists.get(&list).map_or(&[][..], Vec::as_slice);
        &all[..all.partition_point(|(ended, _)| *ended < moment)]
    }

    /// The first acknowledged processing of `prescription`, by its end.
    fn first_processed(&self, prescription: u64) -> Option<&'a PrescriptionOperation> {
        let processed = self.processed.get(&prescription)?;
        processed.iter().copied().min_by_key(|one| one.ended)
    }
}

#[derive(Default)]
struct Log(BTreeMap<Quality, Violations>);

/// The rules, in the order of their qualities, with what breaks them.
const RULES: [(Quality, Anomaly); 8] = [
    (Quality::NoLostWrites, Anomaly::LostWrite),
    (Quality::MonotonicReads, Anomaly::NonMonotonicRead),
    (Quality::NoDanglingEntries, Anomaly::CausalityViolation),
    (Quality::WholeCreations, Anomaly::FracturedRead),
    (Quality::EqualCopies, Anomaly::FracturedRead),
    (Quality::ProcessedOnce, Anomaly::LostUpdate),
    (Quality::UnchangedOnceProcessed, Anomaly::StaleRead),
    (Quality::CausesSeen, Anomaly::StaleRead),
];

/// A read of a list that was answered.
#[derive(Clone, Copy)]
struct ListRead<'a> {
    operation: &'a PrescriptionOperation,
    list: ListKey,
    entries: &'a [u64],
    processed: bool,
}

impl ListRead<'_> {
    fn there(&self) -> HashSet<u64> {
        self.entries.iter().copied().collect()
    }
}

/// The reads of lists that were answered.
fn list_reads<'a>(ordered: &[&'a PrescriptionOperation]) -> impl Iterator<Item = ListRead<'a>> {
    let done = ordered.iter().copied().filter(|one| one.outcome == Outcome::Done);
    done.filter_map(|operation| match &operation.access {
        PrescriptionAccess::ReadList { list, entries, processed } => {
            Some(ListRead { operation, list: *list, entries, processed: *processed })
        }
        _ => None,
    })
}

impl Log {
    fn opportunity(&mut self, quality: Quality, count: u64) {
        self.0.entry(quality).or_default().add_opportunities(count);
    }

    fn violation(
        &mut self,
        quality: Quality,
        key: u64,
        operations: &[&PrescriptionOperation],
        margin: Nanos,
    ) {
        let rule = RULES.iter().find(|(rule, _)| *rule == quality);
        let (_, anomaly) = *rule.expect("each quality that is judged has its rule");
        self.0.entry(quality).or_default().add(|| {
            let operations = operations.iter().map(|one| one.index).collect();
            Witness::new((anomaly, Edges::RealTime), key, operations, margin)
        });
    }

    /// F5, F6: a prescription is processed once, and does not change afterwards.
    fn attempts(&mut self, known: &Known<'_>) {
        for (prescription, tries) in &known.tries {
            self.opportunity(Quality::ProcessedOnce, u64::from(*tries > 1));
            let processed = known.processed.get(prescription).map_or(&[][..], Vec::as_slice);
            if let [first, second, ..] = processed {
                let both = [*first, *second];
                self.violation(Quality::ProcessedOnce, *prescription, &both, Nanos::ZERO);
            }
        }
        for (prescription, changed) in &known.changed {
            let Some(first) = known.first_processed(*prescription) else { continue };
            let quality = Quality::UnchangedOnceProcessed;
            self.opportunity(quality, 1);
            if let Some(late) = changed.iter().find(|one| one.started > first.ended) {
                let margin = late.started.since(first.ended);
                self.violation(quality, *prescription, &[first, late], margin);
            }
        }
    }

    /// F1, F7: a prescription that was created, or seen in a list, is there.
    fn record_reads(&mut self, ordered: &[&PrescriptionOperation], known: &Known<'_>) {
        for one in ordered.iter().filter(|one| one.outcome == Outcome::Done) {
            let PrescriptionAccess::Read { prescription, found } = one.access else { continue };
            let seen = known.seen.get(&prescription).copied();
            let creation = known.creations.get(&prescription).map(|creation| creation.operation);
            let creation = creation.filter(|creation| creation.outcome == Outcome::Done);
            for (quality, cause) in
                [(Quality::NoDanglingEntries, seen), (Quality::CausesSeen, creation)]
            {
                let Some(cause) = cause.filter(|cause| cause.ended < one.started) else { continue };
                self.opportunity(quality, 1);
                if !found {
                    let margin = one.started.since(cause.ended);
                    self.violation(quality, prescription, &[cause, one], margin);
                }
            }
        }
    }

    /// F3, F7: a list has what had been created before, with its processing.
    fn list_reads(&mut self, ordered: &[&PrescriptionOperation], known: &Known<'_>) {
        for read in list_reads(ordered) {
            let one = read.operation;
            let before = known.before(read.list, one.started);
            if before.is_empty() {
                continue;
            }
            let there = read.there();
            if !read.processed {
                self.opportunity(Quality::CausesSeen, 1);
                // A read misses much or little: it is one violation, by the oldest entry.
                if let Some((ended, entry)) = before.iter().find(|(_, id)| !there.contains(id)) {
                    let both = [known.creations[entry].operation, one];
                    let margin = one.started.since(*ended);
                    self.violation(Quality::CausesSeen, *entry, &both, margin);
                }
                continue;
            }
            let is_processed = |entry: u64| {
                known.first_processed(entry).filter(|process| process.ended < one.started)
            };
            let all: Vec<(u64, &PrescriptionOperation)> = before
                .iter()
                .filter_map(|(_, entry)| is_processed(*entry).map(|process| (*entry, process)))
                .collect();
            self.opportunity(Quality::EqualCopies, u64::from(!all.is_empty()));
            let missed = all.iter().filter(|(entry, _)| !there.contains(entry));
            if let Some((entry, process)) = missed.min_by_key(|(_, process)| process.ended) {
                let margin = one.started.since(process.ended);
                self.violation(Quality::EqualCopies, *entry, &[process, one], margin);
            }
        }
    }

    /// F2: who has seen a creation in one list finds it in the others.
    ///
    /// Only creations whose acknowledgement came after the read, or never: others are F7's.
    fn partial_creations(&mut self, ordered: &[&PrescriptionOperation], known: &Known<'_>) {
        let mut visible: HashMap<ListKey, Vec<(u64, &PrescriptionOperation)>> = HashMap::new();
        for (entry, seen) in &known.seen {
            let Some(creation) = known.creations.get(entry) else { continue };
            for list in (0..).zip(creation.owners) {
                visible.entry(list).or_default().push((*entry, seen));
            }
        }
        for seen in visible.values_mut() {
            seen.sort_unstable_by_key(|(entry, seen)| (seen.ended, *entry));
        }
        for read in list_reads(ordered).filter(|read| !read.processed) {
            let one = read.operation;
            let seen = visible.get(&read.list).map_or(&[][..], Vec::as_slice);
            let seen = &seen[..seen.partition_point(|(_, seen)| seen.ended < one.started)];
            let is_open = |entry: u64| {
                let creation = known.creations[&entry].operation;
                creation.outcome != Outcome::Done || creation.ended >= one.started
            };
            let there = read.there();
            let mut checked = 0;
            for (entry, seen) in seen.iter().filter(|(entry, _)| is_open(*entry)) {
                checked += 1;
                if !there.contains(entry) {
                    let all = [known.creations[entry].operation, *seen, one];
                    let margin = one.started.since(seen.ended);
                    self.violation(Quality::WholeCreations, *entry, &all, margin);
                }
            }
            self.opportunity(Quality::WholeCreations, checked);
        }
    }

    /// F8: a list that a session reads again has what it had before.
    fn sessions(&mut self, ordered: &[&PrescriptionOperation]) {
        let mut last: HashMap<(u32, ListKey, bool), ListRead<'_>> = HashMap::new();
        for read in list_reads(ordered) {
            let one = read.operation;
            let known = last.insert((one.session, read.list, read.processed), read);
            let Some(ListRead { operation: earlier, entries: before, .. }) = known else {
                continue;
            };
            self.opportunity(Quality::MonotonicReads, u64::from(!before.is_empty()));
            let there = read.there();
            if let Some(gone) = before.iter().find(|entry| !there.contains(entry)) {
                let margin = one.started.since(earlier.ended);
                self.violation(Quality::MonotonicReads, *gone, &[earlier, one], margin);
            }
        }
    }

    /// F4: each final read of a list has all that was created before it; of the reads at several
    /// nodes the one with the fewest entries counts.
    fn lost(&mut self, ordered: &[&PrescriptionOperation], known: &Known<'_>, from: Nanos) {
        let mut last: HashMap<ListKey, ListRead<'_>> = HashMap::new();
        let is_final = |read: &ListRead<'_>| !read.processed && read.operation.started >= from;
        for read in list_reads(ordered).filter(is_final) {
            let fewest = last.entry(read.list).or_insert(read);
            if read.entries.len() < fewest.entries.len() {
                *fewest = read;
            }
        }
        for (list, created) in &known.lists {
            let Some(read) = last.get(list) else { continue };
            let (there, started) = (read.there(), read.operation.started);
            for (ended, entry) in created.iter().filter(|(ended, _)| *ended < started) {
                self.opportunity(Quality::NoLostWrites, 1);
                if !there.contains(entry) {
                    let both = [known.creations[entry].operation, read.operation];
                    let margin = started.since(*ended);
                    self.violation(Quality::NoLostWrites, *entry, &both, margin);
                }
            }
        }
    }

    fn findings(mut self, has_final_reads: bool) -> Vec<QualityFinding> {
        let finding = |(quality, _)| {
            let violations = self.0.remove(&quality).unwrap_or_default();
            let is_unread = quality == Quality::NoLostWrites && !has_final_reads;
            let limitation = is_unread.then_some(Limitation::NoFinalReads);
            let verdict = QualityVerdict::of(violations, limitation);
            QualityFinding { quality, order: VersionOrder::NotNeeded, verdict }
        };
        RULES.map(finding).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations from 10·n to 10·n + 5, unless told otherwise, in sessions of their own.
    fn history(accesses: Vec<PrescriptionAccess>) -> Vec<PrescriptionOperation> {
        let operation = |(place, access)| PrescriptionOperation {
            index: place,
            session: place as u32,
            node: 0,
            started: Nanos(place * 10),
            ended: Nanos(place * 10 + 5),
            outcome: Outcome::Done,
            access,
        };
        (0..).zip(accesses).map(operation).collect()
    }

    fn create(prescription: u64) -> PrescriptionAccess {
        PrescriptionAccess::Create { prescription, owners: [1, 2, 3] }
    }

    fn process(prescription: u64, found: bool) -> PrescriptionAccess {
        PrescriptionAccess::Process { prescription, found }
    }

    fn add_drugs(prescription: u64, found: bool) -> PrescriptionAccess {
        PrescriptionAccess::AddDrugs { prescription, found }
    }

    fn read(prescription: u64, found: bool) -> PrescriptionAccess {
        PrescriptionAccess::Read { prescription, found }
    }

    fn list(kind: u8, entries: &[u64]) -> PrescriptionAccess {
        let list = (kind, u64::from(kind) + 1);
        PrescriptionAccess::ReadList { list, entries: entries.to_vec(), processed: false }
    }

    fn processed(kind: u8, entries: &[u64]) -> PrescriptionAccess {
        let list = (kind, u64::from(kind) + 1);
        PrescriptionAccess::ReadList { list, entries: entries.to_vec(), processed: true }
    }

    /// What is violated, with the operations of the first witness.
    fn violated(operations: &[PrescriptionOperation], is_final: bool) -> Vec<(Quality, Vec<u64>)> {
        let findings = judge_prescriptions(operations, is_final.then_some(Nanos::ZERO));
        let violated = |finding: QualityFinding| match finding.verdict {
            QualityVerdict::Violated(violations) => {
                Some((finding.quality, violations.witnesses[0].operations.clone()))
            }
            _ => None,
        };
        findings.into_iter().filter_map(violated).collect()
    }

    #[test]
    fn a_careful_store_violates_nothing_and_every_rule_had_its_opportunity() {
        let mut operations = history(vec![
            create(7),
            list(0, &[7]),
            read(7, true),
            add_drugs(7, true),
            process(7, true),
            process(7, false),
            add_drugs(7, false),
            processed(1, &[7]),
            list(0, &[7]),
            list(2, &[7]),
        ]);
        // A creation that takes long, and was seen before it had ended.
        operations[0].ended = Nanos(95);
        operations.push(PrescriptionOperation { index: 10, session: 1, ..operations[8].clone() });
        operations.extend((11..).zip([create(8), list(0, &[7, 8]), processed(1, &[7])]).map(
            |(index, access)| PrescriptionOperation {
                index,
                session: 99,
                node: 0,
                started: Nanos(index * 10),
                ended: Nanos(index * 10 + 5),
                outcome: Outcome::Done,
                access,
            },
        ));
        assert_eq!(violated(&operations, true), []);
        for finding in judge_prescriptions(&operations, Some(Nanos(100))) {
            let power = match &finding.verdict {
                QualityVerdict::NoneFound(power) => power.opportunities,
                other => panic!("{}: {other:?}", finding.quality.name()),
            };
            assert!(power > 0, "{}", finding.quality.name());
        }
    }

    #[test]
    fn each_rule_is_violated_by_its_own_history() {
        let cases = [
            // F1: seen in a list, then not found; the creation itself is unknown.
            (vec![list(0, &[7]), read(7, false)], Quality::NoDanglingEntries, vec![0, 1]),
            // F5
            (vec![process(7, true), process(7, true)], Quality::ProcessedOnce, vec![0, 1]),
            // F6
            (
                vec![process(7, true), add_drugs(7, true)],
                Quality::UnchangedOnceProcessed,
                vec![0, 1],
            ),
            // F7: in a record, in a list.
            (vec![create(7), read(7, false)], Quality::CausesSeen, vec![0, 1]),
            (vec![create(7), list(1, &[])], Quality::CausesSeen, vec![0, 1]),
            // F3
            (
                vec![create(7), process(7, true), processed(1, &[])],
                Quality::EqualCopies,
                vec![1, 2],
            ),
        ];
        for (accesses, quality, operations) in cases {
            assert_eq!(violated(&history(accesses), false), [(quality, operations)]);
        }
    }

    #[test]
    fn a_creation_that_is_seen_in_one_list_only_is_half() {
        let mut operations = history(vec![create(7), list(0, &[7]), list(2, &[])]);
        operations[0].outcome = Outcome::Unknown;
        assert_eq!(violated(&operations, false), [(Quality::WholeCreations, vec![0, 1, 2])]);
        // The reads at the same time show no order.
        operations[2].started = Nanos(12);
        assert_eq!(violated(&operations, false), []);
    }

    #[test]
    fn a_list_shrinks_for_a_session_only() {
        let mut operations = history(vec![list(0, &[7, 8]), list(0, &[8])]);
        assert_eq!(violated(&operations, false), []);
        operations[1].session = operations[0].session;
        assert_eq!(violated(&operations, false), [(Quality::MonotonicReads, vec![0, 1])]);
    }

    #[test]
    fn what_the_last_reads_miss_is_lost_if_the_store_is_at_rest() {
        let operations = history(vec![create(7), list(0, &[7]), list(1, &[]), list(2, &[7])]);
        let lost = (Quality::NoLostWrites, vec![0, 2]);
        assert_eq!(violated(&operations, true), [lost, (Quality::CausesSeen, vec![0, 2])]);
        let findings = judge_prescriptions(&operations, None);
        assert_eq!(findings[0].verdict, QualityVerdict::NotAssessable(Limitation::NoFinalReads));
    }

    #[test]
    fn a_refused_creation_and_one_at_the_same_time_need_not_be_seen() {
        let mut operations = history(vec![create(7), list(0, &[]), read(7, false)]);
        operations[0].outcome = Outcome::Refused;
        assert_eq!(violated(&operations, true), []);
        operations[0].outcome = Outcome::Done;
        operations[0].ended = Nanos(1_000);
        assert_eq!(violated(&operations, false), []);
    }
}
