//! Counts the most frequent keys of a stream in bounded memory.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use assay_model::seed::mix;

/// Counts by key, hashed by one mixing of the number instead of a keyed hash.
pub(super) type Counts = HashMap<u64, u64, BuildHasherDefault<KeyHasher>>;

/// Hashes a key number.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number);
    }
}

/// The frequent keys: every key accessed more often than [`Frequent::removed`] is among them.
///
/// The algorithm of Misra with Gries (Science of Computer Programming 2, 1982) in the form of
/// Anderson et al. ("A high-performance algorithm for identifying frequent items in data
/// streams", IMC 2017): when all counters are taken, their median is subtracted from each, which
/// frees half of them. It gives the same guarantee as SpaceSaving (Metwally et al., ICDT 2005;
/// Agarwal et al., "Mergeable summaries", PODS 2012) at an amortised constant cost.
pub(super) struct Frequent {
    counts: Counts,
    bound: usize,
    removed: u64,
}

impl Frequent {
    /// At most `bound` counters, beginning with counts that were exact so far.
    pub fn new(bound: usize, exact: &Counts) -> Frequent {
        let mut frequent = Frequent { counts: exact.clone(), bound: bound.max(1), removed: 0 };
        frequent.shrink();
        frequent
    }

    pub fn add(&mut self, key: u64) {
        *self.counts.entry(key).or_insert(0) += 1;
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.counts.len() > self.bound {
            let mut values: Vec<u64> = self.counts.values().copied().collect();
            let middle = values.len() / 2;
            let median = *values.select_nth_unstable(middle).1;
            self.counts.retain(|_, count| {
                *count = count.saturating_sub(median);
                *count > 0
            });
            self.removed += median;
        }
    }

    /// How much every count may be short: the true count is within `count..=count + removed`.
    pub fn removed(&self) -> u64 {
        self.removed
    }

    /// The keys with the least count each may have, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().map(|(&key, &count)| (key, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Seed;

    #[test]
    fn true_counts_stay_within_the_bounds() {
        let mut frequent = Frequent::new(64, &Counts::default());
        let mut exact = Counts::default();
        let mut draws = Seed(11).draws(1, 0);
        for _ in 0..50_000 {
            // Key k is drawn about as often as 1/k.
            let key = 10_000f64.powf(draws.unit()) as u64;
            frequent.add(key);
            *exact.entry(key).or_insert(0) += 1;
        }
        let found: Counts = frequent.iter().collect();
        assert!(found.len() <= 64);
        for (key, count) in exact {
            let least = found.get(&key).copied().unwrap_or(0);
            let most = least + frequent.removed();
            assert!((least..=most).contains(&count), "{key}: {count} not in {least}..={most}");
        }
        // Each purge takes at least its median from half of the counters.
        assert!(frequent.removed() <= 50_000 / 32, "{}", frequent.removed());
    }
}
