//! A Redis Cluster, which grows by masters without slots that get their share.

use super::redis;
use crate::card::{Card, NodeCounts, OFF, Port, RecipeOption, Scaling, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::{ReadClock, Recipe};
use crate::site::{Launch, Site};

/// Debian's redis-server in cluster mode.
pub struct RedisCluster;

const SECONDS_TO_START: u32 = 20;
/// How long the nodes may take to agree on the slots.
const SECONDS_TO_AGREE: u32 = 60;
/// How long slots with their records may take to move.
const SECONDS_TO_MOVE: u32 = 1800;
/// A cluster of fewer masters does not survive one of them.
const FEWEST_MASTERS: usize = 3;
/// The value of option `replicas` that lets them follow from the number of nodes.
const USUAL: &str = "usual";

const REPLICAS: RecipeOption = RecipeOption::choice("replicas", &[USUAL, "0", "1", "2"], USUAL)
    .about(
        "of each master; they count as nodes, so 1 needs 6 nodes at least; usual is 1 for an even \
         number of nodes from 6 on, else 0",
    );
const NODE_TIMEOUT: RecipeOption = RecipeOption::text("node-timeout", "2000")
    .about("milliseconds of silence after which a node counts as gone");
pub(super) const APPENDFSYNC: RecipeOption =
    RecipeOption::choice("appendfsync", &[OFF, "everysec", "always"], OFF)
        .about("what an acknowledged write survives: off keeps no file of them");

impl Recipe for RedisCluster {
    fn card(&self) -> Card {
        Card {
            name: "redis-cluster",
            summary: "a Redis Cluster: masters that share the keys, with replicas if wanted",
            versions: &[Version { name: "debian", source: "Debian's redis-server" }],
            nodes: NodeCounts { allowed: 3..=24, usual: 3 },
            scaling: Scaling::Online,
            ports: &[Port { name: "client", number: 6379 }, Port { name: "bus", number: 7379 }],
            options: &[REPLICAS, NODE_TIMEOUT, APPENDFSYNC],
            needs: &[redis::SERVER, redis::CONTROL],
            memory_mib: 15,
            disk_mib: 10,
            scheme: Some("redis+cluster"),
            peer_ports: &["client", "bus"],
            is_discovered: true,
        }
    }

    fn fetch(&self, _version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        redis::server_and_control(package_cache)
    }

    fn start(&self, site: &mut Site<'_>) -> Result<(), LabError> {
        let nodes = site.nodes();
        let replicas = match site.option(&REPLICAS) {
            USUAL => usual_replicas(nodes).to_string(),
            given => given.to_owned(),
        };
        let each: usize = 1 + replicas.parse::<usize>().unwrap_or(0);
        if !nodes.is_multiple_of(each) || nodes / each < FEWEST_MASTERS {
            let fewest = FEWEST_MASTERS * each;
            return Err(site.cannot(&format!(
                "{nodes} nodes are no masters with {replicas} replicas each; there must be \
                 {fewest}, or more by steps of {each}"
            )));
        }
        for node in 1..=nodes {
            self.restart(site, node)?;
        }
        let all = site.authorities("client");
        let mut words = vec!["--cluster", "create"];
        words.extend(all.split(','));
        words.extend(["--cluster-replicas", &replicas, "--cluster-yes"]);
        control(site, &words, SECONDS_TO_AGREE)?;
        until_agreed(site, nodes)
    }

    fn join(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        refuse_replicas(site)?;
        self.restart(site, node)?;
        let (new, known) = (site.authority(node, "client"), site.authority(1, "client"));
        control(site, &["--cluster", "add-node", &new, &known], SECONDS_TO_AGREE)?;
        until_agreed(site, node)?;
        let words = ["--cluster", "rebalance", &known, "--cluster-use-empty-masters"];
        control(site, &words, SECONDS_TO_MOVE)?;
        until_agreed(site, node)
    }

    fn leave(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        refuse_replicas(site)?;
        let known = site.authority(1, "client");
        let reported = send(site, node, &["CLUSTER", "MYID"])?;
        let id = reported.trim();
        let weight = format!("{id}=0");
        let words = ["--cluster", "rebalance", &known, "--cluster-weight", &weight];
        control(site, &words, SECONDS_TO_MOVE)?;
        until_agreed(site, node)?;
        control(site, &["--cluster", "del-node", &known, id], SECONDS_TO_AGREE).map(drop)
    }

    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        let folder = site.folder(node).display().to_string();
        let (port, bus) = (site.port("client").to_string(), site.port("bus").to_string());
        let (address, announced) = (site.address(node), site.peer_address(node));
        let launch = Launch::new("server", site.program("redis-server"))
            .args(["--bind", &address, "--port", &port, "--cluster-port", &bus])
            // Else the others would know it by the address that it calls them from.
            .args(["--cluster-announce-ip", &announced, "--bind-source-addr", &address])
            .args(["--dir", &folder, "--save", "", "--protected-mode", "no"])
            .args(["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"])
            .args(["--cluster-node-timeout", site.option(&NODE_TIMEOUT)])
            .args(["--repl-diskless-sync-delay", "0"])
            .args(redis::synced(site.option(&APPENDFSYNC)));
        site.launch(node, launch)?;
        site.wait_for_port(node, "client", SECONDS_TO_START)
    }

    fn clock(&self) -> Result<ReadClock, &'static str> {
        Err(super::redis::CLOCK)
    }

    fn url(&self, site: &Site<'_>) -> String {
        format!("redis+cluster://{}", site.authorities("client"))
    }
}

/// The default number of replicas of each master: the usual one of six nodes.
fn usual_replicas(nodes: usize) -> usize {
    usize::from(nodes.is_multiple_of(2) && nodes / 2 >= FEWEST_MASTERS)
}

/// Masters with replicas would have to come and go in groups.
fn refuse_replicas(site: &Site<'_>) -> Result<(), LabError> {
    match send(site, 1, &["CLUSTER", "NODES"])?.contains("slave") {
        false => Ok(()),
        true => Err(site.cannot("nodes join or leave only where masters have no replicas")),
    }
}

/// Lets redis-cli change the cluster.
fn control(site: &Site<'_>, words: &[&str], seconds: u32) -> Result<String, LabError> {
    site.run(1, site.program("redis-cli"), words, seconds)
}

/// What node `node` answers.
fn send(site: &Site<'_>, node: usize, words: &[&str]) -> Result<String, LabError> {
    let (host, port) = (site.address(node), site.port("client").to_string());
    let words = [&["-h", &host, "-p", &port], words].concat();
    site.run(node, site.program("redis-cli"), &words, SECONDS_TO_START)
}

/// Waits until nodes 1 to `nodes` know each other and all slots, and replicas have their data.
fn until_agreed(site: &mut Site<'_>, nodes: usize) -> Result<(), LabError> {
    site.wait_until("the nodes to agree on who has which keys", SECONDS_TO_AGREE, |site| {
        for node in 1..=nodes {
            let state = send(site, node, &["CLUSTER", "INFO"])?;
            let has = |fact: &str| state.lines().any(|line| line.trim() == fact);
            if !has("cluster_state:ok") || !has(&format!("cluster_known_nodes:{nodes}")) {
                return Ok(false);
            }
            let role = send(site, node, &["INFO", "replication"])?;
            if role.contains("role:slave") && !role.contains("master_link_status:up") {
                return Ok(false);
            }
        }
        // redis-cli's own check: every node has the same map.
        let first = site.authority(1, "client");
        Ok(control(site, &["--cluster", "check", &first], SECONDS_TO_AGREE).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_nodes_are_three_masters_with_a_replica_each() {
        let usual: Vec<usize> = (3..=9).map(usual_replicas).collect();
        assert_eq!(usual, [0, 0, 0, 1, 0, 1, 0]);
    }
}
