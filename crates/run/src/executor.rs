//! Executor: starts the workers, then gathers their outcomes.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use assay_model::{Nanos, ObservedValue, OperationEncoder, QueryRole, Record, Seed, Source};
use assay_store::{OpenError, Store};

use crate::clock::{Clock, SimulatedClock, Wall, be_punctual};
use crate::control::{Control, Urgency};
use crate::live_counters::LiveCounters;
use crate::load::{Extent, Load, Overflow, Share, Spin, WorkloadKind};
use crate::processors::hold_to;
use crate::sink::Sink;
use crate::worker::{Claims, ClosedLoop, OpenLoop, Scheduler, Task, Worker};

pub use crate::worker::{AbortReason, FailedOperation, WorkerOutcome};

/// How long before the epoch all workers are started, so that none is late.
const AHEAD: Duration = Duration::from_millis(2);

/// Processes that a worker claims at once when it shares the counter with other workers.
const SHARED_CHUNK: u64 = 8;

/// Processes that a worker claims at once when it is alone.
const LONE_CHUNK: u64 = 4096;

/// A run: plan, load and duration.
pub struct Workers<'a> {
    /// How many workers, at least 1.
    pub workers: usize,
    /// Opens a source of processes, one for each worker.
    pub source: &'a (dyn Fn() -> Box<dyn Source> + Sync),
    /// What turns numbers into bytes.
    pub encoder: Arc<dyn OperationEncoder>,
    /// The fields of the table, by number.
    pub fields: Arc<[String]>,
    /// The protocol of the plan's processes.
    pub workload_kind: WorkloadKind,
    /// What each query means to the judge, by its place in the catalogue; empty if none is judged.
    pub roles: Arc<[QueryRole]>,
    /// The load model.
    pub load: Load,
    /// The run's length.
    pub extent: Extent,
    /// How long an answer is waited for.
    pub timeout: Nanos,
    /// The seed of arrivals and think times.
    pub seed: Seed,
    /// Whether this fills the store: records carry the load phase.
    pub is_load: bool,
    /// Whether the first operation that fails ends the run.
    pub stop_at_failure: bool,
    /// Whether workers burn processor time to be punctual.
    pub spin: Spin,
    /// The processors that workers are pinned to, in turn; none leaves them to the system.
    pub processors: &'a [usize],
    /// The part of the run that is this process's; none if it has all of it.
    pub share: Option<Share>,
    /// What says when the run begins; none begins it as soon as all clients are open.
    pub start: Option<&'a dyn Start>,
}

/// What says when a run begins that several processes share.
pub trait Start: Sync {
    /// Says that all clients of this process are open, and waits for the run's epoch.
    ///
    /// # Errors
    /// If the run will not begin; the text says why.
    fn epoch(&self, spin: Spin) -> Result<Wall, String>;
}

/// What a run did, beside its records.
#[derive(Clone, Debug, Default)]
pub struct RunOutcome {
    /// Worker by worker.
    pub workers: Vec<WorkerOutcome>,
    /// Whether the outside ended it.
    pub is_interrupted: bool,
}

/// The run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// A worker's client could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A thread could not be started.
    #[error("cannot start a thread for worker {worker}: {reason}; use fewer workers or sessions")]
    Thread {
        /// The worker.
        worker: usize,
        /// What the operating system said.
        reason: std::io::Error,
    },
    /// Whoever says when the run begins has called it off.
    #[error("{0}")]
    CalledOff(String),
    /// A worker could not be pinned to its processor.
    #[error(
        "cannot pin worker {worker} to processor {processor}: {reason}; name another processor"
    )]
    Hold {
        /// The worker.
        worker: usize,
        /// The processor.
        processor: usize,
        /// What the operating system said.
        reason: std::io::Error,
    },
}

impl RunOutcome {
    /// Sum of `figure` over the workers.
    pub fn sum(&self, figure: impl Fn(&WorkerOutcome) -> u64) -> u64 {
        self.workers.iter().map(figure).sum()
    }

    /// Sum of the fingerprints of all operations offered, modulo 2^128.
    pub fn fingerprint(&self) -> u128 {
        self.workers.iter().fold(0, |sum, worker| sum.wrapping_add(worker.fingerprint))
    }

    /// When the last worker ended.
    pub fn ended(&self) -> Nanos {
        self.workers.iter().map(|worker| worker.ended).max().unwrap_or(Nanos::ZERO)
    }

    /// The time of the last operation: intended in the open model, started in the closed.
    pub fn issued_until(&self) -> Nanos {
        self.workers.iter().map(|worker| worker.issued_until).max().unwrap_or(Nanos::ZERO)
    }

    /// Whether the plan, or the number of processes, ended the load.
    pub fn ran_out(&self) -> bool {
        self.workers.iter().any(|worker| worker.ran_out)
    }

    /// The first problem of a worker.
    pub fn trouble(&self) -> Option<&AbortReason> {
        self.workers.iter().find_map(|worker| worker.trouble.as_ref())
    }

    /// The first operation that failed, over all workers.
    pub fn first_failure(&self) -> Option<FailedOperation> {
        self.workers
            .iter()
            .filter_map(|worker| worker.first_failure)
            .min_by_key(|failure| failure.at)
    }
}

/// Issues all operations, on one thread per worker, and returns when every response has come.
///
/// `sinks` and `worker_counters` belong to the workers in order; there must be one of each per
/// worker.
///
/// # Errors
/// If a client cannot be opened, a thread cannot be started or not be held to its processor; then
/// no operation was issued.
///
/// # Panics
/// If there is not exactly one sink and one set of live counters per worker.
pub fn execute<S: Sink + Send>(
    run: &Workers<'_>,
    store: &dyn Store,
    sinks: Vec<S>,
    worker_counters: &[LiveCounters],
    control: &Control,
) -> Result<(RunOutcome, Vec<S>), ExecuteError> {
    assert_eq!(sinks.len(), run.workers, "each worker needs a sink");
    assert_eq!(worker_counters.len(), run.workers, "each worker needs a set of live counters");
    let counter = Arc::new(AtomicU64::new(0));
    run.begin(control);
    thread::scope(|scope| {
        let (ready_sender, ready) = mpsc::channel();
        let mut starts = Vec::new();
        let mut threads = Vec::new();
        for (worker, (sink, live_counters)) in sinks.into_iter().zip(worker_counters).enumerate() {
            let (start_sender, start) = mpsc::channel::<Wall>();
            let ready_sender = ready_sender.clone();
            let counter = Arc::clone(&counter);
            let work = move || {
                be_punctual();
                let _alarm = EndsOthersOnPanic(control);
                let opened = store.open(worker).map_err(ExecuteError::Open);
                // Threads that the client has started by now are not pinned with the worker.
                let opened = opened.and_then(|client| run.hold(worker).map(|()| client));
                let (client, report) = match opened {
                    Ok(client) => (Some(client), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                // If the receiver is gone, the run was given up; so does this worker, below.
                drop(ready_sender.send(report));
                // Only workers that have yet to report hold senders: a dead one ends the wait.
                drop(ready_sender);
                let task = run.task(worker, counter, control, store);
                let (client, clock) = (client?, start.recv().ok()?);
                Some(Worker::new(task, client, clock, control, live_counters, sink).work())
            };
            starts.push(start_sender);
            threads.push(
                thread::Builder::new()
                    .name(format!("worker-{worker}"))
                    .spawn_scoped(scope, work)
                    .map_err(|reason| ExecuteError::Thread { worker, reason })?,
            );
        }
        drop(ready_sender);
        // A worker that died silently has told the others to end; joining it says why.
        for report in ready {
            report?;
        }
        let clock = run.epoch()?;
        control.set_clock(Some(clock.clone()));
        for start in starts {
            drop(start.send(clock.clone()));
        }
        let mut outcome = RunOutcome::default();
        let mut sinks = Vec::new();
        for thread in threads {
            let (worker, sink) = thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                .expect("a worker that reported ready was started");
            outcome.workers.push(worker);
            sinks.push(sink);
        }
        outcome.is_interrupted = control.urgency() > Urgency::None && outcome.trouble().is_none();
        Ok((outcome, sinks))
    })
}

/// Ends the other workers if its owner panics: that one's share would be missing anyway.
struct EndsOthersOnPanic<'a>(&'a Control);

impl Drop for EndsOthersOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abort();
        }
    }
}

/// Issues all operations on this thread as one worker, with a clock of the caller's: simulations,
/// tests.
pub fn execute_alone<C: Clock + Clone, S: Sink>(
    run: &Workers<'_>,
    store: &dyn Store,
    clock: C,
    sink: S,
    control: &Control,
) -> Result<(WorkerOutcome, S), OpenError> {
    let live_counters = LiveCounters::new(crate::live_counters::Latency::Response);
    let client = store.open(0)?;
    run.begin(control);
    let task = run.task(0, Arc::new(AtomicU64::new(0)), control, store);
    Ok(Worker::new(task, client, clock, control, &live_counters, sink).work())
}

/// Issues all operations on this thread as one worker in simulated time: an hour passes as fast as
/// the store computes its answers, and the same run gives the same records.
///
/// Processor time stays that of the machine. If only time could end the load but time does not
/// pass, because every session is answered at once, the run ends with a [`AbortReason::Plan`].
///
/// # Errors
/// If the client cannot be opened; then no operation was issued.
///
/// # Panics
/// If the run has more than one worker: they would need an order among each other.
pub fn execute_in_simulated_time<S: Sink>(
    run: &Workers<'_>,
    store: &dyn Store,
    sink: S,
    live_counters: &LiveCounters,
    control: &Control,
) -> Result<(RunOutcome, S), ExecuteError> {
    assert_eq!(run.workers, 1, "simulated time has one worker");
    let client = store.open(0)?;
    run.begin(control);
    let task = run.task(0, Arc::new(AtomicU64::new(0)), control, store);
    let ends_by_number = run.extent.processes.is_some() || task.source.len().is_some();
    // Arrivals of the open model come at moments of their own, so with them time goes on.
    let is_open = matches!(run.load, Load::Open(_));
    let may_stand_still = !ends_by_number && !is_open;
    let most = if may_stand_still { AT_ONE_MOMENT + 2 * task.in_flight as u64 } else { u64::MAX };
    let clock = SimulatedClock::new();
    control.set_simulated(Some(clock.clone()));
    let sink = TimeWatch { sink, control, most, moment: Nanos::ZERO, count: 0, stood_still: false };
    let (mut worker, sink) = Worker::new(task, client, clock, control, live_counters, sink).work();
    if sink.stood_still {
        worker.trouble.get_or_insert_with(|| AbortReason::Plan(STOOD_STILL.to_owned()));
    }
    let is_interrupted = control.urgency() > Urgency::None && worker.trouble.is_none();
    Ok((RunOutcome { workers: vec![worker], is_interrupted }, sink.sink))
}

/// Operations that may end at one moment of simulated time, in addition to two for each that can be
/// in flight, before the run is declared stuck.
const AT_ONE_MOMENT: u64 = 1 << 16;

const STOOD_STILL: &str = "simulated time stands still: every session is answered in no time, so a \
                           length of time is never reached; give --operations, --think, or a \
                           store whose answers take time";

/// Ends a run whose end is a moment that never comes.
struct TimeWatch<'a, S> {
    sink: S,
    control: &'a Control,
    /// Operations that may end at one moment.
    most: u64,
    moment: Nanos,
    count: u64,
    stood_still: bool,
}

impl<S: Sink> Sink for TimeWatch<'_, S> {
    #[inline]
    fn push(&mut self, record: Record) {
        if record.ended != self.moment {
            (self.moment, self.count) = (record.ended, 0);
        }
        // What is dropped when a run ends goes all at once, and was not answered in no time.
        self.count += u64::from(record.outcome != assay_model::Outcome::Dropped);
        if self.count >= self.most {
            self.stood_still = true;
            self.control.drain();
        }
        self.sink.push(record);
    }

    fn observe(&mut self, value: ObservedValue) {
        self.sink.observe(value);
    }

    fn flush(&mut self) {
        self.sink.flush();
    }

    fn is_broken(&self) -> bool {
        self.sink.is_broken()
    }

    fn stalls(&self) -> u64 {
        self.sink.stalls()
    }
}

impl Workers<'_> {
    /// Makes known what may be changed from outside.
    pub fn begin(&self, control: &Control) {
        control.begin(match &self.load {
            Load::Open(open) => Some(open.arrivals.rate_profile.clone()),
            Load::Closed(_) => None,
        });
    }

    /// The clock of the run, whose clients are all open.
    fn epoch(&self) -> Result<Wall, ExecuteError> {
        match self.start {
            Some(start) => start.epoch(self.spin).map_err(ExecuteError::CalledOff),
            None => Ok(Wall::starting_in(AHEAD, self.spin)),
        }
    }

    /// Pins the calling thread, which is that of `worker`, to its processor.
    fn hold(&self, worker: usize) -> Result<(), ExecuteError> {
        let Some(turn) = worker.checked_rem(self.processors.len()) else { return Ok(()) };
        let processor = self.processors[turn];
        hold_to(processor).map_err(|reason| ExecuteError::Hold { worker, processor, reason })
    }

    fn task(
        &self,
        worker: usize,
        counter: Arc<AtomicU64>,
        control: &Control,
        store: &dyn Store,
    ) -> Task {
        let source = (self.source)();
        let processes =
            self.extent.processes.unwrap_or(u64::MAX).min(source.len().unwrap_or(u64::MAX));
        let share = self.share.unwrap_or(Share::whole(self.workers));
        let place = share.place(worker);
        let (scheduler, in_flight, overflow) = match &self.load {
            Load::Open(open) => {
                let (rates, end) = (control.rates(), self.extent.end());
                let scheduler =
                    OpenLoop::new(&open.arrivals, rates, self.seed, place, processes, end);
                (Scheduler::Open(scheduler), part_of(open.in_flight, place), open.overflow)
            }
            Load::Closed(closed) => {
                let chunk = if self.workers == 1 { LONE_CHUNK } else { SHARED_CHUNK };
                let claims = Claims::new(counter, chunk, (share.agent, share.agents));
                let end = self.extent.end();
                let scheduler = ClosedLoop::new(closed, self.seed, place, claims, processes, end);
                (Scheduler::Closed(scheduler), closed.sessions as usize, Overflow::Queue)
            }
        };
        Task {
            source,
            encoder: Arc::clone(&self.encoder),
            fields: Arc::clone(&self.fields),
            workload_kind: self.workload_kind,
            roles: Arc::clone(&self.roles),
            calls: store.capabilities().calls,
            scheduler,
            in_flight,
            overflow,
            timeout: self.timeout,
            extent: self.extent,
            is_load: self.is_load,
            stop_at_failure: self.stop_at_failure,
        }
    }
}

/// A worker's part of a bound: at least 1, and all parts together are the bound.
fn part_of(total: usize, (worker, workers): (usize, usize)) -> usize {
    (total / workers + usize::from(worker < total % workers)).max(1)
}
