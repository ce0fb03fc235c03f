//! The coordinator's port: who may connect, how much anybody can make it do, what is asked.
//!
//! A stranger costs a handshake that fails, and no more than [`HANDSHAKE_TIMEOUT`]; what comes
//! behind a handshake is from an agent with the keys of this run.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming as Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::gather::{Incoming, PIECE};
use crate::keys::ALPN_PROBE;
use crate::offset::{self, FRAME, probe_every};
use crate::protocol::{Beat, Deliveries, Hello, Received, RefusalText};
use crate::shared::Shared;
use crate::state::Refused;

/// Handshakes at once; a connection beyond them is closed at once, so that the system's queue does
/// not fill, and an agent tries again.
const HANDSHAKES_MAX: usize = 256;
/// Connections of agents: 1000 agents have one each for news, probes, deliveries, and to spare.
const CONNECTIONS_MAX: usize = 4096;
/// How long a handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the head of a request may take; an agent that is silent so long has been lost.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of a request's head.
const HEAD_BYTES: usize = 16 * 1024;
/// Bytes of a request's body: a piece, or the list of what is delivered.
const BODY_BYTES: usize = 2 * PIECE;
/// How often the board looks what is due.
const TICK: Duration = Duration::from_millis(100);
/// How long what agents tell is gathered while all of them issue operations.
const GATHER: Duration = Duration::from_millis(200);
/// How long what has come meanwhile is answered, while all agents issue operations.
const TAKE: Duration = Duration::from_millis(1);
/// How long a probe may take, after which its connection is given up.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves until the other end of `closed` is dropped.
pub(crate) fn serve(
    listener: TcpListener,
    tls: TlsAcceptor,
    shared: &Arc<Shared>,
    mut closed: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else {
        shared.withdraw("the coordinator's port cannot be served".to_owned());
        return;
    };
    let shared = Arc::clone(shared);
    runtime.block_on(async {
        tokio::spawn(accept(listener, tls, Arc::clone(&shared)));
        loop {
            shared.tick();
            let mut pause = TICK;
            if shared.board().is_quiet() {
                // What agents tell has time: taken together it costs half as much.
                thread::sleep(GATHER);
                pause = TAKE;
            }
            // Nothing is ever sent: this ends when the sender is gone.
            if timeout(pause, &mut closed).await.is_ok() {
                return;
            }
        }
    });
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, shared: Arc<Shared>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                // Most likely no more files may be open: others have to end first.
                sleep(TICK).await;
                continue;
            }
        };
        let Ok(handshake) = Arc::clone(&handshakes).try_acquire_owned() else { continue };
        let (tls, shared) = (tls.clone(), Arc::clone(&shared));
        let connections = Arc::clone(&connections);
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let shaken = timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await;
            drop(handshake);
            // Strangers are told nothing; the agent's end says what a failed handshake means.
            let Ok(Ok(stream)) = shaken else { return };
            let Ok(_connection) = connections.try_acquire_owned() else { return };
            match stream.get_ref().1.alpn_protocol() == Some(ALPN_PROBE) {
                true => hand_over(stream, shared),
                false => drop(talk(stream, shared).await),
            }
        });
    }
}

/// Gives the connection to a thread of its own, where no runtime stands between clock and socket.
fn hand_over(stream: TlsStream<TcpStream>, shared: Arc<Shared>) {
    let (stream, session) = stream.into_inner();
    let Ok(stream) = stream.into_std() else { return };
    let is_ready = stream.set_nonblocking(false).is_ok()
        && stream.set_read_timeout(Some(PROBE_TIMEOUT)).is_ok()
        && stream.set_write_timeout(Some(PROBE_TIMEOUT)).is_ok();
    if is_ready {
        let mut connection = rustls::StreamOwned::new(session, stream);
        // Without the thread the run does not begin, and says for whom it waits.
        let _ = thread::Builder::new()
            .name("fleet-probe".to_owned())
            .spawn(move || probe(&mut connection, &shared));
    }
}

/// Probes the clock of the agent at the other end, who says first which one it is.
fn probe<C: Read + Write>(connection: &mut C, shared: &Shared) {
    let mut frame = [0; FRAME];
    if connection.read_exact(&mut frame).is_err() {
        return;
    }
    let (agent, token) = (offset::word(&frame, 0) as u32, offset::word(&frame, 1));
    let Ok(is_one_kernel) = shared.board().is_one_kernel(agent, token) else { return };
    let mut calls = 0;
    while !shared.is_over.load(Ordering::Relaxed) {
        let probes = offset::probe(connection, &shared.clock, is_one_kernel, calls);
        let Ok(probes) = probes else { return };
        let mut board = shared.board();
        board.add_probes(agent, &probes);
        let pause = probe_every(board.agents(), board.start().is_some());
        drop(board);
        calls = shared.bell.wait(calls, pause);
    }
}

async fn talk(stream: TlsStream<TcpStream>, shared: Arc<Shared>) -> hyper::Result<()> {
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(respond(request, &shared).await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

async fn respond(request: Request<Body>, shared: &Shared) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let answer = match Limited::new(body, BODY_BYTES).collect().await {
        Ok(body) => answer(&head.method, head.uri.path(), &body.to_bytes(), shared),
        Err(_) => Err(Refused(format!("the body did not come, or has more than {BODY_BYTES} B"))),
    };
    let (status, body) = match answer {
        Ok(body) => (StatusCode::OK, body),
        Err(Refused(error)) => (StatusCode::CONFLICT, to_json(&RefusalText { error })),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response
}

/// The answer to one request.
fn answer(method: &Method, path: &str, body: &Bytes, shared: &Shared) -> Result<Bytes, Refused> {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match (method, &parts[..]) {
        (&Method::POST, ["v1", "join"]) => {
            let hello: Hello = parsed(body)?;
            shared.board().join(hello, offset::moment()).map(|welcome| to_json(&welcome))
        }
        (&Method::POST, ["v1", "beat"]) => {
            let beat: Beat = parsed(body)?;
            shared.act(|board| board.beat(beat, offset::moment())).map(|order| to_json(&order))
        }
        (&Method::GET, ["v1", "status"]) => Ok(to_json(&shared.status())),
        (&Method::GET, ["v1", "files", number]) => {
            let file = number.parse::<usize>().ok().and_then(|number| shared.files.get(number));
            file.cloned().ok_or_else(|| Refused(format!("there is no file {number}")))
        }
        (&Method::POST, ["v1", "deliver"]) => deliver(&parsed(body)?, shared),
        (&Method::PUT, ["v1", "deliver", place @ ..]) => piece(place, body, shared),
        _ => Err(Refused(format!("nothing is done for {method} {path}"))),
    }
}

fn deliver(deliveries: &Deliveries, shared: &Shared) -> Result<Bytes, Refused> {
    shared.board().known(deliveries.agent, deliveries.token)?;
    let dir = shared.piece_dir(deliveries.agent);
    let mut all = shared.incoming();
    if !all.get(&deliveries.agent).is_some_and(|incoming| incoming.is_of(deliveries)) {
        let incoming = Incoming::begin(&dir, deliveries).map_err(Refused)?;
        all.insert(deliveries.agent, incoming);
    }
    let bytes = all.get(&deliveries.agent).map(Incoming::received).unwrap_or_default();
    Ok(to_json(&Received { bytes }))
}

/// Takes a piece: agent, token, file, offset are in the path.
fn piece(place: &[&str], body: &Bytes, shared: &Shared) -> Result<Bytes, Refused> {
    let numbers: Option<Vec<u64>> = place.iter().map(|text| text.parse().ok()).collect();
    let Some(&[agent, token, file, offset]) = numbers.as_deref() else {
        return Err(Refused("a piece has agent, token, file, offset".to_owned()));
    };
    let agent = agent as u32;
    shared.board().known(agent, token)?;
    let mut all = shared.incoming();
    let incoming = all.get_mut(&agent).ok_or_else(|| Refused("no file was named".to_owned()))?;
    let received = incoming.take(file as usize, offset, body).map_err(Refused)?;
    Ok(to_json(&Received { bytes: vec![received] }))
}

fn parsed<T: DeserializeOwned>(body: &Bytes) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| Refused(format!("this is no message: {error}")))
}

fn to_json<T: Serialize>(message: &T) -> Bytes {
    // Messages have text keys and numbers only, which JSON holds.
    serde_json::to_vec(message).map(Bytes::from).unwrap_or_default()
}
