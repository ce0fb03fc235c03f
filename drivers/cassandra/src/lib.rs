//! Cassandra or ScyllaDB, driven in CQL over prepared statements.
//!
//! A worker has one session of the library, with a few connections to each node; over it many
//! requests are in flight at a time. Records are laid out as YCSB's `cassandra-cql` binding does.
//!
//! What an answer means:
//! * A write looks at nothing: an insert over a record overwrites its fields, an update of a
//!   missing record makes one, a delete is done with `found = true` whether there was one or not.
//!   With `insert=lwt` or `update=lwt` the replicas agree on whether the record is there first, and
//!   the answer tells.
//! * A field that was never written is not returned.
//! * A coordinator that knows of too few replicas refuses. One that has sent to them and did not
//!   hear from enough leaves open what happened: those that took a write keep it.
//! * A connection that breaks makes unknown what was on its way, also a read.

mod connector;
mod conversation;
mod failure;
mod options;
mod settings;
mod texts;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_driver_kit::task::{self, RecordsClient};
use assay_model::{Layout, Setting};
use assay_store::{Capabilities, Client, DataModel, OpenError, Store};
use scylla::client::session::Session;
use scylla::deserialize::row::DeserializeRow;
use scylla::frame::types::Consistency;
use scylla::response::query_result::QueryResult;
use scylla::serialize::row::SerializeRow;
use scylla::statement::Statement;

use connector::Connector;
use conversation::{Cassandra as Handles, Plan, batch};
pub use options::{Content, Options, Writing};
use settings::Facts;
use texts::{TableTexts, quoted};

/// The table of the note; a layout does not use this name.
const NOTES: &str = "_assay";
/// Copies in a keyspace that is made, where there are as many nodes.
const COPIES: usize = 3;
/// Timeout of one request on the admin connection: a schema change takes its time.
const ADMIN_TASK_TIMEOUT: Duration = Duration::from_secs(60);

/// A cluster.
pub struct Cassandra {
    connector: Arc<Connector>,
    /// What was prepared last.
    plan: Latest<Arc<Plan>>,
}

impl Cassandra {
    /// A store with these options; nothing is connected yet.
    pub fn new(options: Options) -> Cassandra {
        Cassandra { connector: Arc::new(Connector::new(options)), plan: Latest::default() }
    }

    /// A store with the options that `url` says, see [`Options`].
    ///
    /// # Errors
    /// If the URL is invalid, or a file that it names cannot be read.
    pub fn from_url(url: &str) -> Result<Cassandra, OpenError> {
        Ok(Cassandra::new(url.parse()?))
    }

    /// The options; shown without secrets.
    pub fn options(&self) -> &Options {
        &self.connector.options
    }

    /// Runs a request over the admin connection, which no worker uses.
    fn admin_task<T>(
        &self,
        act: impl AsyncFnOnce(&AdminConnection<'_>) -> Result<T, OpenError>,
    ) -> Result<T, OpenError> {
        task::admin_task(self.options(), async {
            let session = self.connector.dial().await?;
            act(&AdminConnection { session, connector: &self.connector }).await
        })
    }
}

/// A session for what is no part of a run.
struct AdminConnection<'a> {
    session: Session,
    connector: &'a Connector,
}

impl AdminConnection<'_> {
    async fn run(
        &self,
        text: &str,
        level: Consistency,
        arguments: impl SerializeRow,
    ) -> Result<QueryResult, OpenError> {
        let mut statement = Statement::new(text);
        statement.set_consistency(level);
        let requested = self.session.query_unpaged(statement, arguments);
        match tokio::time::timeout(ADMIN_TASK_TIMEOUT, requested).await {
            Ok(answered) => answered.map_err(|error| self.connector.failed(text, &error)),
            Err(_) => Err(self.connector.options.unreachable(format!(
                "no answer came within {} s to {text}",
                ADMIN_TASK_TIMEOUT.as_secs()
            ))),
        }
    }

    /// Changes the schema.
    async fn change(&self, text: &str) -> Result<(), OpenError> {
        self.run(text, Consistency::Quorum, ()).await.map(drop)
    }

    /// The rows of a system table, which every node has by itself.
    async fn look<R>(&self, text: &str, arguments: impl SerializeRow) -> Result<Vec<R>, OpenError>
    where
        R: for<'r> DeserializeRow<'r, 'r>,
    {
        rows(self.run(text, Consistency::One, arguments).await?)
            .map_err(|reason| self.garbled(text, &reason))
    }

    fn garbled(&self, text: &str, reason: &str) -> OpenError {
        let reason = format!("its response to {text} is invalid: {reason}");
        self.connector.options.unsupported(reason)
    }

    fn keyspace(&self) -> &str {
        &self.connector.options.keyspace
    }

    /// The keyspace's replication, and whether it has a commit log; nothing if it is not there.
    async fn replication(&self) -> Result<Option<(BTreeMap<String, String>, bool)>, OpenError> {
        let text = "SELECT replication, durable_writes FROM system_schema.keyspaces \
                    WHERE keyspace_name = ?";
        Ok(self.look(text, (self.keyspace(),)).await?.pop())
    }

    /// The columns of a table with their types; none if there is no such table.
    async fn columns(&self, table: &str) -> Result<HashMap<String, String>, OpenError> {
        let text = "SELECT column_name, type FROM system_schema.columns \
                    WHERE keyspace_name = ? AND table_name = ?";
        let columns: Vec<(String, String)> = self.look(text, (self.keyspace(), table)).await?;
        Ok(columns.into_iter().collect())
    }

    /// How many nodes each data center has.
    fn centers(&self) -> BTreeMap<String, usize> {
        let state = self.session.get_cluster_state();
        let mut centers = BTreeMap::new();
        for node in state.get_nodes_info() {
            if let Some(center) = &node.datacenter {
                *centers.entry(center.clone()).or_default() += 1;
            }
        }
        centers
    }

    /// Makes the keyspace, or checks the one that is there.
    async fn make_keyspace(&self) -> Result<(), OpenError> {
        let expected = self.connector.options.replication;
        if let Some((there, _)) = self.replication().await? {
            let is_as_wanted = |expected: usize| {
                let mut counts = there.iter().filter(|(name, _)| *name != "class");
                counts.all(|(_, count)| *count == expected.to_string())
            };
            return match expected.filter(|expected| !is_as_wanted(*expected)) {
                Some(expected) => Err(self.connector.options.contents(format!(
                    "keyspace {} is there with {there:?}, not with replication={expected}; leave \
                     the option out, drop the keyspace, or name another",
                    self.keyspace()
                ))),
                None => Ok(()),
            };
        }
        let mut replication = String::from("'class': 'NetworkTopologyStrategy'");
        for (center, nodes) in self.centers() {
            if let Some(expected) = expected.filter(|expected| *expected > nodes) {
                return Err(self.connector.options.contents(format!(
                    "replication={expected} wants more copies than data center {center} has nodes \
                     ({nodes})"
                )));
            }
            let copies = expected.unwrap_or(COPIES.min(nodes));
            let center = center.replace('\'', "''");
            replication.push_str(&format!(", '{center}': {copies}"));
        }
        let name = quoted(self.keyspace());
        self.change(&format!(
            "CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = {{{replication}}}"
        ))
        .await
    }

    /// Everything that a reader of the figures must know.
    async fn facts(&self, plan: &Plan) -> Result<Facts, OpenError> {
        let text = "SELECT release_version, cluster_name, partitioner, data_center \
                    FROM system.local";
        let local: Vec<(String, String, String, String)> = self.look(text, ()).await?;
        let Some((version, cluster, partitioner, center)) = local.into_iter().next() else {
            return Err(self.garbled(text, "there is no row"));
        };
        let text = "SELECT data_center, release_version FROM system.peers";
        let peers: Vec<(Option<String>, Option<String>)> = self.look(text, ()).await?;
        let mut nodes = vec![(center, version.clone())];
        nodes.extend(peers.into_iter().filter_map(|(center, version)| Some((center?, version?))));
        // ScyllaDB has no such table, nor had Cassandra before version 4.
        let variables: Result<Vec<(String, Option<String>)>, OpenError> =
            self.look("SELECT name, value FROM system_views.settings", ()).await;
        let variables = variables.unwrap_or_default().into_iter();
        let variables = variables.filter_map(|(name, value)| Some((name, value?))).collect();
        let (replication, has_commit_log) = self.replication().await?.unzip();
        Ok(Facts {
            version,
            cluster,
            partitioner: partitioner.rsplit('.').next().unwrap_or_default().to_owned(),
            nodes,
            replication,
            has_commit_log: has_commit_log.unwrap_or_default(),
            variables,
            tables: self.tables(plan).await?,
        })
    }

    /// What our tables say about reads.
    async fn tables(&self, plan: &Plan) -> Result<Vec<[String; 4]>, OpenError> {
        // The columns of a table depend on the version: all are selected, and read by name.
        let text = "SELECT table_name, speculative_retry, compaction FROM system_schema.tables \
                    WHERE keyspace_name = ?";
        type TableRow = (String, Option<String>, Option<HashMap<String, String>>);
        let reported: Vec<TableRow> = self.look(text, (self.keyspace(),)).await?;
        let text = "SELECT table_name, read_repair FROM system_schema.tables \
                    WHERE keyspace_name = ?";
        let repairs: Result<Vec<(String, Option<String>)>, OpenError> =
            self.look(text, (self.keyspace(),)).await;
        let repairs: HashMap<_, _> = repairs.unwrap_or_default().into_iter().collect();
        let ours = |name: &str| plan.tables.iter().any(|texts| texts.name() == name);
        let tables = reported.into_iter().filter(|(name, ..)| ours(name));
        let tables = tables.map(|(name, speculative, compaction)| {
            let unknown = || String::from("unknown");
            let class = compaction.and_then(|compaction| compaction.get("class").cloned());
            let class = class.unwrap_or_else(unknown);
            let repair = repairs.get(&name).cloned().flatten().unwrap_or_else(unknown);
            let class = class.rsplit('.').next().unwrap_or_default().to_owned();
            [name, speculative.unwrap_or_else(unknown), repair, class]
        });
        Ok(tables.collect())
    }

    fn notes(&self) -> String {
        format!("{}.{}", quoted(self.keyspace()), quoted(NOTES))
    }
}

fn rows<R>(result: QueryResult) -> Result<Vec<R>, String>
where
    R: for<'r> DeserializeRow<'r, 'r>,
{
    let result = result.into_rows_result().map_err(|error| error.to_string())?;
    let rows = result.rows::<R>().map_err(|error| error.to_string())?;
    rows.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

impl Store for Cassandra {
    fn capabilities(&self) -> Capabilities {
        Capabilities { data_model: DataModel::Column, ..Capabilities::of("cassandra") }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        let texts = |table| Arc::new(TableTexts::new(table, self.options()));
        let plan = Plan { tables: layout.tables.iter().map(texts).collect() };
        self.admin_task(async |admin| {
            admin.make_keyspace().await?;
            for texts in &plan.tables {
                let mut columns = admin.columns(texts.name()).await?;
                if columns.is_empty() {
                    admin.change(&texts.create()).await?;
                    columns = admin.columns(texts.name()).await?;
                }
                if let Some(reason) = texts.misfit(&columns) {
                    return Err(self.options().contents(reason));
                }
            }
            Ok(())
        })?;
        self.plan.set(Arc::new(plan));
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let handles = Handles::new(Arc::clone(&self.connector), self.plan.get());
        let options = self.options();
        let (count, gathering) = (options.in_flight, batch::gathering(options));
        Ok(RecordsClient::open_gathering(handles, count, &options.to_string(), gathering)?)
    }

    fn room(&self) -> Option<usize> {
        let options = self.options();
        (!batch::gathering(options).is_on()).then_some(options.in_flight)
    }

    fn nodes(&self) -> Vec<String> {
        self.connector.nodes.all()
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let plan = self.plan.get();
        let facts = self.admin_task(async |admin| admin.facts(&plan).await)?;
        Ok(facts.settings(self.options()))
    }

    fn clear(&self) -> Result<(), OpenError> {
        let plan = self.plan.get();
        self.admin_task(async |admin| {
            if admin.replication().await?.is_none() {
                return Ok(());
            }
            for texts in &plan.tables {
                admin.change(&texts.drop_table()).await?;
            }
            admin.change(&format!("DROP TABLE IF EXISTS {}", admin.notes())).await
        })
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        self.admin_task(async |admin| {
            if admin.columns(NOTES).await?.is_empty() {
                return Ok(None);
            }
            let text = format!("SELECT note FROM {} WHERE id = 1", admin.notes());
            let found = admin.run(&text, Consistency::Quorum, ()).await?;
            let notes = rows::<(Option<String>,)>(found);
            let mut notes = notes.map_err(|reason| admin.garbled(&text, &reason))?;
            Ok(notes.pop().and_then(|(note,)| note))
        })
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.admin_task(async |admin| {
            admin.make_keyspace().await?;
            let notes = admin.notes();
            let create =
                format!("CREATE TABLE IF NOT EXISTS {notes} (id int PRIMARY KEY, note varchar)");
            admin.change(&create).await?;
            let text = format!("INSERT INTO {notes} (id, note) VALUES (1, ?)");
            admin.run(&text, Consistency::Quorum, (note,)).await.map(drop)
        })
    }
}
