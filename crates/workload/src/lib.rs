//! Workloads as streams of operations that are functions of their own number.
//!
//! A [`Spec`] describes the operations, in our own TOML form ([`Spec::from_toml`]) or in YCSB's
//! properties ([`ycsb::read`]). A [`Plan`] compiles it with a seed into a
//! [`Source`](assay_model::Source) of numbers, one for each worker, beside a
//! [`OperationEncoder`](assay_model::OperationEncoder) that turns numbers into bytes.

pub mod distribution;

mod hash;
mod value_header;

pub mod spec;
pub mod ycsb;

pub mod plan;
pub mod script;

pub mod builtin;

pub use plan::Plan;
pub use script::{ScriptDataset, ScriptPlan, ScriptSpec};
pub use spec::{Dataset, PlanPhase, Spec, SpecError};
