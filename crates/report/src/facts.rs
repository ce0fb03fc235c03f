//! Facts of a report about a run, other than its figures.

use crate::consistency::ConsistencyResult;
use crate::recovery::AvailabilityFacts;
use assay_analysis::Silence;
use assay_analysis::effect::Effect;
use assay_analysis::hallmark::Hallmark;
use assay_analysis::scraped::ScrapedSeries;
use assay_analysis::servers::ServerTimeSeries;
use assay_model::{Event, Nanos, Phase, Setting};
use schemars::JsonSchema;
use serde::Serialize;

/// The facts of a run that no record has: workload, store, client, date.
///
/// All texts are shown as they are, so secrets must be gone from them already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The run directory's name, for example `2026-11-21T18-30-12Z-redis-ycsb-a-7f3c`.
    pub run_id: String,
    /// A headline of a few words, for example `ycsb-b on redis`.
    pub title: String,
    /// The command that repeats the run, as one line for a shell.
    pub command: String,
    /// The seed from which everything random followed.
    pub seed: u64,
    /// The name of the workload's spec.
    pub spec: String,
    /// The hash of the trace as planned, in hexadecimal, where the plan has an end.
    pub trace_hash_planned: Option<String>,
    /// The hash of the operations that were executed, in hexadecimal.
    pub trace_hash_executed: Option<String>,
    /// The store.
    pub store: StoreFacts,
    /// The load model in words, for example `Poisson arrivals, at most 4096 in flight, then queue`.
    pub load: String,
    /// How many sessions there were.
    pub sessions: u64,
    /// How many workers (threads) there were.
    pub workers: u64,
    /// When each phase began and ended, in order of time.
    pub phases: Vec<PhaseSpan>,
    /// How the run came to its end.
    pub state: State,
    /// The client machine, for example `2 × AMD EPYC 7B13, 8 GiB, Linux 6.1`.
    pub machine: String,
    /// The version of this program, for example `0.1.0`.
    pub version: String,
    /// When the run's epoch was, as a person reads it, for example `2026-11-21 18:30:12 UTC`.
    pub started: String,
    /// When the run's epoch was, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// What a reader must know before believing the figures; shown loudly, one sentence each.
    pub warnings: Vec<String>,
    /// What must hold of the store's rows after the run, with what was found.
    pub findings: Vec<RuleFinding>,
    /// Figures that the workload's own definition requires, with their remarks.
    pub figures: Vec<WorkloadFigure>,
    /// What happened to the run as a whole, in order of time.
    pub events: Vec<Event>,
    /// What was done to the store meanwhile, with what was seen of it in its answers.
    pub effects: Vec<ActionEffect>,
    /// The agents of a fleet; none in a run of one process.
    pub agents: Vec<AgentFacts>,
    /// The resource use of the store's servers, if it was observed.
    pub servers: Vec<ServerTimeSeries>,
    /// What servers counted about themselves, if that was read.
    pub scraped: Vec<ScrapedSeries>,
    /// What the answers show about the store's consistency, if that was judged.
    pub consistency: Option<ConsistencyResult>,
    /// States over time and recoveries from faults, if there is enough of the run to tell.
    pub availability: Option<AvailabilityFacts>,
    /// Whether the figures may be believed, if the run was examined.
    pub hallmark: Option<Hallmark>,
    /// What the instrument itself needs, by percentile, if that was measured.
    pub floor: Vec<(String, Nanos)>,
}

/// The store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreFacts {
    /// Its name in one word, for example `redis`.
    pub name: String,
    /// Its URL without secrets.
    pub url: String,
    /// Its effective settings, durability among them.
    pub settings: Vec<Setting>,
    /// Whether it keeps nothing and finds nothing: its figures are a floor, no ranking.
    pub is_no_op: bool,
    /// Whether it executed queries without having transactions: nothing of one that fails or is
    /// rolled back is undone.
    pub is_best_effort: bool,
}

/// One agent of a fleet, as the JSON form of a result has it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "AgentObject")]
pub struct AgentFacts {
    /// Its number.
    pub agent: u32,
    /// Its machine.
    pub host: String,
    /// The number of its worker threads.
    #[serde(rename = "threads")]
    pub workers: u32,
    /// The number of its operations in the window.
    pub offered: u64,
    /// Those that were done, per second of the window.
    pub done_per_s: f64,
    /// The median of their response times in nanoseconds; null if there are none.
    #[serde(rename = "p50_ns")]
    #[schemars(with = "Option<u64>")]
    pub p50: Option<Nanos>,
    /// Their 99th percentile in nanoseconds; null if there are none.
    #[serde(rename = "p99_ns")]
    #[schemars(with = "Option<u64>")]
    pub p99: Option<Nanos>,
    /// The 99th percentile of its lag in nanoseconds; null if there is none.
    #[serde(rename = "lag_p99_ns")]
    #[schemars(with = "Option<u64>")]
    pub lag_p99: Option<Nanos>,
    /// Its epoch was at least so many nanoseconds later than the run's, less than zero is earlier;
    /// null if that was not measured.
    pub start_least_ns: Option<i64>,
    /// Its epoch was at most so many nanoseconds later; null if that was not measured.
    pub start_most_ns: Option<i64>,
}

/// A rule about the store's rows, with what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFinding {
    /// What it is called, for example `TPC-C 3.3.2.1`.
    pub name: String,
    /// What must hold.
    pub rule: String,
    /// Whether it does.
    pub is_held: bool,
    /// Where, with both sides if it does not hold.
    pub text: String,
}

/// Something that was done to the store, with what was seen of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionEffect {
    /// What was done, for example `scale to 2`.
    pub text: String,
    /// When, on the run's time axis.
    pub at: Nanos,
    /// The longest silence that it caused, if there was one.
    pub stop: Option<Silence>,
    /// What was seen; `None` if too little of the run lies before or after it to tell.
    pub effect: Option<Effect>,
}

/// A figure that the workload's own definition requires.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct WorkloadFigure {
    /// Its name, for example `tpmC`.
    pub name: String,
    /// Its value, in the unit that the definition gives it.
    pub value: f64,
    /// What must be said beside it.
    pub note: String,
}

/// When a phase began and ended on the run's time axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseSpan {
    /// Which phase.
    pub phase: Phase,
    /// Its first moment.
    pub began: Nanos,
    /// Its last moment.
    pub ended: Nanos,
}

/// How a run came to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// The plan was issued in full.
    #[default]
    Finished,
    /// It was stopped; the figures cover the operations until then.
    Interrupted,
    /// Its end is missing in the run directory: it is still running, or the program was killed.
    Unfinished,
    /// The program was killed; what was there has been sealed.
    Repaired,
    /// It stopped by itself for this reason.
    Failed(String),
}

impl State {
    /// The names of all states.
    pub const NAMES: [&str; 5] = ["finished", "interrupted", "unfinished", "repaired", "failed"];

    /// The name used in columns and reports.
    pub const fn name(&self) -> &'static str {
        match self {
            State::Finished => "finished",
            State::Interrupted => "interrupted",
            State::Unfinished => "unfinished",
            State::Repaired => "repaired",
            State::Failed(_) => "failed",
        }
    }
}
