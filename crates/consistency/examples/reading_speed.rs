//! Speed at which foreign histories are read: `cargo run --release --example reading_speed`.
//!
//! With the name of a file: the memory that reading and judging it take, in bytes per transaction
//! and to the length of the file.

use std::time::Instant;

use assay_consistency::foreign::{
    ElleFormat, ForeignFormat, read_foreign_history, write_transactions,
};
use assay_consistency::{
    ClockError, ObservedTransaction, TransactionHistory, TransactionStep, WrittenValue, register,
    transaction,
};
use assay_model::{Nanos, Outcome, Seed};

const TRANSACTIONS: u64 = 300_000;
/// Elements after which a key is full, as in Elle's workload.
const ELEMENTS: u64 = 32;

fn main() {
    if let Some(name) = std::env::args().nth(1) {
        return measure_memory(&name);
    }
    let history = history();
    for (name, format, written) in [
        ("edn", ForeignFormat::JepsenEdn, ElleFormat::Edn),
        ("json", ForeignFormat::JepsenJson, ElleFormat::JsonLines),
    ] {
        let mut text = Vec::new();
        let start = Instant::now();
        write_transactions(&history, &[], written, &mut text).expect("a vector takes it");
        let megabytes = text.len() as f64 / 1e6;
        println!("write {name} {megabytes:.0} MB: {:.0} MB/s", megabytes / elapsed(start));
        measure(name, format, &text);
    }
    let text: String = (0..4 * TRANSACTIONS)
        .map(|step| format!("w({},{},{},{})\n", step % 1000, step + 1, step / 4 % 16, step / 4))
        .collect();
    measure("awdit", ForeignFormat::Awdit, text.as_bytes());
}

fn measure(name: &str, format: ForeignFormat, text: &[u8]) {
    let start = Instant::now();
    let history =
        read_foreign_history(text, Some(format), &mut |_| {}).expect("the text is a history");
    let seconds = elapsed(start);
    let transactions = history.transactions.transactions.len() as f64;
    println!(
        "read {name} {:.0} MB: {:.0} MB/s, {:.2} M transactions/s",
        text.len() as f64 / 1e6,
        text.len() as f64 / 1e6 / seconds,
        transactions / 1e6 / seconds
    );
}

/// Memory while a file is read, and at most until it was judged.
fn measure_memory(name: &str) {
    let file = std::fs::File::open(name).expect("the file is there");
    let bytes = file.metadata().expect("it has a length").len() as f64;
    let start = Instant::now();
    let history = read_foreign_history(file, None, &mut |_| {}).expect("it is a history");
    let (seconds, read, most_read) = (elapsed(start), resident("VmRSS:"), resident("VmHWM:"));
    let judged = history.transactions.transactions.len();
    if !history.registers.operations.is_empty() {
        drop(register::judge(&history.registers, &ClockError::NONE));
    }
    drop(transaction::judge(&history.transactions, &ClockError::NONE));
    let most = resident("VmHWM:");
    let each = |memory: f64| memory / judged.max(1) as f64;
    println!(
        "{name}: {:.0} MB in {seconds:.1} s, {judged} transactions; read: {:.0} MB (at most {:.0} \
         MB), {:.0} bytes each; judged: at most {:.0} MB, {:.0} bytes each, {:.2} times what was \
         read, {:.2} times the file",
        bytes / 1e6,
        read / 1e6,
        most_read / 1e6,
        each(read),
        most / 1e6,
        each(most),
        most / read,
        most / bytes
    );
}

/// A line of the memory in `/proc/self/status`, in bytes.
fn resident(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|text| text.starts_with(line));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) * 1024.0
}

fn elapsed(start: Instant) -> f64 {
    start.elapsed().as_secs_f64()
}

/// Appends and whole reads of lists that grow to [`ELEMENTS`], two steps per transaction.
fn history() -> TransactionHistory {
    let mut draws = Seed(1).draws(1, 0);
    let transactions = (0..TRANSACTIONS).map(|index| {
        let (key, element) = (index / ELEMENTS, 1 + index % ELEMENTS);
        let elements = (1..=draws.below(element + 1)).map(WrittenValue).collect();
        ObservedTransaction {
            node: 0,
            index,
            session: (index % 16) as u32,
            agent: 0,
            started: Nanos(index * 1_000),
            ended: Nanos(index * 1_000 + 15_500),
            outcome: Outcome::Done,
            steps: vec![
                TransactionStep::Append { key, element: WrittenValue(element) },
                TransactionStep::ReadList { key, elements: Some(elements) },
            ],
        }
    });
    TransactionHistory { transactions: transactions.collect() }
}
