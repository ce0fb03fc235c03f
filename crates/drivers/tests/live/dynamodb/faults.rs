//! Tests of outcomes when the server fails, or loses its tables.

use std::time::Duration;

use assay_model::Reason;

use super::start;
use crate::ordeal::{UNREACHABLE, killed_while_it_stands_still};
use crate::rows::test_rows;
use crate::stores::test_client;
use crate::test_client::{RequestResult, insert, read};

test_rows! { ordeal, start();
    a_frozen_server_is_unreachable_until_it_goes_on("?connections=1&connect_timeout=300");
}

/// It keeps everything in memory, its tables too.
#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut cluster = start();
    let mut test_client = test_client(&cluster.url("?connections=2"));
    killed_while_it_stands_still(&mut cluster, &mut test_client);
    cluster.restart(1);
    test_client.send_until(&read("user1"), &RequestResult::Refused(Reason::Malformed));
}

#[test]
fn a_connection_that_broke_while_it_was_idle_sends_nothing() {
    let mut cluster = start();
    let mut test_client = test_client(&cluster.url("?connections=1"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    cluster.kill(1);
    assert_eq!(test_client.drain_for(Duration::from_millis(50)), []);
    test_client.expect(&insert("user1", &["a", "b"]), UNREACHABLE);
}
