//! A run that leaves the data set as it was loaded.

use assay_history::read_events;

use crate::place::Place;
use crate::run_dir::{manifest, number};

const LOAD: &str = "load ycsb-d -t fjall:db --records 500 -q";
const RUN: &str =
    "run ycsb-d -t fjall:db --records 500 --operations 4k --closed 4 --run-dir run -q";
/// Reads each record with a number below 550, of which the load has written 500.
const LOOK: &str = "run ycsb-c -t fjall:db --records 550 --force --operations 550 --closed 1 \
    -p requestdistribution=sequential --format json -q";

fn misses_after(run: &str) -> (Place, u64) {
    let place = Place::new();
    place.fine(LOAD);
    place.fine(run);
    let misses = number(&place.fine(LOOK).json(), "/overall/counts/misses");
    (place, misses)
}

#[test]
fn what_a_run_inserted_is_there_unless_it_is_undone() {
    let (_place, misses) = misses_after(RUN);
    assert_eq!(misses, 0, "the run has inserted some 200 records");
    let (place, misses) = misses_after(&format!("{RUN} --clean-up-inserts"));
    assert_eq!(misses, 50);
    let events = read_events(&place.path("run")).expect("there are events");
    let last = &events.last().expect("there is one").text;
    let manifest = manifest(&place, "run");
    assert!(last.starts_with("inserts undone, "), "{last}");
    assert_eq!(manifest.notes, [""; 0]);
    // The run after that finds what the first one found.
    place.fine("run ycsb-d -t fjall:db --records 500 --operations 100 -q");
}

#[test]
fn what_cannot_be_undone_is_refused_before_the_run() {
    let place = Place::new();
    let ran = place.assay("run tpcc -t sqlite:db --duration 1s --clean-up-inserts -q").code(2);
    ran.says("--clean-up-inserts: only what a workload of records inserts is known");
    assert!(!place.path("runs").exists(), "no request was sent");
}
