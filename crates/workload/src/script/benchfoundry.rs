//! BenchFoundry's workload in the manner of TPC-C, as its generator writes it.
//!
//! A small data set of nine tables with processes of one transaction each: keys and what they point
//! to are drawn independently, so most reads find nothing. `docs/scripts.md` says what comes from
//! the generator, what from the paper (D. Bermbach et al., "BenchFoundry: A Benchmarking Framework
//! for Cloud Storage Services", ICSOC 2017), and what a corrected run does otherwise.

mod name;
mod program;
mod query;
mod spec;
mod table;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use assay_model::{Nanos, Seed};

use super::program::{Compiled, Program, frequencies};
use crate::spec::PlanPhase;
use name::Name;

pub use spec::{BenchfoundryDataset, BenchfoundryProcess, BenchfoundrySpec, Keys, Starts};

/// The names of the transactions, by their numbers less one.
const TRANSACTIONS: [&str; 4] = ["payment", "order-status", "new-order", "delivery"];

/// Compiles a checked specification.
pub(super) fn compile(spec: &BenchfoundrySpec, seed: Seed, phase: PlanPhase) -> Compiled {
    let rows = table::Rows::new(spec, seed);
    let count = rows.count();
    let relation_rows = Name::ALL.into_iter().map(|name| (name.name(), rows.of(name))).collect();
    let program: Arc<dyn Program> = match phase {
        PlanPhase::Load => Arc::new(program::Load { rows }),
        PlanPhase::Run => Arc::new(program::Run::new(spec, seed, rows)),
    };
    Compiled {
        schema: Name::ALL.into_iter().map(Name::ddl).collect(),
        queries: query::QUERIES.iter().map(|(query, _)| query.named()).collect(),
        roles: Vec::new(),
        frequencies: frequencies(
            &spec.process.weights(),
            query::QUERIES.iter().map(|(_, times)| times),
        ),
        relation_rows,
        transaction_types: &TRANSACTIONS,
        rows: count,
        program,
        keeps_relations: false,
        rate: (phase == PlanPhase::Run).then(|| spec.process.rate()),
        warm_up: Nanos::ZERO,
    }
}
