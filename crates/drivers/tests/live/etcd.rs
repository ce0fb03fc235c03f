//! The etcd driver against real clusters.

mod batches;
mod cluster;
mod faults;
mod opening;
mod transactions;

use assay_drivers::etcd::Etcd;
use assay_lab::{Order, recipes};
use assay_model::{Fields, Kind, Reason};
use assay_store::Store;
use assay_store::conformance::{assert_conforms, find_mark, leave_mark};

use crate::asker::{Asker, Question, Told, insert, layout, read, scan, update};
use crate::lab::Cluster;
use crate::ordeal::keeps_its_length;

/// What is started: Debian's etcd, or the version that `ASSAY_TEST_ETCD_VERSION` names.
fn order(nodes: usize) -> Order {
    let recipe = recipes::find("etcd").expect("the lab has etcd");
    let version = std::env::var("ASSAY_TEST_ETCD_VERSION").ok();
    Order { version, ..Order::of(recipe).nodes(nodes) }
}

fn start(nodes: usize) -> Cluster {
    Cluster::start_as(&order(nodes))
}

fn store(url: &str) -> Etcd {
    Etcd::from_url(url).expect("the test writes right URLs")
}

fn asker(url: &str) -> Asker {
    Asker::open(&store(url)).expect("the cluster is there")
}

#[test]
fn etcd_conforms() {
    let cluster = start(1);
    assert_conforms(&store(&cluster.url("/conformance")));
    assert_conforms(&store(&cluster.url("/conformance/again?connections=2&read=serializable")));
}

#[test]
fn what_was_settled_survives_kill_9() {
    let mut cluster = start(1);
    leave_mark(&store(&cluster.url(""))).unwrap();
    cluster.kill(1);
    cluster.restart(1);
    find_mark(&store(&cluster.url(""))).unwrap();
}

#[test]
fn records_stay_as_long_as_they_were() {
    let cluster = start(1);
    let store = store(&cluster.url("?connections=16"));
    let mut asker = Asker::open_wide(&store, 10).unwrap();
    let record = keeps_its_length(&mut asker);
    let scanned = asker.ask(&scan("user090", 20));
    assert_eq!(scanned, Told::Done(true, vec![record; 10]));
}

#[test]
fn updates_of_one_record_at_once_lose_nothing() {
    let cluster = start(1);
    let store = store(&cluster.url("?connections=4"));
    let mut asker = Asker::open_wide(&store, 4).unwrap();
    assert_eq!(asker.ask(&insert("user1", &["0", "0", "0", "0"])), Told::WRITTEN);
    // Two fields each, so that nobody may overwrite the record blindly.
    for round in 1..=50 {
        let value = round.to_string();
        let tickets: Vec<_> = (1..=4)
            .map(|count| asker.start(&update("user1", &vec![&*value; count.min(3)])))
            .collect();
        for (ticket, told) in asker.take(4) {
            assert!(tickets.contains(&ticket));
            assert_eq!(told, Told::WRITTEN);
        }
        let row = format!("field0={value} field1={value} field2={value} field3=0");
        assert_eq!(asker.ask(&read("user1")), Told::row(&row));
    }
}

#[test]
fn what_is_too_large_is_refused_whole() {
    let cluster = start(1);
    let mut asker = asker(&cluster.url("?connections=1"));
    assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    // Above etcd's limit; above that of gRPC beneath it.
    for length in [1_600_000, 5_000_000] {
        let value = "x".repeat(length);
        let told = asker.ask(&insert("user1", &[&value, "b"]));
        assert_eq!(told, Told::Refused(Reason::Malformed), "{length}");
        let told = asker.ask(&update("user1", &[&value]));
        assert_eq!(told, Told::Refused(Reason::Malformed), "{length}");
    }
    assert_eq!(asker.ask(&read("user1")), Told::row("field0=a field1=b"));
    let value = "y".repeat(1_500_000);
    assert_eq!(asker.ask(&insert("user1", &[&value, "b"])), Told::WRITTEN);
    assert_eq!(asker.ask(&read("user1")), Told::row(&format!("field0={value} field1=b")));
}

#[test]
fn what_others_have_put_there_is_of_the_wrong_type() {
    let cluster = start(1);
    let ours = store(&cluster.url("/p"));
    ours.prepare(&layout(2)).unwrap();
    // The note of a store whose prefix is our table is a record of ours by its name.
    let other = store(&cluster.url("/p/usertable"));
    other.keep_note(r#"{"field0":"eA=="}"#).unwrap();
    let mut asker = Asker::open(&ours).unwrap();
    let wrong = Told::Refused(Reason::WrongType);
    assert_eq!(asker.ask(&read("_assay")), wrong);
    assert_eq!(asker.ask(&update("_assay", &["x"])), wrong);
    assert_eq!(asker.ask(&scan("_", 5)), wrong);
    let one = Question { kind: Kind::Read, fields: Fields::One(0), ..read("_assay") };
    assert_eq!(asker.ask(&one), wrong);
}

#[test]
fn clearing_takes_our_tables_alone() {
    let cluster = start(1);
    let (ours, others) = (store(&cluster.url("/p")), store(&cluster.url("/q")));
    let mut mine = Asker::open(&ours).unwrap();
    let mut theirs = Asker::open(&others).unwrap();
    for asker in [&mut mine, &mut theirs] {
        assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    }
    ours.clear().unwrap();
    assert_eq!(mine.ask(&read("user1")), Told::MISSING);
    assert_eq!(theirs.ask(&read("user1")), Told::row("field0=a field1=b"));
}
