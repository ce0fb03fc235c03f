//! The instrument is made faulty in one known way; the hallmark must say exactly that.
//!
//! The runs are in simulated time wherever that is possible, so a busy machine changes nothing.

use serde_json::Value;

use crate::place::{Place, Ran};
use crate::run_dir::text;

/// A run against a simulated store: independent of machine and clock.
fn describe(place: &Place, words: &str) -> Ran {
    place.fine(&format!("run ycsb-c --records 100 --seed 3 -q --run-dir b -t {words}"))
}

fn first_line(ran: &Ran) -> &str {
    ran.out.lines().next().expect("there is a result")
}

/// What came of the check `name`.
fn check<'a>(hallmark: &'a Value, name: &str) -> &'a Value {
    let checks = hallmark["checks"].as_array().expect("there are checks");
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no check {name}"))
}

fn hallmark(place: &Place, run_dir: &str) -> Value {
    place.read_json(&format!("{run_dir}/hallmark.json"))
}

#[test]
fn a_healthy_run_has_a_hallmark() {
    let place = Place::new();
    let ran = describe(&place, "sim:healthy --rate 200/s --duration 60s --require-hallmark");
    assert_eq!(first_line(&ran), "HALLMARK VALID");
    assert_eq!(text(&hallmark(&place, "b"), "/verdict"), "valid");
}

#[test]
fn a_store_that_does_not_keep_up_is_overloaded_and_the_run_is_valid() {
    let place = Place::new();
    let ran = describe(&place, "sim:healthy?max=100 --rate 200/s --duration 30s --in-flight 4");
    let remark = "HALLMARK VALID WITH REMARKS: omission: 99.";
    assert!(first_line(&ran).starts_with(remark), "{}", ran.out);
    ran.shows("held back by the store").shows("OVERLOADED: offered");
    assert_eq!(check(&hallmark(&place, "b"), "rate")["verdict"], "pass");
    assert_eq!(check(&hallmark(&place, "b"), "backlog")["verdict"], "remark");
}

#[test]
fn what_a_run_that_is_too_short_found_is_marked_wherever_it_is_shown() {
    let place = Place::new();
    let ran = describe(&place, "sim:?latency=1ms --rate 2k/s --duration 5s");
    assert!(first_line(&ran).starts_with("HALLMARK INVALID: sample-size: "), "{}", ran.out);
    ran.shows("response p99 1.00 ms (withdrawn)").shows("!1.00 ms");
}

#[test]
fn a_rate_that_changes_within_a_second_keeps_the_hallmark() {
    for rate in [
        "spike:300..3k,at=10505ms,for=2s --duration 20s",
        "sine:500,amplitude=400,period=4s --duration 20s",
        "10500ms@300,10s@1k --warm-up 2500ms",
        "10s@300,5s@300..2k --arrivals gamma:3",
    ] {
        let place = Place::new();
        let ran = describe(&place, &format!("sim:?latency=1ms --rate {rate}"));
        assert_eq!(first_line(&ran), "HALLMARK VALID", "{rate}");
    }
    // Answers that take no time keep it, too.
    let place = Place::new();
    let ran = describe(&place, "sim: --rate 1k --arrivals gamma:6 --duration 12s");
    assert_eq!(first_line(&ran), "HALLMARK VALID");
}

/// A stall at the beginning takes 20 s to drain: 1 s · 210 / (210 − 200).
const STALLED: &str = "sim:healthy?max=210&hiccup=1ms+for+1s --rate 200/s --arrivals constant \
                       --duration 60s";

#[test]
fn a_run_without_warm_up_takes_the_hallmark_away_and_one_with_it_does_not() {
    let place = Place::new();
    let cold = describe(&place, STALLED);
    assert!(first_line(&cold).starts_with("HALLMARK INVALID: warm-up: "), "{}", cold.out);
    place.remove("b");
    let warm = describe(&place, &format!("{STALLED} --warm-up 25s"));
    assert_eq!(first_line(&warm), "HALLMARK VALID");
}

#[test]
fn a_required_hallmark_that_is_missing_ends_with_5() {
    let place = Place::new();
    let words = "run ycsb-c --records 100 --seed 3 -q --run-dir b -t sim:healthy --rate 200/s";
    place.assay(&format!("{words} --duration 3s --require-hallmark")).code(5);
    for verb in ["report", "analyze"] {
        place.fine(&format!("{verb} b"));
        place.assay(&format!("{verb} b --require-hallmark")).code(5);
    }
}

#[test]
fn a_changed_threshold_is_shown_wherever_it_was_changed() {
    let place = Place::new();
    let run = "sim:healthy --rate 200/s --duration 8s";
    let displayed = "THRESHOLD CHANGED: length_fail = 1, usually 10";
    let by_flag = describe(&place, &format!("{run} --set hallmark.length_fail=1")).shows(displayed);
    assert!(!first_line(&by_flag).contains("INVALID"), "{}", by_flag.out);
    let changed = &hallmark(&place, "b")["thresholds_changed"][0];
    assert_eq!(changed["name"], "length_fail");
    // The run keeps its own thresholds, whatever holds where it is looked at.
    place.write("assay.toml", "[hallmark]\nlength_fail = 2\n");
    place.fine("report b").shows(displayed);

    place.remove("b");
    describe(&place, run).shows("THRESHOLD CHANGED: length_fail = 2, usually 10");
    assert!(!place.fine("workloads show ycsb-c").out.contains("[hallmark]"));
    let run = "run ycsb-c -t sim:healthy --rate 200/s --duration 3s";
    let near = "the hallmark has no threshold lag_share_fial; did you mean lag_share_fail?";
    place.refuses(&format!("{run} --set hallmark.lag_share_fial=0.3"), near);
    place.write("assay.toml", "[hallmark]\nlag = 0.3\n");
    place.refuses(run, "[hallmark]: the hallmark has no threshold lag;");
}

#[test]
fn every_form_of_a_result_says_it() {
    let place = Place::new();
    let ran = describe(&place, "sim:healthy --rate 200/s --duration 3s");
    let line = "HALLMARK INVALID: sample-size: the window lasts 3 s (at least 10 s)";
    assert_eq!(first_line(&ran), line);
    for (format, expected) in [
        ("text", line),
        ("md", "**HALLMARK INVALID**: sample-size: the window lasts 3 s"),
        ("html", "<strong>HALLMARK INVALID</strong> sample-size: the window lasts"),
        ("hdr", "#[HALLMARK INVALID: sample-size: the window lasts 3 s (at least 10 s)]"),
        ("csv", "all,hallmark,verdict,invalid"),
    ] {
        let displayed = place.fine(&format!("report b --format {format}")).out;
        assert!(displayed.contains(expected), "{format}: {displayed:.300}");
    }
    for format in ["json", "ndjson"] {
        let displayed = place.fine(&format!("report b --format {format}")).out;
        let last =
            if format == "json" { &displayed } else { displayed.lines().last().expect("a line") };
        let result: Value = serde_json::from_str(last).expect("it is JSON");
        assert_eq!(text(&result, "/hallmark/verdict"), "invalid");
        assert_eq!(text(&result, "/hallmark/line"), line);
        assert_eq!(result["hallmark"], hallmark(&place, "b"));
    }
}

#[test]
fn a_run_by_the_wall_clock_is_watched_and_analyzed_again_to_the_same_hallmark() {
    let place = Place::new();
    let run = "run ycsb-c --records 100 -t memory: --rate 1k/s --run-dir b -q";
    place.fine(&format!("{run} --duration 400ms --floor 50ms"));
    let first = hallmark(&place, "b");
    for name in ["worker-cpu", "hiccups"] {
        let verdict = check(&first, name)["verdict"].as_str().expect("a verdict");
        assert!(["pass", "remark", "fail"].contains(&verdict), "{name} is {verdict}");
    }
    assert!(first["noise_floor_ns"]["p50"].as_u64().is_some(), "{}", first["noise_floor_ns"]);
    let bytes = place.bytes("b/hallmark.json");
    place.remove("b/hallmark.json");
    place.fine("report b");
    let is_there = place.path("b/hallmark.json").exists();
    assert!(!is_there, "a report changes nothing in the run directory");
    place.fine("analyze b");
    assert_eq!(place.bytes("b/hallmark.json"), bytes);
}

#[test]
fn unobserved_checks_are_always_named() {
    let place = Place::new();
    let run = "run ycsb-c --records 100 -t memory: --rate 1k/s --run-dir b -q";
    place.fine(&format!("{run} --duration 200ms --floor 0s"));
    assert!(!place.read("b/run.toml").contains("[floor]"));
    // As in a run directory of an older release.
    place.remove("b/observations.parquet");
    place.fine("analyze b");
    let analyzed = hallmark(&place, "b");
    for name in ["worker-cpu", "hiccups", "noise-floor"] {
        assert_eq!(check(&analyzed, name)["verdict"], "not-assessable", "{name}");
        assert_eq!(check(&analyzed, name)["why"], "not-observed", "{name}");
    }
    place.write("b/observations.parquet", "no Parquet");
    place.fine("report b").shows("observations.parquet");
}

#[test]
fn a_run_directory_of_the_first_format_can_still_be_shown() {
    let place = Place::new();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../history/tests/golden/v1");
    let ran = place.fine(&format!("report {golden}"));
    let line = first_line(&ran);
    assert!(line.starts_with("HALLMARK INVALID: ") || line.starts_with("HALLMARK NOT"), "{line}");
}

#[test]
fn every_run_of_a_group_keeps_its_hallmark_and_must_have_it_if_required() {
    let place = Place::new();
    let words = "run ycsb-c --records 100 -t sim:healthy --rate 500/s -q --repeat 2 --seed 3";
    place.fine(&format!("{words} --duration 12s --run-dir g --require-hallmark"));
    for run in ["g/1", "g/2"] {
        assert_eq!(text(&hallmark(&place, run), "/verdict"), "valid");
    }
    place.assay(&format!("{words} --duration 3s --run-dir short --require-hallmark")).code(5);
    place.assay("report short --require-hallmark").code(5);
}

#[test]
fn a_schedule_from_a_file_is_held_against_itself() {
    let place = Place::new();
    place.fine("trace gen ycsb-c --rate 1k/s --operations 20000 --records 100 --seed 5 -o t.trace");
    let run = "run t.trace -t sim:healthy?latency=1ms --arrivals trace --require-hallmark -q";
    assert_eq!(first_line(&place.fine(run)), "HALLMARK VALID");
}
