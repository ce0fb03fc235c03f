//! One thread of the executor: asks its share of the plan of its own client.

mod ahead;
mod asker;
mod book;
mod burst;
mod held_back;
mod script;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use assay_model::{
    Fields, Filled, Kind, Nanos, Operation, Parameters, Reason, Render, Source, SourceError,
    version,
};
use assay_store::{Call, Calls, Client, Request, Step, Ticket, Values};

use crate::clock::Clock;
use crate::control::{Control, Urgency};
use crate::gauge::Gauge;
use crate::load::{Asks, Extent, Overflow};
use crate::sink::Sink;

use ahead::Ahead;
pub(crate) use asker::{Ask, Asker, Claims, ClosedAsker, Next, OpenAsker};
use book::Book;
use held_back::HeldBack;

/// Processes that are begun between two looks at the network, the clock and the outside.
///
/// High enough to share the cost of a look, low enough that answers do not lie around: 16 requests
/// are encoded in a few microseconds.
const BURST: usize = 16;

/// How often buffered records are handed over: a crash loses at most the last second.
const FLUSH_EVERY: Nanos = Nanos::from_millis(500);

/// How often the shop window is dressed, and the longest a lane looks away from the outside.
const PUBLISH_EVERY: Nanos = Nanos::from_millis(50);

/// How long a run that must end at once still records arrivals that were due and not asked: some
/// millions, which is more than wait unless a store has stood still for long.
const GRACE: Nanos = Nanos::from_millis(500);

/// What a lane is to do.
pub(crate) struct Task {
    /// Where its processes come from.
    pub source: Box<dyn Source>,
    /// What turns numbers into bytes.
    pub render: Arc<dyn Render>,
    /// The fields of the table, by number.
    pub fields: Arc<[String]>,
    /// In which tongue the plan asks.
    pub asks: Asks,
    /// How the client answers.
    pub calls: Calls,
    /// When processes are asked.
    pub asker: Asker,
    /// The most processes in flight on this lane.
    pub in_flight: usize,
    /// What becomes of an arrival beyond that.
    pub overflow: Overflow,
    /// How long an answer is waited for.
    pub patience: Nanos,
    /// The run's length.
    pub extent: Extent,
    /// Whether this is a load, whose records carry that phase.
    pub is_load: bool,
    /// Whether the first operation that fails ends the run.
    pub stop_at_failure: bool,
}

/// What a lane did, beside its records.
#[derive(Clone, Debug, Default)]
pub struct LaneOutcome {
    /// Operations offered: done + refused + unknown + dropped.
    pub offered: u64,
    /// Operations by outcome, in the order of the outcomes' codes.
    pub outcomes: [u64; 4],
    /// Done, but nothing was found.
    pub missed: u64,
    /// Processes that waited because no more could be in flight, by our bound or the client's.
    pub queued: u64,
    /// When arrivals waited because as many as allowed were in flight, in order of time, each
    /// stretch with its first and its last moment: of many the longest.
    pub held_back: Vec<(Nanos, Nanos)>,
    /// Answers that came after patience had ended.
    pub late_answers: u64,
    /// The most processes in flight at once.
    pub in_flight_max: usize,
    /// Sum of the fingerprints of all operations offered, modulo 2^128.
    pub fingerprint: u128,
    /// How often the history made the lane wait.
    pub stalls: u64,
    /// When its last operation was asked for: intended in the open model, else started.
    pub asked_until: Nanos,
    /// Whether the plan, or the number of processes, ended the asking.
    pub ran_out: bool,
    /// When the lane ended.
    pub ended: Nanos,
    /// Processor time the lane's thread used.
    pub cpu: Nanos,
    /// Why the lane ended early, if it did.
    pub trouble: Option<Trouble>,
    /// The first operation that failed.
    pub first_failure: Option<Failure>,
}

/// The first operation of a lane that was refused or is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The operation's number.
    pub index: u64,
    /// The record it was about.
    pub key: u64,
    /// Why it failed.
    pub reason: Reason,
    /// When.
    pub at: Nanos,
}

/// Why a lane ended before its plan did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The plan could not be read any further.
    Plan(String),
    /// Records could no longer be kept.
    History,
    /// The bound on processes in flight was reached, with [`Overflow::Abort`].
    InFlightLimit,
    /// An operation failed and the run was to stop at that.
    Failure,
}

/// What the loop found to do.
enum Busy {
    /// Something was asked; there may be more.
    Asked,
    /// Nothing before this moment, unless an answer comes.
    Until(Nanos),
    /// Nothing more to ask, ever.
    Over,
}

/// A lane at work.
pub(crate) struct Lane<'a, C, S> {
    task: Task,
    client: Box<dyn Client>,
    clock: C,
    control: &'a Control,
    book: Book<'a, C, S>,
    scratch: Scratch,
    /// What is drawn for the next burst, where there are any.
    ahead: Option<Ahead>,
    /// Slots whose next operation waits for its process to have thought.
    thinking: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Slots whose next operation is due but for which the client has no room.
    held: VecDeque<u32>,
    /// Slots of processes that were let in but not begun.
    admitted: VecDeque<u32>,
    /// Whether arrivals beyond the bound are turned away instead of waiting.
    turns_away: bool,
    is_blocked: bool,
    blocked_until: Nanos,
    held_back: HeldBack,
    flushed: Nanos,
    outcome: LaneOutcome,
}

/// Buffers for the bytes of one request.
#[derive(Default)]
struct Scratch {
    key: Vec<u8>,
    values: Vec<u8>,
    spans: Vec<(u16, Range<u32>)>,
    parameters: Vec<u8>,
}

impl<'a, C: Clock + Clone, S: Sink> Lane<'a, C, S> {
    pub(crate) fn new(
        task: Task,
        client: Box<dyn Client>,
        clock: C,
        control: &'a Control,
        gauge: &'a Gauge,
        sink: S,
    ) -> Lane<'a, C, S> {
        let book = Book::new(&task, clock.clone(), gauge, sink);
        let is_open = task.asker.next_arrival().is_some();
        let turns_away = is_open && task.overflow != Overflow::Queue;
        Lane {
            ahead: burst::may_burst(&task).then(Ahead::default),
            task,
            client,
            clock,
            control,
            book,
            scratch: Scratch::default(),
            thinking: BinaryHeap::new(),
            held: VecDeque::new(),
            admitted: VecDeque::new(),
            turns_away,
            is_blocked: false,
            blocked_until: Nanos::ZERO,
            held_back: HeldBack::default(),
            flushed: Nanos::ZERO,
            outcome: LaneOutcome::default(),
        }
    }

    /// Asks everything, waits for the answers, and gives back the sink with what was done.
    pub(crate) fn work(mut self) -> (LaneOutcome, S) {
        // Arrivals that still wait when patience with the last of them has ended are given up.
        let latest = self.task.extent.end().saturating_add(self.task.patience);
        self.clock.await_epoch();
        loop {
            self.look_around();
            let is_stopped = self.control.urgency() > Urgency::None;
            if is_stopped || self.outcome.trouble.is_some() || self.book.last >= latest {
                self.drop_waiting(Reason::RunEnded);
                break;
            }
            let answers = self.book.answers;
            let busy = match self.is_ready_to_burst() {
                true => self.ask_burst(),
                false => self.ask_some(),
            };
            self.client.poll(self.book.last, &mut self.book);
            match busy {
                // An answer may have made something possible: no rest before another look.
                Busy::Until(moment) if self.book.answers == answers => self.rest(moment),
                Busy::Over => break,
                Busy::Asked | Busy::Until(_) => {}
            }
        }
        self.drain();
        // The last answers came after the last look around.
        self.notice_failure();
        self.finish()
    }

    /// Everything that is due but is no operation: flushing, publishing, expiring, the outside.
    fn look_around(&mut self) {
        let now = self.book.last;
        self.task.asker.hear(now);
        if self.book.first_deadline() <= now {
            self.take_what_came(now);
            self.book.expire(now, self.client.as_mut());
        }
        if now.since(self.flushed) >= FLUSH_EVERY {
            self.flushed = now;
            self.book.sink.flush();
        }
        self.book.publish(now, PUBLISH_EVERY);
        if self.book.sink.is_broken() {
            self.trouble(Trouble::History);
        }
        self.notice_failure();
    }

    /// Takes the answers that are there already: the lane may not have run while they came, and
    /// that is no fault of the store.
    #[cold]
    fn take_what_came(&mut self, now: Nanos) {
        loop {
            let answers = self.book.answers;
            self.client.poll(now, &mut self.book);
            if self.book.answers == answers || self.book.first_deadline() > now {
                return;
            }
        }
    }

    /// Ends the run at the first failure, if that is wanted.
    fn notice_failure(&mut self) {
        if self.task.stop_at_failure && self.book.first_failure.is_some() {
            self.trouble(Trouble::Failure);
        }
    }

    fn trouble(&mut self, trouble: Trouble) {
        self.outcome.trouble.get_or_insert(trouble);
        self.control.drain();
    }

    /// Begins up to a burst of processes and goes on with those that have thought.
    fn ask_some(&mut self) -> Busy {
        for _ in 0..BURST {
            let thought = self.go_on();
            if !self.book.freed.is_empty() {
                self.task.asker.take_back(&mut self.book.freed);
            }
            if self.turns_away {
                if let Some(busy) = self.admit_and_ask(thought) {
                    return busy;
                }
                continue;
            }
            if self.is_bounded() && !self.task.asker.is_over(self.book.last) {
                return Busy::Until(thought.min(self.wait_at_bound()));
            }
            match self.task.asker.next(self.book.last) {
                Next::Ask(ask) => self.begin_or_trouble(ask),
                Next::At(moment) => {
                    // The time known here may be old: look at the clock before going to sleep.
                    self.book.last = self.clock.now();
                    if moment <= self.book.last {
                        return Busy::Asked;
                    }
                    self.held_back.end(self.book.last);
                    return Busy::Until(moment.min(thought));
                }
                Next::Over if self.book.in_flight() == 0 => return Busy::Over,
                Next::Over | Next::AwaitAnswer => return Busy::Until(thought),
            }
        }
        Busy::Asked
    }

    /// Goes on with processes in flight whose next operation is due; says when the next one is.
    #[inline]
    fn go_on(&mut self) -> Nanos {
        // An answer that comes at once may let the same process go on again.
        while let Some(slot) = self.book.continuing.pop() {
            let at = self.book.next_operation_at(slot);
            match at <= self.book.last {
                true => self.ask_or_hold(slot),
                false => self.thinking.push(Reverse((at, slot))),
            }
        }
        let is_idle = self.thinking.is_empty() && self.held.is_empty();
        if is_idle { Nanos::NEVER } else { self.wake_thinkers() }
    }

    fn wake_thinkers(&mut self) -> Nanos {
        while self.client.is_ready()
            && let Some(slot) = self.held.pop_front()
        {
            self.ask(slot);
        }
        while let Some(&Reverse((at, slot))) = self.thinking.peek() {
            if at > self.book.last {
                return at;
            }
            self.thinking.pop();
            self.ask_or_hold(slot);
        }
        Nanos::NEVER
    }

    /// Asks the next operation of `slot` if the client has room for it.
    ///
    /// A process within a transaction has a connection already: to let it wait for one could be
    /// to wait for ever, for others may wait for what it holds. Between two transactions it stands
    /// behind those that wait already, who would else wait until its last.
    #[inline]
    fn ask_or_hold(&mut self, slot: u32) {
        let has_room = self.held.is_empty() && self.client.is_ready();
        match has_room || self.book.is_in_transaction(slot) {
            true => self.ask(slot),
            false => self.held.push_back(slot),
        }
    }

    /// Whether no further process may begin now.
    #[inline]
    fn is_bounded(&self) -> bool {
        self.book.in_flight() >= self.task.in_flight || !self.client.is_ready()
    }

    /// A bound is reached and arrivals wait at it; tells when to look again.
    fn wait_at_bound(&mut self) -> Nanos {
        self.book.last = self.clock.now();
        match self.task.asker.next_arrival() {
            Some(arrival) if arrival > self.book.last => arrival,
            due => {
                self.is_blocked = true;
                if let Some(arrival) = due {
                    self.held_back.begin(arrival, self.book.last);
                }
                Nanos::NEVER
            }
        }
    }

    /// One step where the bound turns arrivals away: lets in what is due, begins one of them.
    ///
    /// An arrival that was let in holds its place among those in flight while it waits, so the
    /// bound holds for stores too that answer before the next request can be started.
    fn admit_and_ask(&mut self, thought: Nanos) -> Option<Busy> {
        self.admit();
        let arrival = self.task.asker.next_arrival();
        let until = arrival.unwrap_or(Nanos::NEVER).min(thought);
        if self.admitted.is_empty() {
            self.book.last = self.clock.now();
            if until > self.book.last && self.book.in_flight() < self.task.in_flight {
                self.held_back.end(self.book.last);
            }
            return Some(match arrival {
                Some(arrival) if arrival <= self.book.last => Busy::Asked,
                None if self.book.in_flight() == 0 => Busy::Over,
                _ => Busy::Until(until),
            });
        }
        if !self.client.is_ready() {
            self.is_blocked = true;
            if let Some(slot) = self.admitted.front() {
                self.held_back.begin(self.book.next_operation_at(*slot), self.book.last);
            }
            return Some(Busy::Until(until));
        }
        let slot = self.admitted.pop_front()?;
        self.note_wait(self.book.next_operation_at(slot));
        self.ask(slot);
        None
    }

    /// Lets in the arrivals that are due, as far as the bound allows.
    fn admit(&mut self) {
        let now = self.book.last;
        while self.task.asker.next_arrival().is_some_and(|arrival| arrival <= now) {
            let Next::Ask(ask) = self.task.asker.next(now) else { return };
            let is_full = self.book.in_flight() >= self.task.in_flight;
            if is_full {
                self.held_back.begin(ask.intended, now);
            }
            let done = match (is_full, self.task.overflow) {
                (false, _) => self.prepare(ask).map(|slot| self.admitted.extend(slot)),
                (true, Overflow::Abort) => {
                    self.trouble(Trouble::InFlightLimit);
                    self.drop_process(ask, Reason::InFlightLimit)
                }
                (true, _) => self.drop_process(ask, Reason::InFlightLimit),
            };
            if let Err(error) = done {
                return self.trouble(Trouble::Plan(error.to_string()));
            }
        }
    }

    /// Gives up what has not been asked at the end of the run: what was let in, then what is due.
    fn drop_waiting(&mut self, reason: Reason) {
        let now = self.clock.now();
        self.book.last = now;
        while let Some(slot) = self.admitted.pop_front() {
            let intended = self.book.next_operation_at(slot);
            self.book.drop_rest(slot, intended, reason);
        }
        // The closed model has no arrivals.
        while self.task.asker.next_arrival().is_some_and(|arrival| arrival <= now) {
            let Next::Ask(ask) = self.task.asker.next(now) else { return };
            if let Err(error) = self.drop_process(ask, reason) {
                return self.trouble(Trouble::Plan(error.to_string()));
            }
            self.book.freed.clear();
            if self.book.sink.is_broken() || self.is_out_of_grace(now) {
                return;
            }
        }
    }

    /// Whether somebody in a hurry has waited long enough since `ended` for arrivals that were due.
    fn is_out_of_grace(&self, ended: Nanos) -> bool {
        self.control.urgency() == Urgency::Abort && self.clock.now().since(ended) > GRACE
    }

    fn drop_process(&mut self, ask: Ask, reason: Reason) -> Result<(), SourceError> {
        if let Some(slot) = self.prepare(ask)? {
            self.book.drop_rest(slot, ask.intended, reason);
        }
        Ok(())
    }

    /// Puts the operations of a process into a slot; `None` if the plan has ended.
    #[inline]
    fn prepare(&mut self, ask: Ask) -> Result<Option<u32>, SourceError> {
        let slot = self.book.take_slot(&ask);
        let operations = self.book.operations(slot);
        let drawn = self.ahead.as_mut().and_then(|ahead| ahead.take(ask.process, operations));
        match drawn.unwrap_or_else(|| self.task.source.fill(ask.process, operations)) {
            Ok(Filled::Process) => {
                if self.task.asks == Asks::Queries {
                    self.fetch_arguments(slot);
                }
                self.note_asked(ask.intended);
                Ok(Some(slot))
            }
            Ok(Filled::End) => {
                self.task.asker.end();
                self.book.release(slot);
                Ok(None)
            }
            Err(error) => {
                self.book.release(slot);
                Err(error)
            }
        }
    }

    /// Notes the moment until which processes have been asked for.
    #[inline]
    fn note_asked(&mut self, intended: Nanos) {
        // What a session that is behind its pace asks now was intended long ago.
        let at = if self.book.is_open { intended } else { intended.max(self.book.last) };
        self.outcome.asked_until = self.outcome.asked_until.max(at);
    }

    #[inline(never)]
    fn fetch_arguments(&mut self, slot: u32) {
        self.task.source.arguments(self.book.arguments(slot));
    }

    #[inline]
    fn begin_or_trouble(&mut self, ask: Ask) {
        if let Err(error) = self.begin(ask) {
            self.trouble(Trouble::Plan(error.to_string()));
        }
    }

    /// Begins a process with its first operation.
    #[inline]
    fn begin(&mut self, ask: Ask) -> Result<(), SourceError> {
        self.note_wait(ask.intended);
        if let Some(slot) = self.prepare(ask)? {
            self.ask(slot);
        }
        Ok(())
    }

    /// Counts a process that is begun now if it has waited at a bound.
    #[inline]
    fn note_wait(&mut self, intended: Nanos) {
        if self.is_blocked {
            self.is_blocked = false;
            self.blocked_until = self.book.last;
        }
        // An arrival from before the bound was left has waited at it.
        if intended < self.blocked_until {
            self.outcome.queued += 1;
        }
    }

    /// Asks the next operation of the process in `slot`.
    #[inline]
    fn ask(&mut self, slot: u32) {
        if self.task.asks == Asks::Queries {
            return self.call(slot);
        }
        // Its parts are copied one by one: they have just been written as such, and reading them
        // in wider words would wait for those writes.
        let operation = self.book.operation(slot);
        let (kind, fields, limit) = (operation.kind, operation.fields, operation.limit);
        self.scratch.render(operation, self.task.render.as_ref(), self.task.fields.len());
        let started = self.clock.now();
        let (ticket, session) = self.book.open(slot, started);
        let request = Request {
            session,
            kind,
            table: 0,
            key: &self.scratch.key,
            fields,
            limit,
            values: Values::new(&self.scratch.spans, &self.scratch.values),
        };
        self.client.start(started, ticket, &request, &mut self.book);
        self.book.await_answer(ticket, started);
    }

    /// Asks the next query of the process in `slot`, or ends its transaction.
    ///
    /// Apart from the way of records, which it would make longer.
    #[inline(never)]
    fn call(&mut self, slot: u32) {
        self.scratch.parameters.clear();
        self.book.parameters(slot, &mut self.scratch.parameters);
        let operation = self.book.operation(slot);
        let step = match operation.kind {
            Kind::Commit => Step::Commit,
            Kind::Rollback => Step::Rollback,
            _ => Step::Query(operation.statement),
        };
        let begins = !operation.ends_transaction && !self.book.is_in_transaction(slot);
        let started = self.clock.now();
        let (ticket, session) = self.book.open(slot, started);
        let parameters = Parameters::new(&self.scratch.parameters);
        let call = Call { session, step, begins, parameters };
        self.client.call(started, ticket, &call, &mut self.book);
        self.book.await_answer(ticket, started);
    }

    fn rest(&mut self, until: Nanos) {
        let look = self.book.last + PUBLISH_EVERY;
        let until = until.min(look).min(self.book.first_deadline());
        self.clock.rest(self.client.as_mut(), self.book.in_flight(), until);
        self.book.last = self.clock.now();
    }

    /// Waits for what is in flight until patience ends, then gives it up.
    fn drain(&mut self) {
        let end = self.book.last.saturating_add(self.task.patience);
        while self.book.in_flight() > 0 && self.control.urgency() < Urgency::Abort {
            if self.book.last >= end {
                break;
            }
            self.look_around();
            let answers = self.book.answers;
            let next = self.go_on();
            self.client.poll(self.book.last, &mut self.book);
            if self.book.answers == answers && self.book.in_flight() > 0 {
                self.rest(next.min(end));
            }
        }
        self.book.last = self.clock.now();
        self.book.give_up(Reason::RunEnded, self.client.as_mut());
    }

    fn finish(mut self) -> (LaneOutcome, S) {
        self.book.sink.flush();
        self.held_back.end(self.book.last);
        let mut outcome = self.outcome;
        outcome.held_back = self.held_back.take();
        outcome.stalls = self.book.sink.stalls();
        outcome.ran_out = self.task.asker.has_run_out();
        outcome.ended = self.book.last;
        outcome.cpu = crate::clock::thread_time();
        self.book.settle(outcome)
    }
}

impl Scratch {
    /// How many bytes are rendered.
    fn bytes(&self) -> usize {
        self.key.len() + self.values.len()
    }

    #[inline]
    fn render(&mut self, operation: &Operation, render: &dyn Render, fields: usize) {
        self.key.clear();
        render.key(operation.key, &mut self.key);
        self.spans.clear();
        self.values.clear();
        if !matches!(operation.kind, Kind::Update | Kind::Insert) {
            return;
        }
        let written = match operation.fields {
            Fields::One(field) => field..field + 1,
            Fields::All | Fields::Named => 0..fields as u16,
        };
        for field in written {
            let begin = self.values.len() as u32;
            render.value(operation, field, &mut self.values);
            self.spans.push((field, begin..self.values.len() as u32));
        }
    }
}

/// The number of a request in flight: a slot, and how often the slot had been used before.
fn ticket(slot: u32, use_number: u64) -> Ticket {
    Ticket(use_number << 24 | u64::from(slot))
}

/// The version that `operation` writes if it is done, or [`version::NONE`].
#[inline]
fn version_of(operation: &Operation, render: &dyn Render) -> u64 {
    let writes = matches!(operation.kind, Kind::Update | Kind::Insert);
    match writes && operation.statement == 0 {
        true => render.version_written(operation),
        false => version::NONE,
    }
}

/// The slot that a ticket stands for.
fn slot_of(ticket: Ticket) -> usize {
    (ticket.0 & 0xFF_FFFF) as usize
}
