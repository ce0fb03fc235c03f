//! A study from its file: cells, order, resumption, failures, page.

use std::collections::BTreeMap;
use std::fs;
use std::time::SystemTime;

use rustix::process::Signal;
use serde_json::Value;

use crate::place::{ASSAY, Place, Ran, wait_until};
use crate::run_dir::manifest;

/// Two stores that are quick, and one that does nothing.
const SMALL: &str = r#"
title = "Quick stores"
repetitions = 2
records = 200
operations = 500
workloads = ["ycsb-a", "ycsb-c"]

[[load]]
closed = [2]

[[store]]
name = "memory"
url = "memory:"

[[store]]
name = "fjall"
url = "fjall:{dir}/db"

[[store]]
name = "null"
url = "null:"
"#;

/// A store whose every answer takes its time, so that a cell lasts.
const SLOW: &str = r#"
repetitions = 1
records = 10
operations = 150
workloads = ["ycsb-c", "ycsb-a"]

[[store]]
name = "fjall"
url = "fjall:{dir}/db"

[[store]]
name = "slow"
url = "null:?spin=20ms"
"#;

/// A store that is started for its cells.
const REDIS: &str = "nodes = [1]\n[[store]]\nname = \"redis\"\nup = \"redis\"\n";

/// Where the cells of the study are.
const CELLS: &str = "runs/studies/s/cells";

fn place(text: &str) -> Place {
    let place = Place::new();
    place.write("s.toml", text);
    place
}

fn study(place: &Place) -> Ran {
    place.assay("study s.toml --quiet")
}

fn json(place: &Place) -> Value {
    place.read_json("runs/studies/s/study.json")
}

fn page(place: &Place) -> String {
    place.read("runs/studies/s/study.html")
}

/// The record of a cell.
fn record(place: &Place, id: &str) -> String {
    place.read(&format!("{CELLS}/{id}/cell.toml"))
}

/// Whether the run of a cell has begun.
fn is_issued(place: &Place, id: &str) -> bool {
    place.path(&format!("{CELLS}/{id}/run/blocks")).exists()
}

/// When each cell's record was written.
fn ages(place: &Place) -> BTreeMap<String, SystemTime> {
    let cells = place.list(CELLS);
    let age = |id: &String| {
        let record = place.path(&format!("{CELLS}/{id}/cell.toml"));
        let metadata = fs::metadata(record).ok()?;
        Some((id.clone(), metadata.modified().expect("the file system keeps times")))
    };
    cells.iter().filter_map(age).collect()
}

#[test]
fn a_disk_that_is_too_small_is_an_error_before_the_first_run() {
    let place = place(&SMALL.replace("operations = 500", "operations = \"1M\""));
    let mount = "mkdir small && mount -t tmpfs -o size=8m none small";
    let line = format!("{mount} && assay study s.toml --runs-dir small --quiet");
    let ran = place.shell_in("--mount", &line).code(2);
    ran.says("MiB on disk, and ").says(" MiB are free for small").says("--scale 0.1");
}

#[test]
fn a_disk_that_fills_in_the_middle_hides_nothing_and_loses_nothing() {
    // A run leaves about 1.5 MB, and takes about 5 until it is sealed.
    let text = SMALL.replace("operations = 500", "operations = \"200k\"");
    let place = place(&text.replace("\"ycsb-a\", \"ycsb-c\"", "\"ycsb-a\""));
    let study = "assay study s.toml --runs-dir small --stores memory,null --quiet";
    let line = format!(
        "mkdir small && mount -t tmpfs -o size=8m none small; {study} --force; echo first: $?; \
         mount -o remount,size=1g none small; {study} --retry-failed; echo then: $?"
    );
    let ran = place.shell_in("--mount", &line).code(0).shows("first: 1").shows("then: 0");
    let (first, then) = ran.out.split_once("first: 1").expect("it was just there");
    assert!(first.contains(" of 4 runs") && !first.contains("4 of 4"), "{first}");
    assert!(then.contains(": 4 of 4 runs"), "{then}");
    let full = "No space left on device";
    assert!(first.contains(full) || ran.err.contains(full), "{}", ran.err);
}

#[test]
fn a_run_without_a_success_fails_with_its_first_error() {
    let place = place(&SMALL.replace("null:", "sim:healthy?refused=100%"));
    study(&place).code(1).shows("4 runs failed");
    let page = page(&place);
    assert!(page.contains("none of 500 operations went through; the first failure was"), "{page}");
}

#[test]
fn a_study_goes_on_from_another_directory() {
    let place = place(&SMALL.replace("\"ycsb-a\", \"ycsb-c\"", "\"mine.properties\""));
    place.fine("workloads copy ycsb-c mine.properties");
    place.fine("study s.toml --quiet --stores memory --dir found");
    let before = place.read("found/cells.csv");
    let line = "mkdir sub && cd sub && assay study ../s.toml --stores memory --dir ../found";
    place.shell(line).code(0).says("s: 2 cells, 2 done, 0 to do");
    assert_eq!(place.read("found/cells.csv"), before);
}

#[test]
fn a_study_runs_every_cell_and_keeps_it_as_a_run_directory() {
    let place = place(SMALL);
    let ran = place.fine("study s.toml");
    let ran = ran.says("s: 12 cells, 0 done, 12 to do").says("cell 12 of 12");
    let ran = ran.shows("12 of 12 runs").shows("What an answered write survives");
    ran.shows("DURABILITY DIFFERS").shows("null: keeps nothing and finds nothing");
    let cells = place.list(CELLS);
    assert_eq!(cells.len(), 12, "{cells:?}");
    let id = format!("{CELLS}/fjall-ycsb-a-closed-2-r1");
    let manifest = manifest(&place, &format!("{id}/run"));
    assert_eq!((manifest.counters.done, manifest.load.model.as_str()), (500, "closed"));
    assert_eq!(place.list(&id), ["cell.toml", "fill", "log.txt", "run"], "the store is gone");
    assert!(place.path(&format!("{id}/run/hallmark.json")).exists());
    let found = json(&place);
    assert_eq!(found["setups"].as_array().map(Vec::len), Some(6));
    // One row for all, one for each kind: two in A, one in C.
    assert_eq!(found["rows"].as_array().map(Vec::len), Some(2 * 3 * (3 + 2)));
    let rows = assay_history::read_sheet(&place.path("runs/studies/s/cells.parquet"));
    let rows = rows.expect("it is a table");
    assert_eq!(rows.len(), 30);
    assert_eq!(place.read("runs/studies/s/cells.csv").lines().count(), 31);
    let setup = &found["setups"][0];
    let runs = setup["metrics"]["throughput"]["runs"].as_array().map(Vec::len);
    assert_eq!((runs, setup["metrics"]["throughput"]["low"].is_number()), (Some(2), true));
}

#[test]
fn a_study_has_the_order_of_its_seed_a_ranking_and_a_self_contained_page() {
    let place = place(SMALL);
    let plan = |words: &str| place.fine(&format!("study s.toml --plan {words}")).out;
    assert_eq!(plan(""), plan(""));
    assert_ne!(plan(""), plan("--seed 2"));
    assert!(plan("").contains("3 stores x 2 workloads x 1 loads, 2 repetitions: 12 cells"));
    assert!(plan("").contains("to issue: 6 000 operations"), "{}", plan(""));
    assert!(!place.path("runs").exists(), "a plan makes nothing");
    study(&place).code(0);
    let listed = plan("");
    let order = json(&place)["order"].as_array().cloned().expect("it is a list");
    let planned = listed.lines().filter_map(|line| line.trim().split_once("  "));
    let planned: Vec<&str> = planned.map(|(_, id)| id).filter(|id| id.contains("-r")).collect();
    assert_eq!(order.iter().filter_map(Value::as_str).collect::<Vec<_>>(), planned);
    // A store that does nothing is named and in no ranking.
    let found = json(&place);
    let refused = found["not_ranked"].as_array().expect("it is a list");
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].as_str().is_some_and(|text| text.starts_with("null: keeps nothing")));
    let page = page(&place);
    let ranking = page.split("id=\"ranking\"").nth(1).and_then(|rest| rest.split("<ul").next());
    let ranking = ranking.expect("there is a ranking with what is not in it");
    assert!(ranking.contains("memory") && !ranking.contains("null"), "{ranking}");
    for part in ["durability", "ranking", "load-0", "checks"] {
        assert!(page.contains(&format!("id=\"{part}\"")), "{part} is missing");
    }
    assert!(page.contains("no fit"), "no fit is missing");
    let at = |part: &str| page.find(part).expect("it is there");
    assert!(at("id=\"durability\"") < at("id=\"load-0\""), "promises come before charts");
    assert!(!page.contains("src=") && !page.contains("<link"), "the page loads something");
    let again = place.fine("study s.toml --quiet -o again.html");
    assert_eq!(again.out, "");
    let again = place.read("again.html").replace(" -o again.html", "");
    assert!(again == page, "the same study gives another page");
}

#[test]
fn a_study_that_was_killed_goes_on_with_what_is_missing() {
    let place = place(SLOW);
    let mut running = place.start("study s.toml");
    wait_until("a slow cell is issued after another was done", || {
        let is_issued = |id: &String| id.starts_with("slow") && is_issued(&place, id);
        place.list(CELLS).iter().any(is_issued) && !ages(&place).is_empty()
    });
    running.kill();
    let before = ages(&place);
    let half = place.list(CELLS);
    assert!(half.len() > before.len(), "there is half a cell: {half:?}");
    let ran = place.fine("study s.toml");
    ran.says(&format!("s: 4 cells, {} done, {} to do", before.len(), 4 - before.len()));
    let after = ages(&place);
    assert_eq!(after.len(), 4);
    assert!(before.iter().all(|(id, age)| after[id] == *age), "a cell was run again");
    assert_eq!(json(&place)["done"], 4);
    place.fine("study s.toml").says("4 done, 0 to do");
    assert_eq!(ages(&place), after);
}

#[test]
fn nothing_of_a_killed_study_goes_on() {
    let place = place(SLOW);
    // No program of the system's is of help.
    let nowhere = place.path("nowhere");
    let mut running =
        place.start_with("study s.toml --stores slow", |command| command.env("PATH", nowhere));
    wait_until("the slow store is queried", || {
        place.list(CELLS).first().is_some_and(|id| is_issued(&place, id))
    });
    running.kill();
    wait_until("the cell's process is gone", || !is_anybody_at_work(&place));
}

/// Whether a process that has not ended works in this place, or on a file of it.
fn is_anybody_at_work(place: &Place) -> bool {
    let here = place.path("").display().to_string();
    let here = here.trim_end_matches('/');
    let processes = fs::read_dir("/proc").expect("it is Linux").flatten();
    processes.into_iter().any(|process| {
        let cwd = fs::read_link(process.path().join("cwd")).unwrap_or_default();
        // Of a process that has ended there are no words.
        let words = fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
        !words.is_empty() && (cwd.starts_with(here) || words.contains(here))
    })
}

#[test]
fn servers_of_a_killed_study_end_with_it_and_the_next_one_starts_its_own() {
    let cells = "repetitions = 1\nrecords = 100\nworkloads = [\"ycsb-a\", \"ycsb-c\"]\n";
    let load = "[[load]]\nrate = [\"200/s\"]\nduration = \"3s\"\n";
    let place = place(&format!("{cells}{REDIS}{load}"));
    let mut running = place.start("study s.toml --install --lab-dir labs");
    wait_until("the second cell is issued", || {
        let ages = ages(&place);
        let is_half = |id: &String| is_issued(&place, id) && !ages.contains_key(id);
        ages.len() == 1 && place.list(CELLS).iter().any(is_half)
    });
    running.kill();
    wait_until("the servers are gone", || !is_anybody_at_work(&place));
    let before = ages(&place);
    let ran = place.fine("study s.toml --install --lab-dir labs");
    ran.says("s: 2 cells, 1 done, 1 to do").says("starting 1 node");
    assert!(before.iter().all(|(id, age)| ages(&place)[id] == *age), "a cell was run again");
    assert_eq!(json(&place)["done"], 2);
    assert_eq!(place.list("labs"), [""; 0], "the labs are down");
}

#[test]
fn a_study_goes_on_with_the_program_that_it_began_with() {
    let place = place(SMALL);
    let program = place.path("assay");
    // By another process: nobody who is started here meanwhile has the file open for writing.
    let copied = std::process::Command::new("cp").arg(ASSAY).arg(&program).status();
    assert!(copied.is_ok_and(|status| status.success()));
    let mut command = place.program(&program.display().to_string());
    command.args(["study", "s.toml"]);
    let running = place.spawn(command);
    wait_until("a cell is done", || !ages(&place).is_empty());
    fs::remove_file(&program).expect("it is ours");
    running.wait().code(0).shows("12 of 12 runs");
}

#[test]
fn an_interrupt_ends_the_cell_and_shows_the_results_so_far() {
    let place = place(SLOW);
    let running = place.start("study s.toml");
    wait_until("a cell is done and the slow store issued", || {
        let is_slow = |id: &String| id.starts_with("slow");
        place.list(CELLS).iter().any(is_slow) && !ages(&place).is_empty()
    });
    running.signal(Signal::INT);
    running.wait().code(130).shows("INTERRUPTED: somebody stopped the study");
    assert!(page(&place).contains("interrupted"));
    let cells = place.list(CELLS);
    assert_eq!(cells.len(), ages(&place).len(), "half a cell is left: {cells:?}");
}

#[test]
fn cells_that_were_run_with_other_options_are_refused() {
    let place = place(SMALL);
    place.fine("study s.toml --quiet --workloads ycsb-c");
    place.write("s.toml", SMALL.replace("operations = 500", "operations = 600"));
    let ran = study(&place).code(2);
    ran.says("operations: was 500, is now 600").says("another directory by --dir");
    place.fine("study s.toml --quiet --dir other --workloads ycsb-c --stores memory");
    place.write("s.toml", SMALL);
    // More of the same goes on where it was.
    place.fine("study s.toml --workloads ycsb-c --repetitions 3").says("9 cells, 6 done, 3 to do");
}

/// A workload of one's own.
const OWN: &str = "[dataset]\nrecords = 100\n\n[operations]\nread = \"100%\"\n";

#[test]
fn the_study_alone_decides_how_cells_are_run() {
    let place = place(&SMALL.replace("\"ycsb-a\", \"ycsb-c\"", "\"w.toml\""));
    place.write("w.toml", OWN);
    place.write("assay.toml", "target-throughput = \"1/s\"\n[hallmark]\nlag-p99 = \"1ns\"\n");
    let words = "study s.toml --quiet --stores memory --repetitions 1";
    place.start_with(words, |command| command.env("ASSAY_THINK", "1h")).wait().code(0);
    let id = "memory-w-closed-2-r1";
    let record = record(&place, id);
    assert!(record.contains("--no-config") && record.contains("GiB"), "{record}");
    // Everything in a workload's file counts, also what changes no operation.
    place.write("w.toml", format!("{OWN}\n[run]\ntimeout = \"3s\"\n"));
    place.refuses("study s.toml --stores memory --repetitions 1", "workload's text: was ");
    place.write("w.toml", OWN);
    place.write(&format!("{CELLS}/{id}/cell.toml"), record.replace(" GiB", " GiB of another"));
    place.refuses("study s.toml --stores memory --repetitions 1", "machine: was ");
}

#[test]
fn a_foreign_store_is_emptied_only_on_request() {
    let place = place(&SMALL.replace("fjall:{dir}/db", "fjall:theirs"));
    place.fine("load ycsb-a -t fjall:theirs --records 7 --quiet");
    study(&place).code(2).says("removes what Assay has in fjall:theirs").says("--replace");
    place.fine("run ycsb-c -t fjall:theirs --records 7 --operations 10 --quiet");
    // The cells' own options need no warning, nor do options that no command reads.
    place.fine("study s.toml --quiet --stores memory,null");
    place.fine("study s.toml --quiet --replace");
}

#[test]
fn passwords_are_in_nothing_that_is_kept() {
    let url = "redis://bob:hunter2@127.0.0.1:1/0?connections=1";
    let place = place(&SMALL.replace("fjall:{dir}/db", url));
    let ran = place.assay("study s.toml --stores fjall --replace").code(1);
    assert!(!ran.out.contains("hunter2") && !ran.err.contains("hunter2"), "{}", ran.err);
    let cells = place.list(CELLS);
    let records = cells.iter().map(|id| format!("cells/{id}/cell.toml"));
    let files = records.chain(["study.toml", "study.html", "study.json"].map(str::to_owned));
    for file in files {
        let text = place.read(&format!("runs/studies/s/{file}"));
        assert!(!text.contains("hunter2"), "{file}: {text}");
    }
    let record = record(&place, &cells[0]);
    assert!(record.contains("redis://…@127.0.0.1:1/0?connections=1"), "{record}");
}

#[test]
fn a_failed_cell_is_reported_and_the_others_are_run() {
    // A file is where a directory should be.
    let place = place(&SMALL.replace("fjall:{dir}/db", "fjall:taken/db"));
    place.write("taken", "");
    let ran = place.assay("study s.toml --quiet --replace").code(1);
    ran.shows("FAILED: 4 runs failed").shows("8 of 12 runs").shows("filling the store");
    let found = json(&place);
    let reason = found["failed"][0]["reason"].as_str().expect("it is text");
    assert!(reason.contains("taken") && reason.contains("code"), "{reason}");
    // They count as done, until somebody wants them again.
    study(&place).code(1);
    place.refuses("study s.toml --retry-failed", "say --replace if nobody needs it");
    place.remove("taken");
    fs::create_dir(place.path("taken")).expect("the directory is ours");
    place.fine("study s.toml --retry-failed --replace").says("8 done, 4 to do");
}

#[test]
fn a_cell_that_takes_too_long_is_given_up_and_the_others_are_run() {
    // 500 operations of 20 ms each take ten seconds.
    let place = place(&SLOW.replace("operations = 150", "operations = 500\ngive-up = \"3s\""));
    study(&place).code(1).shows("2 runs failed").shows("2 of 4 runs");
    assert_eq!(json(&place)["done"], 2);
    let record = record(&place, "slow-ycsb-c-closed-1-r1");
    assert!(record.contains("it was given up after 3"), "{record}");
    assert!(!is_anybody_at_work(&place), "what was given up goes on");
}

#[test]
fn a_run_directory_that_was_damaged_is_reported_and_can_be_run_again() {
    let place = place(SMALL);
    study(&place).code(0);
    let cell = format!("{CELLS}/memory-ycsb-a-closed-2-r1");
    let manifest = format!("{cell}/run/run.toml");
    let text = place.read(&manifest);
    // Within a text: a number that was cut would be a number still.
    place.write(&manifest, text.split_once("timeout 10").expect("it says what the load is").0);
    let ran = study(&place).code(1);
    ran.shows("FAILED: 1 run failed").shows("its run directory cannot be read").shows(&cell);
    place.remove(&cell);
    place.fine("study s.toml").says("11 done, 1 to do");
}

#[test]
fn only_what_is_run_again_is_removed() {
    let place = place(&SMALL.replace("fjall:{dir}/db", "fjall:taken/db"));
    place.write("taken", "");
    place.assay("study s.toml --quiet --replace").code(1);
    fs::create_dir(place.path(&format!("{CELLS}/notes"))).expect("the directory is ours");
    let before = place.list(CELLS);
    // Neither cells of other options nor files that are no cells.
    place.fine("study s.toml --quiet --stores memory --retry-failed");
    assert_eq!(place.list(CELLS), before);
    let failed = place.path(&format!("{CELLS}/fjall-ycsb-a-closed-2-r1/cell.toml"));
    assert!(failed.exists());
    // Nor anything before all has been looked at.
    place.write("s.toml", SMALL.replace("operations = 500", "operations = 600"));
    place.refuses("study s.toml --retry-failed", "operations: was 500");
    assert!(failed.exists());
    // A directory of somebody else that has cells, too.
    fs::create_dir_all(place.path("theirs/cells")).expect("the directory is ours");
    place.write("theirs/cells/notes.txt", "");
    place.refuses("study s.toml --dir theirs", "something else than a study");
    assert_eq!(place.list("theirs/cells"), ["notes.txt"]);
}

#[test]
fn a_store_that_this_binary_lacks_fails_its_cells_alone() {
    let known = place("").fine("stores").out;
    let missing = known.lines().find(|line| line.contains("(build with --features"));
    let Some(scheme) = missing.and_then(|line| line.split_whitespace().next()) else {
        // This binary has every store.
        return;
    };
    let place = place(&SMALL.replace("fjall:{dir}/db", &format!("{scheme}:{{dir}}/db")));
    study(&place).code(1).shows("--features").shows("8 of 12 runs");
}

#[test]
fn a_store_that_does_not_come_up_fails_its_cells_and_the_study_goes_on() {
    let lab = "[[store]]\nname = \"redis\"\nup = \"redis\"\n";
    let place = place(&format!("{SMALL}{lab}"));
    // Nothing that the lab needs can be found or fetched.
    let words = "study s.toml --quiet --lab-dir labs";
    let ran = place.start_with(words, |it| it.env("PATH", place.path("nowhere"))).wait();
    ran.code(1).shows("4 runs failed").shows("12 of 16 runs");
    assert_eq!(place.list("labs"), [""; 0]);
}

#[test]
fn cells_of_one_cluster_share_it() {
    let cells = "repetitions = 2\nrecords = 100\noperations = 300\n\
                 workloads = [\"ycsb-a\", \"ycsb-c\"]\n";
    let place = place(&format!("{cells}{REDIS}"));
    let ran = place.fine("study s.toml --install --lab-dir labs");
    assert_eq!(ran.err.matches("starting 1 node").count(), 2, "{}", ran.err);
    assert_eq!(place.list("labs"), [""; 0], "the labs are down");
    let found = json(&place);
    assert_eq!((&found["done"], &found["setups"][0]["nodes"]), (&4.into(), &1.into()));
    let record = record(&place, "redis-1n-ycsb-a-closed-1-r1");
    assert!(record.contains("assay lab up redis --name s-redis-1n --nodes 1"), "{record}");
    assert!(record.contains("assay run ycsb-a --records 100"), "{record}");
}

#[test]
fn what_a_run_has_inserted_is_undone_instead_of_filling_anew() {
    // By this seed D comes first, then C, then E: C finds what D has inserted, E what C has left.
    for (when, filled) in [("each-run", 3), ("when-changed", 2), ("undo", 1)] {
        let text = format!(
            "records = 100\noperations = 300\nrepetitions = 1\n\
             workloads = [\"ycsb-d\", \"ycsb-e\", \"ycsb-c\"]\nseed = 5\n{REDIS}\
             [fill]\nwhen = \"{when}\"\n"
        );
        let place = place(&text);
        place.fine("study s.toml --install --quiet --lab-dir labs");
        let cells = place.list(CELLS);
        let is_filled = |cell: &&String| place.path(&format!("{CELLS}/{cell}/fill")).is_dir();
        assert_eq!(cells.len(), 3, "{when}");
        let order = place.read("runs/studies/s/order.txt");
        assert_eq!(cells.iter().filter(is_filled).count(), filled, "{when}: {order}");
    }
}

#[test]
fn two_studies_at_once_have_labs_of_their_own() {
    let cells = "records = 100\noperations = 300\nworkloads = [\"ycsb-c\"]\n";
    let place = place(&format!("{cells}{REDIS}"));
    let both = ["one", "other"];
    let running =
        both.map(|dir| place.start(&format!("study s.toml --install --lab-dir labs --dir {dir}")));
    for study in running {
        study.wait().code(0);
    }
    let lab = |dir: &str| place.read(&format!("{dir}/cells/redis-1n-ycsb-c-closed-1-r1/cell.toml"));
    assert!(both.iter().any(|dir| lab(dir).contains("--lab s-redis-1n ")));
    assert_eq!(place.list("labs"), [""; 0], "the labs are down");
}

#[test]
fn study_files_that_are_invalid_are_refused() {
    let refused = |text: String, part: &str| {
        place(&text).refuses("study s.toml", part);
    };
    refused(SMALL.replace("repetitions = 2", "repetitions = 0"), "repetitions = 0: nothing would");
    refused(SMALL.replace("memory:", "memroy:"), "store memory: ");
    refused(SMALL.replace("url = \"memory:\"", "up = \"memcashed\""), "did you mean memcached?");
    refused(SMALL.replace("operations", "operation"), "did you mean \"operations\"?");
    refused(SMALL.replace("ycsb-c\"]", "ycsb-z\"]"), "workload ycsb-z");
    let place = place(&SMALL.replace("ycsb-c", "w.toml"));
    place.write("w.toml", format!("{OWN}\n[run]\nrate = \"10/s\"\n"));
    place.refuses("study s.toml", "workload w: w.toml says rate in its section [run]");
    place.write("s.toml", SMALL);
    place.refuses("study c0", "there is no study file c0; did you mean co?");
    place.refuses("study nowhere.toml", "no study file nowhere.toml");
    place.refuses("study s.toml --scale none", "--scale: \"none\" is no share");
    place.refuses("study s.toml --stores memori", "did you mean memory?");
    place.refuses("study s.toml --format junit", "text, json, csv, md or html");
    fs::create_dir(place.path("full")).expect("the directory is ours");
    place.write("full/mine.txt", "");
    place.refuses("study s.toml --dir full", "something else than a study");
}

#[test]
fn a_tenth_of_the_operations_is_reported() {
    let place = place(SMALL);
    let ran = place.fine("study s.toml --quiet --scale 0.1 --stores memory --format md");
    ran.shows("**SCALED**: every run issued 10 % of the operations");
    let id = format!("{CELLS}/memory-ycsb-a-closed-2-r1/run");
    assert_eq!(manifest(&place, &id).counters.done, 50);
    assert!(page(&place).contains("10\u{202f}%"));
}

/// A paper of two systems, one of which is the other, and one without any cost.
const THEIRS: &str = "system,workload,nodes,metric,unit,value\n\
    a,A,1,runtime,s,10\na,A,3,runtime,s,30\na,A,5,runtime,s,28\n\
    a,C,1,runtime,s,2\na,C,3,runtime,s,5\na,C,5,runtime,s,6\n\
    b,A,1,runtime,s,10\nb,A,3,runtime,s,30\nb,A,5,runtime,s,28\n\
    b,C,1,runtime,s,2\nb,C,3,runtime,s,5\nb,C,5,runtime,s,6\n\
    b,C,1,read_mean,us,400\nb,C,3,read_mean,us,80\n";

#[test]
fn figures_of_others_are_shown_with_what_is_wrong_in_them() {
    let beside = "[beside]\nname = \"a paper\"\noperations = 20000\nclients = 4\n\
                  workloads = { ycsb-a = \"A\", ycsb-c = \"C\" }\n";
    // As many clients as theirs: else they are not comparable, and not drawn.
    let place = place(&format!("{}{beside}", SMALL.replace("closed = [2]", "closed = [4]")));
    place.write("theirs.csv", THEIRS);
    let ran = place.fine("study s.toml --quiet --stores memory --published theirs.csv");
    let ran = ran.shows("a and b are one series under two names: 6 of 6 run times are the same");
    ran.shows("b: 1 of 2 run times are more than a third off");
    let page = page(&place);
    assert!(page.contains("id=\"published\"") && page.contains("column foreign"), "no figures");
    place.write("wrong.csv", "system,workload\n");
    let said = "--published: wrong.csv:1: there is no column nodes";
    place.refuses("study s.toml --published wrong.csv", said);
    place.write("s.toml", SMALL);
    place.refuses("study s.toml --published theirs.csv", "no section [beside]");
}

#[test]
fn a_workload_from_a_file_stands_beside_figures_by_its_name() {
    let text = |name: &str| {
        let small = SMALL.replace("\"ycsb-a\", \"ycsb-c\"", "\"mine.properties\"");
        let small = small.replace("closed = [2]", "closed = [4]");
        format!(
            "{small}[beside]\nname = \"a paper\"\noperations = 500\nclients = 4\n\
             workloads = {{ {name} = \"A\" }}\n"
        )
    };
    let place = place(&text("mine"));
    place.write("theirs.csv", THEIRS);
    place.fine("workloads copy ycsb-a mine.properties");
    place.fine("study s.toml --quiet --stores memory --published theirs.csv");
    assert!(page(&place).contains("a, a paper"), "the figures of system a stand nowhere");
    place.write("s.toml", text("\"mine.properties\""));
    let said = "[beside] workloads: the study has no workload mine.properties";
    place.refuses("study s.toml --stores memory --published theirs.csv", said);
}

#[test]
fn enough_numbers_of_clients_are_fitted() {
    let text = SMALL
        .replace("closed = [2]", "closed = [1, 2, 3, 4, 6, 8]")
        .replace("repetitions = 2", "repetitions = 1")
        .replace("workloads = [\"ycsb-a\", \"ycsb-c\"]", "workloads = [\"ycsb-c\"]");
    let place = place(&text);
    let ran = place.fine("study s.toml --quiet --stores memory");
    ran.shows("Scalability by clients (USL)").shows("contention");
    assert!(page(&place).contains("id=\"clients-0-0\""));
}
