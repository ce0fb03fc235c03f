//! One pipelined connection below its protocol: bytes both ways, broken, made anew.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use assay_model::{Nanos, Reason};

use super::connect;
use super::inbox::Inbox;
use super::sockets::Interest;

/// The first pause before a broken connection is made anew; each failure doubles it.
const FIRST_PAUSE: Nanos = Nanos::from_millis(10);
/// The longest pause: a server that is back is found within this time.
const LONGEST_PAUSE: Nanos = Nanos::from_secs(1);
/// How often an idle connection is looked at, to notice that it broke.
const IDLE_LOOK: Nanos = Nanos::from_millis(1);
/// How long a connection may stay silent after its oldest request has timed out.
const OVERDUE: Nanos = Nanos::from_secs(1);
/// Bytes that may stay in the buffer after they were sent: enough that moving the rest to its
/// beginning is rare, little enough that a buffer that is never empty does not grow for ever.
const SENT_KEPT: usize = 256 << 10;
/// Room for about a thousand reads, or a hundred small writes, before the buffer grows.
const OUT_ROOM: usize = 64 << 10;

/// What carries the bytes: TCP itself, or something around it.
pub trait Wire {
    /// The socket beneath, to wait for it.
    fn socket(&self) -> &TcpStream;

    /// Takes bytes that have come; nothing means that the other side has closed.
    fn pull(&mut self, into: &mut [u8]) -> io::Result<usize>;

    /// Hands over bytes.
    fn push(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Whether it still holds bytes for the socket; a write of nothing moves them.
    fn has_unsent(&self) -> bool {
        false
    }

    /// Whether one read may leave bytes behind that the socket no longer shows.
    fn hides_bytes(&self) -> bool {
        false
    }
}

impl Wire for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }

    fn pull(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.read(into)
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write(bytes)
    }
}

/// The bytes of one connection. What they mean, its owner knows.
pub struct Link<W> {
    state: State<W>,
    pause: Nanos,
    looked_at: Nanos,
    is_readable: bool,
    /// Commands; what is before `sent` is with the operating system.
    pub out: Vec<u8>,
    sent: usize,
    /// How many bytes of this connection went through `out` before its present beginning.
    passed: u64,
    /// Replies.
    pub inbox: Inbox,
    /// Requests at the head of the queue that have timed out.
    abandoned: usize,
    /// Since when no data has come although the oldest request has timed out.
    overdue_since: Option<Nanos>,
}

enum State<W> {
    /// Nothing until then.
    Down { until: Nanos },
    /// The TCP connection is being established, until the timeout expires.
    Connecting { socket: TcpStream, until: Nanos },
    /// The replies of the handshake are awaited, until the timeout expires.
    Greeting { wire: W, until: Nanos },
    /// Requests can be sent.
    Up { wire: W },
}

/// The connection is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost(pub Reason);

/// What can be done with a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkStage {
    /// Bytes can be moved.
    Talking,
    /// There is no connection yet: [`Link::approach`].
    Apart,
    /// The other side has been silent for too long.
    Silent,
}

/// The next step towards a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approach {
    /// Nothing is to be done yet.
    Wait,
    /// [`Link::dial`] an address.
    Dial,
    /// TCP is there: [`Link::take_socket`], then [`Link::greet`].
    Made,
    /// It did not work: [`Link::drop_all`].
    Failed,
}

impl<W: Wire> Link<W> {
    /// A link whose greeting was exchanged already; its socket does not block.
    pub fn up(wire: W, inbox: Inbox) -> Link<W> {
        Link { state: State::Up { wire }, ..Link::down(inbox) }
    }

    /// A link that is yet to be made.
    pub fn down(inbox: Inbox) -> Link<W> {
        Link {
            state: State::Down { until: Nanos::ZERO },
            pause: FIRST_PAUSE,
            looked_at: Nanos::ZERO,
            is_readable: false,
            out: Vec::with_capacity(OUT_ROOM),
            sent: 0,
            passed: 0,
            inbox,
            abandoned: 0,
            overdue_since: None,
        }
    }

    /// Whether requests can be sent.
    #[inline]
    pub fn is_up(&self) -> bool {
        matches!(self.state, State::Up { .. })
    }

    /// The place of the next byte in the stream to the server.
    #[inline]
    pub fn end(&self) -> u64 {
        self.passed + self.out.len() as u64
    }

    /// The place up to which bytes are with the operating system.
    #[inline]
    pub fn left(&self) -> u64 {
        self.passed + self.sent as u64
    }

    /// What can be done at `now`.
    #[inline]
    pub fn stage(&self, now: Nanos) -> LinkStage {
        if self.overdue_since.is_some_and(|since| now.since(since) >= OVERDUE) {
            return LinkStage::Silent;
        }
        match &self.state {
            State::Up { .. } => LinkStage::Talking,
            State::Greeting { until, .. } if now < *until => LinkStage::Talking,
            State::Greeting { .. } => LinkStage::Silent,
            State::Down { .. } | State::Connecting { .. } => LinkStage::Apart,
        }
    }

    /// Requests at the head of the queue that have timed out.
    #[inline]
    pub fn abandoned(&self) -> usize {
        self.abandoned
    }

    /// `count` more requests at the head of the queue have timed out at `now`.
    pub fn abandon(&mut self, count: usize, now: Nanos) {
        self.abandoned += count;
        if self.abandoned > 0 {
            self.overdue_since.get_or_insert(now);
        }
    }

    /// The request at the head of the queue was answered.
    #[inline]
    pub fn answered(&mut self) {
        if self.abandoned > 0 {
            self.abandoned -= 1;
            if self.abandoned == 0 {
                self.overdue_since = None;
            }
        }
    }

    /// Waiting for the socket has ended because of it.
    #[inline]
    pub fn wake(&mut self) {
        self.is_readable = true;
    }

    /// Whether the socket is known to have something.
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.is_readable
    }

    /// Whether moving bytes may help although no request waits.
    #[inline]
    pub fn has_work(&self, now: Nanos) -> bool {
        self.is_readable || self.sent < self.out.len() || now.since(self.looked_at) >= IDLE_LOOK
    }

    /// The socket to wait for, with what is hoped of it; `None` while nothing is connected.
    pub fn socket(&self) -> Option<(&TcpStream, Interest)> {
        match &self.state {
            State::Down { .. } => None,
            State::Connecting { socket, .. } => Some((socket, Interest::ReadAndWrite)),
            State::Greeting { wire, .. } | State::Up { wire } => {
                let is_writing = self.sent < self.out.len() || wire.has_unsent();
                let interest = if is_writing { Interest::ReadAndWrite } else { Interest::Read };
                Some((wire.socket(), interest))
            }
        }
    }

    /// When something is to be done even if no byte moves.
    #[inline]
    pub fn due(&self) -> Option<Nanos> {
        match &self.state {
            State::Down { until }
            | State::Connecting { until, .. }
            | State::Greeting { until, .. } => Some(*until),
            State::Up { .. } => self.overdue_since.map(|since| since.saturating_add(OVERDUE)),
        }
    }

    /// Writes once, if there is anything to write.
    #[inline]
    pub fn flush(&mut self) -> Result<(), Lost> {
        let (State::Greeting { wire, .. } | State::Up { wire }) = &mut self.state else {
            return Ok(());
        };
        if self.sent == self.out.len() && !wire.has_unsent() {
            return Ok(());
        }
        match wire.push(&self.out[self.sent..]) {
            Ok(count) => self.sent += count,
            Err(error) if is_passing(&error) => {}
            Err(_) => return Err(Lost(Reason::ConnectionLost)),
        }
        // Never more is moved than was sent, however much waits behind it.
        let is_mostly_sent = self.sent > SENT_KEPT && self.sent > self.out.len() / 2;
        if self.sent == self.out.len() || is_mostly_sent {
            self.passed += self.sent as u64;
            self.out.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }

    /// Reads once into the inbox. True if bytes have come.
    #[inline]
    pub fn receive(&mut self, now: Nanos) -> Result<bool, Lost> {
        self.is_readable = false;
        self.looked_at = now;
        let (State::Greeting { wire, .. } | State::Up { wire }) = &mut self.state else {
            return Ok(false);
        };
        match self.inbox.fill(|room| wire.pull(room)) {
            Ok(0) => Err(Lost(Reason::ConnectionLost)),
            Ok(_) => {
                self.overdue_since = (self.abandoned > 0).then_some(now);
                Ok(true)
            }
            Err(error) if is_passing(&error) => Ok(false),
            Err(_) => Err(Lost(Reason::ConnectionLost)),
        }
    }

    /// Whether one read may leave bytes behind that the socket no longer shows.
    #[inline]
    pub fn hides_bytes(&self) -> bool {
        match &self.state {
            State::Greeting { wire, .. } | State::Up { wire } => wire.hides_bytes(),
            State::Down { .. } | State::Connecting { .. } => false,
        }
    }

    /// The connection broke, or was not made: forgets its bytes, then pauses.
    pub fn drop_all(&mut self, now: Nanos) {
        self.passed = self.left();
        (self.abandoned, self.overdue_since) = (0, None);
        self.out.clear();
        self.sent = 0;
        self.inbox.clear();
        self.is_readable = false;
        self.state = State::Down { until: now.saturating_add(self.pause) };
        self.pause = Nanos((self.pause.0 * 2).min(LONGEST_PAUSE.0));
    }

    /// The next step towards a connection, at `now`.
    pub fn approach(&self, now: Nanos) -> Approach {
        match &self.state {
            State::Down { until } if now < *until => Approach::Wait,
            State::Down { .. } => Approach::Dial,
            State::Connecting { socket, until } => match connect::finish(socket) {
                Ok(true) => Approach::Made,
                Ok(false) if now < *until => Approach::Wait,
                Ok(false) | Err(_) => Approach::Failed,
            },
            State::Greeting { .. } | State::Up { .. } => Approach::Wait,
        }
    }

    /// Begins a connection to `address` that must be there and greeted at `until`.
    pub fn dial(&mut self, address: SocketAddr, until: Nanos) -> io::Result<()> {
        let socket = connect::begin(address)?;
        self.state = State::Connecting { socket, until };
        Ok(())
    }

    /// The socket of an established connection, with the deadline of its handshake.
    pub fn take_socket(&mut self) -> Option<(TcpStream, Nanos)> {
        match std::mem::replace(&mut self.state, State::Down { until: Nanos::ZERO }) {
            State::Connecting { socket, until } => Some((socket, until)),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// Goes on with the greeting, which the owner puts into `out`.
    pub fn greet(&mut self, wire: W, until: Nanos) {
        self.state = State::Greeting { wire, until };
    }

    /// The greeting was answered well.
    pub fn greeted(&mut self) {
        let state = std::mem::replace(&mut self.state, State::Down { until: Nanos::ZERO });
        self.state = match state {
            State::Greeting { wire, .. } => {
                self.pause = FIRST_PAUSE;
                State::Up { wire }
            }
            other => other,
        };
    }
}

/// Nothing is wrong: the socket would have made us wait.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
