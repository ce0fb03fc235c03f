//! Transactions of requests: what they see, what refuses them, what a dead server leaves of them.

use std::time::{Duration, Instant};

use assay_model::Reason;

use super::{asker, order, start, store};
use crate::asker::{Asker, PATIENCE, Told, commit, delete, insert, read, scan, update};
use crate::lab::Cluster;
use crate::mapped::queries_conform;
use crate::ordeal::{LOST, UNREACHABLE};

const CONFLICT: Told = Told::Refused(Reason::Conflict);
const OLD: &str = "field0=a field1=b";

/// A client of a fresh cluster, in which `user1` and `user2` hold [`OLD`].
fn with_old(cluster: &Cluster, rest: &str) -> Asker {
    let mut asker = asker(&cluster.url(rest));
    for key in ["user1", "user2"] {
        assert_eq!(asker.ask(&insert(key, &["a", "b"])), Told::WRITTEN);
    }
    asker
}

fn rows(rows: &[&str]) -> Told {
    Told::Done(true, rows.iter().map(|row| (*row).to_owned()).collect())
}

#[test]
fn queries_conform_through_a_mapping() {
    let cluster = start(1);
    queries_conform(|number| store(&cluster.url(&format!("/q{number}?connections=4"))));
}

#[test]
fn who_wrote_what_another_has_changed_since_is_refused() {
    let cluster = start(1);
    let mut asker = with_old(&cluster, "");
    asker.begin(1);
    assert_eq!(asker.ask(&update("user1", &["x"]).of(1)), Told::WRITTEN);
    assert_eq!(asker.last_requests(), 1);
    assert_eq!(asker.ask(&update("user1", &["c"])), Told::WRITTEN);
    assert_eq!(asker.ask(&commit().of(1)), CONFLICT);
    assert_eq!(asker.last_requests(), 1);
    assert_eq!(asker.ask(&read("user1")), Told::row("field0=c field1=b"));
    // Also if it was not there when it was read, and is written elsewhere.
    asker.begin(1);
    assert_eq!(asker.ask(&read("user3").of(1)), Told::MISSING);
    assert_eq!(asker.ask(&insert("user4", &["x", "y"]).of(1)), Told::WRITTEN);
    assert_eq!(asker.last_requests(), 0);
    assert_eq!(asker.ask(&insert("user3", &["c", "d"])), Told::WRITTEN);
    assert_eq!(asker.ask(&commit().of(1)), CONFLICT);
    assert_eq!(asker.ask(&read("user4")), Told::MISSING);
}

#[test]
fn of_two_that_write_what_the_other_has_read_one_is_refused() {
    let cluster = start(1);
    let mut asker = with_old(&cluster, "");
    for session in [1, 2] {
        asker.begin(session);
        for key in ["user1", "user2"] {
            assert_eq!(asker.ask(&read(key).of(session)), Told::row(OLD));
        }
    }
    assert_eq!(asker.ask(&update("user1", &["c"]).of(1)), Told::WRITTEN);
    assert_eq!(asker.ask(&update("user2", &["c"]).of(2)), Told::WRITTEN);
    assert_eq!(asker.ask(&commit().of(2)), Told::WRITTEN);
    assert_eq!(asker.ask(&commit().of(1)), CONFLICT);
}

/// What becomes of a transaction that scans two records from `user1` on, then writes another,
/// when somebody meanwhile does something.
fn scanned(asker: &mut Asker, meanwhile: impl FnOnce(&mut Asker)) -> Told {
    asker.begin(1);
    assert_eq!(asker.ask(&scan("user1", 2).of(1)), rows(&[OLD, OLD]));
    assert_eq!(asker.ask(&insert("other", &["x", "y"]).of(1)), Told::WRITTEN);
    meanwhile(asker);
    // It reads as of its begin, whatever happened.
    assert_eq!(asker.ask(&scan("user1", 2).of(1)), rows(&[OLD, OLD]));
    asker.ask(&commit().of(1))
}

#[test]
fn what_comes_into_or_goes_from_a_range_that_was_scanned_conflicts() {
    let cluster = start(1);
    let mut asker = with_old(&cluster, "");
    let told = scanned(&mut asker, |asker| {
        assert_eq!(asker.ask(&insert("user1x", &["a", "b"])), Told::WRITTEN);
    });
    assert_eq!(told, CONFLICT);
    let told = scanned(&mut asker, |asker| {
        assert_eq!(asker.ask(&delete("user1x")), Told::WRITTEN);
    });
    assert_eq!(told, CONFLICT);
    let told = scanned(&mut asker, |asker| {
        assert_eq!(asker.ask(&insert("user3", &["a", "b"])), Told::WRITTEN);
    });
    assert_eq!(told, Told::WRITTEN, "it has not looked behind its limit");
}

#[test]
fn who_only_reads_sees_one_moment_and_is_never_refused() {
    let cluster = start(1);
    let mut asker = with_old(&cluster, "?read=serializable");
    asker.begin(1);
    assert_eq!(asker.ask(&read("user1").of(1)), Told::row(OLD));
    for key in ["user1", "user2"] {
        assert_eq!(asker.ask(&update(key, &["c"])), Told::WRITTEN);
    }
    assert_eq!(asker.ask(&scan("user1", 5).of(1)), rows(&[OLD, OLD]));
    assert_eq!(asker.ask(&read("user2").of(1)), Told::row(OLD));
    assert_eq!(asker.last_requests(), 0, "it was read already");
    assert_eq!(asker.ask(&commit().of(1)), Told::WRITTEN);
    assert_eq!(asker.last_requests(), 0);
}

#[test]
fn more_than_the_server_takes_at_once_is_refused_whole() {
    let cluster = Cluster::start_as(&order(1).choose("max-txn-ops", "8"));
    let mut asker = with_old(&cluster, "");
    let keys: Vec<String> = (0..9).map(|number| format!("many{number}")).collect();
    for (count, expected) in [(8, Told::WRITTEN), (9, Told::Refused(Reason::Unsupported))] {
        asker.begin(1);
        for key in &keys[..count] {
            assert_eq!(asker.ask(&insert(key, &["x", "y"]).of(1)), Told::WRITTEN);
        }
        assert_eq!(asker.ask(&commit().of(1)), expected);
    }
    assert_eq!(asker.ask(&read("many7")), Told::row("field0=x field1=y"));
    assert_eq!(asker.ask(&read("many8")), Told::MISSING);
}

#[test]
fn a_server_that_dies_before_the_commit_leaves_nothing_of_the_transaction() {
    let mut cluster = start(1);
    let mut asker = with_old(&cluster, "?connections=1");
    asker.begin(1);
    assert_eq!(asker.ask(&update("user1", &["x"]).of(1)), Told::WRITTEN);
    assert!(!asker.is_ready());
    cluster.kill(1);
    let killed = Instant::now();
    // As soon as the loss is seen, everything can be refused at once.
    while !asker.is_ready() {
        assert!(killed.elapsed() < PATIENCE, "the loss is never seen");
        asker.drain_for(Duration::from_millis(5));
    }
    assert_eq!(asker.ask(&commit().of(1)), UNREACHABLE);
    cluster.restart(1);
    asker.ask_until(&read("user1"), &Told::row(OLD));
}

#[test]
fn a_commit_whose_answer_is_lost_is_unknown_and_whole() {
    let mut cluster = start(1);
    let mut asker = with_old(&cluster, "?connections=1");
    asker.begin(1);
    for key in ["user1", "user2"] {
        assert_eq!(asker.ask(&update(key, &["x"]).of(1)), Told::WRITTEN);
    }
    cluster.freeze(1);
    let ticket = asker.start(&commit().of(1));
    assert_eq!(asker.drain_for(Duration::from_millis(100)), []);
    cluster.kill(1);
    assert_eq!(asker.take(1), [(ticket, LOST)]);
    cluster.restart(1);
    asker.ask_until(&read("user3"), &Told::MISSING);
    let [first, second] = ["user1", "user2"].map(|key| asker.ask(&read(key)));
    assert_eq!(first, second, "both were changed or neither");
}

#[test]
fn a_step_that_loses_its_server_ends_its_transaction() {
    let mut cluster = start(1);
    let mut asker = with_old(&cluster, "?connections=1");
    asker.begin(1);
    assert_eq!(asker.ask(&insert("user3", &["x", "y"]).of(1)), Told::WRITTEN);
    cluster.freeze(1);
    let ticket = asker.start(&update("user1", &["x"]).of(1));
    assert_eq!(asker.drain_for(Duration::from_millis(100)), []);
    cluster.kill(1);
    assert_eq!(asker.take(1), [(ticket, Told::Refused(Reason::ConnectionLost))]);
    assert_eq!(asker.ask(&commit().of(1)), Told::Refused(Reason::TransactionFailed));
    cluster.restart(1);
    asker.ask_until(&read("user1"), &Told::row(OLD));
    assert_eq!(asker.ask(&read("user3")), Told::MISSING);
}
