//! Tests of actions on a lab under load.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use assay_history::State;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, Ran, Running, wait_until};
use crate::run_dir::{assert_sealed, manifest};

/// The supervisor's response to an action.
#[derive(Clone, Copy)]
enum Change {
    Works,
    Fails,
    MendsNothing,
    NeverEnds,
}

/// A lab of one node, with a minimal supervisor and store.
struct Lab {
    place: Place,
    changes: Arc<AtomicUsize>,
    _lock: File,
}

impl Lab {
    fn that(change: Change) -> Lab {
        let place = Place::new();
        place.write("assay.toml", "lab-dir = \"kept\"\n");
        fs::create_dir_all(place.path("kept/etcd")).expect("the directory is ours");
        let lock = File::create(place.path("kept/etcd/assay-lab.lock"));
        let lock = lock.expect("the directory is ours");
        lock.lock().expect("nobody else has it");
        place.write("kept/etcd/lab.json", record().to_string());
        let listener = UnixListener::bind(place.path("kept/etcd/supervisor.sock"));
        let listener = listener.expect("the directory is ours");
        let changes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&changes);
        // It waits for the next one until the tests end.
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                thread::spawn(move || answer(&socket, change, &counted));
            }
        });
        Lab { place, changes, _lock: lock }
    }

    fn start(&self, words: &str, at: &str) -> Running {
        self.place.start_at(&format!("{words} --lab etcd"), at)
    }

    fn ran(&self, words: &str, at: &str) -> Ran {
        self.start(words, at).wait()
    }

    /// Returns when the supervisor has received an action.
    fn wait_for_change(&self) {
        wait_until("the lab is to change", || self.changes.load(Ordering::SeqCst) > 0);
    }
}

fn record() -> Value {
    let node = json!({ "number": 1, "address": "127.0.0.1", "folder": "/", "servers": [] });
    json!({
        "store": "etcd", "version": "3", "url": "null:?spin=50us", "network": "loopback",
        "holder": 1, "nodes": [node],
    })
}

fn answer(socket: &UnixStream, change: Change, changes: &AtomicUsize) {
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line).expect("a client sends a line");
    let requested: Value = serde_json::from_str(&line).expect("it is JSON");
    let done = json!({ "reply": "done", "status": {
        "name": "etcd", "supervisor": 1, "doing": null, "record": record(), "states": ["up"],
        "ready_ms": 1, "owner": null,
    } });
    let mut socket = socket;
    let mut say = |reply: &Value| writeln!(socket, "{reply}").expect("somebody hears it");
    if requested["ask"] == "status" {
        return say(&done);
    }
    changes.fetch_add(1, Ordering::SeqCst);
    say(&json!({ "reply": "tell", "text": "node 2 joins" }));
    match change {
        Change::Works => say(&done),
        Change::MendsNothing if requested["fault"] != "restart" => say(&done),
        Change::Fails | Change::MendsNothing => {
            say(&json!({ "reply": "failed", "text": "no room for node 2", "exit": 4 }));
        }
        Change::NeverEnds => thread::sleep(Duration::from_secs(600)),
    }
}

#[test]
fn what_is_done_is_well() {
    let lab = Lab::that(Change::Works);
    let words = "run ycsb-c --closed 1 --duration 1s --run-dir b";
    let ran = lab.ran(words, "100ms: scale to 2; 200ms: kill node 2").code(0);
    assert!(!ran.err.contains("lab: "), "{}", ran.err);
    assert_eq!(lab.changes.load(Ordering::SeqCst), 2);
}

#[test]
fn an_action_that_failed_is_reported_by_the_exit_code() {
    for verb in ["run", "bench"] {
        let lab = Lab::that(Change::Fails);
        let words = format!("{verb} ycsb-c --records 9 --closed 1 --duration 1s --run-dir b");
        let ran = lab.ran(&words, "100ms: scale to 2").code(7).shows("Throughput");
        ran.says("error: lab: scale to 2 failed after").says("no room for node 2");
        assert_sealed(&lab.place, "b", State::Finished);
        let notes = manifest(&lab.place, "b").notes;
        assert!(notes.iter().any(|note| note.contains("no room for node 2")), "{notes:?}");
    }
}

#[test]
fn an_action_that_came_too_late_is_reported_by_the_exit_code() {
    let lab = Lab::that(Change::Works);
    let words = "run ycsb-c --closed 1 --operations 10";
    let ran = lab.ran(words, "10m: kill node 1").code(7);
    ran.says("error: lab: kill node 1 was not done, the run was over before");
}

#[test]
fn a_group_ends_with_the_run_whose_action_failed() {
    let lab = Lab::that(Change::Fails);
    let words = "run ycsb-c --closed 1 --duration 300ms --repeat 2";
    let ran = lab.ran(words, "100ms: scale to 2").code(7);
    ran.says("in run 1 of 2 not all was done to the store that was to be");
}

#[test]
fn an_interrupt_does_not_wait_for_a_lab_that_takes_long() {
    let lab = Lab::that(Change::NeverEnds);
    let running = lab.start("run ycsb-c --closed 1 --duration 50s --run-dir b", "1ms: scale to 2");
    lab.wait_for_change();
    let begun = Instant::now();
    running.signal(Signal::INT);
    let ran = running.wait().code(130).says("warning: lab: scale to 2 goes on,");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    ran.says("nobody waits for it any more").shows("INTERRUPTED");
    assert_sealed(&lab.place, "b", State::Interrupted);
}

#[test]
fn an_interrupt_while_a_run_that_is_over_waits_for_its_lab_ends_it() {
    let lab = Lab::that(Change::NeverEnds);
    let words = "run ycsb-c --closed 1 --duration 100ms --run-dir b";
    let running = lab.start(words, "1ms: scale to 2");
    lab.wait_for_change();
    // Its tenth of a second is over by then, on a busy machine too.
    thread::sleep(Duration::from_secs(4));
    running.signal(Signal::INT);
    running.wait().code(130).says("warning: lab: scale to 2 goes on,").shows("Throughput");
    assert_sealed(&lab.place, "b", State::Finished);
}

#[test]
fn what_a_nemesis_cannot_mend_is_reported_by_the_exit_code() {
    let lab = Lab::that(Change::MendsNothing);
    let words = "run ycsb-c --closed 1 --nemesis kill --every 1s";
    let run = |more: &str| lab.place.start(&format!("{words} {more} --lab etcd"));
    let ran = run("--duration 1s --run-dir b").wait().code(7).says("--at '");
    ran.says("error: lab: restart failed after").says("no room for node 2");
    let interrupted = run("--duration 50s --run-dir c");
    wait_until("a node was killed", || lab.changes.load(Ordering::SeqCst) > 5);
    interrupted.signal(Signal::INT);
    interrupted.wait().code(7).says("error: lab: restart failed after");
}
