//! Why a lab could not do something.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Codes of commands, as the documentation has them; labs of earlier releases tell them, too.
const INTERNAL: u8 = 1;
const USAGE: u8 = 2;
const UNREACHABLE: u8 = 4;
const UNDONE: u8 = 7;
const INTERRUPTED: u8 = 130;

/// What went wrong, with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The request is invalid, or something it needs is missing.
    #[error("{0}")]
    Order(String),
    /// A program is not there.
    #[error("{0}")]
    Missing(String),
    /// A program is missing and could be installed or fetched, but the user has not agreed.
    #[error("{0}")]
    NotInstalled(String),
    /// A node is in the wrong state for the action.
    #[error("{0}")]
    State(String),
    /// A server ended that should run.
    #[error("{0}")]
    Died(String),
    /// Something did not come, or did not work.
    #[error("{0}")]
    Failed(String),
    /// The wait was cancelled.
    #[error("stopped before it was done")]
    Stopped,
    /// The lab goes on with the request, but the client does not wait for it any more.
    #[error("nobody waits any more for lab {name}, which goes on with it")]
    GoesOn {
        /// The lab's name.
        name: String,
    },
    /// Something of this program's own.
    #[error("{0}")]
    Internal(String),
    /// A file or folder.
    #[error("{what} {}: {error}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// What could not be done with it.
        what: &'static str,
        /// Why.
        error: std::io::Error,
    },
}

impl LabError {
    /// The code that a command ends with because of it.
    pub fn code(&self) -> u8 {
        match self {
            LabError::Order(_) => USAGE,
            LabError::State(_) => UNDONE,
            LabError::Missing(_)
            | LabError::NotInstalled(_)
            | LabError::Died(_)
            | LabError::Failed(_) => UNREACHABLE,
            LabError::Stopped => INTERRUPTED,
            LabError::GoesOn { .. } | LabError::Internal(_) => INTERNAL,
            // A folder without write permission was named by the user.
            LabError::Io { error, .. } => match error.kind() {
                ErrorKind::PermissionDenied | ErrorKind::NotADirectory | ErrorKind::NotFound => {
                    USAGE
                }
                _ => INTERNAL,
            },
        }
    }

    /// The error that a supervisor has told, with its code.
    pub(crate) fn told(text: String, code: u8) -> LabError {
        match code {
            USAGE => LabError::Order(text),
            UNDONE => LabError::State(text),
            UNREACHABLE => LabError::Failed(text),
            INTERRUPTED => LabError::Stopped,
            _ => LabError::Internal(text),
        }
    }

    /// An error of this process, in the midst of `what`.
    pub(crate) fn internal(what: &str, error: impl std::fmt::Display) -> LabError {
        LabError::Internal(format!("{what}: {error}"))
    }

    pub(crate) fn io(path: &Path, what: &'static str, error: std::io::Error) -> LabError {
        LabError::Io { path: path.to_owned(), what, error }
    }
}
