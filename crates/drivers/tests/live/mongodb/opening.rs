//! Tests of opening MongoDB: errors when there is none, settings when there is one.

use assay_model::{Layout, Reason, Table};
use assay_store::conformance::talk::{Got, TestRequest, TestSession};

use crate::impostor;
use crate::lab::Cluster;
use crate::opening::{assert_error, check_unreachable};
use crate::rows::test_rows;
use crate::stores::{Settings, store, test_client};
use crate::test_client::{RequestResult, insert, layout, read};

test_rows! { opening;
    a_closed_port_is_an_error_that_asks_whether_the_server_runs(&[
        ("mongodb://127.0.0.1:PORT/test?connect_timeout=500", "is the server running"),
    ]);
    redis_behind_the_port_is_another_store(&[
        ("mongodb://127.0.0.1:PORT/test?connect_timeout=500", "check host"),
    ]);
    a_server_that_says_something_else_is_another_store(
        impostor::says,
        "mongodb://127.0.0.1:PORT/test?connect_timeout=500",
        "check",
        &["SSH-2.0-OpenSSH_9.2\r\n", "220 mail ESMTP\r\n"],
    );
}

#[test]
fn a_replica_set_that_is_none_is_reported() {
    let cluster = Cluster::start("ferretdb", 1);
    let url = cluster.url("?replica_set=rs0&connect_timeout=1000");
    check_unreachable(&url, "check host, port and replica_set");
}

#[test]
fn names_that_a_document_cannot_have_are_refused() {
    let cluster = Cluster::start("ferretdb", 1);
    let store = store(&cluster.url(""));
    for (table, field) in [("usertable", "a.b"), ("usertable", "_id"), ("a$b", "field0")] {
        let tables =
            vec![Table { name: table.into(), fields: vec![field.into()], needs_key_order: false }];
        let error = store.prepare(&Layout { tables, records: 1 }).unwrap_err();
        assert_error(&error, "Unsupported", "must not be called");
    }
}

#[test]
fn keys_that_are_no_text_are_refused_or_kept_as_bytes() {
    let cluster = Cluster::start("ferretdb", 1);
    let text = store(&cluster.url(""));
    let bytes = store(&cluster.url("?keys=bytes"));
    let key: &[u8] = b"\xff\0\xfe";
    for (store, expected) in [
        (&text, [Got::Refused(Reason::Malformed), Got::Refused(Reason::Malformed)]),
        (&bytes, [Got::WRITTEN, Got::row(&[("field0", b"a"), ("field1", b"b")])]),
    ] {
        store.clear().unwrap();
        store.prepare(&layout(2)).unwrap();
        let mut talk = TestSession::open(&**store, 0).unwrap();
        let result = [TestRequest::insert(key, &[b"a", b"b"]), TestRequest::read(key)]
            .map(|request| talk.send(&request));
        assert_eq!(result, expected);
    }
}

#[test]
fn ferretdb_is_not_taken_for_mongodb() {
    let cluster = Cluster::start("ferretdb", 1);
    let settings = Settings::at(&cluster.url(""));
    settings.expect(&[
        ("server", "FerretDB 1.24.2, not MongoDB"),
        ("durability", "not reported"),
        ("connections", "16"),
        ("read preference", "primary"),
    ]);
}

#[test]
fn what_is_there_is_kept() {
    let cluster = Cluster::start("ferretdb", 1);
    let mut test_client = test_client(&cluster.url(""));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    store(&cluster.url("")).prepare(&layout(2)).unwrap();
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    store(&cluster.url("?connections=2")).clear().unwrap();
}
