//! A fleet of real processes: shares, start, loss, refusals, strangers, merging.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use assay_history::{Manifest, State, read_clock, read_events, write_clock};
use assay_model::{Event, EventKind, Kind, Nanos, Outcome, Record};
use rustix::process::Signal;
use serde_json::Value;

use crate::http::http_request;
use crate::place::{Place, Ran, Running, wait_until};
use crate::redis_server::Server;
use crate::run_dir::{
    assert_balanced, counted, finding, manifest, number, records, requested, text,
};

/// A coordinator whose agents are started one by one.
struct Fleet {
    place: Place,
    coordinator: Running,
    address: String,
}

impl Fleet {
    /// A run by `agents` agents with `words`.
    fn of(agents: u32, words: &str) -> Fleet {
        let place = Place::new();
        place.fine("fleet keys -o keys");
        let words = format!(
            "run ycsb-c {words} --agents {agents} --listen 127.0.0.1:0 --keys \
             keys/coordinator.pem --run-dir b"
        );
        let coordinator = place.start(&words);
        let address = address_of(&coordinator);
        Fleet { place, coordinator, address }
    }

    fn agent(&self, index: u32) -> Running {
        self.agent_with(&format!("--index {index} --keys keys/agent.pem"), index)
    }

    fn agent_with(&self, words: &str, folder: u32) -> Running {
        let join = &self.address;
        self.place.start(&format!("agent --join {join} {words} --run-dir part-{folder}"))
    }

    fn until(&self, what: &str) {
        wait_until(what, || self.coordinator.said().contains(what));
    }
}

/// Where a coordinator waits for agents, when it does.
pub fn address_of(coordinator: &Running) -> String {
    wait_until("the coordinator listens", || coordinator.said().contains(" at 127.0.0.1:"));
    let said = coordinator.said();
    let address = said.split(" at ").nth(1).and_then(|rest| rest.split(' ').next());
    address.expect("it says where").to_owned()
}

/// A run on the null store, with what all of them have.
fn null_run(place: &Place, words: &str, dir: &str) -> Ran {
    place.fine(&format!("run ycsb-a -t null: --records 500 --seed 9 {words} --run-dir {dir} -q"))
}

#[test]
fn four_agents_issue_what_one_process_issues() {
    let place = Place::new();
    let loads = [
        ("open", "--rate 2k/s --duration 700ms --warm-up 100ms"),
        ("closed", "--closed 8 --operations 3000"),
        ("bounded", "--rate 3k/s --operations 900 --threads 2"),
    ];
    for (name, load) in loads {
        let [alone, shared] = ["alone", "shared"].map(|kind| format!("{name}-{kind}"));
        null_run(&place, load, &alone);
        null_run(&place, &format!("{load} --agents 4 --local"), &shared);
        assert_eq!(requested(&place.path(&alone)), requested(&place.path(&shared)), "{name}");
        let hash = |dir: &str| manifest(&place, dir).execution.executed_hash;
        assert_eq!(hash(&alone), hash(&shared), "{name}");
        let whole = manifest(&place, &shared);
        assert_eq!(whole.state, State::Finished, "{:?}", whole.reason);
        assert_eq!(whole.agents.len(), 4);
        assert_eq!(whole.counters.offered, manifest(&place, &alone).counters.offered);
        let offered = whole.agents.iter().map(|agent| agent.counters.offered).sum::<u64>();
        assert_eq!(offered, whole.counters.offered);
        assert!(whole.agents.iter().all(|agent| agent.counters.offered > 0));
    }
}

#[test]
fn a_merged_run_is_reported_as_one_with_a_row_per_agent() {
    let place = Place::new();
    null_run(&place, "--rate 2k/s --duration 600ms --agents 3 --local", "b");
    place.fine("report b").shows("3 workers").shows("Agents").shows("began");
    let result = place.json("report b");
    assert_balanced(&result);
    let agents = result["agents"].as_array().expect("there are agents").clone();
    assert_eq!(agents.len(), 3);
    let offered: f64 = agents.iter().map(|agent| agent["offered"].as_f64().unwrap()).sum();
    assert_eq!(offered as u64, counted(&result, "offered"));
    // On one kernel the raw clock tells the start to some microseconds; on a busy machine a little
    // less. Where a clock has jumped, nothing is told.
    let started = |agent: &Value| {
        let [least, most] = ["start_least_ns", "start_most_ns"].map(|name| agent[name].as_i64());
        Some((least?, most?))
    };
    let started: Vec<(i64, i64)> = agents.iter().filter_map(started).collect();
    assert!(started.len() >= 2, "{agents:?}");
    for (least, most) in started {
        assert!(least <= most && most - least < 1_000_000, "{agents:?}");
    }
    let contradictions = result["hallmark"]["checks"].as_array().expect("there are checks");
    let identity = contradictions.iter().find(|check| check["name"] == "identity");
    assert_eq!(text(identity.expect("identity is checked"), "/verdict"), "pass");
    assert_eq!(place.list("b/history"), ["agent=0", "agent=1", "agent=2"]);
    assert!(place.path("b/clock.parquet").is_file());
    assert!(!place.path("b/pieces").exists(), "what was merged is not kept twice");
}

#[test]
fn percentiles_of_all_agents_are_those_of_one_history() {
    let place = Place::new();
    null_run(&place, "--rate 2k/s --duration 600ms --agents 2 --local", "b");
    let mut responses: Vec<u64> = records(&place.path("b"))
        .iter()
        .filter(|record| record.outcome == Outcome::Done && record.found)
        .map(|record| record.ended.since(record.intended).0)
        .collect();
    responses.sort_unstable();
    let result = place.json("report b --phases all");
    let p99 = number(&result, "/overall/hits/response/percentiles_ns/p99") as f64;
    let rank = (responses.len() as f64 * 0.99).ceil() as usize - 1;
    let exact = responses[rank] as f64;
    assert!((p99 - exact).abs() <= exact * 0.001 + 1.0, "{p99} {exact}");
}

#[test]
fn agents_of_other_machines_join_by_address_with_keys() {
    let fleet = Fleet::of(2, "-t null: --records 100 --rate 1k/s --duration 500ms --seed 3");
    fleet.place.write("index", "");
    let first = fleet.agent(0);
    let words = format!("agent --join {} --keys keys/agent.pem --run-dir part-1", fleet.address);
    let second = fleet.place.start_with(&words, |it| it.env("JOB_COMPLETION_INDEX", "1"));
    fleet.until("all 2 agents are");
    let status = format!("fleet status --join {} --keys keys/agent.pem", fleet.address);
    fleet.place.fine(&status).shows("agent state").shows("threads");
    first.wait().code(0).says("has delivered its part");
    second.wait().code(0);
    fleet.coordinator.wait().code(0).shows("Agents");
    assert!(!fleet.place.path("part-0").exists(), "a delivered part is not kept");
}

#[test]
fn a_killed_agent_withdraws_the_result_and_ends_the_others() {
    let fleet = Fleet::of(2, "-t null: --records 100 --rate 1k/s --duration 60s --lease 1s");
    let (staying, mut dying) = (fleet.agent(0), fleet.agent(1));
    fleet.until("all 2 agents are running");
    dying.kill();
    let ran = fleet.coordinator.wait().code(1);
    ran.says("agent 1 on").says("was lost while running").says("there is no result");
    staying.wait().code(4).says("agent 1 on").says("was lost").says("what it kept is in part-0");
    let withdrawn = manifest(&fleet.place, "b");
    assert_eq!(withdrawn.state, State::Failed);
    assert!(!fleet.place.path("b/history").exists());
    let kept = Manifest::read(&fleet.place.path("part-0")).expect("its part is closed");
    assert!(kept.counters.offered > 0);
}

#[test]
fn agents_without_a_coordinator_end_by_themselves() {
    let mut fleet = Fleet::of(2, "-t null: --records 100 --rate 1k/s --duration 60s --lease 1s");
    let agents = [fleet.agent(0), fleet.agent(1)];
    fleet.until("all 2 agents are running");
    let begun = Instant::now();
    fleet.coordinator.kill();
    for agent in agents {
        agent.wait().code(4).says("no answer of the coordinator");
    }
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    for part in ["part-0", "part-1"] {
        let kept = Manifest::read(&fleet.place.path(part)).expect("its part is closed");
        assert_eq!(kept.state, State::Interrupted, "{part}");
        assert!(kept.history.records > 0);
    }
}

#[test]
fn an_agent_that_was_stopped_finds_its_lease_lapsed() {
    let fleet = Fleet::of(2, "-t null: --records 100 --rate 1k/s --duration 60s --lease 1s");
    let (staying, stopped) = (fleet.agent(0), fleet.agent(1));
    fleet.until("all 2 agents are running");
    stopped.signal(Signal::STOP);
    fleet.coordinator.wait().code(1).says("agent 1 on").says("was lost while running");
    staying.wait().code(4);
    stopped.signal(Signal::CONT);
    stopped.wait().code(4).says("this process was stopped");
}

#[test]
fn an_interrupt_ends_the_load_of_all_agents_with_a_result() {
    let fleet = Fleet::of(2, "-t null: --records 100 --rate 1k/s --duration 60s");
    let agents = [fleet.agent(0), fleet.agent(1)];
    fleet.until("all 2 agents are running");
    std::thread::sleep(Duration::from_millis(300));
    fleet.coordinator.signal(Signal::INT);
    fleet.coordinator.wait().code(130).shows("INTERRUPTED").shows("Agents");
    agents.into_iter().for_each(|agent| drop(agent.wait().code(0)));
    assert_eq!(manifest(&fleet.place, "b").state, State::Interrupted);
}

#[test]
fn a_deleted_pod_ends_the_load_of_all() {
    let fleet = Fleet::of(2, "-t null: --records 100 --rate 1k/s --duration 60s");
    let agents = [fleet.agent(0), fleet.agent(1)];
    fleet.until("all 2 agents are running");
    agents[1].signal(Signal::TERM);
    fleet.coordinator.wait().code(130).says("agent 1 on").says("was told to end");
    agents.into_iter().for_each(|agent| drop(agent.wait().code(0)));
}

#[test]
fn an_interrupt_before_the_start_calls_the_run_off() {
    let fleet = Fleet::of(2, "-t null: --records 100 --rate 1k/s --duration 60s");
    let agent = fleet.agent(0);
    fleet.until("planned: 0");
    fleet.coordinator.signal(Signal::INT);
    fleet.coordinator.wait().code(130).says("interrupted before the start");
    agent.wait().code(4).says("interrupted before the start");
}

#[test]
fn a_missing_agent_is_named() {
    let fleet = Fleet::of(3, "-t null: --records 100 --rate 1k/s --duration 1s --wait 2s");
    let agents = [fleet.agent(0), fleet.agent(2)];
    fleet.coordinator.wait().code(1).says("agents 1 have not come within 2 s (--wait); here: 0, 2");
    agents.into_iter().for_each(|agent| drop(agent.wait().code(4).says("agents 1 have not")));
}

#[test]
fn a_second_claimant_and_a_number_too_high_are_refused() {
    let fleet = Fleet::of(2, "-t null: --records 100 --rate 1k/s --duration 500ms");
    let first = fleet.agent(0);
    fleet.until("planned: 0");
    let keys = "--keys keys/agent.pem";
    fleet.agent_with(&format!("--index 0 {keys}"), 7).wait().code(2).says("agent 0 is here");
    fleet.agent_with(&format!("--index 5 {keys}"), 8).wait().code(2).says("no agent 5 is expected");
    fleet.agent_with(keys, 9).wait().code(2).says("give --index N");
    let second = fleet.agent(1);
    first.wait().code(0);
    second.wait().code(0);
    fleet.coordinator.wait().code(0);
}

#[test]
fn keys_of_another_run_and_expired_ones_are_refused_with_what_to_do() {
    let fleet = Fleet::of(2, "-t null: --records 100 --rate 1k/s --duration 500ms --wait 20s");
    fleet.place.fine("fleet keys -o other");
    let wrong = fleet.agent_with("--index 0 --keys other/agent.pem --wait 3s", 0).wait();
    wrong.code(2).says("keys of another run?").says("assay fleet keys");
    let own = fleet.agent_with("--index 0 --keys keys/coordinator.pem --wait 3s", 1).wait();
    own.code(2).says("do not know each other");
    let none = fleet.agent_with("--index 0 --keys none.pem", 2).wait();
    none.code(2).says("cannot read the keys in none.pem").says("assay fleet keys");
    fleet.place.write("half.pem", "-----BEGIN");
    fleet.agent_with("--index 0 --keys half.pem", 3).wait().code(2).says("no keys of a fleet");
    fleet.place.refuses("fleet keys -o keys", "cannot write keys/coordinator.pem");
    fleet.coordinator.signal(Signal::INT);
    fleet.coordinator.wait().code(130);
}

#[test]
fn expired_keys_are_named() {
    let place = Place::new();
    place.fine("fleet keys -o keys --valid 1s");
    let run = "run ycsb-c -t null: --records 100 --rate 1k/s --duration 500ms --agents 1 --listen \
               127.0.0.1:0 --keys keys/coordinator.pem --run-dir b";
    std::thread::sleep(Duration::from_millis(2_100));
    let coordinator = place.start(run);
    let join = address_of(&coordinator);
    let agent = format!("agent --join {join} --index 0 --keys keys/agent.pem --wait 3s");
    place.refuses(&format!("{agent} --run-dir part-0"), "expired").says("assay fleet keys");
    coordinator.signal(Signal::INT);
    coordinator.wait().code(130);
}

#[test]
fn strangers_on_the_port_change_nothing() {
    let fleet = Fleet::of(1, "-t null: --records 100 --rate 1k/s --duration 1s");
    let connect = || TcpStream::connect(&fleet.address).expect("somebody listens");
    let mut garbage = connect();
    garbage.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut giant = connect();
    // A record of TLS that claims to be as long as a record can be, and a hello of 16 MiB.
    giant.write_all(&[22, 3, 1, 0xFF, 0xFF, 1, 0xFF, 0xFF, 0xFF]).unwrap();
    let slow: Vec<TcpStream> = (0..400).map(|_| connect()).collect();
    fleet.agent(0).wait().code(0);
    fleet.coordinator.wait().code(0).shows("done");
    for mut stream in [garbage, giant] {
        // At most an alert, then the end.
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.len() < 100, "{} bytes", answer.len());
    }
    drop(slow);
}

#[test]
fn a_fleet_refuses_what_it_cannot_share() {
    let place = Place::new();
    for (words, said) in [
        ("null: --agents 2 --rate 1k/s", "--agents needs --keys FILE"),
        ("null: --agents 0 --local", "from 1 to 1024"),
        ("memory: --agents 2 --local", "within the process that measures it"),
        ("sim: --agents 2 --local", "within the process that measures it"),
        ("null: --agents 4 --local --closed 3 --operations 9", "4 agents cannot share 3 sessions"),
        ("null: --local --rate 1k/s", "only a fleet has that"),
        ("null: --agents 2 --repeat 3 --rate 1k/s", "an agent serves one: give --local as well"),
        ("null: --agents 2 --via http", "the server in between is on this machine"),
        ("null: --agents 2 --local --lease 10ms", "give at least 1.00 s"),
        ("null: --agents 2 --listen here --keys k", ""),
    ] {
        place.refuses(&format!("run ycsb-c --records 100 -t {words} --run-dir b"), said);
    }
    assert!(!place.path("b/history").exists());
}

#[test]
fn an_agent_that_cannot_reach_the_store_calls_the_run_off() {
    let fleet = Fleet::of(1, "-t null: --records 100 --rate 1k/s --duration 500ms --wait 20s");
    let words = "--index 0 --keys keys/agent.pem -t redis://127.0.0.1:1";
    fleet.agent_with(words, 0).wait().code(4).says("127.0.0.1:1");
    fleet.coordinator.wait().code(1).says("agent 0 on").says("127.0.0.1:1");
}

#[test]
fn another_data_set_at_the_store_of_an_agent_calls_the_run_off() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let place = Place::new();
    for (server, records) in [(&one, 100), (&other, 200)] {
        place.fine(&format!("load ycsb-c --records {records} --seed 3 -t {} -q", server.url("")));
    }
    let words = "--records 100 --seed 3 --rate 1k/s --duration 500ms --wait 20s";
    let fleet = Fleet::of(1, &format!("-t {} {words}", one.url("")));
    let own = format!("--index 0 --keys keys/agent.pem -t {}", other.url(""));
    fleet.agent_with(&own, 0).wait().code(2).says("holds another data set");
    fleet.coordinator.wait().code(1).says("agent 0 on").says("holds another data set").says("200");
}

#[test]
fn a_password_is_sent_only_if_that_is_wanted() {
    let server = Server::start(&["--requirepass", "right"]);
    let url = format!("redis://:right@127.0.0.1:{}", server.port);
    let place = Place::new();
    place.fine(&format!("load ycsb-c --records 100 --seed 3 -t {url} -q --agents 2 --local"));
    let words = format!("-t {url} --records 100 --seed 3 --rate 1k/s --duration 500ms");
    let fleet = Fleet::of(1, &words);
    let refused = fleet.agent(0).wait().code(2).says("--send-credentials");
    assert!(!refused.err.contains("right@"));
    fleet.coordinator.wait().code(1).says("--send-credentials");
    let fleet = Fleet::of(1, &format!("{words} --send-credentials"));
    fleet.agent(0).wait().code(0);
    fleet.coordinator.wait().code(0);
    assert!(!fleet.place.read("b/run.toml").contains("right@"));
}

#[test]
fn parts_that_were_left_where_they_are_are_merged_later() {
    let fleet = Fleet::of(2, "-t null: --records 100 --rate 1k/s --duration 700ms --seed 4");
    let agents = [0, 1].map(|index| {
        fleet.agent_with(&format!("--index {index} --keys keys/agent.pem --keep"), index)
    });
    agents.into_iter().for_each(|agent| drop(agent.wait().code(0)));
    fleet.coordinator.wait().code(0);
    let place = &fleet.place;
    place.refuses("fleet merge part-0 --run-dir m", "the parts of agents 1 are missing");
    place.refuses("fleet merge part-0 part-0 --run-dir m", "are both of agent 0");
    place.refuses("fleet merge b --run-dir m", "is no agent's part");
    place.fine("fleet merge part-1 part-0 --run-dir m").shows("Agents");
    let [whole, merged] = ["b", "m"].map(|dir| manifest(place, dir));
    assert_eq!(whole.execution.executed_hash, merged.execution.executed_hash);
    assert_eq!(whole.history.sum, merged.history.sum);
    assert_eq!(requested(&place.path("b")), requested(&place.path("m")));
}

#[test]
fn a_spec_of_ones_own_travels_to_the_agents() {
    let place = Place::new();
    place.fine("workloads copy ycsb-b mine.properties");
    let words = "run mine.properties -t null: --rate 1k/s --duration 500ms --seed 5 -q --run-dir";
    place.fine(&format!("{words} b --agents 2 --local"));
    place.fine(&format!("{words} alone"));
    assert_eq!(requested(&place.path("b")), requested(&place.path("alone")));
}

#[test]
fn a_trace_is_replayed_by_all_agents_together() {
    let place = Place::new();
    place.fine("trace gen ycsb-a --operations 2000 --rate 3k/s --seed 6 -o t.trace");
    place.fine("run t.trace -t null: --run-dir alone -q");
    place.fine("run t.trace -t null: --agents 3 --local --run-dir b -q");
    assert_eq!(requested(&place.path("b")), requested(&place.path("alone")));
    let whole = manifest(&place, "b");
    assert_eq!(whole.execution.executed_hash.as_ref(), Some(&whole.spec.trace_hash));
}

#[test]
fn the_runs_of_a_tune_a_group_and_a_study_are_shared() {
    let place = Place::new();
    let words = "tune ycsb-c -t null: --records 100 --sweep rate=500..1k:lin:2 --step 400ms \
                 --seed 8 --run-dir t -q --agents 2";
    place.refuses(words, "an agent serves one: give --local as well");
    place.fine(&format!("{words} --local")).shows("1 000");
    let words = "run ycsb-c -t null: --records 200 --rate 1k/s --duration 400ms --repeat 2 \
                 --agents 2 --local --run-dir g --seed 5 -q";
    place.fine(words).shows("2 runs");
    let study = "title = \"two agents\"\nrecords = 200\noperations = 400\nworkloads = \
                 [\"ycsb-c\"]\n[[load]]\nclosed = [4]\n[[store]]\nname = \"null\"\nurl = \
                 \"null:\"\n[run]\nagents = 2\nlocal = true\n";
    place.write("s.toml", study).fine("study s.toml --seed 3 -q --dir s");
    let cell = "s/cells/null-ycsb-c-closed-4-r1/run";
    for run in ["t/step-001", "t/step-002", "g/1", "g/2", cell] {
        assert_eq!(manifest(&place, run).agents.len(), 2, "{run}");
    }
}

#[test]
fn agents_load_and_replay_as_a_bench_does() {
    let place = Place::new();
    // As many records as it suggests.
    let words = "bench ycsb-c -t null: --rate 1k/s --duration 500ms --agents 2 --local";
    place.fine(&format!("{words} --run-dir b -q")).shows("Agents");
    assert_eq!(manifest(&place, "b/load").counters.done, 100_000);
    place.fine("trace gen ycsb-c --operations 200 --set dataset.records=300 -o t.parquet");
    let bench = "bench t.parquet -t null: --rate 1k/s -q";
    for (words, done) in [("", 200), ("--duration 10s --operations 50", 50)] {
        place.fine(&format!("{bench} {words} --run-dir alone-{done}"));
        place.fine(&format!("{bench} {words} --agents 2 --local --run-dir b-{done}"));
        let alone = manifest(&place, &format!("alone-{done}"));
        let whole = manifest(&place, &format!("b-{done}"));
        assert_eq!((alone.counters.done, whole.counters.done), (done, done));
        assert_eq!(alone.spec, whole.spec);
        assert_eq!(manifest(&place, &format!("b-{done}/load")).counters.done, 300);
    }
    let tune = "tune t.parquet -t null: --sweep rate=500..1k:lin:2 --step 100ms -q";
    place.fine(&format!("{tune} --agents 2 --local --run-dir tuned"));
    assert_eq!(manifest(&place, "tuned/step-002").agents.len(), 2);
}

#[test]
fn a_bench_by_a_fleet_loads_and_runs() {
    let (server, place) = (Server::start(&[]), Place::new());
    let words = "--records 400 --rate 1k/s --duration 500ms --seed 2 --agents 2 --local";
    let url = server.url("");
    place.fine(&format!("bench ycsb-a -t {url} {words} --run-dir b -q")).shows("Agents");
    assert_eq!(manifest(&place, "b/load").counters.done, 400);
    let whole = manifest(&place, "b");
    assert_eq!(whole.counters.done, whole.counters.offered);
    assert_eq!(server.cli("zcard _indices"), "400");
    // What was loaded by a fleet is the data set that one process expects.
    let alone = format!("run ycsb-c -t {url} --records 400 --operations 200 --seed 2 -q");
    assert_eq!(counted(&place.json(&alone), "misses"), 0);
}

#[test]
fn an_agent_that_waits_for_its_coordinator_ends_upon_a_signal() {
    let place = Place::new();
    place.fine("fleet keys -o keys");
    let agent = place.start("agent --join 127.0.0.1:1 --keys keys/agent.pem --index 0");
    // It tries again: nobody listens yet.
    std::thread::sleep(Duration::from_millis(300));
    agent.signal(Signal::TERM);
    agent.wait().code(130);
    let short = "agent --join 127.0.0.1:1 --keys keys/agent.pem --index 0 --wait 1s";
    place.assay(short).code(4).says("cannot reach the coordinator at 127.0.0.1:1 within 1 s");
}

#[test]
fn what_agents_have_kept_is_delivered_in_pieces() {
    let place = Place::new();
    // More than a piece: 200,000 records of about nine bytes.
    let words = "run ycsb-a -t null: --records 1000 --closed 2 --operations 200k --seed 1";
    place.fine(&format!("{words} --agents 1 --local --run-dir b -q"));
    let part = place.path("b/history/agent=0/part-0.parquet");
    assert!(std::fs::metadata(&part).expect("it was delivered").len() > 1 << 20);
    let whole = manifest(&place, "b");
    assert_eq!((whole.counters.done, whole.state), (200_000, State::Finished));
}

#[test]
fn a_check_orders_events_of_two_agents_only_as_far_as_their_clocks_allow() {
    let (server, place) = (Server::start(&[]), Place::new());
    let words = format!("register -t {} --seed 3", server.url(""));
    place.fine(&format!("load {words} -q --agents 2 --local --run-dir l"));
    place.fine(&format!("run {words} --duration 700ms -q --agents 2 --local --run-dir b"));
    // Those of the agents, and that of the coordinator, which has made the final reads.
    place.fine("check b").shows("3 clocks, off by up to");
    // Half a second of error of one clock, planted: nothing that two agents did is ordered.
    let dir = place.path("b");
    let mut probes = read_clock(&dir).expect("it is ours").expect("clocks were probed");
    for probe in &mut probes[1].1 {
        probe.received += 500_000_000;
        probe.replied += 500_000_000;
    }
    write_clock(&dir, &probes).expect("the directory is ours");
    place.fine("check b").shows("3 clocks, off by up to 250 ms").shows("clocks are too far apart");
    // A clock that jumps in the midst of the run.
    let half = probes[0].1.len() / 2;
    for probe in &mut probes[0].1[half..] {
        probe.received += 30_000_000;
        probe.replied += 30_000_000;
    }
    write_clock(&dir, &probes).expect("the directory is ours");
    place.fine("check b").shows("the clock of agent 0 jumped").shows("clocks are too far apart");
}

#[test]
fn an_agent_whose_disk_is_full_withdraws_the_result() {
    let fleet = Fleet::of(2, "-t null: --records 100 --closed 2 --duration 60s");
    let healthy = fleet.agent(0);
    let mut limited = fleet.place.program("sh");
    let words = format!(
        "ulimit -f 4096; exec \"$ASSAY\" agent --join {} --keys keys/agent.pem --index 1 \
         --run-dir part-1",
        fleet.address
    );
    limited.env("ASSAY", env!("CARGO_BIN_EXE_assay")).args(["-c", &words]);
    let limited = fleet.place.spawn(limited);
    let ran = fleet.coordinator.wait().code(1);
    ran.says("agent 1 on").says("its share failed").says("there is no result");
    limited.wait().code(1).says("its share failed: cannot write");
    healthy.wait().code(4).says("agent 1 on");
}

/// The events of the run directory `b` that are about the lab.
fn lab_events(place: &Place) -> Vec<Event> {
    let events = read_events(&place.path("b")).expect("they were written");
    events.into_iter().filter(|event| event.text.starts_with("lab: ")).collect()
}

#[test]
fn a_fault_at_the_coordinators_lab_shows_as_an_outage_of_the_whole() {
    let place = Place::new();
    place.write("assay.toml", "lab-dir = \"labs\"\n");
    let words = "bench ycsb-a --up redis --records 200 --rate 1k/s --duration 7s --agents 2 \
                 --local --timeout 300ms --run-dir b --format json --seed 4 -q";
    let result = place.start_at(words, "2s: kill 1; 4s: restart 1").wait().code(0).json();
    let events = lab_events(&place);
    let texts: Vec<&str> = events.iter().map(|event| event.text.as_str()).collect();
    assert!(texts[0].starts_with("lab: kill node 1"), "{texts:?}");
    assert!(texts.iter().any(|text| text.starts_with("lab: restart node 1 is done")), "{texts:?}");
    // On the axis of the run: the moment is that of the schedule.
    let late = events[0].at.since(Nanos::from_secs(2));
    assert!(late < Nanos::from_millis(500), "{:?}", events[0]);
    // A busy machine may let a request time out before the server is killed.
    let failed = |from: Nanos, until: Nanos| {
        let all = records(&place.path("b"));
        let failed = all.into_iter().filter(|one| one.outcome != Outcome::Done);
        failed.filter(|one| (from..until).contains(&one.started)).count()
    };
    let killed = events[0].at;
    let during = failed(killed, Nanos::from_secs(4));
    assert!(during > 500, "{during}");
    assert!(failed(killed, killed + Nanos::from_millis(700)) > 100, "from when on: {killed}");
    assert!(failed(Nanos::ZERO, killed) < during / 10, "before {killed}");
    let outages = result["availability"]["outages"].as_array().expect("availability is analyzed");
    assert!(!outages.is_empty(), "{}", result["availability"]);
    let effects = result["effects"].as_array().expect("there is an effect of each action");
    assert!(!effects.is_empty(), "{result:#}");
    // The agents were told nothing of it, and the coordinator has seen the server's resources.
    assert!(!place.read("b/agents/0/run.toml").contains("--at=2s"));
    assert!(place.path("b/agents/coordinator/observations.parquet").is_file());
    let whole = manifest(&place, "b");
    assert_eq!(whole.coordinator.expect("it has a part").part, 2);
}

#[test]
fn an_action_that_fails_is_told_with_its_own_exit_code() {
    let place = Place::new();
    place.write("assay.toml", "lab-dir = \"labs\"\n");
    let words = "bench ycsb-c --up redis --records 100 --rate 500/s --operations 500 --agents 2 \
                 --local --run-dir b --seed 4 -q";
    let ran = place.start_at(words, "300s: kill 1").wait().code(7);
    ran.says("lab: kill node 1 was not done, the run was over before");
    assert_eq!(manifest(&place, "b").state, State::Finished);
}

/// The verdict on lost writes of the run directory `dir`.
fn lost_writes(place: &Place, dir: &str) -> (u64, Value) {
    let verdicts = place.json(&format!("check {dir}"));
    let verdict = finding(&verdicts, "no-lost-writes")["verdict"].clone();
    (number(&verdicts, "/lost_writes/count"), verdict)
}

/// Runs `register` in which each record is written once, in a Redis that loses every third key
/// between the load and the final reads; the verdict, and how many final reads there are.
fn lossy(words: &str) -> (u64, Value, u64) {
    let (server, place) = (Server::start(&[]), Place::new());
    let url = server.url("");
    let workload =
        format!("register -t {url} --seed 7 --set operations.update=0 --set operations.insert=50");
    // Long enough that the keys are gone before they are read once more.
    let words =
        format!("bench {workload} --rate 400/s --duration 2s --final-wait 4s {words} --run-dir b");
    let running = place.start(&words);
    wait_until("the load is over", || running.said().contains("waiting for the store to respond"));
    let keys = server.cli("keys user*");
    let mut lost: Vec<&str> = keys.lines().collect();
    lost.sort_unstable();
    let lost: Vec<&str> = lost.into_iter().step_by(3).collect();
    assert!(lost.len() > 20, "{keys}");
    server.cli(&format!("del {}", lost.join(" ")));
    running.wait().code(0);
    let (count, verdict) = lost_writes(&place, "b");
    let read = manifest(&place, "b").execution.final_reads.expect("there are some");
    (count, verdict, read)
}

#[test]
fn acknowledged_writes_that_are_gone_are_found_as_by_one_machine() {
    let alone = lossy("");
    let shared = lossy("--agents 4 --local");
    assert!(alone.0 > 20, "{alone:?}");
    assert_eq!(alone, shared);
}

#[test]
fn a_store_that_loses_nothing_is_not_accused() {
    let (server, place) = (Server::start(&[]), Place::new());
    let words = format!("register -t {} --seed 3", server.url(""));
    place.fine(&format!("load {words} -q --agents 2 --local --run-dir l"));
    let run = format!("run {words} --operations 10000 --final-wait 100ms -q --agents 2 --local");
    place.fine(&format!("{run} --run-dir b"));
    assert_eq!(lost_writes(&place, "b"), (0, "none-found".into()));
    let whole = manifest(&place, "b");
    let own = whole.coordinator.expect("it has read");
    assert!(own.records >= 50, "{own:?}");
    assert_eq!(place.list("b/history"), ["agent=0", "agent=1", "agent=2"]);
    let result = place.json("report b");
    assert_balanced(&result);
    let checks = result["hallmark"]["checks"].as_array().expect("there are checks").iter();
    let identity = checks.clone().find(|check| check["name"] == "identity");
    assert_eq!(text(identity.expect("identity is checked"), "/verdict"), "pass");
    assert_eq!(result["agents"].as_array().map(Vec::len), Some(2));
}

#[test]
fn the_rate_of_a_fleet_is_changed_at_one_moment_for_all() {
    let place = Place::new();
    let words = "run ycsb-c -t null: --records 500 --rate 2k/s --arrivals constant --duration 40s \
                 --floor 0s --run-dir b -q --port 0 --agents 2 --local --seed 6";
    let (running, address) = crate::port::start(&place, words);
    assert_eq!(http_request(address, "POST", "/rate", "8k/s").status, 409, "nobody issues yet");
    let status = || http_request(address, "GET", "/", "").json();
    wait_until("there are figures", || !status()["last_interval"].is_null());
    let answer = http_request(address, "POST", "/rate", "8k/s");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let from = Nanos(answer.json()["from_ns"].as_u64().expect("a moment"));
    let achieved = || status()["last_interval"]["achieved_per_s"].as_f64();
    wait_until("the rate is reached", || achieved() > Some(7500.0));
    let agents = status()["agents"].clone();
    assert_eq!(agents.as_array().map(Vec::len), Some(2), "{agents}");
    assert!(agents.as_array().unwrap().iter().all(|row| row["state"] == "running"), "{agents}");
    let metrics = http_request(address, "GET", "/metrics", "").body;
    assert!(metrics.contains("\nassay_intended_rate 8000\n"), "{metrics}");
    assert!(metrics.contains("\nassay_agent_done_total{agent=\"1\"} "), "{metrics}");
    assert!(metrics.contains("assay_service_seconds_bucket{kind=\"read\""), "{metrics}");
    assert_eq!(http_request(address, "POST", "/stop", "").status, 200);
    running.wait().code(130);
    let events = read_events(&place.path("b")).expect("they were written");
    let changes: Vec<_> = events.iter().filter(|one| one.kind == EventKind::Change).collect();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0].at, from);
    // The union is what one machine would have issued: one arrival in each step of the schedule.
    let mut intended: Vec<u64> =
        records(&place.path("b")).iter().map(|record| record.intended.0).collect();
    intended.sort_unstable();
    let rate_until = |from: u64, until: u64| {
        let count = intended.iter().filter(|at| (from..until).contains(at)).count();
        count as f64 * 1e9 / (until - from) as f64
    };
    assert_eq!(rate_until(from.0 - 500_000_000, from.0).round(), 2000.0);
    assert_eq!(rate_until(from.0, from.0 + 500_000_000).round(), 8000.0);
    let gaps = |within: std::ops::Range<u64>| -> Vec<u64> {
        let within: Vec<&u64> = intended.iter().filter(|at| within.contains(at)).collect();
        let mut gaps: Vec<u64> = within.windows(2).map(|two| two[1] - two[0]).collect();
        gaps.dedup();
        gaps
    };
    assert_eq!(gaps(0..from.0), [500_000]);
    assert_eq!(gaps(from.0..from.0 + 500_000_000), [125_000]);
    let notes = manifest(&place, "b").notes;
    assert!(!notes.iter().any(|note| note.contains("at different moments")), "{notes:?}");
}

#[test]
fn a_server_in_between_serves_all_agents() {
    let place = Place::new();
    let words = "fmke -t memory: --via http --closed 4 --operations 200 --agents 2 --local";
    place.fine(&format!("bench {words} --run-dir b -q --seed 3"));
    let whole = manifest(&place, "b");
    assert_eq!(whole.agents.len(), 2);
    assert!(whole.store.settings.iter().any(|setting| setting.name == "via"));
}

/// A driver that takes one request at a time: each process of it waits 5 ms before it answers.
const SLOW: &str = r#"
import json, sys, time
def say(value):
    print(json.dumps(value), flush=True)
sys.stdin.readline()
say({"assay": 1, "name": "slow", "operations": ["read"], "keeps": False})
for line in sys.stdin:
    request = json.loads(line)
    is_read = request["op"] == "read"
    time.sleep(0.005 if is_read else 0)
    say({"id": request["id"], "outcome": "missing" if is_read else "done"})
"#;

#[test]
fn a_comparison_of_two_numbers_of_agents_tells_the_gain_by_another_one() {
    let place = Place::new();
    place.write("slow.py", SLOW);
    // Twice the processes do twice as much, however busy the machine is, for they wait.
    let words = "run ycsb-c -t exec:python3?arg=slow.py --records 100 --closed 2 --threads 1 \
                 --duration 1s --floor 0s --seed 3 -q";
    place.fine(&format!("{words} --run-dir one"));
    place.fine(&format!("{words} --agents 2 --local --run-dir two"));
    let shown = place.fine("compare one two").shows("B6 gain by another agent");
    shown.shows("at most 3 %").shows("the client holds the throughput back");
    // At a rate that is given, nobody is saturated.
    let words = words.replace("--closed 2", "--rate 50/s");
    place.fine(&format!("{words} --run-dir three"));
    place.fine(&format!("{words} --agents 2 --local --run-dir four"));
    let ran = place.fine("compare three four");
    assert!(!ran.out.contains("B6"), "{}", ran.out);
}

#[test]
fn what_was_broken_is_mended_when_the_run_of_a_fleet_is_interrupted() {
    let place = Place::new();
    place.write("assay.toml", "lab-dir = \"labs\"\n");
    let words = "bench ycsb-c --up redis --records 100 --rate 500/s --duration 60s --agents 2 \
                 --local --timeout 300ms --run-dir b --seed 4";
    let running = place.start_at(words, "500ms: kill 1; 50s: restart 1");
    // Twice: for the load, and for the run.
    wait_until("both issue", || running.said().matches("all 2 agents are armed").count() == 2);
    std::thread::sleep(Duration::from_secs(4));
    running.signal(Signal::INT);
    running.wait().code(130);
    let texts: Vec<String> = lab_events(&place).into_iter().map(|event| event.text).collect();
    assert_eq!(texts.len(), 4, "{texts:?}");
    assert!(texts[3].starts_with("lab: restart node 1 is done"), "{texts:?}");
}

#[test]
fn what_agents_have_inserted_is_deleted_if_that_is_wanted() {
    let (server, place) = (Server::start(&[]), Place::new());
    let url = server.url("");
    let words = "--records 200 --seed 3 --agents 2 --local -q";
    place.fine(&format!("load ycsb-d -t {url} {words} --run-dir l"));
    let run = format!("run ycsb-d -t {url} {words} --rate 1k/s --duration 1s --clean-up-inserts");
    place.fine(&format!("{run} --run-dir b"));
    let is_insert = |record: &&Record| record.kind == Kind::Insert;
    assert!(records(&place.path("b")).iter().filter(is_insert).count() > 10);
    assert_eq!(server.cli("zcard _indices"), "200");
}

#[test]
fn parts_that_are_left_where_the_coordinator_sees_them_are_joined_from_there() {
    let words = "-t null: --records 100 --rate 1k/s --duration 700ms --seed 4 --deliver leave";
    let fleet = Fleet::of(2, words);
    let agents = [fleet.agent(0), fleet.agent(1)];
    for agent in agents {
        agent.wait().code(0).says("has left its part in part-");
    }
    fleet.coordinator.wait().code(0).shows("Agents");
    let place = &fleet.place;
    assert_eq!(place.list("b/history"), ["agent=0", "agent=1"]);
    null_run(place, "--rate 1k/s --duration 500ms --agents 2 --local --deliver leave", "c");
    assert_eq!(manifest(place, "c").agents.len(), 2);
    place.refuses("run ycsb-c -t null: --agents 2 --local --deliver it", "leave");
}

#[test]
fn parts_that_were_left_elsewhere_are_merged_with_what_the_coordinator_knows() {
    let words = "-t null: --records 100 --rate 1k/s --duration 60s --seed 4 --deliver leave";
    let fleet = Fleet::of(2, words);
    let agents = [fleet.agent(0), fleet.agent(1)];
    fleet.until("all 2 agents are running");
    let place = &fleet.place;
    // A machine whose directory nobody else sees.
    fleet.coordinator.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(500));
    agents[1].signal(Signal::TERM);
    wait_until("its part is closed", || {
        let part = place.path("part-1");
        let is_closed = Manifest::read(&part).is_ok_and(|part| part.state != State::Running);
        is_closed && !part.join("lock").exists()
    });
    std::fs::rename(place.path("part-1"), place.path("elsewhere")).expect("both are ours");
    fleet.coordinator.signal(Signal::CONT);
    for agent in agents {
        agent.wait();
    }
    let ran = fleet.coordinator.wait().code(1).says("there is no part of an agent in");
    ran.says("assay fleet merge");
    let merge = "fleet merge part-0 elsewhere b/pieces/coordinator --run-dir m";
    place.fine(merge).shows("INTERRUPTED");
    assert!(place.path("m/clock.parquet").is_file(), "the clocks are known");
    let notes = manifest(place, "m").notes;
    assert!(!notes.iter().any(|note| note.contains("cannot be ordered")), "{notes:?}");
}
