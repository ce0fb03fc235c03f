//! A real Redis, healthy at first.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use assay_history::State;
use assay_model::{Outcome, Reason};

use crate::place::{Place, until_issuing, wait_until};
use crate::redis_server::{Server, monitor};
use crate::run_dir::{
    assert_balanced, assert_sealed, count, counted, figure, manifest, number, records, text,
};

/// How many records a server holds.
fn records_in(server: &Server) -> u64 {
    server.cli("zcard _indices").parse().unwrap_or(0)
}

/// A server that holds a data set of 300 records.
fn loaded() -> (Server, Place) {
    let (server, place) = (Server::start(&[]), Place::new());
    place.fine(&format!("load ycsb-a --records 300 --seed 5 -t {} -q", server.url("")));
    (server, place)
}

#[test]
fn a_loaded_server_is_read_without_a_miss() {
    let (server, place) = loaded();
    // Three hundred records with the index of their keys beside our note.
    assert_eq!(records_in(&server), 300);
    for spec in ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-e", "ycsb-f"] {
        let words = format!("run {spec} --records 300 --operations 400 -t {}", server.url(""));
        let result = place.json(&format!("{words} --run-dir {spec} -q"));
        assert_balanced(&result);
        assert_eq!(counted(&result, "misses"), 0, "{spec}");
        let counts = ["done", "offered"].map(|name| counted(&result, name));
        assert_eq!(counts[0], counts[1], "{spec}");
        assert_sealed(&place, spec, State::Finished);
        place.fine(&format!("load ycsb-a --records 300 --seed 5 --fresh -t {} -q", server.url("")));
    }
    // What the server promises of its data is in the report.
    place.fine("report ycsb-c").shows("Store settings").shows("appendonly");
}

#[test]
fn an_open_loop_over_two_workers_reaches_its_rate() {
    let (server, place) = loaded();
    let words = "--records 300 --rate 2k/s --arrivals constant --duration 500ms --threads 2";
    let url = server.url("?connections=2");
    let result = place.json(&format!("run ycsb-b {words} -t {url} -q"));
    assert_eq!(counted(&result, "done"), 1000);
}

#[test]
fn another_data_set_than_was_loaded_is_refused_with_what_differs() {
    let (server, place) = loaded();
    let run = |words: &str| place.assay(&format!("run {words} -t {} -q", server.url("")));
    let words = "ycsb-a --records 400 --operations 10";
    let ran = run(words).code(2).says("holds another data set than this run wants");
    let ran = ran.says("400").says("300").says("--force");
    assert_eq!(ran.out, "");
    run("ycsb-a --records 300 --operations 10 -p fieldcount=5").code(2).says("fields");
    run("ycsb-a --records 300 --operations 10 -p insertorder=ordered").code(2).says("key_order");
    run(&format!("{words} --force")).code(0).says("warning").says("--force");
}

#[test]
fn a_server_that_assay_did_not_load_is_run_with_a_warning() {
    let (server, place) = (Server::start(&[]), Place::new());
    let words = format!("run ycsb-c --records 10 --operations 20 -t {}", server.url(""));
    let ran = place.fine(&format!("{words} --format json"));
    assert_eq!(counted(&ran.json(), "misses"), 20, "nothing is there");
    ran.says("does not say what was loaded into it");
}

#[test]
fn a_password_reaches_the_cells_of_a_study() {
    let (server, place) = (Server::start(&["--requirepass", "right"]), Place::new());
    let text = format!(
        "operations = 10\nrecords = 10\nworkloads = [\"ycsb-c\"]\n[[store]]\nname = \"s\"\n\
         url = \"redis://:right@127.0.0.1:{}\"\n",
        server.port
    );
    place.write("s.toml", text);
    place.fine("study s.toml --quiet --replace");
    let record = place.read("runs/studies/s/cells/s-ycsb-c-closed-1-r1/cell.toml");
    assert!(record.contains("redis://…@127.0.0.1") && !record.contains("right@"), "{record}");
}

#[test]
fn a_wrong_password_is_an_error_before_any_operation_is_issued() {
    let (server, place) = (Server::start(&["--requirepass", "right"]), Place::new());
    let url = |password: &str| format!("redis://:{password}@127.0.0.1:{}", server.port);
    for url in [url("wrong"), server.url("")] {
        let ran = place.assay(&format!("load ycsb-a --records 10 -t {url} -q")).code(4);
        let ran = ran.says("password");
        assert!(!ran.err.contains("wrong@"), "{}", ran.err);
    }
    assert_eq!(place.list("runs"), Vec::<String>::new());
    place.fine(&format!("load ycsb-a --records 10 -t {} --run-dir b -q", url("right")));
    let kept = place.read("b/run.toml");
    assert!(!kept.contains("right@"), "the password is in the run directory:\n{kept}");
    place.write("secret", "right\n");
    let url = server.url("?password_file=secret");
    place.fine(&format!("run ycsb-a --records 10 --operations 10 -t {url} -q"));
}

#[test]
fn a_server_that_dies_during_a_load_tells_how_far_it_came() {
    let (mut server, place) = (Server::start(&[]), Place::new());
    let words = format!("load ycsb-a --records 5M -t {} --closed 4 --run-dir b", server.url(""));
    let running = place.start(&words);
    wait_until("some records are in", || records_in(&server) > 500);
    server.kill();
    let ran = running.wait().code(4).shows("FAILED: the load stopped because the insert of record");
    ran.shows("load again with --fresh");
    assert_sealed(&place, "b", State::Failed);
    let done = count(&records(&place.path("b")), Outcome::Done);
    let reason = manifest(&place, "b").reason.expect("a failure has one");
    assert!(done >= 500 && reason.contains(&format!("{done} records")), "{done}: {reason}");
}

#[test]
fn a_store_with_an_unfinished_load_is_refused() {
    let (server, place) = (Server::start(&[]), Place::new());
    let url = server.url("");
    let running = place.start(&format!("load ycsb-a --records 5M -t {url} --run-dir b -q"));
    wait_until("some records are in", || records_in(&server) > 100);
    running.signal(rustix::process::Signal::INT);
    running.wait().code(130);
    let words = format!("run ycsb-a --records 5M --operations 10 -t {url} -q");
    place.refuses(&words, "the load of it did not come to its end");
    place.fine(&format!("load ycsb-a --records 100 -t {url} --fresh -q"));
    place.fine(&format!("run ycsb-a --records 100 --operations 10 -t {url} -q"));
    assert_eq!(records_in(&server), 100);
}

#[test]
fn a_server_that_dies_during_a_run_is_an_outage_in_it() {
    let (mut server, place) = loaded();
    let words = "run ycsb-b --records 300 --rate 1k/s --arrivals constant --duration 8s";
    let words = format!("{words} --timeout 500ms --run-dir b -t {} --format json", server.url(""));
    let running = place.start(&words);
    until_issuing(&place);
    server.kill();
    std::thread::sleep(Duration::from_millis(1200));
    server.restart();
    let result = running.wait().code(0).json();
    assert_balanced(&result);
    assert_sealed(&place, "b", State::Finished);
    let counts = |name: &str| counted(&result, name);
    assert_eq!(counts("offered"), 8000);
    let failed = counts("refused") + counts("unknown");
    assert!((600..6000).contains(&failed), "{failed} failed");
    assert!(counts("misses") > 500, "the server came back empty: {} misses", counts("misses"));
    let outages = result["availability"]["outages"].as_array();
    assert!(!outages.unwrap().is_empty(), "{}", result["availability"]);
    let down = number(&result, "/availability/down_ns");
    assert!((500_000_000..6_000_000_000).contains(&down), "{down} ns");
    let records = records(&place.path("b"));
    let allowed = [Reason::Unreachable, Reason::ConnectionLost, Reason::Timeout, Reason::Busy];
    for record in records.iter().filter(|record| record.outcome != Outcome::Done) {
        assert!(allowed.contains(&record.reason), "{record:?}");
    }
    let last = records.iter().max_by_key(|record| record.intended).unwrap();
    assert_eq!(last.outcome, Outcome::Done, "the server came back: {last:?}");
    place.fine("report b").shows("outage");
}

#[test]
fn the_zero_of_the_time_axis_is_the_moment_that_is_said() {
    let (server, place) = loaded();
    let observed = place.path("seen");
    let monitor = monitor(&server, &observed);
    wait_until("somebody looks on", || place.read("seen").starts_with("OK"));
    // The floor lies between the start of the command and that of the run.
    let words = "run ycsb-c --records 300 --operations 50 --closed 1 --floor 300ms --run-dir b";
    let result = place.json(&format!("{words} -t {}", server.url("")));
    let zero = figure(&result, "/run/started_unix_ms") / 1e3;
    let moments = || -> Vec<f64> {
        let text = place.read("seen");
        let reads = text.lines().filter(|line| line.contains("\"user"));
        reads.map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect()
    };
    wait_until("all was seen", || moments().len() >= 50);
    drop(monitor);
    for (record, moment) in records(&place.path("b")).iter().zip(moments()) {
        // One millisecond for rounding, another one for a correction of the wall clock.
        let (from, until) = (record.started.as_secs_f64(), record.ended.as_secs_f64());
        let at = moment - zero;
        assert!(from - 1e-3 <= at && at <= until + 2e-3, "{at} is not in {from}..{until}");
    }
}

#[test]
fn the_bound_that_holds_is_the_one_that_is_said() {
    let (server, place) = loaded();
    let words = "run ycsb-c --records 300 --rate 200/s --operations 20 --threads 1 --floor 0s";
    let run = |options: &str, more: &str| {
        let json = place.json(&format!("{words} {more} -t {}", server.url(options)));
        (text(&json, "/load/text").to_owned(), figure(&json, "/in_flight/by_service/limit"))
    };
    let (said, limit) = run("?connections=2&depth=16", "");
    assert!(said.contains("at most 32 in flight (what its connections take"), "{said}");
    assert_eq!(limit, 32.0);
    let (said, limit) = run("?connections=2&depth=16", "--in-flight 8");
    assert!(said.contains("at most 8 in flight, then queue"), "{said}");
    assert_eq!(limit, 8.0);
}

#[test]
fn a_frozen_server_leaves_answers_unknown() {
    let (server, place) = loaded();
    let words = "run ycsb-c --records 300 --rate 500/s --arrivals constant --duration 4s";
    let words = format!("{words} --timeout 300ms --run-dir b -q -t {}", server.url(""));
    let running = place.start(&words);
    until_issuing(&place);
    server.freeze();
    running.wait().code(0);
    assert_sealed(&place, "b", State::Finished);
    let records = records(&place.path("b"));
    let unknown: Vec<_> = records.iter().filter(|r| r.outcome == Outcome::Unknown).collect();
    // A connection that is silent for long is given up with what waits there.
    let allowed = [Reason::Timeout, Reason::ConnectionLost];
    assert!(unknown.iter().all(|record| allowed.contains(&record.reason)));
    let timed_out = unknown.iter().filter(|record| record.reason == Reason::Timeout).count();
    assert!(timed_out > 100, "{timed_out} of {} have timed out", unknown.len());
    assert_eq!(records.len(), 2000);
}

#[test]
fn a_server_without_memory_is_said_to_be_full() {
    let limits = ["--maxmemory", "2mb", "--maxmemory-policy", "noeviction"];
    let (server, place) = (Server::start(&limits), Place::new());
    let words = format!("load ycsb-a --records 50k --run-dir b -t {} -q", server.url(""));
    let ran = place.assay(&words).code(1).shows("(full)");
    ran.shows("FAILED: the load stopped because the insert of record");
    assert_sealed(&place, "b", State::Failed);
    assert_eq!(text(&place.json("report b"), "/overall/counts/reasons/0/reason"), "full");
}

#[test]
fn a_read_only_server_is_reported_before_the_load() {
    let (server, place) = (Server::start(&[]), Place::new());
    server.cli("replicaof 127.0.0.1 1");
    let ran = place.assay(&format!("load ycsb-a --records 10 -t {} -q", server.url("")));
    ran.code(1).says("READONLY");
    assert_eq!(place.list("runs"), Vec::<String>::new());
}

#[test]
fn another_protocol_is_reported_with_its_first_bytes() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            // Closed only when the other side has seen it.
            let _ = socket.read_to_end(&mut Vec::new());
        }
    });
    let ran = place.assay(&format!("load ycsb-a --records 10 -t redis://127.0.0.1:{port} -q"));
    ran.code(4).says("it is no Redis").says("HTTP/1.1 400 Bad Request");
}

#[test]
fn an_unsupported_url_is_a_usage_error() {
    let (server, place) = (Server::start(&[]), Place::new());
    for (rest, said) in [
        ("/99", "there is no database 99"),
        ("?conections=2", "did you mean \"connections\""),
        ("/nought", "nought"),
    ] {
        let words = format!("run ycsb-a --records 10 --operations 5 -t {} -q", server.url(rest));
        place.refuses(&words, said);
    }
}
