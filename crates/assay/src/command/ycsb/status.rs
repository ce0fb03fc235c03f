//! YCSB's status lines while a run goes on.

use std::iter;
use std::time::SystemTime;

use assay_model::{Kind, Nanos};
use assay_report::ycsb::{PERCENTILES, StatusLine, StatusMetric};
use assay_run::{Latencies, Latency, WorkerStats};
use assay_workload::ycsb::ClientOptions;

use crate::live::interval::Totals;
use crate::progress::{Observer, ProgressSnapshot};

/// Prints a line at once, every `status.interval`, and at the end; about service or response.
pub fn run_observer(
    options: &ClientOptions,
    goal: Option<u64>,
    latency: Latency,
) -> Box<dyn Observer> {
    Box::new(Printer {
        label: options.label.clone(),
        goal,
        latency,
        every: Nanos::from_secs(options.status_interval),
        fresh: WorkerStats::default(),
        totals: Totals::default(),
        elapsed: Nanos::ZERO,
        next: Nanos::ZERO,
        before: (0, Nanos::ZERO),
    })
}

struct Printer {
    label: String,
    goal: Option<u64>,
    latency: Latency,
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
        let latencies = match self.latency {
            Latency::Response => &self.fresh.response,
            Latency::Service | Latency::Both => &self.fresh.service,
        };
        let metrics: Vec<StatusMetric> = iter::zip(Kind::ALL, latencies)
            .filter(|(_, latencies)| latencies.count > 0)
            .map(|(kind, latencies)| metric(kind, latencies))
            .collect();
        let wall_clock = wall_clock();
        let line = StatusLine {
            label: &self.label,
            wall_clock: &wall_clock,
            elapsed: self.elapsed,
            operations,
            remaining: self.goal.map_or(0, |goal| goal.saturating_sub(operations)),
            interval: self.elapsed.since(self.before.1),
            interval_operations: operations - self.before.0,
            metrics: &metrics,
        };
        eprintln!("{}", line.text());
        self.before = (operations, self.elapsed);
        self.fresh.clear();
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
        percentiles_us: PERCENTILES.map(|(_, share)| us(latencies.quantile(share).0)),
    }
}

/// `yyyy-MM-dd HH:mm:ss:SSS`, in UTC: a log is read elsewhere than it was written.
fn wall_clock() -> String {
    let text = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    text.replace('T', " ").replace('Z', "").replace('.', ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_that_their_names_say() {
        let mut latencies = Latencies::default();
        (1..=10_000).for_each(|us| latencies.record(Nanos::from_micros(us)));
        let reported = metric(Kind::Read, &latencies);
        assert_eq!((reported.count, reported.min_us, reported.max_us), (10_000, 1, 10_000));
        let expected = [9_000.0, 9_900.0, 9_990.0, 9_999.0];
        for (found, expected) in iter::zip(reported.percentiles_us, expected) {
            // The buckets are coarse.
            assert!((found as f64 / expected - 1.0).abs() < 0.1, "{:?}", reported.percentiles_us);
        }
    }
}
