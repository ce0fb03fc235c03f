//! Everything that the checks look at, gathered.

use assay_model::Nanos;

use super::evidence::{Evidence, Gaps, Promise};
use super::outliers::Slow;
use super::sample::Moment;
use super::thresholds::Thresholds;
use super::ticks::Ticks;
use crate::question::{LoadModel, Phases, Question, Window};
use crate::summary::{Interval, Percentile, Summary};

/// Relative difference of two seconds of a plan from which its rate counts as changing.
const VARYING: f64 = 0.01;

/// What the examiner found in the records.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Requests of arrivals, by when they left.
    pub sent: Ticks,
    /// Arrivals, by when they were intended.
    pub intended: Ticks,
    /// Arrivals that were judged.
    pub arrivals: u64,
    /// Those of them that were dropped at the bound of operations in flight.
    pub dropped_at_limit: u64,
    /// Those that were dropped because the run ended before they could be asked.
    pub dropped_at_end: u64,
    /// Moments in order, in stretches without gaps.
    pub stretches: Vec<Vec<(u64, Moment)>>,
    /// How many operations were hits.
    pub hits: u64,
    /// The slowest of them, the slowest first.
    pub slowest: Vec<Slow>,
}

/// One run, as the checks see it.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What was asked of the judge.
    pub question: &'a Question,
    /// What numbers are held against.
    pub thresholds: &'a Thresholds,
    /// What the judge found.
    pub summary: &'a Summary,
    /// What was observed beside the records.
    pub evidence: &'a Evidence,
    /// What the examiner found.
    pub seen: &'a Seen,
}

impl Case<'_> {
    /// Whether it was a load.
    pub fn is_load(&self) -> bool {
        self.question.phases == Phases::Load
    }

    /// Whether sessions waited for answers.
    pub fn is_closed(&self) -> bool {
        matches!(self.question.load, LoadModel::Closed { .. })
    }

    /// The window.
    pub fn window(&self) -> Window {
        self.summary.window
    }

    /// Whether the window is too short for anything to be told from it.
    pub fn is_too_short(&self) -> bool {
        self.window().duration().as_secs_f64() < self.thresholds.length_fail
    }

    /// How gaps were promised to be distributed.
    pub fn gaps(&self) -> Option<Gaps> {
        self.evidence.arrivals.as_ref().map(|promise| promise.process)
    }

    fn per_second(&self) -> Option<&[f64]> {
        self.evidence.arrivals.as_ref().and_then(|Promise { per_second, .. }| per_second.as_deref())
    }

    /// Whether the rate changes by plan.
    pub fn is_varying(&self) -> bool {
        let whole = self.window().duration().0 / Nanos::from_secs(1).0;
        let seconds = self.per_second().unwrap_or(&[]);
        let seconds = &seconds[..seconds.len().min(whole as usize)];
        let most = seconds.iter().copied().fold(0.0, f64::max);
        let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        !seconds.is_empty() && most - least > VARYING * most
    }

    /// Arrivals that were promised in each of `number` stretches of `width` from the window's
    /// beginning on; `None` if no rate is known.
    pub fn promised(&self, width: Nanos, number: usize) -> Option<Vec<f64>> {
        let seconds = width.as_secs_f64();
        let Some(plan) = self.per_second() else {
            return self.question.load.target().map(|rate| vec![rate * seconds; number]);
        };
        let until = |at: f64| {
            let whole = (at as usize).min(plan.len());
            let rest = plan.get(whole).copied().unwrap_or(0.0) * (at - whole as f64);
            plan[..whole].iter().sum::<f64>() + rest
        };
        // The running sum is looked up at neighbouring places, which is cheap enough once per
        // second and would not be for each of a million short stretches.
        if width >= Nanos::from_secs(1) {
            let at = |place: usize| until(place as f64 * seconds);
            return Some((0..number).map(|place| at(place + 1) - at(place)).collect());
        }
        let rate = |place: usize| plan.get((place as f64 * seconds) as usize).copied();
        Some((0..number).map(|place| rate(place).unwrap_or(0.0) * seconds).collect())
    }

    /// The rate that was promised at `moment`, by any constant factor.
    pub fn weight(&self, moment: u64) -> f64 {
        let Some(plan) = self.per_second() else { return 1.0 };
        let second = Nanos(moment).since(self.window().from).0 / Nanos::from_secs(1).0;
        plan.get(second as usize).or(plan.last()).copied().unwrap_or(1.0)
    }

    /// Arrivals that were promised in the whole window.
    pub fn promised_in_all(&self) -> Option<f64> {
        match self.per_second() {
            Some(plan) => Some(plan.iter().sum()),
            None => {
                let rate = self.question.load.target()?;
                Some(rate * self.window().duration().as_secs_f64())
            }
        }
    }

    /// The percentiles of response time that enough values tell, without the maximum.
    pub fn told_percentiles(&self) -> impl Iterator<Item = &Percentile> {
        let all = self.summary.overall.hits.response.percentiles.iter();
        all.filter(|percentile| matches!(percentile.interval, Interval::Known { .. }))
    }

    /// The percentile of response time at `quantile`, if there are any hits.
    pub fn response(&self, quantile: f64) -> Option<Nanos> {
        let all = &self.summary.overall.hits.response.percentiles;
        all.iter().find(|one| one.quantile == quantile).map(|one| one.value)
    }
}
