//! A worker's client of a cluster: connections to every master, and the slot map.
//!
//! The map is requested again when a node redirects us, and, ever more slowly up to four times
//! a second, while a master cannot be reached, to find the replica that took over.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::wire::sockets;
use assay_model::{Kind, Nanos, Reason};
use assay_store::resp::{Protocol, Value};
use assay_store::{Answer, Answers, Client, Request, Ticket};

use super::slot_table::{Command, Counter, SlotTable};
use crate::codec::{Codec, Part, RecordRequest};
use crate::connection::{Connection, MAP, News};
use crate::connector::Connector;
use crate::shared::Shared;
use crate::slots::{Map, Redirect, RedirectKind, SLOTS, slot};

/// The first pause between two questions for the map; each doubles it.
const FIRST_PAUSE: Nanos = Nanos::from_millis(10);
/// The longest pause: a replica that took over is found within this time.
const LONGEST_PAUSE: Nanos = Nanos::from_millis(250);
/// How long a node may take to send the slot map before another is asked.
const MAP_TIMEOUT: Nanos = Nanos::from_millis(500);
/// In the map: no node.
const NOBODY: u16 = u16::MAX;

/// The client of one worker.
pub(crate) struct ClusterWorker {
    connector: Arc<Connector>,
    codec: Arc<Codec>,
    protocol: Protocol,
    nodes: Vec<Node>,
    /// Node by node, as many of each.
    connections: Vec<Connection>,
    /// How many connections each node has.
    each: usize,
    /// The node of each slot.
    slots: Box<[u16; SLOTS]>,
    slot_table: SlotTable,
    refresh: Refresh,
    key: Vec<u8>,
    now: Nanos,
}

/// A node that is, or was, a master.
struct Node {
    host: String,
    port: u16,
    has_slots: bool,
}

/// When the map is requested again.
struct Refresh {
    /// A node has redirected us.
    is_expected: bool,
    /// The connection of the request, and the deadline of its response.
    awaited: Option<(usize, Nanos)>,
    next: Nanos,
    pause: Nanos,
    /// The connection to use next.
    turn: usize,
}

impl ClusterWorker {
    /// A worker with established connections to every master, as many to each, in the map's order.
    pub(crate) fn new(
        connector: Arc<Connector>,
        codec: Arc<Codec>,
        protocol: Protocol,
        map: &Map,
        connections: Vec<Connection>,
    ) -> ClusterWorker {
        let nodes = map.masters.iter().map(|(host, port)| Node {
            host: host.clone(),
            port: *port,
            has_slots: true,
        });
        let mut worker = ClusterWorker {
            each: connector.options.connections,
            connector,
            codec,
            protocol,
            nodes: nodes.collect(),
            connections,
            slots: Box::new([NOBODY; SLOTS]),
            slot_table: SlotTable::default(),
            refresh: Refresh {
                is_expected: false,
                awaited: None,
                next: Nanos::ZERO,
                pause: FIRST_PAUSE,
                turn: 0,
            },
            key: Vec::new(),
            now: Nanos::ZERO,
        };
        worker.apply(map);
        worker
    }

    fn apply(&mut self, map: &Map) {
        let places: Vec<Option<usize>> =
            map.masters.iter().map(|(host, port)| self.node(host, *port)).collect();
        for (place, node) in self.nodes.iter_mut().enumerate() {
            node.has_slots = places.contains(&Some(place));
        }
        self.slots.fill(NOBODY);
        for (first, last, master) in &map.ranges {
            let place = places[*master].map_or(NOBODY, |place| place as u16);
            self.slots[usize::from(*first)..=usize::from(*last)].fill(place);
        }
    }

    /// The node at this address, with connections that are yet to be made if it is new; `None` if
    /// its name is not known, or there are too many.
    fn node(&mut self, host: &str, port: u16) -> Option<usize> {
        let known = self.nodes.iter().position(|node| node.host == host && node.port == port);
        if known.is_some() {
            return known;
        }
        let target = self.connector.target(host, port).ok()?;
        if self.connections.len() + self.each > sockets::MOST {
            return None;
        }
        let shared = Rc::new(Shared {
            connector: self.connector.clone(),
            codec: self.codec.clone(),
            target,
            protocol: self.protocol,
            sentinels: Vec::new(),
            tells_redirects: true,
        });
        self.connections.extend((0..self.each).map(|_| Connection::down(shared.clone())));
        self.nodes.push(Node { host: host.to_owned(), port, has_slots: true });
        Some(self.nodes.len() - 1)
    }

    /// The connection of a session with the node that has `key`.
    fn connection(&self, key: &[u8], session: u32) -> Option<usize> {
        let node = self.slots[usize::from(slot(key))];
        (node != NOBODY).then(|| usize::from(node) * self.each + session as usize % self.each)
    }

    /// The connection that a command has to go to.
    fn place_of(&mut self, command: Command) -> Option<usize> {
        let request = self.slot_table.request(command.place);
        let (table, session) = (request.table, request.session);
        let key = match (request.kind, command.number) {
            (Kind::Scan, 0) | (Kind::Insert | Kind::Delete, 1) => self.codec.index_key(table),
            (kind, number) => {
                let key = match kind {
                    Kind::Scan => self.slot_table.key(command.place, number - 1),
                    _ => request.key,
                };
                self.codec.full_key(table, key, &mut self.key);
                &self.key
            }
        };
        self.connection(key, session)
    }

    /// Sends a command, or ends it.
    fn send(
        &mut self,
        command: Command,
        place: Option<usize>,
        is_issuing: bool,
        answers: &mut dyn Answers,
    ) {
        let request = self.slot_table.request(command.place);
        let (kind, requested) =
            (request.kind, RecordRequest { table: request.table, fields: request.fields });
        let Some(connection) = place.and_then(|place| self.connections.get_mut(place)) else {
            // No node has the slot: as when the cluster itself reports CLUSTERDOWN.
            return self.end(command, Answer::Refused(Reason::Busy), answers);
        };
        let node = connection.node();
        let sent = connection.start_part(command.ticket(), is_issuing, |codec, out| {
            match (kind, command.number) {
                (Kind::Scan, 0) => codec.encode_part(&request, Part::Keys, out),
                (Kind::Scan, number) => {
                    codec.read(self.slot_table.key(command.place, number - 1), requested, out)
                }
                (_, 0) => codec.encode_part(&request, Part::Record, out),
                _ => codec.encode_part(&request, Part::Entry, out),
            }
        });
        self.slot_table.went_to(command.place, node);
        if let Err(reason) = sent {
            self.end(command, Answer::Refused(reason), answers);
        }
    }

    fn end(&mut self, command: Command, answer: Answer<'_>, answers: &mut dyn Answers) {
        self.slot_table.ended(command, answer, answers);
    }

    /// What a node has said about the cluster.
    fn take_news(&mut self, place: usize, answers: &mut dyn Answers) {
        for news in self.connections[place].take_news() {
            match news {
                News::Redirect(ticket, redirect) => {
                    self.follow(Command::of(ticket), place, &redirect, answers);
                }
                News::Map(answer) => self.take_map(place, answer.as_ref()),
            }
        }
    }

    fn take_map(&mut self, place: usize, answer: Option<&Value>) {
        self.refresh.awaited = None;
        let host = &self.nodes[place / self.each].host;
        let map = answer.and_then(|answer| Map::read(answer, host));
        // A node that has lost the others may forget them; the old map is better than none.
        if let Some(map) = map.filter(|map| !map.masters.is_empty()) {
            self.refresh.is_expected = false;
            self.apply(&map);
        }
    }

    /// Sends a command again to the node that the one at `place` has named. Once.
    fn follow(
        &mut self,
        command: Command,
        place: usize,
        redirect: &Redirect,
        answers: &mut dyn Answers,
    ) {
        self.refresh.is_expected = true;
        let host = match redirect.host.as_str() {
            "" => self.nodes[place / self.each].host.clone(),
            host => host.to_owned(),
        };
        let node = self.node(&host, redirect.port);
        if let (Some(node), RedirectKind::Moved) = (node, redirect.kind) {
            self.nodes[node].has_slots = true;
            self.slots[usize::from(redirect.slot)] = node as u16;
        }
        if command.is_redirected {
            return self.end(command, Answer::Refused(Reason::Busy), answers);
        }
        let is_issuing = redirect.kind == RedirectKind::Ask;
        self.slot_table.count(command.place, 1 + usize::from(is_issuing));
        let place = node.map(|node| node * self.each + place % self.each);
        let command = Command { is_redirected: true, ..command };
        self.send(command, place, is_issuing, answers);
    }

    /// Requests the records of scans whose keys have come.
    fn send_records(&mut self, answers: &mut dyn Answers) {
        while let Some(place) = self.slot_table.scans.pop() {
            let count = self.slot_table.keys(place);
            self.slot_table.count(place, count);
            for number in 1..=count {
                let command = Command { place, number, is_redirected: false };
                let connection = self.place_of(command);
                self.send(command, connection, false, answers);
            }
        }
    }

    /// Whether a connection is of use.
    fn is_requested(&self, place: usize) -> bool {
        self.nodes[place / self.each].has_slots || !self.connections[place].is_idle()
    }

    /// Whether every master can be reached and no node has redirected us.
    fn is_whole(&self) -> bool {
        let connections = self.connections.iter().enumerate();
        let mut expected = connections.filter(|(place, _)| self.nodes[place / self.each].has_slots);
        !self.refresh.is_expected && expected.all(|(_, connection)| connection.is_up())
    }

    /// Requests the map, if there is a reason.
    fn refresh(&mut self, now: Nanos) {
        if self.is_whole() {
            self.refresh.pause = FIRST_PAUSE;
            return;
        }
        match self.refresh.awaited {
            Some((_, until)) if now < until => return,
            Some((place, _)) => {
                // Others may know; a connection that goes on being silent is given up.
                self.connections[place].abandon_if(|oldest| oldest == MAP, now);
                self.refresh.awaited = None;
            }
            None => {}
        }
        if now < self.refresh.next {
            return;
        }
        let count = self.connections.len();
        let turns = (0..count).map(|step| (self.refresh.turn + step) % count);
        let Some(place) = turns.into_iter().find(|place| {
            self.connections[*place].is_up() && self.nodes[place / self.each].has_slots
        }) else {
            return;
        };
        self.connections[place].query_map();
        self.refresh.awaited = Some((place, now.saturating_add(MAP_TIMEOUT)));
        self.refresh.turn = place + 1;
        self.refresh.next = now.saturating_add(self.refresh.pause);
        self.refresh.pause = Nanos((self.refresh.pause.0 * 2).min(LONGEST_PAUSE.0));
    }

    /// The time until the next pause or timeout ends.
    fn longest_wait(&self, timeout: Duration) -> Duration {
        let requested = (0..self.connections.len()).filter(|place| self.is_requested(*place));
        let mut due = requested.filter_map(|place| self.connections[place].due()).min();
        if !self.is_whole() {
            let next = self.refresh.awaited.map_or(self.refresh.next, |(_, until)| until);
            due = Some(due.map_or(next, |due| due.min(next)));
        }
        due.map_or(timeout, |due| timeout.min(due.since(self.now).into()))
    }
}

impl Client for ClusterWorker {
    fn is_ready(&self) -> bool {
        let masters = self.nodes.iter().filter(|node| node.has_slots).count();
        self.slot_table.in_flight() < masters.max(1) * self.each * self.connector.options.depth
    }

    fn start(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        self.now = now;
        if !self.codec.full_key(request.table, request.key, &mut self.key) {
            return answers.answer(ticket, Answer::Refused(Reason::Malformed));
        }
        let is_double =
            matches!(request.kind, Kind::Insert | Kind::Delete) && self.codec.keeps_index();
        let place = self.slot_table.take(ticket, request, 1 + u16::from(is_double));
        let first = Command { place, number: 0, is_redirected: false };
        let to_first = self.place_of(first);
        if !is_double {
            return self.send(first, to_first, false, answers);
        }
        let second = Command { number: 1, ..first };
        let to_second = self.place_of(second);
        // Half of it shall not happen if we know beforehand that the other half cannot.
        let is_up = |place: Option<usize>| place.is_some_and(|at| self.connections[at].is_up());
        if !is_up(to_first) || !is_up(to_second) {
            let reason = match (to_first, to_second) {
                (Some(_), Some(_)) => Reason::Unreachable,
                _ => Reason::Busy,
            };
            self.end(first, Answer::Refused(reason), answers);
            return self.end(second, Answer::Refused(reason), answers);
        }
        self.send(first, to_first, false, answers);
        self.send(second, to_second, false, answers);
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.now = now;
        for place in 0..self.connections.len() {
            if !self.is_requested(place) {
                continue;
            }
            let codec = &self.codec;
            let tells_gaps = |table| codec.tells_gaps(table);
            let mut counter = Counter {
                slot_table: &mut self.slot_table,
                outer: answers,
                tells_gaps: &tells_gaps,
            };
            self.connections[place].poll(now, &mut counter);
            if self.connections[place].has_news() {
                self.take_news(place, answers);
            }
            if !self.slot_table.scans.is_empty() {
                self.send_records(answers);
            }
        }
        self.refresh(now);
    }

    fn abandon(&mut self, ticket: Ticket) {
        for connection in &mut self.connections {
            let slot_table = &self.slot_table;
            let is_meant = |oldest| slot_table.is_for(Command::of(oldest).place, ticket);
            connection.abandon_if(is_meant, self.now);
        }
    }

    fn wait(&mut self, timeout: Duration) {
        let is_behind = |place: usize| self.connections[place].is_behind();
        if (0..self.connections.len()).any(|place| self.is_requested(place) && is_behind(place)) {
            return;
        }
        let timeout = self.longest_wait(timeout);
        let sockets = (0..self.connections.len())
            .map(|place| self.connections[place].socket().filter(|_| self.is_requested(place)));
        let woken = sockets::wait(sockets, timeout);
        for (place, connection) in self.connections.iter_mut().enumerate() {
            if woken.has(place) {
                connection.wake();
            }
        }
    }
}
