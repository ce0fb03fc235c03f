//! Transactions as text: divided by `|`, their steps by spaces.
//!
//! `rx[1,2]` reads the list x, `rx[?]` without an answer, `ax3` appends; `rx1` reads the register
//! x, `rx?` without an answer, `wx2` writes it, `wx2^7` with version 7 of the store. `s1` names the
//! session (else its own), `g1` the agent, `@3-7` the times (else all at the same time); `!` at
//! the end means refused, `?` unknown. A record is a letter, or a number before `[` or `=`.

use assay_model::{Nanos, Outcome};

use super::number;
use crate::register::WrittenValue;
use crate::transaction::{ObservedTransaction, TransactionHistory, TransactionStep};

/// The history of a text, or nothing if it is none.
pub fn transaction_history(text: &str) -> Option<TransactionHistory> {
    let parts = text.split('|').map(str::trim).filter(|part| !part.is_empty());
    let transactions = parts.enumerate().map(|(at, part)| transaction(at, part));
    Some(TransactionHistory { transactions: transactions.collect::<Option<_>>()? })
}

fn transaction(at: usize, text: &str) -> Option<ObservedTransaction> {
    let mut transaction = ObservedTransaction {
        node: 0,
        index: at as u64,
        session: 1000 + at as u32,
        agent: 0,
        started: Nanos(0),
        ended: Nanos(1_000_000),
        outcome: Outcome::Done,
        steps: Vec::new(),
    };
    for word in text.split_whitespace() {
        let (first, rest) = word.split_at_checked(1)?;
        match first {
            "!" => transaction.outcome = Outcome::Refused,
            "?" => transaction.outcome = Outcome::Unknown,
            "s" => transaction.session = number(rest)?,
            "g" => transaction.agent = number(rest)?,
            "@" => {
                let (start, end) = rest.split_once('-')?;
                transaction.started = Nanos(number(start)?);
                transaction.ended = Nanos(number(end)?);
            }
            _ => transaction.steps.push(step(first, rest)?),
        }
    }
    Some(transaction)
}

fn step(verb: &str, rest: &str) -> Option<TransactionStep> {
    let (key, rest) = record(rest)?;
    let value = |text: &str| number(text).map(WrittenValue);
    Some(match verb {
        "a" => TransactionStep::Append { key, element: value(rest)? },
        "w" => {
            let (written, version) = match rest.split_once('^') {
                Some((written, version)) => (written, Some(number(version)?)),
                None => (rest, None),
            };
            TransactionStep::Write { key, value: value(written)?, version }
        }
        "r" if rest == "[?]" => TransactionStep::ReadList { key, elements: None },
        "r" if rest.starts_with('[') => {
            let elements = rest.strip_prefix('[')?.strip_suffix(']')?.split(',');
            let elements = elements.filter(|one| !one.is_empty()).map(value);
            TransactionStep::ReadList { key, elements: Some(elements.collect::<Option<_>>()?) }
        }
        "r" if rest == "?" => TransactionStep::Read { key, value: None },
        "r" => TransactionStep::Read { key, value: Some(value(rest)?) },
        _ => return None,
    })
}

/// The record that a step begins with, and what follows.
fn record(text: &str) -> Option<(u64, &str)> {
    if let Some((key, rest)) = text.split_once('=') {
        return Some((number(key)?, rest));
    }
    let is_number = text.starts_with(|first: char| first.is_ascii_digit());
    let length = if is_number { text.find('[')? } else { 1 };
    let (key, rest) = text.split_at_checked(length)?;
    Some((if is_number { number(key)? } else { u64::from(key.as_bytes()[0]) }, rest))
}
