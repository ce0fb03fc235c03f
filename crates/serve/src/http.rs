//! The loop that answers, with a bound on everything that a caller can make it do.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

pub use hyper::{Method, StatusCode};

/// How long the head of a request may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes of a request's head, and of what is buffered of it at once; hyper takes no less.
const HEAD_BYTES: usize = 8 * 1024;

/// Header lines of a request.
const HEADERS_MAX: usize = 64;

/// Bytes of a request's body: a rate has a dozen.
const BODY_BYTES: usize = 1024;

/// A request, as far as it matters.
pub struct HttpRequest<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path without a query.
    pub path: &'a str,
    /// The query, without its question mark; empty if there is none.
    pub query: &'a str,
    /// The machine that the caller believes to reach, with the port; empty if it did not say.
    pub host: &'a str,
    /// Whether it says that it comes from a web page.
    pub has_origin: bool,
    /// The body.
    pub body: &'a [u8],
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpAnswer {
    /// The status.
    pub status: StatusCode,
    /// The media type.
    pub media: &'static str,
    /// The methods that would have been right, where this one was not.
    pub allow: Option<&'static str>,
    /// The body.
    pub body: String,
}

/// Who answers requests.
pub trait Respond: Send + Sync + 'static {
    /// The answer to `request`.
    fn respond(&self, request: &HttpRequest<'_>) -> HttpAnswer;

    /// The answer to a request whose body did not come, or is too long.
    fn refuse_body(&self, bytes_max: usize) -> HttpAnswer;
}

/// What callers may use.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Connections that are served at once; others wait in the system's queue.
    pub connections: usize,
    /// The pause after a connection was let in.
    pub accept_every: Duration,
    /// How long a connection may take as a whole, so that slow callers do not keep others out.
    /// Each connection has one request.
    pub connection_timeout: Duration,
    /// Whether answers take so long that a thread of their own gives them.
    pub is_slow: bool,
}

/// Answers until the other end of `closed` is dropped.
///
/// # Errors
/// If the machine has no resources for it.
pub fn serve(
    listener: TcpListener,
    responder: &Arc<dyn Respond>,
    limits: HttpLimits,
    closed: oneshot::Receiver<()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let responder = Arc::clone(responder);
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::spawn(accept(listener, responder, limits));
        // Nothing is ever sent: this ends when the sender is gone.
        let _ = closed.await;
        Ok(())
    })
}

async fn accept(
    listener: tokio::net::TcpListener,
    responder: Arc<dyn Respond>,
    limits: HttpLimits,
) {
    let places = Arc::new(Semaphore::new(limits.connections));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        if let Ok((stream, _)) = listener.accept().await {
            let responder = Arc::clone(&responder);
            tokio::spawn(async move {
                // A client that is too slow or speaks no HTTP gets no response.
                let _ = timeout(limits.connection_timeout, talk(stream, responder, limits)).await;
                drop(place);
            });
        }
        sleep(limits.accept_every).await;
    }
}

async fn talk(
    stream: TcpStream,
    responder: Arc<dyn Respond>,
    limits: HttpLimits,
) -> hyper::Result<()> {
    let service = service_fn(|request| {
        let responder = Arc::clone(&responder);
        async move { Ok::<_, Infallible>(respond(request, responder, limits.is_slow).await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .keep_alive(false)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

async fn respond(
    request: Request<Incoming>,
    responder: Arc<dyn Respond>,
    is_slow: bool,
) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, BODY_BYTES).collect().await else {
        return response(responder.refuse_body(BODY_BYTES));
    };
    let body = body.to_bytes();
    let answer = move || {
        let header = |name: HeaderName| head.headers.get(name);
        responder.respond(&HttpRequest {
            method: &head.method,
            path: head.uri.path(),
            query: head.uri.query().unwrap_or_default(),
            host: header(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default(),
            has_origin: header(ORIGIN).is_some(),
            body: &body,
        })
    };
    if !is_slow {
        return response(answer());
    }
    match tokio::task::spawn_blocking(answer).await {
        Ok(answer) => response(answer),
        // Its panic has been reported.
        Err(_) => {
            let mut response = Response::new(Full::new(Bytes::new()));
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        }
    }
}

fn response(answer: HttpAnswer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.media));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(allow) = answer.allow {
        headers.insert(ALLOW, HeaderValue::from_static(allow));
    }
    response
}
