//! A plan, bytes, stores that are just enough for the executor.

use std::collections::VecDeque;
use std::sync::Arc;

use assay_model::{
    Fields, Filled, Kind, Layout, Nanos, Operation, OperationEncoder, Reason, Record, Seed,
    Setting, Source, SourceError, version,
};
use assay_run::executor::WorkerOutcome;
use assay_run::executor::execute_alone;
use assay_run::{
    ArrivalProcess, Arrivals, Closed, Control, Extent, Load, Open, Overflow, SimulatedClock, Spin,
    Think, Workers, WorkloadKind,
};
use assay_store::answer::{encode_field, encode_row};
use assay_store::{
    Answer, Answers, Calls, Capabilities, Client, OpenError, Reply, Request, Rows, Store, Ticket,
};

/// A plan without end: process `i` reads record `i`, or reads and then updates it.
pub struct Plan {
    pub width: u64,
}

impl Source for Plan {
    fn len(&self) -> Option<u64> {
        None
    }

    fn width(&self) -> u64 {
        self.width
    }

    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        into.clear();
        into.extend((0..self.width).map(|place| Operation {
            index: process * self.width + place,
            key: process,
            kind: if place == 0 { Kind::Read } else { Kind::Update },
            fields: Fields::All,
            limit: 1,
            bytes: place as u32,
            statement: 0,
            transaction: 0,
            transaction_type: u16::from(self.width > 1),
            ends_transaction: place + 1 == self.width,
            think: Nanos::ZERO,
        }));
        Ok(Filled::Process)
    }
}

/// Keys in decimal, values of one byte.
pub struct Bytes;

impl OperationEncoder for Bytes {
    fn key(&self, key: u64, into: &mut Vec<u8>) {
        into.extend_from_slice(key.to_string().as_bytes());
    }

    fn value(&self, _operation: &Operation, _field: u16, into: &mut Vec<u8>) {
        into.push(b'x');
    }

    fn version(&self, _value: &[u8]) -> Option<u64> {
        None
    }

    fn version_written(&self, operation: &Operation) -> u64 {
        version::written(operation.index)
    }

    fn verifies(&self) -> bool {
        false
    }

    fn is_expected(&self, _key: u64, _field: u16, _value: &[u8]) -> bool {
        false
    }
}

/// What a simulated store does with its requests.
#[derive(Clone, Copy)]
pub enum Manner {
    /// Answers before `start` returns.
    Inline,
    /// One server after the other: each request takes this long, in the order of arrival.
    Queue(Nanos),
    /// As `Queue`, but nothing is served between the two moments.
    Hiccup(Nanos, Nanos, Nanos),
    /// Answers before `start` returns, and lets this long pass meanwhile.
    Block(Nanos),
    /// As `Queue`, though it says that it answers before `start` returns.
    Late(Nanos),
    /// As `Queue`, and the second time blocks the worker for so long.
    Stall(Nanos, Nanos),
    /// Responds before `start` returns, with a row if the request is a read.
    Rows,
    /// Never answers.
    Silent,
    /// Refuses everything at once.
    Refuse(Reason),
}

/// A simulated store.
pub struct StandInStore(pub Manner, pub SimulatedClock);

impl Store for StandInStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            calls: match self.0 {
                Manner::Inline
                | Manner::Block(_)
                | Manner::Late(_)
                | Manner::Rows
                | Manner::Refuse(_) => Calls::Inline,
                Manner::Queue(_) | Manner::Hiccup(..) | Manner::Stall(..) | Manner::Silent => {
                    Calls::Pipelined
                }
            },
            is_no_op: true,
            is_persistent: false,
            ..Capabilities::of("stand-in")
        }
    }

    fn prepare(&self, _layout: &Layout) -> Result<(), OpenError> {
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        Ok(Box::new(StandInClient {
            manner: self.0,
            clock: self.1.clone(),
            free_at: Nanos::ZERO,
            waiting: VecDeque::new(),
        }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        Ok(Vec::new())
    }

    fn clear(&self) -> Result<(), OpenError> {
        Ok(())
    }
}

struct StandInClient {
    manner: Manner,
    clock: SimulatedClock,
    free_at: Nanos,
    waiting: VecDeque<(Nanos, Ticket)>,
}

impl StandInClient {
    fn serve(&mut self, now: Nanos, service: Nanos) -> Nanos {
        self.free_at = self.free_at.max(now) + service;
        self.free_at
    }
}

impl Client for StandInClient {
    fn start(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        match self.manner {
            Manner::Inline => answers.answer(ticket, Answer::Done(Reply::WRITTEN)),
            Manner::Refuse(reason) => answers.answer(ticket, Answer::Refused(reason)),
            Manner::Silent => {}
            Manner::Block(service) => {
                self.clock.pass(service);
                answers.answer(ticket, Answer::Done(Reply::WRITTEN));
            }
            Manner::Rows => {
                let mut row = Vec::new();
                encode_row(1, &mut row);
                encode_field(b"field0", b"x", &mut row);
                let rows = match request.kind {
                    Kind::Read => Rows::Encoded(&row),
                    _ => Rows::NONE,
                };
                answers.answer(ticket, Answer::Done(Reply { found: true, rows }));
            }
            Manner::Queue(service) | Manner::Late(service) => {
                let due = self.serve(now, service);
                self.waiting.push_back((due, ticket));
            }
            Manner::Stall(service, still) => {
                if !self.waiting.is_empty() {
                    self.clock.pass(still);
                }
                let due = self.serve(now, service);
                self.waiting.push_back((due, ticket));
            }
            Manner::Hiccup(service, from, to) => {
                if self.free_at.max(now) >= from && self.free_at.max(now) < to {
                    self.free_at = to;
                }
                let due = self.serve(now, service);
                self.waiting.push_back((due, ticket));
            }
        }
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        while self.waiting.front().is_some_and(|&(due, _)| due <= now) {
            let (_, ticket) = self.waiting.pop_front().expect("there is a front");
            answers.answer(ticket, Answer::Done(Reply::WRITTEN));
        }
    }

    fn due(&self) -> Option<Nanos> {
        self.waiting.front().map(|&(due, _)| due)
    }
}

/// An open run of `rate` per second for a second, with room for `in_flight`.
pub fn open(rate: f64, in_flight: usize, overflow: Overflow) -> Load {
    let arrivals = Arrivals::constant_rate(rate, ArrivalProcess::Constant);
    Load::Open(Open { arrivals, in_flight, overflow })
}

/// A closed run of `sessions`.
pub fn closed(sessions: u32, think: Think, target_rate: Option<f64>) -> Load {
    Load::Closed(Closed { sessions, think, target_rate })
}

/// The run's length in processes and seconds.
pub fn extent(processes: Option<u64>, seconds: Option<u64>) -> Extent {
    Extent { processes, duration: seconds.map(Nanos::from_secs), warm_up: Nanos::ZERO }
}

/// Records that a sink has room for: more than any of these runs gives.
pub const RECORDS: usize = 1 << 18;

/// Runs one worker in simulated time with ten seconds of timeout.
pub fn simulate(
    manner: Manner,
    width: u64,
    load: Load,
    extent: Extent,
) -> (WorkerOutcome, Vec<Record>) {
    let source = move || Box::new(Plan { width }) as Box<dyn Source>;
    let run = workers(1, &source, load, extent);
    let clock = SimulatedClock::new();
    let store = StandInStore(manner, clock.clone());
    let sink = Vec::with_capacity(RECORDS);
    execute_alone(&run, &store, clock, sink, &Control::new()).expect("a stand-in opens")
}

/// A run on `workers` workers.
pub fn workers<'a>(
    workers: usize,
    source: &'a (dyn Fn() -> Box<dyn Source> + Sync),
    load: Load,
    extent: Extent,
) -> Workers<'a> {
    Workers {
        workers,
        source,
        encoder: Arc::new(Bytes),
        fields: Arc::new(["field0".to_owned()]),
        workload_kind: WorkloadKind::Records,
        roles: Arc::default(),
        load,
        extent,
        timeout: Nanos::from_secs(10),
        seed: Seed(1),
        is_load: false,
        stop_at_failure: false,
        spin: Spin::Never,
        processors: &[],
        share: None,
        start: None,
    }
}
