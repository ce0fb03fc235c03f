//! Tests of opening AntidoteDB: errors when there is none, settings when there is one.

use assay_store::OpenError;

use super::{start, start_two};
use crate::antidote_stand_in::Fault;
use crate::impostor;
use crate::opening::{assert_error, check_unreachable};
use crate::rows::test_rows;
use crate::server::free_port;
use crate::stores::{Settings, store, test_client};
use crate::test_client::{RequestResult, insert, layout, read};

test_rows! { opening;
    a_closed_port_is_an_error_that_asks_whether_the_server_runs(&[
        ("antidote://127.0.0.1:PORT", "is the server running?"),
    ]);
    a_server_that_says_something_else_is_another_store(
        impostor::answers,
        "antidote://127.0.0.1:PORT?connect_timeout=500",
        "is no AntidoteDB",
        &[
            "SSH-2.0-OpenSSH_9.2\r\n",
            "HTTP/1.1 400 Bad Request\r\n\r\n",
            "\0\0\0\0",
            "\0\0\0\x01\x7f",
        ],
    );
}

#[test]
fn a_server_that_only_closes_connections_is_reported() {
    let url = format!("antidote://127.0.0.1:{}?connect_timeout=500", impostor::answers(b""));
    check_unreachable(&url, "closed the connection");
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
    assert_error(&error, "", "is the server running?");
    let url = format!("antidote://127.0.0.1:{port},127.0.0.1:{}?host=first", free_port());
    let mut test_client = test_client(&url);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
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
    let settings = Settings::at(&stand_in.url());
    assert!(settings.value("server").ends_with("not AntidoteDB"), "{settings:?}");
    settings.expect(&[("durability", "none"), ("session", "clock")]);
    assert!(!settings.value("replication").is_empty());
    // The transaction by which it was found out is not left open.
    assert_eq!((stand_in.count(119), stand_in.count(120)), (1, 1));
}
