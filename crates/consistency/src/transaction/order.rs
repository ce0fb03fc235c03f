//! Dependencies between transactions: those between versions, of sessions, of real time.
//!
//! Real-time edges are not drawn between each pair. The ends of transactions are nodes of a time
//! line; each transaction leads to its own end, each end to the next one, and the last end before
//! a transaction's start leads to that transaction: three edges per transaction, and the same
//! paths. Where several agents have clocks with errors there are two time lines: one with each end
//! moved later by the error of its agent's clock and each start earlier, and, between transactions
//! of the same agent, one without errors per agent. A transaction whose outcome is unknown has no
//! end; nor does it come before others of its session, because it may take effect after them.
//!
//! Memory: 16 bytes per edge while the graph is built, 16 per read.

use assay_model::{Nanos, Outcome};

use crate::clock::ClockError;
use crate::transaction::graph::{Edge, NO_KEY, sort};
use crate::transaction::{ObservedTransaction, TransactionHistory};
use crate::verdict::VersionOrder;

/// No transaction: what wrote the version that was there before all others.
pub(super) const NOBODY: u32 = u32::MAX;

/// A read of a version, with the transaction that wrote it.
#[derive(Clone, Copy)]
pub(super) struct SourceRead {
    pub transaction: u32,
    pub step: u32,
    pub key: u32,
    pub source: u32,
}

/// What is known about the order of transactions.
pub(super) struct Dependencies<'h> {
    pub history: &'h TransactionHistory,
    /// Those that are done, and unknown ones that others have seen.
    pub is_committed: Vec<bool>,
    pub edges: Vec<Edge>,
    /// Reads of committed transactions' versions, of others' only.
    pub reads: Vec<SourceRead>,
    /// Which committed transaction wrote which record.
    pub writes: Vec<(u32, u32)>,
    /// The weakest source of a version order that was used.
    pub order: VersionOrder,
    /// Records without a version order.
    pub unordered: u64,
    nodes: u32,
}

impl<'h> Dependencies<'h> {
    pub fn new(history: &'h TransactionHistory) -> Dependencies<'h> {
        let is_done = |one: &ObservedTransaction| one.outcome == Outcome::Done;
        Dependencies {
            history,
            is_committed: history.transactions.iter().map(is_done).collect(),
            edges: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            order: VersionOrder::Lists,
            unordered: 0,
            nodes: history.transactions.len() as u32,
        }
    }

    /// How many nodes there are: transactions first.
    pub fn nodes(&self) -> usize {
        self.nodes as usize
    }

    /// A new node that is no transaction.
    pub fn node(&mut self) -> u32 {
        self.nodes += 1;
        self.nodes - 1
    }

    pub fn outcome(&self, transaction: u32) -> Outcome {
        self.history.transactions[transaction as usize].outcome
    }

    pub fn note_order(&mut self, order: VersionOrder) {
        self.order = self.order.max(order);
    }

    pub fn link(&mut self, from: u32, to: u32, key: u32, sort: u8) {
        if from != to {
            self.edges.push(Edge { from, to, key, sort });
        }
    }

    /// Notes a read, with the edge from the transaction that wrote what it read.
    pub fn read(&mut self, read: SourceRead) {
        if read.source != NOBODY {
            self.link(read.source, read.transaction, read.key, sort::WR);
        }
        if read.source != read.transaction {
            self.reads.push(read);
        }
    }

    /// The committed transactions of each session in their order, sessions side by side.
    pub fn sessions(&self) -> Vec<u32> {
        let place = |(at, one): (usize, &ObservedTransaction)| {
            (one.session, one.started, one.index, at as u32)
        };
        let all = self.history.transactions.iter().enumerate();
        let committed = all.filter(|(at, _)| self.is_committed[*at]);
        let mut places: Vec<(u32, Nanos, u64, u32)> = committed.map(place).collect();
        places.sort_unstable();
        places.into_iter().map(|(.., at)| at).collect()
    }

    /// Links each transaction to the next one of its session; returns how many have a former one.
    pub fn link_sessions(&mut self) -> u64 {
        let mut before: Option<(u32, u32)> = None;
        let mut count = 0;
        for at in self.sessions() {
            let session = self.history.transactions[at as usize].session;
            if let Some((_, former)) = before.filter(|(of, _)| *of == session) {
                self.link(former, at, NO_KEY, sort::SESSION);
                count += 1;
            }
            if self.outcome(at) == Outcome::Done {
                before = Some((session, at));
            }
        }
        count
    }

    /// Links transactions by real time; returns how many began after another's end.
    pub fn link_real_time(&mut self, clocks: &ClockError) -> u64 {
        let all = 0..self.history.transactions.len() as u32;
        let mut members: Vec<u32> = all.filter(|at| self.is_committed[*at as usize]).collect();
        let agent = |at: &u32| self.history.transactions[*at as usize].agent;
        let has_errors = members.iter().any(|at| clocks.error(agent(at)) != Nanos::ZERO);
        let mut by_agent = members.clone();
        by_agent.sort_by_key(agent);
        let count = self.link_time_line(&mut members, |agent| clocks.error(agent));
        if has_errors {
            let history = self.history;
            let agent = |at: &u32| history.transactions[*at as usize].agent;
            for group in by_agent.chunk_by_mut(|one, other| agent(one) == agent(other)) {
                self.link_time_line(group, |_| Nanos::ZERO);
            }
        }
        count
    }

    /// One time line of these transactions, with starts and ends moved apart by `error`.
    fn link_time_line(&mut self, members: &mut [u32], error: impl Fn(u16) -> Nanos) -> u64 {
        let one = |at: u32| &self.history.transactions[at as usize];
        let mut ends: Vec<(Nanos, u32)> = members
            .iter()
            .filter(|at| one(**at).outcome == Outcome::Done)
            .map(|at| (end(one(*at)).saturating_add(error(one(*at).agent)), *at))
            .collect();
        ends.sort_unstable();
        let start = |at: u32| one(at).started.since(error(one(at).agent));
        let mut starts: Vec<(Nanos, u32)> = members.iter().map(|at| (start(*at), *at)).collect();
        starts.sort_unstable();
        let (mut ended, mut last, mut count) = (ends.into_iter().peekable(), NOBODY, 0);
        for (time, at) in starts {
            while let Some((_, before)) = ended.next_if(|(end, _)| *end < time) {
                let node = self.node();
                self.link(before, node, NO_KEY, sort::REAL_TIME);
                if last != NOBODY {
                    self.link(last, node, NO_KEY, sort::REAL_TIME);
                }
                last = node;
            }
            if last != NOBODY {
                self.link(last, at, NO_KEY, sort::REAL_TIME);
                count += 1;
            }
        }
        count
    }
}

/// When it ended; not before it began, whatever the history says.
pub(super) fn end(transaction: &ObservedTransaction) -> Nanos {
    transaction.ended.max(transaction.started)
}
