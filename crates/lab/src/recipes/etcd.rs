//! An etcd cluster, which grows by learners that are promoted.

use serde_json::Value;

use super::name;
use crate::card::{Card, Need, NodeCounts, Port, RecipeOption, Scaling, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::{FindLeader, ReadClock, Recipe};
use crate::site::{Launch, Site};

/// Debian's etcd, or one that Go builds.
pub struct Etcd;

const SECONDS_TO_START: u32 = 30;
/// A learner has all data before it is promoted.
const SECONDS_TO_CATCH_UP: u32 = 300;
/// How long etcdctl may take: members answer a change within seven seconds or never.
const SECONDS_TO_ISSUE: u32 = 30;
/// Members change only while each of those that there are has been seen for five seconds.
const SECONDS_TO_CHANGE: u32 = 60;
const DEBIAN: &str = "debian";

/// Whether a node's cluster begins with it or is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cluster {
    New,
    Existing,
}

const QUOTA_BACKEND_BYTES: RecipeOption = RecipeOption::text("quota-backend-bytes", "8589934592")
    .about(
        "database with history, in bytes, from which on writes are refused; etcd's own is \
         2147483648",
    );
const MAX_TXN_OPS: RecipeOption = RecipeOption::text("max-txn-ops", "4096").about(
    "records that one transaction may have read, or write; etcd's own is 128, too few for some of \
     TPC-C's",
);
const FOR_EVER: &str = "0";
const AUTO_COMPACTION_RETENTION: RecipeOption =
    RecipeOption::text("auto-compaction-retention", FOR_EVER)
        .about("how long history is kept, for example 10m; 0 keeps it for ever, as etcd does");

impl Recipe for Etcd {
    fn card(&self) -> Card {
        const BUILT: &[&str] = &["3.6.16", "3.5.35"];
        Card {
            name: "etcd",
            summary: "an etcd cluster: one leader, followers with all data",
            versions: &[
                Version { name: DEBIAN, source: "Debian's etcd-server and etcd-client" },
                Version { name: "3.6.16", source: "built by Go" },
                Version { name: "3.5.35", source: "built by Go" },
            ],
            nodes: NodeCounts { allowed: 1..=9, usual: 3 },
            scaling: Scaling::Online,
            ports: &[Port { name: "client", number: 2379 }, Port { name: "peer", number: 2380 }],
            options: &[QUOTA_BACKEND_BYTES, MAX_TXN_OPS, AUTO_COMPACTION_RETENTION],
            needs: const {
                &[
                    Need::package("etcd", "etcd-server").of_versions(&[DEBIAN]),
                    Need::package("etcdctl", "etcd-client").of_versions(&[DEBIAN]),
                    Need::by_hand("go", "https://go.dev/dl").of_versions(BUILT),
                ]
            },
            memory_mib: 60,
            // Two log segments are made at once, 64 MB each.
            disk_mib: 200,
            peer_ports: &["peer"],
            ..Card::ALONE
        }
    }

    fn fetch(&self, version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        let (server, control) = match version {
            DEBIAN => {
                let server = package_cache.debian("etcd", "etcd-server")?;
                (server, package_cache.debian("etcdctl", "etcd-client")?)
            }
            _ => {
                let built = |name, package: &str| {
                    package_cache.go(name, version, &[&format!("{package}@v{version}")], package)
                };
                let server = built("etcd", "go.etcd.io/etcd/server/v3")?;
                (server, built("etcdctl", "go.etcd.io/etcd/etcdctl/v3")?)
            }
        };
        let reported = package_cache.version_of(&server, &["--version"], "etcd Version: ")?;
        Ok(Kit::new(reported).with("etcd", server).with("etcdctl", control))
    }

    fn start(&self, site: &mut Site<'_>) -> Result<(), LabError> {
        for node in 1..=site.nodes() {
            launch(site, node, Cluster::New)?;
        }
        for node in 1..=site.nodes() {
            site.wait_for_port(node, "client", SECONDS_TO_START)?;
        }
        Ok(())
    }

    fn join(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        let others = others(site, node)?;
        if let Some(id) = id_of(site, node, &others)? {
            // It did not come to its end the last time; what it had is gone, so it begins anew.
            insist(site, &others, &["member", "remove", &id], SECONDS_TO_CHANGE)?;
        }
        let peer = format!("--peer-urls={}", advertised(site, node));
        let name = name(node);
        insist(site, &others, &["member", "add", &name, &peer, "--learner"], SECONDS_TO_CHANGE)?;
        // It asks any one of them for the members, and ends if it is not among them itself.
        let what = format!("all members to know {name}");
        site.wait_until(&what, SECONDS_TO_CHANGE, |site| {
            let knows = |other: &usize| id_of(site, node, &[*other]).map(|id| id.is_some());
            others.iter().map(knows).try_fold(true, |all, knows| Ok(all && knows?))
        })?;
        launch(site, node, Cluster::Existing)?;
        site.wait_for_port(node, "client", SECONDS_TO_START)?;
        let Some(id) = id_of(site, node, &others)? else {
            return Err(LabError::Failed(format!("the cluster has no member {name}")));
        };
        // Refused until it has what the leader has.
        insist(site, &others, &["member", "promote", &id], SECONDS_TO_CATCH_UP)
    }

    /// Takes it out of the cluster, whether it runs or not; what was done by an attempt that failed
    /// later is not done again.
    fn leave(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        let others = others(site, node)?;
        let Some(id) = id_of(site, node, &others)? else { return Ok(()) };
        if site.running().contains(&node) {
            bequeath(site, node, &others)?;
        }
        // It ends by itself when it learns of it.
        site.let_go(node);
        insist(site, &others, &["member", "remove", &id], SECONDS_TO_CHANGE)
    }

    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        // The members of the cluster are in its data.
        launch(site, node, Cluster::Existing)?;
        site.wait_for_port(node, "client", SECONDS_TO_START)
    }

    fn leader(&self) -> Option<FindLeader> {
        Some(leader)
    }

    fn clock(&self) -> Result<ReadClock, &'static str> {
        Err(super::GO_CLOCK)
    }

    fn url(&self, site: &Site<'_>) -> String {
        format!("etcd://{}", site.authorities("client"))
    }
}

fn url(site: &Site<'_>, node: usize, port: &str) -> String {
    format!("http://{}", site.authority(node, port))
}

/// Where the other members reach this one.
fn advertised(site: &Site<'_>, node: usize) -> String {
    format!("http://{}", site.peer_authority(node, "peer"))
}

fn launch(site: &mut Site<'_>, node: usize, cluster: Cluster) -> Result<(), LabError> {
    let (client, peer) = (url(site, node, "client"), url(site, node, "peer"));
    let members =
        (1..=site.nodes()).map(|node| format!("{}={}", name(node), advertised(site, node)));
    let members: Vec<String> = members.collect();
    let state = match cluster {
        Cluster::New => "new",
        Cluster::Existing => "existing",
    };
    let mut launch = Launch::new("server", site.program("etcd"))
        .args(["--name", &name(node)])
        .args(["--data-dir", &site.folder(node).join("data").display().to_string()])
        .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer])
        .args(["--initial-advertise-peer-urls", &advertised(site, node)])
        .args(["--initial-cluster", &members.join(","), "--initial-cluster-state", state])
        .args(["--logger", "zap", "--log-level", "warn"])
        .args(["--quota-backend-bytes", site.option(&QUOTA_BACKEND_BYTES)])
        .args(["--max-txn-ops", site.option(&MAX_TXN_OPS)]);
    let kept = site.option(&AUTO_COMPACTION_RETENTION);
    if kept != FOR_EVER {
        launch = launch.args(["--auto-compaction-mode", "periodic"]);
        launch = launch.args(["--auto-compaction-retention", kept]);
    }
    site.launch(node, launch)
}

/// The running nodes other than `node`, which are asked about it.
fn others(site: &mut Site<'_>, node: usize) -> Result<Vec<usize>, LabError> {
    let others: Vec<usize> = site.running().into_iter().filter(|other| *other != node).collect();
    match others.is_empty() {
        true => Err(site.cannot(&format!("no node but {node} runs, so the cluster cannot change"))),
        false => Ok(others),
    }
}

/// Lets one of these nodes do something.
fn control(site: &Site<'_>, nodes: &[usize], words: &[&str]) -> Result<String, LabError> {
    let requested: Vec<String> = nodes.iter().map(|node| site.authority(*node, "client")).collect();
    let endpoints = format!("--endpoints={}", requested.join(","));
    run(site, &[&[endpoints.as_str()], words].concat())
}

/// Lets one of these nodes do something as soon as it does, for at most about `seconds`.
fn insist(
    site: &mut Site<'_>,
    nodes: &[usize],
    words: &[&str],
    seconds: u32,
) -> Result<(), LabError> {
    let mut said = String::new();
    let what = format!("the cluster to take `{}`", words.join(" "));
    let waited = site.wait_until(&what, seconds, |site| match control(site, nodes, words) {
        Ok(_) => Ok(true),
        Err(LabError::Failed(reason)) => {
            // An attempt whose answer was lost may have happened.
            let is_done = reason.contains("already exist") || reason.contains("member not found");
            said = reason;
            Ok(is_done)
        }
        Err(other) => Err(other),
    });
    waited.map_err(|error| match error {
        LabError::Failed(reason) => LabError::Failed(format!("{said}; {reason}")),
        other => other,
    })
}

fn run(site: &Site<'_>, words: &[&str]) -> Result<String, LabError> {
    let words = [&["--command-timeout=20s"], words].concat();
    site.run(1, site.program("etcdctl"), &words, SECONDS_TO_ISSUE)
}

/// The number that node `node` has in the cluster, as etcdctl writes it, if it is a member; one of
/// `nodes` is checked.
fn id_of(site: &Site<'_>, node: usize, nodes: &[usize]) -> Result<Option<String>, LabError> {
    let reported = control(site, nodes, &["member", "list", "--write-out=json"])?;
    member_id(&reported, &advertised(site, node)).map_err(|error| {
        LabError::Failed(format!("etcdctl lists no members ({error}): {reported}"))
    })
}

/// The member with this peer address in etcdctl's list, if there is one.
fn member_id(list: &str, peer: &str) -> Result<Option<String>, String> {
    let list: Value = serde_json::from_str(list).map_err(|error| error.to_string())?;
    let members = list["members"].as_array().ok_or("there is no list")?;
    let has_it = |member: &&Value| {
        member["peerURLs"].as_array().is_some_and(|urls| urls.iter().any(|url| url == peer))
    };
    let Some(member) = members.iter().find(has_it) else { return Ok(None) };
    let id = member["ID"].as_u64().ok_or("a member has no number")?;
    Ok(Some(format!("{id:x}")))
}

/// Has another one lead if node `node` does: else the others would be without a leader until they
/// notice. That is a courtesy, so it may fail.
fn bequeath(site: &Site<'_>, node: usize, others: &[usize]) -> Result<(), LabError> {
    let leave_it = |error| match error {
        LabError::Failed(_) => Ok(()),
        other => Err(other),
    };
    match is_leader(site, node) {
        Ok(true) => {}
        Ok(false) => return Ok(()),
        Err(error) => return leave_it(error),
    }
    let Some(heir) = id_of(site, others[0], others)? else { return Ok(()) };
    let leader = format!("--endpoints={}", site.authority(node, "client"));
    run(site, &[&leader, "move-leader", &heir]).map(drop).or_else(leave_it)
}

fn is_leader(site: &Site<'_>, node: usize) -> Result<bool, LabError> {
    let endpoint = format!("--endpoints={}", site.authority(node, "client"));
    let reported = run(site, &[&endpoint, "endpoint", "status", "--write-out=json"])?;
    Ok(leads(&reported).is_some_and(|(leads, _)| leads))
}

/// Whether the only member in etcdctl's states takes itself for the leader, and in which term.
fn leads(states: &str) -> Option<(bool, u64)> {
    let states: Value = serde_json::from_str(states).ok()?;
    let status = &states[0]["Status"];
    let leads = status["header"]["member_id"].as_u64()? == status["leader"].as_u64()?;
    Some((leads, status["raftTerm"].as_u64().unwrap_or(0)))
}

/// The leader of the newest term: one that is cut off takes itself for the leader until it notices.
/// Each node is asked in its own place, which nothing cuts off.
fn leader(site: &mut Site<'_>) -> Result<Option<usize>, LabError> {
    let mut newest = None;
    for node in site.running() {
        let endpoint = format!("--endpoints={}", site.authority(node, "client"));
        let words = [&*endpoint, "--command-timeout=2s", "endpoint", "status", "--write-out=json"];
        let reported = match site.run(node, site.program("etcdctl"), &words, SECONDS_TO_ISSUE) {
            Ok(reported) => reported,
            Err(LabError::Failed(_)) => continue,
            Err(other) => return Err(other),
        };
        if let Some((true, term)) = leads(&reported) {
            newest = newest.max(Some((term, node)));
        }
    }
    Ok(newest.map(|(_, node)| node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_known_by_their_address() {
        let list = r#"{"header":{"cluster_id":1},"members":[
            {"ID":9372538179322589801,"name":"n1","peerURLs":["http://127.0.0.1:2380"]},
            {"ID":255,"name":"","peerURLs":["http://127.0.0.2:2380"],"isLearner":true}]}"#;
        assert_eq!(member_id(list, "http://127.0.0.2:2380"), Ok(Some("ff".into())));
        let first = member_id(list, "http://127.0.0.1:2380");
        assert_eq!(first, Ok(Some("8211f1d0f64f3269".into())));
        assert_eq!(member_id(list, "http://127.0.0.3:2380"), Ok(None));
        // With an unreadable list a node may be a member all the same.
        assert!(member_id("no json", "http://127.0.0.1:2380").is_err());
        assert!(member_id("{}", "http://127.0.0.1:2380").is_err());
    }

    #[test]
    fn a_leader_is_the_member_that_says_so() {
        let states = |leader: u64| {
            format!(
                r#"[{{"Endpoint":"a","Status":{{"header":{{"member_id":7}},"leader":{leader},
                "raftTerm":3}}}}]"#
            )
        };
        assert_eq!(leads(&states(7)), Some((true, 3)));
        assert_eq!(leads(&states(8)), Some((false, 3)));
        assert_eq!(leads("[]"), None);
    }
}
