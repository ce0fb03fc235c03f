//! C1–C6: whether the run held still for long enough.

use assay_model::Nanos;

use super::LevelChange;
use super::check::{Bound, Check, CheckId, CheckVerdict, Figure, Findings, Found, Limits, Measure};
use super::check::{Inapplicable, Statistic, Time, inapplicable_if, unknown_if};
use super::input::Input;
use super::statistic::changes::{ChangeCriteria, changes, critical, separation};
use super::statistic::{autocorrelation, mean, mixture, mser, theil_sen};
use crate::confidence::FEWEST_BEYOND;
use crate::kind_stats::ratio;
use crate::summary::{Interval, IntervalSummary, Percentile};

/// Fewer intervals than this are no course.
const FEWEST_INTERVALS: usize = 10;

const MEDIAN: Figure = Figure::Percentile(Time::Response, 0.5);
const TAIL: Figure = Figure::Percentile(Time::Response, 0.99);

/// The figures whose course is looked at.
const FIGURES: [Figure; 3] = [Figure::Throughput, MEDIAN, TAIL];

/// The course of a run, interval by interval of the window.
pub struct TimeCourse<'a> {
    intervals: &'a [IntervalSummary],
    width: Nanos,
    /// One series per figure of [`FIGURES`].
    series: [Vec<f64>; 3],
}

/// What is steady of a course, after warm-up.
pub struct Steady {
    /// The interval with which it begins; `None` if the run never settled.
    pub from: Option<usize>,
    /// Changes for good in it.
    pub changes: Vec<LevelChange>,
    /// The longest stretch of intervals without any change.
    level: (usize, usize),
}

impl<'a> TimeCourse<'a> {
    /// The whole intervals of the window.
    pub fn of(input: &Input<'a>) -> TimeCourse<'a> {
        let series = &input.summary.series;
        let intervals = series.whole_in(input.window());
        let seconds = series.width.as_secs_f64();
        let done = intervals.iter().map(|interval| interval.done as f64 / seconds).collect();
        let latency = |of: fn(&IntervalSummary) -> Nanos| filled(intervals, of);
        let series_of = [
            done,
            latency(|interval| interval.response.p50),
            latency(|interval| interval.response.p99),
        ];
        TimeCourse { width: series.width, series: series_of, intervals }
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
    pub fn steady(&self, input: &Input) -> Steady {
        let all = self.intervals.len();
        let none = Steady { from: None, changes: Vec::new(), level: (0, 0) };
        let is_untold = input.is_varying() || input.is_held_back() || input.is_load();
        if self.is_too_short() || is_untold {
            return Steady { from: Some(0), level: (0, all), ..none };
        }
        let cut = self.warm_up(input);
        if self.never_settles(input, cut) {
            return none;
        }
        let expected = ChangeCriteria {
            probability: input.thresholds.change_probability,
            size: input.thresholds.change_size,
        };
        let mut found: Vec<(usize, LevelChange)> = Vec::new();
        for (figure, values) in FIGURES.into_iter().zip(&self.series) {
            let places = changes(&values[cut..], expected);
            let edges: Vec<usize> =
                [0].into_iter().chain(places).chain([values.len() - cut]).collect();
            for edge in edges.windows(3) {
                let [before, place, after] = [edge[0], edge[1], edge[2]].map(|edge| edge + cut);
                let at = self.at(place);
                let change = LevelChange {
                    at,
                    figure,
                    before: mean(&values[before..place]),
                    after: mean(&values[place..after]),
                    is_explained: self.is_explained(input, at),
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
    fn warm_up(&self, input: &Input) -> usize {
        let cut = |values: &Vec<f64>| {
            let place = mser::truncation(values);
            let is_unlike = place > 0 && {
                let probability = input.thresholds.change_probability / values.len() as f64;
                separation(values, place) > critical(probability, values.len())
            };
            let is_on_purpose = is_unlike && self.is_explained(input, self.at(place));
            let share = place as f64 / values.len() as f64;
            let is_half = share > input.thresholds.warm_up_share_fail;
            let is_warm_up = is_unlike && !is_on_purpose;
            if is_warm_up && (!is_half || is_moved(input, values, place)) { place } else { 0 }
        };
        self.series.iter().map(cut).max().unwrap_or(0)
    }

    /// Whether so much would have to be cut off that no steady state is left.
    fn never_settles(&self, input: &Input, cut: usize) -> bool {
        cut as f64 / self.intervals.len() as f64 > input.thresholds.warm_up_share_fail
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

    fn is_explained(&self, input: &Input, at: Nanos) -> bool {
        let reach = input.thresholds.event_reach_seconds + self.width.as_secs_f64();
        let at = at.as_secs_f64();
        let is_near = |from: Nanos, until: Nanos| {
            from.as_secs_f64() - reach <= at && at <= until.as_secs_f64() + reach
        };
        // A stop of the store is reported by itself; its effect on the figures needs no second
        // remark.
        input.evidence.events.iter().any(|event| is_near(*event, *event))
            || input.stops().any(|stop| is_near(stop.from, stop.until))
    }
}

/// A latency of each interval; intervals without a hit show what was seen before them.
fn filled(intervals: &[IntervalSummary], of: fn(&IntervalSummary) -> Nanos) -> Vec<f64> {
    let first = intervals.iter().find(|interval| interval.response.count > 0);
    let mut last = first.map_or(0.0, |interval| of(interval).0 as f64);
    let value = |interval: &IntervalSummary| {
        if interval.response.count > 0 {
            last = of(interval).0 as f64;
        }
        last
    };
    intervals.iter().map(value).collect()
}

/// Whether the level of what is cut off is another than that of the rest.
fn is_moved(input: &Input, values: &[f64], cut: usize) -> bool {
    let (before, after) = (mean(&values[..cut]), mean(&values[cut..]));
    relative(before, after) > input.thresholds.change_size
}

fn relative(value: f64, reference: f64) -> f64 {
    if value == reference { 0.0 } else { (value - reference).abs() / reference.max(1e-9) }
}

/// Refuses the check `id` if the course of the run says nothing.
fn require_course(
    input: &Input,
    time_course: &TimeCourse,
    id: CheckId,
) -> Result<(), CheckVerdict> {
    inapplicable_if(input.is_load(), Inapplicable::IsLoad)?;
    inapplicable_if(input.is_varying(), Inapplicable::VaryingLoad)?;
    let is_untold = input.is_held_back() && id != CheckId::Backlog;
    inapplicable_if(is_untold, Inapplicable::HeldBack)?;
    unknown_if(input.is_too_short() || time_course.is_too_short(), Inapplicable::TooShort)
}

/// C1: the run had warmed up before the figures began.
pub fn warm_up(input: &Input, time_course: &TimeCourse) -> Found {
    require_course(input, time_course, CheckId::WarmUp)?;
    let thresholds = input.thresholds;
    let cut = time_course.warm_up(input);
    let share = cut as f64 / time_course.intervals.len() as f64;
    let share = match time_course.never_settles(input, cut) {
        true => {
            let fail = thresholds.warm_up_share_fail;
            Measure::held(Statistic::WarmUpShare, share, Limits::at_most(fail, fail))
        }
        false => Measure::display(Statistic::WarmUpShare, share),
    };
    let limits = Limits::at_most(thresholds.warm_up_effect_pass, thresholds.warm_up_effect_fail);
    let effect =
        |(figure, effect)| Measure::held(Statistic::WarmUpEffect, effect, limits).of(figure);
    let effects = FIGURES.into_iter().zip(time_course.effects(cut)).map(effect);
    Ok(Findings::new([share].into_iter().chain(effects).collect(), &[Figure::All]))
}

/// C2: nothing changed for good while it ran, other than on purpose.
pub fn change_points(input: &Input, time_course: &TimeCourse, steady: &Steady) -> Found {
    require_course(input, time_course, CheckId::ChangePoints)?;
    unknown_if(steady.from.is_none(), Inapplicable::NeverSettled)?;
    let unexplained = steady.changes.iter().filter(|change| !change.is_explained).count() as f64;
    let limits = Limits::remark_above(0.0);
    let measures = vec![Measure::held(Statistic::UnexplainedChanges, unexplained, limits)];
    Ok(Findings::new(measures, &[]))
}

/// C3: figures do not drift, within the longest stretch without a change.
pub fn trend(input: &Input, time_course: &TimeCourse, steady: &Steady) -> Found {
    require_course(input, time_course, CheckId::Trend)?;
    let (from, until) = steady.level;
    let drift = |(figure, values): (Figure, &Vec<f64>)| {
        let values = &values[from..until];
        let slope = theil_sen::slope(values, input.thresholds.change_probability)?;
        let level = mean(values).max(f64::MIN_POSITIVE);
        let drift = slope.at_least() * values.len() as f64 / level;
        let limits = Limits::remark_above(input.thresholds.drift_pass);
        Some(Measure::held(Statistic::Drift, drift, limits).of(figure))
    };
    let measures: Vec<Measure> =
        FIGURES.into_iter().zip(&time_course.series).filter_map(drift).collect();
    unknown_if(measures.is_empty(), Inapplicable::NeverSettled)?;
    Ok(Findings::new(measures, &[]))
}

/// C4: what happens periodically happened often enough; with the period.
pub fn periodicity(
    input: &Input,
    time_course: &TimeCourse,
    steady: &Steady,
) -> Result<(Findings, Option<Nanos>), CheckVerdict> {
    require_course(input, time_course, CheckId::Periodicity)?;
    let (from, until) = steady.level;
    unknown_if(from == until, Inapplicable::NeverSettled)?;
    let least = input.thresholds.period_correlation;
    let period = |values: &Vec<f64>| autocorrelation::period(&values[from..until], least);
    let Some(longest) = time_course.series.iter().filter_map(period).max() else {
        return Ok((Findings::new(Vec::new(), &[]), None));
    };
    let periods = time_course.intervals.len() as f64 / longest as f64;
    let limits = Limits { bound: Bound::AtLeast, pass: input.thresholds.periods_pass, fail: None };
    let measures = vec![Measure::held(Statistic::Periods, periods, limits)];
    let period = Nanos(time_course.width.0 * longest as u64);
    Ok((Findings::new(measures, &[]), Some(period)))
}

/// C5: operations in flight do not pile up.
pub fn backlog(input: &Input, time_course: &TimeCourse) -> Found {
    inapplicable_if(input.is_closed(), Inapplicable::ClosedLoop)?;
    require_course(input, time_course, CheckId::Backlog)?;
    let waiting: Vec<f64> =
        time_course.intervals.iter().map(|interval| interval.in_system).collect();
    let slope = theil_sen::slope(&waiting, input.thresholds.change_probability);
    let growth = slope.map_or(0.0, |slope| slope.low.max(0.0)) * waiting.len() as f64;
    // Half an operation more is no backlog, however little there was before.
    let level = mean(&waiting).max(1.0);
    // If the store held arrivals back, the result of the run is that it does not keep up.
    let fail = (!input.is_held_back()).then_some(input.thresholds.backlog_fail);
    let pass = input.thresholds.backlog_pass;
    let limits = Limits { bound: Bound::AtMost, pass, fail };
    let measures = vec![Measure::held(Statistic::BacklogGrowth, growth / level, limits)];
    let figures = [Figure::Latency(Time::Response), Figure::Latency(Time::Service)];
    Ok(Findings::new(measures, &figures))
}

/// C6: the run lasted, and there are enough independent operations to tell percentiles from.
pub fn sample_size(input: &Input) -> Found {
    inapplicable_if(input.is_load(), Inapplicable::IsLoad)?;
    let thresholds = input.thresholds;
    let length = input.window().duration().as_secs_f64();
    let least = thresholds.length_fail;
    let limits = Limits { bound: Bound::AtLeast, pass: least, fail: Some(least) };
    let mut measures = vec![Measure::held(Statistic::Length, length, limits)];
    if length < least {
        return Ok(Findings::new(measures, &[Figure::All]));
    }
    let mut withdrawn = Vec::new();
    let hits = &input.summary.overall.hits;
    let sets = [(Time::Response, &hits.response), (Time::Service, &hits.service)];
    for (time, distribution) in sets {
        let reported = distribution.percentiles.iter().filter(|one| one.quantile < 1.0);
        for percentile in reported {
            let figure = Figure::Percentile(time, percentile.quantile);
            let values = beyond(percentile, distribution.count, input.summary.duration);
            if values.is_none_or(|values| values < thresholds.beyond_fail) {
                withdrawn.push(figure);
            }
            // The far tail of a short run is left out rather than remarked on; so is whatever
            // service time says that response time says already.
            if figure.is_headline() && time == Time::Response {
                // A stop of the store is one event, however many operations it delayed: no fault of
                // the run.
                let pass = thresholds.beyond_pass;
                let fail = (!input.is_disturbed()).then_some(thresholds.beyond_fail);
                let limits = Limits { bound: Bound::AtLeast, pass, fail };
                let values = values.unwrap_or(0.0);
                measures.push(Measure::held(Statistic::EffectiveBeyond, values, limits).of(figure));
            }
        }
    }
    unknown_if(measures.len() == 1, Inapplicable::NoRecords)?;
    Ok(Findings { withdraws: withdrawn, ..Findings::new(measures, &[]) })
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
