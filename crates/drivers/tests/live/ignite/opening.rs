//! Tests of opening Ignite: errors when there is none, settings when there is one.

use std::io::Write;

use assay_store::{OpenError, Store};

use super::{store, test_client};
use crate::impostor;
use crate::lab::Cluster;
use crate::server::{Server as Redis, free_port};
use crate::test_client::{RequestResult, insert, layout, read, scan};

fn turned_away(url: &str) -> OpenError {
    store(url).prepare(&layout(2)).expect_err("there is nothing to prepare")
}

fn check_unreachable(url: &str, part: &str) {
    match turned_away(url) {
        OpenError::Unreachable { reason, .. } => assert!(reason.contains(part), "{url}: {reason}"),
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn a_closed_port_is_an_error_that_asks_whether_the_node_runs() {
    check_unreachable(&format!("ignite://127.0.0.1:{}", free_port()), "is the node running");
}

#[test]
fn redis_behind_the_port_is_no_ignite() {
    let redis = Redis::start(&[]);
    let url = format!("ignite://127.0.0.1:{}?connect_timeout=300", redis.port);
    check_unreachable(&url, "no greeting came within 300 ms");
}

#[test]
fn a_server_that_says_something_else_is_no_ignite() {
    let says = |said: &'static [u8]| {
        let port = impostor::listen(move |mut socket| {
            let _ = socket.write_all(said);
            // Until the client has read it.
            let _ = std::io::Read::read(&mut socket, &mut [0; 100]);
        });
        turned_away(&format!("ignite://127.0.0.1:{port}?connect_timeout=2000"))
    };
    for said in [&b"SSH-2.0-OpenSSH_9.2\r\n"[..], b"HTTP/1.1 400 Bad Request\r\n\r\n"] {
        let error = says(said);
        assert!(matches!(error, OpenError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains("check host and port"), "{error}");
    }
    let error = says(b"IGNI\0\0\0\x03\x01\x02\x03");
    assert!(error.to_string().contains("what answers is Ignite 3"), "{error}");
    // A greeting that turns us away for the password.
    let error = says(b"\x12\0\0\0\0\x01\0\x07\0\0\0\x09\x02\0\0\0no\xd0\x07\0\0");
    assert!(matches!(error, OpenError::NotPermitted { .. }), "{error:?}");
    assert!(error.to_string().contains("check user and password"), "{error}");
}

#[test]
fn a_cache_that_is_another_than_the_url_says_is_not_used() {
    let cluster = Cluster::start("ignite", 1);
    store(&cluster.url("?backups=1&index=off")).prepare(&layout(2)).unwrap();
    for (rest, part) in [
        ("?index=off&backups=2", "has backups=1"),
        ("?index=off&atomicity=transactional", "has atomicity=atomic"),
        ("?index=off&write_sync=full_async", "has write_sync=full_sync"),
        ("?index=off&read_from_backup=off", "has read_from_backup=on"),
        ("", "say index=off"),
    ] {
        let error = turned_away(&cluster.url(rest));
        assert!(matches!(error, OpenError::Contents { .. }), "{rest}: {error:?}");
        assert!(error.to_string().contains(part), "{rest}: {error}");
    }
}

#[test]
fn a_cluster_says_what_it_is_and_a_prefix_keeps_caches_apart() {
    let cluster = Cluster::start("ignite", 1);
    let store = store(&cluster.url("/bench?atomicity=transactional&write_sync=primary_sync"));
    store.prepare(&layout(2)).unwrap();
    let settings = store.settings().unwrap();
    let value = |name: &str| {
        let found = settings.iter().find(|setting| setting.name == name);
        found.unwrap_or_else(|| panic!("no {name} in {settings:#?}")).value.clone()
    };
    assert!(value("server").starts_with("Ignite 2.17.0"), "{}", value("server"));
    assert_eq!((value("nodes"), value("durability")), ("1".into(), "none".into()));
    assert_eq!(value("atomicity"), "transactional");
    assert_eq!(value("write_sync"), "primary_sync");
    assert_eq!((value("backups"), value("partition_loss_policy")), ("1".into(), "IGNORE".into()));
    let mut first = test_client(&cluster.url("/bench"));
    let mut second = test_client(&cluster.url(""));
    assert_eq!(first.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(second.send(&read("user1")), RequestResult::MISSING);
    assert_eq!(second.send(&scan("user", 5)), RequestResult::MISSING);
    store.clear().unwrap();
}
