//! A store of records that takes logical queries, by way of a physical schema.
//!
//! Each query becomes requests of the inner store, one after another within its session.
//!
//! * If the inner store declares an isolation, a transaction of queries is one of its own, and ends
//!   with a request that commits it or rolls it back. A query that may take several requests is
//!   such a transaction by itself. A step that fails undoes what was written before it, so it is
//!   refused, even if it was a write whose response is lost: it is not committed. Only a SELECT
//!   whose answer is lost is unknown, and a commit.
//! * If not, there are no transactions: a query that takes several requests is not atomic, an
//!   `x = x + ?` is a read, then a write, and what others write in between is lost. Commit and
//!   rollback are answered at once; a rollback undoes nothing. If a request fails before anything
//!   was written, the query is refused (a SELECT whose answer is lost is unknown). Once something
//!   was written, it is unknown: half of it happened.
//! * An UPDATE or DELETE by its whole primary key that needs no old value is sent as it is. What
//!   the store says about a missing row is what the query answers; where it creates a part of a
//!   record and says that it was there, such a part is no row to any query.
//! * Foreign keys are not checked.

mod client;
mod lines;
mod probe;
mod query_execution;
mod table;
mod transaction;
pub(crate) mod value;

use std::sync::{Arc, PoisonError, RwLock};

use assay_model::{Catalogue, Kind, Layout, Setting, Table};
use assay_store::{
    Capabilities, Client, DataModel, Existing, Isolation, OpenError, Store, StoreTime,
};

use crate::key_value::Compiled;
use crate::key_value::program::Program;
use crate::physical::Physical;
use crate::physical::view::View;
use client::MappedClient;
use probe::Probe;
use table::Stored;

/// A store of records with a physical schema.
pub struct Mapped {
    inner: Arc<dyn Store>,
    physical: Physical,
    prepared: RwLock<Option<Arc<Prepared>>>,
}

/// What all clients share.
struct Prepared {
    tables: Vec<Stored>,
    /// What answers each query, by its place in the catalogue.
    programs: Vec<Program>,
    /// How many arguments each query takes.
    parameters: Vec<usize>,
}

/// The table that remembers which physical schema the rows are kept in.
const MEMORY: &str = "assay_mapping";
const MEMORY_FIELD: &str = "physical";
const MEMORY_KEY: &[u8] = b"physical";

const NOTHING: &str = "it holds no tables of a mapping; load them before using them";

impl Mapped {
    /// Lets `inner` take queries, kept in the tables of `physical`.
    pub fn new(inner: Arc<dyn Store>, physical: Physical) -> Mapped {
        Mapped { inner, physical, prepared: RwLock::new(None) }
    }

    /// The physical schema.
    pub fn physical(&self) -> &Physical {
        &self.physical
    }

    fn prepared(&self) -> Option<Arc<Prepared>> {
        self.prepared.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How transactions of queries are kept apart; none if the inner store has none of requests.
    fn isolation(&self) -> Option<Isolation> {
        let inner = self.inner.capabilities();
        inner.isolation.filter(|_| !inner.takes_queries)
    }

    fn contents(&self, reason: String) -> OpenError {
        OpenError::Contents { store: self.inner.capabilities().name.into(), reason }
    }

    fn failed(&self, reason: String) -> OpenError {
        OpenError::Failed { store: self.inner.capabilities().name.into(), reason }
    }

    /// Finds out what is there, then makes it what `existing` wants.
    fn settle_existing(&self, layout: &Layout, existing: Existing) -> Result<(), OpenError> {
        let memory = layout.tables.len() as u16 - 1;
        if existing == Existing::Replace {
            self.inner.clear()?;
            self.inner.prepare(layout)?;
        }
        // A store in simulated time keeps nothing beyond the process, and a request would advance
        // its time.
        if self.inner.capabilities().time == StoreTime::Simulated {
            return match (existing, self.prepared().is_some()) {
                (Existing::Refuse, true) => Err(self.contents(
                    "its tables were made ready before; replace them, or use them as they are"
                        .into(),
                )),
                (Existing::Use, false) => Err(self.contents(NOTHING.into())),
                _ => Ok(()),
            };
        }
        let text = self.physical.to_toml();
        let mut probe = Probe::open(&*self.inner)?;
        match existing {
            Existing::Replace => {}
            Existing::Refuse if !self.inner.capabilities().can(Kind::Scan) => {
                // Such a store cannot tell whether a table has rows.
                let kept = probe.recall(memory, MEMORY_KEY).map_err(|why| self.failed(why))?;
                if kept.is_some() {
                    return Err(self.contents(
                        "tables of a mapping were made there before; replace them, or use them \
                         as they are"
                            .into(),
                    ));
                }
            }
            Existing::Refuse => {
                for (number, table) in (0_u16..).zip(&layout.tables) {
                    if number != memory && probe.has_rows(number).map_err(|why| self.failed(why))? {
                        return Err(self.contents(format!(
                            "table {:?} has rows already; replace them, or use them as they are",
                            table.name
                        )));
                    }
                }
            }
            Existing::Use => {
                let kept = probe.recall(memory, MEMORY_KEY).map_err(|why| self.failed(why))?;
                return match kept {
                    Some(kept) if is_same(&kept, &text) => Ok(()),
                    Some(_) => Err(self.contents(
                        "its rows are kept in another physical schema than this; give back the \
                         one that they were loaded with, or load again"
                            .into(),
                    )),
                    None => Err(self.contents(NOTHING.into())),
                };
            }
        }
        probe.remember(memory, MEMORY_KEY, text.as_bytes()).map_err(|why| self.failed(why))
    }
}

fn transactions(isolation: Option<Isolation>) -> Setting {
    let (value, meaning) = match isolation {
        Some(isolation) => (
            isolation.name(),
            "a transaction is one of the store's, and so is a query of several requests; nothing \
             is left of one that is not committed",
        ),
        None => ("best effort", "nothing is atomic beyond one request; a rollback undoes nothing"),
    };
    Setting::new("transactions", value, meaning)
}

/// Whether two files keep rows in the same tables: what is expected or served does not count.
fn is_same(kept: &str, own: &str) -> bool {
    let tables = |text: &str| {
        let mut physical = Physical::from_toml(text).ok()?;
        physical.tables.iter_mut().for_each(|table| {
            table.serves.clear();
            table.partition = 0;
        });
        Some(physical.tables)
    };
    tables(kept).is_some() && tables(kept) == tables(own)
}

impl Store for Mapped {
    fn capabilities(&self) -> Capabilities {
        let isolation = self.isolation();
        Capabilities { takes_queries: true, isolation, ..self.inner.capabilities() }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        self.inner.prepare(layout)
    }

    fn prepare_queries(
        &self,
        catalogue: &Arc<Catalogue>,
        existing: Existing,
    ) -> Result<(), OpenError> {
        let unsupported = |reason: String| OpenError::Unsupported {
            store: self.inner.capabilities().name.into(),
            reason,
        };
        if self.inner.capabilities().data_model == DataModel::Relational {
            return Err(unsupported("it takes queries by itself; leave the mapping out".into()));
        }
        if !self.inner.capabilities().keeps_other_fields && !self.inner.capabilities().is_no_op {
            return Err(unsupported(
                "an update of it loses the fields that are not written, so rows would lose \
                 columns; name a store that keeps them"
                    .into(),
            ));
        }
        let compiled = Compiled::new(catalogue, &self.physical);
        let compiled = compiled.map_err(|error| unsupported(error.to_string()))?;
        let schema = &catalogue.schema;
        let scans_keys = self.inner.scans_keys();
        let stored = |(name, view): &(String, View)| Stored::new(schema, name, view, scans_keys);
        let tables: Vec<Stored> = compiled.tables.iter().map(stored).collect();
        let memory =
            Table { name: MEMORY.into(), fields: vec![MEMORY_FIELD.into()], needs_key_order: true };
        let tables_within = tables.iter().map(Stored::layout).chain([memory]).collect();
        let records = schema.relations.len() as u64;
        let layout = Layout { tables: tables_within, records };
        self.inner.prepare(&layout)?;
        self.settle_existing(&layout, existing)?;
        let programs = compiled.queries.into_iter().map(|costed| costed.program).collect();
        let parameters = catalogue.queries.iter().map(|query| query.parameters.len()).collect();
        let prepared = Arc::new(Prepared { tables, programs, parameters });
        *self.prepared.write().unwrap_or_else(PoisonError::into_inner) = Some(prepared);
        Ok(())
    }

    fn open(&self, worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let inner = self.inner.open(worker)?;
        Ok(Box::new(MappedClient::new(inner, self.isolation(), self.prepared())))
    }

    fn nodes(&self) -> Vec<String> {
        self.inner.nodes()
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let mut settings = self.inner.settings()?;
        let tables = self.physical.tables.len();
        let entries = self.physical.tables.iter().filter(|table| table.index.is_some()).count();
        settings.push(Setting::new(
            "mapping",
            format!("{}, {tables} tables, {entries} indexes", self.physical.class.name()),
            "a logical query is one or more requests, which the requests column counts",
        ));
        settings.push(transactions(self.isolation()));
        Ok(settings)
    }

    fn clear(&self) -> Result<(), OpenError> {
        self.inner.clear()?;
        *self.prepared.write().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        self.inner.note()
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.inner.keep_note(note)
    }

    fn flush(&self) -> Result<(), OpenError> {
        self.inner.flush()
    }

    fn readings(&self) -> Result<Vec<assay_store::ServerReading>, OpenError> {
        self.inner.readings()
    }

    fn incidents(&self) -> Vec<String> {
        self.inner.incidents()
    }

    fn truth(&self, visit: &mut dyn FnMut(&assay_store::Truth)) {
        self.inner.truth(visit);
    }
}

#[cfg(test)]
mod tests;
