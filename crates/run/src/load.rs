//! Load model of a run with its bounds and its duration.

use assay_model::{Nanos, named_enum};

use crate::arrival::Arrivals;

/// The protocol of a plan's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkloadKind {
    /// Records by key, with an [`OperationEncoder`](assay_model::OperationEncoder) for the bytes.
    Records,
    /// Logical queries with arguments, grouped into transactions.
    Queries,
}

/// What decides when the next operation is issued.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Arrivals come by the clock and do not wait for answers.
    Open(Open),
    /// A fixed number of sessions, each issuing again after its response.
    Closed(Closed),
}

/// The open model: what users of a service do.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    /// The arrival process of the whole run; workers thin it.
    pub arrivals: Arrivals,
    /// The most processes in flight over all workers.
    pub in_flight: usize,
    /// What becomes of an arrival when that bound is reached.
    pub overflow: Overflow,
}

/// The closed model: what YCSB does.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// Sessions over all workers.
    pub sessions: u32,
    /// How long a session thinks after an answer.
    pub think: Think,
    /// Processes per second over all sessions that pacing aims at, as YCSB's `-target`.
    pub target_rate: Option<f64>,
}

named_enum! {
    /// What becomes of an arrival when the bound on processes in flight is reached.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Overflow {
        /// It waits; the wait is lag.
        Queue => "queue",
        /// It is recorded as dropped.
        Drop => "drop",
        /// The run ends.
        Abort => "abort",
    }
}

/// How long a session of the closed model thinks after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// Not at all.
    No,
    /// Always the same time.
    Constant(Nanos),
    /// Exponentially distributed with this mean.
    Exponential(Nanos),
}

/// How long a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The most processes to issue, warm-up included.
    pub processes: Option<u64>,
    /// How long to measure, after the warm-up.
    pub duration: Option<Nanos>,
    /// How long to issue before measuring; recorded, marked as warm-up.
    pub warm_up: Nanos,
}

impl Extent {
    /// When the last process may be issued.
    pub fn end(&self) -> Nanos {
        match self.duration {
            Some(duration) => self.warm_up.saturating_add(duration),
            None => Nanos::NEVER,
        }
    }
}

/// The part of a run that belongs to this process, where several processes share it.
///
/// Workers are numbered over all agents, so that each has a residue class of the arrivals, of the
/// sessions and of the bound on processes in flight. The processes of a closed loop go by agent:
/// agent `a` of `n` issues those that leave the remainder `a` when divided by `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of this agent, from 0.
    pub agent: u64,
    /// How many agents there are, at least 1.
    pub agents: u64,
    /// Workers of the agents before this one.
    pub first_worker: usize,
    /// Workers of all agents.
    pub workers: usize,
}

impl Share {
    /// All of it, on `workers` workers.
    pub const fn whole(workers: usize) -> Share {
        Share { agent: 0, agents: 1, first_worker: 0, workers }
    }

    /// The place of worker `worker` of this process among the workers of all agents.
    pub(crate) const fn place(self, worker: usize) -> (usize, usize) {
        (self.first_worker + worker, self.workers)
    }
}

/// Whether a worker burns processor time to be punctual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spin {
    /// Sleeps until the next event; late by a wake-up, a few to some tens of microseconds.
    Never,
    /// Sleeps, then spins for the last stretch before the next event.
    LastStretch,
    /// Never sleeps.
    Always,
}
