//! Sections of the manifest about the load: what was asked for, and what became of it.

use std::path::PathBuf;

use assay_model::named_enum;
use serde::{Deserialize, Serialize};

use super::wide;

/// The load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadSection {
    /// `open`, `closed` or `partly-open`.
    pub model: String,
    /// Everything about it in words, for example `constant 20000/s for 30 s`.
    pub text: String,
    /// The threads of the executor.
    #[serde(rename = "threads", alias = "lanes")]
    pub workers: u16,
    /// What the analysis has to know of it.
    pub settings: LoadSettings,
}

/// What the analysis has to know of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct LoadSettings {
    /// What was executed.
    pub phase: LoadPhase,
    /// Open: arrivals per second, or their profile over time, as `--rate` takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// Open: how much faster a written schedule was replayed, instead of a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// Open: the arrival process, as `--arrivals` takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<String>,
    /// The seed of the arrivals, if it is not that of the run.
    #[serde(with = "wide::optional", skip_serializing_if = "Option::is_none")]
    pub arrival_seed: Option<u64>,
    /// Open: the most processes in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u64>,
    /// Open: what the clients of all workers take, if that is less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight_bound: Option<u64>,
    /// Open: what becomes of arrivals beyond that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<String>,
    /// Closed: the sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<u64>,
    /// Closed: the most operations per second of all sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_throughput: Option<f64>,
    /// When an operation without a response counts as unknown, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// The longest response time of a good operation, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// Threads of each worker for calls that block.
    pub blocking_threads: u64,
    /// When workers wait for the next arrival without giving up their processor.
    pub spin: Spinning,
    /// The processors of the workers, if they were given some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_list: Option<String>,
    /// Whether the store computes when each request ends instead of waiting for it.
    pub simulated_time: bool,
    /// The search of which the run is a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tune: Option<TuneStepSection>,
}

named_enum! {
    /// What was executed.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum LoadPhase {
        /// The operations of a workload.
        #[default]
        Run => "run",
        /// The inserts before them.
        Load => "load",
    }
}

named_enum! {
    /// When workers wait for the next arrival without giving up their processor.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Spinning {
        /// They sleep.
        #[default]
        Never => "never",
        /// In the last stretch before it.
        LastStretch => "last-stretch",
        /// All the time.
        Always => "always",
    }
}

/// The place of a run in a search for the highest rate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TuneStepSection {
    /// The directory of the search.
    pub directory: PathBuf,
    /// The step, from 1.
    pub step: u64,
    /// What it was for.
    pub purpose: String,
}

/// What the executor knows when it has ended; empty while the run goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecutionSection {
    /// Whether the plan was issued in full.
    pub issued_all: bool,
    /// The hash of what was executed, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executed_hash: Option<String>,
    /// Arrivals per second that were planned over the measured window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_rate: Option<f64>,
    /// Arrivals that waited because as many as allowed were in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<u64>,
    /// When they did.
    #[serde(with = "stretches", skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<Vec<HeldStretch>>,
    /// Responses that came after the timeout had expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_answers: Option<u64>,
    /// The most operations in flight, added up over workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight_max: Option<u64>,
    /// Processor time of all workers, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_cpu_ns: Option<u64>,
    /// Final reads, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_reads: Option<u64>,
    /// Changes of the rate while the run went on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rate_changes: Vec<RateChangeSection>,
}

/// A change of the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RateChangeSection {
    /// From when on, in nanoseconds on the run's time axis.
    pub at_ns: u64,
    /// Arrivals per second from then on.
    pub rate: f64,
}

/// From when until when, in nanoseconds on the run's time axis.
pub type HeldStretch = (u64, u64);

/// Stretches of each worker as one short text, `from-until,…;…`: there can be thousands.
pub(super) mod stretches {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::HeldStretch;

    pub(super) fn serialize<S: Serializer>(
        workers: &[Vec<HeldStretch>],
        into: S,
    ) -> Result<S::Ok, S::Error> {
        let stretch = |(from, until): &HeldStretch| format!("{from}-{until}");
        let worker = |all: &Vec<HeldStretch>| all.iter().map(stretch).collect::<Vec<_>>().join(",");
        into.serialize_str(&workers.iter().map(worker).collect::<Vec<_>>().join(";"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Vec<HeldStretch>>, D::Error> {
        let text = String::deserialize(from)?;
        parse(&text).ok_or_else(|| {
            D::Error::custom("held_back is from-until, with commas between stretches in order")
        })
    }

    /// The stretches, each worker's in the order of time.
    pub(crate) fn parse(text: &str) -> Option<Vec<Vec<HeldStretch>>> {
        let stretch = |text: &str| {
            let (from, until) = text.split_once('-')?;
            let stretch: HeldStretch = (from.parse().ok()?, until.parse().ok()?);
            (stretch.0 <= stretch.1).then_some(stretch)
        };
        let worker = |worker: &str| {
            let stretches = worker.split(',').filter(|text| !text.is_empty());
            let stretches: Option<Vec<HeldStretch>> = stretches.map(stretch).collect();
            stretches.filter(|all| all.is_sorted_by_key(|stretch| stretch.0))
        };
        text.split(';').map(worker).collect()
    }
}
