//! Observations of machines during a run: their names, one stretch of them, counts by node.

use std::collections::{BTreeMap, BTreeSet};

use assay_analysis::Window;
use assay_analysis::hallmark::{Hiccups, NetworkLoss, WorkerTime};
use assay_analysis::scraped::{self, SOURCE, Sample, ScrapedSeries};
use assay_analysis::servers::{Counted, Counters};
use assay_history::Observation;
use assay_model::Nanos;

/// The name under which the client machine is observed.
pub const CLIENT: &str = "client";

/// Parts of the machine other than its workers.
pub mod part {
    /// The machine as a whole.
    pub const MACHINE: &str = "";
    /// This process.
    pub const PROCESS: &str = "process";
}

/// What is observed; counters have grown since the run's epoch.
pub mod metric {
    /// Processor time that was used: of the machine, of the process, or of a worker.
    pub const CPU: &str = "cpu_ns";
    /// Processor time that there was, over all processors.
    pub const CAPACITY: &str = "capacity_ns";
    /// Processor time that the hypervisor gave to others.
    pub const STEAL: &str = "steal_ns";
    /// Time for which the control group's quota held the process back.
    pub const THROTTLED: &str = "throttled_ns";
    /// Time for which a worker was runnable but waited for a processor.
    pub const WAITED: &str = "waited_ns";
    /// How often a worker was taken off its processor.
    pub const PREEMPTED: &str = "preempted";
    /// TCP segments that the machine sent.
    pub const SEGMENTS: &str = "tcp_segments";
    /// Those of them that it sent again.
    pub const RETRANSMITS: &str = "tcp_retransmits";
    /// Memory that the process holds; no counter.
    pub const MEMORY: &str = "memory_bytes";
    /// Bytes that a process had the disk read.
    pub const DISK_READ: &str = "disk_read_bytes";
    /// Bytes that a process had the disk write.
    pub const DISK_WRITTEN: &str = "disk_written_bytes";
    /// Bytes that came over TCP.
    pub const RECEIVED: &str = "received_bytes";
    /// Bytes that left over TCP.
    pub const SENT: &str = "sent_bytes";
    /// One of the longest hiccups: its length, at the moment at which it began.
    pub const HICCUP: &str = "hiccup_ns";
    /// Hiccups since the row of this metric before; the part is the length in ns that they do not
    /// exceed.
    pub const HICCUPS: &str = "hiccups";
}

/// What the names of sources that are nodes begin with; the node's number follows.
pub const NODE: &str = "node-";

/// The observations of the client machine, by part and metric.
pub struct ObservedWindow<'a> {
    window: Window,
    series: BTreeMap<(&'a str, &'a str), Vec<(Nanos, f64)>>,
}

impl<'a> ObservedWindow<'a> {
    /// What `observations` say about `window`, for each client machine: one, or that of each agent
    /// of a fleet. Counters are taken between the readings around the window, so up to a quarter
    /// of a second at each of its ends enters as well.
    pub fn of_machines(observations: &'a [Observation], window: Window) -> Vec<ObservedWindow<'a>> {
        let is_client = |source: &str| {
            source.strip_prefix(CLIENT).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let sources = observations.iter().map(|one| one.source.as_str());
        let mut sources: BTreeSet<&str> = sources.filter(|source| is_client(source)).collect();
        if sources.is_empty() {
            sources.insert(CLIENT);
        }
        sources.into_iter().map(|one| ObservedWindow::of(observations, window, one)).collect()
    }

    fn of(observations: &'a [Observation], window: Window, source: &str) -> ObservedWindow<'a> {
        let mut series: BTreeMap<_, Vec<(Nanos, f64)>> = BTreeMap::new();
        for observed in observations.iter().filter(|observed| observed.source == source) {
            let key = (observed.part.as_str(), observed.metric.as_str());
            series.entry(key).or_default().push((observed.at, observed.value));
        }
        ObservedWindow { window, series }
    }

    /// How much a counter grew, with the time between the two readings.
    fn growth(&self, part: &str, metric: &str) -> Option<(f64, Nanos)> {
        let series = self.series.get(&(part, metric))?;
        let from = series.iter().rev().find(|(at, _)| *at <= self.window.from);
        let (began, before) = from.or(series.first())?;
        let until = series.iter().find(|(at, _)| *at >= self.window.until);
        let (ended, after) = until.or(series.last())?;
        (ended > began).then(|| (after - before, ended.since(*began)))
    }

    /// A counter's growth as a share of another's.
    fn share(&self, part: &str, metric: &str, of: (&str, &str)) -> Option<f64> {
        let (grown, _) = self.growth(part, metric)?;
        let (whole, _) = self.growth(of.0, of.1)?;
        (whole > 0.0).then(|| grown / whole)
    }

    /// A time counter's growth as a share of the time that passed.
    fn of_time(&self, part: &str, metric: &str) -> Option<f64> {
        let (grown, passed) = self.growth(part, metric)?;
        Some(grown / passed.0 as f64)
    }

    /// Processor time that the hypervisor gave to others, as a share of all that there was.
    pub fn steal(&self) -> Option<f64> {
        self.share(part::MACHINE, metric::STEAL, (part::MACHINE, metric::CAPACITY))
    }

    /// Share of the time for which the control group's quota held the process back.
    pub fn throttled(&self) -> Option<f64> {
        self.of_time(part::PROCESS, metric::THROTTLED)
    }

    /// TCP segments that the machine sent, and those of them that it sent again.
    pub fn network(&self) -> Option<NetworkLoss> {
        let (sent, _) = self.growth(part::MACHINE, metric::SEGMENTS)?;
        let (again, _) = self.growth(part::MACHINE, metric::RETRANSMITS)?;
        Some(NetworkLoss { segments: sent.max(0.0) as u64, retransmits: again.max(0.0) as u64 })
    }

    /// The time of each worker, by number.
    pub fn workers(&self) -> Vec<WorkerTime> {
        let parts = self.series.keys().filter_map(|(part, _)| Some((number(part)?, *part)));
        let names: BTreeMap<usize, &str> = parts.collect();
        let time = |name: &str| {
            let busy = self.of_time(name, metric::CPU)?;
            Some(WorkerTime { busy, waited: self.of_time(name, metric::WAITED), useful: None })
        };
        names.into_values().filter_map(time).collect()
    }

    /// When the system was first read after the window; readings of long runs are far apart.
    fn reading_after(&self) -> Option<Nanos> {
        let of_readings = self.series.iter().filter(|((_, metric), _)| *metric != metric::HICCUP);
        let moments = of_readings.flat_map(|(_, series)| series).map(|(at, _)| *at);
        moments.filter(|at| *at >= self.window.until).min()
    }

    /// The hiccups; none if they were not observed.
    pub fn hiccups(&self) -> Option<Hiccups> {
        let mut counts = BTreeMap::new();
        let mut was_watched = false;
        // Each row tells of the time before it, so those of the first reading after count too.
        let last = self.reading_after().unwrap_or(self.window.until);
        for ((part, name), series) in &self.series {
            let Some(length) = (*name == metric::HICCUPS).then(|| part.parse().ok()).flatten()
            else {
                continue;
            };
            was_watched = true;
            let inside = series.iter().filter(|(at, _)| *at > self.window.from && *at <= last);
            let count = inside.map(|(_, count)| *count as u64).sum();
            if count > 0 {
                counts.insert(Nanos(length), count);
            }
        }
        let longest = self.series.get(&(part::MACHINE, metric::HICCUP));
        let inside = longest.into_iter().flatten().filter(|(at, _)| self.window.contains(*at));
        let longest = inside.map(|(at, length)| (*at, Nanos(*length as u64))).collect();
        was_watched.then(|| Hiccups { counts: counts.into_iter().collect(), longest })
    }
}

/// The number of a worker by its name.
fn number(part: &str) -> Option<usize> {
    // Earlier releases called a worker a lane.
    part.strip_prefix("worker-").or_else(|| part.strip_prefix("lane-"))?.parse().ok()
}

/// What was seen of each node, in order of their numbers.
pub fn counted(observations: &[Observation]) -> Vec<Counted> {
    let mut nodes: BTreeMap<u64, Counted> = BTreeMap::new();
    for observed in observations {
        let number = observed.source.strip_prefix(NODE).and_then(|number| number.parse().ok());
        let Some(number) = number else { continue };
        let unread = || Counted { name: format!("node {number}"), readings: Vec::new() };
        let readings = &mut nodes.entry(number).or_insert_with(unread).readings;
        if readings.last().is_none_or(|last| last.at != observed.at) {
            readings.push(Counters { at: observed.at, ..Counters::default() });
        }
        let last = readings.last_mut().expect("one was pushed if there was none");
        let field = match observed.metric.as_str() {
            metric::CPU => &mut last.cpu_ns,
            metric::MEMORY => &mut last.memory,
            metric::DISK_READ => &mut last.disk_read,
            metric::DISK_WRITTEN => &mut last.disk_written,
            metric::RECEIVED => &mut last.received,
            metric::SENT => &mut last.sent,
            _ => continue,
        };
        *field = Some(observed.value);
    }
    nodes.into_values().collect()
}

/// The series that a report shows, out of all observations of a run.
pub fn scraped_series(observations: Option<&[Observation]>, window: Window) -> Vec<ScrapedSeries> {
    let observations = observations.unwrap_or_default();
    let samples = observations.iter().filter_map(|observed| {
        let source = observed.source.strip_prefix(SOURCE)?;
        let Observation { at, part, metric, value, .. } = observed;
        Some(Sample { at: *at, source, part, metric, value: *value })
    });
    scraped::series(samples, window)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[(u64, &str, &str, f64)]) -> Vec<Observation> {
        let row = |(at, part, metric, value): &(u64, &str, &str, f64)| Observation {
            at: Nanos(*at),
            source: CLIENT.to_owned(),
            part: (*part).to_owned(),
            metric: (*metric).to_owned(),
            value: *value,
        };
        rows.iter().map(row).collect()
    }

    fn window(from: u64, until: u64) -> Window {
        Window { from: Nanos(from), until: Nanos(until) }
    }

    #[test]
    fn a_worker_is_busy_between_the_readings_around_the_window() {
        let observed = rows(&[
            (0, "worker-10", "cpu_ns", 0.0),
            (100, "worker-10", "cpu_ns", 90.0),
            (200, "worker-10", "cpu_ns", 120.0),
            (300, "worker-10", "cpu_ns", 150.0),
            (900, "worker-10", "cpu_ns", 750.0),
            (0, "worker-9", "cpu_ns", 0.0),
            (400, "worker-9", "cpu_ns", 40.0),
            (0, "worker-9", "waited_ns", 0.0),
            (400, "worker-9", "waited_ns", 4.0),
            (0, "process", "cpu_ns", 0.0),
            (400, "process", "cpu_ns", 4.0),
        ]);
        let workers = ObservedWindow::of(&observed, window(120, 300), CLIENT).workers();
        let nine = WorkerTime { busy: 0.1, waited: Some(0.01), useful: None };
        assert_eq!(workers, [nine, WorkerTime { busy: 0.3, waited: None, useful: None }]);
    }

    #[test]
    fn steal_is_a_share_of_what_there_was() {
        let observed = rows(&[
            (0, "", "steal_ns", 0.0),
            (100, "", "steal_ns", 10.0),
            (0, "", "capacity_ns", 0.0),
            (100, "", "capacity_ns", 200.0),
        ]);
        let found = ObservedWindow::of(&observed, window(0, 100), CLIENT);
        assert_eq!(found.steal(), Some(0.05));
        assert_eq!(found.throttled(), None);
        assert_eq!(found.network(), None);
        assert_eq!(found.hiccups(), None);
    }

    #[test]
    fn hiccups_of_the_warm_up_are_left_out() {
        let observed = rows(&[
            (50, "1000", "hiccups", 40.0),
            (150, "1000", "hiccups", 998.0),
            (150, "9000", "hiccups", 1.0),
            (200, "5000", "hiccups", 1.0),
            (20, "", "hiccup_ns", 8_000.0),
            (120, "", "hiccup_ns", 8_900.0),
        ]);
        let found = ObservedWindow::of(&observed, window(100, 200), CLIENT).hiccups().unwrap();
        assert_eq!(found.counts.iter().map(|(_, count)| count).sum::<u64>(), 1000);
        assert_eq!(found.quantile(0.5), Some(Nanos(1000)));
        assert_eq!(found.quantile(0.999), Some(Nanos(5000)));
        assert_eq!(found.quantile(1.0), Some(Nanos(9000)));
        assert_eq!(found.longest, [(Nanos(120), Nanos(8_900))]);
    }

    #[test]
    fn the_first_reading_after_the_window_counts_however_late_it_is() {
        let seconds = 1_000_000_000;
        let observed = rows(&[
            (10 * seconds, "1000", "hiccups", 1.0),
            (14 * seconds, "", "steal_ns", 0.0),
            (14 * seconds, "1000", "hiccups", 2.0),
            (14 * seconds, "9000", "hiccups", 4.0),
            (14 * seconds + 1, "1000", "hiccups", 8.0),
            (13 * seconds, "", "hiccup_ns", 8_900.0),
        ]);
        let found = ObservedWindow::of(&observed, window(9 * seconds, 12 * seconds), CLIENT)
            .hiccups()
            .unwrap();
        assert_eq!(found.counts, [(Nanos(1000), 3), (Nanos(9000), 4)]);
    }

    #[test]
    fn a_run_without_observed_workers_has_no_shares() {
        assert_eq!(ObservedWindow::of(&[], window(0, 1), CLIENT).workers(), []);
    }

    fn of_node(at: u64, source: &str, metric: &str, value: f64) -> Observation {
        let [source, part, metric] = [source, part::PROCESS, metric].map(str::to_owned);
        Observation { at: Nanos(at), source, part, metric, value }
    }

    #[test]
    fn observations_become_the_readings_of_each_node() {
        let all = [
            of_node(1, "node-10", metric::CPU, 5.0),
            of_node(1, "node-10", metric::SENT, 7.0),
            of_node(1, "node-2", metric::MEMORY, 9.0),
            of_node(1, "client", metric::CPU, 1.0),
            of_node(2, "node-10", metric::CPU, 6.0),
        ];
        let counted = counted(&all);
        let names: Vec<&str> = counted.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["node 2", "node 10"]);
        let first =
            Counters { at: Nanos(1), cpu_ns: Some(5.0), sent: Some(7.0), ..Counters::default() };
        let second = Counters { at: Nanos(2), cpu_ns: Some(6.0), ..Counters::default() };
        assert_eq!(counted[1].readings, [first, second]);
    }
}
