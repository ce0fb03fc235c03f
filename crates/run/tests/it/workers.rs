//! Many workers issue the same operations as one.

use assay_model::{Layout, Record, Setting, Source};
use assay_run::{
    Control, Latency, LiveCounters, Load, Overflow, SimulatedClock, Sink, Think, execute,
    processors,
};
use assay_store::{Capabilities, Client, OpenError, Store};

use crate::stand_ins::{Manner, Plan, RECORDS, StandInStore, closed, extent, open, workers};

/// The fingerprint and the sorted operation numbers of a run of 7000 processes.
fn run_on(count: usize, load: Load) -> (u128, Vec<u64>) {
    run_of(2, count, load)
}

/// The same with processes of `width` operations.
fn run_of(width: u64, count: usize, load: Load) -> (u128, Vec<u64>) {
    let source = move || Box::new(Plan { width }) as Box<dyn Source>;
    let run = workers(count, &source, load, extent(Some(7000), None));
    let sinks = (0..count).map(|_| Vec::<Record>::with_capacity(RECORDS)).collect();
    let worker_counters: Vec<LiveCounters> =
        (0..count).map(|_| LiveCounters::new(Latency::Response)).collect();
    let (outcome, sinks) = execute(
        &run,
        &StandInStore(Manner::Inline, SimulatedClock::new()),
        sinks,
        &worker_counters,
        &Control::new(),
    )
    .expect("stand-ins open");
    let mut indexes: Vec<u64> = sinks.iter().flatten().map(|record| record.index).collect();
    indexes.sort_unstable();
    (outcome.fingerprint(), indexes)
}

#[test]
fn closed_runs_issue_the_same_operations_on_any_number_of_workers() {
    let alone = run_on(1, closed(14, Think::No, None));
    assert_eq!(alone.1, (0..14_000).collect::<Vec<u64>>());
    assert_eq!(run_on(2, closed(14, Think::No, None)), alone);
    assert_eq!(run_on(7, closed(14, Think::No, None)), alone);
}

#[test]
fn lone_sessions_issue_the_same_operations_on_any_number_of_workers() {
    let alone = run_of(1, 1, closed(1, Think::No, None));
    assert_eq!(alone.1, (0..7000).collect::<Vec<u64>>());
    assert_eq!(run_of(1, 2, closed(2, Think::No, None)), alone);
    assert_eq!(run_of(1, 7, closed(7, Think::No, None)), alone);
}

#[test]
fn open_runs_issue_the_same_operations_on_any_number_of_workers() {
    let load = || open(1e6, 100, Overflow::Queue);
    let alone = run_on(1, load());
    assert_eq!(alone.1, (0..14_000).collect::<Vec<u64>>());
    assert_eq!(run_on(2, load()), alone);
    assert_eq!(run_on(7, load()), alone);
}

/// A store with a worker that cannot be opened without a panic.
struct Panics {
    stand: StandInStore,
    worker: usize,
}

impl Store for Panics {
    fn capabilities(&self) -> Capabilities {
        self.stand.capabilities()
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        self.stand.prepare(layout)
    }

    fn open(&self, worker: usize) -> Result<Box<dyn Client>, OpenError> {
        assert_ne!(worker, self.worker, "this worker panics");
        self.stand.open(worker)
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        self.stand.settings()
    }

    fn clear(&self) -> Result<(), OpenError> {
        self.stand.clear()
    }
}

#[test]
fn a_worker_that_panics_while_it_opens_ends_the_run_with_its_panic() {
    for worker in 0..3 {
        let source = || Box::new(Plan { width: 1 }) as Box<dyn Source>;
        let run = workers(3, &source, closed(3, Think::No, None), extent(None, Some(3600)));
        let store = Panics { stand: StandInStore(Manner::Inline, SimulatedClock::new()), worker };
        let worker_counters: Vec<LiveCounters> =
            (0..3).map(|_| LiveCounters::new(Latency::Response)).collect();
        let sinks = vec![Vec::<Record>::new(); 3];
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            execute(&run, &store, sinks, &worker_counters, &Control::new()).map(|_| ())
        }));
        let panic = panic.expect_err("the worker's panic goes on");
        let text = panic.downcast_ref::<String>().expect("it has a text");
        assert!(text.contains("this worker panics"), "{text}");
    }
}

/// The processors that the thread which writes records may run on.
#[derive(Default)]
struct MayUse(String);

impl Sink for MayUse {
    fn push(&mut self, _record: Record) {
        let status = std::fs::read_to_string("/proc/thread-self/status").expect("it is reported");
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        self.0 = list.expect("the list is reported").trim().to_owned();
    }

    fn observe(&mut self, _value: assay_model::ObservedValue) {}

    fn flush(&mut self) {}

    fn is_broken(&self) -> bool {
        false
    }

    fn stalls(&self) -> u64 {
        0
    }
}

/// The processors of `count` workers that are pinned to `list`, or the error.
fn places_of(count: usize, list: &[usize]) -> Result<Vec<String>, String> {
    let source = || Box::new(Plan { width: 1 }) as Box<dyn Source>;
    let load = closed(count as u32, Think::No, None);
    let mut run = workers(count, &source, load, extent(Some(1000), None));
    run.processors = list;
    let worker_counters: Vec<LiveCounters> =
        (0..count).map(|_| LiveCounters::new(Latency::Response)).collect();
    let sinks = (0..count).map(|_| MayUse::default()).collect();
    let store = StandInStore(Manner::Inline, SimulatedClock::new());
    let (_, sinks) = execute(&run, &store, sinks, &worker_counters, &Control::new())
        .map_err(|error| error.to_string())?;
    // A worker that came too late for any operation has reported nothing.
    Ok(sinks.into_iter().map(|sink| sink.0).filter(|list| !list.is_empty()).collect())
}

#[test]
#[cfg(target_os = "linux")]
fn workers_are_pinned_to_the_named_processors() {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("it is reported");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let all = list.expect("the list is reported").trim();
    let allowed = processors::parse(all).expect("what the system tells can be read");
    assert_eq!(places_of(1, &[]), Ok(vec![all.to_owned()]), "left to the system");
    for &processor in &allowed {
        assert_eq!(places_of(1, &[processor]), Ok(vec![processor.to_string()]));
    }
    let named: Vec<String> = allowed.iter().map(usize::to_string).collect();
    let places = places_of(allowed.len() + 1, &allowed).expect("workers take their turns");
    assert!(places.iter().all(|place| named.contains(place)), "{places:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_whose_workers_cannot_be_pinned_does_not_begin() {
    let reported = places_of(2, &[1023]).expect_err("nobody has so many processors");
    assert!(
        reported.contains("to processor 1023: ") && reported.contains("name another"),
        "{reported}"
    );
}
