//! Gateway between a worker's tasks, which await, and its client of the store, which is polled.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use assay_model::{Datum, Nanos, Parameters, Reason};
use assay_store::{Answer, Answers, Call, Client, Step, Ticket};

/// The part of a ticket that is the number of a slot.
const SLOT_BITS: u32 = 20;

/// The requests of one worker.
pub(crate) struct Gateway {
    state: RefCell<State>,
    /// Wakes the worker when there is something to send.
    worker: Cell<Option<Waker>>,
    /// How long an answer of the store is waited for.
    timeout: Nanos,
}

#[derive(Default)]
struct State {
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Steps of open transactions, which have a connection already.
    steps: VecDeque<usize>,
    /// What waits for the client to have room.
    waiting: VecDeque<usize>,
    /// How many requests the client has.
    in_flight: usize,
    tickets: u64,
}

/// One request; its buffers are used again.
#[derive(Default)]
struct Slot {
    session: u32,
    step: Option<Step>,
    begins: bool,
    arguments: Vec<u8>,
    ticket: Option<Ticket>,
    since: Nanos,
    completion: Option<Result<QueryRows, Failed>>,
    task: Option<Waker>,
}

/// What a query found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct QueryRows {
    /// Whether anything was there, or changed.
    pub(crate) found: bool,
    /// How many rows came.
    pub(crate) count: u32,
    /// Their values, one after another.
    values: Vec<u8>,
}

impl QueryRows {
    /// The values of all rows, one after another.
    pub(crate) fn columns(&self) -> impl Iterator<Item = Datum<'_>> {
        Parameters::new(&self.values).iter()
    }
}

/// A request that was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// It certainly did not happen.
    Refused(Reason),
    /// Nobody knows.
    Unknown,
}

/// One request to be sent.
pub(crate) struct Sent {
    pub(crate) session: u32,
    pub(crate) step: Step,
    /// Whether it opens a transaction.
    pub(crate) begins: bool,
    /// Whether it is within one.
    pub(crate) is_within: bool,
}

impl Gateway {
    pub(crate) fn new(timeout: Nanos) -> Gateway {
        Gateway { state: RefCell::default(), worker: Cell::default(), timeout }
    }

    /// Sends a request with these arguments, and waits for what becomes of it.
    pub(crate) async fn call(
        &self,
        sent: Sent,
        arguments: &[Datum<'_>],
    ) -> Result<QueryRows, Failed> {
        let place = self.submit(&sent, arguments);
        poll_fn(|context| {
            let mut state = self.state.borrow_mut();
            let slot = &mut state.slots[place];
            match slot.completion.take() {
                Some(completion) => {
                    slot.task = None;
                    state.free.push(place);
                    Poll::Ready(completion)
                }
                None => {
                    if !slot.task.as_ref().is_some_and(|task| task.will_wake(context.waker())) {
                        slot.task = Some(context.waker().clone());
                    }
                    Poll::Pending
                }
            }
        })
        .await
    }

    fn submit(&self, sent: &Sent, arguments: &[Datum<'_>]) -> usize {
        let mut state = self.state.borrow_mut();
        let place = state.free.pop().unwrap_or_else(|| {
            state.slots.push(Slot::default());
            state.slots.len() - 1
        });
        let slot = &mut state.slots[place];
        (slot.session, slot.step, slot.begins) = (sent.session, Some(sent.step), sent.begins);
        slot.since = Nanos::NEVER;
        slot.arguments.clear();
        arguments.iter().for_each(|datum| datum.encode(&mut slot.arguments));
        match sent.is_within {
            true => state.steps.push_back(place),
            false => state.waiting.push_back(place),
        }
        drop(state);
        self.wake_worker();
        place
    }

    /// Lets the worker look again.
    pub(crate) fn wake_worker(&self) {
        if let Some(waker) = self.worker.take() {
            waker.wake();
        }
    }

    /// Whether the store has to do anything, or is to.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.state.borrow();
        state.in_flight > 0 || !state.steps.is_empty() || !state.waiting.is_empty()
    }

    /// Comes to its end when [`Gateway::is_busy`], or `is_over` gives something.
    pub(crate) async fn until_busy(&self, is_over: impl Fn() -> bool) {
        poll_fn(|context| {
            if self.is_busy() || is_over() {
                return Poll::Ready(());
            }
            self.worker.set(Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    /// Gives `client` what it has room for. Whether anything was given.
    pub(crate) fn start(&self, client: &mut dyn Client, now: Nanos) -> bool {
        let mut has_started = false;
        while let Some(place) = self.next(client) {
            has_started = true;
            self.start_one(client, now, place);
        }
        has_started
    }

    fn next(&self, client: &dyn Client) -> Option<usize> {
        let mut state = self.state.borrow_mut();
        if let Some(step) = state.steps.pop_front() {
            return Some(step);
        }
        if state.waiting.is_empty() || !client.is_ready() {
            return None;
        }
        state.waiting.pop_front()
    }

    fn start_one(&self, client: &mut dyn Client, now: Nanos, place: usize) {
        let mut state = self.state.borrow_mut();
        state.tickets += 1;
        let ticket = Ticket(state.tickets << SLOT_BITS | place as u64);
        state.in_flight += 1;
        let slot = &mut state.slots[place];
        slot.ticket = Some(ticket);
        slot.since = now;
        let arguments = std::mem::take(&mut slot.arguments);
        let (session, begins, step) = (slot.session, slot.begins, slot.step);
        drop(state);
        let Some(step) = step else { return };
        let call = Call { session, step, begins, parameters: Parameters::new(&arguments) };
        client.call(now, ticket, &call, &mut Delivery(self));
        self.state.borrow_mut().slots[place].arguments = arguments;
    }

    /// Takes what the client has. Whether anything came.
    pub(crate) fn poll(&self, client: &mut dyn Client, now: Nanos) -> bool {
        let before = self.state.borrow().in_flight;
        client.poll(now, &mut Delivery(self));
        self.state.borrow().in_flight < before
    }

    /// Gives up requests that have taken too long.
    pub(crate) fn expire(&self, client: &mut dyn Client, now: Nanos) {
        let late: Vec<Ticket> = {
            let state = self.state.borrow();
            let is_late =
                |slot: &&Slot| slot.ticket.is_some() && now.since(slot.since) >= self.timeout;
            state.slots.iter().filter(is_late).filter_map(|slot| slot.ticket).collect()
        };
        for ticket in late {
            client.abandon(ticket);
            self.complete(ticket, Err(Failed::Unknown));
        }
    }

    fn complete(&self, ticket: Ticket, completion: Result<QueryRows, Failed>) {
        let mut state = self.state.borrow_mut();
        let place = (ticket.0 & ((1 << SLOT_BITS) - 1)) as usize;
        let Some(slot) = state.slots.get_mut(place).filter(|slot| slot.ticket == Some(ticket))
        else {
            // The answer to a request that was given up.
            return;
        };
        slot.ticket = None;
        slot.completion = Some(completion);
        let task = slot.task.take();
        state.in_flight -= 1;
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// Passes answers on to those who wait for them.
struct Delivery<'a>(&'a Gateway);

impl Answers for Delivery<'_> {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        let completion = match answer {
            Answer::Done(reply) => {
                let mut rows = QueryRows { found: reply.found, ..QueryRows::default() };
                reply.rows.each(|field| {
                    rows.count = field.row + 1;
                    rows.values.extend_from_slice(field.value);
                });
                Ok(rows)
            }
            Answer::Refused(reason) => Err(Failed::Refused(reason)),
            Answer::Unknown(_) => Err(Failed::Unknown),
        };
        self.0.complete(ticket, completion);
    }
}
