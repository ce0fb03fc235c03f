//! Adapter from a blocking store to a non-blocking one: a pool of threads per worker.
//!
//! Each worker has its own threads, each thread its own client of the store within. A request is
//! copied into a recycled `Job` and travels to an idle thread; the answer travels back in the
//! same job. When no thread is idle the client is not ready, the executor keeps the request, and
//! the wait is lag: a store that waits for its disk shows as a store that is too slow, never as a
//! load generator that was blocked.

mod job;
mod pool;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_model::{Catalogue, Layout, Nanos, Reason, Setting};

use crate::answer::{Answer, Answers};
use crate::capabilities::{Calls, Capabilities};
use crate::request::{Call, Request, Ticket};
use crate::seam::{Client, Existing, OpenError, Store};
use job::{Job, JobKind};
use pool::Pool;

/// How many requests may queue for one thread. More than one is there only behind an abandoned
/// request of the same session, so this bounds how far a session runs ahead of a stuck store.
const BACKLOG: usize = 16;

/// A store whose waiting calls are made on threads of their own.
pub struct BlockingThreads {
    inner: Arc<dyn Store>,
    threads: usize,
    panics: Arc<Panics>,
}

/// What threads said when they panicked.
#[derive(Default)]
struct Panics(Mutex<Vec<String>>);

impl BlockingThreads {
    /// Calls `inner` on `threads` threads for each worker.
    ///
    /// # Panics
    /// If `threads` is zero.
    pub fn new(inner: Arc<dyn Store>, threads: usize) -> BlockingThreads {
        assert!(threads > 0, "a store without a thread to call it would never answer");
        BlockingThreads { inner, threads, panics: Arc::default() }
    }

    fn check_panics(&self) -> Result<(), OpenError> {
        let panics = self.panics.all();
        let Some(first) = panics.first() else { return Ok(()) };
        Err(OpenError::Failed {
            store: self.inner.capabilities().name.into(),
            reason: format!("{} of its threads panicked, the first with: {first}", panics.len()),
        })
    }
}

impl Panics {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, said: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(said);
    }
}

impl Store for BlockingThreads {
    fn capabilities(&self) -> Capabilities {
        Capabilities { calls: Calls::Pipelined, ..self.inner.capabilities() }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        self.inner.prepare(layout)
    }

    fn prepare_queries(
        &self,
        catalogue: &Arc<Catalogue>,
        existing: Existing,
    ) -> Result<(), OpenError> {
        self.inner.prepare_queries(catalogue, existing)
    }

    /// Opens one client per thread; the first that cannot be opened is the error.
    fn open(&self, worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let capabilities = self.inner.capabilities();
        if capabilities.calls == Calls::Pipelined {
            return Err(OpenError::Unsupported {
                store: capabilities.name.into(),
                reason: "it answers without waiting already; call it without blocking threads"
                    .into(),
            });
        }
        let pool = Pool::open(&self.inner, worker, self.threads, &self.panics)?;
        Ok(Box::new(BlockingClient { pool, spare: Vec::new(), back: Vec::new() }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        self.check_panics()?;
        let mut settings = self.inner.settings()?;
        settings.push(Setting::new(
            "blocking threads",
            self.threads.to_string(),
            "per worker; the wait for one of them counts as lag",
        ));
        Ok(settings)
    }

    fn clear(&self) -> Result<(), OpenError> {
        self.inner.clear()
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        self.inner.note()
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.inner.keep_note(note)
    }

    fn readings(&self) -> Result<Vec<crate::reading::ServerReading>, OpenError> {
        self.inner.readings()
    }

    fn incidents(&self) -> Vec<String> {
        self.inner.incidents()
    }

    /// Also tells of threads that panicked since the store was made.
    fn flush(&self) -> Result<(), OpenError> {
        self.check_panics()?;
        self.inner.flush()
    }
}

#[expect(clippy::vec_box, reason = "jobs travel between threads, a pointer each")]
struct BlockingClient {
    pool: Pool,
    /// Jobs to be used again, so that a request in the steady state allocates nothing.
    spare: Vec<Box<Job>>,
    /// Jobs that came back in this poll.
    back: Vec<Box<Job>>,
}

impl BlockingClient {
    fn send(&mut self, job: Box<Job>, answers: &mut dyn Answers) {
        let (session, ticket) = (job.session(), job.ticket());
        let sent = match self.pool.slot_for(session) {
            Some(slot) => self.pool.send(slot, job).map_err(|job| (job, Reason::StoreError)),
            None if self.pool.is_dead() => Err((job, Reason::StoreError)),
            None => Err((job, Reason::Busy)),
        };
        let Err((job, reason)) = sent else { return };
        self.spare.push(job);
        answers.answer(ticket, Answer::Refused(reason));
        // A step that is refused ends its transaction.
        self.abort(session);
    }
}

impl Client for BlockingClient {
    /// Also when every thread has died: then requests are refused instead of queued for ever.
    fn is_ready(&self) -> bool {
        self.pool.has_idle() || self.pool.is_dead()
    }

    fn start(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        let mut job = self.spare.pop().unwrap_or_default();
        job.fill(now, ticket, request);
        self.send(job, answers);
    }

    /// A session whose transaction is open stays with the thread that opened it.
    fn call(&mut self, now: Nanos, ticket: Ticket, call: &Call<'_>, answers: &mut dyn Answers) {
        let mut job = self.spare.pop().unwrap_or_default();
        job.fill_call(now, ticket, call);
        self.send(job, answers);
    }

    fn abort(&mut self, session: u32) {
        let Some(slot) = self.pool.release(session) else { return };
        let mut job = self.spare.pop().unwrap_or_default();
        job.fill_leave(session);
        // With its thread the connection is gone, and what the transaction did with it.
        if let Err(job) = self.pool.send(slot, job) {
            self.spare.push(job);
        }
    }

    /// The request goes on, and so do those queued behind it; a transaction ends with it.
    fn abandon(&mut self, ticket: Ticket) {
        if let Some(session) = self.pool.in_transaction(ticket) {
            self.abort(session);
        }
    }

    fn poll(&mut self, _now: Nanos, answers: &mut dyn Answers) {
        self.pool.take_back(&mut self.back);
        for job in self.back.drain(..) {
            if job.job_kind() != JobKind::Abort {
                if let Some(count) = job.requests() {
                    answers.requests(job.ticket(), count);
                }
                answers.answer(job.ticket(), job.answer());
            }
            self.spare.push(job);
        }
    }

    fn wait(&mut self, timeout: Duration) {
        self.pool.wait(timeout);
    }
}

#[cfg(test)]
mod tests;
