//! Figures of the trace file: making, size, reading.

use std::time::Instant;

use assay_model::{
    Fields, Filled, Kind, Layout, Nanos, Operation, Phase, Seed, Source, SourceError, Table,
};
use assay_trace::{Header, StatOptions, Trace, TraceWriter};

/// YCSB-A's shape without its cost: half reads, half updates of one of ten fields, zipf-like keys.
struct Synthetic {
    processes: u64,
    records: u64,
}

impl Source for Synthetic {
    fn len(&self) -> Option<u64> {
        Some(self.processes)
    }

    fn width(&self) -> u64 {
        1
    }

    #[inline]
    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        into.clear();
        if process >= self.processes {
            return Ok(Filled::End);
        }
        let mut draws = Seed(1).draws(1, process);
        // The inverse of the continuous distribution 1/x over 1..records: a zipf of exponent 1.
        let rank = (self.records as f64).powf(draws.unit()) as u64;
        let key = assay_model::seed::mix(rank) % self.records;
        let is_read = draws.bits() & 1 == 0;
        into.push(Operation {
            index: process,
            key,
            kind: if is_read { Kind::Read } else { Kind::Update },
            fields: if is_read { Fields::All } else { Fields::One(draws.below(10) as u16) },
            limit: 1,
            bytes: if is_read { 0 } else { 100 },
            statement: 0,
            transaction: 0,
            transaction_type: 0,
            ends_transaction: true,
            think: Nanos::ZERO,
        });
        Ok(Filled::Process)
    }
}

fn header() -> Header {
    Header {
        spec: "a synthetic YCSB-A".to_owned(),
        seed: Seed(1),
        phase: Phase::Measure,
        width: 1,
        transaction_types: vec!["operation".to_owned()],
        layout: Layout {
            tables: vec![Table {
                name: "usertable".to_owned(),
                fields: (0..10).map(|field| format!("field{field}")).collect(),
                needs_key_order: false,
            }],
            records: 1_000_000,
        },
        generator: "bench".to_owned(),
        part: None,
        script: None,
    }
}

fn show(name: &str, size: u64, value: f64, unit: &str) {
    println!("bench {name} {size} {value:.3} {unit}");
}

/// Processor time of this thread in seconds, or wall-clock time where the system does not tell.
fn spent(start: Instant) -> f64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = schedule.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(|| start.elapsed().as_secs_f64(), |nanos| nanos / 1e9)
}

/// The median rate of three repetitions of `work`, in millions of operations per second of
/// processor time, so that other load on the machine does not count.
fn rate(size: u64, mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut rates: Vec<f64> = (0..3)
        .map(|_| {
            let before = spent(start);
            work();
            size as f64 / (spent(start) - before) / 1e6
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[1]
}

fn main() {
    let directory = std::env::temp_dir().join(format!("assay-trace-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("the temporary directory can be written");
    let path = directory.join("bench.trace");
    for size in [1_000_000, 5_000_000, 20_000_000] {
        measure(&path, size);
    }
    std::fs::remove_dir_all(&directory).expect("what was created can be removed");
}

fn measure(path: &std::path::Path, size: u64) {
    let mut source = Synthetic { processes: size, records: 1_000_000 };
    let mut operations = Vec::new();
    let bare = rate(size, || {
        for process in 0..size {
            source.fill(process, &mut operations).expect("a synthetic source cannot fail");
            std::hint::black_box(&operations);
        }
    });
    show("trace-source-alone", size, bare, "Mops/s");
    let made = rate(size, || {
        let mut writer = TraceWriter::create(path, header()).expect("the file can be created");
        writer.write(&mut source, 0..size).expect("a synthetic source obeys the rules");
        writer.finish().expect("the disk has room");
    });
    show("trace-generate-to-file", size, made, "Mops/s");
    let trace = Trace::open(path).expect("it was just written");
    let description = trace.describe();
    show("trace-size", size, description.bytes_per_operation(), "bytes/op");
    for (column, bytes) in &description.columns {
        show(&format!("trace-size-{column}"), size, *bytes as f64 / size as f64, "bytes/op");
    }
    let filled = rate(size, || {
        let mut source = trace.source().expect("it was just written");
        for process in 0..size {
            source.fill(process, &mut operations).expect("it was just written");
            std::hint::black_box(&operations);
        }
    });
    show("trace-read", size, filled, "Mops/s");
    let verified = rate(size, || {
        trace.verify().expect("it was just written");
    });
    show("trace-verify", size, verified, "Mops/s");
    let counted = rate(size, || {
        trace.stat(StatOptions::default()).expect("it was just written");
    });
    show("trace-stat", size, counted, "Mops/s");
}
