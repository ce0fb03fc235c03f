//! The server's first line, read with a bound before the library reads it without one.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest INFO line of a NATS server: it names the servers of its cluster.
const GREETING_BYTES_MAX: usize = 1 << 20;
/// How long to wait for it. A server that sends nothing for so long does no harm, and the library's
/// own timeout is longer.
const WAIT: Duration = Duration::from_millis(250);
/// How much of another protocol's data an error shows.
const SHOWN_CHARACTERS: usize = 32;

/// The first bytes that a server sends by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// Those of a NATS server.
    Right,
    /// Those of another protocol.
    Foreign(String),
    /// None, or no complete line.
    Unknown,
}

/// The first bytes of the server at `authority`.
pub(super) async fn of(authority: &str) -> Greeting {
    timeout(WAIT, first_line(authority)).await.unwrap_or(Greeting::Unknown)
}

async fn first_line(authority: &str) -> Greeting {
    let Ok(socket) = TcpStream::connect(authority).await else { return Greeting::Unknown };
    let mut line = Vec::new();
    loop {
        match analyze(&line) {
            Greeting::Unknown => {}
            known => return known,
        }
        if socket.readable().await.is_err() {
            return Greeting::Unknown;
        }
        match socket.try_read_buf(&mut line) {
            Ok(0) => return Greeting::Unknown,
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => {
                return Greeting::Unknown;
            }
            Ok(_) | Err(_) => {}
        }
    }
}

/// What the first bytes tell about the protocol.
fn analyze(line: &[u8]) -> Greeting {
    const MARK: &[u8] = b"INFO ";
    let begins_well = line.starts_with(MARK) || MARK.starts_with(line);
    let is_whole = line.windows(2).any(|pair| pair == b"\r\n");
    match (begins_well, is_whole) {
        (true, true) => Greeting::Right,
        (true, false) if line.len() <= GREETING_BYTES_MAX => Greeting::Unknown,
        _ => {
            let text = String::from_utf8_lossy(line);
            Greeting::Foreign(text.chars().take(SHOWN_CHARACTERS).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nats_info_line_has_a_bounded_length() {
        for (line, expected) in [
            (&b""[..], Greeting::Unknown),
            (b"IN", Greeting::Unknown),
            (b"INFO {}", Greeting::Unknown),
            (b"INFO {}\r\n", Greeting::Right),
            (
                b"HTTP/1.1 400 Bad Request\r\n",
                Greeting::Foreign("HTTP/1.1 400 Bad Request\r\n".into()),
            ),
            (b"xx", Greeting::Foreign("xx".into())),
        ] {
            assert_eq!(analyze(line), expected);
        }
        let endless = [&b"INFO "[..], &[b'x'; GREETING_BYTES_MAX]].concat();
        assert!(matches!(analyze(&endless), Greeting::Foreign(_)));
    }
}
