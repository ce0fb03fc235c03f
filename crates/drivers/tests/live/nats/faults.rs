//! Tests of outcomes when the server is killed or suspended.

use super::test_client;
use crate::lab::Cluster;
use crate::ordeal::{
    UNREACHABLE, comes_back, goes_on, keeps_what_it_has_done, killed_before_an_update_is_written,
    killed_while_it_stands_still, stands_still,
};
use crate::test_client::{RequestResult, insert, read};

#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut cluster = Cluster::start("nats", 1);
    let mut test_client = test_client(&cluster.url("?connections=2"));
    killed_while_it_stands_still(&mut cluster, &mut test_client);
    // A request without a connection is not kept for later.
    assert_eq!(test_client.send(&insert("user3", &["late", "x"])), UNREACHABLE);
    comes_back(&mut cluster, &mut test_client);
    assert_eq!(test_client.send(&read("user3")), RequestResult::MISSING);
}

#[test]
fn an_update_that_lost_its_server_before_it_wrote_did_not_happen() {
    let mut cluster = Cluster::start("nats", 1);
    let mut test_client = test_client(&cluster.url("?connections=1"));
    killed_before_an_update_is_written(&mut cluster, &mut test_client);
    comes_back(&mut cluster, &mut test_client);
}

#[test]
fn a_frozen_server_keeps_requests_waiting_until_it_goes_on() {
    let mut cluster = Cluster::start("nats", 1);
    let mut test_client = test_client(&cluster.url("?connections=1&connect_timeout=300"));
    stands_still(&mut cluster, &mut test_client);
    test_client.send_until(&read("user1"), &UNREACHABLE);
    goes_on(&mut cluster, &mut test_client);
}

#[test]
fn acknowledged_writes_survive_kill_9() {
    let mut cluster = Cluster::start("nats", 1);
    let mut test_client = test_client(&cluster.url(""));
    keeps_what_it_has_done(&mut cluster, &mut test_client, 500);
}
