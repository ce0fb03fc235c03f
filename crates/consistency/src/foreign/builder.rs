//! Transactions of a foreign history as they are read, and what they are together.

use std::collections::{HashMap, HashSet};

use assay_model::{Nanos, Outcome};

use super::aggregate;
use super::error::{ForeignProblem, ForeignWarning, ForeignWarningKind};
use super::form::Form;
use super::names::{ForeignName, Interner};
use super::{ForeignEvent, ForeignHistory, ForeignTimes};
use crate::aggregate::{AggregateAccess, AggregateOperation};
use crate::register::{Access, RegisterHistory, RegisterOperation, WrittenValue};
use crate::transaction::{ObservedTransaction, TransactionHistory, TransactionStep};

/// What a record was used as so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordKind {
    /// Its reads found nothing.
    Undecided,
    Register,
    List,
    /// A set, a counter or the accounts of a bank.
    Aggregate,
}

/// Collects transactions; O(steps + list elements) of memory.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) transactions: Vec<ObservedTransaction>,
    pub(super) events: Vec<ForeignEvent>,
    /// What transactions did that are operations on aggregates, by their positions.
    aggregates: HashMap<usize, (u64, AggregateAccess)>,
    interner: Interner,
    kinds: Vec<RecordKind>,
    warnings: Vec<ForeignWarning>,
}

impl Builder {
    pub(super) fn warn(&mut self, kind: ForeignWarningKind, line: u64, count: u64) {
        if let Some(warning) = self.warnings.iter_mut().find(|warning| warning.kind == kind) {
            warning.count += count;
        } else if count > 0 {
            self.warnings.push(ForeignWarning { kind, count, first_line: line });
        }
    }

    /// A transaction without times: those of a session are in their order.
    pub(super) fn begin(
        &mut self,
        session: u32,
        outcome: Outcome,
        steps: Vec<TransactionStep>,
    ) -> &mut ObservedTransaction {
        let place = self.transactions.len();
        self.transactions.push(ObservedTransaction {
            node: 0,
            index: place as u64,
            session,
            agent: 0,
            started: Nanos(place as u64),
            ended: Nanos::NEVER,
            outcome,
            steps,
        });
        &mut self.transactions[place]
    }

    /// A number for a session that is called so.
    pub(super) fn session(&mut self, name: i64) -> Result<u32, ForeignProblem> {
        let sessions = &mut self.interner.names.sessions;
        let number =
            u32::try_from(sessions.len()).map_err(|_| ForeignProblem::TooManySessions(u32::MAX))?;
        sessions.push(name);
        Ok(number)
    }

    pub(super) fn read(&mut self, key: &Form, value: Option<&Form>) -> TransactionStep {
        let key = self.key(key);
        let value = value.map(|value| self.interner.value(key, value));
        TransactionStep::Read { key, value }
    }

    pub(super) fn register_read(
        &mut self,
        key: &Form,
        value: Option<&Form>,
    ) -> Result<TransactionStep, ForeignProblem> {
        let step = self.read(key, value);
        if let TransactionStep::Read { key, value: Some(value) } = step
            && value != WrittenValue::ABSENT
        {
            self.use_as(key, RecordKind::Register)?;
        }
        Ok(step)
    }

    pub(super) fn write(
        &mut self,
        key: &Form,
        value: &Form,
    ) -> Result<TransactionStep, ForeignProblem> {
        let key = self.key(key);
        self.use_as(key, RecordKind::Register)?;
        Ok(TransactionStep::Write { key, value: self.interner.value(key, value), version: None })
    }

    pub(super) fn append(
        &mut self,
        key: &Form,
        element: &Form,
    ) -> Result<TransactionStep, ForeignProblem> {
        let key = self.key(key);
        self.use_as(key, RecordKind::List)?;
        Ok(TransactionStep::Append { key, element: self.element(key, element) })
    }

    /// A read whose answer is a list, unless the record holds whole sequences.
    pub(super) fn list_read(
        &mut self,
        key: &Form,
        answer: &Form,
    ) -> Result<TransactionStep, ForeignProblem> {
        let number = self.key(key);
        let Some(elements) = answer.sequence().filter(|_| !self.is(number, RecordKind::Register))
        else {
            return self.register_read(key, Some(answer));
        };
        self.use_as(number, RecordKind::List)?;
        let elements = elements.iter().map(|element| self.element(number, element)).collect();
        Ok(TransactionStep::ReadList { key: number, elements: Some(elements) })
    }

    /// The operation at this position adds to a set or a counter.
    pub(super) fn add(
        &mut self,
        position: usize,
        key: &Form,
        value: &Form,
    ) -> Result<(), ForeignProblem> {
        let key = self.key(key);
        self.use_as(key, RecordKind::Aggregate)?;
        let value = self.element(key, value);
        self.aggregates.insert(position, (key, AggregateAccess::Add(value)));
        Ok(())
    }

    /// The operation at this position moves an amount between accounts.
    pub(super) fn transfer(
        &mut self,
        position: usize,
        bank: &Form,
        value: &Form,
    ) -> Result<(), ForeignProblem> {
        let (from, to, amount) = aggregate::transfer(value)?;
        let bank = self.key(bank);
        self.use_as(bank, RecordKind::Aggregate)?;
        let (from, to) = (self.key(&aggregate::account(from)), self.key(&aggregate::account(to)));
        self.aggregates.insert(position, (bank, AggregateAccess::Transfer { from, to, amount }));
        Ok(())
    }

    /// The operation at this position answered so; false if its record is no aggregate as far as
    /// is known.
    pub(super) fn aggregate_answer(
        &mut self,
        position: usize,
        key: &Form,
        answer: &Form,
    ) -> Result<bool, ForeignProblem> {
        let key = self.key(key);
        let access = match answer {
            Form::Map(members) => {
                self.use_as(key, RecordKind::Aggregate)?;
                let balances = members.iter().map(|(name, value)| {
                    Ok((self.key(&aggregate::account(name)), aggregate::balance(value)?))
                });
                AggregateAccess::Balances(balances.collect::<Result<_, ForeignProblem>>()?)
            }
            _ if !self.is(key, RecordKind::Aggregate) => return Ok(false),
            Form::Integer(sum) => AggregateAccess::Sum(*sum),
            Form::Sequence(items) => AggregateAccess::Elements(
                items.iter().map(|element| self.element(key, element)).collect(),
            ),
            _ => AggregateAccess::UnknownRead,
        };
        self.aggregates.insert(position, (key, access));
        Ok(true)
    }

    /// A list's element, which is something even if it is called nil.
    fn element(&mut self, key: u64, element: &Form) -> WrittenValue {
        match element {
            Form::Nil => self.interner.value(key, &Form::Word("nil".into())),
            element => self.interner.value(key, element),
        }
    }

    fn key(&mut self, key: &Form) -> u64 {
        let key = self.interner.key(key);
        if key as usize == self.kinds.len() {
            self.kinds.push(RecordKind::Undecided);
        }
        key
    }

    fn is(&self, key: u64, kind: RecordKind) -> bool {
        self.kinds[key as usize] == kind
    }

    fn use_as(&mut self, key: u64, kind: RecordKind) -> Result<(), ForeignProblem> {
        let known = &mut self.kinds[key as usize];
        if *known == RecordKind::Undecided {
            *known = kind;
        }
        if *known == kind {
            return Ok(());
        }
        let name = self.interner.names.key(key).map(ForeignName::to_string);
        Err(ForeignProblem::KeyOfTwoKinds { key: name.unwrap_or_default() })
    }

    /// Makes reads of zero and of the empty string reads of nothing, where nobody wrote that: so
    /// the initial state is called where null is not at hand.
    pub(super) fn name_initial_values(&mut self) {
        let named_so = |name: &ForeignName| match name {
            ForeignName::Integer(number) => *number == 0,
            ForeignName::Other(text) => &**text == "\"\"",
        };
        // One or two of each key.
        let mut initial: HashSet<WrittenValue> = (1..)
            .zip(&self.interner.names.values)
            .filter(|(_, (_, name))| named_so(name))
            .map(|(number, _)| WrittenValue(number))
            .collect();
        if initial.is_empty() {
            return;
        }
        let steps = self.transactions.iter_mut().flat_map(|transaction| &mut transaction.steps);
        for step in steps {
            if let TransactionStep::Write { value, .. } = step {
                initial.remove(value);
            }
        }
        let steps = self.transactions.iter_mut().flat_map(|transaction| &mut transaction.steps);
        for step in steps {
            if let TransactionStep::Read { value: Some(value), .. } = step
                && initial.contains(value)
            {
                *value = WrittenValue::ABSENT;
            }
        }
    }

    pub(super) fn finish(mut self, times: ForeignTimes) -> ForeignHistory {
        let aggregates = self.take_aggregates();
        self.decide_empty_reads();
        let times = match times {
            ForeignTimes::Nanoseconds if is_one_moment(&self.transactions) => {
                ForeignTimes::SessionOrder
            }
            times => times,
        };
        let transactions = TransactionHistory { transactions: self.transactions };
        ForeignHistory {
            registers: registers(&transactions),
            transactions,
            aggregates,
            names: self.interner.names,
            times,
            events: self.events,
            warnings: self.warnings,
        }
    }

    /// Takes operations on sets, counters and accounts out of the transactions.
    fn take_aggregates(&mut self) -> Vec<AggregateOperation> {
        let mut operations = Vec::new();
        if !self.kinds.contains(&RecordKind::Aggregate) {
            return operations;
        }
        let transactions = std::mem::take(&mut self.transactions);
        for (position, transaction) in transactions.into_iter().enumerate() {
            let access = self.aggregates.remove(&position).or_else(|| {
                aggregate::early_read(&transaction, &self.interner.names)
                    .filter(|(key, _)| self.is(*key, RecordKind::Aggregate))
            });
            match access {
                Some((key, access)) => operations.push(AggregateOperation {
                    node: 0,
                    index: transaction.index,
                    key,
                    session: transaction.session,
                    started: transaction.started,
                    ended: transaction.ended,
                    outcome: transaction.outcome,
                    access,
                }),
                None => self.transactions.push(transaction),
            }
        }
        operations
    }

    /// Makes reads of lists of those that found nothing, where the record is a list; one that never
    /// held anything is what the others are.
    fn decide_empty_reads(&mut self) {
        let lists = self.kinds.contains(&RecordKind::List);
        if !lists {
            return;
        }
        let only_lists = !self.kinds.contains(&RecordKind::Register);
        let kinds = &self.kinds;
        for step in self.transactions.iter_mut().flat_map(|transaction| &mut transaction.steps) {
            let TransactionStep::Read { key, value } = *step else { continue };
            let kind = kinds[key as usize];
            if kind == RecordKind::List || (kind == RecordKind::Undecided && only_lists) {
                *step = TransactionStep::ReadList { key, elements: value.map(|_| Vec::new()) };
            }
        }
    }
}

/// The same as operations on single records, if every transaction is one; committed reads whose
/// answer is unknown say nothing and are left out.
fn registers(history: &TransactionHistory) -> RegisterHistory {
    let mut operations = Vec::new();
    for transaction in &history.transactions {
        let done = transaction.outcome == Outcome::Done;
        match *transaction.steps {
            [] => {}
            [TransactionStep::Read { value: None, .. }] if done => {}
            _ => match register_operation(transaction) {
                Some(operation) => operations.push(operation),
                None => return RegisterHistory::default(),
            },
        }
    }
    RegisterHistory { operations, writes_whole_records: true, ..RegisterHistory::default() }
}

fn register_operation(transaction: &ObservedTransaction) -> Option<RegisterOperation> {
    let (key, access) = match *transaction.steps {
        [TransactionStep::Read { key, value }] => {
            (key, Access::Read(value.unwrap_or(WrittenValue::ABSENT)))
        }
        [TransactionStep::Write { key, value, .. }] => (key, Access::Write(value)),
        [
            TransactionStep::Read { key, value: read },
            TransactionStep::Write { key: same, value: written, .. },
        ] if key == same => {
            let write = Access::Write(written);
            (key, read.map_or(write, |read| Access::ReadThenWrite { read, written }))
        }
        _ => return None,
    };
    Some(RegisterOperation {
        node: 0,
        index: transaction.index,
        key,
        session: transaction.session,
        agent: transaction.agent,
        started: transaction.started,
        ended: transaction.ended,
        outcome: transaction.outcome,
        access,
    })
}

/// Whether everything happened at one moment, as where a recorder without a clock writes zeros:
/// then nothing was before anything else.
fn is_one_moment(transactions: &[ObservedTransaction]) -> bool {
    let [first, _, ..] = transactions else { return false };
    transactions.iter().all(|one| {
        let has_no_length = one.outcome != Outcome::Done || one.ended == one.started;
        one.started == first.started && has_no_length
    })
}

/// Times along a text, none before the one above.
#[derive(Default)]
pub(super) struct Clock {
    last: Option<Nanos>,
    last_stated: Option<i64>,
}

impl Clock {
    /// The time of the next line: the one it states; just after the line above if that is later or
    /// if none is stated; that of the line above if both state the same.
    pub(super) fn next(&mut self, stated: Option<i64>) -> Nanos {
        let same = stated.is_some() && stated == self.last_stated;
        let earliest = match self.last {
            None => Nanos::ZERO,
            Some(last) if same => last,
            Some(last) => last.saturating_add(Nanos(1)),
        };
        let nanos = stated.map_or(0, |time| u64::try_from(time).unwrap_or(0));
        let time = earliest.max(Nanos(nanos));
        self.last = Some(time);
        self.last_stated = stated.or(self.last_stated);
        time
    }

    /// Whether a line that states this time is before one above.
    pub(super) fn goes_back(&self, stated: Option<i64>) -> bool {
        stated.is_some() && stated < self.last_stated
    }
}
