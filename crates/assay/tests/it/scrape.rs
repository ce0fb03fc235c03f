//! Numbers of servers are read during a run.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::place::Place;
use crate::redis_server::Server;

/// A Prometheus endpoint that answers `good` times, then not any more; its URL.
fn endpoint(good: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}/metrics", listener.local_addr().expect("it is bound"));
    let count = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.expect("a client came");
            let _ = socket.read(&mut [0; 4096]);
            let answered = count.fetch_add(1, Ordering::Relaxed);
            let page = format!(
                "# TYPE process_cpu_seconds counter\nprocess_cpu_seconds_total {}\n\
                 process_resident_memory_bytes {}\nnobody_chose_this 1\n",
                answered as f64 * 0.5,
                1_000_000 + answered
            );
            let head = if answered < good { "200 OK" } else { "503 Service Unavailable" };
            let _ = write!(socket, "HTTP/1.1 {head}\r\nConnection: close\r\n\r\n{page}");
        }
    });
    url
}

const RUN: &str = "run ycsb-a --records 100 --rate 300 --duration 3s --no-config --run-dir runs/r";

#[test]
fn the_stores_own_numbers_are_read_and_reported() {
    let (place, server) = (Place::new(), Server::start(&[]));
    place.fine(&format!("load ycsb-a -t {} --records 100 --no-config", server.url("")));
    let words = format!("{RUN} -t {} --scrape store --scrape-every 200ms", server.url(""));
    place
        .fine(&words)
        .shows("Numbers of servers")
        .shows("used_memory")
        .shows("commands_processed/s");
    let json = place.json("report runs/r");
    let scraped = json["scraped"].as_array().unwrap();
    let processed = scraped.iter().find(|one| one["metric"] == "commands_processed_total");
    let processed = processed.unwrap_or_else(|| panic!("{scraped:?}"));
    assert_eq!(processed["source"], format!("store 127.0.0.1:{}", server.port));
    let mean = processed["mean"].as_f64().unwrap();
    assert!((150.0..1000.0).contains(&mean), "about 300/s were sent: {mean}");
    let page = place.read("runs/r/report.html");
    assert!(page.contains("id=\"scraped\"") && page.contains("used_memory"), "no charts");
}

#[test]
fn an_endpoint_that_fails_meanwhile_is_told_and_ends_nothing() {
    let place = Place::new();
    let url = endpoint(6);
    let ran = place.fine(&format!(
        "bench ycsb-a -t memory: --records 100 --rate 300 --duration 3s --no-config --run-dir \
         runs/r --scrape {url} --scrape-every 200ms"
    ));
    ran.shows(&format!("readings of --scrape {url} failed"))
        .shows("503 Service Unavailable")
        .shows("process_resident_memory_bytes");
    let json = place.json("report runs/r");
    let scraped = json["scraped"].as_array().unwrap();
    let names: Vec<&str> = scraped.iter().filter_map(|one| one["metric"].as_str()).collect();
    assert!(!names.contains(&"nobody_chose_this"), "{names:?}");
}

#[test]
fn what_cannot_be_read_is_an_error_before_the_run() {
    let place = Place::new();
    let bench = |more: &str| place.assay(&format!("bench ycsb-a -t memory: --no-config {more}"));
    bench("--scrape http://127.0.0.1:1/metrics").code(4).says("leave it out");
    bench("--scrape https://h/metrics").code(2).says("over TLS");
    bench("--scrape h:9100").code(2).says("write http://HOST:PORT/metrics, or store");
    bench("--scrape store").code(2).says("its driver reads no numbers of the server");
    bench("--scrape-all").code(2).says("--scrape-all: it needs something to read");
    bench("--scrape store --scrape-every 1ms").code(2).says("at least 100ms");
    assert!(place.list("runs").is_empty(), "{:?}", place.list("runs"));
}
