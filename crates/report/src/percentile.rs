//! Displayed percentile: its value, or why it has none.

use assay_analysis::{Distribution, Interval, Percentile, Shortage};
use assay_model::Nanos;

use crate::units::{Letters, duration};

/// The mark of a value that the hallmark does not stand behind.
pub const WITHDRAWN: char = '!';

/// What the mark [`WITHDRAWN`] means.
pub const WITHDRAWN_MEANING: &str =
    "! withdrawn: the checks of the hallmark say why this value is invalid";

/// The mark of a sample value without a confidence interval.
pub const SAMPLE: char = '~';

/// The meaning of the mark [`SAMPLE`].
pub const SAMPLE_MEANING: &str = "~ no interval: what was measured, but fewer than ten independent \
     values lie beyond it (a short run, or one event)";

/// The text in place of a percentile beyond which there is no value at all.
pub const NO_VALUE: &str = "n/a";

/// The meaning of [`NO_VALUE`].
pub const NO_VALUE_MEANING: &str =
    "n/a: no value lies beyond that percentile, so it would be the maximum";

/// What can be shown of one percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DisplayedPercentile {
    /// There are no values at all.
    Nothing,
    /// No value lies beyond it.
    NoneBeyond,
    /// It is the measured value, without an interval.
    Sample(Nanos, Shortage),
    /// The hallmark does not stand behind it.
    Withdrawn(Nanos),
    /// It is what was measured.
    Value(Nanos),
}

impl DisplayedPercentile {
    /// What can be shown of the percentile `quantile` of `distribution`.
    pub fn of(
        distribution: &Distribution,
        quantile: f64,
        is_withdrawn: bool,
    ) -> DisplayedPercentile {
        let Some(Percentile { value, interval, .. }) = distribution.percentile_at(quantile) else {
            return DisplayedPercentile::Nothing;
        };
        match interval {
            Interval::TooFew { shortage: Shortage::NoneBeyond, .. } => {
                DisplayedPercentile::NoneBeyond
            }
            _ if is_withdrawn => DisplayedPercentile::Withdrawn(*value),
            Interval::TooFew { shortage, .. } => DisplayedPercentile::Sample(*value, *shortage),
            Interval::Known { .. } | Interval::Undefined => DisplayedPercentile::Value(*value),
        }
    }

    /// As the cell of a table: `1.20 ms`, `~1.20 ms`, `!1.20 ms`, `n/a`, `-`.
    pub fn cell(self, letters: Letters) -> String {
        match self {
            DisplayedPercentile::Nothing => "-".to_owned(),
            DisplayedPercentile::NoneBeyond => NO_VALUE.to_owned(),
            DisplayedPercentile::Sample(value, _) => {
                format!("{SAMPLE}{}", duration(value, letters))
            }
            DisplayedPercentile::Withdrawn(value) => {
                format!("{WITHDRAWN}{}", duration(value, letters))
            }
            DisplayedPercentile::Value(value) => duration(value, letters),
        }
    }

    /// Within a sentence: `1.20 ms`, `~1.20 ms (one event)`.
    pub fn phrase(self, letters: Letters) -> String {
        match self {
            DisplayedPercentile::Withdrawn(value) => {
                format!("{} (withdrawn)", duration(value, letters))
            }
            DisplayedPercentile::Sample(..) => format!("{} ({})", self.cell(letters), self.note()),
            other => other.cell(letters),
        }
    }

    /// What must be said beside the value; empty if nothing.
    pub fn note(self) -> &'static str {
        match self {
            DisplayedPercentile::Sample(_, Shortage::Dependent) => "one event",
            DisplayedPercentile::Sample(..) => "few values",
            DisplayedPercentile::Withdrawn(_) => "withdrawn",
            DisplayedPercentile::NoneBeyond => "no value beyond",
            DisplayedPercentile::Nothing | DisplayedPercentile::Value(_) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn display(interval: Interval, is_withdrawn: bool) -> DisplayedPercentile {
        let mut distribution = crate::sample::distribution(1..=1000);
        let p99 = distribution.percentiles.iter_mut().find(|p| p.quantile == 0.99);
        let p99 = p99.expect("the sample has all percentiles");
        (p99.value, p99.interval) = (Nanos(1_200_000), interval);
        DisplayedPercentile::of(&distribution, 0.99, is_withdrawn)
    }

    #[test]
    fn a_percentile_without_an_interval_is_shown_with_a_mark() {
        let known = Interval::Known { low: Nanos(1), high: Nanos(2), dependence: 1.0 };
        let few = |shortage| Interval::TooFew { further_seconds: 240.0, shortage };
        let both = |displayed: DisplayedPercentile| {
            (displayed.cell(Letters::Ascii), displayed.phrase(Letters::Ascii))
        };
        let pair = |cell: &str, phrase: &str| (cell.to_owned(), phrase.to_owned());
        assert_eq!(both(display(known, false)), pair("1.20 ms", "1.20 ms"));
        assert_eq!(both(display(known, true)), pair("!1.20 ms", "1.20 ms (withdrawn)"));
        let stall = few(Shortage::Dependent);
        assert_eq!(both(display(stall, false)), pair("~1.20 ms", "~1.20 ms (one event)"));
        assert_eq!(both(display(stall, true)), pair("!1.20 ms", "1.20 ms (withdrawn)"));
        let short = few(Shortage::FewBeyond);
        assert_eq!(both(display(short, false)), pair("~1.20 ms", "~1.20 ms (few values)"));
        assert_eq!(both(display(few(Shortage::NoneBeyond), false)), pair("n/a", "n/a"));
    }
}
