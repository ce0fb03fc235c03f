//! The experiment LOAD of BenchFoundry's paper with tiny runs.

use serde_json::Value;

use crate::place::Place;
use crate::run_dir::{figure, manifest, number, text};

/// Two runs of 400 ms with 20 and 100 processes per second.
const SMALL: &str = "study benchfoundry --factors 10,50 --duration 400ms --floor 0s --seed 3 -q";

fn runs(study: &Value) -> &[Value] {
    study["runs"].as_array().expect("there are runs")
}

#[test]
fn each_factor_is_a_run_with_its_scheduling_latency() {
    let place = Place::new();
    let study = place.json(&format!("{SMALL} -t sqlite:t.db --run-dir study"));
    assert_eq!(text(&study, "/schema"), "assay.study-benchfoundry.1");
    assert_eq!(place.list("study"), ["data-set", "factor-10", "factor-50", "study.json"]);
    for (run, (factor, processes)) in runs(&study).iter().zip([(10_u64, 8), (50, 40)]) {
        assert_eq!(run["ending"], "whole");
        assert_eq!(run["factor"].as_f64(), Some(factor as f64));
        assert_eq!(figure(run, "/planned_per_s"), 2.0 * factor as f64);
        assert_eq!(number(run, "/scheduling_latency_ns/count"), processes);
        assert_eq!(number(run, "/response_ns/count"), processes);
        let quantile = |name: &str| number(run, &format!("/scheduling_latency_ns/{name}"));
        assert!(quantile("p5") <= quantile("p50") && quantile("p50") <= quantile("p95"));
        assert_eq!(number(run, "/failed"), 0);
    }
    let kept = manifest(&place, "study/factor-50");
    assert_eq!(kept.load.model, "open");
    let command = kept.run.command.join(" ");
    assert!(command.starts_with("assay run tpcc-benchfoundry-paper "), "{command}");
    assert!(command.contains("--set process.process_target_scaler=50"), "{command}");
    place.fine("report study/factor-50 --format json");
}

#[test]
fn a_study_shows_itself_as_text_page_and_table() {
    let place = Place::new();
    let words = "study benchfoundry --factors 50 --duration 200ms --floor 0s -q -t memory:";
    place.fine(words).shows("The paper's own runs").shows("at even distances");
    place.fine(&format!("{words} --format md")).shows("| factor |");
    let second = "--workload tpcc-benchfoundry --set dataset.scale=2 --duration 1s -o p.html";
    place.fine(&format!("{} {second}", words.replace("--duration 200ms", "")));
    let page = place.read("p.html");
    assert!(page.contains("class=\"band lag\"") && page.contains("begin at once"));
    assert!(!page.contains("src=") && !page.contains("<link"), "the page loads something");
}

#[test]
fn the_load_model_decides_where_the_workload_leaves_it_to_it() {
    let place = Place::new();
    let words = format!("{SMALL} -t memory: --workload tpcc-benchfoundry-corrected --run-dir s");
    place.fine(&format!("{words} --arrivals constant"));
    let settings = manifest(&place, "s/factor-50").load.settings;
    assert_eq!(settings.arrivals.as_deref(), Some("constant"));
    let words = "study benchfoundry -t memory: --arrivals constant --duration 1s";
    place.refuses(words, "the workload says itself when processes begin");
}

#[test]
fn a_data_set_is_loaded_once_and_replaced_on_demand() {
    let place = Place::new();
    let words = "study benchfoundry --factors 50 --duration 200ms --floor 0s -q -t sqlite:t.db";
    let loaded = |words: &str| text(&place.json(words), "/loaded").to_owned();
    assert_eq!(loaded(words), "loaded once, before the first run");
    assert_eq!(loaded(words), "as it was found in the store");
    assert_eq!(loaded(&format!("{words} --replace")), "loaded once, before the first run");
}

#[test]
fn a_study_that_is_invalid_is_refused_before_it_loads() {
    let place = Place::new();
    for (words, why) in [
        ("--factors 1,x", "--factors: \"x\" is no load factor"),
        ("--factors 5,5", "--factors: 5 is there twice"),
        ("--duration 0s", "--duration: nothing would be issued"),
        ("--duration 1ms --factors 1", "at least one process begins within it"),
        ("--workload tpcc", "tpcc has no load factor"),
        ("--factors 0.25 --workload tpcc-benchfoundry", "their number times the load factor"),
        ("--format csv", "text, json, md or html"),
        ("-o nowhere/p.html", "nowhere"),
    ] {
        place.refuses(&format!("study benchfoundry -t sqlite:t.db {words}"), why);
    }
    assert_eq!(place.list("runs"), [""; 0]);
}
