//! Levels decided by trying all orders, for histories of a few transactions.
//!
//! Serializable: some order of all committed transactions in which each reads what is there. One
//! of unknown outcome may be left out; lists that it read are not looked at, as we do. Snapshot
//! isolation: some order of beginnings and commits in which each reads what was committed when it
//! began, and no two that wrote the same record overlap. The levels without a version order: some
//! order of commits that satisfies the axioms of Biswas and Enea (OOPSLA 2019), read literally.

use std::collections::BTreeMap;

use assay_consistency::verdict::Edges;
use assay_consistency::{ObservedTransaction, TransactionHistory, TransactionStep, WrittenValue};
use assay_model::Outcome;

/// Orders tried before giving up.
const TRIES: u32 = 300_000;

type State = BTreeMap<(bool, u64), Vec<WrittenValue>>;

/// A history in a form for trying.
pub struct Trial<'a> {
    transactions: Vec<&'a ObservedTransaction>,
    tries: u32,
}

impl<'a> Trial<'a> {
    pub fn new(history: &'a TransactionHistory) -> Trial<'a> {
        let can_be_committed =
            |one: &&ObservedTransaction| matches!(one.outcome, Outcome::Done | Outcome::Unknown);
        let transactions = history.transactions.iter().filter(can_be_committed).collect();
        Trial { transactions, tries: 0 }
    }

    /// Whether `before` must have been committed before `after` began.
    fn must_precede(&self, before: usize, after: usize, edges: Edges) -> bool {
        let (one, other) = (self.transactions[before], self.transactions[after]);
        let is_of_session = one.session == other.session && one.index < other.index;
        let is_earlier = one.ended < other.started;
        one.outcome == Outcome::Done
            && match edges {
                Edges::Data => false,
                Edges::Session => is_of_session,
                Edges::RealTime => is_of_session || is_earlier,
            }
    }

    /// Whether `next` may begin once those in `committed` are.
    fn may_begin(&self, next: usize, committed: u32, edges: Edges) -> bool {
        (0..self.transactions.len())
            .all(|one| committed >> one & 1 == 1 || !self.must_precede(one, next, edges))
    }

    fn is_complete(&self, committed: u32) -> bool {
        let is_done = |at: usize| self.transactions[at].outcome == Outcome::Done;
        (0..self.transactions.len()).all(|at| committed >> at & 1 == 1 || !is_done(at))
    }

    /// Nothing if there are too many orders.
    pub fn is_serializable(&mut self, edges: Edges) -> Option<bool> {
        self.tries = 0;
        let found = self.serial(&State::new(), 0, edges);
        (self.tries < TRIES).then_some(found)
    }

    fn serial(&mut self, state: &State, committed: u32, edges: Edges) -> bool {
        self.tries += 1;
        if self.tries >= TRIES || self.is_complete(committed) {
            return true;
        }
        (0..self.transactions.len()).any(|next| {
            let is_free = committed >> next & 1 == 0 && self.may_begin(next, committed, edges);
            let after = is_free.then(|| run(self.transactions[next], state)).flatten();
            after.is_some_and(|after| self.serial(&after, committed | 1 << next, edges))
        })
    }

    /// Nothing if there are too many orders.
    pub fn is_snapshot_isolated(&mut self, edges: Edges) -> Option<bool> {
        self.tries = 0;
        let found = self.snapshot(&State::new(), &mut Vec::new(), 0, edges);
        (self.tries < TRIES).then_some(found)
    }

    /// `open` are those that began: what they will have written, and which.
    fn snapshot(
        &mut self,
        state: &State,
        open: &mut Vec<(usize, State)>,
        committed: u32,
        edges: Edges,
    ) -> bool {
        self.tries += 1;
        if self.tries >= TRIES || (self.is_complete(committed) && open.is_empty()) {
            return true;
        }
        for place in 0..open.len() {
            let (at, own) = open.remove(place);
            // First committer wins: the others that wrote its records cannot commit any more.
            let keys = written(self.transactions[at]);
            let is_alone = open.iter().all(|(other, _)| {
                written(self.transactions[*other]).iter().all(|key| !keys.contains(key))
            });
            if is_alone {
                let mut after = state.clone();
                keys.iter().for_each(|key| drop(after.insert(*key, own[key].clone())));
                if self.snapshot(&after, open, committed | 1 << at, edges) {
                    return true;
                }
            }
            open.insert(place, (at, own));
        }
        for next in 0..self.transactions.len() {
            let is_known = committed >> next & 1 == 1 || open.iter().any(|(at, _)| *at == next);
            if is_known || !self.may_begin(next, committed, edges) {
                continue;
            }
            let Some(own) = run(self.transactions[next], state) else { continue };
            open.push((next, own));
            if self.snapshot(state, open, committed, edges) {
                return true;
            }
            open.pop();
        }
        false
    }
}

fn written(transaction: &ObservedTransaction) -> Vec<(bool, u64)> {
    let key = |step: &TransactionStep| match step {
        TransactionStep::Append { key, .. } => Some((true, *key)),
        TransactionStep::Write { key, .. } => Some((false, *key)),
        _ => None,
    };
    transaction.steps.iter().filter_map(key).collect()
}

/// The state after a transaction ran alone, if it could read what it did.
fn run(transaction: &ObservedTransaction, state: &State) -> Option<State> {
    let mut state = state.clone();
    let is_known = transaction.outcome == Outcome::Done;
    for step in &transaction.steps {
        match step {
            TransactionStep::Append { key, element } => {
                state.entry((true, *key)).or_default().push(*element);
            }
            TransactionStep::Write { key, value, .. } => {
                state.insert((false, *key), vec![*value]);
            }
            TransactionStep::ReadList { key, elements: Some(elements) } => {
                let actual = state.get(&(true, *key)).map_or(&[][..], Vec::as_slice);
                if is_known && actual != elements {
                    return None;
                }
            }
            TransactionStep::Read { key, value: Some(value) } => {
                let actual = state.get(&(false, *key)).map_or(WrittenValue::ABSENT, |one| one[0]);
                if actual != *value {
                    return None;
                }
            }
            _ => {}
        }
    }
    Some(state)
}

/// Which transactions a reader must see, by Biswas and Enea.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Those that it had read from before.
    MonotonicView,
    /// Those that it reads from.
    Atomic,
    /// Those that it depends on by reads and sessions.
    Causal,
}

/// Reads and writes of committed transactions on registers.
pub struct Axioms {
    count: usize,
    /// Reader, record, step, writer; the writer is `count` for what was there before.
    reads: Vec<(usize, u64, usize, usize)>,
    writes: Vec<Vec<u64>>,
    /// Whether one comes before the other in a session.
    session: Vec<Vec<bool>>,
}

impl Axioms {
    /// Nothing for a history of which some read has no writer in it, or too long a one.
    pub fn new(history: &TransactionHistory) -> Option<Axioms> {
        let mut writers = BTreeMap::new();
        for (at, one) in history.transactions.iter().enumerate() {
            for step in &one.steps {
                if let TransactionStep::Write { key, value, .. } = step {
                    writers.insert((*key, *value), at);
                }
            }
        }
        let done = |at: usize| history.transactions[at].outcome == Outcome::Done;
        let mut committed: Vec<usize> =
            (0..history.transactions.len()).filter(|at| done(*at)).collect();
        let mut raw = Vec::new();
        for at in committed.clone() {
            for (step, what) in history.transactions[at].steps.iter().enumerate() {
                let TransactionStep::Read { key, value: Some(value) } = what else { continue };
                let writer = match value {
                    &WrittenValue::ABSENT => None,
                    value => Some(*writers.get(&(*key, *value))?),
                };
                raw.push((at, *key, step, writer));
                committed.extend(writer);
            }
        }
        committed.sort_unstable();
        committed.dedup();
        if committed.len() > 7 {
            return None;
        }
        let number = |at: usize| committed.binary_search(&at).ok();
        let count = committed.len();
        let reads = raw.into_iter().filter(|read| read.3 != Some(read.0)).map(|read| {
            let writer = read.3.map_or(Some(count), number)?;
            Some((number(read.0)?, read.1, read.2, writer))
        });
        let transactions: Vec<&ObservedTransaction> =
            committed.iter().map(|at| &history.transactions[*at]).collect();
        let writes = transactions.iter().map(|one| written(one).iter().map(|key| key.1).collect());
        let before = |one: &&ObservedTransaction, other: &&ObservedTransaction| {
            let is_same = one.session == other.session && one.index < other.index;
            is_same && one.outcome == Outcome::Done
        };
        let session = transactions
            .iter()
            .map(|one| transactions.iter().map(|other| before(one, other)).collect());
        Some(Axioms {
            count,
            reads: reads.collect::<Option<_>>()?,
            writes: writes.collect(),
            session: session.collect(),
        })
    }

    /// Whether some order of commits satisfies the axiom.
    pub fn hold(&self, visibility: Visibility) -> bool {
        let mut sees = vec![vec![false; self.count]; self.count];
        for (reader, _, _, writer) in &self.reads {
            if *writer < self.count {
                sees[*writer][*reader] = true;
            }
        }
        if visibility == Visibility::Causal {
            for (one, row) in self.session.iter().enumerate() {
                row.iter().enumerate().for_each(|(other, is)| sees[one][other] |= is);
            }
        }
        let base = sees.clone();
        if visibility == Visibility::Causal {
            for middle in 0..self.count {
                for one in 0..self.count {
                    for other in 0..self.count {
                        sees[one][other] |= sees[one][middle] && sees[middle][other];
                    }
                }
            }
        }
        // Which must be committed before which; what was there before is number `count`.
        let mut before = base;
        before.iter_mut().for_each(|row| row.push(false));
        for (reader, key, step, writer) in &self.reads {
            for other in 0..self.count {
                let is_seen = match visibility {
                    Visibility::MonotonicView => self
                        .reads
                        .iter()
                        .any(|read| read.0 == *reader && read.3 == other && read.2 < *step),
                    _ => sees[other][*reader],
                };
                if is_seen
                    && other != *writer
                    && other != *reader
                    && self.writes[other].contains(key)
                {
                    before[other][*writer] = true;
                }
            }
        }
        self.order(&before, 0)
    }

    fn order(&self, before: &[Vec<bool>], placed: u32) -> bool {
        if before.iter().any(|row| row[self.count]) {
            return false;
        }
        if placed == (1 << self.count) - 1 {
            return true;
        }
        (0..self.count).any(|next| {
            let is_free = |one: usize| placed >> one & 1 == 1 || !before[one][next];
            placed >> next & 1 == 0
                && (0..self.count).all(|one| one == next || is_free(one))
                && self.order(before, placed | 1 << next)
        })
    }
}
