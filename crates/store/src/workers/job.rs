//! A request that owns its bytes, with room for its answer.

use std::ops::Range;

use assay_model::{Fields, Kind, Nanos, Reason};

use crate::answer::{Answer, Answers, Reply, Rows};
use crate::request::{Request, Ticket, Values};
use crate::row;
use crate::seam::Client;

/// Used again and again: its buffers grow to the largest request and answer, then stay.
pub(super) struct Job {
    now: Nanos,
    ticket: Ticket,
    session: u32,
    kind: Kind,
    table: u16,
    fields: Fields,
    limit: u32,
    key: Vec<u8>,
    spans: Vec<(u16, Range<u32>)>,
    bytes: Vec<u8>,
    end: End,
    rows: Vec<u8>,
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
            kind: Kind::Read,
            table: 0,
            fields: Fields::All,
            limit: 0,
            key: Vec::new(),
            spans: Vec::new(),
            bytes: Vec::new(),
            end: End::Unknown(Reason::StoreError),
            rows: Vec::new(),
        }
    }
}

impl Job {
    /// Copies `request`. Until it is answered, what became of it is unknown.
    pub(super) fn fill(&mut self, now: Nanos, ticket: Ticket, request: &Request<'_>) {
        self.now = now;
        self.ticket = ticket;
        self.session = request.session;
        self.kind = request.kind;
        self.table = request.table;
        self.fields = request.fields;
        self.limit = request.limit;
        self.key.clear();
        self.key.extend_from_slice(request.key);
        self.spans.clear();
        self.bytes.clear();
        for (field, value) in request.values.iter() {
            let begin = self.bytes.len() as u32;
            self.bytes.extend_from_slice(value);
            self.spans.push((field, begin..self.bytes.len() as u32));
        }
        self.end = End::Unknown(Reason::StoreError);
        self.rows.clear();
    }

    pub(super) fn ticket(&self) -> Ticket {
        self.ticket
    }

    pub(super) fn session(&self) -> u32 {
        self.session
    }

    /// Has `client` answer it, here and now.
    pub(super) fn run(&mut self, client: &mut dyn Client) {
        let request = Request {
            session: self.session,
            kind: self.kind,
            table: self.table,
            key: &self.key,
            fields: self.fields,
            limit: self.limit,
            values: Values::new(&self.spans, &self.bytes),
        };
        let mut keep = Keep { end: &mut self.end, rows: &mut self.rows };
        client.start(self.now, self.ticket, &request, &mut keep);
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
}
