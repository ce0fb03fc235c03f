//! A disk that takes no more ends a run with what it has.

use assay_history::State;

use crate::place::Place;
use crate::run_dir::{assert_balanced, counted, manifest, records};

#[test]
fn a_file_that_may_not_grow_ends_the_run() {
    let place = Place::new();
    // Its signal, which would end the process, is an error here.
    let words = "run ycsb-c -t null: --closed 1 --duration 20s --run-dir b -q";
    let ran = place.shell(&format!("ulimit -f 4096; exec assay {words}"));
    let ran = ran.code(1).shows("FAILED: cannot write b/blocks/lane=0.blk: File too large");
    ran.shows("records are kept");
    assert_partial(&place);
}

#[test]
fn a_full_file_system_ends_the_run() {
    let place = Place::new();
    // A file system of this process tree alone; gone with it, so the run directory is copied out.
    let mount = "mkdir small && mount -t tmpfs -o size=3m none small";
    let words = "run ycsb-c -t null: --closed 1 --duration 20s --run-dir small/b -q";
    let line = format!("{mount} && assay {words}; code=$?; cp -r small/b b; exit $code");
    let ran = place.shell_in("--mount", &line);
    assert!(place.path("b").is_dir(), "a mount of one's own is needed here: {}", ran.err);
    let ran = ran.code(1).says("the disk is full").says("assay history repair small/b");
    ran.shows("FAILED: cannot write small/b/blocks/lane=0.blk: No space left on device");
    place.fine("report b").shows("the history is not sealed: `assay history repair b` does that");
    assert_partial(&place);
}

#[test]
fn an_input_set_that_does_not_fit_leaves_no_file() {
    let place = Place::new();
    place.fine("trace gen consbench --operations 2000 --seed 1 -o q.trace");
    let export = |directory: &str| {
        let words = format!("trace export benchfoundry q.trace -o {directory}");
        let ran = place.shell(&format!("ulimit -f 4; exec assay {words}"));
        ran.code(1).says(&format!("{directory}/")).says("File too large");
    };
    export("new");
    assert!(!place.path("new").exists());
    std::fs::create_dir(place.path("empty")).expect("it is not there");
    export("empty");
    assert!(place.list("empty").is_empty(), "{:?}", place.list("empty"));
    place.fine("trace export benchfoundry q.trace -o empty").shows("lists of parameters");
}

/// Run directory `b` says that it failed, can be repaired where there is room, then read.
#[track_caller]
fn assert_partial(place: &Place) {
    let failed = manifest(place, "b");
    assert_eq!(failed.state, State::Failed);
    let unsealed = records(&place.path("b"));
    let kept = unsealed.len() as u64;
    assert!(kept > 10_000, "{kept} records are kept");
    assert_eq!(failed.history.records, kept);
    assert_eq!(failed.counters.offered, kept + failed.history.lost);
    place.fine("history repair b");
    assert!(records(&place.path("b")) == unsealed);
    let result = place.json("report b");
    assert_balanced(&result);
    assert_eq!(counted(&result, "done"), kept);
}
