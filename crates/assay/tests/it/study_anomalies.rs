//! Studies of anomalies: predictions on simulated stores with known faults.

use crate::place::Place;

/// Three cells: a fault that shows, a store that keeps its promise, a workload that is unknown.
const STUDY: &str = r#"
title = "Planted"
seed = 7

[run]
rate = "2k/s"
operations = 20000
records = 100

[[cell]]
name = "stale"
store = "a cache that forgets"
url = "sim:?latency=1ms&stale_cache=1%"
workload = "ycsb-a"
set = ["dataset.fields=1"]
violates = ["linearizable"]
keeps = ["no-garbage-reads"]
source = "it was planted"
tries = 3

[[cell]]
name = "healthy"
store = "no fault"
url = "sim:?latency=1ms"
workload = "ycsb-a"
set = ["dataset.fields=1"]
keeps = ["linearizable"]
source = "its model"

[[cell]]
name = "unknown"
store = "no fault"
url = "sim:?latency=1ms"
workload = "no-such-workload"
keeps = ["linearizable"]
source = "its model"
"#;

#[test]
fn a_study_says_which_predictions_came_true() {
    let place = Place::new();
    place.write("a.toml", STUDY);
    place.fine("study a.toml --plan").shows("assay bench ycsb-a --target");
    place
        .fine("study a.toml --dir d")
        .shows("2 of 3 cells run: 1 of 1 predicted violation seen, 0 promises broken")
        .shows("unknown: not run: there is no file no-such-workload")
        .says("cell 1 of 3: stale");
    let result = place.read_json("d/anomalies.json");
    let runs = result["cells"][0]["runs"].as_array().expect("there are runs");
    assert_eq!((runs.len(), &runs[0]["seed"]), (1, &7.into()), "the first seed shows it");
    assert!(runs[0]["stale_reads"].as_u64() > Some(50), "{runs:?}");
    assert!(place.read("d/anomalies.md").contains("# stale\nassay bench ycsb-a"));
    // The run of a cell is a run directory like any other.
    place.assay("check d/cells/stale/seed-7/run --require linearizable").code(6);
}

#[test]
fn a_cell_that_has_a_result_is_not_run_again() {
    let place = Place::new();
    place.write("a.toml", STUDY);
    place.fine("study a.toml --dir d --stores healthy").says("cell 1 of 1: healthy");
    let again = place.fine("study a.toml --dir d --stores healthy");
    again.shows("keeps linearizable").says("kept in d");
    let described = place.fine("study a.toml --dir d --stores healthy").err;
    assert!(!described.contains("cell 1 of 1"), "{described}");
    place.write("a.toml", STUDY.replace("operations = 20000", "operations = 10000"));
    place.fine("study a.toml --dir d --stores healthy").says("cell 1 of 1: healthy");
}

#[test]
fn a_broken_promise_has_an_exit_code() {
    let place = Place::new();
    let text = STUDY.replace(
        "violates = [\"linearizable\"]\nkeeps = [\"no-garbage-reads\"]",
        "keeps = [\"linearizable\"]",
    );
    place.write("a.toml", text);
    place.assay("study a.toml --dir d --stores stale").code(6).shows("BROKEN");
}

#[test]
fn what_such_a_study_does_not_have_is_refused() {
    let place = Place::new();
    place.write("a.toml", STUDY);
    place.refuses("study a.toml --scale 0.1", "a study of anomalies has no such thing");
    place.refuses("study a.toml --stores stall", "did you mean stale?");
    place.write("a.toml", STUDY.replace("\"linearizable\"", "\"linear\""));
    place.refuses("study a.toml", "there is no quality \"linear\"");
}
