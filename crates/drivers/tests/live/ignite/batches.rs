//! Requests that travel together, by `getAll` or `putAll`.

use super::faults::insert_around;
use super::{IN_TURN, ONE, THREE};
use crate::batches::{holds_what_was_loaded, read_together, refuses_alone_what_is_wrong};
use crate::lab::Cluster;
use crate::ordeal::{Served, assert_kept, insert_until_killed};
use crate::rows::test_rows;
use crate::stores::test_client;
use crate::test_client::{RequestResult, read};

test_rows! { ordeal, IN_TURN.lend_alone();
    it_conforms(&[
        "/bytes?fields=bytes&batch=8",
        "/more?fields=bytes&atomicity=transactional&insert=put_if_absent&connections=2\
         &partition_awareness=off&batch=8",
    ]);
}

#[test]
fn what_was_loaded_in_batches_is_there() {
    let cluster = THREE.lend();
    for caches in ["atomic", "transactional"] {
        let rest = format!("/{caches}?backups=1&atomicity={caches}");
        let mut single = test_client(&cluster.url(&rest));
        let mut batched = test_client(&cluster.url(&format!("{rest}&batch=16")));
        holds_what_was_loaded(&mut batched, &mut single, true);
    }
}

#[test]
fn of_a_batch_only_what_is_wrong_is_refused() {
    let cluster = ONE.lend();
    let mut test_client = test_client(&cluster.url("?batch=3&connections=1"));
    refuses_alone_what_is_wrong(&mut test_client);
    let result = read_together(&mut test_client, &["a", "missing", "c"]);
    let expected = [
        RequestResult::row("field0=1"),
        RequestResult::MISSING,
        RequestResult::row("field0=3 field1=4"),
    ];
    assert_eq!(result, expected);
}

/// Of a node with persistence.
pub fn acknowledged_batches_survive_kill_9(cluster: &mut Cluster) {
    let mut test_client = test_client(&cluster.url("/batches?connections=4&batch=8"));
    let ended = insert_until_killed(cluster, &mut test_client, 500);
    cluster.restart(1);
    test_client.send_until(&read("user0"), &RequestResult::row("field0=0 field1=x"));
    assert_kept(&mut test_client, ended);
}

/// The second; it is dead afterwards.
pub fn batches_go_on_when_one_of_three_nodes_is_killed(cluster: &mut Cluster) {
    let mut test_client = test_client(&cluster.url("/batches?connections=4&backups=1&batch=8"));
    let ended = insert_around(&mut test_client, &mut || cluster.kill(2));
    let done = ended.values().filter(|result| **result == RequestResult::WRITTEN).count();
    assert!(done > ended.len() / 2, "only {done} of {} were done", ended.len());
    assert_kept(&mut test_client, ended);
}
