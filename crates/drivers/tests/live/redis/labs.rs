//! The clusters of Redis that the lab starts.

use std::process::Command;
use std::time::{Duration, Instant};

use assay_lab::{Order, recipes};
use assay_model::Reason;
use assay_store::conformance::assert_conforms;

use crate::lab::{Cluster, now};
use crate::stores::{store, test_client};
use crate::test_client::{RequestResult, TIMEOUT, insert, read, update};

/// Reads until a record comes; meanwhile the reads are refused.
fn until_back(test_client: &mut crate::test_client::TestClient, key: &str) {
    let start = Instant::now();
    loop {
        match test_client.send(&read(key)) {
            RequestResult::Done(true, _) => return,
            RequestResult::Refused(Reason::Unreachable | Reason::Busy)
            | RequestResult::Unknown(Reason::ConnectionLost) => {}
            other => panic!("{other:?}"),
        }
        assert!(start.elapsed() < TIMEOUT, "{key} does not come back");
        test_client.drain_for(Duration::from_millis(10));
    }
}

/// Waits until the replicas together hold as many keys as the masters, `fewest` at least: what a
/// master has acknowledged before is lost with it.
fn until_replicated(url: &str, fewest: u64) {
    let hosts = url.trim_start_matches("redis+cluster://").split(',');
    let hosts: Vec<(&str, &str)> = hosts.filter_map(|host| host.rsplit_once(':')).collect();
    let cli = |(host, port): &(&str, &str), word: &str| {
        let output = Command::new("redis-cli").args(["-h", host, "-p", port, word]).output();
        let output = output.expect("redis-cli comes with redis-server");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    };
    let start = Instant::now();
    loop {
        let mut keys = [0, 0];
        for host in &hosts {
            let is_replica = cli(host, "ROLE").starts_with("slave");
            keys[usize::from(is_replica)] += cli(host, "DBSIZE").parse::<u64>().unwrap_or(0);
        }
        if keys[0] == keys[1] && keys[0] >= fewest {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "masters and replicas hold {keys:?} keys");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_labs_cluster_grows_then_shrinks_under_requests() {
    let mut cluster = Cluster::start("redis-cluster", 3);
    assert_conforms(&*store(&cluster.url("")));
    let mut test_client = test_client(&cluster.url(""));
    for number in 0..300 {
        test_client.expect(&insert(&format!("user{number}"), &["a", "b"]), RequestResult::WRITTEN);
    }
    for nodes in [4, 3] {
        cluster.scale(nodes);
        for number in 0..300 {
            let key = format!("user{number}");
            until_back(&mut test_client, &key);
            test_client.expect(&update(&key, &["c"]), RequestResult::WRITTEN);
            test_client.expect(&read(&key), RequestResult::row("field0=c field1=b"));
        }
    }
}

#[test]
fn the_labs_cluster_outlives_a_master() {
    let recipe = recipes::find("redis-cluster").expect("the lab has it");
    // Six nodes are three masters with a replica each.
    let order = Order::of(recipe).nodes(6);
    let mut cluster = Cluster::start_as(&order);
    let mut test_client = test_client(&cluster.url("?connections=2"));
    for number in 0..100 {
        test_client.expect(&insert(&format!("user{number}"), &["a", "b"]), RequestResult::WRITTEN);
    }
    until_replicated(&cluster.url(""), 100);
    // redis-cli makes the first ones the masters.
    cluster.kill(2);
    for number in 0..100 {
        let key = format!("user{number}");
        until_back(&mut test_client, &key);
        test_client.expect(&update(&key, &["c"]), RequestResult::WRITTEN);
    }
    cluster.restart(2);
    test_client.expect(&read("user1"), RequestResult::row("field0=c field1=b"));
}

#[test]
fn the_labs_sentinels_find_a_new_master() {
    let mut cluster = Cluster::start("redis-sentinel", 3);
    let mut test_client = test_client(&cluster.url(""));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    cluster.kill(1);
    // What the old master had may be lost with it.
    test_client.send_until(&insert("user1", &["a", "b"]), &RequestResult::WRITTEN);
    test_client.send_until(&update("user1", &["c"]), &RequestResult::WRITTEN);
    cluster.restart(1);
    test_client.drain_for(Duration::from_secs(2));
    test_client.send_until(&update("user1", &["d"]), &RequestResult::WRITTEN);
    test_client.send_until(&read("user1"), &RequestResult::row("field0=d field1=b"));
}

#[test]
fn replicas_behind_sentinels_are_read() {
    let mut cluster = Cluster::start("redis-sentinel", 3);
    let mut test_client = test_client(&cluster.url("?read=replica"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    let row = RequestResult::row("field0=a field1=b");
    for session in 0..2 {
        test_client.send_until(&read("user1").of(session), &row);
    }
    // The replicas are all that is read: without them there is nobody, but writes go on.
    cluster.kill(2);
    cluster.kill(3);
    for session in 0..2 {
        let refused = RequestResult::Refused(Reason::Unreachable);
        test_client.send_until(&read("user1").of(session), &refused);
    }
    test_client.send_until(&update("user1", &["c"]), &RequestResult::WRITTEN);
    cluster.restart(2);
    cluster.restart(3);
    let row = RequestResult::row("field0=c field1=b");
    for session in 0..2 {
        test_client.send_until(&read("user1").of(session), &row);
    }
}

#[test]
fn a_cluster_whose_links_are_cut_refuses_until_they_are_back() {
    let recipe = recipes::find("redis-cluster").expect("the lab has it");
    let order = Order { peer_proxy: Some(now), ..Order::of(recipe).nodes(3) };
    let mut cluster = Cluster::start_as(&order);
    let mut test_client = test_client(&cluster.url(""));
    test_client.send_until(&insert("user1", &["a", "b"]), &RequestResult::WRITTEN);
    assert_eq!(cluster.inject("blackhole peers of 2"), [2]);
    let start = Instant::now();
    // Two masters of three are no cluster with all slots.
    while test_client.send(&update("user1", &["c"])) == RequestResult::WRITTEN {
        assert!(start.elapsed() < TIMEOUT, "nobody has noticed");
        test_client.drain_for(Duration::from_millis(50));
    }
    assert_eq!(cluster.inject("heal"), [1, 2, 3]);
    test_client.send_until(&update("user1", &["d"]), &RequestResult::WRITTEN);
    until_back(&mut test_client, "user1");
}
