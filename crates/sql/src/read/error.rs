//! Why SQL was not taken.

use std::fmt;

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What the text is called: `query payment-3`, `schema tpcc.sql`.
    pub origin: String,
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
}

impl Place {
    /// The start of a text.
    pub fn start(origin: impl Into<String>) -> Place {
        Place { origin: origin.into(), line: 1, column: 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {} column {}", self.origin, self.line, self.column)
    }
}

/// SQL that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// It is no SQL.
    #[error("{place}: this cannot be read as SQL: {reason}")]
    Syntax {
        /// Where reading stopped.
        place: Place,
        /// What was expected there.
        reason: String,
    },
    /// It is SQL that not every class of store can answer.
    #[error(
        "{place}: {clause} is outside the SQL subset that every class of store supports; {advice}"
    )]
    Outside {
        /// Where it stands.
        place: Place,
        /// The clause.
        clause: String,
        /// What to do.
        advice: String,
    },
    /// It disagrees with the schema, or with itself.
    #[error("{place}: {reason}")]
    Wrong {
        /// Where it stands.
        place: Place,
        /// What is wrong, and what to do.
        reason: String,
    },
}
