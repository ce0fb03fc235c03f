//! The coordinator: a port that agents dial, and what it knows of them.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use assay_model::Probe;
use bytes::Bytes;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use crate::figures::LiveFigures;
use crate::keys::FleetKeys;
use crate::offset::{self, StampClock};
use crate::protocol::{Job, RateOrder};
use crate::server;
use crate::shared::{Bell, Shared};
use crate::state::{Board, FleetOptions, FleetOutcome, StatusRow};

/// How long agents are given to learn that a run was called off.
const FAREWELL: Duration = Duration::from_secs(2);

/// A fleet's coordinator; its port is open until it is dropped.
pub struct Coordinator {
    shared: Arc<Shared>,
    address: SocketAddr,
    /// Dropped to end the thread.
    open: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A coordinator could not begin.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}: {source}; --listen names another address")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Certificate and key are no pair.
    #[error("the coordinator's keys cannot be used: {0}; make new ones with `assay fleet keys`")]
    Keys(String),
    /// A thread could not be started.
    #[error("cannot start the coordinator's thread: {0}")]
    Thread(io::Error),
}

impl Coordinator {
    /// Opens the port at `address`; what agents deliver goes into a folder each below `pieces`.
    ///
    /// # Errors
    /// If the address is taken, or the keys are no pair.
    pub fn open(
        address: SocketAddr,
        keys: &FleetKeys,
        options: FleetOptions,
        (job, files): (Job, Vec<Bytes>),
        pieces: &Path,
    ) -> Result<Coordinator, CoordinatorError> {
        let tls = TlsAcceptor::from(keys.server().map_err(CoordinatorError::Keys)?);
        let listen = |source| CoordinatorError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let shared = Arc::new(Shared {
            board: Mutex::new(Board::new(options, job, offset::moment())),
            bell: Bell::default(),
            incoming: Mutex::default(),
            files,
            pieces: pieces.to_owned(),
            clock: StampClock::default(),
            is_over: AtomicBool::new(false),
        });
        let (sender, closed) = oneshot::channel();
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("coordinator".to_owned())
            .spawn(move || server::serve(listener, tls, &for_thread, closed))
            .map_err(CoordinatorError::Thread)?;
        Ok(Coordinator { shared, address, open: Some(sender), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The table of agents.
    pub fn status(&self) -> Vec<StatusRow> {
        self.shared.board().status()
    }

    /// How the run ended, if it has.
    pub fn outcome(&self) -> Option<FleetOutcome> {
        self.shared.board().outcome(offset::moment(), FAREWELL)
    }

    /// Ends the load of all agents; before the start, calls the run off.
    pub fn stop(&self) {
        self.shared.act(|board| board.stop(offset::moment()));
    }

    /// The agent that was told to end by somebody else, which ends the load of all.
    pub fn interrupted(&self) -> Option<String> {
        self.shared.board().interrupted()
    }

    /// Calls the run off, or withdraws its result.
    pub fn withdraw(&self, reason: String) {
        self.shared.withdraw(reason);
    }

    /// When the run begins, as a reading of this process's stamping clock in nanoseconds; none
    /// before that is chosen.
    pub fn start(&self) -> Option<u64> {
        self.shared.board().start().and_then(|start| u64::try_from(start).ok())
    }

    /// What has happened at all agents since this was called last.
    pub fn take_figures(&self) -> LiveFigures {
        self.shared.board().take_figures()
    }

    /// How far ahead a change of the rate must lie; none while not all agents issue operations.
    pub fn rate_lead(&self) -> Option<Duration> {
        self.shared.board().rate_lead()
    }

    /// Tells all agents to change the rate.
    pub fn order_rate(&self, order: RateOrder) {
        self.shared.act(|board| board.order_rate(order));
    }

    /// Each agent's probes on the run's time axis.
    pub fn clocks(&self) -> Vec<(u32, Vec<Probe>)> {
        self.shared.board().clocks()
    }

    /// Where the part of each agent is: with what it delivered, or where it has left it.
    pub fn parts(&self) -> Vec<(u32, PathBuf)> {
        let board = self.shared.board();
        if board.leaves_parts() {
            let left = board.left().into_iter();
            return left.map(|(agent, place)| (agent, PathBuf::from(place))).collect();
        }
        (0..board.agents()).map(|agent| (agent, self.shared.piece_dir(agent))).collect()
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.shared.bell.ring();
        drop(self.open.take());
        if let Some(thread) = self.thread.take() {
            // Its panic has been reported.
            let _ = thread.join();
        }
    }
}
