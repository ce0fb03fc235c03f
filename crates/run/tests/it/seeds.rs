//! Thousands of drawn experiments against the simulated store, in simulated time.
//!
//! Every experiment follows from its seed alone. A failure names the seed, what was drawn from it,
//! and the command that repeats it with its neighbours.

use std::panic::{AssertUnwindSafe, catch_unwind};

use assay_model::{Draws, Layout, Nanos, Outcome, Reason, Record, Seed, Source, Table};
use assay_run::executor::AbortReason;
use assay_run::{
    ArrivalProcess, Arrivals, Closed, Control, Extent, Latency, LiveCounters, Load, Open, Overflow,
    Think, Workers, execute_in_simulated_time,
};
use assay_sim::config::{Config, ReadFrom};
use assay_sim::delay::Delay;
use assay_sim::fault_model::FaultRate;
use assay_sim::queue::{Grain, Hiccup};
use assay_sim::{SimulatedStore, config::Node};
use assay_store::{Store, Truth};

use crate::stand_ins::{Plan, closed, extent, open, workers};

/// Seeds of one test.
const SEEDS: u64 = 125;

/// The stream that experiments are drawn from.
const STREAM: u64 = 0x7365_6564;

/// An experiment.
#[derive(Clone, Debug)]
struct Drawn {
    seed: u64,
    load: Load,
    extent: Extent,
    width: u64,
    timeout: Nanos,
    store: Config,
}

fn pick<T: Clone>(draws: &mut Draws, from: &[T]) -> T {
    from[draws.below(from.len() as u64) as usize].clone()
}

fn drawn(seed: u64) -> Drawn {
    let mut draws = Seed(seed).draws(STREAM, 0);
    let load = drawn_load(&mut draws);
    let us = Nanos::from_micros;
    let warm_up = pick(&mut draws, &[Nanos::ZERO, us(7_000)]);
    let extent = match draws.below(4) {
        0 => Extent { duration: Some(us(40_000)), warm_up, processes: None },
        1 => Extent { duration: Some(us(40_000)), warm_up, processes: Some(200) },
        _ => Extent { processes: Some(20 + draws.below(100)), warm_up, duration: None },
    };
    let (width, timeout) = (1 + draws.below(2), pick(&mut draws, &[us(3_000), us(2_000_000)]));
    Drawn { seed, load, extent, width, timeout, store: drawn_store(&mut draws) }
}

fn drawn_load(draws: &mut Draws) -> Load {
    let rate = pick(draws, &[200.0, 1_000.0, 5_000.0]);
    if draws.below(2) == 0 {
        let process = pick(draws, &[ArrivalProcess::Constant, ArrivalProcess::Poisson]);
        return Load::Open(Open {
            arrivals: Arrivals::constant_rate(rate, process),
            in_flight: pick(draws, &[1, 3, 10_000]),
            overflow: pick(draws, &Overflow::ALL),
        });
    }
    let us = Nanos::from_micros;
    let thinks = [Think::No, Think::Constant(us(300)), Think::Exponential(us(500))];
    Load::Closed(Closed {
        sessions: 1 + draws.below(9) as u32,
        think: pick(draws, &thinks),
        target_rate: pick(draws, &[None, Some(rate)]),
    })
}

fn drawn_store(draws: &mut Draws) -> Config {
    let us = Nanos::from_micros;
    let latency = pick(
        draws,
        &[
            Delay::Constant(Nanos::ZERO),
            Delay::Constant(us(250)),
            Delay::Uniform(us(100), us(900)),
            Delay::Exponential(us(400)),
        ],
    );
    let hiccup = Hiccup {
        after: us(4_000 + draws.below(20_000)),
        length: us(1_000 + draws.below(20_000)),
        is_periodic: draws.below(2) == 0,
    };
    let hiccup = pick(draws, &[None, Some(hiccup)]);
    let max = pick(draws, &[0.0, 900.0, 1_250.0, 20_000.0]);
    let node = |number: u64| Node {
        latency: latency.clone(),
        max,
        hiccup,
        ..Node::new(format!("n{number}"), number == 0)
    };
    let nodes: Vec<Node> = (0..1 + draws.below(3)).map(node).collect();
    let mut config = Config { nodes, own_service: draws.below(2) == 0, ..Config::default() };
    config.clock = pick(draws, &[Grain::Exact, Grain::Exact, Grain::Milliseconds]);
    config.read_from = pick(draws, &[ReadFrom::Primary, ReadFrom::Any]);
    config.fault_model.refused = pick(draws, &[FaultRate::NEVER, FaultRate::at_rate(0.1)]);
    config.fault_model.silent = pick(draws, &[FaultRate::NEVER, FaultRate::at_rate(0.05)]);
    config
}

/// What came of an experiment.
struct ExperimentResult {
    records: Vec<Record>,
    truths: Vec<Truth>,
    offered: u64,
    outcomes: [u64; 4],
    was_cut: bool,
    stood_still: bool,
}

fn perform(drawn: &Drawn) -> ExperimentResult {
    let store = SimulatedStore::new(drawn.store.clone(), Seed(drawn.seed))
        .expect("what is drawn makes sense");
    let fields = vec!["field0".to_owned()];
    let table = Table { name: "t".to_owned(), fields, needs_key_order: false };
    store.prepare(&Layout { tables: vec![table], records: 0 }).expect("it has room");
    store.flush().expect("it flushes");
    let width = drawn.width;
    let source = move || Box::new(Plan { width }) as Box<dyn Source>;
    let run = Workers {
        timeout: drawn.timeout,
        seed: Seed(drawn.seed),
        ..workers(1, &source, drawn.load.clone(), drawn.extent)
    };
    let live_counters = LiveCounters::new(Latency::Response);
    let control = Control::new();
    let done = execute_in_simulated_time(&run, &store, Vec::new(), &live_counters, &control);
    let (outcome, records) = done.expect("it opens");
    assert_eq!(control.now(), Some(outcome.ended()), "who watches sees the simulated time");
    let mut truths = Vec::new();
    store.truth(&mut |truth| truths.push(truth.clone()));
    let worker = &outcome.workers[0];
    let was_cut = worker.trouble.is_some();
    let stood_still = matches!(worker.trouble, Some(AbortReason::Plan(_)));
    let (offered, outcomes) = (worker.offered, worker.outcomes);
    ExperimentResult { records, truths, offered, outcomes, was_cut, stood_still }
}

/// Everything that must hold whatever was drawn.
fn check(drawn: &Drawn) {
    let found = perform(drawn);
    let records = &found.records;
    assert_eq!(found.offered, records.len() as u64, "every arrival has a record");
    assert_eq!(found.outcomes.iter().sum::<u64>(), found.offered, "offered is what it became");
    for (code, count) in found.outcomes.iter().enumerate() {
        let kept = records.iter().filter(|record| record.outcome as usize == code).count();
        assert_eq!(*count, kept as u64, "outcome {code}");
    }
    for record in records {
        let is_forward = record.intended <= record.started && record.started <= record.ended;
        assert!(is_forward, "time runs backwards in {record:?}");
    }
    check_processes(drawn, &found);
    check_truth(drawn, &found);
    assert_eq!(found.stood_still, stands_still(drawn, &found), "simulated time stands still");
    let again = perform(drawn);
    assert!(again.records == *records, "the same seed gives other records");
    assert!(again.truths == found.truths, "the same seed gives another truth");
}

/// Whether only time could end the load, but time does not pass: a session of the closed
/// model without pauses has tens of thousands of answers at one moment.
fn stands_still(drawn: &Drawn, found: &ExperimentResult) -> bool {
    let is_endless = drawn.extent.processes.is_none() && matches!(drawn.load, Load::Closed(_));
    let last = found.records.iter().map(|record| record.ended).max();
    let at_last = found.records.iter().filter(|record| Some(record.ended) == last);
    let answered = at_last.filter(|record| record.outcome != Outcome::Dropped).count();
    is_endless && answered >= 1 << 16
}

/// Processes are there from the first to the last, each with all its operations.
fn check_processes(drawn: &Drawn, found: &ExperimentResult) {
    let mut indexes: Vec<u64> = found.records.iter().map(|record| record.index).collect();
    indexes.sort_unstable();
    let expected: Vec<u64> = (0..indexes.len() as u64).collect();
    assert_eq!(indexes, expected, "an operation is missing or there twice");
    assert_eq!(indexes.len() as u64 % drawn.width, 0, "a process is there by halves");
    if let (Some(processes), None) = (drawn.extent.processes, drawn.extent.duration)
        && !found.was_cut
    {
        assert_eq!(indexes.len() as u64, processes * drawn.width, "not all were issued");
    }
}

/// The store's own account of when its answers were due is what was measured.
fn check_truth(drawn: &Drawn, found: &ExperimentResult) {
    let is_issued = |record: &&Record| record.outcome != Outcome::Dropped;
    let mut issued: Vec<&Record> = found.records.iter().filter(is_issued).collect();
    // Operations of one session that begin at the same moment end in the order of issue.
    issued.sort_by_key(|record| (record.started, record.session));
    let mut truths: Vec<&Truth> = found.truths.iter().collect();
    truths.sort_by_key(|truth| (truth.at, truth.session));
    assert_eq!(issued.len(), truths.len(), "the store saw other requests");
    for (record, truth) in issued.iter().zip(truths) {
        let observed = (record.started, record.session, record.kind);
        assert_eq!(observed, (truth.at, truth.session, truth.kind));
        match record.outcome {
            Outcome::Done | Outcome::Refused => {
                assert_eq!(record.ended, truth.answered_at, "{record:?} {truth:?}");
            }
            _ => {
                // Operations that are issued while the run drains are given up when the draining
                // ends.
                let is_over = record.reason == Reason::RunEnded;
                let timeout = record.started + drawn.timeout;
                assert!(is_over || record.ended == timeout, "{record:?}");
                assert!(truth.answered_at >= record.ended, "{record:?} {truth:?}");
            }
        }
    }
}

fn check_seeds(name: &str, from: u64) {
    for seed in from..from + SEEDS {
        let drawn = drawn(seed);
        if catch_unwind(AssertUnwindSafe(|| check(&drawn))).is_err() {
            panic!(
                "seed {seed}: {drawn:?}\n\
                 reproduce with: cargo test -p assay-run --test it seeds::{name}"
            );
        }
    }
}

macro_rules! seeds {
    ($($name:ident: $from:literal,)*) => {
        $(#[test] fn $name() { check_seeds(stringify!($name), $from); })*
    };
}

seeds! {
    every_arrival_is_accounted_for_from_seed_0: 0,
    every_arrival_is_accounted_for_from_seed_125: 125,
    every_arrival_is_accounted_for_from_seed_250: 250,
    every_arrival_is_accounted_for_from_seed_375: 375,
    every_arrival_is_accounted_for_from_seed_500: 500,
    every_arrival_is_accounted_for_from_seed_625: 625,
    every_arrival_is_accounted_for_from_seed_750: 750,
    every_arrival_is_accounted_for_from_seed_875: 875,
    every_arrival_is_accounted_for_from_seed_1000: 1000,
    every_arrival_is_accounted_for_from_seed_1125: 1125,
    every_arrival_is_accounted_for_from_seed_1250: 1250,
    every_arrival_is_accounted_for_from_seed_1375: 1375,
    every_arrival_is_accounted_for_from_seed_1500: 1500,
    every_arrival_is_accounted_for_from_seed_1625: 1625,
    every_arrival_is_accounted_for_from_seed_1750: 1750,
    every_arrival_is_accounted_for_from_seed_1875: 1875,
}

/// A hiccup under steady arrivals: rate, capacity, length and healthy latency are drawn.
fn check_sawtooth(seed: u64) {
    let mut draws = Seed(seed).draws(STREAM, 1);
    let rate = 500.0 + draws.below(1_000) as f64;
    let capacity = rate * (1.05 + draws.unit() * 3.0);
    let length = Nanos::from_millis(50 + draws.below(400));
    let after = Nanos::from_millis(100);
    let healthy = Nanos::from_micros(draws.below(500));
    let hiccup = Some(Hiccup { after, length, is_periodic: false });
    let latency = Delay::Constant(healthy);
    let node = Node { latency, max: capacity, hiccup, ..Node::new("n", true) };
    let store = Config { nodes: vec![node], own_service: false, ..Config::default() };
    let lasts = length.as_secs_f64() * capacity / (capacity - rate);
    let processes = ((0.2 + lasts) * rate) as u64 + 10;
    let arrivals = Arrivals::constant_rate(rate, ArrivalProcess::Constant);
    let (in_flight, overflow) = (1 << 20, Overflow::Queue);
    let load = Load::Open(Open { arrivals, in_flight, overflow });
    let (extent, timeout) = (extent(Some(processes), None), Nanos::from_secs(60));
    let found = perform(&Drawn { seed, load, extent, width: 1, timeout, store });
    let peak = found.records.iter().map(Record::response).max().expect("there are records");
    let is_slow = |record: &&Record| record.response() > healthy + Nanos(1_000);
    let last = found.records.iter().filter(is_slow).map(|record| record.intended).max();
    let last = last.expect("the hiccup is felt") - after;
    let reported = format!("seed {seed}: {rate}/s at {capacity}/s, {length}, healthy {healthy}");
    // The first arrival comes up to a gap after the hiccup began, the last up to one before it is
    // over.
    let gap = 1.0 / rate;
    let expected = (length + healthy).as_secs_f64();
    let off = expected - peak.as_secs_f64();
    assert!((-1e-6..=gap).contains(&off), "{reported}: peak {peak}");
    let off = (last.as_secs_f64() + gap - lasts).abs();
    assert!(off <= 0.01 * lasts + gap, "{reported}: back after {last}, wanted {lasts} s");
}

#[test]
fn after_any_hiccup_the_response_is_the_sawtooth_of_the_closed_form() {
    (0..200).for_each(check_sawtooth);
}

/// A run that has only its duration, on a store that serves `max` a second.
fn for_a_while(load: Load, max: f64, latency: Nanos, hiccup: Option<Hiccup>) -> ExperimentResult {
    let latency = Delay::Constant(latency);
    let node = Node { latency, max, hiccup, ..Node::new("n", true) };
    let store = Config { nodes: vec![node], own_service: false, ..Config::default() };
    let duration = Some(Nanos::from_millis(100));
    let extent = Extent { duration, warm_up: Nanos::ZERO, processes: None };
    let timeout = Nanos::from_secs(1);
    perform(&Drawn { seed: 1, load, extent, width: 1, timeout, store })
}

#[test]
fn an_overloaded_run_that_ends_by_time_does_not_stand_still() {
    let load = open(1e6, 64, Overflow::Queue);
    let found = for_a_while(load, 100.0, Nanos::from_micros(500), None);
    assert_eq!((found.offered, found.stood_still), (100_000, false));
    assert!(found.outcomes[Outcome::Dropped as usize] > 1 << 16, "{:?}", found.outcomes);
}

#[test]
fn arrivals_that_waited_may_all_be_answered_at_one_moment() {
    let (after, length) = (Nanos::from_millis(1), Nanos::from_millis(90));
    let hiccup = Some(Hiccup { after, length, is_periodic: false });
    let found = for_a_while(open(1e6, 1 << 20, Overflow::Queue), 0.0, Nanos::ZERO, hiccup);
    assert_eq!((found.outcomes, found.stood_still), ([100_000, 0, 0, 0], false));
}

#[test]
fn sessions_with_immediate_responses_do_not_advance_simulated_time() {
    let found = for_a_while(closed(1, Think::No, None), 0.0, Nanos::ZERO, None);
    assert!(found.stood_still);
}
