//! Probe of a link: what it does to a conversation with an echo, which obeys the same rules.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use assay_model::Nanos;

use super::rules::Rules;
use super::{Now, Proxy};
use crate::error::LabError;

/// How long nothing must come for a link to count as silent.
const SILENCE: Duration = Duration::from_millis(200);
/// How long an answer may take beyond what the rules say.
const GRACE: Duration = Duration::from_secs(5);
/// For how long a probe of a limit sends, in parts of a second.
const LIMIT_PART: u64 = 10;
/// The most that is sent for it.
const SENT_BYTES_MAX: u64 = 1 << 20;
/// A limit counts as kept from this part of the expected time on: what other connections of the
/// link send makes it longer, never shorter.
const TOLERANCE: f64 = 0.8;

/// An address where everything that is said comes back, as long as this process lives.
pub(super) fn echo() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let answer = |socket: TcpStream| {
        move || {
            // Until the other end is gone, however it goes.
            let _ = std::io::copy(&mut &socket, &mut &socket);
        }
    };
    let serve = move || {
        for socket in listener.incoming().flatten() {
            let _ = socket.set_nodelay(true);
            let _ = thread::Builder::new().name("echo".to_owned()).spawn(answer(socket));
        }
    };
    thread::Builder::new().name("echo".to_owned()).spawn(serve)?;
    Ok(address)
}

/// Whether the links to these nodes do what their rules say.
///
/// # Errors
/// If one does not.
pub(crate) fn verify(proxy: &Proxy, nodes: &[usize]) -> Result<(), LabError> {
    let shared = proxy.lock().clone();
    for (link, shared) in proxy.links.iter().zip(&shared) {
        if nodes.iter().any(|node| link.touches(*node)) {
            check(link.probe, &shared.rules, proxy.now).map_err(|reason| {
                let from = link.from.map_or(String::new(), |from| format!(" of node {from}"));
                LabError::Failed(format!("the link{from} to node {}: {reason}", link.node))
            })?;
        }
    }
    Ok(())
}

fn check(probe: SocketAddr, rules: &Rules, now: Now) -> Result<(), String> {
    let is_silent = rules.hold.contains(&true) || rules.is_lossy || rules.is_deaf;
    if is_silent {
        return match talk(probe, 1, SILENCE, now) {
            Ok(took) => Err(format!("an answer came after {took}, and none should")),
            Err(ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(()),
            Err(kind) => Err(format!("it ended ({kind}) instead of being silent")),
        };
    }
    let bytes = (rules.limit / LIMIT_PART).clamp(1, SENT_BYTES_MAX);
    // Each way.
    let least = Nanos(2 * (rules.delay.0 - rules.jitter.0));
    let sending = match rules.limit {
        0 => 0.0,
        limit => bytes as f64 / limit as f64 * TOLERANCE,
    };
    let expected = least.as_secs_f64() + sending;
    let latest = Duration::from(Nanos(2 * (rules.delay.0 + rules.jitter.0)))
        + Duration::from_secs_f64(3.0 * sending)
        + GRACE;
    match talk(probe, bytes, latest, now) {
        Ok(took) if took.as_secs_f64() < expected => {
            Err(format!("{bytes} bytes came back after {took}, which is too early"))
        }
        Ok(_) => Ok(()),
        Err(kind) => Err(format!("{bytes} bytes did not come back ({kind})")),
    }
}

/// How long it takes until so many bytes have come back.
fn talk(probe: SocketAddr, bytes: u64, timeout: Duration, now: Now) -> Result<Nanos, ErrorKind> {
    let begun = now();
    let attempt = || {
        let mut socket = TcpStream::connect_timeout(&probe, timeout)?;
        socket.set_read_timeout(Some(timeout))?;
        socket.set_write_timeout(Some(timeout))?;
        let writer = socket.try_clone()?;
        let said = vec![0; usize::try_from(bytes).unwrap_or(1)];
        let mut heard = vec![0; said.len()];
        thread::scope(|scope| {
            scope.spawn(move || (&writer).write_all(&said));
            socket.read_exact(&mut heard)
        })
    };
    attempt().map_err(|error: std::io::Error| error.kind())?;
    Ok(now().since(begun))
}
