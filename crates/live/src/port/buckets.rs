//! Latencies since the beginning in a few fixed buckets, as Prometheus wants them.

use assay_model::Nanos;
use assay_run::Latencies;

/// The upper bounds in nanoseconds: 1, 2, 5 of each power of ten from 1 µs to 50 s. They never
/// change, so that runs can be put beside each other.
pub const BOUNDS: [u64; 24] = bounds();

const fn bounds() -> [u64; 24] {
    let mut bounds = [0; 24];
    let mut power = 1_000;
    let mut at = 0;
    while at < bounds.len() {
        bounds[at] = power;
        bounds[at + 1] = 2 * power;
        bounds[at + 2] = 5 * power;
        power *= 10;
        at += 3;
    }
    bounds
}

/// How many latencies lie below each bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyBuckets {
    /// Latencies above the bound before and not above this one.
    counts: [u64; BOUNDS.len()],
    /// How many there are, those above the last bound included.
    pub count: u64,
    /// Their sum in nanoseconds, exact.
    pub sum_ns: u128,
}

impl LatencyBuckets {
    /// Adds fresh latencies.
    ///
    /// They are known within 1/32. One that a bound may cut counts as above it, so a bucket never
    /// holds more than it should: latencies may look longer than they were, never shorter.
    pub fn add(&mut self, fresh: &Latencies) {
        for (end, count) in fresh.ends() {
            let at = BOUNDS.partition_point(|bound| Nanos(*bound) < end);
            if let Some(bucket) = self.counts.get_mut(at) {
                *bucket += count;
            }
        }
        self.count += fresh.count;
        self.sum_ns += fresh.sum;
    }

    /// Each bound with the number of latencies that are not above it.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> {
        BOUNDS.iter().zip(&self.counts).scan(0, |below, (&bound, &count)| {
            *below += count;
            Some((bound, *below))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_go_up_in_thirds_of_a_decade() {
        assert_eq!(BOUNDS[..4], [1_000, 2_000, 5_000, 10_000]);
        assert_eq!(BOUNDS[23], 50_000_000_000);
        assert!(BOUNDS.is_sorted());
    }

    #[test]
    fn no_bucket_holds_more_than_lie_below_its_bound() {
        let values = (0..60_000u64).map(|n| n * n * 31);
        let (mut buckets, mut latencies) = (LatencyBuckets::default(), Latencies::default());
        values.clone().for_each(|ns| latencies.record(Nanos(ns)));
        buckets.add(&latencies);
        for (bound, below) in buckets.cumulative() {
            let exact = values.clone().filter(|ns| *ns <= bound).count() as u64;
            let surely = values.clone().filter(|ns| *ns <= bound - bound / 32).count() as u64;
            assert!((surely..=exact).contains(&below), "{bound}: {surely} {below} {exact}");
        }
        assert_eq!(buckets.count, 60_000);
        assert_eq!(buckets.sum_ns, values.map(u128::from).sum::<u128>());
    }
}
