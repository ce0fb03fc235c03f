//! Damaged copies of a run directory's tables, read as `assay report` reads them.
//!
//! `cargo run --release -p assay-history --example damaged -- RUN COUNT SEED` changes or removes
//! one table of a copy of the run directory RUN, COUNT times, and reads all of them. What is read
//! without an error must be what was there before. Ends with code 1 if something else was read, or
//! on a panic.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use assay_history::{
    Columns, History, Observation, RecordSum, TruthRow, read_events, read_observations, read_truth,
};
use assay_model::{Draws, Event, Seed};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match &words[..] {
        [_, count, seed] => count.parse::<u64>().ok().zip(seed.parse::<u64>().ok()),
        _ => None,
    };
    let Some((count, seed)) = parsed else {
        eprintln!("usage: damaged RUN COUNT SEED");
        std::process::exit(2);
    };
    let run = Path::new(&words[0]);
    let copy = std::env::temp_dir().join(format!("assay-damaged-{}", std::process::id()));
    let files = tables(run, Path::new(""));
    let read_file = |file: &PathBuf| fs::read(run.join(file)).expect("it was listed");
    let whole: Vec<Vec<u8>> = files.iter().map(read_file).collect();
    for name in ["run.toml", "tables.sum"] {
        put(&copy.join(name), &read_file(&name.into()));
    }
    for (file, bytes) in files.iter().zip(&whole) {
        put(&copy.join(file), bytes);
    }
    let expected = read(&copy).expect("the run directory is whole");
    let mut draws = Seed(seed).draws(0, 0);
    let mut counts: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for _ in 0..count {
        let place = draws.below(files.len() as u64) as usize;
        match draws.below(50) {
            0 => fs::remove_file(copy.join(&files[place])).expect("it is there"),
            _ => put(&copy.join(&files[place]), &changed(&whole[place], &mut draws)),
        }
        let verdict = match catch_unwind(AssertUnwindSafe(|| read(&copy))) {
            Err(_) => "PANIC",
            Ok(Err(_)) => "refused",
            Ok(Ok(tables)) if tables == expected => "the same",
            Ok(Ok(_)) => "SILENT",
        };
        let name = files[place].file_name().expect("a file").to_string_lossy().into_owned();
        *counts.entry((name, verdict)).or_default() += 1;
        put(&copy.join(&files[place]), &whole[place]);
    }
    for ((name, verdict), count) in &counts {
        println!("{name:<24} {verdict:<10} {count}");
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
    fs::remove_dir_all(&copy).expect("the copy is ours");
    if counts.keys().any(|(_, verdict)| ["PANIC", "SILENT"].contains(verdict)) {
        std::process::exit(1);
    }
}

/// Everything that a report takes from the tables.
#[derive(PartialEq)]
struct Tables {
    records: u64,
    sum: RecordSum,
    events: Vec<Event>,
    observations: Option<Vec<Observation>>,
    truth: Option<Vec<TruthRow>>,
}

fn read(dir: &Path) -> Result<Tables, Box<dyn std::error::Error>> {
    let mut history = History::open(dir)?;
    let (mut records, mut sum) = (0, RecordSum::default());
    let damage = history.each_batch(Columns::ALL, |batch| {
        records += batch.records.len() as u64;
        sum.add(batch.records);
    })?;
    if let Some(damage) = damage.first() {
        return Err(damage.to_string().into());
    }
    Ok(Tables {
        records,
        sum,
        events: read_events(dir)?,
        observations: read_observations(dir)?,
        truth: read_truth(dir)?,
    })
}

/// The tables below `folder` of the run directory `run`, by their paths within it.
fn tables(run: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(run.join(folder)).expect("it is a folder") {
        let entry = entry.expect("it can be listed");
        let path = folder.join(entry.file_name());
        let is_table = path.extension().is_some_and(|ending| ending == "parquet");
        match entry.path().is_dir() {
            true if !path.ends_with("load") => found.extend(tables(run, &path)),
            _ if is_table => found.push(path),
            _ => {}
        }
    }
    found.sort();
    found
}

fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("a file has a folder")).expect("there is room");
    fs::write(path, bytes).expect("there is room");
}

/// `whole` with a bit, some bytes or a stretch of it changed, gone or doubled.
fn changed(whole: &[u8], draws: &mut Draws) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let at = draws.below(bytes.len().max(1) as u64) as usize;
    let end = (at + 1 + draws.below(64) as usize).min(bytes.len());
    match draws.below(7) {
        0..=2 => bytes[at] ^= 1 << draws.below(8),
        3 => bytes.truncate(at),
        4 => drop(bytes.drain(at..end)),
        5 => {
            let fill = [0, 0xFF, draws.bits() as u8][draws.below(3) as usize];
            bytes[at..end].fill(fill);
        }
        _ => {
            let stretch = bytes[at..end].to_vec();
            let to = draws.below(bytes.len() as u64) as usize;
            bytes.splice(to..to, stretch);
        }
    }
    bytes
}
