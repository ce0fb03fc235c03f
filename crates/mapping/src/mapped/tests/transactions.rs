//! Transactions of queries as transactions of the inner store.

use assay_store::conformance::ledger::Ledger;

use super::*;

/// Account (1, 7) of Ann with 5.00, its client, and the requests of the inner client since.
struct Bank {
    mapped: Mapped,
    client: Box<dyn Client>,
    catalogue: Arc<Catalogue>,
    requested: Arc<Mutex<Vec<String>>>,
    inbox: Inbox,
    tickets: u64,
}

const NEVER: u64 = u64::MAX - 1;
const ANN: [Datum<'static>; 2] = [Datum::Int(1), Datum::Int(7)];
const PAY: [Datum<'static>; 3] = [Datum::Int(2), Datum::Int(1), Datum::Int(7)];
const OPEN: [Datum<'static>; 4] = [Datum::Int(1), Datum::Int(8), Datum::Text("bo"), Datum::Int(0)];

impl Bank {
    /// One in which request `at` fails.
    fn new(at: u64, end: Failure) -> Bank {
        Bank::with(Failing::new(Ledger::new(2), at, end))
    }

    fn with(failing: Failing) -> Bank {
        let (catalogue, requested) = (accounts(), Arc::clone(&failing.requested));
        let physical = Physical::plain(&catalogue.schema, Class::KeyValue);
        let mapped = Mapped::new(Arc::new(failing), physical);
        mapped.prepare_queries(&catalogue, Existing::Refuse).unwrap();
        let client = mapped.open(0).unwrap();
        let inbox = Inbox::default();
        let mut bank = Bank { mapped, client, catalogue, requested, inbox, tickets: 0 };
        let ann = [Datum::Int(1), Datum::Int(7), Datum::Text("ann"), Datum::Int(5)];
        assert_eq!(bank.run(9, "open", &ann), "done [3]");
        bank.client = bank.mapped.open(1).unwrap();
        bank
    }

    fn send(&mut self, session: u32, step: Step, begins: bool, arguments: &[Datum<'_>]) -> Ticket {
        let mut encoded = Vec::new();
        arguments.iter().for_each(|datum| datum.encode(&mut encoded));
        let call = Call { session, step, begins, parameters: Parameters::new(&encoded) };
        self.tickets += 1;
        // A completion without a count of requests took one.
        self.inbox.requests = 1;
        self.client.call(Nanos::ZERO, Ticket(self.tickets), &call, &mut self.inbox);
        Ticket(self.tickets)
    }

    fn query(&self, name: &str) -> Step {
        let mut queries = self.catalogue.queries.iter();
        Step::Query(queries.position(|query| query.name == name).unwrap() as u16 + 1)
    }

    fn describe(&mut self, ticket: Ticket) -> String {
        // Each response lets one more request be sent.
        for _ in 0..100 {
            self.client.poll(Nanos::ZERO, &mut self.inbox);
        }
        let (answered, text) = self.inbox.answers.pop_front().expect("it is answered");
        assert_eq!((answered, self.inbox.answers.len()), (ticket, 0));
        text
    }

    fn begin(&mut self, session: u32, name: &str, arguments: &[Datum<'_>]) -> String {
        let ticket = self.send(session, self.query(name), true, arguments);
        self.describe(ticket)
    }

    fn run(&mut self, session: u32, name: &str, arguments: &[Datum<'_>]) -> String {
        let ticket = self.send(session, self.query(name), false, arguments);
        self.describe(ticket)
    }

    fn end(&mut self, session: u32, step: Step) -> String {
        let ticket = self.send(session, step, false, &[]);
        self.describe(ticket)
    }

    /// The requests of the inner client since the last time.
    fn log(&self) -> String {
        std::mem::take(&mut *self.requested.lock().unwrap()).join(", ")
    }
}

#[test]
fn a_transaction_is_one_of_the_inner_store() {
    let mut bank = Bank::new(NEVER, Failure::Refused);
    assert_eq!(bank.begin(3, "pay", &PAY), "done [2]");
    assert_eq!(bank.run(3, "get", &ANN), "('ann', 7.00) [1]");
    assert_eq!(bank.end(3, Step::Commit), "done [1]");
    assert_eq!(bank.log(), "begin 3, read 3, update 3, read 3, commit 3");
    assert_eq!(bank.begin(3, "pay", &PAY), "done [2]");
    assert_eq!(bank.end(3, Step::Rollback), "done [1]");
    assert_eq!(bank.log(), "begin 3, read 3, update 3, rollback 3");
    assert_eq!(bank.run(3, "get", &ANN), "('ann', 7.00) [1]");
    assert_eq!(bank.end(3, Step::Commit), "refused: transaction-failed [1]");
}

#[test]
fn a_query_of_several_requests_is_a_transaction_by_itself() {
    let mut bank = Bank::new(NEVER, Failure::Refused);
    assert_eq!(bank.run(3, "pay", &PAY), "done [3]");
    assert_eq!(bank.log(), "begin 3, read 3, update 3, commit 3, abort 3");
    assert_eq!(bank.run(3, "of", &[int(1)]), "(7) [2]");
    assert_eq!(bank.log(), "begin 3, scan 3, commit 3, abort 3");
    // One request is atomic as it is.
    assert_eq!(bank.run(3, "get", &ANN), "('ann', 7.00) [1]");
    assert_eq!(bank.run(3, "rename", &[Datum::Text("bo"), int(1), int(7)]), "done [1]");
    assert_eq!(bank.run(3, "close", &ANN), "done [1]");
    assert_eq!(bank.log(), "read 3, update 3, delete 3");
    // A query that needs no request has nothing to commit.
    assert_eq!(bank.run(3, "between", &[int(1), int(5), int(3)]), "nothing [0]");
    assert_eq!(bank.log(), "begin 3, abort 3");
}

#[test]
fn of_two_sums_on_the_way_together_none_is_lost() {
    let mut bank = Bank::new(NEVER, Failure::Refused);
    let tickets = [3, 4].map(|session| bank.send(session, bank.query("pay"), false, &PAY));
    for _ in 0..100 {
        bank.client.poll(Nanos::ZERO, &mut bank.inbox);
    }
    let answers: Vec<(Ticket, String)> = bank.inbox.answers.drain(..).collect();
    let (done, refused) = ("done [3]".to_owned(), "refused: conflict [3]".to_owned());
    assert_eq!(answers, [(tickets[0], done), (tickets[1], refused)]);
    assert_eq!(bank.run(3, "get", &ANN), "('ann', 7.00) [1]");
}

/// What a transaction of one query answers when a request fails, and what the balance is then.
fn failed(at: u64, end: Failure, query: &str, begins: bool) -> (String, String) {
    let mut bank = Bank::new(at, end);
    let arguments: &[Datum<'_>] = if query == "of" { &PAY[1..2] } else { &PAY };
    let message = match begins {
        true => bank.begin(3, query, arguments),
        false => bank.run(3, query, arguments),
    };
    assert!(bank.log().ends_with("abort 3"));
    assert!(bank.client.is_ready());
    (message, bank.run(3, "get", &ANN))
}

#[test]
fn what_a_failed_step_wrote_is_undone_so_it_is_refused() {
    use Failure::{Refused, Unknown};
    let check = |at, end, begins, expected: &str| {
        let balance = "('ann', 5.00) [1]".to_owned();
        assert_eq!(failed(at, end, "pay", begins), (expected.to_owned(), balance), "{at}");
    };
    for begins in [true, false] {
        check(0, Refused, begins, "refused: busy [1]");
        check(0, Unknown, begins, "refused: connection-lost [1]");
        check(1, Refused, begins, "refused: busy [2]");
        check(1, Unknown, begins, "refused: connection-lost [2]");
    }
    check(2, Refused, false, "refused: busy [3]");
}

#[test]
fn a_commit_or_a_select_whose_answer_is_lost_is_unknown() {
    let (describe, _) = failed(2, Failure::Unknown, "pay", false);
    assert_eq!(describe, "unknown: connection-lost [3]");
    for begins in [true, false] {
        let (describe, _) = failed(0, Failure::Unknown, "of", begins);
        assert_eq!(describe, "unknown: connection-lost [1]");
    }
    let mut bank = Bank::new(2, Failure::Unknown);
    assert_eq!(bank.begin(3, "pay", &PAY), "done [2]");
    assert_eq!(bank.end(3, Step::Commit), "unknown: connection-lost [1]");
}

#[test]
fn a_step_that_is_not_even_begun_ends_its_transaction() {
    let mut bank = Bank::new(NEVER, Failure::Refused);
    assert_eq!(bank.begin(3, "pay", &PAY), "done [2]");
    assert_eq!(bank.run(3, "pay", &ANN), "refused: malformed [1]");
    assert_eq!(bank.begin(3, "open", &OPEN), "done [2]");
    let void = [Datum::Null, int(1), int(8)];
    assert_eq!(bank.run(3, "void", &void), "refused: malformed [0]");
    assert_eq!(
        bank.log(),
        "begin 3, read 3, update 3, abort 3, begin 3, read 3, insert 3, abort 3"
    );
    assert_eq!(bank.run(3, "get", &ANN), "('ann', 5.00) [1]");
    assert_eq!(bank.run(3, "get", &[int(1), int(8)]), "nothing [1]");
}

#[test]
fn an_abandoned_step_ends_its_transaction() {
    for (at, end) in [(2, Failure::Lost), (NEVER, Failure::Refused)] {
        let mut bank = Bank::new(at, end);
        assert_eq!(bank.begin(3, "pay", &PAY), "done [2]");
        let ticket = bank.send(3, bank.query("pay"), false, &PAY);
        bank.client.abandon(ticket);
        assert_eq!(bank.log(), "begin 3, read 3, update 3, read 3, abort 3");
        for _ in 0..100 {
            bank.client.poll(Nanos::ZERO, &mut bank.inbox);
        }
        assert_eq!(bank.inbox.answers.len(), 0);
        assert_eq!(bank.begin(3, "get", &ANN), "('ann', 5.00) [1]");
    }
}

#[test]
fn a_step_never_waits_for_a_connection_that_its_transaction_has() {
    let mut bank = Bank::with(Failing::new(Ledger::new(1), NEVER, Failure::Refused));
    assert_eq!(bank.begin(3, "get", &ANN), "('ann', 5.00) [1]");
    assert!(!bank.client.is_ready());
    let other = bank.send(4, bank.query("pay"), true, &PAY);
    let step = bank.send(3, bank.query("pay"), false, &PAY);
    assert_eq!(bank.describe(step), "done [2]");
    let commit = bank.send(3, Step::Commit, false, &[]);
    for _ in 0..100 {
        bank.client.poll(Nanos::ZERO, &mut bank.inbox);
    }
    let answers: Vec<Ticket> = bank.inbox.answers.drain(..).map(|(ticket, _)| ticket).collect();
    assert_eq!(answers, [commit, other]);
    // Nobody waits for the session that is left before its turn came.
    let third = bank.send(5, bank.query("pay"), true, &PAY);
    bank.client.abandon(third);
    assert_eq!(bank.end(4, Step::Commit), "done [1]");
    assert_eq!(bank.run(3, "get", &ANN), "('ann', 9.00) [1]");
}

#[test]
fn a_process_that_leaves_undoes_its_transaction() {
    let mut bank = Bank::new(NEVER, Failure::Refused);
    assert_eq!(bank.begin(3, "pay", &PAY), "done [2]");
    bank.client.abort(3);
    assert_eq!(bank.begin(4, "get", &ANN), "('ann', 5.00) [1]");
    assert_eq!(bank.log(), "begin 3, read 3, update 3, abort 3, begin 4, read 4");
}

#[test]
fn settings_tell_whether_there_are_transactions() {
    let catalogue = accounts();
    let describe = |mapped: &Mapped| {
        let settings = mapped.settings().unwrap();
        settings.into_iter().find(|setting| setting.name == "transactions").unwrap().value
    };
    let bank = Bank::new(NEVER, Failure::Refused);
    assert_eq!(describe(&bank.mapped), "serializable");
    assert_eq!(bank.mapped.capabilities().isolation, Some(Isolation::Serializable));
    assert_eq!(describe(&plain(&catalogue)), "best effort");
}
