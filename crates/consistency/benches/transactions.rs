//! Benchmark of the judgement of transactions at three sizes, healthy and with violations.
//!
//! `peer-adya` asks adya for strict serializability of the healthy list-append history, at the
//! smaller two sizes; what it needs to read the history is not timed. Arguments that name cases
//! leave out the others and the peer. Times of ours are those that the thread had a core: the
//! judgement uses one, and what else the machine does is not its own.

#[path = "../examples/differential_transactions/converted.rs"]
mod converted;
mod thread_time;

use std::hint::black_box;
use std::time::Instant;

use adya::{Opts, Valid, Workload};
use assay_consistency::transaction::judge;
use assay_consistency::{
    ClockError, ObservedTransaction, Quality, TransactionHistory, TransactionStep, WrittenValue,
};
use assay_model::{Nanos, Outcome, Seed};

use crate::converted::converted;
use crate::thread_time::seconds;

/// Repetitions of each size; the median is printed.
const REPETITIONS: usize = 3;
/// Steps of a transaction.
const STEPS: u64 = 3;
/// Lists that are in use at a time.
const ACTIVE: u64 = 16;
/// Appends after which a list is replaced by a new one.
const APPENDS_MAX: usize = 32;
/// Sessions, each with one transaction at a time.
const SESSIONS: u64 = 64;

/// Lists in use, each with its number and its elements.
struct Lists {
    lists: Vec<(u64, Vec<WrittenValue>)>,
    next_key: u64,
    next_element: u64,
}

impl Lists {
    fn append(&mut self, place: usize) -> TransactionStep {
        if self.lists[place].1.len() == APPENDS_MAX {
            self.lists[place] = (self.next_key, Vec::new());
            self.next_key += 1;
        }
        self.next_element += 1;
        let (key, element) = (self.lists[place].0, WrittenValue(self.next_element));
        self.lists[place].1.push(element);
        TransactionStep::Append { key, element }
    }

    /// A read that sees the list as it is, or `late` elements less.
    fn read(&self, place: usize, late: usize) -> TransactionStep {
        let (key, list) = &self.lists[place];
        let elements = list[..list.len() - late.min(list.len())].to_vec();
        TransactionStep::ReadList { key: *key, elements: Some(elements) }
    }
}

/// Half reads, half appends, one after another; a few reads are late, one in `one_late_in`.
fn list_append(size: u64, one_late_in: u64) -> TransactionHistory {
    let lists = (0..ACTIVE).map(|key| (key, Vec::new())).collect();
    let mut lists = Lists { lists, next_key: ACTIVE, next_element: 0 };
    let mut transactions = Vec::with_capacity(size as usize);
    for index in 0..size {
        let mut draws = Seed(7).draws(1, index);
        let steps = (0..STEPS).map(|_| {
            let place = draws.below(ACTIVE) as usize;
            if draws.below(2) == 0 {
                lists.append(place)
            } else {
                let is_late = one_late_in > 0 && draws.below(one_late_in) == 0;
                lists.read(place, usize::from(is_late))
            }
        });
        let steps = steps.collect();
        // Each takes effect at the middle of its time, which overlaps with those of all sessions.
        let middle = Nanos((index + SESSIONS) * 1000);
        transactions.push(ObservedTransaction {
            node: 0,
            index,
            session: (index % SESSIONS) as u32,
            agent: 0,
            started: Nanos(middle.0 - SESSIONS * 490),
            ended: Nanos(middle.0 + SESSIONS * 490),
            outcome: Outcome::Done,
            steps,
        });
    }
    TransactionHistory { transactions }
}

/// Reads and writes of registers, each write behind a read of the same record, or blind.
fn registers(size: u64, is_blind: bool) -> TransactionHistory {
    const RECORDS: u64 = 10_000;
    let mut values = vec![WrittenValue::ABSENT; RECORDS as usize];
    let mut history = list_append(size, 0);
    for (transaction, index) in history.transactions.iter_mut().zip(0..) {
        let mut draws = Seed(8).draws(1, index);
        let (read, written) = (draws.below(RECORDS), draws.below(RECORDS));
        let value = |key: u64| Some(values[key as usize]);
        let mut steps = vec![TransactionStep::Read { key: read, value: value(read) }];
        if !is_blind {
            steps.push(TransactionStep::Read { key: written, value: value(written) });
        }
        let value = WrittenValue(index + 1);
        steps.push(TransactionStep::Write { key: written, value, version: None });
        values[written as usize] = value;
        transaction.steps = steps;
    }
    history
}

/// The rate at which adya judges so many transactions, once.
fn peer(size: u64) {
    let history = converted(&list_append(size, 0));
    let models = vec!["strict-serializable".to_owned()];
    let clock = Instant::now();
    let options = Opts { models, ..Opts::default() };
    let report = black_box(adya::check(&history, Workload::ListAppend, &options));
    let rate = size as f64 / clock.elapsed().as_secs_f64() / 1e6;
    assert_ne!(report.valid, Valid::False, "{:?}", report.anomaly_types);
    println!("bench peer-adya/list-append {size} {rate:.3} M-transactions/s");
}

fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

fn main() {
    type Make = fn(u64) -> TransactionHistory;
    let cases: [(&str, Make, bool); 4] = [
        ("list-append", |size| list_append(size, 0), false),
        ("list-append-late", |size| list_append(size, 1000), true),
        ("register-rmw", |size| registers(size, false), false),
        ("register-blind", |size| registers(size, true), false),
    ];
    let named: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_named = |name: &str| named.is_empty() || named.iter().any(|wanted| wanted == name);
    for (name, make, is_violated) in cases.into_iter().filter(|case| is_named(case.0)) {
        for size in [10_000, 100_000, 1_000_000] {
            let history = make(size);
            let (mut rates, clock) = (Vec::new(), Instant::now());
            for _ in 0..REPETITIONS {
                let begin = seconds(clock);
                let report = black_box(judge(&history, &ClockError::NONE));
                rates.push(size as f64 / (seconds(clock) - begin) / 1e6);
                assert_eq!(report.violates(Quality::StrictSerializable), is_violated);
            }
            rates.sort_by(f64::total_cmp);
            println!("bench judge/{name} {size} {:.2} M-transactions/s", rates[REPETITIONS / 2]);
            println!("bench judge/{name}-memory {size} {:.0} MiB", resident_mib());
        }
    }
    if named.is_empty() {
        [10_000, 100_000].into_iter().for_each(peer);
    }
}
