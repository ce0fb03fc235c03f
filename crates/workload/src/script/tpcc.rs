//! TPC-C: the orders of a wholesaler, after the standard specification, revision 5.11.
//!
//! Clause numbers in this module's comments are those of the standard. Results are not audited TPC
//! results; `docs/scripts.md` lists where the workload differs from the standard.

pub mod conditions;

mod customer;
mod district;
mod draw;
mod load;
mod query;
mod rows;
mod run;
mod schema;
mod spec;

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;
mod turn;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use assay_model::{Nanos, Seed};

use super::program::{Compiled, Program, declared, frequencies, queries};
use crate::spec::PlanPhase;

pub use draw::{last_name, nurand};
pub use spec::{Think, TpccDataset, TpccProcess, TpccSpec, TpccTransactions};

/// The names of the transactions, by their numbers less one.
pub const TRANSACTIONS: [&str; 5] =
    ["new-order", "payment", "order-status", "delivery", "stock-level"];

/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;

/// Compiles a checked specification.
pub(super) fn compile(spec: &TpccSpec, seed: Seed, phase: PlanPhase) -> Compiled {
    let rows = rows::Rows::new(spec, seed);
    let count = rows.count();
    let program: Arc<dyn Program> = match phase {
        PlanPhase::Load => Arc::new(load::Load::new(rows)),
        PlanPhase::Run => Arc::new(run::Run::new(spec, seed, rows)),
    };
    Compiled {
        schema: declared(schema::TABLES),
        queries: queries(&query::QUERIES),
        roles: Vec::new(),
        frequencies: frequencies(&spec.transactions.weights(), &query::REQUESTED),
        relation_rows: rows::by_relation(spec),
        transaction_types: &TRANSACTIONS,
        rows: count,
        program,
        keeps_relations: false,
        rate: None,
        warm_up: Nanos::ZERO,
    }
}
