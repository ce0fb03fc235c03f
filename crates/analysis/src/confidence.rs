//! Confidence intervals of percentiles that hold although latencies depend on one another.
//!
//! Ranks of order statistics give an interval for independent values (J.-Y. Le Boudec, Performance
//! Evaluation, 2010, theorem 2.1). Latencies queue behind one another, and the naive interval of a
//! p99 then covers the truth in a quarter of the cases instead of 95 %. So the variance of the
//! share of values at or below the percentile is estimated from 30 batches in order of arrival
//! (batch means), compared with that of independent values (τ, at least 1), and the ranks are
//! moved √τ as far, with Student's t for the small number of batches.
//!
//! One pass is enough: while records arrive, worker by worker in order of completion, each value is
//! counted in a rough histogram of the stretch of *intended* time it belongs to. In the end the
//! stretches are cut into 30 batches of nearly equal counts. How many values of a batch are at or
//! below a percentile is known exactly at the two edges of the rough bucket that the percentile
//! lies in (3 % apart); the larger τ of the two is used.

use assay_model::Nanos;

use crate::buckets::{Buckets, ROUGH, index};
use crate::summary::{Interval, Shortage};

/// Batches of the batch-means method.
const BATCHES: usize = 30;
/// With fewer batches than this that hold anything, nothing is said.
const FEWEST_BATCHES: usize = 10;
/// Effective exceedances below which intervals were found to cover too little.
pub const FEWEST_BEYOND: f64 = 10.0;
/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The values of one latency in up to 30 batches by arrival.
#[derive(Clone, Debug, Default)]
pub struct Batches {
    batches: Vec<Buckets<ROUGH>>,
    duration: Nanos,
}

impl Batches {
    /// Cuts `slots`, in order of time, into batches of nearly equal counts.
    pub fn new(slots: &[Buckets<ROUGH>], duration: Nanos) -> Batches {
        let total: u64 = slots.iter().map(Buckets::total).sum();
        let mut batches = vec![Buckets::default(); BATCHES];
        let mut before = 0;
        for slot in slots {
            let size = slot.total();
            let middle = u128::from(before) * 2 + u128::from(size);
            let batch = (middle * BATCHES as u128 / (2 * u128::from(total.max(1)))) as usize;
            batches[batch.min(BATCHES - 1)].merge(slot);
            before += size;
        }
        batches.retain(|batch| batch.total() > 0);
        Batches { batches, duration }
    }

    /// The interval of the percentile that was found to be `value`; `at` gives the value at a rank.
    pub fn interval(
        &self,
        count: u64,
        quantile: f64,
        value: Nanos,
        at: impl Fn(u64) -> Nanos,
    ) -> Interval {
        let n = count as f64;
        let dependence = self.dependence(index::<ROUGH>(value.0));
        let values = n * (1.0 - quantile);
        let beyond = values / dependence;
        // The tolerance keeps 1000 · (1 − 0.99) from being just below 10.
        let is_below = |number: f64, least: f64| number < least * (1.0 - 1e-9);
        if is_below(beyond, FEWEST_BEYOND) {
            let shortage = match values {
                values if is_below(values, 1.0) => Shortage::NoneBeyond,
                values if is_below(values, FEWEST_BEYOND) => Shortage::FewBeyond,
                _ => Shortage::Dependent,
            };
            let further_seconds = self.further(FEWEST_BEYOND / beyond);
            return Interval::TooFew { further_seconds, shortage };
        }
        if self.batches.len() < FEWEST_BATCHES {
            let ratio = FEWEST_BATCHES as f64 / self.batches.len().max(1) as f64;
            let further_seconds = self.further(ratio);
            return Interval::TooFew { further_seconds, shortage: Shortage::FewBatches };
        }
        let reach =
            student(self.batches.len() - 1) * (n * quantile * (1.0 - quantile) * dependence).sqrt();
        let low = (n * quantile - reach).floor().max(1.0) as u64;
        let high = ((n * quantile + reach).ceil() as u64 + 1).min(count);
        Interval::Known { low: at(low), high: at(high), dependence }
    }

    /// How much longer a run of `ratio` times the length would take.
    fn further(&self, ratio: f64) -> f64 {
        let seconds = self.duration.as_secs_f64() * (ratio - 1.0);
        seconds.clamp(0.0, f64::from(u32::MAX))
    }

    /// τ around the bucket that holds the percentile.
    fn dependence(&self, bucket: usize) -> f64 {
        self.dependence_at(bucket).max(self.dependence_at(bucket + 1)).max(1.0)
    }

    /// τ of the event "the value is in a bucket below `edge`", or 0 if it always or never happens.
    fn dependence_at(&self, edge: usize) -> f64 {
        let below = |batch: &Buckets<ROUGH>| (batch.below(edge) as f64, batch.total() as f64);
        batch_dependence(self.batches.iter().map(below))
    }
}

/// τ of being counted, by the means of batches that have so many of their operations counted; 0
/// where all or none are.
pub fn batch_dependence(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let sum = pairs.clone().fold((0.0, 0.0, 0.0), |(a, b, c), (x, n)| (a + x, b + n, c + 1.0));
    let (hits, n, batches) = sum;
    if batches < 2.0 || hits == 0.0 || hits == n {
        return 0.0;
    }
    let share = hits / n;
    let squares: f64 = pairs.map(|(x, size)| (x - size * share).powi(2)).sum();
    squares * batches / (batches - 1.0) / (n * share * (1.0 - share))
}

/// The 97.5 % quantile of Student's t, by the first terms of its Cornish–Fisher expansion; within
/// 0.2 % from 9 degrees of freedom on.
fn student(degrees: usize) -> f64 {
    let nu = degrees as f64;
    let first = (Z.powi(3) + Z) / (4.0 * nu);
    let second = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / (96.0 * nu * nu);
    Z + first + second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_is_what_tables_say() {
        for (degrees, table) in [(9, 2.262), (19, 2.093), (29, 2.045)] {
            assert!((student(degrees) / table - 1.0).abs() < 0.002, "{degrees}");
        }
    }

    #[test]
    fn equal_batches_show_no_dependence() {
        let mut slot = Buckets::default();
        (1..=100).for_each(|value| slot.add(value * 1000));
        let batches = Batches::new(&vec![slot; 60], Nanos::from_secs(1));
        assert_eq!(batches.batches.len(), 30);
        assert_eq!(batches.dependence(index::<ROUGH>(50_000)), 1.0);
    }

    #[test]
    fn a_slow_half_shows_dependence() {
        let (mut fast, mut slow) = (Buckets::default(), Buckets::default());
        (0..100).for_each(|_| fast.add(1_000));
        (0..100).for_each(|_| slow.add(9_000));
        let slots = [vec![fast; 30], vec![slow; 30]].concat();
        let batches = Batches::new(&slots, Nanos::from_secs(1));
        // Batch shares are 15 times 0 and 15 times 1: d = ±100 of 200, n p (1 − p) = 1500.
        let expected = 30.0 * 100.0f64.powi(2) * 30.0 / 29.0 / 1500.0;
        let found = batches.dependence(index::<ROUGH>(1_000));
        assert!((found - expected).abs() < 1e-9, "{found}");
    }
}
