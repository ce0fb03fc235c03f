//! SQLite in memory, which executes logical queries for tests.
//!
//! It is a second opinion on what they answer, and a database for the transactions of a workload.

use assay_model::datum::Moment;
use assay_model::{Catalogue, ColumnType, Datum, Decimal};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, Params, params_from_iter};

use crate::{Dialect, ForeignKeys, SqlQuery, create, query_text};

/// A row, each column as an encoded [`Datum`].
pub type EncodedRow = Vec<Vec<u8>>;

/// A database in memory with the relations of a catalogue.
pub struct TestDatabase {
    connection: Connection,
    catalogue: Catalogue,
    queries: Vec<SqlQuery>,
}

/// The answer to a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Executed {
    /// How many rows were found or written.
    pub affected: usize,
    /// What a SELECT returned.
    pub rows: Vec<EncodedRow>,
}

impl TestDatabase {
    /// An empty database.
    ///
    /// # Panics
    /// If SQLite does not take the schema.
    pub fn new(catalogue: &Catalogue) -> TestDatabase {
        let connection = Connection::open_in_memory().expect("memory is there");
        connection.set_prepared_statement_cache_capacity(64);
        for sql in create(Dialect::Sqlite, &catalogue.schema, ForeignKeys::Leave) {
            connection.execute_batch(&sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
        }
        let text = |statement| query_text(Dialect::Sqlite, &catalogue.schema, statement);
        let queries = catalogue.queries.iter().map(|query| text(&query.statement)).collect();
        TestDatabase { connection, catalogue: catalogue.clone(), queries }
    }

    /// Executes the query at `place` of the catalogue.
    ///
    /// # Errors
    /// What SQLite says of a row that its key or a column does not allow.
    ///
    /// # Panics
    /// If SQLite does not understand the query, or it gets another number of arguments.
    pub fn execute(&self, place: usize, arguments: &[Datum<'_>]) -> Result<Executed, String> {
        assert_eq!(arguments.len(), self.catalogue.queries[place].parameters.len());
        let query = &self.queries[place];
        let places = query.arguments.iter().zip(&query.kinds);
        let bound = places.map(|(number, kind)| bound(arguments[usize::from(*number)], *kind));
        let executed = self.run(&query.text, params_from_iter(bound), &query.output);
        executed.map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => error.to_string(),
            _ => panic!("{}: {error}", query.text),
        })
    }

    /// Begins a transaction unless one is open.
    pub fn begin(&self) {
        if self.connection.is_autocommit() {
            self.control("BEGIN");
        }
    }

    /// Commits the transaction that is open, if there is one.
    pub fn commit(&self) {
        if !self.connection.is_autocommit() {
            self.control("COMMIT");
        }
    }

    /// Rolls it back, if there is one.
    pub fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            self.control("ROLLBACK");
        }
    }

    /// All values of a column, encoded, in the order of the table's key.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn column(&self, table: &str, column: &str) -> Vec<Vec<u8>> {
        let schema = &self.catalogue.schema;
        let number = schema.find(table).unwrap_or_else(|| panic!("no table {table}"));
        let relation = schema.relation(number);
        let place = relation.find(column).unwrap_or_else(|| panic!("{table} has no {column}"));
        let name = |place: &u16| Dialect::Sqlite.name(&relation.column(*place).name);
        let key: Vec<String> = relation.primary_key.iter().map(name).collect();
        let table = Dialect::Sqlite.name(&relation.name);
        let sql = format!("SELECT {} FROM {table} ORDER BY {}", name(&place), key.join(", "));
        let found =
            self.run(&sql, [], &[relation.column(place).kind]).expect("the column is there");
        found.rows.into_iter().flatten().collect()
    }

    fn run(
        &self,
        sql: &str,
        bound: impl Params,
        output: &[ColumnType],
    ) -> rusqlite::Result<Executed> {
        let mut statement = self.connection.prepare_cached(sql)?;
        if output.is_empty() {
            return Ok(Executed { affected: statement.execute(bound)?, rows: Vec::new() });
        }
        let mut rows = Vec::new();
        let mut cursor = statement.query(bound)?;
        while let Some(row) = cursor.next()? {
            let mut encoded = EncodedRow::new();
            for (number, kind) in output.iter().enumerate() {
                let mut bytes = Vec::new();
                found(row.get_ref(number)?, *kind).encode(&mut bytes);
                encoded.push(bytes);
            }
            rows.push(encoded);
        }
        Ok(Executed { affected: rows.len(), rows })
    }

    fn control(&self, sql: &str) {
        self.connection.execute_batch(sql).expect("nobody else has the database");
    }
}

/// Decimals are whole numbers of their column's unit, moments their microseconds.
fn bound(datum: Datum<'_>, kind: ColumnType) -> Value {
    match (datum, kind) {
        (Datum::Null, _) => Value::Null,
        (Datum::Int(_) | Datum::Decimal(_), ColumnType::Decimal { scale, .. }) => {
            let units = datum.exact().and_then(|number| number.rescaled(scale));
            Value::Integer(units.expect("a test's number has room").mantissa)
        }
        (Datum::Int(number), ColumnType::Double) => Value::Real(number as f64),
        (Datum::Int(number) | Datum::Timestamp(number), _) => Value::Integer(number),
        (Datum::Double(number), _) => Value::Real(number),
        (Datum::Text(text), ColumnType::Timestamp) => {
            Value::Integer(Moment::parse(text).expect("a test's text is a moment").0)
        }
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
        (ValueRef::Text(text), _) => Datum::Text(str::from_utf8(text).expect("it was written so")),
        (ValueRef::Blob(bytes), _) => Datum::Bytes(bytes),
    }
}
