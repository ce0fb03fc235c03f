//! Everything that the checks look at, gathered.

use assay_model::Nanos;

use super::evidence::{Evidence, Gaps};
use super::outliers::Slow;
use super::plan::Plan;
use super::sample::Moment;
use super::thresholds::Thresholds;
use super::ticks::Ticks;
use crate::options::{AnalysisOptions, LoadModel, Phases, Window};
use crate::summary::{Interval, Percentile, Summary};

/// The validator's counts from the records.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Requests of arrivals, by when they left.
    pub sent: Ticks,
    /// Arrivals, by when they were intended.
    pub intended: Ticks,
    /// Arrivals that were analyzed.
    pub arrivals: u64,
    /// Those of them that were dropped at the bound of operations in flight.
    pub dropped_at_limit: u64,
    /// Those that were dropped because the run ended before they could be issued.
    pub dropped_at_end: u64,
    /// Those that were late, or dropped, only because the bound on operations in flight was
    /// reached; they are in none of the two above.
    pub held_back: u64,
    /// Moments in order, in stretches without gaps.
    pub stretches: Vec<Vec<(u64, Moment)>>,
    /// How many operations were hits.
    pub hits: u64,
    /// The slowest of them, the slowest first.
    pub slowest: Vec<Slow>,
}

/// One run, as the checks see it.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The options of the analysis.
    pub options: &'a AnalysisOptions,
    /// What numbers are held against.
    pub thresholds: &'a Thresholds,
    /// The analyzer's summary.
    pub summary: &'a Summary,
    /// What was observed beside the records.
    pub evidence: &'a Evidence,
    /// The validator's counts.
    pub observed: &'a Observed,
}

/// If arrivals were held back for at least this share of the window, the store decides the load.
const HELD: f64 = 0.1;

impl Input<'_> {
    /// Whether the bound on operations in flight held arrivals back for a good part of the window.
    pub fn is_held_back(&self) -> bool {
        self.options.held.share(self.window()) > HELD
    }

    /// The stretches in which the store answered nothing, or nothing in time, as far as they are
    /// long enough to show in the series.
    pub fn stops(&self) -> impl Iterator<Item = Window> {
        let (found, width) = (&self.summary.availability, self.summary.series.width);
        let outages = found.outages.iter().map(|one| Window { from: one.from, until: one.until });
        let silences = found.silences.iter();
        let silences = silences.map(|one| Window { from: one.from, until: one.until });
        outages.chain(silences).filter(move |stop| stop.duration() >= width)
    }

    /// Whether the run shows a store that stops or does not keep up.
    pub fn is_disturbed(&self) -> bool {
        self.is_held_back() || self.stops().next().is_some()
    }

    /// Whether it was a load.
    pub fn is_load(&self) -> bool {
        self.options.phases == Phases::Load
    }

    /// Whether sessions waited for answers.
    pub fn is_closed(&self) -> bool {
        matches!(self.options.load, LoadModel::Closed { .. })
    }

    /// The window.
    pub fn window(&self) -> Window {
        self.summary.window
    }

    /// Whether the window is too short for any conclusion.
    pub fn is_too_short(&self) -> bool {
        self.window().duration().as_secs_f64() < self.thresholds.length_fail
    }

    /// How gaps were promised to be distributed.
    pub fn gaps(&self) -> Option<Gaps> {
        self.evidence.arrivals.as_ref().map(|expected_arrivals| expected_arrivals.process)
    }

    fn plan(&self) -> Option<&Plan> {
        self.evidence
            .arrivals
            .as_ref()
            .and_then(|expected_arrivals| expected_arrivals.plan.as_ref())
    }

    /// Whether the rate changes by plan.
    pub fn is_varying(&self) -> bool {
        self.plan().is_some_and(Plan::is_varying)
    }

    /// Arrivals that were promised in each of `number` stretches of `width` from the window's
    /// beginning on; `None` if no rate is known.
    pub fn scheduled(&self, width: Nanos, number: usize) -> Option<Vec<f64>> {
        let Some(plan) = self.plan() else {
            let rate = self.options.load.target()?;
            return Some(vec![rate * width.as_secs_f64(); number]);
        };
        let until = |place: usize| plan.before(Nanos(width.0 * place as u64));
        Some((0..number).map(|place| until(place + 1) - until(place)).collect())
    }

    /// A gap after `moment` on the axis on which arrivals are evenly promised: by the plan's
    /// integral if there is one (the change of time that makes any Poisson process steady),
    /// otherwise in nanoseconds.
    pub fn evened(&self, moment: u64, gap: u64) -> f64 {
        let Some(plan) = self.plan() else { return gap as f64 };
        let past = Nanos(moment).since(self.window().from);
        plan.before(past + Nanos(gap)) - plan.before(past)
    }

    /// Arrivals that were promised in the whole window.
    pub fn promised_in_all(&self) -> Option<f64> {
        match self.plan() {
            Some(plan) => Some(plan.total()),
            None => {
                let rate = self.options.load.target()?;
                Some(rate * self.window().duration().as_secs_f64())
            }
        }
    }

    /// The percentiles of response time that enough values tell, without the maximum.
    pub fn known_percentiles(&self) -> impl Iterator<Item = &Percentile> {
        let all = self.summary.overall.hits.response.percentiles.iter();
        all.filter(|percentile| matches!(percentile.interval, Interval::Known { .. }))
    }

    /// The percentile of response time at `quantile`, if there are any hits.
    pub fn response(&self, quantile: f64) -> Option<Nanos> {
        self.summary.overall.hits.response.value(quantile)
    }
}
