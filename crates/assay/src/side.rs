//! The runs of one set-up with their figures: a bundle, or a group of them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_analysis::compare::{Resampling, RunFigures, Sampler};
use assay_history::{Columns, History, Manifest, Repeat};

use crate::bundles;
use crate::exit::{as_usage, usage};
use crate::show::{Judged, judge, question};

/// One run, judged, with what its blocks say about chance.
pub struct Measured {
    /// The bundle.
    pub dir: PathBuf,
    /// The bundle's manifest.
    pub manifest: Manifest,
    /// Facts with figures.
    pub judged: Judged,
    /// The figures with their replicates.
    pub figures: RunFigures,
}

/// All runs of the bundle or group `dir`; their draws are numbered from `first`.
///
/// # Errors
/// If one of them cannot be read, or there is none.
pub fn measure_all(dir: &Path, first: u64) -> Result<Vec<Measured>> {
    if !bundles::is_group(dir) {
        return Ok(vec![measure(dir, first)?]);
    }
    let repeat = Repeat::read(dir).map_err(as_usage)?;
    if repeat.runs.is_empty() {
        return Err(usage(format!("{}: none of its runs came to its end", dir.display())));
    }
    let numbered = repeat.bundles(dir).into_iter().zip(first..);
    numbered.map(|(bundle, number)| measure(&bundle, number)).collect()
}

/// The run of the bundle `dir`, which draws by `number`.
///
/// # Errors
/// If the bundle is not one, or its history cannot be read.
pub fn measure(dir: &Path, number: u64) -> Result<Measured> {
    let manifest = Manifest::read(dir).map_err(as_usage)?;
    let judged = judge(dir, None)?;
    let mut sampler = Sampler::new(question(&manifest, None));
    let mut history = History::open(dir).map_err(as_usage)?;
    history.each_batch(Columns::ALL, |batch| sampler.push(batch.records))?;
    let cpu_ns = cpu_ns(&manifest);
    let figures = sampler.finish(&judged.summary, cpu_ns, Resampling::of_run(number));
    let figures = match &judged.facts.hallmark {
        Some(hallmark) => figures.examined(hallmark),
        None => figures,
    };
    Ok(Measured { dir: dir.to_owned(), manifest, judged, figures })
}

/// Processor time of the lanes per operation, over the whole run.
fn cpu_ns(manifest: &Manifest) -> Option<f64> {
    let sum = manifest.load.settings.get("lane_cpu_ns")?.parse::<f64>().ok()?;
    (manifest.counters.offered > 0).then(|| sum / manifest.counters.offered as f64)
}
