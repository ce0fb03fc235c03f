//! Differential campaign of the judgement of transactions: `… [COUNT [FIRST]]`.
//!
//! Each history of a small transaction engine is judged by us, by `adya`, by trying all orders, by
//! the axioms of weak levels, and once more with other names and with wider times.

mod brute;
mod campaign;
mod converted;
mod engine;
mod foreign;

use std::process::ExitCode;

fn main() -> ExitCode {
    let argument = |at| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let (count, first) = (argument(1).unwrap_or(1_000_000), argument(2).unwrap_or(0));
    let mut counts = campaign::Counts::default();
    for number in first..first + count {
        counts.compare(campaign::spread(number));
    }
    println!("{} histories", counts.histories);
    for (oracle, (compared, violated)) in &counts.compared {
        println!("{oracle}: {compared} verdicts compared, {violated} of them violations");
    }
    println!("not tried, too many orders: {}", counts.skipped);
    for (difference, count) in &counts.differences {
        println!("known difference {difference:?}: {count}");
    }
    println!("disagreements: {}", counts.disagreements.len());
    for disagreement in counts.disagreements.iter().take(20) {
        println!("  {disagreement}");
    }
    if counts.disagreements.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
