//! redb: a copy-on-write B-tree in this process, in one file.
//!
//! Every request is a transaction of its own. Writers take turns, so an update is atomic without
//! further locks; readers never wait.

use std::fs;

use assay_driver_kit::embedded::address::{Address, ByteCount};
use assay_driver_kit::embedded::failure::{CommitStage, EngineFailure, FirstFailure};
use assay_driver_kit::embedded::{Embedded, Engine};
use assay_model::{Reason, Setting};
use assay_store::{KeyRange, OpenError, Store};
use redb::{
    Database, DatabaseError, Durability, ReadableDatabase, ReadableTable, StorageError, Table,
    TableDefinition, TableError, WriteTransaction,
};
use serde::Deserialize;

/// The cache's size where the URL does not say it, the same as for the other stores on disk.
const CACHE_BYTES: u64 = 256 << 20;

/// Opens `redb:PATH?durability=fsync|none&cache=256MiB`, where PATH is a file.
///
/// # Errors
/// If the URL is invalid, the path holds something else or may not be written, or another
/// process has it open.
pub fn open(url: &str) -> Result<Box<dyn Store>, OpenError> {
    let address = Address::parse(url)?;
    let declared: UrlOptions = address.declared()?;
    let durability = match declared.durability {
        Some(DurabilityWord::None) => Durability::None,
        Some(DurabilityWord::Fsync) | None => Durability::Immediate,
    };
    let cache_bytes = declared.cache.map_or(CACHE_BYTES, |ByteCount(bytes)| bytes);
    let cache = usize::try_from(cache_bytes)
        .map_err(|_| address.wrong("cache is larger than this machine's memory".into()))?;
    let path = address.path.as_path();
    if path.is_dir() {
        let reason = format!("{} is a directory; redb needs a file", path.display());
        return Err(address.failed(reason));
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| address.denied(parent, &error))?;
    }
    let opened = Database::builder().set_cache_size(cache).create(path);
    let database = opened.map_err(|error| explain(&address, &error))?;
    let first_failure = FirstFailure::default();
    let engine = Redb { database, durability, cache_bytes, first_failure };
    Ok(Box::new(Embedded::new(engine, url)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    durability: Option<DurabilityWord>,
    cache: Option<ByteCount>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum DurabilityWord {
    Fsync,
    None,
}

struct Redb {
    database: Database,
    durability: Durability,
    cache_bytes: u64,
    first_failure: FirstFailure,
}

type Bytes = &'static [u8];
type Rows<'a> = TableDefinition<'a, Bytes, Bytes>;

fn explain(address: &Address<'_>, error: &DatabaseError) -> OpenError {
    let path = address.path.as_path();
    match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => address.taken(),
        DatabaseError::Storage(StorageError::Io(error))
            if error.kind() == std::io::ErrorKind::InvalidData =>
        {
            address.failed(format!("{} is no redb database; choose another path", path.display()))
        }
        DatabaseError::Storage(StorageError::Io(error)) => address.denied(path, error),
        other => address.failed(format!("{}: {other}", path.display())),
    }
}

/// What `error` means for an operation that had come to `stage`.
fn meaning(error: impl Into<redb::Error>, stage: CommitStage) -> EngineFailure {
    match error.into() {
        redb::Error::Io(error) => EngineFailure::of_io(&error, stage),
        redb::Error::ValueTooLarge(_) => EngineFailure::refused(Reason::Malformed),
        other => EngineFailure::of_engine(&other, stage),
    }
}

impl Redb {
    /// What a failed write means. Once one has failed, redb refuses all that follow.
    fn write_failed(&self, error: impl Into<redb::Error>, stage: CommitStage) -> EngineFailure {
        match error.into() {
            redb::Error::PreviousIo => self.first_failure.again(|| Ok(())),
            error @ redb::Error::Io(_) => self.first_failure.note(meaning(error, stage)),
            other => meaning(other, stage),
        }
    }

    /// Runs `change` in a transaction with `durability`, and commits it if `change` says so.
    fn write(
        &self,
        durability: Durability,
        change: impl FnOnce(&WriteTransaction) -> Result<bool, EngineFailure>,
    ) -> Result<bool, EngineFailure> {
        let uncommitted = |error: redb::Error| self.write_failed(error, CommitStage::Uncommitted);
        let begun = self.database.begin_write();
        let mut transaction = begun.map_err(|error| uncommitted(error.into()))?;
        let chosen = transaction.set_durability(durability);
        chosen.map_err(|error| uncommitted(error.into()))?;
        if !change(&transaction)? {
            transaction.abort().map_err(|error| uncommitted(error.into()))?;
            return Ok(false);
        }
        let committed = transaction.commit();
        committed.map_err(|error| self.write_failed(error, CommitStage::Committing))?;
        Ok(true)
    }

    /// Runs `change` on one table, with the durability that the settings promise.
    fn write_table(
        &self,
        name: &str,
        change: impl FnOnce(&mut Table<'_, Bytes, Bytes>) -> Result<bool, EngineFailure>,
    ) -> Result<bool, EngineFailure> {
        self.write(self.durability, |transaction| {
            let table = transaction.open_table(Rows::new(name));
            let mut table = table.map_err(|error| self.uncommitted(error))?;
            change(&mut table)
        })
    }

    /// Reads too: after a failed write redb refuses them as well.
    fn uncommitted(&self, error: impl Into<redb::Error>) -> EngineFailure {
        self.write_failed(error, CommitStage::Uncommitted)
    }
}

impl Engine for Redb {
    const NAME: &'static str = "redb";

    type Table = String;

    fn prepare(&self, name: &str) -> Result<String, EngineFailure> {
        self.write(Durability::Immediate, |transaction| {
            let opened = transaction.open_table(Rows::new(name));
            opened.map_err(|error| self.uncommitted(error)).map(|_| true)
        })?;
        Ok(name.into())
    }

    fn clear(&self, table: &String) -> Result<(), EngineFailure> {
        self.write(Durability::Immediate, |transaction| {
            let deleted = transaction.delete_table(Rows::new(table));
            deleted.map_err(|error| self.uncommitted(error))?;
            let opened = transaction.open_table(Rows::new(table));
            opened.map_err(|error| self.uncommitted(error)).map(|_| true)
        })?;
        Ok(())
    }

    /// An empty transaction that is durable makes all before it durable.
    fn sync(&self) -> Result<(), EngineFailure> {
        self.write(Durability::Immediate, |_| Ok(true)).map(|_| ())
    }

    fn settings(&self) -> Vec<Setting> {
        let (value, meaning) = match self.durability {
            Durability::Immediate => ("fsync", "an answered write is on disk: fsync after each"),
            _ => (
                "none",
                "what was written since the last flush is lost when this process ends without \
                 closing the store",
            ),
        };
        let cache = format!("{} MiB", self.cache_bytes >> 20);
        vec![
            Setting::new("durability", value, meaning),
            Setting::new(
                "cache",
                cache,
                "pages kept in memory by the store; the operating system caches too",
            ),
        ]
    }

    fn get<T>(
        &self,
        table: &String,
        key: &[u8],
        visit: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineFailure> {
        let transaction = self.database.begin_read().map_err(|error| self.uncommitted(error))?;
        let table = match transaction.open_table(Rows::new(table)) {
            Ok(table) => table,
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(self.uncommitted(error)),
        };
        let row = table.get(key).map_err(|error| self.uncommitted(error))?;
        Ok(row.map(|row| visit(row.value())))
    }

    fn put(&self, table: &String, key: &[u8], row: &[u8]) -> Result<(), EngineFailure> {
        self.write_table(table, |table| {
            table.insert(key, row).map_err(|error| self.uncommitted(error))?;
            Ok(true)
        })?;
        Ok(())
    }

    fn change(
        &self,
        table: &String,
        key: &[u8],
        change: impl FnOnce(&[u8]) -> Result<Vec<u8>, Reason>,
    ) -> Result<bool, EngineFailure> {
        self.write_table(table, |table| {
            let row = table.get(key).map_err(|error| self.uncommitted(error))?;
            let changed = row.map(|row| change(row.value()));
            let Some(changed) = changed.transpose().map_err(EngineFailure::refused)? else {
                return Ok(false);
            };
            table.insert(key, &*changed).map_err(|error| self.uncommitted(error))?;
            Ok(true)
        })
    }

    fn remove(&self, table: &String, key: &[u8]) -> Result<bool, EngineFailure> {
        self.write_table(table, |table| {
            let removed = table.remove(key).map_err(|error| self.uncommitted(error))?;
            Ok(removed.is_some())
        })
    }

    fn scan(
        &self,
        table: &String,
        range: KeyRange<'_>,
        limit: u32,
        mut visit: impl FnMut(&[u8]) -> Result<(), Reason>,
    ) -> Result<(), EngineFailure> {
        let transaction = self.database.begin_read().map_err(|error| self.uncommitted(error))?;
        let table =
            transaction.open_table(Rows::new(table)).map_err(|error| self.uncommitted(error))?;
        for row in table
            .range::<&[u8]>(range)
            .map_err(|error| self.uncommitted(error))?
            .take(limit as usize)
        {
            let (_, row) = row.map_err(|error| self.uncommitted(error))?;
            visit(row.value()).map_err(EngineFailure::refused)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
