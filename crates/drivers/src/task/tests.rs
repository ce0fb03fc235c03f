//! Connections that do what the test tells them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use assay_model::{Nanos, Reason};
use assay_store::answer::{encode_field, encode_row};
use assay_store::{Answer, Answers, OpenError, Ticket};

use super::bell::Bell;
use super::{After, Ending, Fate, Library, Lost, Pool};

/// A library whose connections do what the jobs say.
#[derive(Clone, Default)]
struct Told(Rc<World>);

#[derive(Default)]
struct World {
    connections: Cell<usize>,
    is_down: Cell<bool>,
    is_cut: Cell<bool>,
    bell: Bell,
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

impl Library for Told {
    type Connection = usize;
    type Job = Job;

    async fn connect(&self) -> Result<usize, OpenError> {
        if self.0.is_down.get() {
            let reason = "the test says so".into();
            return Err(OpenError::Unreachable { store: "told".into(), reason });
        }
        self.0.connections.set(self.0.connections.get() + 1);
        Ok(self.0.connections.get())
    }

    async fn perform(&self, connection: &mut usize, job: &mut Job, rows: &mut Vec<u8>) -> Fate {
        self.0.say(*connection, job.word);
        let done = |after| Fate::new(Ending::Done { found: true }, after);
        match job.word {
            "begin" => done(After::Held),
            "hang" => std::future::pending().await,
            "later" => {
                tokio::task::yield_now().await;
                done(After::Free)
            }
            "fail" => Fate::new(Ending::Refused(Reason::Conflict), After::Undo),
            "break" => Fate::new(Ending::Unknown(Reason::ConnectionLost), After::Lost),
            _ => {
                encode_row(1, rows);
                encode_field(b"word", job.word.as_bytes(), rows);
                done(After::Free)
            }
        }
    }

    async fn undo(&self, connection: &mut usize) -> Result<(), Lost> {
        self.0.say(*connection, "undo");
        Ok(())
    }

    async fn lost(&self, _connection: &mut usize) {
        self.0.bell.until(|| self.0.is_cut.get().then_some(())).await;
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

struct Lane {
    pool: Pool<Told>,
    world: Rc<World>,
    inbox: Inbox,
    next: u64,
    now: Nanos,
}

impl Lane {
    fn open(connections: usize) -> Lane {
        let told = Told::default();
        let world = told.0.clone();
        let pool = Pool::open(told, connections, "told").unwrap();
        Lane { pool, world, inbox: Inbox::default(), next: 0, now: Nanos::ZERO }
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

    fn ask(&mut self, session: u32, word: &'static str) -> String {
        self.start(session, word);
        self.answers().join("; ")
    }

    /// Waits until the pool is as the test wants it.
    fn wait_until(&mut self, done: impl Fn(&Lane) -> bool) {
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
    let mut lane = Lane::open(1);
    assert_eq!(lane.ask(0, "read"), "1 done, 1 rows");
    assert_eq!(lane.ask(0, "later"), "2 done, 0 rows");
    assert_eq!(lane.answers(), Vec::<String>::new());
}

#[test]
fn waiting_ends_with_an_answer_long_before_patience() {
    let mut lane = Lane::open(1);
    lane.start(0, "later");
    lane.pool.wait(Duration::from_secs(1));
    lane.poll();
    assert_eq!(lane.inbox.0, ["1 done, 0 rows"]);
}

#[test]
fn without_a_free_connection_it_is_not_ready() {
    let mut lane = Lane::open(2);
    lane.start(0, "hang");
    assert!(lane.pool.is_ready());
    lane.start(1, "hang");
    assert!(!lane.pool.is_ready());
    assert_eq!(lane.ask(2, "read"), "3 refused in-flight-limit");
}

#[test]
fn a_session_keeps_its_connection_while_its_transaction_is_open() {
    let mut lane = Lane::open(2);
    lane.ask(7, "begin");
    lane.ask(8, "begin");
    assert!(lane.pool.holds(7) && !lane.pool.is_ready());
    assert_eq!(lane.ask(7, "commit"), "3 done, 1 rows");
    assert!(!lane.pool.holds(7) && lane.pool.is_ready());
    lane.ask(8, "commit");
    assert_eq!(lane.log(), ["2 begin", "1 begin", "2 commit", "1 commit"]);
}

#[test]
fn a_failed_transaction_is_undone_after_the_answer() {
    let mut lane = Lane::open(1);
    lane.ask(7, "begin");
    assert_eq!(lane.ask(7, "fail"), "2 refused conflict");
    assert!(!lane.pool.holds(7) && lane.pool.is_ready());
    assert_eq!(lane.log(), ["1 begin", "1 fail", "1 undo"]);
}

#[test]
fn a_transaction_that_is_left_is_undone() {
    let mut lane = Lane::open(1);
    lane.ask(7, "begin");
    lane.pool.leave(7);
    assert!(!lane.pool.is_ready());
    lane.answers();
    assert!(lane.pool.is_ready());
    assert_eq!(lane.log(), ["1 begin", "1 undo"]);
}

#[test]
fn an_abandoned_step_undoes_its_transaction() {
    let mut lane = Lane::open(1);
    let ticket = lane.start(7, "begin");
    lane.pool.abandon(ticket);
    lane.answers();
    assert!(!lane.pool.holds(7) && lane.pool.is_ready());
    // The answer was there already, but nobody had been told.
    let ticket = lane.start(7, "begin");
    lane.pool.wait(Duration::from_secs(1));
    lane.pool.abandon(ticket);
    lane.answers();
    assert!(!lane.pool.holds(7) && lane.pool.is_ready());
    assert_eq!(lane.log(), ["1 begin", "1 undo", "1 begin", "1 undo"]);
}

#[test]
fn a_job_that_hangs_after_it_was_abandoned_loses_its_connection() {
    let mut lane = Lane::open(1);
    let ticket = lane.start(0, "hang");
    lane.answers();
    lane.pool.abandon(ticket);
    lane.wait_until(|lane| !lane.inbox.0.is_empty());
    assert_eq!(lane.answers(), ["1 unknown connection-lost"]);
    lane.wait_until(|lane| lane.world.connections.get() == 2);
    assert_eq!(lane.ask(0, "read"), "2 done, 1 rows");
}

#[test]
fn a_lost_connection_is_made_anew_while_the_others_work() {
    let mut lane = Lane::open(2);
    assert_eq!(lane.ask(0, "break"), "1 unknown connection-lost");
    assert_eq!(lane.ask(0, "read"), "2 done, 1 rows");
    lane.wait_until(|lane| lane.world.connections.get() == 3);
    assert_eq!(lane.log(), ["2 break", "1 read"]);
}

#[test]
fn without_any_connection_jobs_are_refused_until_one_is_back() {
    let mut lane = Lane::open(1);
    lane.world.is_down.set(true);
    lane.ask(0, "break");
    assert!(lane.pool.is_ready());
    assert_eq!(lane.ask(0, "read"), "2 refused unreachable");
    lane.world.is_down.set(false);
    lane.wait_until(|lane| lane.world.connections.get() == 2);
    assert_eq!(lane.ask(0, "read"), "3 done, 1 rows");
}

#[test]
fn a_transaction_whose_connection_is_lost_cannot_go_on() {
    let mut lane = Lane::open(1);
    lane.ask(7, "begin");
    lane.world.is_cut.set(true);
    lane.world.bell.ring();
    lane.answers();
    lane.world.is_cut.set(false);
    assert_eq!(lane.ask(7, "commit"), "2 refused unreachable");
    lane.wait_until(|lane| lane.world.connections.get() == 2);
    assert_eq!(lane.ask(7, "read"), "3 done, 1 rows");
    assert_eq!(lane.log(), ["1 begin", "2 read"]);
}
