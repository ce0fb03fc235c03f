//! A lane's threads, each with a short queue before it, all with one basket behind them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_model::Reason;

use super::job::Job;
use super::{BACKLOG, Panics};
use crate::seam::{OpenError, Store};

/// The lane's side of its threads. Dropping it ends them after the request each is at.
pub(super) struct Pool {
    seats: Vec<Seat>,
    basket: Arc<Basket>,
    /// Swapped with the basket's content, so that neither allocates in the steady state.
    emptied: Finished,
}

/// What the lane knows about one thread.
struct Seat {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
    /// The sessions of the requests that were sent and have not come back, oldest first.
    sessions: VecDeque<u32>,
    is_alive: bool,
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
        let mut pool = Pool { seats: vec![], basket: Arc::default(), emptied: Finished::default() };
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
            let sessions = VecDeque::with_capacity(BACKLOG);
            pool.seats.push(Seat { queue, thread: Some(thread), sessions, is_alive: true });
        }
        drop(opened);
        for _ in 0..threads {
            let outcome = all_opened.recv();
            outcome.unwrap_or_else(|_| Err(failed("it panicked while it was opened".into())))?;
        }
        Ok(pool)
    }

    pub(super) fn has_idle(&self) -> bool {
        self.seats.iter().any(|seat| seat.is_alive && seat.sessions.is_empty())
    }

    pub(super) fn is_dead(&self) -> bool {
        self.seats.iter().all(|seat| !seat.is_alive)
    }

    /// Where a request of `session` goes: behind an unfinished one of its own, or to an idle
    /// thread, or to the shortest queue; `None` if there is no room.
    pub(super) fn seat_for(&self, session: u32) -> Option<usize> {
        let alive = || self.seats.iter().enumerate().filter(|(_, seat)| seat.is_alive);
        let own = alive().find(|(_, seat)| seat.sessions.contains(&session));
        let (number, seat) = own.or_else(|| alive().min_by_key(|(_, seat)| seat.sessions.len()))?;
        (seat.sessions.len() < BACKLOG).then_some(number)
    }

    /// Sends `job` to the thread of seat `number`, or gives it back if that has just died.
    pub(super) fn send(&mut self, number: usize, job: Box<Job>) -> Result<(), Box<Job>> {
        let seat = &mut self.seats[number];
        let session = job.session();
        match seat.queue.put(job) {
            Ok(()) => seat.sessions.push_back(session),
            Err(job) => {
                seat.is_alive = false;
                return Err(job);
            }
        }
        Ok(())
    }

    /// Moves the jobs that have come back to the end of `into`.
    #[expect(clippy::vec_box, reason = "jobs travel between threads, a pointer each")]
    pub(super) fn take_back(&mut self, into: &mut Vec<Box<Job>>) {
        std::mem::swap(&mut *lock(&self.basket.state), &mut self.emptied);
        for number in self.emptied.dead.drain(..) {
            self.seats[number].is_alive = false;
        }
        for (number, job) in self.emptied.jobs.drain(..) {
            let session = self.seats[number].sessions.pop_front();
            debug_assert_eq!(session, Some(job.session()), "a thread answers in order");
            into.push(job);
        }
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
        for thread in self.seats.iter_mut().filter_map(|seat| seat.thread.take()) {
            // A panic of the thread was told when it happened.
            let _ = thread.join();
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
