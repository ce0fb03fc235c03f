//! Errors and warnings of reading a foreign history, with the line and what to do.

use std::fmt;

/// A place in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    /// The line, from one.
    pub line: u64,
    /// The byte, from zero: a text of gigabytes may be a single line.
    pub byte: u64,
}

/// Why a foreign history cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, byte {}: {problem}", position.line, position.byte)]
pub struct ForeignError {
    /// Where.
    pub position: TextPosition,
    /// What is wrong there.
    pub problem: ForeignProblem,
}

/// What is wrong with a foreign history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignProblem {
    /// The bytes could not be read.
    #[error("{0}; read the file again")]
    Unreadable(String),
    /// Nothing tells the format.
    #[error(
        "neither a Jepsen or Elle history (EDN, JSON), nor AWDIT's text, dbcop's JSON or \
         porcupine's operations; name the format if it is one of them"
    )]
    UnknownFormat,
    /// Pictures have texts where operations were.
    #[error(
        "porcupine's picture has descriptions instead of inputs and outputs; write the list of \
         porcupine.Operation as JSON instead"
    )]
    Visualisation,
    /// The text ends too early.
    #[error("the text ends too early: the file is cut short; copy it again")]
    Truncated,
    /// A byte that cannot stand there.
    #[error("{0:?} is not expected here; the text is damaged or of another format")]
    Unexpected(char),
    /// What the format wants is not there.
    #[error("{expected} is expected here, found {found}")]
    Expected {
        /// What is wanted.
        expected: &'static str,
        /// What there is, shortened.
        found: String,
    },
    /// Not UTF-8.
    #[error("invalid UTF-8; histories are UTF-8 texts: convert the file")]
    InvalidUtf8,
    /// Deeper than any history.
    #[error("nested deeper than {0} levels; no history is")]
    TooDeep(usize),
    /// Longer than any operation.
    #[error("one operation of more than {0} bytes; lists that long cannot be judged")]
    TooLong(u64),
    /// A key or member is missing.
    #[error("operation without {0}; every operation needs it")]
    Missing(&'static str),
    /// Neither invoke, ok, fail nor info.
    #[error("unknown type {0}; it must be invoke, ok, fail or info")]
    UnknownType(String),
    /// An operation whose effect nobody knows here.
    #[error(
        "unknown operation {0}; txn, read, write, cas, add and transfer can be judged: remove \
         operations that do not touch the records"
    )]
    UnknownOperation(String),
    /// A completion of nothing.
    #[error(
        "completion of process {process} without an invocation; the lines are out of order or the \
         file's beginning is missing: sort by index"
    )]
    NotInvoked {
        /// The process.
        process: i64,
    },
    /// Jepsen's other processes note what they do as info.
    #[error("process {0} is not an integer, as those of clients are; number the clients")]
    NamedClient(String),
    /// Two operations of a process at once.
    #[error(
        "process {process} invokes while its invocation of line {line} has no completion; give \
         each client a process of its own, and a crashed one an :info"
    )]
    InFlight {
        /// The process.
        process: i64,
        /// The line of its first invocation.
        line: u64,
    },
    /// A completion of another kind of operation.
    #[error("completion of process {process} is not of the operation it invoked in line {line}")]
    OtherOperation {
        /// The process.
        process: i64,
        /// The line of its invocation.
        line: u64,
    },
    /// An index that does not grow.
    #[error(
        "index {index} after index {previous}; the lines are out of order, or two histories are in \
         one file: sort by index, or number anew"
    )]
    IndexNotGrowing {
        /// The index.
        index: i64,
        /// The one before it.
        previous: i64,
    },
    /// A record that is a list here and a register there.
    #[error(
        "key {key} is of another kind in lines above; use different keys for what is written, \
         appended to, and added to"
    )]
    KeyOfTwoKinds {
        /// The key's name.
        key: String,
    },
    /// A transaction in two sessions.
    #[error(
        "transaction {transaction} belongs to two sessions; number transactions over all of them"
    )]
    TransactionOfTwoSessions {
        /// Its number.
        transaction: i64,
    },
    /// An operation that ends before it starts.
    #[error("operation ends at {ended} before it starts at {started}; the clock was set back")]
    EndsBeforeStart {
        /// Its start.
        started: i64,
        /// Its end.
        ended: i64,
    },
    /// More sessions than can be numbered.
    #[error("more than {0} sessions; no history has that many")]
    TooManySessions(u32),
}

/// Something odd that does not make a judgement unsound, with how often it occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignWarning {
    /// What it is.
    pub kind: ForeignWarningKind,
    /// How often.
    pub count: u64,
    /// The line of the first one.
    pub first_line: u64,
}

/// What may be odd about a foreign history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ForeignWarningKind {
    /// An EDN tag that means nothing here; what follows was read without it.
    UnknownTag,
    /// A time before the one of the line above: the order of lines was taken as the order of time.
    TimeBackwards,
    /// An operation without a time: times are numbers of lines.
    NoTime,
    /// An invocation without a completion: nobody knows whether it happened.
    Unfinished,
    /// A process that goes on after an unknown outcome: it is another session from there on.
    ProcessWentOn,
    /// Operations of one client that overlap: each is in a session of its own.
    OverlappingClient,
    /// An answer without a value: its reads say nothing.
    NoAnswer,
    /// A completion that wrote something else than its invocation; the completion was believed.
    OtherWrites,
}

impl fmt::Display for ForeignWarning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ForeignWarningKind::UnknownTag => "unknown tags, skipped",
            ForeignWarningKind::TimeBackwards => {
                "times before the one of the line above; the order of lines was used"
            }
            ForeignWarningKind::NoTime => "operations without a time; the order of lines was used",
            ForeignWarningKind::Unfinished => {
                "invocations without a completion; nobody knows whether they happened"
            }
            ForeignWarningKind::ProcessWentOn => {
                "processes that go on after :info; they are sessions of their own from there on"
            }
            ForeignWarningKind::OverlappingClient => {
                "operations that overlap with others of their client; each is a session"
            }
            ForeignWarningKind::NoAnswer => "answers without a value; their reads say nothing",
            ForeignWarningKind::OtherWrites => {
                "completions that wrote something else than their invocations; they were believed"
            }
        };
        write!(out, "{what}: {}, the first in line {}", self.count, self.first_line)
    }
}
