//! False alarms of the comparison of equal set-ups, beside its power on slower ones.
//!
//! `cargo run --release -p assay-analysis --example false_alarms [PAIRS]`

use assay_analysis::compare::{
    Demands, Figure, Finding, Measure, Resampling, RunFigures, Sampler, compare,
};
use assay_analysis::{AnalysisOptions, Analyzer, Window};
use assay_model::{Ends, Nanos, Phase, Record, Seed, version};

/// What is simulated: an M/M/1 queue, 1000 arrivals per second on average.
#[derive(Clone, Copy)]
struct Case {
    /// Operations of each run.
    count: u64,
    /// How busy the server is.
    load: f64,
    /// Runs on each side.
    runs: u64,
    /// Standard deviation of the speed from run to run, relative.
    hysteresis: f64,
}

fn main() {
    let pairs: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(200);
    println!("{pairs} pairs each; compared: p99 alone, then the usual figures together");
    println!(
        "{:>9} {:>4} {:>4} {:>10} | {:>12} {:>12} {:>8} | {:>10} {:>10}",
        "n",
        "load",
        "runs",
        "run to run",
        "alarms p99",
        "alarms all",
        "n/a",
        "+10 % found",
        "unseen"
    );
    let input = |count, load, runs, hysteresis| Case { count, load, runs, hysteresis };
    for input in [
        input(5_000, 0.3, 1, 0.0),
        input(20_000, 0.3, 1, 0.0),
        input(60_000, 0.3, 1, 0.0),
        input(20_000, 0.7, 1, 0.0),
        input(60_000, 0.7, 1, 0.0),
        input(200_000, 0.7, 1, 0.0),
        input(60_000, 0.3, 1, 0.05),
        input(20_000, 0.3, 3, 0.0),
        input(20_000, 0.3, 5, 0.0),
        input(60_000, 0.3, 5, 0.0),
        input(20_000, 0.7, 5, 0.0),
        input(60_000, 0.7, 5, 0.0),
        input(20_000, 0.3, 5, 0.05),
        input(20_000, 0.3, 10, 0.05),
    ] {
        row(input, pairs);
    }
}

fn row(input: Case, pairs: u64) {
    let p99 = Figure::overall(Measure::Response(0.99));
    let alone = Demands { requested: vec![p99], ..Demands::default() };
    let (mut alarms, mut any, mut without, mut found, mut unseen) = (0, 0, 0, 0, 0);
    for pair in 0..pairs {
        let side = |number: u64, slowness| -> Vec<RunFigures> {
            let first = (pair * 3 + number) * input.runs;
            (first..first + input.runs).map(|seed| figures(input, seed, slowness)).collect()
        };
        let (old, equal, slow) = (side(0, 1.0), side(1, 1.0), side(2, 1.1));
        let verdict = |new: &[RunFigures]| {
            compare(&old, new, alone.clone()).row(p99).expect("there are reads").finding
        };
        match verdict(&equal) {
            Finding::TooFew => without += 1,
            finding => alarms += u32::from(finding.is_different()),
        }
        let together = compare(&old, &equal, Demands::default());
        any += u32::from(together.requested().any(|row| row.finding.is_different()));
        match verdict(&slow) {
            Finding::Higher => found += 1,
            _ => unseen += 1,
        }
    }
    println!(
        "{:>9} {:>4} {:>4} {:>9}% | {alarms:>12} {any:>12} {without:>8} | {found:>10} {unseen:>10}",
        input.count,
        input.load,
        input.runs,
        input.hysteresis * 100.0
    );
}

fn figures(input: Case, seed: u64, slowness: f64) -> RunFigures {
    let records = records(input, seed, slowness);
    let until = Nanos(records[records.len() - 1].intended.0 + 1);
    let window = Some(Window { from: Nanos::ZERO, until });
    let options = AnalysisOptions { window, ..AnalysisOptions::default() };
    let mut analyze = Analyzer::new(options.clone());
    analyze.push(&records);
    let mut sampler = Sampler::new(options);
    sampler.push(&records);
    sampler.finish(&analyze.finish(), None, Resampling::of_run(seed))
}

fn records(input: Case, seed: u64, slowness: f64) -> Vec<Record> {
    let exponential = |draw: f64| -(1.0 - draw).ln() * 1e6;
    let mut whole = Seed(seed).draws(8, 0);
    // A sum of twelve uniform draws is nearly normal.
    let normal: f64 = (0..12).map(|_| whole.unit()).sum::<f64>() - 6.0;
    let factor = slowness * (input.hysteresis * normal).exp();
    let (mut intended, mut free) = (0.0f64, 0.0f64);
    let operation = |index| {
        let mut draws = Seed(seed).draws(9, index);
        intended += exponential(draws.unit());
        free = intended.max(free) + input.load * exponential(draws.unit());
        let at = Nanos(intended as u64);
        read(index, at, Nanos((intended + (free - intended) * factor) as u64))
    };
    (0..input.count).map(operation).collect()
}

fn read(index: u64, at: Nanos, ended: Nanos) -> Record {
    Record {
        index,
        process: index,
        intended: at,
        started: at,
        ended,
        version_written: version::NONE,
        version_read: version::NONE,
        rows: 1,
        ends: Ends::Both,
        phase: Phase::Measure,
        found: true,
        ..Record::BLANK
    }
}
