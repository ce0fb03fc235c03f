//! Table of the experiment LOAD on BenchFoundry: how punctual processes are under load.
//!
//! D. Bermbach et al., "BenchFoundry: A Benchmarking Framework for Cloud Storage Services", ICSOC
//! 2017, section 5.

use std::path::{Path, PathBuf};

use assay_analysis::{Boxplot, Counts, Group, Starts, Summary};
use assay_history::Manifest;
use assay_report::hallmark;
use assay_report::precision::{PrecisionFigures, PrecisionRun, RunEnd};
use assay_results::{AnalyzedRun, analyze_beside};
use assay_workload::script::benchfoundry::{BenchfoundrySpec, Starts as When};

use crate::error::{StudyError, as_invalid};

/// Processes per second at the load factor 1.
pub fn unit_rate(spec: &BenchfoundrySpec) -> f64 {
    spec.process.weights().iter().sum()
}

/// When the processes of a run begin, in words.
pub fn starts(spec: &BenchfoundrySpec) -> &'static str {
    match spec.process.starts {
        When::Second => "all processes of a second begin at once, as the generator has it",
        When::Even => "processes begin at even distances, as the paper describes it",
        When::Model => "processes begin when the load model says",
    }
}

/// The name of a factor's run directory.
pub fn name_of(factor: f64) -> String {
    format!("factor-{factor}")
}

/// The run directory of a factor in the study's directory `root`.
pub fn dir_of(root: &Path, factor: f64) -> PathBuf {
    root.join(name_of(factor))
}

/// The run of a factor, from its run directory in `root` and how it ended: whether it was
/// interrupted, or why it failed. `keep` is called with what was analyzed.
pub fn tabulate(
    root: &Path,
    factor: f64,
    spec: &BenchfoundrySpec,
    ending: RunEnd,
    keep: &dyn Fn(&Path, &AnalyzedRun) -> Result<(), String>,
) -> PrecisionRun {
    let (figures, ending) = match (analyze(&dir_of(root, factor), keep), ending) {
        (Ok(figures), ending) => (Some(figures), ending),
        (Err(error), RunEnd::Whole) => (None, RunEnd::Failed(error.to_string())),
        (Err(_), ending) => (None, ending),
    };
    PrecisionRun {
        factor,
        planned_per_s: factor * unit_rate(spec),
        run_dir: name_of(factor),
        ending,
        figures,
    }
}

fn analyze(
    dir: &Path,
    keep: &dyn Fn(&Path, &AnalyzedRun) -> Result<(), String>,
) -> Result<PrecisionFigures, StudyError> {
    let manifest = Manifest::read(dir).map_err(as_invalid)?;
    let mut starts = Starts::new(manifest.history.width);
    let analyzed = analyze_beside(dir, manifest, None, &mut |records| starts.push(records))?;
    keep(dir, &analyzed).map_err(StudyError::Run)?;
    Ok(figures(&analyzed, &starts))
}

/// The figures of an analyzed run for the study.
fn figures(analyzed: &AnalyzedRun, starts: &Starts) -> PrecisionFigures {
    let groups = processes(&analyzed.summary);
    let response = Boxplot::over(groups.iter().map(|group| &group.hits.response));
    let sum = |of: fn(&Group) -> f64| groups.iter().map(|group| of(group)).sum::<f64>();
    let line = hallmark::line(&analyzed.facts);
    let name = line.as_ref().map_or("none", |line| line.name);
    PrecisionFigures {
        starts: starts.boxplot(),
        response,
        done_per_s: sum(|group| group.rates.done_per_s),
        failed: groups.iter().map(|group| failed(&group.counts)).sum(),
        hallmark: name.trim_start_matches("HALLMARK ").to_lowercase(),
        reasons: line.map_or_else(String::new, |line| line.text),
    }
}

/// How many were not done.
fn failed(counts: &Counts) -> u64 {
    counts.refused + counts.unknown + counts.dropped
}

/// The groups that hold each process once: where every process is one transaction, transactions
/// are the processes.
fn processes(summary: &Summary) -> Vec<&Group> {
    match &summary.processes {
        Some(processes) => vec![&processes.group],
        None => summary.transactions.iter().map(|transactions| &transactions.group).collect(),
    }
}

/// Why the run in `dir` ended as it did.
pub fn reason(dir: &Path) -> String {
    let manifest = Manifest::read(dir).ok();
    let reason = manifest.and_then(|manifest| manifest.reason);
    reason.unwrap_or_else(|| "none of its operations was done".to_owned())
}
