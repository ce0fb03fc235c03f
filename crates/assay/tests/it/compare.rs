//! Repeated runs, two set-ups side by side, conditions that end with code 3.

use serde_json::Value;

use crate::place::Place;
use crate::run_dir::{intended, manifest, requested, text};

/// A run of a simulated store, fast because its time is simulated, and long enough for a hallmark.
fn run(place: &Place, store: &str, seed: u64, run_dir: &str) {
    let words = format!("run ycsb-c -t sim:{store} --rate 300/s --operations 4000 --records 100");
    place.fine(&format!("{words} --seed {seed} --run-dir {run_dir} -q"));
}

/// A store of 600/s in `a`, and one of 375/s, which queues, in `slow`.
fn two() -> Place {
    let place = Place::new();
    run(&place, "healthy?max=600", 1, "a");
    run(&place, "healthy?max=375", 3, "slow");
    place
}

/// What a comparison says of one figure.
fn finding<'a>(result: &'a Value, figure: &str) -> &'a str {
    let figures = result["figures"].as_array().expect("there are figures");
    let found = figures.iter().find(|row| row["figure"] == figure);
    found.unwrap_or_else(|| panic!("no {figure}"))["finding"].as_str().expect("a word")
}

#[test]
fn equal_set_ups_do_not_differ_and_a_slower_one_does() {
    let place = two();
    run(&place, "healthy?max=600", 2, "b");
    let equal = place.json("compare a b");
    for row in equal["figures"].as_array().unwrap().iter().filter(|row| row["requested"] == true) {
        assert!(!["higher", "lower"].contains(&row["finding"].as_str().unwrap()), "{row}");
    }
    assert_eq!(text(&equal, "/schema"), "assay/compare/v2");
    assert_eq!(text(&equal, "/basis"), "within-run");
    let slower = place.json("compare a slow");
    assert_eq!(finding(&slower, "response p50"), "higher");
    assert_eq!(finding(&slower, "service p50"), "higher");
    // None of 4000 failed on either side, which is no proof of less than 0.1 %.
    assert_eq!(finding(&slower, "errors"), "open");
    place.fine("compare a b --fail-on errors>+0.1pp").shows("UNSURE: errors");
    place.fine("compare a b --fail-on errors>+1pp").shows("PASSED: errors");
    assert_eq!(text(&slower, "/findings/0/name"), "worse");
    let back = place.json("compare slow a");
    assert_eq!(finding(&back, "response p50"), "lower");
    assert_eq!(text(&back, "/findings/0/name"), "better");
}

#[test]
fn ten_percent_more_at_p99_are_found_in_simulated_time() {
    let place = Place::new();
    for (median, seed, run_dir) in [("2ms", 1, "a"), ("2ms", 2, "b"), ("2200us", 3, "slow")] {
        let store = format!("sim:healthy?latency=lognormal+{median}+0.5");
        let words = "--rate 1k/s --operations 20000 --records 50 -q";
        place.fine(&format!("run ycsb-c -t {store} {words} --seed {seed} --run-dir {run_dir}"));
    }
    let slower = place.json("compare a slow");
    assert_eq!(finding(&slower, "response p99"), "higher");
    place.assay("compare a slow --fail-on p99>+2%").code(3);
    let equal = place.json("compare a b");
    assert_ne!(finding(&equal, "response p99"), "higher");
    assert_eq!(finding(&equal, "response p50"), "same");
}

#[test]
fn a_condition_that_is_surely_met_ends_with_code_3() {
    let place = two();
    let ran = place.assay("compare a slow --fail-on p50>+10%").code(3);
    ran.shows("FAILED: p50>+10% is so: response p50 ");
    place.fine("compare slow a --fail-on p50>+10%").shows("PASSED: p50>+10% is not met");
    // Wide intervals reach back across a limit near to the effect.
    let result = place.json("compare a slow");
    let row = &result["figures"].as_array().unwrap()[1];
    let effect = (row["effect"].as_f64().unwrap() - 1.0) * 100.0;
    let near = format!("compare a slow --fail-on p50>+{:.3}%", effect * 0.999);
    place.fine(&near).shows("UNSURE: p50>");
    place.assay("compare a slow --fail-on p50>+1000%,p50>+10%").code(3);
}

#[test]
fn a_condition_that_cannot_be_analyzed_does_not_look_passed() {
    let place = Place::new();
    for (seed, run_dir) in [(1, "a"), (2, "b")] {
        let words = "run ycsb-c -t sim:healthy?max=600 --rate 30/s --operations 400";
        place.fine(&format!("{words} --records 50 --seed {seed} --run-dir {run_dir} -q"));
    }
    let ran = place.assay("compare a b --fail-on p99.9>+10%").code(2);
    ran.shows("CANNOT TELL: p99.9>+10% is undecided");
}

#[test]
fn a_figure_that_a_hallmark_withdraws_is_not_analyzed_and_passes_no_gate() {
    let place = Place::new();
    run(&place, "healthy?max=600", 1, "a");
    // A window of four seconds is too short for any verdict, however large the difference.
    let words = "run ycsb-c -t sim:healthy?max=375 --rate 300/s --operations 1200";
    place.fine(&format!("{words} --records 100 --run-dir short -q"));
    let compared = place.json("compare a short");
    assert_eq!(finding(&compared, "response p50"), "withdrawn");
    assert_eq!(text(&compared, "/findings/0/name"), "not compared");
    assert!(text(&compared, "/findings/1/text").starts_with("BASE"));
    assert_eq!(text(&compared, "/findings/2/name"), "HALLMARK INVALID");
    assert!(text(&compared, "/findings/2/text").starts_with("NEW: sample-size: the window lasts"));
    for condition in ["p50>+1%", "p50>+1000%", "throughput<-5%"] {
        let gate = format!("compare a short --fail-on {condition}");
        place.assay(&gate).code(5).shows(&format!("NOT COMPARED: {condition} is about a figure"));
    }
}

#[test]
fn another_number_of_sessions_is_another_load_and_no_regression() {
    let place = Place::new();
    for sessions in [9, 2] {
        let words = "run ycsb-c -t sim:healthy?max=375 --operations 4000 --records 100 -q";
        place.fine(&format!("{words} --seed 4 --closed {sessions} --run-dir c{sessions}"));
    }
    let slower = place.fine("compare c2 c9").out;
    assert!(slower.starts_with("NOT LIKE FOR LIKE: "), "{slower}");
    assert!(slower.contains("sessions (2 / 9)") && slower.contains("NO VERDICT: response p50 +"));
    assert!(!slower.contains("WORSE"), "{slower}");
    place.refuses("compare c2 c9 --fail-on p50>+10%", "sessions: 2 / 9");
    place.assay("compare c2 c9 --fail-on p50>+10% --force").code(3);
    place.fine("compare c2 c9 --force").shows("WORSE: response p50 +");
    place.fine("compare c2 c9 --format junit").shows("failures=\"0\"");
}

#[test]
fn an_error_in_a_condition_is_marked() {
    let place = Place::new();
    let ran = place.assay("compare a b --fail-on p50>+5%,p89>+10%").code(2);
    assert!(
        ran.err.ends_with(
            "--fail-on: there is no figure \"p89\"; did you mean p99?\n  \
             p50>+5%,p89>+10%\n          ^^^\n"
        ) || ran.err.contains("did you mean p90?\n  p50>+5%,p89>+10%\n          ^^^"),
        "{}",
        ran.err
    );
    place.refuses("compare a b --fail-on p99>5ms", "has a sign: +10%");
    place.refuses("compare a b --minimum lots", "--minimum: \"lots\" is no percentage");
    place.refuses("compare a b --format ycsb", "a comparison is shown as text, json, csv");
}

#[test]
fn comparisons_of_differing_workloads_are_shown_but_pass_no_condition() {
    let place = Place::new();
    let words = "run ycsb-c -t sim:healthy?max=375 --operations 4000 --records 100 -q";
    place.fine(&format!("{words} --seed 4 --rate 300/s --run-dir open"));
    place.fine(&format!("{words} --seed 4 --closed 4 --target-throughput 300/s --run-dir closed"));
    let differing =
        "NOT LIKE FOR LIKE: figures may differ because of the workload or the load: load";
    place.fine("compare open closed").shows(differing).shows("load model (open / closed)");
    let gate = "compare open closed --fail-on p50>+1%";
    place.refuses(gate, "BASE and NEW are not like for like");
    place.fine(&format!("{gate} --force"));
    let page = place.fine("compare open closed --format html").out;
    for line in ["BASE open", "NEW closed"].map(|side| format!("{side} response")) {
        assert!(page.contains(&line), "{line}");
        assert!(page.contains(&line.replace("response", "service")), "{line}");
    }
    assert!(page.contains("BASE: open loop") && page.contains("NEW: closed loop"));
}

#[test]
fn a_comparison_takes_every_form() {
    let place = two();
    let text = place.fine("compare a slow").shows("WITHIN-RUN ONLY: one side has a single run");
    text.shows("NOT THE SAME SET-UP: store url (sim:healthy?max=600 / sim:healthy?max=375)");
    for (format, sign) in [
        ("text", "NEW/BASE"),
        ("json", "\"schema\": \"assay/compare/v2\""),
        ("csv", "figure,unit,base,new,base_runs,new_runs,effect,low,high,finding,requested"),
        ("md", "| NEW/BASE |"),
        ("html", "<!doctype html>"),
        ("junit", "<testcase classname="),
    ] {
        let ran = place.fine(&format!("compare a slow --format {format}"));
        assert!(ran.out.contains(sign), "{format} without {sign}:\n{:.300}", ran.out);
    }
    let gate = place.assay("compare a slow --fail-on p50>+10%,errors>+1pp --format junit").code(3);
    gate.shows("tests=\"2\" failures=\"1\" skipped=\"0\"")
        .shows("name=\"not p50&gt;+10%\"><failure message=\"response p50 ");
    // A run by itself is a list of tests for a build server, too.
    let ran = place.fine("report a --format junit");
    assert!(ran.out.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests="));
    ran.shows("name=\"not overloaded\"></testcase>");
}

const REPEATED: &str =
    "run ycsb-b -t sim:hickup1000_max2000 --rate 1k/s --operations 2000 --records 100 --repeat 3";

#[test]
fn repetitions_issue_the_same_operations_at_other_times() {
    let place = Place::new();
    place.fine(&format!("{REPEATED} --seed 7 --run-dir g -q"));
    let dirs = ["g/1", "g/2", "g/3"].map(|run| place.path(run));
    assert!(
        requested(&dirs[0]) == requested(&dirs[1]) && requested(&dirs[1]) == requested(&dirs[2])
    );
    let times = dirs.each_ref().map(|dir| intended(dir));
    assert!(times[0] != times[1] && times[1] != times[2] && times[0] != times[2]);
    assert!(place.read("g/repeat.toml").contains("state = \"fresh\""));
    // Each run's own command repeats it alone.
    let command = manifest(&place, "g/2").run.command[1..].join(" ");
    assert!(!command.contains("--repeat"), "{command}");
    place.fine(&format!("{command} --run-dir again"));
    assert!(intended(&place.path("again")) == times[1], "{command}");
    // But for those that keep everything.
    place.fine(&format!("{REPEATED} --seed 7 --repeat-seeds same --run-dir same -q"));
    let [first, third] = ["same/1", "same/3"].map(|run| intended(&place.path(run)));
    assert!(first == third);
}

#[test]
fn a_group_is_found_by_the_names_of_runs() {
    let place = Place::new();
    place.fine(&format!("{REPEATED} --seed 1 -q"));
    place.fine(&format!("{REPEATED} --seed 2 -q"));
    place.fine("report").shows("Between runs").shows("median of 3 runs' p99");
    place.fine("report last/2").shows("Throughput");
    place.fine("report last-1 --format json").shows("\"schema\": \"assay/repeat/v1\"");
    for (format, sign) in [("csv", "figure,run,value"), ("md", "| spread |"), ("html", "run 3")] {
        let ran = place.fine(&format!("report --format {format}"));
        assert!(ran.out.contains(sign), "{format} without {sign}:\n{:.300}", ran.out);
    }
    place.refuses("report --format hdr", "repeated runs are shown as text, json");
    place.refuses("history repair last", "is a group of repeated runs: name one");
    let compared = place.json("compare");
    assert_eq!(text(&compared, "/basis"), "runs");
    assert_eq!(compared["base"]["runs"].as_array().unwrap().len(), 3);
    place.fine("compare").shows("Between runs (standard deviation of the runs' own figures)");
    let seeds = place.list("runs");
    assert_eq!(seeds.len(), 2, "{seeds:?}");
    place.refuses(&format!("{REPEATED} --run-dir runs/{}", seeds[0]), "repeat.toml");
}

#[test]
fn every_run_of_a_bench_has_a_store_of_its_own() {
    let place = Place::new();
    place.fine("bench ycsb-d --records 100 --operations 200 --repeat 2 --seed 5 --run-dir g -q");
    for run in ["1", "2"] {
        assert!(place.path(&format!("g/{run}/load/run.toml")).is_file());
        assert!(!place.path(&format!("g/{run}/store")).exists());
    }
    assert!(place.read("g/repeat.toml").contains("state = \"fresh\""));
    assert_eq!(place.list("g"), ["1", "2", "repeat.toml"]);
    let compared = place.json("compare g/1 g/2");
    let differences = compared["differences"].as_array().unwrap();
    assert!(differences.iter().all(|found| found["weight"] == "slight"), "{differences:?}");
}

#[test]
fn runs_against_the_same_store_say_so() {
    let place = Place::new();
    place.fine("load ycsb-a --records 100 -t fjall:store --seed 5 -q");
    let words = "run ycsb-a --records 100 --operations 200 -t fjall:store --repeat 2 --run-dir g";
    place.fine(words).says("all runs meet the same store: each what the one before left");
    place.fine("report g").shows("all runs met the same store: each what the one before left");
    assert!(place.read("g/repeat.toml").contains("state = \"kept\""));
    // No repetition makes no group.
    place.fine("run ycsb-c -t null: --operations 10 --records 10 --repeat 1 --run-dir b -q");
    assert!(place.path("b/run.toml").is_file());
    let none = "--repeat: nothing would be issued; give at least 1";
    place.refuses("run ycsb-c -t null: --operations 10 --repeat 0", none);
}

#[test]
fn a_run_is_compared_neither_with_itself_nor_with_a_load() {
    let place = Place::new();
    place.fine("bench ycsb-c --records 50 --operations 100 -t memory: --run-dir a -q");
    place.refuses("compare a/load a", "BASE is a load and NEW is a run");
    for words in ["compare a a", "compare a ./a --fail-on p99>+10%"] {
        place.refuses(words, "what is compared with itself never differs");
    }
}
