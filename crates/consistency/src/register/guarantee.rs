//! Violations of one guarantee of sessions among its opportunities.

use crate::register::collector::ViolationCollector;
use crate::verdict::{Edges, VersionOrder};

/// Violations of one guarantee among its opportunities.
#[derive(Debug, Default)]
pub(super) struct Guarantee {
    pub(super) violations: ViolationCollector,
    pub(super) opportunities: u64,
}

/// Which edges a violation within sessions needs, by the source of the versions' order.
pub(super) fn edges(order: VersionOrder) -> Edges {
    match order {
        VersionOrder::RealTime => Edges::RealTime,
        _ => Edges::Session,
    }
}
