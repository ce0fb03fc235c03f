//! Speed of generating a workload in memory, on one core.
//!
//! Prints `bench <name> <size> <value> <unit>`; the size is the number of records. What is
//! counted: numbers only (`fill`), or numbers with the bytes of keys or values (`encoder`). Nothing
//! is stored or sent, so these are the upper bounds of every run of a workload.

use std::hint::black_box;
use std::time::Instant;

use assay_model::{Fields, Filled, Operation, Seed};
use assay_workload::{Plan, PlanPhase, builtin};

const SIZES: [u64; 3] = [100_000, 1_000_000, 10_000_000];
const OPERATIONS: u64 = 1_000_000;
const REPETITIONS: usize = 15;

fn main() {
    for name in ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"] {
        for records in SIZES {
            let plan = plan(name, records, PlanPhase::Run);
            report(&format!("{name}-fill"), records, || fill(&plan, 1));
            report(&format!("{name}-fill-one-of-7-workers"), records, || fill(&plan, 7));
        }
    }
    for records in SIZES {
        let plan = plan("ycsb-a", records, PlanPhase::Run);
        report("ycsb-a-fill-render", records, || encoder(&plan));
        report("ycsb-a-key", records, || keys(&plan));
        report("ycsb-a-value", records, || values(&plan));
    }
    for records in SIZES {
        let plan = plan("ycsb-a", records, PlanPhase::Load);
        report("load-fill-render", records, || encoder(&plan));
    }
    for records in SIZES {
        let started = Instant::now();
        black_box(plan("ycsb-d", records, PlanPhase::Run));
        let millis = started.elapsed().as_secs_f64() * 1e3;
        println!("bench ycsb-d-plan {records} {millis:.1} ms");
    }
}

fn plan(name: &str, records: u64, phase: PlanPhase) -> Plan {
    let entry = builtin::find(name).expect("the built-in workloads has this workload");
    let mut spec = entry.spec().expect("the built-in workloads is right");
    spec.dataset.records = records;
    spec.operations.count = Some(OPERATIONS * 8);
    spec.keys.expected_inserts = (name == "ycsb-e").then_some(records / 10);
    Plan::new(&spec, Seed(1), phase).expect("the built-in workloads is right")
}

/// Runs `work`, which gives the number of operations it did, and prints the median rate.
fn report(name: &str, records: u64, mut work: impl FnMut() -> u64) {
    let mut rates: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let started = Instant::now();
            work() as f64 / started.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    println!("bench {name} {records} {:.0} operations/s", rates[REPETITIONS / 2]);
}

/// Draws every `workers`-th process, as one of so many workers does.
fn fill(plan: &Plan, workers: u64) -> u64 {
    let mut source = plan.source();
    let (mut operations, mut done, mut sum) = (Vec::new(), 0, 0u64);
    for process in (0..OPERATIONS).step_by(workers as usize) {
        let filled = source.fill(process, &mut operations).expect("a plan is no file");
        assert_eq!(filled, Filled::Process);
        for operation in &operations {
            sum = sum.wrapping_add(operation.key ^ u64::from(operation.bytes));
            done += 1;
        }
    }
    black_box(sum);
    done
}

/// Renders the keys of scattered records.
fn keys(plan: &Plan) -> u64 {
    let (bytes, mut buffer) = (plan.encoder(), Vec::new());
    for number in 0..OPERATIONS {
        buffer.clear();
        bytes.key(number, &mut buffer);
        black_box(&buffer);
    }
    OPERATIONS
}

/// Renders values of 100 bytes, one for each operation.
fn values(plan: &Plan) -> u64 {
    let (bytes, mut buffer) = (plan.encoder(), Vec::new());
    let (mut source, mut operations) = (plan.source(), Vec::new());
    source.fill(0, &mut operations).expect("a plan is no file");
    for index in 0..OPERATIONS {
        buffer.clear();
        bytes.value(&Operation { index, ..operations[0] }, (index % 10) as u16, &mut buffer);
        black_box(&buffer);
    }
    OPERATIONS
}

/// Turns every operation into the bytes that a store would see.
fn encoder(plan: &Plan) -> u64 {
    let (mut source, bytes) = (plan.source(), plan.encoder());
    let (mut operations, mut buffer): (Vec<Operation>, Vec<u8>) = (Vec::new(), Vec::new());
    let (mut done, mut sum) = (0, 0);
    let fields = plan.layout().tables[0].fields.len() as u16;
    for process in 0..OPERATIONS.min(plan.len().unwrap_or(OPERATIONS)) {
        source.fill(process, &mut operations).expect("a plan is no file");
        for operation in &operations {
            buffer.clear();
            bytes.key(operation.key, &mut buffer);
            match operation.fields {
                _ if !operation.kind.writes() => {}
                Fields::One(field) => bytes.value(operation, field, &mut buffer),
                Fields::All | Fields::Named => {
                    (0..fields).for_each(|field| bytes.value(operation, field, &mut buffer));
                }
            }
            sum += buffer.len();
            black_box(&buffer);
            done += 1;
        }
    }
    black_box(sum);
    done
}
