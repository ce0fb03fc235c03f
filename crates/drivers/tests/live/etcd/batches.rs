//! Requests that travel together, as one transaction.

use assay_model::Reason;
use assay_store::Store;
use assay_store::conformance::assert_conforms;

use super::{asker, start, store};
use crate::asker::{Asker, Told, layout, read};
use crate::batches::{holds_what_was_loaded, insert_together, read_together};
use crate::ordeal::keeps_what_it_has_done;

#[test]
fn etcd_conforms_with_batches() {
    let cluster = start(1);
    assert_conforms(&store(&cluster.url("/conformance?batch=8")));
    let one = "/conformance/again?batch=8&connections=1&read=serializable";
    assert_conforms(&store(&cluster.url(one)));
}

#[test]
fn what_was_loaded_in_batches_is_there() {
    let cluster = start(1);
    let (mut batched, mut single) = (asker(&cluster.url("?batch=16")), asker(&cluster.url("")));
    holds_what_was_loaded(&mut batched, &mut single, true);
}

#[test]
fn a_batch_that_is_too_large_is_refused_whole() {
    let cluster = start(1);
    let mut asker = asker(&cluster.url("?batch=3&connections=1"));
    let large = "x".repeat(1_600_000);
    let records: [(&str, &[&str]); 3] = [("a", &["1"]), ("b", &[&large]), ("c", &["3"])];
    let refused = Told::Refused(Reason::Malformed);
    assert_eq!(insert_together(&mut asker, &records), [&refused; 3].map(Told::clone));
    for key in ["a", "b", "c"] {
        assert_eq!(asker.ask(&read(key)), Told::MISSING);
    }
}

#[test]
fn of_a_batch_only_what_is_wrong_is_refused() {
    let cluster = start(1);
    let ours = store(&cluster.url("/p?batch=3&connections=1"));
    ours.prepare(&layout(2)).unwrap();
    // The note of a store whose prefix is our table is a record of ours by its name.
    store(&cluster.url("/p/usertable")).keep_note(r#"{"field0":"eA=="}"#).unwrap();
    let mut asker = Asker::open(&ours).unwrap();
    // A record has two fields, not three.
    let records: [(&str, &[&str]); 3] = [("a", &["1"]), ("b", &["1", "2", "3"]), ("c", &["3"])];
    let told = insert_together(&mut asker, &records);
    assert_eq!(told, [Told::WRITTEN, Told::Refused(Reason::Malformed), Told::WRITTEN]);
    let told = read_together(&mut asker, &["a", "_assay", "c"]);
    let wrong = Told::Refused(Reason::WrongType);
    assert_eq!(told, [Told::row("field0=1"), wrong, Told::row("field0=3")]);
}

#[test]
fn no_batch_is_done_that_did_not_survive_kill_9() {
    let mut cluster = start(1);
    let mut asker = asker(&cluster.url("?connections=4&batch=8"));
    keeps_what_it_has_done(&mut cluster, &mut asker, 500);
}
