//! Checkers of single records against independent judges, on as many random histories as asked for.
//!
//! `cargo run --release -p assay-consistency --example differential_register -- 1000000 7`: how
//! many of each kind, and the seed. Prints a line per kind of history with its disagreements.

use assay_consistency::{ClockError, QualityFinding, QualityVerdict, register};
use assay_model::{Nanos, Seed};

#[path = "../tests/register/definitions.rs"]
mod definitions;
#[path = "../tests/register/differential.rs"]
mod differential;
#[path = "../tests/register/oracle.rs"]
mod oracle;
#[path = "../tests/register/random.rs"]
mod random;

use random::{AGENTS, Recipe, SMALL, history, seen_by_agents};

/// Disagreements that are printed; the others are counted.
const PRINTED: u64 = 3;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let count = arguments.next().unwrap_or(1_000_000);
    let seed = Seed(arguments.next().unwrap_or(7));
    orders(seed, count);
    clocks(seed, count / 50);
    let mixed = Recipe { operations: 20, keys: 2, wrong: 30, ..SMALL };
    let single = Recipe { has_single_writers: true, ..mixed };
    let chains = Recipe { read_then_write: 50, wrong: 5, unknown: 0, ..mixed };
    let kinds = [
        ("several writers", mixed, true),
        ("single writers", single, true),
        ("read-then-write", chains, true),
        ("single fields", mixed, false),
    ];
    for (name, recipe, is_whole) in kinds {
        definitions_of(name, &recipe, is_whole, seed, count / kinds.len() as u64);
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
                let is_violated = |finding: &QualityFinding| {
                    matches!(finding.verdict, QualityVerdict::Violated(_))
                };
                report.findings.iter().any(is_violated)
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

fn definitions_of(name: &str, recipe: &Recipe, is_whole: bool, seed: Seed, count: u64) {
    let (mut wrong, mut sum) = (0, [0; 6]);
    for index in 0..count {
        let mut history = history(recipe, seed, index);
        history.has_final_reads = true;
        history.writes_whole_records = is_whole;
        let [counts, expected] = differential::definitions(&history);
        let counted = [
            counts.monotonic_reads,
            counts.read_your_writes,
            counts.monotonic_writes,
            counts.writes_follow_reads,
            counts.stale,
            counts.lost,
        ];
        sum.iter_mut().zip(counted).for_each(|(sum, counted)| *sum += counted);
        if counts != expected {
            wrong += 1;
            if wrong <= PRINTED {
                println!("history {index}: ours {counts:?}, theirs {expected:?}: {history:#?}");
            }
        }
    }
    println!(
        "definitions, {name}: {count} histories, {} non-monotonic reads, {} own writes not read, \
         {} non-monotonic writes, {} writes without their reads, {} stale reads, {} lost writes: \
         {wrong} disagreements",
        sum[0], sum[1], sum[2], sum[3], sum[4], sum[5]
    );
}
