//! The study of coordinated omission, as its readers run it.

use serde_json::Value;

use crate::place::Place;
use crate::run_dir::{counted, figure, manifest, number, records};

/// What one way to measure found in one run of the study.
#[track_caller]
fn found<'a>(study: &'a Value, sessions: Option<u64>, clock: &str, measure: &str) -> &'a Value {
    let runs = study["runs"].as_array().expect("there are runs");
    let is_expected = |run: &&Value| run["sessions"].as_u64() == sessions && run["clock"] == clock;
    let run = runs.iter().find(is_expected).expect("the run is there");
    let measured = run["measured"].as_array().expect("something was measured");
    let method = measured.iter().find(|method| method["measure"] == measure);
    &method.expect("it was measured so")["found"]
}

#[test]
fn three_measurements_of_one_hiccup_are_what_the_closed_forms_say() {
    let place = Place::new();
    let study = place.json("study co --figures 3");
    assert_eq!(study["holds"], true);
    assert!(figure(&study, "/largest_deviation") < 0.01);
    // At a thousand a second and a capacity of 1250/s: 5 s, 5,000 operations, a triangle.
    for (sessions, measure) in
        [(None, "open"), (Some(4), "YCSB intended"), (Some(16), "YCSB intended")]
    {
        let found = found(&study, sessions, "ns", measure);
        assert_eq!(number(found, "/affected"), 5_000, "{measure}");
        assert_eq!(number(found, "/back_after_ns"), 5_000_000_000, "{measure}");
        let mean = figure(found, "/mean_ns") / 1e6;
        assert!((mean - (0.05 + 2_500_500.0 / 90_000.0)).abs() < 0.01, "{measure}: {mean} ms");
    }
    // Sixteen sessions queue behind each other: 16 / 1250 s each, and one second for sixteen.
    let service = found(&study, Some(16), "ns", "YCSB service");
    assert_eq!(number(service, "/percentiles_ns/p99.9") / 1_000, 12_800);
    assert_eq!(number(service, "/max_ns"), 1_000_050_000);
    // SickStore's clock rounds waits up to whole milliseconds.
    let coarse = found(&study, None, "ms", "open");
    assert_eq!(number(coarse, "/percentiles_ns/p99") % 1_000_000, 50_000);
}

#[test]
fn the_page_of_the_study_is_self_contained() {
    let place = Place::new();
    place.fine("study co --figures 1 -o co.html");
    let page = place.read("co.html");
    for part in ["id=\"figure-1\"", "id=\"differences\"", "id=\"numbers\"", "study co --figures 1"]
    {
        assert!(page.contains(part), "{part} is missing");
    }
    assert!(!page.contains("src=") && !page.contains("<link"), "the page loads something");
    place.fine("study co --figures 1 -o again.html");
    let again = place.read("again.html").replace("again.html", "co.html");
    assert!(page == again, "the same study gives another page");
}

#[test]
fn the_study_has_other_forms_too() {
    let place = Place::new();
    place.fine("study co --figures 1").shows("YCSB service 1 thread");
    place.fine("study co --figures 1 --format md").shows("| YCSB intended | 1 thread");
    let sheet = place.fine("study co --figures 1 --format csv").out;
    let row = "10,1250,ns,1,YCSB service,max,ns,1000050000,1000050000";
    assert!(sheet.lines().any(|line| line == row), "{sheet}");
    assert!(sheet.lines().all(|line| line.split(',').count() == 9), "{sheet}");
}

#[test]
fn kept_runs_are_run_directories_like_others() {
    let place = Place::new();
    place.fine("study co --figures 1 --keep kept");
    assert_eq!(place.list("kept"), ["rate10-open-max1250-ns", "rate10-threads1-max1250-ns"]);
    let name = "kept/rate10-threads1-max1250-ns";
    assert_eq!(records(&place.path(name)).len(), 200);
    assert_eq!(manifest(&place, name).load.model, "closed");
    let report = place.json(&format!("report {name}"));
    assert_eq!(counted(&report, "done"), 200);
    place.refuses("study co --figures 1 --keep kept", "holds a run already");
}

#[test]
fn a_study_that_is_invalid_is_refused() {
    let place = Place::new();
    place.refuses("study co --figures 2", "--figures: \"2\"; give some of 1,3,4,5");
    place.refuses("study co --format yaml", "none of text, json, csv, md, html");
    place.refuses("study co --figures 1 -o nowhere/co.html", "nowhere/co.html");
}
