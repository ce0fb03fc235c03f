//! Tests of opening Ignite: errors when there is none, settings when there is one.

use std::io::Write;

use super::ONE;
use crate::impostor;
use crate::opening::{assert_turned_away, check_unreachable};
use crate::ordeal::Served;
use crate::rows::test_rows;
use crate::stores::{Settings, store, test_client};
use crate::test_client::{RequestResult, insert, layout, read, scan};

test_rows! { opening;
    a_closed_port_is_an_error_that_asks_whether_the_server_runs(&[
        ("ignite://127.0.0.1:PORT", "is the node running"),
    ]);
    redis_behind_the_port_is_another_store(&[
        ("ignite://127.0.0.1:PORT?connect_timeout=300", "no greeting came within 300 ms"),
    ]);
}

#[test]
fn a_server_that_says_something_else_is_no_ignite() {
    let url = |said: &'static [u8]| {
        let port = impostor::listen(move |mut socket| {
            let _ = socket.write_all(said);
            // Until the client has read it.
            let _ = std::io::Read::read(&mut socket, &mut [0; 100]);
        });
        format!("ignite://127.0.0.1:{port}?connect_timeout=2000")
    };
    for said in [&b"SSH-2.0-OpenSSH_9.2\r\n"[..], b"HTTP/1.1 400 Bad Request\r\n\r\n"] {
        check_unreachable(&url(said), "check host and port");
    }
    let version_3 = url(b"IGNI\0\0\0\x03\x01\x02\x03");
    assert_turned_away(&version_3, "", "what answers is Ignite 3");
    // A greeting that turns us away for the password.
    let locked = url(b"\x12\0\0\0\0\x01\0\x07\0\0\0\x09\x02\0\0\0no\xd0\x07\0\0");
    assert_turned_away(&locked, "NotPermitted", "check user and password");
}

#[test]
fn a_cache_that_is_another_than_the_url_says_is_not_used() {
    let cluster = ONE.lend();
    store(&cluster.url("?backups=1&index=off")).prepare(&layout(2)).unwrap();
    for (rest, part) in [
        ("?index=off&backups=2", "has backups=1"),
        ("?index=off&atomicity=transactional", "has atomicity=atomic"),
        ("?index=off&write_sync=full_async", "has write_sync=full_sync"),
        ("?index=off&read_from_backup=off", "has read_from_backup=on"),
        ("", "say index=off"),
    ] {
        assert_turned_away(&cluster.url(rest), "Contents", part);
    }
}

#[test]
fn a_cluster_says_what_it_is_and_a_prefix_keeps_caches_apart() {
    let cluster = ONE.lend();
    let store = store(&cluster.url("/bench?atomicity=transactional&write_sync=primary_sync"));
    store.prepare(&layout(2)).unwrap();
    let settings = Settings::of(&*store);
    assert!(settings.value("server").starts_with("Ignite 2.17.0"), "{}", settings.value("server"));
    settings.expect(&[
        ("nodes", "1"),
        ("durability", "none"),
        ("atomicity", "transactional"),
        ("write_sync", "primary_sync"),
        ("backups", "1"),
        ("partition_loss_policy", "IGNORE"),
    ]);
    let mut first = test_client(&cluster.url("/bench"));
    let mut second = test_client(&cluster.url(""));
    first.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    second.expect(&read("user1"), RequestResult::MISSING);
    second.expect(&scan("user", 5), RequestResult::MISSING);
    store.clear().unwrap();
}
