//! Gathers requests that wait at the same time into jobs of several.
//!
//! Requests of one kind for one table that stand alone are put into a group, until it has as many
//! as a batch may have, or until the worker polls or waits: no request stays longer than one turn
//! of the worker. A batch has no key twice, because stores differ in how they treat that.
//!
//! A connection is set aside for each group. The seam does not tell a request's kind before it is
//! there, so one may come that joins no group when none is free besides: it waits here until one
//! is, which counts as service, and meanwhile the client is not ready. There is at most one such.

use std::collections::{HashMap, VecDeque};

use assay_model::{Kind, Reason};
use assay_store::{Answer, Answers, OwnedRequest, Request, Ticket};

use super::pool::{Answered, answer};
use super::{BatchOutcome, Completion, Context, Library, Pool, RecordJob};

/// A batch belongs to no session, so it disturbs no session's transaction.
const NO_SESSION: u32 = u32::MAX;

/// What becomes a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gathering {
    /// The most requests in a batch; one means that nothing is gathered.
    pub most: usize,
    /// The kinds of request that the library takes as a batch.
    pub kinds: &'static [Kind],
}

impl Gathering {
    /// Every request is a job.
    pub const OFF: Gathering = Gathering { most: 1, kinds: &[] };

    /// Whether anything is gathered.
    #[inline]
    pub fn is_on(self) -> bool {
        self.most > 1
    }
}

/// Requests that will leave together.
struct Group {
    tickets: Vec<Ticket>,
    requests: Vec<OwnedRequest>,
    context: Context,
    /// Whether another request may join.
    is_open: bool,
}

impl Group {
    /// Whether `request` may travel with these.
    fn suits(&self, request: &Request<'_>) -> bool {
        let others = || self.requests.iter().map(OwnedRequest::request);
        let is_alike =
            |other: Request<'_>| (other.kind, other.table) == (request.kind, request.table);
        self.is_open && others().all(is_alike) && others().all(|other| other.key != request.key)
    }

    /// The session that its job is of.
    fn session(&self) -> u32 {
        match &self.requests[..] {
            [only] => only.request().session,
            _ => NO_SESSION,
        }
    }

    /// Becomes `job`, whose old buffers it keeps.
    fn become_job(&mut self, job: &mut RecordJob) {
        job.context = self.context;
        job.outcomes.clear();
        match &mut self.requests[..] {
            [only] => std::mem::swap(only, &mut job.request),
            _ => std::mem::swap(&mut self.requests, &mut job.batch),
        }
    }
}

/// What was gathered and has not left, with the batches that are on their way.
pub(super) struct Gatherer {
    gathering: Gathering,
    /// The oldest first.
    groups: VecDeque<Group>,
    /// The tickets of each batch on its way, by its first; none in place of what was abandoned.
    away: HashMap<Ticket, Vec<Option<Ticket>>>,
    /// Requests whose buffers are used again.
    spares: Vec<OwnedRequest>,
}

impl Gatherer {
    pub(super) fn new(gathering: Gathering) -> Gatherer {
        Gatherer { gathering, groups: VecDeque::new(), away: HashMap::new(), spares: Vec::new() }
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.gathering.is_on()
    }

    /// Whether a request could join a group or have a connection at once.
    pub(super) fn is_ready<L: Library>(&self, pool: &Pool<L>) -> bool {
        let free = pool.free();
        pool.is_down() || (free > 0 && self.groups.len() <= free)
    }

    /// Takes in a request, and lets it leave at once if nothing is gained by waiting.
    pub(super) fn take_in<L: Library<Job = RecordJob>>(
        &mut self,
        ticket: Ticket,
        request: &Request<'_>,
        context: Context,
        pool: &mut Pool<L>,
    ) {
        let is_open = context == Context::Alone && self.gathering.kinds.contains(&request.kind);
        let place = match is_open {
            true => self.groups.iter().position(|group| group.suits(request)),
            false => None,
        };
        let place = place.unwrap_or_else(|| {
            let (tickets, requests) = (Vec::new(), Vec::new());
            self.groups.push_back(Group { tickets, requests, context, is_open });
            self.groups.len() - 1
        });
        let mut own = self.spares.pop().unwrap_or_default();
        own.fill(request);
        let group = &mut self.groups[place];
        group.tickets.push(ticket);
        group.requests.push(own);
        group.is_open &= group.tickets.len() < self.gathering.most;
        // The others keep the connections that are set aside for them.
        if !group.is_open && self.groups.len() <= pool.free() {
            self.send(place, pool);
        }
    }

    /// Sends a group; tells whether a connection was free. Without one it stays.
    fn send<L: Library<Job = RecordJob>>(&mut self, place: usize, pool: &mut Pool<L>) -> bool {
        let Some(group) = self.groups.get_mut(place) else { return false };
        let (first, session) = (group.tickets[0], group.session());
        if pool.give(first, session, |job| group.become_job(job)).is_err() {
            return false;
        }
        if let Some(group) = self.groups.remove(place) {
            if group.tickets.len() > 1 {
                self.away.insert(first, group.tickets.into_iter().map(Some).collect());
            }
            self.spares.extend(group.requests);
        }
        true
    }

    /// Lets everything leave that there are connections for; tells whether nothing stays.
    pub(super) fn send_off<L: Library<Job = RecordJob>>(&mut self, pool: &mut Pool<L>) -> bool {
        while !self.groups.is_empty() && pool.free() > 0 {
            if !self.send(0, pool) {
                break;
            }
        }
        self.groups.is_empty()
    }

    /// Refuses what has not left, for there is no connection any more.
    pub(super) fn refuse(&mut self, answers: &mut dyn Answers) {
        for group in self.groups.drain(..) {
            for ticket in group.tickets {
                answers.answer(ticket, Answer::Refused(Reason::Unreachable));
            }
            self.spares.extend(group.requests);
        }
    }

    /// Answers every ticket of a job. The requests that a batch took are those of the first ticket
    /// that is answered; the others took none.
    pub(super) fn deliver(&mut self, answered: Answered<'_, RecordJob>, answers: &mut dyn Answers) {
        let Some(tickets) = self.away.remove(&answered.ticket) else {
            return answered.tell(answers);
        };
        let Answered { job, ending, rows, mut requests, node, .. } = answered;
        let mut begin = 0;
        for (place, ticket) in tickets.into_iter().enumerate() {
            let BatchOutcome { ending, rows_end } = match (ending, job.outcomes.get(place)) {
                (Completion::Done { .. }, Some(outcome)) => *outcome,
                _ => BatchOutcome { ending, rows_end: begin },
            };
            let own = rows.get(begin..rows_end).unwrap_or_default();
            begin = rows_end;
            if let Some(ticket) = ticket {
                if requests != 1 {
                    answers.requests(ticket, requests);
                }
                requests = 0;
                if node != 0 {
                    answers.node(ticket, node);
                }
                answers.answer(ticket, answer(ending, own));
            }
        }
        self.spares.append(&mut job.batch);
    }

    /// `ticket` is abandoned: an unsent request is never sent, and a batch is given up
    /// with its last ticket. The ticket that the pool is to give up, if it is to.
    pub(super) fn abandon(&mut self, ticket: Ticket) -> Option<Ticket> {
        for (at, group) in self.groups.iter_mut().enumerate() {
            if let Some(place) = group.tickets.iter().position(|other| *other == ticket) {
                group.tickets.remove(place);
                self.spares.push(group.requests.remove(place));
                if group.tickets.is_empty() {
                    self.groups.remove(at);
                }
                return None;
            }
        }
        for (first, tickets) in &mut self.away {
            if let Some(place) = tickets.iter().position(|other| *other == Some(ticket)) {
                tickets[place] = None;
                return tickets.iter().all(Option::is_none).then_some(*first);
            }
        }
        Some(ticket)
    }
}

#[cfg(test)]
mod tests;
