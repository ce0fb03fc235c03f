//! Turns Redis's replies into answers.

use std::ops::Range;

use assay_store::answer::{Span, encode_field, encode_row};
use assay_store::resp::{Shape, Token, Value};

use super::error::{Failure, failure};

/// One whole reply within a buffer that begins with the field names of the layout.
#[derive(Clone, Copy)]
pub(super) struct Reply<'a> {
    /// The buffer.
    pub(super) buffer: &'a [u8],
    /// Where the reply begins in it.
    pub(super) start: usize,
    /// Its elements, with places counted from `start`; at least one.
    pub(super) tokens: &'a [Token],
}

impl<'a> Reply<'a> {
    pub(super) fn frame(&self) -> &'a [u8] {
        &self.buffer[self.start..]
    }

    fn place(&self, token: &Token) -> Range<u32> {
        // The parser's limit on frames keeps places below 2^32.
        let start = self.start as u32;
        start + token.start..start + token.end
    }

    /// The first element, unless the reply is an error.
    fn first(&self) -> Result<&'a Token, Failure> {
        let first = &self.tokens[0];
        match first.shape {
            Shape::Error => Err(failure(first.bytes(self.frame()))),
            _ => Ok(first),
        }
    }

    /// What the reply says if it is an error.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.first().err()
    }

    /// The reply to a command that answers OK.
    pub(super) fn written(&self) -> Result<(), Failure> {
        if self.first()?.is_text() { Ok(()) } else { Err(Failure::GARBLED) }
    }

    /// The reply to a command that tells how many it changed.
    pub(super) fn count(&self) -> Result<i64, Failure> {
        self.first()?.integer(self.frame()).ok_or(Failure::GARBLED)
    }

    /// The texts of an array.
    pub(super) fn texts(&self) -> Result<impl Iterator<Item = &'a [u8]> + use<'a>, Failure> {
        let first = self.first()?;
        let texts = &self.tokens[1..];
        if first.shape != Shape::Array || !texts.iter().all(Token::is_text) {
            return Err(Failure::GARBLED);
        }
        let frame = self.frame();
        Ok(texts.iter().map(move |token| token.bytes(frame)))
    }

    /// The text of the reply if it is an error.
    pub(super) fn error(&self) -> Option<&'a [u8]> {
        let first = &self.tokens[0];
        (first.shape == Shape::Error).then(|| first.bytes(self.frame()))
    }

    /// The texts of an array, each as the only field, without a name, of a record.
    pub(super) fn keys(&self, spans: &mut Vec<Span>) -> Result<(), Failure> {
        spans.clear();
        self.texts().map(drop)?;
        spans.extend(self.tokens[1..].iter().zip(0..).map(|(token, row)| Span {
            row,
            name: 0..0,
            value: self.place(token),
        }));
        Ok(())
    }

    /// The whole reply as a tree.
    pub(super) fn value(&self) -> Value {
        Value::new(self.frame(), self.tokens)
    }

    /// Whether this is the answer of a master to ROLE.
    pub(super) fn is_master(&self) -> bool {
        self.tokens.get(1).is_some_and(|role| role.bytes(self.frame()) == b"master")
    }

    /// Whether this is the answer to PING.
    pub(super) fn is_pong(&self) -> bool {
        self.tokens[0].is_text() && self.tokens[0].bytes(self.frame()) == b"PONG"
    }

    /// The reply to HGETALL: names and values in turn. No spans mean that nothing is there.
    pub(super) fn record(&self, spans: &mut Vec<Span>) -> Result<(), Failure> {
        spans.clear();
        let first = self.first()?;
        let is_record = match first.shape {
            Shape::Map => true,
            Shape::Array => first.count % 2 == 0,
            _ => false,
        };
        if !is_record {
            return Err(Failure::GARBLED);
        }
        for pair in self.tokens[1..].chunks_exact(2) {
            if !pair[0].is_text() || !pair[1].is_text() {
                return Err(Failure::GARBLED);
            }
            spans.push(Span { row: 0, name: self.place(&pair[0]), value: self.place(&pair[1]) });
        }
        Ok(())
    }

    /// The reply to HGET or GET; `name` is the place of the field's name.
    pub(super) fn field(&self, name: &Range<u32>, spans: &mut Vec<Span>) -> Result<(), Failure> {
        spans.clear();
        let first = self.first()?;
        if first.is_text() {
            spans.push(Span { row: 0, name: name.clone(), value: self.place(first) });
            return Ok(());
        }
        if first.shape == Shape::Null { Ok(()) } else { Err(Failure::GARBLED) }
    }

    /// The reply to HMGET of the fields whose names are at `names`.
    pub(super) fn named(&self, names: &[Range<u32>], spans: &mut Vec<Span>) -> Result<(), Failure> {
        spans.clear();
        let first = self.first()?;
        let values = &self.tokens[1..];
        if first.shape != Shape::Array || values.len() != names.len() {
            return Err(Failure::GARBLED);
        }
        for (name, value) in names.iter().zip(values) {
            if value.is_text() {
                spans.push(Span { row: 0, name: name.clone(), value: self.place(value) });
            } else if value.shape != Shape::Null {
                return Err(Failure::GARBLED);
            }
        }
        Ok(())
    }
}

/// Appends the record of `spans` in our own encoding.
pub(super) fn keep_row(buffer: &[u8], spans: &[Span], rows: &mut Vec<u8>) -> Result<(), Failure> {
    let is_too_long = |span: &Span| span.name.len() > usize::from(u16::MAX);
    let (Ok(count), false) = (u16::try_from(spans.len()), spans.iter().any(is_too_long)) else {
        // A record that our encoding has no words for is none that we have written.
        return Err(Failure::GARBLED);
    };
    encode_row(count, rows);
    let piece = |place: &Range<u32>| &buffer[place.start as usize..place.end as usize];
    for span in spans {
        encode_field(piece(&span.name), piece(&span.value), rows);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use assay_model::Reason;
    use assay_store::resp::{Limits, Parser};

    use super::*;

    /// What `look` makes of `bytes` when they stand behind the names `f0` and `f1`.
    fn look<T>(
        bytes: &str,
        look: impl FnOnce(&Reply<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut parser = Parser::new(Limits::REPLY);
        assert_eq!(parser.parse(bytes.as_bytes()), Ok(Some(bytes.len())));
        let buffer = [b"f0f1", bytes.as_bytes()].concat();
        look(&Reply { buffer: &buffer, start: 4, tokens: parser.tokens() })
    }

    fn spans(
        bytes: &str,
        read: impl FnOnce(&Reply<'_>, &mut Vec<Span>) -> Result<(), Failure>,
    ) -> Result<String, Failure> {
        look(bytes, |reply| {
            let mut spans = Vec::new();
            read(reply, &mut spans)?;
            let piece = |place: &Range<u32>| {
                let bytes = &reply.buffer[place.start as usize..place.end as usize];
                String::from_utf8(bytes.to_vec()).unwrap()
            };
            let words: Vec<String> = spans
                .iter()
                .map(|span| format!("{}={}", piece(&span.name), piece(&span.value)))
                .collect();
            Ok(words.join(" "))
        })
    }

    const NAMES: [Range<u32>; 2] = [0..2, 2..4];

    #[test]
    fn records_come_from_maps_as_well_as_flat_arrays() {
        let record = |bytes| spans(bytes, |reply, spans| reply.record(spans));
        let map = "%2\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$0\r\n\r\n";
        assert_eq!(record(map), Ok("a=1 b=".into()));
        let flat = map.replace("%2", "*4");
        assert_eq!(record(&flat), Ok("a=1 b=".into()));
        assert_eq!(record("%0\r\n"), Ok(String::new()));
        assert_eq!(record("*0\r\n"), Ok(String::new()));
        for garbled in ["+OK\r\n", ":1\r\n", "*1\r\n+a\r\n", "*2\r\n+a\r\n:1\r\n", "_\r\n"] {
            assert_eq!(record(garbled), Err(Failure::GARBLED), "{garbled}");
        }
    }

    #[test]
    fn single_fields_take_their_name_from_the_layout() {
        let field = |bytes| spans(bytes, |reply, spans| reply.field(&NAMES[1], spans));
        assert_eq!(field("$1\r\nv\r\n"), Ok("f1=v".into()));
        assert_eq!(field("$-1\r\n"), Ok(String::new()));
        assert_eq!(field("_\r\n"), Ok(String::new()));
        assert_eq!(field("*0\r\n"), Err(Failure::GARBLED));
    }

    #[test]
    fn named_fields_leave_out_the_missing() {
        let named = |bytes| spans(bytes, |reply, spans| reply.named(&NAMES, spans));
        assert_eq!(named("*2\r\n$1\r\nv\r\n$1\r\nw\r\n"), Ok("f0=v f1=w".into()));
        assert_eq!(named("*2\r\n_\r\n$1\r\nw\r\n"), Ok("f1=w".into()));
        assert_eq!(named("*2\r\n$-1\r\n$-1\r\n"), Ok(String::new()));
        assert_eq!(named("*1\r\n$1\r\nv\r\n"), Err(Failure::GARBLED));
        assert_eq!(named("*2\r\n:1\r\n:2\r\n"), Err(Failure::GARBLED));
    }

    #[test]
    fn errors_are_failures_wherever_they_come() {
        let oom = "-OOM command not allowed\r\n";
        let expected = Failure::Refused(Reason::Full);
        assert_eq!(look(oom, |reply| reply.written()), Err(expected));
        assert_eq!(look(oom, |reply| reply.count()), Err(expected));
        assert_eq!(look(oom, |reply| reply.texts().map(drop)), Err(expected));
        assert_eq!(spans(oom, |reply, spans| reply.record(spans)), Err(expected));
        assert_eq!(spans(oom, |reply, spans| reply.named(&NAMES, spans)), Err(expected));
    }

    #[test]
    fn counts_with_texts_are_read() {
        assert_eq!(look(":3\r\n", |reply| reply.count()), Ok(3));
        assert_eq!(look("+3\r\n", |reply| reply.count()), Err(Failure::GARBLED));
        assert_eq!(look("+OK\r\n", |reply| reply.written()), Ok(()));
        assert_eq!(look(":1\r\n", |reply| reply.written()), Err(Failure::GARBLED));
        let texts = |reply: &Reply<'_>| Ok(reply.texts()?.map(<[u8]>::to_vec).collect::<Vec<_>>());
        assert_eq!(look("*2\r\n+a\r\n$1\r\nb\r\n", texts), Ok(vec![b"a".to_vec(), b"b".to_vec()]));
        assert_eq!(look("*1\r\n:1\r\n", texts), Err(Failure::GARBLED));
    }

    #[test]
    fn a_kept_row_is_the_row() {
        let reply = "%1\r\n$1\r\na\r\n$1\r\n1\r\n";
        let rows = look(reply, |reply| {
            let mut spans = Vec::new();
            reply.record(&mut spans)?;
            let mut rows = Vec::new();
            keep_row(reply.buffer, &spans, &mut rows)?;
            Ok(rows)
        });
        let mut expected = Vec::new();
        encode_row(1, &mut expected);
        encode_field(b"a", b"1", &mut expected);
        assert_eq!(rows, Ok(expected));
    }

    #[test]
    fn a_row_beyond_our_encoding_is_garbled() {
        let buffer = vec![0; 1 << 17];
        let long_name = Span { row: 0, name: 0..1 << 16, value: 0..0 };
        assert_eq!(keep_row(&buffer, &[long_name], &mut Vec::new()), Err(Failure::GARBLED));
        let many = vec![Span { row: 0, name: 0..1, value: 0..1 }; 1 << 16];
        assert_eq!(keep_row(&buffer, &many, &mut Vec::new()), Err(Failure::GARBLED));
    }
}
