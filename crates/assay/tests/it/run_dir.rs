//! Contents of a run directory, for tests.

use std::path::Path;

use assay_history::{Columns, History, Manifest, State};
use assay_model::{Kind, Nanos, Outcome, Phase, Record};
use serde_json::Value;

use crate::place::Place;

/// The manifest of the run directory `name`.
#[track_caller]
pub fn manifest(place: &Place, name: &str) -> Manifest {
    Manifest::read(&place.path(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// Every record of the run directory `dir`, sealed or not, by index.
#[track_caller]
pub fn records(dir: &Path) -> Vec<Record> {
    let mut records = Vec::new();
    let mut history = History::open(dir).unwrap_or_else(|error| panic!("{error}"));
    history
        .each_batch(Columns::ALL, |batch| records.extend_from_slice(batch.records))
        .unwrap_or_else(|error| panic!("{error}"));
    records.sort_by_key(|record| record.index);
    records
}

/// An operation without its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedOperation {
    pub index: u64,
    pub process: u64,
    pub transaction: u16,
    pub transaction_type: u16,
    pub ends_transaction: bool,
    pub kind: Kind,
    pub key: u64,
}

/// The operations of the run in `dir`, by index.
pub fn requested(dir: &Path) -> Vec<IssuedOperation> {
    let requested = |record: Record| IssuedOperation {
        index: record.index,
        process: record.process,
        transaction: record.transaction,
        transaction_type: record.transaction_type,
        ends_transaction: record.ends_transaction(),
        kind: record.kind,
        key: record.key,
    };
    records(dir).into_iter().map(requested).collect()
}

/// When each process was meant to begin; later operations wait for the answer to the first.
pub fn intended(dir: &Path) -> Vec<Nanos> {
    let mut records = records(dir);
    records.sort_by_key(|record| (record.process, record.index));
    records.dedup_by_key(|record| record.process);
    records.into_iter().map(|record| record.intended).collect()
}

/// How many records ended as `outcome`.
pub fn count(records: &[Record], outcome: Outcome) -> u64 {
    records.iter().filter(|record| record.outcome == outcome).count() as u64
}

/// The run directory is sealed and complete, and its manifest counts what its history holds.
#[track_caller]
pub fn assert_sealed(place: &Place, name: &str, state: State) {
    let manifest = manifest(place, name);
    assert_eq!(manifest.state, state, "{:?}", manifest.reason);
    let dir = place.path(name);
    let history = History::open(&dir).unwrap_or_else(|error| panic!("{error}"));
    assert!(history.is_sealed());
    assert_eq!(place.list(&format!("{name}/blocks")), Vec::<String>::new());
    let was_killed = manifest.run.ended.is_empty();
    assert!(was_killed || dir.join("events.parquet").is_file());
    let mut records = records(&dir);
    assert_eq!(manifest.history.records, records.len() as u64);
    records.retain(|record| record.phase != Phase::Final);
    let counters = manifest.counters;
    let counts = Outcome::ALL.map(|outcome| count(&records, outcome));
    assert_eq!(counts, [counters.done, counters.refused, counters.unknown, counters.dropped]);
    assert_eq!(counts.iter().sum::<u64>(), counters.offered);
}

/// The verdict on a quality in the result of `assay check`.
#[track_caller]
pub fn finding<'a>(result: &'a Value, quality: &str) -> &'a Value {
    let findings = result["findings"].as_array().expect("there are findings");
    let found = findings.iter().find(|finding| finding["quality"] == quality);
    found.unwrap_or_else(|| panic!("no {quality}: {result}"))
}

/// A whole number of a JSON result, by its path.
#[track_caller]
pub fn number(result: &Value, path: &str) -> u64 {
    let found = result.pointer(path).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no whole number at {path}: {:?}", result.pointer(path)))
}

/// How many operations of a JSON result are `what`, such as `done` or `misses`.
#[track_caller]
pub fn counted(result: &Value, what: &str) -> u64 {
    number(result, &format!("/overall/counts/{what}"))
}

/// Any number of a JSON result, by its path.
#[track_caller]
pub fn figure(result: &Value, path: &str) -> f64 {
    let found = result.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {path}: {:?}", result.pointer(path)))
}

/// A text of a JSON result, by its path.
#[track_caller]
pub fn text<'a>(result: &'a Value, path: &str) -> &'a str {
    let found = result.pointer(path).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no text at {path}: {:?}", result.pointer(path)))
}

/// Every operation that was offered is accounted for.
#[track_caller]
pub fn assert_balanced(result: &Value) {
    let ended = ["done", "refused", "unknown", "dropped"].map(|name| counted(result, name));
    assert!(counted(result, "offered") > 0);
    assert_eq!(counted(result, "offered"), ended.iter().sum::<u64>());
}
