//! The first line that a server says, read with a bound before the library reads it without one.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest line with which a NATS greets: it names the servers of its cluster.
const GREETING_BYTES_MAX: usize = 1 << 20;
/// How long is waited for it. Who says nothing for so long is no flood, and the library's own
/// timeout of a slow one is longer.
const WAIT: Duration = Duration::from_millis(250);
/// How much of something else an error shows.
const SHOWN_CHARACTERS: usize = 32;

/// What somebody said to a connection that says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// A NATS's.
    Right,
    /// Something else, of which this is the beginning.
    Foreign(String),
    /// Nothing, or nothing whole.
    Unknown,
}

/// What the server at `authority` says first.
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

/// What a beginning says about the whole.
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
    fn a_greeting_is_a_line_of_bounded_length() {
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
