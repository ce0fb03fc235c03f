//! Asks what a lone session asks in bursts, each operation upon the answer to the one before.

use assay_model::{Nanos, Operation, Outcome};
use assay_store::{Answer, Answers, Calls, Request, Ticket, Values};

use crate::clock::Clock;
use crate::control::Urgency;
use crate::lane::asker::{Ask, Next};
use crate::lane::book::{Answered, Asked, Book};
use crate::lane::{Busy, Lane, Task};
use crate::load::Asks;
use crate::sink::Sink;

/// The most processes of a burst.
///
/// They share the reading of the clock with which it begins, so that more of them would save next
/// to nothing. What is drawn for them stays in the processor's first cache until it is asked.
const BURST_MAX: usize = 32;

/// Whether what `task` asks may be asked in bursts.
///
/// The store has to answer at once, or there is nothing to be saved that would be seen. A process
/// has to be one operation, so that the next one depends on no answer. Nobody may check values,
/// which takes a time that is no part of the next operation.
pub(super) fn may_burst(task: &Task) -> bool {
    task.calls == Calls::Inline
        && task.asks == Asks::Records
        && task.asker.has_lone_session()
        && task.source.width() == 1
        && !task.render.verifies()
}

/// What became of the operation that was to be asked.
enum Within {
    Answered(Answered),
    /// It was asked and has no answer yet.
    Pending,
    /// There is no process with this number to be asked, or nobody knows.
    Missing,
}

impl<C: Clock + Clone, S: Sink> Lane<'_, C, S> {
    /// Whether a burst can begin now.
    #[inline]
    pub(super) fn is_ready_to_burst(&self) -> bool {
        self.ahead.is_some()
            && self.book.in_flight() == 0
            && !self.is_blocked
            && self.book.sink.room() > 1
            && self.client.is_ready()
    }

    /// Draws some processes, then asks them with one reading of the clock for each: the moment at
    /// which one was answered is the one at which the next is asked.
    ///
    /// So what is done with an answer, some tens of instructions, falls into the service time of
    /// the operation behind it. What takes longer does not: a burst begins with a reading of its
    /// own, behind the drawing; so does what follows upon rows; records are handed over by the
    /// last operation of a burst at most.
    pub(super) fn ask_burst(&mut self) -> Busy {
        if !self.book.freed.is_empty() {
            self.task.asker.take_back(&mut self.book.freed);
        }
        let mut ask = match self.task.asker.next(self.book.last) {
            Next::Ask(ask) => ask,
            Next::At(moment) => return Busy::Until(moment),
            Next::AwaitAnswer => return Busy::Until(Nanos::NEVER),
            Next::Over => return Busy::Over,
        };
        let mut left = self.book.sink.room().min(BURST_MAX);
        self.draw_ahead(ask.process, left as u64);
        let slot = self.book.take_slot(&ask);
        let mut started = self.clock.now();
        loop {
            let answered = match self.ask_within(slot, &ask, started) {
                Within::Answered(answered) => answered,
                Within::Pending => return Busy::Asked,
                Within::Missing => {
                    self.book.release(slot);
                    self.begin_or_trouble(ask);
                    return Busy::Asked;
                }
            };
            left -= 1;
            let intended = self.book.last;
            let Some(process) = self.next_of_burst(&answered, left) else {
                self.book.end_burst(slot, &ask, &answered);
                self.task.asker.take_back(&mut self.book.freed);
                return Busy::Asked;
            };
            ask = Ask { process, intended, ..ask };
            started = if answered.has_rows { self.clock.now() } else { intended };
        }
    }

    #[inline]
    fn draw_ahead(&mut self, process: u64, most: u64) {
        let Some(ahead) = self.ahead.as_mut().filter(|ahead| ahead.is_empty()) else { return };
        let end = self.task.asker.claimed().min(process + most);
        let (source, render) = (self.task.source.as_mut(), self.task.render.as_ref());
        ahead.draw(process..end, source, render, self.task.fields.len());
    }

    /// The process that follows upon `answered` if `left` more may; none ends the burst.
    #[inline]
    fn next_of_burst(&mut self, answered: &Answered, left: usize) -> Option<u64> {
        let goes_on = left > 0
            && answered.outcome == Outcome::Done
            && self.ahead.as_ref().is_some_and(|ahead| !ahead.is_empty())
            && self.control.urgency() == Urgency::None;
        if goes_on { self.task.asker.follow(self.book.last) } else { None }
    }

    /// Asks the process that is drawn next.
    #[inline]
    fn ask_within(&mut self, slot: u32, ask: &Ask, started: Nanos) -> Within {
        let Some(drawn) = self.ahead.as_mut().and_then(|ahead| ahead.next(ask.process)) else {
            return Within::Missing;
        };
        // Bursts are of the closed model alone.
        self.outcome.asked_until = self.outcome.asked_until.max(started);
        let operation = &drawn.operations[0];
        let (ticket, session) = self.book.leave(slot, started, drawn.fingerprint);
        let request = Request {
            session,
            kind: operation.kind,
            table: 0,
            key: &drawn.scratch.key,
            fields: operation.fields,
            limit: operation.limit,
            values: Values::new(&drawn.scratch.spans, &drawn.scratch.values),
        };
        let asked = Asked {
            process: ask.process,
            session: ask.session,
            intended: ask.intended,
            started,
            requests: 1,
            ends_process: true,
            version: drawn.version,
        };
        let book = &mut self.book;
        let mut awaited = Awaited { book, ticket, operation, asked, answered: None };
        self.client.start(started, ticket, &request, &mut awaited);
        let (answered, requests) = (awaited.answered, awaited.asked.requests);
        if let Some(answered) = answered {
            return Within::Answered(answered);
        }
        self.book.keep_waiting(slot, ask, &mut drawn.operations, (ticket, started, requests));
        Within::Pending
    }
}

/// An operation whose answer is to come before the call returns that asks it.
struct Awaited<'a, 'b, C, S> {
    book: &'a mut Book<'b, C, S>,
    ticket: Ticket,
    operation: &'a Operation,
    asked: Asked,
    answered: Option<Answered>,
}

impl<C: Clock, S: Sink> Answers for Awaited<'_, '_, C, S> {
    #[inline]
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        if ticket != self.ticket || self.answered.is_some() {
            return self.book.answer(ticket, answer);
        }
        self.answered = Some(self.book.answer_awaited(self.operation, &self.asked, &answer));
    }

    fn requests(&mut self, ticket: Ticket, count: u16) {
        if ticket == self.ticket {
            self.asked.requests = count;
        }
    }
}
