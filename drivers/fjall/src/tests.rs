//! fjall behind the seam, in directories of the test's own.

use super::*;

assay_driver_kit::engine_tests! {
    open, "fjall", "",
    options: ["", "?durability=fsync&cache=8MiB"],
    blocking: "",
    conforms: <[String]>::is_empty,
    taken: "another process has it open; end that or choose another path",
    directory_of: "fjall",
    below_a_file: "file/below",
    wrong: [
        ("fjall:p?durability=maybe", "it can be process or fsync"),
        (
            "fjall:p?background_threads=0",
            "background_threads is \"0\"; it is a number from 1 to 1024",
        ),
        ("fjall:p?cache=1", "cache is below 1MiB"),
        ("fjall:p?durabilty=fsync", "did you mean \"durability\"?"),
    ],
}

#[test]
fn settings_tell_what_survives_what() {
    let directory = tempfile::tempdir().unwrap();
    let describe = |options| {
        let settings = open(&url(directory.path(), options)).unwrap().settings().unwrap();
        format!("{}: {}", settings[0].value, settings[0].meaning)
    };
    assert_eq!(
        describe(""),
        "process: an answered write survives the end of this process (kill -9), but the operating \
         system may still lose it with the power"
    );
    assert_eq!(
        describe("?durability=fsync"),
        "fsync: an answered write is on disk: fdatasync after each"
    );
}

#[test]
fn background_threads_leave_one_processor_unless_the_url_says_how_many() {
    let defaults = [1, 2, 3, 5, 64].map(default_threads);
    assert_eq!(defaults, [1, 1, 2, 4, 4]);
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?background_threads=3")).unwrap();
    let settings = store.settings().unwrap();
    let setting = settings.iter().find(|setting| setting.name == "background threads").unwrap();
    assert_eq!(setting.value, "3");
}

#[test]
fn an_error_means_what_the_table_says() {
    let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
    for (error, stage, is_certain, reason) in [
        (fjall::Error::Io(full()), CommitStage::Committing, false, Reason::Full),
        (fjall::Error::Io(full()), CommitStage::Uncommitted, true, Reason::Full),
        (
            fjall::Error::Storage(fjall::LsmError::Io(full())),
            CommitStage::Committing,
            false,
            Reason::Full,
        ),
        (fjall::Error::KeyspaceDeleted, CommitStage::Committing, false, Reason::StoreError),
        (fjall::Error::InvalidTrailer, CommitStage::Uncommitted, true, Reason::StoreError),
    ] {
        let failure = meaning(&error, stage);
        assert_eq!((failure.is_certain, failure.reason), (is_certain, reason), "{error}");
    }
}
