//! RocksDB behind the seam, in directories of the test's own.

use std::fs;

use super::*;

assay_driver_kit::engine_tests! {
    open, "rocksdb", "/new",
    options: [
        "",
        "?durability=fsync&cache=8MiB",
        "?durability=fsync&compression=lz4",
        "?durability=none&compression=lz4",
        "?durability=none",
    ],
    blocking: "",
    conforms: <[String]>::is_empty,
    taken: "another process has it open; end that or choose another path",
    directory_of: "RocksDB",
    below_a_file: "file/below",
    wrong: [
        ("rocksdb:p?durability=maybe", "it can be process or fsync or none"),
        ("rocksdb:p?compression=zip", "it can be none or lz4"),
        ("rocksdb:p?cache=1", "cache is below 1MiB"),
        ("rocksdb:p?compresion=lz4", "did you mean \"compression\"?"),
    ],
}

#[test]
fn settings_tell_what_survives_what() {
    let directory = tempfile::tempdir().unwrap();
    let describe = |options: &str| {
        let settings = open(&url(directory.path(), options)).unwrap().settings().unwrap();
        settings.into_iter().map(|setting| (setting.value, setting.meaning)).collect::<Vec<_>>()
    };
    let process = describe("");
    assert_eq!(process[0].0, "process");
    assert!(process[0].1.starts_with("an answered write survives the end of this process"));
    assert_eq!((&*process[1].0, &*process[2].0), ("256 MiB", "none"));
    let version = process[3].0.strip_prefix("RocksDB ").expect("it names itself");
    assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{version}");
    assert_eq!(describe("?durability=fsync")[0].0, "fsync");
    assert_eq!(describe("?compression=lz4")[2].0, "lz4");
    assert!(describe("?durability=none")[0].1.starts_with("there is no log"));
}

#[test]
fn a_directory_of_ycsb_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let url = url(directory.path(), "");
    drop(open(&url).unwrap());
    fs::write(directory.path().join("new/CF_NAMES"), "usertable\n").unwrap();
    let message = complaint(&url);
    assert!(message.contains("was written by YCSB's RocksDB binding"), "{message}");
}

#[test]
fn a_damaged_database_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let url = url(directory.path(), "");
    drop(open(&url).unwrap());
    fs::write(directory.path().join("new/CURRENT"), "thesis").unwrap();
    let message = complaint(&url);
    assert!(message.contains("is no RocksDB database, or a damaged one"), "{message}");
}

#[test]
fn an_error_means_what_the_table_says() {
    let full = "IO error: No space left on device: While appending to file: 000004.log";
    let denied = "IO error: While open a file for appending: 000008.log: Read-only file system";
    for (kind, text, stage, is_certain, reason) in [
        (ErrorKind::IOError, full, CommitStage::Committing, false, Reason::Full),
        (ErrorKind::IOError, full, CommitStage::Uncommitted, true, Reason::Full),
        (ErrorKind::IOError, denied, CommitStage::Committing, false, Reason::ReadOnly),
        (ErrorKind::IOError, "IO error: fsync", CommitStage::Committing, false, Reason::StoreError),
        (ErrorKind::Corruption, "checksum", CommitStage::Uncommitted, true, Reason::StoreError),
        (ErrorKind::InvalidArgument, "too long", CommitStage::Committing, true, Reason::Malformed),
        (ErrorKind::Incomplete, "stalled", CommitStage::Committing, true, Reason::Busy),
        (ErrorKind::TimedOut, "late", CommitStage::Committing, false, Reason::Timeout),
        (ErrorKind::Aborted, "halted", CommitStage::Committing, false, Reason::StoreError),
    ] {
        let failure = meaning(&kind, text.into(), stage);
        assert_eq!((failure.is_certain, failure.reason), (is_certain, reason), "{text}");
    }
}
