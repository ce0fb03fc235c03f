//! SQLite: tables in one file, in this process.
//!
//! Each worker has connections of its own; a session with an open transaction has one for itself.
//! SQLite lets one connection write at a time, so those of this process take turns.
//!
//! What an answer means:
//! * An insert of a record that is there is refused as exists. An update or delete of a missing
//!   one is done with `found = false`. A field that was never written is not returned.
//! * A wait for the turn to write longer than `busy_timeout` is refused as busy.
//! * A transaction takes the turn as it begins: one that reads first and then writes would
//!   otherwise be refused as soon as another has written in between, however long it could wait.
//!   With `begin=deferred` it is so.
//! * Only a commit that meets an error of the disk is unknown; all else that fails is undone.

mod client;
mod failure;
mod options;
mod schema;
mod turn;
mod value;

use std::sync::Arc;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_model::{Catalogue, Layout, Setting};
use assay_sql::{Dialect, RecordTexts, Records, SqlQuery};
use assay_store::{
    Calls, Capabilities, Client, DataModel, Existing, Isolation, OpenError, ScanOrder, Store,
};
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use client::SqliteClient;
use options::Options;
use turn::Turns;

/// The table of the note; a layout does not use this name.
const NOTES: &str = "_assay";

/// Statements that a connection keeps beside the queries: those on records and on transactions.
const OTHER_STATEMENTS: usize = 128;

/// Opens `sqlite:PATH?synchronous=normal|off|full|extra&journal=wal|delete&busy_timeout=5000&…`.
///
/// # Errors
/// If the URL is invalid, the path holds something else or may not be written, or another
/// process keeps us from it.
pub fn open(url: &str) -> Result<Box<dyn Store>, OpenError> {
    let options = Options::parse(url)?;
    if let Some(folder) = options.path.parent() {
        // What is wrong with the folder SQLite says better as it makes the file.
        let _ = std::fs::create_dir_all(folder);
    }
    let (turns, plan) = (Arc::default(), Latest::default());
    let database = Database { url: url.into(), options, turns, plan };
    // Errors of the file are reported now.
    drop(database.connect()?);
    Ok(Box::new(Sqlite(Arc::new(database))))
}

struct Sqlite(Arc<Database>);

/// What was prepared: the statements of tables of records, by number, and of queries, by place.
#[derive(Clone, Default)]
struct Plan {
    records: Vec<Arc<RecordTexts>>,
    relations: Vec<String>,
    queries: Vec<Prepared>,
}

/// A query as SQLite understands it.
#[derive(Clone)]
struct Prepared {
    requested: SqlQuery,
    /// Whether a transaction needs the right to write for it: it changes rows, or wants them
    /// locked, for which SQLite has no words.
    takes_turn: bool,
}

/// One file, for all workers.
struct Database {
    url: String,
    options: Options,
    turns: Arc<Turns>,
    /// What was prepared last.
    plan: Latest<Arc<Plan>>,
}

/// The right to write, until it is dropped.
struct Turn(Arc<Turns>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Database {
    fn turn(&self) -> Option<Turn> {
        self.turns.take(self.options.timeout).then(|| Turn(Arc::clone(&self.turns)))
    }

    fn connect(&self) -> Result<Connection, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let path = &self.options.path;
        if path.is_dir() {
            let reason = "it is a directory; SQLite needs a file, which may be new";
            return Err(self.url.failed(reason));
        }
        let explain = |error: rusqlite::Error| self.explain(&error);
        let connection = Connection::open_with_flags(path, flags).map_err(explain)?;
        connection.busy_timeout(self.options.timeout).map_err(explain)?;
        self.set_up(&connection)?;
        let capacity = self.plan.get().queries.len() + OTHER_STATEMENTS;
        connection.set_prepared_statement_cache_capacity(capacity);
        Ok(connection)
    }

    fn set_up(&self, connection: &Connection) -> Result<(), OpenError> {
        let explain = |error: rusqlite::Error| self.explain(&error);
        let pragma = |text: &str| -> Result<String, OpenError> {
            let mut statement = connection.prepare(text).map_err(explain)?;
            let row = statement.query_row([], |row| row.get::<_, String>(0)).optional();
            Ok(row.map_err(explain)?.unwrap_or_default())
        };
        let encoding = pragma("PRAGMA encoding")?;
        if encoding != "UTF-8" {
            return Err(self.url.unsupported(format!(
                "the database is in {encoding}, which cannot keep every byte; \
                 choose another path"
            )));
        }
        let expected = self.options.journal.name();
        let journal = pragma(&format!("PRAGMA journal_mode = {expected}"))?;
        if journal != expected {
            return Err(self.url.failed(format!(
                "its journal stays {journal:?}, although {expected:?} is requested; end who else \
                 uses the file, or say journal=delete"
            )));
        }
        let cache = -i64::try_from(self.options.cache_bytes >> 10).unwrap_or(i64::MAX);
        pragma(&format!("PRAGMA synchronous = {}", self.options.synchronous.name()))?;
        pragma(&format!("PRAGMA cache_size = {cache}"))?;
        // The schema's own checks are part of what is measured, here as on servers.
        pragma("PRAGMA foreign_keys = ON")?;
        Ok(())
    }

    fn explain(&self, error: &rusqlite::Error) -> OpenError {
        let path = self.options.path.display();
        let reason = match failure::advice(error) {
            Some(advice) => format!("{path}: {error}; {advice}"),
            None => format!("{path}: {error}"),
        };
        match failure::is_denial(error) {
            true => self.url.not_permitted(reason),
            false => self.url.failed(reason),
        }
    }

    /// Does what changes the schema or stands beside the data, as one transaction of its own.
    fn change<T>(
        &self,
        act: impl FnOnce(&Connection) -> Result<T, ChangeError>,
    ) -> Result<T, OpenError> {
        let turn = self.turn().ok_or_else(|| self.url.failed("others write all the time; wait"))?;
        let connection = self.connect()?;
        // Tables that point to each other are dropped in any order.
        let begin = "PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE";
        connection.execute_batch(begin).map_err(|error| self.explain(&error))?;
        let done = act(&connection).map_err(|error| match error {
            ChangeError::Sqlite(error) => self.explain(&error),
            ChangeError::Open(error) => error,
        })?;
        connection.execute_batch("COMMIT").map_err(|error| self.explain(&error))?;
        drop(connection);
        drop(turn);
        Ok(done)
    }
}

/// Why a change of the schema failed.
enum ChangeError {
    Sqlite(rusqlite::Error),
    Open(OpenError),
}

impl From<rusqlite::Error> for ChangeError {
    fn from(error: rusqlite::Error) -> ChangeError {
        ChangeError::Sqlite(error)
    }
}

impl Store for Sqlite {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            data_model: DataModel::Relational,
            calls: Calls::Blocking,
            scan_order: ScanOrder::Key,
            takes_queries: true,
            isolation: Some(Isolation::Serializable),
            ..Capabilities::of("sqlite")
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        self.0.change(|connection| schema::make_tables(connection, layout))?;
        let texts = |table| Arc::new(RecordTexts::new(Dialect::Sqlite, table));
        let records = layout.tables.iter().map(texts).collect();
        self.0.plan.change(|plan| Arc::new(Plan { records, ..Plan::clone(plan) }));
        Ok(())
    }

    fn prepare_queries(
        &self,
        catalogue: &Arc<Catalogue>,
        existing: Existing,
    ) -> Result<(), OpenError> {
        let database = &self.0;
        let queries = database.change(|connection| {
            schema::make_relations(connection, &database.url, &catalogue.schema, existing)?;
            schema::check_queries(connection, &database.url, catalogue)
        })?;
        let relations = catalogue.schema.relations.iter();
        let relations = relations.map(|relation| relation.name.clone()).collect();
        database.plan.change(|plan| Arc::new(Plan { relations, queries, ..Plan::clone(plan) }));
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        Ok(Box::new(SqliteClient::open(&self.0)?))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let connection = self.0.connect()?;
        let reported = schema::describe(&connection).map_err(|error| self.0.explain(&error))?;
        Ok(self.0.options.settings(&reported.journal, reported.synchronous))
    }

    fn clear(&self) -> Result<(), OpenError> {
        let plan = self.0.plan.get();
        self.0.change(|connection| {
            for records in &plan.records {
                let table = Records::new(Dialect::Sqlite, records.table());
                connection.execute_batch(&table.drop())?;
            }
            for relation in &plan.relations {
                let name = Dialect::Sqlite.name(relation);
                connection.execute_batch(&format!("DROP TABLE IF EXISTS {name}"))?;
            }
            Ok(connection.execute_batch(&format!("DROP TABLE IF EXISTS {NOTES}"))?)
        })
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        let connection = self.0.connect()?;
        schema::note(&connection).map_err(|error| self.0.explain(&error))
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.0.change(|connection| Ok(schema::keep_note(connection, note)?))
    }

    /// Writes the log into the file, so that a run does not pay for what its load has left.
    fn flush(&self) -> Result<(), OpenError> {
        let turn = self.0.turn();
        let connection = self.0.connect()?;
        let explain = |error: rusqlite::Error| self.0.explain(&error);
        let mut statement =
            connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)").map_err(explain)?;
        // Others that read may keep it from being done; the log is as durable as the file.
        statement.query_row([], |_| Ok(())).map_err(explain)?;
        drop(turn);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
