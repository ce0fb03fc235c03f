//! Tests of outcomes when the server fails, is full, or invalidates the token.

use assay_model::Reason;

use super::{order, start};
use crate::lab::Cluster;
use crate::rows::test_rows;
use crate::stores::test_client;
use crate::test_client::{RequestResult, insert, read};

test_rows! { ordeal, start(1);
    a_killed_server_leaves_what_was_sent_unknown("?connections=2");
    an_update_that_lost_its_server_before_it_wrote_did_not_happen("?connections=1");
    a_frozen_server_is_unreachable_until_it_goes_on("?connections=1&connect_timeout=300");
    acknowledged_writes_survive_kill_9("?connections=32", 500);
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
