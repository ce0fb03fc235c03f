//! Workloads of logical queries: processes with transactions of SQL queries.
//!
//! A [`ScriptSpec`] says which workload it is with its sizes; a [`ScriptPlan`] compiles it with a
//! seed into a schema, a list of queries, and a [`Source`](assay_model::Source) of processes.
//! SQL is text here: `sql` reads it. Everything is a function of (spec, seed, process number).

mod dataset;
mod plan;
mod program;
mod span;
mod spec;
mod text;

#[cfg(test)]
mod engine;

pub mod benchfoundry;
pub mod consbench;
pub mod consistency;
pub mod fmke;
pub mod tpcc;

pub use dataset::ScriptDataset;
pub use plan::{Schedule, ScriptPlan, final_reads};
pub use span::Span;
pub use spec::{ScriptName, ScriptSpec};
