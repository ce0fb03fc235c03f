//! fjall: a log-structured merge tree in this process, in a directory.
//!
//! A write goes to the journal, whose bytes are handed to the operating system before it is
//! answered, then to a table in memory, which threads of fjall's own write out later. Changes that
//! read first (updates, deletes) and all writes of one key take turns under a striped lock.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;

use assay_driver_kit::embedded::address::{Address, ByteCount};
use assay_driver_kit::embedded::failure::{CommitStage, EngineFailure, FirstFailure};
use assay_driver_kit::embedded::stripes::Stripes;
use assay_driver_kit::embedded::{Embedded, Engine};
use assay_driver_kit::url_options::Count;
use assay_model::{Reason, Setting};
use assay_store::{KeyRange, OpenError, Store};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use serde::Deserialize;

/// The cache's size where the URL does not say it. fjall's own default of 32 MiB holds a third of
/// a hundred thousand YCSB records, which makes the smallest benchmark a benchmark of misses.
const CACHE_BYTES: u64 = 256 << 20;

/// Below this fjall's cache keeps next to nothing.
const LEAST_CACHE_BYTES: u64 = 1 << 20;

/// How much fjall's threads write out at a time: the size of its tables in memory.
const FLUSH_BYTES: usize = 64 << 20;

/// The longest key that fjall takes.
const LONGEST_KEY: usize = u16::MAX as usize;

/// fjall's own default is a background thread per processor, and no more than this.
const MOST_DEFAULT_THREADS: usize = 4;

/// More background threads than this are a mistake on any known machine.
const MOST_THREADS: usize = 1024;

/// Opens `fjall:PATH?durability=process|fsync&cache=256MiB&background_threads=N`, where PATH is a
/// directory.
///
/// # Errors
/// If the URL is invalid, the path holds something else or may not be written, or another
/// process has it open.
pub fn open(url: &str) -> Result<Box<dyn Store>, OpenError> {
    let address = Address::parse(url)?;
    let declared: UrlOptions = address.declared()?;
    let cache_bytes = declared.cache.map_or(CACHE_BYTES, |ByteCount(bytes)| bytes);
    if cache_bytes < LEAST_CACHE_BYTES {
        return Err(address.wrong("cache is below 1MiB".into()));
    }
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = declared.background_threads.map(usize::from);
    let background_threads = threads.unwrap_or_else(|| default_threads(cores()));
    address.check_directory("fjall", "version")?;
    let builder = Database::builder(&address.path).cache_size(cache_bytes);
    let opened = builder.worker_threads(background_threads).open();
    let database = opened.map_err(|error| explain(&address, &error))?;
    let engine = Fjall {
        database,
        path: address.path.clone(),
        durability: declared.durability.unwrap_or(Durability::Process),
        cache_bytes,
        background_threads,
        stripes: Stripes::default(),
        first_failure: FirstFailure::default(),
    };
    Ok(Box::new(Embedded::new(engine, url)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    durability: Option<Durability>,
    cache: Option<ByteCount>,
    background_threads: Option<Count<MOST_THREADS>>,
}

assay_driver_kit::option_words! {
    /// Which crash an answered write survives.
    enum Durability {
        Process => "process":
            "an answered write survives the end of this process (kill -9), but the operating \
             system may still lose it with the power",
        Fsync => "fsync": "an answered write is on disk: fdatasync after each",
    }
}

struct Fjall {
    database: Database,
    path: PathBuf,
    durability: Durability,
    cache_bytes: u64,
    background_threads: usize,
    stripes: Stripes,
    first_failure: FirstFailure,
}

/// The default number of threads that flush and compact: one processor is left to the measuring
/// thread. With a background thread per processor, as fjall has it, that thread waited for a
/// processor during 15 to 23 % of a run on two.
fn default_threads(cores: usize) -> usize {
    (cores.saturating_sub(1)).clamp(1, MOST_DEFAULT_THREADS)
}

fn explain(address: &Address<'_>, error: &fjall::Error) -> OpenError {
    let path: &Path = &address.path;
    match error {
        fjall::Error::Locked => address.taken(),
        fjall::Error::Io(error) => address.denied(path, error),
        fjall::Error::Storage(fjall::LsmError::Io(error)) => address.denied(path, error),
        fjall::Error::InvalidVersion(version) => address.failed(format!(
            "{} was written by another version of fjall ({version:?}); choose a new directory",
            path.display()
        )),
        other => address.failed(format!("{}: {other}", path.display())),
    }
}

/// What `error` means for an operation that had come to `stage`.
fn meaning(error: &fjall::Error, stage: CommitStage) -> EngineFailure {
    match error {
        fjall::Error::Io(error) => EngineFailure::of_io(error, stage),
        fjall::Error::Storage(fjall::LsmError::Io(error)) => EngineFailure::of_io(error, stage),
        other => EngineFailure::of_engine(other, stage),
    }
}

impl Fjall {
    /// What a failed write means.
    ///
    /// fjall refuses all that follow it. The failed one itself is never certain: what is left of it
    /// in the journal's buffer is written when the database is closed, if the disk has room again.
    fn write_failed(&self, error: &fjall::Error) -> EngineFailure {
        match error {
            fjall::Error::Poisoned => self.first_failure.again(|| find_room(&self.path)),
            fjall::Error::Io(_) | fjall::Error::Storage(fjall::LsmError::Io(_)) => {
                self.first_failure.note(meaning(error, CommitStage::Committing))
            }
            other => meaning(other, CommitStage::Committing),
        }
    }

    /// Keeps the promise of the settings about what was just written.
    fn keep_promise(&self) -> Result<(), EngineFailure> {
        match self.durability {
            Durability::Process => Ok(()),
            Durability::Fsync => self.database.persist(PersistMode::SyncData).map_err(|error| {
                // The change is in the journal and in memory already, even if fjall was poisoned.
                EngineFailure { is_certain: false, ..self.write_failed(&error) }
            }),
        }
    }
}

/// Tries to write as much as fjall's threads do at a time, to learn why they could not.
///
/// Called once, when fjall has given up: its threads do not report their errors.
fn find_room(directory: &Path) -> io::Result<()> {
    let path = directory.join("room");
    let piece = vec![0xA5; 1 << 20];
    let written = fs::File::create(&path).and_then(|mut file| {
        for _ in 0..FLUSH_BYTES / piece.len() {
            file.write_all(&piece)?;
        }
        file.sync_data()
    });
    // Whatever removing it meets, what writing it met is the answer.
    let _ = fs::remove_file(&path);
    written
}

fn check_key(key: &[u8]) -> Result<(), EngineFailure> {
    if key.is_empty() || key.len() > LONGEST_KEY {
        return Err(EngineFailure::refused(Reason::Malformed));
    }
    Ok(())
}

impl Engine for Fjall {
    const NAME: &'static str = "fjall";

    type Table = Keyspace;

    fn prepare(&self, name: &str) -> Result<Keyspace, EngineFailure> {
        if name.is_empty() || name.len() > usize::from(u8::MAX) {
            let text = format!("table name {name:?} has not 1 to 255 bytes");
            return Err(EngineFailure { text, ..EngineFailure::refused(Reason::Malformed) });
        }
        let table = self.database.keyspace(name, KeyspaceCreateOptions::default);
        table.map_err(|error| self.write_failed(&error))
    }

    fn clear(&self, table: &Keyspace) -> Result<(), EngineFailure> {
        table.clear().map_err(|error| self.write_failed(&error))
    }

    fn sync(&self) -> Result<(), EngineFailure> {
        let synced = self.database.persist(PersistMode::SyncAll);
        synced.map_err(|error| self.write_failed(&error))
    }

    fn settings(&self) -> Vec<Setting> {
        vec![
            self.durability.setting("durability"),
            Setting::new(
                "cache",
                format!("{} MiB", self.cache_bytes >> 20),
                "blocks kept in memory by the store; the operating system caches too",
            ),
            Setting::new(
                "background threads",
                self.background_threads.to_string(),
                "flush tables and compact them beside the operations",
            ),
            Setting::new("compression", "none", "records take their full size on disk"),
        ]
    }

    fn get<T>(
        &self,
        table: &Keyspace,
        key: &[u8],
        visit: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineFailure> {
        check_key(key)?;
        let row = table.get(key);
        let row = row.map_err(|error| meaning(&error, CommitStage::Uncommitted))?;
        Ok(row.map(|row| visit(&row)))
    }

    fn put(&self, table: &Keyspace, key: &[u8], row: &[u8]) -> Result<(), EngineFailure> {
        check_key(key)?;
        let turn = self.stripes.lock(key);
        let written = table.insert(key, row);
        drop(turn);
        written.map_err(|error| self.write_failed(&error))?;
        self.keep_promise()
    }

    fn change(
        &self,
        table: &Keyspace,
        key: &[u8],
        change: impl FnOnce(&[u8]) -> Result<Vec<u8>, Reason>,
    ) -> Result<bool, EngineFailure> {
        check_key(key)?;
        let turn = self.stripes.lock(key);
        let row = table.get(key).map_err(|error| meaning(&error, CommitStage::Uncommitted))?;
        let Some(row) = row else { return Ok(false) };
        let changed = change(&row).map_err(EngineFailure::refused)?;
        let written = table.insert(key, changed);
        drop(turn);
        written.map_err(|error| self.write_failed(&error))?;
        self.keep_promise().map(|()| true)
    }

    fn remove(&self, table: &Keyspace, key: &[u8]) -> Result<bool, EngineFailure> {
        check_key(key)?;
        let turn = self.stripes.lock(key);
        let is_there =
            table.contains_key(key).map_err(|error| meaning(&error, CommitStage::Uncommitted))?;
        if !is_there {
            return Ok(false);
        }
        let removed = table.remove(key);
        drop(turn);
        removed.map_err(|error| self.write_failed(&error))?;
        self.keep_promise().map(|()| true)
    }

    fn scan(
        &self,
        table: &Keyspace,
        range: KeyRange<'_>,
        limit: u32,
        mut visit: impl FnMut(&[u8]) -> Result<(), Reason>,
    ) -> Result<(), EngineFailure> {
        for row in table.range::<&[u8], _>(range).take(limit as usize) {
            let row = row.value().map_err(|error| meaning(&error, CommitStage::Uncommitted))?;
            visit(&row).map_err(EngineFailure::refused)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
