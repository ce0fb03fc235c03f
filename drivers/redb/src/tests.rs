//! redb behind the seam, in files of the test's own.

use std::path::Path;

use assay_store::blocking::BlockingThreads;
use assay_store::conformance;

use super::*;

fn url(directory: &Path, options: &str) -> String {
    format!("redb:{}/new/file.redb{options}", directory.display())
}

fn complaint(url: &str) -> String {
    open(url).err().expect("the store must not open").to_string()
}

#[test]
fn redb_conforms() {
    let directory = tempfile::tempdir().unwrap();
    conformance::assert_conforms(&*open(&url(directory.path(), "")).unwrap());
}

#[test]
fn redb_without_fsync_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?durability=none&cache=8MiB")).unwrap();
    conformance::assert_conforms(&*store);
}

#[test]
fn redb_on_blocking_threads_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "")).unwrap();
    conformance::assert_conforms(&BlockingThreads::new(store.into(), 3));
}

#[test]
fn what_was_written_is_there_when_it_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let url = url(directory.path(), "");
    conformance::leave_mark(&*open(&url).unwrap()).unwrap();
    conformance::find_mark(&*open(&url).unwrap()).unwrap();
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
fn a_file_in_use_is_not_opened_twice() {
    let directory = tempfile::tempdir().unwrap();
    let url = url(directory.path(), "");
    let _first = open(&url).unwrap();
    let message = complaint(&url);
    assert!(
        message.ends_with("another process has it open; end that or choose another path"),
        "{message}"
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
fn a_path_below_a_file_is_refused_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    let message = complaint(&format!("redb:{}/file/below", directory.path().display()));
    assert!(message.contains("/file: "), "{message}");
}

#[test]
fn wrong_options_are_refused() {
    assert!(complaint("redb:p?durability=process").ends_with("it can be fsync or none"));
    assert!(complaint("redb:p?cach=1").ends_with("did you mean \"cache\"?"));
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
