//! Records as YCSB's metrics.

use assay_model::{Ends, Phase};

use super::*;

/// A read that ended at `ended` µs after `service` µs and `lag` µs.
fn record(ended: u64, service: u64, lag: u64) -> Record {
    Record {
        intended: Nanos::from_micros(ended - service - lag),
        started: Nanos::from_micros(ended - service),
        ended: Nanos::from_micros(ended),
        phase: Phase::Measure,
        found: true,
        ..Record::BLANK
    }
}

fn measured(options: Options, records: &[Record]) -> Measures {
    let mut measurements = Measurements::new(options);
    measurements.push(records);
    measurements.finish()
}

fn metrics(measures: &Measures) -> Vec<Metric> {
    measures.metrics.iter().map(|one| one.metric).collect()
}

#[test]
fn a_missing_record_is_what_the_binding_says() {
    let missing = Record { found: false, ..record(100, 10, 0) };
    for (status, metric) in [
        (Status::Ok, Metric::Success(Kind::Read)),
        (Status::NotFound, Metric::Failure(Kind::Read, None)),
        (Status::Error, Metric::Failure(Kind::Read, None)),
    ] {
        let options = Options {
            statuses: Statuses { missing_read: status, ..Statuses::default() },
            ..Options::default()
        };
        let measures = measured(options, &[missing]);
        let of_success = measures.metrics.iter().find(|one| !one.returns.is_empty()).unwrap();
        assert_eq!(of_success.returns, [(status, 1)]);
        assert_eq!(of_success.metric, Metric::Success(Kind::Read));
        let of_time = measures.metrics.iter().find(|one| one.op.count() > 0).unwrap();
        assert_eq!(of_time.metric, metric);
    }
}

#[test]
fn a_binding_may_have_one_status_for_whatever_fails() {
    let lost = Record {
        outcome: Outcome::Unknown,
        reason: Reason::ConnectionLost,
        found: false,
        ..record(100, 10, 0)
    };
    for (failure, status) in
        [(None, Status::ServiceUnavailable), (Some(Status::Error), Status::Error)]
    {
        let statuses = Statuses { failure, ..Statuses::default() };
        let measures = measured(Options { statuses, ..Options::default() }, &[lost]);
        assert_eq!(measures.metrics[0].returns, [(status, 1)]);
    }
}

#[test]
fn failures_are_together_or_by_their_status() {
    let busy = Record {
        outcome: Outcome::Refused,
        reason: Reason::Busy,
        found: false,
        ..record(100, 10, 0)
    };
    let missing = Record { found: false, ..record(200, 10, 0) };
    let failed = |failures| {
        let measures = measured(Options { failures, ..Options::default() }, &[busy, missing]);
        metrics(&measures)[1..].to_vec()
    };
    let of = |status| Metric::Failure(Kind::Read, status);
    assert_eq!(failed(Failures::Together), [of(None)]);
    let apart = [of(Some(Status::ServiceUnavailable)), of(Some(Status::NotFound))];
    assert_eq!(failed(Failures::ByStatus), apart);
    let tracked = Failures::Tracked(vec![Status::NotFound]);
    assert_eq!(failed(tracked), [of(None), of(Some(Status::NotFound))]);
}

#[test]
fn service_is_op_latency_and_response_is_intended() {
    let measures = measured(Options::default(), &[record(1_000, 30, 5)]);
    let read = &measures.metrics[0];
    assert_eq!((read.op.min, read.intended.as_ref().unwrap().min), (30, 35));
    assert_eq!((measures.operations, measures.span), (1, Nanos::from_micros(35)));
}

#[test]
fn microseconds_are_cut_off_not_rounded() {
    let almost = Record { started: Nanos(0), ended: Nanos(1_999), ..record(10, 1, 0) };
    assert_eq!(measured(Options::default(), &[almost]).metrics[0].op.max, 1);
}

#[test]
fn a_read_modify_write_counts_once_and_a_drop_not_at_all() {
    let half = |kind, ends_transaction| Record {
        kind,
        process: 1,
        transaction_type: 1,
        ends: Ends::of(ends_transaction, true),
        ..record(100, 10, 0)
    };
    let drop = Record { outcome: Outcome::Dropped, ..record(100, 10, 0) };
    let pair = [half(Kind::Read, false), half(Kind::Update, true)];
    let measures = measured(Options::default(), &[pair[0], pair[1], drop, record(50, 1, 0)]);
    assert_eq!(measures.operations, 2);
    let whole = Metric::Transaction(1);
    let expected = [Metric::Success(Kind::Read), Metric::Success(Kind::Update), whole];
    assert_eq!(metrics(&measures), expected);
}

#[test]
fn a_scan_is_measured_per_record_where_that_is_wanted() {
    let scan = |rows| Record { kind: Kind::Scan, rows, found: rows > 0, ..record(500, 100, 0) };
    let scans = [scan(7), scan(0)];
    let options = Options { scans_per_record: true, ..Options::default() };
    let measures = measured(options, &scans);
    assert_eq!(metrics(&measures), [Metric::Success(Kind::Scan), Metric::ScanPerRecord]);
    // The real one divides by zero if no record was found.
    assert_eq!((measures.metrics[1].op.count(), measures.metrics[1].op.max), (1, 14));
    assert_eq!(measured(Options::default(), &scans).metrics.len(), 1);
}

#[test]
fn stretches_of_a_series_begin_with_the_first_end_and_those_without_one_are_left_out() {
    let records = [record(1_500, 10, 0), record(2_400, 30, 0), record(5_600, 7, 0)];
    let options = Options { keeps_series: true, ..Options::default() };
    let measures = measured(options, &records);
    assert_eq!(measures.metrics[0].op.means(2), [(0, 20.0), (4, 7.0)]);
}

#[test]
fn buckets_are_of_a_millisecond_and_the_rest_lies_beyond() {
    let records = [record(9_000, 999, 0), record(9_000, 1_000, 0), record(9_000, 2_000, 0)];
    let options = Options { buckets: 2, ..Options::default() };
    let op = &measured(options, &records).metrics[0].op;
    assert_eq!((op.buckets.as_slice(), op.beyond), ([1, 1].as_slice(), 1));
}

#[test]
fn samples_come_in_the_order_of_their_ends() {
    let records = [record(90, 1, 0), record(50, 2, 0)];
    let options = Options { keeps_samples: true, ..Options::default() };
    let samples = &measured(options, &records).metrics[0].op.samples;
    assert_eq!(*samples, [(Nanos::from_micros(50), 2), (Nanos::from_micros(90), 1)]);
}
