//! A request that owns its bytes, with room for its answer.

use assay_model::{Nanos, Parameters, Reason};

use crate::answer::{Answer, Answers, Reply, Rows};
use crate::request::{Call, OwnedRequest, Request, Step, Ticket};
use crate::row;
use crate::seam::Client;

/// Used again and again: its buffers grow to the largest request and answer, then stay.
pub(super) struct Job {
    now: Nanos,
    ticket: Ticket,
    session: u32,
    job_kind: JobKind,
    request: OwnedRequest,
    /// The arguments of a query.
    arguments: Vec<u8>,
    end: End,
    rows: Vec<u8>,
    /// How many requests it took, if the client says so.
    requests: Option<u16>,
}

/// What is to be done for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobKind {
    /// An operation on records.
    Request,
    /// A query is executed, or a transaction ended.
    Call {
        step: Step,
        /// Whether it opens a transaction.
        begins: bool,
    },
    /// Its transaction is rolled back; no completion is needed.
    Abort,
}

/// How the request ended, without the rows.
#[derive(Clone, Copy)]
enum End {
    Done { found: bool },
    Refused(Reason),
    Unknown(Reason),
}

impl Default for Job {
    fn default() -> Job {
        Job {
            now: Nanos::ZERO,
            ticket: Ticket(0),
            session: 0,
            job_kind: JobKind::Request,
            request: OwnedRequest::default(),
            arguments: Vec::new(),
            end: End::Unknown(Reason::StoreError),
            rows: Vec::new(),
            requests: None,
        }
    }
}

impl Job {
    /// Copies `request`. Until it is answered, what became of it is unknown.
    pub(super) fn fill(&mut self, now: Nanos, ticket: Ticket, request: &Request<'_>) {
        self.begin(now, ticket, request.session, JobKind::Request);
        self.request.fill(request);
    }

    /// Copies `call`. Until it is answered, what became of it is unknown.
    pub(super) fn fill_call(&mut self, now: Nanos, ticket: Ticket, call: &Call<'_>) {
        let job_kind = JobKind::Call { step: call.step, begins: call.begins };
        self.begin(now, ticket, call.session, job_kind);
        self.arguments.extend_from_slice(call.parameters.encoded());
    }

    /// Makes it the end of what `session` left behind.
    pub(super) fn fill_leave(&mut self, session: u32) {
        self.begin(Nanos::ZERO, Ticket(0), session, JobKind::Abort);
    }

    fn begin(&mut self, now: Nanos, ticket: Ticket, session: u32, job_kind: JobKind) {
        self.now = now;
        self.ticket = ticket;
        self.session = session;
        self.job_kind = job_kind;
        self.arguments.clear();
        self.rows.clear();
        self.requests = None;
        self.end = End::Unknown(Reason::StoreError);
    }

    pub(super) fn job_kind(&self) -> JobKind {
        self.job_kind
    }

    /// How many requests it took, if that is known.
    pub(super) fn requests(&self) -> Option<u16> {
        self.requests
    }

    /// Whether no transaction of its session is open any more, now that it has come back.
    pub(super) fn ends_transaction(&self) -> bool {
        match self.job_kind {
            JobKind::Request | JobKind::Abort => false,
            JobKind::Call { step: Step::Commit | Step::Rollback, .. } => true,
            JobKind::Call { step: Step::Query(_), .. } => !matches!(self.end, End::Done { .. }),
        }
    }

    pub(super) fn ticket(&self) -> Ticket {
        self.ticket
    }

    pub(super) fn session(&self) -> u32 {
        self.session
    }

    /// Has `client` answer it, here and now.
    pub(super) fn run(&mut self, client: &mut dyn Client) {
        match self.job_kind {
            JobKind::Request => self.run_request(client),
            JobKind::Call { step, begins } => {
                let parameters = Parameters::new(&self.arguments);
                let call = Call { session: self.session, step, begins, parameters };
                let (end, rows) = (&mut self.end, &mut self.rows);
                let mut keep = Keep { end, rows, requests: &mut self.requests };
                client.call(self.now, self.ticket, &call, &mut keep);
            }
            JobKind::Abort => client.abort(self.session),
        }
    }

    fn run_request(&mut self, client: &mut dyn Client) {
        let (end, rows) = (&mut self.end, &mut self.rows);
        let mut keep = Keep { end, rows, requests: &mut self.requests };
        client.start(self.now, self.ticket, &self.request.request(), &mut keep);
    }

    /// Ends it as certainly not done.
    pub(super) fn refuse(&mut self, reason: Reason) {
        self.end = End::Refused(reason);
    }

    pub(super) fn answer(&self) -> Answer<'_> {
        match self.end {
            End::Done { found } => Answer::Done(Reply { found, rows: Rows::Encoded(&self.rows) }),
            End::Refused(reason) => Answer::Refused(reason),
            End::Unknown(reason) => Answer::Unknown(reason),
        }
    }
}

struct Keep<'a> {
    end: &'a mut End,
    rows: &'a mut Vec<u8>,
    requests: &'a mut Option<u16>,
}

impl Answers for Keep<'_> {
    fn answer(&mut self, _ticket: Ticket, answer: Answer<'_>) {
        *self.end = match answer {
            Answer::Refused(reason) => End::Refused(reason),
            Answer::Unknown(reason) => End::Unknown(reason),
            Answer::Done(reply) => {
                row::flatten(&reply.rows, self.rows);
                End::Done { found: reply.found }
            }
        };
    }

    fn requests(&mut self, _ticket: Ticket, count: u16) {
        *self.requests = Some(count);
    }
}
