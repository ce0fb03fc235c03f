//! The study of coordinated omission: figures 1, 3, 4, 5 of the paper, in simulated time.
//!
//! Friedrich, Wingerath, Ritter: "Coordinated Omission in NoSQL Database Benchmarking", BTW 2017.

mod run_dir;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use assay_analysis::sawtooth::{Figures, LatencyCourse, LatencyKind, Sawtooth, SlowClient};
use assay_analysis::{AnalysisOptions, Analyzer, LoadModel, Phases, Summary, Window};
use assay_history::manifest::LoadSection;
use assay_model::{Nanos, Record, Seed};
use assay_report::study::{
    MeasurementMethod, MethodResult, STUDY_QUANTILES, Study, StudyClock, StudyRun,
};
use assay_results::shell::quoted;
use assay_run::{
    ArrivalProcess, Arrivals, Closed, Control, Extent, Latency, LiveCounters, Load, Open, Overflow,
    Spin, Think, Workers, WorkloadKind, execute_in_simulated_time,
};
use assay_sim::config::Config;
use assay_sim::delay::Delay;
use assay_sim::queue::{Grain, Hiccup};
use assay_sim::{SimulatedStore, presets};
use assay_store::Store;
use assay_workload::{Plan, PlanPhase, Spec};

use crate::error::{Context, StudyError, as_invalid, other};

/// Client threads of figure 4.
const THREADS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// Capacities of figure 5, per second.
const CAPACITIES: [u32; 8] = [1053, 1111, 1250, 1333, 1430, 1666, 2000, 10_000];

/// The capacity of figures 1, 3 and 4.
const CAPACITY: u32 = 1250;

/// The threads of figure 5.
const MANY: u32 = 128;

/// Operations a second of figures 3 to 5, and how many there are.
const RATE: (f64, u64) = (1000.0, 90_000);

/// The same of figure 1, for twenty seconds.
const SLOW_RATE: (f64, u64) = (10.0, 200);

/// When the hiccups of figure 1 and of the others begin.
const HICCUPS_AT: (Nanos, Nanos) = (Nanos::from_secs(10), Nanos::from_secs(30));

/// How long each hiccup lasts.
const HICCUP: Nanos = Nanos::from_secs(1);

/// The time of a request that does not queue: in the paper, less than 50 µs.
const HEALTHY: Nanos = Nanos::from_micros(50);

/// Threads with what they lose between an answer and their next request.
const SLOW_CLIENTS: [(u32, Nanos); 9] = [
    (1, Nanos::ZERO),
    (1, Nanos::from_micros(850)),
    (1, Nanos::from_micros(950)),
    (4, Nanos::from_micros(3_000)),
    (4, Nanos::from_micros(3_500)),
    (4, Nanos::from_micros(3_800)),
    (4, Nanos::from_micros(3_950)),
    (16, Nanos::from_micros(3_950)),
    (16, Nanos::from_micros(14_000)),
];

/// The course that is shown of those.
const LATE_STRETCHES: (Nanos, Nanos, usize) = (Nanos::from_secs(28), Nanos::from_millis(100), 340);

/// Records of the data set; no latency depends on it.
pub const RECORDS: u64 = 1_000;

/// Properties of the data set: no latency depends on sizes, and small ones are quicker to copy.
pub const SIZES: [&str; 2] = ["fieldcount=1", "fieldlength=8"];

/// One run that is wanted.
#[derive(Clone, Copy, Debug)]
struct RunSpec {
    sessions: Option<u32>,
    clock: StudyClock,
    capacity: u32,
    pause: Nanos,
    is_slow: bool,
}

/// What a study does.
pub struct OmissionRequest<'a> {
    /// The figures of the paper, some of 1, 3, 4, 5.
    pub figures: Vec<u32>,
    /// The seed.
    pub seed: Seed,
    /// The workload: reads of single records.
    pub spec: Spec,
    /// The command that was typed.
    pub command: Vec<String>,
    /// How many runs are simulated at once.
    pub cores: usize,
    /// Keeps a run directory of every run, if that is wanted.
    pub keep: Option<KeptRuns<'a>>,
}

/// The place of run directories, and what stands in each that the program knows.
pub struct KeptRuns<'a> {
    /// The directory that holds them.
    pub dir: &'a Path,
    /// A load as a manifest describes it.
    pub describe: &'a (dyn Fn(&Load) -> LoadSection + Sync),
    /// The present moment as text in UTC.
    pub now: &'a (dyn Fn() -> String + Sync),
}

/// What a study does, compiled: the plan that loads the store, and the one that is run.
struct Compiled<'a> {
    request: &'a OmissionRequest<'a>,
    plans: [Plan; 2],
}

/// The workload to load and to run.
fn plans(request: &OmissionRequest<'_>) -> Result<[Plan; 2], StudyError> {
    let mut spec = request.spec.clone();
    spec.operations.count = None;
    let plan = |phase| Plan::new(&spec, request.seed, phase).map_err(as_invalid);
    Ok([plan(PlanPhase::Load)?, plan(PlanPhase::Run)?])
}

/// The runs that the wanted figures need, each once.
fn target(figures: &[u32]) -> Vec<RunSpec> {
    let has = |figure: u32| figures.contains(&figure);
    let threads: &[u32] = match (has(4), has(3)) {
        (true, _) => &THREADS,
        (false, true) => &[4, 16],
        (false, false) => &[],
    };
    let mut all = Vec::new();
    let (exact, pause) = (StudyClock::Exact, Nanos::ZERO);
    if has(1) {
        let run =
            |sessions| RunSpec { sessions, clock: exact, capacity: CAPACITY, pause, is_slow: true };
        all.extend([run(None), run(Some(1))]);
    }
    for clock in [exact, StudyClock::Milliseconds] {
        let mut add = |sessions, capacity| {
            let run = RunSpec { sessions, clock, capacity, pause, is_slow: false };
            let is_there = |other: &RunSpec| {
                !other.is_slow
                    && (other.sessions, other.clock, other.capacity) == (sessions, clock, capacity)
            };
            if !all.iter().any(is_there) {
                all.push(run);
            }
        };
        if !threads.is_empty() {
            add(None, CAPACITY);
        }
        threads.iter().for_each(|&threads| add(Some(threads), CAPACITY));
        for capacity in CAPACITIES.into_iter().filter(|_| has(5)) {
            add(None, capacity);
            add(Some(MANY), capacity);
        }
    }
    all
}

/// Simulates the runs that the figures need.
///
/// # Errors
/// If a run fails, or cannot be kept.
pub fn execute(request: &OmissionRequest<'_>) -> Result<Study, StudyError> {
    let compiled = Compiled { request, plans: plans(request)? };
    let runs = target(&request.figures);
    let is_late_shown = request.figures.contains(&4);
    let slow: Vec<RunSpec> = SLOW_CLIENTS
        .iter()
        .filter(|_| is_late_shown)
        .map(|&(threads, pause)| RunSpec {
            sessions: Some(threads),
            clock: StudyClock::Exact,
            capacity: CAPACITY,
            pause,
            is_slow: false,
        })
        .collect();
    Ok(Study {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: quoted(&request.command),
        seed: request.seed.0,
        runs: each(request.cores, &runs, |run| measure(&compiled, run))?,
        slow: each(request.cores, &slow, |run| catch_up(&compiled, run))?,
    })
}

/// Does `work` for every one of `all`, on so many cores at once; results in order.
fn each<T: Sync, R: Send>(
    cores: usize,
    all: &[T],
    work: impl Fn(&T) -> Result<R, StudyError> + Sync,
) -> Result<Vec<R>, StudyError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            match all.get(place) {
                Some(one) => done.push((place, work(one))),
                None => return done,
            }
        }
    };
    let mut done = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().flat_map(join).collect::<Vec<(usize, Result<R, StudyError>)>>()
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

impl RunSpec {
    fn sawtooth(&self) -> Sawtooth {
        let (rate, operations) = if self.is_slow { SLOW_RATE } else { RATE };
        Sawtooth {
            rate,
            capacity: f64::from(self.capacity),
            at: if self.is_slow { HICCUPS_AT.0 } else { HICCUPS_AT.1 },
            hiccup: HICCUP,
            healthy: HEALTHY,
            operations,
        }
    }

    /// The paper's store: its equations, one node, no service of a request's own.
    fn store(&self) -> Config {
        let mut config = presets::find(&format!("hickup1000_max{}", self.capacity))
            .expect("the capacities are those of presets");
        config.own_service = false;
        config.limits.truth = 0;
        config.clock = match self.clock {
            StudyClock::Exact => Grain::Exact,
            StudyClock::Milliseconds => Grain::Milliseconds,
        };
        for node in &mut config.nodes {
            node.latency = Delay::Constant(HEALTHY);
            let after = self.sawtooth().at;
            node.hiccup = Some(Hiccup { after, length: HICCUP, is_periodic: false });
        }
        config
    }

    fn load(&self) -> Load {
        let rate = self.sawtooth().rate;
        let think = if self.pause == Nanos::ZERO { Think::No } else { Think::Constant(self.pause) };
        match self.sessions {
            None => Load::Open(Open {
                arrivals: Arrivals::constant_rate(rate, ArrivalProcess::Constant),
                // Nothing may be held back: the whole backlog of the worst case has room.
                in_flight: 1 << 20,
                overflow: Overflow::Abort,
            }),
            Some(sessions) => Load::Closed(Closed { sessions, think, target_rate: Some(rate) }),
        }
    }

    /// A name for its run directory.
    fn name(&self) -> String {
        let clients = match self.sessions {
            None => "open".to_owned(),
            Some(sessions) => format!("threads{sessions}"),
        };
        let (rate, capacity, clock) = (self.sawtooth().rate, self.capacity, self.clock.name());
        let pause = match self.pause {
            Nanos::ZERO => String::new(),
            Nanos(ns) => format!("-pause{}us", ns / 1_000),
        };
        format!("rate{rate}-{clients}-max{capacity}-{clock}{pause}")
    }
}

/// Loads a fresh store, runs the workload, and returns the records.
fn send(compiled: &Compiled<'_>, target: &RunSpec) -> Result<Vec<Record>, StudyError> {
    let [load, run] = &compiled.plans;
    let seed = compiled.request.seed;
    let store = SimulatedStore::new(target.store(), seed).map_err(as_invalid)?;
    store.prepare(&load.layout()).map_err(other)?;
    let closed = Closed { sessions: 1, think: Think::No, target_rate: None };
    let extent = Extent { processes: load.len(), ..Extent::default() };
    simulate(seed, load, Load::Closed(closed), extent, &store)?;
    store.flush().map_err(other)?;
    let processes = Some(target.sawtooth().operations);
    let extent = Extent { processes, ..Extent::default() };
    let records = simulate(seed, run, target.load(), extent, &store)?;
    if let Some(kept) = &compiled.request.keep {
        run_dir::keep(kept, &compiled.request.command, target, run, &store, &records)?;
    }
    Ok(records)
}

fn simulate(
    seed: Seed,
    plan: &Plan,
    load: Load,
    extent: Extent,
    store: &SimulatedStore,
) -> Result<Vec<Record>, StudyError> {
    let source = || plan.source();
    let run = Workers {
        workers: 1,
        source: &source,
        encoder: plan.encoder(),
        fields: plan.layout().tables[0].fields.clone().into(),
        workload_kind: WorkloadKind::Records,
        roles: std::sync::Arc::default(),
        load,
        extent,
        // There is no timeout: the longest wait is part of the measurement.
        timeout: Nanos::from_secs(3600),
        seed,
        is_load: plan.phase() == PlanPhase::Load,
        stop_at_failure: true,
        spin: Spin::Never,
        processors: &[],
        share: None,
        start: None,
    };
    let live_counters = LiveCounters::new(Latency::Service);
    let control = Control::new();
    let (outcome, records) =
        execute_in_simulated_time(&run, store, Vec::new(), &live_counters, &control)
            .map_err(other)?;
    match (outcome.trouble(), outcome.first_failure()) {
        (None, None) => Ok(records),
        (trouble, failure) => {
            Err(StudyError::Run(format!("a run of the study failed: {trouble:?}, {failure:?}")))
        }
    }
}

/// A latency of a record, or one of its moments.
type Time = fn(&Record) -> Nanos;

/// One run with everything that is shown of it.
fn measure(compiled: &Compiled<'_>, target: &RunSpec) -> Result<StudyRun, StudyError> {
    let records = send(compiled, target)?;
    let sawtooth = target.sawtooth();
    let summary = analyze(target, &records).with_context(|| target.name())?;
    let method = |measure: MeasurementMethod| {
        let (latency, moment): (Time, Time) = match measure {
            MeasurementMethod::Service => (Record::service, |record| record.started),
            _ => (Record::response, |record| record.intended),
        };
        let hits = &summary.overall.hits;
        let distribution =
            if measure == MeasurementMethod::Service { &hits.service } else { &hits.response };
        MethodResult {
            measure,
            found: sawtooth.look(&records, latency, &STUDY_QUANTILES),
            expected: expected(target, measure),
            distribution: distribution.clone(),
            time_course: LatencyCourse::of(&records, stretches(target), moment, latency),
        }
    };
    let measures: &[MeasurementMethod] = match target.sessions {
        None => &[MeasurementMethod::Open],
        Some(_) => &[MeasurementMethod::Intended, MeasurementMethod::Service],
    };
    Ok(StudyRun {
        sessions: target.sessions,
        clock: target.clock,
        sawtooth,
        sights: measures.iter().map(|&measure| method(measure)).collect(),
    })
}

/// What the closed form says; there is none for a clock of whole milliseconds.
fn expected(target: &RunSpec, measure: MeasurementMethod) -> Option<Figures> {
    let observed = match (measure, target.sessions) {
        (MeasurementMethod::Service, Some(sessions)) => LatencyKind::Service { sessions },
        _ => LatencyKind::Response,
    };
    let is_exact = target.clock == StudyClock::Exact;
    is_exact.then(|| target.sawtooth().figures(observed, &STUDY_QUANTILES))
}

/// Where the chart of the course begins, its stretches and their number.
fn stretches(target: &RunSpec) -> (Nanos, Nanos, usize) {
    match target.is_slow {
        true => (Nanos::from_millis(8_950), Nanos::from_millis(100), 40),
        false => (Nanos::from_millis(29_500), Nanos::from_millis(20), 375),
    }
}

/// Analyzes a run, in which every operation must have been done.
fn analyze(target: &RunSpec, records: &[Record]) -> Result<Summary, StudyError> {
    let Sawtooth { rate, operations, .. } = target.sawtooth();
    let length = Nanos((operations as f64 * 1e9 / rate) as u64);
    let load = match target.sessions {
        None => LoadModel::Open { rate: Some(rate), limit: None },
        Some(sessions) => LoadModel::Closed { sessions: u64::from(sessions), target: Some(rate) },
    };
    let mut analyzer = Analyzer::new(AnalysisOptions {
        phases: Phases::Measure,
        window: Some(Window { from: Nanos::ZERO, until: length }),
        load,
        expected: Some(operations),
        ..AnalysisOptions::default()
    });
    analyzer.push(records);
    let summary = analyzer.finish();
    let is_whole = summary.overall.counts.hits == operations;
    if !is_whole || !summary.is_balanced || summary.backward_times > 0 {
        let counts = &summary.overall.counts;
        return Err(StudyError::Run(format!("not every operation was done: {counts:?}")));
    }
    Ok(summary)
}

/// When the intended latency of a client that loses time is back to normal.
fn catch_up(compiled: &Compiled<'_>, target: &RunSpec) -> Result<SlowClient, StudyError> {
    let records = send(compiled, target)?;
    let sawtooth = target.sawtooth();
    let sessions = target.sessions.unwrap_or(1);
    let cycle = target.pause + HEALTHY;
    let found = sawtooth.look(&records, Record::response, &[]);
    let last = Nanos((sawtooth.operations as f64 * 1e9 / sawtooth.rate) as u64);
    let is_back = sawtooth.at + found.back_after < last;
    Ok(SlowClient {
        sessions,
        pause: target.pause,
        catching_up_at: sawtooth.catching_up_at(sessions, cycle),
        expected_back: sawtooth.back_after_with(sessions, cycle),
        found_back: is_back.then_some(found.back_after),
        time_course: LatencyCourse::of(
            &records,
            LATE_STRETCHES,
            |record| record.intended,
            Record::response,
        ),
    })
}
