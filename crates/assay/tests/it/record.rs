//! Recordings of what passes between clients and a Redis.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;

use crate::lab::Labs;
use crate::place::{Place, Running, wait_until};
use crate::redis_server::{Server, monitor};
use crate::run_dir::text;

/// A recording of a Redis that has begun, and the port of its clients.
fn record(place: &Place, server: &Server, more: &str) -> (Running, u16) {
    record_at(place, &server.url(""), more)
}

/// A recording that has begun, and the port of its clients.
fn record_at(place: &Place, to: &str, more: &str) -> (Running, u16) {
    let words = format!("trace record --listen 127.0.0.1:0 --to {to} -o rec.trace {more}");
    let running = place.start(&words);
    wait_until("it records", || running.said().contains("recording what"));
    let said = running.said();
    let port = said.split("127.0.0.1:").nth(1).and_then(|rest| rest.split(' ').next());
    let port = port.and_then(|port| port.parse().ok());
    (running, port.unwrap_or_else(|| panic!("{said}")))
}

/// The operations of a trace without their times, in their order.
fn operations(place: &Place, trace: &str) -> Vec<String> {
    let csv = place.fine(&format!("trace export {trace}")).out;
    let mut lines = csv.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let at = names.iter().position(|name| name.starts_with("intended")).expect("it has times");
    let without = |line: &str| {
        let cells = line.split(',').enumerate().filter(|(place, _)| *place != at);
        cells.map(|(_, cell)| cell).collect::<Vec<_>>().join(",")
    };
    lines.map(without).collect()
}

#[test]
fn a_recorded_run_is_what_the_server_saw_and_is_replayed() {
    let (place, server) = (Place::new(), Server::start(&[]));
    place.fine(&format!("load ycsb-a -t {} --records 200 --no-config", server.url("")));
    let monitor = monitor(&server, &place.path("monitor.txt"));
    wait_until("it monitors", || place.read("monitor.txt").contains("OK"));
    let (running, port) = record(&place, &server, "");
    place.fine(&format!(
        "run ycsb-a -t redis://127.0.0.1:{port} --records 200 --operations 1000 --rate 2000 \
         --threads 1 --no-config"
    ));
    running.signal(Signal::TERM);
    running.wait().code(0).shows("schedule").shows("left out");
    drop(monitor);
    place.fine("trace import monitor monitor.txt -o monitor.trace");
    let recorded = operations(&place, "rec.trace");
    assert!(recorded.len() >= 1000, "{}", recorded.len());
    assert_eq!(recorded, operations(&place, "monitor.trace"));

    let info = place.fine("trace info rec.trace --verify").out;
    assert!(info.contains("its own; `assay run` replays it"), "{info}");
    server.cli("FLUSHALL");
    let ran = place.fine(&format!("bench rec.trace -t {} --no-config", server.url("")));
    assert!(ran.out.contains("trace"), "{}", ran.out);
}

#[test]
fn statements_of_a_postgresql_are_recorded_and_replayed() {
    let labs = Labs::new();
    let place = &labs.place;
    labs.lab("up postgres --stay --install").code(0);
    let url = text(&labs.status(), "/url").to_owned();
    let rest = url.split_once("://").expect("it is a URL").1;
    let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
    let store = rest.split(['/', '?']).next().expect("it has a host").to_owned();
    place.fine(&format!("load ycsb-a -t {url} --records 200"));
    let (running, port) = record_at(place, &format!("postgres://{store}"), "");
    let through = url.replace(&store, &format!("127.0.0.1:{port}"));
    let json = place.json(&format!(
        "run ycsb-a -t {through} --records 200 --operations 500 --rate 500 --threads 2 \
         --scrape-every 200ms --scrape store"
    ));
    let psql = |sql: &str| {
        let done = place.program("psql").args([&through, "-qc", sql]).output();
        assert!(done.expect("it came with the server").status.success(), "{sql}");
    };
    psql("SELECT field0 FROM usertable WHERE ycsb_key = 'user1'");
    psql("DELETE FROM usertable WHERE ycsb_key = 'nobody'");
    running.signal(Signal::TERM);
    let ran = running.wait().code(0);
    let done = |kind: &str| json["kinds"][kind]["counts"]["done"].as_u64().unwrap_or_default();
    let (reads, updates) = (done("read"), done("update"));
    assert_eq!(reads + updates, 500, "{json:#}");
    let (all, reads) = (reads + updates + 2, reads + 1);
    ran.shows(&format!("operations {all}: {reads} read, {updates} update, 1 delete"));
    let scraped = json["scraped"].as_array().expect("it was read");
    assert!(scraped.iter().any(|one| one["metric"] == "xact_commit_total"), "{scraped:?}");
    place.fine(&format!("bench rec.trace -t {url} --replace"));
}

#[test]
fn a_recording_ends_with_its_time_and_leaves_nothing_out_silently() {
    let (place, server) = (Place::new(), Server::start(&[]));
    let (running, port) = record(&place, &server, "--for 1500ms --value-size 7");
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut other = TcpStream::connect(("127.0.0.1", port)).unwrap();
    other.write_all(b"*1\r\n:5\r\n").unwrap();
    client.write_all(b"SET a 12345\r\nLPUSH l 1\r\nGET a\r\nHDEL h f\r\n").unwrap();
    let expected = "+OK\r\n:1\r\n$5\r\n12345\r\n:0\r\n";
    let mut replies = vec![0; expected.len()];
    client.read_exact(&mut replies).unwrap();
    assert_eq!(String::from_utf8(replies).unwrap(), expected, "what passes is not changed");
    let ran = running.wait().code(1);
    ran.shows("3 requests")
        .shows("LPUSH 1")
        .shows("INCOMPLETE: 1 connections did not speak the protocol");
    let csv = place.fine("trace export rec.trace").out;
    assert!(csv.contains("insert") && csv.contains("read") && csv.contains("update"), "{csv}");
}

#[test]
fn what_cannot_be_recorded_is_an_error_that_says_what_to_do() {
    let place = Place::new();
    let record = |listen: &str, to: &str| {
        place.assay(&format!("trace record --listen {listen} --to {to} -o rec.trace --for 50ms"))
    };
    let (free, server) = ("127.0.0.1:0", Server::start(&[]));
    record(free, "redis://127.0.0.1:1").code(4).says("start the store, or correct --to");
    for (listen, to, said) in [
        ("7000", "redis://127.0.0.1:1", "such as 127.0.0.1:7000"),
        (free, "rediss://h", "record without TLS"),
        (free, "mongodb://h", "only what Redis, Valkey or PostgreSQL is sent"),
        (free, "redis://:secret@h", "clients send their own"),
        (&format!("127.0.0.1:{}", server.port), &server.url(""), "choose a free port"),
        (free, &server.url(""), "nothing was recorded"),
    ] {
        record(listen, to).code(2).says(said);
    }
    assert!(!place.path("rec.trace").exists());
}
