//! The same spec with the same seed issues the same operations.

use crate::place::{Place, Ran};
use crate::run_dir::{IssuedOperation, assert_balanced, intended, requested, text};

const WORKLOADS: [&str; 6] = ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"];

const SIZE: &str = "--records 500 --operations 700 --seed 11";

/// The operations of the run of `words`, with their hash.
fn run(place: &Place, words: &str, run_dir: &str) -> (Vec<IssuedOperation>, String) {
    let result = place.json(&format!("run {words} -t null: --run-dir {run_dir} -q"));
    assert_balanced(&result);
    (requested(&place.path(run_dir)), text(&result, "/run/trace_hash_executed").to_owned())
}

/// The hash that `assay trace gen` prints.
fn hash_of(ran: &Ran) -> String {
    let line = ran.out.lines().find_map(|line| line.strip_prefix("hash "));
    line.expect("a hash is printed").trim().to_owned()
}

#[test]
fn workers_share_the_same_closed_loop() {
    let place = Place::new();
    for spec in WORKLOADS {
        let words = format!("{spec} {SIZE} --closed 7");
        let alone = run(&place, &format!("{words} --threads 1"), &format!("{spec}-1"));
        for workers in [1, 2, 7] {
            let words = format!("{words} --threads {workers}");
            let again = run(&place, &words, &format!("{spec}-{workers}-again"));
            assert!(again == alone, "{spec} on {workers} workers issues something else");
        }
    }
}

#[test]
fn workers_share_the_same_open_loop_with_its_arrivals() {
    let place = Place::new();
    for spec in WORKLOADS {
        for arrivals in ["poisson", "constant"] {
            let words = format!("{spec} {SIZE} --rate 20k/s --arrivals {arrivals}");
            let [alone, two, seven] = [1, 2, 7].map(|workers| {
                let run_dir = format!("{spec}-{arrivals}-{workers}");
                let found = run(&place, &format!("{words} --threads {workers}"), &run_dir);
                (found, intended(&place.path(&run_dir)))
            });
            assert!(alone == two, "{spec}, {arrivals}: two workers issue something else");
            assert!(alone == seven, "{spec}, {arrivals}: seven workers issue something else");
        }
    }
}

#[test]
fn open_loop_issues_the_same_operations_as_closed_loop() {
    let place = Place::new();
    for spec in WORKLOADS {
        let open = run(&place, &format!("{spec} {SIZE} --rate 20k/s"), &format!("{spec}-open"));
        let closed = run(&place, &format!("{spec} {SIZE}"), &format!("{spec}-closed"));
        assert!(open == closed, "{spec}");
    }
}

#[test]
fn a_run_has_the_hash_of_the_trace_that_is_generated_for_it() {
    let place = Place::new();
    for spec in WORKLOADS {
        let trace = place.fine(&format!("trace gen {spec} {SIZE} -o {spec}.parquet"));
        let direct = run(&place, &format!("{spec} {SIZE} --closed 3 --threads 3"), spec);
        assert_eq!(hash_of(&trace), direct.1, "{spec}");
        let replayed = format!("{spec}.parquet --closed 2 --threads 2");
        let replayed = run(&place, &replayed, &format!("{spec}-replayed"));
        assert!(replayed == direct, "{spec}: the trace issues something else");
        let open = format!("{spec}.parquet --rate 20k/s --threads 3");
        assert!(run(&place, &open, &format!("{spec}-open")) == direct, "{spec}: in open loop");
        let reported = place.fine(&format!("trace info {spec}.parquet --verify"));
        reported.shows(&format!("verified {}", direct.1));
    }
}

#[test]
fn a_trace_goes_through_csv_unchanged() {
    let place = Place::new();
    let made = place.fine(&format!("trace gen ycsb-f {SIZE} -o t.parquet"));
    place.fine("trace export t.parquet -o t.csv");
    place.fine("trace import t.csv -o back.parquet");
    place.fine("trace info back.parquet --verify").shows(&hash_of(&made));
}

#[test]
fn a_trace_of_the_load_has_the_hash_of_the_load() {
    let place = Place::new();
    let made = place.fine("trace gen ycsb-a --load --records 300 --seed 4 -o l.parquet");
    place.fine("load ycsb-a --records 300 --seed 4 -t null: --run-dir l -q --closed 5 --threads 2");
    assert_eq!(text(&place.json("report l"), "/run/trace_hash_executed"), hash_of(&made));
}

#[test]
fn the_trace_of_a_load_is_loaded_and_not_run() {
    let place = Place::new();
    let spec = "[dataset]\nrecords = 300\nfield_length = { distribution = \"uniform\", \
                min = 1, max = 90 }\n[operations]\nread = 1\n";
    place.write("s.toml", spec);
    let made = place.fine("trace gen s.toml --load --seed 4 -o l.parquet");
    place.fine("load l.parquet -t fjall:store --run-dir l -q");
    assert_eq!(text(&place.json("report l"), "/run/trace_hash_executed"), hash_of(&made));
    let ran = place.json("run s.toml -t fjall:store --operations 100 -q");
    assert_eq!(ran["overall"]["counts"]["misses"], 0);
    for words in ["run l.parquet -t fjall:store", "bench l.parquet -t null:"] {
        place.refuses(words, "l is the trace of a load: use `assay load`");
    }
    place.fine("trace gen s.toml --load --operations 10 --seed 4 -o part.parquet");
    let part = "part writes 10 of the 300 records that its spec says";
    place.refuses("load part.parquet -t fjall:other", part);
}

#[test]
fn parts_of_a_trace_hold_all_of_it_together() {
    let place = Place::new();
    place.fine(&format!("trace gen ycsb-f {SIZE} -o t.parquet"));
    place.fine("trace split t.parquet --parts 3");
    let lines = |trace: &str| -> Vec<String> {
        let exported = place.fine(&format!("trace export {trace}")).out;
        let is_numbered = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit());
        exported.lines().filter(is_numbered).map(str::to_owned).collect()
    };
    let parts = ["t.part-0.trace", "t.part-1.trace", "t.part-2.trace"];
    let mut together: Vec<String> = parts.into_iter().flat_map(lines).collect();
    let mut whole = lines("t.parquet");
    assert!(whole.len() >= 700, "{}", whole.len());
    whole.sort();
    together.sort();
    assert!(together == whole);
    let part = "part-1.trace is part 1 of 3, the share of one machine of several";
    place.refuses("run t.part-1.trace -t null:", part);
}

#[test]
fn another_seed_issues_other_operations() {
    let place = Place::new();
    let words = "ycsb-a --records 500 --operations 700";
    let first = run(&place, &format!("{words} --seed 1"), "first");
    let second = run(&place, &format!("{words} --seed 2"), "second");
    assert!(first.0 != second.0 && first.1 != second.1);
}

#[test]
fn a_persistent_store_gets_the_same_operations_as_one_in_memory() {
    let place = Place::new();
    let words = format!("{SIZE} --closed 4 --threads 2 --format json -q");
    for spec in WORKLOADS {
        let nothing = run(&place, &format!("{spec} {SIZE}"), &format!("{spec}-null"));
        place.fine(&format!("run {spec} {words} -t memory: --run-dir {spec}-memory"));
        assert!(requested(&place.path(&format!("{spec}-memory"))) == nothing.0, "{spec}");
    }
}
