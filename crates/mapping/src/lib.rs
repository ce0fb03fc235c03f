//! Mapping of logical queries to requests of a store.
//!
//! A workload queries in SQL. [`sql`] reads it into a [`Catalogue`](assay_model::Catalogue),
//! checked against its schema before anything runs. A store that takes no queries keeps its rows in
//! a [`Physical`] schema, and [`Mapped`] answers queries from it by requests for records.

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
