//! Faults of a lab's disks and links, with a real Redis.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use assay_history::read_events;
use assay_model::Event;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::lab::{Labs, may_make_namespaces};
use crate::place::wait_until;
use crate::run_dir::text;

impl Labs {
    /// A Redis with a disk of its own, unless there can be none here, for a reason that is shown.
    fn up_with_disk(&self, sync: &str) -> Option<Value> {
        self.up_with_disks(&format!("redis --option appendfsync={sync} --disk 64M"))
    }

    /// A lab whose nodes have disks of their own, as [`Labs::up_with_disk`].
    fn up_with_disks(&self, lab: &str) -> Option<Value> {
        let ran = self.lab(&format!("up {lab} --stay --install"));
        if ran.err.contains("--disk: ") || ran.err.contains("mount failed") {
            eprintln!("NOT RUN: {}", ran.code(4).err);
            return None;
        }
        let ran = ran.code(0).says("power-off loses what was not synced");
        drop(ran.says("the kernel writes by itself"));
        Some(self.status())
    }

    /// Devices and mounts that lie in this place.
    fn leftovers(&self) -> Vec<String> {
        let place = self.place.path("").display().to_string();
        let mounts = fs::read_to_string("/proc/self/mounts").expect("it is Linux");
        let mounts = mounts.lines().map(str::to_owned);
        let devices = fs::read_dir("/sys/block").expect("it is Linux").flatten();
        let files = devices
            .filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
        mounts.chain(files).filter(|line| line.contains(&place)).collect()
    }
}

/// What the Redis of this lab answers to a command.
fn ask(status: &Value, command: &str) -> String {
    heard(status, command, Duration::from_secs(10))
}

/// Whether it answers nothing for a while.
fn is_silent(status: &Value, command: &str) -> bool {
    heard(status, command, Duration::from_millis(500)).is_empty()
}

/// What it answers within `timeout`; nothing if it does not.
fn heard(status: &Value, command: &str, timeout: Duration) -> String {
    let authority = text(status, "/url").strip_prefix("redis://").expect("it is a Redis");
    let mut socket = TcpStream::connect(authority).expect("it accepts");
    socket.set_read_timeout(Some(timeout)).expect("it is a socket");
    socket.write_all(format!("{command}\r\n").as_bytes()).expect("it takes it");
    let mut answer = [0; 256];
    let count = socket.read(&mut answer).unwrap_or(0);
    String::from_utf8_lossy(&answer[..count]).replace("\r\n", " ").trim().to_owned()
}

/// Whether a process has ended; whoever it was left to may not have collected its exit status.
fn has_ended(pid: u64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

#[test]
fn a_power_failure_loses_what_was_not_synced_and_nothing_else() {
    for (sync, found) in [("no", "$-1"), ("always", "$1 v")] {
        let labs = Labs::new();
        let Some(status) = labs.up_with_disk(sync) else { return };
        assert_eq!(ask(&status, "SET k v"), "+OK");
        labs.lab("fault power-off --node all").code(0).says("power off all (node 1) is done");
        assert_eq!(text(&labs.status(), "/nodes/0/state"), "down");
        labs.lab("fault restart").code(0);
        assert_eq!(ask(&status, "GET k"), found, "appendfsync {sync}");
        labs.lab("down").code(0);
        // The kernel lets go of a device when nobody looks at it any more.
        wait_until("no device is left", || labs.leftovers().is_empty());
    }
}

#[test]
fn nodes_in_namespaces_do_not_keep_a_disk_that_another_one_has_lost() {
    if !may_make_namespaces() {
        eprintln!("NOT RUN: only root with CAP_SYS_ADMIN makes network namespaces");
        return;
    }
    let labs = Labs::new();
    if labs.up_with_disks("redis-sentinel --network namespaces --disk 64M").is_none() {
        return;
    }
    labs.lab("fault power-off --node 1").code(0);
    labs.lab("fault restart --node 1").code(0);
    let is_kept = || labs.leftovers().iter().any(|file| file.contains("(deleted)"));
    wait_until("the old disk is released", || !is_kept());
}

#[test]
fn a_full_disk_is_mended_by_heal() {
    let labs = Labs::new();
    let Some(status) = labs.up_with_disk("always") else { return };
    labs.lab("fault fill-disk --node 1").code(0).says("fill disk node 1 is done, verified");
    // It cannot keep its file up to date any more, and ends or refuses.
    let large = "v".repeat(10_000);
    let answer = ask(&status, &format!("SET k {large}"));
    assert!(!answer.contains("OK"), "{answer}");
    labs.lab("fault heal").code(0).says("heal (node 1) is done");
    if text(&labs.status(), "/nodes/0/state") == "down" {
        labs.lab("fault restart").code(0);
    }
    wait_until("it writes again", || ask(&status, "SET k v") == "+OK");
}

#[test]
fn a_stalled_disk_lets_writers_wait_and_outlives_nobody() {
    let labs = Labs::new();
    let Some(status) = labs.up_with_disk("always") else { return };
    assert_eq!(ask(&status, "SET k 1"), "+OK");
    labs.lab("fault stall-disk --node 1").code(0).says("stall disk node 1 is done, verified");
    assert!(is_silent(&status, "SET k 2"));
    labs.lab("fault fill-disk --node 1").code(7).says("nothing can be written to it");
    labs.lab("fault kill --node 1").code(7).says("the disk of node 1 is stalled");
    labs.lab("fault heal").code(0);
    wait_until("it goes on", || ask(&status, "GET k") == "$1 2");
    labs.lab("fault stall-disk --node 1").code(0);
    assert!(is_silent(&status, "SET k 3"));
    let supervisor = status["supervisor"].as_i64().expect("it has one");
    let supervisor = i32::try_from(supervisor).ok().and_then(Pid::from_raw).expect("it is one");
    kill_process(supervisor, Signal::KILL).expect("it is ours");
    wait_until("no device is left", || labs.leftovers().is_empty());
    let server = status["nodes"][0]["servers"][0]["pid"].as_u64().expect("it has one");
    wait_until("the server has ended", || has_ended(server));
    labs.lab("down").code(0).shows("was gone already");
}

#[test]
fn a_lab_without_disks_or_with_senseless_ones_is_refused() {
    let labs = Labs::new();
    labs.lab("up redis --disk 12").code(2).says("such as 512M or 2G");
    labs.lab("up redis --disk 3M").code(2).says("a node of this store needs 32M");
    let words = "bench ycsb-a --up redis --records 10 --duration 2s";
    let ran = labs.place.start_at(words, "1s: power off all").wait();
    ran.code(2).says("it needs a disk for each node");
}

#[test]
fn links_of_clients_are_late_deaf_and_cut_as_it_was_said() {
    let labs = Labs::new();
    labs.lab("up redis --proxy --stay --install").code(0).shows("redis://127.42.");
    let status = labs.status();
    assert!(text(&status, "/url").contains(".201:"), "{status:#}");
    assert_eq!(ask(&status, "SET k v"), "+OK");
    labs.lab("fault delay --node 1 --by 50ms").code(0).says("delay node 1 by 50ms is done");
    let begun = Instant::now();
    assert_eq!(ask(&status, "GET k"), "$1 v");
    assert!(begun.elapsed() >= Duration::from_millis(100), "{:?}", begun.elapsed());
    labs.lab("status").code(0).shows("between clients and node 1: 50.00 ms late");
    labs.lab("fault half-open --node 1").code(0).says("half open node 1 is done, verified");
    assert!(is_silent(&status, "GET k"));
    labs.lab("fault heal").code(0).says("heal (node 1) is done");
    assert_eq!(ask(&status, "GET k"), "$1 v");
    labs.lab("fault reset --node 1").code(0);
    for (words, part) in [
        ("fault delay --node 1", "by how much?"),
        ("fault delay --node 1 --by 20", "is no amount for delay"),
        ("fault fill-disk --node 1", "start the lab with --disk"),
        ("fault clock --node 1 --by +1h", "its allocator calls itself"),
        ("up redis-cluster --proxy", "they would go around --proxy"),
        ("up memcached --proxy-peers", "nodes of memcached cannot reach each other"),
        ("fault delay --node 1 --by 1ms --peers", "start the lab with --proxy-peers"),
        ("fault kill --node 1 --peers", "leave out `peers`"),
    ] {
        labs.lab(words).code(2).says(part);
    }
}

#[test]
fn faults_of_links_are_events_of_a_run() {
    let Labs { place, .. } = &Labs::new();
    let words = "bench ycsb-a --up redis --proxy --install --records 100 --rate 200/s \
                 --duration 3s --run-dir b";
    let at = "500ms: delay node 1 by 20ms; 1500ms: heal; 2s: limit 1 to 1MB/s";
    place.start_at(words, at).wait().code(0).shows("proxy");
    let events = read_events(&place.path("b")).expect("they are there");
    for part in ["delay node 1 by 20ms", "heal", "limit node 1 by 1MB/s"] {
        let text = format!("{part} is done, verified");
        let is_it = |event: &Event| event.text.replace(" (node 1)", "").contains(&text);
        assert!(events.iter().any(is_it), "{events:?}");
    }
}

#[test]
fn a_master_whose_peers_do_not_hear_it_is_replaced() {
    let labs = Labs::new();
    labs.lab("up redis-sentinel --proxy-peers --stay --install").code(0);
    labs.lab("fault blackhole --node 1").code(2).says("start the lab with --proxy");
    let ran = labs.lab("fault blackhole --peers --node master").code(0);
    ran.says("blackhole peers of leader (node 1) is done, verified");
    let broken = labs.status()["broken"].to_string();
    assert!(broken.contains("connections of node 2 to node 1: requests are held"), "{broken}");
    wait_until("another master leads", || {
        let ran = labs.lab("fault reset --peers --node master");
        ran.code == Some(0) && !ran.err.contains("(node 1)")
    });
    labs.lab("fault heal").code(0);
    assert_eq!(labs.status()["broken"].to_string(), "[]");
}

#[test]
fn a_slow_disk_makes_commits_slow_until_it_is_healed() {
    let labs = Labs::new();
    if labs.up_with_disks("postgres --disk 512M").is_none() {
        return;
    }
    let ran = labs.lab("fault slow-disk --node 1 --by 100ms");
    if ran.err.contains("this kernel limits no writes") {
        eprintln!("NOT RUN: {}", ran.code(4).err);
        return;
    }
    ran.code(0).says("a flush took ").says("slow disk node 1 by 100ms is done, verified");
    let status = labs.status();
    let broken = status["broken"].to_string();
    let slow = "the disk of node 1 is slow: a flush takes about 100.00 ms";
    assert!(broken.contains(slow), "{broken}");
    let url = text(&status, "/url").to_owned();
    let commit = |number: u32| {
        let begun = Instant::now();
        let query = format!("CREATE TABLE t{number} (x INT)");
        let done = std::process::Command::new("psql").args([&url, "-qc", &query]).status();
        assert!(done.expect("it came with the server").success());
        begun.elapsed()
    };
    // A disk that was idle lets the first ones pass.
    let mut taken: Vec<Duration> = (0..5).map(commit).collect();
    taken.sort();
    let slow = taken[2];
    assert!(slow > Duration::from_millis(50), "{taken:?}");
    labs.lab("fault heal").code(0);
    assert_eq!(labs.status()["broken"].to_string(), "[]");
    let mut table = 10;
    wait_until("commits are fast", || {
        table += 1;
        commit(table) < slow
    });
}

#[test]
fn the_clock_of_a_server_jumps_and_comes_back() {
    let labs = Labs::new();
    let ran = labs.lab("up postgres --option clock=movable --stay --install");
    if ran.err.contains("libfaketimeMT.so.1 is not installed") {
        eprintln!("NOT RUN: {}", ran.code(4).err);
        return;
    }
    ran.code(0);
    labs.lab("fault clock --node 1 --by +1h").code(0).says("clock node 1 by +1h is done");
    labs.lab("fault heal").code(0).says("heal (node 1) is done");
}
