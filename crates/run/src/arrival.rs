//! The times of open arrivals: one stream for the whole run, the same however it is thinned.
//!
//! Two values that know nothing of each other make a schedule. An [`ArrivalProcess`] gives the
//! places of arrivals on an axis on which one arrives per unit on average; a [`RateProfile`] gives
//! the rate at each moment, thus by its integral how many units have passed. Arrival `i` comes when
//! the integral reaches place `i` (Çinlar, "Introduction to Stochastic Processes", 1975, 4.7: the
//! change of time by which any rate function is given to a process of unit rate).

pub mod rate_profile;

pub mod gamma;
pub mod jitter;
pub mod lognormal;
pub mod mmpp2;
pub mod poisson;
pub mod process;
pub mod recorded;
pub mod text;

mod curve;
mod normal;
mod places;
pub mod schedule;

pub use mmpp2::Mmpp2;
pub use process::ArrivalProcess;
pub use rate_profile::{ProfileForm, RateProfile, Sine, Spike, Stage};
pub use recorded::{ScheduleTimes, Timetable};
pub use schedule::Schedule;

/// An arrival process with its rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// Arrivals per second over all workers, at each moment.
    pub rate_profile: RateProfile,
    /// How the gaps between arrivals are distributed.
    pub process: ArrivalProcess,
}

impl Arrivals {
    /// Arrivals of `process` at the same `rate` per second all the time.
    ///
    /// # Panics
    /// If the rate is not finite, or below 0.
    pub fn constant_rate(rate: f64, process: ArrivalProcess) -> Arrivals {
        Arrivals { rate_profile: RateProfile::constant(rate), process }
    }
}

#[cfg(test)]
mod tests;
