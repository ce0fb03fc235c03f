//! LMDB behind the seam, in directories of the test's own.

use std::path::Path;

use assay_store::blocking::BlockingThreads;
use assay_store::conformance;
use assay_store::conformance::talk::{Got, TestRequest, TestSession};

use super::*;

/// LMDB's keys have 511 bytes at most.
const TOO_LONG: &str = "keys of 512 bytes that differ in the last are two keys";

fn url(directory: &Path, options: &str) -> String {
    format!("lmdb:{}/new{options}", directory.display())
}

fn complaint(url: &str) -> String {
    open(url).err().expect("the store must not open").to_string()
}

/// Checks every rule; the only one that it breaks is that about keys of 512 bytes.
fn check(store: &dyn Store) {
    let describe: Vec<String> = conformance::check(store).iter().map(ToString::to_string).collect();
    let [broken] = &describe[..] else { panic!("{describe:#?}") };
    assert!(
        broken.starts_with(TOO_LONG) && broken.ends_with("gave refused (malformed)"),
        "{broken}"
    );
}

#[test]
fn lmdb_conforms_but_for_long_keys() {
    let directory = tempfile::tempdir().unwrap();
    check(&*open(&url(directory.path(), "")).unwrap());
}

#[test]
fn lmdb_with_less_syncing_conforms() {
    for durability in ["no-meta-sync", "none"] {
        let directory = tempfile::tempdir().unwrap();
        let options = format!("?durability={durability}&map=64MiB&readers=8");
        check(&*open(&url(directory.path(), &options)).unwrap());
    }
}

#[test]
fn lmdb_on_blocking_threads_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?durability=none")).unwrap();
    check(&BlockingThreads::new(store.into(), 3));
}

#[test]
fn what_was_written_is_there_when_it_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let url = url(directory.path(), "");
    conformance::leave_mark(&*open(&url).unwrap()).unwrap();
    conformance::find_mark(&*open(&url).unwrap()).unwrap();
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
fn this_process_opens_a_directory_once() {
    let directory = tempfile::tempdir().unwrap();
    let url = url(directory.path(), "");
    let _first = open(&url).unwrap();
    let message = complaint(&url);
    assert!(
        message.ends_with("has it open already; close that or choose another path"),
        "{message}"
    );
}

#[test]
fn a_file_is_no_place_for_lmdb() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("new"), "kept").unwrap();
    let message = complaint(&url(directory.path(), ""));
    assert!(
        message.ends_with("is a file; LMDB needs a directory, which may be new or empty"),
        "{message}"
    );
    assert_eq!(fs::read_to_string(directory.path().join("new")).unwrap(), "kept");
}

#[test]
fn a_directory_of_other_things_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("thesis.txt"), "kept").unwrap();
    let message = complaint(&url(directory.path(), ""));
    assert!(message.contains("holds something that is no LMDB database"), "{message}");
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
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
fn a_path_below_a_file_is_refused_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    let message = complaint(&format!("lmdb:{}/file/below", directory.path().display()));
    assert!(message.contains("file/below"), "{message}");
}

#[test]
fn wrong_options_are_refused() {
    for (url, describe) in [
        ("lmdb:p?durability=maybe", "it can be fsync or no-meta-sync or none"),
        ("lmdb:p?map=1000", "map is a multiple of 64KiB, and at least 1MiB"),
        ("lmdb:p?map=64KiB", "map is a multiple of 64KiB, and at least 1MiB"),
        ("lmdb:p?readers=0", "readers is \"0\"; it is a number from 1 to 65536"),
        ("lmdb:p?reader=5", "did you mean \"readers\"?"),
    ] {
        assert!(complaint(url).ends_with(describe), "{url}: {}", complaint(url));
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
