//! BenchFoundry's workload on a store of rows in memory.

use assay_model::{Nanos, Seed};

use super::name::Name;
use crate::script::engine::Engine;
use crate::script::{ScriptPlan, ScriptSpec};
use crate::spec::PlanPhase;

const REPO: &str = "workload = \"tpcc-benchfoundry\"\n[process]\nprocess_target_scaler = 10\n";

fn plan(text: &str, phase: PlanPhase) -> ScriptPlan {
    let mut spec = ScriptSpec::from_toml(text, "test").unwrap();
    if phase == PlanPhase::Run {
        spec.take_seed(plan(text, PlanPhase::Load).dataset());
    }
    let seed = if phase == PlanPhase::Load { 5 } else { 6 };
    ScriptPlan::new(&spec, Seed(seed), phase).unwrap()
}

/// Loaded, then run to the end.
fn after(text: &str) -> Engine {
    let (load, run) = (plan(text, PlanPhase::Load), plan(text, PlanPhase::Run));
    assert_eq!(run.dataset().differences(load.dataset()), [""; 0]);
    let mut engine = Engine::loaded(&load);
    engine.run(&run, 0..run.len().unwrap());
    assert_eq!(engine.refused, [""; 0]);
    engine
}

/// The share of the queries with this name that found a row.
fn hits(engine: &Engine, text: &str, name: &str) -> f64 {
    let found = engine.touched_by(&plan(text, PlanPhase::Run), name);
    found.iter().sum::<usize>() as f64 / found.len() as f64
}

#[test]
fn a_load_of_scale_one_has_as_many_rows_as_the_paper_says() {
    assert_eq!(plan(REPO, PlanPhase::Load).len(), Some(4_211));
}

#[test]
fn independent_keys_miss_as_the_generator_does() {
    let engine = after(REPO);
    assert_eq!(hits(&engine, REPO, "district.read"), 1.0);
    let customers = hits(&engine, REPO, "customer.read");
    assert!((0.07..0.13).contains(&customers), "{customers}");
    assert!(hits(&engine, REPO, "order_line.read") < 0.001);
    assert_eq!(hits(&engine, REPO, "customer.update"), 1.0);
}

#[test]
fn names_are_in_the_order_of_their_tables() {
    let keys = Name::ALL.map(|name| (name.name(), name.table().key));
    let expected = [
        ("warehouse", "w_id"),
        ("district", "d_id"),
        ("customer", "c_id"),
        ("orders", "o_id"),
        ("new_order", "no_id"),
        ("item", "i_id"),
        ("stock", "s_id"),
        ("order_line", "ol_number"),
        ("history", "h_id"),
    ];
    assert_eq!(keys, expected);
}

#[test]
fn consistent_keys_always_hit() {
    let text =
        format!("{REPO}keys = \"consistent\"\nstarts = \"model\"\nneworder_process_target = 1\n");
    let engine = after(&text);
    assert!(engine.touched.iter().all(|(_, rows)| *rows == 1));
    let run = plan(&text, PlanPhase::Run);
    assert!(run.schedule().is_none());
    assert_eq!(run.rate(), Some(30.0));
}

#[test]
fn all_processes_of_a_second_begin_at_once() {
    let run = plan(REPO, PlanPhase::Run);
    assert_eq!(run.len(), Some(20 * 120));
    let schedule = run.schedule().unwrap();
    let starts = [0, 19, 20, 2_399].map(|process| schedule.intended(process).unwrap());
    assert_eq!(starts, [0, 0, 1, 119].map(Nanos::from_secs));
    let mut source = run.source();
    let mut operations = Vec::new();
    let types: Vec<u16> = (20..40)
        .map(|process| {
            source.fill(process, &mut operations).unwrap();
            operations[0].transaction_type
        })
        .collect();
    assert_eq!(types, [[1; 10], [2; 10]].concat());
}

#[test]
fn the_papers_processes_begin_at_even_distances() {
    let text = "workload = \"tpcc-benchfoundry\"\n[process]\nstarts = \"even\"\n\
                payment_process_target = 0.5\norderstatus_process_target = 0.5\n\
                neworder_process_target = 0.5\ndelivery_process_target = 0.5\n\
                process_target_scaler = 125\n";
    let run = plan(text, PlanPhase::Run);
    assert_eq!((run.len(), run.rate()), (Some(30_000), Some(250.0)));
    let schedule = run.schedule().unwrap();
    assert_eq!(schedule.intended(1), Some(Nanos::from_millis(4)));
    assert!((schedule.rate() - 250.0).abs() < 1e-9);
    after(&text.replace("125", "25"));
}

#[test]
fn part_of_a_process_cannot_begin_at_a_full_second() {
    let text = "workload = \"tpcc-benchfoundry\"\n[process]\npayment_process_target = 0.5\n";
    let error = ScriptSpec::from_toml(text, "test").unwrap_err().to_string();
    assert!(error.starts_with("test:3: process.payment_process_target = 0.5: "), "{error}");
}
