//! Distributions against closed forms, sorted arrays, merged parts.

use assay_model::{Kind, Nanos, Record, Seed};

use super::{done, options, send};
use crate::{Analyzer, QUANTILES, Summary};

/// Reads that arrive every 10 µs, with the service times given.
fn reads(service_ns: impl Iterator<Item = u64>) -> Vec<Record> {
    let record = |(index, service)| {
        let at = Nanos(index as u64 * 10_000);
        done(index as u64, Kind::Read, at, at, at + Nanos(service))
    };
    service_ns.enumerate().map(record).collect()
}

#[test]
fn percentiles_are_those_of_the_sorted_values_within_a_thousandth() {
    let values: Vec<u64> = (0..50_000)
        .map(|index| {
            let mut draws = Seed(1).draws(1, index);
            draws.below(1_000_000) << draws.below(12)
        })
        .collect();
    let mut sorted = values.clone();
    sorted.sort_unstable();
    let service = send(options(0, 500), &reads(values.into_iter())).overall.hits.service;
    for (percentile, quantile) in service.percentiles.iter().zip(QUANTILES) {
        let rank = (quantile * sorted.len() as f64).ceil() as usize;
        let expected = sorted[rank - 1] as f64;
        let found = percentile.value.0 as f64;
        assert_eq!(percentile.quantile, quantile);
        assert!((found / expected - 1.0).abs() <= 1e-3, "{quantile}: {found} for {expected}");
        let hdr = service.histogram.value_at_quantile(quantile) as f64;
        assert!((found / hdr - 1.0).abs() <= 1e-3, "{quantile}: {found}, HdrHistogram {hdr}");
    }
    assert_eq!((service.min.0, service.max.0), (sorted[0], sorted[49_999]));
    let mean = sorted.iter().sum::<u64>() as f64 / 50_000.0;
    assert!((service.mean_ns / mean - 1.0).abs() < 1e-12);
}

#[test]
fn uniform_latencies_have_the_moments_of_the_uniform_distribution() {
    let service = send(options(0, 1000), &reads((0..100_000).map(|i| i * 10 + 5))).overall.hits;
    let service = service.service;
    assert_eq!(service.mean_ns, 500_000.0);
    let stddev = 1e6 / 12f64.sqrt();
    assert!((service.stddev_ns / stddev - 1.0).abs() < 1e-3, "{}", service.stddev_ns);
}

#[test]
fn the_histogram_holds_what_hdr_histogram_would_have_recorded() {
    let values: Vec<u64> =
        (0..20_000).map(|i| Seed(2).draws(1, i).bits() >> (24 + i % 40)).collect();
    let mut expected = crate::Histogram::new(3).unwrap();
    values.iter().for_each(|&value| expected.record(value.min(crate::LONGEST.0)).unwrap());
    let service = send(options(0, 200), &reads(values.into_iter())).overall.hits.service;
    assert_eq!(service.histogram, expected);
}

#[test]
fn values_beyond_the_longest_are_kept_as_the_longest_and_reported() {
    let hour = 3_600_000_000_000;
    let values = [hour, 4 * hour, 2 * hour, hour];
    let service = send(options(0, 1), &reads(values.into_iter())).overall.hits.service;
    assert_eq!((service.count, service.saturated), (4, 2));
    assert_eq!(service.max.0, 4 * hour);
    assert_eq!(service.mean_ns, 2.0 * hour as f64);
}

/// One worker, 1 operation per ms, each 0.5 ms; the store is suspended for the second from 1 s on.
fn stalled() -> Vec<Record> {
    let mut free_ns: u64 = 0;
    let operation = |index: u64| {
        let intended = index * 1_000_000;
        let started = intended.max(free_ns);
        let is_frozen = (1_000_000_000..2_000_000_000).contains(&started);
        let ended = if is_frozen { 2_000_000_000 } else { started } + 500_000;
        free_ns = ended;
        done(index, Kind::Read, Nanos(intended), Nanos(started), Nanos(ended))
    };
    (0..5000).map(operation).collect()
}

#[test]
fn a_stall_is_a_saw_tooth_in_response_and_one_value_in_service() {
    let summary = send(options(0, 5000), &stalled());
    let hits = &summary.overall.hits;
    let above = |histogram: &crate::Histogram, ns| histogram.count_between(ns, u64::MAX);
    // Service: a single operation was at the frozen store.
    assert_eq!(above(&hits.service.histogram, 1_000_000), 1);
    assert_eq!(hits.service.max, Nanos(1_000_500_000));
    // Response: the k-th after the freeze ends 2000.5 + k/2 ms, so it waits 1000.5 − k/2 ms: the
    // backlog is gone a second after the thaw.
    assert_eq!(hits.response.max, Nanos(1_000_500_000));
    assert_eq!(above(&hits.response.histogram, 1_000_000), 2000);
    let p75 = hits.response.percentiles[1].value;
    let expected = Nanos::from_millis(375);
    assert!(p75.0.abs_diff(expected.0) < 2_000_000, "{p75}: a quarter waits longer than 375 ms");
    assert_eq!(hits.lag.max, Nanos(999_500_000));
}

fn figures(summary: &Summary) -> String {
    format!("{summary:?}")
}

#[test]
fn merged_analyzers_say_what_a_single_one_says() {
    let records = stalled();
    let single = send(options(0, 5000), &records);
    let workers = records.iter().copied().enumerate();
    let (even, odd): (Vec<_>, Vec<_>) = workers.partition(|(place, _)| place % 2 == 0);
    let analyzer_of = |worker: Vec<(usize, Record)>| {
        let mut analyze = Analyzer::new(options(0, 5000));
        worker.iter().for_each(|(_, record)| analyze.push(&[*record]));
        analyze
    };
    let mut first = analyzer_of(even.clone());
    first.merge(analyzer_of(odd.clone()));
    assert_eq!(figures(&first.finish()), figures(&single));
    let mut late = analyzer_of(odd[..10].to_vec());
    late.merge(analyzer_of(even));
    late.merge(analyzer_of(odd[10..].to_vec()));
    assert_eq!(figures(&late.finish()), figures(&single));
}

#[test]
fn workers_pushed_one_after_another_are_the_same_as_interleaved_ones() {
    let records = stalled();
    let (even, odd): (Vec<_>, Vec<_>) = records.iter().partition(|record| record.index % 2 == 0);
    let mut analyze = Analyzer::new(options(0, 5000));
    analyze.push(&odd);
    analyze.push(&even);
    assert_eq!(figures(&analyze.finish()), figures(&send(options(0, 5000), &records)));
}

#[test]
#[should_panic(expected = "the same options")]
fn analyzers_with_different_options_do_not_merge() {
    Analyzer::new(options(0, 1)).merge(Analyzer::new(options(0, 2)));
}
