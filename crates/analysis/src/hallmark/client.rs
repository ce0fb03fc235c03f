//! B1–B7: whether the client was fit to measure.

use assay_model::{Kind, Nanos};

use super::check::{Bound, CheckVerdict, Figure, Findings, Found, Limits, Measure};
use super::check::{Inapplicable, Statistic, Time, inapplicable_if, known, unknown_if};
use super::evidence::Hiccups;
use super::input::Input;
use super::outliers::{Slow, without};

/// A request that is sent so much later than the most punctual ones found its worker busy, in ns.
const AT_WORK: u64 = 1_000;

/// The share of requests that count as the most punctual: no worker is fast enough that is busy for
/// all but these, and what they take is what a look at the clock costs on this machine.
const PROMPTEST: f64 = 0.05;

/// The percentile that hiccups are compared at.
const TAIL: f64 = 0.999;

/// B1: the workers got a processor whenever they needed one, with capacity to spare.
pub fn worker_cpu(input: &Input) -> Found {
    inapplicable_if(input.evidence.is_simulated_time, Inapplicable::SimulatedTime)?;
    inapplicable_if(input.is_load(), Inapplicable::IsLoad)?;
    let (workers, thresholds) = (&input.evidence.workers, input.thresholds);
    unknown_if(workers.is_empty(), Inapplicable::NotObserved)?;
    let mut measures = vec![worker_busy(input)];
    let shares = [
        (
            Statistic::WorkerWaited,
            workers.iter().filter_map(|worker| worker.waited).reduce(f64::max),
            Limits::at_most(thresholds.worker_waited_pass, thresholds.worker_waited_fail),
        ),
        (
            Statistic::Steal,
            input.evidence.steal,
            Limits::at_most(thresholds.steal_pass, thresholds.steal_fail),
        ),
        (
            Statistic::Throttled,
            input.evidence.throttled,
            Limits::at_most(thresholds.throttled_pass, thresholds.throttled_fail),
        ),
    ];
    let mut unobserved = Vec::new();
    for (statistic, share, limits) in shares {
        match share {
            Some(share) => measures.push(Measure::held(statistic, share, limits)),
            None => unobserved.push(statistic),
        }
    }
    // What holds nothing cannot pass.
    if measures.iter().all(|measure| measure.limits.is_none()) {
        let verdict = CheckVerdict::NotAssessable(Inapplicable::NotObserved);
        return Ok(Findings { verdict, unobserved, ..Findings::new(measures, &[]) });
    }
    Ok(Findings { unobserved, ..Findings::new(measures, &[Figure::All]) })
}

/// The useful part of the busiest worker's time.
///
/// What a worker uses while it spins says nothing. In the open model arrivals see time averages
/// (R. W. Wolff, Operations Research 30, 1982): the share of requests that left late is the share
/// of the time in which their worker was at work. Neither can be known of a spinning closed loop,
/// nor where the store works in the worker; the number is then shown without being held against
/// anything.
fn worker_busy(input: &Input) -> Measure {
    let workers = input.evidence.workers.iter();
    let busiest = workers.map(|worker| worker.useful.unwrap_or(worker.busy)).fold(0.0, f64::max);
    let is_useful_known = input.evidence.workers.iter().all(|worker| worker.useful.is_some());
    let late = || {
        let lag = &input.summary.lag;
        let prompt = lag.histogram.value_at_quantile(PROMPTEST);
        let above = lag.histogram.len() - lag.histogram.count_between(0, prompt + AT_WORK);
        above as f64 / lag.count.max(1) as f64
    };
    let needs_guess = input.evidence.spins && !is_useful_known;
    let busy = if needs_guess && !input.is_closed() { busiest.min(late()) } else { busiest };
    if input.evidence.store_in_workers || needs_guess && input.is_closed() {
        return Measure::display(Statistic::WorkerBusy, busy);
    }
    let thresholds = input.thresholds;
    let limits = Limits::at_most(thresholds.worker_busy_pass, thresholds.worker_busy_fail);
    Measure::held(Statistic::WorkerBusy, busy, limits)
}

/// B2: no pause of the client machine is in the percentiles.
///
/// What was under way during a pause tells by how much it is. How long pauses are, beside the
/// percentile, matters where a worker sleeps until an answer or an arrival comes: it wakes as late
/// as the thread that was observed. A session that calls a store in its own thread never sleeps.
pub fn hiccups(input: &Input) -> Found {
    inapplicable_if(input.evidence.is_simulated_time, Inapplicable::SimulatedTime)?;
    inapplicable_if(input.is_load(), Inapplicable::IsLoad)?;
    let hiccup = input.evidence.hiccups.as_ref().and_then(|hiccups| hiccups.quantile(TAIL));
    let hiccup = known(hiccup, Inapplicable::NotObserved)?;
    let response = known(input.response(TAIL), Inapplicable::NoRecords)?;
    let share = hiccup.0 as f64 / response.0.max(1) as f64;
    let limits = Limits::at_most(input.thresholds.hiccup_pass, input.thresholds.hiccup_fail);
    let never_sleeps = input.is_closed() && input.evidence.store_in_workers;
    let mut measures = vec![match never_sleeps {
        true => Measure::display(Statistic::HiccupByResponse, share),
        false => Measure::held(Statistic::HiccupByResponse, share, limits),
    }];
    let tail = || crate::QUANTILES.into_iter().filter(|quantile| *quantile >= TAIL);
    let effect = |quantile| {
        let figure = Figure::Percentile(Time::Response, quantile);
        Some(Measure::held(Statistic::HiccupEffect, effect(input, quantile)?, limits).of(figure))
    };
    measures.extend(tail().filter(|quantile| *quantile < 1.0).filter_map(effect));
    measures.extend(outliers_in_hiccups(input));
    let failed = measures.iter().filter(|measure| measure.verdict() == CheckVerdict::Fail);
    let first = failed.map(|measure| match measure.figure {
        Some(Figure::Percentile(_, quantile)) => quantile,
        _ => TAIL,
    });
    let first = first.fold(f64::INFINITY, f64::min);
    let withdrawn = tail().filter(|quantile| *quantile >= first).flat_map(|quantile| {
        [Time::Response, Time::Service].map(|time| Figure::Percentile(time, quantile))
    });
    let withdrawn: Vec<Figure> = withdrawn.collect();
    Ok(Findings::new(measures, &withdrawn))
}

/// By what part of it the percentile `quantile` of response time is above the one without the
/// operations that a pause held; `None` where that cannot be told from the slowest operations, or
/// where too few tell the percentile itself.
fn effect(input: &Input, quantile: f64) -> Option<f64> {
    let value = input.known_percentiles().find(|one| one.quantile == quantile)?.value;
    let (hits, slowest) = (input.observed.hits, &input.observed.slowest);
    without(hits, slowest, quantile, |_| false)?;
    // All that is not among the slowest is below the least of them.
    let most = || slowest.last().filter(|_| (slowest.len() as u64) < hits).map(|one| one.response);
    let without = without_hiccups(input, quantile).or_else(most).unwrap_or(Nanos::ZERO);
    Some(value.since(without).0 as f64 / value.0.max(1) as f64)
}

/// The percentile `quantile` of response time without the operations that a pause held.
pub fn without_hiccups(input: &Input, quantile: f64) -> Option<Nanos> {
    let (hits, slowest) = (input.observed.hits, &input.observed.slowest);
    without(hits, slowest, quantile, |slow| slow.is_held)
}

/// The share of the operations beyond the tail's percentile that a pause held.
fn outliers_in_hiccups(input: &Input) -> Option<Measure> {
    let hits = input.observed.hits;
    let beyond = hits.saturating_sub(crate::distribution::rank(hits, TAIL)) as usize;
    let outliers = &input.observed.slowest[..beyond.min(input.observed.slowest.len())];
    let tagged = outliers.iter().filter(|slow| slow.is_held).count();
    let share = tagged as f64 / outliers.len() as f64;
    (!outliers.is_empty()).then(|| Measure::display(Statistic::OutliersInHiccups, share))
}

/// Tags the operations of `slowest` that pauses held for more than `least` of their time.
pub fn tag_held(slowest: &mut [Slow], hiccups: &Hiccups, least: f64) {
    let usual = hiccups.quantile(0.5).unwrap_or(Nanos::ZERO);
    for slow in slowest {
        let held = hiccups.held(usual, slow.intended, slow.ended());
        slow.is_held = held.0 as f64 > slow.response.0 as f64 * least;
    }
}

/// B3: every record was kept.
pub fn lost_records(input: &Input) -> Found {
    let lost = known(input.evidence.lost_records, Inapplicable::NotObserved)?;
    let limits = Limits::at_most(0.0, 0.0);
    let measures = vec![Measure::held(Statistic::LostRecords, lost as f64, limits)];
    Ok(Findings::new(measures, &[Figure::All]))
}

/// B8: the records are those of this run.
pub fn identity(input: &Input) -> Found {
    let contradictions = known(input.evidence.contradictions, Inapplicable::NotObserved)?;
    let limits = Limits::at_most(0.0, 0.0);
    let measures = vec![Measure::held(Statistic::Contradictions, contradictions as f64, limits)];
    Ok(Findings::new(measures, &[Figure::All]))
}

/// B4: the network between lost nothing.
pub fn network(input: &Input) -> Found {
    inapplicable_if(input.evidence.is_simulated_time, Inapplicable::SimulatedTime)?;
    inapplicable_if(input.evidence.store_in_workers, Inapplicable::NoNetwork)?;
    let network = known(input.evidence.network, Inapplicable::NotObserved)?;
    inapplicable_if(network.segments == 0, Inapplicable::NoNetwork)?;
    let share = network.retransmits as f64 / network.segments as f64;
    let thresholds = input.thresholds;
    let limits = Limits::at_most(thresholds.retransmits_pass, thresholds.retransmits_fail);
    let measures = vec![Measure::held(Statistic::Retransmits, share, limits)];
    let figures = [Figure::Latency(Time::Response), Figure::Latency(Time::Service)];
    Ok(Findings::new(measures, &figures))
}

/// B5: the figures are well above what the instrument itself needs.
pub fn noise_floor(input: &Input) -> Found {
    inapplicable_if(input.evidence.is_simulated_time, Inapplicable::SimulatedTime)?;
    inapplicable_if(input.is_load(), Inapplicable::IsLoad)?;
    let floor = known(input.evidence.floor.as_ref(), Inapplicable::NotObserved)?;
    let least = input.thresholds.floor_multiple;
    let limits = Limits { bound: Bound::AtLeast, pass: least, fail: None };
    let measure = |percentile: &crate::summary::Percentile| {
        let floor = floor.response(percentile.quantile)?;
        let multiple = percentile.value.0 as f64 / floor.0.max(1) as f64;
        let figure = Figure::Percentile(Time::Response, percentile.quantile);
        Some(Measure::held(Statistic::ResponseByFloor, multiple, limits).of(figure))
    };
    let measures: Vec<Measure> = input.known_percentiles().filter_map(measure).collect();
    unknown_if(measures.is_empty(), Inapplicable::TooShort)?;
    Ok(Findings::new(measures, &[]))
}

/// B6: another agent would not have reached more.
pub fn saturation(input: &Input) -> Found {
    inapplicable_if(input.evidence.is_simulated_time, Inapplicable::SimulatedTime)?;
    inapplicable_if(input.is_load(), Inapplicable::IsLoad)?;
    let gain = known(input.evidence.gain_by_agent, Inapplicable::OneAgent)?;
    let pass = input.thresholds.gain_pass;
    let measures = vec![Measure::held(Statistic::GainByAgent, gain, Limits::at_most(pass, pass))];
    Ok(Findings::new(measures, &[Figure::Throughput]))
}

/// B7: reads found their records, and each record in the expected size.
pub fn misses(input: &Input) -> Found {
    let reads =
        input.summary.kinds.iter().filter(|(kind, _)| matches!(kind, Kind::Read | Kind::Scan));
    let (mut hits, mut done, mut bytes, mut rows) = (0, 0, 0, 0);
    for (_, group) in reads {
        hits += group.counts.hits;
        done += group.counts.done;
        bytes += group.counts.bytes_in;
        rows += group.counts.rows;
    }
    inapplicable_if(done == 0, Inapplicable::NoRecords)?;
    let (evidence, thresholds) = (input.evidence, input.thresholds);
    let missed = (done - hits) as f64 / done as f64;
    // By default reads access loaded records; a miss is then remarkable,
    // though nobody can say that it is wrong.
    let share = match evidence.expected_miss_share {
        Some(expected) => {
            let limits = Limits::at_most(thresholds.miss_share_pass, thresholds.miss_share_fail);
            Measure::held(Statistic::MissShareOff, (missed - expected).abs(), limits)
        }
        None => {
            let limits = Limits::remark_above(thresholds.miss_share_pass);
            Measure::held(Statistic::MissShareOff, missed, limits)
        }
    };
    let mut measures = vec![share];
    let expected =
        evidence.expected_bytes_per_record.filter(|&expected| expected > 0.0 && rows > 0);
    if let Some(expected) = expected {
        let off = (bytes as f64 / rows as f64 / expected - 1.0).abs();
        let limits = Limits::at_most(thresholds.bytes_pass, thresholds.bytes_fail);
        measures.push(Measure::held(Statistic::BytesOff, off, limits));
    }
    Ok(Findings::new(measures, &[Figure::All]))
}
