//! Hallmark: the checks that decide whether a run may be believed.
//!
//! A [`Validator`] is given the same records as the [`Analyzer`](crate::Analyzer), then the
//! analyzer's summary with the [`Evidence`] that no record holds, and finishes with a [`Hallmark`]:
//! every check with its measured value, the thresholds, the verdict, and the figures it withdraws.
//! A check whose evidence is missing is not assessable, never passed in silence.

mod check;
mod evidence;
mod plan;
mod thresholds;

mod validator;

mod outliers;
mod sample;
mod ticks;

mod causes;
mod client;
mod generation;
mod input;
mod steadiness;

mod statistic;

#[cfg(test)]
mod tests;

pub use check::{Bound, Check, CheckId, CheckVerdict, Figure, Limits, Measure};
pub use check::{Inapplicable, Statistic, Time, Unit};
pub use evidence::{
    Evidence, ExpectedArrivals, Floor, Gaps, Hiccups, NetworkLoss, TraceHashes, WorkerTime,
};
pub use plan::Plan;
pub use thresholds::{Changed, Thresholds};
pub use validator::Validator;

use assay_model::{Nanos, named_enum};

use crate::summary::Interval;

/// The certificate of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hallmark {
    /// The whole in one word.
    pub verdict: Verdict,
    /// Why it is that word: the failed checks that are no mere consequence of another, the
    /// remarks, or the essential checks whose outcome is unknown; empty if it is valid.
    pub reasons: Vec<CheckId>,
    /// Every check, in the order of [`CheckId::ALL`].
    pub checks: Vec<Check>,
    /// The percentiles of hits, of response time and then of service time, rising.
    pub percentiles: Vec<Certified>,
    /// Changes for good within the steady part of the window, in order of time.
    pub changes: Vec<LevelChange>,
    /// The strongest oscillation, if one counts.
    pub period: Option<Nanos>,
    /// Thresholds that are not what they usually are.
    pub changed: Vec<Changed>,
}

named_enum! {
    /// The certificate in one word.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Verdict {
        /// The figures may be believed.
        Valid => "valid",
        /// It may be used with regard to the remarks; figures of the far tail may be withdrawn.
        ValidWithRemarks => "valid-with-remarks",
        /// A check failed that a headline figure stands on.
        Invalid => "invalid",
        /// Nothing failed, but the outcome of an essential check is unknown.
        #[default]
        NotAssessable => "not-assessable",
    }
}

impl Verdict {
    /// Whether the run has a hallmark, with or without remarks.
    pub const fn is_valid(self) -> bool {
        matches!(self, Verdict::Valid | Verdict::ValidWithRemarks)
    }
}

/// One percentile with all that speaks for and against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Certified {
    /// Of which latency.
    pub time: Time,
    /// 0.99 for p99.
    pub quantile: f64,
    /// As found.
    pub value: Nanos,
    /// Where it lies with 95 % confidence, or how many more seconds are needed to tell.
    pub interval: Interval,
    /// Independent values beyond it, if that can be known.
    pub beyond: Option<f64>,
    /// The same percentile without the operations that a hiccup held, if that can be known.
    pub without_hiccups: Option<Nanos>,
    /// The checks that withdraw it.
    pub withdrawn_by: Vec<CheckId>,
}

/// A change for good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelChange {
    /// When, to the width of an interval.
    pub at: Nanos,
    /// Of what.
    pub figure: Figure,
    /// Mean level before.
    pub before: f64,
    /// Mean level after; operations per second or nanoseconds, as the figure is.
    pub after: f64,
    /// Whether an event was near.
    pub is_explained: bool,
}

impl Hallmark {
    /// The check `id`.
    pub fn check(&self, id: CheckId) -> Option<&Check> {
        self.checks.iter().find(|check| check.id == id)
    }

    /// The checks that withdraw `figure`.
    pub fn withdrawn_by(&self, figure: Figure) -> Vec<CheckId> {
        let withdraws = |check: &&Check| check.withdraws.iter().any(|one| one.covers(figure));
        self.checks.iter().filter(withdraws).map(|check| check.id).collect()
    }

    /// The checks that withdraw `figure`, without the size of the sample: a percentile of too few
    /// values is not wrong, and a comparison counts its values anyway.
    pub fn refuted_by(&self, figure: Figure) -> Vec<CheckId> {
        let is_few = |check: &Check, one: &Figure| {
            check.id == CheckId::SampleSize && matches!(one, Figure::Percentile(..))
        };
        let refutes = |check: &&Check| {
            check.withdraws.iter().any(|one| one.covers(figure) && !is_few(check, one))
        };
        self.checks.iter().filter(refutes).map(|check| check.id).collect()
    }

    /// The failed check by which the client, its machine or the network are why `figure` is
    /// withdrawn, so that it says nothing about the store; none where the store may be why.
    ///
    /// Example: a worker waited for its processor, so requests left late. But requests also leave
    /// late where a slow store fills the bound of what may be in flight, or where it does its work
    /// within the worker: that is the store.
    pub fn client_fault(&self, figure: Figure) -> Option<CheckId> {
        let has = |id, is_it: fn(&Measure) -> bool| {
            self.check(id).is_some_and(|check| check.measures.iter().any(is_it))
        };
        let is_held_back = has(CheckId::Omission, |one| {
            one.statistic == Statistic::Queued && one.verdict() != CheckVerdict::Pass
        });
        let is_worker_ours = has(CheckId::WorkerCpu, |one| {
            one.statistic == Statistic::WorkerBusy && one.limits.is_some()
        });
        let withdrawing = self.withdrawn_by(figure);
        let root = |id: CheckId| self.check(id).and_then(|check| check.because_of).unwrap_or(id);
        let roots = || withdrawing.iter().map(|id| root(*id));
        let of_client = withdrawing.iter().copied().chain(roots()).find(|id| id.is_of_client());
        let of_load = || roots().find(|id| id.is_of_load());
        of_client.or_else(|| of_load().filter(|_| is_worker_ours && !is_held_back))
    }
}
