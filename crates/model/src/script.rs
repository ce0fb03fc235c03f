//! Builds the operations of one process of queries, transaction by transaction.

use crate::arguments::{Argument, Arguments};
use crate::datum::Datum;
use crate::nanos::Nanos;
use crate::operation::{Fields, Kind, Operation};
use crate::seed::mix;

/// A query as a script names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueryRef {
    /// The query's place in its catalogue plus one; never 0.
    pub statement: u16,
    /// What the query does, as [`Statement::kind`](crate::Statement::kind) tells.
    pub kind: Kind,
}

/// Fills the buffers of [`Source::fill`](crate::Source::fill) and
/// [`Source::arguments`](crate::Source::arguments) with one process.
///
/// A transaction of several queries is closed by an operation of its own, a single query is a
/// transaction by itself:
///
/// ```
/// use assay_model::script::{QueryRef, ProcessBuilder};
/// use assay_model::{Arguments, Datum, Kind, Nanos, Taken};
///
/// let next_number = QueryRef { statement: 1, kind: Kind::Read };
/// let order = QueryRef { statement: 2, kind: Kind::Insert };
/// let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
///
/// let mut process = ProcessBuilder::begin(7, 10, &mut operations, &mut arguments);
/// process.transaction(1, Nanos::ZERO);
/// let district = process.issue(next_number, 3, &[Datum::Int(3).into()]).last();
/// process.issue(order, 3, &[Datum::Int(3).into(), Taken::first(district, 0).into()]).commit();
/// process.transaction(2, Nanos(5)).issue(next_number, 4, &[Datum::Int(4).into()]).commit();
/// process.end();
///
/// let kinds: Vec<Kind> = operations.iter().map(|operation| operation.kind).collect();
/// assert_eq!(kinds, [Kind::Read, Kind::Insert, Kind::Commit, Kind::Read]);
/// assert_eq!(operations[3].index, 73);
/// assert_eq!(arguments.operations(), 4);
/// ```
#[derive(Debug)]
pub struct ProcessBuilder<'a> {
    operations: &'a mut Vec<Operation>,
    arguments: &'a mut Arguments,
    first_index: u64,
    width: u64,
    /// Where the operations of the open transaction begin; `None` between transactions.
    begin: Option<usize>,
    transaction: u16,
    transaction_type: u16,
    think: Nanos,
}

impl<'a> ProcessBuilder<'a> {
    /// Begins process number `process` of a plan whose processes have at most `width` operations.
    /// Both buffers are cleared.
    pub fn begin(
        process: u64,
        width: u64,
        operations: &'a mut Vec<Operation>,
        arguments: &'a mut Arguments,
    ) -> ProcessBuilder<'a> {
        operations.clear();
        arguments.clear();
        ProcessBuilder {
            operations,
            arguments,
            first_index: process * width,
            width,
            begin: None,
            transaction: 0,
            transaction_type: 0,
            think: Nanos::ZERO,
        }
    }

    /// Begins a transaction of the type with this number, `delay` after the one before has ended.
    ///
    /// # Panics
    /// If the transaction before is not closed.
    pub fn transaction(&mut self, transaction_type: u16, delay: Nanos) -> &mut Self {
        assert!(self.begin.is_none(), "a transaction is closed before the next one begins");
        self.begin = Some(self.operations.len());
        self.transaction_type = transaction_type;
        self.think = delay;
        self
    }

    /// The next query waits for the think time `think`.
    pub fn think(&mut self, think: Nanos) -> &mut Self {
        self.think = think;
        self
    }

    /// Issues `query` about the thing that `key` names, see [`key_of`], with these arguments.
    ///
    /// # Panics
    /// If no transaction is open, or the process gets longer than the width.
    pub fn issue(&mut self, query: QueryRef, key: u64, arguments: &[Argument<'_>]) -> &mut Self {
        arguments.iter().for_each(|argument| self.arguments.push(*argument));
        self.push(query, key)
    }

    /// Issues `query` like [`ProcessBuilder::issue`], with arguments that are encoded already.
    ///
    /// Gives back whether `arguments` are whole; if not, nothing was added.
    ///
    /// # Panics
    /// If no transaction is open, or the process gets longer than the width.
    pub fn send_encoded(&mut self, query: QueryRef, key: u64, arguments: &[u8]) -> bool {
        let is_whole = self.arguments.push_encoded(arguments);
        if is_whole {
            self.add(query, key, false);
        }
        is_whole
    }

    /// The place in the process of the operation that was added last, to take arguments from.
    ///
    /// # Panics
    /// If there is none yet.
    pub fn last(&self) -> u16 {
        let place = self.operations.len().checked_sub(1).expect("a query was issued before");
        u16::try_from(place).expect("arguments are taken from the first 65,536 operations")
    }

    /// Closes the transaction: one query ends it by itself, several are made final by a
    /// [`Kind::Commit`] that comes after them. A transaction without queries leaves nothing.
    ///
    /// # Panics
    /// If no transaction is open.
    pub fn commit(&mut self) -> &mut Self {
        let queries = self.open_queries();
        match (queries, self.operations.last_mut()) {
            (0, _) | (_, None) => self.begin = None,
            (1, Some(query)) => {
                query.ends_transaction = true;
                self.close();
            }
            _ => self.finish(Kind::Commit),
        }
        self
    }

    /// Closes the transaction and undoes what its queries did.
    ///
    /// # Panics
    /// If no transaction is open.
    pub fn rollback(&mut self) -> &mut Self {
        match self.open_queries() {
            0 => self.begin = None,
            _ => self.finish(Kind::Rollback),
        }
        self
    }

    /// Ends the process; gives back how many operations it has.
    ///
    /// # Panics
    /// If a transaction is still open.
    pub fn end(self) -> usize {
        assert!(self.begin.is_none(), "the last transaction is closed before the process ends");
        self.operations.len()
    }

    fn open_queries(&self) -> usize {
        self.operations.len() - self.begin.expect("a transaction is open")
    }

    fn finish(&mut self, kind: Kind) {
        self.think = Nanos::ZERO;
        self.arguments.end_operation();
        self.add(QueryRef { statement: 0, kind }, 0, true);
        self.close();
    }

    fn close(&mut self) {
        self.begin = None;
        self.transaction = self.transaction.checked_add(1).expect("at most 65,535 transactions");
    }

    fn push(&mut self, query: QueryRef, key: u64) -> &mut Self {
        self.arguments.end_operation();
        self.add(query, key, false);
        self
    }

    fn add(&mut self, query: QueryRef, key: u64, ends_transaction: bool) {
        assert!(self.begin.is_some(), "a query is issued within a transaction");
        let place = self.operations.len() as u64;
        assert!(place < self.width, "a process has at most {} operations", self.width);
        self.operations.push(Operation {
            index: self.first_index + place,
            key,
            kind: query.kind,
            fields: Fields::All,
            limit: 1,
            bytes: 0,
            statement: query.statement,
            transaction: self.transaction,
            transaction_type: self.transaction_type,
            ends_transaction,
            think: std::mem::replace(&mut self.think, Nanos::ZERO),
        });
    }
}

/// The number that stands for a key of these values: a single whole number that is not negative
/// as such, anything else as a hash, which never depends on the machine.
pub fn key_of(values: &[Datum<'_>]) -> u64 {
    if let [Datum::Int(number)] = values
        && let Ok(number) = u64::try_from(*number)
    {
        return number;
    }
    let mut bytes = Vec::new();
    values.iter().for_each(|value| value.encode(&mut bytes));
    let start = mix(bytes.len() as u64 ^ 0x6b65_795f_6f66_0001);
    bytes.iter().fold(start, |sum, byte| mix(sum ^ u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: QueryRef = QueryRef { statement: 1, kind: Kind::Read };
    const UPDATE: QueryRef = QueryRef { statement: 2, kind: Kind::Update };

    fn built(build: impl FnOnce(&mut ProcessBuilder<'_>)) -> Vec<String> {
        let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
        let mut process = ProcessBuilder::begin(3, 100, &mut operations, &mut arguments);
        build(&mut process);
        assert_eq!(process.end(), arguments.operations());
        let show = |operation: &Operation| {
            let Operation { index, kind, transaction, transaction_type, think, .. } = operation;
            let end = if operation.ends_transaction { " end" } else { "" };
            let (kind, think) = (kind.name(), think.0);
            format!("{index} {kind} {transaction}/{transaction_type} +{think}{end}")
        };
        operations.iter().map(show).collect()
    }

    #[test]
    fn several_queries_are_committed_by_an_operation_of_its_own() {
        let found = built(|process| {
            process.transaction(4, Nanos(7)).issue(READ, 1, &[]);
            process.think(Nanos(2)).issue(UPDATE, 1, &[Datum::Int(1).into()]).commit();
        });
        assert_eq!(found, ["300 read 0/4 +7", "301 update 0/4 +2", "302 commit 0/4 +0 end"]);
    }

    #[test]
    fn one_query_is_a_transaction_by_itself_unless_it_is_undone() {
        let found = built(|process| {
            process.transaction(1, Nanos::ZERO).issue(READ, 1, &[]).commit();
            process.transaction(2, Nanos::ZERO).commit();
            process.transaction(3, Nanos(1)).issue(UPDATE, 1, &[]).rollback();
        });
        assert_eq!(found, ["300 read 0/1 +0 end", "301 update 1/3 +1", "302 rollback 1/3 +0 end"]);
    }

    #[test]
    fn arguments_belong_to_the_query_they_were_given_with() {
        let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
        let mut process = ProcessBuilder::begin(0, 4, &mut operations, &mut arguments);
        process.transaction(1, Nanos::ZERO).issue(READ, 1, &[Datum::Int(1).into()]);
        let mut two = Vec::new();
        Datum::Text("a").encode(&mut two);
        assert!(process.send_encoded(UPDATE, 2, &two));
        assert!(!process.send_encoded(UPDATE, 2, &two[1..]));
        assert_eq!(process.last(), 1);
        process.commit();
        assert_eq!(process.end(), 3);
        let of = |place| arguments.of(place).collect::<Vec<_>>();
        assert_eq!(of(0), [Argument::Given(Datum::Int(1))]);
        assert_eq!(of(1), [Argument::Given(Datum::Text("a"))]);
        assert_eq!(of(2), []);
    }

    #[test]
    fn a_key_is_its_whole_number_or_a_hash_of_all_its_values() {
        assert_eq!(key_of(&[Datum::Int(42)]), 42);
        let others = [
            key_of(&[Datum::Int(-42)]),
            key_of(&[Datum::Int(4), Datum::Int(2)]),
            key_of(&[Datum::Int(2), Datum::Int(4)]),
            key_of(&[Datum::Text("42")]),
        ];
        let distinct: std::collections::BTreeSet<u64> = others.into_iter().collect();
        assert_eq!(distinct.len(), others.len());
    }
}
