//! Makes TCP connections, for a worker without waiting.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketType, connect, socket};

/// Starts a connection to `address`; [`finish`] tells what became of it.
pub(crate) fn begin(address: SocketAddr) -> io::Result<TcpStream> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let descriptor = socket(family, SocketType::STREAM, None)?;
    fcntl_setfd(&descriptor, FdFlags::CLOEXEC)?;
    ioctl_fionbio(&descriptor, true)?;
    match connect(&descriptor, &address) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(TcpStream::from(descriptor)),
        Err(error) => Err(error.into()),
    }
}

/// Whether the connection is made; an error if it never will be.
pub(crate) fn finish(socket: &TcpStream) -> io::Result<bool> {
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    match socket.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}

/// The addresses of a host, at least one. An error is a reason for the author of the URL.
pub fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let found = (host, port).to_socket_addrs();
    let found =
        found.map_err(|error| format!("the name {host:?} was not found ({error}); check it"))?;
    let addresses: Vec<SocketAddr> = found.collect();
    match addresses.is_empty() {
        true => Err(format!("the name {host:?} has no address; check it")),
        false => Ok(addresses),
    }
}

/// Waits for a connection to the first of `addresses` that accepts one, `timeout` for each and
/// later for each read and write. An error is a reason for the author of the URL, about the last of
/// them.
pub fn to_any(addresses: &[SocketAddr], timeout: Duration) -> Result<TcpStream, String> {
    let mut reason = String::new();
    for address in addresses {
        match TcpStream::connect_timeout(address, timeout) {
            Ok(socket) => {
                return set_up(&socket, timeout)
                    .map(|()| socket)
                    .map_err(|error| format!("the socket cannot be set up: {error}"));
            }
            Err(error) => reason = explain(address, timeout, &error),
        }
    }
    Err(reason)
}

fn set_up(socket: &TcpStream, timeout: Duration) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(timeout))?;
    socket.set_write_timeout(Some(timeout))
}

fn explain(address: &SocketAddr, timeout: Duration, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => format!(
            "{address} refused the connection; is the server running, and is this its port?"
        ),
        io::ErrorKind::TimedOut => format!(
            "{address} did not answer within {timeout:?}; check the address and the firewall, or \
             give it longer with connect_timeout="
        ),
        _ => format!("no connection to {address}: {error}; check the address"),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn until_known(socket: &TcpStream) -> io::Result<()> {
        while !finish(socket)? {
            std::thread::yield_now();
        }
        Ok(())
    }

    #[test]
    fn a_connection_is_made_in_the_background() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = begin(listener.local_addr().unwrap()).unwrap();
        until_known(&socket).unwrap();
        let (peer, _) = listener.accept().unwrap();
        assert_eq!(peer.peer_addr().unwrap(), socket.local_addr().unwrap());
    }

    #[test]
    fn a_closed_port_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let error = begin(address).and_then(|socket| until_known(&socket)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
