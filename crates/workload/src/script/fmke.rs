//! FMKe: the Danish medicine card as an application.
//!
//! Patients, pharmacies, medical staff and facilities, with prescriptions that are created at a
//! pharmacy for a patient by a member of the staff, then processed. After G. Tomás and others,
//! "FMKe: a real-world benchmark for key-value data stores" (PaPoC 2017) and their programs;
//! `docs/fmke.md` lists where this differs from either.
//!
//! Rows lie in one of three [`FmkeLayout`]s. Queries are the same for every store, as SQL; the
//! store executes them by itself or through a mapping.

mod deck;
mod lists;
mod load;
mod query;
mod rows;
mod run;
mod schema;
mod spec;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use assay_model::{Nanos, Seed};

use super::program::{Compiled, Program, declared};
use crate::spec::PlanPhase;

pub use query::{FmkeQuery, Owner, Queries};
pub use schema::tables;
pub use spec::{
    FmkeChecks, FmkeCompat, FmkeDataset, FmkeLayout, FmkeOperations, FmkeSpec, Population,
    PopulationName, Through,
};

/// The names of the operations, by their numbers less one, with those of FMKe's load client.
pub const OPERATIONS: [&str; 9] = [
    "get-pharmacy-prescriptions",
    "get-prescription-medication",
    "get-staff-prescriptions",
    "create-prescription",
    "get-processed-prescriptions",
    "get-patient",
    "process-prescription",
    "add-medication",
    "get-prescription",
];

/// Whether the query with this name may find nothing in a run in which nothing is wrong.
pub fn may_miss(query: &str) -> bool {
    let is_of_list = Owner::ALL.iter().any(|owner| query.starts_with(owner.list()));
    is_of_list || query == "prescription.read"
}

/// One read of each list: what the workload asks when the store is at rest, to see what is lost.
pub(super) fn final_reads(spec: &FmkeSpec) -> impl Program + use<> {
    lists::FinalLists::new(spec)
}

/// Compiles a checked specification.
pub(super) fn compile(spec: &FmkeSpec, seed: Seed, phase: PlanPhase) -> Compiled {
    let queries = Queries::of(spec);
    let population = spec.population();
    // What is asked of a server is the same whatever lies behind it.
    let layout = match spec.through {
        Through::Store => spec.layout,
        Through::Server => FmkeLayout::Normalised,
    };
    let run = run::Run::new(spec, seed);
    let frequencies = run.frequencies();
    let program: Arc<dyn Program> = match phase {
        PlanPhase::Load => Arc::new(load::Load::new(spec, seed)),
        PlanPhase::Run => Arc::new(run),
    };
    Compiled {
        schema: declared(tables(layout).iter().map(|(_, text)| text.as_str())),
        queries: queries.texts().to_vec(),
        roles: if spec.is_checked() { queries.roles(spec.through) } else { Vec::new() },
        frequencies,
        relation_rows: schema::rows_of_run(layout, &population),
        transaction_types: &OPERATIONS,
        rows: schema::rows(layout, &population).iter().map(|(_, rows)| rows).sum(),
        program,
        // Layouts are compared, so a mapping adds no tables of its own.
        keeps_relations: true,
        rate: None,
        warm_up: Nanos::ZERO,
    }
}
