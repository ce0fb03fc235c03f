//! Qualities that a history can violate, by the names of those who defined them.

use assay_model::named_enum;
use serde::{Deserialize, Serialize};

named_enum! {
    /// A promise of a store that a history can show to be broken.
    ///
    /// The order: of single records, sessions, transactions; the weak ones first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Quality {
        /// Every value that was read had been written by somebody before the read ended, and not by
        /// a refused write.
        NoGarbageReads => "no-garbage-reads",
        /// No acknowledged write is gone at the end, unless a later one has replaced it.
        NoLostWrites => "no-lost-writes",
        /// Each record behaves as if its operations took effect one at a time, each at a moment
        /// between its start and its end (Herlihy, Wing 1990).
        Linearizable => "linearizable",
        /// Every read returns one of the two newest versions of some valid order (Aiyer et al.
        /// 2005).
        TwoAtomic => "2-atomic",

        /// A session that has read a version never reads an older one (Terry et al. 1994).
        MonotonicReads => "monotonic-reads",
        /// Writes of a session are seen in the session's order (Terry et al. 1994).
        MonotonicWrites => "monotonic-writes",
        /// A session reads its own writes, or newer ones (Terry et al. 1994).
        ReadYourWrites => "read-your-writes",
        /// A write is seen only together with what its session had read before (Terry et al. 1994).
        WritesFollowReads => "writes-follow-reads",
        /// Operations are seen together with everything that they depend on (Ahamad et al. 1995).
        Causal => "causal",

        /// No dirty writes, dirty reads, intermediate reads, circular information flow (Adya's
        /// PL-2).
        ReadCommitted => "read-committed",
        /// A transaction that sees one write of another sees all of them (Bailis et al. 2014).
        ReadAtomic => "read-atomic",
        /// No two transactions replace the same version of a record.
        NoLostUpdates => "no-lost-updates",
        /// The sum of all balances stays, and no snapshot shows another.
        ConstantTotal => "constant-total",
        /// PL-2.99 of Adya without predicates: serializable in items.
        RepeatableRead => "repeatable-read",
        /// Snapshot isolation (Adya's PL-SI, Cerone's SI).
        SnapshotIsolation => "snapshot-isolation",
        /// Snapshot isolation whose snapshots hold the session's former transactions (Daudjee
        /// 2006).
        StrongSessionSnapshotIsolation => "strong-session-snapshot-isolation",
        /// Snapshot isolation whose snapshots hold everything that had ended before.
        StrongSnapshotIsolation => "strong-snapshot-isolation",
        /// As if transactions ran one after another (Adya's PL-3).
        Serializable => "serializable",
        /// Serializable in an order that keeps each session's order.
        StrongSessionSerializable => "strong-session-serializable",
        /// Serializable in an order that keeps real time.
        StrictSerializable => "strict-serializable",

        /// FMKe: a prescription that was in a list is there.
        NoDanglingEntries => "no-dangling-entries",
        /// FMKe: a prescription that is in one of its three lists is in the others.
        WholeCreations => "whole-creations",
        /// FMKe: the copies of a prescription tell of its processing as it does.
        EqualCopies => "equal-copies",
        /// FMKe: a prescription is processed once.
        ProcessedOnce => "processed-once",
        /// FMKe: a prescription does not change after it was processed.
        UnchangedOnceProcessed => "unchanged-once-processed",
        /// FMKe: who comes after a creation has ended finds the prescription.
        CausesSeen => "causes-seen",
    }
}

impl Quality {
    /// The quality with this name.
    pub fn from_name(name: &str) -> Option<Quality> {
        Quality::ALL.into_iter().find(|quality| quality.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quality_is_found_by_its_name() {
        for quality in Quality::ALL {
            assert_eq!(Quality::from_name(quality.name()), Some(quality));
        }
        assert_eq!(Quality::from_name("consistent"), None);
    }
}
