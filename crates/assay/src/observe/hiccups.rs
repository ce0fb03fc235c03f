//! Hiccups of the client: how late a thread wakes that sleeps a millisecond at a time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use assay_model::Nanos;

/// The longest hiccups that are kept with their times.
const LONGEST: usize = 1024;

/// Steps per power of two in which lengths are counted: within 1/16, about 6 %.
const STEP_BITS: u32 = 4;

/// The hiccups of a run.
#[derive(Debug, Default)]
pub struct HiccupRecorder {
    counts: BTreeMap<u64, u64>,
    longest: BinaryHeap<Reverse<(Nanos, Nanos)>>,
}

impl HiccupRecorder {
    /// A thread that should have gone on at `at` did so `length` later.
    pub fn add(&mut self, at: Nanos, length: Nanos) {
        *self.counts.entry(ceiling(length.0)).or_default() += 1;
        let is_long = self.longest.len() < LONGEST
            || self.longest.peek().is_some_and(|Reverse((least, _))| *least < length);
        if is_long {
            self.longest.push(Reverse((length, at)));
            if self.longest.len() > LONGEST {
                self.longest.pop();
            }
        }
    }

    /// How many were at most how long, since the last call; lengths rise.
    pub fn take(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.counts).into_iter().collect()
    }

    /// When the longest ones began, with their lengths, in order of time.
    pub fn longest(self) -> Vec<(Nanos, Nanos)> {
        let mut all: Vec<(Nanos, Nanos)> =
            self.longest.into_iter().map(|Reverse((length, at))| (at, length)).collect();
        all.sort_unstable();
        all
    }
}

/// The two counts added up.
pub fn merged(one: Vec<(u64, u64)>, other: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    let mut sums = BTreeMap::new();
    for (length, count) in one.into_iter().chain(other) {
        *sums.entry(length).or_insert(0) += count;
    }
    sums.into_iter().collect()
}

/// The end of the step that `length` is counted in; never below it.
fn ceiling(length: u64) -> u64 {
    let octave = 63 - (length | 1 << STEP_BITS).leading_zeros();
    let step = 1u64 << (octave - STEP_BITS);
    length.div_ceil(step).saturating_mul(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_counted_at_most_a_sixteenth_too_high() {
        for length in (0..3000).chain([62_000, 3_100_000, 1 << 40]) {
            let counted = ceiling(length);
            assert!(counted >= length && counted <= length + length / 16, "{length} {counted}");
        }
    }

    #[test]
    fn counts_start_afresh_and_the_longest_stay() {
        let mut hiccups = HiccupRecorder::default();
        for (at, length) in [(1, 100_000), (2, 3), (3, 100_000)] {
            hiccups.add(Nanos(at), Nanos(length));
        }
        assert_eq!(hiccups.take(), [(3, 1), (ceiling(100_000), 2)]);
        assert_eq!(hiccups.take(), []);
        let longest: Vec<(u64, u64)> =
            hiccups.longest().into_iter().map(|(at, length)| (at.0, length.0)).collect();
        assert_eq!(longest, [(1, 100_000), (2, 3), (3, 100_000)]);
    }

    #[test]
    fn of_too_many_the_longest_are_kept() {
        let mut hiccups = HiccupRecorder::default();
        for at in 0..5000 {
            hiccups.add(Nanos(at), Nanos(at * 7919 % 5000));
        }
        let longest = hiccups.longest();
        assert_eq!(longest.len(), LONGEST);
        assert!(longest.iter().all(|(_, length)| length.0 >= 5000 - LONGEST as u64));
        assert!(longest.is_sorted());
    }

    #[test]
    fn merging_adds_what_is_equally_long() {
        assert_eq!(merged(vec![(1, 2), (5, 1)], vec![(5, 3), (9, 1)]), [(1, 2), (5, 4), (9, 1)]);
    }
}
