//! Tests of run directories with random damage.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use assay_analysis::hallmark::{CheckId, CheckVerdict};
use assay_history::manifest::{
    ExecutionSection, HistorySection, LoadSettings, OperationCounts, PhaseSection,
    RateChangeSection,
};
use assay_history::{Memory, RecordSum, RunDir, TruthRow, TruthWriter};
use assay_model::{Ends, Kind, Outcome, Reason, Seed};
use assay_report::{Letters, Style};
use tempfile::TempDir;

use super::*;

/// Damaged directories of each kind; raise it after a change of the readers.
const SEEDS: u64 = 100;

/// Workers of the runs.
const WORKERS: usize = 2;

/// Whether the history of a run lies in parts or in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Sealed,
    Blocks,
}

/// The files of a directory by their names in it.
type Files = BTreeMap<String, Vec<u8>>;

fn records(seed: u64, worker: u64) -> Vec<Record> {
    let record = |number: u64| {
        let mut draws = Seed(seed).draws(worker, number);
        let index = number * WORKERS as u64 + worker;
        let intended = index * 10_000_000;
        let writes = draws.below(2) == 1;
        let started = intended + draws.below(2_000);
        let is_refused = draws.below(50) == 0;
        Record {
            index,
            process: index,
            key: draws.below(1_000),
            intended: Nanos(intended),
            started: Nanos(started),
            ended: Nanos(started + 20_000 + draws.below(1 << 20)),
            session: draws.below(16) as u32,
            bytes: 100,
            rows: u32::from(!writes),
            requests: 1,
            ends: Ends::Both,
            kind: if writes { Kind::Update } else { Kind::Read },
            phase: if index < 100 { Phase::WarmUp } else { Phase::Measure },
            outcome: if is_refused { Outcome::Refused } else { Outcome::Done },
            reason: if is_refused { Reason::Busy } else { Reason::None },
            found: !is_refused,
            ..Record::BLANK
        }
    };
    (0..150).map(record).collect()
}

fn manifest(id: &str, seed: u64, all: &[Record]) -> Manifest {
    let mut manifest = Manifest { state: ManifestState::Finished, ..Manifest::default() };
    manifest.run.id = id.to_owned();
    manifest.run.started = "2026-11-21T10:00:00Z".to_owned();
    manifest.run.ended = "2026-11-21T10:00:09Z".to_owned();
    manifest.spec.name = "ycsb-a".to_owned();
    manifest.spec.seed = seed;
    manifest.load.model = "open".to_owned();
    manifest.load.workers = WORKERS as u16;
    manifest.load.settings = LoadSettings {
        rate: Some("sine:50..150,period=2s".to_owned()),
        arrivals: Some("poisson".to_owned()),
        in_flight: Some(4096),
        ..LoadSettings::default()
    };
    manifest.execution = ExecutionSection {
        issued_all: true,
        executed_hash: Some("00ff".to_owned()),
        planned_rate: Some(100.0),
        queued: Some(0),
        rate_changes: [(2_500_000_000, 50.0), (3_000_000_000, 100.0)]
            .map(|(at_ns, rate)| RateChangeSection { at_ns, rate })
            .into(),
        ..ExecutionSection::default()
    };
    let count = |outcome| all.iter().filter(|one| one.outcome == outcome).count() as u64;
    let [done, refused, unknown, dropped] = Outcome::ALL.map(count);
    let offered = all.len() as u64;
    manifest.counters = OperationCounts { offered, done, refused, unknown, dropped };
    manifest.history = HistorySection { width: 1, records: offered, ..HistorySection::default() };
    let phase = |name: &str, from_ns, to_ns| PhaseSection { name: name.to_owned(), from_ns, to_ns };
    manifest.phases =
        vec![phase("warm-up", 0, 1_000_000_000), phase("measure", 1_000_000_000, 8_000_000_000)];
    manifest
}

/// Writes the directory of a run with every possible file.
fn write(dir: &Path, form: Form, id: &str, seed: u64) {
    let mut run_dir = RunDir::create(dir).expect("there is room");
    let (writer, sinks) = run_dir.writer(WORKERS as u16, Memory::default()).expect("there is room");
    let mut all = Vec::new();
    for (worker, mut sink) in (0..).zip(sinks) {
        let records = records(seed, worker);
        records.iter().for_each(|record| sink.push(*record));
        all.extend(records);
    }
    writer.finish().expect("there is room");
    let event = |at, kind, text: &str| Event { at: Nanos(at), kind, text: text.to_owned() };
    let events = [
        event(0, EventKind::Phase, "warm-up"),
        event(1_000_000_000, EventKind::Phase, "measure"),
        event(3_000_000_000, EventKind::Fault, "> kill 1"),
    ];
    run_dir.write_events(&events).expect("there is room");
    let observation = |at: u64| Observation {
        at: Nanos(at * 250_000_000),
        source: "client".to_owned(),
        part: format!("worker-{}", at % 2),
        metric: "cpu_ns".to_owned(),
        value: at as f64 * 1e7,
    };
    let observations: Vec<Observation> = (0..64).map(observation).collect();
    run_dir.write_observations(&observations).expect("there is room");
    let mut truth = TruthWriter::create(dir).expect("there is room");
    let row = |at: u64| TruthRow {
        at: Nanos(at),
        answered_at: Some(Nanos(at + 5)),
        session: 1,
        kind: Kind::Update,
        key: "k".to_owned(),
        node: 0,
        faults: if at < 3 { "lost" } else { "torn+stale" }.to_owned(),
        version: Some(at),
        versions_behind: 0,
        staleness: Nanos::ZERO,
        read_after_write: None,
    };
    (0..9).for_each(|at| truth.push(row(at)));
    truth.finish().expect("there is room");
    let mut manifest = manifest(id, seed, &all);
    if form == Form::Sealed {
        let sealed = run_dir.seal(0, &manifest.facts()).expect("there is room");
        manifest.history.sum = sealed.sum().to_string();
    }
    run_dir.write_manifest(&manifest).expect("there is room");
}

fn gather(root: &Path, dir: &Path, into: &mut Files) {
    for entry in fs::read_dir(dir).expect("it is ours") {
        let path = entry.expect("it is ours").path();
        if path.is_dir() {
            gather(root, &path, into);
        } else if let Ok(name) = path.strip_prefix(root) {
            let bytes = fs::read(&path).expect("it is ours");
            into.insert(name.display().to_string(), bytes);
        }
    }
}

/// Draws of one seed.
struct Dice(assay_model::Draws);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0.below(end.max(1) as u64) as usize
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// Numbers at the ends of the range.
const EXTREMES: [&str; 12] = [
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "65535",
    "1e300",
    "nan",
    "inf",
    "0.0000001",
    "4611686018427387904",
    "1000000000000",
];

/// Another number in place of one of the text.
fn with_extreme(text: &[u8], dice: &mut Dice) -> Vec<u8> {
    let text = String::from_utf8_lossy(text).into_owned();
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let starts: Vec<usize> =
        (0..text.len()).filter(|at| is_digit(*at) && (*at == 0 || !is_digit(at - 1))).collect();
    let Some(&start) = starts.get(dice.below(starts.len())) else { return text.into_bytes() };
    let end = (start..).find(|at| !is_digit(*at)).unwrap_or(text.len());
    format!("{}{}{}", &text[..start], dice.of(&EXTREMES), &text[end..]).into_bytes()
}

/// One damage to the files of a run; `foreign` are files of another.
fn damage(files: &mut Files, foreign: &Files, dice: &mut Dice) {
    let names: Vec<String> = files.keys().cloned().collect();
    if names.is_empty() {
        return;
    }
    let name = names[dice.below(names.len())].clone();
    let other = names[dice.below(names.len())].clone();
    let mut bytes = files[&name].clone();
    let at = dice.below(bytes.len());
    match dice.below(10) {
        0 | 1 => bytes[at] ^= 1 << dice.below(8),
        // The footer of a Parquet file is at its end.
        2 => {
            let from = bytes.len().saturating_sub(2_000);
            let at = from + dice.below(bytes.len() - from);
            bytes[at] ^= 1 << dice.below(8);
        }
        3 => bytes.truncate(at),
        4 => drop(files.remove(&name)),
        5 => bytes = files[&other].clone(),
        6 => drop(files.insert(name.replace("-0.", "-1."), bytes.clone())),
        // Blocks do not say of which run they are.
        7 if !name.ends_with(".blk") => {
            if let Some(theirs) = foreign.get(&name) {
                bytes.clone_from(theirs);
            }
        }
        8 => {
            let end = (at + 1 + dice.below(64)).min(bytes.len());
            let noise = dice.below(2) * 0xFF;
            bytes[at..end].fill(noise as u8);
        }
        _ => {
            let text = files.get("run.toml").cloned().unwrap_or_default();
            files.insert("run.toml".to_owned(), with_extreme(&text, dice));
            return;
        }
    }
    if files.contains_key(&name) {
        files.insert(name, bytes);
    }
}

/// The outcome of reading a directory.
#[derive(Debug, PartialEq)]
enum ReadOutcome {
    Panic,
    Error(String),
    Result { sum: RecordSum, is_doubted: bool },
}

/// Reads a directory as a report in one `form` does; the analysis is the same for all.
fn look(dir: &Path, form: u64) -> ReadOutcome {
    let mut sum = RecordSum::default();
    let analyzed = catch_unwind(AssertUnwindSafe(|| {
        let analyzed =
            analyze_beside(dir, Manifest::read(dir)?, None, &mut |records| sum.add(records))?;
        let (facts, summary) = (&analyzed.facts, &analyzed.summary);
        let style = Style { colour: false, width: 100, letters: Letters::Ascii };
        let displayed = match form % 4 {
            0 => assay_report::run(facts, summary, None).text(style),
            1 => assay_report::json(facts, summary),
            2 => assay_report::run(facts, summary, analyzed.timeline.as_ref()).page(),
            _ => ycsb_block(&analyzed)?,
        };
        assert!(!displayed.is_empty());
        Ok::<_, Box<dyn std::error::Error>>(analyzed)
    }));
    match analyzed {
        Err(_) => ReadOutcome::Panic,
        Ok(Err(error)) => ReadOutcome::Error(format!("{error:#}")),
        Ok(Ok(analyzed)) => {
            let hallmark = analyzed.facts.hallmark.as_ref().expect("it was examined");
            let fails =
                |id| hallmark.check(id).is_some_and(|one| one.verdict == CheckVerdict::Fail);
            let is_simulated =
                |text: &str| analyzed.facts.warnings.iter().any(|one| one.contains(text));
            let is_doubted = fails(CheckId::Identity)
                || fails(CheckId::LostRecords)
                || is_simulated("records missing");
            ReadOutcome::Result { sum, is_doubted }
        }
    }
}

/// Damages a run in many ways; none may cause a panic or silently changed records.
fn survive(form: Form, seeds: std::ops::Range<u64>) {
    let folder = TempDir::with_prefix("assay-damage-").expect("there is a temporary directory");
    let (dir, theirs) = (folder.path().join("run"), folder.path().join("other"));
    write(&dir, form, "this", 1);
    write(&theirs, form, "another", 2);
    let (mut whole, mut foreign) = (Files::new(), Files::new());
    gather(&dir, &dir, &mut whole);
    gather(&theirs, &theirs, &mut foreign);
    let ReadOutcome::Result { sum: written, is_doubted: false } = look(&dir, 0) else {
        panic!("{:?}", look(&dir, 0));
    };
    let mut errors = 0;
    let mut there = whole.clone();
    for seed in seeds {
        let mut dice = Dice(Seed(seed).draws(7, form as u64));
        let mut files = whole.clone();
        for _ in 0..1 + dice.below(3) {
            damage(&mut files, &foreign, &mut dice);
        }
        replace(&dir, &there, &files);
        there = files;
        match look(&dir, seed) {
            ReadOutcome::Panic => panic!("{form:?}, seed {seed} is a panic"),
            ReadOutcome::Error(error) => {
                assert!(error.contains("run") || error.contains("part"), "seed {seed}: {error}");
                errors += 1;
            }
            ReadOutcome::Result { sum, is_doubted } => {
                assert!(sum == written || is_doubted, "{form:?}, seed {seed} changes records");
            }
        }
    }
    assert!(errors > 0);
}

/// Makes the directory that holds `old` hold `new`.
fn replace(dir: &Path, old: &Files, new: &Files) {
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        fs::remove_file(dir.join(name)).expect("it is ours");
    }
    for (name, bytes) in new.iter().filter(|(name, bytes)| old.get(*name) != Some(bytes)) {
        fs::write(dir.join(name), bytes).expect("it is ours");
    }
}

#[test]
fn a_damaged_run_directory_is_refused_or_doubted_and_never_a_panic() {
    survive(Form::Sealed, 0..SEEDS);
}

#[test]
fn a_damaged_directory_of_a_run_that_was_not_sealed_is_refused_or_doubted() {
    survive(Form::Blocks, 0..SEEDS);
}
