//! Probe of the links of a lab: a datagram over each of them, in either direction.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::cut::{CLIENTS, Cuts, Link};
use super::{HOST, Network, name};
use crate::error::LabError;

/// How often links are probed until they are as they should be.
const ROUNDS: u8 = 20;
/// How long a round waits at most for datagrams over links that are not cut.
const LOOKS: u32 = 50;
/// How long is waited between two looks.
const LOOK: Duration = Duration::from_millis(1);
/// How long after the last expected datagram those over cut links could still come.
const GRACE: Duration = Duration::from_millis(5);

/// A socket in the place of each node, clients first.
struct Sockets(Vec<(UdpSocket, SocketAddr)>);

impl Network {
    /// Checks that exactly these links between clients and nodes 1 to `nodes` are cut.
    ///
    /// # Errors
    /// If there are no namespaces, or links are still otherwise after about a second.
    pub(crate) fn probe(self, slot: u8, nodes: usize, cuts: &Cuts) -> Result<(), LabError> {
        let failed = |error: io::Error| {
            LabError::State(format!("cannot probe the links between nodes: {error}"))
        };
        let sockets = self.sockets(slot, nodes).map_err(failed)?;
        let mut wrong = Vec::new();
        for round in 1..=ROUNDS {
            wrong = sockets.wrong(cuts, round).map_err(failed)?;
            if wrong.is_empty() {
                return Ok(());
            }
        }
        let named = |place: usize| match place {
            CLIENTS => "clients".to_owned(),
            node => format!("node {node}"),
        };
        let Link { from, to } = wrong[0];
        let how = if cuts.contains(&wrong[0]) { "is not cut" } else { "is still cut" };
        let more = match wrong.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more are not as they should be"),
        };
        let (from, to) = (named(from), named(to));
        Err(LabError::State(format!("the link from {from} to {to} {how}{more}")))
    }

    fn sockets(self, slot: u8, nodes: usize) -> io::Result<Sockets> {
        let outside = UdpSocket::bind((Ipv4Addr::new(10, 42, slot, HOST), 0));
        let inside =
            (1..=nodes).map(|node| socket_within(name(slot, node), self.address(slot, node)));
        let all = std::iter::once(outside).chain(inside).map(|socket| {
            let socket = socket?;
            socket.set_nonblocking(true)?;
            let address = socket.local_addr()?;
            Ok((socket, address))
        });
        all.collect::<io::Result<_>>().map(Sockets)
    }
}

/// A socket stays where it was made, so a thread that enters the namespace makes it, then ends.
fn socket_within(namespace: String, address: Ipv4Addr) -> io::Result<UdpSocket> {
    let make = move || -> io::Result<UdpSocket> {
        let place = File::open(format!("/run/netns/{namespace}"))?;
        move_into_link_name_space(place.as_fd(), Some(LinkNameSpaceType::Network))?;
        UdpSocket::bind((address, 0))
    };
    let ended = thread::spawn(make).join();
    ended.unwrap_or_else(|_| Err(io::Error::other("the thread that makes a socket broke")))
}

impl Sockets {
    /// The links that are not as they should be, by one datagram over each.
    fn wrong(&self, cuts: &Cuts, round: u8) -> io::Result<Vec<Link>> {
        let places = 0..self.0.len();
        let links = places.clone().flat_map(|from| places.clone().map(move |to| Link { from, to }));
        let links: Vec<Link> = links.filter(|link| link.from != link.to).collect();
        for link in &links {
            let number = u8::try_from(link.from).map_err(io::Error::other)?;
            // What the sender's own rules drop is refused to it.
            let _ = self.0[link.from].0.send_to(&[number, round], self.0[link.to].1);
        }
        let mut came = Cuts::new();
        for _ in 0..LOOKS {
            thread::sleep(LOOK);
            self.receive(round, &mut came)?;
            if links.iter().all(|link| came.contains(link) || cuts.contains(link)) {
                break;
            }
        }
        thread::sleep(GRACE);
        self.receive(round, &mut came)?;
        Ok(links.into_iter().filter(|link| came.contains(link) == cuts.contains(link)).collect())
    }

    /// Takes what came; datagrams of earlier rounds say nothing about now.
    fn receive(&self, expected: u8, came: &mut Cuts) -> io::Result<()> {
        for (to, (socket, _)) in self.0.iter().enumerate() {
            let mut datagram = [0; 2];
            loop {
                match socket.recv_from(&mut datagram) {
                    Ok((2, _)) if datagram[1] == expected => {
                        came.insert(Link { from: usize::from(datagram[0]), to });
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}
