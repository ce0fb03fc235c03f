//! One pipelined connection of a lane, which makes itself anew when it breaks.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::Arc;

use assay_model::{Nanos, Reason};
use assay_store::answer::Span;
use assay_store::resp::{Limits, Parser, Protocol, Shape};
use assay_store::{Answer, Answers, Reply as Read, Request, Rows, Ticket};

use super::connect;
use super::dialer::{Dialer, Need};
use super::error::Failure;
use super::inbox::Inbox;
use super::reply::{Reply, keep_row};
use super::tongue::{Asked, Step, Tongue};
use super::transport::Transport;

/// The first pause before a broken connection is made anew; each failure doubles it.
const FIRST_PAUSE: Nanos = Nanos::from_millis(10);
/// The longest pause: a server that is back is found within this time.
const LONGEST_PAUSE: Nanos = Nanos::from_secs(1);
/// How often an idle connection is looked at, to notice that it broke.
const IDLE_LOOK: Nanos = Nanos::from_millis(1);

/// What all connections of a lane share.
pub(super) struct Shared {
    pub(super) dialer: Arc<Dialer>,
    pub(super) tongue: Arc<Tongue>,
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) protocol: Protocol,
}

/// One connection with the requests that wait for it.
pub(super) struct Connection {
    shared: Rc<Shared>,
    state: State,
    pause: Nanos,
    next_address: usize,
    looked_at: Nanos,
    is_readable: bool,
    /// Commands; what is before `sent` is with the operating system.
    out: Vec<u8>,
    sent: usize,
    /// How many bytes of this connection went through `out` before its present beginning.
    passed: u64,
    inbox: Inbox,
    parser: Parser,
    pending: VecDeque<Pending>,
    spans: Vec<Span>,
    first_half: Result<bool, Failure>,
    scan_rows: Vec<u8>,
    scan_failure: Option<Failure>,
    in_flight: usize,
    /// When patience with its oldest request ended, if nothing has come since.
    overdue_since: Option<Nanos>,
}

enum State {
    /// Nothing until then.
    Down { until: Nanos },
    /// TCP is on its way, until patience ends.
    Connecting { socket: TcpStream, until: Nanos },
    /// Commands of the greeting are to be answered, until patience ends.
    Greeting { transport: Transport, until: Nanos },
    /// Requests can be asked.
    Up { transport: Transport },
}

/// How long a connection may stay silent after patience with its oldest request has ended.
const OVERDUE: Nanos = Nanos::from_secs(1);

/// Bytes that may stay in the buffer after they were sent: enough that moving the rest to its
/// beginning is rare, little enough that a buffer that is never empty does not grow for ever.
const SENT_KEPT: usize = 256 << 10;

/// A command that was encoded and not answered yet.
#[derive(Clone, Copy)]
struct Pending {
    ticket: Ticket,
    step: Step,
    /// Where the operation's first byte is in the stream to the server.
    from: u64,
}

/// The connection is of no use any more.
struct Lost(Reason);

/// What a socket is waited for, besides something to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    Read,
    ReadAndWrite,
}

impl Connection {
    /// Goes on with a greeted connection whose socket no longer blocks.
    pub(super) fn new(shared: Rc<Shared>, transport: Transport) -> Connection {
        let inbox = Inbox::new(shared.tongue.names());
        let depth = shared.dialer.options.depth.min(MOST_PREPARED);
        Connection {
            shared,
            state: State::Up { transport },
            pause: FIRST_PAUSE,
            next_address: 0,
            looked_at: Nanos::ZERO,
            is_readable: false,
            out: Vec::with_capacity(OUT_ROOM),
            sent: 0,
            passed: 0,
            inbox,
            parser: Parser::new(Limits::REPLY),
            pending: VecDeque::with_capacity(2 * depth),
            spans: Vec::with_capacity(64),
            first_half: Ok(true),
            scan_rows: Vec::new(),
            scan_failure: None,
            in_flight: 0,
            overdue_since: None,
        }
    }

    /// How many requests wait for an answer.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Encodes `request`, or refuses it here and now.
    #[inline]
    pub(super) fn start(
        &mut self,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        if !matches!(self.state, State::Up { .. }) {
            return answers.answer(ticket, Answer::Refused(Reason::Unreachable));
        }
        let before = self.out.len();
        let from = self.passed + before as u64;
        match self.shared.tongue.encode(request, &mut self.out) {
            Ok((step, second)) => {
                self.pending.push_back(Pending { ticket, step, from });
                if let Some(step) = second {
                    self.pending.push_back(Pending { ticket, step, from });
                }
                self.in_flight += 1;
            }
            Err(reason) => {
                self.out.truncate(before);
                answers.answer(ticket, Answer::Refused(reason));
            }
        }
    }

    /// Moves bytes both ways: at most one write and one read, more only within TLS.
    #[inline]
    pub(super) fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        if self.overdue_since.is_some_and(|since| now.since(since) >= OVERDUE) {
            return self.give_up(now, Reason::ConnectionLost, answers);
        }
        match &self.state {
            State::Up { .. } => {}
            State::Greeting { until, .. } if now < *until => {}
            State::Greeting { .. } => return self.give_up(now, Reason::ConnectionLost, answers),
            State::Down { .. } | State::Connecting { .. } => return self.reconnect(now, answers),
        }
        if !self.has_work(now) {
            return;
        }
        let may_read = self.is_readable || self.is_awaited() || self.pending.is_empty();
        let written = self.flush();
        // The answer to what has left only now is not here yet: asking for it wastes a call.
        // Answers that came before the connection broke are answers: read first, then give up.
        let read = match may_read || written.is_err() {
            true => self.receive(now, answers),
            false => Ok(()),
        };
        if let Err(Lost(reason)) = read.and(written) {
            self.give_up(now, reason, answers);
        }
    }

    /// Patience with `ticket` has ended at `now`. If that is the oldest request here and nothing at
    /// all comes for a while longer, the connection is given up: all else on it would wait too.
    pub(super) fn abandon(&mut self, ticket: Ticket, now: Nanos) {
        if self.pending.front().is_some_and(|oldest| oldest.ticket == ticket) {
            self.overdue_since.get_or_insert(now);
        }
    }

    /// The socket to wait for, with what is hoped of it; `None` while nothing is connected.
    pub(super) fn socket(&self) -> Option<(&TcpStream, Interest)> {
        match &self.state {
            State::Down { .. } => None,
            State::Connecting { socket, .. } => Some((socket, Interest::ReadAndWrite)),
            State::Greeting { transport, .. } | State::Up { transport } => {
                let is_writing = self.sent < self.out.len() || transport.has_unsent();
                let interest = if is_writing { Interest::ReadAndWrite } else { Interest::Read };
                Some((transport.socket(), interest))
            }
        }
    }

    /// Waiting for the socket has ended because of it.
    pub(super) fn wake(&mut self) {
        self.is_readable = true;
    }

    /// When something is to be done even if no byte moves.
    pub(super) fn due(&self) -> Option<Nanos> {
        match &self.state {
            State::Down { until }
            | State::Connecting { until, .. }
            | State::Greeting { until, .. } => Some(*until),
            State::Up { .. } => self.overdue_since.map(|since| since.saturating_add(OVERDUE)),
        }
    }

    fn has_work(&self, now: Nanos) -> bool {
        !self.pending.is_empty()
            || self.is_readable
            || self.sent < self.out.len()
            || now.since(self.looked_at) >= IDLE_LOOK
    }

    /// Whether the oldest command has left, at least in part.
    fn is_awaited(&self) -> bool {
        let left = self.passed + self.sent as u64;
        self.pending.front().is_some_and(|oldest| oldest.from < left)
    }

    fn transport(&mut self) -> Option<&mut Transport> {
        match &mut self.state {
            State::Greeting { transport, .. } | State::Up { transport } => Some(transport),
            State::Down { .. } | State::Connecting { .. } => None,
        }
    }

    fn flush(&mut self) -> Result<(), Lost> {
        let (State::Greeting { transport, .. } | State::Up { transport }) = &mut self.state else {
            return Ok(());
        };
        if self.sent == self.out.len() && !transport.has_unsent() {
            return Ok(());
        }
        match transport.write(&self.out[self.sent..]) {
            Ok(count) => self.sent += count,
            Err(error) if is_passing(&error) => {}
            Err(_) => return Err(Lost(Reason::ConnectionLost)),
        }
        if self.sent == self.out.len() || self.sent > SENT_KEPT {
            self.passed += self.sent as u64;
            self.out.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }

    fn receive(&mut self, now: Nanos, answers: &mut dyn Answers) -> Result<(), Lost> {
        self.is_readable = false;
        self.looked_at = now;
        loop {
            let (State::Greeting { transport, .. } | State::Up { transport }) = &mut self.state
            else {
                return Ok(());
            };
            match self.inbox.fill(|room| transport.read(room)) {
                Ok(0) => return Err(Lost(Reason::ConnectionLost)),
                Ok(_) => {
                    self.overdue_since = None;
                    self.take_replies(answers)?;
                }
                Err(error) if is_passing(&error) => return Ok(()),
                Err(_) => return Err(Lost(Reason::ConnectionLost)),
            }
            if !self.transport().is_some_and(|transport| transport.hides_bytes()) {
                return Ok(());
            }
        }
    }

    fn take_replies(&mut self, answers: &mut dyn Answers) -> Result<(), Lost> {
        while !self.inbox.unread().is_empty() {
            let length = match self.parser.parse(self.inbox.unread()) {
                Ok(Some(length)) => length,
                Ok(None) => return Ok(()),
                Err(_) => return Err(Lost(Reason::Garbled)),
            };
            if self.parser.tokens()[0].shape != Shape::Push {
                self.take_reply(answers)?;
            }
            self.inbox.consume(length);
        }
        Ok(())
    }

    /// The reply at the head of the inbox belongs to the oldest command.
    #[inline]
    fn take_reply(&mut self, answers: &mut dyn Answers) -> Result<(), Lost> {
        let Some(pending) = self.pending.pop_front() else { return Err(Lost(Reason::Garbled)) };
        let reply = newest(&self.inbox, &self.parser);
        let tongue = &self.shared.tongue;
        let spans = &mut self.spans;
        let read = match pending.step {
            Step::Record => reply.record(spans),
            Step::Field(number) => reply.field(tongue.place(number), spans),
            Step::Named(table) => reply.named(tongue.places(table), spans),
            _ => return self.take_other(pending, answers),
        };
        self.in_flight -= 1;
        let found = !spans.is_empty();
        let answer = match read {
            Ok(()) if found => {
                let rows = Rows::Spans { bytes: reply.buffer, spans, rows: 1 };
                Answer::Done(Read { found, rows })
            }
            Ok(()) => Answer::Done(Read::MISSING),
            Err(failure) => failure.answer(),
        };
        answers.answer(pending.ticket, answer);
        lost_if_garbled(read)
    }

    /// Replies to everything that is not the read of a record.
    fn take_other(&mut self, pending: Pending, answers: &mut dyn Answers) -> Result<(), Lost> {
        let reply = newest(&self.inbox, &self.parser);
        let ended = match pending.step {
            Step::Write => reply.written().map(|()| true),
            Step::Count => reply.count().map(|count| count > 0),
            Step::InsertRecord => {
                self.first_half = reply.written().map(|()| true);
                return lost_if_garbled(self.first_half);
            }
            Step::DeleteRecord => {
                self.first_half = reply.count().map(|count| count > 0);
                return lost_if_garbled(self.first_half);
            }
            Step::InsertEntry | Step::DeleteEntry => {
                both_halves(self.first_half, reply.count().map(drop))
            }
            Step::ScanKeys(asked) => return self.take_keys(pending, asked, answers),
            Step::ScanRow(asked) => return self.take_row(asked),
            Step::ScanLastRow(asked) => {
                let taken = self.take_row(asked);
                self.end_scan(pending.ticket, answers);
                return taken;
            }
            Step::GreetingWish => return self.greeted(),
            Step::GreetingMust => {
                // The reason never shows: nothing else waits while a connection is greeted.
                reply.failure().map_or(Ok(()), |_| Err(Lost(Reason::NotPermitted)))?;
                return self.greeted();
            }
            Step::Record | Step::Field(_) | Step::Named(_) => return Err(Lost(Reason::Garbled)),
        };
        self.in_flight -= 1;
        let answer = match ended {
            Ok(true) => Answer::Done(Read::WRITTEN),
            Ok(false) => Answer::Done(Read::MISSING),
            Err(failure) => failure.answer(),
        };
        answers.answer(pending.ticket, answer);
        lost_if_garbled(ended)
    }

    /// The keys of a scan came: asks for each record, all at once.
    fn take_keys(
        &mut self,
        pending: Pending,
        records: Asked,
        answers: &mut dyn Answers,
    ) -> Result<(), Lost> {
        let reply = newest(&self.inbox, &self.parser);
        let mut asked = 0;
        let read = reply.texts().map(|keys| {
            for key in keys {
                // The fields were checked when the scan was encoded.
                if self.shared.tongue.read(key, records, &mut self.out).is_ok() {
                    self.pending.push_back(Pending { step: Step::ScanRow(records), ..pending });
                    asked += 1;
                }
            }
        });
        match (read, self.pending.back_mut()) {
            (Ok(()), Some(last)) if asked > 0 => last.step = Step::ScanLastRow(records),
            (Ok(()), _) => self.end_scan(pending.ticket, answers),
            (Err(failure), _) => {
                self.scan_failure = Some(failure);
                self.end_scan(pending.ticket, answers);
            }
        }
        lost_if_garbled(read)
    }

    fn take_row(&mut self, asked: Asked) -> Result<(), Lost> {
        let reply = newest(&self.inbox, &self.parser);
        let tongue = &self.shared.tongue;
        let read = match tongue.step(asked) {
            Step::Field(number) => reply.field(tongue.place(number), &mut self.spans),
            Step::Named(table) => reply.named(tongue.places(table), &mut self.spans),
            _ => reply.record(&mut self.spans),
        };
        // A key in the index without a record is a record that is not there. Who scans on from the
        // last record has to know that the scan has not come to its end.
        let is_gap = self.spans.is_empty();
        let kept = read.and_then(|()| match is_gap && !tongue.tells_gaps(asked.table) {
            true => Ok(()),
            false => keep_row(reply.buffer, &self.spans, &mut self.scan_rows),
        });
        if let Err(failure) = kept {
            self.scan_failure.get_or_insert(failure);
        }
        lost_if_garbled(read)
    }

    fn end_scan(&mut self, ticket: Ticket, answers: &mut dyn Answers) {
        self.in_flight -= 1;
        let answer = match self.scan_failure {
            Some(failure) => failure.answer(),
            None => {
                let rows = Rows::Encoded(&self.scan_rows);
                Answer::Done(Read { found: !self.scan_rows.is_empty(), rows })
            }
        };
        answers.answer(ticket, answer);
        // The keys of a second scan may have come before the rows of this one.
        self.scan_rows.clear();
        self.scan_failure = None;
    }

    /// One command of the greeting was answered well enough.
    fn greeted(&mut self) -> Result<(), Lost> {
        if !self.pending.is_empty() {
            return Ok(());
        }
        let state = std::mem::replace(&mut self.state, State::Down { until: Nanos::ZERO });
        if let State::Greeting { transport, .. } = state {
            self.state = State::Up { transport };
            self.pause = FIRST_PAUSE;
        }
        Ok(())
    }

    /// Answers everything that waits: unknown where a byte may have left, refused where not.
    fn give_up(&mut self, now: Nanos, reason: Reason, answers: &mut dyn Answers) {
        let left = self.passed + self.sent as u64;
        while let Some(Pending { ticket, step, from }) = self.pending.pop_front() {
            match step {
                Step::InsertRecord | Step::DeleteRecord | Step::ScanRow(_) => continue,
                Step::GreetingMust | Step::GreetingWish => continue,
                _ => {}
            }
            let answer = match from < left {
                true => Answer::Unknown(reason),
                false => Answer::Refused(Reason::Unreachable),
            };
            answers.answer(ticket, answer);
        }
        self.in_flight = 0;
        self.scan_rows.clear();
        self.scan_failure = None;
        self.overdue_since = None;
        self.out.clear();
        self.sent = 0;
        self.passed = left;
        self.inbox.clear();
        self.parser.reset();
        self.is_readable = false;
        self.state = State::Down { until: now.saturating_add(self.pause) };
        self.pause = Nanos((self.pause.0 * 2).min(LONGEST_PAUSE.0));
    }

    /// The next step towards a connection, without waiting for anything.
    fn reconnect(&mut self, now: Nanos, answers: &mut dyn Answers) {
        let patience = Nanos::from(self.shared.dialer.options.connect_timeout);
        match &self.state {
            State::Down { until } if now < *until => {}
            State::Down { .. } => {
                let address = self.shared.addresses[self.next_address];
                self.next_address = (self.next_address + 1) % self.shared.addresses.len();
                match connect::begin(address) {
                    Ok(socket) => {
                        let until = now.saturating_add(patience);
                        self.state = State::Connecting { socket, until };
                    }
                    Err(_) => self.give_up(now, Reason::Unreachable, answers),
                }
            }
            State::Connecting { socket, until } => match connect::finish(socket) {
                Ok(true) => self.greet(now, answers),
                Ok(false) if now < *until => {}
                Ok(false) | Err(_) => self.give_up(now, Reason::Unreachable, answers),
            },
            State::Greeting { .. } | State::Up { .. } => {}
        }
    }

    fn greet(&mut self, now: Nanos, answers: &mut dyn Answers) {
        let state = std::mem::replace(&mut self.state, State::Down { until: now });
        let State::Connecting { socket, until } = state else { return };
        match socket.set_nodelay(true).and_then(|()| self.shared.dialer.secure(socket)) {
            Ok(transport) => self.state = State::Greeting { transport, until },
            Err(_) => return self.give_up(now, Reason::Unreachable, answers),
        }
        for greeting in self.shared.dialer.greetings(self.shared.protocol) {
            greeting.encode(&mut self.out);
            let step = match greeting.need {
                Need::Must => Step::GreetingMust,
                Need::Wish => Step::GreetingWish,
            };
            self.pending.push_back(Pending { ticket: Ticket(0), step, from: self.passed });
        }
    }
}

/// Room for about a thousand reads, or a hundred small writes, before the buffer grows.
const OUT_ROOM: usize = 64 << 10;
/// Queues are made ready for this depth at most; deeper ones grow when they are used.
const MOST_PREPARED: usize = 16 << 10;

/// The reply at the head of the inbox, which the parser has just found.
fn newest<'a>(inbox: &'a Inbox, parser: &'a Parser) -> Reply<'a> {
    Reply { buffer: inbox.bytes(), start: inbox.head(), tokens: parser.tokens() }
}

/// Nothing is wrong: the socket would have made us wait.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// After a reply that makes no sense nobody knows which command the next one belongs to.
fn lost_if_garbled<T>(read: Result<T, Failure>) -> Result<(), Lost> {
    match read {
        Err(Failure::GARBLED) => Err(Lost(Reason::Garbled)),
        _ => Ok(()),
    }
}

/// How an operation of two commands ended.
///
/// If one half was refused while the other went through, half of it happened: that is no refusal.
/// A reader of the history must expect both, so it is unknown, with the reason of the refusal.
fn both_halves(first: Result<bool, Failure>, second: Result<(), Failure>) -> Result<bool, Failure> {
    match (first, second) {
        (Ok(found), Ok(())) => Ok(found),
        (Err(Failure::Refused(reason)), Err(Failure::Refused(_))) => Err(Failure::Refused(reason)),
        (Err(Failure::Refused(reason) | Failure::Unknown(reason)), _)
        | (_, Err(Failure::Refused(reason) | Failure::Unknown(reason))) => {
            Err(Failure::Unknown(reason))
        }
    }
}
