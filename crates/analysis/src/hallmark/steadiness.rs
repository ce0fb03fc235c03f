//! C1–C6: whether the run held still for long enough.

use assay_model::Nanos;

use super::Change;
use super::case::Case;
use super::check::{Bound, Check, CheckId, CheckVerdict, Figure, Limits, Measure};
use super::check::{Statistic, Time, Why};
use super::statistic::changes::{Wanted, changes, critical, separation};
use super::statistic::{autocorrelation, mean, mixture, mser, theil_sen};
use crate::account::ratio;
use crate::confidence::FEWEST_BEYOND;
use crate::summary::{Interval, IntervalSummary, Percentile};

/// Fewer intervals than this are no course.
const FEWEST_INTERVALS: usize = 10;

const MEDIAN: Figure = Figure::Percentile(Time::Response, 0.5);
const TAIL: Figure = Figure::Percentile(Time::Response, 0.99);

/// The figures whose course is looked at.
const FIGURES: [Figure; 3] = [Figure::Throughput, MEDIAN, TAIL];

/// The course of a run, interval by interval of the window.
pub struct Course<'a> {
    intervals: Vec<&'a IntervalSummary>,
    width: Nanos,
    /// One series per figure of [`FIGURES`].
    series: [Vec<f64>; 3],
}

/// What is steady of a course, after warm-up.
pub struct Steady {
    /// The interval with which it begins; `None` if the run never settled.
    pub from: Option<usize>,
    /// Changes for good in it.
    pub changes: Vec<Change>,
    /// The longest stretch of intervals without any change.
    level: (usize, usize),
}

impl<'a> Course<'a> {
    /// The whole intervals of the window.
    pub fn of(case: &Case<'a>) -> Course<'a> {
        let (series, window) = (&case.summary.series, case.window());
        let is_whole = |interval: &&IntervalSummary| {
            interval.from >= window.from && interval.from + series.width <= window.until
        };
        let intervals: Vec<&IntervalSummary> = series.intervals.iter().filter(is_whole).collect();
        let seconds = series.width.as_secs_f64();
        let done = intervals.iter().map(|interval| interval.done as f64 / seconds).collect();
        let latency = |of: fn(&IntervalSummary) -> Nanos| filled(&intervals, of);
        let series_of = [
            done,
            latency(|interval| interval.response.p50),
            latency(|interval| interval.response.p99),
        ];
        Course { width: series.width, series: series_of, intervals }
    }

    /// Whether there are too few intervals.
    fn is_too_short(&self) -> bool {
        self.intervals.len() < FEWEST_INTERVALS
    }

    /// Where interval number `place` begins.
    fn at(&self, place: usize) -> Nanos {
        self.intervals[place].from
    }

    /// The steady part, and what changes in it.
    pub fn steady(&self, case: &Case) -> Steady {
        let all = self.intervals.len();
        let none = Steady { from: None, changes: Vec::new(), level: (0, 0) };
        if self.is_too_short() || case.is_varying() || case.is_load() {
            return Steady { from: Some(0), level: (0, all), ..none };
        }
        let cut = self.warm_up(case);
        if self.never_settles(case, cut) {
            return none;
        }
        let wanted = Wanted {
            probability: case.thresholds.change_probability,
            size: case.thresholds.change_size,
        };
        let mut found: Vec<(usize, Change)> = Vec::new();
        for (figure, values) in FIGURES.into_iter().zip(&self.series) {
            let places = changes(&values[cut..], wanted);
            let edges: Vec<usize> =
                [0].into_iter().chain(places).chain([values.len() - cut]).collect();
            for edge in edges.windows(3) {
                let [before, place, after] = [edge[0], edge[1], edge[2]].map(|edge| edge + cut);
                let at = self.at(place);
                let change = Change {
                    at,
                    figure,
                    before: mean(&values[before..place]),
                    after: mean(&values[place..after]),
                    is_explained: self.is_explained(case, at),
                };
                found.push((place, change));
            }
        }
        found.sort_by_key(|(place, _)| *place);
        let places = found.iter().map(|(place, _)| *place);
        let edges: Vec<usize> = [cut].into_iter().chain(places).chain([all]).collect();
        let level = edges.windows(2).max_by_key(|pair| pair[1] - pair[0]);
        let level = level.map_or((cut, all), |pair| (pair[0], pair[1]));
        Steady { from: Some(cut), changes: found.into_iter().map(|(_, one)| one).collect(), level }
    }

    /// How many intervals at the beginning are unlike the others in any figure.
    ///
    /// More than half of them only if that matters: a drift too small to matter is no warm-up.
    fn warm_up(&self, case: &Case) -> usize {
        let cut = |values: &Vec<f64>| {
            let place = mser::truncation(values);
            let is_unlike = place > 0 && {
                let probability = case.thresholds.change_probability / values.len() as f64;
                separation(values, place) > critical(probability, values.len())
            };
            let is_on_purpose = is_unlike && self.is_explained(case, self.at(place));
            let share = place as f64 / values.len() as f64;
            let is_half = share > case.thresholds.warm_up_share_fail;
            let is_warm_up = is_unlike && !is_on_purpose;
            if is_warm_up && (!is_half || is_moved(case, values, place)) { place } else { 0 }
        };
        self.series.iter().map(cut).max().unwrap_or(0)
    }

    /// Whether so much would have to be cut off that no steady state is left.
    fn never_settles(&self, case: &Case, cut: usize) -> bool {
        cut as f64 / self.intervals.len() as f64 > case.thresholds.warm_up_share_fail
    }

    /// How far each figure of the whole window moves when the first `cut` intervals are left out.
    fn effects(&self, cut: usize) -> [f64; 3] {
        let level = |from: usize| {
            let latency = |quantile| {
                let quick = self.intervals[from..].iter().map(|interval| &interval.response);
                mixture::quantile(quick, quantile).unwrap_or(0.0)
            };
            [mean(&self.series[0][from..]), latency(0.5), latency(0.99)]
        };
        let (whole, rest) = (level(0), level(cut));
        [0, 1, 2].map(|place| relative(whole[place], rest[place]))
    }

    fn is_explained(&self, case: &Case, at: Nanos) -> bool {
        let reach = case.thresholds.event_reach_seconds + self.width.as_secs_f64();
        let distance = |event: &Nanos| (event.as_secs_f64() - at.as_secs_f64()).abs();
        case.evidence.events.iter().any(|event| distance(event) <= reach)
    }
}

/// A latency of each interval; intervals without a hit show what was seen before them.
fn filled(intervals: &[&IntervalSummary], of: fn(&IntervalSummary) -> Nanos) -> Vec<f64> {
    let first = intervals.iter().find(|interval| interval.response.count > 0);
    let mut last = first.map_or(0.0, |interval| of(interval).0 as f64);
    let value = |interval: &&IntervalSummary| {
        if interval.response.count > 0 {
            last = of(interval).0 as f64;
        }
        last
    };
    intervals.iter().map(value).collect()
}

/// Whether the level of what is cut off is another than that of the rest.
fn is_moved(case: &Case, values: &[f64], cut: usize) -> bool {
    let (before, after) = (mean(&values[..cut]), mean(&values[cut..]));
    relative(before, after) > case.thresholds.change_size
}

fn relative(value: f64, reference: f64) -> f64 {
    if value == reference { 0.0 } else { (value - reference).abs() / reference.max(1e-9) }
}

/// Why the course of a run says nothing, if so.
fn silence(case: &Case, course: &Course, id: CheckId) -> Option<Check> {
    if case.is_load() {
        return Some(Check::not_applicable(id, Why::IsLoad));
    }
    if case.is_varying() {
        return Some(Check::not_applicable(id, Why::VaryingLoad));
    }
    let is_short = case.is_too_short() || course.is_too_short();
    is_short.then(|| Check::not_assessable(id, Why::TooShort))
}

/// C1: the run had warmed up before the figures began.
pub fn warm_up(case: &Case, course: &Course) -> Check {
    let id = CheckId::WarmUp;
    if let Some(check) = silence(case, course, id) {
        return check;
    }
    let thresholds = case.thresholds;
    let cut = course.warm_up(case);
    let share = cut as f64 / course.intervals.len() as f64;
    let share = match course.never_settles(case, cut) {
        true => {
            let fail = thresholds.warm_up_share_fail;
            Measure::held(Statistic::WarmUpShare, share, Limits::at_most(fail, fail))
        }
        false => Measure::shown(Statistic::WarmUpShare, share),
    };
    let limits = Limits::at_most(thresholds.warm_up_effect_pass, thresholds.warm_up_effect_fail);
    let effect =
        |(figure, effect)| Measure::held(Statistic::WarmUpEffect, effect, limits).of(figure);
    let effects = FIGURES.into_iter().zip(course.effects(cut)).map(effect);
    Check::judged(id, [share].into_iter().chain(effects).collect(), &[Figure::All])
}

/// C2: nothing changed for good while it ran, other than on purpose.
pub fn change_points(case: &Case, course: &Course, steady: &Steady) -> Check {
    let id = CheckId::ChangePoints;
    if let Some(check) = silence(case, course, id) {
        return check;
    }
    if steady.from.is_none() {
        return Check::not_assessable(id, Why::NeverSettled);
    }
    let unexplained = steady.changes.iter().filter(|change| !change.is_explained).count() as f64;
    let limits = Limits::remark_above(0.0);
    Check::judged(id, vec![Measure::held(Statistic::UnexplainedChanges, unexplained, limits)], &[])
}

/// C3: figures do not drift, within the longest stretch without a change.
pub fn trend(case: &Case, course: &Course, steady: &Steady) -> Check {
    let id = CheckId::Trend;
    if let Some(check) = silence(case, course, id) {
        return check;
    }
    let (from, until) = steady.level;
    let drift = |(figure, values): (Figure, &Vec<f64>)| {
        let values = &values[from..until];
        let slope = theil_sen::slope(values, case.thresholds.change_probability)?;
        let level = mean(values).max(f64::MIN_POSITIVE);
        let drift = slope.at_least() * values.len() as f64 / level;
        let limits = Limits::remark_above(case.thresholds.drift_pass);
        Some(Measure::held(Statistic::Drift, drift, limits).of(figure))
    };
    let measures: Vec<Measure> =
        FIGURES.into_iter().zip(&course.series).filter_map(drift).collect();
    if measures.is_empty() {
        return Check::not_assessable(id, Why::NeverSettled);
    }
    Check::judged(id, measures, &[])
}

/// C4: what happens periodically happened often enough; with the period.
pub fn periodicity(case: &Case, course: &Course, steady: &Steady) -> (Check, Option<Nanos>) {
    let id = CheckId::Periodicity;
    if let Some(check) = silence(case, course, id) {
        return (check, None);
    }
    let (from, until) = steady.level;
    if from == until {
        return (Check::not_assessable(id, Why::NeverSettled), None);
    }
    let least = case.thresholds.period_correlation;
    let period = |values: &Vec<f64>| autocorrelation::period(&values[from..until], least);
    let Some(longest) = course.series.iter().filter_map(period).max() else {
        return (Check::judged(id, Vec::new(), &[]), None);
    };
    let periods = course.intervals.len() as f64 / longest as f64;
    let limits = Limits { bound: Bound::AtLeast, pass: case.thresholds.periods_pass, fail: None };
    let measures = vec![Measure::held(Statistic::Periods, periods, limits)];
    (Check::judged(id, measures, &[]), Some(Nanos(course.width.0 * longest as u64)))
}

/// C5: operations in flight do not pile up.
pub fn backlog(case: &Case, course: &Course) -> Check {
    let id = CheckId::Backlog;
    if case.is_closed() {
        return Check::not_applicable(id, Why::ClosedLoop);
    }
    if let Some(check) = silence(case, course, id) {
        return check;
    }
    let waiting: Vec<f64> = course.intervals.iter().map(|interval| interval.in_system).collect();
    let slope = theil_sen::slope(&waiting, case.thresholds.change_probability);
    let growth = slope.map_or(0.0, |slope| slope.low.max(0.0)) * waiting.len() as f64;
    // Half an operation more is no backlog, however little there was before.
    let level = mean(&waiting).max(1.0);
    let limits = Limits::at_most(case.thresholds.backlog_pass, case.thresholds.backlog_fail);
    let measures = vec![Measure::held(Statistic::BacklogGrowth, growth / level, limits)];
    let figures = [Figure::Latency(Time::Response), Figure::Latency(Time::Service)];
    Check::judged(id, measures, &figures)
}

/// C6: the run lasted, and there are enough independent operations to tell percentiles from.
pub fn sample_size(case: &Case) -> Check {
    let id = CheckId::SampleSize;
    if case.is_load() {
        return Check::not_applicable(id, Why::IsLoad);
    }
    let thresholds = case.thresholds;
    let length = case.window().duration().as_secs_f64();
    let least = thresholds.length_fail;
    let limits = Limits { bound: Bound::AtLeast, pass: least, fail: Some(least) };
    let mut measures = vec![Measure::held(Statistic::Length, length, limits)];
    if length < least {
        return Check::judged(id, measures, &[Figure::All]);
    }
    let mut withdrawn = Vec::new();
    let hits = &case.summary.overall.hits;
    let sets = [(Time::Response, &hits.response), (Time::Service, &hits.service)];
    for (time, distribution) in sets {
        let told = distribution.percentiles.iter().filter(|one| one.quantile < 1.0);
        for percentile in told {
            let figure = Figure::Percentile(time, percentile.quantile);
            let values = beyond(percentile, distribution.count, case.summary.duration);
            if values.is_none_or(|values| values < thresholds.beyond_fail) {
                withdrawn.push(figure);
            }
            // The far tail of a short run is left out rather than remarked on; so is whatever
            // service time says that response time says already.
            if figure.is_headline() && time == Time::Response {
                let (pass, fail) = (thresholds.beyond_pass, Some(thresholds.beyond_fail));
                let limits = Limits { bound: Bound::AtLeast, pass, fail };
                let values = values.unwrap_or(0.0);
                measures.push(Measure::held(Statistic::EffectiveBeyond, values, limits).of(figure));
            }
        }
    }
    if measures.len() == 1 {
        return Check::not_assessable(id, Why::NoRecords);
    }
    let check = Check::judged(id, measures, &[]);
    Check { withdraws: withdrawn, ..check }
}

/// Independent values beyond a percentile of `count` values that came within `duration`; where they
/// are too few for an interval, as many as the advice on a longer run takes for granted.
pub fn beyond(percentile: &Percentile, count: u64, duration: Nanos) -> Option<f64> {
    match percentile.interval {
        Interval::Known { dependence, .. } => {
            Some(count as f64 * (1.0 - percentile.quantile) / dependence)
        }
        Interval::TooFew { further_seconds, .. } => {
            let seconds = duration.as_secs_f64();
            Some(FEWEST_BEYOND * ratio(seconds, seconds + further_seconds))
        }
        Interval::Undefined => None,
    }
}

/// Whether the length of the window alone makes `check` fail.
pub fn is_too_short(check: &Check) -> bool {
    let is_length = |measure: &&Measure| measure.statistic == Statistic::Length;
    let length = check.measures.iter().find(is_length);
    length.is_some_and(|measure| measure.verdict() == CheckVerdict::Fail)
}
