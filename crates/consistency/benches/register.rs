//! Benchmark of the checkers of single records, at three sizes, on uniform and skewed keys.
//!
//! `prepare` sorts and resolves once for all; each checker is timed alone on what that gives, and
//! `judge` is all of it. Histories are linearizable: 64 sessions, half of their operations writes;
//! `judge-stale` has 64 records of which every second read is served by a replica that lags behind
//! by up to a thousand operations, so that nearly every value is in some conflict.
//! `peer-porcupine` asks porcupine for the linearizability of the uniform history, record by
//! record, at the smaller two sizes: on a skewed one it takes for ever.
//! Times are those that the thread had a core, where Linux tells them: the checkers use one core,
//! and what else the machine does is not theirs. Arguments that name sizes or the beginnings of
//! cases leave out the others: `cargo bench -p assay-consistency --bench register -- sessions 4M`.

mod thread_time;

use std::hint::black_box;
use std::time::Instant;

use assay_consistency::register::{
    judge, judge_atomicity, judge_lost_writes, judge_sessions, judge_zones, measure_staleness,
    prepare,
};
use assay_consistency::{
    Access, ClockError, QualityVerdict, RegisterHistory, RegisterOperation, WrittenValue,
};
use assay_model::{Nanos, Outcome, Seed};
use porcupine_rs::{Model, Operation, check_operations};

use crate::thread_time::seconds;

const SIZES: [(&str, u64); 3] = [("1M", 1 << 20), ("4M", 1 << 22), ("16M", 1 << 24)];
const KEYS: u64 = 100_000;
const SESSIONS: u64 = 64;
/// Repetitions of each size; the best is printed, as the machine is seldom alone.
const REPETITIONS: usize = 3;

/// How often the lagging replica takes over what it has missed.
const LAG: u64 = 1_000;
const STALE_KEYS: u64 = 64;

/// A key, uniformly or with the weight of rank *r* falling as 1/r, as with Zipf's law.
fn key(is_skewed: bool, unit: f64) -> u64 {
    let place = if is_skewed { (KEYS as f64).powf(unit) - 1.0 } else { unit * KEYS as f64 };
    (place as u64).min(KEYS - 1)
}

/// A history of few records with a replica that lags behind.
fn stale_history(size: u64) -> RegisterHistory {
    let mut history = history(false, size);
    let mut states = [[WrittenValue::ABSENT; STALE_KEYS as usize]; 2];
    let mut in_turn: Vec<usize> = (0..history.operations.len()).collect();
    in_turn.sort_by_key(|place| history.operations[*place].index);
    for place in in_turn {
        let operation = &mut history.operations[place];
        operation.key %= STALE_KEYS;
        let key = operation.key as usize;
        if operation.index.is_multiple_of(LAG) {
            states[1] = states[0];
        }
        match &mut operation.access {
            Access::Read(value) => *value = states[(operation.index / 64 % 2) as usize][key],
            Access::Write(value) | Access::ReadThenWrite { written: value, .. } => {
                states[0][key] = *value;
            }
        }
    }
    history
}

/// Sessions take turns; an operation takes effect in its middle, when the next session's begins.
fn history(is_skewed: bool, size: u64) -> RegisterHistory {
    let mut state = vec![WrittenValue::ABSENT; KEYS as usize];
    let operation = |index: u64| {
        let mut draws = Seed(7).draws(1, index);
        let key = key(is_skewed, draws.unit());
        let current = &mut state[key as usize];
        let access = if draws.below(2) == 0 {
            Access::Read(*current)
        } else {
            *current = WrittenValue((1 << 47) + index);
            Access::Write(*current)
        };
        let middle = 100_000 + index * 1_000;
        RegisterOperation {
            node: 0,
            index,
            key,
            session: (index % SESSIONS) as u32,
            agent: 0,
            started: Nanos(middle - draws.below(31_000)),
            ended: Nanos(middle + draws.below(31_000)),
            outcome: Outcome::Done,
            access,
        }
    };
    let mut operations: Vec<RegisterOperation> = (0..size).map(operation).collect();
    operations.sort_by_key(|operation| operation.started);
    RegisterHistory {
        operations,
        has_final_reads: true,
        writes_whole_records: true,
        ..RegisterHistory::default()
    }
}

/// A register for porcupine.
#[derive(Clone)]
struct Register;

impl Model for Register {
    type State = u64;
    type Op = (bool, u64);
    type Metadata = ();

    fn init() -> u64 {
        WrittenValue::ABSENT.0
    }

    fn step(state: &u64, &(is_write, value): &(bool, u64)) -> (bool, u64) {
        if is_write { (true, value) } else { (*state == value, *state) }
    }
}

/// The operations of each record as porcupine takes them.
fn by_record(history: &RegisterHistory) -> Vec<Vec<Operation<Register>>> {
    let mut records: Vec<Vec<Operation<Register>>> = (0..KEYS).map(|_| Vec::new()).collect();
    for one in &history.operations {
        let op = match one.access {
            Access::Read(value) => (false, value.0),
            Access::Write(value) | Access::ReadThenWrite { written: value, .. } => (true, value.0),
        };
        records[one.key as usize].push(Operation {
            client_id: None,
            call_time: one.started.0 as i64,
            return_time: one.ended.0 as i64,
            op,
            metadata: None,
        });
    }
    records
}

/// The arguments that are no options.
fn words() -> Vec<String> {
    std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect()
}

/// The best speed of several runs, unless the arguments name other cases.
fn bench(name: &str, (label, size): (&str, u64), mut run: impl FnMut()) {
    let words = words();
    let mut names = words.iter().filter(|word| SIZES.iter().all(|size| size.0 != *word)).peekable();
    if names.peek().is_some() && !names.any(|wanted| name.starts_with(wanted.as_str())) {
        return;
    }
    let clock = Instant::now();
    let mut best = f64::MAX;
    for _ in 0..REPETITIONS {
        let begin = seconds(clock);
        run();
        best = best.min(seconds(clock) - begin);
    }
    println!("bench {name} {label} {:.1} Mops/s", size as f64 / best / 1e6);
}

fn main() {
    let words = words();
    let is_size = |label: &str| words.iter().any(|word| word == label);
    let has_sizes = SIZES.iter().any(|size| is_size(size.0));
    for size in SIZES.into_iter().filter(|size| !has_sizes || is_size(size.0)) {
        for (keys, is_skewed) in [("uniform", false), ("skewed", true)] {
            let history = history(is_skewed, size.1);
            let named = |checker: &str| format!("{checker}-{keys}");
            let none = ClockError::NONE;
            bench(&named("prepare"), size, || drop(black_box(prepare(&history, &none))));
            let prepared = prepare(&history, &none);
            let violated =
                |verdict: &QualityVerdict| matches!(verdict, QualityVerdict::Violated(_));
            bench(&named("zones"), size, || {
                let atomicity = black_box(judge_zones(&prepared));
                assert!(atomicity.findings.iter().all(|finding| !violated(&finding.verdict)));
            });
            bench(&named("sessions"), size, || drop(black_box(judge_sessions(&prepared))));
            bench(&named("staleness"), size, || drop(black_box(measure_staleness(&prepared))));
            bench(&named("lost-writes"), size, || drop(black_box(judge_lost_writes(&prepared))));
            drop(prepared);
            bench(&named("linearizability"), size, || {
                drop(black_box(judge_atomicity(&history, &none)));
            });
            bench(&named("judge"), size, || drop(black_box(judge(&history, &none))));
            if !is_skewed && size.1 < SIZES[2].1 {
                let records = by_record(&history);
                bench("peer-porcupine-uniform", size, || {
                    assert!(records.iter().all(|operations| check_operations(operations)));
                });
            }
        }
        let history = stale_history(size.1);
        bench("judge-stale", size, || drop(black_box(judge(&history, &ClockError::NONE))));
    }
}
