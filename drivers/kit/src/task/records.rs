//! A worker's client of a library that takes requests for records, one job each.

use std::collections::HashSet;
use std::time::Duration;

use assay_model::{Kind, Nanos, Reason};
use assay_store::answer::Reply;
use assay_store::{Answer, Answers, Client, OpenError, OwnedRequest, Request, Ticket};

use super::gather::{Gatherer, Gathering};
use super::{Completion, Context, Library, Pool};

/// The request to a client library of records.
#[derive(Debug, Default)]
pub struct RecordJob {
    /// A request for records; of kind commit or rollback only where a transaction is held.
    pub request: OwnedRequest,
    /// How it stands to a transaction; always alone for a store without transactions.
    pub context: Context,
    /// The batch that replaces `request` if it is not empty: two requests or more of one kind for
    /// one table, each with a key of its own. Only for libraries that let requests be gathered.
    pub batch: Vec<OwnedRequest>,
    /// How each request of the batch ended, in order, once the job is done; where there is nothing,
    /// as the job did and without rows. A job that is not done is the end of all of them.
    pub outcomes: Vec<BatchOutcome>,
}

impl RecordJob {
    /// The number of the table that it is about.
    #[inline]
    pub fn table(&self) -> u16 {
        self.first().table
    }

    /// The requests, one for each record of a batch.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.first().kind
    }

    /// The first request; where there is a batch, `request` has no meaning.
    #[inline]
    fn first(&self) -> Request<'_> {
        self.batch.first().unwrap_or(&self.request).request()
    }
}

/// How one request of a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchOutcome {
    /// What its ticket is answered with.
    pub ending: Completion,
    /// Where its rows end among those of the job; they begin where those before it end.
    pub rows_end: usize,
}

impl BatchOutcome {
    /// The end of a request whose rows begin at `begin`; a failure takes them away.
    pub fn of(ended: Result<bool, Completion>, begin: usize, rows: &mut Vec<u8>) -> BatchOutcome {
        let ending = ended.map_or_else(|failure| failure, |found| Completion::Done { found });
        if ended.is_err() {
            rows.truncate(begin);
        }
        BatchOutcome { ending, rows_end: rows.len() }
    }
}

/// The client of a library whose jobs are requests for records.
pub struct RecordsClient<L: Library<Job = RecordJob>> {
    pool: Pool<L>,
    /// Sessions whose next request opens a transaction.
    beginning: HashSet<u32>,
    gatherer: Gatherer,
    /// How many requests were given a host in turn; none where sessions stay at theirs.
    turns: Option<usize>,
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
        RecordsClient::open_gathering(library, connections, store, Gathering::OFF)
    }

    /// The same, with requests that wait at the same time gathered into batches.
    ///
    /// # Errors
    /// As [`RecordsClient::open`].
    ///
    /// # Panics
    /// If `connections` is zero.
    pub fn open_gathering(
        library: L,
        connections: usize,
        store: &str,
        gathering: Gathering,
    ) -> Result<Box<RecordsClient<L>>, OpenError> {
        let pool = Pool::open(library, connections, store)?;
        let gatherer = Gatherer::new(gathering);
        Ok(Box::new(RecordsClient { pool, beginning: HashSet::new(), gatherer, turns: None }))
    }

    /// Gives each request that stands alone, and each transaction, to the next host instead of
    /// keeping a session at one. What is gathered is not given so.
    pub fn in_turn(self) -> RecordsClient<L> {
        RecordsClient { turns: Some(0), ..self }
    }

    /// The host that a request of this session goes to, unless its transaction is elsewhere.
    fn host(&mut self, session: u32) -> usize {
        let hosts = self.pool.library().hosts();
        match &mut self.turns {
            Some(turns) => {
                *turns += 1;
                *turns % hosts
            }
            None => session as usize % hosts,
        }
    }

    /// The completion of a transaction that has sent nothing, or that is none.
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
        match self.gatherer.is_on() {
            true => self.gatherer.is_ready(&self.pool),
            false => self.pool.is_ready(),
        }
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
        // What has a connection already, or can have none, needs not wait.
        if self.gatherer.is_on() && !is_held && !self.pool.is_down() {
            return self.gatherer.take_in(ticket, request, context, &mut self.pool);
        }
        let host = self.host(request.session);
        self.pool.submit_to(host, ticket, request.session, answers, |job| {
            job.request.fill(request);
            job.context = context;
        });
    }

    fn begin(&mut self, session: u32) {
        // An open transaction of the session will never be ended.
        self.pool.abort(session);
        self.beginning.insert(session);
    }

    fn abort(&mut self, session: u32) {
        self.beginning.remove(&session);
        self.pool.abort(session);
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        if !self.gatherer.is_on() {
            return self.pool.poll(now, answers);
        }
        self.gatherer.send_off(&mut self.pool);
        self.pool.poll_each(now, |answered| self.gatherer.deliver(answered, answers));
        let is_off = self.gatherer.send_off(&mut self.pool);
        if !is_off && self.pool.is_down() {
            self.gatherer.refuse(answers);
        }
    }

    fn wait(&mut self, timeout: Duration) {
        let is_off = self.gatherer.send_off(&mut self.pool);
        // The next poll refuses what there is no connection for.
        if is_off || !self.pool.is_down() {
            self.pool.wait(timeout);
        }
    }

    fn abandon(&mut self, ticket: Ticket) {
        if let Some(ticket) = self.gatherer.abandon(ticket) {
            self.pool.abandon(ticket);
        }
    }
}
