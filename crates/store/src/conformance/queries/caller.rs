//! A conversation in queries with a store: owned arguments, owned rows.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::time::Duration;

use assay_model::{Datum, Nanos, Parameters, Reason};

use crate::answer::{Answer, Answers};
use crate::conformance::Broken;
use crate::request::{Call, Step, Ticket};
use crate::seam::{Client, OpenError, Store};

/// How often an answer is waited for before it is given up: about ten seconds in all.
const TIMEOUT_ROUNDS: u32 = 2_000;
const TIMEOUT: Duration = Duration::from_millis(5);

/// An answer that owns its rows, each value as SQL writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryAnswer {
    /// The store answered.
    Done {
        /// Whether anything was there.
        found: bool,
        /// The rows; numbers without zeros at their ends.
        rows: Vec<Vec<String>>,
    },
    /// It certainly did not happen.
    Refused(Reason),
    /// It is unknown whether it happened.
    Unknown(Reason),
    /// No answer came at all, which no store may do.
    Silence,
}

impl QueryAnswer {
    /// A change that went through.
    pub const WRITTEN: QueryAnswer = QueryAnswer::Done { found: true, rows: Vec::new() };
    /// Nothing was there.
    pub const MISSING: QueryAnswer = QueryAnswer::Done { found: false, rows: Vec::new() };

    /// These rows, values separated by blanks.
    pub fn rows(rows: &[&str]) -> QueryAnswer {
        let row = |row: &&str| row.split(' ').map(str::to_owned).collect();
        QueryAnswer::Done { found: !rows.is_empty(), rows: rows.iter().map(row).collect() }
    }

    /// Whether the store answered.
    pub fn is_done(&self) -> bool {
        matches!(self, QueryAnswer::Done { .. })
    }

    fn of(answer: Answer<'_>) -> QueryAnswer {
        let reply = match answer {
            Answer::Done(reply) => reply,
            Answer::Refused(reason) => return QueryAnswer::Refused(reason),
            Answer::Unknown(reason) => return QueryAnswer::Unknown(reason),
        };
        let mut rows = vec![Vec::new(); reply.rows.count() as usize];
        reply.rows.each(|field| {
            let datum = Datum::decode(field.value).filter(|(_, rest)| rest.is_empty());
            rows[field.row as usize].push(match datum {
                Some((datum, _)) => display(datum),
                None => format!("garbled {:?}", field.value),
            });
        });
        QueryAnswer::Done { found: reply.found, rows }
    }
}

/// Numbers that are equal look equal, whatever their scale.
fn display(datum: Datum<'_>) -> String {
    let text = datum.to_string();
    match datum {
        Datum::Decimal(_) if text.contains('.') => {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => text,
    }
}

impl fmt::Display for QueryAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueryAnswer::Done { found, rows } => {
                let rows: Vec<String> = rows.iter().map(|row| row.join(" ")).collect();
                write!(f, "done, found = {found}, [{}]", rows.join("; "))
            }
            QueryAnswer::Refused(reason) => write!(f, "refused ({})", reason.name()),
            QueryAnswer::Unknown(reason) => write!(f, "unknown ({})", reason.name()),
            QueryAnswer::Silence => write!(f, "no answer"),
        }
    }
}

/// One client that executes queries, with its own clock.
pub struct Caller {
    client: Box<dyn Client>,
    now: Nanos,
    next: u64,
    inbox: Inbox,
    /// The sessions whose transaction is open: they need not wait for a connection.
    within: HashSet<u32>,
}

#[derive(Default)]
struct Inbox(VecDeque<(Ticket, QueryAnswer)>);

impl Answers for Inbox {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        self.0.push_back((ticket, QueryAnswer::of(answer)));
    }
}

impl Caller {
    /// Opens a client of `store` as worker `worker`.
    ///
    /// # Errors
    /// If the store cannot be opened.
    pub fn open(store: &dyn Store, worker: usize) -> Result<Caller, OpenError> {
        let client = store.open(worker)?;
        let within = HashSet::new();
        Ok(Caller { client, now: Nanos::ZERO, next: 0, inbox: Inbox::default(), within })
    }

    /// Executes a query that is a transaction by itself, or goes on in one.
    pub fn send(&mut self, session: u32, query: u16, arguments: &[Datum<'_>]) -> QueryAnswer {
        let ticket = self.start(session, query, arguments);
        self.await_answer(session, ticket)
    }

    /// Executes a query that opens a transaction.
    pub fn begin(&mut self, session: u32, query: u16, arguments: &[Datum<'_>]) -> QueryAnswer {
        let ticket = self.start_first(session, query, arguments);
        self.await_answer(session, ticket)
    }

    /// Ends the transaction of `session`.
    pub fn end(&mut self, session: u32, step: Step) -> QueryAnswer {
        let ticket = self.start_end(session, step);
        self.await_answer(session, ticket)
    }

    /// Starts a query without waiting for its answer.
    pub fn start(&mut self, session: u32, query: u16, arguments: &[Datum<'_>]) -> Option<Ticket> {
        self.submit(session, Step::Query(query), false, arguments)
    }

    /// Starts a query that opens a transaction.
    pub fn start_first(
        &mut self,
        session: u32,
        query: u16,
        arguments: &[Datum<'_>],
    ) -> Option<Ticket> {
        let ticket = self.submit(session, Step::Query(query), true, arguments);
        self.within.insert(session);
        ticket
    }

    /// Starts the end of a transaction.
    pub fn start_end(&mut self, session: u32, step: Step) -> Option<Ticket> {
        let ticket = self.submit(session, step, false, &[]);
        self.within.remove(&session);
        ticket
    }

    fn submit(
        &mut self,
        session: u32,
        step: Step,
        begins: bool,
        arguments: &[Datum<'_>],
    ) -> Option<Ticket> {
        if !self.within.contains(&session) && !self.wait_until(|caller| caller.client.is_ready()) {
            return None;
        }
        let mut encoded = Vec::new();
        arguments.iter().for_each(|datum| datum.encode(&mut encoded));
        self.next += 1;
        let ticket = Ticket(self.next);
        let call = Call { session, step, begins, parameters: Parameters::new(&encoded) };
        self.client.call(self.now, ticket, &call, &mut self.inbox);
        // The borrowed data ends here: a client that kept a pointer instead of a copy would be
        // detected.
        encoded.fill(0xEE);
        Some(ticket)
    }

    fn await_answer(&mut self, session: u32, ticket: Option<Ticket>) -> QueryAnswer {
        let Some(ticket) = ticket else { return QueryAnswer::Silence };
        while let Some((answered, received)) = self.take() {
            if answered == ticket {
                if !received.is_done() {
                    // A step that fails ends its transaction.
                    self.within.remove(&session);
                }
                return received;
            }
        }
        QueryAnswer::Silence
    }

    /// The next answer, waited for; `None` if none comes.
    pub fn take(&mut self) -> Option<(Ticket, QueryAnswer)> {
        self.wait_until(|caller| !caller.inbox.0.is_empty());
        self.inbox.0.pop_front()
    }

    /// The process of `session` ends without ending its transaction.
    pub fn abort(&mut self, session: u32) {
        self.within.remove(&session);
        self.client.abort(session);
    }

    /// `ticket` of `session` is abandoned, which ends its transaction.
    pub fn abandon(&mut self, session: u32, ticket: Ticket) {
        self.within.remove(&session);
        self.client.abandon(ticket);
    }

    /// Moves on for about `rounds` times five milliseconds.
    pub fn pass(&mut self, rounds: u32) {
        for _ in 0..rounds {
            self.client.poll(self.now, &mut self.inbox);
            self.client.wait(TIMEOUT);
            self.now = self.now.saturating_add(TIMEOUT.into());
        }
    }

    /// Sends, and compares the response.
    pub(super) fn expect(
        &mut self,
        query: u16,
        arguments: &[Datum<'_>],
        expected: QueryAnswer,
    ) -> Result<(), Broken> {
        self.expect_in(0, query, arguments, expected)
    }

    /// Sends in a session, and compares the response.
    pub(super) fn expect_in(
        &mut self,
        session: u32,
        query: u16,
        arguments: &[Datum<'_>],
        expected: QueryAnswer,
    ) -> Result<(), Broken> {
        let received = self.send(session, query, arguments);
        same(query, received, expected)
    }

    /// Polls and waits until `done`; simulated time jumps to the next due response.
    fn wait_until(&mut self, done: impl Fn(&Caller) -> bool) -> bool {
        for _ in 0..TIMEOUT_ROUNDS {
            if done(self) {
                return true;
            }
            self.client.poll(self.now, &mut self.inbox);
            if done(self) {
                return true;
            }
            match self.client.due() {
                Some(due) => self.now = self.now.max(due),
                None => {
                    self.client.wait(TIMEOUT);
                    self.now = self.now.saturating_add(TIMEOUT.into());
                }
            }
        }
        false
    }
}

/// Complains unless both are the same.
pub(super) fn same(query: u16, received: QueryAnswer, expected: QueryAnswer) -> Result<(), Broken> {
    if received == expected {
        return Ok(());
    }
    let catalogue = super::catalogue();
    let text = &catalogue.query(query).text;
    Err(Broken::by(format!("{text} gave {received} instead of {expected}")))
}
