//! What requests become when the server fails, or forgets its tables.

use std::time::Duration;

use assay_model::Reason;

use super::{asker, start};
use crate::asker::{Told, insert, read};

const LOST: Told = Told::Unknown(Reason::ConnectionLost);
const UNREACHABLE: Told = Told::Refused(Reason::Unreachable);

#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut cluster = start();
    let mut asker = asker(&cluster.url("?connections=2"));
    assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    assert_eq!(asker.ask(&read("user1")), Told::row("field0=a field1=b"));
    cluster.freeze(1);
    let sent = [asker.start(&read("user1")), asker.start(&insert("user2", &["b", "c"]))];
    assert_eq!(asker.drain_for(Duration::from_millis(100)), []);
    assert!(!asker.is_ready());
    cluster.kill(1);
    let mut answers = asker.take(2);
    answers.sort_by_key(|(ticket, _)| ticket.0);
    assert_eq!(answers, sent.map(|ticket| (ticket, LOST)));
    asker.ask_until(&read("user1"), &UNREACHABLE);
    cluster.restart(1);
    // It kept everything in memory, its tables too.
    asker.ask_until(&read("user1"), &Told::Refused(Reason::Malformed));
}

#[test]
fn a_connection_that_broke_while_it_was_idle_sends_nothing() {
    let mut cluster = start();
    let mut asker = asker(&cluster.url("?connections=1"));
    assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    cluster.kill(1);
    assert_eq!(asker.drain_for(Duration::from_millis(50)), []);
    assert_eq!(asker.ask(&insert("user1", &["a", "b"])), UNREACHABLE);
}

#[test]
fn a_frozen_server_keeps_requests_waiting_until_it_goes_on() {
    let mut cluster = start();
    let mut asker = asker(&cluster.url("?connections=1&connect_timeout=300"));
    assert_eq!(asker.ask(&insert("user0", &["a", "b"])), Told::WRITTEN);
    cluster.freeze(1);
    let first = asker.start(&insert("user1", &["a", "b"]));
    assert!(!asker.is_ready());
    assert_eq!(asker.drain_for(Duration::from_millis(100)), []);
    cluster.thaw(1);
    assert_eq!(asker.take(1), [(first, Told::WRITTEN)]);
    cluster.freeze(1);
    // Given up by us, then by the pool: the connection is of no use any more.
    let given_up = asker.start(&read("user1"));
    asker.abandon(given_up);
    assert_eq!(asker.take(1), [(given_up, LOST)]);
    asker.ask_until(&read("user1"), &UNREACHABLE);
    cluster.thaw(1);
    asker.ask_until(&read("user1"), &Told::row("field0=a field1=b"));
}
