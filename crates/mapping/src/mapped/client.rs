//! A lane's client: queries become requests of the inner client, one after another.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use assay_model::{Nanos, Reason};
use assay_store::{Answer, Answers, Call, Client, Reply, Request, Step, Ticket, Values};

use super::Prepared;
use super::errand::{Errand, Next, Outgoing};

/// Marks the tickets of our own requests; the executor's are counted from below.
const OWN: u64 = 1 << 63;
/// Bits of a ticket that name the errand; the others count, so that no ticket comes twice.
const SLOT_BITS: u32 = 20;

pub(super) struct MappedClient {
    inner: Box<dyn Client>,
    board: Board,
    /// Errands that must wait until the inner client is ready again.
    waiting: VecDeque<usize>,
    free: Vec<usize>,
    out: Outgoing,
    asked: u64,
}

/// All errands, and those of them whose answer has come.
struct Board {
    prepared: Option<Arc<Prepared>>,
    errands: Vec<Errand>,
    answered: VecDeque<usize>,
}

/// Sorts what the inner client answers: to an errand of ours, or to a request passed through.
struct Relay<'a> {
    board: &'a mut Board,
    outer: &'a mut dyn Answers,
}

impl Answers for Relay<'_> {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        if ticket.0 & OWN == 0 {
            return self.outer.answer(ticket, answer);
        }
        let slot = (ticket.0 & ((1 << SLOT_BITS) - 1)) as usize;
        let Some(prepared) = &self.board.prepared else { return };
        let Some(errand) = self.board.errands.get_mut(slot) else { return };
        // An answer to what was abandoned comes too late for the errand that has its place now.
        if errand.is_live && errand.asked == Some(ticket) {
            errand.take(prepared, answer);
            self.board.answered.push_back(slot);
        }
    }

    fn requests(&mut self, ticket: Ticket, count: u16) {
        if ticket.0 & OWN == 0 {
            self.outer.requests(ticket, count);
        }
    }
}

impl MappedClient {
    pub(super) fn new(inner: Box<dyn Client>, prepared: Option<Arc<Prepared>>) -> MappedClient {
        let board = Board { prepared, errands: Vec::new(), answered: VecDeque::new() };
        MappedClient {
            inner,
            board,
            waiting: VecDeque::new(),
            free: Vec::new(),
            out: Outgoing::default(),
            asked: 0,
        }
    }

    /// Goes on with the errand at `slot` as far as it gets without waiting.
    fn drive(&mut self, now: Nanos, slot: usize, outer: &mut dyn Answers) {
        let Some(prepared) = self.board.prepared.clone() else { return };
        loop {
            if !self.inner.is_ready() {
                return self.waiting.push_back(slot);
            }
            let errand = &mut self.board.errands[slot];
            if !errand.is_live {
                return;
            }
            match errand.advance(&prepared, &mut self.out) {
                Next::Ask => self.ask(now, slot, outer),
                Next::End(end) => {
                    errand.is_live = false;
                    let (ticket, requests) = (errand.ticket, errand.requests);
                    self.free.push(slot);
                    if let Some(ticket) = ticket {
                        outer.requests(ticket, requests);
                        outer.answer(ticket, end.answer(&self.out.bytes));
                    }
                    return;
                }
            }
            if !self.board.errands[slot].is_answered() {
                return;
            }
            // It was answered within the call: nobody else needs to be told.
            self.board.answered.retain(|answered| *answered != slot);
        }
    }

    fn ask(&mut self, now: Nanos, slot: usize, outer: &mut dyn Answers) {
        self.asked += 1;
        let ticket = Ticket(OWN | (self.asked << SLOT_BITS & !OWN) | slot as u64);
        let errand = &mut self.board.errands[slot];
        errand.asked = Some(ticket);
        errand.requests = errand.requests.saturating_add(1);
        let Some(kind) = self.out.kind else { return };
        let request = Request {
            session: errand.session,
            kind,
            table: self.out.table,
            key: &self.out.key,
            fields: Outgoing::FIELDS,
            limit: self.out.limit,
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

    fn place(&mut self) -> Option<usize> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        let slot = self.board.errands.len();
        if slot >> SLOT_BITS != 0 {
            return None;
        }
        self.board.errands.push(Errand::default());
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
            Step::Commit | Step::Rollback => {
                answers.requests(ticket, 0);
                return answers.answer(ticket, Answer::Done(Reply::WRITTEN));
            }
        };
        let place = number.checked_sub(1);
        let prepared = self.board.prepared.as_ref();
        let wanted = prepared.zip(place).and_then(|(one, place)| one.parameters.get(place));
        if wanted != Some(&call.parameters.iter().count()) {
            return answers.answer(ticket, Answer::Refused(Reason::Malformed));
        }
        let Some(slot) = self.place() else {
            return answers.answer(ticket, Answer::Refused(Reason::Full));
        };
        let errand = &mut self.board.errands[slot];
        errand.begin(ticket, call.session, number - 1, call.parameters.iter());
        self.drive(now, slot, answers);
        self.drive_all(now, answers);
    }

    fn leave(&mut self, session: u32) {
        self.inner.leave(session);
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        let mut relay = Relay { board: &mut self.board, outer: answers };
        self.inner.poll(now, &mut relay);
        self.drive_all(now, answers);
    }

    fn wait(&mut self, patience: Duration) {
        self.inner.wait(patience);
    }

    fn due(&self) -> Option<Nanos> {
        self.inner.due()
    }

    fn abandon(&mut self, ticket: Ticket) {
        let mut errands = self.board.errands.iter_mut().enumerate();
        let found = errands.find(|(_, one)| one.is_live && one.ticket == Some(ticket));
        let Some((slot, errand)) = found else { return self.inner.abandon(ticket) };
        errand.is_live = false;
        let asked = errand.asked;
        self.waiting.retain(|waiting| *waiting != slot);
        self.board.answered.retain(|answered| *answered != slot);
        self.free.push(slot);
        if let Some(asked) = asked {
            self.inner.abandon(asked);
        }
    }
}
