//! Makes a store whose calls wait look like one whose calls do not: a pool of threads per lane.
//!
//! Each lane has its own threads, each thread its own client of the store within. A request is
//! copied into a recycled `Job` and travels to an idle thread; the answer travels back in the
//! same job. When no thread is idle the client is not ready, the executor keeps the request, and
//! the wait is lag: a store that waits for its disk shows as a store that is too slow, never as a
//! load generator that stood still.

mod job;
mod pool;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_model::{Layout, Nanos, Reason, Setting};

use crate::answer::{Answer, Answers};
use crate::capabilities::{Calls, Capabilities};
use crate::request::{Request, Ticket};
use crate::seam::{Client, OpenError, Store};
use job::Job;
use pool::Pool;

/// How many requests may lie before one thread. More than one lies there only behind an abandoned
/// request of the same session, so this bounds how far a session runs ahead of a stuck store.
const BACKLOG: usize = 16;

/// A store whose waiting calls are made on threads of their own.
pub struct Workers {
    inner: Arc<dyn Store>,
    threads: usize,
    panics: Arc<Panics>,
}

/// What threads said when they panicked.
#[derive(Default)]
struct Panics(Mutex<Vec<String>>);

impl Workers {
    /// Calls `inner` on `threads` threads for each lane.
    ///
    /// # Panics
    /// If `threads` is zero.
    pub fn new(inner: Arc<dyn Store>, threads: usize) -> Workers {
        assert!(threads > 0, "a store without a thread to call it would never answer");
        Workers { inner, threads, panics: Arc::default() }
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

impl Store for Workers {
    fn capabilities(&self) -> Capabilities {
        Capabilities { calls: Calls::Pipelined, ..self.inner.capabilities() }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        self.inner.prepare(layout)
    }

    /// Opens one client per thread; the first that cannot be opened is the error.
    fn open(&self, lane: usize) -> Result<Box<dyn Client>, OpenError> {
        let capabilities = self.inner.capabilities();
        if capabilities.calls == Calls::Pipelined {
            return Err(OpenError::Unsupported {
                store: capabilities.name.into(),
                reason: "it answers without waiting already; call it without worker threads".into(),
            });
        }
        let pool = Pool::open(&self.inner, lane, self.threads, &self.panics)?;
        Ok(Box::new(WorkersClient { pool, spare: Vec::new(), back: Vec::new() }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        self.check_panics()?;
        let mut settings = self.inner.settings()?;
        settings.push(Setting {
            name: "worker threads".into(),
            value: self.threads.to_string(),
            meaning: "per lane; the wait for one of them counts as lag".into(),
        });
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

    /// Also tells of threads that panicked since the store was made.
    fn settle(&self) -> Result<(), OpenError> {
        self.check_panics()?;
        self.inner.settle()
    }
}

#[expect(clippy::vec_box, reason = "jobs travel between threads, a pointer each")]
struct WorkersClient {
    pool: Pool,
    /// Jobs to be used again, so that a request in the steady state allocates nothing.
    spare: Vec<Box<Job>>,
    /// Jobs that came back in this poll.
    back: Vec<Box<Job>>,
}

impl Client for WorkersClient {
    /// Also when every thread has died: then requests are refused instead of kept for ever.
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
        if self.pool.is_dead() {
            return answers.answer(ticket, Answer::Refused(Reason::StoreError));
        }
        let Some(seat) = self.pool.seat_for(request.session) else {
            return answers.answer(ticket, Answer::Refused(Reason::Busy));
        };
        let mut job = self.spare.pop().unwrap_or_default();
        job.fill(now, ticket, request);
        if let Err(job) = self.pool.send(seat, job) {
            self.spare.push(job);
            answers.answer(ticket, Answer::Refused(Reason::StoreError));
        }
    }

    fn poll(&mut self, _now: Nanos, answers: &mut dyn Answers) {
        self.pool.take_back(&mut self.back);
        for job in self.back.drain(..) {
            answers.answer(job.ticket(), job.answer());
            self.spare.push(job);
        }
    }

    fn wait(&mut self, patience: Duration) {
        self.pool.wait(patience);
    }
}

#[cfg(test)]
mod tests;
