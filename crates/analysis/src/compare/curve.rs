//! One latency of the blocks of a run, ready to be drawn from many times.

use crate::buckets::{Buckets, highest, index, lowest};
use crate::confidence::batch_dependence;

/// Buckets per octave, as a power of two: 0.8 % wide, and read with interpolation.
pub const FINE: u32 = 7;

/// How many values of each block are at most as large as each bucket.
///
/// A quantile of any mixture of blocks is then found by bisection, without adding histograms up.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    first: usize,
    blocks: usize,
    /// Row after row, one count per block.
    cumulative: Vec<u32>,
}

impl Curve {
    /// Of the blocks of a run, in order.
    pub fn new(blocks: &[Buckets<FINE>]) -> Curve {
        let occupied = || blocks.iter().flat_map(Buckets::occupied).map(|(bucket, _)| bucket);
        let first = occupied().min().unwrap_or(0);
        let rows = occupied().max().map_or(0, |last| last - first + 1);
        let mut cumulative = vec![0_u32; rows * blocks.len()];
        for (block, buckets) in blocks.iter().enumerate() {
            for (bucket, count) in buckets.occupied() {
                let place = (bucket - first) * blocks.len() + block;
                cumulative[place] = u32::try_from(count).unwrap_or(u32::MAX);
            }
        }
        for place in blocks.len()..cumulative.len() {
            let before = cumulative[place - blocks.len()];
            cumulative[place] = cumulative[place].saturating_add(before);
        }
        Curve { first, blocks: blocks.len(), cumulative }
    }

    /// How many values all blocks have together, each block as often as `weights` says.
    pub fn count(&self, weights: &[u32]) -> u64 {
        match self.rows() {
            0 => 0,
            rows => self.at_most(rows - 1, weights),
        }
    }

    /// The quantile of the blocks, each as often as `weights` says, in nanoseconds; 0 if there
    /// are no values.
    pub fn quantile(&self, quantile: f64, weights: &[u32]) -> f64 {
        let count = self.count(weights);
        if count == 0 {
            return 0.0;
        }
        let expected = quantile * count as f64;
        let (mut below, mut from) = (0, self.rows() - 1);
        while below < from {
            let middle = usize::midpoint(below, from);
            if (self.at_most(middle, weights) as f64) < expected {
                below = middle + 1;
            } else {
                from = middle;
            }
        }
        let before = if from == 0 { 0 } else { self.at_most(from - 1, weights) };
        let within = self.at_most(from, weights) - before;
        let share = (expected - before as f64) / (within as f64).max(1.0);
        let bucket = self.first + from;
        let (low, high) = (lowest::<FINE>(bucket) as f64, highest::<FINE>(bucket) as f64 + 1.0);
        low + share.clamp(0.0, 1.0) * (high - low)
    }

    /// τ at `value`: how many successive values tell as much as an independent one, by batch
    /// means over the blocks; see [`confidence`](crate::confidence).
    pub fn dependence(&self, value: f64) -> f64 {
        let Some(last) = self.rows().checked_sub(1) else { return 1.0 };
        let Some(row) = index::<FINE>(value as u64).checked_sub(self.first) else { return 1.0 };
        let at = |row: usize| self.dependence_at(row.min(last));
        at(row).max(at(row.saturating_sub(1))).max(1.0)
    }

    fn dependence_at(&self, row: usize) -> f64 {
        let (below, sizes) = (self.row(row), self.row(self.rows() - 1));
        batch_dependence(below.iter().zip(sizes).map(|(&x, &n)| (f64::from(x), f64::from(n))))
    }

    fn rows(&self) -> usize {
        self.cumulative.len().checked_div(self.blocks).unwrap_or(0)
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.cumulative[row * self.blocks..(row + 1) * self.blocks]
    }

    fn at_most(&self, row: usize, weights: &[u32]) -> u64 {
        let pairs = self.row(row).iter().zip(weights);
        pairs.map(|(&count, &weight)| u64::from(count) * u64::from(weight)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(values: impl IntoIterator<Item = u64>) -> Buckets<FINE> {
        let mut buckets = Buckets::default();
        values.into_iter().for_each(|value| buckets.add(value));
        buckets
    }

    #[test]
    fn a_quantile_of_weighted_blocks_is_that_of_their_values_together() {
        let curve = Curve::new(&[block(1_000..2_000), block(9_000..10_000)]);
        let near =
            |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.005, "{found}");
        near(curve.quantile(0.25, &[1, 1]), 1_500.0);
        near(curve.quantile(0.75, &[1, 1]), 9_500.0);
        near(curve.quantile(0.75, &[2, 0]), 1_750.0);
        near(curve.quantile(0.4, &[1, 3]), 9_200.0);
        assert_eq!(curve.count(&[1, 3]), 4_000);
        assert_eq!(Curve::new(&[block([])]).quantile(0.5, &[1]), 0.0);
    }

    #[test]
    fn blocks_that_differ_show_dependence() {
        let equal = Curve::new(&vec![block((0..100).map(|v| v * 1_000)); 30]);
        assert_eq!(equal.dependence(50_000.0), 1.0);
        let halves = [vec![block([1_000; 200]); 15], vec![block([9_000; 200]); 15]].concat();
        // As in the analyzer's own batches: 30 · 100² · 30/29 / (6000 · ¼).
        let found = Curve::new(&halves).dependence(1_000.0);
        assert!((found - 30.0 * 1e4 * 30.0 / 29.0 / 1_500.0).abs() < 1e-9, "{found}");
    }
}
