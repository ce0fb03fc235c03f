//! What can be seen of a run while it goes on.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_model::{Kind, Nanos};

const KINDS: usize = Kind::ALL.len();

/// Sub-buckets per power of two: values are known within 1/32, about 3 %.
const SUB_BITS: u32 = 5;
const BUCKETS: usize = ((64 - SUB_BITS) << SUB_BITS) as usize + (1 << SUB_BITS);

/// Which latency the live figures show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// Ended − intended.
    Response,
    /// Ended − started, as YCSB's status line does.
    Service,
}

/// A lane's shop window: the lane writes it some times a second, others look in.
#[derive(Debug)]
pub struct Gauge {
    latency: Latency,
    in_flight: AtomicU64,
    tally: Mutex<Tally>,
}

/// Counts of a lane since its start, with latencies since they were last taken.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Operations asked or dropped.
    pub offered: u64,
    /// Operations that the store answered.
    pub done: u64,
    /// Done, but nothing was found.
    pub missed: u64,
    /// Operations refused or unknown.
    pub failed: u64,
    /// Operations dropped.
    pub dropped: u64,
    /// The worst lag since the figures were last taken.
    pub lag_max: Nanos,
    /// The latencies since the figures were last taken, by kind.
    pub latencies: [Latencies; KINDS],
}

/// What all lanes together show.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Processes in flight now.
    pub in_flight: u64,
    /// The lanes' counts, added up.
    pub tally: Tally,
}

/// A logarithmic histogram of nanoseconds, coarse but cheap.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: u128,
    /// The greatest.
    pub max: u64,
    /// The least; meaningless while `count` is 0.
    pub min: u64,
    buckets: Vec<u32>,
}

impl Gauge {
    /// An empty window for `latency`.
    pub fn new(latency: Latency) -> Gauge {
        Gauge { latency, in_flight: AtomicU64::new(0), tally: Mutex::new(Tally::default()) }
    }

    /// Which latency this lane counts.
    pub fn latency(&self) -> Latency {
        self.latency
    }

    /// Adds `fresh` to the window and empties it. Skipped while somebody looks in, so that the
    /// lane never waits; the counts then come with the next time.
    pub(crate) fn publish(&self, in_flight: usize, fresh: &mut Tally) {
        self.in_flight.store(in_flight as u64, Ordering::Relaxed);
        if let Ok(mut tally) = self.tally.try_lock() {
            tally.add(fresh);
            fresh.clear();
        }
    }

    /// Adds this window to `snapshot` and restarts its latencies.
    pub fn take(&self, snapshot: &mut Snapshot) {
        snapshot.in_flight += self.in_flight.load(Ordering::Relaxed);
        let mut tally = self.tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        snapshot.tally.add(&tally);
        tally.restart_latencies();
    }
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.offered += other.offered;
        self.done += other.done;
        self.missed += other.missed;
        self.failed += other.failed;
        self.dropped += other.dropped;
        self.lag_max = self.lag_max.max(other.lag_max);
        for (mine, others) in self.latencies.iter_mut().zip(&other.latencies) {
            mine.add(others);
        }
    }

    fn restart_latencies(&mut self) {
        self.lag_max = Nanos::ZERO;
        self.latencies.iter_mut().for_each(Latencies::clear);
    }

    fn clear(&mut self) {
        (self.offered, self.done, self.missed, self.failed, self.dropped) = (0, 0, 0, 0, 0);
        self.restart_latencies();
    }

    /// All kinds together.
    pub fn overall(&self) -> Latencies {
        let mut all = Latencies::default();
        self.latencies.iter().for_each(|latencies| all.add(latencies));
        all
    }
}

impl Latencies {
    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        if self.buckets.is_empty() {
            self.buckets.resize(BUCKETS, 0);
            self.min = u64::MAX;
        }
        self.buckets[bucket(latency.0)] += 1;
        self.count += 1;
        self.sum += u128::from(latency.0);
        self.max = self.max.max(latency.0);
        self.min = self.min.min(latency.0);
    }

    /// The latency below which a share `quantile` of them lies, at its bucket's upper end.
    pub fn quantile(&self, quantile: f64) -> Nanos {
        let wanted = (quantile * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (number, &count) in self.buckets.iter().enumerate() {
            seen += u64::from(count);
            if seen >= wanted {
                return Nanos(upper_end(number).min(self.max));
            }
        }
        Nanos(self.max)
    }

    /// Adds another histogram's counts to this one's.
    pub fn add(&mut self, other: &Latencies) {
        if other.count == 0 {
            return;
        }
        if self.buckets.is_empty() {
            self.buckets.resize(BUCKETS, 0);
            self.min = u64::MAX;
        }
        for (mine, others) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += others;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        self.min = self.min.min(other.min);
    }

    fn clear(&mut self) {
        if self.count > 0 {
            self.buckets.fill(0);
            (self.count, self.sum, self.max, self.min) = (0, 0, 0, u64::MAX);
        }
    }
}

#[inline]
fn bucket(value: u64) -> usize {
    let octave = (64 - SUB_BITS).saturating_sub((value | 1).leading_zeros());
    if octave == 0 {
        value as usize
    } else {
        ((octave as usize) << SUB_BITS) + ((value >> (octave - 1)) as usize & ((1 << SUB_BITS) - 1))
    }
}

fn upper_end(bucket: usize) -> u64 {
    let octave = bucket >> SUB_BITS;
    let sub = (bucket & ((1 << SUB_BITS) - 1)) as u64;
    if octave == 0 {
        sub
    } else {
        let low = ((1 << SUB_BITS) + sub) << (octave - 1);
        low + ((1u64 << (octave - 1)) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_a_bucket_that_is_at_most_a_32nd_wide() {
        for value in (0..100_000u64).chain([1 << 40, u64::MAX / 3, u64::MAX]) {
            let end = upper_end(bucket(value));
            assert!(end >= value && end - value <= value / 32, "{value} ends at {end}");
        }
    }

    #[test]
    fn quantiles_are_near_the_exact_ones() {
        let mut latencies = Latencies::default();
        (1..=10_000).for_each(|us| latencies.record(Nanos::from_micros(us)));
        for (quantile, exact) in [(0.5, 5_000_000.0), (0.99, 9_900_000.0), (1.0, 10_000_000.0)] {
            let found = latencies.quantile(quantile).0 as f64;
            assert!((found / exact - 1.0).abs() < 0.04, "{quantile}: {found}");
        }
    }

    #[test]
    fn counts_are_published_and_latencies_restart() {
        let gauge = Gauge::new(Latency::Response);
        let mut fresh = Tally { done: 3, ..Tally::default() };
        fresh.latencies[0].record(Nanos(7));
        gauge.publish(2, &mut fresh);
        assert_eq!(fresh.done, 0);
        let (mut first, mut second) = (Snapshot::default(), Snapshot::default());
        gauge.take(&mut first);
        gauge.take(&mut second);
        assert_eq!((first.in_flight, first.tally.done, second.tally.done), (2, 3, 3));
        assert_eq!((first.tally.overall().count, second.tally.overall().count), (1, 0));
    }
}
