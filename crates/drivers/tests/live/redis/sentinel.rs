//! A master with replicas, found by sentinels.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assay_model::Reason;
use assay_store::conformance::assert_conforms;

use crate::opening::assert_turned_away;
use crate::server::{Server, free_port, new_folder};
use crate::stores::{Settings, store, test_client};
use crate::test_client::{RequestResult, TIMEOUT, insert, read, update};

/// A sentinel, gone when the test is.
struct Sentinel {
    port: u16,
    folder: PathBuf,
    process: Child,
}

impl Sentinel {
    fn start(master: u16, more: &str) -> Sentinel {
        let folder = new_folder();
        let file = folder.join("sentinel.conf");
        let port = free_port();
        let text = format!(
            "bind 127.0.0.1\nport {port}\ndir {}\nsentinel monitor m1 127.0.0.1 {master} 2\n\
             sentinel down-after-milliseconds m1 500\nsentinel failover-timeout m1 3000\n{more}\n",
            folder.display()
        );
        fs::write(&file, text).expect("the folder is ours");
        let process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "redis-server"])
            .arg(&file)
            .arg("--sentinel")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("setpriv comes with util-linux");
        Sentinel { port, folder, process }
    }

    fn cli(&self, words: &str) -> String {
        let output = Command::new("redis-cli")
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            .args(words.split(' '))
            .output()
            .expect("redis-cli comes with redis-server");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

struct Watched {
    /// The first is the master, to begin with.
    servers: Vec<Server>,
    sentinels: Vec<Sentinel>,
}

impl Watched {
    fn start() -> Watched {
        let master = Server::start(&[]);
        let port = master.port.to_string();
        let replica = || {
            Server::start(&["--replicaof", "127.0.0.1", &port, "--repl-diskless-sync-delay", "0"])
        };
        let servers = vec![master, replica(), replica()];
        let sentinels: Vec<Sentinel> =
            (0..3).map(|_| Sentinel::start(servers[0].port, "")).collect();
        let watched = Watched { servers, sentinels };
        let knows_all = |sentinel: &Sentinel| {
            let result = sentinel.cli("SENTINEL MASTER m1");
            let fact = |name: &str, value: &str| result.contains(&format!("{name}\n{value}\n"));
            fact("num-slaves", "2") && fact("num-other-sentinels", "2") && fact("flags", "master")
        };
        let start = Instant::now();
        while !watched.sentinels.iter().all(knows_all) {
            assert!(start.elapsed() < TIMEOUT, "the sentinels do not find each other");
            std::thread::sleep(Duration::from_millis(50));
        }
        watched
    }

    fn url(&self, rest: &str) -> String {
        let hosts: Vec<String> =
            self.sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port)).collect();
        format!("redis+sentinel://{}{rest}", hosts.join(","))
    }
}

#[test]
fn a_master_that_sentinels_know_conforms() {
    let watched = Watched::start();
    assert_conforms(&*store(&watched.url("/m1/2?connections=2")));
    let settings = Settings::at(&watched.url("/m1"));
    settings.expect(&[
        ("role", "master"),
        ("sentinels", "3"),
        ("quorum", "2"),
        ("down-after-milliseconds", "500"),
    ]);
}

#[test]
fn a_killed_master_is_replaced_by_a_replica() {
    let mut watched = Watched::start();
    let mut test_client = test_client(&watched.url("/m1?connections=2"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    let start = Instant::now();
    while watched.servers[1..].iter().any(|server| server.cli("DBSIZE") != "2") {
        assert!(start.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(10));
    }
    watched.servers[0].freeze();
    let sent = test_client.start(&update("user1", &["c"]));
    test_client.poll();
    watched.servers[0].kill();
    assert_eq!(test_client.take(1), [(sent, RequestResult::Unknown(Reason::ConnectionLost))]);
    test_client.expect(&read("user1"), RequestResult::Refused(Reason::Unreachable));
    test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
    // Sentinels may change their minds again on a busy machine, with what was written in between.
    let start = Instant::now();
    let has_it = |server: &Server| {
        server.cli("ROLE").starts_with("master") && server.cli("HGET user1 field0") == "d"
    };
    loop {
        test_client.send_until(&update("user1", &["d"]), &RequestResult::WRITTEN);
        if watched.servers[1..].iter().any(has_it) {
            break;
        }
        assert!(start.elapsed() < TIMEOUT, "no replica took over");
    }
    // The old master comes back, as a replica, and nobody writes to it.
    watched.servers[0].restart();
    test_client.drain_for(Duration::from_millis(500));
    test_client.send_until(&update("user1", &["e"]), &RequestResult::WRITTEN);
}

#[test]
fn sentinels_that_are_gone_are_passed_over() {
    let mut watched = Watched::start();
    let dead = free_port();
    let rest = watched.url("/m1").split_off("redis+sentinel://".len());
    let url = format!("redis-sentinel://127.0.0.1:{dead},{rest}");
    let mut test_client = test_client(&url);
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    watched.servers[0].kill();
    test_client.send_until(&insert("user2", &["a", "b"]), &RequestResult::WRITTEN);
}

#[test]
fn a_sentinel_that_does_not_know_the_master_says_so() {
    let master = Server::start(&[]);
    let sentinel = Sentinel::start(master.port, "requirepass s3cret");
    let start = Instant::now();
    while !sentinel.cli("-a s3cret PING").contains("PONG") {
        assert!(start.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(10));
    }
    let file = sentinel.folder.join("password");
    fs::write(&file, "s3cret\n").unwrap();
    let at = format!("redis+sentinel://127.0.0.1:{}", sentinel.port);
    assert_turned_away(&format!("{at}/m1"), "NotPermitted", "sentinel_password_file=");
    let rest = format!("?sentinel_password_file={}", file.display());
    assert_turned_away(&format!("{at}/m2{rest}"), "Unsupported", "knows no master \"m2\" but m1");
    let mut test_client = test_client(&format!("{at}/m1{rest}"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    assert_turned_away(
        &format!("redis+sentinel://127.0.0.1:{}/m1", master.port),
        "",
        "is no sentinel",
    );
    assert_turned_away(
        &format!("redis+sentinel://127.0.0.1:{}/m1", free_port()),
        "Unreachable",
        "",
    );
}
