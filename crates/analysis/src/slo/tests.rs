//! Objectives held against histories that were made for them.

use assay_model::Record;

use super::*;
use crate::tests::{done, history, options, send};

/// A term about reads in milliseconds.
fn latency(quantile: f64, comparison: Comparison, limit_ms: u64) -> ObjectiveTerm {
    let limit = Nanos::from_millis(limit_ms);
    let measure = Measure::Latency { stretch: Stretch::Response, quantile, limit };
    ObjectiveTerm { scope: Scope::Kind(Kind::Read), measure, comparison }
}

fn errors_below(limit: f64) -> ObjectiveTerm {
    let measure = Measure::Errors { limit };
    ObjectiveTerm { scope: Scope::All, measure, comparison: Comparison::Below }
}

/// One read each millisecond; its response time by its number.
fn reads(count: u64, response_ms: impl Fn(u64) -> u64) -> Vec<Record> {
    let read = |index| {
        let at = Nanos::from_millis(index);
        done(index, Kind::Read, at, at, at + Nanos::from_millis(response_ms(index)))
    };
    (0..count).map(read).collect()
}

fn analyzed(term: ObjectiveTerm, records: &[Record]) -> TermFinding {
    let until = records.iter().map(|record| record.intended.0 / 1_000_000 + 1).max().unwrap_or(1);
    let summary = send(options(0, until), records);
    let found = Objective { terms: vec![term] }.analyze(&summary);
    assert_eq!(found.verdict, found.terms[0].verdict);
    found.terms[0]
}

#[test]
fn enough_quick_reads_hold_a_percentile() {
    let below_10 = latency(0.99, Comparison::Below, 10);
    let found = analyzed(below_10, &reads(299, |_| 5));
    assert_eq!((found.count, found.over, found.verdict), (299, 0, Verdict::Held));
    assert_eq!(found.value, Value::Latency(Nanos::from_millis(5)));
    let found = analyzed(below_10, &reads(298, |_| 5));
    assert_eq!((found.needed, found.verdict), (299, Verdict::Unknown));
    assert_eq!(analyzed(below_10, &reads(2_000, |n| 5 + n % 50 / 10)).verdict, Verdict::Held);
    let every_20th = |n| if n % 20 == 0 { 15 } else { 5 };
    let found = analyzed(below_10, &reads(2_000, every_20th));
    assert_eq!((found.over, found.verdict), (100, Verdict::Violated));
}

#[test]
fn a_burst_of_slow_reads_tells_as_little_as_one() {
    // 2 % are slow in both; in one burst they are one event, which decides nothing.
    let found =
        analyzed(latency(0.99, Comparison::Below, 10), &reads(3_000, |n| 5 + n % 50 / 49 * 9));
    assert_eq!((found.over, found.verdict), (60, Verdict::Violated));
    let burst = |n| if (1_000..1_060).contains(&n) { 14 } else { 5 };
    let found = analyzed(latency(0.99, Comparison::Below, 10), &reads(3_000, burst));
    assert!(found.dependence > 20.0, "{found:?}");
    assert_eq!((found.over, found.verdict), (60, Verdict::Unknown));
}

#[test]
fn the_limit_itself_is_over_only_where_it_is_not_allowed() {
    // A limit that is the lowest value of its bucket, so that the histogram tells it from below.
    let reads = reads(300, |_| 1);
    let exactly = Nanos(1 << 20);
    let mut records = reads;
    records.iter_mut().for_each(|record| record.ended = record.intended + exactly);
    let term = |comparison| {
        let measure =
            Measure::Latency { stretch: Stretch::Response, quantile: 0.99, limit: exactly };
        ObjectiveTerm { scope: Scope::All, measure, comparison }
    };
    assert_eq!(analyzed(term(Comparison::Below), &records).over, 300);
    assert_eq!(analyzed(term(Comparison::AtMost), &records).over, 0);
}

#[test]
fn operations_without_a_response_exceed_every_limit() {
    let mut records = reads(1_000, |_| 1);
    for record in records.iter_mut().filter(|record| record.index % 10 == 0) {
        (record.outcome, record.found) = (assay_model::Outcome::Refused, false);
        record.reason = assay_model::Reason::StoreError;
    }
    let found = analyzed(latency(0.99, Comparison::Below, 10), &records);
    assert_eq!((found.count, found.over), (1_000, 100));
    assert_eq!((found.value, found.verdict), (Value::Endless, Verdict::Violated));
    let found = analyzed(latency(0.8, Comparison::Below, 10), &records);
    assert_eq!(found.value, Value::Latency(Nanos::from_millis(1)));
    assert_eq!(found.verdict, Verdict::Held);
    let found = analyzed(errors_below(0.05), &records);
    assert_eq!((found.value, found.verdict), (Value::Share(0.1), Verdict::Violated));
    assert_eq!(analyzed(errors_below(0.5), &records).verdict, Verdict::Held);
}

#[test]
fn a_miss_is_no_fast_success() {
    let mut records = reads(600, |_| 50);
    for record in records.iter_mut().filter(|record| record.index % 2 == 0) {
        record.found = false;
        record.ended = record.started;
    }
    let found = analyzed(latency(0.5, Comparison::Below, 10), &records);
    assert_eq!((found.count, found.over, found.verdict), (300, 300, Verdict::Violated));
    let misses = |limit| ObjectiveTerm {
        scope: Scope::Kind(Kind::Read),
        measure: Measure::Misses { limit },
        comparison: Comparison::AtMost,
    };
    assert_eq!(analyzed(misses(0.6), &records).verdict, Verdict::Held);
    assert_eq!(analyzed(misses(0.4), &records).verdict, Verdict::Violated);
}

#[test]
fn no_failure_at_all_is_broken_by_the_first() {
    let none = ObjectiveTerm { comparison: Comparison::AtMost, ..errors_below(0.0) };
    assert_eq!(analyzed(none, &history("read 1 0..1 done hit")).verdict, Verdict::Held);
    let failed = history("read 1 0..1 done hit · read 1 1..2 unknown timeout");
    assert_eq!(analyzed(none, &failed).verdict, Verdict::Violated);
}

#[test]
fn other_stretches_are_other_latencies() {
    let records = reads(1_000, |_| 4);
    let late =
        |record: &Record| Record { started: record.intended + Nanos::from_millis(3), ..*record };
    let records: Vec<Record> = records.iter().map(late).collect();
    let value = |stretch| {
        let measure = Measure::Latency { stretch, quantile: 0.5, limit: Nanos::from_millis(10) };
        let term = ObjectiveTerm { scope: Scope::All, measure, comparison: Comparison::Below };
        match analyzed(term, &records).value {
            Value::Latency(latency) => (latency.0 as f64 / 1e6).round() as u64,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(Stretch::ALL.map(value), [4, 1, 3]);
}

#[test]
fn an_objective_for_a_kind_without_operations_is_not_decided() {
    let term =
        ObjectiveTerm { scope: Scope::Kind(Kind::Scan), ..latency(0.99, Comparison::Below, 10) };
    let found = analyzed(term, &reads(1_000, |_| 1));
    assert_eq!((found.value, found.verdict), (Value::Nothing, Verdict::Unknown));
}

#[test]
fn one_violated_term_breaks_the_objective_and_one_unknown_leaves_it_open() {
    let records = reads(400, |_| 5);
    let summary = send(options(0, 400), &records);
    let verdict =
        |terms: &[ObjectiveTerm]| Objective { terms: terms.to_vec() }.analyze(&summary).verdict;
    let held = latency(0.99, Comparison::Below, 10);
    let violated = latency(0.99, Comparison::Below, 2);
    let unknown = latency(0.999, Comparison::Below, 10);
    assert_eq!(verdict(&[held]), Verdict::Held);
    assert_eq!(verdict(&[held, unknown]), Verdict::Unknown);
    assert_eq!(verdict(&[held, unknown, violated]), Verdict::Violated);
    assert_eq!(verdict(&[]), Verdict::Unknown);
}
