//! Buckets on three servers, of which one dies; servers that join, servers that leave.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_lab::{LabError, Watch};
use assay_model::Reason;
use assay_store::Store;
use assay_store::conformance::assert_conforms;

use super::{asker, roomy, store};
use crate::asker::{Asker, Told, insert, layout, read};
use crate::lab::Cluster;

/// Who waits longer than this gives up.
const PATIENCE: Duration = Duration::from_secs(2);

fn value(url: &str, name: &str) -> String {
    let store = store(url);
    store.prepare(&layout(2)).expect("the cluster makes the bucket");
    let settings = store.settings().expect("the cluster tells");
    let setting = settings.into_iter().find(|setting| setting.name == name);
    setting.map_or_else(String::new, |setting| setting.value)
}

/// Inserts records one by one until one is written, giving up each after a while; tells how all
/// ended, with their numbers.
fn insert_until_written(asker: &mut Asker, from: u32) -> Vec<(u32, Told)> {
    let mut ended = Vec::new();
    let start = Instant::now();
    for number in from.. {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "nothing is written any more: {ended:?}"
        );
        let key = format!("user{number}");
        let ticket = asker.start(&insert(&key, &[&number.to_string(), "x"]));
        let asked = Instant::now();
        let mut answers = Vec::new();
        while answers.is_empty() && asked.elapsed() < PATIENCE {
            answers = asker.drain_for(Duration::from_millis(5));
        }
        if answers.is_empty() {
            asker.abandon(ticket);
            answers = asker.take(1);
        }
        let (_, told) = answers.remove(0);
        let is_written = told == Told::WRITTEN;
        ended.push((number, told));
        if is_written {
            break;
        }
    }
    ended
}

#[test]
fn three_replicas_conform() {
    let cluster = roomy(3);
    assert_conforms(&store(&cluster.url("/three?replicas=3&read=leader")));
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
    let mut asker = asker(&url);
    let mut ended = insert_until_written(&mut asker, 0);
    cluster.kill(leader);
    let during = insert_until_written(&mut asker, ended.len() as u32);
    for (_, told) in &during {
        let may_be = matches!(
            told,
            Told::Done(true, _)
                | Told::Unknown(Reason::ConnectionLost | Reason::StoreError)
                | Told::Refused(Reason::Unreachable | Reason::Busy)
        );
        assert!(may_be, "{told:?}");
    }
    ended.extend(during);
    cluster.restart(leader);
    for (number, told) in &ended {
        // A replica that answers reads may be behind for a moment.
        let key = format!("user{number}");
        match told {
            Told::Done(..) => {
                asker.ask_until(&read(&key), &Told::row(&format!("field0={number} field1=x")));
            }
            Told::Refused(_) => asker.ask_until(&read(&key), &Told::MISSING),
            Told::Unknown(_) => {}
        }
    }
}

#[test]
fn servers_join_and_leave() {
    let mut cluster = Cluster::start("nats", 3);
    let mut three = asker(&cluster.url("?replicas=3"));
    assert_eq!(three.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    cluster.scale(4);
    // Somebody of the four has each of them, alone.
    for number in 0..12 {
        let mut one = asker(&cluster.url(&format!("/one{number}")));
        assert_eq!(one.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    }
    cluster.scale(3);
    let row = Told::row("field0=a field1=b");
    three.ask_until(&read("user1"), &row);
    assert_eq!(value(&cluster.url("?replicas=3"), "assay_usertable.replicas"), "3");
    for number in 0..12 {
        let mut one = asker(&cluster.url(&format!("/one{number}")));
        assert_eq!(one.ask(&read("user1")), row, "{number}");
    }
}

#[test]
fn a_server_alone_takes_no_other_in() {
    let mut cluster = Cluster::start("nats", 1);
    let (stop, tell) = (AtomicBool::new(false), |_: &str| {});
    let told = cluster.lab().scale(2, &Watch::new(&stop, &tell)).expect_err("it is no cluster");
    assert!(matches!(told, LabError::Order(_)), "{told}");
    assert!(told.to_string().contains("start with two or more"), "{told}");
}
