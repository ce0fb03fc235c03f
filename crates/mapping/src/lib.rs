//! From logical queries to what a store takes.
//!
//! A workload asks in SQL. [`sql`] reads it into a [`Catalogue`](assay_model::Catalogue), checked
//! against its schema before anything runs.

pub mod fit;
pub mod sql;
