//! Observes the servers of a lab under load: their resources, and whether they are alive.
//!
//! A thread of its own, because a look takes milliseconds: who measures hiccups must not have them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use assay_history::Observation;
use assay_lab::{Record, Traffic, Usage, is_held};
use assay_model::{Event, EventKind, Nanos};
use assay_results::observed::{NODE, metric, part};
use assay_run::{Clock, Control, Wall};

use crate::actions::{MARK, begun};

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

#[cfg(test)]
mod tests {
    use super::*;

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
