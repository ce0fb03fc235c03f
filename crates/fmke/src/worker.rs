//! A worker: one thread with its connections and its client of the store.
//!
//! Tasks of the connections run in a runtime of the thread; between their turns the thread polls
//! the client. While the store is at work both are looked at in turn, with short waits in between
//! that grow as long as nothing comes.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use assay_model::Nanos;
use assay_store::{Client, OpenError};
use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::application::{Application, SESSIONS_EACH};
use crate::connection;
use crate::server::Limits;
use crate::tls::Tls;

/// The first wait for the store, after which connections are looked at; it doubles.
const SHORTEST_WAIT: Duration = Duration::from_micros(20);
/// The longest such wait: how long a request may lie in the socket while the store is slow.
const LONGEST_WAIT: Duration = Duration::from_micros(160);
/// How often requests are looked at that have taken too long.
const EXPIRE_EVERY: Nanos = Nanos::from_millis(20);

/// What all connections of a worker share.
pub(crate) struct Shared {
    pub(crate) application: Application,
    pub(crate) admission: Rc<Admission>,
    pub(crate) limits: Limits,
    pub(crate) tls: Option<Tls>,
    /// The answer to who asks for the state of the server.
    pub(crate) status: Bytes,
}

/// Lets so many operations in, so many wait, and turns the others away.
pub(crate) struct Admission {
    places: Semaphore,
    waiting: Cell<usize>,
    waiting_max: usize,
    sessions: RefCell<Vec<u32>>,
}

/// A place for one operation, with its sessions.
pub(crate) struct Place {
    admission: Rc<Admission>,
    session: u32,
}

impl Admission {
    pub(crate) fn new(in_flight: usize, waiting_max: usize) -> Admission {
        let sessions = (0..).step_by(SESSIONS_EACH as usize).take(in_flight).collect();
        Admission {
            places: Semaphore::new(in_flight),
            waiting: Cell::new(0),
            waiting_max,
            sessions: RefCell::new(sessions),
        }
    }

    /// A place, at once or after a wait; `None` if too many wait already.
    pub(crate) async fn enter(self: &Rc<Admission>) -> Option<Place> {
        let permit = match self.places.try_acquire() {
            Ok(permit) => permit,
            Err(_) if self.waiting.get() >= self.waiting_max => return None,
            Err(_) => {
                let waiting = Waiting::among(&self.waiting);
                let permit = self.places.acquire().await.ok()?;
                drop(waiting);
                permit
            }
        };
        let session = self.sessions.borrow_mut().pop()?;
        permit.forget();
        Some(Place { admission: Rc::clone(self), session })
    }
}

impl Place {
    /// The first of its sessions.
    pub(crate) fn session(&self) -> u32 {
        self.session
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.admission.sessions.borrow_mut().push(self.session);
        self.admission.places.add_permits(1);
    }
}

/// One who waits, also if its caller hangs up meanwhile.
struct Waiting<'a>(&'a Cell<usize>);

impl Waiting<'_> {
    fn among(waiting: &Cell<usize>) -> Waiting<'_> {
        waiting.set(waiting.get() + 1);
        Waiting(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// A connection with its place among those that are allowed.
pub(crate) type Accepted = (std::net::TcpStream, OwnedSemaphorePermit);

/// One thread's work.
pub(crate) struct Worker {
    runtime: LocalRuntime,
    client: Box<dyn Client>,
    shared: Rc<Shared>,
    clock: fn() -> Nanos,
    /// How many connections there are.
    connections: Rc<Cell<usize>>,
    /// Whether no more connections come.
    is_closed: Rc<Cell<bool>>,
}

impl Worker {
    /// On the thread that will run it.
    pub(crate) fn new(
        client: Result<Box<dyn Client>, OpenError>,
        shared: Shared,
        clock: fn() -> Nanos,
    ) -> Result<Worker, crate::ServeError> {
        let client = client?;
        let runtime = runtime().map_err(crate::ServeError::Machine)?;
        Ok(Worker {
            runtime,
            client,
            shared: Rc::new(shared),
            clock,
            connections: Rc::default(),
            is_closed: Rc::default(),
        })
    }

    /// Serves the connections that come over `accepted`, until no more can come and all have ended,
    /// or until `limits.drain` after that.
    pub(crate) fn run(
        mut self,
        accepted: mpsc::UnboundedReceiver<Accepted>,
        ending: watch::Receiver<bool>,
    ) {
        self.runtime.block_on(async {
            tokio::task::spawn_local(admit(
                accepted,
                Rc::clone(&self.shared),
                ending,
                Rc::clone(&self.connections),
                Rc::clone(&self.is_closed),
            ));
        });
        let mut wait = SHORTEST_WAIT;
        let mut expired = (self.clock)();
        let mut closed: Option<Nanos> = None;
        loop {
            let now = (self.clock)();
            if self.is_closed.get() {
                let since = *closed.get_or_insert(now);
                let is_late = now.since(since) >= Nanos::from(self.shared.limits.drain);
                if self.connections.get() == 0 && !self.gateway().is_busy() || is_late {
                    return;
                }
            }
            if now.since(expired) >= EXPIRE_EVERY {
                expired = now;
                self.shared.application.gateway.expire(&mut *self.client, now);
            }
            match self.step(now, wait) {
                true => wait = SHORTEST_WAIT,
                false => wait = LONGEST_WAIT.min(wait * 2),
            }
        }
    }

    fn gateway(&self) -> &crate::gateway::Gateway {
        &self.shared.application.gateway
    }

    /// Lets tasks go on, then the client; waits if neither has anything. Whether anything came.
    fn step(&mut self, now: Nanos, wait: Duration) -> bool {
        let gateway = &self.shared.application.gateway;
        if !gateway.is_busy() {
            let is_over = || self.is_closed.get() && self.connections.get() == 0;
            // A task may have to go on although the store has nothing to do: then it is awake.
            self.runtime.block_on(until_busy_or_late(gateway, is_over));
        } else {
            self.runtime.block_on(tokio::task::yield_now());
        }
        let has_started = gateway.start(&mut *self.client, now);
        let has_come = gateway.poll(&mut *self.client, now);
        if has_started || has_come || !gateway.is_busy() {
            return true;
        }
        self.client.wait(wait);
        gateway.poll(&mut *self.client, (self.clock)())
    }
}

/// How long an idle worker sleeps at most: its client notices broken connections then.
const IDLE: Duration = Duration::from_millis(100);

async fn until_busy_or_late(gateway: &crate::gateway::Gateway, is_over: impl Fn() -> bool) {
    // Whichever it was, the worker looks at everything.
    let _ = tokio::time::timeout(IDLE, gateway.until_busy(is_over)).await;
}

fn runtime() -> io::Result<LocalRuntime> {
    Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
}

/// Serves every connection by a task of its own.
async fn admit(
    mut accepted: mpsc::UnboundedReceiver<Accepted>,
    shared: Rc<Shared>,
    ending: watch::Receiver<bool>,
    connections: Rc<Cell<usize>>,
    is_closed: Rc<Cell<bool>>,
) {
    while let Some((stream, permit)) = accepted.recv().await {
        let Ok(stream) = TcpStream::from_std(stream) else { continue };
        connections.set(connections.get() + 1);
        let (shared, ending) = (Rc::clone(&shared), ending.clone());
        let connections = Rc::clone(&connections);
        tokio::task::spawn_local(async move {
            connection::serve(stream, Rc::clone(&shared), ending).await;
            connections.set(connections.get() - 1);
            drop(permit);
            shared.application.gateway.wake_worker();
        });
    }
    is_closed.set(true);
    shared.application.gateway.wake_worker();
}
