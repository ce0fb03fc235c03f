//! A caller of the coordinator: one connection, one request after the other.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::keys::{ALPN_HTTP, COORDINATOR, FleetKeys, explain};
use crate::protocol::RefusalText;

/// Bytes of an answer: a file that a command line names may be a trace.
const ANSWER_MAX: usize = 16 << 30;

/// A connection to the coordinator that is made again when it has ended.
pub struct ControlClient {
    runtime: Runtime,
    address: String,
    tls: TlsConnector,
    sender: Option<SendRequest<Full<Bytes>>>,
}

/// A call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The coordinator cannot be reached, or the connection ended; worth another attempt.
    #[error("{0}")]
    Unreachable(String),
    /// The two do not know each other: no attempt will help.
    #[error("{0}")]
    Stranger(String),
    /// The coordinator refuses.
    #[error("{0}")]
    Refused(String),
    /// This end cannot call at all.
    #[error("cannot call the coordinator: {0}")]
    Here(String),
}

impl ControlClient {
    /// A caller of the coordinator at `address`, a host with a port.
    ///
    /// # Errors
    /// If the keys are no pair or the system refuses.
    pub fn new(address: &str, keys: &FleetKeys) -> Result<ControlClient, CallError> {
        let tls = TlsConnector::from(keys.client(ALPN_HTTP).map_err(CallError::Here)?);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CallError::Here(error.to_string()))?;
        Ok(ControlClient { runtime, address: address.to_owned(), tls, sender: None })
    }

    /// Sends `message`, and reads the answer, within `limit`.
    ///
    /// # Errors
    /// If nothing comes, or a refusal.
    pub fn post<M: Serialize, A: DeserializeOwned>(
        &mut self,
        path: &str,
        message: &M,
        limit: Duration,
    ) -> Result<A, CallError> {
        let body =
            serde_json::to_vec(message).map_err(|error| CallError::Here(error.to_string()))?;
        parsed(&self.call(Method::POST, path, body.into(), limit)?)
    }

    /// Sends bytes, and reads the answer, within `limit`.
    ///
    /// # Errors
    /// If nothing comes, or a refusal.
    pub fn put<A: DeserializeOwned>(
        &mut self,
        path: &str,
        body: Bytes,
        limit: Duration,
    ) -> Result<A, CallError> {
        parsed(&self.call(Method::PUT, path, body, limit)?)
    }

    /// Reads what is at `path`, within `limit`.
    ///
    /// # Errors
    /// If nothing comes, or a refusal.
    pub fn get(&mut self, path: &str, limit: Duration) -> Result<Bytes, CallError> {
        self.call(Method::GET, path, Bytes::new(), limit)
    }

    fn call(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
        limit: Duration,
    ) -> Result<Bytes, CallError> {
        let (address, tls, kept) = (self.address.clone(), self.tls.clone(), self.sender.take());
        let exchange = async {
            let mut sender = match kept.filter(|kept| !kept.is_closed()) {
                Some(kept) => kept,
                None => connect(&address, &tls).await?,
            };
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header(hyper::header::HOST, COORDINATOR)
                .body(Full::new(body))
                .map_err(|error| CallError::Here(error.to_string()))?;
            let response = sender.send_request(request).await.map_err(|error| failed(&error))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), ANSWER_MAX).collect().await;
            let body = body.map_err(|error| CallError::Unreachable(error.to_string()))?.to_bytes();
            Ok((sender, status, body))
        };
        let exchanged = self.runtime.block_on(async { timeout(limit, exchange).await });
        let late = |_| CallError::Unreachable(format!("no answer from {}", self.address));
        let (sender, status, body) = exchanged.map_err(late)??;
        self.sender = Some(sender);
        match status {
            StatusCode::OK => Ok(body),
            _ => Err(CallError::Refused(parsed::<RefusalText>(&body).map_or_else(
                |_| format!("the coordinator answers {status}"),
                |refusal| refusal.error,
            ))),
        }
    }
}

async fn connect(address: &str, tls: &TlsConnector) -> Result<SendRequest<Full<Bytes>>, CallError> {
    let away = |error: io::Error| match explain(&error.to_string()) {
        text if text != error.to_string() => CallError::Stranger(text),
        text => CallError::Unreachable(format!("{address}: {text}")),
    };
    let stream = TcpStream::connect(address).await.map_err(away)?;
    stream.set_nodelay(true).map_err(away)?;
    let name =
        ServerName::try_from(COORDINATOR).map_err(|error| CallError::Here(error.to_string()))?;
    let stream = tls.connect(name, stream).await.map_err(away)?;
    let (sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
    tokio::spawn(connection);
    Ok(sender)
}

/// What an error of an exchange means, down to its first cause.
fn failed(error: &hyper::Error) -> CallError {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause {
        text = format!("{text}: {deeper}");
        cause = deeper.source();
    }
    match explain(&text) {
        explained if explained != text => CallError::Stranger(explained),
        text => CallError::Unreachable(text),
    }
}

fn parsed<T: DeserializeOwned>(body: &Bytes) -> Result<T, CallError> {
    serde_json::from_slice(body)
        .map_err(|error| CallError::Here(format!("its answer is no message of ours: {error}")))
}
