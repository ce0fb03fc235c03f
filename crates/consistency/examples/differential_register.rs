//! Checkers of single records against independent judges, on as many random histories as asked for.
//!
//! `cargo run --release -p assay-consistency --example differential_register -- 1000000 7`: how
//! many of each kind, and the seed. Prints a line per kind of history with its disagreements.

use assay_consistency::{ClockError, QualityVerdict, register};
use assay_model::{Nanos, Seed};

#[path = "../tests/register/definitions.rs"]
mod definitions;
#[path = "../tests/register/differential.rs"]
mod differential;
#[path = "../tests/register/oracle.rs"]
mod oracle;
#[path = "../tests/register/random.rs"]
mod random;

use differential::KINDS;
use random::{AGENTS, Recipe, SMALL, history, seen_by_agents};

/// Disagreements that are printed; the others are counted.
const PRINTED: u64 = 3;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let count = arguments.next().unwrap_or(1_000_000);
    let seed = Seed(arguments.next().unwrap_or(7));
    orders(seed, count);
    clocks(seed, count / 50);
    for (name, recipe, is_whole) in KINDS {
        definitions_of(name, (&recipe, is_whole), seed, count / KINDS.len() as u64);
    }
}

/// Correct histories of agents whose clocks are off: none of them may be called violated.
fn clocks(seed: Seed, count: u64) {
    for error in [2, 5, 10, 20, 50] {
        let (mut flagged, mut wrong) = (0, 0);
        for index in 0..count {
            let seen = seen_by_agents(&history(&AGENTS, seed, index), Seed(index), error);
            let off = ClockError::of_agents(vec![Nanos(error); 6]);
            let is_violated = |report: &register::RegisterReport| {
                let mut verdicts = report.findings.iter().map(|finding| &finding.verdict);
                verdicts.any(|verdict| matches!(verdict, QualityVerdict::Violated(_)))
            };
            flagged += u64::from(is_violated(&register::judge(&seen, &ClockError::NONE)));
            wrong += u64::from(is_violated(&register::judge(&seen, &off)));
        }
        println!(
            "clocks off by {error}: {count} correct histories of 6 agents, {flagged} violated if \
             nobody knows of the error: {wrong} violated if one does"
        );
    }
}

fn orders(seed: Seed, count: u64) {
    let (mut wrong, mut linearizable, mut two_atomic) = (0, 0, 0);
    for index in 0..count {
        let recipe = Recipe { wrong: 5 + 15 * (index % 3), unknown: 20 * (index % 2), ..SMALL };
        let history = history(&recipe, seed, index);
        let (disagreements, verdicts) = differential::atomicity(&history);
        linearizable += u64::from(verdicts[0]);
        two_atomic += u64::from(verdicts[1]);
        if !disagreements.is_empty() {
            wrong += 1;
            if wrong <= PRINTED {
                println!("history {index}: {disagreements:?}: {history:#?}");
            }
        }
    }
    println!(
        "porcupine, gamma, delta, all orders: {count} histories, {linearizable} linearizable, \
         {two_atomic} 2-atomic: {wrong} disagreements"
    );
}

fn definitions_of(name: &str, kind: (&Recipe, bool), seed: Seed, count: u64) {
    let mut wrong = 0;
    let sum = differential::definitions(kind, seed, count, |difference| {
        wrong += 1;
        if wrong <= PRINTED {
            println!("{difference}");
        }
    });
    println!(
        "definitions, {name}: {count} histories, {} non-monotonic reads, {} own writes not read, \
         {} non-monotonic writes, {} writes without their reads, {} stale reads, {} lost writes: \
         {wrong} disagreements",
        sum[0], sum[1], sum[2], sum[3], sum[4], sum[5]
    );
}
