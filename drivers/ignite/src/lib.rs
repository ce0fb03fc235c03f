//! Apache Ignite 2, over its binary client protocol.
//!
//! A table is a cache, a record a binary object under a text, as YCSB's binding keeps them. A
//! worker has some links, each with a connection to every node, and one operation at a time goes
//! over a link: to the node that owns the key, if that is known, else to any, which passes it on.
//!
//! What an answer means:
//! * An insert overwrites what is there, unless the URL says `insert=put_if_absent`.
//! * An update reads the record, changes it, and writes it if it is still the same; otherwise
//!   again, at most eight times in all, then it is refused as a conflict.
//! * A scan is a query in SQL over an index of the keys, in their order.
//! * With `atomicity=transactional` several requests may be one transaction, which is bound to one
//!   connection: what fails before its commit is undone, and refused.
//! * Otherwise a connection that breaks makes unknown what was on its way over it, also a read.

mod admin;
mod affinity;
mod cache;
mod cluster;
mod failure;
mod keys;
mod link;
mod object;
mod open;
mod options;
mod plan;
mod settings;
mod socket;
mod transaction;
mod wire;

use std::sync::Arc;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_driver_kit::task::{self, RecordsClient};
use assay_model::{Kind, Layout, Setting};
use assay_store::{Capabilities, Client, OpenError, ScanOrder, Store};

use admin::AdminConnection;
use cluster::Cluster;
pub use keys::Keys;
use link::{Links, batch};
pub use options::{Atomicity, Content, Insert, Options, Transactions, WriteSync};
use plan::Plan;

/// The table of the note; a layout does not use this name.
const NOTES: &str = "_assay";

/// An Ignite cluster.
pub struct Ignite {
    options: Arc<Options>,
    /// What was prepared last.
    plan: Latest<Arc<Plan>>,
}

impl Ignite {
    /// A store with these options; nothing is connected yet.
    pub fn new(options: Options) -> Ignite {
        Ignite { options: Arc::new(options), plan: Latest::default() }
    }

    /// A store with the options that `url` says, see [`Options`].
    ///
    /// # Errors
    /// If the URL is invalid, or a file that it names cannot be read.
    pub fn from_url(url: &str) -> Result<Ignite, OpenError> {
        Ok(Ignite::new(url.parse()?))
    }

    /// The options; shown without secrets.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Runs a request over the admin connection, which no worker uses.
    fn admin_task<T>(
        &self,
        act: impl AsyncFnOnce(&mut AdminConnection<'_>) -> Result<T, OpenError>,
    ) -> Result<T, OpenError> {
        task::admin_task(&self.options, async {
            let mut admin = AdminConnection::open(&self.options).await?;
            act(&mut admin).await
        })
    }
}

impl Store for Ignite {
    fn capabilities(&self) -> Capabilities {
        let can = |kind: &Kind| *kind != Kind::Scan || self.options.has_index;
        Capabilities {
            kinds: Kind::OF_RECORDS.into_iter().filter(can).collect(),
            hidden_retries: Some(
                "an update whose record changed between its read and its write is done again, at \
                 most 8 times in all; the node that passes a change on does so again when the \
                 owner of its key fails meanwhile",
            ),
            scan_order: ScanOrder::Key,
            isolation: self.options.transactions.map(|how| how.isolation),
            ..Capabilities::of("ignite")
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        let plan =
            Plan::new(layout, &self.options).map_err(|reason| self.options.unsupported(reason))?;
        self.admin_task(async |admin| {
            admin.expect_active().await?;
            for table in &plan.tables {
                admin.make(table).await?;
            }
            Ok(())
        })?;
        self.plan.set(Arc::new(plan));
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let (options, plan) = (Arc::clone(&self.options), self.plan.get());
        let types = plan.types(options.content);
        let cluster = Cluster::new(options, plan.caches(), types);
        let links = Links { cluster, plan };
        let name = self.options.to_string();
        let (count, gathering) = (self.options.connections, batch::gathering(&self.options));
        Ok(RecordsClient::open_gathering(links, count, &name, gathering)?)
    }

    fn room(&self) -> Option<usize> {
        let is_gathering = batch::gathering(&self.options).is_on();
        (!is_gathering).then_some(self.options.connections)
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let plan = self.plan.get();
        self.admin_task(async |admin| settings::send(admin, &plan, &self.options).await)
    }

    fn clear(&self) -> Result<(), OpenError> {
        let plan = self.plan.get();
        self.admin_task(async |admin| {
            for table in &plan.tables {
                admin.remove(&table.cache).await?;
            }
            admin.remove(&self.options.cache(NOTES)).await
        })
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        self.admin_task(async |admin| admin.note(&self.options.cache(NOTES)).await)
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.admin_task(async |admin| admin.keep_note(&self.options.cache(NOTES), note).await)
    }
}
