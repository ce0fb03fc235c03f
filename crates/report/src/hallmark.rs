//! The hallmark in words.

use crate::facts::Facts;

/// One of the three times that latencies are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Ended − intended.
    Response,
    /// Ended − started.
    Service,
    /// Started − intended.
    Lag,
}

impl Time {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Time::Response => "response",
            Time::Service => "service",
            Time::Lag => "lag",
        }
    }
}

/// Whether the hallmark does not stand behind a percentile.
pub fn withdraws(_facts: &Facts, _time: Time, _quantile: f64) -> bool {
    false
}
