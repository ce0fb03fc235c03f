//! A study of a matrix: stores × workloads × nodes × loads, each cell a run directory.

use std::fmt::Write as _;
use std::path::Path;

use assay_model::Nanos;
use assay_report::Letters;
use assay_report::matrix::{MatrixStudy, PublishedFigures};
use assay_report::units::{count, duration};
use assay_run::text;

use crate::commands::{OWN_DIR, Target};
use crate::directory::{StudyDirectory, write_whole};
use crate::error::{Context, StudyError, invalid};
use crate::execute::{StudyEnd, StudyExecutor};
use crate::plan::{PlannedCell, StudyPlan};
use crate::program::Program;
use crate::result;
use crate::space;

/// What is said of a study beside its plan.
pub struct MatrixRequest<'a> {
    /// The study's directory.
    pub dir: &'a Path,
    /// Where labs are.
    pub labs: &'a Path,
    /// The same, as it was typed.
    pub lab_dir: Option<&'a str>,
    /// The command that was typed.
    pub command: &'a [String],
    /// How long a cell may take.
    pub timeout: Nanos,
    /// Whether failed cells are run again.
    pub retries_failed: bool,
    /// Whether what is in stores with a URL may be removed.
    pub replaces: bool,
    /// Whether it begins although memory or disk are too small.
    pub is_forced: bool,
    /// Figures of others.
    pub published: Option<PublishedFigures>,
}

/// A study that was run, as far as it came.
pub struct MatrixResult {
    /// What came of the cells.
    pub study: MatrixStudy,
    /// How it ended; an error is one of the study's directory, such as a full disk.
    pub ended: Result<StudyEnd, StudyError>,
    /// Whether page, tables and numbers are in the study's directory.
    pub is_kept: Result<(), StudyError>,
}

/// Runs the cells of `plan` that have no record yet, then reads what has come of all.
///
/// # Errors
/// If the study cannot begin.
pub fn run(
    plan: &StudyPlan,
    request: MatrixRequest<'_>,
    program: &dyn Program,
) -> Result<MatrixResult, StudyError> {
    let dir = request.dir;
    let command_line = program.command_line();
    let mut kept = StudyDirectory::open(dir, &plan.name)?;
    kept.look(plan.cells.iter().map(|cell| cell.id.as_str()), command_line.current)?;
    if request.retries_failed {
        kept.retry_failed();
    }
    kept.require_same(plan, program)?;
    let missing: Vec<&PlannedCell> =
        plan.cells.iter().filter(|cell| !kept.is_settled(&cell.id)).collect();
    if !request.replaces {
        require_empty_stores(&missing, program)?;
    }
    if !request.is_forced {
        space::require(plan, &missing, kept.leftovers(&missing), dir, request.labs)?;
    }
    kept.keep_file(&plan.file, command_line)?;
    program.tell(&announced(plan, missing.len(), dir));
    write_whole(&dir.join("order.txt"), &listed(plan, Some(&kept)))?;
    let ended =
        StudyExecutor::new(plan, &mut kept, program, request.lab_dir, request.timeout).execute();
    // A full disk ends the study, but not the report of the cells before.
    let mut study = result::gather(plan, &kept, program, request.command, request.published);
    study.is_interrupted = !matches!(ended, Ok(StudyEnd::All));
    let is_kept = result::keep(dir, &study);
    let ended =
        ended.context("the study cannot go on; what is done stays, and the same command goes on");
    Ok(MatrixResult { study, ended, is_kept })
}

/// Refuses to empty a store that may be needed.
fn require_empty_stores(missing: &[&PlannedCell], program: &dyn Program) -> Result<(), StudyError> {
    let emptied = missing.iter().find_map(|cell| match &cell.workload_kind.target {
        Target::Url(url) if cell.workload_kind.fill.is_some() && !url.contains(OWN_DIR) => {
            Some((url, cell))
        }
        _ => None,
    });
    let Some((url, cell)) = emptied else { return Ok(()) };
    Err(invalid(format!(
        "{}: before each of its cells the study removes what Assay has in {}, tables with all rows \
         included; say --replace if nobody needs it, or give the store {OWN_DIR} or up in the \
         study file",
        cell.id,
        program.command_line().url_without_secrets(url)
    )))
}

/// How much is to be done, before it begins.
fn announced(plan: &StudyPlan, missing: usize, dir: &Path) -> String {
    let done = plan.cells.len() - missing;
    format!(
        "{}: {} cells, {} done, {} to do; order by seed {}, in {}",
        plan.name,
        count(plan.cells.len() as u64),
        count(done as u64),
        count(missing as u64),
        plan.seed,
        dir.join("order.txt").display()
    )
}

/// The cells in their order, with what they need.
pub fn listed(plan: &StudyPlan, kept: Option<&StudyDirectory>) -> String {
    let mut text = format!(
        "{}: {} stores x {} workloads x {} loads, {} repetitions: {} cells; seed {}\n",
        plan.name,
        plan.stores.len(),
        plan.workloads.len(),
        plan.loads.len(),
        plan.repetitions,
        plan.cells.len(),
        plan.seed
    );
    let mut before = None;
    for (place, cell) in plan.cells.iter().enumerate() {
        let shift = (cell.repetition, &cell.shift);
        if before != Some(shift) && cell.shift != cell.id {
            let need = space::need(plan, cell);
            let _ = writeln!(
                text,
                "  {}, repetition {}: about {} MiB of memory, {} MiB on disk",
                cell.shift, cell.repetition, need.memory_mib, need.disk_mib
            );
        }
        before = Some(shift);
        let is_done = kept.is_some_and(|kept| kept.is_settled(&cell.id));
        let state = if is_done { "  (done before)" } else { "" };
        let _ = writeln!(text, "  {:>6}  {}{state}", place + 1, cell.id);
    }
    for line in &plan.skipped {
        let _ = writeln!(text, "  {line}");
    }
    text + &estimate(plan)
}

/// The estimated duration before the first run.
fn estimate(plan: &StudyPlan) -> String {
    let setting = |cell: &PlannedCell, name: &str| cell.settings.get(name).cloned();
    let time = |cell: &PlannedCell| {
        let of = |name| setting(cell, name).and_then(|length| text::duration(&length).ok());
        let parts = [of("duration"), of("warm-up")];
        parts.into_iter().flatten().fold(0, |all: u64, time: Nanos| all.saturating_add(time.0))
    };
    let operations = |cell: &PlannedCell| {
        setting(cell, "operations").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0)
    };
    let records = |cell: &PlannedCell| plan.workloads[cell.setup.workload].records.unwrap_or(0);
    let sum =
        |of: &dyn Fn(&PlannedCell) -> u64| plan.cells.iter().map(of).fold(0, u64::saturating_add);
    format!(
        "to issue: {} operations, and {} by the clock; to fill: up to {} records; histories: about \
         {} MiB\n",
        count(sum(&operations)),
        duration(Nanos(sum(&time)), Letters::Ascii),
        count(sum(&records)),
        space::histories_mib(plan, &plan.cells.iter().collect::<Vec<_>>())
    )
}
