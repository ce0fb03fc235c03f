//! What a binding answers, or throws, as what it means for an operation.

use assay_store::conformance::talk::{Ask, Got, Talk};

use super::*;

fn asker() -> (Box<dyn Store>, Asker) {
    let store = store(&trial("Trial", "&p.trial.name=value&p.recordcount=7"));
    let asker = Asker::open(&*store).expect("the store opens");
    (store, asker)
}

#[test]
fn every_status_means_what_the_table_says() {
    use Reason::{Busy, Full, Garbled, Malformed, NotPermitted, StoreError, Unsupported};
    use Told::{Refused, Unknown};
    let (_store, mut asker) = asker();
    for (status, of_read, of_insert) in [
        ("ERROR", Refused(StoreError), Unknown(StoreError)),
        ("NOT_FOUND", Told::MISSING, Unknown(Garbled)),
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
        assert_eq!(asker.ask(&insert(status, &["a", "b"])), of_insert, "insert {status}");
        assert_eq!(asker.ask(&read(status)), of_read, "read {status}");
    }
    // The run goes on.
    assert_eq!(asker.ask(&insert("usual", &["a", "b"])), Told::WRITTEN);
    assert_eq!(asker.ask(&read("usual")), Told::row("field0=a field1=b"));
    assert_eq!(asker.ask(&update("usual", &["c"])), Told::WRITTEN);
    assert_eq!(asker.ask(&read("usual")), Told::row("field0=c field1=b"));
    assert_eq!(asker.ask(&delete("usual")), Told::WRITTEN);
    assert_eq!(asker.ask(&delete("usual")), Told::MISSING);
    assert_eq!(asker.ask(&update("NOT_FOUND", &["c"])), Told::MISSING);
}

#[test]
fn a_read_that_brings_nothing_has_found_nothing() {
    let (_store, mut asker) = asker();
    assert_eq!(asker.ask(&read("empty")), Told::MISSING);
}

#[test]
fn scans_bring_their_rows_in_memory_that_grows() {
    let (_store, mut asker) = asker();
    let told = asker.ask(&scan("s", 3));
    let rows = ["field0=s0", "field0=s1", "field0=s2"].map(String::from);
    assert_eq!(told, Told::Done(true, rows.to_vec()));
    let Told::Done(true, rows) = asker.ask(&scan(&"long".repeat(100), 5000)) else {
        panic!("the scan is done")
    };
    assert_eq!((rows.len(), rows[4999].len()), (5000, "field0=".len() + 400 + 4));
    assert_eq!(asker.ask(&scan("s", 0)), Told::MISSING);
}

#[test]
fn properties_arrive_as_ycsbs_client_would_give_them() {
    let (_store, mut asker) = asker();
    for (name, value) in [
        ("trial.name", "value"),
        ("db", "assay.trial.Trial"),
        ("table", "usertable"),
        ("fieldcount", "2"),
        // What was given is stronger than what is known of the layout.
        ("recordcount", "7"),
    ] {
        let told = asker.ask(&read(&format!("property {name}")));
        assert_eq!(told, Told::row(&format!("field0={value}")));
    }
}

/// Every lane has an instance of its own, on its own thread from its first call to its last.
#[test]
fn lanes_have_instances_of_their_own() {
    let store = store(&trial("Trial", ""));
    let mut first = Asker::open(&*store).unwrap();
    let second = Asker::open(&*store).unwrap();
    assert_eq!(first.ask(&read("instances")), Told::row("field0=2 field1=true"));
    drop(second);
    assert_eq!(first.ask(&read("instances")), Told::row("field0=1 field1=true"));
    let shared: Arc<dyn Store> = Arc::from(self::store(&trial("Trial", "")));
    let workers = Workers::new(Arc::clone(&shared), 3);
    let mut asker = Asker::open(&workers).unwrap();
    assert_eq!(asker.ask(&read("instances")), Told::row("field0=3 field1=true"));
    drop(asker);
    let mut alone = Asker::open(&*shared).unwrap();
    assert_eq!(alone.ask(&read("instances")), Told::row("field0=1 field1=true"));
}

#[test]
fn what_java_cannot_be_asked_is_refused() {
    let store = store(&trial("Trial", "&kinds=read,insert"));
    let mut asker = Asker::open(&*store).unwrap();
    assert_eq!(asker.ask(&update("k", &["a"])), Told::Refused(Reason::Unsupported));
    assert_eq!(asker.ask(&insert("k", &["a", "b", "c"])), Told::Refused(Reason::Malformed));
    let beyond = Question { fields: Fields::One(2), ..read("k") };
    assert_eq!(asker.ask(&beyond), Told::Refused(Reason::Malformed));
}

#[test]
fn a_key_that_is_no_text_is_refused() {
    let (store, _asker) = asker();
    let Ok(mut talk) = Talk::open(&*store, 0) else { panic!("the store opens") };
    let values: [&[u8]; 3] = [b"a", b"b", b"c"];
    for (key, got) in [
        (b"\xff\xfe".as_slice(), Got::Refused(Reason::Malformed)),
        ("käse".as_bytes(), Got::MISSING),
    ] {
        assert_eq!(talk.ask(&Ask::read(key)), got);
    }
    let odd = Ask::insert(b"\xff".as_slice(), &values);
    assert_eq!(talk.ask(&odd), Got::Refused(Reason::Malformed));
}

#[test]
fn large_values_travel_both_ways() {
    let (_store, mut asker) = asker();
    let large = "x".repeat(3 << 20);
    assert_eq!(asker.ask(&insert("large", &[&large, "b"])), Told::WRITTEN);
    assert_eq!(asker.ask(&read("large")), Told::row(&format!("field0={large} field1=b")));
    assert_eq!(asker.ask(&delete("large")), Told::WRITTEN);
}
