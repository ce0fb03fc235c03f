//! A run as the result log that BenchFoundry writes.

use std::collections::HashMap;
use std::fmt::Write as _;

use assay_model::{Nanos, Outcome, Record};

/// Turns records into lines
/// `process;transaction;operation;query;start;end;result;[rows]`.
///
/// Times are milliseconds since the phase began. Rows are not in a history, so none are shown.
/// Other than BenchFoundry's own log, what failed has its line and says so.
#[derive(Debug)]
pub struct ResultLog {
    /// What each query is called in the log.
    queries: Vec<i64>,
    /// The transaction that each running process is in, with the index of its first operation.
    running: HashMap<u64, (u16, u64)>,
}

/// The query of a line about a transaction that could not be ended.
const NO_QUERY: i64 = -1;

impl ResultLog {
    /// A log of a run whose queries have these names: numbers stay, other names become the
    /// query's place, from 1.
    pub fn new(queries: &[String]) -> ResultLog {
        let number = |(place, name): (usize, &String)| name.parse().unwrap_or(place as i64 + 1);
        ResultLog {
            queries: queries.iter().enumerate().map(number).collect(),
            running: HashMap::new(),
        }
    }

    /// Appends the line of `record`, whose phase began at `begin`; the records of a process come
    /// in the order of its operations.
    ///
    /// The end of a transaction has no line unless it failed: there it is no operation.
    pub fn push(&mut self, record: &Record, begin: Nanos, into: &mut String) {
        let (process, transaction) = (record.process, record.transaction);
        let entry = self.running.entry(process).or_insert((transaction, record.index));
        if entry.0 != transaction {
            *entry = (transaction, record.index);
        }
        let operation = record.index.saturating_sub(entry.1);
        if record.ends_process() {
            self.running.remove(&process);
        }
        if record.kind.ends_transaction() && record.outcome == Outcome::Done {
            return;
        }
        let result = match record.outcome {
            Outcome::Done => "SUCCESSFUL",
            Outcome::Refused => "FAILED",
            Outcome::Unknown => "UNKNOWN",
            Outcome::Dropped => "DROPPED",
        };
        let query = record.statement.checked_sub(1);
        let query = query.and_then(|place| self.queries.get(usize::from(place)));
        let query = query.copied().unwrap_or(NO_QUERY);
        let [start, end] = [record.started, record.ended].map(|time| milliseconds(time, begin));
        let _ =
            writeln!(into, "{process};{transaction};{operation};{query};{start};{end};{result};[]");
    }
}

/// Whole milliseconds since `begin`; −1 for a time that never came.
fn milliseconds(time: Nanos, begin: Nanos) -> i64 {
    if time == Nanos::NEVER { -1 } else { (time.0 as i64 - begin.0 as i64).div_euclid(1_000_000) }
}

#[cfg(test)]
mod tests {
    use assay_model::Kind;

    use assay_model::Ends;

    use super::*;

    fn log(records: &[Record]) -> String {
        let mut log = ResultLog::new(&["10".to_owned(), "look".to_owned()]);
        let mut text = String::new();
        records.iter().for_each(|record| log.push(record, Nanos(5_000_000), &mut text));
        assert!(log.running.is_empty(), "a process that has ended is forgotten");
        text
    }

    fn record(index: u64, transaction: u16, statement: u16, outcome: Outcome) -> Record {
        Record {
            index,
            process: index / 100,
            transaction,
            statement,
            outcome,
            started: Nanos(5_000_000 + index * 1_000_000),
            ended: Nanos(7_900_000 + index * 1_000_000),
            ..Record::BLANK
        }
    }

    #[test]
    fn operations_count_within_their_transaction_while_processes_interleave() {
        let last = |record: Record| Record { ends: Ends::Process, ..record };
        let commit = |index, outcome| Record {
            kind: Kind::Commit,
            ends: Ends::Transaction,
            ..record(index, 0, 0, outcome)
        };
        let records = [
            record(100, 0, 1, Outcome::Done),
            record(200, 0, 2, Outcome::Unknown),
            record(101, 0, 2, Outcome::Done),
            last(commit(201, Outcome::Refused)),
            commit(102, Outcome::Done),
            last(record(103, 1, 1, Outcome::Refused)),
        ];
        assert_eq!(
            log(&records),
            "1;0;0;10;100;102;SUCCESSFUL;[]\n\
             2;0;0;2;200;202;UNKNOWN;[]\n\
             1;0;1;2;101;103;SUCCESSFUL;[]\n\
             2;0;1;-1;201;203;FAILED;[]\n\
             1;1;0;10;103;105;FAILED;[]\n"
        );
    }
}
