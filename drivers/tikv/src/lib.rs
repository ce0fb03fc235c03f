//! TiKV, found through its placement drivers, in raw mode or in transactions.
//!
//! A record is one value under `table:key`, which is where go-ycsb keeps it, in the encoding that
//! answers have: a read hands out what was kept. go-ycsb's values are encoded in another way, so
//! neither reads what the other has loaded.
//!
//! What a request becomes:
//! * In raw mode a read is a get, an insert a put, which overwrites what is there. An update reads,
//!   changes, and writes if the record is still the same (compare-and-swap), else again, at most
//!   eight times in all. A delete reads first, for TiKV does not tell whether anything was there.
//! * Otherwise each of them is a transaction of its own: a timestamp, a read or a lock where there
//!   is one, then prewrite, another timestamp, commit. After a conflict all of it is tried again,
//!   at most eight times in all. Reads and scans see one moment.
//! * Several that belong together are one transaction, in which nothing is tried again: after a
//!   conflict it is undone. All its reads and scans see one moment, and what it wrote itself.
//! * A scan goes region by region, in the order of the keys' bytes.
//! * With `batch=N`, inserts that wait at the same time, or reads, are one request to each region
//!   in raw mode, else one transaction.
//!
//! The client library retries nothing, except where it looks for a region that has moved, or for
//! one who left a lock behind: see `failure` for what becomes of the rest.

mod batch;
mod connector;
mod conversation;
mod failure;
mod key_prefix;
mod link;
mod open;
mod options;
mod placement;
mod raw;
mod regions;
mod settings;
mod transaction;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_driver_kit::task::{self, Gathering, RecordsClient};
use assay_model::{Layout, Setting, Table};
use assay_store::{Capabilities, Client, Isolation, OpenError, ScanOrder, Store};
use tikv_client::{
    Backoff, CheckLevel, Error, RetryOptions, TransactionClient, TransactionOptions,
};

use connector::{Clients, ClusterConnection, Connector, DiscoveredLeader, Shared, display};
use key_prefix::{KeyPrefix, Plan};
use link::TiKv as Links;
pub use options::{Mode, Options, Tls, Update};
use settings::Facts;

/// The name of the note; it is no record, for those have a colon.
const NOTE: &[u8] = b"_assay";
/// How long what is no part of a run may wait for an answer: longer than it takes to elect leaders.
const ADMIN_TASK_TIMEOUT: Duration = Duration::from_secs(60);
/// The library's retries outside of a run.
const RETRIES: RetryOptions = RetryOptions::default_optimistic();
/// Abandoned locks live for twenty seconds at most: longer than that.
const OUTLIVE_LOCKS: Backoff = Backoff::no_jitter_backoff(2, 500, 60);
/// How many keys one transaction removes: enough for few of them, too few for a large one.
const CLEAR_BATCH: u32 = 1_000;

/// A TiKV cluster.
pub struct TiKv {
    connector: Arc<Connector>,
    /// What was prepared last.
    plan: Latest<Arc<Plan>>,
}

impl TiKv {
    /// A store with these options; nothing is connected yet.
    ///
    /// # Errors
    /// If a file that the options name cannot be read.
    pub fn new(options: Options) -> Result<TiKv, OpenError> {
        Ok(TiKv { connector: Arc::new(Connector::new(options)?), plan: Latest::default() })
    }

    /// A store with the options that `url` says, see [`Options`].
    ///
    /// # Errors
    /// If the URL is invalid, or a file that it names cannot be read.
    pub fn from_url(url: &str) -> Result<TiKv, OpenError> {
        TiKv::new(url.parse()?)
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.connector.options
    }

    /// Runs a request over admin connections, which no worker uses.
    fn admin_task<T>(
        &self,
        act: impl AsyncFnOnce(&Rc<Shared>) -> Result<T, Error>,
    ) -> Result<T, OpenError> {
        self.run(async {
            let shared = ClusterConnection::new(Arc::clone(&self.connector)).reach().await?;
            act(&shared).await.map_err(|error| self.failed(&error))
        })
    }

    fn run<T>(&self, act: impl Future<Output = Result<T, OpenError>>) -> Result<T, OpenError> {
        let advice = "; does a majority of its servers run?";
        task::admin_task_within(self.options(), ADMIN_TASK_TIMEOUT, advice, act)
    }

    fn failed(&self, error: &Error) -> OpenError {
        let store = self.options();
        let reported = display(error);
        match error {
            Error::Grpc(_) => store.unreachable(format!(
                "PD answers, but a TiKV server that it names cannot be reached ({reported}); \
                 does \
                 it run, and is its address (--advertise-addr) right for this machine?"
            )),
            Error::RegionError(error) => store.failed(format!("a region says: {}", error.message)),
            _ => store.failed(format!("it says: {reported}")),
        }
    }
}

impl Store for TiKv {
    fn capabilities(&self) -> Capabilities {
        let hidden_retries = match self.options().mode {
            Mode::Raw => {
                "a request whose region has moved, or an update whose record was changed \
                 meanwhile, is tried again, at most 8 times in all; the requests are counted, \
                 those that look for the region are not all"
            }
            Mode::Optimistic | Mode::Pessimistic => {
                "a transaction of one operation with a conflict, or whose region has moved, is \
                 tried again, at most 8 times in all, after pauses of half a second in all at \
                 most, and its requests are counted; one of several operations is not; the library \
                 itself repeats reads while a region moves, and waits up to 1.5 s for a lock of \
                 somebody else, which is not counted"
            }
        };
        Capabilities {
            hidden_retries: Some(hidden_retries),
            scan_order: ScanOrder::Key,
            isolation: match self.options().mode {
                Mode::Raw => None,
                Mode::Optimistic | Mode::Pessimistic => Some(Isolation::RepeatableRead),
            },
            ..Capabilities::of("tikv")
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        if let Some(table) = layout.tables.iter().find(|table| table.name.contains(':')) {
            return Err(self.options().unsupported(format!(
                "table {:?} has a colon, which ends names here",
                table.name
            )));
        }
        // Keys need nothing made for them; this shows that a TiKV server answers.
        self.note()?;
        let key_prefix = |table: &Table| KeyPrefix::new(format!("{}:", table.name), table);
        let plan = layout.tables.iter().map(key_prefix).collect();
        self.plan.set(Arc::new(plan));
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let options = self.options();
        let links = Links {
            way: ClusterConnection::new(Arc::clone(&self.connector)),
            plan: self.plan.get(),
            mode: options.mode,
            update: options.update,
            timeout: options.connect_timeout,
        };
        let gathering = Gathering { most: options.batch, kinds: batch::KINDS };
        let (count, name) = (options.connections, options.to_string());
        Ok(RecordsClient::open_gathering(links, count, &name, gathering)?)
    }

    fn room(&self) -> Option<usize> {
        // A batch is one request of many operations.
        (self.options().batch <= 1).then_some(self.options().connections)
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let facts = self.run(async {
            let met = self.connector.meet().await;
            let met = met.map_err(|unavailable| unavailable.explain(self.options()))?;
            let DiscoveredLeader { driver, members, nodes } = met;
            let mut facts = Facts { cluster_id: driver.cluster_id(), members, ..Facts::default() };
            for node in nodes {
                // A missing setting is reported as missing.
                let regions = driver.regions_of(node.id).await.unwrap_or_default();
                facts.nodes.push((node, regions));
            }
            facts.replicas = driver.replicas().await.ok();
            Ok(facts)
        })?;
        Ok(facts.settings(self.options()))
    }

    fn clear(&self) -> Result<(), OpenError> {
        let plan = self.plan.get();
        self.admin_task(async |shared| {
            match &shared.clients {
                Clients::Raw { patient, .. } => {
                    for key_prefix in plan.iter() {
                        patient
                            .delete_range(key_prefix.begin.clone()..key_prefix.end.clone())
                            .await?;
                    }
                    patient.delete(NOTE.to_vec()).await?;
                }
                Clients::Transactions(client) => {
                    for key_prefix in plan.iter() {
                        remove(client, key_prefix).await?;
                    }
                    let mut transaction = begin(client).await?;
                    transaction.delete(NOTE.to_vec()).await?;
                    transaction.commit().await?;
                }
            }
            Ok(())
        })
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        let note = self.admin_task(async |shared| match &shared.clients {
            Clients::Raw { patient, .. } => patient.get(NOTE.to_vec()).await,
            Clients::Transactions(client) => {
                let now = client.current_timestamp().await?;
                client.snapshot(now, admin_options()).get(NOTE.to_vec()).await
            }
        })?;
        Ok(note.map(|note| String::from_utf8_lossy(&note).into_owned()))
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        let note = note.as_bytes().to_vec();
        self.admin_task(async |shared| match &shared.clients {
            Clients::Raw { patient, .. } => patient.put(NOTE.to_vec(), note).await,
            Clients::Transactions(client) => {
                let mut transaction = begin(client).await?;
                transaction.put(NOTE.to_vec(), note).await?;
                transaction.commit().await.map(drop)
            }
        })
    }
}

/// How transactions are done that are no part of a run: the library may retry.
fn admin_options() -> TransactionOptions {
    let options = TransactionOptions::new_optimistic().drop_check(CheckLevel::None);
    options.retry_options(RetryOptions { lock_backoff: OUTLIVE_LOCKS, ..RETRIES })
}

async fn begin(client: &TransactionClient) -> Result<tikv_client::Transaction, Error> {
    client.begin_with_options(admin_options()).await
}

/// Removes the records of a table, some in each transaction.
async fn remove(client: &TransactionClient, key_prefix: &KeyPrefix) -> Result<(), Error> {
    let mut from = key_prefix.begin.clone();
    loop {
        let mut transaction = begin(client).await?;
        let range = from.clone()..key_prefix.end.clone();
        let found: Vec<_> = transaction.scan_keys(range, CLEAR_BATCH).await?.collect();
        let Some(last) = found.last().cloned() else { return Ok(()) };
        for key in found {
            transaction.delete(key).await?;
        }
        transaction.commit().await?;
        from = last.into();
    }
}
