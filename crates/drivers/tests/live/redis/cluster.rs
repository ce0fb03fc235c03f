//! Redis Clusters of a few nodes that lose some of them.

use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

use assay_drivers::redis::Redis;
use assay_model::{Kind, Reason};
use assay_store::conformance::assert_conforms;
use assay_store::{OpenError, Store, Ticket};

use super::store;
use crate::asker::{Asker, PATIENCE, Told, delete, insert, layout, read, scan, update};
use crate::server::{FREE_PORT, Server, free_port};

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
                let known = node.cli(&["CLUSTER", "NODES"]);
                node.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
                    && known.lines().filter(|line| line.contains("slave")).count() == replicas
            };
            let is_followed = |node: &Server| {
                let role = node.cli(&["ROLE"]);
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

    fn store(&self, rest: &str) -> Redis {
        store(&self.url(rest))
    }

    fn asker(&self, rest: &str) -> Asker {
        Asker::open(&self.store(rest)).expect("the cluster is there")
    }

    /// Until each of as many replicas as masters has what its master has: the rest is lost with it.
    fn until_replicated(&self) {
        let held = |nodes: &[Server]| -> u64 {
            nodes.iter().map(|node| node.cli(&["DBSIZE"]).parse().unwrap_or(0)).sum()
        };
        let (masters, replicas) = self.nodes.split_at(self.nodes.len() / 2);
        self.until(|| held(masters) == held(replicas));
    }

    fn until(&self, mut is_so: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < PATIENCE, "it did not come about");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The node that has the slot of `key`.
    fn place_of(&self, key: &str) -> usize {
        let has = |node: &Server| node.cli(&["EXISTS", key]).parse::<u32>().is_ok();
        let is_master = |node: &Server| node.cli(&["ROLE"]).starts_with("master");
        let found = self.nodes.iter().position(|node| is_master(node) && has(node));
        found.expect("some master has each slot")
    }

    fn id(&self, place: usize) -> String {
        self.nodes[place].cli(&["CLUSTER", "MYID"])
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
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{words:?}: {told}");
}

const BUSY: Told = Told::Refused(Reason::Busy);

#[test]
fn a_cluster_conforms() {
    let cluster = Cluster::start(3, 0);
    assert_conforms(&cluster.store(""));
    assert_conforms(&cluster.store("?connections=2&depth=8"));
    let capabilities = cluster.store("").capabilities();
    assert_eq!(capabilities.name, "redis-cluster");
    assert!(capabilities.hidden_retries.unwrap().contains("MOVED"));
}

#[test]
fn records_are_spread_while_the_index_is_in_one_place() {
    let cluster = Cluster::start(3, 0);
    let redis = cluster.store("");
    let mut asker = Asker::open(&redis).unwrap();
    for number in 0..90 {
        let key = format!("user{number}");
        assert_eq!(asker.ask(&insert(&key, &["a", "b"])), Told::WRITTEN);
        assert_eq!(asker.last_requests(), 2);
    }
    let sizes: Vec<u32> =
        cluster.nodes.iter().map(|node| node.cli(&["DBSIZE"]).parse().unwrap()).collect();
    assert_eq!(sizes.iter().sum::<u32>(), 91);
    assert!(sizes.iter().all(|size| *size > 10), "{sizes:?}");
    let index = &cluster.nodes[cluster.place_of("_indices")];
    assert_eq!(index.cli(&["ZCARD", "_indices"]), "90");
    assert_eq!(asker.ask(&update("user7", &["c"])), Told::WRITTEN);
    assert_eq!(asker.last_requests(), 1);
    assert_eq!(asker.ask(&read("user7")), Told::row("field0=c field1=b"));
    let Told::Done(true, rows) = asker.ask(&scan("user1", 5)) else { panic!("it finds rows") };
    assert_eq!((rows.len(), asker.last_requests()), (5, 6));
    assert_eq!(asker.ask(&delete("user7")), Told::WRITTEN);
    assert_eq!(asker.ask(&delete("user7")), Told::MISSING);
    redis.keep_note("loaded").unwrap();
    assert_eq!(redis.note().unwrap().as_deref(), Some("loaded"));
    redis.clear().unwrap();
    assert!(cluster.nodes.iter().all(|node| node.cli(&["DBSIZE"]) == "0"));
}

#[test]
fn without_the_index_every_request_is_one_command() {
    let cluster = Cluster::start(3, 0);
    let redis = cluster.store("?index=off");
    redis.clear().unwrap();
    let mut asker = Asker::open(&redis).unwrap();
    for number in 0..9 {
        assert_eq!(asker.ask(&insert(&format!("user{number}"), &["a", "b"])), Told::WRITTEN);
        assert_eq!(asker.last_requests(), 1);
    }
    assert_eq!(asker.ask(&scan("user1", 1)), Told::Refused(Reason::Unsupported));
    assert!(redis.clear().unwrap_err().to_string().contains("index=off"));
    for number in 0..9 {
        assert_eq!(asker.ask(&delete(&format!("user{number}"))), Told::WRITTEN);
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
    let mut asker = Asker::open_laid(&cluster.store(""), &layout).unwrap();
    for key in ["user3", "user1", "user2"] {
        assert_eq!(asker.ask(&insert(key, &[key, "x"])), Told::WRITTEN);
    }
    assert_eq!(asker.ask(&update("user9", &["c"])), Told::MISSING);
    assert_eq!(asker.ask(&update("user2", &["c"])), Told::WRITTEN);
    let place = cluster.place_of("usertable:user3");
    cluster.nodes[place].cli(&["DEL", "usertable:user3"]);
    let rows = vec!["field0=user1 field1=x".into(), "field0=c field1=x".into(), String::new()];
    assert_eq!(asker.ask(&scan("user1", 9)), Told::Done(true, rows));
}

#[test]
fn a_slot_that_moved_is_followed_once_then_known() {
    let cluster = Cluster::start(3, 0);
    let mut asker = cluster.asker("");
    let key = cluster.key_at(0, "moved");
    assert_eq!(asker.ask(&insert(&key, &["a", "b"])), Told::WRITTEN);
    let from = cluster.id(0);
    // All of the first node's slots.
    cli(&["--cluster", "reshard", &format!("127.0.0.1:{}", cluster.nodes[0].port)]
        .into_iter()
        .chain(["--cluster-from", &from, "--cluster-to", &cluster.id(1)])
        .chain(["--cluster-slots", "5461", "--cluster-yes"])
        .map(str::to_owned)
        .collect::<Vec<_>>());
    assert_eq!(asker.ask(&read(&key)), Told::row("field0=a field1=b"));
    assert_eq!(asker.last_requests(), 2);
    // Meanwhile it asks for the map.
    cluster.until(|| {
        assert_eq!(asker.ask(&read(&key)), Told::row("field0=a field1=b"));
        asker.last_requests() == 1
    });
    let other = format!("{key}again");
    assert_eq!(asker.ask(&insert(&other, &["a", "b"])), Told::WRITTEN);
    assert_eq!(asker.last_requests(), 2);
}

#[test]
fn a_slot_on_its_way_is_asked_for_at_both_ends() {
    let cluster = Cluster::start(3, 0);
    let mut asker = cluster.asker("");
    let key = cluster.key_at(0, "way");
    let slot = cluster.nodes[0].cli(&["CLUSTER", "KEYSLOT", &key]);
    let (from, to) = (cluster.id(0), cluster.id(1));
    cluster.nodes[1].cli(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from]);
    cluster.nodes[0].cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to]);
    // The record's command, ASKING and the command again, and the entry in the index.
    assert_eq!(asker.ask(&insert(&key, &["a", "b"])), Told::WRITTEN);
    assert_eq!(asker.last_requests(), 4);
    assert_eq!(asker.ask(&read(&key)), Told::row("field0=a field1=b"));
    assert_eq!(asker.last_requests(), 3);
    assert_eq!(asker.ask(&scan(&key, 1)), Told::row("field0=a field1=b"));
    assert_eq!(asker.last_requests(), 4);
}

#[test]
fn a_command_that_is_sent_round_in_circles_is_refused() {
    let cluster = Cluster::start(3, 0);
    let mut asker = cluster.asker("");
    let key = cluster.key_at(0, "circle");
    let slot = cluster.nodes[0].cli(&["CLUSTER", "KEYSLOT", &key]);
    // The first sends it to the second, which does not take it in.
    cluster.nodes[0].cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &cluster.id(1)]);
    assert_eq!(asker.ask(&read(&key)), BUSY);
    assert_eq!(asker.last_requests(), 3);
}

#[test]
fn a_killed_master_is_replaced_by_its_replica() {
    let mut cluster = Cluster::start(3, 1);
    let mut asker = cluster.asker("?connections=2");
    let keys: Vec<String> = (0..60).map(|number| format!("user{number}")).collect();
    for key in &keys {
        assert_eq!(asker.ask(&insert(key, &["a", "b"])), Told::WRITTEN);
    }
    cluster.until_replicated();
    // Not the one with the index, so that scans go on being possible for those who look.
    let victim = (0..3).find(|place| *place != cluster.place_of("_indices")).unwrap();
    let lost: Vec<String> =
        keys.iter().filter(|key| cluster.place_of(key) == victim).cloned().collect();
    assert!(!lost.is_empty());
    cluster.nodes[victim].freeze();
    let sent: HashMap<Ticket, String> =
        lost.iter().map(|key| (asker.start(&update(key, &["c"])), key.clone())).collect();
    asker.drain_for(Duration::from_millis(20));
    cluster.nodes[victim].kill();
    for (ticket, told) in asker.take(sent.len()) {
        assert!(sent.contains_key(&ticket));
        assert_eq!(told, Told::Unknown(Reason::ConnectionLost));
    }
    assert_eq!(asker.ask(&read(&lost[0])), Told::Refused(Reason::Unreachable));
    let start = Instant::now();
    let mut refused = HashMap::new();
    let again = loop {
        match asker.ask(&read(&lost[0])) {
            Told::Refused(reason) => *refused.entry(reason).or_insert(0) += 1,
            told => break told,
        }
        assert!(start.elapsed() < PATIENCE, "the replica did not take over: {refused:?}");
        asker.drain_for(Duration::from_millis(10));
    };
    assert!(refused.keys().all(|reason| [Reason::Unreachable, Reason::Busy].contains(reason)));
    assert_eq!(again, Told::row("field0=a field1=b"));
    for key in &keys {
        // Another master may not have heard yet that the cluster is whole again.
        asker.ask_until(&update(key, &["d"]), &Told::WRITTEN);
        asker.ask_until(&read(key), &Told::row("field0=d field1=b"));
    }
    // The old master comes back as a replica, which disturbs nobody.
    cluster.nodes[victim].restart();
    asker.drain_for(Duration::from_millis(500));
    for key in &lost {
        asker.ask_until(&read(key), &Told::row("field0=d field1=b"));
    }
}

#[test]
fn a_frozen_master_is_replaced_too() {
    let cluster = Cluster::start(3, 1);
    let mut asker = cluster.asker("?connect_timeout=500");
    let victim = cluster.place_of("user1");
    assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    cluster.until_replicated();
    cluster.nodes[victim].freeze();
    let given_up = asker.start(&read("user1"));
    asker.drain_for(Duration::from_millis(50));
    asker.abandon(given_up);
    assert_eq!(asker.take(1), [(given_up, Told::Unknown(Reason::ConnectionLost))]);
    asker.ask_until(&read("user1"), &Told::row("field0=a field1=b"));
    cluster.nodes[victim].thaw();
    asker.drain_for(Duration::from_millis(500));
    asker.ask_until(&update("user1", &["c"]), &Told::WRITTEN);
    assert_eq!(asker.ask(&read("user1")), Told::row("field0=c field1=b"));
}

#[test]
fn without_a_replica_the_keys_of_a_killed_master_are_refused() {
    let mut cluster = Cluster::start(3, 0);
    let mut asker = cluster.asker("");
    for number in 0..30 {
        asker.ask(&insert(&format!("user{number}"), &["a", "b"]));
    }
    let index = cluster.place_of("_indices");
    let gone = cluster.key_at((index + 1) % 3, "gone");
    // Looked for while every slot has somebody: later the others only say that the cluster is down.
    let there = cluster.key_at(index, "there");
    cluster.nodes[(index + 1) % 3].kill();
    asker.ask_until(&read(&gone), &Told::Refused(Reason::Unreachable));
    // Half of an insert does not happen where the other half cannot.
    assert_eq!(asker.ask(&insert(&gone, &["a", "b"])), Told::Refused(Reason::Unreachable));
    asker.ask_until(&read(&there), &BUSY);
    cluster.nodes[(index + 1) % 3].restart();
    asker.ask_until(&read(&there), &Told::MISSING);
    asker.ask_until(&read(&gone), &Told::MISSING);
}

#[test]
fn settings_tell_the_clusters_shape() {
    let cluster = Cluster::start(3, 1);
    let settings = cluster.store("").settings().unwrap();
    let value = |name: &str| {
        let found = settings.iter().find(|setting| setting.name == name);
        found.map_or("", |setting| setting.value.as_str())
    };
    assert_eq!((value("masters"), value("replicas")), ("3", "3"));
    assert_eq!(value("cluster-node-timeout"), "1000");
    assert_eq!(value("cluster-require-full-coverage"), "yes");
    assert_eq!(value("durability"), "none");
    assert_eq!(value("role"), "master");
    assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
}

fn complaint(url: &str) -> OpenError {
    store(url).prepare(&layout(1)).expect_err("it must not open")
}

#[test]
fn what_is_no_whole_cluster_is_told() {
    let single = Server::start(&[]);
    let error = complaint(&format!("redis+cluster://127.0.0.1:{}", single.port));
    assert!(matches!(error, OpenError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("redis://"), "{error}");
    let fresh = node();
    let error = complaint(&format!("redis+cluster://127.0.0.1:{}", fresh.port));
    assert!(error.to_string().contains("16384 of its 16384 slots"), "{error}");
    let error = complaint(&format!("redis+cluster://127.0.0.1:{}", free_port()));
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
    let cluster = Cluster::start(3, 0);
    let dead = free_port();
    let url = format!("redis-cluster://127.0.0.1:{dead},127.0.0.1:{}", cluster.nodes[2].port);
    let mut asker = Asker::open(&store(&url)).unwrap();
    assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    assert!(store(&url).capabilities().can(Kind::Scan));
    let error = complaint(&format!("redis://127.0.0.1:{}", cluster.nodes[0].port));
    assert!(error.to_string().contains("redis+cluster://"), "{error}");
}
