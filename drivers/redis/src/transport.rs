//! Bytes to a server, bytes from a server, over TCP with or without TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use assay_driver_kit::wire::link::Wire;

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
}

impl Wire for Transport {
    fn socket(&self) -> &TcpStream {
        match self {
            Transport::Plain(socket) => socket,
            Transport::Tls(stream) => &stream.sock,
        }
    }

    #[inline]
    fn pull(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.read(into),
            Transport::Tls(stream) => stream.read(into),
        }
    }

    /// Hands over bytes; what TLS has taken counts as sent although it may still wait in there.
    #[inline]
    fn push(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.write(bytes),
            Transport::Tls(stream) => match stream.write(bytes)? {
                // TLS holds as much as it may and waits for the socket.
                0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
                count => Ok(count),
            },
        }
    }

    fn has_unsent(&self) -> bool {
        match self {
            Transport::Plain(_) => false,
            Transport::Tls(stream) => stream.conn.wants_write(),
        }
    }

    fn hides_bytes(&self) -> bool {
        matches!(self, Transport::Tls(_))
    }
}
