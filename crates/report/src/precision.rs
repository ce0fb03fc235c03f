//! Punctuality of processes under growing load: the paper's experiment LOAD.
//!
//! D. Bermbach et al., "BenchFoundry: A Benchmarking Framework for Cloud Storage Services", ICSOC
//! 2017, section 5, figure 6.

mod document;
mod json;
mod rows;

use assay_analysis::Boxplot;
use assay_model::Nanos;

use crate::document::Finding;
use crate::units::Letters;

pub use document::document;
pub(crate) use json::PrecisionObject;
pub use json::{PRECISION_SCHEMA, precision_json};
use rows::{MEANING, PAPER, circumstances, numbers, paper};

/// Processes that begin later than this are late: BenchFoundry's own schedule is in whole
/// milliseconds, so that is as exact as it could be.
pub const PUNCTUAL: Nanos = Nanos::from_millis(1);

/// The hallmark's verdict on a run whose figures may not be believed.
const INVALID: &str = "invalid";

/// Everything that the study found.
///
/// All texts are shown as they are, so secrets must be gone from them already.
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// A headline of a few words, for example `tpcc-benchfoundry-paper on postgres`.
    pub title: String,
    /// The command that repeats it, as one line for a shell.
    pub command: String,
    /// The directory that keeps a run directory for each run.
    pub dir: String,
    /// The store's URL without secrets.
    pub url: String,
    /// Whether the store keeps nothing: its figures are a floor, no ranking.
    pub is_no_op: bool,
    /// When processes begin, in words.
    pub starts: String,
    /// The data set, in words.
    pub loaded: String,
    /// Processes per second at the factor 1.
    pub unit_per_s: f64,
    /// How long each run measures.
    pub duration: Nanos,
    /// The seed from which those of the runs follow.
    pub seed: u64,
    /// The client machine.
    pub machine: String,
    /// The version of this program.
    pub version: String,
    /// The runs in the order in which they were made.
    pub runs: Vec<PrecisionRun>,
}

/// The run of one load factor.
#[derive(Clone, Debug, PartialEq)]
pub struct PrecisionRun {
    /// The load factor.
    pub factor: f64,
    /// Processes per second that were planned.
    pub planned_per_s: f64,
    /// The name of its run directory in the study's directory.
    pub run_dir: String,
    /// How it ended.
    pub ending: RunEnd,
    /// What was found, as far as it came.
    pub figures: Option<PrecisionFigures>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// As it should.
    Whole,
    /// It was stopped.
    Interrupted,
    /// It could not begin or not go on, for this reason.
    Failed(String),
}

/// What a run found.
#[derive(Clone, Debug, PartialEq)]
pub struct PrecisionFigures {
    /// Scheduling latency: started − intended of the first operation of each process.
    pub starts: Option<Boxplot>,
    /// Response time of whole processes that were done, from the moment at which they were meant to
    /// begin.
    pub response: Option<Boxplot>,
    /// Processes that were done, per second of the run.
    pub done_per_s: f64,
    /// Processes that were refused, unknown or dropped.
    pub failed: u64,
    /// The hallmark's verdict: `valid`, `invalid` and so on.
    pub hallmark: String,
    /// Why, if there is something to say.
    pub reasons: String,
}

impl PrecisionRun {
    /// The upper whisker of the scheduling latency.
    pub fn p95(&self) -> Option<Nanos> {
        Some(self.figures.as_ref()?.starts?.p95())
    }

    fn is_punctual(&self) -> bool {
        self.ending == RunEnd::Whole && self.p95().is_some_and(|p95| p95 < PUNCTUAL)
    }
}

/// What a reader must know first, worst first.
pub fn findings(precision: &Precision, letters: Letters) -> Vec<Finding> {
    let mut findings = vec![punctuality(precision, letters)];
    for run in &precision.runs {
        let (name, text) = match &run.ending {
            RunEnd::Whole => continue,
            RunEnd::Interrupted => ("interrupted", "was stopped before its end".to_owned()),
            RunEnd::Failed(reason) => ("failed", format!("did not come to its end: {reason}")),
        };
        let text = format!("the run with factor {} {text}", run.factor);
        findings.push(Finding::caution(name, text));
    }
    findings.extend(unmarked(precision));
    if precision.is_no_op {
        let text = "the store keeps nothing: what is measured is this program alone".to_owned();
        findings.push(Finding::caution("no-op store", text));
    }
    findings.sort_by_key(|finding| finding.level);
    findings
}

/// Which runs' figures may not be believed, by their hallmarks.
fn unmarked(precision: &Precision) -> Option<Finding> {
    let is_invalid = |run: &&PrecisionRun| {
        run.figures.as_ref().is_some_and(|figures| figures.hallmark == INVALID)
    };
    let factors = precision.runs.iter().filter(is_invalid).map(|run| run.factor.to_string());
    let factors: Vec<String> = factors.collect();
    let text =
        format!("the hallmark of factor {} is invalid; the reasons are below", factors.join(", "));
    (!factors.is_empty()).then_some(Finding::caution("hallmark", text))
}

/// Up to which factor processes begin in time.
fn punctuality(precision: &Precision, letters: Letters) -> Finding {
    let mut runs: Vec<&PrecisionRun> = precision.runs.iter().collect();
    runs.sort_by(|a, b| a.factor.total_cmp(&b.factor));
    let held: Vec<&PrecisionRun> =
        runs.iter().copied().take_while(|run| run.is_punctual()).collect();
    let limit = crate::units::duration(PUNCTUAL, letters);
    let Some(last) = held.last() else {
        let text = format!("no load factor had 95 % of its processes begin within {limit}");
        return Finding::alarm("late", text);
    };
    let worst = held.iter().filter_map(|run| run.p95()).max().unwrap_or(Nanos::ZERO);
    let text = format!(
        "95 % of the processes begin within {} of their moment up to factor {}, {}",
        crate::units::duration(worst, letters),
        last.factor,
        crate::units::rate(last.planned_per_s),
    );
    if held.len() == runs.len() {
        return Finding::fine("punctual", text);
    }
    let text = format!("{text}; at factor {} not within {limit}", runs[held.len()].factor);
    Finding::caution("punctual at first", text)
}

#[cfg(test)]
pub(crate) mod tests;
