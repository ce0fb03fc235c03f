//! Conversion of an analyzer's summary to YCSB's lines.
//!
//! Kinds keep their names in capitals. YCSB's *op* latency is our service time, its *intended*
//! latency our response time. What is no success goes to `READ-FAILED`, as YCSB does it: refused
//! and unknown operations and missed records (`Return=NOT_FOUND`). A scan that finds nothing is a
//! success there, so it is one here.

use assay_analysis::{Group, Histogram, Latency, Summary};
use assay_model::operation::READ_MODIFY_WRITE;
use assay_model::{Kind, Nanos, Outcome, Reason};

use super::{Interval, Line, Value, ordinal};
use crate::java;

/// What YCSB's properties choose about the lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `measurement.interval`.
    pub interval: Interval,
    /// `hdrhistogram.percentiles`, in percent.
    pub percentiles: Vec<f64>,
    /// How long closing each session took; the `CLEANUP` lines are left out if it is empty.
    pub cleanup: Vec<Nanos>,
}

impl Default for Options {
    /// What YCSB 0.17.0 does by itself.
    fn default() -> Options {
        Options { interval: Interval::Op, percentiles: vec![95.0, 99.0], cleanup: Vec::new() }
    }
}

/// One metric before it is split into lines.
struct Metric {
    name: String,
    /// Service times in nanoseconds.
    op: Histogram,
    /// Response times in nanoseconds; `None` for what YCSB measures without an intention.
    intended: Option<Histogram>,
    returns: Vec<(&'static str, u64)>,
}

/// The lines of a result in YCSB's order.
pub fn lines(summary: &Summary, options: &Options) -> Vec<Line> {
    let mut lines = overall(summary);
    let mut metrics = metrics(summary, options);
    java::map_order(&mut metrics, |metric| java::string_hash(&metric.name));
    for metric in &metrics {
        if options.interval == Interval::Intended {
            // YCSB keeps the plain names, and what has no intention has no latency then.
            let intended = metric.intended.clone().unwrap_or_else(empty);
            metric_lines(&metric.name, &intended, options, &mut lines);
        } else {
            metric_lines(&metric.name, &metric.op, options, &mut lines);
        }
        return_lines(metric, &mut lines);
    }
    if options.interval == Interval::Both {
        for metric in &metrics {
            if let Some(intended) = &metric.intended {
                let name = format!("Intended-{}", metric.name);
                metric_lines(&name, intended, options, &mut lines);
            }
        }
    }
    lines
}

/// The latencies behind the lines of each metric, in whole microseconds.
pub fn histograms(summary: &Summary, options: &Options) -> Vec<(String, Histogram)> {
    let mut all = Vec::new();
    for Metric { name, op, intended, .. } in metrics(summary, options) {
        let (plain, published) = match options.interval {
            Interval::Op => (op, None),
            Interval::Intended => (intended.unwrap_or_else(empty), None),
            Interval::Both => (op, intended),
        };
        all.extend(published.map(|one| (format!("Intended-{name}"), microseconds(&one))));
        all.push((name, microseconds(&plain)));
    }
    all
}

fn line(metric: &str, measurement: &str, value: Value) -> Line {
    Line { metric: metric.to_owned(), measurement: measurement.to_owned(), value }
}

/// Run time, throughput and the garbage collections of a program without a collector.
fn overall(summary: &Summary) -> Vec<Line> {
    let run_time_ms = summary.span.0 / 1_000_000;
    let throughput = match run_time_ms {
        0 => 0.0,
        ms => 1000.0 * operations(summary) as f64 / ms as f64,
    };
    vec![
        line("OVERALL", "RunTime(ms)", Value::Whole(run_time_ms)),
        line("OVERALL", "Throughput(ops/sec)", Value::Double(throughput)),
        line("TOTAL_GCs", "Count", Value::Whole(0)),
        line("TOTAL_GC_TIME", "Time(ms)", Value::Whole(0)),
        line("TOTAL_GC_TIME_%", "Time(%)", Value::Double(0.0)),
    ]
}

/// Operations as YCSB counts them: a read-modify-write is one, failures are in, drops are not.
fn operations(summary: &Summary) -> u64 {
    let counts = &summary.overall.counts;
    let pairs = summary.transactions.iter().find(|types| types.name == READ_MODIFY_WRITE);
    let (pairs_offered, pairs_dropped) =
        pairs.map_or((0, 0), |types| (types.group.counts.offered, types.group.counts.dropped));
    let halves: u64 = counts
        .reasons
        .iter()
        .filter(|(_, reason, _)| *reason == Reason::TransactionFailed)
        .map(|(_, _, count)| count)
        .sum();
    let lone_offered = counts.offered.saturating_sub(2 * pairs_offered);
    let lone_dropped = counts.dropped.saturating_sub(2 * pairs_dropped + halves);
    lone_offered.saturating_sub(lone_dropped) + (pairs_offered - pairs_dropped)
}

/// All metrics in the order in which a run of YCSB usually meets them first.
fn metrics(summary: &Summary, options: &Options) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let mut failures = Vec::new();
    for (kind, group) in &summary.kinds {
        if group.counts.offered > group.counts.dropped {
            metrics.push(success(*kind, group));
            failures.extend(failure(*kind, group));
        }
        if *kind == Kind::Read {
            metrics.extend(verify(summary));
        }
    }
    for types in &summary.transactions {
        let group = &types.group;
        if group.counts.offered > group.counts.dropped {
            metrics.push(whole_transaction(&types.name, group));
        }
    }
    metrics.extend(cleanup(options));
    metrics.append(&mut failures);
    metrics
}

fn success(kind: Kind, group: &Group) -> Metric {
    let latencies: &[&Latency] = match kind {
        Kind::Scan => &[&group.hits, &group.misses],
        _ => &[&group.hits],
    };
    Metric {
        name: kind.name().to_uppercase(),
        op: sum(latencies.iter().map(|latency| &latency.service.histogram)),
        intended: Some(sum(latencies.iter().map(|latency| &latency.response.histogram))),
        returns: returns(kind, group),
    }
}

fn failure(kind: Kind, group: &Group) -> Option<Metric> {
    let latencies: &[&Latency] = match kind {
        Kind::Scan => &[&group.failed],
        _ => &[&group.misses, &group.failed],
    };
    let op = sum(latencies.iter().map(|latency| &latency.service.histogram));
    (!op.is_empty()).then(|| Metric {
        name: format!("{}-FAILED", kind.name().to_uppercase()),
        op,
        intended: Some(sum(latencies.iter().map(|latency| &latency.response.histogram))),
        returns: Vec::new(),
    })
}

/// YCSB measures a whole read-modify-write whatever became of its halves.
fn whole_transaction(name: &str, group: &Group) -> Metric {
    let all = [&group.hits, &group.misses, &group.failed];
    Metric {
        name: name.to_uppercase(),
        op: sum(all.iter().map(|latency| &latency.service.histogram)),
        intended: Some(sum(all.iter().map(|latency| &latency.response.histogram))),
        returns: Vec::new(),
    }
}

fn verify(summary: &Summary) -> Option<Metric> {
    let values = &summary.values;
    let mut returns =
        vec![("OK", values.right), ("UNEXPECTED_STATE", values.wrong), ("ERROR", values.empty)];
    returns.retain(|(_, count)| *count > 0);
    (!returns.is_empty()).then(|| Metric {
        name: "VERIFY".to_owned(),
        op: values.time.histogram.clone(),
        intended: None,
        returns,
    })
}

fn cleanup(options: &Options) -> Option<Metric> {
    let mut histogram = empty();
    for time in &options.cleanup {
        histogram.record(time.0).expect("a histogram that grows by itself takes every value");
    }
    (!histogram.is_empty()).then(|| Metric {
        name: "CLEANUP".to_owned(),
        op: histogram.clone(),
        intended: Some(histogram),
        returns: Vec::new(),
    })
}

/// How often each of YCSB's status codes came back, in the order of a `ConcurrentHashMap`.
fn returns(kind: Kind, group: &Group) -> Vec<(&'static str, u64)> {
    let counts = &group.counts;
    let (ok, not_found) = match kind {
        Kind::Scan => (counts.hits + counts.misses, 0),
        _ => (counts.hits, counts.misses),
    };
    let mut found = vec![("OK", ok), ("NOT_FOUND", not_found)];
    for &(outcome, reason, count) in &counts.reasons {
        if matches!(outcome, Outcome::Refused | Outcome::Unknown) {
            found.push((status(reason), count));
        }
    }
    // The walk of YCSB's own map over its status codes, as a JDK 17 prints it.
    const ORDER: [&str; 7] = [
        "OK",
        "NOT_IMPLEMENTED",
        "BAD_REQUEST",
        "FORBIDDEN",
        "SERVICE_UNAVAILABLE",
        "NOT_FOUND",
        "ERROR",
    ];
    let total =
        |name| found.iter().filter(|(other, _)| *other == name).map(|(_, count)| count).sum();
    ORDER.iter().map(|name| (*name, total(*name))).filter(|(_, count)| *count > 0).collect()
}

/// YCSB's status code that is nearest to a reason.
fn status(reason: Reason) -> &'static str {
    match reason {
        Reason::Timeout | Reason::ConnectionLost | Reason::Unreachable | Reason::Busy => {
            "SERVICE_UNAVAILABLE"
        }
        Reason::NotPermitted | Reason::ReadOnly => "FORBIDDEN",
        Reason::Unsupported => "NOT_IMPLEMENTED",
        Reason::Malformed | Reason::WrongType => "BAD_REQUEST",
        _ => "ERROR",
    }
}

fn metric_lines(name: &str, nanoseconds: &Histogram, options: &Options, lines: &mut Vec<Line>) {
    let micros = microseconds(nanoseconds);
    let count = micros.len();
    // A JVM's histogram without values has the largest possible minimum and no mean.
    let (mean, min) =
        if count == 0 { (f64::NAN, i64::MAX as u64) } else { (micros.mean(), micros.min()) };
    lines.push(line(name, "Operations", Value::Whole(count)));
    lines.push(line(name, "AverageLatency(us)", Value::Double(mean)));
    lines.push(line(name, "MinLatency(us)", Value::Whole(min)));
    lines.push(line(name, "MaxLatency(us)", Value::Whole(micros.max())));
    for &percent in &options.percentiles {
        let label = format!("{}PercentileLatency(us)", ordinal(percent));
        let value = micros.value_at_percentile(percent);
        lines.push(line(name, &label, Value::Whole(value)));
    }
}

fn return_lines(metric: &Metric, lines: &mut Vec<Line>) {
    for (status, count) in &metric.returns {
        lines.push(line(&metric.name, &format!("Return={status}"), Value::Whole(*count)));
    }
}

/// A histogram of nanoseconds in whole microseconds, cut off as YCSB cuts them off.
pub(super) fn microseconds(nanoseconds: &Histogram) -> Histogram {
    let mut micros = empty();
    for bucket in nanoseconds.iter_recorded() {
        let value = nanoseconds.median_equivalent(bucket.value_iterated_to()) / 1_000;
        micros
            .record_n(value, bucket.count_since_last_iteration())
            .expect("a histogram that grows by itself takes every value");
    }
    micros
}

fn sum<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut total = empty();
    for histogram in histograms {
        total.add(histogram).expect("a histogram that grows by itself takes every value");
    }
    total
}

fn empty() -> Histogram {
    Histogram::new(3).expect("three significant digits are allowed")
}

#[cfg(test)]
mod tests;
