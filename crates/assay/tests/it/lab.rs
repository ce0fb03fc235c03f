//! Real servers that the lab starts, which never stay behind.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::LazyLock;

use assay_history::read_events;
use assay_model::{EventKind, Nanos, Outcome};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;

use crate::place::{ASSAY, Place, Ran, Running, until_issuing, wait_until};
use crate::run_dir::{assert_balanced, counted, manifest, number, records, text};

/// A place whose labs end with the test.
pub struct Labs {
    pub place: Place,
}

impl Labs {
    pub fn new() -> Labs {
        let place = Place::new();
        // Where labs usually are, others' may be.
        place.write("assay.toml", "lab-dir = \"kept\"\n");
        Labs { place }
    }

    /// `assay lab …`.
    pub fn lab(&self, words: &str) -> Ran {
        self.place.assay(&format!("lab {words}"))
    }

    /// A Redis that stays, by the name `redis`.
    fn up(&self) -> Value {
        self.lab("up redis --stay --install").code(0);
        self.status()
    }

    /// The only lab that is there.
    #[track_caller]
    pub fn status(&self) -> Value {
        let all = self.lab("status --format json").code(0).json();
        let labs = all["labs"].as_array().expect("it is a list");
        assert_eq!(labs.len(), 1, "{all:#}");
        labs[0].clone()
    }

    fn is_nothing_there(&self) -> bool {
        self.place.list("kept").is_empty()
    }

    /// Returns when these processes have ended, and no lab is left.
    fn until_gone(&self, family: &BTreeSet<u64>) {
        wait_until("nothing is left", || {
            family.iter().all(|pid| !is_running(*pid)) && self.is_nothing_there()
        });
    }
}

impl Drop for Labs {
    fn drop(&mut self) {
        // Whatever a failed test has left; mostly nothing.
        let _ = self.place.command("lab down --all").output();
    }
}

/// The pids in a lab's status, that of its supervisor first.
fn pids(status: &Value) -> Vec<u64> {
    let mut pids = vec![status["supervisor"].as_u64().expect("it has a supervisor")];
    for node in status["nodes"].as_array().expect("it has nodes") {
        let servers = node["servers"].as_array().expect("a node has servers");
        pids.extend(servers.iter().map(|server| server["pid"].as_u64().expect("it has a pid")));
    }
    pids
}

/// Processes that run, each with its parent.
fn running() -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("it is Linux").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        let fields: Vec<&str> = rest.split(' ').collect();
        if fields[0] != "Z" {
            found.push((pid, fields[1].parse().expect("the parent is a number")));
        }
    }
    found
}

fn is_running(pid: u64) -> bool {
    running().iter().any(|(running, _)| *running == pid)
}

/// A process with all that it started, and what that started.
fn family(root: u64) -> BTreeSet<u64> {
    let all = running();
    let mut family = BTreeSet::from([root]);
    loop {
        let children = all.iter().filter(|(_, parent)| family.contains(parent));
        let grown: BTreeSet<u64> =
            family.iter().copied().chain(children.map(|(pid, _)| *pid)).collect();
        if grown.len() == family.len() {
            return family;
        }
        family = grown;
    }
}

fn signal(pid: u64, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("it is a process's number");
    kill_process(pid, signal).expect("the process is ours");
}

fn is_answering(url: &str) -> bool {
    TcpStream::connect(url.strip_prefix("redis://").expect("it is a Redis")).is_ok()
}

#[test]
fn a_lab_is_up_until_it_is_down() {
    let labs = Labs::new();
    let ran = labs.lab("up redis --stay --install").code(0).says("starting 1 node of redis");
    let ran = ran.says("it stays until `assay lab down redis`");
    let ran = ran.shows("redis: redis 7").shows("1 node; ready after");
    ran.shows("assay bench ycsb-a -t redis://127.42.").shows("1 127.42.");
    let status = labs.status();
    assert_eq!((text(&status, "/state"), text(&status, "/nodes/0/state")), ("up", "up"));
    assert!(number(&status, "/nodes/0/memory_bytes") > 1 << 20, "{status:#}");
    let url = text(&status, "/url");
    assert!(is_answering(url));
    labs.place.fine(&format!("load ycsb-a --records 10 -t {url} -q"));
    labs.lab("status").code(0).shows(url).shows("by `assay lab down redis`");
    labs.lab("logs --lines 3").code(0).shows("==> node 1, server").shows("==> supervisor");
    labs.lab("down").code(0).shows("lab redis is down");
    wait_until("all have ended", || pids(&status).into_iter().all(|pid| !is_running(pid)));
    assert!(labs.is_nothing_there());
    labs.lab("down redis").code(0).shows("no lab redis is up: there is nothing to end");
    labs.lab("down").code(0).shows("no lab is up");
    labs.lab("down redsi").code(2).says("did you mean redis?");
    labs.lab("status").code(0).shows("no lab is up");
}

#[test]
fn nothing_is_left_when_a_supervisor_is_killed() {
    let labs = Labs::new();
    let status = labs.up();
    let pids = pids(&status);
    let family = family(pids[0]);
    assert!(pids.iter().all(|pid| family.contains(pid)), "{pids:?} {family:?}");
    signal(pids[0], Signal::KILL);
    wait_until("all processes have ended", || family.iter().all(|pid| !is_running(*pid)));
    // The last thread of a server lets go of its sockets, after the process has been seen to end.
    wait_until("nobody answers", || !is_answering(text(&status, "/url")));
    labs.lab("status redis").code(0).shows("redis: gone (redis 7");
    assert_eq!(text(&labs.status(), "/state"), "gone");
    labs.lab("scale --nodes 1").code(4).says("lab redis is gone");
    labs.lab("logs").code(0).shows("==> supervisor");
    labs.place.assay("run ycsb-a --lab redis").code(4).says("lab redis is gone");
    labs.lab("down").code(0).shows("lab redis was gone already; what it left is removed");
    assert!(labs.is_nothing_there());
}

#[test]
fn a_lab_that_is_gone_is_started_anew() {
    let labs = Labs::new();
    let status = labs.up();
    signal(pids(&status)[0], Signal::KILL);
    // Its threads hold the lab a little longer than its process is seen.
    wait_until("the lab is gone", || text(&labs.status(), "/state") == "gone");
    assert_eq!(text(&labs.up(), "/state"), "up");
}

#[test]
fn a_lab_ends_with_the_terminal() {
    let labs = Labs::new();
    let mut command = labs.place.program("setsid");
    command.args(["sh", "-c", &format!("{ASSAY} lab up redis; echo reported >up.done; sleep 60")]);
    let mut terminal = labs.place.spawn(command);
    wait_until("the lab is up", || labs.place.path("up.done").exists());
    let said = terminal.said();
    assert!(said.contains("it ends when process"), "{said}");
    let status = labs.status();
    assert_eq!(text(&status, "/owner/name"), "sh");
    let family = family(pids(&status)[0]);
    assert!(family.len() > 1);
    terminal.kill();
    labs.until_gone(&family);
}

/// A server that never listens, with a process of its own.
const SILENT: &str = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Redis server v=7.0.15' && exit\n\
                      sleep 60 & wait\n";

/// Starts a lab that does not become ready; returns the pids of its supervisor and all descendants.
fn half_way(labs: &Labs) -> (Running, BTreeSet<u64>) {
    let program = labs.place.write("redis-server", SILENT).path("redis-server");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let path = std::env::var("PATH").expect("there is a path");
    let path = format!("{}:{path}", labs.place.path("").display());
    let running = labs.place.start_with("lab up redis", |command| command.env("PATH", path));
    let mut supervisor = 0;
    wait_until("the server was started", || {
        let all = labs.lab("status --format json").code(0).json();
        supervisor = all.pointer("/labs/0/supervisor").and_then(Value::as_u64).unwrap_or(0);
        let doing = all.pointer("/labs/0/doing").and_then(Value::as_str).unwrap_or_default();
        supervisor > 0 && doing.contains("starting 1 node") && family(supervisor).len() > 3
    });
    assert_eq!(text(&labs.status(), "/state"), "starting");
    (running, family(supervisor))
}

#[test]
fn a_lab_whose_start_is_killed_is_not_there() {
    let labs = Labs::new();
    let (mut running, family) = half_way(&labs);
    labs.lab("scale --nodes 1").code(2).says("does something else (starting");
    labs.lab("up redis").code(2).says("lab redis is up already");
    running.kill();
    labs.until_gone(&family);
}

#[test]
fn a_lab_whose_start_is_interrupted_is_not_there() {
    let labs = Labs::new();
    let (running, family) = half_way(&labs);
    running.signal(Signal::INT);
    running.wait().code(130).says("interrupted: ending what was started");
    labs.until_gone(&family);
}

#[test]
fn what_servers_have_started_ends_with_the_supervisor_too() {
    let labs = Labs::new();
    let (running, family) = half_way(&labs);
    let supervisor = number(&labs.status(), "/supervisor");
    signal(supervisor, Signal::KILL);
    running.wait().code(1).says("the supervisor of the lab ended").says("supervisor.log");
    wait_until("nothing is left", || family.iter().all(|pid| !is_running(*pid)));
    labs.lab("down redis").code(0).shows("was gone already");
    assert!(labs.is_nothing_there());
}

#[test]
fn a_lab_can_be_ended_while_it_is_started() {
    let labs = Labs::new();
    let (running, family) = half_way(&labs);
    labs.lab("down redis").code(0);
    running.wait().code(130);
    labs.until_gone(&family);
}

#[test]
fn one_command_starts_a_store_and_ends_it() {
    let labs = Labs::new();
    let words = "bench ycsb-a --up redis --install --records 200 --operations 400 --run-dir b \
                 --format json";
    let result = labs.place.fine(words).says("starting 1 node of redis").json();
    assert_balanced(&result);
    assert_eq!(counted(&result, "misses"), 0);
    assert!(labs.is_nothing_there());
    let kept = manifest(&labs.place, "b").store;
    assert!(kept.url.starts_with("redis://127.42."), "{}", kept.url);
    assert!(kept.version.starts_with('7'), "{}", kept.version);
    let setting = |name: &str| {
        let found = kept.settings.iter().find(|setting| setting.name == name).unwrap();
        (found.value.clone(), found.meaning.clone())
    };
    assert!(setting("lab").0.starts_with("redis 7"), "{:?}", setting("lab"));
    assert_eq!(setting("nodes").0, "1");
    labs.place.fine("report b").shows("started for this run alone, empty");
}

#[test]
fn a_run_loads_the_store_that_it_starts() {
    let labs = Labs::new();
    let words = "run ycsb-c --up redis:1 --install --records 100 --operations 200 --format json";
    let ran = labs.place.fine(words).says("is empty when it starts: loading first");
    assert_eq!(counted(&ran.json(), "misses"), 0);
    assert!(labs.is_nothing_there());
}

#[test]
fn a_lab_of_a_run_ends_with_the_run_however_that_ends() {
    let labs = Labs::new();
    // A store that was not loaded with the workload's data: an error after the lab is up.
    let words = "run ycsb-a --up redis --install --set dataset.records=0";
    assert_ne!(labs.place.assay(words).code, Some(0));
    assert!(labs.is_nothing_there());
    for signal in [Signal::INT, Signal::KILL] {
        let run_dir = format!("b{}", signal.as_raw());
        let words = "bench ycsb-c --up redis --install --records 100 --duration 60s --run-dir";
        let running = labs.place.start(&format!("{words} {run_dir}"));
        let begun = format!("{run_dir}/blocks");
        wait_until("the run issues", || !labs.place.list(&begun).is_empty());
        let status = labs.status();
        assert!(text(&status, "/name").starts_with("up-"), "{status:#}");
        let family = family(pids(&status)[0]);
        running.signal(signal);
        drop(running.wait());
        labs.until_gone(&family);
    }
}

#[test]
fn a_run_uses_a_lab_by_its_name() {
    let labs = Labs::new();
    let url = text(&labs.up(), "/url").to_owned();
    labs.place.fine("load ycsb-a --lab redis --records 50 -q");
    let words = "run ycsb-c --lab redis --records 50 --operations 60 --run-dir b --format json -q";
    assert_eq!(number(&labs.place.fine(words).json(), "/overall/counts/misses"), 0);
    assert_eq!(manifest(&labs.place, "b").store.url, url);
    assert_eq!(text(&labs.status(), "/state"), "up");
    let both = format!("run ycsb-c --lab redis -t {url}");
    labs.place.refuses(&both, "--target, --lab all name the store to measure");
    labs.place.refuses("bench --up redis -t null:", "--target, --up all name the store");
    labs.place.refuses("run ycsb-a --lab rdis", "did you mean redis?");
    labs.place.refuses("bench --up redsi", "did you mean redis?");
    let ran = labs.place.assay("load ycsb-a --up redis").code(2);
    ran.says("what was loaded would end with this command").says("`assay lab up`");
    labs.place.refuses("bench --up redis:x", "--up: \"redis:x\" is no STORE:N");
}

#[test]
fn a_killed_node_is_down_until_it_is_started_again() {
    let labs = Labs::new();
    let url = text(&labs.up(), "/url").to_owned();
    labs.lab("fault kill --node 1").code(0).shows("down");
    assert!(!is_answering(&url));
    assert_eq!(text(&labs.status(), "/nodes/0/state"), "down");
    labs.lab("fault redis restart --node 1").code(0).shows("up");
    assert!(is_answering(&url));
    labs.lab("fault freeze --node 1").code(0).shows("frozen");
    labs.lab("fault thaw --node 1").code(0).shows("up");
    labs.lab("fault restart --node 1").code(2).says("node 1 is not down");
    labs.lab("fault kill --node 7").code(2).says("there is no node 7; there are 1 to 1");
    labs.lab("fault kill --node 0").code(2).says("\"0\" is no node: give a node's number from 1");
    labs.lab("fault hit --node 1").code(2).says("kill");
    labs.lab("logs --node 7").code(2).says("lab redis has no node 7; it has 1 to 1");
    labs.lab("scale --nodes 2").code(2).says("redis can have 1 nodes here, not 2");
}

#[test]
fn two_labs_of_one_store_have_two_names() {
    let labs = Labs::new();
    labs.up();
    labs.lab("up redis --stay --install").code(2).says("lab redis is up already").says("--name");
    labs.lab("up redis --stay --install --name other").code(0);
    let all = labs.lab("status --format json").code(0).json();
    assert_ne!(text(&all, "/labs/0/url"), text(&all, "/labs/1/url"));
    labs.lab("scale --nodes 1").code(2).says("which lab? there are other, redis");
    labs.lab("down").code(2).says("which lab? there are other, redis");
    labs.lab("down othre").code(2).says("did you mean other?");
    labs.lab("down --all").code(0).shows("lab other is down").shows("lab redis is down");
    assert!(labs.is_nothing_there());
}

#[test]
fn a_folder_of_ones_own_is_taken_only_if_it_is_empty() {
    let labs = Labs::new();
    fs::create_dir(labs.place.path("thesis")).unwrap();
    labs.place.write("thesis/chapter1.tex", "years of work");
    labs.lab("up redis --dir thesis").code(2).says("has something in it and is no lab's folder");
    assert_eq!(labs.place.read("thesis/chapter1.tex"), "years of work");
    labs.lab("up redis --stay --install --dir mine").code(0).shows("/mine");
    assert!(labs.place.path("mine/lab.json").exists());
    labs.lab("up redis --name second --dir mine").code(2).says("a lab is up in");
    labs.lab("status redis").code(0).shows("/mine");
    labs.lab("status ./mine").code(0).shows("/mine");
    labs.lab("down redis").code(0);
    assert!(!labs.place.path("mine").exists() && labs.is_nothing_there());
    let long = format!("up redis --dir {}", "deep/".repeat(30));
    labs.lab(&long).code(2).says("choose a shorter --dir");
    assert!(!labs.place.path("deep").exists());
    // Such a lab can be gone, too, or about to go.
    labs.lab("up redis --stay --install --dir mine").code(0);
    signal(pids(&labs.status())[0], Signal::KILL);
    labs.lab("down redis").code(0).shows("was gone already");
    assert!(!labs.place.path("mine").exists() && labs.is_nothing_there());
}

#[test]
fn orders_that_are_invalid_are_refused_before_anything_is_done() {
    let labs = Labs::new();
    let refused = |words: &str, why: &str| drop(labs.lab(&format!("up {words}")).code(2).says(why));
    refused("redsi", "the lab has no recipe for \"redsi\"; did you mean redis?");
    refused("redis --version 9.9", "redis is not to be had in version 9.9: debian");
    refused("redis --nodes 3", "redis can have 1 nodes here, not 3");
    refused("redis --nodes 0", "--nodes 0: give a whole number from 1");
    refused("redis --option appendfsink=always", "did you mean appendfsync?");
    refused("redis --option appendfsync", "write it as NAME=VALUE");
    refused("redis --name a/b", "a lab's name has at most");
    refused("redis --network wifi", "invalid value");
    if !cfg!(feature = "etcd") {
        refused("etcd", "build it with `--features etcd`");
    }
    assert!(labs.is_nothing_there());
    assert!(!labs.place.path("kept").exists());
}

#[test]
fn a_disk_that_is_too_small_is_reported_before_anything_is_started() {
    let labs = Labs::new();
    let mount = "mkdir small && mount -t tmpfs -o size=3m none small";
    let line = format!("{mount} && assay lab up redis --dir small/lab");
    let ran = labs.place.shell_in("--mount", &line).code(2);
    ran.says("MiB free, but 10 MiB are needed; name another folder or make room");
}

#[test]
fn ports_move_when_somebody_has_one_of_them() {
    let labs = Labs::new();
    // In a network of their own, so that nobody else's servers matter.
    let other = "redis-server --save '' --protected-mode no >/dev/null & other=$!";
    let answers = "until redis-cli ping >/dev/null 2>&1; do sleep 0.1; done";
    let line = format!(
        "ip link set lo up; {other}; {answers}; assay lab up redis --stay; code=$?; \
         kill $other; exit $code"
    );
    labs.place.shell_in("--net", &line).code(0).says("somebody has the usual ports");
    assert!(text(&labs.status(), "/url").ends_with(":16379"));
}

#[test]
fn labs_live_where_a_setting_says() {
    let labs = Labs::new();
    let labs_dir = labs.place.path("labs");
    let words = "lab up redis --stay";
    labs.place.start_with(words, |it| it.env("ASSAY_LAB_DIR", labs_dir)).wait().code(0);
    assert_eq!(labs.place.list("labs"), ["redis"]);
    labs.lab("status --lab-dir labs").code(0).shows("redis: redis 7");
    labs.lab("down --lab-dir labs").code(0);
    assert_eq!(labs.place.list("labs"), Vec::<String>::new());
}

/// The log of the only server of a lab, to be written to.
fn log(status: &Value) -> File {
    let path = text(status, "/nodes/0/servers/0/log");
    File::options().append(true).open(path).expect("the log is ours")
}

/// The numbers of the lines that [`write_lines`] has written, as they are shown.
fn numbers(displayed: &str) -> Vec<u32> {
    let lines = displayed.lines().filter_map(|line| line.strip_prefix("line "));
    lines.map(|number| number.parse().expect("a line is whole")).collect()
}

fn write_lines(log: &mut File, numbers: std::ops::Range<u32>) {
    for number in numbers {
        // In two pieces, so that a half is seen now and then.
        write!(log, "line ").and_then(|()| writeln!(log, "{number}")).expect("the log is ours");
        if number % 20 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

#[test]
fn logs_of_a_lab_whose_supervisor_is_killed_end_with_a_message() {
    let labs = Labs::new();
    let status = labs.up();
    let mut log = log(&status);
    write_lines(&mut log, 0..10);
    let running = labs.place.start("lab logs redis --node 1 --lines 3 -f");
    // Some before it has begun, some at the turn, some while it follows.
    write_lines(&mut log, 10..10_000);
    write_lines(&mut log, 10_000..10_010);
    signal(pids(&status)[0], Signal::KILL);
    let ran = running.wait().code(0).says("lab redis is gone: the process that kept it has ended");
    let displayed = numbers(&ran.out);
    let expected: Vec<u32> = (displayed[0]..10_010).collect();
    assert_eq!(displayed, expected, "no line is lost or doubled");
    // Nothing to wait for.
    let ran = labs.lab("logs redis --node 1 --lines 2 -f").code(0).says("lab redis is gone");
    assert_eq!(numbers(&ran.out), [10_008, 10_009]);
}

#[test]
fn the_log_of_a_lab_of_an_earlier_release_is_shown_by_its_old_name() {
    let labs = Labs::new();
    let status = labs.up();
    signal(pids(&status)[0], Signal::KILL);
    let log = |name| labs.place.path("kept/redis").join(name);
    let last = labs.place.read("kept/redis/supervisor.log");
    let last = last.lines().last().expect("it has said something");
    fs::rename(log("supervisor.log"), log("keeper.log")).expect("it is there");
    labs.lab("logs redis").code(0).shows("==> supervisor").shows(last);
}

#[test]
fn logs_of_an_ended_lab_show_its_last_lines() {
    let labs = Labs::new();
    labs.up();
    let running = labs.place.start("lab logs redis -f");
    wait_until("it shows something", || running.display().contains("==> supervisor"));
    labs.lab("down redis").code(0);
    let ran = running.wait().code(0).says("lab redis is down");
    ran.shows("Redis is now ready to exit, bye bye").shows("==> supervisor");
}

#[test]
fn an_action_that_the_lab_refuses_is_reported_by_the_exit_code() {
    let labs = Labs::new();
    let words = "bench ycsb-a --up redis --install --records 100 --duration 1s --rate 100/s";
    let ran = labs.place.start_at(words, "200ms: restart node 1").wait().code(7);
    ran.says("error: lab: restart node 1 failed after").says("node 1 is not down");
    assert!(labs.is_nothing_there());
}

/// A run against a lab's Redis that has begun to issue.
fn start_run(labs: &Labs) -> (Value, Running) {
    let status = labs.up();
    labs.place.fine("load ycsb-c --lab redis --records 50 -q");
    let words = "run ycsb-c --lab redis --records 50 --rate 100/s --duration 6s --run-dir b";
    let running = labs.place.start(words);
    until_issuing(&labs.place);
    (status, running)
}

#[test]
fn a_server_that_dies_by_itself_is_an_event_of_the_run() {
    let labs = Labs::new();
    let (status, running) = start_run(&labs);
    signal(pids(&status)[1], Signal::KILL);
    running.wait().code(0).shows("the server of node 1 ended by itself");
    let events = read_events(&labs.place.path("b")).expect("the run directory has events");
    let faults: Vec<_> = events.iter().filter(|event| event.kind == EventKind::Fault).collect();
    let [death] = &faults[..] else { panic!("{events:?}") };
    assert_eq!(death.text, "lab: the server of node 1 ended by itself (signal: 9 (SIGKILL))");
    // The moment in the first refusal is nearly the same.
    let records = records(&labs.place.path("b"));
    let first = records.iter().find(|record| record.outcome != Outcome::Done);
    let first = first.expect("nobody answers any more").intended;
    let apart = first.max(death.at).since(first.min(death.at));
    assert!(apart < Nanos::from_secs(1), "{apart} apart");
    assert!(labs.place.read("kept/redis/supervisor.log").contains("node 1 ended by itself"));
    labs.lab("status").code(0).shows("down (signal: 9 (SIGKILL))");
}

#[test]
fn a_run_that_outlives_its_lab_fails() {
    let labs = Labs::new();
    let (status, running) = start_run(&labs);
    signal(pids(&status)[0], Signal::KILL);
    let ran = running.wait().code(1).says("error: lab: its supervisor was killed");
    ran.shows("its supervisor ended, its servers with it");
    let notes = manifest(&labs.place, "b").notes;
    assert!(notes.iter().any(|note| note.contains("supervisor was killed")), "{notes:?}");
}

#[test]
fn nothing_can_be_done_to_a_node_that_is_down() {
    let labs = Labs::new();
    let status = labs.up();
    signal(pids(&status)[1], Signal::KILL);
    wait_until("it is down", || text(&labs.status(), "/nodes/0/state") == "down");
    for fault in ["kill", "stop", "freeze", "thaw"] {
        let ran = labs.lab(&format!("fault {fault} --node 1")).code(7);
        ran.says("node 1 is down (signal: 9 (SIGKILL))").says(&format!("nothing to {fault}"));
    }
    labs.lab("fault restart --node 1").code(0).shows("up");
}

#[test]
fn a_run_passes_its_lab_options_on() {
    let labs = Labs::new();
    let words = "bench ycsb-c --up redis --install --records 20 --operations 20 --closed 1";
    labs.place.fine(&format!("{words} --option appendfsync=always")).shows("appendfsync = always");
    for (more, why) in [
        ("--option appendfsink=always", "did you mean appendfsync?"),
        ("--option appendfsync", "write it as NAME=VALUE"),
        ("--version 9", "is not to be had in version 9"),
        ("--network mesh", "loopback or namespaces"),
    ] {
        labs.place.refuses(&format!("{words} {more}"), why);
    }
    let why = "--option: it is about a store that --up starts";
    labs.place.refuses("run ycsb-c -t memory: --option a=b", why);
}

#[test]
fn what_can_be_started_is_listed_with_what_is_missing() {
    let labs = Labs::new();
    let ran = labs.lab("ls redis").code(0).shows("one Redis server");
    let ran = ran.shows("debian (Debian's redis-server)").shows("nodes: 1");
    ran.shows("--option appendfsync=off|no|everysec|always");
    labs.lab("ls redsi").code(2).says("did you mean redis?");
    labs.place.assay("doctor").shows("lab redis");
    // A supervisor is not started by hand.
    labs.lab("keep redis").code(2).says("a supervisor is started by `assay lab up`");
    labs.lab("watchdog").code(2).says("a watchdog is started by a supervisor");
    let help = labs.lab("--help").code(0);
    assert!(!help.out.contains("keep "), "{}", help.out);
}

/// Network namespaces that are there.
fn namespaces() -> BTreeSet<String> {
    let listed = Command::new("ip").args(["netns", "list"]).output().expect("there is an ip");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    listed.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Not every root may: containers take the right away.
pub fn may_make_namespaces() -> bool {
    // Tried once, as tests run at the same time.
    static MAY: LazyLock<bool> = LazyLock::new(|| {
        let name = format!("assay-may-{}", std::process::id());
        let ip = |verb: &str| Command::new("ip").args(["netns", verb, &name]).status();
        let may = ip("add").is_ok_and(|status| status.success());
        assert!(!may || ip("del").is_ok_and(|status| status.success()), "{name} stays");
        may
    });
    *MAY
}

#[test]
fn nodes_live_in_network_namespaces_that_end_with_the_lab() {
    let labs = Labs::new();
    let words = "up redis-sentinel --network namespaces --stay --install";
    if !geteuid().is_root() {
        eprintln!("NOT RUN: only root makes network namespaces; the refusal alone is tested");
        labs.lab(words).code(2).says("--network namespaces needs root");
        return;
    }
    if !may_make_namespaces() {
        eprintln!("NOT RUN: this root may not make network namespaces (CAP_SYS_ADMIN)");
        return;
    }
    let before = namespaces();
    labs.lab(words).code(0);
    let status = labs.status();
    let nodes = status["nodes"].as_array().expect("it has nodes");
    let address = |node: &Value| node["address"].as_str().map(str::to_owned).unwrap_or_default();
    assert!(nodes.iter().all(|node| address(node).starts_with("10.42.")), "{status:#}");
    let made = namespaces().difference(&before).count();
    assert!(made >= nodes.len(), "{made} namespaces for {} nodes", nodes.len());
    let words = "--lab redis-sentinel --records 100 --quiet";
    labs.place.fine(&format!("load ycsb-c {words}"));
    labs.place.fine(&format!("run ycsb-c {words} --operations 200"));
    signal(pids(&status)[0], Signal::KILL);
    wait_until("the servers are gone", || !pids(&status).into_iter().any(is_running));
    labs.lab("down redis-sentinel").code(0).shows("was gone already");
    let own: Vec<String> = nodes.iter().map(address).collect();
    let slot = own[0].split('.').nth(2).expect("an address has four parts");
    // The number is free again: what another lab has made under it meanwhile is not ours.
    let claim = format!("/tmp/assay-lab-slots/{slot}");
    let words = ["-n", "-E", "75", &claim, "ip", "netns", "list"];
    let listed = Command::new("flock").args(words).output().expect("util-linux has flock");
    assert!(matches!(listed.status.code(), Some(0 | 75)), "{listed:?}");
    let left = String::from_utf8_lossy(&listed.stdout);
    assert!(!left.contains(&format!("aslab{slot}-")), "{left}");
}

#[test]
fn faults_that_a_lab_cannot_have_are_errors_before_it_is_started() {
    let labs = Labs::new();
    let refused = |up: &str, option: &str, value: &str, why: &str| {
        let words = format!("bench ycsb-a --up {up} --duration 60s");
        let running = labs.place.start_with(&words, |command| command.args([option, value]));
        running.wait().code(2).says(why);
    };
    refused("cassandra:3", "--at", "10s: kill master", "no single node of cassandra leads");
    refused("etcd:3", "--at", "10s: partition leader", "--network namespaces");
    refused("etcd:3", "--nemesis", "kill,partition", "--network namespaces");
    refused("etcd:3", "--nemesis", "heal", "heal breaks nothing; there are kill");
    refused("etcd:3", "--at", "10s: kill node 4", "there is no node 4; there are 1 to 3");
    refused("redis", "--at", "10s: kill minority", "of 1 nodes none are a minority");
    assert!(labs.is_nothing_there());
}

/// A word for whether a process in that network namespace, or here, reaches a port.
fn reaches(namespace: Option<&str>, port: &str) -> bool {
    let connect = format!("</dev/tcp/{}", port.replace(':', "/"));
    let mut command = match namespace {
        Some(namespace) => {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", namespace, "timeout"]);
            command
        }
        None => Command::new("timeout"),
    };
    let output = command.args(["1", "bash", "-c", &connect]).output();
    output.expect("there is a timeout").status.success()
}

/// Sentinel in network namespaces, with their names and the addresses of its servers; none where
/// that cannot be had.
fn sentinel_in_namespaces(labs: &Labs) -> Option<Vec<(String, String)>> {
    if !geteuid().is_root() || !may_make_namespaces() {
        eprintln!("NOT RUN: only root with CAP_SYS_ADMIN makes network namespaces");
        return None;
    }
    labs.lab("up redis-sentinel --network namespaces --stay --install").code(0);
    let status = labs.status();
    let nodes = status["nodes"].as_array().expect("it has nodes");
    let place = |(number, node): (usize, &Value)| {
        let address = node["address"].as_str().expect("a node has an address");
        let slot = address.split('.').nth(2).expect("an address has four parts");
        (format!("aslab{slot}-{}", number + 1), format!("{address}:6379"))
    };
    Some(nodes.iter().enumerate().map(place).collect())
}

#[test]
fn a_partition_cuts_nodes_off_until_it_is_healed() {
    let labs = Labs::new();
    let Some(nodes) = sentinel_in_namespaces(&labs) else { return };
    let between = |from: usize, to: usize| reaches(Some(&nodes[from - 1].0), &nodes[to - 1].1);
    let outside = |to: usize| reaches(None, &nodes[to - 1].1);
    assert!(between(1, 2) && between(2, 1) && between(2, 3) && outside(1));
    let cut = labs.lab("fault partition --node leader").code(0);
    cut.says("partition leader (node 1) is done, verified").shows("are cut: 1-2, 1-3");
    assert!(!between(1, 2) && !between(2, 1) && !between(3, 1));
    assert!(between(2, 3) && outside(1) && outside(2));
    labs.lab("fault heal").code(0).says("heal (nodes 1, 2, 3) is done, verified");
    assert!(between(1, 2) && between(2, 1));
    labs.lab("fault cut-clients --node 3").code(0);
    assert!(!outside(3) && outside(2) && between(2, 3));
    labs.lab("fault heal --node 3").code(0);
    assert!(outside(3));
    labs.lab("fault partition-ring --seed 1").code(0);
    let pairs = [(1, 2), (2, 3), (3, 1)];
    assert_eq!(pairs.iter().filter(|(one, other)| !between(*one, *other)).count(), 1);
    labs.lab("fault heal").code(0);
    assert!(pairs.iter().all(|(one, other)| between(*one, *other)));
}

#[test]
fn a_master_is_killed_whoever_it_is() {
    let labs = Labs::new();
    labs.lab("up redis-sentinel --stay --install").code(0);
    labs.place.fine("load ycsb-a --lab redis-sentinel --records 20 --quiet");
    let words = "run ycsb-a --lab redis-sentinel --records 20 --rate 100/s --duration 12s";
    let at = "500ms: kill master; 1s: kill primary; 9s: restart";
    labs.place.start_at(&format!("{words} --run-dir b"), at).wait().code(0);
    let events = read_events(&labs.place.path("b")).expect("the run directory has events");
    let faults = events.iter().filter(|event| event.kind == EventKind::Fault);
    let texts: Vec<&str> = faults.map(|event| event.text.as_str()).collect();
    // The second had to wait until another one led.
    let [first, second, restart] = &texts[..] else { panic!("{texts:?}") };
    assert_eq!(*first, "lab: kill leader (node 1)");
    assert!(["lab: kill leader (node 2)", "lab: kill leader (node 3)"].contains(second));
    assert!(restart.starts_with("lab: restart (nodes 1, "), "{texts:?}");
    let shown = events.iter().find(|event| event.text.starts_with(&format!("{second} is done")));
    let shown = &shown.expect("it was done").text;
    assert!(shown.contains(", verified ") && shown.ends_with(", intended at 1.00 s)"), "{shown}");
}

#[test]
fn a_nemesis_that_is_interrupted_leaves_a_whole_lab() {
    let labs = Labs::new();
    labs.up();
    labs.place.fine("load ycsb-a --lab redis --records 20 --quiet");
    let words = "run ycsb-a --lab redis --records 20 --rate 100/s --duration 60s --run-dir b";
    let running = labs.place.start(&format!("{words} --nemesis kill,pause --every 30s --seed 1"));
    wait_until("the node is broken", || text(&labs.status(), "/nodes/0/state") != "up");
    running.signal(Signal::INT);
    running.wait().code(130).says("the nemesis of seed 1 is --at '");
    labs.lab("status").code(0).shows("up");
    assert_eq!(text(&labs.status(), "/nodes/0/state"), "up");
}
