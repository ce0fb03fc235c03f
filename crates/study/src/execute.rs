//! Runs the cells that are missing, one after the other, each in a process of its own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

use assay_history::{Manifest, State};
use assay_model::Nanos;
use assay_report::Letters;
use assay_report::units::duration;
use assay_results::run_dirs::is_undone;
use assay_results::shell::quoted;
use assay_run::clock;

use crate::command_line::CommandLine;
use crate::commands::{CellCommand, OWN_DIR, Target, url_in};
use crate::directory::{CellRecord, CellState, StudyDirectory};
use crate::error::{Context, StudyError};
use crate::file::Refill;
use crate::plan::{PlannedCell, StudyPlan};
use crate::program::{Cluster, Program};

/// How often a cell's process is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How much of a cell's own words is looked through for what went wrong.
const WORDS_BYTES: u64 = 1 << 16;

/// How much of the error is shown; the log has the rest.
const REASON_CHARS: usize = 2_000;

/// What a cell's process has said.
const LOG: &str = "log.txt";

/// How the load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StudyEnd {
    /// Every cell has a record.
    All,
    /// It was stopped.
    Interrupted,
}

/// Runs cells.
pub struct StudyExecutor<'a> {
    plan: &'a StudyPlan,
    kept: &'a mut StudyDirectory,
    program: &'a dyn Program,
    /// Where labs are, if that was said.
    lab_dir: Option<&'a str>,
    timeout: Nanos,
    shift: Option<Shift>,
    /// The shift whose cluster did not come up, with the reason.
    broken: Option<((u32, String), String)>,
    /// The data set in each store that stays, as the workload's name that filled it.
    filled: BTreeMap<String, usize>,
    /// How long the cells took that were run now.
    took: Vec<Nanos>,
}

/// The cluster that cells share: started before the first of them, ended after the last.
struct Shift {
    key: (u32, String),
    cluster: Box<dyn Cluster>,
}

/// Which cells share a cluster.
fn key(cell: &PlannedCell) -> (u32, String) {
    (cell.repetition, cell.shift.clone())
}

/// What came of one cell.
enum Attempt {
    Ended(Box<CellRecord>),
    Interrupted,
}

/// What came of a command.
enum CommandResult {
    Fine,
    Failed(String),
    Interrupted,
}

impl<'a> StudyExecutor<'a> {
    /// Runs the cells of `plan`.
    pub fn new(
        plan: &'a StudyPlan,
        kept: &'a mut StudyDirectory,
        program: &'a dyn Program,
        lab_dir: Option<&'a str>,
        timeout: Nanos,
    ) -> StudyExecutor<'a> {
        StudyExecutor {
            plan,
            kept,
            program,
            lab_dir,
            timeout,
            shift: None,
            broken: None,
            filled: BTreeMap::new(),
            took: Vec::new(),
        }
    }

    /// Runs every cell that has no record yet.
    ///
    /// # Errors
    /// If the study's directory cannot be written.
    pub fn execute(&mut self) -> Result<StudyEnd, StudyError> {
        let plan = self.plan;
        let missing: Vec<(usize, &PlannedCell)> = plan
            .cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| !self.kept.is_settled(&cell.id))
            .collect();
        let total = missing.len();
        for (number, &(place, cell)) in missing.iter().enumerate() {
            if self.program.is_stopped() {
                return Ok(StudyEnd::Interrupted);
            }
            self.announce(place, number, total, cell);
            let begun = clock::monotonic();
            match self.cell(cell)? {
                Attempt::Interrupted => {
                    self.kept.give_up(cell)?;
                    self.shift = None;
                    return Ok(StudyEnd::Interrupted);
                }
                Attempt::Ended(record) => {
                    self.took.push(clock::monotonic().since(begun));
                    self.tell(&record);
                    // A cluster that a cell failed on may be half broken.
                    if record.state == CellState::Failed {
                        self.shift = None;
                        self.filled.clear();
                    }
                    self.kept.end(*record)?;
                }
            }
            let next = missing.get(number + 1).map(|(_, next)| key(next));
            if next != Some(key(cell)) {
                self.shift = None;
            }
        }
        self.shift = None;
        Ok(StudyEnd::All)
    }

    fn announce(&self, place: usize, number: usize, total: usize, cell: &PlannedCell) {
        let left = match self.took.len() {
            0 => String::new(),
            requested => {
                let sum: u64 = self.took.iter().map(|took| took.0).sum();
                let each = sum / requested as u64;
                let left = Nanos(each.saturating_mul((total - number) as u64));
                format!("; about {} left", duration(left, Letters::Ascii))
            }
        };
        let (place, all) = (place + 1, self.plan.cells.len());
        self.program.tell(&format!("cell {place} of {all}: {}{left}", cell.id));
    }

    fn tell(&self, record: &CellRecord) {
        if record.state == CellState::Failed {
            self.program.tell(&format!("  failed: {}", record.reason));
        }
    }

    /// Starts its store if need be, loads it, runs the workload.
    fn cell(&mut self, cell: &PlannedCell) -> Result<Attempt, StudyError> {
        let dir = self.kept.begin(cell)?;
        let mut record = CellRecord {
            id: cell.id.clone(),
            began: self.program.now(),
            machine: self.program.machine().describe(),
            settings: cell.settings.clone(),
            ..CellRecord::default()
        };
        let ended = self.send(cell, &dir, &mut record);
        // Whatever the store has put there is of no use to anybody.
        let _ = fs::remove_dir_all(dir.join("store"));
        record.ended = self.program.now();
        match ended? {
            CommandResult::Interrupted => Ok(Attempt::Interrupted),
            CommandResult::Fine => {
                record.state = CellState::Done;
                Ok(Attempt::Ended(Box::new(record)))
            }
            CommandResult::Failed(reason) => {
                record.reason = reason;
                Ok(Attempt::Ended(Box::new(record)))
            }
        }
    }

    fn send(
        &mut self,
        cell: &PlannedCell,
        dir: &Path,
        record: &mut CellRecord,
    ) -> Result<CommandResult, StudyError> {
        let (place, reach) = match &cell.workload_kind.target {
            Target::Url(template) => {
                let store = dir.join("store");
                if template.contains(OWN_DIR) {
                    fs::create_dir_all(&store)
                        .with_context(|| format!("cannot make {}", store.display()))?;
                }
                let url = url_in(template, &store);
                (url.clone(), ("target", url))
            }
            Target::Up { .. } => match self.up(cell, record) {
                Ok(name) => (name.clone(), ("lab", name)),
                Err(_) if self.program.is_stopped() => return Ok(CommandResult::Interrupted),
                Err(error) => return Ok(CommandResult::Failed(error)),
            },
        };
        let mut more = vec![(reach.0, reach.1)];
        if let (Some(folder), "lab") = (self.lab_dir, reach.0) {
            more.push(("lab-dir", folder.to_owned()));
        }
        if let Some(fill) = &cell.workload_kind.fill
            && self.is_to_be_filled(cell, &place)
        {
            let begun = clock::monotonic();
            match self.child(fill, dir, "fill", &more, record)? {
                CommandResult::Fine => record.fill_ns = Some(clock::monotonic().since(begun).0),
                CommandResult::Failed(reason) => {
                    return Ok(CommandResult::Failed(format!("filling the store: {reason}")));
                }
                CommandResult::Interrupted => return Ok(CommandResult::Interrupted),
            }
        }
        self.filled.remove(&place);
        let begun = clock::monotonic();
        let ended = self.child(&cell.workload_kind.run, dir, "run", &more, record)?;
        record.run_ns = clock::monotonic().since(begun).0;
        let workload = cell.setup.workload;
        let is_as_filled =
            !self.plan.workloads[workload].changes_records || is_undone(&dir.join("run"));
        if matches!(ended, CommandResult::Fine) && is_as_filled {
            self.filled.insert(place, workload);
        }
        Ok(ended)
    }

    /// Whether the store does not hold the data set as it was loaded.
    fn is_to_be_filled(&self, cell: &PlannedCell, place: &str) -> bool {
        let Some(&there) = self.filled.get(place) else { return true };
        let (there, expected) =
            (&self.plan.workloads[there], &self.plan.workloads[cell.setup.workload]);
        let is_same = (there.records, &there.dataset) == (expected.records, &expected.dataset);
        self.plan.file.fill.when == Refill::EachRun || !is_same
    }

    /// The name of the lab of a cell's shift, which is up then.
    fn up(&mut self, cell: &PlannedCell, record: &mut CellRecord) -> Result<String, String> {
        let key = key(cell);
        if self.shift.as_ref().is_some_and(|shift| shift.key != key) {
            self.shift = None;
        }
        let shift = match self.shift.take() {
            Some(shift) => shift,
            None => {
                let begun = clock::monotonic();
                let cluster = self.start_cluster(&key, cell)?;
                record.start_ns = Some(clock::monotonic().since(begun).0);
                self.filled.clear();
                Shift { key, cluster }
            }
        };
        let name = shift.cluster.name().to_owned();
        self.shift = Some(shift);
        let words = cell.workload_kind.lab_words(&name);
        record.commands.extend(words.map(|words| line(self.program.command_line(), &words)));
        Ok(name)
    }

    /// Starts the cluster of a cell's shift, unless it did not come up before: its other cells
    /// would wait for nothing.
    fn start_cluster(
        &mut self,
        key: &(u32, String),
        cell: &PlannedCell,
    ) -> Result<Box<dyn Cluster>, String> {
        if let Some((_, reason)) = self.broken.as_ref().filter(|(broken, _)| broken == key) {
            return Err(format!("its cluster did not come up before: {reason}"));
        }
        let name = format!("{}-{}", self.plan.name, cell.shift);
        let cluster = self.program.up(&name, &cell.workload_kind.target);
        cluster.inspect_err(|error| self.broken = Some((key.clone(), error.clone())))
    }

    /// Runs one command to its end, or until it is stopped.
    fn child(
        &self,
        request: &CellCommand,
        dir: &Path,
        run_dir: &str,
        more: &[(&str, String)],
        record: &mut CellRecord,
    ) -> Result<CommandResult, StudyError> {
        let folder = dir.join(run_dir);
        let run_dir = ("run-dir", folder.display().to_string());
        // Only what the cell's settings say decides it.
        let own = [more, &[run_dir, ("no-config", String::new())]].concat();
        let words = request.words(&own);
        record.commands.push(line(self.program.command_line(), &words));
        let log = dir.join(LOG);
        // What the commands before have said is not about this one.
        let silent = fs::metadata(&log).map_or(0, |metadata| metadata.len());
        let mut child = start_child(self.program, &words, &log)?;
        Ok(match wait(&mut child, self.timeout, self.program)? {
            ChildEnd::Exited(status) => ended(status, &folder, last_error(&log, silent)),
            ChildEnd::Late(after) => CommandResult::Failed(format!(
                "it was given up after {after}; give-up in the study file says when"
            )),
            ChildEnd::Interrupted => CommandResult::Interrupted,
        })
    }
}

/// How the process of a run ended.
pub enum ChildEnd {
    /// By itself.
    Exited(ExitStatus),
    /// It was ended, after this long.
    Late(String),
    /// It was ended, because the study is to end.
    Interrupted,
}

/// Waits for a child until it has taken too long, or the study is to end.
pub fn wait(
    child: &mut Child,
    timeout: Nanos,
    program: &dyn Program,
) -> Result<ChildEnd, StudyError> {
    let begun = clock::monotonic();
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for a run's process")? {
            return Ok(ChildEnd::Exited(status));
        }
        let is_late = clock::monotonic().since(begun) > timeout;
        if is_late || program.is_stopped() {
            end_child(child)?;
            return Ok(match is_late {
                true => ChildEnd::Late(duration(timeout, Letters::Ascii)),
                false => ChildEnd::Interrupted,
            });
        }
        thread::sleep(LOOK);
    }
}

/// Ends a child, and waits for it.
fn end_child(child: &mut Child) -> Result<(), StudyError> {
    // It may have ended by itself in this moment.
    let _ = child.kill();
    child.wait().context("cannot wait for a cell's process")?;
    Ok(())
}

/// Starts this program with `words`; the kernel kills it when this process ends.
pub fn start_child(
    program: &dyn Program,
    words: &[String],
    log: &Path,
) -> Result<Child, StudyError> {
    let output = File::options().create(true).append(true).open(log);
    let output = output.with_context(|| format!("cannot write {}", log.display()))?;
    let words = [words, &["--quiet".to_owned()]].concat();
    let child = program.start(&words, &program.command_line().without_secrets(&words), output);
    child.context("cannot start this program once more")
}

/// The outcome of a command whose run directory is `run_dir` and whose last error was `said`.
fn ended(status: ExitStatus, run_dir: &Path, said: Option<String>) -> CommandResult {
    if status.success() {
        return match Manifest::read(run_dir) {
            Ok(manifest) if manifest.state == State::Finished => CommandResult::Fine,
            Ok(manifest) => {
                CommandResult::Failed(format!("its run directory is {}", manifest.state.name()))
            }
            Err(error) => CommandResult::Failed(error.to_string()),
        };
    }
    let how = match status.code() {
        Some(code) => format!("it ended with code {code}"),
        None => format!("it was killed ({status})"),
    };
    let manifest = Manifest::read(run_dir).ok().and_then(|manifest| manifest.reason);
    CommandResult::Failed(match said.or(manifest) {
        Some(words) => format!("{words} ({how})"),
        None => how,
    })
}

/// The last error in what a command has said behind `silent` bytes, with the lines that follow it.
pub fn last_error(log: &Path, silent: u64) -> Option<String> {
    const BEGIN: &str = "error: ";
    let length = fs::metadata(log).ok()?.len();
    // With the end of the line before: of a line that is cut off nothing is read.
    let bytes = (length + 1).saturating_sub(silent).min(WORDS_BYTES);
    let text = assay_lab::tail(log, bytes);
    // What others have said, such as Java's stacks, has such words within its lines.
    let is_line = |at: &usize| *at == 0 || text[..*at].ends_with('\n');
    let at = text.rmatch_indices(BEGIN).map(|(at, _)| at).find(is_line)?;
    let words = text[at + BEGIN.len()..].trim().replace('\n', " ");
    match words.char_indices().nth(REASON_CHARS) {
        Some((end, _)) => Some(format!("{} …", &words[..end])),
        None => Some(words),
    }
}

/// A command as it is typed, without secrets.
fn line(command_line: &CommandLine, words: &[String]) -> String {
    format!("assay {}", quoted(&command_line.without_secrets(words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said_in(before: &str, text: &str) -> Option<String> {
        let folder = tempfile::tempdir().expect("there is room");
        let log = folder.path().join(LOG);
        fs::write(&log, format!("{before}{text}")).expect("there is room");
        last_error(&log, before.len() as u64)
    }

    #[test]
    fn the_reason_is_the_last_error_of_this_command() {
        let reported =
            said_in("", "warning: a\nerror: first\nerror: the second\n  has two lines\n");
        assert_eq!(reported.as_deref(), Some("the second   has two lines"));
        assert_eq!(said_in("error: of the fill\n", "all is well\n"), None);
        assert_eq!(said_in("error: of the fill\n", "error: mine\n").as_deref(), Some("mine"));
        assert_eq!(said_in("filled\n", ""), None);
    }

    #[test]
    fn error_words_within_a_line_are_no_error() {
        let stack = "error: the binding has thrown\njava.io.IOException: server error: full\n";
        let reported = said_in("", stack).expect("there is an error");
        assert_eq!(reported, "the binding has thrown java.io.IOException: server error: full");
        assert_eq!(said_in("", "site.ycsb: error: x\n"), None);
    }

    #[test]
    fn of_a_long_reason_the_begin_is_reported() {
        let reported =
            said_in("", &format!("error: {}\n", "ä".repeat(5_000))).expect("there is one");
        assert_eq!(reported.chars().count(), REASON_CHARS + 2);
        assert!(reported.ends_with("ä …"));
    }
}
