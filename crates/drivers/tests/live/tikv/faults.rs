//! What requests become when the server dies, stands still, or leaves locks behind.

use std::collections::HashMap;
use std::time::Duration;

use assay_model::Reason;

use super::{asker, start};
use crate::asker::{Asker, Told, insert, read, update};
use crate::ordeal::{
    LOST, UNREACHABLE, comes_back, insert_until_killed, killed_while_it_stands_still,
};

#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut cluster = start();
    let mut asker = asker(&cluster.url("?mode=raw&connections=2"));
    killed_while_it_stands_still(&mut cluster, &mut asker);
    comes_back(&mut cluster, &mut asker);
}

#[test]
fn what_lost_its_server_before_it_wrote_did_not_happen() {
    // An update in raw mode reads first; a transaction asks for a timestamp.
    for (mode, reason) in [
        ("raw", Reason::ConnectionLost),
        ("optimistic", Reason::Unreachable),
        ("pessimistic", Reason::Unreachable),
    ] {
        let mut cluster = start();
        let mut asker =
            asker(&cluster.url(&format!("?mode={mode}&connections=1&connect_timeout=1000")));
        assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
        cluster.freeze(1);
        let sent = asker.start(&update("user1", &["c"]));
        assert_eq!(asker.drain_for(Duration::from_millis(50)), []);
        cluster.kill(1);
        assert_eq!(asker.take(1), [(sent, Told::Refused(reason))], "{mode}");
        cluster.restart(1);
        asker.ask_until(&read("user1"), &Told::row("field0=a field1=b"));
    }
}

#[test]
fn a_frozen_server_keeps_requests_waiting_until_it_goes_on() {
    for mode in ["raw", "optimistic", "pessimistic"] {
        let mut cluster = start();
        // In it a timestamp has to come too, after the pause that follows.
        let mut asker =
            asker(&cluster.url(&format!("?mode={mode}&connections=1&connect_timeout=5000")));
        assert_eq!(asker.ask(&insert("user0", &["a", "b"])), Told::WRITTEN);
        cluster.freeze(1);
        let first = asker.start(&insert("user1", &["a", "b"]));
        assert!(!asker.is_ready());
        assert_eq!(asker.drain_for(Duration::from_millis(100)), []);
        cluster.thaw(1);
        assert_eq!(asker.take(1), [(first, Told::WRITTEN)], "{mode}");
        cluster.freeze(1);
        // Given up by us, then by the pool or for want of a timestamp.
        let given_up = asker.start(&read("user1"));
        asker.abandon(given_up);
        let ended = asker.take(1);
        assert!([LOST, UNREACHABLE].contains(&ended[0].1), "{mode}: {ended:?}");
        asker.ask_until(&read("user1"), &UNREACHABLE);
        cluster.thaw(1);
        asker.ask_until(&read("user1"), &Told::row("field0=a field1=b"));
    }
}

#[test]
fn nothing_is_done_that_did_not_survive_kill_9() {
    for mode in ["raw", "optimistic", "pessimistic"] {
        let mut cluster = start();
        let url = cluster.url(&format!("?mode={mode}&connections=32&connect_timeout=1000"));
        let mut asker = asker(&url);
        let ended = insert_until_killed(&mut cluster, &mut asker, 300);
        let done = ended.values().filter(|told| **told == Told::WRITTEN).count();
        assert!(done >= 300 && done < ended.len(), "{mode}: {done} of {} were done", ended.len());
        assert!(unknown_because(&ended).all(|reason| reason == Reason::ConnectionLost), "{mode}");
        cluster.restart(1);
        assert_true(&mut asker, ended, mode);
    }
}

/// Why what is unknown is so.
fn unknown_because(ended: &HashMap<u32, Told>) -> impl Iterator<Item = Reason> {
    ended.values().filter_map(|told| match told {
        Told::Unknown(reason) => Some(*reason),
        Told::Done(..) | Told::Refused(_) => None,
    })
}

/// What was done is there; what was refused is not.
pub fn assert_true(asker: &mut Asker, ended: HashMap<u32, Told>, mode: &str) {
    asker.ask_until(&read("user0"), &Told::row("field0=0 field1=x"));
    for (number, told) in ended {
        // A lock that was left behind is waited for, then removed.
        let found = match asker.ask(&read(&format!("user{number}"))) {
            Told::Refused(Reason::Conflict) => asker.ask(&read(&format!("user{number}"))),
            found => found,
        };
        let there = Told::row(&format!("field0={number} field1=x"));
        match told {
            Told::Done(..) => assert_eq!(found, there, "{mode}"),
            Told::Refused(_) => assert_eq!(found, Told::MISSING, "{mode}: {number} {told:?}"),
            Told::Unknown(_) => {
                assert!([there, Told::MISSING].contains(&found), "{mode}: {found:?}");
            }
        }
    }
}

#[test]
fn a_server_that_comes_back_is_asked_again_by_all() {
    for mode in ["raw", "optimistic"] {
        let mut cluster = start();
        let url = cluster.url(&format!("?mode={mode}&connections=8&connect_timeout=500"));
        let mut asker = asker(&url);
        assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
        for _ in 0..2 {
            cluster.kill(1);
            asker.ask_until(&read("user1"), &UNREACHABLE);
            cluster.restart(1);
            asker.ask_until(&read("user1"), &Told::row("field0=a field1=b"));
            // Each connection has come back after a second, or a little more.
            asker.drain_for(Duration::from_millis(1500));
            let sent: Vec<_> = (0..8).map(|_| asker.start(&read("user1"))).collect();
            let told = asker.take(sent.len());
            assert!(told.iter().all(|(_, told)| *told == Told::row("field0=a field1=b")), "{mode}");
        }
    }
}
