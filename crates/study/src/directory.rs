//! The study's directory: its plan and the outcome of each cell.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assay_history::{Manifest, ManifestError, State};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::command_line::CommandLine;
use crate::commands::differences;
use crate::error::{Context, StudyError, invalid};
use crate::file::{Refill, StudyFile};
use crate::plan::{PlannedCell, StudyPlan};
use crate::program::Program;

/// The version of the format of records of cells.
const FORMAT: u32 = 1;

/// What says that a directory is that of a study, so that cells in it may be removed.
const MARK: &str = "assay-study.toml";

/// The version of the format of the directory.
const MARK_FORMAT: u32 = 1;

/// The study file as it was run.
const FILE: &str = "study.toml";

/// The lock file that tells whether the study is running in another process.
const LOCK: &str = "lock";

/// The directory of the cells.
const CELLS: &str = "cells";

/// A cell's record, which is written last.
const RECORD: &str = "cell.toml";

/// What a file system counts the blocks of a file in.
const BLOCK_BYTES: u64 = 512;

/// The differences that are listed; more are only counted.
const SHOWN: usize = 6;

/// What has come of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CellRecord {
    /// The version of this format.
    pub format: u32,
    /// Its name.
    pub id: String,
    /// Whether it came to its end.
    pub state: CellState,
    /// Why it did not.
    pub reason: String,
    /// Our version.
    pub assay: String,
    /// The client machine.
    pub machine: String,
    /// When it began and ended, as text with a time zone.
    pub began: String,
    /// When it ended.
    pub ended: String,
    /// How long its store needed to be started; nothing if it was there.
    pub start_ns: Option<u64>,
    /// How long it took to fill the store; nothing if that was not done, or by the run itself.
    pub fill_ns: Option<u64>,
    /// How long the command of the run took.
    pub run_ns: u64,
    /// The commands that repeat it, one after the other.
    pub commands: Vec<String>,
    /// Everything that decides its figures, by name.
    pub settings: BTreeMap<String, String>,
}

/// Whether a cell came to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellState {
    /// Its run directory is whole.
    Done,
    /// There is a reason.
    #[default]
    Failed,
}

impl Default for CellRecord {
    fn default() -> CellRecord {
        CellRecord {
            format: FORMAT,
            id: String::new(),
            state: CellState::Failed,
            reason: String::new(),
            assay: env!("CARGO_PKG_VERSION").to_owned(),
            machine: String::new(),
            began: String::new(),
            ended: String::new(),
            start_ns: None,
            fill_ns: None,
            run_ns: 0,
            commands: Vec::new(),
            settings: BTreeMap::new(),
        }
    }
}

/// Whose a directory is.
#[derive(Serialize, Deserialize)]
struct Mark {
    /// The version of the directory's format.
    format: u32,
    /// The study's name.
    study: String,
}

/// The study's directory, locked for this process as long as this value lives.
pub struct StudyDirectory {
    dir: PathBuf,
    records: BTreeMap<String, CellRecord>,
    /// Cells that have failed, and are run again.
    again: BTreeSet<String>,
    _lock: File,
}

impl StudyDirectory {
    /// Opens the directory of the study `name`, which is made if it is not there.
    ///
    /// # Errors
    /// If another process works on it, or it is no directory of a study.
    pub fn open(dir: &Path, name: &str) -> Result<StudyDirectory, StudyError> {
        let is_marked = require_mark(dir, name)?;
        let cells = dir.join(CELLS);
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let lock = dir.join(LOCK);
        let lock =
            File::create(&lock).with_context(|| format!("cannot write {}", lock.display()))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            invalid(format!(
                "the study is running in another process in {}: wait for the other `assay study`, \
                 or end it",
                dir.display()
            ))
        })?;
        if !is_marked {
            let mark = Mark { format: MARK_FORMAT, study: name.to_owned() };
            let text = toml::to_string(&mark).context("a mark is always TOML")?;
            write_whole(&dir.join(MARK), &text)?;
        }
        fs::create_dir_all(&cells).with_context(|| format!("cannot make {}", cells.display()))?;
        let (records, again) = (BTreeMap::new(), BTreeSet::new());
        Ok(StudyDirectory { dir: dir.to_owned(), records, again, _lock: lock })
    }

    /// Reads the records of the plan's cells, and changes nothing; a cell without a record is still
    /// to run. `current` gives the present names of settings.
    ///
    /// # Errors
    /// If there is a record that cannot be read.
    pub fn look<'a>(
        &mut self,
        ids: impl Iterator<Item = &'a str>,
        current: fn(&str) -> &str,
    ) -> Result<(), StudyError> {
        for id in ids {
            if let Some(record) = read(&self.cell_dir(id), current)? {
                self.records.insert(id.to_owned(), record);
            }
        }
        Ok(())
    }

    /// Runs failed cells again; the record of each stays until its turn comes.
    pub fn retry_failed(&mut self) {
        let records = self.records.iter();
        let failed = records.filter(|(_, record)| record.state == CellState::Failed);
        self.again = failed.map(|(id, _)| id.clone()).collect();
    }

    /// Whether a cell needs no further run.
    pub fn is_settled(&self, id: &str) -> bool {
        self.records.contains_key(id) && !self.again.contains(id)
    }

    /// Refuses to resume with cells that were run with other options.
    ///
    /// # Errors
    /// If there are such cells; says in what they differ.
    pub fn require_same(&self, plan: &StudyPlan, program: &dyn Program) -> Result<(), StudyError> {
        let (version, machine) = (env!("CARGO_PKG_VERSION"), program.machine().describe());
        let mut found: Vec<(String, String)> = Vec::new();
        let mut is_all_failed = true;
        for cell in &plan.cells {
            let Some(record) = self.records.get(&cell.id) else { continue };
            if !self.is_settled(&cell.id) {
                continue;
            }
            let mut differing = differences(&cell.settings, &record.settings);
            if record.assay != version {
                differing.push(format!("assay: was {}, is now {version}", record.assay));
            }
            if record.machine != machine {
                differing.push(format!("machine: was {}, is now {machine}", record.machine));
            }
            is_all_failed &= differing.is_empty() || record.state == CellState::Failed;
            found.extend(differing.into_iter().map(|text| (text, cell.id.clone())));
        }
        if found.is_empty() {
            return Ok(());
        }
        let mut reported: Vec<String> = Vec::new();
        for (text, id) in &found {
            if !reported.iter().any(|line| line.starts_with(text.as_str())) {
                reported.push(format!("{text} (first in {id})"));
            }
        }
        let more = reported.len().saturating_sub(SHOWN);
        reported.truncate(SHOWN);
        let more = if more > 0 { format!("\n  … and {more} more") } else { String::new() };
        let advice = match is_all_failed {
            true => "they have all failed: --retry-failed runs them as the file says now",
            false => {
                "keep them and take another directory by --dir, or remove that one to begin anew"
            }
        };
        Err(invalid(format!(
            "{} holds cells of this study that were run with other options:\n  {}{more}\n{advice}",
            self.dir.display(),
            reported.join("\n  ")
        )))
    }

    /// Keeps what the study file says, without comments, which may hold anything, and secrets.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub fn keep_file(
        &self,
        file: &StudyFile,
        command_line: &CommandLine,
    ) -> Result<(), StudyError> {
        let table = toml::Table::try_from(file.without_secrets(command_line));
        let table = table.context("a study file is always a table")?;
        let text = toml::to_string(&table).context("a table is always TOML")?;
        write_whole(&self.dir.join(FILE), &text)
    }

    /// The directory of a cell.
    pub fn cell_dir(&self, id: &str) -> PathBuf {
        self.dir.join(CELLS).join(id)
    }

    /// The run directory of a cell's run.
    pub fn run_dir(&self, id: &str) -> PathBuf {
        self.cell_dir(id).join("run")
    }

    /// The run directory of a cell's run, relative to the study's directory.
    pub fn run_dir_name(id: &str) -> String {
        format!("{CELLS}/{id}/run")
    }

    /// What has come of a cell, if anything has.
    pub fn record(&self, id: &str) -> Option<&CellRecord> {
        self.records.get(id)
    }

    /// How many cells there are that the plan does not have.
    pub fn strangers(&self, plan: &StudyPlan) -> usize {
        let known: BTreeSet<&str> = plan.cells.iter().map(|cell| cell.id.as_str()).collect();
        let Ok(entries) = fs::read_dir(self.dir.join(CELLS)) else { return 0 };
        let is_strange = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            !name.to_str().is_some_and(|name| known.contains(name))
                && entry.path().join(RECORD).is_file()
        };
        entries.flatten().filter(is_strange).count()
    }

    /// Bytes on disk that earlier attempts at these cells have left, which
    /// [`StudyDirectory::begin`] removes.
    pub fn leftovers(&self, missing: &[&PlannedCell]) -> u64 {
        missing.iter().map(|cell| occupied(&self.cell_dir(&cell.id))).sum()
    }

    /// Begins a cell: what an earlier attempt has left in its directory is removed.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn begin(&mut self, cell: &PlannedCell) -> Result<PathBuf, StudyError> {
        self.records.remove(&cell.id);
        self.again.remove(&cell.id);
        let dir = self.cell_dir(&cell.id);
        remove(&dir)?;
        fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        Ok(dir)
    }

    /// Gives a cell up: nothing of it is left.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn give_up(&self, cell: &PlannedCell) -> Result<(), StudyError> {
        remove(&self.cell_dir(&cell.id))
    }

    /// Stores the outcome of a cell; from now on it is not run again.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub fn end(&mut self, record: CellRecord) -> Result<(), StudyError> {
        let text = toml::to_string_pretty(&record).context("a record is always TOML")?;
        write_whole(&self.cell_dir(&record.id).join(RECORD), &text)?;
        self.records.insert(record.id.clone(), record);
        Ok(())
    }
}

/// Whether `dir` is marked as that of the study `name`; a new one is not yet.
///
/// # Errors
/// If it holds anything else: the cells in it would belong to another study.
fn require_mark(dir: &Path, name: &str) -> Result<bool, StudyError> {
    let path = dir.join(MARK);
    let displayed = path.display();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return require_empty(dir).map(|()| false);
        }
        Err(error) => return Err(invalid(format!("cannot read {displayed}: {error}"))),
    };
    let mark: Mark = toml::from_str(&text)
        .map_err(|error| invalid(format!("{displayed} says no study: {}", error.message())))?;
    if mark.format > MARK_FORMAT {
        return Err(invalid(format!(
            "{displayed} has format {}, newer than {MARK_FORMAT}; use the release that wrote it",
            mark.format
        )));
    }
    if mark.study != name {
        return Err(invalid(format!(
            "{} holds the study {}, not {name}; name another directory by --dir",
            dir.display(),
            mark.study
        )));
    }
    Ok(true)
}

/// A directory that holds other things than a study must not be filled with one.
fn require_empty(dir: &Path) -> Result<(), StudyError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(invalid(format!("cannot list {}: {error}", dir.display()))),
    };
    // A study that was killed before its first moment was over.
    let unfinished = Path::new(MARK).with_extension("tmp");
    for entry in entries {
        let name = entry.with_context(|| format!("cannot list {}", dir.display()))?.file_name();
        if name != LOCK && name != unfinished.as_os_str() {
            return Err(invalid(format!(
                "{} holds something else than a study (there is no {MARK} in it); name another \
                 directory by --dir",
                dir.display()
            )));
        }
    }
    Ok(())
}

/// The record of the cell in `dir`; `None` if the cell has not come to its end.
///
/// # Errors
/// If that is not known: files of a later release or from a damaged disk may be of value.
fn read(dir: &Path, current: fn(&str) -> &str) -> Result<Option<CellRecord>, StudyError> {
    let path = dir.join(RECORD);
    let displayed = path.display();
    let unread = |reason: String| {
        invalid(format!(
            "{reason}; nothing was removed: to run the cell again, remove {}",
            dir.display()
        ))
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unread(format!("cannot read {displayed}: {error}"))),
    };
    let mut record: CellRecord = toml::from_str(&text).map_err(|error| {
        unread(format!("{displayed} is no record of a cell: {}", error.message()))
    })?;
    if record.format > FORMAT {
        return Err(invalid(format!(
            "{displayed} has format {}, newer than {FORMAT}; use the release that wrote it",
            record.format
        )));
    }
    let settings = std::mem::take(&mut record.settings).into_iter();
    record.settings = settings.map(|setting| renamed(setting, current)).collect();
    if record.state == CellState::Failed {
        return Ok(Some(record));
    }
    match Manifest::read(&dir.join("run")) {
        Ok(manifest) => Ok((manifest.state == State::Finished).then_some(record)),
        Err(ManifestError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        // It is reported among the failed cells, and does not affect the others.
        Err(ManifestError::Parse { .. }) => Ok(Some(record)),
        Err(error) => Err(unread(error.to_string())),
    }
}

/// A setting of a record under its present name.
fn renamed((name, value): (String, String), current: fn(&str) -> &str) -> (String, String) {
    match name.strip_prefix("fill ") {
        // Earlier releases called it so in the study file.
        Some("when") if value == "undo" => (name, Refill::CleanUp.name().to_owned()),
        Some(of_fill) => (format!("fill {}", current(of_fill)), value),
        None => (current(&name).to_owned(), value),
    }
}

/// Bytes that a file, or a directory with everything in it, takes on disk; links are not followed.
fn occupied(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.blocks() * BLOCK_BYTES;
    }
    let within = fs::read_dir(path).into_iter().flatten().flatten();
    within.map(|entry| occupied(&entry.path())).sum()
}

fn remove(path: &Path) -> Result<(), StudyError> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("cannot remove {}", path.display())),
    }
}

/// Puts `text` into the place of `path`, whole or not at all.
///
/// # Errors
/// If the disk does not take it; what was there stays then.
pub fn write_whole(path: &Path, text: &str) -> Result<(), StudyError> {
    let temporary = path.with_extension("tmp");
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: &str, state: CellState) -> CellRecord {
        CellRecord { id: id.to_owned(), state, ..CellRecord::default() }
    }

    fn look(kept: &mut StudyDirectory, ids: &[&str]) {
        kept.look(ids.iter().copied(), |name| name).unwrap();
    }

    #[test]
    fn unfinished_cells_are_run_and_failed_ones_kept_until_they_are_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("s");
        let mut kept = StudyDirectory::open(&dir, "s").unwrap();
        let ids = ["half", "failed", "unsealed"];
        for id in ids {
            fs::create_dir_all(kept.cell_dir(id)).unwrap();
        }
        kept.end(record("failed", CellState::Failed)).unwrap();
        // A record without its run directory is useless.
        kept.end(record("unsealed", CellState::Done)).unwrap();
        drop(kept);
        let mut kept = StudyDirectory::open(&dir, "s").unwrap();
        look(&mut kept, &ids);
        assert!(kept.is_settled("failed"));
        assert!(!kept.is_settled("half") && !kept.is_settled("unsealed"));
        kept.retry_failed();
        assert!(!kept.is_settled("failed"));
        assert!(kept.record("failed").is_some(), "it is there until it is run again");
        assert!(ids.iter().all(|id| kept.cell_dir(id).exists()), "looking removes nothing");
    }

    #[test]
    fn what_cannot_be_read_is_reported_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = StudyDirectory::open(&folder.path().join("s"), "s").unwrap();
        let run = kept.cell_dir("c").join("run");
        fs::create_dir_all(&run).unwrap();
        kept.end(record("c", CellState::Done)).unwrap();
        fs::write(run.join("run.toml"), "format = 9999\n").unwrap();
        let reported = kept.look(["c"].into_iter(), |name| name).unwrap_err().to_string();
        assert!(reported.contains("use the release that wrote it"), "{reported}");
        // A cell with a damaged run directory is not run again until that is removed.
        fs::write(run.join("run.toml"), "format = \u{0}").unwrap();
        kept.look(["c"].into_iter(), |name| name).unwrap();
        assert!(kept.is_settled("c"));
        fs::remove_file(kept.cell_dir("c").join(RECORD)).unwrap();
        fs::create_dir(kept.cell_dir("c").join(RECORD)).unwrap();
        let reported = kept.look(["c"].into_iter(), |name| name).unwrap_err().to_string();
        assert!(reported.contains("cannot read") && run.exists(), "{reported}");
    }

    #[test]
    fn two_studies_cannot_use_one_directory() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("s");
        let _kept = StudyDirectory::open(&dir, "s").unwrap();
        let second = StudyDirectory::open(&dir, "s").err().unwrap().to_string();
        assert!(second.contains("the study is running in another process"), "{second}");
        let named = StudyDirectory::open(&dir, "t").err().unwrap().to_string();
        assert!(named.contains("holds the study s, not t"), "{named}");
        fs::write(folder.path().join("mine.txt"), "").unwrap();
        let other = StudyDirectory::open(folder.path(), "s").err().unwrap().to_string();
        assert!(other.contains("something else than a study"), "{other}");
    }

    #[test]
    fn what_is_not_marked_as_a_study_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(CELLS)).unwrap();
        fs::write(folder.path().join(CELLS).join("notes.txt"), "mine").unwrap();
        let reported = StudyDirectory::open(folder.path(), "s").err().unwrap().to_string();
        assert!(reported.contains("there is no assay-study.toml in it"), "{reported}");
        let names = fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), [CELLS]);
        assert!(folder.path().join(CELLS).join("notes.txt").exists());
    }
}
