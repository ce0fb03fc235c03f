//! SQLite behind the seam, in files of the test's own.

use assay_store::conformance;
use assay_store::workers::Workers;

use super::*;

fn url(directory: &std::path::Path, options: &str) -> String {
    format!("sqlite:{}{options}", directory.join("test.db").display())
}

fn complaint(url: &str) -> String {
    open(url).err().expect("the store must not open").to_string()
}

#[test]
fn sqlite_conforms() {
    let directory = tempfile::tempdir().unwrap();
    conformance::assert_conforms(&*open(&url(directory.path(), "")).unwrap());
}

#[test]
fn sqlite_with_a_rollback_journal_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let url = url(directory.path(), "?journal=delete&synchronous=off&begin=deferred");
    conformance::assert_conforms(&*open(&url).unwrap());
}

#[test]
fn sqlite_on_worker_threads_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "")).unwrap();
    conformance::assert_conforms(&Workers::new(store.into(), 3));
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
    let told = |options: &str, name: &str| {
        let settings = open(&url(directory.path(), options)).unwrap().settings().unwrap();
        let setting = settings.into_iter().find(|setting| setting.name == name).unwrap();
        format!("{}: {}", setting.value, setting.meaning)
    };
    assert_eq!(
        told("", "durability"),
        "process: a commit survives the end of this process (kill -9), but a loss of power may \
         take the last ones; the database stays whole"
    );
    assert_eq!(
        told("?synchronous=full", "durability"),
        "every commit: the log is on disk before a commit is answered"
    );
    assert_eq!(told("?synchronous=extra", "synchronous"), "extra: when SQLite waits for the disk");
    assert!(told("", "server").starts_with("sqlite 3."));
}

#[test]
fn what_is_no_database_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    std::fs::write(&path, "a letter, long enough to be read as the header of a file".repeat(90))
        .unwrap();
    let told = complaint(&url(directory.path(), ""));
    assert!(told.ends_with("it is no SQLite database; choose another path"), "{told}");
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("a letter"));
    let told = complaint(&format!("sqlite:{}", directory.path().display()));
    assert!(told.ends_with("it is a directory; SQLite needs a file, which may be new"), "{told}");
    let told = complaint(&format!("sqlite:{}/below/x.db", path.display()));
    assert!(told.ends_with("choose a place where a file may be made"), "{told}");
}

#[test]
fn queries_to_sqlite_conform() {
    let directory = tempfile::tempdir().unwrap();
    conformance::queries::assert_queries_conform(&*open(&url(directory.path(), "")).unwrap());
}

#[test]
fn queries_to_sqlite_with_a_rollback_journal_conform() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?journal=delete&synchronous=off")).unwrap();
    conformance::queries::assert_queries_conform(&*store);
}

#[test]
fn queries_to_sqlite_on_worker_threads_conform() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?busy_timeout=200")).unwrap();
    conformance::queries::assert_queries_conform(&Workers::new(store.into(), 3));
}

#[test]
fn queries_to_sqlite_that_takes_turns_late_conform() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?begin=deferred&busy_timeout=100")).unwrap();
    conformance::queries::assert_queries_conform(&Workers::new(store.into(), 3));
}
