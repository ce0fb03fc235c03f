//! A worker's client: some pipelined connections with each server, polled together.

use std::rc::Rc;
use std::time::Duration;

use assay_driver_kit::wire::sockets;
use assay_model::Nanos;
use assay_store::{Answer, Answers, Client, Request, Ticket};

use super::codec::{Codec, server_of};
use super::connection::Connection;

/// The connections of one worker. A session's requests for a server always use the same one.
pub(super) struct Worker {
    codec: Rc<Codec>,
    /// Server by server, as many of each.
    connections: Vec<Connection>,
    servers: usize,
    /// How many requests may wait for answers, over all connections.
    room: usize,
    key: Vec<u8>,
    now: Nanos,
}

impl Worker {
    /// `connections` has those with the first server first, then as many with each of the others.
    pub(super) fn new(
        codec: Rc<Codec>,
        connections: Vec<Connection>,
        servers: usize,
        depth: usize,
    ) -> Worker {
        let room = connections.len() * depth;
        Worker { codec, connections, servers, room, key: Vec::new(), now: Nanos::ZERO }
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
        if let Err(reason) = self.codec.key(request.table, request.key, &mut self.key) {
            return answers.answer(ticket, Answer::Refused(reason));
        }
        let each = self.connections.len() / self.servers;
        let first = server_of(&self.key, self.servers) * each;
        let number = first + request.session as usize % each;
        self.connections[number].start(ticket, request, &self.key, answers);
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
        let due = self.connections.iter().filter_map(Connection::due).min();
        let timeout = due.map_or(timeout, |due| timeout.min(due.since(self.now).into()));
        let woken = sockets::wait(self.connections.iter().map(Connection::socket), timeout);
        for (place, connection) in self.connections.iter_mut().enumerate() {
            if woken.has(place) {
                connection.wake();
            }
        }
    }
}
