//! Waiting stores, stuck stores, panicking stores: the lane never waits for them.

use std::sync::mpsc::{Receiver, Sender, channel};

use assay_model::{Fields, Kind, Table};

use super::*;
use crate::answer::Reply;
use crate::conformance;
use crate::conformance::talk::{Ask, Got, Talk};
use crate::memory::Memory;
use crate::null::Null;
use crate::request::Values;

/// A memory store whose answers wait until the test lets each of them go.
struct Gated {
    memory: Memory,
    gate: Arc<Mutex<Receiver<()>>>,
}

struct GatedClient {
    inner: Box<dyn Client>,
    gate: Arc<Mutex<Receiver<()>>>,
}

impl Gated {
    fn new() -> (Sender<()>, Arc<Gated>) {
        let (go, gate) = channel();
        let memory = Memory::new();
        let fields = vec!["field0".to_string()];
        let tables = vec![Table { name: "t".into(), fields, needs_key_order: false }];
        memory.prepare(&Layout { tables, records: 0 }).unwrap();
        (go, Arc::new(Gated { memory, gate: Arc::new(Mutex::new(gate)) }))
    }
}

impl Store for Gated {
    fn capabilities(&self) -> Capabilities {
        Capabilities { calls: Calls::Blocking, ..self.memory.capabilities() }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        self.memory.prepare(layout)
    }

    fn open(&self, lane: usize) -> Result<Box<dyn Client>, OpenError> {
        Ok(Box::new(GatedClient { inner: self.memory.open(lane)?, gate: Arc::clone(&self.gate) }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        self.memory.settings()
    }

    fn clear(&self) -> Result<(), OpenError> {
        self.memory.clear()
    }
}

impl Client for GatedClient {
    fn start(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        asked: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        assert_ne!(asked.key, b"panic", "a client panicked as told");
        // A closed gate lets everything through, so that a test may just end.
        let _ = self.gate.lock().unwrap().recv();
        self.inner.start(now, ticket, asked, answers);
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.inner.poll(now, answers);
    }
}

struct Nobody;

impl Answers for Nobody {
    fn answer(&mut self, ticket: Ticket, _answer: Answer<'_>) {
        panic!("{ticket:?} was answered although it cannot be");
    }
}

fn request(key: &[u8], session: u32) -> Request<'_> {
    let (fields, values) = (Fields::All, Values::NONE);
    Request { session, kind: Kind::Read, table: 0, key, fields, limit: 1, values }
}

#[test]
fn workers_over_memory_conform() {
    conformance::assert_conforms(&Workers::new(Arc::new(Memory::new()), 4));
}

#[test]
fn one_worker_over_memory_conforms() {
    conformance::assert_conforms(&Workers::new(Arc::new(Memory::new()), 1));
}

#[test]
fn workers_over_null_conform() {
    conformance::assert_conforms(&Workers::new(Arc::new(Null::new()), 2));
}

#[test]
fn a_client_is_ready_while_a_worker_is_idle() {
    let (go, store) = Gated::new();
    let mut client = Workers::new(store, 2).open(0).unwrap();
    for session in 0..2 {
        assert!(client.is_ready());
        let ticket = Ticket(u64::from(session));
        client.start(Nanos::ZERO, ticket, &request(b"k", session), &mut Nobody);
    }
    assert!(!client.is_ready());
    client.poll(Nanos::ZERO, &mut Nobody);
    assert!(!client.is_ready());
    go.send(()).unwrap();
    let mut count = Count::default();
    while count.0.is_empty() {
        client.wait(Duration::from_secs(5));
        client.poll(Nanos::ZERO, &mut count);
    }
    assert!(client.is_ready());
    // The client waits for its threads, one of which may still stand before the gate.
    drop(go);
}

/// The outcomes that came, in order.
#[derive(Default)]
struct Count(Vec<(u64, &'static str)>);

impl Answers for Count {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        let outcome = match answer {
            Answer::Done(Reply { found: true, .. }) => "found",
            Answer::Done(_) => "missing",
            Answer::Refused(reason) | Answer::Unknown(reason) => reason.name(),
        };
        self.0.push((ticket.0, outcome));
    }
}

#[test]
fn a_session_stays_behind_its_abandoned_request() {
    let (go, store) = Gated::new();
    let workers = Workers::new(store, 3);
    let mut talk = Talk::open(&workers, 0).unwrap();
    for number in 0..10u8 {
        let ticket = talk.start(&Ask::insert("k", &[&[number]]).in_session(7)).unwrap();
        talk.abandon(ticket);
    }
    for _ in 0..11 {
        go.send(()).unwrap();
    }
    // Had any of the ten gone to another thread, it could come after this read.
    let read = talk.ask(&Ask::read("k").in_session(7));
    assert_eq!(read, Got::row(&[("field0", &[9])]));
}

#[test]
fn a_session_that_runs_too_far_ahead_is_refused_as_busy() {
    let (go, store) = Gated::new();
    let mut client = Workers::new(store, 2).open(0).unwrap();
    let mut count = Count::default();
    for ticket in 0..=BACKLOG as u64 {
        client.start(Nanos::ZERO, Ticket(ticket), &request(b"k", 1), &mut count);
    }
    assert_eq!(count.0, [(BACKLOG as u64, "busy")]);
    drop(go);
}

#[test]
fn a_panic_makes_one_request_unknown_with_the_others_unharmed() {
    let (go, store) = Gated::new();
    let workers = Workers::new(store, 2);
    let mut talk = Talk::open(&workers, 0).unwrap();
    assert_eq!(talk.ask(&Ask::read("panic")), Got::Unknown(Reason::StoreError));
    go.send(()).unwrap();
    assert_eq!(talk.ask(&Ask::read("k")), Got::MISSING);
    let told = workers.settle().unwrap_err().to_string();
    assert!(told.starts_with("memory failed: 1 of its threads panicked, the first with"), "{told}");
    assert!(told.contains("a client panicked as told"), "{told}");
}

#[test]
fn what_lay_behind_a_panic_is_refused() {
    let (go, store) = Gated::new();
    let mut client = Workers::new(store, 1).open(0).unwrap();
    let mut count = Count::default();
    // One session, so that all three lie before one thread, whatever it has come to meanwhile.
    client.start(Nanos::ZERO, Ticket(0), &request(b"panic", 1), &mut count);
    client.start(Nanos::ZERO, Ticket(1), &request(b"k", 1), &mut count);
    while count.0.len() < 2 {
        client.wait(Duration::from_secs(5));
        client.poll(Nanos::ZERO, &mut count);
    }
    count.0.sort_unstable();
    assert_eq!(count.0, [(0, "store-error"), (1, "store-error")]);
    client.poll(Nanos::ZERO, &mut count);
    assert!(client.is_ready(), "with all threads dead, requests are refused, not kept");
    client.start(Nanos::ZERO, Ticket(2), &request(b"k", 1), &mut count);
    assert_eq!(count.0.last(), Some(&(2, "store-error")));
    drop(go);
}

#[test]
fn a_pipelined_store_needs_no_workers() {
    let pipelined = Arc::new(Workers::new(Arc::new(Memory::new()), 1));
    let error = Workers::new(pipelined, 2).open(0).err().unwrap();
    assert_eq!(
        error.to_string(),
        "memory cannot do this: it answers without waiting already; call it without worker threads"
    );
}

#[test]
fn a_store_that_cannot_be_opened_says_so_through_its_workers() {
    struct Closed(Memory);
    impl Store for Closed {
        fn capabilities(&self) -> Capabilities {
            self.0.capabilities()
        }
        fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
            self.0.prepare(layout)
        }
        fn open(&self, _lane: usize) -> Result<Box<dyn Client>, OpenError> {
            Err(OpenError::Unreachable { store: "closed:".into(), reason: "gone".into() })
        }
        fn settings(&self) -> Result<Vec<Setting>, OpenError> {
            self.0.settings()
        }
        fn clear(&self) -> Result<(), OpenError> {
            self.0.clear()
        }
    }
    let error = Workers::new(Arc::new(Closed(Memory::new())), 3).open(0).err().unwrap();
    assert_eq!(error.to_string(), "cannot reach closed:: gone");
}
