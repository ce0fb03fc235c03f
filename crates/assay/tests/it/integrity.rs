//! Run directories with files of several runs are rejected.

use std::fs;

use crate::place::Place;
use crate::run_dir::{counted, text};

const PART: &str = "history/agent=0/part-0.parquet";
const SECOND: &str = "history/agent=0/part-1.parquet";

/// The result of `b` is withdrawn.
#[track_caller]
fn assert_invalid(place: &Place) {
    assert_eq!(text(&place.json("report b"), "/hallmark/verdict"), "invalid");
}

/// Run directories `a` and `b` of two workers each.
fn two_runs() -> Place {
    let place = Place::new();
    for (name, seed) in [("a", 1), ("b", 2)] {
        place.fine(&format!(
            "run ycsb-a -t null: --operations 100 --rate 2k/s --threads 2 --run-dir {name} --seed \
             {seed} -q"
        ));
    }
    place
}

fn copy(place: &Place, from: &str, to: &str) {
    fs::copy(place.path(from), place.path(to)).unwrap_or_else(|error| panic!("{from}: {error}"));
}

#[test]
fn a_part_of_another_run_or_one_that_is_there_twice_is_named() {
    let place = two_runs();
    let own = place.bytes(&format!("b/{PART}"));
    copy(&place, &format!("a/{PART}"), &format!("b/{PART}"));
    for words in ["report b", "analyze b", "compare a b", "history repair b"] {
        let ran = place.refuses(words, "b/history/agent=0/part-0.parquet is of another run");
        ran.says("its run id is \"a\", that in run.toml is \"b\"; take it away");
    }
    place.write(&format!("b/{PART}"), own);
    copy(&place, &format!("b/{PART}"), &format!("b/{SECOND}"));
    let ran = place.refuses("report b", "part-1.parquet is a copy of b/history");
    ran.says("part-0.parquet: its operations would be counted twice");
}

#[test]
fn a_part_that_is_missing_is_named_and_withdraws_every_figure() {
    let place = two_runs();
    place.remove(&format!("b/{SECOND}"));
    assert_invalid(&place);
    place.fine("report b").shows("history/agent=0/part-1.parquet is missing; copy it again");
}

#[test]
fn a_part_without_records_that_is_missing_is_named() {
    let place = Place::new();
    let words = "run ycsb-a -t null: --operations 1 --rate 1k/s --threads 2 --run-dir b --seed 1";
    place.fine(&format!("{words} -q"));
    place.fine("report b").shows("Throughput");
    let [first, second] = [PART, SECOND].map(|part| place.path(&format!("b/{part}")));
    let is_first_empty = fs::metadata(&first).unwrap().len() < fs::metadata(&second).unwrap().len();
    let (empty, name) = if is_first_empty { (first, PART) } else { (second, SECOND) };
    fs::remove_file(empty).unwrap();
    place.fine("report b").shows(&format!("{name} is missing, though no record is"));
    assert_invalid(&place);
}

#[test]
fn a_plausible_change_of_the_window_is_a_contradiction() {
    let place = two_runs();
    let whole = place.read("b/run.toml");
    for key in ["to_ns = ", "from_ns = "] {
        let at = whole.rfind(key).expect("there is a phase") + key.len();
        let end = at + whole[at..].find('\n').expect("lines end");
        let other: u64 = whole[at..end].parse::<u64>().expect("it is a number") + 1_000_000;
        place.write("b/run.toml", format!("{}{other}{}", &whole[..at], &whole[end..]));
        place.fine("report b").shows("it was changed; copy it again");
        assert_invalid(&place);
    }
}

#[test]
fn a_run_that_lost_its_manifest_is_not_reported_as_its_load() {
    let place = Place::new();
    place.fine("bench ycsb-a -t memory: --records 100 --operations 100 --closed 1 --run-dir b -q");
    assert!(place.path("b/load/run.toml").is_file());
    place.remove("b/run.toml");
    let ran = place.assay("report b").code(2);
    ran.says("there is no run.toml in it, though history is; copy run.toml again").says("b/load");
    place.fine("report b/load");
}

#[test]
fn records_that_the_manifest_does_not_know_are_no_result() {
    let place = two_runs();
    let whole = place.read("b/run.toml");
    let at = whole.find("sum = \"").expect("a run keeps the sum of its records") + 7;
    let sum = &whole[at..at + 16];
    place.write("b/run.toml", whole.replace(sum, "0123456789abcdef"));
    assert_invalid(&place);
    place.fine("report b").shows("the history's records are not those of this run");
    // A directory of an earlier release has no sum; its counts are compared all the same.
    let old = whole.replace(&format!("sum = \"{sum}\"\n"), "");
    place.write("b/run.toml", &old);
    place.fine("report b").shows("Throughput");
    place.write("b/run.toml", old.replace("done = 100\n", "done = 99\n"));
    place.fine("report b").shows("run.toml counts 99 done");
    place.write("b/run.toml", &old[..old.find("[history]").expect("it has one")]);
    place.fine("report b").shows("its end is missing; copy it again");
}

#[test]
fn a_damaged_side_table_is_reported_and_never_a_panic() {
    let place = two_runs();
    for file in ["b/events.parquet", "b/observations.parquet"] {
        let whole = place.bytes(file);
        for offset in (0..whole.len()).step_by(whole.len() / 25) {
            let mut flipped = whole.clone();
            flipped[offset] ^= 0x10;
            place.write(file, &flipped);
            let ran = place.fine("report b");
            assert!(!ran.err.contains("panicked"), "{file}, byte {offset}: {}", ran.err);
        }
        place.write(file, &whole);
    }
    let file = format!("b/{PART}");
    let whole = place.bytes(&file);
    for offset in (whole.len() - 400..whole.len()).step_by(16) {
        let mut flipped = whole.clone();
        flipped[offset] ^= 0x40;
        place.write(&file, &flipped);
        let ran = place.assay("report b");
        assert!(ran.err.lines().count() <= 1, "byte {offset}: {}", ran.err);
    }
}

#[test]
fn a_number_in_the_manifest_takes_no_memory() {
    let place = Place::new();
    place.fine("run ycsb-a -t null: --rate 1k/s --operations 100 --run-dir b --seed 1 -q");
    let whole = place.read("b/run.toml");
    let at = whole.rfind("to_ns = ").expect("there is a phase");
    let end = at + whole[at..].find('\n').expect("lines end");
    let endless = format!("{}to_ns = 9223372036854775807{}", &whole[..at], &whole[end..]);
    place.write("b/run.toml", endless);
    for format in ["text", "json", "html", "ycsb"] {
        let line = format!("ulimit -v 1000000; exec assay report b --format {format}");
        let ran = place.shell(&line).code(0);
        assert!(format == "ycsb" || ran.out.contains("it was changed"), "{}", ran.out);
    }
}

#[test]
fn a_file_that_may_not_grow_leaves_nothing_half() {
    let place = two_runs();
    place.fine("trace gen ycsb-a --operations 3000 --seed 1 -o t.parquet");
    for (words, file) in [("trace export t.parquet", "t.csv"), ("report b --format html", "r.html")]
    {
        let line = format!("ulimit -f 4; exec assay {words} -o {file}");
        place.shell(&line).code(1).says("File too large");
        assert!(!place.path(file).exists(), "{file}");
        assert!(!place.path(&format!("{file}.partial")).exists(), "{file}");
    }
    place.shell("ulimit -f 4; exec assay trace gen ycsb-a --operations 9000 -o g.parquet").code(1);
    assert_eq!(place.list(".").iter().filter(|name| name.starts_with("g.")).count(), 0);
}

#[test]
fn what_was_planted_is_in_the_report() {
    let place = Place::new();
    let words = "run ycsb-a -t sim:healthy?lost=10%&torn=20% --rate 1k/s --records 100 --seed 5 \
                 --operations 4000 --set operations.write_fields=all --run-dir b -q";
    let ran = place.fine(words);
    assert!(!ran.err.contains("strikes nothing"), "{}", ran.err);
    let said = "writes, as its truth log says";
    ran.shows("the simulated store lost").shows(said);
    assert!(place.fine("report b --format html").out.contains(said));
    let result = place.json("report b");
    assert!(counted(&result, "done") > 0);
    assert!(result.to_string().contains(said));
    // Without faults there is no warning.
    let healthy = words.replace("?lost=10%&torn=20%", "").replace("--run-dir b", "--run-dir h");
    assert!(!place.fine(&healthy).out.contains("the simulated store"));
    // Before a run whose writes cannot be torn there is one.
    let words = "run ycsb-a -t sim:healthy?torn=10% --rate 1k/s --operations 100 --records 100 -q";
    let ran = place.fine(words).says("warning: torn=0.1 strikes nothing");
    ran.says("--set operations.write_fields=all");
}

#[test]
fn a_setting_that_was_changed_after_the_run_is_no_secret() {
    let place = two_runs();
    let path = place.path("a/run.toml");
    let manifest = fs::read_to_string(&path).expect("it is there");
    let edited = manifest.replace("requests are answered at once", "requests are answered never");
    let edited = if edited == manifest { format!("{manifest}\n# a remark\n") } else { edited };
    fs::write(&path, edited).expect("it is ours");
    place.fine("report a").shows("run.toml is not as the run left it");
    let other = place.fine("report b").out;
    assert!(!other.contains("run.toml is not"), "{other}");
}
