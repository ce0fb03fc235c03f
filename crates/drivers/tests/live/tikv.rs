//! The TiKV driver against a stand-in, which speaks TiKV's protocol without being TiKV.
//!
//! TiKV's own servers cannot be had from the package clients that the lab uses. The stand-in is the
//! mock of TiKV's Go client: what transactions do there was written by those who write TiKV, so
//! these tests prove that ours find conflicts and keep what they promise. In raw mode the mock is a
//! LevelDB behind one lock: there they prove that requests are encoded correctly, and no more. The
//! tests of [`real`] run against a cluster where `ASSAY_TEST_TIKV_URL` names one.

mod batches;
mod faults;
mod opening;
mod real;
mod transactions;

use assay_lab::{Order, recipes};
use assay_model::Reason;
use assay_store::conformance::assert_conforms;

use crate::lab::Cluster;
use crate::ordeal::{self, Scans};
use crate::stores::{store, test_client};
use crate::test_client::{RequestResult, TestClient, delete, insert, read, scan, update};

/// What stands behind the host: each of the driver's modes, with its ways to update.
const MODES: [&str; 4] =
    ["?mode=optimistic", "?mode=pessimistic", "?mode=raw", "?mode=raw&update=put"];

fn order() -> Order {
    Order::of(recipes::find("tikv-standin").expect("the lab has the stand-in"))
}

/// The stand-in, which Go builds.
fn start() -> Cluster {
    Cluster::start_marked(&order())
}

#[test]
fn the_stand_in_conforms_in_each_mode() {
    // One for each mode: raw mode and transactions must not share a cluster.
    for mode in MODES {
        let cluster = start();
        assert_conforms(&*store(&cluster.url(&format!("{mode}&connections=4"))));
    }
}

#[test]
fn a_table_in_several_regions_conforms() {
    // The suite writes seven records at once: with many in flight conflicts would be refused.
    for (split, options) in [
        ("txn", "?mode=optimistic&connections=8"),
        ("txn", "?mode=pessimistic&connections=8"),
        ("raw", "&connections=8"),
    ] {
        let cluster = Cluster::start_marked(&order().choose("split", split));
        // With such regions the lab's own URL says raw.
        let url = cluster.url(options);
        assert_conforms(&*store(&url));
        scans_cross_regions(&url);
    }
}

/// Records whose keys begin with each digit, as YCSB's do, lie in four regions.
fn scans_cross_regions(url: &str) {
    let mut test_client = test_client(url);
    for number in 0..100 {
        test_client.expect(
            &insert(&format!("user{number:02}"), &[&number.to_string(), "x"]),
            RequestResult::WRITTEN,
        );
    }
    let rows = |from: u32, count: u32| {
        let row = |number| format!("field0={number} field1=x");
        RequestResult::Done(true, (from..from + count).map(row).collect())
    };
    for (from, limit) in [(0, 100), (0, 20), (19, 1), (19, 2), (20, 60), (15, 70)] {
        test_client.expect(&scan(&format!("user{from:02}"), limit), rows(from, limit));
    }
    // More than there are: it ends with the table, not with the last region.
    test_client.expect(&scan("user95", 1000), rows(95, 5));
    test_client.expect(&scan("", 1000), rows(0, 100));
    test_client.expect(&scan("user99z", 10), RequestResult::MISSING);
}

#[test]
fn flushed_writes_survive_kill_9() {
    for mode in MODES {
        ordeal::flushed_writes_survive_kill_9(&mut start(), mode);
    }
}

#[test]
fn records_stay_as_long_as_they_were() {
    for mode in MODES {
        ordeal::records_stay_as_long_as_they_were(&mut start(), mode, Scans::InOrder);
    }
}

#[test]
fn a_response_tells_whether_the_record_existed() {
    for mode in MODES {
        let cluster = start();
        let mut test_client = test_client(&cluster.url(&format!("{mode}&connections=1")));
        test_client.expect(&read("user1"), RequestResult::MISSING);
        test_client.expect(&update("user1", &["a", "b"]), RequestResult::MISSING);
        test_client.expect(&delete("user1"), RequestResult::MISSING);
        test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
        test_client.expect(&insert("user1", &["c", "d"]), RequestResult::WRITTEN);
        test_client.expect(&update("user1", &["e"]), RequestResult::WRITTEN);
        test_client.expect(&read("user1"), RequestResult::row("field0=e field1=d"));
        test_client.expect(&delete("user1"), RequestResult::WRITTEN);
        test_client.expect(&read("user1"), RequestResult::MISSING);
        test_client.expect(&scan("", 10), RequestResult::MISSING);
    }
}

/// Lets `count` sessions change one record at once, each to a value of its own; how each ended,
/// with its requests. One of those that were done has the last word.
fn change_at_once(
    test_client: &mut TestClient,
    count: usize,
    round: u32,
) -> Vec<(RequestResult, u16)> {
    let value = |place: usize| format!("{round}-{place}");
    let sent: Vec<_> =
        (0..count).map(|place| test_client.start(&update("user1", &[&value(place)]))).collect();
    let answered: std::collections::HashMap<_, _> = test_client.take(count).into_iter().collect();
    let ended: Vec<_> =
        sent.iter().map(|sent| (answered[sent].clone(), test_client.requests_of(*sent))).collect();
    let left = test_client.send(&read("user1"));
    let done = (0..count).filter(|&place| ended[place].0 == RequestResult::WRITTEN);
    let mut rows =
        done.map(|place| RequestResult::row(&format!("field0={} field1=x", value(place))));
    assert!(rows.any(|row| row == left), "{left:?} was left of {ended:?}");
    ended
}

#[test]
fn a_conflict_of_two_sessions_is_found() {
    // What an update takes that nobody is in the way of: the read, the swap; timestamp, read,
    // prewrite, timestamp, commit; the same with two locks, of a timestamp and a lock each.
    for (mode, usual) in [("raw", 2), ("optimistic", 5), ("pessimistic", 8)] {
        let cluster = start();
        let mut test_client = test_client(&cluster.url(&format!("?mode={mode}&connections=2")));
        test_client.expect(&insert("user1", &["0", "x"]), RequestResult::WRITTEN);
        assert_eq!(
            change_at_once(&mut test_client, 1, 1),
            [(RequestResult::WRITTEN, usual)],
            "{mode}"
        );
        let mut conflicts = 0;
        for round in 2..100 {
            let ended = change_at_once(&mut test_client, 2, round);
            assert!(
                ended.iter().all(|(result, _)| *result == RequestResult::WRITTEN),
                "{mode}: {ended:?}"
            );
            conflicts += ended.iter().filter(|(_, requests)| *requests > usual).count();
        }
        assert!(conflicts > 0, "{mode}: nobody was in anybody's way");
    }
}

#[test]
fn too_many_conflicts_are_refused_and_lose_nothing() {
    for mode in ["raw", "optimistic"] {
        let cluster = start();
        let mut test_client = test_client(&cluster.url(&format!("?mode={mode}&connections=40")));
        test_client.expect(&insert("user1", &["0", "x"]), RequestResult::WRITTEN);
        let mut is_refused = false;
        for round in 1..10 {
            let ended = change_at_once(&mut test_client, 40, round);
            for (result, _) in &ended {
                let may_be = [RequestResult::WRITTEN, RequestResult::Refused(Reason::Conflict)];
                assert!(may_be.contains(result), "{mode}: {result:?}");
            }
            is_refused |= ended.iter().any(|(result, _)| *result != RequestResult::WRITTEN);
        }
        assert!(is_refused, "{mode}: forty at once were never too many");
    }
}

#[test]
fn updates_of_other_fields_at_once_lose_nothing() {
    for mode in ["raw", "optimistic", "pessimistic"] {
        let cluster = start();
        let store = store(&cluster.url(&format!("?mode={mode}&connections=4")));
        let mut test_client = TestClient::open_wide(&*store, 4).unwrap();
        test_client.expect(&insert("user1", &["0", "0", "0", "0"]), RequestResult::WRITTEN);
        for round in 1..=50 {
            let value = round.to_string();
            let sent =
                [1, 2, 3].map(|count| test_client.start(&update("user1", &vec![&*value; count])));
            for (ticket, result) in test_client.take(sent.len()) {
                assert!(sent.contains(&ticket));
                assert_eq!(result, RequestResult::WRITTEN, "{mode}");
            }
            let row = format!("field0={value} field1={value} field2={value} field3=0");
            test_client.expect(&read("user1"), RequestResult::row(&row));
        }
    }
}

#[test]
fn what_is_too_large_is_refused_whole() {
    for mode in ["raw", "optimistic", "pessimistic"] {
        let cluster = start();
        let mut test_client = test_client(&cluster.url(&format!("?mode={mode}&connections=1")));
        test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
        let value = "x".repeat(9 << 20);
        test_client
            .expect(&insert("user1", &[&value, "b"]), RequestResult::Refused(Reason::Malformed));
        test_client.expect(&update("user1", &[&value]), RequestResult::Refused(Reason::Malformed));
        test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
        // Above what the library takes by itself.
        let value = "y".repeat(5 << 20);
        test_client.expect(&insert("user1", &[&value, "b"]), RequestResult::WRITTEN);
        let row = RequestResult::row(&format!("field0={value} field1=b"));
        test_client.expect(&read("user1"), &row);
    }
}
