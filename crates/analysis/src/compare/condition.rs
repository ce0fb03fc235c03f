//! Condition that a comparison must not violate.

use assay_model::named_enum;

use crate::compare::{Figure, Finding, Row};

/// A figure that must not move beyond a limit, such as p99 by more than +10 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// Which figure.
    pub figure: Figure,
    /// What is too much, on the scale of [`Row::effect`]: 1.1 for +10 %, 0.001 for a share that
    /// grows by 0.1 percentage points.
    pub limit: Limit,
}

/// On which side of a number is too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// More than this.
    Above(f64),
    /// Less than this.
    Below(f64),
}

named_enum! {
    /// What became of a condition.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ConditionOutcome {
        /// The whole interval is beyond the limit: it is so, at the comparison's confidence.
        Met => "met",
        /// The effect is beyond the limit, but its interval reaches back across it; or that of a
        /// share is not, but its interval is so wide that it reaches across.
        Unsure => "unsure",
        /// The effect is not beyond the limit.
        NotMet => "not-met",
        /// There is too little to tell.
        Unknown => "unknown",
        /// The hallmark of a run withdraws the figure.
        Withdrawn => "withdrawn",
    }
}

impl Condition {
    /// What becomes of it with this row.
    ///
    /// Example: p99 went up by 12 %, surely by more than 4 %. "p99 > +10 %" is then unsure,
    /// although p99 is certainly higher: the certain part is smaller than the threshold.
    ///
    /// A percentile with too few values has no interval; a share always has one. No failure among
    /// 240 operations is no proof of at most 0.1 %, so that is unsure as well.
    pub fn analyze(&self, row: &Row) -> ConditionOutcome {
        if row.finding == Finding::Withdrawn {
            return ConditionOutcome::Withdrawn;
        }
        let Some((low, high)) = row.interval else { return ConditionOutcome::Unknown };
        let (is_beyond, is_certain) = match self.limit {
            Limit::Above(limit) => (row.effect > limit, low > limit),
            Limit::Below(limit) => (row.effect < limit, high < limit),
        };
        let is_possible = match self.limit {
            Limit::Above(limit) => high > limit,
            Limit::Below(limit) => low < limit,
        };
        match (is_beyond, is_certain) {
            (_, true) => ConditionOutcome::Met,
            (true, false) => ConditionOutcome::Unsure,
            (false, false) if row.figure.measure.is_share() && is_possible => {
                ConditionOutcome::Unsure
            }
            (false, false) => ConditionOutcome::NotMet,
        }
    }
}
