//! A transaction that is not over: of four records it makes, changes, removes one each.

use crate::asker::{Asker, Told, delete, insert, read, update};

/// Session 1 begins, makes `user0`, changes `user1`, removes `user2`.
pub fn half_way(asker: &mut Asker) {
    asker.begin(1);
    assert_eq!(asker.ask(&insert("user0", &["n", "m"]).of(1)), Told::WRITTEN);
    assert_eq!(asker.ask(&update("user1", &["c"]).of(1)), Told::WRITTEN);
    assert_eq!(asker.ask(&delete("user2").of(1)), Told::WRITTEN);
}

/// What `session` sees of the four records.
pub fn seen(asker: &mut Asker, session: u32) -> Vec<Told> {
    let keys = ["user0", "user1", "user2", "user3"];
    keys.map(|key| asker.ask(&read(key).of(session))).to_vec()
}

/// What was there before it.
pub fn before() -> Vec<Told> {
    let row = Told::row("field0=a field1=b");
    vec![Told::MISSING, row.clone(), row.clone(), row]
}

/// What is there once it is committed.
pub fn afterwards() -> Vec<Told> {
    let (made, changed) = (Told::row("field0=n field1=m"), Told::row("field0=c field1=b"));
    vec![made, changed, Told::MISSING, Told::row("field0=a field1=b")]
}
