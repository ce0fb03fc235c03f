//! Transactions of queries that are dealt out: by session first, then by record.

use assay_model::{ObservedValue, Outcome, QueryRole};

use super::{QueryCollector, QueryModel, Values, step, step_of, transaction};
use crate::transaction::dealt::{
    TransactionHead, TransactionOutline, TransactionPart, TransactionTally, judge_sessions,
    records_read,
};
use crate::transaction::{ObservedTransaction, TransactionStep};

/// A step of a transaction, without the values that it read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DealtStep {
    /// The whole transaction.
    pub head: TransactionHead,
    /// The place of the step among all steps of the transaction.
    pub place: u32,
    /// The record.
    pub key: u64,
    /// The operation's number in the history.
    pub operation: u64,
    /// What it does.
    pub role: QueryRole,
    /// Its answer came.
    pub is_known: bool,
    /// How many rows it returned.
    pub rows: u32,
}

/// The transactions of some sessions.
#[derive(Debug, Default)]
pub struct DealtSessions {
    /// The steps of all of them.
    pub steps: Vec<DealtStep>,
    /// What the sessions show by themselves.
    pub tally: TransactionTally,
    /// Appends that were a read, then a write, outside of a transaction.
    pub torn: u64,
}

impl QueryCollector {
    /// The transactions of the sessions that were added, which must be whole; of other models than
    /// [`QueryModel::Transactions`] there are none.
    pub fn deal(mut self) -> DealtSessions {
        self.operations.sort_unstable_by_key(|operation| operation.index);
        let mut dealt = DealtSessions { torn: self.torn(), ..DealtSessions::default() };
        if self.options.model != QueryModel::Transactions {
            return dealt;
        }
        let values = Values(Vec::new());
        let mut outlines = Vec::new();
        let has_transactions = self.options.has_transactions;
        for operations in self
            .operations
            .chunk_by(|one, other| has_transactions && one.transaction == other.transaction)
        {
            let Some(whole) = transaction(operations, &values) else { continue };
            let head = TransactionHead::of(&whole);
            let records_read = records_read(&whole.steps);
            outlines.push(TransactionOutline {
                head,
                steps: whole.steps.len() as u32,
                records_read,
            });
            let steps = operations.iter().filter(|one| step(one, &values).is_some());
            dealt.steps.extend(steps.zip(0..).map(|(one, place)| DealtStep {
                head,
                place,
                key: one.key,
                operation: one.index,
                role: one.role,
                is_known: one.outcome == Outcome::Done,
                rows: one.rows,
            }));
        }
        dealt.tally = judge_sessions(outlines);
        dealt
    }
}

/// What transactions did to some records: all `steps` on them, with the `values` that were read
/// from them. Also how many reads returned other numbers of rows than there are values of them.
pub fn parts_of_records(
    mut steps: Vec<DealtStep>,
    mut values: Vec<ObservedValue>,
) -> (Vec<TransactionPart>, u64) {
    steps.sort_unstable_by_key(|one| (one.head.index, one.place));
    values.sort_unstable_by_key(|value| (value.index, value.item));
    let values = Values(values);
    let is_incomplete = |one: &&DealtStep| {
        let has_rows = one.role.reads() && one.role != QueryRole::ReadList;
        has_rows && one.is_known && values.of(one.operation).count() != one.rows as usize
    };
    let incomplete = steps.iter().filter(is_incomplete).count() as u64;
    let part = |steps: &[DealtStep]| {
        let read = |one: &DealtStep| {
            let step = step_of((one.key, one.operation), one.role, one.is_known, &values)?;
            Some((step, one.place))
        };
        let (steps_read, places): (Vec<TransactionStep>, Vec<u32>) =
            steps.iter().filter_map(read).unzip();
        let TransactionHead { index, session, started, ended, outcome } = steps[0].head;
        let (agent, node) = (0, 0);
        let steps = steps_read;
        let transaction =
            ObservedTransaction { index, session, agent, node, started, ended, outcome, steps };
        TransactionPart { transaction, places }
    };
    let by_transaction = steps.chunk_by(|one, other| one.head.index == other.head.index);
    (by_transaction.map(part).collect(), incomplete)
}
