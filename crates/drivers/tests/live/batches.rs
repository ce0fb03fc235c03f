//! What every driver that gathers requests into batches goes through with its server.
//!
//! Records have two fields.

use std::collections::HashMap;

use assay_model::{Kind, Reason};
use assay_store::Ticket;

use crate::asker::{Asker, Question, Told, insert, read};

/// Records that are written: more than fit into a few batches.
const RECORDS: u32 = 640;
const REFUSED: Told = Told::Refused(Reason::Malformed);
const MISSING: Told = Told::MISSING;
/// Sessions that ask at the same time.
const SESSIONS: usize = 64;

/// How each question about a record of `numbers` ended, and how many requests all of them took.
fn ask_each(asker: &mut Asker, kind: Kind, numbers: u32) -> (Vec<Told>, u32) {
    let mut waiting: HashMap<Ticket, u32> = HashMap::new();
    let mut ended = HashMap::new();
    let (mut next, mut requests) = (0, 0);
    while next < numbers || !waiting.is_empty() {
        while next < numbers && waiting.len() < SESSIONS && asker.is_ready() {
            let (key, first, second) = record(next);
            let values: &[&str] = if kind == Kind::Insert { &[&first, &second] } else { &[] };
            let question = Question { kind, values, session: next, ..read(&key) };
            waiting.insert(asker.start(&question), next);
            next += 1;
        }
        for (ticket, told) in asker.take(waiting.len().min(1)) {
            requests += u32::from(asker.requests_of(ticket));
            let number = waiting.remove(&ticket).expect("each is answered once");
            ended.insert(number, told);
        }
    }
    let told = (0..numbers).map(|number| ended.remove(&number).expect("each is answered"));
    (told.collect(), requests)
}

/// A record's key and its two values.
fn record(number: u32) -> (String, String, String) {
    (format!("user{number:04}"), number.to_string(), "x".repeat(number as usize % 100))
}

/// Many sessions write records in batches of up to sixteen; they are there and whole, whether they
/// are read in batches or one by one, and those that nobody wrote are not.
pub fn holds_what_was_loaded(batched: &mut Asker, single: &mut Asker, reads_are_gathered: bool) {
    let (told, requests) = ask_each(batched, Kind::Insert, RECORDS);
    assert_eq!(told.iter().filter(|told| **told == Told::WRITTEN).count(), told.len());
    assert!(requests < RECORDS / 2, "{requests} requests were no batches");
    let beyond = RECORDS + 20;
    for (asker, is_gathered) in [(single, false), (batched, reads_are_gathered)] {
        let (told, requests) = ask_each(asker, Kind::Read, beyond);
        for (number, told) in (0..).zip(told) {
            let (_, first, second) = record(number);
            let expected = match number < RECORDS {
                true => Told::row(&format!("field0={first} field1={second}")),
                false => Told::MISSING,
            };
            assert_eq!(told, expected, "{number}");
        }
        assert_eq!(requests < beyond / 2, is_gathered, "{requests} requests");
    }
}

/// A batch of three, one of which names a field that no record has: it alone is refused.
pub fn refuses_alone_what_is_wrong(asker: &mut Asker) {
    let records: [(&str, &[&str]); 3] =
        [("a", &["1"]), ("b", &["1", "2", "3"]), ("c", &["3", "4"])];
    let told = insert_together(asker, &records);
    assert_eq!(told, [Told::WRITTEN, Told::Refused(Reason::Malformed), Told::WRITTEN]);
    let expected = [Told::row("field0=1"), Told::MISSING, Told::row("field0=3 field1=4")];
    assert_eq!(["a", "b", "c"].map(|key| asker.ask(&read(key))), expected);
}

/// A batch of three, one of which is larger than the store takes: nothing of it is written.
pub fn refuses_whole_what_is_too_large(asker: &mut Asker, length: usize) {
    let large = "x".repeat(length);
    let records: [(&str, &[&str]); 3] = [("d", &["1"]), ("e", &[&large]), ("f", &["3"])];
    let told = insert_together(asker, &records);
    assert_eq!(told, [REFUSED; 3]);
    assert_eq!(["d", "e", "f"].map(|key| asker.ask(&read(key))), [MISSING; 3]);
}

/// Asks for the inserts of these records at once, as one batch; their answers in that order.
fn insert_together(asker: &mut Asker, records: &[(&str, &[&str])]) -> Vec<Told> {
    let mut tickets = Vec::new();
    for (session, (key, values)) in (0..).zip(records) {
        tickets.push(asker.start(&Question { session, ..insert(key, values) }));
    }
    in_order(asker, &tickets)
}

/// Asks for these records at once, as one batch; the answers in that order.
pub fn read_together(asker: &mut Asker, keys: &[&str]) -> Vec<Told> {
    let mut tickets = Vec::new();
    for (session, key) in (0..).zip(keys) {
        tickets.push(asker.start(&Question { session, ..read(key) }));
    }
    in_order(asker, &tickets)
}

fn in_order(asker: &mut Asker, tickets: &[Ticket]) -> Vec<Told> {
    let mut told: HashMap<Ticket, Told> = asker.take(tickets.len()).into_iter().collect();
    let requests: u16 = tickets.iter().skip(1).map(|ticket| asker.requests_of(*ticket)).sum();
    assert_eq!(requests, 0, "they went as one batch");
    tickets.iter().map(|ticket| told.remove(ticket).expect("each is answered once")).collect()
}
