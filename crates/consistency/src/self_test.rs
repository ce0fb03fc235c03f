//! Self-test of the checkers: small histories whose verdicts are known by their definitions.
//!
//! They run in the same binary, just before it judges, within a millisecond: what a build breaks
//! in a checker is then seen in the result that it makes. The hash is of all verdicts, so two
//! binaries with one hash judge these histories alike.

mod golden;

use assay_model::seed::mix;
use assay_model::{Nanos, Outcome};

use crate::clock::ClockError;
use crate::quality::Quality;
use crate::register::{Access, RegisterHistory, RegisterOperation, WrittenValue, judge};
use crate::transaction::{
    ObservedTransaction, TransactionHistory, TransactionStep, judge as judge_transactions,
};
use crate::verdict::{QualityFinding, QualityVerdict};
use golden::{Golden, GoldenStep, OPERATIONS, TRANSACTIONS};

/// What the self-test found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelfTest {
    /// How many histories were judged.
    pub histories: u64,
    /// Those that were judged otherwise than expected.
    pub failed: Vec<&'static str>,
    /// The hash of all verdicts.
    pub hash: u64,
}

/// Judges the golden histories.
pub fn self_test() -> SelfTest {
    let mut test = SelfTest::default();
    for golden in OPERATIONS {
        let report = judge(&registers(golden.steps), &ClockError::NONE);
        test.add(golden, &report.findings);
    }
    for golden in TRANSACTIONS {
        let report = judge_transactions(&transactions(golden.steps), &ClockError::NONE);
        test.add(golden, &report.findings);
    }
    test
}

impl SelfTest {
    fn add(&mut self, golden: &Golden, findings: &[QualityFinding]) {
        let violated: Vec<Quality> = findings
            .iter()
            .filter(|finding| matches!(finding.verdict, QualityVerdict::Violated(_)))
            .map(|finding| finding.quality)
            .collect();
        self.histories += 1;
        if violated != golden.violated {
            self.failed.push(golden.name);
        }
        for finding in findings {
            self.hash = mix(self.hash ^ code(finding));
        }
    }
}

/// A verdict as a number.
fn code(finding: &QualityFinding) -> u64 {
    let quality = (finding.quality as u64) << 40;
    match &finding.verdict {
        QualityVerdict::Violated(violations) => quality | 1 << 32 | violations.count,
        QualityVerdict::NoneFound(power) => quality | 2 << 32 | power.opportunities,
        QualityVerdict::NotAssessable(limitation) => quality | 3 << 32 | *limitation as u64,
    }
}

/// The operations of a golden history on the records that its steps name.
fn registers(steps: &[GoldenStep]) -> RegisterHistory {
    let mut has_final_reads = false;
    let operation = |(index, step): (usize, &GoldenStep)| {
        let (session, started, ended) = step.when();
        let (key, access, outcome) = match *step {
            GoldenStep::Read(_, key, value) => {
                (key, Access::Read(WrittenValue(value)), Outcome::Done)
            }
            GoldenStep::LastRead(_, key, value) => {
                has_final_reads = true;
                (key, Access::Read(WrittenValue(value)), Outcome::Done)
            }
            GoldenStep::Write(_, key, value) => {
                (key, Access::Write(WrittenValue(value)), Outcome::Done)
            }
            GoldenStep::Refused(_, key, value) => {
                (key, Access::Write(WrittenValue(value)), Outcome::Refused)
            }
            GoldenStep::Unknown(_, key, value) => {
                (key, Access::Write(WrittenValue(value)), Outcome::Unknown)
            }
            GoldenStep::Whole(..) | GoldenStep::Aborted(..) => return None,
        };
        Some(RegisterOperation {
            node: 0,
            index: index as u64,
            key,
            session,
            agent: 0,
            started: Nanos(started),
            ended: Nanos(ended),
            outcome,
            access,
        })
    };
    let operations = steps.iter().enumerate().filter_map(operation).collect();
    RegisterHistory {
        operations,
        has_final_reads,
        writes_whole_records: true,
        ..RegisterHistory::default()
    }
}

/// The transactions of a golden history.
fn transactions(steps: &[GoldenStep]) -> TransactionHistory {
    let transaction = |(index, step): (usize, &GoldenStep)| {
        let (session, started, ended) = step.when();
        let (micro, outcome) = match step {
            GoldenStep::Whole(_, micro) => (*micro, Outcome::Done),
            GoldenStep::Aborted(_, micro) => (*micro, Outcome::Refused),
            _ => return None,
        };
        Some(ObservedTransaction {
            node: 0,
            index: index as u64,
            session,
            agent: 0,
            started: Nanos(started),
            ended: Nanos(ended),
            outcome,
            steps: micro.iter().map(golden::GoldenMicro::step).collect(),
        })
    };
    let transactions = steps.iter().enumerate().filter_map(transaction).collect();
    TransactionHistory { transactions }
}

impl golden::GoldenMicro {
    fn step(&self) -> TransactionStep {
        match *self {
            golden::GoldenMicro::Append(key, element) => {
                TransactionStep::Append { key, element: WrittenValue(element) }
            }
            golden::GoldenMicro::List(key, elements) => TransactionStep::ReadList {
                key,
                elements: Some(elements.iter().copied().map(WrittenValue).collect()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_golden_history_is_judged_as_its_definition_says() {
        let test = self_test();
        assert_eq!(test.failed, Vec::<&str>::new());
        assert_eq!(test.histories as usize, OPERATIONS.len() + TRANSACTIONS.len());
        assert_eq!(test, self_test(), "the same binary, the same hash");
    }

    #[test]
    fn another_verdict_fails_and_has_another_hash() {
        let stale = OPERATIONS.iter().find(|golden| golden.name == "stale read");
        let stale = stale.expect("it is among them");
        let report = judge(&registers(stale.steps), &ClockError::NONE);
        let (mut right, mut wrong) = (SelfTest::default(), SelfTest::default());
        right.add(stale, &report.findings);
        wrong.add(stale, &report.findings[..2]);
        assert!(right.failed.is_empty());
        assert_eq!(wrong.failed, ["stale read"]);
        assert_ne!(right.hash, wrong.hash);
    }
}
