//! Proxy for TCP between clients and a node.
//!
//! What passes here can be late, slow, lost. No root is needed.
//!
//! All links of a lab are carried by one thread, which waits for sockets and times (`carrier`). It
//! can delay, hold and cut streams, but no packets: what a network loses is sent again by TCP, so
//! loss shows as delay.

mod carrier;
mod probe;
mod rules;
mod stream;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use assay_model::Nanos;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::LabError;

pub(crate) use self::probe::verify;
pub(crate) use self::rules::{REPLIES, REQUESTS, Rules, is_delay, is_limit};

use self::carrier::{Carrier, NewLink};

/// Tells the time, on any axis that goes on steadily. The lab itself reads no clock.
pub type Now = fn() -> Nanos;

/// As many files as a proxy needs at most, with two for each connection. Servers inherit the limit,
/// and some take memory for each file that they might open.
const FILES_MAX: u64 = 1 << 16;

/// What the carrier has to know of a link.
#[derive(Clone, Debug)]
struct Shared {
    rules: Rules,
    /// How often its connections were reset.
    resets: u64,
}

/// Links that are carried until this value is gone.
#[derive(Debug)]
pub(crate) struct Proxy {
    links: Vec<Link>,
    shared: Arc<Mutex<Vec<Shared>>>,
    wake: UnixStream,
    add: Sender<NewLink>,
    now: Now,
}

/// A link from clients to a node.
#[derive(Clone, Copy, Debug)]
struct Link {
    node: usize,
    /// Where clients connect.
    entry: SocketAddr,
    /// The node's own address.
    exit: SocketAddr,
    /// The entry of a link with the same rules that leads to an echo.
    probe: SocketAddr,
}

impl Proxy {
    /// A proxy without links.
    pub(crate) fn start(now: Now) -> Result<Proxy, LabError> {
        let failed = |error: io::Error| LabError::Failed(format!("cannot start a proxy: {error}"));
        raise_file_limit();
        let (wake, woken) = UnixStream::pair().map_err(failed)?;
        wake.set_nonblocking(true).map_err(failed)?;
        let shared = Arc::new(Mutex::new(Vec::new()));
        let (add, added) = channel();
        woken.set_nonblocking(true).map_err(failed)?;
        let ends = (wake.try_clone().map_err(failed)?, woken);
        let carrier = Carrier::new(Arc::clone(&shared), ends, added, now);
        let thread = thread::Builder::new().name("proxy".to_owned());
        thread.spawn(move || carrier.carry()).map_err(failed)?;
        Ok(Proxy { links: Vec::new(), shared, wake, add, now })
    }

    /// A link to `exit`, which is node `node`'s, that is entered at the same port of `address`;
    /// where that is. Nothing is done if it is there already.
    pub(crate) fn link(
        &mut self,
        node: usize,
        address: Ipv4Addr,
        exit: SocketAddr,
    ) -> Result<SocketAddr, LabError> {
        if let Some(link) = self.links.iter().find(|link| link.exit == exit) {
            return Ok(link.entry);
        }
        let entry = SocketAddr::from((address, exit.port()));
        let listen = |at: SocketAddr| {
            let listener = TcpListener::bind(at).and_then(|listener| {
                listener.set_nonblocking(true)?;
                let at = listener.local_addr()?;
                Ok((listener, at))
            });
            listener.map_err(|error| LabError::Failed(format!("cannot listen at {at}: {error}")))
        };
        let (main, entry) = listen(entry)?;
        let (tried, probe) = listen(SocketAddr::from((address, 0)))?;
        let echo = probe::echo()
            .map_err(|error| LabError::Failed(format!("cannot listen for a probe: {error}")))?;
        let index = {
            let mut shared = self.lock();
            shared.push(Shared { rules: Rules::default(), resets: 0 });
            shared.len() - 1
        };
        for (listener, exit) in [(main, exit), (tried, echo)] {
            // The carrier ends with this value.
            let _ = self.add.send(NewLink { listener, exit, index });
        }
        self.links.push(Link { node, entry, exit, probe });
        self.wake();
        Ok(entry)
    }

    /// Changes the rules of all links to these nodes.
    pub(crate) fn change(&self, nodes: &[usize], change: impl Fn(&mut Rules)) {
        self.each(nodes, |shared| change(&mut shared.rules));
    }

    /// Resets all connections to these nodes that are open.
    pub(crate) fn reset(&self, nodes: &[usize]) {
        self.each(nodes, |shared| shared.resets += 1);
    }

    /// What is wrong with the links to this node, in words; `None` if nothing is.
    pub(crate) fn describe(&self, node: usize) -> Option<String> {
        let shared = self.lock();
        let mut links = self.links.iter().zip(&*shared);
        let is_its = |(link, shared): &(&Link, &Shared)| {
            link.node == node && shared.rules != Rules::default()
        };
        links.find(is_its).map(|(_, shared)| shared.rules.describe())
    }

    /// Whether something is wrong with the links to this node.
    pub(crate) fn is_broken(&self, node: usize) -> bool {
        self.describe(node).is_some()
    }

    fn each(&self, nodes: &[usize], change: impl Fn(&mut Shared)) {
        let mut shared = self.lock();
        let links = self.links.iter().zip(&mut *shared);
        links.filter(|(link, _)| nodes.contains(&link.node)).for_each(|(_, shared)| change(shared));
        drop(shared);
        self.wake();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Shared>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The carrier reads the rules anew; if the pipe is full, it is about to.
    fn wake(&self) {
        let _ = (&self.wake).write(&[1]);
    }
}

/// Lets this process have as many files as it may have, within reason.
fn raise_file_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(FILES_MAX).min(FILES_MAX);
    if current.is_some_and(|current| current < wanted) {
        // With fewer files there are fewer connections.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}
