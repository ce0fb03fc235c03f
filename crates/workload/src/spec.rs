//! Spec of a workload, as it is written in a file.
//!
//! One internal type with two front doors: TOML of our own ([`Spec::from_toml`]) beside YCSB's
//! properties ([`crate::ycsb::read`]). `docs/spec.md` describes every key.

mod check;
mod dataset;
mod error;
mod length;
pub(crate) mod number;
mod phase;
mod section;
mod text;
mod think;

pub use dataset::Dataset;
pub use error::{Place, SpecError};
pub use length::{FieldLength, ReadFile, no_files};
pub use phase::PlanPhase;
pub use section::{
    DatasetSection, KeyDistribution, KeyOrder, KeysSection, OperationsSection, ProcessSection,
    ReadFields, ScanDistribution, ScanSection, SessionsSection, Spec, WriteFields,
};
pub use think::ThinkTime;

pub(crate) use check::{Problem, check_bounds, problem};
pub(crate) use length::read_histogram;
pub(crate) use text::{place_of, toml_error};

#[cfg(test)]
mod tests;
