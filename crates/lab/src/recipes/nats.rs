//! NATS servers with JetStream, one alone or a cluster.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::name;
use crate::card::{Card, Need, NodeCounts, Port, RecipeOption, Scaling, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::{FindLeader, ReadClock, Recipe};
use crate::site::{self, Launch, Site};

/// Debian's nats-server, or one that Go builds.
pub struct Nats;

const DEBIAN: &str = "debian";
const MODULE: &str = "github.com/nats-io/nats-server/v2";
const SECONDS_TO_START: u32 = 30;
/// How long the servers may take to have a leader with all of them.
const SECONDS_TO_AGREE: u32 = 60;
/// How long the others may take to have what a server had.
const SECONDS_TO_MOVE: u32 = 300;
/// Where a server tells which streams it has.
const STREAMS: &str = "/jsz?accounts=1&streams=1&config=1";
/// How long a server may take to answer one question.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest answer that is read.
const LONGEST_ANSWER: u64 = 4 << 20;
/// Who may take a server out of the cluster. The servers listen on this machine only.
const OVERSEER: (&str, &str) = ("lab", "lab");
/// The server's default.
const OWN: &str = "own";

const MAX_PAYLOAD: RecipeOption = RecipeOption::text("max-payload", "1048576")
    .about("bytes of the largest message, so of the largest record, up to 67108864");
const SYNC_INTERVAL: RecipeOption = RecipeOption::text("sync-interval", OWN).about(
    "how long a written message may wait for the disk, for example 1s or always (not Debian's); \
     own is 2 minutes",
);

impl Recipe for Nats {
    fn card(&self) -> Card {
        const BUILT: &[&str] = &["2.15.2"];
        Card {
            name: "nats",
            summary: "NATS with JetStream: a server alone, or a cluster that buckets choose from",
            versions: &[
                Version { name: DEBIAN, source: "Debian's nats-server" },
                Version { name: "2.15.2", source: "built by Go" },
            ],
            nodes: NodeCounts { allowed: 1..=9, usual: 3 },
            scaling: Scaling::Online,
            ports: &[
                Port { name: "client", number: 4222 },
                Port { name: "route", number: 6222 },
                Port { name: "monitor", number: 8222 },
            ],
            options: &[MAX_PAYLOAD, SYNC_INTERVAL],
            needs: const {
                &[
                    Need::package("nats-server", "nats-server").of_versions(&[DEBIAN]),
                    Need::by_hand("go", "https://go.dev/dl").of_versions(BUILT),
                ]
            },
            memory_mib: 40,
            disk_mib: 10,
            peer_ports: &["route"],
            ..Card::ALONE
        }
    }

    fn fetch(&self, version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        let server = match version {
            DEBIAN => package_cache.debian("nats-server", "nats-server")?,
            _ => package_cache.go(
                "nats-server",
                version,
                &[&format!("{MODULE}@v{version}")],
                MODULE,
            )?,
        };
        let reported = package_cache.version_of(&server, &["--version"], "nats-server: v")?;
        Ok(Kit::new(reported).with("nats-server", server))
    }

    fn start(&self, site: &mut Site<'_>) -> Result<(), LabError> {
        for node in 1..=site.nodes() {
            launch(site, node)?;
        }
        for node in 1..=site.nodes() {
            site.wait_for_port(node, "client", SECONDS_TO_START)?;
        }
        agree(site, site.nodes())
    }

    fn join(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        if node == 2 {
            return Err(site.cannot(
                "a server that was started alone has no cluster that another could join; start \
                 with two or more",
            ));
        }
        launch(site, node)?;
        site.wait_for_port(node, "client", SECONDS_TO_START)?;
        agree(site, node)
    }

    fn leave(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        if node == 2 {
            return Err(site.cannot("of two servers none can leave: the other would be no cluster"));
        }
        let mut moving = Vec::new();
        for stream in streams_of(site, node)? {
            match (give_away(site, node, &stream), stream.replicas) {
                (Ok(()), _) => moving.push(stream),
                (Err(reported), 1) => {
                    return Err(site.cannot(&format!(
                        "node {node} alone has the stream {}, and no other takes it: {reported}",
                        stream.name
                    )));
                }
                // There are not enough servers for as many replicas any more.
                (Err(_), _) => {}
            }
        }
        site.wait_until(&format!("node {node} to have nothing"), SECONDS_TO_MOVE, |site| {
            let left = streams_of(site, node)?;
            Ok(moving.iter().all(|moved| !left.contains(moved)))
        })?;
        site.end(node);
        let remove = json!({ "peer": name(node) }).to_string();
        // The others notice that it is gone before they let it be taken out.
        site.wait_until(
            &format!("node {node} to be out of the cluster"),
            SECONDS_TO_AGREE,
            |site| {
                let reported = send(&site.authority(1, "client"), "$JS.API.SERVER.REMOVE", &remove);
                let reported = reported
                    .ok()
                    .and_then(|reported| serde_json::from_str::<Value>(&reported).ok());
                Ok(reported.is_some_and(|reported| reported["success"] == true))
            },
        )?;
        agree_among(site, node - 1, node - 1)
    }

    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        launch(site, node)?;
        site.wait_for_port(node, "client", SECONDS_TO_START)
    }

    fn leader(&self) -> Option<FindLeader> {
        Some(leader)
    }

    fn clock(&self) -> Result<ReadClock, &'static str> {
        Err(super::GO_CLOCK)
    }

    fn url(&self, site: &Site<'_>) -> String {
        format!("nats://{}", site.authorities("client"))
    }
}

/// The leader of the largest stream, as most of the servers that run see it; without a stream, the
/// cluster's own.
fn leader(site: &mut Site<'_>) -> Result<Option<usize>, LabError> {
    if site.nodes() == 1 {
        return Ok(Some(1));
    }
    let mut votes: BTreeMap<String, u64> = BTreeMap::new();
    for node in site.running() {
        // A server that cannot answer has no vote.
        let Ok(reported) = monitored(site, node, STREAMS) else { continue };
        for (leader, weight) in leaders(&reported) {
            *votes.entry(leader).or_default() += weight;
        }
    }
    let most = votes.into_iter().max_by_key(|(_, weight)| *weight);
    Ok(most.and_then(|(leader, _)| (1..=site.nodes()).find(|node| name(*node) == leader)))
}

/// The leaders that a server knows, each with the number of messages that it is for.
fn leaders(jetstream: &Value) -> Vec<(String, u64)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let of = |cluster: &Value| cluster["leader"].as_str().unwrap_or_default().to_owned();
    let details = list(&jetstream["account_details"]).into_iter();
    let streams = details.flat_map(|account| list(&account["stream_detail"]));
    let streams = streams.map(|stream| {
        (of(&stream["cluster"]), 2 + 2 * stream["state"]["messages"].as_u64().unwrap_or(0))
    });
    let all = streams.chain([(of(&jetstream["meta_cluster"]), 1)]);
    all.filter(|(leader, _)| !leader.is_empty()).collect()
}

fn launch(site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
    let folder = site.folder(node).join("data").display().to_string();
    let sync = match site.option(&SYNC_INTERVAL) {
        OWN => String::new(),
        interval => format!("  sync_interval: {interval}\n"),
    };
    let (user, password) = OVERSEER;
    let mut text = format!(
        "server_name: {}\nlisten: \"{}\"\nhttp: \"{}\"\nmax_payload: {}\n\
         jetstream {{\n  store_dir: {}\n{sync}}}\n\
         accounts {{\n  $SYS {{ users: [ {{ user: {user}, password: {password} }} ] }}\n  \
         BENCH {{ jetstream: enabled, users: [ {{ user: bench, password: bench }} ] }}\n}}\n\
         no_auth_user: bench\n",
        name(node),
        site.authority(node, "client"),
        site.authority(node, "monitor"),
        site.option(&MAX_PAYLOAD),
        json!(folder),
    );
    if site.nodes() > 1 {
        let routes: Vec<String> = (1..=site.nodes())
            .map(|node| format!("\"nats://{}\"", site.peer_authority(node, "route")))
            .collect();
        text.push_str(&format!(
            "cluster {{\n  name: lab\n  listen: \"{}\"\n  advertise: \"{}\"\n  \
             routes: [ {} ]\n}}\n",
            site.authority(node, "route"),
            // What the others tell each other.
            site.peer_authority(node, "route"),
            routes.join(", ")
        ));
    }
    let config = site.write(node, "nats.conf", &text)?;
    let launch = Launch::new("server", site.program("nats-server"))
        .args(["--config", &config.display().to_string()]);
    site.launch(node, launch)
}

/// Waits until nodes 1 to `nodes` have a leader with all of them.
fn agree(site: &mut Site<'_>, nodes: usize) -> Result<(), LabError> {
    if site.nodes() == 1 { Ok(()) } else { agree_among(site, nodes, nodes) }
}

fn agree_among(site: &mut Site<'_>, nodes: usize, size: usize) -> Result<(), LabError> {
    // Nodes that are down do not respond.
    let running: Vec<usize> = site.running().into_iter().filter(|node| *node <= nodes).collect();
    site.wait_until("the servers to have a leader", SECONDS_TO_AGREE, |site| {
        for &node in &running {
            match monitored(site, node, "/jsz") {
                Ok(reported) if has_leader(&reported, size) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    })
}

/// Whether a server knows a leader of a cluster of that size.
fn has_leader(jetstream: &Value, size: usize) -> bool {
    let meta = &jetstream["meta_cluster"];
    let leads = meta["leader"].as_str().is_some_and(|leader| !leader.is_empty());
    leads && meta["cluster_size"].as_u64() == Some(size as u64)
}

/// A stream that a server has, alone or with others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stream {
    account: String,
    name: String,
    replicas: u64,
}

/// The streams in what a server tells about its JetStream.
fn streams(jetstream: &Value) -> Vec<Stream> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut streams = Vec::new();
    for account in list(&jetstream["account_details"]) {
        for stream in list(&account["stream_detail"]) {
            streams.push(Stream {
                account: account["name"].as_str().unwrap_or_default().into(),
                name: stream["name"].as_str().unwrap_or_default().into(),
                replicas: stream["config"]["num_replicas"].as_u64().unwrap_or(1),
            });
        }
    }
    streams
}

fn streams_of(site: &Site<'_>, node: usize) -> Result<Vec<Stream>, LabError> {
    Ok(streams(&monitored(site, node, STREAMS)?))
}

/// Lets the other servers have what node `node` has of a stream; says why not.
fn give_away(site: &Site<'_>, node: usize, stream: &Stream) -> Result<(), String> {
    let subject = format!("$JS.API.ACCOUNT.STREAM.MOVE.{}.{}", stream.account, stream.name);
    let away = json!({ "server": name(node) }).to_string();
    let reported = send(&site.authority(1, "client"), &subject, &away);
    let reported = reported.map_err(|error| error.to_string())?;
    let reported: Value = serde_json::from_str(&reported).map_err(|error| error.to_string())?;
    match reported["error"]["description"].as_str() {
        Some(reason) => Err(reason.into()),
        None => Ok(()),
    }
}

/// What node `node` tells about itself at `path`.
fn monitored(site: &Site<'_>, node: usize, path: &str) -> Result<Value, LabError> {
    let authority = site.authority(node, "monitor");
    let failed = |what: &str| LabError::Failed(format!("{authority}{path}: {what}"));
    let requested = || -> std::io::Result<String> {
        let mut socket = connect(&authority)?;
        write!(socket, "GET {path} HTTP/1.0\r\nHost: {authority}\r\n\r\n")?;
        let mut text = String::new();
        socket.take(LONGEST_ANSWER).read_to_string(&mut text)?;
        Ok(text)
    };
    let text = requested().map_err(|error| failed(&error.to_string()))?;
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).map_err(|error| failed(&error.to_string()))
}

fn connect(authority: &str) -> std::io::Result<TcpStream> {
    let socket = site::connect(authority)?;
    socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    socket.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    Ok(socket)
}

/// The cluster's response to `text` on `subject`, sent as the system account, in NATS's protocol.
fn send(authority: &str, subject: &str, text: &str) -> std::io::Result<String> {
    let mut socket = connect(authority)?;
    let (user, pass) = OVERSEER;
    let hello = json!({ "user": user, "pass": pass, "verbose": false, "pedantic": false });
    let length = text.len();
    write!(
        socket,
        "CONNECT {hello}\r\nSUB _INBOX.lab 1\r\nPUB {subject} _INBOX.lab {length}\r\n{text}\r\n"
    )?;
    let mut lines = BufReader::new(socket.take(LONGEST_ANSWER));
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        if line.starts_with("MSG ") {
            let mut answer = String::new();
            lines.read_line(&mut answer)?;
            return Ok(answer.trim_end().to_owned());
        }
        line.clear();
    }
    Err(std::io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_has_a_leader_with_all_of_its_servers() {
        let reported =
            json!({ "meta_cluster": { "name": "lab", "leader": "n2", "cluster_size": 3 } });
        assert!(has_leader(&reported, 3));
        assert!(!has_leader(&reported, 4));
        assert!(!has_leader(&json!({ "meta_cluster": { "cluster_size": 3 } }), 3));
        assert!(!has_leader(&json!({}), 1));
    }

    #[test]
    fn the_leader_of_the_largest_stream_counts_most() {
        fn stream(leader: &str, messages: u64) -> Value {
            let cluster = json!({ "leader": leader });
            json!({ "cluster": cluster, "state": { "messages": messages } })
        }
        let reported = json!({
            "meta_cluster": { "leader": "n3" },
            "account_details": [{ "stream_detail": [stream("n1", 5), stream("n2", 9)] }],
        });
        let expected = [("n1".to_owned(), 12), ("n2".to_owned(), 20), ("n3".to_owned(), 1)];
        assert_eq!(leaders(&reported), expected);
        assert_eq!(leaders(&json!({})), []);
    }

    #[test]
    fn streams_are_listed_with_their_totals() {
        let stream = json!({ "name": "KV_a", "config": { "num_replicas": 3 } });
        let reported = json!({ "account_details": [
            { "name": "BENCH", "stream_detail": [stream] }, { "name": "OTHER" },
        ] });
        let expected = Stream { account: "BENCH".into(), name: "KV_a".into(), replicas: 3 };
        assert_eq!(streams(&reported), [expected]);
        assert_eq!(streams(&json!({})), []);
    }
}
