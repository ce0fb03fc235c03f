//! One history judged twice: by the checkers and by independent judges.

use assay_consistency::register::{self, RegisterReport};
use assay_consistency::{ClockError, Quality, QualityVerdict, RegisterHistory};
use assay_model::Seed;

use crate::definitions::{Counts, counts};
use crate::oracle::{events, is_k_atomic, porcupine, widened, with_earlier_reads};
use crate::random::{Recipe, SMALL, history};

/// How many violations of this quality a report has.
pub fn violations(report: &RegisterReport, quality: Quality) -> u64 {
    match &report.finding(quality).expect("every report has these qualities").verdict {
        QualityVerdict::Violated(violations) => violations.count,
        _ => 0,
    }
}

/// The report of a history by one clock.
pub fn judge(history: &RegisterHistory) -> RegisterReport {
    register::judge(history, &ClockError::NONE)
}

/// The oracles that disagree on a history of one record; whether it is linearizable and 2-atomic.
pub fn atomicity(history: &RegisterHistory) -> (Vec<&'static str>, [bool; 2]) {
    let report = judge(history);
    let events = events(history);
    let is_linearizable = violations(&report, Quality::Linearizable) == 0;
    let is_two_atomic = violations(&report, Quality::TwoAtomic) == 0;
    let mut wrong = Vec::new();
    let mut compare = |name, ours: bool, theirs: bool| {
        if ours != theirs {
            wrong.push(name);
        }
    };
    compare("porcupine", is_linearizable, porcupine(&events));
    compare("all orders, k = 2", is_two_atomic, is_k_atomic(&events, 2));
    if violations(&report, Quality::NoGarbageReads) == 0 {
        let (gamma, delta) = (report.gamma.0, report.delta.0);
        compare("gamma, zero", gamma == 0, is_linearizable);
        compare("gamma, enough", true, is_k_atomic(&widened(&events, gamma / 2), 1));
        compare("delta, enough", true, is_k_atomic(&with_earlier_reads(&events, delta), 1));
        if !is_linearizable {
            let less = with_earlier_reads(&events, delta - 1);
            compare("gamma, less", false, is_k_atomic(&widened(&events, gamma / 2 - 1), 1));
            compare("delta, less", false, is_k_atomic(&less, 1));
        }
    }
    (wrong, [is_linearizable, is_two_atomic])
}

/// What the checkers count, in the words of the definitions.
pub fn counted(report: &RegisterReport) -> Counts {
    let opportunities = |quality: Quality| match &report.finding(quality).map(|it| &it.verdict) {
        Some(QualityVerdict::Violated(violations)) => violations.power.opportunities,
        Some(QualityVerdict::NoneFound(power)) => power.opportunities,
        _ => 0,
    };
    let staleness = &report.staleness;
    let behind = (0..).zip(&staleness.versions_behind).filter(|(_, count)| **count > 0);
    Counts {
        monotonic_reads: violations(report, Quality::MonotonicReads),
        read_your_writes: violations(report, Quality::ReadYourWrites),
        monotonic_writes: violations(report, Quality::MonotonicWrites),
        writes_follow_reads: violations(report, Quality::WritesFollowReads),
        opportunities: [
            opportunities(Quality::MonotonicReads),
            opportunities(Quality::ReadYourWrites),
        ],
        stale: staleness.stale_reads,
        behind: behind.map(|(behind, count)| (behind, *count)).collect(),
        oldest: staleness.oldest.0,
        windows: staleness.windows.iter().map(|bin| bin.count).sum(),
        open_windows: staleness.open_windows,
        longest_window: staleness.longest_window.0,
        lost: violations(report, Quality::NoLostWrites),
    }
}

/// Kinds of histories, with whether their writes are of whole records.
pub const KINDS: [(&str, Recipe, bool); 4] = [
    ("several writers", MIXED, true),
    ("single writers", Recipe { has_single_writers: true, ..MIXED }, true),
    ("read-then-write", Recipe { read_then_write: 50, wrong: 5, unknown: 0, ..MIXED }, true),
    ("single fields", MIXED, false),
];
const MIXED: Recipe = Recipe { operations: 20, keys: 2, wrong: 30, ..SMALL };

/// Counts many histories of a kind as the checkers and as the definitions do, and tells those where
/// they differ; the sum of some of what the checkers counted.
pub fn definitions(
    (recipe, writes_whole_records): (&Recipe, bool),
    seed: Seed,
    histories: u64,
    mut differ: impl FnMut(String),
) -> [u64; 6] {
    let mut sum = [0; 6];
    for index in 0..histories {
        let history = history(recipe, seed, index);
        let history = RegisterHistory { has_final_reads: true, writes_whole_records, ..history };
        let (ours, theirs) = (counted(&judge(&history)), counts(&history));
        if ours != theirs {
            differ(format!("history {index}: ours {ours:?}, theirs {theirs:?}: {history:#?}"));
        }
        let counted = [
            ours.monotonic_reads,
            ours.read_your_writes,
            ours.monotonic_writes,
            ours.writes_follow_reads,
            ours.stale,
            ours.lost,
        ];
        sum.iter_mut().zip(counted).for_each(|(sum, counted)| *sum += counted);
    }
    sum
}
