//! The study as one JSON object.
//!
//! Names are in alphabetical order.

use std::collections::BTreeMap;

use assay_analysis::sawtooth::{Figures, SlowClient};
use assay_model::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

use super::{MethodResult, Study, StudyRun};
use crate::object::{finite, pretty};
use crate::units::percentile_name;

/// The version of the object.
pub const STUDY_SCHEMA: &str = "assay.study-co.1";

/// The study as one JSON object.
pub fn study_json(study: &Study) -> String {
    pretty(&StudyObject::new(study))
}

/// One hiccup as three ways to measure see it.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "The study of coordinated omission")]
pub struct StudyObject<'a> {
    /// The version of this program.
    assay: &'a str,
    /// The command that repeats it, as one line for a shell.
    command: &'a str,
    /// The number of figures that were compared with their closed forms.
    compared: usize,
    /// Whether all of them agree.
    holds: bool,
    /// The largest relative deviation; null if it is infinite.
    largest_deviation: Option<f64>,
    /// The number of operations of all runs.
    operations: u64,
    /// The runs.
    runs: Vec<StudyRunObject>,
    /// The version of this object.
    #[schemars(extend("const" = STUDY_SCHEMA))]
    schema: &'static str,
    /// The seed; no latency depends on it.
    seed: u64,
    /// Clients that lose time between an answer and their next request.
    slow_clients: Vec<SlowClientObject>,
}

impl StudyObject<'_> {
    fn new(study: &Study) -> StudyObject<'_> {
        let agreement = study.agreement();
        StudyObject {
            assay: &study.version,
            command: &study.command,
            compared: agreement.compared,
            holds: agreement.holds(),
            largest_deviation: finite(agreement.worst),
            operations: study.operations(),
            runs: study.runs.iter().map(StudyRunObject::new).collect(),
            schema: STUDY_SCHEMA,
            seed: study.seed,
            slow_clients: study.slow.iter().map(SlowClientObject::new).collect(),
        }
    }
}

/// One run.
#[derive(JsonSchema, Serialize)]
struct StudyRunObject {
    /// The store's capacity in operations per second.
    capacity_per_s: f64,
    /// How exactly the store's clock goes.
    clock: &'static str,
    /// The hiccup.
    hiccup: HiccupObject,
    /// What each way to measure sees.
    measured: Vec<MeasuredObject>,
    /// Whether arrivals have times of their own, or follow responses.
    #[schemars(extend("enum" = ["open", "closed"]))]
    model: &'static str,
    /// The number of operations.
    operations: u64,
    /// The target rate in operations per second.
    rate_per_s: f64,
    /// The number of sessions; null for the open model.
    sessions: Option<u32>,
}

/// A stretch of time in which the store does nothing.
#[derive(JsonSchema, Serialize)]
struct HiccupObject {
    /// When it begins, in nanoseconds on the run's time axis.
    at_ns: u64,
    /// Its length in nanoseconds.
    length_ns: u64,
}

impl StudyRunObject {
    fn new(run: &StudyRun) -> StudyRunObject {
        let sawtooth = &run.sawtooth;
        StudyRunObject {
            capacity_per_s: sawtooth.capacity,
            clock: run.clock.name(),
            hiccup: HiccupObject { at_ns: sawtooth.at.0, length_ns: sawtooth.hiccup.0 },
            measured: run.sights.iter().map(MeasuredObject::new).collect(),
            model: if run.sessions.is_some() { "closed" } else { "open" },
            operations: sawtooth.operations,
            rate_per_s: sawtooth.rate,
            sessions: run.sessions,
        }
    }
}

/// What one way to measure sees.
#[derive(JsonSchema, Serialize)]
struct MeasuredObject {
    /// The largest relative deviation from the closed form; null if there is none, or if it is
    /// infinite.
    deviation: Option<f64>,
    /// What the closed form says; null for a store that has none.
    expected: Option<FiguresObject>,
    /// What was measured.
    found: FiguresObject,
    /// The way to measure.
    measure: &'static str,
}

impl MeasuredObject {
    fn new(method: &MethodResult) -> MeasuredObject {
        MeasuredObject {
            deviation: method.deviation().and_then(finite),
            expected: method.expected.as_ref().map(FiguresObject::new),
            found: FiguresObject::new(&method.found),
            measure: method.measure.name(),
        }
    }
}

/// Latencies around the hiccup.
#[derive(JsonSchema, Serialize)]
struct FiguresObject {
    /// The number of operations that took longer than without queueing.
    affected: u64,
    /// Nanoseconds from the hiccup's begin until latencies were healthy again.
    back_after_ns: u64,
    /// The longest in nanoseconds.
    max_ns: u64,
    /// The mean in nanoseconds.
    mean_ns: f64,
    /// Percentiles in nanoseconds, by their names.
    percentiles_ns: BTreeMap<String, u64>,
}

impl FiguresObject {
    fn new(figures: &Figures) -> FiguresObject {
        let named = |(quantile, time): &(f64, Nanos)| (percentile_name(*quantile), time.0);
        FiguresObject {
            affected: figures.affected,
            back_after_ns: figures.back_after.0,
            max_ns: figures.max.0,
            mean_ns: figures.mean_ns,
            percentiles_ns: figures.quantiles.iter().map(named).collect(),
        }
    }
}

/// Clients that lose time between an answer and their next request.
#[derive(JsonSchema, Serialize)]
struct SlowClientObject {
    /// The most requests per second that the store gets of them, by the closed form.
    catching_up_per_s: f64,
    /// The relative deviation from the closed form; null if it is infinite.
    deviation: Option<f64>,
    /// Nanoseconds until the intended latency is back to normal, by the closed form; null for
    /// never.
    expected_back_ns: Option<u64>,
    /// Nanoseconds until it was; null if not before the run's end.
    found_back_ns: Option<u64>,
    /// What a session loses between an answer and its next request, in nanoseconds.
    pause_ns: u64,
    /// The number of sessions.
    sessions: u32,
}

impl SlowClientObject {
    fn new(client: &SlowClient) -> SlowClientObject {
        SlowClientObject {
            catching_up_per_s: client.catching_up_at,
            deviation: finite(client.deviation()),
            expected_back_ns: client.expected_back.map(|time| time.0),
            found_back_ns: client.found_back.map(|time| time.0),
            pause_ns: client.pause.0,
            sessions: client.sessions,
        }
    }
}
