//! A tune as one JSON object.

use assay_analysis::slo::{TermFinding, Value};
use assay_analysis::sweep::Spread;
use assay_analysis::tune::{Purpose, SearchEnd, Step, StepReason, Undecided};
use schemars::JsonSchema;
use serde::Serialize;

use super::{TuneKind, Tuning, words};
use crate::object::pretty;
use crate::units::Letters;

/// The version of the object.
pub const SCHEMA: &str = "assay/tune/v2";

/// A search for the highest sustained rate, or a sweep: times in nanoseconds, rates in operations
/// per second.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "A search for the highest rate, or a sweep")]
pub struct TuneObject<'a> {
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// A headline of a few words.
    title: &'a str,
    /// The command that repeats it, as one line for a shell.
    command: &'a str,
    /// The directory that keeps a run directory for each step.
    dir: &'a str,
    /// The store's URL without secrets.
    store: &'a str,
    /// The load of a step, in words.
    load: &'a str,
    /// The seed from which everything random followed.
    seed: u64,
    /// The client machine.
    machine: &'a str,
    /// The version of this program.
    version: &'a str,
    /// The terms of the objective; a sweep may have none.
    objective: Vec<String>,
    /// How it ended.
    #[schemars(extend("enum" = [
        "found", "below-floor", "cannot-tell", "too-many-steps", "non-monotone", "swept",
        "interrupted"
    ]))]
    state: &'static str,
    /// The sustained rate in arrivals per second; of a sweep the highest up to which all hold; null
    /// if there is none.
    rate_per_s: Option<f64>,
    /// The rates between which the result lies, as far as they are known.
    interval: BracketObject,
    /// The search; null if it is a sweep.
    search: Option<SearchObject>,
    /// The sweep; null if it is a search.
    sweep: Option<SweepObject>,
    /// Where the curve of latencies bends; null if it does not, or if that is not known.
    knee: Option<PointObject>,
    /// Steps that failed below a rate that held: the number of the step that failed, then that of
    /// the step that held.
    inversions: Vec<[usize; 2]>,
    /// The steps in the order in which they were made.
    steps: Vec<StepObject>,
    /// What must be known besides, one sentence each.
    warnings: &'a [String],
}

/// Rates between which the result lies, in arrivals per second.
#[derive(JsonSchema, Serialize)]
struct BracketObject {
    /// The highest rate per second that is known to hold; null if there is none.
    held_per_s: Option<f64>,
    /// The lowest rate per second above it that was shown to fail; null if there is none.
    failed_per_s: Option<f64>,
    /// The lowest rate per second between the two that no step could tell; null if there is none.
    unknown_per_s: Option<f64>,
}

/// What was searched.
#[derive(JsonSchema, Serialize)]
struct SearchObject {
    /// The lowest rate of interest in arrivals per second.
    min_per_s: f64,
    /// The highest rate of interest in arrivals per second; null if there is none.
    max_per_s: Option<f64>,
    /// How far apart the rate found and the lowest that fails may be, as a share.
    within: f64,
    /// The number of fresh runs that must hold at the rate that is found.
    confirmations: u32,
    /// The number of the step a little above the rate found that failed; null at the ceiling, or if
    /// no step above it could be shown to fail.
    exceeded_by_step: Option<usize>,
    /// Whether the rate found is the ceiling, so that the store may sustain more.
    is_ceiling: bool,
}

/// Which rates were tried.
#[derive(JsonSchema, Serialize)]
struct SweepObject {
    /// The first rate in arrivals per second.
    from_per_s: f64,
    /// The last rate in arrivals per second.
    to_per_s: f64,
    /// The number of rates.
    points: usize,
    /// Whether their differences or their ratios are equal.
    #[schemars(extend("enum" = ["lin", "log"]))]
    spread: &'static str,
}

/// Where the curve of latencies bends.
#[derive(JsonSchema, Serialize)]
struct PointObject {
    /// The target rate in arrivals per second.
    rate_per_s: f64,
    /// The latency there in nanoseconds.
    latency_ns: f64,
}

/// One run.
#[derive(JsonSchema, Serialize)]
struct StepObject {
    /// Its number, from 0.
    step: usize,
    /// What it is for.
    #[schemars(extend("enum" = Purpose::ALL.map(Purpose::name)))]
    purpose: &'static str,
    /// The target rate in arrivals per second.
    rate_per_s: f64,
    /// How many times as long as usual it is.
    length: u32,
    /// Its length in seconds.
    seconds: f64,
    /// Arrivals per second.
    offered_per_s: f64,
    /// Operations done per second.
    done_per_s: f64,
    /// The median of the response times in nanoseconds.
    p50_ns: u64,
    /// The 99th percentile of the response times in nanoseconds.
    p99_ns: u64,
    /// The 99.9th percentile of the response times in nanoseconds.
    p999_ns: u64,
    /// The 99th percentile of the lag in nanoseconds.
    lag_p99_ns: u64,
    /// Whether its rate is sustained.
    #[schemars(extend("enum" = ["held", "violated", "unknown"]))]
    verdict: &'static str,
    /// What was found of each term of the objective.
    terms: Vec<TermObject>,
    /// Why the rate is not sustained, or why that is unknown.
    reasons: Vec<ReasonObject>,
}

/// One term of the objective, with what was found.
#[derive(JsonSchema, Serialize)]
struct TermObject {
    /// The term.
    name: String,
    /// The latency found in nanoseconds; null if the term is about a share, or if there is none.
    latency_ns: Option<u64>,
    /// The share found; null if the term is about a latency, or if there is none.
    share: Option<f64>,
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
    verdict: &'static str,
}

/// Why a rate is not sustained, or why that is unknown.
#[derive(JsonSchema, Serialize)]
struct ReasonObject {
    /// The reason in a word.
    #[schemars(extend("enum" = [
        "objective", "undecided", "overload", "backlog", "short", "rate", "hallmark", "client",
        "broken"
    ]))]
    reason: &'static str,
    /// The check of the hallmark by which the client was not fit to measure; null for other
    /// reasons.
    check: Option<&'static str>,
}

/// The tune as one indented JSON object with a line end.
pub fn json(tuning: &Tuning) -> String {
    pretty(&object(tuning))
}

fn object(tuning: &Tuning) -> TuneObject<'_> {
    let (state, rate_per_s) = state(tuning);
    let objective = tuning.objective.iter().flat_map(|objective| &objective.terms);
    TuneObject {
        schema: SCHEMA,
        title: &tuning.title,
        command: &tuning.command,
        dir: &tuning.dir,
        store: &tuning.url,
        load: &tuning.load,
        seed: tuning.seed,
        machine: &tuning.machine,
        version: &tuning.version,
        objective: objective.map(|term| words::term(term, Letters::Ascii)).collect(),
        state,
        rate_per_s,
        interval: BracketObject {
            held_per_s: tuning.bracket.held,
            failed_per_s: tuning.bracket.failed,
            unknown_per_s: tuning.bracket.unknown,
        },
        search: search(tuning),
        sweep: sweep(tuning),
        knee: tuning
            .knee
            .map(|knee| PointObject { rate_per_s: knee.rate, latency_ns: knee.latency_ns }),
        inversions: tuning.inversions.iter().map(|one| [one.failed, one.held]).collect(),
        steps: tuning.steps.iter().map(step).collect(),
        warnings: &tuning.warnings,
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
    let (exceeded_by_step, is_ceiling) = match ending {
        Some(SearchEnd::Found { exceeded, is_ceiling, .. }) => (*exceeded, *is_ceiling),
        _ => (None, false),
    };
    Some(SearchObject {
        min_per_s: plan.min,
        max_per_s: plan.max,
        within: plan.within,
        confirmations: plan.confirmations,
        exceeded_by_step,
        is_ceiling,
    })
}

fn sweep(tuning: &Tuning) -> Option<SweepObject> {
    let TuneKind::Sweep { sweep, .. } = &tuning.time_course else { return None };
    Some(SweepObject {
        from_per_s: sweep.from,
        to_per_s: sweep.to,
        points: sweep.points,
        spread: match sweep.spread {
            Spread::Linear => "lin",
            Spread::Log => "log",
        },
    })
}

fn step(step: &Step) -> StepObject {
    let figures = &step.outcome.figures;
    let reason = |reason: &StepReason| ReasonObject {
        reason: words::reason_name(reason),
        check: match reason {
            StepReason::Client(check) => Some(check.name()),
            _ => None,
        },
    };
    StepObject {
        step: step.request.number,
        purpose: step.request.purpose.name(),
        rate_per_s: step.request.rate,
        length: step.request.length,
        seconds: figures.seconds,
        offered_per_s: figures.offered_per_s,
        done_per_s: figures.done_per_s,
        p50_ns: figures.p50.0,
        p99_ns: figures.p99.0,
        p999_ns: figures.p999.0,
        lag_p99_ns: figures.lag_p99.0,
        verdict: words::verdict(step.outcome.verdict),
        terms: step.outcome.terms.iter().map(term).collect(),
        reasons: step.outcome.reasons.iter().map(reason).collect(),
    }
}

fn term(found: &TermFinding) -> TermObject {
    let (latency_ns, share) = match found.value {
        Value::Latency(latency) => (Some(latency.0), None),
        Value::Share(share) => (None, Some(share)),
        Value::Endless | Value::Nothing => (None, None),
    };
    TermObject {
        name: words::name(&found.term),
        latency_ns,
        share,
        count: found.count,
        over: found.over,
        needed: found.needed,
        dependence: found.dependence,
        verdict: words::verdict(found.verdict),
    }
}
