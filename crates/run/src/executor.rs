//! Starts the lanes, then gathers what they did.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use assay_model::{Nanos, Record, Render, Seed, Source};
use assay_store::{OpenError, Store};

use crate::clock::{Clock, Told, Wall, be_punctual};
use crate::control::{Control, Urgency};
use crate::gauge::Gauge;
use crate::lane::{Asker, Claims, ClosedAsker, Lane, OpenAsker, Task};
use crate::load::{Asks, Extent, Load, Overflow, Spin};
use crate::processors::hold_to;
use crate::sink::Sink;

pub use crate::lane::{Failure, LaneOutcome, Trouble};

/// How long before the epoch all lanes are told to begin, so that none comes late to it.
const AHEAD: Duration = Duration::from_millis(2);

/// Processes that a lane claims at once when it shares the counter with other lanes.
const SHARED_CHUNK: u64 = 8;

/// Processes that a lane claims at once when it is alone.
const LONE_CHUNK: u64 = 4096;

/// A run: what is asked, how, and for how long.
pub struct Lanes<'a> {
    /// How many lanes, at least 1.
    pub lanes: usize,
    /// Opens a source of processes, one for each lane.
    pub source: &'a (dyn Fn() -> Box<dyn Source> + Sync),
    /// What turns numbers into bytes.
    pub render: Arc<dyn Render>,
    /// The fields of the table, by number.
    pub fields: Arc<[String]>,
    /// In which tongue the plan asks.
    pub asks: Asks,
    /// The load model.
    pub load: Load,
    /// The run's length.
    pub extent: Extent,
    /// How long an answer is waited for.
    pub patience: Nanos,
    /// The seed of arrivals and think times.
    pub seed: Seed,
    /// Whether this fills the store: records carry the load phase.
    pub is_load: bool,
    /// Whether the first operation that fails ends the run.
    pub stop_at_failure: bool,
    /// Whether lanes burn processor time to be punctual.
    pub spin: Spin,
    /// The processors that lanes are held to, in turn; none leaves them to the system.
    pub processors: &'a [usize],
}

/// What a run did, beside its records.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Lane by lane.
    pub lanes: Vec<LaneOutcome>,
    /// Whether the outside ended it.
    pub is_interrupted: bool,
}

/// The run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// A lane's client could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A thread could not be started.
    #[error("cannot start a thread for lane {lane}: {reason}; use fewer lanes or sessions")]
    Thread {
        /// The lane.
        lane: usize,
        /// What the operating system said.
        reason: std::io::Error,
    },
    /// A lane could not be held to its processor.
    #[error("cannot hold lane {lane} to processor {processor}: {reason}; name another processor")]
    Hold {
        /// The lane.
        lane: usize,
        /// The processor.
        processor: usize,
        /// What the operating system said.
        reason: std::io::Error,
    },
}

impl Outcome {
    /// Sum of what `figure` gives for each lane.
    pub fn sum(&self, figure: impl Fn(&LaneOutcome) -> u64) -> u64 {
        self.lanes.iter().map(figure).sum()
    }

    /// Sum of the fingerprints of all operations offered, modulo 2^128.
    pub fn fingerprint(&self) -> u128 {
        self.lanes.iter().fold(0, |sum, lane| sum.wrapping_add(lane.fingerprint))
    }

    /// When the last lane ended.
    pub fn ended(&self) -> Nanos {
        self.lanes.iter().map(|lane| lane.ended).max().unwrap_or(Nanos::ZERO)
    }

    /// When the last operation was asked for: intended in the open model, started in the closed.
    pub fn asked_until(&self) -> Nanos {
        self.lanes.iter().map(|lane| lane.asked_until).max().unwrap_or(Nanos::ZERO)
    }

    /// Whether the plan, or the number of processes, ended the asking.
    pub fn ran_out(&self) -> bool {
        self.lanes.iter().any(|lane| lane.ran_out)
    }

    /// The first trouble that a lane met.
    pub fn trouble(&self) -> Option<&Trouble> {
        self.lanes.iter().find_map(|lane| lane.trouble.as_ref())
    }

    /// The first operation that failed, over all lanes.
    pub fn first_failure(&self) -> Option<Failure> {
        self.lanes.iter().filter_map(|lane| lane.first_failure).min_by_key(|failure| failure.at)
    }
}

/// Asks everything, on as many threads as there are lanes, and returns when all is answered.
///
/// `sinks` and `gauges` belong to the lanes in order; there must be one of each per lane.
///
/// # Errors
/// If a client cannot be opened, a thread cannot be started or not be held to its processor; then
/// nothing was asked.
///
/// # Panics
/// If there is not exactly one sink and one gauge per lane.
pub fn execute<S: Sink + Send>(
    run: &Lanes<'_>,
    store: &dyn Store,
    sinks: Vec<S>,
    gauges: &[Gauge],
    control: &Control,
) -> Result<(Outcome, Vec<S>), ExecuteError> {
    assert_eq!(sinks.len(), run.lanes, "each lane needs a sink");
    assert_eq!(gauges.len(), run.lanes, "each lane needs a gauge");
    let counter = Arc::new(AtomicU64::new(0));
    run.begin(control);
    thread::scope(|scope| {
        let (ready_sender, ready) = mpsc::channel();
        let mut starts = Vec::new();
        let mut threads = Vec::new();
        for (lane, (sink, gauge)) in sinks.into_iter().zip(gauges).enumerate() {
            let (start_sender, start) = mpsc::channel::<Wall>();
            let ready_sender = ready_sender.clone();
            let counter = Arc::clone(&counter);
            let work = move || {
                be_punctual();
                let _alarm = EndsOthersOnPanic(control);
                let opened = store.open(lane).map_err(ExecuteError::Open);
                // Threads that the client has started by now are not held with the lane.
                let opened = opened.and_then(|client| run.hold(lane).map(|()| client));
                let (client, report) = match opened {
                    Ok(client) => (Some(client), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                // Whoever no longer listens has given up the run; so does this lane, below.
                drop(ready_sender.send(report));
                // Only lanes that have yet to report hold senders: one that dies ends the wait.
                drop(ready_sender);
                let task = run.task(lane, counter, control, store);
                let (client, clock) = (client?, start.recv().ok()?);
                Some(Lane::new(task, client, clock, control, gauge, sink).work())
            };
            starts.push(start_sender);
            threads.push(
                thread::Builder::new()
                    .name(format!("lane-{lane}"))
                    .spawn_scoped(scope, work)
                    .map_err(|reason| ExecuteError::Thread { lane, reason })?,
            );
        }
        drop(ready_sender);
        // A lane that died unheard has told the others to end; joining it says why.
        for report in ready {
            report?;
        }
        let clock = Wall::starting_in(AHEAD, run.spin);
        control.set_clock(Some(clock.clone()));
        for start in starts {
            drop(start.send(clock.clone()));
        }
        let mut outcome = Outcome::default();
        let mut sinks = Vec::new();
        for thread in threads {
            let (lane, sink) = thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                .expect("a lane that reported ready was started");
            outcome.lanes.push(lane);
            sinks.push(sink);
        }
        outcome.is_interrupted = control.urgency() > Urgency::None && outcome.trouble().is_none();
        Ok((outcome, sinks))
    })
}

/// Ends the other lanes if the one that holds it panics: its share would be missing anyway.
struct EndsOthersOnPanic<'a>(&'a Control);

impl Drop for EndsOthersOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abort();
        }
    }
}

/// Asks everything on this thread as one lane, with a clock of the caller's: simulations, tests.
pub fn execute_alone<C: Clock + Clone, S: Sink>(
    run: &Lanes<'_>,
    store: &dyn Store,
    clock: C,
    sink: S,
    control: &Control,
) -> Result<(LaneOutcome, S), OpenError> {
    let gauge = Gauge::new(crate::gauge::Latency::Response);
    let client = store.open(0)?;
    run.begin(control);
    let task = run.task(0, Arc::new(AtomicU64::new(0)), control, store);
    Ok(Lane::new(task, client, clock, control, &gauge, sink).work())
}

/// Asks everything on this thread as one lane in told time: an hour passes as fast as the store
/// computes its answers, and the same run gives the same records.
///
/// Processor time stays that of the machine. If only time could end the asking but time does not
/// pass, because every session is answered at once, the run ends with a [`Trouble::Plan`].
///
/// # Errors
/// If the client cannot be opened; then nothing was asked.
///
/// # Panics
/// If the run is to have more than one lane: they would need an order among each other.
pub fn execute_in_told_time<S: Sink>(
    run: &Lanes<'_>,
    store: &dyn Store,
    sink: S,
    gauge: &Gauge,
    control: &Control,
) -> Result<(Outcome, S), ExecuteError> {
    assert_eq!(run.lanes, 1, "told time has one lane");
    let client = store.open(0)?;
    run.begin(control);
    let task = run.task(0, Arc::new(AtomicU64::new(0)), control, store);
    let ends_by_number = run.extent.processes.is_some() || task.source.len().is_some();
    // Arrivals of the open model come at moments of their own, so with them time goes on.
    let is_open = matches!(run.load, Load::Open(_));
    let may_stand_still = !ends_by_number && !is_open;
    let most = if may_stand_still { AT_ONE_MOMENT + 2 * task.in_flight as u64 } else { u64::MAX };
    let clock = Told::new();
    control.set_told(Some(clock.clone()));
    let sink = TimeWatch { sink, control, most, moment: Nanos::ZERO, count: 0, stood_still: false };
    let (mut lane, sink) = Lane::new(task, client, clock, control, gauge, sink).work();
    if sink.stood_still {
        lane.trouble.get_or_insert_with(|| Trouble::Plan(STOOD_STILL.to_owned()));
    }
    let is_interrupted = control.urgency() > Urgency::None && lane.trouble.is_none();
    Ok((Outcome { lanes: vec![lane], is_interrupted }, sink.sink))
}

/// Operations that may end at one moment of told time, beside two for each that can be in flight,
/// before we say that it stands still.
const AT_ONE_MOMENT: u64 = 1 << 16;

const STOOD_STILL: &str = "told time stands still: every session is answered in no time, so a \
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

impl Lanes<'_> {
    /// Makes known what may be changed from outside.
    fn begin(&self, control: &Control) {
        control.begin(match &self.load {
            Load::Open(open) => Some(open.arrivals.shape.clone()),
            Load::Closed(_) => None,
        });
    }

    /// Holds the calling thread, which is that of `lane`, to the processor that is its own.
    fn hold(&self, lane: usize) -> Result<(), ExecuteError> {
        let Some(turn) = lane.checked_rem(self.processors.len()) else { return Ok(()) };
        let processor = self.processors[turn];
        hold_to(processor).map_err(|reason| ExecuteError::Hold { lane, processor, reason })
    }

    fn task(
        &self,
        lane: usize,
        counter: Arc<AtomicU64>,
        control: &Control,
        store: &dyn Store,
    ) -> Task {
        let source = (self.source)();
        let processes =
            self.extent.processes.unwrap_or(u64::MAX).min(source.len().unwrap_or(u64::MAX));
        let place = (lane, self.lanes);
        let (asker, in_flight, overflow) = match &self.load {
            Load::Open(open) => {
                let (rates, end) = (control.rates(), self.extent.end());
                let asker = OpenAsker::new(&open.arrivals, rates, self.seed, place, processes, end);
                (Asker::Open(asker), share(open.in_flight, place), open.overflow)
            }
            Load::Closed(closed) => {
                let chunk = if self.lanes == 1 { LONE_CHUNK } else { SHARED_CHUNK };
                let claims = Claims::new(counter, chunk);
                let end = self.extent.end();
                let asker = ClosedAsker::new(closed, self.seed, place, claims, processes, end);
                (Asker::Closed(asker), closed.sessions as usize, Overflow::Queue)
            }
        };
        Task {
            source,
            render: Arc::clone(&self.render),
            fields: Arc::clone(&self.fields),
            asks: self.asks,
            calls: store.capabilities().calls,
            asker,
            in_flight,
            overflow,
            patience: self.patience,
            extent: self.extent,
            is_load: self.is_load,
            stop_at_failure: self.stop_at_failure,
        }
    }
}

/// A lane's share of a bound: at least 1, and all shares together are the bound.
fn share(total: usize, (lane, lanes): (usize, usize)) -> usize {
    (total / lanes + usize::from(lane < total % lanes)).max(1)
}
