//! Transactions of several requests.

use std::time::{Duration, Instant};

use assay_model::{Kind, Reason};
use assay_store::Isolation;

use super::{order, start};
use crate::half_way::{afterwards, before, half_way, observed};
use crate::lab::Cluster;
use crate::ordeal::{LOST, UNREACHABLE};
use crate::stores::{store, test_client};
use crate::test_client::{
    RequestResult, TestClient, TestRequest, delete, insert, read, scan, update,
};

/// The modes that have transactions.
const MODES: [&str; 2] = ["optimistic", "pessimistic"];
const CONFLICT: RequestResult = RequestResult::Refused(Reason::Conflict);
/// Longer than a lock lives, which is twenty seconds at most, on a slow machine.
const OUTLIVES_LOCKS: Duration = Duration::from_secs(120);

/// A client with records `user1`, `user2`, and `user3`.
fn with_three(url: &str) -> TestClient {
    let mut test_client = test_client(url);
    for key in ["user1", "user2", "user3"] {
        test_client.expect(&insert(key, &["a", "b"]), RequestResult::WRITTEN);
    }
    test_client
}

/// The stand-in with the three records.
fn start_with_three(mode: &str) -> (Cluster, TestClient) {
    let cluster = start();
    let test_client = with_three(&cluster.url(&format!("?mode={mode}&connections=4")));
    (cluster, test_client)
}

/// Nobody meets a lock that was left: each update takes its usual requests. One that is just being
/// given back is waited for, which is not counted, but not for as long as locks live.
fn nothing_is_locked(test_client: &mut TestClient, mode: &str) {
    let usual = if mode == "optimistic" { 5 } else { 8 };
    for key in ["user1", "user2", "user3"] {
        test_client.expect(&update(key, &["a", "b"]), RequestResult::WRITTEN);
        assert_eq!(test_client.last_requests(), usual, "{mode}");
    }
}

#[test]
fn modes_declare_what_they_have() {
    let isolation = |mode| store(&format!("tikv://h/?mode={mode}")).capabilities().isolation;
    assert_eq!(isolation("raw"), None);
    assert_eq!(MODES.map(isolation), [Some(Isolation::RepeatableRead); 2]);
}

#[test]
fn what_was_committed_is_there_for_all() {
    for mode in MODES {
        let (_cluster, mut test_client) = start_with_three(mode);
        half_way(&mut test_client);
        assert_eq!(observed(&mut test_client, 2), before(), "{mode}");
        assert_eq!(observed(&mut test_client, 1), afterwards(), "{mode}");
        assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN, "{mode}");
        assert_eq!(observed(&mut test_client, 2), afterwards(), "{mode}");
        assert_eq!(observed(&mut test_client, 1), afterwards(), "{mode}");
    }
}

#[test]
fn each_step_tells_its_requests() {
    // A timestamp; the lock, which takes two; the read of what is to be changed, or again a lock.
    for (mode, steps, commit) in
        [("optimistic", [1, 1, 1, 0, 0], 4), ("pessimistic", [3, 4, 4, 2, 0], 4)]
    {
        let (_cluster, mut test_client) = start_with_three(mode);
        test_client.begin(1);
        let requested = [
            insert("user0", &["n", "m"]),
            update("user1", &["c"]),
            delete("user2"),
            update("user1", &["d"]),
            read("user1"),
        ];
        for (question, requests) in requested.into_iter().zip(steps) {
            assert!(
                matches!(test_client.send(&question.of(1)), RequestResult::Done(true, _)),
                "{mode}"
            );
            assert_eq!(test_client.last_requests(), requests, "{mode}");
        }
        assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN);
        assert_eq!(test_client.last_requests(), commit, "{mode}");
        test_client.begin(1);
        for requests in [2, 0] {
            test_client.expect(&read("user3").of(1), RequestResult::row("field0=a field1=b"));
            assert_eq!(test_client.last_requests(), requests, "{mode}");
        }
        assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN);
        assert_eq!(test_client.last_requests(), 0, "{mode}: nothing is to be made final");
    }
}

#[test]
fn what_was_rolled_back_or_left_is_gone_without_a_lock() {
    let ends: [fn(&mut TestClient); 3] = [
        |test_client| assert_eq!(test_client.end(1, Kind::Rollback), RequestResult::WRITTEN),
        |test_client| test_client.abort(1),
        |test_client| {
            let step = test_client.start(&update("user3", &["x"]).of(1));
            test_client.abandon(step);
            // It is answered all the same.
            test_client.take_of(step);
        },
    ];
    for (mode, end) in MODES.iter().flat_map(|mode| ends.map(|end| (*mode, end))) {
        let (_cluster, mut test_client) = start_with_three(mode);
        half_way(&mut test_client);
        end(&mut test_client);
        assert_eq!(observed(&mut test_client, 1), before(), "{mode}");
        nothing_is_locked(&mut test_client, mode);
        assert_eq!(
            test_client.end(1, Kind::Commit),
            RequestResult::Refused(Reason::TransactionFailed)
        );
        assert_eq!(observed(&mut test_client, 1), before(), "{mode}");
    }
}

#[test]
fn a_scan_sees_what_the_transaction_wrote_in_every_region() {
    for mode in MODES {
        let split = order().choose("split", "txn");
        let cluster = Cluster::start_marked(&split);
        let mut test_client = test_client(&cluster.url(&format!("?mode={mode}&connections=2")));
        for number in (0..100).step_by(2) {
            test_client.expect(
                &insert(&format!("user{number:02}"), &["old", "x"]),
                RequestResult::WRITTEN,
            );
        }
        // Afterwards there is 0, 1, 3, 4, 6, 7, 9 and so on: every third one is gone.
        test_client.begin(1);
        for number in 0..100 {
            let key = format!("user{number:02}");
            let result = match (number % 3, number % 2) {
                (2, 0) => test_client.send(&delete(&key).of(1)),
                (2, _) => RequestResult::WRITTEN,
                (_, 0) => test_client.send(&update(&key, &["new"]).of(1)),
                _ => test_client.send(&insert(&key, &["new", "x"]).of(1)),
            };
            assert_eq!(result, RequestResult::WRITTEN, "{mode}");
        }
        let rows = |count| RequestResult::Done(true, vec!["field0=new field1=x".to_owned(); count]);
        let check = |test_client: &mut TestClient, session| {
            for (from, limit, count) in
                [(0, 1000, 67), (0, 67, 67), (0, 1, 1), (18, 4, 4), (30, 30, 30), (97, 5, 2)]
            {
                let result = test_client.send(&scan(&format!("user{from:02}"), limit).of(session));
                assert_eq!(result, rows(count), "{mode} from {from}");
            }
        };
        check(&mut test_client, 1);
        let old = RequestResult::Done(true, vec!["field0=old field1=x".to_owned(); 50]);
        test_client.expect(&scan("", 1000), &old);
        assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN, "{mode}");
        check(&mut test_client, 2);
    }
}

#[test]
fn a_transaction_reads_one_moment() {
    for mode in MODES {
        let (_cluster, mut test_client) = start_with_three(mode);
        test_client.begin(1);
        test_client.expect(&read("user1").of(1), RequestResult::row("field0=a field1=b"));
        half_way_of_another(&mut test_client);
        assert_eq!(observed(&mut test_client, 1), before(), "{mode}");
        let rows = vec!["field0=a field1=b".to_owned(); 3];
        test_client.expect(&scan("", 10).of(1), RequestResult::Done(true, rows));
        assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN);
        assert_eq!(observed(&mut test_client, 1), afterwards(), "{mode}");
    }
}

/// The same changes, one by one.
fn half_way_of_another(test_client: &mut TestClient) {
    test_client.expect(&insert("user0", &["n", "m"]).of(2), RequestResult::WRITTEN);
    test_client.expect(&update("user1", &["c"]).of(2), RequestResult::WRITTEN);
    test_client.expect(&delete("user2").of(2), RequestResult::WRITTEN);
}

/// The last write of session 1 comes too late, which is found as it locks the record, or commits.
fn refuses(test_client: &mut TestClient, mode: &str, write: &TestRequest<'_>) {
    if mode == "optimistic" {
        test_client.expect(write, RequestResult::WRITTEN);
        assert_eq!(test_client.end(1, Kind::Commit), CONFLICT);
    } else {
        test_client.expect(write, CONFLICT);
    }
}

#[test]
fn what_was_read_and_changed_by_another_is_not_overwritten() {
    // Session 1 has read all of it; each change is lost if it goes through, so one is enough.
    let writes: [(&str, TestRequest<'_>); 4] = [
        ("update", update("user1", &["late"])),
        ("delete", delete("user1")),
        ("insert", insert("user0", &["late", "late"])),
        ("insert over", insert("user1", &["late", "late"])),
    ];
    for mode in MODES {
        for (name, write) in &writes {
            let (_cluster, mut test_client) = start_with_three(mode);
            test_client.begin(1);
            assert_eq!(observed(&mut test_client, 1), before());
            half_way_of_another(&mut test_client);
            refuses(&mut test_client, mode, &TestRequest { session: 1, ..*write });
            assert_eq!(observed(&mut test_client, 1), afterwards(), "{mode}: {name}");
        }
    }
}

#[test]
fn a_scanned_record_that_was_changed_is_not_overwritten() {
    for mode in MODES {
        let (_cluster, mut test_client) = start_with_three(mode);
        test_client.begin(1);
        let rows = vec!["field0=a field1=b".to_owned(); 3];
        test_client.expect(&scan("", 10).of(1), RequestResult::Done(true, rows));
        test_client.expect(&update("user1", &["c"]).of(2), RequestResult::WRITTEN);
        refuses(&mut test_client, mode, &update("user1", &["late"]).of(1));
        test_client.expect(&read("user1"), RequestResult::row("field0=c field1=b"));
    }
}

#[test]
fn an_update_of_what_was_not_read_keeps_what_another_has_written() {
    for mode in MODES {
        let (_cluster, mut test_client) = start_with_three(mode);
        test_client.begin(1);
        test_client.expect(&read("user3").of(1), RequestResult::row("field0=a field1=b"));
        test_client.expect(&update("user1", &["c", "d"]).of(2), RequestResult::WRITTEN);
        test_client.expect(&update("user1", &["late"]).of(1), RequestResult::WRITTEN);
        // TiKV takes it if it was locked, the stand-in does not.
        let row = match test_client.end(1, Kind::Commit) {
            RequestResult::Done(..) if mode == "pessimistic" => "field0=late field1=d",
            result => {
                assert_eq!(result, CONFLICT, "{mode}");
                "field0=c field1=d"
            }
        };
        test_client.expect(&read("user1"), RequestResult::row(row));
    }
}

#[test]
fn of_two_that_change_one_record_one_goes_through() {
    for mode in MODES {
        let (_cluster, mut test_client) = start_with_three(mode);
        for round in 0..20 {
            let value = |session: u32| format!("{round}-{session}");
            let done = both_change(&mut test_client, value);
            assert_eq!(done.len(), 1, "{mode}");
            let row = format!("field0={} field1=b", value(done[0]));
            test_client.expect(&read("user1"), RequestResult::row(&row));
        }
    }
}

/// Sessions 1 and 2 read a record, then both change it; those whose commit went through.
fn both_change(test_client: &mut TestClient, value: impl Fn(u32) -> String) -> Vec<u32> {
    for session in [1, 2] {
        test_client.begin(session);
        test_client.send(&read("user1").of(session));
    }
    // The second may have to wait for the first one's lock, which its commit ends.
    let sent = [1, 2].map(|at| test_client.start(&update("user1", &[&value(at)]).of(at)));
    let mut done = Vec::new();
    for _ in 0..2 {
        let (ticket, result) = test_client.take(1).remove(0);
        let session = if ticket == sent[0] { 1 } else { 2 };
        let result = match result {
            RequestResult::Done(..) => commit_beside(test_client, session),
            refused => refused,
        };
        match result {
            RequestResult::Done(..) => done.push(session),
            refused => assert_eq!(refused, CONFLICT),
        }
    }
    done
}

/// Commits while another session's step may be under way, whose answer is kept for later.
fn commit_beside(test_client: &mut TestClient, session: u32) -> RequestResult {
    let commit = test_client.start(&TestRequest { kind: Kind::Commit, ..read("") }.of(session));
    test_client.take_of(commit)
}

#[test]
fn a_conflict_in_one_record_leaves_no_lock_on_the_others() {
    for mode in MODES {
        let (_cluster, mut test_client) = start_with_three(mode);
        test_client.begin(1);
        test_client.expect(&read("user3").of(1), RequestResult::row("field0=a field1=b"));
        test_client.expect(&update("user1", &["x"]).of(1), RequestResult::WRITTEN);
        test_client.expect(&update("user2", &["x"]).of(1), RequestResult::WRITTEN);
        test_client.expect(&update("user3", &["y"]), RequestResult::WRITTEN);
        refuses(&mut test_client, mode, &update("user3", &["x"]).of(1));
        nothing_is_locked(&mut test_client, mode);
    }
}

#[test]
fn a_record_that_is_not_there_is_locked_at_most() {
    for mode in MODES {
        let (_cluster, mut test_client) = start_with_three(mode);
        test_client.begin(1);
        test_client.expect(&update("user9", &["x"]).of(1), RequestResult::MISSING);
        test_client.expect(&delete("user8").of(1), RequestResult::MISSING);
        test_client.expect(&update("user1", &["c"]).of(1), RequestResult::WRITTEN);
        assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN, "{mode}");
        test_client.expect(&read("user1"), RequestResult::row("field0=c field1=b"));
        test_client.expect(&read("user9"), RequestResult::MISSING);
        test_client.begin(1);
        test_client.expect(&update("user9", &["x"]).of(1), RequestResult::MISSING);
        assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN, "{mode}");
        nothing_is_locked(&mut test_client, mode);
    }
}

#[test]
fn a_record_is_changed_again_and_again_in_one_transaction() {
    for mode in MODES {
        let (_cluster, mut test_client) = start_with_three(mode);
        test_client.begin(1);
        test_client.expect(&update("user1", &["c"]).of(1), RequestResult::WRITTEN);
        test_client.expect(&update("user1", &["c", "d"]).of(1), RequestResult::WRITTEN);
        test_client.expect(&update("user1", &["e"]).of(1), RequestResult::WRITTEN);
        test_client.expect(&read("user1").of(1), RequestResult::row("field0=e field1=d"));
        test_client.expect(&delete("user2").of(1), RequestResult::WRITTEN);
        test_client.expect(&update("user2", &["x"]).of(1), RequestResult::MISSING);
        test_client.expect(&insert("user2", &["x", "y"]).of(1), RequestResult::WRITTEN);
        test_client.expect(&insert("user4", &["x", "y"]).of(1), RequestResult::WRITTEN);
        test_client.expect(&delete("user4").of(1), RequestResult::WRITTEN);
        assert_eq!(test_client.end(1, Kind::Commit), RequestResult::WRITTEN, "{mode}");
        test_client.expect(&read("user1"), RequestResult::row("field0=e field1=d"));
        test_client.expect(&read("user2"), RequestResult::row("field0=x field1=y"));
        test_client.expect(&read("user4"), RequestResult::MISSING);
    }
}

#[test]
fn a_step_that_is_refused_undoes_the_transaction() {
    for mode in MODES {
        let (_cluster, mut test_client) = start_with_three(mode);
        half_way(&mut test_client);
        // That it is more than TiKV takes is found when it is sent, which is as it commits.
        let value = "x".repeat(9 << 20);
        let result = match test_client.send(&insert("user3", &[&value, "b"]).of(1)) {
            RequestResult::Done(..) => test_client.end(1, Kind::Commit),
            refused => refused,
        };
        assert_eq!(result, RequestResult::Refused(Reason::Malformed), "{mode}");
        assert_eq!(
            test_client.end(1, Kind::Commit),
            RequestResult::Refused(Reason::TransactionFailed),
            "{mode}"
        );
        sees_at_last(&mut test_client, &[before()], mode);
    }
}

#[test]
fn a_transaction_whose_locks_outlived_their_time_is_refused_not_lost() {
    let (_cluster, mut test_client) = start_with_three("pessimistic");
    half_way(&mut test_client);
    let begun = Instant::now();
    loop {
        match test_client.send(&update("user1", &["theirs"])) {
            RequestResult::Done(..) => break,
            result => assert_eq!(result, CONFLICT),
        }
        assert!(begun.elapsed() < OUTLIVES_LOCKS, "a lock lives for ever");
    }
    assert_eq!(test_client.end(1, Kind::Commit), CONFLICT);
    test_client.expect(&read("user1"), RequestResult::row("field0=theirs field1=b"));
    test_client.expect(&read("user0"), RequestResult::MISSING);
}

#[test]
fn a_server_killed_in_an_open_transaction_has_undone_it() {
    for mode in MODES {
        let mut cluster = start();
        let url = cluster.url(&format!("?mode={mode}&connections=2&connect_timeout=1000"));
        let mut test_client = with_three(&url);
        half_way(&mut test_client);
        cluster.kill(1);
        let result = test_client.send(&read("user3").of(1));
        assert!([LOST, UNREACHABLE].contains(&result), "{mode}: {result:?}");
        let result = test_client.end(1, Kind::Commit);
        assert_eq!(result, RequestResult::Refused(Reason::TransactionFailed), "{mode}");
        cluster.restart(1);
        test_client.send_until(&read("user3"), &RequestResult::row("field0=a field1=b"));
        sees_at_last(&mut test_client, &[before()], mode);
    }
}

#[test]
fn a_commit_whose_answer_is_lost_is_unknown_and_whole() {
    for mode in MODES {
        let mut cluster = start();
        let url = cluster.url(&format!("?mode={mode}&connections=2&connect_timeout=1000"));
        let mut test_client = with_three(&url);
        half_way(&mut test_client);
        cluster.freeze(1);
        let commit = test_client.start(&TestRequest { kind: Kind::Commit, ..read("") }.of(1));
        assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
        cluster.kill(1);
        assert_eq!(test_client.take(1), [(commit, LOST)], "{mode}");
        cluster.restart(1);
        test_client.send_until(&read("user3"), &RequestResult::row("field0=a field1=b"));
        sees_at_last(&mut test_client, &[before(), afterwards()], mode);
    }
}

/// Looks at all records as soon as nobody is in the way of that; one of `may_be` is there.
fn sees_at_last(test_client: &mut TestClient, may_be: &[Vec<RequestResult>], mode: &str) {
    let begun = Instant::now();
    loop {
        let found = observed(test_client, 2);
        if !found.contains(&CONFLICT) {
            return assert!(may_be.contains(&found), "{mode}: {found:?}");
        }
        assert!(begun.elapsed() < OUTLIVES_LOCKS, "a lock lives for ever");
    }
}
