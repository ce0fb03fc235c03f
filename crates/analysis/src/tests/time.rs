//! The series, concurrency, outages.

use std::ops::Range;

use assay_model::{Kind, Nanos, Outcome, Reason, Record};

use super::{done, history, options, send};
use crate::summary::Availability;
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
    assert!(near(quick.p99, 990_000.0), "{quick:?}");
}

#[test]
fn the_largest_value_of_an_interval_is_exact() {
    let records = history(
        "read 0 0..1.234567 · read 0 1..3.3 · read 0 11..11.000777 · read 0 12..13 done miss",
    );
    let summary = send(options(0, 20), &records);
    let [first, second] = &summary.series.intervals[..] else { panic!("two intervals") };
    assert_eq!(first.response.max, Nanos(2_300_000));
    assert_eq!(second.response.max, Nanos(777));
    assert_eq!(second.service.p999, Nanos(777), "no percentile is above the maximum");
    assert_eq!((second.lag.max, second.miss_response.max), (Nanos(0), Nanos(1_000_000)));
    let largest = summary.series.intervals.iter().map(|interval| interval.response.max).max();
    assert_eq!(largest, Some(summary.overall.hits.response.max));
}

#[test]
fn a_stall_is_seen_while_it_lasts() {
    // One operation every 10 ms; from 20 ms on nothing is answered until 50 ms.
    let records = history(
        "read 0 1..2 · read 1 11..12 · read 2 21..51 · read 3 31..52 · read 4 41..53
         · read 5 61..62",
    );
    let series = send(options(0, 70), &records).series;
    let counts: Vec<u64> = series.intervals.iter().map(|i| i.response.count).collect();
    assert_eq!(counts, [1, 1, 1, 1, 1, 0, 1]);
    let slow = |place: usize| series.intervals[place].response.p50 > Nanos::from_millis(10);
    assert_eq!((0..7).filter(|place| slow(*place)).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(series.intervals[5].done, 3, "what is done is counted where it ends");
    let sent: Vec<u64> = series.intervals.iter().map(|i| i.service.count).collect();
    assert_eq!(sent, [1, 1, 1, 1, 1, 0, 1]);
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
fn broken(down: Range<u64>) -> Vec<Record> {
    broken_by(Outcome::Refused, Reason::Unreachable, down)
}

fn broken_by(outcome: Outcome, reason: Reason, down: Range<u64>) -> Vec<Record> {
    let mut records = steady(20_000, Nanos::from_millis(1), Nanos::from_micros(100));
    for record in &mut records[down.start as usize..down.end as usize] {
        (record.outcome, record.reason, record.found) = (outcome, reason, false);
    }
    records
}

/// What the 20 s of `records` say of the store's availability.
fn availability(records: &[Record]) -> Availability {
    send(options(0, 20_000), records).availability
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
    let availability = availability(&broken(18_000..20_000));
    let outage = availability.longest.expect("an outage");
    assert_eq!(outage.until, Nanos::from_millis(20_000));
    assert!(outage.is_cut_off);
    assert_eq!(outage.recovered_after, None);
}

#[test]
fn a_gap_that_chance_could_make_is_no_outage() {
    assert!(availability(&broken(5_000..5_090)).outages.is_empty());
    // 2 operations per second: 13.8 of them must be missing.
    let mut sparse = steady(40, Nanos::from_millis(500), Nanos::from_millis(1));
    sparse[20].outcome = Outcome::Unknown;
    assert!(availability(&sparse).outages.is_empty());
}

#[test]
fn a_pause_in_which_nothing_failed_is_no_outage() {
    let mut records = broken(0..0);
    records.drain(5_000..8_000);
    assert!(availability(&records).outages.is_empty());
}

#[test]
fn dropped_arrivals_are_unavailability() {
    let dropped = broken_by(Outcome::Dropped, Reason::InFlightLimit, 5_000..7_500);
    let availability = availability(&dropped);
    assert_eq!(availability.success_ratio, 0.875);
    assert_eq!(availability.outages.len(), 1);
}

#[test]
fn what_was_never_wanted_of_the_store_is_no_unavailability() {
    let given_up = broken_by(Outcome::Dropped, Reason::TransactionFailed, 5_000..7_500);
    let availability = availability(&given_up);
    assert_eq!((availability.success_ratio, availability.in_time_ratio), (1.0, 1.0));
    assert!(availability.outages.is_empty());
}

#[test]
fn refusals_about_the_request_are_answers() {
    for reason in [Reason::Exists, Reason::Malformed, Reason::Conflict] {
        let records = broken_by(Outcome::Refused, reason, 5_000..7_500);
        let summary = send(options(0, 20_000), &records);
        assert_eq!(summary.overall.counts.refused, 2_500);
        let availability = summary.availability;
        assert_eq!((availability.success_ratio, availability.in_time_ratio), (1.0, 1.0));
        assert!(availability.outages.is_empty() && availability.silences.is_empty());
    }
}

/// One read per ms for 20 s on a store that is stalled within `stop` (in ms) and then responds to
/// all that has come meanwhile.
fn frozen(stop: Range<u64>) -> Vec<Record> {
    let mut records = steady(20_000, Nanos::from_millis(1), Nanos::from_micros(100));
    for record in &mut records[stop.start as usize..stop.end as usize] {
        record.ended = Nanos::from_millis(stop.end) + Nanos(record.index);
    }
    records
}

#[test]
fn a_frozen_store_is_not_available() {
    let availability = availability(&frozen(7_000..12_000));
    assert_eq!(availability.success_ratio, 1.0, "all was answered, however late");
    // Operations of the last second before it went on have a response within a second.
    assert_eq!((availability.late, availability.in_time_ratio), (4_001, 0.79995));
    let [outage] = availability.outages[..] else { panic!("{availability:?}") };
    assert_eq!(outage.from, Nanos::from_millis(6_999));
    assert_eq!(outage.until, Nanos::from_millis(11_001));
    assert_eq!(outage.failures, 4_001);
    let [silence] = availability.silences[..] else { panic!("{availability:?}") };
    assert_eq!(availability.longest_silence, Some(silence));
    // From the intended time of the first waiting operation to the first response.
    assert_eq!(silence.from, Nanos::from_millis(7_000));
    assert_eq!(silence.until, Nanos::from_millis(12_000) + Nanos(7_000));
    assert!(!silence.is_cut_off);
}

#[test]
fn a_stop_below_a_second_is_a_silence_and_no_outage() {
    let availability = availability(&frozen(7_000..7_700));
    assert!(availability.outages.is_empty());
    assert_eq!(availability.silences.len(), 1);
    assert_eq!(availability.silences[0].length(), Nanos::from_millis(700) + Nanos(7_000));
}

#[test]
fn a_shorter_deadline_gives_more_outages() {
    let strict = AnalysisOptions { deadline: Nanos::from_millis(200), ..options(0, 20_000) };
    let availability = send(strict, &frozen(7_000..7_700)).availability;
    assert_eq!((availability.late, availability.outages.len()), (501, 1));
    assert_eq!(availability.deadline, Nanos::from_millis(200));
}

#[test]
fn a_silence_that_chance_could_make_is_none() {
    assert!(availability(&frozen(7_000..7_090)).silences.is_empty());
    // 20 answers a second: a gap must be longer than ln(4e8)/20 = 1 s.
    let sparse = |stop: u64| {
        let mut records = steady(400, Nanos::from_millis(50), Nanos::from_millis(1));
        records.retain(|record| record.index < 100 || record.index >= 100 + stop / 50);
        records[99].ended = Nanos::from_millis(4_950 + stop);
        availability(&records)
    };
    let short = sparse(900);
    assert!(short.silences.is_empty());
    assert_eq!(short.longest_silence.map(|one| one.length()), Some(Nanos::from_millis(900)));
    assert_eq!(sparse(2_000).silences.len(), 1);
}

#[test]
fn without_waiting_operations_there_is_no_silence() {
    let mut records = frozen(0..0);
    records.drain(5_000..8_000);
    let availability = availability(&records);
    assert!(availability.silences.is_empty(), "{availability:?}");
    assert!(availability.longest_silence.is_none_or(|one| one.length() < Nanos::from_millis(2)));
}

#[test]
fn a_store_that_never_comes_back_is_silent_to_the_end() {
    let mut records = frozen(18_000..20_000);
    for record in &mut records[18_000..] {
        record.ended = record.intended + Nanos::from_secs(10);
        (record.outcome, record.reason) = (Outcome::Unknown, Reason::Timeout);
    }
    let availability = availability(&records);
    // An operation that is given up after the window waited in it all the same.
    let silence = availability.longest_silence.expect("a silence");
    assert_eq!(silence.until, Nanos::from_millis(20_000));
    assert!(silence.is_cut_off);
    assert_eq!(silence.length(), Nanos::from_millis(2_000));
    assert_eq!(availability.silences, [silence]);
    assert_eq!(availability.outages.len(), 1);
}

#[test]
fn responses_to_warm_up_operations_end_a_silence() {
    // Operations of the warm-up complete one by one while later ones wait.
    let mut records = steady(10_000, Nanos::from_millis(1), Nanos::from_millis(3_000));
    for record in &mut records[..5_000] {
        record.phase = assay_model::Phase::WarmUp;
    }
    let availability = send(options(5_000, 10_000), &records).availability;
    assert!(availability.silences.is_empty(), "{availability:?}");
}

#[test]
fn silences_do_not_depend_on_the_order_of_workers() {
    let records = frozen(7_000..12_000);
    let mut analyzers = [0, 1].map(|worker| {
        let mut analyze = crate::Analyzer::new(options(0, 20_000));
        let mine = records.iter().filter(|record| record.process % 2 == worker);
        analyze.push(&mine.copied().collect::<Vec<_>>());
        analyze
    });
    let [first, second] = &mut analyzers;
    first.merge(second.clone());
    let [first, _] = analyzers;
    assert_eq!(first.finish().availability, availability(&records));
}
