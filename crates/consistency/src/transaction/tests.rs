//! Golden histories in a micro-language, with what they violate.

mod golden;

use std::collections::BTreeMap;

use assay_model::{Nanos, Outcome};
use expect_test::{Expect, expect};

use crate::clock::ClockError;
use crate::notation::transaction_history;
use crate::quality::Quality;
use crate::register::WrittenValue;
use crate::transaction::{
    ObservedTransaction, TransactionHistory, TransactionReport, TransactionStep, judge,
};
use crate::verdict::{
    Anomaly, Edges, Limitation, QualityVerdict, VersionOrder, Violations, Witness,
};

fn history(text: &str) -> TransactionHistory {
    transaction_history(text).expect(text)
}

fn report(text: &str) -> TransactionReport {
    judge(&history(text), &ClockError::NONE)
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&verdicts(&report(text)));
}

/// The verdicts in the order RC, RA, lost updates, causal, RR, SI, SS-SI, S-SI, SER, SS-SER,
/// strict: V violated, - none found, ? not assessable; then the anomalies.
fn verdicts(report: &TransactionReport) -> String {
    let judged = report.findings.iter().filter(|one| one.quality != Quality::NoGarbageReads);
    let letter = |verdict: &QualityVerdict| match verdict {
        QualityVerdict::Violated(_) => "V",
        QualityVerdict::NoneFound(_) => "-",
        QualityVerdict::NotAssessable(_) => "?",
    };
    let letters: Vec<&str> = judged.map(|finding| letter(&finding.verdict)).collect();
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for one in &report.anomalies {
        let suffix = match one.edges {
            Edges::Data => "",
            Edges::Session => "-session",
            Edges::RealTime => "-realtime",
        };
        names.insert(format!("{:?}{suffix}", one.anomaly), one.count);
    }
    let names: Vec<String> = names.iter().map(|(name, count)| format!("{name} {count}")).collect();
    format!("{} | {}", letters.join(" "), names.join(", "))
}

fn witness(report: &TransactionReport, anomaly: Anomaly) -> Witness {
    let one = report.anomalies.iter().find(|one| one.anomaly == anomaly);
    one.expect("it was found").witnesses[0].clone()
}

fn verdict(report: &TransactionReport, quality: Quality) -> &QualityVerdict {
    let finding = report.findings.iter().find(|finding| finding.quality == quality);
    &finding.expect("all qualities have a finding").verdict
}

#[test]
fn a_witness_names_the_cycle_in_its_order() {
    let report = report("ax1 ay1 | rx[1] ry[] ax2 | rx[1,2]");
    let witness = witness(&report, Anomaly::GSingle);
    assert_eq!(witness.operations, [1, 0]);
    assert_eq!(witness.key, u64::from(b'y'));
}

#[test]
fn the_weakest_violated_levels_imply_no_other_violated_one() {
    let weakest = |text: &str| report(text).weakest_violated;
    assert_eq!(weakest("rx[] ry[] ax1 | rx[] ry[] ay1"), [Quality::RepeatableRead]);
    let of_long_fork = weakest("ax1 | ay1 | rx[1] ry[] | rx[] ry[1]");
    assert_eq!(of_long_fork, [Quality::RepeatableRead, Quality::SnapshotIsolation]);
    assert_eq!(weakest("ax1 ry[1] | ay1 rx[1]"), [Quality::ReadCommitted]);
    assert_eq!(weakest("@0-1 ax1 | @2-3 rx[] ay1"), [Quality::StrongSnapshotIsolation]);
    assert_eq!(weakest("ax1 | rx[1] ay1"), []);
}

#[test]
fn real_time_needs_more_than_the_error_of_two_clocks() {
    let text = "@0-10 g0 ax1 | @20-30 g1 rx[] | @0-1 g0 ay1 | @40-50 g0 rx[1] ry[1]";
    let with = |error: [u64; 2]| {
        let clocks = ClockError::of_agents(error.map(Nanos).to_vec());
        judge(&history(text), &clocks).violates(Quality::StrictSerializable)
    };
    assert!(with([0, 0]) && with([4, 5]) && with([9, 0]));
    assert!(!with([5, 5]) && !with([0, 10]));
    let report = report(text);
    assert_eq!(witness(&report, Anomaly::GSingle).margin, Nanos(5));
}

#[test]
fn transactions_of_one_agent_are_ordered_by_its_clock_however_wrong_it_is() {
    let text = "@0-10 g0 ax1 | @20-30 g0 rx[] | @40-50 g1 rx[1] ry[]";
    let clocks = ClockError::of_agents(vec![Nanos(1000), Nanos(0)]);
    assert!(judge(&history(text), &clocks).violates(Quality::StrictSerializable));
}

#[test]
fn bad_clocks_make_silence_about_real_time_worthless() {
    let text = "@0-10 g0 ax1 | @20-30 g1 rx[1] ay1";
    let clocks = ClockError::of_agents(vec![Nanos(3), Nanos(0)]);
    let report = judge(&history(text), &clocks);
    let verdict_of = |quality| verdict(&report, quality);
    let expected = QualityVerdict::NotAssessable(Limitation::ClockError);
    assert_eq!(*verdict_of(Quality::StrictSerializable), expected);
    assert!(matches!(verdict_of(Quality::ReadCommitted), QualityVerdict::NoneFound(_)));
}

#[test]
fn blind_writes_without_versions_leave_the_order_open() {
    let report = report("wx1 | wx2 | rx1 wy1 | rx2 ry0");
    let expected = QualityVerdict::NotAssessable(Limitation::NoVersionOrder);
    assert_eq!(*verdict(&report, Quality::Serializable), expected);
    assert!(matches!(verdict(&report, Quality::ReadAtomic), QualityVerdict::NoneFound(_)));
}

#[test]
fn findings_name_the_version_order_they_used() {
    let order = |text: &str| {
        let report = report(text);
        let order = |quality| {
            let of = |finding: &&crate::verdict::QualityFinding| finding.quality == quality;
            report.findings.iter().find(of).expect("it is judged").order
        };
        (order(Quality::Serializable), order(Quality::ReadCommitted))
    };
    use VersionOrder::{Lists, NotNeeded, ReadBeforeWrite, ToldByStore};
    assert_eq!(order("ax1 | rx[1] ay1"), (Lists, Lists));
    assert_eq!(order("wx1^1 | rx1 wy1^1"), (ToldByStore, NotNeeded));
    assert_eq!(order("rx0 wx1 | rx1 wx2 | rx2 ay1"), (ReadBeforeWrite, NotNeeded));
}

#[test]
fn more_sessions_than_memory_make_causal_not_assessable() {
    // Writes that nobody reads, so that their order is open and all transactions are looked at.
    let write = |index: u64| ObservedTransaction {
        node: 0,
        index,
        session: index as u32,
        agent: 0,
        started: Nanos(0),
        ended: Nanos(1),
        outcome: Outcome::Done,
        steps: vec![TransactionStep::Write {
            key: 1,
            value: WrittenValue(index + 1),
            version: None,
        }],
    };
    let mut all: Vec<ObservedTransaction> = (0..12_000).map(write).collect();
    all.extend(history("ry[] rz[] ay1 | ry[] rz[] az1").transactions);
    let report = judge(&TransactionHistory { transactions: all }, &ClockError::NONE);
    let expected = QualityVerdict::NotAssessable(Limitation::TooManySessions);
    assert_eq!(*verdict(&report, Quality::Causal), expected);
}

#[test]
fn nothing_known_and_duplicates_are_reasons_not_verdicts() {
    for (text, reason) in [
        ("", Limitation::NothingKnown),
        ("ax1 ? | rx[1] ? | ax2 !", Limitation::NothingKnown),
        ("ax1 ay1 | ax1", Limitation::DuplicateValues),
        ("wx0 wy1", Limitation::DuplicateValues),
        ("wx1 rx1 | wx1 !", Limitation::DuplicateValues),
    ] {
        for finding in report(text).findings {
            assert_eq!(finding.verdict, QualityVerdict::NotAssessable(reason), "{text}");
        }
    }
    let single = report("ax1 | rx[1]");
    let expected = QualityVerdict::NotAssessable(Limitation::NoTransactions);
    assert_eq!(*verdict(&single, Quality::Serializable), expected);
}

#[test]
fn hostile_times_values_and_shapes_do_not_panic() {
    let extreme = |index, started, ended, step| ObservedTransaction {
        node: 0,
        index,
        session: u32::MAX,
        agent: u16::MAX,
        started: Nanos(started),
        ended: Nanos(ended),
        outcome: Outcome::Done,
        steps: step,
    };
    let (key, garbage) = (u64::MAX, WrittenValue::GARBAGE);
    let transactions = vec![
        extreme(u64::MAX, u64::MAX, 0, vec![]),
        extreme(u64::MAX, 0, u64::MAX, vec![TransactionStep::Read { key, value: Some(garbage) }]),
        extreme(0, 5, 3, vec![TransactionStep::Append { key, element: garbage }]),
        extreme(
            0,
            5,
            3,
            vec![
                TransactionStep::ReadList { key, elements: Some(vec![garbage, garbage]) },
                TransactionStep::Append { key, element: WrittenValue(7) },
                TransactionStep::ReadList { key, elements: Some(vec![]) },
                TransactionStep::ReadList { key, elements: None },
            ],
        ),
    ];
    let clocks = ClockError::of_agents(vec![Nanos::NEVER; 70_000]);
    let report = judge(&TransactionHistory { transactions }, &clocks);
    assert_eq!(report.count(Anomaly::GarbageRead, Edges::Data), 1);
    assert_eq!(report.count(Anomaly::DuplicateElement, Edges::Data), 1);
    assert!(report.count(Anomaly::Internal, Edges::Data) > 0);
}

#[test]
fn many_readers_of_many_unseen_appends_take_linear_memory() {
    let mut text: Vec<String> = (1..3000).map(|element| format!("rx[] ax{element}")).collect();
    text.extend((0..3000).map(|_| "rx[] ry[]".to_owned()));
    let report = report(&text.join(" | "));
    assert_eq!(report.count(Anomaly::LostUpdate, Edges::Data), 1);
    assert_eq!(report.count(Anomaly::G2Item, Edges::Data), 1);
    assert_eq!(report.anomalies.len(), 2);
}

#[test]
fn witnesses_are_bounded_and_counts_exact() {
    let skew = |key: u32| {
        let (one, other) = (2 * key, 2 * key + 1);
        format!("r{one}[] a{other}=1 | r{other}[] a{one}=1 | r{one}[1] r{other}[1]")
    };
    let text: Vec<String> = (1..40).map(skew).collect();
    let report = report(&text.join(" | "));
    assert_eq!(report.count(Anomaly::G2Item, Edges::Data), 39);
    let QualityVerdict::Violated(violations) = verdict(&report, Quality::Serializable) else {
        panic!("write skew is not serializable")
    };
    assert_eq!((violations.count, violations.witnesses.len()), (39, Violations::WITNESSES));
}
