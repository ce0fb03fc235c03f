//! Levels of isolation: which anomaly violates which, and which level implies which.
//!
//! Sources: Adya, *Weak Consistency* (1999) for PL-2, PL-2.99, PL-3 and PL-SI; Adya, Liskov, O'Neil
//! (ICDE 2000); Bailis et al., *Scalable Atomic Visibility with RAMP Transactions* (SIGMOD 2014),
//! for read atomic; Cerone, Gotsman, *Analysing Snapshot Isolation* (J. ACM 2018): a history is
//! allowed by snapshot isolation if and only if each cycle has two anti-dependencies side by side;
//! Daudjee, Salem (VLDB 2006) for strong-session snapshot isolation; Papadimitriou (1979) for
//! strict serializability. Only violations that a level forbids by its definition stand in the
//! table, the rest follows from implication. Choices made:
//!
//! * Read committed, read atomic, repeatable read, snapshot isolation and serializable say nothing
//!   of sessions; causal and the strong-session levels do.
//! * Repeatable read is Adya's PL-2.99, serializable but for predicates: snapshot isolation does
//!   not imply it. It does not forbid a transaction that misses its own write, of which Adya's
//!   dependency graphs say nothing; read atomic and all that imply it do.

use crate::quality::Quality;
use crate::verdict::{Anomaly, Edges};

// tidy: table: stronger level, weaker levels next to it
const IMPLIES: &[(Quality, &[Quality])] = &[
    (
        Quality::StrictSerializable,
        &[Quality::StrongSessionSerializable, Quality::StrongSnapshotIsolation],
    ),
    (
        Quality::StrongSessionSerializable,
        &[Quality::Serializable, Quality::StrongSessionSnapshotIsolation],
    ),
    (Quality::StrongSnapshotIsolation, &[Quality::StrongSessionSnapshotIsolation]),
    (Quality::StrongSessionSnapshotIsolation, &[Quality::SnapshotIsolation, Quality::Causal]),
    (Quality::Serializable, &[Quality::RepeatableRead, Quality::SnapshotIsolation]),
    (Quality::SnapshotIsolation, &[Quality::ReadAtomic, Quality::NoLostUpdates]),
    (Quality::RepeatableRead, &[Quality::ReadCommitted, Quality::NoLostUpdates]),
    (Quality::Causal, &[Quality::ReadAtomic]),
    (Quality::ReadAtomic, &[Quality::ReadCommitted]),
    (Quality::ReadCommitted, &[Quality::NoGarbageReads]),
];

/// The weakest levels that an anomaly violates.
fn weakest_violated(anomaly: Anomaly, edges: Edges) -> &'static [Quality] {
    use Quality as Q;
    match (anomaly, edges) {
        (Anomaly::GarbageRead | Anomaly::AbortedRead, _) => &[Q::NoGarbageReads],
        (
            Anomaly::IntermediateRead
            | Anomaly::FutureRead
            | Anomaly::DuplicateElement
            | Anomaly::IncompatibleOrder
            | Anomaly::DirtyUpdate,
            _,
        ) => &[Q::ReadCommitted],
        (Anomaly::Internal, _) => &[Q::ReadAtomic],
        (Anomaly::FracturedRead | Anomaly::NonMonotonicView, Edges::Data) => {
            &[Q::ReadAtomic, Q::RepeatableRead]
        }
        (Anomaly::FracturedRead | Anomaly::NonMonotonicView | Anomaly::CausalityViolation, _) => {
            &[Q::Causal]
        }
        (Anomaly::LostUpdate, _) => &[Q::NoLostUpdates],
        (Anomaly::G0 | Anomaly::G1c, Edges::Data) => &[Q::ReadCommitted],
        (Anomaly::G0 | Anomaly::G1c, Edges::Session) => &[Q::Causal],
        (Anomaly::GSingle | Anomaly::GNonadjacent, Edges::Data) => {
            &[Q::SnapshotIsolation, Q::RepeatableRead]
        }
        (Anomaly::GSingle | Anomaly::GNonadjacent, Edges::Session) => {
            &[Q::StrongSessionSnapshotIsolation]
        }
        (Anomaly::G0 | Anomaly::G1c | Anomaly::GSingle | Anomaly::GNonadjacent, _) => {
            &[Q::StrongSnapshotIsolation]
        }
        (Anomaly::G2Item, Edges::Data) => &[Q::RepeatableRead],
        (Anomaly::G2Item, Edges::Session) => &[Q::StrongSessionSerializable],
        (Anomaly::G2Item, Edges::RealTime) => &[Q::StrictSerializable],
        (Anomaly::WrongTotal, _) => &[Q::ConstantTotal],
        (Anomaly::WrongCount, _) => &[],
        _ => &[],
    }
}

/// The qualities of transactions that a history judges, the weak ones first.
pub(super) const JUDGED: [Quality; 13] = [
    Quality::NoGarbageReads,
    Quality::ReadCommitted,
    Quality::ReadAtomic,
    Quality::NoLostUpdates,
    Quality::Causal,
    Quality::RepeatableRead,
    Quality::SnapshotIsolation,
    Quality::StrongSessionSnapshotIsolation,
    Quality::StrongSnapshotIsolation,
    Quality::Serializable,
    Quality::StrongSessionSerializable,
    Quality::StrictSerializable,
    Quality::ConstantTotal,
];

/// What a store that has `quality` has too, itself among them.
pub fn implied(quality: Quality) -> Vec<Quality> {
    let mut all = vec![quality];
    let mut at = 0;
    while let Some(next) = all.get(at) {
        let weaker = IMPLIES.iter().find(|(stronger, _)| stronger == next);
        for weaker in weaker.map_or(&[][..], |(_, weaker)| *weaker) {
            if !all.contains(weaker) {
                all.push(*weaker);
            }
        }
        at += 1;
    }
    all
}

/// Whether an anomaly, found by these edges, violates `quality`.
pub fn violated_by(quality: Quality, anomaly: Anomaly, edges: Edges) -> bool {
    let implied = implied(quality);
    weakest_violated(anomaly, edges).iter().any(|weakest| implied.contains(weakest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_isolation_forbids_a_long_fork_but_not_write_skew() {
        let by = |anomaly| violated_by(Quality::SnapshotIsolation, anomaly, Edges::Data);
        assert!(by(Anomaly::GNonadjacent) && by(Anomaly::GSingle) && by(Anomaly::G0));
        assert!(!by(Anomaly::G2Item));
        assert!(violated_by(Quality::RepeatableRead, Anomaly::G2Item, Edges::Data));
    }

    #[test]
    fn more_edges_never_violate_a_weaker_level() {
        for anomaly in [Anomaly::G0, Anomaly::G1c, Anomaly::GSingle, Anomaly::G2Item] {
            for quality in JUDGED {
                let by = |edges| violated_by(quality, anomaly, edges);
                assert!(
                    !by(Edges::RealTime) || by(Edges::Session) || quality.name().contains("str")
                );
                assert!(!by(Edges::Session) || by(Edges::Data));
            }
        }
    }

    #[test]
    fn strict_serializable_implies_all_but_totals() {
        let all = implied(Quality::StrictSerializable);
        let others: Vec<Quality> =
            JUDGED.into_iter().filter(|quality| !all.contains(quality)).collect();
        assert_eq!(others, [Quality::ConstantTotal]);
    }
}
