//! Statements of PostgreSQL in the bytes of one connection: simple and extended protocol.

use std::collections::HashMap;
use std::rc::Rc;

use assay_model::Nanos;
use assay_trace::imported::request::{VALUE_MAX, key_number};
use assay_trace::imported::{ImportedRequest, ValueSize};

use super::capture::{Capture, Captured};
use super::proxy::Tap;
use super::statement::{KeyedStatement, SqlValue, split};

/// The longest message that is looked at; a longer one is no statement that anybody types.
const LONGEST: usize = 1 << 30;
/// The longest first message, as the server has it; the first bytes of TLS would be a longer one.
const LONGEST_OPENING: usize = 10_000;
/// The codes of first messages: of a session, and of what may come before it.
const SESSION: u32 = 196_608;
const CANCEL: u32 = 80_877_102;
const TLS: u32 = 80_877_103;
const GSS: u32 = 80_877_104;

/// What a connection has sent, as far as it is not a whole message yet.
pub struct Statements {
    rest: Vec<u8>,
    stage: Stage,
    prepared: HashMap<Vec<u8>, Rc<KeyedStatement>>,
    portals: HashMap<Vec<u8>, Portal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Messages have no kind yet.
    Opening,
    Session,
    /// What comes is not understood.
    Lost,
}

/// A statement with the values of its parameters; `None` is NULL.
struct Portal {
    statement: Rc<KeyedStatement>,
    values: Vec<Option<Vec<u8>>>,
}

/// The bytes are no message of the protocol.
struct Unreadable;

impl Statements {
    /// A connection that has sent nothing.
    pub fn new() -> Statements {
        Statements {
            rest: Vec::new(),
            stage: Stage::Opening,
            prepared: HashMap::new(),
            portals: HashMap::new(),
        }
    }

    /// Takes the message that begins the bytes; its length, 0 if it is not whole.
    fn message(&mut self, bytes: &[u8], at: Nanos, capture: &Capture) -> Result<usize, Unreadable> {
        let kind = usize::from(self.stage == Stage::Session);
        let Some(length) = bytes.get(kind..kind + 4) else { return Ok(0) };
        let length = u32::from_be_bytes(length.try_into().map_err(|_| Unreadable)?) as usize;
        let longest = if self.stage == Stage::Opening { LONGEST_OPENING } else { LONGEST };
        if !(4..=longest).contains(&length) {
            return Err(Unreadable);
        }
        let Some(body) = bytes.get(kind + 4..kind + length) else { return Ok(0) };
        if self.stage == Stage::Opening {
            self.open(body)?;
        } else {
            self.take_message(bytes[0], Fields(body), at, capture)?;
        }
        Ok(kind + length)
    }

    fn open(&mut self, body: &[u8]) -> Result<(), Unreadable> {
        let code = Fields(body).number()?;
        match code {
            TLS | GSS | CANCEL => Ok(()),
            code if code >> 16 == SESSION >> 16 => {
                self.stage = Stage::Session;
                Ok(())
            }
            _ => Err(Unreadable),
        }
    }

    fn take_message(
        &mut self,
        kind: u8,
        mut fields: Fields<'_>,
        at: Nanos,
        capture: &Capture,
    ) -> Result<(), Unreadable> {
        match kind {
            b'Q' => {
                for statement in split(fields.text()?) {
                    emit(&statement, &[], at, capture);
                }
            }
            b'P' => {
                let (name, sql) = (fields.text()?, fields.text()?);
                let first = split(sql).into_iter().next();
                let statement = first.unwrap_or(KeyedStatement::LeftOut("(empty)".into()));
                self.prepared.insert(name.to_vec(), Rc::new(statement));
            }
            b'B' => self.bind(fields)?,
            b'E' => {
                let portal = fields.text()?;
                match self.portals.get(portal) {
                    Some(portal) => emit(&portal.statement, &portal.values, at, capture),
                    None => capture.take(Captured::LeftOut("EXECUTE of an unknown portal".into())),
                }
            }
            b'C' => {
                let what = fields.byte()?;
                let name = fields.text()?;
                match what {
                    b'S' => drop(self.prepared.remove(name)),
                    _ => drop(self.portals.remove(name)),
                }
            }
            b'F' => capture.take(Captured::LeftOut("function call".into())),
            // Describe, Sync, Flush, Terminate; a password; what COPY carries.
            b'D' | b'S' | b'H' | b'X' | b'p' | b'd' | b'c' | b'f' => {}
            _ => return Err(Unreadable),
        }
        Ok(())
    }

    fn bind(&mut self, mut fields: Fields<'_>) -> Result<(), Unreadable> {
        let (portal, name) = (fields.text()?.to_vec(), fields.text()?);
        let statement = self.prepared.get(name).cloned();
        let unknown = || Rc::new(KeyedStatement::LeftOut("BIND of an unknown statement".into()));
        for _ in 0..fields.short()? {
            fields.short()?;
        }
        let count = fields.short()?;
        let values = (0..count).map(|_| fields.value()).collect::<Result<_, _>>()?;
        let statement = statement.unwrap_or_else(unknown);
        self.portals.insert(portal, Portal { statement, values });
        Ok(())
    }
}

impl Tap for Statements {
    fn take(&mut self, at: Nanos, bytes: &[u8], capture: &Capture) {
        if self.stage == Stage::Lost {
            return;
        }
        let mut rest = std::mem::take(&mut self.rest);
        rest.extend_from_slice(bytes);
        let mut begin = 0;
        loop {
            match self.message(&rest[begin..], at, capture) {
                Ok(0) => break,
                Ok(length) => begin += length,
                Err(Unreadable) => {
                    self.stage = Stage::Lost;
                    return capture.count_unreadable();
                }
            }
        }
        rest.drain(..begin);
        self.rest = rest;
    }
}

/// Leaves the statement in `capture`, with these values of its parameters.
fn emit(statement: &KeyedStatement, values: &[Option<Vec<u8>>], at: Nanos, capture: &Capture) {
    let value = |term: &SqlValue| -> Option<Vec<u8>> {
        match term {
            SqlValue::Literal(bytes) => Some(bytes.clone()),
            SqlValue::Parameter(number) => values.get(*number)?.clone(),
            SqlValue::Other => None,
        }
    };
    let (verb, table, key, written) = match statement {
        KeyedStatement::Keyed { verb, table, key, written } => (*verb, table, key, written),
        KeyedStatement::LeftOut(name) => return capture.take(Captured::LeftOut(name.clone())),
    };
    let Some(name) = value(key) else {
        return capture.take(Captured::LeftOut(format!("{verb:?} of a key that is NULL")));
    };
    let length = name.len() as u64;
    let key = key_number(&[table.as_bytes(), b"\0", &name].concat(), length);
    let bytes: u64 = written.iter().filter_map(value).map(|value| value.len() as u64).sum();
    let value = match written.is_empty() {
        true => ValueSize::Unknown,
        false => ValueSize::Bytes(bytes.min(VALUE_MAX) as u32),
    };
    capture.take(Captured::Request(ImportedRequest { at, key, verb, value, count: 1 }));
}

/// The rest of a message.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Unreadable> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Unreadable)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, Unreadable> {
        Ok(self.bytes(1)?[0])
    }

    fn short(&mut self) -> Result<u16, Unreadable> {
        let bytes = self.bytes(2)?.try_into().map_err(|_| Unreadable)?;
        Ok(u16::from_be_bytes(bytes))
    }

    fn number(&mut self) -> Result<u32, Unreadable> {
        let bytes = self.bytes(4)?.try_into().map_err(|_| Unreadable)?;
        Ok(u32::from_be_bytes(bytes))
    }

    /// A text up to its zero.
    fn text(&mut self) -> Result<&'a [u8], Unreadable> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(Unreadable)?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        Ok(text)
    }

    /// A value behind its length; `None` is NULL.
    fn value(&mut self) -> Result<Option<Vec<u8>>, Unreadable> {
        match self.number()? {
            u32::MAX => Ok(None),
            length => Ok(Some(self.bytes(length as usize)?.to_vec())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &[u8], body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32 + 4).to_be_bytes();
        [kind, &length, body].concat()
    }

    fn opening() -> Vec<u8> {
        let tls = message(b"", &TLS.to_be_bytes());
        let session = [&SESSION.to_be_bytes()[..], b"user\0me\0\0"].concat();
        [tls, message(b"", &session)].concat()
    }

    fn captured(bytes: &[u8], piece: usize) -> (Vec<String>, u64) {
        let (capture, captured) = Capture::new();
        let mut statements = Statements::new();
        for piece in bytes.chunks(piece) {
            statements.take(Nanos(7), piece, &capture);
        }
        let texts = captured.try_iter().map(|one| match one {
            Captured::LeftOut(name) => name,
            Captured::Request(request) => {
                let is_a = request.key == key_number(b"t\0a", 1);
                let key = if is_a { "a" } else { "?" };
                match request.value {
                    ValueSize::Bytes(size) => format!("{:?} {key} {size}", request.verb),
                    _ => format!("{:?} {key}", request.verb),
                }
            }
        });
        (texts.collect(), capture.losses().unreadable)
    }

    #[test]
    fn statements_of_both_protocols_are_found_however_the_bytes_are_cut() {
        let bytes = [
            opening(),
            message(b"p", b"secret\0"),
            message(b"Q", b"BEGIN; SELECT * FROM t WHERE k = 'a'\0"),
            message(b"P", b"s\0UPDATE t SET v = $2 WHERE k = $1\0\0\0"),
            message(b"B", b"\0s\0\0\0\0\x02\0\0\0\x01a\0\0\0\x05hello\0\0"),
            message(b"D", b"P\0"),
            message(b"E", b"\0\0\0\0\0"),
            message(b"S", b""),
            message(b"B", b"\0s\0\0\0\0\x02\xff\xff\xff\xff\0\0\0\x01x\0\0"),
            message(b"E", b"\0\0\0\0\0"),
            message(b"X", b""),
        ];
        let expected = ["BEGIN", "Get a", "Change a 5", "Change of a key that is NULL"];
        for piece in [1, 3, 10_000] {
            let (texts, unreadable) = captured(&bytes.concat(), piece);
            assert_eq!((texts, unreadable), (expected.map(String::from).to_vec(), 0), "{piece}");
        }
    }

    #[test]
    fn what_is_encrypted_or_cut_is_counted() {
        let encrypted = [message(b"", &TLS.to_be_bytes()), b"\x16\x03\x01\x02\0\x01".to_vec()];
        assert_eq!(captured(&encrypted.concat(), 100), (Vec::new(), 1));
        let bad = [opening(), message(b"B", b"\0s\0\0\0\0\x05")];
        assert_eq!(captured(&bad.concat(), 100), (Vec::new(), 1));
    }
}
