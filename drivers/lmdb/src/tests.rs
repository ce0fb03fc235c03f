//! LMDB behind the seam, in directories of the test's own.

use assay_store::conformance::talk::{Got, TestRequest, TestSession};

use super::*;

assay_driver_kit::engine_tests! {
    open, "lmdb", "/new",
    options: [
        "",
        "?durability=no-meta-sync&map=64MiB&readers=8",
        "?durability=none&map=64MiB&readers=8",
    ],
    blocking: "?durability=none",
    conforms: but_for_long_keys,
    taken: "has it open already; close that or choose another path",
    directory_of: "LMDB",
    below_a_file: "file/below",
    wrong: [
        ("lmdb:p?durability=maybe", "it can be fsync or no-meta-sync or none"),
        ("lmdb:p?map=1000", "map is a multiple of 64KiB, and at least 1MiB"),
        ("lmdb:p?map=64KiB", "map is a multiple of 64KiB, and at least 1MiB"),
        ("lmdb:p?readers=0", "readers is \"0\"; it is a number from 1 to 65536"),
        ("lmdb:p?reader=5", "did you mean \"readers\"?"),
    ],
}

/// LMDB's keys have 511 bytes at most.
fn but_for_long_keys(broken: &[String]) -> bool {
    let rule = "keys of 512 bytes that differ in the last are two keys";
    let [broken] = broken else { return false };
    broken.starts_with(rule) && broken.ends_with("gave refused (malformed)")
}

#[test]
fn keys_up_to_511_bytes_are_taken() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?durability=none")).unwrap();
    store.prepare(&layout()).unwrap();
    let mut talk = TestSession::open(&*store, 0).unwrap();
    let longest = "k".repeat(511);
    assert_eq!(talk.send(&TestRequest::insert(&longest, &[b"a"])), Got::WRITTEN);
    assert_eq!(talk.send(&TestRequest::read(&longest)), Got::row(&[("field0", b"a")]));
    for key in ["", &"k".repeat(512)] {
        assert_eq!(talk.send(&TestRequest::insert(key, &[b"a"])), Got::Refused(Reason::Malformed));
        assert_eq!(talk.send(&TestRequest::read(key)), Got::Refused(Reason::Malformed));
        assert_eq!(talk.send(&TestRequest::delete(key)), Got::Refused(Reason::Malformed));
    }
    assert_eq!(talk.send(&TestRequest::scan("", 5)), Got::row(&[("field0", b"a")]));
}

#[test]
fn a_full_map_refuses_writes_and_goes_on_reading() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?durability=none&map=1MiB")).unwrap();
    store.prepare(&layout()).unwrap();
    let mut talk = TestSession::open(&*store, 0).unwrap();
    let value = [7; 50_000];
    let write = |talk: &mut TestSession, number: u32| {
        talk.send(&TestRequest::insert(format!("k{number}"), &[&value]))
    };
    let full = (0..30).find(|&number| write(&mut talk, number) != Got::WRITTEN);
    let full = full.expect("thirty records of 50 kB do not fit into 1 MiB");
    assert!(full > 10, "{full}");
    assert_eq!(write(&mut talk, full), Got::Refused(Reason::Full));
    assert_eq!(talk.send(&TestRequest::read(format!("k{full}"))), Got::MISSING);
    assert_eq!(talk.send(&TestRequest::read("k0")), Got::row(&[("field0", &value)]));
    drop(talk);
    drop(store);
    let store = open(&url(directory.path(), "?durability=none&map=4MiB")).unwrap();
    store.prepare(&layout()).unwrap();
    assert_eq!(write(&mut TestSession::open(&*store, 0).unwrap(), full), Got::WRITTEN);
}

#[test]
fn settings_tell_what_survives_what() {
    let directory = tempfile::tempdir().unwrap();
    let describe = |options: &str| {
        let settings = open(&url(directory.path(), options)).unwrap().settings().unwrap();
        settings.into_iter().map(|setting| (setting.value, setting.meaning)).collect::<Vec<_>>()
    };
    let fsync = describe("?readers=200");
    assert_eq!(fsync[0].0, "fsync");
    assert!(fsync[0].1.starts_with("an answered write is on disk"), "{fsync:?}");
    assert_eq!((&*fsync[1].0, &*fsync[2].0), ("4096 MiB", "200"));
    assert!(fsync[3].0.starts_with("LMDB 0.9."), "{fsync:?}");
    assert_eq!(describe("?durability=no-meta-sync")[0].0, "no-meta-sync");
    let none = describe("?durability=none");
    assert!(none[0].1.ends_with("a loss of power may damage the whole store"), "{none:?}");
}

#[test]
fn a_file_of_something_else_is_no_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new");
    fs::create_dir(&path).unwrap();
    for content in ["short".into(), "kept".repeat(5_000)] {
        fs::write(path.join("data.mdb"), &content).unwrap();
        let message = complaint(&url(directory.path(), ""));
        assert!(message.contains("data.mdb is no LMDB database, or a damaged one"), "{message}");
        assert_eq!(fs::read_to_string(path.join("data.mdb")).unwrap(), content);
    }
}

#[test]
fn an_error_means_what_the_table_says() {
    let full = || heed::Error::Io(std::io::Error::from(std::io::ErrorKind::StorageFull));
    let of = |error: MdbError| heed::Error::Mdb(error);
    for (error, stage, is_certain, reason) in [
        (full(), CommitStage::Committing, false, Reason::Full),
        (full(), CommitStage::Uncommitted, true, Reason::Full),
        (of(MdbError::MapFull), CommitStage::Committing, true, Reason::Full),
        (of(MdbError::MapResized), CommitStage::Uncommitted, true, Reason::Full),
        (of(MdbError::ReadersFull), CommitStage::Uncommitted, true, Reason::Busy),
        (of(MdbError::BadValSize), CommitStage::Uncommitted, true, Reason::Malformed),
        (of(MdbError::TxnFull), CommitStage::Committing, true, Reason::Malformed),
        (of(MdbError::Corrupted), CommitStage::Uncommitted, true, Reason::StoreError),
        (of(MdbError::Problem), CommitStage::Committing, false, Reason::StoreError),
    ] {
        let failure = meaning(&error, stage);
        assert_eq!((failure.is_certain, failure.reason), (is_certain, reason), "{error}");
    }
}

/// One table with one field.
fn layout() -> assay_model::Layout {
    let fields = vec!["field0".into()];
    let table = assay_model::Table { name: "usertable".into(), fields, needs_key_order: false };
    assay_model::Layout { tables: vec![table], records: 100 }
}
