//! Requests that travel together, as one transaction.

use assay_model::Reason;

use super::start;
use crate::batches::{
    holds_what_was_loaded, read_together, refuses_alone_what_is_wrong,
    refuses_whole_what_is_too_large,
};
use crate::rows::test_rows;
use crate::stores::{store, test_client};
use crate::test_client::{RequestResult, TestClient, commit, insert, layout, read};

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
    let mut test_client = TestClient::open(&*ours).unwrap();
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

test_rows! { ordeal, start(1);
    it_conforms(&[
        "/conformance?batch=8",
        "/conformance/again?batch=8&connections=2&read=serializable",
    ]);
    acknowledged_writes_survive_kill_9("?connections=4&batch=8", 500);
}

#[test]
fn a_batch_after_a_commit_is_none() {
    let cluster = start(1);
    let mut test_client = test_client(&cluster.url("?batch=2&connections=1"));
    test_client.begin(1);
    test_client.expect(&insert("user0", &["a", "b"]).of(1), RequestResult::WRITTEN);
    test_client.expect(&commit().of(1), RequestResult::WRITTEN);
    let keys = ["user1", "user2"];
    for (session, key) in (2..).zip(keys) {
        test_client.start(&insert(key, &["c", "d"]).of(session));
    }
    let result: Vec<RequestResult> =
        test_client.take(keys.len()).into_iter().map(|(_, result)| result).collect();
    assert_eq!(result, [RequestResult::WRITTEN, RequestResult::WRITTEN]);
    for key in keys {
        test_client.expect(&read(key), RequestResult::row("field0=c field1=d"));
    }
}
