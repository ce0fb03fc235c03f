//! Invariants of whole records: totals of accounts, values of counters.
//!
//! The workloads are Jepsen's *bank* and *counter*, from their documentation. Transfers
//! and increments whose outcome is unknown make intervals of what is allowed, never violations.

use assay_model::{Nanos, Outcome};

use crate::quality::Quality;
use crate::verdict::{
    Anomaly, Edges, Limitation, QualityFinding, QualityVerdict, VerdictPower, VersionOrder,
    Violations, Witness,
};

/// A read of all accounts in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalanceSnapshot {
    /// Its number in the history, for witnesses.
    pub index: u64,
    /// The balance of each account, accounts in the same order in each snapshot; nothing for one
    /// that was not there.
    pub balances: Vec<Option<i64>>,
}

/// Money that left one account for another, as two steps that a store may have torn apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceTransfer {
    /// How much the total changes if all of it happened; zero unless money leaves the bank.
    pub net: i64,
    /// Whether it happened.
    pub outcome: Outcome,
}

/// What the balances of a bank must satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankRules {
    /// The sum of all balances at the beginning.
    pub total: i128,
    /// Whether a balance may be below zero.
    pub allows_negative: bool,
}

/// Judges [`Quality::ConstantTotal`]: each snapshot's sum must be the total at the beginning plus
/// what some of the transfers with a net amount changed: an interval, because nobody knows which of
/// them the snapshot holds. Without such transfers it is one number. A missing account, and a
/// negative balance where none is allowed, is a violation of its own.
///
/// Time and memory: linear in balances and transfers, 32 bytes per violation that is kept.
pub fn constant_total(
    rules: &BankRules,
    snapshots: &[BalanceSnapshot],
    transfers: &[BalanceTransfer],
) -> QualityFinding {
    let happened = |one: &&BalanceTransfer| {
        [Outcome::Done, Outcome::Unknown].contains(&one.outcome) && one.net != 0
    };
    let (mut low, mut high) = (rules.total, rules.total);
    for transfer in transfers.iter().filter(happened) {
        let net = i128::from(transfer.net);
        (low, high) = (low + net.min(0), high + net.max(0));
    }
    let accounts = snapshots.iter().map(|snapshot| snapshot.balances.len()).max().unwrap_or(0);
    let is_wrong = |snapshot: &&BalanceSnapshot| {
        let sum: i128 = snapshot.balances.iter().flatten().copied().map(i128::from).sum();
        let is_whole = snapshot.balances.iter().flatten().count() == accounts;
        let is_negative = snapshot.balances.iter().flatten().any(|balance| *balance < 0);
        !(low..=high).contains(&sum) || !is_whole || (is_negative && !rules.allows_negative)
    };
    let wrong: Vec<u64> =
        snapshots.iter().filter(is_wrong).map(|snapshot| snapshot.index).collect();
    let unknown = transfers.iter().filter(|one| one.outcome == Outcome::Unknown).count();
    let power = VerdictPower {
        opportunities: snapshots.len() as u64,
        judged: snapshots.len() as u64,
        unknown: unknown as u64,
    };
    let witness = |index: &u64| Witness {
        anomaly: Anomaly::WrongTotal,
        edges: Edges::Data,
        key: 0,
        operations: vec![*index],
        records: Vec::new(),
        margin: Nanos::ZERO,
    };
    let verdict = if !wrong.is_empty() {
        let witnesses = wrong.iter().take(Violations::WITNESSES).map(witness).collect();
        QualityVerdict::Violated(Violations { count: wrong.len() as u64, witnesses, power })
    } else if snapshots.is_empty() {
        QualityVerdict::NotAssessable(Limitation::NoOpportunity)
    } else {
        QualityVerdict::NoneFound(power)
    };
    QualityFinding { quality: Quality::ConstantTotal, order: VersionOrder::NotNeeded, verdict }
}

/// An amount that was added to a counter, or a value that was read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterOperation {
    /// Its number in the history, for witnesses.
    pub index: u64,
    /// When the request left.
    pub started: Nanos,
    /// When the answer came. Of no meaning unless the outcome is [`Outcome::Done`].
    pub ended: Nanos,
    /// Whether it happened.
    pub outcome: Outcome,
    /// What it did.
    pub access: CounterAccess,
}

/// What an operation did to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterAccess {
    /// It added this, which may be negative.
    Add(i64),
    /// It returned this.
    Read(i64),
}

/// A read of a counter outside of what was possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongCount {
    /// The read's number in the history.
    pub index: u64,
    /// What it returned.
    pub read: i64,
    /// The smallest possible value.
    pub low: i128,
    /// The greatest possible value.
    pub high: i128,
}

/// Finds reads of a counter, which began at zero, that no order of its additions explains.
///
/// What had ended before the read began is in it, what began after its end is not, anything else
/// may be: each sign of it widens one side. O(n log n); 40 bytes per operation.
pub fn counter_reads(operations: &[CounterOperation]) -> Vec<WrongCount> {
    // Sums of positive and negative amounts by the time from which they may, or must be there.
    let mut may: Vec<(Nanos, i64)> = Vec::new();
    let mut must: Vec<(Nanos, i64)> = Vec::new();
    for operation in operations {
        let CounterAccess::Add(amount) = operation.access else { continue };
        match operation.outcome {
            Outcome::Done => {
                may.push((operation.started, amount));
                must.push((operation.ended.max(operation.started), amount));
            }
            Outcome::Unknown => may.push((operation.started, amount)),
            Outcome::Refused | Outcome::Dropped => {}
        }
    }
    let (may, must) = (Sums::new(may), Sums::new(must));
    let mut wrong = Vec::new();
    for operation in operations.iter().filter(|one| one.outcome == Outcome::Done) {
        let CounterAccess::Read(read) = operation.access else { continue };
        let possible = may.until(operation.ended.max(operation.started), true);
        let certain = must.until(operation.started, false);
        // Negative amounts that may be there make the least value, positive ones the greatest.
        let low = certain.0 + possible.1;
        let high = possible.0 + certain.1;
        if !(low..=high).contains(&i128::from(read)) {
            wrong.push(WrongCount { index: operation.index, read, low, high });
        }
    }
    wrong
}

/// Running sums of positive and of negative amounts over time.
struct Sums {
    times: Vec<Nanos>,
    sums: Vec<(i128, i128)>,
}

impl Sums {
    fn new(mut amounts: Vec<(Nanos, i64)>) -> Sums {
        amounts.sort_unstable();
        let (mut plus, mut minus) = (0, 0);
        let mut sums = vec![(0, 0)];
        for (_, amount) in &amounts {
            plus += i128::from(*amount).max(0);
            minus += i128::from(*amount).min(0);
            sums.push((plus, minus));
        }
        Sums { times: amounts.into_iter().map(|(time, _)| time).collect(), sums }
    }

    /// The sums of what comes before `time`, or at it too.
    fn until(&self, time: Nanos, includes: bool) -> (i128, i128) {
        self.sums[self.times.partition_point(|at| *at < time || (includes && *at == time))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(index: u64, balances: &[i64]) -> BalanceSnapshot {
        BalanceSnapshot { index, balances: balances.iter().copied().map(Some).collect() }
    }

    fn wrong(finding: &QualityFinding) -> Vec<u64> {
        let QualityVerdict::Violated(violations) = &finding.verdict else { return vec![] };
        violations.witnesses.iter().map(|witness| witness.operations[0]).collect()
    }

    const RULES: BankRules = BankRules { total: 100, allows_negative: false };

    #[test]
    fn a_snapshot_with_another_sum_or_a_negative_balance_is_found() {
        let mut snapshots =
            vec![snapshot(0, &[60, 40]), snapshot(1, &[50, 40]), snapshot(2, &[110, -10])];
        snapshots.push(BalanceSnapshot { index: 3, balances: vec![Some(100), None] });
        assert_eq!(wrong(&constant_total(&RULES, &snapshots, &[])), [1, 2, 3]);
        let lenient = BankRules { allows_negative: true, ..RULES };
        assert_eq!(wrong(&constant_total(&lenient, &snapshots, &[])), [1, 3]);
    }

    #[test]
    fn an_unknown_withdrawal_makes_an_interval() {
        let withdrawal = BalanceTransfer { net: -10, outcome: Outcome::Unknown };
        let snapshots = [90, 95, 100, 89, 101].map(|sum| snapshot(sum as u64, &[sum]));
        let finding = constant_total(&RULES, &snapshots, &[withdrawal]);
        assert_eq!(wrong(&finding), [89, 101]);
        let refused = BalanceTransfer { outcome: Outcome::Refused, ..withdrawal };
        assert_eq!(wrong(&constant_total(&RULES, &snapshots, &[refused])), [90, 95, 89, 101]);
    }

    #[test]
    fn extreme_balances_do_not_overflow() {
        let snapshots = [snapshot(0, &[i64::MAX, i64::MAX]), snapshot(1, &[i64::MIN, i64::MIN])];
        let transfers = [BalanceTransfer { net: i64::MIN, outcome: Outcome::Done }; 3];
        assert_eq!(wrong(&constant_total(&RULES, &snapshots, &transfers)), [0, 1]);
        let none = constant_total(&RULES, &[], &transfers);
        assert_eq!(none.verdict, QualityVerdict::NotAssessable(Limitation::NoOpportunity));
    }

    fn counter(outcome: Outcome, times: (u64, u64), access: CounterAccess) -> CounterOperation {
        let (started, ended) = (Nanos(times.0), Nanos(times.1));
        CounterOperation { index: times.0, started, ended, outcome, access }
    }

    #[test]
    fn a_counter_read_lies_between_what_was_done_and_what_may_have_been() {
        use CounterAccess::{Add, Read};
        let mut operations = vec![
            counter(Outcome::Done, (0, 10), Add(5)),
            counter(Outcome::Unknown, (1, 0), Add(2)),
            counter(Outcome::Unknown, (2, 0), Add(-1)),
            counter(Outcome::Refused, (3, 9), Add(100)),
            counter(Outcome::Done, (15, 30), Add(10)),
        ];
        // 5 is certain; 2 and -1 may be there; 10 began before this read had ended.
        for read in [3, 4, 17, 18] {
            operations.push(counter(Outcome::Done, (20, 25), Read(read)));
        }
        let wrong: Vec<i64> = counter_reads(&operations).iter().map(|one| one.read).collect();
        assert_eq!(wrong, [3, 18]);
    }
}
