//! Verdicts on transactions compared with those of others, on small histories with fixed seeds.

#[path = "../examples/differential_transactions/brute.rs"]
mod brute;
#[path = "../examples/differential_transactions/campaign.rs"]
mod campaign;
#[path = "../examples/differential_transactions/engine.rs"]
mod engine;
#[path = "../examples/differential_transactions/foreign.rs"]
mod foreign;

use std::collections::BTreeSet;

use assay_consistency::transaction::{implied, judge};
use assay_consistency::{ClockError, Quality, TransactionHistory};

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
