//! Trace: the operations of a plan as a Parquet file.
//!
//! A [`TraceWriter`] streams the operations of any [`Source`](assay_model::Source) into a file, a
//! [`Trace`] gives them back as a source, and a [`TraceHash`] proves that both are the same. The
//! format is defined in `docs/formats/trace.md`.

mod columns;
mod encode;
mod footer;

pub mod hash;
pub mod header;
pub mod script;

pub mod literal;

pub mod reader;
pub mod writer;

pub mod benchfoundry;
pub mod builder;
pub mod csv;
pub mod fit;
pub mod imported;
pub mod split;
pub mod stat;

pub use columns::Schedules;
pub use csv::{ExportError, ImportError, export_csv, import_csv};
pub use hash::{Digest, TraceHash};
pub use header::{Header, Part};
pub use reader::{Description, OpenError, ReadError, Schedule, Trace, TraceSource, describe};
pub use script::{Origins, Script, StatementFault, placeholders};
pub use split::{SplitError, split};
pub use stat::{StatOptions, TraceStat, stat};
pub use writer::{Entry, TraceWriter, WriteError, WrittenTrace};

/// The newest version of the format that this crate reads; traces with statements have it.
pub const FORMAT: u32 = 2;

/// The version of the format that traces of records, without statements, have.
pub const FORMAT_OF_RECORDS: u32 = 1;
