//! The Cassandra driver against real nodes.
//!
//! The tests that break nothing share one node, each in a keyspace of its own. With
//! `ASSAY_TEST_CASSANDRA_URL` that is the one behind the URL (without path or options).

mod batches;
mod faults;
mod opening;
mod ring;
mod shared;

use assay_driver_cassandra::Cassandra;
use assay_lab::Order;
use assay_model::{Fields, Kind, Layout, Reason, Table};
use assay_store::conformance::{assert_conforms, check};
use assay_store::{Existing, Store};

use crate::lab::Cluster;
use crate::listening::assert_listens_at_home;
use crate::ordeal::keeps_its_length;
use crate::test_client::{
    RequestResult, TestClient, TestRequest, delete, insert, layout, read, scan, update,
};
use shared::{cql, shared};

fn store(url: &str) -> Cassandra {
    Cassandra::from_url(url).expect("the test writes right URLs")
}

fn test_client(url: &str) -> TestClient {
    TestClient::open(&store(url)).expect("the cluster is there")
}

#[test]
fn cassandra_conforms() {
    assert_conforms(&store(&shared("/conformance?columns=bytes&in_flight=16")));
}

#[test]
fn cassandra_conforms_with_conditions() {
    let url = shared("/conditions?columns=bytes&insert=lwt&update=lwt&compression=lz4");
    assert_conforms(&store(&url));
}

#[test]
fn cassandra_conforms_but_for_what_is_no_text() {
    let findings = check(&store(&shared("/texts?in_flight=4")));
    let rules: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
    let expected = [
        "a value of any bytes comes back unchanged",
        "a value of one MiB comes back unchanged",
        "a small value can be replaced by one of one MiB",
    ];
    assert_eq!(rules, expected, "{findings:#?}");
    let refusals =
        findings.iter().filter(|finding| finding.instead.contains("refused (malformed)"));
    assert_eq!(refusals.count(), expected.len());
}

#[test]
fn version_4_works_as_well() {
    let order = Order { version: Some("4.1.10".into()), ..shared::order(1) };
    let mut cluster = Cluster::start_as(&order);
    assert_listens_at_home(&mut cluster);
    let store = store(&cluster.url("/older?insert=lwt"));
    let mut test_client = TestClient::open(&store).unwrap();
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(
        test_client.send(&insert("user1", &["c", "d"])),
        RequestResult::Refused(Reason::Exists)
    );
    assert_eq!(test_client.send(&update("user1", &["e"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=e field1=b"));
    assert_eq!(test_client.send(&scan("user1", 1)), RequestResult::row("field0=e field1=b"));
    assert_eq!(test_client.send(&delete("user1")), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read("user1")), RequestResult::MISSING);
    let settings = store.settings().unwrap();
    let value = |name: &str| {
        settings.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
    };
    assert_eq!(value("server"), Some("4.1.10"));
    assert!(value("durability").is_some_and(|value| value.contains("periodic 10")), "{settings:?}");
}

#[test]
fn records_lie_as_ycsb_lays_them() {
    let url = shared("/ycsblike");
    cql(&[
        "CREATE KEYSPACE IF NOT EXISTS ycsblike WITH REPLICATION = \
         {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE IF NOT EXISTS ycsblike.usertable \
         (y_id varchar primary key, field0 varchar, field1 varchar)",
        "INSERT INTO ycsblike.usertable (y_id, field0, field1) VALUES ('user1', 'a', 'b')",
        "INSERT INTO ycsblike.usertable (y_id, field0) VALUES ('user2', 'c')",
    ]);
    let mut test_client = test_client(&url);
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    assert_eq!(test_client.send(&read("user2")), RequestResult::row("field0=c"));
    assert_eq!(test_client.send(&insert("user3", &["d", "e"])), RequestResult::WRITTEN);
    let rows = cql(&["SELECT y_id, field0, field1 FROM ycsblike.usertable WHERE y_id = 'user3'"]);
    assert_eq!(rows, ["user3 d e"]);
    let error = store(&url).prepare(&layout(3)).unwrap_err().to_string();
    assert!(error.contains("its table usertable has no column field2"), "{error}");
    let error = store(&shared("/ycsblike?columns=bytes")).prepare(&layout(2)).unwrap_err();
    assert!(error.to_string().contains("is text, and columns=bytes wants blob"), "{error}");
    let error = store(&shared("/ycsblike?replication=3")).prepare(&layout(2)).unwrap_err();
    assert!(error.to_string().contains("not with replication=3"), "{error}");
}

#[test]
fn records_stay_as_long_as_they_were() {
    let store = store(&shared("/lengths"));
    let mut test_client = TestClient::open_wide(&store, 10).unwrap();
    let record = keeps_its_length(&mut test_client);
    let RequestResult::Done(true, rows) = test_client.send(&scan("user000", 100)) else {
        panic!("no scan")
    };
    assert!(!rows.is_empty() && rows.iter().all(|row| *row == record));
}

#[test]
fn upserts_find_everything_and_conditions_tell() {
    let mut blind = test_client(&shared("/blind"));
    assert_eq!(blind.send(&update("user1", &["a"])), RequestResult::WRITTEN);
    assert_eq!(blind.send(&read("user1")), RequestResult::row("field0=a"));
    assert_eq!(blind.send(&insert("user1", &["b", "c"])), RequestResult::WRITTEN);
    assert_eq!(blind.send(&delete("user1")), RequestResult::WRITTEN);
    assert_eq!(blind.send(&delete("user1")), RequestResult::WRITTEN);
    assert_eq!(blind.send(&read("user1")), RequestResult::MISSING);
    let mut careful =
        test_client(&shared("/careful?insert=lwt&update=lwt&read_consistency=SERIAL"));
    assert_eq!(careful.send(&update("user1", &["a"])), RequestResult::MISSING);
    assert_eq!(careful.send(&read("user1")), RequestResult::MISSING);
    assert_eq!(careful.send(&insert("user1", &["b", "c"])), RequestResult::WRITTEN);
    let exists = RequestResult::Refused(Reason::Exists);
    assert_eq!(careful.send(&insert("user1", &["d", "e"])), exists);
    assert_eq!(careful.send(&update("user1", &["a"])), RequestResult::WRITTEN);
    assert_eq!(careful.send(&read("user1")), RequestResult::row("field0=a field1=c"));
    assert_eq!(careful.send(&delete("user1")), RequestResult::WRITTEN);
    assert_eq!(careful.send(&delete("user1")), RequestResult::MISSING);
}

#[test]
fn a_long_scan_comes_in_pages() {
    let mut test_client = test_client(&shared("/pages?in_flight=64"));
    let mut sent = 0;
    let mut answered = 0;
    while answered < 5100 {
        while sent < 5100 && test_client.is_ready() {
            test_client.start(&insert(&format!("user{sent}"), &["a", "b"]));
            sent += 1;
        }
        for (_, result) in test_client.take(1) {
            assert_eq!(result, RequestResult::WRITTEN);
            answered += 1;
        }
    }
    // The first key by the hash of the keys is not known; from any key on there are some.
    let mut most = 0;
    for number in 0..50 {
        let RequestResult::Done(true, rows) =
            test_client.send(&scan(&format!("user{number}"), 20_000))
        else {
            panic!("a scan finds the record that it starts at")
        };
        most = most.max(rows.len());
        if rows.len() > 5000 {
            assert_eq!(test_client.last_requests(), 2);
        } else {
            assert_eq!(test_client.last_requests(), 1);
        }
    }
    assert!(most > 4000 && most <= 5100, "{most}");
}

#[test]
fn tables_of_a_mapping_are_scanned_in_the_order_of_their_keys() {
    let fields = vec!["field0".to_owned(), "field1".to_owned()];
    let ordered = Table { name: "Ordered".into(), fields, needs_key_order: true };
    let layout = Layout { tables: vec![ordered], records: 10 };
    let store = store(&shared("/ordered"));
    let mut test_client = TestClient::open_laid(&store, &layout).unwrap();
    for key in ["c", "a", "b", "\u{7f}"] {
        assert_eq!(test_client.send(&insert(key, &[key, "x"])), RequestResult::WRITTEN);
    }
    let one = TestRequest { fields: Fields::One(0), ..scan("aa", 5) };
    let rows = ["field0=b", "field0=c", "field0=\u{7f}"].map(str::to_owned).to_vec();
    assert_eq!(test_client.send(&one), RequestResult::Done(true, rows));
    assert_eq!(test_client.send(&update("b", &["B"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&delete("a")), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read("b")), RequestResult::row("field0=B field1=x"));
    let rows = vec!["field0=B field1=x".to_owned()];
    assert_eq!(test_client.send(&scan("a", 1)), RequestResult::Done(true, rows));
    let error = store.prepare(&crate::test_client::layout(1)).map(|()| store.clear());
    assert!(error.is_ok());
}

#[test]
fn what_does_not_fit_is_refused_whole() {
    let mut test_client = test_client(&shared("/fits?columns=bytes"));
    let malformed = RequestResult::Refused(Reason::Malformed);
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&insert(&"k".repeat(65_536), &["a", "b"])), malformed);
    assert_eq!(test_client.send(&insert("", &["a", "b"])), malformed);
    let nothing = TestRequest { kind: Kind::Update, ..read("user1") };
    assert_eq!(test_client.send(&nothing), malformed);
    // Above half of a segment of the commit log.
    let large = "x".repeat(12 << 20);
    assert_eq!(test_client.send(&update("user1", &[&large])), malformed);
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    let long = "k".repeat(65_535);
    assert_eq!(test_client.send(&insert(&long, &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read(&long)), RequestResult::row("field0=a field1=b"));
}

#[test]
fn clearing_takes_our_tables_alone() {
    let ours = store(&shared("/clearing"));
    let mut test_client = TestClient::open(&ours).unwrap();
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    ours.keep_note("loaded").unwrap();
    cql(&["CREATE TABLE IF NOT EXISTS clearing.other (id int PRIMARY KEY)"]);
    ours.clear().unwrap();
    assert_eq!(ours.note().unwrap(), None);
    let tables =
        cql(&["SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'clearing'"]);
    assert_eq!(tables, ["other"]);
    store(&shared("/never_made")).clear().unwrap();
    let refused = ours
        .prepare_queries(&assay_store::conformance::queries::catalogue().into(), Existing::Refuse);
    assert!(refused.is_err(), "queries go through a mapping");
}

#[test]
fn settings_say_what_they_mean() {
    let store = store(&shared("/settings?write_consistency=ONE&update=lwt&in_flight=7"));
    store.prepare(&layout(1)).unwrap();
    let settings = store.settings().unwrap();
    let value = |name: &str| {
        let found = settings.iter().find(|setting| setting.name == name);
        found.unwrap_or_else(|| panic!("no {name} in {settings:#?}")).value.as_str()
    };
    assert!(value("server").starts_with(|first: char| first.is_ascii_digit()));
    assert!(value("cluster").contains("1 in datacenter1"), "{}", value("cluster"));
    assert_eq!(value("replication of settings"), "class=NetworkTopologyStrategy datacenter1=1");
    assert_eq!((value("read_consistency"), value("write_consistency")), ("QUORUM", "ONE"));
    assert_eq!(value("visibility"), "1 + 1 > 1");
    assert!(value("durability").starts_with("commitlog_sync=periodic 10"));
    assert_eq!(value("lwt"), "update, delete at SERIAL");
    assert_eq!((value("retries"), value("in_flight")), ("none", "7"));
    assert!(value("table usertable").contains("CompactionStrategy"));
    assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
}
