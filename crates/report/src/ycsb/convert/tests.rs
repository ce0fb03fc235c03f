//! The lines of a known run beside those that YCSB 0.17.0 prints for such a run.

use assay_analysis::ycsb::{Failures, Measurements};
use expect_test::{ExpectFile, expect_file};

use super::*;
use crate::sample;
use crate::ycsb::{Exporter, print};

/// The input of every form.
fn measured() -> assay_analysis::ycsb::Options {
    assay_analysis::ycsb::Options {
        buckets: 3,
        keeps_series: true,
        keeps_samples: true,
        ..Default::default()
    }
}

fn options() -> Options {
    let transactions = vec![String::new(), "read-modify-write".to_owned()];
    Options { transactions, ..Options::default() }
}

fn of_type(name: &str) -> Options {
    let found = MEASUREMENT_TYPES.into_iter().find(|one| one.name == name).unwrap();
    Options { measurement_type: found, ..options() }
}

fn text(options: &Options) -> String {
    print(&lines(&sample::measures(&measured()), options), Exporter::Text)
}

/// The lines of one metric.
fn lines_of(metric: &str, options: &Options) -> String {
    let start = format!("[{metric}], ");
    let text = text(options);
    text.lines().filter_map(|line| line.strip_prefix(&start)).collect::<Vec<_>>().join("\n")
}

fn check(options: &Options, expected: &ExpectFile) {
    expected.assert_eq(&text(options));
}

#[test]
fn the_text_block_is_ycsbs() {
    check(&options(), &expect_file!["../../../snapshots/ycsb.txt"]);
}

/// Each line without its value, as YCSB 0.17.0 printed it for a store that fails like the sample's
/// (`measurement.interval=both`, `dataintegrity=true`), its collectors' own lines left out, and
/// those of the clean-up, which we do not measure.
#[test]
fn the_lines_are_those_of_a_real_run_in_the_same_order() {
    let options = Options { interval: Interval::Both, ..options() };
    let names: String = lines(&sample::measures(&measured()), &options)
        .iter()
        .map(|line| format!("{}: {}\n", line.metric, line.measurement))
        .collect();
    let real = include_str!("../../../snapshots/ycsb-0.17.0-lines.txt");
    let without = real.lines().filter(|line| !line.contains("CLEANUP"));
    assert_eq!(names, without.map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn intended_alone_keeps_the_plain_names_and_has_response_times() {
    let options = Options { interval: Interval::Intended, ..options() };
    let value = |metric: &str, measurement: &str| {
        lines(&sample::measures(&measured()), &options)
            .iter()
            .find(|line| line.metric == metric && line.measurement == measurement)
            .map(|line| line.value)
    };
    assert_eq!(value("READ", "MinLatency(us)"), Some(JavaNumber::Whole(110)));
    assert_eq!(value("VERIFY", "Operations"), Some(JavaNumber::Whole(0)));
    assert_eq!(value("VERIFY", "MinLatency(us)"), Some(JavaNumber::Whole(i64::MAX)));
    assert_eq!(value("VERIFY", "Return=OK"), Some(JavaNumber::Whole(5)));
    assert_eq!(value("Intended-READ", "Operations"), None);
}

#[test]
fn a_run_below_a_millisecond_has_a_throughput() {
    let record = assay_model::Record {
        ended: assay_model::Nanos::from_micros(250),
        phase: assay_model::Phase::Measure,
        ..assay_model::Record::BLANK
    };
    let mut measurements = Measurements::new(measured());
    measurements.push(&[record, record]);
    let lines = lines(&measurements.finish(), &options());
    assert_eq!(lines[0].value, JavaNumber::Whole(0));
    assert_eq!(lines[1].value, JavaNumber::Double(8000.0));
    let none = super::lines(&Measurements::new(measured()).finish(), &options());
    assert_eq!(none[1].value, JavaNumber::Double(0.0), "nothing was done in no time");
}

#[test]
fn histogram_has_buckets_of_a_millisecond() {
    let plain = "Operations, 3\nAverageLatency(us), 106.66666666666667\n\
                 LatencyVariance(us), 2.888888888886868\nMinLatency(us), 105\n\
                 MaxLatency(us), 109\n95thPercentileLatency(us), 0\n\
                 99thPercentileLatency(us), 0\nReturn=OK, 3\nReturn=SERVICE_UNAVAILABLE, 1";
    assert_eq!(lines_of("UPDATE", &of_type("histogram")), plain);
    let verbose = Options { is_verbose: true, ..of_type("histogram") };
    assert_eq!(lines_of("UPDATE", &verbose), format!("{plain}\n0, 3\n1, 0\n2, 0\n>3, 0"));
    // What lies beyond the buckets has no percentiles, as in YCSB.
    let failed = lines_of("UPDATE-FAILED", &of_type("histogram"));
    assert!(!failed.contains("Percentile"), "{failed}");
}

#[test]
fn timeseries_has_the_means_of_stretches() {
    let found = lines_of("READ", &of_type("timeseries"));
    let expected = "Operations, 5\nAverageLatency(us), 342.2\nMinLatency(us), 100\n\
                    MaxLatency(us), 1300\nReturn=OK, 5\nReturn=SERVICE_UNAVAILABLE, 1\n\
                    Return=NOT_FOUND, 1\n0, 102.75\n1000, 1300.0";
    assert_eq!(found, expected);
}

#[test]
fn raw_has_a_summary_with_every_latency_beside_it() {
    let found = lines_of("UPDATE", &of_type("raw"));
    let expected = "Total Operations, 3\n\
                    Below is a summary of latency in microseconds:, -1\n\
                    Average, 106.66666666666667\nMin, 105\nMax, 109\np1, 105\np5, 105\n\
                    p50, 106\np90, 109\np95, 109\np99, 109\np99.9, 109\np99.99, 109\n\
                    Return=OK, 3\nReturn=SERVICE_UNAVAILABLE, 1";
    assert_eq!(found, expected);
    let quiet = Options { has_no_summary: true, ..of_type("raw") };
    let short = "Total Operations, 3\nReturn=OK, 3\nReturn=SERVICE_UNAVAILABLE, 1";
    assert_eq!(lines_of("UPDATE", &quiet), short);
    let texts = raw(&sample::measures(&measured()), &of_type("raw"), 1_000);
    let (_, text) = texts.iter().find(|(name, _)| name == "UPDATE").unwrap();
    let expected = "UPDATE latency raw data: op, timestamp(ms), latency(us)\n\
                    UPDATE,1005,105\nUPDATE,1006,106\nUPDATE,1009,109\n";
    assert_eq!(text, expected);
    assert!(raw(&sample::measures(&measured()), &options(), 1_000).is_empty());
}

#[test]
fn two_types_in_one_have_names_of_their_own() {
    let options = Options { percentiles: vec![50.0], ..of_type("hdrhistogram+histogram") };
    let names: Vec<String> = lines(&sample::measures(&measured()), &options)
        .iter()
        .filter(|line| line.metric.ends_with("tUPDATE") || line.metric.ends_with("rUPDATE"))
        .map(|line| format!("{} {}", line.metric, line.measurement))
        .collect();
    assert_eq!(
        names.join("\n"),
        "HdrUPDATE Operations\nHdrUPDATE AverageLatency(us)\nHdrUPDATE MinLatency(us)\n\
         HdrUPDATE MaxLatency(us)\nHdrUPDATE 50thPercentileLatency(us)\nHdrUPDATE Return=OK\n\
         HdrUPDATE Return=SERVICE_UNAVAILABLE\nBucketUPDATE Operations\n\
         BucketUPDATE AverageLatency(us)\nBucketUPDATE LatencyVariance(us)\n\
         BucketUPDATE MinLatency(us)\nBucketUPDATE MaxLatency(us)\n\
         BucketUPDATE 95thPercentileLatency(us)\nBucketUPDATE 99thPercentileLatency(us)"
    );
}

#[test]
fn a_verbose_histogram_lists_its_buckets() {
    let verbose = Options { is_verbose: true, percentiles: Vec::new(), ..options() };
    let found = lines_of("UPDATE", &verbose);
    assert!(found.ends_with("\n105, 1.0\n106, 1.0\n109, 1.0"), "{found}");
}

#[test]
fn failures_by_status_are_named_so() {
    let by_status = assay_analysis::ycsb::Options { failures: Failures::ByStatus, ..measured() };
    let lines = lines(&sample::measures(&by_status), &options());
    let names: Vec<&str> = lines.iter().map(|line| line.metric.as_str()).collect();
    assert!(names.contains(&"READ-NOT_FOUND") && names.contains(&"READ-SERVICE_UNAVAILABLE"));
    assert!(names.iter().all(|name| !name.ends_with("-FAILED")), "{names:?}");
}
