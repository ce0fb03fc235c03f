//! What requests become when the server fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_model::Reason;
use assay_store::Ticket;

use super::{asker, store};
use crate::asker::{Asker, Told, delete, insert, read, update};
use crate::impostor;
use crate::ordeal::{LOST, UNREACHABLE, answers_in_order};
use crate::server::Server;

#[test]
fn ten_thousand_requests_in_flight_are_answered_in_order() {
    let server = Server::start(&[]);
    answers_in_order(&mut asker(&server.url("?depth=10000")), 10_000);
}

#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut server = Server::start(&[]);
    let mut asker = asker(&server.url(""));
    assert_eq!(asker.ask(&insert("user1", &["a"])), Told::WRITTEN);
    server.freeze();
    let sent = [
        asker.start(&read("user1")),
        asker.start(&insert("u2", &["b"])),
        asker.start(&delete("u")),
    ];
    asker.poll();
    server.kill();
    assert_eq!(asker.take(3), sent.map(|ticket| (ticket, LOST)));
    assert_eq!(asker.ask(&read("user1")), UNREACHABLE);
    assert_eq!(asker.drain_for(Duration::from_millis(100)), []);
    assert_eq!(asker.ask(&read("user1")), UNREACHABLE);
    assert!(asker.is_ready());

    server.restart();
    asker.ask_until(&read("user1"), &Told::MISSING);
    assert_eq!(asker.ask(&insert("user1", &["b"])), Told::WRITTEN);
}

#[test]
fn what_never_left_is_refused() {
    let mut server = Server::start(&[]);
    let mut asker = asker(&server.url(""));
    server.freeze();
    let big = "x".repeat(1_000_000);
    let tickets: Vec<Ticket> = (0..100).map(|_| asker.start(&update("user1", &[&big]))).collect();
    assert_eq!(asker.drain_for(Duration::from_millis(50)), []);
    server.kill();
    let answers = asker.take(100);
    let sent = answers.iter().take_while(|(_, told)| *told == LOST).count();
    assert!(sent > 0 && sent < 100, "{sent} of 100 MB fitted into the socket");
    for (place, (ticket, told)) in answers.iter().enumerate() {
        assert_eq!(*ticket, tickets[place]);
        assert_eq!(*told, if place < sent { LOST } else { UNREACHABLE }, "{place}");
    }
}

#[test]
fn an_idle_client_notices_that_the_server_is_gone() {
    let mut server = Server::start(&[]);
    let mut asker = asker(&server.url("?connections=2"));
    server.kill();
    assert_eq!(asker.drain_for(Duration::from_millis(50)), []);
    assert_eq!(asker.ask(&read("user1")), UNREACHABLE);
}

#[test]
fn a_password_with_a_database_is_given_again_after_a_restart() {
    let mut server = Server::start(&["--requirepass", "pw"]);
    let mut asker = asker(&format!("redis://:pw@127.0.0.1:{}/5", server.port));
    server.kill();
    asker.ask_until(&read("user1"), &UNREACHABLE);
    server.restart();
    asker.ask_until(&insert("user1", &["a"]), &Told::WRITTEN);
    assert_eq!(server.cli(&["--no-auth-warning", "-a", "pw", "-n", "5", "DBSIZE"]), "2");
}

#[test]
fn a_tls_connection_comes_back_too() {
    let mut server = Server::start_tls();
    let ca = server.folder().join("ca.crt");
    let mut asker = asker(&server.url(&format!("?ca_file={}", ca.display())));
    assert_eq!(asker.ask(&insert("user1", &["a"])), Told::WRITTEN);
    server.kill();
    asker.ask_until(&read("user1"), &UNREACHABLE);
    server.restart();
    asker.ask_until(&read("user1"), &Told::MISSING);
}

#[test]
fn a_frozen_server_keeps_requests_waiting_until_it_goes_on() {
    let server = Server::start(&[]);
    let mut asker = asker(&server.url("?depth=2"));
    server.freeze();
    let first = asker.start(&insert("user1", &["a"]));
    let second = asker.start(&read("user1"));
    assert!(!asker.is_ready());
    assert_eq!(asker.drain_for(Duration::from_millis(100)), []);
    asker.abandon(first);
    asker.abandon(second);
    assert_eq!(asker.drain_for(Duration::from_millis(20)), []);
    server.thaw();
    // The answers still come, as they may; the session's order holds.
    let expected = [(first, Told::WRITTEN), (second, Told::row("field0=a"))];
    assert_eq!(asker.take(2), expected);
    assert!(asker.is_ready());
}

#[test]
fn a_connection_that_stays_silent_after_patience_has_ended_is_given_up() {
    let server = Server::start(&[]);
    let mut asker = asker(&server.url(""));
    server.freeze();
    let first = asker.start(&insert("user1", &["a"]));
    let second = asker.start(&read("user1"));
    asker.abandon(first);
    let lost = Told::Unknown(Reason::ConnectionLost);
    assert_eq!(asker.take(2), [(first, lost.clone()), (second, lost)]);
    server.thaw();
    asker.ask_until(&insert("user2", &["a"]), &Told::WRITTEN);
}

#[test]
fn a_connection_that_goes_silent_after_late_answers_is_given_up() {
    let answers = [("HGETALL", "*0\r\n"), ("DEL", ""), ("ZREM", "")];
    let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
    let mut asker = asker(&format!("redis://127.0.0.1:{port}"));
    let answered = asker.start(&read("user1"));
    let silent = asker.start(&delete("user1"));
    // Patience with the second ends while the first is the oldest.
    asker.abandon(answered);
    asker.abandon(silent);
    let lost = Told::Unknown(Reason::ConnectionLost);
    assert_eq!(asker.take(2), [(answered, Told::MISSING), (silent, lost)]);
}

#[test]
fn a_server_that_is_there_and_does_not_serve_says_why() {
    let is_loading = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_loading);
    let port = impostor::listen(move |socket| match flag.load(Ordering::Relaxed) {
        true => impostor::converse(socket, &[("PING", "-LOADING the dataset\r\n!")]),
        false => impostor::converse(socket, &[("HGETALL", "*0\r\n"), ("DEL", "-ERR no\r\n!")]),
    });
    let mut asker = asker(&format!("redis://127.0.0.1:{port}"));
    assert_eq!(asker.ask(&read("user1")), Told::MISSING);
    is_loading.store(true, Ordering::Relaxed);
    asker.ask(&delete("user1"));
    asker.ask_until(&read("user1"), &Told::Refused(Reason::Busy));
    is_loading.store(false, Ordering::Relaxed);
    asker.ask_until(&read("user1"), &Told::MISSING);
}

#[test]
fn full_memory_refuses_writes_while_reads_go_on() {
    let server = Server::start(&["--maxmemory", "500kb", "--maxmemory-policy", "noeviction"]);
    let mut asker = asker(&server.url(""));
    assert_eq!(asker.ask(&insert("user1", &["a"])), Told::Refused(Reason::Full));
    assert_eq!(asker.ask(&update("user1", &["a"])), Told::Refused(Reason::Full));
    assert_eq!(asker.ask(&read("user1")), Told::MISSING);
}

#[test]
fn a_replica_refuses_writes() {
    let primary = Server::start(&[]);
    let port = primary.port.to_string();
    let replica = Server::start(&["--replicaof", "127.0.0.1", &port]);
    let mut asker = asker(&replica.url(""));
    assert_eq!(asker.ask(&insert("user1", &["a"])), Told::Refused(Reason::ReadOnly));
    assert_eq!(asker.ask(&read("user1")), Told::MISSING);
}

#[test]
fn another_type_under_the_key_is_told() {
    let server = Server::start(&[]);
    server.cli(&["SET", "user1", "text"]);
    let mut asker = asker(&server.url(""));
    assert_eq!(asker.ask(&read("user1")), Told::Refused(Reason::WrongType));
    assert_eq!(asker.ask(&update("user1", &["a"])), Told::Refused(Reason::WrongType));
}

#[test]
fn a_garbled_answer_makes_everything_in_flight_unknown() {
    let port = impostor::listen(|socket| impostor::converse(socket, &[("HGETALL", "what?\r\n")]));
    let mut asker = asker(&format!("redis://127.0.0.1:{port}"));
    let tickets = [asker.start(&read("user1")), asker.start(&update("user1", &["a"]))];
    let garbled = Told::Unknown(Reason::Garbled);
    assert_eq!(asker.take(2), tickets.map(|ticket| (ticket, garbled.clone())));
    // The connection was dropped; the next one works until it is garbled in its turn.
    asker.ask_until(&update("user1", &["a"]), &Told::WRITTEN);
}

#[test]
fn an_answer_of_another_shape_is_garbled_too() {
    let answers = [("HGETALL", ":7\r\n"), ("ZRANGEBYSCORE", "*1\r\n:7\r\n"), ("DEL", "+OK\r\n")];
    let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
    let mut asker = asker(&format!("redis://127.0.0.1:{port}"));
    let garbled = Told::Unknown(Reason::Garbled);
    assert_eq!(asker.ask(&read("user1")), garbled);
    asker.ask_until(&update("user1", &["a"]), &Told::WRITTEN);
    assert_eq!(asker.ask(&crate::asker::scan("user1", 3)), garbled);
    asker.ask_until(&update("user1", &["a"]), &Told::WRITTEN);
    assert_eq!(asker.ask(&delete("user1")), garbled);
    asker.ask_until(&update("user1", &["a"]), &Told::WRITTEN);
}

#[test]
fn half_an_insert_is_unknown_with_the_reason_of_the_other_half() {
    let answers = [("ZADD", "-OOM command not allowed\r\n")];
    let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
    let told = asker(&format!("redis://127.0.0.1:{port}")).ask(&insert("user1", &["a"]));
    assert_eq!(told, Told::Unknown(Reason::Full));
}

#[test]
fn answers_before_the_end_of_a_connection_count() {
    let answers = [("HGETALL", "%1\r\n+field0\r\n+a\r\n!")];
    let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
    let mut asker = Asker::open(&store(&format!("redis://127.0.0.1:{port}"))).unwrap();
    let tickets = [asker.start(&read("user1")), asker.start(&update("user1", &["a"]))];
    let expected = [(tickets[0], Told::row("field0=a")), (tickets[1], LOST)];
    assert_eq!(asker.take(2), expected);
}

#[test]
fn messages_out_of_band_are_no_answers() {
    let answers =
        [("HGETALL", ">2\r\n+invalidate\r\n*0\r\n|1\r\n+ttl\r\n:5\r\n%1\r\n+f\r\n+a\r\n")];
    let port = impostor::listen(move |socket| impostor::converse(socket, &answers));
    let mut asker = asker(&format!("redis://127.0.0.1:{port}"));
    assert_eq!(asker.ask(&read("user1")), Told::row("f=a"));
    assert_eq!(asker.ask(&update("user1", &["a"])), Told::WRITTEN);
}
