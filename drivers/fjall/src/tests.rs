//! fjall behind the seam, in directories of the test's own.

use assay_store::blocking::BlockingThreads;
use assay_store::conformance;

use super::*;

fn url(directory: &Path, options: &str) -> String {
    format!("fjall:{}{options}", directory.display())
}

fn complaint(url: &str) -> String {
    open(url).err().expect("the store must not open").to_string()
}

#[test]
fn fjall_conforms() {
    let directory = tempfile::tempdir().unwrap();
    conformance::assert_conforms(&*open(&url(directory.path(), "")).unwrap());
}

#[test]
fn fjall_with_fsync_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&url(directory.path(), "?durability=fsync&cache=8MiB")).unwrap();
    conformance::assert_conforms(&*store);
}

#[test]
fn fjall_on_blocking_threads_conforms() {
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
fn a_directory_in_use_is_not_opened_twice() {
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
fn a_file_is_no_place_for_fjall() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "kept").unwrap();
    let message = complaint(&url(&file, ""));
    assert!(
        message.ends_with("is a file; fjall needs a directory, which may be new or empty"),
        "{message}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
}

#[test]
fn a_directory_of_other_things_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("thesis.txt"), "kept").unwrap();
    let message = complaint(&url(directory.path(), ""));
    assert!(message.contains("holds something that is no fjall database"), "{message}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_path_below_a_file_is_refused_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    let message = complaint(&url(&directory.path().join("file/below"), ""));
    assert!(message.contains("file/below"), "{message}");
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
fn wrong_options_are_refused() {
    assert!(complaint("fjall:p?durability=maybe").ends_with("it can be process or fsync"));
    assert!(
        complaint("fjall:p?background_threads=0")
            .ends_with("background_threads is \"0\"; it is a number from 1 to 1024")
    );
    assert!(complaint("fjall:p?cache=1").ends_with("cache is below 1MiB"));
    assert!(complaint("fjall:p?durabilty=fsync").ends_with("did you mean \"durability\"?"));
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
