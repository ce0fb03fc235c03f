//! Redis Clusters of a few nodes that lose some of them.

use std::collections::HashMap;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_model::{Kind, Reason};
use assay_store::conformance::assert_conforms;
use assay_store::{Store, Ticket};

use crate::opening::assert_turned_away;
use crate::server::{FREE_PORT, Server, free_port};
use crate::stores::{Settings, store, test_client};
use crate::test_client::{
    RequestResult, TIMEOUT, TestClient, delete, insert, layout, read, scan, update,
};

/// A cluster of a test's own.
struct Cluster {
    /// Masters first.
    nodes: Vec<Server>,
}

impl Cluster {
    fn start(masters: usize, replicas_each: usize) -> Cluster {
        let nodes: Vec<Server> = (0..masters * (1 + replicas_each)).map(|_| node()).collect();
        let cluster = Cluster { nodes };
        let mut words: Vec<String> = vec!["--cluster".into(), "create".into()];
        words.extend(cluster.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)));
        words.extend(["--cluster-replicas".into(), replicas_each.to_string()]);
        words.push("--cluster-yes".into());
        cli(&words);
        let replicas = masters * replicas_each;
        cluster.until(|| {
            let is_ready = |node: &Server| {
                let known = node.cli("CLUSTER NODES");
                node.cli("CLUSTER INFO").contains("cluster_state:ok")
                    && known.lines().filter(|line| line.contains("slave")).count() == replicas
            };
            let is_followed = |node: &Server| {
                let role = node.cli("ROLE");
                role.starts_with("master") || role.contains("connected")
            };
            cluster.nodes.iter().all(|node| is_ready(node) && is_followed(node))
        });
        cluster
    }

    /// `redis+cluster://` with all nodes, followed by `rest`.
    fn url(&self, rest: &str) -> String {
        let hosts: Vec<String> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("redis+cluster://{}{rest}", hosts.join(","))
    }

    fn store(&self, rest: &str) -> Arc<dyn Store> {
        store(&self.url(rest))
    }

    fn test_client(&self, rest: &str) -> TestClient {
        test_client(&self.url(rest))
    }

    /// Until each of as many replicas as masters has what its master has: the rest is lost with it.
    fn until_replicated(&self) {
        let held = |nodes: &[Server]| -> u64 {
            nodes.iter().map(|node| node.cli("DBSIZE").parse().unwrap_or(0)).sum()
        };
        let (masters, replicas) = self.nodes.split_at(self.nodes.len() / 2);
        self.until(|| held(masters) == held(replicas));
    }

    fn until(&self, mut is_so: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < TIMEOUT, "it did not come about");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The node that has the slot of `key`.
    fn place_of(&self, key: &str) -> usize {
        let has = |node: &Server| node.cli(&format!("EXISTS {key}")).parse::<u32>().is_ok();
        let is_master = |node: &Server| node.cli("ROLE").starts_with("master");
        let found = self.nodes.iter().position(|node| is_master(node) && has(node));
        found.expect("some master has each slot")
    }

    fn id(&self, place: usize) -> String {
        self.nodes[place].cli("CLUSTER MYID")
    }

    /// A key of the first master, or of another place, that no test has used.
    fn key_at(&self, place: usize, start: &str) -> String {
        let keys = (0..).map(|number| format!("{start}{number}"));
        keys.take(100).find(|key| self.place_of(key) == place).expect("one in a hundred is there")
    }
}

fn node() -> Server {
    Server::start(&[
        "--cluster-enabled",
        "yes",
        "--cluster-node-timeout",
        "1000",
        "--cluster-port",
        FREE_PORT,
        "--repl-diskless-sync-delay",
        "0",
    ])
}

fn cli(words: &[String]) {
    let output = Command::new("redis-cli").args(words).output().expect("redis-cli is there");
    let result = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{words:?}: {result}");
}

const BUSY: RequestResult = RequestResult::Refused(Reason::Busy);

#[test]
fn a_cluster_conforms() {
    let cluster = Cluster::start(3, 0);
    assert_conforms(&*cluster.store(""));
    assert_conforms(&*cluster.store("?connections=2&depth=8"));
    let capabilities = cluster.store("").capabilities();
    assert_eq!(capabilities.name, "redis-cluster");
    assert!(capabilities.hidden_retries.unwrap().contains("MOVED"));
}

#[test]
fn records_are_spread_while_the_index_is_in_one_place() {
    let cluster = Cluster::start(3, 0);
    let redis = cluster.store("");
    let mut test_client = TestClient::open(&*redis).unwrap();
    for number in 0..90 {
        let key = format!("user{number}");
        test_client.expect(&insert(&key, &["a", "b"]), RequestResult::WRITTEN);
        assert_eq!(test_client.last_requests(), 2);
    }
    let sizes: Vec<u32> =
        cluster.nodes.iter().map(|node| node.cli("DBSIZE").parse().unwrap()).collect();
    assert_eq!(sizes.iter().sum::<u32>(), 91);
    assert!(sizes.iter().all(|size| *size > 10), "{sizes:?}");
    let index = &cluster.nodes[cluster.place_of("_indices")];
    assert_eq!(index.cli("ZCARD _indices"), "90");
    test_client.expect(&update("user7", &["c"]), RequestResult::WRITTEN);
    assert_eq!(test_client.last_requests(), 1);
    test_client.expect(&read("user7"), RequestResult::row("field0=c field1=b"));
    let RequestResult::Done(true, rows) = test_client.send(&scan("user1", 5)) else {
        panic!("it finds rows")
    };
    assert_eq!((rows.len(), test_client.last_requests()), (5, 6));
    test_client.expect(&delete("user7"), RequestResult::WRITTEN);
    test_client.expect(&delete("user7"), RequestResult::MISSING);
    redis.keep_note("loaded").unwrap();
    assert_eq!(redis.note().unwrap().as_deref(), Some("loaded"));
    redis.clear().unwrap();
    assert!(cluster.nodes.iter().all(|node| node.cli("DBSIZE") == "0"));
}

#[test]
fn without_the_index_every_request_is_one_command() {
    let cluster = Cluster::start(3, 0);
    let redis = cluster.store("?index=off");
    redis.clear().unwrap();
    let mut test_client = TestClient::open(&*redis).unwrap();
    for number in 0..9 {
        test_client.expect(&insert(&format!("user{number}"), &["a", "b"]), RequestResult::WRITTEN);
        assert_eq!(test_client.last_requests(), 1);
    }
    test_client.expect(&scan("user1", 1), RequestResult::Refused(Reason::Unsupported));
    assert!(redis.clear().unwrap_err().to_string().contains("index=off"));
    for number in 0..9 {
        test_client.expect(&delete(&format!("user{number}")), RequestResult::WRITTEN);
    }
    redis.keep_note("loaded").unwrap();
    redis.clear().unwrap();
    assert_eq!(redis.note().unwrap(), None);
}

#[test]
fn tables_in_key_order_are_scanned_over_all_nodes() {
    let cluster = Cluster::start(3, 0);
    let mut layout = layout(2);
    layout.tables[0].needs_key_order = true;
    let mut test_client = TestClient::open_laid(&*cluster.store(""), &layout).unwrap();
    for key in ["user3", "user1", "user2"] {
        test_client.expect(&insert(key, &[key, "x"]), RequestResult::WRITTEN);
    }
    test_client.expect(&update("user9", &["c"]), RequestResult::MISSING);
    test_client.expect(&update("user2", &["c"]), RequestResult::WRITTEN);
    let place = cluster.place_of("usertable:user3");
    cluster.nodes[place].cli("DEL usertable:user3");
    let rows = vec!["field0=user1 field1=x".into(), "field0=c field1=x".into(), String::new()];
    test_client.expect(&scan("user1", 9), RequestResult::Done(true, rows));
}

#[test]
fn a_slot_that_moved_is_followed_once_then_known() {
    let cluster = Cluster::start(3, 0);
    let mut test_client = cluster.test_client("");
    let key = cluster.key_at(0, "moved");
    test_client.expect(&insert(&key, &["a", "b"]), RequestResult::WRITTEN);
    let from = cluster.id(0);
    // All of the first node's slots.
    cli(&["--cluster", "reshard", &format!("127.0.0.1:{}", cluster.nodes[0].port)]
        .into_iter()
        .chain(["--cluster-from", &from, "--cluster-to", &cluster.id(1)])
        .chain(["--cluster-slots", "5461", "--cluster-yes"])
        .map(str::to_owned)
        .collect::<Vec<_>>());
    test_client.expect(&read(&key), RequestResult::row("field0=a field1=b"));
    assert_eq!(test_client.last_requests(), 2);
    // Meanwhile the client requests the slot map.
    cluster.until(|| {
        test_client.expect(&read(&key), RequestResult::row("field0=a field1=b"));
        test_client.last_requests() == 1
    });
    let other = format!("{key}again");
    test_client.expect(&insert(&other, &["a", "b"]), RequestResult::WRITTEN);
    assert_eq!(test_client.last_requests(), 2);
}

#[test]
fn a_migrating_slot_is_looked_up_on_both_nodes() {
    let cluster = Cluster::start(3, 0);
    let mut test_client = cluster.test_client("");
    let key = cluster.key_at(0, "way");
    let slot = cluster.nodes[0].cli(&format!("CLUSTER KEYSLOT {key}"));
    let (from, to) = (cluster.id(0), cluster.id(1));
    cluster.nodes[1].cli(&format!("CLUSTER SETSLOT {slot} IMPORTING {from}"));
    cluster.nodes[0].cli(&format!("CLUSTER SETSLOT {slot} MIGRATING {to}"));
    // The record's command, ASKING and the command again, and the entry in the index.
    test_client.expect(&insert(&key, &["a", "b"]), RequestResult::WRITTEN);
    assert_eq!(test_client.last_requests(), 4);
    test_client.expect(&read(&key), RequestResult::row("field0=a field1=b"));
    assert_eq!(test_client.last_requests(), 3);
    test_client.expect(&scan(&key, 1), RequestResult::row("field0=a field1=b"));
    assert_eq!(test_client.last_requests(), 4);
}

#[test]
fn a_redirection_loop_is_refused() {
    let cluster = Cluster::start(3, 0);
    let mut test_client = cluster.test_client("");
    let key = cluster.key_at(0, "circle");
    let slot = cluster.nodes[0].cli(&format!("CLUSTER KEYSLOT {key}"));
    // The first sends it to the second, which does not take it in.
    cluster.nodes[0].cli(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(1)));
    test_client.expect(&read(&key), BUSY);
    assert_eq!(test_client.last_requests(), 3);
}

#[test]
fn a_killed_master_is_replaced_by_its_replica() {
    let mut cluster = Cluster::start(3, 1);
    let mut test_client = cluster.test_client("?connections=2");
    let keys: Vec<String> = (0..60).map(|number| format!("user{number}")).collect();
    for key in &keys {
        test_client.expect(&insert(key, &["a", "b"]), RequestResult::WRITTEN);
    }
    cluster.until_replicated();
    // Not the one with the index, so that scans go on being possible for those who look.
    let chosen = (0..3).find(|place| *place != cluster.place_of("_indices")).unwrap();
    let lost: Vec<String> =
        keys.iter().filter(|key| cluster.place_of(key) == chosen).cloned().collect();
    assert!(!lost.is_empty());
    cluster.nodes[chosen].freeze();
    let sent: HashMap<Ticket, String> =
        lost.iter().map(|key| (test_client.start(&update(key, &["c"])), key.clone())).collect();
    test_client.drain_for(Duration::from_millis(20));
    cluster.nodes[chosen].kill();
    for (ticket, result) in test_client.take(sent.len()) {
        assert!(sent.contains_key(&ticket));
        assert_eq!(result, RequestResult::Unknown(Reason::ConnectionLost));
    }
    test_client.expect(&read(&lost[0]), RequestResult::Refused(Reason::Unreachable));
    let start = Instant::now();
    let mut refused = HashMap::new();
    let again = loop {
        match test_client.send(&read(&lost[0])) {
            RequestResult::Refused(reason) => *refused.entry(reason).or_insert(0) += 1,
            result => break result,
        }
        assert!(start.elapsed() < TIMEOUT, "the replica did not take over: {refused:?}");
        test_client.drain_for(Duration::from_millis(10));
    };
    assert!(refused.keys().all(|reason| [Reason::Unreachable, Reason::Busy].contains(reason)));
    assert_eq!(again, RequestResult::row("field0=a field1=b"));
    for key in &keys {
        // Another master may not know yet that the cluster is whole again.
        test_client.send_until(&update(key, &["d"]), &RequestResult::WRITTEN);
        test_client.send_until(&read(key), &RequestResult::row("field0=d field1=b"));
    }
    // The old master comes back as a replica, without any effect.
    cluster.nodes[chosen].restart();
    test_client.drain_for(Duration::from_millis(500));
    for key in &lost {
        test_client.send_until(&read(key), &RequestResult::row("field0=d field1=b"));
    }
}

#[test]
fn a_frozen_master_is_replaced_too() {
    let cluster = Cluster::start(3, 1);
    let mut test_client = cluster.test_client("?connect_timeout=500");
    let chosen = cluster.place_of("user1");
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    cluster.until_replicated();
    cluster.nodes[chosen].freeze();
    let given_up = test_client.start(&read("user1"));
    test_client.drain_for(Duration::from_millis(50));
    test_client.abandon(given_up);
    assert_eq!(test_client.take(1), [(given_up, RequestResult::Unknown(Reason::ConnectionLost))]);
    test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
    cluster.nodes[chosen].thaw();
    test_client.drain_for(Duration::from_millis(500));
    test_client.send_until(&update("user1", &["c"]), &RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=c field1=b"));
}

#[test]
fn without_a_replica_the_keys_of_a_killed_master_are_refused() {
    let mut cluster = Cluster::start(3, 0);
    let mut test_client = cluster.test_client("");
    for number in 0..30 {
        test_client.send(&insert(&format!("user{number}"), &["a", "b"]));
    }
    let index = cluster.place_of("_indices");
    let gone = cluster.key_at((index + 1) % 3, "gone");
    // Looked for while every slot has somebody: later the others only say that the cluster is down.
    let there = cluster.key_at(index, "there");
    cluster.nodes[(index + 1) % 3].kill();
    test_client.send_until(&read(&gone), &RequestResult::Refused(Reason::Unreachable));
    // Half of an insert does not happen where the other half cannot.
    test_client.expect(&insert(&gone, &["a", "b"]), RequestResult::Refused(Reason::Unreachable));
    test_client.send_until(&read(&there), &BUSY);
    cluster.nodes[(index + 1) % 3].restart();
    test_client.send_until(&read(&there), &RequestResult::MISSING);
    test_client.send_until(&read(&gone), &RequestResult::MISSING);
}

#[test]
fn settings_tell_the_clusters_shape() {
    let cluster = Cluster::start(3, 1);
    let settings = Settings::of(&*cluster.store(""));
    settings.expect(&[
        ("masters", "3"),
        ("replicas", "3"),
        ("cluster-node-timeout", "1000"),
        ("cluster-require-full-coverage", "yes"),
        ("durability", "none"),
        ("role", "master"),
    ]);
}

#[test]
fn what_is_no_whole_cluster_is_reported() {
    let single = Server::start(&[]);
    assert_turned_away(
        &format!("redis+cluster://127.0.0.1:{}", single.port),
        "Unsupported",
        "redis://",
    );
    let fresh = node();
    assert_turned_away(
        &format!("redis+cluster://127.0.0.1:{}", fresh.port),
        "",
        "16384 of its 16384 slots",
    );
    assert_turned_away(&format!("redis+cluster://127.0.0.1:{}", free_port()), "Unreachable", "");
    let cluster = Cluster::start(3, 0);
    let dead = free_port();
    let url = format!("redis-cluster://127.0.0.1:{dead},127.0.0.1:{}", cluster.nodes[2].port);
    let mut test_client = test_client(&url);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    assert!(store(&url).capabilities().can(Kind::Scan));
    assert_turned_away(
        &format!("redis://127.0.0.1:{}", cluster.nodes[0].port),
        "",
        "redis+cluster://",
    );
}
