//! Rings of several nodes: one dies, others join or leave.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use assay_model::Reason;
use assay_store::Store;

use super::shared::order;
use super::store;
use crate::asker::{Asker, Told, insert, read};
use crate::lab::Cluster;
use crate::listening::assert_listens_at_home;

/// The time between two inserts of the open loop, whatever becomes of them.
const GAP: Duration = Duration::from_millis(20);
/// How long the nodes may take to be warm, or to believe that one of them is dead.
const PATIENCE: Duration = Duration::from_secs(120);

/// Inserts at a fixed rate for `time`, then waits for what is under way; every answer.
fn open_loop(asker: &mut Asker, name: &str, time: Duration) -> BTreeMap<u32, Told> {
    let start = Instant::now();
    let mut waiting = BTreeMap::new();
    let mut ended = BTreeMap::new();
    let mut next = 0;
    while start.elapsed() < time || !waiting.is_empty() {
        while start.elapsed() < time && start.elapsed() >= GAP * next && asker.is_ready() {
            let value = next.to_string();
            let ticket = asker.start(&insert(&format!("{name}{next}"), &[&value, "x"]));
            waiting.insert(ticket.0, next);
            next += 1;
        }
        for (ticket, told) in asker.drain_for(Duration::from_millis(1)) {
            let number = waiting.remove(&ticket.0).expect("each is answered once");
            ended.insert(number, told);
        }
        assert!(start.elapsed() < time + Duration::from_secs(60), "{} wait", waiting.len());
    }
    ended
}

fn count(ended: &BTreeMap<u32, Told>, is_counted: impl Fn(&Told) -> bool) -> usize {
    ended.values().filter(|told| is_counted(told)).count()
}

fn assert_all_there(asker: &mut Asker, name: &str, ended: &BTreeMap<u32, Told>) {
    for (number, _) in ended.iter().filter(|(_, told)| **told == Told::WRITTEN) {
        // A busy machine may let a read wait for too long; what it finds is what counts.
        let key = format!("{name}{number}");
        asker.ask_until(&read(&key), &Told::row(&format!("field0={number} field1=x")));
    }
}

/// Inserts one after another until so many in a row end so.
fn insert_until(asker: &mut Asker, wanted: &Told, in_a_row: u32) {
    let start = Instant::now();
    let mut row = 0;
    while row < in_a_row {
        let told = asker.ask(&insert("again", &["a", "b"]));
        row = if told == *wanted { row + 1 } else { 0 };
        assert!(start.elapsed() < PATIENCE, "still {told:?} instead of {wanted:?}");
    }
}

#[test]
fn quorum_goes_on_when_one_of_three_nodes_dies_and_all_does_not() {
    let mut cluster = Cluster::start_as(&order(3));
    let quorum = store(&cluster.url("/ring?consistency=QUORUM&in_flight=256"));
    let mut asker = Asker::open(&quorum).unwrap();
    insert_until(&mut asker, &Told::WRITTEN, 100);
    let whole = open_loop(&mut asker, "whole", Duration::from_secs(2));
    let done = count(&whole, |told| *told == Told::WRITTEN);
    assert!(done * 2 > whole.len(), "{whole:?}");
    let settings = quorum.settings().unwrap();
    let told = |name: &str| {
        settings.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
    };
    assert_eq!(told("replication of ring"), Some("class=NetworkTopologyStrategy datacenter1=3"));
    assert_eq!(told("visibility"), Some("2 + 2 > 3"));

    let mut all = Asker::open(&store(&cluster.url("/ring?write_consistency=ALL"))).unwrap();
    insert_until(&mut all, &Told::WRITTEN, 5);
    cluster.kill(3);
    let during = open_loop(&mut asker, "during", Duration::from_secs(8));
    // What was on its way through the dead node is unknown; the rest goes on.
    for told in during.values() {
        let may_be = matches!(
            told,
            Told::Done(true, _)
                | Told::Refused(Reason::Busy)
                | Told::Unknown(Reason::ConnectionLost | Reason::Timeout)
        );
        assert!(may_be, "{told:?}");
    }
    let done = count(&during, |told| *told == Told::WRITTEN);
    assert!(done * 2 > during.len(), "{done} of {} were done", during.len());
    insert_until(&mut asker, &Told::WRITTEN, 20);

    // The others need some time to believe that it is dead; then nothing is tried that needs it.
    insert_until(&mut all, &Told::Refused(Reason::Busy), 1);
    let lacking = open_loop(&mut all, "lacking", Duration::from_secs(2));
    for told in lacking.values() {
        let may_be = matches!(
            told,
            Told::Refused(Reason::Busy) | Told::Unknown(Reason::ConnectionLost | Reason::Timeout)
        );
        assert!(may_be, "{told:?}");
    }
    insert_until(&mut asker, &Told::WRITTEN, 20);
    assert_all_there(&mut asker, "whole", &whole);
    assert_all_there(&mut asker, "during", &during);

    cluster.restart(3);
    insert_until(&mut all, &Told::WRITTEN, 5);
    assert_all_there(&mut all, "during", &during);
}

#[test]
fn nothing_is_lost_when_nodes_join_and_leave() {
    let mut cluster = Cluster::start_as(&order(1));
    let mut asker = Asker::open(&store(&cluster.url("/grows"))).unwrap();
    let before = open_loop(&mut asker, "before", Duration::from_secs(1));
    cluster.scale(2);
    assert_all_there(&mut asker, "before", &before);
    // The node that joined has a share of the ring: a new session asks it too.
    let mut wider = Asker::open(&store(&cluster.url("/grows"))).unwrap();
    let within = open_loop(&mut wider, "within", Duration::from_secs(1));
    assert!(count(&within, |told| *told == Told::WRITTEN) > 0, "{within:?}");
    cluster.scale(1);
    let mut after = Asker::open(&store(&cluster.url("/grows"))).unwrap();
    assert_all_there(&mut after, "before", &before);
    assert_all_there(&mut after, "within", &within);
}

#[test]
fn a_node_starts_again_although_the_others_are_down() {
    let mut cluster = Cluster::start_as(&order(2));
    assert_listens_at_home(&mut cluster);
    let url = cluster.url("/alone?write_consistency=ALL");
    let mut asker = Asker::open(&store(&url)).unwrap();
    insert_until(&mut asker, &Told::WRITTEN, 5);
    cluster.kill(2);
    cluster.kill(1);
    // The other one is the seed, which a new node would ask for its place.
    cluster.restart(2);
    cluster.restart(1);
    assert_listens_at_home(&mut cluster);
    let mut asker = Asker::open(&store(&url)).unwrap();
    insert_until(&mut asker, &Told::WRITTEN, 5);
}
