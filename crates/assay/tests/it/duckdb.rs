//! DuckDB from PyPI finds in what a run has kept, unchanged, what the result says.

use serde_json::Value;

use crate::place::Place;
use crate::run_dir::number;
use python::send;

#[path = "../../../history/tests/duckdb/python.rs"]
mod python;

const QUERY: &str = r"
import duckdb, sys
for row in duckdb.sql(f'''
    SELECT kind, count(*), count(*) FILTER (outcome = 'done'), count(*) FILTER (found),
           sum(rows), min(ended - intended), max(ended - intended), max(ended - started)
    FROM read_parquet('{sys.argv[1]}/history/*/*.parquet')
    WHERE phase = 'measure' GROUP BY kind ORDER BY kind''').fetchall():
    print('\t'.join(str(value) for value in row))
";

/// What DuckDB prints if it agrees with the result about operations of `kind`.
fn describe(result: &Value, kind: &str) -> String {
    let paths = [
        "counts/offered",
        "counts/done",
        "counts/hits",
        "counts/rows",
        "hits/response/min_ns",
        "hits/response/max_ns",
        "hits/service/max_ns",
    ];
    let values = paths.map(|path| number(result, &format!("/kinds/{kind}/{path}")).to_string());
    format!("{kind}\t{}\n", values.join("\t"))
}

#[test]
fn duckdb_counts_and_times_what_the_binary_has_kept_as_its_result_does() {
    let place = Place::new();
    let load = "--threads 2 --rate 20k/s --duration 1s --warm-up 200ms";
    let result = place.json(&format!("run ycsb-a -t memory: {load}"));
    let run_dir = place.list("runs").pop().expect("the run is kept");
    let found = send(QUERY, &place.path("runs").join(run_dir));
    assert_eq!(found, describe(&result, "read") + &describe(&result, "update"));
}
