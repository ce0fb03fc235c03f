//! The control port: a run speaks HTTP while it goes on.

mod answer;
mod buckets;
mod metrics;
mod place;
mod run_status;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use assay_serve::http::{HttpAnswer, HttpLimits, HttpRequest, Respond, StatusCode, serve};
use tokio::sync::oneshot;

use crate::exit::usage;
use crate::progress::{Observer, ProgressSnapshot};
use crate::rate_control::RateControl;

pub use place::{address, parse, place};
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
pub struct Port {
    board: Arc<StatusBoard>,
    /// Dropped to end the thread.
    open: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
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

impl Port {
    /// Opens a port at `address` and tells where; 0 lets the system choose one.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn open(address: SocketAddr) -> Result<Port> {
        let listener = TcpListener::bind(address)
            .map_err(|error| usage(format!("--port: cannot listen on {address}: {error}")))?;
        let address = listener.local_addr().context("a listener has an address")?;
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
            .context("cannot start a thread for the control port")?;
        eprintln!("control port: http://{address}/ (GET /metrics, POST /rate, POST /stop)");
        Ok(Port { board, open: Some(sender), thread: Some(thread) })
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

impl Drop for Port {
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
