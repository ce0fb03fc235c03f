//! The simulated store as a server, with clients of Redis as its clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::place::{Place, Ran, Running, wait_until};
use crate::run_dir::{assert_balanced, counted};

/// A running simulated server.
struct SimServer {
    place: Place,
    running: Running,
    port: u16,
}

impl SimServer {
    fn serve(words: &str) -> SimServer {
        let place = Place::new();
        let running = place.start(&format!("sim serve --seed 5 --for 60s {words}"));
        let mut said = String::new();
        wait_until("the simulated server listens", || {
            said = place.read(".out0");
            said.ends_with('\n')
        });
        assert!(said.contains("(seed 5) listens on 127.0.0.1:"), "{said}");
        let port = said.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        SimServer { port: port.expect("the line ends with the port"), place, running }
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn client(&self, program: &str, words: &str) -> Output {
        Command::new(program)
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            .args(words.split_whitespace())
            .output()
            .expect("the clients come with redis-server")
    }

    fn cli(&self, words: &str) -> String {
        let output = self.client("redis-cli", words);
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Ctrl-C; what it said, and the place with what it wrote.
    fn end(self) -> (Ran, Place) {
        self.running.signal(Signal::INT);
        (self.running.wait().code(0), self.place)
    }
}

#[test]
fn assays_redis_driver_runs_ycsb_a_against_a_simulated_server() {
    let sim = SimServer::serve("--preset healthy?latency=1ms --truth truth.csv");
    let words = format!("--records 100 -t {} -q", sim.url());
    sim.place.fine(&format!("load ycsb-a {words}"));
    for spec in ["ycsb-a", "ycsb-e", "ycsb-f"] {
        let result = sim.place.json(&format!("run {spec} {words} --closed 4 --operations 200"));
        assert_balanced(&result);
        assert_eq!(counted(&result, "done"), { counted(&result, "offered") });
        assert_eq!(counted(&result, "misses"), 0, "{spec}");
    }
    let (ran, place) = sim.end();
    ran.shows("requests to the store");
    let truth = place.read("truth.csv");
    assert!(truth.lines().count() > 500, "{} lines", truth.lines().count());
    assert!(truth.lines().skip(1).all(|line| line.split(',').count() == 11));
}

#[test]
fn redis_cli_talks_to_a_simulated_server() {
    let sim = SimServer::serve("--preset healthy");
    assert_eq!(sim.cli("ping"), "PONG");
    assert_eq!(sim.cli("hset h f 1 g 2"), "2");
    assert_eq!(sim.cli("hgetall h"), "f\n1\ng\n2");
    assert_eq!(sim.cli("-3 hget h g"), "2");
    assert_eq!(sim.cli("set k v"), "OK");
    assert_eq!(sim.cli("dbsize"), "2");
    assert!(sim.cli("lpush l 1").starts_with("ERR unknown command 'lpush'"));
    let (ran, _place) = sim.end();
    ran.shows("connections");
}

#[test]
fn redis_benchmark_runs_against_a_simulated_server() {
    let sim = SimServer::serve("--preset healthy");
    for pipeline in ["", "-P 16"] {
        let words = format!("-t ping,set,get,hset,mset -n 1000 -c 10 -q {pipeline}");
        let output = sim.client("redis-benchmark", &words);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}");
        assert_eq!(said.matches("requests per second").count(), 6, "{said}");
    }
    sim.end().0.shows("12"); // 12,000 commands and a few.
}

#[test]
fn an_answer_comes_when_it_is_due_and_not_before() {
    let sim = SimServer::serve("--preset healthy?latency=30ms");
    let mut socket = TcpStream::connect(("127.0.0.1", sim.port)).unwrap();
    let begun = Instant::now();
    socket.write_all(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n").unwrap();
    let mut reply = [0; 12];
    socket.read_exact(&mut reply).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(30), "{:?}", begun.elapsed());
    assert_eq!(&reply, b"$-1\r\n+PONG\r\n", "in the order of the commands");
    // A refusal, too.
    let sim = SimServer::serve("--preset healthy?latency=30ms&refused=100%");
    let begun = Instant::now();
    assert!(sim.cli("get k").starts_with("BUSY"));
    assert!(begun.elapsed() >= Duration::from_millis(30), "{:?}", begun.elapsed());
}

#[test]
fn faults_are_reported_at_the_end() {
    let sim = SimServer::serve("--preset healthy?refused=100% --truth truth.csv");
    assert!(sim.cli("get k").starts_with("BUSY"));
    assert!(sim.cli("get k").starts_with("BUSY"));
    let (ran, place) = sim.end();
    ran.shows("refused 2");
    assert_eq!(place.read("truth.csv").matches(",read,k,primary,refused,").count(), 2);
}

#[test]
fn a_simulated_server_can_be_loaded_in_health() {
    let sim = SimServer::serve("--loading --preset healthy?refused=100%");
    assert_eq!(sim.cli("set k v"), "OK");
    assert_eq!(sim.cli("sick settle"), "OK");
    assert!(sim.cli("get k").starts_with("BUSY"));
}

#[test]
fn a_flood_on_one_connection_leaves_the_others_served() {
    let sim = SimServer::serve("--preset healthy");
    let mut flood = TcpStream::connect(("127.0.0.1", sim.port)).unwrap();
    let mut ears = flood.try_clone().unwrap();
    let listening = std::thread::spawn(move || {
        let mut received = 0;
        let mut chunk = vec![0; 1 << 16];
        while let Ok(length @ 1..) = ears.read(&mut chunk) {
            received += length;
        }
        received
    });
    let shouting = std::thread::spawn(move || {
        flood.write_all(&b"GET k\r\n".repeat(400_000)).unwrap();
        flood.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut other = TcpStream::connect(("127.0.0.1", sim.port)).unwrap();
    let mut longest = Duration::ZERO;
    for _ in 0..20 {
        let begun = Instant::now();
        other.write_all(b"PING\r\n").unwrap();
        other.read_exact(&mut [0; 7]).unwrap();
        longest = longest.max(begun.elapsed());
    }
    assert!(longest < Duration::from_millis(500), "{longest:?}");
    shouting.join().unwrap();
    assert_eq!(listening.join().unwrap(), 400_000 * 5, "every command has its reply");
}

#[test]
fn presets_are_listed_and_what_cannot_be_served_is_said() {
    let place = Place::new();
    let listed = place.fine("sim presets");
    for name in ["healthy", "goodbadugly", "hickup1000_max1250", "hickup200_max220"] {
        assert!(listed.out.lines().any(|line| line.starts_with(name)), "{name}: {}", listed.out);
    }
    for (words, said) in [
        ("--listen 0.0.0.0:0", "give --expose too"),
        ("--listen nowhere", "is no address"),
        ("--preset helthy", "did you mean healthy?"),
        ("--preset healthy?lots=1%", "did you mean `lost`?"),
        ("--truth none/truth.csv", "cannot write none/truth.csv"),
        ("--seed x", "is no whole number"),
    ] {
        place.refuses(&format!("sim serve --for 1s {words}"), said);
    }
    place.fine("sim serve --for 50ms --seed 1").shows("0 connections, 0 commands");
}
