//! Coverage of the percentile intervals over simulated queues.
//!
//! Sojourn times of M/M/1 come from Lindley's recursion (W' = max(0, W + S − A)) as records of a
//! run that go through the analyzer. The truth is known: they are exponential with mean service /
//! (1 − load). Beside our interval stands the textbook's, whose ranks n p ± 1.96 √(n p (1 − p))
//! hold for independent values only.
//!
//! An interval is reported only where ten independent values lie beyond the percentile, as far as
//! the run itself shows. A run that is too short sometimes gets an interval because its tail
//! happened to be calm; such intervals cover less, so the last column counts what matters to a
//! reader: in how many of all runs an interval was reported that misses the truth.

use assay_analysis::{AnalysisOptions, Analyzer, Interval, Percentile, Window};
use assay_model::{Ends, Nanos, Phase, Record, Seed, version};

/// Runs per row.
const RUNS: u64 = 400;
/// Mean gap between arrivals.
const GAP_NS: f64 = 1e6;
/// Operations that pass before records are kept, so that the queue is in its steady state.
const BEFORE: u64 = 2_000;
/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_985;

/// One row of the table.
#[derive(Default)]
struct Row {
    reported: u64,
    ours: u64,
    textbook: u64,
    dependence: f64,
}

fn record(index: u64, intended: Nanos, ended: Nanos) -> Record {
    Record {
        index,
        process: index,
        intended,
        started: intended,
        ended,
        version_written: version::NONE,
        version_read: version::loaded(0),
        rows: 1,
        ends: Ends::Both,
        phase: Phase::Measure,
        found: true,
        ..Record::BLANK
    }
}

/// The records of one run of `count` operations.
fn queue(seed: u64, count: u64, load: f64) -> Vec<Record> {
    let exponential = |draw: f64| -(1.0 - draw).ln() * GAP_NS;
    let (mut at, mut wait) = (0.0f64, 0.0f64);
    let mut records = Vec::with_capacity(count as usize);
    for index in 0..BEFORE + count {
        let mut draws = Seed(seed).draws(1, index);
        let (gap, service) = (exponential(draws.unit()), load * exponential(draws.unit()));
        if index >= BEFORE {
            let ended = Nanos((at + wait + service) as u64);
            records.push(record(index - BEFORE, Nanos(at as u64), ended));
            at += gap;
        }
        wait = (wait + service - gap).max(0.0);
    }
    records
}

fn textbook(count: u64, quantile: f64) -> (f64, f64) {
    let n = count as f64;
    let reach = Z * (n * quantile * (1.0 - quantile)).sqrt();
    ((n * quantile - reach) / n, (n * quantile + reach + 1.0) / n)
}

fn rows(count: u64, load: f64, quantiles: [f64; 2]) -> [Row; 2] {
    let mut rows = [Row::default(), Row::default()];
    for seed in 0..RUNS {
        let records = queue(seed, count, load);
        let until = records.last().map_or(Nanos::ZERO, |last| last.intended + Nanos(1));
        let window = Some(Window { from: Nanos::ZERO, until });
        let mut analyze = Analyzer::new(AnalysisOptions { window, ..AnalysisOptions::default() });
        analyze.push(&records);
        let response = analyze.finish().overall.hits.response;
        for (quantile, row) in quantiles.into_iter().zip(&mut rows) {
            let truth = -(1.0 - quantile).ln() * load * GAP_NS / (1.0 - load);
            let (low, high) = textbook(count, quantile);
            let at = |share: f64| response.histogram.value_at_quantile(share) as f64;
            row.textbook += u64::from(at(low) <= truth && truth <= at(high));
            let is_expected = |one: &&Percentile| one.quantile == quantile;
            let found = response.percentiles.iter().find(is_expected).map(|one| one.interval);
            if let Some(Interval::Known { low, high, dependence }) = found {
                row.reported += 1;
                row.dependence += dependence;
                row.ours += u64::from(low.0 as f64 <= truth && truth <= high.0 as f64);
            }
        }
    }
    rows
}

fn main() {
    println!("coverage of nominal 95 % intervals, M/M/1, {RUNS} runs per row");
    println!("load  n       p      reported     τ     ours     textbook  misled");
    for load in [0.3, 0.7] {
        for count in [20_000, 200_000] {
            let quantiles = [0.99, 0.999];
            for (quantile, row) in quantiles.into_iter().zip(rows(count, load, quantiles)) {
                let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
                let dependence = row.dependence / row.reported.max(1) as f64;
                print!("{load:<4}  {count:<6}  {quantile:<5}  ");
                println!(
                    "{:>5.1} %  {dependence:>4.1}  {:>5.1} %  {:>5.1} %   {:>4.1} %",
                    percent(row.reported, RUNS),
                    percent(row.ours, row.reported),
                    percent(row.textbook, RUNS),
                    percent(row.reported - row.ours, RUNS),
                );
            }
        }
    }
}
