//! A transaction that is not over: of four records it makes, changes, removes one each.

use crate::test_client::{RequestResult, TestClient, delete, insert, read, update};

/// Session 1 begins, makes `user0`, changes `user1`, removes `user2`.
pub fn half_way(test_client: &mut TestClient) {
    test_client.begin(1);
    test_client.expect(&insert("user0", &["n", "m"]).of(1), RequestResult::WRITTEN);
    test_client.expect(&update("user1", &["c"]).of(1), RequestResult::WRITTEN);
    test_client.expect(&delete("user2").of(1), RequestResult::WRITTEN);
}

/// What `session` sees of the four records.
pub fn observed(test_client: &mut TestClient, session: u32) -> Vec<RequestResult> {
    let keys = ["user0", "user1", "user2", "user3"];
    keys.map(|key| test_client.send(&read(key).of(session))).to_vec()
}

/// What was there before it.
pub fn before() -> Vec<RequestResult> {
    let row = RequestResult::row("field0=a field1=b");
    vec![RequestResult::MISSING, row.clone(), row.clone(), row]
}

/// What is there once it is committed.
pub fn afterwards() -> Vec<RequestResult> {
    let (made, changed) =
        (RequestResult::row("field0=n field1=m"), RequestResult::row("field0=c field1=b"));
    vec![made, changed, RequestResult::MISSING, RequestResult::row("field0=a field1=b")]
}
