//! One pipelined connection of a worker, which reconnects when it breaks.

use std::collections::VecDeque;
use std::net::TcpStream;
use std::rc::Rc;

use assay_driver_kit::wire::sockets::Interest;
use assay_driver_kit::wire::{Approach, Inbox, Link, LinkStage, Lost};
use assay_model::{Nanos, Reason};
use assay_store::answer::Span;
use assay_store::resp::{Limits, Parser, Shape, Value, write};
use assay_store::{Answer, Answers, Reply as Read, Request, Rows, Ticket};

use super::codec::{Codec, RecordRequest, Step};
use super::connector::Need;
use super::error::Failure;
use super::reply::{Reply, keep_row};
use super::sentinel::{Direction, Guide};
use super::shared::Shared;
use super::slots::Redirect;
use super::transport::Transport;

/// What a node of a cluster has said about the cluster.
#[derive(Debug)]
pub(super) enum News {
    /// The command of this ticket was not executed: another node has the slot.
    Redirect(Ticket, Redirect),
    /// The answer to CLUSTER SLOTS; none if the connection broke before it came.
    Map(Option<Value>),
}

/// One connection with the requests that wait for it.
pub(super) struct Connection {
    shared: Rc<Shared>,
    link: Link<Transport>,
    next_address: usize,
    guide: Option<Box<Guide>>,
    news: Vec<News>,
    parser: Parser,
    pending: VecDeque<Pending>,
    spans: Vec<Span>,
    first_half: Result<bool, Failure>,
    scan_rows: Vec<u8>,
    scan_failure: Option<Failure>,
    in_flight: usize,
    /// Why no request can be sent while there is no connection.
    apart: Reason,
    /// The number of the server that it is, or was last, with; 0 where there is only one.
    node: u8,
    /// Whether replies were left in the inbox: [`REPLIES_AT_ONCE`].
    is_behind: bool,
}

/// The most replies that are read before the worker continues with its loop.
///
/// After a pause of the server hundreds come at once. Arrivals that are due meanwhile would wait
/// for all of them to be parsed, some hundreds of nanoseconds each.
const REPLIES_AT_ONCE: usize = 32;

/// The ticket of a question for the map: no request has it.
pub(super) const MAP: Ticket = Ticket(u64::MAX);

/// A command that was encoded and not answered yet.
#[derive(Clone, Copy)]
struct Pending {
    ticket: Ticket,
    step: Step,
    /// Where the operation's first byte is in the stream to the server.
    from: u64,
}

impl Connection {
    /// Goes on with a greeted connection whose socket no longer blocks.
    pub(super) fn new(shared: Rc<Shared>, transport: Transport) -> Connection {
        let inbox = Inbox::new(shared.codec.names());
        Connection::over(Link::up(transport, inbox), shared)
    }

    /// A connection that is yet to be made.
    pub(super) fn down(shared: Rc<Shared>) -> Connection {
        let inbox = Inbox::new(shared.codec.names());
        Connection::over(Link::down(inbox), shared)
    }

    fn over(link: Link<Transport>, shared: Rc<Shared>) -> Connection {
        let depth = shared.connector.options.depth.min(MOST_PREPARED);
        let node = shared.target.addresses.first();
        let node = node.map_or(0, |address| shared.connector.node(*address));
        Connection {
            shared,
            link,
            next_address: 0,
            guide: None,
            news: Vec::new(),
            parser: Parser::new(Limits::REPLY),
            pending: VecDeque::with_capacity(2 * depth),
            spans: Vec::with_capacity(64),
            first_half: Ok(true),
            scan_rows: Vec::new(),
            scan_failure: None,
            in_flight: 0,
            apart: Reason::Unreachable,
            node,
            is_behind: false,
        }
    }

    /// The number of its server; 0 where there is only one.
    pub(super) fn node(&self) -> u8 {
        self.node
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
        if self.node != 0 {
            answers.node(ticket, self.node);
        }
        if !self.link.is_up() {
            return answers.answer(ticket, Answer::Refused(self.apart));
        }
        let before = self.link.out.len();
        let from = self.link.end();
        match self.shared.codec.encode(request, &mut self.link.out) {
            Ok((step, second)) => {
                self.pending.push_back(Pending { ticket, step, from });
                if let Some(step) = second {
                    self.pending.push_back(Pending { ticket, step, from });
                }
                self.in_flight += 1;
            }
            Err(reason) => {
                self.link.out.truncate(before);
                answers.answer(ticket, Answer::Refused(reason));
            }
        }
    }

    /// Encodes one command, behind ASKING if that is wanted, or says why not.
    pub(super) fn start_part(
        &mut self,
        ticket: Ticket,
        is_issuing: bool,
        encode: impl FnOnce(&Codec, &mut Vec<u8>) -> Result<Step, Reason>,
    ) -> Result<(), Reason> {
        if !self.link.is_up() {
            return Err(Reason::Unreachable);
        }
        let before = self.link.out.len();
        let from = self.link.end();
        if is_issuing {
            write::command(&[b"ASKING"], &mut self.link.out);
        }
        match encode(&self.shared.codec, &mut self.link.out) {
            Ok(step) => {
                if is_issuing {
                    self.pending.push_back(Pending { ticket, step: Step::Asking, from });
                }
                self.pending.push_back(Pending { ticket, step, from });
                self.in_flight += 1;
                Ok(())
            }
            Err(reason) => {
                self.link.out.truncate(before);
                Err(reason)
            }
        }
    }

    /// Asks which node has which keys; the response becomes [`News::Map`].
    pub(super) fn query_map(&mut self) {
        let from = self.link.end();
        write::command(&[b"CLUSTER", b"SLOTS"], &mut self.link.out);
        self.pending.push_back(Pending { ticket: MAP, step: Step::Map, from });
    }

    /// Whether something was said about the cluster.
    pub(super) fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// What was said about the cluster since the last time.
    pub(super) fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// Whether requests can be sent.
    pub(super) fn is_up(&self) -> bool {
        self.link.is_up()
    }

    /// Whether replies have come that were not taken yet: the next poll takes some.
    pub(super) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Whether nothing waits for an answer.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Moves bytes both ways: at most one write and one read, more only within TLS.
    #[inline]
    pub(super) fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        match self.link.stage(now) {
            LinkStage::Talking => {}
            LinkStage::Apart => return self.reconnect(now, answers),
            LinkStage::Silent => return self.give_up(now, Reason::ConnectionLost, answers),
        }
        if self.pending.is_empty() && !self.is_behind && !self.link.has_work(now) {
            return;
        }
        let may_read = self.link.is_readable() || self.is_awaited() || self.pending.is_empty();
        let written = self.link.flush();
        // The response to a request that was sent only now cannot be here yet: reading would waste
        // a call. Answers that came before the connection broke are answers: read first, then give
        // up.
        let mut read = match may_read || written.is_err() {
            true => self.receive(now, answers),
            false => Ok(()),
        };
        while written.is_err() && read.is_ok() && self.is_behind {
            read = self.take_replies(answers);
        }
        if let Err(Lost(reason)) = read.and(written) {
            self.give_up(now, reason, answers);
        }
    }

    /// `ticket` has timed out at `now`. If that is the oldest request here and nothing at
    /// all comes for a while longer, the connection is given up: all else on it would wait too.
    pub(super) fn abandon(&mut self, ticket: Ticket, now: Nanos) {
        self.abandon_if(|oldest| oldest == ticket, now);
    }

    /// The same, of whatever ticket is meant.
    ///
    /// Requests time out in the order in which they were sent, so the last one that timed out is
    /// what stands at the head of the queue.
    pub(super) fn abandon_if(&mut self, is_meant: impl Fn(Ticket) -> bool, now: Nanos) {
        let behind = self.pending.iter().skip(self.link.abandoned());
        let count = behind.take_while(|pending| is_meant(pending.ticket)).count();
        self.link.abandon(count, now);
    }

    /// The socket to wait for, with what is hoped of it; `None` while nothing is connected.
    pub(super) fn socket(&self) -> Option<(&TcpStream, Interest)> {
        self.link.socket().or_else(|| self.guide.as_ref()?.socket())
    }

    /// Waiting for the socket has ended because of it.
    pub(super) fn wake(&mut self) {
        self.link.wake();
    }

    /// When something is to be done even if no byte moves.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.guide.as_ref().map_or_else(|| self.link.due(), |guide| guide.due())
    }

    /// Whether the oldest command has left, at least in part.
    fn is_awaited(&self) -> bool {
        self.pending.front().is_some_and(|oldest| oldest.from < self.link.left())
    }

    fn receive(&mut self, now: Nanos, answers: &mut dyn Answers) -> Result<(), Lost> {
        while self.is_behind || self.link.receive(now)? {
            self.take_replies(answers)?;
            if self.is_behind || !self.link.hides_bytes() {
                break;
            }
        }
        Ok(())
    }

    fn take_replies(&mut self, answers: &mut dyn Answers) -> Result<(), Lost> {
        self.is_behind = false;
        let mut taken = 0;
        while !self.link.inbox.unread().is_empty() {
            if taken == REPLIES_AT_ONCE {
                self.is_behind = true;
                return Ok(());
            }
            taken += 1;
            let length = match self.parser.parse(self.link.inbox.unread()) {
                Ok(Some(length)) => length,
                Ok(None) => return Ok(()),
                Err(_) => return Err(Lost(Reason::Garbled)),
            };
            if self.parser.tokens()[0].shape != Shape::Push {
                self.take_reply(answers)?;
            }
            self.link.inbox.consume(length);
        }
        Ok(())
    }

    /// The reply at the head of the inbox belongs to the oldest command.
    #[inline]
    fn take_reply(&mut self, answers: &mut dyn Answers) -> Result<(), Lost> {
        let Some(pending) = self.pending.pop_front() else { return Err(Lost(Reason::Garbled)) };
        self.link.answered();
        let reply = newest(&self.link.inbox, &self.parser);
        let codec = &self.shared.codec;
        let spans = &mut self.spans;
        let read = match pending.step {
            Step::Record => reply.record(spans),
            Step::Field(number) => reply.field(codec.place(number), spans),
            Step::Named(table) => reply.named(codec.places(table), spans),
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
            Err(failure) => return self.fail(pending.ticket, failure, answers),
        };
        answers.answer(pending.ticket, answer);
        Ok(())
    }

    /// The command of `ticket` was answered with an error, which the parser has just found.
    #[cold]
    fn fail(
        &mut self,
        ticket: Ticket,
        failure: Failure,
        answers: &mut dyn Answers,
    ) -> Result<(), Lost> {
        if self.shared.tells_redirects {
            let error = newest(&self.link.inbox, &self.parser).error();
            if let Some(redirect) = error.and_then(Redirect::parse) {
                self.news.push(News::Redirect(ticket, redirect));
                return Ok(());
            }
        }
        answers.answer(ticket, failure.answer());
        lost_if_garbled::<()>(Err(failure))
    }

    /// Replies to everything that is not the read of a record.
    fn take_other(&mut self, pending: Pending, answers: &mut dyn Answers) -> Result<(), Lost> {
        let reply = newest(&self.link.inbox, &self.parser);
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
            Step::ScanKeys(requested) => return self.take_keys(pending, requested, answers),
            Step::ScanRow(requested) => return self.take_row(requested),
            Step::ScanLastRow(requested) => {
                let taken = self.take_row(requested);
                self.end_scan(pending.ticket, answers);
                return taken;
            }
            Step::Keys => return self.give_keys(pending.ticket, answers),
            Step::Map => {
                self.news.push(News::Map(Some(reply.value())));
                return Ok(());
            }
            // If that was refused, so is the command behind it.
            Step::Asking => return Ok(()),
            Step::GreetingMaster if !reply.is_master() => {
                return Err(Lost(Reason::ReadOnly));
            }
            Step::GreetingWish | Step::GreetingMaster => return self.greeted(),
            Step::GreetingMust | Step::GreetingPong => {
                if let Some(Failure::Refused(reason) | Failure::Unknown(reason)) = reply.failure() {
                    // The server is there, and says why it does not serve.
                    self.apart = reason;
                    return Err(Lost(reason));
                }
                if pending.step == Step::GreetingPong && !reply.is_pong() {
                    self.apart = Reason::Garbled;
                    return Err(Lost(Reason::Garbled));
                }
                return self.greeted();
            }
            Step::Record | Step::Field(_) | Step::Named(_) => return Err(Lost(Reason::Garbled)),
        };
        self.in_flight -= 1;
        let answer = match ended {
            Ok(true) => Answer::Done(Read::WRITTEN),
            Ok(false) => Answer::Done(Read::MISSING),
            Err(failure) => return self.fail(pending.ticket, failure, answers),
        };
        answers.answer(pending.ticket, answer);
        Ok(())
    }

    /// The keys of a scan came, for a caller that requests the records itself.
    fn give_keys(&mut self, ticket: Ticket, answers: &mut dyn Answers) -> Result<(), Lost> {
        let reply = newest(&self.link.inbox, &self.parser);
        let spans = &mut self.spans;
        self.in_flight -= 1;
        if let Err(failure) = reply.keys(spans) {
            return self.fail(ticket, failure, answers);
        }
        let rows = Rows::Spans { bytes: reply.buffer, spans, rows: spans.len() as u32 };
        answers.answer(ticket, Answer::Done(Read { found: !spans.is_empty(), rows }));
        Ok(())
    }

    /// The keys of a scan came: requests each record, all at once.
    fn take_keys(
        &mut self,
        pending: Pending,
        records: RecordRequest,
        answers: &mut dyn Answers,
    ) -> Result<(), Lost> {
        let reply = newest(&self.link.inbox, &self.parser);
        let mut requested = 0;
        let read = reply.texts().map(|keys| {
            for key in keys {
                // The fields were checked when the scan was encoded.
                if self.shared.codec.read(key, records, &mut self.link.out).is_ok() {
                    self.pending.push_back(Pending { step: Step::ScanRow(records), ..pending });
                    requested += 1;
                }
            }
        });
        match (read, self.pending.back_mut()) {
            (Ok(()), Some(last)) if requested > 0 => last.step = Step::ScanLastRow(records),
            (Ok(()), _) => self.end_scan(pending.ticket, answers),
            (Err(failure), _) => {
                self.scan_failure = Some(failure);
                self.end_scan(pending.ticket, answers);
            }
        }
        lost_if_garbled(read)
    }

    fn take_row(&mut self, requested: RecordRequest) -> Result<(), Lost> {
        let reply = newest(&self.link.inbox, &self.parser);
        let codec = &self.shared.codec;
        let read = match codec.step(requested) {
            Step::Field(number) => reply.field(codec.place(number), &mut self.spans),
            Step::Named(table) => reply.named(codec.places(table), &mut self.spans),
            _ => reply.record(&mut self.spans),
        };
        // A key in the index without a record is a record that is not there. Who scans on from the
        // last record has to know that the scan has not come to its end.
        let is_gap = self.spans.is_empty();
        let kept = read.and_then(|()| match is_gap && !codec.tells_gaps(requested.table) {
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
        if self.pending.is_empty() {
            self.link.greeted();
            self.apart = Reason::Unreachable;
        }
        Ok(())
    }

    /// Answers everything that waits: unknown where a byte may have left, refused where not.
    fn give_up(&mut self, now: Nanos, reason: Reason, answers: &mut dyn Answers) {
        let left = self.link.left();
        while let Some(Pending { ticket, step, from }) = self.pending.pop_front() {
            match step {
                Step::InsertRecord | Step::DeleteRecord | Step::ScanRow(_) => continue,
                Step::GreetingMust | Step::GreetingPong => continue,
                Step::GreetingWish | Step::GreetingMaster => continue,
                Step::Asking => continue,
                Step::Map => {
                    self.news.push(News::Map(None));
                    continue;
                }
                _ => {}
            }
            let answer = match from < left {
                true => Answer::Unknown(reason),
                false => Answer::Refused(Reason::Unreachable),
            };
            answers.answer(ticket, answer);
        }
        self.in_flight = 0;
        self.is_behind = false;
        self.scan_rows.clear();
        self.scan_failure = None;
        self.parser.reset();
        self.link.drop_all(now);
    }

    /// The next step towards a connection, without waiting for anything.
    fn reconnect(&mut self, now: Nanos, answers: &mut dyn Answers) {
        match self.link.approach(now) {
            Approach::Wait => {}
            Approach::Dial => match self.address(now) {
                Direction::Asking => {}
                Direction::Found(address) => {
                    let timeout = Nanos::from(self.shared.connector.options.connect_timeout);
                    if self.link.dial(address, now.saturating_add(timeout)).is_err() {
                        self.find_nobody(now, answers);
                    }
                }
                Direction::Lost => self.find_nobody(now, answers),
            },
            Approach::Made => self.greet(now, answers),
            Approach::Failed => self.find_nobody(now, answers),
        }
    }

    /// The connection is not accepted.
    fn find_nobody(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.apart = Reason::Unreachable;
        self.give_up(now, Reason::Unreachable, answers);
    }

    /// The server's address; sentinels are asked for it each time, one after the other.
    fn address(&mut self, now: Nanos) -> Direction {
        let shared = &self.shared;
        let sentinels = shared.sentinels.len();
        let turn = self.next_address;
        if sentinels == 0 {
            let addresses = &shared.target.addresses;
            self.next_address = (turn + 1) % addresses.len();
            return Direction::Found(addresses[turn]);
        }
        let guide = self.guide.get_or_insert_with(|| Box::new(Guide::new(shared.clone(), turn)));
        let direction = guide.poll(now);
        if direction != Direction::Asking {
            self.guide = None;
            self.next_address = (turn + 1) % sentinels;
        }
        direction
    }

    fn greet(&mut self, now: Nanos, answers: &mut dyn Answers) {
        let Some((socket, until)) = self.link.take_socket() else { return };
        let Shared { connector, target, .. } = &*self.shared;
        // Sentinels may have named another server than the last time.
        if let Ok(address) = socket.peer_addr() {
            self.node = connector.node(address);
        }
        match socket.set_nodelay(true).and_then(|()| connector.secure(socket, target)) {
            Ok(transport) => self.link.greet(transport, until),
            Err(_) => return self.give_up(now, Reason::Unreachable, answers),
        }
        for greeting in self.shared.connector.greetings(self.shared.protocol, &self.shared.target) {
            greeting.encode(&mut self.link.out);
            let step = match greeting.need {
                Need::Must => Step::GreetingMust,
                Need::Wish => Step::GreetingWish,
                Need::Master => Step::GreetingMaster,
                Need::Pong => Step::GreetingPong,
            };
            self.pending.push_back(Pending { ticket: Ticket(0), step, from: self.link.left() });
        }
    }
}

/// Queues are made ready for this depth at most; deeper ones grow when they are used.
const MOST_PREPARED: usize = 16 << 10;

/// The reply at the head of the inbox, which the parser has just found.
fn newest<'a>(inbox: &'a Inbox, parser: &'a Parser) -> Reply<'a> {
    Reply { buffer: inbox.bytes(), start: inbox.head(), tokens: parser.tokens() }
}

/// After an invalid reply it is unknown which command the next one belongs to.
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
pub(super) fn both_halves(
    first: Result<bool, Failure>,
    second: Result<(), Failure>,
) -> Result<bool, Failure> {
    match (first, second) {
        (Ok(found), Ok(())) => Ok(found),
        (Err(Failure::Refused(reason)), Err(Failure::Refused(_))) => Err(Failure::Refused(reason)),
        (Err(Failure::Refused(reason) | Failure::Unknown(reason)), _)
        | (_, Err(Failure::Refused(reason) | Failure::Unknown(reason))) => {
            Err(Failure::Unknown(reason))
        }
    }
}
