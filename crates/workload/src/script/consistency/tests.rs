//! Plans of the workloads that are made to be judged.

use std::collections::BTreeSet;

use assay_model::observed::written;
use assay_model::{Argument, Arguments, Datum, Kind, Operation, Seed};

use super::ConsistencySpec;
use crate::script::engine::issued;
use crate::script::{ScriptName, ScriptPlan, ScriptSpec};
use crate::spec::PlanPhase;

/// The workloads of this module: those behind the benchmarks.
const NAMES: &[ScriptName] = ScriptName::ALL.split_at(4).1;

fn plan(workload: ScriptName, phase: PlanPhase) -> ScriptPlan {
    let mut spec = ConsistencySpec { workload, ..ConsistencySpec::default() };
    spec.dataset.keys = 40;
    ScriptPlan::new(&ScriptSpec::Consistency(spec), Seed(7), phase).expect("it is valid")
}

/// The operations of the first `count` processes, each with its first argument.
fn operations(plan: &ScriptPlan, count: u64) -> Vec<(Operation, Option<String>)> {
    let first = |arguments: &Arguments| match arguments.of(0).next() {
        Some(Argument::Given(Datum::Int(number))) => Some(number.to_string()),
        Some(Argument::Given(Datum::Text(text))) => Some(text.trim().to_owned()),
        _ => None,
    };
    let issued = issued(plan, 0..count).into_iter();
    issued.map(|(operation, arguments)| (operation, first(&arguments))).collect()
}

#[test]
fn every_write_has_a_number_of_its_own() {
    for &name in NAMES {
        let plan = plan(name, PlanPhase::Run);
        let operations = operations(&plan, 200);
        let writes = operations.iter().filter(|(operation, _)| {
            let place = usize::from(operation.statement).wrapping_sub(1);
            plan.roles.get(place).is_some_and(|role| role.writes_once())
        });
        let mut numbers = BTreeSet::new();
        for (operation, first) in writes {
            assert_eq!(first.as_deref(), Some(&*written(operation.index).to_string()), "{name:?}");
            assert!(numbers.insert(operation.index), "{name:?}");
        }
        let has_none = matches!(name, ScriptName::Bank | ScriptName::Counter);
        assert_eq!(numbers.is_empty(), has_none, "{name:?}");
    }
}

#[test]
fn a_plan_ends_when_its_keys_are_used() {
    for &name in NAMES {
        let plan = plan(name, PlanPhase::Run);
        let all = operations(&plan, 2_000);
        assert!(all.iter().all(|(operation, _)| operation.key < 40), "{name:?}");
        if let Some(len) = plan.len() {
            let keys: BTreeSet<u64> = all
                .iter()
                .filter(|(operation, _)| operation.statement > 0)
                .map(|(operation, _)| operation.key)
                .collect();
            assert_eq!(keys.len(), 40, "{name:?}: {len} processes");
        }
    }
}

#[test]
fn a_key_of_a_list_is_written_about_as_often_as_it_is_said() {
    let plan = plan(ScriptName::ListAppend, PlanPhase::Run);
    let mut appends = [0u64; 40];
    for (operation, _) in operations(&plan, u64::MAX >> 1) {
        appends[operation.key as usize] += u64::from(operation.kind == Kind::Update);
    }
    assert!(appends.iter().all(|count| (10..64).contains(count)), "{appends:?}");
    let mean = appends.iter().sum::<u64>() as f64 / 40.0;
    assert!((mean - 32.0).abs() < 3.0, "{mean}");
}

#[test]
fn each_key_of_a_fork_is_written_once_by_who_has_read_it() {
    let plan = plan(ScriptName::LongFork, PlanPhase::Run);
    let mut writers = [0; 40];
    let mut before = None;
    for (operation, _) in operations(&plan, u64::MAX >> 1) {
        if operation.kind == Kind::Update {
            writers[operation.key as usize] += 1;
            assert_eq!(before, Some((Kind::Read, operation.key)));
        }
        before = Some((operation.kind, operation.key));
    }
    assert_eq!(writers, [1; 40]);
}

#[test]
fn a_load_writes_each_key_once() {
    for &name in NAMES {
        let plan = plan(name, PlanPhase::Load);
        let keys: Vec<u64> =
            operations(&plan, 100).iter().map(|(operation, _)| operation.key).collect();
        assert_eq!(keys, (0..40).collect::<Vec<u64>>(), "{name:?}");
    }
}

#[test]
fn values_that_make_no_sense_are_refused_with_their_key() {
    let read = |text: &str| ScriptSpec::from_toml(text, "w.toml").map_err(|one| one.to_string());
    for (text, part) in [
        ("workload = \"bank\"\n[dataset]\nkeys = 1", "a transfer needs two accounts"),
        ("workload = \"bank\"\n[dataset]\nkeys = 65", "at most 64"),
        ("workload = \"list-append\"\n[transactions]\nactive = 0", "from 1 to 10000"),
        ("workload = \"write-skew\"\n[transactions]\nactive = 1", "from 2 to 10000"),
        ("workload = \"set\"\n[transactions]\nwrites = 1.0", "both reads and writes"),
        ("workload = \"list-append\"\n[transactions]\nlenght = 3", "lenght"),
    ] {
        let error = read(text).expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
    }
}
