//! Operations on single records as text: `a: w x1 0..3 · r x0 5..7 | b@1: r x1 4..6`.
//!
//! Sessions are separated by bars and may begin with a letter, and the agent where it is not 0;
//! their operations are separated by dots. `w x1 0..3` writes value 1 to record x from 0 to 3,
//! `w x1 0..` has an unknown outcome, `w x1 0..3!` was refused, `r x1 5..7` reads 1, `r x? 5..7`
//! reads garbage, `m x1>2 5..7` reads 1, then writes 2, `f x1 8..9` is the final read of 1. Value 0
//! is no record. Operations are numbered from 0 in the order of the text.

use assay_model::{Nanos, Outcome};

use super::number;
use crate::register::{Access, RegisterHistory, RegisterOperation, WrittenValue};

/// The history of a text, or nothing if it is none.
pub fn register_history(text: &str) -> Option<RegisterHistory> {
    let mut history = RegisterHistory { writes_whole_records: true, ..RegisterHistory::default() };
    for (session, line) in text.split('|').enumerate() {
        let (head, body) = line.split_once(':').unwrap_or(("", line));
        let agent = head.split_once('@').map_or(Some(0), |(_, agent)| number(agent))?;
        for text in body.split('·').map(str::trim).filter(|text| !text.is_empty()) {
            let (session, index) = (session as u32, history.operations.len() as u64);
            let operation = RegisterOperation { session, agent, index, ..operation(text)? };
            history.has_final_reads |= text.starts_with('f');
            history.operations.push(operation);
        }
    }
    Some(history)
}

fn operation(text: &str) -> Option<RegisterOperation> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [verb, item, interval] = words[..] else { return None };
    let (key, values) = item.split_at_checked(1)?;
    let access = match (verb, values.split_once('>')) {
        ("r" | "f", None) => Access::Read(value(values)?),
        ("w", None) => Access::Write(value(values)?),
        ("m", Some((read, written))) => {
            Access::ReadThenWrite { read: value(read)?, written: value(written)? }
        }
        _ => return None,
    };
    let (started, ended) = interval.split_once("..")?;
    let outcome = match ended {
        "" => Outcome::Unknown,
        _ if ended.ends_with('!') => Outcome::Refused,
        _ => Outcome::Done,
    };
    let ended = ended.trim_end_matches('!');
    Some(RegisterOperation {
        node: 0,
        index: 0,
        key: u64::from(key.as_bytes()[0]),
        session: 0,
        agent: 0,
        started: Nanos(number(started)?),
        ended: Nanos(if ended.is_empty() { 0 } else { number(ended)? }),
        outcome,
        access,
    })
}

fn value(text: &str) -> Option<WrittenValue> {
    if text == "?" { Some(WrittenValue::GARBAGE) } else { number(text).map(WrittenValue) }
}
