//! Consbench: for how long after a write old values are read.
//!
//! One process writes a key once; readers poll the key from shortly before the write until after
//! the longest staleness that is thought possible. There are so many readers that they together
//! reach all replicas with a chosen probability. After the generator of BenchFoundry (D. Bermbach
//! and others); `docs/scripts.md` lists what is different.

mod program;
mod readers;
mod spec;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use assay_model::{Kind, Nanos, QueryRole, Seed};

use super::program::{
    Compiled, OneQueryPerKey, Program, QueryText, declared, issue, queries, text,
};
use crate::spec::PlanPhase;

pub use readers::{PROBABILITY_MAX, probability, readers_needed};
pub use spec::{ConsbenchDataset, ConsbenchSpec, Poll, TestSection, WarmUpSection};

/// The queries by their places.
const INSERT: usize = 0;
const UPDATE: usize = 1;
const READ: usize = 2;

const QUERIES: [QueryText; 3] = [
    QueryText::new("insert", Kind::Insert, "INSERT INTO consbench (mykey, myfield) VALUES (?, ?)"),
    QueryText::new("update", Kind::Update, "UPDATE consbench SET myfield = ? WHERE mykey = ?"),
    QueryText::new("read", Kind::Read, "SELECT myfield FROM consbench WHERE mykey = ?"),
];

/// The names of the transactions, by their numbers less one.
const TRANSACTIONS: [&str; 3] = ["warm-up", "write", "read"];

const TABLE: &str = "CREATE TABLE consbench (
  mykey INTEGER NOT NULL,
  myfield VARCHAR(64) NOT NULL,
  PRIMARY KEY (mykey)
)";

/// Compiles a checked specification.
pub(super) fn compile(spec: &ConsbenchSpec, seed: Seed, phase: PlanPhase) -> Compiled {
    let run = program::Run::new(spec, seed);
    let reads = run.reads_of_test() as f64;
    let program: Arc<dyn Program> = match phase {
        PlanPhase::Load => Arc::new(OneQueryPerKey {
            keys: spec.dataset.tests,
            transaction_type: 1,
            query: issue(&QUERIES, INSERT),
            content: Some(text(program::BEFORE)),
        }),
        PlanPhase::Run => Arc::new(run),
    };
    Compiled {
        schema: declared([TABLE]),
        queries: queries(&QUERIES),
        roles: vec![QueryRole::Unchecked, QueryRole::Write, QueryRole::Read],
        // One transaction is one write, or one read.
        frequencies: vec![0.0, 1.0 / (reads + 1.0), reads / (reads + 1.0)],
        relation_rows: vec![("consbench", spec.dataset.tests)],
        transaction_types: &TRANSACTIONS,
        rows: spec.dataset.tests,
        program,
        keeps_relations: false,
        rate: None,
        warm_up: match phase {
            PlanPhase::Load => Nanos::ZERO,
            PlanPhase::Run => spec.warm_up.duration.0,
        },
    }
}
