//! Tests of outcomes when the server is killed, suspended, or has locks left behind.

use std::collections::HashMap;
use std::time::Duration;

use assay_model::Reason;

use super::start;
use crate::ordeal::{LOST, UNREACHABLE, assert_found, insert_until_killed};
use crate::rows::test_rows;
use crate::stores::test_client;
use crate::test_client::{RequestResult, TestClient, insert, read, update};

test_rows! { ordeal, start();
    a_killed_server_leaves_what_was_sent_unknown("?mode=raw&connections=2");
}

#[test]
fn what_lost_its_server_before_it_wrote_did_not_happen() {
    // An update in raw mode reads first; a transaction requests a timestamp.
    for (mode, reason) in [
        ("raw", Reason::ConnectionLost),
        ("optimistic", Reason::Unreachable),
        ("pessimistic", Reason::Unreachable),
    ] {
        let mut cluster = start();
        let mut test_client =
            test_client(&cluster.url(&format!("?mode={mode}&connections=1&connect_timeout=1000")));
        test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
        cluster.freeze(1);
        let sent = test_client.start(&update("user1", &["c"]));
        assert_eq!(test_client.drain_for(Duration::from_millis(50)), []);
        cluster.kill(1);
        assert_eq!(test_client.take(1), [(sent, RequestResult::Refused(reason))], "{mode}");
        cluster.restart(1);
        test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
    }
}

#[test]
fn a_frozen_server_keeps_requests_waiting_until_it_goes_on() {
    for mode in ["raw", "optimistic", "pessimistic"] {
        let mut cluster = start();
        // In it a timestamp has to come too, after the pause that follows.
        let mut test_client =
            test_client(&cluster.url(&format!("?mode={mode}&connections=1&connect_timeout=5000")));
        test_client.expect(&insert("user0", &["a", "b"]), RequestResult::WRITTEN);
        cluster.freeze(1);
        let first = test_client.start(&insert("user1", &["a", "b"]));
        assert!(!test_client.is_ready());
        assert_eq!(test_client.drain_for(Duration::from_millis(100)), []);
        cluster.thaw(1);
        assert_eq!(test_client.take(1), [(first, RequestResult::WRITTEN)], "{mode}");
        cluster.freeze(1);
        // Given up by us, then by the pool or for want of a timestamp.
        let given_up = test_client.start(&read("user1"));
        test_client.abandon(given_up);
        let ended = test_client.take(1);
        assert!([LOST, UNREACHABLE].contains(&ended[0].1), "{mode}: {ended:?}");
        test_client.send_until(&read("user1"), &UNREACHABLE);
        cluster.thaw(1);
        test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
    }
}

#[test]
fn acknowledged_writes_survive_kill_9() {
    for mode in ["raw", "optimistic", "pessimistic"] {
        let mut cluster = start();
        let url = cluster.url(&format!("?mode={mode}&connections=32&connect_timeout=1000"));
        let mut test_client = test_client(&url);
        let ended = insert_until_killed(&mut cluster, &mut test_client, 300);
        let done = ended.values().filter(|result| **result == RequestResult::WRITTEN).count();
        assert!(done >= 300 && done < ended.len(), "{mode}: {done} of {} were done", ended.len());
        assert!(unknown_because(&ended).all(|reason| reason == Reason::ConnectionLost), "{mode}");
        cluster.restart(1);
        assert_true(&mut test_client, ended);
    }
}

/// Why what is unknown is so.
fn unknown_because(ended: &HashMap<u32, RequestResult>) -> impl Iterator<Item = Reason> {
    ended.values().filter_map(|result| match result {
        RequestResult::Unknown(reason) => Some(*reason),
        RequestResult::Done(..) | RequestResult::Refused(_) => None,
    })
}

/// What was done is there; what was refused is not.
pub fn assert_true(test_client: &mut TestClient, ended: HashMap<u32, RequestResult>) {
    test_client.send_until(&read("user0"), &RequestResult::row("field0=0 field1=x"));
    assert_found(test_client, ended, |test_client, key| match test_client.send(&read(key)) {
        // A lock that was left behind is waited for, then removed.
        RequestResult::Refused(Reason::Conflict) => test_client.send(&read(key)),
        found => found,
    });
}

#[test]
fn all_sessions_reconnect_to_a_restarted_server() {
    for mode in ["raw", "optimistic"] {
        let mut cluster = start();
        let url = cluster.url(&format!("?mode={mode}&connections=8&connect_timeout=500"));
        let mut test_client = test_client(&url);
        test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
        for _ in 0..2 {
            cluster.kill(1);
            test_client.send_until(&read("user1"), &UNREACHABLE);
            cluster.restart(1);
            test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
            // Each connection has come back after a second, or a little more.
            test_client.drain_for(Duration::from_millis(1500));
            let sent: Vec<_> = (0..8).map(|_| test_client.start(&read("user1"))).collect();
            let result = test_client.take(sent.len());
            assert!(
                result.iter().all(|(_, result)| *result == RequestResult::row("field0=a field1=b")),
                "{mode}"
            );
        }
    }
}
