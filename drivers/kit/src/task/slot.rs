//! The task of one connection: carries out jobs, makes the connection anew when it is lost.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use assay_model::Reason;
use assay_store::Ticket;

use super::notifier::{Either, Notifier, either};
use super::{Completion, ConnectionState, JobCompletion, Library, Lost};

/// The first pause before a lost connection is made anew; each failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause: a server that is back is found within this time.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long a job may go on after it was abandoned, and how long undoing may take.
const OVERDUE: Duration = Duration::from_secs(1);

/// The shared state of a worker and the tasks of its connections, all on one thread.
pub(super) struct Shared<L: Library> {
    pub(super) library: L,
    pub(super) slots: Vec<Slot<L::Job>>,
    /// The connections that a job could have now; the last one is taken first.
    pub(super) free: RefCell<Vec<usize>>,
    /// The sessions whose transaction is open.
    pub(super) holders: RefCell<HashMap<u32, Hold>>,
    /// What was answered and not delivered.
    pub(super) answered: RefCell<VecDeque<Box<Message<L::Job>>>>,
    /// Requests whose host has no free connection, with that host.
    pub(super) waiting: RefCell<VecDeque<Waiting<L::Job>>>,
    /// How many connections there are at present, by host.
    pub(super) up: Vec<Cell<usize>>,
    /// How many tasks have something to do.
    pub(super) busy: Cell<usize>,
    /// Whether something changed since the worker polled.
    pub(super) has_changed: Cell<bool>,
    /// Notified when something changes for the worker.
    pub(super) notifier: Notifier,
}

/// A job with the host that it is for.
pub(super) type Waiting<J> = (usize, Box<Message<J>>);

/// Where a session's transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// On the connection with this number.
    On(usize),
    /// Its connection was lost, and the transaction with it.
    Broken,
}

/// The shared state of a worker and one task.
pub(super) struct Slot<J> {
    order: Cell<Option<Order<J>>>,
    /// The ticket of the job that it has.
    pub(super) ticket: Cell<Option<Ticket>>,
    /// The session of that job.
    pub(super) session: Cell<u32>,
    /// The node that its connection is with; 0 if that is not known.
    pub(super) node: Cell<u8>,
    is_given_up: Cell<bool>,
    notifier: Notifier,
}

/// What a task is to do.
pub(super) enum Order<J> {
    /// Carry out a job.
    Perform(Box<Message<J>>),
    /// Undo the transaction that is open.
    Undo,
}

/// A job on its way there, an answer on its way back.
pub(super) struct Message<J> {
    pub(super) ticket: Ticket,
    pub(super) session: u32,
    pub(super) job: J,
    pub(super) ending: Completion,
    pub(super) requests: u16,
    pub(super) node: u8,
    pub(super) version: u64,
    pub(super) rows: Vec<u8>,
}

impl<J: Default> Message<J> {
    pub(super) fn new() -> Message<J> {
        Message {
            ticket: Ticket(0),
            session: 0,
            job: J::default(),
            ending: Completion::Done { found: false },
            requests: 1,
            node: 0,
            version: 0,
            rows: Vec::new(),
        }
    }
}

impl<J> Slot<J> {
    pub(super) fn new() -> Slot<J> {
        Slot {
            order: Cell::new(None),
            ticket: Cell::new(None),
            session: Cell::new(0),
            node: Cell::new(0),
            is_given_up: Cell::new(false),
            notifier: Notifier::default(),
        }
    }

    /// Its job is abandoned.
    pub(super) fn give_up(&self) {
        self.is_given_up.set(true);
        self.notifier.ring();
    }

    /// Ends when the job was given up long enough ago.
    async fn overdue(&self) {
        self.notifier.until(|| self.is_given_up.get().then_some(())).await;
        tokio::time::sleep(OVERDUE).await;
    }
}

impl<L: Library> Shared<L> {
    /// Tells the task of connection `place` what to do.
    pub(super) fn order(&self, place: usize, order: Order<L::Job>) {
        let slot = &self.slots[place];
        if let Order::Perform(message) = &order {
            slot.ticket.set(Some(message.ticket));
            slot.session.set(message.session);
        }
        slot.is_given_up.set(false);
        slot.order.set(Some(order));
        self.busy.set(self.busy.get() + 1);
        slot.notifier.ring();
    }

    fn tell(&self) {
        self.has_changed.set(true);
        self.notifier.ring();
    }

    /// The host that connection `place` is with.
    fn host(&self, place: usize) -> usize {
        place % self.up.len()
    }

    /// The request that has waited longest for this host.
    fn longest_waiting(&self, host: usize) -> Option<Box<Message<L::Job>>> {
        let mut waiting = self.waiting.borrow_mut();
        let at = waiting.iter().position(|(other, _)| *other == host)?;
        waiting.remove(at).map(|(_, message)| message)
    }

    fn release(&self, place: usize) {
        match self.longest_waiting(self.host(place)) {
            Some(message) => self.order(place, Order::Perform(message)),
            None => self.free.borrow_mut().push(place),
        }
        self.tell();
    }

    fn come_up(&self, place: usize) {
        let up = &self.up[self.host(place)];
        up.set(up.get() + 1);
        self.release(place);
    }

    /// The connection is gone: whatever transaction was open on it is gone too.
    fn go_down(&self, place: usize) {
        let host = self.host(place);
        let left = self.up[host].get() - 1;
        self.up[host].set(left);
        if left == 0 {
            while let Some(mut message) = self.longest_waiting(host) {
                message.ending = Completion::Refused(Reason::Unreachable);
                self.answered.borrow_mut().push_back(message);
            }
        }
        self.free.borrow_mut().retain(|&other| other != place);
        for hold in self.holders.borrow_mut().values_mut() {
            if *hold == Hold::On(place) {
                *hold = Hold::Broken;
            }
        }
        self.tell();
    }

    fn deliver(&self, place: usize, message: Box<Message<L::Job>>) {
        self.slots[place].ticket.set(None);
        self.answered.borrow_mut().push_back(message);
        self.tell();
    }

    /// Carries out a job, and lets its session hold the connection or not.
    async fn carry_out(
        &self,
        place: usize,
        connection: &mut L::Connection,
        mut message: Box<Message<L::Job>>,
    ) -> ConnectionState {
        let slot = &self.slots[place];
        let session = message.session;
        let Message { job, rows, .. } = &mut *message;
        let performed = either(self.library.perform(connection, job, rows), slot.overdue()).await;
        let JobCompletion { ending, mut after, requests, node, version } = match performed {
            Either::First(completion) => completion,
            Either::Second(()) => JobCompletion::new(
                Completion::Unknown(Reason::ConnectionLost),
                ConnectionState::Lost,
            ),
        };
        if after == ConnectionState::Held && slot.is_given_up.get() {
            after = ConnectionState::Undo;
        }
        let mut holders = self.holders.borrow_mut();
        match after {
            ConnectionState::Held => drop(holders.insert(session, Hold::On(place))),
            ConnectionState::Free | ConnectionState::Undo | ConnectionState::Lost => {
                if holders.get(&session) == Some(&Hold::On(place)) {
                    holders.remove(&session);
                }
            }
        }
        drop(holders);
        message.ending = ending;
        message.requests = requests;
        message.node = if node == 0 { slot.node.get() } else { node };
        message.version = version;
        self.deliver(place, message);
        after
    }

    async fn undo(&self, connection: &mut L::Connection) -> ConnectionState {
        match tokio::time::timeout(OVERDUE, self.library.undo(connection)).await {
            Ok(Ok(())) => ConnectionState::Free,
            Ok(Err(Lost)) | Err(_) => ConnectionState::Lost,
        }
    }

    /// Follows orders until the connection is lost.
    async fn converse(&self, place: usize, connection: &mut L::Connection) {
        let slot = &self.slots[place];
        loop {
            let next = slot.notifier.until(|| slot.order.take());
            let Either::First(order) = either(next, self.library.lost(connection)).await else {
                return;
            };
            let ended = match order {
                Order::Perform(message) => self.carry_out(place, connection, message).await,
                Order::Undo => ConnectionState::Undo,
            };
            let after = match ended {
                ConnectionState::Undo => self.undo(connection).await,
                other => other,
            };
            self.busy.set(self.busy.get() - 1);
            match after {
                ConnectionState::Free => self.release(place),
                ConnectionState::Held => {}
                ConnectionState::Undo | ConnectionState::Lost => return,
            }
        }
    }
}

/// Keeps connection `place` alive for ever, beginning with `first`.
pub(super) async fn tend<L: Library>(shared: Rc<Shared<L>>, place: usize, first: L::Connection) {
    let mut made = Ok(first);
    let mut pause = FIRST_PAUSE;
    loop {
        if let Ok(mut connection) = made {
            pause = FIRST_PAUSE;
            shared.slots[place].node.set(shared.library.node(&connection, shared.host(place)));
            shared.come_up(place);
            shared.converse(place, &mut connection).await;
            shared.go_down(place);
        }
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
        made = shared.library.connect_to(shared.host(place)).await;
    }
}
