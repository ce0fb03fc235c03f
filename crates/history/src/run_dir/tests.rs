//! One run in one directory, by one process at a time.

use assay_model::{EventKind, Nanos};

use super::*;
use crate::samples::{self, tempdir};
use crate::{History, Manifest};

#[test]
fn two_runs_into_one_directory_are_refused() {
    let dir = tempdir("two-runs");
    let mut run_dir = RunDir::create(&dir).unwrap();
    run_dir.write_manifest(&Manifest::default()).unwrap();
    drop(run_dir);
    let error = RunDir::create(&dir).unwrap_err();
    assert!(matches!(&error, CreateError::Taken { found, .. } if found == "run.toml"), "{error}");
}

#[test]
fn a_run_directory_in_use_names_the_process_that_uses_it() {
    let dir = tempdir("in-use");
    let run_dir = RunDir::create(&dir).unwrap();
    let error = RunDir::create(&dir).unwrap_err().to_string();
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    drop(run_dir);
    RunDir::open(&dir).unwrap();
}

#[test]
fn a_lock_file_that_a_killed_run_left_behind_is_stale() {
    let dir = tempdir("stale-lock");
    std::fs::write(place::lock(&dir), "999999\n").unwrap();
    let run_dir = RunDir::create(&dir).unwrap();
    assert_eq!(
        std::fs::read_to_string(place::lock(&dir)).unwrap(),
        format!("{}\n", std::process::id())
    );
    drop(run_dir);
    assert!(!place::lock(&dir).exists());
}

#[test]
fn the_reserve_is_there_while_the_run_goes_on() {
    let dir = tempdir("reserve");
    let run_dir = RunDir::create(&dir).unwrap();
    assert_eq!(std::fs::metadata(place::reserve(&dir)).unwrap().len(), RESERVE_BYTES as u64);
    drop(run_dir);
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0, "neither reserve nor lock stays");
}

#[test]
fn a_manifest_that_finds_no_room_takes_the_reserve() {
    let dir = tempdir("manifest-no-room");
    let mut run_dir = RunDir::create(&dir).unwrap();
    // Writing through this name fails as on a full disk, whatever the disk of the test has left.
    let temporary = crate::part::temporary(&place::manifest(&dir));
    std::os::unix::fs::symlink("/dev/full", &temporary).unwrap();
    run_dir.write_manifest(&Manifest::default()).unwrap();
    assert!(!place::reserve(&dir).exists(), "the reserve was given up");
    assert_eq!(Manifest::read(&dir).unwrap(), Manifest::default());
}

#[test]
fn events_that_find_no_room_take_the_reserve() {
    let dir = tempdir("events-no-room");
    let mut run_dir = RunDir::create(&dir).unwrap();
    let temporary = crate::part::temporary(&place::events(&dir));
    std::os::unix::fs::symlink("/dev/full", &temporary).unwrap();
    let event = Event { at: Nanos(1), kind: EventKind::Warning, text: "full".to_owned() };
    run_dir.write_events(std::slice::from_ref(&event)).unwrap();
    assert!(!place::reserve(&dir).exists(), "the reserve was given up");
    assert_eq!(crate::read_events(&dir).unwrap(), [event]);
}

#[test]
fn a_seal_that_finds_no_room_keeps_the_blocks_and_says_what_to_do() {
    let dir = tempdir("seal-no-room");
    let mut run_dir = RunDir::create(&dir).unwrap();
    let (writer, mut sinks) = run_dir.writer(1, Memory::default()).unwrap();
    let records = samples::ycsb_a(0, 20_000, 100);
    records.iter().for_each(|record| sinks[0].push(*record));
    drop(sinks);
    writer.finish().unwrap();
    run_dir.give_up_reserve();
    std::fs::create_dir_all(place::agent(&dir, 0)).unwrap();
    let temporary = crate::part::temporary(&place::part(&dir, 0, 0));
    std::os::unix::fs::symlink("/dev/full", &temporary).unwrap();
    let error = run_dir.seal(0, &[]).unwrap_err();
    assert!(matches!(error, SealError::Full { .. }), "{error}");
    assert!(error.to_string().contains(&format!("assay history repair {}", dir.display())));
    assert_eq!(History::open(&dir).unwrap().records(), 20_000, "still readable");
    assert_eq!(run_dir.seal(0, &[]).unwrap().records(), 20_000, "with room again");
}
