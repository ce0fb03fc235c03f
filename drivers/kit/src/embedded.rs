//! Base of the stores in this process that keep their records on disk.
//!
//! An [`Engine`] puts, gets and changes rows of bytes; [`Embedded`] makes a
//! [`Store`] of it. A record is one value in the encoding of
//! [`encode_row`](assay_store::answer::encode_row): a read hands it out as the engine has it.
//!
//! All of them answer alike. An insert of an existing record overwrites it whole. An update keeps
//! the fields that it does not name, atomically for its record; of a missing record it writes
//! nothing and answers `found = false`, and so does a delete. Scans go in the order of the keys'
//! bytes.

pub mod address;
pub mod failure;
pub mod stripes;

use std::sync::Arc;

use assay_model::{Kind, Layout, Nanos, Reason, Setting};
use assay_store::answer::Span;
use assay_store::{
    Answer, Answers, Calls, Capabilities, Client, KeyRange, OpenError, Reply, Request, Rows,
    ScanOrder, Store, Ticket, row,
};

use crate::latest::Latest;

pub use failure::EngineFailure;

/// Rows of bytes under keys of bytes, in named tables, on disk.
///
/// Whatever is called returns when the change is as durable as the engine's settings promise.
pub trait Engine: Send + Sync + 'static {
    /// The one word that capabilities carry.
    const NAME: &'static str;

    /// A worker's cached state of a table, so that it need not look it up for each request.
    type Table: Clone + Send + Sync + 'static;

    /// Makes sure that the table exists.
    fn prepare(&self, name: &str) -> Result<Self::Table, EngineFailure>;

    /// Removes every row of the table.
    fn clear(&self, table: &Self::Table) -> Result<(), EngineFailure>;

    /// Makes every change answered so far survive a loss of power.
    fn sync(&self) -> Result<(), EngineFailure>;

    /// What decides the figures, in plain words.
    fn settings(&self) -> Vec<Setting>;

    /// Calls `visit` with the row and gives what it gives; `None` if there is no such row.
    fn get<T>(
        &self,
        table: &Self::Table,
        key: &[u8],
        visit: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineFailure>;

    /// Writes the row.
    fn put(&self, table: &Self::Table, key: &[u8], row: &[u8]) -> Result<(), EngineFailure>;

    /// Replaces the row by what `change` makes of it, with no other change in between; tells
    /// whether there was a row.
    fn change(
        &self,
        table: &Self::Table,
        key: &[u8],
        change: impl FnOnce(&[u8]) -> Result<Vec<u8>, Reason>,
    ) -> Result<bool, EngineFailure>;

    /// Removes the row and tells whether there was one.
    fn remove(&self, table: &Self::Table, key: &[u8]) -> Result<bool, EngineFailure>;

    /// Calls `visit` with up to `limit` rows of `range`, in the order of the keys' bytes.
    fn scan(
        &self,
        table: &Self::Table,
        range: KeyRange<'_>,
        limit: u32,
        visit: impl FnMut(&[u8]) -> Result<(), Reason>,
    ) -> Result<(), EngineFailure>;
}

/// The table of the note; a layout does not use this name.
const NOTES: &str = "_assay";
const NOTE: &[u8] = b"note";

/// An engine as a store.
pub struct Embedded<E: Engine> {
    engine: Arc<E>,
    /// The layout prepared last, by table number.
    layout: Latest<Arc<[Prepared<E>]>>,
    url: String,
}

struct Prepared<E: Engine> {
    table: E::Table,
    fields: Vec<String>,
}

impl<E: Engine> Embedded<E> {
    /// `url` is how the store calls itself in errors.
    pub fn new(engine: E, url: &str) -> Embedded<E> {
        Embedded { engine: Arc::new(engine), layout: Latest::default(), url: url.into() }
    }

    fn notes(&self) -> Result<E::Table, EngineFailure> {
        self.engine.prepare(NOTES)
    }

    fn failed(&self, failure: EngineFailure) -> OpenError {
        OpenError::Failed { store: self.url.clone(), reason: failure.text }
    }
}

impl<E: Engine> Store for Embedded<E> {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            calls: Calls::Blocking,
            scan_order: ScanOrder::Key,
            ..Capabilities::of(E::NAME)
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        let prepared = layout.tables.iter().map(|table| {
            let fields = table.fields.clone();
            self.engine.prepare(&table.name).map(|table| Prepared { table, fields })
        });
        let prepared: Result<Arc<[Prepared<E>]>, EngineFailure> = prepared.collect();
        let prepared = prepared.map_err(|failure| self.failed(failure))?;
        self.layout.set(prepared);
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        Ok(Box::new(EmbeddedClient {
            engine: Arc::clone(&self.engine),
            layout: self.layout.get(),
            spans: Vec::new(),
            scratch: Vec::new(),
        }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        Ok(self.engine.settings())
    }

    fn clear(&self) -> Result<(), OpenError> {
        for prepared in &*self.layout.get() {
            self.engine.clear(&prepared.table).map_err(|failure| self.failed(failure))?;
        }
        let removed = self.notes().and_then(|notes| self.engine.remove(&notes, NOTE));
        removed.map(drop).map_err(|failure| self.failed(failure))
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        let text = |note: &[u8]| String::from_utf8_lossy(note).into_owned();
        let note = self.notes().and_then(|notes| self.engine.get(&notes, NOTE, text));
        note.map_err(|failure| self.failed(failure))
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        let kept = self.notes().and_then(|notes| self.engine.put(&notes, NOTE, note.as_bytes()));
        kept.and_then(|()| self.engine.sync()).map_err(|failure| self.failed(failure))
    }

    fn flush(&self) -> Result<(), OpenError> {
        self.engine.sync().map_err(|failure| self.failed(failure))
    }
}

struct EmbeddedClient<E: Engine> {
    engine: Arc<E>,
    layout: Arc<[Prepared<E>]>,
    spans: Vec<Span>,
    scratch: Vec<u8>,
}

impl<E: Engine> Client for EmbeddedClient<E> {
    fn start(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        let Some(prepared) = self.layout.get(usize::from(request.table)) else {
            return answers.answer(ticket, Answer::Refused(Reason::Malformed));
        };
        let Prepared { table, fields: names } = prepared;
        let (engine, key) = (&*self.engine, request.key);
        let (spans, scratch) = (&mut self.spans, &mut self.scratch);
        scratch.clear();
        let outcome = match request.kind {
            Kind::Read => {
                let answered = engine.get(table, key, |row| {
                    let rows = row::choose(row, request.fields, names, spans);
                    answers.answer(ticket, found(rows));
                });
                match answered {
                    Ok(Some(())) => return,
                    Ok(None) => Ok(false),
                    Err(failure) => Err(failure),
                }
            }
            Kind::Insert => row::make(&request.values, names, scratch)
                .map_err(EngineFailure::refused)
                .and_then(|()| engine.put(table, key, scratch))
                .map(|()| true),
            Kind::Update => engine.change(table, key, |row| {
                let mut merged = Vec::with_capacity(row.len());
                row::merge(row, &request.values, names, &mut merged).map(|()| merged)
            }),
            Kind::Delete => engine.remove(table, key),
            Kind::Scan => engine
                .scan(table, request.range(), request.limit, |row| {
                    row::copy(row, request.fields, names, scratch)
                })
                .map(|()| !scratch.is_empty()),
            Kind::Commit | Kind::Rollback => Err(EngineFailure::refused(Reason::Unsupported)),
        };
        let rows = if request.kind == Kind::Scan { Rows::Encoded(scratch) } else { Rows::NONE };
        let answer = match outcome {
            Ok(found) => Answer::Done(Reply { found, rows }),
            Err(failure) => failure.answer(),
        };
        answers.answer(ticket, answer);
    }

    fn poll(&mut self, _now: Nanos, _answers: &mut dyn Answers) {}
}

fn found(rows: Result<Rows<'_>, Reason>) -> Answer<'_> {
    rows.map_or_else(Answer::Refused, |rows| Answer::Done(Reply { found: true, rows }))
}
