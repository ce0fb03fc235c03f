//! State that one transaction of TPC-C is drawn from.

use assay_model::Draws;

use super::DISTRICTS;
use super::district::District;
use super::draw::Constants;
use super::rows::Rows;

/// What one transaction is drawn from.
pub(super) struct Turn<'a> {
    pub(super) rows: &'a Rows,
    pub(super) constants: &'a Constants,
    /// The terminal of the transaction.
    pub(super) home: District,
    /// When it is issued, for the dates in rows: a millisecond after the one before.
    pub(super) at: i64,
    pub(super) draws: Draws,
}

impl Turn<'_> {
    /// A district of the home warehouse.
    pub(super) fn district(&mut self) -> District {
        District { warehouse: self.home.warehouse, number: self.draws.below(DISTRICTS) + 1 }
    }

    /// Whether something happens that does so in `percent` of a hundred cases.
    pub(super) fn happens(&mut self, percent: u64) -> bool {
        self.draws.below(100) < percent
    }

    /// Another warehouse than `home`, if there is one.
    pub(super) fn other_warehouse(&mut self) -> u64 {
        let count = self.rows.warehouses;
        if count == 1 {
            return self.home.warehouse;
        }
        let other = self.draws.below(count - 1) + 1;
        if other < self.home.warehouse { other } else { other + 1 }
    }
}
