//! MongoDB, or what speaks its protocol, over the library's own pool of connections.
//!
//! Records lie as YCSB's MongoDB binding lays them: a document per record in a collection per
//! table, `_id` is the key, each field a binary value.
//!
//! What an answer means:
//! * An insert of a record that is there is refused as exists. An update sets the fields that it
//!   names; that of a missing record is done with `found = false`, so is a delete of one.
//! * A scan is the documents from the key on, in the order of `_id`.
//! * The library's retries of reads and writes are switched off. A connection that breaks makes
//!   unknown what was on its way, also a read; a write that was done but not acknowledged by as
//!   many members as it should be is unknown too.

mod connector;
mod failure;
mod link;
mod options;
mod settings;

use std::sync::Arc;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_driver_kit::task::{self, RecordsClient};
use assay_model::{Layout, Setting, Table as Wanted};
use assay_store::{Capabilities, Client, OpenError, ScanOrder, Store};
use mongodb::bson::raw::CString;
use mongodb::bson::{Document, doc};

use connector::{AdminConnection, Connector};
use link::{ID, MongoDb as Links, Table};
pub use options::{Keys, Options, Preference};
use settings::Answers;

/// The collection of the note; a layout does not use this name.
const NOTES: &str = "_assay";

/// A MongoDB server, replica set or router.
pub struct MongoDb {
    connector: Arc<Connector>,
    /// What was prepared last.
    tables: Latest<Arc<[Table]>>,
}

impl MongoDb {
    /// A store with these options; nothing is connected yet.
    pub fn new(options: Options) -> MongoDb {
        MongoDb { connector: Arc::new(Connector { options }), tables: Latest::default() }
    }

    /// A store with the options that `url` says, see [`Options`].
    ///
    /// # Errors
    /// If the URL is invalid, or a file that it names cannot be read.
    pub fn from_url(url: &str) -> Result<MongoDb, OpenError> {
        Ok(MongoDb::new(url.parse()?))
    }

    /// The options; shown without secrets.
    pub fn options(&self) -> &Options {
        &self.connector.options
    }

    /// Runs a request over admin connections, which no worker uses.
    fn admin_task<T>(
        &self,
        act: impl AsyncFnOnce(&AdminConnection<'_>) -> Result<T, OpenError>,
    ) -> Result<T, OpenError> {
        task::admin_task(self.options(), async {
            let admin = self.connector.admin().await?;
            act(&admin).await
        })
    }

    /// The collection that holds such records.
    fn table(&self, expected: &Wanted) -> Result<Table, OpenError> {
        let wrong = |what: &str, name: &str| {
            self.connector.options.unsupported(format!("{what} must not be called {name:?}"))
        };
        let is_wrong = |name: &str| name.is_empty() || name.contains(['$', '\0']);
        if is_wrong(&expected.name) || expected.name.starts_with("system.") {
            return Err(wrong("a collection", &expected.name));
        }
        let fields = expected.fields.iter().map(|name| {
            let taken = is_wrong(name) || name.contains('.') || name == ID;
            let name = (!taken).then_some(name.clone()).ok_or_else(|| wrong("a field", name))?;
            CString::try_from(name.clone()).map_err(|_| wrong("a field", &name))
        });
        let fields = fields.collect::<Result<_, _>>()?;
        let needs_key_order = expected.needs_key_order;
        Ok(Table { name: expected.name.clone(), fields, needs_key_order })
    }
}

impl Store for MongoDb {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            scan_order: match self.options().keys {
                Keys::Text => ScanOrder::Key,
                // Binary sorts by its length before its bytes.
                Keys::Bytes => ScanOrder::Own,
            },
            ..Capabilities::of("mongodb")
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        let tables = layout.tables.iter().map(|table| self.table(table));
        let tables: Arc<[Table]> = tables.collect::<Result<_, _>>()?;
        self.admin_task(async |admin| {
            let there = admin.database.list_collection_names().await;
            let there = there.map_err(|error| admin.failed("listCollections", &error))?;
            for table in tables.iter().filter(|table| !there.contains(&table.name)) {
                let made = admin.database.create_collection(&table.name).await;
                made.map_err(|error| admin.failed("create", &error))?;
            }
            Ok(())
        })?;
        self.tables.set(tables);
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let links = Links::new(Arc::clone(&self.connector), self.tables.get());
        Ok(RecordsClient::open(links, self.options().connections, &self.options().to_string())?)
    }

    fn room(&self) -> Option<usize> {
        Some(self.options().connections)
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let answers = self.admin_task(async |admin| {
            Ok(Answers {
                build: admin.send(doc! { "buildInfo": 1 }).await?,
                hello: admin.send(doc! { "hello": 1 }).await?,
                concerns: admin.send(doc! { "getDefaultRWConcern": 1 }).await?,
                status: admin.send(doc! { "serverStatus": 1 }).await?,
                replica_set: admin.send(doc! { "replSetGetConfig": 1 }).await?,
            })
        })?;
        Ok(answers.settings(self.options()))
    }

    fn clear(&self) -> Result<(), OpenError> {
        let tables = self.tables.get();
        self.admin_task(async |admin| {
            let names = tables.iter().map(|table| table.name.as_str()).chain([NOTES]);
            for name in names {
                let dropped = admin.database.collection::<Document>(name).drop().await;
                dropped.map_err(|error| admin.failed("drop", &error))?;
            }
            Ok(())
        })
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        self.admin_task(async |admin| {
            let notes = admin.database.collection::<Document>(NOTES);
            let found = notes.find_one(doc! { ID: 1 }).await;
            let found = found.map_err(|error| admin.failed("find", &error))?;
            Ok(found.and_then(|note| note.get_str("note").ok().map(str::to_owned)))
        })
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.admin_task(async |admin| {
            let notes = admin.database.collection::<Document>(NOTES);
            let update = doc! { "$set": { "note": note } };
            let kept = notes.update_one(doc! { ID: 1 }, update).upsert(true).await;
            kept.map(|_| ()).map_err(|error| admin.failed("update", &error))
        })
    }
}
