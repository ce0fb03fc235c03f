//! Whole transactions, put together from the records of their operations.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use assay_model::seed::mix;
use assay_model::{Outcome, Phase, Record};

use crate::kind_stats::{Completion, Moved, Span};

/// Transactions that may be open at once: more than any run has in flight. A history that lost the
/// ends of its transactions must not fill the memory.
const MOST_OPEN: usize = 1 << 21;
/// Slots of the table; a power of two.
const TABLE: usize = 256;

/// A transaction between its first and its last record, and what is passed on in the end.
#[derive(Clone, Copy, Debug)]
pub struct Transaction {
    /// The type's number.
    pub number: u16,
    /// The phase of its first operation.
    pub phase: Phase,
    /// First intended, first started, last ended.
    pub span: Span,
    /// Its worst operation's outcome and reason; found and good only if all are.
    pub ending: Completion,
    /// What all of its operations moved.
    pub moved: Moved,
    /// Whether one of its operations wrote and was done.
    pub has_written: bool,
}

impl Transaction {
    fn begun_by(record: &Record) -> Transaction {
        Transaction {
            number: record.transaction_type,
            phase: record.phase,
            span: Span::of(record),
            ending: Completion::of(record),
            moved: Moved::by(record),
            has_written: record.outcome == Outcome::Done && record.kind.writes(),
        }
    }

    #[inline(always)]
    fn join(&mut self, other: &Transaction) {
        if other.span.intended < self.span.intended {
            self.phase = other.phase;
        }
        let is_worse = severity(other.ending.outcome) > severity(self.ending.outcome);
        let worse = if is_worse { other.ending } else { self.ending };
        self.ending = Completion {
            found: self.ending.found && other.ending.found,
            good: self.ending.good && other.ending.good,
            ..worse
        };
        self.span = Span {
            intended: self.span.intended.min(other.span.intended),
            started: self.span.started.min(other.span.started),
            ended: self.span.ended.max(other.span.ended),
        };
        self.has_written |= other.has_written;
        self.moved += other.moved;
    }
}

/// What one operation's outcome means for the whole: unknown outweighs refused outweighs dropped.
fn severity(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Done => 0,
        Outcome::Dropped => 1,
        Outcome::Refused => 2,
        Outcome::Unknown => 3,
    }
}

/// Which transaction a record belongs to. Process numbers are the plan's own, so no two agents
/// share one; a load and the run after it are two plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name {
    process: u64,
    place: u32,
}

impl Name {
    fn of(record: &Record) -> Name {
        let is_load = u32::from(record.phase == Phase::Load);
        Name { process: record.process, place: is_load << 16 | u32::from(record.transaction) }
    }

    #[inline]
    fn place_in_table(&self) -> usize {
        self.process as usize % TABLE
    }
}

impl Hash for Name {
    /// One number, so that it is mixed once: few processes have 2^40 brothers.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.process ^ u64::from(self.place) << 40);
    }
}

/// Mixes names well enough for a table; they are numbers of our own making.
#[derive(Clone, Copy, Debug, Default)]
struct Mixing(u64);

impl Hasher for Mixing {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number);
    }
}

/// The transactions that are open.
///
/// Most are found by the low bits of their process in `table`, which is in the cache; one whose
/// place there is taken goes to `displaced`. A transaction is never in both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    table: Vec<Option<(Name, Transaction)>>,
    displaced: HashMap<Name, Transaction, BuildHasherDefault<Mixing>>,
    /// Transactions left out because too many were open.
    overflow: Vec<(u16, u64)>,
}

impl Open {
    /// Adds a record of a transaction, and gives the transaction back if it ends with it. Always
    /// inlined, with what it calls: otherwise transactions are copied at each call.
    #[inline(always)]
    pub fn add(&mut self, record: &Record) -> Option<Transaction> {
        let this = Transaction::begun_by(record);
        let name = Name::of(record);
        if record.ends_transaction() {
            let Some(mut begun) = self.take(name) else { return Some(this) };
            begun.join(&this);
            return Some(begun);
        }
        self.keep(name, this);
        None
    }

    #[inline]
    fn take(&mut self, name: Name) -> Option<Transaction> {
        if let Some(place) = self.table.get_mut(name.place_in_table())
            && place.as_ref().is_some_and(|(in_table, _)| *in_table == name)
        {
            return place.take().map(|(_, transaction)| transaction);
        }
        if self.displaced.is_empty() { None } else { self.displaced.remove(&name) }
    }

    #[inline(always)]
    fn keep(&mut self, name: Name, part: Transaction) {
        if self.table.is_empty() {
            self.table.resize(TABLE, None);
        }
        let is_displaced = !self.displaced.is_empty() && self.displaced.contains_key(&name);
        match &mut self.table[name.place_in_table()] {
            Some((in_table, begun)) if *in_table == name => begun.join(&part),
            place @ None if !is_displaced => *place = Some((name, part)),
            _ => self.displace(name, part),
        }
    }

    fn displace(&mut self, name: Name, part: Transaction) {
        if let Some(begun) = self.displaced.get_mut(&name) {
            begun.join(&part);
        } else if self.displaced.len() < MOST_OPEN {
            self.displaced.insert(name, part);
        } else {
            let known = self.overflow.iter_mut().find(|(number, _)| *number == part.number);
            match known {
                Some((_, count)) => *count += 1,
                None => self.overflow.push((part.number, 1)),
            }
        }
    }

    /// Takes over what is open in `other`.
    pub fn merge(&mut self, other: Open) {
        for (name, part) in other.table.into_iter().flatten().chain(other.displaced) {
            self.keep(name, part);
        }
        self.overflow.extend(other.overflow);
    }

    fn all(&self) -> impl Iterator<Item = &Transaction> {
        let in_table = self.table.iter().flatten().map(|(_, transaction)| transaction);
        in_table.chain(self.displaced.values())
    }

    /// How many transactions of type `number` that began in an `analyzed` phase have not ended.
    pub fn unfinished(&self, number: u16, analyzed: impl Fn(Phase) -> bool) -> u64 {
        let open = self.all().filter(|open| open.number == number && analyzed(open.phase)).count();
        let overflow = self.overflow.iter().filter(|(of, _)| *of == number);
        open as u64 + overflow.map(|(_, count)| count).sum::<u64>()
    }

    /// The types that have something open.
    pub fn numbers(&self) -> impl Iterator<Item = u16> {
        let overflow = self.overflow.iter().map(|(number, _)| *number);
        self.all().map(|open| open.number).chain(overflow)
    }
}
