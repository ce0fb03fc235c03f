//! Run directories that earlier releases wrote are read for ever.
//!
//! `golden/v1` was written by the first release of each format, sealed by agent 0, with the blocks
//! of one worker of agent 0 left unsealed; `golden/v2` has statements with numbers of requests,
//! `golden/v3` nodes that answered.
//! They must never be written again: a change of a format gets a new directory next to them.

#![allow(clippy::unwrap_used, reason = "a test may end by a panic")]

use std::path::{Path, PathBuf};

use assay_history::{Columns, History, Manifest, Memory, RunDir, State, read_events, repair};
use assay_model::{
    Ends, Event, EventKind, Kind, Nanos, Outcome, Phase, Reason, Record, Seed, Verified,
    named_enum, version,
};

const RECORDS: u64 = 900;

named_enum! {
    /// The formats of the golden run directories.
    #[derive(Clone, Copy)]
    enum Format {
        First => "v1",
        WithStatements => "v2",
        WithNodes => "v3",
    }
}

use Format::{First, WithNodes};

fn golden(format: Format) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format.name())
}

/// The records of the golden run directory, by index.
fn record(format: Format, index: u64) -> Record {
    let mut draws = Seed(1).draws(1, index);
    let kind = Kind::ALL[draws.below(5) as usize];
    let reason = Reason::ALL[if index < 18 { index as usize } else { 0 }];
    let has_statements = !matches!(format, First);
    let has_nodes = matches!(format, WithNodes);
    let started = 1_000 * index + draws.below(500);
    Record {
        index,
        process: index / 3,
        key: draws.below(1000),
        intended: Nanos(1_000 * index),
        started: Nanos(started),
        ended: Nanos(started + draws.below(1 << 20)),
        version_written: if kind.writes() { version::written(index) } else { version::NONE },
        version_read: if kind == Kind::Read { version::loaded(index) } else { version::NONE },
        session: (index % 5) as u32,
        bytes: draws.below(2) as u32 * 1000,
        rows: draws.below(100) as u32,
        verify_ns: draws.below(900) as u32,
        statement: if has_statements { (index % 40) as u16 } else { 0 },
        requests: if has_statements { (index % 7) as u16 } else { 1 },
        transaction: (index % 3) as u16,
        transaction_type: draws.below(2) as u16,
        node: if has_nodes { (index % 4) as u8 } else { 0 },
        ends: Ends::of(index % 3 == 2, has_statements && index % 3 == 2),
        kind,
        phase: if index < 100 { Phase::WarmUp } else { Phase::Measure },
        outcome: if reason == Reason::None { Outcome::Done } else { Outcome::Refused },
        found: draws.below(10) > 0,
        reason,
        verified: Verified::ALL[draws.below(4) as usize],
    }
}

fn events() -> Vec<Event> {
    vec![
        Event { at: Nanos(0), kind: EventKind::Phase, text: "warm-up".to_owned() },
        Event { at: Nanos(100_000), kind: EventKind::Phase, text: "measure".to_owned() },
    ]
}

fn manifest(format: Format) -> Manifest {
    let mut manifest = Manifest::default();
    manifest.run.id = "golden".to_owned();
    manifest.spec.name = "ycsb-a".to_owned();
    manifest.spec.seed = 1;
    manifest.history.width = 3;
    manifest.history.transaction_types = vec!["operation".to_owned(), "other".to_owned()];
    if matches!(format, WithNodes) {
        manifest.history.nodes = ["a:1", "b:1", "c:1"].map(str::to_owned).to_vec();
    }
    manifest
}

/// Writes a run directory like the golden one: two workers sealed, a third still in blocks.
fn write(dir: &Path, format: Format) {
    let mut run_dir = RunDir::create(dir).unwrap();
    run_dir.write_manifest(&manifest(format)).unwrap();
    run_dir.write_events(&events()).unwrap();
    let (writer, mut sinks) = run_dir.writer(3, Memory::default()).unwrap();
    for index in 0..RECORDS {
        sinks[(index % 3) as usize].push(record(format, index));
        if index == RECORDS / 2 {
            sinks.iter_mut().for_each(assay_history::WorkerSink::flush);
        }
    }
    drop(sinks);
    writer.finish().unwrap();
    let blocks = dir.join("blocks/lane=2.blk");
    let bytes = std::fs::read(&blocks).unwrap();
    std::fs::remove_file(&blocks).unwrap();
    run_dir.seal(0, &manifest(format).facts()).unwrap();
    std::fs::create_dir_all(dir.join("blocks")).unwrap();
    std::fs::write(blocks, bytes).unwrap();
}

fn check(dir: &Path, format: Format) {
    let mut history = History::open(dir).unwrap();
    assert_eq!((history.records(), history.fact("assay.run.id")), (RECORDS, Some("golden")));
    let mut found = Vec::new();
    history.each_batch(Columns::ALL, |batch| found.extend_from_slice(batch.records)).unwrap();
    found.sort_unstable_by_key(|record| record.index);
    assert_eq!(found, (0..RECORDS).map(|index| record(format, index)).collect::<Vec<_>>());
    assert_eq!(read_events(dir).unwrap(), events());
}

#[test]
fn the_golden_run_directories_are_read() {
    for format in Format::ALL {
        check(&golden(format), format);
        assert_eq!(Manifest::read(&golden(format)).unwrap(), manifest(format));
    }
}

#[test]
fn the_golden_run_directories_are_repaired() {
    for format in Format::ALL {
        let dir = copy(format);
        let repaired = repair(&dir).unwrap();
        assert_eq!((repaired.sealed.records(), repaired.sealed.damage.len()), (RECORDS / 3, 0));
        assert_eq!(Manifest::read(&dir).unwrap().state, State::Interrupted);
        check(&dir, format);
        assert!(History::open(&dir).unwrap().is_sealed());
    }
}

#[test]
fn this_release_writes_what_the_golden_run_directory_holds() {
    let dir = scratch("golden-again");
    write(&dir, WithNodes);
    check(&dir, WithNodes);
}

fn copy(format: Format) -> PathBuf {
    let dir = scratch(&format!("golden-repaired-{}", format.name()));
    copy_tree(&golden(format), &dir);
    dir
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    dir
}
