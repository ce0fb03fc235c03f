//! A cluster that runs on this machine, owned by this value.

mod inject;
mod order;
#[cfg(test)]
mod tests;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use rustix::fs::statvfs;
use rustix::process::Signal;

use crate::cluster::{Cluster, Node, NodeState};
use crate::disk;
use crate::error::LabError;
use crate::ground::Ground;
use crate::network::Network;
use crate::network::cut::{self, Cuts};
use crate::package_cache::{House, PackageCache};
use crate::process::Server;
use crate::proxy::{Now, Proxy};
use crate::recipe::Recipe;
use crate::record::{NodeRecord, Record};
use crate::site::Site;
use crate::slot::Slot;
use crate::tool::Watch;

pub use inject::{Premises, check_injection, check_programs};
pub use order::{Order, check_scale};

/// How long a cluster that formed may take until a record can be written and read.
const SECONDS_TO_ANSWER: u32 = 120;

/// A running cluster. Its processes end with it, whether it is dropped or its holder is killed:
/// the thread that started them must live as long as they shall.
pub struct Lab {
    recipe: &'static dyn Recipe,
    cluster: Cluster,
    /// The links between its nodes that are cut.
    cuts: Cuts,
    /// The time, for what is measured of disks.
    now: Option<Now>,
    _ground: Ground,
}

/// A node as it is seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// What is written down about it.
    pub record: NodeRecord,
    /// How it is.
    pub state: NodeState,
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
        let what = format!("{} of {} {}", count(nodes), card.name, kit.version);
        let cluster = Cluster {
            card,
            version,
            options: order.options.clone(),
            kit,
            nodes: Vec::new(),
            shift,
            network: order.network,
            slot,
            house: house.clone(),
            disk_mib: order.disk_mib,
            proxy: order.proxy.or(order.peer_proxy).map(Proxy::start).transpose()?,
            has_proxy: order.proxy.is_some(),
            has_peer_proxy: order.peer_proxy.is_some(),
            folder: ground.folder().to_owned(),
            url: String::new(),
        };
        let mut lab = Lab { recipe, cluster, cuts: Cuts::new(), now: order.now, _ground: ground };
        for _ in 0..nodes {
            lab.cluster.add_node()?;
        }
        lab.cluster.write_down()?;
        watch.tell(&format!("starting {what}"));
        recipe.start(&mut lab.site(watch))?;
        lab.cluster.url = lab.url_of(watch)?;
        lab.answers(watch, probe)?;
        if lab.cluster.disk_mib.is_some() {
            lab.cluster.sync()?;
            watch.tell(&format!("disks: {}", disk::unsynced()));
        }
        lab.cluster.write_down()?;
        Ok(lab)
    }

    fn site<'a>(&'a mut self, watch: &'a Watch<'a>) -> Site<'a> {
        Site { cluster: &mut self.cluster, watch }
    }

    /// Waits until a record was written and read.
    fn answers(
        &mut self,
        watch: &Watch<'_>,
        probe: &mut dyn FnMut(&str) -> Result<(), String>,
    ) -> Result<(), LabError> {
        let url = self.cluster.url.clone();
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

    /// The URL for our driver: through the proxy, if there is one.
    fn url_of(&mut self, watch: &Watch<'_>) -> Result<String, LabError> {
        let mut url = self.recipe.url(&self.site(watch));
        let cluster = &mut self.cluster;
        let slot = cluster.slot.number;
        for node in 1..=cluster.nodes.len() {
            let address = cluster.address(node);
            let Some(proxy) = cluster.proxy.as_mut().filter(|_| cluster.has_proxy) else { break };
            for port in cluster.card.ports {
                let exit = SocketAddr::from((address, port.number + cluster.shift));
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
        &self.cluster.url
    }

    /// The recipe's name.
    pub fn store(&self) -> &'static str {
        self.cluster.card.name
    }

    /// The version of the programs, as they tell it.
    pub fn version(&self) -> &str {
        &self.cluster.kit.version
    }

    /// The lab's folder.
    pub fn folder(&self) -> &Path {
        &self.cluster.folder
    }

    /// Ends the last node and forgets it, data included.
    fn remove_node(&mut self) {
        let Some(mut node) = self.cluster.nodes.pop() else { return };
        node.resume_disk();
        node.servers.iter_mut().for_each(Server::end);
        node.disk = None;
        self.cluster.network.take_away(self.cluster.slot.number, node.number);
        self.forget_cuts();
        if let Some(proxy) = &self.cluster.proxy {
            proxy.heal(&[node.number]);
        }
        let _ = fs::remove_file(self.cluster.clock_file(node.number));
        // What cannot be removed now is removed with the lab.
        let _ = fs::remove_dir_all(&node.folder);
    }

    /// Lets nodes join or leave until there are `nodes`.
    ///
    /// # Errors
    /// If the store cannot have so many, or cannot change while it runs, or a node does not join or
    /// leave: then there are as many as did.
    pub fn scale(&mut self, nodes: usize, watch: &Watch<'_>) -> Result<(), LabError> {
        order::check_scale(&self.cluster.card, self.cluster.nodes.len(), nodes)?;
        self.cluster.let_the_dead_go();
        let scaled = self.scale_by_one(nodes, watch);
        self.cluster.url = self.url_of(watch)?;
        self.cluster.write_down()?;
        scaled
    }

    fn scale_by_one(&mut self, nodes: usize, watch: &Watch<'_>) -> Result<(), LabError> {
        let recipe = self.recipe;
        while self.cluster.nodes.len() < nodes {
            let node = self.cluster.add_node()?;
            watch.tell(&format!("node {node} joins"));
            if let Err(error) = recipe.join(&mut self.site(watch), node) {
                self.remove_node();
                return Err(error);
            }
            self.cluster.sync()?;
            self.cluster.write_down()?;
        }
        while self.cluster.nodes.len() > nodes {
            let node = self.cluster.nodes.len();
            watch.tell(&format!("node {node} leaves"));
            recipe.leave(&mut self.site(watch), node)?;
            self.remove_node();
            self.cluster.write_down()?;
        }
        Ok(())
    }

    /// `kill -9` of every process of a node.
    ///
    /// # Errors
    /// If there is no such node, or none of its processes runs.
    pub fn kill(&mut self, node: usize) -> Result<(), LabError> {
        self.cluster.running(node, "kill")?.servers.iter_mut().for_each(Server::kill);
        Ok(())
    }

    /// Ends every process of a node as its administrator would.
    ///
    /// # Errors
    /// If there is no such node, or none of its processes runs.
    pub fn stop(&mut self, node: usize) -> Result<(), LabError> {
        self.cluster.running(node, "stop")?.servers.iter_mut().rev().for_each(Server::end);
        Ok(())
    }

    /// Suspends every process of a node, its sockets open.
    ///
    /// # Errors
    /// If there is no such node, or none of its processes runs.
    pub fn freeze(&mut self, node: usize) -> Result<(), LabError> {
        let node = self.cluster.running(node, "freeze")?;
        node.is_frozen = true;
        node.servers.iter_mut().for_each(|server| server.signal_family(Signal::STOP));
        Ok(())
    }

    /// Lets a frozen node go on.
    ///
    /// # Errors
    /// If there is no such node, or none of its processes runs.
    pub fn thaw(&mut self, node: usize) -> Result<(), LabError> {
        let node = self.cluster.running(node, "thaw")?;
        node.is_frozen = false;
        node.servers.iter_mut().for_each(|server| server.signal_family(Signal::CONT));
        Ok(())
    }

    /// Starts a node that is down again, with the data that it has.
    ///
    /// # Errors
    /// If there is no such node, it is not down, or does not start.
    pub fn restart(&mut self, node: usize, watch: &Watch<'_>) -> Result<(), LabError> {
        let there = self.cluster.node(node)?;
        if there.state() != NodeState::Down {
            return Err(LabError::Order(format!("node {node} is not down")));
        }
        // What is left of it must not hold its ports.
        there.servers.iter_mut().for_each(Server::kill);
        there.servers.clear();
        there.is_frozen = false;
        self.cluster.let_the_dead_go();
        self.recipe.restart(&mut self.site(watch), node)?;
        self.cluster.write_down()
    }

    /// Checks for servers that ended by themselves since the last check, at `unix_ms`, milliseconds
    /// since 1970, and writes them down; returns a sentence for each.
    ///
    /// # Errors
    /// If they cannot be written down.
    pub fn notice_deaths(&mut self, unix_ms: u64) -> Result<Vec<String>, LabError> {
        let mut reported = Vec::new();
        for node in &mut self.cluster.nodes {
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
            self.cluster.write_down()?;
        }
        Ok(reported)
    }

    /// What is written down about it.
    pub fn record(&self) -> Record {
        self.cluster.record()
    }

    /// Its nodes, as they are at present.
    pub fn nodes(&mut self) -> Vec<NodeView> {
        let records = self.cluster.record().nodes;
        let nodes = self.cluster.nodes.iter_mut().zip(records);
        nodes.map(|(node, record)| NodeView { record, state: node.state() }).collect()
    }

    /// Ends it, gently where servers let us, and removes its folder with all data.
    ///
    /// # Errors
    /// If the folder cannot be removed; nothing runs any more all the same.
    pub fn down(mut self) -> Result<(), LabError> {
        self.cluster.nodes.iter_mut().for_each(Node::resume_disk);
        for server in self.cluster.nodes.iter_mut().flat_map(|node| &mut node.servers) {
            server.signal(Signal::TERM);
        }
        for node in self.cluster.nodes.iter_mut().rev() {
            node.servers.iter_mut().rev().for_each(Server::end);
            node.disk = None;
        }
        // The folder stays locked until everything is removed, so that no other lab uses it
        // meanwhile.
        let folder = self.cluster.folder.as_path();
        fs::remove_dir_all(folder).map_err(|error| LabError::io(folder, "cannot remove", error))
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
