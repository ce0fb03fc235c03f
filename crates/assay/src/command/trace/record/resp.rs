//! Commands of Redis in the bytes of one connection.

use assay_model::Nanos;
use assay_store::resp::{Limits, Parser, Shape};
use assay_trace::imported::{ImportedRequest, Monitor};

use super::capture::{Capture, Captured};
use super::proxy::Tap;

/// What a connection has sent, as far as it is not a whole command yet.
pub struct Commands {
    parser: Parser,
    monitor: Monitor,
    /// The number of the database, as it was chosen.
    database: Vec<u8>,
    rest: Vec<u8>,
    requests: Vec<ImportedRequest>,
    is_lost: bool,
}

impl Commands {
    /// A connection that has sent nothing.
    pub fn new() -> Commands {
        Commands {
            parser: Parser::new(Limits::REPLY),
            monitor: Monitor::default(),
            database: b"0".to_vec(),
            rest: Vec::new(),
            requests: Vec::new(),
            is_lost: false,
        }
    }

    /// Takes the command that begins at this place; its length, 0 if it is not whole.
    fn command(&mut self, begin: usize, at: Nanos, capture: &Capture) -> Result<usize, ()> {
        let bytes = &self.rest[begin..];
        match bytes.first() {
            None => return Ok(0),
            Some(b'*') => {}
            Some(_) => return self.inline(begin, at, capture),
        }
        let Some(length) = self.parser.parse(bytes).map_err(drop)? else { return Ok(0) };
        let (first, words) = self.parser.tokens().split_first().ok_or(())?;
        if first.shape != Shape::Array || words.iter().any(|word| !word.is_text()) {
            return Err(());
        }
        let words = words.iter().map(|word| word.bytes(bytes));
        take(&mut self.monitor, &mut self.database, &mut self.requests, at, words, capture);
        Ok(length)
    }

    /// A command as somebody types it, in a line.
    fn inline(&mut self, begin: usize, at: Nanos, capture: &Capture) -> Result<usize, ()> {
        let bytes = &self.rest[begin..];
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return if bytes.len() > Limits::REPLY.line { Err(()) } else { Ok(0) };
        };
        let words = bytes[..end].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        take(&mut self.monitor, &mut self.database, &mut self.requests, at, words, capture);
        Ok(end + 1)
    }
}

impl Tap for Commands {
    fn take(&mut self, at: Nanos, bytes: &[u8], capture: &Capture) {
        if self.is_lost {
            return;
        }
        self.rest.extend_from_slice(bytes);
        let mut begin = 0;
        loop {
            match self.command(begin, at, capture) {
                Ok(0) => break,
                Ok(length) => begin += length,
                Err(()) => {
                    self.is_lost = true;
                    self.rest = Vec::new();
                    return capture.count_unreadable();
                }
            }
        }
        self.rest.drain(..begin);
    }
}

fn take<'a>(
    monitor: &mut Monitor,
    database: &mut Vec<u8>,
    requests: &mut Vec<ImportedRequest>,
    at: Nanos,
    words: impl Iterator<Item = &'a [u8]> + Clone,
    capture: &Capture,
) {
    let Some(name) = words.clone().next() else { return };
    if name.eq_ignore_ascii_case(b"SELECT")
        && let Some(chosen) = words.clone().nth(1)
    {
        chosen.clone_into(database);
    }
    requests.clear();
    match monitor.take(at, database, words, requests) {
        Ok(()) => requests.drain(..).for_each(|one| capture.take(Captured::Request(one))),
        Err(name) => capture.take(Captured::LeftOut(name)),
    }
}

#[cfg(test)]
mod tests {
    use assay_trace::imported::ValueSize;
    use assay_trace::imported::request::key_number;

    use super::*;

    /// What becomes of bytes that come in pieces of this length.
    fn captured(bytes: &[u8], piece: usize) -> (Vec<String>, u64) {
        let (capture, captured) = Capture::new();
        let mut commands = Commands::new();
        for piece in bytes.chunks(piece) {
            commands.take(Nanos(7), piece, &capture);
        }
        let texts = captured.try_iter().map(|one| match one {
            Captured::LeftOut(name) => name,
            Captured::Request(request) => {
                let size = match request.value {
                    ValueSize::Bytes(size) => size,
                    _ => 0,
                };
                let is_a = request.key == key_number(b"a", 1);
                format!("{:?} {} {size}", request.verb, if is_a { "a" } else { "?" })
            }
        });
        (texts.collect(), capture.losses().unreadable)
    }

    #[test]
    fn commands_are_found_however_the_bytes_are_cut() {
        let bytes =
            b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$5\r\n*1\r\n$\r\n*2\r\n$3\r\nget\r\n$1\r\na\r\n\
                      *1\r\n$4\r\nPING\r\nGET a\r\n\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n\
                      *2\r\n$3\r\nGET\r\n$1\r\na\r\n";
        let expected = ["Set a 5", "Get a 0", "PING", "Get a 0", "SELECT", "Get ? 0"];
        for piece in [1, 2, 7, 1000] {
            let (texts, unreadable) = captured(bytes, piece);
            assert_eq!((texts, unreadable), (expected.map(String::from).to_vec(), 0), "{piece}");
        }
    }

    #[test]
    fn what_is_no_command_is_counted_once() {
        let bytes = b"*1\r\n$4\r\nPING\r\n*1\r\n:5\r\n*1\r\n$4\r\nPING\r\n";
        assert_eq!(captured(bytes, 100), (vec!["PING".to_owned()], 1));
        assert_eq!(captured(b"*x\r\n", 100), (Vec::new(), 1));
    }
}
