//! Tests of outcomes when the server fails, is full, or invalidates the token.

use assay_model::Reason;

use super::{order, start, test_client};
use crate::lab::Cluster;
use crate::ordeal::{
    UNREACHABLE, comes_back, goes_on, keeps_what_it_has_done, killed_before_an_update_is_written,
    killed_while_it_stands_still, stands_still,
};
use crate::test_client::{RequestResult, insert, read};

#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut cluster = start(1);
    let mut test_client = test_client(&cluster.url("?connections=2"));
    killed_while_it_stands_still(&mut cluster, &mut test_client);
    comes_back(&mut cluster, &mut test_client);
}

#[test]
fn an_update_that_lost_its_server_before_it_wrote_did_not_happen() {
    let mut cluster = start(1);
    let mut test_client = test_client(&cluster.url("?connections=1"));
    killed_before_an_update_is_written(&mut cluster, &mut test_client);
    comes_back(&mut cluster, &mut test_client);
}

#[test]
fn a_frozen_server_keeps_requests_waiting_until_it_goes_on() {
    let mut cluster = start(1);
    let mut test_client = test_client(&cluster.url("?connections=1&connect_timeout=300"));
    stands_still(&mut cluster, &mut test_client);
    test_client.send_until(&read("user1"), &UNREACHABLE);
    goes_on(&mut cluster, &mut test_client);
}

#[test]
fn acknowledged_writes_survive_kill_9() {
    let mut cluster = start(1);
    let mut test_client = test_client(&cluster.url("?connections=32"));
    keeps_what_it_has_done(&mut cluster, &mut test_client, 500);
}

/// Far more records of a megabyte than a quota of eight takes.
const MANY: u32 = 500;

#[test]
fn a_database_at_its_quota_is_full() {
    let cluster = Cluster::start_as(&order(1).choose("quota-backend-bytes", "8000000"));
    let mut test_client = test_client(&cluster.url("?connections=1"));
    let value = "x".repeat(1_000_000);
    // The server notes how large it has become ten times a second, so a quick disk takes more.
    let result: Vec<RequestResult> = (0..MANY)
        .map(|n| test_client.send(&insert(&format!("user{n}"), &[&value, "y"])))
        .scan(true, |goes_on, result| {
            std::mem::replace(goes_on, result == RequestResult::WRITTEN).then_some(result)
        })
        .collect();
    assert_eq!(result[0], RequestResult::WRITTEN);
    assert_eq!(
        result.last(),
        Some(&RequestResult::Unknown(Reason::Full)),
        "after {}",
        result.len()
    );
    // The one that crosses the quota is there in spite of the error; nobody can tell which it was.
    for (number, result) in result.iter().enumerate() {
        let is_there = test_client.send(&read(&format!("user{number}"))) != RequestResult::MISSING;
        match result {
            RequestResult::Done(..) => assert!(is_there, "{number}"),
            result => assert_eq!(*result, RequestResult::Unknown(Reason::Full), "{number}"),
        }
    }
}
