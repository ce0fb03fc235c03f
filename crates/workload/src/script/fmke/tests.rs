//! Processes of FMKe on an engine of rows.

use std::collections::BTreeMap;

use assay_model::{Datum, Kind, Operation, Seed};

use super::deck::BLOCK;
use super::{FmkeLayout, FmkeSpec, OPERATIONS};
use crate::script::engine::{self, Engine};
use crate::script::{ScriptPlan, ScriptSpec};
use crate::spec::PlanPhase;

const SEED: Seed = Seed(11);

fn spec(text: &str) -> ScriptSpec {
    let text = format!("workload = \"fmke\"\n{text}\n[dataset]\npopulation = \"minimal\"\n");
    ScriptSpec::from_toml(&text, "my.toml").unwrap()
}

fn plan(spec: &ScriptSpec, phase: PlanPhase) -> ScriptPlan {
    ScriptPlan::new(spec, SEED, phase).unwrap()
}

/// A store that was loaded.
fn loaded(spec: &ScriptSpec) -> Engine {
    Engine::loaded(&plan(spec, PlanPhase::Load))
}

/// The operations of a process, with the name of what it does.
fn issued(plan: &ScriptPlan, process: u64) -> (String, Vec<Operation>) {
    let issued = engine::issued(plan, [process]).into_iter();
    let operations: Vec<Operation> = issued.map(|(operation, _)| operation).collect();
    let name = plan.transaction_types[usize::from(operations[0].transaction_type)].clone();
    (name, operations)
}

fn whole(datums: &[Datum<'_>]) -> Vec<i64> {
    let whole = |datum: &Datum<'_>| match datum {
        Datum::Int(number) => *number,
        other => panic!("{other:?} is no whole number"),
    };
    datums.iter().map(whole).collect()
}

#[test]
fn a_load_writes_every_row_with_each_prescription_in_three_lists() {
    for layout in ["normalised", "nested"] {
        let mut engine = loaded(&spec(&format!("layout = \"{layout}\"")));
        for (table, key, rows) in [
            ("patients", "patient_id", 100),
            ("pharmacies", "pharmacy_id", 30),
            ("staff", "staff_id", 50),
            ("facilities", "facility_id", 10),
            ("prescriptions", "prescription_id", 100),
        ] {
            assert_eq!(whole(&engine.column(table, key)), (1..=rows).collect::<Vec<i64>>());
        }
        for (list, owner) in [
            ("patient_prescriptions", "patient_id"),
            ("pharmacy_prescriptions", "pharmacy_id"),
            ("staff_prescriptions", "prescriber_id"),
        ] {
            let entries = whole(&engine.column(list, "entry_id"));
            let owners = whole(&engine.column(list, "owner_id"));
            let found: BTreeMap<i64, i64> = entries.into_iter().zip(owners).collect();
            let expected = whole(&engine.column("prescriptions", owner));
            assert_eq!(found, (1..=100).zip(expected).collect());
        }
    }
}

#[test]
fn packed_lists_have_each_prescription_three_times() {
    let mut engine = loaded(&spec("layout = \"nested-packed\""));
    for table in ["patients", "pharmacies", "staff"] {
        let lists = engine.column(table, "packed");
        let text = |datum: &Datum<'_>| match datum {
            Datum::Text(text) => text.lines().map(str::to_owned).collect::<Vec<String>>(),
            other => panic!("{other:?} is no text"),
        };
        let lines: Vec<String> = lists.iter().flat_map(text).collect();
        assert_eq!(lines.len(), 100, "{table}");
        assert!(lines.iter().all(|line| line.split('|').count() == 8), "{lines:?}");
    }
}

#[test]
fn operations_read_and_write_as_often_as_fmke_does() {
    let reads = |operations: &[Operation]| {
        operations.iter().filter(|one| matches!(one.kind, Kind::Read | Kind::Scan)).count()
    };
    let writes = |operations: &[Operation]| {
        operations.iter().filter(|one| matches!(one.kind, Kind::Insert | Kind::Update)).count()
    };
    // Queries that read and write, for each operation in the order of their names.
    let list = [(2, 0), (1, 0), (2, 0), (4, 4), (2, 0), (2, 0), (1, 1), (1, 1), (1, 0)];
    let nested = [(2, 0), (1, 0), (2, 0), (4, 4), (2, 0), (2, 0), (1, 4), (1, 4), (1, 0)];
    let packed = [(1, 0), (1, 0), (1, 0), (4, 4), (1, 0), (1, 0), (1, 4), (1, 4), (1, 0)];
    for (layout, expected) in [("normalised", list), ("nested", nested), ("nested-packed", packed)]
    {
        let plan = plan(&spec(&format!("layout = \"{layout}\"")), PlanPhase::Run);
        let expected: BTreeMap<&str, (usize, usize)> =
            OPERATIONS.into_iter().zip(expected).collect();
        for process in 0..BLOCK {
            let (name, operations) = issued(&plan, process);
            assert_eq!((reads(&operations), writes(&operations)), expected[&*name], "{name}");
        }
    }
}

#[test]
fn every_operation_of_the_corrected_run_finds_its_rows_and_no_identifier_is_used_twice() {
    for layout in ["normalised", "nested", "nested-packed"] {
        let spec = spec(&format!("layout = \"{layout}\""));
        let mut engine = loaded(&spec);
        let run = plan(&spec, PlanPhase::Run);
        engine.run(&run, 0..4 * BLOCK);
        assert_eq!(engine.refused, [""; 0]);
        // Adding drugs always meets an open prescription, processing does once for each.
        for name in ["prescription.process", "prescription.add_drugs"] {
            let hits = engine.touched_by(&run, name).into_iter().filter(|rows| *rows == 1);
            assert_eq!(hits.count(), 160, "{layout} {name}");
        }
        assert_eq!(engine.column("prescriptions", "processed").len(), 100 + 4 * 80);
    }
}

#[test]
fn copies_are_as_the_prescriptions_after_a_run_of_one_session() {
    let spec = spec("layout = \"nested\"");
    let mut engine = loaded(&spec);
    engine.run(&plan(&spec, PlanPhase::Run), 0..5 * BLOCK);
    for column in ["drugs", "processed", "date_processed"] {
        let mut of = |table: &str, key: &str| -> BTreeMap<i64, String> {
            let values = engine.column(table, column).into_iter();
            let values: Vec<String> = values.map(|value| format!("{value:?}")).collect();
            whole(&engine.column(table, key)).into_iter().zip(values).collect()
        };
        let records = of("prescriptions", "prescription_id");
        for list in ["patient_prescriptions", "pharmacy_prescriptions", "staff_prescriptions"] {
            assert_eq!(of(list, "entry_id"), records, "{list} {column}");
        }
    }
}

#[test]
fn the_repositorys_programs_collide_and_process_again() {
    let spec = spec("compat = \"repo\"");
    let mut engine = loaded(&spec);
    let run = plan(&spec, PlanPhase::Run);
    engine.run(&run, 0..10 * BLOCK);
    let missed = |name: &str| engine.touched_by(&run, name).contains(&0);
    assert!(missed("prescription.process"), "a loaded one was processed twice");
    assert!(missed("prescription.add_drugs"), "a processed one got other drugs");
    assert!(!missed("pharmacy_prescriptions.processed"));
    assert!(run.queries.iter().any(|query| query.name == "pharmacy_prescriptions.processed"));
}

#[test]
fn the_paper_has_seven_operations_and_half_of_the_doctors() {
    let text = "workload = \"fmke\"\ncompat = \"paper\"\n[dataset]\npopulation = \"standard\"\n";
    let spec = ScriptSpec::from_toml(text, "my.toml").unwrap();
    let run = ScriptPlan::new(&spec, SEED, PlanPhase::Run).unwrap();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    (0..BLOCK).for_each(|process| *counts.entry(issued(&run, process).0).or_default() += 1);
    assert_eq!(counts.len(), 7);
    assert_eq!(counts["create-prescription"], 88, "8 of 91");
    assert_eq!(spec.dataset(SEED).sizes["staff"], 5_000);
}

#[test]
fn sizes_and_weights_that_cannot_be_are_refused_with_what_to_do() {
    let problem = |text: &str| ScriptSpec::from_toml(text, "my.toml").unwrap_err().to_string();
    for (text, expected) in [
        (
            "workload = \"fmke\"\n[dataset]\nprescriptions = 5\n",
            "my.toml:3: dataset.prescriptions = 5: the first operations process 80 of them: at \
             least 81",
        ),
        (
            "workload = \"fmke\"\n[dataset]\npharmacies = 0\n",
            "my.toml:3: dataset.pharmacies = 0: it must be from 1 to 1000000000",
        ),
        (
            "workload = \"fmke\"\n[operations]\nprocess_prescription = \"20%\"\n",
            "my.toml:3: operations.process_prescription = 0.2: a prescription is processed once: \
             of 1000 operations at most as many process as create one",
        ),
        ("workload = \"fmke\"\nlayout = \"flat\"\n", "my.toml:2: unknown value \"flat\""),
    ] {
        let found = problem(text);
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn a_store_with_another_layout_or_size_is_refused() {
    let of = |text: &str| spec(text).dataset(SEED);
    let normalised = of("layout = \"normalised\"");
    let sentence = "the workload is fmke (nested) here, but the store was loaded with fmke \
                    (normalised)";
    assert_eq!(of("layout = \"nested\"").differences(&normalised), [sentence]);
    let larger = FmkeSpec { layout: FmkeLayout::Normalised, ..FmkeSpec::default() };
    assert_eq!(ScriptSpec::Fmke(larger).dataset(SEED).differences(&normalised).len(), 5);
}

#[test]
fn an_operation_through_a_server_is_one_request() {
    let spec = spec("through = \"server\"");
    let run = plan(&spec, PlanPhase::Run);
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for process in 0..BLOCK {
        let (name, operations) = issued(&run, process);
        assert_eq!(operations.len(), 1);
        let query = &run.queries[usize::from(operations[0].statement) - 1];
        names.insert(name, query.name.clone());
    }
    assert_eq!(names["get-patient"], "patient.read");
    assert_eq!(names["create-prescription"], "prescription.insert");
    assert_eq!(names["get-staff-prescriptions"], "staff_prescriptions.read");
    assert_eq!(names["process-prescription"], "prescription.process");
    assert_eq!(names.len(), OPERATIONS.len());
    let load = plan(&spec, PlanPhase::Load);
    assert_eq!(load.len(), Some(100 + 10 + 30 + 50 + 100));
    let (_, operations) = issued(&load, 289);
    assert_eq!((operations.len(), operations[0].key), (1, 100));
}

#[test]
fn only_requests_are_sent_to_a_server_whatever_the_layout() {
    for layout in ["normalised", "nested", "nested-packed"] {
        let spec = spec(&format!("through = \"server\"\nlayout = \"{layout}\""));
        let run = plan(&spec, PlanPhase::Run);
        assert_eq!(run.queries.len(), 20, "{layout}");
        assert!(run.queries.iter().all(|query| !query.name.ends_with(".add")), "{layout}");
        (0..BLOCK).for_each(|process| assert_eq!(issued(&run, process).1.len(), 1));
        let load = plan(&spec, PlanPhase::Load);
        assert_eq!(issued(&load, 0).1.len(), 1);
    }
}
