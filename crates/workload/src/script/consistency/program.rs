//! Processes of the workloads that are made to be judged.

use assay_model::observed::written;
use assay_model::script::{ProcessBuilder, QueryRef};
use assay_model::seed::{Draws, Stream};
use assay_model::{Argument, Nanos, Seed, Taken};

use super::spec::ConsistencySpec;
use super::{INSERT, READ, WRITE, definition};
use crate::plan::streams;
use crate::script::ScriptName;
use crate::script::program::{OneQueryPerKey, Program, int, text};

/// What every account holds at the beginning.
pub const BALANCE: i64 = 100;
/// The largest transfer.
const AMOUNT_MAX: u64 = 5;
/// Processes of a causal chain: two that write, others that read.
const CHAIN: u64 = 8;

fn query(workload: ScriptName, place: usize) -> QueryRef {
    let kind = definition(workload).queries[place].0.kind;
    QueryRef { statement: place as u16 + 1, kind }
}

/// One insert of each key.
pub(super) fn load(spec: &ConsistencySpec) -> OneQueryPerKey {
    let content = match spec.workload {
        ScriptName::ListAppend => text(""),
        ScriptName::Bank => int(BALANCE as u64),
        // Elements are numbered from 1 on: each set begins with one that is none of the run's.
        _ => int(0),
    };
    OneQueryPerKey {
        keys: spec.dataset.keys,
        transaction_type: 1,
        query: query(spec.workload, INSERT),
        content: Some(content),
    }
}

/// One read of each key of a set, in which every addition shows; nothing for other workloads,
/// whose reads tell no loss so.
pub(in crate::script) fn final_reads(spec: &ConsistencySpec) -> Option<OneQueryPerKey> {
    let reads = || OneQueryPerKey {
        keys: spec.dataset.keys,
        // As the run reads: its second type of transaction.
        transaction_type: 2,
        query: query(spec.workload, READ),
        content: None,
    };
    (spec.workload == ScriptName::Set).then(reads)
}

/// Transactions, block of keys after block of keys.
pub(super) struct Run {
    spec: ConsistencySpec,
    read: QueryRef,
    write: QueryRef,
    /// Groups in use at a time.
    active: u64,
    /// Processes of one block.
    block: u64,
    draws: Stream,
}

impl Run {
    pub(super) fn new(spec: &ConsistencySpec, seed: Seed) -> Run {
        let transactions = &spec.transactions;
        let active = (transactions.active / spec.group()).max(1);
        let per_group = match spec.workload {
            ScriptName::ListAppend => {
                let appends = (1.0 + transactions.length as f64) / 2.0 * transactions.writes;
                transactions.writes_per_key as f64 / appends
            }
            ScriptName::LongFork => 2.0 * transactions.length as f64,
            ScriptName::WriteSkew => 2.0 * transactions.writes_per_key as f64,
            ScriptName::LostUpdate => transactions.writes_per_key as f64,
            ScriptName::CausalChain => CHAIN as f64,
            _ => transactions.writes_per_key as f64 / transactions.writes,
        };
        Run {
            spec: spec.clone(),
            read: query(spec.workload, READ),
            write: query(spec.workload, WRITE),
            active,
            block: ((per_group * active as f64).ceil() as u64).max(1),
            draws: seed.stream(streams::SCRIPTS + 0x400),
        }
    }

    /// Reads and writes of one transaction, on average.
    pub(super) fn of_transaction(&self) -> (f64, f64) {
        let transactions = &self.spec.transactions;
        let (length, writes) = (transactions.length as f64, transactions.writes);
        match self.spec.workload {
            ScriptName::ListAppend => {
                let queries = (1.0 + length) / 2.0;
                (queries * (1.0 - writes), queries * writes)
            }
            ScriptName::Bank => {
                let accounts = self.spec.dataset.keys as f64;
                (2.0 * writes + accounts * (1.0 - writes), 2.0 * writes)
            }
            ScriptName::LongFork => ((1.0 + length) / 2.0, 0.5),
            ScriptName::WriteSkew => (2.0, 1.0),
            ScriptName::LostUpdate => (1.0, 1.0),
            ScriptName::CausalChain => (13.0 / 8.0, 2.0 / 8.0),
            _ => (1.0 - writes, writes),
        }
    }
}

impl Program for Run {
    fn len(&self) -> Option<u64> {
        let groups = self.spec.dataset.keys / self.spec.group();
        match self.spec.workload {
            ScriptName::Bank | ScriptName::Counter => None,
            _ => Some((groups / self.active).max(1) * self.block),
        }
    }

    fn width(&self) -> u64 {
        match self.spec.workload {
            ScriptName::ListAppend | ScriptName::LongFork => {
                self.spec.transactions.length.max(2) + 1
            }
            ScriptName::Bank => self.spec.dataset.keys.max(4) + 1,
            ScriptName::WriteSkew => 4,
            ScriptName::LostUpdate => 3,
            ScriptName::CausalChain => 2,
            _ => 1,
        }
    }

    fn process(&self, process: u64, into: &mut ProcessBuilder<'_>) {
        let mut draws = self.draws.draws(process);
        let (block, place) = (process / self.block, process % self.block);
        let first = block * self.active;
        let mut steps = Steps { run: self, first: process * self.width(), place: 0, into };
        match self.spec.workload {
            ScriptName::Bank => steps.bank(&mut draws),
            ScriptName::LongFork => {
                steps.long_fork(first + place % self.active, place / self.active);
            }
            ScriptName::WriteSkew => steps.write_skew(first + draws.below(self.active), &mut draws),
            ScriptName::LostUpdate => steps.lost_update(first + draws.below(self.active)),
            ScriptName::CausalChain => {
                steps.causal_chain(first + place % self.active, place / self.active);
            }
            ScriptName::Set => steps.set(first + draws.below(self.active), &mut draws),
            ScriptName::Counter => steps.counter(draws.below(self.active), &mut draws),
            _ => steps.lists(first, &mut draws),
        }
    }
}

/// The steps of one process.
struct Steps<'a, 'b> {
    run: &'a Run,
    /// The index of the process's first operation.
    first: u64,
    /// How many operations it has so far.
    place: u64,
    into: &'a mut ProcessBuilder<'b>,
}

impl Steps<'_, '_> {
    fn begin(&mut self, transaction_type: u16) {
        self.into.transaction(transaction_type, Nanos::ZERO);
    }

    fn commit(&mut self) {
        self.into.commit();
    }

    fn read(&mut self, key: u64) {
        self.into.issue(self.run.read, key, &[int(key)]);
        self.place += 1;
    }

    /// Writes the number of this operation.
    fn write(&mut self, key: u64) {
        let number = written(self.first + self.place) as u64;
        self.into.issue(self.run.write, key, &[int(number), int(key)]);
        self.place += 1;
    }

    fn writes(&self, draws: &mut Draws) -> bool {
        draws.unit() < self.run.spec.transactions.writes
    }

    fn lists(&mut self, first: u64, draws: &mut Draws) {
        self.begin(1);
        for _ in 0..1 + draws.below(self.run.spec.transactions.length) {
            let key = first + draws.below(self.run.active);
            if self.writes(draws) {
                let element = format!(" {}", written(self.first + self.place));
                self.into.issue(self.run.write, key, &[text(&element), int(key)]);
                self.place += 1;
            } else {
                self.read(key);
            }
        }
        self.commit();
    }

    fn bank(&mut self, draws: &mut Draws) {
        let accounts = self.run.spec.dataset.keys;
        if !self.writes(draws) {
            self.begin(2);
            (0..accounts).for_each(|account| self.read(account));
            return self.commit();
        }
        let payer = draws.below(accounts);
        let payee = (payer + 1 + draws.below(accounts - 1)) % accounts;
        let amount = 1 + draws.below(AMOUNT_MAX) as i64;
        self.begin(1);
        self.read(payer);
        self.read(payee);
        for (place, account, plus) in [(0, payer, -amount), (1, payee, amount)] {
            let balance = Argument::Taken(Taken { plus, ..Taken::first(place, 0) });
            self.into.issue(self.run.write, account, &[balance, int(account)]);
        }
        self.commit();
    }

    /// Each key of a group is written once, by a process of its own; others read them all.
    fn long_fork(&mut self, group: u64, role: u64) {
        let length = self.run.spec.transactions.length;
        let first = group * length;
        if role.is_multiple_of(2) {
            let key = first + role / 2 % length;
            self.begin(1);
            // The read tells which version the write replaces.
            self.read(key);
            self.write(key);
        } else {
            self.begin(2);
            // Every second reader goes the other way round.
            match role % 4 {
                1 => (first..first + length).for_each(|key| self.read(key)),
                _ => (first..first + length).rev().for_each(|key| self.read(key)),
            }
        }
        self.commit();
    }

    fn write_skew(&mut self, group: u64, draws: &mut Draws) {
        self.begin(1);
        self.read(2 * group);
        self.read(2 * group + 1);
        self.write(2 * group + draws.below(2));
        self.commit();
    }

    fn lost_update(&mut self, key: u64) {
        self.begin(1);
        self.read(key);
        self.write(key);
        self.commit();
    }

    /// The first process writes one key; the second reads it, then writes the other; the rest read
    /// the second key, then the first. Each step is a transaction by itself.
    fn causal_chain(&mut self, group: u64, role: u64) {
        let (cause, effect) = (2 * group, 2 * group + 1);
        self.begin(role.min(2) as u16 + 1);
        match role {
            0 => self.write(cause),
            1 => {
                self.read(cause);
                self.commit();
                self.begin(2);
                self.write(effect);
            }
            _ => {
                self.read(effect);
                self.commit();
                self.begin(3);
                self.read(cause);
            }
        }
        self.commit();
    }

    fn set(&mut self, key: u64, draws: &mut Draws) {
        if self.writes(draws) {
            self.begin(1);
            self.write(key);
        } else {
            self.begin(2);
            self.read(key);
        }
        self.commit();
    }

    fn counter(&mut self, key: u64, draws: &mut Draws) {
        if self.writes(draws) {
            self.begin(1);
            self.into.issue(self.run.write, key, &[int(key)]);
        } else {
            self.begin(2);
            self.read(key);
        }
        self.commit();
    }
}
