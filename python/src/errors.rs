//! Python exceptions, and how errors of the crates become them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use assay_history::{ManifestError, OpenError, ReadError, RepeatError};
use assay_results::ResultsError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    assay,
    AssayError,
    PyException,
    "What Assay cannot do; the text says what to do."
);
create_exception!(assay, NotARun, AssayError, "The path is no run directory, or has no history.");
create_exception!(
    assay,
    NewerVersion,
    AssayError,
    "A later release wrote it; update this package."
);
create_exception!(assay, Damaged, AssayError, "A file of the run is truncated or was changed.");
create_exception!(
    assay,
    WrongColumns,
    AssayError,
    "An Arrow stream lacks a column, or has another type."
);
create_exception!(assay, Incomparable, AssayError, "The runs cannot be used together like that.");

/// Does `work` without Python's lock; its panic becomes an [`AssayError`].
pub fn work<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, ResultsError> + Send,
) -> PyResult<T> {
    detached(py, work)?.map_err(|error| exception(&error))
}

/// As [`work`], for work with errors of another sort.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|_| {
        AssayError::new_err(
            "a defect of Assay: it panicked (its text is on standard error); please report it",
        )
    })
}

/// The exception for `error`.
pub fn exception(error: &ResultsError) -> PyErr {
    let text = error.to_string();
    match error {
        ResultsError::NotARun(_) => NotARun::new_err(text),
        ResultsError::Manifest(error) => match error {
            ManifestError::Read { .. } => NotARun::new_err(text),
            ManifestError::Newer { .. } => NewerVersion::new_err(text),
            ManifestError::Parse { .. } => Damaged::new_err(text),
            ManifestError::Format { .. } | ManifestError::Write { .. } => AssayError::new_err(text),
        },
        ResultsError::Open(error) => match error {
            OpenError::NoRunDir { .. } | OpenError::NoHistory { .. } => NotARun::new_err(text),
            OpenError::Newer { .. } => NewerVersion::new_err(text),
            _ => Damaged::new_err(text),
        },
        ResultsError::Read(error) => of_read(error, text),
        ResultsError::Group(error) => match error {
            RepeatError::Read { .. } => NotARun::new_err(text),
            _ => Damaged::new_err(text),
        },
        ResultsError::Invalid(_) => Incomparable::new_err(text),
        ResultsError::List { .. } => AssayError::new_err(text),
    }
}

fn of_read(error: &ReadError, text: String) -> PyErr {
    match error {
        ReadError::Part { .. } | ReadError::Changed { .. } | ReadError::Blocks(_) => {
            Damaged::new_err(text)
        }
    }
}
