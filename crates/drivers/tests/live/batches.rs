//! Tests of batches, for every driver that gathers requests.
//!
//! Records have two fields.

use std::collections::HashMap;

use assay_model::{Kind, Reason};
use assay_store::Ticket;

use crate::test_client::{RequestResult, TestClient, TestRequest, insert, read};

/// Records that are written: more than fit into a few batches.
const RECORDS: u32 = 640;
const REFUSED: RequestResult = RequestResult::Refused(Reason::Malformed);
const MISSING: RequestResult = RequestResult::MISSING;
/// Sessions that send at the same time.
const SESSIONS: usize = 64;

/// The completion of each operation on a record of `numbers`, and how many requests all of them
/// took.
fn query_each(test_client: &mut TestClient, kind: Kind, numbers: u32) -> (Vec<RequestResult>, u32) {
    let mut waiting: HashMap<Ticket, u32> = HashMap::new();
    let mut ended = HashMap::new();
    let (mut next, mut requests) = (0, 0);
    while next < numbers || !waiting.is_empty() {
        while next < numbers && waiting.len() < SESSIONS && test_client.is_ready() {
            let (key, first, second) = record(next);
            let values: &[&str] = if kind == Kind::Insert { &[&first, &second] } else { &[] };
            let question = TestRequest { kind, values, session: next, ..read(&key) };
            waiting.insert(test_client.start(&question), next);
            next += 1;
        }
        for (ticket, result) in test_client.take(waiting.len().min(1)) {
            requests += u32::from(test_client.requests_of(ticket));
            let number = waiting.remove(&ticket).expect("each is answered once");
            ended.insert(number, result);
        }
    }
    let result = (0..numbers).map(|number| ended.remove(&number).expect("each is answered"));
    (result.collect(), requests)
}

/// A record's key and its two values.
fn record(number: u32) -> (String, String, String) {
    (format!("user{number:04}"), number.to_string(), "x".repeat(number as usize % 100))
}

/// Many sessions write records in batches of up to sixteen; they are there and whole, whether they
/// are read in batches or one by one, and those that nobody wrote are not.
pub fn holds_what_was_loaded(
    batched: &mut TestClient,
    single: &mut TestClient,
    reads_are_gathered: bool,
) {
    let (result, requests) = query_each(batched, Kind::Insert, RECORDS);
    assert_eq!(
        result.iter().filter(|result| **result == RequestResult::WRITTEN).count(),
        result.len()
    );
    assert!(requests < RECORDS / 2, "{requests} requests were no batches");
    let beyond = RECORDS + 20;
    for (test_client, is_gathered) in [(single, false), (batched, reads_are_gathered)] {
        let (result, requests) = query_each(test_client, Kind::Read, beyond);
        for (number, result) in (0..).zip(result) {
            let (_, first, second) = record(number);
            let expected = match number < RECORDS {
                true => RequestResult::row(&format!("field0={first} field1={second}")),
                false => RequestResult::MISSING,
            };
            assert_eq!(result, expected, "{number}");
        }
        assert_eq!(requests < beyond / 2, is_gathered, "{requests} requests");
    }
}

/// A batch of three, one of which names a field that no record has: it alone is refused.
pub fn refuses_alone_what_is_wrong(test_client: &mut TestClient) {
    let records: [(&str, &[&str]); 3] =
        [("a", &["1"]), ("b", &["1", "2", "3"]), ("c", &["3", "4"])];
    let result = insert_together(test_client, &records);
    assert_eq!(
        result,
        [RequestResult::WRITTEN, RequestResult::Refused(Reason::Malformed), RequestResult::WRITTEN]
    );
    let expected = [
        RequestResult::row("field0=1"),
        RequestResult::MISSING,
        RequestResult::row("field0=3 field1=4"),
    ];
    assert_eq!(["a", "b", "c"].map(|key| test_client.send(&read(key))), expected);
}

/// A batch of three, one of which is larger than the store takes: nothing of it is written.
pub fn refuses_whole_what_is_too_large(test_client: &mut TestClient, length: usize) {
    let large = "x".repeat(length);
    let records: [(&str, &[&str]); 3] = [("d", &["1"]), ("e", &[&large]), ("f", &["3"])];
    let result = insert_together(test_client, &records);
    assert_eq!(result, [REFUSED; 3]);
    assert_eq!(["d", "e", "f"].map(|key| test_client.send(&read(key))), [MISSING; 3]);
}

/// Sends the inserts of these records at once, as one batch; returns their completions in that
/// order.
fn insert_together(
    test_client: &mut TestClient,
    records: &[(&str, &[&str])],
) -> Vec<RequestResult> {
    let mut tickets = Vec::new();
    for (session, (key, values)) in (0..).zip(records) {
        tickets.push(test_client.start(&TestRequest { session, ..insert(key, values) }));
    }
    in_order(test_client, &tickets)
}

/// Reads these records at once, as one batch; returns the results in that order.
pub fn read_together(test_client: &mut TestClient, keys: &[&str]) -> Vec<RequestResult> {
    let mut tickets = Vec::new();
    for (session, key) in (0..).zip(keys) {
        tickets.push(test_client.start(&TestRequest { session, ..read(key) }));
    }
    in_order(test_client, &tickets)
}

fn in_order(test_client: &mut TestClient, tickets: &[Ticket]) -> Vec<RequestResult> {
    let mut result: HashMap<Ticket, RequestResult> =
        test_client.take(tickets.len()).into_iter().collect();
    let requests: u16 = tickets.iter().skip(1).map(|ticket| test_client.requests_of(*ticket)).sum();
    assert_eq!(requests, 0, "they went as one batch");
    tickets.iter().map(|ticket| result.remove(ticket).expect("each is answered once")).collect()
}
