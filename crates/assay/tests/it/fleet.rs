//! A fleet of real processes: shares, start, loss, refusals, strangers, merging.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use assay_history::{Manifest, State};
use assay_model::Outcome;
use rustix::process::Signal;

use crate::place::{Place, Ran, Running, wait_until};
use crate::redis_server::Server;
use crate::run_dir::{assert_balanced, manifest, number, records, requested, text};

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
        wait_until("the coordinator listens", || coordinator.said().contains(" at 127.0.0.1:"));
        let said = coordinator.said();
        let address = said.split(" at ").nth(1).and_then(|rest| rest.split(' ').next());
        let address = address.expect("it says where").to_owned();
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
        let hash = |dir: &str| manifest(&place, dir).load.settings["executed_hash"].clone();
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
    let report = place.fine("report b");
    report.shows("3 workers").shows("Agents").shows("began");
    let result = place.fine("report b --format json").json();
    assert_balanced(&result);
    let agents = result["agents"].as_array().expect("there are agents").clone();
    assert_eq!(agents.len(), 3);
    let offered: f64 = agents.iter().map(|agent| agent["offered"].as_f64().unwrap()).sum();
    assert_eq!(offered as u64, number(&result, "/overall/counts/offered"));
    // On one kernel the raw clock tells the start to some microseconds; on a busy machine a little
    // less.
    for agent in &agents {
        let [least, most] = ["start_least_ns", "start_most_ns"].map(|name| agent[name].as_i64());
        let (least, most) = (least.expect("probed"), most.expect("probed"));
        assert!(least <= most && most - least < 1_000_000, "{agent}");
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
    let result = place.fine("report b --format json --phases all").json();
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
    let mut second = fleet
        .place
        .command(&format!("agent --join {} --keys keys/agent.pem --run-dir part-1", fleet.address));
    let second = fleet.place.spawn({
        second.env("JOB_COMPLETION_INDEX", "1");
        second
    });
    fleet.until("all 2 agents are");
    let status = format!("fleet status --join {} --keys keys/agent.pem", fleet.address);
    fleet.place.fine(&status).shows("agent state").shows("threads");
    first.wait().code(0).says("has delivered its part");
    second.wait().code(0);
    let ran = fleet.coordinator.wait().code(0);
    ran.shows("Agents");
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
    let ran = staying.wait().code(4).says("agent 1 on").says("was lost");
    ran.says("what it kept is in part-0");
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
    let ran = fleet.coordinator.wait().code(130).shows("INTERRUPTED");
    ran.shows("Agents");
    agents.into_iter().for_each(|agent| drop(agent.wait().code(0)));
    assert_eq!(manifest(&fleet.place, "b").state, State::Interrupted);
}

#[test]
fn a_deleted_pod_ends_the_load_of_all() {
    let fleet = Fleet::of(2, "-t null: --records 100 --rate 1k/s --duration 60s");
    let agents = [fleet.agent(0), fleet.agent(1)];
    fleet.until("all 2 agents are running");
    agents[1].signal(Signal::TERM);
    fleet.coordinator.wait().code(130);
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
    let ran = fleet.coordinator.wait().code(1);
    ran.says("agents 1 have not come within 2 s (--wait); here: 0, 2");
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
    fleet.place.assay("fleet keys -o keys").code(2).says("cannot write keys/coordinator.pem");
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
    wait_until("the coordinator listens", || coordinator.said().contains(" at 127.0.0.1:"));
    let said = coordinator.said();
    let address = said.split(" at ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let agent = place.assay(&format!(
        "agent --join {address} --index 0 --keys keys/agent.pem --wait 3s --run-dir part-0"
    ));
    agent.code(2).says("expired").says("assay fleet keys");
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
    let agent = fleet.agent(0);
    agent.wait().code(0);
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
    let run = |words: &str| place.assay(&format!("run ycsb-c --records 100 {words} --run-dir b"));
    run("-t null: --agents 2 --rate 1k/s").code(2).says("--agents needs --keys FILE");
    run("-t null: --agents 0 --local").code(2).says("from 1 to 1024");
    run("-t memory: --agents 2 --local").code(2).says("within the process that measures it");
    run("-t sim: --agents 2 --local").code(2).says("within the process that measures it");
    let few = run("-t null: --agents 4 --local --closed 3 --operations 100");
    few.code(2).says("4 agents cannot share 3 sessions");
    run("-t null: --local --rate 1k/s").code(2).says("only a fleet has that");
    run("-t null: --agents 2 --local --repeat 3").code(2).says("--repeat cannot be used");
    run("-t null: --agents 2 --local --lease 10ms").code(2).says("give at least 1.00 s");
    run("-t null: --agents 2 --listen here --keys k").code(2);
    assert!(!place.path("b/history").exists());
}

#[test]
fn an_agent_that_cannot_reach_the_store_calls_the_run_off() {
    let fleet = Fleet::of(1, "-t null: --records 100 --rate 1k/s --duration 500ms --wait 20s");
    let words = "--index 0 --keys keys/agent.pem -t redis://127.0.0.1:1";
    let agent = fleet.agent_with(words, 0).wait();
    agent.code(4).says("127.0.0.1:1");
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
    fleet.agent_with(&own, 0).wait().code(4).says("holds another data set");
    let ran = fleet.coordinator.wait().code(1).says("agent 0 on");
    ran.says("holds another data set").says("200");
}

#[test]
fn a_password_is_sent_only_if_that_is_wanted() {
    let server = Server::start(&["--requirepass", "right"]);
    let url = format!("redis://:right@127.0.0.1:{}", server.port);
    let place = Place::new();
    place.fine(&format!("load ycsb-c --records 100 --seed 3 -t {url} -q --agents 2 --local"));
    let words = format!("-t {url} --records 100 --seed 3 --rate 1k/s --duration 500ms");
    let fleet = Fleet::of(1, &words);
    let refused = fleet.agent(0).wait().code(4).says("--send-credentials");
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
    let keep = |index: u32| {
        fleet.agent_with(&format!("--index {index} --keys keys/agent.pem --keep"), index)
    };
    let agents = [keep(0), keep(1)];
    agents.into_iter().for_each(|agent| drop(agent.wait().code(0)));
    fleet.coordinator.wait().code(0);
    let place = &fleet.place;
    place.assay("fleet merge part-0 --run-dir m").code(2).says("the parts of agents 1 are missing");
    place.assay("fleet merge part-0 part-0 --run-dir m").code(2).says("are both of agent 0");
    place.assay("fleet merge b --run-dir m").code(2).says("is no agent's part");
    place.fine("fleet merge part-1 part-0 --run-dir m").shows("Agents");
    let hash = |dir: &str| manifest(place, dir).load.settings["executed_hash"].clone();
    assert_eq!(hash("b"), hash("m"));
    assert_eq!(requested(&place.path("b")), requested(&place.path("m")));
    let sum = |dir: &str| manifest(place, dir).history.sum;
    assert_eq!(sum("b"), sum("m"));
}

#[test]
fn a_spec_of_ones_own_travels_to_the_agents() {
    let fleet = {
        let place = Place::new();
        place.fine("workloads copy ycsb-b mine.properties");
        place
    };
    let words = "-t null: --rate 1k/s --duration 500ms --seed 5";
    fleet.fine(&format!("run mine.properties {words} --agents 2 --local --run-dir b -q"));
    fleet.fine(&format!("run mine.properties {words} --run-dir alone -q"));
    assert_eq!(requested(&fleet.path("b")), requested(&fleet.path("alone")));
}

#[test]
fn a_trace_is_replayed_by_all_agents_together() {
    let place = Place::new();
    place.fine("trace gen ycsb-a --operations 2000 --rate 3k/s --seed 6 -o t.trace");
    place.fine("run t.trace -t null: --run-dir alone -q");
    place.fine("run t.trace -t null: --agents 3 --local --run-dir b -q");
    assert_eq!(requested(&place.path("b")), requested(&place.path("alone")));
    let whole = manifest(&place, "b");
    assert_eq!(whole.load.settings["executed_hash"], whole.spec.trace_hash);
}

#[test]
fn the_steps_of_a_tune_are_shared() {
    let place = Place::new();
    let words = "tune ycsb-c -t null: --records 100 --sweep rate=500..1k:lin:2 --step 400ms \
                 --seed 8 --run-dir t -q --agents 2";
    place.assay(words).code(2).says("an agent serves one: give --local as well");
    place.fine(&format!("{words} --local")).shows("1 000");
    for step in ["t/step-001", "t/step-002"] {
        assert_eq!(manifest(&place, step).agents.len(), 2, "{step}");
    }
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
    let alone =
        format!("run ycsb-c -t {url} --records 400 --operations 200 --seed 2 --format json");
    let result = place.fine(&format!("{alone} -q")).json();
    assert_eq!(number(&result, "/overall/counts/misses"), 0);
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
