//! YCSB's status lines while a run goes on.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};
use std::{iter, thread};

use assay_model::{Kind, Nanos, Outcome};
use assay_report::ycsb::{StatusLine, StatusMetric};
use assay_run::{Gauge, Latencies, Latency, Snapshot};
use assay_workload::ycsb::ClientOptions;

use super::Flag;
use crate::experiment::Watcher;

/// How often it is looked whether the run is over.
const LOOK: Duration = Duration::from_millis(20);

/// Prints a line at once, every `status.interval`, and at the end.
pub fn watcher(options: &ClientOptions, goal: Option<u64>) -> Watcher {
    let interval = Duration::from_secs(options.status_interval);
    let label = options.label.clone();
    Box::new(move |gauges, is_over| {
        let begun = Instant::now();
        let mut printer = Printer { label, goal, begun, before: (0, Duration::ZERO) };
        printer.print(gauges);
        while wait(is_over, &begun, printer.before.1 + interval) {
            printer.print(gauges);
        }
        printer.print(gauges);
    })
}

/// Waits until `moment`; false if the run is over before.
fn wait(is_over: &Flag, begun: &Instant, moment: Duration) -> bool {
    while begun.elapsed() < moment {
        if is_over.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

struct Printer {
    label: String,
    goal: Option<u64>,
    begun: Instant,
    before: (u64, Duration),
}

impl Printer {
    fn print(&mut self, gauges: &[Gauge]) {
        let now = self.begun.elapsed();
        let mut snapshot = Snapshot::default();
        gauges.iter().for_each(|gauge| gauge.take(&mut snapshot));
        let tally = &snapshot.tally;
        let operations = self.before.0 + tally.with(Outcome::Done) + tally.failed();
        let latencies = match gauges[0].latency() {
            Latency::Response => &tally.response,
            Latency::Service | Latency::Both => &tally.service,
        };
        let metrics: Vec<StatusMetric> = iter::zip(Kind::ALL, latencies)
            .filter(|(_, latencies)| latencies.count > 0)
            .map(|(kind, latencies)| metric(kind, latencies))
            .collect();
        let wall_clock = wall_clock();
        let line = StatusLine {
            label: &self.label,
            wall_clock: &wall_clock,
            elapsed: Nanos::from(now),
            operations,
            remaining: self.goal.map_or(0, |goal| goal.saturating_sub(operations)),
            interval: Nanos::from(now - self.before.1),
            interval_operations: operations - self.before.0,
            metrics: &metrics,
        };
        eprintln!("{}", line.text());
        self.before = (operations, now);
    }
}

fn metric(kind: Kind, latencies: &Latencies) -> StatusMetric {
    let us = |nanos: u64| nanos / 1000;
    StatusMetric {
        name: kind.name().to_uppercase(),
        count: latencies.count,
        max_us: us(latencies.max),
        min_us: us(latencies.min),
        mean_us: latencies.sum as f64 / latencies.count as f64 / 1e3,
        percentiles_us: [0.5, 0.9, 0.99, 0.999].map(|q| us(latencies.quantile(q).0)),
    }
}

/// `yyyy-MM-dd HH:mm:ss:SSS`, in UTC: a log is read elsewhere than it was written.
fn wall_clock() -> String {
    let text = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    text.replace('T', " ").replace('Z', "").replace('.', ":")
}
