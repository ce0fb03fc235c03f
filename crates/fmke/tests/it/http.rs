//! A caller: one request after another over one connection.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection to the server.
pub struct Caller {
    stream: TcpStream,
    rest: Vec<u8>,
}

/// An answer as it came over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// `HTTP/1.1 200 OK`
    pub line: String,
    /// In their order, without date and server.
    pub headers: Vec<(String, String)>,
    /// Whether date and server were there.
    pub is_dated: bool,
    pub body: String,
}

impl Response {
    pub fn status(&self) -> u16 {
        self.line.split(' ').nth(1).expect("a status").parse().expect("a number")
    }
}

impl Caller {
    pub fn new(address: SocketAddr) -> Caller {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket has timeouts");
        stream.set_nodelay(true).expect("a socket has no delay");
        Caller { stream, rest: Vec::new() }
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a request.
    pub fn request(&mut self, method: &str, path: &str, body: &str) -> io::Result<()> {
        let length = match body.is_empty() && method != "POST" && method != "PUT" {
            true => String::new(),
            false => format!("content-length: {}\r\n", body.len()),
        };
        self.send(format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{length}\r\n{body}").as_bytes())
    }

    /// Sends a request, and waits for the answer.
    pub fn call(&mut self, method: &str, path: &str, body: &str) -> Response {
        self.request(method, path, body).expect("the server takes it");
        self.response().expect("the server answers")
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut bytes = [0; 16 * 1024];
        match self.stream.read(&mut bytes)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.rest.extend_from_slice(&bytes[..count]);
                Ok(())
            }
        }
    }

    /// The next answer.
    pub fn response(&mut self) -> io::Result<Response> {
        let end = loop {
            match self.rest.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(end) => break end,
                None => self.fill()?,
            }
        };
        let head = String::from_utf8(self.rest.drain(..end + 4).collect()).expect("a head is text");
        let mut lines = head.trim_end().split("\r\n");
        let line = lines.next().expect("a first line").to_owned();
        let mut headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").expect("a header"))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let before = headers.len();
        headers.retain(|(name, _)| name != "date" && name != "server");
        let is_dated = headers.len() + 2 == before;
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length: usize = length.map_or(0, |(_, length)| length.parse().expect("a number"));
        while self.rest.len() < length {
            self.fill()?;
        }
        let body = String::from_utf8(self.rest.drain(..length).collect()).expect("a body is text");
        Ok(Response { line, headers, is_dated, body })
    }

    /// Waits until the server closes the connection; whether it did.
    pub fn is_closed(&mut self) -> bool {
        loop {
            match self.fill() {
                Ok(()) => self.rest.clear(),
                Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
            }
        }
    }
}
