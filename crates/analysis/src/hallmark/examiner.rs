//! The examiner: takes the records that the judge takes, finishes with the hallmark.

use assay_model::Record;

use super::{Evidence, Hallmark, Thresholds, Verdict};
use crate::question::Question;
use crate::summary::Summary;

/// Examines a run in one pass over its records.
///
/// Records may come lane by lane, each lane in order of completion. Memory is bounded.
#[derive(Clone, Debug)]
pub struct Examiner {
    question: Question,
    thresholds: Thresholds,
}

impl Examiner {
    /// An examiner that has seen nothing yet. The question must be the judge's.
    pub fn new(question: Question, thresholds: Thresholds) -> Examiner {
        Examiner { question, thresholds }
    }

    /// Takes the next records of a lane.
    pub fn push(&mut self, records: &[Record]) {
        let _ = (records, &self.question);
    }

    /// The hallmark of the run that `summary` is about.
    pub fn finish(self, _summary: &Summary, _evidence: &Evidence) -> Hallmark {
        Hallmark {
            verdict: Verdict::NotAssessable,
            reasons: Vec::new(),
            checks: Vec::new(),
            percentiles: Vec::new(),
            changes: Vec::new(),
            period: None,
            changed: self.thresholds.changed(),
        }
    }
}
