//! Configuration of a server, with its bounds, and why one cannot begin.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use assay_model::Nanos;
use assay_store::OpenError;
use assay_workload::script::fmke::FmkeLayout;

use crate::AnswerStyle;
use crate::tls::ServerTls;

/// How a server is to be.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// How prescriptions lie in the store.
    pub layout: FmkeLayout,
    /// Whose answers it gives.
    pub compat: AnswerStyle,
    /// Threads, each with a client of the store.
    pub workers: usize,
    /// Threads of each worker that make calls which block.
    pub blocking_threads: usize,
    /// What callers can make it keep.
    pub limits: ServerLimits,
    /// The certificate; none means plain HTTP.
    pub tls: Option<ServerTls>,
    /// What answers call the place of the store; without secrets.
    pub store_url: String,
    /// A monotonic clock.
    pub clock: fn() -> Nanos,
}

/// Bounds on what callers can make the server keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Operations at the store, over all workers.
    pub in_flight: usize,
    /// Operations that wait for one of these places, over all workers; those beyond are answered
    /// with 503 at once.
    pub queue: usize,
    /// Connections; those beyond wait in the system's queue.
    pub connections: usize,
    /// Bytes of a body; more is answered with 413.
    pub body_bytes: usize,
    /// How long a body may take; then 408.
    pub body_timeout: Duration,
    /// How long a head may take, the wait for it included; then the connection is closed.
    pub head_timeout: Duration,
    /// How long an answer of the store is waited for; then 500.
    pub store_timeout: Duration,
    /// How long connections may go on after the end was asked for.
    pub drain: Duration,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            in_flight: 256,
            queue: 1024,
            connections: 4096,
            body_bytes: 64 << 10,
            body_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_secs(60),
            store_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(10),
        }
    }
}

/// The server could not begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The store.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// A certificate or key.
    #[error("cannot use {path}: {reason}")]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The store computes times by itself.
    #[error(
        "{0} lives in simulated time, in which no caller can wait; `assay sim serve` has one that \
         does not"
    )]
    Simulated(&'static str),
    /// Nothing could be served.
    #[error("{0} must be at least 1")]
    Nothing(&'static str),
    /// The operating system has no thread, socket or memory for it.
    #[error("this machine has no resources for it: {0}")]
    Machine(#[source] io::Error),
}
