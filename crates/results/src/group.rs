//! Repeated runs as one result.

use std::path::Path;

use assay_analysis::compare::{median_run, spreads};
use assay_history::{Meeting, Repeat};
use assay_report::compare::{ComparedSetup, Run};
use assay_report::repeated::RepeatedRuns;

use crate::error::ResultsError;
use crate::measured_runs::{MeasuredRun, measure_all};
use crate::shell::repeating;

const fn meaning(state: Meeting) -> &'static str {
    match state {
        Meeting::Fresh => "each run had a store of its own, loaded for it",
        Meeting::Reloaded => {
            "all runs used the same store, loaded again before each over what was left"
        }
        Meeting::Kept => "all runs met the same store: each what the one before left",
    }
}

/// The runs of the group `dir` as one result; each of them is passed to `beside` before.
///
/// # Errors
/// If they cannot be read, or there is none; an error of `beside` is its own.
pub fn group_beside<E: From<ResultsError>>(
    dir: &Path,
    mut beside: impl FnMut(&MeasuredRun) -> Result<(), E>,
) -> Result<RepeatedRuns, E> {
    let repeat = Repeat::read(dir).map_err(ResultsError::from)?;
    let measured = measure_all(dir, 0)?;
    let figures: Vec<_> = measured.iter().map(|run| run.figures.clone()).collect();
    measured.iter().try_for_each(&mut beside)?;
    let typical = median_run(measured.iter().map(|run| &run.analyzed.summary));
    let runs = measured
        .into_iter()
        .map(|run| Run { facts: run.analyzed.facts, summary: run.analyzed.summary });
    Ok(RepeatedRuns {
        side: ComparedSetup { name: dir.display().to_string(), runs: runs.collect(), typical },
        expected: repeat.expected as usize,
        meeting: meaning(repeat.state).to_owned(),
        command: repeating(&repeat.command),
        figures: spreads(&figures),
    })
}

/// The runs of the group `dir` as one result.
///
/// # Errors
/// If they cannot be read, or there is none.
pub fn group(dir: &Path) -> Result<RepeatedRuns, ResultsError> {
    group_beside(dir, |_| Ok(()))
}
