//! The native part of the Python package `assay`: run directories read by the crates of the
//! command line, with Arrow in and Arrow out.
//!
//! Python files beside it (`assay/`) make it pleasant. What is here returns texts of the command
//! line's JSON, Arrow streams and plain numbers. No panic reaches Python, and Python's lock is not
//! held while anything is read or computed.

mod columns;
mod errors;
mod isolation;
mod judge;
mod latencies;
mod records;
mod run;

use pyo3::prelude::*;

/// The module `assay._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::errors::{AssayError, Damaged, Incomparable, NewerVersion, NotARun, WrongColumns};
    #[pymodule_export]
    use crate::isolation::{
        conclude_isolation, dependencies_of_islands, isolation_question_json, join_spans,
        judge_islands, judge_records_of_share, judge_sessions, seen_of_records, spans_of_islands,
    };
    #[pymodule_export]
    use crate::judge::{Judge, merge_json, question_json};
    #[pymodule_export]
    use crate::latencies::Latencies;
    #[pymodule_export]
    use crate::records::{RecordStream, words_of_columns};
    #[pymodule_export]
    use crate::run::{RunDirectory, compare_json, find};

    /// The version of this package, which is that of the command line inside.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python users expect")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
