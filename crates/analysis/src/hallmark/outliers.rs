//! The slowest operations of a run, with when they were under way.

use assay_model::Nanos;

/// How many are kept: all beyond p99.9 of 16 million operations.
const MOST: usize = 1 << 14;

/// One slow operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slow {
    /// Ended − intended.
    pub response: Nanos,
    /// When it was intended.
    pub intended: Nanos,
    /// Whether pauses of the client machine held it for a part of its time that matters.
    pub is_held: bool,
}

impl Slow {
    /// When it ended.
    pub fn ended(&self) -> Nanos {
        self.intended.saturating_add(self.response)
    }
}

/// Keeps the slowest operations.
#[derive(Clone, Debug, Default)]
pub struct Outliers {
    kept: Vec<Slow>,
    /// Whatever is not slower than this need not be kept.
    floor: Nanos,
    count: u64,
}

impl Outliers {
    /// Takes an operation into account.
    #[inline]
    pub fn add(&mut self, response: Nanos, intended: Nanos) {
        self.count += 1;
        if response > self.floor || self.floor == Nanos::ZERO {
            self.keep(Slow { response, intended, is_held: false });
        }
    }

    #[inline(never)]
    fn keep(&mut self, slow: Slow) {
        self.kept.push(slow);
        if self.kept.len() >= 2 * MOST {
            self.kept.select_nth_unstable_by(MOST - 1, |a, b| b.cmp(a));
            self.kept.truncate(MOST);
            self.floor = self.kept[MOST - 1].response;
        }
    }

    /// How many operations there were, and the slowest of them, the slowest first.
    pub fn slowest(mut self) -> (u64, Vec<Slow>) {
        self.kept.sort_unstable_by(|a, b| b.cmp(a));
        self.kept.truncate(MOST);
        (self.count, self.kept)
    }
}

/// The percentile of `count` operations without the slow ones that `is_left_out` names; `None` if
/// it lies below the slowest that are known.
pub fn without(
    count: u64,
    slowest: &[Slow],
    quantile: f64,
    is_left_out: impl Fn(&Slow) -> bool,
) -> Option<Nanos> {
    let left: Vec<&Slow> = slowest.iter().filter(|slow| !is_left_out(slow)).collect();
    let count = count - (slowest.len() - left.len()) as u64;
    let from_above = count.checked_sub(crate::distribution::rank(count, quantile))?;
    left.get(from_above as usize).map(|slow| slow.response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_are_kept_in_any_order_of_coming() {
        let mut outliers = Outliers::default();
        let number = 100_000u64;
        (0..number).for_each(|i| outliers.add(Nanos(i * 7919 % number), Nanos(i)));
        let (count, slowest) = outliers.slowest();
        assert_eq!((count, slowest.len()), (number, MOST));
        let responses = slowest.iter().zip(0..).map(|(slow, place)| slow.response.0 + place);
        assert!(responses.into_iter().all(|sum| sum == number - 1));
    }

    #[test]
    fn a_percentile_without_some_values_is_that_of_the_others() {
        let mut outliers = Outliers::default();
        (1..=1000).for_each(|i| outliers.add(Nanos(i), Nanos(i)));
        let (count, slowest) = outliers.slowest();
        let p99 = |least: u64| without(count, &slowest, 0.99, |slow| slow.response.0 > least);
        assert_eq!(p99(1000), Some(Nanos(990)));
        // 900 are left, of which 891 are at most 891.
        assert_eq!(p99(900), Some(Nanos(891)));
        assert_eq!(without(1_000_000, &slowest, 0.5, |_| false), None);
    }
}
