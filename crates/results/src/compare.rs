//! Comparison of two set-ups, figure by figure.

mod circumstances;
pub mod condition;

use std::path::Path;

use assay_analysis::compare::{Demands, RunFigures, compare as compare_figures, median_run};
use assay_report::compare::{ComparedSetup, Contrast, Run, Trial};

use crate::error::ResultsError;
use crate::measured_runs::{MeasuredRun, measure_all};
use crate::run_dirs;
use condition::Stated;

/// Runs of NEW draw from other numbers than those of BASE.
const NEW_RUNS: u64 = 1 << 20;

/// A set-up to compare: its name for the reader, and its run directory or group of runs.
#[derive(Clone, Copy, Debug)]
pub struct NamedDir<'a> {
    /// What the reader calls it.
    pub name: &'a str,
    /// The run directory or the group of repeated runs.
    pub dir: &'a Path,
}

/// Compares the runs of `new` with those of `old`, and holds them against `stated` conditions.
///
/// # Errors
/// If they share runs, one cannot be read, or they have nothing in common to compare.
pub fn compare(
    old: NamedDir<'_>,
    new: NamedDir<'_>,
    demands: Demands,
    stated: &[Stated],
) -> Result<Contrast, ResultsError> {
    require_two(old.dir, new.dir)?;
    let base = (old.name.to_owned(), measure_all(old.dir, 0)?);
    let candidate = (new.name.to_owned(), measure_all(new.dir, NEW_RUNS)?);
    contrast(base, candidate, demands, stated)
}

/// What is compared with itself never differs, so a condition on it would never fail.
fn require_two(old: &Path, new: &Path) -> Result<(), ResultsError> {
    let real = |dir: &Path| dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let (old, new) = (real(old), real(new));
    let holds = |group: &Path, run: &Path| run_dirs::is_group(group) && run.starts_with(group);
    if old != new && !holds(&old, &new) && !holds(&new, &old) {
        return Ok(());
    }
    let shared = if holds(&old, &new) { new } else { old };
    Err(ResultsError::Invalid(format!(
        "BASE and NEW share {}: what is compared with itself never differs; name two runs",
        shared.display()
    )))
}

fn contrast(
    (old_name, old): (String, Vec<MeasuredRun>),
    (new_name, new): (String, Vec<MeasuredRun>),
    demands: Demands,
    stated: &[Stated],
) -> Result<Contrast, ResultsError> {
    circumstances::require_comparable(&old, &new)?;
    let differences = circumstances::differences(&old, &new);
    let figures = |side: &[MeasuredRun]| -> Vec<RunFigures> {
        side.iter().map(|run| run.figures.clone()).collect()
    };
    let comparison = compare_figures(&figures(&old), &figures(&new), demands);
    if comparison.requested().next().is_none() {
        return Err(ResultsError::Invalid(
            "the two have none of the figures in question in common: was anything done in both?"
                .to_owned(),
        ));
    }
    let trials = stated
        .iter()
        .map(|stated| Trial {
            text: stated.text.clone(),
            judgement: comparison.analyze(&stated.condition),
            row: comparison.row(stated.condition.figure).cloned(),
        })
        .collect();
    let side = |name: String, runs: Vec<MeasuredRun>| {
        let run =
            |run: MeasuredRun| Run { facts: run.analyzed.facts, summary: run.analyzed.summary };
        let typical = median_run(runs.iter().map(|run| &run.analyzed.summary));
        ComparedSetup { name, runs: runs.into_iter().map(run).collect(), typical }
    };
    Ok(Contrast {
        old: side(old_name, old),
        new: side(new_name, new),
        differences,
        comparison,
        trials,
        is_forced: false,
    })
}
