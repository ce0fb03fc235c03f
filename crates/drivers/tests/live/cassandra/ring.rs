//! Rings of several nodes: one dies, others join or leave.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use assay_model::Reason;

use super::shared::order;
use crate::lab::Cluster;
use crate::listening::assert_listens_at_home;
use crate::stores::{self, Settings, store, test_client};
use crate::test_client::{RequestResult, TestClient, insert, read};

/// The time between two inserts of the open loop, whatever becomes of them.
const GAP: Duration = Duration::from_millis(20);
/// How long the nodes may take to be warm, or to believe that one of them is dead.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Inserts at a fixed rate for `time`, then waits for what is under way; every answer.
fn open_loop(
    test_client: &mut TestClient,
    name: &str,
    time: Duration,
) -> BTreeMap<u32, RequestResult> {
    let start = Instant::now();
    let mut waiting = BTreeMap::new();
    let mut ended = BTreeMap::new();
    let mut next = 0;
    while start.elapsed() < time || !waiting.is_empty() {
        while start.elapsed() < time && start.elapsed() >= GAP * next && test_client.is_ready() {
            let value = next.to_string();
            let ticket = test_client.start(&insert(&format!("{name}{next}"), &[&value, "x"]));
            waiting.insert(ticket.0, next);
            next += 1;
        }
        for (ticket, outcome_of) in test_client.drain_for(Duration::from_millis(1)) {
            let number = waiting.remove(&ticket.0).expect("each is answered once");
            ended.insert(number, outcome_of);
        }
        assert!(start.elapsed() < time + Duration::from_secs(60), "{} wait", waiting.len());
    }
    ended
}

fn count(
    ended: &BTreeMap<u32, RequestResult>,
    is_counted: impl Fn(&RequestResult) -> bool,
) -> usize {
    ended.values().filter(|outcome_of| is_counted(outcome_of)).count()
}

fn assert_all_there(
    test_client: &mut TestClient,
    name: &str,
    ended: &BTreeMap<u32, RequestResult>,
) {
    for (number, _) in ended.iter().filter(|(_, outcome_of)| **outcome_of == RequestResult::WRITTEN)
    {
        // A busy machine may let a read wait for too long; what it finds is what counts.
        let key = format!("{name}{number}");
        test_client
            .send_until(&read(&key), &RequestResult::row(&format!("field0={number} field1=x")));
    }
}

/// Inserts one after another until so many in a row end so.
fn insert_until(test_client: &mut TestClient, expected: &RequestResult, in_a_row: u32) {
    let start = Instant::now();
    let mut row = 0;
    while row < in_a_row {
        let outcome_of = test_client.send(&insert("again", &["a", "b"]));
        row = if outcome_of == *expected { row + 1 } else { 0 };
        assert!(start.elapsed() < TIMEOUT, "still {outcome_of:?} instead of {expected:?}");
    }
}

#[test]
fn quorum_goes_on_when_one_of_three_nodes_dies_and_all_does_not() {
    let mut cluster = Cluster::start_as(&order(3));
    let quorum = store(&cluster.url("/ring?consistency=QUORUM&in_flight=256"));
    let mut test_client = TestClient::open(&*quorum).unwrap();
    insert_until(&mut test_client, &RequestResult::WRITTEN, 100);
    let whole = open_loop(&mut test_client, "whole", Duration::from_secs(2));
    let done = count(&whole, |outcome_of| *outcome_of == RequestResult::WRITTEN);
    assert!(done * 2 > whole.len(), "{whole:?}");
    let settings = Settings::of(&*quorum);
    settings.expect(&[
        ("replication of ring", "class=NetworkTopologyStrategy datacenter1=3"),
        ("visibility", "2 + 2 > 3"),
    ]);

    let mut all = stores::test_client(&cluster.url("/ring?write_consistency=ALL"));
    insert_until(&mut all, &RequestResult::WRITTEN, 5);
    cluster.kill(3);
    let during = open_loop(&mut test_client, "during", Duration::from_secs(8));
    // What was on its way through the dead node is unknown; the rest goes on.
    for outcome_of in during.values() {
        let may_be = matches!(
            outcome_of,
            RequestResult::Done(true, _)
                | RequestResult::Refused(Reason::Busy)
                | RequestResult::Unknown(Reason::ConnectionLost | Reason::Timeout)
        );
        assert!(may_be, "{outcome_of:?}");
    }
    let done = count(&during, |outcome_of| *outcome_of == RequestResult::WRITTEN);
    assert!(done * 2 > during.len(), "{done} of {} were done", during.len());
    insert_until(&mut test_client, &RequestResult::WRITTEN, 20);

    // The others need some time to believe that it is dead; then nothing is tried that needs it.
    insert_until(&mut all, &RequestResult::Refused(Reason::Busy), 1);
    let lacking = open_loop(&mut all, "lacking", Duration::from_secs(2));
    for outcome_of in lacking.values() {
        let may_be = matches!(
            outcome_of,
            RequestResult::Refused(Reason::Busy)
                | RequestResult::Unknown(Reason::ConnectionLost | Reason::Timeout)
        );
        assert!(may_be, "{outcome_of:?}");
    }
    insert_until(&mut test_client, &RequestResult::WRITTEN, 20);
    assert_all_there(&mut test_client, "whole", &whole);
    assert_all_there(&mut test_client, "during", &during);

    cluster.restart(3);
    insert_until(&mut all, &RequestResult::WRITTEN, 5);
    assert_all_there(&mut all, "during", &during);
}

/// One ring for all of it, for a node takes seconds to start.
#[test]
fn two_nodes_start_again_alone_and_lose_nothing_when_a_third_joins_and_leaves() {
    let mut cluster = Cluster::start_as(&order(2));
    a_node_starts_again_although_the_other_is_down(&mut cluster);
    const REST: &str = "/grows?replication=1";
    let mut test_client = test_client(&cluster.url(REST));
    let before = open_loop(&mut test_client, "before", Duration::from_secs(1));
    cluster.scale(3);
    assert_all_there(&mut test_client, "before", &before);
    // The node that joined has a share of the ring: a new session uses it too.
    let mut wider = stores::test_client(&cluster.url(REST));
    let within = open_loop(&mut wider, "within", Duration::from_secs(1));
    assert!(count(&within, |outcome_of| *outcome_of == RequestResult::WRITTEN) > 0, "{within:?}");
    cluster.scale(2);
    let mut after = stores::test_client(&cluster.url(REST));
    assert_all_there(&mut after, "before", &before);
    assert_all_there(&mut after, "within", &within);
}

/// Both are killed; the second starts again while the first is down, then the first.
fn a_node_starts_again_although_the_other_is_down(cluster: &mut Cluster) {
    assert_listens_at_home(cluster);
    let url = cluster.url("/alone?write_consistency=ALL");
    let mut test_client = test_client(&url);
    insert_until(&mut test_client, &RequestResult::WRITTEN, 5);
    cluster.kill(2);
    cluster.kill(1);
    // The other one is the seed, which a new node needs to join.
    cluster.restart(2);
    cluster.restart(1);
    assert_listens_at_home(cluster);
    let mut test_client = stores::test_client(&url);
    insert_until(&mut test_client, &RequestResult::WRITTEN, 5);
}
