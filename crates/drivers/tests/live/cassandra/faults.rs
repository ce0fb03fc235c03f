//! Tests of outcomes when the only node fails or is suspended.

use std::time::Duration;

use assay_store::Ticket;

use super::shared::order;
use crate::lab::Cluster;
use crate::ordeal::{
    LOST, UNREACHABLE, acknowledged_writes_survive_kill_9, keeps_what_it_has_done,
};
use crate::stores::{Settings, test_client};
use crate::test_client::{RequestResult, TestClient, TestRequest, insert, read};

/// Starts it as soon as there is a place for it.
fn start(test_client: &mut TestClient, question: &TestRequest<'_>) -> Ticket {
    while !test_client.is_ready() {
        test_client.drain_for(Duration::from_millis(5));
    }
    test_client.start(question)
}

/// After a session was lost its places come back one by one, within a second.
fn wait_for_places(test_client: &mut TestClient) {
    assert_eq!(test_client.drain_for(Duration::from_millis(1500)), []);
}

/// One node for all of it, for it takes seconds to start.
#[test]
fn a_suspended_node_can_be_killed_and_restarted() {
    // With a periodic commit log a kill loses what was acknowledged since the log's last mark.
    let mut cluster = Cluster::start_as(&order(1).choose("commitlog", "batch"));
    let url = cluster.url("/faults?in_flight=8");
    let mut test_client = test_client(&url);
    test_client.expect(&insert("user", &["a", "b"]), RequestResult::WRITTEN);
    let row = RequestResult::row("field0=a field1=b");
    Settings::at(&url).expect(&[("durability", "commitlog_sync=batch")]);

    // Suspended: requests wait until it goes on, those that are given up lose their place.
    cluster.freeze(1);
    let first = test_client.start(&read("user"));
    assert_eq!(test_client.drain_for(Duration::from_millis(300)), []);
    cluster.thaw(1);
    assert_eq!(test_client.take(1), [(first, row.clone())]);
    cluster.freeze(1);
    let given_up = test_client.start(&read("user"));
    test_client.abandon(given_up);
    assert_eq!(test_client.take(1), [(given_up, LOST)]);
    // So long that the keep-alive fails: operations in flight are unknown, then none can be sent.
    let sent = test_client.start(&insert("silent", &["a", "b"]));
    assert_eq!(test_client.take(1), [(sent, LOST)]);
    test_client.send_until(&read("user"), &UNREACHABLE);
    cluster.thaw(1);
    test_client.send_until(&read("user"), &row);

    // Killed while suspended: sent requests are unknown.
    wait_for_places(&mut test_client);
    cluster.freeze(1);
    let sent = [read("user"), insert("user2", &["b", "c"])];
    let sent = sent.map(|question| start(&mut test_client, &question));
    test_client.poll();
    cluster.kill(1);
    let mut answers = test_client.take(2);
    answers.sort_by_key(|(ticket, _)| ticket.0);
    assert_eq!(answers, sent.map(|ticket| (ticket, LOST)));
    test_client.send_until(&read("user"), &UNREACHABLE);
    cluster.restart(1);
    test_client.send_until(&read("user"), &row);

    // Killed in the middle of inserts: what was acknowledged is there afterwards.
    keeps_what_it_has_done(&mut cluster, &mut test_client, 500);
    acknowledged_writes_survive_kill_9(&mut cluster, "/batches?in_flight=4&batch=8", 500);
}
