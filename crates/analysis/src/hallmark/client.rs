//! B1–B7: whether the client was fit to measure.

use assay_model::{Kind, Nanos};

use super::case::Case;
use super::check::{Bound, Check, CheckId, Figure, Limits, Measure};
use super::check::{Statistic, Time, Why};
use super::outliers::Slow;

/// A request that leaves so much later than the promptest ones found its lane at work, in ns.
const AT_WORK: u64 = 1_000;

/// The share of requests that are called the promptest: no lane is fit that is at work for all but
/// these, and what they take is what a look at the clock costs on this machine.
const PROMPTEST: f64 = 0.05;

/// The percentile that hiccups are compared at.
const TAIL: f64 = 0.999;

/// B1: the lanes had processors when they wanted one, with room to spare.
pub fn lane_cpu(case: &Case) -> Check {
    let id = CheckId::LaneCpu;
    if case.evidence.is_told_time {
        return Check::not_applicable(id, Why::ToldTime);
    }
    if case.is_load() {
        return Check::not_applicable(id, Why::IsLoad);
    }
    let (lanes, thresholds) = (&case.evidence.lanes, case.thresholds);
    if lanes.is_empty() {
        return Check::not_assessable(id, Why::NotObserved);
    }
    let mut measures = vec![lane_busy(case)];
    let shares = [
        (
            Statistic::LaneWaited,
            lanes.iter().filter_map(|lane| lane.waited).reduce(f64::max),
            Limits::at_most(thresholds.lane_waited_pass, thresholds.lane_waited_fail),
        ),
        (
            Statistic::Steal,
            case.evidence.steal,
            Limits::at_most(thresholds.steal_pass, thresholds.steal_fail),
        ),
        (
            Statistic::Throttled,
            case.evidence.throttled,
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
        let check = Check::not_assessable(id, Why::NotObserved);
        return Check { measures, unobserved, ..check };
    }
    Check { unobserved, ..Check::judged(id, measures, &[Figure::All]) }
}

/// The useful part of the busiest lane's time.
///
/// What a lane uses while it spins says nothing. In the open model arrivals see time averages
/// (R. W. Wolff, Operations Research 30, 1982): the share of requests that left late is the share
/// of the time in which their lane was at work. Neither can be told of a spinning closed loop, nor
/// where the store works in the lane; the number is then shown without being held against anything.
fn lane_busy(case: &Case) -> Measure {
    let lanes = case.evidence.lanes.iter();
    let busiest = lanes.map(|lane| lane.useful.unwrap_or(lane.busy)).fold(0.0, f64::max);
    let is_useful_known = case.evidence.lanes.iter().all(|lane| lane.useful.is_some());
    let late = || {
        let lag = &case.summary.lag;
        let prompt = lag.histogram.value_at_quantile(PROMPTEST);
        let above = lag.histogram.len() - lag.histogram.count_between(0, prompt + AT_WORK);
        above as f64 / lag.count.max(1) as f64
    };
    let needs_guess = case.evidence.spins && !is_useful_known;
    let busy = if needs_guess && !case.is_closed() { busiest.min(late()) } else { busiest };
    if case.evidence.store_in_lanes || needs_guess && case.is_closed() {
        return Measure::shown(Statistic::LaneBusy, busy);
    }
    let thresholds = case.thresholds;
    let limits = Limits::at_most(thresholds.lane_busy_pass, thresholds.lane_busy_fail);
    Measure::held(Statistic::LaneBusy, busy, limits)
}

/// B2: the machine that asks did not pause.
pub fn hiccups(case: &Case) -> Check {
    let id = CheckId::Hiccups;
    if case.evidence.is_told_time {
        return Check::not_applicable(id, Why::ToldTime);
    }
    if case.is_load() {
        return Check::not_applicable(id, Why::IsLoad);
    }
    let hiccups = case.evidence.hiccups.as_ref();
    let Some(hiccup) = hiccups.and_then(|hiccups| hiccups.quantile(TAIL)) else {
        return Check::not_assessable(id, Why::NotObserved);
    };
    let Some(response) = case.response(TAIL) else {
        return Check::not_assessable(id, Why::NoRecords);
    };
    let share = hiccup.0 as f64 / response.0.max(1) as f64;
    let limits = Limits::at_most(case.thresholds.hiccup_pass, case.thresholds.hiccup_fail);
    let mut measures = vec![Measure::held(Statistic::HiccupByResponse, share, limits)];
    let beyond =
        case.seen.hits.saturating_sub(crate::distribution::rank(case.seen.hits, TAIL)) as usize;
    let outliers = &case.seen.slowest[..beyond.min(case.seen.slowest.len())];
    if !outliers.is_empty() {
        let tagged = outliers.iter().filter(|slow| overlaps_hiccup(case, slow)).count();
        let share = tagged as f64 / outliers.len() as f64;
        measures.push(Measure::shown(Statistic::OutliersInHiccups, share));
    }
    let tail = crate::QUANTILES.into_iter().filter(|quantile| *quantile >= TAIL);
    let figures: Vec<Figure> = tail
        .flat_map(|quantile| {
            [Time::Response, Time::Service].map(|time| Figure::Percentile(time, quantile))
        })
        .collect();
    Check::judged(id, measures, &figures)
}

/// Whether a hiccup that matters for it was under way at the same time.
pub fn overlaps_hiccup(case: &Case, slow: &Slow) -> bool {
    let least = Nanos((slow.response.0 as f64 * case.thresholds.hiccup_pass) as u64);
    let hiccups = case.evidence.hiccups.as_ref();
    hiccups.is_some_and(|hiccups| hiccups.overlap(slow.intended, slow.ended(), least))
}

/// B3: every record was kept.
pub fn lost_records(case: &Case) -> Check {
    let id = CheckId::LostRecords;
    let Some(lost) = case.evidence.lost_records else {
        return Check::not_assessable(id, Why::NotObserved);
    };
    let limits = Limits::at_most(0.0, 0.0);
    let measures = vec![Measure::held(Statistic::LostRecords, lost as f64, limits)];
    Check::judged(id, measures, &[Figure::All])
}

/// B8: the records are those of this run.
pub fn identity(case: &Case) -> Check {
    let id = CheckId::Identity;
    let Some(contradictions) = case.evidence.contradictions else {
        return Check::not_assessable(id, Why::NotObserved);
    };
    let limits = Limits::at_most(0.0, 0.0);
    let measures = vec![Measure::held(Statistic::Contradictions, contradictions as f64, limits)];
    Check::judged(id, measures, &[Figure::All])
}

/// B4: the network between lost nothing.
pub fn network(case: &Case) -> Check {
    let id = CheckId::Network;
    if case.evidence.is_told_time {
        return Check::not_applicable(id, Why::ToldTime);
    }
    if case.evidence.store_in_lanes {
        return Check::not_applicable(id, Why::NoNetwork);
    }
    let Some(network) = case.evidence.network else {
        return Check::not_assessable(id, Why::NotObserved);
    };
    if network.segments == 0 {
        return Check::not_applicable(id, Why::NoNetwork);
    }
    let share = network.retransmits as f64 / network.segments as f64;
    let thresholds = case.thresholds;
    let limits = Limits::at_most(thresholds.retransmits_pass, thresholds.retransmits_fail);
    let measures = vec![Measure::held(Statistic::Retransmits, share, limits)];
    let figures = [Figure::Latency(Time::Response), Figure::Latency(Time::Service)];
    Check::judged(id, measures, &figures)
}

/// B5: the figures are well above what the instrument itself needs.
pub fn noise_floor(case: &Case) -> Check {
    let id = CheckId::NoiseFloor;
    if case.evidence.is_told_time {
        return Check::not_applicable(id, Why::ToldTime);
    }
    if case.is_load() {
        return Check::not_applicable(id, Why::IsLoad);
    }
    let Some(floor) = &case.evidence.floor else {
        return Check::not_assessable(id, Why::NotObserved);
    };
    let least = case.thresholds.floor_multiple;
    let limits = Limits { bound: Bound::AtLeast, pass: least, fail: None };
    let measure = |percentile: &crate::summary::Percentile| {
        let floor = floor.response(percentile.quantile)?;
        let multiple = percentile.value.0 as f64 / floor.0.max(1) as f64;
        let figure = Figure::Percentile(Time::Response, percentile.quantile);
        Some(Measure::held(Statistic::ResponseByFloor, multiple, limits).of(figure))
    };
    let measures: Vec<Measure> = case.told_percentiles().filter_map(measure).collect();
    if measures.is_empty() {
        return Check::not_assessable(id, Why::TooShort);
    }
    Check::judged(id, measures, &[])
}

/// B6: another agent would not have reached more.
pub fn saturation(case: &Case) -> Check {
    let id = CheckId::Saturation;
    if case.evidence.is_told_time {
        return Check::not_applicable(id, Why::ToldTime);
    }
    if case.is_load() {
        return Check::not_applicable(id, Why::IsLoad);
    }
    let Some(gain) = case.evidence.gain_by_agent else {
        return Check::not_assessable(id, Why::OneAgent);
    };
    let pass = case.thresholds.gain_pass;
    let measures = vec![Measure::held(Statistic::GainByAgent, gain, Limits::at_most(pass, pass))];
    Check::judged(id, measures, &[Figure::Throughput])
}

/// B7: reads found what they asked for, and each record in the expected size.
pub fn misses(case: &Case) -> Check {
    let id = CheckId::Misses;
    let reads =
        case.summary.kinds.iter().filter(|(kind, _)| matches!(kind, Kind::Read | Kind::Scan));
    let (mut hits, mut done, mut bytes, mut rows) = (0, 0, 0, 0);
    for (_, group) in reads {
        hits += group.counts.hits;
        done += group.counts.done;
        bytes += group.counts.bytes_in;
        rows += group.counts.rows;
    }
    if done == 0 {
        return Check::not_applicable(id, Why::NoRecords);
    }
    let (evidence, thresholds) = (case.evidence, case.thresholds);
    let missed = (done - hits) as f64 / done as f64;
    // Reads ask for what was loaded, unless somebody says otherwise; a miss is then remarkable,
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
    Check::judged(id, measures, &[Figure::All])
}
