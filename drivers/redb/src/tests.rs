//! redb behind the seam, in files of the test's own.

use super::*;

assay_driver_kit::engine_tests! {
    open, "redb", "/new/file.redb",
    options: ["", "?durability=none&cache=8MiB"],
    blocking: "",
    conforms: <[String]>::is_empty,
    taken: "another process has it open; end that or choose another path",
    below_a_file: "/file: ",
    wrong: [
        ("redb:p?durability=process", "it can be fsync or none"),
        ("redb:p?cach=1", "did you mean \"cache\"?"),
    ],
}

#[test]
fn settings_tell_what_survives_what() {
    let directory = tempfile::tempdir().unwrap();
    let describe = |options| {
        let settings = open(&url(directory.path(), options)).unwrap().settings().unwrap();
        format!("{}: {}", settings[0].value, settings[0].meaning)
    };
    assert_eq!(describe(""), "fsync: an answered write is on disk: fsync after each");
    assert_eq!(
        describe("?durability=none"),
        "none: what was written since the last flush is lost when this process ends without \
         closing the store"
    );
}

#[test]
fn a_directory_is_no_place_for_redb() {
    let directory = tempfile::tempdir().unwrap();
    let message = complaint(&format!("redb:{}", directory.path().display()));
    assert!(message.ends_with("is a directory; redb needs a file"), "{message}");
}

#[test]
fn a_file_of_something_else_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("thesis.txt");
    fs::write(&file, "kept".repeat(5_000)).unwrap();
    let message = complaint(&format!("redb:{}", file.display()));
    assert!(message.ends_with("thesis.txt is no redb database; choose another path"), "{message}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept".repeat(5_000));
}

#[test]
fn an_error_means_what_the_table_says() {
    let full = || redb::Error::Io(std::io::Error::from(std::io::ErrorKind::StorageFull));
    for (error, stage, is_certain, reason) in [
        (full(), CommitStage::Committing, false, Reason::Full),
        (full(), CommitStage::Uncommitted, true, Reason::Full),
        (redb::Error::ValueTooLarge(9), CommitStage::Uncommitted, true, Reason::Malformed),
        (redb::Error::Corrupted("x".into()), CommitStage::Committing, false, Reason::StoreError),
        (redb::Error::Corrupted("x".into()), CommitStage::Uncommitted, true, Reason::StoreError),
    ] {
        let message = error.to_string();
        let failure = meaning(error, stage);
        assert_eq!((failure.is_certain, failure.reason), (is_certain, reason), "{message}");
    }
}
