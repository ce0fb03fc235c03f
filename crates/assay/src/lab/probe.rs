//! Probe of a store: a record is written, then read.

use std::sync::Arc;
use std::time::Duration;

use assay_model::{Fields, Kind, Layout, Nanos, Seed, Table};
use assay_run::clock;
use assay_store::{Answer, Answers, Client, OpenError, Reply, Request, Store, Ticket, Values};

use crate::opening::open_store;

/// The table that is made for it, then removed.
const TABLE: &str = "assay_probe";
/// The only field of the table.
const FIELD: &str = "field0";
const KEY: &[u8] = b"probe";
const VALUE: &[u8] = b"here";
/// How long an answer may take.
const TIMEOUT: Nanos = Nanos::from_secs(10);
/// How long is waited for an answer at once.
const WAIT: Duration = Duration::from_millis(20);

/// Writes a record to the store at `url`, reads it, and removes it again. An error says how far it
/// came, and why.
pub fn probe(url: &str) -> Result<(), String> {
    let store = open_store(url, Seed(0)).map_err(|error| error.to_string())?;
    let fields = vec![FIELD.to_owned()];
    let table = Table { name: TABLE.into(), fields, needs_key_order: false };
    store.prepare(&Layout { tables: vec![table], records: 1 }).map_err(describe)?;
    write_and_read(&store)?;
    store.clear().map_err(describe)
}

fn describe(error: OpenError) -> String {
    error.to_string()
}

fn write_and_read(store: &Arc<dyn Store>) -> Result<(), String> {
    let mut client = store.open(0).map_err(describe)?;
    let spans = [(0, 0..VALUE.len() as u32)];
    let insert = request(Kind::Insert, Values::new(&spans, VALUE));
    send(client.as_mut(), Ticket(1), &insert)?;
    let value = send(client.as_mut(), Ticket(2), &request(Kind::Read, Values::NONE))?;
    match value.as_deref() {
        Some(VALUE) => Ok(()),
        Some(_) => Err("the record that was read is not the one that was written".into()),
        None => Err("the record that was written is not there".into()),
    }
}

fn request<'a>(kind: Kind, values: Values<'a>) -> Request<'a> {
    Request {
        session: 0,
        kind,
        table: 0,
        key: KEY,
        fields: Fields::All,
        limit: 1,
        end: &[],
        wants_keys: false,
        values,
    }
}

/// The value of the record that came back, if one did.
fn send(
    client: &mut dyn Client,
    ticket: Ticket,
    request: &Request<'_>,
) -> Result<Option<Vec<u8>>, String> {
    let kind = request.kind.name();
    let mut received = ProbeReply { ticket, kind, outcome: None };
    let begun = clock::monotonic();
    client.start(begun, ticket, request, &mut received);
    while received.outcome.is_none() {
        let now = clock::monotonic();
        if now.since(begun) > TIMEOUT {
            client.abandon(ticket);
            return Err(format!("no response to the {kind} of a record for {TIMEOUT}"));
        }
        client.wait(WAIT);
        client.poll(now, &mut received);
    }
    received.outcome.unwrap_or(Ok(None))
}

struct ProbeReply {
    ticket: Ticket,
    kind: &'static str,
    outcome: Option<Result<Option<Vec<u8>>, String>>,
}

impl Answers for ProbeReply {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        if ticket != self.ticket {
            return;
        }
        let failed = |how: &str, reason: assay_model::Reason| {
            Err(format!("the {} of a record is {how} ({})", self.kind, reason.name()))
        };
        self.outcome = Some(match answer {
            Answer::Done(reply) => Ok(value(&reply)),
            Answer::Refused(reason) => failed("refused", reason),
            Answer::Unknown(reason) => failed("unknown", reason),
        });
    }
}

fn value(reply: &Reply<'_>) -> Option<Vec<u8>> {
    let mut value = None;
    reply.rows.each(|field| {
        if field.name == FIELD.as_bytes() {
            value = Some(field.value.to_vec());
        }
    });
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_keeps_records_passes() {
        assert_eq!(probe("memory:"), Ok(()));
    }

    #[test]
    fn a_store_that_keeps_nothing_does_not() {
        assert_eq!(probe("null:"), Err("the record that was written is not there".into()));
        let reported = probe("redis://127.0.0.1:1").unwrap_err();
        assert!(reported.contains("cannot reach"), "{reported}");
    }
}
