//! Queries of the subset with what is refused.

use assay_model::{Catalogue, ColumnType, Kind, Named, Seed};

use super::{ParseError, catalogue};
use crate::{Dialect, query_text};

const SCHEMA: &str = "
CREATE TABLE district (
  d_id TINYINT UNSIGNED NOT NULL,
  d_w_id SMALLINT NOT NULL,
  d_name VARCHAR(10) NOT NULL,
  d_tax DECIMAL(4,4),
  d_next_o_id INT,
  PRIMARY KEY (d_w_id, d_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE customer (
  c_id INT NOT NULL, c_d_id SMALLINT NOT NULL, c_w_id SMALLINT NOT NULL,
  c_last VARCHAR(16), c_since DATETIME, c_credit CHAR(2) DEFAULT 'GC', c_balance DECIMAL(12,2),
  PRIMARY KEY (c_w_id, c_d_id, c_id),
  KEY by_name (c_w_id, c_d_id, c_last),
  FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id)
);
CREATE TABLE \"order\" (id BIGINT PRIMARY KEY, weight DOUBLE PRECISION, is_paid BOOLEAN, note TEXT);
CREATE INDEX by_weight ON \"order\" (weight);
";

fn named(name: &str, text: &str) -> Named {
    Named { name: name.into(), text: text.into() }
}

fn read(sql: &str) -> Result<Catalogue, ParseError> {
    catalogue(&[named("s", SCHEMA)], &[named("q", sql)])
}

/// The query in its one form; what is wrong with it otherwise.
fn form(sql: &str) -> String {
    match read(sql) {
        Ok(catalogue) => {
            let statement = &catalogue.queries[0].statement;
            query_text(Dialect::Logical, &catalogue.schema, statement).text
        }
        Err(error) => error.to_string(),
    }
}

/// What is wrong with a query, without the part that is the same in all messages.
fn wrong(sql: &str) -> String {
    let error = read(sql).expect_err(sql).to_string();
    error
        .replace("query q, line 1 column ", "1:")
        .replace("query q, line 2 column ", "2:")
        .replace(" is outside the SQL subset that every class of store supports", " is outside")
}

#[test]
fn a_schema_keeps_types_and_keys() {
    let schema = read("SELECT * FROM district WHERE d_w_id = ? AND d_id = ?").unwrap().schema;
    let names: Vec<&str> = schema.relations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["district", "customer", "order"]);
    let district = schema.relation(0);
    assert_eq!(district.primary_key, [1, 0]);
    assert_eq!(district.column(0).kind, ColumnType::Integer { bits: 16 });
    assert_eq!(district.column(3).kind, ColumnType::Decimal { precision: 4, scale: 4 });
    assert!(district.column(3).is_nullable && !district.column(2).is_nullable);
    let customer = schema.relation(1);
    assert_eq!(customer.indexes, [vec![2, 1, 3]]);
    assert_eq!(customer.foreign_keys[0].columns, [2, 1]);
    assert_eq!(customer.foreign_keys[0].referenced, [1, 0]);
    assert_eq!(customer.column(5).kind, ColumnType::Text { length: Some(2), is_padded: true });
    assert_eq!(customer.column(4).kind, ColumnType::Timestamp);
    assert_eq!(schema.relation(2).indexes, [vec![1]]);
    assert!(!schema.relation(2).column(0).is_nullable);
}

#[test]
fn queries_of_the_subset_are_read() {
    for (sql, expected) in [
        (
            "select d_name, d_tax from district d where d.d_w_id=? and 3 = d_id for update;",
            "SELECT d_name, d_tax FROM district WHERE d_w_id = ? AND d_id = 3 FOR UPDATE",
        ),
        (
            "SELECT c_id AS id FROM customer WHERE c_w_id = ? AND c_d_id = ? \
             AND c_last = 'O''Hara' ORDER BY c_since DESC, c_id LIMIT ?",
            "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = 'O''Hara' \
             ORDER BY c_since DESC, c_id LIMIT ?",
        ),
        (
            "SELECT d.*, c_id FROM district d JOIN customer c ON d.d_w_id = c.c_w_id AND \
             c_d_id = d_id WHERE c_id BETWEEN ? AND 7",
            "SELECT district.d_id, district.d_w_id, district.d_name, district.d_tax, \
             district.d_next_o_id, customer.c_id FROM district, customer \
             WHERE district.d_w_id = customer.c_w_id AND district.d_id = customer.c_d_id \
             AND customer.c_id >= ? AND customer.c_id <= 7",
        ),
        (
            "INSERT INTO `order` (note, id) VALUES (NULL, -5)",
            "INSERT INTO \"order\" (note, id) VALUES (NULL, -5)",
        ),
        (
            "insert into \"order\" values (?, 1, TRUE, ?)",
            "INSERT INTO \"order\" (id, weight, is_paid, note) VALUES (?, 1, TRUE, ?)",
        ),
        (
            "UPDATE customer SET c_balance = c_balance - ?, c_last = ? \
             WHERE c_w_id = 1 AND c_d_id = ? AND c_id = ?",
            "UPDATE customer SET c_balance = c_balance - ?, c_last = ? \
             WHERE c_w_id = 1 AND c_d_id = ? AND c_id = ?",
        ),
        (
            "DELETE FROM customer WHERE c_since < '2024-01-01'",
            "DELETE FROM customer WHERE c_since < TIMESTAMP '2024-01-01 00:00:00'",
        ),
        ("SELECT id FROM \"order\"", "SELECT id FROM \"order\""),
    ] {
        assert_eq!(form(sql), expected);
        assert_eq!(form(expected), expected, "the one form is read as itself");
    }
}

#[test]
fn every_word_of_the_parser_can_be_a_name() {
    for word in sqlparser::keywords::ALL_KEYWORDS {
        let name = Dialect::Logical.name(&word.to_lowercase());
        let schema =
            named("s", &format!("CREATE TABLE {name} (number_of INT PRIMARY KEY, {name} INT)"));
        let other = named("t", "CREATE TABLE other_table (id INT PRIMARY KEY)");
        let texts = [
            format!("SELECT {name} FROM {name} WHERE {name} = ? ORDER BY {name}"),
            format!("INSERT INTO {name} (number_of, {name}) VALUES (?, ?)"),
            format!("UPDATE {name} SET {name} = {name} + ? WHERE {name} < ?"),
            format!("DELETE FROM {name} WHERE {name} = ?"),
            format!(
                "SELECT {name}.{name} FROM other_table, {name} \
                 WHERE other_table.id = {name}.{name} AND {name}.{name} > ?"
            ),
        ];
        let queries: Vec<_> =
            (0..).zip(&texts).map(|(q, text)| named(&format!("{q}"), text)).collect();
        let found = catalogue(&[schema, other], &queries).unwrap_or_else(|why| panic!("{why}"));
        for (query, text) in found.queries.iter().zip(texts) {
            let written = query_text(Dialect::Logical, &found.schema, &query.statement);
            assert_eq!(written.text, text);
        }
    }
}

#[test]
fn arguments_take_the_type_of_their_column() {
    let sql = "SELECT c_id FROM customer WHERE c_balance > ? AND c_last = ? ORDER BY c_id LIMIT ?";
    let catalogue = read(sql).unwrap();
    let query = &catalogue.queries[0];
    assert_eq!(
        query.parameters,
        [
            ColumnType::Decimal { precision: 12, scale: 2 },
            ColumnType::Text { length: Some(16), is_padded: false },
            ColumnType::Integer { bits: 64 },
        ]
    );
    assert_eq!((query.text.as_str(), query.statement.kind()), (sql, Kind::Scan));
}

#[test]
fn what_not_every_store_can_do_is_refused_by_name() {
    for (sql, expected) in [
        ("SELECT c_last FROM customer GROUP BY c_last", "1:29: GROUP BY is outside; leave it out"),
        (
            "SELECT count(*) FROM customer",
            "1:8: the function count is outside; compute it from the rows",
        ),
        (
            "SELECT id FROM \"order\"\nWHERE id = 1 OR id = 2",
            "2:7: OR is outside; make it two queries",
        ),
        (
            "SELECT DISTINCT id FROM \"order\"",
            "1:8: DISTINCT is outside; leave it out, rows with equal columns all count",
        ),
        (
            "SELECT id FROM \"order\" WHERE id IN (1, 2)",
            "1:30: IN is outside; make it a query for each value",
        ),
        (
            "SELECT d_id FROM district LEFT JOIN customer ON d_id = c_d_id",
            "1:27: LEFT JOIN is outside; make it two queries",
        ),
        (
            "SELECT id FROM \"order\" ORDER BY id LIMIT 3 OFFSET 4",
            "1:44: OFFSET is outside; select the rows behind a key instead",
        ),
        (
            "INSERT INTO \"order\" (id) VALUES (1) ON DUPLICATE KEY UPDATE note = 'a'",
            "1:37: ON DUPLICATE is outside; leave it out, or make it two queries",
        ),
        (
            "INSERT INTO \"order\" (id) VALUES (1), (2)",
            "1:26: VALUES of several rows is outside; insert each by itself",
        ),
    ] {
        assert_eq!(wrong(sql), expected, "{sql}");
    }
}

#[test]
fn what_would_not_follow_keys_is_refused_by_name() {
    for (sql, expected) in [
        (
            "UPDATE \"order\" SET id = 4 WHERE id = 3",
            "1:20: a new value for id of the primary key is outside; \
             delete the row, insert another",
        ),
        (
            "UPDATE \"order\" SET weight = weight * 2",
            "1:29: setting weight to weight * 2 is outside; \
             write ?, a value, or weight + or - or || one of them",
        ),
        (
            "SELECT id FROM \"order\" WHERE id > 1 AND weight < 2",
            "1:30: a range on two columns, order.id and order.weight, is outside; \
             keep one of them and filter the rows in the client",
        ),
        (
            "SELECT id FROM \"order\" LIMIT 3",
            "1:1: LIMIT without ORDER BY is outside; say which rows come first",
        ),
        (
            "SELECT d_id FROM district, customer WHERE d_id = c_d_id",
            "1:1: a join of customer that follows no key is outside; \
             join the whole primary key of one side with the columns that point to it",
        ),
        (
            "SELECT d_id FROM district, customer",
            "1:1: a join of customer without a pair of columns is outside; \
             write which of its columns equals which of an earlier relation",
        ),
        (
            "SELECT id FROM (SELECT id FROM \"order\") x",
            "1:1: a FROM that is no list of relations is outside; name relations only",
        ),
        (
            "DROP TABLE district",
            "1:1: this statement is outside; \
             write SELECT, INSERT, UPDATE or DELETE",
        ),
        ("SELECT id FROM \"order\" FOR SHARE", "1:24: FOR SHARE is outside; write FOR UPDATE"),
    ] {
        assert_eq!(wrong(sql), expected, "{sql}");
    }
}

#[test]
fn queries_must_agree_with_the_schema() {
    for (sql, expected) in [
        ("SELECT a FROM distrikt", "1:15: there is no relation distrikt; did you mean district?"),
        ("SELECT d_nam FROM district", "1:8: district has no column d_nam; did you mean d_name?"),
        (
            "SELECT id FROM \"order\" WHERE wait = 3",
            "1:30: order has no column wait; there are id, weight, is_paid, note",
        ),
        (
            "INSERT INTO \"order\" (id, note) VALUES (1)",
            "1:13: there are 2 columns but 1 values: give each column one",
        ),
        (
            "INSERT INTO \"order\" (note) VALUES ('a')",
            "1:13: column id is missing: give it a value, it belongs to the primary key",
        ),
        (
            "INSERT INTO customer (c_id, c_d_id, c_w_id) VALUES (1, 2, 3)",
            "1:13: column c_credit is missing: give it a value, \
             not every class of store fills in its default",
        ),
        (
            "UPDATE district SET d_name = 'a name that is too long'",
            "1:30: 'a name that is too long' does not fit column d_name, which is VARCHAR(10)",
        ),
        (
            "UPDATE district SET d_tax = 0.12345",
            "1:29: 0.12345 does not fit column d_tax, which is DECIMAL(4,4)",
        ),
        (
            "SELECT id FROM \"order\" WHERE id = 'a'",
            "1:35: 'a' does not fit column order.id, which is BIGINT",
        ),
        (
            "SELECT id FROM \"order\" WHERE note = NULL",
            "1:37: nothing compares with NULL: leave the comparison out",
        ),
        ("UPDATE district SET d_name = NULL", "1:30: column d_name is NOT NULL: give it a value"),
        (
            "UPDATE \"order\" SET note = note + 1",
            "1:27: only numbers can be added, to a column of numbers: note + 1",
        ),
        ("SELECT x.id FROM \"order\" o", "1:8: no relation is called x here; did you mean o?"),
        ("SELECT id FROM \"order\" WHERE id = $1", "1:35: write ? for an argument instead of $1"),
        (
            "SELECT id FROM \"order\" ORDER BY id LIMIT -1",
            "1:43: LIMIT takes a whole number from 0, or ?",
        ),
        (
            "SELECT id FROM \"order\"; DELETE FROM district",
            "1:1: there are 2 statements: make each a query with its own name",
        ),
        (" ; ", "1:2: there is no query: write one"),
        ("SELEC id", "1:1: this cannot be read as SQL: Expected: an SQL statement, found: SELEC"),
    ] {
        assert_eq!(wrong(sql), expected, "{sql}");
    }
}

#[test]
fn a_name_that_two_relations_have_must_say_which() {
    let schema = "CREATE TABLE a (id INT PRIMARY KEY, n INT); \
                  CREATE TABLE b (id INT PRIMARY KEY, n INT REFERENCES a)";
    let send = |sql| catalogue(&[named("s", schema)], &[named("q", sql)]);
    let error = send("SELECT n FROM a, b WHERE a.id = b.n").unwrap_err();
    assert_eq!(error.to_string(), "query q, line 1 column 8: n may be a.n or b.n: write which");
    assert_eq!(send("SELECT a.n FROM a, b WHERE a.id = b.n").unwrap().queries.len(), 1);
}

#[test]
fn schemas_that_no_store_could_keep_are_refused() {
    let wrong = |sql: &str| catalogue(&[named("s", sql)], &[]).unwrap_err().to_string();
    for (sql, expected) in [
        (
            "create table consbench(mykey int, myfield varchar(64))",
            "schema s, line 1 column 14: relation consbench has no primary key, so no store could \
             find its rows: write PRIMARY KEY (mykey), or the columns that tell its rows apart",
        ),
        (
            "CREATE TABLE a (id JSON PRIMARY KEY)",
            "schema s, line 1 column 17: the type JSON is outside the SQL subset that every class \
             of store supports; take a whole number, DECIMAL, DOUBLE, CHAR, VARCHAR, TEXT, BLOB, \
             TIMESTAMP without a time zone or BOOLEAN",
        ),
        (
            "CREATE TABLE a (id INT PRIMARY KEY, d DECIMAL(20,2))",
            "schema s, line 1 column 37: DECIMAL(20,2): give it 1 to 18 digits, as many or fewer \
             behind the point",
        ),
        (
            "CREATE TABLE a (id INT PRIMARY KEY, b INT REFERENCES c)",
            "schema s, line 1 column 54: there is no relation c; did you mean a?",
        ),
        (
            "CREATE TABLE a (id INT PRIMARY KEY);\nCREATE TABLE A (id INT PRIMARY KEY)",
            "schema s, line 2 column 14: relation A is declared twice: leave one out",
        ),
        (
            "CREATE TABLE a (id INT PRIMARY KEY, u INT UNIQUE)",
            "schema s, line 1 column 37: UNIQUE is outside the SQL subset that every class of \
             store supports; leave it out: most stores could not guarantee it",
        ),
        (
            "CREATE TABLE a (id INT, PRIMARY KEY (di))",
            "schema s, line 1 column 38: a has no column di; did you mean id?",
        ),
    ] {
        assert_eq!(wrong(sql), expected, "{sql}");
    }
}

#[test]
fn names_of_queries_are_unique() {
    let sql = "DELETE FROM district";
    let queries = [named("q", sql), named("q", sql)];
    let error = catalogue(&[named("s", SCHEMA)], &queries).unwrap_err();
    assert_eq!(
        error.to_string(),
        "query q, line 1 column 1: another query has the same name: give each its own"
    );
}

/// Texts of the subset, to be made worse.
const GOOD: [&str; 6] = [
    "SELECT d_name, d_tax FROM district d WHERE d.d_w_id = ? AND 3 = d_id FOR UPDATE",
    "SELECT c_id FROM customer WHERE c_last = 'O''Hara' ORDER BY c_since DESC, c_id LIMIT ?",
    "SELECT * FROM district JOIN customer ON d_w_id = c_w_id AND d_id = c_d_id WHERE c_id < -1",
    "INSERT INTO \"order\" (id, weight, is_paid, note) VALUES (?, 1.5e3, TRUE, NULL)",
    "UPDATE customer SET c_balance = c_balance - ?, c_last = X'00FF' WHERE c_w_id BETWEEN ? AND 2",
    "DELETE FROM customer WHERE c_since < TIMESTAMP '2024-01-01 00:00:00'",
];

/// Pieces that break a text in some way.
const PIECES: [&str; 18] = [
    "(",
    ")",
    "'",
    "\"",
    "?",
    "?1",
    "--",
    "/*",
    "\0",
    "é",
    " OR ",
    " 99999999999999999999 ",
    "-",
    ";",
    " SELECT ",
    " WITH x AS ",
    ".",
    "\n",
];

#[test]
fn hostile_texts_are_refused_instead_of_panicking() {
    let mut refused = 0;
    for round in 0..6_000 {
        let mut draws = Seed(7).draws(1, round);
        let mut pick = |bound: usize| draws.below(bound as u64) as usize;
        let mut text: Vec<char> = match pick(8) {
            0 => SCHEMA.chars().collect(),
            _ => GOOD[pick(GOOD.len())].chars().collect(),
        };
        let is_schema = text.len() == SCHEMA.chars().count();
        for _ in 0..=pick(4) {
            let at = pick(text.len() + 1);
            let end = (at + pick(6)).min(text.len());
            let new: Vec<char> = match pick(3) {
                0 => Vec::new(),
                1 => PIECES[pick(PIECES.len())].chars().collect(),
                _ => text[end..(end + pick(20)).min(text.len())].to_vec(),
            };
            text.splice(at..end, new);
        }
        let text: String = text.into_iter().collect();
        let result = match is_schema {
            true => catalogue(&[named("s", &text)], &[]),
            false => read(&text),
        };
        refused += usize::from(result.is_err());
    }
    assert!(refused > 4_000, "{refused}");
}

#[test]
fn deep_and_long_texts_are_refused_before_the_stack_ends() {
    let deep =
        |piece: &str, count| format!("SELECT id FROM \"order\" WHERE {}", piece.repeat(count));
    for sql in [
        deep("(", 100_000),
        deep("NOT ", 100_000),
        deep("- ", 1_500),
        deep("id = 1 AND ", 100_000),
        format!("UPDATE \"order\" SET weight = {}1", "1+".repeat(2_000)),
        format!("UPDATE \"order\" SET weight = weight{}", "+1".repeat(2_000)),
        format!("SELECT {}1 FROM \"order\"", "f(".repeat(1_900)),
        format!("SELECT id FROM \"order\" WHERE {} id = 1", "id = 1 OR ".repeat(500)),
        format!("SELECT id FROM \"order\" WHERE id{}", " IS NULL".repeat(1_000)),
        format!("SELECT id FROM \"order\" WHERE id{}", " COLLATE x".repeat(1_000)),
        format!("SELECT id FROM \"order\" WHERE id{} = 1", "[1]".repeat(1_000)),
        format!("SELECT id{} FROM \"order\"", "::int".repeat(1_000)),
        format!("SELECT id FROM \"order\"{}", " JOIN district".repeat(800)),
        format!("{}SELECT id FROM \"order\"", "SELECT id FROM \"order\" UNION ".repeat(400)),
    ] {
        assert!(read(&sql).is_err(), "{}", &sql[..40]);
    }
    let many = format!("{}id = 1", "id = 1 AND ".repeat(500));
    assert!(read(&format!("SELECT id FROM \"order\" WHERE {many}")).is_ok());
}
