//! A lane's client: some pipelined connections that are polled together.

use std::array;
use std::rc::Rc;
use std::time::Duration;

use assay_model::Nanos;
use assay_store::{Answers, Client, Request, Ticket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::connection::{Connection, Interest, Shared};
use super::options::MOST_CONNECTIONS;
use super::transport::Transport;

/// The connections of one lane. A session always uses the same one, so its order holds.
pub(super) struct Lane {
    connections: Vec<Connection>,
    /// How many requests may wait for answers, over all connections.
    room: usize,
    now: Nanos,
}

impl Lane {
    pub(super) fn new(shared: Rc<Shared>, transports: Vec<Transport>) -> Lane {
        let room = transports.len() * shared.dialer.options.depth;
        let connections = transports
            .into_iter()
            .map(|transport| Connection::new(shared.clone(), transport))
            .collect();
        Lane { connections, room, now: Nanos::ZERO }
    }

    /// How long nothing is to be done, as far as pauses and patience go.
    fn longest_wait(&self, patience: Duration) -> Duration {
        let due = self.connections.iter().filter_map(Connection::due).min();
        due.map_or(patience, |due| patience.min(due.since(self.now).into()))
    }
}

impl Client for Lane {
    fn is_ready(&self) -> bool {
        self.connections.iter().map(Connection::in_flight).sum::<usize>() < self.room
    }

    fn start(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        self.now = now;
        let number = request.session as usize % self.connections.len();
        self.connections[number].start(ticket, request, answers);
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.now = now;
        for connection in &mut self.connections {
            connection.poll(now, answers);
        }
    }

    fn abandon(&mut self, ticket: Ticket) {
        for connection in &mut self.connections {
            connection.abandon(ticket, self.now);
        }
    }

    fn wait(&mut self, patience: Duration) {
        let patience = self.longest_wait(patience);
        if let Some(woken) = wait_for_sockets(&self.connections, patience) {
            for (number, connection) in self.connections.iter_mut().enumerate() {
                if woken & 1 << number != 0 {
                    connection.wake();
                }
            }
        }
    }
}

/// Blocks until a socket has something for us; a bit for each connection that does.
fn wait_for_sockets(connections: &[Connection], patience: Duration) -> Option<u64> {
    let mut numbers = [0_u8; MOST_CONNECTIONS];
    let mut count = 0;
    let mut sockets = connections.iter().enumerate().filter_map(|(number, connection)| {
        let (socket, interest) = connection.socket()?;
        numbers[count] = number as u8;
        count += 1;
        let flags = match interest {
            Interest::Read => PollFlags::IN,
            Interest::ReadAndWrite => PollFlags::IN | PollFlags::OUT,
        };
        Some(PollFd::new(socket, flags))
    });
    let Some(first) = sockets.next() else {
        std::thread::sleep(patience);
        return None;
    };
    // The array is always filled, so that waiting needs no allocation; its rest is not used.
    let mut array: [PollFd<'_>; MOST_CONNECTIONS] = array::from_fn(|place| match place {
        0 => first.clone(),
        _ => sockets.next().unwrap_or_else(|| first.clone()),
    });
    drop(sockets);
    let timeout = Timespec {
        tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: patience.subsec_nanos().into(),
    };
    let waited = &mut array[..count];
    // An error is an interruption, and then we return early, which is allowed.
    poll(waited, Some(&timeout)).ok()?;
    let woken = waited.iter().zip(numbers).filter(|(socket, _)| !socket.revents().is_empty());
    Some(woken.fold(0, |bits, (_, number)| bits | 1 << number))
}
