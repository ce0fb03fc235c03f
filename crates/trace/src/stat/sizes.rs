//! Least, mean, percentiles, greatest of many small numbers, in constant memory.

/// Numbers below this have a bucket each.
const EXACT: u32 = 2048;
/// Buckets of each doubling above, so that a percentile is off by at most one part in 2,048.
const PER_DOUBLING: u32 = EXACT / 2;
/// From 2^11 to 2^32.
const DOUBLINGS: u32 = 21;

/// The figures of a set of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// How many numbers.
    pub count: u64,
    /// The least.
    pub min: u32,
    /// The arithmetic mean.
    pub mean: f64,
    /// Half of the numbers are at most this; exact below 2,048, else within 0.05 %.
    pub p50: u32,
    /// 99 of 100 numbers are at most this; exact below 2,048, else within 0.05 %.
    pub p99: u32,
    /// The greatest.
    pub max: u32,
}

/// The numbers, counted in buckets that grow with them.
pub(super) struct SizeCounts {
    buckets: Vec<u64>,
    count: u64,
    sum: u64,
    min: u32,
    max: u32,
}

impl SizeCounts {
    pub fn new() -> SizeCounts {
        let buckets = vec![0; (EXACT + DOUBLINGS * PER_DOUBLING) as usize];
        SizeCounts { buckets, count: 0, sum: 0, min: u32::MAX, max: 0 }
    }

    #[inline]
    pub fn add(&mut self, number: u32) {
        self.buckets[bucket(number)] += 1;
        self.count += 1;
        self.sum += u64::from(number);
        self.min = self.min.min(number);
        self.max = self.max.max(number);
    }

    pub fn finish(&self) -> Option<Sizes> {
        if self.count == 0 {
            return None;
        }
        Some(Sizes {
            count: self.count,
            min: self.min,
            mean: self.sum as f64 / self.count as f64,
            p50: self.percentile(50),
            p99: self.percentile(99),
            max: self.max,
        })
    }

    /// The nearest-rank percentile: the least number that at least `percent` % do not exceed.
    fn percentile(&self, percent: u64) -> u32 {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100);
        let mut observed = 0u128;
        for (number, &count) in self.buckets.iter().enumerate() {
            observed += u128::from(count);
            if observed >= rank.max(1) {
                return middle(number as u32).clamp(self.min, self.max);
            }
        }
        self.max
    }
}

fn bucket(number: u32) -> usize {
    if number < EXACT {
        return number as usize;
    }
    let doubling = number.ilog2() - EXACT.ilog2();
    let within = (number >> (doubling + 1)) - PER_DOUBLING;
    (EXACT + doubling * PER_DOUBLING + within) as usize
}

/// The number in the middle of a bucket.
fn middle(bucket: u32) -> u32 {
    if bucket < EXACT {
        return bucket;
    }
    let (doubling, within) = ((bucket - EXACT) / PER_DOUBLING, (bucket - EXACT) % PER_DOUBLING);
    let least = (PER_DOUBLING + within) << (doubling + 1);
    least + (1 << doubling)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(numbers: impl IntoIterator<Item = u32>) -> Sizes {
        let mut counts = SizeCounts::new();
        numbers.into_iter().for_each(|number| counts.add(number));
        counts.finish().unwrap()
    }

    #[test]
    fn small_numbers_are_exact() {
        let found = figures(1..=1000);
        let expected = Sizes { count: 1000, min: 1, mean: 500.5, p50: 500, p99: 990, max: 1000 };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_single_number_is_all_its_figures() {
        for number in [0, 100, 2047, 2048, 1_000_003, u32::MAX] {
            let found = figures([number]);
            assert_eq!([found.min, found.p50, found.p99, found.max], [number; 4]);
        }
    }

    #[test]
    fn large_numbers_are_within_a_two_thousandth() {
        for number in [2048, 2049, 4095, 4096, 65_537, 1 << 31, u32::MAX] {
            let found = middle(bucket(number) as u32);
            let error = f64::from(found.abs_diff(number)) / f64::from(number);
            assert!(error <= 1.0 / 2048.0, "{number} became {found}");
        }
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        assert_eq!(bucket(EXACT), EXACT as usize);
        assert_eq!(bucket(u32::MAX), (EXACT + DOUBLINGS * PER_DOUBLING) as usize - 1);
    }

    #[test]
    fn an_empty_history_has_no_figures() {
        assert!(SizeCounts::new().finish().is_none());
    }
}
