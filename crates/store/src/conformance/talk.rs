//! A conversation with a store, one owned question, one owned answer at a time.
//!
//! For tests: it copies everything, and it waits.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use assay_model::{Fields, Kind, Nanos, Reason};

use crate::answer::{Answer, Answers};
use crate::request::{Request, Ticket, Values};
use crate::seam::{Client, OpenError, Store};

/// How often an answer is waited for before it is given up: about ten seconds in all.
const TIMEOUT_ROUNDS: u32 = 2_000;
const TIMEOUT: Duration = Duration::from_millis(5);

/// A question that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRequest {
    /// The conversation it belongs to.
    pub session: u32,
    /// The request.
    pub kind: Kind,
    /// Number of the table.
    pub table: u16,
    /// The record's key.
    pub key: Vec<u8>,
    /// The fields to return.
    pub fields: Fields,
    /// The most records to return.
    pub limit: u32,
    /// Where a scan may stop; empty for no end.
    pub end: Vec<u8>,
    /// Whether a scan is to return keys instead of fields.
    pub wants_keys: bool,
    /// The values to write.
    pub values: Vec<(u16, Vec<u8>)>,
}

impl TestRequest {
    fn plain(kind: Kind, key: impl AsRef<[u8]>) -> TestRequest {
        let key = key.as_ref().to_vec();
        TestRequest {
            session: 0,
            kind,
            table: 0,
            key,
            fields: Fields::All,
            limit: 1,
            end: Vec::new(),
            wants_keys: false,
            values: Vec::new(),
        }
    }

    /// Reads all fields.
    pub fn read(key: impl AsRef<[u8]>) -> TestRequest {
        TestRequest::plain(Kind::Read, key)
    }

    /// Writes a record whose fields 0, 1, … have these values.
    pub fn insert(key: impl AsRef<[u8]>, values: &[&[u8]]) -> TestRequest {
        let values = (0..).zip(values.iter().map(|value| value.to_vec())).collect();
        TestRequest { values, ..TestRequest::plain(Kind::Insert, key) }
    }

    /// Changes these fields.
    pub fn update(key: impl AsRef<[u8]>, values: &[(u16, &[u8])]) -> TestRequest {
        let values = values.iter().map(|(field, value)| (*field, value.to_vec())).collect();
        TestRequest { values, ..TestRequest::plain(Kind::Update, key) }
    }

    /// Reads up to `limit` records from `key` on.
    pub fn scan(key: impl AsRef<[u8]>, limit: u32) -> TestRequest {
        TestRequest { limit, ..TestRequest::plain(Kind::Scan, key) }
    }

    /// Removes a record.
    pub fn delete(key: impl AsRef<[u8]>) -> TestRequest {
        TestRequest::plain(Kind::Delete, key)
    }

    /// Makes final what the transaction of its conversation did.
    pub fn commit() -> TestRequest {
        TestRequest::plain(Kind::Commit, "")
    }

    /// Undoes what the transaction of its conversation did.
    pub fn rollback() -> TestRequest {
        TestRequest::plain(Kind::Rollback, "")
    }

    /// The same question in another conversation.
    pub fn in_session(self, session: u32) -> TestRequest {
        TestRequest { session, ..self }
    }
}

impl fmt::Display for TestRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.kind.name(), Short(&self.key))?;
        if self.kind == Kind::Scan {
            write!(f, " limit {}", self.limit)?;
        }
        for (field, value) in &self.values {
            write!(f, " {field}={}", Short(value))?;
        }
        Ok(())
    }
}

/// A record: its fields by name.
pub type Fieldset = BTreeMap<Vec<u8>, Vec<u8>>;

/// An answer that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Got {
    /// The store answered.
    Done {
        /// Whether the record was there.
        found: bool,
        /// The records, in the order returned.
        rows: Vec<Fieldset>,
    },
    /// It certainly did not happen.
    Refused(Reason),
    /// It is unknown whether it happened.
    Unknown(Reason),
    /// No answer came at all, which no store may do.
    Silence,
}

impl Got {
    /// A write that went through.
    pub const WRITTEN: Got = Got::Done { found: true, rows: Vec::new() };
    /// A record that is not there.
    pub const MISSING: Got = Got::Done { found: false, rows: Vec::new() };

    /// One record with these fields.
    pub fn row(fields: &[(&str, &[u8])]) -> Got {
        let own = |(name, value): &(&str, &[u8])| (name.as_bytes().to_vec(), value.to_vec());
        Got::Done { found: true, rows: vec![fields.iter().map(own).collect()] }
    }

    fn of(answer: Answer<'_>) -> Got {
        let reply = match answer {
            Answer::Done(reply) => reply,
            Answer::Refused(reason) => return Got::Refused(reason),
            Answer::Unknown(reason) => return Got::Unknown(reason),
        };
        let mut rows = vec![Fieldset::new(); reply.rows.count() as usize];
        reply.rows.each(|field| {
            rows[field.row as usize].insert(field.name.to_vec(), field.value.to_vec());
        });
        Got::Done { found: reply.found, rows }
    }
}

impl fmt::Display for Got {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, rows) = match self {
            Got::Done { found, rows } => (found, rows),
            Got::Refused(reason) => return write!(f, "refused ({})", reason.name()),
            Got::Unknown(reason) => return write!(f, "unknown ({})", reason.name()),
            Got::Silence => return write!(f, "no answer"),
        };
        write!(f, "done, found = {found}, {} rows", rows.len())?;
        for row in rows.iter().take(3) {
            let separator = if row.is_empty() { " empty" } else { "" };
            write!(f, " [{separator}")?;
            for (name, value) in row {
                write!(f, " {}={}", Short(name), Short(value))?;
            }
            write!(f, " ]")?;
        }
        Ok(())
    }
}

/// Bytes as text a reader can bear.
struct Short<'a>(&'a [u8]);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let displayed = &self.0[..self.0.len().min(24)];
        write!(f, "\"{}\"", displayed.escape_ascii())?;
        if displayed.len() < self.0.len() {
            write!(f, "… ({} bytes)", self.0.len())
        } else {
            Ok(())
        }
    }
}

/// One client, with its own idea of now.
pub struct TestSession {
    client: Box<dyn Client>,
    now: Nanos,
    next: u64,
    inbox: Inbox,
    /// Sessions whose next request opens a transaction.
    beginning: HashSet<u32>,
    /// Sessions whose transaction has sent a request: they need not wait for a connection.
    within: HashSet<u32>,
}

/// Answers, and the version that was told last, 0 if none was.
#[derive(Default)]
struct Inbox(VecDeque<(Ticket, Got)>, u64);

impl Answers for Inbox {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        self.0.push_back((ticket, Got::of(answer)));
    }

    fn version(&mut self, _ticket: Ticket, version: u64) {
        self.1 = version;
    }
}

impl TestSession {
    /// Opens a client of `store` as worker `worker`.
    ///
    /// # Errors
    /// If the store cannot be opened.
    pub fn open(store: &dyn Store, worker: usize) -> Result<TestSession, OpenError> {
        let client = store.open(worker)?;
        let inbox = Inbox::default();
        let (beginning, within) = (HashSet::new(), HashSet::new());
        Ok(TestSession { client, now: Nanos::ZERO, next: 0, inbox, beginning, within })
    }

    /// The next request of `session` opens a transaction.
    pub fn begin(&mut self, session: u32) {
        self.client.begin(session);
        self.within.remove(&session);
        self.beginning.insert(session);
    }

    /// Undoes what `session` has open.
    pub fn abort(&mut self, session: u32) {
        self.client.abort(session);
        self.within.remove(&session);
        self.beginning.remove(&session);
    }

    /// Sends and waits for the response; responses to other tickets are dropped.
    pub fn send(&mut self, test_request: &TestRequest) -> Got {
        let Some(ticket) = self.start(test_request) else { return Got::Silence };
        while let Some((answered, got)) = self.take() {
            if answered == ticket {
                if !matches!(got, Got::Done { .. }) {
                    // A request that fails ends its transaction.
                    self.within.remove(&test_request.session);
                }
                return got;
            }
        }
        Got::Silence
    }

    /// Starts `test_request` as soon as the client is ready, or at once within a transaction;
    /// `None` if it never is.
    pub fn start(&mut self, test_request: &TestRequest) -> Option<Ticket> {
        let is_within = self.within.contains(&test_request.session);
        if !is_within && !self.wait_until(|talk| talk.client.is_ready()) {
            return None;
        }
        let begins = self.beginning.remove(&test_request.session);
        match test_request.kind.ends_transaction() {
            true => drop(self.within.remove(&test_request.session)),
            false if begins => drop(self.within.insert(test_request.session)),
            false => {}
        }
        let mut bytes = Vec::new();
        let mut spans: Vec<(u16, Range<u32>)> = Vec::new();
        for (field, value) in &test_request.values {
            let begin = bytes.len() as u32;
            bytes.extend_from_slice(value);
            spans.push((*field, begin..bytes.len() as u32));
        }
        let request = Request {
            session: test_request.session,
            kind: test_request.kind,
            table: test_request.table,
            key: &test_request.key,
            fields: test_request.fields,
            limit: test_request.limit,
            end: &test_request.end,
            wants_keys: test_request.wants_keys,
            values: Values::new(&spans, &bytes),
        };
        self.next += 1;
        let ticket = Ticket(self.next);
        self.client.start(self.now, ticket, &request, &mut self.inbox);
        // The borrowed data ends here: a client that kept a pointer instead of a copy would be
        // detected.
        bytes.fill(0xEE);
        Some(ticket)
    }

    /// The next answer, waited for; `None` if none comes.
    pub fn take(&mut self) -> Option<(Ticket, Got)> {
        self.wait_until(|talk| !talk.inbox.0.is_empty());
        self.inbox.0.pop_front()
    }

    /// The version of a record that was told since this was asked last; 0 if none was.
    pub fn take_told(&mut self) -> u64 {
        std::mem::take(&mut self.inbox.1)
    }

    /// Moves on once, without waiting, and tells how many answers lie here untaken.
    pub fn poll(&mut self) -> usize {
        self.client.poll(self.now, &mut self.inbox);
        self.inbox.0.len()
    }

    /// Tells the client that `ticket` is abandoned.
    pub fn abandon(&mut self, ticket: Ticket) {
        self.client.abandon(ticket);
    }

    /// Lets the client wait for `timeout`.
    pub fn wait(&mut self, timeout: Duration) {
        self.client.wait(timeout);
    }

    /// Polls and waits until `done`; simulated time jumps to the next due response.
    fn wait_until(&mut self, done: impl Fn(&TestSession) -> bool) -> bool {
        for _ in 0..TIMEOUT_ROUNDS {
            if done(self) {
                return true;
            }
            self.poll();
            if done(self) {
                return true;
            }
            match self.client.due() {
                Some(due) => self.now = self.now.max(due),
                None => self.client.wait(TIMEOUT),
            }
        }
        false
    }
}
