//! Bursts: a lone session issues each operation upon the response to the one before.

use assay_model::{Nanos, Operation, Outcome};
use assay_store::{Answer, Answers, Calls, Request, Ticket, Values};

use crate::clock::Clock;
use crate::control::Urgency;
use crate::load::WorkloadKind;
use crate::sink::Sink;
use crate::worker::in_flight_table::{Answered, InFlightTable, IssueInfo};
use crate::worker::scheduler::{DueProcess, Next};
use crate::worker::{Busy, Task, Worker};

/// The most processes of a burst.
///
/// They share the reading of the clock with which it begins, so that more of them would save next
/// to nothing. The drawn processes stay in the processor's first-level cache until they are issued.
const BURST_MAX: usize = 32;

/// Whether the operations of `task` may be issued in bursts.
///
/// The store has to answer at once, or there is nothing to be saved that would be seen. A process
/// has to be one operation, so that the next one depends on no answer. Nobody may check values,
/// which takes a time that is no part of the next operation.
pub(super) fn may_burst(task: &Task) -> bool {
    task.calls == Calls::Inline
        && task.workload_kind == WorkloadKind::Records
        && task.scheduler.has_lone_session()
        && task.source.width() == 1
        && !task.encoder.verifies()
        && !task.encoder.writes_all_fields()
}

/// The outcome of an attempt to issue an operation.
enum Within {
    Answered(Answered),
    /// It was issued and has no response yet.
    Pending,
    /// There is no process with this number to be issued, or it is not known.
    Missing,
}

impl<C: Clock + Clone, S: Sink> Worker<'_, C, S> {
    /// Whether a burst can begin now.
    #[inline]
    pub(super) fn is_ready_to_burst(&self) -> bool {
        self.ahead.is_some()
            && self.in_flight_table.in_flight() == 0
            && !self.is_blocked
            && self.in_flight_table.sink.room() > 1
            && self.client.is_ready()
    }

    /// Draws some processes, then issues them with one reading of the clock for each: the end of
    /// one is the start of the next.
    ///
    /// So what is done with an answer, some tens of instructions, falls into the service time of
    /// the operation behind it. What takes longer does not: a burst begins with a reading of its
    /// own, behind the drawing; so does what follows upon rows; records are handed over by the
    /// last operation of a burst at most.
    pub(super) fn issue_burst(&mut self) -> Busy {
        if !self.in_flight_table.freed.is_empty() {
            self.task.scheduler.take_back(&mut self.in_flight_table.freed);
        }
        let mut due = match self.task.scheduler.next(self.in_flight_table.last) {
            Next::Issue(due) => due,
            Next::At(moment) => return Busy::Until(moment),
            Next::AwaitAnswer => return Busy::Until(Nanos::NEVER),
            Next::Over => return Busy::Over,
        };
        let mut left = self.in_flight_table.sink.room().min(BURST_MAX);
        self.draw_ahead(due.process, left as u64);
        let slot = self.in_flight_table.take_slot(&due);
        let mut started = self.clock.now();
        loop {
            let answered = match self.send_within(slot, &due, started) {
                Within::Answered(answered) => answered,
                Within::Pending => return Busy::IssueInfo,
                Within::Missing => {
                    self.in_flight_table.release(slot);
                    self.begin_or_trouble(due);
                    return Busy::IssueInfo;
                }
            };
            left -= 1;
            let intended = self.in_flight_table.last;
            let Some(process) = self.next_of_burst(&answered, left) else {
                self.in_flight_table.end_burst(slot, &due, &answered);
                self.task.scheduler.take_back(&mut self.in_flight_table.freed);
                return Busy::IssueInfo;
            };
            due = DueProcess { process, intended, ..due };
            started = if answered.has_rows { self.clock.now() } else { intended };
        }
    }

    #[inline]
    fn draw_ahead(&mut self, process: u64, most: u64) {
        let Some(ahead) = self.ahead.as_mut().filter(|ahead| ahead.is_empty()) else { return };
        let end = self.task.scheduler.claimed().min(process + most);
        let (source, encoder) = (self.task.source.as_mut(), self.task.encoder.as_ref());
        ahead.draw(process..end, source, encoder, self.task.fields.len());
    }

    /// The process that follows upon `answered` if `left` more may; none ends the burst.
    #[inline]
    fn next_of_burst(&mut self, answered: &Answered, left: usize) -> Option<u64> {
        let goes_on = left > 0
            && answered.outcome == Outcome::Done
            && self.ahead.as_ref().is_some_and(|ahead| !ahead.is_empty())
            && self.control.urgency() == Urgency::None;
        if goes_on { self.task.scheduler.follow(self.in_flight_table.last) } else { None }
    }

    /// Issues the process that is drawn next.
    #[inline]
    fn send_within(&mut self, slot: u32, due: &DueProcess, started: Nanos) -> Within {
        let Some(drawn) = self.ahead.as_mut().and_then(|ahead| ahead.next(due.process)) else {
            return Within::Missing;
        };
        // Bursts are of the closed model alone.
        self.outcome.issued_until = self.outcome.issued_until.max(started);
        let operation = &drawn.operations[0];
        let (ticket, session) = self.in_flight_table.issue(slot, started, drawn.fingerprint);
        let request = Request {
            session,
            kind: operation.kind,
            table: 0,
            key: &drawn.scratch.key,
            fields: operation.fields,
            limit: operation.limit,
            end: &[],
            wants_keys: false,
            values: Values::new(&drawn.scratch.spans, &drawn.scratch.values),
        };
        let issued = IssueInfo {
            process: due.process,
            session: due.session,
            intended: due.intended,
            started,
            requests: 1,
            node: 0,
            ends_process: true,
            version: drawn.version,
        };
        let in_flight_table = &mut self.in_flight_table;
        let mut awaited = Awaited { in_flight_table, ticket, operation, issued, answered: None };
        self.client.start(started, ticket, &request, &mut awaited);
        let Awaited { answered, issued, .. } = awaited;
        if let Some(answered) = answered {
            return Within::Answered(answered);
        }
        self.in_flight_table.keep_waiting(slot, due, &mut drawn.operations, ticket, &issued);
        Within::Pending
    }
}

/// An operation that is to complete before the call that starts it returns.
struct Awaited<'a, 'b, C, S> {
    in_flight_table: &'a mut InFlightTable<'b, C, S>,
    ticket: Ticket,
    operation: &'a Operation,
    issued: IssueInfo,
    answered: Option<Answered>,
}

impl<C: Clock, S: Sink> Answers for Awaited<'_, '_, C, S> {
    #[inline]
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        if ticket != self.ticket || self.answered.is_some() {
            return self.in_flight_table.answer(ticket, answer);
        }
        self.answered =
            Some(self.in_flight_table.answer_awaited(self.operation, &self.issued, &answer));
    }

    fn requests(&mut self, ticket: Ticket, count: u16) {
        if ticket == self.ticket {
            self.issued.requests = count;
        }
    }

    fn node(&mut self, ticket: Ticket, node: u8) {
        if ticket == self.ticket {
            self.issued.node = node;
        }
    }

    fn version(&mut self, ticket: Ticket, version: u64) {
        match ticket == self.ticket {
            true => self.in_flight_table.keep_told(self.operation, version),
            false => self.in_flight_table.version(ticket, version),
        }
    }
}
