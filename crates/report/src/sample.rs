//! A small run whose figures are known by heart, for the tests of every format.

use assay_analysis::ycsb;
use assay_analysis::{
    Availability, Counts, Distribution, Goodput, Group, HeatMap, Histogram, InFlight, Interval,
    IntervalSummary, Latency, LoadModel, Outage, Percentile, Plausibility, QUANTILES, Quick, Rates,
    Series, Shortage, Silence, Summary, Transactions, ValueChecks, Verdict, Window,
};
use assay_model::{
    Ends, Event, EventKind, Kind, Nanos, Outcome, Phase, Reason, Record, Setting, Verified,
};

use crate::facts::{Facts, PhaseSpan, StoreFacts};

/// What is known of the run beside its figures; the store's name is hostile.
pub fn facts() -> Facts {
    let setting = |name: &str, value: &str, meaning: &str| Setting {
        name: name.to_owned(),
        value: value.to_owned(),
        meaning: meaning.to_owned(),
    };
    Facts {
        run_id: "2026-11-21T18-30-12Z-redis-ycsb-b-7f3c".to_owned(),
        title: "ycsb-b on redis".to_owned(),
        command: "assay run ycsb-b -t redis://127.0.0.1:6379 --rate 200/s --duration 3s".to_owned(),
        seed: 18_446_744_073_709_551_615,
        spec: "ycsb-b".to_owned(),
        trace_hash_planned: Some("00ff".to_owned()),
        store: StoreFacts {
            name: "redis".to_owned(),
            url: "redis://<script>alert(1)</script>&\"'@127.0.0.1:6379".to_owned(),
            settings: vec![
                setting("appendfsync", "everysec", "a crash loses up to a second of writes"),
                setting("maxmemory", "0", "no bound"),
            ],
            ..StoreFacts::default()
        },
        load: "Poisson arrivals, at most 64 in flight, then queue".to_owned(),
        sessions: 64,
        workers: 1,
        phases: vec![
            PhaseSpan { phase: Phase::WarmUp, began: Nanos::ZERO, ended: Nanos::from_secs(1) },
            PhaseSpan {
                phase: Phase::Measure,
                began: Nanos::from_secs(1),
                ended: Nanos::from_secs(4),
            },
        ],
        machine: "2 × Some CPU, 8 GiB, Linux 6.1".to_owned(),
        version: "0.1.0".to_owned(),
        started: "2026-11-21 18:30:12 UTC".to_owned(),
        started_unix_ms: 1_795_285_812_000,
        events: vec![Event {
            at: Nanos::from_millis(2_500),
            kind: EventKind::Fault,
            text: "paused <node 1>".to_owned(),
        }],
        ..Facts::default()
    }
}

/// 600 operations offered in 3 s: 560 reads, 40 updates; 12 misses, 4 refused, 3 unknown,
/// 1 dropped.
pub fn summary() -> Summary {
    let read = group(&Part {
        hits: 541,
        misses: 12,
        reasons: &[
            (Outcome::Refused, Reason::Busy, 4),
            (Outcome::Unknown, Reason::Timeout, 2),
            (Outcome::Dropped, Reason::InFlightLimit, 1),
        ],
        step_us: 2,
    });
    let update = group(&Part {
        hits: 39,
        misses: 0,
        reasons: &[(Outcome::Unknown, Reason::ConnectionLost, 1)],
        step_us: 10,
    });
    let mut overall = group(&Part {
        hits: 580,
        misses: 12,
        reasons: &[
            (Outcome::Refused, Reason::Busy, 4),
            (Outcome::Unknown, Reason::Timeout, 2),
            (Outcome::Unknown, Reason::ConnectionLost, 1),
            (Outcome::Dropped, Reason::InFlightLimit, 1),
        ],
        step_us: 2,
    });
    overall.rates.target_per_s = Some(200.0);
    overall.rates.reached = overall.rates.done_per_s / 200.0;
    let pairs = Transactions {
        number: 1,
        name: "read-modify-write".to_owned(),
        group: group(&Part { hits: 10, misses: 0, reasons: &[], step_us: 20 }),
        unfinished: 0,
    };
    let window = Window { from: Nanos::from_secs(1), until: Nanos::from_secs(4) };
    Summary {
        load: LoadModel::Open { rate: Some(200.0), limit: Some(64) },
        window,
        duration: window.duration(),
        span: Nanos::from_millis(3_005),
        excluded: vec![(Phase::WarmUp, 200)],
        is_balanced: true,
        lag: distribution((1..=599).map(|n| n * 10)),
        values: ValueChecks {
            right: 541,
            wrong: 0,
            empty: 12,
            time: distribution((1..=553).map(|n| n * 2)),
        },
        series: series(),
        in_flight: in_flight(),
        availability: availability(),
        nodes: Vec::new(),
        held_back: None,
        backward_times: 0,
        kinds: vec![(Kind::Read, read), (Kind::Update, update)],
        transactions: vec![pairs],
        queries: Vec::new(),
        all_transactions: None,
        processes: None,
        overall,
    }
}

/// What YCSB would have measured of a run of twelve records: six reads, one of them missing, one
/// refused; three updates, one of them unknown; a read-modify-write; a read that was dropped.
pub fn measures(options: &ycsb::Options) -> ycsb::Measures {
    let read = |place: u64| Record {
        intended: Nanos::from_millis(place),
        started: Nanos(place * 1_000_000 + 10_000),
        ended: Nanos(place * 1_000_000 + 110_500 + place * 1_000),
        phase: Phase::Measure,
        found: true,
        verified: Verified::Right,
        verify_ns: 1_500,
        ..Record::BLANK
    };
    let update = |place: u64| Record { kind: Kind::Update, verified: Verified::No, ..read(place) };
    let failed = |record: Record, outcome, reason| Record {
        outcome,
        reason,
        found: false,
        verified: Verified::No,
        ended: record.ended + Nanos::from_millis(5),
        ..record
    };
    let half = |record: Record, ends_transaction| Record {
        process: 7,
        transaction_type: 1,
        ends: Ends::of(ends_transaction, true),
        ..record
    };
    let mut measurements = ycsb::Measurements::new(options.clone());
    measurements.push(&[read(0), read(1), read(2), read(1_200)]);
    measurements.push(&[Record { found: false, verified: Verified::Empty, ..read(3) }]);
    measurements.push(&[failed(read(4), Outcome::Refused, Reason::Busy)]);
    measurements.push(&[update(5), update(6)]);
    measurements.push(&[failed(update(7), Outcome::Unknown, Reason::ConnectionLost)]);
    measurements.push(&[half(read(8), false), half(update(9), true)]);
    measurements.push(&[failed(read(9), Outcome::Dropped, Reason::InFlightLimit)]);
    measurements.finish()
}

struct Part<'a> {
    hits: u64,
    misses: u64,
    reasons: &'a [(Outcome, Reason, u64)],
    step_us: u64,
}

fn group(part: &Part<'_>) -> Group {
    let count_of = |expected| {
        part.reasons
            .iter()
            .filter(|(outcome, _, _)| *outcome == expected)
            .map(|(_, _, count)| count)
            .sum::<u64>()
    };
    let (refused, unknown, dropped) =
        (count_of(Outcome::Refused), count_of(Outcome::Unknown), count_of(Outcome::Dropped));
    let done = part.hits + part.misses;
    let offered = done + refused + unknown + dropped;
    let per_s = |count: u64| count as f64 / 3.0;
    Group {
        counts: Counts {
            offered,
            done,
            refused,
            unknown,
            dropped,
            hits: part.hits,
            misses: part.misses,
            good: part.hits,
            reasons: part.reasons.to_vec(),
            bytes_in: part.hits * 1_000,
            bytes_out: 0,
            rows: part.hits,
            found_without_version: 0,
        },
        rates: Rates {
            target_per_s: None,
            offered_per_s: per_s(offered),
            attempted_per_s: per_s(offered - dropped),
            done_per_s: per_s(done),
            goodput_per_s: per_s(part.hits),
            reached: done as f64 / offered as f64,
        },
        hits: latency(part.hits, 100, part.step_us),
        misses: latency(part.misses, 20, 1),
        failed: latency(refused + unknown, 5_000, 1_000),
    }
}

/// `count` operations whose service times are `from_us`, `from_us` + `step_us` … and whose lag is
/// a tenth of that.
fn latency(count: u64, from_us: u64, step_us: u64) -> Latency {
    let service = move |n: u64| (from_us + n * step_us) * 1_000;
    Latency {
        response: distribution((0..count).map(|n| service(n) + service(n) / 10)),
        service: distribution((0..count).map(service)),
        lag: distribution((0..count).map(|n| service(n) / 10)),
    }
}

/// The exact distribution of `values` in nanoseconds.
pub fn distribution(values: impl Iterator<Item = u64>) -> Distribution {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    let mut histogram = Histogram::new_with_bounds(1, assay_analysis::LONGEST.0, 3)
        .expect("these bounds are allowed");
    for &value in &values {
        histogram.record(value).expect("the sample's values are within the bounds");
    }
    let count = values.len() as u64;
    let at = |quantile: f64| {
        let rank = ((quantile * count as f64).ceil() as usize).clamp(1, values.len());
        Nanos(values[rank - 1])
    };
    let percentile = |&quantile: &f64| Percentile {
        quantile,
        value: at(quantile),
        interval: if quantile == 1.0 {
            Interval::Undefined
        } else if count as f64 * (1.0 - quantile) < 10.0 {
            let shortage = match count as f64 * (1.0 - quantile) {
                beyond if beyond < 1.0 => Shortage::NoneBeyond,
                _ => Shortage::FewBeyond,
            };
            Interval::TooFew { further_seconds: 30.0, shortage }
        } else {
            let value = at(quantile).0;
            Interval::Known {
                low: Nanos(value - value / 10),
                high: Nanos(value + value / 10),
                dependence: 1.5,
            }
        },
    };
    Distribution {
        count,
        saturated: 0,
        mean_ns: if count == 0 { 0.0 } else { values.iter().sum::<u64>() as f64 / count as f64 },
        stddev_ns: if count == 0 { 0.0 } else { histogram.stdev() },
        min: Nanos(values.first().copied().unwrap_or(0)),
        max: Nanos(values.last().copied().unwrap_or(0)),
        percentiles: if count == 0 {
            Vec::new()
        } else {
            QUANTILES.iter().map(percentile).collect()
        },
        histogram,
    }
}

fn series() -> Series {
    let quick = |us: u64| Quick {
        count: 190,
        p50: Nanos::from_micros(us),
        p90: Nanos::from_micros(us * 2),
        p99: Nanos::from_micros(us * 3),
        p999: Nanos::from_micros(us * 4),
        max: Nanos::from_micros(us * 5),
    };
    let interval = |place: u64, failures: u64| IntervalSummary {
        from: Nanos::from_secs(1 + place),
        offered: 200,
        in_time: 200 - failures,
        errors: failures,
        done: 200 - failures,
        misses: 4,
        refused: failures / 2,
        unknown: failures - failures / 2,
        dropped: 0,
        done_by_kind: [190 - failures, 10, 0, 0, 0, 0, 0],
        in_flight: 0.1,
        in_system: 0.11,
        response: quick(550 + 100 * place),
        service: quick(500 + 90 * place),
        lag: quick(2),
        miss_response: quick(25),
    };
    let heat = |scale: u64| HeatMap {
        from: Nanos::from_secs(1),
        column_width: Nanos::from_secs(1),
        edges: vec![Nanos(scale), Nanos(scale * 10), Nanos(scale * 100), Nanos(scale * 1_000)],
        columns: vec![vec![100, 90, 0], vec![90, 100, 1], vec![50, 130, 9]],
        peak: 130,
    };
    Series {
        from: Nanos::from_secs(1),
        width: Nanos::from_secs(1),
        intervals: vec![interval(0, 0), interval(1, 8), interval(2, 0)],
        response: heat(10_000),
        service: heat(10_000),
        lag: heat(100),
        misses: HeatMap::default(),
    }
}

fn in_flight() -> InFlight {
    let claim = |mean_s: f64, limit| Plausibility {
        lambda_per_s: 197.3,
        mean_s,
        little_l: 197.3 * mean_s,
        limit,
        verdict: if limit.is_some() { Verdict::Held } else { Verdict::Unknown },
    };
    InFlight {
        by_service: claim(678e-6, Some(64.0)),
        by_response: claim(745e-6, None),
        mean_integrated: 0.134,
        peak_interval_mean: 0.2,
        agrees: true,
    }
}

fn availability() -> Availability {
    let outage = Outage {
        from: Nanos::from_millis(2_500),
        until: Nanos::from_millis(2_540),
        failures: 7,
        is_cut_off: false,
        recovered_after: Some(Nanos::from_millis(460)),
    };
    let (from, until) = (Nanos::from_millis(2_510), Nanos::from_millis(2_640));
    let silence = Silence { from, until, is_cut_off: false };
    Availability {
        success_ratio: 592.0 / 600.0,
        by_kind: vec![(Kind::Read, 553.0 / 560.0), (Kind::Update, 39.0 / 40.0)],
        deadline: Nanos::from_secs(1),
        in_time_ratio: 590.0 / 600.0,
        late: 2,
        threshold: Nanos::from_millis(10),
        outages: vec![outage],
        down: Nanos::from_millis(40),
        longest: Some(outage),
        mean_outage: Some(Nanos::from_millis(40)),
        up_share: 1.0 - 0.04 / 3.0,
        baseline_per_s: 193.0,
        goodput: Goodput::default(),
        silence_threshold: Nanos::from_millis(100),
        longest_silence: Some(silence),
        silences: vec![silence],
    }
}
