//! Records lie as YCSB's Redis binding lays them, seen with redis-cli.

use assay_model::{Fields, Kind, Reason};

use crate::server::Server;
use crate::stores::{store, test_client};
use crate::test_client::{
    RequestResult, TestClient, TestRequest, delete, insert, layout, read, scan, update,
};

#[test]
fn an_insert_is_a_hash_with_an_entry_in_the_index() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url(""));
    let key = "user6284781860667377211";
    test_client.expect(&insert(key, &["a", "b"]), RequestResult::WRITTEN);
    assert_eq!(server.cli(&format!("HGETALL {key}")), "field0\na\nfield1\nb");
    // Java prints this for the hashCode of that key.
    assert_eq!(server.cli(&format!("ZSCORE _indices {key}")), "-594971599");
    assert_eq!(server.cli("DBSIZE"), "2");
    test_client.expect(&update(key, &["c"]), RequestResult::WRITTEN);
    assert_eq!(server.cli(&format!("HGETALL {key}")), "field0\nc\nfield1\nb");
    test_client.expect(&delete(key), RequestResult::WRITTEN);
    assert_eq!(server.cli("DBSIZE"), "0");
    test_client.expect(&delete(key), RequestResult::MISSING);
}

#[test]
fn what_another_tool_has_loaded_is_read() {
    let server = Server::start(&[]);
    for (key, score) in [("user1", "111578566.0"), ("user2", "111578567.0")] {
        server.cli(&format!("HMSET {key} field0 {key} field1 x"));
        server.cli(&format!("ZADD _indices {score} {key}"));
    }
    let mut test_client = test_client(&server.url(""));
    test_client.expect(&read("user1"), RequestResult::row("field0=user1 field1=x"));
    let one = TestRequest { fields: Fields::One(1), ..read("user2") };
    test_client.expect(&one, RequestResult::row("field1=x"));
    let named = TestRequest { fields: Fields::Named, ..read("user2") };
    test_client.expect(&named, RequestResult::row("field0=user2 field1=x"));
    let both = vec!["field0=user1 field1=x".to_owned(), "field0=user2 field1=x".to_owned()];
    test_client.expect(&scan("user1", 10), RequestResult::Done(true, both));
    test_client.expect(&scan("user2", 10), RequestResult::row("field0=user2 field1=x"));
    let named = TestRequest { fields: Fields::Named, ..scan("user1", 1) };
    test_client.expect(&named, RequestResult::row("field0=user1 field1=x"));
    let one = TestRequest { fields: Fields::One(0), ..scan("user1", 1) };
    test_client.expect(&one, RequestResult::row("field0=user1"));
    server.cli("DEL user1");
    test_client.expect(&scan("user1", 10), RequestResult::row("field0=user2 field1=x"));
}

#[test]
fn a_scan_in_pages_reports_records_that_are_gone() {
    let server = Server::start(&[]);
    let redis = store(&server.url(""));
    let mut layout = layout(2);
    layout.tables[0].needs_key_order = true;
    let mut test_client = TestClient::open_laid(&*redis, &layout).unwrap();
    for key in ["user1", "user2"] {
        test_client.send(&insert(key, &["a", "b"]));
    }
    server.cli("DEL usertable:user1");
    test_client.expect(&scan("user1", 1), RequestResult::row(""));
    let both = vec![String::new(), "field0=a field1=b".to_owned()];
    test_client.expect(&scan("user1", 9), RequestResult::Done(true, both));
}

#[test]
fn an_update_of_a_missing_record_creates_it_outside_the_index() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url(""));
    test_client.expect(&update("user1", &["a"]), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::row("field0=a"));
    test_client.expect(&scan("user1", 10), RequestResult::MISSING);
}

#[test]
fn without_the_index_nothing_but_records_is_written() {
    let server = Server::start(&[]);
    let redis = store(&server.url("?index=off"));
    redis.clear().unwrap();
    assert!(!redis.capabilities().can(Kind::Scan));
    let mut test_client = TestClient::open(&*redis).unwrap();
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    assert_eq!(server.cli("KEYS *"), "user1");
    test_client.expect(&scan("user1", 1), RequestResult::Refused(Reason::Unsupported));
    test_client.expect(&delete("user1"), RequestResult::WRITTEN);
    test_client.expect(&delete("user1"), RequestResult::MISSING);
    server.cli("SET foreign 1");
    assert!(redis.clear().unwrap_err().to_string().contains("index=off"));
}

#[test]
fn a_single_field_can_be_kept_as_a_string() {
    let server = Server::start(&[]);
    let redis = store(&server.url("?layout=string"));
    assert!(redis.prepare(&layout(2)).unwrap_err().to_string().contains("layout=string"));
    let mut test_client = TestClient::open_wide(&*redis, 1).unwrap();
    test_client.expect(&insert("user1", &["a"]), RequestResult::WRITTEN);
    assert_eq!(server.cli("GET user1"), "a");
    test_client.expect(&read("user1"), RequestResult::row("field0=a"));
    test_client.expect(&update("user1", &["b"]), RequestResult::WRITTEN);
    test_client.expect(&scan("user1", 5), RequestResult::row("field0=b"));
    test_client.expect(&delete("user1"), RequestResult::WRITTEN);
    test_client.expect(&read("user1"), RequestResult::MISSING);
}

#[test]
fn clearing_removes_records_while_foreign_keys_stay() {
    let server = Server::start(&[]);
    let redis = store(&server.url(""));
    let mut test_client = TestClient::open(&*redis).unwrap();
    server.cli("SET foreign 1");
    for number in 0..2500 {
        test_client.start(&insert(&format!("user{number}"), &["a", "b"]));
        if !test_client.is_ready() {
            test_client.take(500);
        }
    }
    test_client.take(500);
    redis.keep_note("loaded").unwrap();
    assert_eq!(redis.note().unwrap().as_deref(), Some("loaded"));
    redis.clear().unwrap();
    assert_eq!(server.cli("KEYS *"), "foreign");
    assert_eq!(redis.note().unwrap(), None);
    redis.clear().unwrap();
}

#[test]
fn big_values_with_long_scans_come_whole() {
    let server = Server::start(&[]);
    let mut test_client = test_client(&server.url(""));
    let big = "x".repeat(5_000_000);
    test_client.expect(&insert("big", &[&big, "small"]), RequestResult::WRITTEN);
    test_client.expect(&read("big"), RequestResult::row(&format!("field0={big} field1=small")));
    for number in 0..1000 {
        let value = number.to_string();
        test_client.expect(&insert(&format!("k{number}"), &[&value, "y"]), RequestResult::WRITTEN);
    }
    let RequestResult::Done(true, rows) = test_client.send(&scan("a", 2000)) else {
        panic!("a scan finds rows")
    };
    // "big" hashes below "a"? Then it is not among them: either way the others all are.
    assert_eq!(rows.iter().filter(|row| row.ends_with("field1=y")).count(), 1000);
}
