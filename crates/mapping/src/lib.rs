//! Mapping of logical queries to requests of a store.
//!
//! The queries of a workload are a [`Catalogue`](assay_model::Catalogue), which `assay-sql` reads.
//! A store without a query language keeps its rows in a [`Physical`] schema, and [`Mapped`] answers
//! queries from it by requests for records.

pub mod advisor;
pub mod explain;
pub mod mapped;
pub mod order;
pub mod physical;

mod key_value;

pub use advisor::{Advice, Expected, advise};
pub use mapped::Mapped;
pub use physical::{Class, FitError, Keys, Physical, PhysicalTable, Role};
