//! Tests of outcomes when the server fails, refuses, or waits.

use std::sync::Arc;
use std::time::Duration;

use assay_model::{Datum, Reason};
use assay_store::conformance::queries::{Caller, QueryAnswer, catalogue};
use assay_store::{Existing, Step};

use super::server::Server;
use crate::ordeal::{LOST, UNREACHABLE};
use crate::rows::test_rows;
use crate::stores::{store, test_client};
use crate::test_client::{RequestResult, insert, read, update};

/// The numbers of two queries of the suite's catalogue.
const OPEN: u16 = 2;
const ACCOUNT: u16 = 3;

/// A conversation in queries; the relations are new.
fn caller(server: &Server, rest: &str) -> Caller {
    let store = store(&server.url(rest));
    let prepared = store.prepare_queries(&Arc::new(catalogue()), Existing::Replace);
    prepared.and_then(|()| Caller::open(&*store, 0)).expect("the server is there")
}

fn account(number: i64) -> [Datum<'static>; 4] {
    [Datum::Int(1), Datum::Int(number), Datum::Text("Ann"), Datum::Int(1)]
}

#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut server = Server::start(&[]);
    let mut test_client = test_client(&server.url("?connections=2"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    server.freeze();
    let sent = [test_client.start(&read("user1")), test_client.start(&update("user1", &["c"]))];
    assert!(!test_client.is_ready());
    assert_eq!(test_client.drain_for(Duration::from_millis(50)), []);
    server.kill();
    let mut answers = test_client.take(2);
    answers.sort_by_key(|(ticket, _)| ticket.0);
    assert_eq!(answers, sent.map(|ticket| (ticket, LOST)));
    test_client.expect(&read("user1"), UNREACHABLE);
    assert!(test_client.is_ready());

    server.restart();
    test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
}

test_rows! { ordeal, Server::start(&[]);
    an_idle_client_notices_that_the_server_is_gone("?connections=2");
    a_frozen_server_keeps_requests_waiting_until_it_goes_on("?connections=1");
}

#[test]
fn a_commit_whose_answer_is_lost_is_unknown() {
    let mut server = Server::start(&[]);
    let mut caller = caller(&server, "?connections=1");
    assert_eq!(caller.begin(1, OPEN, &account(1)), QueryAnswer::WRITTEN);
    server.freeze();
    let commit = caller.start_end(1, Step::Commit).unwrap();
    caller.pass(10);
    server.kill();
    assert_eq!(caller.take(), Some((commit, QueryAnswer::Unknown(Reason::ConnectionLost))));
}

#[test]
fn a_transaction_whose_server_dies_before_its_commit_is_refused() {
    let mut server = Server::start(&[]);
    let mut caller = caller(&server, "?connections=1");
    assert_eq!(caller.begin(1, OPEN, &account(1)), QueryAnswer::WRITTEN);
    server.kill();
    caller.pass(10);
    assert_eq!(caller.end(1, Step::Commit), QueryAnswer::Refused(Reason::Unreachable));
    server.restart();
    let account = [Datum::Int(1), Datum::Int(1)];
    for _ in 0..200 {
        match caller.send(1, ACCOUNT, &account) {
            QueryAnswer::Done { found: false, .. } => return,
            other => assert_eq!(other, QueryAnswer::Refused(Reason::Unreachable)),
        }
        caller.pass(10);
    }
    panic!("the connection was never made anew");
}

/// Whatever was answered as done is there afterwards, whenever the server was killed.
#[test]
fn what_was_committed_survives_a_server_killed_in_the_midst() {
    let mut server = Server::start(&[]);
    let mut talk = caller(&server, "?connections=4");
    let mut committed = Vec::new();
    for number in 0..40 {
        if number == 30 {
            // Between two steps of a transaction that was begun.
            assert_eq!(talk.begin(9, OPEN, &account(1_000)), QueryAnswer::WRITTEN);
            server.kill();
        }
        let began = talk.begin(1, OPEN, &account(number));
        match (began, talk.end(1, Step::Commit)) {
            (QueryAnswer::Done { .. }, QueryAnswer::Done { .. }) => committed.push(number),
            (_, QueryAnswer::Done { .. }) => panic!("{number}: a commit of nothing was done"),
            _ => assert!(number >= 30, "{number} failed before the server did"),
        }
    }
    assert_eq!(committed, (0..30).collect::<Vec<i64>>());
    server.restart();
    assert_eq!(server.sql("SELECT count(*) FROM account"), "30");
}

#[test]
fn a_connection_that_the_server_ends_is_made_anew() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url("?connections=1"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    let ours = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                WHERE application_name = 'assay'";
    // The connection that prepared may not be gone yet.
    assert!(server.sql(ours).lines().any(|line| line == "t"));
    assert_eq!(test_client.drain_for(Duration::from_millis(5)), []);
    test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
}

#[test]
fn a_server_that_is_read_only_refuses_writes() {
    let server = Server::start(&[]);
    let mut first = test_client(&server.url(""));
    first.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    server.sql("ALTER SYSTEM SET default_transaction_read_only = on");
    server.sql("SELECT pg_reload_conf()");
    first.send_until(&insert("user2", &["a", "b"]), &RequestResult::Refused(Reason::ReadOnly));
    first.expect(&update("user1", &["c"]), RequestResult::Refused(Reason::ReadOnly));
    first.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
}

#[test]
fn waits_that_the_server_bounds_are_refused() {
    let server = Server::start(&[]);
    server.sql("ALTER SYSTEM SET lock_timeout = '50ms'");
    server.sql("SELECT pg_reload_conf()");
    let mut caller = caller(&server, "?connections=2");
    assert_eq!(caller.begin(1, OPEN, &account(1)), QueryAnswer::WRITTEN);
    // The same key, not committed: it waits for the other one's end.
    assert_eq!(caller.send(2, OPEN, &account(1)), QueryAnswer::Refused(Reason::Busy));
    assert!(caller.end(1, Step::Commit).is_done());
    assert_eq!(caller.send(2, OPEN, &account(1)), QueryAnswer::Refused(Reason::Exists));
}

#[test]
fn values_that_do_not_fit_are_malformed() {
    let server = Server::start(&[]);
    let mut caller = caller(&server, "");
    let malformed = QueryAnswer::Refused(Reason::Malformed);
    let long = "x".repeat(21);
    let [branch, number, owner, balance] = account(1);
    let wrong = [
        [branch, number, Datum::Text(&long), balance],
        [branch, Datum::Null, owner, balance],
        [branch, Datum::Int(1 << 40), owner, balance],
        [branch, Datum::Text("1"), owner, balance],
        [branch, number, Datum::Text("a\0b"), balance],
        [branch, number, owner, Datum::Int(10_000_000_000)],
    ];
    for arguments in wrong {
        assert_eq!(caller.send(1, OPEN, &arguments), malformed, "{arguments:?}");
        assert_eq!(caller.begin(1, OPEN, &arguments), malformed, "{arguments:?}");
    }
    assert_eq!(caller.send(1, OPEN, &account(1)), QueryAnswer::WRITTEN);
}
