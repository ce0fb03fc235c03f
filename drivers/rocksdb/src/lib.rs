//! RocksDB: a log-structured merge tree in this process, in a directory.
//!
//! A table is a column family. A write goes to the log, then to a table in memory, which threads of
//! RocksDB's own write out later. Changes that read first (updates, deletes) and all writes of one
//! key take turns under a striped lock. Everything that the URL does not say is as RocksDB sets it.

#![cfg(feature = "rocksdb")]

mod version;

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use assay_driver_kit::embedded::address::{Address, ByteCount};
use assay_driver_kit::embedded::failure::{CommitStage, EngineFailure};
use assay_driver_kit::embedded::stripes::Stripes;
use assay_driver_kit::embedded::{Embedded, Engine};
use assay_model::{Reason, Setting};
use assay_store::{KeyRange, OpenError, Store};
use rocksdb::{
    BlockBasedOptions, BoundColumnFamily, Cache, DBCompressionType, DBWithThreadMode, Error,
    ErrorKind, MultiThreaded, Options, WriteOptions,
};
use serde::Deserialize;

/// The cache's size where the URL does not say it, the same as for the other stores on disk.
const CACHE_BYTES: u64 = 256 << 20;

/// Below this RocksDB's cache keeps next to nothing.
const LEAST_CACHE_BYTES: u64 = 1 << 20;

/// How many of its own diaries RocksDB keeps; it begins one each time it is opened.
const DIARIES: usize = 2;

/// The longest key that RocksDB is made for, by its own documentation.
const LONGEST_KEY: usize = 8 << 20;

/// The file that names the current state of a database.
const MARK: &str = "CURRENT";

/// The file in which YCSB's binding keeps the names of its tables.
const YCSB_MARK: &str = "CF_NAMES";

/// Opens `rocksdb:PATH?durability=process|fsync|none&cache=256MiB&compression=none|lz4`, where PATH
/// is a directory.
///
/// # Errors
/// If the URL is invalid, the path holds something else or may not be written, or another
/// process has it open.
pub fn open(url: &str) -> Result<Box<dyn Store>, OpenError> {
    let address = Address::parse(url)?;
    let declared: UrlOptions = address.declared()?;
    let durability = declared.durability.unwrap_or(Durability::Process);
    let compression = match declared.compression {
        Some(CompressionWord::Lz4) => DBCompressionType::Lz4,
        Some(CompressionWord::None) | None => DBCompressionType::None,
    };
    let cache_bytes = declared.cache.map_or(CACHE_BYTES, |ByteCount(bytes)| bytes);
    if cache_bytes < LEAST_CACHE_BYTES {
        return Err(address.wrong("cache is below 1MiB".into()));
    }
    let cache = usize::try_from(cache_bytes)
        .map_err(|_| address.wrong("cache is larger than this machine's memory".into()))?;
    check_place(&address)?;
    let options = options(cache, compression);
    let database = open_tables(&address, &options).map_err(|error| explain(&address, &error))?;
    let engine = RocksDb {
        database,
        path: address.path.clone(),
        options,
        writes: write_options(durability),
        durability,
        compression,
        cache_bytes,
        stripes: Stripes::default(),
        tables: Mutex::default(),
    };
    Ok(Box::new(Embedded::new(engine, url)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    durability: Option<Durability>,
    cache: Option<ByteCount>,
    compression: Option<CompressionWord>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum CompressionWord {
    None,
    Lz4,
}

assay_driver_kit::option_words! {
    /// Which crash an answered write survives.
    enum Durability {
        Process => "process":
            "an answered write survives the end of this process (kill -9), but the operating \
             system may still lose it with the power",
        Fsync => "fsync": "an answered write is on disk: the log is synced before the answer",
        None => "none":
            "there is no log: what was written since the last flush is lost when this process \
             ends without closing the store",
    }
}

type Database = DBWithThreadMode<MultiThreaded>;

struct RocksDb {
    database: Database,
    path: PathBuf,
    /// Those of every table.
    options: Options,
    writes: WriteOptions,
    durability: Durability,
    compression: DBCompressionType,
    cache_bytes: u64,
    stripes: Stripes,
    /// The names of the tables that were prepared.
    tables: Mutex<BTreeSet<String>>,
}

/// RocksDB would spread its files among whatever is there already; what YCSB wrote it would take.
fn check_place(address: &Address<'_>) -> Result<(), OpenError> {
    address.check_directory("RocksDB", MARK)?;
    if address.path.join(YCSB_MARK).exists() {
        return Err(address.failed(format!(
            "{} was written by YCSB's RocksDB binding, which lays records out in another way; \
             choose another directory",
            address.path.display()
        )));
    }
    Ok(())
}

fn options(cache: usize, compression: DBCompressionType) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(cache));
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&blocks);
    options.set_compression_type(compression);
    options.set_keep_log_file_num(DIARIES);
    options
}

fn write_options(durability: Durability) -> WriteOptions {
    let mut writes = WriteOptions::default();
    writes.set_sync(durability == Durability::Fsync);
    writes.disable_wal(durability == Durability::None);
    writes
}

/// RocksDB opens a database with all of its tables, or not at all.
fn open_tables(address: &Address<'_>, options: &Options) -> Result<Database, Error> {
    let path = address.path.as_path();
    let names = match path.join(MARK).exists() {
        true => Database::list_cf(options, path)?,
        false => Vec::new(),
    };
    let tables = names.into_iter().map(|name| (name, options.clone()));
    Database::open_cf_with_opts(options, path, tables)
}

fn explain(address: &Address<'_>, error: &Error) -> OpenError {
    let path = address.path.display();
    let text = error.to_string();
    match error.kind() {
        ErrorKind::IOError if text.contains("lock") && text.contains("LOCK") => address.taken(),
        ErrorKind::IOError if text.contains("Permission denied") => {
            address.denied(&address.path, &std::io::ErrorKind::PermissionDenied.into())
        }
        ErrorKind::IOError if text.contains("Read-only file system") => {
            address.denied(&address.path, &std::io::ErrorKind::ReadOnlyFilesystem.into())
        }
        ErrorKind::Corruption => address.failed(format!(
            "{path} is no RocksDB database, or a damaged one ({text}); choose another directory"
        )),
        ErrorKind::InvalidArgument | ErrorKind::NotSupported => address.failed(format!(
            "{path} was written by another version of RocksDB, or with other settings ({text}); \
             choose another directory"
        )),
        _ => address.failed(format!("{path}: {text}")),
    }
}

/// What an error of `kind` means for an operation that had come to `stage`.
///
/// RocksDB tells what the operating system said in words alone.
fn meaning(kind: &ErrorKind, text: String, stage: CommitStage) -> EngineFailure {
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let (stage, reason) = match kind {
        ErrorKind::IOError if says(&["No space left", "Disk quota exceeded", "File too large"]) => {
            (stage, Reason::Full)
        }
        ErrorKind::IOError if says(&["Permission denied", "Read-only file system"]) => {
            (stage, Reason::ReadOnly)
        }
        // Found before anything is written.
        ErrorKind::InvalidArgument => (CommitStage::Uncommitted, Reason::Malformed),
        ErrorKind::NotSupported => (CommitStage::Uncommitted, Reason::Unsupported),
        ErrorKind::Busy | ErrorKind::TryAgain | ErrorKind::Incomplete => {
            (CommitStage::Uncommitted, Reason::Busy)
        }
        ErrorKind::ColumnFamilyDropped => (CommitStage::Uncommitted, Reason::StoreError),
        ErrorKind::TimedOut => (stage, Reason::Timeout),
        ErrorKind::IOError
        | ErrorKind::NotFound
        | ErrorKind::Corruption
        | ErrorKind::MergeInProgress
        | ErrorKind::ShutdownInProgress
        | ErrorKind::Aborted
        | ErrorKind::Expired
        | ErrorKind::CompactionTooLarge
        | ErrorKind::Unknown => (stage, Reason::StoreError),
    };
    EngineFailure { is_certain: stage == CommitStage::Uncommitted, reason, text }
}

fn unread(error: &Error) -> EngineFailure {
    meaning(&error.kind(), error.to_string(), CommitStage::Uncommitted)
}

/// A write that failed may be in the log, which is read when the database is opened again; and
/// after one that failed RocksDB gives the same error to those that follow until it has recovered.
fn unwritten(error: &Error) -> EngineFailure {
    meaning(&error.kind(), error.to_string(), CommitStage::Committing)
}

fn check_key(key: &[u8]) -> Result<(), EngineFailure> {
    if key.len() > LONGEST_KEY {
        return Err(EngineFailure::refused(Reason::Malformed));
    }
    Ok(())
}

impl RocksDb {
    fn table(&self, name: &str) -> Result<Arc<BoundColumnFamily<'_>>, EngineFailure> {
        self.database.cf_handle(name).ok_or_else(|| {
            let text = format!("there is no table {name:?}");
            EngineFailure { text, ..EngineFailure::refused(Reason::StoreError) }
        })
    }

    fn tables(&self) -> Vec<String> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.iter().cloned().collect()
    }
}

impl Engine for RocksDb {
    const NAME: &'static str = "rocksdb";

    type Table = String;

    fn prepare(&self, name: &str) -> Result<String, EngineFailure> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if self.database.cf_handle(name).is_none() {
            let made = self.database.create_cf(name, &self.options);
            made.map_err(|error| unwritten(&error))?;
        }
        tables.insert(name.into());
        Ok(name.into())
    }

    fn clear(&self, name: &String) -> Result<(), EngineFailure> {
        let _turn = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        self.database.drop_cf(name).map_err(|error| unwritten(&error))?;
        self.database.create_cf(name, &self.options).map_err(|error| unwritten(&error))
    }

    /// Without a log what is in memory has to be written out.
    fn sync(&self) -> Result<(), EngineFailure> {
        if self.durability != Durability::None {
            return self.database.flush_wal(true).map_err(|error| unwritten(&error));
        }
        for name in self.tables() {
            let flushed = self.database.flush_cf(&self.table(&name)?);
            flushed.map_err(|error| unwritten(&error))?;
        }
        Ok(())
    }

    fn settings(&self) -> Vec<Setting> {
        let (compression, size) = match self.compression {
            DBCompressionType::Lz4 => ("lz4", "blocks on disk are compressed by LZ4"),
            _ => ("none", "records take their full size on disk"),
        };
        let reported = version::describe(&self.path).unwrap_or_else(|| "unknown".into());
        vec![
            self.durability.setting("durability"),
            Setting::new(
                "cache",
                format!("{} MiB", self.cache_bytes >> 20),
                "blocks kept in memory by the store; the operating system caches too",
            ),
            Setting::new("compression", compression, size),
            Setting::new("server", format!("RocksDB {reported}"), "the software that was measured"),
        ]
    }

    fn get<T>(
        &self,
        name: &String,
        key: &[u8],
        visit: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineFailure> {
        check_key(key)?;
        let row = self.database.get_pinned_cf(&self.table(name)?, key);
        let row = row.map_err(|error| unread(&error))?;
        Ok(row.map(|row| visit(&row)))
    }

    fn put(&self, name: &String, key: &[u8], row: &[u8]) -> Result<(), EngineFailure> {
        check_key(key)?;
        let table = self.table(name)?;
        let _turn = self.stripes.lock(key);
        let written = self.database.put_cf_opt(&table, key, row, &self.writes);
        written.map_err(|error| unwritten(&error))
    }

    fn change(
        &self,
        name: &String,
        key: &[u8],
        change: impl FnOnce(&[u8]) -> Result<Vec<u8>, Reason>,
    ) -> Result<bool, EngineFailure> {
        check_key(key)?;
        let table = self.table(name)?;
        let _turn = self.stripes.lock(key);
        let row = self.database.get_pinned_cf(&table, key).map_err(|error| unread(&error))?;
        let Some(row) = row else { return Ok(false) };
        let changed = change(&row).map_err(EngineFailure::refused)?;
        drop(row);
        let written = self.database.put_cf_opt(&table, key, changed, &self.writes);
        written.map(|()| true).map_err(|error| unwritten(&error))
    }

    fn remove(&self, name: &String, key: &[u8]) -> Result<bool, EngineFailure> {
        check_key(key)?;
        let table = self.table(name)?;
        let _turn = self.stripes.lock(key);
        let row = self.database.get_pinned_cf(&table, key).map_err(|error| unread(&error))?;
        if row.is_none() {
            return Ok(false);
        }
        drop(row);
        let removed = self.database.delete_cf_opt(&table, key, &self.writes);
        removed.map(|()| true).map_err(|error| unwritten(&error))
    }

    fn scan(
        &self,
        name: &String,
        range: KeyRange<'_>,
        limit: u32,
        mut visit: impl FnMut(&[u8]) -> Result<(), Reason>,
    ) -> Result<(), EngineFailure> {
        let mut rows = self.database.raw_iterator_cf(&self.table(name)?);
        let mut left = limit;
        match range.0 {
            Bound::Included(start) | Bound::Excluded(start) => rows.seek(start),
            Bound::Unbounded => rows.seek_to_first(),
        }
        let is_within = |key: &[u8]| match range.1 {
            Bound::Excluded(end) => key < end,
            Bound::Included(end) => key <= end,
            Bound::Unbounded => true,
        };
        while let Some((_, row)) = rows.item().filter(|(key, _)| left > 0 && is_within(key)) {
            visit(row).map_err(EngineFailure::refused)?;
            left -= 1;
            if left > 0 {
                rows.next();
            }
        }
        rows.status().map_err(|error| unread(&error))
    }
}

#[cfg(test)]
mod tests;
