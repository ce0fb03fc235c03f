//! Errors of analyzing run directories.

use std::io;
use std::path::PathBuf;

use assay_history::{ManifestError, OpenError, ReadError, RepeatError};

/// A run directory cannot be analyzed. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// There is no such run directory.
    #[error("{0}")]
    NotARun(String),
    /// Its manifest cannot be read.
    #[error("{0}")]
    Manifest(ManifestError),
    /// Its history cannot be opened.
    #[error("{0}")]
    Open(OpenError),
    /// Its history cannot be read to its end.
    #[error("{0}")]
    Read(ReadError),
    /// The file that lists its repetitions cannot be read.
    #[error("{0}")]
    Group(RepeatError),
    /// The runs cannot be used for this.
    #[error("{0}")]
    Invalid(String),
    /// A directory cannot be listed.
    #[error("cannot list {path}: {error}")]
    List {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl ResultsError {
    /// Whether naming something else would help; otherwise reading failed on the way.
    pub fn is_usage(&self) -> bool {
        !matches!(self, ResultsError::Read(_) | ResultsError::List { .. })
    }
}

impl From<ManifestError> for ResultsError {
    fn from(error: ManifestError) -> ResultsError {
        ResultsError::Manifest(error)
    }
}

impl From<OpenError> for ResultsError {
    fn from(error: OpenError) -> ResultsError {
        ResultsError::Open(error)
    }
}

impl From<ReadError> for ResultsError {
    fn from(error: ReadError) -> ResultsError {
        ResultsError::Read(error)
    }
}

impl From<RepeatError> for ResultsError {
    fn from(error: RepeatError) -> ResultsError {
        ResultsError::Group(error)
    }
}
