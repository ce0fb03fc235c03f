//! Service level objectives as values, with the verdict of a history on them.
//!
//! A latency objective counts the operations without a response in time: an operation
//! that failed or was dropped is over every limit, for its user still waits. A miss is neither a
//! fast success nor a failure; it is left out here, and bounded by an objective of its own.

use assay_model::{Kind, Nanos, named_enum};

use crate::binomial::{early_stop, least_tries};
use crate::confidence::{FEWEST_BEYOND, batch_dependence};
use crate::distribution::rank;
use crate::plausibility::Verdict;
use crate::summary::{
    Distribution, Group, Histogram, Interval, IntervalSummary, Latency, Percentile, Summary,
};

/// The confidence with which an objective is held or violated.
pub const CONFIDENCE: f64 = 0.95;

/// Batches by which the dependence of failures is estimated.
const BATCHES: usize = 30;

/// A limit of so many times the slowest operation is far from all of them: how the slower ones
/// cluster says nothing about who might reach it.
const FAR: u64 = 2;

/// What is promised: every term of it must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objective {
    /// The promises, in the order in which they were made.
    pub terms: Vec<ObjectiveTerm>,
}

/// One promise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectiveTerm {
    /// About which operations.
    pub scope: Scope,
    /// About what of them, with its limit.
    pub measure: Measure,
    /// Whether the limit itself is allowed.
    pub comparison: Comparison,
}

/// Which operations a promise is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All kinds together.
    All,
    /// One kind.
    Kind(Kind),
}

/// What is promised of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// A percentile of a latency.
    Latency {
        /// Which latency.
        stretch: Stretch,
        /// 0.99 for p99; below 1, for a maximum grows with the length of a run.
        quantile: f64,
        /// The bound.
        limit: Nanos,
    },
    /// Refused, unknown or dropped operations as a share of those offered.
    Errors {
        /// The bound, 0.01 for 1 %.
        limit: f64,
    },
    /// Misses as a share of the operations done.
    Misses {
        /// The bound, 0.01 for 1 %.
        limit: f64,
    },
}

named_enum! {
    /// Between which of an operation's three times a latency lies.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Stretch {
        /// Ended − intended.
        Response => "response",
        /// Ended − started.
        Service => "service",
        /// Started − intended.
        Lag => "lag",
    }
}

impl Stretch {
    fn of(self, latency: &Latency) -> &Distribution {
        match self {
            Stretch::Response => &latency.response,
            Stretch::Service => &latency.service,
            Stretch::Lag => &latency.lag,
        }
    }
}

/// How a value is held against its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`: the limit itself is too much.
    Below,
    /// `<=`: the limit itself is allowed.
    AtMost,
}

/// What a history says about an objective.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectiveFinding {
    /// Held if all terms are, violated if any is, else unknown.
    pub verdict: Verdict,
    /// Term by term, in the objective's order.
    pub terms: Vec<TermFinding>,
}

/// What a history says about one term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermFinding {
    /// The term.
    pub term: ObjectiveTerm,
    /// What was found.
    pub value: Value,
    /// How many operations it was found on.
    pub count: u64,
    /// How many of them were over the limit, or were what must be rare.
    pub over: u64,
    /// How many successive operations tell as much as one independent one (τ ≥ 1).
    pub dependence: f64,
    /// How many operations it takes to hold if no more of them are over the limit.
    pub needed: u64,
    /// Met or violated at [`CONFIDENCE`], or undecided with so few values.
    pub verdict: Verdict,
}

/// What was found of a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A percentile.
    Latency(Nanos),
    /// So many failed that the percentile is one of them: longer than anybody waited.
    Endless,
    /// A share of operations.
    Share(f64),
    /// There were no such operations.
    Nothing,
}

impl Objective {
    /// What `summary` says about every term.
    ///
    /// Each term is decided by the early-stopping test of `binomial` at [`CONFIDENCE`], with
    /// counts divided by the dependence of the operations. A share bounded by zero needs no test:
    /// one operation breaks it.
    pub fn analyze(&self, summary: &Summary) -> ObjectiveFinding {
        let terms: Vec<TermFinding> = self.terms.iter().map(|term| term.analyze(summary)).collect();
        let is_any = |verdict| terms.iter().any(|term| term.verdict == verdict);
        let verdict = if is_any(Verdict::Violated) {
            Verdict::Violated
        } else if is_any(Verdict::Unknown) || terms.is_empty() {
            Verdict::Unknown
        } else {
            Verdict::Held
        };
        ObjectiveFinding { verdict, terms }
    }

    /// The promised response times: each limit with the share that may be beyond it.
    pub fn response_limits(&self) -> impl Iterator<Item = (Nanos, f64)> {
        self.terms.iter().filter_map(|term| match term.measure {
            Measure::Latency { stretch: Stretch::Response, quantile, limit } => {
                Some((limit, 1.0 - quantile))
            }
            _ => None,
        })
    }

    /// Whether failures are bounded by a term of their own.
    pub fn bounds_errors(&self) -> bool {
        let is_errors = |term: &ObjectiveTerm| matches!(term.measure, Measure::Errors { .. });
        self.terms.iter().any(is_errors)
    }
}

/// Operations held against a limit.
struct Count {
    count: u64,
    over: u64,
    dependence: f64,
}

impl Count {
    fn decide(&self, allowed: f64) -> Verdict {
        if allowed <= 0.0 {
            return if self.over == 0 { Verdict::Held } else { Verdict::Violated };
        }
        let of = self.count as f64 / self.dependence;
        early_stop(self.over as f64 / self.dependence, of, allowed, CONFIDENCE)
    }

    fn needed(&self, allowed: f64) -> u64 {
        if allowed <= 0.0 {
            return 1;
        }
        let tries = least_tries(self.over as f64 / self.dependence, allowed, CONFIDENCE);
        (tries as f64 * self.dependence).ceil() as u64
    }
}

impl ObjectiveTerm {
    fn analyze(&self, summary: &Summary) -> TermFinding {
        let nothing = TermFinding {
            term: *self,
            value: Value::Nothing,
            count: 0,
            over: 0,
            dependence: 1.0,
            needed: 0,
            verdict: Verdict::Unknown,
        };
        let Some(group) = self.group(summary) else { return nothing };
        let (value, counted, allowed) = match self.measure {
            Measure::Latency { stretch, quantile, limit } => {
                let population = Population::of(group, stretch);
                let counted = population.held_against(limit, self.comparison, quantile, summary);
                (population.value(quantile), counted, 1.0 - quantile)
            }
            Measure::Errors { limit } => {
                let counted = errors(group, &summary.series.intervals);
                (share(&counted), counted, limit)
            }
            Measure::Misses { limit } => {
                let counted = misses(group, &summary.series.intervals);
                (share(&counted), counted, limit)
            }
        };
        let Count { count, over, dependence } = counted;
        if count == 0 {
            return nothing;
        }
        let verdict = counted.decide(allowed);
        let needed = counted.needed(allowed);
        TermFinding { term: *self, value, count, over, dependence, needed, verdict }
    }

    /// The operations that it is about.
    pub(crate) fn group<'a>(&self, summary: &'a Summary) -> Option<&'a Group> {
        match self.scope {
            Scope::All => Some(&summary.overall),
            Scope::Kind(kind) => {
                summary.kinds.iter().find(|(other, _)| *other == kind).map(|(_, group)| group)
            }
        }
    }
}

/// The operations that a latency objective is about.
struct Population<'a> {
    hits: &'a Distribution,
    histogram: Histogram,
    max: Nanos,
    /// Operations that never came to an end that counts.
    endless: u64,
}

impl<'a> Population<'a> {
    fn of(group: &'a Group, stretch: Stretch) -> Population<'a> {
        let counts = &group.counts;
        let hits = stretch.of(&group.hits);
        let (mut histogram, mut max) = (hits.histogram.clone(), hits.max);
        let endless = match stretch {
            Stretch::Response => counts.refused + counts.unknown + counts.dropped,
            Stretch::Service => counts.refused + counts.unknown,
            Stretch::Lag => {
                // The lag is known of every issued operation, whatever came of
                // it.
                for others in [&group.misses.lag, &group.failed.lag] {
                    histogram
                        .add(&others.histogram)
                        .expect("a histogram that resizes itself takes any other");
                    max = max.max(others.max);
                }
                counts.dropped
            }
        };
        Population { hits, histogram, max, endless }
    }

    fn count(&self) -> u64 {
        self.histogram.len() + self.endless
    }

    fn value(&self, quantile: f64) -> Value {
        let place = rank(self.count(), quantile);
        if place > self.histogram.len() {
            return Value::Endless;
        }
        // Half a value less, so that no rounding makes it the next value's share.
        let share = (place as f64 - 0.5) / self.histogram.len() as f64;
        Value::Latency(Nanos(self.histogram.value_at_quantile(share)).min(self.max))
    }

    fn held_against(
        &self,
        limit: Nanos,
        comparison: Comparison,
        quantile: f64,
        summary: &Summary,
    ) -> Count {
        let least_over = match comparison {
            Comparison::Below => limit.0,
            Comparison::AtMost => limit.0.saturating_add(1),
        };
        let within = match least_over {
            0 => 0,
            least => self.histogram.count_between(0, least - 1),
        };
        let count = self.count();
        let over = count - within.min(count);
        let is_far = over == 0 && self.max.0 < limit.0 / FAR;
        let dependence =
            if is_far { 1.0 } else { dependence(self.hits, quantile, summary.duration) };
        Count { count, over, dependence }
    }
}

/// τ of the event "beyond the percentile", from the neighbouring percentiles that were analyzed.
///
/// It is taken at the percentile and not at the limit: where both meet, they are the same, and
/// that is where the verdict is close.
fn dependence(distribution: &Distribution, quantile: f64, duration: Nanos) -> f64 {
    let known = || distribution.percentiles.iter().filter(|other| other.quantile < 1.0);
    let below = known().rev().find(|other| other.quantile <= quantile);
    let above = known().find(|other| other.quantile >= quantile);
    let of = |percentile: &Percentile| match percentile.interval {
        Interval::Known { dependence, .. } => dependence,
        Interval::TooFew { further_seconds, .. } => {
            // The advice says how many times as long the run would have to be to have ten
            // independent values beyond the percentile; so it says how many there are now.
            let times = 1.0 + further_seconds / duration.as_secs_f64().max(1e-9);
            distribution.count as f64 * (1.0 - percentile.quantile) * times / FEWEST_BEYOND
        }
        Interval::Undefined => 1.0,
    };
    below.into_iter().chain(above).map(of).fold(1.0, f64::max)
}

fn share(counted: &Count) -> Value {
    Value::Share(counted.over as f64 / counted.count.max(1) as f64)
}

fn errors(group: &Group, intervals: &[IntervalSummary]) -> Count {
    let counts = &group.counts;
    let failed = |one: &IntervalSummary| one.refused + one.unknown + one.dropped;
    let dependence = dependence_of_share(intervals, failed, |one| one.done + failed(one));
    Count {
        count: counts.offered,
        over: counts.refused + counts.unknown + counts.dropped,
        dependence,
    }
}

fn misses(group: &Group, intervals: &[IntervalSummary]) -> Count {
    let dependence = dependence_of_share(intervals, |one| one.misses, |one| one.done);
    Count { count: group.counts.done, over: group.counts.misses, dependence }
}

/// τ of a share over time, from the variance between batches as in `confidence.rs`.
fn dependence_of_share(
    intervals: &[IntervalSummary],
    part: impl Fn(&IntervalSummary) -> u64,
    whole: impl Fn(&IntervalSummary) -> u64,
) -> f64 {
    let size = intervals.len().div_ceil(BATCHES).max(1);
    let sum = |batch: &[IntervalSummary], of: &dyn Fn(&IntervalSummary) -> u64| {
        batch.iter().map(of).sum::<u64>() as f64
    };
    let batches = intervals.chunks(size).map(|batch| (sum(batch, &part), sum(batch, &whole)));
    batch_dependence(batches).max(1.0)
}

#[cfg(test)]
mod tests;
