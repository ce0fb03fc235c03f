//! Tests of the coverage of percentile intervals.

use assay_model::{Kind, Nanos, Record, Seed};

use super::{done, options, send};
use crate::{Interval, Percentile, Shortage};

/// A queue with one server: exponential gaps of mean 1 ms, exponential service, `load` busy.
fn queue(seed: u64, count: u64, load: f64) -> Vec<Record> {
    let (mut intended, mut free) = (0.0f64, 0.0f64);
    let exponential = |draw: f64| -(1.0 - draw).ln() * 1e6;
    let operation = |index| {
        let mut draws = Seed(seed).draws(9, index);
        intended += exponential(draws.unit());
        free = intended.max(free) + load * exponential(draws.unit());
        let at = Nanos(intended as u64);
        done(index, Kind::Read, at, at, Nanos(free as u64))
    };
    (0..count).map(operation).collect()
}

fn response_p(records: &[Record], place: usize) -> Percentile {
    let last = records.last().unwrap().intended.0 / 1_000_000 + 1;
    send(options(0, last), records).overall.hits.response.percentiles[place]
}

/// In how many of 40 runs the interval contains the true percentile of M/M/1 sojourn times, which
/// are exponential with mean service / (1 − load).
fn covered(place: usize, quantile: f64, load: f64, count: u64) -> (u32, u32) {
    let truth = -(1.0 - quantile).ln() * load * 1e6 / (1.0 - load);
    let mut reported = 0;
    let mut right = 0;
    for seed in 0..40 {
        let percentile = response_p(&queue(seed, count, load), place);
        if let Interval::Known { low, high, .. } = percentile.interval {
            reported += 1;
            right += u32::from(low.0 as f64 <= truth && truth <= high.0 as f64);
        }
    }
    (right, reported)
}

#[test]
fn intervals_of_a_queue_cover_the_true_percentile() {
    // Nominal 95 %; of 40, 34 or more are within three standard deviations of that.
    let (right, reported) = covered(0, 0.5, 0.7, 10_000);
    assert_eq!(reported, 40);
    assert!(right >= 34, "p50 at load 0.7: {right} of {reported}");
    let (right, reported) = covered(4, 0.99, 0.3, 10_000);
    assert!(reported >= 37, "{reported}");
    assert!(right * 100 >= reported * 85, "p99 at load 0.3: {right} of {reported}");
}

#[test]
fn queued_values_are_dependent_and_independent_ones_are_not() {
    let dependence = |records: &[Record]| match response_p(records, 0).interval {
        Interval::Known { dependence, .. } => dependence,
        other => panic!("{other:?}"),
    };
    let busy = dependence(&queue(5, 20_000, 0.7));
    assert!((8.0..80.0).contains(&busy), "{busy}");
    let mut independent = queue(5, 20_000, 0.0);
    for record in &mut independent {
        record.ended += Nanos(Seed(6).draws(1, record.index).below(1_000_000));
    }
    let idle = dependence(&independent);
    assert!((1.0..2.0).contains(&idle), "{idle}");
}

#[test]
fn too_few_values_beyond_a_percentile_say_how_much_longer_to_run() {
    let records: Vec<Record> = (0..2000)
        .map(|i| {
            let at = Nanos::from_millis(i);
            done(i, Kind::Read, at, at, at + Nanos(Seed(8).draws(1, i).below(900_000)))
        })
        .collect();
    // 2 of 2000 values lie beyond p99.9, ten are needed: 8 s more if they are independent.
    match response_p(&records, 5).interval {
        Interval::TooFew { further_seconds, shortage } => {
            assert_eq!(shortage, Shortage::FewBeyond);
            assert!((8.0..40.0).contains(&further_seconds), "{further_seconds}");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(response_p(&records, 2).interval, Interval::Known { .. }));
    assert_eq!(response_p(&records, 8).interval, Interval::Undefined);
}

/// 2,000 reads per second for 10 s; from 4 s on nothing is answered for 2 s.
fn stalled() -> Vec<Record> {
    let until = Nanos::from_secs(6);
    let read = |i: u64| {
        let at = Nanos::from_micros(i * 500);
        let is_held = (Nanos::from_secs(4)..until).contains(&at);
        let ended = if is_held { until } else { at };
        done(i, Kind::Read, at, at, ended + Nanos::from_micros(100))
    };
    (0..20_000).map(read).collect()
}

#[test]
fn the_percentile_of_one_stall_is_there_without_an_interval() {
    let records = stalled();
    let p99 = response_p(&records, 4);
    // 4,000 of 20,000 were held; 200 lie beyond p99, so it is 1.9 s.
    assert!((1.89..1.91).contains(&p99.value.as_secs_f64()), "{p99:?}");
    let Interval::TooFew { shortage, .. } = p99.interval else { panic!("{p99:?}") };
    assert_eq!(shortage, Shortage::Dependent);
    let p999999 = response_p(&records, 7);
    let Interval::TooFew { shortage, .. } = p999999.interval else { panic!("{p999999:?}") };
    assert_eq!(shortage, Shortage::NoneBeyond);
    assert_eq!(p999999.value, response_p(&records, 8).value);
}

#[test]
fn the_interval_of_a_constant_is_that_constant() {
    let records: Vec<Record> = (0..1000)
        .map(|i| done(i, Kind::Read, Nanos(i * 1000), Nanos(i * 1000), Nanos(i * 1000 + 512)))
        .collect();
    let expected = Interval::Known { low: Nanos(512), high: Nanos(512), dependence: 1.0 };
    assert_eq!(response_p(&records, 0).interval, expected);
}
