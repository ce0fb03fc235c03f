//! SQLite, which executes the same queries.

use assay_model::{Catalogue, ColumnType, Datum, Decimal};
use assay_store::sql::{Dialect, ForeignKeys, SqlQuery, create, query_text};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};

use crate::answer::{Outcome, Row};

pub struct Sqlite {
    connection: Connection,
    queries: Vec<SqlQuery>,
}

impl Sqlite {
    /// An empty database in memory with the relations of `catalogue`.
    pub fn new(catalogue: &Catalogue) -> Sqlite {
        let connection = Connection::open_in_memory().unwrap();
        connection.set_prepared_statement_cache_capacity(64);
        for sql in create(Dialect::Sqlite, &catalogue.schema, ForeignKeys::Leave) {
            connection.execute_batch(&sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
        }
        let queries = catalogue.queries.iter();
        let queries =
            queries.map(|query| query_text(Dialect::Sqlite, &catalogue.schema, query)).collect();
        Sqlite { connection, queries }
    }

    /// Executes the query at `place`.
    pub fn send(&mut self, place: usize, arguments: &[Datum<'_>]) -> Outcome {
        let requested = &self.queries[place];
        let places = requested.arguments.iter().zip(&requested.kinds);
        let bound: Vec<Value> =
            places.map(|(number, kind)| bound(&arguments[usize::from(*number)], *kind)).collect();
        match self.run(requested, bound) {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    fn run(&self, requested: &SqlQuery, bound: Vec<Value>) -> rusqlite::Result<Outcome> {
        let mut statement = self.connection.prepare_cached(&requested.text)?;
        if requested.output.is_empty() {
            let written = statement.execute(params_from_iter(bound))?;
            return Ok(Outcome::Done { found: written > 0, rows: Vec::new() });
        }
        let mut rows = Vec::new();
        let mut cursor = statement.query(params_from_iter(bound))?;
        while let Some(row) = cursor.next()? {
            let mut read = Row::new();
            for (number, kind) in requested.output.iter().enumerate() {
                let mut bytes = Vec::new();
                found(row.get_ref(number)?, *kind).encode(&mut bytes);
                read.push(bytes);
            }
            rows.push(read);
        }
        Ok(Outcome::Done { found: !rows.is_empty(), rows })
    }
}

/// Decimals are whole numbers of their column's unit, moments their microseconds.
fn bound(datum: &Datum<'_>, kind: ColumnType) -> Value {
    match (*datum, kind) {
        (Datum::Null, _) => Value::Null,
        (Datum::Int(number), ColumnType::Double) => Value::Real(number as f64),
        (Datum::Decimal(decimal), ColumnType::Decimal { scale, .. }) => {
            Value::Integer(decimal.rescaled(scale).unwrap().mantissa)
        }
        (Datum::Int(number) | Datum::Timestamp(number), _) => Value::Integer(number),
        (Datum::Double(number), _) => Value::Real(number),
        (Datum::Text(text), _) => Value::Text(text.into()),
        (Datum::Bytes(bytes), _) => Value::Blob(bytes.into()),
        (Datum::Bool(truth), _) => Value::Integer(i64::from(truth)),
        (datum, kind) => panic!("{datum} for {kind:?}"),
    }
}

fn found(value: ValueRef<'_>, kind: ColumnType) -> Datum<'_> {
    match (value, kind) {
        (ValueRef::Null, _) => Datum::Null,
        (ValueRef::Integer(mantissa), ColumnType::Decimal { scale, .. }) => {
            Datum::Decimal(Decimal { mantissa, scale })
        }
        (ValueRef::Integer(micros), ColumnType::Timestamp) => Datum::Timestamp(micros),
        (ValueRef::Integer(truth), ColumnType::Boolean) => Datum::Bool(truth != 0),
        (ValueRef::Integer(number), _) => Datum::Int(number),
        (ValueRef::Real(number), _) => Datum::Double(number),
        (ValueRef::Text(text), _) => Datum::Text(str::from_utf8(text).unwrap()),
        (ValueRef::Blob(bytes), _) => Datum::Bytes(bytes),
    }
}
