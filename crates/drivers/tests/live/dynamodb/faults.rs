//! Tests of outcomes when the server fails, or loses its tables.

use std::time::Duration;

use assay_model::Reason;

use super::{start, test_client};
use crate::test_client::{RequestResult, insert, read};

const LOST: RequestResult = RequestResult::Unknown(Reason::ConnectionLost);
const UNREACHABLE: RequestResult = RequestResult::Refused(Reason::Unreachable);

#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut cluster = start();
    let mut test_client = test_client(&cluster.url("?connections=2"));
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    cluster.freeze(1);
    let sent =
        [test_client.start(&read("user1")), test_client.start(&insert("user2", &["b", "c"]))];
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
    assert!(!test_client.is_ready());
    cluster.kill(1);
    let mut answers = test_client.take(2);
    answers.sort_by_key(|(ticket, _)| ticket.0);
    assert_eq!(answers, sent.map(|ticket| (ticket, LOST)));
    test_client.send_until(&read("user1"), &UNREACHABLE);
    cluster.restart(1);
    // It kept everything in memory, its tables too.
    test_client.send_until(&read("user1"), &RequestResult::Refused(Reason::Malformed));
}

#[test]
fn a_connection_that_broke_while_it_was_idle_sends_nothing() {
    let mut cluster = start();
    let mut test_client = test_client(&cluster.url("?connections=1"));
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    cluster.kill(1);
    assert_eq!(test_client.drain_for(Duration::from_millis(50)), []);
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), UNREACHABLE);
}

#[test]
fn a_frozen_server_keeps_requests_waiting_until_it_goes_on() {
    let mut cluster = start();
    let mut test_client = test_client(&cluster.url("?connections=1&connect_timeout=300"));
    assert_eq!(test_client.send(&insert("user0", &["a", "b"])), RequestResult::WRITTEN);
    cluster.freeze(1);
    let first = test_client.start(&insert("user1", &["a", "b"]));
    assert!(!test_client.is_ready());
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
    cluster.thaw(1);
    assert_eq!(test_client.take(1), [(first, RequestResult::WRITTEN)]);
    cluster.freeze(1);
    // Given up by us, then by the pool: the connection is of no use any more.
    let given_up = test_client.start(&read("user1"));
    test_client.abandon(given_up);
    assert_eq!(test_client.take(1), [(given_up, LOST)]);
    test_client.send_until(&read("user1"), &UNREACHABLE);
    cluster.thaw(1);
    test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
}
