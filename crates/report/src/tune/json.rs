//! A tune as one JSON object.

use assay_analysis::slo::{TermFinding, Value};
use assay_analysis::sweep::{Point, Sweep};
use assay_analysis::tune::{Bracket, Plan, Purpose, SearchEnd, Step, StepReason, Undecided};

use super::{TuneKind, Tuning, words};
use crate::object::{objects, pretty};
use crate::units::Letters;

/// The version of the object.
pub const SCHEMA: &str = "assay/tune/v2";

/// The tune as one indented JSON object with a line end.
pub fn json(tuning: &Tuning) -> String {
    pretty(&TuneObject::new(tuning))
}

objects! {
/// A search for the highest sustained rate, or a sweep: times in nanoseconds, rates in operations
/// per second.
#[schemars(title = "A search for the highest rate, or a sweep")]
pub struct TuneObject<'a>(tuning: &'a Tuning)
where
    let (state, rate_per_s) = state(tuning);
    let objective = tuning.objective.iter().flat_map(|objective| &objective.terms);
{
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str = SCHEMA,
    /// A headline of a few words.
    title: &'a str = &tuning.title,
    /// The command that repeats it, as one line for a shell.
    command: &'a str = &tuning.command,
    /// The directory that keeps a run directory for each step.
    dir: &'a str = &tuning.dir,
    /// The store's URL without secrets.
    store: &'a str = &tuning.url,
    /// The load of a step, in words.
    load: &'a str = &tuning.load,
    /// The seed from which everything random followed.
    seed: u64,
    /// The client machine.
    machine: &'a str = &tuning.machine,
    /// The version of this program.
    version: &'a str = &tuning.version,
    /// The terms of the objective; a sweep may have none.
    objective: Vec<String> = objective.map(|term| words::term(term, Letters::Ascii)).collect(),
    /// How it ended.
    #[schemars(extend("enum" = [
        "found", "below-floor", "cannot-tell", "too-many-steps", "non-monotone", "swept",
        "interrupted"
    ]))]
    state: &'static str = state,
    /// The sustained rate in arrivals per second; of a sweep the highest up to which all hold; null
    /// if there is none.
    rate_per_s: Option<f64> = rate_per_s,
    /// The rates between which the result lies, as far as they are known.
    interval: BracketObject = BracketObject::new(&tuning.bracket),
    /// The search; null if it is a sweep.
    search: Option<SearchObject> = search(tuning),
    /// The sweep; null if it is a search.
    sweep: Option<SweepObject> = sweep(tuning),
    /// Where the curve of latencies bends; null if it does not, or if that is not known.
    knee: Option<PointObject> = tuning.knee.as_ref().map(PointObject::new),
    /// Steps that failed below a rate that held: the number of the step that failed, then that of
    /// the step that held.
    inversions: Vec<[usize; 2]> =
        tuning.inversions.iter().map(|one| [one.failed, one.held]).collect(),
    /// The steps in the order in which they were made.
    steps: Vec<StepObject> = tuning.steps.iter().map(StepObject::new).collect(),
    /// What must be known besides, one sentence each.
    warnings: &'a [String] = &tuning.warnings,
}

/// Rates between which the result lies, in arrivals per second.
struct BracketObject(bracket: &Bracket) {
    /// The highest rate per second that is known to hold; null if there is none.
    held_per_s: Option<f64> = bracket.held,
    /// The lowest rate per second above it that was shown to fail; null if there is none.
    failed_per_s: Option<f64> = bracket.failed,
    /// The lowest rate per second between the two that no step could tell; null if there is none.
    unknown_per_s: Option<f64> = bracket.unknown,
}

/// What was searched.
struct SearchObject(plan: &Plan, ending: Option<&SearchEnd>)
where
    let (exceeded_by_step, is_ceiling) = match ending {
        Some(SearchEnd::Found { exceeded, is_ceiling, .. }) => (*exceeded, *is_ceiling),
        _ => (None, false),
    };
{
    /// The lowest rate of interest in arrivals per second.
    min_per_s: f64 = plan.min,
    /// The highest rate of interest in arrivals per second; null if there is none.
    max_per_s: Option<f64> = plan.max,
    /// How far apart the rate found and the lowest that fails may be, as a share.
    within: f64,
    /// The number of fresh runs that must hold at the rate that is found.
    confirmations: u32,
    /// The number of the step a little above the rate found that failed; null at the ceiling, or if
    /// no step above it could be shown to fail.
    exceeded_by_step: Option<usize> = exceeded_by_step,
    /// Whether the rate found is the ceiling, so that the store may sustain more.
    is_ceiling: bool = is_ceiling,
}

/// Which rates were tried.
struct SweepObject(sweep: &Sweep) {
    /// The first rate in arrivals per second.
    from_per_s: f64 = sweep.from,
    /// The last rate in arrivals per second.
    to_per_s: f64 = sweep.to,
    /// The number of rates.
    points: usize,
    /// Whether their differences or their ratios are equal.
    #[schemars(extend("enum" = ["lin", "log"]))]
    spread: &'static str = sweep.spread.name(),
}

/// Where the curve of latencies bends.
struct PointObject(knee: &Point) {
    /// The target rate in arrivals per second.
    rate_per_s: f64 = knee.rate,
    /// The latency there in nanoseconds.
    latency_ns: f64,
}

/// One run.
struct StepObject(step: &Step)
where
    let figures = &step.outcome.figures;
{
    /// Its number, from 0.
    step: usize = step.request.number,
    /// What it is for.
    #[schemars(extend("enum" = Purpose::ALL.map(Purpose::name)))]
    purpose: &'static str = step.request.purpose.name(),
    /// The target rate in arrivals per second.
    rate_per_s: f64 = step.request.rate,
    /// How many times as long as usual it is.
    length: u32 = step.request.length,
    /// Its length in seconds.
    seconds: f64 = figures.seconds,
    /// Arrivals per second.
    offered_per_s: f64 = figures.offered_per_s,
    /// Operations done per second.
    done_per_s: f64 = figures.done_per_s,
    /// The median of the response times in nanoseconds.
    p50_ns: u64 = figures.p50.0,
    /// The 99th percentile of the response times in nanoseconds.
    p99_ns: u64 = figures.p99.0,
    /// The 99.9th percentile of the response times in nanoseconds.
    p999_ns: u64 = figures.p999.0,
    /// The 99th percentile of the lag in nanoseconds.
    lag_p99_ns: u64 = figures.lag_p99.0,
    /// Whether its rate is sustained.
    #[schemars(extend("enum" = ["held", "violated", "unknown"]))]
    verdict: &'static str = step.outcome.verdict.name(),
    /// What was found of each term of the objective.
    terms: Vec<TermObject> = step.outcome.terms.iter().map(TermObject::new).collect(),
    /// Why the rate is not sustained, or why that is unknown.
    reasons: Vec<ReasonObject> = step.outcome.reasons.iter().map(ReasonObject::new).collect(),
}

/// One term of the objective, with what was found.
struct TermObject(found: &TermFinding)
where
    let (latency_ns, share) = match found.value {
        Value::Latency(latency) => (Some(latency.0), None),
        Value::Share(share) => (None, Some(share)),
        Value::Endless | Value::Nothing => (None, None),
    };
{
    /// The term.
    name: String = words::name(&found.term),
    /// The latency found in nanoseconds; null if the term is about a share, or if there is none.
    latency_ns: Option<u64> = latency_ns,
    /// The share found; null if the term is about a latency, or if there is none.
    share: Option<f64> = share,
    /// The number of operations that it was found on.
    count: u64,
    /// The number of those that were over the limit, or were what must be rare.
    over: u64,
    /// The number of operations it takes to hold if no more are over the limit.
    needed: u64,
    /// The number of successive operations that tell as much as one independent one.
    dependence: f64,
    /// Whether the term holds.
    #[schemars(extend("enum" = ["held", "violated", "unknown"]))]
    verdict: &'static str = found.verdict.name(),
}

/// Why a rate is not sustained, or why that is unknown.
struct ReasonObject(reason: &StepReason) {
    /// The reason in a word.
    #[schemars(extend("enum" = [
        "objective", "undecided", "overload", "backlog", "short", "rate", "hallmark", "client",
        "broken"
    ]))]
    reason: &'static str = words::reason_name(reason),
    /// The check of the hallmark by which the client was not fit to measure; null for other
    /// reasons.
    check: Option<&'static str> = match reason {
        StepReason::Client(check) => Some(check.name()),
        _ => None,
    },
}
}

fn state(tuning: &Tuning) -> (&'static str, Option<f64>) {
    match tuning.time_course {
        _ if tuning.is_interrupted => ("interrupted", None),
        TuneKind::Sweep { held, .. } => ("swept", held.filter(|_| tuning.objective.is_some())),
        TuneKind::Search { ending, .. } => match ending {
            Some(SearchEnd::Found { rate, .. }) => ("found", Some(rate)),
            Some(SearchEnd::BelowFloor) => ("below-floor", None),
            Some(SearchEnd::Undecided { why: Undecided::Steps, .. }) => ("too-many-steps", None),
            Some(SearchEnd::Undecided { why: Undecided::NonMonotone, .. }) => {
                ("non-monotone", None)
            }
            Some(SearchEnd::Undecided { why: Undecided::Client, .. }) => ("cannot-tell", None),
            None => ("interrupted", None),
        },
    }
}

fn search(tuning: &Tuning) -> Option<SearchObject> {
    let TuneKind::Search { plan, ending, .. } = &tuning.time_course else { return None };
    Some(SearchObject::new(plan, ending.as_ref()))
}

fn sweep(tuning: &Tuning) -> Option<SweepObject> {
    let TuneKind::Sweep { sweep, .. } = &tuning.time_course else { return None };
    Some(SweepObject::new(sweep))
}
