//! Histories of transactions that are dealt out: by record first, then by island.
//!
//! For histories of which nobody holds more than a share, on engines that deal out rows. What is
//! wrong on one record is found by [`judge_records`] where all steps on that record are, which
//! also gives the dependencies that follow from it. Cycles of dependencies are found by
//! [`judge_island`]: put the transactions in the order in which they began. Sessions and real time
//! never lead back in this order, so in a cycle some dependencies do, and each moment between two
//! of its transactions lies between both ends of one that does, because the cycle returns. Hence
//! every cycle lies within one of the [`Islands`], the pieces that the spans of such dependencies
//! leave when they are joined; what is outside of them is on no cycle. [`judge_sessions`] counts
//! what is neither.
//!
//! The levels are those of [`super::judge`], and their verdicts the same, with these limits: one
//! clock timed all agents; where the order of a register's versions is not known, levels that need
//! none (read atomic, causal) are not assessable unless they are violated by a cycle; and cycles
//! that share nothing but a version from outside of their islands count once for each.

use std::collections::{BTreeMap, HashMap, HashSet};

use assay_model::{Nanos, Outcome};
use serde::{Deserialize, Serialize};

use crate::clock::ClockError;
use crate::transaction::facts::Facts;
use crate::transaction::graph::{Edge, Graph, sort};
use crate::transaction::log::{AnomalyCount, Log};
use crate::transaction::order::{Dependencies, NOBODY, SourceRead};
use crate::transaction::report::{Evidence, TransactionReport, link_records, report};
use crate::transaction::weak::Suspects;
use crate::transaction::{
    ObservedTransaction, TransactionHistory, TransactionStep, cycles, lists, registers, weak,
};
use crate::verdict::{Limitation, Violations};

/// A transaction without its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionHead {
    /// Its number in the history; from [`TransactionHead::JUNCTIONS`] on it is no transaction, but
    /// a place that edges of one record lead through.
    pub index: u64,
    /// Its session.
    pub session: u32,
    /// When its first request left.
    pub started: Nanos,
    /// When the answer to its commit came; of no meaning unless it is done.
    pub ended: Nanos,
    /// How it ended.
    pub outcome: Outcome,
}

impl TransactionHead {
    /// The least number of what is no transaction.
    pub const JUNCTIONS: u64 = 1 << 63;

    /// Of a transaction.
    pub fn of(transaction: &ObservedTransaction) -> TransactionHead {
        let ObservedTransaction { index, session, started, ended, outcome, .. } = *transaction;
        TransactionHead { index, session, started, ended, outcome }
    }

    fn is_junction(&self) -> bool {
        self.index >= TransactionHead::JUNCTIONS
    }

    fn transaction(&self) -> ObservedTransaction {
        let TransactionHead { index, session, started, ended, outcome } = *self;
        let (agent, node, steps) = (0, 0, Vec::new());
        ObservedTransaction { index, session, agent, node, started, ended, outcome, steps }
    }
}

/// What a transaction did to some of the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionPart {
    /// The transaction with these steps alone.
    pub transaction: ObservedTransaction,
    /// The place of each step among all steps of the transaction.
    pub places: Vec<u32>,
}

/// What connects two transactions, or one with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DependencySort {
    /// The second one's version replaced the first one's.
    Replaced = 0,
    /// The second one read the first one's version.
    Read = 1,
    /// The second one replaced the version that the first one read.
    ReadBefore = 2,
    /// The second half of an edge by way of a junction.
    Through = 3,
    /// It read the record as it was before all writes.
    ReadFirst = 4,
    /// It wrote the record.
    Wrote = 5,
}

impl DependencySort {
    /// All sorts by their codes.
    pub const ALL: [DependencySort; 6] = [
        DependencySort::Replaced,
        DependencySort::Read,
        DependencySort::ReadBefore,
        DependencySort::Through,
        DependencySort::ReadFirst,
        DependencySort::Wrote,
    ];

    /// The sort with this code.
    pub fn from_code(code: u8) -> Option<DependencySort> {
        DependencySort::ALL.get(usize::from(code)).copied()
    }
}

/// A dependency between two transactions; both are the same where it is about one alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Which comes first.
    pub from: TransactionHead,
    /// Which comes later.
    pub to: TransactionHead,
    /// The record.
    pub key: u64,
    /// What it is.
    pub sort: DependencySort,
    /// Of a read, the place of the step in its transaction.
    pub place: u32,
}

/// What shares of a history showed; those of all shares add up to a report on the whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransactionTally {
    evidence: Evidence,
    anomalies: Vec<AnomalyCount>,
    has_duplicates: bool,
    /// When the first transaction that is done ended, nanoseconds.
    first_end: Option<u64>,
    /// When those began that had begun by then.
    began_early: Vec<u64>,
    unknown: Vec<UnknownTransaction>,
    named: Vec<NamedTransaction>,
    transactions: u64,
}

/// A transaction that a witness names: index, session, start, end, code of its outcome.
type NamedTransaction = (u64, u32, u64, u64, u8);

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct UnknownTransaction {
    index: u64,
    started: u64,
    /// One that is done came before it in its session.
    follows: bool,
}

impl TransactionTally {
    /// Adds what another share showed.
    pub fn add(&mut self, other: TransactionTally) {
        self.evidence.add(&other.evidence);
        self.has_duplicates |= other.has_duplicates;
        self.began_early.extend(other.began_early);
        self.unknown.extend(other.unknown);
        self.named.extend(other.named);
        self.transactions += other.transactions;
        self.first_end = match (self.first_end, other.first_end) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let own = std::mem::take(&mut self.anomalies);
        let mut sorts: BTreeMap<_, AnomalyCount> = BTreeMap::new();
        for one in own.into_iter().chain(other.anomalies) {
            let kind = (one.anomaly, one.edges);
            let known = sorts.entry(kind).or_insert_with(|| AnomalyCount::none(kind));
            known.count += one.count;
            known.witnesses.extend(one.witnesses);
            known.witnesses.truncate(Violations::WITNESSES);
        }
        self.anomalies = sorts.into_values().collect();
    }

    /// How many records have no order of their versions: islands must know whether there are any.
    pub fn unordered(&self) -> u64 {
        self.evidence.unordered
    }

    /// The transactions that the anomalies name, without their steps.
    pub fn named(&self) -> Vec<ObservedTransaction> {
        let transaction = |one: &NamedTransaction| {
            let (index, session, started, ended, outcome) = *one;
            let outcome = Outcome::from_code(outcome).unwrap_or(Outcome::Unknown);
            let (started, ended) = (Nanos(started), Nanos(ended));
            TransactionHead { index, session, started, ended, outcome }.transaction()
        };
        let mut named: Vec<ObservedTransaction> = self.named.iter().map(transaction).collect();
        named.sort_by_key(|one| one.index);
        named.dedup_by_key(|one| one.index);
        named
    }

    /// How many transactions the sessions have.
    pub fn transactions(&self) -> u64 {
        self.transactions
    }

    /// Notes the anomalies, with the transactions of `history` that they name.
    fn note(&mut self, anomalies: Vec<AnomalyCount>, history: &TransactionHistory) {
        let witnesses = anomalies.iter().flat_map(|one| &one.witnesses);
        let indices: HashSet<u64> =
            witnesses.flat_map(|witness| witness.operations.iter().copied()).collect();
        let named = history.transactions.iter().filter(|one| indices.contains(&one.index));
        let of = |one: &ObservedTransaction| {
            (one.index, one.session, one.started.0, one.ended.0, one.outcome as u8)
        };
        self.named.extend(named.map(of));
        self.anomalies = anomalies;
    }

    /// The verdicts, once all shares are added; `seen` are the transactions of unknown outcome
    /// whose writes others read.
    pub fn report(mut self, seen: &HashSet<u64>) -> TransactionReport {
        let seen: Vec<&UnknownTransaction> =
            self.unknown.iter().filter(|one| seen.contains(&one.index)).collect();
        if self.has_duplicates {
            return super::report::without_verdict(Limitation::DuplicateValues);
        }
        let evidence = &mut self.evidence;
        evidence.needs_order = true;
        evidence.committed += seen.len() as u64;
        if evidence.committed == 0 {
            return super::report::without_verdict(Limitation::NothingKnown);
        }
        evidence.of_session += seen.iter().filter(|one| one.follows).count() as u64;
        evidence.after_others = self.first_end.map_or(0, |end| {
            let unknown = seen.iter().map(|one| one.started);
            let began = self.began_early.iter().copied().chain(unknown);
            evidence.committed - began.filter(|started| *started <= end).count() as u64
        });
        report(self.anomalies, &self.evidence)
    }
}

impl Evidence {
    fn add(&mut self, other: &Evidence) {
        self.committed += other.committed;
        self.unknown += other.unknown;
        self.reads += other.reads;
        self.read_several += other.read_several;
        self.replaced += other.replaced;
        self.anti_dependencies += other.anti_dependencies;
        self.of_session += other.of_session;
        self.after_others += other.after_others;
        self.has_several_steps |= other.has_several_steps;
        self.has_registers |= other.has_registers;
        self.unordered += other.unordered;
        self.order = self.order.max(other.order);
        self.needs_order |= other.needs_order;
        self.has_too_many_sessions |= other.has_too_many_sessions;
        self.are_clocks_too_bad |= other.are_clocks_too_bad;
    }
}

/// A transaction as far as its session is concerned.
#[derive(Clone, Copy, Debug)]
pub struct TransactionOutline {
    /// The transaction.
    pub head: TransactionHead,
    /// How many steps it has.
    pub steps: u32,
    /// How many records it reads, not counting what it had written itself.
    pub records_read: u32,
}

/// Counts the transactions of whole sessions.
pub fn judge_sessions(mut transactions: Vec<TransactionOutline>) -> TransactionTally {
    let count = transactions.len() as u64;
    let mut tally = TransactionTally { transactions: count, ..TransactionTally::default() };
    transactions.retain(|one| one.head.outcome != Outcome::Dropped);
    transactions.sort_unstable_by_key(|one| (one.head.session, one.head.started, one.head.index));
    let ends = transactions.iter().filter(|one| one.head.outcome == Outcome::Done);
    tally.first_end = ends.map(|one| one.head.ended.max(one.head.started).0).min();
    for session in transactions.chunk_by(|one, other| one.head.session == other.head.session) {
        let mut follows = false;
        for one in session {
            tally.evidence.has_several_steps |= one.steps > 1;
            let TransactionHead { index, started: Nanos(started), outcome, .. } = one.head;
            match outcome {
                Outcome::Done => {
                    tally.evidence.committed += 1;
                    tally.evidence.read_several += u64::from(one.records_read > 1);
                    tally.evidence.of_session += u64::from(follows);
                    follows = true;
                    if tally.first_end.is_some_and(|end| started <= end) {
                        tally.began_early.push(started);
                    }
                }
                Outcome::Unknown => {
                    tally.evidence.unknown += 1;
                    tally.unknown.push(UnknownTransaction { index, started, follows });
                }
                Outcome::Refused | Outcome::Dropped => {}
            }
        }
    }
    tally
}

/// The transactions of unknown outcome whose writes to these records were read.
pub fn unknown_but_seen(parts: Vec<TransactionPart>) -> Vec<u64> {
    let (history, _) = split(parts);
    let mut log = Log::new(&history);
    let facts = Facts::new(&history, &mut log);
    let mut dependencies = Dependencies::new(&history);
    lists::all(&facts).iter().for_each(|list| list.observe(&mut dependencies, &mut log));
    registers::all(&facts).iter().for_each(|one| one.observe(&mut dependencies, &mut log));
    let both = history.transactions.iter().zip(&dependencies.is_committed);
    let seen = both.filter(|(one, is_seen)| **is_seen && one.outcome == Outcome::Unknown);
    seen.map(|(one, _)| one.index).collect()
}

/// Judges all that was done to some records; gives the dependencies that follow from it.
///
/// `seen` are the transactions of unknown outcome whose writes to any record were read.
pub fn judge_records(
    parts: Vec<TransactionPart>,
    seen: &HashSet<u64>,
) -> (Vec<Dependency>, TransactionTally) {
    let (history, places) = split(parts);
    let mut log = Log::new(&history);
    let facts = Facts::new(&history, &mut log);
    let mut tally = TransactionTally::default();
    if facts.has_duplicates {
        tally.has_duplicates = true;
        return (Vec::new(), tally);
    }
    let mut dependencies = Dependencies::new(&history);
    for (at, one) in history.transactions.iter().enumerate() {
        dependencies.is_committed[at] |= seen.contains(&one.index);
    }
    link_records(&facts, &mut dependencies, &mut log);
    let anti_dependencies = dependencies.edges.iter().filter(|edge| edge.sort == sort::RW).count();
    tally.evidence = Evidence {
        reads: dependencies.reads.len() as u64,
        replaced: facts.replaced,
        anti_dependencies: anti_dependencies as u64,
        has_registers: !(facts.writes.is_empty() && facts.reads.is_empty()),
        unordered: dependencies.unordered,
        order: Some(dependencies.order),
        ..Evidence::default()
    };
    let emitted = Emitted { dependencies: &dependencies, places: &places, keys: &facts.keys };
    let found = emitted.all();
    tally.note(log.anomalies(), &history);
    (found, tally)
}

/// The parts as a history of their own, and the places of each one's steps.
fn split(parts: Vec<TransactionPart>) -> (TransactionHistory, Vec<Vec<u32>>) {
    let both = parts.into_iter().map(|part| (part.transaction, part.places));
    let (transactions, places) = both.unzip();
    (TransactionHistory { transactions }, places)
}

/// What is known of some records, about to leave for where its island is judged.
struct Emitted<'a, 'h> {
    dependencies: &'a Dependencies<'h>,
    places: &'a [Vec<u32>],
    keys: &'a [u64],
}

impl Emitted<'_, '_> {
    fn all(&self) -> Vec<Dependency> {
        let junctions = self.junctions();
        let transactions = &self.dependencies.history.transactions;
        let head = |node: u32| match transactions.get(node as usize) {
            Some(transaction) => TransactionHead::of(transaction),
            None => junctions[node as usize - transactions.len()],
        };
        let key = |number: u32| self.keys[number as usize];
        let of_edge = |edge: &Edge| {
            let sort = match edge.sort {
                sort::WW => DependencySort::Replaced,
                sort::RW => DependencySort::ReadBefore,
                sort::THROUGH => DependencySort::Through,
                // Reads have their places too.
                _ => return None,
            };
            let (from, to) = (head(edge.from), head(edge.to));
            Some(Dependency { from, to, key: key(edge.key), sort, place: 0 })
        };
        let of_read = |read: &SourceRead| {
            let to = head(read.transaction);
            let places = &self.places[read.transaction as usize];
            let (from, sort) = match read.source {
                NOBODY => (to, DependencySort::ReadFirst),
                source => (head(source), DependencySort::Read),
            };
            let place = places.get(read.step as usize).copied().unwrap_or(read.step);
            Dependency { from, to, key: key(read.key), sort, place }
        };
        let of_write = |(writer, number): &(u32, u32)| {
            let (from, to) = (head(*writer), head(*writer));
            Dependency { from, to, key: key(*number), sort: DependencySort::Wrote, place: 0 }
        };
        let edges = self.dependencies.edges.iter().filter_map(of_edge);
        let reads = self.dependencies.reads.iter().map(of_read);
        edges.chain(reads).chain(self.dependencies.writes.iter().map(of_write)).collect()
    }

    /// The nodes that are no transactions: each stands where the append does that it leads to.
    fn junctions(&self) -> Vec<TransactionHead> {
        let transactions = &self.dependencies.history.transactions;
        let count = self.dependencies.nodes() - transactions.len();
        let blank = |number| TransactionHead {
            index: TransactionHead::JUNCTIONS + number,
            session: 0,
            started: Nanos::ZERO,
            ended: Nanos::ZERO,
            outcome: Outcome::Unknown,
        };
        let mut junctions: Vec<TransactionHead> = (0..count as u64).map(blank).collect();
        for edge in self.dependencies.edges.iter().filter(|edge| edge.sort == sort::THROUGH) {
            if let Some(append) = transactions.get(edge.to as usize) {
                junctions[edge.from as usize - transactions.len()].started = append.started;
            }
        }
        junctions
    }
}

/// The pieces of time within which all cycles lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Islands {
    /// First and last moment of each, nanoseconds.
    spans: Vec<(u64, u64)>,
    settled: usize,
}

impl Islands {
    /// Spans that may wait to be joined: 16 MiB.
    const WAITING: usize = 1 << 20;

    /// The islands that these spans make.
    pub fn of_spans(spans: Vec<(u64, u64)>) -> Islands {
        let mut islands = Islands { spans, settled: 0 };
        islands.settle();
        islands
    }

    /// Adds what a dependency spans, if it leads back in time.
    pub fn add(&mut self, dependency: &Dependency) {
        let (from, to) = (dependency.from, dependency.to);
        if from.index != to.index && to.started <= from.started {
            self.spans.push((to.started.0, from.started.0));
        }
        if self.spans.len() >= 2 * self.settled + Islands::WAITING {
            self.settle();
        }
    }

    /// Joins the spans that touch each other.
    pub fn settle(&mut self) {
        self.spans.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (low, high) in self.spans.drain(..) {
            match joined.last_mut() {
                Some(last) if low <= last.1 => last.1 = last.1.max(high),
                _ => joined.push((low, high)),
            }
        }
        self.settled = joined.len();
        self.spans = joined;
    }

    /// First and last moment of each in their order, nanoseconds; of islands that are settled.
    pub fn spans(&self) -> &[(u64, u64)] {
        &self.spans
    }

    /// The number of the island on which this moment lies; of islands that are settled.
    pub fn of(&self, moment: Nanos) -> Option<usize> {
        let at = self.spans.partition_point(|(low, _)| *low <= moment.0).checked_sub(1)?;
        (moment.0 <= self.spans[at].1).then_some(at)
    }
}

/// Judges one island by all dependencies that lead to its transactions.
///
/// `is_ordered` says whether the order of all records' versions is known.
pub fn judge_island(dependencies: &[Dependency], is_ordered: bool) -> TransactionTally {
    let island = Island::new(dependencies);
    let mut log = Log::new(&island.history);
    let mut linked = island.link(dependencies);
    linked.link_sessions();
    linked.link_real_time(&ClockError::NONE);
    let graph = Graph::new(linked.nodes(), &linked.edges);
    let is_on_cycle = cycles::check(&graph, &linked, &island.keys, &mut log);
    drop(graph);
    let is_weak_judged = !is_ordered
        || !is_on_cycle.contains(&true)
        || weak::check(&linked, Suspects::OnCycles(&is_on_cycle), &island.keys, &mut log);
    let evidence = Evidence { has_too_many_sessions: !is_weak_judged, ..Evidence::default() };
    drop(linked);
    let mut tally = TransactionTally { evidence, ..TransactionTally::default() };
    tally.note(log.anomalies(), &island.history);
    tally
}

/// The transactions and the records of an island, with numbers of their own.
struct Island {
    history: TransactionHistory,
    keys: Vec<u64>,
    key_numbers: HashMap<u64, u32>,
    numbers: HashMap<u64, u32>,
}

impl Island {
    fn new(dependencies: &[Dependency]) -> Island {
        let both = || dependencies.iter().flat_map(|one| [one.from, one.to]);
        let mut heads: Vec<TransactionHead> = both().filter(|one| !one.is_junction()).collect();
        heads.sort_unstable_by_key(|head| head.index);
        heads.dedup_by_key(|head| head.index);
        let mut keys: Vec<u64> = dependencies.iter().map(|one| one.key).collect();
        keys.sort_unstable();
        keys.dedup();
        Island {
            numbers: heads.iter().map(|head| head.index).zip(0..).collect(),
            key_numbers: keys.iter().copied().zip(0..).collect(),
            history: TransactionHistory {
                transactions: heads.iter().map(TransactionHead::transaction).collect(),
            },
            keys,
        }
    }

    fn link(&self, dependencies: &[Dependency]) -> Dependencies<'_> {
        let mut linked = Dependencies::new(&self.history);
        // Those of unknown outcome are here because somebody saw them.
        linked.is_committed.fill(true);
        // A junction's number is that of its record's share.
        let mut junctions: HashMap<(u64, u64), u32> = HashMap::new();
        for one in dependencies {
            let key = self.key_numbers[&one.key];
            let mut node = |head: TransactionHead| match self.numbers.get(&head.index) {
                Some(number) => *number,
                None => *junctions.entry((head.index, one.key)).or_insert_with(|| linked.node()),
            };
            let (from, to) = (node(one.from), node(one.to));
            match one.sort {
                DependencySort::Replaced => linked.link(from, to, key, sort::WW),
                DependencySort::ReadBefore => linked.link(from, to, key, sort::RW),
                DependencySort::Through => linked.link(from, to, key, sort::THROUGH),
                DependencySort::Wrote => linked.writes.push((to, key)),
                DependencySort::Read | DependencySort::ReadFirst => {
                    let source = if one.sort == DependencySort::Read { from } else { NOBODY };
                    let (transaction, step) = (to, one.place);
                    linked.read(SourceRead { transaction, step, key, source });
                }
            }
        }
        linked
    }
}

/// How many records a transaction reads, not counting what it had written itself.
pub fn records_read(steps: &[TransactionStep]) -> u32 {
    let mut written: HashSet<u64> = HashSet::new();
    let mut read: HashSet<u64> = HashSet::new();
    for step in steps {
        match step {
            TransactionStep::ReadList { key, elements: Some(_) } => {
                read.insert(*key);
            }
            TransactionStep::Read { key, value: Some(_) } if !written.contains(key) => {
                read.insert(*key);
            }
            TransactionStep::Write { key, .. } => {
                written.insert(*key);
            }
            _ => {}
        }
    }
    read.len() as u32
}
