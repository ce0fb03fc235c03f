//! A1–A6: whether the load was what was promised.

use assay_model::Nanos;

use super::case::Case;
use super::check::{Check, CheckId, CheckVerdict, Figure, Limits, Measure};
use super::check::{Statistic, Time, Why};
use super::evidence::Gaps;
use super::sample::{Moment, Sample};
use super::statistic::{dispersion, distance, mean, squares};

/// Below so many gaps their distribution cannot be told.
const FEWEST_GAPS: usize = 100;

/// Below so many stretches counts have no dispersion.
const FEWEST_COUNTS: usize = 10;

/// Stretches in which counts mean something are this many times what goes unnoticed.
const UNNOTICED_PER_STRETCH: f64 = 4.0;

/// Relative deviation of a constant gap that is still called constant.
const CONSTANT: f64 = 0.1;

/// How often a single count of a Poisson process is three standard deviations off.
const BEYOND_THREE_SIGMAS: f64 = 0.0027;

/// Requests over which the correlation with what is in flight is looked for at a time, so that
/// slow changes of the load do not look like dependence.
const SEGMENT: usize = 512;

/// A1: as many arrivals were sent as were promised.
pub fn rate(case: &Case) -> Check {
    let id = CheckId::Rate;
    let Some(promised) = case.promised_in_all().filter(|&promised| promised > 0.0) else {
        return match (case.is_load(), case.is_closed()) {
            (true, _) => Check::not_applicable(id, Why::IsLoad),
            (_, true) => Check::not_applicable(id, Why::ClosedLoop),
            _ => Check::not_assessable(id, Why::NoRate),
        };
    };
    let thresholds = case.thresholds;
    // A process with random gaps sends more or less than its mean by √n; a fixed one by at most 1.
    let chance = match case.gaps() {
        Some(Gaps::Constant | Gaps::Jittered) => 1.0 / promised,
        Some(Gaps::Poisson) => 3.0 / promised.sqrt(),
        _ => 0.0,
    };
    let reference = match case.gaps() {
        Some(Gaps::Independent | Gaps::Dependent) => case.seen.intended.total() as f64,
        _ => promised,
    };
    let sent = case.seen.sent.total() as f64;
    let error = if reference > 0.0 { (sent / reference - 1.0).abs() } else { 0.0 };
    let limits =
        Limits::at_most(thresholds.rate_error_pass + chance, thresholds.rate_error_fail + chance);
    let mut measures = vec![Measure::held(Statistic::RateError, error, limits)];
    if !case.is_closed() && case.question.window.is_some() {
        measures.push(seconds_off(case));
    }
    Check::judged(id, measures, &[Figure::All])
}

/// How many seconds saw another number of requests than they should.
fn seconds_off(case: &Case) -> Measure {
    let (width, sent) = case.seen.sent.per(Nanos::from_secs(1), case.window().until);
    let (_, intended) = case.seen.intended.per(Nanos::from_secs(1), case.window().until);
    let expected = match case.gaps() {
        Some(Gaps::Constant | Gaps::Poisson) => case.promised(width, sent.len()),
        _ => None,
    };
    let expected = expected.unwrap_or(intended);
    let sigmas = case.thresholds.rate_second_sigmas;
    let is_off = |(sent, expected): &(&f64, &f64)| {
        (*sent - *expected).abs() > sigmas * expected.sqrt() + 1.0
    };
    let off = sent.iter().zip(&expected).filter(is_off).count();
    // Three standard deviations happen; that many of them do so once in a thousand runs.
    let usual = BEYOND_THREE_SIGMAS * sent.len() as f64;
    let allowed = (usual + 3.3 * usual.sqrt() + 1.0).floor();
    Measure::held(Statistic::SecondsOff, off as f64, Limits::remark_above(allowed))
}

/// A2: requests left when they were meant to.
pub fn lag(case: &Case) -> Check {
    let id = CheckId::Lag;
    if case.is_load() {
        return Check::not_applicable(id, Why::IsLoad);
    }
    let hits = &case.summary.overall.hits;
    if hits.response.count == 0 {
        return Check::not_assessable(id, Why::NoRecords);
    }
    let thresholds = case.thresholds;
    let limits = Limits::at_most(thresholds.lag_share_pass, thresholds.lag_share_fail);
    let measure = |percentile: &crate::summary::Percentile| {
        let lag = hits.lag.percentiles.iter().find(|lag| lag.quantile == percentile.quantile)?;
        let share = lag.value.0 as f64 / percentile.value.0.max(1) as f64;
        let figure = Figure::Percentile(Time::Response, percentile.quantile);
        Some(Measure::held(Statistic::LagByResponse, share, limits).of(figure))
    };
    let mut measures: Vec<Measure> = case.told_percentiles().filter_map(measure).collect();
    if measures.is_empty() {
        return Check::not_assessable(id, Why::TooShort);
    }
    let is_failed = |measure: &&Measure| measure.verdict() == CheckVerdict::Fail;
    let withdrawn: Vec<Figure> =
        measures.iter().filter(is_failed).filter_map(|measure| measure.figure).collect();
    let at = |percentiles: &[crate::summary::Percentile], quantile: f64| {
        percentiles.iter().find(|one| one.quantile == quantile).map_or(0, |one| one.value.0)
    };
    let tail = at(&hits.lag.percentiles, 0.999) as f64;
    let median = at(&hits.service.percentiles, 0.5).max(1) as f64;
    measures.push(Measure::shown(Statistic::LagTailByService, tail / median));
    Check::judged(id, measures, &withdrawn)
}

/// A3: no arrival was left out.
pub fn omission(case: &Case) -> Check {
    let id = CheckId::Omission;
    if case.is_closed() {
        return Check::not_applicable(id, Why::ClosedLoop);
    }
    let arrivals = case.seen.arrivals as f64;
    if arrivals == 0.0 {
        return Check::not_assessable(id, Why::NoRecords);
    }
    let thresholds = case.thresholds;
    let dropped = (case.seen.dropped_at_limit + case.seen.dropped_at_end) as f64;
    let limits = Limits::at_most(thresholds.dropped_pass, thresholds.dropped_fail);
    let mut measures = vec![Measure::held(Statistic::Dropped, dropped / arrivals, limits)];
    if let Some(queued) = case.evidence.queued {
        let share = queued as f64 / arrivals;
        measures.push(Measure::held(Statistic::Queued, share, Limits::remark_above(0.0)));
    }
    Check::judged(id, measures, &[Figure::All])
}

/// A4: what was sent is distributed in time as was promised.
pub fn arrival_process(case: &Case) -> Check {
    let id = CheckId::ArrivalProcess;
    if case.is_load() {
        return Check::not_applicable(id, Why::IsLoad);
    }
    if case.is_closed() {
        return Check::not_applicable(id, Why::ClosedLoop);
    }
    let Some(process) = case.gaps() else {
        return Check::not_assessable(id, Why::UnknownProcess);
    };
    let Some(measure) = gap_distance(case, process) else {
        return Check::not_assessable(id, Why::TooShort);
    };
    let mut measures = vec![measure];
    if case.question.window.is_some() {
        let widths = [
            (Statistic::Dispersion10Ms, 10),
            (Statistic::Dispersion100Ms, 100),
            (Statistic::Dispersion1S, 1000),
        ];
        let measure = |(statistic, ms)| spread(case, process, statistic, Nanos::from_millis(ms));
        measures.extend(widths.into_iter().filter_map(measure));
    }
    let figures = [Figure::Latency(Time::Response), Figure::Latency(Time::Service)];
    Check::judged(id, measures, &figures)
}

/// Gaps by their mean, sorted, where the rate is the same all the time; with the mean.
fn unit_gaps(case: &Case, kind: Moment) -> Option<(f64, Vec<f64>)> {
    let gaps = Sample::gaps(&case.seen.stretches, kind);
    if gaps.len() < FEWEST_GAPS {
        return None;
    }
    let weigh = |&(at, gap): &(u64, u64)| gap as f64 * case.weight(at);
    let mut units: Vec<f64> = gaps.iter().map(weigh).collect();
    let scale = mean(&units).max(f64::MIN_POSITIVE);
    units.iter_mut().for_each(|unit| *unit /= scale);
    units.sort_unstable_by(f64::total_cmp);
    let mean_ns = gaps.iter().map(|(_, gap)| *gap as f64).sum::<f64>() / gaps.len() as f64;
    Some((mean_ns, units))
}

fn gap_distance(case: &Case, process: Gaps) -> Option<Measure> {
    let thresholds = case.thresholds;
    let (mean_ns, sent) = unit_gaps(case, Moment::Sent)?;
    let tolerance = unnoticed_ns(case) / mean_ns.max(1.0);
    let found = match process {
        Gaps::Poisson => {
            let exponential = |x: f64| if x <= 0.0 { 0.0 } else { 1.0 - (-x).exp() };
            distance::to_distribution(&sent, exponential, tolerance)
        }
        Gaps::Constant if !case.is_varying() => {
            let step = |x: f64| f64::from(x >= 1.0);
            distance::to_distribution(&sent, step, tolerance.max(CONSTANT))
        }
        _ => {
            let (_, intended) = unit_gaps(case, Moment::Intended)?;
            let tolerance = if process == Gaps::Constant { CONSTANT } else { 0.0 }.max(tolerance);
            distance::to_sample(&sent, &intended, tolerance)
        }
    };
    let chance = if process == Gaps::Poisson { distance::chance(sent.len()) } else { 0.0 };
    let limits = Limits::at_most(
        thresholds.gap_distance_pass + chance,
        thresholds.gap_distance_fail + chance,
    );
    Some(Measure::held(Statistic::GapDistance, found, limits))
}

/// How early or late a request may be without making a difference, in nanoseconds.
fn unnoticed_ns(case: &Case) -> f64 {
    case.thresholds.gap_tolerance * case.response(0.5).map_or(0, |median| median.0) as f64
}

/// How far the dispersion of counts in stretches of `width` is from the promised one.
fn spread(case: &Case, process: Gaps, statistic: Statistic, width: Nanos) -> Option<Measure> {
    let thresholds = case.thresholds;
    let (width, sent) = case.seen.sent.per(width, case.window().until);
    if sent.len() < FEWEST_COUNTS {
        return None;
    }
    let even = || vec![1.0; sent.len()];
    let expected = case.promised(width, sent.len()).unwrap_or_else(even);
    let found = dispersion::index(&sent, &expected)?;
    let promised = match process {
        Gaps::Poisson => 1.0,
        _ => {
            let (_, intended) = case.seen.intended.per(width, case.window().until);
            dispersion::index(&intended, &expected)?
        }
    };
    let chance = dispersion::chance(sent.len()) * promised;
    let limits =
        Limits::at_most(thresholds.dispersion_pass + chance, thresholds.dispersion_fail + chance);
    let distance = (found - promised).abs();
    // Requests that are unnoticeably early or late fall into the stretch beside theirs.
    let is_coarse = width.0 as f64 >= UNNOTICED_PER_STRETCH * unnoticed_ns(case);
    Some(if is_coarse {
        Measure::held(statistic, distance, limits)
    } else {
        Measure::shown(statistic, distance)
    })
}

/// A5: what was asked is what was planned.
pub fn trace_identity(case: &Case) -> Check {
    let id = CheckId::TraceIdentity;
    let Some(trace) = case.evidence.trace else {
        return Check::not_assessable(id, Why::NotObserved);
    };
    let differs = f64::from(trace.planned != trace.executed);
    let limits = Limits::at_most(0.0, 0.0);
    let measures = vec![Measure::held(Statistic::TraceDiffers, differs, limits)];
    Check::judged(id, measures, &[Figure::All])
}

/// A6: the next request does not wait for earlier answers.
pub fn open_loop(case: &Case) -> Check {
    let id = CheckId::OpenLoop;
    if case.is_load() {
        return Check::not_applicable(id, Why::IsLoad);
    }
    let peak = case.summary.in_flight.peak_interval_mean;
    let peak = Measure::shown(Statistic::InFlightPeak, peak);
    if case.is_closed() {
        let check = Check::judged(id, vec![peak], &[]);
        return Check { verdict: CheckVerdict::Remark, ..check };
    }
    if case.gaps() == Some(Gaps::Dependent) {
        return Check::not_applicable(id, Why::DependentArrivals);
    }
    let Some((r, n)) = correlation(&case.seen.stretches) else {
        return Check::not_assessable(id, Why::TooShort);
    };
    let thresholds = case.thresholds;
    let chance = 3.3 / (n as f64).sqrt();
    let limits =
        Limits::at_most(thresholds.correlation_pass + chance, thresholds.correlation_fail + chance);
    let measures = vec![Measure::held(Statistic::FlightGapCorrelation, r.abs(), limits), peak];
    Check::judged(id, measures, &[Figure::All])
}

/// The correlation of operations in flight with the gap to the next arrival's request, times the
/// gaps' coefficient of variation as far as that is below 1; with the number of gaps.
///
/// The factor makes it an effect: constant gaps whose last microsecond depends on the load are
/// open all the same.
fn correlation(stretches: &[Vec<(u64, Moment)>]) -> Option<(f64, usize)> {
    let (mut xy, mut xx, mut yy, mut n, mut sum) = (0.0, 0.0, 0.0, 0, 0.0);
    for segment in
        stretches.iter().flat_map(|stretch| pairs(stretch)).collect::<Vec<_>>().chunks(SEGMENT)
    {
        let (flights, gaps): (Vec<f64>, Vec<f64>) = segment.iter().copied().unzip();
        let (x, y) = (mean(&flights), mean(&gaps));
        xy += segment.iter().map(|(flight, gap)| (flight - x) * (gap - y)).sum::<f64>();
        xx += squares(&flights);
        yy += squares(&gaps);
        sum += gaps.iter().sum::<f64>();
        n += segment.len();
    }
    if n < FEWEST_GAPS {
        return None;
    }
    let variation = (yy / n as f64).sqrt() / (sum / n as f64).max(f64::MIN_POSITIVE);
    let r = if xx > 0.0 && yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 };
    Some((r * variation.min(1.0), n))
}

/// For each request of an arrival but the last: operations in flight before it, by an unknown
/// constant, with the gap to the next one.
fn pairs(stretch: &[(u64, Moment)]) -> Vec<(f64, f64)> {
    let mut flight = 0.0;
    let mut sent: Vec<(f64, u64)> = Vec::new();
    for &(at, moment) in stretch {
        match moment {
            Moment::Ended => flight -= 1.0,
            Moment::Continued => flight += 1.0,
            Moment::Intended => {}
            Moment::Sent => {
                sent.push((flight, at));
                flight += 1.0;
            }
        }
    }
    sent.windows(2).map(|two| (two[0].0, (two[1].1 - two[0].1) as f64)).collect()
}
