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

use super::program::{Compiled, Program, QueryText, declared, queries};
use crate::script::ScriptName;
use crate::spec::PlanPhase;

pub use program::BALANCE;
pub(super) use program::final_reads;
pub use spec::{ConsistencyDataset, ConsistencySpec, TransactionSection};

/// The table of a workload, with its queries and their meaning.
struct Definition {
    /// Its name, and its columns as `CREATE TABLE` has them.
    table: (&'static str, &'static str),
    /// What a load inserts, what a run reads, what a run writes.
    queries: [(QueryText, QueryRole); 3],
    transactions: &'static [&'static str],
}

/// The queries by their places: what a load inserts, what a run reads and writes.
const INSERT: usize = 0;
const READ: usize = 1;
const WRITE: usize = 2;

const fn insert(text: &'static str) -> (QueryText, QueryRole) {
    (QueryText { name: "insert", kind: Kind::Insert, text }, QueryRole::Unchecked)
}

const fn read(text: &'static str, role: QueryRole) -> (QueryText, QueryRole) {
    (QueryText { name: "read", kind: Kind::Read, text }, role)
}

const fn update(name: &'static str, text: &'static str, role: QueryRole) -> (QueryText, QueryRole) {
    (QueryText { name, kind: Kind::Update, text }, role)
}

const LISTS: Definition = Definition {
    table: ("lists", "id INTEGER NOT NULL, elements TEXT NOT NULL, PRIMARY KEY (id)"),
    queries: [
        insert("INSERT INTO lists (id, elements) VALUES (?, ?)"),
        read("SELECT elements FROM lists WHERE id = ?", QueryRole::ReadList),
        update(
            "append",
            "UPDATE lists SET elements = elements || ? WHERE id = ?",
            QueryRole::Append,
        ),
    ],
    transactions: &["lists"],
};

const fn registers(transactions: &'static [&'static str]) -> Definition {
    Definition {
        table: ("registers", "id INTEGER NOT NULL, content BIGINT NOT NULL, PRIMARY KEY (id)"),
        queries: [
            insert("INSERT INTO registers (id, content) VALUES (?, ?)"),
            read("SELECT content FROM registers WHERE id = ?", QueryRole::Read),
            update("write", "UPDATE registers SET content = ? WHERE id = ?", QueryRole::Write),
        ],
        transactions,
    }
}

const ACCOUNTS: Definition = Definition {
    table: ("accounts", "id INTEGER NOT NULL, balance BIGINT NOT NULL, PRIMARY KEY (id)"),
    queries: [
        insert("INSERT INTO accounts (id, balance) VALUES (?, ?)"),
        read("SELECT balance FROM accounts WHERE id = ?", QueryRole::Read),
        update("write", "UPDATE accounts SET balance = ? WHERE id = ?", QueryRole::Unchecked),
    ],
    transactions: &["transfer", "snapshot"],
};

const SETS: Definition = Definition {
    table: ("members", "id INTEGER NOT NULL, element BIGINT NOT NULL, PRIMARY KEY (id, element)"),
    queries: [
        insert("INSERT INTO members (id, element) VALUES (?, ?)"),
        read("SELECT element FROM members WHERE id = ?", QueryRole::Read),
        // Its arguments come in the order of the writes of the other workloads.
        (
            QueryText {
                name: "add",
                kind: Kind::Insert,
                text: "INSERT INTO members (element, id) VALUES (?, ?)",
            },
            QueryRole::Write,
        ),
    ],
    transactions: &["add", "read"],
};

const COUNTERS: Definition = Definition {
    table: ("counters", "id INTEGER NOT NULL, total BIGINT NOT NULL, PRIMARY KEY (id)"),
    queries: [
        insert("INSERT INTO counters (id, total) VALUES (?, ?)"),
        read("SELECT total FROM counters WHERE id = ?", QueryRole::Read),
        update("add", "UPDATE counters SET total = total + 1 WHERE id = ?", QueryRole::Add),
    ],
    transactions: &["add", "read"],
};

/// The definition of a workload of this module.
fn definition(name: ScriptName) -> Definition {
    match name {
        ScriptName::Bank => ACCOUNTS,
        ScriptName::LongFork => registers(&["write", "read"]),
        ScriptName::WriteSkew => registers(&["pair"]),
        ScriptName::LostUpdate => registers(&["update"]),
        ScriptName::CausalChain => registers(&["first", "second", "read"]),
        ScriptName::Set => SETS,
        ScriptName::Counter => COUNTERS,
        _ => LISTS,
    }
}

/// Compiles a checked specification.
pub(super) fn compile(spec: &ConsistencySpec, seed: Seed, phase: PlanPhase) -> Compiled {
    let definition = definition(spec.workload);
    let (name, columns) = definition.table;
    let run = program::Run::new(spec, seed);
    let (reads, writes) = run.of_transaction();
    let texts: Vec<QueryText> = definition.queries.iter().map(|(query, _)| *query).collect();
    let program: Arc<dyn Program> = match phase {
        PlanPhase::Load => Arc::new(program::load(spec)),
        PlanPhase::Run => Arc::new(run),
    };
    Compiled {
        schema: declared([&*format!("CREATE TABLE {name} ({columns})")]),
        queries: queries(&texts),
        roles: definition.queries.iter().map(|(_, role)| *role).collect(),
        frequencies: vec![0.0, reads, writes],
        relation_rows: vec![(name, spec.dataset.keys)],
        transaction_types: definition.transactions,
        rows: spec.dataset.keys,
        program,
        keeps_relations: false,
        rate: None,
        warm_up: Nanos::ZERO,
    }
}
