//! BenchFoundry's input set: its properties, lists, traces as files of ours, with the way back.
//!
//! An [`InputSet`] is found by its properties. [`import()`] reads its traces process by process
//! into one trace per phase, [`export()`] writes them as an input set again: other numbers for
//! parameter lists, the same content. What BenchFoundry's own reader would misread comes back as
//! [`Remarks`].

mod lines;
mod list;
mod process;

pub mod export;
pub mod import;
pub mod properties;
pub mod remarks;

use std::io;
use std::path::PathBuf;

pub use export::{Exported, ExportedPhase, export};
pub use import::{
    Imported, ImportedPhase, Importing, Meaning, Notes, Understand, as_written, import,
    warm_up_path,
};
pub use properties::InputSet;
pub use remarks::{Remark, Remarks, Trouble};

use crate::reader::{OpenError, ReadError};
use crate::writer::WriteError;

/// A set of files could not be read, or not be written.
#[derive(Debug, thiserror::Error)]
pub enum InputSetError {
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{}:{line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A file is not what it should be.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The SQL is not understood.
    #[error("{0}")]
    Sql(String),
    /// A trace could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A trace could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A trace could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An operation is more than such files can say.
    #[error("operation {index} of {}: {reason}", path.display())]
    Beyond {
        /// The trace.
        path: PathBuf,
        /// The operation.
        index: u64,
        /// What cannot be said, and what to do.
        reason: String,
    },
}
