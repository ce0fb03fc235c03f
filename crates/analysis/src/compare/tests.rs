//! Tests of the comparison: power where set-ups differ, false alarms where they do not.

use assay_model::{Ends, Kind, Nanos, Outcome, Phase, Reason, Record, Seed, version};

use super::*;
use crate::{AnalysisOptions, Analyzer, Window};

/// One simulated run: a queue with one server, exponential gaps of mean 1 ms.
#[derive(Clone, Copy)]
struct Queue {
    seed: u64,
    count: u64,
    load: f64,
    /// What every response time is multiplied by.
    slowness: f64,
    /// One in so many operations is refused; 0 for none.
    refused: u64,
}

const QUIET: Queue = Queue { seed: 1, count: 5_000, load: 0.3, slowness: 1.0, refused: 0 };

fn records(queue: Queue) -> Vec<Record> {
    let (mut intended, mut free) = (0.0f64, 0.0f64);
    let exponential = |draw: f64| -(1.0 - draw).ln() * 1e6;
    let operation = |index| {
        let mut draws = Seed(queue.seed).draws(9, index);
        intended += exponential(draws.unit());
        free = intended.max(free) + queue.load * exponential(draws.unit());
        let is_refused = queue.refused > 0 && index % queue.refused == 0;
        let at = Nanos(intended as u64);
        let ended = Nanos((intended + (free - intended) * queue.slowness) as u64);
        let kind = if index % 3 == 0 { Kind::Update } else { Kind::Read };
        let outcome = if is_refused { Outcome::Refused } else { Outcome::Done };
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
            kind,
            phase: Phase::Measure,
            outcome,
            found: !is_refused,
            reason: if is_refused { Reason::Busy } else { Reason::None },
            ..Record::BLANK
        }
    };
    (0..queue.count).map(operation).collect()
}

fn figures(queue: Queue) -> RunFigures {
    let cpu = Some(900.0 + queue.seed as f64);
    let resampling = Resampling { seed: Seed(0), run: queue.seed, replicates: 60 };
    figures_of(&records(queue), cpu, resampling)
}

fn figures_of(records: &[Record], cpu: Option<f64>, resampling: Resampling) -> RunFigures {
    let until = Nanos(records[records.len() - 1].intended.0 + 1);
    let window = Some(Window { from: Nanos::ZERO, until });
    let options =
        AnalysisOptions { window, interval: Nanos::from_secs(1), ..AnalysisOptions::default() };
    let mut analyze = Analyzer::new(options.clone());
    let mut sampler = Sampler::new(options);
    // Workers come one after the other, so times do not rise.
    for part in [0, 1] {
        let worker: Vec<Record> = records.iter().filter(|r| r.index % 2 == part).copied().collect();
        analyze.push(&worker);
        sampler.push(&worker);
    }
    sampler.finish(&analyze.finish(), cpu, resampling)
}

fn about(measure: Measure) -> Demands {
    Demands { requested: vec![Figure::overall(measure)], draws: 600, ..Demands::default() }
}

fn p99() -> Demands {
    about(Measure::Response(0.99))
}

fn p90() -> Demands {
    about(Measure::Response(0.9))
}

fn finding(old: &[RunFigures], new: &[RunFigures], measure: Measure) -> Finding {
    let found = compare(old, new, about(measure));
    found.row(Figure::overall(measure)).unwrap().finding
}

/// In how many of 100 pairs of `per_side` equal runs each of `measures` is called different.
///
/// The pairs share their runs (24 of them make the 100 pairs of single ones), so they are not
/// independent: one odd run is in several pairs.
fn alarms(runs: &[RunFigures], per_side: usize, measures: &[Measure]) -> Vec<usize> {
    let sides = runs.len() / per_side;
    let side = |number: usize| &runs[number % sides * per_side..][..per_side];
    // Each side meets those that follow it, so that few runs make many pairs.
    let pairs = (1..sides).flat_map(|step| (0..sides).map(move |first| (first, first + step)));
    // Any single figure in question gives all of them the level of one.
    let found = pairs.take(100).map(|(old, new)| compare(side(old), side(new), p99()));
    let found: Vec<Comparison> = found.collect();
    let is_alarm = |comparison: &&Comparison, measure: Measure| {
        comparison.row(Figure::overall(measure)).unwrap().finding.is_different()
    };
    let count = |measure: &Measure| found.iter().filter(|one| is_alarm(one, *measure)).count();
    measures.iter().map(count).collect()
}

#[test]
fn equal_set_ups_raise_at_most_five_false_alarms_in_a_hundred_pairs() {
    let runs: Vec<RunFigures> = (1..=24).map(|seed| figures(Queue { seed, ..QUIET })).collect();
    let measures = [Measure::Response(0.99), Measure::Response(0.5), Measure::Throughput];
    let found = alarms(&runs, 1, &measures);
    assert!(found.iter().all(|alarms| *alarms <= 5), "{found:?} of {measures:?}");
}

#[test]
fn groups_of_equal_runs_raise_at_most_five_false_alarms_in_a_hundred_pairs() {
    let run = |seed| figures(Queue { seed, count: 1_000, ..QUIET });
    let runs: Vec<RunFigures> = (1..=45).map(run).collect();
    let measures = [Measure::Response(0.9), Measure::Response(0.5)];
    let found = alarms(&runs, 3, &measures);
    assert!(found.iter().all(|alarms| *alarms <= 5), "{found:?} of {measures:?}");
}

#[test]
fn ten_percent_more_at_p99_are_found() {
    let queue = Queue { count: 60_000, ..QUIET };
    let slow = figures(Queue { seed: 2, slowness: 1.1, ..queue });
    let found = compare(&[figures(queue)], &[slow], p99());
    let row = found.row(p99().requested[0]).unwrap();
    assert_eq!((row.finding, found.basis), (Finding::Higher, IntervalBasis::WithinRun));
    let (low, high) = row.interval.unwrap();
    assert!(low < 1.1 && 1.1 < high, "{low} {high}");
}

#[test]
fn ten_percent_more_at_p90_are_found_by_groups() {
    let queue = Queue { count: 8_000, ..QUIET };
    let old: Vec<RunFigures> = (1..=5).map(|seed| figures(Queue { seed, ..queue })).collect();
    let slow = |seed| figures(Queue { seed, slowness: 1.1, ..queue });
    let new: Vec<RunFigures> = (6..=10).map(slow).collect();
    let found = compare(&old, &new, p90());
    assert_eq!(found.basis, IntervalBasis::Runs);
    assert_eq!(found.row(p90().requested[0]).unwrap().finding, Finding::Higher);
    let back = compare(&new, &old, p90());
    assert_eq!(back.row(p90().requested[0]).unwrap().finding, Finding::Lower);
}

#[test]
fn a_run_compared_with_its_repetition_is_the_same() {
    let run = figures(Queue { count: 40_000, ..QUIET });
    let run = std::slice::from_ref(&run);
    let found = compare(run, run, Demands::default());
    let row = found.row(Figure::overall(Measure::Response(0.5))).unwrap();
    assert_eq!(row.effect, 1.0);
    let errors = found.row(Figure::overall(Measure::Errors)).unwrap();
    assert_eq!((errors.effect, errors.finding), (0.0, Finding::Same));
    assert!(found.rows.iter().all(|row| !row.finding.is_different()));
    // Throughput, four quantiles of two latencies, errors, misses for all, reads, updates; CPU.
    assert_eq!(found.rows.len(), 3 * 11 + 1);
}

#[test]
fn an_effect_below_the_minimum_is_no_difference() {
    let queue = Queue { count: 15_000, ..QUIET };
    let old: Vec<RunFigures> = (1..=3).map(|seed| figures(Queue { seed, ..queue })).collect();
    let slow = |seed| figures(Queue { seed, slowness: 1.02, ..queue });
    // The same arrivals, so that nothing but the two percent differs.
    let new: Vec<RunFigures> = (1..=3).map(slow).collect();
    let found = compare(&old, &new, about(Measure::Response(0.5)));
    let row = found.row(found.demands.requested[0]).unwrap();
    assert!((row.effect - 1.02).abs() < 0.003, "{}", row.effect);
    assert!(!row.finding.is_different(), "{:?}", row.finding);
}

#[test]
fn errors_are_compared_as_shares() {
    let old = figures(QUIET);
    let new = figures(Queue { seed: 2, refused: 50, ..QUIET });
    let found = compare(&[old], &[new], about(Measure::Errors));
    let row = found.row(Figure::overall(Measure::Errors)).unwrap();
    assert!((row.effect - 0.02).abs() < 1e-9, "{}", row.effect);
    assert_eq!(row.finding, Finding::Higher);
    let long = [figures(Queue { count: 8_000, ..QUIET })];
    assert_eq!(finding(&long, &long, Measure::Errors), Finding::Same);
}

#[test]
fn too_few_values_beyond_a_percentile_give_no_interval() {
    let [old, new] = [1, 2].map(|seed| figures(Queue { seed, count: 500, ..QUIET }));
    let found = compare(&[old], &[new], p99());
    let row = found.row(p99().requested[0]).unwrap();
    assert_eq!((row.finding, row.interval), (Finding::TooFew, None));
    let condition = Condition { figure: row.figure, limit: Limit::Above(1.1) };
    assert_eq!(found.analyze(&condition), ConditionOutcome::Unknown);
}

#[test]
fn processor_time_needs_runs() {
    let run = |seed| figures(Queue { seed, ..QUIET });
    assert_eq!(finding(&[run(1)], &[run(2)], Measure::Cpu), Finding::TooFew);
    let (old, new) = ([run(1), run(2), run(3)], [run(4), run(5), run(6)]);
    assert_eq!(finding(&old, &new, Measure::Cpu), Finding::Same);
}

#[test]
fn the_same_comparison_gives_the_same_numbers() {
    let [old, new] = [1, 2].map(|seed| [figures(Queue { seed, ..QUIET })]);
    let once = compare(&old, &new, Demands::default());
    assert_eq!(once, compare(&old, &new, Demands::default()));
}

#[test]
fn more_figures_in_question_make_each_interval_wider() {
    let [old, new] = [1, 2].map(|seed| [figures(Queue { seed, ..QUIET })]);
    let width = |demands: Demands| {
        let found = compare(&old, &new, demands);
        let (low, high) = found.row(p99().requested[0]).unwrap().interval.unwrap();
        high / low
    };
    let all = Demands { requested: Figure::USUAL.to_vec(), ..p99() };
    assert!((all.level() - 0.998).abs() < 1e-12);
    assert!(width(all) > width(p99()));
}

#[test]
fn a_condition_is_met_only_with_certainty() {
    let row = |effect, low, high| Row {
        figure: p99().requested[0],
        is_requested: true,
        old: Some(spread(&[1.0])),
        new: Some(spread(&[1.0])),
        effect,
        interval: Some((low, high)),
        finding: Finding::Higher,
    };
    let above = |limit| Condition { figure: p99().requested[0], limit: Limit::Above(limit) };
    assert_eq!(above(1.1).analyze(&row(1.2, 1.15, 1.25)), ConditionOutcome::Met);
    assert_eq!(above(1.1).analyze(&row(1.12, 1.04, 1.2)), ConditionOutcome::Unsure);
    assert_eq!(above(1.1).analyze(&row(1.05, 1.04, 1.2)), ConditionOutcome::NotMet);
    let below = Condition { limit: Limit::Below(0.95), ..above(1.0) };
    assert_eq!(below.analyze(&row(0.9, 0.85, 0.94)), ConditionOutcome::Met);
    assert_eq!(below.analyze(&row(0.9, 0.85, 0.96)), ConditionOutcome::Unsure);
    assert_eq!(below.analyze(&row(0.99, 0.85, 1.1)), ConditionOutcome::NotMet);
}

#[test]
fn a_pause_between_arrivals_counts_as_time() {
    // All arrivals in the first and the last tenth: blocks by count, yet seconds add up.
    let mut run = records(QUIET);
    run.iter_mut().skip(2_500).for_each(|record| {
        for time in [&mut record.intended, &mut record.started, &mut record.ended] {
            *time = Nanos(time.0 + 20_000_000_000);
        }
    });
    let resampling = Resampling { seed: Seed(0), run: 0, replicates: 100 };
    let found = figures_of(&run, None, resampling);
    let throughput = found.get(Figure::overall(Measure::Throughput)).unwrap();
    assert!((throughput.value / 200.0 - 1.0).abs() < 0.05, "{}", throughput.value);
    let spread = throughput.replicates.iter().map(|r| r.abs()).fold(0.0, f64::max);
    // One block holds the pause, so draws differ by how often it is drawn.
    assert!(spread > 0.3, "{spread}");
}

#[test]
fn no_failure_among_few_operations_is_no_proof_of_none() {
    let [old, new] = [1, 2].map(|seed| [figures(Queue { seed, count: 240, ..QUIET })]);
    for (measure, limit) in [(Measure::Errors, 0.001), (Measure::Misses, 0.001)] {
        let found = compare(&old, &new, about(measure));
        let row = found.row(Figure::overall(measure)).unwrap();
        let (low, high) = row.interval.unwrap();
        assert_eq!((row.effect, row.finding), (0.0, Finding::Open), "{measure:?}");
        // 1 − 0.005^(1/240), on both sides.
        assert!((high - 0.021_8).abs() < 1e-4 && (low + high).abs() < 1e-12, "{low} {high}");
        let gate = |limit| Condition { figure: row.figure, limit: Limit::Above(limit) };
        assert_eq!(found.analyze(&gate(limit)), ConditionOutcome::Unsure);
        assert_eq!(found.analyze(&gate(0.03)), ConditionOutcome::NotMet);
    }
}

/// Runs of which the second side fails as a whole in `failing` runs of `runs`.
fn broken(runs: u64, failing: u64) -> [Vec<RunFigures>; 2] {
    let run = |seed| figures(Queue { seed, count: 2_000, ..QUIET });
    let dead = |seed| figures(Queue { seed, count: 2_000, refused: 1, ..QUIET });
    let new = |seed| if seed - 10 <= failing { dead(seed) } else { run(seed) };
    [(1..=runs).map(run).collect(), (11..=10 + runs).map(new).collect()]
}

#[test]
fn a_store_that_answers_nothing_any_more_has_less_throughput() {
    for runs in [1, 3] {
        let [old, new] = broken(runs, runs);
        let found = compare(&old, &new, Demands { draws: 600, ..Demands::default() });
        let throughput = found.row(Figure::overall(Measure::Throughput)).unwrap();
        let reported = (throughput.effect, throughput.interval, throughput.finding);
        assert_eq!(reported, (0.0, Some((0.0, 0.0)), Finding::Lower), "{runs}");
        let gate = Condition { figure: throughput.figure, limit: Limit::Below(0.9) };
        assert_eq!(found.analyze(&gate), ConditionOutcome::Met);
        let p99 = found.row(p99().requested[0]).unwrap();
        assert_eq!((p99.finding, p99.new.as_ref()), (Finding::Absent, None));
        assert!(p99.effect.is_nan() && p99.old.is_some());
        // What is not in question needs values on both sides.
        assert!(found.row(Figure::overall(Measure::Response(0.9))).is_none());
        let back = compare(&new, &old, about(Measure::Throughput));
        let row = back.row(Figure::overall(Measure::Throughput)).unwrap();
        assert_eq!((row.effect, row.finding), (f64::INFINITY, Finding::Higher));
    }
}

#[test]
fn there_is_no_ratio_to_a_time_below_the_clock_s_resolution() {
    let old = [figures(Queue { slowness: 0.0, ..QUIET })];
    let found = compare(&old, &[figures(QUIET)], p90());
    let row = found.row(p90().requested[0]).unwrap();
    assert_eq!((row.effect, row.finding), (f64::INFINITY, Finding::Higher));
    let found = compare(&old, &old, p90());
    assert_eq!(found.row(p90().requested[0]).unwrap().effect, 1.0);
}

#[test]
fn one_run_that_did_nothing_is_not_the_whole_side() {
    let [old, new] = broken(5, 1);
    let found = compare(&old, &new, about(Measure::Throughput));
    let row = found.row(Figure::overall(Measure::Throughput)).unwrap();
    assert!((row.effect - 0.8).abs() < 0.05, "{}", row.effect);
    assert_eq!((row.finding, row.interval), (Finding::TooFew, None));
}

#[test]
fn nothing_instead_of_little_is_not_certain() {
    // One of 500 was done, then none of 500.
    let figures = |done: u64| {
        let mut run = figures(Queue { count: 500, ..QUIET });
        for found in &mut run.figures {
            let is_throughput = found.figure == Figure::overall(Measure::Throughput);
            if is_throughput {
                found.value = done as f64;
                found.counted = Some(Counted { part: done as f64, whole: 500.0 });
            }
        }
        [run]
    };
    assert_eq!(finding(&figures(1), &figures(0), Measure::Throughput), Finding::TooFew);
    assert_eq!(finding(&figures(100), &figures(0), Measure::Throughput), Finding::Lower);
}

#[test]
fn a_side_without_runs_has_no_figures() {
    let run = [figures(QUIET)];
    let found = compare(&run, &[], Demands::default());
    assert!(found.requested().all(|row| row.finding == Finding::Absent));
    assert_eq!(found.rows.len(), Figure::USUAL.len());
    assert!(compare(&[], &[], Demands::default()).rows.is_empty());
}

#[test]
fn without_draws_there_is_no_interval() {
    let run = [figures(QUIET)];
    let found = compare(&run, &run, Demands { draws: 0, ..Demands::default() });
    assert!(found.rows.iter().all(|row| row.interval.is_none()));
}

#[test]
fn what_a_hallmark_withdraws_is_not_analyzed() {
    use crate::hallmark::{self, Check, CheckId, CheckVerdict, Hallmark, Time};
    let check = |id, withdraws| Check { withdraws, ..Check::bare(id, CheckVerdict::Fail) };
    let p99 = hallmark::Figure::Percentile(Time::Response, 0.99);
    let verdict = hallmark::Verdict::Invalid;
    let with = |checks| Hallmark { verdict, checks, ..Hallmark::default() };
    let run = |seed| figures(Queue { seed, ..QUIET });
    let condition =
        Condition { figure: Figure::overall(Measure::Response(0.99)), limit: Limit::Above(1.1) };
    let analyzed = |new: RunFigures| compare(&[run(1)], &[new], Demands::default());
    let lagged = analyzed(run(2).examined(&with(vec![check(CheckId::Lag, vec![p99])])));
    let finding = |found: &Comparison, measure| {
        let row = found.row(Figure::overall(measure)).expect("both have it");
        (row.finding, row.interval)
    };
    assert_eq!(finding(&lagged, Measure::Response(0.99)), (Finding::Withdrawn, None));
    assert_eq!(lagged.analyze(&condition), ConditionOutcome::Withdrawn);
    let others = [Measure::Response(0.5), Measure::Service(0.99), Measure::Throughput];
    for measure in others.into_iter().chain([Measure::Errors]) {
        assert_ne!(finding(&lagged, measure).0, Finding::Withdrawn, "{measure:?}");
    }
    // Too few values are counted here as they are everywhere in a comparison.
    let few = analyzed(run(2).examined(&with(vec![check(CheckId::SampleSize, vec![p99])])));
    assert_ne!(finding(&few, Measure::Response(0.99)).0, Finding::Withdrawn);
    let all = vec![check(CheckId::WorkerCpu, vec![hallmark::Figure::All])];
    let late = analyzed(run(2).examined(&with(all)));
    assert!(late.rows.iter().all(|row| row.finding == Finding::Withdrawn), "{:?}", late.rows);
}
