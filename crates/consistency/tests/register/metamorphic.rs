//! Changes of a history whose effect on the verdicts is known.

use std::collections::BTreeMap;

use assay_consistency::register::{self, RegisterReport};
use assay_consistency::{Access, ClockError, Quality, RegisterHistory, RegisterOperation};
use assay_model::{Nanos, Outcome, Seed};

use crate::differential::{counted, judge, violations};
use crate::random::{AGENTS, Recipe, SMALL, history, seen_by_agents};

const HISTORIES: u64 = 1_000;
const MIXED: Recipe = Recipe { operations: 30, keys: 3, wrong: 10, ..SMALL };

const ALL: [Quality; 8] = [
    Quality::NoGarbageReads,
    Quality::NoLostWrites,
    Quality::Linearizable,
    Quality::TwoAtomic,
    Quality::MonotonicReads,
    Quality::MonotonicWrites,
    Quality::ReadYourWrites,
    Quality::WritesFollowReads,
];

fn histories() -> impl Iterator<Item = RegisterHistory> {
    (0..HISTORIES).map(|index| {
        let history = history(&MIXED, Seed(3), index);
        RegisterHistory { has_final_reads: true, ..history }
    })
}

fn changed(history: &RegisterHistory, change: impl Fn(&mut RegisterOperation)) -> RegisterHistory {
    let mut changed = history.clone();
    changed.operations.iter_mut().for_each(change);
    changed
}

fn all_counts(report: &RegisterReport) -> Vec<u64> {
    ALL.iter().map(|quality| violations(report, *quality)).collect()
}

#[test]
fn names_of_records_and_sessions_do_not_matter() {
    for history in histories() {
        let renamed = changed(&history, |operation| {
            operation.key = u64::MAX - operation.key * 0x1234_5678_9ABC;
            operation.session = u32::MAX - 7 * operation.session;
        });
        let (one, other) = (judge(&history), judge(&renamed));
        assert_eq!(all_counts(&one), all_counts(&other));
        assert_eq!(counted(&one), counted(&other));
        assert_eq!((one.gamma, one.delta), (other.gamma, other.delta));
    }
}

#[test]
fn the_order_of_the_operations_in_the_history_does_not_matter() {
    for history in histories() {
        let mut reversed = history.clone();
        reversed.operations.reverse();
        assert_eq!(counted(&judge(&history)), counted(&judge(&reversed)));
        assert_eq!(all_counts(&judge(&history)), all_counts(&judge(&reversed)));
    }
}

#[test]
fn longer_intervals_show_no_more() {
    let weaker = [Quality::NoGarbageReads, Quality::Linearizable, Quality::TwoAtomic];
    for history in histories() {
        let longer = changed(&history, |operation| {
            operation.started.0 -= 3 * (operation.index % 3);
            operation.ended.0 += 5 * (operation.index % 2);
        });
        let (one, other) = (judge(&history), judge(&longer));
        for quality in weaker {
            let (one, other) = (violations(&one, quality), violations(&other, quality));
            assert!(other == 0 || one > 0, "{quality:?}: {one} before, {other} after");
        }
        assert!(violations(&one, Quality::NoGarbageReads) > 0 || other.gamma <= one.gamma);
    }
}

#[test]
fn a_history_without_the_reads_of_a_session_shows_no_more() {
    for history in histories() {
        let mut less = history.clone();
        let is_read = |operation: &RegisterOperation| matches!(operation.access, Access::Read(_));
        less.operations.retain(|operation| operation.session != 1 || !is_read(operation));
        let (one, other) = (judge(&history), judge(&less));
        for quality in ALL.into_iter().filter(|quality| *quality != Quality::NoLostWrites) {
            let (one, other) = (violations(&one, quality), violations(&other, quality));
            assert!(other <= one, "{quality:?}: {one} before, {other} after");
        }
    }
}

#[test]
fn a_copy_on_other_records_by_other_sessions_doubles_all_counts() {
    for history in histories() {
        let copy = changed(&history, |operation| {
            operation.key += 1_000;
            operation.session += 1_000;
            operation.index += 1_000;
        });
        let mut both = history.clone();
        both.operations.extend(copy.operations);
        let (one, two) = (judge(&history), judge(&both));
        let doubled: Vec<u64> = all_counts(&one).iter().map(|count| 2 * count).collect();
        assert_eq!(all_counts(&two), doubled);
        assert_eq!(two.staleness.stale_reads, 2 * one.staleness.stale_reads);
        assert_eq!((two.gamma, two.delta), (one.gamma, one.delta));
    }
}

/// Together they are dealt out in many parts, alone each is one.
#[test]
fn what_many_histories_show_together_is_what_each_shows() {
    let (mut together, mut expected) = (RegisterHistory::default(), vec![0; ALL.len()]);
    for (history, number) in histories().zip(0..) {
        let counts = all_counts(&judge(&history));
        expected.iter_mut().zip(counts).for_each(|(all, one)| *all += one);
        let apart = changed(&history, |operation| {
            operation.key += u64::from(number) * 1_000;
            operation.session += number * 1_000;
        });
        together.operations.extend(apart.operations);
        let operations = std::mem::take(&mut together.operations);
        together = RegisterHistory { operations, ..history };
    }
    assert_eq!(all_counts(&judge(&together)), expected);
}

#[test]
fn clocks_that_are_off_by_no_more_than_their_error_break_nothing() {
    let mut raw = 0;
    for (error, index) in [2, 5, 10, 20, 50].into_iter().flat_map(|e| (0..300).map(move |i| (e, i)))
    {
        let truth = history(&AGENTS, Seed(4), index);
        assert_eq!(all_counts(&judge(&truth)), [0; 8], "{:#?} {truth:#?}", judge(&truth).findings);
        let seen = seen_by_agents(&truth, Seed(index), error);
        let report = register::judge(&seen, &ClockError::of_agents(vec![Nanos(error); 6]));
        assert_eq!(all_counts(&report), [0; 8], "error {error}, history {index}: {seen:#?}");
        assert_eq!((report.gamma.0, report.staleness.stale_reads), (0, 0));
        raw += u64::from(violations(&judge(&seen), Quality::Linearizable) > 0);
    }
    assert!(raw > 500, "clocks that nobody knows to be off show {raw} of 1500 as violated");
}

/// Agent, start and end of each operation, by record and value.
type Clusters = BTreeMap<(u64, u64), Vec<(u16, u64, u64)>>;

/// Whether two values of a record certainly come before each other, or a read before its write, by
/// the definition: all pairs of operations, those of one agent without a margin.
fn is_certainly_violated(history: &RegisterHistory, error: u64) -> bool {
    let mut clusters = Clusters::new();
    for event in crate::oracle::events(history) {
        let operation = history.operations.iter().find(|operation| operation.index == event.index);
        let agent = operation.expect("each event is of an operation").agent;
        let ended = if event.is_done { event.ended } else { u64::MAX };
        clusters.entry((event.key, event.value)).or_default().push((agent, event.started, ended));
    }
    let precedes = |one: &(u64, u64), other: &(u64, u64)| {
        let is_before = |end: &(u16, u64, u64), start: &(u16, u64, u64)| {
            let margin = if end.0 == start.0 { 0 } else { 2 * error };
            end.2.saturating_add(margin) < start.1
        };
        let pairs =
            clusters[one].iter().flat_map(|end| clusters[other].iter().map(move |s| (end, s)));
        (one.1 == 0 && other.1 != 0) || pairs.into_iter().any(|(end, start)| is_before(end, start))
    };
    let values: Vec<&(u64, u64)> = clusters.keys().collect();
    values.iter().any(|one| {
        let mut others = values.iter().filter(|other| other.0 == one.0 && other.1 > one.1);
        others.any(|other| precedes(one, other) && precedes(other, one))
    })
}

#[test]
fn conflicts_between_agents_are_those_of_the_definition() {
    let recipe = Recipe { wrong: 3, operations: 24, keys: 1, ..AGENTS };
    let mut found = [0, 0];
    for (error, index) in [0, 4, 10, 30].into_iter().flat_map(|e| (0..500).map(move |i| (e, i))) {
        let seen = seen_by_agents(&history(&recipe, Seed(5), index), Seed(index), error);
        let report = register::judge(&seen, &ClockError::of_agents(vec![Nanos(error); 6]));
        if violations(&report, Quality::NoGarbageReads) > 0 {
            continue;
        }
        let is_violated = violations(&report, Quality::Linearizable) > 0;
        let expected = is_certainly_violated(&seen, error);
        assert_eq!(is_violated, expected, "error {error}, history {index}: {seen:#?}");
        found[usize::from(is_violated)] += 1;
    }
    assert!(found[0] > 50 && found[1] > 50, "{found:?}");
}

#[test]
fn hostile_histories_are_judged_without_a_panic() {
    let times = [0, 1, 2, 1 << 63, u64::MAX - 1, u64::MAX];
    for index in 0..2_000 {
        let mut draws = Seed(6).draws(1, index);
        let mut any = |of: &[u64]| of[draws.below(of.len() as u64) as usize];
        let mut history = history(&MIXED, Seed(6), index);
        for operation in &mut history.operations {
            operation.started = Nanos(any(&times));
            operation.ended = Nanos(any(&times));
            operation.key = any(&[0, 1, u64::MAX]);
            operation.session = any(&[0, 1, 2, u64::from(u32::MAX)]) as u32;
            operation.agent = any(&[0, 1, 2, u64::from(u16::MAX)]) as u16;
            operation.outcome = Outcome::ALL[any(&[0, 0, 0, 0, 1, 2, 3]) as usize];
        }
        history.has_final_reads = index % 2 == 0;
        history.writes_whole_records = index % 3 > 0;
        let error = ClockError::of_agents(vec![Nanos(any(&times)), Nanos(any(&[0, 5]))]);
        for error in [ClockError::NONE, error] {
            let report = register::judge(&history, &error);
            assert_eq!(report.findings.len(), ALL.len());
        }
    }
}

/// What a linearizable store returns whose records have three fields, of which each write replaces
/// one: reads return the greatest number among the fields.
fn with_fields(history: &RegisterHistory, moments: &[u64]) -> RegisterHistory {
    let mut in_order: Vec<usize> = (0..history.operations.len()).collect();
    in_order.sort_by_key(|&place| (moments[place], history.operations[place].index));
    let mut fields: BTreeMap<u64, [u64; 3]> = BTreeMap::new();
    let mut result = RegisterHistory { writes_whole_records: false, ..history.clone() };
    for place in in_order {
        let operation = &mut result.operations[place];
        let fields = fields.entry(operation.key).or_default();
        match &mut operation.access {
            Access::Read(read) => read.0 = fields.iter().copied().max().unwrap_or(0),
            Access::Write(written) | Access::ReadThenWrite { written, .. } => {
                let written = *written;
                operation.access = Access::Write(written);
                fields[(written.0 * 7 % 5 % 3) as usize] = written.0;
            }
        }
    }
    result
}

#[test]
fn fields_of_a_linearizable_store_break_nothing_and_those_of_a_lagging_one_do() {
    let recipe = Recipe { operations: 40, keys: 2, sessions: 4, wrong: 0, unknown: 3, ..SMALL };
    let mut found = 0;
    for index in 0..HISTORIES {
        let history = history(&recipe, Seed(8), index);
        let mut draws = Seed(8).draws(3, index);
        let mut moment = |operation: &RegisterOperation| {
            operation.started.0 + draws.below(operation.ended.since(operation.started).0 + 1)
        };
        let mut moments: Vec<u64> = history.operations.iter().map(&mut moment).collect();
        let mut right = with_fields(&history, &moments);
        right.has_final_reads = true;
        let counts = all_counts(&judge(&right));
        assert_eq!(counts, [0; 8], "history {index}: {right:#?}");
        for (operation, moment) in right.operations.iter().zip(&mut moments) {
            if matches!(operation.access, Access::Read(_)) {
                *moment -= 60;
            }
        }
        found += violations(&judge(&with_fields(&history, &moments)), Quality::Linearizable);
    }
    assert!(found > HISTORIES, "{found} stale reads");
}
