//! Records with a key as YCSB's JDBC binding lays them: a table with a column for each field.

use assay_model::{Fields, Table};
use serde::Deserialize;

use super::Dialect;
use super::create::suffix;

/// What the columns of a table of records can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Text, as YCSB has it: keys of at most 255 characters, no bytes that are no text.
    Text,
    /// Any bytes.
    Bytes,
}

/// The name of the key's column.
pub const KEY: &str = "YCSB_KEY";
/// The most bytes of a key that is no text, where a bound is needed.
const KEY_BYTES: u32 = 1024;

/// The statements of one table. The key is the first argument of each but the update, where it is
/// the last.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    dialect: Dialect,
    table: &'a Table,
}

impl<'a> Records<'a> {
    /// Statements for `table`.
    pub fn new(dialect: Dialect, table: &'a Table) -> Records<'a> {
        Records { dialect, table }
    }

    /// Makes the table unless it is there.
    pub fn create(&self, content: Content) -> String {
        let (key, value) = match (self.dialect, content) {
            (Dialect::Postgres, Content::Text) => {
                ("VARCHAR(255) COLLATE \"C\"".into(), "TEXT COLLATE \"C\"")
            }
            (Dialect::MySql, Content::Text) => ("VARCHAR(255)".into(), "LONGTEXT"),
            (Dialect::Logical | Dialect::Sqlite, Content::Text) => ("VARCHAR(255)".into(), "TEXT"),
            (Dialect::Postgres, Content::Bytes) => ("BYTEA".into(), "BYTEA"),
            (Dialect::MySql, Content::Bytes) => (format!("VARBINARY({KEY_BYTES})"), "LONGBLOB"),
            (Dialect::Logical | Dialect::Sqlite, Content::Bytes) => ("BLOB".into(), "BLOB"),
        };
        let fields = self.table.fields.iter();
        let fields = fields.map(|name| format!(", {} {value}", self.dialect.name(name)));
        format!(
            "CREATE TABLE IF NOT EXISTS {} ({} {key} NOT NULL PRIMARY KEY{}){}",
            self.name(),
            self.key(),
            fields.collect::<String>(),
            suffix(self.dialect)
        )
    }

    /// Removes the table if it is there.
    pub fn drop(&self) -> String {
        format!("DROP TABLE IF EXISTS {}", self.name())
    }

    /// Reads fields of one record: `key`. Fields that do not exist give no statement.
    pub fn read(&self, fields: Fields) -> Option<String> {
        let fields = self.fields(fields)?;
        let place = self.dialect.place(1);
        Some(format!("SELECT {fields} FROM {} WHERE {} = {place}", self.name(), self.key()))
    }

    /// Reads fields of records in the order of their keys: `key`, the most records.
    pub fn scan(&self, fields: Fields) -> Option<String> {
        let fields = self.fields(fields)?;
        let (table, key) = (self.name(), self.key());
        let (from, limit) = (self.dialect.place(1), self.dialect.place(2));
        Some(format!(
            "SELECT {fields} FROM {table} WHERE {key} >= {from} ORDER BY {key} LIMIT {limit}"
        ))
    }

    /// Adds a record: `key`, then the values of `fields` in their order.
    pub fn insert(&self, fields: &[u16]) -> Option<String> {
        let names = self.names(fields)?;
        let names: String = names.iter().map(|name| format!(", {name}")).collect();
        let places: Vec<String> =
            (1..=fields.len() + 1).map(|number| self.dialect.place(number)).collect();
        let (table, key) = (self.name(), self.key());
        Some(format!("INSERT INTO {table} ({key}{names}) VALUES ({})", places.join(", ")))
    }

    /// Changes `fields` of a record: their values in order, then `key`.
    pub fn update(&self, fields: &[u16]) -> Option<String> {
        let names = self.names(fields).filter(|names| !names.is_empty())?;
        let changes: Vec<String> = (1..)
            .zip(names)
            .map(|(number, name)| format!("{name} = {}", self.dialect.place(number)))
            .collect();
        let place = self.dialect.place(fields.len() + 1);
        let (table, key) = (self.name(), self.key());
        Some(format!("UPDATE {table} SET {} WHERE {key} = {place}", changes.join(", ")))
    }

    /// Removes a record: `key`.
    pub fn delete(&self) -> String {
        format!("DELETE FROM {} WHERE {} = {}", self.name(), self.key(), self.dialect.place(1))
    }

    fn name(&self) -> String {
        self.dialect.name(&self.table.name)
    }

    fn key(&self) -> String {
        self.dialect.name(KEY)
    }

    fn fields(&self, fields: Fields) -> Option<String> {
        let numbers: Vec<u16> = match fields {
            Fields::All | Fields::Named => (0..self.table.fields.len() as u16).collect(),
            Fields::One(number) => vec![number],
        };
        Some(self.names(&numbers)?.join(", "))
    }

    fn names(&self, fields: &[u16]) -> Option<Vec<String>> {
        let all = &self.table.fields;
        let name = |&number: &u16| all.get(usize::from(number)).map(|name| self.dialect.name(name));
        fields.iter().map(name).collect()
    }
}
