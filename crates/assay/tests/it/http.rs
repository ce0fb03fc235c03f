//! A caller who speaks just enough HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// What came back.
pub struct Answered {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answered {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// Requests `path` and reads the whole response.
#[track_caller]
pub fn http_request(address: SocketAddr, method: &str, path: &str, body: &str) -> Answered {
    let length = body.len();
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: it\r\nContent-Length: {length}\r\n\r\n{body}");
    read(send(address, &request))
}

/// Connects and sends `request` as it is.
#[track_caller]
pub fn send(address: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the port is open");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("20 s are above 0");
    stream.write_all(request.as_bytes()).expect("the port reads");
    stream
}

/// Reads until the other side closes.
#[track_caller]
pub fn read(mut stream: TcpStream) -> Answered {
    let mut bytes = Vec::new();
    // A refusal of what was not read to its end may come with a reset behind it.
    let end = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).expect("answers are text");
    let parts = text.split_once("\r\n\r\n");
    let (head, body) = parts.unwrap_or_else(|| panic!("{end:?}: no answer: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status: {head}"));
    Answered { status, head: head.to_owned(), body: body.to_owned() }
}
