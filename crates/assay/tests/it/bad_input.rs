//! Tests of invalid input: a clear error before any operation is issued.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use assay_history::State;
use assay_model::Outcome;
use expect_test::{Expect, expect};

use crate::place::Place;
use crate::run_dir::{assert_balanced, assert_sealed, count, records};
use crate::transcript::refused;

/// The commands of `transcript` are refused where nothing is.
#[track_caller]
fn check(transcript: &Expect) {
    refused(&Place::new(), transcript);
}

#[test]
fn a_spec_that_is_nowhere_names_those_that_are() {
    check(&expect![[r#"
        $ assay run ./none.toml -t null:
        there is no file ./none.toml
        $ assay run ycsb-g -t null:
        there is no file ycsb-g, and no built-in workload is called "ycsb-g" (did you mean
        "ycsb-a"?); it has ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-e, ycsb-f, chronicle-100-50,
        chronicle-100-95, chronicle-10-50, chronicle-10-95, tpcc, tpcc-benchfoundry,
        tpcc-benchfoundry-paper, tpcc-benchfoundry-corrected, consbench, consbench-repo, fmke,
        list-append, bank, long-fork, write-skew, lost-update, causal-chain, set, counter,
        facebook-etc, rocksdb-mixgraph, register, register-rmw, session-roaming,
        twitter-cluster-1 to twitter-cluster-54
    "#]]);
}

#[test]
fn a_spec_that_is_cut_off_names_the_line() {
    check(&expect![[r#"
        $ printf '[dataset]\nrecords = 10\n[operations\nread' >cut.toml; assay run cut.toml -t null:
        cut.toml:3: unclosed table, expected `]`
        $ : >empty.toml; assay run empty.toml -t null: --operations 10
        empty.toml is empty: it has no operations
        $ : >empty.properties; assay run empty.properties -t null: --operations 10
        empty.properties is empty: it has no operations
        $ : >empty.parquet; assay run empty.parquet -t null: --operations 10
        empty.parquet is empty: it has no operations
        $ printf PAR1 >cut.parquet; assay run cut.parquet -t null: --operations 10
        trace cut.parquet is cut off: its end is missing after 4 bytes; copy or generate it
        again
    "#]]);
}

#[test]
fn what_comes_behind_the_settings_of_a_spec_is_found_at_its_line() {
    let place = Place::new();
    let settings = "[run]\r\nat = [\r\n  \"1s: kill 1\", # [x]\r\n]\r\n'up' = \"etcd\"\r\n";
    place.write("a.toml", format!("{settings}[dataset]\r\nrecrods = 10\r\n")).write(
        "b.toml",
        "hallmark . lag_p99 = 1\nrun = { at = [\n  \"[dataset]\",\n] }\n[datasets]\n",
    );
    refused(
        &place,
        &expect![[r#"
            $ assay run a.toml -t null: --operations 10
            a.toml:7: unknown key "recrods"; did you mean "records"?
            $ assay run b.toml -t null: --operations 10
            b.toml:5: unknown key "datasets"; did you mean "dataset"?
        "#]],
    );
}

#[test]
fn a_misspelt_key_is_answered_with_the_nearest_one() {
    check(&expect![[r#"
        $ printf '[dataset]\nrecrods = 10\n' >s.toml; assay run s.toml -t null: --operations 10
        s.toml:2: unknown key "recrods"; did you mean "records"?
        $ printf '[datasets]\nrecords = 10\n' >s.toml; assay run s.toml -t null: --operations 10
        s.toml:1: unknown key "datasets"; did you mean "dataset"?
        $ printf 'recordcount=10\nreadpropotion=1\n' >s; assay run s -t null: --operations 10
        s:2: unknown property "readpropotion"; did you mean "readproportion"?
        $ assay run ycsb-a --operations 10 -t null: --set operations.raed=1
        --set operations.raed=1: unknown key "raed"; did you mean "read"?
        $ assay run ycsb-a --operations 10 -t null: -p requestdistributoin=uniform
        command line: unknown property "requestdistributoin"; did you mean
        "requestdistribution"?
        $ assay run ycsb-a --operations 10 -t null: --set read=1
        --set read=1: name a key as section.key
    "#]]);
}

#[test]
fn a_word_that_is_no_choice_is_answered_with_the_choices() {
    check(&expect![[r#"
        $ assay run ycsb-a --operations 10 -t null: -p requestdistribution=zipfain
        command line: requestdistribution = zipfain: it must be one of uniform, zipfian, latest,
        hotspot, exponential, sequential; did you mean "zipfian"?
        $ assay run ycsb-a --operations 10 -t null: --format xml
        --format: "xml" is none of text, json, ndjson, csv, md, ycsb, hdr, html, junit
        $ assay run ycsb-a --operations 10 -t null: --rate 5 --arrivals regular
        --arrivals: "regular" is none of poisson, constant, jitter:0.5, mmpp2:10,1s,9s, gamma:2,
        lognormal:2, trace
        $ assay run ycsb-a --operations 10 -t null: --rate 5 --overflow forget
        --overflow: "forget" is none of queue, drop, abort
    "#]]);
}

#[test]
fn proportions_must_add_up_to_more_than_0() {
    check(&expect![[r#"
        $ printf 'recordcount=9\nreadproportion=-0.5\n' >s; assay run s -t null: --operations 10
        s:2: readproportion = -0.5: a proportion must be a number from 0
        $ printf 'recordcount=9\nreadproportion=0\nupdateproportion=0\n' >s; assay run s -t null:
        s:2: readproportion = 0: at least one of the proportions of read, update, insert, scan,
        read-modify-write must be above 0
        $ printf '[dataset]\nrecords=9\n[operations]\nread=-1.0' >s.toml; assay run s.toml -t null:
        s.toml:4: operations.read = -1: a proportion must be a number from 0
        $ assay run ycsb-a -t null: --set operations.read=0 --set operations.update=0
        --set: operations.read = 0: at least one of the proportions of read, update, insert,
        scan, read-modify-write must be above 0
    "#]]);
}

#[test]
fn a_data_set_has_a_size_that_can_be_counted() {
    check(&expect![[r#"
        $ echo recordcount=0 >s; assay run s -t null: --operations 10
        s:1: recordcount = 0: the number of records must be from 1 to 2^63 - 1
        $ echo recordcount=2147483648 >s; assay run s -t null: --operations 10
        s:1: recordcount = 2147483648: YCSB counts to 2147483647; more needs a specification in
        TOML
        $ echo recordcount=many >s; assay run s -t null: --operations 10
        s:1: recordcount = many: it must be a whole number from 0
        $ printf '[dataset]\nrecords = 0\n' >s.toml; assay run s.toml -t null: --operations 10
        s.toml:2: dataset.records = 0: the number of records must be from 1 to 2^63 - 1
        $ assay run ycsb-a --operations 10 -t null: --records 0
        --records: dataset.records = 0: the number of records must be from 1 to 2^63 - 1
        $ assay run ycsb-a --operations 10 -t null: --records -3
        unexpected argument '-3' found tip: to pass '-3' as a value, use '-- -3' Usage: assay
        run [OPTIONS] <SPEC> For more information, try '--help'.
    "#]]);
}

#[test]
fn more_records_than_ycsb_counts_are_possible_in_a_spec_of_ours() {
    let place = Place::new();
    let words = "run ycsb-c -t null: --records 3000000000 --operations 200 --run-dir b -q";
    place.fine(words).shows("ycsb-c on null");
    let beyond = records(&place.path("b")).iter().any(|record| record.key > 1 << 31);
    assert!(beyond, "keys of the upper third are accessed too");
}

#[test]
fn a_rate_must_be_above_0() {
    check(&expect![[r#"
        $ assay run ycsb-a --operations 10 -t null: --rate 0
        --rate: a rate of 0: the rate must be above 0; give one, for example 20k/s
        $ assay run ycsb-a --operations 10 -t null: --rate -5
        --rate: a rate of -5: the rate must be above 0; give one, for example 20k/s
        $ assay run ycsb-a --operations 10 -t null: --rate fast
        --rate: "fast" is no rate; write 20k/s, 1M/s or 0.5/s
        $ assay run ycsb-a --operations 10 -t null: --rate inf
        --rate: "inf" is no rate; write 20k/s, 1M/s or 0.5/s
        $ assay run ycsb-a --operations 10 -t null: --rate 5k/s --closed 2
        --rate is an open loop and --closed a closed loop: give one of them (--target-throughput
        is for a closed loop with a target)
        $ assay run ycsb-a --operations 10 -t null: --rate 5k/s --think 1ms
        --think: only sessions of a closed loop do that
    "#]]);
}

#[test]
fn counts_of_zero_are_refused() {
    check(&expect![[r#"
        $ assay run ycsb-a --operations 10 -t null: --closed 0
        --closed: nothing can be issued with none; give at least 1
        $ assay run ycsb-a --operations 10 -t null: --threads 0
        --threads: nothing can be issued with none; give at least 1
        $ assay run ycsb-a --operations 10 -t null: --cpu-list 0-x
        --cpu-list: "0-x" is no processor; write their numbers, as in 0 or 2,4-7
        $ assay run ycsb-a --operations 10 -t null: --timeout 0s
        --timeout: every operation would time out; give more than 0s
        $ assay run ycsb-a --operations 10 -t null: --duration 0s
        --duration: nothing would be issued; give more than 0s
        $ assay run ycsb-a -t null: --operations 0
        --operations: nothing would be issued; give at least 1
        $ assay run ycsb-a --operations 10 -t null: --rate 1k --in-flight 0
        --in-flight: nothing can be issued with none; give at least 1
    "#]]);
}

#[test]
fn a_store_must_exist() {
    check(&expect![[r#"
        $ assay run ycsb-a --operations 10
        which store? give -t URL, for example -t redis://127.0.0.1:6379; `assay stores` lists
        them; --up redis starts one here
        $ assay run ycsb-a --operations 10 -t hbase://127.0.0.1
        store URL "hbase://127.0.0.1" is invalid: there is no store "hbase"; there are fjall,
        redb, lmdb, rocksdb, sqlite, mariadb, mysql, redis, rediss, valkey, valkeys,
        redis+cluster, redis-cluster, rediss+cluster, rediss-cluster, valkey+cluster,
        valkey-cluster, valkeys+cluster, valkeys-cluster, redis+sentinel, redis-sentinel,
        rediss+sentinel, rediss-sentinel, valkey+sentinel, valkey-sentinel, valkeys+sentinel,
        valkeys-sentinel, postgres, postgresql, mongodb, nats, etcd, etcds, tikv, antidote,
        cassandra, scylla, memcached, dynamodb, dynamodbs, ignite, fmke+http, exec, jvm, memory,
        sim, sick, null
        $ assay run ycsb-a --operations 10 -t redsi://127.0.0.1
        store URL "redsi://127.0.0.1" is invalid: there is no store "redsi"; did you mean
        redis:?
        $ assay run ycsb-a --operations 10 -t 'null:?spni=1ms'
        store URL "null:?spni=1ms" is invalid: its only option is spin; write null:?spin=5us
        $ assay run ycsb-a --operations 10 -t fjall:
        store URL "fjall:" is invalid: it names no path; write fjall:PATH
    "#]]);
}

#[test]
fn a_store_on_a_closed_port_is_unreachable() {
    let place = Place::new();
    // Port 1 of the loopback belongs to a service that nobody has run for decades.
    let ran = place.assay("run ycsb-a -t redis://:secret@127.0.0.1:1 --operations 10").code(4);
    let ran = ran.says("cannot reach redis://").says("127.0.0.1:1 refused the connection");
    assert!(!ran.err.contains("secret"), "{}", ran.err);
    assert_eq!(place.list("runs"), Vec::<String>::new());
    // Nor are secrets of words repeated that nobody expects.
    for word in ["us:secret@host", "redis://us:secret@host:1"] {
        let ran = place.assay(&format!("trace info a.trace {word}")).code(2);
        let ran = ran.says("unexpected argument '").says("…@host");
        assert!(!ran.err.contains("secret"), "{}", ran.err);
    }
}

#[test]
fn a_second_run_does_not_touch_the_run_directory_of_the_first() {
    let place = Place::new();
    place.fine("run ycsb-a -t null: --operations 100 --run-dir b -q");
    let before = place.fine("report b --format json").out;
    let ran = place.assay("run ycsb-a -t null: --operations 100 --run-dir b -q").code(2);
    ran.says("b holds a run already (run.toml is there)");
    assert_eq!(place.fine("report b --format json").out, before);
    // It is an error before the store is opened.
    place.fine("load ycsb-c --records 100 -t fjall:s --run-dir l -q");
    place.assay("load ycsb-c --records 50 -t fjall:s --run-dir l --fresh -q").code(2);
    place.fine("run ycsb-c --records 100 --operations 10 -t fjall:s -q");
    place.fine("bench ycsb-c --records 50 --operations 10 --run-dir c --keep -q");
    let ran = place.assay("bench ycsb-c --records 60 --operations 10 --run-dir c -q").code(2);
    ran.says("c holds a run already");
    place.fine("run ycsb-c --records 50 --operations 10 -t fjall:c/store -q");
}

/// A run directory `b` of a hundred operations.
fn run_dir() -> Place {
    let place = Place::new();
    place.fine("run ycsb-a -t null: --operations 100 --run-dir b --seed 1 -q");
    place
}

#[test]
fn a_manifest_that_is_missing_invalid_or_newer_is_no_run_directory() {
    let place = run_dir();
    let newer = place.read("b/run.toml").replace("format = 1", "format = 2");
    place.write("b/run.toml", &newer);
    for words in ["report b", "analyze b", "history repair b"] {
        place.refuses(words, "b/run.toml has format 2, newer than 1");
    }
    assert_eq!(place.read("b/run.toml"), newer, "nothing is changed");
    place.write("b/run.toml", "format = 1\nstate = \"sleeping\"\n");
    place.refuses("report b", "b/run.toml is not a manifest").says("sleeping");
    place.remove("b/run.toml");
    place.refuses("report b", "b is no run directory: there is no run.toml in it");
    place.refuses("history repair b", "b is no run directory");
}

#[test]
fn damage_of_a_run_directory_costs_only_what_is_damaged() {
    let place = run_dir();
    // Nobody can write a file where a directory is.
    place.remove("b/hallmark.json");
    fs::create_dir(place.path("b/hallmark.json")).unwrap();
    place.assay("analyze b").code(1).shows("Throughput").says("cannot write b/hallmark.json");
    place.cut("b/events.parquet");
    place.fine("report b").shows("WARNING: cannot read b/events.parquet").shows("Throughput");
    place.cut("b/history/agent=0/part-0.parquet");
    for words in ["report b", "history repair b"] {
        place.refuses(words, "part-0.parquet is not a complete history file");
    }
    place.remove("b/history");
    place.refuses("report b", "b holds neither a sealed history nor blocks of one");
    let repaired = place.assay("history repair b").code(1).says("copy the run directory");
    repaired.shows("b: 0 records are there, 100 that the run kept are not");
}

#[test]
fn a_place_that_takes_no_run_directory_is_named() {
    let place = Place::new();
    let words = "run ycsb-a -t null: --operations 10 --run-dir";
    let ran = place.start_with(words, |command| command.arg("")).wait().code(2);
    ran.says("--run-dir").says("it is empty; name a directory");
    assert!(!place.path("run.toml").exists());
    // Nobody may create a directory in a file, not even the superuser.
    place.write("runs", "a file");
    place.refuses("run ycsb-a -t null: --operations 5", "cannot create runs/");
}

#[test]
fn environment_variables_that_are_no_text_are_ignored() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = run_dir();
    let strange = OsStr::from_bytes(b"\xff");
    let with = |name: &str| place.start_with("report b", |it| it.env(name, strange)).wait();
    with("FOO").code(0);
    with("ASSAY_FORMAT").code(2).says("ASSAY_FORMAT in the environment is no UTF-8 text");
}

#[test]
fn a_run_that_ends_within_its_warm_up_has_measured_nothing() {
    let place = Place::new();
    let words = "run ycsb-a -t null: --operations 10 --warm-up 1h --duration 1h";
    let ran = place.assay(words).code(2).shows("NOTHING MEASURED");
    ran.says("because every operation was issued in the warm-up");
}

/// Flips a bit at a hundred places of a file, one by one, and runs `words` each time; counts
/// the errors. An answer must be the answer for the whole file.
fn flip_bits(place: &Place, file: &str, words: &str) -> u32 {
    let whole = place.bytes(file);
    let answer = place.fine(words).out;
    let mut found = 0;
    for offset in (0..whole.len()).step_by(whole.len() / 100) {
        let mut flipped = whole.clone();
        flipped[offset] ^= 0x10;
        place.write(file, &flipped);
        let ran = place.assay(words);
        assert!(matches!(ran.code, Some(0..=2)), "the bit at {offset}: {}", ran.err);
        assert!(ran.code != Some(0) || ran.out == answer, "the bit at {offset} is missed");
        found += u32::from(ran.code != Some(0));
    }
    found
}

#[test]
fn a_truncated_trace_is_not_run() {
    let place = Place::new();
    place.fine("trace gen ycsb-a --operations 1000 --seed 1 -o t.parquet");
    place.cut("t.parquet");
    for words in ["run t.parquet -t null:", "trace info t.parquet", "trace stat t.parquet"] {
        place.refuses(words, "trace t.parquet is cut off: its end is missing");
    }
    assert_eq!(place.list("runs"), Vec::<String>::new());
}

#[test]
fn what_is_read_is_not_written_over() {
    let place = Place::new();
    place
        .write("c.trace", "1,k,5,10,1,get,0\n")
        .write("s.toml", "[dataset]\nrecords = 9\n[operations]\nread = 1\n");
    place.fine("trace gen ycsb-a --operations 100 --seed 1 -o t.parquet");
    place.fine("trace export t.parquet -o t.csv");
    let files = || ["c.trace", "s.toml", "t.parquet", "t.csv"].map(|name| place.bytes(name));
    let before = files();
    for words in [
        "trace import twitter c.trace",
        "trace gen s.toml --operations 9 -o ./s.toml",
        "trace export t.parquet -o t.parquet",
        "trace import t.csv -o t.csv",
    ] {
        place.refuses(words, "is what is read: give another file by -o");
    }
    assert!(before == files());
}

#[test]
fn an_export_that_fails_leaves_what_was_there() {
    let place = Place::new();
    place.fine("trace gen ycsb-a --operations 1000 --seed 1 -o t.parquet");
    let mut bytes = place.bytes("t.parquet");
    bytes[100] ^= 1;
    place.write("t.parquet", bytes).write("t.csv", "what was there");
    let ran = place.assay("trace export t.parquet -o t.csv");
    assert_ne!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(place.read("t.csv"), "what was there");
    assert!(!place.path("t.csv.partial").exists());
}

#[test]
fn a_trace_of_a_newer_format_is_left_to_the_release_that_wrote_it() {
    let place = Place::new();
    place.fine("trace gen ycsb-a --operations 10 --seed 1 -o t.parquet");
    let mut bytes = place.bytes("t.parquet");
    // The key with its value `1`, as the footer writes them.
    let pair = b"assay.format\x18\x011";
    let at = bytes.windows(pair.len()).position(|window| window == pair).unwrap();
    bytes[at + pair.len() - 1] = b'3';
    place.write("t.parquet", bytes);
    for words in ["run t.parquet -t null:", "trace info t.parquet", "trace export t.parquet"] {
        place.refuses(words, "trace t.parquet has format 3, this binary reads up to");
    }
    assert_eq!(place.list("runs"), Vec::<String>::new());
}

#[test]
fn a_flipped_bit_is_found_or_changes_nothing() {
    let place = run_dir();
    let part = "b/history/agent=0/part-0.parquet";
    let found = flip_bits(&place, part, "report b --format csv");
    // Facts that the manifest holds too, such as the spec, are read from there.
    assert!(found > 40, "{found} of 100");
    place.fine("trace gen ycsb-a --operations 300 --seed 1 -o t.parquet");
    let found = flip_bits(&place, "t.parquet", "trace export t.parquet");
    // What nobody reads of a trace, such as statistics for query engines, may be anything.
    assert!(found > 50, "{found} of 100");
}

#[test]
fn a_file_that_is_no_trace_is_named() {
    let place = run_dir();
    let part = "b/history/agent=0/part-0.parquet";
    place.refuses(&format!("run {part} -t null: --operations 5"), part);
    place.refuses("trace info b/run.toml", "b/run.toml");
    // A line without end is not gathered.
    place.write("long.csv", vec![b'7'; 1 << 20]);
    place.refuses("trace import long.csv -o t.parquet", "line 1");
    place.refuses("trace info none.parquet", "none.parquet");
}

#[test]
fn a_settings_file_with_an_unknown_key_stops_everything_that_reads_it() {
    check(&expect![[r#"
        $ echo 'rats = "5k/s"' >assay.toml; assay run ycsb-a -t null: --operations 5
        assay.toml: there is no setting rats; did you mean rate?
        $ assay config show
        assay.toml: there is no setting rats; did you mean rate?
        $ echo 'rate = -3' >assay.toml; assay run ycsb-a -t null: --operations 5
        rate (from assay.toml): a rate of -3: the rate must be above 0; give one, for example
        20k/s
        $ echo 'rate = ' >assay.toml; assay run ycsb-a -t null: --operations 5
        assay.toml:1 is no TOML: string values must be quoted, expected literal string
        $ rm assay.toml; assay run ycsb-a -t null: --config none.toml
        cannot read none.toml: No such file or directory (os error 2)
    "#]]);
}

#[test]
fn a_variable_that_is_no_setting_is_answered_with_the_nearest_one() {
    check(&expect![[r#"
        $ ASSAY_RAET=1 assay run ycsb-a -t null: --operations 5
        ASSAY_RAET: there is no setting raet; did you mean rate?
        $ ASSAY_X=1 assay run ycsb-a -t null: --operations 5
        ASSAY_X: there is no setting x; `assay config show` lists all settings
        $ ASSAY_RATE=-2 assay run ycsb-a -t null: --operations 5
        rate (from environment ASSAY_RATE): a rate of -2: the rate must be above 0; give one,
        for example 20k/s
    "#]]);
}

#[test]
fn an_output_that_cannot_be_written_is_found_before_the_run() {
    check(&expect![[r#"
        $ assay run ycsb-a --operations 10 -t null: -o none/r.json
        --output: cannot write none/r.json: there is no directory none
    "#]]);
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let place = Place::new();
    let piped = |words: &str| {
        let mut command = place.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut child = piped("run ycsb-a -t null: --operations 100 --run-dir b");
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_sealed(&place, "b", State::Finished);
    let mut child = piped("report b --format ndjson");
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn colours_are_for_terminals_or_those_who_insist() {
    let place = run_dir();
    let ran = place.shell("TERM=dumb assay report b").code(0);
    assert!(!ran.has_escapes());
    // Names of machines may have letters of their own.
    let ours: Vec<&str> = ran.out.lines().filter(|line| !line.contains("machine")).collect();
    assert!(ours.concat().is_ascii(), "{}", ran.out);
    assert!(!place.fine("report b").has_escapes());
    assert!(place.fine("report b --color always").has_escapes());
    for setting in ["NO_COLOR=1", "TERM=xterm-256color"] {
        let ran = place.shell(&format!("{setting} assay report b --color auto")).code(0);
        assert!(!ran.has_escapes(), "{setting}");
    }
    // `script` gives the command a terminal of its own.
    let ran = |setting: &str| {
        let line = format!("TERM=xterm script -qec '{setting} assay report b' /dev/null");
        place.shell(&line).code(0).has_escapes()
    };
    assert!(ran(""));
    assert!(!ran("NO_COLOR=1"));
    assert!(!ran("TERM=dumb"));
}

#[test]
fn a_run_on_a_dumb_terminal_prints_plain_lines() {
    let place = Place::new();
    let words = "run ycsb-c -t null: --rate 1k/s --duration 1500ms --run-dir b";
    let line = format!("script -qec 'TERM=dumb assay {words}' /dev/null");
    assert!(!place.shell(&line).code(0).has_escapes());
    let result = place.json("report b");
    assert_balanced(&result);
    assert!(count(&records(&place.path("b")), Outcome::Done) > 1000);
}

#[cfg(feature = "jvm")]
#[test]
fn a_java_binding_needs_java_and_a_url_that_names_a_class() {
    check(&expect![[r#"
        $ assay run ycsb-a --operations 10 -t 'jvm:site.ycsb.BasicDB?java=/no/java'
        jvm:site.ycsb.BasicDB?java=/no/java cannot do this: java= names /no/java, which has no
        lib/server/libjvm.so: it is no Java; install it (`apt-get install
        openjdk-17-jre-headless`), then put `java` into PATH or set JAVA_HOME
        $ assay run ycsb-a --operations 10 -t 'jvm:site.ycsb.BasicDB?p.db.passwd=s3cret&calls=fast'
        store URL "jvm:site.ycsb.BasicDB?p.db.passwd=…&calls=fast" is invalid: option calls is
        inline or blocking, not "fast"; a right one is
        jvm:site.ycsb.BasicDB?p.basicdb.verbose=false&classpath=DIR/*:FILE.jar
    "#]]);
}

#[test]
fn a_run_directory_is_analyzed_without_its_trace() {
    let place = Place::new();
    place.fine("trace gen ycsb-a -o t.trace --operations 1000");
    place.fine("run t.trace -t memory: --run-dir b -q");
    let displayed = place.fine("report b --format json").out;
    place.remove("t.trace");
    place.fine("report b").shows("no failures");
    assert_eq!(place.fine("report b --format json").out, displayed);
    place.refuses("run t.trace -t memory:", "there is no file t.trace");
}

#[test]
fn a_login_without_a_scheme_is_repeated_by_no_command() {
    let place = Place::new();
    place.write("w", "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=10\noperationcount=1");
    for words in [
        "run ycsb-a -t us:s3cret@host:6379",
        "bench ycsb-a -t us:s3cret@host:6379",
        "load ycsb-a -t us:s3cret@host/db",
        "ycsb run us:s3cret@host -P w",
        "ycsb run us:s3cret@host.net -P w",
        "ycsb load basic -P w -p assay.url=us:s3cret@host",
        "run ycsb-a -t redis:us:s3cret@host",
    ] {
        let ran = place.assay(words);
        assert_ne!(ran.code, Some(0), "{words}");
        assert!(!ran.out.contains("s3cret") && !ran.err.contains("s3cret"), "{words}: {}", ran.err);
    }
}
