//! A transaction of several requests, bound to the connection that it was begun on.
//!
//! It begins at the node that owns the first key; all its requests go there, and
//! that node coordinates the others. What ends the connection ends the transaction: it is undone,
//! as is one that takes longer than its timeout. Nothing is final before the commit, so whatever
//! fails earlier certainly did not happen.
//!
//! SQL queries are part of no transaction. A scan within one therefore selects in SQL the keys
//! alone, adds those that the transaction inserted, and then gets these records as the transaction
//! reads everything else: with its own writes, and under its locks or its comparison at the commit.
//! What others insert into the range of a scan is not held off at any isolation, nor is it noticed.
//!
//! Source: `ClientTxStartRequest`, `ClientTxEndRequest`, `ClientCacheRequest`,
//! `ClientCacheGetAllRequest` of Ignite 2.17; transactions came with version 1.5 of the protocol.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use assay_driver_kit::task::Lost;
use assay_model::{Kind, Reason};
use assay_store::{Isolation, Request};

use super::failure::Stage;
use super::link::batch::entries;
use super::link::{Column, Fault, Turn};
use super::object::Object;
use super::open::Open;
use super::options::{Concurrency, Transactions};
use super::plan::Table;
use super::socket::Trouble;
use super::wire::{Reader, code, operation, put_i32, put_i64, put_length, put_text};

/// The most records that a scan gets at once, so that an answer stays far below the longest one.
const MOST_AT_ONCE: usize = 512;

/// Appends how a transaction is to be.
fn put_start(transactions: Transactions, out: &mut Vec<u8>) {
    out.push(match transactions.concurrency() {
        Concurrency::Optimistic => 0,
        Concurrency::Pessimistic => 1,
    });
    out.push(match transactions.isolation {
        Isolation::ReadCommitted => 0,
        Isolation::RepeatableRead => 1,
        Isolation::Serializable => 2,
    });
    put_i64(i64::try_from(transactions.timeout.as_millis()).unwrap_or(i64::MAX), out);
    // It has no label.
    out.push(code::NULL);
}

/// Appends how a transaction ends.
fn put_end(number: i32, is_commit: bool, out: &mut Vec<u8>) {
    put_i32(number, out);
    out.push(u8::from(is_commit));
}

/// Where a scan goes on.
enum Start {
    /// At this key.
    At(Vec<u8>),
    /// Behind it.
    Behind(Vec<u8>),
}

impl Start {
    /// The key, and the condition in SQL.
    fn requested(&self) -> (&[u8], &'static str) {
        match self {
            Start::At(key) => (key, "_KEY >= ?"),
            Start::Behind(key) => (key, "_KEY > ?"),
        }
    }

    fn is_before(&self, key: &[u8]) -> bool {
        match self {
            Start::At(first) => key >= first.as_slice(),
            Start::Behind(last) => key > last.as_slice(),
        }
    }
}

impl Turn<'_> {
    /// Opens a transaction at the owner of `key`.
    pub(super) async fn begin(&mut self, table: &Table, key: &[u8]) -> Result<(), Fault> {
        let transactions = self.links.cluster.options.transactions.ok_or(Reason::Unsupported)?;
        let place = self.place(table, key).await?;
        let node = self.link.sockets[place].node;
        let fill = |out: &mut Vec<u8>| put_start(transactions, out);
        let number = Reader::new(self.send_at(place, operation::TX_START, fill).await?).i32()?;
        self.link.open = Some(Open { node, number, inserted: BTreeSet::new() });
        Ok(())
    }

    /// Ends the open transaction, by commit or rollback as `kind` says.
    pub(super) async fn end(&mut self, kind: Kind) -> Result<bool, Fault> {
        // A rollback commits nothing, whether its response comes or not.
        self.stage = if kind == Kind::Commit { Stage::Commit } else { Stage::BeforeWrite };
        let open = self.link.open.take().ok_or(Reason::TransactionFailed)?;
        let place = open.place(&self.link.sockets).ok_or(Trouble::Unreachable)?;
        let fill = |out: &mut Vec<u8>| put_end(open.number, kind == Kind::Commit, out);
        self.send_at(place, operation::TX_END, fill).await?;
        Ok(true)
    }

    /// Undoes the open transaction; if its node does not say so, by ending the connection.
    pub(super) async fn undo(&mut self) -> Result<(), Lost> {
        if let Some(open) = &self.link.open
            && open.place(&self.link.sockets).is_some()
        {
            let node = open.node;
            if self.end(Kind::Rollback).await.is_err() {
                self.link.sockets.retain(|socket| socket.node != node);
            }
        }
        self.link.open = None;
        if self.link.sockets.is_empty() { Err(Lost) } else { Ok(()) }
    }

    /// Whether the cluster sees to it that what was read is still the same when it is written:
    /// by a lock, or by comparing at the commit.
    pub(super) fn keeps_what_it_reads(&self) -> bool {
        let transactions = self.links.cluster.options.transactions;
        let keeps = |how: Transactions| how.isolation != Isolation::ReadCommitted;
        self.link.open.is_some() && transactions.is_some_and(keeps)
    }

    /// Remembers for the scans of an open transaction that it inserted `key`.
    pub(super) fn remember(&mut self, table: &Table, key: &[u8]) {
        if let Some(open) = &mut self.link.open {
            open.inserted.insert((table.number, key.to_vec()));
        }
    }

    /// A scan within the open transaction.
    pub(super) async fn scan_within(
        &mut self,
        table: &Table,
        request: &Request<'_>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        let cluster = Rc::clone(&self.links.cluster);
        if !cluster.options.has_index {
            return Err(Reason::Unsupported.into());
        }
        let mut expected = request.limit as usize;
        let mut from = Start::At(request.key.to_vec());
        while expected > 0 {
            let most = expected.min(MOST_AT_ONCE);
            let (key, condition) = from.requested();
            let found = self.query(table, Column::Key, condition, key, most as u32).await?;
            // Fewer than requested means that there are no more.
            let last = (found.len() >= most).then(|| found.last().cloned()).flatten();
            let keys = self.with_inserted(table, found, &from, last.as_deref());
            let records = self.get_all(table, &keys).await?;
            // Some may have gone since, or been removed by this transaction: then others follow.
            for record in keys.iter().filter_map(|key| records.get(key)).take(expected) {
                self.meet(table, request.key, record).await?;
                let types = cluster.types.borrow();
                Object::parse(record)?.encode(request.fields, &table.fields, &types, rows)?;
                expected -= 1;
            }
            let Some(last) = last else { break };
            from = Start::Behind(last);
        }
        Ok(expected < request.limit as usize)
    }

    /// The keys that were found and those that were inserted up to `last`, in their order.
    fn with_inserted(
        &self,
        table: &Table,
        found: Vec<Vec<u8>>,
        from: &Start,
        last: Option<&[u8]>,
    ) -> BTreeSet<Vec<u8>> {
        let mut keys: BTreeSet<Vec<u8>> = found.into_iter().collect();
        let inserted = self.link.open.iter().flat_map(|open| &open.inserted);
        let is_near =
            |key: &&Vec<u8>| from.is_before(key) && last.is_none_or(|last| key.as_slice() <= last);
        let own = inserted.filter(|(cache, _)| *cache == table.number).map(|(_, key)| key);
        keys.extend(own.filter(is_near).cloned());
        keys
    }

    /// Those of the records under `keys` that are there, as the transaction reads them.
    async fn get_all(
        &mut self,
        table: &Table,
        keys: &BTreeSet<Vec<u8>>,
    ) -> Result<HashMap<Vec<u8>, Vec<u8>>, Fault> {
        let Some(first) = keys.first() else { return Ok(HashMap::new()) };
        let fill = |out: &mut Vec<u8>| {
            put_length(keys.len(), out);
            keys.iter().for_each(|key| put_text(key, out));
        };
        let records = entries(self.send(table, first, operation::GET_ALL, fill).await?)?;
        let whole = |(key, record): (_, Option<_>)| Some((key, record?));
        let there = records.into_iter().map(whole).collect::<Option<_>>();
        there.ok_or_else(|| Reason::WrongType.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::put_cache;
    use crate::options::Options;

    fn started(rest: &str) -> Vec<u8> {
        let url = format!("ignite://h?atomicity=transactional&transaction_timeout=258{rest}");
        let options: Options = url.parse().unwrap();
        let mut out = Vec::new();
        put_start(options.transactions.unwrap(), &mut out);
        out
    }

    #[test]
    fn a_transaction_begins_as_the_protocol_says() {
        let rest = [2, 1, 0, 0, 0, 0, 0, 0, 101];
        for (option, kind) in [
            ("", [1, 1]),
            ("&isolation=read-committed", [1, 0]),
            ("&isolation=serializable", [0, 2]),
        ] {
            assert_eq!(started(option), [&kind[..], &rest].concat(), "{option}");
        }
    }

    #[test]
    fn requests_name_their_transaction() {
        let mut out = Vec::new();
        put_cache(7, None, &mut out);
        put_cache(7, Some(9), &mut out);
        put_end(9, true, &mut out);
        assert_eq!(out, [7, 0, 0, 0, 0, 7, 0, 0, 0, 2, 9, 0, 0, 0, 9, 0, 0, 0, 1]);
    }

    #[test]
    fn a_scan_goes_on_behind_what_it_found() {
        let at = Start::At(b"b".to_vec());
        assert!(at.is_before(b"b") && at.is_before(b"ba") && !at.is_before(b"a"));
        let behind = Start::Behind(b"b".to_vec());
        assert!(!behind.is_before(b"b") && behind.is_before(b"ba"));
        assert_eq!(behind.requested(), (&b"b"[..], "_KEY > ?"));
    }
}
