//! Checks D1 to D7: whether verdicts on consistency can be believed.
//!
//! Each has a threshold; what its failure makes worthless is the silence about some qualities.
//! `docs/hallmark.md` says what each means to a reader.

use assay_model::{Nanos, Outcome, named_enum};
use serde::{Deserialize, Serialize};

use crate::aggregate::{AggregateAccess, AggregateOperation};
use crate::fmke::PrescriptionOperation;
use crate::quality::Quality;
use crate::register::{Access, RegisterHistory, RegisterOperation, WrittenValue};
use crate::self_test::SelfTest;
use crate::transaction::{TransactionHistory, TransactionStep};
use crate::verdict::{Limitation, QualityFinding, QualityVerdict, VersionOrder};

/// Opportunities below which it is no evidence that no violation was found: then up to 0.3 % of
/// them may be violations.
pub const OPPORTUNITIES_MIN: u64 = 1_000;

/// The share of unknown outcomes above which verdicts are weak.
pub const UNKNOWN_MAX: f64 = 0.05;

/// The error of the clocks, as a share of the median operation, up to which it has no influence.
pub const CLOCK_FINE: f64 = 0.05;

/// The share above which nothing that needs real time can be judged.
pub const CLOCK_MAX: f64 = 0.25;

named_enum! {
    /// One of the checks.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum VerdictCheckId {
        /// Values could be decoded, or are counted as garbage.
        D1 => "D1",
        /// Every operation has an outcome, and few are unknown.
        D2 => "D2",
        /// Violations would have had enough opportunities to show.
        D3 => "D3",
        /// The error of the clocks is small beside an operation.
        D4 => "D4",
        /// The order of versions has a source with a name.
        D5 => "D5",
        /// The checkers judge the golden histories right.
        D6 => "D6",
        /// The history is complete.
        D7 => "D7",
    }
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VerdictCheckOutcome {
    /// All is well.
    Passed,
    /// Something must be known, or some verdicts are worth less.
    Remark,
    /// The verdicts cannot be believed.
    Failed,
    /// Nobody knows.
    Unknown,
}

/// A check with what it found.
#[derive(Clone, Debug, PartialEq)]
pub struct VerdictCheck {
    /// Which one.
    pub id: VerdictCheckId,
    /// How it ended.
    pub outcome: VerdictCheckOutcome,
    /// The qualities whose silence it makes worthless.
    pub undermines: Vec<Quality>,
    /// What it looked at.
    pub evidence: CheckEvidence,
}

/// What a check looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckEvidence {
    /// D1.
    Values {
        /// Reads whose value could not be decoded: they are counted as garbage reads.
        unreadable: u64,
        /// Things in a foreign history that were odd: each is a warning.
        odd: u64,
    },
    /// D2: outcomes of all operations.
    Outcomes(OutcomeCounts),
    /// D3: the qualities that had too few opportunities, with their number.
    Power {
        /// The qualities of which no violation was found.
        silent: u64,
        /// Those of them with fewer than [`OPPORTUNITIES_MIN`] opportunities.
        weak: Vec<(Quality, u64)>,
    },
    /// D4.
    Clock {
        /// How many clocks there were.
        agents: u64,
        /// Their greatest error; `None` if nobody measured it.
        error: Option<Nanos>,
        /// The median length of an operation.
        median: Nanos,
    },
    /// D5: the sources, each with the number of qualities that rest on it.
    Orders(Vec<(VersionOrder, u64)>),
    /// D6.
    Golden(SelfTest),
    /// D7.
    Log {
        /// Whether everything that was recorded is there.
        is_whole: bool,
    },
}

/// Operations or transactions by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeCounts {
    /// They happened.
    pub done: u64,
    /// They certainly did not.
    pub refused: u64,
    /// Nobody knows.
    pub unknown: u64,
}

impl OutcomeCounts {
    /// The share of the unknown ones; 0 of nothing.
    pub fn unknown_share(&self) -> f64 {
        self.unknown as f64 / (self.done + self.refused + self.unknown).max(1) as f64
    }

    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Done => self.done += 1,
            Outcome::Refused => self.refused += 1,
            Outcome::Unknown => self.unknown += 1,
            Outcome::Dropped => {}
        }
    }
}

/// What the checks must know of a history beside the verdicts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryEvidence {
    /// What became of the operations.
    pub outcomes: OutcomeCounts,
    /// Reads whose value could not be decoded.
    pub unreadable: u64,
    /// Things that were odd.
    pub odd: u64,
    /// How many clocks there were.
    pub agents: u64,
    /// Their greatest error; `None` if nobody measured it. Of no meaning for one clock.
    pub clock_error: Option<Nanos>,
    /// The median length of an operation.
    pub median: Nanos,
    /// Whether everything that was recorded is there.
    pub is_whole: bool,
}

impl HistoryEvidence {
    /// What outcomes, with when they began and ended, tell: of one clock, all readable.
    fn of(observed: impl Iterator<Item = (Outcome, Nanos, Nanos)>) -> HistoryEvidence {
        let (mut outcomes, mut lengths) = (OutcomeCounts::default(), Vec::new());
        for (outcome, started, ended) in observed {
            outcomes.add(outcome);
            if outcome == Outcome::Done {
                lengths.push(ended.since(started));
            }
        }
        let median = median(lengths);
        HistoryEvidence { outcomes, median, agents: 1, ..HistoryEvidence::default() }
    }

    /// What a history of single records tells.
    pub fn of_registers(history: &RegisterHistory) -> HistoryEvidence {
        // What a load wrote before the run has no length.
        let during = history.operations.iter().filter(|one| one.ended != Nanos::ZERO);
        let is_garbage =
            |one: &&RegisterOperation| one.access == Access::Read(WrittenValue::GARBAGE);
        HistoryEvidence {
            unreadable: during.clone().filter(is_garbage).count() as u64,
            agents: distinct(history.operations.iter().map(|one| one.agent)),
            ..HistoryEvidence::of(during.map(|one| (one.outcome, one.started, one.ended)))
        }
    }

    /// Adds what another history of the same run tells.
    pub fn add(&mut self, other: &HistoryEvidence) {
        self.outcomes.done += other.outcomes.done;
        self.outcomes.refused += other.outcomes.refused;
        self.outcomes.unknown += other.outcomes.unknown;
        self.unreadable += other.unreadable;
        self.agents = self.agents.max(other.agents);
        // That of short operations is the stricter one.
        self.median = match self.median {
            Nanos::ZERO => other.median,
            median => median.min(other.median),
        };
    }

    /// What operations on sets, counters, accounts tell.
    pub fn of_aggregates(operations: &[AggregateOperation]) -> HistoryEvidence {
        let unreadable = |one: &AggregateOperation| match &one.access {
            AggregateAccess::Elements(elements) => garbage(elements),
            AggregateAccess::Balances(all) => {
                all.iter().filter(|(_, balance)| balance.is_none()).count() as u64
            }
            _ => 0,
        };
        let observed = operations.iter().map(|one| (one.outcome, one.started, one.ended));
        let unreadable = operations.iter().map(unreadable).sum();
        HistoryEvidence { unreadable, ..HistoryEvidence::of(observed) }
    }

    /// What operations on prescriptions tell.
    pub fn of_prescriptions(operations: &[PrescriptionOperation]) -> HistoryEvidence {
        let observed = operations.iter().map(|one| (one.outcome, one.started, one.ended));
        HistoryEvidence::of(observed)
    }

    /// What a history of transactions tells.
    pub fn of_transactions(history: &TransactionHistory) -> HistoryEvidence {
        let transactions = history.transactions.iter();
        let steps = transactions.clone().flat_map(|one| &one.steps);
        HistoryEvidence {
            unreadable: steps.map(unreadable).sum(),
            agents: distinct(transactions.clone().map(|one| one.agent)),
            ..HistoryEvidence::of(transactions.map(|one| (one.outcome, one.started, one.ended)))
        }
    }
}

/// The values of a step that nobody can have written.
fn unreadable(step: &TransactionStep) -> u64 {
    match step {
        TransactionStep::Read { value: Some(value), .. } => garbage(&[*value]),
        TransactionStep::ReadList { elements: Some(elements), .. } => garbage(elements),
        _ => 0,
    }
}

fn garbage(values: &[WrittenValue]) -> u64 {
    values.iter().filter(|value| **value == WrittenValue::GARBAGE).count() as u64
}

fn median(mut lengths: Vec<Nanos>) -> Nanos {
    if lengths.is_empty() {
        return Nanos::ZERO;
    }
    let middle = lengths.len() / 2;
    *lengths.select_nth_unstable(middle).1
}

fn distinct(agents: impl Iterator<Item = u16>) -> u64 {
    let mut all: Vec<u16> = Vec::new();
    for agent in agents {
        if all.last() != Some(&agent) && !all.contains(&agent) {
            all.push(agent);
        }
    }
    all.len() as u64
}

/// The checks of `findings` on a history, after the checkers have judged the golden ones.
pub fn check_verdicts(
    findings: &[QualityFinding],
    evidence: &HistoryEvidence,
    self_test: &SelfTest,
) -> Vec<VerdictCheck> {
    let silent: Vec<Quality> =
        findings.iter().filter(|one| is_silent(one)).map(|one| one.quality).collect();
    vec![
        values(evidence),
        outcomes(evidence, &silent),
        power(findings),
        clock(evidence, &silent),
        orders(findings),
        golden(self_test, &silent),
        log(evidence, &silent),
    ]
}

fn is_silent(finding: &QualityFinding) -> bool {
    matches!(finding.verdict, QualityVerdict::NoneFound(_))
}

fn check(
    id: VerdictCheckId,
    outcome: VerdictCheckOutcome,
    evidence: CheckEvidence,
    undermines: Vec<Quality>,
) -> VerdictCheck {
    VerdictCheck { id, outcome, undermines, evidence }
}

/// A check that undermines every silence unless it holds.
fn undermining(
    id: VerdictCheckId,
    holds: bool,
    evidence: CheckEvidence,
    silent: &[Quality],
) -> VerdictCheck {
    match holds {
        true => check(id, VerdictCheckOutcome::Passed, evidence, Vec::new()),
        false => check(id, VerdictCheckOutcome::Failed, evidence, silent.to_vec()),
    }
}

fn values(evidence: &HistoryEvidence) -> VerdictCheck {
    let (unreadable, odd) = (evidence.unreadable, evidence.odd);
    let outcome = match unreadable + odd {
        0 => VerdictCheckOutcome::Passed,
        _ => VerdictCheckOutcome::Remark,
    };
    check(VerdictCheckId::D1, outcome, CheckEvidence::Values { unreadable, odd }, Vec::new())
}

fn outcomes(evidence: &HistoryEvidence, silent: &[Quality]) -> VerdictCheck {
    let counts = evidence.outcomes;
    let evidence = CheckEvidence::Outcomes(counts);
    undermining(VerdictCheckId::D2, counts.unknown_share() <= UNKNOWN_MAX, evidence, silent)
}

fn power(findings: &[QualityFinding]) -> VerdictCheck {
    let opportunities = |finding: &QualityFinding| match &finding.verdict {
        QualityVerdict::NoneFound(power) => Some((finding.quality, power.opportunities)),
        _ => None,
    };
    let silent: Vec<(Quality, u64)> = findings.iter().filter_map(opportunities).collect();
    let weak: Vec<(Quality, u64)> =
        silent.iter().copied().filter(|(_, number)| *number < OPPORTUNITIES_MIN).collect();
    let outcome = match weak.len() {
        0 => VerdictCheckOutcome::Passed,
        all if all == silent.len() => VerdictCheckOutcome::Failed,
        _ => VerdictCheckOutcome::Remark,
    };
    let undermines = weak.iter().map(|(quality, _)| *quality).collect();
    let evidence = CheckEvidence::Power { silent: silent.len() as u64, weak };
    check(VerdictCheckId::D3, outcome, evidence, undermines)
}

/// Qualities whose verdicts compare times of different sessions.
const OF_REAL_TIME: [Quality; 10] = [
    Quality::NoGarbageReads,
    Quality::NoDanglingEntries,
    Quality::WholeCreations,
    Quality::EqualCopies,
    Quality::UnchangedOnceProcessed,
    Quality::CausesSeen,
    Quality::Linearizable,
    Quality::TwoAtomic,
    Quality::StrongSnapshotIsolation,
    Quality::StrictSerializable,
];

fn clock(evidence: &HistoryEvidence, silent: &[Quality]) -> VerdictCheck {
    let HistoryEvidence { agents, clock_error, median, .. } = *evidence;
    let error = if agents <= 1 { Some(Nanos::ZERO) } else { clock_error };
    let outcome = match error.map(|error| error.0 as f64 / median.0.max(1) as f64) {
        None => VerdictCheckOutcome::Unknown,
        Some(share) if share <= CLOCK_FINE => VerdictCheckOutcome::Passed,
        Some(share) if share <= CLOCK_MAX => VerdictCheckOutcome::Remark,
        Some(_) => VerdictCheckOutcome::Failed,
    };
    let is_worthless =
        matches!(outcome, VerdictCheckOutcome::Unknown | VerdictCheckOutcome::Failed);
    let of_real_time = silent.iter().copied().filter(|one| OF_REAL_TIME.contains(one));
    let undermines = of_real_time.filter(|_| is_worthless).collect();
    let evidence = CheckEvidence::Clock { agents, error, median };
    check(VerdictCheckId::D4, outcome, evidence, undermines)
}

fn orders(findings: &[QualityFinding]) -> VerdictCheck {
    let mut orders: Vec<(VersionOrder, u64)> = Vec::new();
    for finding in findings {
        if matches!(finding.verdict, QualityVerdict::NotAssessable(_)) {
            continue;
        }
        match orders.iter_mut().find(|(order, _)| *order == finding.order) {
            Some((_, number)) => *number += 1,
            None => orders.push((finding.order, 1)),
        }
    }
    orders.sort_unstable();
    let has_none = |finding: &QualityFinding| {
        finding.verdict == QualityVerdict::NotAssessable(Limitation::NoVersionOrder)
    };
    let outcome = match findings.iter().any(has_none) {
        true => VerdictCheckOutcome::Remark,
        false => VerdictCheckOutcome::Passed,
    };
    check(VerdictCheckId::D5, outcome, CheckEvidence::Orders(orders), Vec::new())
}

fn golden(self_test: &SelfTest, silent: &[Quality]) -> VerdictCheck {
    let evidence = CheckEvidence::Golden(self_test.clone());
    undermining(
        VerdictCheckId::D6,
        self_test.failed.is_empty() && self_test.histories > 0,
        evidence,
        silent,
    )
}

fn log(evidence: &HistoryEvidence, silent: &[Quality]) -> VerdictCheck {
    let is_whole = evidence.is_whole;
    let evidence = CheckEvidence::Log { is_whole };
    undermining(VerdictCheckId::D7, is_whole, evidence, silent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::self_test::self_test;
    use crate::verdict::VerdictPower;

    fn silence(quality: Quality, opportunities: u64) -> QualityFinding {
        let power = VerdictPower { opportunities, judged: opportunities, unknown: 0 };
        let verdict = QualityVerdict::NoneFound(power);
        QualityFinding { quality, order: VersionOrder::RealTime, verdict }
    }

    /// Two silences: one on real time with 5,000 opportunities, one on sessions with 400.
    fn findings() -> Vec<QualityFinding> {
        vec![silence(Quality::Linearizable, 5_000), silence(Quality::MonotonicReads, 400)]
    }

    fn evidence() -> HistoryEvidence {
        HistoryEvidence {
            outcomes: OutcomeCounts { done: 950, refused: 0, unknown: 50 },
            agents: 1,
            median: Nanos(1_000),
            is_whole: true,
            ..HistoryEvidence::default()
        }
    }

    fn outcome_of(
        id: VerdictCheckId,
        evidence: &HistoryEvidence,
    ) -> (VerdictCheckOutcome, Vec<Quality>) {
        let checks = check_verdicts(&findings(), evidence, &self_test());
        let check = checks.into_iter().find(|check| check.id == id).expect("all are there");
        (check.outcome, check.undermines)
    }

    const BOTH: [Quality; 2] = [Quality::Linearizable, Quality::MonotonicReads];

    #[test]
    fn a_good_history_passes_all_but_the_power_of_one_claim() {
        use VerdictCheckOutcome::{Passed, Remark};
        let checks = check_verdicts(&findings(), &evidence(), &self_test());
        let outcomes: Vec<_> = checks.iter().map(|check| check.outcome).collect();
        assert_eq!(outcomes, [Passed, Passed, Remark, Passed, Passed, Passed, Passed]);
        assert_eq!(checks[2].undermines, [Quality::MonotonicReads]);
        assert_eq!(checks[4].evidence, CheckEvidence::Orders(vec![(VersionOrder::RealTime, 2)]));
    }

    #[test]
    fn more_than_a_twentieth_unknown_undermines_every_silence() {
        let mut evidence = evidence();
        evidence.outcomes.unknown = 51;
        let found = outcome_of(VerdictCheckId::D2, &evidence);
        assert_eq!(found, (VerdictCheckOutcome::Failed, BOTH.to_vec()));
    }

    #[test]
    fn clocks_undermine_what_needs_real_time() {
        let clocks = |agents, error| {
            let clock_error = Option::map(error, Nanos);
            outcome_of(VerdictCheckId::D4, &HistoryEvidence { agents, clock_error, ..evidence() })
        };
        use VerdictCheckOutcome::{Failed, Passed, Remark, Unknown};
        assert_eq!(clocks(1, None), (Passed, vec![]));
        assert_eq!(clocks(2, None), (Unknown, vec![Quality::Linearizable]));
        assert_eq!(clocks(2, Some(50)), (Passed, vec![]));
        assert_eq!(clocks(2, Some(51)), (Remark, vec![]));
        assert_eq!(clocks(2, Some(251)), (Failed, vec![Quality::Linearizable]));
    }

    #[test]
    fn an_incomplete_log_or_a_broken_checker_undermines_every_silence() {
        let lost = HistoryEvidence { is_whole: false, ..evidence() };
        let found = outcome_of(VerdictCheckId::D7, &lost);
        assert_eq!(found, (VerdictCheckOutcome::Failed, BOTH.to_vec()));
        let broken = SelfTest { failed: vec!["stale read"], ..self_test() };
        let checks = check_verdicts(&findings(), &evidence(), &broken);
        assert_eq!(checks[5].outcome, VerdictCheckOutcome::Failed);
        assert_eq!(checks[5].undermines, BOTH);
    }

    #[test]
    fn unreadable_values_are_classified() {
        let odd = HistoryEvidence { unreadable: 3, ..evidence() };
        let found = outcome_of(VerdictCheckId::D1, &odd);
        assert_eq!(found, (VerdictCheckOutcome::Remark, vec![]));
    }
}
