//! The run phase: transaction *i* is drawn from the seed with its number.
//!
//! A process is a stretch of the transactions: with *n* of them each, process *p* has those from
//! *n · p* to before *n · (p + 1)*. So the operations and their records do not change with *n*.

use assay_model::seed::Stream;
use assay_model::{Draws, Fields, Filled, Kind, Nanos, Operation, Seed, Source, SourceError};

use super::ahead::{Ahead, Drawn};
use super::choice::Choice;
use super::inserts::{Counted, Inserts};
use super::lengths::Lengths;
use super::streams;
use crate::distribution::{Discrete, Uniform, Zipfian};
use crate::spec::{ReadFields, ScanDistribution, Spec, ThinkTime, WriteFields};

const SCAN_THETA: f64 = 0.99;
/// Number of the transaction type read-modify-write.
const READ_MODIFY_WRITE: u16 = 1;

/// What a process does, in the order in which YCSB weighs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

const ACTIONS: [Action; 5] =
    [Action::Read, Action::Update, Action::Insert, Action::Scan, Action::ReadModifyWrite];

#[derive(Clone, Debug)]
enum ScanLength {
    Uniform(Uniform),
    Zipfian(u64, Box<Zipfian>),
}

/// What decides about a transaction, before its fields.
#[derive(Clone, Debug)]
struct Dice {
    stream: Stream,
    actions: Discrete<{ ACTIONS.len() }>,
    choice: Choice,
}

impl Dice {
    /// What follows from the number of a transaction alone.
    #[inline]
    fn ahead(&self, number: u64) -> Drawn {
        let mut draws = self.stream.draws(number);
        let action = self.actions.draw(&mut draws);
        let key = self.choice.draw_ahead(&mut draws).unwrap_or(u64::MAX);
        Drawn { action, key, draws }
    }
}

/// The operations of a run. Each worker has its own copy, which counts inserts as it goes.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// How many transactions the run has.
    count: Option<u64>,
    /// How many of them a process has.
    transactions: u64,
    /// The most operations that a transaction has.
    span: u64,
    think: ThinkTime,
    thoughts: Stream,
    records: u64,
    fields: u64,
    reads: ReadFields,
    writes: WriteFields,
    dice: Dice,
    ahead: Ahead,
    inserts: Inserts,
    scan: ScanLength,
    lengths: Lengths,
}

impl Run {
    /// For a checked specification.
    pub(crate) fn new(spec: &Spec, seed: Seed, lengths: Lengths) -> Run {
        let operations = &spec.operations;
        let stream = seed.stream(streams::OPERATIONS);
        let actions = Discrete::new(&operations.weights().map(|(_, weight)| weight));
        let inserts = Inserts::new(stream, actions.interval(2), spec.keys.visible_after);
        // YCSB names all fields of a read whose values it checks.
        let reads = match operations.read_fields {
            ReadFields::All if spec.dataset.integrity => ReadFields::Named,
            reads => reads,
        };
        let (min, max) = (spec.scan.min, spec.scan.max);
        let scan = match spec.scan.distribution {
            ScanDistribution::Uniform => {
                ScanLength::Uniform(Uniform { first: min, count: max - min + 1 })
            }
            ScanDistribution::Zipfian => {
                ScanLength::Zipfian(min, Box::new(Zipfian::new(max - min + 1, SCAN_THETA)))
            }
        };
        Run {
            count: operations.count,
            transactions: spec.process.transactions,
            span: if operations.read_modify_write > 0.0 { 2 } else { 1 },
            think: spec.process.think,
            thoughts: seed.stream(streams::THINK),
            records: spec.dataset.records,
            fields: spec.dataset.fields,
            reads,
            writes: operations.write_fields,
            dice: Dice { stream, actions, choice: Choice::new(spec) },
            ahead: Ahead::new(&stream.draws(0)),
            inserts,
            scan,
            lengths,
        }
    }

    #[inline]
    fn read_fields(&self, draws: &mut Draws) -> Fields {
        match self.reads {
            ReadFields::All => Fields::All,
            ReadFields::Named => Fields::Named,
            ReadFields::One => self.one_field(draws),
        }
    }

    #[inline]
    fn scan_fields(&self, draws: &mut Draws) -> Fields {
        match self.reads {
            ReadFields::All | ReadFields::Named => Fields::All,
            ReadFields::One => self.one_field(draws),
        }
    }

    #[inline]
    fn update_fields(&self, draws: &mut Draws) -> Fields {
        match self.writes {
            WriteFields::One => self.one_field(draws),
            WriteFields::All => Fields::All,
        }
    }

    #[inline]
    fn one_field(&self, draws: &mut Draws) -> Fields {
        Fields::One(draws.below(self.fields) as u16)
    }

    #[inline]
    fn scan_length(&self, draws: &mut Draws) -> u32 {
        let length = match &self.scan {
            ScanLength::Uniform(uniform) => uniform.draw(draws),
            ScanLength::Zipfian(min, zipfian) => min + zipfian.draw(draws),
        };
        u32::try_from(length).expect("a checked scan has at most 2^32 - 1 records")
    }

    #[inline]
    fn lone(&self, index: u64, kind: Kind, key: u64, fields: Fields) -> Operation {
        Operation {
            index,
            key,
            kind,
            fields,
            limit: 1,
            bytes: if kind.writes() { self.lengths.sum(index, fields) } else { 0 },
            statement: 0,
            transaction: 0,
            transaction_type: 0,
            ends_transaction: true,
            think: Nanos::ZERO,
        }
    }
}

impl Run {
    /// Appends transaction `number` of the stream.
    #[inline]
    fn push(&mut self, number: u64, into: &mut Vec<Operation>) {
        let mut drawn = self.ahead.take(number, |number| self.dice.ahead(number));
        let action = ACTIONS[drawn.action];
        let Counted { before, visible } = self.inserts.before(number);
        let index = number * self.span;
        if action == Action::Insert {
            into.push(self.lone(index, Kind::Insert, self.records + before, Fields::All));
            return;
        }
        let last = self.records - 1 + visible;
        if drawn.key > last {
            drawn.key = self.dice.choice.draw(last, number - before, &mut drawn.draws);
        }
        let Drawn { key, mut draws, .. } = drawn;
        match action {
            Action::Read => {
                let fields = self.read_fields(&mut draws);
                into.push(self.lone(index, Kind::Read, key, fields));
            }
            Action::Update => {
                let fields = self.update_fields(&mut draws);
                into.push(self.lone(index, Kind::Update, key, fields));
            }
            _ => self.push_more(action, index, key, draws, into),
        }
    }

    /// Appends a scan, or a read with its update.
    #[inline(never)]
    fn push_more(
        &self,
        action: Action,
        index: u64,
        key: u64,
        mut draws: Draws,
        into: &mut Vec<Operation>,
    ) {
        let draws = &mut draws;
        match action {
            Action::Read | Action::Update => unreachable!("those are one operation"),
            Action::Insert => unreachable!("inserts are gone by here"),
            Action::Scan => {
                let limit = self.scan_length(draws);
                let fields = self.scan_fields(draws);
                into.push(Operation { limit, ..self.lone(index, Kind::Scan, key, fields) });
            }
            Action::ReadModifyWrite => {
                let (reads, writes) = (self.read_fields(draws), self.update_fields(draws));
                let transaction_type = READ_MODIFY_WRITE;
                let read = self.lone(index, Kind::Read, key, reads);
                let update = self.lone(index + 1, Kind::Update, key, writes);
                into.push(Operation { transaction_type, ends_transaction: false, ..read });
                into.push(Operation { transaction_type, ..update });
            }
        }
    }

    /// Appends the transactions of a process that has several, from number `first` on.
    #[inline(never)]
    fn push_all(&mut self, first: u64, into: &mut Vec<Operation>) {
        let end = first + self.transactions;
        for number in first..self.count.map_or(end, |count| count.min(end)) {
            let begin = into.len();
            self.push(number, into);
            if number > first {
                self.follow(number, number - first, begin, into);
            }
        }
    }

    /// What makes the transaction appended from `begin` on the `place`-th of its process.
    fn follow(&self, number: u64, place: u64, begin: usize, into: &mut [Operation]) {
        let appended = &mut into[begin..];
        appended.iter_mut().for_each(|operation| operation.transaction = place as u16);
        appended[0].think = self.think.draw(&mut self.thoughts.draws(number));
    }
}

impl Source for Run {
    fn len(&self) -> Option<u64> {
        self.count.map(|count| count.div_ceil(self.transactions))
    }

    fn width(&self) -> u64 {
        self.transactions * self.span
    }

    /// # Panics
    /// If the workload inserts and `process` is below an earlier one.
    #[inline]
    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        into.clear();
        let first = process * self.transactions;
        if self.count.is_some_and(|count| first >= count) {
            return Ok(Filled::End);
        }
        match self.transactions {
            1 => self.push(first, into),
            _ => self.push_all(first, into),
        }
        Ok(Filled::Process)
    }
}
