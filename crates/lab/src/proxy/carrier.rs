//! The thread that carries all links.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use assay_model::{Draws, Nanos, Seed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_socket_linger;

use super::dialer::Dialers;
use super::rules::{REPLIES, REQUESTS, Rules};
use super::stream::{Broken, Free, Stream};
use super::{Now, Shared};

/// How long a node may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it waits when nothing is due.
const LOOK: Nanos = Nanos::from_secs(1);
/// How long a listener rests when a connection cannot be accepted, such as for lack of files.
const PAUSE: Nanos = Nanos::from_millis(10);

/// A link to be carried from now on.
#[derive(Debug)]
pub(super) struct NewLink {
    pub(super) listener: TcpListener,
    pub(super) exit: SocketAddr,
    /// The place of its rules.
    pub(super) index: usize,
    /// Whether nodes may come in here as well, for whose connections other rules hold.
    pub(super) is_entry: bool,
}

struct Link {
    new: NewLink,
    /// When each direction is free for more, if it has a limit, by the place of the rules.
    free: BTreeMap<usize, [Free; 2]>,
    /// Until when nobody is accepted.
    rests_until: Nanos,
    /// Connections that were accepted and are not answered, with the place of their rules.
    deaf: Vec<(usize, TcpStream)>,
}

struct Connection {
    link: usize,
    /// The place of its rules.
    index: usize,
    /// The client's socket and the node's: each direction comes from one of them.
    ends: [TcpStream; 2],
    streams: [Stream; 2],
    /// Whether the receiver of each direction had no room the last time.
    is_blocked: [bool; 2],
    is_broken: bool,
}

/// A connection that a node has accepted, or not.
struct Dialed {
    link: usize,
    /// The node that has opened it, if one has.
    from: Option<usize>,
    client: TcpStream,
    node: Option<TcpStream>,
}

/// What a socket that is ready belongs to.
#[derive(Clone, Copy)]
enum Ready {
    Wake,
    Listener(usize),
    Connection(usize),
}

pub(super) struct Carrier {
    shared: Arc<Mutex<Vec<Shared>>>,
    woken: UnixStream,
    /// The other end of the same, for threads that have connected.
    wake: Arc<UnixStream>,
    added: Receiver<NewLink>,
    dial: (Sender<Dialed>, Receiver<Dialed>),
    links: Vec<Link>,
    connections: Vec<Connection>,
    /// The rules as they were read last.
    known: Vec<Shared>,
    draws: Draws,
    dialers: Dialers,
    now: Now,
}

impl Carrier {
    pub(super) fn new(
        shared: Arc<Mutex<Vec<Shared>>>,
        (wake, woken): (UnixStream, UnixStream),
        added: Receiver<NewLink>,
        (dialers, now): (Dialers, Now),
    ) -> Carrier {
        Carrier {
            shared,
            woken,
            wake: Arc::new(wake),
            added,
            dial: channel(),
            links: Vec::new(),
            connections: Vec::new(),
            known: Vec::new(),
            draws: Seed(0).draws(0, 0),
            dialers,
            now,
        }
    }

    /// Carries until the proxy is gone.
    pub(super) fn carry(mut self) {
        loop {
            match self.added.try_recv() {
                Ok(new) => self.links.push(Link {
                    new,
                    free: BTreeMap::new(),
                    rests_until: Nanos::ZERO,
                    deaf: Vec::new(),
                }),
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => self.step(),
            }
        }
    }

    /// The rules at this place.
    fn rules(&self, index: usize) -> Rules {
        self.known.get(index).map_or_else(Rules::default, |known| known.rules)
    }

    /// The place of the rules for a connection that this node, or a client, has opened at a link.
    fn index_of(&self, link: usize, from: Option<usize>) -> usize {
        let NewLink { index, is_entry, .. } = self.links[link].new;
        let is_its = |known: &Shared| known.entry == index && known.from == from;
        match is_entry {
            true => self.known.iter().position(is_its).unwrap_or(index),
            false => index,
        }
    }

    /// Reads the rules, and does what follows from their change; what is broken is removed later.
    fn read_rules(&mut self) {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let before = std::mem::replace(&mut self.known, shared);
        for (index, (old, new)) in before.iter().zip(&self.known).enumerate() {
            let is_reset = new.resets != old.resets;
            if !new.rules.is_deaf || is_reset {
                let deaf = self.links.iter_mut().map(|link| &mut link.deaf);
                let its = deaf.flat_map(|deaf| deaf.extract_if(.., |(of, _)| *of == index));
                its.for_each(|(_, client)| reset(client));
            }
            let is_healed = old.rules.is_lossy && !new.rules.is_lossy;
            for connection in self.connections.iter_mut().filter(|one| one.index == index) {
                let is_torn = connection.streams.iter().any(|stream| stream.is_torn);
                connection.is_broken |= is_reset || is_healed && is_torn;
            }
        }
    }

    fn remove_the_broken(&mut self) {
        let is_over =
            |one: &mut Connection| one.is_broken || one.streams.iter().all(Stream::is_over);
        for connection in self.connections.extract_if(.., is_over) {
            if connection.is_broken {
                connection.ends.into_iter().for_each(reset);
            }
        }
    }

    fn take_dialed(&mut self) {
        while let Ok(Dialed { link, from, client, node }) = self.dial.1.try_recv() {
            let index = self.index_of(link, from);
            if self.rules(index).is_deaf {
                self.links[link].deaf.push((index, client));
                continue;
            }
            let ready = node.filter(|node| {
                let is_set = |socket: &TcpStream| {
                    socket.set_nonblocking(true).is_ok() && socket.set_nodelay(true).is_ok()
                };
                is_set(node) && is_set(&client)
            });
            match ready {
                Some(node) => self.connections.push(Connection {
                    link,
                    index,
                    ends: [client, node],
                    streams: [Stream::default(), Stream::default()],
                    is_blocked: [false; 2],
                    is_broken: false,
                }),
                None => reset(client),
            }
        }
    }

    /// Waits until a socket is ready or something is due, and does it.
    fn step(&mut self) {
        let ready = self.wait();
        // Rules that change from here on wake it again.
        let mut drained = [0; 64];
        while matches!((&self.woken).read(&mut drained), Ok(1..)) {}
        // New rules apply to everything that came after them.
        self.read_rules();
        self.take_dialed();
        let mut is_read = vec![[false; 2]; self.connections.len()];
        for (what, flags) in ready {
            match what {
                Ready::Wake => {}
                Ready::Listener(link) => self.accept(link),
                Ready::Connection(place) => {
                    let end = usize::from(flags.1);
                    is_read[place][end] |= !(flags.0 & !PollFlags::OUT).is_empty();
                }
            }
        }
        self.pass(&is_read);
        self.remove_the_broken();
    }

    /// Reads what has come, writes what is due.
    fn pass(&mut self, is_read: &[[bool; 2]]) {
        let now = (self.now)();
        for (place, is_read) in is_read.iter().enumerate() {
            if self.connections[place].is_broken {
                continue;
            }
            let rules = self.rules(self.connections[place].index);
            let connection = &mut self.connections[place];
            let free = self.links[connection.link].free.entry(connection.index).or_default();
            for direction in [REQUESTS, REPLIES] {
                let stream = &mut connection.streams[direction];
                let [from, to] = [direction, 1 - direction].map(|end| &connection.ends[end]);
                let mut passed = Ok(connection.is_blocked[direction]);
                if is_read[direction] {
                    let read =
                        stream.read(from, &rules, &mut free[direction], &mut self.draws, now);
                    passed = read.map(|()| false);
                }
                if passed.is_ok() && !rules.hold[direction] {
                    passed = stream.write(to, now);
                }
                match passed {
                    Ok(is_blocked) => connection.is_blocked[direction] = is_blocked,
                    Err(Broken) => connection.is_broken = true,
                }
            }
        }
    }

    /// The sockets that are ready, with their flags; for a connection's, which end it is.
    fn wait(&self) -> Vec<(Ready, (PollFlags, bool))> {
        let mut sockets = vec![PollFd::new(&self.woken, PollFlags::IN)];
        let mut owners = vec![(Ready::Wake, false)];
        let now = (self.now)();
        let mut until = now + LOOK;
        for (place, link) in self.links.iter().enumerate() {
            if link.rests_until > now {
                until = until.min(link.rests_until);
                continue;
            }
            sockets.push(PollFd::new(&link.new.listener, PollFlags::IN));
            owners.push((Ready::Listener(place), false));
        }
        for (place, connection) in self.connections.iter().enumerate() {
            let rules = self.rules(connection.index);
            for end in [REQUESTS, REPLIES] {
                let mut wanted = PollFlags::empty();
                let (from, to) = (&connection.streams[end], 1 - end);
                wanted.set(PollFlags::IN, from.wants_more());
                wanted.set(PollFlags::OUT, connection.is_blocked[to] && !rules.hold[to]);
                // A socket of which nothing is wanted would still say that its other end is gone.
                if !wanted.is_empty() {
                    sockets.push(PollFd::new(&connection.ends[end], wanted));
                    owners.push((Ready::Connection(place), end == REPLIES));
                }
                if !connection.is_blocked[end] {
                    until = from.due(rules.hold[end]).map_or(until, |due| until.min(due));
                }
            }
        }
        let nanos = until.since(now).0;
        let (secs, nanos) = ((nanos / 1_000_000_000) as i64, (nanos % 1_000_000_000) as i64);
        // Interrupted or failed: the next look is soon.
        if poll(&mut sockets, Some(&Timespec { tv_sec: secs, tv_nsec: nanos })).is_err() {
            return Vec::new();
        }
        let ready = sockets.iter().zip(owners).filter(|(socket, _)| !socket.revents().is_empty());
        ready.map(|(socket, (what, end))| (what, (socket.revents(), end))).collect()
    }

    /// Accepts who waits, and connects to the node for each, which may take its time.
    fn accept(&mut self, place: usize) {
        loop {
            let (client, address) = match self.links[place].new.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.links[place].rests_until = (self.now)() + PAUSE;
                    return;
                }
            };
            let (exit, dialed) = (self.links[place].new.exit, self.dial.0.clone());
            let (wake, dialers) = (Arc::clone(&self.wake), self.dialers.clone());
            let is_entry = self.links[place].new.is_entry;
            let dial = move || {
                let entry = client.local_addr().ok().filter(|_| is_entry);
                let from = entry.and_then(|entry| dialers.node_of(address, entry));
                let node = TcpStream::connect_timeout(&exit, CONNECT_TIMEOUT).ok();
                // The carrier may have ended.
                let _ = dialed.send(Dialed { link: place, from, client, node });
                let _ = (&*wake).write(&[1]);
            };
            // Without a thread the client is dropped, which it sees.
            let _ = thread::Builder::new().name("dial".to_owned()).spawn(dial);
        }
    }
}

/// Closes a connection in a way that its other end sees as an error.
fn reset(socket: TcpStream) {
    // If that fails it is closed as usual.
    let _ = set_socket_linger(&socket, Some(Duration::ZERO));
    drop(socket);
}
