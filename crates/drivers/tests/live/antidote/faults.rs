//! Servers that fail in the middle: what is refused, what is unknown, and what comes after it.

use assay_model::{Kind, Reason};

use super::start;
use crate::antidote_stand_in::{Fault, StandIn};
use crate::ordeal::{Mortal, Served};
use crate::rows::test_rows;
use crate::stores::test_client;
use crate::test_client::{RequestResult, TestClient, insert, read, update};

impl Served for StandIn {
    fn url(&self, rest: &str) -> String {
        format!("{}{rest}", StandIn::url(self))
    }
}

impl Mortal for StandIn {
    fn freeze(&mut self) {
        StandIn::freeze(self);
    }

    fn thaw(&mut self) {
        StandIn::thaw(self);
    }

    fn kill(&mut self) {
        StandIn::kill(self);
    }

    fn restart(&mut self) {
        StandIn::restart(self);
    }
}

const REFUSED: fn(Reason) -> RequestResult = RequestResult::Refused;
const UNKNOWN: fn(Reason) -> RequestResult = RequestResult::Unknown;

/// Answers that are none: cut, huge, of another code, garbage, too long for what they say.
const GARBLED: [&[u8]; 6] = [
    b"\0\0\0\0",
    b"\xff\xff\xff\xff\x7f",
    b"\0\0\0\x01\xc8",
    b"\0\0\0\x04\x7f\xff\xff\xff",
    b"\0\0\0\x04\x80\xff\xff\xff",
    b"\0\0\0\x03\x80\x08\x01more",
];

fn with_one(stand_in: &StandIn, connections: usize) -> TestClient {
    let mut test_client = test_client(&format!("{}?connections={connections}", stand_in.url()));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client
}

fn there() -> RequestResult {
    RequestResult::row("field0=a field1=b")
}

test_rows! { ordeal, start();
    a_killed_server_leaves_what_was_sent_unknown("?connections=2");
    a_frozen_server_keeps_requests_waiting_until_it_goes_on("?connections=1");
    acknowledged_writes_survive_kill_9("?connections=4", 200);
}

#[test]
fn a_single_request_fails_as_the_table_says() {
    use Reason::{Conflict, ConnectionLost, NotPermitted, StoreError, Timeout};
    let stand_in = start();
    let mut test_client = with_one(&stand_in, 1);
    for (fault, to_write, to_read) in [
        (Fault::Error, UNKNOWN(StoreError), REFUSED(StoreError)),
        (Fault::Denied(0), UNKNOWN(StoreError), REFUSED(StoreError)),
        (Fault::Denied(1), UNKNOWN(Timeout), REFUSED(Timeout)),
        (Fault::Denied(2), REFUSED(NotPermitted), REFUSED(NotPermitted)),
        (Fault::Denied(3), REFUSED(Conflict), REFUSED(Conflict)),
        (Fault::Close, UNKNOWN(ConnectionLost), UNKNOWN(ConnectionLost)),
    ] {
        stand_in.fault(122, fault);
        assert_eq!(test_client.send(&update("user1", &["c"])), to_write, "{fault:?}");
        test_client.send_until(&read("user1"), &there());
        stand_in.fault(123, fault);
        assert_eq!(test_client.send(&read("user1")), to_read, "{fault:?}");
        test_client.send_until(&read("user1"), &there());
    }
    // It was carried out all the same.
    stand_in.fault(122, Fault::CloseAfterwards);
    test_client.expect(&update("user1", &["c"]), UNKNOWN(ConnectionLost));
    test_client.send_until(&read("user1"), &RequestResult::row("field0=c field1=b"));
}

#[test]
fn a_step_of_a_transaction_fails_and_nothing_of_it_is_there() {
    use Reason::{ConnectionLost, Garbled, StoreError};
    let stand_in = start();
    let mut test_client = with_one(&stand_in, 2);
    for (fault, reason) in [
        (Fault::Error, StoreError),
        (Fault::Denied(0), StoreError),
        (Fault::Close, ConnectionLost),
        (Fault::Bytes(b"\0\0\0\x01\xc8"), Garbled),
    ] {
        for code in [119, 118] {
            test_client.begin(1);
            stand_in.fault(code, fault);
            let result = test_client.send(&update("user1", &["c"]).of(1));
            assert_eq!(result, REFUSED(reason), "{code}: {fault:?}");
            let ended = test_client.end(1, Kind::Commit);
            assert_eq!(ended, REFUSED(Reason::TransactionFailed), "{code}: {fault:?}");
            test_client.send_until(&read("user1"), &there());
        }
    }
    // A read is as unknown within a transaction as alone.
    test_client.begin(1);
    stand_in.fault(116, Fault::Close);
    test_client.expect(&read("user1").of(1), UNKNOWN(ConnectionLost));
    test_client.begin(1);
    stand_in.fault(116, Fault::Error);
    test_client.send_until(&read("user1"), &there());
    test_client.expect(&read("user1").of(1), REFUSED(StoreError));
}

#[test]
fn a_commit_without_its_answer_is_unknown() {
    use Reason::{ConnectionLost, Garbled, StoreError, Timeout};
    let stand_in = start();
    let mut test_client = with_one(&stand_in, 2);
    for (fault, expected) in [
        (Fault::Error, UNKNOWN(StoreError)),
        (Fault::Denied(0), UNKNOWN(StoreError)),
        (Fault::Denied(1), UNKNOWN(Timeout)),
        (Fault::Denied(3), REFUSED(Reason::Conflict)),
        (Fault::Close, UNKNOWN(ConnectionLost)),
        (Fault::Bytes(b"\0\0\0\x01\xc8"), UNKNOWN(Garbled)),
        (Fault::CloseAfterwards, UNKNOWN(ConnectionLost)),
    ] {
        test_client.begin(1);
        let written = test_client.send(&update("user1", &["c"]).of(1));
        assert_eq!(written, RequestResult::WRITTEN, "{fault:?}");
        stand_in.fault(121, fault);
        assert_eq!(test_client.end(1, Kind::Commit), expected, "{fault:?}");
        let is_there = fault == Fault::CloseAfterwards;
        let row = if is_there { RequestResult::row("field0=c field1=b") } else { there() };
        test_client.send_until(&read("user1"), &row);
    }
}

#[test]
fn a_rollback_without_its_answer_has_happened() {
    let stand_in = start();
    let mut test_client = with_one(&stand_in, 2);
    for fault in [Fault::Error, Fault::Close, Fault::Denied(0)] {
        test_client.begin(1);
        test_client.expect(&update("user1", &["c"]).of(1), RequestResult::WRITTEN);
        stand_in.fault(120, fault);
        assert_eq!(test_client.end(1, Kind::Rollback), RequestResult::WRITTEN, "{fault:?}");
        test_client.send_until(&read("user1"), &there());
    }
}

#[test]
fn answers_that_are_none_are_garbled_and_take_no_memory() {
    let stand_in = start();
    let mut test_client = with_one(&stand_in, 1);
    for bytes in GARBLED {
        stand_in.fault(123, Fault::Bytes(bytes));
        let result = test_client.send(&read("user1"));
        assert_eq!(result, UNKNOWN(Reason::Garbled), "{bytes:?}");
        test_client.send_until(&read("user1"), &there());
        stand_in.fault(122, Fault::Bytes(bytes));
        let result = test_client.send(&update("user1", &["a"]));
        assert!(matches!(result, RequestResult::Unknown(_)), "{bytes:?}: {result:?}");
        test_client.send_until(&read("user1"), &there());
    }
    // 60 MiB are announced, and three bytes come: room is made for what comes.
    let before = resident();
    stand_in.fault(123, Fault::Bytes(b"\x03\xc0\0\0\x80\x08\x01"));
    test_client.expect(&read("user1"), UNKNOWN(Reason::ConnectionLost));
    let grown = resident().saturating_sub(before);
    assert!(grown < 30 << 20, "{grown} bytes more");
}

/// The memory of this process in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

#[test]
fn a_request_that_gets_no_answer_is_given_up_with_its_connection() {
    let stand_in = start();
    let mut test_client = with_one(&stand_in, 1);
    stand_in.fault(123, Fault::Silence);
    let ticket = test_client.start(&read("user1"));
    test_client.drain_for(std::time::Duration::from_millis(20));
    test_client.abandon(ticket);
    assert_eq!(test_client.take(1), [(ticket, UNKNOWN(Reason::ConnectionLost))]);
    test_client.send_until(&read("user1"), &there());
}

#[test]
fn a_key_that_others_have_used_as_another_type_is_an_error_of_the_store() {
    let stand_in = start();
    let mut test_client = with_one(&stand_in, 1);
    // One key under two types in one bucket: the server fails every later read of it, and a static
    // read by closing the connection.
    stand_in.assign_register("assay", "usertable/user1", "x");
    test_client.expect(&read("user1"), UNKNOWN(Reason::ConnectionLost));
    test_client.send_until(&read("user2"), &RequestResult::MISSING);
    test_client.begin(1);
    test_client.expect(&read("user1").of(1), REFUSED(Reason::StoreError));
}
