//! TPC-C on a store of rows in memory.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{Argument, Arguments, Datum, Kind, Operation, Seed};

use super::conditions::{self, ConditionFinding, ConsistencyCondition, Examination};
use super::query::{QUERIES, Query};
use crate::distribution::theory::chi_square_holds;
use crate::script::engine::{Engine, issued};
use crate::script::{ScriptPlan, ScriptSpec};
use crate::spec::PlanPhase;

const SMALL: &str = "workload = \"tpcc\"\n[dataset]\nwarehouses = 2\nitems = 200\n\
                     customers_per_district = 30\norders_per_district = 30\n";

fn plan(text: &str, seed: u64, phase: PlanPhase) -> ScriptPlan {
    let spec = ScriptSpec::from_toml(text, "test").unwrap();
    ScriptPlan::new(&spec, Seed(seed), phase).unwrap()
}

#[test]
fn every_query_is_at_its_place_and_gets_as_many_arguments_as_it_wants() {
    let expected = |text: &str| text.matches('?').count();
    let mut observed = BTreeSet::new();
    let phases = [PlanPhase::Load, PlanPhase::Run].map(|phase| plan(SMALL, 1, phase));
    for plan in &phases {
        for (operation, arguments) in issued(plan, 0..2000) {
            let Some(place) = operation.statement.checked_sub(1) else {
                assert!(operation.kind.ends_transaction());
                continue;
            };
            let query = &QUERIES[usize::from(place)];
            assert_eq!(arguments.of(0).count(), expected(query.text), "{}", query.name);
            assert_eq!(operation.kind, query.kind);
            observed.insert(place);
        }
    }
    let checks = QUERIES.iter().filter(|query| query.name.starts_with("check."));
    assert_eq!(observed.len() + checks.count(), QUERIES.len());
    let names: BTreeSet<&str> = QUERIES.iter().map(|query| query.name).collect();
    assert_eq!(names.len(), QUERIES.len());
    assert_eq!(QUERIES[Query::CheckLines as usize].name, "check.lines");
    assert_eq!(QUERIES[Query::RecentStock as usize].name, "stock.recent");
    assert_eq!(QUERIES[Query::HistoryInsert as usize].name, "history.insert");
}

#[test]
fn the_same_seed_issues_the_same_operations_on_any_worker() {
    let text = format!("{SMALL}[process]\ntransactions = 3\n");
    let one = issued(&plan(&text, 7, PlanPhase::Run), 0..60);
    let plan = plan(&text, 7, PlanPhase::Run);
    let mut workers: Vec<(Operation, Arguments)> =
        (0..3).flat_map(|worker| issued(&plan, (worker..60).step_by(3))).collect();
    workers.sort_by_key(|(operation, _)| operation.index);
    assert!(one == workers);
}

#[test]
fn a_load_writes_every_key_once_and_as_many_rows_as_there_are() {
    let plan = plan(SMALL, 3, PlanPhase::Load);
    let mut rows: BTreeMap<u16, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let mut count = 0u64;
    for (operation, arguments) in issued(&plan, 0..plan.len().unwrap()) {
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
fn arguments_are_taken_from_what_was_issued_before() {
    let plan = plan(SMALL, 5, PlanPhase::Run);
    let width = plan.width();
    for (operation, arguments) in issued(&plan, 0..500) {
        let place = operation.index % width;
        for argument in arguments.of(0) {
            if let Argument::Taken(taken) = argument {
                assert!(u64::from(taken.operation) < place);
            }
        }
    }
}

/// The rows of a small load, after so many transactions with a seed of their own.
fn after(transactions: u64, text: &str) -> Engine {
    let load = plan(text, 3, PlanPhase::Load);
    let mut engine = Engine::loaded(&load);
    let mut spec = ScriptSpec::from_toml(text, "test").unwrap();
    spec.take_seed(load.dataset());
    let run = ScriptPlan::new(&spec, Seed(11), PlanPhase::Run).unwrap();
    assert_eq!(run.dataset().differences(load.dataset()), [""; 0]);
    engine.run(&run, 0..transactions);
    engine
}

fn findings(engine: &mut Engine, text: &str) -> Vec<ConditionFinding> {
    let ScriptSpec::Tpcc(spec) = ScriptSpec::from_toml(text, "test").unwrap() else {
        panic!("this is TPC-C")
    };
    let mut examination = Examination::new(&spec);
    while let Some(condition_query) = examination.condition_query() {
        for row in engine.query(condition_query.statement, &condition_query.arguments) {
            let row: Vec<Datum<'_>> =
                row.iter().map(|bytes| Datum::decode(bytes).unwrap().0).collect();
            examination.row(&row);
        }
        examination.answered();
    }
    examination.findings()
}

#[test]
fn all_conditions_hold_after_a_load() {
    for finding in findings(&mut after(0, SMALL), SMALL) {
        let expected = if finding.condition == ConsistencyCondition::Paid { 2 } else { 20 };
        assert_eq!((finding.examined, &finding.violations[..]), (expected, &[][..]));
    }
}

#[test]
fn all_conditions_hold_after_a_run_and_nothing_is_refused() {
    let mut engine = after(3_000, SMALL);
    assert_eq!(engine.refused, [""; 0]);
    for finding in findings(&mut engine, SMALL) {
        assert_eq!(finding.violations, [], "{:?}", finding.condition);
    }
    // 600 payments were loaded, each of 10.00; so many more as the mix says.
    let payments = engine.column("history", "h_amount").len() - 600;
    assert!((1_200..1_400).contains(&payments), "{payments}");
    let orders = engine.column("orders", "o_id").len() - 600;
    assert!((1_250..1_450).contains(&orders), "{orders}");
}

#[test]
fn every_key_that_a_run_names_exists() {
    let engine = after(2_000, SMALL);
    // What may find nothing: an item that does not exist, a district without open orders.
    let may_miss = |statement: u16| {
        let of = |query: Query| query as u16 + 1;
        [Query::Item, Query::OldestNewOrder, Query::NewOrderDelete, Query::OrderCustomer]
            .into_iter()
            .chain([Query::OrderCarrier, Query::LinesDelivered, Query::LineAmounts])
            .chain([Query::CustomerDelivered, Query::LastOrder, Query::Lines])
            .any(|query| of(query) == statement)
    };
    for (statement, rows) in &engine.touched {
        let name = QUERIES[usize::from(*statement) - 1].name;
        assert!(*rows > 0 || may_miss(*statement), "{name} touched no row");
    }
    let missed = |query: Query| {
        let mut all = engine.touched.iter().filter(|(one, _)| *one == query as u16 + 1);
        let count = all.clone().count() as f64;
        all.by_ref().filter(|(_, rows)| *rows == 0).count() as f64 / count
    };
    // One in a hundred orders names one missing item among about ten.
    assert!((0.0002..0.003).contains(&missed(Query::Item)), "{}", missed(Query::Item));
    assert!(missed(Query::OldestNewOrder) < 0.2);
}

/// A line, `condition warehouse/district: left != right`, for every violation.
fn violations(engine: &mut Engine) -> Vec<String> {
    let side =
        |side: &conditions::ConditionTerm| side.value.map_or("none".into(), |n| n.to_string());
    let mut lines = Vec::new();
    for finding in findings(engine, SMALL) {
        for found in &finding.violations {
            let district = found.district.map_or(String::new(), |district| format!("/{district}"));
            let (clause, warehouse) = (finding.condition.clause(), found.warehouse);
            let sides = format!("{} != {}", side(&found.left), side(&found.right));
            lines.push(format!("{clause} {warehouse}{district}: {sides}"));
        }
    }
    lines
}

/// What the conditions say after one more query.
fn broken_by(query: Query, arguments: &[Datum<'_>]) -> Vec<String> {
    let mut engine = after(0, SMALL);
    engine.query(query as u16 + 1, arguments);
    assert_eq!(engine.touched.last().map(|(_, rows)| *rows), Some(1));
    violations(&mut engine)
}

#[test]
fn each_condition_is_found_broken_where_it_is_broken() {
    let [one, two, thirty] = [1, 2, 30].map(Datum::Int);
    let amount = Datum::Decimal("2.50".parse().unwrap());
    let lost_payment = broken_by(Query::DistrictPaid, &[amount, two, one]);
    assert_eq!(lost_payment, ["3.3.2.1 2: 300000.00 != 300002.50"]);
    let lost_order = broken_by(Query::NextOrder, &[one, two]);
    assert_eq!(lost_order, ["3.3.2.2 1/2: 31 != 30", "3.3.2.2 1/2: 31 != 30"]);
    let lost_new_order = broken_by(Query::NewOrderDelete, &[one, two, Datum::Int(25)]);
    assert_eq!(lost_new_order, ["3.3.2.3 1/2: 9 != 8"]);
    let text = Datum::Text("x");
    let row = [one, two, thirty, Datum::Int(16), one, one, Datum::Null, one, amount, text];
    let extra_line = broken_by(Query::LineInsert, &row);
    assert_eq!(extra_line.len(), 1);
    assert!(extra_line[0].starts_with("3.3.2.4 1/2: "), "{extra_line:?}");
}

#[test]
fn a_store_without_rows_violates_the_conditions() {
    let mut engine = Engine::new(&plan(SMALL, 1, PlanPhase::Load));
    let found = violations(&mut engine);
    assert!(found.contains(&"3.3.2.1 1: none != 0.00".to_owned()), "{found:?}");
    assert!(found.contains(&"3.3.2.2 2/10: none != none".to_owned()), "{found:?}");
}

#[test]
fn a_customer_found_by_name_is_the_one_that_the_plan_means() {
    let text = "workload = \"tpcc\"\n[dataset]\nitems = 20\ncustomers_per_district = 1500\n\
                orders_per_district = 1\n[transactions]\nnew_order = 0\ndelivery = 0\n\
                stock_level = 0\norder_status = 0\n";
    let mut engine = after(300, text);
    assert_eq!(engine.refused, [""; 0]);
    // A plan that means another customer than the name finds would read C_DATA for good credit.
    let bad: Vec<bool> = engine
        .column("customer", "c_credit")
        .into_iter()
        .map(|credit| credit == Datum::Text("BC"))
        .collect();
    let marked: Vec<bool> = engine
        .column("customer", "c_data")
        .into_iter()
        .map(|notes| matches!(notes, Datum::Text(notes) if notes.contains('|')))
        .collect();
    assert!(bad.iter().zip(&marked).all(|(bad, marked)| *bad || !marked));
    assert!(marked.iter().filter(|marked| **marked).count() > 10);
    let share = bad.iter().filter(|bad| **bad).count() as f64 / bad.len() as f64;
    assert!((0.08..0.12).contains(&share), "{share}");
}

#[test]
fn transactions_follow_the_mix() {
    let mut counts = [0u64; 5];
    let mut undone = 0;
    for (operation, _) in issued(&plan(SMALL, 9, PlanPhase::Run), 0..20_000) {
        if operation.ends_transaction {
            counts[usize::from(operation.transaction_type) - 1] += 1;
            undone += u64::from(operation.kind == Kind::Rollback);
        }
    }
    chi_square_holds(&counts, |place| [0.45, 0.43, 0.04, 0.04, 0.04][place]);
    // 1 % of about 9000 orders; five standard deviations are 47.
    assert!((45..140).contains(&undone), "{undone}");
}

/// The whole numbers among the arguments of every operation of `query`.
fn numbers(query: Query, operations: &[(Operation, Arguments)]) -> Vec<Vec<i64>> {
    let of_query = operations.iter().filter(|(one, _)| one.statement == query as u16 + 1);
    let whole = |argument| match argument {
        Argument::Given(Datum::Int(number)) => number,
        _ => -1,
    };
    of_query.map(|(_, arguments)| arguments.of(0).map(whole).collect()).collect()
}

fn share(all: &[Vec<i64>], is_one: impl Fn(&[i64]) -> bool) -> f64 {
    all.iter().filter(|one| is_one(one)).count() as f64 / all.len() as f64
}

#[test]
fn so_many_are_remote_or_found_by_name_as_the_standard_wants() {
    let all = issued(&plan(SMALL, 13, PlanPhase::Run), 0..20_000);
    let payments = numbers(Query::HistoryInsert, &all);
    let remote = share(&payments, |row| row[0] != row[4]);
    assert!((0.138..0.162).contains(&remote), "{remote} of {} payments", payments.len());
    // A customer who is found by name has a number that comes from the answer.
    let by_name = share(&payments, |row| row[2] == -1);
    assert!((0.583..0.617).contains(&by_name), "{by_name}");
    let lines = numbers(Query::LineInsert, &all);
    let remote = share(&lines, |row| row[0] != row[5]);
    assert!((0.0085..0.0115).contains(&remote), "{remote} of {} lines", lines.len());
    let of_order = lines.len() as f64 / numbers(Query::OrderInsert, &all).len() as f64;
    assert!((9.85..10.05).contains(&of_order), "{of_order} lines of an order");
    let all_local = numbers(Query::OrderInsert, &all);
    assert!(share(&all_local, |row| row[7] == 0) > 0.05);
}

#[test]
fn with_one_warehouse_nothing_is_remote() {
    let text = SMALL.replace("warehouses = 2", "warehouses = 1");
    let all = issued(&plan(&text, 13, PlanPhase::Run), 0..3_000);
    assert_eq!(share(&numbers(Query::HistoryInsert, &all), |row| row[0] != 1 || row[4] != 1), 0.0);
    assert_eq!(share(&numbers(Query::LineInsert, &all), |row| row[5] != 1), 0.0);
}

#[test]
fn terminals_keep_the_standards_think_times_only_if_told_to() {
    let thinking = format!("{SMALL}[process]\ntransactions = 2\nthink = \"standard\"\n");
    let mut sums = [(0.0, 0.0); 5];
    for (operation, _) in issued(&plan(&thinking, 4, PlanPhase::Run), 0..5_000) {
        if operation.think.0 > 0 {
            let (count, sum) = &mut sums[usize::from(operation.transaction_type) - 1];
            *count += 1.0;
            *sum += operation.think.as_secs_f64();
        }
    }
    assert_eq!(sums.iter().map(|(count, _)| count).sum::<f64>(), 10_000.0);
    // Keying with thinking in seconds; within five standard deviations of the mean.
    for ((count, sum), (keying, think)) in
        sums.into_iter().zip([(18.0, 12.0), (3.0, 12.0), (2.0, 10.0), (2.0, 5.0), (2.0, 5.0)])
    {
        let mean: f64 = sum / count;
        assert!((mean - keying - think).abs() < 5.0 * think / f64::sqrt(count), "{mean}");
    }
    let hurried = issued(&plan(SMALL, 4, PlanPhase::Run), 0..100);
    assert!(hurried.iter().all(|(operation, _)| operation.think.0 == 0));
}
