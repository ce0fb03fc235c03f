//! A worker's client: queries become requests of the inner client, one after another.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use assay_model::{Kind, Nanos, Reason};
use assay_store::{Answer, Answers, Call, Client, Isolation, Reply, Request, Step, Ticket, Values};

use super::Prepared;
use super::query_execution::{End, Next, Outgoing, QueryExecution};
use super::transaction::{Open, TransactionMode, is_one_request};
use crate::key_value::program::Program;

/// Marks the tickets of our own requests; the executor's are counted from below.
const OWN: u64 = 1 << 63;
/// Bits of a ticket that name the job; the others count, so that no ticket comes twice.
const SLOT_BITS: u32 = 20;

pub(super) struct MappedClient {
    inner: Box<dyn Client>,
    /// How the inner store keeps transactions apart; none if it has none.
    isolation: Option<Isolation>,
    open: Open,
    board: Board,
    /// Jobs that must wait until the inner client is ready again.
    waiting: VecDeque<usize>,
    free: Vec<usize>,
    out: Outgoing,
    requested: u64,
}

/// All jobs, and those of them whose response has come.
struct Board {
    prepared: Option<Arc<Prepared>>,
    executions: Vec<QueryExecution>,
    answered: VecDeque<usize>,
}

/// Assigns the inner client's completions: to a job of ours, or to a request passed through.
struct Relay<'a> {
    board: &'a mut Board,
    outer: &'a mut dyn Answers,
}

impl Answers for Relay<'_> {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        if ticket.0 & OWN == 0 {
            return self.outer.answer(ticket, answer);
        }
        let Some(prepared) = self.board.prepared.clone() else { return };
        let Some((slot, execution)) = self.board.waits_for(ticket) else { return };
        execution.take(&prepared, answer);
        self.board.answered.push_back(slot);
    }

    fn requests(&mut self, ticket: Ticket, count: u16) {
        if ticket.0 & OWN == 0 {
            return self.outer.requests(ticket, count);
        }
        if let Some((_, execution)) = self.board.waits_for(ticket) {
            // It was counted as one when it was sent.
            execution.requests = execution.requests.saturating_sub(1).saturating_add(count);
        }
    }

    /// A query of several requests has no node of its own.
    fn node(&mut self, ticket: Ticket, node: u8) {
        if ticket.0 & OWN == 0 {
            self.outer.node(ticket, node);
        }
    }
}

impl Board {
    /// The job that waits for the response to `ticket`, with its slot. The response of an abandoned
    /// job is ignored, because its slot has another job now.
    fn waits_for(&mut self, ticket: Ticket) -> Option<(usize, &mut QueryExecution)> {
        let slot = (ticket.0 & ((1 << SLOT_BITS) - 1)) as usize;
        let execution = self.executions.get_mut(slot)?;
        (execution.is_live && execution.requested == Some(ticket)).then_some((slot, execution))
    }
}

impl MappedClient {
    pub(super) fn new(
        inner: Box<dyn Client>,
        isolation: Option<Isolation>,
        prepared: Option<Arc<Prepared>>,
    ) -> MappedClient {
        let board = Board { prepared, executions: Vec::new(), answered: VecDeque::new() };
        MappedClient {
            inner,
            isolation,
            open: Open::default(),
            board,
            waiting: VecDeque::new(),
            free: Vec::new(),
            out: Outgoing::default(),
            requested: 0,
        }
    }

    /// Goes on with the job at `slot` as far as it gets without waiting.
    fn drive(&mut self, now: Nanos, slot: usize, outer: &mut dyn Answers) {
        let Some(prepared) = self.board.prepared.clone() else { return };
        loop {
            let execution = &mut self.board.executions[slot];
            if !execution.is_live {
                return;
            }
            if !self.open.holds_connection(execution.session) && !self.inner.is_ready() {
                return self.waiting.push_back(slot);
            }
            match execution.advance(&prepared, &mut self.out) {
                Next::Ask => self.send(now, slot, outer),
                Next::End(end) => return self.end(slot, &end, outer),
            }
            if !self.board.executions[slot].is_answered() {
                return;
            }
            // It was completed within the call: no further completion is needed.
            self.board.answered.retain(|answered| *answered != slot);
        }
    }

    /// Completes the job at `slot`, whose transaction goes on if it is a step that is done.
    fn end(&mut self, slot: usize, end: &End, outer: &mut dyn Answers) {
        let execution = &mut self.board.executions[slot];
        execution.is_live = false;
        let QueryExecution { ticket, requests, session, standing, .. } = *execution;
        self.free.push(slot);
        match (standing, end) {
            (TransactionMode::Alone, _) | (TransactionMode::Step, End::Done(_)) => {}
            // Its own transaction is committed, or has no request, or is to be rolled back.
            (TransactionMode::Own | TransactionMode::Step, _) => self.undo(session),
        }
        if let Some(ticket) = ticket {
            outer.requests(ticket, requests);
            outer.answer(ticket, end.answer(&self.out.bytes));
        }
    }

    /// Undoes what `session` has open, if it has.
    fn undo(&mut self, session: u32) {
        self.open.end(session);
        self.inner.abort(session);
    }

    fn send(&mut self, now: Nanos, slot: usize, outer: &mut dyn Answers) {
        self.requested += 1;
        let ticket = Ticket(OWN | (self.requested << SLOT_BITS & !OWN) | slot as u64);
        let execution = &mut self.board.executions[slot];
        execution.requested = Some(ticket);
        execution.requests = execution.requests.saturating_add(1);
        self.open.send(execution.session);
        let Some(kind) = self.out.kind else { return };
        let request = Request {
            session: execution.session,
            kind,
            table: self.out.table,
            key: &self.out.key,
            fields: Outgoing::FIELDS,
            limit: self.out.limit,
            end: &self.out.end,
            wants_keys: self.out.wants_keys,
            values: Values::new(&self.out.spans, &self.out.bytes),
        };
        let mut relay = Relay { board: &mut self.board, outer };
        self.inner.start(now, ticket, &request, &mut relay);
    }

    /// Goes on with whatever has its answer, or has room again.
    fn drive_all(&mut self, now: Nanos, outer: &mut dyn Answers) {
        while let Some(slot) = self.board.answered.pop_front() {
            self.drive(now, slot, outer);
        }
        while self.inner.is_ready() {
            let Some(slot) = self.waiting.pop_front() else { break };
            self.drive(now, slot, outer);
        }
    }

    /// How a query stands to transactions; opens one if it needs one.
    fn transaction_mode(&mut self, call: &Call<'_>, program: &Program) -> TransactionMode {
        let standing = match (self.isolation, call.begins) {
            (None, _) => return TransactionMode::Alone,
            (Some(_), false) if self.open.has(call.session) => return TransactionMode::Step,
            (Some(_), false) if is_one_request(program) => return TransactionMode::Alone,
            (Some(_), false) => TransactionMode::Own,
            (Some(_), true) => TransactionMode::Step,
        };
        self.inner.begin(call.session);
        self.open.begin(call.session);
        standing
    }

    /// Refuses a query that is not even begun; the transaction that it is of ends with that.
    fn refuse(&mut self, ticket: Ticket, session: u32, reason: Reason, outer: &mut dyn Answers) {
        self.undo(session);
        outer.answer(ticket, Answer::Refused(reason));
    }

    /// Lets the inner client end a transaction, if it has such.
    fn end_transaction(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        call: &Call<'_>,
        kind: Kind,
        outer: &mut dyn Answers,
    ) {
        if self.isolation.is_none() {
            outer.requests(ticket, 0);
            return outer.answer(ticket, Answer::Done(Reply::WRITTEN));
        }
        self.open.end(call.session);
        let request = Request { session: call.session, limit: 0, ..Request::new(kind, &[]) };
        self.start(now, ticket, &request, outer);
    }

    /// Ends the job at `slot` without a completion.
    fn give_up(&mut self, slot: usize) {
        let execution = &mut self.board.executions[slot];
        execution.is_live = false;
        let requested = execution.requested;
        self.waiting.retain(|waiting| *waiting != slot);
        self.board.answered.retain(|answered| *answered != slot);
        self.free.push(slot);
        if let Some(requested) = requested {
            self.inner.abandon(requested);
        }
    }

    fn place(&mut self) -> Option<usize> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        let slot = self.board.executions.len();
        if slot >> SLOT_BITS != 0 {
            return None;
        }
        self.board.executions.push(QueryExecution::default());
        Some(slot)
    }
}

impl Client for MappedClient {
    fn is_ready(&self) -> bool {
        self.waiting.is_empty() && self.inner.is_ready()
    }

    fn start(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        let mut relay = Relay { board: &mut self.board, outer: answers };
        self.inner.start(now, ticket, request, &mut relay);
        self.drive_all(now, answers);
    }

    fn call(&mut self, now: Nanos, ticket: Ticket, call: &Call<'_>, answers: &mut dyn Answers) {
        let number = match call.step {
            Step::Query(number) => usize::from(number),
            Step::Commit => return self.end_transaction(now, ticket, call, Kind::Commit, answers),
            Step::Rollback => {
                return self.end_transaction(now, ticket, call, Kind::Rollback, answers);
            }
        };
        let Some(prepared) = self.board.prepared.clone() else {
            return self.refuse(ticket, call.session, Reason::Malformed, answers);
        };
        let place = number.checked_sub(1);
        let expected = place.and_then(|place| prepared.parameters.get(place));
        if expected != Some(&call.parameters.iter().count()) {
            return self.refuse(ticket, call.session, Reason::Malformed, answers);
        }
        let Some(slot) = self.place() else {
            return self.refuse(ticket, call.session, Reason::Full, answers);
        };
        let standing = self.transaction_mode(call, &prepared.programs[number - 1]);
        let execution = &mut self.board.executions[slot];
        execution.begin(ticket, call.session, number - 1, call.parameters.iter());
        execution.standing = standing;
        self.drive(now, slot, answers);
        self.drive_all(now, answers);
    }

    fn abort(&mut self, session: u32) {
        // A step that is still under way would go on as if it stood alone.
        let is_step = |one: &QueryExecution| {
            one.is_live && one.session == session && one.standing == TransactionMode::Step
        };
        while let Some(slot) = self.board.executions.iter().position(is_step) {
            self.give_up(slot);
        }
        self.undo(session);
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        let mut relay = Relay { board: &mut self.board, outer: answers };
        self.inner.poll(now, &mut relay);
        self.drive_all(now, answers);
    }

    fn wait(&mut self, timeout: Duration) {
        self.inner.wait(timeout);
    }

    fn due(&self) -> Option<Nanos> {
        self.inner.due()
    }

    fn abandon(&mut self, ticket: Ticket) {
        let mut executions = self.board.executions.iter_mut().enumerate();
        let found = executions.find(|(_, one)| one.is_live && one.ticket == Some(ticket));
        let Some((slot, execution)) = found else { return self.inner.abandon(ticket) };
        let QueryExecution { session, standing, .. } = *execution;
        self.give_up(slot);
        if standing != TransactionMode::Alone {
            self.undo(session);
        }
    }
}
