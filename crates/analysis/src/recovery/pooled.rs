//! Injections of one sort together: medians, means, intervals.
//!
//! Times to recovery may be censored. Median and mean are those of the Kaplan–Meier curve (E. L.
//! Kaplan, P. Meier, JASA 53, 1958); the mean is the area below it up to the longest time observed,
//! a lower bound where that one is censored. Intervals at 95 % are percentiles over injections
//! drawn anew (B. Efron, R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13).

use assay_model::{Draws, Nanos, Seed};

use super::injection::{InjectionOutcome, TimeTo};
use crate::median::{median, sorted};

/// Fewer injections than this have no interval.
pub(super) const FEWEST: usize = 5;
/// How often injections are drawn anew.
pub(super) const DRAWS: u64 = 2_000;
/// The seed of these draws, so that the same run has the same intervals.
pub(super) const SEED: Seed = Seed(0xFA_17);
/// The stream of the draws of one sort.
const STREAM: u64 = 0xA7_01;

/// A figure of several injections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The largest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

/// Times to recovery of several injections, some censored perhaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// How many are censored.
    pub censored: u64,
    /// The median; `None` if so many are censored that it is longer than all observed.
    pub median: Option<Nanos>,
    /// The longest observed.
    pub max: TimeTo,
    /// The mean, restricted to what was observed.
    pub mean: Nanos,
    /// Whether the mean is a lower bound, as the longest time is censored.
    pub is_lower_bound: bool,
    /// The interval of the mean at 95 %; `None` of fewer than five injections.
    pub interval: Option<(Nanos, Nanos)>,
}

/// All injections of one sort.
#[derive(Clone, Debug, PartialEq)]
pub struct PooledFaults {
    /// The sort, such as `kill leader`.
    pub sort: String,
    /// How many there were.
    pub injections: u64,
    /// From the fault until goodput is back for good.
    pub ttr90: Pooled,
    /// From the fault until the 99th percentile is back.
    pub tail: Pooled,
    /// From the fault until a client knew, in seconds, of those that had an error.
    pub detection: Option<Spread>,
    /// Seconds of the baseline's goodput that were lost.
    pub lost_s: Spread,
}

/// The injections of each sort, in the order of their first.
pub fn pooled(injections: &[InjectionOutcome]) -> Vec<PooledFaults> {
    let mut sorts: Vec<&str> = Vec::new();
    for one in injections {
        if !sorts.contains(&one.fault.sort.as_str()) {
            sorts.push(&one.fault.sort);
        }
    }
    let of_sort = |sort: &str| {
        let of: Vec<&InjectionOutcome> =
            injections.iter().filter(|one| one.fault.sort == sort).collect();
        let times = |time: fn(&InjectionOutcome) -> TimeTo| -> Vec<TimeTo> {
            of.iter().map(|one| time(one)).collect()
        };
        let detected = of.iter().filter_map(|one| Some(one.detection?.as_secs_f64()));
        PooledFaults {
            sort: sort.to_owned(),
            injections: of.len() as u64,
            ttr90: pool(&times(|one| one.ttr90)),
            tail: pool(&times(|one| one.tail)),
            detection: spread(detected),
            lost_s: spread(of.iter().map(|one| one.lost_s)).expect("a sort has an injection"),
        }
    };
    sorts.into_iter().map(of_sort).collect()
}

/// The spread of values; `None` without values.
fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let values = sorted(values);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Some(Spread { median: median(&values)?, max: *values.last()?, mean })
}

/// What `times`, at least one, say together.
pub(super) fn pool(times: &[TimeTo]) -> Pooled {
    let curve = Survival::of(times);
    let longest = times.iter().copied().max_by_key(|time| (time.observed(), time.is_censored()));
    let max = longest.unwrap_or(TimeTo::After(Nanos::ZERO));
    let interval = (times.len() >= FEWEST).then(|| {
        let drawn = |number| mean_of(&redrawn(times, &mut SEED.draws(STREAM, number)));
        bounds(&sorted((0..DRAWS).map(drawn)))
    });
    Pooled {
        censored: times.iter().filter(|time| time.is_censored()).count() as u64,
        median: curve.median(),
        max,
        mean: Nanos(curve.mean() as u64),
        is_lower_bound: max.is_censored(),
        interval: interval.map(|(low, high)| (Nanos(low as u64), Nanos(high as u64))),
    }
}

/// The restricted mean, in nanoseconds.
pub(super) fn mean_of(times: &[TimeTo]) -> f64 {
    Survival::of(times).mean()
}

/// As many of `times`, drawn with replacement.
pub(super) fn redrawn(times: &[TimeTo], draws: &mut Draws) -> Vec<TimeTo> {
    let draw = |_: &TimeTo| times[draws.below(times.len() as u64) as usize];
    times.iter().map(draw).collect()
}

/// The bounds of the middle 95 % of rising values.
pub(super) fn bounds(drawn: &[f64]) -> (f64, f64) {
    let at = |share: f64| drawn[((drawn.len() - 1) as f64 * share).round() as usize];
    (at(0.025), at(0.975))
}

/// The Kaplan–Meier curve: the share that has not recovered after each time.
struct Survival {
    /// Where the share falls, rising, with what it is from there on.
    falls: Vec<(Nanos, f64)>,
    longest: Nanos,
}

impl Survival {
    fn of(times: &[TimeTo]) -> Survival {
        let mut times = times.to_vec();
        times.sort_by_key(|time| (time.observed(), time.is_censored()));
        let longest = times.last().map_or(Nanos::ZERO, |time| time.observed());
        let (mut falls, mut share, mut left) = (Vec::new(), 1.0, times.len());
        for same in times.chunk_by(|one, other| one.observed() == other.observed()) {
            let recovered = same.iter().filter(|time| !time.is_censored()).count();
            if recovered > 0 {
                share *= 1.0 - recovered as f64 / left as f64;
                falls.push((same[0].observed(), share));
            }
            left -= same.len();
        }
        Survival { falls, longest }
    }

    fn median(&self) -> Option<Nanos> {
        // A share of a half within rounding is a half.
        self.falls.iter().find(|(_, share)| *share <= 0.5 + 1e-12).map(|(at, _)| *at)
    }

    fn mean(&self) -> f64 {
        let (mut area, mut from, mut share) = (0.0, Nanos::ZERO, 1.0);
        for (at, next) in &self.falls {
            area += share * at.since(from).0 as f64;
            (from, share) = (*at, *next);
        }
        area + share * self.longest.since(from).0 as f64
    }
}
