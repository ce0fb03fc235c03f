//! Resumed load: a store in which what is there already counts as written.
//!
//! A load that was interrupted is issued again from its beginning. Where the store refuses a row
//! because it exists, an earlier load has written it. In a store with transactions all of that
//! transaction is there then, so what is left of it is not sent; elsewhere the next row may be
//! missing, so it is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use assay_model::{Catalogue, Layout, Nanos, Reason, Setting};

use crate::answer::{Answer, Answers, Reply};
use crate::capabilities::Capabilities;
use crate::request::{Call, Request, Step, Ticket};
use crate::seam::{Client, Existing, OpenError, Store};

/// A store that a load goes on in.
pub struct ResumedLoad(Arc<dyn Store>);

impl ResumedLoad {
    /// Over `store`, which was prepared.
    pub fn new(store: Arc<dyn Store>) -> ResumedLoad {
        ResumedLoad(store)
    }
}

impl Store for ResumedLoad {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        self.0.prepare(layout)
    }

    fn prepare_queries(
        &self,
        catalogue: &Arc<Catalogue>,
        existing: Existing,
    ) -> Result<(), OpenError> {
        self.0.prepare_queries(catalogue, existing)
    }

    fn open(&self, worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let is_atomic = self.0.capabilities().isolation.is_some();
        let inner = self.0.open(worker)?;
        let known = Known { is_atomic, ..Known::default() };
        Ok(Box::new(ResumedClient { inner, known }))
    }

    fn room(&self) -> Option<usize> {
        self.0.room()
    }

    fn nodes(&self) -> Vec<String> {
        self.0.nodes()
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        self.0.settings()
    }

    fn clear(&self) -> Result<(), OpenError> {
        self.0.clear()
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        self.0.note()
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.0.keep_note(note)
    }

    fn readings(&self) -> Result<Vec<crate::reading::ServerReading>, OpenError> {
        self.0.readings()
    }

    fn incidents(&self) -> Vec<String> {
        self.0.incidents()
    }

    fn flush(&self) -> Result<(), OpenError> {
        self.0.flush()
    }
}

struct ResumedClient {
    inner: Box<dyn Client>,
    known: Known,
}

/// What is known of the sessions.
#[derive(Default)]
struct Known {
    /// Whether the store makes transactions one.
    is_atomic: bool,
    /// Requests in flight with their sessions.
    in_flight: HashMap<Ticket, u32>,
    /// Sessions that have a transaction open.
    open: HashSet<u32>,
    /// Those of them whose transaction is there already.
    is_there: HashSet<u32>,
}

impl Known {
    /// Whether nothing of this call is to be sent.
    fn skips(&mut self, call: &Call<'_>) -> bool {
        if call.begins {
            self.is_there.remove(&call.session);
            self.open.insert(call.session);
        }
        let is_over = matches!(call.step, Step::Commit | Step::Rollback);
        if is_over {
            self.open.remove(&call.session);
        }
        match is_over {
            true => self.is_there.remove(&call.session),
            false => self.is_there.contains(&call.session),
        }
    }
}

/// Answers of the store, on their way to who asked.
struct Passed<'a> {
    known: &'a mut Known,
    to: &'a mut dyn Answers,
}

impl Answers for Passed<'_> {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        let session = self.known.in_flight.remove(&ticket);
        if !matches!(answer, Answer::Refused(Reason::Exists)) {
            return self.to.answer(ticket, answer);
        }
        if let Some(session) = session.filter(|session| self.known.open.contains(session))
            && self.known.is_atomic
        {
            self.known.is_there.insert(session);
        }
        self.to.answer(ticket, Answer::Done(Reply::WRITTEN));
    }

    fn requests(&mut self, ticket: Ticket, count: u16) {
        self.to.requests(ticket, count);
    }

    fn node(&mut self, ticket: Ticket, node: u8) {
        self.to.node(ticket, node);
    }

    fn version(&mut self, ticket: Ticket, version: u64) {
        self.to.version(ticket, version);
    }
}

impl Client for ResumedClient {
    fn is_ready(&self) -> bool {
        self.inner.is_ready()
    }

    fn start(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        self.known.in_flight.insert(ticket, request.session);
        self.inner.start(now, ticket, request, &mut Passed { known: &mut self.known, to: answers });
    }

    fn call(&mut self, now: Nanos, ticket: Ticket, call: &Call<'_>, answers: &mut dyn Answers) {
        if self.known.skips(call) {
            return answers.answer(ticket, Answer::Done(Reply::WRITTEN));
        }
        self.known.in_flight.insert(ticket, call.session);
        self.inner.call(now, ticket, call, &mut Passed { known: &mut self.known, to: answers });
    }

    fn begin(&mut self, session: u32) {
        self.inner.begin(session);
    }

    fn abort(&mut self, session: u32) {
        self.known.open.remove(&session);
        self.known.is_there.remove(&session);
        self.inner.abort(session);
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.inner.poll(now, &mut Passed { known: &mut self.known, to: answers });
    }

    fn wait(&mut self, timeout: Duration) {
        self.inner.wait(timeout);
    }

    fn due(&self) -> Option<Nanos> {
        self.inner.due()
    }

    fn abandon(&mut self, ticket: Ticket) {
        self.known.in_flight.remove(&ticket);
        self.inner.abandon(ticket);
    }
}
