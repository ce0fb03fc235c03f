//! `assay study anomalies`: predictions of anomalies, each checked on a real store.

pub mod file;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use anyhow::{Context, Result};
use assay_history::{Manifest, State};
use assay_model::Nanos;
use assay_report::anomalies::{
    AnomalyCell, AnomalyRun, AnomalyStudy, anomalies_json, anomalies_markdown, anomalies_text,
};
use assay_results::judge_run;
use assay_results::shell::quoted;
use clap::ArgMatches;

use file::{AnomalyFile, CellSection, is_of_anomalies};

use super::builtin;
use super::matrix::directory::{self, Kept, write_whole};
use super::matrix::execute::{ChildEnd, last_error, start_child, wait};
use super::matrix::shift::Stop;
use super::matrix::{self, TypedOptions};
use crate::exit::{Exit, usage};
use crate::options::Options;
use crate::show::{Display, Format, put};
use crate::units;

/// A cell's result, which is written after its last run.
const RESULT: &str = "cell.json";

/// Flags that only a study of a matrix has.
const FOREIGN: [&str; 4] = ["scale", "repetitions", "workloads", "published"];

/// The text of the study file that is meant, if it is one of anomalies.
pub fn text(matches: &ArgMatches) -> Option<String> {
    let path = PathBuf::from(matches.get_one::<String>("file")?);
    let text = match path.is_file() {
        true => fs::read_to_string(&path).ok()?,
        false => builtin::find(&path)?.text.to_owned(),
    };
    is_of_anomalies(&text).then_some(text)
}

/// What is common to all cells.
struct AnomalyExecutor<'a> {
    file: &'a AnomalyFile,
    options: &'a Options,
    stop: &'a Stop,
    dir: &'a Path,
    timeout: Nanos,
    is_quiet: bool,
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

/// `assay study FILE` for a file of predictions, whose text this is.
pub fn anomalies(matches: &ArgMatches, text: &str) -> Result<Exit> {
    let options = Options::gather(matches)?;
    let display = Display::from(&options)?;
    if !matches!(display.format, Format::Text | Format::Json | Format::Markdown) {
        return Err(options.wrong("format", "a study of anomalies is shown as text, json or md"));
    }
    if let Some(flag) = FOREIGN.into_iter().find(|flag| matches.contains_id(flag)) {
        return Err(usage(format!("--{flag}: a study of anomalies has no such thing")));
    }
    let typed = TypedOptions::from(matches, &options)?;
    let path = &typed.path;
    let mut file = AnomalyFile::parse(text, path)?;
    file.seed = typed.study_request.seed.unwrap_or(file.seed);
    if !typed.study_request.stores.is_empty() {
        choose(&mut file, &typed.study_request.stores)?;
    }
    if typed.is_plan {
        put(&listed(&file), display.output.as_deref())?;
        return Ok(Exit::Fine);
    }
    let timeout = units::duration(&file.give_up)
        .map_err(|error| usage(format!("{}: give-up: {error}", path.display())))?;
    let name = file.name_of(path);
    let dir = matrix::directory(matches, &options, &name);
    let _kept = Kept::open(&dir, &name)?;
    let stop = Stop::listen()?;
    let is_quiet = options.is_quiet()?;
    let executor = AnomalyExecutor {
        file: &file,
        options: &options,
        stop: &stop,
        dir: &dir,
        timeout,
        is_quiet,
    };
    let (cells, is_whole) = executor.execute(typed.retries_failed)?;
    let study = AnomalyStudy {
        title: file.title.clone(),
        about: file.about.clone(),
        machine: directory::machine(),
        cells,
    };
    write_whole(&dir.join("anomalies.json"), &anomalies_json(&study))?;
    write_whole(&dir.join("anomalies.md"), &anomalies_markdown(&study))?;
    let text = match display.format {
        Format::Json => anomalies_json(&study),
        Format::Markdown => anomalies_markdown(&study),
        _ => anomalies_text(&study, display.style.letters),
    };
    put(&text, display.output.as_deref())?;
    if !is_quiet {
        eprintln!("kept in {}", dir.display());
    }
    Ok(exit(&study, is_whole))
}

/// Leaves only cells of these names, or whose store is of one of these recipes.
fn choose(file: &mut AnomalyFile, names: &[String]) -> Result<()> {
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
            return Err(usage(format!("--stores: no cell is called {name}, nor its store{hint}")));
        }
    }
    file.cells.retain(|cell| names.iter().any(|name| is_meant(cell, name)));
    Ok(())
}

/// The commands, in their order.
fn listed(file: &AnomalyFile) -> String {
    let lines = file.cells.iter().map(|cell| {
        let words = cell.words(&file.run, file.seed, Path::new("DIR"));
        let tries =
            if cell.tries > 1 { format!("  (up to {} seeds)", cell.tries) } else { String::new() };
        format!("{}\n  assay {}{tries}\n", cell.name, quoted(&cell.without_secrets(&words)))
    });
    lines.collect()
}

fn exit(study: &AnomalyStudy, is_whole: bool) -> Exit {
    let has_failed = study.cells.iter().any(|cell| !cell.failed.is_empty());
    let is_broken = study.cells.iter().any(|cell| !cell.broken_promises().is_empty());
    match (is_whole, has_failed, is_broken) {
        (false, ..) => Exit::Interrupted,
        (true, true, _) => Exit::Internal,
        (true, false, true) => Exit::Violated,
        (true, false, false) => Exit::Fine,
    }
}

impl AnomalyExecutor<'_> {
    /// Runs the cells that have no result yet; tells whether it came to the end.
    fn execute(&self, retries_failed: bool) -> Result<(Vec<AnomalyCell>, bool)> {
        let mut cells = Vec::new();
        for (number, section) in self.file.cells.iter().enumerate() {
            let folder = self.dir.join("cells").join(&section.name);
            let fresh = self.unrun(section);
            let found = kept(&folder).filter(|found| self.is_same(section, found));
            let is_to_be_run = found.as_ref().is_none_or(|found| {
                !found.not_run.is_empty() || (retries_failed && !found.failed.is_empty())
            });
            if let Some(found) = found.filter(|_| !is_to_be_run) {
                cells.push(AnomalyCell { runs: found.runs, failed: found.failed, ..fresh });
                continue;
            }
            if !self.is_quiet {
                eprintln!("cell {} of {}: {}", number + 1, self.file.cells.len(), section.name);
            }
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
            fault: section.fault(),
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
        let words = section.words(&self.file.run, seed, Path::new("DIR"));
        format!("assay {}", quoted(&section.without_secrets(&words)))
    }

    /// Runs a cell with one seed after the other; `None` if it was interrupted.
    fn cell(
        &self,
        section: &CellSection,
        mut cell: AnomalyCell,
        folder: &Path,
    ) -> Result<Option<AnomalyCell>> {
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
                if !self.is_quiet {
                    eprintln!("  {}{}", cell.not_run, cell.failed);
                }
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
    fn run(&self, section: &CellSection, seed: u64, dir: &Path) -> Result<Ended> {
        let store = dir.join("store");
        fs::create_dir_all(&store).with_context(|| format!("cannot make {}", store.display()))?;
        let run_dir = dir.join("run");
        let mut words = section.words(&self.file.run, seed, &store);
        words.extend(["--run-dir".to_owned(), run_dir.display().to_string()]);
        words.push("--no-config".to_owned());
        if self.options.given("install").is_some_and(|text| matches!(text, "true" | "1")) {
            words.push("--install".to_owned());
        }
        if let Some(folder) = self.options.given("lab-dir") {
            words.extend(["--lab-dir".to_owned(), folder.to_owned()]);
        }
        let log = dir.join("log.txt");
        let mut child = start_child(&words, &log)?;
        let status = match wait(&mut child, self.timeout, self.stop)? {
            ChildEnd::Exited(status) => status,
            ChildEnd::Late(after) => {
                return Ok(Ended::Failed(format!("it was given up after {after}")));
            }
            ChildEnd::Interrupted => return Ok(Ended::Interrupted),
        };
        // Whatever the store has put there is of no use to anybody.
        let _ = fs::remove_dir_all(&store);
        ended(status, &run_dir, last_error(&log, 0))
    }
}

/// How a run ended whose last error was `said`.
fn ended(status: ExitStatus, run_dir: &Path, said: Option<String>) -> Result<Ended> {
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
    let refusals = [Exit::Usage, Exit::Unreachable].map(|exit| Some(exit as i32));
    Ok(match refusals.contains(&status.code()) && begun.is_empty() {
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
