//! Tests of outcomes when the server fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_model::Reason;
use assay_store::Ticket;

use crate::impostor;
use crate::ordeal::{LOST, UNREACHABLE};
use crate::rows::test_rows;
use crate::server::Server;
use crate::stores::test_client;
use crate::test_client::{RequestResult, delete, insert, read, update};

test_rows! { ordeal, Server::start(&[]);
    ten_thousand_requests_in_flight_are_answered_in_order("?depth=10000");
    an_idle_client_notices_that_the_server_is_gone("?connections=2");
}

#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut server = Server::start(&[]);
    let mut test_client = test_client(&server.url(""));
    test_client.expect(&insert("user1", &["a"]), RequestResult::WRITTEN);
    server.freeze();
    let sent = [
        test_client.start(&read("user1")),
        test_client.start(&insert("u2", &["b"])),
        test_client.start(&delete("u")),
    ];
    test_client.poll();
    server.kill();
    assert_eq!(test_client.take(3), sent.map(|ticket| (ticket, LOST)));
    test_client.expect(&read("user1"), UNREACHABLE);
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
    test_client.expect(&read("user1"), UNREACHABLE);
    assert!(test_client.is_ready());

    server.restart();
    test_client.send_until(&read("user1"), &RequestResult::MISSING);
    test_client.expect(&insert("user1", &["b"]), RequestResult::WRITTEN);
}

#[test]
fn a_request_that_was_never_sent_is_refused() {
    let mut server = Server::start(&[]);
    let mut test_client = test_client(&server.url(""));
    server.freeze();
    let big = "x".repeat(1_000_000);
    let tickets: Vec<Ticket> =
        (0..100).map(|_| test_client.start(&update("user1", &[&big]))).collect();
    assert_eq!(test_client.drain_for(Duration::from_millis(50)), []);
    server.kill();
    let answers = test_client.take(100);
    let sent = answers.iter().take_while(|(_, result)| *result == LOST).count();
    assert!(sent > 0 && sent < 100, "{sent} of 100 MB fitted into the socket");
    for (place, (ticket, result)) in answers.iter().enumerate() {
        assert_eq!(*ticket, tickets[place]);
        assert_eq!(*result, if place < sent { LOST } else { UNREACHABLE }, "{place}");
    }
}

#[test]
fn a_password_with_a_database_is_given_again_after_a_restart() {
    let mut server = Server::start(&["--requirepass", "pw"]);
    let mut test_client = test_client(&format!("redis://:pw@127.0.0.1:{}/5", server.port));
    server.kill();
    test_client.send_until(&read("user1"), &UNREACHABLE);
    server.restart();
    test_client.send_until(&insert("user1", &["a"]), &RequestResult::WRITTEN);
    assert_eq!(server.cli("--no-auth-warning -a pw -n 5 DBSIZE"), "2");
}

#[test]
fn a_tls_connection_comes_back_too() {
    let mut server = Server::start_tls();
    let ca = server.folder().join("ca.crt");
    let mut test_client = test_client(&server.url(&format!("?ca_file={}", ca.display())));
    test_client.expect(&insert("user1", &["a"]), RequestResult::WRITTEN);
    server.kill();
    test_client.send_until(&read("user1"), &UNREACHABLE);
    server.restart();
    test_client.send_until(&read("user1"), &RequestResult::MISSING);
}

#[test]
fn a_frozen_server_keeps_requests_waiting_until_it_goes_on() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url("?depth=2"));
    server.freeze();
    let first = test_client.start(&insert("user1", &["a"]));
    let second = test_client.start(&read("user1"));
    assert!(!test_client.is_ready());
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
    test_client.abandon(first);
    test_client.abandon(second);
    assert_eq!(test_client.drain_for(Duration::from_millis(20)), []);
    server.thaw();
    // The answers still come, as they may; the session's order holds.
    let expected = [(first, RequestResult::WRITTEN), (second, RequestResult::row("field0=a"))];
    assert_eq!(test_client.take(2), expected);
    assert!(test_client.is_ready());
}

#[test]
fn a_connection_that_stays_silent_after_the_timeout_has_expired_is_given_up() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url(""));
    server.freeze();
    let first = test_client.start(&insert("user1", &["a"]));
    let second = test_client.start(&read("user1"));
    test_client.abandon(first);
    let lost = RequestResult::Unknown(Reason::ConnectionLost);
    assert_eq!(test_client.take(2), [(first, lost.clone()), (second, lost)]);
    server.thaw();
    test_client.send_until(&insert("user2", &["a"]), &RequestResult::WRITTEN);
}

#[test]
fn a_connection_that_goes_silent_after_late_answers_is_given_up() {
    let answers = [("HGETALL", "*0\r\n"), ("DEL", ""), ("ZREM", "")];
    let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
    let mut test_client = test_client(&format!("redis://127.0.0.1:{port}"));
    let answered = test_client.start(&read("user1"));
    let silent = test_client.start(&delete("user1"));
    // The second request times out while the first is the oldest.
    test_client.abandon(answered);
    test_client.abandon(silent);
    let lost = RequestResult::Unknown(Reason::ConnectionLost);
    assert_eq!(test_client.take(2), [(answered, RequestResult::MISSING), (silent, lost)]);
}

#[test]
fn a_server_that_accepts_connections_but_no_requests_says_why() {
    let is_loading = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_loading);
    let port = impostor::listen(move |socket| match flag.load(Ordering::Relaxed) {
        true => impostor::converse(socket, &[("PING", "-LOADING the dataset\r\n!")]),
        false => impostor::converse(socket, &[("HGETALL", "*0\r\n"), ("DEL", "-ERR no\r\n!")]),
    });
    let mut test_client = test_client(&format!("redis://127.0.0.1:{port}"));
    test_client.expect(&read("user1"), RequestResult::MISSING);
    is_loading.store(true, Ordering::Relaxed);
    test_client.send(&delete("user1"));
    test_client.send_until(&read("user1"), &RequestResult::Refused(Reason::Busy));
    is_loading.store(false, Ordering::Relaxed);
    test_client.send_until(&read("user1"), &RequestResult::MISSING);
}

#[test]
fn full_memory_refuses_writes_while_reads_go_on() {
    let server = Server::start(&["--maxmemory", "500kb", "--maxmemory-policy", "noeviction"]);
    let mut test_client = test_client(&server.url(""));
    test_client.expect(&insert("user1", &["a"]), RequestResult::Refused(Reason::Full));
    test_client.expect(&update("user1", &["a"]), RequestResult::Refused(Reason::Full));
    test_client.expect(&read("user1"), RequestResult::MISSING);
}

#[test]
fn a_replica_refuses_writes() {
    let primary = Server::start(&[]);
    let port = primary.port.to_string();
    let replica = Server::start(&["--replicaof", "127.0.0.1", &port]);
    let mut test_client = test_client(&replica.url(""));
    test_client.expect(&insert("user1", &["a"]), RequestResult::Refused(Reason::ReadOnly));
    test_client.expect(&read("user1"), RequestResult::MISSING);
}

#[test]
fn another_type_under_the_key_is_reported() {
    let server = Server::start(&[]);
    server.cli("SET user1 text");
    let mut test_client = test_client(&server.url(""));
    test_client.expect(&read("user1"), RequestResult::Refused(Reason::WrongType));
    test_client.expect(&update("user1", &["a"]), RequestResult::Refused(Reason::WrongType));
}

#[test]
fn a_garbled_answer_makes_everything_in_flight_unknown() {
    let port = impostor::listen(|socket| impostor::converse(socket, &[("HGETALL", "what?\r\n")]));
    let mut test_client = test_client(&format!("redis://127.0.0.1:{port}"));
    let tickets = [test_client.start(&read("user1")), test_client.start(&update("user1", &["a"]))];
    let garbled = RequestResult::Unknown(Reason::Garbled);
    assert_eq!(test_client.take(2), tickets.map(|ticket| (ticket, garbled.clone())));
    // The connection was dropped; the next one works until it is garbled in its turn.
    test_client.send_until(&update("user1", &["a"]), &RequestResult::WRITTEN);
}

#[test]
fn an_answer_of_another_shape_is_garbled_too() {
    let answers = [("HGETALL", ":7\r\n"), ("ZRANGEBYSCORE", "*1\r\n:7\r\n"), ("DEL", "+OK\r\n")];
    let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
    let mut test_client = test_client(&format!("redis://127.0.0.1:{port}"));
    let garbled = RequestResult::Unknown(Reason::Garbled);
    test_client.expect(&read("user1"), &garbled);
    test_client.send_until(&update("user1", &["a"]), &RequestResult::WRITTEN);
    test_client.expect(&crate::test_client::scan("user1", 3), &garbled);
    test_client.send_until(&update("user1", &["a"]), &RequestResult::WRITTEN);
    test_client.expect(&delete("user1"), &garbled);
    test_client.send_until(&update("user1", &["a"]), &RequestResult::WRITTEN);
}

#[test]
fn half_an_insert_is_unknown_with_the_reason_of_the_other_half() {
    let answers = [("ZADD", "-OOM command not allowed\r\n")];
    let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
    let result = test_client(&format!("redis://127.0.0.1:{port}")).send(&insert("user1", &["a"]));
    assert_eq!(result, RequestResult::Unknown(Reason::Full));
}

#[test]
fn answers_before_the_end_of_a_connection_count() {
    let answers = [("HGETALL", "%1\r\n+field0\r\n+a\r\n!")];
    let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
    let mut test_client = test_client(&format!("redis://127.0.0.1:{port}"));
    let tickets = [test_client.start(&read("user1")), test_client.start(&update("user1", &["a"]))];
    let expected = [(tickets[0], RequestResult::row("field0=a")), (tickets[1], LOST)];
    assert_eq!(test_client.take(2), expected);
}

#[test]
fn messages_out_of_band_are_no_answers() {
    let answers =
        [("HGETALL", ">2\r\n+invalidate\r\n*0\r\n|1\r\n+ttl\r\n:5\r\n%1\r\n+f\r\n+a\r\n")];
    let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
    let mut test_client = test_client(&format!("redis://127.0.0.1:{port}"));
    test_client.expect(&read("user1"), RequestResult::row("f=a"));
    test_client.expect(&update("user1", &["a"]), RequestResult::WRITTEN);
}
