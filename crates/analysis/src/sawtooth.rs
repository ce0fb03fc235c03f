//! Saw-tooth of latencies after a hiccup, in closed form.
//!
//! A store serves μ requests per second, one after the other. Requests are meant for moments
//! 1/λ apart, λ < μ. For a time H nothing is served. Measured from the intended moment, the n-th
//! request after the hiccup began takes
//!
//! ```text
//! r(n) = l + max(0, H − n·(1/λ − 1/μ))
//! ```
//!
//! where l is the time of a request that does not queue: a saw-tooth with its peak at H + l,
//! which is over H·μ/(μ−λ) after the hiccup began. This is what users of an open system see.
//!
//! A closed loop of N sessions that is paced at λ issues the first N of them in time; then all
//! sessions wait. After the hiccup each issues at once when its answer has come, so that N requests
//! are with the store all the time: it works at full speed, and each request takes N/μ from the
//! moment when it was sent,
//!
//! ```text
//! s(n) = r(n)                   for n < N
//! s(n) = max(l, min(N/μ, r(n))) for n ≥ N
//! ```
//!
//! which is the service time. Measured from the intended moment the same requests take r(n), as
//! long as N sessions can keep the store busy. A session that needs c from one request to its
//! next, which waits for no other, issues 1/c times a second at most: the store gets at most
//! X = min(μ, N/c), and the saw-tooth is over H·X/(X−λ) after the hiccup began, or never if X ≤ λ.
//!
//! The saw-tooth follows from equation (2) of Friedrich, Wingerath, Ritter: "Coordinated Omission
//! in NoSQL Database Benchmarking", BTW 2017; the rest is ours.

use assay_model::{Nanos, Record};

/// Steady arrivals at a store that has one hiccup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sawtooth {
    /// Intended requests per second, equally far apart (λ).
    pub rate: f64,
    /// Requests per second that the store serves (μ), above `rate`.
    pub capacity: f64,
    /// When the hiccup begins.
    pub at: Nanos,
    /// How long nothing is served (H).
    pub hiccup: Nanos,
    /// The time of a request that does not queue (l).
    pub healthy: Nanos,
    /// How many requests there are in all.
    pub operations: u64,
}

/// Which latency of a saw-tooth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyKind {
    /// From the intended moment.
    Response,
    /// From the moment when one of so many sessions of a paced closed loop sent it.
    Service {
        /// How many sessions (N).
        sessions: u32,
    },
}

impl Sawtooth {
    /// By how much the n-th wait is longer than the next, in nanoseconds: 1/λ − 1/μ.
    pub fn step_ns(&self) -> f64 {
        1e9 / self.rate - 1e9 / self.capacity
    }

    /// The number of the first request that the hiccup hits.
    pub fn first(&self) -> u64 {
        // A request at the very moment of the hiccup is hit, whatever the last bit says.
        (self.at.as_secs_f64() * self.rate - 1e-6).ceil().max(0.0) as u64
    }

    /// What of the hiccup is left for the first request that it hits, in nanoseconds.
    fn longest_wait_ns(&self) -> f64 {
        let first = self.first() as f64 * 1e9 / self.rate;
        (self.hiccup.0 as f64 - (first - self.at.0 as f64)).max(0.0)
    }

    /// How many requests wait because of the hiccup.
    pub fn affected(&self) -> u64 {
        let waits = (self.longest_wait_ns() / self.step_ns() - 1e-6).ceil().max(0.0) as u64;
        waits.min(self.operations.saturating_sub(self.first()))
    }

    /// How long after the hiccup began a request is the first that does not wait: H·μ/(μ−λ), up to
    /// the next arrival.
    pub fn back_after(&self) -> Nanos {
        let end = (self.first() + self.affected()) as f64 * 1e9 / self.rate;
        Nanos((end - self.at.0 as f64).round().max(0.0) as u64)
    }

    /// What the n-th request after the hiccup began takes, in nanoseconds.
    pub fn latency_ns(&self, number: u64, observed: LatencyKind) -> f64 {
        let healthy = self.healthy.0 as f64;
        let wait = self.longest_wait_ns() - number as f64 * self.step_ns();
        let response = healthy + wait.max(0.0);
        match observed {
            LatencyKind::Service { sessions } if number >= u64::from(sessions) => {
                response.min(f64::from(sessions) * 1e9 / self.capacity).max(healthy)
            }
            _ => response,
        }
    }

    /// All latencies, the longest first, as the figures that [`Sawtooth::look`] gives of records.
    pub fn figures(&self, observed: LatencyKind, quantiles: &[f64]) -> Figures {
        // Both latencies only ever fall with the number of the request.
        let affected = self.affected();
        let latency = |number: u64| self.latency_ns(number, observed);
        let healthy = self.healthy.0 as f64;
        let sum: f64 = (0..affected).map(latency).sum();
        let others = self.operations - affected;
        let at = |quantile: f64| {
            let rank = crate::distribution::rank(self.operations, quantile);
            let place = self.operations.checked_sub(rank);
            place.map_or(Nanos::ZERO, |place| Nanos(latency(place).round() as u64))
        };
        let slower = |number: &u64| latency(*number) > healthy + TOLERANCE_NS;
        let is_felt = (0..affected).take_while(slower).count() as u64;
        Figures {
            mean_ns: (sum + others as f64 * healthy) / self.operations.max(1) as f64,
            max: at(1.0),
            quantiles: quantiles.iter().map(|&quantile| (quantile, at(quantile))).collect(),
            affected: is_felt,
            back_after: match observed {
                LatencyKind::Response => self.back_after(),
                // The last that is felt may come before the last that waits; see `affected`.
                LatencyKind::Service { .. } => self.back_at(is_felt),
            },
        }
    }

    fn back_at(&self, number: u64) -> Nanos {
        let end = (self.first() + number) as f64 * 1e9 / self.rate;
        Nanos((end - self.at.0 as f64).round().max(0.0) as u64)
    }

    /// How long the saw-tooth lasts if sessions need `cycle` from one request to their next with
    /// nobody before them; `None` if it never ends.
    pub fn back_after_with(&self, sessions: u32, cycle: Nanos) -> Option<Nanos> {
        let reached = self.catching_up_at(sessions, cycle);
        let lasts = self.hiccup.0 as f64 * reached / (reached - self.rate);
        (reached > self.rate).then_some(Nanos(lasts.round() as u64))
    }

    /// Requests per second that the store gets at most from sessions that need `cycle` from one
    /// request to their next with nobody before them.
    pub fn catching_up_at(&self, sessions: u32, cycle: Nanos) -> f64 {
        match cycle {
            Nanos::ZERO => self.capacity,
            cycle => self.capacity.min(f64::from(sessions) * 1e9 / cycle.0 as f64),
        }
    }

    /// What `records` show of the hiccup, with latencies as `latency` takes them.
    pub fn look(
        &self,
        records: &[Record],
        latency: fn(&Record) -> Nanos,
        quantiles: &[f64],
    ) -> Figures {
        let mut latencies: Vec<u64> = records.iter().map(|record| latency(record).0).collect();
        let limit = self.healthy.0 as f64 + TOLERANCE_NS;
        let affected = records.iter().filter(|record| latency(record).0 as f64 > limit);
        let last = affected.clone().map(|record| record.intended).max();
        let gap = Nanos((1e9 / self.rate).round() as u64);
        let sum: u128 = latencies.iter().map(|&latency| u128::from(latency)).sum();
        let count = latencies.len() as u64;
        latencies.sort_unstable();
        let at = |quantile: f64| {
            let rank = crate::distribution::rank(count, quantile) as usize;
            Nanos(latencies.get(rank - 1).copied().unwrap_or(0))
        };
        Figures {
            mean_ns: sum as f64 / count.max(1) as f64,
            max: at(1.0),
            quantiles: quantiles.iter().map(|&quantile| (quantile, at(quantile))).collect(),
            affected: affected.count() as u64,
            back_after: last.map_or(Nanos::ZERO, |last| (last + gap).since(self.at)),
        }
    }
}

/// The longest latency of each stretch of time, for a chart of a hiccup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyCourse {
    /// Where the first stretch begins.
    pub from: Nanos,
    /// How long each is.
    pub width: Nanos,
    /// The longest latency in each; `None` where there was no request.
    pub longest: Vec<Option<Nanos>>,
}

impl LatencyCourse {
    /// The course of `latency` over `stretches`, each record in that of its `moment`.
    pub fn of(
        records: &[Record],
        (from, width, stretches): (Nanos, Nanos, usize),
        moment: fn(&Record) -> Nanos,
        latency: fn(&Record) -> Nanos,
    ) -> LatencyCourse {
        let mut longest = vec![None; stretches];
        for record in records.iter().filter(|record| moment(record) >= from) {
            let stretch = moment(record).since(from).0 / width.0.max(1);
            if let Some(slot) = longest.get_mut(stretch as usize) {
                *slot = (*slot).max(Some(latency(record)));
            }
        }
        LatencyCourse { from, width, longest }
    }
}

/// A latency that is longer than the healthy one by no more than this is healthy: what times that
/// are whole nanoseconds can add.
const TOLERANCE_NS: f64 = 1_000.0;

/// What is seen of a hiccup in one latency.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The mean over all requests, in nanoseconds.
    pub mean_ns: f64,
    /// The longest.
    pub max: Nanos,
    /// Quantiles over all requests.
    pub quantiles: Vec<(f64, Nanos)>,
    /// Requests that took longer than without queueing.
    pub affected: u64,
    /// How long after the hiccup began a request was meant for which, and for all after it, this
    /// latency was healthy again.
    pub back_after: Nanos,
}

impl Figures {
    /// One of the quantiles; 0 for one that was not measured.
    pub fn at(&self, target: f64) -> Nanos {
        let found = self.quantiles.iter().find(|(quantile, _)| *quantile == target);
        found.map_or(Nanos::ZERO, |(_, value)| *value)
    }

    /// The largest relative deviation of any of these figures from those of `expected`; infinite if
    /// the two have not the same quantiles.
    pub fn deviation(&self, expected: &Figures) -> f64 {
        let places = |figures: &Figures| -> Vec<f64> {
            figures.quantiles.iter().map(|(quantile, _)| *quantile).collect()
        };
        if places(self) != places(expected) {
            return f64::INFINITY;
        }
        let quantiles = self.quantiles.iter().zip(&expected.quantiles);
        let times = quantiles
            .map(|((_, found), (_, expected))| (found.0 as f64, expected.0 as f64))
            .chain([
                (self.mean_ns, expected.mean_ns),
                (self.max.0 as f64, expected.max.0 as f64),
                (self.affected as f64, expected.affected as f64),
                (self.back_after.0 as f64, expected.back_after.0 as f64),
            ]);
        Agreement::of(times.map(|(found, expected)| relative(found, expected))).worst
    }
}

/// A paced closed loop whose sessions lose time after each answer.
#[derive(Clone, Debug)]
pub struct SlowClient {
    /// Its sessions.
    pub sessions: u32,
    /// What a session loses between an answer and its next request.
    pub pause: Nanos,
    /// The most requests per second that the store gets of it, by the closed form.
    pub catching_up_at: f64,
    /// When the intended latency is back to normal, by the closed form; `None` for never.
    pub expected_back: Option<Nanos>,
    /// When it was; `None` if not before the run's end.
    pub found_back: Option<Nanos>,
    /// The longest intended latency over time.
    pub time_course: LatencyCourse,
}

impl SlowClient {
    /// The relative deviation from the closed form: none if both say never, infinite if one does.
    pub fn deviation(&self) -> f64 {
        relative_moment(self.found_back, self.expected_back)
    }
}

/// A result that misses its closed form by more than this share of it is wrong.
pub const TOLERANCE: f64 = 0.01;

/// How far results are from their closed forms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// How many were compared.
    pub compared: usize,
    /// The largest relative deviation; infinite if one of them is no number.
    pub worst: f64,
}

impl Agreement {
    /// Of the relative deviations.
    pub fn of(deviations: impl IntoIterator<Item = f64>) -> Agreement {
        let none = Agreement { compared: 0, worst: 0.0 };
        deviations.into_iter().fold(none, |so_far, deviation| Agreement {
            compared: so_far.compared + 1,
            // The larger of two numbers would leave out what is none.
            worst: so_far.worst.max(if deviation.is_nan() { f64::INFINITY } else { deviation }),
        })
    }

    /// Whether something was compared, all of it within [`TOLERANCE`].
    pub fn holds(&self) -> bool {
        self.compared > 0 && self.worst <= TOLERANCE
    }
}

/// The relative deviation of a moment that may never come: 0 if it never came as it should not,
/// infinite if only one of the two is never.
fn relative_moment(found: Option<Nanos>, expected: Option<Nanos>) -> f64 {
    match (found, expected) {
        (None, None) => 0.0,
        (Some(found), Some(expected)) => relative(found.0 as f64, expected.0 as f64),
        _ => f64::INFINITY,
    }
}

/// How far `found` is from `expected`, as a share of it; infinite if only `expected` is zero.
pub fn relative(found: f64, expected: f64) -> f64 {
    match (found, expected) {
        (found, expected) if found == expected => 0.0,
        (found, expected) => ((found - expected) / expected).abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paper(capacity: f64) -> Sawtooth {
        Sawtooth {
            rate: 1000.0,
            capacity,
            at: Nanos::from_secs(30),
            hiccup: Nanos::from_secs(1),
            healthy: Nanos::ZERO,
            operations: 90_000,
        }
    }

    #[test]
    fn a_load_of_1000_on_a_store_of_1250_recovers_after_five_seconds() {
        let sawtooth = paper(1250.0);
        assert_eq!((sawtooth.first(), sawtooth.affected()), (30_000, 5_000));
        assert_eq!(sawtooth.back_after(), Nanos::from_secs(5));
        let figures = sawtooth.figures(LatencyKind::Response, &[0.9, 0.95, 1.0]);
        assert_eq!(figures.max, Nanos::from_secs(1));
        // 5 % of 90,000 are 4,500: the 4,501st of 5,000 steps of 0.2 ms.
        assert_eq!(figures.quantiles[0].1, Nanos::ZERO);
        assert_eq!(figures.quantiles[1].1, Nanos::from_millis(100));
        assert_eq!(figures.quantiles[2].1, Nanos::from_secs(1));
        // A triangle of 1 s by 5,000 requests, spread over 90,000.
        assert!(relative(figures.mean_ns, 1e9 * 5_001.0 / 2.0 / 90_000.0) < 1e-9);
    }

    #[test]
    fn the_whole_series_of_the_paper_is_back_when_the_formula_says() {
        for capacity in [1053.0, 1111.0, 1250.0, 1333.0, 1430.0, 1666.0, 2000.0, 10_000.0] {
            let formula = capacity / (capacity - 1000.0);
            let found = paper(capacity).back_after().as_secs_f64();
            assert!(found >= formula - 1e-6 && found < formula + 0.001, "{capacity}: {found}");
        }
    }

    #[test]
    fn few_sessions_see_few_long_waits() {
        let service = LatencyKind::Service { sessions: 4 };
        let figures = paper(1250.0).figures(service, &[0.99, 0.9999]);
        assert_eq!(figures.max, Nanos::from_secs(1));
        // Four are hit, the 4,996 after them queue behind three others.
        assert_eq!(figures.quantiles[0].1, Nanos::from_micros(3_200));
        assert_eq!(figures.quantiles[1].1, Nanos::from_micros(3_200));
        assert_eq!(figures.affected, 5_000);
        assert_eq!(paper(1250.0).latency_ns(3, service), 999.4e6);
        assert_eq!(paper(1250.0).latency_ns(4, service), 3.2e6);
    }

    #[test]
    fn slow_sessions_catch_up_late_or_never() {
        let sawtooth = paper(1250.0);
        let back = |sessions, us| sawtooth.back_after_with(sessions, Nanos::from_micros(us));
        assert_eq!(back(4, 0), Some(Nanos::from_secs(5)));
        assert_eq!(back(4, 3_200), Some(Nanos::from_secs(5)));
        assert_eq!(back(4, 3_600), Some(Nanos::from_secs(10)));
        assert_eq!(back(4, 4_000), None);
        assert_eq!(back(16, 4_000), Some(Nanos::from_secs(5)));
    }

    #[test]
    fn a_hiccup_between_two_arrivals_is_met_by_the_second() {
        let sawtooth = Sawtooth { rate: 10.0, at: Nanos::from_millis(10_050), ..paper(1250.0) };
        assert_eq!(sawtooth.first(), 101);
        assert_eq!(sawtooth.latency_ns(0, LatencyKind::Response), 950e6);
    }

    #[test]
    fn a_series_has_gaps_where_nothing_was_issued() {
        let records = [[0, 5], [0, 7], [30, 1], [99, 9]].map(|[begun, latency]| {
            let (begun, ended) = (Nanos(begun), Nanos(begun + latency));
            crate::tests::done(0, assay_model::Kind::Read, begun, begun, ended)
        });
        let stretches = (Nanos(0), Nanos(10), 4);
        let time_course = LatencyCourse::of(&records, stretches, |r| r.intended, Record::response);
        assert_eq!(time_course.longest, [Some(Nanos(7)), None, None, Some(Nanos(1))]);
    }

    #[test]
    fn a_deviation_is_that_of_the_worst_figure() {
        let expected = paper(1250.0).figures(LatencyKind::Response, &[0.99]);
        let found = Figures { mean_ns: expected.mean_ns * 1.02, ..expected.clone() };
        assert!(relative(found.deviation(&expected), 0.02) < 1e-9);
        assert_eq!(expected.deviation(&expected), 0.0);
        assert_eq!(relative(1.0, 0.0), f64::INFINITY);
    }

    #[test]
    fn a_study_without_comparisons_is_no_agreement() {
        assert!(!Agreement::of([]).holds());
        assert!(Agreement::of([0.0, 0.009]).holds());
        assert!(!Agreement::of([0.0, 0.011]).holds());
        for place in 0..3 {
            let mut deviations = [0.0; 3];
            deviations[place] = f64::NAN;
            assert!(!Agreement::of(deviations).holds(), "{place}");
        }
        let never = relative_moment(None, Some(Nanos(5)));
        assert_eq!((never, relative_moment(None, None)), (f64::INFINITY, 0.0));
    }

    #[test]
    fn a_quantile_that_was_not_measured_is_a_deviation() {
        let expected = paper(1250.0).figures(LatencyKind::Response, &[0.9, 0.99]);
        for fewer in [&[0.9][..], &[], &[0.9, 0.999], &[0.9, 0.99, 0.999]] {
            let found = paper(1250.0).figures(LatencyKind::Response, fewer);
            assert_eq!(found.deviation(&expected), f64::INFINITY, "{fewer:?}");
        }
        let found = Figures { mean_ns: f64::NAN, ..expected.clone() };
        assert_eq!(found.deviation(&expected), f64::INFINITY);
    }

    #[test]
    fn no_operations_have_figures_of_nothing() {
        let empty = Sawtooth { operations: 0, ..paper(1250.0) };
        let figures = empty.figures(LatencyKind::Response, &[0.5, 1.0]);
        assert_eq!(figures.quantiles, [(0.5, Nanos::ZERO), (1.0, Nanos::ZERO)]);
        let found = empty.look(&[], Record::response, &[0.5, 1.0]);
        assert_eq!((figures.mean_ns, figures.max), (found.mean_ns, found.max));
    }
}
