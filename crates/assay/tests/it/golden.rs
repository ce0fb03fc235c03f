//! The sixty-second path with every form of its result.

use std::collections::BTreeSet;

use assay_history::State;
use serde_json::Value;

use crate::place::Place;
use crate::run_dir::{assert_balanced, assert_sealed, counted, number, text};

fn bench() -> Place {
    let place = Place::new();
    place.fine("bench ycsb-a --records 500 --duration 300ms --run-dir b").shows("ycsb-a on fjall");
    place
}

#[test]
fn a_bench_leaves_two_whole_run_directories_but_no_store() {
    let place = bench();
    assert_sealed(&place, "b", State::Finished);
    assert_sealed(&place, "b/load", State::Finished);
    let beside = ["events.parquet", "hallmark.json", "history", "load"];
    assert_eq!(place.list("b")[..4], beside);
    let rest = ["observations.parquet", "report.html", "run.toml", "tables.sum"];
    assert_eq!(place.list("b")[4..], rest);
    let load = ["events.parquet", "history", "observations.parquet", "run.toml", "tables.sum"];
    assert_eq!(place.list("b/load"), load);
    assert_eq!(place.list("b/load/history"), ["agent=0"]);
    // On request it keeps its store.
    place.fine("bench ycsb-c --records 50 --operations 10 --run-dir c --keep -q");
    assert!(place.path("c/store").is_dir());
    place.fine("run ycsb-c --records 50 --operations 10 -t fjall:c/store -q");
}

#[test]
fn progress_is_on_standard_error_where_the_run_directory_is_named() {
    let place = Place::new();
    let ran = place.fine("bench ycsb-c --records 50 --operations 10").says("kept in runs/");
    let page = ran.err.lines().find_map(|line| line.strip_prefix("page: ")).expect("a page");
    let page = place.read(page);
    assert!(page.starts_with("<!doctype html>") && page.contains("ycsb-c on fjall"));
    assert!(!ran.out.contains("kept in runs/"));
    assert_eq!(place.fine("bench ycsb-c --records 50 --operations 10 -q").err, "");
}

#[test]
fn a_result_follows_its_own_schema() {
    let place = bench();
    let result = place.json("report b");
    let schema = place.fine("schema result").json();
    assert_fits(&result, &schema, "result");
    assert_balanced(&result);
    assert_eq!(text(&result, "/run/state"), "finished");
    let load = place.json("report b/load");
    assert_fits(&load, &schema, "result");
    assert_eq!(number(&load, "/kinds/insert/counts/done"), 500);
}

#[test]
fn a_report_takes_every_form() {
    let place = bench();
    for (format, sign) in [
        ("text", "Throughput"),
        ("json", "\"schema\": \"assay/result/v2\""),
        ("ndjson", "{\""),
        ("csv", "kind,metric,unit,value"),
        ("md", "| "),
        ("ycsb", "[OVERALL], RunTime(ms), "),
        ("hdr", "#[Histogram log format version 1.3]"),
        ("html", "<!doctype html>"),
    ] {
        let ran = place.fine(&format!("report b --format {format}"));
        assert!(ran.out.contains(sign), "{format} without {sign}:\n{:.300}", ran.out);
        assert_eq!(ran.err, "", "{format}");
    }
    let ndjson = place.fine("report b --format ndjson").out;
    for line in ndjson.lines() {
        serde_json::from_str::<Value>(line).expect("every line is JSON");
    }
}

#[test]
fn the_ending_of_a_file_names_its_form() {
    let place = bench();
    assert_eq!(place.fine("report b -o r.html").out, "");
    let page = place.read("r.html");
    assert!(page.contains("<!doctype html>") && page.contains("ycsb-a on fjall"));
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
    assert!(!page.contains("src=\"http"), "the page loads nothing from the network");
    place.fine("report b -o r.json");
    assert_eq!(place.read("r.json"), place.fine("analyze b --format json").out);
}

#[test]
fn last_means_the_newest_run_then_those_before() {
    let place = Place::new();
    for spec in ["ycsb-a", "ycsb-b", "ycsb-c"] {
        place.fine(&format!("run {spec} -t null: --operations 10 -q"));
        // Run directories are ordered by their start, in milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for (name, title) in [
        ("", "ycsb-c on null"),
        ("last", "ycsb-c on null"),
        ("last-1", "ycsb-b on null"),
        ("runs/last-2", "ycsb-a on null"),
    ] {
        place.fine(&format!("report {name}")).shows(title);
    }
    place.refuses("report last-3", "there is no run last-3: runs holds 3 run directory(s)");
}

#[test]
fn the_command_that_a_report_gives_repeats_the_run() {
    let place = Place::new();
    let first = place.json("run ycsb-a -t null: --operations 500 -q");
    let command = text(&first, "/run/command").strip_prefix("assay ").expect("our name");
    let again = place.fine(command).json();
    assert_eq!(again.pointer("/run/seed"), first.pointer("/run/seed"));
    let hash = "/run/trace_hash_executed";
    assert_eq!(text(&again, hash), text(&first, hash));
}

#[test]
fn a_run_that_ends_early_is_measured_until_its_last_operation() {
    let place = Place::new();
    let result = place.json("run ycsb-c -t null: --operations 50 --duration 20s -q");
    assert_eq!(counted(&result, "done"), 50);
    let window = number(&result, "/window/duration_ns");
    assert!(window < 5_000_000_000, "{window} ns for 50 operations");
    let result = place.json("run ycsb-c -t null:?spin=1ms --duration 200ms -q");
    assert_eq!(number(&result, "/window/duration_ns"), 200_000_000);
}

/// `value` has what the JSON `schema` demands.
fn assert_fits(value: &Value, schema: &Value, place: &str) {
    assert_eq!(misfit(value, schema, schema, place), None);
}

/// Where `value` has not what the `part` of the JSON `schema` demands; none if it has.
fn misfit(value: &Value, part: &Value, schema: &Value, place: &str) -> Option<String> {
    let list = |name: &str| part.get(name).and_then(Value::as_array);
    if let Some(reference) = part.get("$ref").and_then(Value::as_str) {
        let pointer = reference.strip_prefix('#').expect("references stay inside");
        let part = schema.pointer(pointer).unwrap_or_else(|| panic!("no {reference}"));
        return misfit(value, part, schema, place);
    }
    if let Some(options) = list("anyOf").or(list("oneOf")) {
        let misfits = options.iter().map(|part| misfit(value, part, schema, place));
        return misfits.collect::<Option<Vec<String>>>().map(|all| all.join(" or "));
    }
    let types = match part.get("type") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        name => name.and_then(Value::as_str).into_iter().collect::<Vec<&str>>(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_of(value, name)) {
        return Some(format!("{place}: {value} is none of {types:?}"));
    }
    if list("enum").is_some_and(|words| !words.contains(value)) {
        return Some(format!("{place}: {value} is none of {:?}", part["enum"]));
    }
    if part.get("const").is_some_and(|expected| expected != value) {
        return Some(format!("{place}: {value} is not {}", part["const"]));
    }
    let mut required = list("required").into_iter().flatten().filter_map(Value::as_str);
    if let Some(key) = required.find(|key| value.get(key).is_none()) {
        return Some(format!("{place}: {key} is missing"));
    }
    let inner = |(key, value): (&String, &Value)| match part["properties"]
        .get(key)
        .or(part.get("additionalProperties"))
    {
        Some(part) => misfit(value, part, schema, &format!("{place}.{key}")),
        None => Some(format!("{place}: {key} is not in the schema")),
    };
    let item = |value: &Value| misfit(value, part.get("items")?, schema, &format!("{place}[]"));
    let items = value.as_array().into_iter().flatten().find_map(item);
    items.or_else(|| value.as_object().into_iter().flatten().find_map(inner))
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => panic!("the schema has a type {name}"),
    }
}

#[test]
fn a_dataset_of_another_seed_is_the_same_data_to_a_run() {
    let place = Place::new();
    place.fine("load ycsb-c --records 100 -t fjall:s --seed 1 -q");
    let seeds: BTreeSet<String> = (0..2)
        .map(|_| place.json("run ycsb-c --records 100 -t fjall:s --operations 50 -q"))
        .map(|result| text(&result, "/run/seed").to_owned())
        .collect();
    assert_eq!(seeds.len(), 2, "each run draws its own seed");
}

#[test]
fn everything_for_programs_follows_its_own_schema() {
    let place = Place::new();
    let store = "-t sim:healthy?max=600 --records 50";
    let run = format!("run ycsb-c {store} --rate 300/s --operations 900 -q");
    place.fine(&format!("{run} --seed 1 --run-dir a"));
    place.fine(&format!("{run} --seed 2 --repeat 2 --run-dir g"));
    let slo = "--slo p90<50ms --max 200 --step 2s --confirm 1 -q";
    let lines = place.fine("report a --format ndjson").out;
    let first: Value = serde_json::from_str(lines.lines().next().unwrap_or_default()).unwrap();
    for (name, value) in [
        ("interval", first),
        ("hallmark", place.read_json("a/hallmark.json")),
        ("repeat", place.json("report g")),
        ("compare", place.json("compare a g")),
        ("consistency", place.json("check a")),
        ("mapping", place.json("mapping explain tpcc --class column")),
        ("tune", place.json(&format!("tune ycsb-c {store} {slo}"))),
    ] {
        let schema = place.fine(&format!("schema {name}")).json();
        assert_eq!(value["schema"], schema["$id"], "{name}");
        assert_fits(&value, &schema, name);
    }
}
