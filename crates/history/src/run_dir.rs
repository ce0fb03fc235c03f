//! The directory of one run, held by one process at a time.

mod lock;

use std::fs::File;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

use assay_model::Event;

use crate::block::RunTag;
use crate::events::write_events;
use crate::manifest::{Manifest, ManifestError};
use crate::observations::{Observation, write_observations};
use crate::place;
use crate::seal::{self, SealError, Sealed, is_full, no_room};
use crate::table::TableError;
use crate::writer::{Memory, StartError, WorkerSink, Writer};
use lock::Lock;
pub use lock::LockError;

/// Bytes kept aside for the manifest, the events and the parts of a short run.
pub const RESERVE_BYTES: usize = 1 << 20;

/// A run directory that this process may write to.
///
/// While it is held, another process cannot seal or repair it. Dropping it gives the reserve back.
#[derive(Debug)]
pub struct RunDir {
    dir: PathBuf,
    run: RunTag,
    _lock: Lock,
}

/// A run directory could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The directory holds a run already.
    #[error(
        "{dir} holds a run already ({found} is there); two runs into one directory would mix: \
         choose another directory or delete this one"
    )]
    Taken {
        /// The directory.
        dir: PathBuf,
        /// What gave it away.
        found: String,
    },
    /// Another process holds it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The directory or a file in it cannot be made.
    #[error("cannot create {path}: {source}")]
    Create {
        /// The directory or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl RunDir {
    /// Makes the directory, takes its lock, puts a little room aside.
    ///
    /// # Errors
    /// If a run is there already, another process is about to make one, or the disk refuses.
    pub fn create(dir: &Path) -> Result<RunDir, CreateError> {
        std::fs::create_dir_all(dir)
            .map_err(|source| CreateError::Create { path: dir.to_path_buf(), source })?;
        let lock = Lock::take(dir)?;
        let made = [place::manifest(dir), place::history(dir), place::blocks(dir)];
        if let Some(found) = made.iter().find(|path| path.exists()) {
            let found = found.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Err(CreateError::Taken { dir: dir.to_path_buf(), found });
        }
        let run_dir = RunDir { dir: dir.to_path_buf(), run: RunTag::default(), _lock: lock };
        let path = place::reserve(dir);
        File::create(&path)
            .and_then(|mut file| file.write_all(&vec![0; RESERVE_BYTES]))
            .map_err(|source| CreateError::Create { path, source })?;
        Ok(run_dir)
    }

    /// Takes the lock of a run directory that is there already, in order to finish it.
    ///
    /// # Errors
    /// If another process holds it.
    pub fn open(dir: &Path) -> Result<RunDir, LockError> {
        let lock = Lock::take(dir)?;
        Ok(RunDir { dir: dir.to_path_buf(), run: RunTag::default(), _lock: lock })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Begins the history of the run whose manifest was written; see [`Writer::start`].
    ///
    /// # Errors
    /// If block files are there already or cannot be made.
    pub fn writer(
        &self,
        workers: u16,
        memory: Memory,
    ) -> Result<(Writer, Vec<WorkerSink>), StartError> {
        Writer::start(&self.dir, workers, self.run, memory)
    }

    /// Turns the blocks of the finished writer into Parquet parts of `agent`.
    ///
    /// `facts` go into the metadata of every part; [`Manifest::facts`] has the usual ones.
    ///
    /// # Errors
    /// If the disk does not take them, even after the reserve was given up. The blocks stay then,
    /// the run directory can be read as it is, and [`repair`](crate::repair::repair) can finish
    /// later.
    pub fn seal(&mut self, agent: u32, facts: &[(String, String)]) -> Result<Sealed, SealError> {
        let first = seal::seal(&self.dir, agent, facts);
        if matches!(first, Err(SealError::Full { .. })) && self.give_up_reserve() {
            return seal::seal(&self.dir, agent, facts);
        }
        first
    }

    /// Writes the manifest, if need be into the room that was put aside.
    ///
    /// # Errors
    /// If the disk does not take it; an earlier manifest then stays.
    pub fn write_manifest(&mut self, manifest: &Manifest) -> Result<(), ManifestError> {
        self.run = RunTag::of(&manifest.facts());
        let first = manifest.write(&self.dir);
        let full = matches!(&first, Err(ManifestError::Write { source, .. }) if is_full(source));
        if full && self.give_up_reserve() { manifest.write(&self.dir) } else { first }
    }

    /// Writes the events, if need be into the room that was put aside.
    ///
    /// # Errors
    /// If the disk does not take them; earlier events then stay.
    pub fn write_events(&mut self, events: &[Event]) -> Result<(), TableError> {
        let first = write_events(&self.dir, events);
        let full = matches!(&first, Err(TableError::Write { source, .. }) if no_room(source));
        if full && self.give_up_reserve() { write_events(&self.dir, events) } else { first }
    }

    /// Writes what was seen of the machines, if need be into the room that was put aside.
    ///
    /// # Errors
    /// If the disk does not take it; earlier observations then stay.
    pub fn write_observations(&mut self, observations: &[Observation]) -> Result<(), TableError> {
        let first = write_observations(&self.dir, observations);
        let full = matches!(&first, Err(TableError::Write { source, .. }) if no_room(source));
        if full && self.give_up_reserve() {
            return write_observations(&self.dir, observations);
        }
        first
    }

    /// Frees the room that was put aside; false if there was none any more.
    fn give_up_reserve(&mut self) -> bool {
        std::fs::remove_file(place::reserve(&self.dir)).is_ok()
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        self.give_up_reserve();
    }
}

#[cfg(test)]
mod tests;
