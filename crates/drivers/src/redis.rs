//! Redis or Valkey, over a pipelined connection of our own.
//!
//! A lane has some TCP connections, each of which carries many requests at once; a session always
//! uses the same connection, so its requests reach the server in its order. Records are laid out
//! as YCSB's Redis binding does, so that either reads what the other has loaded.
//!
//! What an answer means:
//! * A missing record, or one without the wanted field, is done with `found = false`. An update
//!   of a missing record creates it without an entry in the index, as in YCSB; where there are
//!   several tables, or one in the order of its keys, it writes nothing instead.
//! * Inserts and deletes are two commands. If one was refused while the other went through, the
//!   operation is unknown, with the reason of the refusal: half of it happened.
//! * Errors of the server that certainly refuse the command are refused; errors that we do not
//!   know, for example a proxy's, are unknown.
//! * A connection that breaks makes unknown whatever may have left, reads too, and refuses the
//!   rest. It is made anew in the background, first after 10 ms, then ever more slowly up to once
//!   a second; meanwhile its sessions' requests are refused at once as unreachable.

mod connect;
mod connection;
mod console;
mod dialer;
mod error;
mod inbox;
mod java_hash;
mod lane;
mod options;
mod reply;
mod settings;
mod tls;
mod tongue;
mod transport;

use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, PoisonError, RwLock};

use assay_model::{Kind, Layout, Setting};
use assay_store::resp::{Protocol, Value};
use assay_store::{Calls, Capabilities, Client, DataModel, OpenError, ScanOrder, Store, StoreTime};

use connection::Shared;
use console::Console;
use dialer::Dialer;
use lane::Lane;
pub use options::{Index, Options, Password, RecordShape, Tls, Trust};
use settings::Facts;
use tongue::{INDEX, Tongue};

/// How many keys are removed with one command when the store is cleared.
const CLEARED_AT_ONCE: usize = 1000;

/// The key that says what was loaded. YCSB's keys begin with "user", its index is `_indices`.
const NOTE: &[u8] = b"_assay:data-set";

/// A Redis or Valkey server.
pub struct Redis {
    dialer: Arc<Dialer>,
    tongue: RwLock<Option<Arc<Tongue>>>,
}

impl Redis {
    /// A store with these options; nothing is connected yet.
    ///
    /// # Errors
    /// If a file that the options name cannot be read.
    pub fn new(options: Options) -> Result<Redis, OpenError> {
        Ok(Redis { dialer: Arc::new(Dialer::new(options)?), tongue: RwLock::new(None) })
    }

    /// A store with the options that `url` says, see [`Options`].
    ///
    /// # Errors
    /// If the URL makes no sense, or a file that it names cannot be read.
    pub fn from_url(url: &str) -> Result<Redis, OpenError> {
        Redis::new(url.parse()?)
    }

    /// The options; shown without secrets.
    pub fn options(&self) -> &Options {
        &self.dialer.options
    }

    fn console(&self) -> Result<Console, OpenError> {
        Ok(self.dialer.dial(&self.dialer.resolve()?)?.0)
    }

    fn ask(&self, console: &mut Console, words: &[&[u8]]) -> Result<Value, OpenError> {
        match console.ask(words) {
            Ok(Value::Error(error)) => {
                let command = String::from_utf8_lossy(words[0]).into_owned();
                let store = self.options().to_string();
                let reason = format!("to {command} it says: {error}");
                Err(match error.starts_with("NOPERM") {
                    true => OpenError::NotPermitted { store, reason },
                    false => OpenError::Failed { store, reason },
                })
            }
            Ok(value) => Ok(value),
            Err(error) => Err(self.dialer.explain(&error)),
        }
    }

    fn unsupported(&self, reason: String) -> OpenError {
        OpenError::Unsupported { store: self.options().to_string(), reason }
    }

    fn check_layout(&self, layout: &Layout) -> Result<(), OpenError> {
        let Options { shape, index, .. } = *self.options();
        let fields = layout.tables.first().map_or(0, |table| table.fields.len());
        if tongue::is_ycsbs(&layout.tables) {
            if shape == RecordShape::String && fields != 1 {
                return Err(self.unsupported(format!(
                    "with layout=string a record has one field and not {fields}; leave the option \
                     out"
                )));
            }
            return Ok(());
        }
        // Tables are told apart by prefixes, and their keys are kept in order beside them.
        match (shape, index) {
            (RecordShape::Hash, Index::Kept) => Ok(()),
            (RecordShape::String, _) => Err(self.unsupported(
                "with layout=string there is one table of one field; leave the option out".into(),
            )),
            (_, Index::Off) => Err(self.unsupported(
                "with index=off nobody knows the order of keys; leave the option out".into(),
            )),
        }
    }

    /// Removes the records that an index names, then the index.
    fn clear_table(
        &self,
        console: &mut Console,
        index: &[u8],
        prefix: &[u8],
    ) -> Result<(), OpenError> {
        let last = (CLEARED_AT_ONCE - 1).to_string();
        loop {
            let keys = self.ask(console, &[b"ZRANGE", index, b"0", last.as_bytes()])?;
            let Value::Array(keys) = keys else { break };
            let keys = keys.iter().filter_map(Value::text);
            let keys: Vec<Vec<u8>> = keys.map(|key| [prefix, key].concat()).collect();
            if keys.is_empty() {
                break;
            }
            let words: Vec<&[u8]> =
                std::iter::once(&b"DEL"[..]).chain(keys.iter().map(Vec::as_slice)).collect();
            self.ask(console, &words)?;
            let last = (keys.len() - 1).to_string();
            self.ask(console, &[b"ZREMRANGEBYRANK", index, b"0", last.as_bytes()])?;
        }
        self.ask(console, &[b"DEL", index]).map(drop)
    }

    /// A node of a cluster answers for its own keys only; all of them must be here.
    fn check_cluster(&self, console: &mut Console) -> Result<(), OpenError> {
        let facts = Facts::ask(console).map_err(|error| self.dialer.explain(&error))?;
        if !facts.is_cluster() {
            return Ok(());
        }
        let answer = self.ask(console, &[b"CLUSTER", b"INFO"])?;
        let text = String::from_utf8_lossy(answer.text().unwrap_or_default()).into_owned();
        let says = |fact: &str| text.lines().any(|line| line.trim() == fact);
        // A fresh node counts itself but has no slots yet.
        if says("cluster_size:1") && says("cluster_slots_assigned:16384") {
            return Ok(());
        }
        Err(self.unsupported(
            "it is one node of a cluster, which refuses the keys of the others; this driver asks \
             a single server, so name one without cluster-enabled"
                .into(),
        ))
    }
}

impl Store for Redis {
    fn capabilities(&self) -> Capabilities {
        let scans = self.options().index == Index::Kept;
        let kinds =
            Kind::OF_RECORDS.into_iter().filter(|kind| scans || *kind != Kind::Scan).collect();
        Capabilities {
            name: "redis",
            data_model: DataModel::KeyValue,
            kinds,
            calls: Calls::Pipelined,
            hidden_retries: None,
            keeps_other_fields: true,
            scan_order: ScanOrder::Own,
            is_no_op: false,
            is_persistent: true,
            time: StoreTime::Wall,
            takes_queries: false,
            isolation: None,
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        self.check_layout(layout)?;
        self.check_cluster(&mut self.console()?)?;
        let Options { shape, index, .. } = *self.options();
        let tongue = Tongue::new(&layout.tables, shape, index);
        *self.tongue.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(tongue));
        Ok(())
    }

    fn open(&self, _lane: usize) -> Result<Box<dyn Client>, OpenError> {
        let tongue = self.tongue.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(tongue) = tongue else {
            let store = self.options().to_string();
            let reason = "the names of the fields are not known before it is prepared".into();
            return Err(OpenError::Failed { store, reason });
        };
        let addresses = self.dialer.resolve()?;
        let mut transports = Vec::new();
        let mut protocol = Protocol::Resp2;
        for _ in 0..self.options().connections {
            let (console, spoken) = self.dialer.dial(&addresses)?;
            let transport = console.into_transport();
            if let Err(error) = transport.socket().set_nonblocking(true) {
                let store = self.options().to_string();
                let reason = format!("the socket cannot be made to not block: {error}");
                return Err(OpenError::Failed { store, reason });
            }
            protocol = spoken;
            transports.push(transport);
        }
        let shared = Shared { dialer: self.dialer.clone(), tongue, addresses, protocol };
        Ok(Box::new(Lane::new(Rc::new(shared), transports)))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let mut console = self.console()?;
        settings::read(&mut console).map_err(|error| self.dialer.explain(&error))
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        let answer = self.ask(&mut self.console()?, &[b"GET", NOTE])?;
        Ok(answer.text().map(|text| String::from_utf8_lossy(text).into_owned()))
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        self.ask(&mut self.console()?, &[b"SET", NOTE, note.as_bytes()]).map(drop)
    }

    /// Removes the records that the index names, the index, the note. Whatever else is in the
    /// database stays, so a record that only updates have made stays too.
    fn clear(&self) -> Result<(), OpenError> {
        let mut console = self.console()?;
        if self.options().index == Index::Off {
            let notes = self.ask(&mut console, &[b"EXISTS", NOTE])?;
            if self.ask(&mut console, &[b"DBSIZE"])? == notes {
                return self.ask(&mut console, &[b"DEL", NOTE]).map(drop);
            }
            return Err(self.unsupported(
                "with index=off nobody knows which keys are records; empty the database \
                 yourself, or leave the option out"
                    .into(),
            ));
        }
        let tongue = self.tongue.read().unwrap_or_else(PoisonError::into_inner).clone();
        match tongue {
            None => self.clear_table(&mut console, INDEX, b"")?,
            Some(tongue) => {
                for (index, prefix) in tongue.indexes() {
                    self.clear_table(&mut console, index, prefix)?;
                }
            }
        }
        self.ask(&mut console, &[b"DEL", NOTE]).map(drop)
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("options", self.options()).finish_non_exhaustive()
    }
}
