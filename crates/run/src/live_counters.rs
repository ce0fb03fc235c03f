//! Live counters of a run, which others read while it goes on.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_model::{Kind, Nanos, Outcome, Record};

const KINDS: usize = Kind::ALL.len();

/// Sub-buckets per power of two: values are known within 1/32, about 3 %.
const SUB_BITS: u32 = 5;
const BUCKETS: usize = ((64 - SUB_BITS) << SUB_BITS) as usize + (1 << SUB_BITS);

/// The latencies that a worker keeps for observers; each costs it about ten nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// Ended − intended.
    Response,
    /// Ended − started, as YCSB's status line does.
    Service,
    /// Response and service.
    Both,
}

/// A worker's published counters: the worker writes them some times a second, observers read them.
#[derive(Debug)]
pub struct LiveCounters {
    latency: Latency,
    in_flight: AtomicU64,
    stats: Mutex<WorkerStats>,
}

/// A worker's counts since they were last taken.
#[derive(Clone, Debug, Default)]
pub struct WorkerStats {
    /// Operations issued or dropped.
    pub offered: u64,
    /// Processes that ended, however they did.
    pub processes: u64,
    /// Operations by kind, then by the code of their outcome.
    pub outcomes: [[u64; 4]; KINDS],
    /// Done, but nothing was found, by kind.
    pub missed: [u64; KINDS],
    /// The worst lag.
    pub lag_max: Nanos,
    /// Response times of what was done, by kind; empty with [`Latency::Service`].
    pub response: [Latencies; KINDS],
    /// Service times of what was done, by kind; empty with [`Latency::Response`].
    pub service: [Latencies; KINDS],
}

/// The counters of all workers together.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Processes in flight now.
    pub in_flight: u64,
    /// The workers' counts, added up.
    pub stats: WorkerStats,
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

impl LiveCounters {
    /// An empty window for `latency`.
    pub fn new(latency: Latency) -> LiveCounters {
        LiveCounters {
            latency,
            in_flight: AtomicU64::new(0),
            stats: Mutex::new(WorkerStats::default()),
        }
    }

    /// Which latencies this worker keeps.
    pub fn latency(&self) -> Latency {
        self.latency
    }

    /// Adds `fresh` to the window and empties it. Skipped while an observer reads, so that the
    /// worker never waits; the counts then come with the next time.
    pub(crate) fn publish(&self, in_flight: usize, fresh: &mut WorkerStats) {
        self.in_flight.store(in_flight as u64, Ordering::Relaxed);
        if let Ok(mut stats) = self.stats.try_lock() {
            stats.add(fresh);
            fresh.clear();
        }
    }

    /// As [`LiveCounters::publish`] for the last time: there is no next one, so it waits for a
    /// reader.
    pub(crate) fn publish_last(&self, in_flight: usize, fresh: &mut WorkerStats) {
        self.in_flight.store(in_flight as u64, Ordering::Relaxed);
        self.stats.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).add(fresh);
        fresh.clear();
    }

    /// Moves what this window shows to `snapshot`. What was taken is not seen by the next who
    /// looks, so there is one who takes, for all who want to know.
    pub fn take(&self, snapshot: &mut Snapshot) {
        snapshot.in_flight += self.in_flight.load(Ordering::Relaxed);
        let mut stats = self.stats.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        snapshot.stats.add(&stats);
        stats.clear();
    }
}

impl WorkerStats {
    /// Counts an operation that has ended or was dropped; offering it is counted apart.
    ///
    /// Always inlined: a record that is handed over by reference would have to be put together in
    /// memory before it is copied to its place in the history.
    #[inline(always)]
    pub fn count(&mut self, record: &Record, latency: Latency) {
        let kind = record.kind as usize;
        self.outcomes[kind][record.outcome as usize] += 1;
        self.lag_max = self.lag_max.max(record.lag());
        if record.outcome == Outcome::Done {
            self.missed[kind] += u64::from(!record.found);
            self.count_latency(kind, record.response(), record.service(), latency);
        }
    }

    #[inline(never)]
    fn count_latency(&mut self, kind: usize, response: Nanos, service: Nanos, latency: Latency) {
        if latency != Latency::Service {
            self.response[kind].record(response);
        }
        if latency != Latency::Response {
            self.service[kind].record(service);
        }
    }

    /// Adds what another counted.
    pub fn add(&mut self, other: &WorkerStats) {
        self.offered += other.offered;
        self.processes += other.processes;
        for (mine, others) in
            self.outcomes.iter_mut().flatten().zip(other.outcomes.iter().flatten())
        {
            *mine += others;
        }
        for (mine, others) in self.missed.iter_mut().zip(&other.missed) {
            *mine += others;
        }
        self.lag_max = self.lag_max.max(other.lag_max);
        for (mine, others) in self.response.iter_mut().zip(&other.response) {
            mine.add(others);
        }
        for (mine, others) in self.service.iter_mut().zip(&other.service) {
            mine.add(others);
        }
    }

    /// Forgets everything, but keeps the memory.
    pub fn clear(&mut self) {
        (self.offered, self.processes) = (0, 0);
        self.outcomes = Default::default();
        self.missed = Default::default();
        self.lag_max = Nanos::ZERO;
        self.response.iter_mut().for_each(Latencies::clear);
        self.service.iter_mut().for_each(Latencies::clear);
    }

    /// How many operations of all kinds had this outcome.
    pub fn with(&self, outcome: Outcome) -> u64 {
        self.outcomes.iter().map(|counts| counts[outcome as usize]).sum()
    }

    /// How many operations were refused or are unknown.
    pub fn failed(&self) -> u64 {
        self.with(Outcome::Refused) + self.with(Outcome::Unknown)
    }

    /// How many operations found nothing.
    pub fn missed(&self) -> u64 {
        self.missed.iter().sum()
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
        let expected = (quantile * self.count as f64).ceil().max(1.0) as u64;
        let mut observed = 0;
        for (number, &count) in self.buckets.iter().enumerate() {
            observed += u64::from(count);
            if observed >= expected {
                return Nanos(upper_end(number).min(self.max));
            }
        }
        Nanos(self.max)
    }

    /// The histogram of all these together.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Latencies>) -> Latencies {
        let mut all = Latencies::default();
        parts.into_iter().for_each(|part| all.add(part));
        all
    }

    /// The upper ends of the buckets that hold something, rising, with how many they hold.
    pub fn ends(&self) -> impl Iterator<Item = (Nanos, u64)> {
        let held = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        held.map(|(number, &count)| (Nanos(upper_end(number)), u64::from(count)))
    }

    /// The buckets that hold something, rising, with how many they hold.
    pub fn buckets(&self) -> impl Iterator<Item = (u32, u64)> {
        let held = (0..).zip(&self.buckets).filter(|(_, count)| **count > 0);
        held.map(|(number, &count)| (number, u64::from(count)))
    }

    /// Those of another process that has told its buckets, sum, least and greatest; what is in no
    /// bucket of ours is left out.
    pub fn from_buckets(
        buckets: impl IntoIterator<Item = (u32, u64)>,
        (sum, min, max): (u128, u64, u64),
    ) -> Latencies {
        let mut all = Latencies { sum, max, min, ..Latencies::default() };
        for (number, count) in buckets {
            if all.buckets.is_empty() {
                all.buckets.resize(BUCKETS, 0);
            }
            if let Some(bucket) = all.buckets.get_mut(number as usize) {
                *bucket = u32::try_from(count).unwrap_or(u32::MAX);
                all.count += u64::from(*bucket);
            }
        }
        all
    }

    /// Their mean; zero without any.
    pub fn mean(&self) -> Nanos {
        Nanos((self.sum / u128::from(self.count.max(1))) as u64)
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
            *mine = mine.saturating_add(*others);
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
    use assay_model::{Ends, Phase, version};

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
    fn buckets_that_were_told_are_those_that_were_counted() {
        let mut latencies = Latencies::default();
        (1..=10_000).for_each(|us| latencies.record(Nanos::from_micros(us)));
        let facts = (latencies.sum, latencies.min, latencies.max);
        let told = Latencies::from_buckets(latencies.buckets(), facts);
        assert_eq!((told.count, told.mean()), (10_000, latencies.mean()));
        assert_eq!(told.quantile(0.99), latencies.quantile(0.99));
        let strange = Latencies::from_buckets([(u32::MAX, 3)], (9, 3, 3));
        assert_eq!(strange.count, 0);
    }

    #[test]
    fn what_was_taken_is_gone() {
        let live_counters = LiveCounters::new(Latency::Both);
        let mut fresh = WorkerStats { offered: 2, ..WorkerStats::default() };
        fresh.count(&record(Outcome::Done, false), Latency::Both);
        fresh.count(&record(Outcome::Unknown, false), Latency::Both);
        live_counters.publish(2, &mut fresh);
        assert_eq!((fresh.offered, fresh.failed()), (0, 0));
        let (mut first, mut second) = (Snapshot::default(), Snapshot::default());
        live_counters.take(&mut first);
        live_counters.take(&mut second);
        let counts = |stats: &WorkerStats| {
            [stats.offered, stats.with(Outcome::Done), stats.failed(), stats.missed()]
        };
        assert_eq!(counts(&first.stats), [2, 1, 1, 1]);
        assert_eq!(counts(&second.stats), [0; 4]);
        assert_eq!((first.in_flight, second.in_flight), (2, 2));
        assert_eq!(first.stats.lag_max, Nanos(40));
        let ends = |latencies: &Latencies| latencies.ends().collect::<Vec<_>>();
        assert_eq!(ends(&first.stats.response[Kind::Read as usize]), [(Nanos(50), 1)]);
        assert_eq!(ends(&first.stats.service[Kind::Read as usize]), [(Nanos(10), 1)]);
        assert_eq!(ends(&second.stats.response[Kind::Read as usize]), []);
    }

    #[test]
    fn the_last_counts_wait_for_the_observer() {
        let live_counters = LiveCounters::new(Latency::Response);
        let mut fresh = WorkerStats { offered: 3, ..WorkerStats::default() };
        let looks_in = live_counters.stats.lock().unwrap();
        live_counters.publish(1, &mut fresh);
        assert_eq!(fresh.offered, 3, "a worker at work does not wait");
        std::thread::scope(|scope| {
            let last = scope.spawn(|| live_counters.publish_last(0, &mut fresh));
            drop(looks_in);
            last.join().unwrap();
        });
        let mut observed = Snapshot::default();
        live_counters.take(&mut observed);
        assert_eq!((observed.stats.offered, observed.in_flight), (3, 0));
    }

    #[test]
    fn a_worker_keeps_only_the_configured_latencies() {
        for (latency, kept) in
            [(Latency::Response, [1, 0]), (Latency::Service, [0, 1]), (Latency::Both, [1, 1])]
        {
            let mut stats = WorkerStats::default();
            stats.count(&record(Outcome::Done, true), latency);
            let count = |kinds: &[Latencies]| Latencies::merged(kinds).count;
            assert_eq!([count(&stats.response), count(&stats.service)], kept, "{latency:?}");
        }
    }

    fn record(outcome: Outcome, found: bool) -> Record {
        let (intended, started, ended) = (Nanos(100), Nanos(140), Nanos(150));
        Record {
            intended,
            started,
            ended,
            version_written: version::NONE,
            version_read: version::NONE,
            ends: Ends::Both,
            phase: Phase::Measure,
            outcome,
            found,
            ..Record::BLANK
        }
    }
}
