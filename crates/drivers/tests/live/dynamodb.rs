//! The DynamoDB driver against DynamoDB Local, a stand-in for the service.
//!
//! What it answers is checked; how fast it is says nothing.

mod faults;
mod opening;

use assay_driver_dynamodb::DynamoDb;
use assay_lab::{Order, recipes};
use assay_model::{Fields, Kind, Reason};
use assay_store::Store;
use assay_store::conformance::{check, find_mark, leave_mark};

use crate::lab::Cluster;
use crate::ordeal::keeps_its_length;
use crate::test_client::{
    RequestResult, TestClient, TestRequest, delete, insert, layout, read, scan, update,
};

/// An item has 400 KiB at most.
const TOO_LARGE: [&str; 2] =
    ["a small value can be replaced by one of one MiB", "a value of one MiB comes back unchanged"];

fn start() -> Cluster {
    Cluster::start("dynamodb-local", 1)
}

fn store(url: &str) -> DynamoDb {
    DynamoDb::from_url(url).expect("the test writes right URLs")
}

fn test_client(url: &str) -> TestClient {
    TestClient::open(&store(url)).expect("the server is there")
}

/// Checks every rule; tells those that are broken, each of which must be by a refusal.
fn broken(url: &str) -> Vec<&'static str> {
    let findings = check(&store(url));
    for finding in &findings {
        assert!(finding.instead.contains("refused (malformed)"), "{finding}");
    }
    let mut rules: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules
}

#[test]
fn dynamodb_conforms_but_for_what_an_item_cannot_hold() {
    let cluster = start();
    for options in ["?columns=bytes", "?columns=bytes&consistent_read=off&connections=1"] {
        assert_eq!(broken(&cluster.url(options)), TOO_LARGE, "{options}");
    }
    let mut expected = TOO_LARGE.to_vec();
    expected.push("a value of any bytes comes back unchanged");
    expected.sort_unstable();
    assert_eq!(broken(&cluster.url("texts-")), expected);
}

#[test]
fn flushed_writes_survive_the_process_on_disk() {
    let recipe = recipes::find("dynamodb-local").unwrap();
    let mut cluster = Cluster::start_as(&Order::of(recipe).choose("storage", "disk"));
    leave_mark(&store(&cluster.url("?connections=2"))).unwrap();
    cluster.kill(1);
    cluster.restart(1);
    find_mark(&store(&cluster.url("?connections=2"))).unwrap();
}

#[test]
fn records_stay_as_long_as_they_were() {
    let cluster = start();
    let store = store(&cluster.url("?connections=4"));
    let mut test_client = TestClient::open_wide(&store, 10).unwrap();
    let record = keeps_its_length(&mut test_client);
    let RequestResult::Done(true, rows) = test_client.send(&scan("user010", 5)) else {
        panic!("user010 is there")
    };
    assert!(!rows.is_empty() && rows.iter().all(|row| *row == record), "{rows:?}");
}

#[test]
fn found_is_reported_truthfully() {
    let cluster = start();
    let mut test_client = test_client(&cluster.url("?connections=1"));
    assert_eq!(test_client.send(&update("user1", &["a"])), RequestResult::MISSING);
    assert_eq!(test_client.send(&read("user1")), RequestResult::MISSING);
    assert_eq!(test_client.send(&delete("user1")), RequestResult::MISSING);
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&insert("user1", &["c", "d"])), RequestResult::WRITTEN);
    let one = TestRequest { fields: Fields::One(1), ..read("user1") };
    assert_eq!(test_client.send(&one), RequestResult::row("field1=d"));
    assert_eq!(test_client.send(&delete("user1")), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&delete("user1")), RequestResult::MISSING);
}

#[test]
fn what_does_not_fit_is_refused_whole() {
    let cluster = start();
    let mut test_client = test_client(&cluster.url("?connections=1"));
    let malformed = RequestResult::Refused(Reason::Malformed);
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    let long = "k".repeat(2049);
    for key in ["", &*long] {
        assert_eq!(test_client.send(&insert(key, &["a", "b"])), malformed);
    }
    // Above what an item holds; and what only the server can know to be above it.
    let half = "x".repeat(300_000);
    assert_eq!(test_client.send(&insert("user1", &[&half, &half])), malformed);
    assert_eq!(test_client.send(&update("user1", &[&half])), RequestResult::WRITTEN);
    let both = TestRequest { kind: Kind::Update, values: &["y", &half], ..read("user1") };
    assert_eq!(test_client.send(&both), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&update("user1", &[&half])), malformed);
    let nothing = TestRequest { kind: Kind::Update, ..read("user1") };
    assert_eq!(test_client.send(&nothing), malformed);
    assert_eq!(
        test_client.send(&read("user1")),
        RequestResult::row(&format!("field0=y field1={half}"))
    );
}

#[test]
fn scans_go_on_beyond_a_page() {
    let cluster = start();
    let mut test_client = test_client(&cluster.url("?connections=2"));
    // A page of the server ends at 1 MiB.
    let value = "x".repeat(200_000);
    for number in 0..12 {
        assert_eq!(
            test_client.send(&insert(&format!("user{number}"), &[&value, "b"])),
            RequestResult::WRITTEN
        );
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
    let cluster = start();
    let (ours, others) =
        (store(&cluster.url("p-?connections=1")), store(&cluster.url("q-?connections=1")));
    let mut mine = TestClient::open(&ours).unwrap();
    let mut theirs = TestClient::open(&others).unwrap();
    for test_client in [&mut mine, &mut theirs] {
        assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    }
    ours.clear().unwrap();
    assert_eq!(mine.send(&read("user1")), RequestResult::Refused(Reason::Malformed));
    ours.prepare(&layout(2)).unwrap();
    assert_eq!(mine.send(&read("user1")), RequestResult::MISSING);
    assert_eq!(theirs.send(&read("user1")), RequestResult::row("field0=a field1=b"));
}
