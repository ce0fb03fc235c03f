//! A fleet whose agents put their parts into a bucket of a real server of the S3 protocol.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::Command;

use assay_history::{State, read_clock};

use crate::fleet::address_of;
use crate::place::{Place, Ran, Running, wait_until};
use crate::run_dir::{manifest, requested};
use crate::s3_server::S3Server;

const RUN: &str = "run ycsb-c -t null: --records 100 --seed 3 --rate 1k/s";

/// Starts the binary with the server's address and credentials.
fn start(place: &Place, server: &S3Server, words: &str) -> Running {
    place.start_with(words, |command| server.known_to(command))
}

/// A run of three agents on this machine, into `runs/nightly`.
fn start_run(place: &Place, server: &S3Server, words: &str) -> Running {
    let fleet = "--agents 3 --local --deliver s3://runs/nightly --run-dir b";
    start(place, server, &format!("{RUN} {fleet} {words}"))
}

/// The folder of the run in the bucket, as its address.
fn folder_of(server: &S3Server) -> String {
    let entries = fs::read_dir(server.path("runs/nightly")).expect("something was put there");
    let names: Vec<String> = entries
        .map(|entry| entry.expect("ours").file_name().to_string_lossy().into_owned())
        .collect();
    let [name] = &names[..] else { panic!("there is one run: {names:?}") };
    name.clone()
}

fn merged(place: &Place, server: &S3Server, parts: &str, dir: &str) -> Ran {
    start(place, server, &format!("fleet merge {parts} --run-dir {dir}")).wait()
}

#[test]
fn parts_from_a_bucket_give_the_run_of_parts_that_were_sent() {
    let (place, server) = (Place::new(), S3Server::start());
    place.fine(&format!("{RUN} --duration 600ms --agents 3 --local --run-dir sent"));
    let ran = start_run(&place, &server, "--duration 600ms").wait();
    ran.code(0).says("the parts will be in s3://runs/nightly/b-");
    assert_eq!(requested(&place.path("b")), requested(&place.path("sent")));
    assert_eq!(manifest(&place, "b").state, State::Finished);
    assert!(!place.path("b/pieces").exists(), "what was merged is not kept twice");
    // The bucket has everything that the result was made of.
    let url = format!("s3://runs/nightly/{}", folder_of(&server));
    merged(&place, &server, &url, "again").code(0);
    assert_eq!(requested(&place.path("again")), requested(&place.path("b")));
    let clocks = |dir: &str| read_clock(&place.path(dir)).unwrap().expect("the clocks are there");
    assert_eq!(clocks("again"), clocks("b"));
    assert!(!place.path("again/pieces").exists());
    // Parts one by one are as good; without one of them there is no result.
    let [one, two] = [0, 1].map(|agent| format!("{url}/agent-{agent}"));
    let halves = merged(&place, &server, &format!("{one} {two}"), "halves").code(2);
    halves.says("the parts of agents 2 are missing");
}

#[test]
fn a_large_file_comes_in_pieces_as_it_was() {
    let (place, server) = (Place::new(), S3Server::start());
    let running = start_run(&place, &server, "--duration 2s");
    wait_until("an agent has begun", || place.path("b/pieces/local-1/run.toml").is_file());
    let content: Vec<u8> = (0..20_000_000_u32).map(|number| (number / 7) as u8).collect();
    place.write("b/pieces/local-1/large", &content);
    running.wait().code(0);
    assert!(place.bytes("b/agents/1/large") == content);
}

#[test]
fn a_server_that_is_away_for_a_while_delays_a_run_and_no_more() {
    let (place, mut server) = (Place::new(), S3Server::start());
    let running = start_run(&place, &server, "--duration 2s --wait 30s");
    wait_until("the load goes on", || running.said().contains("all 3 agents are running"));
    server.kill();
    wait_until("the load is over", || running.said().contains("all 3 agents are done"));
    server.come_back();
    running.wait().code(0);
    place.fine(&format!("{RUN} --duration 2s --run-dir alone"));
    assert_eq!(requested(&place.path("b")), requested(&place.path("alone")));
}

#[test]
fn a_server_that_stays_away_costs_the_result_but_no_part() {
    let (place, mut server) = (Place::new(), S3Server::start());
    let running = start_run(&place, &server, "--duration 1s --wait 4s");
    wait_until("the load goes on", || running.said().contains("all 3 agents are running"));
    server.kill();
    let ran = running.wait().code(1);
    ran.says("agent ")
        .says("its part was not delivered: bucket runs at http://127.0.0.1")
        .says("cannot be reached")
        .says("AWS_ENDPOINT_URL names the server")
        .says("assay fleet merge b/pieces/local-0");
    let parts = "b/pieces/local-0 b/pieces/local-1 b/pieces/local-2 b/pieces/coordinator";
    merged(&place, &server, parts, "m").code(0);
    place.fine(&format!("{RUN} --duration 1s --run-dir alone"));
    assert_eq!(requested(&place.path("m")), requested(&place.path("alone")));
    assert!(read_clock(&place.path("m")).unwrap().is_some(), "the clocks were kept, too");
}

#[test]
fn a_bucket_that_is_not_ours_is_found_before_the_load_begins() {
    let (place, server) = (Place::new(), S3Server::start());
    type Change = for<'a> fn(&'a mut Command) -> &'a mut Command;
    let run = |words: &str, change: Change| {
        let words = format!("{RUN} --duration 1s --agents 3 --local {words}");
        place.start_with(&words, |command| change(server.known_to(command))).wait()
    };
    let nightly = "--deliver s3://runs/nightly --run-dir";
    let denied =
        run(&format!("{nightly} b"), |command| command.env("AWS_SECRET_ACCESS_KEY", "wrong"));
    denied.code(4).says("bucket runs at http://127.0.0.1").says("permission denied");
    let missing = run("--deliver s3://absent/nightly --run-dir c", |command| command);
    missing.code(2).says("there is no bucket absent at http://127.0.0.1");
    let away = run(&format!("{nightly} d"), |command| {
        command.env("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    });
    away.code(4).says("bucket runs at http://127.0.0.1:1 cannot be reached");
    let plain = run(&format!("{nightly} e"), |command| command.env_remove("AWS_ALLOW_HTTP"));
    plain.code(4).says("AWS_ALLOW_HTTP=true");
    for wrong in ["s3://", "s3://a:b@c", "bucket"] {
        let ran = run(&format!("--deliver {wrong} --run-dir f"), |command| command);
        ran.code(2).says("s3://BUCKET/PREFIX");
    }
}

#[test]
fn an_agent_without_access_calls_the_run_off_before_it_begins() {
    let (place, server) = (Place::new(), S3Server::start());
    place.fine("fleet keys -o keys");
    let fleet = "--agents 1 --listen 127.0.0.1:0 --keys keys/coordinator.pem --run-dir b \
                 --deliver s3://runs/nightly";
    let coordinator = start(&place, &server, &format!("{RUN} --duration 60s {fleet}"));
    let join = address_of(&coordinator);
    let words = format!("agent --join {join} --index 0 --keys keys/agent.pem --run-dir part");
    let mut agent = place.command(&words);
    server.known_to(&mut agent).env("AWS_ACCESS_KEY_ID", "stranger");
    place.spawn(agent).wait().code(4).says("permission denied");
    coordinator.wait().code(1).says("agent 0 on ").says("bucket runs at").says("permission denied");
}

#[test]
fn an_object_that_was_changed_is_named_and_not_merged() {
    let (place, server) = (Place::new(), S3Server::start());
    start_run(&place, &server, "--duration 500ms").wait().code(0);
    let folder = folder_of(&server);
    let url = format!("s3://runs/nightly/{folder}");
    let part = server.path(&format!("runs/nightly/{folder}/agent-1"));
    let kept = fs::read(part.join("run.toml")).expect("it was put there");
    shorten(&part.join("run.toml"), kept.len() as u64 - 1);
    let ran = merged(&place, &server, &url, "m").code(1);
    ran.says(&format!("{url}/agent-1/run.toml in bucket runs is damaged")).says(&format!(
        "it has {} bytes, {} were sent",
        kept.len() - 1,
        kept.len()
    ));
    let mut other = kept.clone();
    other[0] ^= 1;
    fs::write(part.join("run.toml"), &other).expect("the folder is ours");
    merged(&place, &server, &url, "m").code(1).says("its SHA-256 is another one");
    fs::remove_file(part.join("run.toml")).expect("it is there");
    merged(&place, &server, &url, "m").code(1).says("run.toml").says("is not there");
    // A part without its list is none.
    fs::remove_file(part.join("part.json")).expect("it is there");
    merged(&place, &server, &url, "n").code(2).says("the parts of agents 1 are missing");
    merged(&place, &server, &format!("{url}/agent-1"), "n").code(2).says("has no part of a run");
}

fn shorten(path: &Path, bytes: u64) {
    let file = OpenOptions::new().write(true).open(path).expect("it is there");
    file.set_len(bytes).expect("the file is ours");
}
