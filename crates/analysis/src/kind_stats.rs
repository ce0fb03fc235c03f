//! Statistics of one kind of operation, counted while records come.

use std::ops::AddAssign;

use assay_model::{Nanos, Outcome, Reason, Record};

use crate::latency_stats::{LatencyRecorder, LatencyStats, Times};
use crate::options::Window;
use crate::summary::{Counts, Group, Rates};

/// Reason codes are below this.
const REASONS: usize = 32;

/// Everything that is kept of one kind, or of one transaction type.
#[derive(Clone, Debug, Default)]
pub struct KindStats {
    hits: u64,
    misses: u64,
    good: u64,
    moved: Moved,
    failures: Failures,
    hit: LatencyStats,
    miss: LatencyStats,
    fail: LatencyStats,
    /// Operations of the figures that cross an edge of the window, lie outside of it, or have times
    /// out of order, each counted whole. Traffic is all that is counted above, minus these, plus
    /// `partial`.
    cut: Traffic,
    /// The part of those that lies in the window, and of operations that are in no figure.
    partial: Traffic,
}

/// How often each outcome other than done came with each reason.
#[derive(Clone, Debug)]
struct Failures([[u64; REASONS]; Outcome::ALL.len()]);

impl Default for Failures {
    fn default() -> Failures {
        Failures([[0; REASONS]; Outcome::ALL.len()])
    }
}

impl Failures {
    fn of(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize].iter().sum()
    }

    fn list(&self) -> Vec<(Outcome, Reason, u64)> {
        let pairs = Outcome::ALL
            .into_iter()
            .flat_map(|outcome| Reason::ALL.iter().map(move |&reason| (outcome, reason)));
        pairs
            .map(|(outcome, reason)| (outcome, reason, self.0[outcome as usize][reason as usize]))
            .filter(|(_, _, count)| *count > 0)
            .collect()
    }
}

/// What an operation, or a whole transaction, moved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    /// Value bytes received.
    pub bytes_in: u64,
    /// Value bytes sent.
    pub bytes_out: u64,
    /// Records returned.
    pub rows: u64,
    /// Reads that found something without a version.
    pub without_version: u64,
}

impl Moved {
    /// What `record` moved, if it was done.
    #[inline]
    pub fn by(record: &Record) -> Moved {
        if record.outcome != Outcome::Done {
            return Moved::default();
        }
        let bytes = u64::from(record.bytes);
        let writes = record.kind.writes();
        // Without branches: which kind comes next cannot be predicted.
        let sent = bytes * u64::from(writes);
        let has_no_version = record.version_read == assay_model::version::NONE;
        Moved {
            bytes_in: bytes - sent,
            bytes_out: sent,
            rows: u64::from(record.rows),
            without_version: u64::from(!writes & record.found & has_no_version),
        }
    }
}

impl AddAssign for Moved {
    #[inline(always)]
    fn add_assign(&mut self, other: Moved) {
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.rows += other.rows;
        self.without_version += other.without_version;
    }
}

/// How an operation, or a whole transaction, ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    /// What became of it.
    pub outcome: Outcome,
    /// Why, if not done.
    pub reason: Reason,
    /// Whether it met its record.
    pub found: bool,
    /// Whether a user got something from it.
    pub good: bool,
}

impl Completion {
    /// How `record` ended.
    #[inline]
    pub fn of(record: &Record) -> Completion {
        let is_done = record.outcome == Outcome::Done;
        Completion {
            outcome: record.outcome,
            reason: record.reason,
            found: record.found,
            good: is_done & (record.found | record.kind.writes()),
        }
    }
}

/// Where an operation, or a whole transaction, is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CountedIn {
    /// In the figures; it was intended in this slot.
    Figures { slot: usize },
    /// In the traffic of the window alone.
    Traffic,
    /// Nowhere.
    Nothing,
}

impl KindStats {
    /// Counts an operation in the figures, in the traffic of `window` alone, or not at all.
    pub fn add_in(
        &mut self,
        counted_in: CountedIn,
        window: Window,
        span: Span,
        ending: Completion,
        moved: Moved,
    ) {
        match counted_in {
            CountedIn::Figures { slot } => self.add(window, slot, span, ending, moved),
            CountedIn::Traffic => self.add_traffic(window, span, ending),
            CountedIn::Nothing => {}
        }
    }

    /// Counts the part of an operation that lies in `window`, and nothing else of it.
    pub fn add_traffic(&mut self, window: Window, span: Span, ending: Completion) {
        self.partial.add(window, span, ending);
    }

    /// Counts an operation of the figures that was intended in `slot`, and the part of it that lies
    /// in `window`.
    #[inline(always)]
    pub fn add(
        &mut self,
        window: Window,
        slot: usize,
        span: Span,
        ending: Completion,
        moved: Moved,
    ) {
        debug_assert!(!ending.good || ending.outcome == Outcome::Done, "{ending:?}");
        if !span.is_within(window) {
            self.add_cut(window, span, ending);
        }
        let times = span.times();
        self.good += u64::from(ending.good);
        self.moved += moved;
        match ending.outcome {
            Outcome::Done if ending.found => {
                self.hits += 1;
                self.hit.add(slot, times);
            }
            Outcome::Done => self.add_miss(slot, times),
            _ => self.add_failure(slot, ending, times),
        }
    }

    /// Apart from the hot path, which it would make longer.
    #[inline(never)]
    fn add_miss(&mut self, slot: usize, times: Times) {
        self.misses += 1;
        self.miss.add(slot, times);
    }

    #[inline(never)]
    fn add_failure(&mut self, slot: usize, ending: Completion, times: Times) {
        self.failures.0[ending.outcome as usize][ending.reason as usize] += 1;
        if ending.outcome != Outcome::Dropped {
            self.fail.add(slot, times);
        }
    }

    #[inline(never)]
    fn add_cut(&mut self, window: Window, span: Span, ending: Completion) {
        self.cut.add_whole(span, ending);
        self.partial.add(window, span, ending);
    }

    /// Adds what `other` counted, on the same slot clock.
    pub fn merge(&mut self, other: &KindStats) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.good += other.good;
        self.moved += other.moved;
        let theirs = other.failures.0.iter().flatten();
        for (mine, theirs) in self.failures.0.iter_mut().flatten().zip(theirs) {
            *mine += theirs;
        }
        self.hit.merge(&other.hit);
        self.miss.merge(&other.miss);
        self.fail.merge(&other.fail);
        self.cut.merge(&other.cut);
        self.partial.merge(&other.partial);
    }

    /// Follows the slot clock.
    pub fn double(&mut self, times: u32) {
        for latency_stats in [&mut self.hit, &mut self.miss, &mut self.fail] {
            latency_stats.double(times);
        }
    }

    /// What happened within the window. Most operations lie whole in it, and cost nothing for this.
    pub fn traffic(&self) -> Traffic {
        let latencies = [&self.hit, &self.miss, &self.fail];
        let issued = self.offered() - self.failures.of(Outcome::Dropped);
        let service_ns = latencies.iter().map(|stats| stats.service().sum_ns()).sum();
        let mut traffic = Traffic {
            offered: self.offered(),
            attempted: issued,
            done: self.hits + self.misses,
            good: self.good,
            ended: issued,
            response_ns: latencies.iter().map(|stats| stats.response().sum_ns()).sum(),
            service_ns,
            inside_ns: service_ns,
        };
        traffic.subtract(&self.cut);
        traffic.merge(&self.partial);
        traffic
    }

    /// How many were offered.
    pub fn offered(&self) -> u64 {
        let failed = [Outcome::Refused, Outcome::Unknown, Outcome::Dropped];
        let failed: u64 = failed.into_iter().map(|outcome| self.failures.of(outcome)).sum();
        self.hits + self.misses + failed
    }

    /// The share of the operations with a response, or `None` without operations.
    pub fn success_ratio(&self) -> Option<f64> {
        let refused = &self.failures.0[Outcome::Refused as usize];
        let about_request = Reason::ALL.iter().filter(|reason| reason.is_about_request());
        let refused: u64 = about_request.map(|reason| refused[*reason as usize]).sum();
        let given_up = &self.failures.0[Outcome::Dropped as usize];
        let expected = self.offered() - given_up[Reason::TransactionFailed as usize];
        let answered = self.hits + self.misses + refused;
        (expected > 0).then(|| answered as f64 / expected as f64)
    }

    /// The lag of all issued operations.
    pub fn lag(&self) -> LatencyRecorder {
        let mut lag = self.hit.lag().clone();
        lag.merge(self.miss.lag());
        lag.merge(self.fail.lag());
        lag
    }

    /// What was counted, with rates over `duration`.
    pub fn finish(&self, duration: Nanos, target: Option<f64>) -> Group {
        let counts = Counts {
            offered: self.offered(),
            done: self.hits + self.misses,
            refused: self.failures.of(Outcome::Refused),
            unknown: self.failures.of(Outcome::Unknown),
            dropped: self.failures.of(Outcome::Dropped),
            hits: self.hits,
            misses: self.misses,
            good: self.good,
            reasons: self.failures.list(),
            bytes_in: self.moved.bytes_in,
            bytes_out: self.moved.bytes_out,
            rows: self.moved.rows,
            found_without_version: self.moved.without_version,
        };
        Group {
            counts,
            rates: self.traffic().rates(duration, target),
            hits: self.hit.finish(duration),
            misses: self.miss.finish(duration),
            failed: self.fail.finish(duration),
        }
    }
}

/// What happened within the window, whichever side of its edges the rest of the operation is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    offered: u64,
    attempted: u64,
    done: u64,
    good: u64,
    ended: u64,
    response_ns: u128,
    service_ns: u128,
    inside_ns: u128,
}

impl Traffic {
    /// Counts the part of an operation that lies in `window`.
    fn add(&mut self, window: Window, span: Span, ending: Completion) {
        self.offered += u64::from(window.contains(span.intended));
        if ending.outcome == Outcome::Dropped {
            return;
        }
        self.attempted += u64::from(window.contains(span.started));
        let inside = span.ended.min(window.until).since(span.started.max(window.from));
        self.inside_ns += u128::from(inside.0);
        if window.contains(span.ended) {
            self.done += u64::from(ending.outcome == Outcome::Done);
            self.good += u64::from(ending.good);
            self.ended += 1;
            self.response_ns += u128::from(span.ended.since(span.intended).0);
            self.service_ns += u128::from(span.ended.since(span.started).0);
        }
    }

    /// Counts a whole operation, wherever the window lies.
    fn add_whole(&mut self, span: Span, ending: Completion) {
        self.offered += 1;
        if ending.outcome == Outcome::Dropped {
            return;
        }
        let times = span.times();
        self.attempted += 1;
        self.done += u64::from(ending.outcome == Outcome::Done);
        self.good += u64::from(ending.good);
        self.ended += 1;
        self.response_ns += u128::from(times.response.0);
        self.service_ns += u128::from(times.service.0);
        self.inside_ns += u128::from(times.service.0);
    }

    /// Takes away `other`, all of which was counted here.
    fn subtract(&mut self, other: &Traffic) {
        self.offered -= other.offered;
        self.attempted -= other.attempted;
        self.done -= other.done;
        self.good -= other.good;
        self.ended -= other.ended;
        self.response_ns -= other.response_ns;
        self.service_ns -= other.service_ns;
        self.inside_ns -= other.inside_ns;
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Traffic) {
        self.offered += other.offered;
        self.attempted += other.attempted;
        self.done += other.done;
        self.good += other.good;
        self.ended += other.ended;
        self.response_ns += other.response_ns;
        self.service_ns += other.service_ns;
        self.inside_ns += other.inside_ns;
    }

    fn rates(&self, duration: Nanos, target: Option<f64>) -> Rates {
        let per_s = |count| ratio(count as f64, duration.as_secs_f64());
        let done_per_s = per_s(self.done);
        let offered_per_s = per_s(self.offered);
        Rates {
            target_per_s: target,
            offered_per_s,
            attempted_per_s: per_s(self.attempted),
            done_per_s,
            goodput_per_s: per_s(self.good),
            reached: ratio(done_per_s, target.unwrap_or(offered_per_s)),
        }
    }

    /// Operations that were issued and ended, per second.
    pub fn ended_per_s(&self, duration: Nanos) -> f64 {
        ratio(self.ended as f64, duration.as_secs_f64())
    }

    /// Mean response and service time of those, in seconds.
    pub fn means_s(&self) -> (f64, f64) {
        let mean = |sum: u128| ratio(sum as f64 / 1e9, self.ended as f64);
        (mean(self.response_ns), mean(self.service_ns))
    }

    /// Mean number of requests that the store had.
    pub fn mean_in_flight(&self, duration: Nanos) -> f64 {
        ratio(self.inside_ns as f64, duration.0 as f64)
    }
}

/// The three times of an operation, or of a whole transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// The load model.
    pub intended: Nanos,
    /// When the first request left us.
    pub started: Nanos,
    /// When the last answer came.
    pub ended: Nanos,
}

impl Span {
    /// The times of `record`.
    #[inline]
    pub fn of(record: &Record) -> Span {
        Span { intended: record.intended, started: record.started, ended: record.ended }
    }

    /// Their differences.
    #[inline]
    pub fn times(&self) -> Times {
        Times {
            response: self.ended.since(self.intended),
            service: self.ended.since(self.started),
            lag: self.started.since(self.intended),
        }
    }

    /// Whether they are in order and all in `window`.
    #[inline]
    pub fn is_within(&self, window: Window) -> bool {
        self.is_forward() && window.from <= self.intended && self.ended < window.until
    }

    /// Whether they are in order.
    #[inline]
    pub fn is_forward(&self) -> bool {
        self.intended <= self.started && self.started <= self.ended
    }
}

/// `a` / `b`, or 0 where there is nothing to divide by.
pub fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All orders of times before, at, in and after the edges of a window, with all outcomes.
    fn operations() -> Vec<(Span, Completion)> {
        let times = [0, 1, 2, 3, 4, 5, u64::MAX].map(Nanos);
        let spans = times.into_iter().flat_map(|intended| {
            let of_start = move |started| times.map(|ended| Span { intended, started, ended });
            times.into_iter().flat_map(of_start)
        });
        let endings = Outcome::ALL.into_iter().flat_map(|outcome| {
            let is_done = outcome == Outcome::Done;
            let ending = |found, good| Completion { outcome, reason: Reason::None, found, good };
            [ending(false, false), ending(is_done, false), ending(is_done, is_done)]
        });
        let endings: Vec<Completion> = endings.collect();
        spans.flat_map(|span| endings.clone().into_iter().map(move |one| (span, one))).collect()
    }

    #[test]
    fn traffic_is_that_of_a_count_of_each_operation() {
        for (from, until) in [(2, 4), (3, 3), (5, 1), (0, u64::MAX)] {
            let window = Window { from: Nanos(from), until: Nanos(until) };
            let (mut all, mut expected_of_all) = (KindStats::default(), Traffic::default());
            for (span, ending) in operations() {
                for counted_in in [CountedIn::Figures { slot: 0 }, CountedIn::Traffic] {
                    let (mut stats, mut expected) = (KindStats::default(), Traffic::default());
                    expected.add(window, span, ending);
                    stats.add_in(counted_in, window, span, ending, Moved::default());
                    assert_eq!(stats.traffic(), expected, "{window:?} {span:?} {ending:?}");
                    all.merge(&stats);
                    expected_of_all.merge(&expected);
                }
            }
            assert_eq!(all.traffic(), expected_of_all, "{window:?}");
        }
    }
}
