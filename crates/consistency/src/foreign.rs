//! Histories that other tools recorded, read into ours, and ours written for them.
//!
//! | format | what is read |
//! |---|---|
//! | Jepsen's and Elle's EDN, JSON | `txn`, `read`, `write`, `cas`, `add`, `transfer` |
//! | AWDIT's text | `r(key,value,session,transaction)`, `w(…)`; transaction −1 is aborted |
//! | dbcop's JSON | sessions of transactions of events, as it and its forks write them |
//! | porcupine's operations as JSON | get, put and compare-and-set with `Call` and `Return` |
//!
//! A text is read once, form by form, and never held: memory is about 56 bytes per transaction, 40
//! per step, 8 per list element, 80 per different value and 64 per operation on a register, and
//! what the longest operation needs, whose text is bounded. The initial state is
//! [`WrittenValue::ABSENT`](crate::WrittenValue::ABSENT), whether it is called nil, null, 0 or the
//! empty string. Values that were written twice keep one number: the checkers find them.

use std::io::Read;

use assay_model::Nanos;

use crate::register::RegisterHistory;
use crate::transaction::TransactionHistory;

mod error;
mod form;
mod names;
mod text;

mod aggregate;
mod builder;

mod awdit;
mod dbcop;
mod jepsen;
mod porcupine;

mod export;

pub use error::{ForeignError, ForeignProblem, ForeignWarning, ForeignWarningKind, TextPosition};
pub use export::{ElleFormat, write_registers, write_transactions};
pub use names::{ForeignName, ForeignNames};

use form::{Forms, Notation};
use text::Text;

/// Who wrote a history, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFormat {
    /// Jepsen's or Elle's operations in EDN.
    JepsenEdn,
    /// Jepsen's or Elle's operations in JSON, one after another or in an array.
    JepsenJson,
    /// AWDIT's text, which it calls plume.
    Awdit,
    /// dbcop's JSON.
    Dbcop,
    /// A list of porcupine's operations in JSON.
    Porcupine,
}

/// What the times of a foreign history mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignTimes {
    /// Nanoseconds.
    Nanoseconds,
    /// Their order is that of the text, which is real time; how far they are apart means nothing.
    LineOrder,
    /// They order each session and nothing else: no operation has an end, so that none is before
    /// one of another session, or everything happened at one moment. Nothing that needs real time
    /// can be judged.
    SessionOrder,
}

/// A history that another tool recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignHistory {
    /// The same as `transactions`, if each is a read, a write, or a read and a write of one
    /// register; else empty.
    pub registers: RegisterHistory,
    /// Everything, single operations as transactions of one or two steps.
    pub transactions: TransactionHistory,
    /// What was done to sets, counters and accounts, which is in neither of them.
    pub aggregates: Vec<crate::aggregate::AggregateOperation>,
    /// What keys, values and sessions are called there.
    pub names: ForeignNames,
    /// What the times mean.
    pub times: ForeignTimes,
    /// What others than clients did, faults for example.
    pub events: Vec<ForeignEvent>,
    /// What was odd.
    pub warnings: Vec<ForeignWarning>,
}

/// Something that another process than a client did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignEvent {
    /// When it was noted.
    pub at: Nanos,
    /// Who did it, for example `nemesis`.
    pub process: String,
    /// What was done, for example `start-partition`.
    pub action: String,
    /// With what, shortened.
    pub value: String,
}

/// Reads a history; without a format, its first bytes tell it. `progress` is told how many bytes
/// have been read, every now and then. The input need not be buffered.
///
/// # Errors
/// The line, what is wrong with it and what to do.
pub fn read_foreign_history(
    input: impl Read,
    format: Option<ForeignFormat>,
    progress: &mut dyn FnMut(u64),
) -> Result<ForeignHistory, ForeignError> {
    let text = Text::new(input, progress)?;
    let Some(format) = format.or_else(|| detect(text.beginning())) else {
        return Err(text.error(ForeignProblem::UnknownFormat));
    };
    match format {
        ForeignFormat::JepsenEdn => jepsen::read(Forms::new(text, Notation::Edn)),
        ForeignFormat::JepsenJson => jepsen::read(Forms::new(text, Notation::Json)),
        ForeignFormat::Awdit => awdit::read(text),
        ForeignFormat::Dbcop => dbcop::read(Forms::new(text, Notation::Json)),
        ForeignFormat::Porcupine => porcupine::read(Forms::new(text, Notation::Json)),
    }
}

/// The format of a text that begins so.
fn detect(beginning: &[u8]) -> Option<ForeignFormat> {
    let rest = significant(beginning);
    match rest.first()? {
        b'r' | b'w' if rest.get(1) == Some(&b'(') => Some(ForeignFormat::Awdit),
        b'#' | b'(' => Some(ForeignFormat::JepsenEdn),
        b'{' => Some(detect_map(rest)),
        b'[' => match significant(&rest[1..]) {
            [b'[', ..] => Some(ForeignFormat::Dbcop),
            map @ [b'{', ..] => Some(detect_map(map)),
            [b']' | b'#', ..] => Some(ForeignFormat::JepsenEdn),
            _ => None,
        },
        _ => None,
    }
}

/// Past blanks and EDN's comments.
fn significant(mut bytes: &[u8]) -> &[u8] {
    loop {
        bytes = match bytes {
            [b';', ..] => {
                let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
                &bytes[end..]
            }
            [byte, rest @ ..] if byte.is_ascii_whitespace() || *byte == b',' => rest,
            _ => return bytes,
        };
    }
}

/// The format of a text that begins with a map: of EDN unless its keys are strings, and then by
/// the first member that only one format has.
fn detect_map(map: &[u8]) -> ForeignFormat {
    if significant(&map[1..]).first() != Some(&b'"') {
        return ForeignFormat::JepsenEdn;
    }
    let members: [(&str, ForeignFormat); 13] = [
        ("type", ForeignFormat::JepsenJson),
        ("process", ForeignFormat::JepsenJson),
        ("params", ForeignFormat::Dbcop),
        ("events", ForeignFormat::Dbcop),
        ("sessions", ForeignFormat::Dbcop),
        ("clientid", ForeignFormat::Porcupine),
        ("client_id", ForeignFormat::Porcupine),
        ("input", ForeignFormat::Porcupine),
        ("output", ForeignFormat::Porcupine),
        ("call", ForeignFormat::Porcupine),
        ("return", ForeignFormat::Porcupine),
        ("partitions", ForeignFormat::Porcupine),
        ("data", ForeignFormat::Dbcop),
    ];
    let strings = map.split(|byte| *byte == b'"').skip(1).step_by(2);
    strings
        .filter_map(|string| std::str::from_utf8(string).ok())
        .find_map(|string| {
            let found = members.iter().find(|(name, _)| string.eq_ignore_ascii_case(name));
            found.map(|(_, format)| *format)
        })
        .unwrap_or(ForeignFormat::JepsenJson)
}

#[cfg(test)]
mod tests;
