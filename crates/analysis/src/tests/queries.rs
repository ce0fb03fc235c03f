//! Queries, transactions of queries, whole processes.

use assay_model::{Ends, Kind, Nanos, Outcome, Phase, Reason, Record};

use super::options;
use crate::{AnalysisOptions, Analyzer, Atomicity, Processes, Summary};

/// One operation of a process whose first place is 0: place, kind, statement, from..until in ms.
fn record(process: u64, place: u64, kind: Kind, statement: u16, from: u64, until: u64) -> Record {
    Record {
        index: process * 4 + place,
        process,
        key: 7,
        intended: Nanos::from_millis(from),
        started: Nanos::from_millis(from),
        ended: Nanos::from_millis(until),
        statement,
        requests: 3,
        transaction: (place / 2) as u16,
        transaction_type: 1 + (place / 2) as u16,
        ends: Ends::of(place % 2 == 1, place == 3),
        kind,
        phase: Phase::Measure,
        found: true,
        ..Record::BLANK
    }
}

/// Two transactions of a query with its commit, the second 30 ms after the first.
fn process(number: u64, at: u64) -> [Record; 4] {
    [
        record(number, 0, Kind::Read, 1, at, at + 4),
        record(number, 1, Kind::Commit, 0, at + 4, at + 5),
        record(number, 2, Kind::Update, 2, at + 35, at + 36),
        record(number, 3, Kind::Commit, 0, at + 36, at + 37),
    ]
}

fn analyzed(records: &[Record]) -> Summary {
    analyzed_with(Atomicity::Whole, records)
}

fn analyzed_with(atomicity: Atomicity, records: &[Record]) -> Summary {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let options = AnalysisOptions {
        transaction_types: names(&["operation", "look", "change"]),
        queries: names(&["find", "write"]),
        width: 4,
        processes: Processes::AnalyzedRun,
        atomicity,
        ..options(0, 1000)
    };
    let mut analyze = Analyzer::new(options);
    analyze.push(records);
    analyze.finish()
}

#[test]
fn queries_are_distinguished_with_their_requests() {
    let summary = analyzed(&[process(0, 0), process(1, 100)].concat());
    let found: Vec<(u16, &str, u64, f64)> = summary
        .queries
        .iter()
        .map(|query| {
            (query.number, query.name.as_str(), query.group.counts.hits, query.requests_mean)
        })
        .collect();
    assert_eq!(found, [(1, "find", 2, 3.0), (2, "write", 2, 3.0)]);
    let commits = summary.kinds.iter().find(|(kind, _)| *kind == Kind::Commit);
    assert_eq!(commits.map(|(_, group)| group.counts.done), Some(4));
}

#[test]
fn a_process_lasts_from_its_first_intention_to_its_last_answer() {
    let summary = analyzed(&[process(0, 0), process(1, 100)].concat());
    let processes = summary.processes.expect("processes of two transactions are reported");
    assert_eq!((processes.group.counts.done, processes.unfinished), (2, 0));
    assert_eq!(processes.group.hits.response.max, Nanos::from_millis(37));
    let transactions: Vec<(&str, u64, Nanos)> = summary
        .transactions
        .iter()
        .map(|types| {
            let group = &types.group;
            (types.name.as_str(), group.counts.done, group.hits.response.max)
        })
        .collect();
    let ms = Nanos::from_millis;
    assert_eq!(transactions, [("look", 2, ms(5)), ("change", 2, ms(2))]);
}

#[test]
fn transactions_of_all_types_have_percentiles_together() {
    let summary = analyzed(&[process(0, 0), process(1, 100)].concat());
    let all = summary.all_transactions.expect("queries were issued");
    assert_eq!((all.counts.offered, all.counts.done), (4, 4));
    assert_eq!(all.rates.done_per_s, 4.0);
    let response = &all.hits.response;
    assert_eq!((response.min, response.max), (Nanos::from_millis(2), Nanos::from_millis(5)));
    let record = Record { statement: 0, transaction_type: 0, ..process(0, 0)[0] };
    assert!(analyzed(&[record]).all_transactions.is_none());
}

#[test]
fn a_transaction_with_a_missing_row_is_done_but_an_aborted_one_is_not() {
    let mut misses = process(0, 0);
    misses[0].found = false;
    let mut aborts = process(1, 100);
    (aborts[0].outcome, aborts[0].reason) = (Outcome::Refused, Reason::Conflict);
    (aborts[1].outcome, aborts[1].reason) = (Outcome::Dropped, Reason::TransactionFailed);
    let summary = analyzed(&[misses, aborts].concat());
    let counts = &summary.transactions[0].group.counts;
    assert_eq!((counts.done, counts.hits, counts.misses, counts.refused), (1, 1, 0, 1));
    assert_eq!(summary.transactions[1].group.counts.done, 2, "the process went on");
    assert_eq!(summary.processes.map(|all| all.group.counts.refused), Some(1));
}

/// An update, then a read that is refused, then a commit that is not issued.
fn aborted(kind: Kind) -> [Record; 3] {
    let mut records = [
        record(0, 0, kind, 2, 0, 1),
        record(0, 1, Kind::Read, 1, 1, 2),
        record(0, 2, Kind::Commit, 0, 2, 2),
    ];
    for (place, record) in records.iter_mut().enumerate() {
        (record.transaction, record.transaction_type) = (0, 1);
        record.ends = Ends::of(place == 2, place == 2);
    }
    (records[1].outcome, records[1].reason) = (Outcome::Refused, Reason::Busy);
    (records[2].outcome, records[2].reason) = (Outcome::Dropped, Reason::TransactionFailed);
    records
}

#[test]
fn what_was_written_before_a_failure_stays_where_nothing_is_undone() {
    let counted = |atomicity, kind| {
        let counts = analyzed_with(atomicity, &aborted(kind)).transactions[0].group.counts.clone();
        (counts.refused, counts.unknown, counts.reasons)
    };
    let refused = (1, 0, vec![(Outcome::Refused, Reason::Busy, 1)]);
    let unknown = (0, 1, vec![(Outcome::Unknown, Reason::Busy, 1)]);
    assert_eq!(counted(Atomicity::Whole, Kind::Update), refused);
    assert_eq!(counted(Atomicity::BestEffort, Kind::Update), unknown);
    assert_eq!(counted(Atomicity::BestEffort, Kind::Read), refused, "nothing was written");
}

#[test]
fn what_was_done_is_done_whatever_would_be_undone() {
    let summary = analyzed_with(Atomicity::BestEffort, &process(0, 0));
    let done: Vec<u64> = summary.transactions.iter().map(|all| all.group.counts.done).collect();
    assert_eq!(done, [1, 1]);
}

#[test]
fn one_process_of_several_transactions_is_enough_to_tell_of_processes() {
    // Three processes, three transactions that ended: equal numbers by chance.
    let mut alone = process(1, 100);
    alone[1].ends = Ends::Both;
    let several = process(0, 0);
    let mut lone = record(2, 0, Kind::Read, 1, 200, 201);
    (lone.transaction_type, lone.ends) = (0, Ends::Both);
    let summary = analyzed(&[&several[..], &alone[..2], &[lone]].concat());
    let transactions = summary.transactions.iter().map(|all| all.group.counts.offered);
    assert_eq!(transactions.sum::<u64>(), 3);
    assert_eq!(summary.processes.map(|all| all.group.counts.offered), Some(3));
    assert!(analyzed(&[lone]).processes.is_none(), "a lone query is a process of one transaction");
}

#[test]
fn processes_of_one_transaction_are_not_reported_twice() {
    let mut alone = process(0, 0);
    alone[1].ends = Ends::Both;
    assert!(analyzed(&alone[..2]).processes.is_none());
}
