//! LMDB: a copy-on-write B+tree in this process, mapped into memory from one file.
//!
//! Every request is a transaction of its own. Writers take turns, those of other processes
//! included, so an update is atomic without further locks; readers never wait. A read hands out
//! what lies in the map, without a copy.

mod environment;
mod place;

use std::fs;
use std::ops::Bound;

use assay_driver_kit::embedded::address::{Address, ByteCount};
use assay_driver_kit::embedded::failure::{CommitStage, EngineFailure, FirstFailure};
use assay_driver_kit::embedded::{Embedded, Engine};
use assay_driver_kit::url_options::Count;
use assay_model::{Reason, Setting};
use assay_store::{KeyRange, OpenError, Store};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, MdbError, RwTxn};
use serde::Deserialize;

use environment::{Durability, Shape};

/// The largest that the store can grow where the URL does not say it. Only what is written takes
/// room on the disk; the map takes addresses, of which there are enough.
const MAP_BYTES: u64 = 4 << 30;

/// What the map is made of: a multiple of every page size that there is.
const MAP_STEP: u64 = 64 << 10;

/// Below this there is no room for a few records of one MiB.
const LEAST_MAP_BYTES: u64 = 1 << 20;

/// LMDB's name for the file of the records; the other one is `lock.mdb`.
const FILE: &str = "data.mdb";

/// Threads that read at the same time, LMDB's own default.
const READERS: usize = 126;

const MOST_READERS: usize = 65_536;

/// Opens `lmdb:PATH?durability=fsync|no-meta-sync|none&map=4GiB&readers=126`, where PATH is a
/// directory.
///
/// # Errors
/// If the URL is invalid, the path holds something else, is on a network file system or may
/// not be written, or this process has it open already.
pub fn open(url: &str) -> Result<Box<dyn Store>, OpenError> {
    let address = Address::parse(url)?;
    let declared: UrlOptions = address.declared()?;
    let shape = Shape {
        durability: declared.durability.unwrap_or(Durability::Fsync),
        map_bytes: map_bytes(&address, declared.map)?,
        readers: declared.readers.map_or(READERS, usize::from) as u32,
    };
    address.check_directory("LMDB", FILE)?;
    let path = address.path.as_path();
    fs::create_dir_all(path).map_err(|error| address.denied(path, &error))?;
    place::check_file_system(&address)?;
    let opened = environment::open(path, &shape);
    let environment = opened.map_err(|error| explain(&address, &error))?;
    // A process that was killed while it read keeps its place among the readers, and what it read.
    environment.clear_stale_readers().map_err(|error| explain(&address, &error))?;
    let engine = Lmdb { environment, first_failure: FirstFailure::default() };
    Ok(Box::new(Embedded::new(engine, url)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    durability: Option<Durability>,
    map: Option<ByteCount>,
    readers: Option<Count<MOST_READERS>>,
}

fn map_bytes(address: &Address<'_>, map: Option<ByteCount>) -> Result<usize, OpenError> {
    let bytes = map.map_or(MAP_BYTES, |ByteCount(bytes)| bytes);
    if bytes < LEAST_MAP_BYTES || !bytes.is_multiple_of(MAP_STEP) {
        return Err(address.wrong("map is a multiple of 64KiB, and at least 1MiB".into()));
    }
    let too_large = |_| address.wrong("map is larger than this machine can address".into());
    usize::try_from(bytes).map_err(too_large)
}

fn explain(address: &Address<'_>, error: &heed::Error) -> OpenError {
    let path = address.path.as_path();
    let file = path.join(FILE);
    match error {
        heed::Error::EnvAlreadyOpened => address
            .failed("this process has it open already; close that or choose another path".into()),
        heed::Error::Mdb(MdbError::Invalid | MdbError::Corrupted | MdbError::PageNotFound) => {
            let reason = "is no LMDB database, or a damaged one; choose another directory";
            address.failed(format!("{} {reason}", file.display()))
        }
        heed::Error::Mdb(MdbError::VersionMismatch) => address.failed(format!(
            "{} was written by another version of LMDB, or a process with another version has it \
             open; choose a new directory",
            file.display()
        )),
        heed::Error::Io(error) => address.denied(path, error),
        other => address.failed(format!("{}: {other}", path.display())),
    }
}

type Rows = Database<'static, Bytes, Bytes>;

struct Lmdb {
    environment: Env,
    first_failure: FirstFailure,
}

/// What `error` means for an operation that had come to `stage`.
fn meaning(error: &heed::Error, stage: CommitStage) -> EngineFailure {
    let refused =
        |reason, text: &str| EngineFailure { text: text.into(), ..EngineFailure::refused(reason) };
    match error {
        heed::Error::Io(error) => EngineFailure::of_io(error, stage),
        // LMDB finds these before it writes anything, at a commit too.
        heed::Error::Mdb(MdbError::MapFull) => {
            refused(Reason::Full, "the map is full; open it with a larger map=…")
        }
        heed::Error::Mdb(MdbError::ReadersFull) => {
            refused(Reason::Busy, "more threads read than it has places for; raise readers=…")
        }
        heed::Error::Mdb(MdbError::BadValSize) => {
            refused(Reason::Malformed, "the key or the record is too long, or the key is empty")
        }
        heed::Error::Mdb(MdbError::TxnFull) => {
            refused(Reason::Malformed, "the record is too large for one transaction")
        }
        heed::Error::Mdb(MdbError::MapResized) => {
            refused(Reason::Full, "another process made the map larger; open it with that map=…")
        }
        other => EngineFailure::of_engine(other, stage),
    }
}

impl Lmdb {
    /// What an error before a commit means. After it could not write the page that everything hangs
    /// on, LMDB refuses every request.
    fn uncommitted(&self, error: &heed::Error) -> EngineFailure {
        match error {
            heed::Error::Mdb(MdbError::Panic) => self.first_failure.again(|| Ok(())),
            other => meaning(other, CommitStage::Uncommitted),
        }
    }

    /// What a failed commit means.
    ///
    /// LMDB writes the pages of a change first, where nothing points to them, then the one that
    /// points there. A failure before that leaves everything as it was. One at that page leaves it
    /// open what is on disk, and shows in that LMDB takes no other writer.
    fn commit_failed(&self, error: &heed::Error) -> EngineFailure {
        let next = self.environment.write_txn();
        let is_open = matches!(next, Err(heed::Error::Mdb(MdbError::Panic)));
        let stage = if is_open { CommitStage::Committing } else { CommitStage::Uncommitted };
        let failure = meaning(error, stage);
        if is_open { self.first_failure.note(failure) } else { failure }
    }

    /// Runs `change` in a transaction, and commits it if `change` says so.
    fn write(
        &self,
        change: impl FnOnce(&mut RwTxn<'_>) -> Result<bool, EngineFailure>,
    ) -> Result<bool, EngineFailure> {
        let begun = self.environment.write_txn();
        let mut transaction = begun.map_err(|error| self.uncommitted(&error))?;
        if !change(&mut transaction)? {
            transaction.abort();
            return Ok(false);
        }
        transaction.commit().map_err(|error| self.commit_failed(&error))?;
        Ok(true)
    }

    /// The table with this name, if there is one.
    fn find(&self, name: &str) -> Result<Option<Rows>, heed::Error> {
        let transaction = self.environment.read_txn()?;
        let found = self.environment.open_databases_and_commit(transaction, |opener, reads| {
            let table = opener.open_database::<Bytes, Bytes>(reads, Some(name))?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(table))
        })?;
        Ok(found.commit().flatten())
    }

    fn make(&self, name: &str) -> Result<Rows, EngineFailure> {
        let begun = self.environment.write_txn();
        let transaction = begun.map_err(|error| self.uncommitted(&error))?;
        let made = self.environment.create_databases_and_commit(transaction, |opener, writes| {
            let table = opener.create_database::<Bytes, Bytes>(writes, Some(name))?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(table))
        });
        made.map(CommitOrAbort::unwrap_commit).map_err(|error| self.commit_failed(&error))
    }

    fn check_key(&self, key: &[u8]) -> Result<(), EngineFailure> {
        if key.is_empty() || key.len() > self.environment.max_key_size() {
            return Err(EngineFailure::refused(Reason::Malformed));
        }
        Ok(())
    }
}

impl Engine for Lmdb {
    const NAME: &'static str = "lmdb";

    type Table = Rows;

    fn prepare(&self, name: &str) -> Result<Rows, EngineFailure> {
        self.check_key(name.as_bytes()).map_err(|failure| EngineFailure {
            text: format!("table name {name:?} has not 1 to 511 bytes"),
            ..failure
        })?;
        if name.contains('\0') {
            let text = format!("table name {name:?} has a zero in it");
            return Err(EngineFailure { text, ..EngineFailure::refused(Reason::Malformed) });
        }
        match self.find(name).map_err(|error| self.uncommitted(&error))? {
            Some(table) => Ok(table),
            None => self.make(name),
        }
    }

    fn clear(&self, table: &Rows) -> Result<(), EngineFailure> {
        self.write(|transaction| {
            table.clear(transaction).map_err(|error| self.uncommitted(&error))?;
            Ok(true)
        })?;
        Ok(())
    }

    fn sync(&self) -> Result<(), EngineFailure> {
        let synced = self.environment.force_sync();
        synced.map_err(|error| meaning(&error, CommitStage::Committing))
    }

    fn settings(&self) -> Vec<Setting> {
        let durability = environment::durability(&self.environment);
        let reported = self.environment.info();
        vec![
            durability.setting("durability"),
            Setting::new(
                "map",
                format!("{} MiB", reported.map_size >> 20),
                "the most that the store can hold; beyond it writes are refused as full. Its pages \
                 are the operating system's cache, there is no other",
            ),
            Setting::new(
                "readers",
                reported.maximum_number_of_readers.to_string(),
                "threads that can read at the same time, other processes' included",
            ),
            Setting::new("server", heed::lmdb_version().string, "the software that was measured"),
        ]
    }

    fn get<T>(
        &self,
        table: &Rows,
        key: &[u8],
        visit: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineFailure> {
        self.check_key(key)?;
        let begun = self.environment.read_txn();
        let transaction = begun.map_err(|error| self.uncommitted(&error))?;
        let row = table.get(&transaction, key).map_err(|error| self.uncommitted(&error))?;
        Ok(row.map(visit))
    }

    fn put(&self, table: &Rows, key: &[u8], row: &[u8]) -> Result<(), EngineFailure> {
        self.check_key(key)?;
        self.write(|transaction| {
            table.put(transaction, key, row).map_err(|error| self.uncommitted(&error))?;
            Ok(true)
        })?;
        Ok(())
    }

    fn change(
        &self,
        table: &Rows,
        key: &[u8],
        change: impl FnOnce(&[u8]) -> Result<Vec<u8>, Reason>,
    ) -> Result<bool, EngineFailure> {
        self.check_key(key)?;
        self.write(|transaction| {
            let row = table.get(transaction, key).map_err(|error| self.uncommitted(&error))?;
            let Some(changed) = row.map(change).transpose().map_err(EngineFailure::refused)? else {
                return Ok(false);
            };
            table.put(transaction, key, &changed).map_err(|error| self.uncommitted(&error))?;
            Ok(true)
        })
    }

    fn remove(&self, table: &Rows, key: &[u8]) -> Result<bool, EngineFailure> {
        self.check_key(key)?;
        self.write(|transaction| {
            table.delete(transaction, key).map_err(|error| self.uncommitted(&error))
        })
    }

    fn scan(
        &self,
        table: &Rows,
        range: KeyRange<'_>,
        limit: u32,
        mut visit: impl FnMut(&[u8]) -> Result<(), Reason>,
    ) -> Result<(), EngineFailure> {
        let begun = self.environment.read_txn();
        let transaction = begun.map_err(|error| self.uncommitted(&error))?;
        // LMDB has no empty key, so it cannot look for one either.
        let from = if range.0 == Bound::Included(&[]) { Bound::Unbounded } else { range.0 };
        let range = (from, range.1);
        let rows = table.range(&transaction, &range).map_err(|error| self.uncommitted(&error))?;
        for row in rows.take(limit as usize) {
            let (_, row) = row.map_err(|error| self.uncommitted(&error))?;
            visit(row).map_err(EngineFailure::refused)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
