//! A client with a real clock, for what depends on time passing.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use assay_model::{Fields, Kind, Layout, Nanos, Reason, Table};
use assay_store::{Answer, Answers, Client, OpenError, Request, Store, Ticket, Values};

/// How long an answer may take before the test fails.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestResult {
    /// Found or not, with each row as `name=value` in alphabetical order.
    Done(bool, Vec<String>),
    Refused(Reason),
    Unknown(Reason),
}

impl RequestResult {
    pub const WRITTEN: RequestResult = RequestResult::Done(true, Vec::new());
    pub const MISSING: RequestResult = RequestResult::Done(false, Vec::new());

    pub fn row(row: &str) -> RequestResult {
        RequestResult::Done(true, vec![row.to_owned()])
    }
}

#[derive(Default)]
struct Inbox(Vec<(Ticket, RequestResult)>, BTreeMap<u64, u16>);

impl Answers for Inbox {
    fn requests(&mut self, ticket: Ticket, count: u16) {
        self.1.insert(ticket.0, count);
    }

    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        let result = match answer {
            Answer::Refused(reason) => RequestResult::Refused(reason),
            Answer::Unknown(reason) => RequestResult::Unknown(reason),
            Answer::Done(reply) => {
                let mut rows = vec![BTreeMap::new(); reply.rows.count() as usize];
                reply.rows.each(|field| {
                    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                    rows[field.row as usize].insert(text(field.name), text(field.value));
                });
                let line = |row: BTreeMap<String, String>| {
                    let words: Vec<String> =
                        row.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
                    words.join(" ")
                };
                RequestResult::Done(reply.found, rows.into_iter().map(line).collect())
            }
        };
        self.0.push((ticket, result));
    }
}

/// One table `usertable` with fields `field0` to `field<count - 1>`.
pub fn layout(count: usize) -> Layout {
    let fields = (0..count).map(|number| format!("field{number}")).collect();
    Layout {
        tables: vec![Table { name: "usertable".into(), fields, needs_key_order: false }],
        records: 1000,
    }
}

/// A request that borrows only its key; values are `field0`, `field1`, ….
pub struct TestRequest<'a> {
    pub kind: Kind,
    pub key: &'a str,
    pub fields: Fields,
    pub limit: u32,
    pub values: &'a [&'a str],
    pub session: u32,
}

pub fn read(key: &str) -> TestRequest<'_> {
    let fields = Fields::All;
    TestRequest { kind: Kind::Read, key, fields, limit: 1, values: &[], session: 0 }
}

pub fn insert<'a>(key: &'a str, values: &'a [&'a str]) -> TestRequest<'a> {
    TestRequest { kind: Kind::Insert, values, ..read(key) }
}

pub fn update<'a>(key: &'a str, values: &'a [&'a str]) -> TestRequest<'a> {
    TestRequest { kind: Kind::Update, values, ..read(key) }
}

pub fn delete(key: &str) -> TestRequest<'_> {
    TestRequest { kind: Kind::Delete, ..read(key) }
}

pub fn scan(key: &str, limit: u32) -> TestRequest<'_> {
    TestRequest { kind: Kind::Scan, limit, ..read(key) }
}

/// Makes final what the transaction of its session did.
pub fn commit() -> TestRequest<'static> {
    TestRequest { kind: Kind::Commit, ..read("") }
}

impl TestRequest<'_> {
    /// The same question in this session.
    pub fn of(self, session: u32) -> Self {
        TestRequest { session, ..self }
    }
}

/// A client of a store.
pub struct TestClient {
    /// The URL of the store, if failures shall name it.
    pub name: String,
    client: Box<dyn Client>,
    epoch: Instant,
    next: u64,
    inbox: Inbox,
}

impl TestClient {
    /// Prepares `store` for records of two fields, then opens a client.
    pub fn open(store: &dyn Store) -> Result<TestClient, OpenError> {
        TestClient::open_wide(store, 2)
    }

    /// The same for records of `fields` fields.
    pub fn open_wide(store: &dyn Store, fields: usize) -> Result<TestClient, OpenError> {
        TestClient::open_laid(store, &layout(fields))
    }

    /// The same for records of a layout.
    pub fn open_laid(store: &dyn Store, layout: &Layout) -> Result<TestClient, OpenError> {
        store.prepare(layout)?;
        let client = store.open(0)?;
        let (name, inbox) = (String::new(), Inbox::default());
        Ok(TestClient { name, client, epoch: Instant::now(), next: 0, inbox })
    }

    /// The same, whose failures name this URL.
    pub fn named(self, url: &str) -> TestClient {
        TestClient { name: url.to_owned(), ..self }
    }

    pub fn is_ready(&self) -> bool {
        self.client.is_ready()
    }

    pub fn start(&mut self, question: &TestRequest<'_>) -> Ticket {
        let mut bytes = Vec::new();
        let mut spans: Vec<(u16, Range<u32>)> = Vec::new();
        for (field, value) in (0..).zip(question.values) {
            let begin = bytes.len() as u32;
            bytes.extend_from_slice(value.as_bytes());
            spans.push((field, begin..bytes.len() as u32));
        }
        let request = Request {
            session: question.session,
            fields: question.fields,
            limit: question.limit,
            values: Values::new(&spans, &bytes),
            ..Request::new(question.kind, question.key.as_bytes())
        };
        self.start_request(&request)
    }

    /// Starts an update of one field.
    pub fn start_changing(&mut self, session: u32, key: &str, field: u16, value: &str) -> Ticket {
        let spans = [(field, 0..value.len() as u32)];
        let values = Values::new(&spans, value.as_bytes());
        let request = Request::new(Kind::Update, key.as_bytes());
        self.start_request(&Request { session, fields: Fields::All, values, ..request })
    }

    fn start_request(&mut self, request: &Request<'_>) -> Ticket {
        self.next += 1;
        let ticket = Ticket(self.next);
        let now = self.now();
        self.client.start(now, ticket, request, &mut self.inbox);
        ticket
    }

    /// How many requests an answered ticket took.
    pub fn requests_of(&self, ticket: Ticket) -> u16 {
        self.inbox.1.get(&ticket.0).copied().unwrap_or(1)
    }

    /// How many requests the last ticket took.
    pub fn last_requests(&self) -> u16 {
        self.requests_of(Ticket(self.next))
    }

    pub fn poll(&mut self) {
        let now = self.now();
        self.client.poll(now, &mut self.inbox);
    }

    /// The next requests of `session` are one transaction.
    pub fn begin(&mut self, session: u32) {
        self.client.begin(session);
    }

    /// `session` goes without ending its transaction.
    pub fn abort(&mut self, session: u32) {
        self.client.abort(session);
    }

    /// Ends the transaction of `session`, by a commit or a rollback.
    pub fn end(&mut self, session: u32, kind: Kind) -> RequestResult {
        self.send(&TestRequest { kind, ..read("") }.of(session))
    }

    /// The answer to `ticket`, waited for; others that come meanwhile are kept.
    #[track_caller]
    pub fn take_of(&mut self, ticket: Ticket) -> RequestResult {
        let start = Instant::now();
        loop {
            if let Some(at) = self.inbox.0.iter().position(|(answered, _)| *answered == ticket) {
                return self.inbox.0.remove(at).1;
            }
            assert!(start.elapsed() < TIMEOUT, "no answer came to {ticket:?}");
            self.client.wait(Duration::from_millis(50));
            self.poll();
        }
    }

    pub fn abandon(&mut self, ticket: Ticket) {
        self.client.abandon(ticket);
    }

    /// The answers that came, after moving on for `time`.
    pub fn drain_for(&mut self, time: Duration) -> Vec<(Ticket, RequestResult)> {
        let start = Instant::now();
        while start.elapsed() < time {
            self.poll();
            self.client.wait(Duration::from_millis(5));
        }
        std::mem::take(&mut self.inbox.0)
    }

    /// The next `count` answers, waited for.
    #[track_caller]
    pub fn take(&mut self, count: usize) -> Vec<(Ticket, RequestResult)> {
        let start = Instant::now();
        while self.inbox.0.len() < count {
            let came = self.inbox.0.len();
            assert!(start.elapsed() < TIMEOUT, "only {came} of {count} answers came");
            self.poll();
            if self.inbox.0.len() < count {
                self.client.wait(Duration::from_millis(50));
            }
        }
        self.inbox.0.drain(..count).collect()
    }

    /// Sends and waits for the response.
    #[track_caller]
    pub fn send(&mut self, question: &TestRequest<'_>) -> RequestResult {
        let ticket = self.start(question);
        let (answered, result) = self.take(1).remove(0);
        assert_eq!(answered, ticket, "nothing else is in flight");
        result
    }

    /// Sends; the response is `expected`.
    #[track_caller]
    pub fn expect(&mut self, question: &TestRequest<'_>, expected: impl Borrow<RequestResult>) {
        let result = self.send(question);
        let (kind, key, session) = (question.kind, question.key, question.session);
        let name = &self.name;
        assert_eq!(result, *expected.borrow(), "{name}: {kind:?} {key:?} of session {session}");
    }

    /// Sends again and again until the response is `expected`.
    #[track_caller]
    pub fn send_until(&mut self, question: &TestRequest<'_>, expected: &RequestResult) {
        let start = Instant::now();
        loop {
            let result = self.send(question);
            if result == *expected {
                return;
            }
            assert!(start.elapsed() < TIMEOUT, "still {result:?} instead of {expected:?}");
            self.drain_for(Duration::from_millis(5));
        }
    }

    fn now(&self) -> Nanos {
        self.epoch.elapsed().into()
    }
}
