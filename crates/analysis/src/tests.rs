//! Tests of the analyzer as a whole, on histories written in a small language.

mod confidence;
mod counts;
mod latency;
mod queries;
mod time;
mod transactions;

use assay_model::{Ends, Kind, Nanos, Outcome, Phase, Reason, Record, Verified, version};

use crate::{AnalysisOptions, Analyzer, Phases, Summary, Window};

/// Reads a history: records separated by `·`, each `kind key started..ended outcome …`.
///
/// Times are milliseconds; `intended/started..ended` where the request was late. Words after that,
/// in any order: `done hit|miss`, `refused|unknown|dropped reason`, `load|warm-up`, `p7` process 7,
/// `t2` transaction 2 of the process, `rmw` an operation of a read-modify-write and `rmw.` the last
/// one of it, `right|wrong|empty` a value check of 1 µs, `100B` value bytes, `unversioned`.
pub fn history(text: &str) -> Vec<Record> {
    let lines = text.split('·').map(str::trim).filter(|line| !line.is_empty());
    lines.enumerate().map(|(index, line)| record(index as u64, line)).collect()
}

fn record(index: u64, line: &str) -> Record {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [kind, key, times, rest @ ..] = words.as_slice() else { panic!("too short: {line:?}") };
    let (begin, ended) = times.split_once("..").unwrap_or_else(|| panic!("no times: {line:?}"));
    let (intended, started) = begin.split_once('/').unwrap_or((begin, begin));
    let kind = Kind::from_name(kind).unwrap_or_else(|| panic!("no kind: {line:?}"));
    let mut record = Record {
        key: key.parse().unwrap(),
        ..done(index, kind, millis(intended), millis(started), millis(ended))
    };
    rest.iter().for_each(|word| describe(&mut record, word));
    record
}

fn millis(text: &str) -> Nanos {
    Nanos((text.parse::<f64>().unwrap() * 1e6).round() as u64)
}

/// A hit with these times.
pub fn done(index: u64, kind: Kind, intended: Nanos, started: Nanos, ended: Nanos) -> Record {
    Record {
        index,
        process: index,
        intended,
        started,
        ended,
        version_written: if kind.writes() { version::written(index) } else { version::NONE },
        version_read: if kind.writes() { version::NONE } else { version::loaded(0) },
        rows: u32::from(!kind.writes()),
        ends: Ends::Both,
        kind,
        phase: Phase::Measure,
        found: true,
        ..Record::BLANK
    }
}

fn describe(record: &mut Record, word: &str) {
    let named = |name: &str| Reason::ALL.iter().copied().find(|reason| reason.name() == name);
    let number = |prefix| word.strip_prefix(prefix)?.parse::<u64>().ok();
    if let Some(outcome) = Outcome::ALL.into_iter().find(|outcome| outcome.name() == word) {
        record.outcome = outcome;
        record.found = outcome == Outcome::Done;
    } else if let Some(reason) = named(word) {
        record.reason = reason;
    } else if let Some(phase) = Phase::ALL.into_iter().find(|phase| phase.name() == word) {
        record.phase = phase;
    } else if let Some(verified) = Verified::ALL.into_iter().find(|check| check.name() == word) {
        record.verified = verified;
        record.verify_ns = 1000;
    } else if let Some(process) = number('p') {
        record.process = process;
    } else if let Some(place) = number('t') {
        record.transaction = place as u16;
    } else if let Some(bytes) = word.strip_suffix('B') {
        record.bytes = bytes.parse().unwrap();
    } else {
        match word {
            "hit" => record.found = true,
            "miss" => (record.found, record.rows) = (false, 0),
            "rmw" | "rmw." => {
                record.transaction_type = 1;
                record.ends = Ends::of(word == "rmw.", true);
            }
            "unversioned" => record.version_read = version::NONE,
            _ => panic!("no such word: {word:?}"),
        }
    }
}

/// A question about the stretch between two times in milliseconds.
pub fn options(from_ms: u64, until_ms: u64) -> AnalysisOptions {
    AnalysisOptions {
        transaction_types: vec!["operation".into(), "read-modify-write".into()],
        phases: Phases::Measure,
        interval: Nanos::from_millis(10),
        window: Some(Window {
            from: Nanos::from_millis(from_ms),
            until: Nanos::from_millis(until_ms),
        }),
        ..AnalysisOptions::default()
    }
}

/// The analyzer's summary of `records` with `options`.
pub fn send(options: AnalysisOptions, records: &[Record]) -> Summary {
    let mut analyze = Analyzer::new(options);
    analyze.push(records);
    analyze.finish()
}
