//! Tests of whole imports, from files to traces.

use std::io::Cursor;

use super::*;
use crate::imported::Requests;
use crate::imported::request::{Format, key_number};
use crate::reader::Trace;

/// The header of an imported trace as the binary makes it.
fn header() -> Header {
    Header { width: 1, ..Header::example() }
}

/// What was imported of a text, with the two traces where they were made.
fn import_of(format: Format, text: &str, importing: &Importing) -> (Imported, Rows, Rows) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let from = Box::new(Cursor::new(text.as_bytes().to_vec()));
    let requests = Requests::open(from, format, 0).unwrap();
    let spec = |facts: &ImportFacts| format!("{:?}", facts.preload.map(|hash| hash.to_string()));
    let import_of = import(requests, &path, importing, &header(), &spec).unwrap();
    let requested = rows(&path);
    let loaded = import_of.preload.map(|_| rows(&folder.path().join("a.load.trace")));
    (import_of, requested, loaded.unwrap_or_default())
}

/// Milliseconds, key, kind, bytes of each operation.
type Rows = Vec<(u64, u64, Kind, u32)>;

fn rows(path: &Path) -> Rows {
    let trace = Trace::open(path).unwrap();
    trace.verify().unwrap();
    let mut reader = trace.reader().unwrap();
    let (mut rows, mut operations) = (Vec::new(), Vec::new());
    while reader.advance(&mut operations).unwrap().is_some() {
        let at = reader.intended().0 / 1_000_000;
        rows.extend(operations.iter().map(|one| (at, one.key, one.kind, one.bytes)));
    }
    rows
}

fn key(name: &str) -> u64 {
    key_number(name.as_bytes(), 1)
}

const TWITTER: &str = "\
100,a,1,50,1,get,0
100,b,1,0,1,get,0
100,b,1,70,1,set,60
102,b,1,70,1,get,0
102,c,1,9,1,replace,60
102,d,1,0,1,get,0
102,e,1,0,1,delete,0
";

#[test]
fn requests_keep_their_schedule_and_the_data_they_need_is_loaded_before() {
    let (import_of, requested, loaded) = import_of(Format::Twitter, TWITTER, &Importing::default());
    let expected = [
        (0, key("a"), Kind::Read, 0),
        (333, key("b"), Kind::Read, 0),
        (666, key("b"), Kind::Insert, 70),
        (2000, key("b"), Kind::Read, 0),
        (2250, key("c"), Kind::Update, 9),
        (2500, key("d"), Kind::Read, 0),
        (2750, key("e"), Kind::Delete, 0),
    ];
    assert_eq!(requested, expected);
    let mut preloaded = [
        (0, key("a"), Kind::Insert, 50),
        (0, key("c"), Kind::Insert, 9),
        (0, key("e"), Kind::Insert, 100),
    ];
    preloaded.sort_unstable_by_key(|row| row.1);
    assert_eq!(loaded, preloaded, "b and d were looked for in vain first");
    assert_eq!((import_of.facts.keys, import_of.missed, import_of.preload_bytes), (5, 2, 159));
    assert_eq!(import_of.facts.preload, import_of.preload.map(|written| written.hash));
    assert_eq!(import_of.span, Nanos::from_millis(2750));
    assert_eq!(import_of.totals.lines, 7);
}

#[test]
fn misses_can_be_filled() {
    let importing = Importing { fill_misses: Some(33), ..Importing::default() };
    let (_, _, loaded) = import_of(Format::Twitter, TWITTER, &importing);
    assert_eq!(loaded.iter().filter(|row| row.1 == key("d")).count(), 1);
    assert!(loaded.iter().all(|row| row.1 != key("d") || row.3 == 33));
    assert!(loaded.iter().all(|row| row.1 != key("b")), "b is written by the trace itself");
}

#[test]
fn a_trace_can_be_run_faster_than_it_was_recorded() {
    let importing = Importing { speed: 10.0, ..Importing::default() };
    let (import_of, requested, _) = import_of(Format::Twitter, TWITTER, &importing);
    assert_eq!(
        requested.iter().map(|row| row.0).collect::<Vec<u64>>(),
        [0, 33, 66, 200, 225, 250, 275]
    );
    assert_eq!(import_of.span, Nanos::from_millis(275));
}

#[test]
fn only_as_many_operations_as_wanted_are_taken() {
    let importing = Importing { operations: Some(2), ..Importing::default() };
    let (import_of, requested, loaded) = import_of(Format::Twitter, TWITTER, &importing);
    assert_eq!((requested.len(), loaded.len(), import_of.facts.keys), (2, 1, 2));
}

#[test]
fn counts_are_repeated_under_every_key_space() {
    let text = "op_time,key,key_size,op,op_count,size,cache_hits\n\
        5,a,1,GET,3,10,3\n5,b,1,SET,1,20,0\n";
    let importing = Importing { replicate: 2, ..Importing::default() };
    let (import_of, requested, loaded) = import_of(Format::CacheLib, text, &importing);
    assert_eq!((requested.len(), loaded.len()), (8, 2));
    assert_eq!(import_of.facts.keys, 4);
    assert_eq!((import_of.facts.of(Kind::Read), import_of.facts.of(Kind::Insert)), (6, 2));
    assert_eq!(requested.iter().filter(|row| row.1 == key("a")).count(), 3);
    assert_eq!(import_of.totals.requests, 4, "as they stand in the file");
}

#[test]
fn a_file_without_times_has_no_schedule() {
    let text = "key,op,size,op_count,key_size\na,GET,5,2,1\nb,SET,5,1,1\n";
    let (import_of, requested, loaded) = import_of(Format::CacheLib, text, &Importing::default());
    assert_eq!((import_of.schedules, requested.len(), loaded.len()), (Schedules::Absent, 3, 1));
}

#[test]
fn sizes_that_nobody_knows_are_those_of_the_first_write_or_a_usual_one() {
    let line = |second: u32, words: &str| format!("{second}.5 [0 127.0.0.1:5] {words}\n");
    let text = [
        line(1, r#""GET" "a""#),
        line(2, r#""GET" "b""#),
        line(3, r#""SET" "b" "four""#),
        line(4, r#""HDEL" "c" "f""#),
    ];
    let importing = Importing { value_size: 11, ..Importing::default() };
    let (import_of, requested, mut loaded) = import_of(Format::Monitor, &text.concat(), &importing);
    loaded.sort_unstable_by_key(|row| row.3);
    let sizes: Vec<u32> = loaded.iter().map(|row| row.3).collect();
    assert_eq!((sizes, loaded[0].1), (vec![4, 11, 11], key("b")));
    assert_eq!((requested[3], import_of.guessed), ((3000, key("c"), Kind::Update, 11), 1));
}

#[test]
fn a_trace_of_writes_needs_no_load() {
    let text = "1,a,1,5,1,set,9\n1,a,1,5,1,get,0\n";
    let (import_of, _, loaded) = import_of(Format::Twitter, text, &Importing::default());
    assert_eq!((import_of.preload, import_of.facts.preload, loaded.len()), (None, None, 0));
}

#[test]
fn what_leaves_nothing_is_an_error_and_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let fails = |format, text: &str, importing: &Importing| {
        let from = Box::new(Cursor::new(text.as_bytes().to_vec()));
        let requests = Requests::open(from, format, 0).unwrap();
        let spec = |_: &ImportFacts| String::new();
        import(requests, &path, importing, &header(), &spec).unwrap_err().to_string()
    };
    let none = Importing { sample_keys: 1e-12, ..Importing::default() };
    assert_eq!(
        fails(Format::Twitter, TWITTER, &none),
        "of 7 requests none is left: --sample-keys keeps none of their keys"
    );
    let pings = "1.5 [0 127.0.0.1:5] \"PING\"\n";
    assert_eq!(
        fails(Format::Monitor, pings, &Importing::default()),
        "of 0 requests none is left: none of its commands is supported"
    );
    let few = Importing { keys_max: 2, ..Importing::default() };
    assert_eq!(
        fails(Format::Twitter, TWITTER, &few),
        "the import has more than 2 keys, and all are held in memory; take a part of the keys by \
         --sample-keys"
    );
    let broken = format!("{TWITTER}bad\n");
    assert!(fails(Format::Twitter, &broken, &Importing::default()).starts_with("line 8"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_two_traces_lie_side_by_side() {
    assert_eq!(load_path(Path::new("x/a.trace")), Path::new("x/a.load.trace"));
    assert_eq!(load_path(Path::new("a.parquet")), Path::new("a.parquet.load.trace"));
}
