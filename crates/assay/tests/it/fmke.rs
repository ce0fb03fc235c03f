//! FMKe: the workload, its judgements, its server.

use serde_json::Value;

use crate::check::violated;
use crate::place::{Place, until_issuing};
use crate::run_dir::finding;

const LAYOUTS: [&str; 3] = ["normalised", "nested", "nested-packed"];

fn bench(place: &Place, store: &str, more: &str) -> Value {
    let words = format!(
        "bench fmke -t {store} --set dataset.population=small --operations 3000 --closed 8 \
         --seed 7 --run-dir b -q --final-wait 100ms {more}"
    );
    place.fine(&words);
    place.json("check b")
}

fn opportunities(result: &Value, quality: &str) -> u64 {
    finding(result, quality)["power"]["opportunities"].as_u64().unwrap_or(0)
}

#[test]
fn every_layout_runs_on_every_class_of_store_and_loses_nothing() {
    for store in ["memory:", "sqlite:s.db", "fjall:db"] {
        for layout in LAYOUTS {
            let place = Place::new();
            let words = format!("--set layout={layout}");
            if layout == "nested-packed" {
                // Packed lists are texts that nobody reads, so nothing is judged.
                place.fine(&format!(
                    "bench fmke -t {store} --set dataset.population=minimal --operations 1000 \
                     {words} --closed 4 --run-dir b -q"
                ));
                continue;
            }
            let result = bench(&place, store, &words);
            let mut found = violated(&result);
            // Without transactions a reader may come between two requests of an operation.
            found.retain(|quality| {
                store == "sqlite:s.db" || !["whole-creations", "equal-copies"].contains(quality)
            });
            assert_eq!(found, [""; 0], "{store} {layout}: {result}");
            // Each of 240 creations is in three lists.
            assert_eq!(opportunities(&result, "no-lost-writes"), 720, "{store} {layout}");
        }
    }
}

#[test]
fn what_a_store_loses_or_shows_too_early_is_found() {
    for (fault, quality) in [
        ("lost=3%", "no-lost-writes"),
        ("lost=3%", "causes-seen"),
        ("replication=200ms&read_from=any", "causes-seen"),
    ] {
        let place = Place::new();
        let result = bench(&place, &format!("sim:?latency=1ms&{fault}"), "");
        assert!(violated(&result).contains(&quality), "{fault}: {result}");
    }
}

#[test]
fn operations_go_through_a_server_and_the_report_says_what_that_costs() {
    for layout in LAYOUTS {
        let place = Place::new();
        let words = format!(
            "bench fmke -t sqlite:s.db --via http --set layout={layout} \
             --set dataset.population=minimal --operations 600 --closed 4 --run-dir b -q"
        );
        place.fine(&words).shows("get-pharmacy-prescriptions").shows("hop");
        if layout != "nested-packed" {
            let verdicts = place.json("check b");
            assert!(opportunities(&verdicts, "causes-seen") > 0, "{verdicts}");
        }
        let result = place.json("report b");
        assert_eq!(result["overall"]["counts"]["done"], 600, "{result}");
    }
}

#[test]
fn a_server_serves_until_its_time_is_over_and_refuses_what_it_cannot_use() {
    let place = Place::new();
    place.fine("fmke serve -t memory: --listen 127.0.0.1:0 --for 200ms").shows("http://127.0.0.1:");
    for (words, said) in [
        ("memory: --listen nowhere", "write 127.0.0.1:9090"),
        ("memory: --layout flat", "nested-packed"),
        ("nothing:", "there is no store"),
    ] {
        place.refuses(&format!("fmke serve -t {words}"), said);
    }
    place.refuses("bench ycsb-a -t memory: --via http", "--via");
}

#[test]
fn a_load_that_was_killed_goes_on_with_what_is_missing() {
    let sizes = "--set dataset.population=minimal --set dataset.patients=60000";
    // One store that makes a transaction of each row with its entries, and one that does not.
    for store in ["sqlite:s.db", "fjall:db"] {
        let place = Place::new();
        place.refuses(&format!("load fmke -t {store} {sizes} --resume -q"), "no load");
        let line = format!("load fmke -t {store} {sizes} --seed 5 --run-dir b -q");
        let mut interrupted = place.start(&line);
        until_issuing(&place);
        interrupted.kill();
        let run = format!("run fmke -t {store} {sizes} --operations 2000 --closed 4 -q");
        place.refuses(&run, "load");
        let other = format!("load fmke -t {store} {sizes} --resume --seed 6 -q");
        place.refuses(&other, "--seed 5");
        place.fine(&format!("load fmke -t {store} {sizes} --resume --run-dir again -q"));
        let loaded = place.json("report again");
        // Each row counts as written, whichever load wrote it.
        assert_eq!(loaded["overall"]["counts"]["hits"], 61_097, "{loaded}");
        place.fine(&format!("{run} --run-dir c"));
        let done = format!("load fmke -t {store} {sizes} --resume -q");
        place.refuses(&done, "is loaded");
    }
}

#[test]
fn reports_say_which_fmke_ran() {
    for (words, expected) in [
        ("", ["FMKe compat = corrected", "FMKe layout = normalised"]),
        ("--set compat=repo --set layout=nested", ["FMKe compat = repo", "FMKe layout = nested"]),
        ("--set compat=paper", ["FMKe compat = paper", "FMKe layout = normalised"]),
    ] {
        let place = Place::new();
        let output = place.fine(&format!(
            "bench fmke -t memory: --set dataset.population=minimal --operations 1000 -q {words}"
        ));
        for line in expected {
            assert!(output.out.contains(line), "{words}: no {line} in\n{}", output.out);
        }
    }
}

#[test]
fn a_fresh_load_drops_the_rows_of_another_layout() {
    let place = Place::new();
    let sizes = "--set dataset.population=minimal";
    for store in ["sqlite:s.db", "fjall:db"] {
        for layout in ["normalised", "nested", "nested-packed", "normalised"] {
            let words = format!("-t {store} {sizes} --set layout={layout} -q");
            place.fine(&format!("load fmke --fresh {words}"));
            place.fine(&format!("run fmke --operations 200 --final-wait 10ms {words}"));
        }
    }
    place.refuses(&format!("load fmke -t sqlite:s.db {sizes} -q"), "--replace");
}
