//! Key prefixes of tables: where their records are.

use bytes::Bytes;

/// Where the records of one table are: keys are `PREFIX/table/key`.
pub(super) type KeyPrefix = assay_driver_kit::key_prefix::KeyPrefix<Bytes>;

/// The tables of a layout by number.
pub(super) type Plan = Vec<KeyPrefix>;
