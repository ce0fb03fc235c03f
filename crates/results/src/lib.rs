//! Results of runs from their directories: figures, hallmark, verdicts, comparisons.
//!
//! [`analyze_run`] reads a run directory into a summary with its facts, [`judge_run`] into verdicts
//! on consistency, [`compare()`] puts two side by side. The binary shows what they return; other
//! programs get the same values.

pub mod compare;
pub mod consistency;
pub mod evidence;
pub mod islands;
pub mod memory;
pub mod observed;
pub mod run_dirs;
pub mod shares;
pub mod shell;

mod agents;
mod analyze;
mod error;
mod group;
mod identity;
mod measured_runs;
mod truth;

pub use agents::clock_error;
pub use analyze::{AnalyzedRun, analysis_options, analyze_beside, analyze_run, ycsb_block};
pub use compare::{NamedDir, compare};
pub use consistency::judge_run;
pub use error::ResultsError;
pub use group::{group, group_beside};
pub use measured_runs::{MeasuredRun, measure, measure_all};
