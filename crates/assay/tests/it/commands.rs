//! Commands as a newcomer types them, in an empty directory.

use std::fs;

use serde_json::Value;

use crate::place::{Place, Ran};
use crate::run_dir::{counted, manifest, number};

/// The command in a report that reproduces its run.
fn repeating(report: &Ran) -> String {
    let (_, line) = report.out.split_once("Reproduce with\n").expect("every report has it");
    line.to_owned()
}

#[test]
fn the_line_that_repeats_a_run_can_be_pasted_into_a_shell() {
    let place = Place::new();
    let url = "sim:hickup200_max400?silent=0.01&refused=0.02";
    let words = format!(
        "run ycsb-a -t {url} --rate 300/s --operations 2000 --records 100 --timeout 2s --seed 7 -q"
    );
    let first = place.fine(&format!("{words} --run-dir b"));
    let line = repeating(&first);
    assert!(line.contains(&format!("'{url}'")) && !line.contains("--run-dir"), "{line}");
    let again = place.shell(&line).code(0);
    // The second run is the first one, and is repeated by the same line.
    assert_eq!(repeating(&again), line);
    let counts =
        |run: &str| -> Value { place.json(&format!("report {run}"))["overall"]["counts"].take() };
    assert_eq!(counts("b"), counts("last"));
    assert!(counts("b")["refused"].as_u64() > Some(0), "the end of the URL was received");
}

#[test]
fn the_studies_that_the_readme_names_come_with_the_program() {
    let place = Place::new();
    for path in ["kvbench", "studies/kvbench.toml"] {
        let planned = place.fine(&format!("study {path} --plan"));
        planned.says("this is the built-in study kvbench").shows("kvbench: 3 stores x 6 workloads");
    }
    place.fine("study ls").shows("kvbench").shows("chronicle");
    place.fine("study copy kvbench mine.toml").shows("mine.toml");
    assert!(place.read("mine.toml").contains("name = \"kvbench\""));
    place.refuses("study copy kvbench mine.toml", "mine.toml is there already");
    place.refuses("study copy kvbnch", "did you mean kvbench?");
    place.refuses("study gone.toml --plan", "there is no study file gone.toml");
    // A file of that name takes precedence.
    place.write("kvbench.toml", "");
    place.refuses("study kvbench.toml --plan", "missing");
}

#[test]
fn ycsbs_workload_files_come_with_the_program() {
    let place = Place::new();
    let ran = place.fine("ycsb load memory -P workloada");
    ran.says("there is no file workloada: this is ycsb-a").shows("[INSERT], Operations, 1000");
    place.fine("run workloads/workloadc -t null: --operations 10 -q").says("this is ycsb-c");
    place.refuses("run workloadz -t null:", "there is no file workloadz");
    place.write("workloada", "recordcount=7\nworkload=site.ycsb.workloads.CoreWorkload\n");
    place.fine("ycsb load memory -P workloada").shows("[INSERT], Operations, 7");
}

#[test]
fn a_built_in_workload_has_a_default_duration() {
    let place = Place::new();
    let offered = |words: &str| {
        let words = format!("run {words} -t sim:healthy --rate 1k/s --seed 3 -q --format json");
        number(&place.fine(&words).json(), "/overall/counts/offered")
    };
    let usual = offered("ycsb-c");
    assert!((9_000..11_000).contains(&usual), "{usual} in ten seconds");
    assert_eq!(offered("ycsb-c -p operationcount=500"), 500);
    assert_eq!(offered("ycsb-c --set operations.count=500"), 500);
    place.fine("workloads copy ycsb-c mine.properties");
    assert_eq!(offered("mine.properties"), 1000, "a file is run as it is");
}

#[test]
fn a_typed_flag_overrides_the_same_setting_of_a_file() {
    let place = Place::new();
    place.write("assay.toml", "operations = 100\nrecords = 50\nformat = \"csv\"\nclosed = 2\n");
    let words = "run ycsb-c -t sim:healthy --rate 1k/s --duration 2s --seed 3 -q --run-dir b";
    place.fine(&format!("{words} --set dataset.records=70 -o r.json"));
    let result = place.read_json("r.json");
    let offered = counted(&result, "offered");
    assert!((1_800..2_200).contains(&offered), "{offered} in two seconds");
    assert!(manifest(&place, "b").spec.text.contains("records = 70"));
}

#[test]
fn an_output_that_is_closed_or_full_is_noticed() {
    let place = Place::new();
    place.shell("assay workloads ls >&-").code(0).says("standard output is closed");
    let open = place.shell("assay workloads ls >/dev/null").code(0);
    assert_eq!(open.err, "");
    // A full disk is a failure, and a missing directory a usage error.
    place.fine("run ycsb-c -t null: --operations 10 -q --run-dir b");
    place.assay("report b -o /dev/full").code(1).says("cannot write /dev/full");
    place.shell("assay report b >/dev/full").code(1).says("standard output");
    place.refuses("report b -o gone/r.txt", "there is no directory gone");
}

#[test]
fn a_study_finds_a_url_that_no_store_takes_before_it_begins() {
    let place = Place::new();
    let study = |url: &str| {
        let text = format!(
            "operations = 10\nworkloads = [\"ycsb-c\"]\n[[store]]\nname = \"s\"\nurl = \"{url}\"\n"
        );
        fs::write(place.path("s.toml"), text).expect("the directory is ours");
        place.assay("study s.toml --plan")
    };
    study("redis://127.0.0.1:1?connections=2").code(0);
    study("redis://127.0.0.1:1?conections=2").code(2).says("store s").says("connections");
    study("redis://127.0.0.1:99999").code(2).says("store s");
    study("memory:x").code(2).says("store s").says("write memory:");
}
