//! One thread of the executor: issues its share of the plan through its own client.

mod ahead;
mod burst;
mod held_back;
mod in_flight_table;
mod observe;
mod scheduler;
mod script;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use assay_model::{
    Fields, Filled, Kind, Nanos, Operation, OperationEncoder, Parameters, QueryRole, Reason,
    Source, SourceError, version,
};
use assay_store::{Call, Calls, Client, Request, Step, Ticket, Values};

use crate::clock::Clock;
use crate::control::{Control, Urgency};
use crate::live_counters::LiveCounters;
use crate::load::{Extent, Overflow, WorkloadKind};
use crate::sink::Sink;

use ahead::Ahead;
use held_back::HeldBack;
use in_flight_table::InFlightTable;
pub(crate) use scheduler::{Claims, ClosedLoop, DueProcess, Next, OpenLoop, Scheduler};

/// Processes that are begun between two looks at the network, the clock and the outside.
///
/// High enough to share the cost of a look, low enough that answers do not lie around: 16 requests
/// are encoded in a few microseconds.
const BURST: usize = 16;

/// How often buffered records are handed over: a crash loses at most the last second.
const FLUSH_EVERY: Nanos = Nanos::from_millis(500);

/// How often the live counters are published, and the longest time between a worker's checks of its
/// controls.
const PUBLISH_EVERY: Nanos = Nanos::from_millis(50);

/// How long a run that must end at once still records arrivals that were due and not issued: some
/// millions, which is more than wait unless a store has stalled for long.
const GRACE: Nanos = Nanos::from_millis(500);

/// The task of a worker.
pub(crate) struct Task {
    /// Where its processes come from.
    pub source: Box<dyn Source>,
    /// What turns numbers into bytes.
    pub encoder: Arc<dyn OperationEncoder>,
    /// The fields of the table, by number.
    pub fields: Arc<[String]>,
    /// The protocol of the plan's processes.
    pub workload_kind: WorkloadKind,
    /// What each query means to the judge, by its place in the catalogue.
    pub roles: Arc<[QueryRole]>,
    /// How the client answers.
    pub calls: Calls,
    /// When processes are issued.
    pub scheduler: Scheduler,
    /// The most processes in flight on this worker.
    pub in_flight: usize,
    /// What becomes of an arrival beyond that.
    pub overflow: Overflow,
    /// How long an answer is waited for.
    pub timeout: Nanos,
    /// The run's length.
    pub extent: Extent,
    /// Whether this is a load, whose records carry that phase.
    pub is_load: bool,
    /// Whether the first operation that fails ends the run.
    pub stop_at_failure: bool,
}

/// The outcome of a worker, other than its records.
#[derive(Clone, Debug, Default)]
pub struct WorkerOutcome {
    /// Operations offered: done + refused + unknown + dropped.
    pub offered: u64,
    /// Operations by outcome, in the order of the outcomes' codes.
    pub outcomes: [u64; 4],
    /// Done, but nothing was found.
    pub missed: u64,
    /// Processes that waited because no more could be in flight, by our bound or the client's.
    pub queued: u64,
    /// When arrivals waited because the bound on operations in flight was reached, in order of
    /// time, each stretch with its first and its last moment: of many the longest.
    pub held_back: Vec<(Nanos, Nanos)>,
    /// Responses that came after the timeout had expired.
    pub late_answers: u64,
    /// The most processes in flight at once.
    pub in_flight_max: usize,
    /// Sum of the fingerprints of all operations offered, modulo 2^128.
    pub fingerprint: u128,
    /// How often the history made the worker wait.
    pub stalls: u64,
    /// The time of its last operation: intended in the open model, else started.
    pub issued_until: Nanos,
    /// Whether the plan, or the number of processes, ended the load.
    pub ran_out: bool,
    /// When the worker ended.
    pub ended: Nanos,
    /// Processor time the worker's thread used.
    pub cpu: Nanos,
    /// Why the worker ended early, if it did.
    pub trouble: Option<AbortReason>,
    /// The first operation that failed.
    pub first_failure: Option<FailedOperation>,
}

/// The first operation of a worker that was refused or is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedOperation {
    /// The operation's number.
    pub index: u64,
    /// The record it was about.
    pub key: u64,
    /// Why it failed.
    pub reason: Reason,
    /// When.
    pub at: Nanos,
}

/// Why a worker ended before its plan did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AbortReason {
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
    /// An operation was issued; there may be more.
    IssueInfo,
    /// Nothing before this moment, unless an answer comes.
    Until(Nanos),
    /// Nothing more to issue, ever.
    Over,
}

/// A worker at work.
pub(crate) struct Worker<'a, C, S> {
    task: Task,
    client: Box<dyn Client>,
    clock: C,
    control: &'a Control,
    in_flight_table: InFlightTable<'a, C, S>,
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
    outcome: WorkerOutcome,
}

/// Buffers for the bytes of one request.
#[derive(Default)]
struct Scratch {
    key: Vec<u8>,
    values: Vec<u8>,
    spans: Vec<(u16, Range<u32>)>,
    parameters: Vec<u8>,
}

impl<'a, C: Clock + Clone, S: Sink> Worker<'a, C, S> {
    pub(crate) fn new(
        task: Task,
        client: Box<dyn Client>,
        clock: C,
        control: &'a Control,
        live_counters: &'a LiveCounters,
        sink: S,
    ) -> Worker<'a, C, S> {
        let in_flight_table = InFlightTable::new(&task, clock.clone(), live_counters, sink);
        let is_open = task.scheduler.next_arrival().is_some();
        let turns_away = is_open && task.overflow != Overflow::Queue;
        Worker {
            ahead: burst::may_burst(&task).then(Ahead::default),
            task,
            client,
            clock,
            control,
            in_flight_table,
            scratch: Scratch::default(),
            thinking: BinaryHeap::new(),
            held: VecDeque::new(),
            admitted: VecDeque::new(),
            turns_away,
            is_blocked: false,
            blocked_until: Nanos::ZERO,
            held_back: HeldBack::default(),
            flushed: Nanos::ZERO,
            outcome: WorkerOutcome::default(),
        }
    }

    /// Issues all operations, waits for the responses, and gives back the sink with the records.
    pub(crate) fn work(mut self) -> (WorkerOutcome, S) {
        // Arrivals that still wait when the last of them has timed out are given up.
        let latest = self.task.extent.end().saturating_add(self.task.timeout);
        self.clock.await_epoch();
        loop {
            self.look_around();
            let is_stopped = self.control.urgency() > Urgency::None;
            if is_stopped || self.outcome.trouble.is_some() || self.in_flight_table.last >= latest {
                self.drop_waiting(Reason::RunEnded);
                break;
            }
            let answers = self.in_flight_table.answers;
            let busy = match self.is_ready_to_burst() {
                true => self.issue_burst(),
                false => self.send_some(),
            };
            self.client.poll(self.in_flight_table.last, &mut self.in_flight_table);
            match busy {
                // An answer may have made something possible: no rest before another look.
                Busy::Until(moment) if self.in_flight_table.answers == answers => self.rest(moment),
                Busy::Over => break,
                Busy::IssueInfo | Busy::Until(_) => {}
            }
        }
        self.drain();
        // The last answers came after the last look around.
        self.notice_failure();
        self.finish()
    }

    /// Everything that is due but is no operation: flushing, publishing, expiring, the outside.
    fn look_around(&mut self) {
        let now = self.in_flight_table.last;
        self.task.scheduler.hear(now);
        if self.in_flight_table.first_deadline() <= now {
            self.take_what_came(now);
            self.in_flight_table.expire(now, self.client.as_mut());
        }
        if now.since(self.flushed) >= FLUSH_EVERY {
            self.flushed = now;
            self.in_flight_table.sink.flush();
        }
        self.in_flight_table.publish(now, PUBLISH_EVERY);
        if self.in_flight_table.sink.is_broken() {
            self.trouble(AbortReason::History);
        }
        self.notice_failure();
    }

    /// Takes the responses that are there already: the worker may not have run while they came, and
    /// that is no fault of the store.
    #[cold]
    fn take_what_came(&mut self, now: Nanos) {
        loop {
            let answers = self.in_flight_table.answers;
            self.client.poll(now, &mut self.in_flight_table);
            if self.in_flight_table.answers == answers
                || self.in_flight_table.first_deadline() > now
            {
                return;
            }
        }
    }

    /// Ends the run at the first failure, if that is wanted.
    fn notice_failure(&mut self) {
        if self.task.stop_at_failure && self.in_flight_table.first_failure.is_some() {
            self.trouble(AbortReason::Failure);
        }
    }

    fn trouble(&mut self, trouble: AbortReason) {
        self.outcome.trouble.get_or_insert(trouble);
        self.control.drain();
    }

    /// Begins up to a burst of processes and goes on with those that have thought.
    fn send_some(&mut self) -> Busy {
        for _ in 0..BURST {
            let thought = self.go_on();
            if !self.in_flight_table.freed.is_empty() {
                self.task.scheduler.take_back(&mut self.in_flight_table.freed);
            }
            if self.turns_away {
                if let Some(busy) = self.admit_and_issue(thought) {
                    return busy;
                }
                continue;
            }
            if self.is_bounded() && !self.task.scheduler.is_over(self.in_flight_table.last) {
                return Busy::Until(thought.min(self.wait_at_bound()));
            }
            match self.task.scheduler.next(self.in_flight_table.last) {
                Next::Issue(due) => self.begin_or_trouble(due),
                Next::At(moment) => {
                    // The time known here may be old: look at the clock before going to sleep.
                    self.in_flight_table.last = self.clock.now();
                    if moment <= self.in_flight_table.last {
                        return Busy::IssueInfo;
                    }
                    self.held_back.end(self.in_flight_table.last);
                    return Busy::Until(moment.min(thought));
                }
                Next::Over if self.in_flight_table.in_flight() == 0 => return Busy::Over,
                Next::Over | Next::AwaitAnswer => return Busy::Until(thought),
            }
        }
        Busy::IssueInfo
    }

    /// Goes on with processes in flight whose next operation is due; says when the next one is.
    #[inline]
    fn go_on(&mut self) -> Nanos {
        // An answer that comes at once may let the same process go on again.
        while let Some(slot) = self.in_flight_table.continuing.pop() {
            let at = self.in_flight_table.next_operation_at(slot);
            match at <= self.in_flight_table.last {
                true => self.issue_or_hold(slot),
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
            self.issue(slot);
        }
        while let Some(&Reverse((at, slot))) = self.thinking.peek() {
            if at > self.in_flight_table.last {
                return at;
            }
            self.thinking.pop();
            self.issue_or_hold(slot);
        }
        Nanos::NEVER
    }

    /// Issues the next operation of `slot` if the client has room for it.
    ///
    /// A process within a transaction has a connection already: to let it wait for one could be
    /// to wait for ever, for others may wait for what it holds. Between two transactions it stands
    /// behind those that wait already, who would else wait until its last.
    #[inline]
    fn issue_or_hold(&mut self, slot: u32) {
        let has_room = self.held.is_empty() && self.client.is_ready();
        match has_room || self.in_flight_table.is_in_transaction(slot) {
            true => self.issue(slot),
            false => self.held.push_back(slot),
        }
    }

    /// Whether no further process may begin now.
    #[inline]
    fn is_bounded(&self) -> bool {
        self.in_flight_table.in_flight() >= self.task.in_flight || !self.client.is_ready()
    }

    /// A bound is reached and arrivals wait at it; tells when to look again.
    fn wait_at_bound(&mut self) -> Nanos {
        self.in_flight_table.last = self.clock.now();
        match self.task.scheduler.next_arrival() {
            Some(arrival) if arrival > self.in_flight_table.last => arrival,
            due => {
                self.is_blocked = true;
                if let Some(arrival) = due {
                    self.held_back.begin(arrival, self.in_flight_table.last);
                }
                Nanos::NEVER
            }
        }
    }

    /// One step where the bound turns arrivals away: lets in what is due, begins one of them.
    ///
    /// An arrival that was let in holds its place among those in flight while it waits, so the
    /// bound holds for stores too that answer before the next request can be started.
    fn admit_and_issue(&mut self, thought: Nanos) -> Option<Busy> {
        self.admit();
        let arrival = self.task.scheduler.next_arrival();
        let until = arrival.unwrap_or(Nanos::NEVER).min(thought);
        if self.admitted.is_empty() {
            self.in_flight_table.last = self.clock.now();
            if until > self.in_flight_table.last
                && self.in_flight_table.in_flight() < self.task.in_flight
            {
                self.held_back.end(self.in_flight_table.last);
            }
            return Some(match arrival {
                Some(arrival) if arrival <= self.in_flight_table.last => Busy::IssueInfo,
                None if self.in_flight_table.in_flight() == 0 => Busy::Over,
                _ => Busy::Until(until),
            });
        }
        if !self.client.is_ready() {
            self.is_blocked = true;
            if let Some(slot) = self.admitted.front() {
                self.held_back.begin(
                    self.in_flight_table.next_operation_at(*slot),
                    self.in_flight_table.last,
                );
            }
            return Some(Busy::Until(until));
        }
        let slot = self.admitted.pop_front()?;
        self.note_wait(self.in_flight_table.next_operation_at(slot));
        self.issue(slot);
        None
    }

    /// Lets in the arrivals that are due, as far as the bound allows.
    fn admit(&mut self) {
        let now = self.in_flight_table.last;
        while self.task.scheduler.next_arrival().is_some_and(|arrival| arrival <= now) {
            let Next::Issue(due) = self.task.scheduler.next(now) else { return };
            let is_full = self.in_flight_table.in_flight() >= self.task.in_flight;
            if is_full {
                self.held_back.begin(due.intended, now);
            }
            let done = match (is_full, self.task.overflow) {
                (false, _) => self.prepare(due).map(|slot| self.admitted.extend(slot)),
                (true, Overflow::Abort) => {
                    self.trouble(AbortReason::InFlightLimit);
                    self.drop_process(due, Reason::InFlightLimit)
                }
                (true, _) => self.drop_process(due, Reason::InFlightLimit),
            };
            if let Err(error) = done {
                return self.trouble(AbortReason::Plan(error.to_string()));
            }
        }
    }

    /// Drops what has not been issued at the end of the run: admitted operations, then arrivals
    /// that are due.
    fn drop_waiting(&mut self, reason: Reason) {
        let now = self.clock.now();
        self.in_flight_table.last = now;
        while let Some(slot) = self.admitted.pop_front() {
            let intended = self.in_flight_table.next_operation_at(slot);
            self.in_flight_table.drop_rest(slot, intended, reason);
        }
        // The closed model has no arrivals.
        while self.task.scheduler.next_arrival().is_some_and(|arrival| arrival <= now) {
            let Next::Issue(due) = self.task.scheduler.next(now) else { return };
            if let Err(error) = self.drop_process(due, reason) {
                return self.trouble(AbortReason::Plan(error.to_string()));
            }
            self.in_flight_table.freed.clear();
            if self.in_flight_table.sink.is_broken() || self.is_out_of_grace(now) {
                return;
            }
        }
    }

    /// Whether an aborted run has waited long enough since `ended` for arrivals that were due.
    fn is_out_of_grace(&self, ended: Nanos) -> bool {
        self.control.urgency() == Urgency::Abort && self.clock.now().since(ended) > GRACE
    }

    fn drop_process(&mut self, due: DueProcess, reason: Reason) -> Result<(), SourceError> {
        if let Some(slot) = self.prepare(due)? {
            self.in_flight_table.drop_rest(slot, due.intended, reason);
        }
        Ok(())
    }

    /// Puts the operations of a process into a slot; `None` if the plan has ended.
    #[inline]
    fn prepare(&mut self, due: DueProcess) -> Result<Option<u32>, SourceError> {
        let slot = self.in_flight_table.take_slot(&due);
        let operations = self.in_flight_table.operations(slot);
        let drawn = self.ahead.as_mut().and_then(|ahead| ahead.take(due.process, operations));
        match drawn.unwrap_or_else(|| self.task.source.fill(due.process, operations)) {
            Ok(Filled::Process) => {
                if self.task.workload_kind == WorkloadKind::Queries {
                    self.fetch_arguments(slot);
                }
                self.note_issued(due.intended);
                Ok(Some(slot))
            }
            Ok(Filled::End) => {
                self.task.scheduler.end();
                self.in_flight_table.release(slot);
                Ok(None)
            }
            Err(error) => {
                self.in_flight_table.release(slot);
                Err(error)
            }
        }
    }

    /// Notes the moment until which processes have been issued.
    #[inline]
    fn note_issued(&mut self, intended: Nanos) {
        // A session that is behind its target throughput issues now what was intended long ago.
        let at = if self.in_flight_table.is_open {
            intended
        } else {
            intended.max(self.in_flight_table.last)
        };
        self.outcome.issued_until = self.outcome.issued_until.max(at);
    }

    #[inline(never)]
    fn fetch_arguments(&mut self, slot: u32) {
        self.task.source.arguments(self.in_flight_table.arguments(slot));
    }

    #[inline]
    fn begin_or_trouble(&mut self, due: DueProcess) {
        if let Err(error) = self.begin(due) {
            self.trouble(AbortReason::Plan(error.to_string()));
        }
    }

    /// Begins a process with its first operation.
    #[inline]
    fn begin(&mut self, due: DueProcess) -> Result<(), SourceError> {
        self.note_wait(due.intended);
        if let Some(slot) = self.prepare(due)? {
            self.issue(slot);
        }
        Ok(())
    }

    /// Counts a process that is begun now if it has waited at a bound.
    #[inline]
    fn note_wait(&mut self, intended: Nanos) {
        if self.is_blocked {
            self.is_blocked = false;
            self.blocked_until = self.in_flight_table.last;
        }
        // An arrival from before the bound was left has waited at it.
        if intended < self.blocked_until {
            self.outcome.queued += 1;
        }
    }

    /// Issues the next operation of the process in `slot`.
    #[inline]
    fn issue(&mut self, slot: u32) {
        if self.task.workload_kind == WorkloadKind::Queries {
            return self.call(slot);
        }
        // Its parts are copied one by one: they have just been written as such, and reading them
        // in wider words would wait for those writes.
        let operation = self.in_flight_table.operation(slot);
        let (kind, fields, limit) = (operation.kind, operation.fields, operation.limit);
        self.scratch.encoder(operation, self.task.encoder.as_ref(), self.task.fields.len());
        let started = self.clock.now();
        let (ticket, session) = self.in_flight_table.open(slot, started);
        let request = Request {
            session,
            kind,
            table: 0,
            key: &self.scratch.key,
            fields,
            limit,
            end: &[],
            wants_keys: false,
            values: Values::new(&self.scratch.spans, &self.scratch.values),
        };
        self.client.start(started, ticket, &request, &mut self.in_flight_table);
        self.in_flight_table.await_answer(ticket, started);
    }

    /// Issues the next query of the process in `slot`, or ends its transaction.
    ///
    /// Apart from the way of records, which it would make longer.
    #[inline(never)]
    fn call(&mut self, slot: u32) {
        self.scratch.parameters.clear();
        self.in_flight_table.parameters(slot, &mut self.scratch.parameters);
        let operation = self.in_flight_table.operation(slot);
        let step = match operation.kind {
            Kind::Commit => Step::Commit,
            Kind::Rollback => Step::Rollback,
            _ => Step::Query(operation.statement),
        };
        let begins = !operation.ends_transaction && !self.in_flight_table.is_in_transaction(slot);
        let started = self.clock.now();
        let (ticket, session) = self.in_flight_table.open(slot, started);
        let parameters = Parameters::new(&self.scratch.parameters);
        self.in_flight_table.keep_arguments(slot, &parameters);
        let call = Call { session, step, begins, parameters };
        self.client.call(started, ticket, &call, &mut self.in_flight_table);
        self.in_flight_table.await_answer(ticket, started);
    }

    fn rest(&mut self, until: Nanos) {
        let look = self.in_flight_table.last + PUBLISH_EVERY;
        let until = until.min(look).min(self.in_flight_table.first_deadline());
        self.clock.rest(self.client.as_mut(), self.in_flight_table.in_flight(), until);
        self.in_flight_table.last = self.clock.now();
    }

    /// Waits for operations in flight until the timeout expires, then gives them up.
    fn drain(&mut self) {
        let end = self.in_flight_table.last.saturating_add(self.task.timeout);
        while self.in_flight_table.in_flight() > 0 && self.control.urgency() < Urgency::Abort {
            if self.in_flight_table.last >= end {
                break;
            }
            self.look_around();
            let answers = self.in_flight_table.answers;
            let next = self.go_on();
            self.client.poll(self.in_flight_table.last, &mut self.in_flight_table);
            if self.in_flight_table.answers == answers && self.in_flight_table.in_flight() > 0 {
                self.rest(next.min(end));
            }
        }
        self.in_flight_table.last = self.clock.now();
        self.in_flight_table.give_up(Reason::RunEnded, self.client.as_mut());
    }

    fn finish(mut self) -> (WorkerOutcome, S) {
        self.in_flight_table.sink.flush();
        self.held_back.end(self.in_flight_table.last);
        let mut outcome = self.outcome;
        outcome.held_back = self.held_back.take();
        outcome.stalls = self.in_flight_table.sink.stalls();
        outcome.ran_out = self.task.scheduler.has_run_out();
        outcome.ended = self.in_flight_table.last;
        outcome.cpu = crate::clock::thread_time();
        self.in_flight_table.finish(outcome)
    }
}

impl Scratch {
    /// How many bytes are rendered.
    fn bytes(&self) -> usize {
        self.key.len() + self.values.len()
    }

    #[inline]
    fn encoder(&mut self, operation: &Operation, encoder: &dyn OperationEncoder, fields: usize) {
        self.key.clear();
        encoder.key(operation.key, &mut self.key);
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
            encoder.value(operation, field, &mut self.values);
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
fn version_of(operation: &Operation, encoder: &dyn OperationEncoder, roles: &[QueryRole]) -> u64 {
    let writes = matches!(operation.kind, Kind::Update | Kind::Insert);
    match (writes, operation.statement) {
        (false, _) => version::NONE,
        (true, 0) => encoder.version_written(operation),
        (true, statement) => match role_of(roles, statement).writes_once() {
            true => version::written(operation.index),
            false => version::NONE,
        },
    }
}

/// What the query that `statement` names means to the judge.
#[inline]
fn role_of(roles: &[QueryRole], statement: u16) -> QueryRole {
    let place = usize::from(statement).wrapping_sub(1);
    roles.get(place).copied().unwrap_or_default()
}

/// The slot that a ticket stands for.
fn slot_of(ticket: Ticket) -> usize {
    (ticket.0 & 0xFF_FFFF) as usize
}
