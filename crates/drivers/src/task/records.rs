//! A lane's client of a library that takes requests for records, one job each.

use std::collections::HashSet;
use std::time::Duration;

use assay_model::{Kind, Nanos, Reason};
use assay_store::answer::Reply;
use assay_store::{Answer, Answers, Client, OpenError, OwnedRequest, Request, Ticket};

use super::{Context, Library, Pool};

/// What a library of records is asked.
#[derive(Debug, Default)]
pub struct RecordJob {
    /// A request for records; of kind commit or rollback only where a transaction is held.
    pub request: OwnedRequest,
    /// How it stands to a transaction; always alone for a store without transactions.
    pub context: Context,
}

/// The client of a library whose jobs are requests for records.
pub struct RecordsClient<L: Library<Job = RecordJob>> {
    pool: Pool<L>,
    /// Sessions whose next request opens a transaction.
    beginning: HashSet<u32>,
}

impl<L: Library<Job = RecordJob>> RecordsClient<L> {
    /// Makes `connections` connections; see [`Pool::open`].
    ///
    /// # Errors
    /// If a connection cannot be made, or the operating system has no resources for a runtime.
    ///
    /// # Panics
    /// If `connections` is zero.
    pub fn open(
        library: L,
        connections: usize,
        store: &str,
    ) -> Result<Box<RecordsClient<L>>, OpenError> {
        let pool = Pool::open(library, connections, store)?;
        Ok(Box::new(RecordsClient { pool, beginning: HashSet::new() }))
    }

    /// What ends a transaction that has asked nothing, or that is none.
    fn end_of_nothing(&mut self, request: &Request<'_>) -> Answer<'static> {
        match self.beginning.remove(&request.session) || request.kind == Kind::Rollback {
            true => Answer::Done(Reply::WRITTEN),
            // Nothing is to be undone, but nothing became final either.
            false => Answer::Refused(Reason::TransactionFailed),
        }
    }
}

impl<L: Library<Job = RecordJob>> Client for RecordsClient<L> {
    fn is_ready(&self) -> bool {
        self.pool.is_ready()
    }

    fn start(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        let is_held = self.pool.holds(request.session);
        if request.kind.ends_transaction() && !is_held {
            answers.requests(ticket, 0);
            return answers.answer(ticket, self.end_of_nothing(request));
        }
        let context = match (is_held, self.beginning.remove(&request.session)) {
            (true, _) => Context::Within,
            (false, true) => Context::Begins,
            (false, false) => Context::Alone,
        };
        self.pool.submit(ticket, request.session, answers, |job| {
            job.request.fill(request);
            job.context = context;
        });
    }

    fn begin(&mut self, session: u32) {
        // Whatever the session still has open, nobody will end it any more.
        self.pool.leave(session);
        self.beginning.insert(session);
    }

    fn leave(&mut self, session: u32) {
        self.beginning.remove(&session);
        self.pool.leave(session);
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.pool.poll(now, answers);
    }

    fn wait(&mut self, patience: Duration) {
        self.pool.wait(patience);
    }

    fn abandon(&mut self, ticket: Ticket) {
        self.pool.abandon(ticket);
    }
}
