//! The NATS driver against real servers with JetStream.

mod cluster;
mod faults;
mod flood;
mod opening;

use assay_driver_nats::Nats;
use assay_lab::{Order, recipes};
use assay_model::Reason;
use assay_store::conformance::{assert_conforms, check, find_mark, leave_mark};

use crate::lab::Cluster;
use crate::ordeal::keeps_its_length;
use crate::test_client::{RequestResult, TestClient, delete, insert, read, update};

fn store(url: &str) -> Nats {
    Nats::from_url(url).expect("the test writes right URLs")
}

fn test_client(url: &str) -> TestClient {
    TestClient::open(&store(url)).expect("the server is there")
}

/// Servers that take messages large enough for a record of three MiB.
fn roomy(nodes: usize) -> Cluster {
    let recipe = recipes::find("nats").expect("there is one");
    Cluster::start_as(&Order::of(recipe).nodes(nodes).choose("max-payload", "8388608"))
}

#[test]
fn nats_conforms() {
    let cluster = roomy(1);
    assert_conforms(&store(&cluster.url("/direct")));
    assert_conforms(&store(&cluster.url("/leader?connections=3&read=leader&storage=memory")));
}

#[test]
fn nats_conforms_in_its_newest_version_too() {
    let recipe = recipes::find("nats").expect("there is one");
    let mut order = Order::of(recipe).nodes(1).choose("max-payload", "8388608");
    order.version = Some("2.15.2".into());
    let cluster = Cluster::start_as(&order);
    assert_conforms(&store(&cluster.url("/direct")));
    assert_conforms(&store(&cluster.url("/leader?read=leader")));
}

#[test]
fn records_above_the_largest_message_are_refused() {
    let cluster = Cluster::start("nats", 1);
    let findings = check(&store(&cluster.url("")));
    let rules: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
    let expected = [
        "a value of one MiB comes back unchanged",
        "a small value can be replaced by one of one MiB",
    ];
    assert_eq!(rules, expected, "{findings:#?}");
    assert!(findings.iter().all(|finding| finding.instead.contains("refused (malformed)")));
}

#[test]
fn flushed_writes_survive_kill_9() {
    let mut cluster = Cluster::start("nats", 1);
    leave_mark(&store(&cluster.url(""))).unwrap();
    cluster.kill(1);
    cluster.restart(1);
    find_mark(&store(&cluster.url(""))).unwrap();
}

#[test]
fn records_stay_as_long_as_they_were() {
    let cluster = Cluster::start("nats", 1);
    let store = store(&cluster.url(""));
    let mut test_client = TestClient::open_wide(&store, 10).unwrap();
    keeps_its_length(&mut test_client);
}

#[test]
fn updates_of_one_record_at_once_lose_nothing() {
    let cluster = Cluster::start("nats", 1);
    let store = store(&cluster.url("?connections=4"));
    let mut test_client = TestClient::open_wide(&store, 3).unwrap();
    assert_eq!(test_client.send(&insert("user1", &["0", "0", "0"])), RequestResult::WRITTEN);
    for round in 1..=50 {
        let value = round.to_string();
        for count in 0..4 {
            test_client.start(&update("user1", &vec![&*value; 1 + count % 3]));
        }
        assert!(test_client.take(4).iter().all(|(_, result)| *result == RequestResult::WRITTEN));
    }
    let row = RequestResult::row("field0=50 field1=50 field2=50");
    assert_eq!(test_client.send(&read("user1")), row);
}

#[test]
fn a_contended_record_ends_as_a_conflict() {
    let cluster = Cluster::start("nats", 1);
    let mut test_client = test_client(&cluster.url("?connections=64"));
    assert_eq!(test_client.send(&insert("user1", &["0", "0"])), RequestResult::WRITTEN);
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
        assert_eq!(test_client.send(&insert(key, &[key, "x"])), RequestResult::WRITTEN, "{key:?}");
    }
    for key in keys {
        let row = RequestResult::row(&format!("field0={key} field1=x"));
        assert_eq!(test_client.send(&read(key)), row, "{key:?}");
        assert_eq!(test_client.send(&delete(key)), RequestResult::WRITTEN, "{key:?}");
        assert_eq!(test_client.send(&delete(key)), RequestResult::MISSING, "{key:?}");
        assert_eq!(test_client.send(&update(key, &["y"])), RequestResult::MISSING, "{key:?}");
    }
    let long = "k".repeat(4000);
    assert_eq!(
        test_client.send(&insert(&long, &["a", "b"])),
        RequestResult::Refused(Reason::Malformed)
    );
    assert_eq!(test_client.send(&read("user1")), RequestResult::MISSING);
}
