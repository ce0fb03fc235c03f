//! Queries executed on the memory store through a physical schema.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use assay_model::{Catalogue, Datum, Nanos, Parameters, Reason};
use assay_store::memory::Memory;
use assay_store::{Answer, Answers, Call, Client, Existing, Step, Store, Ticket};

use super::*;
use crate::physical::Class;

mod transactions;

/// What a query answered, as text: rows in parentheses, requests counted.
#[derive(Default)]
struct Inbox {
    answers: VecDeque<(Ticket, String)>,
    requests: u16,
}

impl Answers for Inbox {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        let text = match answer {
            Answer::Refused(reason) => format!("refused: {}", reason.name()),
            Answer::Unknown(reason) => format!("unknown: {}", reason.name()),
            Answer::Done(reply) => {
                let mut rows: Vec<Vec<String>> = vec![Vec::new(); reply.rows.count() as usize];
                reply.rows.each(|field| {
                    let (datum, _) = Datum::decode(field.value).unwrap();
                    rows[field.row as usize].push(datum.to_string());
                });
                let rows: Vec<String> =
                    rows.iter().map(|row| format!("({})", row.join(", "))).collect();
                match (rows.is_empty(), reply.found) {
                    (false, _) => rows.join(" "),
                    (true, true) => "done".into(),
                    (true, false) => "nothing".into(),
                }
            }
        };
        self.answers.push_back((ticket, format!("{text} [{}]", self.requests)));
    }

    fn requests(&mut self, _ticket: Ticket, count: u16) {
        self.requests = count;
    }
}

/// A client that takes queries by name.
struct TestClient {
    catalogue: Arc<Catalogue>,
    client: Box<dyn Client>,
    tickets: u64,
}

impl TestClient {
    fn new(catalogue: &Arc<Catalogue>, store: &dyn Store) -> TestClient {
        let client = store.open(0).unwrap();
        TestClient { catalogue: Arc::clone(catalogue), client, tickets: 0 }
    }

    fn run(&mut self, name: &str, arguments: &[Datum<'_>]) -> String {
        let place = self.catalogue.queries.iter().position(|query| query.name == name).unwrap();
        let mut encoded = Vec::new();
        arguments.iter().for_each(|datum| datum.encode(&mut encoded));
        let call = Call {
            session: 0,
            step: Step::Query(place as u16 + 1),
            begins: false,
            parameters: Parameters::new(&encoded),
        };
        self.tickets += 1;
        let mut inbox = Inbox::default();
        self.client.call(Nanos::ZERO, Ticket(self.tickets), &call, &mut inbox);
        let (ticket, text) = inbox.answers.pop_front().expect("memory answers at once");
        assert_eq!((ticket, inbox.answers.len()), (Ticket(self.tickets), 0));
        text
    }
}

fn catalogue(ddl: &[&str], queries: &[&str]) -> Arc<Catalogue> {
    let named = |texts: &[&str]| -> Vec<assay_model::query::Named> {
        let named = texts.iter().map(|text| {
            let (name, text) = text.split_once(": ").unwrap();
            assay_model::query::Named { name: name.into(), text: text.into() }
        });
        named.collect()
    };
    Arc::new(assay_sql::catalogue(&named(ddl), &named(queries)).unwrap())
}

fn plain(catalogue: &Arc<Catalogue>) -> Mapped {
    let physical = Physical::plain(&catalogue.schema, Class::KeyValue);
    let mapped = Mapped::new(Arc::new(Memory::new()), physical);
    mapped.prepare_queries(catalogue, Existing::Refuse).unwrap();
    mapped
}

fn int(number: i64) -> Datum<'static> {
    Datum::Int(number)
}

const ACCOUNTS: &str = "account: CREATE TABLE account (branch INT NOT NULL, id INT NOT NULL, \
     owner VARCHAR(20), balance DECIMAL(12,2) NOT NULL, PRIMARY KEY (branch, id))";

fn accounts() -> Arc<Catalogue> {
    catalogue(
        &[ACCOUNTS],
        &[
            "open: INSERT INTO account (branch, id, owner, balance) VALUES (?, ?, ?, ?)",
            "get: SELECT owner, balance FROM account WHERE branch = ? AND id = ?",
            "rename: UPDATE account SET owner = ? WHERE branch = ? AND id = ?",
            "pay: UPDATE account SET balance = balance + ? WHERE branch = ? AND id = ?",
            "close: DELETE FROM account WHERE branch = ? AND id = ?",
            "of: SELECT id FROM account WHERE branch = ? ORDER BY id DESC LIMIT 2",
            "between: SELECT id FROM account WHERE branch = ? AND id > ? AND id <= ?",
            "owned: SELECT branch, id FROM account WHERE owner = ?",
            "void: UPDATE account SET balance = ? WHERE branch = ? AND id = ?",
        ],
    )
}

#[test]
fn rows_are_written_read_and_removed_by_their_keys() {
    let catalogue = accounts();
    let mut test_client = TestClient::new(&catalogue, &plain(&catalogue));
    let open = [int(1), int(7), Datum::Text("ann"), int(5)];
    assert_eq!(test_client.run("open", &open), "done [2]");
    assert_eq!(test_client.run("open", &open), "refused: exists [1]");
    assert_eq!(test_client.run("get", &[int(1), int(7)]), "('ann', 5.00) [1]");
    assert_eq!(test_client.run("rename", &[Datum::Text("bo"), int(1), int(7)]), "done [1]");
    let money = Datum::Decimal("1.255".parse().unwrap());
    assert_eq!(test_client.run("pay", &[money, int(1), int(7)]), "done [2]");
    assert_eq!(test_client.run("get", &[int(1), int(7)]), "('bo', 6.26) [1]");
    assert_eq!(test_client.run("pay", &[money, int(1), int(8)]), "nothing [1]");
    assert_eq!(test_client.run("rename", &[Datum::Null, int(1), int(8)]), "nothing [1]");
    assert_eq!(test_client.run("close", &[int(1), int(7)]), "done [1]");
    assert_eq!(test_client.run("close", &[int(1), int(7)]), "nothing [1]");
    assert_eq!(test_client.run("get", &[int(1), int(7)]), "nothing [1]");
}

#[test]
fn a_column_store_is_looked_at_before_it_is_written_by_key() {
    let catalogue = accounts();
    let physical = Physical::plain(&catalogue.schema, Class::Column);
    let mapped = Mapped::new(Arc::new(Memory::new()), physical);
    mapped.prepare_queries(&catalogue, Existing::Refuse).unwrap();
    let mut test_client = TestClient::new(&catalogue, &mapped);
    let open = [int(1), int(7), Datum::Text("ann"), int(5)];
    assert_eq!(test_client.run("open", &open), "done [2]");
    // The store would report a write whether the row is there or not.
    assert_eq!(test_client.run("rename", &[Datum::Text("bo"), int(1), int(7)]), "done [2]");
    assert_eq!(test_client.run("rename", &[Datum::Text("bo"), int(1), int(8)]), "nothing [1]");
    assert_eq!(test_client.run("close", &[int(1), int(8)]), "nothing [1]");
    assert_eq!(test_client.run("close", &[int(1), int(7)]), "done [2]");
}

#[test]
fn no_scan_starts_at_an_empty_key() {
    let catalogue = accounts();
    let physical = Physical::plain(&catalogue.schema, Class::KeyValue);
    // Its clients refuse an empty key, as Cassandra does.
    let inner = Failing::new(Memory::new(), u64::MAX - 1, Failure::Refused);
    let mapped = Mapped::new(Arc::new(inner), physical);
    mapped.prepare_queries(&catalogue, Existing::Refuse).unwrap();
    let mut test_client = TestClient::new(&catalogue, &mapped);
    let open = [int(1), int(7), Datum::Text("ann"), int(5)];
    assert_eq!(test_client.run("open", &open), "done [2]");
    assert_eq!(test_client.run("owned", &[Datum::Text("ann")]), "(1, 7) [1]");
}

#[test]
fn ranges_stop_where_their_prefix_ends_and_go_on_in_batches() {
    let catalogue = accounts();
    let mut test_client = TestClient::new(&catalogue, &plain(&catalogue));
    for branch in 1..=3 {
        for id in 0..100 {
            let owner = if id % 50 == branch { Datum::Text("ann") } else { Datum::Null };
            test_client.run("open", &[int(branch), int(id), owner, int(0)]);
        }
    }
    let between = |low, high| [int(2), int(low), int(high)];
    assert_eq!(test_client.run("between", &between(97, 200)), "(98) (99) [1]");
    assert_eq!(test_client.run("between", &between(3, 5)), "(4) (5) [1]");
    assert_eq!(test_client.run("between", &between(5, 3)), "nothing [0]");
    assert_eq!(test_client.run("between", &[Datum::Null, int(0), int(1)]), "nothing [0]");
    let many = test_client.run("between", &between(9, 79));
    assert!(many.starts_with("(10) (11) ") && many.ends_with("(78) (79) [2]"), "{many}");
    assert_eq!(test_client.run("of", &[int(2)]), "(99) (98) [3]");
    assert_eq!(
        test_client.run("owned", &[Datum::Text("ann")]),
        "(1, 1) (1, 51) (2, 2) (2, 52) (3, 3) (3, 53) [3]"
    );
}

#[test]
fn parts_of_records_hide_no_rows_behind_them() {
    let catalogue = catalogue(
        &["item: CREATE TABLE item (id INT PRIMARY KEY, size INT)"],
        &[
            "add: INSERT INTO item (id, size) VALUES (?, ?)",
            "first: SELECT id FROM item WHERE id >= ? ORDER BY id LIMIT 1",
            "all: SELECT id FROM item",
        ],
    );
    let inner: Arc<dyn Store> = Arc::new(Memory::new());
    let physical = Physical::plain(&catalogue.schema, Class::KeyValue);
    let mapped = Mapped::new(Arc::clone(&inner), physical);
    mapped.prepare_queries(&catalogue, Existing::Refuse).unwrap();
    let mut test_client = TestClient::new(&catalogue, &mapped);
    test_client.run("add", &[int(40), int(4)]);
    let mut client = inner.open(1).unwrap();
    for id in 0..20 {
        let mut key = Vec::new();
        crate::order::encode(&int(id), assay_model::query::Direction::Ascending, &mut key);
        let spans = [(1, 0..0)];
        let request = assay_store::Request {
            values: assay_store::Values::new(&spans, &[]),
            ..assay_store::Request::new(assay_model::Kind::Insert, &key)
        };
        client.start(Nanos::ZERO, Ticket(id as u64), &request, &mut Inbox::default());
    }
    assert_eq!(test_client.run("first", &[int(0)]), "(40) [4]");
    assert_eq!(test_client.run("all", &[]), "(40) [2]");
}

#[test]
fn a_join_that_a_table_lacks_is_checked_before_rows_are_counted() {
    let catalogue = catalogue(
        &[
            "a: CREATE TABLE a (id INT PRIMARY KEY, x INT, y INT)",
            "b: CREATE TABLE b (id INT PRIMARY KEY, x INT, y INT)",
        ],
        &[
            "a: INSERT INTO a (id, x, y) VALUES (?, ?, ?)",
            "b: INSERT INTO b (id, x, y) VALUES (?, ?, ?)",
            "one: SELECT a.id FROM a JOIN b ON a.x = b.id \
             WHERE a.x >= ? ORDER BY a.x, a.id LIMIT 1",
            "both: SELECT a.id FROM a JOIN b ON a.x = b.id AND a.y = b.y \
             WHERE a.x >= ? ORDER BY a.x, a.id LIMIT 1",
        ],
    );
    let mut physical = Physical::plain(&catalogue.schema, Class::KeyValue);
    let mut join = physical.tables[0].clone();
    join.name = "a_b".into();
    join.role = crate::Role::Join;
    join.relations = vec!["a".into(), "b".into()];
    join.joins = vec!["a.x = b.id".into()];
    join.key = ["a.x", "a.id"].map(str::to_owned).to_vec();
    join.columns = vec![];
    physical.tables.push(join);
    let mapped = Mapped::new(Arc::new(Memory::new()), physical);
    mapped.prepare_queries(&catalogue, Existing::Refuse).unwrap();
    let mut test_client = TestClient::new(&catalogue, &mapped);
    test_client.run("b", &[int(7), int(0), int(6)]);
    for (id, y) in [(1, 5), (2, 6)] {
        test_client.run("a", &[int(id), int(7), int(y)]);
    }
    assert!(test_client.run("one", &[int(7)]).starts_with("(1) "));
    let both = test_client.run("both", &[int(7)]);
    assert!(both.starts_with("(2) "), "{both}");
}

#[test]
fn what_a_column_cannot_hold_is_refused_before_anything_is_written() {
    let catalogue = accounts();
    let mut test_client = TestClient::new(&catalogue, &plain(&catalogue));
    let open = |id, balance| [int(1), id, Datum::Null, balance];
    assert_eq!(test_client.run("open", &open(int(1), Datum::Null)), "refused: malformed [0]");
    assert_eq!(test_client.run("open", &open(Datum::Null, int(1))), "refused: malformed [0]");
    assert_eq!(test_client.run("open", &open(int(1), Datum::Text("x"))), "refused: malformed [0]");
    assert_eq!(test_client.run("open", &open(int(1), int(i64::MAX))), "refused: malformed [0]");
    assert_eq!(test_client.run("open", &open(int(1), int(1))), "done [2]");
    assert_eq!(test_client.run("void", &[Datum::Null, int(1), int(1)]), "refused: malformed [0]");
    assert_eq!(test_client.run("get", &[int(1), int(1)]), "(NULL, 1.00) [1]");
}

#[test]
fn relations_that_are_there_are_refused_replaced_or_used() {
    let catalogue = accounts();
    let inner: Arc<dyn Store> = Arc::new(Memory::new());
    let physical = Physical::plain(&catalogue.schema, Class::KeyValue);
    let mapped = Mapped::new(Arc::clone(&inner), physical.clone());
    let prepare = |existing| mapped.prepare_queries(&catalogue, existing);
    let describe = |existing| prepare(existing).unwrap_err().to_string();
    assert!(describe(Existing::Use).contains("load them before"));
    prepare(Existing::Refuse).unwrap();
    prepare(Existing::Use).unwrap();
    let open = [int(1), int(7), Datum::Null, int(5)];
    assert_eq!(TestClient::new(&catalogue, &mapped).run("open", &open), "done [2]");
    assert!(describe(Existing::Refuse).contains("\"account\" has rows"));
    prepare(Existing::Use).unwrap();
    let mut other = physical;
    other.tables[0].key.reverse();
    let other = Mapped::new(inner, other);
    let error = other.prepare_queries(&catalogue, Existing::Use).unwrap_err().to_string();
    assert!(error.contains("another physical schema"), "{error}");
    prepare(Existing::Replace).unwrap();
    let get = TestClient::new(&catalogue, &mapped).run("get", &[int(1), int(7)]);
    assert_eq!(get, "nothing [1]");
}

#[test]
fn a_store_whose_updates_lose_fields_keeps_no_rows() {
    let catalogue = accounts();
    let mut config = assay_sim::Config::default();
    config.set("updates", "replace").unwrap();
    let sim = assay_sim::SimulatedStore::new(config, assay_model::Seed(1)).unwrap();
    let physical = Physical::plain(&catalogue.schema, Class::KeyValue);
    let mapped = Mapped::new(Arc::new(sim), physical);
    let message = mapped.prepare_queries(&catalogue, Existing::Refuse).unwrap_err().to_string();
    assert!(message.contains("name a store that keeps them"), "{message}");
}

#[test]
fn without_transactions_their_ends_are_answered_at_once_and_unknown_queries_are_refused() {
    let catalogue = accounts();
    let mapped = plain(&catalogue);
    assert_eq!(mapped.capabilities().isolation, None);
    let mut client = mapped.open(0).unwrap();
    let mut inbox = Inbox::default();
    for step in [Step::Commit, Step::Rollback, Step::Query(0), Step::Query(10)] {
        let call = Call { session: 0, step, begins: false, parameters: Parameters::NONE };
        client.call(Nanos::ZERO, Ticket(1), &call, &mut inbox);
    }
    let texts: Vec<String> = inbox.answers.into_iter().map(|(_, text)| text).collect();
    let refused = format!("refused: {} [0]", Reason::Malformed.name());
    assert_eq!(texts, ["done [0]", "done [0]", &refused, &refused]);
}

/// A store whose request number `at`, counted from 0 within each client, ends with `end` instead.
/// `Lost` has no response.
struct Failing {
    inner: Arc<dyn Store>,
    at: u64,
    end: Failure,
    /// The requests of the clients of all workers but the first, in words.
    requested: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone, Copy)]
enum Failure {
    Refused,
    Unknown,
    Lost,
}

struct FailingClient {
    inner: Box<dyn Client>,
    left: u64,
    end: Failure,
    abandoned: Vec<Ticket>,
    requested: Arc<Mutex<Vec<String>>>,
}

impl Failing {
    fn new(inner: impl Store + 'static, at: u64, end: Failure) -> Failing {
        Failing { inner: Arc::new(inner), at, end, requested: Arc::default() }
    }
}

impl Store for Failing {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        self.inner.prepare(layout)
    }

    fn open(&self, worker: usize) -> Result<Box<dyn Client>, OpenError> {
        // The client that looks at what is there fails at nothing.
        let (left, requested) = match worker {
            0 => (u64::MAX, Arc::default()),
            _ => (self.at, Arc::clone(&self.requested)),
        };
        let (inner, end) = (self.inner.open(worker)?, self.end);
        Ok(Box::new(FailingClient { inner, left, end, abandoned: Vec::new(), requested }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        self.inner.settings()
    }

    fn clear(&self) -> Result<(), OpenError> {
        self.inner.clear()
    }
}

impl FailingClient {
    fn note(&self, word: &str, session: u32) {
        self.requested.lock().unwrap().push(format!("{word} {session}"));
    }
}

impl Client for FailingClient {
    fn is_ready(&self) -> bool {
        self.inner.is_ready()
    }

    fn start(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        request: &assay_store::Request<'_>,
        answers: &mut dyn Answers,
    ) {
        self.note(request.kind.name(), request.session);
        if request.kind == assay_model::Kind::Scan && request.key.is_empty() {
            return answers.answer(ticket, Answer::Refused(Reason::Malformed));
        }
        self.left = self.left.wrapping_sub(1);
        if self.left != u64::MAX {
            return self.inner.start(now, ticket, request, answers);
        }
        match self.end {
            Failure::Refused => answers.answer(ticket, Answer::Refused(Reason::Busy)),
            Failure::Unknown => answers.answer(ticket, Answer::Unknown(Reason::ConnectionLost)),
            Failure::Lost => self.abandoned.clear(),
        }
    }

    fn begin(&mut self, session: u32) {
        self.note("begin", session);
        self.inner.begin(session);
    }

    fn abort(&mut self, session: u32) {
        self.note("abort", session);
        self.inner.abort(session);
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.inner.poll(now, answers);
        // What was abandoned is answered all the same, too late.
        for ticket in self.abandoned.drain(..) {
            answers.answer(ticket, Answer::Done(assay_store::Reply::MISSING));
        }
    }

    fn abandon(&mut self, ticket: Ticket) {
        self.abandoned.push(ticket);
        self.inner.abandon(ticket);
    }
}

/// What `query` answers when request number `at` fails.
fn with_failure(at: u64, end: Failure, query: &str, arguments: &[Datum<'_>]) -> String {
    let catalogue = accounts();
    let mut physical = Physical::plain(&catalogue.schema, Class::KeyValue);
    physical.tables[0].index = Some("account.owner".into());
    let mapped = Mapped::new(Arc::new(Failing::new(Memory::new(), at, end)), physical);
    mapped.prepare_queries(&catalogue, Existing::Refuse).unwrap();
    let open = [int(1), int(7), Datum::Text("ann"), int(5)];
    assert_eq!(TestClient::new(&catalogue, &mapped).run("open", &open), "done [3]");
    let mut test_client = TestClient::new(&catalogue, &mapped);
    test_client.client = mapped.open(1).unwrap();
    test_client.run(query, arguments)
}

#[test]
fn a_write_is_refused_until_something_was_written_then_unknown() {
    use Failure::{Refused, Unknown};
    let rename = [Datum::Text("bo"), int(1), int(7)];
    let check = |at, end, expected: &str| {
        assert_eq!(with_failure(at, end, "rename", &rename), expected, "{at}");
    };
    // A get, the removal of the old entry, an update of the row, a new entry.
    check(0, Refused, "refused: busy [1]");
    check(0, Unknown, "refused: connection-lost [1]");
    check(1, Refused, "refused: busy [2]");
    check(1, Unknown, "unknown: connection-lost [2]");
    check(2, Refused, "unknown: busy [3]");
    check(3, Refused, "unknown: busy [4]");
    check(4, Refused, "done [4]");
}

#[test]
fn a_read_whose_answer_is_lost_is_unknown() {
    let owner = [Datum::Text("ann")];
    let check = |at, end, expected: &str| {
        assert_eq!(with_failure(at, end, "owned", &owner), expected, "{at}");
    };
    check(0, Failure::Refused, "refused: busy [1]");
    check(0, Failure::Unknown, "unknown: connection-lost [1]");
    check(1, Failure::Refused, "(1, 7) [1]");
}

#[test]
fn an_abandoned_query_sends_no_further_request_and_its_late_response_is_ignored() {
    let catalogue = accounts();
    let inner = Failing::new(Memory::new(), 0, Failure::Lost);
    let physical = Physical::plain(&catalogue.schema, Class::KeyValue);
    let mapped = Mapped::new(Arc::new(inner), physical);
    mapped.prepare_queries(&catalogue, Existing::Refuse).unwrap();
    let mut test_client = TestClient::new(&catalogue, &mapped);
    assert_eq!(test_client.run("open", &[int(1), int(7), Datum::Null, int(5)]), "done [2]");
    test_client.client = mapped.open(1).unwrap();
    let mut encoded = Vec::new();
    [int(1), int(7)].iter().for_each(|datum| datum.encode(&mut encoded));
    let parameters = Parameters::new(&encoded);
    let call = Call { session: 0, step: Step::Query(2), begins: false, parameters };
    let mut inbox = Inbox::default();
    test_client.client.call(Nanos::ZERO, Ticket(90), &call, &mut inbox);
    test_client.client.abandon(Ticket(90));
    test_client.client.call(Nanos::ZERO, Ticket(91), &call, &mut inbox);
    test_client.client.poll(Nanos::ZERO, &mut inbox);
    let answers: Vec<(Ticket, String)> = inbox.answers.into_iter().collect();
    assert_eq!(answers, [(Ticket(91), "(NULL, 5.00) [1]".to_owned())]);
}
