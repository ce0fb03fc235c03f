//! Tests of outcomes when the server is killed or suspended.

use super::test_client;
use crate::lab::Cluster;
use crate::ordeal::{
    UNREACHABLE, comes_back, goes_on, keeps_what_it_has_done, killed_while_it_stands_still,
    stands_still,
};
use crate::test_client::{RequestResult, insert, read};

#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut cluster = Cluster::start("ferretdb", 1);
    let mut test_client = test_client(&cluster.url("?connections=2"));
    killed_while_it_stands_still(&mut cluster, &mut test_client);
    comes_back(&mut cluster, &mut test_client);
}

#[test]
fn a_frozen_server_keeps_requests_waiting_until_it_goes_on() {
    let mut cluster = Cluster::start("ferretdb", 1);
    let mut test_client = test_client(&cluster.url("?connections=1&connect_timeout=300"));
    assert_eq!(test_client.send(&insert("user0", &["a", "b"])), RequestResult::WRITTEN);
    stands_still(&mut cluster, &mut test_client);
    test_client.send_until(&read("user1"), &UNREACHABLE);
    goes_on(&mut cluster, &mut test_client);
}

#[test]
fn acknowledged_writes_survive_kill_9() {
    let mut cluster = Cluster::start("ferretdb", 1);
    let mut test_client = test_client(&cluster.url("?connections=8"));
    keeps_what_it_has_done(&mut cluster, &mut test_client, 300);
}
