//! Study of anomalies: predictions, each checked on a real store.

pub mod file;

use std::fs;
use std::path::Path;
use std::process::ExitStatus;

use assay_history::{Manifest, State};
use assay_model::Nanos;
use assay_report::anomalies::{
    AnomalyCell, AnomalyRun, AnomalyStudy, anomalies_json, anomalies_markdown,
};
use assay_results::judge_run;
use assay_results::shell::quoted;

use file::{AnomalyFile, CellSection};

use crate::command_line::CommandLine;
use crate::directory::{StudyDirectory, write_whole};
use crate::error::{Context, StudyError, invalid};
use crate::execute::{ChildEnd, last_error, start_child, wait};
use crate::program::Program;

/// A cell's result, which is written after its last run.
const RESULT: &str = "cell.json";

/// What is said of a study of predictions beside its file.
pub struct AnomalyRequest<'a> {
    /// How long a run may take before it is given up, with the start of its store.
    pub timeout: Nanos,
    /// Whether cells that have failed are run again.
    pub retries_failed: bool,
    /// Whether missing programs may be installed.
    pub may_install: bool,
    /// Where labs are, if that was said.
    pub lab_dir: Option<&'a str>,
    /// The exit codes of a command that refuses to begin, or finds programs missing.
    pub refusals: [i32; 2],
}

/// What is common to all cells.
struct AnomalyExecutor<'a> {
    file: &'a AnomalyFile,
    program: &'a dyn Program,
    request: &'a AnomalyRequest<'a>,
    dir: &'a Path,
}

/// How the process of a run ended.
enum Ended {
    /// Its run directory is whole.
    Whole,
    /// The command is refused, or programs are missing.
    Refused(String),
    Failed(String),
    Interrupted,
}

/// A study of predictions that was run.
pub struct AnomalyResult {
    /// What came of it; its files are in the study's directory.
    pub study: AnomalyStudy,
    /// Whether it came to its end.
    pub is_whole: bool,
}

/// Runs the cells of `file` that have no result yet in the directory `dir`.
///
/// # Errors
/// If the directory cannot be written, or a run directory cannot be judged.
pub fn run(
    file: &AnomalyFile,
    name: &str,
    dir: &Path,
    program: &dyn Program,
    request: &AnomalyRequest<'_>,
) -> Result<AnomalyResult, StudyError> {
    let _kept = StudyDirectory::open(dir, name)?;
    let executor = AnomalyExecutor { file, program, request, dir };
    let (cells, is_whole) = executor.execute()?;
    let study = AnomalyStudy {
        title: file.title.clone(),
        about: file.about.clone(),
        machine: program.machine().describe(),
        cells,
    };
    write_whole(&dir.join("anomalies.json"), &anomalies_json(&study))?;
    write_whole(&dir.join("anomalies.md"), &anomalies_markdown(&study))?;
    Ok(AnomalyResult { study, is_whole })
}

/// Leaves only cells of these names, or whose store is of one of these recipes.
///
/// # Errors
/// If no cell has such a name or store.
pub fn choose(file: &mut AnomalyFile, names: &[String]) -> Result<(), StudyError> {
    let recipe = |cell: &CellSection| {
        let target = cell.up.as_ref().or(cell.url.as_ref()).cloned().unwrap_or_default();
        target.split(':').next().unwrap_or_default().to_owned()
    };
    let is_meant = |cell: &CellSection, name: &str| cell.name == name || recipe(cell) == name;
    for name in names {
        if !file.cells.iter().any(|cell| is_meant(cell, name)) {
            let all = file.cells.iter().map(|cell| cell.name.as_str());
            let near = assay_model::closest(name, all);
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            return Err(invalid(format!(
                "--stores: no cell is called {name}, nor its store{hint}"
            )));
        }
    }
    file.cells.retain(|cell| names.iter().any(|name| is_meant(cell, name)));
    Ok(())
}

/// The commands, in their order.
pub fn listed(file: &AnomalyFile, command_line: &CommandLine) -> String {
    let lines = file.cells.iter().map(|cell| {
        let words = cell.words(&file.run, file.seed, Path::new("DIR"), command_line);
        let tries =
            if cell.tries > 1 { format!("  (up to {} seeds)", cell.tries) } else { String::new() };
        format!("{}\n  assay {}{tries}\n", cell.name, quoted(&command_line.without_secrets(&words)))
    });
    lines.collect()
}

impl AnomalyExecutor<'_> {
    /// Runs the cells that have no result yet; tells whether it came to the end.
    fn execute(&self) -> Result<(Vec<AnomalyCell>, bool), StudyError> {
        let mut cells = Vec::new();
        for (number, section) in self.file.cells.iter().enumerate() {
            let folder = self.dir.join("cells").join(&section.name);
            let fresh = self.unrun(section);
            let found = kept(&folder).filter(|found| self.is_same(section, found));
            let is_to_be_run = found.as_ref().is_none_or(|found| {
                !found.not_run.is_empty()
                    || (self.request.retries_failed && !found.failed.is_empty())
            });
            if let Some(found) = found.filter(|_| !is_to_be_run) {
                cells.push(AnomalyCell { runs: found.runs, failed: found.failed, ..fresh });
                continue;
            }
            let (place, all) = (number + 1, self.file.cells.len());
            self.program.tell(&format!("cell {place} of {all}: {}", section.name));
            let Some(cell) = self.cell(section, fresh, &folder)? else { return Ok((cells, false)) };
            let text = serde_json::to_string_pretty(&cell).context("a cell is always JSON")?;
            write_whole(&folder.join(RESULT), &text)?;
            cells.push(cell);
        }
        Ok((cells, true))
    }

    fn unrun(&self, section: &CellSection) -> AnomalyCell {
        AnomalyCell {
            name: section.name.clone(),
            store: section.store.clone(),
            workload: section.workload.clone(),
            fault: section.fault(self.program.command_line()),
            source: section.source.clone(),
            violates: section.violates.clone(),
            keeps: section.keeps.clone(),
            command: self.command(section, self.file.seed),
            tries: section.tries,
            ..AnomalyCell::default()
        }
    }

    /// Whether a kept result is of the runs that the file describes now.
    fn is_same(&self, section: &CellSection, found: &AnomalyCell) -> bool {
        let fresh = self.unrun(section);
        (&found.command, found.tries, &found.violates)
            == (&fresh.command, fresh.tries, &fresh.violates)
    }

    fn command(&self, section: &CellSection, seed: u64) -> String {
        let command_line = self.program.command_line();
        let words = section.words(&self.file.run, seed, Path::new("DIR"), command_line);
        format!("assay {}", quoted(&command_line.without_secrets(&words)))
    }

    /// Runs a cell with one seed after the other; `None` if it was interrupted.
    fn cell(
        &self,
        section: &CellSection,
        mut cell: AnomalyCell,
        folder: &Path,
    ) -> Result<Option<AnomalyCell>, StudyError> {
        for seed in (self.file.seed..).take(section.tries as usize) {
            let dir = folder.join(format!("seed-{seed}"));
            // What is left of a run that was interrupted.
            if dir.exists() {
                fs::remove_dir_all(&dir)
                    .with_context(|| format!("cannot remove {}", dir.display()))?;
            }
            fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
            match self.run(section, seed, &dir)? {
                Ended::Whole => {}
                Ended::Interrupted => return Ok(None),
                Ended::Refused(reason) => cell.not_run = reason,
                Ended::Failed(reason) => cell.failed = reason,
            }
            if !cell.not_run.is_empty() || !cell.failed.is_empty() {
                self.program.tell(&format!("  {}{}", cell.not_run, cell.failed));
                break;
            }
            let result = judge_run(&dir.join("run"), None)?;
            cell.runs.push(AnomalyRun::of(seed, self.command(section, seed), &result));
            if !section.violates.is_empty() && cell.has_shown_all() {
                break;
            }
        }
        Ok(Some(cell))
    }

    /// One run in a process of its own.
    fn run(&self, section: &CellSection, seed: u64, dir: &Path) -> Result<Ended, StudyError> {
        let store = dir.join("store");
        fs::create_dir_all(&store).with_context(|| format!("cannot make {}", store.display()))?;
        let run_dir = dir.join("run");
        let mut words = section.words(&self.file.run, seed, &store, self.program.command_line());
        words.extend(["--run-dir".to_owned(), run_dir.display().to_string()]);
        words.push("--no-config".to_owned());
        if self.request.may_install {
            words.push("--install".to_owned());
        }
        if let Some(folder) = self.request.lab_dir {
            words.extend(["--lab-dir".to_owned(), folder.to_owned()]);
        }
        let log = dir.join("log.txt");
        let mut child = start_child(self.program, &words, &log)?;
        let status = match wait(&mut child, self.request.timeout, self.program)? {
            ChildEnd::Exited(status) => status,
            ChildEnd::Late(after) => {
                return Ok(Ended::Failed(format!("it was given up after {after}")));
            }
            ChildEnd::Interrupted => return Ok(Ended::Interrupted),
        };
        // Whatever the store has put there is of no use to anybody.
        let _ = fs::remove_dir_all(&store);
        ended(status, &run_dir, last_error(&log, 0), self.request.refusals)
    }
}

/// How a run ended whose last error was `said`.
fn ended(
    status: ExitStatus,
    run_dir: &Path,
    said: Option<String>,
    refusals: [i32; 2],
) -> Result<Ended, StudyError> {
    if status.success() {
        return Ok(match Manifest::read(run_dir)?.state {
            State::Finished => Ended::Whole,
            state => Ended::Failed(format!("its run directory is {}", state.name())),
        });
    }
    let begun = [run_dir.join("load"), run_dir.to_owned()];
    let begun: Vec<Manifest> = begun.iter().filter_map(|dir| Manifest::read(dir).ok()).collect();
    let kept = begun.iter().filter_map(|manifest| manifest.reason.clone()).next_back();
    let reason = said.or(kept).unwrap_or_else(|| format!("it ended with {status}"));
    let is_refusal = status.code().is_some_and(|code| refusals.contains(&code));
    Ok(match is_refusal && begun.is_empty() {
        // What there is instead is of no interest here.
        true => Ended::Refused(reason.split("; ").next().unwrap_or_default().to_owned()),
        false => Ended::Failed(reason),
    })
}

/// The result of a cell that was run before.
fn kept(folder: &Path) -> Option<AnomalyCell> {
    let text = fs::read_to_string(folder.join(RESULT)).ok()?;
    serde_json::from_str(&text).ok()
}
