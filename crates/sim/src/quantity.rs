//! Lengths of time, spans between two moments, shares of a whole, as people write them.

use std::fmt;
use std::str::FromStr;

use assay_model::{Nanos, quantity};

/// Longer than any run, short enough that sums of a few cannot overflow.
const LONGEST: Nanos = Nanos::from_secs(365 * 86_400);

/// A length such as `250us`, `1.5ms`, `30s` or `2m`; a bare `0` is no time at all.
///
/// # Errors
/// If it is anything else, negative or longer than a year, with what a right one looks like.
pub fn length(text: &str) -> Result<Nanos, String> {
    match quantity::time(text) {
        Some(length) if length > LONGEST => Err(format!("{text} is longer than a year")),
        Some(length) => Ok(length),
        None if text.trim() == "0" => Ok(Nanos::ZERO),
        None => Err(format!("{text:?} is no length of time; write 250us, 1.5ms, 30s or 2m")),
    }
}

/// `length` in the spelling that [`length`](fn@length) reads, without loss.
pub fn spell(length: Nanos) -> String {
    if length == Nanos::ZERO { "0".into() } else { quantity::write_time(length) }
}

/// From one moment up to, not including, another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWindow {
    /// The first moment within.
    pub from: Nanos,
    /// The first moment after.
    pub to: Nanos,
}

impl TimeWindow {
    /// All of the time.
    pub const ALWAYS: TimeWindow = TimeWindow { from: Nanos::ZERO, to: Nanos::NEVER };

    /// Whether `moment` is within.
    pub fn has(&self, moment: Nanos) -> bool {
        self.from <= moment && moment < self.to
    }
}

impl FromStr for TimeWindow {
    type Err = String;

    /// `10s..20s`, `10s..` or `..20s`.
    fn from_str(text: &str) -> Result<TimeWindow, String> {
        let (from, to) = text
            .split_once("..")
            .ok_or_else(|| format!("{text:?} is no span; write 10s..20s, 10s.. or ..20s"))?;
        let or = |side: &str, open: Nanos| if side.is_empty() { Ok(open) } else { length(side) };
        let window = TimeWindow { from: or(from, Nanos::ZERO)?, to: or(to, Nanos::NEVER)? };
        if window.from >= window.to {
            return Err(format!("{text} ends before it begins"));
        }
        Ok(window)
    }
}

impl fmt::Display for TimeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            TimeWindow { from, to: Nanos::NEVER } => write!(f, "{}..", spell(from)),
            TimeWindow { from, to } => write!(f, "{}..{}", spell(from), spell(to)),
        }
    }
}

/// A share between nothing and all: `0.01` or `1%`.
///
/// # Errors
/// If it is no number or beyond 0 … 1.
pub fn share(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let share =
        quantity::share(text).ok_or_else(|| format!("{text:?} is no share; write 0.01 or 1%"))?;
    if !(0.0..=1.0).contains(&share) {
        return Err(format!("{text} is no share: it lies beyond 0 … 1"));
    }
    Ok(share)
}

/// Requests per second such as `1250`, `1.25k` or `1k/s`; 0 is without limit.
///
/// # Errors
/// If it is no such number.
pub fn capacity(text: &str) -> Result<f64, String> {
    match quantity::rate(text) {
        Some(capacity) if capacity == 0.0 || (1e-3..=1e9).contains(&capacity) => Ok(capacity),
        _ => Err(format!("{text:?} is no capacity; write 1250, 1.25k/s, or 0 for no limit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_with_units() {
        for (text, nanos) in
            [("0", 0), ("7ns", 7), ("1.5us", 1_500), ("2ms", 2_000_000), ("2m", 120_000_000_000)]
        {
            assert_eq!(length(text), Ok(Nanos(nanos)), "{text}");
        }
        for text in ["", "5", "-5ms", "ms", "1e3ms", "5 days", "900000h", "NaNs", ".ms"] {
            assert!(length(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_spelled_is_read_as_it_was() {
        for nanos in [0, 1, 999, 1_000, 1_500, 2_000_000, 30_000_000_000, 30_000_000_001] {
            assert_eq!(length(&spell(Nanos(nanos))), Ok(Nanos(nanos)));
        }
        let window = "10s..20s".parse::<TimeWindow>().unwrap();
        assert_eq!(window.to_string(), "10s..20s");
        assert!(window.has(Nanos::from_secs(10)) && !window.has(Nanos::from_secs(20)));
        assert_eq!("..5s".parse::<TimeWindow>().unwrap().from, Nanos::ZERO);
        assert_eq!("5s..".parse::<TimeWindow>().unwrap().to, Nanos::NEVER);
        assert!("5s..5s".parse::<TimeWindow>().is_err() && "5s".parse::<TimeWindow>().is_err());
    }

    #[test]
    fn shares_and_capacities_have_bounds() {
        assert_eq!((share("1%"), share("0.5")), (Ok(0.01), Ok(0.5)));
        assert!(["2", "-1%", "x", "NaN"].into_iter().all(|text| share(text).is_err()));
        assert_eq!((capacity("1.25k/s"), capacity("0")), (Ok(1250.0), Ok(0.0)));
        assert!(["-1", "inf", "k", "", "NaN"].into_iter().all(|text| capacity(text).is_err()));
    }
}
