//! Verdicts on data centres of AntidoteDB's stand-in: with and without the sessions' clocks.

use std::time::Duration;

use serde_json::Value;

use crate::antidote_stand_in::{Config, StandIn};
use crate::place::Place;
use crate::run_dir::finding;

fn start(data_centres: usize, delay: u64) -> StandIn {
    let delay = Duration::from_millis(delay);
    let config = Config { data_centres, delay, ..Config::default() };
    StandIn::start(&config).expect("this machine has a loopback")
}

/// Runs `words` with a seed, then judges the run.
fn judge(place: &Place, words: &str) -> Value {
    place.clear("b");
    place.fine(&format!("{words} --seed 7 --run-dir b -q"));
    place.json("check b")
}

#[test]
fn sessions_keep_their_guarantees_with_their_clocks_alone() {
    let stand_in = start(2, 30);
    let place = Place::new();
    for (session, expected) in [("clock", "none-found"), ("none", "violated")] {
        let url = format!("{}?host=any&session={session}&connections=4", stand_in.url());
        let words = "--set dataset.fields=1 --records 20 --operations 2000 --closed 4";
        place.fine(&format!("load ycsb-a -t {url} --set dataset.fields=1 --records 20 --fresh -q"));
        std::thread::sleep(Duration::from_millis(100));
        let result = judge(&place, &format!("run ycsb-a -t {url} {words}"));
        for quality in ["monotonic-reads", "read-your-writes"] {
            let verdict = &finding(&result, quality)["verdict"];
            assert_eq!(verdict, expected, "{session}: {quality}: {result}");
        }
        // Nobody else's clock is passed on: other sessions read what is old.
        assert_eq!(finding(&result, "linearizable")["verdict"], "violated", "{session}");
    }
}

#[test]
fn causes_are_seen_before_their_effects_with_the_clock_alone() {
    let stand_in = start(2, 30);
    let place = Place::new();
    for (session, expected) in [("clock", "none-found"), ("none", "violated")] {
        let url = format!("{}?host=any&session={session}", stand_in.url());
        let words = "--operations 3000 --set dataset.keys=1000 --replace";
        let result = judge(&place, &format!("bench causal-chain -t {url} {words}"));
        let verdict = &finding(&result, "causal")["verdict"];
        assert_eq!(verdict, expected, "{session}: {result}");
    }
}

#[test]
fn one_data_centre_is_snapshot_isolated_and_two_lose_updates() {
    let stand_in = start(1, 0);
    let place = Place::new();
    let words = "--operations 4000 --set dataset.keys=200 --replace";
    let url = stand_in.url();
    for workload in ["list-append", "write-skew"] {
        let result = judge(&place, &format!("bench {workload} -t {url} {words}"));
        let finding = finding(&result, "snapshot-isolation");
        assert_eq!(finding["verdict"], "none-found", "{workload}: {result}");
        assert!(finding["power"]["opportunities"].as_u64() > Some(100), "{workload}: {finding}");
    }
    let result = judge(&place, &format!("bench write-skew -t {url} {words}"));
    assert_eq!(finding(&result, "serializable")["verdict"], "violated", "{result}");
    let two = start(2, 20);
    let result = judge(&place, &format!("bench list-append -t {} {words}", two.url()));
    assert_eq!(finding(&result, "snapshot-isolation")["verdict"], "violated", "{result}");
}

#[test]
fn tables_that_are_there_are_not_replaced_unasked() {
    let stand_in = start(1, 0);
    let place = Place::new();
    let words = format!("bench list-append -t {} --operations 50 --seed 7 -q", stand_in.url());
    place.fine(&format!("{words} --run-dir a"));
    let refused = "tables of a mapping were made there before";
    place.refuses(&format!("{words} --run-dir b"), refused);
    place.fine(&format!("{words} --run-dir c --replace"));
    place.fine("report c").shows("not AntidoteDB");
}

#[test]
fn prescriptions_are_processed_twice_and_creations_unseen_between_data_centres() {
    // Lists need scans, which AntidoteDB has not: what is about prescriptions alone is left.
    let of_lists = ["get_pharmacy_prescriptions", "get_staff_prescriptions", "get_patient"];
    let without: String = of_lists
        .iter()
        .chain(&["get_processed_prescriptions"])
        .map(|name| format!(" --set operations.{name}=0"))
        .collect();
    let sizes = "--set dataset.population=minimal --set dataset.prescriptions=500";
    let words = format!("--set checks.share=50% --operations 6000 --closed 8{without}");
    for (data_centres, delay, quality, expected) in [
        (1, 0, "processed-once", "none-found"),
        (1, 0, "causes-seen", "none-found"),
        // What is processed has arrived, but not that it was processed elsewhere.
        (2, 30, "processed-once", "violated"),
        // What was created long before it is read has not arrived, on a slow machine either.
        (2, 5000, "causes-seen", "violated"),
    ] {
        let stand_in = start(data_centres, delay);
        let place = Place::new();
        let url = format!("{}?host=any&session=none", stand_in.url());
        let result = judge(&place, &format!("bench fmke -t {url} {sizes} {words} --replace"));
        assert_eq!(finding(&result, quality)["verdict"], expected, "{quality}: {result}");
    }
}
