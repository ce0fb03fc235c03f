//! Tests of the explanation of a query's requests.

use assay_mapping::explain::explain;
use assay_mapping::{Class, Physical};
use assay_model::{Catalogue, Named};

const SCHEMA: &str = "
CREATE TABLE orders (w INT, id INT, customer INT NOT NULL, paid DECIMAL(8,2), PRIMARY KEY (w, id));
CREATE TABLE line (w INT, id INT, number INT, item INT NOT NULL, PRIMARY KEY (w, id, number),
  FOREIGN KEY (w, id) REFERENCES orders);
";

fn catalogue(sql: &str) -> Catalogue {
    let named = |name: &str, text: &str| Named { name: name.into(), text: text.into() };
    assay_sql::catalogue(&[named("s", SCHEMA)], &[named("q", sql)]).unwrap()
}

/// The requests of a query on base tables, one a line.
fn describe(sql: &str) -> Vec<String> {
    let catalogue = catalogue(sql);
    let physical = Physical::plain(&catalogue.schema, Class::KeyValue);
    let explanation = explain(&catalogue, &physical).unwrap();
    let query = &explanation.queries[0];
    let requests = query.requests.iter().map(|request| {
        let sifted = match request.sifted.is_empty() {
            true => String::new(),
            false => format!(" sifted by {}", request.sifted.join(", ")),
        };
        let (verb, table) = (request.verb.name(), &request.table);
        format!("{} {verb} {table} ({}){sifted}", request.expected, request.key.join(", "))
    });
    let sorted =
        (!query.sorted.is_empty()).then(|| format!("sorted by {}", query.sorted.join(", ")));
    requests.chain(sorted).collect()
}

#[test]
fn a_key_is_one_get() {
    assert_eq!(
        describe("SELECT paid FROM orders WHERE id = ? AND w = 7"),
        ["1 get orders (w = 7, id = ?1)"]
    );
}

#[test]
fn a_join_along_a_key_is_a_scan_with_a_get() {
    assert_eq!(
        describe(
            "SELECT paid, item FROM orders, line WHERE line.w = orders.w AND line.id = orders.id \
             AND orders.w = ? AND orders.id = ? ORDER BY item DESC"
        ),
        [
            "1 get orders (w = ?1, id = ?2)",
            "3 scan line (w = ?1, id = ?2)",
            "sorted by line.item desc"
        ]
    );
}

#[test]
fn writes_tell_what_they_look_for_first() {
    assert_eq!(
        describe("INSERT INTO orders (id, w, customer) VALUES (?, ?, 3)"),
        ["1 get orders (w = ?2, id = ?1)", "1 insert orders (w = ?2, id = ?1)"]
    );
    assert_eq!(
        describe("UPDATE orders SET paid = paid + ? WHERE w = ? AND id = ?"),
        ["1 get orders (w = ?2, id = ?3)", "1 update orders (w, id)"]
    );
    assert_eq!(
        describe("UPDATE orders SET paid = ? WHERE w = ? AND id = ?"),
        ["1 update orders (w = ?2, id = ?3)"]
    );
    assert_eq!(
        describe("DELETE FROM orders WHERE w = 1 AND id = 2"),
        ["1 delete orders (w = 1, id = 2)"]
    );
}

#[test]
fn a_filter_beside_the_key_sifts() {
    assert_eq!(
        describe("SELECT number FROM line WHERE w = ? AND id = ? AND number > ? AND item = ?"),
        ["2 scan line (w = ?1, id = ?2, number > ?3) sifted by item = ?4"]
    );
}
