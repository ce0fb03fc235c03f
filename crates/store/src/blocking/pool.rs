//! A worker's threads, each with a short queue before it, all with one batch behind them.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_model::Reason;

use super::job::{Job, JobKind};
use super::{BACKLOG, Panics};
use crate::request::Ticket;
use crate::seam::{OpenError, Store};

/// How often an ending worker checks whether its threads are done with their requests, [`NAP`]s
/// apart: two seconds.
const NAPS: u32 = 1000;
/// The time between two such looks.
const NAP: Duration = Duration::from_millis(2);

/// The worker's side of its threads. Dropping it ends them after the request each is at; a thread
/// whose store does not answer by then is left behind.
pub(super) struct Pool {
    slots: Vec<Slot>,
    /// The seat of each session with an open transaction: the connection that has it is there.
    homes: HashMap<u32, usize>,
    batch: Arc<AnswerBatch>,
    /// Swapped with the batch's content, so that neither allocates in the steady state.
    emptied: Finished,
}

/// The worker's state of one thread.
struct Slot {
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

impl Slot {
    fn has(&self, session: u32) -> bool {
        self.sent.iter().any(|sent| sent.session == session)
    }
}

impl Pool {
    /// Starts `threads` threads, each of which opens a client of `store` for itself.
    pub(super) fn open(
        store: &Arc<dyn Store>,
        worker: usize,
        threads: usize,
        panics: &Arc<Panics>,
    ) -> Result<Pool, OpenError> {
        let failed =
            |reason: String| OpenError::Failed { store: store.capabilities().name.into(), reason };
        let (batch, emptied) = (Arc::default(), Finished::default());
        let mut pool = Pool { slots: vec![], homes: HashMap::new(), batch, emptied };
        let (opened, all_opened) = sync_channel(threads);
        for number in 0..threads {
            let blocking_thread = BlockingThread {
                number,
                queue: Arc::default(),
                batch: Arc::clone(&pool.batch),
                panics: Arc::clone(panics),
            };
            let queue = Arc::clone(&blocking_thread.queue);
            let (store, opened) = (Arc::clone(store), opened.clone());
            let thread = std::thread::Builder::new()
                .name(format!("worker {worker} blocking thread {number}"))
                .spawn(move || blocking_thread.live(&*store, worker * threads + number, opened))
                .map_err(|error| failed(format!("no thread can be started: {error}")))?;
            let sent = VecDeque::with_capacity(BACKLOG);
            pool.slots.push(Slot { queue, thread: Some(thread), sent, held: 0, is_alive: true });
        }
        drop(opened);
        for _ in 0..threads {
            let outcome = all_opened.recv();
            outcome.unwrap_or_else(|_| Err(failed("it panicked while it was opened".into())))?;
        }
        Ok(pool)
    }

    pub(super) fn has_idle(&self) -> bool {
        self.slots.iter().any(|slot| slot.is_alive && slot.sent.is_empty() && slot.held == 0)
    }

    pub(super) fn is_dead(&self) -> bool {
        self.slots.iter().all(|slot| !slot.is_alive)
    }

    /// Where a job of `session` goes: to where its transaction is open, or behind an unfinished
    /// one of its own, or to an idle thread, or to the shortest queue; `None` if there is no room.
    pub(super) fn slot_for(&self, session: u32) -> Option<usize> {
        let alive = || self.slots.iter().enumerate().filter(|(_, slot)| slot.is_alive);
        let (number, slot) = match self.homes.get(&session) {
            Some(&home) => (home, &self.slots[home]),
            None => alive()
                .find(|(_, slot)| slot.has(session))
                .or_else(|| alive().min_by_key(|(_, slot)| (slot.held, slot.sent.len())))?,
        };
        (slot.sent.len() < BACKLOG).then_some(number)
    }

    /// Sends `job` to the thread of seat `number`, or gives it back if that has died.
    pub(super) fn send(&mut self, number: usize, job: Box<Job>) -> Result<(), Box<Job>> {
        let (session, job_kind, ticket) = (job.session(), job.job_kind(), job.ticket());
        let slot = &mut self.slots[number];
        if let Err(job) = slot.queue.put(job) {
            slot.is_alive = false;
            self.release(session);
            return Err(job);
        }
        let is_left = job_kind == JobKind::Abort;
        slot.sent.push_back(Sent { session, ticket: (!is_left).then_some(ticket), is_left });
        if let JobKind::Call { begins: true, .. } = job_kind
            && self.homes.insert(session, number).is_none()
        {
            self.slots[number].held += 1;
        }
        Ok(())
    }

    /// The session whose transaction the job with `ticket` belongs to, if there is one.
    pub(super) fn in_transaction(&self, ticket: Ticket) -> Option<u32> {
        let sent = self.slots.iter().flat_map(|slot| &slot.sent);
        let found = sent.into_iter().find(|sent| sent.ticket == Some(ticket) && !sent.is_left)?;
        self.homes.contains_key(&found.session).then_some(found.session)
    }

    /// Ends the transaction of `session`, and says where it was.
    pub(super) fn release(&mut self, session: u32) -> Option<usize> {
        let home = self.homes.remove(&session)?;
        let slot = &mut self.slots[home];
        slot.held -= 1;
        for sent in slot.sent.iter_mut().filter(|sent| sent.session == session) {
            sent.is_left = true;
        }
        Some(home)
    }

    /// Moves the jobs that have come back to the end of `into`.
    #[expect(clippy::vec_box, reason = "jobs travel between threads, a pointer each")]
    pub(super) fn take_back(&mut self, into: &mut Vec<Box<Job>>) {
        std::mem::swap(&mut *lock(&self.batch.state), &mut self.emptied);
        for number in self.emptied.dead.drain(..) {
            self.slots[number].is_alive = false;
        }
        let mut back = std::mem::take(&mut self.emptied.jobs);
        for (number, job) in back.drain(..) {
            let sent = self.slots[number].sent.pop_front().expect("what comes back was sent");
            debug_assert_eq!(sent.session, job.session(), "a thread answers in order");
            if !sent.is_left && job.ends_transaction() {
                self.release(sent.session);
            }
            into.push(job);
        }
        self.emptied.jobs = back;
    }

    /// Sleeps until a completion came or `timeout` has passed.
    pub(super) fn wait(&self, timeout: Duration) {
        let mut state = lock(&self.batch.state);
        if !state.is_empty() || timeout.is_zero() {
            return;
        }
        state.is_awaited = true;
        let waited = self.batch.came.wait_timeout(state, timeout);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_awaited = false;
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for slot in &self.slots {
            slot.queue.close();
        }
        let mut naps = NAPS;
        for slot in &mut self.slots {
            let Some(thread) = slot.thread.take() else { continue };
            // Calls into the store may never return; all of them are recorded as given
            // up.
            let is_issuing = !slot.sent.is_empty();
            while is_issuing && !thread.is_finished() && naps > 0 {
                naps -= 1;
                std::thread::sleep(NAP);
            }
            if thread.is_finished() || !is_issuing {
                // A panic of the thread was reported when it happened.
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

/// Completions on their way to the worker.
#[derive(Default)]
struct AnswerBatch {
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

impl AnswerBatch {
    fn put(&self, change: impl FnOnce(&mut Finished)) {
        let mut state = lock(&self.state);
        change(&mut state);
        if state.is_awaited {
            self.came.notify_one();
        }
    }
}

/// The thread's side.
struct BlockingThread {
    number: usize,
    queue: Arc<Queue>,
    batch: Arc<AnswerBatch>,
    panics: Arc<Panics>,
}

impl BlockingThread {
    fn live(self, store: &dyn Store, worker: usize, opened: SyncSender<Result<(), OpenError>>) {
        let (mut client, outcome) = match store.open(worker) {
            Ok(client) => (Some(client), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // Without a receiver the pool has been given up, and the queue will be closed.
        let _ = opened.send(outcome);
        let Some(client) = client.as_deref_mut() else { return };
        while let Some(mut job) = self.queue.take() {
            // A client whose call panicked is not used again, so its partial state does not matter.
            let ended = catch_unwind(AssertUnwindSafe(|| job.run(client)));
            if let Err(panic) = ended {
                return self.die(job, &*panic);
            }
            self.batch.put(|finished| finished.jobs.push((self.number, job)));
        }
    }

    /// The request it was at is unknown; those behind it certainly did not happen.
    fn die(&self, job: Box<Job>, panic: &(dyn std::any::Any + Send)) {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        self.panics.add(text.unwrap_or_else(|| "no message".into()));
        let behind = self.queue.close();
        self.batch.put(|finished| {
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
