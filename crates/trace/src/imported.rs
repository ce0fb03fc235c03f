//! Imported traces: requests that were once sent to other stores, to be run again.
//!
//! A [`Format`] is read by one parser, line by line, as [`Requests`]. [`stage`] samples,
//! multiplies, repeats or spreads these as iterators over iterators. [`import()`] turns what comes
//! out into two traces of ours: the operations, with their own schedule, and what a store
//! must hold before. Nothing here depends on the length of a file.

pub mod request;

pub mod guess;
pub mod unpack;

mod cells;
mod parse;

pub mod cachelib;
pub mod kv_replay;
pub mod monitor;
pub mod oracle;
pub mod twitter;

pub mod first_access;
pub mod requests;
pub mod stage;

pub mod import;

pub use guess::{Look, guess};
pub use import::{ImportFacts, Imported, Importing, TraceImportError, import, load_path};
pub use monitor::Monitor;
pub use request::{Format, ImportedRequest, TimestampPrecision, ValueSize, Verb};
pub use requests::{Bad, ImportedTraceError, Place, ReadTotals, RequestSource, Requests};
pub use stage::StampSpacing;
pub use unpack::unpacked;
