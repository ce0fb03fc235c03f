//! Failures of requests, and what becomes of their connections.

use assay_model::Reason;

use super::{Completion, ConnectionState, Context, JobCompletion};

/// What a failure means, and whether its connection is of use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFailure {
    /// What the request's ticket is answered with.
    pub ending: Completion,
    /// Whether the connection is of no use any more.
    pub is_connection_lost: bool,
}

impl JobFailure {
    /// The connection broke while an answer was awaited.
    pub const LOST: JobFailure =
        JobFailure { is_connection_lost: true, ..JobFailure::unknown(Reason::ConnectionLost) };
    /// There was no connection, so nothing was sent.
    pub const UNREACHABLE: JobFailure =
        JobFailure { is_connection_lost: true, ..JobFailure::refused(Reason::Unreachable) };
    /// The response is invalid.
    pub const GARBLED: JobFailure =
        JobFailure { is_connection_lost: true, ..JobFailure::unknown(Reason::Garbled) };

    /// It certainly did not happen, and the connection is as it was.
    pub const fn refused(reason: Reason) -> JobFailure {
        JobFailure { ending: Completion::Refused(reason), is_connection_lost: false }
    }

    /// It is unknown whether it happened; the connection stays usable.
    pub const fn unknown(reason: Reason) -> JobFailure {
        JobFailure { ending: Completion::Unknown(reason), is_connection_lost: false }
    }

    /// What it means if it was only looked, so that the change itself was never sent.
    pub fn before_a_change(self) -> JobFailure {
        match self.ending {
            Completion::Unknown(reason) => {
                JobFailure { ending: Completion::Refused(reason), ..self }
            }
            Completion::Refused(_) | Completion::Done { .. } => self,
        }
    }

    /// Whether another write of the same record came first.
    pub fn is_conflict(&self) -> bool {
        self.ending == Completion::Refused(Reason::Conflict)
    }
}

/// The end of a job that was one request: whether anything was found, or why it failed. Within a
/// transaction a failure undoes it.
pub fn completion(ended: Result<bool, JobFailure>, context: Context) -> JobCompletion {
    let (ending, is_lost) = match ended {
        Ok(found) => (Completion::Done { found }, false),
        Err(failure) => (failure.ending, failure.is_connection_lost),
    };
    let after = match (is_lost, context, ended.is_ok()) {
        (true, _, _) => ConnectionState::Lost,
        (false, Context::Alone, _) => ConnectionState::Free,
        (false, _, true) => ConnectionState::Held,
        (false, _, false) => ConnectionState::Undo,
    };
    JobCompletion::new(ending, after)
}
