//! A real Redis server in a lab; no other program is needed for the rest.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::fault::Injection;
use crate::recipes;
use crate::record::Death;

fn house(folder: &Path) -> House {
    House { package_cache: folder.join("packages"), places: Vec::new(), may_install: true }
}

fn watched<T>(act: impl FnOnce(&Watch<'_>) -> T) -> T {
    let (stop, tell) = (AtomicBool::new(false), |_: &str| {});
    act(&Watch::new(&stop, &tell))
}

fn order(name: &str) -> Order {
    Order::of(recipes::find(name).unwrap())
}

/// Starts a lab in `folder/lab`; ready when the server answers a PING.
fn up(order: &Order, folder: &Path) -> Result<Lab, LabError> {
    watched(|watch| Lab::up(order, &folder.join("lab"), &house(folder), watch, &mut ping))
}

fn ping(url: &str) -> Result<(), String> {
    let authority = url.strip_prefix("redis://").ok_or("it is no Redis")?;
    let mut reported = [0; 7];
    TcpStream::connect(authority)
        .and_then(|mut socket| {
            socket.write_all(b"PING\r\n")?;
            socket.read_exact(&mut reported)
        })
        .map_err(|error| error.to_string())?;
    if &reported == b"+PONG\r\n" { Ok(()) } else { Err("it does not answer".into()) }
}

fn refusal(result: Result<Lab, LabError>) -> String {
    match result {
        Ok(_) => panic!("it should have been refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_server_is_up_when_it_answers_and_gone_when_it_is_down() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = up(&order("redis"), folder.path()).unwrap();
    let url = lab.url().to_owned();
    assert_eq!(ping(&url), Ok(()));
    assert_eq!(lab.nodes()[0].state, NodeState::Up);
    assert!(lab.version().starts_with(|first: char| first.is_ascii_digit()), "{}", lab.version());
    let written = Record::read(lab.folder()).unwrap().unwrap();
    assert_eq!(written, lab.record());
    assert!(written.nodes[0].servers[0].is_alive());
    lab.down().unwrap();
    assert!(ping(&url).is_err());
    assert!(!written.nodes[0].servers[0].is_alive());
    assert!(!folder.path().join("lab").exists());
}

#[test]
fn a_killed_node_is_down_until_it_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = up(&order("redis"), folder.path()).unwrap();
    let url = lab.url().to_owned();
    lab.kill(1).unwrap();
    assert_eq!(lab.nodes()[0].state, NodeState::Down);
    assert!(ping(&url).is_err());
    watched(|watch| lab.restart(1, watch)).unwrap();
    assert_eq!((lab.nodes()[0].state, ping(&url)), (NodeState::Up, Ok(())));
    lab.freeze(1).unwrap();
    assert_eq!(lab.nodes()[0].state, NodeState::Frozen);
    lab.thaw(1).unwrap();
    assert_eq!(lab.nodes()[0].state, NodeState::Up);
    let reported = lab.kill(2).unwrap_err().to_string();
    assert_eq!(reported, "there is no node 2; there are 1 to 1");
}

#[test]
fn a_server_that_dies_by_itself_is_written_down_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = up(&order("redis"), folder.path()).unwrap();
    assert_eq!(lab.notice_deaths(1).unwrap(), Vec::<String>::new());
    lab.cluster.nodes[0].servers[0].signal(Signal::KILL);
    let mut reported = Vec::new();
    while reported.is_empty() {
        reported = lab.notice_deaths(7).unwrap();
    }
    assert_eq!(reported, ["the server of node 1 ended by itself (signal: 9 (SIGKILL))"]);
    assert_eq!(lab.notice_deaths(8).unwrap(), Vec::<String>::new());
    let died = Record::read(lab.folder()).unwrap().unwrap().nodes[0].servers[0].died.clone();
    assert_eq!(died, Some(Death { unix_ms: 7, how: "signal: 9 (SIGKILL)".into() }));
    watched(|watch| lab.restart(1, watch)).unwrap();
    assert_eq!(lab.record().nodes[0].servers[0].died, None);
    lab.kill(1).unwrap();
    assert_eq!(lab.notice_deaths(9).unwrap(), Vec::<String>::new());
}

#[test]
fn nothing_is_done_to_a_node_that_is_down() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = up(&order("redis"), folder.path()).unwrap();
    lab.kill(1).unwrap();
    for (what, done) in [
        ("kill", lab.kill(1)),
        ("stop", lab.stop(1)),
        ("freeze", lab.freeze(1)),
        ("thaw", lab.thaw(1)),
    ] {
        let reported = done.unwrap_err();
        assert!(matches!(reported, LabError::State(_)), "{reported}");
        let expected = format!("node 1 is down (signal: 9 (SIGKILL)): there is nothing to {what}");
        assert!(reported.to_string().starts_with(&expected), "{reported}");
    }
    assert_eq!(lab.nodes()[0].state, NodeState::Down);
}

#[test]
fn two_labs_do_not_collide() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = up(&order("redis"), one.path()).unwrap();
    let second = up(&order("redis"), other.path()).unwrap();
    assert_ne!(first.url(), second.url());
    let reported = refusal(up(&order("redis"), one.path()));
    assert!(reported.contains("a lab is up in"), "{reported}");
    drop(first);
    let again = up(&order("redis"), one.path()).unwrap();
    assert_eq!(ping(again.url()), Ok(()));
    assert_eq!(ping(second.url()), Ok(()));
}

#[test]
fn nothing_of_somebody_else_is_taken_for_a_labs_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("lab")).unwrap();
    fs::write(folder.path().join("lab/thesis.tex"), "years of work").unwrap();
    let reported = refusal(up(&order("redis"), folder.path()));
    assert!(reported.contains("is no lab's folder"), "{reported}");
    assert!(folder.path().join("lab/thesis.tex").exists());
}

#[test]
fn orders_that_are_invalid_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |order: Order| refusal(up(&order, folder.path()));
    assert_eq!(refused(order("redis").nodes(3)), "redis can have 1 nodes here, not 3");
    let version = Order { version: Some("9.9".into()), ..order("redis") };
    let reported = refused(version);
    assert!(reported.contains("is not to be had in version 9.9: debian"), "{reported}");
    let reported = refused(order("redis").choose("appendfsink", "always"));
    assert_eq!(reported, "redis has no option \"appendfsink\"; did you mean appendfsync?");
    let reported = refused(order("redis").choose("appendfsync", "never"));
    let expected = "option appendfsync of redis is off or no or everysec or always, not \"never\"";
    assert_eq!(reported, expected);
    let reported = recipes::find("redsi").map(|_| ()).unwrap_err();
    assert_eq!(reported, "the lab has no recipe for \"redsi\"; did you mean redis?");
}

#[test]
fn a_store_that_cannot_scale_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = up(&order("redis"), folder.path()).unwrap();
    let reported = watched(|watch| lab.scale(2, watch)).unwrap_err().to_string();
    assert_eq!(reported, "redis can have 1 nodes here, not 2");
    watched(|watch| lab.scale(1, watch)).unwrap();
}

#[test]
fn a_server_that_does_not_start_shows_its_last_output() {
    let folder = tempfile::tempdir().unwrap();
    // A port that is taken between the check and the start is like this one.
    let order = order("redis").choose("appendfsync", "always");
    let mut lab = up(&order, folder.path()).unwrap();
    lab.kill(1).unwrap();
    // The file that it would read its records from is not one of them.
    fs::remove_dir_all(folder.path().join("lab/n1/appendonlydir")).unwrap();
    fs::write(folder.path().join("lab/n1/appendonlydir"), "no folder").unwrap();
    let reported = watched(|watch| lab.restart(1, watch)).unwrap_err().to_string();
    assert!(reported.contains("the server of node 1 ended"), "{reported}");
    assert!(reported.contains("appendonlydir"), "{reported}");
}

#[test]
fn a_wait_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let (stop, tell) = (AtomicBool::new(true), |_: &str| {});
    let watch = Watch::new(&stop, &tell);
    let order = order("redis");
    let place = folder.path().join("lab");
    let stopped = Lab::up(&order, &place, &house(folder.path()), &watch, &mut ping);
    assert!(matches!(stopped, Err(LabError::Stopped)));
}

#[test]
fn a_fault_names_its_node_and_shows() {
    let folder = tempfile::tempdir().expect("there is room");
    let mut lab = up(&order("redis"), folder.path()).expect("it starts");
    let mut done = |text: &str| {
        let injection = Injection::parse(text).expect("it is a fault");
        watched(|watch| {
            let nodes = lab.targets(&injection, watch)?;
            lab.inject(&injection, &nodes, watch)?;
            lab.verify(injection.fault, &nodes, watch)?;
            Ok::<_, LabError>((injection.text_of(&nodes), lab.nodes()[0].state))
        })
    };
    for (text, expected, state) in [
        ("pause master", "freeze leader (node 1)", NodeState::Frozen),
        ("resume", "thaw (node 1)", NodeState::Up),
        ("resume", "thaw (no node)", NodeState::Up),
        ("kill all", "kill all (node 1)", NodeState::Down),
        ("restart", "restart (node 1)", NodeState::Up),
    ] {
        assert_eq!(done(text).expect("it can be done"), (expected.to_owned(), state));
    }
    done("stop random").expect("it runs");
    let reported = done("kill random").unwrap_err().to_string();
    assert_eq!(reported, "kill random: only 0 of 1 nodes are left");
    let healed = done("heal").expect("there is nothing to do");
    assert_eq!(healed, ("heal (no node)".to_owned(), NodeState::Down));
    let reported = done("partition 1").unwrap_err().to_string();
    assert!(reported.contains("--network namespaces"), "{reported}");
}
