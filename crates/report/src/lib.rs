//! Reports of a result: terminal, HTML, plots, exports.
//!
//! What people read of a result is a [`Document`], one function for each kind of result, with a
//! renderer for each format. Nothing is measured here: numbers change their units, never their
//! meaning.

pub mod document;
pub mod facts;
pub mod hallmark;
pub mod verdict;

mod object;
mod percentile;
mod prose;
pub mod recovery;
mod scraped;
mod servers;
pub mod table;
mod tables;
pub mod units;

mod chart;
mod csv;
mod escape;
mod hdr_log;
mod json;
mod run;

mod agents;
pub mod anomalies;
pub mod compare;
pub mod consistency;
pub mod junit;
pub mod mapping;
pub mod matrix;
pub mod repeated;
pub mod result_log;
pub mod runs;

mod java;
pub mod precision;
pub mod study;
pub mod tune;
pub mod ycsb;

#[cfg(test)]
mod sample;

pub use csv::csv;
pub use document::{Document, Style};
pub use facts::{
    ActionEffect, AgentFacts, Facts, PhaseSpan, RuleFinding, State, StoreFacts, WorkloadFigure,
};
pub use hdr_log::{WriteLogError, hdr_log, ycsb_hdr_logs};
pub use json::{INTERVAL_SCHEMA, SCHEMA, SCHEMAS, json, ndjson, schema_of};
pub use run::document as run;
pub use units::Letters;
