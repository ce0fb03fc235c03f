//! District of a warehouse, to which most rows belong.

use assay_model::Datum;
use assay_model::script::key_of;

use super::DISTRICTS;
use crate::plan::streams;

/// Where the streams of TPC-C begin.
pub(super) const STREAMS: u64 = streams::SCRIPTS + 0x100;

/// A district, by the warehouse it belongs to; both are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct District {
    pub warehouse: u64,
    pub number: u64,
}

impl District {
    /// Its number among the districts of all warehouses, from 0.
    pub(super) fn index(self) -> u64 {
        (self.warehouse - 1) * DISTRICTS + self.number - 1
    }

    /// What an operation on a row of this district with this number is about.
    pub(super) fn key(self, number: u64) -> u64 {
        keyed(&[self.warehouse, self.number, number])
    }
}

/// What an operation on the row with this key is about.
pub(super) fn keyed(parts: &[u64]) -> u64 {
    let datums = [0, 1, 2].map(|part| Datum::Int(parts.get(part).map_or(0, |p| *p as i64)));
    key_of(&datums[..parts.len().min(3)])
}
