//! Speed at which foreign histories are read: `cargo run --release --example reading_speed`.

use std::time::Instant;

use assay_consistency::foreign::{
    ElleFormat, ForeignFormat, read_foreign_history, write_transactions,
};
use assay_consistency::{ObservedTransaction, TransactionHistory, TransactionStep, WrittenValue};
use assay_model::{Nanos, Outcome, Seed};

const TRANSACTIONS: u64 = 300_000;
/// Elements after which a key is full, as in Elle's workload.
const ELEMENTS: u64 = 32;

fn main() {
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
