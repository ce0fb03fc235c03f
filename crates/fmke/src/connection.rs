//! One connection: HTTP/1.1, requests one after another.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, SERVER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::application::Fault;
use crate::json;
use crate::request::{Routed, Wrong, route};
use crate::shared::Shared;

/// Header lines of a request.
const HEADERS_MAX: usize = 64;
/// Bytes of a request's head, and of what is buffered of it at once.
const HEAD_BYTES: usize = 16 * 1024;
/// How much of a body that was refused is read and thrown away; how long the next part may take.
const DISCARDED_BYTES: usize = 16 * 1024 * 1024;
const DISCARD_PAUSE: Duration = Duration::from_secs(2);

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NAME: HeaderValue = HeaderValue::from_static("assay");
const CLOSE: HeaderValue = HeaderValue::from_static("close");

type Reply = Response<Full<Bytes>>;

/// Serves the connection until it ends, or until `ending` says that its request is its last.
pub(crate) async fn serve(stream: TcpStream, shared: Rc<Shared>, ending: watch::Receiver<bool>) {
    // Without it a small answer waits for the acknowledgement of the one before.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    match &shared.tls {
        None => talk(stream, shared, ending).await,
        Some(tls) => {
            let greeted = timeout(shared.limits.head_timeout, tls.acceptor().accept(stream)).await;
            if let Ok(Ok(stream)) = greeted {
                talk(stream, shared, ending).await;
            }
        }
    }
}

async fn talk<S>(stream: S, shared: Rc<Shared>, mut ending: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let head_timeout = shared.limits.head_timeout;
    let service = service_fn(move |request| {
        let shared = Rc::clone(&shared);
        async move { Ok::<_, Infallible>(respond(request, &shared).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut ended = pin!(ending.wait_for(|is_ending| *is_ending));
    let mut is_ending = false;
    std::future::poll_fn(|context| {
        if !is_ending && ended.as_mut().poll(context).is_ready() {
            is_ending = true;
            connection.as_mut().graceful_shutdown();
        }
        // A caller that is too slow or speaks no HTTP is hung up on.
        connection.as_mut().poll(context).map(drop)
    })
    .await;
}

async fn respond(request: Request<Incoming>, shared: &Rc<Shared>) -> Reply {
    let (head, body) = request.into_parts();
    let body = match head.method {
        Method::POST | Method::PUT => match read(body, shared).await {
            Ok(body) => body,
            Err(reply) => return reply,
        },
        // Others have no use for one.
        _ => Bytes::new(),
    };
    let operation = match route(&head.method, head.uri.path(), &body) {
        Routed::Operation(operation) => operation,
        Routed::Status => return reply(StatusCode::OK, shared.status.clone()),
        Routed::Wrong(wrong) => return of_wrong(wrong),
    };
    let Some(place) = shared.admission.enter().await else {
        return reply(StatusCode::SERVICE_UNAVAILABLE, Bytes::from_static(json::OVERLOADED));
    };
    // A task of its own: what was begun comes to its end although the caller hangs up.
    let task_of = Rc::clone(shared);
    let task = tokio::task::spawn_local(async move {
        let performed = task_of.application.perform(&operation, place.session()).await;
        drop(place);
        performed
    });
    match task.await {
        Ok(Ok(body)) => reply(StatusCode::OK, body.into()),
        Ok(Err(Fault::Word(word))) => reply(StatusCode::OK, json::refusal(word).into()),
        Ok(Err(Fault::Unavailable(word))) => {
            reply(StatusCode::SERVICE_UNAVAILABLE, json::refusal(word).into())
        }
        Ok(Err(Fault::Unknown)) | Err(_) => of_wrong(Wrong::Unclear),
    }
}

/// The body, or what is answered because it is too long or does not come.
async fn read(mut body: Incoming, shared: &Shared) -> Result<Bytes, Reply> {
    let limit = shared.limits.body_bytes;
    if body.size_hint().lower() <= limit as u64 {
        match timeout(shared.limits.body_timeout, Limited::new(&mut body, limit).collect()).await {
            Ok(Ok(body)) => return Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {}
            Ok(Err(_)) => return Err(last(StatusCode::BAD_REQUEST, json::NO_FIELDS)),
            Err(_) => {
                tokio::task::spawn_local(discard(body, DISCARD_PAUSE));
                return Err(last(StatusCode::REQUEST_TIMEOUT, json::TOO_SLOW));
            }
        }
    }
    tokio::task::spawn_local(discard(body, shared.limits.body_timeout));
    Err(last(StatusCode::PAYLOAD_TOO_LARGE, json::TOO_LARGE))
}

/// Reads on behind the answer, for a while: a connection that is closed while its caller still
/// sends is reset, and then many callers do not read the answer.
async fn discard(mut body: Incoming, within: Duration) {
    let reading = async {
        let mut left = DISCARDED_BYTES;
        while let Ok(Some(Ok(frame))) = timeout(DISCARD_PAUSE, body.frame()).await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // However it ends, the connection ends with it.
    let _ = timeout(within, reading).await;
}

fn of_wrong(wrong: Wrong) -> Reply {
    let (status, body) = match wrong {
        Wrong::Path => {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::NOT_FOUND;
            response.headers_mut().insert(SERVER, NAME);
            return response;
        }
        Wrong::NoFields => (StatusCode::BAD_REQUEST, json::NO_FIELDS),
        Wrong::Id => (StatusCode::BAD_REQUEST, json::INVALID_ID),
        Wrong::Unclear => (StatusCode::INTERNAL_SERVER_ERROR, json::FAILED),
    };
    reply(status, Bytes::from_static(body))
}

fn reply(status: StatusCode, body: Bytes) -> Reply {
    // In the order of the original.
    let length = HeaderValue::from(body.len());
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, length);
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(SERVER, NAME);
    response
}

/// The last answer on its connection.
fn last(status: StatusCode, body: &'static [u8]) -> Reply {
    let mut reply = reply(status, Bytes::from_static(body));
    reply.headers_mut().insert(CONNECTION, CLOSE);
    reply
}
