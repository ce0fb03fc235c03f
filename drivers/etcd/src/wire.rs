//! One HTTP/2 connection to a member, which every request of a worker to that member shares.
//!
//! The connection is ours instead of the gRPC library's channel, which connects again behind one's
//! back: here it is known whether a request left, and that a connection has ended.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::rt::Executor;
use hyper_util::rt::TokioIo;
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::codegen::{Service, http};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

/// The largest answer that is taken: what etcd's own client takes. A scan may be that large.
const MOST_BYTES: usize = i32::MAX as usize;

/// Why there is no answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// The connection had ended before the request left.
    Unsent(String),
    /// The connection broke, or the member gave up the request without a word.
    Broken(String),
    /// The response is invalid.
    Garbled(String),
    /// The member answered with an error.
    Told(Code, String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Unsent(why) | CallError::Broken(why) | CallError::Garbled(why) => {
                f.write_str(why)
            }
            CallError::Told(code, message) => write!(f, "{message} ({code:?})"),
        }
    }
}

/// A handle on a shared connection to a member.
#[derive(Clone)]
pub(super) struct Wire {
    grpc: Grpc<Http>,
    token: Option<MetadataValue<Ascii>>,
    ended: watch::Receiver<()>,
    is_retired: Rc<Cell<bool>>,
}

impl Wire {
    /// Begins to speak over `io`, a connection to `uri`. The member has not said anything yet.
    pub(super) async fn open<S>(io: S, uri: http::Uri) -> Result<Wire, hyper::Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let (sender, connection) =
            http2::Builder::new(OnThisThread).handshake(TokioIo::new(io)).await?;
        let (ending, ended) = watch::channel(());
        tokio::task::spawn_local(async move {
            // The reason is passed to those who wait for responses.
            let _ = connection.await;
            drop(ending);
        });
        let grpc = Grpc::with_origin(Http(sender), uri).max_decoding_message_size(MOST_BYTES);
        Ok(Wire { grpc, token: None, ended, is_retired: Rc::default() })
    }

    /// Lets every later request carry `token`; false if it cannot be carried.
    pub(super) fn carry(&mut self, token: &str) -> bool {
        self.token = token.parse().ok();
        self.token.is_some()
    }

    /// Whether new requests may go over this connection.
    pub(super) fn is_usable(&self) -> bool {
        !self.is_retired.get() && self.ended.has_changed().is_ok()
    }

    /// No new request may use this connection.
    pub(super) fn retire(&self) {
        self.is_retired.set(true);
    }

    /// Retires the connection unless the request that begins now comes to an end.
    pub(super) fn watch(&self) -> Watch {
        Watch { is_retired: Rc::clone(&self.is_retired), is_over: false }
    }

    /// Comes to its end when the connection does.
    pub(super) async fn ended(&mut self) {
        while self.ended.changed().await.is_ok() {}
    }

    /// Sends, and waits for the response.
    pub(super) async fn send<Q, A>(
        &mut self,
        path: &'static str,
        question: Q,
    ) -> Result<A, CallError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut request = Request::new(question);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        let path = http::uri::PathAndQuery::from_static(path);
        let answer = self.grpc.unary(request, path, ProstCodec::<Q, A>::default()).await;
        answer.map(tonic::Response::into_inner).map_err(|status| call_error(&status))
    }
}

/// Retires a connection whose request is given up: the member may never answer any more.
pub(super) struct Watch {
    is_retired: Rc<Cell<bool>>,
    is_over: bool,
}

impl Watch {
    /// The request came to an end.
    pub(super) fn end(mut self) {
        self.is_over = true;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.is_over {
            self.is_retired.set(true);
        }
    }
}

/// Tells what the member said from what the connection did.
fn call_error(status: &Status) -> CallError {
    match status.source() {
        Some(source) => match source.downcast_ref::<SendError>() {
            Some(SendError { is_sent: false, error }) => CallError::Unsent(chain(error)),
            _ => CallError::Broken(chain(source)),
        },
        // Never said by etcd, but by those who read what it says, or by a proxy.
        None if status.code() == Code::Internal || is_read_error(status) => {
            CallError::Garbled(status.message().into())
        }
        None => CallError::Told(status.code(), status.message().into()),
    }
}

fn is_read_error(status: &Status) -> bool {
    let message = status.message();
    let is_too_long = status.code() == Code::OutOfRange && message.contains("message length");
    is_too_long || message.starts_with("grpc-status header missing")
}

/// An error with its causes in one line.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut reported = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !reported.contains(&text) {
            reported.push_str(": ");
            reported.push_str(&text);
        }
        cause = error.source();
    }
    reported
}

/// The connection as the gRPC library calls it.
#[derive(Clone)]
struct Http(SendRequest<Body>);

impl Service<http::Request<Body>> for Http {
    type Response = http::Response<Incoming>;
    type Error = SendError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, SendError>>>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let answer = self.0.try_send_request(request);
        Box::pin(async move {
            answer.await.map_err(|mut error| SendError {
                is_sent: error.take_message().is_none(),
                error: error.into_error(),
            })
        })
    }
}

/// A request without an answer.
#[derive(Debug)]
struct SendError {
    /// Whether any of it may have left.
    is_sent: bool,
    error: hyper::Error,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for SendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

/// Runs the connection's tasks on the worker's own thread.
#[derive(Clone, Copy)]
struct OnThisThread;

impl<F: Future + 'static> Executor<F> for OnThisThread {
    fn execute(&self, task: F) {
        tokio::task::spawn_local(async move {
            task.await;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(status: Status) -> CallError {
        call_error(&status)
    }

    #[test]
    fn what_a_member_says_is_reported_as_it_is() {
        let status = Status::unavailable("etcdserver: no leader");
        let expected = CallError::Told(Code::Unavailable, "etcdserver: no leader".into());
        assert_eq!(describe(status), expected);
    }

    #[test]
    fn undecodable_responses_are_garbled() {
        for status in [
            Status::internal("failed to decode Protobuf message"),
            Status::out_of_range("Error, decoded message length too large: found 9 bytes"),
            Status::unknown("grpc-status header missing, mapped from HTTP status code 200"),
        ] {
            assert!(matches!(describe(status), CallError::Garbled(_)));
        }
    }

    #[test]
    fn broken_connections_are_distinguished_from_server_errors() {
        let broken = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        let status = Status::from_error(Box::new(broken));
        assert!(matches!(describe(status), CallError::Broken(_)));
    }
}
