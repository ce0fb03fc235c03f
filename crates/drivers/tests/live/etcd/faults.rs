//! What requests become when the server fails, is full, or forgets who we are.

use assay_model::Reason;

use super::{asker, order, start};
use crate::asker::{Told, insert, read};
use crate::lab::Cluster;
use crate::ordeal::{
    UNREACHABLE, comes_back, goes_on, keeps_what_it_has_done, killed_before_an_update_is_written,
    killed_while_it_stands_still, stands_still,
};

#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut cluster = start(1);
    let mut asker = asker(&cluster.url("?connections=2"));
    killed_while_it_stands_still(&mut cluster, &mut asker);
    comes_back(&mut cluster, &mut asker);
}

#[test]
fn an_update_that_lost_its_server_before_it_wrote_did_not_happen() {
    let mut cluster = start(1);
    let mut asker = asker(&cluster.url("?connections=1"));
    killed_before_an_update_is_written(&mut cluster, &mut asker);
    comes_back(&mut cluster, &mut asker);
}

#[test]
fn a_frozen_server_keeps_requests_waiting_until_it_goes_on() {
    let mut cluster = start(1);
    let mut asker = asker(&cluster.url("?connections=1&connect_timeout=300"));
    stands_still(&mut cluster, &mut asker);
    asker.ask_until(&read("user1"), &UNREACHABLE);
    goes_on(&mut cluster, &mut asker);
}

#[test]
fn nothing_is_done_that_did_not_survive_kill_9() {
    let mut cluster = start(1);
    let mut asker = asker(&cluster.url("?connections=32"));
    keeps_what_it_has_done(&mut cluster, &mut asker, 500);
}

/// Far more records of a megabyte than a quota of eight takes.
const MANY: u32 = 500;

#[test]
fn a_database_at_its_quota_is_full() {
    let cluster = Cluster::start_as(&order(1).choose("quota-backend-bytes", "8000000"));
    let mut asker = asker(&cluster.url("?connections=1"));
    let value = "x".repeat(1_000_000);
    // The server notes how large it has become ten times a second, so a quick disk takes more.
    let told: Vec<Told> = (0..MANY)
        .map(|n| asker.ask(&insert(&format!("user{n}"), &[&value, "y"])))
        .scan(true, |goes_on, told| {
            std::mem::replace(goes_on, told == Told::WRITTEN).then_some(told)
        })
        .collect();
    assert_eq!(told[0], Told::WRITTEN);
    assert_eq!(told.last(), Some(&Told::Unknown(Reason::Full)), "after {}", told.len());
    // The one that crosses the quota is there in spite of the error; nobody can tell which it was.
    for (number, told) in told.iter().enumerate() {
        let is_there = asker.ask(&read(&format!("user{number}"))) != Told::MISSING;
        match told {
            Told::Done(..) => assert!(is_there, "{number}"),
            told => assert_eq!(*told, Told::Unknown(Reason::Full), "{number}"),
        }
    }
}
