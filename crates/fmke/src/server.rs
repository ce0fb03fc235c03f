//! The server: a thread that accepts connections, and the workers that serve them.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use assay_model::Nanos;
use assay_store::blocking::BlockingThreads;
use assay_store::{Calls, Store, StoreTime};
use assay_workload::script::fmke::Queries;
use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use crate::application::Application;
use crate::config::{ServeError, ServerConfig, ServerLimits};
use crate::gateway::Gateway;
use crate::json;
use crate::shared::{Admission, Shared};
use crate::worker::{Accepted, Worker};

/// A server that runs until it is stopped or dropped.
pub struct FmkeServer {
    address: SocketAddr,
    /// Dropped to end the thread that accepts.
    open: Option<oneshot::Sender<()>>,
    acceptor: Option<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
}

impl FmkeServer {
    /// Serves `listener` from `store`, which has been prepared for the queries of the layout.
    ///
    /// # Errors
    /// If a client of the store cannot be opened, or the machine has no resources for it.
    pub fn start(
        listener: TcpListener,
        store: Arc<dyn Store>,
        config: &ServerConfig,
    ) -> Result<FmkeServer, ServeError> {
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
        Ok(FmkeServer { address, open: Some(open), acceptor: Some(acceptor), workers })
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
        // All are joined, also behind one that has panicked.
        threads.map(JoinHandle::join).filter(Result::is_err).count() == 0
    }
}

impl Drop for FmkeServer {
    fn drop(&mut self) {
        self.end();
    }
}

fn check(config: &ServerConfig) -> Result<(), ServeError> {
    let ServerLimits { in_flight, connections, body_bytes, .. } = config.limits;
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
    config: ServerConfig,
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

fn shared(store: &dyn Store, config: &ServerConfig) -> Shared {
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
fn status(store: &dyn Store, config: &ServerConfig, in_flight: usize) -> Bytes {
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
