//! Outcome of a step, from its summary.

use assay_model::Nanos;

use crate::hallmark::{CheckId, Figure, Hallmark, Time};
use crate::plausibility::Verdict;
use crate::slo::{Measure, Objective, Stretch, TermFinding, Value};
use crate::summary::{Counts, Distribution, Summary};
use crate::tune::waiting::Backlog;

/// Requests that left us, as a share of the arrivals, below which the rate was not reached.
const REACHED: f64 = 0.99;

/// The tolerated shortfall of arrivals, beyond that of chance.
const OFFERED: f64 = 0.01;

/// Standard deviations of a Poisson count that are chance.
const CHANCE: f64 = 4.0;

/// A backlog that grows by less than this share of the arrivals is not held against a store.
const GROWTH: f64 = 0.005;

/// What a summary does not tell about a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepContext<'a> {
    /// Target rate in arrivals per second, each a process of one operation or several.
    pub target: f64,
    /// Whether the number of arrivals strays no further from the rate than a Poisson count, which
    /// that of bursts does.
    pub is_even: bool,
    /// Whether it was stopped before its end because of its backlog.
    pub is_stopped: bool,
    /// How what waits went; none if the step was too short to tell.
    pub backlog: Option<Backlog>,
    /// The verdict of the run's hallmark, if there is one.
    pub hallmark: Option<&'a Hallmark>,
    /// Whether a run without a hallmark decides nothing.
    pub requires_hallmark: bool,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepOutcome {
    /// Held: the rate is sustained. Violated: it is not. Unknown: the step cannot tell.
    pub verdict: Verdict,
    /// Why it is not held; empty if it is.
    pub reasons: Vec<StepReason>,
    /// The objective, term by term; empty without one.
    pub terms: Vec<TermFinding>,
    /// What was measured.
    pub figures: Figures,
}

/// Why a step did not hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepReason {
    /// The term of the objective with this place is violated.
    Objective(usize),
    /// The term with this place is undecided.
    Undecided(usize),
    /// More waited than could still be answered in time; the step was ended early.
    Overload,
    /// Backlog grows by this many operations per second.
    Backlog(f64),
    /// The step was too short to decide whether the backlog grows.
    Short,
    /// Only this share of the target rate was issued.
    Rate(f64),
    /// The run has no hallmark, and it was required.
    Hallmark,
    /// The client was too slow to measure: this check of the hallmark withdraws the figures that
    /// the verdict needs.
    Client(CheckId),
    /// The run broke off.
    Broken,
}

/// What a step measured; response times are of hits of all kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// How long it was measured, in seconds.
    pub seconds: f64,
    /// Arrivals per second.
    pub offered_per_s: f64,
    /// Answers per second.
    pub done_per_s: f64,
    /// Median response time.
    pub p50: Nanos,
    /// 99 % of the response times are at most this.
    pub p99: Nanos,
    /// 99.9 % of the response times are at most this.
    pub p999: Nanos,
    /// 99 % of the lags are at most this.
    pub lag_p99: Nanos,
    /// What the objective's first latency term found, else the p99; nothing if it is endless.
    pub latency: Option<Nanos>,
}

/// What `summary` says about a step.
///
/// A rate is sustained if the objective is met, the backlog does not grow, and the rate was indeed
/// issued. A late client can only make these worse, so a step that fails says nothing about the
/// store if the hallmark withdraws the failed figure; one that is sustained does.
pub fn assess(
    summary: &Summary,
    objective: Option<&Objective>,
    context: &StepContext,
) -> StepOutcome {
    let found = objective.map(|objective| objective.analyze(summary));
    let terms = found.as_ref().map(|found| found.terms.clone()).unwrap_or_default();
    let mut reasons = Vec::new();
    if context.is_stopped {
        reasons.push(StepReason::Overload);
    }
    let with = |verdict| {
        terms.iter().enumerate().filter(move |(_, term)| term.verdict == verdict).map(|(at, _)| at)
    };
    reasons.extend(with(Verdict::Violated).map(StepReason::Objective));
    reasons.extend(shortfall(summary, context));
    let rate = context.target * operations_per_arrival(summary);
    if let Some(backlog) = context.backlog
        && backlog.low_per_s > 0.0
        && backlog.growth_per_s > GROWTH * rate
    {
        reasons.push(StepReason::Backlog(backlog.growth_per_s));
    }
    if context.is_stopped {
        // All else follows from the stop: what waited was dropped.
        reasons.truncate(1);
    }
    let is_broken = !reasons.is_empty();
    if !context.is_stopped {
        reasons.extend(with(Verdict::Unknown).map(StepReason::Undecided));
        reasons.extend(context.backlog.is_none().then_some(StepReason::Short));
        reasons.extend(is_without_hallmark(context).then_some(StepReason::Hallmark));
    }
    let figure_warning = figure_warning(context.hallmark, &terms, &reasons)
        .filter(|_| !terms.iter().any(|term| is_the_stores(term, summary)));
    reasons.extend(figure_warning.map(StepReason::Client));
    let verdict = match (is_broken && figure_warning.is_none(), reasons.is_empty()) {
        (true, _) => Verdict::Violated,
        (false, true) => Verdict::Held,
        (false, false) => Verdict::Unknown,
    };
    StepOutcome { verdict, reasons, figures: figures(summary, &terms), terms }
}

/// The check that says that the client may be why the step fails, or that missing records may be
/// why it seems sustained.
fn figure_warning(
    hallmark: Option<&Hallmark>,
    terms: &[TermFinding],
    reasons: &[StepReason],
) -> Option<CheckId> {
    let hallmark = hallmark?;
    let latency = |term: &TermFinding| match term.term.measure {
        Measure::Latency { stretch: Stretch::Service, quantile, .. } => {
            Some(Figure::Percentile(Time::Service, quantile))
        }
        Measure::Latency { quantile, .. } => Some(Figure::Percentile(Time::Response, quantile)),
        _ => None,
    };
    let mut figures = terms.iter().filter_map(latency).chain([Figure::Throughput]);
    let fault = figures.find_map(|figure| hallmark.client_fault(figure));
    fault.filter(|id| !reasons.is_empty() || *id == CheckId::LostRecords)
}

/// Whether a term is violated in a way that no client can cause: the store refused, or found no
/// record.
fn is_the_stores(found: &TermFinding, summary: &Summary) -> bool {
    let is_refused = |limit: f64| {
        let counts = found.term.group(summary).map(|group| &group.counts);
        counts.is_some_and(|counts| counts.refused as f64 > limit * counts.offered as f64)
    };
    let is_the_stores = match found.term.measure {
        Measure::Errors { limit } => is_refused(limit),
        Measure::Misses { .. } => true,
        Measure::Latency { .. } => false,
    };
    is_the_stores && found.verdict == Verdict::Violated
}

fn is_without_hallmark(context: &StepContext) -> bool {
    let is_valid = context.hallmark.is_some_and(|hallmark| hallmark.verdict.is_valid());
    context.requires_hallmark && !is_valid
}

impl StepOutcome {
    /// Whether the client is the reason for no decision.
    pub fn is_of_client(&self) -> bool {
        self.verdict == Verdict::Unknown
            && self.reasons.iter().any(|reason| matches!(reason, StepReason::Client(_)))
    }

    /// The outcome of a run that was aborted without figures.
    pub fn broken() -> StepOutcome {
        StepOutcome {
            verdict: Verdict::Violated,
            reasons: vec![StepReason::Broken],
            terms: Vec::new(),
            figures: Figures::default(),
        }
    }
}

/// Whether fewer operations were issued than the target rate demands.
fn shortfall(summary: &Summary, context: &StepContext) -> Option<StepReason> {
    let rates = &summary.overall.rates;
    let each = operations_per_arrival(summary);
    let arrivals = summary.overall.counts.offered as f64 / each;
    let requested = rates.attempted_per_s / rates.offered_per_s.max(f64::MIN_POSITIVE)
        + share_of_failed_transactions(&summary.overall.counts);
    // How many come within a step is a matter of luck if they come in bursts.
    let offered = match context.is_even {
        true => rates.offered_per_s / (context.target * each),
        false => 1.0,
    };
    let is_short = offered < 1.0 - OFFERED - CHANCE / arrivals.max(1.0).sqrt();
    // The arrivals that wait in a stopped step would have been issued.
    if context.is_stopped || (requested >= REACHED && !is_short) {
        return None;
    }
    Some(StepReason::Rate((requested * offered).min(1.0)))
}

/// What was not issued because its transaction had failed, as a share of what was offered: the
/// store's affair, not the client's.
fn share_of_failed_transactions(counts: &Counts) -> f64 {
    let is_so = |reason: assay_model::Reason| reason == assay_model::Reason::TransactionFailed;
    let failed = counts.reasons.iter().filter(|(_, reason, _)| is_so(*reason));
    let failed: u64 = failed.map(|(.., count)| count).sum();
    failed as f64 / counts.offered.max(1) as f64
}

/// How many operations a process had; one if unknown.
fn operations_per_arrival(summary: &Summary) -> f64 {
    match (summary.overall.rates.target_per_s, summary.load.target()) {
        (Some(operations), Some(arrivals)) if operations > 0.0 && arrivals > 0.0 => {
            operations / arrivals
        }
        _ => 1.0,
    }
}

fn figures(summary: &Summary, terms: &[TermFinding]) -> Figures {
    let response = &summary.overall.hits.response;
    let at = |distribution: &Distribution, quantile: f64| {
        distribution.value(quantile).unwrap_or(Nanos::ZERO)
    };
    let scheduled = terms
        .iter()
        .find(|found| matches!(found.term.measure, Measure::Latency { .. }))
        .map(|found| match found.value {
            Value::Latency(latency) => Some(latency),
            _ => None,
        });
    let p99 = at(response, 0.99);
    Figures {
        seconds: summary.duration.as_secs_f64(),
        offered_per_s: summary.overall.rates.offered_per_s,
        done_per_s: summary.overall.rates.done_per_s,
        p50: at(response, 0.5),
        p99,
        p999: at(response, 0.999),
        lag_p99: at(&summary.lag, 0.99),
        latency: scheduled.unwrap_or((response.count > 0).then_some(p99)),
    }
}

#[cfg(test)]
mod tests;
