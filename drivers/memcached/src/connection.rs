//! One pipelined connection with one server, which makes itself anew when it breaks.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;

use assay_driver_kit::wire::sockets::Interest;
use assay_driver_kit::wire::{Approach, Inbox, Link, LinkStage, Lost};
use assay_model::{Fields, Kind, Nanos, Reason};
use assay_store::answer::Span;
use assay_store::{Answer, Answers, OwnedRequest, Reply as Read, Request, Ticket, row};

use super::codec::{self, Codec, OURS};
use super::connector::Connector;
use super::failure::Failure;
use super::reply::{Reply, parse};

/// How often an update is tried in all when others change the record meanwhile.
pub(super) const TRIES: u16 = 8;
/// Queues are made ready for this depth at most; deeper ones grow when they are used.
const MOST_PREPARED: usize = 16 << 10;

/// What all connections of a worker with one server share.
pub(super) struct Shared {
    pub(super) connector: Rc<Connector>,
    pub(super) codec: Rc<Codec>,
    pub(super) addresses: Vec<SocketAddr>,
}

/// One connection with the requests that wait for it.
pub(super) struct Connection {
    shared: Rc<Shared>,
    link: Link<TcpStream>,
    next_address: usize,
    pending: VecDeque<Pending>,
    /// Updates in flight; unused slots are free.
    updates: Vec<Update>,
    free: Vec<usize>,
    key: Vec<u8>,
    row: Vec<u8>,
    spans: Vec<Span>,
    in_flight: usize,
}

/// A command that was encoded and not answered yet.
#[derive(Clone, Copy)]
struct Pending {
    ticket: Ticket,
    step: Step,
    /// Where its first byte is in the stream to the server.
    from: u64,
}

/// What the reply to a command means.
#[derive(Clone, Copy)]
enum Step {
    /// `mg` of a read.
    Read { table: u16, fields: Fields },
    /// `ms` of an insert.
    Insert,
    /// `md`.
    Delete,
    /// `mg` of the update at this place.
    Fetch(usize),
    /// `ms` of the update at this place.
    Change(usize),
    /// A command of the greeting.
    Greeting,
}

/// An update: read, changed, written if nobody else has changed it.
#[derive(Default)]
struct Update {
    request: OwnedRequest,
    requests: u16,
}

impl Connection {
    /// Goes on with a greeted connection whose socket no longer blocks.
    pub(super) fn new(shared: Rc<Shared>, socket: TcpStream) -> Connection {
        let depth = shared.connector.options.depth.min(MOST_PREPARED);
        Connection {
            shared,
            link: Link::up(socket, Inbox::new(b"")),
            next_address: 0,
            pending: VecDeque::with_capacity(depth),
            updates: Vec::new(),
            free: Vec::new(),
            key: Vec::new(),
            row: Vec::new(),
            spans: Vec::with_capacity(64),
            in_flight: 0,
        }
    }

    /// How many requests wait for an answer.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Encodes `request`, whose item has this key, or refuses it here and now.
    #[inline]
    pub(super) fn start(
        &mut self,
        ticket: Ticket,
        request: &Request<'_>,
        key: &[u8],
        answers: &mut dyn Answers,
    ) {
        if !self.link.is_up() {
            return answers.answer(ticket, Answer::Refused(Reason::Unreachable));
        }
        let from = self.link.end();
        match self.encode(request, key) {
            Ok(step) => {
                self.pending.push_back(Pending { ticket, step, from });
                self.in_flight += 1;
            }
            Err(reason) => answers.answer(ticket, Answer::Refused(reason)),
        }
    }

    /// Appends the first command of `request`; nothing if there is none.
    fn encode(&mut self, request: &Request<'_>, key: &[u8]) -> Result<Step, Reason> {
        let names = self.shared.codec.fields(request.table).ok_or(Reason::Malformed)?;
        let out = &mut self.link.out;
        match request.kind {
            Kind::Read => {
                check_fields(request.fields, names)?;
                codec::get(key, false, out);
                Ok(Step::Read { table: request.table, fields: request.fields })
            }
            Kind::Insert => {
                check_values(request, names)?;
                self.row.clear();
                row::make(&request.values, names, &mut self.row)?;
                self.shared.codec.fits(key, self.row.len())?;
                codec::set(key, &self.row, None, out);
                Ok(Step::Insert)
            }
            Kind::Update => {
                check_values(request, names)?;
                codec::get(key, true, out);
                let place = self.free.pop().unwrap_or(self.updates.len());
                if place == self.updates.len() {
                    self.updates.push(Update::default());
                }
                self.updates[place].request.fill(request);
                self.updates[place].requests = 1;
                Ok(Step::Fetch(place))
            }
            Kind::Delete => {
                codec::delete(key, out);
                Ok(Step::Delete)
            }
            Kind::Scan | Kind::Commit | Kind::Rollback => Err(Reason::Unsupported),
        }
    }

    /// Moves bytes both ways: at most one write and one read.
    #[inline]
    pub(super) fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        match self.link.stage(now) {
            LinkStage::Talking => {}
            LinkStage::Apart => return self.reconnect(now, answers),
            LinkStage::Silent => return self.give_up(now, Reason::ConnectionLost, answers),
        }
        if self.pending.is_empty() && !self.link.has_work(now) {
            return;
        }
        let is_awaited = self.pending.front().is_some_and(|oldest| oldest.from < self.link.left());
        let may_read = self.link.is_readable() || is_awaited || self.pending.is_empty();
        let written = self.link.flush();
        // Answers that came before the connection broke are answers: read first, then give up.
        let read = match may_read || written.is_err() {
            true => self.receive(now, answers),
            false => Ok(()),
        };
        if let Err(Lost(reason)) = read.and(written) {
            self.give_up(now, reason, answers);
        }
    }

    /// `ticket` has timed out at `now`. If that is the oldest request here and nothing at
    /// all comes for a while longer, the connection is given up: all else on it would wait too.
    pub(super) fn abandon(&mut self, ticket: Ticket, now: Nanos) {
        let behind = self.pending.iter().skip(self.link.abandoned());
        let count = behind.take_while(|pending| pending.ticket == ticket).count();
        self.link.abandon(count, now);
    }

    /// The socket to wait for, with what is hoped of it; `None` while nothing is connected.
    pub(super) fn socket(&self) -> Option<(&TcpStream, Interest)> {
        self.link.socket()
    }

    /// Waiting for the socket has ended because of it.
    pub(super) fn wake(&mut self) {
        self.link.wake();
    }

    /// When something is to be done even if no byte moves.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.link.due()
    }

    fn receive(&mut self, now: Nanos, answers: &mut dyn Answers) -> Result<(), Lost> {
        if !self.link.receive(now)? {
            return Ok(());
        }
        while !self.link.inbox.unread().is_empty() {
            match parse(self.link.inbox.unread()) {
                Ok(Some((reply, length))) => {
                    self.take_reply(&reply, answers)?;
                    self.link.inbox.consume(length);
                }
                Ok(None) => break,
                Err(_) => return Err(Lost(Reason::Garbled)),
            }
        }
        Ok(())
    }

    /// The reply at the head of the inbox belongs to the oldest command.
    fn take_reply(&mut self, reply: &Reply, answers: &mut dyn Answers) -> Result<(), Lost> {
        let Some(pending) = self.pending.pop_front() else { return Err(Lost(Reason::Garbled)) };
        self.link.answered();
        let ended = match (pending.step, reply) {
            (Step::Greeting, reply) => return self.greeted(reply),
            (Step::Fetch(place), reply) => return self.fetched(pending, place, reply, answers),
            (Step::Change(place), reply) => return self.changed(pending, place, reply, answers),
            (_, Reply::Failed(failure)) => Err(*failure),
            (Step::Read { table, fields }, Reply::Value { flags, value, .. }) => {
                self.in_flight -= 1;
                let value = &self.link.inbox.unread()[value.clone()];
                let names = self.shared.codec.fields(table).unwrap_or_default();
                let answer = match row::choose(value, fields, names, &mut self.spans) {
                    _ if *flags != OURS => Answer::Refused(Reason::WrongType),
                    Ok(rows) => Answer::Done(Read { found: true, rows }),
                    Err(reason) => Answer::Refused(reason),
                };
                answers.answer(pending.ticket, answer);
                return Ok(());
            }
            (Step::Insert | Step::Delete, Reply::Done) => Ok(Read::WRITTEN),
            (Step::Read { .. } | Step::Delete, Reply::Missing) => Ok(Read::MISSING),
            _ => Err(Failure::GARBLED),
        };
        self.in_flight -= 1;
        let answer = ended.map_or_else(Failure::answer, Answer::Done);
        answers.answer(pending.ticket, answer);
        lost_if_garbled(ended)
    }

    /// The record that is to be updated has come, or has not.
    fn fetched(
        &mut self,
        pending: Pending,
        place: usize,
        reply: &Reply,
        answers: &mut dyn Answers,
    ) -> Result<(), Lost> {
        let ended = match reply {
            Reply::Value { flags, cas, value } if *flags == OURS => {
                match self.change(place, *cas, value.clone()) {
                    Ok(from) => {
                        self.updates[place].requests += 1;
                        let step = Step::Change(place);
                        self.pending.push_back(Pending { step, from, ..pending });
                        return Ok(());
                    }
                    Err(reason) => Err(Failure::Refused(reason)),
                }
            }
            Reply::Value { .. } => Err(Failure::Refused(Reason::WrongType)),
            Reply::Missing => Ok(Read::MISSING),
            // Nothing was written yet, so whatever the server could not do has changed nothing.
            Reply::Failed(Failure::Refused(reason) | Failure::Unknown(reason)) => {
                Err(Failure::Refused(*reason))
            }
            _ => Err(Failure::GARBLED),
        };
        self.end_update(pending.ticket, place, ended, answers);
        lost_if_garbled(ended)
    }

    /// Appends the command that writes the changed record; tells where it begins.
    fn change(
        &mut self,
        place: usize,
        cas: u64,
        value: std::ops::Range<usize>,
    ) -> Result<u64, Reason> {
        let request = self.updates[place].request.request();
        let names = self.shared.codec.fields(request.table).ok_or(Reason::Malformed)?;
        self.shared.codec.key(request.table, request.key, &mut self.key)?;
        self.row.clear();
        row::merge(&self.link.inbox.unread()[value], &request.values, names, &mut self.row)?;
        self.shared.codec.fits(&self.key, self.row.len())?;
        let from = self.link.end();
        codec::set(&self.key, &self.row, Some(cas), &mut self.link.out);
        Ok(from)
    }

    /// The changed record was written, or was not.
    fn changed(
        &mut self,
        pending: Pending,
        place: usize,
        reply: &Reply,
        answers: &mut dyn Answers,
    ) -> Result<(), Lost> {
        let ended = match reply {
            Reply::Done => Ok(Read::WRITTEN),
            // It was deleted or evicted in between.
            Reply::Missing => Ok(Read::MISSING),
            Reply::Changed if self.updates[place].requests < 2 * TRIES => {
                let from = self.link.end();
                let request = self.updates[place].request.request();
                let spelled = self.shared.codec.key(request.table, request.key, &mut self.key);
                match spelled {
                    Ok(()) => {
                        codec::get(&self.key, true, &mut self.link.out);
                        self.updates[place].requests += 1;
                        let step = Step::Fetch(place);
                        self.pending.push_back(Pending { step, from, ..pending });
                        return Ok(());
                    }
                    Err(reason) => Err(Failure::Refused(reason)),
                }
            }
            Reply::Changed => Err(Failure::Refused(Reason::Conflict)),
            Reply::NotStored => Err(Failure::Refused(Reason::StoreError)),
            Reply::Failed(failure) => Err(*failure),
            Reply::Value { .. } | Reply::Alive => Err(Failure::GARBLED),
        };
        self.end_update(pending.ticket, place, ended, answers);
        lost_if_garbled(ended)
    }

    fn end_update(
        &mut self,
        ticket: Ticket,
        place: usize,
        ended: Result<Read<'static>, Failure>,
        answers: &mut dyn Answers,
    ) {
        self.in_flight -= 1;
        self.free.push(place);
        answers.requests(ticket, self.updates[place].requests);
        answers.answer(ticket, ended.map_or_else(Failure::answer, Answer::Done));
    }

    /// One command of the greeting was answered.
    fn greeted(&mut self, reply: &Reply) -> Result<(), Lost> {
        if !matches!(reply, Reply::Done | Reply::Alive) {
            // The reason never shows: nothing else waits while a connection is greeted.
            return Err(Lost(Reason::NotPermitted));
        }
        if self.pending.is_empty() {
            self.link.greeted();
        }
        Ok(())
    }

    /// Answers everything that waits: unknown where a byte may have left, refused where not.
    fn give_up(&mut self, now: Nanos, reason: Reason, answers: &mut dyn Answers) {
        let left = self.link.left();
        self.in_flight = 0;
        while let Some(Pending { ticket, step, from }) = self.pending.pop_front() {
            let answer = match step {
                Step::Greeting => continue,
                _ if from >= left => Answer::Refused(Reason::Unreachable),
                // An update that has only read has changed nothing.
                Step::Fetch(_) => Answer::Refused(reason),
                _ => Answer::Unknown(reason),
            };
            if let Step::Fetch(place) | Step::Change(place) = step {
                self.free.push(place);
                answers.requests(ticket, self.updates[place].requests);
            }
            answers.answer(ticket, answer);
        }
        self.link.drop_all(now);
    }

    /// The next step towards a connection, without waiting for anything.
    fn reconnect(&mut self, now: Nanos, answers: &mut dyn Answers) {
        match self.link.approach(now) {
            Approach::Wait => {}
            Approach::Dial => {
                let address = self.shared.addresses[self.next_address];
                self.next_address = (self.next_address + 1) % self.shared.addresses.len();
                let timeout = Nanos::from(self.shared.connector.options.connect_timeout);
                if self.link.dial(address, now.saturating_add(timeout)).is_err() {
                    self.give_up(now, Reason::Unreachable, answers);
                }
            }
            Approach::Made => self.greet(now, answers),
            Approach::Failed => self.give_up(now, Reason::Unreachable, answers),
        }
    }

    fn greet(&mut self, now: Nanos, answers: &mut dyn Answers) {
        let Some((socket, until)) = self.link.take_socket() else { return };
        match socket.set_nodelay(true) {
            Ok(()) => self.link.greet(socket, until),
            Err(_) => return self.give_up(now, Reason::Unreachable, answers),
        }
        for greeting in self.shared.connector.greetings() {
            self.link.out.extend_from_slice(&greeting);
            let from = self.link.left();
            self.pending.push_back(Pending { ticket: Ticket(0), step: Step::Greeting, from });
        }
    }
}

/// Whether the table has the requested field.
fn check_fields(fields: Fields, names: &[String]) -> Result<(), Reason> {
    match fields {
        Fields::One(number) if usize::from(number) >= names.len() => Err(Reason::Malformed),
        _ => Ok(()),
    }
}

/// Whether something is written, to fields that the table has.
fn check_values(request: &Request<'_>, names: &[String]) -> Result<(), Reason> {
    let mut values = request.values.iter();
    let is_wrong =
        request.values.is_empty() || values.any(|(number, _)| usize::from(number) >= names.len());
    if is_wrong { Err(Reason::Malformed) } else { Ok(()) }
}

/// After an invalid reply it is unknown which command the next one belongs to.
fn lost_if_garbled<T>(ended: Result<T, Failure>) -> Result<(), Lost> {
    match ended {
        Err(Failure::GARBLED) => Err(Lost(Reason::Garbled)),
        _ => Ok(()),
    }
}
