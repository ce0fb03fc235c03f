//! The same spec with the same seed asks the same.

use crate::bundle::{Asked, asked, assert_balanced, intended, text};
use crate::place::{Place, Ran};

const WORKLOADS: [&str; 6] = ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"];

const SIZE: &str = "--records 500 --operations 700 --seed 11";

/// What the run of `words` asked with the hash of it.
fn run(place: &Place, words: &str, bundle: &str) -> (Vec<Asked>, String) {
    let words = format!("run {words} -t null: --bundle {bundle} --format json -q");
    let result = place.fine(&words).json();
    assert_balanced(&result);
    (asked(&place.path(bundle)), text(&result, "/run/trace_hash_executed").to_owned())
}

/// The hash that `assay trace gen` prints.
fn hash_of(ran: &Ran) -> String {
    let line = ran.out.lines().find_map(|line| line.strip_prefix("hash "));
    line.expect("a hash is printed").trim().to_owned()
}

#[test]
fn lanes_share_the_same_closed_loop() {
    let place = Place::new();
    for spec in WORKLOADS {
        let words = format!("{spec} {SIZE} --closed 7");
        let alone = run(&place, &format!("{words} --lanes 1"), &format!("{spec}-1"));
        for lanes in [1, 2, 7] {
            let words = format!("{words} --lanes {lanes}");
            let again = run(&place, &words, &format!("{spec}-{lanes}-again"));
            assert!(again == alone, "{spec} on {lanes} lanes asks something else");
        }
    }
}

#[test]
fn lanes_share_the_same_open_loop_with_its_arrivals() {
    let place = Place::new();
    for spec in WORKLOADS {
        for arrivals in ["poisson", "constant"] {
            let words = format!("{spec} {SIZE} --rate 20k/s --arrivals {arrivals}");
            let [alone, two, seven] = [1, 2, 7].map(|lanes| {
                let bundle = format!("{spec}-{arrivals}-{lanes}");
                let found = run(&place, &format!("{words} --lanes {lanes}"), &bundle);
                (found, intended(&place.path(&bundle)))
            });
            assert!(alone == two, "{spec}, {arrivals}: two lanes ask something else");
            assert!(alone == seven, "{spec}, {arrivals}: seven lanes ask something else");
        }
    }
}

#[test]
fn open_loop_asks_the_same_as_closed_loop() {
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
        let direct = run(&place, &format!("{spec} {SIZE} --closed 3 --lanes 3"), spec);
        assert_eq!(hash_of(&trace), direct.1, "{spec}");
        let replayed = format!("{spec}.parquet --closed 2 --lanes 2");
        let replayed = run(&place, &replayed, &format!("{spec}-replayed"));
        assert!(replayed == direct, "{spec}: the trace asks something else");
        let open = format!("{spec}.parquet --rate 20k/s --lanes 3");
        assert!(run(&place, &open, &format!("{spec}-open")) == direct, "{spec}: in open loop");
        let told = place.fine(&format!("trace info {spec}.parquet --verify"));
        told.shows(&format!("verified {}", direct.1));
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
    place.fine("load ycsb-a --records 300 --seed 4 -t null: --bundle l -q --closed 5 --lanes 2");
    let loaded = place.fine("report l --format json").json();
    assert_eq!(text(&loaded, "/run/trace_hash_executed"), hash_of(&made));
}

#[test]
fn the_trace_of_a_load_is_loaded_and_not_run() {
    let place = Place::new();
    let spec = "[dataset]\nrecords = 300\nfield_length = { distribution = \"uniform\", \
                min = 1, max = 90 }\n[operations]\nread = 1\n";
    place.write("s.toml", spec);
    let made = place.fine("trace gen s.toml --load --seed 4 -o l.parquet");
    place.fine("load l.parquet -t fjall:store --bundle l -q");
    let loaded = place.fine("report l --format json").json();
    assert_eq!(text(&loaded, "/run/trace_hash_executed"), hash_of(&made));
    let ran = place.fine("run s.toml -t fjall:store --operations 100 -q --format json").json();
    assert_eq!(ran["overall"]["counts"]["misses"], 0);
    for words in ["run l.parquet -t fjall:store", "bench l.parquet -t null:"] {
        place.assay(words).code(2).says("l is the trace of a load, which `assay load` asks");
    }
    place.fine("trace gen s.toml --load --operations 10 --seed 4 -o part.parquet");
    let part = place.assay("load part.parquet -t fjall:other").code(2);
    part.says("part writes 10 of the 300 records that its spec says");
}

#[test]
fn parts_of_a_trace_hold_all_of_it_together() {
    let place = Place::new();
    place.fine(&format!("trace gen ycsb-f {SIZE} -o t.parquet"));
    place.fine("trace split t.parquet --parts 3");
    let lines = |trace: &str| -> Vec<String> {
        let exported = place.fine(&format!("trace export {trace}")).out;
        exported
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
            .map(str::to_owned)
            .collect()
    };
    let parts = ["t.part-0.trace", "t.part-1.trace", "t.part-2.trace"];
    let mut together: Vec<String> = parts.into_iter().flat_map(lines).collect();
    let mut whole = lines("t.parquet");
    assert!(whole.len() >= 700, "{}", whole.len());
    whole.sort();
    together.sort();
    assert!(together == whole);
    let ran = place.assay("run t.part-1.trace -t null:").code(2);
    ran.says("part-1.trace is part 1 of 3, the share of one machine of several");
}

#[test]
fn another_seed_asks_something_else() {
    let place = Place::new();
    let words = "ycsb-a --records 500 --operations 700";
    let first = run(&place, &format!("{words} --seed 1"), "first");
    let second = run(&place, &format!("{words} --seed 2"), "second");
    assert!(first.0 != second.0 && first.1 != second.1);
}

#[test]
fn a_store_that_keeps_data_is_asked_the_same_as_one_that_does_not() {
    let place = Place::new();
    let words = format!("{SIZE} --closed 4 --lanes 2 --format json -q");
    for spec in WORKLOADS {
        let nothing = run(&place, &format!("{spec} {SIZE}"), &format!("{spec}-null"));
        place.fine(&format!("run {spec} {words} -t memory: --bundle {spec}-memory"));
        assert!(asked(&place.path(&format!("{spec}-memory"))) == nothing.0, "{spec}");
    }
}
