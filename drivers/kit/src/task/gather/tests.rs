//! Requests that are gathered, over connections that record their requests.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use assay_model::{Fields, Nanos};
use assay_store::answer::{encode_field, encode_row};
use assay_store::{Client, OpenError, Values};

use super::super::notifier::Notifier;
use super::super::{ConnectionState, JobCompletion, Lost, RecordsClient};
use super::*;

/// A library that does what the keys say, when the test lets it.
#[derive(Clone, Default)]
struct TestLibrary(Rc<TestState>);

#[derive(Default)]
struct TestState {
    log: RefCell<Vec<String>>,
    /// Whether jobs wait until this is false.
    is_closed: Cell<bool>,
    is_gone: Cell<bool>,
    /// How many were made.
    connections: Cell<u32>,
    notifier: Notifier,
}

impl TestState {
    fn carry_out(&self, job: &mut RecordJob, rows: &mut Vec<u8>) -> Completion {
        let mut keys = Vec::new();
        for own in &job.batch {
            let key = String::from_utf8_lossy(own.request().key).into_owned();
            let ending = match key.as_str() {
                "wrong" => Completion::Refused(Reason::WrongType),
                "missing" => Completion::Done { found: false },
                _ => Completion::Done { found: true },
            };
            if ending == (Completion::Done { found: true }) && own.request().kind == Kind::Read {
                encode_row(1, rows);
                encode_field(b"key", key.as_bytes(), rows);
            }
            job.outcomes.push(BatchOutcome { ending, rows_end: rows.len() });
            keys.push(key);
        }
        let request = match job.batch.first() {
            Some(first) => first.request(),
            None => job.request.request(),
        };
        if keys.is_empty() {
            keys.push(String::from_utf8_lossy(request.key).into_owned());
        }
        self.log.borrow_mut().push(format!("{} {}", request.kind.name(), keys.join(" ")));
        match keys.iter().any(|key| key == "break") {
            true => Completion::Unknown(Reason::ConnectionLost),
            false => Completion::Done { found: true },
        }
    }
}

impl Library for TestLibrary {
    type Connection = ();
    type Job = RecordJob;

    async fn connect(&self) -> Result<(), OpenError> {
        match self.0.is_gone.get() {
            true => std::future::pending().await,
            false => {
                self.0.connections.set(self.0.connections.get() + 1);
                Ok(())
            }
        }
    }

    async fn perform(&self, _: &mut (), job: &mut RecordJob, rows: &mut Vec<u8>) -> JobCompletion {
        self.0.notifier.until(|| (!self.0.is_closed.get()).then_some(())).await;
        let ending = self.0.carry_out(job, rows);
        let after = match ending {
            Completion::Unknown(_) => ConnectionState::Lost,
            _ if job.context == Context::Begins => ConnectionState::Held,
            _ => ConnectionState::Free,
        };
        JobCompletion { ending, after, requests: 2, node: 0, version: 0 }
    }

    async fn undo(&self, _: &mut ()) -> Result<(), Lost> {
        Ok(())
    }
}

/// Answers as `ticket outcome rows/requests`.
#[derive(Default)]
struct Inbox {
    reported: Vec<String>,
    requests: HashMap<Ticket, u16>,
}

impl Answers for Inbox {
    fn requests(&mut self, ticket: Ticket, count: u16) {
        self.requests.insert(ticket, count);
    }

    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        let requests = self.requests.get(&ticket).copied().unwrap_or(1);
        let outcome = match answer {
            Answer::Done(reply) => {
                let mut keys = Vec::new();
                reply.rows.each(|field| keys.push(String::from_utf8_lossy(field.value)));
                format!("found={} {}", reply.found, keys.join(" "))
            }
            Answer::Refused(reason) => format!("refused {}", reason.name()),
            Answer::Unknown(reason) => format!("unknown {}", reason.name()),
        };
        self.reported.push(format!("{}: {} /{requests}", ticket.0, outcome.trim_end()));
    }
}

struct Worker {
    client: Box<RecordsClient<TestLibrary>>,
    slot_table: Rc<TestState>,
    inbox: Inbox,
    next: u64,
    now: Nanos,
}

impl Worker {
    /// Reads and inserts are gathered, up to three.
    fn open(connections: usize) -> Worker {
        let clerk = TestLibrary::default();
        let slot_table = clerk.0.clone();
        let gathering = Gathering { most: 3, kinds: &[Kind::Read, Kind::Insert] };
        let client = RecordsClient::open_gathering(clerk, connections, "clerk", gathering);
        let client = client.expect("connections are there at once");
        Worker { client, slot_table, inbox: Inbox::default(), next: 0, now: Nanos::ZERO }
    }

    /// In a session of its own.
    fn start(&mut self, kind: Kind, key: &str) -> Ticket {
        self.start_in(100 + self.next as u32, kind, key)
    }

    fn start_in(&mut self, session: u32, kind: Kind, key: &str) -> Ticket {
        self.next += 1;
        let ticket = Ticket(self.next);
        let (fields, values, key) = (Fields::All, Values::NONE, key.as_bytes());
        let request = Request { session, fields, values, ..Request::new(kind, key) };
        self.client.start(self.now, ticket, &request, &mut self.inbox);
        ticket
    }

    fn read(&mut self, keys: &[&str]) {
        for key in keys {
            self.start(Kind::Read, key);
        }
    }

    /// Moves on until nothing more happens by itself, and takes the answers.
    fn answers(&mut self) -> Vec<String> {
        for _ in 0..20 {
            self.now = self.now.saturating_add(Nanos::from_millis(1));
            self.client.poll(self.now, &mut self.inbox);
        }
        std::mem::take(&mut self.inbox.reported)
    }

    fn close(&self) {
        self.slot_table.is_closed.set(true);
    }

    fn reopen(&self) {
        self.slot_table.is_closed.set(false);
        self.slot_table.notifier.ring();
    }

    fn log(&self) -> Vec<String> {
        std::mem::take(&mut *self.slot_table.log.borrow_mut())
    }
}

#[test]
fn what_waits_at_the_same_time_travels_together() {
    let mut worker = Worker::open(2);
    worker.read(&["a", "missing", "b"]);
    let expected = ["1: found=true a /2", "2: found=false /0", "3: found=true b /0"];
    assert_eq!(worker.answers(), expected);
    assert_eq!(worker.log(), ["read a missing b"]);
    // Its buffers are used again.
    worker.read(&["c"]);
    assert_eq!(worker.answers(), ["4: found=true /2"]);
    worker.read(&["d", "e"]);
    assert_eq!(worker.answers(), ["5: found=true d /2", "6: found=true e /0"]);
    assert_eq!(worker.log(), ["read c", "read d e"]);
}

#[test]
fn a_full_batch_leaves_and_the_next_begins() {
    let mut worker = Worker::open(4);
    worker.read(&["a", "b", "c", "d", "e"]);
    assert_eq!(worker.answers().len(), 5);
    let mut log = worker.log();
    log.sort();
    assert_eq!(log, ["read a b c", "read d e"]);
}

#[test]
fn waiting_sends_the_gathered_requests() {
    let mut worker = Worker::open(2);
    worker.read(&["a", "b"]);
    worker.client.wait(Duration::from_secs(10));
    assert_eq!(worker.log(), ["read a b"]);
}

#[test]
fn kinds_do_not_mix_and_what_no_batch_takes_goes_alone() {
    let mut worker = Worker::open(4);
    for kind in [Kind::Read, Kind::Insert, Kind::Update, Kind::Read, Kind::Insert] {
        worker.start(kind, &format!("{}{}", kind.name(), worker.next));
    }
    assert_eq!(worker.answers().len(), 5);
    let mut log = worker.log();
    log.sort();
    let expected = ["insert insert1 insert4", "read read0 read3", "update update2"];
    assert_eq!(log, expected);
}

#[test]
fn no_batch_has_a_key_twice() {
    let mut worker = Worker::open(4);
    for key in ["a", "b", "a"] {
        worker.start(Kind::Insert, key);
    }
    assert_eq!(worker.answers().len(), 3);
    let mut log = worker.log();
    log.sort();
    assert_eq!(log, ["insert a", "insert a b"]);
}

#[test]
fn one_of_a_batch_may_be_refused_without_the_others() {
    let mut worker = Worker::open(1);
    worker.read(&["a", "wrong", "b"]);
    let expected = ["1: found=true a /2", "2: refused wrong-type /0", "3: found=true b /0"];
    assert_eq!(worker.answers(), expected);
}

#[test]
fn a_failed_batch_fails_all_its_requests() {
    let mut worker = Worker::open(2);
    worker.read(&["a", "break", "b"]);
    let lost = "unknown connection-lost";
    let expected = [format!("1: {lost} /2"), format!("2: {lost} /0"), format!("3: {lost} /0")];
    assert_eq!(worker.answers(), expected);
}

#[test]
fn with_one_connection_a_batch_fills_and_another_request_waits() {
    let mut worker = Worker::open(1);
    worker.close();
    worker.read(&["a", "b"]);
    assert!(worker.client.is_ready(), "another one may join");
    worker.start(Kind::Update, "stranger");
    assert!(!worker.client.is_ready());
    assert_eq!(worker.answers(), Vec::<String>::new());
    worker.reopen();
    let expected = ["1: found=true a /2", "2: found=true b /0", "3: found=true /2"];
    assert_eq!(worker.answers(), expected);
    assert_eq!(worker.log(), ["read a b", "update stranger"]);
    assert!(worker.client.is_ready());
}

#[test]
fn a_connection_is_kept_for_what_is_gathered() {
    let mut worker = Worker::open(2);
    worker.close();
    worker.read(&["a"]);
    worker.start(Kind::Update, "b");
    assert!(worker.client.is_ready(), "another read may join");
    worker.start(Kind::Update, "c");
    assert!(!worker.client.is_ready());
    worker.reopen();
    assert_eq!(worker.answers().len(), 3);
    let mut log = worker.log();
    log.sort();
    assert_eq!(log, ["read a", "update b", "update c"]);
}

#[test]
fn a_request_abandoned_before_it_was_sent_is_never_sent() {
    let mut worker = Worker::open(1);
    worker.start(Kind::Read, "a");
    let second = worker.start(Kind::Read, "b");
    worker.start(Kind::Read, "c");
    // Three are a batch: it has left already.
    worker.client.abandon(second);
    assert_eq!(worker.answers(), ["1: found=true a /2", "3: found=true c /0"]);
    let first = worker.start(Kind::Read, "d");
    worker.start(Kind::Read, "e");
    worker.client.abandon(first);
    assert_eq!(worker.answers(), ["5: found=true /2"]);
    let only = worker.start(Kind::Read, "f");
    worker.client.abandon(only);
    assert_eq!(worker.answers(), Vec::<String>::new());
    assert_eq!(worker.log(), ["read a b c", "read e"]);
}

#[test]
fn a_batch_is_given_up_with_its_last_ticket() {
    let mut worker = Worker::open(1);
    worker.close();
    let tickets = ["a", "b"].map(|key| worker.start(Kind::Read, key));
    assert_eq!(worker.answers(), Vec::<String>::new());
    worker.client.abandon(tickets[0]);
    worker.reopen();
    assert_eq!(worker.answers(), ["2: found=true b /2"]);
    worker.close();
    let tickets = ["c", "d"].map(|key| worker.start(Kind::Read, key));
    worker.answers();
    tickets.into_iter().for_each(|ticket| worker.client.abandon(ticket));
    // The pool gives it up after a second, with its connection; no completion is delivered.
    for _ in 0..1_000 {
        if worker.slot_table.connections.get() == 2 {
            break;
        }
        worker.client.wait(Duration::from_millis(50));
        assert_eq!(worker.answers(), Vec::<String>::new());
    }
    worker.reopen();
    worker.read(&["e"]);
    assert_eq!(worker.answers(), ["5: found=true /2"]);
    assert_eq!(worker.log(), ["read a b", "read e"]);
}

#[test]
fn without_any_connection_what_was_gathered_is_refused() {
    let mut worker = Worker::open(1);
    worker.slot_table.is_gone.set(true);
    worker.close();
    worker.read(&["break"]);
    worker.answers();
    worker.client.begin(7);
    worker.reopen();
    assert_eq!(worker.answers(), ["1: unknown connection-lost /2"]);
    assert!(worker.client.is_ready());
    worker.read(&["a"]);
    assert_eq!(worker.answers(), ["2: refused unreachable /1"]);
}

#[test]
fn a_waiting_request_is_refused_when_the_connection_breaks() {
    let mut worker = Worker::open(1);
    worker.slot_table.is_gone.set(true);
    worker.close();
    worker.read(&["break", "b"]);
    worker.start(Kind::Delete, "stranger");
    worker.answers();
    worker.reopen();
    let lost = "unknown connection-lost";
    let expected =
        [format!("1: {lost} /2"), format!("2: {lost} /0"), "3: refused unreachable /1".into()];
    assert_eq!(worker.answers(), expected);
}

#[test]
fn steps_of_a_transaction_are_not_gathered() {
    let mut worker = Worker::open(3);
    worker.client.begin(7);
    worker.start_in(7, Kind::Read, "a");
    worker.start(Kind::Read, "b");
    worker.start(Kind::Read, "c");
    assert_eq!(worker.answers().len(), 3);
    worker.start_in(7, Kind::Read, "d");
    worker.start(Kind::Read, "e");
    worker.start(Kind::Read, "f");
    worker.answers();
    let mut log = worker.log();
    log.sort();
    assert_eq!(log, ["read a", "read b c", "read d", "read e f"]);
}
