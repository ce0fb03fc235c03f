//! MariaDB or MySQL, over connections of which each has one transaction at a time.
//!
//! A worker has some connections; a session has one for itself while its transaction is open.
//! Queries are prepared on each connection as it is made. Records are laid out as YCSB's JDBC
//! binding does.
//!
//! What an answer means:
//! * An insert of a record that is there is refused as exists. An update or delete of a missing one
//!   is done with `found = false`. A field that was never written is not returned.
//! * An error of the server has undone its statement, so it is refused; the transaction around it
//!   is undone, also where the server would go on with it (a lock that was waited for too long).
//! * A connection that breaks makes unknown what was on its way, also a read, and a commit.
//! * Of several hosts a session has one, and its transactions and reads stay there; while that host
//!   cannot be reached, they are refused.
//! * A transaction begins with a message of its own, whose answer is waited for.

mod connector;
mod failure;
mod link;
mod options;
mod settings;
mod value;

use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_driver_kit::relations::{Todo, decide, has};
use assay_driver_kit::task::{self, Pool};
use assay_model::{Catalogue, Layout, Nanos, Reason, Schema, Setting};
use assay_sql::{self as sql, Dialect, ForeignKeys, RecordTexts, Records, SqlQuery};
use assay_store::reading::{self, ServerReading};
use assay_store::{
    Answer, Answers, Call, Capabilities, Client, DataModel, Existing, OpenError, Reply, Request,
    ScanOrder, Step, Store, Ticket,
};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use connector::Connector;
use link::{MariaDb as Links, Plan};
pub use options::{HostChoice, Options};
use settings::{STATUS, VARIABLES, Variables};

/// How often a host is asked for a table that another one has.
const LOOK: Duration = Duration::from_millis(10);

/// The table of the note; a layout does not use this name.
const NOTES: &str = "_assay";

/// A MariaDB or MySQL server.
pub struct MariaDb {
    connector: Arc<Connector>,
    /// What was prepared last.
    plan: Latest<Arc<Plan>>,
}

impl MariaDb {
    /// A store with these options; nothing is connected yet.
    pub fn new(options: Options) -> MariaDb {
        MariaDb { connector: Arc::new(Connector::new(options)), plan: Latest::default() }
    }

    /// A store with the options that `url` says, see [`Options`].
    ///
    /// # Errors
    /// If the URL is invalid, or a file that it names cannot be read.
    pub fn from_url(url: &str) -> Result<MariaDb, OpenError> {
        Ok(MariaDb::new(url.parse()?))
    }

    /// The options; shown without secrets.
    pub fn options(&self) -> &Options {
        &self.connector.options
    }

    /// Runs a request over the admin connection, which no worker uses.
    fn admin_task<T>(
        &self,
        act: impl AsyncFnOnce(&mut AdminConnection<'_>) -> Result<T, OpenError>,
    ) -> Result<T, OpenError> {
        task::admin_task(self.options(), async {
            let connection = self.connector.dial().await?;
            let mut admin = AdminConnection { connection, connector: &self.connector };
            let done = act(&mut admin).await;
            // All requests are done; how the connection ends does not matter.
            let _ = admin.connection.disconnect().await;
            done
        })
    }

    /// Waits until all hosts have this table, which the first one has.
    fn await_table(&self, table: &str) -> Result<(), OpenError> {
        let timeout = self.options().connect_timeout;
        task::admin_task(self.options(), async {
            for host in 1..self.connector.count() {
                let connection = self.connector.dial_host(host).await?;
                let mut admin = AdminConnection { connection, connector: &self.connector };
                let has_come = tokio::time::timeout(timeout, admin.until_there(table)).await;
                has_come.unwrap_or_else(|_| {
                    let host = host + 1;
                    Err(self.options().failed(format!(
                        "table {table} of host 1 does not come to host {host} within {} ms; are \
                         they nodes of one cluster, all of which take writes?",
                        timeout.as_millis()
                    )))
                })?;
            }
            Ok(())
        })
    }
}

/// A connection for what is no part of a run.
struct AdminConnection<'a> {
    connection: Conn,
    connector: &'a Connector,
}

impl AdminConnection<'_> {
    async fn run(&mut self, text: &str) -> Result<(), OpenError> {
        let done = self.connection.query_drop(text).await;
        done.map_err(|error| self.connector.failed(text, &error))
    }

    async fn names(&mut self, text: &str, argument: &str) -> Result<Vec<String>, OpenError> {
        let names = self.connection.exec(text, (argument,)).await;
        names.map_err(|error| self.connector.failed(text, &error))
    }

    /// The names of a table's columns; none if there is no such table.
    async fn columns(&mut self, table: &str) -> Result<Vec<String>, OpenError> {
        let text = "SELECT CONVERT(column_name USING utf8mb4) FROM information_schema.columns \
                    WHERE table_schema = DATABASE() AND table_name = ?";
        self.names(text, table).await
    }

    /// Waits for a table that comes from another host.
    async fn until_there(&mut self, table: &str) -> Result<(), OpenError> {
        while self.columns(table).await?.is_empty() {
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Makes the relations, or checks those that are there.
    async fn make_relations(
        &mut self,
        schema: &Schema,
        existing: Existing,
    ) -> Result<(), OpenError> {
        let mut columns = Vec::with_capacity(schema.relations.len());
        for relation in &schema.relations {
            columns.push(self.columns(&relation.name).await?);
        }
        match decide(schema, &columns, existing, "database") {
            Ok(Todo::Nothing) => return Ok(()),
            Ok(Todo::Make) => {}
            Ok(Todo::Replace) => {
                // Tables that point to each other are dropped in any order.
                self.run("SET SESSION foreign_key_checks = 0").await?;
                for text in sql::drop(Dialect::MySql, schema) {
                    self.run(&text).await?;
                }
                self.run("SET SESSION foreign_key_checks = 1").await?;
            }
            Err(reason) => return Err(self.connector.options.contents(reason)),
        }
        for text in sql::create(Dialect::MySql, schema, ForeignKeys::Leave) {
            self.run(&text).await?;
        }
        Ok(())
    }

    /// The queries as text, each of which the server understands.
    async fn check_queries(&mut self, catalogue: &Catalogue) -> Result<Vec<SqlQuery>, OpenError> {
        let mut queries = Vec::new();
        for query in &catalogue.queries {
            let requested = sql::query_text(Dialect::MySql, &catalogue.schema, &query.statement);
            match self.connection.prep(&*requested.text).await {
                Ok(statement) => {
                    let closed = self.connection.close(statement).await;
                    closed.map_err(|error| self.connector.failed(&requested.text, &error))?;
                }
                Err(mysql_async::Error::Server(error)) => {
                    let store = &self.connector.options;
                    let reason =
                        format!("query {}: {} in: {}", query.name, error.message, requested.text);
                    return Err(store.unsupported(reason));
                }
                Err(error) => return Err(self.connector.failed(&requested.text, &error)),
            }
            queries.push(requested);
        }
        Ok(queries)
    }
}

impl Store for MariaDb {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            data_model: DataModel::Relational,
            scan_order: ScanOrder::Key,
            takes_queries: true,
            isolation: Some(self.options().isolation),
            ..Capabilities::of("mariadb")
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        self.admin_task(async |admin| {
            for table in &layout.tables {
                let records = Records::new(Dialect::MySql, table);
                admin.run(&records.create(self.options().content)).await?;
                let columns = admin.columns(&table.name).await?;
                let lacks = table.fields.iter().find(|name| !has(&columns, name));
                if let Some(field) = lacks {
                    let table = &table.name;
                    return Err(self.options().contents(format!(
                        "its table {table} has no column {field}; choose another database, or \
                         drop the table"
                    )));
                }
            }
            Ok(())
        })?;
        for table in &layout.tables {
            self.await_table(&table.name)?;
        }
        let texts = |table| Arc::new(RecordTexts::new(Dialect::MySql, table));
        let records = layout.tables.iter().map(texts).collect();
        self.plan.change(|plan| Arc::new(Plan { records, ..Plan::clone(plan) }));
        Ok(())
    }

    fn prepare_queries(
        &self,
        catalogue: &Arc<Catalogue>,
        existing: Existing,
    ) -> Result<(), OpenError> {
        let queries = self.admin_task(async |admin| {
            admin.make_relations(&catalogue.schema, existing).await?;
            admin.check_queries(catalogue).await
        })?;
        if let Some(relation) = catalogue.schema.relations.last() {
            self.await_table(&relation.name)?;
        }
        let relations = catalogue.schema.relations.iter();
        let relations = relations.map(|relation| relation.name.clone()).collect();
        self.plan.change(|plan| Arc::new(Plan { relations, queries, ..Plan::clone(plan) }));
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let links = Links { connector: Arc::clone(&self.connector), plan: self.plan.get() };
        let options = self.options();
        let pool = Pool::open(links, options.connections, &options.to_string())?;
        Ok(Box::new(Worker { pool, host: options.host, turns: 0 }))
    }

    fn room(&self) -> Option<usize> {
        Some(self.options().connections * self.connector.count())
    }

    fn nodes(&self) -> Vec<String> {
        self.connector.authorities()
    }

    fn reading_at(&self, node: u8) -> Option<Box<dyn Store>> {
        let connector = Arc::new(self.connector.only(node)?);
        Some(Box::new(MariaDb { connector, plan: Latest::new(self.plan.get()) }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let variables = self.admin_task(async |admin| {
            let reported = admin.connection.query(VARIABLES).await;
            reported.map_err(|error| admin.connector.failed(VARIABLES, &error))
        })?;
        let options = self.options();
        Ok(Variables(variables).settings(options.isolation, options.connections))
    }

    fn readings(&self) -> Result<Vec<ServerReading>, OpenError> {
        let status: Vec<(String, String)> = self.admin_task(async |admin| {
            let reported = admin.connection.query(STATUS).await;
            reported.map_err(|error| admin.connector.failed(STATUS, &error))
        })?;
        let pairs = status.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        Ok(reading::readings("", pairs, settings::is_counter))
    }

    fn clear(&self) -> Result<(), OpenError> {
        let plan = self.plan.get();
        self.admin_task(async |admin| {
            admin.run("SET SESSION foreign_key_checks = 0").await?;
            for records in &plan.records {
                admin.run(&Records::new(Dialect::MySql, records.table()).drop()).await?;
            }
            for relation in &plan.relations {
                let name = Dialect::MySql.name(relation);
                admin.run(&format!("DROP TABLE IF EXISTS {name}")).await?;
            }
            admin.run(&format!("DROP TABLE IF EXISTS {NOTES}")).await
        })
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        self.admin_task(async |admin| {
            if admin.columns(NOTES).await?.is_empty() {
                return Ok(None);
            }
            let text = format!("SELECT note FROM {NOTES} WHERE id = ?");
            Ok(admin.names(&text, "1").await?.pop())
        })
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.admin_task(async |admin| {
            let create = format!(
                "CREATE TABLE IF NOT EXISTS {NOTES} (id INTEGER PRIMARY KEY, note LONGTEXT NOT \
                 NULL) ENGINE=InnoDB CHARACTER SET utf8mb4"
            );
            admin.run(&create).await?;
            let text = format!("REPLACE INTO {NOTES} VALUES (1, ?)");
            let done = admin.connection.exec_drop(&*text, (note,)).await;
            done.map_err(|error| admin.connector.failed(&text, &error))
        })
    }
}

/// A worker's client.
struct Worker {
    pool: Pool<Links>,
    host: HostChoice,
    /// How many requests were given a host in turn.
    turns: usize,
}

impl Worker {
    /// The host that a request of this session goes to, unless its transaction is elsewhere.
    fn host(&mut self, session: u32) -> usize {
        let hosts = self.pool.library().connector.count();
        match self.host {
            HostChoice::BySession => session as usize % hosts,
            HostChoice::InTurn => {
                self.turns += 1;
                self.turns % hosts
            }
        }
    }
}

impl Client for Worker {
    fn is_ready(&self) -> bool {
        self.pool.is_ready()
    }

    fn start(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        let plan = Arc::clone(&self.pool.library().plan);
        let host = self.host(request.session);
        self.pool.submit_to(host, ticket, request.session, answers, |job| {
            job.fill_request(&plan, request);
        });
    }

    fn call(&mut self, _now: Nanos, ticket: Ticket, call: &Call<'_>, answers: &mut dyn Answers) {
        let plan = Arc::clone(&self.pool.library().plan);
        if call.begins {
            // An open transaction of the session will never be ended.
            self.pool.abort(call.session);
        }
        let is_held = self.pool.holds(call.session);
        let nothing_to_end = match call.step {
            Step::Query(_) => None,
            Step::Commit => Some(Answer::Refused(Reason::TransactionFailed)),
            Step::Rollback => Some(Answer::Done(Reply::WRITTEN)),
        };
        if let Some(answer) = nothing_to_end.filter(|_| !is_held) {
            // Nothing is to be undone, but nothing became final either.
            return answers.answer(ticket, answer);
        }
        let host = self.host(call.session);
        self.pool.submit_to(host, ticket, call.session, answers, |job| {
            job.fill_call(&plan, call, is_held);
        });
    }

    fn abort(&mut self, session: u32) {
        self.pool.abort(session);
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.pool.poll(now, answers);
    }

    fn wait(&mut self, timeout: Duration) {
        self.pool.wait(timeout);
    }

    fn abandon(&mut self, ticket: Ticket) {
        self.pool.abandon(ticket);
    }
}
