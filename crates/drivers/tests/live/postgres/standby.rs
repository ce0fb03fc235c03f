//! Reads at standbys: the lab's primary with replicas.

use std::time::Instant;

use assay_lab::{Order, recipes};
use assay_model::Reason;

use crate::lab::{Cluster, now};
use crate::stores::store;
use crate::test_client::{RequestResult, TIMEOUT, TestClient, insert, read, update};

fn start(nodes: usize) -> Cluster {
    let recipe = recipes::find("postgres").expect("the lab has it");
    Cluster::start_marked(&Order::of(recipe).nodes(nodes).choose("apply-delay", "3000"))
}

#[test]
fn reads_at_a_standby_are_stale_until_it_has_applied_the_write() {
    let mut cluster = start(2);
    let store = store(&cluster.url("&read=standby&connections=2"));
    let mut test_client = TestClient::open(&*store).expect("the servers are there");
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    // Some seconds are more than a read takes.
    test_client.expect(&read("user1"), RequestResult::MISSING);
    test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
    let settings = store.settings().expect("the primary tells");
    let is_said = |name: &str, value: &str| {
        settings.iter().any(|setting| (&*setting.name, &*setting.value) == (name, value))
    };
    assert!(is_said("read", "standby") && is_said("role", "primary"), "{settings:?}");
    cluster.kill(2);
    let start = Instant::now();
    while test_client.send(&read("user1")) != RequestResult::Refused(Reason::Unreachable) {
        assert!(start.elapsed() < TIMEOUT, "reads go elsewhere");
    }
    test_client.expect(&update("user1", &["c"]), RequestResult::WRITTEN);
    cluster.restart(2);
    test_client.send_until(&read("user1"), &RequestResult::row("field0=c field1=b"));
}

#[test]
fn a_standby_behind_a_slow_link_reads_stale() {
    let recipe = recipes::find("postgres").expect("the lab has it");
    let order = Order { peer_proxy: Some(now), ..Order::of(recipe).nodes(2) };
    let mut cluster = Cluster::start_marked(&order);
    let store = store(&cluster.url("&read=standby&connections=2"));
    let mut test_client = TestClient::open(&*store).expect("the servers are there");
    assert_eq!(cluster.inject("delay peers of 2 by 2s"), [2]);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read("user1")), RequestResult::MISSING, "it is under way");
    test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
    assert_eq!(cluster.inject("heal"), [1, 2]);
}

#[test]
fn reads_in_turn_go_back_in_time() {
    let cluster = start(2);
    let store = store(&cluster.url("&read=any&connections=2"));
    let mut test_client = TestClient::open(&*store).expect("the servers are there");
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    let found = [(); 4].map(|()| test_client.send(&read("user1")) != RequestResult::MISSING);
    assert!(
        found == [true, false, true, false] || found == [false, true, false, true],
        "{found:?}"
    );
}
