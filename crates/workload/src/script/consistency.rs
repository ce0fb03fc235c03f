//! Workloads that are made to be judged, with values that tell their writers.
//!
//! Every value is written once, so that each read says which writes it saw.
//! They are Jepsen's, from its documentation: *list-append* and *long-fork* of Elle (Kingsbury,
//! Alvaro 2020), *bank*, *set* and *counter*; write skew as in Adya's G2-item; the causal chain as
//! in Terry's writes follow reads. Keys are used in blocks: as long as a block lasts, transactions
//! are about its few keys, so that they meet; then the next block begins, so that lists stay short.
//! What a query writes is [`written`](assay_model::observed::written) of its operation.

mod program;
mod spec;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use assay_model::{Kind, Nanos, QueryRole, Seed};

use super::program::{Compiled, Program, QueryText, named, queries};
use crate::plan::PlanPhase;
use crate::script::ScriptName;

pub use program::BALANCE;
pub use spec::{ConsistencyDataset, ConsistencySpec, TransactionSection};

/// The queries of a workload, with their meaning.
struct Definition {
    table: (&'static str, &'static str),
    queries: &'static [(QueryText, QueryRole)],
    transactions: &'static [&'static str],
}

/// The queries by their places: what a load inserts, what a run reads and writes.
const INSERT: usize = 0;
const READ: usize = 1;
const WRITE: usize = 2;

const fn query(name: &'static str, kind: Kind, text: &'static str) -> QueryText {
    QueryText { name, kind, text }
}

const LISTS: Definition = Definition {
    table: (
        "lists",
        "CREATE TABLE lists (\n  id INTEGER NOT NULL,\n  elements TEXT NOT NULL,\n  \
         PRIMARY KEY (id)\n)",
    ),
    queries: &[
        (
            query("insert", Kind::Insert, "INSERT INTO lists (id, elements) VALUES (?, ?)"),
            QueryRole::NotJudged,
        ),
        (query("read", Kind::Read, "SELECT elements FROM lists WHERE id = ?"), QueryRole::ReadList),
        (
            query("append", Kind::Update, "UPDATE lists SET elements = elements || ? WHERE id = ?"),
            QueryRole::Append,
        ),
    ],
    transactions: &["lists"],
};

const REGISTERS: &str = "CREATE TABLE registers (\n  id INTEGER NOT NULL,\n  \
                         content BIGINT NOT NULL,\n  PRIMARY KEY (id)\n)";
const REGISTER_QUERIES: &[(QueryText, QueryRole)] = &[
    (
        query("insert", Kind::Insert, "INSERT INTO registers (id, content) VALUES (?, ?)"),
        QueryRole::NotJudged,
    ),
    (query("read", Kind::Read, "SELECT content FROM registers WHERE id = ?"), QueryRole::Read),
    (
        query("write", Kind::Update, "UPDATE registers SET content = ? WHERE id = ?"),
        QueryRole::Write,
    ),
];

const fn registers(transactions: &'static [&'static str]) -> Definition {
    Definition { table: ("registers", REGISTERS), queries: REGISTER_QUERIES, transactions }
}

const ACCOUNTS: Definition = Definition {
    table: (
        "accounts",
        "CREATE TABLE accounts (\n  id INTEGER NOT NULL,\n  balance BIGINT NOT NULL,\n  \
         PRIMARY KEY (id)\n)",
    ),
    queries: &[
        (
            query("insert", Kind::Insert, "INSERT INTO accounts (id, balance) VALUES (?, ?)"),
            QueryRole::NotJudged,
        ),
        (query("read", Kind::Read, "SELECT balance FROM accounts WHERE id = ?"), QueryRole::Read),
        (
            query("write", Kind::Update, "UPDATE accounts SET balance = ? WHERE id = ?"),
            QueryRole::NotJudged,
        ),
    ],
    transactions: &["transfer", "snapshot"],
};

const SETS: Definition = Definition {
    table: (
        "members",
        "CREATE TABLE members (\n  id INTEGER NOT NULL,\n  element BIGINT NOT NULL,\n  \
         PRIMARY KEY (id, element)\n)",
    ),
    queries: &[
        // The same query for both, so that places are those of the other workloads.
        (
            query("insert", Kind::Insert, "INSERT INTO members (id, element) VALUES (?, ?)"),
            QueryRole::NotJudged,
        ),
        (query("read", Kind::Read, "SELECT element FROM members WHERE id = ?"), QueryRole::Read),
        (
            query("add", Kind::Insert, "INSERT INTO members (element, id) VALUES (?, ?)"),
            QueryRole::Write,
        ),
    ],
    transactions: &["add", "read"],
};

const COUNTERS: Definition = Definition {
    table: (
        "counters",
        "CREATE TABLE counters (\n  id INTEGER NOT NULL,\n  total BIGINT NOT NULL,\n  \
         PRIMARY KEY (id)\n)",
    ),
    queries: &[
        (
            query("insert", Kind::Insert, "INSERT INTO counters (id, total) VALUES (?, ?)"),
            QueryRole::NotJudged,
        ),
        (query("read", Kind::Read, "SELECT total FROM counters WHERE id = ?"), QueryRole::Read),
        (
            query("add", Kind::Update, "UPDATE counters SET total = total + 1 WHERE id = ?"),
            QueryRole::Add,
        ),
    ],
    transactions: &["add", "read"],
};

/// The definition of a workload of this module.
fn definition(name: ScriptName) -> Definition {
    match name {
        ScriptName::Bank => ACCOUNTS,
        ScriptName::LongFork => registers(&["write", "read"]),
        ScriptName::WriteSkew => registers(&["pair"]),
        ScriptName::CausalChain => registers(&["first", "second", "read"]),
        ScriptName::Set => SETS,
        ScriptName::Counter => COUNTERS,
        _ => LISTS,
    }
}

/// Compiles a checked specification.
pub(super) fn compile(spec: &ConsistencySpec, seed: Seed, phase: PlanPhase) -> Compiled {
    let definition = definition(spec.workload);
    let run = program::Run::new(spec, seed);
    let (reads, writes) = run.of_transaction();
    let texts: Vec<QueryText> = definition.queries.iter().map(|(query, _)| *query).collect();
    let program: Arc<dyn Program> = match phase {
        PlanPhase::Load => Arc::new(program::Load::new(spec)),
        PlanPhase::Run => Arc::new(run),
    };
    Compiled {
        schema: named([definition.table]),
        queries: queries(&texts),
        roles: definition.queries.iter().map(|(_, role)| *role).collect(),
        frequencies: vec![0.0, reads, writes],
        relation_rows: vec![(definition.table.0, spec.dataset.keys)],
        transaction_types: match phase {
            PlanPhase::Load => &["load"],
            PlanPhase::Run => definition.transactions,
        },
        rows: spec.dataset.keys,
        program,
        rate: None,
        warm_up: Nanos::ZERO,
    }
}
