//! Transactions of several requests.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use assay_model::{Kind, Reason};
use assay_store::conformance::assert_conforms;
use assay_store::{Isolation, Ticket};

use super::IN_TURN;
use super::faults::until_prepared;
use crate::half_way::{afterwards, before, half_way, observed};
use crate::lab::Cluster;
use crate::mapped::queries_conform;
use crate::ordeal::{LOST, Served, UNREACHABLE};
use crate::stores::{store, test_client};
use crate::test_client::{
    RequestResult, TIMEOUT, TestClient, TestRequest, delete, insert, read, scan, update,
};

const LEVELS: [&str; 3] = ["read-committed", "repeatable-read", "serializable"];
const TIMED_OUT: RequestResult = RequestResult::Refused(Reason::Timeout);
/// A timeout that nothing runs into: a test that waits for it fails.
const LONG: &str = "transaction_timeout=60000";

/// A client of transactions in caches of its own, with records `user1`, `user2` and `user3`.
fn with_three(cluster: &dyn Served, prefix: &str, options: &str) -> TestClient {
    let rest = format!("/{prefix}?atomicity=transactional&{options}");
    let mut test_client = test_client(&cluster.url(&rest));
    for key in ["user1", "user2", "user3"] {
        test_client.expect(&insert(key, &["a", "b"]), RequestResult::WRITTEN);
    }
    test_client
}

#[test]
fn queries_conform_through_a_mapping() {
    let cluster = IN_TURN.lend_alone();
    let options = "atomicity=transactional&fields=bytes&keys=bytes&connections=4\
                   &transaction_timeout=1000";
    queries_conform(|number| store(&cluster.url(&format!("/q{number}?{options}"))));
}

/// The same at each isolation.
fn at_each_level(cluster: &dyn Served) -> impl Iterator<Item = (&'static str, TestClient)> {
    LEVELS.into_iter().map(|level| {
        let options = format!("isolation={level}&{LONG}&connections=4");
        (level, with_three(cluster, &level.replace('-', ""), &options))
    })
}

/// Nobody has to wait for a lock that was left.
fn nothing_is_locked(test_client: &mut TestClient) {
    for key in ["user1", "user2", "user3"] {
        // What was left just now may still be on its way to be undone.
        let start = Instant::now();
        loop {
            test_client.begin(3);
            let outcome_of = test_client.send(&update(key, &["a", "b"]).of(3));
            if outcome_of == RequestResult::WRITTEN {
                break;
            }
            assert_eq!(outcome_of, TIMED_OUT);
            assert!(start.elapsed() < TIMEOUT, "{key} is locked");
        }
        assert_eq!(test_client.end(3, Kind::Commit), RequestResult::WRITTEN);
    }
}

/// The responses to these, in the order in which they were sent.
fn in_order<const N: usize>(
    test_client: &mut TestClient,
    tickets: [Ticket; N],
) -> [RequestResult; N] {
    let answers = test_client.take(N);
    let outcome_of = |ticket: Ticket| {
        let answer = answers.iter().find(|(other, _)| *other == ticket);
        answer.map(|(_, outcome_of)| outcome_of.clone()).expect("each ticket is answered once")
    };
    tickets.map(outcome_of)
}

#[test]
fn only_transactional_caches_declare_an_isolation() {
    let isolation = |rest: &str| store(&format!("ignite://h?{rest}")).capabilities().isolation;
    assert_eq!(isolation("backups=1"), None);
    assert_eq!(isolation("atomicity=atomic"), None);
    assert_eq!(isolation("atomicity=transactional"), Some(Isolation::RepeatableRead));
    let optimistic = isolation("atomicity=transactional&concurrency=optimistic");
    assert_eq!(optimistic, Some(Isolation::Serializable));
}

#[test]
fn each_isolation_conforms() {
    let cluster = IN_TURN.lend_alone();
    for level in LEVELS {
        let prefix = level.replace('-', "");
        let rest = format!("/{prefix}?atomicity=transactional&isolation={level}&fields=bytes");
        assert_conforms(&*store(&cluster.url(&format!("{rest}&connections=3"))));
    }
}

#[test]
fn a_transaction_is_committed_whole_and_seen_before_by_itself_alone() {
    let cluster = IN_TURN.lend_alone();
    for (level, mut test_client) in at_each_level(&cluster) {
        half_way(&mut test_client);
        assert_eq!(observed(&mut test_client, 2), before(), "{level}");
        assert_eq!(observed(&mut test_client, 1), afterwards(), "{level}");
        assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN, "{level}");
        assert_eq!(observed(&mut test_client, 2), afterwards(), "{level}");
        assert_eq!(observed(&mut test_client, 1), afterwards(), "{level}");
        let late = RequestResult::Refused(Reason::TransactionFailed);
        assert_eq!(test_client.end(1, Kind::Commit), late, "{level}");
    }
}

#[test]
fn what_was_rolled_back_left_or_abandoned_is_gone_without_a_lock() {
    let ends: [fn(&mut TestClient); 3] = [
        |test_client| assert_eq!(test_client.end(1, Kind::Rollback), RequestResult::WRITTEN),
        |test_client| test_client.abort(1),
        |test_client| {
            let step = test_client.start(&update("user3", &["x"]).of(1));
            test_client.abandon(step);
            // It may be answered all the same.
            test_client.drain_for(Duration::from_millis(200));
        },
    ];
    let cluster = IN_TURN.lend_alone();
    for (level, mut test_client) in at_each_level(&cluster) {
        for end in ends {
            half_way(&mut test_client);
            end(&mut test_client);
            nothing_is_locked(&mut test_client);
            assert_eq!(observed(&mut test_client, 1), before(), "{level}");
        }
    }
}

#[test]
fn each_step_tells_its_requests() {
    let cluster = IN_TURN.lend_alone();
    for (level, mut test_client) in at_each_level(&cluster) {
        test_client.begin(1);
        // The first has one more: the transaction begins.
        for (question, requests) in [
            (read("user3"), 2),
            (read("user3"), 1),
            (insert("user0", &["n", "m"]), 1),
            (update("user1", &["c"]), 2),
            (scan("user0", 2), 2),
            (delete("user2"), 1),
        ] {
            assert!(
                matches!(test_client.send(&question.of(1)), RequestResult::Done(true, _)),
                "{level}"
            );
            assert_eq!(test_client.last_requests(), requests, "{level}");
        }
        assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN, "{level}");
        assert_eq!(test_client.last_requests(), 1, "{level}");
        test_client.begin(1);
        assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN, "{level}");
        assert_eq!(test_client.last_requests(), 0, "{level}: nothing was begun");
    }
}

/// More records than a scan gets at once, on two nodes.
pub fn a_scan_sees_what_its_transaction_wrote(cluster: &Cluster) {
    for (level, mut test_client) in at_each_level(cluster) {
        let rows = |numbers: &mut dyn Iterator<Item = u32>| {
            RequestResult::Done(true, numbers.map(|number| format!("field0={number}")).collect())
        };
        for number in (0..1200).step_by(2) {
            let (key, value) = (format!("key{number:04}"), number.to_string());
            test_client.expect(&insert(&key, &[&value]), RequestResult::WRITTEN);
        }
        test_client.begin(1);
        for number in (1..100).step_by(2) {
            let (key, value) = (format!("key{number:04}"), number.to_string());
            test_client.expect(&insert(&key, &[&value]).of(1), RequestResult::WRITTEN);
            let gone = format!("key{:04}", 1000 + number);
            test_client.expect(&delete(&gone).of(1), RequestResult::MISSING);
            let gone = format!("key{:04}", 1000 + number - 1);
            test_client.expect(&delete(&gone).of(1), RequestResult::WRITTEN);
        }
        let own = |number: &u32| {
            (*number < 100 || number.is_multiple_of(2)) && !(1000..1100).contains(number)
        };
        let all = rows(&mut (0..1200).filter(own));
        test_client.expect(&scan("key", 600).of(1), &all);
        let some = rows(&mut (980..1200).filter(own).take(20));
        test_client.expect(&scan("key0980", 20).of(1), &some);
        test_client.expect(&scan("key1198", 1).of(1), rows(&mut std::iter::once(1198)));
        let others = rows(&mut (0..1200_u32).filter(|number| number.is_multiple_of(2)));
        test_client.expect(&scan("key", 600).of(2), &others);
        assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN, "{level}");
        test_client.expect(&scan("key", 600).of(2), &all);
    }
}

/// Both read, then both write: with locks the second waits to read, else one commit is refused.
#[test]
fn of_two_that_read_before_they_write_no_update_is_lost() {
    let cluster = IN_TURN.lend_alone();
    let mut test_client = with_three(&cluster, "locks", &format!("{LONG}&connections=4"));
    test_client.begin(1);
    test_client.expect(&read("user1").of(1), RequestResult::row("field0=a field1=b"));
    test_client.begin(2);
    let second = test_client.start(&read("user1").of(2));
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), [], "it waits for the lock");
    let first = test_client.start(&update("user1", &["c"]).of(1));
    assert_eq!(test_client.take(1), [(first, RequestResult::WRITTEN)]);
    let commit = test_client.start(&TestRequest { kind: Kind::Commit, ..read("") }.of(1));
    let expected = [RequestResult::WRITTEN, RequestResult::row("field0=c field1=b")];
    assert_eq!(in_order(&mut test_client, [commit, second]), expected);
    assert_eq!(test_client.end(2, Kind::Commit), RequestResult::WRITTEN);

    let mut test_client = with_three(&cluster, "compared", "isolation=serializable&connections=4");
    for session in [1, 2] {
        test_client.begin(session);
        test_client.expect(&read("user1").of(session), RequestResult::row("field0=a field1=b"));
    }
    test_client.expect(&update("user1", &["c"]).of(1), RequestResult::WRITTEN);
    test_client.expect(&update("user1", &["d"]).of(2), RequestResult::WRITTEN);
    assert_eq!(test_client.end(2, Kind::Commit), RequestResult::WRITTEN);
    assert_eq!(test_client.end(1, Kind::Commit), RequestResult::Refused(Reason::Conflict));
    test_client.expect(&read("user1"), RequestResult::row("field0=d field1=b"));
    assert!(test_client.is_ready());
}

/// Also what was missing, found by a scan, or to be inserted only if nothing is there.
#[test]
fn a_serializable_commit_is_refused_if_what_it_read_changed() {
    let cluster = IN_TURN.lend_alone();
    let options = "isolation=serializable&insert=put_if_absent&connections=4";
    let mut test_client = with_three(&cluster, "tx", options);
    let steps: [(TestRequest<'_>, TestRequest<'_>); 4] = [
        (read("new1"), insert("new1", &["x"])),
        (scan("user", 3), update("user3", &["x"])),
        (insert("new2", &["mine"]), insert("new2", &["x"])),
        (read("user2"), delete("user2")),
    ];
    for (number, (own, other)) in steps.into_iter().enumerate() {
        test_client.begin(1);
        let outcome_of = test_client.send(&own.of(1));
        assert!(matches!(outcome_of, RequestResult::Done(..)), "{number}: {outcome_of:?}");
        assert_eq!(
            test_client.send(&update("user1", &["y"]).of(1)),
            RequestResult::WRITTEN,
            "{number}"
        );
        assert_eq!(test_client.send(&other.of(2)), RequestResult::WRITTEN, "{number}");
        assert_eq!(
            test_client.end(1, Kind::Commit),
            RequestResult::Refused(Reason::Conflict),
            "{number}"
        );
        assert_eq!(
            test_client.send(&read("user1")),
            RequestResult::row("field0=a field1=b"),
            "{number}"
        );
    }
    test_client.expect(&read("new2"), RequestResult::row("field0=x"));
}

/// Where reads do not lock, updates still keep each other's fields, and an insert finds out.
#[test]
fn read_committed_transactions_lose_no_fields() {
    let cluster = IN_TURN.lend_alone();
    let options = format!("isolation=read-committed&insert=put_if_absent&{LONG}&connections=4");
    let mut test_client = with_three(&cluster, "tx", &options);
    test_client.begin(1);
    test_client.expect(&read("user1").of(1), RequestResult::row("field0=a field1=b"));
    let other = test_client.start_changing(2, "user1", 1, "d");
    assert_eq!(test_client.take(1), [(other, RequestResult::WRITTEN)]);
    test_client.expect(&read("user1").of(1), RequestResult::row("field0=a field1=d"));
    test_client.expect(&update("user1", &["c"]).of(1), RequestResult::WRITTEN);
    let waiting = test_client.start_changing(2, "user1", 1, "e");
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), [], "it waits for the lock");
    let commit = test_client.start(&TestRequest { kind: Kind::Commit, ..read("") }.of(1));
    assert_eq!(
        in_order(&mut test_client, [commit, waiting]),
        [RequestResult::WRITTEN, RequestResult::WRITTEN]
    );
    test_client.expect(&read("user1"), RequestResult::row("field0=c field1=e"));
    test_client.begin(1);
    test_client.expect(&insert("user1", &["x"]).of(1), RequestResult::Refused(Reason::Exists));
    nothing_is_locked(&mut test_client);
}

#[test]
fn transactions_that_wait_for_each_other_end_by_their_timeout() {
    let cluster = IN_TURN.lend_alone();
    let mut test_client = with_three(&cluster, "tx", "transaction_timeout=1000&connections=4");
    for (session, key) in [(1, "user1"), (2, "user2")] {
        test_client.begin(session);
        let outcome_of = test_client.send(&update(key, &["c"]).of(session));
        // On a slow machine it may be over already.
        assert!([RequestResult::WRITTEN, TIMED_OUT].contains(&outcome_of), "{outcome_of:?}");
    }
    let steps = [(1, "user2"), (2, "user1")];
    let steps = steps.map(|(session, key)| test_client.start(&update(key, &["d"]).of(session)));
    let outcome_of = in_order(&mut test_client, steps);
    assert!(outcome_of.contains(&TIMED_OUT), "{outcome_of:?}");
    assert!(
        outcome_of
            .iter()
            .all(|outcome_of| [RequestResult::WRITTEN, TIMED_OUT].contains(outcome_of)),
        "{outcome_of:?}"
    );
    [1, 2].into_iter().for_each(|session| test_client.abort(session));
    nothing_is_locked(&mut test_client);
}

#[test]
fn a_transaction_that_takes_too_long_is_undone_and_refused() {
    let cluster = IN_TURN.lend_alone();
    let short = "transaction_timeout=2000&connections=4";
    for (prefix, level) in [("locks", "repeatable-read"), ("compared", "serializable")] {
        let mut test_client = with_three(&cluster, prefix, &format!("{short}&isolation={level}"));
        for end in [Kind::Commit, Kind::Update] {
            test_client.begin(1);
            let outcome_of = test_client.send(&update("user1", &["c"]).of(1));
            assert!(
                [RequestResult::WRITTEN, TIMED_OUT].contains(&outcome_of),
                "{level}: {outcome_of:?}"
            );
            let start = Instant::now();
            let is_open = outcome_of == RequestResult::WRITTEN;
            while start.elapsed() < Duration::from_millis(2500) {
                test_client.drain_for(Duration::from_millis(100));
            }
            if is_open {
                let last = match end {
                    Kind::Commit => test_client.end(1, Kind::Commit),
                    _ => test_client.send(&update("user1", &["d"]).of(1)),
                };
                assert_eq!(last, TIMED_OUT, "{level}");
            }
            test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
            nothing_is_locked(&mut test_client);
            test_client.expect(&update("user1", &["a", "b"]), RequestResult::WRITTEN);
        }
    }
}

/// A commit that is under way when the node is killed is unknown; a step, and whatever comes after
/// the connection broke, certainly did not happen.
pub fn a_killed_node_leaves_a_commit_unknown_and_undoes_what_is_open(cluster: &mut Cluster) {
    let mut test_client = with_three(cluster, "tx", &format!("{LONG}&connections=3"));
    for (session, key) in [(1, "user1"), (2, "user2"), (3, "user3")] {
        test_client.begin(session);
        test_client.expect(&update(key, &["c"]).of(session), RequestResult::WRITTEN);
    }
    cluster.freeze(1);
    let commit = test_client.start(&TestRequest { kind: Kind::Commit, ..read("") }.of(1));
    let step = test_client.start(&update("user2", &["d"]).of(2));
    assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
    cluster.kill(1);
    let lost = RequestResult::Refused(Reason::ConnectionLost);
    assert_eq!(in_order(&mut test_client, [commit, step]), [LOST, lost]);
    // It is ready to refuse once it knows that the third connection is gone too.
    let start = Instant::now();
    while !test_client.is_ready() && start.elapsed() < TIMEOUT {
        test_client.drain_for(Duration::from_millis(5));
    }
    assert_eq!(test_client.end(3, Kind::Commit), UNREACHABLE);
    cluster.restart(1);
    let url = cluster.url("/tx?atomicity=transactional");
    until_prepared(&*store(&url));
    let (old, new) =
        (RequestResult::row("field0=a field1=b"), RequestResult::row("field0=c field1=b"));
    test_client.send_until(&read("user3"), &old);
    test_client.expect(&read("user2"), &old);
    assert!([old, new].contains(&test_client.send(&read("user1"))));
    nothing_is_locked(&mut test_client);
}

/// Sessions whose transactions are open at a node of two that is killed cannot go on; the others
/// can, and nobody waits for locks of the dead. The second is dead afterwards.
pub fn a_killed_node_of_two_loses_only_its_own_transactions(cluster: &mut Cluster) {
    let rest = format!("/tx?atomicity=transactional&backups=1&connections=20&{LONG}");
    let mut test_client = test_client(&cluster.url(&rest));
    let key = |session: u32| format!("user{session}");
    for session in 0..20 {
        test_client.expect(&insert(&key(session), &["a", "b"]), RequestResult::WRITTEN);
    }
    for session in 0..20 {
        test_client.begin(session);
        test_client.expect(&update(&key(session), &["c"]).of(session), RequestResult::WRITTEN);
    }
    cluster.kill(2);
    let mut committed = BTreeSet::new();
    for session in 0..20 {
        match test_client.end(session, Kind::Commit) {
            RequestResult::Done(..) => drop(committed.insert(session)),
            RequestResult::Refused(Reason::Unreachable | Reason::ConnectionLost | Reason::Busy) => {
            }
            // Its node goes on, but the other one had a copy.
            RequestResult::Unknown(_) => test_client.abort(session),
            other => panic!("session {session} got {other:?}"),
        }
    }
    eprintln!("{} of 20 transactions were committed", committed.len());
    assert!(committed.len() < 20, "none was open at the node that was killed");
    let start = Instant::now();
    for session in 0..20 {
        let outcome_of = test_client.send(&read(&key(session)));
        let new = RequestResult::row("field0=c field1=b");
        assert!(!committed.contains(&session) || outcome_of == new, "{session}: {outcome_of:?}");
        test_client.begin(session);
        let outcome_of = test_client.send(&update(&key(session), &["d"]).of(session));
        assert_eq!(outcome_of, RequestResult::WRITTEN, "{session}");
        assert_eq!(test_client.end(session, Kind::Commit), RequestResult::WRITTEN, "{session}");
    }
    assert!(start.elapsed() < TIMEOUT, "somebody waited for locks");
}
