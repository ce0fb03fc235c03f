//! A rate that cannot be reached is shouted with every arrival accounted for.

use assay_history::State;
use assay_model::{Nanos, Outcome, Reason};

use crate::place::{Place, Ran};
use crate::run_dir::{
    assert_balanced, assert_sealed, counted, figure, manifest, number, records, text,
};

/// A rate that no disk reaches through eight blocking threads.
fn overload(place: &Place, policy: &str) -> Ran {
    place.fine("load ycsb-a --records 200 -t fjall:s -q");
    let words = "run ycsb-a --records 200 -t fjall:s --rate 500k/s --duration 200ms --in-flight 4";
    place.assay(&format!("{words} --timeout 50s --overflow {policy} --run-dir b -q"))
}

#[test]
fn an_overload_is_the_first_finding() {
    let place = Place::new();
    let ran = place.fine("run ycsb-c -t null:?spin=1ms --rate 4k/s --duration 500ms --run-dir b");
    let first = ran.out.lines().next().expect("there is a result").to_owned();
    assert!(first.starts_with("HALLMARK INVALID: "), "{first}");
    let is_shouted = ran.out.lines().any(|line| line.starts_with("OVERLOADED: offered "));
    assert!(is_shouted, "{}", ran.out);
    let result = place.json("report b");
    assert_eq!(text(&result, "/verdict/name"), "overloaded");
    let (offered, done) = ("/overall/rates/offered_per_s", "/overall/rates/done_per_s");
    assert!((3500.0..4500.0).contains(&figure(&result, offered)));
    // A millisecond each on one worker is a thousand per second, or less on a busy machine.
    assert!(figure(&result, done) <= 1001.0, "{}", figure(&result, done));
    assert_balanced(&result);
    for format in ["md", "html"] {
        let displayed = place.fine(&format!("report b --format {format}")).out.to_lowercase();
        assert!(displayed.contains("overloaded"), "{format} does not say it");
    }
    // The wait of arrivals is in the response, but not in the service.
    let median = |name: &str| number(&result, &format!("/overall/hits/{name}/percentiles_ns/p50"));
    // Three of four arrivals are too many: the last of them waits for three times the run.
    assert!(median("response") > 400_000_000, "{}", median("response"));
    assert!(median("lag") > 400_000_000, "{}", median("lag"));
    assert!(median("service") < 100_000_000, "{}", median("service"));
}

#[test]
fn arrivals_that_queue_are_counted_but_none_is_lost() {
    let place = Place::new();
    let ran = overload(&place, "queue").code(0);
    ran.shows("OVERLOADED").shows("arrivals waited because the bound");
    assert_sealed(&place, "b", State::Finished);
    let counters = manifest(&place, "b").counters;
    assert_eq!((counters.done, counters.dropped), (counters.offered, 0));
    assert!(counters.offered > 90_000, "{counters:?}");
}

#[test]
fn arrivals_that_are_dropped_are_in_the_history() {
    let place = Place::new();
    overload(&place, "drop").code(0).shows("OVERLOADED");
    assert_sealed(&place, "b", State::Finished);
    let counters = manifest(&place, "b").counters;
    assert!(counters.dropped > 0 && counters.done > 0, "{counters:?}");
    assert!(counters.offered > 90_000, "{counters:?}");
    for record in records(&place.path("b")) {
        if record.outcome == Outcome::Dropped {
            assert_eq!(record.reason, Reason::InFlightLimit);
            assert_eq!((record.started, record.service()), (record.ended, Nanos::ZERO));
        }
    }
    assert_balanced(&place.json("report b"));
}

#[test]
fn a_run_that_may_not_queue_ends_at_the_bound() {
    let place = Place::new();
    let ran = overload(&place, "abort").code(1);
    ran.shows("FAILED: the bound on processes in flight was reached (--overflow abort)");
    assert_sealed(&place, "b", State::Failed);
    assert_balanced(&place.json("report b"));
}

#[test]
fn a_reached_rate_is_no_finding() {
    let place = Place::new();
    let words = "run ycsb-c -t memory: --records 100 --rate 500/s --duration 1s --run-dir b -q";
    assert!(!place.fine(words).out.contains("OVERLOADED"));
    let result = place.json("report b");
    assert_eq!(counted(&result, "done"), counted(&result, "offered"));
}

#[test]
fn warm_up_operations_are_recorded_but_not_analyzed() {
    let place = Place::new();
    let words = "run ycsb-c -t null: --rate 2k/s --arrivals constant --warm-up 300ms";
    place.fine(&format!("{words} --duration 300ms --run-dir b -q"));
    assert_eq!(records(&place.path("b")).len(), 1200);
    let analyzed = |phases: &str| {
        let result = place.json(&format!("report b {phases}"));
        counted(&result, "offered")
    };
    assert_eq!(
        (analyzed(""), analyzed("--phases measure"), analyzed("--phases all")),
        (600, 600, 1200)
    );
}
