//! Records lie as YCSB's Redis binding lays them, seen with redis-cli.

use assay_model::{Fields, Kind, Reason};
use assay_store::Store;

use super::{asker, store};
use crate::asker::{Asker, Question, Told, delete, insert, layout, read, scan, update};
use crate::server::Server;

#[test]
fn an_insert_is_a_hash_with_an_entry_in_the_index() {
    let server = Server::start(&[]);
    let mut asker = asker(&server.url(""));
    let key = "user6284781860667377211";
    assert_eq!(asker.ask(&insert(key, &["a", "b"])), Told::WRITTEN);
    assert_eq!(server.cli(&["HGETALL", key]), "field0\na\nfield1\nb");
    // Java prints this for the hashCode of that key.
    assert_eq!(server.cli(&["ZSCORE", "_indices", key]), "-594971599");
    assert_eq!(server.cli(&["DBSIZE"]), "2");
    assert_eq!(asker.ask(&update(key, &["c"])), Told::WRITTEN);
    assert_eq!(server.cli(&["HGETALL", key]), "field0\nc\nfield1\nb");
    assert_eq!(asker.ask(&delete(key)), Told::WRITTEN);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
    assert_eq!(asker.ask(&delete(key)), Told::MISSING);
}

#[test]
fn what_another_tool_has_loaded_is_read() {
    let server = Server::start(&[]);
    for (key, score) in [("user1", "111578566.0"), ("user2", "111578567.0")] {
        server.cli(&["HMSET", key, "field0", key, "field1", "x"]);
        server.cli(&["ZADD", "_indices", score, key]);
    }
    let mut asker = asker(&server.url(""));
    assert_eq!(asker.ask(&read("user1")), Told::row("field0=user1 field1=x"));
    let one = Question { fields: Fields::One(1), ..read("user2") };
    assert_eq!(asker.ask(&one), Told::row("field1=x"));
    let named = Question { fields: Fields::Named, ..read("user2") };
    assert_eq!(asker.ask(&named), Told::row("field0=user2 field1=x"));
    let both = vec!["field0=user1 field1=x".to_owned(), "field0=user2 field1=x".to_owned()];
    assert_eq!(asker.ask(&scan("user1", 10)), Told::Done(true, both));
    assert_eq!(asker.ask(&scan("user2", 10)), Told::row("field0=user2 field1=x"));
    let named = Question { fields: Fields::Named, ..scan("user1", 1) };
    assert_eq!(asker.ask(&named), Told::row("field0=user1 field1=x"));
    let one = Question { fields: Fields::One(0), ..scan("user1", 1) };
    assert_eq!(asker.ask(&one), Told::row("field0=user1"));
    server.cli(&["DEL", "user1"]);
    assert_eq!(asker.ask(&scan("user1", 10)), Told::row("field0=user2 field1=x"));
}

#[test]
fn who_scans_on_by_keys_is_told_of_records_that_are_gone() {
    let server = Server::start(&[]);
    let redis = store(&server.url(""));
    let mut layout = layout(2);
    layout.tables[0].needs_key_order = true;
    let mut asker = Asker::open_laid(&redis, &layout).unwrap();
    for key in ["user1", "user2"] {
        asker.ask(&insert(key, &["a", "b"]));
    }
    server.cli(&["DEL", "usertable:user1"]);
    assert_eq!(asker.ask(&scan("user1", 1)), Told::row(""));
    let both = vec![String::new(), "field0=a field1=b".to_owned()];
    assert_eq!(asker.ask(&scan("user1", 9)), Told::Done(true, both));
}

#[test]
fn an_update_of_a_missing_record_creates_it_outside_the_index() {
    let server = Server::start(&[]);
    let mut asker = asker(&server.url(""));
    assert_eq!(asker.ask(&update("user1", &["a"])), Told::WRITTEN);
    assert_eq!(asker.ask(&read("user1")), Told::row("field0=a"));
    assert_eq!(asker.ask(&scan("user1", 10)), Told::MISSING);
}

#[test]
fn without_the_index_nothing_but_records_is_written() {
    let server = Server::start(&[]);
    let redis = store(&server.url("?index=off"));
    redis.clear().unwrap();
    assert!(!redis.capabilities().can(Kind::Scan));
    let mut asker = Asker::open(&redis).unwrap();
    assert_eq!(asker.ask(&insert("user1", &["a", "b"])), Told::WRITTEN);
    assert_eq!(server.cli(&["KEYS", "*"]), "user1");
    assert_eq!(asker.ask(&scan("user1", 1)), Told::Refused(Reason::Unsupported));
    assert_eq!(asker.ask(&delete("user1")), Told::WRITTEN);
    assert_eq!(asker.ask(&delete("user1")), Told::MISSING);
    server.cli(&["SET", "foreign", "1"]);
    assert!(redis.clear().unwrap_err().to_string().contains("index=off"));
}

#[test]
fn a_single_field_can_be_kept_as_a_string() {
    let server = Server::start(&[]);
    let redis = store(&server.url("?layout=string"));
    assert!(redis.prepare(&layout(2)).unwrap_err().to_string().contains("layout=string"));
    let mut asker = Asker::open_wide(&redis, 1).unwrap();
    assert_eq!(asker.ask(&insert("user1", &["a"])), Told::WRITTEN);
    assert_eq!(server.cli(&["GET", "user1"]), "a");
    assert_eq!(asker.ask(&read("user1")), Told::row("field0=a"));
    assert_eq!(asker.ask(&update("user1", &["b"])), Told::WRITTEN);
    assert_eq!(asker.ask(&scan("user1", 5)), Told::row("field0=b"));
    assert_eq!(asker.ask(&delete("user1")), Told::WRITTEN);
    assert_eq!(asker.ask(&read("user1")), Told::MISSING);
}

#[test]
fn clearing_removes_records_while_foreign_keys_stay() {
    let server = Server::start(&[]);
    let redis = store(&server.url(""));
    let mut asker = Asker::open(&redis).unwrap();
    server.cli(&["SET", "foreign", "1"]);
    for number in 0..2500 {
        asker.start(&insert(&format!("user{number}"), &["a", "b"]));
        if !asker.is_ready() {
            asker.take(500);
        }
    }
    asker.take(500);
    redis.keep_note("loaded").unwrap();
    assert_eq!(redis.note().unwrap().as_deref(), Some("loaded"));
    redis.clear().unwrap();
    assert_eq!(server.cli(&["KEYS", "*"]), "foreign");
    assert_eq!(redis.note().unwrap(), None);
    redis.clear().unwrap();
}

#[test]
fn big_values_with_long_scans_come_whole() {
    let server = Server::start(&[]);
    let mut asker = asker(&server.url(""));
    let big = "x".repeat(5_000_000);
    assert_eq!(asker.ask(&insert("big", &[&big, "small"])), Told::WRITTEN);
    assert_eq!(asker.ask(&read("big")), Told::row(&format!("field0={big} field1=small")));
    for number in 0..1000 {
        let value = number.to_string();
        assert_eq!(asker.ask(&insert(&format!("k{number}"), &[&value, "y"])), Told::WRITTEN);
    }
    let Told::Done(true, rows) = asker.ask(&scan("a", 2000)) else { panic!("a scan finds rows") };
    // "big" hashes below "a"? Then it is not among them: either way the others all are.
    assert_eq!(rows.iter().filter(|row| row.ends_with("field1=y")).count(), 1000);
}
