//! The AntidoteDB driver against a stand-in, which speaks its protocol without being AntidoteDB.
//!
//! AntidoteDB cannot be had from the package clients that the lab uses. The stand-in was written
//! after recorded answers of a live server, with an encoding of its own; clients of others are
//! tried on it, see [`foreign`], and the recording where there is one, see [`recorded`]. The tests
//! of [`real`] run against a server where `ASSAY_ANTIDOTE` names one.

mod faults;
mod foreign;
mod opening;
mod real;
mod recorded;
mod sessions;
mod transactions;

use std::time::Duration;

use assay_model::Reason;
use assay_store::conformance::{assert_conforms, check, find_mark, leave_mark};

use crate::antidote_stand_in::{Config, StandIn};
use crate::ordeal::Scans;
use crate::rows::test_rows;
use crate::stores::{store, test_client};
use crate::test_client::{RequestResult, TestClient, delete, insert, layout, read, scan, update};

/// One data centre.
fn start() -> StandIn {
    StandIn::start(&Config::default()).expect("this machine has a loopback")
}

/// Two data centres, each of which sees what the other has `delay` milliseconds later.
fn start_two(delay: u64) -> StandIn {
    let delay = Duration::from_millis(delay);
    let config = Config { data_centres: 2, delay, ..Config::default() };
    StandIn::start(&config).expect("this machine has a loopback")
}

test_rows! { ordeal, start();
    it_conforms(&["", "?bucket=other&connections=2&session=none"]);
    records_stay_as_long_as_they_were("", Scans::Unsupported);
}

#[test]
fn requests_at_several_nodes_in_turn_conform() {
    let stand_in = start();
    let port = stand_in.ports[0];
    let url = format!("antidote://127.0.0.1:{port},127.0.0.1:{port}?host=any&connections=4");
    assert_conforms(&*store(&url));
    assert_conforms(&*store(&format!("{url}&writes=checked")));
}

#[test]
fn between_data_centres_nothing_is_certified() {
    // Workers share no clock: without a delay all that breaks is what Antidote does not promise.
    let stand_in = start_two(0);
    let store = store(&format!("{}?host=any&connections=4", stand_in.url()));
    let broken: Vec<&str> = check(&*store).iter().map(|finding| finding.rule).collect();
    assert_eq!(broken, ["of two that read a record before they write it, one commits at most"]);
}

#[test]
fn writes_are_there_when_the_store_is_opened_again() {
    let stand_in = start();
    leave_mark(&*store(&stand_in.url())).unwrap();
    find_mark(&*store(&stand_in.url())).unwrap();
}

#[test]
fn a_request_is_one_request_to_the_server() {
    let stand_in = start();
    let mut test_client = test_client(&stand_in.url());
    test_client.expect(&read("user1"), RequestResult::MISSING);
    // A record that is not there is created, with what the update names.
    test_client.expect(&update("user1", &["a"]), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=a"));
    test_client.expect(&insert("user1", &["b", "c"]), RequestResult::WRITTEN);
    test_client.expect(&update("user1", &["d"]), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=d field1=c"));
    test_client.expect(&delete("user1"), RequestResult::WRITTEN);
    assert_eq!(test_client.last_requests(), 1);
    test_client.expect(&read("user1"), RequestResult::MISSING);
    // Nothing of the deleted record comes back.
    test_client.expect(&insert("user1", &["e"]), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=e"));
    test_client.expect(&scan("", 5), RequestResult::Refused(Reason::Unsupported));
    assert_eq!((stand_in.count(119), stand_in.count(122)), (0, 5));
}

#[test]
fn checked_writes_tell_whether_the_record_was_there() {
    let stand_in = start();
    let mut test_client = test_client(&format!("{}?writes=checked", stand_in.url()));
    test_client.expect(&update("user1", &["a"]), RequestResult::MISSING);
    test_client.expect(&delete("user1"), RequestResult::MISSING);
    assert_eq!(test_client.last_requests(), 3);
    test_client.expect(&read("user1"), RequestResult::MISSING);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&update("user1", &["c"]), RequestResult::WRITTEN);
    assert_eq!(test_client.last_requests(), 4);
    test_client.expect(&read("user1"), RequestResult::row("field0=c field1=b"));
    test_client.expect(&delete("user1"), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::MISSING);
    // Nothing is left open.
    assert_eq!((stand_in.count(119), stand_in.count(121)), (4, 4));
}

#[test]
fn clearing_takes_our_tables_alone() {
    let stand_in = start();
    let open = |bucket: &str, table: &str| {
        let mut expected = layout(2);
        expected.tables[0].name = table.into();
        let store = store(&format!("{}?bucket={bucket}", stand_in.url()));
        TestClient::open_laid(&*store, &expected).map(|test_client| (store, test_client)).unwrap()
    };
    let row = RequestResult::row("field0=a field1=b");
    for (bucket, table) in [("p", "usertable"), ("p", "usertables"), ("q", "usertable")] {
        let (_, mut test_client) = open(bucket, table);
        test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    }
    for _ in 0..2 {
        let (ours, mut test_client) = open("p", "usertable");
        test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
        ours.keep_note("here").unwrap();
        assert_eq!(ours.note().unwrap().as_deref(), Some("here"));
        ours.clear().unwrap();
        assert_eq!(ours.note().unwrap(), None);
        assert_eq!(open("p", "usertable").1.send(&read("user1")), RequestResult::MISSING);
    }
    assert_eq!(open("p", "usertables").1.send(&read("user1")), row);
    assert_eq!(open("q", "usertable").1.send(&read("user1")), row);
}
