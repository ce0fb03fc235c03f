//! Differential campaign of the judgement of transactions: `… [COUNT [FIRST]]`.
//!
//! Each history of a small transaction engine is judged by us, by `adya`, by trying all orders, by
//! the axioms of weak levels, and once more with other names and with wider times.

mod brute;
mod campaign;
mod engine;
mod foreign;

use std::process::ExitCode;

fn main() -> ExitCode {
    let argument = |at| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let (count, first) = (argument(1).unwrap_or(1_000_000), argument(2).unwrap_or(0));
    let mut tally = campaign::Tally::default();
    for number in first..first + count {
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
