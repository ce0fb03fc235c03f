//! Tests of waiting, stuck and panicking stores: the worker never waits for them.

use std::sync::mpsc::{Receiver, Sender, channel};

use assay_model::{Fields, Kind, Parameters, Table};

use super::*;
use crate::answer::Reply;
use crate::conformance;
use crate::conformance::talk::{Got, TestRequest, TestSession};
use crate::memory::Memory;
use crate::null::Null;
use crate::request::{Step, Values};

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

    fn open(&self, worker: usize) -> Result<Box<dyn Client>, OpenError> {
        Ok(Box::new(GatedClient { inner: self.memory.open(worker)?, gate: Arc::clone(&self.gate) }))
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
        requested: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        assert_ne!(requested.key, b"panic", "a client panicked as reported");
        // A closed gate lets everything through, so that a test may just end.
        let _ = self.gate.lock().unwrap().recv();
        self.inner.start(now, ticket, requested, answers);
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
    Request { session, fields, values, ..Request::new(Kind::Read, key) }
}

#[test]
fn blocking_threads_over_memory_conform() {
    conformance::assert_conforms(&BlockingThreads::new(Arc::new(Memory::new()), 4));
}

#[test]
fn one_blocking_thread_over_memory_conforms() {
    conformance::assert_conforms(&BlockingThreads::new(Arc::new(Memory::new()), 1));
}

#[test]
fn blocking_threads_over_null_conform() {
    conformance::assert_conforms(&BlockingThreads::new(Arc::new(Null::new()), 2));
}

#[test]
fn a_client_is_ready_while_a_blocking_thread_is_idle() {
    let (go, store) = Gated::new();
    let mut client = BlockingThreads::new(store, 2).open(0).unwrap();
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
    let blocking = BlockingThreads::new(store, 3);
    let mut talk = TestSession::open(&blocking, 0).unwrap();
    for number in 0..10u8 {
        let ticket = talk.start(&TestRequest::insert("k", &[&[number]]).in_session(7)).unwrap();
        talk.abandon(ticket);
    }
    for _ in 0..11 {
        go.send(()).unwrap();
    }
    // Had any of the ten gone to another thread, it could come after this read.
    let read = talk.send(&TestRequest::read("k").in_session(7));
    assert_eq!(read, Got::row(&[("field0", &[9])]));
}

#[test]
fn a_store_that_never_answers_does_not_hold_up_the_end() {
    let (go, store) = Gated::new();
    let mut client = BlockingThreads::new(store, 2).open(0).unwrap();
    client.start(Nanos::ZERO, Ticket(0), &request(b"k", 0), &mut Nobody);
    client.abandon(Ticket(0));
    // If this waited for the gate, it would wait for ever.
    drop(client);
    drop(go);
}

#[test]
fn a_session_that_runs_too_far_ahead_is_refused_as_busy() {
    let (go, store) = Gated::new();
    let mut client = BlockingThreads::new(store, 2).open(0).unwrap();
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
    let blocking = BlockingThreads::new(store, 2);
    let mut talk = TestSession::open(&blocking, 0).unwrap();
    assert_eq!(talk.send(&TestRequest::read("panic")), Got::Unknown(Reason::StoreError));
    go.send(()).unwrap();
    assert_eq!(talk.send(&TestRequest::read("k")), Got::MISSING);
    let reported = blocking.flush().unwrap_err().to_string();
    assert!(
        reported.starts_with("memory failed: 1 of its threads panicked, the first with"),
        "{reported}"
    );
    assert!(reported.contains("a client panicked as reported"), "{reported}");
}

#[test]
fn what_lay_behind_a_panic_is_refused() {
    let (go, store) = Gated::new();
    let mut client = BlockingThreads::new(store, 1).open(0).unwrap();
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
fn a_pipelined_store_needs_no_blocking_threads() {
    let pipelined = Arc::new(BlockingThreads::new(Arc::new(Memory::new()), 1));
    let error = BlockingThreads::new(pipelined, 2).open(0).err().unwrap();
    assert_eq!(
        error.to_string(),
        "memory cannot do this: it answers without waiting already; call it without blocking \
         threads"
    );
}

#[test]
fn a_store_that_cannot_be_opened_says_so_through_its_blocking_threads() {
    struct Closed(Memory);
    impl Store for Closed {
        fn capabilities(&self) -> Capabilities {
            self.0.capabilities()
        }
        fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
            self.0.prepare(layout)
        }
        fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
            Err(OpenError::Unreachable { store: "closed:".into(), reason: "gone".into() })
        }
        fn settings(&self) -> Result<Vec<Setting>, OpenError> {
            self.0.settings()
        }
        fn clear(&self) -> Result<(), OpenError> {
            self.0.clear()
        }
    }
    let error = BlockingThreads::new(Arc::new(Closed(Memory::new())), 3).open(0).err().unwrap();
    assert_eq!(error.to_string(), "cannot reach closed:: gone");
}

/// What a client received, and on which worker: a blocking thread's client has a worker number of
/// its own.
type ClientLog = Arc<Mutex<Vec<(usize, String)>>>;

/// A store that takes any query: 1 is done, 2 refused, 3 waits for the gate, 4 panics.
struct Transactional {
    received: ClientLog,
    gate: Arc<Mutex<Receiver<()>>>,
}

struct TransactionalClient {
    worker: usize,
    received: ClientLog,
    gate: Arc<Mutex<Receiver<()>>>,
}

impl Store for Transactional {
    fn capabilities(&self) -> Capabilities {
        Capabilities { calls: Calls::Blocking, ..Memory::new().capabilities() }
    }

    fn prepare(&self, _layout: &Layout) -> Result<(), OpenError> {
        Ok(())
    }

    fn prepare_queries(
        &self,
        catalogue: &Arc<Catalogue>,
        existing: Existing,
    ) -> Result<(), OpenError> {
        let said = format!("{} queries, {existing:?}", catalogue.queries.len());
        self.received.lock().unwrap().push((0, said));
        Ok(())
    }

    fn open(&self, worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let (received, gate) = (Arc::clone(&self.received), Arc::clone(&self.gate));
        Ok(Box::new(TransactionalClient { worker, received, gate }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        Ok(Vec::new())
    }

    fn clear(&self) -> Result<(), OpenError> {
        Ok(())
    }
}

impl TransactionalClient {
    fn hear(&self, session: u32, what: &str) {
        self.received.lock().unwrap().push((self.worker, format!("{session} {what}")));
    }
}

impl Client for TransactionalClient {
    fn start(
        &mut self,
        _: Nanos,
        ticket: Ticket,
        requested: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        self.hear(requested.session, "request");
        answers.answer(ticket, Answer::Done(Reply::MISSING));
    }

    fn call(&mut self, _now: Nanos, ticket: Ticket, call: &Call<'_>, answers: &mut dyn Answers) {
        let begins = if call.begins { "begin " } else { "" };
        let arguments: Vec<String> =
            call.parameters.iter().map(|datum| datum.to_string()).collect();
        let what = format!("{begins}{:?} [{}]", call.step, arguments.join(", "));
        self.hear(call.session, &what);
        let answer = match call.step {
            Step::Query(2) => Answer::Refused(Reason::Conflict),
            Step::Query(4) => panic!("as reported"),
            Step::Query(3) => {
                let _ = self.gate.lock().unwrap().recv();
                Answer::Done(Reply::WRITTEN)
            }
            _ => Answer::Done(Reply::WRITTEN),
        };
        answers.requests(ticket, 3);
        answers.answer(ticket, answer);
    }

    fn abort(&mut self, session: u32) {
        self.hear(session, "abort");
    }

    fn poll(&mut self, _now: Nanos, _answers: &mut dyn Answers) {}
}

/// A worker over a [`Transactional`] store with `threads` threads.
struct Conversation {
    client: Box<dyn Client>,
    received: ClientLog,
    go: Sender<()>,
    next: u64,
    came: Count,
}

impl Conversation {
    fn over(threads: usize) -> Conversation {
        let (go, gate) = channel();
        let received = ClientLog::default();
        let gate = Arc::new(Mutex::new(gate));
        let store = Transactional { received: Arc::clone(&received), gate };
        let client = BlockingThreads::new(Arc::new(store), threads).open(0).unwrap();
        Conversation { client, received, go, next: 0, came: Count::default() }
    }

    fn start(&mut self, session: u32, begins: bool, step: Step) -> Ticket {
        self.next += 1;
        let mut encoded = Vec::new();
        assay_model::Datum::Int(i64::from(session)).encode(&mut encoded);
        let call = Call { session, step, begins, parameters: Parameters::new(&encoded) };
        self.client.call(Nanos::ZERO, Ticket(self.next), &call, &mut self.came);
        Ticket(self.next)
    }

    fn await_answer(&mut self, ticket: Ticket) {
        while !self.has(ticket) {
            self.client.wait(Duration::from_secs(5));
            self.client.poll(Nanos::ZERO, &mut self.came);
        }
    }

    /// Sends and waits for the completion.
    fn send(&mut self, session: u32, begins: bool, step: Step) -> &'static str {
        let ticket = self.start(session, begins, step);
        self.await_answer(ticket);
        self.came.0.iter().find(|(other, _)| *other == ticket.0).unwrap().1
    }

    fn has(&self, ticket: Ticket) -> bool {
        self.came.0.iter().any(|(other, _)| *other == ticket.0)
    }

    /// The calls of `session`, with the threads that executed them.
    fn received_of(&self, session: u32) -> (Vec<usize>, Vec<String>) {
        let received = self.received.lock().unwrap();
        let begin = format!("{session} ");
        let said = received.iter().filter(|(_, what)| what.starts_with(&begin));
        said.map(|(worker, what)| (*worker, what[begin.len()..].to_string())).unzip()
    }

    /// Waits until as many calls were executed.
    fn await_heard(&self, count: usize) {
        while self.received.lock().unwrap().len() < count {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_transaction_stays_with_one_thread_that_takes_nothing_else() {
    let mut worker = Conversation::over(3);
    assert_eq!(worker.send(7, true, Step::Query(1)), "found");
    for other in 20..30 {
        assert_eq!(worker.send(other, false, Step::Query(1)), "found");
    }
    assert_eq!(worker.send(7, false, Step::Query(1)), "found");
    assert_eq!(worker.send(7, false, Step::Commit), "found");
    let (threads, said) = worker.received_of(7);
    assert_eq!(said, ["begin Query(1) [7]", "Query(1) [7]", "Commit [7]"]);
    assert!(threads.iter().all(|thread| *thread == threads[0]), "{threads:?}");
    for other in 20..30 {
        assert_ne!(worker.received_of(other).0, [threads[0]]);
    }
}

#[test]
fn a_worker_whose_blocking_threads_all_have_transactions_is_not_ready() {
    let mut worker = Conversation::over(2);
    assert_eq!(worker.send(1, true, Step::Query(1)), "found");
    assert!(worker.client.is_ready());
    assert_eq!(worker.send(2, true, Step::Query(1)), "found");
    assert!(!worker.client.is_ready());
    assert_eq!(worker.send(1, false, Step::Commit), "found");
    assert!(worker.client.is_ready());
    assert_eq!(worker.send(2, false, Step::Query(2)), "conflict");
    assert_eq!(worker.send(3, true, Step::Query(1)), "found");
    assert!(worker.client.is_ready(), "a step that is refused ends its transaction");
    worker.client.abort(3);
    worker.await_heard(6);
    assert_eq!(worker.received_of(3).1, ["begin Query(1) [3]", "abort"]);
    assert_eq!(worker.received_of(2).1, ["begin Query(1) [2]", "Query(2) [2]"]);
}

#[test]
fn an_abandoned_step_ends_its_transaction_but_not_the_next_of_its_session() {
    let mut worker = Conversation::over(2);
    assert_eq!(worker.send(5, true, Step::Query(1)), "found");
    let stuck = worker.start(5, false, Step::Query(3));
    worker.client.abandon(stuck);
    let next = worker.start(5, true, Step::Query(1));
    worker.go.send(()).unwrap();
    worker.await_answer(next);
    assert_eq!(worker.send(6, true, Step::Query(1)), "found");
    assert!(!worker.client.is_ready());
    assert_eq!(worker.send(5, false, Step::Rollback), "found");
    let (threads, said) = worker.received_of(5);
    let expected =
        ["begin Query(1) [5]", "Query(3) [5]", "abort", "begin Query(1) [5]", "Rollback [5]"];
    assert_eq!(said, expected);
    assert!(threads.iter().all(|thread| *thread == threads[0]), "{threads:?}");
}

#[test]
fn a_lone_query_that_is_abandoned_leaves_nothing() {
    let mut worker = Conversation::over(1);
    let stuck = worker.start(5, false, Step::Query(3));
    worker.client.abandon(stuck);
    worker.go.send(()).unwrap();
    worker.await_answer(stuck);
    assert_eq!(worker.send(5, false, Step::Query(1)), "found");
    assert_eq!(worker.received_of(5).1, ["Query(3) [5]", "Query(1) [5]"]);
}

#[test]
fn the_next_step_after_a_panic_is_refused() {
    let mut worker = Conversation::over(2);
    assert_eq!(worker.send(1, true, Step::Query(1)), "found");
    assert_eq!(worker.send(1, false, Step::Query(4)), "store-error");
    assert!(worker.client.is_ready(), "the other thread is idle");
    assert_eq!(worker.send(1, true, Step::Query(1)), "found");
    assert!(!worker.client.is_ready());
}

#[test]
fn a_catalogue_is_prepared_through_its_blocking_threads_and_requests_are_counted() {
    struct Requests(Vec<u16>);
    impl Answers for Requests {
        fn answer(&mut self, _ticket: Ticket, _answer: Answer<'_>) {}
        fn requests(&mut self, _ticket: Ticket, count: u16) {
            self.0.push(count);
        }
    }
    let received = ClientLog::default();
    let gate = Arc::new(Mutex::new(channel().1));
    let store = Transactional { received: Arc::clone(&received), gate };
    let blocking = BlockingThreads::new(Arc::new(store), 1);
    blocking.prepare_queries(&Arc::new(Catalogue::default()), Existing::Use).unwrap();
    assert_eq!(*received.lock().unwrap(), [(0, "0 queries, Use".to_string())]);
    let mut client = blocking.open(0).unwrap();
    let mut requests = Requests(Vec::new());
    let (step, parameters) = (Step::Query(1), Parameters::NONE);
    let call = Call { session: 0, step, begins: false, parameters };
    client.call(Nanos::ZERO, Ticket(1), &call, &mut requests);
    while requests.0.is_empty() {
        client.wait(Duration::from_secs(5));
        client.poll(Nanos::ZERO, &mut requests);
    }
    assert_eq!(requests.0, [3]);
}
