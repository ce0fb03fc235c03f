//! A store of records that answers queries through a mapping, called as the executor does.

use std::sync::Arc;

use assay_mapping::{Mapped, Physical};
use assay_model::{Catalogue, Nanos, Parameters};
use assay_store::memory::Memory;
use assay_store::{Answer, Answers, Call, Client, Existing, Reply, Step, Store, Ticket};

use crate::answer::{Outcome, Row};

/// How often an answer is looked for before it counts as lost.
const POLLS_MAX: usize = 1_000;

pub struct RecordStore {
    client: Box<dyn Client>,
    calls: u64,
    /// The requests that all calls have taken together.
    pub requests: u64,
    // A client is of a store, which lives as long.
    _store: Mapped,
}

impl RecordStore {
    /// An empty memory store with these tables.
    pub fn new(catalogue: &Arc<Catalogue>, physical: &Physical) -> RecordStore {
        let store = Mapped::new(Arc::new(Memory::new()), physical.clone());
        store.prepare_queries(catalogue, Existing::Refuse).unwrap();
        let client = store.open(0).unwrap();
        RecordStore { client, calls: 0, requests: 0, _store: store }
    }

    /// Executes the query at `place`, which is a transaction by itself.
    pub fn send(&mut self, place: usize, arguments: &[u8]) -> Outcome {
        self.calls += 1;
        let ticket = Ticket(self.calls);
        let call = Call {
            session: 0,
            step: Step::Query(place as u16 + 1),
            begins: false,
            parameters: Parameters::new(arguments),
        };
        let mut caught = Caught { ticket, outcome: None, requests: 1 };
        self.client.call(Nanos::ZERO, ticket, &call, &mut caught);
        for _ in 0..POLLS_MAX {
            if caught.outcome.is_some() {
                break;
            }
            self.client.poll(Nanos::ZERO, &mut caught);
        }
        self.requests += u64::from(caught.requests);
        caught.outcome.unwrap_or_else(|| Outcome::Failed("no answer".into()))
    }
}

struct Caught {
    ticket: Ticket,
    outcome: Option<Outcome>,
    requests: u16,
}

impl Answers for Caught {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        assert_eq!(ticket, self.ticket, "a response without a request");
        assert_eq!(self.outcome, None, "a second answer");
        self.outcome = Some(match answer {
            Answer::Done(reply) => Outcome::Done { found: reply.found, rows: rows(&reply) },
            Answer::Refused(reason) => Outcome::Failed(format!("refused: {reason:?}")),
            Answer::Unknown(reason) => Outcome::Failed(format!("unknown: {reason:?}")),
        });
    }

    fn requests(&mut self, ticket: Ticket, count: u16) {
        assert_eq!(ticket, self.ticket, "requests of an unknown ticket");
        self.requests = count;
    }
}

fn rows(reply: &Reply<'_>) -> Vec<Row> {
    let mut rows = vec![Row::new(); reply.rows.count() as usize];
    reply.rows.each(|field| rows[field.row as usize].push(field.value.to_vec()));
    rows
}
