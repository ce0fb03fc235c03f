//! Many clients of one simulated store, on one thread that sleeps until something is due.

use std::io::{self, ErrorKind, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::redis::Keyspace;
use assay_model::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::connection::Connection;

/// Connections at once; one more gets an error and is closed, as in Redis.
///
/// Below the thousand or so files that systems let a process have open.
const MOST_CONNECTIONS: usize = 900;

/// How long the server sleeps at most, so that an interrupt between two checks is handled.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(50);

/// How long no connection is accepted after the system had no descriptor left.
const REST: Nanos = Nanos::from_millis(100);

/// What tells that a client has closed its side although nothing is read from it.
#[cfg(target_os = "linux")]
const GONE: PollFlags = PollFlags::RDHUP;
#[cfg(not(target_os = "linux"))]
const GONE: PollFlags = PollFlags::empty();

/// The server.
pub struct Server {
    listener: TcpListener,
    keyspace: Keyspace,
    connections: Vec<Connection>,
    /// The time since any moment, which stays the same.
    clock: fn() -> Nanos,
    epoch: Nanos,
    /// Until then no connection is accepted.
    closed_until: Nanos,
    accepted: u64,
    commands: u64,
    scratch: Vec<u8>,
}

/// What a server did.
pub struct Served {
    /// How many clients came.
    pub connections: u64,
    /// How many commands they gave.
    pub commands: u64,
    /// The store.
    pub keyspace: Keyspace,
}

impl Server {
    /// A server whose clients come through `listener`; `clock` tells the time since any moment.
    ///
    /// # Errors
    /// If the socket cannot be made to not block.
    pub fn new(
        listener: TcpListener,
        keyspace: Keyspace,
        clock: fn() -> Nanos,
    ) -> io::Result<Server> {
        listener.set_nonblocking(true)?;
        Ok(Server {
            listener,
            keyspace,
            connections: Vec::new(),
            clock,
            epoch: clock(),
            closed_until: Nanos::ZERO,
            accepted: 0,
            commands: 0,
            scratch: Vec::new(),
        })
    }

    /// Answers for `length`, or until `stop` is raised.
    ///
    /// # Errors
    /// If the system no longer tells which sockets have something.
    pub fn serve(mut self, length: Option<Nanos>, stop: &AtomicBool) -> io::Result<Served> {
        let end = length.unwrap_or(Nanos::NEVER);
        while !stop.load(Ordering::Relaxed) && self.now() < end {
            let ready = self.sleep(end)?;
            self.work(&ready);
        }
        let Server { accepted, commands, keyspace, .. } = self;
        Ok(Served { connections: accepted, commands, keyspace })
    }

    fn now(&self) -> Nanos {
        (self.clock)().since(self.epoch)
    }

    /// Sleeps until something comes or is due; tells what came, the listener first.
    fn sleep(&self, end: Nanos) -> io::Result<Vec<PollFlags>> {
        let interest = |connection: &Connection| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, connection.wants_input());
            flags.set(PollFlags::OUT, connection.wants_output());
            flags.set(GONE, !connection.is_gone());
            flags
        };
        let now = self.now();
        let is_open = now >= self.closed_until;
        let door = if is_open { PollFlags::IN } else { PollFlags::empty() };
        let mut polled = vec![PollFd::new(&self.listener, door)];
        polled.extend(self.connections.iter().map(|one| PollFd::new(&one.socket, interest(one))));
        let due = self.connections.iter().filter_map(Connection::due).min();
        let wants_turn = self.connections.iter().any(Connection::wants_turn);
        let longest = if wants_turn { Nanos::ZERO } else { LONGEST_SLEEP };
        let until = due.unwrap_or(Nanos::NEVER).min(end).since(now).min(longest).0;
        let timeout = Timespec {
            tv_sec: (until / 1_000_000_000) as i64,
            tv_nsec: (until % 1_000_000_000) as i64,
        };
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(polled.iter().map(PollFd::revents).collect())
    }

    fn work(&mut self, ready: &[PollFlags]) {
        let now = self.now();
        let came =
            |flags: PollFlags| flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
        let Some((listener, ready)) = ready.split_first() else { return };
        for (connection, flags) in self.connections.iter_mut().zip(ready) {
            if flags.intersects(GONE) {
                connection.part(now);
            }
            if came(*flags) && connection.wants_input() {
                connection.read(now, &mut self.scratch);
            } else if flags.intersects(PollFlags::HUP | PollFlags::ERR) {
                connection.hang_up();
            }
            self.commands += connection.obey(now, &mut self.keyspace);
            connection.answer(now);
        }
        self.connections.retain(|connection| !connection.is_over(now));
        if came(*listener) {
            self.accept();
        }
    }

    fn accept(&mut self) {
        loop {
            let mut socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // That connection is gone; another one may wait.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // No file descriptors are left: others may be closed; accepting again at once would
                // not help.
                Err(_) => {
                    self.closed_until = self.now().saturating_add(REST);
                    return;
                }
            };
            if self.connections.len() >= MOST_CONNECTIONS {
                // A client that does not read it sees the connection closed.
                let _ = socket.write_all(b"-ERR max number of clients reached\r\n");
                continue;
            }
            if socket.set_nonblocking(true).is_err() {
                continue;
            }
            // Without it, small replies would wait for the client's acknowledgements.
            let _ = socket.set_nodelay(true);
            self.connections.push(Connection::new(socket, self.accepted as u32));
            self.accepted += 1;
        }
    }
}
