//! Flags, files, run directories of an earlier release, which had other names for things.

use std::fs;
use std::path::Path;

use crate::place::Place;
use crate::run_dir::{counted, manifest, number, text};

/// Written by the release before: a group with a run on the simulated store, a paced run, a trace.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden-earlier");

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the directory is ours");
    for entry in fs::read_dir(from).expect("it is in the repository") {
        let entry = entry.expect("it is in the repository");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => drop(fs::copy(&from, &to).expect("the directory is ours")),
        }
    }
}

fn earlier() -> Place {
    let place = Place::new();
    copy(Path::new(GOLDEN), &place.path("."));
    place
}

#[test]
fn run_directories_of_an_earlier_release_have_the_same_figures() {
    let place = earlier();
    let paced = place.json("report paced");
    assert_eq!(counted(&paced, "done"), 20);
    assert_eq!(number(&paced, "/overall/hits/response/max_ns"), 82_490_508);
    assert_eq!(number(&paced, "/load/threads"), 1);
    assert_eq!(paced["load"]["rate_per_s"], 100.0);
    let checks = paced["hallmark"]["checks"].as_array().expect("a list");
    let worker = checks.iter().find(|check| check["id"] == "B1").expect("it is checked");
    assert_eq!(worker["measures"][0]["statistic"], "worker-busy");
    assert_eq!(worker["measures"][0]["value"], 0.002_787_558_679_991_438_5);
    let simulated = place.fine("report runs/1").shows("sim:?lost=40%").shows("the simulated store");
    assert!(!simulated.out.contains("cannot read"), "{}", simulated.out);
    for format in ["text", "ndjson", "csv", "md", "ycsb", "hdr", "html", "junit"] {
        assert_eq!(place.fine(&format!("report runs/1 --format {format}")).err, "", "{format}");
    }
    let group = place.json("report runs");
    assert_eq!(group["runs"].as_array().map(Vec::len), Some(1), "{group}");
    // The texts of the results are still read.
    let load = manifest(&place, "runs/1").load;
    assert!(load.text.ends_with("; timeout 10.00 s; in simulated time"), "{}", load.text);
    assert!(load.settings.simulated_time);
    assert_eq!(text(&place.json("report runs/1"), "/store/name"), "sim");
    place.fine("trace info old.trace --verify").shows("7c02dfbdc91599a4e1597d42a8d7d715");
    place.fine("run old.trace -t memory: --run-dir replayed -q");
    assert_eq!(manifest(&place, "replayed").counters.offered, 20);
}

#[test]
fn the_same_load_compares_like_for_like_with_that_of_an_earlier_release() {
    let place = earlier();
    let paced = "run ycsb-a --records 8 --operations 20 --closed 2 --target-throughput 100";
    place.fine(&format!("{paced} -t null: --threads 1 --run-dir now --seed 5 -q"));
    let open = "run ycsb-a --records 8 --rate 200 --duration 150ms -t sim:?lost=40%";
    place.fine(&format!("{open} --run-dir simulated --seed 5 -q"));
    for words in ["compare paced now", "compare runs/1 simulated"] {
        let out = place.fine(words).out;
        assert!(!out.contains("NOT LIKE FOR LIKE"), "{out}");
        assert!(!out.contains("store url"), "{out}");
    }
}

#[test]
fn flags_of_an_earlier_release_do_what_they_did() {
    let place = Place::new();
    place.fine("load ycsb-a --records 20 -t fjall:st --lanes 1 --bundle loaded -q");
    place.fine(
        "run ycsb-a --records 20 --operations 20 --closed 2 --pace 1k --lanes 1 --bundle paced \
         --undo-inserts -t fjall:st -q",
    );
    let load = manifest(&place, "paced").load;
    assert_eq!(load.workers, 1);
    assert_eq!(load.settings.target_throughput, Some(1000.0));
    let open = "run ycsb-a --records 20 --rate 1k --duration 50ms --workers 3 --bundle open";
    place.fine(&format!("{open} -t fjall:st -q"));
    assert_eq!(manifest(&place, "open").load.settings.blocking_threads, 3);
    place.fine("run ycsb-a --records 20 --operations 20 --closed 1 -t sick:healthy --bundle s -q");
    assert_eq!(manifest(&place, "s").store.name, "sim");
    place.fine("run ycsb-a --records 20 --operations 9 --set hallmark.lane_busy_fail=0.8 -t sim:");
    place.fine("sick serve --for 10ms");
}

#[test]
fn a_name_beside_its_earlier_one_is_an_error_that_names_both() {
    let place = Place::new();
    place.write("both.toml", "lanes = 1\nthreads = 2\n");
    for (words, old, new) in [
        ("run ycsb-a --lanes 1 --threads 2", "--lanes", "--threads"),
        ("run ycsb-a --threads=2 --lanes=1", "--lanes", "--threads"),
        ("run ycsb-a --workers 1 --blocking-threads 2", "--workers", "--blocking-threads"),
        ("load ycsb-a --bundle a --run-dir b", "--bundle", "--run-dir"),
        ("run ycsb-a --pace 1 --target-throughput 2", "--pace", "--target-throughput"),
        ("run ycsb-a --undo-inserts --clean-up-inserts", "--undo-inserts", "--clean-up-inserts"),
        ("trace import csv a --amplify 1 --replicate 2", "--amplify", "--replicate"),
        ("study kvbench --beside a --published b", "--beside", "--published"),
        ("config show --config both.toml", "lanes", "threads"),
    ] {
        place.refuses(words, &format!("{old} is the earlier name of {new}: give one of them"));
    }
    let ran = place.shell("ASSAY_LANES=1 ASSAY_THREADS=2 assay config show").code(2);
    ran.says("lanes is the earlier name of threads");
}

#[test]
fn a_study_goes_on_with_the_cells_that_an_earlier_release_measured() {
    let place = Place::new();
    place.write("s.toml", STUDY);
    place.fine("study s.toml --dir d -q");
    let cell = "d/cells/fj-ycsb-d-closed-1-r1/cell.toml";
    let now = place.read(cell);
    let before = now.replace("threads =", "lanes =").replace("\"clean-up\"", "\"undo\"");
    assert_ne!(now, before);
    place.write(cell, before);
    place.fine("study s.toml --dir d").says("2 done, 0 to do");
}

const STUDY: &str = r#"
name = "s"
workloads = ["ycsb-d"]
repetitions = 1
records = 50
operations = 50
fill.when = "undo"
run = { lanes = 1 }

[[load]]
closed = [1]

[[store]]
name = "fj"
url = "fjall:{dir}/st"

[[store]]
name = "sim"
url = "sick:healthy"
"#;
