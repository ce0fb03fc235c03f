//! Dialer of a connection: which node's process has opened it.

use std::fs;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::usage::{family, started};

/// The kernel's list of TCP sockets over IPv4.
const SOCKETS: &str = "/proc/net/tcp";

/// The processes of the nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Dialers {
    processes: Arc<Mutex<Vec<Process>>>,
}

#[derive(Clone, Copy, Debug)]
struct Process {
    node: usize,
    pid: u32,
    /// When it was started, which tells it from another one of the same number.
    started: Option<u64>,
}

impl Process {
    fn is_there(&self) -> bool {
        self.started.is_some() && started(self.pid) == self.started
    }
}

impl Dialers {
    /// A process of node `node` was started.
    pub(super) fn add(&self, node: usize, pid: u32) {
        let mut processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        processes.retain(Process::is_there);
        processes.push(Process { node, pid, started: started(pid) });
    }

    /// The node whose process, or a child of it, has the socket at `client` that is connected to
    /// `entry`; `None` if none has it.
    pub(super) fn node_of(&self, client: SocketAddr, entry: SocketAddr) -> Option<usize> {
        let processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if processes.is_empty() {
            return None;
        }
        let socket = socket(&fs::read_to_string(SOCKETS).ok()?, client, entry)?;
        let name = format!("socket:[{socket}]");
        let has_it = |pid: u32| {
            let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            let mut targets = open.filter_map(|entry| fs::read_link(entry.path()).ok());
            targets.any(|target| target.as_os_str() == name.as_str())
        };
        let there = processes.iter().filter(|process| process.is_there());
        there
            .filter(|process| family(process.pid).into_iter().any(has_it))
            .map(|process| process.node)
            .next()
    }
}

/// The number of the socket with these addresses in the kernel's list: local address, remote
/// address, eight columns on the inode (`proc(5)`).
fn socket(list: &str, local: SocketAddr, remote: SocketAddr) -> Option<u64> {
    let (local, remote) = (written(local)?, written(remote)?);
    list.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_it = words.next()? == local && words.next()? == remote;
        is_it.then(|| words.nth(6)?.parse().ok())?
    })
}

/// An address as the kernel's list has it: the bytes of the address as a number of this machine,
/// the port, in hexadecimal digits.
fn written(address: SocketAddr) -> Option<String> {
    let SocketAddr::V4(address) = address else { return None };
    let number = u32::from_ne_bytes(address.ip().octets());
    Some(format!("{number:08X}:{:04X}", address.port()))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_belongs_to_the_node_whose_process_has_opened_it() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let entry = listener.local_addr().expect("it has one");
        let socket = TcpStream::connect(entry).expect("it listens");
        let client = socket.local_addr().expect("it has one");
        let dialers = Dialers::default();
        assert_eq!(dialers.node_of(client, entry), None, "no process is known");
        dialers.add(7, std::process::id());
        assert_eq!(dialers.node_of(client, entry), Some(7));
        assert_eq!(dialers.node_of(entry, client), None, "it was not accepted yet");
        drop(socket);
        assert_eq!(dialers.node_of(client, entry), None);
    }

    #[test]
    fn sockets_are_found_by_both_addresses() {
        let list = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n   \
                    0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     \
                    0        0 11 1 0\n   \
                    1: 0100007F:9C40 01012A7F:18EB 01 00000000:00000000 00:00000000 00000000     \
                    0        0 12 1 0\n";
        let [local, remote, other] = ["127.0.0.1:40000", "127.42.1.1:6379", "127.42.1.2:6379"]
            .map(|address| address.parse().expect("it is one"));
        if cfg!(target_endian = "little") {
            assert_eq!(socket(list, local, remote), Some(12));
        }
        assert_eq!(socket(list, local, other), None);
    }
}
