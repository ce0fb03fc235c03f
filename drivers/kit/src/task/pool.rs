//! The worker's side of a pool: gives jobs to connections, delivers their completions.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use assay_model::{Nanos, Reason};
use assay_store::{Answer, Answers, OpenError, Reply, Rows, Ticket, number_of};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

use super::alarm::Alarm;
use super::notifier::{Notifier, either, one_turn};
use super::slot::{Hold, Message, Order, Shared, Slot, Waiting, tend};
use super::{Completion, Library};

/// How often idle connections are looked at, to notice that one broke.
const IDLE_LOOK: Nanos = Nanos::from_millis(1);

/// Requests that wait for a connection with their host while other hosts have free ones: a second
/// of a busy worker, so that one frozen host does not hold up the others.
const WAITING_MAX: usize = 4096;

/// Some connections of a client library, driven by the thread that made them.
pub struct Pool<L: Library> {
    shared: Rc<Shared<L>>,
    alarm: Alarm,
    spares: Vec<Box<Message<L::Job>>>,
    looked_at: Nanos,
    runtime: LocalRuntime,
}

/// A runtime on this thread, without any task.
pub(super) fn runtime() -> io::Result<LocalRuntime> {
    Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
}

impl<L: Library> Pool<L> {
    /// Makes `connections` connections with each host, one after another; the first that fails is
    /// the error.
    ///
    /// # Errors
    /// If a connection cannot be made, or the operating system has no resources for a runtime.
    ///
    /// # Panics
    /// If `connections` is zero.
    pub fn open(library: L, connections: usize, store: &str) -> Result<Pool<L>, OpenError> {
        assert!(connections > 0, "a pool without a connection would never answer");
        let failed = |error: io::Error| OpenError::Failed {
            store: store.into(),
            reason: format!("this machine has no resources for it: {error}"),
        };
        let runtime = runtime().map_err(failed)?;
        let alarm = runtime.block_on(async { Alarm::new() }).map_err(failed)?;
        let hosts = library.hosts();
        let connections = connections * hosts;
        let made = runtime.block_on(async {
            let mut made = Vec::with_capacity(connections);
            for place in 0..connections {
                made.push(library.connect_to(place % hosts).await?);
            }
            Ok(made)
        })?;
        let shared = Rc::new(Shared {
            library,
            slots: (0..connections).map(|_| Slot::new()).collect(),
            free: RefCell::new(Vec::with_capacity(connections)),
            holders: RefCell::new(HashMap::new()),
            answered: RefCell::new(VecDeque::with_capacity(connections)),
            waiting: RefCell::new(VecDeque::new()),
            up: vec![Cell::new(0); hosts],
            busy: Cell::new(0),
            has_changed: Cell::new(false),
            notifier: Notifier::default(),
        });
        for (place, connection) in made.into_iter().enumerate() {
            runtime.spawn_local(tend(shared.clone(), place, connection));
        }
        let pool = Pool { shared, alarm, spares: Vec::new(), looked_at: Nanos::ZERO, runtime };
        pool.turn();
        pool.shared.has_changed.set(false);
        Ok(pool)
    }

    /// The library that the connections are of.
    pub fn library(&self) -> &L {
        &self.shared.library
    }

    /// Whether a job could have a connection at once, or be refused at once.
    pub fn is_ready(&self) -> bool {
        self.free() > 0 || self.is_down()
    }

    /// How many jobs could have a connection at once.
    pub fn free(&self) -> usize {
        self.shared.free.borrow().len()
    }

    /// Whether there is no connection at present, so that jobs are refused.
    pub fn is_down(&self) -> bool {
        self.shared.up.iter().all(|up| up.get() == 0)
    }

    /// Whether a transaction of `session` is open.
    pub fn holds(&self, session: u32) -> bool {
        self.shared.holders.borrow().contains_key(&session)
    }

    /// Gives a job to a connection: to that which `session` holds, else to a free one. `fill` makes
    /// the job of an old one, whose buffers it may use. Refused here and now if there is none.
    pub fn submit(
        &mut self,
        ticket: Ticket,
        session: u32,
        answers: &mut dyn Answers,
        fill: impl FnOnce(&mut L::Job),
    ) {
        self.submit_to(self.host_of(session), ticket, session, answers, fill);
    }

    /// The same at host `host`, unless the session holds a connection elsewhere.
    pub fn submit_to(
        &mut self,
        host: usize,
        ticket: Ticket,
        session: u32,
        answers: &mut dyn Answers,
        fill: impl FnOnce(&mut L::Job),
    ) {
        let given = self.give_to(host, ticket, session, fill);
        // Also of a request that is never answered it is known where it went.
        let node = match given {
            Ok(Some(place)) => self.shared.slots[place].node.get(),
            Ok(None) | Err(_) if self.shared.up.len() > 1 => number_of(host),
            Ok(None) | Err(_) => 0,
        };
        if node != 0 {
            answers.node(ticket, node);
        }
        if let Err(reason) = given {
            answers.answer(ticket, Answer::Refused(reason));
        }
    }

    /// The same for those who keep what cannot have a connection: `fill` is not called then.
    ///
    /// # Errors
    /// Why there is no connection for it.
    pub fn give(
        &mut self,
        ticket: Ticket,
        session: u32,
        fill: impl FnOnce(&mut L::Job),
    ) -> Result<(), Reason> {
        self.give_to(self.host_of(session), ticket, session, fill).map(drop)
    }

    /// The host of a session that nobody has sent elsewhere.
    fn host_of(&self, session: u32) -> usize {
        session as usize % self.shared.up.len()
    }

    /// At host `host`, unless the session holds a connection elsewhere. Gives the connection that
    /// has it, `None` if it waits for one.
    fn give_to(
        &mut self,
        host: usize,
        ticket: Ticket,
        session: u32,
        fill: impl FnOnce(&mut L::Job),
    ) -> Result<Option<usize>, Reason> {
        let place = self.place_for(session, host)?;
        let mut message = self.spares.pop().unwrap_or_else(|| Box::new(Message::new()));
        message.ticket = ticket;
        message.session = session;
        message.rows.clear();
        fill(&mut message.job);
        match place {
            Some(place) => self.shared.order(place, Order::Perform(message)),
            None => self.shared.waiting.borrow_mut().push_back((host, message)),
        }
        Ok(place)
    }

    /// The connection for it; `None` if the host's are all in use.
    fn place_for(&self, session: u32, host: usize) -> Result<Option<usize>, Reason> {
        let mut holders = self.shared.holders.borrow_mut();
        match holders.get(&session) {
            Some(&Hold::On(place)) => return Ok(Some(place)),
            // The server has undone the transaction: its next step certainly does not happen.
            Some(Hold::Broken) => {
                holders.remove(&session);
                return Err(Reason::Unreachable);
            }
            None => {}
        }
        let hosts = self.shared.up.len();
        let mut free = self.shared.free.borrow_mut();
        match free.iter().rposition(|place| place % hosts == host) {
            Some(last) => Ok(Some(free.remove(last))),
            None if self.shared.up[host].get() == 0 => Err(Reason::Unreachable),
            None if hosts > 1 && self.shared.waiting.borrow().len() < WAITING_MAX => Ok(None),
            None => Err(Reason::InFlightLimit),
        }
    }

    /// Undoes the transaction of `session`, if there is one.
    pub fn abort(&mut self, session: u32) {
        let held = self.shared.holders.borrow_mut().remove(&session);
        let Some(Hold::On(place)) = held else { return };
        match self.shared.slots[place].ticket.get() {
            Some(_) => self.shared.slots[place].give_up(),
            None => self.shared.order(place, Order::Undo),
        }
    }

    /// `ticket` is abandoned. The transaction that it belongs to is rolled back.
    pub fn abandon(&mut self, ticket: Ticket) {
        let shared = &self.shared;
        if let Some(slot) = shared.slots.iter().find(|slot| slot.ticket.get() == Some(ticket)) {
            slot.give_up();
            shared.holders.borrow_mut().remove(&slot.session.get());
            return;
        }
        let is_waiting = |(_, message): &Waiting<L::Job>| message.ticket == ticket;
        let at = shared.waiting.borrow().iter().position(is_waiting);
        if let Some(at) = at {
            return drop(shared.waiting.borrow_mut().remove(at));
        }
        let answered = shared.answered.borrow();
        let session = answered.iter().find(|message| message.ticket == ticket);
        let session = session.map(|message| message.session);
        drop(answered);
        if let Some(session) = session {
            self.abort(session);
        }
    }

    /// Lets every task that can go on do so, without waiting, then delivers what was answered.
    pub fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.poll_each(now, |answered| answered.tell(answers));
    }

    /// The same, with each job that was answered given to `deliver`.
    pub fn poll_each(&mut self, now: Nanos, mut deliver: impl FnMut(Answered<'_, L::Job>)) {
        let shared = &self.shared;
        let is_idle = shared.busy.get() == 0 && !shared.has_changed.get();
        if is_idle && now.since(self.looked_at) < IDLE_LOOK {
            return;
        }
        self.looked_at = now;
        self.turn();
        self.shared.has_changed.set(false);
        loop {
            let Some(mut message) = self.shared.answered.borrow_mut().pop_front() else { return };
            let Message { ticket, job, ending, requests, node, version, rows, .. } = &mut *message;
            let (ticket, ending, requests) = (*ticket, *ending, *requests);
            let (node, version) = (*node, *version);
            deliver(Answered { ticket, job, ending, requests, node, version, rows });
            self.spares.push(message);
        }
    }

    /// Waits until a job was completed, a connection changed its state, or `timeout` ended.
    pub fn wait(&mut self, timeout: Duration) {
        let shared = &self.shared;
        let change = shared.notifier.until(|| shared.has_changed.get().then_some(()));
        self.runtime.block_on(either(change, self.alarm.after(timeout)));
    }

    fn turn(&self) {
        self.runtime.block_on(one_turn());
    }
}

/// A job that has ended.
pub struct Answered<'a, J> {
    /// The ticket that it was given with.
    pub ticket: Ticket,
    /// The job as its task left it; its buffers are used again.
    pub job: &'a mut J,
    /// How it ended.
    pub ending: Completion,
    /// How many requests it took.
    pub requests: u16,
    /// The node that answered; 0 if that is not known.
    pub node: u8,
    /// The store's own version of the record; 0 if it told none.
    pub version: u64,
    /// The rows that it left behind.
    pub rows: &'a [u8],
}

impl<J> Answered<'_, J> {
    /// Answers its ticket.
    pub fn tell(self, answers: &mut dyn Answers) {
        if self.requests != 1 {
            answers.requests(self.ticket, self.requests);
        }
        if self.node != 0 {
            answers.node(self.ticket, self.node);
        }
        if self.version != 0 {
            answers.version(self.ticket, self.version);
        }
        answers.answer(self.ticket, answer(self.ending, self.rows));
    }
}

/// What a ticket is answered with.
#[inline]
pub(super) fn answer(ending: Completion, rows: &[u8]) -> Answer<'_> {
    match ending {
        Completion::Done { found } => Answer::Done(Reply { found, rows: Rows::Encoded(rows) }),
        Completion::Refused(reason) => Answer::Refused(reason),
        Completion::Unknown(reason) => Answer::Unknown(reason),
    }
}
