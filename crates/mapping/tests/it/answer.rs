//! Possible results of a query.

use std::collections::BTreeMap;

/// A row that came back: each column as an encoded datum.
pub type Row = Vec<Vec<u8>>;

/// What a store answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It did it; `found` as in a reply.
    Done { found: bool, rows: Vec<Row> },
    /// It refused, or does not know.
    Failed(String),
}

/// What SQL allows as an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// Rows in groups: those of an earlier group come first, within a group any order will do.
    Rows { groups: Vec<Vec<Row>>, limit: usize },
    /// Whether any row was written.
    Written { found: bool },
    /// The key is taken, or a value is missing.
    Refused,
}

/// What is wrong with an outcome; nothing if it is one of those expected.
pub fn complaint(expected: &Expected, outcome: &Outcome) -> Option<String> {
    match (expected, outcome) {
        (Expected::Refused, Outcome::Failed(_)) => None,
        (Expected::Refused, Outcome::Done { .. }) => Some("it was done, but must not be".into()),
        (_, Outcome::Failed(reason)) => Some(format!("it failed: {reason}")),
        (Expected::Written { found: target }, Outcome::Done { found, rows }) => {
            let reason = format!("it wrote something: {found}, but should: {target}");
            (found != target || !rows.is_empty()).then_some(reason)
        }
        (Expected::Rows { groups, limit }, Outcome::Done { rows, .. }) => {
            wrong_rows(groups, *limit, rows)
        }
    }
}

fn wrong_rows(groups: &[Vec<Row>], limit: usize, rows: &[Row]) -> Option<String> {
    let all: usize = groups.iter().map(Vec::len).sum();
    if rows.len() != all.min(limit) {
        return Some(format!("{} rows came back instead of {}", rows.len(), all.min(limit)));
    }
    let mut rest = rows;
    for group in groups {
        let (here, behind) = rest.split_at(group.len().min(rest.len()));
        let mut left: BTreeMap<&Row, usize> = BTreeMap::new();
        group.iter().for_each(|row| *left.entry(row).or_default() += 1);
        for row in here {
            match left.get_mut(row) {
                Some(count) if *count > 0 => *count -= 1,
                _ => return Some("a row is wrong, or at a wrong place".into()),
            }
        }
        rest = behind;
    }
    None
}
