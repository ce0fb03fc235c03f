//! TPC-C from its generator to the conditions that its rows must hold.

use serde_json::Value;

use crate::place::Place;
use crate::run_dir::{counted, manifest, number, text};

/// A warehouse of 60 customers instead of 30 000.
pub const SMALL: &str = "--set dataset.customers_per_district=6 \
    --set dataset.orders_per_district=6 --set dataset.items=40";

pub fn verdicts(result: &Value) -> Vec<(String, String)> {
    let findings = result["findings"].as_array().expect("there are findings");
    let of = |finding: &Value, key: &str| finding[key].as_str().expect("a text").to_owned();
    findings.iter().map(|finding| (of(finding, "name"), of(finding, "verdict"))).collect()
}

#[test]
fn every_condition_holds_after_tpcc_on_a_store_with_transactions() {
    let place = Place::new();
    let words = format!("bench tpcc -t sqlite:t.db {SMALL} --closed 4 --operations 400 --seed 5");
    let result = place.json(&format!("{words} --run-dir b -q"));
    let held = ["3.3.2.1", "3.3.2.2", "3.3.2.3", "3.3.2.4"]
        .map(|clause| (format!("TPC-C {clause}"), "held".to_owned()));
    assert_eq!(verdicts(&result), held);
    assert_eq!(counted(&result, "unknown"), 0);
    let committed = |name: &str| number(&result, &format!("/transactions/{name}/counts/done"));
    let names = ["new-order", "payment", "order-status", "delivery", "stock-level"];
    let all: u64 = names.iter().map(|name| committed(name)).sum();
    let failed: u64 = names
        .iter()
        .map(|name| number(&result, &format!("/transactions/{name}/counts/refused")))
        .sum();
    assert_eq!(all + failed, 400);
    assert!(committed("payment") > committed("delivery"));
    assert_eq!(result["figures"][0]["name"], "NOPM", "nobody thinks");
    let note = text(&result, "/figures/0/note");
    let start = "not an audited TPC result; no keying or think times; ";
    assert!(note.starts_with(start) && note.ends_with("the standard allows 12.86"), "{note}");
    let transactions = number(&result, "/all_transactions/counts/offered");
    assert_eq!(transactions, 400, "transactions are counted, not their requests");
    let queries = result["queries"].as_object().expect("queries are distinguished");
    assert!(queries["district.next_order"]["requests_mean"].as_f64() == Some(1.0));
    assert_eq!(manifest(&place, "b").findings.len(), 4);
}

#[test]
fn the_same_seed_issues_the_same_operations_on_every_store_and_from_a_trace() {
    let place = Place::new();
    let words = format!("{SMALL} --seed 7");
    place.fine(&format!("trace gen tpcc {words} --operations 50 -o t.trace"));
    let executed =
        |run_dir: &str| manifest(&place, run_dir).execution.executed_hash.expect("it ended");
    let common = format!("{words} --operations 50 -q");
    place.fine(&format!("bench tpcc -t sqlite:a.db {common} --closed 2 --run-dir a"));
    place.fine(&format!("run tpcc -t memory: {common} --closed 2 --run-dir b"));
    place.fine(&format!("run tpcc -t null: {common} --threads 3 --closed 3 --run-dir c"));
    place.fine("run t.trace -t null: --closed 2 -q --run-dir d");
    let [a, b, c, d] = ["a", "b", "c", "d"].map(executed);
    assert_eq!((&b, &c), (&a, &a), "stores and workers do not change the operations");
    place.fine("trace info t.trace").shows(&d);
}

#[test]
fn relations_that_are_there_are_dropped_only_on_demand() {
    let place = Place::new();
    let load = format!("load tpcc -t sqlite:own.db {SMALL} --seed 1 -q");
    place.fine(&load);
    place.refuses(&load, "--replace");
    place.fine(&format!("{load} --replace"));
    // --fresh drops what a load has left, but no table of somebody else.
    place.fine("load consbench -t sqlite:t.db --set dataset.tests=2 --seed 1 -q");
    place.fine(&format!("load tpcc -t sqlite:t.db {SMALL} --fresh -q"));
    place.refuses("load consbench -t sqlite:t.db --fresh -q", "--replace");
    place.fine(&format!("load tpcc -t sqlite:t.db {SMALL} --fresh -q"));
}

#[test]
fn a_store_without_transactions_says_that_they_are_best_effort() {
    let place = Place::new();
    let words = format!("run tpcc -t memory: {SMALL} --closed 1 --operations 60 --seed 3");
    let result = place.json(&format!("{words} --run-dir b -q"));
    let settings = &manifest(&place, "b").store.settings;
    let transactions = settings.iter().find(|setting| setting.name == "transactions");
    assert_eq!(transactions.map(|setting| setting.value.as_str()), Some("best effort"));
    assert_eq!(text(&result, "/store/name"), "memory");
    assert!(result["queries"]["customer.paid"]["requests_mean"].as_f64() >= Some(2.0));
}

#[test]
fn a_trace_runs_on_the_data_that_its_specification_loads() {
    let place = Place::new();
    place.fine(&format!("trace gen tpcc {SMALL} --operations 20 --seed 7 -o t.trace"));
    place.fine("bench t.trace -t sqlite:t.db --run-dir b -q");
    let manifest = manifest(&place, "b");
    assert_eq!(manifest.spec.name, "t");
    let held = manifest.findings.iter().filter(|finding| finding.verdict == "held");
    assert_eq!(held.count(), 4);
    place.fine(&format!("load tpcc -t sqlite:own.db {SMALL} --seed 7 -q"));
    place.fine("run t.trace -t sqlite:own.db -q");
}
