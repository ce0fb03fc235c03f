//! Finishes what a killed run left behind.

use std::io;
use std::path::{Path, PathBuf};

use assay_model::{Event, EventKind, Nanos, Outcome, Phase, Record};

use crate::column::{Column, Columns};
use crate::manifest::{Manifest, ManifestError, OperationCounts, PhaseSection, State};
use crate::part::temporary;
use crate::place;
use crate::read::{Batch, History, OpenError};
use crate::run_dir::{LockError, RunDir};
use crate::seal::{SealError, Sealed};
use crate::table::{self, TableError};

/// What a repair did.
#[derive(Clone, Debug, PartialEq)]
pub struct Repaired {
    /// The parts made now, with all damage found on the way.
    pub sealed: Sealed,
    /// Unfinished files of an earlier attempt that were taken away.
    pub removed: Vec<PathBuf>,
    /// The manifest as it is now, if the run directory has one.
    pub manifest: Option<Manifest>,
    /// Whether the manifest still said that the run goes on.
    pub was_running: bool,
    /// The records that are there now.
    pub records: u64,
}

impl Repaired {
    /// Whether there was nothing to do.
    pub fn was_whole(&self) -> bool {
        let is_clean = self.sealed.damage.is_empty() && self.removed.is_empty();
        self.sealed.parts.is_empty() && is_clean && !self.was_running
    }

    /// The records that the run has kept and that no part holds.
    pub fn parts_missing(&self) -> u64 {
        let kept = self.manifest.as_ref().map_or(0, |manifest| manifest.history.records);
        kept.saturating_sub(self.records)
    }

    /// The records that are known to be missing.
    pub fn records_missing(&self) -> u64 {
        self.sealed.damage.iter().filter_map(|damage| damage.records_missing).sum()
    }
}

/// A run directory could not be repaired.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// It is no run directory.
    #[error("{dir} holds no run: neither run.toml nor blocks nor history are there")]
    NoRunDir {
        /// The directory.
        dir: PathBuf,
    },
    /// Its run goes on.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The history could not be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The manifest could not be read or written.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The events could not be written.
    #[error(transparent)]
    Events(#[from] TableError),
    /// What is sealed cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A leftover cannot be taken away.
    #[error("cannot remove {path}: {source}")]
    Clean {
        /// The leftover.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Seals what is intact of the run directory `dir`; doing it again changes nothing.
///
/// Block files in which something other than the tail was damaged are kept beside as
/// `lane=<l>.damaged`. A manifest that still says `running` becomes `interrupted`.
///
/// # Errors
/// If the run goes on, the directory holds no run, a sealed part is none that can be read, or the
/// disk refuses.
pub fn repair(dir: &Path) -> Result<Repaired, RepairError> {
    let signs = [place::manifest(dir), place::blocks(dir), place::history(dir)];
    if !signs.iter().any(|path| path.exists()) {
        return Err(RepairError::NoRunDir { dir: dir.to_path_buf() });
    }
    let mut run_dir = RunDir::open(dir)?;
    let manifest = match Manifest::read(dir) {
        Ok(manifest) => Some(manifest),
        Err(ManifestError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let removed = remove_leftovers(dir)?;
    let (agent, facts) = match &manifest {
        Some(manifest) => (manifest.history.agent, manifest.facts()),
        None => (0, Vec::new()),
    };
    let sealed = run_dir.seal(agent, &facts)?;
    // Before anything is said about the run: a part that cannot be read must not be left out.
    let (records, sum) = match History::open(dir) {
        Ok(history) => (history.records(), history.sum()),
        Err(OpenError::NoHistory { .. }) => (0, None),
        Err(error) => return Err(error.into()),
    };
    let was_running = manifest.as_ref().is_some_and(|manifest| manifest.state == State::Running);
    let manifest = match manifest {
        Some(mut manifest) => {
            let is_whole = was_running || manifest.history.records == records;
            if let Some(sum) = sum.filter(|_| is_whole && !sealed.parts.is_empty()) {
                manifest.history.sum = sum.to_string();
            }
            Some(update_manifest(&mut run_dir, manifest, &sealed)?)
        }
        None => None,
    };
    Ok(Repaired { sealed, removed, manifest, was_running, records })
}

fn remove_leftovers(dir: &Path) -> Result<Vec<PathBuf>, RepairError> {
    let listed = |path: &Path, source| RepairError::Clean { path: path.to_path_buf(), source };
    let beside_history = [
        place::manifest(dir),
        place::events(dir),
        place::observations(dir),
        place::clock(dir),
        place::truth(dir),
        place::reads(dir),
        table::sums(dir),
    ];
    let mut leftovers: Vec<PathBuf> = beside_history.iter().map(|path| temporary(path)).collect();
    let history = place::history(dir);
    let agents = place::numbered(&history, "agent=", "").map_err(|e| listed(&history, e))?;
    for (_, agent) in agents {
        let parts = place::numbered(&agent, "part-", ".parquet.tmp");
        leftovers.extend(parts.map_err(|e| listed(&agent, e))?.into_iter().map(|(_, path)| path));
    }
    leftovers.retain(|path| path.exists());
    for path in &leftovers {
        std::fs::remove_file(path).map_err(|e| listed(path, e))?;
    }
    Ok(leftovers)
}

/// Notes the damage in the manifest, and marks a run whose process was killed.
fn update_manifest(
    run_dir: &mut RunDir,
    mut manifest: Manifest,
    sealed: &Sealed,
) -> Result<Manifest, RepairError> {
    manifest.notes.extend(sealed.damage.iter().map(ToString::to_string));
    let killed = manifest.state == State::Running;
    if killed {
        let course = course(run_dir.dir());
        manifest.state = State::Interrupted;
        manifest.reason = Some("the process ended without closing the run".to_owned());
        manifest.history.records = course.records;
        manifest.counters = course.counters;
        if manifest.phases.is_empty() {
            manifest.phases = course.phases();
        }
        if !place::events(run_dir.dir()).exists() {
            run_dir.write_events(&course.events(&manifest))?;
        }
    }
    if killed || !sealed.damage.is_empty() || !sealed.parts.is_empty() {
        run_dir.write_manifest(&manifest)?;
    }
    Ok(manifest)
}

/// The course of a killed run, as its records tell it.
#[derive(Default)]
struct RunTimeline {
    records: u64,
    /// Final reads are no part of them.
    counters: OperationCounts,
    /// When the first operation of each phase was intended, when the last was given to the store.
    requested: [Option<(Nanos, Nanos)>; Phase::ALL.len()],
    ended: Nanos,
}

impl RunTimeline {
    fn add(&mut self, record: &Record) {
        self.records += 1;
        if record.phase != Phase::Final {
            self.count(record);
        }
        let requested = &mut self.requested[record.phase as usize];
        let (first, last) = requested.unwrap_or((record.intended, record.started));
        *requested = Some((first.min(record.intended), last.max(record.started)));
        self.ended = self.ended.max(record.ended);
    }

    fn count(&mut self, record: &Record) {
        let counter = match record.outcome {
            Outcome::Done => &mut self.counters.done,
            Outcome::Refused => &mut self.counters.refused,
            Outcome::Unknown => &mut self.counters.unknown,
            Outcome::Dropped => &mut self.counters.dropped,
        };
        *counter += 1;
        self.counters.offered += 1;
    }

    fn phases(&self) -> Vec<PhaseSection> {
        let section = |phase: Phase| {
            let (from, to) = self.requested[phase as usize]?;
            Some(PhaseSection { name: phase.name().to_owned(), from_ns: from.0, to_ns: to.0 })
        };
        Phase::ALL.into_iter().filter_map(section).collect()
    }

    fn events(&self, manifest: &Manifest) -> Vec<Event> {
        let begins = manifest.phases.iter().map(|phase| Event {
            at: Nanos(phase.from_ns),
            kind: EventKind::Phase,
            text: phase.name.clone(),
        });
        let text = manifest.reason.clone().unwrap_or_default();
        begins.chain([Event { at: self.ended, kind: EventKind::Warning, text }]).collect()
    }
}

/// The facts from the records in `dir`, as far as they can be read: those of workers that were
/// sealed before the kill, too.
fn course(dir: &Path) -> RunTimeline {
    let mut course = RunTimeline::default();
    if let Ok(mut history) = History::open(dir) {
        let columns =
            [Column::Outcome, Column::Phase, Column::Intended, Column::Started, Column::Ended];
        // Unreadable files are reported by their own readers.
        let _ = history.each_batch(Columns::of(&columns), |batch: Batch<'_>| {
            batch.records.iter().for_each(|record| course.add(record));
        });
    }
    course
}

#[cfg(test)]
mod tests;
