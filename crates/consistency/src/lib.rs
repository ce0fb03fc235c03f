//! Verdicts on consistency and isolation: pure functions from what clients observed.
//!
//! A [`RegisterHistory`] holds operations on single records, a [`TransactionHistory`] holds
//! transactions over several. Checkers return a [`QualityFinding`] per [`Quality`]: violated with
//! witnesses, no violation found with the power of that silence, or not assessable with the reason.
//! Nothing here ever says that a store *is* consistent.

pub mod quality;
pub mod verdict;

pub mod aggregate;
pub mod clock;
pub mod fmke;
pub mod foreign;
pub mod queries;
pub mod records;
pub mod register;
pub mod transaction;

pub mod notation;
pub mod self_test;
pub mod validity;

pub use aggregate::{AggregateAccess, AggregateOperation, AggregateRules, judge_aggregates};
pub use clock::ClockError;
pub use fmke::{PrescriptionAccess, PrescriptionOperation, judge_prescriptions};
pub use quality::Quality;
pub use queries::{CollectedQueries, QueryCollector, QueryModel, QueryOptions};
pub use records::{Collected, RecordCollector, RecordOptions, RecordShare, Seen};
pub use register::{Access, RegisterHistory, RegisterOperation, ToldVersions, WrittenValue};
pub use transaction::{ObservedTransaction, TransactionHistory, TransactionStep};
pub use verdict::{
    Anomaly, Limitation, QualityFinding, QualityVerdict, VerdictPower, VersionOrder, Violations,
    Witness,
};
