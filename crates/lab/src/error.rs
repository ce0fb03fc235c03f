//! Why a lab could not do something.

use std::path::{Path, PathBuf};

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
    pub(crate) fn io(path: &Path, what: &'static str, error: std::io::Error) -> LabError {
        LabError::Io { path: path.to_owned(), what, error }
    }
}
