//! List-append: version orders from lists that grow at their end, and what contradicts them.
//!
//! The method is Elle's (Kingsbury, Alvaro: *Elle: Inferring Isolation Anomalies from Experimental
//! Observations*, VLDB 2020), from the paper: the longest list that a committed transaction read
//! is the order of a record's versions, all others are prefixes of it. Choices made:
//!
//! * A transaction's own appends are taken out of what it read before its version is determined.
//! * An element of an aborted transaction is no version of its own: edges skip it.
//! * An append that nobody has seen comes after all that was seen, because lists only grow. It is
//!   ordered behind the last version (ww) and behind its readers (rw); several such appends have
//!   no order among each other, so that a cycle which snapshot isolation forbids can stay hidden.
//! * A list that is no prefix of the longest is counted, and gives no edges.
//!
//! Time: linear in the steps plus the lengths of all lists, plus sorting. Memory: 4 bytes per
//! element of each longest list, beside the edges.

use assay_model::Outcome;

use crate::register::WrittenValue;
use crate::transaction::TransactionHistory;
use crate::transaction::facts::{Facts, ListAppend, ListRead, group};
use crate::transaction::graph::{Edge, sort};
use crate::transaction::log::Log;
use crate::transaction::order::{Dependencies, NOBODY, SourceRead};
use crate::verdict::Anomaly;

/// Up to so many appends that nobody has seen get an edge from each reader of the last version;
/// more share nodes, so that readers times appends does not explode.
const UNSEEN_EDGES: usize = 8;

/// The versions of one list.
pub(super) struct ListOrder<'a, 'h> {
    key: u32,
    name: u64,
    appends: &'a [ListAppend],
    reads: &'a [ListRead<'h>],
    longest: &'h [WrittenValue],
    /// The append of each element of the longest list, by its place in `appends`.
    versions: Vec<u32>,
    /// Whether each of `reads` is a prefix of the longest list, as it should be.
    are_prefixes: Vec<bool>,
}

/// The lists of a history.
pub(super) fn all<'a, 'h>(facts: &'a Facts<'h>) -> Vec<ListOrder<'a, 'h>> {
    let (mut append, mut read) = (0, 0);
    let mut orders = Vec::new();
    for key in 0..facts.keys.len() as u32 {
        let appends = group(&facts.appends, &mut append, key, |append| append.key);
        let reads = group(&facts.list_reads, &mut read, key, |read| read.key);
        if appends.is_empty() && reads.is_empty() {
            continue;
        }
        let lists = reads.iter().map(|read| read.elements);
        // The first of the longest ones, so that the verdict does not depend on luck.
        let longest = lists.rev().max_by_key(|list| list.len()).unwrap_or(&[]);
        let place = |element| position(appends, element).map_or(NOBODY, |place| place as u32);
        let versions = longest.iter().map(place).collect();
        let are_prefixes = reads.iter().map(|read| longest.starts_with(read.elements)).collect();
        let name = facts.keys[key as usize];
        orders.push(ListOrder { key, name, appends, reads, longest, versions, are_prefixes });
    }
    orders
}

fn position(appends: &[ListAppend], element: &WrittenValue) -> Option<usize> {
    appends.binary_search_by_key(element, |append| append.element).ok()
}

impl<'h> ListOrder<'_, 'h> {
    fn append(&self, version: usize) -> Option<&ListAppend> {
        let place = *self.versions.get(version)?;
        self.appends.get(place as usize)
    }

    /// The reads that are prefixes of the longest list, or those that are not.
    fn reads(&self, are_prefixes: bool) -> impl Iterator<Item = &ListRead<'h>> {
        let both = self.reads.iter().zip(&self.are_prefixes);
        both.filter(move |(_, is)| **is == are_prefixes).map(|(read, _)| read)
    }

    /// The append behind an element of a read.
    fn element(&self, read: &ListRead, is_prefix: bool, at: usize) -> Option<&ListAppend> {
        if is_prefix {
            return self.append(at);
        }
        position(self.appends, read.elements.get(at)?).map(|place| &self.appends[place])
    }

    /// Finds elements that nobody appended, that are there twice, or whose transaction was aborted,
    /// and marks all others' transactions as committed.
    pub fn observe(&self, dependencies: &mut Dependencies, log: &mut Log) {
        let key = self.name;
        let witness = self.reads.iter().find(|read| read.elements.len() == self.longest.len());
        if let Some(read) = witness {
            self.check_list(read, dependencies, key, log);
            self.check_dirty_updates(dependencies.history, key, log);
        }
        for read in self.reads(false) {
            let other = witness.map_or(read.transaction, |other| other.transaction);
            log.add(Anomaly::IncompatibleOrder, key, &[other, read.transaction]);
            self.check_list(read, dependencies, key, log);
        }
    }

    fn check_list(
        &self,
        read: &ListRead,
        dependencies: &mut Dependencies,
        key: u64,
        log: &mut Log,
    ) {
        let mut seen = Vec::with_capacity(read.elements.len());
        for element in read.elements {
            let Some(place) = position(self.appends, element) else {
                log.add(Anomaly::GarbageRead, key, &[read.transaction]);
                continue;
            };
            seen.push(place as u32);
            let writer = self.appends[place].transaction;
            if dependencies.outcome(writer) == Outcome::Refused {
                log.add(Anomaly::AbortedRead, key, &[writer, read.transaction]);
            } else {
                dependencies.is_committed[writer as usize] = true;
            }
        }
        seen.sort_unstable();
        for two in seen.windows(2).filter(|two| two[0] == two[1]) {
            let writer = self.appends[two[0] as usize].transaction;
            log.add(Anomaly::DuplicateElement, key, &[writer, read.transaction]);
        }
    }

    /// Aborted elements with a committed one somewhere behind them.
    fn check_dirty_updates(&self, history: &TransactionHistory, key: u64, log: &mut Log) {
        let mut next = None;
        for version in (0..self.versions.len()).rev() {
            let Some(append) = self.append(version) else { continue };
            let writer = append.transaction;
            match (history.transactions[writer as usize].outcome, next) {
                (Outcome::Refused, Some(next)) => {
                    log.add(Anomaly::DirtyUpdate, key, &[writer, next]);
                }
                (Outcome::Refused, None) => {}
                _ => next = Some(writer),
            }
        }
    }

    /// Reads of what a transaction replaced itself, and of what it appended only later.
    fn check_reads(&self, dependencies: &Dependencies, log: &mut Log) {
        let key = self.name;
        for (read, is_prefix) in self.reads.iter().zip(&self.are_prefixes) {
            let last = (read.outer as usize).checked_sub(1);
            if let Some(append) = last.and_then(|last| self.element(read, *is_prefix, last)) {
                let is_aborted = dependencies.outcome(append.transaction) == Outcome::Refused;
                if append.transaction != read.transaction && !append.is_last && !is_aborted {
                    let both = [append.transaction, read.transaction];
                    log.add(Anomaly::IntermediateRead, key, &both);
                }
            }
            let is_later = |append: &ListAppend| {
                append.transaction == read.transaction && append.step > read.step
            };
            let mut all =
                (0..read.elements.len()).filter_map(|at| self.element(read, *is_prefix, at));
            if read.appends_later && all.any(is_later) {
                log.add(Anomaly::FutureRead, key, &[read.transaction]);
            }
        }
    }

    /// Committed transactions that read the same version, then appended to it.
    fn check_lost_updates(&self, dependencies: &Dependencies, log: &mut Log) {
        let replaced = self.reads.iter().filter(|read| {
            read.is_replaced && dependencies.is_committed[read.transaction as usize]
        });
        let mut replaced: Vec<(&[WrittenValue], u32)> = replaced
            .map(|read| (&read.elements[..read.outer as usize], read.transaction))
            .collect();
        // By length first, so that few long lists are compared.
        replaced.sort_unstable_by_key(|(elements, transaction)| {
            (elements.len(), *elements, *transaction)
        });
        log.add_lost_updates(self.name, &replaced);
    }

    /// Adds the edges between versions, and between versions and their readers, once all that was
    /// seen is marked as committed.
    pub fn link(&self, dependencies: &mut Dependencies, log: &mut Log) {
        self.check_reads(dependencies, log);
        self.check_lost_updates(dependencies, log);
        let next = self.next_versions(dependencies);
        let mut unseen: Vec<u32> = Vec::new();
        let mut is_seen = vec![false; self.appends.len()];
        for place in self.versions.iter().filter(|place| **place != NOBODY) {
            is_seen[*place as usize] = true;
        }
        for (place, append) in self.appends.iter().enumerate() {
            if dependencies.is_committed[append.transaction as usize] {
                dependencies.writes.push((append.transaction, self.key));
                if !is_seen[place] {
                    unseen.push(append.transaction);
                }
            }
        }
        unseen.sort_unstable();
        unseen.dedup();
        let mut last = NOBODY;
        for version in (0..self.versions.len()).filter(|version| next[*version] == *version as u32)
        {
            let Some(append) = self.append(version) else { continue };
            if last != NOBODY {
                dependencies.link(last, append.transaction, self.key, sort::WW);
            }
            last = append.transaction;
        }
        for to in unseen.iter().filter(|_| last != NOBODY) {
            dependencies.link(last, *to, self.key, sort::WW);
        }
        self.link_readers(&next, &unseen, dependencies);
    }

    /// For each place in the version order, and for the one behind it, the first version from
    /// there on whose transaction was committed.
    fn next_versions(&self, dependencies: &Dependencies) -> Vec<u32> {
        let mut next = vec![NOBODY; self.versions.len() + 1];
        for version in (0..self.versions.len()).rev() {
            let writer = self.append(version).map(|append| append.transaction);
            let is_version = writer.is_some_and(|at| dependencies.is_committed[at as usize]);
            next[version] = if is_version { version as u32 } else { next[version + 1] };
        }
        next
    }

    fn link_readers(&self, next: &[u32], unseen: &[u32], dependencies: &mut Dependencies) {
        let mut last_readers = Vec::new();
        for read in self.reads(true) {
            let outer = read.outer as usize;
            let source = match outer.checked_sub(1) {
                None => Some(NOBODY),
                Some(last) => self.append(last).map(|append| append.transaction),
            };
            let is_version = |at: &u32| *at == NOBODY || dependencies.is_committed[*at as usize];
            if let Some(source) = source.filter(is_version) {
                let (transaction, step, key) = (read.transaction, read.step, self.key);
                dependencies.read(SourceRead { transaction, step, key, source });
            }
            match self.append(next[outer.min(self.versions.len())] as usize) {
                Some(append) => {
                    dependencies.link(read.transaction, append.transaction, self.key, sort::RW);
                }
                None => last_readers.push(read.transaction),
            }
        }
        if unseen.len() <= UNSEEN_EDGES {
            for (from, to) in
                last_readers.iter().flat_map(|from| unseen.iter().map(move |to| (from, to)))
            {
                dependencies.link(*from, *to, self.key, sort::RW);
            }
        } else {
            self.link_by_chains(&last_readers, unseen, dependencies);
        }
    }

    /// Links each reader to all unseen appends but its own: node *i* of one chain leads to the
    /// first *i* + 1 of them, node *i* of the other to those from *i* on.
    fn link_by_chains(&self, readers: &[u32], unseen: &[u32], dependencies: &mut Dependencies) {
        let count = unseen.len();
        let heads: Vec<u32> = (0..count).map(|_| dependencies.node()).collect();
        let tails: Vec<u32> = (0..count).map(|_| dependencies.node()).collect();
        for (at, append) in unseen.iter().enumerate() {
            for (chain, before) in [(&heads, at.checked_sub(1)), (&tails, Some(at + 1))] {
                dependencies.link(chain[at], *append, self.key, sort::THROUGH);
                if let Some(other) = before.and_then(|before| chain.get(before)) {
                    dependencies.link(chain[at], *other, self.key, sort::THROUGH);
                }
            }
        }
        for reader in readers {
            let own = unseen.binary_search(reader).ok();
            let head = own.map_or(Some(count - 1), |own| own.checked_sub(1));
            let tail = own.map(|own| own + 1);
            for node in [head.map(|at| heads[at]), tail.and_then(|at| tails.get(at).copied())] {
                let Some(to) = node else { continue };
                dependencies.edges.push(Edge { from: *reader, to, key: self.key, sort: sort::RW });
            }
        }
    }
}
