//! YCSB's status line, which `-s` turns on.

use std::fmt::Write as _;

use assay_model::Nanos;

use super::convert::{Form, MeasurementType};
use crate::java;

/// What one status line says.
#[derive(Clone, Debug)]
pub struct StatusLine<'a> {
    /// The text given by `-l`, printed before everything else.
    pub label: &'a str,
    /// The time of day as `2026-11-21 18:46:25:755`.
    pub wall_clock: &'a str,
    /// Since the run began.
    pub elapsed: Nanos,
    /// Operations ended since the run began.
    pub operations: u64,
    /// Operations still to be issued; 0 if none or unknown.
    pub remaining: u64,
    /// The length of the interval that this line is about.
    pub interval: Nanos,
    /// Operations ended within the interval.
    pub interval_operations: u64,
    /// `measurementtype`, which says how latencies are printed.
    pub measurement_type: MeasurementType,
    /// The latencies within the interval, in YCSB's order.
    pub metrics: &'a [StatusMetric],
}

/// The latencies of one metric within an interval, in whole microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusMetric {
    /// For example `READ`.
    pub name: String,
    /// How many operations.
    pub count: u64,
    /// The longest; 0 of none.
    pub max_us: u64,
    /// The shortest; `i64::MAX` of none, as in YCSB 0.17.0.
    pub min_us: u64,
    /// The mean; no number of none.
    pub mean_us: f64,
    /// Values at percentiles, with their labels.
    pub percentiles_us: Vec<(&'static str, u64)>,
}

/// The percentiles of a status line with the shares they stand for; YCSB 0.17.0 has no others.
pub const PERCENTILES: [(&str, f64); 4] =
    [("90", 0.90), ("99", 0.99), ("99.9", 0.999), ("99.99", 0.9999)];

impl StatusMetric {
    fn text(&self, measurement_type: MeasurementType) -> String {
        let forms = measurement_type.forms.iter();
        let texts = forms.map(|(prefix, form)| match form {
            Form::Hdr => self.hdr(prefix),
            // The others print nothing without values.
            _ if self.count == 0 => String::new(),
            Form::Buckets | Form::Series => {
                let mean = java::two_decimals(self.mean_us);
                format!("[{prefix}{} AverageLatency(us)={mean}]", self.name)
            }
            Form::Raw => {
                let (count, mean) = (self.count, self.mean_us);
                format!("{prefix}{} count: {count}, average latency(us): {mean:.2}", self.name)
            }
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    fn hdr(&self, prefix: &str) -> String {
        let mut out = format!(
            "[{prefix}{}: Count={}, Max={}, Min={}, Avg={}",
            self.name,
            self.count,
            self.max_us,
            self.min_us,
            java::two_decimals(self.mean_us)
        );
        for (label, value) in &self.percentiles_us {
            let _ = write!(out, ", {label}={value}");
        }
        out + "]"
    }
}

impl StatusLine<'_> {
    /// The line without its end, the blank after the last metric included.
    pub fn text(&self) -> String {
        let milliseconds = |time: Nanos| (time.0 / 1_000_000) as f64;
        let mut out = format!("{}{} ", self.label, self.wall_clock);
        let seconds = self.elapsed.0 / 1_000_000_000;
        let _ = write!(out, "{seconds} sec: {} operations; ", self.operations);
        if self.operations > 0 {
            let rate = 1000.0 * self.interval_operations as f64 / milliseconds(self.interval);
            let _ = write!(out, "{} current ops/sec; ", java::two_decimals(rate));
        }
        if self.remaining > 0 {
            let rate = 1000.0 * self.operations as f64 / milliseconds(self.elapsed);
            // A float that is too large for a whole number becomes the largest one, as in Java.
            let left = (self.remaining as f64 / rate).ceil() as i64;
            let _ = write!(out, "est completion in {}", remaining_time(left.max(0) as u64));
        }
        for metric in self.metrics {
            out.push_str(&metric.text(self.measurement_type));
            out.push(' ');
        }
        out
    }
}

/// A time as YCSB estimates it: days and hours, or hours and minutes, or seconds.
///
/// Seconds of one digit are "second", whatever the digit.
fn remaining_time(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (hours, minutes) = (rest / 3_600, rest % 3_600 / 60);
    let mut out = String::new();
    let mut part = |number: u64, name: &str| {
        if number > 0 {
            let plural = if number == 1 { "" } else { "s" };
            let _ = write!(out, "{number} {name}{plural} ");
        }
    };
    part(days, "day");
    part(hours, "hour");
    if days == 0 {
        part(minutes, "minute");
    }
    if out.is_empty() {
        let plural = if seconds < 10 { "" } else { "s" };
        out = format!("{seconds} second{plural} ");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ycsb::MEASUREMENT_TYPES;

    #[test]
    fn remaining_times_have_ycsbs_quirks() {
        // Printed by YCSB 0.17.0's own formatter.
        for (seconds, text) in [
            (0, "0 second "),
            (1, "1 second "),
            (9, "9 second "),
            (10, "10 seconds "),
            (60, "1 minute "),
            (120, "2 minutes "),
            (3_661, "1 hour 1 minute "),
            (86_399, "23 hours 59 minutes "),
            (90_000, "1 day 1 hour "),
            (180_122, "2 days 2 hours "),
            (i64::MAX as u64, "106751991167300 days 15 hours "),
        ] {
            assert_eq!(remaining_time(seconds), text);
        }
    }

    fn reads(count: u64) -> StatusMetric {
        StatusMetric {
            name: "READ".to_owned(),
            count,
            max_us: if count == 0 { 0 } else { 8175 },
            min_us: if count == 0 { i64::MAX as u64 } else { 16 },
            mean_us: if count == 0 { f64::NAN } else { 4098.5 },
            percentiles_us: PERCENTILES.map(|(label, _)| (label, count * 2000)).to_vec(),
        }
    }

    fn type_named(name: &str) -> MeasurementType {
        MEASUREMENT_TYPES.into_iter().find(|one| one.name == name).unwrap()
    }

    fn line(operations: u64, remaining: u64, metrics: &[StatusMetric]) -> String {
        StatusLine {
            label: "",
            wall_clock: "2026-11-21 18:46:25:755",
            elapsed: Nanos::from_millis(1_000),
            operations,
            remaining,
            interval: Nanos::from_millis(1_000),
            interval_operations: operations,
            measurement_type: MEASUREMENT_TYPES[0],
            metrics,
        }
        .text()
    }

    #[test]
    fn a_status_line_has_count_rate_estimate_and_metrics() {
        assert_eq!(
            line(9_623, 38_000, &[reads(4)]),
            "2026-11-21 18:46:25:755 1 sec: 9623 operations; 9623 current ops/sec; est completion \
             in 4 second [READ: Count=4, Max=8175, Min=16, Avg=4098.5, 90=8000, 99=8000, \
             99.9=8000, 99.99=8000] "
        );
    }

    #[test]
    fn nothing_done_yet_makes_the_estimate_endless() {
        assert_eq!(
            line(0, 5, &[]),
            "2026-11-21 18:46:25:755 1 sec: 0 operations; est completion in 106751991167300 days \
             15 hours "
        );
    }

    #[test]
    fn an_empty_interval_prints_what_ycsb_prints() {
        assert_eq!(
            reads(0).text(MEASUREMENT_TYPES[0]),
            "[READ: Count=0, Max=0, Min=9223372036854775807, Avg=NaN, 90=0, 99=0, 99.9=0, \
             99.99=0]"
        );
    }

    #[test]
    fn each_measurement_type_has_its_own_summary() {
        for (name, text) in [
            ("histogram", "[READ AverageLatency(us)=4098.5]"),
            ("timeseries", "[READ AverageLatency(us)=4098.5]"),
            ("raw", "READ count: 4, average latency(us): 4098.50"),
        ] {
            assert_eq!(reads(4).text(type_named(name)), text);
            assert_eq!(reads(0).text(type_named(name)), "");
        }
        let both = reads(4).text(type_named("hdrhistogram+raw"));
        assert!(both.starts_with("[HdrREAD: Count=4, "), "{both}");
        assert!(both.ends_with("]\nRawREAD count: 4, average latency(us): 4098.50"), "{both}");
    }
}
