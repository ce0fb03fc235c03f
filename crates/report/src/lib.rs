//! Reports of a result: terminal, HTML, plots, exports.
//!
//! Every function turns a run's [`Facts`] with the analyzer's [`Summary`](assay_analysis::Summary)
//! into text. Nothing is measured here: numbers change their units, never their meaning.

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

mod csv;
mod hdr_log;
mod html;
mod json;
mod markdown;
mod terminal;

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
pub use facts::{
    ActionEffect, AgentFacts, Facts, PhaseSpan, RuleFinding, State, StoreFacts, WorkloadFigure,
};
pub use hdr_log::{WriteLogError, hdr_log, ycsb_hdr_logs};
pub use html::compare::{compare_html, group_html};
pub use html::html;
pub use json::{INTERVAL_SCHEMA, SCHEMA, SCHEMAS, json, ndjson, schema_of};
pub use markdown::markdown;
pub use terminal::{Style, terminal};
pub use units::Letters;
