//! The DynamoDB driver against DynamoDB Local, a stand-in for the service.
//!
//! What it answers is checked; how fast it is says nothing.

mod faults;
mod opening;

use assay_lab::{Order, recipes};
use assay_model::{Fields, Kind, Reason};

use crate::lab::{Cluster, Shared};
use crate::ordeal::{Scans, Served};
use crate::rows::test_rows;
use crate::stores::{
    ANY_BYTES, ONE_MIB, REPLACED_BY_ONE_MIB, assert_conforms_but_for, store, test_client,
};
use crate::test_client::{
    RequestResult, TestClient, TestRequest, delete, insert, layout, read, scan, update,
};

/// For the tests that break nothing.
static SHARED: Shared = Shared::new("dynamodb-local", order);

fn order() -> Order {
    Order::of(recipes::find("dynamodb-local").expect("the lab has it"))
}

fn start() -> Cluster {
    Cluster::start_as(&order())
}

fn on_disk() -> Cluster {
    Cluster::start_as(&order().choose("storage", "disk"))
}

test_rows! { ordeal, SHARED.lend();
    records_stay_as_long_as_they_were("?connections=4", Scans::Somehow);
}

test_rows! { ordeal, on_disk();
    flushed_writes_survive_kill_9("?connections=2");
}

/// An item has 400 KiB at most.
#[test]
fn dynamodb_conforms_but_for_what_an_item_cannot_hold() {
    let cluster = SHARED.lend();
    for options in ["?columns=bytes", "?columns=bytes&consistent_read=off&connections=1"] {
        assert_conforms_but_for(&cluster.url(options), &[ONE_MIB, REPLACED_BY_ONE_MIB]);
    }
    let expected = [ANY_BYTES, ONE_MIB, REPLACED_BY_ONE_MIB];
    assert_conforms_but_for(&cluster.url("texts-"), &expected);
}

#[test]
fn found_is_reported_truthfully() {
    let cluster = SHARED.lend();
    let mut test_client = test_client(&cluster.url("?connections=1"));
    test_client.expect(&update("user1", &["a"]), RequestResult::MISSING);
    test_client.expect(&read("user1"), RequestResult::MISSING);
    test_client.expect(&delete("user1"), RequestResult::MISSING);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&insert("user1", &["c", "d"]), RequestResult::WRITTEN);
    let one = TestRequest { fields: Fields::One(1), ..read("user1") };
    test_client.expect(&one, RequestResult::row("field1=d"));
    test_client.expect(&delete("user1"), RequestResult::WRITTEN);
    test_client.expect(&delete("user1"), RequestResult::MISSING);
}

#[test]
fn what_does_not_fit_is_refused_whole() {
    let cluster = SHARED.lend();
    let mut test_client = test_client(&cluster.url("?connections=1"));
    let malformed = RequestResult::Refused(Reason::Malformed);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    let long = "k".repeat(2049);
    for key in ["", &*long] {
        test_client.expect(&insert(key, &["a", "b"]), &malformed);
    }
    // Above what an item holds; and what only the server can know to be above it.
    let half = "x".repeat(300_000);
    test_client.expect(&insert("user1", &[&half, &half]), &malformed);
    test_client.expect(&update("user1", &[&half]), RequestResult::WRITTEN);
    let both = TestRequest { kind: Kind::Update, values: &["y", &half], ..read("user1") };
    test_client.expect(&both, RequestResult::WRITTEN);
    test_client.expect(&update("user1", &[&half]), &malformed);
    let nothing = TestRequest { kind: Kind::Update, ..read("user1") };
    test_client.expect(&nothing, &malformed);
    test_client.expect(&read("user1"), RequestResult::row(&format!("field0=y field1={half}")));
}

#[test]
fn scans_go_on_beyond_a_page() {
    let cluster = SHARED.lend();
    let mut test_client = test_client(&cluster.url("?connections=2"));
    // A page of the server ends at 1 MiB.
    let value = "x".repeat(200_000);
    for number in 0..12 {
        test_client
            .expect(&insert(&format!("user{number}"), &[&value, "b"]), RequestResult::WRITTEN);
    }
    let longest =
        (0..12).map(|number| match test_client.send(&scan(&format!("user{number}"), 100)) {
            RequestResult::Done(true, rows) => rows.len(),
            other => panic!("{other:?}"),
        });
    assert_eq!(longest.max(), Some(12));
}

#[test]
fn clearing_takes_our_tables_alone() {
    let cluster = SHARED.lend();
    let (ours, others) =
        (store(&cluster.url("p-?connections=1")), store(&cluster.url("q-?connections=1")));
    let mut mine = TestClient::open(&*ours).unwrap();
    let mut theirs = TestClient::open(&*others).unwrap();
    for test_client in [&mut mine, &mut theirs] {
        test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    }
    ours.clear().unwrap();
    mine.expect(&read("user1"), RequestResult::Refused(Reason::Malformed));
    ours.prepare(&layout(2)).unwrap();
    mine.expect(&read("user1"), RequestResult::MISSING);
    theirs.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
}
