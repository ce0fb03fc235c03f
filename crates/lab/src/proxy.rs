//! Proxy for TCP between clients and a node, and between nodes.
//!
//! What passes here can be late, slow, lost. No root is needed. A connection at a node's entry is a
//! client's, unless another node's process has opened it (`dialer`): then it is a link between
//! these two nodes, which has rules of its own.
//!
//! All links of a lab are carried by one thread, which waits for sockets and times (`carrier`). It
//! can delay, hold and cut streams, but no packets: what a network loses is sent again by TCP, so
//! loss shows as delay.

mod carrier;
mod dialer;
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
use self::dialer::Dialers;

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
    /// The place of what is known of the clients' link with the same entry; its own, if it is that.
    entry: usize,
    /// The node that opens its connections; `None` for clients.
    from: Option<usize>,
}

impl Link {
    /// The direction of what goes to this node, if it is an end of this link and on that side.
    fn towards(&self, node: usize, side: Side) -> Option<usize> {
        match (side, self.from) {
            (Side::Clients, None) | (Side::Peers, Some(_)) if self.node == node => Some(REQUESTS),
            (Side::Peers, Some(from)) if from == node => Some(REPLIES),
            _ => None,
        }
    }

    fn touches(&self, node: usize) -> bool {
        [Side::Clients, Side::Peers].iter().any(|side| self.towards(node, *side).is_some())
    }
}

/// Links that are carried until this value is gone.
#[derive(Debug)]
pub(crate) struct Proxy {
    links: Vec<Link>,
    dialers: Dialers,
    /// Where everything that is said comes back, for probes.
    echo: SocketAddr,
    shared: Arc<Mutex<Vec<Shared>>>,
    wake: UnixStream,
    add: Sender<NewLink>,
    now: Now,
}

/// Which links to a node are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Those that clients open.
    Clients,
    /// Those that this node and the others open to each other.
    Peers,
}

/// A link from clients, or another node, to a node.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// The node that opens it; `None` for clients.
    from: Option<usize>,
    node: usize,
    /// Where its connections are opened.
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
        let dialers = Dialers::default();
        let carrier = Carrier::new(Arc::clone(&shared), ends, added, (dialers.clone(), now));
        let echo = probe::echo().map_err(failed)?;
        let thread = thread::Builder::new().name("proxy".to_owned());
        thread.spawn(move || carrier.carry()).map_err(failed)?;
        Ok(Proxy { links: Vec::new(), dialers, echo, shared, wake, add, now })
    }

    /// A process of node `node`, whose connections, and those of its children, are that node's.
    pub(crate) fn add_process(&self, node: usize, pid: u32) {
        self.dialers.add(node, pid);
    }

    /// A link to `exit`, which is node `node`'s, that is entered at the same port of `address`;
    /// where that is. Nothing is done if it is there already.
    pub(crate) fn link(
        &mut self,
        node: usize,
        address: Ipv4Addr,
        exit: SocketAddr,
    ) -> Result<SocketAddr, LabError> {
        self.open(node, address, exit).map(|place| self.links[place].entry)
    }

    /// As [`Proxy::link`], with rules of their own for connections of each other node up to
    /// `nodes`.
    pub(crate) fn link_peers(
        &mut self,
        node: usize,
        nodes: usize,
        address: Ipv4Addr,
        exit: SocketAddr,
    ) -> Result<SocketAddr, LabError> {
        let place = self.open(node, address, exit)?;
        for from in (1..=nodes).filter(|from| *from != node) {
            if !self.links.iter().any(|link| link.exit == exit && link.from == Some(from)) {
                let probe = self.add_rules(place, Some(from), address)?;
                let link = self.links[place];
                self.links.push(Link { from: Some(from), probe, ..link });
            }
        }
        Ok(self.links[place].entry)
    }

    /// The place of the clients' link to `exit`, which is there from now on.
    fn open(
        &mut self,
        node: usize,
        address: Ipv4Addr,
        exit: SocketAddr,
    ) -> Result<usize, LabError> {
        if let Some(place) = self.links.iter().position(|link| link.exit == exit) {
            return Ok(place);
        }
        let place = self.links.len();
        let (listener, entry) = listen(SocketAddr::from((address, exit.port())))?;
        let probe = self.add_rules(place, None, address)?;
        // The carrier ends with this value.
        let _ = self.add.send(NewLink { listener, exit, index: place, is_entry: true });
        self.links.push(Link { from: None, node, entry, exit, probe });
        self.wake();
        Ok(place)
    }

    /// Room for the rules of a link of this entry, as the last of all; where they can be probed.
    fn add_rules(
        &self,
        entry: usize,
        from: Option<usize>,
        address: Ipv4Addr,
    ) -> Result<SocketAddr, LabError> {
        let (listener, probe) = listen(SocketAddr::from((address, 0)))?;
        let mut shared = self.lock();
        shared.push(Shared { rules: Rules::default(), resets: 0, entry, from });
        let index = shared.len() - 1;
        drop(shared);
        let _ = self.add.send(NewLink { listener, exit: self.echo, index, is_entry: false });
        self.wake();
        Ok(probe)
    }

    /// Changes the rules of all links to these nodes; `change` is given the direction of what goes
    /// to the node.
    pub(crate) fn change(&self, nodes: &[usize], side: Side, change: impl Fn(&mut Rules, usize)) {
        self.each(nodes, side, |shared, direction| change(&mut shared.rules, direction));
    }

    /// Undoes all that is wrong with the links of these nodes.
    pub(crate) fn heal(&self, nodes: &[usize]) {
        for side in [Side::Clients, Side::Peers] {
            self.change(nodes, side, |rules, _| *rules = Rules::default());
        }
    }

    /// Resets all connections to these nodes that are open.
    pub(crate) fn reset(&self, nodes: &[usize], side: Side) {
        self.each(nodes, side, |shared, _| shared.resets += 1);
    }

    /// What is wrong with the links that lead to this node, a sentence each.
    pub(crate) fn describe(&self, node: usize) -> Vec<String> {
        let shared = self.lock();
        let links = self.links.iter().zip(&*shared);
        let is_its = |(link, shared): &(&Link, &Shared)| {
            link.node == node && shared.rules != Rules::default()
        };
        let text = |(link, shared): (&Link, &Shared)| match link.from {
            None => format!("between clients and node {node}: {}", shared.rules.describe()),
            Some(from) => {
                let rules = shared.rules.describe();
                format!("connections of node {from} to node {node}: {rules}")
            }
        };
        links.filter(is_its).map(text).collect()
    }

    /// Whether something is wrong with the links of this node.
    pub(crate) fn is_broken(&self, node: usize) -> bool {
        let shared = self.lock();
        let mut links = self.links.iter().zip(&*shared);
        links.any(|(link, shared)| link.touches(node) && shared.rules != Rules::default())
    }

    fn each(&self, nodes: &[usize], side: Side, change: impl Fn(&mut Shared, usize)) {
        let mut shared = self.lock();
        for (link, shared) in self.links.iter().zip(&mut *shared) {
            let direction = nodes.iter().find_map(|node| link.towards(*node, side));
            if let Some(direction) = direction {
                change(shared, direction);
            }
        }
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

/// A socket that listens at `at`, with its address.
fn listen(at: SocketAddr) -> Result<(TcpListener, SocketAddr), LabError> {
    let listener = TcpListener::bind(at).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let at = listener.local_addr()?;
        Ok((listener, at))
    });
    listener.map_err(|error| LabError::Failed(format!("cannot listen at {at}: {error}")))
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
