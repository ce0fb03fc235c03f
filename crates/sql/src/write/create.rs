//! Relations as `CREATE TABLE` with their keys, their indexes.

use assay_model::schema::ForeignKey;
use assay_model::{Column, ColumnType, Relation, Schema};

use super::Dialect;

/// Whether relations point at each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignKeys {
    /// They are left out.
    Leave,
    /// They are declared, so the store checks them.
    Declare,
}

/// Characters of a text in a key that has no bound of its own, for dialects that need one.
const KEY_LENGTH: u32 = 255;

/// The statements that make every relation of `schema`, with the indexes behind their relation.
pub fn create(dialect: Dialect, schema: &Schema, foreign_keys: ForeignKeys) -> Vec<String> {
    let mut statements = Vec::new();
    for relation in &schema.relations {
        statements.push(create_table(dialect, schema, relation, foreign_keys));
        for (number, columns) in relation.indexes.iter().enumerate() {
            let index = dialect.name(&format!("{}_index_{}", relation.name, number + 1));
            let table = dialect.name(&relation.name);
            let columns = names(dialect, relation, columns);
            statements.push(format!("CREATE INDEX {index} ON {table} ({columns})"));
        }
    }
    statements
}

/// The statements that remove every relation of `schema`, those that point at others first.
///
/// PostgreSQL takes them all at once, so that they may point at each other however they want;
/// what else needs one of them (a view, another table) stays, and the statement fails.
pub fn drop(dialect: Dialect, schema: &Schema) -> Vec<String> {
    let names: Vec<String> =
        schema.relations.iter().rev().map(|relation| dialect.name(&relation.name)).collect();
    match dialect {
        _ if names.is_empty() => Vec::new(),
        Dialect::Postgres => vec![format!("DROP TABLE IF EXISTS {}", names.join(", "))],
        _ => names.iter().map(|name| format!("DROP TABLE IF EXISTS {name}")).collect(),
    }
}

fn create_table(
    dialect: Dialect,
    schema: &Schema,
    relation: &Relation,
    foreign_keys: ForeignKeys,
) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (number, column) in (0..).zip(&relation.columns) {
        parts.push(declare(dialect, column, place_of(relation, number)));
    }
    parts.push(format!("PRIMARY KEY ({})", names(dialect, relation, &relation.primary_key)));
    if foreign_keys == ForeignKeys::Declare {
        let declared = relation.foreign_keys.iter();
        parts.extend(declared.map(|key| foreign_key(dialect, schema, relation, key)));
    }
    let table = dialect.name(&relation.name);
    format!("CREATE TABLE {table} ({}){}", parts.join(", "), suffix(dialect))
}

/// What every table is made with.
pub(super) fn suffix(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Logical | Dialect::Postgres | Dialect::Sqlite => "",
        Dialect::MySql => " ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    }
}

/// What a column is for its relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The whole primary key.
    Key,
    /// A part of a key or of an index.
    Indexed,
    /// Nothing that is searched for.
    Plain,
}

fn declare(dialect: Dialect, column: &Column, place: Place) -> String {
    let kind = match (dialect, column.kind) {
        (Dialect::MySql, ColumnType::Text { length: None, .. }) if place != Place::Plain => {
            format!("VARCHAR({KEY_LENGTH})")
        }
        (Dialect::MySql, ColumnType::Bytes) if place != Place::Plain => {
            format!("VARBINARY({KEY_LENGTH})")
        }
        (Dialect::Sqlite, kind) => match column_type(dialect, kind) {
            // As `INTEGER` it would be the row's number, which SQLite invents if none is given.
            kind if kind == "INTEGER" && place == Place::Key => "INT".into(),
            kind => kind,
        },
        _ => column_type(dialect, column.kind),
    };
    let null = if column.is_nullable { "" } else { " NOT NULL" };
    format!("{} {kind}{null}", dialect.name(&column.name))
}

fn place_of(relation: &Relation, column: u16) -> Place {
    let is_searched = relation.primary_key.contains(&column)
        || relation.indexes.iter().any(|columns| columns.contains(&column))
        || relation.foreign_keys.iter().any(|key| key.columns.contains(&column));
    match is_searched {
        true if relation.primary_key == [column] => Place::Key,
        true => Place::Indexed,
        false => Place::Plain,
    }
}

/// How `kind` is declared.
pub fn column_type(dialect: Dialect, kind: ColumnType) -> String {
    use Dialect::{Logical, MySql, Postgres, Sqlite};
    match (dialect, kind) {
        (Sqlite, ColumnType::Integer { .. } | ColumnType::Decimal { .. })
        | (Sqlite, ColumnType::Timestamp | ColumnType::Boolean) => "INTEGER".into(),
        (_, ColumnType::Integer { bits: 16 }) => "SMALLINT".into(),
        (Logical, ColumnType::Integer { bits: 32 }) => "INT".into(),
        (_, ColumnType::Integer { bits: 32 }) => "INTEGER".into(),
        (_, ColumnType::Integer { .. }) => "BIGINT".into(),
        (Postgres, ColumnType::Decimal { precision, scale }) => {
            format!("NUMERIC({precision}, {scale})")
        }
        (Logical, ColumnType::Decimal { precision, scale }) => {
            format!("DECIMAL({precision},{scale})")
        }
        (MySql, ColumnType::Decimal { precision, scale }) => {
            format!("DECIMAL({precision}, {scale})")
        }
        (Logical | Postgres, ColumnType::Double) => "DOUBLE PRECISION".into(),
        (MySql, ColumnType::Double) => "DOUBLE".into(),
        (Sqlite, ColumnType::Double) => "REAL".into(),
        (_, ColumnType::Text { length, is_padded }) => text(dialect, length, is_padded),
        (Postgres, ColumnType::Bytes) => "BYTEA".into(),
        (MySql, ColumnType::Bytes) => "LONGBLOB".into(),
        (Logical | Sqlite, ColumnType::Bytes) => "BLOB".into(),
        (Logical | Postgres, ColumnType::Timestamp) => "TIMESTAMP".into(),
        (MySql, ColumnType::Timestamp) => "DATETIME(6)".into(),
        (_, ColumnType::Boolean) => "BOOLEAN".into(),
    }
}

fn text(dialect: Dialect, length: Option<u32>, is_padded: bool) -> String {
    let kind = match (dialect, length, is_padded) {
        // SQLite would take the length for a comment anyway.
        (Dialect::Sqlite, _, _) | (Dialect::Logical | Dialect::Postgres, None, _) => "TEXT".into(),
        (Dialect::MySql, None, _) => "LONGTEXT".into(),
        (_, Some(length), true) => format!("CHAR({length})"),
        (_, Some(length), false) => format!("VARCHAR({length})"),
    };
    match dialect {
        Dialect::Postgres => format!("{kind} COLLATE \"C\""),
        _ => kind,
    }
}

fn foreign_key(dialect: Dialect, schema: &Schema, relation: &Relation, key: &ForeignKey) -> String {
    let other = schema.relation(key.relation);
    format!(
        "FOREIGN KEY ({}) REFERENCES {} ({})",
        names(dialect, relation, &key.columns),
        dialect.name(&other.name),
        names(dialect, other, &key.referenced)
    )
}

fn names(dialect: Dialect, relation: &Relation, columns: &[u16]) -> String {
    let names: Vec<String> =
        columns.iter().map(|&column| dialect.name(&relation.column(column).name)).collect();
    names.join(", ")
}
