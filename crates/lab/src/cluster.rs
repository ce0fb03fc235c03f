//! Cluster: the nodes of one lab, their processes, addresses, disks and folders.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::card::{Card, GivenOptions};
use crate::clock::has_movable_clocks;
use crate::disk::Disk;
use crate::error::LabError;
use crate::network::Network;
use crate::package_cache::{House, Kit};
use crate::process::Server;
use crate::proxy::Proxy;
use crate::record::{NodeRecord, Record, ServerRecord};
use crate::slot::Slot;

/// The nodes of a lab. Their processes end with it, and its network is removed.
pub(crate) struct Cluster {
    /// The facts of its recipe.
    pub(crate) card: Card,
    /// The version that was requested.
    pub(crate) version: String,
    pub(crate) options: GivenOptions,
    pub(crate) kit: Kit,
    pub(crate) nodes: Vec<Node>,
    /// How far its ports are moved.
    pub(crate) shift: u16,
    pub(crate) network: Network,
    pub(crate) slot: Slot,
    /// Where programs are.
    pub(crate) house: House,
    /// How large the disk of each node is, in MiB, if nodes have disks of their own.
    pub(crate) disk_mib: Option<u64>,
    /// What clients, or nodes among each other, go through, if they do.
    pub(crate) proxy: Option<Proxy>,
    /// Whether clients do.
    pub(crate) has_proxy: bool,
    /// Whether nodes do.
    pub(crate) has_peer_proxy: bool,
    pub(crate) folder: PathBuf,
    /// The URL for our driver; empty while it is started.
    pub(crate) url: String,
}

/// How a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    /// All its processes run.
    Up,
    /// They are suspended.
    Frozen,
    /// One of them ended, or was ended.
    Down,
}

/// A node of a lab.
pub(crate) struct Node {
    pub(crate) number: usize,
    pub(crate) folder: PathBuf,
    pub(crate) servers: Vec<Server>,
    /// Where its processes' output goes, which a fault of its disk does not touch.
    pub(crate) logs: PathBuf,
    /// Its disk, if it has one of its own; after its processes, which use it.
    pub(crate) disk: Option<Disk>,
    /// Whether it was stopped in its tracks, to go on later.
    pub(crate) is_frozen: bool,
    /// By how many milliseconds its clock was moved.
    pub(crate) clock_ms: i64,
}

impl Cluster {
    /// Whether its servers' clocks can be moved.
    pub(crate) fn has_movable_clocks(&self) -> bool {
        has_movable_clocks(&self.options)
    }

    /// The file by which the clock of node `node` is moved.
    pub(crate) fn clock_file(&self, node: usize) -> PathBuf {
        self.folder.join(format!("n{node}-clock"))
    }

    pub(crate) fn address(&self, node: usize) -> Ipv4Addr {
        self.network.address(self.slot.number, node)
    }

    /// The address under which the other nodes are told of this one.
    pub(crate) fn peer_address(&self, node: usize) -> Ipv4Addr {
        match self.has_peer_proxy {
            true => Network::entry(self.slot.number, node),
            false => self.address(node),
        }
    }

    /// Connections of the process `pid` are those of node `node`.
    pub(crate) fn register(&self, node: usize, pid: u32) {
        if let Some(proxy) = self.proxy.as_ref().filter(|_| self.has_peer_proxy) {
            proxy.add_process(node, pid);
        }
    }

    /// Opens the links between nodes that lead through a proxy, if there is one for them.
    fn link_peers(&mut self) -> Result<(), LabError> {
        let (ports, nodes) = (self.card.ports, self.nodes.len());
        for node in 1..=nodes {
            let (address, entry) = (self.address(node), self.peer_address(node));
            let Some(proxy) = self.proxy.as_mut().filter(|_| self.has_peer_proxy) else { break };
            for port in ports.iter().filter(|port| self.card.peer_ports.contains(&port.name)) {
                let exit = SocketAddr::from((address, port.number + self.shift));
                proxy.link_peers(node, nodes, entry, exit)?;
            }
        }
        Ok(())
    }

    pub(crate) fn prefix(&self, node: usize) -> Vec<String> {
        self.network.prefix(self.slot.number, node)
    }

    /// Adds a node without processes.
    pub(crate) fn add_node(&mut self) -> Result<usize, LabError> {
        let number = self.nodes.len() + 1;
        let folder = self.folder.join(format!("n{number}"));
        fs::create_dir_all(&folder).map_err(|error| LabError::io(&folder, "cannot make", error))?;
        let (logs, disk) = self.disk_of(number, &folder)?;
        self.network.add(self.slot.number, number)?;
        let servers = Vec::new();
        self.nodes.push(Node {
            number,
            folder,
            servers,
            logs,
            disk,
            is_frozen: false,
            clock_ms: 0,
        });
        self.link_peers()?;
        Ok(number)
    }

    /// The folder of a node's logs, and its disk, mounted, if nodes have disks of their own.
    fn disk_of(&self, number: usize, folder: &Path) -> Result<(PathBuf, Option<Disk>), LabError> {
        let Some(mib) = self.disk_mib else { return Ok((folder.to_owned(), None)) };
        let logs = self.folder.join(format!("n{number}-logs"));
        fs::create_dir_all(&logs).map_err(|error| LabError::io(&logs, "cannot make", error))?;
        let disk = Disk::make(folder, &self.folder.join(format!("n{number}.img")), mib)?;
        Ok((logs, Some(disk)))
    }

    /// Writes what nodes with disks of their own have in memory: a power failure must not take away
    /// what belongs to the set-up.
    pub(crate) fn sync(&self) -> Result<(), LabError> {
        self.nodes.iter().filter_map(|node| node.disk.as_ref()).try_for_each(Disk::sync)
    }

    /// Waits for the other nodes then ignore processes that have ended before.
    pub(crate) fn let_the_dead_go(&mut self) {
        for server in self.nodes.iter_mut().flat_map(|node| &mut node.servers) {
            if server.ended().is_some() {
                server.let_go();
            }
        }
    }

    /// A node with a running process, for the action `what`.
    pub(crate) fn running(&mut self, number: usize, what: &str) -> Result<&mut Node, LabError> {
        let node = self.node(number)?;
        let mut ends = node.servers.iter_mut().map(Server::ended);
        let how = ends.next().flatten();
        if how.is_some() && ends.all(|end| end.is_some()) || node.servers.is_empty() {
            let how = how.map_or_else(String::new, |how| format!(" ({how})"));
            return Err(LabError::State(format!(
                "node {number} is down{how}: there is nothing to {what}; restart starts it again"
            )));
        }
        Ok(node)
    }

    pub(crate) fn node(&mut self, node: usize) -> Result<&mut Node, LabError> {
        let count = self.nodes.len();
        let found = node.checked_sub(1).and_then(|place| self.nodes.get_mut(place));
        found.ok_or_else(|| {
            LabError::Order(format!("there is no node {node}; there are 1 to {count}"))
        })
    }

    /// What is written down about it.
    pub(crate) fn record(&self) -> Record {
        let node = |node: &Node| NodeRecord {
            number: node.number,
            address: self.address(node.number).to_string(),
            folder: node.folder.clone(),
            servers: node.servers.iter().map(Server::record).collect::<Vec<ServerRecord>>(),
        };
        Record {
            store: self.card.name.to_owned(),
            version: self.kit.version.clone(),
            url: self.url.clone(),
            network: self.network,
            holder: std::process::id(),
            nodes: self.nodes.iter().map(node).collect(),
            disk_mib: self.disk_mib,
            has_proxy: self.has_proxy,
            has_peer_proxy: self.has_peer_proxy,
            has_movable_clocks: self.has_movable_clocks(),
        }
    }

    pub(crate) fn write_down(&self) -> Result<(), LabError> {
        self.record().write(&self.folder)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.iter_mut().for_each(Node::resume_disk);
        for server in self.nodes.iter_mut().flat_map(|node| &mut node.servers) {
            server.kill();
        }
        self.network.remove(self.slot.number);
    }
}

impl Node {
    pub(crate) fn has_stalled_disk(&self) -> bool {
        self.disk.as_ref().is_some_and(Disk::is_to_stall)
    }

    /// A process that waits for its disk cannot even be killed.
    pub(crate) fn resume_disk(&mut self) {
        if let Some(disk) = &mut self.disk {
            // If the kernel does not let it, nobody can.
            let _ = disk.resume();
        }
    }

    pub(crate) fn state(&mut self) -> NodeState {
        let ended = |server: &mut Server| server.ended().is_some();
        if self.servers.is_empty() || self.servers.iter_mut().any(ended) {
            NodeState::Down
        } else if self.is_frozen {
            NodeState::Frozen
        } else {
            NodeState::Up
        }
    }
}
