//! Idle connections that break.

use std::io;
use std::task::{Context, Poll, ready};

use tokio::net::TcpStream;

/// Whether an idle connection, over which nothing is to come, broke.
pub fn poll_broken(stream: &TcpStream, context: &mut Context<'_>) -> Poll<()> {
    loop {
        if ready!(stream.poll_read_ready(context)).is_err() {
            return Poll::Ready(());
        }
        match stream.try_read(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Its end, or something unasked.
            _ => return Poll::Ready(()),
        }
    }
}
