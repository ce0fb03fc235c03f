//! The latencies of one set of operations while they are being counted.

use assay_model::Nanos;

use crate::LONGEST;
use crate::buckets::{Buckets, EXACT, ROUGH};
use crate::confidence::Batches;
use crate::distribution::distribution;
use crate::options::Window;
use crate::summary::{Distribution, Latency};

/// The most stretches of arrival time that are distinguished; between half of it and all are in
/// use. Percentile intervals need 30 batches of nearly equal counts, so each batch has at least
/// four.
pub const SLOTS: usize = 256;

/// Cuts intended time into at most [`SLOTS`] stretches that double when time goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotClock {
    origin: Nanos,
    shift: u32,
}

impl SlotClock {
    /// Starts at `origin` with stretches of 2^10 ns, so that even a run of 1 ms fills all slots.
    pub fn new(origin: Nanos) -> SlotClock {
        SlotClock { origin, shift: 10 }
    }

    /// The stretch that `intended` is in; [`SLOTS`] or more if the clock must double first.
    #[inline]
    pub fn slot(&self, intended: Nanos) -> u64 {
        intended.since(self.origin).0 >> self.shift
    }

    /// The times that stretch number `slot` holds.
    pub fn stretch(&self, slot: usize) -> Window {
        let at = |slot: u64| self.origin.saturating_add(Nanos(slot << self.shift));
        Window { from: at(slot as u64), until: at(slot as u64 + 1) }
    }

    /// How many times stretches must double before `intended` has a slot.
    pub fn doublings(&self, intended: Nanos) -> u32 {
        let slot = self.slot(intended);
        (0..).find(|&more| slot >> more < SLOTS as u64).expect("64 doublings leave slot 0")
    }

    /// How many more times `other` has doubled.
    pub fn behind(&self, other: &SlotClock) -> u32 {
        other.shift.saturating_sub(self.shift)
    }

    /// Makes stretches 2^`times` as long.
    pub fn double(&mut self, times: u32) {
        self.shift += times;
    }
}

/// One latency of one set of operations.
#[derive(Clone, Debug)]
pub struct LatencyRecorder {
    exact: Buckets<EXACT>,
    slots: Vec<Buckets<ROUGH>>,
    sum_ns: u128,
    min: u64,
    max: u64,
    saturated: u64,
}

impl Default for LatencyRecorder {
    fn default() -> LatencyRecorder {
        LatencyRecorder {
            exact: Buckets::default(),
            slots: Vec::new(),
            sum_ns: 0,
            min: u64::MAX,
            max: 0,
            saturated: 0,
        }
    }
}

impl LatencyRecorder {
    /// Adds one value of an operation that was intended in `slot`.
    #[inline(always)]
    pub fn add(&mut self, slot: usize, value: Nanos) {
        self.sum_ns += u128::from(value.0);
        if value.0 < self.min || self.max.min(LONGEST.0) < value.0 {
            self.add_extreme(value);
        }
        let kept = value.0.min(LONGEST.0);
        self.exact.add(kept);
        match self.slots.get_mut(slot) {
            Some(buckets) => buckets.add(kept),
            None => self.open_slot(slot, kept),
        }
    }

    /// Seldom: a new minimum, a new maximum, or any value beyond [`LONGEST`], which are counted.
    #[cold]
    fn add_extreme(&mut self, value: Nanos) {
        self.min = self.min.min(value.0);
        self.max = self.max.max(value.0);
        self.saturated += u64::from(LONGEST < value);
    }

    #[cold]
    fn open_slot(&mut self, slot: usize, value: u64) {
        self.slots.resize_with(slot + 1, Buckets::default);
        self.slots[slot].add(value);
    }

    /// The sum of all values.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Adds what `other` counted, on the same slot clock.
    pub fn merge(&mut self, other: &LatencyRecorder) {
        self.exact.merge(&other.exact);
        if other.slots.len() > self.slots.len() {
            self.slots.resize_with(other.slots.len(), Buckets::default);
        }
        for (mine, theirs) in self.slots.iter_mut().zip(&other.slots) {
            mine.merge(theirs);
        }
        self.sum_ns += other.sum_ns;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.saturated += other.saturated;
    }

    /// Follows the slot clock.
    pub fn double(&mut self, times: u32) {
        if times == 0 {
            return;
        }
        let old = std::mem::take(&mut self.slots);
        for (slot, buckets) in old.into_iter().enumerate() {
            let slot = slot >> times;
            if slot < self.slots.len() {
                self.slots[slot].merge(&buckets);
            } else {
                self.slots.push(buckets);
            }
        }
    }

    /// What was counted; `duration` is how long it took, for the advice on longer runs.
    pub fn finish(&self, duration: Nanos) -> Distribution {
        let count = self.exact.total();
        if count == 0 {
            return distribution(&self.exact, &Batches::default(), Nanos::ZERO, Nanos::ZERO, 0.0);
        }
        let batches = Batches::new(&self.slots, duration);
        let mean_ns = self.sum_ns as f64 / count as f64;
        let found = distribution(&self.exact, &batches, Nanos(self.min), Nanos(self.max), mean_ns);
        Distribution { saturated: self.saturated, ..found }
    }
}

/// Response, service and lag of one set of operations.
#[derive(Clone, Debug, Default)]
pub struct LatencyStats {
    response: LatencyRecorder,
    service: LatencyRecorder,
    lag: LatencyRecorder,
}

impl LatencyStats {
    /// Adds one operation.
    #[inline]
    pub fn add(&mut self, slot: usize, times: Times) {
        self.response.add(slot, times.response);
        self.service.add(slot, times.service);
        self.lag.add(slot, times.lag);
    }

    /// Adds what `other` counted, on the same slot clock.
    pub fn merge(&mut self, other: &LatencyStats) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lag.merge(&other.lag);
    }

    /// Follows the slot clock.
    pub fn double(&mut self, times: u32) {
        for recorder in [&mut self.response, &mut self.service, &mut self.lag] {
            recorder.double(times);
        }
    }

    /// The response time alone.
    pub fn response(&self) -> &LatencyRecorder {
        &self.response
    }

    /// The service time alone.
    pub fn service(&self) -> &LatencyRecorder {
        &self.service
    }

    /// The lag alone.
    pub fn lag(&self) -> &LatencyRecorder {
        &self.lag
    }

    /// What was counted.
    pub fn finish(&self, duration: Nanos) -> Latency {
        Latency {
            response: self.response.finish(duration),
            service: self.service.finish(duration),
            lag: self.lag.finish(duration),
        }
    }
}

/// The three differences of an operation's three times.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Ended − intended.
    pub response: Nanos,
    /// Ended − started.
    pub service: Nanos,
    /// Started − intended.
    pub lag: Nanos,
}
