//! Completion of a request: the response of a store.

use std::ops::Range;

use assay_model::Reason;

use crate::request::Ticket;

/// Takes the answers of a client. The executor is one; tests and mappings are others.
pub trait Answers {
    /// `ticket` ended with `answer`. The answer's bytes are valid only during this call.
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>);

    /// `ticket`, which is about to be completed, took this many requests instead of one.
    fn requests(&mut self, _ticket: Ticket, _count: u16) {}

    /// `ticket` is sent to this node, or was answered by it: its place in
    /// [`Store::nodes`](crate::Store::nodes) plus one. What is said last holds.
    fn node(&mut self, _ticket: Ticket, _node: u8) {}

    /// The record that `ticket`, which is about to be completed, has read or written has this
    /// version now, as the store itself counts: of two versions of a record the later one has the
    /// greater number. See [`Store::tells_versions`](crate::Store::tells_versions).
    fn version(&mut self, _ticket: Ticket, _version: u64) {}
}

/// How a request ended.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The store answered.
    Done(Reply<'a>),
    /// It certainly did not happen.
    Refused(Reason),
    /// It is unknown whether it happened.
    Unknown(Reason),
}

/// What the store answered.
///
/// The rows of a logical query have a field for each column of its output, in that order, whose
/// value is an encoded [`Datum`](assay_model::Datum); the names may be empty.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// Whether the record was there. For writes: false only if the store says that it was not.
    pub found: bool,
    /// The records returned.
    pub rows: Rows<'a>,
}

impl Reply<'static> {
    /// A write that went through.
    pub const WRITTEN: Reply<'static> = Reply { found: true, rows: Rows::NONE };
    /// A record that is not there.
    pub const MISSING: Reply<'static> = Reply { found: false, rows: Rows::NONE };
}

/// Records of named fields, in one of the shapes that stores have them in.
///
/// Access to the fields is lazy: if they are not read, an embedded store pays nothing.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// Records in our own encoding, see [`encode_row`].
    Encoded(&'a [u8]),
    /// Pieces of a buffer.
    Spans {
        /// The buffer, for example what a socket gave.
        bytes: &'a [u8],
        /// The pieces, record by record.
        spans: &'a [Span],
        /// How many records.
        rows: u32,
    },
}

/// One field of one record within a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which record, from 0.
    pub row: u32,
    /// Where the field's name is.
    pub name: Range<u32>,
    /// Where its value is.
    pub value: Range<u32>,
}

/// One field of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Which record, from 0.
    pub row: u32,
    /// The field's name.
    pub name: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
}

impl<'a> Rows<'a> {
    /// No records.
    pub const NONE: Rows<'static> = Rows::Encoded(&[]);

    /// How many records.
    pub fn count(&self) -> u32 {
        match self {
            Rows::Spans { rows, .. } => *rows,
            Rows::Encoded(bytes) => count_rows(bytes),
        }
    }

    /// Calls `visit` with every field, record by record.
    pub fn each(&self, mut visit: impl FnMut(Field<'a>)) {
        match *self {
            Rows::Spans { bytes, spans, .. } => {
                for span in spans {
                    visit(Field {
                        row: span.row,
                        name: &bytes[span.name.start as usize..span.name.end as usize],
                        value: &bytes[span.value.start as usize..span.value.end as usize],
                    });
                }
            }
            Rows::Encoded(bytes) => visit_rows(bytes, visit),
        }
    }
}

/// Begins a record of `fields` fields; follow with as many [`encode_field`].
///
/// The encoding of a record, little-endian: number of fields (u16), then for each field the length
/// of its name (u16), the length of its value (u32), the name, the value. Records follow one
/// another without anything between them.
pub fn encode_row(fields: u16, into: &mut Vec<u8>) {
    into.extend_from_slice(&fields.to_le_bytes());
}

/// Appends one field of a record begun by [`encode_row`].
///
/// # Panics
/// If the name is longer than 64 KiB or the value longer than 4 GiB.
pub fn encode_field(name: &[u8], value: &[u8], into: &mut Vec<u8>) {
    let name_length = u16::try_from(name.len()).expect("field names are shorter than 64 KiB");
    let value_length = u32::try_from(value.len()).expect("values are shorter than 4 GiB");
    into.extend_from_slice(&name_length.to_le_bytes());
    into.extend_from_slice(&value_length.to_le_bytes());
    into.extend_from_slice(name);
    into.extend_from_slice(value);
}

fn count_rows(mut bytes: &[u8]) -> u32 {
    let mut rows = 0;
    while let Some((fields, mut rest)) = split_u16(bytes) {
        for _ in 0..fields {
            let Some((_, _, after)) = split_field(rest) else { return rows };
            rest = after;
        }
        bytes = rest;
        rows += 1;
    }
    rows
}

fn visit_rows<'a>(mut bytes: &'a [u8], mut visit: impl FnMut(Field<'a>)) {
    let mut row = 0;
    while let Some((fields, mut rest)) = split_u16(bytes) {
        for _ in 0..fields {
            let Some((name, value, after)) = split_field(rest) else { return };
            visit(Field { row, name, value });
            rest = after;
        }
        bytes = rest;
        row += 1;
    }
}

fn split_u16(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<2>()?;
    Some((u16::from_le_bytes(*number), rest))
}

fn split_field(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (name_length, rest) = split_u16(bytes)?;
    let (value_length, rest) = rest.split_first_chunk::<4>()?;
    let (name, rest) = rest.split_at_checked(name_length as usize)?;
    let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*value_length) as usize)?;
    Some((name, value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(rows: Rows<'_>) -> Vec<String> {
        let mut texts = Vec::new();
        rows.each(|field| {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            texts.push(format!("{} {}={}", field.row, text(field.name), text(field.value)));
        });
        texts
    }

    #[test]
    fn encoded_records_come_back() {
        let mut bytes = Vec::new();
        encode_row(2, &mut bytes);
        encode_field(b"a", b"1", &mut bytes);
        encode_field(b"b", b"", &mut bytes);
        encode_row(1, &mut bytes);
        encode_field(b"a", b"2", &mut bytes);
        let rows = Rows::Encoded(&bytes);
        assert_eq!(rows.count(), 2);
        assert_eq!(texts(rows), ["0 a=1", "0 b=", "1 a=2"]);
    }

    #[test]
    fn a_cut_encoding_gives_what_is_whole() {
        let mut bytes = Vec::new();
        encode_row(1, &mut bytes);
        encode_field(b"a", b"1", &mut bytes);
        bytes.push(9);
        assert_eq!(Rows::Encoded(&bytes).count(), 1);
        bytes.truncate(5);
        assert_eq!(texts(Rows::Encoded(&bytes)), Vec::<String>::new());
    }
}
