//! The MongoDB driver against FerretDB, which speaks MongoDB's protocol without being MongoDB.
//!
//! A mongod cannot be had from Debian or the package clients that the lab uses. The tests of
//! [`real`] run against one where `ASSAY_TEST_MONGODB_URL` names it, with a database of its own.

mod opening;
mod real;

use assay_model::Reason;

use crate::lab::Cluster;
use crate::ordeal::Scans;
use crate::rows::test_rows;
use crate::stores::test_client;
use crate::test_client::{RequestResult, delete, insert, read, scan, update};

test_rows! { ordeal, Cluster::start("ferretdb", 1);
    it_conforms(&["?connections=3", "?keys=bytes"]);
    a_killed_server_leaves_what_was_sent_unknown("?connections=2");
    a_frozen_server_is_unreachable_until_it_goes_on("?connections=1&connect_timeout=300");
    acknowledged_writes_survive_kill_9("?connections=8", 300);
    flushed_writes_survive_kill_9("");
    records_stay_as_long_as_they_were("", Scans::InOrder);
}

#[test]
fn a_response_tells_whether_the_record_existed() {
    let cluster = Cluster::start("ferretdb", 1);
    let mut test_client = test_client(&cluster.url("?connections=1"));
    test_client.expect(&update("user1", &["a", "b"]), RequestResult::MISSING);
    test_client.expect(&delete("user1"), RequestResult::MISSING);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&insert("user1", &["c", "d"]), RequestResult::Refused(Reason::Exists));
    // A value that is the same is found all the same.
    test_client.expect(&update("user1", &["a"]), RequestResult::WRITTEN);
    test_client.expect(&update("user1", &[]), RequestResult::Refused(Reason::Malformed));
    test_client.expect(&read("user1"), RequestResult::row("field0=a field1=b"));
    test_client.expect(&delete("user1"), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::MISSING);
    test_client.expect(&scan("", 10), RequestResult::MISSING);
}
