//! A conversation in which one waits for each answer, for everything outside the measured run.

use std::io::{self, ErrorKind};

use assay_driver_kit::wire::link::Wire;
use assay_store::resp::{Limits, ParseError, Parser, Shape, Value, write};

use super::transport::Transport;

/// How much is read at once.
const CHUNK: usize = 16 << 10;
/// How much of a senseless answer is shown.
const SHOWN: usize = 32;

/// A connection in blocking mode.
pub(super) struct AdminConnection {
    transport: Transport,
    parser: Parser,
    received: Vec<u8>,
}

/// No answer came, or none that makes sense.
#[derive(Debug)]
pub(super) enum RequestError {
    /// No data came within the timeout of the socket.
    Silent,
    /// The other side closed the connection.
    Closed,
    /// What came is not Redis's protocol.
    Garbled { beginning: Vec<u8>, error: ParseError },
    /// TLS could not be agreed upon.
    Tls(rustls::Error),
    /// The operating system says that the connection broke.
    Broken(io::Error),
}

impl AdminConnection {
    pub(super) fn new(transport: Transport) -> AdminConnection {
        AdminConnection { transport, parser: Parser::new(Limits::REPLY), received: Vec::new() }
    }

    /// Sends the command of these words and waits for its response.
    pub(super) fn query(&mut self, words: &[&[u8]]) -> Result<Value, RequestError> {
        let mut out = Vec::new();
        write::command(words, &mut out);
        self.send(&out)?;
        self.answer()
    }

    /// Sends several commands at once and waits for all responses.
    pub(super) fn send_all(&mut self, commands: &[[&[u8]; 2]]) -> Result<Vec<Value>, RequestError> {
        let mut out = Vec::new();
        for words in commands {
            write::command(words, &mut out);
        }
        self.send(&out)?;
        commands.iter().map(|_| self.answer()).collect()
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), RequestError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.transport.push(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.last_words(error)),
            }
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<Value, RequestError> {
        loop {
            if let Some(value) = self.next_reply()? {
                return Ok(value);
            }
            self.receive()?;
        }
    }

    /// The connection, for a worker to use; no data is left unread.
    pub(super) fn into_transport(self) -> Transport {
        self.transport
    }

    fn next_reply(&mut self) -> Result<Option<Value>, RequestError> {
        while !self.received.is_empty() {
            let length = match self.parser.parse(&self.received) {
                Ok(Some(length)) => length,
                Ok(None) => return Ok(None),
                Err(error) => {
                    let displayed = self.received.len().min(SHOWN);
                    return Err(RequestError::Garbled {
                        beginning: self.received[..displayed].to_vec(),
                        error,
                    });
                }
            };
            let is_reply = self.parser.tokens()[0].shape != Shape::Push;
            let value = Value::new(&self.received[..length], self.parser.tokens());
            self.received.drain(..length);
            if is_reply {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn receive(&mut self) -> Result<(), RequestError> {
        let before = self.received.len();
        self.received.resize(before + CHUNK, 0);
        let result = loop {
            match self.transport.pull(&mut self.received[before..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.received.truncate(before + result.as_ref().copied().unwrap_or(0));
        match result {
            Ok(0) => Err(RequestError::Closed),
            Ok(_) => Ok(()),
            Err(error) => Err(why(error)),
        }
    }

    /// What the server said before it stopped listening, or why writing failed.
    fn last_words(&mut self, error: io::Error) -> RequestError {
        match self.receive().and_then(|()| self.next_reply()) {
            Err(garbled @ RequestError::Garbled { .. }) => garbled,
            _ => why(error),
        }
    }
}

fn why(error: io::Error) -> RequestError {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => return RequestError::Silent,
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            return RequestError::Closed;
        }
        _ => {}
    }
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(tls) => RequestError::Tls(tls.clone()),
        None => RequestError::Broken(error),
    }
}
