//! Schema of a database: its tables, the statements for them, and the note of the load.

use assay_driver_kit::StoreErrors;
use assay_driver_kit::relations::{Todo, decide};
use assay_model::{Catalogue, Layout, Schema, Statement};
use assay_sql::{self as sql, Dialect, ForeignKeys, Records};
use assay_store::Existing;
use rusqlite::{Connection, OptionalExtension};

use super::{ChangeError, NOTES, Prepared};

/// What SQLite says about how it keeps the database.
pub(super) struct PragmaValues {
    pub(super) journal: String,
    pub(super) synchronous: i64,
}

pub(super) fn describe(connection: &Connection) -> rusqlite::Result<PragmaValues> {
    Ok(PragmaValues {
        journal: connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?,
        synchronous: connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?,
    })
}

/// Makes the tables of records that are not there.
pub(super) fn make_tables(connection: &Connection, layout: &Layout) -> Result<(), ChangeError> {
    for table in &layout.tables {
        let records = Records::new(Dialect::Sqlite, table);
        // Its columns can hold any bytes, whatever they are declared as.
        connection.execute_batch(&records.create(sql::Content::Text))?;
        if let Some(text) = records.read(assay_model::Fields::All) {
            connection.prepare(&text)?;
        }
    }
    Ok(())
}

/// Makes the relations, or checks those that are there.
pub(super) fn make_relations(
    connection: &Connection,
    url: &str,
    schema: &Schema,
    existing: Existing,
) -> Result<(), ChangeError> {
    let relations = schema.relations.iter();
    let columns: rusqlite::Result<Vec<_>> =
        relations.map(|relation| columns(connection, &relation.name)).collect();
    match decide(schema, &columns?, existing, "path") {
        Ok(Todo::Nothing) => return Ok(()),
        Ok(Todo::Make) => {}
        Ok(Todo::Replace) => {
            for text in sql::drop(Dialect::Sqlite, schema) {
                connection.execute_batch(&text)?;
            }
        }
        Err(reason) => {
            return Err(ChangeError::Open(url.contents(reason)));
        }
    }
    for text in sql::create(Dialect::Sqlite, schema, ForeignKeys::Leave) {
        connection.execute_batch(&text)?;
    }
    Ok(())
}

/// The names of a table's columns; none if there is no such table.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

/// The queries as text, each of which SQLite understands.
pub(super) fn check_queries(
    connection: &Connection,
    url: &str,
    catalogue: &Catalogue,
) -> Result<Vec<Prepared>, ChangeError> {
    let mut queries = Vec::new();
    for query in &catalogue.queries {
        let requested = sql::query_text(Dialect::Sqlite, &catalogue.schema, &query.statement);
        if let Err(error) = connection.prepare(&requested.text) {
            let reason = format!("query {}: {error} in: {}", query.name, requested.text);
            return Err(ChangeError::Open(url.unsupported(reason)));
        }
        let takes_turn = match &query.statement {
            Statement::Select(select) => select.locks,
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => true,
        };
        queries.push(Prepared { requested, takes_turn });
    }
    Ok(queries)
}

pub(super) fn note(connection: &Connection) -> rusqlite::Result<Option<String>> {
    if columns(connection, NOTES)?.is_empty() {
        return Ok(None);
    }
    let text = format!("SELECT note FROM {NOTES}");
    connection.query_row(&text, [], |row| row.get(0)).optional()
}

pub(super) fn keep_note(connection: &Connection, note: &str) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "CREATE TABLE IF NOT EXISTS {NOTES} (note TEXT NOT NULL); DELETE FROM {NOTES}"
    ))?;
    connection.execute(&format!("INSERT INTO {NOTES} VALUES (?1)"), [note]).map(drop)
}
