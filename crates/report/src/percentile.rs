//! Displayed percentile: its value, or why it has none.

use assay_analysis::{Distribution, Interval, Percentile};
use assay_model::Nanos;

use crate::units::{Letters, count, duration};

/// The mark of a value that the hallmark does not stand behind.
pub const WITHDRAWN: char = '!';

/// What the mark [`WITHDRAWN`] means.
pub const WITHDRAWN_MEANING: &str =
    "! withdrawn: the checks of the hallmark say why this value is not to be believed";

/// What stands in the place of a percentile that too few values tell.
pub const TOO_FEW: &str = "n/a";

/// What [`TOO_FEW`] means.
pub const TOO_FEW_MEANING: &str = "n/a: fewer than ten independent values lie beyond that \
     percentile; a run that is about so much longer tells it";

/// What can be shown of one percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DisplayedPercentile {
    /// There are no values at all.
    Nothing,
    /// Too few values lie beyond it; the run would have to be longer by as many seconds, if known.
    TooFew(Option<f64>),
    /// The hallmark does not stand behind it.
    Withdrawn(Nanos),
    /// It is what was measured.
    Value(Nanos),
}

/// A bound that the analyzer gives where it does not know how much longer.
const UNKNOWN_SECONDS: f64 = u32::MAX as f64;

impl DisplayedPercentile {
    /// What can be shown of the percentile `quantile` of `distribution`.
    pub fn of(
        distribution: &Distribution,
        quantile: f64,
        is_withdrawn: bool,
    ) -> DisplayedPercentile {
        let found = distribution.percentiles.iter().find(|p| p.quantile == quantile);
        let Some(Percentile { value, interval, .. }) = found else {
            return DisplayedPercentile::Nothing;
        };
        match interval {
            Interval::TooFew { further_seconds } => DisplayedPercentile::TooFew(
                (*further_seconds < UNKNOWN_SECONDS).then_some(*further_seconds),
            ),
            _ if is_withdrawn => DisplayedPercentile::Withdrawn(*value),
            Interval::Known { .. } | Interval::Undefined => DisplayedPercentile::Value(*value),
        }
    }

    /// As the cell of a table: `1.20 ms`, `!1.20 ms`, `n/a +30 s`, `-`.
    pub fn cell(self, letters: Letters) -> String {
        match self {
            DisplayedPercentile::Nothing => "-".to_owned(),
            DisplayedPercentile::TooFew(None) => TOO_FEW.to_owned(),
            DisplayedPercentile::TooFew(Some(further)) => {
                format!("{TOO_FEW} +{}", further_time(further))
            }
            DisplayedPercentile::Withdrawn(value) => {
                format!("{WITHDRAWN}{}", duration(value, letters))
            }
            DisplayedPercentile::Value(value) => duration(value, letters),
        }
    }

    /// Within a sentence: `1.20 ms`, `n/a (needs ≈ 30 s more)`.
    pub fn phrase(self, letters: Letters) -> String {
        match self {
            DisplayedPercentile::TooFew(Some(_)) => format!("{TOO_FEW} ({})", self.note(letters)),
            DisplayedPercentile::Withdrawn(value) => {
                format!("{} (withdrawn)", duration(value, letters))
            }
            other => other.cell(letters),
        }
    }

    /// What must be said beside the value; empty if nothing.
    pub fn note(self, letters: Letters) -> String {
        match self {
            DisplayedPercentile::TooFew(Some(further)) => {
                format!("needs {} {} more", letters.pick("≈", "about"), further_time(further))
            }
            DisplayedPercentile::TooFew(None) => "needs a longer run".to_owned(),
            DisplayedPercentile::Withdrawn(_) => "withdrawn".to_owned(),
            DisplayedPercentile::Nothing | DisplayedPercentile::Value(_) => String::new(),
        }
    }
}

/// A length of time of which only the order matters, rounded up to two digits: `30 s`, `12 min`.
pub fn further_time(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s <= 90.0 => (s, "s"),
        s if s <= 90.0 * 60.0 => (s / 60.0, "min"),
        s => (s / 3600.0, "h"),
    };
    let number = number.ceil().max(1.0) as u64;
    let digits = number.ilog10().saturating_sub(1);
    let step = 10u64.pow(digits);
    format!("{} {unit}", count(number.div_ceil(step) * step))
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
    fn a_percentile_is_a_value_or_says_why_not() {
        let known = Interval::Known { low: Nanos(1), high: Nanos(2), dependence: 1.0 };
        let few = Interval::TooFew { further_seconds: 29.2 };
        let endless = Interval::TooFew { further_seconds: f64::from(u32::MAX) };
        let both = |displayed: DisplayedPercentile| {
            (displayed.cell(Letters::Ascii), displayed.phrase(Letters::Ascii))
        };
        let pair = |cell: &str, phrase: &str| (cell.to_owned(), phrase.to_owned());
        assert_eq!(both(display(known, false)), pair("1.20 ms", "1.20 ms"));
        assert_eq!(both(display(known, true)), pair("!1.20 ms", "1.20 ms (withdrawn)"));
        let more = "n/a (needs about 30 s more)";
        assert_eq!(both(display(few, false)), pair("n/a +30 s", more));
        assert_eq!(both(display(few, true)), pair("n/a +30 s", more));
        assert_eq!(both(display(endless, false)), pair("n/a", "n/a"));
    }

    #[test]
    fn further_time_is_rounded_up_to_two_digits() {
        for (seconds, text) in [
            (0.2, "1 s"),
            (29.2, "30 s"),
            (90.0, "90 s"),
            (91.0, "2 min"),
            (4000.0, "67 min"),
            (7200.0, "2 h"),
            (1_234_567.0, "350 h"),
        ] {
            assert_eq!(further_time(seconds), text);
        }
    }
}
