//! Outcome of one injection: what clients saw of it, when it was over, what it cost.

use assay_model::Nanos;

use super::baseline::GoodputBaseline;
use super::faults::FaultSpan;
use super::states::LEAST_GOODPUT;
use crate::options::Window;
use crate::summary::{Goodput, GoodputBin, IntervalSummary, Series, Summary};

/// How long goodput must stay back.
const HOLD: Nanos = Nanos::from_secs(5);
/// A fall begins at most so long after its fault was mended: as in [`crate::effect`].
const REACH: Nanos = Nanos::from_secs(10);
/// The 99th percentile is back within so many times that of the baseline.
const TAIL: f64 = 1.5;
/// The intervals of the hold in which the percentile may be higher: one of five.
const OUTLIERS: usize = 5;
/// Bins with fewer operations than this fall by chance.
const FEWEST: f64 = 100.0;
/// No bin need be longer than this.
const WIDEST: Nanos = Nanos::from_secs(1);

/// How long something took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeTo {
    /// So long.
    After(Nanos),
    /// Longer than this, which is all that was observed: the value is censored.
    NotWithin(Nanos),
}

impl TimeTo {
    /// The time, or as much of it as was observed.
    pub fn observed(self) -> Nanos {
        match self {
            TimeTo::After(time) | TimeTo::NotWithin(time) => time,
        }
    }

    /// Whether it took longer than was observed.
    pub fn is_censored(self) -> bool {
        matches!(self, TimeTo::NotWithin(_))
    }
}

/// What an injection did to a run.
#[derive(Clone, Debug, PartialEq)]
pub struct InjectionOutcome {
    /// The fault.
    pub fault: FaultSpan,
    /// Where the next injection begins, or the run ends: nothing is known of it from there on.
    pub until: Nanos,
    /// From the fault to the intended time of the first operation that was not answered; zero for
    /// one that was under way. `None` if all were answered.
    pub first_error: Option<Nanos>,
    /// From the fault until a client knew: the first operation was refused, dropped or given up.
    pub detection: Option<Nanos>,
    /// From the fault to the intended time of the first operation after that error that was
    /// answered in time, to the width of a bin of [`Goodput`]; `None` without errors.
    pub first_success: Option<TimeTo>,
    /// From the fault to where goodput is back for good.
    pub ttr90: TimeTo,
    /// The same from where mending began; `None` if it never did, or goodput was back before.
    pub after_mending: Option<Nanos>,
    /// From the fault to where the 99th percentile is back.
    pub tail: TimeTo,
    /// Operations that were expected to be answered in time and were not.
    pub lost: f64,
    /// The same in seconds of the baseline's goodput.
    pub lost_s: f64,
    /// Acknowledged writes of its time that were lost in the end; `None` if nobody looked. See
    /// [`attribute_lost_writes`](super::attribute_lost_writes).
    pub lost_writes: Option<u64>,
    /// The most operations done in an interval after the fall, over those of the baseline; `None`
    /// if goodput did not fall.
    pub burst: Option<f64>,
    /// The width of the bins that goodput was followed in.
    pub resolution: Nanos,
}

/// The outcomes of `faults`, which are in order of time.
pub fn outcomes(
    summary: &Summary,
    window: Window,
    baseline: &GoodputBaseline,
    faults: Vec<FaultSpan>,
) -> Vec<InjectionOutcome> {
    let begins: Vec<Nanos> = faults.iter().map(|fault| fault.at).collect();
    let until = |at: Nanos| begins.iter().copied().find(|next| *next > at).unwrap_or(window.until);
    let ends: Vec<Nanos> = begins.iter().map(|at| until(*at)).collect();
    let outcome = |(fault, until): (FaultSpan, Nanos)| {
        outcome(summary, baseline, fault, until.max(window.from))
    };
    faults.into_iter().zip(ends).map(outcome).collect()
}

fn outcome(
    summary: &Summary,
    baseline: &GoodputBaseline,
    fault: FaultSpan,
    until: Nanos,
) -> InjectionOutcome {
    let goodput = &summary.availability.goodput;
    let at = fault.at;
    let observed = until.since(at);
    // Where nothing mends it, all that follows may be its effect.
    let reach = fault.end().map_or(until, |end| end.saturating_add(REACH).min(until));
    let steps = steps(goodput, baseline, at, until);
    let fall = steps.iter().position(|step| step.is_low() && step.from <= reach);
    let back = fall.map(|fall| back(&steps, fall));
    let ttr90 = match back {
        None => no_fall(observed),
        Some(Some(place)) => TimeTo::After(steps[place].from.since(at)),
        Some(None) => TimeTo::NotWithin(observed),
    };
    let lost = fall.map_or(0.0, |fall| lost(&steps, fall, back.flatten()));
    let mended = fault.mending.map(|mending| mending.since(at));
    let after_mending = match ttr90 {
        TimeTo::After(time) => mended.filter(|mended| *mended < time).map(|from| time.since(from)),
        TimeTo::NotWithin(_) => None,
    };
    let error = first_error(goodput, at, until);
    let seen = goodput.errors_seen.iter().copied().find(|seen| *seen >= at);
    InjectionOutcome {
        until,
        first_error: error.map(|error| error.since(at)),
        detection: seen.filter(|seen| error.is_some() && *seen < until).map(|seen| seen.since(at)),
        first_success: error.map(|error| first_success(goodput, at, error, until)),
        ttr90,
        after_mending,
        tail: tail(&summary.series, baseline, &fault, reach, until),
        lost,
        lost_s: if baseline.in_time_per_s > 0.0 { lost / baseline.in_time_per_s } else { 0.0 },
        lost_writes: None,
        burst: fall.and_then(|fall| burst(&summary.series, baseline, steps[fall].from, until)),
        resolution: steps.first().map_or(goodput.width, |step| step.length),
        fault,
    }
}

/// What is known of a recovery where nothing fell: a fall may have come later if it was not
/// observed for long.
fn no_fall(observed: Nanos) -> TimeTo {
    if observed < HOLD { TimeTo::NotWithin(observed) } else { TimeTo::After(Nanos::ZERO) }
}

/// Goodput in a stretch of time that is long enough to tell.
#[derive(Clone, Copy, Debug)]
struct Step {
    from: Nanos,
    length: Nanos,
    in_time: f64,
    expected: f64,
}

impl Step {
    fn is_low(&self) -> bool {
        self.in_time < LEAST_GOODPUT * self.expected
    }
}

/// Goodput from the bin of `at` on, in steps that have enough operations.
fn steps(goodput: &Goodput, baseline: &GoodputBaseline, at: Nanos, until: Nanos) -> Vec<Step> {
    let width = goodput.width.0.max(1);
    let widest = WIDEST.0.div_ceil(width).max(1);
    let needed = (FEWEST / baseline.in_time_per_s.max(1e-9) * 1e9 / width as f64).ceil();
    let joined = match baseline.is_open {
        true => (needed as u64).clamp(1, widest),
        // Sessions issue in bursts, as answers come.
        false => widest,
    } as usize;
    let length = Nanos(joined as u64 * width);
    let first = (at.since(goodput.from).0 / width) as usize;
    let bins = goodput.bins.get(first..).unwrap_or(&[]);
    let begin = |place: usize| Nanos(goodput.from.0 + (first + place * joined) as u64 * width);
    let step = |(place, bins): (usize, &[GoodputBin])| {
        let offered = bins.iter().map(|bin| bin.offered).sum();
        let in_time: u64 = bins.iter().map(|bin| bin.in_time).sum();
        let expected = baseline.expected(offered, length);
        Step { from: begin(place), length, in_time: in_time as f64, expected }
    };
    // A closed loop that waits to the end leaves no bins behind.
    let last = (until.since(begin(0)).0 / length.0) as usize;
    let told = bins.chunks(joined).enumerate().map(step);
    let silence = |place: usize| step((place, &[]));
    told.chain((bins.len().div_ceil(joined)..last).map(silence)).take(last).collect()
}

/// The first step after the fall from which on goodput stays for as long as is needed.
fn back(steps: &[Step], fall: usize) -> Option<usize> {
    let needed = HOLD.0.div_ceil(steps[fall].length.0).max(1) as usize;
    let stays = |place: &usize| {
        let hold = steps.get(*place..*place + needed);
        hold.is_some_and(|hold| hold.iter().all(|step| !step.is_low()))
    };
    (fall..steps.len()).find(stays)
}

/// What is missing from the fall until it is back, and in later falls.
fn lost(steps: &[Step], fall: usize, back: Option<usize>) -> f64 {
    let missing = |step: &Step| step.expected - step.in_time;
    let back = back.unwrap_or(steps.len());
    let during: f64 = steps[fall..back].iter().map(missing).sum();
    let later: f64 = steps[back..].iter().filter(|step| step.is_low()).map(missing).sum();
    (during + later).max(0.0)
}

/// The bins that are not over at `at` and begin before `until`.
fn bins(goodput: &Goodput, at: Nanos, until: Nanos) -> impl Iterator<Item = &GoodputBin> {
    let place = |moment: Nanos| (moment.since(goodput.from).0 / goodput.width.0.max(1)) as usize;
    let end = place(Nanos(until.0.saturating_sub(1))).saturating_add(1).min(goodput.bins.len());
    goodput.bins.get(place(at)..end).unwrap_or(&[]).iter()
}

/// The intended time of the first operation that was not answered.
fn first_error(goodput: &Goodput, at: Nanos, until: Nanos) -> Option<Nanos> {
    let first = bins(goodput, at, until).find(|bin| bin.errors > 0)?.first_error;
    (first < until).then(|| first.max(at))
}

/// From `at` to the first operation after `error` that was answered in time.
fn first_success(goodput: &Goodput, at: Nanos, error: Nanos, until: Nanos) -> TimeTo {
    let success = bins(goodput, error, until).find(|bin| bin.last_success > error);
    match success.map(|bin| bin.first_success.max(error)) {
        Some(success) if success < until => TimeTo::After(success.since(at)),
        _ => TimeTo::NotWithin(until.since(at)),
    }
}

/// From the fault to where the 99th percentile is back.
fn tail(
    series: &Series,
    baseline: &GoodputBaseline,
    fault: &FaultSpan,
    reach: Nanos,
    until: Nanos,
) -> TimeTo {
    let end = |one: &IntervalSummary| one.from.saturating_add(series.width);
    let is_within = |one: &&IntervalSummary| end(one) > fault.at && end(one) <= until;
    let intervals: Vec<&IntervalSummary> = series.intervals.iter().filter(is_within).collect();
    let limit = TAIL * baseline.p99.0 as f64;
    let is_slow = |one: &&IntervalSummary| match one.response.count {
        0 => one.offered > 0 || !baseline.is_open,
        _ => limit > 0.0 && one.response.p99.0 as f64 > limit,
    };
    let Some(fall) = intervals.iter().position(|one| is_slow(one) && one.from <= reach) else {
        return no_fall(until.since(fault.at));
    };
    let needed = HOLD.0.div_ceil(series.width.0.max(1)).max(1) as usize;
    let is_back = |place: &usize| {
        let hold = intervals.get(*place..*place + needed).unwrap_or(&[]);
        let slow = hold.iter().filter(|one| is_slow(one)).count();
        !hold.is_empty() && !is_slow(&hold[0]) && slow <= needed / OUTLIERS
    };
    match (fall..intervals.len()).find(is_back) {
        Some(place) => TimeTo::After(intervals[place].from.since(fault.at)),
        None => TimeTo::NotWithin(until.since(fault.at)),
    }
}

/// The most operations done in an interval after the fall, over those of the baseline.
fn burst(series: &Series, baseline: &GoodputBaseline, fall: Nanos, until: Nanos) -> Option<f64> {
    let inside = series.whole_in(Window { from: fall, until });
    let most = inside.iter().map(|one| one.done).max()? as f64 / series.width.as_secs_f64();
    (baseline.done_per_s > 0.0).then(|| most / baseline.done_per_s)
}
