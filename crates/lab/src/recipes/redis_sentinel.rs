//! A Redis master with replicas, watched by a sentinel on every node.

use super::redis;
use super::redis_cluster::APPENDFSYNC;
use crate::card::{Card, NodeCounts, OFF, Port, RecipeOption, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::{FindLeader, ReadClock, Recipe};
use crate::site::{Launch, Site};

/// Debian's redis-server, as servers and as sentinels.
pub struct RedisSentinel;

const SECONDS_TO_START: u32 = 20;
/// Sentinels tell each other of themselves every two seconds, and look for replicas every ten.
const SECONDS_TO_AGREE: u32 = 60;
/// How the sentinels call the master.
const MASTER: &str = "main";

const DOWN_AFTER: RecipeOption = RecipeOption::text("down-after", "1000")
    .about("milliseconds of silence after which a master counts as gone");
const FAILOVER_TIMEOUT: RecipeOption = RecipeOption::text("failover-timeout", "5000")
    .about("milliseconds after which a failover is tried anew");

impl Recipe for RedisSentinel {
    fn card(&self) -> Card {
        Card {
            name: "redis-sentinel",
            summary: "a Redis master with replicas, and a sentinel on every node",
            versions: &[Version { name: "debian", source: "Debian's redis-server" }],
            nodes: NodeCounts { allowed: 3..=9, usual: 3 },
            ports: &[
                Port { name: "client", number: 6379 },
                Port { name: "sentinel", number: 8379 },
            ],
            options: &[DOWN_AFTER, FAILOVER_TIMEOUT, APPENDFSYNC],
            needs: &[redis::SERVER, redis::CONTROL],
            memory_mib: 30,
            disk_mib: 10,
            scheme: Some("redis+sentinel"),
            peer_ports: &["client"],
            is_discovered: true,
            ..Card::ALONE
        }
    }

    fn fetch(&self, _version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        redis::server_and_control(package_cache)
    }

    fn start(&self, site: &mut Site<'_>) -> Result<(), LabError> {
        let nodes = site.nodes();
        for node in 1..=nodes {
            write_server(site, node)?;
            launch_server(site, node)?;
        }
        for node in 2..=nodes {
            // A replica that has no data yet could not take over.
            site.wait_until("the replicas to have the data", SECONDS_TO_AGREE, |site| {
                let reported = send(site, node, "client", &["INFO", "replication"])?;
                Ok(reported.contains("master_link_status:up"))
            })?;
        }
        for node in 1..=nodes {
            write_sentinel(site, node)?;
            launch_sentinel(site, node)?;
        }
        let others = nodes - 1;
        site.wait_until("the sentinels to find each other", SECONDS_TO_AGREE, |site| {
            let knows_all = |node| {
                let reported = send(site, node, "sentinel", &["SENTINEL", "MASTER", MASTER])?;
                let lines: Vec<&str> = reported.lines().map(str::trim).collect();
                let has = |name: &str, value: &str| {
                    lines.windows(2).any(|pair| pair[0] == name && pair[1] == value)
                };
                let others = others.to_string();
                Ok(has("num-slaves", &others)
                    && has("num-other-sentinels", &others)
                    && has("flags", "master"))
            };
            let known: Result<Vec<bool>, LabError> = (1..=nodes).map(knows_all).collect();
            Ok(known?.into_iter().all(|knows| knows))
        })
    }

    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        // The master is named in the files, which the servers themselves keep up to date.
        launch_server(site, node)?;
        launch_sentinel(site, node)
    }

    fn leader(&self) -> Option<FindLeader> {
        Some(master)
    }

    fn clock(&self) -> Result<ReadClock, &'static str> {
        Err(redis::CLOCK)
    }

    fn url(&self, site: &Site<'_>) -> String {
        format!("redis+sentinel://{}/{MASTER}", site.authorities("sentinel"))
    }
}

/// The master of most sentinels that run: one that is cut off may not know the newest.
fn master(site: &mut Site<'_>) -> Result<Option<usize>, LabError> {
    let mut votes = vec![0; site.nodes() + 1];
    for node in site.running() {
        let asked = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER];
        let reported = match send(site, node, "sentinel", &asked) {
            Ok(reported) => reported,
            Err(LabError::Failed(_)) => continue,
            Err(other) => return Err(other),
        };
        let address = reported.lines().next().unwrap_or_default().trim();
        let named = (1..=site.nodes()).find(|other| site.peer_address(*other) == address);
        if let Some(named) = named {
            votes[named] += 1;
        }
    }
    Ok((1..votes.len()).filter(|node| votes[*node] > 0).max_by_key(|node| votes[*node]))
}

fn write_server(site: &Site<'_>, node: usize) -> Result<(), LabError> {
    let (address, port) = (site.address(node), site.port("client"));
    // Else the others would know it by the address that it calls them from.
    let mut text = format!(
        "bind {address}\nbind-source-addr {address}\nreplica-announce-ip {}\nport {port}\n\
         dir {}\nsave \"\"\nprotected-mode no\nrepl-diskless-sync-delay 0\n",
        site.peer_address(node),
        site.folder(node).display()
    );
    let sync = site.option(&APPENDFSYNC);
    if sync != OFF {
        text += &format!("appendonly yes\nappendfsync {sync}\n");
    }
    if node > 1 {
        text += &format!("replicaof {} {}\n", site.peer_address(1), site.port("client"));
    }
    site.write(node, "server.conf", &text).map(drop)
}

fn write_sentinel(site: &Site<'_>, node: usize) -> Result<(), LabError> {
    let quorum = site.nodes() / 2 + 1;
    let address = site.address(node);
    let text = format!(
        "bind {address}\nbind-source-addr {address}\nsentinel announce-ip {address}\nport {}\n\
         dir {}\nprotected-mode no\nsentinel monitor {MASTER} {} {} {quorum}\n\
         sentinel down-after-milliseconds {MASTER} {}\nsentinel failover-timeout {MASTER} {}\n",
        site.port("sentinel"),
        site.folder(node).display(),
        site.peer_address(1),
        site.port("client"),
        site.option(&DOWN_AFTER),
        site.option(&FAILOVER_TIMEOUT)
    );
    site.write(node, "sentinel.conf", &text).map(drop)
}

fn launch_server(site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
    let file = site.folder(node).join("server.conf").display().to_string();
    site.launch(node, Launch::new("server", site.program("redis-server")).args([file]))?;
    site.wait_for_port(node, "client", SECONDS_TO_START)
}

fn launch_sentinel(site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
    let file = site.folder(node).join("sentinel.conf").display().to_string();
    let launch = Launch::new("sentinel", site.program("redis-server"));
    site.launch(node, launch.args([file.as_str(), "--sentinel"]))?;
    site.wait_for_port(node, "sentinel", SECONDS_TO_START)
}

/// What the server, or sentinel, of node `node` answers.
fn send(site: &Site<'_>, node: usize, port: &str, words: &[&str]) -> Result<String, LabError> {
    let (host, number) = (site.address(node), site.port(port).to_string());
    let words = [&["-h", &host, "-p", &number], words].concat();
    site.run(node, site.program("redis-cli"), &words, SECONDS_TO_START)
}
