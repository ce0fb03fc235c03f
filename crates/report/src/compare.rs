//! Two set-ups side by side: the verdict, what is not alike, every figure with its interval.

pub(crate) mod charts;
mod csv;
mod document;
mod findings;
mod json;
pub(crate) mod words;

pub use csv::csv;
pub use document::document;
pub use findings::findings;
pub(crate) use findings::{hallmark_of, of_side};
pub(crate) use json::{ComparedRunObject, ComparisonObject, SpreadObject};
pub use json::{SCHEMA, json};
pub use words::{change, figure_name};

use assay_analysis::Summary;
use assay_analysis::compare::{Comparison, ConditionOutcome, Row};
use assay_model::named_enum;

use crate::facts::Facts;

/// Everything that is shown of a comparison.
#[derive(Clone, Debug)]
pub struct Contrast {
    /// The first set-up, BASE on the command line.
    pub old: ComparedSetup,
    /// The second set-up, NEW on the command line.
    pub new: ComparedSetup,
    /// In what the two are not alike beside their figures.
    pub differences: Vec<Difference>,
    /// The figures.
    pub comparison: Comparison,
    /// The conditions that were to fail on.
    pub trials: Vec<Trial>,
    /// Whether the two are compared although they are not like for like.
    pub is_forced: bool,
}

impl Contrast {
    /// Whether a difference of figures may be put down to the set-ups: the operations are the same,
    /// in the same way, or the comparison is forced.
    pub fn is_analyzed(&self) -> bool {
        let is_question = |found: &Difference| found.weight == Weight::Question;
        self.is_forced || !self.differences.iter().any(is_question)
    }
}

/// One set-up.
#[derive(Clone, Debug)]
pub struct ComparedSetup {
    /// How it was named: `last-1`, a directory.
    pub name: String,
    /// Its runs, at least one.
    pub runs: Vec<Run>,
    /// The place of the one whose response p99 is the median of all.
    pub typical: usize,
}

/// One run of a set-up.
#[derive(Clone, Debug)]
pub struct Run {
    /// What no record tells.
    pub facts: Facts,
    /// The figures.
    pub summary: Summary,
}

/// Something in which two set-ups are not alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is: `load model`, `setting appendfsync`.
    pub what: String,
    /// What it is in the first set-up.
    pub old: String,
    /// What it is in the second.
    pub new: String,
    /// What follows from it.
    pub weight: Weight,
}

named_enum! {
    /// What follows from a difference of set-ups.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Weight {
        /// The workload or the load differs: figures differ for that reason alone.
        Question => "question",
        /// The store, its settings or the machine are others: perhaps that is what is compared.
        Place => "place",
        /// Chance only, or a remark.
        Slight => "slight",
    }
}

/// A condition with what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// As it was written: `p99>+10%`.
    pub text: String,
    /// What became of it.
    pub judgement: ConditionOutcome,
    /// The row that it is about, if both sides have it.
    pub row: Option<Row>,
}

impl ComparedSetup {
    /// The run that stands for the others in charts.
    pub fn typical(&self) -> &Run {
        &self.runs[self.typical]
    }
}

#[cfg(test)]
pub(crate) mod tests;
