//! After a kill at any moment, intact blocks are sealed, the others are reported.

use assay_model::Record;

use super::*;
use crate::blocks::DamageKind;
use crate::samples::{self, tempdir};
use crate::writer::Memory;
use crate::{Columns, History};

/// A run directory as a killed run leaves it: two workers of three flushed blocks, a running
/// manifest.
fn killed(dir: &Path) -> Vec<Record> {
    killed_as(dir, &Manifest::default())
}

fn killed_as(dir: &Path, manifest: &Manifest) -> Vec<Record> {
    let mut run_dir = RunDir::create(dir).unwrap();
    run_dir.write_manifest(manifest).unwrap();
    let (writer, mut sinks) = run_dir.writer(2, Memory::default()).unwrap();
    let records = samples::ycsb_a(0, 600, 100);
    for chunk in records.chunks(200) {
        for (sink, half) in sinks.iter_mut().zip(chunk.chunks(100)) {
            half.iter().for_each(|record| sink.push(*record));
            sink.flush();
        }
    }
    drop(sinks);
    writer.finish().unwrap();
    records
}

fn indices(dir: &Path) -> Vec<u64> {
    let mut found = Vec::new();
    let mut history = History::open(dir).unwrap();
    let columns = Columns::of(&[crate::Column::Index]);
    history
        .each_batch(columns, |batch| found.extend(batch.records.iter().map(|r| r.index)))
        .unwrap();
    found.sort_unstable();
    found
}

#[test]
fn a_killed_run_is_sealed_and_marked_interrupted() {
    let dir = tempdir("killed");
    killed(&dir);
    let repaired = repair(&dir).unwrap();
    assert_eq!((repaired.sealed.records(), repaired.sealed.parts.len()), (600, 2));
    assert_eq!(repaired.sealed.damage, []);
    let manifest = Manifest::read(&dir).unwrap();
    assert_eq!((manifest.state, manifest.history.records), (State::Interrupted, 600));
    let counters = manifest.counters;
    assert_eq!(counters.offered, 600);
    let ended = [counters.done, counters.refused, counters.unknown, counters.dropped];
    assert_eq!(ended.iter().sum::<u64>(), 600);
    assert!(counters.done > 0, "{counters:?}");
    assert_eq!(indices(&dir), (0..600).collect::<Vec<_>>());
}

#[test]
fn a_killed_run_gets_its_phases_and_events_from_its_records() {
    let dir = tempdir("course");
    let records = killed(&dir);
    let manifest = repair(&dir).unwrap().manifest.unwrap();
    let measured: Vec<&Record> = records.iter().filter(|r| r.phase == Phase::Measure).collect();
    let from = measured.iter().map(|record| record.intended.0).min().unwrap();
    let to = measured.iter().map(|record| record.started.0).max().unwrap();
    let phase = manifest.phases.iter().find(|phase| phase.name == "measure").unwrap();
    assert_eq!((phase.from_ns, phase.to_ns), (from, to));
    let events = crate::read_events(&dir).unwrap();
    assert_eq!(events.len(), manifest.phases.len() + 1);
    let last = events.last().unwrap();
    assert_eq!(last.at, records.iter().map(|record| record.ended).max().unwrap());
    assert_eq!(last.text, "the process ended without closing the run");
}

#[test]
fn final_reads_of_a_killed_run_are_kept_but_not_counted() {
    let dir = tempdir("final");
    let mut run_dir = RunDir::create(&dir).unwrap();
    run_dir.write_manifest(&Manifest::default()).unwrap();
    let (writer, mut sinks) = run_dir.writer(1, Memory::default()).unwrap();
    let last = samples::ycsb_a(100, 20, 10).into_iter();
    let last = last.map(|record| Record { phase: Phase::Final, ..record });
    samples::ycsb_a(0, 100, 10).into_iter().chain(last).for_each(|record| sinks[0].push(record));
    drop(sinks);
    writer.finish().unwrap();
    drop(run_dir);
    let manifest = repair(&dir).unwrap().manifest.unwrap();
    assert_eq!((manifest.history.records, manifest.counters.offered), (120, 100));
    let phases: Vec<&str> = manifest.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(phases, ["measure", "final-read"]);
}

#[test]
fn repairing_again_changes_nothing() {
    let dir = tempdir("again");
    killed(&dir);
    repair(&dir).unwrap();
    let before = Manifest::read(&dir).unwrap();
    let again = repair(&dir).unwrap();
    assert!(again.was_whole());
    assert_eq!((again.manifest, indices(&dir).len()), (Some(before), 600));
}

#[test]
fn a_running_run_directory_is_left_alone() {
    let dir = tempdir("running");
    let _held = RunDir::create(&dir).unwrap();
    std::fs::create_dir(place::blocks(&dir)).unwrap();
    assert!(matches!(repair(&dir), Err(RepairError::Lock(LockError::Held { .. }))));
}

#[test]
fn a_directory_without_a_run_is_refused() {
    assert!(matches!(repair(&tempdir("nothing")), Err(RepairError::NoRunDir { .. })));
}

/// Changes a copy of a killed run directory as a kill during sealing could have left it.
fn killed_in_mid_seal(name: &str, leave: impl FnOnce(&Path)) {
    let dir = tempdir(name);
    killed(&dir);
    leave(&dir);
    let repaired = repair(&dir).unwrap();
    assert_eq!(indices(&dir), (0..600).collect::<Vec<_>>(), "{name}: {repaired:?}");
    assert_eq!(std::fs::read_dir(place::agent(&dir, 0)).unwrap().count(), 2, "{name}");
    assert!(!place::blocks(&dir).exists(), "{name}");
    let records = repaired.manifest.map(|manifest| manifest.history.records);
    assert_eq!(records, Some(600), "{name}: all workers count, whenever they were sealed");
    assert!(repair(&dir).unwrap().was_whole(), "{name}");
}

#[test]
fn a_kill_at_any_step_of_sealing_is_repaired() {
    killed_in_mid_seal("before-the-first-part", |dir| {
        std::fs::create_dir_all(place::agent(dir, 0)).unwrap();
    });
    killed_in_mid_seal("within-a-part", |dir| {
        std::fs::create_dir_all(place::agent(dir, 0)).unwrap();
        std::fs::write(temporary(&place::part(dir, 0, 0)), b"PAR1 half").unwrap();
    });
    killed_in_mid_seal("between-rename-and-delete", |dir| {
        let blocks = std::fs::read(place::block_file(dir, 0)).unwrap();
        std::fs::rename(place::block_file(dir, 1), dir.join("aside")).unwrap();
        RunDir::open(dir).unwrap().seal(0, &[]).unwrap();
        std::fs::create_dir_all(place::blocks(dir)).unwrap();
        std::fs::write(place::block_file(dir, 0), blocks).unwrap();
        std::fs::rename(dir.join("aside"), place::block_file(dir, 1)).unwrap();
    });
    killed_in_mid_seal("within-the-manifest", |dir| {
        std::fs::write(temporary(&place::manifest(dir)), b"format = 1\nsta").unwrap();
        std::fs::write(temporary(&place::events(dir)), b"PAR1").unwrap();
    });
}

#[test]
fn files_that_a_kill_left_unfinished_are_removed() {
    let dir = tempdir("leftovers");
    killed(&dir);
    let names = [
        "run.toml.tmp",
        "events.parquet.tmp",
        "observations.parquet.tmp",
        "truth.parquet.tmp",
        "reads.parquet.tmp",
        "tables.sum.tmp",
    ];
    names.iter().for_each(|name| std::fs::write(dir.join(name), b"PAR1").unwrap());
    let removed = repair(&dir).unwrap().removed;
    assert_eq!(removed, names.map(|name| dir.join(name)));
    assert!(names.iter().all(|name| !dir.join(name).exists()));
    assert!(repair(&dir).unwrap().was_whole());
}

#[test]
fn a_torn_tail_is_reported_and_the_rest_is_sealed() {
    let dir = tempdir("torn-tail");
    killed(&dir);
    let path = place::block_file(&dir, 0);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();
    let repaired = repair(&dir).unwrap();
    assert_eq!((repaired.sealed.records(), repaired.records_missing()), (500, 100));
    assert_eq!(repaired.sealed.damage[0].form, DamageKind::TornTail);
    assert!(!place::blocks(&dir).exists());
}

#[test]
fn a_corrupt_block_in_the_middle_is_named_skipped_and_kept_as_evidence() {
    let dir = tempdir("corrupt-middle");
    killed(&dir);
    let path = place::block_file(&dir, 0);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let repaired = repair(&dir).unwrap();
    assert_eq!((repaired.sealed.records(), repaired.records_missing()), (500, 100));
    assert_eq!(repaired.sealed.damage[0].form, DamageKind::Corrupt);
    assert!(path.with_extension("damaged").exists());
    let missing: Vec<_> = (0..600).filter(|index| !(200..300).contains(index)).collect();
    assert_eq!(indices(&dir), missing);
    let note = repaired.manifest.unwrap().notes.remove(0);
    assert!(note.contains("corrupt block") && note.contains("100 records missing"), "{note}");
    let history = History::open(&dir).unwrap();
    assert_eq!(history.fact(crate::seal::DAMAGE_KEY), Some(note.as_str()));
}

#[test]
fn blocks_of_another_run_are_refused_with_their_name() {
    let (dir, other) = (tempdir("own-blocks"), tempdir("other-blocks"));
    for (dir, id) in [(&dir, "this"), (&other, "that")] {
        let mut manifest = Manifest::default();
        manifest.run.id = id.to_owned();
        killed_as(dir, &manifest);
    }
    std::fs::copy(place::block_file(&other, 1), place::block_file(&dir, 1)).unwrap();
    let expected = format!("{} is of another run", place::block_file(&dir, 1).display());
    let said = repair(&dir).unwrap_err().to_string();
    assert!(said.starts_with(&expected), "{said}");
    let said = History::open(&dir).err().unwrap().to_string();
    assert!(said.starts_with(&expected), "{said}");
    assert_eq!(repair(&other).unwrap().sealed.records(), 600);
}
