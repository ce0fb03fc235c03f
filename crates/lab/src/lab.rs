//! A cluster that runs on this machine, owned by this value.

mod ground;
mod inject;
mod order;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::clock::has_movable_clocks;
use crate::disk::{self, Disk};
use crate::network::Network;
use crate::network::cut::{self, Cuts};
use crate::package_cache::{Kit, PackageCache};
use crate::process::Server;
use crate::proxy::{Now, Proxy};
use crate::recipe::Recipe;
use crate::record::{NodeRecord, Record, ServerRecord};
use crate::site::Site;
use crate::slot::Slot;
use crate::tool::Watch;

pub use crate::error::LabError;
pub use ground::{Ground, clean, is_held, is_marked};
pub use inject::{Premises, check_injection, check_programs};
pub use order::{House, Order, check_scale};

/// How long a cluster that formed may take until a record can be written and read.
const SECONDS_TO_ANSWER: u32 = 120;

/// A running cluster. Its processes end with it, whether it is dropped or its holder is killed:
/// the thread that started them must live as long as they shall.
pub struct Lab {
    pub(crate) recipe: &'static dyn Recipe,
    pub(crate) version: String,
    pub(crate) choices: BTreeMap<String, String>,
    pub(crate) kit: Kit,
    pub(crate) nodes: Vec<Node>,
    /// How far its ports are moved.
    pub(crate) shift: u16,
    network: Network,
    slot: Slot,
    /// The links between its nodes that are cut.
    cuts: Cuts,
    /// Where programs are.
    house: House,
    /// How large the disk of each node is, in MiB, if nodes have disks of their own.
    disk_mib: Option<u64>,
    /// What clients, or nodes among each other, go through, if they do.
    proxy: Option<Proxy>,
    /// Whether clients do.
    has_proxy: bool,
    /// Whether nodes do.
    has_peer_proxy: bool,
    /// The time, for what is measured of disks.
    now: Option<Now>,
    folder: PathBuf,
    url: String,
    _ground: Ground,
}

/// A node of a lab.
pub(crate) struct Node {
    pub(crate) number: usize,
    pub(crate) folder: PathBuf,
    pub(crate) servers: Vec<Server>,
    /// Where its processes' output goes, which a fault of its disk does not touch.
    pub(crate) logs: PathBuf,
    /// Its disk, if it has one of its own; after its processes, which use it.
    disk: Option<Disk>,
    /// Whether it was stopped in its tracks, to go on later.
    is_frozen: bool,
    /// By how many milliseconds its clock was moved.
    clock_ms: i64,
}

/// A node as it is seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// What is written down about it.
    pub record: NodeRecord,
    /// How it is.
    pub state: NodeState,
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

impl Lab {
    /// Starts what is ordered in `folder`, which becomes the lab's. Ready when `probe`, given the
    /// URL, has written a record and read it.
    ///
    /// # Errors
    /// If the order is invalid, programs are missing, the folder belongs to another user, the disk
    /// is too small, a server does not start, or the cluster does not answer. Nothing runs then;
    /// the folder stays, for its logs.
    pub fn up(
        order: &Order,
        folder: &Path,
        house: &House,
        watch: &Watch<'_>,
        probe: &mut dyn FnMut(&str) -> Result<(), String>,
    ) -> Result<Lab, LabError> {
        order.check(&order.recipe.card())?;
        Lab::up_on(order, Ground::claim(folder)?, house, watch, probe)
    }

    /// As [`Lab::up`], in a folder that has been claimed already.
    ///
    /// # Errors
    /// As for [`Lab::up`].
    pub fn up_on(
        order: &Order,
        ground: Ground,
        house: &House,
        watch: &Watch<'_>,
        probe: &mut dyn FnMut(&str) -> Result<(), String>,
    ) -> Result<Lab, LabError> {
        let recipe = order.recipe;
        let card = recipe.card();
        let (nodes, version) = order.check(&card)?;
        if let Some(mib) = order.disk_mib {
            disk::check_disks(mib, card.disk_mib)?;
        }
        // When its power fails, a disk is copied.
        let of_node = order.disk_mib.map_or(card.disk_mib, |mib| 2 * mib);
        check_disk(ground.folder(), of_node * nodes as u64)?;
        let package_cache = PackageCache::new(house, watch);
        let kit = recipe.fetch(&version, &package_cache)?;
        if order.network == Network::Namespaces && house.may_install {
            // A lab without partitions is better than none.
            if let Err(error) = package_cache.debian(cut::NFT, cut::PACKAGE) {
                watch.check()?;
                watch.tell(&format!("links between nodes cannot be cut: {error}"));
            }
        }
        let slot = Slot::claim()?;
        order.network.build(slot.number)?;
        // Later nodes need the same ports to be free.
        let most = (*card.nodes.allowed.end()).max(nodes);
        let shift = order.network.shift(slot.number, most, card.ports)?;
        if shift > 0 {
            watch.tell(&format!("somebody has the usual ports; all are moved up by {shift}"));
        }
        let folder = ground.folder().to_owned();
        let mut lab = Lab {
            recipe,
            version,
            choices: order.choices.clone(),
            kit,
            nodes: Vec::new(),
            shift,
            network: order.network,
            slot,
            cuts: Cuts::new(),
            house: house.clone(),
            disk_mib: order.disk_mib,
            proxy: order.proxy.or(order.peer_proxy).map(Proxy::start).transpose()?,
            has_proxy: order.proxy.is_some(),
            has_peer_proxy: order.peer_proxy.is_some(),
            now: order.now,
            folder,
            url: String::new(),
            _ground: ground,
        };
        for _ in 0..nodes {
            lab.add_node()?;
        }
        lab.write_down()?;
        watch.tell(&format!("starting {} of {} {}", count(nodes), card.name, lab.kit.version));
        recipe.start(&mut lab.site(watch))?;
        lab.url = lab.url_of(recipe, watch)?;
        lab.answers(watch, probe)?;
        if lab.disk_mib.is_some() {
            lab.sync()?;
            watch.tell(&format!("disks: {}", disk::unsynced()));
        }
        lab.write_down()?;
        Ok(lab)
    }

    fn site<'a>(&'a mut self, watch: &'a Watch<'a>) -> Site<'a> {
        Site { lab: self, watch }
    }

    /// Waits until a record was written and read.
    fn answers(
        &mut self,
        watch: &Watch<'_>,
        probe: &mut dyn FnMut(&str) -> Result<(), String>,
    ) -> Result<(), LabError> {
        let url = self.url.clone();
        watch.tell("waiting until a record is written and read");
        let mut said = String::new();
        let waited = self.site(watch).wait_until("it to answer", SECONDS_TO_ANSWER, |_| {
            Ok(probe(&url).map_err(|reason| said = reason).is_ok())
        });
        waited.map_err(|error| match error {
            LabError::Failed(reason) => LabError::Failed(format!("{said}; {reason}")),
            other => other,
        })
    }

    pub(crate) fn house(&self) -> House {
        self.house.clone()
    }

    /// Whether its servers' clocks can be moved.
    pub(crate) fn has_movable_clocks(&self) -> bool {
        has_movable_clocks(&self.choices)
    }

    /// The file by which the clock of node `node` is moved.
    pub(crate) fn clock_file(&self, node: usize) -> PathBuf {
        self.folder.join(format!("n{node}-clock"))
    }

    /// The URL for our driver: through the proxy, if there is one.
    fn url_of(&mut self, recipe: &dyn Recipe, watch: &Watch<'_>) -> Result<String, LabError> {
        let mut url = recipe.url(&self.site(watch));
        let (slot, shift) = (self.slot.number, self.shift);
        for node in 1..=self.nodes.len() {
            let address = self.address(node);
            let Some(proxy) = self.proxy.as_mut().filter(|_| self.has_proxy) else { break };
            for port in recipe.card().ports {
                let exit = SocketAddr::from((address, port.number + shift));
                if url.contains(&exit.to_string()) {
                    let entry = proxy.link(node, Network::entry(slot, node), exit)?;
                    url = url.replace(&exit.to_string(), &entry.to_string());
                }
            }
        }
        Ok(url)
    }

    /// The URL for our driver.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The recipe's name.
    pub fn store(&self) -> &'static str {
        self.recipe.card().name
    }

    /// The version of the programs, as they tell it.
    pub fn version(&self) -> &str {
        &self.kit.version
    }

    /// The lab's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
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
        let (ports, nodes) = (self.recipe.card().ports, self.nodes.len());
        for node in 1..=nodes {
            let (address, entry) = (self.address(node), self.peer_address(node));
            let Some(proxy) = self.proxy.as_mut().filter(|_| self.has_peer_proxy) else { break };
            for port in ports.iter().filter(|port| self.recipe.peer_ports().contains(&port.name)) {
                let exit = SocketAddr::from((address, port.number + self.shift));
                proxy.link_peers(node, nodes, entry, exit)?;
            }
        }
        Ok(())
    }

    pub(crate) fn prefix(&self, node: usize) -> Vec<String> {
        self.network.prefix(self.slot.number, node)
    }

    fn add_node(&mut self) -> Result<usize, LabError> {
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
    fn sync(&self) -> Result<(), LabError> {
        self.nodes.iter().filter_map(|node| node.disk.as_ref()).try_for_each(Disk::sync)
    }

    /// Ends the last node and forgets it, data included.
    fn remove_node(&mut self) {
        let Some(mut node) = self.nodes.pop() else { return };
        node.resume_disk();
        node.servers.iter_mut().for_each(Server::end);
        node.disk = None;
        self.network.take_away(self.slot.number, node.number);
        self.forget_cuts();
        if let Some(proxy) = &self.proxy {
            proxy.heal(&[node.number]);
        }
        let _ = fs::remove_file(self.clock_file(node.number));
        // What cannot be removed now is removed with the lab.
        let _ = fs::remove_dir_all(&node.folder);
    }

    /// Lets nodes join or leave until there are `nodes`.
    ///
    /// # Errors
    /// If the store cannot have so many, or cannot change while it runs, or a node does not join or
    /// leave: then there are as many as did.
    pub fn scale(&mut self, nodes: usize, watch: &Watch<'_>) -> Result<(), LabError> {
        let recipe = self.recipe;
        order::check_scale(&recipe.card(), self.nodes.len(), nodes)?;
        self.let_the_dead_go();
        let scaled = self.scale_by_one(recipe, nodes, watch);
        self.url = self.url_of(recipe, watch)?;
        self.write_down()?;
        scaled
    }

    fn scale_by_one(
        &mut self,
        recipe: &'static dyn Recipe,
        nodes: usize,
        watch: &Watch<'_>,
    ) -> Result<(), LabError> {
        while self.nodes.len() < nodes {
            let node = self.add_node()?;
            watch.tell(&format!("node {node} joins"));
            if let Err(error) = recipe.join(&mut self.site(watch), node) {
                self.remove_node();
                return Err(error);
            }
            self.sync()?;
            self.write_down()?;
        }
        while self.nodes.len() > nodes {
            let node = self.nodes.len();
            watch.tell(&format!("node {node} leaves"));
            recipe.leave(&mut self.site(watch), node)?;
            self.remove_node();
            self.write_down()?;
        }
        Ok(())
    }

    /// `kill -9` of every process of a node.
    ///
    /// # Errors
    /// If there is no such node, or none of its processes runs.
    pub fn kill(&mut self, node: usize) -> Result<(), LabError> {
        self.running(node, "kill")?.servers.iter_mut().for_each(Server::kill);
        Ok(())
    }

    /// Ends every process of a node as its administrator would.
    ///
    /// # Errors
    /// If there is no such node, or none of its processes runs.
    pub fn stop(&mut self, node: usize) -> Result<(), LabError> {
        self.running(node, "stop")?.servers.iter_mut().rev().for_each(Server::end);
        Ok(())
    }

    /// Suspends every process of a node, its sockets open.
    ///
    /// # Errors
    /// If there is no such node, or none of its processes runs.
    pub fn freeze(&mut self, node: usize) -> Result<(), LabError> {
        let node = self.running(node, "freeze")?;
        node.is_frozen = true;
        node.servers.iter_mut().for_each(|server| server.signal_family(Signal::STOP));
        Ok(())
    }

    /// Lets a frozen node go on.
    ///
    /// # Errors
    /// If there is no such node, or none of its processes runs.
    pub fn thaw(&mut self, node: usize) -> Result<(), LabError> {
        let node = self.running(node, "thaw")?;
        node.is_frozen = false;
        node.servers.iter_mut().for_each(|server| server.signal_family(Signal::CONT));
        Ok(())
    }

    /// Starts a node that is down again, with the data that it has.
    ///
    /// # Errors
    /// If there is no such node, it is not down, or does not start.
    pub fn restart(&mut self, node: usize, watch: &Watch<'_>) -> Result<(), LabError> {
        let there = self.node(node)?;
        if there.state() != NodeState::Down {
            return Err(LabError::Order(format!("node {node} is not down")));
        }
        // What is left of it must not hold its ports.
        there.servers.iter_mut().for_each(Server::kill);
        there.servers.clear();
        there.is_frozen = false;
        self.let_the_dead_go();
        let recipe = self.recipe;
        recipe.restart(&mut self.site(watch), node)?;
        self.write_down()
    }

    /// Waits for the other nodes then ignore processes that have ended before.
    fn let_the_dead_go(&mut self) {
        for server in self.nodes.iter_mut().flat_map(|node| &mut node.servers) {
            if server.ended().is_some() {
                server.let_go();
            }
        }
    }

    /// A node with a running process, for the action `what`.
    fn running(&mut self, number: usize, what: &str) -> Result<&mut Node, LabError> {
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

    /// Checks for servers that ended by themselves since the last check, at `unix_ms`, milliseconds
    /// since 1970, and writes them down; returns a sentence for each.
    ///
    /// # Errors
    /// If they cannot be written down.
    pub fn notice_deaths(&mut self, unix_ms: u64) -> Result<Vec<String>, LabError> {
        let mut reported = Vec::new();
        for node in &mut self.nodes {
            for server in &mut node.servers {
                let (role, number) = (server.role.clone(), node.number);
                if let Some(death) = server.notice_death(unix_ms) {
                    reported.push(format!(
                        "the {role} of node {number} ended by itself ({})",
                        death.how
                    ));
                }
            }
        }
        if !reported.is_empty() {
            self.write_down()?;
        }
        Ok(reported)
    }

    fn node(&mut self, node: usize) -> Result<&mut Node, LabError> {
        let count = self.nodes.len();
        let found = node.checked_sub(1).and_then(|place| self.nodes.get_mut(place));
        found.ok_or_else(|| {
            LabError::Order(format!("there is no node {node}; there are 1 to {count}"))
        })
    }

    /// Its nodes, as they are at present.
    pub fn nodes(&mut self) -> Vec<NodeView> {
        let records = self.record().nodes;
        let nodes = self.nodes.iter_mut().zip(records);
        nodes.map(|(node, record)| NodeView { record, state: node.state() }).collect()
    }

    /// What is written down about it.
    pub fn record(&self) -> Record {
        let node = |node: &Node| NodeRecord {
            number: node.number,
            address: self.address(node.number).to_string(),
            folder: node.folder.clone(),
            servers: node.servers.iter().map(Server::record).collect::<Vec<ServerRecord>>(),
        };
        Record {
            store: self.store().to_owned(),
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

    /// Ends it, gently where servers let us, and removes its folder with all data.
    ///
    /// # Errors
    /// If the folder cannot be removed; nothing runs any more all the same.
    pub fn down(mut self) -> Result<(), LabError> {
        self.nodes.iter_mut().for_each(Node::resume_disk);
        for server in self.nodes.iter_mut().flat_map(|node| &mut node.servers) {
            server.signal(Signal::TERM);
        }
        for node in self.nodes.iter_mut().rev() {
            node.servers.iter_mut().rev().for_each(Server::end);
            node.disk = None;
        }
        // The folder stays locked until everything is removed, so that no other lab uses it
        // meanwhile.
        let folder = self.folder.as_path();
        fs::remove_dir_all(folder).map_err(|error| LabError::io(folder, "cannot remove", error))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.nodes.iter_mut().for_each(Node::resume_disk);
        for server in self.nodes.iter_mut().flat_map(|node| &mut node.servers) {
            server.kill();
        }
        self.network.remove(self.slot.number);
    }
}

impl Node {
    fn has_stalled_disk(&self) -> bool {
        self.disk.as_ref().is_some_and(Disk::is_to_stall)
    }

    /// A process that waits for its disk cannot even be killed.
    fn resume_disk(&mut self) {
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

fn check_disk(folder: &Path, mib: u64) -> Result<(), LabError> {
    // Where the file system does not tell, the servers will.
    let Ok(found) = statvfs(folder) else { return Ok(()) };
    let free = found.f_bavail.saturating_mul(found.f_frsize) >> 20;
    if free >= mib {
        return Ok(());
    }
    Err(LabError::Order(format!(
        "{} has {free} MiB free, but {mib} MiB are needed; name another folder or make room",
        folder.display()
    )))
}

fn count(nodes: usize) -> String {
    if nodes == 1 { "1 node".into() } else { format!("{nodes} nodes") }
}
