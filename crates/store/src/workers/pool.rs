//! A lane's threads, each with a short queue before it, all with one basket behind them.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_model::Reason;

use super::job::{Errand, Job};
use super::{BACKLOG, Panics};
use crate::request::Ticket;
use crate::seam::{OpenError, Store};

/// How often the end of a lane looks whether its threads are done with their requests, [`NAP`]s
/// apart: two seconds.
const NAPS: u32 = 1000;
/// The time between two such looks.
const NAP: Duration = Duration::from_millis(2);

/// The lane's side of its threads. Dropping it ends them after the request each is at; a thread
/// whose store does not answer by then is left behind.
pub(super) struct Pool {
    seats: Vec<Seat>,
    /// The seat of each session with an open transaction: the connection that has it is there.
    homes: HashMap<u32, usize>,
    basket: Arc<Basket>,
    /// Swapped with the basket's content, so that neither allocates in the steady state.
    emptied: Finished,
}

/// What the lane knows about one thread.
struct Seat {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
    /// What was sent and has not come back, oldest first.
    sent: VecDeque<Sent>,
    /// How many sessions have their open transaction here: no other shall come between.
    held: usize,
    is_alive: bool,
}

/// A job that is with a thread.
struct Sent {
    session: u32,
    /// What an answer is awaited for, if one is.
    ticket: Option<Ticket>,
    /// Whether its transaction is over, however it ends: one that is open now is another.
    is_left: bool,
}

impl Seat {
    fn has(&self, session: u32) -> bool {
        self.sent.iter().any(|sent| sent.session == session)
    }
}

impl Pool {
    /// Starts `threads` threads, each of which opens a client of `store` for itself.
    pub(super) fn open(
        store: &Arc<dyn Store>,
        lane: usize,
        threads: usize,
        panics: &Arc<Panics>,
    ) -> Result<Pool, OpenError> {
        let failed =
            |reason: String| OpenError::Failed { store: store.capabilities().name.into(), reason };
        let (basket, emptied) = (Arc::default(), Finished::default());
        let mut pool = Pool { seats: vec![], homes: HashMap::new(), basket, emptied };
        let (opened, all_opened) = sync_channel(threads);
        for number in 0..threads {
            let worker = Worker {
                number,
                queue: Arc::default(),
                basket: Arc::clone(&pool.basket),
                panics: Arc::clone(panics),
            };
            let queue = Arc::clone(&worker.queue);
            let (store, opened) = (Arc::clone(store), opened.clone());
            let thread = std::thread::Builder::new()
                .name(format!("lane {lane} worker {number}"))
                .spawn(move || worker.live(&*store, lane * threads + number, opened))
                .map_err(|error| failed(format!("no thread can be started: {error}")))?;
            let sent = VecDeque::with_capacity(BACKLOG);
            pool.seats.push(Seat { queue, thread: Some(thread), sent, held: 0, is_alive: true });
        }
        drop(opened);
        for _ in 0..threads {
            let outcome = all_opened.recv();
            outcome.unwrap_or_else(|_| Err(failed("it panicked while it was opened".into())))?;
        }
        Ok(pool)
    }

    pub(super) fn has_idle(&self) -> bool {
        self.seats.iter().any(|seat| seat.is_alive && seat.sent.is_empty() && seat.held == 0)
    }

    pub(super) fn is_dead(&self) -> bool {
        self.seats.iter().all(|seat| !seat.is_alive)
    }

    /// Where a job of `session` goes: to where its transaction is open, or behind an unfinished
    /// one of its own, or to an idle thread, or to the shortest queue; `None` if there is no room.
    pub(super) fn seat_for(&self, session: u32) -> Option<usize> {
        let alive = || self.seats.iter().enumerate().filter(|(_, seat)| seat.is_alive);
        let (number, seat) = match self.homes.get(&session) {
            Some(&home) => (home, &self.seats[home]),
            None => alive()
                .find(|(_, seat)| seat.has(session))
                .or_else(|| alive().min_by_key(|(_, seat)| (seat.held, seat.sent.len())))?,
        };
        (seat.sent.len() < BACKLOG).then_some(number)
    }

    /// Sends `job` to the thread of seat `number`, or gives it back if that has died.
    pub(super) fn send(&mut self, number: usize, job: Box<Job>) -> Result<(), Box<Job>> {
        let (session, errand, ticket) = (job.session(), job.errand(), job.ticket());
        let seat = &mut self.seats[number];
        if let Err(job) = seat.queue.put(job) {
            seat.is_alive = false;
            self.release(session);
            return Err(job);
        }
        let is_left = errand == Errand::Leave;
        seat.sent.push_back(Sent { session, ticket: (!is_left).then_some(ticket), is_left });
        if let Errand::Call { begins: true, .. } = errand
            && self.homes.insert(session, number).is_none()
        {
            self.seats[number].held += 1;
        }
        Ok(())
    }

    /// The session whose transaction the job with `ticket` belongs to, if there is one.
    pub(super) fn in_transaction(&self, ticket: Ticket) -> Option<u32> {
        let sent = self.seats.iter().flat_map(|seat| &seat.sent);
        let found = sent.into_iter().find(|sent| sent.ticket == Some(ticket) && !sent.is_left)?;
        self.homes.contains_key(&found.session).then_some(found.session)
    }

    /// Ends the transaction of `session`, and says where it was.
    pub(super) fn release(&mut self, session: u32) -> Option<usize> {
        let home = self.homes.remove(&session)?;
        let seat = &mut self.seats[home];
        seat.held -= 1;
        for sent in seat.sent.iter_mut().filter(|sent| sent.session == session) {
            sent.is_left = true;
        }
        Some(home)
    }

    /// Moves the jobs that have come back to the end of `into`.
    #[expect(clippy::vec_box, reason = "jobs travel between threads, a pointer each")]
    pub(super) fn take_back(&mut self, into: &mut Vec<Box<Job>>) {
        std::mem::swap(&mut *lock(&self.basket.state), &mut self.emptied);
        for number in self.emptied.dead.drain(..) {
            self.seats[number].is_alive = false;
        }
        let mut back = std::mem::take(&mut self.emptied.jobs);
        for (number, job) in back.drain(..) {
            let sent = self.seats[number].sent.pop_front().expect("what comes back was sent");
            debug_assert_eq!(sent.session, job.session(), "a thread answers in order");
            if !sent.is_left && job.ends_transaction() {
                self.release(sent.session);
            }
            into.push(job);
        }
        self.emptied.jobs = back;
    }

    /// Sleeps until something came back or `patience` has passed.
    pub(super) fn wait(&self, patience: Duration) {
        let mut state = lock(&self.basket.state);
        if !state.is_empty() || patience.is_zero() {
            return;
        }
        state.is_awaited = true;
        let waited = self.basket.came.wait_timeout(state, patience);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_awaited = false;
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for seat in &self.seats {
            seat.queue.close();
        }
        let mut naps = NAPS;
        for seat in &mut self.seats {
            let Some(thread) = seat.thread.take() else { continue };
            // What has been asked of the store may never return; all of it is recorded as given up.
            let is_asking = !seat.sent.is_empty();
            while is_asking && !thread.is_finished() && naps > 0 {
                naps -= 1;
                std::thread::sleep(NAP);
            }
            if thread.is_finished() || !is_asking {
                // A panic of the thread was told when it happened.
                let _ = thread.join();
            }
        }
    }
}

/// Requests on their way to one thread.
#[derive(Default)]
struct Queue {
    state: Mutex<Waiting>,
    came: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Box<Job>>,
    is_closed: bool,
    is_awaited: bool,
}

impl Queue {
    fn put(&self, job: Box<Job>) -> Result<(), Box<Job>> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return Err(job);
        }
        state.jobs.push_back(job);
        if state.is_awaited {
            self.came.notify_one();
        }
        Ok(())
    }

    /// The next job, waited for; `None` once the queue is closed.
    fn take(&self) -> Option<Box<Job>> {
        let mut state = lock(&self.state);
        while !state.is_closed {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            state.is_awaited = true;
            state = self.came.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.is_awaited = false;
        }
        None
    }

    /// Lets nothing in any more, and gives what still lay there.
    fn close(&self) -> VecDeque<Box<Job>> {
        let mut state = lock(&self.state);
        state.is_closed = true;
        self.came.notify_one();
        std::mem::take(&mut state.jobs)
    }
}

/// Answers on their way to the lane.
#[derive(Default)]
struct Basket {
    state: Mutex<Finished>,
    came: Condvar,
}

#[derive(Default)]
struct Finished {
    jobs: Vec<(usize, Box<Job>)>,
    dead: Vec<usize>,
    is_awaited: bool,
}

impl Finished {
    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.dead.is_empty()
    }
}

impl Basket {
    fn put(&self, change: impl FnOnce(&mut Finished)) {
        let mut state = lock(&self.state);
        change(&mut state);
        if state.is_awaited {
            self.came.notify_one();
        }
    }
}

/// The thread's side.
struct Worker {
    number: usize,
    queue: Arc<Queue>,
    basket: Arc<Basket>,
    panics: Arc<Panics>,
}

impl Worker {
    fn live(self, store: &dyn Store, lane: usize, opened: SyncSender<Result<(), OpenError>>) {
        let (mut client, outcome) = match store.open(lane) {
            Ok(client) => (Some(client), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // If nobody listens the pool has been given up, and the queue will be closed.
        let _ = opened.send(outcome);
        let Some(client) = client.as_deref_mut() else { return };
        while let Some(mut job) = self.queue.take() {
            // A client whose call panicked is not used again, so nobody sees it half changed.
            let ended = catch_unwind(AssertUnwindSafe(|| job.run(client)));
            if let Err(panic) = ended {
                return self.die(job, &*panic);
            }
            self.basket.put(|finished| finished.jobs.push((self.number, job)));
        }
    }

    /// The request it was at is unknown; those behind it certainly did not happen.
    fn die(&self, job: Box<Job>, panic: &(dyn std::any::Any + Send)) {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        self.panics.add(text.unwrap_or_else(|| "no message".into()));
        let behind = self.queue.close();
        self.basket.put(|finished| {
            finished.dead.push(self.number);
            finished.jobs.push((self.number, job));
            for mut job in behind {
                job.refuse(Reason::StoreError);
                finished.jobs.push((self.number, job));
            }
        });
    }
}

/// A lock whose holder panicked is taken as it is: nothing under these locks can panic midway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
