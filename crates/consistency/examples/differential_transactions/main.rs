//! Differential campaign of the judgement of transactions: `differential_transactions [COUNT]`.
//!
//! Each history of a small transaction engine is judged by us, by `adya`, by trying all orders, by
//! the axioms of weak levels, and once more with other names and with wider times.

mod brute;
mod campaign;
mod engine;
mod foreign;

use std::process::ExitCode;

fn main() -> ExitCode {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok());
    let mut tally = campaign::Tally::default();
    for number in 0..count.unwrap_or(1_000_000) {
        tally.compare(campaign::spread(number));
    }
    println!("{} histories", tally.histories);
    for (oracle, (compared, violated)) in &tally.compared {
        println!("{oracle}: {compared} verdicts compared, {violated} of them violations");
    }
    println!("not tried, too many orders: {}", tally.skipped);
    for (difference, count) in &tally.differences {
        println!("known difference {difference:?}: {count}");
    }
    println!("disagreements: {}", tally.disagreements.len());
    for disagreement in tally.disagreements.iter().take(20) {
        println!("  {disagreement}");
    }
    if tally.disagreements.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
