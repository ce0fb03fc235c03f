//! The control port of runs that go on.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use assay_history::read_events;
use assay_model::{EventKind, Nanos};

use crate::http::{http_request, read, send};
use crate::place::{Place, Running, wait_until};
use crate::run_dir::records;

/// Starts a command with a port that the system chooses, and returns when it is open.
pub fn start(place: &Place, words: &str) -> (Running, SocketAddr) {
    let running = place.start(words);
    let address = || {
        let said = running.said();
        let from = said.split_once("control port: http://")?.1;
        from.split_once('/')?.0.parse().ok()
    };
    wait_until("the port is open", || address().is_some());
    let address = address().expect("it was there");
    (running, address)
}

/// Ends the run, which is interrupted then.
fn stop(running: Running, address: SocketAddr) {
    assert_eq!(http_request(address, "POST", "/stop", "").status, 200);
    running.wait().code(130);
}

/// Waits until the workers issue operations and the first interval has figures.
fn wait_for_figures(address: SocketAddr) {
    wait_until("there are figures", || {
        !http_request(address, "GET", "/", "").json()["last_interval"].is_null()
    });
}

#[test]
fn a_rate_is_changed_while_the_run_goes_on() {
    let place = Place::new();
    let words = "run ycsb-c -t null: --rate 2k/s --arrivals constant --duration 40s --floor 0s \
                 --run-dir b -q --port 0 --threads 2";
    let (running, address) = start(&place, words);
    wait_for_figures(address);
    let status = http_request(address, "GET", "/", "").json();
    assert_eq!((&status["state"], &status["model"]), (&"running".into(), &"open".into()));
    assert_eq!(status["rate_per_s"], 2000.0);

    let answer = http_request(address, "POST", "/rate", "8k/s");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let change = answer.json();
    assert_eq!((&change["before_per_s"], &change["rate_per_s"]), (&2e3.into(), &8e3.into()));
    let from = Nanos(change["from_ns"].as_u64().unwrap());
    let achieved =
        || http_request(address, "GET", "/", "").json()["last_interval"]["achieved_per_s"].clone();
    wait_until("the rate is reached", || achieved().as_f64() > Some(7500.0));
    let metrics = http_request(address, "GET", "/metrics", "").body;
    assert!(metrics.contains("\nassay_intended_rate 8000\n"), "{metrics}");

    assert_eq!(http_request(address, "POST", "/rate", "fast").status, 400);
    stop(running, address);

    let events = read_events(&place.path("b")).unwrap();
    let changes: Vec<_> = events.iter().filter(|event| event.kind == EventKind::Change).collect();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0].at, from);
    assert!(changes[0].text.contains("8000"), "{changes:?}");
    let records = records(&place.path("b"));
    let intended = |from: Nanos, until: Nanos| {
        let within = records.iter().filter(|of| (from..until).contains(&of.intended));
        within.count() as f64 / until.since(from).as_secs_f64()
    };
    let half = Nanos::from_millis(500);
    assert_eq!(intended(from.since(half), from).round(), 2000.0);
    assert_eq!(intended(from, from + half).round(), 8000.0);
}

#[test]
fn a_tune_whose_step_is_stopped_is_over() {
    let place = Place::new();
    let words = "tune ycsb-c -t null: --slo p50<10s --min 1k --step 30s --floor 0s --run-dir t -q \
                 --port 0";
    let (running, address) = start(&place, words);
    wait_for_figures(address);
    stop(running, address);
    assert_eq!(place.list("t"), ["step-001", "tune.json"]);
}

#[test]
fn a_closed_load_is_watched_but_has_no_rate() {
    let place = Place::new();
    let words = "run ycsb-a -t null:?spin=100us --closed 2 --duration 30s --run-dir b -q --port 0 \
                 --floor 0s";
    let (running, address) = start(&place, words);
    wait_for_figures(address);
    let answer = http_request(address, "POST", "/rate", "5k/s");
    assert_eq!(answer.status, 409);
    assert!(answer.body.contains("the load is closed"), "{}", answer.body);
    let metrics = http_request(address, "GET", "/metrics", "");
    assert!(metrics.head.contains("text/plain; version=0.0.4"), "{}", metrics.head);
    for series in [
        "assay_operations_total{kind=\"read\",outcome=\"done\"} ",
        "assay_operations_total{kind=\"update\",outcome=\"done\"} ",
        "assay_response_recent_seconds{kind=\"read\",quantile=\"0.99\"} ",
        "assay_service_seconds_bucket{kind=\"update\",le=\"+Inf\"} ",
        "model=\"closed\"",
    ] {
        assert!(metrics.body.contains(series), "{series} is not in\n{}", metrics.body);
    }
    assert!(!metrics.body.contains("assay_intended_rate"), "{}", metrics.body);
    stop(running, address);
}

#[test]
fn hostile_clients_do_not_disturb_others() {
    let place = Place::new();
    let words = "run ycsb-c -t null: --rate 1k/s --duration 40s --run-dir b -q --port 0 --floor 0s";
    let (running, address) = start(&place, words);
    wait_for_figures(address);

    let head = "POST /rate HTTP/1.1\r\nHost: it\r\nContent-Length: 1000000000\r\n\r\n";
    let long = send(address, &format!("{head}{}", "9".repeat(4096)));
    assert_eq!(read(long).status, 413);
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(1000));
    assert_eq!(read(send(address, &many)).status, 431);
    let page = "POST /stop HTTP/1.1\r\nOrigin: http://example.com\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(read(send(address, page)).status, 403);

    // More callers than there are places, none of whom says what they want.
    let silent: Vec<_> = (0..40).map(|_| send(address, "GET / HT")).collect();
    let begun = Instant::now();
    assert_eq!(http_request(address, "GET", "/", "").json()["state"], "running");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    drop(silent);
    stop(running, address);
}

#[test]
fn a_load_is_watched() {
    let place = Place::new();
    let words = "load ycsb-a -t null:?spin=100us --records 1M --closed 1 --run-dir b -q --port 0";
    let (running, address) = start(&place, words);
    wait_for_figures(address);
    let status = http_request(address, "GET", "/", "").json();
    assert_eq!(
        (&status["phase"], &status["processes"]["planned"]),
        (&"load".into(), &1_000_000.into())
    );
    stop(running, address);
}

#[test]
fn ycsb_has_a_port_by_property() {
    let place = Place::new();
    place.write("w", "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=10\n");
    let words = "ycsb run basic -P w -p operationcount=0 -p maxexecutiontime=30 -s \
                 -p status.interval=1 -p assay.port=0 -target 500";
    let (running, address) = start(&place, words);
    wait_for_figures(address);
    wait_until("a status line has a count", || running.said().contains("[READ: Count="));
    stop(running, address);
}

#[test]
fn an_unusable_port_is_an_error_before_any_operation_is_issued() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    for (port, said) in [
        (taken.to_string().as_str(), "cannot listen on 127.0.0.1"),
        ("0.0.0.0:0", "say --port-any"),
        ("http", "names no port"),
    ] {
        place.refuses(&format!("run ycsb-c -t null: --operations 5 --port {port}"), said);
    }
    assert!(place.list("runs").is_empty());
}
