//! A point on a run's own time axis, or the distance between two, in nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Nanoseconds since the run's epoch, or a length of time.
///
/// The epoch is the moment the executor starts; it belongs to one agent's monotonic clock. 2^64 ns
/// are 584 years, so sums of plausible times cannot overflow.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The epoch itself, or no time at all.
    pub const ZERO: Nanos = Nanos(0);
    /// A time that never comes.
    pub const NEVER: Nanos = Nanos(u64::MAX);

    /// `whole` seconds.
    pub const fn from_secs(whole: u64) -> Nanos {
        Nanos(whole * 1_000_000_000)
    }

    /// `whole` milliseconds.
    pub const fn from_millis(whole: u64) -> Nanos {
        Nanos(whole * 1_000_000)
    }

    /// `whole` microseconds.
    pub const fn from_micros(whole: u64) -> Nanos {
        Nanos(whole * 1_000)
    }

    /// Seconds as a floating-point number, for rates and axes.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The distance from `earlier` to here, or zero if `earlier` is later.
    pub fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// The sum, or [`Nanos::NEVER`] where it would overflow.
    pub fn saturating_add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;

    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Nanos;

    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Nanos {
        Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Duration {
        Duration::from_nanos(nanos.0)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n < 1_000 => write!(f, "{n} ns"),
            n if n < 1_000_000 => write!(f, "{:.2} µs", n as f64 / 1e3),
            n if n < 1_000_000_000 => write!(f, "{:.2} ms", n as f64 / 1e6),
            n => write!(f, "{:.2} s", n as f64 / 1e9),
        }
    }
}
