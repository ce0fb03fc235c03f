//! The runs of one set-up with their figures: a run directory, or a group of them.

use std::path::{Path, PathBuf};

use assay_analysis::compare::{Resampling, RunFigures, Sampler};
use assay_history::{Columns, History, Manifest, Repeat};

use crate::analyze::{AnalyzedRun, analysis_options, analyze_run};
use crate::error::ResultsError;
use crate::run_dirs;

/// One run, analyzed, with the variation between its blocks.
pub struct MeasuredRun {
    /// The run directory.
    pub dir: PathBuf,
    /// Facts with figures.
    pub analyzed: AnalyzedRun,
    /// The figures with their replicates.
    pub figures: RunFigures,
}

/// All runs of the run directory or group `dir`; their draws are numbered from `first`.
///
/// # Errors
/// If one of them cannot be read, or there is none.
pub fn measure_all(dir: &Path, first: u64) -> Result<Vec<MeasuredRun>, ResultsError> {
    if !run_dirs::is_group(dir) {
        return Ok(vec![measure(dir, first)?]);
    }
    let repeat = Repeat::read(dir)?;
    if repeat.runs.is_empty() {
        return Err(ResultsError::Invalid(format!(
            "{}: none of its runs came to its end",
            dir.display()
        )));
    }
    let numbered = repeat.run_dirs(dir).into_iter().zip(first..);
    numbered.map(|(run_dir, number)| measure(&run_dir, number)).collect()
}

/// The run of the run directory `dir`, which draws by `number`.
///
/// # Errors
/// If the run directory is not one, or its history cannot be read.
pub fn measure(dir: &Path, number: u64) -> Result<MeasuredRun, ResultsError> {
    let analyzed = analyze_run(dir, None)?;
    let mut sampler = Sampler::new(analysis_options(&analyzed.manifest, None));
    let mut history = History::open(dir)?;
    history.each_batch(Columns::ALL, |batch| sampler.push(batch.records))?;
    let cpu_ns = cpu_ns(&analyzed.manifest);
    let figures = sampler.finish(&analyzed.summary, cpu_ns, Resampling::of_run(number));
    let figures = match &analyzed.facts.hallmark {
        Some(hallmark) => figures.examined(hallmark),
        None => figures,
    };
    Ok(MeasuredRun { dir: dir.to_owned(), analyzed, figures })
}

/// Processor time of the workers per operation, over the whole run.
fn cpu_ns(manifest: &Manifest) -> Option<f64> {
    let sum = manifest.execution.worker_cpu_ns? as f64;
    (manifest.counters.offered > 0).then(|| sum / manifest.counters.offered as f64)
}
