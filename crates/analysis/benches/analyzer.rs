//! Benchmark of the analyzer, then of the hallmark's validator, at three sizes.

use std::hint::black_box;
use std::time::Instant;

use assay_analysis::hallmark::{CheckId, Evidence, ExpectedArrivals, Gaps, Thresholds, Validator};
use assay_analysis::{AnalysisOptions, Analyzer, LoadModel, Window};
use assay_model::{Ends, Kind, Nanos, Phase, Record, Seed, version};

/// Records are made in batches of this many beforehand, as a history's reader would give them.
const BATCH: usize = 4096;
/// Repetitions of each size; the median is printed.
const REPETITIONS: usize = 5;

fn record(index: u64, at: u64) -> Record {
    let mut draws = Seed(7).draws(1, index);
    let lag = 200 + draws.below(2_000);
    // A body of 20–84 µs with a tail over six octaves.
    let service = (20_000 + draws.below(64_000)) << (draws.bits().leading_zeros().min(6));
    let is_read = draws.below(2) == 0;
    Record {
        index,
        process: index,
        key: draws.below(1_000_000),
        intended: Nanos(at),
        started: Nanos(at + lag),
        ended: Nanos(at + lag + service),
        version_written: if is_read { version::NONE } else { version::written(index) },
        version_read: if is_read { version::loaded(3) } else { version::NONE },
        session: (index % 64) as u32,
        bytes: if is_read { 1000 } else { 100 },
        rows: u32::from(is_read),
        ends: Ends::Both,
        kind: if is_read { Kind::Read } else { Kind::Update },
        phase: Phase::Measure,
        found: true,
        ..Record::BLANK
    }
}

/// YCSB A: half reads, half updates, 100 k/s.
fn workload_a(size: u64) -> Vec<Record> {
    (0..size).map(|index| record(index, index * 10_000)).collect()
}

/// Two operations in each transaction, 64 of which are open at any time.
fn read_modify_writes(size: u64) -> Vec<Record> {
    let pair = |place: u64| {
        let (block, half, within) = (place / 128, place % 128 / 64, place % 64);
        Record {
            process: block * 64 + within,
            transaction_type: 1,
            ends: Ends::of(half == 1, true),
            kind: if half == 0 { Kind::Read } else { Kind::Update },
            ..record(place, place * 10_000)
        }
    };
    (0..size).map(pair).collect()
}

/// The same records moved on in time, so that a long history needs little memory here.
struct Tape {
    records: Vec<Record>,
    length: u64,
    width: u64,
}

impl Tape {
    /// Gives `size` records to `push`, in batches that are in the cache, as a decoder leaves them;
    /// returns the seconds that it took.
    fn each_batch(&self, size: u64, mut push: impl FnMut(&[Record])) -> f64 {
        let mut batch: Vec<Record> = Vec::with_capacity(BATCH);
        let mut spent = 0.0;
        for begin in (0..size).step_by(BATCH) {
            batch.clear();
            for place in begin..size.min(begin + BATCH as u64) {
                batch.push(self.at(place));
            }
            let clock = Instant::now();
            push(black_box(&batch));
            spent += clock.elapsed().as_secs_f64();
        }
        spent
    }

    fn options(&self, size: u64) -> AnalysisOptions {
        let rounds = size.div_ceil(self.records.len() as u64);
        let window = Window { from: Nanos::ZERO, until: Nanos(rounds * self.length) };
        let types = vec!["operation".into(), "read-modify-write".into()];
        let load = LoadModel::Open { rate: Some(100_000.0), limit: None };
        AnalysisOptions {
            transaction_types: types,
            window: Some(window),
            load,
            ..AnalysisOptions::default()
        }
    }

    /// Seconds to analyze `size` records.
    fn analyze(&self, size: u64) -> f64 {
        let mut analyze = Analyzer::new(AnalysisOptions { window: None, ..self.options(size) });
        let spent = self.each_batch(size, |batch| analyze.push(batch));
        let clock = Instant::now();
        assert_eq!(black_box(analyze.finish()).overall.counts.offered, size);
        spent + clock.elapsed().as_secs_f64()
    }

    /// Seconds to validate them for the hallmark, in addition to the analysis.
    fn examine(&self, size: u64) -> f64 {
        let mut analyze = Analyzer::new(self.options(size));
        self.each_batch(size, |batch| analyze.push(batch));
        let summary = analyze.finish();
        let mut validator = Validator::new(self.options(size), Thresholds::default());
        let spent = self.each_batch(size, |batch| validator.push(batch));
        let arrivals = Some(ExpectedArrivals::steady(Gaps::Poisson));
        let clock = Instant::now();
        let evidence = Evidence { arrivals, ..Evidence::default() };
        assert_eq!(
            black_box(validator.finish(&summary, &evidence)).checks.len(),
            CheckId::ALL.len()
        );
        spent + clock.elapsed().as_secs_f64()
    }

    fn at(&self, place: u64) -> Record {
        let round = place / self.records.len() as u64;
        let moved = Nanos(round * self.length);
        let record = self.records[(place % self.records.len() as u64) as usize];
        Record {
            process: record.process + round * self.width,
            intended: record.intended + moved,
            started: record.started + moved,
            ended: record.ended + moved,
            ..record
        }
    }
}

fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

fn main() {
    let made = 1 << 18;
    let width = made;
    let length = made * 10_000;
    for (name, records) in [("ycsb-a", workload_a(made)), ("rmw", read_modify_writes(made))] {
        let tape = Tape { records, length, width };
        for size in [1_000_000, 5_000_000, 20_000_000] {
            let rate = |work: &dyn Fn(u64) -> f64| {
                let mut rates: Vec<f64> =
                    (0..REPETITIONS).map(|_| size as f64 / work(size) / 1e6).collect();
                rates.sort_by(f64::total_cmp);
                rates[REPETITIONS / 2]
            };
            let analyzed = rate(&|size| tape.analyze(size));
            println!("bench analyze/{name} {size} {analyzed:.1} M-records/s");
            println!("bench analyze/{name}-memory {size} {:.1} MiB", resident_mib());
            let examined = rate(&|size| tape.examine(size));
            println!("bench validator/{name} {size} {examined:.1} M-records/s");
        }
    }
}
