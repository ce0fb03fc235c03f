//! The control port: a run speaks HTTP while it goes on.

mod answer;
mod buckets;
mod metrics;
mod place;
mod seen;
mod serve;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use tokio::sync::oneshot;

use crate::exit::usage;
use crate::progress::{Glance, Viewer};
use crate::steering::Steering;

pub use place::{parse, place};
pub use seen::Subject;

use seen::Seen;

/// An open port. It answers from the moment it is opened until it is dropped.
pub struct Port {
    desk: Arc<Desk>,
    /// Dropped to end the thread.
    open: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Where the watcher leaves what it saw, for those who ask.
#[derive(Default)]
pub struct Desk {
    papers: Mutex<Papers>,
}

#[derive(Default)]
struct Papers {
    seen: Seen,
    steering: Option<Arc<Steering>>,
}

/// The viewer that keeps a desk up to date.
struct Clerk {
    desk: Arc<Desk>,
}

impl Port {
    /// Opens a port at `address` and tells where; 0 lets the system choose one.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn open(address: SocketAddr) -> Result<Port> {
        let listener = TcpListener::bind(address)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| usage(format!("--port: cannot listen on {address}: {error}")))?;
        let address = listener.local_addr().context("a listener has an address")?;
        let desk = Arc::new(Desk::default());
        let (sender, closed) = oneshot::channel();
        let for_thread = Arc::clone(&desk);
        let thread = thread::Builder::new()
            .name("port".to_owned())
            .spawn(move || serve::serve(listener, &for_thread, closed))
            .context("cannot start a thread for the control port")?;
        eprintln!("control port: http://{address}/ (GET /metrics, POST /rate, POST /stop)");
        Ok(Port { desk, open: Some(sender), thread: Some(thread) })
    }

    /// A viewer of the run that begins now; from now on the port is about that.
    pub fn watch(&self, subject: Subject, steering: Arc<Steering>) -> Box<dyn Viewer> {
        *self.desk.papers() = Papers { seen: Seen::beginning(subject), steering: Some(steering) };
        Box::new(Clerk { desk: Arc::clone(&self.desk) })
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        drop(self.open.take());
        if let Some(thread) = self.thread.take() {
            // A port that broke has been told about by its panic.
            let _ = thread.join();
        }
    }
}

impl Desk {
    /// What was seen last, with the wheel of the run it is about.
    fn read<T>(&self, reader: impl FnOnce(&Seen) -> T) -> T {
        reader(&self.papers().seen)
    }

    fn steering(&self) -> Option<Arc<Steering>> {
        self.papers().steering.clone()
    }

    fn papers(&self) -> MutexGuard<'_, Papers> {
        self.papers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Viewer for Clerk {
    fn see(&mut self, glance: &Glance<'_>) {
        self.desk.papers().seen.add(glance);
    }

    fn leave(&mut self) {
        let mut papers = self.desk.papers();
        papers.seen.end();
        papers.steering = None;
    }
}
