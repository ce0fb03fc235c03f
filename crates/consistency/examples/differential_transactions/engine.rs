//! Small transaction engine: random transactions of several sessions at a chosen level.
//!
//! Time is a number of ticks; at each, a random session does one thing: it begins, does a step, or
//! commits. Levels are implemented the textbook way, and some of them wrong on purpose.

use std::collections::BTreeMap;

use assay_consistency::{ObservedTransaction, TransactionHistory, TransactionStep, WrittenValue};
use assay_model::seed::Draws;
use assay_model::{Nanos, Outcome, Seed};

/// How transactions are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// All steps happen at the commit.
    Serial,
    /// A snapshot at the beginning; the first committer wins.
    Snapshot,
    /// A snapshot at the beginning; both committers win, their appends are merged.
    SnapshotWithoutCheck,
    /// A snapshot at the beginning; the last committer's view replaces all.
    SnapshotOverwriting,
    /// A snapshot from any time before the beginning; the first committer wins.
    StaleSnapshot,
    /// Each read sees what is committed then.
    ReadCommitted,
    /// Each write is there at once, and taken back by an abort.
    ReadUncommitted,
    /// Reads return anything that was written so far, or nothing; of lists, now and then, in
    /// another order, something twice, or something that nobody wrote.
    Arbitrary,
}

impl Engine {
    pub const ALL: [Engine; 8] = [
        Engine::Serial,
        Engine::Snapshot,
        Engine::SnapshotWithoutCheck,
        Engine::SnapshotOverwriting,
        Engine::StaleSnapshot,
        Engine::ReadCommitted,
        Engine::ReadUncommitted,
        Engine::Arbitrary,
    ];
}

/// What records are, and how they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Records {
    /// Lists that transactions append to.
    Lists,
    /// Registers that are read before each write.
    ReadBeforeWrite,
    /// Registers whose versions the store tells.
    Told,
    /// Registers that are just written.
    Blind,
}

/// How a history is made.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub engine: Engine,
    pub records: Records,
    pub transactions: u64,
    pub sessions: u64,
    pub keys: u64,
    pub steps_max: u64,
    /// Of 100 commits, so many abort, and of so many nobody knows what became of them.
    pub aborted: u64,
    pub unknown: u64,
    /// Ends with a transaction that reads all records.
    pub has_final_read: bool,
}

/// A record's elements; of a register the last one counts.
type Value = Vec<WrittenValue>;

struct Open {
    steps: Vec<TransactionStep>,
    planned: Vec<(bool, u64)>,
    started: u64,
    /// How many commits its snapshot holds.
    snapshot: usize,
    began_after: usize,
    writes: BTreeMap<u64, Value>,
}

struct Run {
    plan: Plan,
    draws: Draws,
    /// After each commit, the state of all records.
    states: Vec<BTreeMap<u64, Value>>,
    /// Which records each commit wrote.
    commits: Vec<Vec<u64>>,
    /// What is there uncommitted too.
    dirty: BTreeMap<u64, Value>,
    /// All elements that were ever written to a record.
    written: BTreeMap<u64, Value>,
    next_value: u64,
    tick: u64,
    history: TransactionHistory,
}

/// A history of this plan; the same for the same seed.
pub fn history(plan: Plan, seed: u64) -> TransactionHistory {
    let mut run = Run {
        plan,
        draws: Seed(seed).draws(3, 0),
        states: vec![BTreeMap::new()],
        commits: Vec::new(),
        dirty: BTreeMap::new(),
        written: BTreeMap::new(),
        next_value: 1,
        tick: 0,
        history: TransactionHistory::default(),
    };
    let mut open: Vec<(u32, Option<Open>)> =
        (0..plan.sessions as u32).map(|id| (id, None)).collect();
    let mut begun = 0;
    while begun < plan.transactions || open.iter().any(|(_, one)| one.is_some()) {
        run.tick += 1;
        let at = run.draws.below(plan.sessions) as usize;
        let (id, slot) = &mut open[at];
        match slot.take() {
            None if begun < plan.transactions => {
                begun += 1;
                *slot = Some(run.begin());
            }
            None => {}
            Some(mut one) if one.steps.len() < one.planned.len() => {
                if plan.engine == Engine::Serial {
                    run.tick -= 1;
                    *slot = Some(one);
                    let one = slot.take().expect("it was just put there");
                    let outcome = run.commit(*id, one);
                    retire(id, outcome, plan.sessions);
                } else {
                    run.step(&mut one);
                    *slot = Some(one);
                }
            }
            Some(one) => {
                let outcome = run.commit(*id, one);
                retire(id, outcome, plan.sessions);
            }
        }
    }
    if plan.has_final_read {
        run.read_all();
    }
    run.history
}

/// A session whose transaction has an unknown outcome is not used again.
fn retire(id: &mut u32, outcome: Outcome, sessions: u64) {
    if outcome == Outcome::Unknown {
        *id += sessions as u32;
    }
}

impl Run {
    fn begin(&mut self) -> Open {
        let count = 1 + self.draws.below(self.plan.steps_max);
        let planned = (0..count)
            .map(|_| (self.draws.below(2) == 0, self.draws.below(self.plan.keys)))
            .flat_map(|(writes, key)| {
                let reads_first = writes && self.plan.records == Records::ReadBeforeWrite;
                [reads_first.then_some((false, key)), Some((writes, key))].into_iter().flatten()
            })
            .collect();
        let newest = self.states.len() - 1;
        let snapshot = match self.plan.engine {
            Engine::StaleSnapshot => self.draws.below(self.states.len() as u64) as usize,
            _ => newest,
        };
        Open {
            steps: Vec::new(),
            planned,
            started: self.tick,
            snapshot,
            began_after: newest,
            writes: BTreeMap::new(),
        }
    }

    /// What the transaction sees of a record, without its own writes.
    fn seen(&mut self, one: &Open, key: u64) -> Value {
        let state = match self.plan.engine {
            Engine::Serial | Engine::ReadCommitted => self.states.last(),
            Engine::ReadUncommitted => Some(&self.dirty),
            Engine::Arbitrary => {
                let written = self.written.get(&key).cloned().unwrap_or_default();
                let length = self.draws.below(written.len() as u64 + 1) as usize;
                return self.scrambled(written[..length].to_vec());
            }
            _ => self.states.get(one.snapshot),
        };
        state.and_then(|state| state.get(&key)).cloned().unwrap_or_default()
    }

    fn scrambled(&mut self, mut value: Value) -> Value {
        if value.is_empty() || self.plan.records != Records::Lists {
            return value;
        }
        let (one, other) = (self.draws.below(value.len() as u64), self.draws.below(40));
        match other {
            0 => value.swap(one as usize, 0),
            1 => value.push(value[one as usize]),
            2 => value.push(WrittenValue(1_000_000_000)),
            _ => {}
        }
        value
    }

    fn step(&mut self, one: &mut Open) {
        let (writes, key) = one.planned[one.steps.len()];
        if !writes {
            let mut value = self.seen(one, key);
            if self.plan.engine != Engine::ReadUncommitted {
                value.extend(one.writes.get(&key).into_iter().flatten());
            }
            one.steps.push(self.read(key, value));
            return;
        }
        let value = WrittenValue(self.next_value);
        self.next_value += 1;
        one.writes.entry(key).or_default().push(value);
        self.written.entry(key).or_default().push(value);
        if self.plan.engine == Engine::ReadUncommitted {
            self.dirty.entry(key).or_default().push(value);
        }
        one.steps.push(match self.plan.records {
            Records::Lists => TransactionStep::Append { key, element: value },
            _ => TransactionStep::Write { key, value, version: None },
        });
    }

    fn read(&self, key: u64, value: Value) -> TransactionStep {
        match self.plan.records {
            Records::Lists => TransactionStep::ReadList { key, elements: Some(value) },
            _ => {
                let last = value.last().copied().unwrap_or(WrittenValue::ABSENT);
                TransactionStep::Read { key, value: Some(last) }
            }
        }
    }

    fn commit(&mut self, session: u32, mut one: Open) -> Outcome {
        while one.steps.len() < one.planned.len() {
            self.step(&mut one);
        }
        let checks = [Engine::Snapshot, Engine::StaleSnapshot].contains(&self.plan.engine);
        let has_conflict = checks && {
            let later = &self.commits[one.began_after.min(one.snapshot)..];
            later.iter().flatten().any(|key| one.writes.contains_key(key))
        };
        let is_aborted = self.draws.below(100) < self.plan.aborted || has_conflict;
        let is_unknown = self.draws.below(100) < self.plan.unknown;
        if is_aborted {
            self.abort(&one)
        } else {
            self.install(&mut one)
        }
        let outcome = match (is_unknown, is_aborted) {
            (true, _) => Outcome::Unknown,
            (false, true) => Outcome::Refused,
            (false, false) => Outcome::Done,
        };
        self.note(session, one, outcome);
        outcome
    }

    fn abort(&mut self, one: &Open) {
        for (key, values) in &one.writes {
            if let Some(dirty) = self.dirty.get_mut(key) {
                dirty.retain(|value| !values.contains(value));
            }
        }
    }

    fn install(&mut self, one: &mut Open) {
        let mut state = self.states.last().cloned().unwrap_or_default();
        for (key, values) in &one.writes {
            let value = state.entry(*key).or_default();
            if self.plan.engine == Engine::SnapshotOverwriting {
                *value = self.states[one.snapshot].get(key).cloned().unwrap_or_default();
            }
            value.extend(values);
        }
        if self.plan.engine == Engine::ReadUncommitted {
            state = self.dirty.clone();
        }
        self.states.push(state);
        self.commits.push(one.writes.keys().copied().collect());
        if self.plan.records == Records::Told {
            let number = self.commits.len() as u64;
            for step in &mut one.steps {
                if let TransactionStep::Write { version, .. } = step {
                    *version = Some(number);
                }
            }
        }
    }

    fn note(&mut self, session: u32, one: Open, outcome: Outcome) {
        self.history.transactions.push(ObservedTransaction {
            node: 0,
            index: self.history.transactions.len() as u64,
            session,
            agent: 0,
            started: Nanos(one.started),
            ended: Nanos(self.tick),
            outcome,
            steps: one.steps,
        });
    }

    fn read_all(&mut self) {
        self.tick += 1;
        let mut one = self.begin();
        one.snapshot = self.states.len() - 1;
        one.steps.clear();
        for key in 0..self.plan.keys {
            let all = match self.plan.engine {
                Engine::Arbitrary => self.written.get(&key),
                Engine::ReadUncommitted => self.dirty.get(&key),
                _ => self.states.last().and_then(|state| state.get(&key)),
            };
            let step = self.read(key, all.cloned().unwrap_or_default());
            one.steps.push(step);
        }
        self.tick += 1;
        self.note(u32::MAX - 1, one, Outcome::Done);
    }
}
