//! One history per anomaly, with its verdicts.
//!
//! Columns: RC, RA, lost updates, causal, RR, SI, SS-SI, S-SI, SER, SS-SER, strict.

use super::*;

#[test]
fn a_serial_history_violates_nothing() {
    check(
        "@0-1 s1 ax1 ay1 | @2-3 s1 rx[1] ax2 | @4-5 s2 rx[1,2] ry[1] ay2",
        expect!["- - - - - - - - - - - | "],
    );
    check(
        "@0-1 s1 rx0 wx1 | @2-3 s1 rx1 wx2 ry0 | @4-5 s2 rx2 ry0 wy1",
        expect!["- - - - - - - - - - - | "],
    );
    check(
        "@0-1 s1 wx1^1 wy1^2 | @2-3 s1 rx1 wx2^3 | @4-5 s2 rx2 ry1",
        expect!["- - - - - - - - - - - | "],
    );
}

#[test]
fn g0_is_a_cycle_of_writes() {
    check(
        "ax1 ay1 | ax2 ay2 | rx[1,2] ry[2,1]",
        expect!["V V ? V V V V V V V V | FracturedRead 1, G0 1, NonMonotonicView 1"],
    );
    check(
        "wx1^1 wy1^2 | wx2^2 wy2^1 | rx2 ry1",
        expect!["V V ? V V V V V V V V | FracturedRead 1, G0 1, NonMonotonicView 1"],
    );
}

#[test]
fn g1a_is_a_read_of_an_aborted_write() {
    check("ax1 ! | rx[1] ay1 | ry[1]", expect!["V V ? V V V V V V V V | AbortedRead 1"]);
    check("wx1 ! | rx1 ry0 | wz1 rz1", expect!["V V ? V V V V V V V V | AbortedRead 1"]);
}

#[test]
fn g1b_is_a_read_of_what_its_writer_replaced() {
    check(
        "ax1 ax2 | rx[1] | rx[1,2] ay1",
        expect!["V V ? V V V V V V V V | GSingle 1, IntermediateRead 1"],
    );
    check("wx1 wx2 | rx1 ry0", expect!["V V ? V V V V V V V V | IntermediateRead 1"]);
    // The reader's own append behind the intermediate version does not hide it.
    check(
        "ax1 ax2 | rx[1] ax3 rx[1,3]",
        expect!["V V - V V V V V V V V | G0 1, G1c 1, IntermediateRead 2"],
    );
}

#[test]
fn g1c_is_a_cycle_of_reads() {
    check("ax1 ry[1] | ay1 rx[1]", expect!["V V ? V V V V V V V V | G1c 1"]);
    check("wx1 ry1 | wy1 rx1", expect!["V V ? V V V V V V V V | G1c 1"]);
}

#[test]
fn lists_that_are_no_prefixes_have_an_incompatible_order() {
    check(
        "ax1 | ax2 | rx[1,2] ry[] | rx[2,1] ry[]",
        expect!["V V ? V V V V V V V V | IncompatibleOrder 1"],
    );
}

#[test]
fn duplicate_and_garbage_elements_are_found() {
    check("ax1 ay1 | rx[1,1] ry[1]", expect!["V V ? V V V V V V V V | DuplicateElement 1"]);
    check("ax1 ay1 | rx[1,9] ry[1]", expect!["V V ? V V V V V V V V | GarbageRead 1"]);
    check("wx1 wy1 | rx9 ry1", expect!["V V ? V V V V V V V V | GarbageRead 1"]);
}

#[test]
fn a_dirty_update_builds_upon_an_aborted_one() {
    check(
        "ax1 ! | ax2 ay1 | rx[1,2] ry[1]",
        expect!["V V ? V V V V V V V V | AbortedRead 1, DirtyUpdate 1"],
    );
}

#[test]
fn read_skew_is_g_single() {
    check(
        "ax1 ay1 | rx[] ry[1] | rx[1] ry[1]",
        expect!["- V ? V V V V V V V V | FracturedRead 1, GSingle 1"],
    );
    check("wx1 wy1 | rx0 ry1", expect!["- V ? V V V V V V V V | FracturedRead 1, GSingle 1"]);
    check(
        "rx0 wx1 ry0 wy1 | rx0 ry1",
        expect!["- V - V V V V V V V V | FracturedRead 1, GSingle 1"],
    );
}

#[test]
fn a_lost_update_replaces_what_another_has_replaced() {
    check(
        "rx[] ax1 | rx[] ax2 | rx[1,2] ry[]",
        expect!["- - V ? V V V V V V V | GSingle 1, LostUpdate 1"],
    );
    check("rx0 wx1 | rx0 wx2 | rx2 ry0", expect!["- - V ? V V V V V V V | G2Item 1, LostUpdate 1"]);
    check(
        "rx0 wx1^1 | rx0 wx2^2 | rx2 ry0",
        expect!["- - V ? V V V V V V V | GSingle 1, LostUpdate 1"],
    );
    // Nobody has seen either of them.
    check("rx[] ax1 | rx[] ax2", expect!["- ? V ? V V V V V V V | G2Item 1, LostUpdate 1"]);
    // Between the two, in order of transactions, one that read another list of that length.
    check(
        "ax1 | ax2 | rx[1] ax3 | rx[2] ax4 | rx[1] ax5",
        expect!["V V V V V V V V V V V | G2Item 1, IncompatibleOrder 1, LostUpdate 1"],
    );
}

#[test]
fn write_skew_is_g2_item() {
    check(
        "rx[] ry[] ax1 | rx[] ry[] ay1 | rx[1] ry[1]",
        expect!["- - - ? V - ? ? V V V | G2Item 1"],
    );
    check("rx0 ry0 wx1 | ry0 rx0 wy1", expect!["- - - ? V - ? ? V V V | G2Item 1"]);
}

#[test]
fn a_long_fork_is_g_nonadjacent() {
    let long_fork = "ax1 | ay1 | rx[1] ry[] | rx[] ry[1]";
    check(long_fork, expect!["- - ? ? V V V V V V V | GNonadjacent 1"]);
    let report = report(long_fork);
    let witness = witness(&report, Anomaly::GNonadjacent);
    assert_eq!((witness.edges, witness.operations.len()), (Edges::Data, 4));
    check(
        "rx0 wx1 | ry0 wy1 | rx1 ry0 | rx0 ry1",
        expect!["- - - ? V V V V V V V | GNonadjacent 1"],
    );
}

#[test]
fn a_read_only_transaction_sees_that_snapshots_are_not_serial() {
    // Fekete, O'Neil, O'Neil 2004: the withdrawal saw no deposit, the report saw no withdrawal.
    check(
        "rx[] ry[] ax1 | ry[] ay1 | rx[] ry[1] | rx[1] ry[1]",
        expect!["- - - ? V - ? ? V V V | G2Item 1"],
    );
}

#[test]
fn a_stale_read_violates_real_time_alone() {
    check(
        "@0-1 ax1 ay1 | @2-3 rx[] ry[] | @4-5 rx[1] ry[1]",
        expect!["- - ? ? - - ? V - ? V | GSingle-realtime 1"],
    );
    check("@0-1 rx0 wx1 | @2-3 rx0 ry0", expect!["- - - ? - - ? V - ? V | GSingle-realtime 1"]);
}

#[test]
fn a_read_from_the_future_violates_real_time() {
    check("@0-1 rx[1] ay1 | @2-3 ax1 az1", expect!["- ? ? ? ? ? ? V ? ? V | G1c-realtime 1"]);
}

#[test]
fn sessions_read_their_writes_and_never_go_back() {
    // Read your writes.
    check(
        "s1 @0-9 ax1 ay1 | s1 @9-20 rx[] | @5-30 rx[1]",
        expect!["- ? ? V - - V V - V V | FracturedRead-session 1, GSingle-session 1"],
    );
    // Monotonic reads.
    check(
        "@0-99 ax1 ay1 | s1 @0-9 rx[1] | s1 @9-20 rx[]",
        expect!["- ? ? V - - V V - V V | CausalityViolation-session 1, GSingle-session 1"],
    );
    check(
        "wx1^1 wy1^1 | wx2^2 | s1 @0-9 rx2 | s1 @9-20 rx1",
        expect!["- ? ? V - - V V - V V | CausalityViolation-session 1, GSingle-session 1"],
    );
}

#[test]
fn causal_violations_of_blind_writes_are_found_without_an_order() {
    // A session's own write was replaced by what was there before it.
    check(
        "s1 @0-1 wx1 wy1 | s1 @1-2 rx0 ry1",
        expect!["- V ? V V V V V V V V | FracturedRead 1, GSingle 1"],
    );
    check(
        "s1 @0-1 wx1 wy1 | s1 @1-2 rx0",
        expect!["- ? ? V - - V V - V V | FracturedRead-session 1, GSingle-session 1"],
    );
    // Monotonic writes over two records.
    check(
        "s1 @0-1 wx1 | s1 @1-2 wy1 | s2 @0-1 ry1 rx0",
        expect!["- - ? V - - V V - V V | CausalityViolation-session 1, GSingle-session 1"],
    );
    // Writes follow reads.
    check(
        "wx1 | s1 @0-1 rx1 | s1 @1-2 wy1 | s2 @0-1 ry1 | s2 @1-2 rx0 wz1",
        expect!["- ? ? V - - V V - V V | CausalityViolation-session 1, GSingle-session 1"],
    );
    // Monotonic writes of one record.
    check(
        "s1 @0-1 wx1 wa1 | s1 @1-2 wx2 | s2 @0-1 rx2 | s2 @1-2 rx1",
        expect!["- ? ? V ? ? V V ? V V | CausalityViolation-session 1"],
    );
    // A read that misses what the writer of another record had read.
    check(
        "wx1 wz1 | rx1 wy1 | ry1 | s1 @0-1 ry1 | s1 @1-2 rx0",
        expect!["- ? ? V - - V V - V V | CausalityViolation-session 1, GSingle-session 1"],
    );
    // Two versions of one record, seen in both orders by sessions that saw both.
    check(
        "wx1 wa1 | wx2 wb1 | s1 @0-1 rx1 | s1 @1-2 rx2 | s2 @0-1 rx2 | s2 @1-2 rx1",
        expect!["- ? ? V ? ? V V ? V V | CausalityViolation-session 1"],
    );
}

#[test]
fn reads_that_do_not_repeat_are_allowed_by_read_committed_alone() {
    check(
        "ax1 | rx[] ry[] rx[1]",
        expect!["- V ? V V V V V V V V | FracturedRead 1, GSingle 1, Internal 1"],
    );
    check(
        "wx1 | rx0 ry0 rx1",
        expect!["- V ? V V V V V V V V | FracturedRead 1, GSingle 1, Internal 1"],
    );
}

#[test]
fn a_view_that_goes_back_is_not_atomic() {
    check(
        "wx1 wy1 | rx1 ry1 wx2 wy2 | ry2 rx1",
        expect!["- V - V V V V V V V V | FracturedRead 1, GSingle 1, NonMonotonicView 1"],
    );
}

#[test]
fn own_writes_are_read_within_a_transaction() {
    check("ax1 rx[] | rx[1] ay1", expect!["- V ? V ? V V V V V V | Internal 1"]);
    check("wx1 rx0 | rx1 wy1", expect!["- V ? V ? V V V V V V | Internal 1"]);
    check("rx[1] ax1 | rx[1] ay1", expect!["V V - V V V V V V V V | FutureRead 1"]);
    check("rx1 wx1 | rx1 ry0", expect!["V V - V V V V V V V V | FutureRead 1, GSingle 1"]);
}

#[test]
fn unknown_transactions_count_once_they_are_seen() {
    // Seen in y, so its append to x happened too, and it misses what the reader saw.
    check(
        "ax1 ay1 ? | ry[1] rx[] | ry[1] rx[1]",
        expect!["- V ? V V V V V V V V | FracturedRead 1, GSingle 1, NonMonotonicView 1"],
    );
    check(
        "ax1 ay1 ? | ry[1] rx[]",
        expect!["- V ? V V V V V V V V | FracturedRead 1, GSingle 1, NonMonotonicView 1"],
    );
    check("ax1 ay1 ? | ry[] rx[]", expect!["- - ? ? ? ? ? ? ? ? ? | "]);
    // Seen in a register, its append to a list happened too.
    check(
        "ax1 wz1 ? | rz1 rx[]",
        expect!["- V ? V V V V V V V V | FracturedRead 1, GSingle 1, NonMonotonicView 1"],
    );
    // What it read says nothing.
    check("ax1 az1 | ax2 rx[] ? | rx[1,2] az2", expect!["- ? ? ? ? ? ? ? ? ? ? | "]);
}
