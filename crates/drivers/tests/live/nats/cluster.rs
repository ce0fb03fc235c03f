//! Buckets on three servers, of which one dies; servers that join, servers that leave.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_lab::{LabError, Order, Watch, recipes};
use assay_model::Reason;
use assay_store::conformance::assert_conforms;

use super::roomy;
use crate::lab::{Cluster, now};
use crate::stores::{Settings, store, test_client};
use crate::test_client::{RequestResult, TestClient, insert, layout, read};

/// The longest wait.
const TIMEOUT: Duration = Duration::from_secs(2);

fn value(url: &str, name: &str) -> String {
    let store = store(url);
    store.prepare(&layout(2)).expect("the cluster makes the bucket");
    Settings::of(&*store).value(name).to_owned()
}

/// Inserts records one by one until one is written, giving up each after a while; tells how all
/// ended, with their numbers.
fn insert_until_written(test_client: &mut TestClient, from: u32) -> Vec<(u32, RequestResult)> {
    let mut ended = Vec::new();
    let start = Instant::now();
    for number in from.. {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "nothing is written any more: {ended:?}"
        );
        let key = format!("user{number}");
        let ticket = test_client.start(&insert(&key, &[&number.to_string(), "x"]));
        let requested = Instant::now();
        let mut answers = Vec::new();
        while answers.is_empty() && requested.elapsed() < TIMEOUT {
            answers = test_client.drain_for(Duration::from_millis(5));
        }
        if answers.is_empty() {
            test_client.abandon(ticket);
            answers = test_client.take(1);
        }
        let (_, result) = answers.remove(0);
        let is_written = result == RequestResult::WRITTEN;
        ended.push((number, result));
        if is_written {
            break;
        }
    }
    ended
}

#[test]
fn three_replicas_conform() {
    let cluster = roomy(3);
    assert_conforms(&*store(&cluster.url("/three?replicas=3&read=leader")));
}

#[test]
fn a_cluster_tells_its_replicas() {
    let cluster = Cluster::start("nats", 3);
    let url = cluster.url("/told?replicas=3");
    assert_eq!(value(&url, "cluster"), "lab");
    assert_eq!(value(&url, "told_usertable.replicas"), "3");
    assert!(value(&url, "told_usertable.leader").starts_with('n'));
    assert_eq!(value(&url, "told_usertable.durability"), "process");
    let other = store(&cluster.url("/told?replicas=1")).prepare(&layout(2)).unwrap_err();
    assert!(other.to_string().contains("has replicas=3, not 1"), "{other}");
    let many = store(&cluster.url("/many?replicas=5")).prepare(&layout(2)).unwrap_err();
    assert!(many.to_string().contains("5 replicas need a cluster of as many servers"), "{many}");
}

#[test]
fn a_bucket_with_replicas_goes_on_when_its_leader_dies() {
    let mut cluster = Cluster::start("nats", 3);
    let url = cluster.url("?replicas=3&connections=4&connect_timeout=1000");
    let leader = value(&url, "assay_usertable.leader");
    let leader: usize = leader.trim_start_matches('n').parse().expect("nodes are numbers");
    let mut test_client = test_client(&url);
    let mut ended = insert_until_written(&mut test_client, 0);
    cluster.kill(leader);
    let during = insert_until_written(&mut test_client, ended.len() as u32);
    for (_, result) in &during {
        let may_be = matches!(
            result,
            RequestResult::Done(true, _)
                | RequestResult::Unknown(Reason::ConnectionLost | Reason::StoreError)
                | RequestResult::Refused(Reason::Unreachable | Reason::Busy)
        );
        assert!(may_be, "{result:?}");
    }
    ended.extend(during);
    cluster.restart(leader);
    for (number, result) in &ended {
        // A replica that answers reads may be behind for a moment.
        let key = format!("user{number}");
        match result {
            RequestResult::Done(..) => {
                test_client.send_until(
                    &read(&key),
                    &RequestResult::row(&format!("field0={number} field1=x")),
                );
            }
            RequestResult::Refused(_) => {
                test_client.send_until(&read(&key), &RequestResult::MISSING)
            }
            RequestResult::Unknown(_) => {}
        }
    }
}

#[test]
fn servers_join_and_leave() {
    let mut cluster = Cluster::start("nats", 3);
    let mut three = test_client(&cluster.url("?replicas=3"));
    three.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    cluster.scale(4);
    // One of the four has each of them, alone.
    for number in 0..12 {
        let mut one = test_client(&cluster.url(&format!("/one{number}")));
        one.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    }
    cluster.scale(3);
    let row = RequestResult::row("field0=a field1=b");
    three.send_until(&read("user1"), &row);
    assert_eq!(value(&cluster.url("?replicas=3"), "assay_usertable.replicas"), "3");
    for number in 0..12 {
        let mut one = test_client(&cluster.url(&format!("/one{number}")));
        assert_eq!(one.send(&read("user1")), row, "{number}");
    }
}

#[test]
fn a_single_server_takes_no_other_node() {
    let mut cluster = Cluster::start("nats", 1);
    let (stop, tell) = (AtomicBool::new(false), |_: &str| {});
    let result = cluster.lab().scale(2, &Watch::new(&stop, &tell)).expect_err("it is no cluster");
    assert!(matches!(result, LabError::Order(_)), "{result}");
    assert!(result.to_string().contains("start with two or more"), "{result}");
}

#[test]
fn a_leader_whose_routes_are_cut_loses_its_office() {
    let recipe = recipes::find("nats").expect("the lab has it");
    let order = Order { peer_proxy: Some(now), ..Order::of(recipe).nodes(3) };
    let mut cluster = Cluster::start_as(&order);
    let mut test_client = test_client(&cluster.url("?replicas=3"));
    test_client.send_until(&insert("before", &["a", "b"]), &RequestResult::WRITTEN);
    let [old] = cluster.inject("blackhole peers of leader")[..] else { panic!("one leads") };
    let start = Instant::now();
    while cluster.inject("reset peers of leader") == [old] {
        assert!(start.elapsed() < Duration::from_secs(60), "node {old} leads still");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(cluster.inject("heal").len(), 3);
    test_client.send_until(&read("before"), &RequestResult::row("field0=a field1=b"));
}
