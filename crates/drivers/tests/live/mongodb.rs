//! The MongoDB driver against FerretDB, which speaks MongoDB's protocol without being MongoDB.
//!
//! A mongod cannot be had from Debian or the package clients that the lab uses. The tests of
//! [`real`] run against one where `ASSAY_TEST_MONGODB_URL` names it, with a database of its own.

mod faults;
mod opening;
mod real;

use assay_drivers::mongodb::MongoDb;
use assay_model::Reason;
use assay_store::conformance::{assert_conforms, find_mark, leave_mark};

use crate::asker::{Asker, Told, delete, insert, read, scan, update};
use crate::lab::Cluster;
use crate::ordeal::keeps_its_length;

fn store(url: &str) -> MongoDb {
    MongoDb::from_url(url).expect("the test writes right URLs")
}

fn asker(url: &str) -> Asker {
    Asker::open(&store(url)).expect("the server is there")
}

#[test]
fn ferretdb_conforms() {
    let cluster = Cluster::start("ferretdb", 1);
    assert_conforms(&store(&cluster.url("?connections=3")));
    assert_conforms(&store(&cluster.url("?keys=bytes")));
}

#[test]
fn what_was_settled_survives_kill_9() {
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
    let mut asker = Asker::open_wide(&store, 10).expect("the server is there");
    let record = keeps_its_length(&mut asker);
    assert_eq!(asker.ask(&scan("user090", 20)), Told::Done(true, vec![record; 10]));
}

#[test]
fn an_answer_says_what_was_there() {
    let cluster = Cluster::start("ferretdb", 1);
    let mut asker = asker(&cluster.url("?connections=1"));
    assert_eq!(asker.ask(&update("user1", &["a", "b"])), Told::MISSING);
    assert_eq!(asker.ask(&delete("user1")), Told::MISSING);
    assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    assert_eq!(asker.ask(&insert("user1", &["c", "d"])), Told::Refused(Reason::Exists));
    // A value that is the same is found all the same.
    assert_eq!(asker.ask(&update("user1", &["a"])), Told::WRITTEN);
    assert_eq!(asker.ask(&update("user1", &[])), Told::Refused(Reason::Malformed));
    assert_eq!(asker.ask(&read("user1")), Told::row("field0=a field1=b"));
    assert_eq!(asker.ask(&delete("user1")), Told::WRITTEN);
    assert_eq!(asker.ask(&read("user1")), Told::MISSING);
    assert_eq!(asker.ask(&scan("", 10)), Told::MISSING);
}
