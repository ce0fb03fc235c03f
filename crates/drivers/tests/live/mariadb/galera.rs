//! Several hosts that all take writes: the lab's Galera cluster.

use std::time::Instant;

use assay_model::Reason;
use assay_store::conformance::assert_conforms;

use crate::lab::Cluster;
use crate::stores::{store, test_client};
use crate::test_client::{RequestResult, TIMEOUT, TestClient, insert, read, update};

/// Its first node alone.
fn first_node(cluster: &Cluster) -> String {
    let url = cluster.url("");
    let (hosts, database) = url.rsplit_once('/').expect("a database is named");
    let first = hosts.split(',').next().expect("there is a first host");
    format!("{first}/{database}?columns=bytes&connections=3")
}

/// One write at the first node, read at each: session 0 is at the first one, 1 at the second.
fn assert_reaches_all(test_client: &mut TestClient, key: &str, value: &str) {
    test_client.send_until(&update(key, &[value]), &RequestResult::WRITTEN);
    let row = RequestResult::row(&format!("field0={value} field1=b"));
    for session in 0..3 {
        test_client.send_until(&read(key).of(session), &row);
    }
}

fn a_session_is_refused_while_its_node_is_down(cluster: &mut Cluster) {
    let mut test_client = test_client(&cluster.url("?connections=2"));
    test_client.send(&insert("user1", &["a", "b"]));
    assert_reaches_all(&mut test_client, "user1", "c");
    cluster.kill(2);
    let start = Instant::now();
    while test_client.send(&read("user1").of(1)) != RequestResult::Refused(Reason::Unreachable) {
        assert!(start.elapsed() < TIMEOUT, "the session has another node");
    }
    test_client.send_until(&update("user1", &["d"]), &RequestResult::WRITTEN);
    cluster.restart(2);
    assert_reaches_all(&mut test_client, "user1", "e");
}

/// Nobody but the operator decides which of the nodes begins.
fn what_all_nodes_had_outlives_a_crash_of_all(cluster: &mut Cluster) {
    let mut test_client = test_client(&cluster.url("?connections=2"));
    assert_reaches_all(&mut test_client, "user1", "f");
    (1..=3).for_each(|node| cluster.kill(node));
    [2, 1, 3].into_iter().for_each(|node| cluster.restart(node));
    let row = RequestResult::row("field0=f field1=b");
    for session in 0..3 {
        test_client.send_until(&read("user1").of(session), &row);
    }
    assert_reaches_all(&mut test_client, "user1", "g");
}

/// One after the other, as the cluster takes half a minute to start.
#[test]
fn a_galera_cluster_conforms_and_outlives_crashes_of_one_node_and_of_all() {
    let mut cluster = Cluster::start("galera", 3);
    assert_conforms(&*store(&first_node(&cluster)));
    a_session_is_refused_while_its_node_is_down(&mut cluster);
    what_all_nodes_had_outlives_a_crash_of_all(&mut cluster);
    cluster.scale(4);
    let mut test_client = test_client(&cluster.url(""));
    let row = RequestResult::row("field0=g field1=b");
    test_client.send_until(&read("user1").of(3), &row);
}
