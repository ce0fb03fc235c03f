//! The number by which a read tells which write it saw.
//!
//! Version 0 means none. The insert of record *k* in the load phase writes version *k* + 1. An
//! operation of the run phase writes [`RUN`] + its index. A single 64-bit number therefore orders
//! nothing by itself, but names exactly one write of one run directory and its data set.

/// The first version that the run phase writes.
pub const RUN: u64 = 1 << 47;

/// Versions are below this, so that they fit into eight characters of six bits.
pub const END: u64 = 1 << 48;

/// No version: nothing was written, found or recognised.
pub const NONE: u64 = 0;

/// The version of the load phase's insert of record `key`.
pub const fn loaded(key: u64) -> u64 {
    key % (RUN - 1) + 1
}

/// The version that run-phase operation `index` writes.
pub const fn written(index: u64) -> u64 {
    RUN + index % RUN
}
