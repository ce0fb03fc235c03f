//! Requests that travel together: one request to each region, or one transaction.

use assay_model::Reason;
use assay_store::conformance::assert_conforms;

use super::faults::assert_true;
use super::{MODES, order, start};
use crate::batches::{
    holds_what_was_loaded, read_together, refuses_alone_what_is_wrong,
    refuses_whole_what_is_too_large,
};
use crate::lab::Cluster;
use crate::ordeal::insert_until_killed;
use crate::stores::{store, test_client};
use crate::test_client::{RequestResult, insert, read};

#[test]
fn the_stand_in_conforms_with_batches_in_each_mode() {
    for mode in MODES {
        let cluster = start();
        assert_conforms(&*store(&cluster.url(&format!("{mode}&connections=4&batch=8"))));
        assert_conforms(&*store(&cluster.url(&format!("{mode}&connections=2&batch=8"))));
    }
}

#[test]
fn what_was_loaded_in_batches_is_there() {
    for mode in MODES {
        let cluster = start();
        let mut single = test_client(&cluster.url(mode));
        let mut batched = test_client(&cluster.url(&format!("{mode}&batch=16")));
        // A transaction is four requests and more, and so is a batch of sixteen.
        holds_what_was_loaded(&mut batched, &mut single, true);
    }
}

#[test]
fn batches_cross_regions() {
    for (split, options) in
        [("txn", "?mode=optimistic"), ("txn", "?mode=pessimistic"), ("raw", "&update=cas")]
    {
        let cluster = Cluster::start_marked(&order().choose("split", split));
        // With such regions the lab's own URL says raw.
        let mut single = test_client(&cluster.url(options));
        let mut batched = test_client(&cluster.url(&format!("{options}&batch=16")));
        holds_what_was_loaded(&mut batched, &mut single, true);
    }
}

#[test]
fn of_a_batch_only_what_is_wrong_is_refused() {
    for mode in MODES {
        let cluster = start();
        let mut test_client = test_client(&cluster.url(&format!("{mode}&batch=3&connections=1")));
        refuses_alone_what_is_wrong(&mut test_client);
        let result = read_together(&mut test_client, &["a", "missing", "c"]);
        let expected = [
            RequestResult::row("field0=1"),
            RequestResult::MISSING,
            RequestResult::row("field0=3 field1=4"),
        ];
        assert_eq!(result, expected, "{mode}");
    }
}

#[test]
fn a_transaction_that_is_too_large_is_refused_whole() {
    for mode in ["optimistic", "pessimistic"] {
        let cluster = start();
        let url = cluster.url(&format!("?mode={mode}&batch=3&connections=1"));
        refuses_whole_what_is_too_large(&mut test_client(&url), 9 << 20);
    }
}

/// In raw mode another region may have its part, so the outcome is unknown.
#[test]
fn acknowledged_batches_survive_kill_9() {
    for mode in ["raw", "optimistic", "pessimistic"] {
        let mut cluster = start();
        let rest = format!("?mode={mode}&connections=4&batch=8&connect_timeout=1000");
        let mut test_client = test_client(&cluster.url(&rest));
        let ended = insert_until_killed(&mut cluster, &mut test_client, 300);
        let done = ended.values().filter(|result| **result == RequestResult::WRITTEN).count();
        assert!(done >= 300 && done < ended.len(), "{mode}: {done} of {} were done", ended.len());
        cluster.restart(1);
        assert_true(&mut test_client, ended);
    }
}

/// Batches of several clients write the same records at once: each is whole in the end.
#[test]
fn batches_in_each_others_way_are_done_or_refused_whole() {
    for mode in ["optimistic", "pessimistic"] {
        let cluster = start();
        let url = cluster.url(&format!("?mode={mode}&connections=4&batch=4"));
        let mut test_client = test_client(&url);
        let keys = ["a", "b", "c", "d"];
        for round in 0..20 {
            let values = [0, 1, 2].map(|turn| format!("{round}-{turn}"));
            for value in &values {
                for key in keys {
                    test_client.start(&insert(key, &[value, value]));
                }
            }
            for (_, result) in test_client.take(values.len() * keys.len()) {
                let may_be = [RequestResult::WRITTEN, RequestResult::Refused(Reason::Conflict)];
                assert!(may_be.contains(&result), "{mode}: {result:?}");
            }
            // Each batch was all four, so the last one that was done wrote all four.
            let found = keys.map(|key| test_client.send(&read(key)));
            assert!(found.iter().all(|row| *row == found[0]), "{mode}: {found:?}");
        }
    }
}
