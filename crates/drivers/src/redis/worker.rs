//! A worker's client: some pipelined connections that are polled together.

use std::time::Duration;

use assay_model::Nanos;
use assay_store::{Answers, Client, Request, Ticket};

use super::connection::Connection;
use crate::wire::sockets;

/// The connections of one worker. A session always uses the same one, so its order holds.
pub(super) struct Worker {
    connections: Vec<Connection>,
    /// How many requests may wait for answers, over all connections.
    room: usize,
    now: Nanos,
}

impl Worker {
    /// At least one connection, each with up to `depth` requests in flight.
    pub(super) fn new(connections: Vec<Connection>, depth: usize) -> Worker {
        let room = connections.len() * depth;
        Worker { connections, room, now: Nanos::ZERO }
    }

    /// The time until the next pause or timeout ends.
    fn longest_wait(&self, timeout: Duration) -> Duration {
        let due = self.connections.iter().filter_map(Connection::due).min();
        due.map_or(timeout, |due| timeout.min(due.since(self.now).into()))
    }
}

impl Client for Worker {
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

    fn wait(&mut self, timeout: Duration) {
        if self.connections.iter().any(Connection::is_behind) {
            return;
        }
        let timeout = self.longest_wait(timeout);
        let woken = sockets::wait(self.connections.iter().map(Connection::socket), timeout);
        for (place, connection) in self.connections.iter_mut().enumerate() {
            if woken.has(place) {
                connection.wake();
            }
        }
    }
}
