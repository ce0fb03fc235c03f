//! Final reads: acknowledged writes that a store has lost are found, and nothing else is.

use assay_history::{State, count_faults, read_events};
use assay_model::{EventKind, Kind, Nanos, Outcome, Phase, Record};
use rustix::process::Signal;
use serde_json::Value;

use crate::place::{Place, Ran, until_issuing};
use crate::redis_server::Server;
use crate::run_dir::{
    assert_balanced, assert_sealed, counted, finding, manifest, number, records, text,
};

/// The verdicts on the run directory `b`.
fn verdicts(place: &Place) -> Value {
    place.json("check b")
}

fn lost_writes(verdicts: &Value) -> &Value {
    finding(verdicts, "no-lost-writes")
}

/// The records of the run directory `b`, those of final reads apart.
fn by_phase(place: &Place) -> (Vec<Record>, Vec<Record>) {
    records(&place.path("b")).into_iter().partition(|record| record.phase != Phase::Final)
}

/// No write is lost, and some could have been found.
#[track_caller]
fn assert_nothing_lost(place: &Place) {
    let verdicts = verdicts(place);
    let finding = lost_writes(&verdicts);
    assert_eq!(finding["verdict"], "none-found", "{finding}");
    assert!(number(finding, "/power/opportunities") > 100, "{finding}");
    assert_eq!(verdicts["lost_writes"]["count"], 0);
    let silent = verdicts["findings"].as_array().expect("there are findings").iter();
    assert!(silent.clone().all(|finding| finding["verdict"] != "violated"), "{verdicts:#}");
}

/// A run in which the simulated store has this fault and each record is written once, so that each
/// loss stays.
fn faulty(fault: &str) -> Place {
    let place = Place::new();
    let words = "--set operations.update=0 --set operations.insert=50 --operations 20000 --seed 7";
    let words = format!("{words} --timeout 500ms --run-dir b -q");
    place.fine(&format!("bench register -t sim:?latency=1ms&{fault}=1% {words}"));
    place
}

#[test]
fn as_many_acknowledged_writes_are_found_lost_as_the_store_has_lost() {
    for fault in ["lost", "undone"] {
        let place = faulty(fault);
        let planted = count_faults(&place.path("b")).expect("it is whole");
        let planted = planted.expect("the store knows")[fault];
        assert!(planted > 50, "{planted}");
        let verdicts = verdicts(&place);
        assert_eq!(verdicts["lost_writes"]["count"], planted, "{fault}");
        assert_eq!(lost_writes(&verdicts)["violations"], planted, "{fault}");
    }
}

#[test]
fn a_final_read_that_is_not_answered_shows_no_loss() {
    let place = faulty("silent");
    let verdicts = verdicts(&place);
    assert_eq!(lost_writes(&verdicts)["verdict"], "none-found");
    let (run, last) = by_phase(&place);
    let unanswered = last.iter().filter(|read| read.outcome == Outcome::Unknown).count();
    assert!(unanswered > 50, "{unanswered}");
    let notes = manifest(&place, "b").notes;
    let said = format!("{unanswered} final reads were not answered");
    assert!(notes.iter().any(|note| note.starts_with(&said)), "{notes:?}");
    let acknowledged = run.iter().filter(|record| {
        let is_insert = (record.kind, record.outcome) == (Kind::Insert, Outcome::Done);
        let is_it = |read: &&Record| read.key == record.key && read.outcome == Outcome::Done;
        is_insert && last.iter().any(|read| is_it(&read))
    });
    let loaded = last.iter().filter(|read| read.key < 50 && read.outcome == Outcome::Done);
    let judged = acknowledged.count() + loaded.count();
    assert_eq!(number(lost_writes(&verdicts), "/power/opportunities"), judged as u64);
}

#[test]
fn a_lost_write_is_named_by_its_record_and_its_times() {
    let place = faulty("lost");
    let verdicts = verdicts(&place);
    let first = &verdicts["lost_writes"]["first"][0];
    let (run, last) = by_phase(&place);
    let index = number(first, "/index");
    let write = run.iter().find(|record| record.index == index).expect("it is in the history");
    assert_eq!((write.kind, write.outcome), (Kind::Insert, Outcome::Done));
    assert_eq!(text(first, "/key"), write.key.to_string());
    assert_eq!(number(first, "/ended_ns"), write.ended.0);
    let read = last.iter().find(|record| record.key == write.key).expect("it was read");
    assert!(!read.found && read.started > write.ended);
    let ran = place.assay("check b --require no-lost-writes").code(6);
    ran.shows("writes gone that had been acknowledged from").shows("operation");
}

/// The records that were read at the end at the node with this number, in order.
fn read_at(last: &[Record], node: u8) -> Vec<u64> {
    let at = last.iter().filter(|read| read.node == node && read.outcome == Outcome::Done);
    let mut keys: Vec<u64> = at.map(|read| read.key).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn every_node_that_reads_go_to_is_read_at_the_end() {
    let place = Place::new();
    let store = "sim:?latency=1ms&read_from=any&replication=20ms";
    place.fine(&format!("bench register -t {store} --operations 3000 --seed 7 --run-dir b -q"));
    assert_eq!(manifest(&place, "b").history.nodes, ["primary", "secondary1", "secondary2"]);
    let (run, last) = by_phase(&place);
    assert!(run.iter().any(|record| record.node == 3), "reads of the run have nodes");
    let first = read_at(&last, 1);
    assert!(!first.is_empty());
    assert_eq!((read_at(&last, 2), read_at(&last, 3)), (first.clone(), first));
    let sessions = |node| last.iter().filter(move |one| one.node == node).map(|one| one.session);
    assert!(sessions(1).all(|session| sessions(2).all(|other| other != session)));
    assert_eq!(lost_writes(&verdicts(&place))["verdict"], "none-found");
    let result = place.json("analyze b");
    let names = result["nodes"].as_array().expect("there are nodes").iter();
    let names: Vec<&str> = names.map(|node| text(node, "/name")).collect();
    assert_eq!(names, ["primary", "secondary1", "secondary2"]);
}

#[test]
fn a_node_that_misses_a_write_at_rest_is_named() {
    let place = Place::new();
    let store = "sim:?latency=1ms&read_from=any&replication=10000s&nodes=2";
    place.fine(&format!("bench register -t {store} --operations 3000 --seed 7 --run-dir b -q"));
    place.assay("check b --require no-lost-writes").code(6).shows("secondary1");
    let verdicts = verdicts(&place);
    let witness = &lost_writes(&verdicts)["witnesses"][0]["operations"];
    let nodes = witness.as_array().expect("there are operations").iter();
    let nodes: Vec<&Value> = nodes.map(|operation| &operation["node"]).collect();
    assert_eq!((nodes[0], nodes[nodes.len() - 1]), (&"primary".into(), &"secondary1".into()));
}

#[test]
fn final_reads_are_in_the_history_but_in_no_figure() {
    let place = Place::new();
    let words = "bench register -t sim:?latency=1ms --operations 5000 --seed 7 -q";
    let with = place.json(&format!("{words} --run-dir b"));
    place.write("assay.toml", "final-reads = false\n");
    let without = place.json(&format!("{words} --run-dir c"));
    for part in ["overall", "kinds", "lag", "in_flight", "availability", "series"] {
        assert!(!with[part].is_null(), "{part}");
        assert_eq!(with[part], without[part], "{part}");
    }
    assert_eq!(with["window"]["until_ns"], without["window"]["until_ns"]);
    assert_balanced(&with);
    assert_eq!(counted(&with, "offered"), 5000);
    assert_eq!(records(&place.path("c")), by_phase(&place).0);
    let [with, without] = ["b", "c"].map(|name| manifest(&place, name));
    assert_eq!(with.execution.executed_hash, without.execution.executed_hash);
    assert_eq!((with.counters.offered, with.counters.done), (5000, 5000));
    let (run, last) = by_phase(&place);
    let records = run.len() + last.len();
    assert_eq!(with.history.records, records as u64);
    assert_eq!(with.execution.final_reads, Some(last.len() as u64));
    let inserted = run.iter().filter(|record| record.kind == Kind::Insert).count();
    assert_eq!(last.len(), 50 + inserted, "each record once");
    let end = run.iter().map(|record| record.ended).max().expect("there are some");
    let begin = last.iter().map(|record| record.started).min().expect("there are some");
    assert!(begin >= end + Nanos::from_secs(2), "{end} {begin}");
    let events = read_events(&place.path("b")).expect("they are there");
    let is_it = |event: &&assay_model::Event| event.text == "final-read";
    let phase = events.iter().find(is_it).expect("the phase is an event");
    assert_eq!((phase.kind, phase.at), (EventKind::Phase, begin));
    assert_sealed(&place, "b", State::Finished);
    // Whatever is counted agrees: a contradiction would be a warning.
    assert_eq!(place.fine("report b").err, "");
    let phases = place.json("report b")["run"]["phases"].clone();
    assert!(phases.to_string().contains("final-read"), "{phases}");
}

#[test]
fn stores_in_this_process_have_lost_nothing() {
    let place = Place::new();
    let words = "--operations 5000 --final-wait 10ms --run-dir b -q";
    for target in ["memory:", "fjall:db", "sim:?latency=1ms"] {
        for load in ["register", "register-rmw", "register --rate 5k/s --duration 1s"] {
            place.fine(&format!("bench {load} -t {target} {words}"));
            assert_nothing_lost(&place);
            place.clear("b");
            place.clear("db");
        }
    }
}

#[test]
fn any_workload_of_records_can_be_read_again() {
    let place = Place::new();
    let words = "--set dataset.fields=1 --records 100 --operations 5000 --seed 7 --run-dir b -q";
    place.fine(&format!("bench ycsb-d -t sim:?latency=1ms {words} --final-reads"));
    assert_nothing_lost(&place);
    let (run, last) = by_phase(&place);
    let inserted = run.iter().filter(|record| record.kind == Kind::Insert).count();
    assert_eq!(last.len(), 100 + inserted);
    place.refuses("run tpcc -t memory: --final-reads", "final-reads");
}

/// A run on a server that is killed in it, and comes back or not.
fn killed(place: &Place, comes_back: bool) -> Ran {
    let mut server = Server::start(&[]);
    let words = "--duration 2s --threads 1 --seed 7 --timeout 1s --final-wait 100ms --run-dir b";
    let running = place.start(&format!("bench register -t {} {words}", server.url("")));
    until_issuing(place);
    server.kill();
    if comes_back {
        server.restart();
    }
    let ran = running.wait();
    drop(server);
    ran
}

#[test]
fn a_server_that_keeps_nothing_has_lost_what_it_had_acknowledged_before_a_kill() {
    let place = Place::new();
    killed(&place, true).code(0);
    let verdicts = verdicts(&place);
    assert_eq!(lost_writes(&verdicts)["verdict"], "violated", "{verdicts:#}");
    let (run, last) = by_phase(&place);
    let failed = run.iter().filter(|record| record.outcome != Outcome::Done);
    let killed = failed.map(|record| record.ended).min().expect("requests failed");
    let windows = verdicts["lost_writes"]["windows"].as_array().expect("there are windows");
    let end = number(windows.last().expect("there is one"), "/last_ns");
    assert!(end <= killed.0, "nothing is lost that was written later: {end} {killed}");
    // What is missing at the end, and nothing else: no insert is ever replaced.
    let gone: Vec<u64> = last.iter().filter(|read| !read.found).map(|read| read.key).collect();
    let acknowledged = run.iter().filter(|record| {
        let is_insert = (record.kind, record.outcome) == (Kind::Insert, Outcome::Done);
        is_insert && gone.contains(&record.key)
    });
    assert_eq!(verdicts["lost_writes"]["count"], acknowledged.count());
}

#[test]
fn of_a_store_that_does_not_respond_any_more_nobody_says_what_it_has_lost() {
    let place = Place::new();
    let sim = "sim:?latency=1ms&nodes=1&down=primary+1s..1000s";
    let words = "--closed 4 --duration 2s --timeout 100ms --seed 7 --run-dir b -q";
    place.fine(&format!("bench register -t {sim} {words}"));
    assert_eq!(by_phase(&place).1, []);
    let finding = lost_writes(&verdicts(&place)).clone();
    assert_eq!(finding["reason"], "no-final-reads", "{finding}");
    let notes = manifest(&place, "b").notes;
    let is_said = |note: &String| note.starts_with("no final reads: the store did not respond");
    assert!(notes.iter().any(is_said), "{notes:?}");
    place.refuses("check b --require no-lost-writes", "cannot show it");
}

#[test]
fn a_run_that_is_stopped_has_no_final_reads() {
    let place = Place::new();
    let running = place.start("bench register -t memory: --duration 60s --run-dir b -q");
    until_issuing(&place);
    running.signal(Signal::INT);
    running.wait().code(130);
    assert_eq!(by_phase(&place).1, []);
    let notes = manifest(&place, "b").notes;
    assert!(notes.iter().any(|note| note.contains("the run was stopped")), "{notes:?}");
}

#[test]
fn final_reads_come_when_every_action_has_ended() {
    let place = Place::new();
    place.write("assay.toml", "lab-dir = \"kept\"\n");
    let at = "500ms: kill node 1; 1400ms: restart node 1";
    let words = "bench register --up redis --install --duration 1500ms --seed 7 --run-dir b -q \
                 --final-wait 100ms";
    place.start_at(words, at).wait().code(0);
    let events = read_events(&place.path("b")).expect("they are there");
    let done = |action: &str| {
        let text = format!("{action} node 1 is done");
        events.iter().find(|event| event.text.contains(&text)).expect("it was done").at
    };
    let restarted = done("restart");
    let (_, last) = by_phase(&place);
    assert!(!last.is_empty() && last.iter().all(|read| read.started > restarted));
    let verdicts = verdicts(&place);
    let windows = verdicts["lost_writes"]["windows"].as_array().expect("there are windows");
    let end = number(windows.last().expect("writes were lost"), "/last_ns");
    // Answers that the server sent before it was killed may be read after that.
    assert!(Nanos(end) < restarted, "nothing is lost that was written later: {end} {restarted}");
    // All of them are of the one fault there was; the report says so beside its recovery.
    let report = place.json("report b");
    let injections = report["recovery"]["injections"].as_array().expect("there is one");
    assert_eq!(injections.len(), 1, "{injections:?}");
    assert_eq!(injections[0]["lost_writes"], verdicts["lost_writes"]["count"]);
    let text = place.fine("report b").out;
    assert!(text.contains("lost writes"), "{text}");
    assert!(text.contains("passed: D1, "), "{text}");
}
