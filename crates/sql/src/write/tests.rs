//! Tests of each dialect on schemas, queries, records.

use assay_model::query::{
    Change, ColumnRef, Comparison, Delete, Direction, Filter, Insert, Join, Select, Term, Update,
};
use assay_model::schema::ForeignKey;
use assay_model::{Column, ColumnType, Datum, Fields, Relation, Schema, Statement, Table};
use expect_test::{Expect, expect};

use super::{Content, Dialect, ForeignKeys, Records, create, drop, query_text};

const DIALECTS: [Dialect; 4] =
    [Dialect::Logical, Dialect::Postgres, Dialect::MySql, Dialect::Sqlite];

fn column(name: &str, kind: ColumnType) -> Column {
    Column { name: name.into(), kind, is_nullable: false }
}

fn nullable(name: &str, kind: ColumnType) -> Column {
    Column { is_nullable: true, ..column(name, kind) }
}

fn text(length: u32, is_padded: bool) -> ColumnType {
    ColumnType::Text { length: Some(length), is_padded }
}

const INTEGER: ColumnType = ColumnType::Integer { bits: 32 };

/// A customer with every type of column, an order that points to it.
fn schema() -> Schema {
    let customer = Relation {
        name: "Customer".into(),
        columns: vec![
            column("id", INTEGER),
            column("name", ColumnType::Text { length: None, is_padded: false }),
            column("state", text(2, true)),
            nullable("city", text(20, false)),
            column("balance", ColumnType::Decimal { precision: 12, scale: 2 }),
            column("small", ColumnType::Integer { bits: 16 }),
            column("big", ColumnType::Integer { bits: 64 }),
            nullable("weight", ColumnType::Double),
            nullable("photo", ColumnType::Bytes),
            nullable("since", ColumnType::Timestamp),
            column("good", ColumnType::Boolean),
        ],
        primary_key: vec![0],
        foreign_keys: vec![],
        indexes: vec![vec![1, 0]],
    };
    let order = Relation {
        name: "order".into(),
        columns: vec![column("customer", INTEGER), column("number", INTEGER)],
        primary_key: vec![0, 1],
        foreign_keys: vec![ForeignKey { columns: vec![0], relation: 0, referenced: vec![0] }],
        indexes: vec![],
    };
    Schema { relations: vec![customer, order] }
}

fn of(relation: u16, column: u16) -> ColumnRef {
    ColumnRef { relation, column }
}

fn literal(datum: Datum<'_>) -> Term {
    let mut encoded = Vec::new();
    datum.encode(&mut encoded);
    Term::Literal(encoded)
}

fn filter(column: u16, comparison: Comparison, term: Term) -> Filter {
    Filter { column: of(0, column), comparison, term }
}

fn select(output: &[u16]) -> Select {
    Select {
        from: vec![0],
        joins: vec![],
        output: output.iter().map(|&column| of(0, column)).collect(),
        filters: vec![],
        order: vec![],
        limit: None,
        locks: false,
    }
}

/// A text in lines that a reader can bear, broken where a part of it begins.
fn folded(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let last = lines.last_mut().expect("there is a first line");
        match last.len() + word.trim_end().len() > 80 {
            true => lines.push(format!("  {word}")),
            false => last.push_str(word),
        }
    }
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    trimmed.join("\n")
}

/// The statement in each dialect, with the arguments at its places.
fn check(statement: Statement, expected: Expect) {
    let mut reported = String::new();
    for dialect in DIALECTS {
        let requested = query_text(dialect, &schema(), &statement);
        assert_eq!(requested.arguments.len(), requested.kinds.len());
        reported += &folded(&format!("{} {:?}", requested.text, requested.arguments));
        reported.push('\n');
    }
    expected.assert_eq(&reported);
}

fn check_lines(lines: impl Fn(Dialect) -> Vec<String>, expected: Expect) {
    let all: Vec<String> = DIALECTS.into_iter().flat_map(lines).map(|line| folded(&line)).collect();
    expected.assert_eq(&(all.join("\n") + "\n"));
}

#[test]
fn relations_are_made_with_their_keys_and_indexes() {
    check_lines(
        |dialect| create(dialect, &schema(), ForeignKeys::Leave),
        expect![[r#"
            CREATE TABLE Customer (id INT NOT NULL, name TEXT NOT NULL, state CHAR(2) NOT
              NULL, city VARCHAR(20), balance DECIMAL(12,2) NOT NULL, small SMALLINT NOT
              NULL, big BIGINT NOT NULL, weight DOUBLE PRECISION, photo BLOB, since
              TIMESTAMP, good BOOLEAN NOT NULL, PRIMARY KEY (id))
            CREATE INDEX Customer_index_1 ON Customer (name, id)
            CREATE TABLE "order" (customer INT NOT NULL, number INT NOT NULL, PRIMARY KEY
              (customer, number))
            CREATE TABLE customer (id INTEGER NOT NULL, name TEXT COLLATE "C" NOT NULL,
              state CHAR(2) COLLATE "C" NOT NULL, city VARCHAR(20) COLLATE "C", balance
              NUMERIC(12, 2) NOT NULL, small SMALLINT NOT NULL, big BIGINT NOT NULL, weight
              DOUBLE PRECISION, photo BYTEA, since TIMESTAMP, good BOOLEAN NOT NULL, PRIMARY
              KEY (id))
            CREATE INDEX customer_index_1 ON customer (name, id)
            CREATE TABLE "order" (customer INTEGER NOT NULL, number INTEGER NOT NULL,
              PRIMARY KEY (customer, number))
            CREATE TABLE Customer (id INTEGER NOT NULL, name VARCHAR(255) NOT NULL, state
              CHAR(2) NOT NULL, city VARCHAR(20), balance DECIMAL(12, 2) NOT NULL, small
              SMALLINT NOT NULL, big BIGINT NOT NULL, weight DOUBLE, photo LONGBLOB, since
              DATETIME(6), good BOOLEAN NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB CHARACTER
              SET utf8mb4 COLLATE utf8mb4_bin
            CREATE INDEX Customer_index_1 ON Customer (name, id)
            CREATE TABLE `order` (customer INTEGER NOT NULL, number INTEGER NOT NULL,
              PRIMARY KEY (customer, number)) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE
              utf8mb4_bin
            CREATE TABLE Customer (id INT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
              city TEXT, balance INTEGER NOT NULL, small INTEGER NOT NULL, big INTEGER NOT
              NULL, weight REAL, photo BLOB, since INTEGER, good INTEGER NOT NULL, PRIMARY
              KEY (id))
            CREATE INDEX Customer_index_1 ON Customer (name, id)
            CREATE TABLE "order" (customer INTEGER NOT NULL, number INTEGER NOT NULL,
              PRIMARY KEY (customer, number))
        "#]],
    );
}

#[test]
fn foreign_keys_are_declared_if_they_are_wanted() {
    check_lines(
        |dialect| create(dialect, &schema(), ForeignKeys::Declare).split_off(2),
        expect![[r#"
            CREATE TABLE "order" (customer INT NOT NULL, number INT NOT NULL, PRIMARY KEY
              (customer, number), FOREIGN KEY (customer) REFERENCES Customer (id))
            CREATE TABLE "order" (customer INTEGER NOT NULL, number INTEGER NOT NULL,
              PRIMARY KEY (customer, number), FOREIGN KEY (customer) REFERENCES customer
              (id))
            CREATE TABLE `order` (customer INTEGER NOT NULL, number INTEGER NOT NULL,
              PRIMARY KEY (customer, number), FOREIGN KEY (customer) REFERENCES Customer
              (id)) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
            CREATE TABLE "order" (customer INTEGER NOT NULL, number INTEGER NOT NULL,
              PRIMARY KEY (customer, number), FOREIGN KEY (customer) REFERENCES Customer
              (id))
        "#]],
    );
}

#[test]
fn relations_are_removed_from_the_last_to_the_first() {
    check_lines(
        |dialect| drop(dialect, &schema()),
        expect![[r#"
            DROP TABLE IF EXISTS "order"
            DROP TABLE IF EXISTS Customer
            DROP TABLE IF EXISTS "order", customer
            DROP TABLE IF EXISTS `order`
            DROP TABLE IF EXISTS Customer
            DROP TABLE IF EXISTS "order"
            DROP TABLE IF EXISTS Customer
        "#]],
    );
}

#[test]
fn a_select_by_key_names_its_columns() {
    let by_key = filter(0, Comparison::Equal, Term::Parameter(0));
    let select = Select { filters: vec![by_key], ..select(&[1, 4]) };
    check(
        Statement::Select(select),
        expect![[r#"
            SELECT name, balance FROM Customer WHERE id = ? [0]
            SELECT name, balance FROM customer WHERE id = $1 [0]
            SELECT name, balance FROM Customer WHERE id = ? [0]
            SELECT name, balance FROM Customer WHERE id = ?1 [0]
        "#]],
    );
}

#[test]
fn the_types_of_places_and_output_are_reported() {
    let by_balance = filter(4, Comparison::Less, Term::Parameter(0));
    let select =
        Select { filters: vec![by_balance], limit: Some(Term::Parameter(1)), ..select(&[1]) };
    let statement = Statement::Select(select);
    let requested = query_text(Dialect::Sqlite, &schema(), &statement);
    let decimal = ColumnType::Decimal { precision: 12, scale: 2 };
    assert_eq!(requested.kinds, [decimal, ColumnType::Integer { bits: 64 }]);
    assert_eq!(requested.output, [ColumnType::Text { length: None, is_padded: false }]);
}

#[test]
fn ranges_orders_limits_and_locks_have_their_clauses() {
    let filters = vec![
        filter(3, Comparison::GreaterOrEqual, Term::Parameter(1)),
        filter(3, Comparison::Less, Term::Parameter(0)),
        filter(5, Comparison::LessOrEqual, literal(Datum::Int(7))),
        filter(6, Comparison::Greater, literal(Datum::Int(-7))),
    ];
    let order = vec![
        (of(0, 3), Direction::Ascending),
        (of(0, 9), Direction::Descending),
        (of(0, 0), Direction::Descending),
    ];
    let limit = Some(Term::Parameter(2));
    let select = Select { filters, order, limit, locks: true, ..select(&[0]) };
    check(
        Statement::Select(select),
        expect![[r#"
            SELECT id FROM Customer WHERE city >= ? AND city < ? AND small <= 7 AND big > -7
              ORDER BY city, since DESC, id DESC LIMIT ? FOR UPDATE [1, 0, 2]
            SELECT id FROM customer WHERE city >= $1 AND city < $2 AND small <= 7 AND big >
              -7 ORDER BY city NULLS FIRST, since DESC NULLS LAST, id DESC LIMIT $3 FOR
              UPDATE [1, 0, 2]
            SELECT id FROM Customer WHERE city >= ? AND city < ? AND small <= 7 AND big > -7
              ORDER BY city, since DESC, id DESC LIMIT ? FOR UPDATE [1, 0, 2]
            SELECT id FROM Customer WHERE city >= ?1 AND city < ?2 AND small <= 7 AND big >
              -7 ORDER BY city, since DESC, id DESC LIMIT ?3 [1, 0, 2]
        "#]],
    );
}

#[test]
fn joined_relations_are_distinguished() {
    let joined = Select {
        from: vec![0, 1, 1, 0],
        joins: vec![
            Join { left: of(0, 0), right: of(1, 0) },
            Join { left: of(1, 0), right: of(2, 0) },
            Join { left: of(1, 1), right: of(2, 1) },
        ],
        output: vec![of(0, 1), of(2, 1)],
        filters: vec![Filter {
            column: of(1, 1),
            comparison: Comparison::Equal,
            term: Term::Parameter(0),
        }],
        order: vec![(of(2, 1), Direction::Ascending)],
        limit: Some(literal(Datum::Int(10))),
        locks: false,
    };
    check(
        Statement::Select(joined),
        expect![[r#"
            SELECT Customer.name, r2.number FROM Customer, "order", "order" AS r2, Customer
              AS r3 WHERE Customer.id = "order".customer AND "order".customer = r2.customer
              AND "order".number = r2.number AND "order".number = ? ORDER BY r2.number LIMIT
              10 [0]
            SELECT customer.name, r2.number FROM customer, "order", "order" AS r2, customer
              AS r3 WHERE customer.id = "order".customer AND "order".customer = r2.customer
              AND "order".number = r2.number AND "order".number = $1 ORDER BY r2.number
              LIMIT 10 [0]
            SELECT Customer.name, r2.number FROM Customer, `order`, `order` AS r2, Customer
              AS r3 WHERE Customer.id = `order`.customer AND `order`.customer = r2.customer
              AND `order`.number = r2.number AND `order`.number = ? ORDER BY r2.number LIMIT
              10 [0]
            SELECT Customer.name, r2.number FROM Customer, "order", "order" AS r2, Customer
              AS r3 WHERE Customer.id = "order".customer AND "order".customer = r2.customer
              AND "order".number = r2.number AND "order".number = ?1 ORDER BY r2.number
              LIMIT 10 [0]
        "#]],
    );
}

#[test]
fn an_insert_has_a_place_for_each_column() {
    let insert = Insert {
        relation: 1,
        columns: vec![1, 0],
        terms: vec![Term::Parameter(0), literal(Datum::Int(3))],
    };
    check(
        Statement::Insert(insert),
        expect![[r#"
            INSERT INTO "order" (number, customer) VALUES (?, 3) [0]
            INSERT INTO "order" (number, customer) VALUES ($1, 3) [0]
            INSERT INTO `order` (number, customer) VALUES (?, 3) [0]
            INSERT INTO "order" (number, customer) VALUES (?1, 3) [0]
        "#]],
    );
}

#[test]
fn an_update_sets_and_adds_and_subtracts() {
    let changes = vec![
        (3, Change::Set(Term::Parameter(0))),
        (4, Change::Add(Term::Parameter(2))),
        (5, Change::Subtract(literal(Datum::Int(1)))),
    ];
    let filters = vec![filter(0, Comparison::Equal, Term::Parameter(1))];
    check(
        Statement::Update(Update { relation: 0, changes, filters }),
        expect![[r#"
            UPDATE Customer SET city = ?, balance = balance + ?, small = small - 1 WHERE id
              = ? [0, 2, 1]
            UPDATE customer SET city = $1, balance = balance + $2, small = small - 1 WHERE
              id = $3 [0, 2, 1]
            UPDATE Customer SET city = ?, balance = balance + CAST(? AS DECIMAL(38, 18)),
              small = small - 1 WHERE id = ? [0, 2, 1]
            UPDATE Customer SET city = ?1, balance = balance + ?2, small = small - 1 WHERE
              id = ?3 [0, 2, 1]
        "#]],
    );
}

#[test]
fn text_is_appended_by_each_dialects_operator() {
    let changes = vec![(3, Change::Append(Term::Parameter(0)))];
    let filters = vec![filter(0, Comparison::Equal, Term::Parameter(1))];
    check(
        Statement::Update(Update { relation: 0, changes, filters }),
        expect![[r#"
            UPDATE Customer SET city = city || ? WHERE id = ? [0, 1]
            UPDATE customer SET city = city || $1 WHERE id = $2 [0, 1]
            UPDATE Customer SET city = CONCAT(city, ?) WHERE id = ? [0, 1]
            UPDATE Customer SET city = city || ?1 WHERE id = ?2 [0, 1]
        "#]],
    );
}

#[test]
fn a_delete_has_its_filters() {
    let filters = vec![filter(0, Comparison::Equal, Term::Parameter(0))];
    check(
        Statement::Delete(Delete { relation: 1, filters }),
        expect![[r#"
            DELETE FROM "order" WHERE customer = ? [0]
            DELETE FROM "order" WHERE customer = $1 [0]
            DELETE FROM `order` WHERE customer = ? [0]
            DELETE FROM "order" WHERE customer = ?1 [0]
        "#]],
    );
}

#[test]
fn values_in_the_text_are_written_as_each_dialect_reads_them() {
    let decimal = "12.5".parse().map(Datum::Decimal).unwrap();
    let values = [
        (3, Datum::Text("it's a \\")),
        (3, Datum::Null),
        (4, decimal),
        (4, Datum::Int(12)),
        (7, Datum::Double(0.5)),
        (8, Datum::Bytes(&[0, 255])),
        (9, Datum::Timestamp(1_500_000)),
        (10, Datum::Bool(true)),
    ];
    let changes = values.map(|(column, datum)| (column, Change::Set(literal(datum)))).to_vec();
    check(
        Statement::Update(Update { relation: 0, changes, filters: vec![] }),
        expect![[r#"
            UPDATE Customer SET city = 'it''s a \', city = NULL, balance = 12.5, balance =
              12, weight = 0.5, photo = X'00FF', since = TIMESTAMP '1970-01-01 00:00:01.5',
              good = TRUE []
            UPDATE customer SET city = 'it''s a \', city = NULL, balance = 12.5, balance =
              12, weight = '0.5'::double precision, photo = '\x00FF'::bytea, since =
              TIMESTAMP '1970-01-01 00:00:01.5', good = TRUE []
            UPDATE Customer SET city = 'it''s a \\', city = NULL, balance = 12.5, balance =
              12, weight = 5e-1, photo = X'00FF', since = TIMESTAMP '1970-01-01 00:00:01.5',
              good = TRUE []
            UPDATE Customer SET city = 'it''s a \', city = NULL, balance = 1250, balance =
              1200, weight = 5e-1, photo = X'00FF', since = 1500000, good = 1 []
        "#]],
    );
}

#[test]
fn names_are_quoted_where_they_have_to_be() {
    let names = |dialect: Dialect| {
        ["c_id", "Order", "2nd", "a b", "q\"`", "größe"].map(|name| dialect.name(name)).join(" ")
    };
    check_lines(
        |dialect| vec![names(dialect)],
        expect![[r#"
            c_id "Order" "2nd" "a b" "q""`" größe
            c_id "order" "2nd" "a b" "q""`" "größe"
            c_id `Order` `2nd` `a b` `q"``` `größe`
            c_id "Order" "2nd" "a b" "q""`" "größe"
        "#]],
    );
}

fn usertable() -> Table {
    let fields = vec!["field0".into(), "field1".into()];
    Table { name: "usertable".into(), fields, needs_key_order: false }
}

#[test]
fn records_lie_as_ycsb_lays_them() {
    let table = usertable();
    let lines = |dialect| {
        let records = Records::new(dialect, &table);
        vec![records.create(Content::Text), records.create(Content::Bytes), records.drop()]
    };
    check_lines(
        lines,
        expect![[r#"
        CREATE TABLE IF NOT EXISTS usertable (YCSB_KEY VARCHAR(255) NOT NULL PRIMARY
          KEY, field0 TEXT, field1 TEXT)
        CREATE TABLE IF NOT EXISTS usertable (YCSB_KEY BLOB NOT NULL PRIMARY KEY, field0
          BLOB, field1 BLOB)
        DROP TABLE IF EXISTS usertable
        CREATE TABLE IF NOT EXISTS usertable (ycsb_key VARCHAR(255) COLLATE "C" NOT NULL
          PRIMARY KEY, field0 TEXT COLLATE "C", field1 TEXT COLLATE "C")
        CREATE TABLE IF NOT EXISTS usertable (ycsb_key BYTEA NOT NULL PRIMARY KEY,
          field0 BYTEA, field1 BYTEA)
        DROP TABLE IF EXISTS usertable
        CREATE TABLE IF NOT EXISTS usertable (YCSB_KEY VARCHAR(255) NOT NULL PRIMARY
          KEY, field0 LONGTEXT, field1 LONGTEXT) ENGINE=InnoDB CHARACTER SET utf8mb4
          COLLATE utf8mb4_bin
        CREATE TABLE IF NOT EXISTS usertable (YCSB_KEY VARBINARY(1024) NOT NULL PRIMARY
          KEY, field0 LONGBLOB, field1 LONGBLOB) ENGINE=InnoDB CHARACTER SET utf8mb4
          COLLATE utf8mb4_bin
        DROP TABLE IF EXISTS usertable
        CREATE TABLE IF NOT EXISTS usertable (YCSB_KEY VARCHAR(255) NOT NULL PRIMARY
          KEY, field0 TEXT, field1 TEXT)
        CREATE TABLE IF NOT EXISTS usertable (YCSB_KEY BLOB NOT NULL PRIMARY KEY, field0
          BLOB, field1 BLOB)
        DROP TABLE IF EXISTS usertable
    "#]],
    );
}

#[test]
fn records_are_requested_by_their_key() {
    let table = usertable();
    let lines = |dialect| {
        let records = Records::new(dialect, &table);
        let some = |statement: Option<String>| statement.unwrap();
        vec![
            some(records.read(Fields::All)),
            some(records.read(Fields::One(1))),
            some(records.scan(Fields::Named)),
            some(records.insert(&[0, 1])),
            some(records.update(&[1, 0])),
            records.delete(),
        ]
    };
    check_lines(
        lines,
        expect![[r#"
        SELECT field0, field1 FROM usertable WHERE YCSB_KEY = ?
        SELECT field1 FROM usertable WHERE YCSB_KEY = ?
        SELECT field0, field1 FROM usertable WHERE YCSB_KEY >= ? ORDER BY YCSB_KEY LIMIT
          ?
        INSERT INTO usertable (YCSB_KEY, field0, field1) VALUES (?, ?, ?)
        UPDATE usertable SET field1 = ?, field0 = ? WHERE YCSB_KEY = ?
        DELETE FROM usertable WHERE YCSB_KEY = ?
        SELECT field0, field1 FROM usertable WHERE ycsb_key = $1
        SELECT field1 FROM usertable WHERE ycsb_key = $1
        SELECT field0, field1 FROM usertable WHERE ycsb_key >= $1 ORDER BY ycsb_key
          LIMIT $2
        INSERT INTO usertable (ycsb_key, field0, field1) VALUES ($1, $2, $3)
        UPDATE usertable SET field1 = $1, field0 = $2 WHERE ycsb_key = $3
        DELETE FROM usertable WHERE ycsb_key = $1
        SELECT field0, field1 FROM usertable WHERE YCSB_KEY = ?
        SELECT field1 FROM usertable WHERE YCSB_KEY = ?
        SELECT field0, field1 FROM usertable WHERE YCSB_KEY >= ? ORDER BY YCSB_KEY LIMIT
          ?
        INSERT INTO usertable (YCSB_KEY, field0, field1) VALUES (?, ?, ?)
        UPDATE usertable SET field1 = ?, field0 = ? WHERE YCSB_KEY = ?
        DELETE FROM usertable WHERE YCSB_KEY = ?
        SELECT field0, field1 FROM usertable WHERE YCSB_KEY = ?1
        SELECT field1 FROM usertable WHERE YCSB_KEY = ?1
        SELECT field0, field1 FROM usertable WHERE YCSB_KEY >= ?1 ORDER BY YCSB_KEY
          LIMIT ?2
        INSERT INTO usertable (YCSB_KEY, field0, field1) VALUES (?1, ?2, ?3)
        UPDATE usertable SET field1 = ?1, field0 = ?2 WHERE YCSB_KEY = ?3
        DELETE FROM usertable WHERE YCSB_KEY = ?1
    "#]],
    );
}

#[test]
fn fields_that_the_table_has_not_give_no_statement() {
    let table = usertable();
    let records = Records::new(Dialect::Postgres, &table);
    let nothing = [
        records.read(Fields::One(2)),
        records.scan(Fields::One(2)),
        records.insert(&[2]),
        records.update(&[0, 2]),
        records.update(&[]),
    ];
    assert_eq!(nothing, [None, None, None, None, None]);
}
