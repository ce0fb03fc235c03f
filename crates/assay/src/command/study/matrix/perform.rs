//! Asks the cells that are missing, one after the other, each by a process of its own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow};
use assay_history::{Manifest, State};
use assay_model::Nanos;
use assay_report::Letters;
use assay_report::units::duration;
use assay_run::clock;

use super::ask::{Ask, OWN_DIR, Target, shown, url_in};
use super::file::Refill;
use super::kept::{self, CellRecord, CellState, Kept};
use super::plan::{Plan, PlannedCell};
use super::shift::{Shift, Stop};
use crate::experiment::rfc3339;
use crate::lab::Labs;
use crate::shell::quoted;
use crate::{tether, undo};

/// How often a cell's process is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How much of a cell's own words is looked through for what went wrong.
const WORDS_BYTES: u64 = 1 << 16;

/// How much of it is told; the log has the rest.
const REASON_CHARS: usize = 2_000;

/// What a cell's process has said.
const LOG: &str = "log.txt";

/// How the asking ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every cell has a record.
    All,
    /// Somebody stopped it.
    Interrupted,
}

/// Asks cells.
pub struct Performer<'a> {
    plan: &'a Plan,
    kept: &'a mut Kept,
    labs: &'a Labs,
    stop: &'a Stop,
    lab_dir: Option<String>,
    patience: Nanos,
    is_quiet: bool,
    shift: Option<Shift>,
    /// The shift whose cluster did not come up, with the reason.
    broken: Option<((u32, String), String)>,
    /// The data set in each store that stays, as the workload's name that filled it.
    filled: BTreeMap<String, usize>,
    /// How long the cells took that were asked now.
    took: Vec<Nanos>,
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
enum Came {
    Fine,
    Failed(String),
    Interrupted,
}

impl<'a> Performer<'a> {
    /// Whoever asks the cells of `plan`.
    pub fn new(
        plan: &'a Plan,
        kept: &'a mut Kept,
        labs: &'a Labs,
        stop: &'a Stop,
        lab_dir: Option<String>,
        patience: Nanos,
    ) -> Performer<'a> {
        Performer {
            plan,
            kept,
            labs,
            stop,
            lab_dir,
            patience,
            is_quiet: false,
            shift: None,
            broken: None,
            filled: BTreeMap::new(),
            took: Vec::new(),
        }
    }

    /// Says nothing on the way.
    pub fn quiet(mut self, is_quiet: bool) -> Performer<'a> {
        self.is_quiet = is_quiet;
        self
    }

    /// Asks every cell that has no record yet.
    ///
    /// # Errors
    /// If the study's directory cannot be written.
    pub fn perform(&mut self) -> Result<Ending> {
        let plan = self.plan;
        let missing: Vec<(usize, &PlannedCell)> = plan
            .cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| !self.kept.is_settled(&cell.id))
            .collect();
        let total = missing.len();
        for (number, &(place, cell)) in missing.iter().enumerate() {
            if self.stop.is_wanted() {
                return Ok(Ending::Interrupted);
            }
            self.announce(place, number, total, cell);
            let begun = clock::monotonic();
            match self.cell(cell)? {
                Attempt::Interrupted => {
                    self.kept.give_up(cell)?;
                    self.shift = None;
                    return Ok(Ending::Interrupted);
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
        Ok(Ending::All)
    }

    fn announce(&self, place: usize, number: usize, total: usize, cell: &PlannedCell) {
        if self.is_quiet {
            return;
        }
        let left = match self.took.len() {
            0 => String::new(),
            asked => {
                let sum: u64 = self.took.iter().map(|took| took.0).sum();
                let each = sum / asked as u64;
                let left = Nanos(each.saturating_mul((total - number) as u64));
                format!("; about {} left", duration(left, Letters::Ascii))
            }
        };
        let (place, all) = (place + 1, self.plan.cells.len());
        eprintln!("cell {place} of {all}: {}{left}", cell.id);
    }

    fn tell(&self, record: &CellRecord) {
        if record.state == CellState::Failed && !self.is_quiet {
            eprintln!("  failed: {}", record.reason);
        }
    }

    /// Starts its store if need be, fills it, asks it.
    fn cell(&mut self, cell: &PlannedCell) -> Result<Attempt> {
        let dir = self.kept.begin(cell)?;
        let mut record = CellRecord {
            id: cell.id.clone(),
            began: rfc3339(SystemTime::now()),
            machine: kept::machine(),
            settings: cell.settings.clone(),
            ..CellRecord::default()
        };
        let ended = self.ask(cell, &dir, &mut record);
        // Whatever the store has put there is of no use to anybody.
        let _ = fs::remove_dir_all(dir.join("store"));
        record.ended = rfc3339(SystemTime::now());
        match ended? {
            Came::Interrupted => Ok(Attempt::Interrupted),
            Came::Fine => {
                record.state = CellState::Done;
                Ok(Attempt::Ended(Box::new(record)))
            }
            Came::Failed(reason) => {
                record.reason = reason;
                Ok(Attempt::Ended(Box::new(record)))
            }
        }
    }

    fn ask(&mut self, cell: &PlannedCell, dir: &Path, record: &mut CellRecord) -> Result<Came> {
        let (place, reach) = match &cell.asks.target {
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
                Err(_) if self.stop.is_wanted() => return Ok(Came::Interrupted),
                Err(error) => return Ok(Came::Failed(format!("{error:#}"))),
            },
        };
        let mut more = vec![(reach.0, reach.1)];
        if let (Some(folder), "lab") = (&self.lab_dir, reach.0) {
            more.push(("lab-dir", folder.clone()));
        }
        if let Some(fill) = &cell.asks.fill
            && self.is_to_be_filled(cell, &place)
        {
            let begun = clock::monotonic();
            match self.child(fill, dir, "fill", &more, record)? {
                Came::Fine => record.fill_ns = Some(clock::monotonic().since(begun).0),
                Came::Failed(reason) => {
                    return Ok(Came::Failed(format!("filling the store: {reason}")));
                }
                Came::Interrupted => return Ok(Came::Interrupted),
            }
        }
        self.filled.remove(&place);
        let begun = clock::monotonic();
        let ended = self.child(&cell.asks.run, dir, "run", &more, record)?;
        record.run_ns = clock::monotonic().since(begun).0;
        let workload = cell.setup.workload;
        let is_as_filled =
            !self.plan.workloads[workload].changes_records || undo::is_undone(&dir.join("run"));
        if matches!(ended, Came::Fine) && is_as_filled {
            self.filled.insert(place, workload);
        }
        Ok(ended)
    }

    /// Whether the store does not hold the data set as it was loaded.
    fn is_to_be_filled(&self, cell: &PlannedCell, place: &str) -> bool {
        let Some(&there) = self.filled.get(place) else { return true };
        let (there, wanted) =
            (&self.plan.workloads[there], &self.plan.workloads[cell.setup.workload]);
        let is_same = (there.records, &there.dataset) == (wanted.records, &wanted.dataset);
        self.plan.file.fill.when == Refill::EachRun || !is_same
    }

    /// The name of the lab of a cell's shift, which is up then.
    fn up(&mut self, cell: &PlannedCell, record: &mut CellRecord) -> Result<String> {
        let key = key(cell);
        if self.shift.as_ref().is_some_and(|shift| shift.key() != &key) {
            self.shift = None;
        }
        let is_quiet = self.is_quiet;
        let tell = move |text: &str| {
            if !is_quiet {
                eprintln!("  {text}");
            }
        };
        if self.shift.is_none() {
            let begun = clock::monotonic();
            // Its other cells would wait for nothing.
            if let Some((_, reason)) = self.broken.as_ref().filter(|(broken, _)| *broken == key) {
                return Err(anyhow!("its cluster did not come up before: {reason}"));
            }
            let name = format!("{}-{}", self.plan.name, cell.shift);
            let target = &cell.asks.target;
            let shift = Shift::up(key.clone(), &name, target, self.labs, self.stop, &tell);
            let shift = shift.inspect_err(|error| {
                self.broken = Some((key, format!("{error:#}")));
            })?;
            record.start_ns = Some(clock::monotonic().since(begun).0);
            self.filled.clear();
            self.shift = Some(shift);
        }
        let shift = self.shift.as_ref().context("the shift has been started")?;
        let words = cell.asks.lab_words(shift.name());
        record.commands.extend(words.map(|words| line(&words)));
        Ok(shift.name().to_owned())
    }

    /// Runs one command to its end, or until somebody stops it.
    fn child(
        &self,
        ask: &Ask,
        dir: &Path,
        bundle: &str,
        more: &[(&str, String)],
        record: &mut CellRecord,
    ) -> Result<Came> {
        let folder = dir.join(bundle);
        let bundle = ("bundle", folder.display().to_string());
        // Only what the cell's settings say decides it.
        let own = [more, &[bundle, ("no-config", String::new())]].concat();
        let words = ask.words(&own);
        record.commands.push(line(&words));
        let log = dir.join(LOG);
        // What the commands before have said is not about this one.
        let silent = fs::metadata(&log).map_or(0, |metadata| metadata.len());
        let mut child = start(&words, &log)?;
        let begun = clock::monotonic();
        let status = loop {
            if let Some(status) = child.try_wait().context("cannot wait for a cell's process")? {
                break status;
            }
            let is_late = clock::monotonic().since(begun) > self.patience;
            if is_late || self.stop.is_wanted() {
                end(&mut child)?;
                return Ok(match is_late {
                    true => Came::Failed(format!(
                        "it was given up after {}; give-up in the study file says when",
                        duration(self.patience, Letters::Ascii)
                    )),
                    false => Came::Interrupted,
                });
            }
            thread::sleep(LOOK);
        };
        Ok(ended(status, &folder, said(&log, silent)))
    }
}

/// Ends a child, and waits for it.
fn end(child: &mut Child) -> Result<()> {
    // It may have ended by itself in this moment.
    let _ = child.kill();
    child.wait().context("cannot wait for a cell's process")?;
    Ok(())
}

/// Starts this program with `words`; the kernel kills it when this process ends.
fn start(words: &[String], log: &Path) -> Result<Child> {
    let output = File::options().create(true).append(true).open(log);
    let output = output.with_context(|| format!("cannot write {}", log.display()))?;
    let mut command = tether::tied();
    // An interrupt from the keyboard is for the study, which ends the cell.
    command.stdout(Stdio::null()).stderr(output).process_group(0);
    let words = [words, &["--quiet".to_owned()]].concat();
    let child = tether::spawn(&mut command, &words, &without_secrets(&words));
    child.context("cannot start this program once more")
}

/// What came of a command whose bundle is `bundle` and whose last error was `said`.
fn ended(status: ExitStatus, bundle: &Path, said: Option<String>) -> Came {
    if status.success() {
        return match Manifest::read(bundle) {
            Ok(manifest) if manifest.state == State::Finished => Came::Fine,
            Ok(manifest) => Came::Failed(format!("its bundle is {}", manifest.state.name())),
            Err(error) => Came::Failed(error.to_string()),
        };
    }
    let how = match status.code() {
        Some(code) => format!("it ended with code {code}"),
        None => format!("it was killed ({status})"),
    };
    let manifest = Manifest::read(bundle).ok().and_then(|manifest| manifest.reason);
    Came::Failed(match said.or(manifest) {
        Some(words) => format!("{words} ({how})"),
        None => how,
    })
}

/// The last error in what a command has said behind `silent` bytes, with the lines that follow it.
fn said(log: &Path, silent: u64) -> Option<String> {
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

/// A command as it is typed, without what nobody else may know.
fn line(words: &[String]) -> String {
    format!("assay {}", quoted(&without_secrets(words)))
}

/// The words of a command without what nobody else may know.
fn without_secrets(words: &[String]) -> Vec<String> {
    let flags = [""].into_iter().chain(words.iter().map(|word| word.trim_start_matches('-')));
    flags.zip(words).map(|(flag, word)| shown(flag, word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said_in(before: &str, text: &str) -> Option<String> {
        let folder = tempfile::tempdir().expect("there is room");
        let log = folder.path().join(LOG);
        fs::write(&log, format!("{before}{text}")).expect("there is room");
        said(&log, before.len() as u64)
    }

    #[test]
    fn the_reason_is_the_last_error_of_this_command() {
        let told = said_in("", "warning: a\nerror: first\nerror: the second\n  has two lines\n");
        assert_eq!(told.as_deref(), Some("the second   has two lines"));
        assert_eq!(said_in("error: of the fill\n", "all is well\n"), None);
        assert_eq!(said_in("error: of the fill\n", "error: mine\n").as_deref(), Some("mine"));
        assert_eq!(said_in("filled\n", ""), None);
    }

    #[test]
    fn words_within_a_line_are_nobodys_error() {
        let stack = "error: the binding has thrown\njava.io.IOException: server error: full\n";
        let told = said_in("", stack).expect("there is an error");
        assert_eq!(told, "the binding has thrown java.io.IOException: server error: full");
        assert_eq!(said_in("", "site.ycsb: error: x\n"), None);
    }

    #[test]
    fn of_a_long_reason_the_begin_is_told() {
        let told = said_in("", &format!("error: {}\n", "ä".repeat(5_000))).expect("there is one");
        assert_eq!(told.chars().count(), REASON_CHARS + 2);
        assert!(told.ends_with("ä …"));
    }
}
