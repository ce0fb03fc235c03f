//! Transactions of requests: what they see, what refuses them, what a dead server leaves of them.

use std::time::{Duration, Instant};

use assay_model::Reason;

use super::{order, start};
use crate::lab::Cluster;
use crate::mapped::queries_conform;
use crate::ordeal::{LOST, UNREACHABLE};
use crate::stores::{store, test_client};
use crate::test_client::{
    RequestResult, TIMEOUT, TestClient, commit, delete, insert, read, scan, update,
};

const CONFLICT: RequestResult = RequestResult::Refused(Reason::Conflict);
const OLD: &str = "field0=a field1=b";

/// A client of a fresh cluster, in which `user1` and `user2` hold [`OLD`].
fn with_old(cluster: &Cluster, rest: &str) -> TestClient {
    let mut test_client = test_client(&cluster.url(rest));
    for key in ["user1", "user2"] {
        test_client.expect(&insert(key, &["a", "b"]), RequestResult::WRITTEN);
    }
    test_client
}

fn rows(rows: &[&str]) -> RequestResult {
    RequestResult::Done(true, rows.iter().map(|row| (*row).to_owned()).collect())
}

#[test]
fn queries_conform_through_a_mapping() {
    let cluster = start(1);
    queries_conform(|number| store(&cluster.url(&format!("/q{number}?connections=4"))));
}

#[test]
fn a_write_on_a_stale_version_is_refused() {
    let cluster = start(1);
    let mut test_client = with_old(&cluster, "");
    test_client.begin(1);
    test_client.expect(&update("user1", &["x"]).of(1), RequestResult::WRITTEN);
    assert_eq!(test_client.last_requests(), 1);
    test_client.expect(&update("user1", &["c"]), RequestResult::WRITTEN);
    test_client.expect(&commit().of(1), CONFLICT);
    assert_eq!(test_client.last_requests(), 1);
    test_client.expect(&read("user1"), RequestResult::row("field0=c field1=b"));
    // Also if it was not there when it was read, and is written elsewhere.
    test_client.begin(1);
    test_client.expect(&read("user3").of(1), RequestResult::MISSING);
    test_client.expect(&insert("user4", &["x", "y"]).of(1), RequestResult::WRITTEN);
    assert_eq!(test_client.last_requests(), 0);
    test_client.expect(&insert("user3", &["c", "d"]), RequestResult::WRITTEN);
    test_client.expect(&commit().of(1), CONFLICT);
    test_client.expect(&read("user4"), RequestResult::MISSING);
}

#[test]
fn of_two_that_write_what_the_other_has_read_one_is_refused() {
    let cluster = start(1);
    let mut test_client = with_old(&cluster, "");
    for session in [1, 2] {
        test_client.begin(session);
        for key in ["user1", "user2"] {
            test_client.expect(&read(key).of(session), RequestResult::row(OLD));
        }
    }
    test_client.expect(&update("user1", &["c"]).of(1), RequestResult::WRITTEN);
    test_client.expect(&update("user2", &["c"]).of(2), RequestResult::WRITTEN);
    test_client.expect(&commit().of(2), RequestResult::WRITTEN);
    test_client.expect(&commit().of(1), CONFLICT);
}

/// What becomes of a transaction that scans two records from `user1` on, then writes another,
/// when somebody meanwhile does something.
fn scanned(test_client: &mut TestClient, meanwhile: impl FnOnce(&mut TestClient)) -> RequestResult {
    test_client.begin(1);
    test_client.expect(&scan("user1", 2).of(1), rows(&[OLD, OLD]));
    test_client.expect(&insert("other", &["x", "y"]).of(1), RequestResult::WRITTEN);
    meanwhile(test_client);
    // It reads as of its begin, whatever happened.
    test_client.expect(&scan("user1", 2).of(1), rows(&[OLD, OLD]));
    test_client.send(&commit().of(1))
}

#[test]
fn what_comes_into_or_goes_from_a_range_that_was_scanned_conflicts() {
    let cluster = start(1);
    let mut test_client = with_old(&cluster, "");
    let result = scanned(&mut test_client, |test_client| {
        test_client.expect(&insert("user1x", &["a", "b"]), RequestResult::WRITTEN);
    });
    assert_eq!(result, CONFLICT);
    let result = scanned(&mut test_client, |test_client| {
        test_client.expect(&delete("user1x"), RequestResult::WRITTEN);
    });
    assert_eq!(result, CONFLICT);
    let result = scanned(&mut test_client, |test_client| {
        test_client.expect(&insert("user3", &["a", "b"]), RequestResult::WRITTEN);
    });
    assert_eq!(result, RequestResult::WRITTEN, "it has not looked behind its limit");
}

#[test]
fn a_read_only_transaction_has_one_snapshot_and_is_never_refused() {
    let cluster = start(1);
    let mut test_client = with_old(&cluster, "?read=serializable");
    test_client.begin(1);
    test_client.expect(&read("user1").of(1), RequestResult::row(OLD));
    for key in ["user1", "user2"] {
        test_client.expect(&update(key, &["c"]), RequestResult::WRITTEN);
    }
    test_client.expect(&scan("user1", 5).of(1), rows(&[OLD, OLD]));
    test_client.expect(&read("user2").of(1), RequestResult::row(OLD));
    assert_eq!(test_client.last_requests(), 0, "it was read already");
    test_client.expect(&commit().of(1), RequestResult::WRITTEN);
    assert_eq!(test_client.last_requests(), 0);
}

#[test]
fn more_than_the_server_takes_at_once_is_refused_whole() {
    let cluster = Cluster::start_as(&order(1).choose("max-txn-ops", "8"));
    let mut test_client = with_old(&cluster, "");
    let keys: Vec<String> = (0..9).map(|number| format!("many{number}")).collect();
    for (count, expected) in
        [(8, RequestResult::WRITTEN), (9, RequestResult::Refused(Reason::Unsupported))]
    {
        test_client.begin(1);
        for key in &keys[..count] {
            test_client.expect(&insert(key, &["x", "y"]).of(1), RequestResult::WRITTEN);
        }
        test_client.expect(&commit().of(1), &expected);
    }
    test_client.expect(&read("many7"), RequestResult::row("field0=x field1=y"));
    test_client.expect(&read("many8"), RequestResult::MISSING);
}

#[test]
fn a_server_that_dies_before_the_commit_leaves_nothing_of_the_transaction() {
    let mut cluster = start(1);
    let mut test_client = with_old(&cluster, "?connections=1");
    test_client.begin(1);
    test_client.expect(&update("user1", &["x"]).of(1), RequestResult::WRITTEN);
    assert!(!test_client.is_ready());
    cluster.kill(1);
    let killed = Instant::now();
    // As soon as the loss is seen, everything can be refused at once.
    while !test_client.is_ready() {
        assert!(killed.elapsed() < TIMEOUT, "the loss is never seen");
        test_client.drain_for(Duration::from_millis(5));
    }
    test_client.expect(&commit().of(1), UNREACHABLE);
    cluster.restart(1);
    test_client.send_until(&read("user1"), &RequestResult::row(OLD));
}

#[test]
fn a_commit_whose_answer_is_lost_is_unknown_and_whole() {
    let mut cluster = start(1);
    let mut test_client = with_old(&cluster, "?connections=1");
    test_client.begin(1);
    for key in ["user1", "user2"] {
        test_client.expect(&update(key, &["x"]).of(1), RequestResult::WRITTEN);
    }
    cluster.freeze(1);
    let ticket = test_client.start(&commit().of(1));
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
    cluster.kill(1);
    assert_eq!(test_client.take(1), [(ticket, LOST)]);
    cluster.restart(1);
    test_client.send_until(&read("user3"), &RequestResult::MISSING);
    let [first, second] = ["user1", "user2"].map(|key| test_client.send(&read(key)));
    assert_eq!(first, second, "both were changed or neither");
}

#[test]
fn a_step_that_loses_its_server_ends_its_transaction() {
    let mut cluster = start(1);
    let mut test_client = with_old(&cluster, "?connections=1");
    test_client.begin(1);
    test_client.expect(&insert("user3", &["x", "y"]).of(1), RequestResult::WRITTEN);
    cluster.freeze(1);
    let ticket = test_client.start(&update("user1", &["x"]).of(1));
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
    cluster.kill(1);
    assert_eq!(test_client.take(1), [(ticket, RequestResult::Refused(Reason::ConnectionLost))]);
    test_client.expect(&commit().of(1), RequestResult::Refused(Reason::TransactionFailed));
    cluster.restart(1);
    test_client.send_until(&read("user1"), &RequestResult::row(OLD));
    test_client.expect(&read("user3"), RequestResult::MISSING);
}
