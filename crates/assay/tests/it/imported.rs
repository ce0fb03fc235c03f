//! Traces of others: imported, described, loaded, replayed, fitted.

use assay_history::State;
use assay_model::{Kind, Nanos};

use crate::place::Place;
use crate::redis_server::Server;
use crate::run_dir::{assert_sealed, counted, intended, manifest, records, requested};

/// Twenty requests a second for `seconds`: of ten keys in turn, five are read, two set, two
/// changed, one is removed each time.
fn twitter(seconds: u64) -> String {
    let mut text = String::new();
    for line in 0..20 * seconds {
        let (key, verb) = (line % 10, line * 7 % 10);
        let verb = ["get", "get", "set", "get", "gets", "get", "add", "incr", "cas", "delete"]
            [verb as usize];
        let (second, size) = (1_583_990_400 + line / 20, 50 + 100 * key);
        text += &format!("{second},tenant:{key},{},{size},7,{verb},0\n", 20 + key);
    }
    text
}

/// The operations that a trace has of each kind, in the words of `trace stat`.
#[track_caller]
fn kinds(place: &Place, trace: &str) -> Vec<u64> {
    let reported = place.fine(&format!("trace stat {trace}")).out;
    let count = |kind: Kind| {
        let line = reported.lines().find_map(|line| {
            line.strip_prefix("operations ")?.trim_start().strip_prefix(kind.name())
        });
        line.expect("every kind is reported").trim().parse().expect("a count is a number")
    };
    Kind::OF_RECORDS.into_iter().map(count).collect()
}

#[test]
fn a_trace_of_twitter_is_loaded_then_replayed_at_its_own_times() {
    let place = Place::new();
    place.write("cache.csv", twitter(2));
    let reported = place.fine("trace import twitter cache.csv");
    let reported = reported.shows("cache.csv: 40 lines, 40 requests").shows("keys 10");
    reported.shows("cache.load.trace: 8 records").shows("assay bench cache.trace -t URL");
    // Read, update, insert, scan, delete.
    assert_eq!(kinds(&place, "cache.trace"), [20, 8, 8, 0, 4]);
    place.fine("run cache.trace -t memory: --run-dir b -q");
    assert_sealed(&place, "b", State::Finished);
    let times = intended(&place.path("b"));
    let even = |turn: u64| Nanos(turn * 50_000_000);
    assert_eq!(times, (0..40).map(even).collect::<Vec<Nanos>>());
    let records = records(&place.path("b"));
    // All that is read was loaded before.
    let missed = records.iter().filter(|record| record.kind == Kind::Read && !record.found);
    assert_eq!(missed.count(), 0);
    let writes = records.iter().filter(|record| record.kind == Kind::Insert);
    assert!(writes.clone().count() == 8 && writes.clone().all(|record| record.bytes >= 50));
    assert_eq!(manifest(&place, "b").load.settings.arrivals.as_deref(), Some("trace"));
}

#[test]
fn a_replay_has_the_given_speed() {
    let place = Place::new();
    place.write("cache.csv", twitter(2));
    place.fine("trace import twitter cache.csv");
    place.fine("run cache.trace -t memory: --speed 10 --run-dir fast -q");
    let times = intended(&place.path("fast"));
    assert!(times.iter().zip(0..).all(|(time, turn)| time.0.abs_diff(turn * 5_000_000) <= 1));
    place.fine("trace import twitter cache.csv --speed 10 -o fast.trace");
    place.fine("run fast.trace -t memory: --run-dir recorded -q");
    let recorded = intended(&place.path("recorded"));
    assert!(times.iter().zip(&recorded).all(|(one, other)| one.0.abs_diff(other.0) <= 1));
    // A rate has an arrival process of its own; a closed loop has no schedule.
    place.fine("run cache.trace -t memory: --rate 5k/s --run-dir rate -q");
    assert_eq!(manifest(&place, "rate").load.settings.arrivals.as_deref(), Some("poisson"));
    place.fine("run cache.trace -t memory: --closed 1 --run-dir closed -q");
    assert_eq!(requested(&place.path("closed")).len(), 40);
    let wrong = "run cache.trace -t memory: --rate 5k/s --speed 2";
    place.refuses(wrong, "--speed: --rate says already how fast");
}

#[test]
fn a_bench_fills_the_store_before_it_replays() {
    let (server, place) = (Server::start(&[]), Place::new());
    place.write("cache.csv", twitter(3));
    place.fine("trace import twitter cache.csv --speed 10");
    let result = place.json(&format!("bench cache.trace -t {} --run-dir b -q", server.url("")));
    let counts = ["offered", "done", "refused"].map(|name| counted(&result, name));
    assert_eq!(counts, [60, 60, 0]);
    // The key has the length that was recorded: 20 bytes for tenant:0 up to 29 for tenant:9.
    let keys = server.cli("keys ?????????????????????????*");
    assert!(keys.lines().all(|key| (25..=29).contains(&key.trim_matches('"').len())), "{keys}");
    assert!(server.cli("keys ????????????????????").lines().count() <= 1);
    // Another run of the same trace finds its data set, that of another trace does not.
    place.write("other.csv", twitter(3).replace("tenant", "client"));
    place.fine("trace import twitter other.csv");
    let other = place.assay(&format!("run other.trace -t {}", server.url(""))).code(2);
    other.says("dataset.preload is");
}

#[test]
fn every_format_keeps_its_operations() {
    let place = Place::new();
    let mut cachelib = "op_time,key,key_size,op,op_count,size,cache_hits\n".to_owned();
    let (mut oracle, mut monitor, mut replay) = (Vec::new(), "OK\n".to_owned(), String::new());
    for line in 0..60u32 {
        let (second, key, size) = (line / 10, line % 7, 30 + line);
        let verb = ["GET", "SET", "DELETE", "GET_LEASE"][line as usize % 4];
        cachelib += &format!("{second},k{key},9,{verb},{},{size},1\n", 1 + line % 3);
        oracle.extend(second.to_le_bytes());
        oracle.extend(u64::from(key).to_le_bytes());
        oracle.extend(size.to_le_bytes());
        oracle.extend((-1i64).to_le_bytes());
        let words = ["\"GET\" \"k\"", "\"SET\" \"k\" \"abc\"", "\"DEL\" \"k\"", "\"PING\""];
        monitor += &format!("{second}.{line:06} [0 127.0.0.1:5] {}\n", words[line as usize % 4]);
        let verb = ["READ", "INSERT", "DELETE", "UPDATE"][line as usize % 4];
        replay += &format!("{verb},k{key},{},{size}\n", line * 17);
    }
    place.write("cachelib.csv", cachelib).write("oracle.bin", oracle);
    place.write("monitor.txt", monitor).write("replay.csv", replay);
    for (format, file, expected) in [
        ("cachelib", "cachelib.csv", [60, 0, 30, 0, 30]),
        ("oracle", "oracle.bin", [60, 0, 0, 0, 0]),
        ("monitor", "monitor.txt", [15, 0, 15, 0, 15]),
        ("kv-replay", "replay.csv", [15, 15, 15, 0, 15]),
    ] {
        let reported = place.fine(&format!("trace import {format} {file} -o {format}.trace"));
        if format == "monitor" {
            reported.shows("left out 15 lines: PING 15");
        }
        assert_eq!(kinds(&place, &format!("{format}.trace")), expected, "{format}");
        let result = place.json(&format!("bench {format}.trace -t memory: --speed 50 -q"));
        assert_eq!(counted(&result, "done"), expected.iter().sum::<u64>(), "{format}");
    }
}

#[test]
fn samples_with_copies_add_up() {
    let place = Place::new();
    place.write("cache.csv", twitter(10));
    let operations = |more: &str| -> u64 {
        place.fine(&format!("trace import twitter cache.csv -o t.trace {more}"));
        kinds(&place, "t.trace").iter().sum()
    };
    assert_eq!(operations(""), 200);
    assert_eq!(operations("--replicate 3"), 600);
    assert_eq!(operations("--operations 70"), 70);
    // Every key is read twenty times; a sample keeps whole keys.
    let sample = operations("--sample-keys 50%");
    assert!(sample > 0 && sample < 200 && sample % 20 == 0, "{sample}");
    let hash = |more: &str| {
        let reported = place.fine(&format!("trace import twitter cache.csv -o t.trace {more}")).out;
        reported.lines().find(|line| line.starts_with("trace ")).map(str::to_owned)
    };
    assert_eq!(hash(""), hash("--spread random --seed 5"), "when is not what");
}

#[test]
fn packed_files_are_read_as_they_are_or_from_a_pipe() {
    let place = Place::new();
    place.write("cache.csv", twitter(5));
    let mut pack = place.program("gzip");
    pack.args(["-k", "cache.csv"]);
    place.spawn(pack).wait().code(0);
    let plain = place.fine("trace import twitter cache.csv -o a.trace").shows("100 lines");
    place.fine("trace import twitter cache.csv.gz").shows("100 lines").shows("cache.trace");
    let hash = |out: &str| out.split("hash ").nth(1).map(|rest| rest[..32].to_owned());
    let reported = place.fine("trace import twitter cache.csv.gz -o b.trace").out;
    assert_eq!(hash(&reported), hash(&plain.out));
    let mut command = place.command("trace import twitter - -o c.trace");
    command.stdin(std::fs::File::open(place.path("cache.csv.gz")).expect("it was packed"));
    let reported = place.spawn(command).wait().code(0).shows("standard input: 100 lines");
    assert_eq!(hash(&reported.out), hash(&plain.out));
    place.refuses("trace import twitter -", "give -o OUT.trace");
}

#[test]
fn bad_files_are_refused_with_what_is_wrong() {
    let place = Place::new();
    let good = twitter(1);
    place.write(
        "bad.csv",
        format!("{good}1583990500,key,not a size,1,1,get,0\n1583990000,a,1,1,1,get,0\n{good}"),
    );
    place.write("empty.csv", "").write("good.csv", &good);
    place.write("header.csv", "key,op,size,op_count,key_size\na,GET,1,1,1\n");
    place.write("cut.bin", [[7u8; 24].as_slice(), &[7; 5]].concat());
    for (words, said) in [
        ("twitter bad.csv", "bad.csv: line 21: key size \"not a size\" is no whole number"),
        ("twitter bad.csv", "--skip-bad N passes over up to N such lines"),
        ("twitter bad.csv --skip-bad 1", "line 22: its time is 400.00 s before"),
        ("twitter bad.csv --skip-bad 1", "the one bad line that --skip-bad allows came before"),
        ("twitter header.csv", "looks like CacheLib's (a header that names op or key)"),
        ("cachelib good.csv", "give `assay trace import twitter`"),
        ("oracle good.csv", "give `assay trace import twitter`"),
        ("twitter empty.csv", "empty.csv: it is empty; twitter expects timestamp,key"),
        ("monitor good.csv", "give `assay trace import twitter`"),
        ("twitter nowhere.csv", "cannot read nowhere.csv"),
        ("twiter good.csv", "there is no format \"twiter\" (did you mean \"twitter\"?)"),
        ("twitter", "which file? `assay trace import twitter FILE`"),
        ("twitter good.csv --sample-keys 2", "--sample-keys: give a share above 0, at most 1"),
        ("twitter good.csv --replicate 0", "--replicate: give a whole number from 1"),
        ("twitter good.csv --speed 0", "--speed: give a factor above 0"),
        ("twitter good.csv --spread odd", "--spread: \"odd\" is neither even nor random"),
    ] {
        place.refuses(&format!("trace import {words} -o out.trace"), said);
        assert!(!place.path("out.trace").exists(), "{words}");
    }
    let cut = "record 2: the file ends 5 bytes into a record of 24";
    place.refuses("trace import oracle cut.bin -o out.trace", cut);
    let reported = place.fine("trace import twitter bad.csv --skip-bad 1k -o some.trace");
    reported.shows("bad lines 2 passed over; line 21: key size").shows("operations 40:");
}

#[test]
fn the_two_traces_stay_together() {
    let place = Place::new();
    place.write("cache.csv", twitter(1));
    place.fine("trace import twitter cache.csv");
    let cut = place.path("cache.load.trace");
    std::fs::rename(&cut, place.path("away.trace")).expect("it was written");
    let lonely = "cache.trace needs it: `assay trace import` wrote both";
    place.refuses("load cache.trace -t memory:", lonely);
    place.fine("trace import twitter cache.csv --operations 5 -o other.trace");
    std::fs::rename(place.path("other.load.trace"), &cut).expect("it was written");
    place.refuses("load cache.trace -t memory:", "was imported beside one with");
    let wrong = "is the data for the trace next to it";
    place.refuses("load cache.load.trace -t memory:", wrong);
}

#[test]
fn a_trace_that_needs_no_load_is_run_all_the_same() {
    let place = Place::new();
    place.write("sets.csv", "1,a,5,100,1,set,9\n1,a,5,100,1,get,0\n2,b,5,10,1,add,9\n");
    place.fine("trace import twitter sets.csv").shows("to be there nothing");
    place.fine("load sets.trace -t memory: -q");
    let result = place.json("bench sets.trace -t memory: --speed 9 -q");
    assert_eq!((counted(&result, "done"), counted(&result, "misses")), (3, 0));
    // A spec that names recorded lengths needs its trace.
    let spec = "[dataset]\nrecords = 9\nfields = 1\nfield_length = \"recorded\"\n\
                [operations]\nread = 1\n";
    place.write("alone.toml", spec);
    let words = "run alone.toml -t null: --operations 5";
    place.refuses(words, "says that a trace records its lengths, but it is no trace");
}

#[test]
fn a_fitted_spec_resembles_its_trace() {
    let place = Place::new();
    let mut text = String::new();
    for line in 0..20_000u64 {
        // Ranks up to x have ln x / ln 500 of all requests: Zipf's law with exponent 1.
        let unit = (line * 7919 % 20_000) as f64 / 20_000.0;
        let rank = 500f64.powf(unit) as u64;
        let verb = if line % 5 == 0 { "set" } else { "get" };
        let (second, size) = (100 + line / 1000, 100 + rank % 3 * 400);
        text += &format!("{second},k{rank},{},{size},1,{verb},0\n", 12 + rank % 20);
    }
    place.write("zipf.csv", text);
    place.fine("trace import twitter zipf.csv");
    let reported = place.fine("trace fit zipf.trace").shows("zipf with exponent 0.9");
    let next = "assay bench zipf.toml -t URL --rate 1000.0/s";
    let reported = reported.shows("read 80.00 %").shows(next).out;
    let pairs = |name: &str| -> Vec<f64> {
        let line = reported.lines().find(|line| line.starts_with(name)).expect("it is reported");
        let words = line[name.len()..].split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    for (name, apart) in
        [("hottest 10.00 % of keys", 3.0), ("values, mean", 1.0), ("keys, mean", 0.1)]
    {
        let found = pairs(name);
        assert!((found[0] - found[1]).abs() <= apart, "{name}: {found:?}");
    }
    place.fine("bench zipf.toml -t memory: --operations 2000 --seed 1 -q");
    place.refuses("trace fit zipf.toml", "zipf.toml is no trace");
}

#[test]
fn a_preset_is_shown_with_its_source_to_be_copied() {
    let place = Place::new();
    let displayed = place.fine("workloads show twitter-cluster-12").out;
    for words in ["CC BY 4.0", "set 0.80, get 0.20", "key_length = 44", "theta = 0.30"] {
        assert!(displayed.contains(words), "no {words} in\n{displayed}");
    }
    place.fine("workloads show facebook-etc").shows("SIGMETRICS 2012");
    place.fine("workloads show rocksdb-mixgraph").shows("FAST 2020");
    place.fine("workloads ls").shows("twitter-cluster-N 53 production caches of Twitter");
    place.refuses("workloads ls zzz", "no built-in workload begins with \"zzz\"");
    place.fine("workloads copy twitter-cluster-12 mine.toml");
    place.fine("bench mine.toml -t memory: --set dataset.records=500 --operations 500 -q");
}
