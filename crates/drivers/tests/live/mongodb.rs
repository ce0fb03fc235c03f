//! The MongoDB driver against FerretDB, which speaks MongoDB's protocol without being MongoDB.
//!
//! A mongod cannot be had from Debian or the package clients that the lab uses. The tests of
//! [`real`] run against one where `ASSAY_TEST_MONGODB_URL` names it, with a database of its own.

mod faults;
mod opening;
mod real;

use assay_driver_mongodb::MongoDb;
use assay_model::Reason;
use assay_store::conformance::{assert_conforms, find_mark, leave_mark};

use crate::lab::Cluster;
use crate::ordeal::keeps_its_length;
use crate::test_client::{RequestResult, TestClient, delete, insert, read, scan, update};

fn store(url: &str) -> MongoDb {
    MongoDb::from_url(url).expect("the test writes right URLs")
}

fn test_client(url: &str) -> TestClient {
    TestClient::open(&store(url)).expect("the server is there")
}

#[test]
fn ferretdb_conforms() {
    let cluster = Cluster::start("ferretdb", 1);
    assert_conforms(&store(&cluster.url("?connections=3")));
    assert_conforms(&store(&cluster.url("?keys=bytes")));
}

#[test]
fn flushed_writes_survive_kill_9() {
    let mut cluster = Cluster::start("ferretdb", 1);
    leave_mark(&store(&cluster.url(""))).unwrap();
    cluster.kill(1);
    cluster.restart(1);
    find_mark(&store(&cluster.url(""))).unwrap();
}

#[test]
fn records_stay_as_long_as_they_were() {
    let cluster = Cluster::start("ferretdb", 1);
    stays_as_long(&cluster.url(""));
}

/// Loads a hundred records, changes a field of each, then reads and scans them.
fn stays_as_long(url: &str) {
    let store = store(url);
    let mut test_client = TestClient::open_wide(&store, 10).expect("the server is there");
    let record = keeps_its_length(&mut test_client);
    assert_eq!(test_client.send(&scan("user090", 20)), RequestResult::Done(true, vec![record; 10]));
}

#[test]
fn a_response_tells_whether_the_record_existed() {
    let cluster = Cluster::start("ferretdb", 1);
    let mut test_client = test_client(&cluster.url("?connections=1"));
    assert_eq!(test_client.send(&update("user1", &["a", "b"])), RequestResult::MISSING);
    assert_eq!(test_client.send(&delete("user1")), RequestResult::MISSING);
    assert_eq!(test_client.send(&insert("user1", &["a", "b"])), RequestResult::WRITTEN);
    assert_eq!(
        test_client.send(&insert("user1", &["c", "d"])),
        RequestResult::Refused(Reason::Exists)
    );
    // A value that is the same is found all the same.
    assert_eq!(test_client.send(&update("user1", &["a"])), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&update("user1", &[])), RequestResult::Refused(Reason::Malformed));
    assert_eq!(test_client.send(&read("user1")), RequestResult::row("field0=a field1=b"));
    assert_eq!(test_client.send(&delete("user1")), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&read("user1")), RequestResult::MISSING);
    assert_eq!(test_client.send(&scan("", 10)), RequestResult::MISSING);
}
