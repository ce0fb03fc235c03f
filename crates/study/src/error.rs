//! Errors of studies.

use std::error::Error;

use assay_history::ManifestError;
use assay_results::ResultsError;

/// Why a study cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A file, a flag or a directory is invalid; the message says what to do.
    #[error("{0}")]
    Invalid(String),
    /// Something failed on the way.
    #[error("{doing}")]
    Failed {
        /// What could not be done.
        doing: String,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A run of the study did not do all that the study needs.
    #[error("{0}")]
    Run(String),
    /// A run's manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A run directory cannot be analyzed.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A run cannot be kept or simulated.
    #[error(transparent)]
    Other(Box<dyn Error + Send + Sync>),
}

/// The error of a file, a flag or a directory that is invalid.
pub(crate) fn invalid(message: impl Into<String>) -> StudyError {
    StudyError::Invalid(message.into())
}

/// The same, from an error that says it well.
pub(crate) fn as_invalid(error: impl std::fmt::Display) -> StudyError {
    invalid(error.to_string())
}

/// An error that says all of it.
pub(crate) fn other(error: impl Into<Box<dyn Error + Send + Sync>>) -> StudyError {
    StudyError::Other(error.into())
}

/// Adds to an error what could not be done.
pub(crate) trait Context<T> {
    /// What could not be done, in words.
    fn context(self, doing: impl Into<String>) -> Result<T, StudyError>;

    /// The same, in words that are made only if there is an error.
    fn with_context(self, doing: impl FnOnce() -> String) -> Result<T, StudyError>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> Context<T> for Result<T, E> {
    fn context(self, doing: impl Into<String>) -> Result<T, StudyError> {
        self.with_context(|| doing.into())
    }

    fn with_context(self, doing: impl FnOnce() -> String) -> Result<T, StudyError> {
        self.map_err(|error| StudyError::Failed { doing: doing(), source: error.into() })
    }
}
