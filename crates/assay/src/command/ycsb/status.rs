//! YCSB's status lines while a run goes on.

use std::time::SystemTime;

use assay_live::interval::{KINDS, Totals};
use assay_live::progress::{Observer, ProgressSnapshot};
use assay_model::{Kind, Nanos};
use assay_report::ycsb::{Form, MeasurementType, PERCENTILES, StatusLine, StatusMetric};
use assay_run::{Latencies, WorkerStats};
use assay_workload::ycsb::{ClientOptions, Interval};

use super::result::measurement_type;
use super::version::Version;
use crate::show::put;

/// Prints a line at once, every `status.interval`, and at the end; about service or response time,
/// or both.
pub fn run_observer(
    options: &ClientOptions,
    version: Version,
    goal: Option<u64>,
) -> Box<dyn Observer> {
    Box::new(printer(options, version, goal))
}

fn printer(options: &ClientOptions, version: Version, goal: Option<u64>) -> Printer {
    Printer {
        label: options.label.clone(),
        goal,
        interval: options.interval,
        measurement_type: measurement_type(options),
        version,
        observed: [false; KINDS],
        every: Nanos::from_secs(options.status_interval),
        fresh: WorkerStats::default(),
        totals: Totals::default(),
        elapsed: Nanos::ZERO,
        next: Nanos::ZERO,
        before: (0, Nanos::ZERO),
    }
}

struct Printer {
    label: String,
    goal: Option<u64>,
    interval: Interval,
    measurement_type: MeasurementType,
    version: Version,
    /// Kinds with completed operations: they stay in the lines.
    observed: [bool; KINDS],
    every: Nanos,
    fresh: WorkerStats,
    totals: Totals,
    elapsed: Nanos,
    next: Nanos,
    before: (u64, Nanos),
}

impl Observer for Printer {
    fn see(&mut self, progress_snapshot: &ProgressSnapshot<'_>) {
        self.fresh.add(progress_snapshot.stats);
        self.totals.add(progress_snapshot.stats);
        self.elapsed = progress_snapshot.elapsed;
        if progress_snapshot.elapsed >= self.next {
            self.print();
            self.next = progress_snapshot.elapsed + self.every;
        }
    }

    fn leave(&mut self) {
        self.print();
    }
}

impl Printer {
    fn print(&mut self) {
        // One of YCSB's operations is a process here: a read-modify-write is one, of two requests.
        let operations = self.totals.processes;
        let metrics = self.metrics();
        let wall_clock = wall_clock();
        let line = StatusLine {
            label: &self.label,
            wall_clock: &wall_clock,
            elapsed: self.elapsed,
            operations,
            remaining: self.goal.map_or(0, |goal| goal.saturating_sub(operations)),
            interval: self.elapsed.since(self.before.1),
            interval_operations: operations - self.before.0,
            measurement_type: self.measurement_type,
            metrics: &metrics,
        };
        eprintln!("{}", line.text());
        if self.measurement_type.has(Form::Series) {
            // As in YCSB; a closed output is reported by the result.
            let _ = put(&format!("{}\n", line.text()), None);
        }
        self.before = (operations, self.elapsed);
        self.fresh.clear();
    }
}

impl Printer {
    /// Op latencies under the names of their kinds, then intended ones. Alone they keep the names.
    fn metrics(&mut self) -> Vec<StatusMetric> {
        for (kind, observed) in self.observed.iter_mut().enumerate() {
            *observed |= self.fresh.service[kind].count + self.fresh.response[kind].count > 0;
        }
        let (service, response) = (&self.fresh.service, &self.fresh.response);
        let parts: &[_] = match self.interval {
            Interval::Op => &[("", service)],
            Interval::Intended => &[("", response)],
            Interval::Both => &[("", service), ("Intended-", response)],
        };
        let mut metrics = Vec::new();
        for (prefix, latencies) in parts {
            for kind in Kind::ALL.into_iter().filter(|kind| self.observed[*kind as usize]) {
                let name = format!("{prefix}{}", kind.name().to_uppercase());
                metrics.push(metric(name, &latencies[kind as usize], self.version));
            }
        }
        metrics
    }
}

fn metric(name: String, latencies: &Latencies, version: Version) -> StatusMetric {
    let us = |nanos: u64| nanos / 1000;
    let median = version.shows_medians().then_some(("50", 0.5));
    let shares = median.into_iter().chain(PERCENTILES);
    let mean_us = latencies.sum as f64 / latencies.count as f64 / 1e3;
    let (min_us, mean_us) = match (latencies.count, version) {
        (0, Version::V0_17) => (i64::MAX as u64, f64::NAN),
        (0, Version::V0_18) => (0, 0.0),
        _ => (us(latencies.min), mean_us),
    };
    StatusMetric {
        name,
        count: latencies.count,
        max_us: us(latencies.max),
        min_us,
        mean_us,
        percentiles_us: shares
            .map(|(label, share)| (label, us(latencies.quantile(share).0)))
            .collect(),
    }
}

/// `yyyy-MM-dd HH:mm:ss:SSS`, in UTC: a log is read elsewhere than it was written.
fn wall_clock() -> String {
    let text = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    text.replace('T', " ").replace('Z', "").replace('.', ":")
}

#[cfg(test)]
mod tests {
    use std::iter;

    use assay_workload::spec::no_files;
    use assay_workload::ycsb::{Properties, Strictness, read};

    use super::*;

    #[test]
    fn percentiles_are_those_that_their_names_say() {
        let mut latencies = Latencies::default();
        (1..=10_000).for_each(|us| latencies.record(Nanos::from_micros(us)));
        let read = metric("READ".to_owned(), &latencies, Version::V0_17);
        assert_eq!((read.count, read.min_us, read.max_us), (10_000, 1, 10_000));
        let expected = [9_000.0, 9_900.0, 9_990.0, 9_999.0];
        for ((label, actual), expected) in iter::zip(&read.percentiles_us, expected) {
            // The buckets are coarse.
            assert!((*actual as f64 / expected - 1.0).abs() < 0.1, "{label}: {actual}");
        }
    }

    #[test]
    fn a_metric_of_which_something_was_done_stays() {
        let mut printer = printer(&options("op"), Version::V0_17, None);
        assert!(printer.metrics().is_empty());
        printer.fresh.service[Kind::Read as usize].record(Nanos::from_micros(7));
        printer.metrics();
        printer.fresh.clear();
        let metrics = printer.metrics();
        assert_eq!((metrics.len(), metrics[0].count, metrics[0].min_us), (1, 0, i64::MAX as u64));
        printer.version = Version::V0_18;
        assert_eq!(printer.metrics()[0].min_us, 0);
    }

    #[test]
    fn the_newer_version_shows_the_median() {
        let mut latencies = Latencies::default();
        latencies.record(Nanos::from_micros(7));
        let read = metric("READ".to_owned(), &latencies, Version::V0_18);
        assert_eq!(read.percentiles_us[0].0, "50");
    }

    fn options(interval: &str) -> ClientOptions {
        let text = format!("recordcount=1\nmeasurement.interval={interval}");
        let properties = Properties::parse(text.as_bytes(), "test").unwrap();
        read(&properties, Strictness::Ycsb, &no_files).unwrap().options
    }

    #[test]
    fn both_intervals_have_metrics_of_their_own() {
        for (interval, expected) in
            [("op", &["READ"][..]), ("intended", &["READ"]), ("both", &["READ", "Intended-READ"])]
        {
            let mut printer = printer(&options(interval), Version::V0_17, None);
            printer.fresh.service[0].record(Nanos::from_micros(7));
            printer.fresh.response[0].record(Nanos::from_micros(8));
            let names: Vec<String> = printer.metrics().into_iter().map(|one| one.name).collect();
            assert_eq!(names, expected, "{interval}");
        }
    }
}
