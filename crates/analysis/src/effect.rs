//! Effect of an action on a store: the stretch of time in which its answers differ.
//!
//! After a node is added, the question is when the first effect shows and when the store is steady
//! again: NoSQLMark's elasticity experiment (BTW 2017, section 5.2) reads both off a chart. Here
//! they are computed interval by interval, with the same two questions:
//!
//! * **First effect**: the first of two intervals in a row, after the action, that differ in the
//!   same way from the time before: by more than the variation there.
//! * **Last effect**: the end of the last two intervals in a row that differ from how it is in the
//!   end, which is the last third of the time after the action. What still differs within that
//!   third, or drifts from one half of it to the other, has not come to rest.
//!
//! How it is, and what differs by itself, are median and median absolute deviation of a figure's
//! values: a single stall neither makes nor hides an effect. A stall of one interval on the way is
//! none either, so a store whose answers pause once a minute is not said to be never at rest.
//!
//! A **stop**, however short, needs no second interval: a silence that begins after the action
//! counts with its own times, and so does half of the throughput missing in the interval of the
//! action or in the next one.
//!
//! What begins long after an action is over is no effect of it: a store that is thawed and falls
//! silent a minute later has a reason of its own for that.

use assay_model::Nanos;

use crate::median;
use crate::options::Window;
use crate::summary::{IntervalSummary, Series, Silence};

/// Fewer intervals than this do not tell how it was, or how it is in the end.
const FEWEST: usize = 5;
/// What came longer ago than so many intervals does not tell how it was.
const MOST_BEFORE: usize = 60;
/// Deviations from the median that come by themselves: 4 of the normal distribution.
const SIGMAS: f64 = 4.0;
/// Deviations by which the medians of two halves may differ by themselves.
const DRIFT_SIGMAS: f64 = 2.0;
/// The standard deviation of a normal distribution over its median absolute deviation.
const MAD_TO_SIGMA: f64 = 1.4826;
/// Changes below this share of the median are of no interest.
const SHARE: f64 = 0.2;
/// The intervals from that of the action on that count although none follows them …
const AT_ONCE: usize = 2;
/// … if at least this share of the earlier throughput is missing.
const MISSING: f64 = 0.5;
/// A share of failed operations above this is of interest, whatever it was before.
const FAILED: f64 = 0.001;

/// An effect begins at most so long after its action has ended, or in one of its first intervals:
/// longer than an election or a missed heartbeat takes the stores of the lab.
const REACH: Nanos = Nanos::from_secs(10);

/// Something that was done to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedAction {
    /// When it began, on the run's time axis.
    pub at: Nanos,
    /// When it was over, which may be long after: a node joins.
    pub ended: Nanos,
}

impl TimedAction {
    /// Whether something that begins at `moment` is not too late to be its effect.
    fn reaches(self, moment: Nanos) -> bool {
        moment <= self.ended.saturating_add(REACH)
    }
}

/// The observed effect of one action.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// When it was done, on the run's time axis.
    pub at: Nanos,
    /// Where the first interval begins that differs from before; `None` if none does.
    pub first: Option<Nanos>,
    /// Where the last interval ends that differs from how it is in the end; `None` if none does.
    pub last: Option<Nanos>,
    /// Whether it came to rest before the next action, or before the end.
    pub is_at_rest: bool,
    /// How it was before.
    pub before: Level,
    /// How it is in the end.
    pub after: Level,
}

/// How it is for some intervals: medians over them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// Operations done per second.
    pub done_per_s: f64,
    /// The median of the response times of an interval; `None` where nothing was answered.
    pub p50: Option<Nanos>,
    /// Their 99th percentile.
    pub p99: Option<Nanos>,
    /// The share of operations that were refused, unknown or dropped.
    pub failed: f64,
}

/// The figures that are looked at.
const FIGURES: [fn(&IntervalSummary) -> f64; 4] =
    [|interval| interval.done as f64, |interval| interval.response.p50.0 as f64, tail, failed];
/// The place of the failures among them.
const FAILURES: usize = 3;

fn tail(interval: &IntervalSummary) -> f64 {
    interval.response.p99.0 as f64
}

fn failed(interval: &IntervalSummary) -> f64 {
    let failed = interval.refused + interval.unknown + interval.dropped;
    let ended = failed + interval.done;
    if ended == 0 { 0.0 } else { failed as f64 / ended as f64 }
}

/// The effects of `actions`, which are in order of time, in a run with `silences`. An action
/// without enough intervals before or after it within `window` has none that could be reported.
pub fn effects(
    series: &Series,
    silences: &[Silence],
    window: Window,
    actions: &[TimedAction],
) -> Vec<Option<Effect>> {
    let all = series.whole_in(window);
    // The interval in which something is done may show it already: it is not before.
    let until = |at: Nanos| all.iter().position(|interval| interval.from + series.width > at);
    let stops = stops(silences, actions);
    let mut rest = 0;
    let mut found = Vec::with_capacity(actions.len());
    for (place, &action) in actions.iter().enumerate() {
        let begin = until(action.at).unwrap_or(all.len());
        let next = actions.get(place + 1).map(|next| until(next.at).unwrap_or(all.len()));
        let end = next.unwrap_or(all.len());
        let before = &all[rest.max(begin.saturating_sub(MOST_BEFORE)).min(begin)..begin];
        let effect = effect(action, before, &all[begin.min(end)..end], series.width);
        found.push(effect.map(|effect| effect.with_stop(stops[place])));
        rest = begin;
    }
    found
}

/// For each of `actions` the longest of `silences` that began soon after it, before the next one.
/// The one during which it was done counts only for the first: what is done to end a stop did not
/// make it.
pub fn stops(silences: &[Silence], actions: &[TimedAction]) -> Vec<Option<Silence>> {
    let stop = |(place, &action): (usize, &TimedAction)| {
        let next = actions.get(place + 1).map_or(Nanos::NEVER, |next| next.at);
        let from = |silence: &Silence| if place == 0 { silence.until } else { silence.from };
        let own = silences
            .iter()
            .filter(|one| from(one) >= action.at && one.from < next && action.reaches(one.from));
        own.max_by_key(|silence| silence.length()).copied()
    };
    actions.iter().enumerate().map(stop).collect()
}

fn effect(
    action: TimedAction,
    before: &[IntervalSummary],
    follows: &[IntervalSummary],
    width: Nanos,
) -> Option<Effect> {
    if before.len() < FEWEST || follows.len() < FEWEST {
        return None;
    }
    let in_the_end = &follows[follows.len() - (follows.len() / 3).max(FEWEST)..];
    let (was, is) = (Usual::of(before), Usual::of(in_the_end));
    let differs = |usual: &Usual| -> Vec<bool> { usual.differing(follows) };
    let (mut from_before, from_end) = (differs(&was), differs(&is));
    for (differs, interval) in from_before.iter_mut().zip(follows).take(AT_ONCE) {
        *differs |= was.lacks(interval);
    }
    let is_near = |place: usize| place < AT_ONCE || action.reaches(follows[place].from);
    let first = from_before.iter().position(|differs| *differs).filter(|place| is_near(*place));
    let at = action.at;
    let last = from_end.iter().rposition(|differs| *differs);
    let rest_begins = follows.len() - in_the_end.len();
    Some(Effect {
        at,
        first: first.map(|place| follows[place].from.max(at)),
        // An action without any effect has no last one either.
        last: last.filter(|_| first.is_some()).map(|place| follows[place].from + width),
        is_at_rest: last.is_none_or(|place| place < rest_begins) && !drifts(in_the_end),
        before: level(before, width),
        after: level(in_the_end, width),
    })
}

impl Effect {
    /// The effect, with that of a stop.
    fn with_stop(mut self, stop: Option<Silence>) -> Effect {
        if let Some(stop) = stop {
            let from = stop.from.max(self.at);
            self.first = Some(self.first.map_or(from, |first| first.min(from)));
            self.last = Some(self.last.map_or(stop.until, |last| last.max(stop.until)));
        }
        self
    }
}

/// Whether a figure goes on in one direction: the halves differ by more than each has by itself.
fn drifts(intervals: &[IntervalSummary]) -> bool {
    let (early, late) = intervals.split_at(intervals.len() / 2);
    let (early, late) = (Usual::of(early), Usual::of(late));
    let halves = early.0.iter().zip(late.0);
    halves.take(FAILURES).any(|(early, late)| {
        let noise = early.noise.max(late.noise) * DRIFT_SIGMAS / SIGMAS;
        (early.middle - late.middle).abs() > noise.max(SHARE * early.middle)
    })
}

/// What the figures are around some time, with how far they go by themselves.
struct Usual([Around; FIGURES.len()]);

/// Where a figure's values are.
#[derive(Clone, Copy)]
struct Around {
    /// Their median.
    middle: f64,
    /// How far from it they come by themselves.
    noise: f64,
}

impl Usual {
    fn of(intervals: &[IntervalSummary]) -> Usual {
        Usual(FIGURES.map(|figure| {
            let middle = middle(intervals.iter().map(figure));
            let away = intervals.iter().map(|interval| (figure(interval) - middle).abs());
            Around { middle, noise: SIGMAS * MAD_TO_SIGMA * self::middle(away) }
        }))
    }

    /// Which way `interval` differs in each figure: −1, 0 or 1.
    fn ways(&self, interval: &IntervalSummary) -> [i8; FIGURES.len()] {
        let mut ways = [0; FIGURES.len()];
        for (place, (figure, around)) in FIGURES.iter().zip(self.0).enumerate() {
            let away = figure(interval) - around.middle;
            let least = if place == FAILURES { FAILED } else { SHARE * around.middle };
            let band = around.noise.max(least);
            if away.abs() > band {
                ways[place] = if away > 0.0 { 1 } else { -1 };
            }
        }
        ways
    }

    /// Whether a good part of what is usually done is missing in `interval`.
    fn lacks(&self, interval: &IntervalSummary) -> bool {
        let missing = self.0[0].middle - FIGURES[0](interval);
        missing > self.0[0].noise.max(MISSING * self.0[0].middle)
    }

    /// For each interval whether it is one of two in a row that differ in the same way.
    fn differing(&self, intervals: &[IntervalSummary]) -> Vec<bool> {
        let ways: Vec<_> = intervals.iter().map(|interval| self.ways(interval)).collect();
        let is_same = |one: usize, other: usize| {
            let other = ways.get(other);
            other.is_some_and(|other| {
                ways[one].iter().zip(other).any(|(one, other)| *one != 0 && one == other)
            })
        };
        let is_one = |place: usize| {
            is_same(place, place + 1) || place.checked_sub(1).is_some_and(|one| is_same(place, one))
        };
        (0..ways.len()).map(is_one).collect()
    }
}

fn level(intervals: &[IntervalSummary], width: Nanos) -> Level {
    let of = |figure: fn(&IntervalSummary) -> f64| middle(intervals.iter().map(figure));
    let answered = |figure: fn(&IntervalSummary) -> f64| {
        let known = intervals.iter().filter(|interval| interval.response.count > 0);
        median::median(&median::sorted(known.map(figure))).map(|value| Nanos(value as u64))
    };
    Level {
        done_per_s: of(FIGURES[0]) / width.as_secs_f64(),
        p50: answered(FIGURES[1]),
        p99: answered(FIGURES[2]),
        failed: of(FIGURES[FAILURES]),
    }
}

/// The median; 0 of nothing.
fn middle(values: impl Iterator<Item = f64>) -> f64 {
    median::median(&median::sorted(values)).unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
