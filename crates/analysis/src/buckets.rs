//! Counts by value in buckets of equal relative width, kept only where values occur.
//!
//! The scheme is HdrHistogram's: each octave is cut into 2^BITS buckets of equal width, below which
//! every integer has its own. With 10 bits the buckets are exactly those of an HdrHistogram with
//! unit 1 and 3 significant digits, so the conversion loses nothing; adding to ours costs one
//! shift and one bounds check, and memory follows the octaves that occur. Source: G. Tene,
//! HdrHistogram (public domain), its description of the counts array.

use std::ops::Range;

use crate::summary::Histogram;

/// Buckets per octave of what percentiles are read from, as a power of two: within 0.1 %.
pub const EXACT: u32 = 10;
/// Buckets per octave of what is kept per stretch of time, as a power of two: within 3.2 %.
pub const ROUGH: u32 = 5;

/// Number of the bucket that `value` falls into.
#[inline]
pub fn index<const BITS: u32>(value: u64) -> usize {
    let octave = 63 - (value | 1 << BITS).leading_zeros();
    let shift = octave - BITS;
    ((shift as usize) << BITS) + (value >> shift) as usize
}

/// The smallest value in bucket `index`.
pub fn lowest<const BITS: u32>(index: usize) -> u64 {
    if index < 2 << BITS {
        return index as u64;
    }
    let shift = (index >> BITS) - 1;
    ((index & ((1 << BITS) - 1)) as u64 + (1 << BITS)) << shift
}

/// The largest value in bucket `index`.
pub fn highest<const BITS: u32>(index: usize) -> u64 {
    lowest::<BITS>(index + 1) - 1
}

/// Counts by value.
#[derive(Clone, Debug, Default)]
pub struct Buckets<const BITS: u32> {
    first: usize,
    counts: Vec<u64>,
}

impl<const BITS: u32> Buckets<BITS> {
    /// Adds one value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let index = index::<BITS>(value);
        match self.counts.get_mut(index.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.add_outside(index),
        }
    }

    #[cold]
    fn add_outside(&mut self, index: usize) {
        self.cover(index..index + 1);
        self.counts[index - self.first] += 1;
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Buckets<BITS>) {
        if other.counts.is_empty() {
            return;
        }
        self.cover(other.range());
        let offset = other.first - self.first;
        for (mine, theirs) in self.counts[offset..].iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }

    /// The sum of all counts.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Buckets that hold something, rising.
    pub fn occupied(&self) -> impl Iterator<Item = (usize, u64)> {
        let counts = self.counts.iter().enumerate();
        counts.filter(|(_, count)| **count > 0).map(|(place, &count)| (self.first + place, count))
    }

    /// How many values are in buckets below `index`.
    pub fn below(&self, index: usize) -> u64 {
        let end = index.saturating_sub(self.first).min(self.counts.len());
        self.counts[..end].iter().sum()
    }

    /// The bucket of the value with 1-based `rank` in sorted order, or the last one.
    pub fn at_rank(&self, rank: u64) -> Option<usize> {
        let mut observed = 0;
        let mut last = None;
        for (index, count) in self.occupied() {
            observed += count;
            last = Some(index);
            if observed >= rank {
                break;
            }
        }
        last
    }

    fn range(&self) -> Range<usize> {
        self.first..self.first + self.counts.len()
    }

    /// Grows by whole octaves until `expected` is inside.
    fn cover(&mut self, expected: Range<usize>) {
        let octave = 1 << BITS;
        let rounded = expected.start / octave * octave..expected.end.div_ceil(octave) * octave;
        if self.counts.is_empty() {
            *self = Buckets { first: rounded.start, counts: vec![0; rounded.len()] };
            return;
        }
        let old = self.range();
        let start = old.start.min(rounded.start);
        let end = old.end.max(rounded.end);
        if start < old.start {
            let mut counts = vec![0; end - start];
            counts[old.start - start..old.end - start].copy_from_slice(&self.counts);
            *self = Buckets { first: start, counts };
        } else {
            self.counts.resize(end - start, 0);
        }
    }
}

impl Buckets<EXACT> {
    /// The same counts in the field's own format.
    pub fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::new(3).expect("3 significant digits are allowed");
        for (index, count) in self.occupied() {
            let value = lowest::<EXACT>(index);
            histogram.record_n(value, count).expect("the histogram resizes itself");
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_between_the_ends_of_its_bucket() {
        for value in (0..5000).chain((12..42).map(|e| (1u64 << e) - 1)).chain([1 << 41, 123456789])
        {
            let exact = index::<EXACT>(value);
            assert!(lowest::<EXACT>(exact) <= value && value <= highest::<EXACT>(exact), "{value}");
            let rough = index::<ROUGH>(value);
            assert!(lowest::<ROUGH>(rough) <= value && value <= highest::<ROUGH>(rough), "{value}");
        }
    }

    #[test]
    fn exact_buckets_are_those_of_an_hdr_histogram() {
        let histogram = Histogram::new(3).expect("3 digits");
        for value in (0..100_000u64).step_by(7).chain((17..42).map(|e| (1 << e) + 12_345)) {
            let bucket = index::<EXACT>(value);
            assert_eq!(lowest::<EXACT>(bucket), histogram.lowest_equivalent(value));
            assert_eq!(highest::<EXACT>(bucket), histogram.highest_equivalent(value));
        }
    }

    #[test]
    fn values_far_apart_are_counted_in_any_order() {
        let mut buckets = Buckets::<ROUGH>::default();
        for value in [1_000_000, 3, 1 << 41, 3, 70] {
            buckets.add(value);
        }
        let found: Vec<_> =
            buckets.occupied().map(|(index, n)| (lowest::<ROUGH>(index), n)).collect();
        assert_eq!(found, [(3, 2), (70, 1), (999_424, 1), (1 << 41, 1)]);
        assert_eq!(buckets.below(index::<ROUGH>(70)), 2);
        assert_eq!(buckets.at_rank(3), Some(index::<ROUGH>(70)));
    }

    #[test]
    fn merging_adds_counts_of_disjoint_ranges() {
        let mut low = Buckets::<EXACT>::default();
        low.add(5);
        let mut high = Buckets::<EXACT>::default();
        high.add(1 << 30);
        let mut merged = high.clone();
        merged.merge(&low);
        low.merge(&high);
        assert_eq!(low.occupied().collect::<Vec<_>>(), merged.occupied().collect::<Vec<_>>());
        assert_eq!(low.total(), 2);
    }
}
