//! Tests of outcomes when the server fails, refuses, or ends a transaction.

use std::time::Duration;

use assay_lab::{Order, recipes};
use assay_model::{Datum, Decimal, Kind, Reason};
use assay_store::conformance::queries::{Caller, QueryAnswer, catalogue};
use assay_store::{Existing, Step};

use super::server::Server;
use crate::lab::{Cluster, now};
use crate::ordeal::LOST;
use crate::rows::test_rows;
use crate::stores::{store, test_client};
use crate::test_client::{RequestResult, insert, read, update};

/// Queries of the suite's bank: open an account, read it, raise its balance.
const OPEN: u16 = 2;
const ACCOUNT: u16 = 3;
const DEPOSIT: u16 = 9;

fn cents(mantissa: i64) -> Datum<'static> {
    Datum::Decimal(Decimal { mantissa, scale: 2 })
}

fn account(number: i64) -> [Datum<'static>; 4] {
    [Datum::Int(1), Datum::Int(number), Datum::Text("Ann"), cents(100)]
}

fn deposit(number: i64) -> [Datum<'static>; 3] {
    [cents(100), Datum::Int(1), Datum::Int(number)]
}

/// A conversation with an empty bank.
fn bank(url: &str) -> Caller {
    let store = store(url);
    let prepared = store.prepare_queries(&catalogue().into(), Existing::Replace);
    prepared.expect("the server takes the bank");
    Caller::open(&*store, 0).expect("the server is there")
}

test_rows! { ordeal, Server::start(&[]);
    a_killed_server_leaves_what_was_sent_unknown("?connections=2");
    a_frozen_server_keeps_requests_waiting_until_it_goes_on("?connections=1");
    acknowledged_writes_survive_kill_9("?connections=8", 500);
}

#[test]
fn transactions_survive_kill_9_whole_or_not_at_all() {
    let mut server = Server::start(&[]);
    let url = server.url("?connections=2");
    let mut caller = bank(&url);
    assert_eq!(caller.send(0, OPEN, &account(0)), QueryAnswer::WRITTEN);
    let mut committed = Vec::new();
    for number in 1..=40 {
        assert_eq!(caller.begin(1, OPEN, &account(number)), QueryAnswer::WRITTEN);
        if number == 40 {
            server.kill();
        }
        let received = caller.send(1, DEPOSIT, &deposit(0));
        if number == 40 {
            assert_eq!(received, QueryAnswer::Unknown(Reason::ConnectionLost));
            break;
        }
        assert_eq!(received, QueryAnswer::WRITTEN);
        assert_eq!(caller.end(1, Step::Commit), QueryAnswer::WRITTEN);
        committed.push(number);
    }
    server.restart();
    let again = store(&url);
    again.prepare_queries(&catalogue().into(), Existing::Use).unwrap();
    let mut caller = Caller::open(&*again, 0).unwrap();
    let at = |number| [Datum::Int(1), Datum::Int(number)];
    for number in committed {
        assert_eq!(caller.send(0, ACCOUNT, &at(number)), QueryAnswer::rows(&["'Ann' 1"]));
    }
    assert_eq!(caller.send(0, ACCOUNT, &at(40)), QueryAnswer::MISSING);
    assert_eq!(caller.send(0, ACCOUNT, &at(0)), QueryAnswer::rows(&["'Ann' 40"]));
}

#[test]
fn a_commit_whose_answer_is_lost_is_unknown() {
    let mut server = Server::start(&[]);
    let mut caller = bank(&server.url("?connections=2"));
    assert_eq!(caller.begin(1, OPEN, &account(1)), QueryAnswer::WRITTEN);
    server.freeze();
    let commit = caller.start_end(1, Step::Commit).unwrap();
    caller.pass(5);
    server.kill();
    assert_eq!(caller.take(), Some((commit, QueryAnswer::Unknown(Reason::ConnectionLost))));
}

#[test]
fn a_lock_waited_for_too_long_undoes_the_whole_transaction() {
    let server = Server::start(&["--innodb-lock-wait-timeout=1"]);
    let mut caller = bank(&server.url("?connections=3"));
    for number in [1, 2] {
        assert_eq!(caller.send(0, OPEN, &account(number)), QueryAnswer::WRITTEN);
    }
    assert_eq!(caller.begin(1, DEPOSIT, &deposit(1)), QueryAnswer::WRITTEN);
    assert_eq!(caller.begin(2, DEPOSIT, &deposit(2)), QueryAnswer::WRITTEN);
    assert_eq!(caller.send(2, DEPOSIT, &deposit(1)), QueryAnswer::Refused(Reason::Conflict));
    assert_eq!(caller.end(1, Step::Commit), QueryAnswer::WRITTEN);
    let at = |number| [Datum::Int(1), Datum::Int(number)];
    assert_eq!(caller.send(0, ACCOUNT, &at(1)), QueryAnswer::rows(&["'Ann' 2"]));
    assert_eq!(caller.send(0, ACCOUNT, &at(2)), QueryAnswer::rows(&["'Ann' 1"]));
}

#[test]
fn a_connection_that_the_server_ends_is_made_anew() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url("?connections=1"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    let threads = "SELECT id FROM information_schema.processlist WHERE user = 'root' \
                   AND id <> CONNECTION_ID() AND db = 'test'";
    server.sql(&format!("KILL {}", server.sql(threads)));
    test_client.expect(&read("user1"), LOST);
    test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
}

#[test]
fn a_server_that_refuses_writes_or_permission_says_so() {
    let server = Server::start(&[]);
    server.sql("CREATE USER ann IDENTIFIED BY 'pw'; GRANT CREATE, SELECT, INSERT ON test.* TO ann");
    let url = format!("mysql://ann:pw@127.0.0.1:{}/test?connections=1", server.port);
    let mut test_client = test_client(&url);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&update("user1", &["c"]), RequestResult::Refused(Reason::NotPermitted));
    server.sql("SET GLOBAL read_only = 1");
    test_client.expect(&insert("user2", &["a", "b"]), RequestResult::Refused(Reason::ReadOnly));
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    test_client.expect(&read("user2"), RequestResult::MISSING);
}

#[test]
fn a_row_that_does_not_fit_is_refused_as_a_whole() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url("?connections=1"));
    let long = "k".repeat(300);
    test_client.expect(&insert(&long, &["a", "b"]), RequestResult::Refused(Reason::Malformed));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&insert("user1", &["c", "d"]), RequestResult::Refused(Reason::Exists));
    let nothing = crate::test_client::TestRequest { kind: Kind::Update, ..read("user1") };
    test_client.expect(&nothing, RequestResult::Refused(Reason::Malformed));
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
}

#[test]
fn a_commit_waits_for_a_replica_behind_a_cut_link() {
    let recipe = recipes::find("mariadb").expect("the lab has it");
    let order = Order::of(recipe).nodes(2).choose("commit", "replicated");
    let mut cluster = Cluster::start_as(&Order { peer_proxy: Some(now), ..order });
    let mut test_client = test_client(&cluster.url("?connections=1"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    assert_eq!(cluster.inject("blackhole peers of 2"), [2]);
    test_client.start(&insert("user2", &["a", "b"]));
    assert_eq!(test_client.drain_for(Duration::from_millis(500)), [], "no replica has it");
    assert_eq!(cluster.inject("heal"), [1, 2]);
    let (_, result) = test_client.take(1).remove(0);
    assert_eq!(result, RequestResult::WRITTEN);
}
