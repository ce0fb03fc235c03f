//! Tests of the memory store beyond the suite for every store.

use super::*;
use crate::conformance;
use crate::conformance::talk::{Got, TestRequest, TestSession};

fn layout(tables: &[&str]) -> Layout {
    let fields = vec!["a".to_string(), "b".to_string()];
    let table = |name: &&str| assay_model::Table {
        name: name.to_string(),
        fields: fields.clone(),
        needs_key_order: false,
    };
    Layout { tables: tables.iter().map(table).collect(), records: 0 }
}

fn prepared(tables: &[&str]) -> Memory {
    let memory = Memory::new();
    memory.prepare(&layout(tables)).unwrap();
    memory
}

#[test]
fn memory_conforms() {
    conformance::assert_conforms(&Memory::new());
}

#[test]
fn an_update_of_a_missing_record_writes_nothing() {
    let memory = prepared(&["t"]);
    let mut talk = TestSession::open(&memory, 0).unwrap();
    assert_eq!(talk.send(&TestRequest::update("k", &[(0, b"x")])), Got::MISSING);
    assert_eq!(talk.send(&TestRequest::read("k")), Got::MISSING);
}

#[test]
fn a_delete_tells_whether_something_was_there() {
    let memory = prepared(&["t"]);
    let mut talk = TestSession::open(&memory, 0).unwrap();
    assert_eq!(talk.send(&TestRequest::insert("k", &[b"1", b"2"])), Got::WRITTEN);
    assert_eq!(talk.send(&TestRequest::delete("k")), Got::WRITTEN);
    assert_eq!(talk.send(&TestRequest::delete("k")), Got::MISSING);
}

#[test]
fn tables_do_not_see_each_other() {
    let memory = prepared(&["t", "u"]);
    let mut talk = TestSession::open(&memory, 0).unwrap();
    talk.send(&TestRequest::insert("k", &[b"1", b"2"]));
    assert_eq!(talk.send(&TestRequest { table: 1, ..TestRequest::read("k") }), Got::MISSING);
    let nowhere = talk.send(&TestRequest { table: 2, ..TestRequest::read("k") });
    assert_eq!(nowhere, Got::Refused(Reason::Malformed));
}

#[test]
fn an_insert_over_a_record_drops_the_fields_it_does_not_name() {
    let memory = prepared(&["t"]);
    let mut talk = TestSession::open(&memory, 0).unwrap();
    talk.send(&TestRequest::insert("k", &[b"1", b"2"]));
    talk.send(&TestRequest::insert("k", &[b"3"]));
    assert_eq!(talk.send(&TestRequest::read("k")), Got::row(&[("a", b"3")]));
}

#[test]
fn updates_of_one_record_by_two_threads_lose_nothing() {
    const EACH: u32 = 500;
    let memory = prepared(&["t"]);
    TestSession::open(&memory, 0).unwrap().send(&TestRequest::insert("k", &[b"", b""]));
    std::thread::scope(|scope| {
        for field in 0..2u16 {
            let memory = &memory;
            scope.spawn(move || {
                let mut talk = TestSession::open(memory, usize::from(field)).unwrap();
                for number in 1..=EACH {
                    // The length changes with every update, so that records are made anew.
                    let value = vec![b'x'; number as usize];
                    assert_eq!(
                        talk.send(&TestRequest::update("k", &[(field, &value)])),
                        Got::WRITTEN
                    );
                }
            });
        }
    });
    let last = vec![b'x'; EACH as usize];
    let read = TestSession::open(&memory, 0).unwrap().send(&TestRequest::read("k"));
    assert_eq!(read, Got::row(&[("a", &last), ("b", &last)]));
}

#[test]
fn a_client_opened_before_a_clear_finds_nothing_after_it() {
    let memory = prepared(&["t"]);
    let mut talk = TestSession::open(&memory, 0).unwrap();
    talk.send(&TestRequest::insert("k", &[b"1", b"2"]));
    memory.clear().unwrap();
    assert_eq!(talk.send(&TestRequest::read("k")), Got::MISSING);
}
