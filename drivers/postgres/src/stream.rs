//! Bounded byte stream of a connection to a PostgreSQL server, with TLS or without.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

use assay_driver_kit::trust::{self, Trust};

/// The TLS configuration of all connections.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Trusts the authorities in `ca_file`, or the system's; an error is a reason.
    pub(super) fn new(ca_file: Option<&Path>, trust: Trust) -> Result<Tls, String> {
        trust::configure(ca_file, trust).map(|config| Tls(Arc::new(config)))
    }
}

/// How many bytes of a server are still accepted. The library itself buffers all input, so a server
/// whose response has no end would use all memory.
#[derive(Clone)]
pub(super) struct Allowance(Rc<Cell<usize>>);

impl Allowance {
    pub(super) fn new(bytes: usize) -> Allowance {
        Allowance(Rc::new(Cell::new(bytes)))
    }

    /// Accepts so many from now on.
    pub(super) fn renew(&self, bytes: usize) {
        self.0.set(bytes);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}

/// The wrapper of a connection: TLS, or none for plain TCP.
#[derive(Clone)]
pub(super) struct Carrier {
    pub(super) tls: Option<Tls>,
    pub(super) allowance: Allowance,
}

/// A wrapper for one host.
pub(super) struct Host {
    tls: Option<(TlsConnector, ServerName<'static>)>,
    allowance: Allowance,
}

/// A socket, perhaps with TLS around it, or a socket file.
pub(super) struct Stream {
    bytes: Bytes,
    allowance: Allowance,
}

enum Bytes {
    Plain(Socket),
    Tls(Box<client::TlsStream<Socket>>),
    File(UnixStream),
}

impl Stream {
    /// Opens a socket file.
    pub(super) async fn open(path: &Path, allowance: Allowance) -> io::Result<Stream> {
        let bytes = Bytes::File(UnixStream::connect(path).await?);
        Ok(Stream { bytes, allowance })
    }
}

impl MakeTlsConnect<Socket> for Carrier {
    type Stream = Stream;
    type TlsConnect = Host;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Host, InvalidDnsNameError> {
        let tls = self.tls.as_ref().map(|Tls(config)| {
            let name = ServerName::try_from(host.to_owned())?;
            Ok((TlsConnector::from(config.clone()), name))
        });
        Ok(Host { tls: tls.transpose()?, allowance: self.allowance.clone() })
    }
}

impl TlsConnect<Socket> for Host {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>>>>;

    fn connect(self, socket: Socket) -> Self::Future {
        let Host { tls, allowance } = self;
        Box::pin(async move {
            let bytes = match tls {
                None => Bytes::Plain(socket),
                Some((connector, name)) => {
                    Bytes::Tls(Box::new(connector.connect(name, socket).await?))
                }
            };
            Ok(Stream { bytes, allowance })
        })
    }
}

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = match &mut self.bytes {
            Bytes::Plain(socket) => Pin::new(socket).poll_read(context, into),
            Bytes::Tls(tls) => Pin::new(tls).poll_read(context, into),
            Bytes::File(socket) => Pin::new(socket).poll_read(context, into),
        };
        let left = &self.allowance.0;
        left.set(left.get().saturating_sub(into.filled().len() - before));
        match left.get() {
            0 => Poll::Ready(Err(io::Error::other("it says more than any answer has"))),
            _ => read,
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.bytes {
            Bytes::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
            Bytes::Tls(tls) => Pin::new(tls).poll_write(context, bytes),
            Bytes::File(socket) => Pin::new(socket).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.bytes {
            Bytes::Plain(socket) => Pin::new(socket).poll_flush(context),
            Bytes::Tls(tls) => Pin::new(tls).poll_flush(context),
            Bytes::File(socket) => Pin::new(socket).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.bytes {
            Bytes::Plain(socket) => Pin::new(socket).poll_shutdown(context),
            Bytes::Tls(tls) => Pin::new(tls).poll_shutdown(context),
            Bytes::File(socket) => Pin::new(socket).poll_shutdown(context),
        }
    }
}
