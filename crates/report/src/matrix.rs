//! A study: stores × workloads × nodes × loads, in words, tables, charts.

mod charts;
mod document;
mod json;
mod latency_charts;
mod latency_curves;
mod published;
mod published_charts;
mod rows;
mod sheet;
mod words;

use assay_analysis::matrix::published::ExaminedFigures;
use assay_analysis::matrix::{DurabilityClass, Matrix, MatrixFigures, Metric, Setup};
use assay_model::{Nanos, Setting};

pub use document::document;
pub use json::matrix_json;
pub(crate) use json::{MATRIX_SCHEMA, MatrixObject};
pub use sheet::{matrix_csv, matrix_sheet};

/// Everything that a study found.
#[derive(Clone, Debug)]
pub struct MatrixStudy {
    /// Our version.
    pub version: String,
    /// Its name.
    pub name: String,
    /// What it is about, in one line.
    pub title: String,
    /// What else its author says.
    pub about: String,
    /// The command that repeats it.
    pub command: String,
    /// The seed from which the order and everything random in the runs follow.
    pub seed: u64,
    /// The client machine, which also ran the labs' stores.
    pub machine: String,
    /// The stores, in the order of the study file.
    pub stores: Vec<StudyStore>,
    /// The names of the workloads.
    pub workloads: Vec<String>,
    /// The loads.
    pub loads: Vec<StudyLoad>,
    /// How often each cell was to be run.
    pub repetitions: u32,
    /// How many runs were planned.
    pub planned: usize,
    /// The runs that came to their ends.
    pub matrix: Matrix,
    /// What they come to, computed once from these runs and loads.
    pub figures: MatrixFigures,
    /// What is known of each of them beside its figures, in the same order.
    pub facts: Vec<CellFacts>,
    /// The runs that did not.
    pub failed: Vec<FailedCell>,
    /// Whether it was stopped before all runs were made.
    pub is_interrupted: bool,
    /// The operations and durations as a share of what the study file says.
    pub scale: f64,
    /// The time that the cells took together, with starting and filling their stores.
    pub took: Nanos,
    /// Names of the cells in the order in which they were run.
    pub order: Vec<String>,
    /// Whether that is the order that was drawn; not if some were run later or again.
    pub is_as_drawn: bool,
    /// Figures of others to be shown beside ours.
    pub published: Option<PublishedFigures>,
    /// What else must be said.
    pub notes: Vec<String>,
}

/// A store of the study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyStore {
    /// Its name in the study.
    pub name: String,
    /// What must be said of it wherever it is shown, such as that it is a stand-in.
    pub label: String,
}

/// A load.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyLoad {
    /// Its name in the study.
    pub name: String,
    /// In words, for example `4 clients that wait for their answers`.
    pub text: String,
    /// The clients of a closed loop; `None` for the open one.
    pub clients: Option<u32>,
}

/// What is known of one run beside its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFacts {
    /// Its name.
    pub id: String,
    /// Its run directory, relative to the study's directory.
    pub run_dir: String,
    /// The commands that repeat it, one after the other.
    pub commands: Vec<String>,
    /// What its store said of itself.
    pub settings: Vec<Setting>,
    /// How long its store needed to be filled.
    pub fill: Option<Nanos>,
    /// Why its hallmark is what it is; empty if nothing is to be said.
    pub remarks: String,
}

/// A run that did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCell {
    /// Its name.
    pub id: String,
    /// What it has in common with its repetitions.
    pub setup: Setup,
    /// Why.
    pub reason: String,
}

/// What others have published.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedFigures {
    /// Where it is from, in a few words.
    pub name: String,
    /// The figures; the workloads' names are their own.
    pub examined: ExaminedFigures,
    /// For each of our workloads the name that the figures have for it, if any.
    pub workloads: Vec<Option<String>>,
}

impl MatrixStudy {
    /// The setups of one load that have runs.
    pub(crate) fn setups_of(&self, load: usize) -> Vec<Setup> {
        self.matrix.setups().into_iter().filter(|setup| setup.load == load).collect()
    }

    /// Whether the store of a setup keeps nothing and finds nothing.
    pub(crate) fn is_no_op(&self, setup: Setup) -> bool {
        self.matrix.runs(setup).any(|cell| cell.is_no_op)
    }

    /// What a ranking of this load is by.
    pub(crate) fn ranked_by(&self, load: usize) -> Metric {
        Metric::of_ranking(self.loads[load].clients)
    }

    /// The durability of a setup's store.
    pub(crate) fn durability_of(&self, setup: Setup) -> DurabilityClass {
        self.matrix.runs(setup).next().map_or(DurabilityClass::Untold, |cell| cell.durability)
    }
}

#[cfg(test)]
pub(crate) mod tests;
