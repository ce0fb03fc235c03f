//! The study as one JSON object.
//!
//! Names are in alphabetical order.

use std::collections::BTreeMap;

use assay_analysis::sawtooth::{Figures, Sawtooth, SlowClient};
use assay_model::Nanos;

use super::{MethodResult, Study, StudyRun};
use crate::object::{finite, objects, pretty};
use crate::units::percentile_name;

/// The version of the object.
pub const STUDY_SCHEMA: &str = "assay.study-co.1";

/// The study as one JSON object.
pub fn study_json(study: &Study) -> String {
    pretty(&StudyObject::new(study))
}

objects! {
/// One hiccup as three ways to measure see it.
#[schemars(title = "The study of coordinated omission")]
pub struct StudyObject<'a>(study: &'a Study)
where
    let agreement = study.agreement();
{
    /// The version of this program.
    assay: &'a str = &study.version,
    /// The command that repeats it, as one line for a shell.
    command: &'a str = &study.command,
    /// The number of figures that were compared with their closed forms.
    compared: usize = agreement.compared,
    /// Whether all of them agree.
    holds: bool = agreement.holds(),
    /// The largest relative deviation; null if it is infinite.
    largest_deviation: Option<f64> = finite(agreement.worst),
    /// The number of operations of all runs.
    operations: u64 = study.operations(),
    /// The runs.
    runs: Vec<StudyRunObject> = study.runs.iter().map(StudyRunObject::new).collect(),
    /// The version of this object.
    #[schemars(extend("const" = STUDY_SCHEMA))]
    schema: &'static str = STUDY_SCHEMA,
    /// The seed; no latency depends on it.
    seed: u64,
    /// Clients that lose time between an answer and their next request.
    slow_clients: Vec<SlowClientObject> = study.slow.iter().map(SlowClientObject::new).collect(),
}

/// One run.
struct StudyRunObject(run: &StudyRun)
where
    let sawtooth = &run.sawtooth;
{
    /// The store's capacity in operations per second.
    capacity_per_s: f64 = sawtooth.capacity,
    /// How exactly the store's clock goes.
    clock: &'static str = run.clock.name(),
    /// The hiccup.
    hiccup: HiccupObject = HiccupObject::new(sawtooth),
    /// What each way to measure sees.
    measured: Vec<MeasuredObject> = run.sights.iter().map(MeasuredObject::new).collect(),
    /// Whether arrivals have times of their own, or follow responses.
    #[schemars(extend("enum" = ["open", "closed"]))]
    model: &'static str = if run.sessions.is_some() { "closed" } else { "open" },
    /// The number of operations.
    operations: u64 = sawtooth.operations,
    /// The target rate in operations per second.
    rate_per_s: f64 = sawtooth.rate,
    /// The number of sessions; null for the open model.
    sessions: Option<u32>,
}

/// A stretch of time in which the store does nothing.
struct HiccupObject(sawtooth: &Sawtooth) {
    /// When it begins, in nanoseconds on the run's time axis.
    at_ns: u64 = sawtooth.at.0,
    /// Its length in nanoseconds.
    length_ns: u64 = sawtooth.hiccup.0,
}

/// What one way to measure sees.
struct MeasuredObject(method: &MethodResult) {
    /// The largest relative deviation from the closed form; null if there is none, or if it is
    /// infinite.
    deviation: Option<f64> = method.deviation().and_then(finite),
    /// What the closed form says; null for a store that has none.
    expected: Option<FiguresObject> = method.expected.as_ref().map(FiguresObject::new),
    /// What was measured.
    found: FiguresObject = FiguresObject::new(&method.found),
    /// The way to measure.
    measure: &'static str = method.measure.name(),
}

/// Latencies around the hiccup.
struct FiguresObject(figures: &Figures)
where
    let named = |(quantile, time): &(f64, Nanos)| (percentile_name(*quantile), time.0);
{
    /// The number of operations that took longer than without queueing.
    affected: u64,
    /// Nanoseconds from the hiccup's begin until latencies were healthy again.
    back_after_ns: u64 = figures.back_after.0,
    /// The longest in nanoseconds.
    max_ns: u64 = figures.max.0,
    /// The mean in nanoseconds.
    mean_ns: f64,
    /// Percentiles in nanoseconds, by their names.
    percentiles_ns: BTreeMap<String, u64> = figures.quantiles.iter().map(named).collect(),
}

/// Clients that lose time between an answer and their next request.
struct SlowClientObject(client: &SlowClient) {
    /// The most requests per second that the store gets of them, by the closed form.
    catching_up_per_s: f64 = client.catching_up_at,
    /// The relative deviation from the closed form; null if it is infinite.
    deviation: Option<f64> = finite(client.deviation()),
    /// Nanoseconds until the intended latency is back to normal, by the closed form; null for
    /// never.
    expected_back_ns: Option<u64> = client.expected_back.map(|time| time.0),
    /// Nanoseconds until it was; null if not before the run's end.
    found_back_ns: Option<u64> = client.found_back.map(|time| time.0),
    /// What a session loses between an answer and its next request, in nanoseconds.
    pause_ns: u64 = client.pause.0,
    /// The number of sessions.
    sessions: u32,
}
}
