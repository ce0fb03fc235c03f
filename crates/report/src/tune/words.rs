//! Sentences about objectives, steps, endings.

use assay_analysis::slo::{Comparison, Measure, ObjectiveTerm, Scope, Stretch, TermFinding, Value};
use assay_analysis::sweep::Sweep;
use assay_analysis::tune::{Bracket, Plan, SearchEnd, Step, StepOutcome, StepReason, Undecided};
use assay_model::Nanos;

use super::{TuneKind, Tuning};
use crate::document::Finding;
use crate::units::{Letters, count, duration, percent, percentile_name, rate, round_duration};

/// What a term is about, such as `read.p99`; the response time goes without saying.
pub fn name(term: &ObjectiveTerm) -> String {
    let mut words = Vec::new();
    if let Scope::Kind(kind) = term.scope {
        words.push(kind.name().to_owned());
    }
    match term.measure {
        Measure::Latency { stretch, quantile, .. } => {
            if stretch != Stretch::Response {
                words.push(stretch.name().to_owned());
            }
            words.push(percentile_name(quantile));
        }
        Measure::Errors { .. } => words.push("errors".to_owned()),
        Measure::Misses { .. } => words.push("misses".to_owned()),
    }
    words.join(".")
}

/// A term as it was promised: `read.p99 < 5 ms`.
pub fn term(term: &ObjectiveTerm, letters: Letters) -> String {
    let sign = match term.comparison {
        Comparison::Below => "<",
        Comparison::AtMost => "<=",
    };
    let limit = match term.measure {
        Measure::Latency { limit, .. } => round_duration(limit, letters),
        Measure::Errors { limit } | Measure::Misses { limit } => percent(limit),
    };
    format!("{} {sign} {limit}", name(term))
}

/// What was found of a term.
pub fn value(found: &TermFinding, letters: Letters) -> String {
    match found.value {
        Value::Latency(latency) => duration(latency, letters),
        Value::Endless => "endless".to_owned(),
        Value::Share(share) => percent(share),
        Value::Nothing => "-".to_owned(),
    }
}

/// The name of a reason in files.
pub const fn reason_name(reason: &StepReason) -> &'static str {
    match reason {
        StepReason::Objective(_) => "objective",
        StepReason::Undecided(_) => "undecided",
        StepReason::Overload => "overload",
        StepReason::Backlog(_) => "backlog",
        StepReason::Short => "short",
        StepReason::Rate(_) => "rate",
        StepReason::Hallmark => "hallmark",
        StepReason::Client(_) => "client",
        StepReason::Broken => "broken",
    }
}

/// Why a step did not hold.
pub fn outcome(outcome: &StepOutcome, letters: Letters) -> String {
    let reasons: Vec<String> =
        outcome.reasons.iter().map(|one| reason(one, outcome, letters)).collect();
    reasons.join("; ")
}

fn reason(reason: &StepReason, outcome: &StepOutcome, letters: Letters) -> String {
    let of = |place: usize| outcome.terms.get(place);
    match reason {
        StepReason::Objective(place) => match of(*place) {
            Some(found) => broken_term(found, letters),
            None => "the objective is broken".to_owned(),
        },
        StepReason::Undecided(place) => match of(*place) {
            Some(found) => undecided_term(found),
            None => "the objective is not known".to_owned(),
        },
        StepReason::Overload => {
            "stopped early: more waited than could still be answered in time".to_owned()
        }
        StepReason::Backlog(growth) => format!("backlog grows by {}", rate(*growth)),
        StepReason::Short => "too short to tell whether the backlog grows".to_owned(),
        StepReason::Rate(share) => format!("only {} of the rate was issued", percent(*share)),
        StepReason::Hallmark => "the run has no hallmark".to_owned(),
        StepReason::Client(check) => {
            format!("the client may be why, not the store: {} failed", check.name())
        }
        StepReason::Broken => "the run broke off".to_owned(),
    }
}

fn broken_term(found: &TermFinding, letters: Letters) -> String {
    let limit = term(&found.term, letters);
    let over = format!("{} of {}", count(found.over), count(found.count));
    match found.term.measure {
        Measure::Latency { .. } => {
            let found_value = value(found, letters);
            format!("{limit} is broken: {found_value}, {over} over it")
        }
        Measure::Errors { .. } => format!("{limit} is broken: {over} failed"),
        Measure::Misses { .. } => format!("{limit} is broken: {over} missed"),
    }
}

fn undecided_term(found: &TermFinding) -> String {
    let name = name(&found.term);
    if found.count == 0 {
        return format!("{name}: there were none");
    }
    let dependence = match found.dependence {
        tau if tau >= 1.5 => format!(", of which {tau:.0} tell as much as one"),
        _ => String::new(),
    };
    format!(
        "{name} is not known from {} operations with {} over{dependence}; it takes about {}",
        count(found.count),
        count(found.over),
        count(found.needed)
    )
}

/// Everything to know before the steps: what came of it first, then what must be known besides.
pub fn findings(tuning: &Tuning, letters: Letters) -> Vec<Finding> {
    let mut findings = vec![headline(tuning, letters)];
    findings.extend(bracket(tuning));
    findings.extend(remarks(tuning, letters));
    findings
}

/// What came of it.
fn headline(tuning: &Tuning, letters: Letters) -> Finding {
    match &tuning.time_course {
        TuneKind::Search { plan, ending, best } => ended(tuning, plan, *ending, *best, letters),
        TuneKind::Sweep { sweep, held } => swept(tuning, sweep, *held, letters),
    }
}

fn ended(
    tuning: &Tuning,
    plan: &Plan,
    ending: Option<SearchEnd>,
    best: Option<f64>,
    letters: Letters,
) -> Finding {
    let promise = promise(tuning, letters);
    match ending {
        Some(SearchEnd::Found { rate: found, exceeded, is_ceiling }) => {
            let more = beyond(tuning, exceeded, is_ceiling);
            let text = format!("{} with {promise}; {}{more}", rate(found), confirmed(plan));
            Finding::fine("sustained", text)
        }
        Some(SearchEnd::BelowFloor) => {
            let text = format!("not even {} with {promise}", rate(plan.min));
            Finding::alarm("not sustained", text)
        }
        Some(SearchEnd::Undecided { why: Undecided::Client, .. }) => {
            Finding::caution("cannot tell", cannot_tell(tuning))
        }
        Some(SearchEnd::Undecided { best, why }) => {
            let why = match why {
                Undecided::NonMonotone => "rates held again and again above some that failed",
                Undecided::Steps | Undecided::Client => "the search took too many steps",
            };
            Finding::caution("undecided", format!("{why}; {}", so_far(best, &promise)))
        }
        None => Finding::caution("interrupted", so_far(best, &promise)),
    }
}

fn swept(tuning: &Tuning, sweep: &Sweep, held: Option<f64>, letters: Letters) -> Finding {
    let promise = promise(tuning, letters);
    let (from, to) = (rate(sweep.from), rate(sweep.to));
    let steps = count(tuning.steps.len() as u64);
    let held = match (held, tuning.objective.is_some()) {
        (_, false) => String::new(),
        (Some(held), true) => format!("; {promise} holds up to {}", rate(held)),
        (None, true) => format!("; {promise} does not hold at the lowest"),
    };
    let text = format!("{steps} of {} rates from {from} to {to}{held}", sweep.points);
    match tuning.is_interrupted {
        true => Finding::caution("interrupted", text),
        false => Finding::fine("swept", text),
    }
}

fn promise(tuning: &Tuning, letters: Letters) -> String {
    let terms = tuning.objective.iter().flat_map(|objective| &objective.terms);
    terms.map(|one| term(one, letters)).collect::<Vec<_>>().join(", ")
}

fn confirmed(plan: &Plan) -> String {
    match plan.confirmations {
        0 => "not confirmed".to_owned(),
        1 => "confirmed by a fresh run".to_owned(),
        more => format!("confirmed by {more} fresh runs"),
    }
}

fn beyond(tuning: &Tuning, exceeded: Option<usize>, is_ceiling: bool) -> String {
    let step = exceeded.and_then(|number| tuning.steps.get(number));
    match (step, is_ceiling) {
        (Some(Step { request, .. }), _) => format!(", {} fails", rate(request.rate)),
        (None, true) => ", the highest rate that was tried: there may be more".to_owned(),
        (None, false) => ", nothing above it was shown to fail".to_owned(),
    }
}

/// The check that failed last, the rate, and the remedy.
fn cannot_tell(tuning: &Tuning) -> String {
    let last = tuning.steps.last();
    let at = last.map_or_else(String::new, |step| format!(" at {}", rate(step.request.rate)));
    let reasons = last.into_iter().flat_map(|step| &step.outcome.reasons);
    let check = reasons.rev().find_map(|reason| match reason {
        StepReason::Client(check) => Some(format!(" ({} failed)", check.name())),
        _ => None,
    });
    format!(
        "this machine cannot tell what the store sustains: the client was not fit to \
         measure{at}{}; repeat when the machine is quiet, from another machine, or with a lower \
         --max",
        check.unwrap_or_default()
    )
}

/// The rates between which the result lies: `held at 416/s, failed at 476/s`.
fn bracket(tuning: &Tuning) -> Option<Finding> {
    tuning.objective.as_ref()?;
    let Bracket { held, failed, unknown } = tuning.bracket;
    let part = |name: &str, at: Option<f64>| at.map(|at| format!("{name} at {}", rate(at)));
    let held = part("held", held).or_else(|| Some("no rate held".to_owned()));
    let failed = part("failed", failed).or_else(|| Some("no higher rate failed".to_owned()));
    let parts: Vec<String> =
        [held, part("unknown", unknown), failed].into_iter().flatten().collect();
    (!tuning.steps.is_empty()).then(|| Finding::fine("interval", parts.join(", ")))
}

fn so_far(best: Option<f64>, promise: &str) -> String {
    match best {
        Some(best) => format!("{} held last with {promise}, unconfirmed", rate(best)),
        None => format!("no rate held yet with {promise}"),
    }
}

/// What must be known besides.
fn remarks(tuning: &Tuning, letters: Letters) -> Vec<Finding> {
    let mut remarks = Vec::new();
    if tuning.is_no_op {
        let text = "this store keeps nothing: the sustained rate is that of the load generator";
        remarks.push(Finding::caution("no store", text));
    }
    let at = |number: usize| tuning.steps.get(number).map_or(0.0, |step| step.request.rate);
    for inversion in &tuning.inversions {
        let text = format!(
            "{} failed (step {}) although {} held (step {})",
            rate(at(inversion.failed)),
            inversion.failed + 1,
            rate(at(inversion.held)),
            inversion.held + 1,
        );
        remarks.push(Finding::caution("not monotone", text));
    }
    if let Some(knee) = tuning.knee {
        let latency = duration(Nanos(knee.latency_ns as u64), letters);
        let text = format!("the curve bends upwards at {}, {latency}", rate(knee.rate));
        remarks.push(Finding::fine("knee", text));
    }
    remarks.extend(tuning.warnings.iter().map(|text| Finding::caution("warning", text)));
    remarks
}
