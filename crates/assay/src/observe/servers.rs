//! Observes the servers of a lab under load: their resources, and whether they are alive.
//!
//! A thread of its own, because a look takes milliseconds: who measures hiccups must not have them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use assay_analysis::servers::{Counted, Counters};
use assay_history::Observation;
use assay_lab::{Record, Traffic, Usage, is_held};
use assay_model::{Event, EventKind, Nanos};
use assay_run::{Clock, Control, Wall};

use super::{metric, part};
use crate::actions::{MARK, begun};

/// What the names of sources that are nodes begin with; the node's number follows.
const NODE: &str = "node-";
/// How often servers are looked at.
const EVERY: Nanos = Nanos::from_millis(1000);
/// How long the thread that waits for the next check sleeps at a time.
const NAP: Nanos = Nanos::from_millis(50);
/// Looks that are kept: of a longer run there are the first twelve hours.
const MOST_LOOKS: usize = 43_200;

/// The observations of a lab during a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// The resource use of its servers, in order of time.
    pub observations: Vec<Observation>,
    /// The unexpected ends: of servers, of the lab itself.
    pub events: Vec<Event>,
    /// Whether the lab ended before the run did.
    pub is_lab_gone: bool,
}

/// Watches the lab in `folder` until the flag is up.
///
/// Nothing is seen if the run never begins.
pub fn watch(folder: &Path, control: &Control, is_over: &AtomicBool) -> Watched {
    let mut watched = Watched::default();
    let mut traffic = Traffic::new();
    let mut known = BTreeSet::new();
    let Some(clock) = begun(control, is_over) else { return watched };
    let mut due = clock.now();
    for _ in 0..MOST_LOOKS {
        // While nodes come or go there may be nothing to read for a moment.
        if let Ok(Some(record)) = Record::read(folder) {
            watched.see_deaths(&record, &clock, &mut known);
            look(clock.now(), &record, &mut traffic, &mut watched.observations);
        }
        due = due.max(clock.now()) + EVERY;
        while clock.now() < due {
            watched.see_end(folder, clock.now());
            if is_over.load(Ordering::Relaxed) {
                if let Ok(Some(record)) = Record::read(folder) {
                    watched.see_deaths(&record, &clock, &mut known);
                }
                return watched;
            }
            clock.sleep_until(due.min(clock.now() + NAP));
        }
    }
    watched
}

impl Watched {
    /// Notes the servers that have ended by themselves, each once; not those that had before.
    fn see_deaths(&mut self, record: &Record, clock: &Wall, known: &mut BTreeSet<(u32, u64)>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let servers = record
            .nodes
            .iter()
            .flat_map(|node| node.servers.iter().map(move |server| (node.number, server)));
        for (node, server) in servers {
            let Some(died) = &server.died else { continue };
            let ago = (now.as_millis() as u64).saturating_sub(died.unix_ms);
            let ago = Nanos::from_millis(ago);
            if ago <= clock.now() && known.insert((server.pid, server.started)) {
                let at = Nanos(clock.now().0 - ago.0);
                let (role, how) = (&server.role, &died.how);
                let text = format!("{MARK}the {role} of node {node} ended by itself ({how})");
                self.events.push(Event { at, kind: EventKind::Fault, text });
            }
        }
    }

    /// Notes the end of the lab, once: its supervisor is gone.
    fn see_end(&mut self, folder: &Path, at: Nanos) {
        if self.is_lab_gone || is_held(folder) {
            return;
        }
        self.is_lab_gone = true;
        let text = format!("{MARK}its supervisor ended, its servers with it");
        self.events.push(Event { at, kind: EventKind::Fault, text });
    }
}

fn look(at: Nanos, record: &Record, traffic: &mut Traffic, into: &mut Vec<Observation>) {
    let carried = traffic.read(record);
    for node in &record.nodes {
        let used = node.servers.iter().map(|server| Usage::of_family(server.pid));
        let used = used.fold(Usage::default(), Usage::plus);
        let carried = carried.get(&node.number);
        let values = [
            (metric::CPU, used.cpu_ns),
            (metric::MEMORY, used.memory_bytes),
            (metric::DISK_READ, used.disk_read_bytes),
            (metric::DISK_WRITTEN, used.disk_written_bytes),
            (metric::RECEIVED, carried.map(|bytes| bytes.received)),
            (metric::SENT, carried.map(|bytes| bytes.sent)),
        ];
        for (metric, value) in values {
            let Some(value) = value else { continue };
            into.push(Observation {
                at,
                source: format!("{NODE}{}", node.number),
                part: part::PROCESS.to_owned(),
                metric: metric.to_owned(),
                value: value as f64,
            });
        }
    }
}

/// What was seen of each node, in order of their numbers.
pub fn counted(observations: &[Observation]) -> Vec<Counted> {
    let mut nodes: Vec<(u64, Counted)> = Vec::new();
    for observed in observations {
        let number = observed.source.strip_prefix(NODE).and_then(|number| number.parse().ok());
        let Some(number) = number else { continue };
        let place = nodes.iter().position(|(other, _)| *other == number).unwrap_or_else(|| {
            let name = format!("node {number}");
            nodes.push((number, Counted { name, readings: Vec::new() }));
            nodes.len() - 1
        });
        let readings = &mut nodes[place].1.readings;
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
    nodes.sort_by_key(|(number, _)| *number);
    nodes.into_iter().map(|(_, counted)| counted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(at: u64, source: &str, metric: &str, value: f64) -> Observation {
        let [source, part, metric] = [source, part::PROCESS, metric].map(str::to_owned);
        Observation { at: Nanos(at), source, part, metric, value }
    }

    #[test]
    fn observations_become_the_readings_of_each_node() {
        let all = [
            observed(1, "node-10", metric::CPU, 5.0),
            observed(1, "node-10", metric::SENT, 7.0),
            observed(1, "node-2", metric::MEMORY, 9.0),
            observed(1, "client", metric::CPU, 1.0),
            observed(2, "node-10", metric::CPU, 6.0),
        ];
        let counted = counted(&all);
        let names: Vec<&str> = counted.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["node 2", "node 10"]);
        let first =
            Counters { at: Nanos(1), cpu_ns: Some(5.0), sent: Some(7.0), ..Counters::default() };
        let second = Counters { at: Nanos(2), cpu_ns: Some(6.0), ..Counters::default() };
        assert_eq!(counted[1].readings, [first, second]);
    }

    #[test]
    fn a_death_is_an_event_at_the_moment_at_which_it_was_noticed() {
        let unix_ms =
            |moment: SystemTime| moment.duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        let clock = Wall::starting_in(std::time::Duration::ZERO, assay_run::Spin::Never);
        clock.sleep_until(Nanos::from_millis(30));
        let server = |pid: u32, died: u64| {
            serde_json::json!({
                "role": "server", "pid": pid, "started": 1, "log": "",
                "died": { "unix_ms": died, "how": "exit status: 1" },
            })
        };
        let now = unix_ms(SystemTime::now());
        let record: Record = serde_json::from_value(serde_json::json!({
            "store": "etcd", "version": "", "url": "", "network": "loopback", "holder": 1,
            "nodes": [{
                "number": 2, "address": "", "folder": "",
                "servers": [server(7, now - 10), server(8, now - 100_000)],
            }],
        }))
        .unwrap();
        let (mut watched, mut known) = (Watched::default(), BTreeSet::new());
        for _ in 0..2 {
            watched.see_deaths(&record, &clock, &mut known);
        }
        let [event] = &watched.events[..] else { panic!("{watched:?}") };
        assert_eq!(event.text, "lab: the server of node 2 ended by itself (exit status: 1)");
        assert_eq!(event.kind, EventKind::Fault);
        assert!(event.at >= Nanos::from_millis(19) && event.at < clock.now(), "{event:?}");
    }

    #[test]
    fn a_run_that_never_begins_shows_nothing() {
        let nowhere = Path::new("/nowhere");
        let watched = watch(nowhere, &Control::new(), &AtomicBool::new(true));
        assert_eq!(watched, Watched::default());
    }
}
