//! Cost of keeping, sealing, reading one record, at three lengths of a run.
//!
//! Records are like those of YCSB A in open loop on one worker: one million arrivals a second with
//! exponential gaps, scrambled zipfian keys, half reads of 1000 bytes, half updates of 100, reads
//! that see the newest version. Times are CPU time of the threads that did the work, so that
//! neighbours on the machine do not enter. Each line is `bench <name> <size> <value> <unit>`.

use std::path::{Path, PathBuf};

use assay_history::block::{self, Place, RunTag};
use assay_history::{Columns, History, Memory, RunDir};
use assay_model::seed::mix;
use assay_model::{Ends, Kind, Nanos, Phase, Record, Seed, version};
use rustix::time::{ClockId, clock_gettime};

const MILLION: u64 = 1_000_000;
/// Length of the run and records of the store, growing together.
const SIZES: [(u64, u64); 3] =
    [(MILLION, 100_000), (5 * MILLION, 300_000), (20 * MILLION, 1_000_000)];
/// Records of one in-memory stretch; longer runs repeat its shape with later numbers.
const STRETCH: u64 = MILLION;

fn main() {
    let dir = scratch();
    for (count, keys) in SIZES {
        let size = format!("{}M", count / MILLION);
        let report = |name: &str, value: f64, unit: &str| {
            println!("bench {name} {size} {value:.2} {unit}");
        };
        let records = ycsb_a(STRETCH, keys);
        report("history_encode", encode(&records), "M/s/core");
        for _ in 0..3 {
            report("history_push", push(&dir, count), "ns");
        }
        for _ in 0..3 {
            run(&dir, &records, count, &report);
        }
    }
    std::fs::remove_dir_all(&dir).expect("the scratch directory is ours");
}

/// Pushes, seals, reads `count` records.
fn run(dir: &Path, records: &[Record], count: u64, report: &impl Fn(&str, f64, &str)) {
    let _ = std::fs::remove_dir_all(dir);
    let mut run_dir = RunDir::create(dir).expect("a fresh directory");
    let (writer, mut sinks) = run_dir.writer(1, Memory::default()).expect("an empty run directory");
    let mut sink = sinks.remove(0);
    for round in 0..count / STRETCH {
        for record in records {
            sink.push(shifted(record, round));
        }
    }
    let stalls = sink.stalls();
    drop(sink);
    let written = writer.finish().expect("room on the disk");
    report("history_stalls", stalls as f64, "stalls");
    report("history_blocks", written.bytes as f64 / count as f64, "bytes/record");

    let start = clock(ClockId::ThreadCPUTime);
    let sealed = run_dir.seal(0, &[]).expect("room on the disk");
    let sealing = clock(ClockId::ThreadCPUTime) - start;
    assert_eq!(sealed.records(), count);
    report("history_seal", count as f64 / sealing / 1e6, "M/s/core");
    report("history_sealed", sealed.bytes() as f64 / count as f64, "bytes/record");

    for (name, columns) in [("latency", Columns::LATENCY), ("all", Columns::ALL)] {
        let mut history = History::open(dir).expect("just sealed");
        let (mut observed, mut sum) = (0, 0);
        let start = clock(ClockId::ThreadCPUTime);
        history
            .each_batch(columns, |batch| {
                observed += batch.records.len() as u64;
                sum += batch.records.iter().map(|record| record.response().0).sum::<u64>();
            })
            .expect("just sealed");
        let reading = clock(ClockId::ThreadCPUTime) - start;
        assert!(observed == count && sum > 0);
        report(&format!("history_read_{name}"), count as f64 / reading / 1e6, "M/s/core");
    }
}

/// Nanoseconds that keeping one record adds to a worker which does 100 ns of other work for each.
///
/// Without that work the worker would be faster than the writing thread, which no executor is.
fn push(dir: &Path, count: u64) -> f64 {
    let _ = std::fs::remove_dir_all(dir);
    let (writer, mut sinks) =
        assay_history::Writer::start(dir, 1, RunTag::default(), Memory::default())
            .expect("a fresh directory");
    let mut sink = sinks.remove(0);
    let alone = worker(count, |record| {
        std::hint::black_box(&record);
    });
    let keeping = worker(count, |record| sink.push(record));
    drop(sink);
    writer.finish().expect("room on the disk");
    (keeping - alone) / count as f64 * 1e9
}

/// Thread CPU seconds of a loop that works a little, then keeps a record.
fn worker(count: u64, mut keep: impl FnMut(Record)) -> f64 {
    let start = clock(ClockId::ThreadCPUTime);
    let mut state = 1;
    for index in 0..count {
        for _ in 0..20 {
            state = mix(state);
        }
        let time = index * 100 + (state & 63);
        keep(Record {
            index,
            process: index,
            key: state >> 40,
            intended: Nanos(time),
            started: Nanos(time + (state >> 8 & 15)),
            ended: Nanos(time + 90 + (state >> 16 & 31)),
            kind: if state & 1 == 0 { Kind::Read } else { Kind::Update },
            bytes: 1000,
            found: true,
            ..Record::BLANK
        });
    }
    clock(ClockId::ThreadCPUTime) - start
}

/// Millions of records per second that one core turns into blocks.
fn encode(records: &[Record]) -> f64 {
    let mut bytes = Vec::new();
    let start = clock(ClockId::ThreadCPUTime);
    let mut total = 0;
    for chunk in records.chunks(assay_history::writer::CHUNK_RECORDS) {
        block::encode(
            Place { worker: 0, sequence: 0, first: 0, run: RunTag::default() },
            chunk,
            &mut bytes,
        );
        total += bytes.len();
    }
    assert!(total > records.len());
    records.len() as f64 / (clock(ClockId::ThreadCPUTime) - start) / 1e6
}

fn shifted(record: &Record, round: u64) -> Record {
    let (steps, time) = (round * STRETCH, round * STRETCH * 1000);
    Record {
        index: record.index + steps,
        process: record.process + steps,
        intended: Nanos(record.intended.0 + time),
        started: Nanos(record.started.0 + time),
        ended: Nanos(record.ended.0 + time),
        version_written: match record.version_written {
            version::NONE => version::NONE,
            version => version + steps,
        },
        ..*record
    }
}

/// YCSB A in open loop, in the order of completion.
fn ycsb_a(count: u64, keys: u64) -> Vec<Record> {
    let zipf = Zipf::new(keys);
    let mut newest: Vec<u64> = (0..keys).map(version::loaded).collect();
    let mut intended = 0;
    let mut records: Vec<Record> = (0..count)
        .map(|index| {
            let mut draws = Seed(11).draws(2, index);
            intended += (-1000.0 * (1.0 - draws.unit()).ln()) as u64;
            let started = intended + 200 + (-300.0 * (1.0 - draws.unit()).ln()) as u64;
            let service = 8_000.0 + 6_000.0 * (draws.unit() + draws.unit() + draws.unit());
            let writes = draws.below(2) == 1;
            let key = mix(zipf.rank(draws.unit())) % keys;
            let read = newest[key as usize];
            if writes {
                newest[key as usize] = version::written(index);
            }
            Record {
                index,
                process: index,
                key,
                intended: Nanos(intended),
                started: Nanos(started),
                ended: Nanos(started + service as u64),
                version_written: if writes { version::written(index) } else { version::NONE },
                version_read: if writes { version::NONE } else { read },
                session: (index % 16) as u32,
                bytes: if writes { 100 } else { 1000 },
                rows: u32::from(!writes),
                ends: Ends::Transaction,
                kind: if writes { Kind::Update } else { Kind::Read },
                phase: Phase::Measure,
                found: true,
                ..Record::BLANK
            }
        })
        .collect();
    records.sort_by_key(|record| record.ended);
    records
}

/// Zipfian ranks by the method of Gray et al., "Quickly generating billion-record synthetic
/// databases", SIGMOD 1994, with YCSB's constant 0.99.
struct Zipf {
    keys: f64,
    zeta: f64,
    alpha: f64,
    eta: f64,
}

impl Zipf {
    const THETA: f64 = 0.99;

    fn new(keys: u64) -> Zipf {
        let zeta = |n: u64| (1..=n).map(|i| (i as f64).powf(-Zipf::THETA)).sum::<f64>();
        let (all, keys) = (zeta(keys), keys as f64);
        let eta = (1.0 - (2.0 / keys).powf(1.0 - Zipf::THETA)) / (1.0 - zeta(2) / all);
        Zipf { keys, zeta: all, alpha: 1.0 / (1.0 - Zipf::THETA), eta }
    }

    fn rank(&self, unit: f64) -> u64 {
        match unit * self.zeta {
            scaled if scaled < 1.0 => 0,
            scaled if scaled < 1.0 + 0.5f64.powf(Zipf::THETA) => 1,
            _ => (self.keys * (self.eta * unit - self.eta + 1.0).powf(self.alpha)) as u64,
        }
    }
}

fn clock(id: ClockId) -> f64 {
    let time = clock_gettime(id);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn scratch() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/history-bench");
    root.join(std::process::id().to_string())
}
