//! Availability: outages by intended time, silences by the time of the answers.
//!
//! Kept per bin of intended time are the first and the last operation that was answered within the
//! deadline, so a gap of at least one bin is known to the nanosecond although records come worker
//! by worker. All others are counted per bin.

mod grid;
mod silence;

use assay_model::{Kind, Nanos, Outcome, Reason};

use crate::kind_stats::{Completion, Span, ratio};
use crate::options::Window;
use crate::summary::{Availability, Goodput, GoodputBin, IntervalSummary, Outage, Series};
use grid::{Bin, Grid};
pub use silence::Silences;

/// No gap shorter than this is called an outage or a silence.
const SHORTEST: Nanos = Nanos::from_millis(100);
/// How probable it may be that chance alone makes such a gap somewhere in a healthy run.
const CHANCE: f64 = 1e-6;
/// Throughput has recovered when it is back at this share of the baseline …
const RECOVERED: f64 = 0.9;
/// … for as long as this.
const RELAPSE: Nanos = Nanos::from_secs(5);

/// Whether the store answered. A refusal that is about the request itself (the record exists
/// already, another transaction was in the way) is an answer; one because the store is away, busy
/// or full is none.
#[inline]
pub fn is_answer(ending: Completion) -> bool {
    match ending.outcome {
        Outcome::Done => true,
        Outcome::Refused => ending.reason.is_about_request(),
        Outcome::Unknown | Outcome::Dropped => false,
    }
}

/// Whether an operation was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeliness {
    /// Within the deadline.
    InTime,
    /// Later.
    Late,
    /// Not at all.
    Never,
    /// It was given up before it was sent, because another one had failed.
    NeverSent,
}

/// What happened to the operations intended within one bin.
#[derive(Clone, Copy, Debug)]
struct Intended {
    /// The first and the last that was answered in time.
    first: Nanos,
    last: Nanos,
    /// All others.
    failures: u64,
    first_failure: Nanos,
    last_failure: Nanos,
    /// Those that were answered in time, and those of the others that never were answered.
    in_time: u64,
    errors: u64,
    first_error: Nanos,
}

impl Bin for Intended {
    const EMPTY: Intended = Intended {
        first: Nanos::NEVER,
        last: Nanos::ZERO,
        failures: 0,
        first_failure: Nanos::NEVER,
        last_failure: Nanos::ZERO,
        in_time: 0,
        errors: 0,
        first_error: Nanos::NEVER,
    };

    fn merge(&mut self, other: &Intended) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.failures += other.failures;
        self.first_failure = self.first_failure.min(other.first_failure);
        self.last_failure = self.last_failure.max(other.last_failure);
        self.in_time += other.in_time;
        self.errors += other.errors;
        self.first_error = self.first_error.min(other.first_error);
    }
}

impl Intended {
    fn has_success(&self) -> bool {
        self.first != Nanos::NEVER
    }
}

/// Operations by intended time: those answered within the deadline, and the others.
#[derive(Clone, Debug)]
pub struct Bins {
    grid: Grid<Intended>,
    deadline: Nanos,
}

impl Bins {
    /// Bins that begin at `origin`; an answer later than `deadline` is none in time.
    pub fn new(origin: Nanos, deadline: Nanos) -> Bins {
        Bins { grid: Grid::new(origin), deadline }
    }

    /// Counts an operation. One that was given up because another had failed was never sent, and
    /// says nothing.
    #[inline]
    pub fn add(&mut self, span: Span, ending: Completion) -> Timeliness {
        if ending.reason == Reason::TransactionFailed {
            return Timeliness::NeverSent;
        }
        let is_answer = is_answer(ending);
        let bin = self.grid.at(span.intended);
        if is_answer && span.ended.since(span.intended) <= self.deadline {
            bin.in_time += 1;
            bin.first = bin.first.min(span.intended);
            bin.last = bin.last.max(span.intended);
            return Timeliness::InTime;
        }
        bin.failures += 1;
        bin.first_failure = bin.first_failure.min(span.intended);
        bin.last_failure = bin.last_failure.max(span.intended);
        if is_answer {
            return Timeliness::Late;
        }
        bin.errors += 1;
        bin.first_error = bin.first_error.min(span.intended);
        Timeliness::Never
    }

    /// Adds what `other`, begun at the same origin, counted.
    pub fn merge(&mut self, other: Bins) {
        self.grid.merge(other.grid);
    }

    /// Stretches between neighbouring successes of different bins in which something failed.
    fn gaps(&self, window: Window) -> Vec<Outage> {
        let mut gaps = Vec::new();
        let mut from = (window.from, true);
        for bin in self.grid.bins().iter().filter(|bin| bin.has_success()) {
            gaps.extend(self.gap(from, (bin.first, false)));
            from = (bin.last, false);
        }
        gaps.extend(self.gap(from, (window.until, true)));
        gaps
    }

    fn gap(&self, from: (Nanos, bool), until: (Nanos, bool)) -> Option<Outage> {
        let (from, is_start) = from;
        let (until, is_end) = until;
        let last = (self.grid.place(until) + 1).min(self.grid.bins().len());
        let bins = self.grid.bins().get(self.grid.place(from)..last)?;
        let failed = |bin: &&Intended| bin.last_failure >= from && bin.first_failure <= until;
        let failures: u64 = bins.iter().filter(failed).map(|bin| bin.failures).sum();
        let is_cut_off = is_start || is_end;
        let outage = Outage { from, until, failures, is_cut_off, recovered_after: None };
        (from < until && failures > 0).then_some(outage)
    }

    /// The bins as they are told, with when `silences` saw errors.
    fn goodput(&self, silences: &Silences) -> Goodput {
        let bin = |bin: &Intended| GoodputBin {
            offered: bin.in_time + bin.failures,
            in_time: bin.in_time,
            errors: bin.errors,
            first_success: bin.first,
            last_success: bin.last,
            first_error: bin.first_error,
        };
        Goodput {
            from: self.grid.origin(),
            width: self.grid.resolution(),
            bins: self.grid.bins().iter().map(bin).collect(),
            errors_seen: silences.errors_seen(),
        }
    }

    /// Everything about availability; `ratios` are the success ratios overall and by kind.
    pub fn finish(
        &self,
        silences: &Silences,
        window: Window,
        series: &Series,
        ratios: (f64, Vec<(Kind, f64)>),
    ) -> Availability {
        let total = |of: fn(&Intended) -> u64| self.grid.bins().iter().map(of).sum::<u64>();
        let in_time = total(|bin| bin.in_time);
        let expected = in_time + total(|bin| bin.failures);
        let rate = (in_time, window.duration());
        let (mut outages, threshold) =
            beyond_chance(&self.gaps(window), Outage::length, rate, self.grid.resolution());
        let whole = series.whole_in(window);
        let baseline = baseline(whole, series.width, &outages);
        for outage in &mut outages {
            outage.recovered_after = recovery(whole, series.width, baseline, outage.until);
        }
        let down = outages.iter().fold(Nanos::ZERO, |sum, outage| sum + outage.length());
        let mean = (!outages.is_empty()).then(|| Nanos(down.0 / outages.len() as u64));
        let duration = window.duration().0 as f64;
        let goodput = self.goodput(silences);
        let (longest_silence, silences, silence_threshold) = silences.finish(window);
        Availability {
            goodput,
            success_ratio: ratios.0,
            by_kind: ratios.1,
            deadline: self.deadline,
            in_time_ratio: match expected {
                0 => 1.0,
                expected => in_time as f64 / expected as f64,
            },
            late: total(|bin| bin.failures - bin.errors),
            threshold,
            longest: outages.iter().copied().max_by_key(Outage::length),
            mean_outage: mean,
            up_share: (1.0 - ratio(down.0 as f64, duration)).max(0.0),
            baseline_per_s: ratio(baseline, series.width.as_secs_f64()),
            outages,
            down,
            silence_threshold,
            longest_silence,
            silences,
        }
    }
}

/// The `gaps` that are longer than chance makes them, with the length beyond which they are.
///
/// Where events come at random with rate λ, gaps between them are exponential, and the probability
/// that any of n is longer than g is at most n · exp(−λg) (Boole's inequality), which is
/// [`CHANCE`] at g = ln(n / CHANCE) / λ. Source: D. R. Cox, P. A. W. Lewis, "The Statistical
/// Analysis of Series of Events" (1966), chapter 2. Events that come more evenly have shorter gaps.
/// λ is the rate in health, which needs the gaps: it begins with that of the whole time and is
/// raised until nothing changes.
fn beyond_chance<G: Copy>(
    gaps: &[G],
    length: impl Fn(&G) -> Nanos,
    (events, time): (u64, Nanos),
    resolution: Nanos,
) -> (Vec<G>, Nanos) {
    let mut down = Nanos::ZERO;
    let mut threshold = Nanos::NEVER;
    loop {
        let healthy = ratio(events as f64, time.since(down).0 as f64);
        let chance = match events {
            0 => Nanos::ZERO,
            _ => Nanos(ratio((events as f64 / CHANCE).ln(), healthy) as u64),
        };
        let next = SHORTEST.max(resolution).max(chance);
        let beyond = gaps.iter().filter(|gap| length(gap) > next);
        let found = beyond.clone().fold(Nanos::ZERO, |sum, gap| sum + length(gap));
        if next >= threshold || found == down {
            return (beyond.copied().collect(), next);
        }
        (down, threshold) = (found, next);
    }
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
