//! Verdicts on transactions compared with those of others, on small histories with fixed seeds.

#[path = "../examples/differential_transactions/brute.rs"]
mod brute;
#[path = "../examples/differential_transactions/campaign.rs"]
mod campaign;
#[path = "../examples/differential_transactions/converted.rs"]
mod converted;
#[path = "../examples/differential_transactions/engine.rs"]
mod engine;
#[path = "../examples/differential_transactions/foreign.rs"]
mod foreign;

use std::collections::{BTreeSet, HashMap, HashSet};

use assay_consistency::transaction::dealt::{
    Dependency, Islands, TransactionHead, TransactionOutline, TransactionPart, TransactionTally,
    judge_island, judge_records, judge_sessions, records_read, unknown_but_seen,
};
use assay_consistency::transaction::{TransactionReport, implied, judge};
use assay_consistency::{
    Anomaly, ClockError, Limitation, ObservedTransaction, Quality, QualityVerdict,
    TransactionHistory, TransactionStep,
};

use engine::{Engine, Plan, Records};

/// Histories of the suite; the example of the same name compares a million.
const HISTORIES: u64 = 2000;

#[test]
fn verdicts_agree_with_adya_with_all_orders_and_with_the_axioms() {
    let mut counts = campaign::Counts::default();
    for number in 0..HISTORIES {
        counts.compare(campaign::spread(number));
    }
    assert_eq!(counts.disagreements, Vec::<String>::new());
    let known: u64 = counts.differences.values().sum();
    let (compared, violated) = counts.compared["adya, lists"];
    assert!(compared > 4000 && violated > 400 && known < 100, "{compared} {violated} {known}");
    assert!(counts.compared["axioms"].1 > 10 && counts.skipped < 10);
}

/// Histories in which a level that an engine does not have shows its absence, if it can.
fn larger(engine: Engine, records: Records) -> Vec<TransactionHistory> {
    let plan = Plan {
        engine,
        records,
        transactions: 150,
        sessions: 6,
        keys: 5,
        steps_max: 4,
        aborted: 10,
        unknown: 3,
        has_final_read: true,
    };
    (0..8).map(|seed| engine::history(plan, seed)).collect()
}

fn violated(engine: Engine, records: Records) -> BTreeSet<Quality> {
    let reports = larger(engine, records).into_iter().map(|one| judge(&one, &ClockError::NONE));
    let violated = |report: assay_consistency::transaction::TransactionReport| {
        Quality::ALL.iter().copied().filter(move |quality| report.violates(*quality))
    };
    reports.flat_map(violated).collect()
}

#[test]
fn each_engine_violates_what_it_does_not_have_and_nothing_else() {
    use Quality::{
        Causal, NoGarbageReads, NoLostUpdates, ReadAtomic, ReadCommitted, RepeatableRead,
        SnapshotIsolation, StrictSerializable, StrongSnapshotIsolation,
    };
    let cases: [(Engine, &[Quality], &[Quality]); 6] = [
        (Engine::Serial, &[StrictSerializable], &[]),
        (Engine::Snapshot, &[StrongSnapshotIsolation], &[RepeatableRead]),
        (Engine::SnapshotWithoutCheck, &[Causal], &[NoLostUpdates]),
        (Engine::StaleSnapshot, &[SnapshotIsolation], &[Causal, RepeatableRead]),
        (Engine::ReadCommitted, &[ReadCommitted], &[ReadAtomic, NoLostUpdates]),
        (Engine::ReadUncommitted, &[], &[NoGarbageReads]),
    ];
    for (engine, has, lacks) in cases {
        for records in [Records::Lists, Records::ReadBeforeWrite, Records::Told] {
            let violated = violated(engine, records);
            // Without a check, appends of others slip in before those that a transaction has read
            // as its own, so that lists show an order that nothing has.
            let merges = [Engine::SnapshotWithoutCheck, Engine::ReadCommitted].contains(&engine);
            let has = if merges && records == Records::Lists { &[] } else { has };
            let has: BTreeSet<Quality> = has.iter().flat_map(|one| implied(*one)).collect();
            let unjust: Vec<_> = has.intersection(&violated).collect();
            assert!(unjust.is_empty(), "{engine:?} {records:?} has {unjust:?}");
            for quality in lacks {
                assert!(violated.contains(quality), "{engine:?} {records:?} lacks {quality:?}");
            }
        }
    }
}

fn key_of(step: &TransactionStep) -> u64 {
    match *step {
        TransactionStep::Read { key, .. }
        | TransactionStep::Write { key, .. }
        | TransactionStep::Append { key, .. }
        | TransactionStep::ReadList { key, .. } => key,
    }
}

fn head(one: &ObservedTransaction) -> TransactionHead {
    let ObservedTransaction { index, session, started, ended, outcome, .. } = *one;
    TransactionHead { index, session, started, ended, outcome }
}

/// The report of a history that is dealt out to `shares` by record, then by island.
fn dealt(history: &TransactionHistory, shares: u64) -> (TransactionReport, usize) {
    let parts = |share: u64| -> Vec<TransactionPart> {
        let part = |one: &ObservedTransaction| {
            let own =
                one.steps.iter().zip(0u32..).filter(|(step, _)| key_of(step) % shares == share);
            let (steps, places): (Vec<TransactionStep>, Vec<u32>) =
                own.map(|(step, place)| (step.clone(), place)).unzip();
            TransactionPart { transaction: ObservedTransaction { steps, ..one.clone() }, places }
        };
        history.transactions.iter().map(part).filter(|part| !part.places.is_empty()).collect()
    };
    let seen: HashSet<u64> = (0..shares).flat_map(|share| unknown_but_seen(parts(share))).collect();
    let (mut tally, mut islands) = (TransactionTally::default(), Islands::default());
    let mut all: Vec<Dependency> = Vec::new();
    for share in 0..shares {
        let (dependencies, of_share) = judge_records(parts(share), &seen);
        dependencies.iter().for_each(|one| islands.add(one));
        // Junctions have numbers of their own in each share, and keys that no other share has.
        all.extend(dependencies);
        tally.add(of_share);
        let outline = |one: &ObservedTransaction| TransactionOutline {
            head: head(one),
            steps: one.steps.len() as u32,
            records_read: records_read(&one.steps),
        };
        let of_session =
            history.transactions.iter().filter(|one| u64::from(one.session) % shares == share);
        tally.add(judge_sessions(of_session.map(outline).collect()));
    }
    islands.settle();
    let is_ordered = tally.unordered() == 0;
    let mut by_island: HashMap<usize, Vec<Dependency>> = HashMap::new();
    for one in all {
        if let Some(island) = islands.of(one.to.started) {
            by_island.entry(island).or_default().push(one);
        }
    }
    by_island.values().for_each(|island| tally.add(judge_island(island, is_ordered)));
    (tally.report(&seen), by_island.len())
}

/// The verdict of each quality, in words that are the same for the same verdict.
fn verdicts(report: &TransactionReport, is_ordered: bool) -> Vec<String> {
    let findings = report.findings.iter().map(|finding| {
        let text = match &finding.verdict {
            QualityVerdict::Violated(_) => "violated".to_owned(),
            QualityVerdict::NoneFound(power) => format!("none in {}", power.opportunities),
            // Of these the parts cannot tell without an order, and say so.
            QualityVerdict::NotAssessable(_) if !is_ordered => String::new(),
            QualityVerdict::NotAssessable(limitation) => format!("{limitation:?}"),
        };
        format!("{}: {text}", finding.quality.name())
    });
    findings.collect()
}

fn compare_dealt(history: &TransactionHistory, shares: u64) -> (usize, usize) {
    let whole = judge(history, &ClockError::NONE);
    let (parts, islands) = dealt(history, shares);
    let no_order = |one: &assay_consistency::QualityFinding| {
        one.verdict == QualityVerdict::NotAssessable(Limitation::NoVersionOrder)
    };
    let is_ordered = !parts.findings.iter().any(no_order);
    let of_parts = verdicts(&parts, is_ordered);
    for (whole, part) in verdicts(&whole, is_ordered).iter().zip(&of_parts) {
        let is_silent = !is_ordered && part.ends_with(": ");
        assert!(whole == part || is_silent, "{whole}, dealt out {part}\n{history:#?}");
    }
    let exact = |one: &&assay_consistency::transaction::AnomalyCount| {
        !matches!(
            one.anomaly,
            Anomaly::FracturedRead | Anomaly::NonMonotonicView | Anomaly::CausalityViolation
        )
    };
    let counts = |report: &TransactionReport| -> Vec<(Anomaly, String, u64)> {
        let all = report.anomalies.iter().filter(exact);
        all.map(|one| (one.anomaly, format!("{:?}", one.edges), one.count)).collect()
    };
    assert_eq!(counts(&whole), counts(&parts), "{history:#?}");
    (counts(&whole).len(), islands)
}

#[test]
fn a_history_that_is_dealt_out_has_the_verdicts_of_the_whole() {
    let mut anomalies = 0;
    for number in 0..4 * HISTORIES {
        let seed = campaign::spread(number);
        anomalies += compare_dealt(&engine::history(campaign::plan(seed), seed), 1 + number % 3).0;
    }
    assert!(anomalies > 1000, "{anomalies}");
    let mut islands = 0;
    for engine in Engine::ALL {
        for records in [Records::Lists, Records::ReadBeforeWrite, Records::Told] {
            for history in larger(engine, records) {
                islands += compare_dealt(&history, 3).1;
            }
        }
    }
    assert!(islands > 1000, "{islands}");
}
