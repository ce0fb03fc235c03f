//! The NATS driver against real servers with JetStream.

mod cluster;
mod faults;
mod flood;
mod opening;

use assay_lab::{Order, recipes};
use assay_model::Reason;
use assay_store::conformance::assert_conforms;

use crate::lab::Cluster;
use crate::ordeal::Scans;
use crate::rows::test_rows;
use crate::stores::{ONE_MIB, REPLACED_BY_ONE_MIB, assert_conforms_but_for, store, test_client};
use crate::test_client::{RequestResult, TestClient, delete, insert, read, update};

/// Servers that take messages large enough for a record of three MiB.
fn roomy(nodes: usize) -> Cluster {
    let recipe = recipes::find("nats").expect("there is one");
    Cluster::start_as(&Order::of(recipe).nodes(nodes).choose("max-payload", "8388608"))
}

test_rows! { ordeal, roomy(1);
    it_conforms(&["/direct", "/leader?connections=3&read=leader&storage=memory"]);
}

test_rows! { ordeal, Cluster::start("nats", 1);
    flushed_writes_survive_kill_9("");
    records_stay_as_long_as_they_were("", Scans::Unsupported);
}

#[test]
fn nats_conforms_in_its_newest_version_too() {
    let recipe = recipes::find("nats").expect("there is one");
    let mut order = Order::of(recipe).nodes(1).choose("max-payload", "8388608");
    order.version = Some("2.15.2".into());
    let cluster = Cluster::start_as(&order);
    assert_conforms(&*store(&cluster.url("/direct")));
    assert_conforms(&*store(&cluster.url("/leader?read=leader")));
}

#[test]
fn records_above_the_largest_message_are_refused() {
    let cluster = Cluster::start("nats", 1);
    assert_conforms_but_for(&cluster.url(""), &[ONE_MIB, REPLACED_BY_ONE_MIB]);
}

#[test]
fn updates_of_one_record_at_once_lose_nothing() {
    let cluster = Cluster::start("nats", 1);
    let store = store(&cluster.url("?connections=4"));
    let mut test_client = TestClient::open_wide(&*store, 3).unwrap();
    test_client.expect(&insert("user1", &["0", "0", "0"]), RequestResult::WRITTEN);
    for round in 1..=50 {
        let value = round.to_string();
        for count in 0..4 {
            test_client.start(&update("user1", &vec![&*value; 1 + count % 3]));
        }
        assert!(test_client.take(4).iter().all(|(_, result)| *result == RequestResult::WRITTEN));
    }
    let row = RequestResult::row("field0=50 field1=50 field2=50");
    test_client.expect(&read("user1"), &row);
}

#[test]
fn a_contended_record_ends_as_a_conflict() {
    let cluster = Cluster::start("nats", 1);
    let mut test_client = test_client(&cluster.url("?connections=64"));
    test_client.expect(&insert("user1", &["0", "0"]), RequestResult::WRITTEN);
    for _ in 0..64 {
        test_client.start(&update("user1", &["1"]));
    }
    let answers = test_client.take(64);
    let conflicts =
        answers.iter().filter(|(_, result)| *result == RequestResult::Refused(Reason::Conflict));
    let written = answers.iter().filter(|(_, result)| *result == RequestResult::WRITTEN);
    let (conflicts, written) = (conflicts.count(), written.count());
    assert_eq!(conflicts + written, 64, "{answers:?}");
    assert!(conflicts > 0 && written >= 8, "{conflicts} conflicts, {written} written");
}

#[test]
fn keys_that_mean_something_in_a_subject_are_keys_like_others() {
    let cluster = Cluster::start("nats", 1);
    let mut test_client = test_client(&cluster.url(""));
    let keys = ["", ".", "a.b", "*", ">", "$JS.API.>", "=2E", "a b\r\n", "user:1/ä", "~"];
    for key in keys {
        test_client.expect(&insert(key, &[key, "x"]), RequestResult::WRITTEN);
    }
    for key in keys {
        let row = RequestResult::row(&format!("field0={key} field1=x"));
        test_client.expect(&read(key), &row);
        test_client.expect(&delete(key), RequestResult::WRITTEN);
        test_client.expect(&delete(key), RequestResult::MISSING);
        test_client.expect(&update(key, &["y"]), RequestResult::MISSING);
    }
    let long = "k".repeat(4000);
    test_client.expect(&insert(&long, &["a", "b"]), RequestResult::Refused(Reason::Malformed));
    test_client.expect(&read("user1"), RequestResult::MISSING);
}
