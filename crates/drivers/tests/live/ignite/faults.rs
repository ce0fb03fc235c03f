//! What requests become when nodes fail.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use assay_drivers::ignite::Ignite;
use assay_lab::{Order, recipes};
use assay_store::{Store, Ticket};

use super::{asker, store};
use crate::asker::{Asker, PATIENCE, Told, insert, layout, read};
use crate::lab::Cluster;
use crate::ordeal::{
    comes_back, goes_on, killed_before_an_update_is_written, killed_while_it_stands_still,
    stands_still,
};

/// One node whose records are on disk.
pub fn persistent() -> Order {
    let recipe = recipes::find("ignite").expect("it is there");
    Order::of(recipe).nodes(1).choose("persistence", "on")
}

/// Waits until the cluster is active again.
pub fn until_prepared(store: &Ignite) {
    let start = Instant::now();
    while let Err(error) = store.prepare(&layout(2)) {
        assert!(start.elapsed() < PATIENCE, "{error}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_killed_node_leaves_what_was_sent_unknown() {
    let mut cluster = Cluster::start_as(&persistent());
    let mut asker = asker(&cluster.url("?connections=2"));
    killed_while_it_stands_still(&mut cluster, &mut asker);
    comes_back(&mut cluster, &mut asker);
}

#[test]
fn an_update_whose_record_could_not_be_read_is_refused() {
    let mut cluster = Cluster::start("ignite", 1);
    let mut asker = asker(&cluster.url("?connections=1"));
    killed_before_an_update_is_written(&mut cluster, &mut asker);
}

#[test]
fn a_frozen_node_keeps_requests_waiting_until_it_goes_on() {
    let mut cluster = Cluster::start("ignite", 1);
    let mut asker = asker(&cluster.url("?connections=1"));
    stands_still(&mut cluster, &mut asker);
    goes_on(&mut cluster, &mut asker);
}

/// How each insert ended that was asked before, while and after `act` was done to the cluster.
pub fn insert_around(asker: &mut Asker, act: &mut dyn FnMut()) -> HashMap<u32, Told> {
    const BEFORE: usize = 300;
    const IN_ALL: u32 = 2000;
    let mut waiting: HashMap<Ticket, u32> = HashMap::new();
    let mut ended = HashMap::new();
    let (mut next, mut is_done) = (0, false);
    while next < IN_ALL || !waiting.is_empty() {
        while next < IN_ALL && asker.is_ready() {
            let value = next.to_string();
            waiting.insert(asker.start(&insert(&format!("user{next}"), &[&value, "x"])), next);
            next += 1;
        }
        for (ticket, told) in asker.take(1) {
            // Refusals come at once: without a pause they would use up all that is to be asked.
            let pause = matches!(told, Told::Refused(_)).then_some(Duration::from_millis(20));
            pause.into_iter().for_each(std::thread::sleep);
            let number = waiting.remove(&ticket).expect("each is answered once");
            ended.insert(number, told);
        }
        if ended.len() >= BEFORE && !is_done {
            act();
            is_done = true;
        }
    }
    ended
}

/// What was done is there; what was refused is not.
pub fn assert_true(asker: &mut Asker, ended: HashMap<u32, Told>) {
    for (number, told) in ended {
        let found = asker.ask(&read(&format!("user{number}")));
        let there = Told::row(&format!("field0={number} field1=x"));
        match told {
            Told::Done(..) => assert_eq!(found, there),
            Told::Refused(_) => assert_eq!(found, Told::MISSING, "{number}"),
            Told::Unknown(_) => assert!([there, Told::MISSING].contains(&found), "{found:?}"),
        }
    }
}

#[test]
fn a_cluster_goes_on_when_one_of_three_nodes_is_killed() {
    let mut cluster = Cluster::start("ignite", 3);
    let mut asker = asker(&cluster.url("?connections=8&backups=1"));
    let ended = insert_around(&mut asker, &mut || cluster.kill(2));
    let done = ended.values().filter(|told| **told == Told::WRITTEN).count();
    let others: Vec<_> = ended.values().filter(|told| **told != Told::WRITTEN).collect();
    eprintln!("{done} of {} were done, the others: {others:?}", ended.len());
    assert!(done > ended.len() - 50, "only {done} were done: {others:?}");
    assert_true(&mut asker, ended);
    // The node comes back as another, and is used again.
    cluster.restart(2);
    let ended = insert_around(&mut asker, &mut || ());
    assert!(ended.values().all(|told| *told == Told::WRITTEN));
}

#[test]
fn nothing_is_lost_or_repeated_when_nodes_join_and_leave() {
    let mut cluster = Cluster::start("ignite", 2);
    let mut asker = asker(&cluster.url("?connections=4&backups=1"));
    for nodes in [3, 2, 1] {
        let mut scale = || cluster.scale(nodes);
        let ended = insert_around(&mut asker, &mut scale);
        let others: Vec<_> = ended.values().filter(|told| **told != Told::WRITTEN).collect();
        eprintln!("to {nodes} nodes: not done were {others:?}");
        assert!(others.len() <= 4, "{nodes}: {others:?}");
        assert_true(&mut asker, ended);
    }
}

#[test]
fn a_node_dead_at_the_start_does_not_matter() {
    let mut cluster = Cluster::start("ignite", 2);
    cluster.kill(1);
    let url = cluster.url("?connections=2");
    let store = store(&url);
    until_prepared(&store);
    let mut asker = Asker::open(&store).unwrap();
    assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    assert_eq!(asker.ask(&read("user1")), Told::row("field0=a field1=b"));
}

/// The links that waited for it are given up; the others, and new ones, do without it.
#[test]
fn a_frozen_node_of_three_costs_what_it_owns_until_it_is_left_alone() {
    let mut cluster = Cluster::start("ignite", 3);
    let mut asker = asker(&cluster.url("?connections=4&backups=0"));
    let keys: Vec<String> = (0..60).map(|number| format!("user{number}")).collect();
    for key in &keys {
        assert_eq!(asker.ask(&insert(key, &["a"])), Told::WRITTEN);
    }
    cluster.freeze(3);
    let mut found = 0;
    for key in &keys {
        let start = Instant::now();
        while !asker.is_ready() && start.elapsed() < PATIENCE {
            asker.drain_for(Duration::from_millis(5));
        }
        let ticket = asker.start(&read(key));
        let (asked, mut answers) = (Instant::now(), Vec::new());
        while answers.iter().all(|(other, _)| *other != ticket)
            && asked.elapsed() < Duration::from_millis(500)
        {
            answers.extend(asker.drain_for(Duration::from_millis(5)));
        }
        match answers.iter().find(|(other, _)| *other == ticket) {
            Some((_, told)) => found += u32::from(*told == Told::row("field0=a")),
            None => asker.abandon(ticket),
        }
    }
    assert!(found >= 20, "only {found} of 60 records were read from two nodes of three");
    cluster.thaw(3);
}
