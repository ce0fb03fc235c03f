//! The lines of a known run beside those that YCSB 0.17.0 prints for such a run.

use expect_test::{ExpectFile, expect_file};

use super::*;
use crate::sample;
use crate::ycsb::{Exporter, print};

fn check(options: &Options, expected: &ExpectFile) {
    expected.assert_eq(&print(&lines(&sample::summary(), options), Exporter::Text));
}

#[test]
fn the_text_block_is_ycsbs() {
    let options = Options {
        cleanup: vec![Nanos::from_micros(1), Nanos::from_micros(3)],
        ..Options::default()
    };
    check(&options, &expect_file!["../../../snapshots/ycsb.txt"]);
}

/// Each line without its value, as YCSB 0.17.0 printed it for a store that fails like the sample's
/// (`measurement.interval=both`, `dataintegrity=true`), its collectors' own lines left out.
#[test]
fn the_lines_are_those_of_a_real_run_in_the_same_order() {
    let options = Options {
        interval: Interval::Both,
        cleanup: vec![Nanos::from_micros(1)],
        ..Options::default()
    };
    let names: String = lines(&sample::summary(), &options)
        .iter()
        .map(|line| format!("{}: {}\n", line.metric, line.measurement))
        .collect();
    assert_eq!(names, include_str!("../../../snapshots/ycsb-0.17.0-lines.txt"));
}

#[test]
fn intended_alone_keeps_the_plain_names_and_has_response_times() {
    let options = Options { interval: Interval::Intended, ..Options::default() };
    let lines = lines(&sample::summary(), &options);
    let value = |metric: &str, measurement: &str| {
        lines
            .iter()
            .find(|line| line.metric == metric && line.measurement == measurement)
            .map(|line| line.value)
    };
    assert_eq!(value("READ", "MinLatency(us)"), Some(Value::Whole(109)));
    assert_eq!(value("VERIFY", "Operations"), Some(Value::Whole(0)));
    assert_eq!(value("VERIFY", "MinLatency(us)"), Some(Value::Whole(i64::MAX as u64)));
    assert_eq!(value("VERIFY", "Return=OK"), Some(Value::Whole(541)));
    assert_eq!(value("Intended-READ", "Operations"), None);
}

#[test]
fn a_read_modify_write_counts_once_and_a_drop_not_at_all() {
    // 600 offered, 10 of the reads and 10 of the updates are halves of a pair, 1 is dropped.
    assert_eq!(operations(&sample::summary()), 600 - 10 - 1);
}

#[test]
fn a_scan_that_finds_nothing_is_a_success_as_in_ycsb() {
    let mut summary = sample::summary();
    let (_, group) = summary.kinds.remove(0);
    summary.kinds = vec![(Kind::Scan, group)];
    let lines = lines(&summary, &Options::default());
    let found: Vec<String> = lines
        .iter()
        .filter(|line| line.metric.starts_with("SCAN"))
        .filter(|line| line.measurement.contains("Op") || line.measurement.contains("Return"))
        .map(|line| format!("{} {} {:?}", line.metric, line.measurement, line.value))
        .collect();
    assert_eq!(
        found,
        [
            "SCAN-FAILED Operations Whole(6)",
            "SCAN Operations Whole(553)",
            "SCAN Return=OK Whole(553)",
            "SCAN Return=SERVICE_UNAVAILABLE Whole(6)",
        ]
    );
}

#[test]
fn microseconds_are_cut_off_not_rounded() {
    let mut nanoseconds = empty();
    for value in [0, 999, 1_000, 1_999] {
        nanoseconds.record(value).expect("small values fit");
    }
    let micros = microseconds(&nanoseconds);
    assert_eq!((micros.count_at(0), micros.count_at(1)), (2, 2));
}
