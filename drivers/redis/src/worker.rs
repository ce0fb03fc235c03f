//! A worker's client: some pipelined connections that are polled together.

use std::time::Duration;

use assay_driver_kit::read_server::{ReadServer, ReadSpread};
use assay_driver_kit::wire::sockets;
use assay_model::Nanos;
use assay_store::{Answers, Client, Request, Ticket};

use super::connection::Connection;

/// The connections of one worker. A session always uses the same one, so its order holds.
pub(super) struct Worker {
    /// Those of the master, then as many of each replica that is read.
    connections: Vec<Connection>,
    spread: ReadSpread,
    /// How many there are of each server.
    each: usize,
    /// How many requests may wait for answers, over all connections.
    room: usize,
    now: Nanos,
}

impl Worker {
    /// At least one connection with each of the `hosts` servers, of which the first takes writes;
    /// each with up to `depth` requests in flight.
    pub(super) fn new(
        connections: Vec<Connection>,
        depth: usize,
        read: ReadServer,
        hosts: usize,
    ) -> Worker {
        let (room, each) = (connections.len() * depth, connections.len() / hosts);
        let spread = ReadSpread::new(read, hosts);
        Worker { connections, spread, each, room, now: Nanos::ZERO }
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
        let host = self.spread.host(request.kind, request.session);
        let number = host * self.each + request.session as usize % self.each;
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
