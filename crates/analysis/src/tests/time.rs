//! The series, concurrency, outages.

use assay_model::{Kind, Nanos, Outcome, Reason, Record};

use super::{done, history, options, send};
use crate::{AnalysisOptions, LoadModel, Verdict};

#[test]
fn offered_is_kept_by_intention_and_done_by_end() {
    let records = history(
        "read 0 1..5 done hit · update 1 3..12 done · read 2 13..14 done miss
         · read 3 15..38 unknown timeout · read 4 16..17 refused busy
         · read 5 25..25 dropped in-flight-limit",
    );
    let series = send(options(0, 40), &records).series;
    let rows: Vec<_> = series
        .intervals
        .iter()
        .map(|i| [i.offered, i.done, i.misses, i.refused, i.unknown, i.dropped])
        .collect();
    assert_eq!(
        rows,
        [[2, 1, 0, 0, 0, 0], [3, 2, 1, 1, 0, 0], [1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 0]]
    );
    assert_eq!(series.intervals[1].done_by_kind, [1, 1, 0, 0, 0, 0, 0]);
    assert_eq!(series.intervals[3].from, Nanos::from_millis(30));
    // Service within 0..10 ms: 4 + 7 of 10 ms; the timed-out one fills 20..30 whole.
    assert_eq!(series.intervals[0].in_flight, 1.1);
    assert_eq!(series.intervals[2].in_flight, 1.0);
}

#[test]
fn quick_percentiles_are_at_most_one_rough_bucket_too_high() {
    let records: Vec<Record> = (0..1000)
        .map(|i| done(i, Kind::Read, Nanos(0), Nanos(0), Nanos(i * 1000 + 1000)))
        .collect();
    let quick = send(options(0, 10), &records).series.intervals[0].response;
    let near = |found: Nanos, expected: f64| (1.0..1.032).contains(&(found.0 as f64 / expected));
    assert_eq!(quick.count, 1000);
    assert!(near(quick.p50, 500_000.0) && near(quick.p90, 900_000.0), "{quick:?}");
    assert!(near(quick.p99, 990_000.0) && near(quick.max, 1_000_000.0), "{quick:?}");
}

/// One read per `step` that takes `service`.
fn steady(count: u64, step: Nanos, service: Nanos) -> Vec<Record> {
    let read = |i| {
        let at = Nanos(i * step.0);
        done(i, Kind::Read, at, at, at + service)
    };
    (0..count).map(read).collect()
}

#[test]
fn a_long_run_keeps_its_series_short_and_complete() {
    let records = steady(100_000, Nanos::from_millis(1), Nanos::from_micros(900));
    let summary = send(options(0, 100_000), &records);
    let series = &summary.series;
    // 10,000 intervals of 10 ms are needed, so they doubled four times.
    assert_eq!(series.width, Nanos::from_millis(160));
    assert_eq!(series.intervals.len(), 625);
    assert!(series.intervals.iter().all(|interval| interval.offered == 160));
    assert!(series.intervals.iter().all(|i| (i.in_flight - 0.9).abs() < 1e-9));
    let cells: u64 = series.service.columns.iter().flatten().sum();
    assert_eq!(cells, 100_000);
    assert!(series.service.columns.len() <= 150);
    assert!(summary.is_balanced);
}

#[test]
fn the_heat_map_puts_each_latency_between_the_edges_of_its_row() {
    let records =
        history("read 0 0..0.001 · read 0 0..0.1 · read 0 12..13 · read 0 12..19 · read 0 20..29");
    let map = send(options(0, 30), &records).series.response;
    assert_eq!((map.columns.len(), map.column_width), (3, Nanos::from_millis(10)));
    assert!(map.edges.len() <= 61 && map.edges.is_sorted());
    let row = |ns: u64| map.edges.partition_point(|edge| edge.0 <= ns) - 1;
    for (column, latency) in [(0, 1_000), (0, 100_000), (1, 1_000_000), (1, 7_000_000)] {
        assert_eq!(map.columns[column][row(latency)], 1, "{latency} ns");
    }
    assert_eq!(map.columns[2][row(9_000_000)], 1);
    assert_eq!(map.peak, 1);
}

#[test]
fn the_series_goes_on_to_the_end_of_the_window() {
    let series = send(options(0, 50), &history("read 0 0..1")).series;
    let offered: Vec<_> = series.intervals.iter().map(|interval| interval.offered).collect();
    assert_eq!(offered, [1, 0, 0, 0, 0]);
}

#[test]
fn a_history_of_misses_has_its_own_heat_map() {
    let series = send(options(0, 10), &history("read 0 0..1 done miss")).series;
    assert!(series.response.columns.is_empty());
    assert_eq!(series.misses.peak, 1);
    assert_eq!(series.intervals[0].miss_response.count, 1);
}

fn closed(sessions: u64) -> AnalysisOptions {
    let load = LoadModel::Closed { sessions, target: None };
    AnalysisOptions { load, ..options(0, 1000) }
}

#[test]
fn one_session_that_is_always_busy_keeps_littles_law() {
    let records = steady(1000, Nanos::from_millis(1), Nanos::from_millis(1));
    let in_flight = send(closed(1), &records).in_flight;
    assert!((in_flight.mean_integrated - 1.0).abs() < 1e-9);
    assert!((in_flight.by_service.little_l - 0.999).abs() < 1e-9);
    assert_eq!(in_flight.by_service.verdict, Verdict::Held);
    assert!(in_flight.agrees);
}

#[test]
fn one_session_cannot_have_had_two_requests_at_once() {
    let records = steady(1000, Nanos::from_millis(1), Nanos::from_millis(2));
    let in_flight = send(closed(1), &records).in_flight;
    assert_eq!(in_flight.by_service.verdict, Verdict::Violated);
    assert_eq!(send(closed(2), &records).in_flight.by_service.verdict, Verdict::Held);
}

#[test]
fn a_long_operation_that_ends_in_a_short_window_is_not_impossible() {
    let records = history("read 0 0..1001 done hit warm-up · read 0 1001..1009 done hit");
    let load = LoadModel::Closed { sessions: 1, target: None };
    let in_flight = send(AnalysisOptions { load, ..options(1000, 1010) }, &records).in_flight;
    assert!(in_flight.by_service.little_l > 100.0);
    assert_eq!(in_flight.by_service.verdict, Verdict::Held);
    assert!(!in_flight.agrees);
}

/// One read per ms for 20 s; those intended within `down` (in ms) fail.
fn broken(down: std::ops::Range<u64>) -> Vec<Record> {
    let mut records = steady(20_000, Nanos::from_millis(1), Nanos::from_micros(100));
    for record in &mut records[down.start as usize..down.end as usize] {
        (record.outcome, record.reason, record.found) =
            (Outcome::Refused, Reason::Unreachable, false);
    }
    records
}

#[test]
fn an_outage_lasts_from_success_to_success() {
    let wide = AnalysisOptions { interval: Nanos::from_secs(1), ..options(0, 20_000) };
    let availability = send(wide, &broken(5_000..7_500)).availability;
    let [outage] = availability.outages.as_slice() else { panic!("{availability:?}") };
    assert_eq!((outage.from, outage.until), (Nanos::from_millis(4_999), Nanos::from_millis(7_500)));
    assert_eq!((outage.failures, outage.is_cut_off), (2_500, false));
    // Whole intervals of a second are back from 8 s on.
    assert_eq!(outage.recovered_after, Some(Nanos::from_millis(500)));
    assert_eq!(availability.success_ratio, 0.875);
    assert_eq!(availability.by_kind, [(Kind::Read, 0.875)]);
    assert_eq!(availability.down, Nanos::from_millis(2_501));
    assert_eq!(availability.mean_outage, Some(Nanos::from_millis(2_501)));
    assert_eq!(availability.baseline_per_s, 1000.0);
    assert!((availability.up_share - (1.0 - 2.501 / 20.0)).abs() < 1e-12);
}

#[test]
fn an_outage_at_the_end_is_cut_off_and_never_recovers() {
    let availability = send(options(0, 20_000), &broken(18_000..20_000)).availability;
    let outage = availability.longest.expect("an outage");
    assert_eq!(outage.until, Nanos::from_millis(20_000));
    assert!(outage.is_cut_off);
    assert_eq!(outage.recovered_after, None);
}

#[test]
fn a_gap_that_chance_could_make_is_no_outage() {
    assert!(send(options(0, 20_000), &broken(5_000..5_090)).availability.outages.is_empty());
    // 2 operations per second: 13.8 of them must be missing.
    let mut sparse = steady(40, Nanos::from_millis(500), Nanos::from_millis(1));
    sparse[20].outcome = Outcome::Unknown;
    assert!(send(options(0, 20_000), &sparse).availability.outages.is_empty());
}

#[test]
fn a_pause_in_which_nothing_failed_is_no_outage() {
    let mut records = broken(0..0);
    records.drain(5_000..8_000);
    assert!(send(options(0, 20_000), &records).availability.outages.is_empty());
}

#[test]
fn dropped_operations_are_ours_and_not_the_stores() {
    let mut records = broken(5_000..7_500);
    records.iter_mut().filter(|r| r.outcome == Outcome::Refused).for_each(|record| {
        (record.outcome, record.reason) = (Outcome::Dropped, Reason::InFlightLimit);
    });
    let availability = send(options(0, 20_000), &records).availability;
    assert_eq!(availability.success_ratio, 1.0);
    assert!(availability.outages.is_empty());
}
