//! Our histories as Jepsen's and Elle's: an invocation and a completion per transaction, by time.
//!
//! Done is `ok`, refused `fail`, unknown `info`. A read whose answer is unknown in a transaction
//! that committed is left out, because there nil means that nothing was found. A session that goes
//! on after an unknown outcome goes on as another process, as in Jepsen. Only done transactions
//! have an end; the others complete where they began, which nobody reads anything into. Where a
//! time belongs to an invocation and a completion, the invocation comes first, as long as no
//! session gets out of order: intervals are closed. Of two transactions of a session that overlap,
//! the first is cut where the second begins.
//!
//! Keys and values are integers; those beyond 64 signed bits are strings, and
//! [`WrittenValue::GARBAGE`] is −1. A completion names the node that answered, where that is known;
//! Elle passes over it. Versions told by the store have no place there and are left
//! out.

use std::io::{self, Write};

use assay_model::{Nanos, Outcome};

use crate::register::{Access, RegisterHistory, RegisterOperation, WrittenValue};
use crate::transaction::{ObservedTransaction, TransactionHistory, TransactionStep};

/// The notation of an exported history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElleFormat {
    /// A map of EDN per line.
    Edn,
    /// An object of JSON per line.
    JsonLines,
}

/// Writes transactions for Elle: list-append, rw-register, or both kinds of records. `nodes` are
/// the names of the run's nodes, in the order of their numbers.
///
/// O(transactions) of memory, O(n log n) of time.
///
/// # Errors
/// Those of `out`.
pub fn write_transactions(
    history: &TransactionHistory,
    nodes: &[String],
    format: ElleFormat,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (index, line) in lines(&history.transactions).iter().enumerate() {
        let transaction = &history.transactions[line.transaction];
        let node = usize::from(transaction.node).checked_sub(1).and_then(|place| nodes.get(place));
        write_line((index, node.map(String::as_str)), line, transaction, format, out)?;
    }
    Ok(())
}

/// Writes operations on single records for Elle's rw-register, each as a transaction; as
/// [`write_transactions`].
///
/// # Errors
/// Those of `out`.
pub fn write_registers(
    history: &RegisterHistory,
    nodes: &[String],
    format: ElleFormat,
    out: &mut dyn Write,
) -> io::Result<()> {
    let transactions = history.operations.iter().map(transaction).collect();
    write_transactions(&TransactionHistory { transactions }, nodes, format, out)
}

fn transaction(operation: &RegisterOperation) -> ObservedTransaction {
    let key = operation.key;
    let read = |value| TransactionStep::Read { key, value: Some(value) };
    let write = |value| TransactionStep::Write { key, value, version: None };
    ObservedTransaction {
        node: operation.node,
        index: operation.index,
        session: operation.session,
        agent: operation.agent,
        started: operation.started,
        ended: operation.ended,
        outcome: operation.outcome,
        steps: match operation.access {
            Access::Read(value) => vec![read(value)],
            Access::Write(value) => vec![write(value)],
            Access::ReadThenWrite { read: old, written } => vec![read(old), write(written)],
        },
    }
}

/// One line of the exported history.
struct Line {
    at: Nanos,
    /// How many lines of its session have the same time and come before; the first completion
    /// counts one more, to come after invocations of others.
    rank: u32,
    process: u64,
    transaction: usize,
    is_invocation: bool,
}

/// The lines in their order.
fn lines(transactions: &[ObservedTransaction]) -> Vec<Line> {
    let mut order: Vec<usize> = (0..transactions.len()).collect();
    order.sort_by_key(|position| {
        let transaction = &transactions[*position];
        (transaction.session, transaction.started, transaction.index)
    });
    let sessions = transactions.iter().map(|each| u64::from(each.session) + 1).max().unwrap_or(0);
    let mut lines: Vec<Line> = Vec::with_capacity(2 * transactions.len());
    let mut process = 0;
    let mut previous: Option<usize> = None;
    for (place, position) in order.iter().enumerate() {
        let transaction = &transactions[*position];
        let same = |other: &usize| transactions[*other].session == transaction.session;
        let before = previous.filter(same);
        match before {
            Some(before) if transactions[before].outcome == Outcome::Unknown => process += sessions,
            Some(_) => {}
            None => process = u64::from(transaction.session),
        }
        let next = order.get(place + 1).filter(|next| same(next));
        let latest = next.map_or(Nanos::NEVER, |next| transactions[*next].started);
        let ended = match transaction.outcome {
            Outcome::Done => transaction.ended.min(latest).max(transaction.started),
            _ => transaction.started,
        };
        let last = lines.last().filter(|_| before.is_some());
        let rank = match last {
            Some(last) if last.at == transaction.started => last.rank + 1,
            _ => 0,
        };
        let line = |at, rank, is_invocation| Line {
            at,
            rank,
            process,
            transaction: *position,
            is_invocation,
        };
        let rank_of_end = if ended == transaction.started { rank + 1 } else { 1 };
        lines.push(line(transaction.started, rank, true));
        lines.push(line(ended, rank_of_end, false));
        previous = Some(*position);
    }
    lines.sort_by_key(|line| (line.at, line.rank, line.process, !line.is_invocation));
    lines
}

fn write_line(
    (index, node): (usize, Option<&str>),
    line: &Line,
    transaction: &ObservedTransaction,
    format: ElleFormat,
    out: &mut dyn Write,
) -> io::Result<()> {
    let kind = match (line.is_invocation, transaction.outcome) {
        (true, _) => "invoke",
        (false, Outcome::Done) => "ok",
        (false, Outcome::Refused | Outcome::Dropped) => "fail",
        (false, Outcome::Unknown) => "info",
    };
    let (at, process) = (line.at.0.min(i64::MAX as u64), line.process);
    match format {
        ElleFormat::Edn => {
            write!(out, "{{:index {index}, :time {at}, :type :{kind}, :process {process}, ")?
        }
        ElleFormat::JsonLines => write!(
            out,
            "{{\"index\":{index},\"time\":{at},\"type\":\"{kind}\",\"process\":{process},"
        )?,
    }
    match (format, node.filter(|_| !line.is_invocation)) {
        (ElleFormat::Edn, Some(node)) => write!(out, ":node {node:?}, :f :txn, :value [")?,
        (ElleFormat::Edn, None) => write!(out, ":f :txn, :value [")?,
        (ElleFormat::JsonLines, Some(node)) => {
            write!(out, "\"node\":{node:?},\"f\":\"txn\",\"value\":[")?;
        }
        (ElleFormat::JsonLines, None) => write!(out, "\"f\":\"txn\",\"value\":[")?,
    }
    let answered = kind == "ok";
    let done = transaction.outcome == Outcome::Done;
    let mut separator = "";
    for step in transaction.steps.iter().filter(|step| !done || says_something(step)) {
        out.write_all(separator.as_bytes())?;
        write_step(step, answered, format, out)?;
        separator = if format == ElleFormat::Edn { " " } else { "," };
    }
    out.write_all(b"]}\n")
}

/// Whether a step of a committed transaction is known.
fn says_something(step: &TransactionStep) -> bool {
    !matches!(
        step,
        TransactionStep::Read { value: None, .. }
            | TransactionStep::ReadList { elements: None, .. }
    )
}

fn write_step(
    step: &TransactionStep,
    answered: bool,
    format: ElleFormat,
    out: &mut dyn Write,
) -> io::Result<()> {
    let edn = format == ElleFormat::Edn;
    let nothing = if edn { "nil" } else { "null" };
    let (name, key) = match step {
        TransactionStep::Read { key, .. } | TransactionStep::ReadList { key, .. } => ("r", *key),
        TransactionStep::Write { key, .. } => ("w", *key),
        TransactionStep::Append { key, .. } => ("append", *key),
    };
    if edn {
        write!(out, "[:{name} ")?
    } else {
        write!(out, "[\"{name}\",")?
    }
    write_number(key, out)?;
    let separator = if edn { " " } else { "," };
    out.write_all(separator.as_bytes())?;
    match step {
        TransactionStep::Read { value: Some(value), .. } if answered => {
            write_value(*value, nothing, out)?;
        }
        TransactionStep::ReadList { elements: Some(elements), .. } if answered => {
            out.write_all(b"[")?;
            for (position, element) in elements.iter().enumerate() {
                out.write_all(if position == 0 { b"" } else { separator.as_bytes() })?;
                write_value(*element, "0", out)?;
            }
            out.write_all(b"]")?;
        }
        TransactionStep::Read { .. } | TransactionStep::ReadList { .. } => {
            out.write_all(nothing.as_bytes())?;
        }
        TransactionStep::Write { value, .. } => write_value(*value, nothing, out)?,
        TransactionStep::Append { element, .. } => write_value(*element, "0", out)?,
    }
    out.write_all(b"]")
}

/// A value, or `nothing` for no record.
fn write_value(value: WrittenValue, nothing: &str, out: &mut dyn Write) -> io::Result<()> {
    match value {
        WrittenValue::ABSENT => out.write_all(nothing.as_bytes()),
        WrittenValue::GARBAGE => out.write_all(b"-1"),
        WrittenValue(number) => write_number(number, out),
    }
}

/// Whoever reads it has signed integers.
fn write_number(number: u64, out: &mut dyn Write) -> io::Result<()> {
    if i64::try_from(number).is_ok() {
        write!(out, "{number}")
    } else {
        write!(out, "\"{number}\"")
    }
}
