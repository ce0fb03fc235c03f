//! A1–A6: whether the load was what was promised.

use assay_model::Nanos;

use super::check::{CheckVerdict, Figure, Findings, Found, Limits, Measure};
use super::check::{Inapplicable, Statistic, Time, inapplicable_if, known, unknown_if};
use super::evidence::Gaps;
use super::input::Input;
use super::sample::{Moment, Sample};
use super::statistic::{beyond_sigmas, dispersion, distance, mean, squares};

/// Below so many gaps their distribution is not known.
const FEWEST_GAPS: usize = 100;

/// Below so many stretches counts have no dispersion.
const FEWEST_COUNTS: usize = 10;

/// Stretches in which counts mean something are this many times what goes unnoticed.
const UNNOTICED_PER_STRETCH: f64 = 4.0;

/// Relative deviation of a constant gap that is still called constant.
const CONSTANT: f64 = 0.1;

/// Gaps that differ by less than this part of the mean are alike.
const ALIKE: f64 = 1e-3;

/// A share of gaps that are alike from which on they are a step of the distribution.
const STEP: f64 = 0.05;

/// Standard deviations that chance exceeds once in a thousand times, either way.
const ONCE_IN_A_THOUSAND: f64 = 3.3;

/// A shift that goes unnoticed hides everything about gaps from this part of their mean on.
const BLIND: f64 = 0.5;

/// Requests over which the correlation with what is in flight is looked for at a time, so that
/// slow changes of the load do not look like dependence.
const SEGMENT: usize = 512;

/// A1: as many arrivals were sent as were promised.
pub fn rate(input: &Input) -> Found {
    // A schedule from a file promises its own times, and no rate beside them.
    let is_recorded = input.gaps() == Some(Gaps::Dependent);
    let recorded = || is_recorded.then(|| input.observed.intended.total() as f64);
    let scheduled = input.promised_in_all().or_else(recorded);
    let Some(scheduled) = scheduled.filter(|&scheduled| scheduled > 0.0) else {
        inapplicable_if(input.is_load(), Inapplicable::IsLoad)?;
        inapplicable_if(input.is_closed(), Inapplicable::ClosedLoop)?;
        return Err(CheckVerdict::NotAssessable(Inapplicable::NoRate));
    };
    let thresholds = input.thresholds;
    // A process with random gaps sends more or less than its mean by √n; a fixed one by at most 1.
    let chance = match input.gaps() {
        Some(Gaps::Constant | Gaps::Jittered) => 1.0 / scheduled,
        Some(Gaps::Poisson) => 3.0 / scheduled.sqrt(),
        Some(Gaps::Independent | Gaps::Dependent) if input.observed.intended.total() == 0 => {
            scatter(input, scheduled)
        }
        _ => 0.0,
    };
    let intended = input.observed.intended.total() as f64;
    let reference = match input.gaps() {
        Some(Gaps::Independent | Gaps::Dependent) if intended > 0.0 => intended,
        _ => scheduled,
    };
    let error = (input.observed.sent.total() as f64 / reference - 1.0).abs();
    let limits =
        Limits::at_most(thresholds.rate_error_pass + chance, thresholds.rate_error_fail + chance);
    let mut measures = vec![Measure::held(Statistic::RateError, error, limits)];
    if !input.is_closed() && input.options.window.is_some() {
        measures.push(seconds_off(input));
        measures.extend(intended_error(input, scheduled));
    }
    Ok(Findings::new(measures, &[Figure::All]))
}

/// How far the number of arrivals that were intended is from the promised one, for processes whose
/// requests are compared with their intended times.
fn intended_error(input: &Input, scheduled: f64) -> Option<Measure> {
    let process = input.gaps()?;
    if !matches!(process, Gaps::Independent | Gaps::Dependent) {
        return None;
    }
    let error = (input.observed.intended.total() as f64 / scheduled - 1.0).abs();
    // The variation of a schedule from a file is unknown.
    let is_known = process == Gaps::Independent || dispersion_promised(input).is_some();
    if !is_known {
        return Some(Measure::display(Statistic::IntendedError, error));
    }
    let (thresholds, chance) = (input.thresholds, scatter(input, scheduled));
    let limits = Limits::at_most(
        thresholds.rate_error_pass + chance,
        thresholds.rate_error_fail + 2.0 * chance,
    );
    Some(Measure::held(Statistic::IntendedError, error, limits))
}

/// By what part chance moves the number of arrivals that a process intends, once in a thousand
/// times. Where the process does not tell its dispersion, that of the seconds is taken.
fn scatter(input: &Input, scheduled: f64) -> f64 {
    let counted = || {
        let until = input.window().until;
        let (width, counts) = input.observed.intended.per(Nanos::from_secs(1), until);
        dispersion::index(&counts, &input.scheduled(width, counts.len())?)
    };
    let index = dispersion_promised(input).or_else(counted).unwrap_or(1.0).max(1.0);
    // A process that begins anew with the run is ahead or behind by about an index of arrivals.
    ONCE_IN_A_THOUSAND * (index / scheduled).sqrt() + index / scheduled
}

fn dispersion_promised(input: &Input) -> Option<f64> {
    input.evidence.arrivals.as_ref().and_then(|expected_arrivals| expected_arrivals.dispersion)
}

/// How many seconds had another number of requests than planned.
fn seconds_off(input: &Input) -> Measure {
    let (width, sent) = input.observed.sent.per(Nanos::from_secs(1), input.window().until);
    let (_, intended) = input.observed.intended.per(Nanos::from_secs(1), input.window().until);
    let expected = match input.gaps() {
        Some(Gaps::Constant | Gaps::Poisson) => input.scheduled(width, sent.len()),
        _ => None,
    };
    let expected = expected.unwrap_or(intended);
    let sigmas = input.thresholds.rate_second_sigmas;
    let is_off = |(sent, expected): &(&f64, &f64)| {
        (*sent - *expected).abs() > sigmas * expected.sqrt() + 1.0
    };
    let off = sent.iter().zip(&expected).filter(is_off).count();
    // So many standard deviations happen; that often they do so once in a thousand runs.
    let usual = beyond_sigmas(sigmas) * sent.len() as f64;
    let allowed = (usual + ONCE_IN_A_THOUSAND * usual.sqrt() + 1.0).floor();
    Measure::held(Statistic::SecondsOff, off as f64, Limits::remark_above(allowed))
}

/// A2: requests left when they were meant to.
///
/// In an open loop the percentile of lag is held against that of response time. In a closed loop
/// nothing piles up behind a late request, so what lag makes of a percentile is known: without it,
/// response time is service time.
pub fn lag(input: &Input) -> Found {
    inapplicable_if(input.is_load(), Inapplicable::IsLoad)?;
    let hits = &input.summary.overall.hits;
    unknown_if(hits.response.count == 0, Inapplicable::NoRecords)?;
    // Operations that the store held back are not the client's lateness.
    let own_lag = input.summary.held_back.as_ref().map_or(&hits.lag, |held| &held.own_lag);
    let thresholds = input.thresholds;
    let limits = Limits::at_most(thresholds.lag_share_pass, thresholds.lag_share_fail);
    let measure = |percentile: &crate::summary::Percentile| {
        let (quantile, response) = (percentile.quantile, percentile.value);
        let (statistic, lag) = match input.is_closed() {
            true => {
                let service = hits.service.value(quantile)?;
                (Statistic::LagEffect, response.since(service))
            }
            false => (Statistic::LagByResponse, own_lag.value(quantile)?),
        };
        let share = lag.0 as f64 / response.0.max(1) as f64;
        let figure = Figure::Percentile(Time::Response, quantile);
        Some(Measure::held(statistic, share, limits).of(figure))
    };
    let mut measures: Vec<Measure> = input.known_percentiles().filter_map(measure).collect();
    unknown_if(measures.is_empty(), Inapplicable::TooShort)?;
    let is_failed = |measure: &&Measure| measure.verdict() == CheckVerdict::Fail;
    let withdrawn: Vec<Figure> =
        measures.iter().filter(is_failed).filter_map(|measure| measure.figure).collect();
    let tail = own_lag.value(0.999).map_or(0, |lag| lag.0) as f64;
    let median = hits.service.value(0.5).map_or(1, |median| median.0.max(1)) as f64;
    measures.push(Measure::display(Statistic::LagTailByService, tail / median));
    Ok(Findings::new(measures, &withdrawn))
}

/// A3: no arrival was left out.
pub fn omission(input: &Input) -> Found {
    inapplicable_if(input.is_closed(), Inapplicable::ClosedLoop)?;
    let arrivals = input.observed.arrivals as f64;
    unknown_if(arrivals == 0.0, Inapplicable::NoRecords)?;
    let thresholds = input.thresholds;
    let dropped = (input.observed.dropped_at_limit + input.observed.dropped_at_end) as f64;
    let limits = Limits::at_most(thresholds.dropped_pass, thresholds.dropped_fail);
    let mut measures = vec![Measure::held(Statistic::Dropped, dropped / arrivals, limits)];
    let remark = Limits::remark_above(0.0);
    let queued = input.evidence.queued.map(|queued| queued as f64 / arrivals);
    match input.observed.held_back {
        // If it is known which arrivals were held back, the others waited because of the workers,
        // and are late.
        0 => measures.extend(queued.map(|share| Measure::held(Statistic::Queued, share, remark))),
        held => {
            let share = held as f64 / arrivals;
            measures.push(Measure::held(Statistic::HeldBack, share, remark));
            measures.extend(queued.map(|share| Measure::display(Statistic::Queued, share)));
        }
    }
    Ok(Findings::new(measures, &[Figure::All]))
}

/// A4: what was sent is distributed in time as was promised.
pub fn arrival_process(input: &Input) -> Found {
    inapplicable_if(input.is_load(), Inapplicable::IsLoad)?;
    inapplicable_if(input.is_closed(), Inapplicable::ClosedLoop)?;
    let process = known(input.gaps(), Inapplicable::UnknownProcess)?;
    let measure = known(gap_distance(input, process), Inapplicable::TooShort)?;
    let mut measures = vec![measure];
    if input.options.window.is_some() {
        let widths = [
            (Statistic::Dispersion10Ms, 10),
            (Statistic::Dispersion100Ms, 100),
            (Statistic::Dispersion1S, 1000),
        ];
        let measure = |(statistic, ms)| spread(input, process, statistic, Nanos::from_millis(ms));
        measures.extend(widths.into_iter().filter_map(measure));
    }
    let figures = [Figure::Latency(Time::Response), Figure::Latency(Time::Service)];
    Ok(Findings::new(measures, &figures))
}

/// Gaps by their mean, sorted, as if the rate were the same all the time; with the mean in ns.
fn unit_gaps(input: &Input, kind: Moment) -> Option<(f64, Vec<f64>)> {
    let gaps = Sample::gaps(&input.observed.stretches, kind);
    if gaps.len() < FEWEST_GAPS {
        return None;
    }
    let weigh = |&(at, gap): &(u64, u64)| input.evened(at, gap);
    let mut units: Vec<f64> = gaps.iter().map(weigh).collect();
    let scale = mean(&units).max(f64::MIN_POSITIVE);
    units.iter_mut().for_each(|unit| *unit /= scale);
    units.sort_unstable_by(f64::total_cmp);
    let mean_ns = gaps.iter().map(|(_, gap)| *gap as f64).sum::<f64>() / gaps.len() as f64;
    Some((mean_ns, units))
}

fn gap_distance(input: &Input, process: Gaps) -> Option<Measure> {
    let thresholds = input.thresholds;
    let (mean_ns, sent) = unit_gaps(input, Moment::Sent)?;
    let tolerance = unnoticed_ns(input) / mean_ns.max(1.0);
    let found = match process {
        Gaps::Poisson => {
            let exponential = |x: f64| if x <= 0.0 { 0.0 } else { 1.0 - (-x).exp() };
            distance::to_distribution(&sent, exponential, tolerance)
        }
        Gaps::Constant if !input.is_varying() => {
            let step = |x: f64| f64::from(x >= 1.0);
            distance::to_distribution(&sent, step, tolerance.max(CONSTANT))
        }
        _ => {
            let (_, intended) = unit_gaps(input, Moment::Intended)?;
            let is_stepped = process == Gaps::Dependent && has_step(&intended);
            let is_lenient = process == Gaps::Constant || is_stepped;
            let tolerance = if is_lenient { CONSTANT } else { 0.0 }.max(tolerance);
            distance::to_sample(&sent, &intended, tolerance)
        }
    };
    let chance = if process == Gaps::Poisson { distance::chance(sent.len()) } else { 0.0 };
    let limits = Limits::at_most(
        thresholds.gap_distance_pass + chance,
        thresholds.gap_distance_fail + chance,
    );
    Some(if tolerance < BLIND {
        Measure::held(Statistic::GapDistance, found, limits)
    } else {
        Measure::display(Statistic::GapDistance, found)
    })
}

/// Whether many of the sorted `gaps` of a recorded schedule are alike, as where arrivals are evenly
/// spread or come together: there the least lateness moves a whole step of the distribution.
fn has_step(gaps: &[f64]) -> bool {
    let share = ((gaps.len() as f64 * STEP) as usize).max(1);
    gaps.windows(share + 1).any(|gaps| gaps[share] - gaps[0] < ALIKE)
}

/// How early or late a request may be without making a difference, in nanoseconds.
fn unnoticed_ns(input: &Input) -> f64 {
    input.thresholds.gap_tolerance * input.response(0.5).map_or(0, |median| median.0) as f64
}

/// How far the dispersion of counts in stretches of `width` is from the promised one.
fn spread(input: &Input, process: Gaps, statistic: Statistic, width: Nanos) -> Option<Measure> {
    let thresholds = input.thresholds;
    let (width, sent) = input.observed.sent.per(width, input.window().until);
    if sent.len() < FEWEST_COUNTS {
        return None;
    }
    let even = || vec![1.0; sent.len()];
    let expected = input.scheduled(width, sent.len()).unwrap_or_else(even);
    let expected = scaled(expected, sent.iter().sum());
    let found = dispersion::index(&sent, &expected)?;
    let scheduled = match process {
        Gaps::Poisson => 1.0,
        _ => {
            let (_, intended) = input.observed.intended.per(width, input.window().until);
            dispersion::index(&intended, &expected)?
        }
    };
    let chance = dispersion::chance(&expected) * scheduled;
    let limits =
        Limits::at_most(thresholds.dispersion_pass + chance, thresholds.dispersion_fail + chance);
    let distance = (found - scheduled).abs();
    // Requests that are unnoticeably early or late fall into the stretch beside theirs.
    let is_coarse = width.0 as f64 >= UNNOTICED_PER_STRETCH * unnoticed_ns(input);
    Some(if is_coarse {
        Measure::held(statistic, distance, limits)
    } else {
        Measure::display(statistic, distance)
    })
}

/// Expectations of the same proportions whose sum is `sum`.
fn scaled(mut expected: Vec<f64>, sum: f64) -> Vec<f64> {
    let planned: f64 = expected.iter().sum();
    if planned > 0.0 {
        expected.iter_mut().for_each(|one| *one *= sum / planned);
    }
    expected
}

/// A5: what was issued is what was planned.
pub fn trace_identity(input: &Input) -> Found {
    let trace = known(input.evidence.trace, Inapplicable::NotObserved)?;
    let differs = f64::from(trace.planned != trace.executed);
    let limits = Limits::at_most(0.0, 0.0);
    let measures = vec![Measure::held(Statistic::TraceDiffers, differs, limits)];
    Ok(Findings::new(measures, &[Figure::All]))
}

/// A6: the next request does not wait for earlier answers.
pub fn open_loop(input: &Input) -> Found {
    inapplicable_if(input.is_load(), Inapplicable::IsLoad)?;
    // That was the order, and no finding; each report says beside the model what it means.
    inapplicable_if(input.is_closed(), Inapplicable::ClosedLoop)?;
    let peak = input.summary.in_flight.peak_interval_mean;
    let peak = Measure::display(Statistic::InFlightPeak, peak);
    inapplicable_if(input.gaps() == Some(Gaps::Dependent), Inapplicable::DependentArrivals)?;
    let (r, n) = known(correlation(&input.observed.stretches), Inapplicable::TooShort)?;
    let thresholds = input.thresholds;
    let chance = ONCE_IN_A_THOUSAND / (n as f64).sqrt();
    let limits =
        Limits::at_most(thresholds.correlation_pass + chance, thresholds.correlation_fail + chance);
    let measures = vec![Measure::held(Statistic::FlightGapCorrelation, r.abs(), limits), peak];
    Ok(Findings::new(measures, &[Figure::All]))
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
/// constant, with the gap to the next one. Of requests at one moment the first counts.
fn pairs(stretch: &[(u64, Moment)]) -> Vec<(f64, f64)> {
    let mut flight = 0.0;
    let mut sent: Vec<(f64, u64)> = Vec::new();
    for &(at, moment) in stretch {
        match moment {
            Moment::Ended | Moment::Answered => flight -= 1.0,
            Moment::Continued => flight += 1.0,
            Moment::Intended => {}
            Moment::Sent => {
                if sent.last().is_none_or(|&(_, last)| last < at) {
                    sent.push((flight, at));
                }
                flight += 1.0;
            }
        }
    }
    sent.windows(2).map(|two| (two[0].0, (two[1].1 - two[0].1) as f64)).collect()
}
