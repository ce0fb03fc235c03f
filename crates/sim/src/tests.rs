//! The simulated store through the traits of a store, as the executor uses it.

use std::time::Duration;

use assay_model::{Kind, Nanos, Reason, Table};

use super::*;
use assay_store::answer::{Answer, Answers, Reply};
use assay_store::conformance;
use assay_store::request::{Request, Ticket};
use assay_store::truth::Fault;

#[test]
fn a_healthy_simulated_store_conforms_before_and_after_it_is_quiesced() {
    let sim = sim("");
    conformance::assert_conforms(&sim);
    sim.flush().unwrap();
    conformance::assert_conforms(&sim);
}

#[test]
fn a_slow_store_conforms_too() {
    let sim = SimulatedStore::new(presets::find("hickup1000_max10000").unwrap(), Seed(1)).unwrap();
    sim.flush().unwrap();
    conformance::assert_conforms(&sim);
}

/// A store like the healthy preset but for `query`, with one table.
fn sim(query: &str) -> SimulatedStore {
    let mut config = Config::default();
    config.set_all(query).unwrap();
    let sim = SimulatedStore::new(config, Seed(1)).unwrap();
    let table =
        Table { name: "t".into(), fields: vec!["a".into(), "b".into()], needs_key_order: false };
    sim.prepare(&Layout { tables: vec![table], records: 1 }).unwrap();
    sim
}

/// What came, by ticket: `done`, `missing`, or why not.
#[derive(Default)]
struct Inbox(Vec<(u64, Result<bool, Reason>)>);

impl Answers for Inbox {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        self.0.push((
            ticket.0,
            match answer {
                Answer::Done(Reply { found, .. }) => Ok(found),
                Answer::Refused(reason) | Answer::Unknown(reason) => Err(reason),
            },
        ));
    }
}

fn start(client: &mut dyn Client, at_ms: u64, ticket: u64, request: &Request<'_>) -> Inbox {
    let mut inbox = Inbox::default();
    client.start(Nanos::from_millis(at_ms), Ticket(ticket), request, &mut inbox);
    inbox
}

fn poll(client: &mut dyn Client, at_ms: u64) -> Vec<u64> {
    let mut inbox = Inbox::default();
    client.poll(Nanos::from_millis(at_ms), &mut inbox);
    inbox.0.into_iter().map(|(ticket, _)| ticket).collect()
}

const READ: Request<'static> = Request::new(Kind::Read, b"k");

#[test]
fn responses_are_held_until_they_are_due_then_come_in_the_order_of_the_requests() {
    let sim = sim("latency=5ms&nodes=1");
    sim.flush().unwrap();
    let mut client = sim.open(0).unwrap();
    for ticket in [1, 2, 3] {
        assert!(start(client.as_mut(), 10, ticket, &READ).0.is_empty());
    }
    assert_eq!(client.due(), Some(Nanos::from_millis(15)));
    assert_eq!(poll(client.as_mut(), 14), []);
    assert_eq!(poll(client.as_mut(), 15), [1, 2, 3]);
    assert_eq!(client.due(), None);
}

#[test]
fn what_is_never_answered_is_not_waited_for() {
    let sim = sim("silent=100%");
    sim.flush().unwrap();
    let mut client = sim.open(0).unwrap();
    assert!(start(client.as_mut(), 1, 1, &READ).0.is_empty());
    assert_eq!((client.due(), poll(client.as_mut(), 1 << 40)), (None, vec![]));
}

#[test]
fn waiting_ends_when_an_answer_is_due() {
    let sim = sim("latency=1ms");
    sim.flush().unwrap();
    let mut client = sim.open(0).unwrap();
    start(client.as_mut(), 0, 1, &READ);
    // A wait of ten minutes would show.
    client.wait(Duration::from_secs(600));
    assert_eq!(poll(client.as_mut(), 1), [1]);
}

#[test]
fn before_it_quiesces_the_store_is_healthy_and_logs_no_truth() {
    let sim = sim("refused=100%&latency=1s");
    let mut client = sim.open(0).unwrap();
    assert_eq!(start(client.as_mut(), 0, 1, &READ).0, [(1, Ok(false))]);
    sim.flush().unwrap();
    assert!(start(client.as_mut(), 0, 2, &READ).0.is_empty(), "refused after a second");
    let mut reported = Vec::new();
    sim.truth(&mut |truth| reported.push((truth.faults, truth.key.to_vec())));
    assert_eq!(reported, [(Fault::Refused.into(), b"k".to_vec())]);
}

#[test]
fn workers_share_one_store_and_their_answers_stay_apart() {
    let sim = sim("max=1000");
    sim.flush().unwrap();
    let mut workers = [sim.open(0).unwrap(), sim.open(1).unwrap()];
    start(workers[0].as_mut(), 0, 1, &READ);
    start(workers[1].as_mut(), 0, 1, &READ);
    let due = workers.each_ref().map(|worker| worker.due());
    assert_eq!(due, [Some(Nanos::from_millis(1)), Some(Nanos::from_millis(2))]);
}

#[test]
fn settings_tell_what_is_faulty_and_what_could_not_be_kept() {
    let sim = sim("lost=1%&max=500&hiccup=every:5s:for:1s&truth=1&replication=2ms&read_from=any\
         &write_concern=majority&journaled=true&own=1ms&compat=sickstore");
    sim.flush().unwrap();
    let mut client = sim.open(0).unwrap();
    start(client.as_mut(), 0, 1, &READ);
    start(client.as_mut(), 0, 2, &READ);
    let reported = sim.settings().unwrap();
    let reported: Vec<String> =
        reported.iter().map(|one| format!("{}={}", one.name, one.value)).collect();
    for expected in [
        "node primary=latency 0, 500 requests/s, hiccup every 5s for 1s",
        "lost=0.01",
        "truth lost=1",
        "replication=2ms",
        "read_from=any",
        "write_concern=majority",
        "journal_interval=100ms",
        "own=1ms",
        "clock=ms",
        "updates=replace",
        "strict=true",
    ] {
        assert!(reported.iter().any(|one| one == expected), "{expected}: {reported:?}");
    }
}
