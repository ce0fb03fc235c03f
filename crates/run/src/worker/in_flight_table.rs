//! In-flight table of a worker: operations from their start to their record.

use std::collections::VecDeque;
use std::sync::Arc;

use assay_model::operation::fingerprint_with;
use assay_model::{
    Arguments, Ends, Kind, Nanos, Operation, OperationEncoder, Outcome, Parameters, Phase,
    QueryRole, Reason, Record, Verified, version,
};
use assay_store::{Answer, Answers, Client, Reply, Ticket};

use crate::clock::Clock;
use crate::live_counters::{LiveCounters, WorkerStats};
use crate::load::WorkloadKind;
use crate::sink::Sink;
use crate::worker::observe::{observe, observe_owners, told};
use crate::worker::scheduler::{DueProcess, Freed, Scheduler};
use crate::worker::script::Script;
use crate::worker::{FailedOperation, Task, WorkerOutcome, role_of, slot_of, ticket, version_of};

/// Deadlines that are kept beyond two for each slot before those that are over are sought.
const DEADLINES_KEPT: usize = 1024;

/// The slots of a worker, and all state that a response changes.
pub(super) struct InFlightTable<'a, C, S> {
    /// Where records go.
    pub sink: S,
    /// The last moment that is known, by an answer or a look at the clock.
    pub last: Nanos,
    /// Slots whose process has another operation to issue.
    pub continuing: Vec<u32>,
    /// Sessions of the closed model that may issue again.
    pub freed: Vec<Freed>,
    /// How many answers have come.
    pub answers: u64,
    /// The first operation that failed.
    pub first_failure: Option<FailedOperation>,
    clock: C,
    live_counters: &'a LiveCounters,
    encoder: Arc<dyn OperationEncoder>,
    fields: Arc<[String]>,
    verifies: bool,
    /// Whether a read that finds several versions saw a part of a write.
    writes_all_fields: bool,
    workload_kind: WorkloadKind,
    roles: Arc<[QueryRole]>,
    is_load: bool,
    /// Whether arrivals decide when something is issued.
    pub is_open: bool,
    warm_up: Nanos,
    timeout: Nanos,
    slots: Vec<Slot>,
    free: Vec<u32>,
    deadlines: VecDeque<(Nanos, Ticket)>,
    issued: u64,
    in_flight_max: usize,
    late_answers: u64,
    outcomes: [u64; 4],
    missed: u64,
    fingerprint: u128,
    stats: WorkerStats,
    published: Nanos,
}

/// A process in flight.
struct Slot {
    operations: Vec<Operation>,
    at: usize,
    process: u64,
    session: u32,
    worker_session: u32,
    intended: Nanos,
    started: Nanos,
    waiting_for: Option<Ticket>,
    is_free: bool,
    /// Requests that its operation in flight took, where the client tells.
    requests: u16,
    /// The node that its operation in flight went to, where the client tells.
    node: u8,
    /// Whether a transaction is open.
    is_in_transaction: bool,
    /// Whether the outcome of one of its queries is unknown, so that its session may still be at
    /// work.
    is_in_doubt: bool,
    /// Only where the plan issues queries.
    script: Option<Box<Script>>,
}

/// What is known of an operation beside what the plan says and the store answers.
pub(super) struct IssueInfo {
    pub process: u64,
    pub session: u32,
    pub intended: Nanos,
    pub started: Nanos,
    pub requests: u16,
    pub node: u8,
    pub ends_process: bool,
    /// The version that it writes unless it is refused or dropped, or [`version::NONE`].
    pub version: u64,
}

/// What the issuing worker needs to know of a response.
#[derive(Clone, Copy)]
pub(super) struct Answered {
    pub outcome: Outcome,
    pub reason: Reason,
    /// Whether there were rows to be looked through.
    pub has_rows: bool,
}

/// What an answer says, before it is a record.
struct Ended {
    outcome: Outcome,
    reason: Reason,
    found: bool,
    rows: u32,
    bytes: u32,
    version_read: u64,
    verified: Verified,
    verify_ns: u32,
}

impl Ended {
    fn without_reply(outcome: Outcome, reason: Reason) -> Ended {
        Ended {
            outcome,
            reason,
            found: false,
            rows: 0,
            bytes: 0,
            version_read: version::NONE,
            verified: Verified::No,
            verify_ns: 0,
        }
    }
}

impl<'a, C: Clock, S: Sink> InFlightTable<'a, C, S> {
    pub fn new(
        task: &Task,
        clock: C,
        live_counters: &'a LiveCounters,
        sink: S,
    ) -> InFlightTable<'a, C, S> {
        InFlightTable {
            sink,
            last: Nanos::ZERO,
            continuing: Vec::new(),
            freed: Vec::new(),
            answers: 0,
            first_failure: None,
            clock,
            live_counters,
            encoder: Arc::clone(&task.encoder),
            fields: Arc::clone(&task.fields),
            verifies: task.encoder.verifies(),
            writes_all_fields: task.encoder.writes_all_fields(),
            workload_kind: task.workload_kind,
            roles: Arc::clone(&task.roles),
            is_load: task.is_load,
            is_open: matches!(task.scheduler, Scheduler::Open(_)),
            warm_up: task.extent.warm_up,
            timeout: task.timeout,
            slots: Vec::new(),
            free: Vec::new(),
            deadlines: VecDeque::new(),
            issued: 0,
            in_flight_max: 0,
            late_answers: 0,
            outcomes: [0; 4],
            missed: 0,
            fingerprint: 0,
            stats: WorkerStats::default(),
            published: Nanos::ZERO,
        }
    }

    /// Processes that have been begun and not ended.
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// A slot for a new process.
    #[inline]
    pub fn take_slot(&mut self, due: &DueProcess) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                operations: Vec::new(),
                at: 0,
                process: 0,
                session: 0,
                worker_session: 0,
                intended: Nanos::ZERO,
                started: Nanos::ZERO,
                waiting_for: None,
                is_free: true,
                requests: 1,
                node: 0,
                is_in_transaction: false,
                is_in_doubt: false,
                script: (self.workload_kind == WorkloadKind::Queries).then(Box::default),
            });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[number as usize];
        slot.is_free = false;
        slot.at = 0;
        slot.process = due.process;
        slot.session = due.session;
        slot.worker_session = due.worker_session;
        slot.intended = due.intended;
        slot.is_in_transaction = false;
        slot.is_in_doubt = false;
        number
    }

    /// The list to be filled with the operations of the process in `slot`.
    #[inline]
    pub fn operations(&mut self, slot: u32) -> &mut Vec<Operation> {
        &mut self.slots[slot as usize].operations
    }

    /// The buffer to be filled with the arguments of the process in `slot`.
    ///
    /// # Panics
    /// If the plan issues no queries.
    pub fn arguments(&mut self, slot: u32) -> &mut Arguments {
        let script = self.slots[slot as usize].script.as_mut().expect("the plan issues queries");
        script.begin();
        &mut script.arguments
    }

    /// Appends the arguments of the next operation of `slot`.
    pub fn parameters(&self, slot: u32, into: &mut Vec<u8>) {
        let slot = &self.slots[slot as usize];
        if let Some(script) = &slot.script {
            script.parameters(slot.at, into);
        }
    }

    /// Keeps the arguments of the next operation of `slot` if they are to be judged: whatever
    /// becomes of it, this is what it tried to write.
    pub fn keep_arguments(&mut self, slot: u32, arguments: &Parameters<'_>) {
        let slot = &self.slots[slot as usize];
        let operation = &slot.operations[slot.at];
        if role_of(&self.roles, operation.statement).shows_arguments() {
            observe_owners(operation, arguments, &mut |value| self.sink.observe(value));
        }
    }

    /// Whether the process in `slot` has a transaction open.
    #[inline]
    pub fn is_in_transaction(&self, slot: u32) -> bool {
        self.slots[slot as usize].is_in_transaction
    }

    /// The operation that is next in `slot`.
    #[inline]
    pub fn operation(&self, slot: u32) -> &Operation {
        let slot = &self.slots[slot as usize];
        &slot.operations[slot.at]
    }

    /// When the next operation of the process in `slot` is due.
    #[inline]
    pub fn next_operation_at(&self, slot: u32) -> Nanos {
        self.slots[slot as usize].intended
    }

    /// The next operation of `slot` is sent now. Returns its ticket and its session within the
    /// worker.
    #[inline(always)]
    pub fn open(&mut self, slot: u32, started: Nanos) -> (Ticket, u32) {
        let slot_requested = &mut self.slots[slot as usize];
        let fingerprint = match self.workload_kind {
            WorkloadKind::Records => slot_requested.operations[slot_requested.at].fingerprint(),
            WorkloadKind::Queries => slot_requested.fingerprint(),
        };
        let (ticket, session) = self.issue(slot, started, fingerprint);
        let slot = &mut self.slots[slot as usize];
        slot.started = started;
        slot.waiting_for = Some(ticket);
        slot.requests = 1;
        slot.node = 0;
        (ticket, session)
    }

    /// An operation is issued now, which need not be in its `slot`. Gives its ticket and its
    /// session within the worker.
    #[inline(always)]
    pub fn issue(&mut self, slot: u32, started: Nanos, fingerprint: u128) -> (Ticket, u32) {
        let ticket = ticket(slot, self.issued);
        self.issued += 1;
        self.last = started;
        self.in_flight_max = self.in_flight_max.max(self.in_flight());
        self.fingerprint = self.fingerprint.wrapping_add(fingerprint);
        self.stats.offered += 1;
        (ticket, self.slots[slot as usize].worker_session)
    }

    /// Takes the answer to a process of one operation that is not in its slot.
    #[inline]
    pub fn answer_awaited(
        &mut self,
        operation: &Operation,
        issued: &IssueInfo,
        answer: &Answer<'_>,
    ) -> Answered {
        let ended_at = self.clock.now();
        self.last = ended_at;
        self.answers += 1;
        let ended = self.ended(operation, answer);
        let record = self.record(operation, issued, ended_at, &ended);
        self.count(&record);
        self.sink.push(record);
        self.stats.processes += 1;
        Answered { outcome: ended.outcome, reason: ended.reason, has_rows: ended.rows > 0 }
    }

    /// Puts a process of one operation, which has left and waits for its answer, into its slot.
    #[cold]
    pub fn keep_waiting(
        &mut self,
        number: u32,
        due: &DueProcess,
        operations: &mut Vec<Operation>,
        ticket: Ticket,
        issued: &IssueInfo,
    ) {
        let slot = &mut self.slots[number as usize];
        std::mem::swap(&mut slot.operations, operations);
        slot.process = due.process;
        slot.intended = due.intended;
        slot.started = issued.started;
        slot.waiting_for = Some(ticket);
        slot.requests = issued.requests;
        slot.node = issued.node;
        self.await_answer(ticket, issued.started);
    }

    /// Frees the slot of a burst whose last process was `due`.
    #[inline]
    pub fn end_burst(&mut self, number: u32, due: &DueProcess, answered: &Answered) {
        let (session, process, at, reason) = (due.session, due.process, self.last, answered.reason);
        let is_unknown = answered.outcome == Outcome::Unknown;
        self.freed.push(Freed { session, process, at, reason, is_unknown });
        self.release(number);
    }

    /// Remembers the timeout of `ticket`, unless it has been completed already.
    #[inline]
    pub fn await_answer(&mut self, ticket: Ticket, started: Nanos) {
        if self.slots[slot_of(ticket)].waiting_for == Some(ticket) {
            if self.deadlines.len() >= 2 * self.slots.len() + DEADLINES_KEPT {
                self.forget_answered();
            }
            self.deadlines.push_back((started.saturating_add(self.timeout), ticket));
        }
    }

    /// Drops the deadlines of what has been answered: one request that is not answered would keep
    /// those of all after it.
    #[cold]
    fn forget_answered(&mut self) {
        let slots = &self.slots;
        self.deadlines.retain(|&(_, ticket)| slots[slot_of(ticket)].waiting_for == Some(ticket));
    }

    /// The moment at which the oldest request times out.
    pub fn first_deadline(&mut self) -> Nanos {
        while let Some(&(deadline, ticket)) = self.deadlines.front() {
            if self.slots[slot_of(ticket)].waiting_for == Some(ticket) {
                return deadline;
            }
            self.deadlines.pop_front();
        }
        Nanos::NEVER
    }

    /// Times out the requests that have been in flight for too long.
    pub fn expire(&mut self, now: Nanos, client: &mut dyn Client) {
        while self.first_deadline() <= now {
            let Some((_, ticket)) = self.deadlines.pop_front() else { return };
            client.abandon(ticket);
            self.last = self.clock.now();
            let ended = Ended::without_reply(Outcome::Unknown, Reason::Timeout);
            self.complete(slot_of(ticket), self.last, ended);
        }
    }

    /// Ends everything in flight, now.
    pub fn give_up(&mut self, reason: Reason, client: &mut dyn Client) {
        self.continuing.clear();
        for number in 0..self.slots.len() {
            if self.slots[number].is_free {
                continue;
            }
            if self.slots[number].is_in_transaction {
                client.abort(self.slots[number].worker_session);
            }
            // The rest of a process that is given up is not issued, whatever its plan.
            let all = self.slots[number].operations.len();
            match self.slots[number].waiting_for {
                Some(_) => {
                    let ended = Ended::without_reply(Outcome::Unknown, reason);
                    self.end_operation(number, self.last, &ended);
                    self.drop_operations(number as u32, all, self.last, Reason::TransactionFailed);
                    self.release_after(number as u32, self.last, reason, true);
                }
                None => {
                    let intended = self.next_operation_at(number as u32);
                    self.drop_rest(number as u32, intended, reason);
                }
            }
        }
    }

    /// Records the operations of `slot` that have not been issued as dropped, and frees it.
    pub fn drop_rest(&mut self, number: u32, intended: Nanos, reason: Reason) {
        let all = self.slots[number as usize].operations.len();
        self.drop_operations(number, all, intended, reason);
        self.release_after(number, self.last.max(intended), reason, false);
    }

    /// Records the operations of a slot up to the one at `end` as dropped.
    fn drop_operations(&mut self, number: u32, end: usize, intended: Nanos, reason: Reason) {
        let now = self.last.max(intended);
        let slot = &mut self.slots[number as usize];
        slot.started = now;
        slot.intended = intended;
        slot.requests = 0;
        slot.node = 0;
        while self.slots[number as usize].at < end {
            let fingerprint = self.slots[number as usize].fingerprint();
            self.fingerprint = self.fingerprint.wrapping_add(fingerprint);
            self.stats.offered += 1;
            let ended = Ended::without_reply(Outcome::Dropped, reason);
            self.write_record(number as usize, now, &ended);
            self.slots[number as usize].at += 1;
        }
    }

    /// Frees a slot whose process turned out not to exist.
    #[inline]
    pub fn release(&mut self, number: u32) {
        let slot = &mut self.slots[number as usize];
        slot.waiting_for = None;
        slot.is_free = true;
        self.free.push(number);
    }

    #[inline]
    fn release_after(&mut self, number: u32, at: Nanos, reason: Reason, is_unknown: bool) {
        let slot = &self.slots[number as usize];
        let (session, process) = (slot.session, slot.process);
        self.stats.processes += 1;
        self.freed.push(Freed { session, process, at, reason, is_unknown });
        self.release(number);
    }

    /// Writes the record of the operation that ended and goes on with its process.
    #[inline]
    fn complete(&mut self, number: usize, ended_at: Nanos, ended: Ended) {
        self.end_operation(number, ended_at, &ended);
        if ended.outcome != Outcome::Done
            && self.slots[number].at < self.slots[number].operations.len()
        {
            let end = self.end_of_failed(number);
            self.drop_operations(number as u32, end, ended_at, Reason::TransactionFailed);
        }
        let slot = &mut self.slots[number];
        if slot.at < slot.operations.len() {
            slot.intended = ended_at + slot.operations[slot.at].think;
            self.continuing.push(number as u32);
            return;
        }
        let is_unknown = ended.outcome == Outcome::Unknown || slot.is_in_doubt;
        self.release_after(number as u32, ended_at, ended.reason, is_unknown);
    }

    /// Writes the record of the operation that ended; the next one is now the slot's.
    #[inline]
    fn end_operation(&mut self, number: usize, ended_at: Nanos, ended: &Ended) {
        self.write_record(number, ended_at, ended);
        let slot = &mut self.slots[number];
        slot.waiting_for = None;
        if self.workload_kind == WorkloadKind::Queries {
            let ends = slot.operations[slot.at].ends_transaction;
            slot.is_in_transaction = !ends && ended.outcome == Outcome::Done;
            slot.is_in_doubt |= ended.outcome == Outcome::Unknown;
        }
        slot.at += 1;
    }

    /// The end of the operations that are not issued because the one before the slot's next has
    /// failed.
    ///
    /// A client that gets an error is gone, with all that it would have issued. A process of
    /// queries gives up its transaction and begins the next: aborts are part of normal operation.
    fn end_of_failed(&self, number: usize) -> usize {
        let slot = &self.slots[number];
        let failed = slot.operations[slot.at - 1].transaction;
        let rest = &slot.operations[slot.at..];
        match self.workload_kind {
            WorkloadKind::Records => slot.operations.len(),
            WorkloadKind::Queries => {
                slot.at + rest.iter().take_while(|next| next.transaction == failed).count()
            }
        }
    }

    #[inline]
    fn write_record(&mut self, number: usize, ended_at: Nanos, ended: &Ended) {
        let slot = &self.slots[number];
        let operation = &slot.operations[slot.at];
        let issued = IssueInfo {
            process: slot.process,
            session: slot.session,
            intended: slot.intended,
            started: slot.started,
            requests: slot.requests,
            node: slot.node,
            ends_process: slot.at + 1 == slot.operations.len(),
            version: version_of(operation, self.encoder.as_ref(), &self.roles),
        };
        let record = self.record(operation, &issued, ended_at, ended);
        self.count(&record);
        self.sink.push(record);
    }

    #[inline(always)]
    fn record(
        &self,
        operation: &Operation,
        issued: &IssueInfo,
        ended_at: Nanos,
        ended: &Ended,
    ) -> Record {
        Record {
            index: operation.index,
            process: issued.process,
            key: operation.key,
            intended: issued.intended,
            started: issued.started,
            ended: ended_at,
            version_written: match ended.outcome {
                Outcome::Done | Outcome::Unknown => issued.version,
                Outcome::Refused | Outcome::Dropped => version::NONE,
            },
            version_read: ended.version_read,
            session: issued.session,
            bytes: if operation.kind.writes() { operation.bytes } else { ended.bytes },
            rows: ended.rows,
            verify_ns: ended.verify_ns,
            statement: operation.statement,
            requests: issued.requests,
            transaction: operation.transaction,
            transaction_type: operation.transaction_type,
            node: issued.node,
            ends: Ends::of(operation.ends_transaction, issued.ends_process),
            kind: operation.kind,
            phase: self.phase(issued),
            outcome: ended.outcome,
            found: ended.found,
            reason: ended.reason,
            verified: ended.verified,
        }
    }

    #[inline]
    fn phase(&self, issued: &IssueInfo) -> Phase {
        // A session that is behind its target throughput intended long ago what it issues now.
        let at = if self.is_open { issued.intended } else { issued.started };
        match self.is_load {
            true => Phase::Load,
            false if at < self.warm_up => Phase::WarmUp,
            false => Phase::Measure,
        }
    }

    #[inline(always)]
    fn count(&mut self, record: &Record) {
        self.outcomes[record.outcome as usize] += 1;
        self.stats.count(record, self.live_counters.latency());
        match record.outcome {
            Outcome::Done => self.missed += u64::from(!record.found),
            Outcome::Dropped => {}
            Outcome::Refused | Outcome::Unknown => {
                self.first_failure.get_or_insert(FailedOperation {
                    index: record.index,
                    key: record.key,
                    reason: record.reason,
                    at: record.ended,
                });
            }
        }
    }

    /// Shows the counts to the outside if that was not done for `every`.
    #[inline]
    pub fn publish(&mut self, now: Nanos, every: Nanos) {
        if now.since(self.published) >= every {
            self.published = now;
            let in_flight = self.in_flight();
            self.live_counters.publish(in_flight, &mut self.stats);
        }
    }

    /// The worker's outcome and its sink, at the end.
    pub fn finish(mut self, outcome: WorkerOutcome) -> (WorkerOutcome, S) {
        self.live_counters.publish_last(self.in_flight(), &mut self.stats);
        let outcome = WorkerOutcome {
            offered: self.outcomes.iter().sum(),
            outcomes: self.outcomes,
            missed: self.missed,
            late_answers: self.late_answers,
            in_flight_max: self.in_flight_max,
            fingerprint: self.fingerprint,
            first_failure: self.first_failure,
            ..outcome
        };
        (outcome, self.sink)
    }

    /// What the store's answer says about `operation`.
    #[inline(always)]
    fn ended(&self, operation: &Operation, answer: &Answer<'_>) -> Ended {
        match answer {
            Answer::Done(reply) => {
                let rows = if operation.kind.writes() { 0 } else { reply.rows.count() };
                let is_verified = self.verifies && operation.kind == Kind::Read;
                match rows > 0 || is_verified {
                    true => self.analyze(operation, reply, rows),
                    false => Ended {
                        found: reply.found,
                        ..Ended::without_reply(Outcome::Done, Reason::None)
                    },
                }
            }
            Answer::Refused(reason) => Ended::without_reply(Outcome::Refused, *reason),
            Answer::Unknown(reason) => Ended::without_reply(Outcome::Unknown, *reason),
        }
    }

    /// What a reply with `rows` says about `operation`, which reads.
    #[inline(never)]
    fn analyze(&self, operation: &Operation, reply: &Reply<'_>, rows: u32) -> Ended {
        let done = Ended::without_reply(Outcome::Done, Reason::None);
        let mut ended = Ended { found: reply.found, rows, ..done };
        if operation.statement > 0 {
            reply.rows.each(|field| ended.bytes += field.value.len() as u32);
        } else if rows > 0 {
            let mut oldest = u64::MAX;
            reply.rows.each(|field| {
                ended.bytes += field.value.len() as u32;
                if let Some(version) = self.encoder.version(field.value) {
                    ended.version_read = ended.version_read.max(version);
                    oldest = oldest.min(version);
                }
            });
            // Where each write writes all fields, those of one record are of one write.
            let is_record = self.writes_all_fields && operation.kind == Kind::Read;
            if is_record && oldest < ended.version_read {
                ended.reason = Reason::Torn;
            }
        }
        if self.verifies && operation.kind == Kind::Read {
            self.verify(operation, reply, &mut ended);
        }
        ended
    }

    /// Keeps the rows that a later operation of the process takes something from, or that are to be
    /// judged.
    #[inline(never)]
    fn keep_rows(&mut self, number: usize, reply: &Reply<'_>) {
        let slot = &mut self.slots[number];
        if let Some(script) = &mut slot.script
            && script.wants(slot.at)
        {
            script.keep(slot.at, &reply.rows);
        }
        let operation = &slot.operations[slot.at];
        let role = role_of(&self.roles, operation.statement);
        if role.reads() {
            observe(role, operation, &reply.rows, &mut |value| self.sink.observe(value));
        }
    }

    /// Keeps the version that the store tells of the record of `operation`.
    pub fn keep_told(&mut self, operation: &Operation, version: u64) {
        self.sink.observe(told(operation, version));
    }

    fn verify(&self, operation: &Operation, reply: &Reply<'_>, ended: &mut Ended) {
        let begun = self.clock.now();
        let (mut right, mut wrong) = (0u32, 0u32);
        reply.rows.each(|field| {
            let number = self.fields.iter().position(|name| name.as_bytes() == field.name);
            let is_right = number.is_some_and(|number| {
                self.encoder.is_expected(operation.key, number as u16, field.value)
            });
            if is_right { right += 1 } else { wrong += 1 }
        });
        ended.verified = match (right, wrong) {
            (0, 0) => Verified::Empty,
            (_, 0) => Verified::Right,
            _ => Verified::Wrong,
        };
        ended.verify_ns = u32::try_from(self.clock.now().since(begun).0).unwrap_or(u32::MAX);
    }
}

impl<C: Clock, S: Sink> Answers for InFlightTable<'_, C, S> {
    #[inline]
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        let ended_at = self.clock.now();
        self.last = ended_at;
        self.answers += 1;
        let number = slot_of(ticket);
        let Some(slot) = self.slots.get(number).filter(|slot| slot.waiting_for == Some(ticket))
        else {
            self.late_answers += 1;
            return;
        };
        let ended = self.ended(&slot.operations[slot.at], &answer);
        if self.workload_kind == WorkloadKind::Queries
            && let Answer::Done(reply) = &answer
        {
            self.keep_rows(number, reply);
        }
        self.complete(number, ended_at, ended);
    }

    fn requests(&mut self, ticket: Ticket, count: u16) {
        if let Some(slot) = self.slots.get_mut(slot_of(ticket))
            && slot.waiting_for == Some(ticket)
        {
            slot.requests = count;
        }
    }

    fn node(&mut self, ticket: Ticket, node: u8) {
        if let Some(slot) = self.slots.get_mut(slot_of(ticket))
            && slot.waiting_for == Some(ticket)
        {
            slot.node = node;
        }
    }

    fn version(&mut self, ticket: Ticket, version: u64) {
        if let Some(slot) = self.slots.get(slot_of(ticket))
            && slot.waiting_for == Some(ticket)
        {
            let value = told(&slot.operations[slot.at], version);
            self.sink.observe(value);
        }
    }
}

impl Slot {
    /// The fingerprint of the slot's operation, with its arguments.
    #[inline(never)]
    fn fingerprint(&self) -> u128 {
        let operation = &self.operations[self.at];
        match &self.script {
            None => operation.fingerprint(),
            Some(script) => fingerprint_with(operation, &script.arguments, self.at),
        }
    }
}
