//! Outages: stretches of intended time in which nothing succeeded.
//!
//! Kept per bin of intended time are the first and the last success, so a gap of at least one bin
//! is known to the nanosecond although records come worker by worker. Failures are counted per bin.

use assay_model::{Kind, Nanos, Outcome};

use crate::kind_stats::{Span, ratio};
use crate::options::Window;
use crate::summary::{Availability, IntervalSummary, Outage, Series};

/// The most bins; they double when the run needs more.
const MOST_BINS: u64 = 1 << 16;
/// The first bins are 2^26 ns (67 ms) long: shorter than the shortest outage that is reported.
const FIRST_SHIFT: u32 = 26;
/// No gap shorter than this is called an outage.
const SHORTEST: Nanos = Nanos::from_millis(100);
/// A gap of this many mean distances between successes has a chance of one in a million.
const CHANCE: f64 = 13.8;
/// Throughput has recovered when it is back at this share of the baseline …
const RECOVERED: f64 = 0.9;
/// … for as long as this.
const RELAPSE: Nanos = Nanos::from_secs(5);

/// What happened to the operations intended within one bin.
#[derive(Clone, Copy, Debug)]
struct Bin {
    first: Nanos,
    last: Nanos,
    failures: u64,
    last_failure: Nanos,
    first_failure: Nanos,
}

impl Bin {
    const EMPTY: Bin = Bin {
        first: Nanos::NEVER,
        last: Nanos::ZERO,
        failures: 0,
        last_failure: Nanos::ZERO,
        first_failure: Nanos::NEVER,
    };

    fn merge(&mut self, other: &Bin) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.failures += other.failures;
        self.first_failure = self.first_failure.min(other.first_failure);
        self.last_failure = self.last_failure.max(other.last_failure);
    }

    fn has_success(&self) -> bool {
        self.first != Nanos::NEVER
    }
}

/// Successes and failures by intended time.
#[derive(Clone, Debug)]
pub struct Bins {
    origin: Nanos,
    shift: u32,
    bins: Vec<Bin>,
    successes: u64,
}

impl Bins {
    /// Bins that begin at `origin`.
    pub fn new(origin: Nanos) -> Bins {
        Bins { origin, shift: FIRST_SHIFT, bins: Vec::new(), successes: 0 }
    }

    /// Counts an operation; a dropped one is ours and says nothing about the store.
    #[inline]
    pub fn add(&mut self, span: Span, outcome: Outcome) {
        if outcome == Outcome::Dropped {
            return;
        }
        let place = (span.intended.since(self.origin).0 >> self.shift) as usize;
        let bin = match self.bins.get_mut(place) {
            Some(bin) => bin,
            None => self.make_room(span.intended),
        };
        if outcome == Outcome::Done {
            bin.first = bin.first.min(span.intended);
            bin.last = bin.last.max(span.intended);
            self.successes += 1;
        } else {
            bin.failures += 1;
            bin.first_failure = bin.first_failure.min(span.intended);
            bin.last_failure = bin.last_failure.max(span.intended);
        }
    }

    #[cold]
    fn make_room(&mut self, intended: Nanos) -> &mut Bin {
        let past = intended.since(self.origin).0;
        while past >> self.shift >= MOST_BINS {
            self.double();
        }
        let place = (past >> self.shift) as usize;
        if place >= self.bins.len() {
            self.bins.resize(place + 1, Bin::EMPTY);
        }
        &mut self.bins[place]
    }

    fn double(&mut self) {
        let joined = |pair: &[Bin]| {
            let mut bin = pair[0];
            pair[1..].iter().for_each(|other| bin.merge(other));
            bin
        };
        self.bins = self.bins.chunks(2).map(joined).collect();
        self.shift += 1;
    }

    /// Adds what `other`, begun at the same origin, counted.
    pub fn merge(&mut self, mut other: Bins) {
        while self.shift < other.shift {
            self.double();
        }
        while other.shift < self.shift {
            other.double();
        }
        self.bins.resize(self.bins.len().max(other.bins.len()), Bin::EMPTY);
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
            mine.merge(theirs);
        }
        self.successes += other.successes;
    }

    /// Outages within `window`, with the threshold that made them outages.
    ///
    /// The threshold needs the rate of success in health, which needs the outages: it begins with
    /// the rate of the whole window and is raised until nothing changes.
    fn outages(&self, window: Window) -> (Vec<Outage>, Nanos) {
        let resolution = Nanos(1 << self.shift);
        let gaps = self.gaps(window);
        let mut down = Nanos::ZERO;
        let mut threshold = Nanos::NEVER;
        loop {
            let healthy = ratio(self.successes as f64, window.duration().since(down).0 as f64);
            let chance = if healthy > 0.0 { Nanos((CHANCE / healthy) as u64) } else { Nanos::ZERO };
            let next = SHORTEST.max(resolution).max(chance);
            let outages = gaps.iter().filter(|gap| length(gap) > next);
            let found = outages.clone().fold(Nanos::ZERO, |sum, gap| sum + length(gap));
            if next >= threshold || found == down {
                return (outages.copied().collect(), next);
            }
            (down, threshold) = (found, next);
        }
    }

    /// Stretches between neighbouring successes of different bins in which something failed.
    fn gaps(&self, window: Window) -> Vec<Outage> {
        let mut gaps = Vec::new();
        let mut from = (window.from, true);
        for bin in self.bins.iter().filter(|bin| bin.has_success()) {
            gaps.extend(self.gap(from, (bin.first, false)));
            from = (bin.last, false);
        }
        gaps.extend(self.gap(from, (window.until, true)));
        gaps
    }

    fn gap(&self, from: (Nanos, bool), until: (Nanos, bool)) -> Option<Outage> {
        let (from, is_start) = from;
        let (until, is_end) = until;
        let place = |moment: Nanos| (moment.since(self.origin).0 >> self.shift) as usize;
        let last = (place(until) + 1).min(self.bins.len());
        let bins = self.bins.get(place(from)..last)?;
        let failed = |bin: &&Bin| bin.last_failure >= from && bin.first_failure <= until;
        let failures: u64 = bins.iter().filter(failed).map(|bin| bin.failures).sum();
        let is_cut_off = is_start || is_end;
        let outage = Outage { from, until, failures, is_cut_off, recovered_after: None };
        (from < until && failures > 0).then_some(outage)
    }

    /// Everything about availability; `ratios` are the success ratios overall and by kind.
    pub fn finish(
        &self,
        window: Window,
        series: &Series,
        ratios: (f64, Vec<(Kind, f64)>),
    ) -> Availability {
        let (mut outages, threshold) = self.outages(window);
        let whole = whole_intervals(series, window);
        let baseline = baseline(whole, series.width, &outages);
        for outage in &mut outages {
            outage.recovered_after = recovery(whole, series.width, baseline, outage.until);
        }
        let down = outages.iter().fold(Nanos::ZERO, |sum, outage| sum + length(outage));
        let mean = (!outages.is_empty()).then(|| Nanos(down.0 / outages.len() as u64));
        let duration = window.duration().0 as f64;
        Availability {
            success_ratio: ratios.0,
            by_kind: ratios.1,
            threshold,
            longest: outages.iter().copied().max_by_key(length),
            mean_outage: mean,
            up_share: (1.0 - ratio(down.0 as f64, duration)).max(0.0),
            baseline_per_s: ratio(baseline, series.width.as_secs_f64()),
            outages,
            down,
        }
    }
}

fn length(outage: &Outage) -> Nanos {
    outage.until.since(outage.from)
}

/// The intervals that lie in the window with their whole width.
fn whole_intervals(series: &Series, window: Window) -> &[IntervalSummary] {
    let is_before = |interval: &IntervalSummary| interval.from < window.from;
    let is_whole =
        |interval: &IntervalSummary| interval.from.saturating_add(series.width) <= window.until;
    let first = series.intervals.partition_point(is_before);
    let end = series.intervals.partition_point(is_whole);
    series.intervals.get(first..end).unwrap_or(&[])
}

/// Operations done in the median interval that no outage touches.
fn baseline(intervals: &[IntervalSummary], width: Nanos, outages: &[Outage]) -> f64 {
    let is_healthy = |interval: &&IntervalSummary| {
        let end = interval.from.saturating_add(width);
        outages.iter().all(|outage| end <= outage.from || outage.until <= interval.from)
    };
    let mut done: Vec<u64> =
        intervals.iter().filter(is_healthy).map(|interval| interval.done).collect();
    done.sort_unstable();
    done.get(done.len() / 2).map_or(0.0, |&median| median as f64)
}

/// How long after `healed` throughput came back to stay, to the width of an interval.
fn recovery(
    intervals: &[IntervalSummary],
    width: Nanos,
    baseline: f64,
    healed: Nanos,
) -> Option<Nanos> {
    let needed = RELAPSE.0.div_ceil(width.0).max(1) as usize;
    let after = intervals.partition_point(|interval| interval.from < healed);
    let after = &intervals[after..];
    let is_up = |interval: &IntervalSummary| interval.done as f64 >= RECOVERED * baseline;
    let stays = |place: &usize| {
        let end = (place + needed).min(after.len());
        after[*place..end].iter().all(is_up)
    };
    let place = (0..after.len()).find(stays)?;
    Some(after[place].from.since(healed))
}
