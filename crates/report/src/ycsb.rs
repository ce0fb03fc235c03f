//! YCSB's own result lines, so that scripts made for it keep working.
//!
//! A result is a list of lines (metric, measurement, value). The three exporters print the same
//! list: `TextMeasurementsExporter`, `JSONMeasurementsExporter` (objects one after another, which
//! is no JSON text) or `JSONArrayMeasurementsExporter`.

mod convert;
mod status;

pub use convert::{Form, MEASUREMENT_TYPES, MeasurementType, Options, histograms, lines, raw};
pub use status::{PERCENTILES, StatusLine, StatusMetric};

use std::fmt::Write as _;

use crate::java;

/// The latencies of YCSB's `measurement.interval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interval {
    /// `op`: service time.
    Op,
    /// `intended`: response time, under the plain names.
    Intended,
    /// `both`: service time under the plain names, response time under `Intended-` ones.
    Both,
}

/// Which of YCSB's exporters prints the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exporter {
    /// `[READ], Operations, 12` on each line.
    Text,
    /// Objects one after another with a blank between them.
    Json,
    /// The same objects in one array.
    JsonArray,
}

/// One line of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// For example `READ`.
    pub metric: String,
    /// For example `95thPercentileLatency(us)`.
    pub measurement: String,
    /// The number.
    pub value: JavaNumber,
}

/// A number that YCSB prints as Java prints a `long` or a `double`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JavaNumber {
    /// A whole number.
    Whole(i64),
    /// A floating-point number, which may be no number at all.
    Double(f64),
}

impl JavaNumber {
    fn text(self) -> String {
        match self {
            JavaNumber::Whole(number) => number.to_string(),
            JavaNumber::Double(number) => java::double(number),
        }
    }

    /// As Jackson writes it: what is no number becomes a string.
    fn json(self) -> String {
        match self {
            JavaNumber::Double(number) if !number.is_finite() => format!("\"{}\"", self.text()),
            _ => self.text(),
        }
    }
}

/// Prints `lines` as `exporter` does.
pub fn print(lines: &[Line], exporter: Exporter) -> String {
    match exporter {
        Exporter::Text => text(lines),
        Exporter::Json => lines.iter().map(object).collect::<Vec<_>>().join(" "),
        Exporter::JsonArray => {
            format!("[ {} ]", lines.iter().map(object).collect::<Vec<_>>().join(", "))
        }
    }
}

fn text(lines: &[Line]) -> String {
    let mut out = String::new();
    for line in lines {
        let _ = writeln!(out, "[{}], {}, {}", line.metric, line.measurement, line.value.text());
    }
    out
}

fn object(line: &Line) -> String {
    format!(
        "{{\n  \"metric\" : {},\n  \"measurement\" : {},\n  \"value\" : {}\n}}",
        quoted(&line.metric),
        quoted(&line.measurement),
        line.value.json()
    )
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The label of a percentile: `95th`, `91st`, `11th`; fractions stay bare: `99.9`.
fn ordinal(percent: f64) -> String {
    if percent.fract() != 0.0 {
        return java::double(percent);
    }
    let whole = percent as u64;
    let suffix = match (whole % 100, whole % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{whole}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_labelled_as_ycsb_labels_them() {
        for (percent, label) in [
            (50.0, "50th"),
            (91.0, "91st"),
            (92.0, "92nd"),
            (93.0, "93rd"),
            (11.0, "11th"),
            (12.0, "12th"),
            (13.0, "13th"),
            (99.9, "99.9"),
            (99.99, "99.99"),
        ] {
            assert_eq!(ordinal(percent), label);
        }
    }

    fn two_lines() -> Vec<Line> {
        let line = |measurement: &str, value| Line {
            metric: "READ".to_owned(),
            measurement: measurement.to_owned(),
            value,
        };
        vec![
            line("Operations", JavaNumber::Whole(0)),
            line("AverageLatency(us)", JavaNumber::Double(f64::NAN)),
        ]
    }

    #[test]
    fn the_text_exporter_prints_metric_measurement_value() {
        assert_eq!(
            print(&two_lines(), Exporter::Text),
            "[READ], Operations, 0\n[READ], AverageLatency(us), NaN\n"
        );
    }

    #[test]
    fn the_json_exporters_print_the_same_objects() {
        let objects = [
            "{\n  \"metric\" : \"READ\",\n  \"measurement\" : \"Operations\",\n  \"value\" : 0\n}",
            "{\n  \"metric\" : \"READ\",\n  \"measurement\" : \"AverageLatency(us)\",\n  \
             \"value\" : \"NaN\"\n}",
        ];
        assert_eq!(print(&two_lines(), Exporter::Json), objects.join(" "));
        assert_eq!(print(&two_lines(), Exporter::JsonArray), format!("[ {} ]", objects.join(", ")));
    }
}
