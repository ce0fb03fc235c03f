//! Tests of the counts of arrivals by outcome.

use assay_model::{Kind, Outcome, Phase, Reason};

use super::{history, options, send};
use crate::{AnalysisOptions, Phases, Summary, analyze};

#[test]
fn every_arrival_is_in_exactly_one_outcome() {
    let records = history(
        "read 0 0..3 done hit · read 1 1..2 done miss · update 1 2..9 unknown timeout
         · update 2 3..4 refused full · insert 3 4..4 dropped in-flight-limit
         · read 4 5..9 unknown timeout · update 5 6..8 done",
    );
    let summary = send(options(0, 10), &records);
    let counts = &summary.overall.counts;
    assert!(summary.is_balanced);
    assert_eq!((counts.offered, counts.done, counts.refused), (7, 3, 1));
    assert_eq!((counts.unknown, counts.dropped), (2, 1));
    assert_eq!((counts.hits, counts.misses, counts.good), (2, 1, 2));
    assert_eq!(
        counts.reasons,
        [
            (Outcome::Refused, Reason::Full, 1),
            (Outcome::Unknown, Reason::Timeout, 2),
            (Outcome::Dropped, Reason::InFlightLimit, 1),
        ]
    );
    let kinds: Vec<_> = summary.kinds.iter().map(|(kind, of)| (*kind, of.counts.offered)).collect();
    assert_eq!(kinds, [(Kind::Read, 3), (Kind::Update, 3), (Kind::Insert, 1)]);
}

#[test]
fn arrivals_that_the_history_lacks_are_out_of_balance() {
    let records = history("read 0 0..3 done hit");
    let expected = |n| send(AnalysisOptions { expected: Some(n), ..options(0, 10) }, &records);
    assert!(expected(1).is_balanced);
    assert!(!expected(2).is_balanced);
}

#[test]
fn a_fast_miss_or_failure_does_not_look_like_a_fast_success() {
    let records = history(
        "read 0 0..5 done hit · read 1 0..0.001 done miss · read 2 0..0.002 refused busy
         · read 3 0..0 dropped run-ended",
    );
    let all = send(options(0, 10), &records).overall;
    assert_eq!((all.hits.response.count, all.hits.response.min.0), (1, 5_000_000));
    assert_eq!((all.misses.response.count, all.misses.response.max.0), (1, 1_000));
    assert_eq!((all.failed.response.count, all.failed.response.max.0), (1, 2_000));
}

#[test]
fn a_write_without_a_record_is_a_miss_but_no_error() {
    let counts = send(options(0, 10), &history("delete 0 0..1 done miss")).overall.counts;
    assert_eq!((counts.done, counts.hits, counts.misses, counts.good), (1, 0, 1, 1));
}

#[test]
fn warm_up_is_counted_and_left_out() {
    let records = history(
        "read 9 0..1 done hit load · read 0 0..1 done hit warm-up · read 0 2..3 done hit
         · read 0 3..4 done hit",
    );
    let summary = send(options(2, 10), &records);
    assert_eq!(summary.overall.counts.offered, 2);
    assert_eq!(summary.excluded, [(Phase::Load, 1), (Phase::WarmUp, 1)]);
    assert_eq!(analyze(&records).overall.counts.offered, 2);
}

#[test]
fn final_reads_enter_no_figure_at_all() {
    let run = "read 0 0..1 done hit warm-up · read 0 2..3 done hit · read 0 3..4 done hit";
    let last = "read 0 9..10 done hit final-read · read 0 9..14 unknown timeout final-read";
    let (run, both) = (history(run), history(&format!("{run} · {last}")));
    for phases in [Phases::Measure, Phases::All] {
        // A window that reaches beyond the run would count what lies beside the measured part.
        let options = AnalysisOptions { phases, ..options(2, 20) };
        let summary = send(options.clone(), &both);
        assert_eq!(summary.excluded.last(), Some(&(Phase::Final, 2)));
        let mut excluded = summary.excluded.clone();
        excluded.pop();
        let without = send(options, &run);
        assert_eq!(format!("{:?}", Summary { excluded, ..summary }), format!("{without:?}"));
    }
}

#[test]
fn bytes_rows_versions_and_value_checks_are_added_up() {
    let records = history(
        "read 0 0..1 done hit 100B right · read 0 1..2 done hit 100B wrong unversioned
         · read 0 2..3 done miss empty · update 0 3..4 done 30B · update 0 4..5 refused full 30B",
    );
    let summary = send(options(0, 10), &records);
    let counts = &summary.overall.counts;
    assert_eq!((counts.bytes_in, counts.bytes_out, counts.rows), (200, 30, 2));
    assert_eq!(counts.found_without_version, 1);
    let values = &summary.values;
    assert_eq!((values.right, values.wrong, values.empty), (1, 1, 1));
    assert_eq!((values.time.count, values.time.mean_ns), (3, 1000.0));
}

#[test]
fn rates_count_what_happened_within_the_window() {
    // 10 ms; the warm-up's answer falls into it, the last answer does not.
    let records = history(
        "read 0 8..11 done hit warm-up · read 1 10..12 done hit · read 2 12..15 done miss
         · update 3 13..14 done · read 4 16/18..25 done hit
         · read 5 17..17 dropped in-flight-limit",
    );
    let rates = send(options(10, 20), &records).overall.rates;
    assert_eq!(rates.offered_per_s, 500.0);
    assert_eq!(rates.attempted_per_s, 400.0);
    assert_eq!(rates.done_per_s, 400.0);
    assert_eq!(rates.goodput_per_s, 300.0);
    assert_eq!(rates.reached, 0.8);
}

#[test]
fn an_empty_history_has_an_empty_summary_without_nan() {
    let summary = analyze(&[]);
    assert!(summary.is_balanced && summary.kinds.is_empty());
    assert_eq!((summary.duration.0, summary.overall.rates.done_per_s), (0, 0.0));
    assert_eq!(summary.overall.hits.response.mean_ns, 0.0);
    assert!(summary.overall.hits.response.percentiles.is_empty());
    assert_eq!(summary.availability.success_ratio, 1.0);
    assert!(summary.series.intervals.is_empty());
}

#[test]
fn times_that_run_backwards_are_reported() {
    let summary = send(options(0, 10), &history("read 0 5/3..4 done hit · read 0 1..2 done hit"));
    assert_eq!(summary.backward_times, 1);
    assert!(summary.is_balanced);
    assert_eq!(summary.overall.hits.lag.max.0, 0);
}
