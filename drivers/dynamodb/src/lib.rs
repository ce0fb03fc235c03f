//! DynamoDB over HTTP or HTTPS: the service, or DynamoDB Local at an endpoint.
//!
//! A record is an item, a field is an attribute, as YCSB's DynamoDB binding lays them out. A worker
//! has some connections, each of which carries one request at a time.
//!
//! What an answer means:
//! * An insert writes the whole item, over one that is there. An update of a missing record writes
//!   nothing, by a condition on its key, and is done with `found = false`; so is a delete.
//! * A scan returns the record that it starts at, then those that follow in the table's own order,
//!   which is by a hash of the key: one request for the first, then one for each page.
//! * An error of the service is refused, unless the service failed (5xx): then the outcome is
//!   unknown.
//! * A connection that breaks makes unknown what was on its way. Nothing is sent twice.

mod admin;
mod content;
mod failure;
mod link;
mod options;
mod settings;

use std::sync::Arc;

use assay_driver_kit::latest::Latest;
use assay_driver_kit::task::{self, RecordsClient};
use assay_model::{Layout, Setting};
use assay_store::{Capabilities, Client, OpenError, Store};

use admin::AdminConnection;
use link::{Link, Plan};
pub use options::Options;

/// The table of the note, behind the prefix; a layout does not use this name.
const NOTES: &str = "_assay";

/// A DynamoDB endpoint.
pub struct DynamoDb {
    options: Arc<Options>,
    /// The tables prepared last, by number.
    plan: Latest<Arc<Plan>>,
}

impl DynamoDb {
    /// A store with the options that `url` says, see [`Options`]; nothing is connected yet.
    ///
    /// # Errors
    /// If the URL is invalid, or a file that it names cannot be read.
    pub fn from_url(url: &str) -> Result<DynamoDb, OpenError> {
        let options = Arc::new(Options::parse(url)?);
        Ok(DynamoDb { options, plan: Latest::default() })
    }

    /// Runs a request over the admin connection, which no worker uses.
    fn admin_task<T>(
        &self,
        act: impl AsyncFnOnce(&AdminConnection<'_>) -> Result<T, OpenError>,
    ) -> Result<T, OpenError> {
        task::admin_task(&self.options, act(&AdminConnection::new(&self.options)))
    }
}

impl Store for DynamoDb {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of("dynamodb")
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        let plan = Plan::of(layout, &self.options)?;
        self.admin_task(async |admin| {
            for table in &plan.tables {
                admin.prepare(&table.name).await?;
            }
            Ok(())
        })?;
        self.plan.set(Arc::new(plan));
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let link = Link { options: Arc::clone(&self.options), plan: self.plan.get() };
        let (connections, store) = (self.options.connections, self.options.to_string());
        Ok(RecordsClient::open(link, connections, &store)?)
    }

    fn room(&self) -> Option<usize> {
        Some(self.options.connections)
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let plan = self.plan.get();
        let table = self.admin_task(async |admin| match plan.tables.first() {
            Some(table) => admin.describe(&table.name).await,
            None => admin.greet().await.map(|()| None),
        })?;
        Ok(settings::settings(&self.options, table.as_ref()))
    }

    fn clear(&self) -> Result<(), OpenError> {
        let plan = self.plan.get();
        self.admin_task(async |admin| {
            for table in &plan.tables {
                admin.remove(&table.name).await?;
            }
            admin.remove(&self.options.table(NOTES)).await
        })
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        self.admin_task(async |admin| admin.note(&self.options.table(NOTES)).await)
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.admin_task(async |admin| admin.keep_note(&self.options.table(NOTES), note).await)
    }
}
