//! Notation for histories: transactions divided by `|`, steps by spaces.
//!
//! `rx[1,2]` reads the list x, `rx[?]` without an answer, `ax3` appends; `rx1` reads the register
//! x, `rx?` without an answer, `wx2` writes it, `wx2^7` with version 7 of the store. `s1` names the
//! session (else its own), `g1` the agent, `@3-7` the times (else all at the same time); `!` at
//! the end means refused, `?` unknown. A record is a letter, or a number before `[` or `=`.

use std::collections::BTreeMap;

use assay_model::{Nanos, Outcome};

use crate::quality::Quality;
use crate::register::WrittenValue;
use crate::transaction::{
    ObservedTransaction, TransactionHistory, TransactionReport, TransactionStep,
};
use crate::verdict::{Edges, QualityVerdict};

pub fn history(text: &str) -> TransactionHistory {
    let parts = text.split('|').map(str::trim).filter(|part| !part.is_empty());
    let transactions = parts.enumerate().map(|(at, part)| transaction(at, part)).collect();
    TransactionHistory { transactions }
}

fn transaction(at: usize, text: &str) -> ObservedTransaction {
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
        let (first, rest) = word.split_at(1);
        match first {
            "!" => transaction.outcome = Outcome::Refused,
            "?" => transaction.outcome = Outcome::Unknown,
            "s" => transaction.session = rest.parse().unwrap(),
            "g" => transaction.agent = rest.parse().unwrap(),
            "@" => {
                let (start, end) = rest.split_once('-').unwrap();
                transaction.started = Nanos(start.parse().unwrap());
                transaction.ended = Nanos(end.parse().unwrap());
            }
            _ => transaction.steps.push(step(first, rest)),
        }
    }
    transaction
}

fn step(verb: &str, rest: &str) -> TransactionStep {
    let (key, rest) = match rest.split_once('=') {
        Some((key, rest)) => (key.parse().unwrap(), rest),
        None if rest.starts_with(|first: char| first.is_ascii_digit()) => {
            let length = rest.find('[').unwrap();
            (rest[..length].parse().unwrap(), &rest[length..])
        }
        None => (u64::from(rest.as_bytes()[0]), &rest[1..]),
    };
    let value = |text: &str| WrittenValue(text.parse().unwrap());
    match verb {
        "a" => TransactionStep::Append { key, element: value(rest) },
        "w" => {
            let (written, version) = match rest.split_once('^') {
                Some((written, version)) => (written, Some(version.parse().unwrap())),
                None => (rest, None),
            };
            TransactionStep::Write { key, value: value(written), version }
        }
        "r" if rest.starts_with('[') => {
            let inner = &rest[1..rest.len() - 1];
            let elements = inner.split(',').filter(|one| !one.is_empty());
            let elements = (inner != "?").then(|| elements.map(value).collect());
            TransactionStep::ReadList { key, elements }
        }
        "r" => TransactionStep::Read { key, value: (rest != "?").then(|| value(rest)) },
        other => panic!("unknown step {other}{rest}"),
    }
}

/// The verdicts in the order RC, RA, lost updates, causal, RR, SI, SS-SI, S-SI, SER, SS-SER,
/// strict: V violated, - none found, ? not assessable; then the anomalies.
pub fn verdicts(report: &TransactionReport) -> String {
    let judged = report.findings.iter().filter(|one| one.quality != Quality::NoGarbageReads);
    let letter = |verdict: &QualityVerdict| match verdict {
        QualityVerdict::Violated(_) => "V",
        QualityVerdict::NoneFound(_) => "-",
        QualityVerdict::NotAssessable(_) => "?",
    };
    let letters: Vec<&str> = judged.map(|finding| letter(&finding.verdict)).collect();
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for one in &report.anomalies {
        let suffix = match one.edges {
            Edges::Data => "",
            Edges::Session => "-session",
            Edges::RealTime => "-realtime",
        };
        names.insert(format!("{:?}{suffix}", one.anomaly), one.count);
    }
    let names: Vec<String> = names.iter().map(|(name, count)| format!("{name} {count}")).collect();
    format!("{} | {}", letters.join(" "), names.join(", "))
}
