//! Tests of outcomes when nodes fail.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use assay_store::conformance::{find_mark, leave_mark};
use assay_store::{Store, Ticket};

use super::{batches, order, transactions};
use crate::lab::Cluster;
use crate::ordeal::{self, assert_kept, killed_before_an_update_is_written};
use crate::stores::{store, test_client};
use crate::test_client::{RequestResult, TIMEOUT, TestClient, insert, layout, read};

/// Waits until the cluster is active again.
pub fn until_prepared(store: &dyn Store) {
    let start = Instant::now();
    while let Err(error) = store.prepare(&layout(2)) {
        assert!(start.elapsed() < TIMEOUT, "{error}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// One node for all of it, for it takes seconds to start.
#[test]
fn a_node_with_persistence_can_be_suspended_killed_and_restarted() {
    let mut cluster = Cluster::start_as(&order(1).choose("persistence", "on"));
    let rest = "/frozen?connections=1";
    ordeal::a_frozen_server_keeps_requests_waiting_until_it_goes_on(&mut cluster, rest);
    // It is killed at once, before anything else could have flushed it.
    let marked = cluster.url("/marked");
    leave_mark(&*store(&marked)).unwrap();
    cluster.kill(1);
    cluster.restart(1);
    until_prepared(&*store(&marked));
    find_mark(&*store(&marked)).unwrap();
    let rest = "/killed?connections=2";
    ordeal::a_killed_server_leaves_what_was_sent_unknown(&mut cluster, rest);
    batches::acknowledged_batches_survive_kill_9(&mut cluster);
    transactions::a_killed_node_leaves_a_commit_unknown_and_undoes_what_is_open(&mut cluster);
    let mut test_client = test_client(&cluster.url("/updated?connections=1"));
    killed_before_an_update_is_written(&mut cluster, &mut test_client);
}

/// Nodes join, leave and die, with transactions and without.
#[test]
fn two_nodes_do_without_each_other() {
    let mut cluster = Cluster::start("ignite", 2);
    transactions::a_scan_sees_what_its_transaction_wrote(&cluster);
    transactions::a_killed_node_of_two_loses_only_its_own_transactions(&mut cluster);
    cluster.restart(2);
    cluster.kill(1);
    a_node_dead_at_the_start_does_not_matter(&cluster);
    cluster.restart(1);
    nothing_is_lost_or_repeated_when_nodes_join_and_leave(&mut cluster);
}

#[test]
fn a_cluster_of_three_goes_on_without_one_of_its_nodes() {
    let mut cluster = Cluster::start("ignite", 3);
    batches::batches_go_on_when_one_of_three_nodes_is_killed(&mut cluster);
    cluster.restart(2);
    // The node comes back here too, and has its copies before the next one is frozen.
    a_cluster_goes_on_when_one_of_three_nodes_is_killed(&mut cluster);
    a_frozen_node_of_three_costs_what_it_owns_until_it_is_left_alone(&mut cluster);
}

/// How the inserts before, during and after the fault `act` ended.
pub fn insert_around(
    test_client: &mut TestClient,
    act: &mut dyn FnMut(),
) -> HashMap<u32, RequestResult> {
    const BEFORE: usize = 300;
    const IN_ALL: u32 = 2000;
    let mut waiting: HashMap<Ticket, u32> = HashMap::new();
    let mut ended = HashMap::new();
    let (mut next, mut is_done) = (0, false);
    while next < IN_ALL || !waiting.is_empty() {
        while next < IN_ALL && test_client.is_ready() {
            let value = next.to_string();
            waiting
                .insert(test_client.start(&insert(&format!("user{next}"), &[&value, "x"])), next);
            next += 1;
        }
        for (ticket, result) in test_client.take(1) {
            // Refusals come at once: without a pause they would use up all operations.
            let pause =
                matches!(result, RequestResult::Refused(_)).then_some(Duration::from_millis(20));
            pause.into_iter().for_each(std::thread::sleep);
            let number = waiting.remove(&ticket).expect("each is answered once");
            ended.insert(number, result);
        }
        if ended.len() >= BEFORE && !is_done {
            act();
            is_done = true;
        }
    }
    ended
}

fn a_cluster_goes_on_when_one_of_three_nodes_is_killed(cluster: &mut Cluster) {
    let mut test_client = test_client(&cluster.url("?connections=8&backups=1"));
    let ended = insert_around(&mut test_client, &mut || cluster.kill(2));
    let done = ended.values().filter(|result| **result == RequestResult::WRITTEN).count();
    let others: Vec<_> =
        ended.values().filter(|result| **result != RequestResult::WRITTEN).collect();
    eprintln!("{done} of {} were done, the others: {others:?}", ended.len());
    assert!(done > ended.len() - 50, "only {done} were done: {others:?}");
    assert_kept(&mut test_client, ended);
    // The node comes back as another, and is used again.
    cluster.restart(2);
    let ended = insert_around(&mut test_client, &mut || ());
    assert!(ended.values().all(|result| *result == RequestResult::WRITTEN));
}

fn nothing_is_lost_or_repeated_when_nodes_join_and_leave(cluster: &mut Cluster) {
    let mut test_client = test_client(&cluster.url("/moved?connections=4&backups=1"));
    for nodes in [3, 2, 1] {
        let mut scale = || cluster.scale(nodes);
        let ended = insert_around(&mut test_client, &mut scale);
        let others: Vec<_> =
            ended.values().filter(|result| **result != RequestResult::WRITTEN).collect();
        eprintln!("to {nodes} nodes: not done were {others:?}");
        assert!(others.len() <= 4, "{nodes}: {others:?}");
        assert_kept(&mut test_client, ended);
    }
}

fn a_node_dead_at_the_start_does_not_matter(cluster: &Cluster) {
    let store = store(&cluster.url("?connections=2"));
    until_prepared(&*store);
    let mut test_client = TestClient::open(&*store).expect("its caches are there");
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
}

/// The links that waited for it are given up; the others, and new ones, do without it.
fn a_frozen_node_of_three_costs_what_it_owns_until_it_is_left_alone(cluster: &mut Cluster) {
    let mut test_client = test_client(&cluster.url("/frozen?connections=4&backups=0"));
    let keys: Vec<String> = (0..60).map(|number| format!("user{number}")).collect();
    for key in &keys {
        test_client.expect(&insert(key, &["a"]), RequestResult::WRITTEN);
    }
    cluster.freeze(3);
    let mut found = 0;
    for key in &keys {
        let start = Instant::now();
        while !test_client.is_ready() && start.elapsed() < TIMEOUT {
            test_client.drain_for(Duration::from_millis(5));
        }
        let ticket = test_client.start(&read(key));
        let (requested, mut answers) = (Instant::now(), Vec::new());
        while answers.iter().all(|(other, _)| *other != ticket)
            && requested.elapsed() < Duration::from_millis(500)
        {
            answers.extend(test_client.drain_for(Duration::from_millis(5)));
        }
        match answers.iter().find(|(other, _)| *other == ticket) {
            Some((_, result)) => found += u32::from(*result == RequestResult::row("field0=a")),
            None => test_client.abandon(ticket),
        }
    }
    assert!(found >= 20, "only {found} of 60 records were read from two nodes of three");
    cluster.thaw(3);
}
