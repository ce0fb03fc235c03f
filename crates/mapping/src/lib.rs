//! Mapping of logical queries to requests of a store.
//!
//! The queries of a workload are SQL. [`sql`] parses them into a
//! [`Catalogue`](assay_model::Catalogue), checked against its schema before anything runs. A store
//! without a query language keeps its rows in a [`Physical`] schema, and [`Mapped`] answers queries
//! from it by requests for records.

pub mod fit;
pub mod sql;

pub mod advisor;
pub mod explain;
pub mod mapped;
pub mod order;
pub mod physical;

mod key_value;

pub use advisor::{Advice, Expected, advise};
pub use mapped::Mapped;
pub use physical::{Class, FitError, Keys, Physical, PhysicalTable, Role};
