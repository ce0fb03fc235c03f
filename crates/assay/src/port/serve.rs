//! The thread that answers, with a bound on everything that a caller can make it do.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use crate::port::StatusBoard;
use crate::port::answer::{Answer, HttpRequest, answer};

/// Connections that are served at once; others wait in the system's queue.
const CONNECTIONS_MAX: usize = 16;

/// The pause after a connection was let in: a flood of callers gets 100 answers a second, which
/// cost a few milliseconds of one core, and the run does not notice.
const ACCEPT_EVERY: Duration = Duration::from_millis(10);

/// How long a connection may take as a whole, so that slow callers do not keep others out. Each
/// connection has one request.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the head of a request may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes of a request's head, and of what is buffered of it at once; hyper takes no less.
const HEAD_BYTES: usize = 8 * 1024;

/// Header lines of a request.
const HEADERS_MAX: usize = 64;

/// Bytes of a request's body: a rate has a dozen.
const BODY_BYTES: usize = 1024;

/// Answers until the other end of `closed` is dropped.
pub fn serve(listener: TcpListener, board: &Arc<StatusBoard>, closed: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else {
        eprintln!("warning: the control port cannot be served; the run goes on without it");
        return;
    };
    let board = Arc::clone(board);
    runtime.block_on(async {
        tokio::spawn(accept(listener, board));
        // Nothing is ever sent: this ends when the sender is gone.
        let _ = closed.await;
    });
}

async fn accept(listener: TcpListener, board: Arc<StatusBoard>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        if let Ok((stream, _)) = listener.accept().await {
            let board = Arc::clone(&board);
            tokio::spawn(async move {
                // A client that is too slow or speaks no HTTP gets no response.
                let _ = timeout(CONNECTION_TIMEOUT, talk(stream, board)).await;
                drop(place);
            });
        }
        sleep(ACCEPT_EVERY).await;
    }
}

async fn talk(stream: TcpStream, board: Arc<StatusBoard>) -> hyper::Result<()> {
    let service = service_fn(|request| {
        let board = Arc::clone(&board);
        async move { Ok::<_, Infallible>(respond(request, &board).await) }
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

async fn respond(request: Request<Incoming>, board: &StatusBoard) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let answer = match Limited::new(body, BODY_BYTES).collect().await {
        Ok(body) => {
            let requested = HttpRequest {
                method: &head.method,
                path: head.uri.path(),
                has_origin: head.headers.contains_key(ORIGIN),
                body: &body.to_bytes(),
            };
            answer(&requested, board)
        }
        Err(_) => Answer::refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("the body did not come, or has more than {BODY_BYTES} bytes"),
        ),
    };
    response(answer)
}

fn response(answer: Answer) -> Response<Full<Bytes>> {
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
