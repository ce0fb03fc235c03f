//! The lines of a known run beside those that YCSB 0.17.0 prints for such a run.

use expect_test::{Expect, expect};

use super::*;
use crate::sample;
use crate::ycsb::{Exporter, print};

fn check(options: &Options, expected: &Expect) {
    expected.assert_eq(&print(&lines(&sample::summary(), options), Exporter::Text));
}

/// Metric and measurement of each line, without its value, one metric after another.
fn names(options: &Options) -> String {
    let mut names = String::new();
    let mut last = String::new();
    for line in lines(&sample::summary(), options) {
        if line.metric != last {
            names.push_str(&format!("\n{}:", line.metric));
            last.clone_from(&line.metric);
        }
        names.push_str(&format!(" {}", line.measurement));
    }
    names
}

#[test]
fn the_text_block_is_ycsbs() {
    let options = Options {
        cleanup: vec![Nanos::from_micros(1), Nanos::from_micros(3)],
        ..Options::default()
    };
    check(
        &options,
        &expect![[r#"
        [OVERALL], RunTime(ms), 3005
        [OVERALL], Throughput(ops/sec), 196.00665557404326
        [TOTAL_GCs], Count, 0
        [TOTAL_GC_TIME], Time(ms), 0
        [TOTAL_GC_TIME_%], Time(%), 0.0
        [READ], Operations, 541
        [READ], AverageLatency(us), 639.5582255083181
        [READ], MinLatency(us), 100
        [READ], MaxLatency(us), 1180
        [READ], 95thPercentileLatency(us), 1125
        [READ], 99thPercentileLatency(us), 1169
        [READ], Return=OK, 541
        [READ], Return=SERVICE_UNAVAILABLE, 6
        [READ], Return=NOT_FOUND, 12
        [UPDATE-FAILED], Operations, 1
        [UPDATE-FAILED], AverageLatency(us), 4998.0
        [UPDATE-FAILED], MinLatency(us), 4996
        [UPDATE-FAILED], MaxLatency(us), 4999
        [UPDATE-FAILED], 95thPercentileLatency(us), 4999
        [UPDATE-FAILED], 99thPercentileLatency(us), 4999
        [READ-MODIFY-WRITE], Operations, 10
        [READ-MODIFY-WRITE], AverageLatency(us), 189.70000000000002
        [READ-MODIFY-WRITE], MinLatency(us), 100
        [READ-MODIFY-WRITE], MaxLatency(us), 279
        [READ-MODIFY-WRITE], 95thPercentileLatency(us), 279
        [READ-MODIFY-WRITE], 99thPercentileLatency(us), 279
        [CLEANUP], Operations, 2
        [CLEANUP], AverageLatency(us), 2.0
        [CLEANUP], MinLatency(us), 1
        [CLEANUP], MaxLatency(us), 3
        [CLEANUP], 95thPercentileLatency(us), 3
        [CLEANUP], 99thPercentileLatency(us), 3
        [VERIFY], Operations, 553
        [VERIFY], AverageLatency(us), 0.09764918625678119
        [VERIFY], MinLatency(us), 0
        [VERIFY], MaxLatency(us), 1
        [VERIFY], 95thPercentileLatency(us), 1
        [VERIFY], 99thPercentileLatency(us), 1
        [VERIFY], Return=OK, 541
        [VERIFY], Return=ERROR, 12
        [UPDATE], Operations, 39
        [UPDATE], AverageLatency(us), 289.53846153846155
        [UPDATE], MinLatency(us), 100
        [UPDATE], MaxLatency(us), 480
        [UPDATE], 95thPercentileLatency(us), 469
        [UPDATE], 99thPercentileLatency(us), 480
        [UPDATE], Return=OK, 39
        [UPDATE], Return=SERVICE_UNAVAILABLE, 1
        [READ-FAILED], Operations, 18
        [READ-FAILED], AverageLatency(us), 2516.3333333333335
        [READ-FAILED], MinLatency(us), 20
        [READ-FAILED], MaxLatency(us), 9999
        [READ-FAILED], 95thPercentileLatency(us), 9999
        [READ-FAILED], 99thPercentileLatency(us), 9999
    "#]],
    );
}

#[test]
fn both_intervals_print_the_intended_metrics_after_all_others() {
    let options =
        Options { interval: Interval::Both, percentiles: vec![50.0, 99.9], ..Options::default() };
    expect![[r#"

        OVERALL: RunTime(ms) Throughput(ops/sec)
        TOTAL_GCs: Count
        TOTAL_GC_TIME: Time(ms)
        TOTAL_GC_TIME_%: Time(%)
        READ: Operations AverageLatency(us) MinLatency(us) MaxLatency(us) 50thPercentileLatency(us) 99.9PercentileLatency(us) Return=OK Return=SERVICE_UNAVAILABLE Return=NOT_FOUND
        UPDATE-FAILED: Operations AverageLatency(us) MinLatency(us) MaxLatency(us) 50thPercentileLatency(us) 99.9PercentileLatency(us)
        READ-MODIFY-WRITE: Operations AverageLatency(us) MinLatency(us) MaxLatency(us) 50thPercentileLatency(us) 99.9PercentileLatency(us)
        VERIFY: Operations AverageLatency(us) MinLatency(us) MaxLatency(us) 50thPercentileLatency(us) 99.9PercentileLatency(us) Return=OK Return=ERROR
        UPDATE: Operations AverageLatency(us) MinLatency(us) MaxLatency(us) 50thPercentileLatency(us) 99.9PercentileLatency(us) Return=OK Return=SERVICE_UNAVAILABLE
        READ-FAILED: Operations AverageLatency(us) MinLatency(us) MaxLatency(us) 50thPercentileLatency(us) 99.9PercentileLatency(us)
        Intended-READ: Operations AverageLatency(us) MinLatency(us) MaxLatency(us) 50thPercentileLatency(us) 99.9PercentileLatency(us)
        Intended-UPDATE-FAILED: Operations AverageLatency(us) MinLatency(us) MaxLatency(us) 50thPercentileLatency(us) 99.9PercentileLatency(us)
        Intended-READ-MODIFY-WRITE: Operations AverageLatency(us) MinLatency(us) MaxLatency(us) 50thPercentileLatency(us) 99.9PercentileLatency(us)
        Intended-UPDATE: Operations AverageLatency(us) MinLatency(us) MaxLatency(us) 50thPercentileLatency(us) 99.9PercentileLatency(us)
        Intended-READ-FAILED: Operations AverageLatency(us) MinLatency(us) MaxLatency(us) 50thPercentileLatency(us) 99.9PercentileLatency(us)"#]].assert_eq(&names(&options));
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
