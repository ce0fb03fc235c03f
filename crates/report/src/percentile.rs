//! What a report shows of one percentile: its value, or why it has none.

use assay_analysis::{Distribution, Interval, Percentile, Shortage};
use assay_model::Nanos;

use crate::units::{Letters, duration};

/// The mark of a value that the hallmark does not stand behind.
pub const WITHDRAWN: char = '!';

/// What the mark [`WITHDRAWN`] means.
pub const WITHDRAWN_MEANING: &str =
    "! withdrawn: the checks of the hallmark say why this value is not to be believed";

/// The mark of a value that is that of the sample, without a confidence interval.
pub const SAMPLE: char = '~';

/// What the mark [`SAMPLE`] means.
pub const SAMPLE_MEANING: &str = "~ no interval: what was measured, but fewer than ten independent \
     values lie beyond it (a short run, or one event)";

/// What stands in the place of a percentile beyond which there is no value at all.
pub const NO_VALUE: &str = "n/a";

/// What [`NO_VALUE`] means.
pub const NO_VALUE_MEANING: &str =
    "n/a: no value lies beyond that percentile, so it would be the maximum";

/// What can be shown of one percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shown {
    /// There are no values at all.
    Nothing,
    /// No value lies beyond it.
    NoneBeyond,
    /// It is what was measured, but no interval holds.
    Sample(Nanos, Shortage),
    /// The hallmark does not stand behind it.
    Withdrawn(Nanos),
    /// It is what was measured.
    Value(Nanos),
}

impl Shown {
    /// What can be shown of the percentile `quantile` of `distribution`.
    pub fn of(distribution: &Distribution, quantile: f64, is_withdrawn: bool) -> Shown {
        let found = distribution.percentiles.iter().find(|p| p.quantile == quantile);
        let Some(Percentile { value, interval, .. }) = found else { return Shown::Nothing };
        match interval {
            Interval::TooFew { shortage: Shortage::NoneBeyond, .. } => Shown::NoneBeyond,
            _ if is_withdrawn => Shown::Withdrawn(*value),
            Interval::TooFew { shortage, .. } => Shown::Sample(*value, *shortage),
            Interval::Known { .. } | Interval::Undefined => Shown::Value(*value),
        }
    }

    /// As the cell of a table: `1.20 ms`, `~1.20 ms`, `!1.20 ms`, `n/a`, `-`.
    pub fn cell(self, letters: Letters) -> String {
        match self {
            Shown::Nothing => "-".to_owned(),
            Shown::NoneBeyond => NO_VALUE.to_owned(),
            Shown::Sample(value, _) => format!("{SAMPLE}{}", duration(value, letters)),
            Shown::Withdrawn(value) => format!("{WITHDRAWN}{}", duration(value, letters)),
            Shown::Value(value) => duration(value, letters),
        }
    }

    /// Within a sentence: `1.20 ms`, `~1.20 ms (one event)`.
    pub fn phrase(self, letters: Letters) -> String {
        match self {
            Shown::Withdrawn(value) => format!("{} (withdrawn)", duration(value, letters)),
            Shown::Sample(..) => format!("{} ({})", self.cell(letters), self.note()),
            other => other.cell(letters),
        }
    }

    /// What must be said beside the value; empty if nothing.
    pub fn note(self) -> &'static str {
        match self {
            Shown::Sample(_, Shortage::Dependent) => "one event",
            Shown::Sample(..) => "few values",
            Shown::Withdrawn(_) => "withdrawn",
            Shown::NoneBeyond => "no value beyond",
            Shown::Nothing | Shown::Value(_) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(interval: Interval, is_withdrawn: bool) -> Shown {
        let mut distribution = crate::sample::distribution(1..=1000);
        let p99 = distribution.percentiles.iter_mut().find(|p| p.quantile == 0.99);
        let p99 = p99.expect("the sample has all percentiles");
        (p99.value, p99.interval) = (Nanos(1_200_000), interval);
        Shown::of(&distribution, 0.99, is_withdrawn)
    }

    #[test]
    fn a_percentile_without_an_interval_is_shown_with_a_mark() {
        let known = Interval::Known { low: Nanos(1), high: Nanos(2), dependence: 1.0 };
        let few = |shortage| Interval::TooFew { further_seconds: 240.0, shortage };
        let both = |shown: Shown| (shown.cell(Letters::Ascii), shown.phrase(Letters::Ascii));
        let pair = |cell: &str, phrase: &str| (cell.to_owned(), phrase.to_owned());
        assert_eq!(both(shown(known, false)), pair("1.20 ms", "1.20 ms"));
        assert_eq!(both(shown(known, true)), pair("!1.20 ms", "1.20 ms (withdrawn)"));
        let stall = few(Shortage::Dependent);
        assert_eq!(both(shown(stall, false)), pair("~1.20 ms", "~1.20 ms (one event)"));
        assert_eq!(both(shown(stall, true)), pair("!1.20 ms", "1.20 ms (withdrawn)"));
        let short = few(Shortage::FewBeyond);
        assert_eq!(both(shown(short, false)), pair("~1.20 ms", "~1.20 ms (few values)"));
        assert_eq!(both(shown(few(Shortage::NoneBeyond), false)), pair("n/a", "n/a"));
    }
}
