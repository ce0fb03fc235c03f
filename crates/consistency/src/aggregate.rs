//! Sets, counters and accounts: operations on records that hold more than one value.
//!
//! The workloads are Jepsen's *set*, *set-full*, *counter* and *bank*, from their documentation.
//! Each operation is one transaction.

mod counter;

use std::collections::{BTreeMap, HashMap, HashSet};

use assay_model::{Nanos, Outcome};

use crate::quality::Quality;
use crate::register::WrittenValue;
use crate::verdict::{
    Anomaly, Edges, Limitation, QualityFinding, QualityVerdict, VersionOrder, Violations, Witness,
};

/// One operation on a set, a counter or the accounts of a bank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregateOperation {
    /// Its number in the history, for witnesses.
    pub index: u64,
    /// The set, the counter or the bank.
    pub key: u64,
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
    pub access: AggregateAccess,
}

/// What an operation did to a set, a counter or accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AggregateAccess {
    /// It added this to a set, or to a counter the amount that is the value's name.
    Add(WrittenValue),
    /// It moved an amount from one account to another; accounts are keys.
    Transfer {
        /// The account that has less afterwards.
        from: u64,
        /// The account that has more afterwards.
        to: u64,
        /// How much.
        amount: i64,
    },
    /// It returned the elements of a set.
    Elements(Vec<WrittenValue>),
    /// It returned the value of a counter.
    Sum(i64),
    /// It returned the balances of accounts; nothing for one that was not there.
    Balances(Vec<(u64, Option<i64>)>),
    /// It read, and its answer is unknown.
    UnknownRead,
}

/// What is known of the operations beside themselves.
pub struct AggregateRules<'a> {
    /// The sum of all accounts; nothing takes that of the first snapshot.
    pub total: Option<i128>,
    /// From when on the store was at rest, if it ever was: the last read of a set, if it began
    /// then and after all additions had ended, says what is lost. What others miss is stale, and
    /// perhaps lost.
    pub final_reads_from: Option<Nanos>,
    /// The amount that a value stands for which was added to a counter.
    pub amount: &'a dyn Fn(WrittenValue) -> Option<i64>,
}

/// Judges what was read from sets, counters and accounts: one finding per quality that these
/// operations can show.
///
/// * A set: [`Quality::NoGarbageReads`] (elements that nobody added, or twice),
///   [`Quality::Linearizable`] (a read without what had been acknowledged before it began), and
///   [`Quality::NoLostWrites`], by the last read of a set where that began after all additions had
///   ended.
/// * A counter: [`Quality::Linearizable`] (a read that no order of the additions explains).
/// * Accounts: [`Quality::ConstantTotal`] (a snapshot with another sum than the total at the
///   beginning, or without an account); they may be overdrawn.
///
/// Time: for a set, its reads times its elements; O(n log n) else. Memory: 200 bytes per operation
/// beside what it holds.
pub fn judge_aggregates(
    operations: &[AggregateOperation],
    rules: &AggregateRules<'_>,
) -> Vec<QualityFinding> {
    let mut records: BTreeMap<u64, Vec<&AggregateOperation>> = BTreeMap::new();
    for operation in operations.iter().filter(|one| one.outcome != Outcome::Dropped) {
        records.entry(operation.key).or_default().push(operation);
    }
    let mut log = AggregateLog::default();
    for (key, mut operations) in records {
        operations.sort_unstable_by_key(|operation| (operation.started, operation.index));
        let has = |is: &dyn Fn(&AggregateAccess) -> bool| {
            operations.iter().any(|operation| is(&operation.access))
        };
        if has(&|access| matches!(access, AggregateAccess::Balances(_))) {
            log.bank(&operations, rules);
        } else if has(&|access| matches!(access, AggregateAccess::Sum(_))) {
            log.counter(key, &operations, rules);
        } else if has(&|access| matches!(access, AggregateAccess::Elements(_))) {
            log.set(key, &operations, rules.final_reads_from);
        }
    }
    log.findings()
}

#[derive(Default)]
struct AggregateLog {
    found: BTreeMap<Quality, Violations>,
    finished: Vec<QualityFinding>,
    /// Whether there is a set whose last read says what is lost.
    has_final_reads: bool,
}

/// An addition to a set.
struct Added<'a> {
    operation: &'a AggregateOperation,
    element: WrittenValue,
}

impl AggregateLog {
    fn quality(&mut self, quality: Quality) -> &mut Violations {
        self.found.entry(quality).or_default()
    }

    fn bank(&mut self, operations: &[&AggregateOperation], rules: &AggregateRules<'_>) {
        let done = operations.iter().filter(|one| one.outcome == Outcome::Done);
        let snapshots: Vec<_> = done
            .filter_map(|operation| match &operation.access {
                AggregateAccess::Balances(balances) => Some((operation.index, &balances[..])),
                _ => None,
            })
            .collect();
        // The sum of the balances that are known, and how many they are.
        let known = |balances: &[(u64, Option<i64>)]| {
            let balances = balances.iter().filter_map(|(_, balance)| *balance);
            balances.fold((0, 0), |(sum, count), one| (sum + i128::from(one), count + 1))
        };
        let first = snapshots.first().map(|(_, balances)| known(balances).0);
        let total = rules.total.or(first).unwrap_or(0);
        let accounts = snapshots.iter().map(|(_, balances)| balances.len()).max().unwrap_or(0);
        let mut found = Violations::default();
        found.add_opportunities(snapshots.len() as u64);
        for (index, balances) in snapshots {
            if known(balances) != (total, accounts) {
                found.add(|| witness(Anomaly::WrongTotal, 0, vec![index], Nanos::ZERO));
            }
        }
        self.finished.push(finding(Quality::ConstantTotal, found));
    }

    fn counter(
        &mut self,
        key: u64,
        operations: &[&AggregateOperation],
        rules: &AggregateRules<'_>,
    ) {
        let (reads, wrong) = counter::wrong_reads(operations, rules.amount);
        let found = self.quality(Quality::Linearizable);
        found.add_opportunities(reads);
        for wrong in wrong {
            found.add(|| witness(Anomaly::WrongCount, key, vec![wrong.index], Nanos::ZERO));
        }
    }

    fn set(
        &mut self,
        key: u64,
        operations: &[&AggregateOperation],
        final_reads_from: Option<Nanos>,
    ) {
        let mut added: Vec<Added<'_>> = Vec::new();
        let mut reads: Vec<(&AggregateOperation, &[WrittenValue])> = Vec::new();
        for operation in operations {
            match &operation.access {
                AggregateAccess::Add(element) => {
                    added.push(Added { operation, element: *element });
                }
                AggregateAccess::Elements(elements) if operation.outcome == Outcome::Done => {
                    reads.push((operation, elements));
                }
                _ => {}
            }
        }
        let tries: HashMap<WrittenValue, &AggregateOperation> = added
            .iter()
            .map(|added| (added.element, added.operation))
            // Of several tries, the first that may have happened counts.
            .rev()
            .fold(HashMap::new(), |mut tries, (element, operation)| {
                let is_better = |old: &&AggregateOperation| {
                    operation.outcome != Outcome::Refused || old.outcome == Outcome::Refused
                };
                let old = tries.get(&element).copied();
                if old.as_ref().is_none_or(is_better) {
                    tries.insert(element, operation);
                }
                tries
            });
        for (read, elements) in &reads {
            self.garbage(key, read, elements, &tries);
            self.missing(key, read, elements, &added);
        }
        let last = reads.last().filter(|(read, _)| {
            final_reads_from.is_some_and(|from| from <= read.started) && {
                added.iter().all(|added| match added.operation.outcome {
                    Outcome::Done => added.operation.ended < read.started,
                    _ => added.operation.started < read.started,
                })
            }
        });
        if let Some((read, elements)) = last {
            self.has_final_reads = true;
            let there: HashSet<&WrittenValue> = elements.iter().collect();
            let found = self.quality(Quality::NoLostWrites);
            for added in added.iter().filter(|one| one.operation.outcome == Outcome::Done) {
                found.add_opportunities(1);
                if !there.contains(&added.element) {
                    let operations = vec![added.operation.index, read.index];
                    found.add(|| witness(Anomaly::LostWrite, key, operations, Nanos::ZERO));
                }
            }
        }
    }

    /// Elements that cannot be there, or are there twice.
    fn garbage(
        &mut self,
        key: u64,
        read: &AggregateOperation,
        elements: &[WrittenValue],
        tries: &HashMap<WrittenValue, &AggregateOperation>,
    ) {
        let mut seen = HashSet::new();
        let found = self.quality(Quality::NoGarbageReads);
        found.add_opportunities(elements.len() as u64);
        for element in elements {
            if !seen.insert(element) {
                let operations = vec![read.index];
                found.add(|| witness(Anomaly::DuplicateElement, key, operations, Nanos::ZERO));
                continue;
            }
            let (anomaly, by) = match tries.get(element) {
                None => (Anomaly::GarbageRead, None),
                Some(one) if one.outcome == Outcome::Refused => (Anomaly::AbortedRead, Some(one)),
                Some(one) if one.started > read.ended => (Anomaly::FutureRead, Some(one)),
                Some(_) => continue,
            };
            let operations = by.map(|one| one.index).into_iter().chain([read.index]).collect();
            found.add(|| witness(anomaly, key, operations, Nanos::ZERO));
        }
    }

    /// Elements that had been acknowledged before the read began, and are not there.
    fn missing(
        &mut self,
        key: u64,
        read: &AggregateOperation,
        elements: &[WrittenValue],
        added: &[Added<'_>],
    ) {
        let found = self.quality(Quality::Linearizable);
        let there: HashSet<&WrittenValue> = elements.iter().collect();
        let is_before = |added: &&Added<'_>| {
            added.operation.outcome == Outcome::Done && added.operation.ended < read.started
        };
        let mut before = added.iter().filter(is_before).peekable();
        if before.peek().is_none() {
            return;
        }
        // A read misses much or little: it is one violation, by the oldest element.
        let missed = before.filter(|added| !there.contains(&added.element));
        let oldest = missed.min_by_key(|added| added.operation.ended);
        found.add_opportunities(1);
        if let Some(oldest) = oldest {
            let margin = read.started.since(oldest.operation.ended);
            let operations = vec![oldest.operation.index, read.index];
            found.add(|| witness(Anomaly::StaleRead, key, operations, margin));
        }
    }

    fn findings(mut self) -> Vec<QualityFinding> {
        let has_sets = self.found.contains_key(&Quality::NoGarbageReads);
        if has_sets && !self.has_final_reads {
            self.finished.push(QualityFinding {
                quality: Quality::NoLostWrites,
                order: VersionOrder::NotNeeded,
                verdict: QualityVerdict::NotAssessable(Limitation::NoFinalReads),
            });
        }
        let found = self.found.into_iter();
        self.finished.extend(found.map(|(quality, violations)| finding(quality, violations)));
        self.finished.sort_by_key(|finding| finding.quality);
        self.finished
    }
}

fn finding(quality: Quality, violations: Violations) -> QualityFinding {
    let verdict = QualityVerdict::of(violations, None);
    QualityFinding { quality, order: VersionOrder::NotNeeded, verdict }
}

fn witness(anomaly: Anomaly, key: u64, operations: Vec<u64>, margin: Nanos) -> Witness {
    Witness::new((anomaly, Edges::Data), key, operations, margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(
        index: u64,
        (started, ended): (u64, u64),
        access: AggregateAccess,
    ) -> AggregateOperation {
        AggregateOperation {
            node: 0,
            index,
            key: 1,
            session: 0,
            started: Nanos(started),
            ended: Nanos(ended),
            outcome: Outcome::Done,
            access,
        }
    }

    fn add(index: u64, times: (u64, u64)) -> AggregateOperation {
        operation(index, times, AggregateAccess::Add(WrittenValue(index)))
    }

    fn read(index: u64, times: (u64, u64), elements: &[u64]) -> AggregateOperation {
        let elements = elements.iter().copied().map(WrittenValue).collect();
        operation(index, times, AggregateAccess::Elements(elements))
    }

    /// A violated quality with the anomalies and operations of its witnesses.
    type Violated = (Quality, Vec<(Anomaly, Vec<u64>)>);

    fn judged(operations: &[AggregateOperation], total: Option<i128>) -> Vec<QualityFinding> {
        let amount = |value: WrittenValue| Some(value.0 as i64);
        let final_reads_from = Some(Nanos::ZERO);
        judge_aggregates(operations, &AggregateRules { total, final_reads_from, amount: &amount })
    }

    fn violated(operations: &[AggregateOperation]) -> Vec<Violated> {
        violations(judged(operations, None))
    }

    fn violations(findings: Vec<QualityFinding>) -> Vec<Violated> {
        findings
            .into_iter()
            .filter_map(|finding| match finding.verdict {
                QualityVerdict::Violated(all) => {
                    let show = |one: Witness| (one.anomaly, one.operations);
                    Some((finding.quality, all.witnesses.into_iter().map(show).collect()))
                }
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_set_that_shows_what_was_added_before_is_fine() {
        let unknown = AggregateOperation { outcome: Outcome::Unknown, ..add(3, (5, 6)) };
        let refused = AggregateOperation { outcome: Outcome::Refused, ..add(4, (5, 6)) };
        let all = [add(1, (0, 10)), unknown, refused, add(2, (20, 40)), read(9, (30, 35), &[1])];
        assert_eq!(violated(&all), []);
        let more = [&all[..], &[read(10, (50, 60), &[1, 2, 3])]].concat();
        assert_eq!(violated(&more), []);
    }

    #[test]
    fn what_a_set_misses_is_stale_and_at_the_end_lost() {
        let all = [add(1, (0, 10)), add(2, (0, 11)), read(9, (30, 35), &[2])];
        let expected = vec![
            (Quality::NoLostWrites, vec![(Anomaly::LostWrite, vec![1, 9])]),
            (Quality::Linearizable, vec![(Anomaly::StaleRead, vec![1, 9])]),
        ];
        assert_eq!(violated(&all), expected);
        // With another addition after it, the read is no last one.
        let later = [&all[..], &[add(3, (40, 50))]].concat();
        assert_eq!(violated(&later), expected[1..]);
    }

    #[test]
    fn what_cannot_be_in_a_set_is_garbage() {
        let refused = AggregateOperation { outcome: Outcome::Refused, ..add(4, (5, 6)) };
        let all = [refused, add(1, (0, 3)), read(9, (7, 8), &[1, 1, 4, 5, 6]), add(6, (20, 30))];
        let garbage = vec![
            (Anomaly::DuplicateElement, vec![9]),
            (Anomaly::AbortedRead, vec![4, 9]),
            (Anomaly::GarbageRead, vec![9]),
            (Anomaly::FutureRead, vec![6, 9]),
        ];
        assert_eq!(violated(&all), [(Quality::NoGarbageReads, garbage)]);
    }

    #[test]
    fn an_element_that_was_tried_twice_is_there_by_one_of_them() {
        let refused = AggregateOperation { outcome: Outcome::Refused, ..add(1, (5, 6)) };
        let again = AggregateOperation { index: 2, ..add(1, (7, 8)) };
        let retried = [refused, again, read(9, (20, 21), &[1])];
        assert_eq!(violated(&retried), []);
    }

    #[test]
    fn a_counter_beyond_what_was_added_is_wrong() {
        let sum = |index, times, sum| operation(index, times, AggregateAccess::Sum(sum));
        let one = |index, times| operation(index, times, AggregateAccess::Add(WrittenValue(1)));
        let all = [one(1, (0, 5)), one(2, (6, 20)), sum(3, (7, 9), 1), sum(4, (30, 31), 1)];
        let wrong = vec![(Anomaly::WrongCount, vec![4])];
        assert_eq!(violated(&all), [(Quality::Linearizable, wrong)]);
    }

    #[test]
    fn a_counter_read_lies_between_what_was_done_and_what_may_have_been() {
        let add = |outcome, times: (u64, u64), amount: i64| {
            let added = AggregateAccess::Add(WrittenValue(amount as u64));
            AggregateOperation { outcome, ..operation(times.0, times, added) }
        };
        let mut operations = vec![
            add(Outcome::Done, (0, 10), 5),
            add(Outcome::Unknown, (1, 0), 2),
            add(Outcome::Unknown, (2, 0), -1),
            add(Outcome::Refused, (3, 9), 100),
            add(Outcome::Done, (15, 30), 10),
        ];
        // 5 is certain; 2 and -1 may be there; 10 began before this read had ended.
        for (index, read) in (20..).zip([3, 4, 17, 18]) {
            operations.push(operation(index, (20, 25), AggregateAccess::Sum(read)));
        }
        let wrong = [20, 23].map(|index| (Anomaly::WrongCount, vec![index])).to_vec();
        assert_eq!(violated(&operations), [(Quality::Linearizable, wrong)]);
    }

    fn snapshot(index: u64, balances: [Option<i64>; 2]) -> AggregateOperation {
        let balances = (0..).zip(balances).collect();
        operation(index, (index, index + 1), AggregateAccess::Balances(balances))
    }

    fn wrong_totals<const COUNT: usize>(indices: [u64; COUNT]) -> [Violated; 1] {
        let wrong = indices.map(|index| (Anomaly::WrongTotal, vec![index])).to_vec();
        [(Quality::ConstantTotal, wrong)]
    }

    #[test]
    fn balances_that_only_a_wider_number_can_sum_are_summed() {
        let [one, two] = [1, 2].map(|index| snapshot(index, [Some(i64::MAX), Some(5)]));
        assert_eq!(violated(&[one, two]), []);
        let snapshots = [(0, i64::MAX), (1, i64::MIN)]
            .map(|(index, balance)| snapshot(index, [Some(balance), Some(balance)]));
        assert_eq!(violations(judged(&snapshots, Some(100))), wrong_totals([0, 1]));
    }

    #[test]
    fn a_snapshot_with_another_sum_or_without_an_account_is_wrong() {
        let snapshots = [
            snapshot(1, [Some(60), Some(40)]),
            snapshot(2, [Some(40), Some(60)]),
            snapshot(3, [Some(40), Some(50)]),
            snapshot(4, [Some(110), Some(-10)]),
            snapshot(5, [Some(100), None]),
        ];
        for total in [None, Some(100)] {
            assert_eq!(violations(judged(&snapshots, total)), wrong_totals([3, 5]));
        }
        let unknown = AggregateOperation { outcome: Outcome::Unknown, ..snapshots[0].clone() };
        let none = QualityVerdict::NotAssessable(Limitation::NoOpportunity);
        assert_eq!(judged(&[unknown], None)[0].verdict, none);
    }
}
