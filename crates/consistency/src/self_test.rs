//! Self-test of the checkers: small histories whose verdicts are known by their definitions.
//!
//! They run in the same binary, just before it judges, within a millisecond: what a build breaks
//! in a checker is then seen in the result that it makes. The hash is of all verdicts, so two
//! binaries with one hash judge these histories alike.

mod golden;

use assay_model::seed::mix;

use crate::clock::ClockError;
use crate::notation::{register_history, transaction_history};
use crate::quality::Quality;
use crate::verdict::{QualityFinding, QualityVerdict};
use crate::{register, transaction};
use golden::{Golden, OPERATIONS, TRANSACTIONS};

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
        test.add(golden, &operations(golden));
    }
    for golden in TRANSACTIONS {
        test.add(golden, &transactions(golden));
    }
    test
}

fn operations(golden: &Golden) -> Vec<QualityFinding> {
    let history = register_history(golden.history).expect("a test judges each of the texts");
    register::judge(&history, &ClockError::NONE).findings
}

fn transactions(golden: &Golden) -> Vec<QualityFinding> {
    let history = transaction_history(golden.history).expect("a test judges each of the texts");
    transaction::judge(&history, &ClockError::NONE).findings
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
        let findings = operations(stale);
        let (mut right, mut wrong) = (SelfTest::default(), SelfTest::default());
        right.add(stale, &findings);
        wrong.add(stale, &findings[..2]);
        assert!(right.failed.is_empty());
        assert_eq!(wrong.failed, ["stale read"]);
        assert_ne!(right.hash, wrong.hash);
    }
}
