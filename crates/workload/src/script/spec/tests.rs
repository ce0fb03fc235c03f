//! Scripts as their authors write them, well or badly.

use assay_model::Seed;

use super::{ScriptName, ScriptSpec};
use crate::builtin;
use crate::script::tpcc::Think;

fn error(text: &str) -> String {
    ScriptSpec::from_toml(text, "my.toml").unwrap_err().to_string()
}

#[test]
fn sizes_shares_and_names_are_read() {
    let text = "workload = \"tpcc\"\n[dataset]\nitems = \"1k\"\n[transactions]\n\
                new_order = \"50%\"\n[process]\nthink = \"standard\"\n";
    let ScriptSpec::Tpcc(spec) = ScriptSpec::from_toml(text, "my.toml").unwrap() else {
        panic!("this is TPC-C")
    };
    assert_eq!((spec.dataset.items, spec.dataset.warehouses), (1_000, 1));
    assert_eq!(spec.transactions.new_order, 0.5);
    assert_eq!(spec.process.think, Think::Standard);
}

#[test]
fn every_built_in_script_is_parsed_from_its_own_text() {
    let scripts: Vec<ScriptSpec> =
        builtin::all().filter_map(builtin::BuiltinWorkload::script).collect();
    assert_eq!(scripts.len(), 15);
    for spec in scripts {
        let again = ScriptSpec::from_toml(&spec.to_toml(), "again").unwrap();
        assert_eq!(again, spec);
        assert!(ScriptSpec::is_script(&spec.to_toml()));
    }
    assert!(!ScriptSpec::is_script("[dataset]\nrecords = 1\n"));
}

#[test]
fn misspellings_are_found_with_their_line_and_a_suggestion() {
    let cases = [
        ("workload = \"tpc\"\n", "my.toml:1: unknown workload \"tpc\"; did you mean \"tpcc\"?"),
        (
            "workload = 3\n",
            "my.toml:1: workload must name one of the workloads tpcc, tpcc-benchfoundry, \
             consbench, fmke, list-append, bank, long-fork, write-skew, lost-update, \
             causal-chain, set, counter",
        ),
        (
            "workload = \"tpcc\"\n[dataset]\nwarehuoses = 2\n",
            "my.toml:3: unknown key \"warehuoses\"; did you mean \"warehouses\"?",
        ),
        (
            "workload = \"tpcc\"\n[dataset]\nitems = 5\n",
            "my.toml:3: dataset.items = 5: it must be from 20 to 100000",
        ),
        (
            "workload = \"tpcc\"\n[process]\nthink = \"standart\"\n",
            "my.toml:3: unknown value \"standart\"; did you mean \"standard\"?",
        ),
        (
            "workload = \"consbench\"\n[test]\nlead = \"soon\"\n",
            "my.toml:3: invalid value: string \"soon\", expected a length of time such as \"50ms\" \
             or \"2m\"",
        ),
        (
            "workload = \"tpcc-benchfoundry\"\n[process]\nruntime = \"1ms\"\n",
            "my.toml:3: process.runtime = 1ms: at least one process begins within it, and it ends \
             within a hundred days",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected);
    }
    let negative = error("workload = \"tpcc\"\n[transactions]\npayment = -1\n");
    assert!(negative.contains("a weight is a number from 0"), "{negative}");
}

#[test]
fn schemas_name_every_key_that_is_written() {
    for spec in builtin::all().filter_map(builtin::BuiltinWorkload::script) {
        let schema = ScriptSpec::json_schema(spec.name()).to_string();
        let document: toml::Table = spec.to_toml().parse().unwrap();
        let sections = document.values().filter_map(toml::Value::as_table);
        for key in document.keys().chain(sections.flat_map(toml::Table::keys)) {
            assert!(schema.contains(&format!("\"{key}\"")), "{key} of {}", spec.name().name());
        }
    }
}

#[test]
fn a_run_takes_the_seed_of_the_rows_from_what_was_loaded() {
    let read = |text: &str| ScriptSpec::from_toml(text, "my.toml").unwrap();
    let loaded = read("workload = \"tpcc\"\n").dataset(Seed(7));
    let mut run = read("workload = \"tpcc\"\n");
    assert_eq!(run.dataset(Seed(8)).differences(&loaded).len(), 1);
    run.take_seed(&loaded);
    assert_eq!(run.dataset(Seed(8)).differences(&loaded), [""; 0]);
    let mut fixed = read("workload = \"tpcc\"\n[dataset]\nseed = 9\n");
    fixed.take_seed(&loaded);
    assert_eq!(fixed.dataset(Seed(8)).seed.as_deref(), Some("9"));
    assert_eq!(fixed.name(), ScriptName::Tpcc);
}
