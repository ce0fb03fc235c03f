//! The time that operations spent in each interval, in constant work per operation.

/// How much time was spent within each interval of a series.
///
/// An operation that spans intervals adds the ends to `partial` and one step up, one step down to
/// `steps`, whose running sum is the number of operations that cover an interval whole. So an
/// operation of an hour costs no more than one of a microsecond.
#[derive(Clone, Debug, Default)]
pub struct Concurrency {
    partial: Vec<u128>,
    steps: Vec<i64>,
}

impl Concurrency {
    /// Adds `length_ns` that lie within the interval at `place`.
    #[inline]
    pub fn add_within(&mut self, place: usize, length_ns: u64) {
        if place >= self.partial.len() {
            self.partial.resize(place + 1, 0);
        }
        self.partial[place] += u128::from(length_ns);
    }

    /// Adds the stretch `from..until` over intervals of `width` that begin at `origin`.
    pub fn add_across(&mut self, origin: u64, width: u64, from: u64, until: u64) {
        let from = from.saturating_sub(origin);
        let until = until.saturating_sub(origin);
        if from >= until {
            return;
        }
        let (first, last) = ((from / width) as usize, (until / width) as usize);
        if first == last {
            return self.add_within(first, until - from);
        }
        self.add_within(last, until % width);
        self.add_within(first, width - from % width);
        if last + 1 > self.steps.len() {
            self.steps.resize(last + 1, 0);
        }
        self.steps[first + 1] += 1;
        self.steps[last] -= 1;
    }

    /// Joins neighbouring intervals of `width` into one.
    pub fn double(&mut self, width: u64) {
        let times = self.times(width, self.partial.len());
        self.steps.clear();
        self.partial = times.chunks(2).map(|pair| pair.iter().sum()).collect();
    }

    /// Adds what `other` counted, over the same intervals.
    pub fn merge(&mut self, other: &Concurrency) {
        self.partial.resize(self.partial.len().max(other.partial.len()), 0);
        self.steps.resize(self.steps.len().max(other.steps.len()), 0);
        for (mine, theirs) in self.partial.iter_mut().zip(&other.partial) {
            *mine += theirs;
        }
        for (mine, theirs) in self.steps.iter_mut().zip(&other.steps) {
            *mine += theirs;
        }
    }

    /// The mean number of operations in each of the first `intervals` intervals of `width`.
    pub fn means(&self, width: u64, intervals: usize) -> Vec<f64> {
        self.times(width, intervals).iter().map(|&time| time as f64 / width as f64).collect()
    }

    fn times(&self, width: u64, intervals: usize) -> Vec<u128> {
        let mut whole = 0i64;
        let time = |place: usize| {
            whole += self.steps.get(place).copied().unwrap_or(0);
            let covered = u128::try_from(whole).unwrap_or(0) * u128::from(width);
            covered + self.partial.get(place).copied().unwrap_or(0)
        };
        (0..intervals).map(time).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(stretches: &[(u64, u64)], intervals: usize) -> Vec<f64> {
        let mut concurrency = Concurrency::default();
        for &(from, until) in stretches {
            concurrency.add_across(100, 10, from, until);
        }
        concurrency.means(10, intervals)
    }

    #[test]
    fn a_stretch_is_shared_among_the_intervals_it_covers() {
        assert_eq!(means(&[(105, 138)], 4), [0.5, 1.0, 1.0, 0.8]);
        assert_eq!(means(&[(105, 107), (106, 115)], 2), [0.6, 0.5]);
        assert_eq!(means(&[(110, 120)], 3), [0.0, 1.0, 0.0]);
    }

    #[test]
    fn doubling_keeps_the_time_spent() {
        let mut concurrency = Concurrency::default();
        concurrency.add_across(0, 10, 5, 38);
        concurrency.double(10);
        assert_eq!(concurrency.means(20, 2), [0.75, 0.9]);
        concurrency.add_across(0, 20, 0, 20);
        assert_eq!(concurrency.means(20, 2), [1.75, 0.9]);
    }
}
