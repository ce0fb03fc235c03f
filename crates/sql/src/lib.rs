//! SQL of logical queries: read into one tree, written from it in the dialect of a store.
//!
//! [`catalogue`] reads the queries of a workload into a [`Catalogue`](assay_model::Catalogue),
//! checked against its schema before anything runs. [`query_text`] writes each of them as one
//! [`Dialect`] has it, [`create`] their tables, [`RecordTexts`] requests for records with a key.
//! All functions are pure.

mod bare_name;
mod fit;
mod read;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod write;

pub use fit::fit;
pub use read::{ParseError, Place, QUERIES_MAX, catalogue};
pub use write::{
    Content, Dialect, ForeignKeys, KEY, RecordTexts, Records, SqlQuery, column_type, create, drop,
    query_text,
};
