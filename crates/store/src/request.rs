//! Request to a store: one operation on records with named fields.

use std::ops::{Bound, Range};

use assay_model::{Fields, Kind, Parameters};

/// The executor's number for a request in flight; never used twice with one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// One request. Borrows the worker's buffers: a client that completes it later copies what it
/// needs.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The conversation that it belongs to.
    pub session: u32,
    /// The request.
    pub kind: Kind,
    /// Number of the table in the layout.
    pub table: u16,
    /// The record's key; a scan starts there.
    pub key: &'a [u8],
    /// The fields to return, for reads and scans.
    pub fields: Fields,
    /// The most records to return, for scans.
    pub limit: u32,
    /// Where a scan may stop before its limit: records with this key and those behind it are not
    /// wanted. A store may return them all the same. Empty where there is no end.
    pub end: &'a [u8],
    /// Whether a scan is to return the keys of records instead of their fields, each as the only
    /// field of a record, without a name; for stores that [say so](crate::Store::scans_keys).
    pub wants_keys: bool,
    /// The values to write, for updates and inserts.
    pub values: Values<'a>,
}

/// The keys of a scan.
pub type KeyRange<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

impl<'a> Request<'a> {
    /// A request of session 0 about the record `key` of the first table: all fields, one record,
    /// nothing to write.
    #[inline]
    pub const fn new(kind: Kind, key: &'a [u8]) -> Request<'a> {
        Request {
            session: 0,
            kind,
            table: 0,
            key,
            fields: Fields::All,
            limit: 1,
            end: &[],
            wants_keys: false,
            values: Values::NONE,
        }
    }

    /// The keys that a scan is about: from its key on, up to its end where it has one.
    pub fn range(&self) -> KeyRange<'a> {
        let end = match self.end {
            [] => Bound::Unbounded,
            end => Bound::Excluded(end.max(self.key)),
        };
        (Bound::Included(self.key), end)
    }
}

/// A request that owns its bytes, for clients that answer later.
///
/// Used again and again: its buffers grow to the largest request, then stay.
#[derive(Clone, Debug)]
pub struct OwnedRequest {
    session: u32,
    kind: Kind,
    table: u16,
    fields: Fields,
    limit: u32,
    end: Vec<u8>,
    wants_keys: bool,
    key: Vec<u8>,
    spans: Vec<(u16, Range<u32>)>,
    bytes: Vec<u8>,
}

impl Default for OwnedRequest {
    /// A read of the empty key.
    fn default() -> OwnedRequest {
        OwnedRequest {
            session: 0,
            kind: Kind::Read,
            table: 0,
            fields: Fields::All,
            limit: 0,
            end: Vec::new(),
            wants_keys: false,
            key: Vec::new(),
            spans: Vec::new(),
            bytes: Vec::new(),
        }
    }
}

impl OwnedRequest {
    /// Copies `request`, over what was there.
    pub fn fill(&mut self, request: &Request<'_>) {
        self.session = request.session;
        self.kind = request.kind;
        self.table = request.table;
        self.fields = request.fields;
        self.limit = request.limit;
        self.end.clear();
        self.end.extend_from_slice(request.end);
        self.wants_keys = request.wants_keys;
        self.key.clear();
        self.key.extend_from_slice(request.key);
        self.spans.clear();
        self.bytes.clear();
        for (field, value) in request.values.iter() {
            let begin = self.bytes.len() as u32;
            self.bytes.extend_from_slice(value);
            self.spans.push((field, begin..self.bytes.len() as u32));
        }
    }

    /// Rewrites the key, for a store whose keys have a spelling of their own.
    pub fn change_key(&mut self, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.key);
    }

    /// The request, as it was filled in last.
    pub fn request(&self) -> Request<'_> {
        Request {
            session: self.session,
            kind: self.kind,
            table: self.table,
            key: &self.key,
            fields: self.fields,
            limit: self.limit,
            end: &self.end,
            wants_keys: self.wants_keys,
            values: Values::new(&self.spans, &self.bytes),
        }
    }
}

/// One step of a process of logical queries: a query itself, or the end of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The conversation that it belongs to.
    pub session: u32,
    /// The request.
    pub step: Step,
    /// Whether it opens a transaction, which a later [`Step::Commit`] or [`Step::Rollback`] of the
    /// same session ends. What the session had open before is undone. A query outside a transaction
    /// is one by itself.
    pub begins: bool,
    /// The query's arguments.
    pub parameters: Parameters<'a>,
}

/// The step of a [`Call`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The query with this place in the catalogue plus one.
    Query(u16),
    /// Make what the transaction did final.
    Commit,
    /// Undo what the transaction did.
    Rollback,
}

/// Field numbers and their values.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    spans: &'a [(u16, Range<u32>)],
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// No values.
    pub const NONE: Values<'static> = Values { spans: &[], bytes: &[] };

    /// Values whose bytes are `bytes[span]` for each field and span in `spans`.
    pub fn new(spans: &'a [(u16, Range<u32>)], bytes: &'a [u8]) -> Values<'a> {
        Values { spans, bytes }
    }

    /// How many fields are written.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Each field's number and value, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let bytes = self.bytes;
        self.spans
            .iter()
            .map(move |(field, span)| (*field, &bytes[span.start as usize..span.end as usize]))
    }

    /// The number of each field that is written, in the order given.
    pub fn numbers(&self) -> impl Iterator<Item = u16> + Clone + use<'a> {
        self.spans.iter().map(|(field, _)| *field)
    }

    /// The value of field `number`, if it is written.
    pub fn get(&self, number: u16) -> Option<&'a [u8]> {
        self.iter().find(|(field, _)| *field == number).map(|(_, value)| value)
    }
}
