//! Requests that are gathered, over connections that write down what they are asked.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use assay_model::{Fields, Nanos};
use assay_store::answer::{encode_field, encode_row};
use assay_store::{Client, OpenError, Values};

use super::super::bell::Bell;
use super::super::{After, Fate, Lost, RecordsClient};
use super::*;

/// A library that does what the keys say, when the test lets it.
#[derive(Clone, Default)]
struct Clerk(Rc<Desk>);

#[derive(Default)]
struct Desk {
    log: RefCell<Vec<String>>,
    /// Whether jobs wait until this is false.
    is_closed: Cell<bool>,
    is_gone: Cell<bool>,
    /// How many were made.
    connections: Cell<u32>,
    bell: Bell,
}

impl Desk {
    fn carry_out(&self, job: &mut RecordJob, rows: &mut Vec<u8>) -> Ending {
        let mut keys = Vec::new();
        for own in &job.batch {
            let key = String::from_utf8_lossy(own.request().key).into_owned();
            let ending = match key.as_str() {
                "wrong" => Ending::Refused(Reason::WrongType),
                "missing" => Ending::Done { found: false },
                _ => Ending::Done { found: true },
            };
            if ending == (Ending::Done { found: true }) && own.request().kind == Kind::Read {
                encode_row(1, rows);
                encode_field(b"key", key.as_bytes(), rows);
            }
            job.outcomes.push(Outcome { ending, rows_end: rows.len() });
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
            true => Ending::Unknown(Reason::ConnectionLost),
            false => Ending::Done { found: true },
        }
    }
}

impl Library for Clerk {
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

    async fn perform(&self, _: &mut (), job: &mut RecordJob, rows: &mut Vec<u8>) -> Fate {
        self.0.bell.until(|| (!self.0.is_closed.get()).then_some(())).await;
        let ending = self.0.carry_out(job, rows);
        let after = match ending {
            Ending::Unknown(_) => After::Lost,
            _ if job.context == Context::Begins => After::Held,
            _ => After::Free,
        };
        Fate { ending, after, requests: 2 }
    }

    async fn undo(&self, _: &mut ()) -> Result<(), Lost> {
        Ok(())
    }
}

/// Answers as `ticket outcome rows/requests`.
#[derive(Default)]
struct Inbox {
    told: Vec<String>,
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
        self.told.push(format!("{}: {} /{requests}", ticket.0, outcome.trim_end()));
    }
}

struct Lane {
    client: Box<RecordsClient<Clerk>>,
    desk: Rc<Desk>,
    inbox: Inbox,
    next: u64,
    now: Nanos,
}

impl Lane {
    /// Reads and inserts are gathered, up to three.
    fn open(connections: usize) -> Lane {
        let clerk = Clerk::default();
        let desk = clerk.0.clone();
        let gathering = Gathering { most: 3, kinds: &[Kind::Read, Kind::Insert] };
        let client = RecordsClient::open_gathering(clerk, connections, "clerk", gathering);
        let client = client.expect("connections are there at once");
        Lane { client, desk, inbox: Inbox::default(), next: 0, now: Nanos::ZERO }
    }

    /// In a session of its own.
    fn start(&mut self, kind: Kind, key: &str) -> Ticket {
        self.start_in(100 + self.next as u32, kind, key)
    }

    fn start_in(&mut self, session: u32, kind: Kind, key: &str) -> Ticket {
        self.next += 1;
        let ticket = Ticket(self.next);
        let (fields, values, key) = (Fields::All, Values::NONE, key.as_bytes());
        let request = Request { session, kind, table: 0, key, fields, limit: 1, values };
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
        std::mem::take(&mut self.inbox.told)
    }

    fn close(&self) {
        self.desk.is_closed.set(true);
    }

    fn reopen(&self) {
        self.desk.is_closed.set(false);
        self.desk.bell.ring();
    }

    fn log(&self) -> Vec<String> {
        std::mem::take(&mut *self.desk.log.borrow_mut())
    }
}

#[test]
fn what_waits_at_the_same_time_travels_together() {
    let mut lane = Lane::open(2);
    lane.read(&["a", "missing", "b"]);
    let expected = ["1: found=true a /2", "2: found=false /0", "3: found=true b /0"];
    assert_eq!(lane.answers(), expected);
    assert_eq!(lane.log(), ["read a missing b"]);
    // Its buffers are used again.
    lane.read(&["c"]);
    assert_eq!(lane.answers(), ["4: found=true /2"]);
    lane.read(&["d", "e"]);
    assert_eq!(lane.answers(), ["5: found=true d /2", "6: found=true e /0"]);
    assert_eq!(lane.log(), ["read c", "read d e"]);
}

#[test]
fn a_full_batch_leaves_and_the_next_begins() {
    let mut lane = Lane::open(4);
    lane.read(&["a", "b", "c", "d", "e"]);
    assert_eq!(lane.answers().len(), 5);
    let mut log = lane.log();
    log.sort();
    assert_eq!(log, ["read a b c", "read d e"]);
}

#[test]
fn waiting_lets_leave_what_was_gathered() {
    let mut lane = Lane::open(2);
    lane.read(&["a", "b"]);
    lane.client.wait(Duration::from_secs(10));
    assert_eq!(lane.log(), ["read a b"]);
}

#[test]
fn kinds_do_not_mix_and_what_no_batch_takes_goes_alone() {
    let mut lane = Lane::open(4);
    for kind in [Kind::Read, Kind::Insert, Kind::Update, Kind::Read, Kind::Insert] {
        lane.start(kind, &format!("{}{}", kind.name(), lane.next));
    }
    assert_eq!(lane.answers().len(), 5);
    let mut log = lane.log();
    log.sort();
    let expected = ["insert insert1 insert4", "read read0 read3", "update update2"];
    assert_eq!(log, expected);
}

#[test]
fn no_batch_has_a_key_twice() {
    let mut lane = Lane::open(4);
    for key in ["a", "b", "a"] {
        lane.start(Kind::Insert, key);
    }
    assert_eq!(lane.answers().len(), 3);
    let mut log = lane.log();
    log.sort();
    assert_eq!(log, ["insert a", "insert a b"]);
}

#[test]
fn one_of_a_batch_may_be_refused_without_the_others() {
    let mut lane = Lane::open(1);
    lane.read(&["a", "wrong", "b"]);
    let expected = ["1: found=true a /2", "2: refused wrong-type /0", "3: found=true b /0"];
    assert_eq!(lane.answers(), expected);
}

#[test]
fn a_batch_that_fails_shares_its_fate() {
    let mut lane = Lane::open(2);
    lane.read(&["a", "break", "b"]);
    let lost = "unknown connection-lost";
    let expected = [format!("1: {lost} /2"), format!("2: {lost} /0"), format!("3: {lost} /0")];
    assert_eq!(lane.answers(), expected);
}

#[test]
fn with_one_connection_a_batch_fills_and_a_stranger_waits() {
    let mut lane = Lane::open(1);
    lane.close();
    lane.read(&["a", "b"]);
    assert!(lane.client.is_ready(), "another one may join");
    lane.start(Kind::Update, "stranger");
    assert!(!lane.client.is_ready());
    assert_eq!(lane.answers(), Vec::<String>::new());
    lane.reopen();
    let expected = ["1: found=true a /2", "2: found=true b /0", "3: found=true /2"];
    assert_eq!(lane.answers(), expected);
    assert_eq!(lane.log(), ["read a b", "update stranger"]);
    assert!(lane.client.is_ready());
}

#[test]
fn a_connection_is_kept_for_what_is_gathered() {
    let mut lane = Lane::open(2);
    lane.close();
    lane.read(&["a"]);
    lane.start(Kind::Update, "b");
    assert!(lane.client.is_ready(), "another read may join");
    lane.start(Kind::Update, "c");
    assert!(!lane.client.is_ready());
    lane.reopen();
    assert_eq!(lane.answers().len(), 3);
    let mut log = lane.log();
    log.sort();
    assert_eq!(log, ["read a", "update b", "update c"]);
}

#[test]
fn what_is_abandoned_before_it_left_never_leaves() {
    let mut lane = Lane::open(1);
    lane.start(Kind::Read, "a");
    let second = lane.start(Kind::Read, "b");
    lane.start(Kind::Read, "c");
    // Three are a batch: it has left already.
    lane.client.abandon(second);
    assert_eq!(lane.answers(), ["1: found=true a /2", "3: found=true c /0"]);
    let first = lane.start(Kind::Read, "d");
    lane.start(Kind::Read, "e");
    lane.client.abandon(first);
    assert_eq!(lane.answers(), ["5: found=true /2"]);
    let only = lane.start(Kind::Read, "f");
    lane.client.abandon(only);
    assert_eq!(lane.answers(), Vec::<String>::new());
    assert_eq!(lane.log(), ["read a b c", "read e"]);
}

#[test]
fn a_batch_is_given_up_with_its_last_ticket() {
    let mut lane = Lane::open(1);
    lane.close();
    let tickets = ["a", "b"].map(|key| lane.start(Kind::Read, key));
    assert_eq!(lane.answers(), Vec::<String>::new());
    lane.client.abandon(tickets[0]);
    lane.reopen();
    assert_eq!(lane.answers(), ["2: found=true b /2"]);
    lane.close();
    let tickets = ["c", "d"].map(|key| lane.start(Kind::Read, key));
    lane.answers();
    tickets.into_iter().for_each(|ticket| lane.client.abandon(ticket));
    // The pool gives it up after a second, with its connection; nobody is told.
    for _ in 0..1_000 {
        if lane.desk.connections.get() == 2 {
            break;
        }
        lane.client.wait(Duration::from_millis(50));
        assert_eq!(lane.answers(), Vec::<String>::new());
    }
    lane.reopen();
    lane.read(&["e"]);
    assert_eq!(lane.answers(), ["5: found=true /2"]);
    assert_eq!(lane.log(), ["read a b", "read e"]);
}

#[test]
fn without_any_connection_what_was_gathered_is_refused() {
    let mut lane = Lane::open(1);
    lane.desk.is_gone.set(true);
    lane.close();
    lane.read(&["break"]);
    lane.answers();
    lane.client.begin(7);
    lane.reopen();
    assert_eq!(lane.answers(), ["1: unknown connection-lost /2"]);
    assert!(lane.client.is_ready());
    lane.read(&["a"]);
    assert_eq!(lane.answers(), ["2: refused unreachable /1"]);
}

#[test]
fn a_stranger_that_waits_is_refused_when_the_connection_breaks() {
    let mut lane = Lane::open(1);
    lane.desk.is_gone.set(true);
    lane.close();
    lane.read(&["break", "b"]);
    lane.start(Kind::Delete, "stranger");
    lane.answers();
    lane.reopen();
    let lost = "unknown connection-lost";
    let expected =
        [format!("1: {lost} /2"), format!("2: {lost} /0"), "3: refused unreachable /1".into()];
    assert_eq!(lane.answers(), expected);
}

#[test]
fn steps_of_a_transaction_are_not_gathered() {
    let mut lane = Lane::open(3);
    lane.client.begin(7);
    lane.start_in(7, Kind::Read, "a");
    lane.start(Kind::Read, "b");
    lane.start(Kind::Read, "c");
    assert_eq!(lane.answers().len(), 3);
    lane.start_in(7, Kind::Read, "d");
    lane.start(Kind::Read, "e");
    lane.start(Kind::Read, "f");
    lane.answers();
    let mut log = lane.log();
    log.sort();
    assert_eq!(log, ["read a", "read b c", "read d", "read e f"]);
}
