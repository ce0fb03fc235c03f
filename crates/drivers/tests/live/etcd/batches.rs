//! Requests that travel together, as one transaction.

use assay_model::Reason;
use assay_store::Store;
use assay_store::conformance::assert_conforms;

use super::{start, store, test_client};
use crate::batches::{
    holds_what_was_loaded, read_together, refuses_alone_what_is_wrong,
    refuses_whole_what_is_too_large,
};
use crate::ordeal::keeps_what_it_has_done;
use crate::test_client::{RequestResult, TestClient, commit, insert, layout, read};

#[test]
fn etcd_conforms_with_batches() {
    let cluster = start(1);
    assert_conforms(&store(&cluster.url("/conformance?batch=8")));
    let one = "/conformance/again?batch=8&connections=2&read=serializable";
    assert_conforms(&store(&cluster.url(one)));
}

#[test]
fn what_was_loaded_in_batches_is_there() {
    let cluster = start(1);
    let (mut batched, mut single) =
        (test_client(&cluster.url("?batch=16")), test_client(&cluster.url("")));
    holds_what_was_loaded(&mut batched, &mut single, true);
}

#[test]
fn a_batch_that_is_too_large_is_refused_whole() {
    let cluster = start(1);
    let mut test_client = test_client(&cluster.url("?batch=3&connections=1"));
    refuses_whole_what_is_too_large(&mut test_client, 1_600_000);
}

#[test]
fn of_a_batch_only_what_is_wrong_is_refused() {
    let cluster = start(1);
    let ours = store(&cluster.url("/p?batch=3&connections=1"));
    ours.prepare(&layout(2)).unwrap();
    // The note of a store whose prefix is our table is a record of ours by its name.
    store(&cluster.url("/p/usertable")).keep_note(r#"{"field0":"eA=="}"#).unwrap();
    let mut test_client = TestClient::open(&ours).unwrap();
    refuses_alone_what_is_wrong(&mut test_client);
    let result = read_together(&mut test_client, &["a", "_assay", "missing"]);
    assert_eq!(
        result,
        [
            RequestResult::row("field0=1"),
            RequestResult::Refused(Reason::WrongType),
            RequestResult::MISSING
        ]
    );
}

#[test]
fn acknowledged_batches_survive_kill_9() {
    let mut cluster = start(1);
    let mut test_client = test_client(&cluster.url("?connections=4&batch=8"));
    keeps_what_it_has_done(&mut cluster, &mut test_client, 500);
}

#[test]
fn a_batch_after_a_commit_is_none() {
    let cluster = start(1);
    let mut test_client = test_client(&cluster.url("?batch=2&connections=1"));
    test_client.begin(1);
    assert_eq!(test_client.send(&insert("user0", &["a", "b"]).of(1)), RequestResult::WRITTEN);
    assert_eq!(test_client.send(&commit().of(1)), RequestResult::WRITTEN);
    let keys = ["user1", "user2"];
    for (session, key) in (2..).zip(keys) {
        test_client.start(&insert(key, &["c", "d"]).of(session));
    }
    let result: Vec<RequestResult> =
        test_client.take(keys.len()).into_iter().map(|(_, result)| result).collect();
    assert_eq!(result, [RequestResult::WRITTEN, RequestResult::WRITTEN]);
    for key in keys {
        assert_eq!(test_client.send(&read(key)), RequestResult::row("field0=c field1=d"), "{key}");
    }
}
