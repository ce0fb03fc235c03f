//! The etcd driver against real clusters.

mod batches;
mod cluster;
mod faults;
mod opening;
mod transactions;

use assay_lab::{Order, recipes};
use assay_model::{Fields, Kind, Reason};

use crate::lab::Cluster;
use crate::ordeal::Scans;
use crate::rows::test_rows;
use crate::stores::{store, test_client};
use crate::test_client::{
    RequestResult, TestClient, TestRequest, insert, layout, read, scan, update,
};

/// What is started: Debian's etcd, or the version that `ASSAY_TEST_ETCD_VERSION` names.
fn order(nodes: usize) -> Order {
    let recipe = recipes::find("etcd").expect("the lab has etcd");
    let version = std::env::var("ASSAY_TEST_ETCD_VERSION").ok();
    Order { version, ..Order::of(recipe).nodes(nodes) }
}

fn start(nodes: usize) -> Cluster {
    Cluster::start_as(&order(nodes))
}

test_rows! { ordeal, start(1);
    it_conforms(&["/conformance", "/conformance/again?connections=2&read=serializable"]);
    flushed_writes_survive_kill_9("");
    records_stay_as_long_as_they_were("?connections=16", Scans::InOrder);
}

#[test]
fn updates_of_one_record_at_once_lose_nothing() {
    let cluster = start(1);
    let store = store(&cluster.url("?connections=4"));
    let mut test_client = TestClient::open_wide(&*store, 4).unwrap();
    test_client.expect(&insert("user1", &["0", "0", "0", "0"]), RequestResult::WRITTEN);
    // Two fields each, so that nobody may overwrite the record blindly.
    for round in 1..=50 {
        let value = round.to_string();
        let tickets: Vec<_> = (1..=4)
            .map(|count| test_client.start(&update("user1", &vec![&*value; count.min(3)])))
            .collect();
        for (ticket, result) in test_client.take(4) {
            assert!(tickets.contains(&ticket));
            assert_eq!(result, RequestResult::WRITTEN);
        }
        let row = format!("field0={value} field1={value} field2={value} field3=0");
        test_client.expect(&read("user1"), RequestResult::row(&row));
    }
}

#[test]
fn what_is_too_large_is_refused_whole() {
    let cluster = start(1);
    let mut test_client = test_client(&cluster.url("?connections=1"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    // Above etcd's limit; above that of gRPC beneath it.
    for length in [1_600_000, 5_000_000] {
        let value = "x".repeat(length);
        let result = test_client.send(&insert("user1", &[&value, "b"]));
        assert_eq!(result, RequestResult::Refused(Reason::Malformed), "{length}");
        let result = test_client.send(&update("user1", &[&value]));
        assert_eq!(result, RequestResult::Refused(Reason::Malformed), "{length}");
    }
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    let value = "y".repeat(1_500_000);
    test_client.expect(&insert("user1", &[&value, "b"]), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row(&format!("field0={value} field1=b")));
}

#[test]
fn what_others_have_put_there_is_of_the_wrong_type() {
    let cluster = start(1);
    let ours = store(&cluster.url("/p"));
    ours.prepare(&layout(2)).unwrap();
    // The note of a store whose prefix is our table is a record of ours by its name.
    let other = store(&cluster.url("/p/usertable"));
    other.keep_note(r#"{"field0":"eA=="}"#).unwrap();
    let mut test_client = TestClient::open(&*ours).unwrap();
    let wrong = RequestResult::Refused(Reason::WrongType);
    test_client.expect(&read("_assay"), &wrong);
    test_client.expect(&update("_assay", &["x"]), &wrong);
    test_client.expect(&scan("_", 5), &wrong);
    let one = TestRequest { kind: Kind::Read, fields: Fields::One(0), ..read("_assay") };
    test_client.expect(&one, &wrong);
}

#[test]
fn clearing_takes_our_tables_alone() {
    let cluster = start(1);
    let (ours, others) = (store(&cluster.url("/p")), store(&cluster.url("/q")));
    let mut mine = TestClient::open(&*ours).unwrap();
    let mut theirs = TestClient::open(&*others).unwrap();
    for test_client in [&mut mine, &mut theirs] {
        test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    }
    ours.clear().unwrap();
    mine.expect(&read("user1"), RequestResult::MISSING);
    theirs.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
}
