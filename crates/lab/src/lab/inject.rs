//! Faults done to a running lab, with the checks that show their effect.

use assay_model::{Draws, Seed};
use rustix::process::Signal;

use super::Lab;
use crate::clock;
use crate::cluster::{Node, NodeState};
use crate::disk::{self, Disk};
use crate::error::LabError;
use crate::fault::{Fault, FaultScope, FaultTarget, Injection, Needs};
use crate::flush_time;
use crate::network::Network;
use crate::network::cut::{self, Cuts};
use crate::package_cache::{House, find_program};
use crate::process::Server;
use crate::proxy::{self, Now, Rules, Side};
use crate::recipe::Recipe;
use crate::tool::Watch;

/// How long a store may be without a leader before a fault of its leader fails.
const SECONDS_TO_LEAD: u32 = 15;
/// How long processes may take until they stand still, or move again.
const SECONDS_TO_SHOW: u32 = 5;
/// How far a clock that is read a little later than another may be off.
const CLOCK_TOLERANCE_MS: u64 = 2_000;
/// The stream of random nodes.
const STREAM: u64 = 0x6661_756c;

/// What a lab was started with that faults need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Premises {
    /// Where its nodes live.
    pub network: Network,
    /// Whether each node has a disk of its own.
    pub has_disks: bool,
    /// Whether there is a proxy between clients and nodes.
    pub has_proxy: bool,
    /// Whether there is one between its nodes.
    pub has_peer_proxy: bool,
    /// Whether its servers' clocks can be moved.
    pub has_movable_clocks: bool,
}

impl Premises {
    /// # Errors
    /// If it lacks what this fault needs, which the error says.
    fn check(self, injection: &Injection) -> Result<(), String> {
        let has_namespaces = self.network == Network::Namespaces;
        let missing = match injection.fault.facts().needs {
            Needs::Namespaces | Needs::Nodes(_) if !has_namespaces => {
                "links between nodes are cut in a lab with network namespaces only: start it with \
                 --network namespaces, as root"
            }
            Needs::Disks if !self.has_disks => {
                "it needs a disk for each node: start the lab with --disk, for example --disk \
                 512M, as root"
            }
            Needs::Proxy if injection.peers && !self.has_peer_proxy => {
                "it needs a proxy between nodes: start the lab with --proxy-peers"
            }
            Needs::Proxy if !injection.peers && !self.has_proxy => {
                "it needs a proxy between clients and nodes: start the lab with --proxy"
            }
            Needs::Clocks if !self.has_movable_clocks => {
                "it needs clocks that can be moved: start the lab with --option clock=movable"
            }
            _ => return Ok(()),
        };
        Err(missing.to_owned())
    }
}

/// Whether this can be done to a lab of `nodes` nodes; known before anything is started.
///
/// # Errors
/// If the store, its number of nodes or its network does not allow it.
pub fn check_injection(
    injection: &Injection,
    recipe: &dyn Recipe,
    nodes: usize,
    premises: Premises,
) -> Result<(), LabError> {
    injection.check().map_err(LabError::Order)?;
    let wrong = |reason: String| Err(LabError::Order(format!("{}: {reason}", injection.text())));
    let needs = injection.fault.facts().needs;
    check_clock(injection.fault, recipe)?;
    premises.check(injection).or_else(wrong)?;
    match (needs, injection.node) {
        (Needs::Proxy, _) if injection.peers && nodes < 2 => {
            wrong("it needs 2 nodes, and there is 1".to_owned())
        }
        (Needs::Nodes(least), _) if nodes < least => {
            wrong(format!("it needs {least} nodes, and there are {nodes}"))
        }
        (_, Some(FaultTarget::Node(node))) if node > nodes => {
            wrong(format!("there is no node {node}; there are 1 to {nodes}"))
        }
        (_, Some(FaultTarget::Minority)) if nodes < 3 => {
            wrong(format!("of {nodes} nodes none are a minority; it takes 3"))
        }
        (_, Some(FaultTarget::Leader)) if recipe.leader().is_none() => wrong(format!(
            "no single node of {} leads; name another target: a node's number, minority, \
             majority, all or random",
            recipe.card().name
        )),
        _ => Ok(()),
    }
}

fn check_clock(fault: Fault, recipe: &dyn Recipe) -> Result<(), LabError> {
    match recipe.clock() {
        Err(reason) if fault == Fault::Clock => Err(LabError::Order(format!(
            "the clocks of {} cannot be moved: {reason}",
            recipe.card().name
        ))),
        _ => Ok(()),
    }
}

/// Whether the programs are there that this needs besides the store's own.
///
/// # Errors
/// If one is missing, with how to get it.
pub fn check_programs(fault: Fault, house: &House) -> Result<(), LabError> {
    if fault == Fault::SlowDisk {
        return disk::check_throttle();
    }
    if !matches!(fault.facts().needs, Needs::Namespaces | Needs::Nodes(_)) {
        return Ok(());
    }
    match find_program(&[], &house.places, cut::NFT) {
        Some(_) => Ok(()),
        None => Err(lacks_nft(fault)),
    }
}

fn lacks_nft(fault: Fault) -> LabError {
    LabError::Missing(format!(
        "{} needs the program {}: `apt-get install {}` brings it, and so does --install when the \
         lab is started",
        fault.name(),
        cut::NFT,
        cut::PACKAGE
    ))
}

impl Lab {
    /// Does this to `group`, which [`Lab::targets`] has found. What it does is seen at once or
    /// soon: see [`Lab::verify`].
    ///
    /// # Errors
    /// If a node is in no state for it, or it fails.
    pub fn inject(
        &mut self,
        injection: &Injection,
        group: &[usize],
        watch: &Watch<'_>,
    ) -> Result<(), LabError> {
        let (fault, count) = (injection.fault, self.cluster.nodes.len());
        self.require_moving(fault, group)?;
        let each = |lab: &mut Lab, act: fn(&mut Lab, usize) -> Result<(), LabError>| {
            group.iter().try_for_each(|node| act(lab, *node))
        };
        match fault {
            Fault::Kill => self.kill_together(group)?,
            Fault::Stop => each(self, Lab::stop)?,
            Fault::Freeze => each(self, Lab::freeze)?,
            Fault::Thaw => each(self, Lab::thaw)?,
            Fault::Restart => group.iter().try_for_each(|node| self.restart(*node, watch))?,
            Fault::Partition => self.cut(fault, cut::isolate(group, count))?,
            Fault::PartitionOneWay => self.cut(fault, cut::one_way(group, count))?,
            Fault::PartitionRing => {
                let order = shuffled(count, injection.seed);
                self.cut(fault, cut::ring(&order))?;
            }
            Fault::CutClients => self.cut(fault, cut::from_clients(group))?,
            Fault::Heal => self.heal(group)?,
            Fault::PowerOff => self.power_off(group, watch)?,
            Fault::FillDisk => self.each_disk(group, Disk::fill)?,
            Fault::StallDisk => self.each_disk(group, Disk::stall)?,
            Fault::SlowDisk => {
                let by = injection.by.as_deref().and_then(flush_time::wanted);
                let now = self.clock()?;
                self.each_disk(group, |disk| disk.slow(by.unwrap_or_default(), now))?;
            }
            Fault::Clock => {
                let by = injection.by.as_deref().and_then(clock::offset_ms).unwrap_or(0);
                self.move_clocks(group, by)?;
            }
            _ => self.change_links(injection, group),
        }
        Ok(())
    }

    /// Returns when a fault that was just done to `nodes` shows: processes are gone, stand still or
    /// run, datagrams pass those links alone that are not cut.
    ///
    /// # Errors
    /// If it does not show.
    pub fn verify(
        &mut self,
        fault: Fault,
        nodes: &[usize],
        watch: &Watch<'_>,
    ) -> Result<(), LabError> {
        self.see(fault, nodes, watch).map_err(|error| match error {
            LabError::Failed(reason) => LabError::State(reason),
            other => other,
        })
    }

    fn see(&mut self, fault: Fault, nodes: &[usize], watch: &Watch<'_>) -> Result<(), LabError> {
        let expected = match fault {
            Fault::Clock => return self.verify_clocks(nodes, watch),
            _ if fault.facts().needs == Needs::Proxy => return self.verify_links(nodes),
            Fault::FillDisk | Fault::StallDisk | Fault::Heal => {
                self.verify_healed(fault, nodes)?;
                let moved = if fault == Fault::Heal { nodes } else { &[] };
                return self.verify_clocks(moved, watch);
            }
            Fault::SlowDisk => {
                let now = self.clock()?;
                return self.each_disk(nodes, |disk| {
                    watch.tell(&disk.verify_slow(now)?);
                    Ok(())
                });
            }
            Fault::PowerOff => {
                self.each_disk(nodes, |disk| disk.verify_lost())?;
                NodeState::Down
            }
            Fault::Kill | Fault::Stop => NodeState::Down,
            Fault::Freeze => NodeState::Frozen,
            Fault::Thaw | Fault::Restart => NodeState::Up,
            _ => return self.verify_cuts(),
        };
        let name = fault.name();
        watch.until(&format!("{name} to show"), SECONDS_TO_SHOW, || {
            Ok(nodes.iter().all(|&number| {
                let node = &mut self.cluster.nodes[number - 1];
                let stands = |server: &Server| server.stands_still();
                node.state() == expected
                    && match fault {
                        Fault::Freeze => node.servers.iter().all(stands),
                        Fault::Thaw => !node.servers.iter().any(stands),
                        _ => true,
                    }
            }))
        })
    }

    /// What is broken besides what the states of nodes say, a sentence each.
    pub fn broken(&self) -> Vec<String> {
        let cuts = (!self.cuts.is_empty()).then(|| cut::describe(&self.cuts));
        cuts.into_iter()
            .chain(self.cluster.nodes.iter().flat_map(|node| self.broken_of(node)))
            .collect()
    }

    /// What is broken of a node, a sentence each.
    fn broken_of(&self, node: &Node) -> Vec<String> {
        let number = node.number;
        let mut all = Vec::new();
        if let Some(disk) = node.disk.as_ref().filter(|disk| disk.is_broken()) {
            let how = match disk.slow_flush() {
                _ if disk.is_to_stall() => "stalled".to_owned(),
                Some(time) => format!("slow: a flush takes about {time}"),
                None => "full".to_owned(),
            };
            all.push(format!("the disk of node {number} is {how}"));
        }
        all.extend(self.cluster.proxy.iter().flat_map(|proxy| proxy.describe(number)));
        if node.clock_ms != 0 {
            all.push(format!("the clock of node {number} is off by {} ms", node.clock_ms));
        }
        all
    }

    /// The nodes that are meant at this moment, in order.
    ///
    /// # Errors
    /// If it cannot be done to such a lab, no node leads, or too few are in a state for it.
    pub fn targets(
        &mut self,
        injection: &Injection,
        watch: &Watch<'_>,
    ) -> Result<Vec<usize>, LabError> {
        check_injection(injection, self.recipe, self.cluster.nodes.len(), self.premises())?;
        let (fault, count) = (injection.fault, self.cluster.nodes.len());
        let fitting = self.fitting(fault);
        let wanted = match injection.node {
            Some(FaultTarget::Node(node)) => return Ok(vec![node]),
            Some(FaultTarget::Leader) => return self.leader(watch).map(|node| vec![node]),
            None if fault.facts().scope == FaultScope::Whole => return Ok(Vec::new()),
            None => return Ok(fitting),
            Some(FaultTarget::Minority) => (count - 1) / 2,
            Some(FaultTarget::Majority) => count / 2 + 1,
            Some(FaultTarget::All) => fitting.len(),
            Some(FaultTarget::Random) => 1,
        };
        if fitting.len() < wanted.max(1) {
            let (name, fit) = (injection.text(), fitting.len());
            return Err(LabError::State(format!("{name}: only {fit} of {count} nodes are left")));
        }
        let order = shuffled(count, injection.seed);
        let mut drawn: Vec<usize> =
            order.into_iter().filter(|node| fitting.contains(node)).take(wanted).collect();
        drawn.sort_unstable();
        Ok(drawn)
    }

    /// The nodes that are in a state for this fault.
    fn fitting(&mut self, fault: Fault) -> Vec<usize> {
        let (cuts, proxy) = (&self.cuts, self.cluster.proxy.as_ref());
        let nodes = self.cluster.nodes.iter_mut().filter_map(|node| {
            let state = node.state();
            let is_fit = match fault {
                Fault::Kill | Fault::Stop => state != NodeState::Down,
                Fault::Freeze => state == NodeState::Up,
                Fault::Thaw => state == NodeState::Frozen,
                Fault::Restart => state == NodeState::Down,
                Fault::Heal => {
                    let is_cut = cuts.iter().any(|link| link.touches(&[node.number]));
                    let is_late = proxy.is_some_and(|proxy| proxy.is_broken(node.number));
                    let is_moved = node.clock_ms != 0;
                    is_cut || is_late || is_moved || node.disk.as_ref().is_some_and(Disk::is_broken)
                }
                _ => true,
            };
            is_fit.then_some(node.number)
        });
        nodes.collect()
    }

    /// The node that leads now, or soon: after the last one was lost, the others may still vote.
    fn leader(&mut self, watch: &Watch<'_>) -> Result<usize, LabError> {
        let find = self.recipe.leader().expect("a store without one was refused");
        let mut found = None;
        let waited = watch.until("a node to lead", SECONDS_TO_LEAD, || {
            let mut site = self.site(watch);
            let running = site.running();
            found = find(&mut site)?.filter(|leader| running.contains(leader));
            Ok(found.is_some())
        });
        match (found, waited) {
            (Some(leader), _) => Ok(leader),
            (None, Err(LabError::Failed(reason))) => Err(LabError::State(reason)),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Err(LabError::State("no node leads".into())),
        }
    }

    /// As [`Lab::kill`], of several nodes at the same moment.
    fn kill_together(&mut self, nodes: &[usize]) -> Result<(), LabError> {
        for node in nodes {
            let servers = &mut self.cluster.running(*node, "kill")?.servers;
            servers.iter_mut().for_each(Server::strike);
        }
        nodes.iter().for_each(|node| {
            self.cluster.nodes[node - 1].servers.iter_mut().for_each(Server::kill)
        });
        Ok(())
    }

    /// What it was started with.
    fn premises(&self) -> Premises {
        Premises {
            network: self.cluster.network,
            has_disks: self.cluster.disk_mib.is_some(),
            has_proxy: self.cluster.has_proxy,
            has_peer_proxy: self.cluster.has_peer_proxy,
            has_movable_clocks: self.cluster.has_movable_clocks(),
        }
    }

    /// # Errors
    /// If processes would have to end that wait for their disk, or we would wait for it ourselves.
    fn require_moving(&self, fault: Fault, nodes: &[usize]) -> Result<(), LabError> {
        let ends = matches!(fault, Fault::Kill | Fault::Stop | Fault::Restart);
        let why = match fault {
            Fault::FillDisk | Fault::SlowDisk => "nothing can be written to it",
            _ if ends => "its processes cannot end",
            _ => return Ok(()),
        };
        let stalls = |node: &&usize| self.cluster.nodes[**node - 1].has_stalled_disk();
        match nodes.iter().find(stalls) {
            Some(node) => Err(LabError::State(format!(
                "the disk of node {node} is stalled, so {why}; heal it first"
            ))),
            None => Ok(()),
        }
    }

    fn each_disk(
        &mut self,
        nodes: &[usize],
        mut act: impl FnMut(&mut Disk) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        for node in nodes {
            if let Some(disk) = &mut self.cluster.nodes[node - 1].disk {
                act(disk)?;
            }
        }
        Ok(())
    }

    /// Undoes what was cut, filled or stalled of these nodes.
    ///
    /// # Errors
    /// The first, once all the rest is undone.
    fn heal(&mut self, nodes: &[usize]) -> Result<(), LabError> {
        if let Some(proxy) = &self.cluster.proxy {
            proxy.heal(nodes);
        }
        let mut healed = Ok(());
        for node in nodes {
            if self.cluster.has_movable_clocks() {
                healed = healed.and(self.move_clocks(&[*node], 0));
            }
            let mend = |disk: &mut Disk| {
                disk.resume().and_then(|()| disk.speed_up()).and_then(|()| disk.free())
            };
            healed = healed.and(self.each_disk(&[*node], mend));
        }
        healed.and(self.mend_links(nodes))
    }

    /// Undoes what was cut of the links to these nodes.
    fn mend_links(&mut self, nodes: &[usize]) -> Result<(), LabError> {
        let mut left = self.cuts.clone();
        left.retain(|link| !link.touches(nodes));
        if left == self.cuts {
            return Ok(());
        }
        self.set_cuts(Fault::Heal, left)
    }

    /// # Errors
    /// If the disks of these nodes are not as this fault leaves them, or links are cut, or not,
    /// that should not, or should.
    fn verify_healed(&mut self, fault: Fault, nodes: &[usize]) -> Result<(), LabError> {
        self.each_disk(nodes, |disk| {
            disk.verify(fault == Fault::FillDisk, fault == Fault::StallDisk)
        })?;
        self.verify_links(nodes)?;
        match (fault, self.cluster.network) {
            (Fault::Heal, Network::Namespaces) => self.verify_cuts(),
            _ => Ok(()),
        }
    }

    /// # Errors
    /// If datagrams pass links that are cut, or do not pass others.
    fn verify_cuts(&self) -> Result<(), LabError> {
        let cluster = &self.cluster;
        cluster.network.probe(cluster.slot.number, cluster.nodes.len(), &self.cuts)
    }

    /// Lets the clocks of these nodes be off by so many milliseconds.
    fn move_clocks(&mut self, nodes: &[usize], offset_ms: i64) -> Result<(), LabError> {
        for node in nodes {
            clock::set(&self.cluster.clock_file(*node), offset_ms)?;
            self.cluster.nodes[node - 1].clock_ms = offset_ms;
        }
        Ok(())
    }

    /// Returns when the clocks of those of these nodes that run are as far off as they should be.
    fn verify_clocks(&mut self, nodes: &[usize], watch: &Watch<'_>) -> Result<(), LabError> {
        let Ok(read) = self.recipe.clock() else { return Ok(()) };
        if !self.cluster.has_movable_clocks() {
            return Ok(());
        }
        for node in nodes {
            if self.cluster.nodes[node - 1].state() != NodeState::Up {
                continue;
            }
            let expected = self.cluster.nodes[node - 1].clock_ms;
            watch.until("the clock to jump", SECONDS_TO_SHOW, || {
                let mut site = self.site(watch);
                let there = read(&mut site, *node)?;
                let here = site.run(*node, "date", &["+%s%3N"], SECONDS_TO_SHOW)?;
                let here = here.trim().parse().unwrap_or(i64::MAX);
                Ok((there - here).abs_diff(expected) < CLOCK_TOLERANCE_MS)
            })?;
        }
        Ok(())
    }

    fn clock(&self) -> Result<Now, LabError> {
        let missing = || LabError::Order("this lab has no clock to measure a disk by".to_owned());
        self.now.ok_or_else(missing)
    }

    /// Does what happens to what passes between clients, or the other nodes, and these nodes.
    fn change_links(&mut self, injection: &Injection, nodes: &[usize]) {
        let Some(proxy) = &self.cluster.proxy else { return };
        let by = injection.by.as_deref().unwrap_or_default();
        let side = if injection.peers { Side::Peers } else { Side::Clients };
        let change = |act: &dyn Fn(&mut Rules, usize)| proxy.change(nodes, side, act);
        match injection.fault {
            Fault::Delay => change(&|rules, _| rules.set_delay(by)),
            Fault::Limit => change(&|rules, _| rules.set_limit(by)),
            Fault::Blackhole => change(&|rules, _| rules.hold = [true; 2]),
            Fault::BlackholeRequests => change(&|rules, towards| rules.hold[towards] = true),
            Fault::BlackholeReplies => change(&|rules, towards| rules.hold[1 - towards] = true),
            Fault::Drop => change(&|rules, _| rules.is_lossy = true),
            Fault::HalfOpen => change(&|rules, _| rules.is_deaf = true),
            _ => proxy.reset(nodes, side),
        }
    }

    /// # Errors
    /// If a link to these nodes does not do what its rules say.
    fn verify_links(&self, nodes: &[usize]) -> Result<(), LabError> {
        self.cluster.proxy.as_ref().map_or(Ok(()), |proxy| proxy::verify(proxy, nodes))
    }

    /// Lets the power of these nodes fail at the same moment: their processes are gone, and so is
    /// what they had not synced.
    fn power_off(&mut self, nodes: &[usize], watch: &Watch<'_>) -> Result<(), LabError> {
        let mut stopped = Vec::new();
        for node in nodes {
            let node = &mut self.cluster.nodes[node - 1];
            node.servers.iter_mut().for_each(|server| server.signal_family(Signal::STOP));
            stopped.extend((!node.has_stalled_disk()).then_some(node.number));
        }
        // What they are in the midst of, such as a sync, goes on to its end.
        let copied = watch
            .until("the servers to stand still", SECONDS_TO_SHOW, || {
                let servers = |node: &usize| &self.cluster.nodes[node - 1].servers;
                Ok(stopped.iter().flat_map(servers).all(Server::is_motionless))
            })
            .and_then(|()| self.each_disk(nodes, |disk| disk.copy()));
        if let Err(error) = copied {
            for node in nodes.iter().map(|node| node - 1) {
                let node = &mut self.cluster.nodes[node];
                let signal = |server: &mut Server| server.signal_family(Signal::CONT);
                node.servers.iter_mut().filter(|_| !node.is_frozen).for_each(signal);
            }
            return Err(error);
        }
        for node in nodes.iter().map(|node| node - 1) {
            self.cluster.nodes[node].resume_disk();
            self.cluster.nodes[node].servers.iter_mut().for_each(Server::kill);
        }
        self.each_disk(nodes, Disk::replace)
    }

    /// Cuts these links as well.
    fn cut(&mut self, fault: Fault, cuts: Cuts) -> Result<(), LabError> {
        self.set_cuts(fault, self.cuts.union(&cuts).copied().collect())
    }

    fn set_cuts(&mut self, fault: Fault, cuts: Cuts) -> Result<(), LabError> {
        let nft = find_program(&[], &self.cluster.house.places, cut::NFT)
            .ok_or_else(|| lacks_nft(fault))?;
        let cluster = &self.cluster;
        cluster.network.cut(cluster.slot.number, cluster.nodes.len(), &cuts, &nft)?;
        self.cuts = cuts;
        Ok(())
    }

    /// Forgets the links of the node after the last one: the next of its number is another one.
    pub(super) fn forget_cuts(&mut self) {
        let last = self.cluster.nodes.len();
        let mut left = self.cuts.clone();
        left.retain(|link| link.from <= last && link.to <= last);
        if left != self.cuts {
            // The rules that stay name an address that is gone.
            let _ = self.set_cuts(Fault::Heal, left);
        }
    }
}

/// Nodes 1 to `nodes` in an order that follows from the seed.
fn shuffled(nodes: usize, seed: u64) -> Vec<usize> {
    let mut draws: Draws = Seed(seed).draws(STREAM, 0);
    let mut order: Vec<usize> = (1..=nodes).collect();
    // Fisher and Yates, from the end.
    for last in (1..nodes).rev() {
        let bound = last as u64 + 1;
        order.swap(last, draws.below(bound) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipes;

    fn refused(store: &str, nodes: usize, network: Network, text: &str) -> String {
        let premises = Premises { network, ..Premises::default() };
        let injection = Injection::parse(text).expect("it is a fault");
        let recipe = recipes::find(store).expect("there is one");
        match check_injection(&injection, recipe, nodes, premises) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_a_lab_cannot_have_is_known_before() {
        use Network::{Loopback, Namespaces};
        assert_eq!(refused("etcd", 3, Loopback, "kill leader"), "");
        assert_eq!(refused("etcd", 3, Namespaces, "partition leader"), "");
        for (store, nodes, network, text, part) in [
            ("cassandra", 3, Loopback, "kill leader", "no single node of cassandra leads"),
            ("ignite", 3, Loopback, "kill leader", "no single node of ignite leads"),
            ("etcd", 3, Loopback, "partition leader", "--network namespaces"),
            ("etcd", 3, Loopback, "power off all", "start the lab with --disk"),
            ("etcd", 3, Loopback, "clock 1 by +1h", "its server is a Go program"),
            ("redis", 1, Loopback, "clock 1 by +1h", "its allocator calls itself"),
            ("postgres", 1, Loopback, "clock 1 by +1h", "--option clock=movable"),
            ("etcd", 3, Loopback, "delay all by 1ms", "start the lab with --proxy"),
            ("etcd", 3, Loopback, "delay peers of all by 1ms", "start the lab with --proxy-peers"),
            ("etcd", 1, Namespaces, "partition leader", "needs 2 nodes, and there are 1"),
            ("etcd", 2, Namespaces, "partition ring", "it needs 3 nodes"),
            ("etcd", 2, Loopback, "kill minority", "of 2 nodes none are a minority"),
            ("etcd", 3, Loopback, "kill node 4", "there is no node 4; there are 1 to 3"),
        ] {
            let reported = refused(store, nodes, network, text);
            assert!(reported.contains(part), "{text}: {reported}");
        }
    }

    #[test]
    fn random_nodes_follow_from_the_seed() {
        assert_eq!(shuffled(9, 7), shuffled(9, 7));
        assert_ne!(shuffled(9, 7), shuffled(9, 8));
        let mut all = shuffled(9, 7);
        all.sort_unstable();
        assert_eq!(all, (1..=9).collect::<Vec<usize>>());
    }
}
