//! What requests become when the server dies or freezes.

use super::asker;
use crate::asker::{Told, insert, read};
use crate::lab::Cluster;
use crate::ordeal::{
    UNREACHABLE, comes_back, goes_on, keeps_what_it_has_done, killed_before_an_update_is_written,
    killed_while_it_stands_still, stands_still,
};

#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut cluster = Cluster::start("nats", 1);
    let mut asker = asker(&cluster.url("?connections=2"));
    killed_while_it_stands_still(&mut cluster, &mut asker);
    // What is asked without a connection is not kept for later.
    assert_eq!(asker.ask(&insert("user3", &["late", "x"])), UNREACHABLE);
    comes_back(&mut cluster, &mut asker);
    assert_eq!(asker.ask(&read("user3")), Told::MISSING);
}

#[test]
fn an_update_that_lost_its_server_before_it_wrote_did_not_happen() {
    let mut cluster = Cluster::start("nats", 1);
    let mut asker = asker(&cluster.url("?connections=1"));
    killed_before_an_update_is_written(&mut cluster, &mut asker);
    comes_back(&mut cluster, &mut asker);
}

#[test]
fn a_frozen_server_keeps_requests_waiting_until_it_goes_on() {
    let mut cluster = Cluster::start("nats", 1);
    let mut asker = asker(&cluster.url("?connections=1&connect_timeout=300"));
    stands_still(&mut cluster, &mut asker);
    asker.ask_until(&read("user1"), &UNREACHABLE);
    goes_on(&mut cluster, &mut asker);
}

#[test]
fn nothing_is_done_that_did_not_survive_kill_9() {
    let mut cluster = Cluster::start("nats", 1);
    let mut asker = asker(&cluster.url(""));
    keeps_what_it_has_done(&mut cluster, &mut asker, 500);
}
