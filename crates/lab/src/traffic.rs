//! Bytes that the nodes of a lab have received or sent over TCP.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::process::Command;

use crate::network::Network;
use crate::record::{NodeRecord, Record};
use crate::usage::family;

/// The bytes of one node over the observed connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Those that came.
    pub received: u64,
    /// Those that left.
    pub sent: u64,
}

/// Counts the bytes of nodes, between them as well as to or from clients.
///
/// On loopback addresses the kernel counts by socket alone (`ss` of iproute2 tells), so what a
/// connection carried after the last reading is lost when it is closed. A namespace has a
/// counter of its own.
#[derive(Debug, Default)]
pub struct Traffic {
    /// The bytes of each socket at the last reading, by its number.
    sockets: HashMap<u64, Bytes>,
    nodes: BTreeMap<usize, Bytes>,
}

impl Traffic {
    /// No reading yet.
    pub fn new() -> Traffic {
        Traffic::default()
    }

    /// The bytes of each node by its number; nothing where the system does not tell.
    pub fn read(&mut self, record: &Record) -> BTreeMap<usize, Bytes> {
        match record.network {
            Network::Namespaces => record.nodes.iter().filter_map(of_namespace).collect(),
            Network::Loopback => {
                let reported = Command::new("ss").args(["-tineOH"]).output();
                // What it does not tell now it tells the next time.
                let Some(reported) = reported.ok().filter(|reported| reported.status.success())
                else {
                    return self.nodes.clone();
                };
                let owners = owners(&record.nodes);
                self.count(&String::from_utf8_lossy(&reported.stdout), &owners);
                self.nodes.clone()
            }
        }
    }

    /// Adds what sockets carried since the last time.
    fn count(&mut self, reported: &str, owners: &HashMap<u64, usize>) {
        let mut observed = HashMap::with_capacity(owners.len());
        for line in reported.lines() {
            let Some((socket, bytes)) = socket(line) else { continue };
            let Some(&node) = owners.get(&socket) else { continue };
            let before = self.sockets.get(&socket).copied().unwrap_or_default();
            let sum = self.nodes.entry(node).or_default();
            sum.received += bytes.received.saturating_sub(before.received);
            sum.sent += bytes.sent.saturating_sub(before.sent);
            observed.insert(socket, bytes);
        }
        self.sockets = observed;
    }
}

/// The number of a socket and what it carried, in a line of `ss`.
fn socket(line: &str) -> Option<(u64, Bytes)> {
    let number = |name: &str| {
        let word = line.split_whitespace().find_map(|word| word.strip_prefix(name))?;
        word.parse::<u64>().ok()
    };
    let received = number("bytes_received:").unwrap_or(0);
    Some((number("ino:")?, Bytes { received, sent: number("bytes_sent:").unwrap_or(0) }))
}

/// The node of each socket that a process of the lab has open.
fn owners(nodes: &[NodeRecord]) -> HashMap<u64, usize> {
    let mut owners = HashMap::new();
    for node in nodes {
        for pid in node.servers.iter().flat_map(|server| family(server.pid)) {
            let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
            let links = open.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
            for link in links {
                let name = link.to_string_lossy();
                let socket = name.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
                if let Some(socket) = socket.and_then(|socket| socket.parse().ok()) {
                    owners.insert(socket, node.number);
                }
            }
        }
    }
    owners
}

/// What the only cable of a node's namespace carried.
fn of_namespace(node: &NodeRecord) -> Option<(usize, Bytes)> {
    let pid = node.servers.first()?.pid;
    let reported = fs::read_to_string(format!("/proc/{pid}/net/dev")).ok()?;
    Some((node.number, cable(&reported)?))
}

fn cable(reported: &str) -> Option<Bytes> {
    let line = reported.lines().find_map(|line| line.trim_start().strip_prefix("eth0:"))?;
    let mut numbers = line.split_whitespace().map(|word| word.parse::<u64>().ok());
    let received = numbers.next()??;
    Some(Bytes { received, sent: numbers.nth(7)?? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "ESTAB 0 0 127.42.1.1:6379 127.0.0.1:40000 ino:11 sk:1 <-> cubic rto:204 \
                        bytes_sent:500 bytes_acked:500 bytes_received:70 segs_out:9\n\
                        ESTAB 0 0 127.0.0.1:40000 127.42.1.1:6379 ino:99 sk:2 <-> cubic \
                        bytes_sent:70 bytes_received:500\n\
                        ESTAB 0 0 127.42.1.2:7000 127.0.0.1:1 ino:12 sk:3 <-> cubic \
                        bytes_received:3\n";

    #[test]
    fn sockets_count_for_the_node_that_has_them_open() {
        let mut traffic = Traffic::new();
        let owners = HashMap::from([(11, 1), (12, 2)]);
        traffic.count(LINE, &owners);
        let expected =
            [(1, Bytes { received: 70, sent: 500 }), (2, Bytes { received: 3, sent: 0 })];
        assert_eq!(traffic.nodes, BTreeMap::from(expected));
        // The first connection is gone, the second has carried more, a new one came.
        let later = "ESTAB ino:12 bytes_received:10 bytes_sent:1\nESTAB ino:13 bytes_received:4\n";
        traffic.count(later, &HashMap::from([(12, 2), (13, 1)]));
        let expected =
            [(1, Bytes { received: 74, sent: 500 }), (2, Bytes { received: 10, sent: 1 })];
        assert_eq!(traffic.nodes, BTreeMap::from(expected));
    }

    #[test]
    fn a_namespace_has_a_counter_of_its_own() {
        let reported = "Inter-|   Receive\n face |bytes packets\n    lo: 9 9 0 0 0 0 0 0 9 9\n  \
                    eth0: 120 3 0 0 0 0 0 0 340 5 0 0 0 0 0 0\n";
        assert_eq!(cable(reported), Some(Bytes { received: 120, sent: 340 }));
        assert_eq!(cable("nothing"), None);
    }
}
