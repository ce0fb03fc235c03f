//! Steps of all transactions by record, with what each transaction knew of itself at that step.
//!
//! One walk over the history: records get small numbers, a transaction's own steps are taken out
//! of what it read, and reads that contradict them are `Internal` anomalies. Only reads of
//! committed transactions count: an unknown one may have been aborted after it had read. Where its
//! write shows later that it was committed, the version that it replaced is used, no other read.
//!
//! Memory: 40 bytes per read, 32 to 56 per write.

use std::collections::HashMap;

use assay_model::Outcome;

use crate::register::WrittenValue;
use crate::transaction::log::Log;
use crate::transaction::{ObservedTransaction, TransactionHistory, TransactionStep};
use crate::verdict::Anomaly;

/// An append, of any transaction.
#[derive(Clone, Copy)]
pub(super) struct ListAppend {
    pub key: u32,
    pub element: WrittenValue,
    pub transaction: u32,
    pub step: u32,
    /// The transaction appends nothing else to this record later.
    pub is_last: bool,
}

/// A list that a committed transaction read.
#[derive(Clone, Copy)]
pub(super) struct ListRead<'h> {
    pub key: u32,
    pub transaction: u32,
    pub step: u32,
    pub elements: &'h [WrittenValue],
    /// How many of the elements are there without the transaction's own appends.
    pub outer: u32,
    /// It is the last read before the transaction's first append to this record.
    pub is_replaced: bool,
    /// The transaction appends to this record later.
    pub appends_later: bool,
}

/// A write of a register, of any transaction.
#[derive(Clone, Copy)]
pub(super) struct RegisterWrite {
    pub key: u32,
    pub value: WrittenValue,
    pub transaction: u32,
    pub step: u32,
    pub version: Option<u64>,
    /// The transaction writes nothing else to this record later.
    pub is_last: bool,
    /// What the transaction had read before its first write to this record.
    pub parent: Option<WrittenValue>,
}

/// A register that a committed transaction read, unless it is what it had written itself last.
#[derive(Clone, Copy)]
pub(super) struct RegisterRead {
    pub key: u32,
    pub transaction: u32,
    pub step: u32,
    pub value: WrittenValue,
}

/// All steps, each vector sorted by record.
#[derive(Default)]
pub(super) struct Facts<'h> {
    pub appends: Vec<ListAppend>,
    pub list_reads: Vec<ListRead<'h>>,
    pub writes: Vec<RegisterWrite>,
    pub reads: Vec<RegisterRead>,
    /// The record behind each number. A record that is used as a list and as a register has two.
    pub keys: Vec<u64>,
    /// Transactions of several steps.
    pub of_several_steps: u64,
    /// Committed transactions that read several records.
    pub read_several: u64,
    /// Committed transactions' records that they read, then wrote.
    pub replaced: u64,
    /// A value was written twice, or one that stands for no value was written.
    pub has_duplicates: bool,
}

/// One step of the transaction at hand, by record.
type Place = (u32, u32);

impl<'h> Facts<'h> {
    pub fn new(history: &'h TransactionHistory, log: &mut Log) -> Facts<'h> {
        let mut facts = Facts::default();
        let mut numbers: HashMap<(bool, u64), u32> = HashMap::new();
        let mut places: Vec<Place> = Vec::new();
        for (at, transaction) in history.transactions.iter().enumerate() {
            if transaction.outcome == Outcome::Dropped {
                continue;
            }
            places.clear();
            for (step, what) in transaction.steps.iter().enumerate() {
                let name = name(what);
                let number = *numbers.entry(name).or_insert_with(|| {
                    facts.keys.push(name.1);
                    facts.keys.len() as u32 - 1
                });
                places.push((number, step as u32));
            }
            places.sort_unstable();
            facts.add(at as u32, transaction, &places, log);
        }
        facts.sort();
        facts
    }

    fn add(
        &mut self,
        at: u32,
        transaction: &'h ObservedTransaction,
        places: &[Place],
        log: &mut Log,
    ) {
        let (reads, list_reads) = (self.reads.len(), self.list_reads.len());
        for group in places.chunk_by(|one, other| one.0 == other.0) {
            match transaction.steps[group[0].1 as usize] {
                TransactionStep::Append { .. } | TransactionStep::ReadList { .. } => {
                    self.add_list(at, transaction, group, log);
                }
                TransactionStep::Write { .. } | TransactionStep::Read { .. } => {
                    self.add_register(at, transaction, group, log);
                }
            }
        }
        self.of_several_steps += u64::from(transaction.steps.len() > 1);
        let lists = self.list_reads[list_reads..].chunk_by(|one, other| one.key == other.key);
        let registers = self.reads[reads..].chunk_by(|one, other| one.key == other.key);
        self.read_several += u64::from(lists.count() + registers.count() > 1);
    }

    /// The steps of one transaction on one list.
    fn add_list(
        &mut self,
        at: u32,
        transaction: &'h ObservedTransaction,
        group: &[Place],
        log: &mut Log,
    ) {
        let key = group[0].0;
        let is_known = transaction.outcome == Outcome::Done;
        let (first, own) = (self.list_reads.len(), self.appends.len());
        let mut known: Option<&[WrittenValue]> = None;
        // Where in the own appends those begin that came after the last read.
        let mut since = own;
        for (_, step) in group {
            match &transaction.steps[*step as usize] {
                TransactionStep::Append { element, .. } => self.appends.push(ListAppend {
                    key,
                    element: *element,
                    transaction: at,
                    step: *step,
                    is_last: false,
                }),
                TransactionStep::ReadList { elements: Some(elements), .. } if is_known => {
                    let is_expected = match known {
                        Some(known) => elements
                            .strip_prefix(known)
                            .is_some_and(|rest| is_same(rest, &self.appends[since..])),
                        None => has_tail(elements, &self.appends[own..]),
                    };
                    if !is_expected {
                        log.add(Anomaly::Internal, self.keys[key as usize], &[at]);
                    }
                    let own_count = self.appends.len() - own;
                    let has_own = has_tail(elements, &self.appends[own..]);
                    let outer = elements.len() - if has_own { own_count } else { 0 };
                    self.list_reads.push(ListRead {
                        key,
                        transaction: at,
                        step: *step,
                        elements,
                        outer: outer as u32,
                        is_replaced: false,
                        appends_later: false,
                    });
                    (known, since) = (Some(elements.as_slice()), self.appends.len());
                }
                _ => {}
            }
        }
        self.finish_list(first, own);
    }

    /// Marks the last append, and the reads before appends.
    fn finish_list(&mut self, first: usize, own: usize) {
        let Some(last) = self.appends[own..].last_mut() else { return };
        last.is_last = true;
        let (last, begin) = (last.step, self.appends[own].step);
        let reads = &mut self.list_reads[first..];
        for read in reads.iter_mut() {
            read.appends_later = read.step < last;
        }
        if let Some(read) = reads.iter_mut().rfind(|read| read.step < begin) {
            read.is_replaced = true;
            self.replaced += 1;
        }
    }

    /// The steps of one transaction on one register.
    fn add_register(
        &mut self,
        at: u32,
        transaction: &'h ObservedTransaction,
        group: &[Place],
        log: &mut Log,
    ) {
        let key = group[0].0;
        let is_known = transaction.outcome == Outcome::Done;
        let first = self.writes.len();
        let (mut read, mut current): (Option<WrittenValue>, Option<WrittenValue>) = (None, None);
        for (_, step) in group {
            match transaction.steps[*step as usize] {
                TransactionStep::Write { value, version, .. } => {
                    self.has_duplicates |=
                        [WrittenValue::ABSENT, WrittenValue::GARBAGE].contains(&value);
                    self.writes.push(RegisterWrite {
                        key,
                        value,
                        transaction: at,
                        step: *step,
                        version,
                        is_last: false,
                        parent: read,
                    });
                    current = Some(value);
                }
                TransactionStep::Read { value: Some(value), .. } => {
                    let is_strange = current.is_some_and(|current| current != value);
                    if is_known && is_strange {
                        log.add(Anomaly::Internal, self.keys[key as usize], &[at]);
                    }
                    let is_outer = self.writes.len() == first;
                    if is_outer {
                        (read, current) = (Some(value), Some(value));
                    }
                    if is_known && (is_outer || is_strange) {
                        self.reads.push(RegisterRead { key, transaction: at, step: *step, value });
                    }
                }
                _ => {}
            }
        }
        if let Some(last) = self.writes[first..].last_mut() {
            last.is_last = true;
            self.replaced += u64::from(is_known && read.is_some());
        }
    }

    fn sort(&mut self) {
        self.appends.sort_unstable_by_key(|append| (append.key, append.element));
        self.list_reads.sort_by_key(|read| read.key);
        self.writes.sort_unstable_by_key(|write| (write.key, write.value));
        self.reads.sort_by_key(|read| read.key);
        let appended = |one: &ListAppend| (one.key, one.element);
        let written = |one: &RegisterWrite| (one.key, one.value);
        self.has_duplicates |=
            self.appends.windows(2).any(|two| appended(&two[0]) == appended(&two[1]))
                || self.writes.windows(2).any(|two| written(&two[0]) == written(&two[1]));
    }
}

fn name(step: &TransactionStep) -> (bool, u64) {
    match step {
        TransactionStep::Append { key, .. } | TransactionStep::ReadList { key, .. } => (true, *key),
        TransactionStep::Write { key, .. } | TransactionStep::Read { key, .. } => (false, *key),
    }
}

fn is_same(elements: &[WrittenValue], appends: &[ListAppend]) -> bool {
    elements.iter().eq(appends.iter().map(|append| &append.element))
}

fn has_tail(elements: &[WrittenValue], appends: &[ListAppend]) -> bool {
    let outer = elements.len().checked_sub(appends.len());
    outer.is_some_and(|outer| is_same(&elements[outer..], appends))
}

/// The part of `sorted` that belongs to `key`, from `start` on, which is moved behind it.
pub(super) fn group<'a, T>(
    sorted: &'a [T],
    start: &mut usize,
    key: u32,
    key_of: impl Fn(&T) -> u32,
) -> &'a [T] {
    let rest = &sorted[*start..];
    let length = rest.iter().take_while(|item| key_of(item) == key).count();
    *start += length;
    &rest[..length]
}
