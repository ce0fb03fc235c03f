//! Transactions of several requests.

use std::time::{Duration, Instant};

use assay_model::{Kind, Reason};
use assay_store::{Isolation, Store};

use super::{asker, order, start, store};
use crate::asker::{Asker, Question, Told, delete, insert, read, scan, update};
use crate::half_way::{afterwards, before, half_way, seen};
use crate::lab::Cluster;
use crate::ordeal::{LOST, UNREACHABLE};

/// The modes that have transactions.
const MODES: [&str; 2] = ["optimistic", "pessimistic"];
const CONFLICT: Told = Told::Refused(Reason::Conflict);
/// Longer than a lock lives, which is twenty seconds at most, on a slow machine.
const OUTLIVES_LOCKS: Duration = Duration::from_secs(120);

/// A client with records `user1`, `user2`, and `user3`.
fn with_three(url: &str) -> Asker {
    let mut asker = asker(url);
    for key in ["user1", "user2", "user3"] {
        assert_eq!(asker.ask(&insert(key, &["a", "b"])), Told::WRITTEN);
    }
    asker
}

/// The stand-in with the three records.
fn start_with_three(mode: &str) -> (Cluster, Asker) {
    let cluster = start();
    let asker = with_three(&cluster.url(&format!("?mode={mode}&connections=4")));
    (cluster, asker)
}

/// Nobody meets a lock that was left: each update takes its usual requests. One that is just being
/// given back is waited for, which is not counted, but not for as long as locks live.
fn nothing_is_locked(asker: &mut Asker, mode: &str) {
    let usual = if mode == "optimistic" { 5 } else { 8 };
    for key in ["user1", "user2", "user3"] {
        assert_eq!(asker.ask(&update(key, &["a", "b"])), Told::WRITTEN, "{mode}");
        assert_eq!(asker.last_requests(), usual, "{mode}");
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
        let (_cluster, mut asker) = start_with_three(mode);
        half_way(&mut asker);
        assert_eq!(seen(&mut asker, 2), before(), "{mode}");
        assert_eq!(seen(&mut asker, 1), afterwards(), "{mode}");
        assert_eq!(asker.end(1, Kind::Commit), Told::WRITTEN, "{mode}");
        assert_eq!(seen(&mut asker, 2), afterwards(), "{mode}");
        assert_eq!(seen(&mut asker, 1), afterwards(), "{mode}");
    }
}

#[test]
fn each_step_tells_its_requests() {
    // A timestamp; the lock, which takes two; the read of what is to be changed, or again a lock.
    for (mode, steps, commit) in
        [("optimistic", [1, 1, 1, 0, 0], 4), ("pessimistic", [3, 4, 4, 2, 0], 4)]
    {
        let (_cluster, mut asker) = start_with_three(mode);
        asker.begin(1);
        let asked = [
            insert("user0", &["n", "m"]),
            update("user1", &["c"]),
            delete("user2"),
            update("user1", &["d"]),
            read("user1"),
        ];
        for (question, requests) in asked.into_iter().zip(steps) {
            assert!(matches!(asker.ask(&question.of(1)), Told::Done(true, _)), "{mode}");
            assert_eq!(asker.last_requests(), requests, "{mode}");
        }
        assert_eq!(asker.end(1, Kind::Commit), Told::WRITTEN);
        assert_eq!(asker.last_requests(), commit, "{mode}");
        asker.begin(1);
        for requests in [2, 0] {
            assert_eq!(asker.ask(&read("user3").of(1)), Told::row("field0=a field1=b"));
            assert_eq!(asker.last_requests(), requests, "{mode}");
        }
        assert_eq!(asker.end(1, Kind::Commit), Told::WRITTEN);
        assert_eq!(asker.last_requests(), 0, "{mode}: nothing is to be made final");
    }
}

#[test]
fn what_was_rolled_back_or_left_is_gone_without_a_lock() {
    let ends: [fn(&mut Asker); 3] = [
        |asker| assert_eq!(asker.end(1, Kind::Rollback), Told::WRITTEN),
        |asker| asker.leave(1),
        |asker| {
            let step = asker.start(&update("user3", &["x"]).of(1));
            asker.abandon(step);
            // It is answered all the same.
            asker.take_of(step);
        },
    ];
    for (mode, end) in MODES.iter().flat_map(|mode| ends.map(|end| (*mode, end))) {
        let (_cluster, mut asker) = start_with_three(mode);
        half_way(&mut asker);
        end(&mut asker);
        assert_eq!(seen(&mut asker, 1), before(), "{mode}");
        nothing_is_locked(&mut asker, mode);
        assert_eq!(asker.end(1, Kind::Commit), Told::Refused(Reason::TransactionFailed));
        assert_eq!(seen(&mut asker, 1), before(), "{mode}");
    }
}

#[test]
fn a_scan_sees_what_the_transaction_wrote_in_every_region() {
    for mode in MODES {
        let split = order().choose("split", "txn");
        let cluster = Cluster::start_marked(&split);
        let mut asker = asker(&cluster.url(&format!("?mode={mode}&connections=2")));
        for number in (0..100).step_by(2) {
            let told = asker.ask(&insert(&format!("user{number:02}"), &["old", "x"]));
            assert_eq!(told, Told::WRITTEN);
        }
        // Afterwards there is 0, 1, 3, 4, 6, 7, 9 and so on: every third one is gone.
        asker.begin(1);
        for number in 0..100 {
            let key = format!("user{number:02}");
            let told = match (number % 3, number % 2) {
                (2, 0) => asker.ask(&delete(&key).of(1)),
                (2, _) => Told::WRITTEN,
                (_, 0) => asker.ask(&update(&key, &["new"]).of(1)),
                _ => asker.ask(&insert(&key, &["new", "x"]).of(1)),
            };
            assert_eq!(told, Told::WRITTEN, "{mode}");
        }
        let rows = |count| Told::Done(true, vec!["field0=new field1=x".to_owned(); count]);
        let check = |asker: &mut Asker, session| {
            for (from, limit, count) in
                [(0, 1000, 67), (0, 67, 67), (0, 1, 1), (18, 4, 4), (30, 30, 30), (97, 5, 2)]
            {
                let told = asker.ask(&scan(&format!("user{from:02}"), limit).of(session));
                assert_eq!(told, rows(count), "{mode} from {from}");
            }
        };
        check(&mut asker, 1);
        let old = Told::Done(true, vec!["field0=old field1=x".to_owned(); 50]);
        assert_eq!(asker.ask(&scan("", 1000)), old, "{mode}");
        assert_eq!(asker.end(1, Kind::Commit), Told::WRITTEN, "{mode}");
        check(&mut asker, 2);
    }
}

#[test]
fn a_transaction_reads_one_moment() {
    for mode in MODES {
        let (_cluster, mut asker) = start_with_three(mode);
        asker.begin(1);
        assert_eq!(asker.ask(&read("user1").of(1)), Told::row("field0=a field1=b"));
        half_way_of_another(&mut asker);
        assert_eq!(seen(&mut asker, 1), before(), "{mode}");
        let rows = vec!["field0=a field1=b".to_owned(); 3];
        assert_eq!(asker.ask(&scan("", 10).of(1)), Told::Done(true, rows), "{mode}");
        assert_eq!(asker.end(1, Kind::Commit), Told::WRITTEN);
        assert_eq!(seen(&mut asker, 1), afterwards(), "{mode}");
    }
}

/// The same changes, one by one.
fn half_way_of_another(asker: &mut Asker) {
    assert_eq!(asker.ask(&insert("user0", &["n", "m"]).of(2)), Told::WRITTEN);
    assert_eq!(asker.ask(&update("user1", &["c"]).of(2)), Told::WRITTEN);
    assert_eq!(asker.ask(&delete("user2").of(2)), Told::WRITTEN);
}

/// The last write of session 1 comes too late, which is found as it locks the record, or commits.
fn refuses(asker: &mut Asker, mode: &str, write: &Question<'_>) {
    if mode == "optimistic" {
        assert_eq!(asker.ask(write), Told::WRITTEN);
        assert_eq!(asker.end(1, Kind::Commit), CONFLICT);
    } else {
        assert_eq!(asker.ask(write), CONFLICT);
    }
}

#[test]
fn what_was_read_and_changed_by_another_is_not_overwritten() {
    // Session 1 has read all of it; each change is lost if it goes through, so one is enough.
    let writes: [(&str, Question<'_>); 4] = [
        ("update", update("user1", &["late"])),
        ("delete", delete("user1")),
        ("insert", insert("user0", &["late", "late"])),
        ("insert over", insert("user1", &["late", "late"])),
    ];
    for mode in MODES {
        for (name, write) in &writes {
            let (_cluster, mut asker) = start_with_three(mode);
            asker.begin(1);
            assert_eq!(seen(&mut asker, 1), before());
            half_way_of_another(&mut asker);
            refuses(&mut asker, mode, &Question { session: 1, ..*write });
            assert_eq!(seen(&mut asker, 1), afterwards(), "{mode}: {name}");
        }
    }
}

#[test]
fn a_scanned_record_that_was_changed_is_not_overwritten() {
    for mode in MODES {
        let (_cluster, mut asker) = start_with_three(mode);
        asker.begin(1);
        let rows = vec!["field0=a field1=b".to_owned(); 3];
        assert_eq!(asker.ask(&scan("", 10).of(1)), Told::Done(true, rows));
        assert_eq!(asker.ask(&update("user1", &["c"]).of(2)), Told::WRITTEN);
        refuses(&mut asker, mode, &update("user1", &["late"]).of(1));
        assert_eq!(asker.ask(&read("user1")), Told::row("field0=c field1=b"), "{mode}");
    }
}

#[test]
fn an_update_of_what_was_not_read_keeps_what_another_has_written() {
    for mode in MODES {
        let (_cluster, mut asker) = start_with_three(mode);
        asker.begin(1);
        assert_eq!(asker.ask(&read("user3").of(1)), Told::row("field0=a field1=b"));
        assert_eq!(asker.ask(&update("user1", &["c", "d"]).of(2)), Told::WRITTEN);
        assert_eq!(asker.ask(&update("user1", &["late"]).of(1)), Told::WRITTEN, "{mode}");
        // TiKV takes it if it was locked, the stand-in does not.
        let row = match asker.end(1, Kind::Commit) {
            Told::Done(..) if mode == "pessimistic" => "field0=late field1=d",
            told => {
                assert_eq!(told, CONFLICT, "{mode}");
                "field0=c field1=d"
            }
        };
        assert_eq!(asker.ask(&read("user1")), Told::row(row), "{mode}");
    }
}

#[test]
fn of_two_that_change_one_record_one_goes_through() {
    for mode in MODES {
        let (_cluster, mut asker) = start_with_three(mode);
        for round in 0..20 {
            let value = |session: u32| format!("{round}-{session}");
            let done = both_change(&mut asker, value);
            assert_eq!(done.len(), 1, "{mode}");
            let row = format!("field0={} field1=b", value(done[0]));
            assert_eq!(asker.ask(&read("user1")), Told::row(&row), "{mode}");
        }
    }
}

/// Sessions 1 and 2 read a record, then both change it; those whose commit went through.
fn both_change(asker: &mut Asker, value: impl Fn(u32) -> String) -> Vec<u32> {
    for session in [1, 2] {
        asker.begin(session);
        asker.ask(&read("user1").of(session));
    }
    // The second may have to wait for the first one's lock, which its commit ends.
    let sent = [1, 2].map(|at| asker.start(&update("user1", &[&value(at)]).of(at)));
    let mut done = Vec::new();
    for _ in 0..2 {
        let (ticket, told) = asker.take(1).remove(0);
        let session = if ticket == sent[0] { 1 } else { 2 };
        let told = match told {
            Told::Done(..) => commit_beside(asker, session),
            refused => refused,
        };
        match told {
            Told::Done(..) => done.push(session),
            refused => assert_eq!(refused, CONFLICT),
        }
    }
    done
}

/// Commits while another session's step may be under way, whose answer is kept for later.
fn commit_beside(asker: &mut Asker, session: u32) -> Told {
    let commit = asker.start(&Question { kind: Kind::Commit, ..read("") }.of(session));
    asker.take_of(commit)
}

#[test]
fn a_conflict_in_one_record_leaves_no_lock_on_the_others() {
    for mode in MODES {
        let (_cluster, mut asker) = start_with_three(mode);
        asker.begin(1);
        assert_eq!(asker.ask(&read("user3").of(1)), Told::row("field0=a field1=b"));
        assert_eq!(asker.ask(&update("user1", &["x"]).of(1)), Told::WRITTEN);
        assert_eq!(asker.ask(&update("user2", &["x"]).of(1)), Told::WRITTEN);
        assert_eq!(asker.ask(&update("user3", &["y"])), Told::WRITTEN);
        refuses(&mut asker, mode, &update("user3", &["x"]).of(1));
        nothing_is_locked(&mut asker, mode);
    }
}

#[test]
fn a_record_that_is_not_there_is_locked_at_most() {
    for mode in MODES {
        let (_cluster, mut asker) = start_with_three(mode);
        asker.begin(1);
        assert_eq!(asker.ask(&update("user9", &["x"]).of(1)), Told::MISSING, "{mode}");
        assert_eq!(asker.ask(&delete("user8").of(1)), Told::MISSING, "{mode}");
        assert_eq!(asker.ask(&update("user1", &["c"]).of(1)), Told::WRITTEN, "{mode}");
        assert_eq!(asker.end(1, Kind::Commit), Told::WRITTEN, "{mode}");
        assert_eq!(asker.ask(&read("user1")), Told::row("field0=c field1=b"), "{mode}");
        assert_eq!(asker.ask(&read("user9")), Told::MISSING, "{mode}");
        asker.begin(1);
        assert_eq!(asker.ask(&update("user9", &["x"]).of(1)), Told::MISSING, "{mode}");
        assert_eq!(asker.end(1, Kind::Commit), Told::WRITTEN, "{mode}");
        nothing_is_locked(&mut asker, mode);
    }
}

#[test]
fn a_record_is_changed_again_and_again_in_one_transaction() {
    for mode in MODES {
        let (_cluster, mut asker) = start_with_three(mode);
        asker.begin(1);
        assert_eq!(asker.ask(&update("user1", &["c"]).of(1)), Told::WRITTEN);
        assert_eq!(asker.ask(&update("user1", &["c", "d"]).of(1)), Told::WRITTEN);
        assert_eq!(asker.ask(&update("user1", &["e"]).of(1)), Told::WRITTEN);
        assert_eq!(asker.ask(&read("user1").of(1)), Told::row("field0=e field1=d"), "{mode}");
        assert_eq!(asker.ask(&delete("user2").of(1)), Told::WRITTEN);
        assert_eq!(asker.ask(&update("user2", &["x"]).of(1)), Told::MISSING, "{mode}");
        assert_eq!(asker.ask(&insert("user2", &["x", "y"]).of(1)), Told::WRITTEN);
        assert_eq!(asker.ask(&insert("user4", &["x", "y"]).of(1)), Told::WRITTEN);
        assert_eq!(asker.ask(&delete("user4").of(1)), Told::WRITTEN);
        assert_eq!(asker.end(1, Kind::Commit), Told::WRITTEN, "{mode}");
        assert_eq!(asker.ask(&read("user1")), Told::row("field0=e field1=d"), "{mode}");
        assert_eq!(asker.ask(&read("user2")), Told::row("field0=x field1=y"), "{mode}");
        assert_eq!(asker.ask(&read("user4")), Told::MISSING, "{mode}");
    }
}

#[test]
fn a_step_that_is_refused_undoes_the_transaction() {
    for mode in MODES {
        let (_cluster, mut asker) = start_with_three(mode);
        half_way(&mut asker);
        // That it is more than TiKV takes is found when it is sent, which is as it commits.
        let value = "x".repeat(9 << 20);
        let told = match asker.ask(&insert("user3", &[&value, "b"]).of(1)) {
            Told::Done(..) => asker.end(1, Kind::Commit),
            refused => refused,
        };
        assert_eq!(told, Told::Refused(Reason::Malformed), "{mode}");
        assert_eq!(asker.end(1, Kind::Commit), Told::Refused(Reason::TransactionFailed), "{mode}");
        sees_at_last(&mut asker, &[before()], mode);
    }
}

#[test]
fn a_transaction_whose_locks_outlived_their_time_is_refused_not_lost() {
    let (_cluster, mut asker) = start_with_three("pessimistic");
    half_way(&mut asker);
    let begun = Instant::now();
    loop {
        match asker.ask(&update("user1", &["theirs"])) {
            Told::Done(..) => break,
            told => assert_eq!(told, CONFLICT),
        }
        assert!(begun.elapsed() < OUTLIVES_LOCKS, "a lock lives for ever");
    }
    assert_eq!(asker.end(1, Kind::Commit), CONFLICT);
    assert_eq!(asker.ask(&read("user1")), Told::row("field0=theirs field1=b"));
    assert_eq!(asker.ask(&read("user0")), Told::MISSING);
}

#[test]
fn a_server_killed_in_an_open_transaction_has_undone_it() {
    for mode in MODES {
        let mut cluster = start();
        let url = cluster.url(&format!("?mode={mode}&connections=2&connect_timeout=1000"));
        let mut asker = with_three(&url);
        half_way(&mut asker);
        cluster.kill(1);
        let told = asker.ask(&read("user3").of(1));
        assert!([LOST, UNREACHABLE].contains(&told), "{mode}: {told:?}");
        let told = asker.end(1, Kind::Commit);
        assert_eq!(told, Told::Refused(Reason::TransactionFailed), "{mode}");
        cluster.restart(1);
        asker.ask_until(&read("user3"), &Told::row("field0=a field1=b"));
        sees_at_last(&mut asker, &[before()], mode);
    }
}

#[test]
fn a_commit_whose_answer_is_lost_is_unknown_and_whole() {
    for mode in MODES {
        let mut cluster = start();
        let url = cluster.url(&format!("?mode={mode}&connections=2&connect_timeout=1000"));
        let mut asker = with_three(&url);
        half_way(&mut asker);
        cluster.freeze(1);
        let commit = asker.start(&Question { kind: Kind::Commit, ..read("") }.of(1));
        assert_eq!(asker.drain_for(Duration::from_millis(100)), []);
        cluster.kill(1);
        assert_eq!(asker.take(1), [(commit, LOST)], "{mode}");
        cluster.restart(1);
        asker.ask_until(&read("user3"), &Told::row("field0=a field1=b"));
        sees_at_last(&mut asker, &[before(), afterwards()], mode);
    }
}

/// Looks at all records as soon as nobody is in the way of that; one of `may_be` is there.
fn sees_at_last(asker: &mut Asker, may_be: &[Vec<Told>], mode: &str) {
    let begun = Instant::now();
    loop {
        let found = seen(asker, 2);
        if !found.contains(&CONFLICT) {
            return assert!(may_be.contains(&found), "{mode}: {found:?}");
        }
        assert!(begun.elapsed() < OUTLIVES_LOCKS, "a lock lives for ever");
    }
}
