//! Operations on sets, counters and accounts, which are no registers and no lists.
//!
//! The workloads are Jepsen's *set*, *set-full*, *counter* and *bank*: `add` of an element or an
//! amount, `transfer` of an amount between accounts, and a `read` that answers with all elements,
//! the sum, or the balance of every account.

use super::error::ForeignProblem;
use super::form::{Form, expected};
use super::names::{ForeignName, ForeignNames};
use crate::aggregate::AggregateAccess;
use crate::transaction::{ObservedTransaction, TransactionStep};

/// A read that came before the first addition, when nobody knew yet that its record is none of a
/// single value.
pub(super) fn early_read(
    transaction: &ObservedTransaction,
    names: &ForeignNames,
) -> Option<(u64, AggregateAccess)> {
    let [TransactionStep::Read { key, value }] = *transaction.steps else { return None };
    let access = match value.and_then(|value| names.value(value)) {
        Some(ForeignName::Integer(sum)) => AggregateAccess::Sum(*sum),
        Some(ForeignName::Other(text)) if &**text == "[]" => AggregateAccess::Elements(Vec::new()),
        _ => AggregateAccess::UnknownRead,
    };
    Some((key, access))
}

/// The accounts and the amount of `{:from 1, :to 2, :amount 5}`.
pub(super) fn transfer(value: &Form) -> Result<(&Form, &Form, i64), ForeignProblem> {
    let amount = value.member("amount").and_then(Form::integer);
    match (value.member("from"), value.member("to"), amount) {
        (Some(from), Some(to), Some(amount)) => Ok((from, to, amount)),
        _ => Err(expected("a transfer {:from account, :to account, :amount integer}", value)),
    }
}

/// The name of an account, which JSON writes as a string even where it is a number.
pub(super) fn account(name: &Form) -> Form {
    let number = if let Form::Text(text) = name { text.parse().ok() } else { None };
    number.map_or_else(|| name.clone(), Form::Integer)
}

/// A balance; nil is an account that is not there.
pub(super) fn balance(value: &Form) -> Result<Option<i64>, ForeignProblem> {
    match value {
        Form::Nil => Ok(None),
        Form::Integer(balance) => Ok(Some(*balance)),
        other => Err(expected("a balance, a 64-bit integer,", other)),
    }
}
