//! A lone session at a store that answers at once: one reading of the clock for each operation.

use std::sync::Arc;

use assay_model::{
    Filled, Kind, Nanos, Operation, Outcome, Phase, Reason, Record, Source, SourceError,
};
use assay_run::executor::{AbortReason, WorkerOutcome, execute_alone};
use assay_run::{Clock, Control, Extent, SimulatedClock, Sink, Think};
use assay_store::Client;

use crate::stand_ins::{Manner, Plan, RECORDS, StandInStore, closed, extent, simulate, workers};

const MS: Nanos = Nanos::from_millis(1);

/// The most processes of a burst.
const BURST: usize = 32;

/// A clock that goes on by a nanosecond whenever it is read.
#[derive(Clone)]
struct Ticking(SimulatedClock);

impl Clock for Ticking {
    fn now(&self) -> Nanos {
        self.0.pass(Nanos(1));
        self.0.now()
    }

    fn rest(&mut self, client: &mut dyn Client, in_flight: usize, until: Nanos) {
        self.0.rest(client, in_flight, until);
    }
}

/// The operations of one session on a store of `manner` while every reading of the clock takes 1
/// ns.
fn ticking(
    manner: Manner,
    source: &(dyn Fn() -> Box<dyn Source> + Sync),
    extent: Extent,
) -> (WorkerOutcome, Vec<Record>) {
    let run = workers(1, source, closed(1, Think::No, None), extent);
    let (reported, sink) = (SimulatedClock::new(), Vec::with_capacity(RECORDS));
    let store = StandInStore(manner, reported.clone());
    execute_alone(&run, &store, Ticking(reported), sink, &Control::new()).expect("a stand-in opens")
}

fn plan(width: u64) -> impl Fn() -> Box<dyn Source> + Sync {
    move || Box::new(Plan { width }) as Box<dyn Source>
}

/// How long after the response before each operation was issued.
fn lags(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.lag().0).collect()
}

fn assert_one_after_the_other(records: &[Record]) {
    for (place, record) in records.iter().enumerate() {
        assert_eq!(record.index, place as u64);
    }
    for pair in records.windows(2) {
        assert_eq!(pair[1].intended, pair[0].ended, "{pair:?}");
    }
}

#[test]
fn an_answer_is_the_start_of_the_next_operation_but_for_the_first_of_a_burst() {
    let (outcome, records) = ticking(Manner::Inline, &plan(1), extent(Some(100), None));
    assert_eq!((outcome.offered, outcome.in_flight_max), (100, 1));
    assert_one_after_the_other(&records);
    let lags = lags(&records);
    for (place, lag) in lags.into_iter().enumerate() {
        assert_eq!(lag > 0, place % BURST == 0, "operation {place} has a lag of {lag} ns");
    }
    assert!(records.iter().all(|record| record.service() == Nanos(1)));
}

#[test]
fn what_follows_upon_rows_has_a_reading_of_its_own() {
    let (_, records) = ticking(Manner::Rows, &plan(1), extent(Some(100), None));
    assert_one_after_the_other(&records);
    assert!(lags(&records).into_iter().all(|lag| lag > 0), "{:?}", lags(&records));
    assert!(records.iter().all(|record| (record.rows, record.bytes) == (1, 1)));
}

#[test]
fn processes_of_two_operations_are_issued_one_by_one() {
    let (outcome, records) = ticking(Manner::Inline, &plan(2), extent(Some(100), None));
    assert_eq!((outcome.offered, records.len()), (200, 200));
    assert_one_after_the_other(&records);
    assert!(lags(&records).into_iter().all(|lag| lag > 0));
    let kinds = records.iter().map(|record| record.kind);
    assert!(kinds.eq((0..200).map(|place| [Kind::Read, Kind::Update][place % 2])));
}

#[test]
fn a_duration_ends_within_a_burst() {
    let load = closed(1, Think::No, None);
    let lasts = Extent { warm_up: Nanos(20 * MS.0), ..extent(None, Some(1)) };
    let (outcome, records) = simulate(Manner::Block(MS), 1, load, lasts);
    assert_eq!((outcome.offered, records.len()), (1020, 1020));
    assert_one_after_the_other(&records);
    let warm = records.iter().filter(|record| record.phase == Phase::WarmUp).count();
    assert_eq!(warm, 20);
}

/// Ends the run from outside with the record of this number.
struct Ending<'a> {
    records: Vec<Record>,
    at: usize,
    control: &'a Control,
}

impl Sink for Ending<'_> {
    fn push(&mut self, record: Record) {
        self.records.push(record);
        if self.records.len() == self.at {
            self.control.drain();
        }
    }

    fn observe(&mut self, _value: assay_model::ObservedValue) {}

    fn flush(&mut self) {}

    fn is_broken(&self) -> bool {
        false
    }

    fn room(&self) -> usize {
        RECORDS
    }

    fn stalls(&self) -> u64 {
        0
    }
}

#[test]
fn a_process_that_is_drawn_when_the_run_is_ended_is_not_issued() {
    for at in [1, 2, 31, 32, 33, 50] {
        let source = plan(1);
        let run = workers(1, &source, closed(1, Think::No, None), extent(None, Some(60)));
        let (clock, control) = (SimulatedClock::new(), Control::new());
        let store = StandInStore(Manner::Block(MS), clock.clone());
        let sink = Ending { records: Vec::new(), at, control: &control };
        let (outcome, sink) = execute_alone(&run, &store, clock, sink, &control).expect("it opens");
        assert_eq!((outcome.offered, sink.records.len()), (at as u64, at));
        let sum = sink.records.iter().map(|record| fingerprint(record.index));
        assert_eq!(outcome.fingerprint, sum.fold(0, u128::wrapping_add), "at {at}");
    }
}

fn fingerprint(process: u64) -> u128 {
    let mut operations = Vec::new();
    Plan { width: 1 }.fill(process, &mut operations).expect("a plan without end");
    operations[0].fingerprint()
}

#[test]
fn a_failure_ends_its_burst() {
    let source = plan(1);
    let mut run = workers(1, &source, closed(1, Think::No, None), extent(Some(100), None));
    run.stop_at_failure = true;
    let clock = SimulatedClock::new();
    let store = StandInStore(Manner::Refuse(Reason::Full), clock.clone());
    let sink = Vec::with_capacity(RECORDS);
    let (outcome, records) =
        execute_alone(&run, &store, clock, sink, &Control::new()).expect("it opens");
    assert_eq!((outcome.trouble, records.len()), (Some(AbortReason::Failure), 1));
}

#[test]
fn a_lone_session_rests_while_the_store_is_away() {
    let load = closed(1, Think::No, None);
    let (_, records) =
        simulate(Manner::Refuse(Reason::Unreachable), 1, load, extent(None, Some(1)));
    assert_eq!(records.len(), 100);
}

#[test]
fn an_answer_that_comes_late_after_all_is_waited_for() {
    let load = closed(1, Think::No, None);
    let (outcome, records) = simulate(Manner::Late(MS), 1, load, extent(Some(100), None));
    assert_eq!((outcome.offered, outcome.late_answers), (100, 0));
    assert_one_after_the_other(&records);
    let is_done = |record: &Record| (record.outcome, record.service()) == (Outcome::Done, MS);
    assert!(records.iter().all(is_done));
}

#[test]
fn the_timeout_expires_with_a_late_answer_too() {
    let load = closed(1, Think::No, None);
    let late = Manner::Late(Nanos::from_secs(11));
    let (outcome, records) = simulate(late, 1, load, extent(Some(3), None));
    assert_eq!((outcome.offered, records.len()), (3, 3));
    let is_given_up = |record: &Record| {
        (record.reason, record.service()) == (Reason::Timeout, Nanos::from_secs(10))
    };
    assert!(records.iter().all(is_given_up));
    let sessions: Vec<u32> = records.iter().map(|record| record.session).collect();
    assert_eq!(sessions, [0, 1, 2], "a session in doubt is never used again");
}

/// A plan that ends, or breaks, at process `at`.
struct Until {
    at: u64,
    breaks: bool,
}

impl Source for Until {
    fn len(&self) -> Option<u64> {
        None
    }

    fn width(&self) -> u64 {
        1
    }

    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        if process < self.at {
            return Plan { width: 1 }.fill(process, into);
        }
        match self.breaks {
            false => Ok(Filled::End),
            true => Err(SourceError { process, reason: "torn".to_owned() }),
        }
    }
}

#[test]
fn a_plan_that_ends_or_breaks_is_issued_up_to_there() {
    for at in [0, 1, 31, 32, 33, 77] {
        for breaks in [false, true] {
            let source = move || Box::new(Until { at, breaks }) as Box<dyn Source>;
            let (outcome, records) = ticking(Manner::Inline, &source, extent(None, Some(1)));
            assert_eq!(records.len() as u64, at);
            assert_one_after_the_other(&records);
            let is_trouble = matches!(outcome.trouble, Some(AbortReason::Plan(_)));
            assert_eq!((is_trouble, outcome.ran_out), (breaks, !breaks));
        }
    }
}

#[test]
fn a_burst_ends_where_the_room_for_records_does() {
    let source = plan(1);
    let run = workers(1, &source, closed(1, Think::No, None), extent(Some(30), None));
    let reported = SimulatedClock::new();
    let store = StandInStore(Manner::Inline, reported.clone());
    let sink = Vec::with_capacity(9);
    let (_, records) =
        execute_alone(&run, &store, Ticking(reported), sink, &Control::new()).expect("it opens");
    assert_one_after_the_other(&records);
    let lags = lags(&records);
    assert!(lags[1..9].iter().all(|lag| *lag == 0), "{lags:?}");
    assert!(lags[9] > 0, "{lags:?}");
}

#[test]
fn many_bytes_make_a_burst_shorter() {
    let source = plan(1);
    let run = workers(1, &source, closed(1, Think::No, None), extent(Some(64), None));
    let run = assay_run::Workers { encoder: Arc::new(LongKeys), ..run };
    let reported = SimulatedClock::new();
    let store = StandInStore(Manner::Inline, reported.clone());
    let sink = Vec::with_capacity(RECORDS);
    let (_, records) =
        execute_alone(&run, &store, Ticking(reported), sink, &Control::new()).expect("it opens");
    let begun = (0..64).filter(|place| records[*place].lag() > Nanos::ZERO);
    assert!(begun.eq((0..64).step_by(4)), "keys of 4 KiB come by fours");
}

struct LongKeys;

impl assay_model::OperationEncoder for LongKeys {
    fn key(&self, _key: u64, into: &mut Vec<u8>) {
        into.resize(4096, b'k');
    }

    fn value(&self, _operation: &Operation, _field: u16, _into: &mut Vec<u8>) {}

    fn version(&self, _value: &[u8]) -> Option<u64> {
        None
    }

    fn version_written(&self, _operation: &Operation) -> u64 {
        assay_model::version::NONE
    }

    fn verifies(&self) -> bool {
        false
    }

    fn is_expected(&self, _key: u64, _field: u16, _value: &[u8]) -> bool {
        false
    }
}
