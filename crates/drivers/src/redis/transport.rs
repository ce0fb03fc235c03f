//! Bytes to a server, bytes from a server, over TCP with or without TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// A connection, blocking or not as its socket is.
pub(super) enum Transport {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Transport {
    pub(super) fn plain(socket: TcpStream) -> Transport {
        Transport::Plain(socket)
    }

    pub(super) fn tls(
        socket: TcpStream,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> io::Result<Transport> {
        let session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        Ok(Transport::Tls(Box::new(StreamOwned::new(session, socket))))
    }

    /// The socket beneath, to wait for it.
    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Transport::Plain(socket) => socket,
            Transport::Tls(stream) => &stream.sock,
        }
    }

    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.read(into),
            Transport::Tls(stream) => stream.read(into),
        }
    }

    /// Hands over bytes; what TLS has taken counts as sent although it may still wait in there.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.write(bytes),
            Transport::Tls(stream) => match stream.write(bytes)? {
                // TLS holds as much as it may and waits for the socket.
                0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
                count => Ok(count),
            },
        }
    }

    /// Whether TLS still holds bytes for the socket; [`Transport::write`] of nothing moves them.
    pub(super) fn has_unsent(&self) -> bool {
        match self {
            Transport::Plain(_) => false,
            Transport::Tls(stream) => stream.conn.wants_write(),
        }
    }

    /// Whether one read may leave bytes behind that the socket no longer shows.
    pub(super) fn hides_bytes(&self) -> bool {
        matches!(self, Transport::Tls(_))
    }
}
