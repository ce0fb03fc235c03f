//! Analysis of a history: pure functions from records to numbers.
//!
//! An [`Analyzer`] takes [`AnalysisOptions`], is given records batch by batch in any order of
//! workers, and finishes with a [`Summary`]. It runs on records alone: it uses no clock, no file
//! and no store, produces no text, and its memory is bounded however long the history is.

mod options;
mod summary;

mod analyzer;

mod buckets;
mod confidence;
mod distribution;
mod kind_stats;
mod latency_stats;
mod median;
mod transactions;

pub mod effect;
pub mod recovery;
pub mod scraped;
pub mod servers;
pub mod slo;
pub mod sweep;
pub mod tune;

mod binomial;
mod student;

mod availability;
mod nodes;
mod plausibility;
mod series;
mod starts;

pub mod sawtooth;

pub mod compare;
pub mod hallmark;

pub mod matrix;
pub mod usl;

pub mod ycsb;

#[cfg(test)]
mod tests;

pub use analyzer::{Analyzer, analyze};
pub use options::{
    AnalysisOptions, Atomicity, DEADLINE, Held, LoadModel, Phases, Processes, Window,
};
pub use plausibility::{Plausibility, Verdict, plausibility};
pub use starts::{BOX_QUANTILES, Boxplot, Starts};
pub use summary::{
    Availability, Counts, Distribution, Goodput, GoodputBin, Group, HeatMap, HeldBack, Histogram,
    InFlight, Interval, IntervalSummary, Latency, NodeSummary, Outage, Percentile, Queried, Quick,
    Rates, Series, Shortage, Silence, Summary, Transactions, ValueChecks,
};

use assay_model::Nanos;

/// The longest latency that histograms tell apart: 2^42 − 1 ns, 73 minutes.
pub const LONGEST: Nanos = Nanos((1 << 42) - 1);

/// The quantiles of [`Distribution::percentiles`].
pub const QUANTILES: [f64; 9] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 1.0];
