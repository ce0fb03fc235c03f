//! The record that stands where nothing has been read yet.

use assay_model::{Kind, Nanos, Outcome, Phase, Reason, Record, Verified};

/// All numbers zero; columns that a reader did not ask for stay like this.
pub const BLANK: Record = Record {
    index: 0,
    process: 0,
    key: 0,
    intended: Nanos::ZERO,
    started: Nanos::ZERO,
    ended: Nanos::ZERO,
    version_written: 0,
    version_read: 0,
    session: 0,
    bytes: 0,
    rows: 0,
    verify_ns: 0,
    transaction: 0,
    transaction_type: 0,
    ends_transaction: false,
    kind: Kind::Read,
    phase: Phase::Load,
    outcome: Outcome::Done,
    found: false,
    reason: Reason::None,
    verified: Verified::No,
};
