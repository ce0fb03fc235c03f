//! Admin connection to a PostgreSQL server: creates, inspects and drops tables.

use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::task::block_on;
use assay_model::{Schema, Setting, Table};
use assay_sql::{Dialect, ForeignKeys, Records, create, drop};
use assay_store::reading::{self, COUNTER, ServerReading};
use assay_store::{Existing, OpenError};
use tokio_postgres::SimpleQueryMessage;

use super::connector::Connector;
use super::settings;
use super::wire::Wire;

/// The table that says what was loaded.
const NOTE: &str = "_assay_note";

/// How often a standby is asked for a table of the primary's.
const LOOK: Duration = Duration::from_millis(10);

/// How long statements here wait for locks of other clients.
const LOCK_TIMEOUT: &str = "SET lock_timeout = '10s'";

/// The columns of a table as the server has them.
type Columns = Vec<String>;

/// A connection that runs one request after another.
pub(super) struct AdminConnection<'a> {
    connector: &'a Connector,
    wire: Wire,
}

/// Makes a connection, lets `send` use it, and closes it.
pub(super) fn with<'a, T>(
    connector: &'a Connector,
    send: impl AsyncFnOnce(&mut AdminConnection<'a>) -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let requested = block_on(async {
        let mut admin = AdminConnection { connector, wire: connector.dial().await? };
        admin.run(LOCK_TIMEOUT).await?;
        send(&mut admin).await
    });
    requested.unwrap_or_else(|error| {
        let reason = format!("this machine has no resources for it: {error}");
        Err(connector.options.failed(reason))
    })
}

impl AdminConnection<'_> {
    /// Runs statements that give nothing back.
    async fn run(&mut self, sql: &str) -> Result<(), OpenError> {
        self.connector.run(&mut self.wire, sql).await
    }

    /// The rows that `sql` gives, each value as text; what has no value is empty.
    async fn rows(&mut self, sql: &str) -> Result<Vec<Vec<String>>, OpenError> {
        let messages = match self.wire.drive(|client| client.simple_query(sql)).await {
            Ok(Ok(messages)) => messages,
            Ok(Err(error)) => return Err(self.connector.failed(sql, &error)),
            Err(closed) => return Err(self.connector.hung_up(&closed)),
        };
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                let text = |place| row.get(place).unwrap_or_default().to_owned();
                Some((0..row.len()).map(text).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }

    pub(super) async fn settings(&mut self) -> Result<Vec<Setting>, OpenError> {
        // What a client of a run finds is to be shown, not what this connection has set.
        self.run("RESET lock_timeout").await?;
        let rows = self.rows(&settings::question()).await?;
        let pairs: Vec<(String, String)> = rows
            .into_iter()
            .filter_map(|row| <[String; 2]>::try_from(row).ok())
            .map(|[name, value]| (name, value))
            .collect();
        Ok(settings::explain(&pairs))
    }

    /// What the server counts about itself and about this database.
    pub(super) async fn readings(&mut self) -> Result<Vec<ServerReading>, OpenError> {
        let mut readings = Vec::new();
        for question in settings::READINGS {
            let rows = self.rows(question).await?;
            let rows = rows.iter().filter_map(|row| Some((row.first()?, row.get(1)?)));
            let pairs = rows.map(|(name, value)| (name.as_str(), value.as_str()));
            readings.extend(reading::readings("", pairs, |name| name.ends_with(COUNTER)));
        }
        Ok(readings)
    }

    /// The columns of the table called `name`; none if it is not there.
    async fn columns(&mut self, name: &str) -> Result<Option<Columns>, OpenError> {
        let name = name.to_ascii_lowercase().replace('\'', "''");
        let rows = self
            .rows(&format!(
                "SELECT attname FROM pg_attribute \
                 WHERE attrelid = to_regclass(quote_ident('{name}')) \
                 AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
            ))
            .await?;
        let columns: Columns = rows.into_iter().flatten().collect();
        Ok((!columns.is_empty()).then_some(columns))
    }

    /// What `columns` lacks of the wanted ones.
    async fn missing(
        &mut self,
        table: &str,
        expected: &[&str],
    ) -> Result<Option<String>, OpenError> {
        let Some(columns) = self.columns(table).await? else {
            return Ok(Some(format!("there is no table {table}")));
        };
        let is_there = |name: &str| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        let missing: Vec<&str> = expected.iter().copied().filter(|name| !is_there(name)).collect();
        Ok(match missing.is_empty() {
            true => None,
            false => Some(format!("table {table} has no column {}", missing.join(", "))),
        })
    }

    /// Makes the tables of records that are not there, and checks those that are.
    pub(super) async fn make_tables(&mut self, tables: &[Table]) -> Result<(), OpenError> {
        for table in tables {
            let records = Records::new(Dialect::Postgres, table);
            self.run(&records.create(self.connector.options.content)).await?;
            let mut expected = vec![assay_sql::KEY];
            expected.extend(table.fields.iter().map(String::as_str));
            if let Some(missing) = self.missing(&table.name, &expected).await? {
                return Err(self.connector.options.unsupported(format!(
                    "{missing}; remove the table, or use the fields that it has"
                )));
            }
        }
        Ok(())
    }

    /// Waits until these tables have come from the primary.
    pub(super) async fn until_there(&mut self, tables: &[Table]) -> Result<(), OpenError> {
        let timeout = self.connector.options.connect_timeout;
        for table in tables {
            let waited = tokio::time::timeout(timeout, self.until_named(&table.name)).await;
            waited.unwrap_or_else(|_| {
                Err(self.connector.options.unsupported(format!(
                    "table {} of the primary does not come to a standby within {} ms; does it \
                     follow that primary? (connect_timeout= gives it longer)",
                    table.name,
                    timeout.as_millis()
                )))
            })?;
        }
        Ok(())
    }

    async fn until_named(&mut self, table: &str) -> Result<(), OpenError> {
        while self.columns(table).await?.is_none() {
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Makes the relations of queries, or checks that they are there.
    pub(super) async fn make_relations(
        &mut self,
        schema: &Schema,
        existing: Existing,
    ) -> Result<(), OpenError> {
        if existing == Existing::Use {
            return self.check_relations(schema).await;
        }
        if existing == Existing::Replace {
            let statements = drop(Dialect::Postgres, schema);
            self.run(&statements.join("; ")).await?;
        }
        let mut there = Vec::new();
        for relation in &schema.relations {
            if self.columns(&relation.name).await?.is_some() {
                there.push(relation.name.as_str());
            }
        }
        if !there.is_empty() {
            return Err(self.connector.options.contents(format!(
                "there is a table {} already; have it replaced, or name another database",
                there.join(", ")
            )));
        }
        let statements = create(Dialect::Postgres, schema, ForeignKeys::Leave);
        self.run(&format!("BEGIN; {}; COMMIT", statements.join("; "))).await
    }

    async fn check_relations(&mut self, schema: &Schema) -> Result<(), OpenError> {
        let mut differences = Vec::new();
        for relation in &schema.relations {
            let expected: Vec<&str> =
                relation.columns.iter().map(|column| column.name.as_str()).collect();
            differences.extend(self.missing(&relation.name, &expected).await?);
        }
        match differences.is_empty() {
            true => Ok(()),
            false => Err(self.connector.options.contents(format!(
                "{}; load the workload first, or name the database that has it",
                differences.join("; ")
            ))),
        }
    }

    /// Removes tables of records, relations, the note.
    pub(super) async fn clear(
        &mut self,
        tables: &[Table],
        schema: Option<&Schema>,
    ) -> Result<(), OpenError> {
        let mut statements: Vec<String> =
            tables.iter().map(|table| Records::new(Dialect::Postgres, table).drop()).collect();
        statements.extend(schema.map(|schema| drop(Dialect::Postgres, schema)).unwrap_or_default());
        statements.push(format!("DROP TABLE IF EXISTS {NOTE}"));
        // Notices that something was not there are of no interest.
        self.run("SET client_min_messages = warning").await?;
        self.run(&statements.join("; ")).await
    }

    pub(super) async fn note(&mut self) -> Result<Option<String>, OpenError> {
        if self.columns(NOTE).await?.is_none() {
            return Ok(None);
        }
        let rows = self.rows(&format!("SELECT note FROM {NOTE}")).await?;
        Ok(rows.into_iter().flatten().next())
    }

    pub(super) async fn keep_note(&mut self, note: &str) -> Result<(), OpenError> {
        let note = note.replace('\'', "''");
        self.run(&format!(
            "SET client_min_messages = warning; BEGIN; \
             CREATE TABLE IF NOT EXISTS {NOTE} (note TEXT NOT NULL); DELETE FROM {NOTE}; \
             INSERT INTO {NOTE} VALUES ('{note}'); COMMIT"
        ))
        .await
    }

    /// Flushes the log up to now, also where commits do not wait for that, and lets the planner
    /// look at what was loaded.
    pub(super) async fn flush(
        &mut self,
        tables: &[Table],
        schema: Option<&Schema>,
    ) -> Result<(), OpenError> {
        let tables = tables.iter().map(|table| table.name.as_str());
        let relations = schema.into_iter().flat_map(|schema| &schema.relations);
        let names: Vec<&str> =
            tables.chain(relations.map(|relation| relation.name.as_str())).collect();
        for name in names {
            if self.columns(name).await?.is_some() {
                self.run(&format!("ANALYZE {}", Dialect::Postgres.name(name))).await?;
            }
        }
        self.run("BEGIN; SET LOCAL synchronous_commit = on; SELECT txid_current(); COMMIT").await
    }
}
