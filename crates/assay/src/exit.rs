//! The exit codes, as the documentation promises them.

use std::process::ExitCode;

use assay_lab::LabError;
use assay_live::port::PortError;
use assay_results::ResultsError;
use assay_store::OpenError;
use assay_study::StudyError;

/// Why a command ends with something else than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Fine = 0,
    /// It failed on the way: a full store, a full disk, or something here that should not break.
    Internal = 1,
    /// The command, a file or a setting is invalid.
    Usage = 2,
    /// A comparison met a condition that it was to fail on, or a store breaks a rule.
    Regression = 3,
    /// The store cannot be reached, or does not let us.
    Unreachable = 4,
    /// The run came to its end, but a hallmark was required and there is none.
    NoHallmark = 5,
    /// A required quality is violated.
    Violated = 6,
    /// The run ended, but an action on the store failed; or a node is in the wrong state for an
    /// action.
    Undone = 7,
    /// No rate was found that holds the objective.
    Breached = 99,
    /// It was stopped.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// An error with the code that it ends the program with.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The code.
    pub exit: Exit,
    /// What is wrong, and what to do.
    pub message: String,
}

/// A usage or configuration error.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    Failure { exit: Exit::Usage, message: message.into() }.into()
}

/// A usage or configuration error, from an error that says it well.
pub fn as_usage(error: impl std::fmt::Display) -> anyhow::Error {
    usage(error.to_string())
}

/// A failure of the store, with the code that fits.
pub fn from_open(error: OpenError) -> anyhow::Error {
    let exit = match error {
        OpenError::Unreachable { .. } | OpenError::NotPermitted { .. } => Exit::Unreachable,
        OpenError::Unsupported { .. } | OpenError::Url { .. } | OpenError::Contents { .. } => {
            Exit::Usage
        }
        OpenError::Failed { .. } => Exit::Internal,
    };
    Failure { exit, message: error.to_string() }.into()
}

/// The code that `error` ends the program with.
pub fn code(error: &anyhow::Error) -> Exit {
    let of_cause = |cause: &(dyn std::error::Error + 'static)| {
        let of_results = || cause.downcast_ref::<ResultsError>().map(of_results);
        let of_study = || cause.downcast_ref::<StudyError>().and_then(of_study);
        let of_failure = cause.downcast_ref::<Failure>().map(|failure| failure.exit);
        let of_port = || cause.downcast_ref::<PortError>().and_then(of_port);
        let of_lab = || cause.downcast_ref::<LabError>().map(of_lab);
        of_failure.or_else(of_lab).or_else(of_results).or_else(of_study).or_else(of_port)
    };
    error.chain().find_map(of_cause).unwrap_or(Exit::Internal)
}

/// The code of an error of a study, unless its cause has it.
fn of_study(error: &StudyError) -> Option<Exit> {
    match error {
        StudyError::Invalid(_) => Some(Exit::Usage),
        StudyError::Results(error) => Some(of_results(error)),
        StudyError::Failed { .. }
        | StudyError::Run(_)
        | StudyError::Manifest(_)
        | StudyError::Other(_) => None,
    }
}

/// The code of an error of a lab, whose own process may have told it.
fn of_lab(error: &LabError) -> Exit {
    from_number(error.code())
}

/// The code of a lab's process.
pub fn from_number(code: u8) -> Exit {
    let known = [Exit::Fine, Exit::Usage, Exit::Unreachable, Exit::Undone, Exit::Interrupted];
    known.into_iter().find(|exit| *exit as u8 == code).unwrap_or(Exit::Internal)
}

fn of_port(error: &PortError) -> Option<Exit> {
    matches!(error, PortError::Listen { .. }).then_some(Exit::Usage)
}

fn of_results(error: &ResultsError) -> Exit {
    match error.is_usage() {
        true => Exit::Usage,
        false => Exit::Internal,
    }
}
