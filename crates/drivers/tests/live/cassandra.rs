//! The Cassandra driver against real nodes.
//!
//! The tests that break nothing share one node, each in a keyspace of its own. With
//! `ASSAY_TEST_CASSANDRA_URL` that is the one behind the URL (without path or options).

mod batches;
mod faults;
mod opening;
mod ring;
mod shared;

use assay_lab::Order;
use assay_model::{Fields, Kind, Layout, Reason, Table};
use assay_store::Existing;
use assay_store::conformance::assert_conforms;

use crate::lab::Cluster;
use crate::listening::assert_listens_at_home;
use crate::opening::{assert_error, assert_turned_away};
use crate::ordeal::{Scans, stays_as_long};
use crate::stores::{
    ANY_BYTES, ONE_MIB, REPLACED_BY_ONE_MIB, Settings, assert_conforms_but_for, store, test_client,
};
use crate::test_client::{
    RequestResult, TestClient, TestRequest, delete, insert, layout, read, scan, update,
};
use shared::{cql, shared};

#[test]
fn cassandra_conforms() {
    assert_conforms(&*store(&shared("/conformance?columns=bytes&in_flight=16")));
}

#[test]
fn cassandra_conforms_with_conditions() {
    let url = shared("/conditions?columns=bytes&insert=lwt&update=lwt&compression=lz4");
    assert_conforms(&*store(&url));
}

#[test]
fn cassandra_conforms_but_for_what_is_no_text() {
    let expected = [ANY_BYTES, ONE_MIB, REPLACED_BY_ONE_MIB];
    assert_conforms_but_for(&shared("/texts?in_flight=4"), &expected);
}

#[test]
fn version_4_works_as_well() {
    let order = Order { version: Some("4.1.10".into()), ..shared::order(1) };
    let mut cluster = Cluster::start_as(&order);
    assert_listens_at_home(&mut cluster);
    let store = store(&cluster.url("/older?insert=lwt"));
    let mut test_client = TestClient::open(&*store).unwrap();
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&insert("user1", &["c", "d"]), RequestResult::Refused(Reason::Exists));
    test_client.expect(&update("user1", &["e"]), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=e field1=b"));
    test_client.expect(&scan("user1", 1), RequestResult::row("field0=e field1=b"));
    test_client.expect(&delete("user1"), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::MISSING);
    let settings = Settings::of(&*store);
    settings.expect(&[("server", "4.1.10")]);
    assert!(settings.value("durability").contains("periodic 10"), "{settings:?}");
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
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    test_client.expect(&read("user2"), RequestResult::row("field0=c"));
    test_client.expect(&insert("user3", &["d", "e"]), RequestResult::WRITTEN);
    let rows = cql(&["SELECT y_id, field0, field1 FROM ycsblike.usertable WHERE y_id = 'user3'"]);
    assert_eq!(rows, ["user3 d e"]);
    let error = store(&url).prepare(&layout(3)).unwrap_err();
    assert_error(&error, "", "its table usertable has no column field2");
    assert_turned_away(
        &shared("/ycsblike?columns=bytes"),
        "",
        "is text, and columns=bytes wants blob",
    );
    assert_turned_away(&shared("/ycsblike?replication=3"), "", "not with replication=3");
}

#[test]
fn records_stay_as_long_as_they_were() {
    stays_as_long(&shared("/lengths"), Scans::Somehow);
}

#[test]
fn upserts_find_everything_and_conditions_tell() {
    let mut blind = test_client(&shared("/blind"));
    blind.expect(&update("user1", &["a"]), RequestResult::WRITTEN);
    blind.expect(&read("user1"), RequestResult::row("field0=a"));
    blind.expect(&insert("user1", &["b", "c"]), RequestResult::WRITTEN);
    blind.expect(&delete("user1"), RequestResult::WRITTEN);
    blind.expect(&delete("user1"), RequestResult::WRITTEN);
    blind.expect(&read("user1"), RequestResult::MISSING);
    let mut careful =
        test_client(&shared("/careful?insert=lwt&update=lwt&read_consistency=SERIAL"));
    careful.expect(&update("user1", &["a"]), RequestResult::MISSING);
    careful.expect(&read("user1"), RequestResult::MISSING);
    careful.expect(&insert("user1", &["b", "c"]), RequestResult::WRITTEN);
    let exists = RequestResult::Refused(Reason::Exists);
    careful.expect(&insert("user1", &["d", "e"]), &exists);
    careful.expect(&update("user1", &["a"]), RequestResult::WRITTEN);
    careful.expect(&read("user1"), RequestResult::row("field0=a field1=c"));
    careful.expect(&delete("user1"), RequestResult::WRITTEN);
    careful.expect(&delete("user1"), RequestResult::MISSING);
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
    let mut test_client = TestClient::open_laid(&*store, &layout).unwrap();
    for key in ["c", "a", "b", "\u{7f}"] {
        test_client.expect(&insert(key, &[key, "x"]), RequestResult::WRITTEN);
    }
    let one = TestRequest { fields: Fields::One(0), ..scan("aa", 5) };
    let rows = ["field0=b", "field0=c", "field0=\u{7f}"].map(str::to_owned).to_vec();
    test_client.expect(&one, RequestResult::Done(true, rows));
    test_client.expect(&update("b", &["B"]), RequestResult::WRITTEN);
    test_client.expect(&delete("a"), RequestResult::WRITTEN);
    test_client.expect(&read("b"), RequestResult::row("field0=B field1=x"));
    let rows = vec!["field0=B field1=x".to_owned()];
    test_client.expect(&scan("a", 1), RequestResult::Done(true, rows));
    let error = store.prepare(&crate::test_client::layout(1)).map(|()| store.clear());
    assert!(error.is_ok());
}

#[test]
fn what_does_not_fit_is_refused_whole() {
    let mut test_client = test_client(&shared("/fits?columns=bytes"));
    let malformed = RequestResult::Refused(Reason::Malformed);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&insert(&"k".repeat(65_536), &["a", "b"]), &malformed);
    test_client.expect(&insert("", &["a", "b"]), &malformed);
    let nothing = TestRequest { kind: Kind::Update, ..read("user1") };
    test_client.expect(&nothing, &malformed);
    // Above half of a segment of the commit log.
    let large = "x".repeat(12 << 20);
    test_client.expect(&update("user1", &[&large]), &malformed);
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    let long = "k".repeat(65_535);
    test_client.expect(&insert(&long, &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&read(&long), RequestResult::row("field0=a field1=b"));
}

#[test]
fn clearing_takes_our_tables_alone() {
    let ours = store(&shared("/clearing"));
    let mut test_client = TestClient::open(&*ours).unwrap();
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
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
    let settings = Settings::of(&*store);
    assert!(settings.value("server").starts_with(|first: char| first.is_ascii_digit()));
    assert!(settings.value("cluster").contains("1 in datacenter1"), "{settings:?}");
    settings.expect(&[
        ("replication of settings", "class=NetworkTopologyStrategy datacenter1=1"),
        ("read_consistency", "QUORUM"),
        ("write_consistency", "ONE"),
        ("visibility", "1 + 1 > 1"),
    ]);
    assert!(settings.value("durability").starts_with("commitlog_sync=periodic 10"));
    settings.expect(&[
        ("lwt", "update, delete at SERIAL"),
        ("retries", "none"),
        ("in_flight", "7"),
    ]);
    assert!(settings.value("table usertable").contains("CompactionStrategy"));
}
