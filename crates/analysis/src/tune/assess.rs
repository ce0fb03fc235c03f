//! From a step's summary to its outcome.

use assay_model::Nanos;

use crate::plausibility::Verdict;
use crate::slo::{Measure, Objective, TermFinding, Value};
use crate::summary::{Distribution, IntervalSummary, Summary};

/// Requests that left us, as a share of the arrivals, below which the rate was not reached.
const REACHED: f64 = 0.99;

/// How much fewer arrivals than asked for are forgiven, beyond what chance takes away.
const OFFERED: f64 = 0.01;

/// Standard deviations of a Poisson count that are chance.
const CHANCE: f64 = 4.0;

/// Batches over which the slope of the backlog is taken.
const BATCHES: usize = 10;

/// The 97.5 % quantile of Student's t for that many batches less two.
const STUDENT: f64 = 2.306;

/// A backlog that grows by less than this share of the arrivals is not held against a store.
const GROWTH: f64 = 0.005;

/// What a summary does not tell about a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circumstances {
    /// Arrivals per second that were asked for.
    pub target: f64,
    /// Whether it was stopped before its end because of its backlog.
    pub is_stopped: bool,
    /// Whether the run can be believed at all, if somebody has judged that.
    pub hallmark: Option<Verdict>,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Held: the rate is sustained. Violated: it is not. Unknown: the step cannot tell.
    pub verdict: Verdict,
    /// Why it is not held; empty if it is.
    pub reasons: Vec<Reason>,
    /// The objective, term by term; empty without one.
    pub terms: Vec<TermFinding>,
    /// What was measured.
    pub figures: Figures,
}

/// Why a step did not hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// The term of the objective with this place is violated.
    Objective(usize),
    /// The term with this place can be told neither way.
    Undecided(usize),
    /// More waited than could still be answered in time; the step was ended early.
    Overload,
    /// What waits grows by this many operations per second.
    Backlog(f64),
    /// Only this share of the rate was asked.
    Rate(f64),
    /// The run has no hallmark.
    Hallmark,
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

/// How the number of waiting operations goes over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backlog {
    /// Operations per second by which it grows.
    pub growth_per_s: f64,
    /// Lower end of the 95 % interval of that.
    pub low_per_s: f64,
}

/// What `summary` says about a step.
///
/// A rate is sustained if the objective holds, the backlog does not grow, the rate was indeed
/// asked, and the run can be believed.
pub fn assess(
    summary: &Summary,
    objective: Option<&Objective>,
    circumstances: &Circumstances,
) -> Outcome {
    let found = objective.map(|objective| objective.judge(summary));
    let terms = found.as_ref().map(|found| found.terms.clone()).unwrap_or_default();
    let mut reasons = Vec::new();
    if circumstances.is_stopped {
        reasons.push(Reason::Overload);
    }
    let with = |verdict| {
        terms.iter().enumerate().filter(move |(_, term)| term.verdict == verdict).map(|(at, _)| at)
    };
    reasons.extend(with(Verdict::Violated).map(Reason::Objective));
    reasons.extend(shortfall(summary, circumstances));
    let rate = circumstances.target;
    if let Some(backlog) = backlog(&summary.series.intervals, summary.series.width)
        && backlog.low_per_s > 0.0
        && backlog.growth_per_s > GROWTH * rate
    {
        reasons.push(Reason::Backlog(backlog.growth_per_s));
    }
    if circumstances.hallmark == Some(Verdict::Violated) {
        reasons.push(Reason::Hallmark);
    }
    if circumstances.is_stopped {
        // All else follows from the stop: what waited was dropped.
        reasons.truncate(1);
    }
    let is_violated = !reasons.is_empty();
    if !circumstances.is_stopped {
        reasons.extend(with(Verdict::Unknown).map(Reason::Undecided));
    }
    let verdict = match (is_violated, reasons.is_empty()) {
        (true, _) => Verdict::Violated,
        (false, true) => Verdict::Held,
        (false, false) => Verdict::Unknown,
    };
    Outcome { verdict, reasons, figures: figures(summary, &terms), terms }
}

impl Outcome {
    /// The outcome of a run that broke off without figures that could be judged.
    pub fn broken() -> Outcome {
        Outcome {
            verdict: Verdict::Violated,
            reasons: vec![Reason::Broken],
            terms: Vec::new(),
            figures: Figures::default(),
        }
    }
}

/// Whether less was asked than the rate says.
fn shortfall(summary: &Summary, circumstances: &Circumstances) -> Option<Reason> {
    let rates = &summary.overall.rates;
    let arrivals = summary.overall.counts.offered as f64;
    let asked = rates.attempted_per_s / rates.offered_per_s.max(f64::MIN_POSITIVE);
    let offered = rates.offered_per_s / circumstances.target;
    let is_short = offered < 1.0 - OFFERED - CHANCE / arrivals.max(1.0).sqrt();
    // Those who wait in a step that was stopped would have been asked.
    if circumstances.is_stopped || (asked >= REACHED && !is_short) {
        return None;
    }
    Some(Reason::Rate((asked * offered).min(1.0)))
}

/// How what waits goes over time, by least squares over the means of ten batches of `intervals`.
///
/// Batches, because neighbouring intervals depend on each other; nothing is said of fewer than ten
/// intervals. The last interval in which something was asked may not have been asked in to its end,
/// so it is left out, with as many of the first as do not fill a batch.
pub fn backlog(intervals: &[IntervalSummary], width: Nanos) -> Option<Backlog> {
    let last = intervals.iter().rposition(|one| one.offered > 0)?;
    let asked = &intervals[..last];
    let size = asked.len() / BATCHES;
    if size == 0 {
        return None;
    }
    let used = &asked[asked.len() - size * BATCHES..];
    let mean = |batch: &[IntervalSummary]| {
        batch.iter().map(|one| one.in_system).sum::<f64>() / batch.len() as f64
    };
    let levels: Vec<f64> = used.chunks(size).map(mean).collect();
    let seconds = size as f64 * width.as_secs_f64();
    let times: Vec<f64> = (0..BATCHES).map(|place| place as f64 * seconds).collect();
    let count = BATCHES as f64;
    let middle = |values: &[f64]| values.iter().sum::<f64>() / count;
    let (time, level) = (middle(&times), middle(&levels));
    let pairs = || times.iter().zip(&levels).map(|(x, y)| (x - time, y - level));
    let spread: f64 = pairs().map(|(x, _)| x * x).sum();
    let growth_per_s = pairs().map(|(x, y)| x * y).sum::<f64>() / spread;
    let rest: f64 = pairs().map(|(x, y)| (y - growth_per_s * x).powi(2)).sum();
    let error = (rest / (count - 2.0) / spread).sqrt();
    Some(Backlog { growth_per_s, low_per_s: growth_per_s - STUDENT * error })
}

fn figures(summary: &Summary, terms: &[TermFinding]) -> Figures {
    let response = &summary.overall.hits.response;
    let at = |distribution: &Distribution, quantile: f64| {
        let found = distribution.percentiles.iter().find(|other| other.quantile == quantile);
        found.map_or(Nanos::ZERO, |percentile| percentile.value)
    };
    let promised = terms
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
        latency: promised.unwrap_or((response.count > 0).then_some(p99)),
    }
}

#[cfg(test)]
mod tests;
