//! AntidoteDB, over its protocol of protobuf messages.
//!
//! A record is a grow-only map of registers under `table/key`, a register for each field, so an
//! update writes the fields that it names, and concurrent updates of different fields in two data
//! centres both stay. A worker has some connections with each host, each with one request at a
//! time, because a server answers those of a connection one after the other.
//!
//! What a request becomes:
//! * A read, an insert, an update or a delete is a static transaction: one request.
//! * Whether a record was there is not known to a write: an update of a missing record creates it,
//!   with the fields that it names. With `writes=checked`, an update or a delete is a transaction
//!   of several requests, which looks first.
//! * Nothing can be removed: a delete marks every field as not there, see `record`; a table that
//!   is cleared has its records in another bucket afterwards.
//! * There are no scans: AntidoteDB has no order of keys, and no list of them.
//! * A transaction of requests is an interactive one, with a request for each step. It reads from
//!   one snapshot; of two in one data centre that write one record the first to commit wins.
//! * With `session=clock`, each transaction carries the clock of the session's last one.

mod clocks;
mod connector;
mod failure;
mod link;
mod messages;
mod options;
mod record;
mod settings;
mod socket;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_driver_kit::task::{self, RecordsClient};
use assay_model::{Kind, Layout, Setting};
use assay_store::{Capabilities, Client, Isolation, OpenError, Store};

use clocks::Clocks;
use link::{Links, Plan};
use messages::{AbortTransaction, StartTransaction, StaticRead, StaticUpdate};
pub use options::{HostChoice, Options, SessionOrder, Writes};
use record::Records;
use socket::{Socket, Trouble};

/// The entry of the note in the map of our own notes.
const NOTE: &str = "note";
/// What the entries of cleared tables begin with there.
const CLEARED: &str = "cleared ";
/// How long what is no part of a run may wait for an answer.
const ADMIN_TASK_TIMEOUT: Duration = Duration::from_secs(30);

/// An AntidoteDB, of one data centre or of several.
pub struct Antidote {
    options: Arc<Options>,
    prepared: Latest<Prepared>,
    /// The number of the one host that the options name, if others were left out.
    only: Option<u8>,
}

/// What was prepared last.
#[derive(Clone, Default)]
struct Prepared {
    plan: Arc<Plan>,
    tables: Vec<String>,
}

impl Antidote {
    /// A store with these options; nothing is connected yet.
    pub fn new(options: Options) -> Antidote {
        Antidote { options: Arc::new(options), prepared: Latest::default(), only: None }
    }

    /// A store with the options that `url` says, see [`Options`].
    ///
    /// # Errors
    /// If the URL is invalid.
    pub fn from_url(url: &str) -> Result<Antidote, OpenError> {
        Ok(Antidote::new(url.parse()?))
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Runs requests over a connection that no worker uses.
    fn admin_task<T>(
        &self,
        act: impl AsyncFnOnce(&mut Socket) -> Result<T, Trouble>,
    ) -> Result<T, OpenError> {
        let options = &self.options;
        task::admin_task_within(options, ADMIN_TASK_TIMEOUT, "", async {
            let mut socket = connector::dial_any(options).await?;
            act(&mut socket).await.map_err(|trouble| connector::failed(options, &trouble))
        })
    }

    /// The entries of the map of our own notes.
    async fn notes(&self, socket: &mut Socket) -> Result<BTreeMap<String, String>, Trouble> {
        let transaction = StartTransaction::after(None);
        let objects = vec![connector::notes(&self.options)];
        let answer = socket.send(&StaticRead { transaction, objects }).await?;
        let read = answer.read.filter(|read| read.success);
        let found = read.and_then(|read| read.objects.into_iter().next());
        let map = found.and_then(|object| object.map);
        let map = map.ok_or_else(|| Trouble::Garbled("no map of notes".into()))?;
        let entries = map.entries.into_iter().filter_map(|entry| {
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            Some((text(entry.key.key), text(entry.value.register?.value)))
        });
        Ok(entries.collect())
    }

    async fn note_down(&self, socket: &mut Socket, notes: &[(&str, &str)]) -> Result<(), Trouble> {
        let update: StaticUpdate = link::assign(connector::notes(&self.options), notes);
        let answer = socket.send(&update).await?;
        match answer.success {
            true => Ok(()),
            false => Err(Trouble::Said("it does not commit what we note".into())),
        }
    }

    /// The bucket of a table that was cleared so often.
    fn bucket(&self, times: &str) -> String {
        match times {
            "" => self.options.bucket.clone(),
            times => format!("{}{}{times}", self.options.bucket, options::CLEARED),
        }
    }
}

/// The entry that says how often `table` was cleared.
fn cleared(table: &str) -> String {
    format!("{CLEARED}{table}")
}

impl Store for Antidote {
    fn capabilities(&self) -> Capabilities {
        let can = |kind: &Kind| *kind != Kind::Scan;
        Capabilities {
            kinds: Kind::OF_RECORDS.into_iter().filter(can).collect(),
            isolation: Some(Isolation::RepeatableRead),
            ..Capabilities::of("antidote")
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        if let Some(table) = layout.tables.iter().find(|table| table.name.contains('/')) {
            return Err(self.options.unsupported(format!(
                "table {:?} has a slash, which ends names here",
                table.name
            )));
        }
        // Objects need nothing made for them; this shows that a node answers as well.
        let notes = self.admin_task(async |socket| self.notes(socket).await)?;
        let times = |table: &str| notes.get(&cleared(table)).map_or("", String::as_str);
        let tables = layout.tables.iter();
        let plan = tables.map(|table| Records::new(self.bucket(times(&table.name)), table));
        let prepared = Prepared {
            plan: Arc::new(plan.collect()),
            tables: layout.tables.iter().map(|table| table.name.clone()).collect(),
        };
        self.prepared.set(prepared);
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let (options, plan) = (Arc::clone(&self.options), self.prepared.get().plan);
        let clocks = RefCell::new(Clocks::default());
        let links = Links { options, plan, clocks, only: self.only };
        let (count, name) = (self.options.connections, self.options.to_string());
        let client = RecordsClient::open(links, count, &name)?;
        Ok(match self.options.host {
            HostChoice::First | HostChoice::BySession => client,
            HostChoice::InTurn => Box::new(client.in_turn()),
        })
    }

    fn room(&self) -> Option<usize> {
        Some(self.options.connections * self.options.hosts())
    }

    fn nodes(&self) -> Vec<String> {
        match self.options.hosts() {
            1 => Vec::new(),
            _ => self.options.address.authorities(),
        }
    }

    fn reading_at(&self, node: u8) -> Option<Box<dyn Store>> {
        let mut options = Options::clone(&self.options);
        if options.hosts() == 1 {
            return None;
        }
        options.address.hosts =
            vec![options.address.hosts.get(usize::from(node).checked_sub(1)?)?.clone()];
        let prepared = Latest::new(self.prepared.get());
        Some(Box::new(Antidote { options: Arc::new(options), prepared, only: Some(node) }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let descriptor = self.admin_task(async |socket| {
            let started = socket.send(&StartTransaction::after(None)).await?;
            let descriptor = started.descriptor.unwrap_or_default();
            socket.send(&AbortTransaction { descriptor: descriptor.clone() }).await?;
            Ok(descriptor)
        })?;
        Ok(settings::settings(&self.options, &descriptor))
    }

    fn clear(&self) -> Result<(), OpenError> {
        let tables = self.prepared.get().tables;
        self.admin_task(async |socket| {
            let notes = self.notes(socket).await?;
            let mut changed = vec![(NOTE.to_owned(), String::new())];
            for table in &tables {
                let entry = cleared(table);
                let times = notes.get(&entry).and_then(|times| times.parse().ok());
                let times: u64 = times.unwrap_or(0);
                changed.push((entry, (times + 1).to_string()));
            }
            let changed: Vec<(&str, &str)> =
                changed.iter().map(|(entry, text)| (entry.as_str(), text.as_str())).collect();
            self.note_down(socket, &changed).await
        })
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        let mut notes = self.admin_task(async |socket| self.notes(socket).await)?;
        Ok(notes.remove(NOTE).filter(|note| !note.is_empty()))
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.admin_task(async |socket| self.note_down(socket, &[(NOTE, note)]).await)
    }
}
