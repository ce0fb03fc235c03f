//! Partly open: clients arrive by the clock, wait for their responses, think, issue again.

use assay_model::SourceError;
use assay_model::{Fields, Filled, Kind, Nanos, Operation, Outcome, Reason, Record, Source};
use assay_run::executor::{WorkerOutcome, execute_alone};
use assay_run::{Control, Overflow, SimulatedClock};

use crate::stand_ins::{Manner, StandInStore, extent, open, workers};

const MS: Nanos = Nanos::from_millis(1);
const THINK: Nanos = Nanos::from_millis(15);

/// Processes of four transactions, each a read or, every second one, a read with an update.
struct Clients;

impl Source for Clients {
    fn len(&self) -> Option<u64> {
        None
    }

    fn width(&self) -> u64 {
        8
    }

    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        into.clear();
        for transaction in 0..4u16 {
            let is_pair = transaction % 2 == 1;
            for place in 0..=u64::from(is_pair) {
                into.push(Operation {
                    index: process * 8 + u64::from(transaction) * 2 + place,
                    key: process,
                    kind: if place == 0 { Kind::Read } else { Kind::Update },
                    fields: Fields::All,
                    limit: 1,
                    bytes: 0,
                    statement: 0,
                    transaction,
                    transaction_type: u16::from(is_pair),
                    ends_transaction: is_pair == (place == 1),
                    think: if transaction > 0 && place == 0 { THINK } else { Nanos::ZERO },
                });
            }
        }
        Ok(Filled::Process)
    }
}

fn simulate(
    manner: Manner,
    rate: f64,
    in_flight: usize,
    seconds: u64,
) -> (WorkerOutcome, Vec<Record>) {
    let source = || Box::new(Clients) as Box<dyn Source>;
    let load = open(rate, in_flight, Overflow::Drop);
    let run = workers(1, &source, load, extent(None, Some(seconds)));
    let clock = SimulatedClock::new();
    let store = StandInStore(manner, clock.clone());
    execute_alone(&run, &store, clock, Vec::new(), &Control::new()).expect("a stand-in opens")
}

fn of_process(records: &[Record], process: u64) -> Vec<Record> {
    let mut found: Vec<Record> =
        records.iter().filter(|record| record.process == process).copied().collect();
    found.sort_unstable_by_key(|record| record.index);
    found
}

#[test]
fn a_client_thinks_after_its_answer_then_issues_again() {
    let (outcome, records) = simulate(Manner::Queue(MS), 10.0, 100, 2);
    assert_eq!((outcome.offered, records.len()), (20 * 6, 20 * 6));
    for process in 0..20 {
        let mine = of_process(&records, process);
        assert_eq!(mine[0].intended, Nanos(process * 100 * MS.0));
        for pair in mine.windows(2) {
            let thinks = pair[1].transaction != pair[0].transaction;
            let pause = if thinks { THINK } else { Nanos::ZERO };
            assert_eq!(pair[1].intended, pair[0].ended + pause);
            assert_eq!((pair[1].lag(), pair[1].session), (Nanos::ZERO, pair[0].session));
        }
    }
}

#[test]
fn an_arrival_does_not_wait_for_operations_in_flight() {
    // Six operations of 10 ms with 45 ms of thought: a visit of 105 ms, begun every 50 ms.
    let (outcome, records) = simulate(Manner::Queue(Nanos::from_millis(5)), 20.0, 100, 2);
    assert!(outcome.in_flight_max >= 2, "{} at once", outcome.in_flight_max);
    let begun: Vec<Nanos> =
        (0..40).map(|process| of_process(&records, process)[0].intended).collect();
    assert!(begun.iter().enumerate().all(|(i, at)| *at == Nanos(i as u64 * 50 * MS.0)));
}

#[test]
fn clients_that_were_let_in_are_served_to_their_end_after_the_last_has_come() {
    let (_, records) = simulate(Manner::Queue(MS), 100.0, 1000, 1);
    let last = records.iter().map(|record| record.ended).max();
    assert_eq!(records.len(), 600);
    // The last comes at 990 ms: six answers of a millisecond, three thoughts of fifteen.
    assert_eq!(last, Some(Nanos::from_millis(990 + 6 + 45)));
    assert!(records.iter().all(|record| record.outcome == Outcome::Done));
}

#[test]
fn a_client_in_think_time_counts_toward_the_bound() {
    let (outcome, records) = simulate(Manner::Queue(MS), 100.0, 2, 1);
    assert_eq!(outcome.in_flight_max, 2);
    assert_eq!(records.len(), 600, "those who are turned away leave a record for each operation");
    // A visit of 51 ms lets in two of about every six who come.
    let done = records.iter().filter(|record| record.outcome == Outcome::Done).count() / 6;
    assert!((30..=42).contains(&done), "{done} were let in");
}

#[test]
fn a_client_that_gets_an_error_ends() {
    let (outcome, records) = simulate(Manner::Refuse(Reason::Busy), 10.0, 100, 1);
    assert_eq!(outcome.outcomes, [0, 10, 0, 50]);
    let dropped = records.iter().filter(|record| record.outcome == Outcome::Dropped);
    assert!(dropped.into_iter().all(|record| record.reason == Reason::TransactionFailed));
}
