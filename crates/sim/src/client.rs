//! A worker's client of a simulated store.
//!
//! They query the simulation's core, then hold responses until they are due.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_model::{Fields, Kind, Nanos, Reason};

use super::world::{SimAnswer, SimEffect, SimRequest, World};
use assay_store::answer::{Answer, Answers, Reply, Rows, Span};
use assay_store::request::{Request, Ticket};
use assay_store::row;
use assay_store::{Client, number_of};

/// A table of the layout in force.
#[derive(Debug)]
pub(super) struct Columns {
    /// Its number in the world.
    pub table: usize,
    /// The names of its fields.
    pub fields: Vec<String>,
}

/// See the module.
pub(super) struct SimulatedClient {
    pub world: Arc<Mutex<World>>,
    pub layout: Arc<[Columns]>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// Abandoned tickets; some may be among those waiting.
    abandoned: BTreeSet<u64>,
    started: u64,
    /// Whether there are several nodes, so that answers name theirs.
    has_nodes: bool,
    /// The only node that answers reads, if one was chosen.
    reader: Option<usize>,
    /// The last moment that was passed in.
    now: Nanos,
    patch: Vec<u8>,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    spans: Vec<Span>,
    rows: Vec<u8>,
}

/// A response that is not due yet. Responses that are due together come in the order of the
/// requests.
struct Waiting {
    due: Nanos,
    number: u64,
    ticket: Ticket,
    table: u16,
    fields: Fields,
    result: Result<SimEffect, Reason>,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.number == other.number
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

/// The most abandoned responses that are kept.
const MOST_ABANDONED: usize = 64;

/// A world whose user panicked is taken as it is: it is data that no half-done change can break.
pub(super) fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimulatedClient {
    /// With `reader`, that node answers all reads.
    pub fn new(
        world: Arc<Mutex<World>>,
        layout: Arc<[Columns]>,
        reader: Option<usize>,
    ) -> SimulatedClient {
        let has_nodes = lock(&world).config().nodes.len() > 1;
        SimulatedClient {
            world,
            layout,
            waiting: BinaryHeap::new(),
            abandoned: BTreeSet::new(),
            started: 0,
            has_nodes,
            reader,
            now: Nanos::ZERO,
            patch: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Sends to the core; fields that the layout does not have are refused without a request.
    fn send(&mut self, request: &Request<'_>) -> SimAnswer {
        let refused = |reason| SimAnswer { due: self.now, node: 0, result: Err(reason) };
        let Some(columns) = self.layout.get(usize::from(request.table)) else {
            return refused(Reason::Malformed);
        };
        self.patch.clear();
        if matches!(request.kind, Kind::Insert | Kind::Update)
            && let Err(reason) = row::make(&request.values, &columns.fields, &mut self.patch)
        {
            return refused(reason);
        }
        if let Fields::One(number) = request.fields
            && !request.kind.writes()
            && usize::from(number) >= columns.fields.len()
        {
            return refused(Reason::Malformed);
        }
        let requested = SimRequest {
            session: request.session,
            kind: request.kind,
            table: columns.table,
            key: request.key,
            patch: &self.patch,
            limit: request.limit,
        };
        let mut world = lock(&self.world);
        world.read_at(self.reader);
        world.send(self.now, &requested)
    }
}

impl Client for SimulatedClient {
    fn start(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        self.now = now;
        let SimAnswer { due, node, result } = self.send(request);
        if self.has_nodes {
            answers.node(ticket, number_of(node));
        }
        let number = self.started;
        self.started += 1;
        let Request { table, fields, .. } = *request;
        let waiting = Waiting { due, number, ticket, table, fields, result };
        if due <= now {
            deliver(&waiting, &self.layout, &mut self.scratch, answers);
        } else if due < Nanos::NEVER {
            self.waiting.push(Reverse(waiting));
        }
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.now = now;
        while self.waiting.peek().is_some_and(|Reverse(first)| first.due <= now) {
            let Some(Reverse(first)) = self.waiting.pop() else { return };
            if self.abandoned.remove(&first.ticket.0) {
                continue;
            }
            deliver(&first, &self.layout, &mut self.scratch, answers);
        }
    }

    /// Sleeps until the next response is due, counted from the last moment that was passed in.
    fn wait(&mut self, timeout: Duration) {
        let until_due = self.due().map(|due| Duration::from(due.since(self.now)));
        std::thread::sleep(until_due.map_or(timeout, |until| until.min(timeout)));
    }

    fn due(&self) -> Option<Nanos> {
        self.waiting.peek().map(|Reverse(first)| first.due)
    }

    /// Forgets the answer, at the latest when as many are abandoned as are waited for: so looking
    /// through all of them costs each but little.
    fn abandon(&mut self, ticket: Ticket) {
        self.abandoned.insert(ticket.0);
        if self.abandoned.len() > MOST_ABANDONED.max(self.waiting.len() / 2) {
            let abandoned = std::mem::take(&mut self.abandoned);
            self.waiting.retain(|Reverse(one)| !abandoned.contains(&one.ticket.0));
        }
    }
}

fn deliver(
    waiting: &Waiting,
    layout: &[Columns],
    scratch: &mut Scratch,
    answers: &mut dyn Answers,
) {
    let answer = |answer: Result<Reply<'_>, Reason>, answers: &mut dyn Answers| {
        answers.answer(waiting.ticket, answer.map_or_else(Answer::Refused, Answer::Done));
    };
    // Without its columns the request was refused, so nothing below looks for a name.
    let names = layout.get(usize::from(waiting.table)).map_or(&[][..], |table| &table.fields);
    match &waiting.result {
        Err(reason) => answer(Err(*reason), answers),
        Ok(SimEffect::Missing) => answer(Ok(Reply::MISSING), answers),
        Ok(SimEffect::Written) => answer(Ok(Reply::WRITTEN), answers),
        Ok(SimEffect::Row(bytes)) => {
            let rows = row::choose(bytes, waiting.fields, names, &mut scratch.spans);
            answer(rows.map(|rows| Reply { found: true, rows }), answers);
        }
        Ok(SimEffect::Rows(rows)) => {
            scratch.rows.clear();
            let copied = rows
                .iter()
                .try_for_each(|one| row::copy(one, waiting.fields, names, &mut scratch.rows));
            let rows = Rows::Encoded(&scratch.rows);
            answer(copied.map(|()| Reply { found: true, rows }), answers);
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Seed;

    use super::*;
    use crate::config::Config;

    #[derive(Default)]
    struct StoreReply(Vec<u64>);

    impl Answers for StoreReply {
        fn answer(&mut self, ticket: Ticket, _: Answer<'_>) {
            self.0.push(ticket.0);
        }
    }

    #[test]
    fn abandoned_responses_are_not_kept() {
        let mut config = Config::default();
        config.set_all("latency=1h").unwrap();
        let mut world = World::new(config, Seed(1)).unwrap();
        let table = world.table("t");
        world.quiesce();
        let layout = [Columns { table, fields: vec!["a".into()] }];
        let mut client = SimulatedClient::new(Arc::new(Mutex::new(world)), layout.into(), None);
        let mut received = StoreReply::default();
        let request = Request::new(Kind::Read, b"k");
        for number in 0..10_000 {
            client.start(Nanos::ZERO, Ticket(number), &request, &mut received);
            if number != 5_000 {
                client.abandon(Ticket(number));
            }
        }
        assert!(client.waiting.len() + client.abandoned.len() < 200);
        client.poll(Nanos::from_secs(3_600), &mut received);
        assert_eq!((received.0, client.abandoned.len()), (vec![5_000], 0));
    }
}
