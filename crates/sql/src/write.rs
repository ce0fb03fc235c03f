//! Writes logical schemas, queries, records as the SQL of one dialect.
//!
//! What the dialects disagree on is decided so that the same query has the same answer everywhere:
//! * Text compares by its bytes: `COLLATE "C"` in PostgreSQL, `utf8mb4_bin` in MariaDB.
//! * No value comes before every other value, as in MariaDB, SQLite and the mappings.
//! * SQLite has neither decimals nor moments. A decimal is the whole number that its digits make at
//!   the scale of its column (12.50 is 1250 at scale 2), so sums stay exact; a moment is its
//!   microseconds since 1970. A driver converts what it binds and what it gets, by the types in
//!   [`SqlQuery`].
//! * SQLite locks the whole file, so `FOR UPDATE` is left out there.
//!
//! Foreign keys are left out by default: a load that writes relations side by side
//! would have to wait for them, no other class of store has them, and they cost what is no part of
//! the workload.

mod create;
mod literal;
mod name;
mod query;
mod record_texts;
mod records;
#[cfg(test)]
mod tests;

pub use create::{ForeignKeys, column_type, create, drop};
pub use query::{SqlQuery, query_text};
pub use record_texts::RecordTexts;
pub use records::{Content, KEY, Records};

/// Whose SQL is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// That of workloads, which [`catalogue`](crate::catalogue) reads: `?`, `"name"`. Statements
    /// that differ only in the numbers of their arguments are written alike.
    Logical,
    /// PostgreSQL: `$1`, `"name"`.
    Postgres,
    /// MariaDB, MySQL: `?`, backquotes.
    MySql,
    /// SQLite: `?1`, `"name"`.
    Sqlite,
}

impl Dialect {
    /// The identifier `name`, quoted where it has to be.
    ///
    /// PostgreSQL folds what is not quoted to lower case, so names are written in lower case there:
    /// a table that was created without quotes is the same one.
    pub fn name(self, name: &str) -> String {
        name::identifier(self, name)
    }

    /// The place of the argument that comes `number`-th in a text, counted from 1.
    pub fn place(self, number: usize) -> String {
        match self {
            Dialect::Postgres => format!("${number}"),
            Dialect::Logical | Dialect::MySql => "?".into(),
            Dialect::Sqlite => format!("?{number}"),
        }
    }
}
