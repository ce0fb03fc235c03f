//! Truth about one request, from a simulated store.

use std::fmt;
use std::sync::Arc;

use assay_model::{Kind, Nanos, named_enum};

/// What really happened to one request.
///
/// Times are those that were passed to the store. A read is behind by the newest version that had
/// been written when it completed but that it did not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// When the request came.
    pub at: Nanos,
    /// When its answer was due; [`Nanos::NEVER`] if it was never to be answered.
    pub answered_at: Nanos,
    /// The conversation that it belonged to.
    pub session: u32,
    /// The request.
    pub kind: Kind,
    /// The record's key; where a scan started.
    pub key: Arc<[u8]>,
    /// The node that answered, from 0.
    pub node: u16,
    /// The faults of the response, or of its effect; empty without faults.
    pub faults: FaultSet,
    /// The store's own number of the version that was shown or written; 0 if there was none.
    ///
    /// Numbers rise by one with every write of the store, whatever the key.
    pub version: u64,
    /// How many newer versions of the record a read did not show.
    pub versions_behind: u32,
    /// How long before the read the newest version that it did not show had been written; zero for
    /// a fresh read.
    pub staleness: Nanos,
    /// For a fresh read that found something: how long before it that version had been written.
    pub read_after_write: Option<Nanos>,
}

named_enum! {
    /// One fault of a response.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Fault {
        /// A read that missed a version because its node did not have it yet.
        Stale = 0 => "stale",
        /// A read from a cache that did not have a newer version.
        StaleCache = 1 => "stale-cache",
        /// A write that was acknowledged but not done.
        Lost = 2 => "lost",
        /// A write that was done twice, the second time later.
        Duplicate = 3 => "duplicate",
        /// A write of several fields that showed some of them earlier than the others.
        Torn = 4 => "torn",
        /// A write that was refused or undone, yet could be read for a while.
        Dirty = 5 => "dirty",
        /// A read that showed what was refused, or undone later.
        DirtyRead = 6 => "dirty-read",
        /// A request that was refused without being done.
        Refused = 7 => "refused",
        /// A request that was never answered.
        Silent = 8 => "silent",
        /// A request to a node that was down.
        Down = 9 => "down",
        /// A read that showed a torn write by halves.
        TornRead = 10 => "torn-read",
        /// A write that was acknowledged, could be read for a while, then was undone.
        Undone = 11 => "undone",
        /// A read that showed a write which had been done a second time.
        DuplicateRead = 12 => "duplicate-read",
    }
}

/// A set of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FaultSet(u16);

impl FaultSet {
    /// Health.
    pub const NONE: FaultSet = FaultSet(0);

    /// This set and `fault`.
    #[must_use]
    pub const fn with(self, fault: Fault) -> FaultSet {
        FaultSet(self.0 | 1 << fault as u8)
    }

    /// Whether `fault` is among them.
    pub const fn has(self, fault: Fault) -> bool {
        self.0 & 1 << fault as u8 != 0
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them, in the order of their codes.
    pub fn iter(self) -> impl Iterator<Item = Fault> {
        Fault::ALL.into_iter().filter(move |&fault| self.has(fault))
    }
}

impl From<Fault> for FaultSet {
    fn from(fault: Fault) -> FaultSet {
        FaultSet::NONE.with(fault)
    }
}

impl fmt::Display for FaultSet {
    /// The names, joined by `+`; nothing for health.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, fault) in self.iter().enumerate() {
            let joint = if place == 0 { "" } else { "+" };
            write!(f, "{joint}{}", fault.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_names_what_is_in_it() {
        let both = FaultSet::NONE.with(Fault::Torn).with(Fault::Stale);
        assert_eq!(both.to_string(), "stale+torn");
        assert!(both.has(Fault::Torn) && !both.has(Fault::Lost));
        assert_eq!(FaultSet::NONE.to_string(), "");
    }

    #[test]
    fn codes_are_places_in_the_list() {
        for (place, fault) in Fault::ALL.into_iter().enumerate() {
            assert_eq!(fault as usize, place);
        }
    }
}
