//! Tests of a binding's status codes and exceptions as outcomes of operations.

use assay_store::conformance::talk::{Got, TestRequest as TalkRequest, TestSession};

use crate::test_client::TestRequest;

use super::*;

fn test_client() -> (Box<dyn Store>, TestClient) {
    let store = store(&trial("Trial", "&p.trial.name=value&p.recordcount=7"));
    let test_client = TestClient::open(&*store).expect("the store opens");
    (store, test_client)
}

#[test]
fn every_status_means_what_the_table_says() {
    use Reason::{Busy, Full, Garbled, Malformed, NotPermitted, StoreError, Unsupported};
    use RequestResult::{Refused, Unknown};
    let (_store, mut test_client) = test_client();
    for (status, of_read, of_insert) in [
        ("ERROR", Refused(StoreError), Unknown(StoreError)),
        ("NOT_FOUND", RequestResult::MISSING, Unknown(Garbled)),
        ("NOT_IMPLEMENTED", Refused(Unsupported), Refused(Unsupported)),
        ("UNEXPECTED_STATE", Refused(StoreError), Unknown(StoreError)),
        ("BAD_REQUEST", Refused(Malformed), Refused(Malformed)),
        ("FORBIDDEN", Refused(NotPermitted), Refused(NotPermitted)),
        ("SERVICE_UNAVAILABLE", Refused(Busy), Unknown(Busy)),
        ("BATCHED_OK", Refused(Garbled), Unknown(StoreError)),
        ("FULL", Refused(Full), Refused(Full)),
        ("ODD", Refused(StoreError), Unknown(StoreError)),
        ("null", Refused(Garbled), Unknown(Garbled)),
        ("throw", Unknown(StoreError), Unknown(StoreError)),
        ("memory", Unknown(Full), Unknown(Full)),
    ] {
        assert_eq!(test_client.send(&insert(status, &["a", "b"])), of_insert, "insert {status}");
        assert_eq!(test_client.send(&read(status)), of_read, "read {status}");
    }
    // The run goes on.
    test_client.expect(&insert("usual", &["a", "b"]), RequestResult::WRITTEN);
    test_client.expect(&read("usual"), RequestResult::row("field0=a field1=b"));
    test_client.expect(&update("usual", &["c"]), RequestResult::WRITTEN);
    test_client.expect(&read("usual"), RequestResult::row("field0=c field1=b"));
    test_client.expect(&delete("usual"), RequestResult::WRITTEN);
    test_client.expect(&delete("usual"), RequestResult::MISSING);
    test_client.expect(&update("NOT_FOUND", &["c"]), RequestResult::MISSING);
}

#[test]
fn a_read_without_data_is_a_miss() {
    let (_store, mut test_client) = test_client();
    test_client.expect(&read("empty"), RequestResult::MISSING);
}

#[test]
fn scans_bring_their_rows_in_memory_that_grows() {
    let (_store, mut test_client) = test_client();
    let result = test_client.send(&scan("s", 3));
    let rows = ["field0=s0", "field0=s1", "field0=s2"].map(String::from);
    assert_eq!(result, RequestResult::Done(true, rows.to_vec()));
    let RequestResult::Done(true, rows) = test_client.send(&scan(&"long".repeat(100), 5000)) else {
        panic!("the scan is done")
    };
    assert_eq!((rows.len(), rows[4999].len()), (5000, "field0=".len() + 400 + 4));
    test_client.expect(&scan("s", 0), RequestResult::MISSING);
}

#[test]
fn properties_arrive_as_ycsbs_client_would_give_them() {
    let (_store, mut test_client) = test_client();
    for (name, value) in [
        ("trial.name", "value"),
        ("db", "assay.trial.Trial"),
        ("table", "usertable"),
        ("fieldcount", "2"),
        // What was given is stronger than what is known of the layout.
        ("recordcount", "7"),
    ] {
        test_client.expect(
            &read(&format!("property {name}")),
            RequestResult::row(&format!("field0={value}")),
        );
    }
}

/// Every worker has an instance of its own, on its own thread from its first call to its last.
#[test]
fn workers_have_instances_of_their_own() {
    let store = store(&trial("Trial", ""));
    let mut first = TestClient::open(&*store).unwrap();
    let second = TestClient::open(&*store).unwrap();
    first.expect(&read("instances"), RequestResult::row("field0=2 field1=true"));
    drop(second);
    first.expect(&read("instances"), RequestResult::row("field0=1 field1=true"));
    let shared: Arc<dyn Store> = Arc::from(self::store(&trial("Trial", "")));
    let blocking_threads = BlockingThreads::new(Arc::clone(&shared), 3);
    let mut test_client = TestClient::open(&blocking_threads).unwrap();
    test_client.expect(&read("instances"), RequestResult::row("field0=3 field1=true"));
    drop(test_client);
    let mut alone = TestClient::open(&*shared).unwrap();
    alone.expect(&read("instances"), RequestResult::row("field0=1 field1=true"));
}

#[test]
fn what_java_cannot_express_is_refused() {
    let store = store(&trial("Trial", "&kinds=read,insert"));
    let mut test_client = TestClient::open(&*store).unwrap();
    test_client.expect(&update("k", &["a"]), RequestResult::Refused(Reason::Unsupported));
    test_client.expect(&insert("k", &["a", "b", "c"]), RequestResult::Refused(Reason::Malformed));
    let beyond = TestRequest { fields: Fields::One(2), ..read("k") };
    test_client.expect(&beyond, RequestResult::Refused(Reason::Malformed));
}

#[test]
fn a_key_that_is_no_text_is_refused() {
    let (store, _test_client) = test_client();
    let Ok(mut talk) = TestSession::open(&*store, 0) else { panic!("the store opens") };
    let values: [&[u8]; 3] = [b"a", b"b", b"c"];
    for (key, got) in [
        (b"\xff\xfe".as_slice(), Got::Refused(Reason::Malformed)),
        ("käse".as_bytes(), Got::MISSING),
    ] {
        assert_eq!(talk.send(&TalkRequest::read(key)), got);
    }
    let odd = TalkRequest::insert(b"\xff".as_slice(), &values);
    assert_eq!(talk.send(&odd), Got::Refused(Reason::Malformed));
}

#[test]
fn large_values_travel_both_ways() {
    let (_store, mut test_client) = test_client();
    let large = "x".repeat(3 << 20);
    test_client.expect(&insert("large", &[&large, "b"]), RequestResult::WRITTEN);
    test_client.expect(&read("large"), RequestResult::row(&format!("field0={large} field1=b")));
    test_client.expect(&delete("large"), RequestResult::WRITTEN);
}
