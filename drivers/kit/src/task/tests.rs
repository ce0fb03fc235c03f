//! Connections that do what the test tells them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use assay_model::{Nanos, Reason};
use assay_store::answer::{encode_field, encode_row};
use assay_store::{Answer, Answers, OpenError, Ticket};

use super::notifier::Notifier;
use super::{Completion, ConnectionState, JobCompletion, Library, Lost, Pool};

/// A library whose connections do what the jobs say.
#[derive(Clone, Default)]
struct TestLibrary(Rc<World>);

#[derive(Default)]
struct World {
    /// How many hosts there are besides the first.
    more_hosts: Cell<usize>,
    /// A host that takes no connection.
    lost_host: Cell<Option<usize>>,
    connections: Cell<usize>,
    is_down: Cell<bool>,
    is_cut: Cell<bool>,
    notifier: Notifier,
    log: RefCell<Vec<String>>,
}

#[derive(Default)]
struct Job {
    word: &'static str,
}

impl World {
    fn say(&self, connection: usize, word: &str) {
        self.log.borrow_mut().push(format!("{connection} {word}"));
    }
}

impl Library for TestLibrary {
    type Connection = usize;
    type Job = Job;

    fn hosts(&self) -> usize {
        1 + self.0.more_hosts.get()
    }

    async fn connect(&self) -> Result<usize, OpenError> {
        self.connect_to(0).await
    }

    async fn connect_to(&self, host: usize) -> Result<usize, OpenError> {
        if self.0.is_down.get() || self.0.lost_host.get() == Some(host) {
            let reason = "the test says so".into();
            return Err(OpenError::Unreachable { store: "told".into(), reason });
        }
        self.0.connections.set(self.0.connections.get() + 1);
        Ok(self.0.connections.get())
    }

    async fn perform(
        &self,
        connection: &mut usize,
        job: &mut Job,
        rows: &mut Vec<u8>,
    ) -> JobCompletion {
        self.0.say(*connection, job.word);
        let done = |after| JobCompletion::new(Completion::Done { found: true }, after);
        match job.word {
            "begin" => done(ConnectionState::Held),
            "hang" => std::future::pending().await,
            "later" => {
                tokio::task::yield_now().await;
                done(ConnectionState::Free)
            }
            "fail" => {
                JobCompletion::new(Completion::Refused(Reason::Conflict), ConnectionState::Undo)
            }
            "break" => JobCompletion::new(
                Completion::Unknown(Reason::ConnectionLost),
                ConnectionState::Lost,
            ),
            _ => {
                encode_row(1, rows);
                encode_field(b"word", job.word.as_bytes(), rows);
                done(ConnectionState::Free)
            }
        }
    }

    async fn undo(&self, connection: &mut usize) -> Result<(), Lost> {
        self.0.say(*connection, "undo");
        Ok(())
    }

    async fn lost(&self, _connection: &mut usize) {
        self.0.notifier.until(|| self.0.is_cut.get().then_some(())).await;
    }
}

#[derive(Default)]
struct Inbox(Vec<String>);

impl Answers for Inbox {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        let number = ticket.0;
        self.0.push(match answer {
            Answer::Done(reply) => format!("{number} done, {} rows", reply.rows.count()),
            Answer::Refused(reason) => format!("{number} refused {}", reason.name()),
            Answer::Unknown(reason) => format!("{number} unknown {}", reason.name()),
        });
    }
}

struct Worker {
    pool: Pool<TestLibrary>,
    world: Rc<World>,
    inbox: Inbox,
    next: u64,
    now: Nanos,
}

impl Worker {
    fn open(connections: usize) -> Worker {
        Worker::open_hosts(connections, 1)
    }

    fn open_hosts(connections: usize, hosts: usize) -> Worker {
        let reported = TestLibrary::default();
        reported.0.more_hosts.set(hosts - 1);
        let world = reported.0.clone();
        let pool = Pool::open(reported, connections, "told").unwrap();
        Worker { pool, world, inbox: Inbox::default(), next: 0, now: Nanos::ZERO }
    }

    fn start(&mut self, session: u32, word: &'static str) -> Ticket {
        self.next += 1;
        let ticket = Ticket(self.next);
        self.pool.submit(ticket, session, &mut self.inbox, |job| job.word = word);
        ticket
    }

    /// Moves on, a millisecond later.
    fn poll(&mut self) {
        self.now = self.now.saturating_add(Nanos::from_millis(1));
        self.pool.poll(self.now, &mut self.inbox);
    }

    /// Moves on until nothing more happens by itself, and takes the answers.
    fn answers(&mut self) -> Vec<String> {
        for _ in 0..20 {
            self.poll();
        }
        std::mem::take(&mut self.inbox.0)
    }

    fn send(&mut self, session: u32, word: &'static str) -> String {
        self.start(session, word);
        self.answers().join("; ")
    }

    /// Waits until the pool is as the test wants it.
    fn wait_until(&mut self, done: impl Fn(&Worker) -> bool) {
        for _ in 0..1_000 {
            if done(self) {
                return;
            }
            self.pool.wait(Duration::from_millis(10));
            self.poll();
        }
        panic!("it never came to that");
    }

    fn log(&self) -> Vec<String> {
        std::mem::take(&mut *self.world.log.borrow_mut())
    }
}

#[test]
fn a_job_comes_back_with_its_rows() {
    let mut worker = Worker::open(1);
    assert_eq!(worker.send(0, "read"), "1 done, 1 rows");
    assert_eq!(worker.send(0, "later"), "2 done, 0 rows");
    assert_eq!(worker.answers(), Vec::<String>::new());
}

#[test]
fn waiting_ends_with_an_answer_long_before_timeout() {
    let mut worker = Worker::open(1);
    worker.start(0, "later");
    worker.pool.wait(Duration::from_secs(1));
    worker.poll();
    assert_eq!(worker.inbox.0, ["1 done, 0 rows"]);
}

#[test]
fn without_a_free_connection_it_is_not_ready() {
    let mut worker = Worker::open(2);
    worker.start(0, "hang");
    assert!(worker.pool.is_ready());
    worker.start(1, "hang");
    assert!(!worker.pool.is_ready());
    assert_eq!(worker.send(2, "read"), "3 refused in-flight-limit");
}

#[test]
fn a_session_keeps_its_connection_while_its_transaction_is_open() {
    let mut worker = Worker::open(2);
    worker.send(7, "begin");
    worker.send(8, "begin");
    assert!(worker.pool.holds(7) && !worker.pool.is_ready());
    assert_eq!(worker.send(7, "commit"), "3 done, 1 rows");
    assert!(!worker.pool.holds(7) && worker.pool.is_ready());
    worker.send(8, "commit");
    assert_eq!(worker.log(), ["2 begin", "1 begin", "2 commit", "1 commit"]);
}

#[test]
fn a_failed_transaction_is_undone_after_the_answer() {
    let mut worker = Worker::open(1);
    worker.send(7, "begin");
    assert_eq!(worker.send(7, "fail"), "2 refused conflict");
    assert!(!worker.pool.holds(7) && worker.pool.is_ready());
    assert_eq!(worker.log(), ["1 begin", "1 fail", "1 undo"]);
}

#[test]
fn a_transaction_that_is_left_is_undone() {
    let mut worker = Worker::open(1);
    worker.send(7, "begin");
    worker.pool.abort(7);
    assert!(!worker.pool.is_ready());
    worker.answers();
    assert!(worker.pool.is_ready());
    assert_eq!(worker.log(), ["1 begin", "1 undo"]);
}

#[test]
fn an_abandoned_step_undoes_its_transaction() {
    let mut worker = Worker::open(1);
    let ticket = worker.start(7, "begin");
    worker.pool.abandon(ticket);
    worker.answers();
    assert!(!worker.pool.holds(7) && worker.pool.is_ready());
    // The response was there already, but had not been delivered.
    let ticket = worker.start(7, "begin");
    worker.pool.wait(Duration::from_secs(1));
    worker.pool.abandon(ticket);
    worker.answers();
    assert!(!worker.pool.holds(7) && worker.pool.is_ready());
    assert_eq!(worker.log(), ["1 begin", "1 undo", "1 begin", "1 undo"]);
}

#[test]
fn a_job_that_hangs_after_it_was_abandoned_loses_its_connection() {
    let mut worker = Worker::open(1);
    let ticket = worker.start(0, "hang");
    worker.answers();
    worker.pool.abandon(ticket);
    worker.wait_until(|worker| !worker.inbox.0.is_empty());
    assert_eq!(worker.answers(), ["1 unknown connection-lost"]);
    worker.wait_until(|worker| worker.world.connections.get() == 2);
    assert_eq!(worker.send(0, "read"), "2 done, 1 rows");
}

#[test]
fn a_lost_connection_is_made_anew_while_the_others_work() {
    let mut worker = Worker::open(2);
    assert_eq!(worker.send(0, "break"), "1 unknown connection-lost");
    assert_eq!(worker.send(0, "read"), "2 done, 1 rows");
    worker.wait_until(|worker| worker.world.connections.get() == 3);
    assert_eq!(worker.log(), ["2 break", "1 read"]);
}

#[test]
fn without_any_connection_jobs_are_refused_until_one_is_back() {
    let mut worker = Worker::open(1);
    worker.world.is_down.set(true);
    worker.send(0, "break");
    assert!(worker.pool.is_ready());
    assert_eq!(worker.send(0, "read"), "2 refused unreachable");
    worker.world.is_down.set(false);
    worker.wait_until(|worker| worker.world.connections.get() == 2);
    assert_eq!(worker.send(0, "read"), "3 done, 1 rows");
}

#[test]
fn a_transaction_whose_connection_is_lost_cannot_go_on() {
    let mut worker = Worker::open(1);
    worker.send(7, "begin");
    worker.world.is_cut.set(true);
    worker.world.notifier.ring();
    worker.answers();
    worker.world.is_cut.set(false);
    assert_eq!(worker.send(7, "commit"), "2 refused unreachable");
    worker.wait_until(|worker| worker.world.connections.get() == 2);
    assert_eq!(worker.send(7, "read"), "3 done, 1 rows");
    assert_eq!(worker.log(), ["1 begin", "2 read"]);
}

#[test]
fn a_session_stays_at_one_host() {
    let mut worker = Worker::open_hosts(2, 2);
    for session in [0, 1, 2, 3, 0, 1] {
        worker.send(session, "later");
    }
    // The first and the third connection are with the first host.
    let odd = |line: &String| line.starts_with(['1', '3']);
    let is_first_host: Vec<bool> = worker.log().iter().map(odd).collect();
    assert_eq!(is_first_host, [true, false, true, false, true, false]);
}

#[test]
fn a_request_waits_for_its_host_while_another_one_is_free() {
    let mut worker = Worker::open_hosts(1, 2);
    let hanging = worker.start(0, "hang");
    let waiting = worker.start(2, "read");
    assert!(worker.pool.is_ready());
    assert_eq!(worker.send(1, "read"), "3 done, 1 rows");
    worker.pool.abandon(waiting);
    worker.start(4, "read");
    worker.pool.abandon(hanging);
    worker.wait_until(|worker| !worker.inbox.0.is_empty());
    worker.wait_until(|worker| worker.inbox.0.len() == 2);
    // The host lost its only connection with the request that went on for too long.
    assert_eq!(worker.answers(), ["1 unknown connection-lost", "4 refused unreachable"]);
    worker.wait_until(|worker| worker.pool.free() == 2);
    worker.start(0, "later");
    assert_eq!(worker.send(2, "read"), "5 done, 0 rows; 6 done, 1 rows");
}

#[test]
fn a_host_without_a_connection_refuses_and_the_others_go_on() {
    let mut worker = Worker::open_hosts(1, 2);
    worker.world.lost_host.set(Some(0));
    assert_eq!(worker.send(0, "break"), "1 unknown connection-lost");
    assert_eq!(worker.send(2, "read"), "2 refused unreachable");
    assert_eq!(worker.send(1, "read"), "3 done, 1 rows");
    assert!(worker.pool.is_ready() && !worker.pool.is_down());
    worker.world.lost_host.set(None);
    worker.wait_until(|worker| worker.pool.free() == 2);
    assert_eq!(worker.send(2, "read"), "4 done, 1 rows");
}

/// The nodes that were named, by ticket.
#[derive(Default)]
struct NamedNodes(Vec<(u64, u8)>);

impl Answers for NamedNodes {
    fn answer(&mut self, _ticket: Ticket, _answer: Answer<'_>) {}

    fn node(&mut self, ticket: Ticket, node: u8) {
        self.0.push((ticket.0, node));
    }
}

/// The nodes of two sessions' requests, when they are sent and when they are answered.
fn named_nodes(hosts: usize) -> [Vec<(u64, u8)>; 2] {
    let mut worker = Worker::open_hosts(1, hosts);
    let mut named = NamedNodes::default();
    for session in [0, 1] {
        let ticket = Ticket(10 + u64::from(session));
        worker.pool.submit(ticket, session, &mut named, |job| job.word = "rows");
    }
    let sent = std::mem::take(&mut named.0);
    for at in 1..20 {
        worker.pool.poll(Nanos::from_millis(at), &mut named);
    }
    [sent, named.0]
}

#[test]
fn requests_and_answers_name_their_host_where_there_are_several() {
    assert_eq!(named_nodes(2), [vec![(10, 1), (11, 2)], vec![(10, 1), (11, 2)]]);
    assert_eq!(named_nodes(1), [vec![], vec![]]);
}
