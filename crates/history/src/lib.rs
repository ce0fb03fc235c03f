//! History of a run: one record per operation, as files.
//!
//! During a run each worker appends checksummed blocks ([`Writer`], [`WorkerSink`]); at its end
//! they are sealed into Parquet ([`RunDir::seal`]); after a crash the blocks are repaired
//! ([`repair()`]); [`History`] reads either. A run directory is the directory of one run: history,
//! manifest ([`Manifest`]), events and observations.

pub mod manifest;
pub mod run_dir;

pub mod block;
pub mod writer;

pub mod blocks;
pub mod column;
pub mod seal;

pub mod clock;
pub mod events;
pub mod observations;
pub mod read;
pub mod reads;
pub mod repair;
pub mod repeat;
pub mod sheet;
pub mod sum;
pub mod truth;

mod page;
mod part;
mod place;
#[cfg(test)]
mod samples;
mod table;

pub use blocks::{BlocksError, Damage};
pub use clock::{read_clock, write_clock};
pub use column::{Column, Columns};
pub use events::{read_events, write_events};
pub use manifest::{Manifest, ManifestError, State};
pub use observations::{Observation, read_observations, write_observations};
pub use part::VERSION;
pub use place::{agent as agent_dir, reads as reads_file};
pub use read::{Batch, History, OpenError, ReadError};
pub use reads::{ReadsSink, ReadsWriter, each_read};
pub use repair::{RepairError, Repaired, repair};
pub use repeat::{Meeting, Repeat, RepeatError, RepeatedRun};
pub use run_dir::{CreateError, LockError, RunDir};
pub use seal::{SealError, Sealed, SealedPart};
pub use sheet::{read_sheet, write_sheet};
pub use sum::RecordSum;
pub use table::TableError;
pub use truth::{TruthRow, TruthWriter, count_faults, read_truth};
pub use writer::{Memory, StartError, WorkerSink, WriteError, Writer, Written};
