//! A tune as one JSON object.

use assay_analysis::slo::{TermFinding, Value};
use assay_analysis::sweep::Spread;
use assay_analysis::tune::{Reason, SearchEnd, Step, Undecided};
use serde::Serialize;

use super::{TuneKind, Tuning, words};
use crate::units::Letters;

/// The version of the object.
pub const SCHEMA: &str = "assay/tune/v2";

#[derive(Serialize)]
struct TuneObject<'a> {
    schema: &'static str,
    title: &'a str,
    command: &'a str,
    dir: &'a str,
    store: &'a str,
    load: &'a str,
    seed: u64,
    machine: &'a str,
    version: &'a str,
    objective: Vec<String>,
    state: &'static str,
    /// Arrivals per second that are sustained; of a sweep the highest up to which all hold.
    rate_per_s: Option<f64>,
    interval: BracketObject,
    search: Option<SearchObject>,
    sweep: Option<SweepObject>,
    knee: Option<PointObject>,
    inversions: Vec<[usize; 2]>,
    steps: Vec<StepObject>,
    warnings: &'a [String],
}

/// Arrivals per second between which the result lies, as far as that is known.
#[derive(Serialize)]
struct BracketObject {
    held_per_s: Option<f64>,
    failed_per_s: Option<f64>,
    unknown_per_s: Option<f64>,
}

#[derive(Serialize)]
struct SearchObject {
    min_per_s: f64,
    max_per_s: Option<f64>,
    within: f64,
    confirmations: u32,
    exceeded_by_step: Option<usize>,
    is_ceiling: bool,
}

#[derive(Serialize)]
struct SweepObject {
    from_per_s: f64,
    to_per_s: f64,
    points: usize,
    spread: &'static str,
}

#[derive(Serialize)]
struct PointObject {
    rate_per_s: f64,
    latency_ns: f64,
}

#[derive(Serialize)]
struct StepObject {
    step: usize,
    purpose: &'static str,
    rate_per_s: f64,
    length: u32,
    seconds: f64,
    offered_per_s: f64,
    done_per_s: f64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    lag_p99_ns: u64,
    verdict: &'static str,
    terms: Vec<TermObject>,
    reasons: Vec<ReasonObject>,
}

#[derive(Serialize)]
struct TermObject {
    name: String,
    latency_ns: Option<u64>,
    share: Option<f64>,
    count: u64,
    over: u64,
    needed: u64,
    dependence: f64,
    verdict: &'static str,
}

#[derive(Serialize)]
struct ReasonObject {
    reason: &'static str,
    /// The check of the hallmark by which the client was too slow to measure.
    check: Option<&'static str>,
}

/// The tune as one indented JSON object with a line end.
pub fn json(tuning: &Tuning) -> String {
    let text = serde_json::to_string_pretty(&object(tuning))
        .expect("an object of numbers and texts with text keys is always JSON");
    text + "\n"
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
    let reason = |reason: &Reason| ReasonObject {
        reason: words::reason_name(reason),
        check: match reason {
            Reason::Client(check) => Some(check.name()),
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
