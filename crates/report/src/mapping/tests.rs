//! A small mapping in each form.

use expect_test::{Expect, expect};

use super::{Choice, MappedQuery, Mapping, Requested, Stored, json, markdown, text};

fn words(text: &str) -> Vec<String> {
    text.split(", ").filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn request(count: f64, verb: &str, table: &str, key: &str, sifted: &str) -> Requested {
    let (key, sifted) = (words(key), words(sifted));
    Requested { count, verb: verb.into(), table: table.into(), key, sifted }
}

pub(crate) fn sample() -> Mapping {
    Mapping {
        workload: "shop".into(),
        class: "column".into(),
        origin: "the advisor's option 1 of 2".into(),
        per: "transaction".into(),
        options: vec![
            Choice { cost: 1.75, tables: words("line, line_by_item"), is_shown: true },
            Choice { cost: 12.0, tables: words("line"), is_shown: false },
        ],
        tables: vec![Stored {
            name: "line".into(),
            role: "base".into(),
            key: words("w, id, number"),
            partition: Some(2),
            columns: words("item"),
        }],
        queries: vec![MappedQuery {
            name: "lines".into(),
            sql: "SELECT number FROM line WHERE w = ? AND item = ? ORDER BY number".into(),
            frequency: 0.5,
            rows: Some(1.0),
            cost: Some(3.5),
            requests: vec![
                request(1.0, "get", "shop", "w = ?1", ""),
                request(12.5, "scan", "line", "w = ?1, id > ?2", "item = ?3"),
            ],
            sorted: words("number"),
        }],
        warnings: vec!["A rollback undoes nothing.".into()],
    }
}

fn check(found: &str, expected: Expect) {
    expected.assert_eq(found);
}

#[test]
fn text_tells_options_tables_queries() {
    check(
        &text(&sample()),
        expect![[r#"
        shop on a column store: 1 table, 1 query
        the advisor's option 1 of 2: 6.75 requests, cost 1.75 gets for each transaction
        A rollback undoes nothing.

        Options
          option  cost  tables
               1  1.75       2  shown here
               2    12       1

        Tables
          table  role  key              columns
          line   base  (w, id), number        1

        Queries
          lines: 0.50 for each transaction; 13.5 requests, cost 3.50, 1 row
            SELECT number FROM line WHERE w = ? AND item = ? ORDER BY number
                 1 get  shop (w = ?1)
              12.5 scan line (w = ?1, id > ?2), sift item = ?3
                   sort by number
    "#]],
    );
}

#[test]
fn markdown_has_a_heading_for_each_query() {
    check(
        &markdown(&sample()),
        expect![[r#"
        # shop on a column store

        the advisor's option 1 of 2: 6.75 requests, cost 1.75 gets for each transaction

        A rollback undoes nothing.

        ## Options

        | option | cost | tables |            |
        | -----: | ---: | -----: | ---------- |
        |      1 | 1.75 |      2 | shown here |
        |      2 |   12 |      1 |            |

        ## Tables

        | table | role | key             | columns |
        | ----- | ---- | --------------- | ------: |
        | line  | base | (w, id), number |       1 |

        ## Queries

        ### lines

        0.50 for each transaction; 13.5 requests, cost 3.50, 1 row.

        ```sql
        SELECT number FROM line WHERE w = ? AND item = ? ORDER BY number
        ```

        * 1 × get `shop (w = ?1)`
        * 12.5 × scan `line (w = ?1, id > ?2), sift item = ?3`
        * then sort by `number`
    "#]],
    );
}

#[test]
fn json_has_numbers_and_lists() {
    let value: serde_json::Value = serde_json::from_str(&json(&sample())).unwrap();
    assert_eq!(value["schema"], "assay/mapping/v2");
    assert_eq!(value["cost"], 1.75);
    assert_eq!(value["requests"], 6.75);
    assert_eq!(value["queries"][0]["requests"][1]["key"][1], "id > ?2");
    assert_eq!(value["tables"][0]["partition"], 2);
}
