//! Tests of opening MongoDB: errors when there is none, settings when there is one.

use std::io::Write;

use assay_model::{Layout, Reason, Table};
use assay_store::conformance::talk::{Got, TestRequest, TestSession};
use assay_store::{OpenError, Store};

use super::{store, test_client};
use crate::impostor;
use crate::lab::Cluster;
use crate::server::{Server as Redis, free_port};
use crate::test_client::{RequestResult, insert, layout, read};

fn turned_away(url: &str) -> OpenError {
    store(url).prepare(&layout(1)).expect_err("there is nothing to prepare")
}

fn check_unreachable(url: &str, part: &str) {
    match turned_away(url) {
        OpenError::Unreachable { reason, .. } => assert!(reason.contains(part), "{url}: {reason}"),
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn a_closed_port_is_an_error_that_asks_whether_the_server_runs() {
    let url = format!("mongodb://127.0.0.1:{}/test?connect_timeout=500", free_port());
    check_unreachable(&url, "is the server running");
}

#[test]
fn redis_behind_the_port_is_no_mongodb() {
    let redis = Redis::start(&[]);
    let url = format!("mongodb://127.0.0.1:{}/test?connect_timeout=500", redis.port);
    check_unreachable(&url, "check host");
}

#[test]
fn servers_that_say_something_else_are_no_mongodb() {
    for said in ["SSH-2.0-OpenSSH_9.2\r\n", "220 mail ESMTP\r\n"] {
        let port = impostor::listen(move |mut socket| {
            let _ = socket.write_all(said.as_bytes());
        });
        check_unreachable(&format!("mongodb://127.0.0.1:{port}/test?connect_timeout=500"), "check");
    }
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
        assert!(matches!(error, OpenError::Unsupported { .. }), "{table} {field}: {error:?}");
        assert!(error.to_string().contains("must not be called"), "{error}");
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
        let mut talk = TestSession::open(store, 0).unwrap();
        let result = [TestRequest::insert(key, &[b"a", b"b"]), TestRequest::read(key)]
            .map(|request| talk.send(&request));
        assert_eq!(result, expected);
    }
}

#[test]
fn ferretdb_is_not_taken_for_mongodb() {
    let cluster = Cluster::start("ferretdb", 1);
    let settings = store(&cluster.url("")).settings().unwrap();
    let value = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.map_or("", |setting| setting.value.as_str())
    };
    assert_eq!(value("server"), "FerretDB 1.24.2, not MongoDB");
    assert_eq!(value("durability"), "not reported");
    assert_eq!(value("connections"), "16");
    assert_eq!(value("read preference"), "primary");
    assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
}

#[test]
fn what_is_there_is_kept() {
    let cluster = Cluster::start("ferretdb", 1);
    let mut test_client = test_client(&cluster.url(""));
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    store(&cluster.url("")).prepare(&layout(2)).unwrap();
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    store(&cluster.url("?connections=2")).clear().unwrap();
}
