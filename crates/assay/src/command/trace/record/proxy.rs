//! Connections of clients, each passed on to one of the store's by two threads.
//!
//! Requests are passed on first and looked at afterwards; nothing here waits for the trace.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_model::Nanos;
use assay_run::clock;

use super::capture::Capture;

/// Bytes that are passed on at once.
const PIECE: usize = 64 << 10;
/// The pause after a connection could not be taken, for want of files for example.
const PAUSE: Duration = Duration::from_millis(50);

/// Looks at the bytes of one connection's requests, in their order.
pub trait Tap {
    /// Takes bytes that came at this moment, and leaves what they say in `capture`.
    fn take(&mut self, at: Nanos, bytes: &[u8], capture: &Capture);
}

/// A tap for a new connection.
pub type NewTap = fn() -> Box<dyn Tap>;

/// Passes on what clients send until the program ends.
pub struct Proxy;

impl Proxy {
    /// Takes connections at `listen` from now on, each for one with `store`.
    pub fn start(
        listen: TcpListener,
        store: SocketAddr,
        tap: NewTap,
        capture: Arc<Capture>,
    ) -> Result<()> {
        let accept = move || {
            loop {
                match listen.accept() {
                    Ok((client, _)) => connect(client, store, tap, &capture),
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        };
        let thread = thread::Builder::new().name("accept".to_owned());
        thread.spawn(accept).context("cannot start a thread")?;
        Ok(())
    }
}

/// Starts what passes on the bytes of `client`.
fn connect(client: TcpStream, store: SocketAddr, tap: NewTap, capture: &Arc<Capture>) {
    let started = TcpStream::connect(store).and_then(|server| {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (client_out, server_in) = (client.try_clone()?, server.try_clone()?);
        let replies = move || pass_replies(&server_in, &client_out);
        thread::Builder::new().name("replies".to_owned()).spawn(replies)?;
        let capture = Arc::clone(capture);
        let requests = move || pass_requests(&client, &server, &mut *tap(), &capture);
        thread::Builder::new().name("requests".to_owned()).spawn(requests)?;
        Ok(())
    });
    if started.is_err() {
        capture.count_unconnected();
    }
}

fn pass_requests(
    mut client: &TcpStream,
    mut server: &TcpStream,
    tap: &mut dyn Tap,
    capture: &Capture,
) {
    let mut piece = vec![0; PIECE];
    loop {
        let count = match client.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let at = clock::monotonic();
        if server.write_all(&piece[..count]).is_err() {
            break;
        }
        tap.take(at, &piece[..count], capture);
    }
    // The other side may have gone already.
    let _ = server.shutdown(Shutdown::Write);
}

fn pass_replies(mut server: &TcpStream, mut client: &TcpStream) {
    // Either side may close at any time; then so does the other.
    let _ = io::copy(&mut server, &mut client);
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}
