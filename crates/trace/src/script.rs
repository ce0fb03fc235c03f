//! Queries of a trace's operations: SQL as text, with names.

use assay_model::{Argument, Arguments, Named, Operation};

/// The texts behind the statement numbers of a trace's operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The statements that declare the schema, in the order in which they are to be made.
    pub ddl: Vec<Named>,
    /// The queries, `?` for each argument. An operation's `statement` is the place here plus one.
    pub queries: Vec<Named>,
    /// What operations tell a driver beyond their arguments, uninterpreted (BenchFoundry's custom
    /// parameters). An operation's hint is the place here plus one.
    pub hints: Vec<String>,
    /// Settings that came with the trace from elsewhere, kept for the way back.
    pub properties: Vec<Named>,
    /// Where the numbers come from that processes had elsewhere.
    pub origins: Origins,
}

/// Whether a trace knows which numbers its processes had where they came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origins {
    /// They have the numbers of this trace.
    #[default]
    Own,
    /// They had others, which the trace keeps.
    Kept,
}

/// An operation does not fit the queries of its trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementFault {
    /// The trace has queries, the operation has none.
    #[error("operation {index} accesses a record by key, but its trace has queries: give a query")]
    NoQuery {
        /// The operation.
        index: u64,
    },
    /// The operation has a query, the trace has none.
    #[error(
        "operation {index} issues query {statement} or ends a transaction of queries, but the \
         header has no texts of queries: a trace with statements needs its script"
    )]
    NoScript {
        /// The operation.
        index: u64,
        /// The number of its query.
        statement: u16,
    },
    /// The query's number has no text.
    #[error(
        "operation {index} issues query {statement}, but the header has the texts of {queries} \
         queries: add the text, or issue one of these"
    )]
    NoText {
        /// The operation.
        index: u64,
        /// The number of its query, from 1.
        statement: u16,
        /// How many there are.
        queries: usize,
    },
    /// The query has another number of `?`.
    #[error(
        "operation {index} has {found} arguments, but query {query:?} takes {expected}: one for \
         each ?"
    )]
    Arguments {
        /// The operation.
        index: u64,
        /// The query's name.
        query: String,
        /// How many `?` it has.
        expected: usize,
        /// How many arguments there are.
        found: usize,
    },
    /// An argument follows from an answer that comes too late.
    #[error(
        "operation {index} takes an argument from operation {from} of its process, which does \
         not come before it"
    )]
    Taken {
        /// The operation.
        index: u64,
        /// The place of the other in the process.
        from: u16,
    },
    /// The operation has a hint without a text.
    #[error("operation {index} has hint {hint}, but the header has {hints} hints")]
    Hint {
        /// The operation.
        index: u64,
        /// The hint's number, from 1.
        hint: u32,
        /// How many there are.
        hints: usize,
    },
    /// The process has hints, but not one for each operation.
    #[error("process {process} has {found} hints for {operations} operations: one each, or none")]
    Hints {
        /// The process.
        process: u64,
        /// How many there are.
        found: usize,
        /// How many operations there are.
        operations: usize,
    },
}

/// What is checked of every operation, written or read.
#[derive(Debug)]
pub(crate) struct Checks {
    /// The names of the queries with how many arguments they take; `None` without a script.
    queries: Option<Vec<(String, usize)>>,
    hints: usize,
}

impl Checks {
    pub fn new(script: Option<&Script>) -> Checks {
        let count = |query: &Named| (query.name.clone(), placeholders(&query.text));
        Checks {
            queries: script.map(|script| script.queries.iter().map(count).collect()),
            hints: script.map_or(0, |script| script.hints.len()),
        }
    }

    /// What is wrong with the operation at `place` of its process, if something is.
    #[inline]
    pub fn operation(
        &self,
        operation: &Operation,
        arguments: &Arguments,
        place: usize,
    ) -> Option<StatementFault> {
        match &self.queries {
            None if operation.statement == 0 && !operation.kind.ends_transaction() => None,
            None => {
                let Operation { index, statement, .. } = *operation;
                Some(StatementFault::NoScript { index, statement })
            }
            Some(queries) => query_fault(queries, operation, arguments, place),
        }
    }

    /// What is wrong with the hints of a process, if something is.
    pub fn hints(
        &self,
        process: u64,
        operations: &[Operation],
        hints: &[u32],
    ) -> Option<StatementFault> {
        if hints.len() != operations.len() && !hints.is_empty() {
            let (found, operations) = (hints.len(), operations.len());
            return Some(StatementFault::Hints { process, found, operations });
        }
        let unknown = |hint: &u32| *hint as usize > self.hints;
        let place = hints.iter().position(unknown)?;
        let (index, hint) = (operations[place].index, hints[place]);
        Some(StatementFault::Hint { index, hint, hints: self.hints })
    }
}

fn query_fault(
    queries: &[(String, usize)],
    operation: &Operation,
    arguments: &Arguments,
    place: usize,
) -> Option<StatementFault> {
    let Operation { index, statement, .. } = *operation;
    if operation.kind.ends_transaction() != (statement == 0) {
        return Some(StatementFault::NoQuery { index });
    }
    let ends = (String::new(), 0);
    let query = match statement.checked_sub(1) {
        Some(number) => queries.get(usize::from(number)),
        None => Some(&ends),
    };
    let Some((query, expected)) = query else {
        return Some(StatementFault::NoText { index, statement, queries: queries.len() });
    };
    let mut found = 0;
    for argument in arguments.of(place) {
        found += 1;
        if let Argument::Taken(taken) = argument
            && usize::from(taken.operation) >= place
        {
            return Some(StatementFault::Taken { index, from: taken.operation });
        }
    }
    let (query, expected) = (query.clone(), *expected);
    (found != expected).then_some(StatementFault::Arguments { index, query, expected, found })
}

/// How many arguments the SQL `text` takes: its `?` outside of quotes and comments.
pub fn placeholders(text: &str) -> usize {
    let mut count = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let passed = match first {
            '\'' | '"' | '`' => quoted(rest, first),
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => first.len_utf8(),
        };
        count += usize::from(first == '?');
        rest = &rest[passed..];
    }
    count
}

/// The length of the quoted piece that `text` begins with, quotes included. A quote that is
/// doubled ends one piece and begins another, which comes to the same.
fn quoted(text: &str, quote: char) -> usize {
    text[1..].find(quote).map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_marks_count_outside_of_quotes_and_comments() {
        let counts = [
            ("SELECT a FROM t WHERE b = ? AND c > ?", 2),
            ("SELECT '?', \"?\", `?` FROM t WHERE b = ? -- why?\n AND c = ?", 2),
            ("UPDATE t SET a = 'it''s ?' /* or ? */ WHERE b = ?", 1),
            ("SELECT 'ä?' FROM t WHERE b = 'never ends ?", 0),
            ("SELECT a FROM t -- the end?", 0),
            ("", 0),
        ];
        for (text, count) in counts {
            assert_eq!(placeholders(text), count, "{text}");
        }
    }
}
