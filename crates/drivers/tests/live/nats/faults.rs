//! Tests of outcomes when the server is killed or suspended.

use crate::lab::Cluster;
use crate::ordeal::{UNREACHABLE, comes_back, killed_while_it_stands_still};
use crate::rows::test_rows;
use crate::stores::test_client;
use crate::test_client::{RequestResult, insert, read};

#[test]
fn a_killed_server_leaves_what_was_sent_unknown() {
    let mut cluster = Cluster::start("nats", 1);
    let mut test_client = test_client(&cluster.url("?connections=2"));
    killed_while_it_stands_still(&mut cluster, &mut test_client);
    // A request without a connection is not kept for later.
    test_client.expect(&insert("user3", &["late", "x"]), UNREACHABLE);
    comes_back(&mut cluster, &mut test_client);
    test_client.expect(&read("user3"), RequestResult::MISSING);
}

test_rows! { ordeal, Cluster::start("nats", 1);
    an_update_that_lost_its_server_before_it_wrote_did_not_happen("?connections=1");
    a_frozen_server_is_unreachable_until_it_goes_on("?connections=1&connect_timeout=300");
    acknowledged_writes_survive_kill_9("", 500);
}
