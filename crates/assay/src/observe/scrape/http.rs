//! One GET of a small page over HTTP/1.1, with bounds on time and size.

use std::fmt;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long a connection may take, and how long nothing may come.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The largest answer.
const MOST_BYTES: u64 = 64 << 20;
const PORT: u16 = 80;

/// A page of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `host:port`.
    authority: String,
    /// With its slash, and what is behind a question mark.
    path: String,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

impl Endpoint {
    /// Takes a URL apart. An error is a clause that says what is wrong with it.
    pub fn parse(url: &str) -> Result<Endpoint, String> {
        let rest = match url.split_once("://") {
            Some(("http", rest)) => rest,
            Some(("https", _)) => return Err("an endpoint over TLS is not read".into()),
            _ => return Err("it is no URL that begins with http://".into()),
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err("an endpoint with a login is not read".into());
        }
        if authority.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err("it has no host, or blanks in it".into());
        }
        let has_port =
            authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let authority = if has_port { authority.to_owned() } else { format!("{authority}:{PORT}") };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Endpoint { authority, path })
    }

    /// The text of the page. An error is a clause that says what happened instead.
    pub fn get(&self) -> Result<String, String> {
        let addresses: Vec<SocketAddr> =
            self.authority.to_socket_addrs().map_err(|error| error.to_string())?.collect();
        let mut why = "it has no address".to_owned();
        for address in addresses {
            match TcpStream::connect_timeout(&address, TIMEOUT) {
                Ok(socket) => return self.get_over(socket),
                Err(error) => why = error.to_string(),
            }
        }
        Err(why)
    }

    fn get_over(&self, mut socket: TcpStream) -> Result<String, String> {
        let failed = |error: std::io::Error| format!("no answer: {error}");
        socket.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
        socket.set_write_timeout(Some(TIMEOUT)).map_err(failed)?;
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nAccept: text/plain\r\nConnection: close\r\n\r\n",
            self.path, self.authority
        );
        socket.write_all(request.as_bytes()).map_err(failed)?;
        let mut answer = Vec::new();
        let mut limited = socket.take(MOST_BYTES + 1);
        limited.read_to_end(&mut answer).map_err(failed)?;
        if answer.len() as u64 > MOST_BYTES {
            return Err(format!("the answer is longer than {} MiB", MOST_BYTES >> 20));
        }
        body(&answer)
    }
}

/// The body of an answer with status 200.
fn body(answer: &[u8]) -> Result<String, String> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let end = end.ok_or("the answer is not HTTP")?;
    let head = String::from_utf8_lossy(&answer[..end]);
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    let code = status.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    if code != Some("200") {
        return Err(format!("it answers {status:?}"));
    }
    let is_chunked = lines.filter_map(|line| line.split_once(':')).any(|(name, value)| {
        name.eq_ignore_ascii_case("transfer-encoding")
            && value.trim().eq_ignore_ascii_case("chunked")
    });
    let body = &answer[end + 4..];
    let body = if is_chunked { unchunked(body)? } else { body.to_vec() };
    Ok(String::from_utf8_lossy(&body).into_owned())
}

fn unchunked(mut rest: &[u8]) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    loop {
        let cut = || "the answer is cut off".to_owned();
        let end = rest.windows(2).position(|bytes| bytes == b"\r\n").ok_or_else(cut)?;
        let length = std::str::from_utf8(&rest[..end]).unwrap_or_default();
        let length = length.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(length, 16)
            .map_err(|_| format!("a piece of the answer has the length {length:?}"))?;
        if length == 0 {
            return Ok(body);
        }
        rest = &rest[end + 2..];
        body.extend_from_slice(rest.get(..length).ok_or_else(cut)?);
        rest = rest.get(length + 2..).ok_or_else(cut)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let parsed = |url: &str| Endpoint::parse(url).map(|endpoint| endpoint.to_string());
        assert_eq!(parsed("http://h:9100/metrics").unwrap(), "http://h:9100/metrics");
        assert_eq!(parsed("http://h?x=1").unwrap(), "http://h:80/?x=1");
        for (url, reported) in [
            ("https://h/metrics", "over TLS"),
            ("h:9100", "no URL"),
            ("http://me:pw@h/", "with a login"),
            ("http:///metrics", "no host"),
        ] {
            assert!(parsed(url).unwrap_err().contains(reported), "{url}");
        }
    }

    #[test]
    fn a_body_comes_whole_or_in_pieces() {
        assert_eq!(body(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nup 1\n").unwrap(), "up 1\n");
        let pieces = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nup \r\n2\r\n\
                       1\n\r\n0\r\n\r\n";
        assert_eq!(body(pieces).unwrap(), "up 1\n");
        assert!(body(b"HTTP/1.1 404 Not Found\r\n\r\n").unwrap_err().contains("404 Not Found"));
        assert_eq!(body(b"SSH-2.0\r\n").unwrap_err(), "the answer is not HTTP");
        let cut = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nup";
        assert_eq!(body(cut).unwrap_err(), "the answer is cut off");
    }
}
