//! Durations, rates, counts as people write them.

use std::time::SystemTime;

use anyhow::{Context, Result};
use assay_model::{Nanos, quantity};
use assay_run::text;

use crate::exit::usage;

/// A length of time such as `250us`, `30s`, `2h30m`. A bare number is not one.
pub fn duration(text: &str) -> Result<Nanos> {
    Ok(text::duration(text)?)
}

/// The length of time that `flag` has.
pub fn duration_of(flag: &str, text: &str) -> Result<Nanos> {
    duration(text).map_err(|error| usage(format!("{flag}: {error:#}")))
}

/// A whole number such as `20M`, `100k`, `4096`.
pub fn count(text: &str) -> Result<u64> {
    quantity::whole(text)
        .with_context(|| format!("{text:?} is no whole number; write 4096, 100k or 20M"))
}

/// Operations per second, above zero: `20k/s`, `1M`, `1250/s`, `0.5/s`.
pub fn rate(text: &str) -> Result<f64> {
    Ok(text::rate(text)?)
}

/// A moment as text in UTC, to the millisecond.
pub fn rfc3339(moment: SystemTime) -> String {
    humantime::format_rfc3339_millis(moment).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_with_units() {
        for (text, expected) in [("20k/s", 20e3), ("1M", 1e6), ("1250/s", 1250.0), ("0.5/s", 0.5)] {
            assert_eq!(rate(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn rates_of_zero_are_refused() {
        for text in ["0", "-5/s", "NaN", "inf", "fast", "", "2000M/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("2h30m").unwrap(), Nanos::from_secs(9000));
        assert_eq!(duration("250us").unwrap(), Nanos::from_micros(250));
        assert!(duration("30").is_err());
    }
}
