//! Whole transactions from interleaved operations.

use super::{history, options, send};
use crate::{Analyzer, Summary};

fn read_modify_writes(text: &str) -> Summary {
    send(options(0, 100), &history(text))
}

#[test]
fn a_read_modify_write_lasts_from_its_first_intention_to_its_last_answer() {
    let summary = read_modify_writes(
        "read 1 0/1..3 p1 rmw · read 2 2..4 p2 rmw · update 1 3..9 p1 rmw. · read 7 5..6 p3
         · update 2 4..11 p2 rmw.",
    );
    let [transactions] = summary.transactions.as_slice() else { panic!("one type") };
    assert_eq!((transactions.number, transactions.name.as_str()), (1, "read-modify-write"));
    let group = &transactions.group;
    assert_eq!((group.counts.offered, group.counts.hits), (2, 2));
    assert_eq!((group.hits.response.min.0, group.hits.response.max.0), (9_000_000, 9_000_000));
    assert_eq!((group.hits.service.min.0, group.hits.service.max.0), (8_000_000, 9_000_000));
    assert_eq!(group.hits.lag.max.0, 1_000_000);
    // Its operations count as reads and updates too.
    assert_eq!(summary.overall.counts.offered, 5);
    assert_eq!(group.rates.done_per_s, 20.0);
}

#[test]
fn transactions_of_one_process_do_not_mix() {
    let summary = read_modify_writes(
        "read 1 0..1 p1 t0 rmw · update 1 1..2 p1 t0 rmw. · read 1 10..11 p1 t1 rmw
         · update 1 11..14 p1 t1 rmw.",
    );
    let response = &summary.transactions[0].group.hits.response;
    assert_eq!((response.min.0, response.max.0), (2_000_000, 4_000_000));
}

#[test]
fn a_transaction_is_as_bad_as_its_worst_operation() {
    let outcome = |text: &str| {
        let counts = read_modify_writes(text).transactions[0].group.counts.clone();
        (counts.hits, counts.misses, counts.refused, counts.unknown, counts.dropped, counts.good)
    };
    let miss = "read 1 0..1 p1 done miss rmw · update 1 1..2 p1 done hit rmw.";
    assert_eq!(outcome(miss), (0, 1, 0, 0, 0, 0));
    let refused = "read 1 0..1 p1 refused busy rmw · update 1 1..1 p1 dropped \
                   transaction-failed rmw.";
    assert_eq!(outcome(refused), (0, 0, 1, 0, 0, 0));
    let unknown = "read 1 0..1 p1 done rmw · update 1 1..9 p1 unknown timeout rmw.";
    assert_eq!(outcome(unknown), (0, 0, 0, 1, 0, 0));
}

#[test]
fn a_transaction_without_its_end_is_unfinished() {
    let summary = read_modify_writes("read 1 0..1 p1 rmw · read 2 0..1 p2 rmw warm-up");
    assert_eq!(summary.transactions[0].unfinished, 1);
    assert_eq!(summary.transactions[0].group.counts.offered, 0);
}

#[test]
fn a_transaction_belongs_to_the_phase_of_its_first_operation() {
    let summary = send(
        options(5, 100),
        &history(
            "read 1 1..3 p1 rmw warm-up · update 1 6..7 p1 rmw. · read 2 5..6 p2 rmw
             · update 2 6..8 p2 rmw.",
        ),
    );
    let transactions = &summary.transactions[0];
    assert_eq!((transactions.group.counts.offered, transactions.unfinished), (1, 0));
    assert_eq!(transactions.group.hits.response.max.0, 3_000_000);
    // Both ended in the window, so both are its throughput.
    assert_eq!(transactions.group.rates.done_per_s, 2.0 / 0.095);
}

#[test]
fn a_window_is_not_needed_to_see_where_a_transaction_began() {
    let records = history("read 1 1..3 p1 rmw warm-up · update 1 6..7 p1 rmw. · read 2 6..8");
    let summary = crate::analyze(&records);
    assert!(summary.transactions.is_empty());
    assert_eq!(summary.overall.counts.offered, 2);
}

#[test]
fn many_open_transactions_are_distinguished() {
    let pair = |process: u64| {
        let late = process % 7;
        format!("read 1 0..1 p{process} rmw | update 1 {}..{} p{process} rmw.", 2 + late, 3 + late)
    };
    let pairs: Vec<String> = (0..2000).map(pair).collect();
    let part = |place| pairs.iter().map(move |pair| pair.split('|').nth(place).unwrap());
    let text: Vec<&str> = part(0).chain(part(1)).collect();
    let transactions = &read_modify_writes(&text.join("·")).transactions[0];
    assert_eq!((transactions.group.counts.hits, transactions.unfinished), (2000, 0));
    let response = &transactions.group.hits.response;
    assert_eq!((response.min.0, response.max.0), (3_000_000, 9_000_000));
    let expected = (0..2000).map(|process| 3 + process % 7).sum::<u64>() as f64 / 2000.0;
    assert!((response.mean_ns / 1e6 - expected).abs() < 1e-9);
}

#[test]
fn merging_keeps_open_transactions() {
    let mut first = Analyzer::new(options(0, 100));
    first.push(&history("read 1 0..1 p1 rmw"));
    let mut second = Analyzer::new(options(0, 100));
    second.push(&history("read 2 0..1 p2 rmw · update 2 1..2 p2 rmw."));
    second.merge(first);
    second.push(&history("update 1 1..4 p1 rmw."));
    let summary = second.finish();
    assert_eq!(summary.transactions[0].group.counts.hits, 2);
    assert_eq!(summary.transactions[0].unfinished, 0);
}
