//! A worker: one thread with its connections and its client of the store.
//!
//! Tasks of the connections run in a runtime of the thread; between their turns the thread polls
//! the client. While the store is at work both are looked at in turn, with short waits in between
//! that grow as long as nothing comes.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use assay_model::Nanos;
use assay_store::{Client, OpenError};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use crate::config::ServeError;
use crate::connection;
use crate::gateway::Gateway;
use crate::shared::Shared;

/// The first wait for the store, after which connections are looked at; it doubles.
const SHORTEST_WAIT: Duration = Duration::from_micros(20);
/// The longest such wait: how long a request may lie in the socket while the store is slow.
const LONGEST_WAIT: Duration = Duration::from_micros(160);
/// How often requests are looked at that have taken too long.
const EXPIRE_EVERY: Nanos = Nanos::from_millis(20);

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
    ) -> Result<Worker, ServeError> {
        let client = client?;
        let runtime = runtime().map_err(ServeError::Machine)?;
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
            match self.step(wait) {
                true => wait = SHORTEST_WAIT,
                false => wait = LONGEST_WAIT.min(wait * 2),
            }
        }
    }

    fn gateway(&self) -> &Gateway {
        &self.shared.application.gateway
    }

    /// Lets tasks go on, then the client; waits if neither has anything. Whether anything came.
    ///
    /// The client is polled within the runtime, where waking a task takes no system call.
    fn step(&mut self, wait: Duration) -> bool {
        let (gateway, clock) = (&self.shared.application.gateway, self.clock);
        let is_over = || self.is_closed.get() && self.connections.get() == 0;
        let client = &mut self.client;
        let has_come = self.runtime.block_on(async {
            match gateway.is_busy() {
                true => tokio::task::yield_now().await,
                // A task may have to go on although the store has nothing to do: then it is awake.
                false => until_busy_or_late(gateway, is_over).await,
            }
            let now = clock();
            let has_started = gateway.start(&mut **client, now);
            gateway.poll(&mut **client, now) || has_started || !gateway.is_busy()
        });
        if has_come {
            return true;
        }
        client.wait(wait);
        self.runtime.block_on(async { gateway.poll(&mut **client, clock()) })
    }
}

/// How long an idle worker sleeps at most: its client notices broken connections then.
const IDLE: Duration = Duration::from_millis(100);

async fn until_busy_or_late(gateway: &Gateway, is_over: impl Fn() -> bool) {
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
