//! Records of a run of queries as histories that can be judged.
//!
//! A query's role says what it means; the values that it returned come beside the records. Where a
//! store has transactions, the queries of one are judged together; where it has none, each is a
//! transaction by itself.

use assay_model::{Kind, Nanos, ObservedValue, Outcome, Phase, QueryRole, Record, version};

use crate::aggregate::{AggregateAccess, AggregateOperation};
use crate::fmke::PrescriptionOperation;
use crate::register::{Access, RegisterHistory, RegisterOperation, WrittenValue};
use crate::transaction::{ObservedTransaction, TransactionHistory, TransactionStep};

pub mod dealt;
mod prescriptions;

/// What the records of a workload hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryModel {
    /// Lists, or registers, that transactions read and write.
    Transactions,
    /// Sets of elements.
    Sets,
    /// Counters.
    Counters,
    /// Accounts, of which a snapshot reads so many.
    Accounts(u64),
    /// Registers that are written once, each by an operation of its own.
    SingleWrites,
    /// FMKe's prescriptions, of which a load wrote those up to this number.
    Prescriptions(u64),
}

/// What must be known of a run of queries beside its records.
#[derive(Clone, Debug)]
pub struct QueryOptions {
    /// What the records of the workload hold.
    pub model: QueryModel,
    /// What each query means, by its place.
    pub roles: Vec<QueryRole>,
    /// Whether the store makes the queries of a transaction one.
    pub has_transactions: bool,
    /// More operations than this are not kept; each takes about 100 bytes.
    pub operations_max: usize,
}

/// Collects the records of queries.
#[derive(Debug)]
pub struct QueryCollector {
    options: QueryOptions,
    operations: Vec<QueryOperation>,
    /// When final reads began, if there are any.
    final_reads_from: Option<Nanos>,
    is_too_long: bool,
}

/// The part of a record that is judged.
#[derive(Clone, Copy, Debug)]
struct QueryOperation {
    index: u64,
    key: u64,
    started: Nanos,
    ended: Nanos,
    /// The process with the place of the transaction in it.
    transaction: (u64, u16),
    session: u32,
    agent: u16,
    node: u8,
    kind: Kind,
    outcome: Outcome,
    role: QueryRole,
    found: bool,
    rows: u32,
    requests: u16,
    ends_transaction: bool,
}

/// What a run of queries showed.
#[derive(Debug, Default)]
pub struct CollectedQueries {
    /// Transactions over lists or registers.
    pub transactions: TransactionHistory,
    /// Operations on single registers.
    pub registers: RegisterHistory,
    /// Operations on sets, counters, accounts.
    pub aggregates: Vec<AggregateOperation>,
    /// Operations on FMKe's prescriptions.
    pub prescriptions: Vec<PrescriptionOperation>,
    /// When reads began that found the store at rest, if there are any.
    pub final_reads_from: Option<Nanos>,
    /// Whether there were more operations than may be kept; then nothing is here.
    pub is_too_long: bool,
    /// Queries that returned other numbers of rows than there are values of them.
    pub incomplete: u64,
    /// Appends and additions that were a read, then a write, outside of a transaction.
    pub torn: u64,
}

impl QueryCollector {
    /// A collector without operations.
    pub fn new(options: QueryOptions) -> QueryCollector {
        QueryCollector {
            options,
            operations: Vec::new(),
            final_reads_from: None,
            is_too_long: false,
        }
    }

    /// More operations than this are not kept.
    pub fn operations_max(&self) -> usize {
        self.options.operations_max
    }

    /// What is known of the run beside its records.
    pub fn options(&self) -> &QueryOptions {
        &self.options
    }

    /// Whether there were more operations than may be kept.
    pub fn is_too_long(&self) -> bool {
        self.is_too_long
    }

    /// Whether the store makes the queries of a transaction one.
    pub fn has_transactions(&self) -> bool {
        self.options.has_transactions
    }

    /// Adds records of `agent`, in any order.
    pub fn add(&mut self, agent: u16, records: &[Record]) {
        for record in records {
            if self.operations.len() >= self.options.operations_max {
                self.is_too_long = true;
                self.operations = Vec::new();
            }
            if self.is_too_long {
                return;
            }
            if record.phase == Phase::Final {
                let from = self.final_reads_from.unwrap_or(Nanos::NEVER);
                self.final_reads_from = Some(from.min(record.started));
            }
            let place = usize::from(record.statement).wrapping_sub(1);
            let role = self.options.roles.get(place).copied().unwrap_or_default();
            self.operations.push(QueryOperation {
                index: record.index,
                key: record.key,
                started: record.started,
                ended: record.ended,
                transaction: (record.process, record.transaction),
                session: u32::from(agent) << 24 | record.session & 0xFF_FFFF,
                agent,
                node: record.node,
                kind: record.kind,
                outcome: record.outcome,
                role,
                found: record.found,
                rows: record.rows,
                requests: record.requests,
                ends_transaction: record.ends_transaction(),
            });
        }
    }

    /// Appends and additions that were a read, then a write, outside of a transaction.
    fn torn(&self) -> u64 {
        let is_torn = |one: &&QueryOperation| {
            let adds = matches!(one.role, QueryRole::Append | QueryRole::Add);
            !self.options.has_transactions && adds && one.requests > 1
        };
        self.operations.iter().filter(is_torn).count() as u64
    }

    /// The histories, with the values that queries returned, in any order but for those of one
    /// operation.
    pub fn finish(mut self, mut values: Vec<ObservedValue>) -> CollectedQueries {
        if self.is_too_long {
            return CollectedQueries { is_too_long: true, ..CollectedQueries::default() };
        }
        self.operations.sort_unstable_by_key(|operation| operation.index);
        values.sort_by_key(|value| (value.index, value.item));
        let values = Values(values);
        let is_incomplete = |one: &&QueryOperation| {
            let has_rows = one.role.reads() && one.role != QueryRole::ReadList;
            let is_read = has_rows && one.outcome == Outcome::Done;
            is_read && values.of(one.index).count() != one.rows as usize
        };
        let incomplete = self.operations.iter().filter(is_incomplete).count() as u64;
        let torn = self.torn();
        let final_reads_from = self.final_reads_from;
        let mut collected =
            CollectedQueries { final_reads_from, incomplete, torn, ..CollectedQueries::default() };
        collected.registers.writes_whole_records = true;
        let model = self.options.model;
        let has_transactions = self.options.has_transactions;
        let together = |one: &QueryOperation, other: &QueryOperation| {
            (has_transactions || matches!(model, QueryModel::Prescriptions(_)))
                && one.transaction == other.transaction
        };
        for operations in self.operations.chunk_by(together) {
            match model {
                QueryModel::Transactions => {
                    collected.transactions.transactions.extend(transaction(operations, &values));
                }
                QueryModel::Sets | QueryModel::Counters | QueryModel::Accounts(_) => {
                    collected.aggregates.extend(aggregate(model, operations, &values));
                }
                QueryModel::SingleWrites => {
                    let accesses = operations.iter().filter_map(|one| access(one, &values));
                    collected.registers.operations.extend(accesses);
                }
                QueryModel::Prescriptions(loaded) => prescriptions::prescriptions(
                    operations,
                    &values,
                    has_transactions,
                    loaded,
                    &mut collected.prescriptions,
                ),
            }
        }
        if model == QueryModel::SingleWrites {
            name_single_writes(&mut collected.registers);
        }
        collected
    }
}

/// The values that were returned, by operation and place.
struct Values(Vec<ObservedValue>);

impl Values {
    fn of(&self, index: u64) -> impl Iterator<Item = Option<i64>> + '_ {
        let first = self.0.partition_point(|value| value.index < index);
        let mine = self.0[first..].iter().take_while(move |value| value.index == index);
        mine.map(|value| value.value)
    }

    /// What each value says about its writer; 0 is what was loaded.
    fn written(&self, index: u64) -> impl Iterator<Item = WrittenValue> + '_ {
        self.of(index).map(|value| match value {
            Some(0) => WrittenValue::ABSENT,
            Some(number @ 1..) => WrittenValue(version::written(number as u64 - 1)),
            Some(_) | None => WrittenValue::GARBAGE,
        })
    }
}

/// How a transaction ended: with its commit, or with what its last query did.
fn outcome(operations: &[QueryOperation]) -> Option<Outcome> {
    let last = operations.last()?;
    let is_whole = last.ends_transaction;
    Some(match (last.kind, last.outcome) {
        (Kind::Rollback, _) => Outcome::Refused,
        // A transaction whose commit was never issued cannot have been committed.
        (Kind::Commit, Outcome::Dropped) => Outcome::Refused,
        (Kind::Commit, outcome) => outcome,
        // One query alone, or each query by itself.
        (_, outcome) if operations.len() == 1 => outcome,
        (_, outcome) if is_whole => outcome,
        _ => Outcome::Refused,
    })
}

/// When the first request left, and when the last answer came.
fn times(operations: &[QueryOperation]) -> (Nanos, Nanos) {
    let issued = || operations.iter().filter(|one| one.outcome != Outcome::Dropped);
    let started = issued().map(|one| one.started).min().unwrap_or(Nanos::ZERO);
    (started, issued().map(|one| one.ended).max().unwrap_or(started))
}

/// The node that answered all of the operations whose node is known; 0 if several did.
fn node_of(operations: &[QueryOperation]) -> u8 {
    let mut known = operations.iter().map(|one| one.node).filter(|node| *node != 0);
    let first = known.next().unwrap_or(0);
    if known.all(|node| node == first) { first } else { 0 }
}

/// The queries as one transaction; nothing if none of them was issued.
fn transaction(operations: &[QueryOperation], values: &Values) -> Option<ObservedTransaction> {
    let first = operations.iter().find(|one| one.outcome != Outcome::Dropped)?;
    let steps: Vec<TransactionStep> =
        operations.iter().filter_map(|one| step(one, values)).collect();
    if steps.is_empty() {
        return None;
    }
    let (started, ended) = times(operations);
    Some(ObservedTransaction {
        node: node_of(operations),
        index: first.index,
        session: first.session,
        agent: first.agent,
        started,
        ended,
        outcome: outcome(operations)?,
        steps,
    })
}

fn step(operation: &QueryOperation, values: &Values) -> Option<TransactionStep> {
    let is_known = operation.outcome == Outcome::Done;
    match operation.role {
        _ if operation.outcome == Outcome::Dropped => None,
        // An update that met no row wrote nothing.
        QueryRole::Append | QueryRole::Write if is_known && !operation.found => None,
        role => step_of((operation.key, operation.index), role, is_known, values),
    }
}

/// The step of a transaction that the operation `index` on the record `key` is.
fn step_of(
    (key, index): (u64, u64),
    role: QueryRole,
    is_known: bool,
    values: &Values,
) -> Option<TransactionStep> {
    let value = WrittenValue(version::written(index));
    Some(match role {
        QueryRole::Append => TransactionStep::Append { key, element: value },
        QueryRole::Write => TransactionStep::Write { key, value, version: None },
        QueryRole::ReadList => TransactionStep::ReadList {
            key,
            elements: is_known.then(|| values.written(index).collect()),
        },
        QueryRole::Read => TransactionStep::Read {
            key,
            value: is_known.then(|| values.written(index).next().unwrap_or(WrittenValue::ABSENT)),
        },
        QueryRole::Unchecked | QueryRole::Add | QueryRole::Prescription(_) => return None,
    })
}

/// The queries as one operation on a set, a counter or accounts.
fn aggregate(
    model: QueryModel,
    operations: &[QueryOperation],
    values: &Values,
) -> Option<AggregateOperation> {
    let judged = |one: &&QueryOperation| one.role != QueryRole::Unchecked;
    let first = operations.iter().find(judged)?;
    let outcome = outcome(operations)?;
    let is_known = outcome == Outcome::Done;
    if first.role == QueryRole::Add && is_known && !first.found {
        return None;
    }
    let access = match (model, first.role) {
        (_, QueryRole::Write) => AggregateAccess::Add(WrittenValue(version::written(first.index))),
        (_, QueryRole::Add) => AggregateAccess::Add(WrittenValue(1)),
        _ if !is_known => AggregateAccess::UnknownRead,
        // 0 is what was loaded.
        (QueryModel::Sets, _) => {
            let is_of_run = |element: &WrittenValue| *element != WrittenValue::ABSENT;
            AggregateAccess::Elements(values.written(first.index).filter(is_of_run).collect())
        }
        (QueryModel::Accounts(accounts), _) => {
            let reads = operations.iter().filter(judged);
            let balances: Vec<(u64, Option<i64>)> =
                reads.map(|read| (read.key, values.of(read.index).next().flatten())).collect();
            // A transfer reads two accounts; where there are two, the reads are the same.
            if balances.len() as u64 != accounts {
                return None;
            }
            AggregateAccess::Balances(balances)
        }
        _ => match values.of(first.index).next() {
            Some(Some(sum)) => AggregateAccess::Sum(sum),
            // A counter that is gone is no number that it can have.
            _ => AggregateAccess::Sum(i64::MIN),
        },
    };
    let (started, ended) = times(operations);
    let key = if matches!(model, QueryModel::Accounts(_)) { 0 } else { first.key };
    let (index, session, node) = (first.index, first.session, node_of(operations));
    Some(AggregateOperation { node, index, key, session, started, ended, outcome, access })
}

/// The query as an operation on a register.
fn access(operation: &QueryOperation, values: &Values) -> Option<RegisterOperation> {
    let is_done = operation.outcome == Outcome::Done;
    let access = match operation.role {
        _ if operation.outcome == Outcome::Dropped => return None,
        QueryRole::Write if is_done && !operation.found => return None,
        QueryRole::Write => Access::Write(WrittenValue(version::written(operation.index))),
        QueryRole::Read if is_done => {
            let value = match values.of(operation.index).next() {
                Some(value) => value.unwrap_or(NOTHING_WRITTEN),
                None => NO_ROW,
            };
            Access::Read(WrittenValue(value as u64))
        }
        _ => return None,
    };
    Some(RegisterOperation {
        node: operation.node,
        index: operation.index,
        key: operation.key,
        session: operation.session,
        agent: operation.agent,
        started: operation.started,
        ended: operation.ended,
        outcome: operation.outcome,
        access,
    })
}

/// A read of a row that was not there: as what was loaded, for no operation removes one.
const NO_ROW: i64 = -1;
/// A read of what nobody has written.
const NOTHING_WRITTEN: i64 = i64::MIN;

/// Gives what was read the name of its only possible writer: a value below zero is what was loaded,
/// any other what the record's one writer wrote.
fn name_single_writes(history: &mut RegisterHistory) {
    history.operations.sort_by_key(|operation| operation.key);
    for record in history.operations.chunk_by_mut(|one, other| one.key == other.key) {
        let writer = record.iter().find_map(|operation| match operation.access {
            Access::Write(value) => Some(value),
            _ => None,
        });
        for operation in record {
            if let Access::Read(WrittenValue(value)) = operation.access {
                let value = match value as i64 {
                    NOTHING_WRITTEN => WrittenValue::GARBAGE,
                    loaded if loaded < 0 => WrittenValue::ABSENT,
                    _ => writer.unwrap_or(WrittenValue::GARBAGE),
                };
                operation.access = Access::Read(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Ends;

    use super::*;

    const LISTS: [QueryRole; 3] = [QueryRole::Unchecked, QueryRole::ReadList, QueryRole::Append];
    const REGISTERS: [QueryRole; 3] = [QueryRole::Unchecked, QueryRole::Read, QueryRole::Write];

    fn options(model: QueryModel, roles: &[QueryRole], has_transactions: bool) -> QueryOptions {
        QueryOptions { model, roles: roles.to_vec(), has_transactions, operations_max: 1000 }
    }

    /// An operation of process `index / 10`.
    fn record(index: u64, kind: Kind) -> Record {
        let (started, ended) = (Nanos(index * 10), Nanos(index * 10 + 5));
        let statement = match kind {
            Kind::Read => 2,
            Kind::Update => 3,
            _ => 0,
        };
        let (process, key) = (index / 10, index % 10 % 3);
        let ends = Ends::of(statement == 0, false);
        let record =
            Record { index, process, key, kind, statement, started, ended, ..Record::BLANK };
        Record { found: true, ends, ..record }
    }

    fn value(index: u64, item: u32, value: i64) -> ObservedValue {
        ObservedValue { index, item, key: 0, value: Some(value) }
    }

    fn collected(
        options: QueryOptions,
        records: &[Record],
        values: &[ObservedValue],
    ) -> CollectedQueries {
        let mut collector = QueryCollector::new(options);
        collector.add(0, records);
        collector.finish(values.to_vec())
    }

    #[test]
    fn a_transaction_has_the_node_that_all_its_queries_have() {
        let at = |node, index| Record { node, ..record(index, Kind::Read) };
        let node = |nodes: [u8; 2]| {
            let mut collector =
                QueryCollector::new(options(QueryModel::Transactions, &LISTS, true));
            collector.add(0, &[at(nodes[0], 30), at(nodes[1], 31)]);
            collector.finish(Vec::new()).transactions.transactions[0].node
        };
        assert_eq!([[2, 2], [0, 2], [1, 2], [0, 0]].map(node), [2, 2, 0, 0]);
    }

    #[test]
    fn queries_of_a_transaction_are_judged_together() {
        let records = [record(30, Kind::Update), record(31, Kind::Read), record(32, Kind::Commit)];
        let options = options(QueryModel::Transactions, &LISTS, true);
        let values = [value(31, 1, 31), value(31, 0, 8)];
        let found = collected(options, &records, &values).transactions.transactions;
        let element = |index| WrittenValue(version::written(index));
        assert_eq!(found.len(), 1);
        let one = &found[0];
        assert_eq!((one.index, one.started, one.ended), (30, Nanos(300), Nanos(325)));
        assert_eq!(one.outcome, Outcome::Done);
        assert_eq!(
            one.steps,
            [
                TransactionStep::Append { key: 0, element: element(30) },
                TransactionStep::ReadList { key: 1, elements: Some(vec![element(7), element(30)]) },
            ]
        );
    }

    #[test]
    fn without_transactions_each_query_is_one() {
        let records = [record(30, Kind::Update), record(31, Kind::Read), record(32, Kind::Commit)];
        let options = options(QueryModel::Transactions, &LISTS, false);
        let found = collected(options, &records, &[]).transactions.transactions;
        assert_eq!(found.iter().map(|one| one.index).collect::<Vec<_>>(), [30, 31]);
        let nothing = TransactionStep::ReadList { key: 1, elements: Some(Vec::new()) };
        assert_eq!(found[1].steps, [nothing]);
    }

    #[test]
    fn a_transaction_ends_as_its_commit_does() {
        let dropped = |record: Record| Record { outcome: Outcome::Dropped, ..record };
        let ended = |outcome, record: Record| Record { outcome, ..record };
        let of = |records: &[Record]| {
            let options = options(QueryModel::Transactions, &LISTS, true);
            collected(options, records, &[]).transactions.transactions[0].outcome
        };
        let (append, commit) = (record(30, Kind::Update), record(32, Kind::Commit));
        assert_eq!(of(&[append, ended(Outcome::Unknown, commit)]), Outcome::Unknown);
        assert_eq!(of(&[append, ended(Outcome::Refused, commit)]), Outcome::Refused);
        assert_eq!(of(&[append, record(32, Kind::Rollback)]), Outcome::Refused);
        let lost = ended(Outcome::Unknown, record(31, Kind::Update));
        assert_eq!(of(&[append, lost, dropped(commit)]), Outcome::Refused);
        let alone = Record { ends: Ends::Transaction, ..lost };
        assert_eq!(of(&[alone]), Outcome::Unknown);
    }

    #[test]
    fn a_register_that_was_never_written_is_absent() {
        let options = options(QueryModel::Transactions, &REGISTERS, true);
        let garbage = ObservedValue { value: None, ..value(41, 0, 0) };
        let records = [record(31, Kind::Read), record(41, Kind::Read), record(51, Kind::Read)];
        let values = [value(31, 0, 0), garbage, value(51, 0, 8)];
        let found = collected(options, &records, &values).transactions.transactions;
        let read = |one: &ObservedTransaction| match one.steps[0] {
            TransactionStep::Read { value, .. } => value,
            _ => None,
        };
        let expected =
            [WrittenValue::ABSENT, WrittenValue::GARBAGE, WrittenValue(version::written(7))];
        assert_eq!(found.iter().filter_map(read).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_snapshot_is_a_transaction_that_reads_all_accounts() {
        let roles = [QueryRole::Unchecked, QueryRole::Read, QueryRole::Unchecked];
        let options = options(QueryModel::Accounts(3), &roles, true);
        let snapshot = [30, 31, 32].map(|index| record(index, Kind::Read));
        let transfer = [40, 41].map(|index| record(index, Kind::Read));
        let commits = [33, 42].map(|index| record(index, Kind::Commit));
        let records = [&snapshot[..], &transfer, &commits].concat();
        let values = [value(30, 0, 90), value(31, 0, 110)];
        let found = collected(options, &records, &values).aggregates;
        assert_eq!(found.len(), 1);
        let balances = vec![(0, Some(90)), (1, Some(110)), (2, None)];
        assert_eq!(found[0].access, AggregateAccess::Balances(balances));
    }

    #[test]
    fn what_was_read_of_a_single_write_is_that_write() {
        let options = options(QueryModel::SingleWrites, &REGISTERS, false);
        let records = [record(31, Kind::Update), record(41, Kind::Read), record(51, Kind::Read)];
        let values = [value(41, 0, -1), value(51, 0, 5_000)];
        let found = collected(options, &records, &values).registers.operations;
        let written = WrittenValue(version::written(31));
        let accesses: Vec<Access> = found.iter().map(|one| one.access).collect();
        let expected =
            [Access::Write(written), Access::Read(WrittenValue::ABSENT), Access::Read(written)];
        assert_eq!(accesses, expected);
    }

    #[test]
    fn additions_of_several_requests_are_counted_unless_a_transaction_holds_them() {
        let append = Record { requests: 2, ..record(30, Kind::Update) };
        let of = |has_transactions, record| {
            let options = options(QueryModel::Transactions, &LISTS, has_transactions);
            collected(options, &[record], &[]).torn
        };
        assert_eq!([of(false, append), of(true, append)], [1, 0]);
        assert_eq!(of(false, record(30, Kind::Update)), 0);
    }

    #[test]
    fn rows_without_their_values_are_counted() {
        let options = options(QueryModel::Transactions, &REGISTERS, true);
        let read = Record { rows: 1, ..record(31, Kind::Read) };
        assert_eq!(collected(options.clone(), &[read], &[value(31, 0, 5)]).incomplete, 0);
        assert_eq!(collected(options, &[read], &[]).incomplete, 1);
    }

    #[test]
    fn more_operations_than_may_be_kept_are_none() {
        let few = QueryOptions { operations_max: 2, ..options(QueryModel::Sets, &LISTS, true) };
        let records = [30, 31, 32].map(|index| record(index, Kind::Read));
        let found = collected(few, &records, &[]);
        assert!(found.is_too_long && found.aggregates.is_empty());
    }
}
