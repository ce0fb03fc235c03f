//! The control port: a run speaks HTTP while it goes on.

mod address;
mod answer;
mod buckets;
mod metrics;
mod run_status;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use assay_serve::http::{HttpAnswer, HttpLimits, HttpRequest, Respond, StatusCode, serve};
use tokio::sync::oneshot;

use crate::progress::{Observer, ProgressSnapshot};
use crate::rate_control::RateControl;

pub use address::{address, parse};
pub use run_status::Subject;

use run_status::RunStatus;

/// A flood of callers gets 100 answers a second, which cost a few milliseconds of one core, and the
/// run does not notice.
const LIMITS: HttpLimits = HttpLimits {
    connections: 16,
    accept_every: Duration::from_millis(10),
    connection_timeout: Duration::from_secs(5),
    is_slow: false,
};

/// An open port. It answers from the moment it is opened until it is dropped.
pub struct ControlPort {
    board: Arc<StatusBoard>,
    /// Dropped to end the thread.
    open: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Why a port cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The address is taken or not ours.
    #[error("--port: cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// The system does not tell the address.
    #[error("a listener has an address")]
    Address(#[source] io::Error),
    /// The system gives no thread.
    #[error("cannot start a thread for the control port")]
    Thread(#[source] io::Error),
}

/// What the observer saw last, for those who query it.
#[derive(Default)]
pub struct StatusBoard {
    pages: Mutex<StatusPages>,
}

#[derive(Default)]
struct StatusPages {
    observed: RunStatus,
    rate_control: Option<Arc<RateControl>>,
}

/// The observer that keeps the port's state up to date.
struct StatusObserver {
    board: Arc<StatusBoard>,
}

impl ControlPort {
    /// Opens a port at `address` and tells where; 0 lets the system choose one.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn open(address: SocketAddr) -> Result<ControlPort, PortError> {
        let listener =
            TcpListener::bind(address).map_err(|error| PortError::Listen { address, error })?;
        let address = listener.local_addr().map_err(PortError::Address)?;
        let board = Arc::new(StatusBoard::default());
        let (sender, closed) = oneshot::channel();
        let for_thread = Arc::clone(&board);
        let thread = thread::Builder::new()
            .name("port".to_owned())
            .spawn(move || {
                let responder: Arc<dyn Respond> = for_thread;
                if let Err(error) = serve(listener, &responder, LIMITS, closed) {
                    eprintln!(
                        "warning: the control port cannot be served ({error}); the run goes on \
                         without it"
                    );
                }
            })
            .map_err(PortError::Thread)?;
        eprintln!("control port: http://{address}/ (GET /metrics, POST /rate, POST /stop)");
        Ok(ControlPort { board, open: Some(sender), thread: Some(thread) })
    }

    /// An observer of the run that begins now; from now on the port shows that run.
    pub fn watch(&self, subject: Subject, rate_control: Arc<RateControl>) -> Box<dyn Observer> {
        *self.board.pages() = StatusPages {
            observed: RunStatus::beginning(subject),
            rate_control: Some(rate_control),
        };
        Box::new(StatusObserver { board: Arc::clone(&self.board) })
    }
}

impl Drop for ControlPort {
    fn drop(&mut self) {
        drop(self.open.take());
        if let Some(thread) = self.thread.take() {
            // The panic of the port has been reported.
            let _ = thread.join();
        }
    }
}

impl StatusBoard {
    /// What was seen last, with the wheel of the run it is about.
    fn read<T>(&self, reader: impl FnOnce(&RunStatus) -> T) -> T {
        reader(&self.pages().observed)
    }

    fn rate_control(&self) -> Option<Arc<RateControl>> {
        self.pages().rate_control.clone()
    }

    fn pages(&self) -> MutexGuard<'_, StatusPages> {
        self.pages.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Respond for StatusBoard {
    fn respond(&self, request: &HttpRequest<'_>) -> HttpAnswer {
        answer::answer(request, self)
    }

    fn refuse_body(&self, bytes_max: usize) -> HttpAnswer {
        answer::refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("the body did not come, or has more than {bytes_max} bytes"),
        )
    }
}

impl Observer for StatusObserver {
    fn see(&mut self, progress_snapshot: &ProgressSnapshot<'_>) {
        self.board.pages().observed.add(progress_snapshot);
    }

    fn leave(&mut self) {
        let mut pages = self.board.pages();
        pages.observed.end();
        pages.rate_control = None;
    }
}
