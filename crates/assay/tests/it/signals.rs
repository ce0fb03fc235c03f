//! A run that is stopped from outside keeps what it has.

use std::fs;
use std::time::{Duration, Instant, SystemTime};

use assay_history::State;
use assay_model::{Nanos, Outcome, Reason};
use rustix::process::Signal;

use crate::place::{Place, Running, until_issuing, wait_until};
use crate::redis_server::Server;
use crate::run_dir::{assert_balanced, assert_sealed, count, manifest, records, text};

/// Starts a command, and returns when its load, whose run directory is `load`, has gone on for a
/// while.
fn loading(place: &Place, words: &str, load: &str) -> Running {
    let running = place.start(&format!("{words} --records 5M --closed 1"));
    let blocks = place.path(load).join("blocks");
    wait_until("it loads", || blocks.is_dir());
    std::thread::sleep(Duration::from_millis(300));
    running
}

/// Returns when the run in `run_dir` is sealed.
pub fn until_finished(place: &Place, run_dir: &str) {
    let manifest = place.path(run_dir).join("run.toml");
    wait_until("the run is sealed", || {
        fs::read_to_string(&manifest).is_ok_and(|text| text.contains("state = \"finished\""))
    });
}

/// Starts a run of half a minute on a server that is frozen while it goes on.
fn frozen(place: &Place, load: &str) -> (Server, Running) {
    let server = Server::start(&[]);
    let url = server.url("");
    place.fine(&format!("load ycsb-c --records 50 -t {url} -q"));
    let running = long_run(place, &format!("--records 50 -t {url} --timeout 25s {load}"));
    server.freeze();
    (server, running)
}

/// Starts a run that goes on for half a minute, and returns when it is issuing.
fn long_run(place: &Place, words: &str) -> Running {
    let running = place.start(&format!("run ycsb-c {words} --duration 30s --run-dir b"));
    until_issuing(place);
    running
}

#[test]
fn an_interrupt_ends_a_run_with_its_result() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let place = Place::new();
        let running = long_run(&place, "-t null:?spin=50us --closed 2 --threads 2");
        running.signal(signal);
        let ran = running.wait().code(130).says("interrupted: waiting for what is in flight");
        ran.shows("INTERRUPTED: the run was stopped before its end").shows("Throughput");
        assert_sealed(&place, "b", State::Interrupted);
        let result = place.json("report b");
        assert_eq!(text(&result, "/run/state"), "interrupted");
        assert_balanced(&result);
    }
}

#[test]
fn an_interrupt_waits_for_answers_in_flight() {
    let place = Place::new();
    let running = long_run(&place, "-t null: --rate 5k/s");
    running.signal(Signal::INT);
    running.wait().code(130);
    let records = records(&place.path("b"));
    assert!(records.iter().all(|record| match record.outcome {
        Outcome::Dropped => record.reason == Reason::RunEnded,
        other => other == Outcome::Done,
    }));
}

#[test]
fn an_interrupt_during_the_load_of_a_bench_or_run_ends_it_all() {
    let place = Place::new();
    let running = loading(&place, "bench ycsb-a --run-dir b", "b/load");
    running.signal(Signal::INT);
    running.wait().code(130).shows("INTERRUPTED");
    assert_sealed(&place, "b/load", State::Interrupted);
    assert_eq!(place.list("b"), ["load"], "the store of this bench alone is gone");
    let running = loading(&place, "run ycsb-a -t memory: --run-dir c", "c/load");
    running.signal(Signal::INT);
    running.wait().code(130).says("the load failed; see `assay report c/load`");
    place.fine("report c/load").shows("INTERRUPTED");
}

#[test]
fn an_interrupt_between_load_and_result_is_handled() {
    let place = Place::new();
    let running = place.start("run ycsb-c -t null: --operations 1500k --closed 1 --run-dir b");
    until_finished(&place, "b");
    // The listener ends right before the analysis.
    std::thread::sleep(Duration::from_millis(20));
    running.signal(Signal::INT);
    let ran = running.wait().code(130);
    assert_eq!(ran.out, "");
    assert_sealed(&place, "b", State::Finished);
}

#[test]
fn an_interrupt_between_the_runs_of_a_group_and_its_result_is_handled() {
    for signal in [Signal::INT, Signal::TERM] {
        let place = Place::new();
        let words = "-t null: --operations 1500k --closed 1 --repeat 2 --run-dir b";
        let running = place.start(&format!("run ycsb-c {words}"));
        until_finished(&place, "b/2");
        // Whether it comes just before or after the run's last act, it ends the command.
        std::thread::sleep(Duration::from_millis(20));
        running.signal(signal);
        running.wait().code(130);
        assert_sealed(&place, "b/2", State::Finished);
    }
}

#[test]
fn a_killed_run_loses_at_most_its_last_second() {
    let place = Place::new();
    let rate = 5000.0;
    let words = format!("-t null: --rate {rate}/s --arrivals constant --threads 2");
    let mut running = long_run(&place, &words);
    std::thread::sleep(Duration::from_secs(4));
    let killed = SystemTime::now();
    running.kill();
    let started = manifest(&place, "b").run.started;
    let started = humantime::parse_rfc3339(&started).unwrap();
    let lasted: Nanos = killed.duration_since(started).unwrap().into();

    place.fine("report b").shows("UNFINISHED: the run goes on, or it was killed");
    place.fine("report b").shows("killed, `assay history repair b` seals what there is");
    let before = records(&place.path("b"));
    let last = before.iter().map(|record| record.ended).max().unwrap();
    let lost = lasted.since(last);
    // Two seconds more than promised, for a machine that does other things too.
    assert!(lost < Nanos::from_secs(3), "{lost} of {lasted} are lost");
    let expected = last.as_secs_f64() * rate;
    let missing = expected - before.len() as f64;
    assert!(missing < rate * 1.2, "{missing} of {expected} before {last} are lost");

    // The write of that moment may be cut: on Linux a kill ends a long one at a page.
    let said = format!("b: {} records sealed, ", before.len());
    let repaired = place.fine("history repair b").shows(&said).out;
    let known = repaired.split(&said).nth(1).and_then(|rest| rest.split(' ').next());
    let known: f64 = known.unwrap().parse().unwrap();
    assert!(known < rate * 1.2, "{known} are known to be missing: {repaired}");
    assert_eq!(records(&place.path("b")), before);
    assert_sealed(&place, "b", State::Interrupted);
    let displayed = place.fine("report b").shows("REPAIRED: the run was killed").out;
    assert!(!displayed.contains("history repair"), "there is nothing left to repair");
    assert_balanced(&place.json("report b"));
}

#[test]
fn a_repair_can_be_repeated() {
    let place = Place::new();
    let mut running = long_run(&place, "-t null: --rate 5k/s");
    running.kill();
    place.fine("history repair b").shows("records sealed");
    let before = place.fine("report b --format json").out;
    let files = place.list("b/history/agent=0");
    place.fine("history repair b").shows("b is whole: there was nothing to repair");
    assert_eq!(place.fine("report b --format json").out, before);
    assert_eq!(place.list("b/history/agent=0"), files);
}

#[test]
fn a_kill_behind_the_last_part_is_reported() {
    let place = Place::new();
    place.fine("run ycsb-a -t null: --operations 100 --run-dir b -q");
    let manifest = place.read("b/run.toml").replace("state = \"finished\"", "state = \"running\"");
    place.write("b/run.toml", &manifest);
    let said = "the run was killed; it is marked as interrupted";
    place.fine("history repair b").shows("0 records sealed, 0 known to be missing").shows(said);
    place.fine("history repair b").shows("b is whole: there was nothing to repair");
}

#[test]
fn a_kill_in_the_load_of_a_bench_leaves_a_run_directory_that_is_found() {
    let place = Place::new();
    place.fine("run ycsb-a -t null: --operations 100 -q");
    let mut running = loading(&place, "bench ycsb-a --run-dir runs/z", "runs/z/load");
    std::thread::sleep(Duration::from_millis(400));
    running.kill();
    place.fine("history repair last").shows("runs/z/load: ").shows("records sealed");
    place.fine("history repair z").shows("runs/z/load is whole");
    place.fine("report runs/z").shows("REPAIRED: the run was killed");
}

#[test]
fn a_repair_keeps_what_is_before_and_behind_a_torn_block() {
    let place = Place::new();
    let mut running = long_run(&place, "-t null: --rate 20k/s --threads 1");
    std::thread::sleep(Duration::from_millis(1500));
    running.kill();
    let whole = records(&place.path("b"));
    let path = place.path("b/blocks").join(&place.list("b/blocks")[0]);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xFF;
    fs::write(&path, bytes).unwrap();
    place.fine("report b").shows("UNFINISHED");
    let ran = place.fine("history repair b");
    assert!(!ran.out.contains(" 0 known to be missing"), "{}", ran.out);
    let kept = records(&place.path("b"));
    assert!(kept.len() < whole.len(), "the damaged block is not believed");
    let (first, last) = (kept.first().unwrap(), kept.last().unwrap());
    assert_eq!((first.index, last.index), (whole[0].index, whole[whole.len() - 1].index));
    assert!(kept.iter().all(|record| whole.contains(record)), "no record is made up");
}

#[test]
fn a_run_that_goes_on_is_not_repaired() {
    let place = Place::new();
    let running = long_run(&place, "-t null: --rate 1k/s");
    let ran = place.assay("history repair b");
    assert_ne!(ran.code, Some(0), "{}", ran.out);
    assert_ne!(ran.code, Some(101), "{}", ran.err);
    assert_eq!(text(&place.json("report b"), "/run/state"), "unfinished");
    place.refuses("run ycsb-c -t null: --operations 5 --run-dir b", "b holds a run already");
    running.signal(Signal::INT);
    running.wait().code(130);
    assert_sealed(&place, "b", State::Interrupted);
}

#[test]
fn a_second_interrupt_does_not_wait_for_responses() {
    let place = Place::new();
    let (_server, running) = frozen(&place, "--closed 8");
    std::thread::sleep(Duration::from_millis(200));
    running.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    running.signal(Signal::INT);
    running.wait().code(130);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_sealed(&place, "b", State::Interrupted);
    let records = records(&place.path("b"));
    assert_eq!(count(&records, Outcome::Unknown), 8, "what was in flight is unknown");
}

#[test]
fn a_second_interrupt_still_accounts_for_arrivals_that_waited() {
    let place = Place::new();
    let load = "--rate 2k/s --arrivals constant --in-flight 16";
    let (_server, running) = frozen(&place, load);
    std::thread::sleep(Duration::from_millis(500));
    running.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(200));
    running.signal(Signal::INT);
    running.wait().code(130);
    let records = records(&place.path("b"));
    assert_eq!(count(&records, Outcome::Unknown), 16, "what was in flight is unknown");
    // About a thousand arrived meanwhile, and none of them was issued.
    let waited = count(&records, Outcome::Dropped);
    assert!(waited > 500, "{waited} of about a thousand");
}
