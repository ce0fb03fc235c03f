//! Transactions of requests: snapshots, first committer wins, nothing left of what is not over.

use assay_model::{Kind, Reason};

use super::{start, start_two};
use crate::antidote_stand_in::{Config, StandIn};
use crate::half_way::{afterwards, before, half_way, observed};
use crate::stores::test_client;
use crate::test_client::{RequestResult, TestClient, insert, read, update};

fn with_four(url: &str) -> TestClient {
    let mut test_client = test_client(url);
    for key in ["user1", "user2", "user3"] {
        test_client.expect(&insert(key, &["a", "b"]), RequestResult::WRITTEN);
    }
    test_client
}

#[test]
fn a_transaction_is_seen_when_it_is_committed() {
    let stand_in = start();
    let mut test_client = with_four(&stand_in.url());
    half_way(&mut test_client);
    assert_eq!(observed(&mut test_client, 1), afterwards());
    assert_eq!(observed(&mut test_client, 0), before());
    assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN);
    assert_eq!(observed(&mut test_client, 0), afterwards());
    // One start, three writes, four reads, one commit.
    let counts = [119, 118, 116, 121, 120].map(|code| stand_in.count(code));
    assert_eq!(counts, [1, 3, 4, 1, 0]);
}

#[test]
fn a_transaction_that_is_rolled_back_or_left_is_aborted() {
    let stand_in = start();
    let mut test_client = with_four(&stand_in.url());
    half_way(&mut test_client);
    assert_eq!(test_client.end(1, Kind::Rollback), RequestResult::WRITTEN);
    assert_eq!(observed(&mut test_client, 1), before());
    half_way(&mut test_client);
    test_client.abort(1);
    assert_eq!(observed(&mut test_client, 1), before());
    assert_eq!((stand_in.count(120), stand_in.count(121)), (2, 0));
}

#[test]
fn the_first_to_commit_wins() {
    let stand_in = start();
    let mut test_client = with_four(&stand_in.url());
    for session in [1, 2] {
        test_client.begin(session);
        let row = RequestResult::row("field0=a field1=b");
        test_client.expect(&read("user1").of(session), &row);
        let value = session.to_string();
        test_client.expect(&update("user1", &[&value]).of(session), RequestResult::WRITTEN);
    }
    assert_eq!(test_client.end(2, Kind::Commit), RequestResult::WRITTEN);
    assert_eq!(test_client.end(1, Kind::Commit), RequestResult::Refused(Reason::Conflict));
    test_client.expect(&read("user1"), RequestResult::row("field0=2 field1=b"));
}

#[test]
fn without_certification_the_last_to_commit_wins() {
    let stand_in = StandIn::start(&Config { certify: false, ..Config::default() }).unwrap();
    let mut test_client = with_four(&stand_in.url());
    for session in [1, 2] {
        test_client.begin(session);
        let value = session.to_string();
        test_client.send(&update("user1", &[&value]).of(session));
    }
    assert_eq!(test_client.end(2, Kind::Commit), RequestResult::WRITTEN);
    assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=1 field1=b"));
}

#[test]
fn two_data_centres_certify_nothing_between_them_and_agree_afterwards() {
    let stand_in = start_two(200);
    let mut test_client = with_four(&stand_in.url());
    // Sessions 0 and 2 are at the first data centre, 1 at the second.
    let row = RequestResult::row("field0=a field1=b");
    test_client.send_until(&read("user1").of(1), &row);
    for session in [0, 1] {
        test_client.begin(session);
        let value = session.to_string();
        test_client.send(&update("user1", &[&value]).of(session));
    }
    assert_eq!(test_client.end(0, Kind::Commit), RequestResult::WRITTEN);
    assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN);
    let last = RequestResult::row("field0=1 field1=b");
    test_client.send_until(&read("user1").of(2), &last);
    test_client.expect(&read("user1").of(1), &last);
}

#[test]
fn a_transaction_includes_what_its_session_has_seen() {
    let stand_in = start_two(100);
    let url = format!("{}?host=any", stand_in.url());
    let mut test_client = with_four(&url);
    for round in 0..10 {
        // Each transaction is at the other data centre than the one before it.
        test_client.begin(0);
        let value = round.to_string();
        test_client.expect(&update("user1", &[&value]), RequestResult::WRITTEN);
        assert_eq!(test_client.end(0, Kind::Commit), RequestResult::WRITTEN);
        let row = RequestResult::row(&format!("field0={value} field1=b"));
        test_client.begin(0);
        test_client.expect(&read("user1"), &row);
        assert_eq!(test_client.end(0, Kind::Commit), RequestResult::WRITTEN);
    }
}
