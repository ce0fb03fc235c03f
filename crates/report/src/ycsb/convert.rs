//! Conversion of an analyzer's summary to YCSB's lines.

use assay_analysis::Histogram;
use assay_analysis::ycsb::{Measured, Measurement, Measures, Metric, Moments, Status};
use assay_model::Kind;

use super::{Interval, JavaNumber, Line, ordinal};
use crate::java;

/// A form in which YCSB keeps latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `hdrhistogram`.
    Hdr,
    /// `histogram`: buckets of a millisecond.
    Buckets,
    /// `timeseries`.
    Series,
    /// `raw`.
    Raw,
}

/// A value of YCSB's `measurementtype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurementType {
    /// The property's value.
    pub name: &'static str,
    /// The forms, each with its prefix of a metric's name.
    pub forms: &'static [(&'static str, Form)],
}

/// All of them, YCSB's default first.
pub const MEASUREMENT_TYPES: [MeasurementType; 6] = [
    MeasurementType { name: "hdrhistogram", forms: &[("", Form::Hdr)] },
    MeasurementType { name: "histogram", forms: &[("", Form::Buckets)] },
    MeasurementType {
        name: "hdrhistogram+histogram",
        forms: &[("Hdr", Form::Hdr), ("Bucket", Form::Buckets)],
    },
    MeasurementType { name: "hdrhistogram+raw", forms: &[("Hdr", Form::Hdr), ("Raw", Form::Raw)] },
    MeasurementType { name: "timeseries", forms: &[("", Form::Series)] },
    MeasurementType { name: "raw", forms: &[("", Form::Raw)] },
];

impl MeasurementType {
    /// Whether latencies are kept in this form.
    pub fn has(&self, form: Form) -> bool {
        self.prefix(form).is_some()
    }

    /// The prefix of the names of metrics in this form, if latencies are kept in it.
    fn prefix(&self, form: Form) -> Option<&'static str> {
        self.forms.iter().find(|(_, own)| *own == form).map(|(prefix, _)| *prefix)
    }
}

/// What YCSB's properties choose about the lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `measurement.interval`.
    pub interval: Interval,
    /// `measurementtype`.
    pub measurement_type: MeasurementType,
    /// `hdrhistogram.percentiles`, in percent.
    pub percentiles: Vec<f64>,
    /// `timeseries.granularity`, in milliseconds.
    pub granularity: u64,
    /// `measurement.histogram.verbose`.
    pub is_verbose: bool,
    /// `measurement.raw.no_summary`.
    pub has_no_summary: bool,
    /// The names of transactions by their number.
    pub transactions: Vec<String>,
}

impl Default for Options {
    /// What YCSB 0.17.0 does by itself.
    fn default() -> Options {
        Options {
            interval: Interval::Op,
            measurement_type: MEASUREMENT_TYPES[0],
            percentiles: vec![95.0, 99.0],
            granularity: 1000,
            is_verbose: false,
            has_no_summary: false,
            transactions: Vec::new(),
        }
    }
}

/// One metric under one name, as YCSB keeps it.
struct Named<'a> {
    name: String,
    /// `None` where YCSB measures no latency, but counts the statuses.
    measured: Option<&'a Measured>,
    returns: &'a [(Status, u64)],
}

/// All metrics under their names, in YCSB's order: op latencies, then intended ones.
fn named<'a>(measures: &'a Measures, options: &Options) -> Vec<Named<'a>> {
    let name = |one: &Measurement| metric_name(one.metric, &options.transactions);
    let mut metrics: Vec<(String, &Measurement)> =
        measures.metrics.iter().map(|one| (name(one), one)).collect();
    java::map_order(&mut metrics, |(name, _)| java::string_hash(name));
    let plain = metrics.iter().filter_map(|(name, one)| {
        let measured = match options.interval {
            Interval::Op | Interval::Both => Some(&one.op),
            Interval::Intended => one.intended.as_ref(),
        };
        // Metrics without intended times then have only their statuses.
        let is_there = measured.is_some() || !one.returns.is_empty();
        is_there.then(|| Named { name: name.clone(), measured, returns: &one.returns })
    });
    let intended = metrics.iter().filter_map(|(name, one)| {
        let measured = one.intended.as_ref()?;
        Some(Named {
            name: format!("Intended-{name}"),
            measured: (options.interval == Interval::Both).then_some(measured),
            returns: &[],
        })
    });
    plain.chain(intended.filter(|named| named.measured.is_some())).collect()
}

/// The lines of a result in YCSB's order.
pub fn lines(measures: &Measures, options: &Options) -> Vec<Line> {
    let mut lines = overall(measures);
    for metric in named(measures, options) {
        for (place, (prefix, form)) in options.measurement_type.forms.iter().enumerate() {
            let block = Named {
                name: format!("{prefix}{}", metric.name),
                // Only the first of two counts the statuses.
                returns: if place == 0 { metric.returns } else { &[] },
                ..metric
            };
            match form {
                Form::Hdr => block.hdr(options, &mut lines),
                Form::Buckets => block.buckets(options, &mut lines),
                Form::Series => block.series(options, &mut lines),
                Form::Raw => block.raw(options, &mut lines),
            }
        }
    }
    lines
}

/// The latencies behind the lines of each metric that is kept as a histogram.
pub fn histograms(measures: &Measures, options: &Options) -> Vec<(String, Histogram)> {
    let Some(prefix) = options.measurement_type.prefix(Form::Hdr) else { return Vec::new() };
    let one = |named: Named<'_>| {
        let histogram = named.measured.map_or_else(empty, |measured| measured.histogram.clone());
        (format!("{prefix}{}", named.name), histogram)
    };
    named(measures, options).into_iter().map(one).collect()
}

/// Each latency of each metric that is kept raw, as YCSB prints them beside the lines: the name of
/// the metric with its text. `started_ms` is the time of day at which the run's axis begins.
pub fn raw(measures: &Measures, options: &Options, started_ms: u64) -> Vec<(String, String)> {
    let Some(prefix) = options.measurement_type.prefix(Form::Raw) else { return Vec::new() };
    let one = |named: Named<'_>| {
        let name = format!("{prefix}{}", named.name);
        let mut text = format!("{name} latency raw data: op, timestamp(ms), latency(us)\n");
        for (ended, micros) in named.measured.map_or(&[][..], |measured| &measured.samples) {
            text += &format!("{name},{},{micros}\n", started_ms + ended.0 / 1_000_000);
        }
        (name, text)
    };
    named(measures, options).into_iter().map(one).collect()
}

fn line(metric: &str, measurement: &str, value: JavaNumber) -> Line {
    Line { metric: metric.to_owned(), measurement: measurement.to_owned(), value }
}

fn whole(number: u64) -> JavaNumber {
    JavaNumber::Whole(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Run time, throughput and the garbage collections of a program without a collector.
fn overall(measures: &Measures) -> Vec<Line> {
    vec![
        line("OVERALL", "RunTime(ms)", whole(measures.span.0 / 1_000_000)),
        line("OVERALL", "Throughput(ops/sec)", JavaNumber::Double(measures.throughput_per_s())),
        line("TOTAL_GCs", "Count", JavaNumber::Whole(0)),
        line("TOTAL_GC_TIME", "Time(ms)", JavaNumber::Whole(0)),
        line("TOTAL_GC_TIME_%", "Time(%)", JavaNumber::Double(0.0)),
    ]
}

fn metric_name(metric: Metric, transactions: &[String]) -> String {
    let kind_name = |kind: Kind| kind.name().to_uppercase();
    match metric {
        Metric::Success(kind) => kind_name(kind),
        Metric::Failure(kind, None) => format!("{}-FAILED", kind_name(kind)),
        Metric::Failure(kind, Some(status)) => {
            format!("{}-{}", kind_name(kind), status.name())
        }
        Metric::Verify => "VERIFY".to_owned(),
        Metric::ScanPerRecord => "SCAN-LATENCY-PER-RECORD".to_owned(),
        Metric::Transaction(number) => {
            let name = transactions.get(usize::from(number)).cloned().unwrap_or_default();
            name.to_uppercase()
        }
    }
}

/// The lines of one metric in each form.
impl Named<'_> {
    fn push(&self, lines: &mut Vec<Line>, measurement: &str, value: JavaNumber) {
        lines.push(line(&self.name, measurement, value));
    }

    fn push_returns(&self, lines: &mut Vec<Line>) {
        for (status, count) in self.returns {
            self.push(lines, &format!("Return={}", status.name()), whole(*count));
        }
    }

    fn count(&self) -> u64 {
        self.measured.map_or(0, Measured::count)
    }

    fn hdr(&self, options: &Options, lines: &mut Vec<Line>) {
        let none = empty();
        let micros = self.measured.map_or(&none, |measured| &measured.histogram);
        // A JVM's histogram without values has the largest possible minimum and no mean.
        let mean = self.measured.map_or(f64::NAN, Measured::histogram_mean);
        let min = if micros.is_empty() { i64::MAX as u64 } else { micros.min() };
        self.push(lines, "Operations", whole(micros.len()));
        self.push(lines, "AverageLatency(us)", JavaNumber::Double(mean));
        self.push(lines, "MinLatency(us)", whole(min));
        self.push(lines, "MaxLatency(us)", whole(micros.max()));
        for &percent in &options.percentiles {
            let label = format!("{}PercentileLatency(us)", ordinal(percent));
            self.push(lines, &label, whole(micros.value_at_percentile(percent)));
        }
        self.push_returns(lines);
        for bucket in micros.iter_recorded().filter(|_| options.is_verbose) {
            let count = JavaNumber::Double(bucket.count_at_value() as f64);
            self.push(lines, &bucket.value_iterated_to().to_string(), count);
        }
    }

    /// The first lines of the types other than `hdrhistogram`; −1 is their minimum without values.
    fn push_extremes(&self, lines: &mut Vec<Line>) {
        let some = self.measured.filter(|measured| measured.count() > 0);
        let (min, max) = some.map_or((JavaNumber::Whole(-1), JavaNumber::Whole(-1)), |measured| {
            (whole(measured.min), whole(measured.max))
        });
        self.push(lines, "MinLatency(us)", min);
        self.push(lines, "MaxLatency(us)", max);
    }

    fn moments(&self) -> Moments {
        self.measured.map_or(Moments::NONE, Measured::moments)
    }

    /// Percentiles are whole milliseconds; one that lies beyond the buckets is not printed.
    fn buckets(&self, options: &Options, lines: &mut Vec<Line>) {
        let Moments { mean, variance } = self.moments();
        self.push(lines, "Operations", whole(self.count()));
        self.push(lines, "AverageLatency(us)", JavaNumber::Double(mean));
        self.push(lines, "LatencyVariance(us)", JavaNumber::Double(variance));
        self.push_extremes(lines);
        for (label, share) in [("95th", 0.95), ("99th", 0.99)] {
            if let Some(ms) = self.measured.and_then(|measured| measured.bucket_at(share)) {
                let label = format!("{label}PercentileLatency(us)");
                self.push(lines, &label, whole(ms as u64 * 1000));
            }
        }
        self.push_returns(lines);
        if options.is_verbose {
            let buckets = self.measured.map_or(&[][..], |measured| &measured.buckets);
            for (ms, bucket) in buckets.iter().enumerate() {
                self.push(lines, &ms.to_string(), whole(*bucket));
            }
            let beyond = self.measured.map_or(0, |measured| measured.beyond);
            self.push(lines, &format!(">{}", buckets.len()), whole(beyond));
        }
    }

    fn series(&self, options: &Options, lines: &mut Vec<Line>) {
        self.push(lines, "Operations", whole(self.count()));
        self.push(lines, "AverageLatency(us)", JavaNumber::Double(self.moments().mean));
        self.push_extremes(lines);
        self.push_returns(lines);
        let means = self.measured.map(|measured| measured.means(options.granularity));
        for (from, mean) in means.unwrap_or_else(|| vec![(0, f64::NAN)]) {
            self.push(lines, &from.to_string(), JavaNumber::Double(mean));
        }
    }

    fn raw(&self, options: &Options, lines: &mut Vec<Line>) {
        let count = self.count();
        self.push(lines, "Total Operations", whole(count));
        if let Some(measured) = self.measured.filter(|_| count > 0 && !options.has_no_summary) {
            let announcement = "Below is a summary of latency in microseconds:";
            self.push(lines, announcement, JavaNumber::Whole(-1));
            self.push(lines, "Average", JavaNumber::Double(self.moments().mean));
            self.push(lines, "Min", whole(measured.min));
            self.push(lines, "Max", whole(measured.max));
            let found = measured.samples_at(RAW_PERCENTILES.map(|(_, share)| share));
            for ((label, _), micros) in RAW_PERCENTILES.iter().zip(found.into_iter().flatten()) {
                self.push(lines, label, whole(micros));
            }
        }
        self.push_returns(lines);
    }
}

const RAW_PERCENTILES: [(&str, f64); 8] = [
    ("p1", 0.01),
    ("p5", 0.05),
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

fn empty() -> Histogram {
    Histogram::new(3).expect("three significant digits are allowed")
}

#[cfg(test)]
mod tests;
