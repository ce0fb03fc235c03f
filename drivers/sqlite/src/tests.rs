//! SQLite behind the seam, in files of the test's own.

use assay_model::{Datum, Decimal, Nanos, Parameters, Reason};
use assay_store::blocking::BlockingThreads;
use assay_store::conformance::queries::{Caller, QueryAnswer, catalogue};
use assay_store::conformance::talk::{Got, TestRequest, TestSession};
use assay_store::{Answer, Answers, Call, Step, Ticket, conformance};

use super::*;

assay_driver_kit::engine_tests! {
    open, "sqlite", "/test.db",
    options: ["", "?journal=delete&synchronous=off&begin=deferred"],
    blocking: "",
    conforms: <[String]>::is_empty,
}

#[test]
fn settings_tell_what_survives_what() {
    let directory = tempfile::tempdir().unwrap();
    let describe = |options: &str, name: &str| {
        let settings = open(&url(directory.path(), options)).unwrap().settings().unwrap();
        let setting = settings.into_iter().find(|setting| setting.name == name).unwrap();
        format!("{}: {}", setting.value, setting.meaning)
    };
    assert_eq!(
        describe("", "durability"),
        "process: a commit survives the end of this process (kill -9), but a loss of power may \
         take the last ones; the database stays whole"
    );
    assert_eq!(
        describe("?synchronous=full", "durability"),
        "every commit: the log is on disk before a commit is answered"
    );
    assert_eq!(
        describe("?synchronous=extra", "synchronous"),
        "extra: when SQLite waits for the disk"
    );
    assert!(describe("", "server").starts_with("sqlite 3."));
}

#[test]
fn what_is_no_database_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    std::fs::write(&path, "a letter, long enough to be read as the header of a file".repeat(90))
        .unwrap();
    let message = complaint(&url(directory.path(), ""));
    assert!(message.ends_with("it is no SQLite database; choose another path"), "{message}");
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("a letter"));
    let message = complaint(&format!("sqlite:{}", directory.path().display()));
    assert!(
        message.ends_with("it is a directory; SQLite needs a file, which may be new"),
        "{message}"
    );
    let message = complaint(&format!("sqlite:{}/below/x.db", path.display()));
    assert!(message.ends_with("choose a place where a file may be made"), "{message}");
}

#[test]
fn queries_to_sqlite_conform() {
    let directory = tempfile::tempdir().unwrap();
    conformance::queries::assert_queries_conform(&*open(&url(directory.path(), "")).unwrap());
}

#[test]
fn queries_to_sqlite_with_a_rollback_journal_conform() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?journal=delete&synchronous=off")).unwrap();
    conformance::queries::assert_queries_conform(&*store);
}

#[test]
fn queries_to_sqlite_on_blocking_threads_conform() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?busy_timeout=200")).unwrap();
    conformance::queries::assert_queries_conform(&BlockingThreads::new(store.into(), 3));
}

#[test]
fn queries_to_sqlite_that_takes_turns_late_conform() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?begin=deferred&busy_timeout=100")).unwrap();
    conformance::queries::assert_queries_conform(&BlockingThreads::new(store.into(), 3));
}

const OPEN: u16 = 2;
const ACCOUNT: u16 = 3;
const DEPOSIT: u16 = 9;
const KEY: [Datum<'static>; 2] = [Datum::Int(1), Datum::Int(1)];

fn cents(mantissa: i64) -> Datum<'static> {
    Datum::Decimal(Decimal { mantissa, scale: 2 })
}

fn raise() -> [Datum<'static>; 3] {
    [cents(25), KEY[0], KEY[1]]
}

/// A conversation with the suite's bank, in which there is one account; with another connection.
fn bank(directory: &std::path::Path, options: &str) -> (Caller, Connection) {
    let store = open(&url(directory, options)).unwrap();
    store.prepare_queries(&catalogue().into(), Existing::Refuse).unwrap();
    let mut caller = Caller::open(&*store, 0).unwrap();
    let account = [KEY[0], KEY[1], Datum::Text("Ann"), cents(10_50)];
    assert_eq!(caller.send(0, OPEN, &account), QueryAnswer::WRITTEN);
    (caller, Connection::open(directory.join("test.db")).unwrap())
}

#[test]
fn a_lock_wait_for_another_process_ends_as_busy() {
    let directory = tempfile::tempdir().unwrap();
    let (mut caller, other) = bank(directory.path(), "?busy_timeout=20");
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(caller.send(1, DEPOSIT, &raise()), QueryAnswer::Refused(Reason::Busy));
    assert_eq!(caller.begin(1, ACCOUNT, &KEY), QueryAnswer::Refused(Reason::Busy));
    assert_eq!(caller.send(1, ACCOUNT, &KEY), QueryAnswer::rows(&["'Ann' 10.5"]));
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(caller.begin(1, DEPOSIT, &raise()), QueryAnswer::WRITTEN);
    assert_eq!(caller.end(1, Step::Commit), QueryAnswer::WRITTEN);
    assert_eq!(caller.send(1, ACCOUNT, &KEY), QueryAnswer::rows(&["'Ann' 10.75"]));
}

#[test]
fn a_transaction_that_read_before_another_wrote_conflicts() {
    let directory = tempfile::tempdir().unwrap();
    let (mut caller, other) = bank(directory.path(), "?begin=deferred&busy_timeout=20");
    assert_eq!(caller.begin(1, ACCOUNT, &KEY), QueryAnswer::rows(&["'Ann' 10.5"]));
    other.execute_batch("UPDATE account SET balance = balance + 100").unwrap();
    assert_eq!(caller.send(1, DEPOSIT, &raise()), QueryAnswer::Refused(Reason::Conflict));
    assert_eq!(caller.begin(1, DEPOSIT, &raise()), QueryAnswer::WRITTEN);
    assert_eq!(caller.end(1, Step::Commit), QueryAnswer::WRITTEN);
    assert_eq!(caller.send(1, ACCOUNT, &KEY), QueryAnswer::rows(&["'Ann' 11.75"]));
}

#[test]
fn a_key_of_one_number_cannot_be_without_value() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "")).unwrap();
    store.prepare_queries(&catalogue().into(), Existing::Refuse).unwrap();
    let other = Connection::open(directory.path().join("test.db")).unwrap();
    let message = other.execute("INSERT INTO branch VALUES (NULL, 'Ulm')", []).unwrap_err();
    assert_eq!(message.to_string(), "NOT NULL constraint failed: branch.id");
}

#[test]
fn money_is_kept_in_its_smallest_units() {
    let directory = tempfile::tempdir().unwrap();
    let (mut caller, other) = bank(directory.path(), "");
    assert_eq!(caller.send(0, DEPOSIT, &raise()), QueryAnswer::WRITTEN);
    let kept: i64 = other.query_row("SELECT balance FROM account", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 10_75);
}

/// Takes answers without a look.
struct Nobody;

impl Answers for Nobody {
    fn answer(&mut self, _ticket: Ticket, _answer: Answer<'_>) {}
}

#[test]
fn a_worker_is_not_ready_while_a_transaction_of_it_may_write() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "")).unwrap();
    store.prepare_queries(&catalogue().into(), Existing::Refuse).unwrap();
    let mut client = store.open(0).unwrap();
    let mut encoded = Vec::new();
    KEY.iter().for_each(|datum| datum.encode(&mut encoded));
    let parameters = Parameters::new(&encoded);
    let read = Call { session: 1, step: Step::Query(ACCOUNT), begins: true, parameters };
    client.call(Nanos::ZERO, Ticket(1), &read, &mut Nobody);
    assert!(!client.is_ready());
    let commit = Call { step: Step::Commit, begins: false, ..read };
    client.call(Nanos::ZERO, Ticket(2), &commit, &mut Nobody);
    assert!(client.is_ready());
}

#[test]
fn a_worker_that_ends_lets_the_others_write() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?busy_timeout=20")).unwrap();
    store.prepare_queries(&catalogue().into(), Existing::Refuse).unwrap();
    let account = [KEY[0], KEY[1], Datum::Text("Ann"), cents(1)];
    let mut one = Caller::open(&*store, 0).unwrap();
    let mut other = Caller::open(&*store, 1).unwrap();
    assert_eq!(one.begin(1, OPEN, &account), QueryAnswer::WRITTEN);
    assert_eq!(other.send(1, OPEN, &account), QueryAnswer::Refused(Reason::Busy));
    drop(one);
    assert_eq!(other.send(1, ACCOUNT, &KEY), QueryAnswer::MISSING);
    assert_eq!(other.send(1, OPEN, &account), QueryAnswer::WRITTEN);
}

#[test]
fn relations_that_are_there_are_refused_replaced_or_used() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "")).unwrap();
    let prepare = |existing| store.prepare_queries(&catalogue().into(), existing);
    let message = prepare(Existing::Use).unwrap_err().to_string();
    assert!(
        message.ends_with("it lacks these tables: branch, account, kinds; load them first"),
        "{message}"
    );
    prepare(Existing::Refuse).unwrap();
    let message = prepare(Existing::Refuse).unwrap_err().to_string();
    assert!(message.contains("it has these tables already: branch, account, kinds;"), "{message}");
    let other = Connection::open(directory.path().join("test.db")).unwrap();
    let count =
        || -> i64 { other.query_row("SELECT count(*) FROM branch", [], |row| row.get(0)).unwrap() };
    other.execute_batch("INSERT INTO branch VALUES (1, 'Ulm')").unwrap();
    prepare(Existing::Use).unwrap();
    assert_eq!(count(), 1);
    prepare(Existing::Replace).unwrap();
    assert_eq!(count(), 0);
    other.execute_batch("ALTER TABLE account DROP COLUMN balance").unwrap();
    let message = prepare(Existing::Use).unwrap_err().to_string();
    assert!(message.contains("its table account has no column balance"), "{message}");
}

#[test]
fn records_of_another_tool_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let other = Connection::open(directory.path().join("test.db")).unwrap();
    other
        .execute_batch(
            "CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT);
             INSERT INTO usertable VALUES ('user1', 'a', 'b'), ('user2', 'c', NULL)",
        )
        .unwrap();
    let layout = |count: usize| {
        let fields = (0..count).map(|number| format!("field{number}")).collect();
        let table = assay_model::Table { name: "usertable".into(), fields, needs_key_order: false };
        Layout { tables: vec![table], records: 2 }
    };
    let store = open(&url(directory.path(), "")).unwrap();
    store.prepare(&layout(2)).unwrap();
    let mut talk = TestSession::open(&*store, 0).unwrap();
    let whole = Got::row(&[("field0", b"a"), ("field1", b"b")]);
    assert_eq!(talk.send(&TestRequest::read("user1")), whole);
    assert_eq!(talk.send(&TestRequest::read("user2")), Got::row(&[("field0", b"c")]));
    assert_eq!(talk.send(&TestRequest::insert("user1", &[b"x"])), Got::Refused(Reason::Exists));
    let message = store.prepare(&layout(3)).unwrap_err().to_string();
    assert!(message.contains("no such column: field2"), "{message}");
}

#[test]
fn a_damaged_database_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let url = url(directory.path(), "?journal=delete");
    let store = open(&url).unwrap();
    store.prepare_queries(&catalogue().into(), Existing::Refuse).unwrap();
    drop(store);
    let path = directory.path().join("test.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    bytes[100..half].fill(0xA5);
    std::fs::write(&path, bytes).unwrap();
    let message = match open(&url) {
        Ok(store) => {
            let prepared = store.prepare_queries(&catalogue().into(), Existing::Use);
            prepared.unwrap_err().to_string()
        }
        Err(error) => error.to_string(),
    };
    assert!(message.contains("the database is damaged; restore it"), "{message}");
}
