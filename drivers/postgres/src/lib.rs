//! PostgreSQL, over connections of the library tokio-postgres.
//!
//! A worker has some connections; a session has one of them for itself while its transaction is
//! open, and any free one otherwise. Statements are prepared when a connection is made. Records
//! are laid out as YCSB's JDBC binding does, so that either reads what the other has loaded.
//!
//! What an answer means:
//! * `BEGIN` leaves together with the first query of a transaction. A statement that fails is
//!   answered, then its transaction is undone before the connection is free again.
//! * With an error after which the server goes on, the statement certainly did not happen: refused,
//!   by its SQLSTATE. An error after which it hangs up leaves the requests before it unknown.
//! * A connection that breaks while an answer is awaited makes that unknown, a commit too. It is
//!   made anew in the background; meanwhile the others do the work.
//! * With `read=standby` or `read=any` reads of records and scans go to standbys too, everything
//!   else to the primary. A server without a connection refuses what would go there.
//! * An update or delete of a missing row is done with `found = false`; an insert over an existing
//!   one is refused, as SQL has it.

mod admin;
mod connector;
mod error;
mod link;
mod numeric;
mod options;
mod plan;
mod settings;
mod stream;
mod value;
mod wire;
mod worker;

use std::sync::Arc;

use assay_driver_kit::latest::Latest;
use assay_driver_kit::read_server::{ReadServer, ReadSpread};
use assay_driver_kit::task::Pool;
use assay_model::{Catalogue, Layout, Setting};
use assay_store::{
    Capabilities, Client, DataModel, Existing, OpenError, ScanOrder, ServerReading, Store,
};

use connector::Connector;
use link::Postgres as Library;
pub use options::{Options, Trust};
use plan::Plan;
use worker::Worker;

/// A PostgreSQL server.
pub struct Postgres {
    connector: Connector,
    plan: Latest<Plan>,
    /// The number of the only node that is asked, if one was chosen.
    only: Option<u8>,
}

impl Postgres {
    /// A store with these options; nothing is connected yet.
    ///
    /// # Errors
    /// If a file that the options name cannot be read, or an option is not supported.
    pub fn new(options: Options) -> Result<Postgres, OpenError> {
        let connector = Connector::new(options)?;
        Ok(Postgres { connector, plan: Latest::default(), only: None })
    }

    /// A store with the options that `url` says, see [`Options`].
    ///
    /// # Errors
    /// If the URL is invalid, or a file that it names cannot be read.
    pub fn from_url(url: &str) -> Result<Postgres, OpenError> {
        Postgres::new(url.parse()?)
    }

    /// The options; shown without secrets.
    pub fn options(&self) -> &Options {
        &self.connector.options
    }

    /// The connectors of the standbys that are read.
    fn standbys(&self) -> Vec<Connector> {
        match self.options().read {
            ReadServer::Primary => Vec::new(),
            ReadServer::Replica | ReadServer::Any => self.connector.standbys(),
        }
    }
}

impl Store for Postgres {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            data_model: DataModel::Relational,
            scan_order: ScanOrder::Key,
            takes_queries: true,
            isolation: Some(self.options().isolation),
            ..Capabilities::of("postgres")
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        admin::with(&self.connector, async |admin| admin.make_tables(&layout.tables).await)?;
        for standby in self.standbys() {
            admin::with(&standby, async |admin| admin.until_there(&layout.tables).await)?;
        }
        self.plan.set(self.plan.get().with_tables(&layout.tables));
        Ok(())
    }

    fn prepare_queries(
        &self,
        catalogue: &Arc<Catalogue>,
        existing: Existing,
    ) -> Result<(), OpenError> {
        admin::with(&self.connector, async |admin| {
            admin.make_relations(&catalogue.schema, existing).await
        })?;
        self.plan.set(self.plan.get().with_queries(catalogue));
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let mut connectors = vec![self.connector.clone()];
        connectors.extend(self.standbys());
        let mut read = self.options().read;
        if let Some(node) = self.only {
            connectors = vec![connectors.swap_remove(usize::from(node) - 1)];
            read = ReadServer::Primary;
        }
        let spread = ReadSpread::new(read, connectors.len());
        let library = Library { connectors, plan: self.plan.get(), only: self.only };
        let options = self.options();
        let pool = Pool::open(library, options.connections, &options.to_string())?;
        Ok(Box::new(Worker { pool, spread }))
    }

    fn room(&self) -> Option<usize> {
        Some(self.options().connections * (1 + self.standbys().len()))
    }

    fn nodes(&self) -> Vec<String> {
        match self.options().read {
            ReadServer::Primary => Vec::new(),
            ReadServer::Replica | ReadServer::Any => self.options().authorities(),
        }
    }

    fn reading_at(&self, node: u8) -> Option<Box<dyn Store>> {
        let is_read = (1..=self.nodes().len()).contains(&usize::from(node));
        let (connector, plan) = (self.connector.clone(), Latest::new(self.plan.get()));
        is_read.then(|| Box::new(Postgres { connector, plan, only: Some(node) }) as Box<dyn Store>)
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let settings = admin::with(&self.connector, async |admin| admin.settings().await);
        settings.map(|settings| settings::with_read(settings, self.options().read))
    }

    fn readings(&self) -> Result<Vec<ServerReading>, OpenError> {
        admin::with(&self.connector, async |admin| admin.readings().await)
    }

    /// Removes the tables that were prepared, with the note. Other tables stay.
    fn clear(&self) -> Result<(), OpenError> {
        let plan = self.plan.get();
        let schema = plan.catalogue.as_ref().map(|catalogue| &catalogue.schema);
        admin::with(&self.connector, async |admin| admin.clear(&plan.tables, schema).await)
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        admin::with(&self.connector, async |admin| admin.note().await)
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        admin::with(&self.connector, async |admin| admin.keep_note(note).await)
    }

    fn flush(&self) -> Result<(), OpenError> {
        let plan = self.plan.get();
        let schema = plan.catalogue.as_ref().map(|catalogue| &catalogue.schema);
        admin::with(&self.connector, async |admin| admin.flush(&plan.tables, schema).await)
    }
}
