//! Adapter between a worker, which polls, and an asynchronous client library.
//!
//! A worker starts requests, polls, and delivers answers by completion; a client library written
//! for tokio needs to be awaited. Between the two stands a [`Pool`]: one runtime on the worker's
//! own thread, in it one task per connection. A request is filled into a recycled job, a free
//! connection's task carries it out, the answer waits until the worker polls. Nothing leaves the
//! thread, so nothing is locked.
//!
//! * **Bounds.** A connection carries out one job at a time, so as many are in flight as there are
//!   connections. A library that multiplexes gives handles on one connection as its connections.
//!   When none is free the pool is not ready: the executor keeps the request, and the wait is lag.
//! * **Batches.** If the URL says so, a client of records gathers requests that wait at the
//!   same time into one job, see [`Gathering`].
//! * **Transactions.** A job that ends as [`ConnectionState::Held`] keeps its connection for its
//!   session, and the session's next jobs go there, until one ends otherwise. A transaction that
//!   fails, is left or is abandoned is undone before its connection is free again.
//! * **Failures.** A connection that is lost is made anew, first after 10 ms, then ever more slowly
//!   up to once a second. Meanwhile the others do the work; with none left, requests are refused
//!   as unreachable. Nothing is run twice.
//! * **Several hosts.** Connections are spread evenly over the library's hosts. A session stays at
//!   one of them, unless the driver says at which; a request whose host has no free connection,
//!   while another has, waits here. A host without a connection refuses, the others go on.
//! * **Timeouts.** A job that goes on for a second after it was abandoned loses its connection.

mod admin;
mod alarm;
mod broken;
mod failure;
mod gather;
mod notifier;
mod pool;
mod records;
mod shared;
mod slot;
#[cfg(test)]
mod tests;

use std::future::Future;

use assay_model::Reason;
use assay_store::{OpenError, number_of};

pub use admin::{admin_task, admin_task_within};
pub use broken::poll_broken;
pub use failure::{JobFailure, completion};
pub use gather::Gathering;
pub use pool::{Answered, Pool};
pub use records::{BatchOutcome, RecordJob, RecordsClient};
pub use shared::SharedConnection;

/// A client library, as far as a [`Pool`] needs it.
pub trait Library: 'static {
    /// One connection, or a handle on one that others share.
    type Connection: 'static;
    /// The request, with buffers of its own that are reused.
    type Job: Default + 'static;

    /// Makes a connection, or gives up within a time of its own.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, OpenError>>;

    /// How many hosts the connections are spread over, at least one.
    fn hosts(&self) -> usize {
        1
    }

    /// The node that `connection` is with, by its number in the store's list; by default that of
    /// its host if there are several, else 0.
    fn node(&self, _connection: &Self::Connection, host: usize) -> u8 {
        if self.hosts() > 1 { number_of(host) } else { 0 }
    }

    /// Makes a connection with host `host`, from 0.
    fn connect_to(
        &self,
        _host: usize,
    ) -> impl Future<Output = Result<Self::Connection, OpenError>> {
        self.connect()
    }

    /// Carries out `job`. Rows go into `rows`, encoded by
    /// [`encode_row`](assay_store::answer::encode_row), which is empty before.
    fn perform(
        &self,
        connection: &mut Self::Connection,
        job: &mut Self::Job,
        rows: &mut Vec<u8>,
    ) -> impl Future<Output = JobCompletion>;

    /// Ends a transaction that is open on `connection`, as if it had never been. An error means
    /// that the connection is of no use any more.
    fn undo(&self, connection: &mut Self::Connection) -> impl Future<Output = Result<(), Lost>>;

    /// Completes when the idle `connection` is lost; never, if that cannot be observed.
    fn lost(&self, _connection: &mut Self::Connection) -> impl Future<Output = ()> {
        std::future::pending()
    }
}

/// How a job ended, and what is to become of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobCompletion {
    /// What its ticket is answered with.
    pub ending: Completion,
    /// The connection's state.
    pub after: ConnectionState,
    /// How many requests it took.
    pub requests: u16,
    /// The node that answered, where that is another than the connection's; else 0.
    pub node: u8,
    /// The store's own version of the record that was read or written; 0 if it told none.
    pub version: u64,
}

impl JobCompletion {
    /// The end of a job that was one request.
    pub const fn new(ending: Completion, after: ConnectionState) -> JobCompletion {
        JobCompletion { ending, after, requests: 1, node: 0, version: 0 }
    }
}

/// What a job's ticket is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The store answered; the rows are those that the job left behind.
    Done {
        /// Whether the record was there.
        found: bool,
    },
    /// It certainly did not happen.
    Refused(Reason),
    /// It is unknown whether it happened.
    Unknown(Reason),
}

/// How a job stands to a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Context {
    /// It is one by itself.
    #[default]
    Alone,
    /// It opens one.
    Begins,
    /// It is within one.
    Within,
}

/// The state of a connection after a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// Anybody may have it.
    Free,
    /// A transaction of the job's session is open on it.
    Held,
    /// An abandoned transaction is open on it: roll it back, after the completion.
    Undo,
    /// It is of no use any more.
    Lost,
}

/// A connection is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

/// Runs `future` to its end on this thread, for what is no part of a run.
///
/// # Errors
/// If the operating system has no resources for a runtime.
pub fn block_on<F: Future>(future: F) -> std::io::Result<F::Output> {
    Ok(pool::runtime()?.block_on(future))
}
