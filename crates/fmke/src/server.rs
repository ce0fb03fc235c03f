//! The server: a thread that accepts connections, and the workers that serve them.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use assay_model::Nanos;
use assay_store::blocking::BlockingThreads;
use assay_store::{Calls, OpenError, Store, StoreTime};
use assay_workload::script::fmke::{Layout, Queries};
use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use crate::Compat;
use crate::application::Application;
use crate::gateway::Gateway;
use crate::json;
use crate::tls::Tls;
use crate::worker::{Accepted, Admission, Shared, Worker};

/// How a server is to be.
#[derive(Clone, Debug)]
pub struct Config {
    /// How prescriptions lie in the store.
    pub layout: Layout,
    /// Whose answers it gives.
    pub compat: Compat,
    /// Threads, each with a client of the store.
    pub workers: usize,
    /// Threads of each worker that make calls which block.
    pub blocking_threads: usize,
    /// What callers can make it keep.
    pub limits: Limits,
    /// The certificate; none means plain HTTP.
    pub tls: Option<Tls>,
    /// What answers call the place of the store; without secrets.
    pub store_url: String,
    /// A monotonic clock.
    pub clock: fn() -> Nanos,
}

/// Bounds on what callers can make the server keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
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

impl Default for Limits {
    fn default() -> Limits {
        Limits {
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

/// A server that runs until it is stopped or dropped.
pub struct Server {
    address: SocketAddr,
    /// Dropped to end the thread that accepts.
    open: Option<oneshot::Sender<()>>,
    acceptor: Option<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
}

impl Server {
    /// Serves `listener` from `store`, which has been prepared for the queries of the layout.
    ///
    /// # Errors
    /// If a client of the store cannot be opened, or the machine has no resources for it.
    pub fn start(
        listener: TcpListener,
        store: Arc<dyn Store>,
        config: &Config,
    ) -> Result<Server, ServeError> {
        check(config)?;
        let capabilities = store.capabilities();
        if capabilities.time == StoreTime::Simulated {
            return Err(ServeError::Simulated(capabilities.name));
        }
        let store = match capabilities.calls {
            Calls::Blocking => Arc::new(BlockingThreads::new(store, config.blocking_threads)),
            Calls::Inline | Calls::Pipelined => store,
        };
        listener.set_nonblocking(true).map_err(ServeError::Machine)?;
        let address = listener.local_addr().map_err(ServeError::Machine)?;
        let (end, ending) = watch::channel(false);
        let (mut senders, mut workers) = (Vec::new(), Vec::new());
        for number in 0..config.workers {
            let (sender, accepted) = mpsc::unbounded_channel();
            senders.push(sender);
            let (store, config) = (Arc::clone(&store), config.clone());
            workers.push(start_worker(number, store, config, accepted, ending.clone())?);
        }
        let (open, closed) = oneshot::channel();
        let connections = config.limits.connections;
        let acceptor = thread::Builder::new()
            .name("fmke acceptor".to_owned())
            .spawn(move || accept(listener, senders, connections, closed, &end))
            .map_err(ServeError::Machine)?;
        Ok(Server { address, open: Some(open), acceptor: Some(acceptor), workers })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether all of its threads go on.
    pub fn is_whole(&self) -> bool {
        !self.workers.iter().any(JoinHandle::is_finished)
    }

    /// Accepts nothing more, lets the requests that came end, and closes. Whether no thread had
    /// panicked.
    pub fn stop(mut self) -> bool {
        self.end()
    }

    fn end(&mut self) -> bool {
        drop(self.open.take());
        let threads = self.acceptor.take().into_iter().chain(self.workers.drain(..));
        threads.fold(true, |is_whole, thread| thread.join().is_ok() && is_whole)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn check(config: &Config) -> Result<(), ServeError> {
    let Limits { in_flight, connections, body_bytes, .. } = config.limits;
    let least = [
        ("the number of workers", config.workers),
        ("the number of blocking threads", config.blocking_threads),
        ("the number of operations in flight", in_flight),
        ("the number of connections", connections),
        ("the length of a body", body_bytes),
    ];
    match least.into_iter().find(|(_, number)| *number == 0) {
        Some((what, _)) => Err(ServeError::Nothing(what)),
        None => Ok(()),
    }
}

/// Starts a worker, and waits until its client of the store is open.
fn start_worker(
    number: usize,
    store: Arc<dyn Store>,
    config: Config,
    accepted: mpsc::UnboundedReceiver<Accepted>,
    ending: watch::Receiver<bool>,
) -> Result<JoinHandle<()>, ServeError> {
    let (opened, is_open) = std_mpsc::sync_channel(1);
    let work = move || {
        let shared = shared(&*store, &config);
        match Worker::new(store.open(number), shared, config.clock) {
            Ok(worker) => {
                // If nobody waits any more, the server was given up, and so is `accepted`.
                let _ = opened.send(Ok(()));
                worker.run(accepted, ending);
            }
            Err(error) => drop(opened.send(Err(error))),
        }
    };
    let thread = thread::Builder::new()
        .name(format!("fmke worker {number}"))
        .spawn(work)
        .map_err(ServeError::Machine)?;
    match is_open.recv() {
        Ok(result) => result.map(|()| thread),
        Err(_) => Err(ServeError::Machine(io::Error::other("a worker's thread has panicked"))),
    }
}

fn shared(store: &dyn Store, config: &Config) -> Shared {
    let limits = config.limits;
    let share = limits.in_flight.div_ceil(config.workers);
    let in_flight = store.room().map_or(share, |room| share.min(room)).max(1);
    let queue = limits.queue.div_ceil(config.workers);
    Shared {
        application: Application {
            gateway: Gateway::new(Nanos::from(limits.store_timeout)),
            queries: Queries::new(config.layout),
            layout: config.layout,
            compat: config.compat,
            has_transactions: store.capabilities().isolation.is_some(),
        },
        admission: std::rc::Rc::new(Admission::new(in_flight, queue)),
        limits,
        tls: config.tls.clone(),
        status: status(store, config, in_flight),
    }
}

/// The state of the server, in the members of the original.
fn status(store: &dyn Store, config: &Config, in_flight: usize) -> Bytes {
    let body = json::success(|into| {
        into.extend_from_slice(b"{\"fmke_up\":true,\"connection_manager_up\":true,");
        into.extend_from_slice(b"\"web_server_up\":true,\"pool_details\":[]");
        json::member("driver", into);
        json::text("assay", into);
        json::member("target_database", into);
        json::text(store.capabilities().name, into);
        json::member("database_addresses", into);
        json::array([config.store_url.as_str()], into, json::text);
        json::member("database_ports", into);
        into.extend_from_slice(b"[]");
        json::member("connection_pool_size", into);
        json::id(i64::try_from(in_flight).unwrap_or(i64::MAX), false, into);
        json::member("pools", into);
        into.extend_from_slice(b"[]}");
    });
    body.into()
}

/// The pause after the system had no socket for a connection.
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);

/// Gives connections to the workers in turn, until the other end of `closed` is dropped.
fn accept(
    listener: TcpListener,
    workers: Vec<mpsc::UnboundedSender<Accepted>>,
    connections: usize,
    closed: oneshot::Receiver<()>,
    end: &watch::Sender<bool>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let Ok(runtime) = runtime {
        runtime.block_on(async {
            let accepting = tokio::spawn(accept_all(listener, workers, connections));
            // Nothing is ever sent: this ends when the sender is gone.
            let _ = closed.await;
            accepting.abort();
            // It has dropped the listener then: who comes now is refused.
            let _ = accepting.await;
        });
    }
    // The workers may be gone already.
    let _ = end.send(true);
}

async fn accept_all(
    listener: TcpListener,
    workers: Vec<mpsc::UnboundedSender<Accepted>>,
    connections: usize,
) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(connections));
    let mut next = 0;
    loop {
        let Ok(permit) = Arc::clone(&places).acquire_owned().await else { return };
        let accepted = listener.accept().await.and_then(|(stream, _)| stream.into_std());
        match accepted {
            Ok(stream) => {
                // A worker that has ended is reported when the server ends.
                let _ = workers[next].send((stream, permit));
                next = (next + 1) % workers.len();
            }
            Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
        }
    }
}
