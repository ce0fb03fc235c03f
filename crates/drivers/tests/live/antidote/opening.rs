//! Tests of opening AntidoteDB: errors when there is none, settings when there is one.

use std::io::Write;
use std::time::{Duration, Instant};

use assay_store::{OpenError, Store};

use super::{start, start_two, store, test_client};
use crate::antidote_stand_in::Fault;
use crate::impostor;
use crate::server::free_port;
use crate::test_client::{RequestResult, insert, layout, read};

/// What preparing says, which must not take long.
fn check_unreachable(url: &str, part: &str) {
    let begun = Instant::now();
    let error = store(url).prepare(&layout(1)).expect_err("there is nothing to prepare");
    assert!(begun.elapsed() < Duration::from_secs(10), "{url}: {:?}", begun.elapsed());
    match error {
        OpenError::Unreachable { reason, .. } => assert!(reason.contains(part), "{url}: {reason}"),
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn a_closed_port_is_an_error_that_asks_whether_the_server_runs() {
    check_unreachable(&format!("antidote://127.0.0.1:{}", free_port()), "is the server running?");
}

#[test]
fn servers_that_say_something_else_are_no_antidotedb() {
    for (said, part) in [
        ("SSH-2.0-OpenSSH_9.2\r\n", "is no AntidoteDB"),
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "is no AntidoteDB"),
        ("\0\0\0\0", "is no AntidoteDB"),
        ("\0\0\0\x01\x7f", "is no AntidoteDB"),
        ("", "closed the connection"),
    ] {
        let port = impostor::listen(move |mut socket| {
            // Its question is read first: a socket closed with bytes unread is reset.
            let _ = std::io::Read::read(&mut socket, &mut [0; 256]);
            let _ = socket.write_all(said.as_bytes());
        });
        check_unreachable(&format!("antidote://127.0.0.1:{port}?connect_timeout=500"), part);
    }
}

#[test]
fn a_silent_server_is_given_up() {
    let stand_in = start();
    stand_in.freeze();
    let url = format!("{}?connect_timeout=300", stand_in.url());
    check_unreachable(&url, "no answer came within 300 ms");
}

#[test]
fn a_server_that_is_not_ready_says_so() {
    let stand_in = start();
    stand_in.fault(123, Fault::Error);
    check_unreachable(&stand_in.url(), "it says: {error,told}; is it still starting?");
}

#[test]
fn one_host_is_enough_to_prepare_and_all_are_needed_to_open() {
    let stand_in = start();
    let port = stand_in.ports[0];
    let url = format!("antidote://127.0.0.1:{},127.0.0.1:{port}", free_port());
    let both = store(&url);
    both.prepare(&layout(2)).unwrap();
    let error = both.open(0).err().expect("one host is not there");
    assert!(error.to_string().contains("is the server running?"), "{error}");
    let url = format!("antidote://127.0.0.1:{port},127.0.0.1:{}?host=first", free_port());
    let mut test_client = test_client(&url);
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
}

#[test]
fn names_with_a_slash_are_refused() {
    let mut tables = layout(1);
    tables.tables[0].name = "a/b".into();
    let error = store("antidote://127.0.0.1:1").prepare(&tables).unwrap_err();
    assert!(matches!(error, OpenError::Unsupported { .. }), "{error:?}");
}

#[test]
fn the_stand_in_is_not_taken_for_antidotedb() {
    let stand_in = start_two(1);
    let settings = store(&stand_in.url()).settings().unwrap();
    let value = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.map_or("", |setting| setting.value.as_str())
    };
    assert!(value("server").ends_with("not AntidoteDB"), "{settings:?}");
    assert_eq!((value("durability"), value("session")), ("none", "clock"));
    assert!(!value("replication").is_empty());
    // The transaction by which it was found out is not left open.
    assert_eq!((stand_in.count(119), stand_in.count(120)), (1, 1));
}
