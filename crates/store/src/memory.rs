//! The store that keeps its records in this process: the fastest honest answer there is.
//!
//! A table is split by the hash of the key into sixteen parts, each under its own lock, each with
//! a hash table for reads and an ordered set of keys for scans. A record is one value in the
//! encoding of [`encode_row`], which a read hands out as it is.
//!
//! What it answers: an insert of an existing record overwrites it whole, as YCSB's bindings do. An
//! update keeps the fields that it does not name; an update of a missing record writes nothing and
//! answers `found = false`, and so does a delete.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use assay_model::{Kind, Layout, Nanos, Reason, Setting};
use hashbrown::HashTable;

use crate::answer::{Answer, Answers, Reply, Rows, Span, encode_field, encode_row};
use crate::capabilities::{Calls, Capabilities, ScanOrder};
use crate::key_hash::key_hash;
use crate::request::{Request, Ticket, Values};
use crate::row;
use crate::seam::{Client, OpenError, Store};

/// How many locks a table has. A scan visits all of them; with sixteen, the chance that two of four
/// workers meet in one is about a third, and they meet for less than a microsecond.
const SHARDS: usize = 16;

/// A store that keeps its records in this process and loses them with it.
#[derive(Default)]
pub struct Memory {
    tables: RwLock<Tables>,
}

#[derive(Default)]
struct Tables {
    /// Everything that was ever prepared, so that preparing again keeps the records.
    records: BTreeMap<String, Arc<Records>>,
    /// The layout in force, by table number.
    layout: Arc<[Table]>,
}

#[derive(Clone)]
struct Table {
    fields: Arc<[String]>,
    records: Arc<Records>,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Memory {
        Memory::default()
    }
}

impl Store for Memory {
    fn scans_keys(&self) -> bool {
        true
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            calls: Calls::Inline,
            scan_order: ScanOrder::Key,
            is_persistent: false,
            ..Capabilities::of("memory")
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        let mut tables = write(&self.tables);
        let in_force = layout.tables.iter().map(|table| Table {
            fields: table.fields.clone().into(),
            records: Arc::clone(tables.records.entry(table.name.clone()).or_default()),
        });
        tables.layout = in_force.collect();
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let layout = Arc::clone(&read(&self.tables).layout);
        Ok(Box::new(MemoryClient { layout, spans: Vec::new(), scratch: Vec::new() }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        Ok(vec![Setting::new("durability", "none", "everything is lost when this process ends")])
    }

    fn clear(&self) -> Result<(), OpenError> {
        let mut tables = write(&self.tables);
        for records in tables.records.values() {
            records.clear();
        }
        tables.records.clear();
        Ok(())
    }
}

struct MemoryClient {
    layout: Arc<[Table]>,
    spans: Vec<Span>,
    scratch: Vec<u8>,
}

impl Client for MemoryClient {
    fn start(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        let Some(table) = self.layout.get(usize::from(request.table)) else {
            return answers.answer(ticket, Answer::Refused(Reason::Malformed));
        };
        let (spans, scratch) = (&mut self.spans, &mut self.scratch);
        let records = &table.records;
        let reply = match request.kind {
            Kind::Read => {
                let hash = key_hash(request.key);
                let shard = read(records.shard(hash));
                let reply = match shard.get(hash, request.key) {
                    None => Ok(Reply::MISSING),
                    Some(row) => row::choose(row, request.fields, &table.fields, spans)
                        .map(|rows| Reply { found: true, rows }),
                };
                return answers.answer(ticket, as_answer(reply));
            }
            Kind::Update => records.update(request.key, &request.values, &table.fields, scratch),
            Kind::Insert => records.insert(request.key, &request.values, &table.fields, scratch),
            Kind::Delete => Ok(records.delete(request.key)),
            Kind::Scan => {
                scratch.clear();
                records.scan(request, &table.fields, scratch)
            }
            Kind::Commit | Kind::Rollback => Err(Reason::Unsupported),
        };
        let rows = if request.kind == Kind::Scan { Rows::Encoded(scratch) } else { Rows::NONE };
        answers.answer(ticket, as_answer(reply.map(|found| Reply { found, rows })));
    }

    fn poll(&mut self, _now: Nanos, _answers: &mut dyn Answers) {}
}

fn as_answer(reply: Result<Reply<'_>, Reason>) -> Answer<'_> {
    reply.map_or_else(Answer::Refused, Answer::Done)
}

/// The records of one table.
struct Records {
    shards: [RwLock<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    records: HashTable<Record>,
    order: BTreeSet<Arc<[u8]>>,
}

struct Record {
    key: Arc<[u8]>,
    row: Vec<u8>,
}

impl Default for Records {
    fn default() -> Records {
        Records { shards: std::array::from_fn(|_| RwLock::default()) }
    }
}

impl Records {
    /// The top bits choose the shard; the hash table within it uses the others.
    fn shard(&self, hash: u64) -> &RwLock<Shard> {
        &self.shards[(hash >> (u64::BITS - SHARDS.ilog2())) as usize]
    }

    fn insert(
        &self,
        key: &[u8],
        values: &Values<'_>,
        names: &[String],
        scratch: &mut Vec<u8>,
    ) -> Result<bool, Reason> {
        scratch.clear();
        row::make(values, names, scratch)?;
        let hash = key_hash(key);
        let mut shard = write(self.shard(hash));
        if let Some(record) = shard.records.find_mut(hash, |record| *record.key == *key) {
            record.row.clear();
            record.row.extend_from_slice(scratch);
            return Ok(true);
        }
        let key: Arc<[u8]> = key.into();
        shard.order.insert(Arc::clone(&key));
        let record = Record { key, row: scratch.as_slice().into() };
        shard.records.insert_unique(hash, record, |record| key_hash(&record.key));
        Ok(true)
    }

    fn update(
        &self,
        key: &[u8],
        values: &Values<'_>,
        names: &[String],
        scratch: &mut Vec<u8>,
    ) -> Result<bool, Reason> {
        let hash = key_hash(key);
        let mut shard = write(self.shard(hash));
        let Some(record) = shard.records.find_mut(hash, |record| *record.key == *key) else {
            return Ok(false);
        };
        if !row::patch(&mut record.row, values, names)? {
            scratch.clear();
            row::merge(&record.row, values, names, scratch)?;
            record.row.clear();
            record.row.extend_from_slice(scratch);
        }
        Ok(true)
    }

    fn delete(&self, key: &[u8]) -> bool {
        let hash = key_hash(key);
        let mut shard = write(self.shard(hash));
        match shard.records.find_entry(hash, |record| *record.key == *key) {
            Ok(entry) => {
                entry.remove();
                shard.order.remove(key);
                true
            }
            Err(_) => false,
        }
    }

    /// Appends what `request` asks for, in key order, as of one moment.
    ///
    /// All shards are locked together, always from the first to the last; writers lock one at a
    /// time, so there is no deadlock.
    fn scan(
        &self,
        request: &Request<'_>,
        names: &[String],
        into: &mut Vec<u8>,
    ) -> Result<bool, Reason> {
        let shards: [_; SHARDS] = std::array::from_fn(|number| read(&self.shards[number]));
        let mut orders: [_; SHARDS] = std::array::from_fn(|number| {
            shards[number].order.range::<[u8], _>(request.range()).peekable()
        });
        for _ in 0..request.limit {
            let ahead = orders.iter_mut().enumerate();
            let first = ahead.filter_map(|(number, order)| Some((order.peek().copied()?, number)));
            let Some((key, number)) = first.min() else { break };
            if request.wants_keys {
                encode_row(1, into);
                encode_field(b"", key, into);
            } else {
                let row = shards[number].get(key_hash(key), key);
                let row = row.expect("every key in the order has its record");
                row::copy(row, request.fields, names, into)?;
            }
            orders[number].next();
        }
        Ok(!into.is_empty())
    }

    fn clear(&self) {
        for shard in &self.shards {
            *write(shard) = Shard::default();
        }
    }
}

impl Shard {
    fn get(&self, hash: u64, key: &[u8]) -> Option<&[u8]> {
        let record = self.records.find(hash, |record| *record.key == *key)?;
        Some(&record.row)
    }
}

/// A lock whose holder panicked is taken as it is: every change to a shard is whole or not begun.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
