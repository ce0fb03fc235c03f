//! Histories as text: `a: w x1 0..3 · r x0 5..7 | b@1: r x1 4..6`.
//!
//! Sessions are separated by bars and begin with a letter, and the agent where it is not 0; their
//! operations are separated by dots. `w x1 0..3` writes value 1 to record x from 0 to 3,
//! `w x1 0..` has an unknown outcome, `w x1 0..3!` was refused, `r x1 5..7` reads 1, `r x? 5..7`
//! reads garbage, `m x1>2 5..7` reads 1, then writes 2. Value 0 is no record. Operations are
//! numbered from 0 in the order of the text.

use assay_consistency::{Access, RegisterHistory, RegisterOperation, WrittenValue};
use assay_model::{Nanos, Outcome};

/// The history of a text.
pub fn parse(text: &str) -> RegisterHistory {
    let mut operations = Vec::new();
    for (session, line) in text.split('|').enumerate() {
        let (head, body) = line.split_once(':').unwrap_or(("", line));
        let agent = head.split_once('@').map_or(0, |(_, agent)| number(agent) as u16);
        for operation in body.split('·').filter(|operation| !operation.trim().is_empty()) {
            let index = operations.len() as u64;
            operations.push(RegisterOperation {
                session: session as u32,
                agent,
                index,
                ..parse_operation(operation)
            });
        }
    }
    RegisterHistory { operations, writes_whole_records: true, ..RegisterHistory::default() }
}

fn parse_operation(text: &str) -> RegisterOperation {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [verb, item, interval] = words[..] else { panic!("{text}: verb, item, interval") };
    let (key, values) = item.split_at(1);
    let access = match (verb, values.split_once('>')) {
        ("r", None) => Access::Read(value(values)),
        ("w", None) => Access::Write(value(values)),
        ("m", Some((read, written))) => {
            Access::ReadThenWrite { read: value(read), written: value(written) }
        }
        _ => panic!("{text}: r, w or m"),
    };
    let (started, ended) = interval.split_once("..").expect("an interval has two dots");
    let outcome = match ended {
        "" => Outcome::Unknown,
        _ if ended.ends_with('!') => Outcome::Refused,
        _ => Outcome::Done,
    };
    let ended = ended.trim_end_matches('!');
    RegisterOperation {
        node: 0,
        index: 0,
        key: u64::from(key.as_bytes()[0]),
        session: 0,
        agent: 0,
        started: Nanos(number(started)),
        ended: Nanos(if ended.is_empty() { 0 } else { number(ended) }),
        outcome,
        access,
    }
}

fn value(text: &str) -> WrittenValue {
    if text == "?" { WrittenValue::GARBAGE } else { WrittenValue(number(text)) }
}

fn number(text: &str) -> u64 {
    text.trim().parse().unwrap_or_else(|_| panic!("{text}: a number"))
}
