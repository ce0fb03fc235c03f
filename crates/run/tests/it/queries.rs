//! Processes of queries: transactions, arguments that follow from answers, aborts.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use assay_model::{
    Argument, Arguments, Datum, Fields, Filled, Kind, Layout, Nanos, Operation, Outcome, Reason,
    Record, Setting, Source, SourceError, Taken,
};
use assay_run::executor::{AbortReason, WorkerOutcome, execute_alone};
use assay_run::{Control, Extent, Load, Overflow, SimulatedClock, Workers, WorkloadKind};
use assay_store::answer::{encode_field, encode_row};
use assay_store::{
    Answer, Answers, Call, Capabilities, Client, OpenError, Reply, Request, Rows, Step, Store,
    Ticket,
};

use crate::stand_ins::{Manner, StandInStore, extent, open, workers};

const MS: Nanos = Nanos::from_millis(1);

/// Two transactions: query 1, query 2 with what 1 returned less one, commit; then query 3 alone.
struct Orders;

impl Source for Orders {
    fn len(&self) -> Option<u64> {
        None
    }

    fn width(&self) -> u64 {
        4
    }

    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        into.clear();
        let steps =
            [(Kind::Read, 1, 0), (Kind::Insert, 2, 0), (Kind::Commit, 0, 0), (Kind::Read, 3, 1)];
        into.extend(steps.iter().enumerate().map(|(place, &(kind, statement, transaction))| {
            Operation {
                index: process * 4 + place as u64,
                key: process,
                kind,
                fields: Fields::All,
                limit: 1,
                bytes: 0,
                statement,
                transaction,
                transaction_type: 1 + transaction,
                ends_transaction: place >= 2,
                think: Nanos::ZERO,
            }
        }));
        Ok(Filled::Process)
    }

    fn arguments(&mut self, into: &mut Arguments) {
        into.clear();
        into.push(Argument::Given(Datum::Text("d")));
        into.end_operation();
        into.push(Argument::Taken(Taken { plus: -1, ..Taken::first(0, 0) }));
        into.end_operation();
        into.end_operation();
        into.end_operation();
    }
}

/// Two processes of two transactions each; the first thinks before its second one.
struct Turns;

impl Source for Turns {
    fn len(&self) -> Option<u64> {
        Some(2)
    }

    fn width(&self) -> u64 {
        6
    }

    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        into.clear();
        into.extend((0..6u16).map(|place| {
            let is_commit = place % 3 == 2;
            let thinks = process == 0 && place == 3;
            Operation {
                index: process * 6 + u64::from(place),
                key: process,
                kind: if is_commit { Kind::Commit } else { Kind::Read },
                fields: Fields::All,
                limit: 1,
                bytes: 0,
                statement: if is_commit { 0 } else { 10 * process as u16 + 1 + place },
                transaction: place / 3,
                transaction_type: 1,
                ends_transaction: is_commit,
                think: if thinks { MS } else { Nanos::ZERO },
            }
        }));
        Ok(Filled::Process)
    }

    fn arguments(&mut self, into: &mut Arguments) {
        into.clear();
        (0..6).for_each(|_| into.end_operation());
    }
}

/// A store of one connection: a transaction blocks all others.
struct Bank {
    stand: StandInStore,
    /// Which queries it refuses.
    refuses: fn(u16) -> bool,
    said: Arc<Mutex<Vec<String>>>,
}

struct Teller {
    holder: Option<u32>,
    waiting: VecDeque<Due>,
    refuses: fn(u16) -> bool,
    said: Arc<Mutex<Vec<String>>>,
    free: Rc<RefCell<Nanos>>,
}

/// An answer that is due.
struct Due {
    at: Nanos,
    ticket: Ticket,
    result: Result<i64, Reason>,
    /// Whether the connection is free with it.
    frees: bool,
}

impl Store for Bank {
    fn capabilities(&self) -> Capabilities {
        Capabilities { takes_queries: true, ..self.stand.capabilities() }
    }

    fn prepare(&self, _layout: &Layout) -> Result<(), OpenError> {
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let said = Arc::clone(&self.said);
        Ok(Box::new(Teller {
            holder: None,
            waiting: VecDeque::new(),
            refuses: self.refuses,
            said,
            free: Rc::default(),
        }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        Ok(Vec::new())
    }

    fn clear(&self) -> Result<(), OpenError> {
        Ok(())
    }
}

impl Client for Teller {
    fn is_ready(&self) -> bool {
        self.holder.is_none()
    }

    fn start(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        _request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        answers.answer(ticket, Answer::Refused(Reason::Unsupported));
    }

    fn call(&mut self, now: Nanos, ticket: Ticket, call: &Call<'_>, _answers: &mut dyn Answers) {
        let arguments: Vec<String> =
            call.parameters.iter().map(|datum| datum.to_string()).collect();
        let opens = if call.begins { "begin " } else { "" };
        let said = format!("{opens}{:?} {}", call.step, arguments.join(","));
        self.said.lock().expect("nobody panics").push(said.trim_end().to_owned());
        let is_refused = matches!(call.step, Step::Query(n) if (self.refuses)(n));
        if call.begins {
            assert!(self.holder.is_none(), "a transaction began while another was open");
            self.holder = Some(call.session);
        }
        let ends = matches!(call.step, Step::Commit | Step::Rollback) || is_refused;
        let frees = ends && self.holder == Some(call.session);
        let mut free = self.free.borrow_mut();
        *free = (*free).max(now) + MS;
        let result = if is_refused { Err(Reason::Conflict) } else { Ok(3001) };
        self.waiting.push_back(Due { at: *free, ticket, result, frees });
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        while self.waiting.front().is_some_and(|due| due.at <= now) {
            let Due { ticket, result, frees, .. } =
                self.waiting.pop_front().expect("there is a front");
            if frees {
                self.holder = None;
            }
            let mut rows = Vec::new();
            match result {
                Err(reason) => answers.answer(ticket, Answer::Refused(reason)),
                Ok(number) => {
                    let mut value = Vec::new();
                    Datum::Int(number).encode(&mut value);
                    encode_row(1, &mut rows);
                    encode_field(b"", &value, &mut rows);
                    answers.requests(ticket, 2);
                    let rows = Rows::Encoded(&rows);
                    answers.answer(ticket, Answer::Done(Reply { found: true, rows }));
                }
            }
        }
    }

    fn due(&self) -> Option<Nanos> {
        self.waiting.front().map(|due| due.at)
    }
}

fn simulate(load: Load, extent: Extent, refuses: fn(u16) -> bool) -> (Vec<Record>, Vec<String>) {
    simulate_of(&|| Box::new(Orders) as Box<dyn Source>, load, extent, refuses)
}

fn simulate_of(
    source: &(dyn Fn() -> Box<dyn Source> + Sync),
    load: Load,
    extent: Extent,
    refuses: fn(u16) -> bool,
) -> (Vec<Record>, Vec<String>) {
    let run = Workers { workload_kind: WorkloadKind::Queries, ..workers(1, source, load, extent) };
    let (_, records, said) = perform(&run, refuses);
    (records, said)
}

fn perform(
    run: &Workers<'_>,
    refuses: fn(u16) -> bool,
) -> (WorkerOutcome, Vec<Record>, Vec<String>) {
    let clock = SimulatedClock::new();
    let said = Arc::new(Mutex::new(Vec::new()));
    let stand = StandInStore(Manner::Inline, clock.clone());
    let store = Bank { stand, refuses, said: Arc::clone(&said) };
    let (outcome, records) =
        execute_alone(run, &store, clock, Vec::new(), &Control::new()).expect("a stand-in opens");
    let said = said.lock().expect("nobody panics").clone();
    (outcome, records, said)
}

#[test]
fn a_process_issues_its_queries_within_transactions() {
    let (records, said) =
        simulate(open(10.0, 10, Overflow::Queue), extent(Some(1), None), |_| false);
    let expected = ["begin Query(1) 'd'", "Query(2) 3000", "Commit", "Query(3)"].map(str::to_owned);
    assert_eq!(said, expected);
    let kinds: Vec<Kind> = records.iter().map(|record| record.kind).collect();
    assert_eq!(kinds, [Kind::Read, Kind::Insert, Kind::Commit, Kind::Read]);
    let issued: Vec<(u16, u16)> =
        records.iter().map(|record| (record.statement, record.requests)).collect();
    assert_eq!(issued, [(1, 2), (2, 2), (0, 2), (3, 2)]);
    assert!(records.iter().all(|record| record.outcome == Outcome::Done));
}

#[test]
fn a_refused_query_gives_up_its_transaction_alone() {
    let (records, said) =
        simulate(open(10.0, 10, Overflow::Queue), extent(Some(1), None), |n| n == 1);
    assert_eq!(said, ["begin Query(1) 'd'", "Query(3)"].map(str::to_owned));
    let ends: Vec<(Outcome, Reason)> =
        records.iter().map(|record| (record.outcome, record.reason)).collect();
    let given_up = (Outcome::Dropped, Reason::TransactionFailed);
    let expected =
        [(Outcome::Refused, Reason::Conflict), given_up, given_up, (Outcome::Done, Reason::None)];
    assert_eq!(ends, expected);
}

#[test]
fn the_session_with_the_last_connection_goes_on_while_others_wait() {
    // Four processes come within 2 ms; a transaction holds the only connection for 3 ms.
    let (records, said) =
        simulate(open(2000.0, 10, Overflow::Queue), extent(Some(4), None), |_| false);
    assert_eq!(said.len(), 16);
    assert!(records.iter().all(|record| record.outcome == Outcome::Done), "{said:?}");
    let longest = records.iter().map(|record| record.lag()).max();
    assert!(longest > Some(MS), "waiting for the connection is lag");
}

#[test]
fn waiting_requests_get_a_connection_before_its_last_user() {
    let source = || Box::new(Turns) as Box<dyn Source>;
    let (_, said) =
        simulate_of(&source, open(2000.0, 10, Overflow::Queue), extent(Some(2), None), |_| false);
    let begun: Vec<&str> =
        said.iter().filter_map(|said| said.strip_prefix("begin ")).map(str::trim).collect();
    // The first process is due again while the second one is in its first transaction.
    assert_eq!(begun, ["Query(1)", "Query(11)", "Query(4)", "Query(14)"]);
}

#[test]
fn a_load_whose_last_operation_fails_has_failed() {
    let source = || Box::new(Orders) as Box<dyn Source>;
    let load = open(10.0, 10, Overflow::Queue);
    let stops =
        Workers { stop_at_failure: true, ..workers(1, &source, load, extent(Some(1), None)) };
    let load = Workers { workload_kind: WorkloadKind::Queries, ..stops };
    let troubles = [|_| false, |n| n == 3].map(|refuses| perform(&load, refuses).0.trouble);
    assert_eq!(troubles, [None, Some(AbortReason::Failure)]);
}
