//! A conversation in which one waits for each answer, for everything outside the measured run.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use super::reply::{Reply, parse};

/// How much is read at once.
const CHUNK: usize = 16 << 10;
/// No line is as long: keys have 250 bytes, each of which may be written as three.
const LONGEST_LINE: usize = 4096;
/// How much of a senseless answer is shown.
const SHOWN: usize = 40;

/// A connection in blocking mode.
pub(super) struct AdminConnection {
    socket: TcpStream,
    received: Vec<u8>,
    /// How much of that was looked at.
    read: usize,
}

/// No answer came, or none that makes sense.
#[derive(Debug)]
pub(super) enum RequestError {
    /// No data came within the timeout of the socket.
    Silent,
    /// The other side closed the connection.
    Closed,
    /// What came is not memcached's protocol; its beginning.
    Garbled(String),
    /// The operating system says that the connection broke.
    Broken(io::Error),
}

impl AdminConnection {
    pub(super) fn new(socket: TcpStream) -> AdminConnection {
        AdminConnection { socket, received: Vec::new(), read: 0 }
    }

    /// Sends a command that is answered with one line, and gives that.
    pub(super) fn line(&mut self, command: &[u8]) -> Result<String, RequestError> {
        self.send(command)?;
        self.next_line()
    }

    /// Sends a command that is answered with lines up to `END`, and gives those before it. An
    /// error line ends them too and is the last of them.
    pub(super) fn lines(&mut self, command: &[u8]) -> Result<Vec<String>, RequestError> {
        self.send(command)?;
        let mut lines = Vec::new();
        loop {
            let line = self.next_line()?;
            if line == "END" {
                return Ok(lines);
            }
            let is_last = ["ERROR", "CLIENT_ERROR", "SERVER_ERROR", "BUSY"]
                .iter()
                .any(|error| line.starts_with(error));
            lines.push(line);
            if is_last {
                return Ok(lines);
            }
        }
    }

    /// Sends a meta command that is answered with one reply; gives that with its value.
    pub(super) fn call(&mut self, command: &[u8]) -> Result<(Reply, Vec<u8>), RequestError> {
        self.send(command)?;
        self.next_reply()
    }

    /// Sends meta commands that are answered with as many replies, which are of no interest.
    pub(super) fn send_all(&mut self, commands: &[u8], count: usize) -> Result<(), RequestError> {
        self.send(commands)?;
        for _ in 0..count {
            self.next_reply()?;
        }
        Ok(())
    }

    /// The connection, for a worker to use; no data is left unread.
    pub(super) fn into_socket(self) -> TcpStream {
        self.socket
    }

    fn send(&mut self, command: &[u8]) -> Result<(), RequestError> {
        match self.socket.write_all(command) {
            Ok(()) => Ok(()),
            // What the server said before it stopped listening says more than that it did.
            Err(error) => match self.receive() {
                Ok(()) => Ok(()),
                Err(_) => Err(why(error)),
            },
        }
    }

    /// The next line without its end, which is a line feed alone in lists of keys.
    fn next_line(&mut self) -> Result<String, RequestError> {
        loop {
            let unread = &self.received[self.read..];
            match unread.iter().position(|&byte| byte == b'\n') {
                Some(end) => {
                    let line = unread[..end].strip_suffix(b"\r").unwrap_or(&unread[..end]);
                    let line = String::from_utf8_lossy(line).into_owned();
                    self.read += end + 1;
                    return Ok(line);
                }
                None if unread.len() > LONGEST_LINE => return Err(self.garbled()),
                None => self.receive()?,
            }
        }
    }

    fn next_reply(&mut self) -> Result<(Reply, Vec<u8>), RequestError> {
        loop {
            let unread = &self.received[self.read..];
            match parse(unread) {
                Ok(Some((reply, length))) => {
                    let value = match &reply {
                        Reply::Value { value, .. } => unread[value.clone()].to_vec(),
                        _ => Vec::new(),
                    };
                    self.read += length;
                    return Ok((reply, value));
                }
                Ok(None) => self.receive()?,
                Err(_) => return Err(self.garbled()),
            }
        }
    }

    fn receive(&mut self) -> Result<(), RequestError> {
        self.received.drain(..self.read);
        self.read = 0;
        let before = self.received.len();
        self.received.resize(before + CHUNK, 0);
        let result = loop {
            match self.socket.read(&mut self.received[before..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.received.truncate(before + result.as_ref().copied().unwrap_or(0));
        match result {
            // A line without its end is no response of memcached.
            Ok(0) if !self.received.is_empty() => Err(self.garbled()),
            Ok(0) => Err(RequestError::Closed),
            Ok(_) => Ok(()),
            Err(error) => Err(why(error)),
        }
    }

    fn garbled(&self) -> RequestError {
        let unread = &self.received[self.read..];
        let displayed = unread.len().min(SHOWN);
        RequestError::Garbled(String::from_utf8_lossy(&unread[..displayed]).into_owned())
    }
}

fn why(error: io::Error) -> RequestError {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => RequestError::Silent,
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            RequestError::Closed
        }
        _ => RequestError::Broken(error),
    }
}
