//! Inserts that travel together, as a `BATCH`.

use assay_store::conformance::assert_conforms;

use super::shared::shared;
use crate::batches::{
    holds_what_was_loaded, refuses_alone_what_is_wrong, refuses_whole_what_is_too_large,
};
use crate::stores::{Settings, store, test_client};
use crate::test_client::TestClient;

#[test]
fn cassandra_conforms_with_batches() {
    assert_conforms(&*store(&shared("/batches?columns=bytes&batch=8&in_flight=16")));
    let rest = "/logged_batches?columns=bytes&batch=8&batch_type=logged&in_flight=1";
    assert_conforms(&*store(&shared(rest)));
}

#[test]
fn what_was_loaded_in_batches_is_there() {
    for batch_type in ["unlogged", "logged"] {
        let keyspace = format!("/loaded_{batch_type}");
        let mut single = test_client(&shared(&keyspace));
        let rest = format!("{keyspace}?batch=16&batch_type={batch_type}");
        holds_what_was_loaded(&mut test_client(&shared(&rest)), &mut single, false);
    }
}

/// A server refuses batches above 50 KiB that are of more than one partition.
#[test]
fn a_batch_that_is_too_large_is_refused_whole() {
    for batch_type in ["unlogged", "logged"] {
        let rest = format!("/large_{batch_type}?batch=3&batch_type={batch_type}");
        refuses_whole_what_is_too_large(&mut test_client(&shared(&rest)), 100_000);
    }
}

#[test]
fn of_a_batch_only_what_is_wrong_is_refused() {
    let store = store(&shared("/wrong_in_batch?batch=3&in_flight=1"));
    refuses_alone_what_is_wrong(&mut TestClient::open(&*store).unwrap());
    Settings::of(&*store).expect(&[("batch", "3 unlogged")]);
}
