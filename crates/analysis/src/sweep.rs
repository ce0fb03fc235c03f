//! The throughput–latency curve with its knee.

use assay_model::named_enum;

use crate::plausibility::Verdict;
use crate::tune::{Step, rounded};

/// A difference below this share of the curve's height is no knee but a slope.
const BEND: f64 = 0.1;

/// With fewer points there is no curve to speak of.
const POINTS_MIN: usize = 4;

/// Rates to issue one after the other, rising.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sweep {
    /// The first rate, above 0.
    pub from: f64,
    /// The last rate, above the first.
    pub to: f64,
    /// How many, at least 2.
    pub points: usize,
    /// How they are spread.
    pub spread: Spread,
}

named_enum! {
    /// How points are spread between two ends.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Spread {
        /// Equal differences.
        Linear => "lin",
        /// Equal ratios.
        Log => "log",
    }
}

impl Sweep {
    /// The rates.
    pub fn rates(&self) -> Vec<f64> {
        let last = self.points.saturating_sub(1).max(1);
        let rate = |place: usize| match place {
            0 => self.from,
            place if place == last => self.to,
            place => {
                let share = place as f64 / last as f64;
                rounded(match self.spread {
                    Spread::Linear => self.from + (self.to - self.from) * share,
                    Spread::Log => self.from * (self.to / self.from).powf(share),
                })
            }
        };
        (0..self.points).map(rate).collect()
    }
}

/// One point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Target rate in arrivals per second.
    pub rate: f64,
    /// The latency in nanoseconds.
    pub latency_ns: f64,
}

/// The curve that `steps` draw: for every rate one latency, rates rising.
///
/// Of several runs at one rate the middle one counts (of an even number the lower of both), so that
/// every point was measured. Steps that found no latency are left out, with those whose latency is
/// not the store's because the client was too slow.
pub fn curve(steps: &[Step]) -> Vec<Point> {
    let mut points: Vec<Point> = steps
        .iter()
        .filter(|step| !step.outcome.is_of_client())
        .filter_map(|step| {
            let latency = step.outcome.figures.latency?;
            Some(Point { rate: step.request.rate, latency_ns: latency.0 as f64 })
        })
        .collect();
    points.sort_by(|a, b| {
        a.rate.total_cmp(&b.rate).then_with(|| a.latency_ns.total_cmp(&b.latency_ns))
    });
    let is_same = |a: &Point, b: &Point| a.rate == b.rate;
    points.chunk_by(is_same).map(|runs| runs[(runs.len() - 1) / 2]).collect()
}

/// The highest rate up to which every step held; nothing if the lowest did not.
pub fn held_up_to(steps: &[Step]) -> Option<f64> {
    let mut steps: Vec<&Step> = steps.iter().collect();
    steps.sort_by(|a, b| a.request.rate.total_cmp(&b.request.rate));
    let failed = steps.iter().find(|step| step.outcome.verdict != Verdict::Held);
    let below = |step: &&&Step| failed.is_none_or(|failed| step.request.rate < failed.request.rate);
    steps.iter().filter(below).map(|step| step.request.rate).next_back()
}

/// Where the curve bends upwards: the last rate before latency costs more than throughput gains.
///
/// The point of the curve that lies farthest below the straight line from its first point to its
/// last, with both axes scaled to one. This is the difference curve of Kneedle for a convex rising
/// curve, without its smoothing, for points are few. Nothing is found where the curve is nearly
/// straight.
///
/// Source: V. Satopää, J. Albrecht, D. Irwin, B. Raghavan, "Finding a 'Kneedle' in a Haystack",
/// ICDCS Workshops 2011, §III.
pub fn knee(curve: &[Point]) -> Option<Point> {
    let (first, last) = (curve.first()?, curve.last()?);
    let rates = last.rate - first.rate;
    let (low, high) = curve.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), point| {
        (low.min(point.latency_ns), high.max(point.latency_ns))
    });
    if curve.len() < POINTS_MIN || rates <= 0.0 || high <= low {
        return None;
    }
    let height = |point: &Point| (point.latency_ns - low) / (high - low);
    let begin = height(first);
    let rise = height(last) - begin;
    let below = |point: &Point| {
        let line = begin + rise * (point.rate - first.rate) / rates;
        line - height(point)
    };
    let farthest = curve.iter().max_by(|a, b| below(a).total_cmp(&below(b)))?;
    (below(farthest) > BEND).then_some(*farthest)
}

#[cfg(test)]
mod tests {
    use assay_model::Nanos;

    use super::*;
    use crate::tune::{Figures, Purpose, Request, StepOutcome};

    #[test]
    fn rates_are_spread_from_end_to_end() {
        let sweep = |spread| Sweep { from: 1_000.0, to: 64_000.0, points: 4, spread }.rates();
        assert_eq!(sweep(Spread::Linear), [1_000.0, 22_000.0, 43_000.0, 64_000.0]);
        assert_eq!(sweep(Spread::Log), [1_000.0, 4_000.0, 16_000.0, 64_000.0]);
        let two = Sweep { from: 1.0, to: 2.0, points: 2, spread: Spread::Log };
        assert_eq!(two.rates(), [1.0, 2.0]);
    }

    fn step(rate: f64, latency_ms: u64, verdict: Verdict) -> Step {
        let request = Request { number: 0, rate, purpose: Purpose::Sweep, length: 1 };
        let latency = Some(Nanos::from_millis(latency_ms)).filter(|latency| latency.0 > 0);
        let figures = Figures { latency, ..Figures::default() };
        Step { request, outcome: StepOutcome { verdict, figures, ..StepOutcome::broken() } }
    }

    #[test]
    fn a_curve_has_the_middle_run_of_each_rate() {
        let held = Verdict::Held;
        let steps = [
            step(20.0, 9, held),
            step(10.0, 1, held),
            step(20.0, 4, held),
            step(20.0, 5, held),
            step(30.0, 0, Verdict::Violated),
        ];
        let points: Vec<(f64, f64)> =
            curve(&steps).iter().map(|point| (point.rate, point.latency_ns)).collect();
        assert_eq!(points, [(10.0, 1e6), (20.0, 5e6)]);
    }

    #[test]
    fn a_sustained_rate_above_a_failed_one_is_not_the_result() {
        let (held, violated) = (Verdict::Held, Verdict::Violated);
        let steps = [step(40.0, 1, held), step(10.0, 1, held), step(20.0, 1, held)];
        assert_eq!(held_up_to(&steps), Some(40.0));
        let again = [step(20.0, 1, violated), step(30.0, 1, violated)];
        assert_eq!(held_up_to(&[&steps[..], &again[..]].concat()), Some(10.0));
        assert_eq!(held_up_to(&again), None);
    }

    fn knee_of(latency: impl Fn(f64) -> f64) -> Option<f64> {
        let points: Vec<Point> = (1..=100)
            .map(|place| place as f64)
            .map(|rate| Point { rate, latency_ns: latency(rate) })
            .collect();
        knee(&points).map(|point| point.rate)
    }

    #[test]
    fn the_knee_of_a_queue_is_where_the_slope_is_that_of_the_chord() {
        // 1/(101 − x) from 1 to 100: the chord's slope is 0.01, and so is the curve's at 101 − 10.
        assert_eq!(knee_of(|rate| 1e6 / (101.0 - rate)), Some(91.0));
    }

    #[test]
    fn the_knee_of_two_straight_lines_is_where_they_meet() {
        assert_eq!(knee_of(|rate| if rate <= 70.0 { 5.0 } else { 5.0 + rate - 70.0 }), Some(70.0));
    }

    #[test]
    fn what_is_straight_or_bends_the_other_way_has_no_knee() {
        assert_eq!(knee_of(|rate| rate), None);
        assert_eq!(knee_of(|_| 7.0), None);
        assert_eq!(knee_of(f64::sqrt), None);
        assert_eq!(knee(&[Point { rate: 1.0, latency_ns: 1.0 }]), None);
        assert_eq!(knee(&[]), None);
    }
}
