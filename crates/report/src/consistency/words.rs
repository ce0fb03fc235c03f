//! Words for verdicts, anomalies and limitations.

use assay_consistency::validity::{VerdictCheckId, VerdictCheckOutcome};
use assay_consistency::verdict::Edges;
use assay_consistency::{Anomaly, Limitation, QualityVerdict, VersionOrder};

/// A verdict in a word or two.
pub fn verdict(verdict: &QualityVerdict) -> &'static str {
    match verdict {
        QualityVerdict::Violated(_) => "VIOLATED",
        QualityVerdict::NoneFound(_) => "none found",
        QualityVerdict::NotAssessable(_) => "not assessable",
    }
}

/// How a check of the verdicts ended, in reports and exports.
pub fn check_outcome(outcome: VerdictCheckOutcome) -> &'static str {
    match outcome {
        VerdictCheckOutcome::Passed => "passed",
        VerdictCheckOutcome::Remark => "remark",
        VerdictCheckOutcome::Failed => "failed",
        VerdictCheckOutcome::Unknown => "unknown",
    }
}

/// What a check of the verdicts is about.
pub fn check_title(id: VerdictCheckId) -> &'static str {
    match id {
        VerdictCheckId::D1 => "values",
        VerdictCheckId::D2 => "outcomes",
        VerdictCheckId::D3 => "power",
        VerdictCheckId::D4 => "clocks",
        VerdictCheckId::D5 => "order of versions",
        VerdictCheckId::D6 => "self-test",
        VerdictCheckId::D7 => "history",
    }
}

/// Why a quality cannot be judged, in a few words; docs/check.md says what to do.
pub fn limitation(limitation: Limitation) -> &'static str {
    match limitation {
        Limitation::NothingKnown => "no outcome is known",
        Limitation::NoOpportunity => "nothing could have shown one",
        Limitation::NoVersions => "values carry no version",
        Limitation::PartialWrites => "writes change single fields",
        Limitation::NoVersionOrder => "no order of versions is known",
        Limitation::DuplicateValues => "values were written twice",
        Limitation::NoTransactions => "there are no transactions",
        Limitation::NoFinalReads => "no reads at the end",
        Limitation::ClockError => "clocks are too far apart",
        Limitation::TooManyOperations => "too many operations",
        Limitation::TooManySessions => "too many sessions",
        Limitation::NoRealTime => "the format has no times",
        Limitation::Incomplete => "the history is incomplete",
        Limitation::UsedBefore => "not loaded for this run",
        Limitation::SeveralRequests => "a step took several requests",
    }
}

/// A limitation as exports name it.
pub fn limitation_name(limitation: Limitation) -> &'static str {
    match limitation {
        Limitation::NothingKnown => "nothing-known",
        Limitation::NoOpportunity => "no-opportunity",
        Limitation::NoVersions => "no-versions",
        Limitation::PartialWrites => "partial-writes",
        Limitation::NoVersionOrder => "no-version-order",
        Limitation::DuplicateValues => "duplicate-values",
        Limitation::NoTransactions => "no-transactions",
        Limitation::NoFinalReads => "no-final-reads",
        Limitation::ClockError => "clock-error",
        Limitation::TooManyOperations => "too-many-operations",
        Limitation::TooManySessions => "too-many-sessions",
        Limitation::NoRealTime => "no-real-time",
        Limitation::Incomplete => "incomplete",
        Limitation::UsedBefore => "used-before",
        Limitation::SeveralRequests => "several-requests",
    }
}

/// What a witness shows; exports replace the spaces by hyphens.
pub fn anomaly(anomaly: Anomaly) -> &'static str {
    match anomaly {
        Anomaly::GarbageRead => "garbage read",
        Anomaly::AbortedRead => "read of a refused write",
        Anomaly::FutureRead => "read of a later write",
        Anomaly::LostWrite => "lost write",
        Anomaly::StaleRead => "stale read",
        Anomaly::ConflictingOrder => "conflicting order",
        Anomaly::NonMonotonicRead => "non-monotonic read",
        Anomaly::NonMonotonicWrite => "non-monotonic write",
        Anomaly::OwnWriteNotRead => "own write not read",
        Anomaly::WriteWithoutItsReads => "write without what was read before",
        Anomaly::CausalityViolation => "causality violation",
        Anomaly::Internal => "internal contradiction",
        Anomaly::IntermediateRead => "intermediate read",
        Anomaly::DuplicateElement => "duplicate element",
        Anomaly::IncompatibleOrder => "incompatible order",
        Anomaly::DirtyUpdate => "dirty update",
        Anomaly::FracturedRead => "fractured read",
        Anomaly::NonMonotonicView => "non-monotonic view",
        Anomaly::LostUpdate => "lost update",
        Anomaly::G0 => "G0",
        Anomaly::G1c => "G1c",
        Anomaly::GSingle => "G-single",
        Anomaly::GNonadjacent => "G-nonadjacent",
        Anomaly::G2Item => "G2-item",
        Anomaly::WrongTotal => "wrong total",
        Anomaly::WrongCount => "wrong count",
    }
}

/// Where the order of versions came from, as exports name it.
pub fn order(order: VersionOrder) -> &'static str {
    match order {
        VersionOrder::SingleWriter => "single-writer",
        VersionOrder::Lists => "lists",
        VersionOrder::ToldByStore => "told-by-store",
        VersionOrder::ReadBeforeWrite => "read-before-write",
        VersionOrder::RealTime => "real-time",
        VersionOrder::NotNeeded => "not-needed",
    }
}

/// What a cycle needs beside the edges between versions, as exports name it.
pub fn edges(edges: Edges) -> &'static str {
    match edges {
        Edges::Data => "data",
        Edges::Session => "session",
        Edges::RealTime => "real-time",
    }
}

/// The same in a sentence: what the anomaly holds only with.
pub fn edges_remark(edges: Edges) -> &'static str {
    match edges {
        Edges::Data => "",
        Edges::Session => " by the order of a session",
        Edges::RealTime => "",
    }
}
