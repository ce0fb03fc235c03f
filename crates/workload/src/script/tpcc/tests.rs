use std::collections::{BTreeMap, BTreeSet};

use assay_model::{Argument, Arguments, Filled, Kind, Operation, Seed};

use super::query::{QUERIES, Query};
use crate::plan::PlanPhase;
use crate::script::{ScriptPlan, ScriptSpec};

const SMALL: &str = "workload = \"tpcc\"\n[dataset]\nwarehouses = 2\nitems = 200\n\
                     customers_per_district = 30\norders_per_district = 30\n";

fn plan(text: &str, seed: u64, phase: PlanPhase) -> ScriptPlan {
    let spec = ScriptSpec::from_toml(text, "test").unwrap();
    ScriptPlan::new(&spec, Seed(seed), phase).unwrap()
}

/// Operations and arguments of the processes with these numbers.
fn asked(plan: &ScriptPlan, processes: impl Iterator<Item = u64>) -> Vec<(Operation, Arguments)> {
    let mut source = plan.source();
    let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
    let mut all = Vec::new();
    for process in processes {
        if source.fill(process, &mut operations).unwrap() == Filled::End {
            break;
        }
        source.arguments(&mut arguments);
        for (place, operation) in operations.iter().enumerate() {
            let mut one = Arguments::default();
            assert!(one.push_encoded(arguments.encoded(place)));
            all.push((*operation, one));
        }
    }
    all
}

#[test]
fn every_query_is_at_its_place_and_gets_as_many_arguments_as_it_wants() {
    let wanted = |text: &str| text.matches('?').count();
    let mut seen = BTreeSet::new();
    let phases = [PlanPhase::Load, PlanPhase::Run].map(|phase| plan(SMALL, 1, phase));
    for plan in &phases {
        for (operation, arguments) in asked(plan, 0..2000) {
            let Some(place) = operation.statement.checked_sub(1) else {
                assert!(operation.kind.ends_transaction());
                continue;
            };
            let query = &QUERIES[usize::from(place)];
            assert_eq!(arguments.of(0).count(), wanted(query.text), "{}", query.name);
            assert_eq!(operation.kind, query.kind);
            seen.insert(place);
        }
    }
    let checks = QUERIES.iter().filter(|query| query.name.starts_with("check."));
    assert_eq!(seen.len() + checks.count(), QUERIES.len());
    let names: BTreeSet<&str> = QUERIES.iter().map(|query| query.name).collect();
    assert_eq!(names.len(), QUERIES.len());
    assert_eq!(QUERIES[Query::CheckLines as usize].name, "check.lines");
    assert_eq!(QUERIES[Query::RecentStock as usize].name, "stock.recent");
    assert_eq!(QUERIES[Query::HistoryInsert as usize].name, "history.insert");
}

#[test]
fn the_same_seed_asks_the_same_on_any_lane() {
    let text = format!("{SMALL}[process]\ntransactions = 3\n");
    let one = asked(&plan(&text, 7, PlanPhase::Run), 0..60);
    let plan = plan(&text, 7, PlanPhase::Run);
    let mut lanes: Vec<(Operation, Arguments)> =
        (0..3).flat_map(|lane| asked(&plan, (lane..60).step_by(3))).collect();
    lanes.sort_by_key(|(operation, _)| operation.index);
    assert!(one == lanes);
}

#[test]
fn a_load_writes_every_key_once_and_as_many_rows_as_there_are() {
    let plan = plan(SMALL, 3, PlanPhase::Load);
    let mut rows: BTreeMap<u16, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let mut count = 0u64;
    for (operation, arguments) in asked(&plan, 0..plan.len().unwrap()) {
        if operation.kind == Kind::Insert {
            rows.entry(operation.statement).or_default().insert(arguments.encoded(0).to_vec());
            count += 1;
        }
    }
    let of = |query: Query| rows[&(query as u16 + 1)].len();
    assert_eq!(of(Query::ItemInsert), 200);
    assert_eq!(of(Query::StockInsert), 400);
    assert_eq!(of(Query::WarehouseInsert), 2);
    assert_eq!(of(Query::DistrictInsert), 20);
    assert_eq!([of(Query::CustomerInsert), of(Query::HistoryInsert)], [600, 600]);
    assert_eq!([of(Query::OrderInsert), of(Query::NewOrderInsert)], [600, 180]);
    assert_eq!(rows.values().map(|keys| keys.len() as u64).sum::<u64>(), count);
    let hint = plan.records() as f64;
    assert!((count as f64 / hint - 1.0).abs() < 0.05, "{count} rows, {hint} expected");
}

#[test]
fn arguments_are_taken_from_what_was_asked_before() {
    for (operation, arguments) in asked(&plan(SMALL, 5, PlanPhase::Run), 0..500) {
        let width = plan(SMALL, 5, PlanPhase::Run).width();
        let place = operation.index % width;
        for argument in arguments.of(0) {
            if let Argument::Taken(taken) = argument {
                assert!(u64::from(taken.operation) < place);
            }
        }
    }
}
