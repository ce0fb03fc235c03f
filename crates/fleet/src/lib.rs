//! The fleet: many machines, one run.
//!
//! A coordinator listens, agents dial it. Control is HTTP/1.1 with JSON over mutual TLS 1.3, so
//! that a person can look with curl; only the probe of the clocks has fixed frames, on a blocking
//! connection of its own. A run has exactly N agents or does not begin; nothing is redistributed.
//! Every agent writes its own part of the run directory, which [`merge()`] joins: the operations of
//! a run are a function of (spec, seed, index), so the union is one machine's stream.

pub mod figures;
pub mod keys;
pub mod offset;
pub mod protocol;

pub mod agent;
pub mod bucket;
pub mod client;
pub mod coordinator;
pub mod gather;
pub mod merge;
mod server;
mod shared;
pub mod state;

pub use agent::{AgentError, Ending, Session};
pub use bucket::{Bucket, BucketError};
pub use coordinator::Coordinator;
pub use figures::{LiveFigures, LiveTimes};
pub use keys::{FleetKeys, KeysError};
pub use merge::{MergeError, merge};
pub use protocol::{AgentState, Collecting, Hello, Job, JobFile, Progress, RateOrder, WorkerPlace};
pub use state::{FleetOptions, FleetOutcome, StatusRow};
